-- Planted bugs, one in each handler. test_spec.lua runs it.
local ccw = require "ccw"
local t = require "ccw.test"

local lib = ccw.compile([[
#include <ccw/handler.h>
#include <stdlib.h>

CCW_HANDLER(writes_operand, ARG(any, 1, x), RET(any, 1, y))
{
  char *mine = (char *)x.data;
  for (int64_t i = 0; i < ccw_bytes(x); ++i) ((char *)y.data)[i] = mine[i];
  if (ccw_dtype_of(x) == XLA_FFI_DataType_F64 && x.dims[0] > 2) ((double *)x.data)[2] = 7;
  return ccw_ok();
}

CCW_HANDLER(leaves_some, ARG(f32, 1, x), RET(f32, 1, y))
{
  for (int64_t i = 0; i < x.dims[0] && i < 1000; ++i) y.data[i] = x.data[i];
  return ccw_ok();
}

CCW_HANDLER(crashes, ARG(f32, 1, x), RET(f32, 1, y))
{
  if (x.dims[0] > 100) *(volatile int *)8 = 1;
  for (int64_t i = 0; i < x.dims[0]; ++i) y.data[i] = x.data[i];
  return ccw_ok();
}

CCW_HANDLER(ends, ARG(f32, 1, x), RET(f32, 1, y))
{
  if (x.dims[0] % 2 != 0) exit(3);
  for (int64_t i = 0; i < x.dims[0]; ++i) y.data[i] = x.data[i];
  return ccw_ok();
}

CCW_HANDLER(hangs, ARG(f32, 1, x), RET(f32, 1, y))
{
  volatile int64_t waits = x.dims[0];
  while (waits == 4) continue;
  for (int64_t i = 0; i < x.dims[0]; ++i) y.data[i] = x.data[i];
  return ccw_ok();
}

CCW_HANDLER(refuses_none, ARG(f32, 1, x), RET(f32, 1, y))
{
  if (x.dims[0] == 0) return ccw_invalid("expected elements");
  for (int64_t i = 0; i < x.dims[0]; ++i) y.data[i] = x.data[i];
  return ccw_ok();
}
]], { name = "planted.c", flags = { "-Wno-array-bounds" } })

local copy = "(x: T[n]) -> (y: T[n])"

t.check(lib.writes_operand, copy, { T = { "f32", "f64" }, n = { 1, 8 }, inputs = { x = 1 } })
t.check(lib.leaves_some, copy, { T = "f32", n = { 4, 4096 } })
t.check(lib.crashes, copy, { T = "f32", n = { 4, 4096 } })
t.check(lib.ends, copy, { T = "f32", n = { 4, 5 } })
t.check(lib.hangs, copy, { T = "f32", n = { 3, 4, 5 }, time_limit = 0.3, shrink = false })
t.check(lib.refuses_none, copy, { T = "f32", n = { 0, 1, 2 } })

-- A planted bug: blocks of 32, and what is left over keeps nothing but zeros. test_spec.lua runs it.
local ccw = require "ccw"
local t = require "ccw.test"

local lib = ccw.compile([[
#include <ccw/handler.h>

CCW_HANDLER(twice, ARG(f32, 2, x), RET(f32, 2, y))
{
  int64_t n = x.dims[1];
  for (int64_t r = 0; r < x.dims[0]; ++r)
    for (int64_t i = 0; i < n; ++i) y.data[r * n + i] = i < n / 32 * 32 ? 2 * x.data[r * n + i] : 0;
  return ccw_ok();
}
]], { name = "twice.c" })

t.check(lib.twice, "(x: f32[r,n]) -> (y: f32[r,n])", {
  r = { 2, 4 }, n = { 0, 32, 33, 4096 },
  inputs = { x = 1 },
  oracle = function(x) return function(i, j) return 2 * x[i][j] end end,
})

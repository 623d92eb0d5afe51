-- Tests that are no cases: what passes, what is skipped, and what ends the process. test_spec.lua runs it.
local ccw = require "ccw"

local lib = ccw.compile([[
#include <ccw/handler.h>

CCW_HANDLER(crash, RET(f32, 0, y))
{
  *(volatile int *)8 = 1;
  *y.data = 1;
  return ccw_ok();
}

CCW_HANDLER(sleep_long, RET(f32, 0, y))
{
  for (volatile int waits = 1; waits;) continue;
  *y.data = 1;
  return ccw_ok();
}
]], { name = "crash.c", flags = { "-Wno-array-bounds" } })

describe("plain", function()
  it("passes", function() assert.equal(4, ccw.f32 { 4 }[1]) end)

  it("is skipped", function() pending "for a reason" end)

  it("fails", function() assert.equal(5, ccw.f32 { 4 }[1]) end)

  it("crashes", function() ccw.call(lib.crash, {}, "f32[]") end)

  it("hangs", function()
    while true do ccw.f32 { 1 } end
  end)

  it("sleeps", function() ccw.call(lib.sleep_long, {}, "f32[]") end)
end)

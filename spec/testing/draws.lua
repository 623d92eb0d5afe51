-- A check whose failures show what was drawn. test_spec.lua runs it.
local ccw = require "ccw"
local t = require "ccw.test"

local show = ccw.bind "show(x: T[n]) -> (y: T[n])":to(function(x, _)
  return nil, ("drew %s"):format(tostring(x[1]))
end)

t.check(show, "(x: T[n]) -> (y: T[n])", { T = { "f32", "s32" }, n = { 3, 4 }, shrink = false })

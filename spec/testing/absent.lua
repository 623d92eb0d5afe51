-- A device that is nowhere. test_spec.lua runs it.
local ccw = require "ccw"
local t = require "ccw.test"

local copy = ccw.bind "copy(x: f32[n]) -> (y: f32[n])":to(function(x, y)
  for i = 1, #x do y[i] = x[i] end
end)

t.check({ host = copy, ["cuda:77"] = copy }, "(x: f32[n]) -> (y: f32[n])", { n = 2 })

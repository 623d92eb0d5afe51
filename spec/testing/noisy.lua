-- A handler that prints, which no program is to read. test_spec.lua runs it.
local ccw = require "ccw"
local t = require "ccw.test"

t.check(ccw.bind "copy(x: f32[n]) -> (y: f32[n])":to(function(x, y)
  print "noise"
  y:fill(x[1])
end), "(x: f32[n]) -> (y: f32[n])", { n = 1 })

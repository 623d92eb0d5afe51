-- Oracles and handlers that do what they should in another way, or not at all. test_spec.lua runs it.
local ccw = require "ccw"
local t = require "ccw.test"

local copy = "(x: f32[n]) -> (y: f32[n])"

local function check(name, f, oracle)
  t.check(ccw.bind(copy):to(f), copy, { name = name, n = 2, inputs = { x = 1 }, oracle = oracle })
end

local function zeros(_, y) y:fill(0) end

check("an oracle sets c.y", zeros, function(x, c) c.y = x end)
check("an oracle sets c.results[1]", zeros, function(_, c) c.results[1] = { 1, 1 } end)
check("an oracle sets c.results", zeros, function(x, c) c.results = { x } end)
check("an oracle gives what is on a device", function(x, y) y:fill(#x - 1) end, function(x) return x:to "sim:0" end)
check("an oracle gives too little", zeros, function() return { 1 } end)
check("an oracle gives what is closed", zeros, function(x)
  x:close()
  return x
end)
check("a handler in Lua ends the process", function(_, _) os.exit(0) end)

local runs = 0
check("a handler writes nothing, and then fails", function(_, _)
  runs = runs + 1
  if runs > 1 then error("it ran before", 0) end
end)

it("a test ends the process", function() os.exit(0) end)

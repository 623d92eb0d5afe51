--- Destinations: where does a result go?                                                7 minutes
-- Guide: Buffer Arguments And Results

-- A handler never allocates a result. XLA has laid out all memory when it compiled the program, and hands over where the
-- result goes. The handler writes there. This is destination passing.
local halve = ccw.bind "halve(x: f32[n]) -> (y: f32[n])":to(function(x, y)
  for i = 1, #x do y[i] = x[i] / 2 end
end)
local here = ccw.array("f32[3]")
print(ccw.call(halve, {ccw.f32{2, 4, 6}}, here))   --> f32[3] {1, 2, 3}
print(here)                                        --> f32[3] {1, 2, 3}

-- The memory was something else's before, and holds anything. So every element has to be written. At the prompt calls are
-- checked, which finds out what was not.
local lazy = ccw.bind "lazy(x: f32[n]) -> (y: f32[n])":to(function(x, y)
  if x[1] > 0 then y[1] = x[1] end
end)
print(ccw.try(ccw.call, lazy, {ccw.f32{2, 4, 6}}))
--> nil   DATA_LOSS: lazy: execute: result 0 'y': 2 of 3 elements were never written, the first is [2]

-- An operand belongs to somebody else, who may need it again: it is read only.
local greedy = ccw.bind "greedy(x: f32[n]) -> (y: f32[n])":to(function(x, y)
  x[1] = 0
  y:fill(1)
end)
print(select(2, ccw.try(ccw.call, greedy, {ccw.f32{2}})).message:match "arg [^\n]*")   --> arg 0 'x': operands are read only

-- Two things do not write a result, though they look like it. `return z` gives the runtime something that it has no place
-- for. And `y = z` has only the name y mean z from there on: the memory that y stood for is not touched.

-- Try to write halve with y = ccw.f32{...}, call it, and see what the check says.

-- Your turn. Write `rectify`: x: f32[n] to y: f32[n], what is below 0 becomes 0, all else stays.
lesson.ask{"rectify",
  try = function(rectify)
    return ccw.call(rectify, {lesson.numbers("f32[7]", 6)}), ccw.call(rectify, {ccw.f32{-1}}), ccw.call(rectify, {ccw.f32{}})
  end,
  hints = {"every element has to be written, those that become 0 as well", "y[i] = math.max(0, x[i])"},
  answer = [[
rectify = ccw.bind "rectify(x: f32[n]) -> (y: f32[n])":to(function(x, y)
  for i = 1, #x do y[i] = math.max(0, x[i]) end
end)]],
}

-- And `reverse`: x: f32[n] to y: f32[n], from the last element to the first.
lesson.ask{"reverse",
  try = function(reverse)
    return ccw.call(reverse, {lesson.numbers("f32[5]", 7)}), ccw.call(reverse, {lesson.numbers("f32[8]", 8)})
  end,
  hints = {"elements are counted from 1: the last is x[#x], the one in front of it x[#x - 1]", "y[i] = x[#x + 1 - i]"},
  answer = [[
reverse = ccw.bind "reverse(x: f32[n]) -> (y: f32[n])":to(function(x, y)
  for i = 1, #x do y[i] = x[#x + 1 - i] end
end)]],
}

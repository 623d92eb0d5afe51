--- Tuples: lists of arrays                                                              5 minutes
-- Guide: Passing tuples to custom calls

-- An operand may be a tuple, and a tuple may hold tuples. The handler does not see that: it gets the arrays, one after the
-- other, as ordinary operands. Here is the guide's example, with four of them.
local count = ccw.bind "count(...) -> (n: s64[])":to(function(list, n)
  for i, x in ipairs(list) do print(i, x.type) end
  n:fill(#list)
end)
local p0 = {ccw.array "f32[32]", {ccw.array "f32[64]", ccw.array "f32[128]"}, ccw.array "f32[256]"}
print(ccw.call(count, {p0}, "s64[]"))
--> 1   f32[32]
--> 2   f32[64]
--> 3   f32[128]
--> 4   f32[256]
--> s64[] 4

-- The type of a tuple is written as the compiler writes it. In Lua a tuple is a list.
print(ccw.type "(f32[32], (f32[64], f32[128]), f32[256])"[2][1])   --> f32[64]

-- A result may be a tuple, which is how a call gives several arrays. They come back in the nesting of their type.
local ends = ccw.bind "ends(x: f32[n]) -> (first: f32[], last: f32[])":to(function(x, first, last)
  first:fill(x[1])
  last:fill(x[#x])
end)
local result = ccw.call(ends, {ccw.f32{3, 4, 5}})
print(result[1], result[2])   --> f32[] 3   f32[] 5

-- A tuple of one is not its only element: the one is {y}, the other y.
local one = ccw.bind "one() -> (y: f32[])":to(function(y) y:fill(1) end)
print(ccw.call(one, {}, "f32[]"), #ccw.call(one, {}, "(f32[])"))   --> f32[] 1   1

-- Try ends with the result "(f32[], (f32[]))".

-- Your turn. Write `extent`: x: f32[n] to low: f32[] and high: f32[], the smallest and the largest element.
lesson.ask{"extent",
  try = function(extent)
    return ccw.call(extent, {lesson.numbers("f32[8]", 20)}), ccw.call(extent, {ccw.f32{-3}}, {"f32[]", "f32[]"})
  end,
  hints = {"two results: -> (low: f32[], high: f32[]), and the function gets both", "begin with x[1]; low:fill(...) writes a scalar"},
  answer = [[
extent = ccw.bind "extent(x: f32[n]) -> (low: f32[], high: f32[])":to(function(x, low, high)
  local least, most = x[1], x[1]
  for i = 2, #x do least, most = math.min(least, x[i]), math.max(most, x[i]) end
  low:fill(least)
  high:fill(most)
end)]],
}

-- And a type. `four` is a handler with four results, each of them s64[2]. Set `nesting` to the type with which the call
-- gives {a, {b, c}, {{d}}}.
local four = ccw.bind "four(...) -> (...)":to(function(_, results)
  for i, y in ipairs(results) do y:fill(i) end
end)
lesson.ask{"nesting",
  try = function(nesting) return ccw.call(four, {}, nesting) end,
  hints = {"each pair of braces is a pair of parentheses", "a tuple in a tuple of one: ((s64[2]))"},
  answer = [[nesting = "(s64[2], (s64[2], s64[2]), ((s64[2])))"]],
}

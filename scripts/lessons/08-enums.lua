--- Enums: one of a few                                                                  5 minutes
-- Guide: User-Defined Enum Attributes

-- An attribute often means one of a few things. In the frame it is an integer; in the handler it should be a name. A
-- binding says which integer is which.
local combine = ccw.bind "combine(x: f32[n], y: f32[n]) -> (z: f32[n]) {command: s32 = add(0)|mul(1)}"
  :to(function(x, y, z, command)
    for i = 1, #z do z[i] = command == "add" and x[i] + y[i] or x[i] * y[i] end
  end)
local two, three = ccw.f32{2}, ccw.f32{3}
print(ccw.call(combine, {two, three}, nil, {command = "add"}))   --> f32[1] {5}
print(ccw.call(combine, {two, three}, nil, {command = 1}))       --> f32[1] {6}

-- Its type is that of the integer, here s32, as `enum class Command : int32_t` has it. Another width is refused.
print(ccw.try(ccw.call, combine, {two, three}, nil, {command = ccw.s64(1)}))
--> nil   INVALID_ARGUMENT: combine: attribute 'command': expected s32 = add(0)|mul(1), got s64

-- XLA's own headers take any integer for an enum. ccw knows the values, and takes no other.
print(ccw.try(ccw.call, combine, {two, three}, nil, {command = 2}))
--> nil   INVALID_ARGUMENT: combine: attribute 'command': expected s32 = add(0)|mul(1), got 2

-- Try {command = "mull"}. Is it told which names there are?

-- Your turn. Write `reduce`: x: f32[n] to y: f32[], with an attribute by: s32 = sum(0)|max(1)|min(2).
lesson.ask{"reduce",
  try = function(reduce)
    local x = lesson.numbers("f32[6]", 1)
    local function by(name) return ccw.call(reduce, {x}, "f32[]", {by = name}) end
    return by "sum", by "max", by "min", (select(2, ccw.try(by, "mean")))
  end,
  hints = {
    "the function gets the name of the value, \"sum\"",
    "begin with x[1], go on from the second element: for i = 2, #x do ... end, and y:fill(...) at the end",
  },
  answer = [[
reduce = ccw.bind "reduce(x: f32[n]) -> (y: f32[]) {by: s32 = sum(0)|max(1)|min(2)}":to(function(x, y, by)
  local step = {sum = function(a, b) return a + b end, max = math.max, min = math.min}
  local value = x[1]
  for i = 2, #x do value = step[by](value, x[i]) end
  y:fill(value)
end)]],
}

--- Structs: dictionaries with known members                                             6 minutes
-- Guide: User-defined Struct Attributes; Binding All Custom Call Attributes

-- A dictionary may stand in a dictionary. Where its members are known, a binding says so, and each is checked as any
-- attribute is. The guide has range = {lo = 0 : i64, hi = 42 : i64}, and a struct Range.
local width = ccw.bind "width() -> (y: s64[]) {range: {lo: s64, hi: s64}}":to(function(y, range)
  y:fill(range.hi - range.lo)
end)
print(ccw.call(width, {}, nil, {range = {lo = 2, hi = 42}}))   --> s64[] 40
print(select(2, ccw.try(ccw.call, width, {}, nil, {range = {lo = 2, high = 42}})).message)
--> width: 2 bad operands
-->   attribute 'range.hi': expected s64, got none; present: 'high', 'lo'
-->   attribute 'high' of 'range': not expected; bound: 'lo', 'hi'

-- Or the handler takes the whole dictionary, three dots among the attributes, and looks up what it needs when it needs it.
-- It has to say itself what is missing, and of which type it wants it.
local lookup = ccw.bind "lookup() -> (y: s64[]) {...}":to(function(y, attributes)
  if not attributes.size then return nil, "size is missing" end
  y:fill(attributes.size)
end)
print(ccw.call(lookup, {}, "s64[]", {size = 7, unit = "cm"}))   --> s64[] 7
print(ccw.try(ccw.call, lookup, {}, "s64[]", {unit = "cm"}))    --> nil   INTERNAL: lookup: execute: size is missing

-- An attribute of a kind of your own is decoded by a function of yours: what it gives, your handler gets.
local percent = ccw.bind("percent() -> (y: f32[]) {p: percent}", {
  percent = function(value)
    if value <= 100 then return value / 100 end
    return nil, "above 100"
  end,
}):to(function(y, p) y:fill(p) end)
print(ccw.call(percent, {}, "f32[]", {p = 25}))   --> f32[] 0.25

-- Try width with a range of floats, and with a range that has a third member.

-- Your turn. Write `clip`: x: s64[n] to y: s64[n], with range: {lo: s64, hi: s64}. What is below lo becomes lo, what is
-- above hi becomes hi.
lesson.ask{"clip",
  try = function(clip)
    local x = lesson.numbers("s64[9]", 12)
    return ccw.call(clip, {x}, nil, {range = {lo = -20, hi = 35}}), ccw.call(clip, {x}, nil, {range = {lo = 3, hi = 3}})
  end,
  hints = {"the function gets a table, range.lo and range.hi", "math.min(range.hi, math.max(range.lo, x[i]))"},
  answer = [[
clip = ccw.bind "clip(x: s64[n]) -> (y: s64[n]) {range: {lo: s64, hi: s64}}":to(function(x, y, range)
  for i = 1, #x do y[i] = math.min(range.hi, math.max(range.lo, x[i])) end
end)]],
}

-- And `shift`: x: s64[n] to y: s64[n], with all attributes as a dictionary. It adds the attribute `by`, and 1 where there
-- is none.
lesson.ask{"shift",
  try = function(shift)
    local x = lesson.numbers("s64[4]", 13)
    return ccw.call(shift, {x}, nil, {by = 10}), ccw.call(shift, {x}, nil, {}), ccw.call(shift, {x}, nil, {by = 0, other = "x"})
  end,
  hints = {"{...} binds all attributes", "attributes.by or 1: in Lua 0 is not false"},
  answer = [[
shift = ccw.bind "shift(x: s64[n]) -> (y: s64[n]) {...}":to(function(x, y, attributes)
  for i = 1, #x do y[i] = x[i] + (attributes.by or 1) end
end)]],
}

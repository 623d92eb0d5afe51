--- Attributes: what the program knows when it is compiled                               7 minutes
-- Guide: Attributes

-- Operands are computed while the program runs. Attributes are written into it: a dictionary of names and values, which
-- the compiler's text calls backend_config. A binding names those that it wants, and their types.
local scale = ccw.bind "scale(x: f32[n]) -> (y: f32[n]) {s: f32}":to(function(x, y, s)
  for i = 1, #x do y[i] = s * x[i] end
end)
print(ccw.call(scale, {ccw.f32{1, 2}}, nil, {s = 1.5}))   --> f32[2] {1.5, 3}

-- All that is bound has to be there, with its type, and nothing else.
print(ccw.try(ccw.call, scale, {ccw.f32{1, 2}}, nil, {}))
--> nil   INVALID_ARGUMENT: scale: attribute 's': expected f32, got none; present: none
print(ccw.try(ccw.call, scale, {ccw.f32{1, 2}}, nil, {s = "2"}))
--> nil   INVALID_ARGUMENT: scale: attribute 's': expected f32, got string

-- A number of Lua's becomes the type that is bound, if it fits. Where nobody knows what is bound, an integer is s64 and a
-- float f64, as in JAX, and a handler that wants another type refuses them. ccw.f32(2) says what you mean.
print(ccw.attrs{s = 2, t = 0.5, u = ccw.f32(2), name = "x", list = {1, 2}})
--> {list = s64{1, 2}, name = "x", s = 2, t = f64(0.5), u = f32(2)}

-- There are integers of all widths, floats, booleans, strings, arrays and dictionaries. The function gets them as numbers,
-- strings, buffers and tables.
local axis = ccw.bind "axis() -> (y: s64[]) {axes: s64[], exact: pred, name: string}"
  :to(function(y, axes, exact, name)
    print(name, exact)
    y:fill(axes[2])
  end)
print(ccw.call(axis, {}, "s64[]", {name = "sum", exact = true, axes = {0, 3}}))
--> sum   true
--> s64[] 3

-- Try to call axis with an attribute too many, or with axes = {0, 0.5}.

-- Your turn. Write `affine`: x: f32[n] to y: f32[n], a * x + b, with two attributes a and b of type f32.
lesson.ask{"affine",
  try = function(affine)
    local x = lesson.numbers("f32[4]", 10)
    return ccw.call(affine, {x}, "f32[4]", {a = 2, b = -1}), ccw.call(affine, {x}, "f32[4]", {b = 0.25, a = -3})
  end,
  hints = {"{a: f32, b: f32} stands at the end of the signature, and a and b at the end of the parameters"},
  answer = [[
affine = ccw.bind "affine(x: f32[n]) -> (y: f32[n]) {a: f32, b: f32}":to(function(x, y, a, b)
  for i = 1, #x do y[i] = a * x[i] + b end
end)]],
}

-- And the other way round: here is a handler that is strict. Set `settings` to a table of attributes that it takes:
-- steps 8, rate 0.5, weights 1 and 2.
local train = ccw.bind "train() -> (y: f64[4]) {steps: s32, rate: f32, weights: f32[]}"
  :to(function(y, steps, rate, weights)
    for i, value in ipairs{steps, rate, weights[1], weights[2]} do y[i] = value end
  end)
lesson.ask{"settings",
  try = function(settings) return ccw.call(train, {}, "f64[4]", settings) end,
  hints = {"a table, {steps = ..., ...}; a list of numbers is an array"},
  answer = [[settings = {steps = 8, rate = 0.5, weights = {1, 2}}]],
}

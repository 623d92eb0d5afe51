--- Binding: what does a handler take?                                                   6 minutes
-- Guide: XLA FFI Binding

-- A custom call names an operation that XLA does not have. A handler is the function that does it. XLA looks it up by
-- its name when the program runs, and hands it a call frame: operands, results, attributes.

-- A binding says what a function takes out of that frame, and in which order. Here is one, bound to a function of Lua's.
local add = ccw.bind "add(x: f32[n], y: f32[n]) -> (z: f32[n])":to(function(x, y, z)
  for i = 1, #z do z[i] = x[i] + y[i] end
end)
print(ccw.call(add, {ccw.f32{1, 2}, ccw.f32{10, 20}}))   --> f32[2] {11, 22}

-- The frame is decoded, and all of it checked, before the function runs. What does not fit never gets to your code.
print(ccw.try(ccw.call, add, {ccw.f32{1, 2}, ccw.s32{1, 2}}))
--> nil   INVALID_ARGUMENT: add: arg 1 'y': expected f32[n], got s32[2]

-- The same binding word by word, as the guide writes it in C++: Ffi::Bind().Arg<...>().Arg<...>().Ret<...>().To(...).
local binding = ccw.bind "add":arg("f32[n]", "x"):arg("f32[n]", "y"):ret("f32[n]", "z")
print(binding)   --> add(x: f32[n], y: f32[n]) -> (z: f32[n])

-- A function that does not fit is refused when it is bound. In C and C++ it does not compile.
local bound, why = pcall(binding.to, binding, function(x, y) return x, y end)
print(why:match "%((.*)%)")   --> expected a function of 3 parameters (x, y, z), got one of 2

-- Try the call above with arrays of different sizes, ccw.f32{1, 2} and ccw.f32{1, 2, 3}. Where does the message say that
-- the size comes from?

-- Your turn. Write a handler that takes an array of f32 and gives one of the same size, each element three times as
-- large, and give it the name `triple`:
--     triple = ccw.bind "triple(x: f32[n]) -> (y: f32[n])":to(function(x, y)
--       ...
--     end)
lesson.ask{"triple",
  try = function(triple)
    return ccw.call(triple, {lesson.numbers("f32[5]", 1)}), ccw.call(triple, {lesson.numbers("f32[1]", 2)})
  end,
  hints = {
    "the function gets x and y, in the order of the binding, and y has the size of x",
    "for i = 1, #x do ... end goes over all elements, y[i] = ... writes one",
  },
  answer = [[
triple = ccw.bind "triple(x: f32[n]) -> (y: f32[n])":to(function(x, y)
  for i = 1, #x do y[i] = 3 * x[i] end
end)]],
}

-- The function's parameters follow the order of the binding, whatever you call them. Write `subtract`, which binds
-- a: f32[n] and b: f32[n] and gives c: f32[n], which is b - a.
lesson.ask{"subtract",
  try = function(subtract)
    return ccw.call(subtract, {lesson.numbers("f32[4]", 3), lesson.numbers("f32[4]", 4)}, "f32[4]")
  end,
  hints = {"c[i] = b[i] - a[i]"},
  answer = [[
subtract = ccw.bind "subtract(a: f32[n], b: f32[n]) -> (c: f32[n])":to(function(a, b, c)
  for i = 1, #c do c[i] = b[i] - a[i] end
end)]],
}

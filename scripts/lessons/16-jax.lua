--- JAX: the same handler there                                                          7 minutes
-- Guide: JAX + XLA Custom Calls

-- A handler does not know who calls it. What you have written here runs in JAX, and what is built for JAX runs here,
-- without a change: both speak the same binary interface. This lesson needs no JAX; what it says of it was tried.

-- JAX finds a handler by a name, for a platform, as ccw.register does. A library in C or C++, in Python:
--     import ctypes, jax, numpy as np
--     jax.devices()                      # first: it makes the backend that the target is for
--     library = ctypes.CDLL("build/lib/libccw_kernels.so")
--     jax.ffi.register_ffi_target(
--         "scale", jax.ffi.pycapsule(library.scale), platform="cpu")
--     scale = jax.ffi.ffi_call("scale", jax.ShapeDtypeStruct((2,), np.float32))
--     print(scale(np.array([1, 2], np.float32), s=np.float32(2)))   # [2. 4.]

-- And here, with the library loaded, the same call:
--     ccw.register("scale", ccw.load "build/lib/libccw_kernels.so".scale, "Host")
--     print(ccw.call("scale", {ccw.f32{1, 2}}, "f32[2]", {s = ccw.f32(2)}))

-- Handlers in Lua go there, too: scripts/jax/lua_handlers.py loads a file that returns a table of them.

-- JAX has no signature to look at, so that an attribute goes as what it is in Python. An int is s64, a float f64, as in Lua
-- where nothing is known; np.float32(2) is f32, np.int32(1) is s32. A handler that binds f32 refuses a Python float.
local scale = ccw.bind "scale(x: f32[n]) -> (y: f32[n]) {s: f32}":to(function(x, y, s)
  for i = 1, #x do y[i] = s * x[i] end
end)
local as_jax = {signature = false}   -- hands the attributes over as they are
print(ccw.try(ccw.call, scale, {ccw.f32{1}}, "f32[1]", {s = 2.5}, as_jax))
--> nil   INVALID_ARGUMENT: scale: execute: attribute 's': expected f32, got f64
print(ccw.call(scale, {ccw.f32{1}}, "f32[1]", {s = ccw.f32(2.5)}, as_jax))   --> f32[1] {2.5}

-- A handler says which version of the FFI it needs, and a runtime refuses one that is newer than itself. ccw's claim the
-- lowest one that has all they bind, so that they load into old releases of JAX as well.
print(scale.version)   --> 0.1

-- On JAX's CPU the stages instantiate and execute run, and no others; there is no stream and no scratch memory.

-- Try scale with {s = ccw.f32(2.5), t = 1}: what JAX would say of a keyword too many.

-- Your turn. A program in JAX calls a handler with n=3, eps=np.float32(1e-5), name="x", exact=True, rate=0.5. Set
-- `sent` to the attributes that arrive, each with its type.
lesson.ask{"sent",
  try = function(sent) return ccw.attrs{sent = sent} end,
  hints = {"a table, {n = ..., eps = ..., ...}", "of the five only eps needs a word: ccw.f32(...)"},
  answer = [[sent = {n = 3, eps = ccw.f32(1e-5), name = "x", exact = true, rate = 0.5}]],
}

-- And a handler that is kind to JAX: `mean`, x: f32[n] to y: f32[], with an attribute start of type f64, so that a plain
-- Python float will do. It gives start plus the mean of x.
lesson.ask{"mean",
  try = function(mean)
    return ccw.call(mean, {lesson.numbers("f32[5]", 24)}, "f32[]", {start = 0.5}, as_jax),
      (select(2, ccw.try(ccw.call, mean, {ccw.f32{1}}, "f32[]", {start = ccw.f32(1)}, as_jax)))
  end,
  hints = {"{start: f64} at the end of the signature", "add up all elements, divide by #x, add start"},
  answer = [[
mean = ccw.bind "mean(x: f32[n]) -> (y: f32[]) {start: f64}":to(function(x, y, start)
  local sum = 0
  for i = 1, #x do sum = sum + x[i] end
  y:fill(start + sum / #x)
end)]],
}

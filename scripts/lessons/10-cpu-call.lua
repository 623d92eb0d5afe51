--- A call on the CPU: from the definition to the result                                 9 minutes
-- Guide: Create a custom call on CPU

-- The guide's example computes A[i] = B[i % 128] + C[i], with 128 and 2048 floats. In Lua elements are counted from 1, so
-- that the index of B is a little longer.
local guide = ccw.bind "add_mod(b: f32[k], c: f32[n]) -> (a: f32[n])":to(function(b, c, a)
  for i = 1, #a do a[i] = b[(i - 1) % #b + 1] + c[i] end
end)

-- A program names a call by a text, and a platform: here the host, which JAX calls cpu. Registering joins name and handler.
ccw.register("do_custom_call", guide, "Host", {replace = true})
local b, c = ccw.iota "f32[128]", ccw.array("f32[2048]", 1)
local a = ccw.call("do_custom_call", {b, c}, "f32[2048]")
print(a[1], a[128], a[129], a[2048])   --> 1.0   128.0   1.0   128.0
print(ccw.try(ccw.call, "do_custom_cal", {b, c}, "f32[2048]"))
--> nil   NOT_FOUND: no handler 'do_custom_cal' is registered for platform host; near: do_custom_call

-- The sizes are in the frame, and nothing of it is fixed. The handler's signature says that a has the size of c.
print(ccw.call("do_custom_call", {ccw.f32{1, 2}, ccw.f32{10, 20, 30}}))   --> f32[3] {11, 22, 31}

-- A call that is made often is prepared once: the frame stays, and the same memory is written each time.
local call = ccw.prepare("do_custom_call", {ccw.f32{1, 2}, ccw.f32{10, 20, 30}})
print(call(), call() == call())   --> f32[3] {11, 22, 31}   true

-- The guide's C++ does not compile as it is printed: dimensions and typed_data are functions, Arg<Buffer> lacks its type,
-- and the function has to return an Error. Mended:
--     #include "xla/ffi/api/ffi.h"
--     using namespace xla::ffi;
--     using BufferF32 = BufferR1<F32>;
--
--     Error do_custom_call(BufferF32 in0, BufferF32 in1, Result<BufferF32> out) {
--       size_t d0 = in0.dimensions()[0], d1 = in1.dimensions()[0];
--       if (out->dimensions()[0] != in1.dimensions()[0])
--         return Error::InvalidArgument("out: expected the size of in1");
--       for (size_t i = 0; i < d1; ++i)
--         out->typed_data()[i] = in0.typed_data()[i % d0] + in1.typed_data()[i];
--       return Error::Success();
--     }
--     XLA_FFI_DEFINE_HANDLER_SYMBOL(handler, do_custom_call,
--         Ffi::Bind().Arg<BufferF32>().Arg<BufferF32>().Ret<BufferF32>());

-- It still divides by 0 where in0 is empty. So does ours.

-- Try an empty b, ccw.f32{}. What does Lua say, and what should the handler say?

-- Your turn. Write `add_mod`, as above, but have it fail, with nil and a text, where b is empty and c is not.
lesson.ask{"add_mod",
  try = function(answer)
    local one, two = lesson.numbers("f32[7]", 14), lesson.numbers("f32[20]", 15)
    return ccw.call(answer, {one, two}), ccw.call(answer, {ccw.f32{}, ccw.f32{}}), (select(2, ccw.try(ccw.call, answer, {ccw.f32{}, two})))
  end,
  hints = {"if #b == 0 and #c > 0 then return nil, \"...\" end, in front of the loop"},
  answer = [[
add_mod = ccw.bind "add_mod(b: f32[k], c: f32[n]) -> (a: f32[n])":to(function(b, c, a)
  if #b == 0 and #c > 0 then return nil, "b is empty" end
  for i = 1, #a do a[i] = b[(i - 1) % #b + 1] + c[i] end
end)]],
}

-- Needs: a C compiler

-- The same in C, with a header of ccw's and nothing else. Built as a library it loads into JAX, too. ccw.compile does
-- that here.
local lib = ccw.compile [=[
#include <ccw/handler.h>

CCW_HANDLER(add_mod_c, ARG(f32, 1, b), ARG(f32, 1, c), RET(f32, 1, a))
{
  CCW_TRY(ccw_verify("a", a, ccw_like(c)));
  if (b.dims[0] == 0 && c.dims[0] > 0) return ccw_invalid("b is empty");
  for (int64_t i = 0; i < a.dims[0]; ++i) a.data[i] = b.data[i % b.dims[0]] + c.data[i];
  return ccw_ok();
}]=]
print(lib.add_mod_c.signature)                                     --> add_mod_c(b: f32[?], c: f32[?]) -> (a: f32[?])
print(ccw.call(lib.add_mod_c, {ccw.f32{1, 2}, ccw.f32{10, 20, 30}}, "f32[3]"))   --> f32[3] {11, 22, 31}

-- Your turn, in C. Set `source` to the text of a handler `square`, which binds x and gives y, both f32 of rank 1 and of the
-- same size: y[i] = x[i] * x[i]. In C elements are counted from 0.
lesson.ask{"source",
  try = function(source)
    local square = ccw.compile(source).square
    local x = lesson.numbers("f32[33]", 16)
    return ccw.call(square, {x}, "f32[33]"), (select(2, ccw.try(ccw.call, square, {x}, "f32[32]")))
  end,
  hints = {
    "the handler above is a good start: long brackets around it, [=[ and ]=], make it a text",
    "ccw_verify refuses a y of another size",
  },
  answer = [==[
source = [=[
#include <ccw/handler.h>

CCW_HANDLER(square, ARG(f32, 1, x), RET(f32, 1, y))
{
  CCW_TRY(ccw_verify("y", y, ccw_like(x)));
  for (int64_t i = 0; i < x.dims[0]; ++i) y.data[i] = x.data[i] * x.data[i];
  return ccw_ok();
}]=]]==],
}

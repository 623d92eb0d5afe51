--- Variadics: as many as there are                                                      6 minutes
-- Guide: Variadic Arguments And Results

-- Some operations take as many operands as they are given. Three dots bind all that follow the ones that have a name, and
-- the function gets them as a list. The guide calls it RemainingArgs.
local count = ccw.bind "count(...) -> (n: s64[])":to(function(rest, n) n:fill(#rest) end)
print(ccw.call(count, {}, "s64[]"))                                        --> s64[] 0
print(ccw.call(count, {ccw.f32{1}, ccw.s32{{2}}, ccw.f64{3}}, "s64[]"))    --> s64[] 3

-- They may be of any type. A handler looks at each, which can fail: that is the handler's failure, not a crash.
local sizes = ccw.bind "sizes(first: f32[n], ...) -> (y: f32[n])":to(function(first, rest, y)
  for _, x in ipairs(rest) do ccw.match.verify("operand", x, ccw.match.buffer():like(first)) end
  y:set_bytes(first:bytes())
end)
print(ccw.call(sizes, {ccw.f32{1, 2}, ccw.f32{3, 4}}))                     --> f32[2] {1, 2}
print(select(2, ccw.try(ccw.call, sizes, {ccw.f32{1, 2}, ccw.s32{3, 4}})).code)   --> INVALID_ARGUMENT

-- Nothing with a name may follow the dots: nobody could say where it begins. A binding that has it so is refused.
print(select(2, ccw.try(ccw.bind, "late(..., x: f32[n])")).code)   --> INVALID_ARGUMENT

-- The guide's two examples do not compile as they are printed. In the first, error() is an Error already, and no Error is
-- made of a code and an Error. In the second, a result comes as Result<AnyBuffer>. Mended, in C++:
--     #include "xla/ffi/api/ffi.h"
--     using namespace xla::ffi;
--
--     Error first(RemainingArgs args, RemainingRets rets) {
--       ErrorOr<AnyBuffer> arg = args.get<AnyBuffer>(0);
--       if (!arg.has_value()) return arg.error();
--       ErrorOr<Result<AnyBuffer>> ret = rets.get<AnyBuffer>(0);
--       if (!ret.has_value()) return ret.error();
--       return Error::Success();
--     }
--     XLA_FFI_DEFINE_HANDLER(one, first, Ffi::Bind().RemainingArgs().RemainingRets());
--
--     Error second(AnyBuffer, RemainingArgs, Result<AnyBuffer>, RemainingRets) {
--       return Error::Success();
--     }
--     XLA_FFI_DEFINE_HANDLER(two, second, Ffi::Bind()
--         .Arg<AnyBuffer>().RemainingArgs().Ret<AnyBuffer>().RemainingRets());

-- Try count with a list in the list of operands, {{a, b}, c}. How many does it see?

-- Your turn. Write `sum`: x: f32[n] and any number of further arrays of the same size to y: f32[n], all of them added up.
lesson.ask{"sum",
  try = function(sum)
    local function x(seed) return lesson.numbers("f32[3]", seed) end
    return ccw.call(sum, {x(1)}), ccw.call(sum, {x(1), x(2)}), ccw.call(sum, {x(1), x(2), x(3), x(4)})
  end,
  hints = {
    "the function gets x, the list of the rest, and y",
    "begin with y[i] = x[i], then add one array of the list after the other",
  },
  answer = [[
sum = ccw.bind "sum(x: f32[n], ...) -> (y: f32[n])":to(function(x, rest, y)
  for i = 1, #x do
    y[i] = x[i]
    for _, more in ipairs(rest) do y[i] = y[i] + more[i] end
  end
end)]],
}

-- Results can be variadic, too. Write `counts`, (...) -> (...): each result, an s64[], gets the number of elements of the
-- operand in the same place.
lesson.ask{"counts",
  try = function(counts)
    return ccw.call(counts, {ccw.iota "f32[3]", ccw.iota "s32[2,2]"}, {"s64[]", "s64[]"}),
      ccw.call(counts, {ccw.iota "f32[5]"}, {"s64[]"})
  end,
  hints = {"the function gets two lists", "results[i]:fill(operands[i].count)"},
  answer = [[
counts = ccw.bind "counts(...) -> (...)":to(function(operands, results)
  for i, x in ipairs(operands) do results[i]:fill(x.count) end
end)]],
}

// Every kind of binding that the official C++ headers have, each in a handler that tells what it got: what ccw hands over is
// what these expect, and their answers to what they do not expect are the facts that ccw builds on.
#include <complex>
#include <string>
#include <vector>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

enum class Mode : int32_t { kNearest = 0, kLinear = 1 };
struct Range {
  int64_t lo, hi;
};
struct Window {
  Range rows;
  std::string_view name;
};
XLA_FFI_REGISTER_ENUM_ATTR_DECODING(Mode);
XLA_FFI_REGISTER_STRUCT_ATTR_DECODING(Range, ffi::StructMember<int64_t>("lo"), ffi::StructMember<int64_t>("hi"));
XLA_FFI_REGISTER_STRUCT_ATTR_DECODING(
    Window, ffi::StructMember<Range>("rows"), ffi::StructMember<std::string_view>("name"));

using F32 = ffi::Buffer<ffi::F32>;
using Numbers = ffi::Buffer<ffi::F64, 1>;
using Out = ffi::Result<Numbers>;

// Writes what it is given, as far as the result has room.
static ffi::Error tell(Out y, const std::vector<double> &values)
{
  if (y->element_count() != values.size()) return ffi::Error::Internal("expected room for " + std::to_string(values.size()));
  for (size_t i = 0; i < values.size(); ++i) y->typed_data()[i] = values[i];
  return ffi::Error::Success();
}

static ffi::Error kinds(Out y, bool b, int8_t s8, int16_t s16, uint32_t u32, uint64_t u64, double f64,
    ffi::Span<const int32_t> array, ffi::Span<const double> doubles, std::string_view text, ffi::Dictionary dictionary,
    int *pointer, Mode mode, Window window)
{
  auto inner = dictionary.get<int64_t>("inner");
  if (inner.has_error()) return inner.error();
  return tell(y, {double(b), double(s8), double(s16), double(u32), double(u64), f64, double(array.size()), doubles[1],
                     double(text.size()), double(*inner), double(reinterpret_cast<uintptr_t>(pointer)), double(mode),
                     double(window.rows.lo), double(window.rows.hi), double(window.name.size())});
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Kinds, kinds,
    ffi::Ffi::Bind()
        .Ret<Numbers>()
        .Attr<bool>("b")
        .Attr<int8_t>("s8")
        .Attr<int16_t>("s16")
        .Attr<uint32_t>("u32")
        .Attr<uint64_t>("u64")
        .Attr<double>("f64")
        .Attr<ffi::Span<const int32_t>>("array")
        .Attr<ffi::Span<const double>>("doubles")
        .Attr<std::string_view>("text")
        .Attr<ffi::Dictionary>("dictionary")
        .Attr<ffi::Pointer<int>>("pointer")
        .Attr<Mode>("mode")
        .Attr<Window>("window"));

static ffi::Error optional(F32 a, F32 b, std::optional<F32> c, Out y, std::optional<ffi::Result<F32>> more)
{
  return tell(y, {double(a.element_count()), double(b.element_count()), c ? double(c->element_count()) : -1,
                     more ? double((*more)->element_count()) : -1});
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Optional, optional,
    ffi::Ffi::Bind().Arg<F32>().Arg<F32>().OptionalArg<F32>().Ret<Numbers>().OptionalRet<F32>());

static ffi::Error rest(F32 first, ffi::RemainingArgs args, int64_t which)
{
  auto buffer = args.get<F32>(which);
  if (buffer.has_error()) return buffer.error();
  return ffi::Error(ffi::ErrorCode::kAborted, std::to_string(args.size()) + " of them, this one of " +
                                                  std::to_string(buffer->element_count()));
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Rest, rest, ffi::Ffi::Bind().Arg<F32>().RemainingArgs().Attr<int64_t>("which"));

static ffi::Error lazy(ffi::Dictionary all)
{
  auto n = all.get<int32_t>("n");
  if (n.has_error()) return n.error();
  auto range = all.get<Range>("range");
  if (range.has_error()) return range.error();
  return ffi::Error(ffi::ErrorCode::kAborted, std::to_string(*n) + " " + std::to_string(range->hi));
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Lazy, lazy, ffi::Ffi::Bind().Attrs());

static ffi::Error whole(Range range) { return ffi::Error(ffi::ErrorCode::kAborted, std::to_string(range.hi - range.lo)); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(Whole, whole, ffi::Ffi::Bind().Attrs<Range>());

static ffi::Error eps(float value) { return ffi::Error(ffi::ErrorCode::kAborted, std::to_string(value)); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(Eps, eps, ffi::Ffi::Bind().Attr<float>("eps"));

static ffi::Error no_attributes(F32) { return ffi::Error(ffi::ErrorCode::kAborted, "ran"); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(NoAttributes, no_attributes, ffi::Ffi::Bind().Arg<F32>());

static ffi::Error contexts(ffi::RunId id, int32_t ordinal, ffi::ThreadPool pool)
{
  int ran = 0; // where the runtime takes no task it runs in here
  if (pool.num_threads() == 0) pool.Schedule([&] { ++ran; });
  return ffi::Error(ffi::ErrorCode::kAborted,
      std::to_string(id.run_id) + " " + std::to_string(ordinal) + " " + std::to_string(ran));
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Contexts, contexts,
    ffi::Ffi::Bind().Ctx<ffi::RunId>().Ctx<ffi::DeviceOrdinal>().Ctx<ffi::ThreadPool>());

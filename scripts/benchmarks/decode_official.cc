// decode_official.cc: the handlers of decode.c, written with XLA's own C++ binding.
#include <cstdint>
#include <string_view>

#include "xla/ffi/api/ffi.h"

#include "decode.h"

namespace ffi = xla::ffi;
namespace m = xla::ffi::match;
using ffi::Error;
using ffi::Ffi;
using Any = ffi::AnyBuffer;
using Matrix = ffi::BufferR2<ffi::F32>;
using Vector = ffi::BufferR1<ffi::F32>;

static Error result(int64_t number) {
  decode_result = number;
  return Error::Success();
}

static int64_t address(const void *data) { return reinterpret_cast<intptr_t>(data); }

static Error any1(Any a) { return result(address(a.untyped_data())); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(official_any1, any1, Ffi::Bind().Arg<Any>());

static Error any4(Any a, Any b, Any c, Any d) { return result(address(d.untyped_data())); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(official_any4, any4, Ffi::Bind().Arg<Any>().Arg<Any>().Arg<Any>().Arg<Any>());

static Error any12(Any a, Any b, Any c, Any d, Any e, Any f, Any g, Any h, Any i, Any j, Any k, Any l) {
  return result(address(l.untyped_data()));
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(official_any12, any12,
                              Ffi::Bind()
                                  .Arg<Any>()
                                  .Arg<Any>()
                                  .Arg<Any>()
                                  .Arg<Any>()
                                  .Arg<Any>()
                                  .Arg<Any>()
                                  .Arg<Any>()
                                  .Arg<Any>()
                                  .Arg<Any>()
                                  .Arg<Any>()
                                  .Arg<Any>()
                                  .Arg<Any>());

static Error typed4(Matrix a, Matrix b, Matrix c, Matrix d) { return result(address(d.untyped_data())); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(official_typed4, typed4,
                              Ffi::Bind().Arg<Matrix>().Arg<Matrix>().Arg<Matrix>().Arg<Matrix>());

static Error match4(Any a, Any b, Any c, Any d) {
  int64_t rows, cols;
  if (Error e = ffi::Verify("a", a, m::Buffer<ffi::F32>().WithDims(&rows, &cols)); e.failure()) return e;
  if (Error e = ffi::Verify("b", b, m::Buffer<ffi::F32>().WithDims(rows, cols)); e.failure()) return e;
  if (Error e = ffi::Verify("c", c, m::Buffer().WithShapeOf(a)); e.failure()) return e;
  if (Error e = ffi::Verify("d", d, m::Buffer().Like(a)); e.failure()) return e;
  return result(rows - cols);
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(official_match4, match4, Ffi::Bind().Arg<Any>().Arg<Any>().Arg<Any>().Arg<Any>());

static Error attrs4(int32_t i32, float f32, std::string_view str, int64_t i64) {
  return result(i32 + static_cast<int64_t>(f32) + static_cast<int64_t>(str.size()) + i64);
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    official_attrs4, attrs4,
    Ffi::Bind().Attr<int32_t>("i32").Attr<float>("f32").Attr<std::string_view>("str").Attr<int64_t>("i64"));

struct Options {
  int32_t i32;
  float f32;
  std::string_view str;
  int64_t i64;
};
XLA_FFI_REGISTER_STRUCT_ATTR_DECODING(Options, xla::ffi::StructMember<int32_t>("i32"),
                                      xla::ffi::StructMember<float>("f32"),
                                      xla::ffi::StructMember<std::string_view>("str"),
                                      xla::ffi::StructMember<int64_t>("i64"));

static Error struct4(Options options) { return attrs4(options.i32, options.f32, options.str, options.i64); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(official_struct4, struct4, Ffi::Bind().Attr<Options>("options"));

enum class Mode : int32_t { kNearest, kLinear, kCubic };
XLA_FFI_REGISTER_ENUM_ATTR_DECODING(Mode);

static Error enum5(Mode a, Mode b, Mode c, Mode d, Mode e) {
  return result(static_cast<int64_t>(a) + static_cast<int64_t>(b) + static_cast<int64_t>(c) + static_cast<int64_t>(d) +
                static_cast<int64_t>(e));
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    official_enum5, enum5,
    Ffi::Bind().Attr<Mode>("a").Attr<Mode>("b").Attr<Mode>("c").Attr<Mode>("d").Attr<Mode>("e"));

#define ENTRY(name)                                                                                     \
  if (ffi::ErrorOr<int64_t> entry = entries.get<int64_t>(#name); entry.has_error()) return entry.error(); \
  else sum += *entry;

static Error dictionary16(ffi::Dictionary entries) {
  int64_t sum = 0;
  ENTRY(alpha)
  ENTRY(axis)
  ENTRY(batch)
  ENTRY(beta)
  ENTRY(channels)
  ENTRY(depth)
  ENTRY(epsilon)
  ENTRY(groups)
  ENTRY(height)
  ENTRY(kernel)
  ENTRY(layout)
  ENTRY(mode)
  ENTRY(padding)
  ENTRY(scale)
  ENTRY(stride)
  ENTRY(width)
  return result(sum);
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(official_dictionary16, dictionary16, Ffi::Bind().Attrs());

static Error remaining64(ffi::RemainingArgs rest) {
  int64_t sum = 0;
  for (size_t i = 0; i < rest.size(); ++i) {
    ffi::ErrorOr<Vector> x = rest.get<Vector>(i);
    if (!x.has_value()) return x.error();
    sum += x->dimensions()[0];
  }
  return result(sum);
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(official_remaining64, remaining64, Ffi::Bind().RemainingArgs());

#ifdef ONE_MORE
static Error one_more(Matrix a, Matrix b, ffi::Result<Matrix> y, float alpha, bool transposed) {
  return result(address(a.untyped_data()) + address(b.untyped_data()) + address(y->untyped_data()) +
                static_cast<int64_t>(alpha) + transposed);
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    official_one_more, one_more,
    Ffi::Bind().Arg<Matrix>().Arg<Matrix>().Ret<Matrix>().Attr<float>("alpha").Attr<bool>("transposed"));
#endif

// official.cc: handlers written with XLA's own C++ binding, as people build them for JAX.
#include <complex>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;
using ffi::Error;

using R0 = ffi::BufferR0<ffi::F32>;
using R1 = ffi::BufferR1<ffi::F32>;
using Out1 = ffi::Result<R1>;
template <ffi::DataType dtype>
using Vector = ffi::Buffer<dtype, 1>;

static Error scale(R1 x, Out1 y, float s) {
  for (int64_t i = 0; i < x.dimensions()[0]; ++i) y->typed_data()[i] = s * x.typed_data()[i];
  return Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Scale, scale, ffi::Ffi::Bind().Arg<R1>().Ret<R1>().Attr<float>("s"));

static Error add_mod(R1 b, R1 c, Out1 a) {
  for (int64_t i = 0; i < c.dimensions()[0]; ++i)
    a->typed_data()[i] = b.typed_data()[i % b.dimensions()[0]] + c.typed_data()[i];
  return Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(AddMod, add_mod, ffi::Ffi::Bind().Arg<R1>().Arg<R1>().Ret<R1>());

// Every kind of attribute, as f64: the scalars, the string's length, the arrays' sums, what is in the dictionary.
static Error all_attributes(ffi::Result<Vector<ffi::F64>> out, bool b, int8_t s8, int16_t s16, int32_t s32, int64_t s64,
                            uint8_t u8, uint16_t u16, uint32_t u32, uint64_t u64, float f32, double f64,
                            std::string_view text, ffi::Span<const int32_t> array_s32, ffi::Span<const float> array_f32,
                            ffi::Span<const uint8_t> array_u8, ffi::Dictionary inner) {
  double *to = out->typed_data();
  double sum_s32 = 0, sum_f32 = 0, sum_u8 = 0;
  for (int32_t x : array_s32) sum_s32 += x;
  for (float x : array_f32) sum_f32 += x;
  for (uint8_t x : array_u8) sum_u8 += x;
  auto x = inner.get<int64_t>("x");
  if (!x.has_value()) return x.error();
  double values[] = {double(b),   double(s8),  double(s16), double(s32), double(s64), double(u8),
                     double(u16), double(u32), double(u64), f32,         f64,         double(text.size()),
                     sum_s32,     sum_f32,     sum_u8,      double(*x)};
  for (double value : values) *to++ = value;
  return Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(AllAttributes, all_attributes,
                              ffi::Ffi::Bind()
                                  .Ret<Vector<ffi::F64>>()
                                  .Attr<bool>("b")
                                  .Attr<int8_t>("s8")
                                  .Attr<int16_t>("s16")
                                  .Attr<int32_t>("s32")
                                  .Attr<int64_t>("s64")
                                  .Attr<uint8_t>("u8")
                                  .Attr<uint16_t>("u16")
                                  .Attr<uint32_t>("u32")
                                  .Attr<uint64_t>("u64")
                                  .Attr<float>("f32")
                                  .Attr<double>("f64")
                                  .Attr<std::string_view>("text")
                                  .Attr<ffi::Span<const int32_t>>("array_s32")
                                  .Attr<ffi::Span<const float>>("array_f32")
                                  .Attr<ffi::Span<const uint8_t>>("array_u8")
                                  .Attr<ffi::Dictionary>("inner"));

// The array attribute as it came.
static Error echo_array(ffi::Result<Vector<ffi::S64>> out, ffi::Span<const int64_t> v) {
  int64_t *to = out->typed_data();
  for (int64_t x : v) *to++ = x;
  return Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(EchoArray, echo_array,
                              ffi::Ffi::Bind().Ret<Vector<ffi::S64>>().Attr<ffi::Span<const int64_t>>("v"));

// The names of the whole dictionary and of the ones in it, in their order, as text in a u8 result.
static Error echo_names(ffi::Result<Vector<ffi::U8>> out, ffi::Dictionary attrs) {
  std::string text;
  for (std::string_view name : attrs) text += std::string(name) + ",";
  auto inner = attrs.get<ffi::Dictionary>("b");
  if (!inner.has_value()) return inner.error();
  for (std::string_view name : *inner) text += "b." + std::string(name) + ",";
  auto deep = inner->get<ffi::Dictionary>("x");
  if (!deep.has_value()) return deep.error();
  for (std::string_view name : *deep) text += "b.x." + std::string(name) + ",";
  auto word = deep->get<std::string_view>("deep");
  if (!word.has_value()) return word.error();
  text += std::string(*word);
  for (size_t i = 0; i < text.size() && int64_t(i) < out->dimensions()[0]; ++i) out->typed_data()[i] = text[i];
  return Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(EchoNames, echo_names, ffi::Ffi::Bind().Ret<Vector<ffi::U8>>().Attrs());

// Any number of f32 operands, added up into every result.
static Error sum_all(ffi::RemainingArgs args, ffi::RemainingRets rets) {
  for (size_t r = 0; r < rets.size(); ++r) {
    auto y = rets.get<R0>(r);
    if (!y.has_value()) return y.error();
    float sum = 0;
    for (size_t i = 0; i < args.size(); ++i) {
      auto x = args.get<R1>(i);
      if (!x.has_value()) return x.error();
      for (int64_t k = 0; k < x->dimensions()[0]; ++k) sum += x->typed_data()[k];
    }
    *(*y)->typed_data() = sum + float(r);
  }
  return Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(SumAll, sum_all, ffi::Ffi::Bind().RemainingArgs().RemainingRets());

// Two results of different types.
static Error split(R1 x, Out1 plus, ffi::Result<Vector<ffi::S32>> whole) {
  for (int64_t i = 0; i < x.dimensions()[0]; ++i) {
    plus->typed_data()[i] = x.typed_data()[i] + 0.5f;
    whole->typed_data()[i] = int32_t(x.typed_data()[i]);
  }
  return Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Split, split, ffi::Ffi::Bind().Arg<R1>().Ret<R1>().Ret<Vector<ffi::S32>>());

// Four operands, three results, which in a call are nested tuples.
static Error four_to_three(R1 a, R1 b, R1 c, R1 d, Out1 x, Out1 y, Out1 z) {
  x->typed_data()[0] = a.typed_data()[0] + float(a.dimensions()[0]);
  y->typed_data()[0] = b.typed_data()[0] + c.typed_data()[0];
  z->typed_data()[0] = d.typed_data()[0];
  return Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    FourToThree, four_to_three,
    ffi::Ffi::Bind().Arg<R1>().Arg<R1>().Arg<R1>().Arg<R1>().Ret<R1>().Ret<R1>().Ret<R1>());

static Error fail(int32_t code, std::string_view message) {
  return Error(static_cast<ffi::ErrorCode>(code), std::string(message));
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Fail, fail,
                              ffi::Ffi::Bind().Attr<int32_t>("code").Attr<std::string_view>("message"));

// dtype, rank, elements, bytes, distance from a multiple of 64, then the extents.
static Error describe(ffi::AnyBuffer x, ffi::Result<Vector<ffi::S64>> out) {
  int64_t *to = out->typed_data();
  *to++ = int64_t(x.element_type());
  *to++ = int64_t(x.dimensions().size());
  *to++ = int64_t(x.element_count());
  *to++ = int64_t(x.size_bytes());
  *to++ = int64_t(reinterpret_cast<uintptr_t>(x.untyped_data()) % 64);
  for (int64_t dim : x.dimensions()) *to++ = dim;
  return Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Describe, describe, ffi::Ffi::Bind().Arg<ffi::AnyBuffer>().Ret<Vector<ffi::S64>>());

static Error twice(R0 x, ffi::Result<R0> y) {
  *y->typed_data() = 2 * *x.typed_data();
  return Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Twice, twice, ffi::Ffi::Bind().Arg<R0>().Ret<R0>());

// For each pair of dtypes of one size: it takes the one and refuses the other.
template <ffi::DataType dtype>
static Error take(ffi::Buffer<dtype>, Out1 y) {
  y->typed_data()[0] = 1;
  return Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(TakeU32, take<ffi::U32>, ffi::Ffi::Bind().Arg<ffi::Buffer<ffi::U32>>().Ret<R1>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(TakeBF16, take<ffi::BF16>, ffi::Ffi::Bind().Arg<ffi::Buffer<ffi::BF16>>().Ret<R1>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(TakeC64, take<ffi::C64>, ffi::Ffi::Bind().Arg<ffi::Buffer<ffi::C64>>().Ret<R1>());

// Doubles floats and complex numbers of any rank.
template <typename T>
static void double_all(ffi::AnyBuffer x, ffi::AnyBuffer &y) {
  const T *from = reinterpret_cast<const T *>(x.untyped_data());
  T *to = reinterpret_cast<T *>(y.untyped_data());
  for (size_t i = 0; i < x.element_count(); ++i) to[i] = T(2) * from[i];
}
static Error double_any(ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> y) {
  switch (x.element_type()) {
    case ffi::F32: double_all<float>(x, *y); return Error::Success();
    case ffi::F64: double_all<double>(x, *y); return Error::Success();
    case ffi::S32: double_all<int32_t>(x, *y); return Error::Success();
    case ffi::C128: double_all<std::complex<double>>(x, *y); return Error::Success();
    default: return Error(ffi::ErrorCode::kUnimplemented, "another dtype");
  }
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(DoubleAny, double_any, ffi::Ffi::Bind().Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>());

static Error bool_attribute(bool) { return Error::Success(); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(BoolAttribute, bool_attribute, ffi::Ffi::Bind().Attr<bool>("b"));

static Error s64_attribute(int64_t) { return Error::Success(); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(S64Attribute, s64_attribute, ffi::Ffi::Bind().Attr<int64_t>("b"));

// run id and device ordinal
static Error context(ffi::RunId run_id, int32_t ordinal, ffi::Result<Vector<ffi::S64>> out) {
  out->typed_data()[0] = run_id.run_id;
  out->typed_data()[1] = ordinal;
  return Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    Context, context,
    ffi::Ffi::Bind().Ctx<ffi::RunId>().Ctx<ffi::DeviceOrdinal>().Ret<Vector<ffi::S64>>());

static Error needs_stream(void *) { return Error::Success(); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(NeedsStream, needs_stream, ffi::Ffi::Bind().Ctx<ffi::PlatformStream<void *>>());

static Error throws(int64_t what) {
  if (what == 0) throw std::runtime_error("boom");
  throw 42;
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(Throws, throws, ffi::Ffi::Bind().Attr<int64_t>("what"));

static Error recordable() { return Error::Success(); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(Recordable, recordable, ffi::Ffi::Bind(), {ffi::Traits::kCmdBufferCompatible});

// overruns.cc: handlers of the official C++ binding that leave their buffers. The specs know the lines by what stands behind them.
#include <cstdint>
#include <cstring>
#include <memory>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;
using ffi::Error;
using ffi::Ffi;
using X = ffi::BufferR1<ffi::F32>;
using Y = ffi::Result<X>;

// As many bytes as the binding counts: one for each element, however many of them share a byte.
static Error copy_counted(ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> y)
{
  std::memcpy(y->untyped_data(), x.untyped_data(), x.size_bytes());  // line: copy_counted
  return Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    CopyCounted, copy_counted, Ffi::Bind().Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>());

// The sums of blocks, of which the last may not be whole.
struct Blocks {
  static ffi::TypeId id;
  static ffi::TypeInfo info;
  int64_t size;
};
ffi::TypeId Blocks::id = {};
ffi::TypeInfo Blocks::info = ffi::MakeTypeInfo<Blocks>();

static ffi::ErrorOr<std::unique_ptr<Blocks>> new_blocks(int64_t size)
{
  return std::unique_ptr<Blocks>(new Blocks{size});
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(NewBlocks, new_blocks, Ffi::BindInstantiate().Attr<int64_t>("size"));

static Error sum_blocks(Blocks *blocks, X x, Y y, int64_t)
{
  for (int64_t i = 0; i < y->dimensions()[0]; ++i) {
    float sum = 0;
    for (int64_t k = 0; k < blocks->size; ++k) {
      sum += x.typed_data()[i * blocks->size + k];  // line: sum_blocks
    }
    y->typed_data()[i] = sum;
  }
  return Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    SumBlocks, sum_blocks, Ffi::Bind().Ctx<ffi::State<Blocks>>().Arg<X>().Ret<X>().Attr<int64_t>("size"));

static Error write_past(X x, Y y)
{
  for (int64_t i = 0; i <= x.dimensions()[0]; ++i) {
    y->typed_data()[i] = 1;  // line: write_past
  }
  return Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(WritePast, write_past, Ffi::Bind().Arg<X>().Ret<X>());

static Error leave_last(X x, Y y)
{
  for (int64_t i = 0; i + 1 < x.dimensions()[0]; ++i) y->typed_data()[i] = x.typed_data()[i];
  return Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(LeaveLast, leave_last, Ffi::Bind().Arg<X>().Ret<X>());

static Error write_operand(X x, Y y)
{
  x.typed_data()[1] = 0;  // line: write_operand
  std::memcpy(y->untyped_data(), x.untyped_data(), x.size_bytes());
  return Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(WriteOperand, write_operand, Ffi::Bind().Arg<X>().Ret<X>());

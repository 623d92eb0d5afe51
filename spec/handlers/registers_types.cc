// registers_types.cc: a library that registers its types itself when it is loaded, with the function table that it asks for.
#include <cstdint>
#include <memory>

#include "xla/ffi/api/ffi.h"

namespace xla::ffi {
const XLA_FFI_Api *GetXlaFfiApi();
}

namespace ffi = xla::ffi;
using ffi::Ffi;
using Out = ffi::Result<ffi::BufferR1<ffi::S64>>;

struct Own {
  static ffi::TypeId id;
  explicit Own(int64_t value) : value(value) {}
  int64_t value;
};
ffi::TypeId Own::id = {};
#if XLA_FFI_API_MINOR >= 2
static const ffi::TypeInfo info = ffi::MakeTypeInfo<Own>();
XLA_FFI_REGISTER_TYPE(ffi::GetXlaFfiApi(), "Own", &Own::id, &info);
#else
XLA_FFI_REGISTER_TYPE(ffi::GetXlaFfiApi(), "Own", &Own::id);
#endif

static ffi::ErrorOr<std::unique_ptr<Own>> make() { return std::make_unique<Own>(5); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(OwnMake, make, Ffi::BindInstantiate());
static ffi::Error value(Own *own, Out y)
{
  y->typed_data()[0] = own->value++;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(OwnState, value, Ffi::Bind().Ctx<ffi::State<Own>>().Ret<ffi::BufferR1<ffi::S64>>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(OwnData, value, Ffi::Bind().Ctx<ffi::UserData<Own>>().Ret<ffi::BufferR1<ffi::S64>>());

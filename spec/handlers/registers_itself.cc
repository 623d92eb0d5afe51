// registers_itself.cc: the same as XLA's guide has it, through the C++ name of the accessor.
#include "xla/ffi/api/ffi.h"

namespace xla::ffi {
const XLA_FFI_Api *GetXlaFfiApi();
}

namespace ffi = xla::ffi;

static ffi::Error three(ffi::Result<ffi::BufferR0<ffi::F32>> y) {
  *y->typed_data() = 3;
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER(kThree, three, ffi::Ffi::Bind().Ret<ffi::BufferR0<ffi::F32>>());
XLA_FFI_REGISTER_HANDLER(xla::ffi::GetXlaFfiApi(), "self.three", "Host", kThree);

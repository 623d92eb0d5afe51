// unregistered.cc: handlers of the official C++ binding whose types nobody has registered, built so that its assertions are on. The
// types lie in every way in which C++ may have them; functions give their addresses where the linker's names are hidden or gone.
#include <cstdint>
#include <memory>

#include "xla/ffi/api/ffi.h"

#define EXPORT extern "C" __attribute__((visibility("default")))
#define HANDLER(name, ...)                              \
  EXPORT XLA_FFI_Error *name(XLA_FFI_CallFrame *frame); \
  XLA_FFI_DEFINE_HANDLER_SYMBOL(name, __VA_ARGS__)
#if XLA_FFI_API_MINOR >= 2
#define INFO static ffi::TypeInfo info;
#define DEFINE_INFO(...) ffi::TypeInfo __VA_ARGS__::info = ffi::MakeTypeInfo<__VA_ARGS__>();
#define INFO_FUNCTION(name, ...) \
  EXPORT const ffi::TypeInfo *name() { return &__VA_ARGS__::info; }
#else
#define INFO
#define DEFINE_INFO(...)
#define INFO_FUNCTION(name, ...)
#endif

namespace ffi = xla::ffi;
using ffi::Error;
using ffi::Ffi;
using Out = ffi::Result<ffi::BufferR1<ffi::S64>>;

struct Plain {
  static ffi::TypeId id;
  INFO
  int64_t value;
};
ffi::TypeId Plain::id = {};
DEFINE_INFO(Plain)

namespace mine {
struct Named {
  static ffi::TypeId id;
  INFO
  int64_t value;
};
ffi::TypeId Named::id = {};
DEFINE_INFO(Named)
}  // namespace mine

namespace {
struct Secret {
  static ffi::TypeId id;
  INFO
  int64_t value;
};
ffi::TypeId Secret::id = {};
DEFINE_INFO(Secret)
}  // namespace

template <typename T, int n>
struct Box {
  static ffi::TypeId id;
  INFO
  T value;
};
template <typename T, int n>
ffi::TypeId Box<T, n>::id = {};
#if XLA_FFI_API_MINOR >= 2
template <typename T, int n>
ffi::TypeInfo Box<T, n>::info = ffi::MakeTypeInfo<Box<T, n>>();
#endif
using IntBox = Box<int64_t, XLA_FFI_API_MINOR>; // whose id all libraries share

template <typename T>
static Error value(T *data, Out y)
{
  y->typed_data()[0] = data->value;
  return Error::Success();
}
#define USES(T) Ffi::Bind().Ctx<ffi::UserData<T>>().Ret<ffi::BufferR1<ffi::S64>>()
HANDLER(PlainData, value<Plain>, USES(Plain));
HANDLER(NamedData, value<mine::Named>, USES(mine::Named));
HANDLER(SecretData, value<Secret>, USES(Secret));
HANDLER(BoxData, value<IntBox>, USES(IntBox));

// State, and the stage that makes it. In a bundle a stage may bind what the execute function does not.
static ffi::ErrorOr<std::unique_ptr<Plain>> make() { return std::unique_ptr<Plain>(new Plain{7}); }
HANDLER(PlainMake, make, Ffi::BindInstantiate());
HANDLER(PlainState, value<Plain>, Ffi::Bind().Ctx<ffi::State<Plain>>().Ret<ffi::BufferR1<ffi::S64>>());
static Error look(Plain *) { return Error::Success(); }
HANDLER(PlainPrepare, look, Ffi::Bind<ffi::ExecutionStage::kPrepare>().Ctx<ffi::UserData<Plain>>());
static Error look_secret(Secret *) { return Error::Success(); }
HANDLER(SecretPrepare, look_secret, Ffi::Bind<ffi::ExecutionStage::kPrepare>().Ctx<ffi::UserData<Secret>>());
static Error one(Out y)
{
  y->typed_data()[0] = 1;
  return Error::Success();
}
HANDLER(One, one, Ffi::Bind().Ret<ffi::BufferR1<ffi::S64>>());

#define FUNCTIONS(name, T)                             \
  EXPORT ffi::TypeId *name##Id() { return &T::id; } \
  INFO_FUNCTION(name##Info, T)
FUNCTIONS(Plain, Plain)
FUNCTIONS(Named, mine::Named)
FUNCTIONS(Secret, Secret)
FUNCTIONS(Box, IntBox)

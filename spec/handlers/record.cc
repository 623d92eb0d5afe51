// record.cc: handlers of stage RECORD written with XLA's own C++ binding, for one operand and one result of 16 bytes.
#include <cstdint>
#include <vector>

#include "xla/ffi/api/ffi.h"
#include "xla/ffi/api/collectives_api.h"
#include "xla/ffi/api/record_api.h"

namespace ffi = xla::ffi;
using ffi::Error;
using ffi::RecordAction;

// The headers leave it to the handler to say which errors the context speaks.
using Context = ffi::internal::RecordContextBase<ffi::internal::ErrorPolicy>;
using Recording = ffi::Extension<ffi::internal::RecordExtensionBase<Context>>;

static constexpr XLA_FFI_LaunchDims dims = {{2, 1, 1}, {32, 1, 1}, {0, 0, 0}};
static const char kernel[1024] = {};

#define TRY_LET(variable, expression)                  \
  auto variable##_or = (expression);                   \
  if (variable##_or.has_error()) return variable##_or.error(); \
  auto variable = variable##_or.value();

// Copies the operand in two halves and joins them.
static Error copy(Context context, ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> y) {
  char *from = static_cast<char *>(x.untyped_data()), *to = static_cast<char *>(y->untyped_data());
  auto commands = context.commands();
  if (commands.capacity() != 16) return Error::Internal("capacity");
  if (context.action() == RecordAction::kUpdate) {
    if (commands.size() != 3) return Error::Internal("size");
    Error error = context.UpdateMemcpyD2D(commands[0], to, from, 8);
    return error.failure() ? error : context.UpdateMemcpyD2D(commands[1], to + 8, from + 8, 8);
  }
  if (commands.size() != 0) return Error::Internal("size");
  TRY_LET(first, context.CreateMemcpyD2D(to, from, 8));
  TRY_LET(second, context.CreateMemcpyD2D(to + 8, from + 8, 8));
  std::vector<const XLA_FFI_Command *> both = {first, second};
  TRY_LET(join, context.CreateEmptyCommand(both));
  return join ? Error::Success() : Error::Internal("join");
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    Copy, copy, ffi::Ffi::BindRecord().Ctx<Recording>().Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>());

// Two kernels, one with a host value, one with pointers alone.
static Error launch(Context context, ffi::AnyBuffer x, ffi::Result<ffi::AnyBuffer> y) {
  int32_t factor = context.action() == RecordAction::kCreate ? 2 : 3;
  std::vector<ffi::KernelArg> mixed = {ffi::DevicePointer{x.untyped_data()}, ffi::HostValue{&factor, sizeof factor}};
  std::vector<void *> pointers = {x.untyped_data(), y->untyped_data()};
  if (context.action() == RecordAction::kUpdate) {
    Error error = context.UpdateLaunch(context.commands()[0], mixed);
    return error.failure() ? error : context.UpdateLaunch(context.commands()[1], pointers);
  }
  TRY_LET(first, context.CreateLaunch("scale", kernel, sizeof kernel, ffi::SourceFormat::kCubin, dims, 0, false, mixed));
  TRY_LET(second, context.CreateLaunch("add", kernel, 3, ffi::SourceFormat::kPtx, dims, 64, true, pointers, {first}));
  return second ? Error::Success() : Error::Internal("second");
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    Launch, launch, ffi::Ffi::BindRecord().Ctx<Recording>().Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>());

// A kernel that is loaded already: version 0.1 has no name for it.
static Error function(Context context, ffi::AnyBuffer, ffi::Result<ffi::AnyBuffer> y) {
  std::vector<void *> pointers = {y->untyped_data()};
  if (context.action() == RecordAction::kUpdate) return context.UpdateLaunch(context.commands()[0], pointers);
  TRY_LET(only, context.CreateLaunch("loaded", kernel, 0, static_cast<ffi::SourceFormat>(2), dims, 0, false, pointers));
  return only ? Error::Success() : Error::Internal("only");
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    Function, function, ffi::Ffi::BindRecord().Ctx<Recording>().Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>());

static Error capture(Context context, ffi::RemainingArgs, ffi::RemainingRets) { return context.RequestStreamCapture(); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(Capture, capture, ffi::Ffi::BindRecord().Ctx<Recording>().RemainingArgs().RemainingRets());

static Error capture_beside(Context context, ffi::RemainingArgs, ffi::RemainingRets) {
  TRY_LET(command, context.CreateEmptyCommand());
  return command ? context.RequestStreamCapture() : Error::Internal("command");
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    CaptureBeside, capture_beside, ffi::Ffi::BindRecord().Ctx<Recording>().RemainingArgs().RemainingRets());

static Error too_many(Context context, ffi::RemainingArgs, ffi::RemainingRets) {
  for (;;) {
    TRY_LET(command, context.CreateEmptyCommand());
    if (!command) return Error::Internal("command");
  }
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    TooMany, too_many, ffi::Ffi::BindRecord().Ctx<Recording>().RemainingArgs().RemainingRets());

// Creates where it should update.
static Error forgetful(Context context, ffi::RemainingArgs, ffi::RemainingRets) {
  auto made = context.CreateEmptyCommand();
  return made.has_error() ? made.error() : Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    Forgetful, forgetful, ffi::Ffi::BindRecord().Ctx<Recording>().RemainingArgs().RemainingRets());

struct Group {
  using Type = int;
  using CExtension = XLA_FFI_Collectives_Extension;
  static constexpr auto kName = "Collectives";
  static constexpr int64_t kExtensionType = XLA_FFI_Extension_Collectives;
  static constexpr int32_t kMajorVersion = XLA_FFI_Extension_Collectives_MajorVersion;
  static constexpr int32_t kMinorVersion = XLA_FFI_Extension_Collectives_MinorVersion;
  static int Create(const XLA_FFI_Api *, const CExtension *) { return 0; }
};
static Error collects(int, ffi::RemainingArgs, ffi::RemainingRets) { return Error::Success(); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    Collects, collects, ffi::Ffi::BindRecord().Ctx<ffi::Extension<Group>>().RemainingArgs().RemainingRets());

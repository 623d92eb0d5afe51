// The only C++ in core: C cannot catch what a handler written in C++ throws, nor read its names.
#include <cxxabi.h>

#include <exception>

#include "runtime/error.h"

extern "C" XLA_FFI_Error *ccw_barrier_call(XLA_FFI_Handler *function, XLA_FFI_CallFrame *frame);

extern "C" XLA_FFI_Error *ccw_barrier_call(XLA_FFI_Handler *function, XLA_FFI_CallFrame *frame)
{
  try {
    return function(frame);
  } catch (const abi::__forced_unwind &) {
    throw;  // the thread is being cancelled
  } catch (const std::exception &exception) {
    return ccw_error_new(XLA_FFI_Error_Code_UNKNOWN, "C++ exception: ", exception.what());
  } catch (...) {
    return ccw_error_new(XLA_FFI_Error_Code_UNKNOWN, "C++ exception of a type that has no text", "");
  }
}

extern "C" char *ccw_demangle(const char *name);

// The C++ name that was mangled so, to be freed with free; NULL for what is none.
extern "C" char *ccw_demangle(const char *name)
{
  return name[0] == '_' && name[1] == 'Z' ? abi::__cxa_demangle(name, nullptr, nullptr, nullptr) : nullptr;
}

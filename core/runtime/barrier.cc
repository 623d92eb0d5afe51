// The only C++ in core: C cannot catch what a handler written in C++ throws, nor read its names.
#include <cxxabi.h>

#include <cstdlib>
#include <cstdio>
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

extern "C" bool ccw_demangle(const char *symbol, char *out_name, size_t size);

extern "C" bool ccw_demangle(const char *symbol, char *out_name, size_t size)
{
  if (symbol[0] != '_' || symbol[1] != 'Z') return false;
  char *name = abi::__cxa_demangle(symbol, nullptr, nullptr, nullptr);
  bool fits = name && std::snprintf(out_name, size, "%s", name) < static_cast<int>(size);
  std::free(name);
  return fits;
}

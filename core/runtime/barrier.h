/* barrier.h: the call of foreign code. */
#ifndef CCW_RUNTIME_BARRIER_H
#define CCW_RUNTIME_BARRIER_H

#include <ccw/ccw.h>

/* Calls the handler. A C++ exception out of it becomes an error, UNKNOWN with its text, as in XLA. Without a C++ compiler
 * at build time such an exception ends the process. */
#ifdef CCW_HAS_BARRIER
#ifdef __cplusplus
extern "C"
#endif
    XLA_FFI_Error *
    ccw_barrier_call(XLA_FFI_Handler *handler, XLA_FFI_CallFrame *frame);
#else
static inline XLA_FFI_Error *ccw_barrier_call(XLA_FFI_Handler *handler, XLA_FFI_CallFrame *frame)
{
  return handler(frame);
}
#endif

#endif

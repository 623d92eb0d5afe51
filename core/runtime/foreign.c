#include "runtime/foreign.h"

#ifdef CCW_HAS_BARRIER
XLA_FFI_Error *ccw_barrier_call(XLA_FFI_Handler *function, XLA_FFI_CallFrame *frame); /* barrier.cc */
#else
static XLA_FFI_Error *ccw_barrier_call(XLA_FFI_Handler *function, XLA_FFI_CallFrame *frame) { return function(frame); }
#endif

/* What this thread runs now; a handler may run another. */
static _Thread_local struct {
  const char *name, *doing;
} running;

XLA_FFI_Error *ccw_foreign_call(
    XLA_FFI_Handler *function, XLA_FFI_CallFrame *frame, const char *name, const char *doing)
{
  const char *outer_name = running.name, *outer_doing = running.doing;
  running.name = name;
  running.doing = doing;
  XLA_FFI_Error *error = ccw_barrier_call(function, frame);
  running.name = outer_name;
  running.doing = outer_doing;
  return error;
}

const char *ccw_call_running(const char **out_doing)
{
  *out_doing = running.doing;
  return running.name;
}

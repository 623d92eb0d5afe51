/* context.h: the runtime's side of one run of a call, which a handler sees as an opaque pointer. */
#ifndef CCW_RUNTIME_CONTEXT_H
#define CCW_RUNTIME_CONTEXT_H

#include <ccw/ccw.h>

struct XLA_FFI_InvokeContext {
  XLA_FFI_ExecutionStage stage;
  int64_t run_id;
  int32_t device_ordinal; /* -1: unknown */
};

#endif

/* context.h: the runtime's side of a call, which a handler sees as an opaque pointer: what it may ask for, and the state that
 * it leaves. */
#ifndef CCW_RUNTIME_CONTEXT_H
#define CCW_RUNTIME_CONTEXT_H

#include <pthread.h>

#include <ccw/ccw.h>

/* What a stage has made. */
typedef struct ccw_state {
  void *object; /* owned; NULL: there is none */
  int64_t type_id;
  void (*deleter)(void *object);
} ccw_state;

enum { CCW_STATES = 3 }; /* of instantiate, prepare and initialize, by the number of the stage */

struct XLA_FFI_InvokeContext {
  XLA_FFI_ExecutionStage stage; /* that runs */
  const char *name;             /* of the call, for tasks that outlive the handler */
  ccw_library *library;         /* of the handler, for messages; NULL for none */
  ccw_device *device;           /* on which it runs; NULL: the host */
  ccw_stream *stream;           /* NULL on the host */
  int64_t run_id;
  int32_t device_ordinal; /* -1: unknown */
  int minor;              /* of the FFI API 0.x that the function of this stage was built for */
  bool is_captured;       /* what the handler queues outlives the call: there is no memory that ends with it */
  bool like_xla;          /* nothing is offered that XLA's CPU does not have */
  ccw_state states[CCW_STATES];
  const ccw_user_data *user_data;
  int64_t user_data_count;
  const ccw_attributes *custom_options; /* NULL: none */
  const XLA_FFI_Extension *extensions;
  pthread_mutex_t scratch_lock; /* a handler may ask from several threads */
  struct ccw_scratch_block *scratch;
};

/* Takes state over, of the stage that runs.
 * INVALID_ARGUMENT: no object, or a type that has no deleter. FAILED_PRECONDITION: there is state already, or the type is not
 * registered. In a failure nothing was taken. */
CCW_MUST_USE ccw_status ccw_context_set_state(
    XLA_FFI_InvokeContext *context, XLA_FFI_ExecutionStage stage, int64_t type_id, void *object);

/* The state of a stage. NOT_FOUND: there is none. INVALID_ARGUMENT: it is of another type, or the stage has no state.
 * FAILED_PRECONDITION: the type that is asked for is not registered. */
CCW_MUST_USE ccw_status ccw_context_state(
    const XLA_FFI_InvokeContext *context, XLA_FFI_ExecutionStage stage, int64_t type_id, void **out_object);

/* Ends the life of what a stage has made, if it has made anything. */
void ccw_context_drop_state(XLA_FFI_InvokeContext *context, XLA_FFI_ExecutionStage stage);

/* The user data of that type. NOT_FOUND. FAILED_PRECONDITION: the type is not registered. */
CCW_MUST_USE ccw_status ccw_context_user_data(const XLA_FFI_InvokeContext *context, int64_t type_id, void **out_data);

/* Scratch memory where the call runs, and what gives it back; see XLA_FFI_DeviceMemory_Allocate for the codes. */
CCW_MUST_USE ccw_status ccw_context_allocate(
    XLA_FFI_InvokeContext *context, size_t size, size_t alignment, void **out_data);
CCW_MUST_USE ccw_status ccw_context_free(XLA_FFI_InvokeContext *context, size_t size, void *data);

/* Gives back all scratch memory that is left. */
void ccw_context_free_scratch(XLA_FFI_InvokeContext *context);

/* Adds what a handler would be answered, a line each. */
void ccw_context_explain(const XLA_FFI_InvokeContext *context, ccw_text *text);

/* A failure for a type that is not registered: what to do, and what could be its id in that library. */
CCW_MUST_USE ccw_status ccw_unregistered_type(const ccw_library *library, const char *what);

#endif

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "base/checked.h"
#include "base/memory.h"
#include "base/text.h"
#include "call/frame.h"
#include "call/signature.h"
#include "runtime/api.h"
#include "runtime/call_check.h"
#include "runtime/checked.h"
#include "runtime/context.h"
#include "runtime/error.h"
#include "runtime/foreign.h"
#include "runtime/future.h"
#include "runtime/handler.h"
#include "runtime/recorder.h"
#include "runtime/touched.h"
#include "value/buffer.h"

/* Before a run the content of an aliased operand goes into its result. */
typedef struct copy {
  ccw_buffer *from; /* owned */
  ccw_buffer *to;
} copy;

/* What is inline here is on the path of every call, which is short. */

/* Where a call is. Whoever has brought it to RUNNING may touch it. The thread that completes the future leads from WAITING,
 * where whoever runs the call waits for it, back to RUNNING, and from PENDING, where nobody need be there, to COMPLETE. */
enum { IDLE, RUNNING, WAITING, PENDING, COMPLETE };

struct ccw_call {
  ccw_count count; /* its owner, and a run whose future is not complete */
  size_t size;
  const char *name;
  ccw_handler *handler;
  XLA_FFI_Handler *functions[CCW_STAGE_COUNT]; /* NULL: the handler has none for the stage */
  unsigned stages;                             /* of a run */
  bool is_on_host, is_instantiated, strict;
  bool may_run_again; /* for a check: it has no effects beyond its buffers and its state, as far as one can know */
  ccw_attributes *attributes, *custom_options;
  ccw_frame *frame;
  ccw_checked *checked;   /* NULL: the handler sees the buffers themselves */
  ccw_recorder *recorder; /* NULL: its stage record has not run */
  XLA_FFI_InvokeContext context;
  XLA_FFI_CallFrame head; /* of the frame, for all stages but instantiate */
  XLA_FFI_CallFrame run;  /* a copy for the stage that runs: the handler may write there */
  int minors[CCW_STAGE_COUNT];
  ccw_library *libraries[CCW_STAGE_COUNT]; /* NULL: of none */
  int64_t operand_count, result_count, copy_count;
  ccw_buffer **operands; /* as the handler sees them: an aliased one is its result */
  ccw_buffer **results;
  copy *copies;
  atomic_int phase;
  ccw_status outcome;   /* owned, when COMPLETE */
  bool has_executed;    /* in the run under way */
  pthread_mutex_t lock; /* of the waiting */
  pthread_cond_t completed;
  /* the arrays, the user data and the name follow in the same block */
};

/* ---- preparing ----------------------------------------------------------------------------------------------------- */

/* Holds the call against the signature of its handler, where that is known. */
static ccw_status check_signature(const ccw_call *call)
{
  enum { FEW = 24 };
  const ccw_signature *signature = ccw_handler_signature(call->handler);
  const XLA_FFI_CallFrame *frame = ccw_frame_abi(call->frame);
  if (!signature || ccw_signature_fits(signature, frame)) return ccw_ok();
  int64_t operands = call->operand_count, results = call->result_count;
  const ccw_shape *few[FEW], **shapes = few;
  size_t size = (size_t)(operands + results) * sizeof *shapes;
  if (size > sizeof few && !(shapes = ccw_allocate(size))) return ccw_no_memory(size);
  for (int64_t i = 0; i < operands; ++i) shapes[i] = ccw_buffer_shape(call->operands[i]);
  for (int64_t i = 0; i < results; ++i) shapes[operands + i] = ccw_buffer_shape(call->results[i]);
  ccw_status status =
      ccw_signature_check(signature, call->name, shapes, operands, shapes + operands, results, &frame->attrs);
  if (shapes != few) ccw_release(shapes, size);
  return status;
}

/* Lays the call out in one block: itself, operands, results, copies, user data, name. */
static ccw_status new_call(
    const char *name, int64_t operand_count, int64_t result_count, const ccw_call_options *options, ccw_call **out_call)
{
  size_t pointers = (size_t)(operand_count + result_count) * sizeof(ccw_buffer *);
  size_t copies = (size_t)result_count * sizeof(copy), length = strlen(name);
  size_t user_data = (size_t)options->user_data_count * sizeof *options->user_data;
  size_t size = sizeof(ccw_call) + pointers + copies + user_data + length + 1;
  ccw_call *call = ccw_allocate(size);
  if (!call) return ccw_no_memory(size);
  *call = (ccw_call){.count = 1, .size = size, .operand_count = operand_count, .result_count = result_count};
  call->operands = (ccw_buffer **)(call + 1);
  call->results = call->operands + operand_count;
  call->copies = (copy *)(call->results + result_count);
  ccw_user_data *data = (ccw_user_data *)(call->copies + result_count);
  if (user_data > 0) memcpy(data, options->user_data, user_data);
  call->context.user_data = data;
  call->context.user_data_count = options->user_data_count;
  call->name = memcpy(data + options->user_data_count, name, length + 1);
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&call->completed, &monotonic);
  pthread_condattr_destroy(&monotonic);
  pthread_mutex_init(&call->lock, NULL);
  pthread_mutex_init(&call->context.scratch_lock, NULL);
  *out_call = call;
  return ccw_ok();
}

static unsigned bit(XLA_FFI_ExecutionStage stage) { return 1u << stage; }

static void take_options(ccw_call *call, const ccw_call_options *options, ccw_device *device)
{
  const unsigned on_host = bit(XLA_FFI_ExecutionStage_EXECUTE);
  const unsigned elsewhere = on_host | bit(XLA_FFI_ExecutionStage_PREPARE) | bit(XLA_FFI_ExecutionStage_INITIALIZE);
  call->is_on_host = device == ccw_device_host();
  call->stages = options->stages ? options->stages : call->is_on_host ? on_host : elsewhere;
  call->strict = options->strict;
  call->custom_options = options->custom_options ? ccw_attributes_retain(options->custom_options) : NULL;
  call->context.name = call->name;
  call->context.run_id = options->run_id;
  call->context.device_ordinal = options->device_ordinal ? options->device_ordinal : ccw_device_ordinal(device);
  call->context.like_xla = options->like_xla;
  call->context.custom_options = call->custom_options;
}

/* On the host there is no stream, and what is asked about a call is short: there is no device then either. */
static ccw_status take_device(ccw_call *call, ccw_device *device, ccw_stream *stream)
{
  if (call->is_on_host) return ccw_ok();
  call->context.device = device;
  if (!stream) CCW_TRY(ccw_device_stream(device, &stream));
  call->context.stream = ccw_stream_retain(stream);
  return ccw_ok();
}

static void take_handler(ccw_call *call, ccw_handler *handler)
{
  ccw_handler_info info = ccw_handler_describe(handler);
  call->handler = ccw_handler_retain(handler);
#define TAKE(NAME, stage, number)                            \
  call->functions[number] = info.bundle.stage;               \
  call->minors[number] = ccw_handler_minor(handler, number); \
  call->libraries[number] = ccw_handler_library(handler, number);
  CCW_STAGES(TAKE)
#undef TAKE
}

/* State does not mind: what a forked child does to it ends with the child. What is written in Lua cannot leave its buffers. */
static bool may_run_again(const ccw_call *call, const ccw_call_options *options)
{
  return !options->has_side_effect && !ccw_handler_is_of_function(call->handler);
}

static ccw_status run_stage(ccw_call *call, XLA_FFI_ExecutionStage stage);

static ccw_status instantiate(ccw_call *call)
{
  ccw_status status = run_stage(call, XLA_FFI_ExecutionStage_INSTANTIATE);
  if (status.code)
    ccw_context_drop_state(&call->context, XLA_FFI_ExecutionStage_INSTANTIATE);
  else
    call->is_instantiated = true;
  return status;
}

ccw_status ccw_call_prepare(ccw_handler *handler, ccw_buffer *const *operands, int64_t operand_count,
    ccw_buffer *const *results, int64_t result_count, ccw_attributes *attributes, const ccw_call_options *options,
    ccw_call **out_call)
{
  static const ccw_call_options none = {0};
  if (!options) options = &none;
  const char *name = options->name ? options->name : ccw_handler_describe(handler).name;
  CCW_TRY_LET(ccw_device *, device, ccw_call_check, name, operands, operand_count, results, result_count, options);

  ccw_call *call;
  CCW_TRY(new_call(name, operand_count, result_count, options, &call));
  take_handler(call, handler);
  take_options(call, options, device);
  call->attributes = attributes ? ccw_attributes_retain(attributes) : NULL;
  for (int64_t i = 0; i < operand_count; ++i) call->operands[i] = ccw_buffer_retain(operands[i]);
  for (int64_t i = 0; i < result_count; ++i) call->results[i] = ccw_buffer_retain(results[i]);
  for (int64_t i = 0; i < options->alias_count; ++i) {
    ccw_alias alias = options->aliases[i];
    if (ccw_buffer_data(operands[alias.operand]) == ccw_buffer_data(results[alias.result])) continue;
    call->copies[call->copy_count++] = (copy){call->operands[alias.operand], results[alias.result]};
    call->operands[alias.operand] = ccw_buffer_retain(results[alias.result]);
  }
  ccw_status status = take_device(call, device, options->stream);
  if (!status.code)
    status = ccw_frame_build(call->operands, operand_count, call->results, result_count, attributes, &call->frame);
  if (!status.code) call->head = *ccw_frame_abi(call->frame), call->head.api = ccw_api();
  if (!status.code) status = ccw_handler_check_types(handler, call->name);
  if (!status.code && !options->as_it_is) status = check_signature(call);
  if (!status.code && options->checked && call->is_on_host)
    status = ccw_checked_new(handler, ccw_frame_abi(call->frame), call->operands, operand_count, call->results,
        result_count, &call->checked);
  call->may_run_again = may_run_again(call, options);
  if (!status.code && !options->by_hand) status = instantiate(call);
  if (status.code)
    ccw_call_free(call);
  else
    *out_call = call;
  return status;
}

/* ---- the end ------------------------------------------------------------------------------------------------------- */

/* The state of an execution ends with it, in the reverse order. */
static inline void end_execution(ccw_call *call)
{
  const ccw_state *states = call->context.states;
  if (!states[XLA_FFI_ExecutionStage_INITIALIZE].object && !states[XLA_FFI_ExecutionStage_PREPARE].object) return;
  ccw_context_drop_state(&call->context, XLA_FFI_ExecutionStage_INITIALIZE);
  ccw_context_drop_state(&call->context, XLA_FFI_ExecutionStage_PREPARE);
}

static void release(ccw_call *call)
{
  if (!ccw_count_down(&call->count)) return;
  ccw_status_free(call->outcome);
  ccw_context_free_scratch(&call->context);
  end_execution(call);
  ccw_context_drop_state(&call->context, XLA_FFI_ExecutionStage_INSTANTIATE);
  ccw_recorder_free(call->recorder);
  ccw_checked_free(call->checked);
  ccw_frame_free(call->frame);
  for (int64_t i = 0; i < call->operand_count; ++i) ccw_buffer_release(call->operands[i]);
  for (int64_t i = 0; i < call->result_count; ++i) ccw_buffer_release(call->results[i]);
  for (int64_t i = 0; i < call->copy_count; ++i) ccw_buffer_release(call->copies[i].from);
  ccw_attributes_release(call->attributes);
  ccw_attributes_release(call->custom_options);
  ccw_handler_release(call->handler);
  ccw_stream_release(call->context.stream);
  pthread_cond_destroy(&call->completed);
  pthread_mutex_destroy(&call->lock);
  pthread_mutex_destroy(&call->context.scratch_lock);
  ccw_release(call, call->size);
}

void ccw_call_free(ccw_call *call)
{
  if (call) release(call);
}

/* ---- futures ------------------------------------------------------------------------------------------------------- */

/* In the thread that completes the future, which may be the last that holds the call. */
static void complete(void *context, ccw_status outcome)
{
  ccw_call *call = context;
  pthread_mutex_lock(&call->lock);
  call->outcome = outcome;
  bool is_waited_for = atomic_load_explicit(&call->phase, memory_order_relaxed) == WAITING;
  atomic_store_explicit(&call->phase, is_waited_for ? RUNNING : COMPLETE, memory_order_release);
  pthread_cond_broadcast(&call->completed);
  pthread_mutex_unlock(&call->lock);
  release(call);
}

/* Has the future of the stage that has run complete the call, which is in that phase until then. Where this succeeds from
 * PENDING the call is another's at once, who may run it again. */
static ccw_status await_future(ccw_call *call, int phase)
{
  ccw_count_up(&call->count);
  atomic_store_explicit(&call->phase, phase, memory_order_relaxed);
  ccw_status status = ccw_future_await(call->run.future, complete, call);
  if (!status.code) return status;
  ccw_status_free(status);
  pthread_mutex_lock(&call->lock);
  atomic_store_explicit(&call->phase, RUNNING, memory_order_relaxed);
  pthread_cond_broadcast(&call->completed); /* another thread may wait for it already */
  pthread_mutex_unlock(&call->lock);
  ccw_count_down(&call->count);
  return ccw_internal("left a future in its frame that was not made here: %p", (void *)call->run.future);
}

/* Waits while the call is in that phase, or until the deadline; NULL for none. Gives the phase. */
static int wait_while(ccw_call *call, int phase, const struct timespec *deadline)
{
  pthread_mutex_lock(&call->lock);
  for (int late = 0; !late && atomic_load_explicit(&call->phase, memory_order_relaxed) == phase;)
    late = deadline ? pthread_cond_timedwait(&call->completed, &call->lock, deadline)
                    : pthread_cond_wait(&call->completed, &call->lock);
  phase = atomic_load_explicit(&call->phase, memory_order_relaxed);
  pthread_mutex_unlock(&call->lock);
  return phase;
}

static ccw_status take_outcome(ccw_call *call)
{
  ccw_status outcome = call->outcome;
  call->outcome = ccw_ok();
  return outcome;
}

/* Waits for the future of the stage that has run, if it left one, and gives its outcome. */
static inline ccw_status wait_for_future(ccw_call *call)
{
  if (!call->run.future) return ccw_ok();
  CCW_TRY(await_future(call, WAITING));
  wait_while(call, WAITING, NULL);
  return take_outcome(call);
}

/* ---- a stage ------------------------------------------------------------------------------------------------------- */

/* Handlers written with handler.h say their own name and the stage, "scale: execute: ...", which is left out here. */
static ccw_status without_own_name(ccw_status status, const char *name, const char *stage)
{
  char own[256];
  int length = snprintf(own, sizeof own, "%s: %s:", name, stage);
  const char *text = ccw_status_text(status);
  if (length >= (int)sizeof own || strncmp(text, own, (size_t)length) != 0) return status;
  const char *rest = text + length + (text[length] == ' ');
  ccw_status named = ccw_status_from_text(status.code, rest, strlen(rest));
  ccw_status_free(status);
  return named;
}

/* "scale: execute: " in front of what the handler said. */
static ccw_status failed(const ccw_call *call, XLA_FFI_ExecutionStage stage, ccw_status status)
{
  status = without_own_name(status, ccw_handler_name_of(call->handler, stage), ccw_stage_name(stage));
  return ccw_status_in(ccw_status_in(status, ccw_stage_name(stage)), call->name);
}

/* Makes the head of a frame that of instantiate. XLA's CPU instantiates with attributes alone, GPU platforms with prototypes of
 * the operands, which have no data: those take a frame of their own, *out_prototypes. */
static ccw_status make_instantiate(const ccw_call *call, XLA_FFI_CallFrame *frame, ccw_frame **out_prototypes)
{
  if (call->is_on_host) {
    frame->args = (XLA_FFI_Args){.struct_size = XLA_FFI_Args_STRUCT_SIZE};
    frame->rets = (XLA_FFI_Rets){.struct_size = XLA_FFI_Rets_STRUCT_SIZE};
    return ccw_ok();
  }
  CCW_TRY(ccw_frame_build(
      call->operands, call->operand_count, call->results, call->result_count, call->attributes, out_prototypes));
  ccw_frame_drop_data(*out_prototypes);
  frame->args = ccw_frame_abi(*out_prototypes)->args;
  frame->rets = ccw_frame_abi(*out_prototypes)->rets;
  frame->attrs = ccw_frame_abi(*out_prototypes)->attrs;
  return ccw_ok();
}

/* Gives the head of the frame of a stage: a copy, since the handler may write there. */
static inline ccw_status frame_of(
    const ccw_call *call, XLA_FFI_ExecutionStage stage, XLA_FFI_CallFrame *out_frame, ccw_frame **out_prototypes)
{
  *out_prototypes = NULL;
  *out_frame = call->head;
  out_frame->stage = stage;
  return stage == XLA_FFI_ExecutionStage_INSTANTIATE ? make_instantiate(call, out_frame, out_prototypes) : ccw_ok();
}

/* Runs the function of a stage, if there is one. A future that it leaves is in call->run.future, and not waited for. */
static inline ccw_status call_stage(ccw_call *call, XLA_FFI_ExecutionStage stage)
{
  ccw_frame *prototypes;
  if (!call->is_on_host) {
    CCW_TRY(ccw_device_make_current(call->context.device));
    ccw_touched_forget(call->context.device);
  }
  CCW_TRY(frame_of(call, stage, &call->run, &prototypes));
  call->run.ctx = &call->context;
  call->context.stage = stage;
  call->context.minor = call->minors[stage];
  call->context.library = call->libraries[stage];
  ccw_future_record record;
  ccw_future_record_begin(&record);
  XLA_FFI_Error *error = ccw_foreign_call(call->functions[stage], &call->run, call->name, ccw_stage_name(stage));
  if (error) call->run.future = NULL; /* an error together with a future is forbidden: the error counts */
  ccw_future_record_end(&record, call->run.future);
  if (prototypes) ccw_frame_free(prototypes);
  return error ? ccw_status_of_error(error) : ccw_ok();
}

static ccw_touched touched(const ccw_call *call)
{
  return (ccw_touched){.handler = call->handler,
      .device = call->context.device,
      .operands = call->operands,
      .results = call->results,
      .operand_count = call->operand_count,
      .result_count = call->result_count};
}

/* Waits for what the handler has left on its stream. What fails there follows from the handler's own failure, if there is one. */
static ccw_status end_on_device(ccw_call *call, ccw_status status)
{
  ccw_touched all = touched(call);
  ccw_status queued = ccw_stream_synchronize(call->context.stream);
  if (status.code)
    ccw_status_free(queued);
  else
    status = ccw_touched_by_kernel(&all, queued);
  return ccw_touched_by_host(&all, status);
}

/* The same, and waits for the future. */
static ccw_status run_stage(ccw_call *call, XLA_FFI_ExecutionStage stage)
{
  if (!call->functions[stage]) return ccw_ok();
  ccw_status status = call_stage(call, stage);
  if (!status.code) status = wait_for_future(call);
  if (!call->is_on_host) status = end_on_device(call, status);
  return status.code ? failed(call, stage, status) : status;
}

/* Runs the record function, which finds a recorder in its context: the first time to create commands, then to update them. */
static ccw_status run_record(ccw_call *call)
{
  const XLA_FFI_ExecutionStage stage = XLA_FFI_ExecutionStage_RECORD;
  XLA_FFI_RecordAction action = call->recorder ? XLA_FFI_RecordAction_Update : XLA_FFI_RecordAction_Create;
  ccw_status status = ccw_ok();
  if (!call->recorder) status = ccw_recorder_new(ccw_handler_minor(call->handler, stage), &call->recorder);
  if (!status.code) status = ccw_recorder_begin(call->recorder, action);
  if (status.code) return failed(call, stage, status);
  call->context.extensions = ccw_recorder_extension(call->recorder);
  status = run_stage(call, stage);
  call->context.extensions = NULL;
  bool is_handlers = status.code;
  if (is_handlers)
    ccw_recorder_cancel(call->recorder);
  else
    status = ccw_recorder_end(call->recorder);
  if (status.code && !is_handlers) status = failed(call, stage, status);
  if (status.code && action == XLA_FFI_RecordAction_Create) {
    ccw_recorder_free(call->recorder);
    call->recorder = NULL;
  }
  return status;
}

/* ---- a run --------------------------------------------------------------------------------------------------------- */

static ccw_status check_result(ccw_buffer *result)
{
  if (ccw_buffer_is_on_host(result)) return ccw_buffer_check(result);
  CCW_TRY_LET(ccw_buffer *, here, ccw_buffer_new, ccw_buffer_shape(result), false);
  ccw_status status = ccw_buffer_copy(result, here);
  if (!status.code) status = ccw_buffer_check(here);
  ccw_buffer_release(here);
  return status;
}

static ccw_status check_results(const ccw_call *call)
{
  for (int64_t i = 0; i < call->result_count; ++i) {
    ccw_status status = check_result(call->results[i]);
    if (!status.code) continue;
    char result[32];
    snprintf(result, sizeof result, "result %lld", (long long)i);
    return ccw_status_in(status, result);
  }
  return ccw_ok();
}

static void set_undefined(const ccw_call *call, bool undefined)
{
  for (int64_t i = 0; i < call->result_count; ++i) ccw_buffer_set_undefined(call->results[i], undefined);
}

/* Ends a run that is complete, and for whose outcome nobody has waited. */
static void drop_run(ccw_call *call)
{
  ccw_status outcome = take_outcome(call);
  if (call->has_executed)
    set_undefined(call, outcome.code || call->checked); /* the copies are not looked at any more */
  ccw_status_free(outcome);
  ccw_context_free_scratch(&call->context);
  end_execution(call);
}

/* Brings the call from IDLE, or from an outcome that nobody wants, to RUNNING. */
static inline ccw_status enter(ccw_call *call)
{
  int phase = IDLE;
  if (atomic_compare_exchange_strong_explicit(
          &call->phase, &phase, RUNNING, memory_order_acquire, memory_order_acquire))
    return ccw_ok();
  if (phase == COMPLETE && atomic_compare_exchange_strong_explicit(
                               &call->phase, &phase, RUNNING, memory_order_acquire, memory_order_acquire)) {
    drop_run(call);
    return ccw_ok();
  }
  return ccw_failed_precondition(
      "%s: it is running already%s", call->name, phase == PENDING ? ", until its future is complete" : "");
}

static void leave(ccw_call *call) { atomic_store_explicit(&call->phase, IDLE, memory_order_release); }

/* What stands in front of the execute function in a run. */
static inline ccw_status begin_execute(ccw_call *call)
{
  for (int64_t i = 0; i < call->copy_count; ++i) CCW_TRY(ccw_buffer_copy(call->copies[i].from, call->copies[i].to));
  if (call->checked) ccw_checked_begin(call->checked);
  call->has_executed = true;
  return ccw_ok();
}

/* For ccw_checked_end. */
static bool run_once_more(void *call)
{
  ccw_status status = call_stage(call, XLA_FFI_ExecutionStage_EXECUTE);
  ccw_status_free(status);
  return !status.code;
}

/* What comes behind it, once its future is complete. */
static inline ccw_status end_execute(ccw_call *call, ccw_status status)
{
  bool may_run_again = call->may_run_again && !call->run.future; /* who completes it may not be there again */
  if (call->checked) status = ccw_checked_end(call->checked, status, may_run_again ? run_once_more : NULL, call);
  if (!call->is_on_host) status = end_on_device(call, status);
  if (!status.code && call->strict) status = check_results(call);
  set_undefined(call, status.code != 0);
  return status.code ? failed(call, XLA_FFI_ExecutionStage_EXECUTE, status) : status;
}

static bool runs(const ccw_call *call, XLA_FFI_ExecutionStage stage)
{
  return (call->stages & bit(stage)) && call->functions[stage];
}

static ccw_status check_instantiated(const ccw_call *call)
{
  if (call->is_instantiated || !call->functions[XLA_FFI_ExecutionStage_INSTANTIATE]) return ccw_ok();
  return ccw_failed_precondition("%s: its stage instantiate has not run", call->name);
}

/* Runs everything up to the return of the execute function. */
static inline ccw_status run_to_execute(ccw_call *call)
{
  call->has_executed = false;
  call->run.future = NULL;
  CCW_TRY(check_instantiated(call));
  if (runs(call, XLA_FFI_ExecutionStage_PREPARE)) CCW_TRY(run_stage(call, XLA_FFI_ExecutionStage_PREPARE));
  if (runs(call, XLA_FFI_ExecutionStage_INITIALIZE)) CCW_TRY(run_stage(call, XLA_FFI_ExecutionStage_INITIALIZE));
  if (!runs(call, XLA_FFI_ExecutionStage_EXECUTE)) return ccw_ok();
  CCW_TRY(begin_execute(call));
  return call_stage(call, XLA_FFI_ExecutionStage_EXECUTE);
}

/* The rest of a run, and its outcome. */
static inline ccw_status finish(ccw_call *call, ccw_status status)
{
  if (call->has_executed) status = end_execute(call, status);
  if (!status.code && runs(call, XLA_FFI_ExecutionStage_RECORD)) status = run_record(call);
  if (call->context.scratch) ccw_context_free_scratch(&call->context);
  end_execution(call);
  leave(call);
  return status;
}

ccw_status ccw_call_run(ccw_call *call)
{
  CCW_TRY(enter(call));
  ccw_status status = run_to_execute(call);
  if (!status.code) status = wait_for_future(call);
  return finish(call, status);
}

ccw_status ccw_call_start(ccw_call *call)
{
  CCW_TRY(enter(call));
  ccw_status status = run_to_execute(call);
  if (!status.code && call->run.future) {
    status = await_future(call, PENDING);
    if (!status.code) return status;
  }
  call->outcome = status;
  atomic_store_explicit(&call->phase, COMPLETE, memory_order_release);
  return ccw_ok();
}

bool ccw_call_is_started(const ccw_call *call)
{
  int phase = atomic_load_explicit(&call->phase, memory_order_acquire);
  return phase == PENDING || phase == COMPLETE;
}

bool ccw_call_is_done(const ccw_call *call)
{
  return atomic_load_explicit(&call->phase, memory_order_acquire) != PENDING;
}

static struct timespec deadline_in(double seconds)
{
  enum { A_YEAR = 365 * 24 * 3600 };
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  double whole = floor(fmin(seconds, A_YEAR));
  at.tv_sec += (time_t)whole;
  at.tv_nsec += (long)((fmin(seconds, A_YEAR) - whole) * 1e9);
  if (at.tv_nsec >= 1000000000) {
    at.tv_nsec -= 1000000000;
    ++at.tv_sec;
  }
  return at;
}

bool ccw_call_await(ccw_call *call, double seconds)
{
  struct timespec deadline = deadline_in(seconds < 0 ? 0 : seconds);
  return wait_while(call, PENDING, &deadline) != PENDING;
}

ccw_status ccw_call_wait(ccw_call *call, double seconds)
{
  int phase = atomic_load_explicit(&call->phase, memory_order_acquire);
  if (phase == PENDING) {
    struct timespec deadline = deadline_in(seconds < 0 ? 0 : seconds);
    phase = wait_while(call, PENDING, seconds < 0 ? NULL : &deadline);
  }
  if (phase == PENDING)
    return ccw_deadline_exceeded("%s: its future was not complete after %g seconds", call->name, seconds);
  if (phase != COMPLETE || !atomic_compare_exchange_strong(&call->phase, &phase, RUNNING))
    return ccw_failed_precondition("%s: no run was started that could be waited for", call->name);
  return finish(call, take_outcome(call));
}

ccw_status ccw_call_run_for(ccw_call *call, double seconds)
{
  CCW_TRY(enter(call));
  ccw_status status = run_to_execute(call);
  if (status.code || !call->run.future) return finish(call, status);
  status = await_future(call, PENDING);
  return status.code ? finish(call, status) : ccw_call_wait(call, seconds);
}

/* ---- one stage by itself --------------------------------------------------------------------------------------------- */

static ccw_status stage_by_itself(ccw_call *call, XLA_FFI_ExecutionStage stage)
{
  if (stage == XLA_FFI_ExecutionStage_INSTANTIATE) {
    if (call->is_instantiated) return ccw_failed_precondition("%s: its stage instantiate has run already", call->name);
    return instantiate(call);
  }
  CCW_TRY(check_instantiated(call));
  if (stage == XLA_FFI_ExecutionStage_PREPARE) end_execution(call);
  if (stage == XLA_FFI_ExecutionStage_INITIALIZE) ccw_context_drop_state(&call->context, stage);
  if (stage == XLA_FFI_ExecutionStage_RECORD) return run_record(call);
  if (stage != XLA_FFI_ExecutionStage_EXECUTE) return run_stage(call, stage);
  CCW_TRY(begin_execute(call));
  ccw_status status = call_stage(call, stage);
  if (!status.code) status = wait_for_future(call);
  return end_execute(call, status);
}

ccw_status ccw_call_stage(ccw_call *call, XLA_FFI_ExecutionStage stage)
{
  if ((int)stage < 0 || (int)stage >= CCW_STAGE_COUNT) return ccw_invalid("%s: %d is no stage", call->name, (int)stage);
  if (!call->functions[stage])
    return ccw_not_found("%s: it has no function for the stage %s", call->name, ccw_stage_name(stage));
  CCW_TRY(enter(call));
  ccw_status status = stage_by_itself(call, stage);
  ccw_context_free_scratch(&call->context);
  leave(call);
  return status;
}

/* The end of a capture comes whatever happens after its begin. */
static ccw_status capture(ccw_call *call, ccw_graph **out_graph)
{
  const XLA_FFI_ExecutionStage stage = XLA_FFI_ExecutionStage_EXECUTE;
  CCW_TRY(check_instantiated(call));
  CCW_TRY(ccw_stream_begin_capture(call->context.stream));
  call->context.is_captured = true;
  ccw_status status = call_stage(call, stage);
  call->context.is_captured = false;
  if (!status.code && call->run.future) {
    status = wait_for_future(call);
    if (!status.code) status = ccw_internal("it left a future, which a graph cannot wait for");
  }
  ccw_status ended = ccw_stream_end_capture(call->context.stream, out_graph);
  if (status.code)
    ccw_status_free(ended); /* which fails for the same reason, if it does */
  else
    status = ended;
  ccw_touched all = touched(call);
  status = ccw_touched_by_host(&all, status);
  if (!status.code) return status;
  ccw_graph_free(*out_graph);
  *out_graph = NULL;
  return failed(call, stage, status);
}

ccw_status ccw_call_capture(ccw_call *call, ccw_graph **out_graph)
{
  *out_graph = NULL;
  if (call->is_on_host) return ccw_failed_precondition("%s: it runs on the host, where nothing is queued", call->name);
  if (!(ccw_handler_describe(call->handler).traits & XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE))
    return ccw_failed_precondition("%s: its handler does not say that it is compatible with command buffers, "
                                   "TRAIT(command_buffer_compatible), and may "
                                   "not be captured",
        call->name);
  CCW_TRY(enter(call));
  ccw_status status = capture(call, out_graph);
  ccw_context_free_scratch(&call->context);
  leave(call);
  return status;
}

/* ---- about it ------------------------------------------------------------------------------------------------------ */

ccw_device *ccw_frame_device(const XLA_FFI_CallFrame *frame)
{
  bool is_ours = frame->api == ccw_api() && frame->ctx;
  return is_ours && frame->ctx->device ? frame->ctx->device : ccw_device_host();
}

ccw_stream *ccw_frame_stream(const XLA_FFI_CallFrame *frame)
{
  return frame->api == ccw_api() && frame->ctx ? frame->ctx->stream : NULL;
}

const char *ccw_call_name(const ccw_call *call) { return call->name; }

ccw_attributes *ccw_call_attributes(const ccw_call *call) { return call->attributes; }

ccw_status ccw_call_explain(const ccw_call *call, XLA_FFI_ExecutionStage stage, ccw_text *text)
{
  ccw_frame *prototypes;
  XLA_FFI_CallFrame frame;
  CCW_TRY(frame_of(call, stage, &frame, &prototypes));
  ccw_frame_explain(&frame, text);
  ccw_context_explain(&call->context, text);
  ccw_frame_free(prototypes);
  return ccw_text_status(text);
}

void ccw_call_recorded(const ccw_call *call, ccw_text *text)
{
  if (call->recorder) ccw_recorder_print(call->recorder, text);
}

ccw_status ccw_call_replay(ccw_call *call)
{
  CCW_TRY(enter(call));
  ccw_status status =
      call->recorder ? ccw_recorder_replay(call->recorder) : ccw_failed_precondition("nothing was recorded");
  leave(call);
  return status.code ? ccw_status_in(status, call->name) : status;
}

/* context.h: what a handler may ask of the runtime that called it.
 *
 * A handler that binds a context gets the answer as a parameter: CTX(stream, s), CTX(state(T), t). What the runtime cannot
 * give is reported at the operand, INVALID_ARGUMENT as in the official binding, and the handler does not run. What is asked for
 * later keeps the runtime's code; what the runtime has no function for, since it speaks an older version of the FFI, is
 * UNIMPLEMENTED.
 */
#ifndef CCW_CONTEXT_H
#define CCW_CONTEXT_H

#include <sched.h>

#include "binding.h"

#if !defined(__GNUC__) || UINTPTR_MAX != 0xffffffffffffffff
#error "ccw/handler.h is for gcc and clang on 64-bit machines"
#endif

#define CCW_INLINE static inline __attribute__((always_inline, unused))
#define CCW_COLD static __attribute__((cold, noinline, unused))
#define CCW_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define CCW_EXPORT __attribute__((visibility("default")))
#define CCW_WEAK __attribute__((weak)) /* several files of a library may say it */
#ifdef __cplusplus
#define CCW_EXTERN extern "C"
#define CCW_ZERO_ \
  {               \
  }
#else
#define CCW_EXTERN extern
#define CCW_ZERO_ \
  {               \
    0             \
  }
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* An enum as it stands in a frame, where any number may be. */
CCW_INLINE int ccw_number_at_(const void *place)
{
  int number;
  memcpy(&number, place, sizeof number);
  return number;
}

/* A status that is known to be a failure: compilers learn that what comes after success has its values. */
CCW_INLINE ccw_status ccw_surely_(ccw_status failure)
{
  if (failure.code == XLA_FFI_Error_Code_OK) __builtin_unreachable();
  return failure;
}

/* The same status, which must be used: what a macro says with a conditional, compilers let pass unused. */
CCW_MUST_USE CCW_INLINE ccw_status ccw_used_(ccw_status status) { return status; }

/* ---- the function table --------------------------------------------------------------------------------------------- */

/* Bytes of a runtime's table. Up to 0.1 it claimed 88 of them and had 184. */
CCW_INLINE size_t ccw_api_size_(const XLA_FFI_Api *api) { return api->struct_size == 88 ? 184 : api->struct_size; }

#define CCW_HAS_(api, SLOT) ((api) && ccw_api_size_(api) >= offsetof(XLA_FFI_Api, SLOT) + sizeof(void *) && (api)->SLOT)

CCW_COLD ccw_status ccw_lacks_(const XLA_FFI_Api *api, const char *slot)
{
  if (!api) return ccw_unimplemented("the frame has no function table, and so no %s", slot);
  return ccw_unimplemented("the runtime speaks FFI API %d.%d and has no %s", api->api_version.major_version,
      api->api_version.minor_version, slot);
}

/* What an error of the runtime says. It is consumed. */
CCW_COLD ccw_status ccw_receive_(const XLA_FFI_Api *api, XLA_FFI_Error *error)
{
  XLA_FFI_Error_GetDetails_Args details = {
      XLA_FFI_Error_GetDetails_Args_STRUCT_SIZE, NULL, error, NULL, XLA_FFI_Error_Code_UNKNOWN};
  if (api->api_version.major_version == 0 && api->api_version.minor_version < 4)
    details.struct_size = offsetof(XLA_FFI_Error_GetDetails_Args, errc);
  if (CCW_HAS_(api, XLA_FFI_Error_GetDetails)) api->XLA_FFI_Error_GetDetails(&details);
  const char *text = details.message ? details.message : "the runtime failed and does not say why";
  XLA_FFI_Error_Code code = details.errc && ccw_code_name(details.errc) ? details.errc : XLA_FFI_Error_Code_UNKNOWN;
  ccw_status status = ccw_status_from_text(code, text, strlen(text));
  XLA_FFI_Error_Destroy_Args destroy = {XLA_FFI_Error_Destroy_Args_STRUCT_SIZE, NULL, error};
  if (CCW_HAS_(api, XLA_FFI_Error_Destroy)) api->XLA_FFI_Error_Destroy(&destroy);
  return status;
}

/* Calls a slot that returns an error. */
#define CCW_CALL_(api, SLOT, args) \
  (CCW_LIKELY(CCW_HAS_(api, SLOT)) ? ccw_outcome_(api, (api)->SLOT(args)) : ccw_lacks_(api, #SLOT))

CCW_INLINE ccw_status ccw_outcome_(const XLA_FFI_Api *api, XLA_FFI_Error *error)
{
  return CCW_LIKELY(!error) ? ccw_ok() : ccw_receive_(api, error);
}

/* An error to hand to the runtime: it has no other way to learn of a failure, so that there is one even where the runtime
 * can make none. The text is freed. */
CCW_COLD XLA_FFI_Error *ccw_send_(const XLA_FFI_Api *api, ccw_status status)
{
  static char none;
  XLA_FFI_Error_Create_Args args = {XLA_FFI_Error_Create_Args_STRUCT_SIZE, NULL, ccw_status_text(status), status.code};
  XLA_FFI_Error *error = CCW_HAS_(api, XLA_FFI_Error_Create) ? api->XLA_FFI_Error_Create(&args) : NULL;
  ccw_status_free(status);
  return error ? error : (XLA_FFI_Error *)(void *)&none;
}

/* ---- what is asked once, before the handler runs -------------------------------------------------------------------- */

CCW_INLINE ccw_status ccw_ask_stream_(const XLA_FFI_CallFrame *frame, void **out)
{
  XLA_FFI_Stream_Get_Args args = {XLA_FFI_Stream_Get_Args_STRUCT_SIZE, NULL, frame->ctx, NULL};
  ccw_status status = CCW_CALL_(frame->api, XLA_FFI_Stream_Get, &args);
  *out = args.stream;
  return status;
}

CCW_INLINE ccw_status ccw_ask_run_id_(const XLA_FFI_CallFrame *frame, int64_t *out)
{
  XLA_FFI_RunId_Get_Args args = {XLA_FFI_RunId_Get_Args_STRUCT_SIZE, NULL, frame->ctx, 0};
  ccw_status status = CCW_CALL_(frame->api, XLA_FFI_RunId_Get, &args);
  *out = args.run_id;
  return status;
}

CCW_INLINE ccw_status ccw_ask_device_ordinal_(const XLA_FFI_CallFrame *frame, int32_t *out)
{
  XLA_FFI_DeviceOrdinal_Get_Args args = {XLA_FFI_DeviceOrdinal_Get_Args_STRUCT_SIZE, NULL, frame->ctx, -1};
  ccw_status status = CCW_CALL_(frame->api, XLA_FFI_DeviceOrdinal_Get, &args);
  *out = args.device_ordinal;
  return status;
}

/* State before 0.3: of instantiation only, and without the stage. The two structs have one layout. */
typedef struct ccw_state_args_0_2_ {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_InvokeContext *ctx;
  XLA_FFI_TypeId *type_id;
  void *state;
} ccw_state_args_0_2_;

CCW_INLINE bool ccw_is_before_0_3_(const XLA_FFI_Api *api)
{
  return api && api->api_version.major_version == 0 && api->api_version.minor_version < 3;
}

/* What a runtime of 0.1 or 0.2 cannot do with state. */
CCW_COLD ccw_status ccw_check_old_state_(const XLA_FFI_Api *api, XLA_FFI_ExecutionStage stage)
{
  if (api->api_version.minor_version < 2)
    return ccw_unimplemented(
        "the runtime speaks FFI API 0.%d, whose state is of another layout", api->api_version.minor_version);
  if (stage != XLA_FFI_ExecutionStage_INSTANTIATE)
    return ccw_unimplemented("the runtime speaks FFI API 0.2, which has no state of that stage");
  return ccw_ok();
}

CCW_COLD ccw_status ccw_ask_old_state_(
    const XLA_FFI_CallFrame *frame, XLA_FFI_ExecutionStage stage, XLA_FFI_TypeId *id, void **out)
{
  CCW_TRY(ccw_check_old_state_(frame->api, stage));
  ccw_state_args_0_2_ args = {sizeof args, NULL, frame->ctx, id, NULL};
  ccw_status status = CCW_CALL_(frame->api, XLA_FFI_State_Get, (XLA_FFI_State_Get_Args *)(void *)&args);
  *out = args.state;
  return status;
}

/* The state that a stage has made. */
CCW_INLINE ccw_status ccw_ask_state_(
    const XLA_FFI_CallFrame *frame, XLA_FFI_ExecutionStage stage, XLA_FFI_TypeId *id, void **out)
{
  if (!CCW_LIKELY(!ccw_is_before_0_3_(frame->api))) return ccw_ask_old_state_(frame, stage, id, out);
  XLA_FFI_State_Get_Args args = {XLA_FFI_State_Get_Args_STRUCT_SIZE, NULL, frame->ctx, stage, id, NULL};
  ccw_status status = CCW_CALL_(frame->api, XLA_FFI_State_Get, &args);
  *out = args.state;
  return status;
}

/* Hands state over to the runtime, which owns it from then on; not where this fails. */
CCW_COLD ccw_status ccw_set_state_(const XLA_FFI_CallFrame *frame, XLA_FFI_TypeId *id, void *state)
{
  if (ccw_is_before_0_3_(frame->api)) {
    CCW_TRY(ccw_check_old_state_(frame->api, frame->stage));
    ccw_state_args_0_2_ args = {sizeof args, NULL, frame->ctx, id, state};
    return CCW_CALL_(frame->api, XLA_FFI_State_Set, (XLA_FFI_State_Set_Args *)(void *)&args);
  }
  XLA_FFI_State_Set_Args args = {XLA_FFI_State_Set_Args_STRUCT_SIZE, NULL, frame->ctx, frame->stage, id, state};
  return CCW_CALL_(frame->api, XLA_FFI_State_Set, &args);
}

CCW_INLINE ccw_status ccw_ask_user_data_(const XLA_FFI_CallFrame *frame, XLA_FFI_TypeId *id, void **out)
{
  XLA_FFI_InvokeContext_Get_Args args = {XLA_FFI_InvokeContext_Get_Args_STRUCT_SIZE, NULL, frame->ctx, id, NULL};
  ccw_status status = CCW_CALL_(frame->api, XLA_FFI_InvokeContext_Get, &args);
  *out = args.data;
  return status;
}

/* The version of an extension that a handler was written for: a runtime's must have the same major, and no lower minor. */
CCW_COLD ccw_status ccw_ask_extension_(
    const XLA_FFI_CallFrame *frame, const XLA_FFI_ExtensionId *wanted, const XLA_FFI_Extension **out)
{
  XLA_FFI_InvokeContext_FindExtension_Args args = {
      XLA_FFI_InvokeContext_FindExtension_Args_STRUCT_SIZE, NULL, frame->ctx, wanted->extension_type, NULL};
  *out = NULL;
  CCW_TRY(CCW_CALL_(frame->api, XLA_FFI_InvokeContext_FindExtension, &args));
  long long type = (long long)wanted->extension_type;
  if (!args.extension) return ccw_not_found("the runtime has no extension %lld", type);
  XLA_FFI_ExtensionId id = args.extension->id;
  if (id.major_version != wanted->major_version || id.minor_version < wanted->minor_version)
    return ccw_unimplemented("extension %lld: expected version %d.%d, got %d.%d", type, wanted->major_version,
        wanted->minor_version, id.major_version, id.minor_version);
  *out = args.extension;
  return ccw_ok();
}

CCW_INLINE ccw_status ccw_ask_custom_options_(const XLA_FFI_CallFrame *frame, const XLA_FFI_Attrs **out)
{
  XLA_FFI_CustomOptions_Get_Args args = {XLA_FFI_CustomOptions_Get_Args_STRUCT_SIZE, NULL, frame->ctx, NULL};
  ccw_status status = CCW_CALL_(frame->api, XLA_FFI_CustomOptions_Get, &args);
  *out = args.attrs;
  if (!status.code && !args.attrs) return ccw_internal("the runtime has none, and does not say why");
  return status;
}

/* The same by the number of the context, for reports: asks and throws the answer away. */
CCW_COLD ccw_status ccw_ask_(const XLA_FFI_CallFrame *frame, ccw_context context, const void *detail)
{
  XLA_FFI_TypeId *id = (XLA_FFI_TypeId *)(uintptr_t)detail;
  void *pointer;
  const void *view;
  int64_t number;
  int32_t ordinal;
  switch (context) {
  case CCW_CONTEXT_STREAM: return ccw_ask_stream_(frame, &pointer);
  case CCW_CONTEXT_RUN_ID: return ccw_ask_run_id_(frame, &number);
  case CCW_CONTEXT_DEVICE_ORDINAL: return ccw_ask_device_ordinal_(frame, &ordinal);
  case CCW_CONTEXT_STATE: return ccw_ask_state_(frame, XLA_FFI_ExecutionStage_INSTANTIATE, id, &pointer);
  case CCW_CONTEXT_PREPARED: return ccw_ask_state_(frame, XLA_FFI_ExecutionStage_PREPARE, id, &pointer);
  case CCW_CONTEXT_INITIALIZED: return ccw_ask_state_(frame, XLA_FFI_ExecutionStage_INITIALIZE, id, &pointer);
  case CCW_CONTEXT_USER_DATA: return ccw_ask_user_data_(frame, id, &pointer);
  case CCW_CONTEXT_EXTENSION:
    return ccw_ask_extension_(frame, (const XLA_FFI_ExtensionId *)detail, (const XLA_FFI_Extension **)&view);
  case CCW_CONTEXT_CUSTOM_OPTIONS: return ccw_ask_custom_options_(frame, (const XLA_FFI_Attrs **)&view);
  case CCW_CONTEXT_TYPE: {
    ccw_attribute none = {0, NULL};
    return ((const ccw_type_info *)detail)->check(frame, none, NULL);
  }
  case CCW_CONTEXT_SCRATCH:
  case CCW_CONTEXT_THREADS:
  case CCW_CONTEXT_FRAME: break;
  }
  return ccw_ok();
}

/* ---- scratch memory ------------------------------------------------------------------------------------------------- */

enum { CCW_SCRATCH_BLOCKS = 16 };

/* Memory of the device for the length of the call: what was taken is given back when the handler returns. */
typedef struct ccw_scratch {
  const XLA_FFI_CallFrame *frame;
  int64_t count;
  struct {
    void *data;
    size_t size;
  } blocks[CCW_SCRATCH_BLOCKS];
} ccw_scratch;

/* Takes `size` bytes at a multiple of `alignment`, a power of two, 16 at the most, as in XLA. RESOURCE_EXHAUSTED: there are none, or CCW_SCRATCH_BLOCKS
 * pieces are taken already. UNIMPLEMENTED, or what the runtime says: XLA has no scratch memory on the CPU. */
static inline ccw_status ccw_scratch_take(ccw_scratch *scratch, size_t size, size_t alignment, void **out_data)
{
  const XLA_FFI_CallFrame *frame = scratch->frame;
  if (scratch->count == CCW_SCRATCH_BLOCKS)
    return ccw_resource_exhausted("scratch: %d pieces are taken already", CCW_SCRATCH_BLOCKS);
  XLA_FFI_DeviceMemory_Allocate_Args args = {
      XLA_FFI_DeviceMemory_Allocate_Args_STRUCT_SIZE, NULL, frame->ctx, size, alignment, NULL};
  CCW_TRY(CCW_CALL_(frame->api, XLA_FFI_DeviceMemory_Allocate, &args));
  if (!args.data && size > 0) return ccw_resource_exhausted("scratch: the runtime has no %zu bytes", size);
  scratch->blocks[scratch->count].data = args.data;
  scratch->blocks[scratch->count++].size = size;
  *out_data = args.data;
  return ccw_ok();
}

CCW_COLD void ccw_scratch_free_(ccw_scratch *scratch)
{
  const XLA_FFI_CallFrame *frame = scratch->frame;
  while (scratch->count > 0) {
    --scratch->count;
    XLA_FFI_DeviceMemory_Free_Args args = {XLA_FFI_DeviceMemory_Free_Args_STRUCT_SIZE, NULL, frame->ctx,
        scratch->blocks[scratch->count].size, scratch->blocks[scratch->count].data};
    ccw_status_free(CCW_CALL_(frame->api, XLA_FFI_DeviceMemory_Free, &args));
  }
}

/* ---- threads -------------------------------------------------------------------------------------------------------- */

/* The runtime's thread pool, if it has one. It may be used until the handler returns, also where that leaves a future: XLA keeps
 * its context no longer. XLA runs handlers on these very threads: a handler that waits for its tasks can wait for ever, since
 * none begins while all threads are in handlers that wait. ccw_threads_for knows about that; or make a future, and wait for
 * nothing. */
typedef struct ccw_threads {
  const XLA_FFI_Api *api;
  XLA_FFI_InvokeContext *context;
} ccw_threads;

/* Runs task(data) once, on another thread or, where the runtime takes no task, here and now. */
static inline void ccw_threads_run(ccw_threads threads, XLA_FFI_Task *task, void *data)
{
  XLA_FFI_ThreadPool_Schedule_Args args = {
      XLA_FFI_ThreadPool_Schedule_Args_STRUCT_SIZE, NULL, threads.context, task, data};
  ccw_status status = CCW_CALL_(threads.api, XLA_FFI_ThreadPool_Schedule, &args);
  if (!status.code) return;
  ccw_status_free(status);
  task(data);
}

/* How many threads the pool has; 0 where there is none. */
static inline int64_t ccw_threads_count(ccw_threads threads)
{
  int64_t count = 0;
  XLA_FFI_ThreadPool_NumThreads_Args args = {
      XLA_FFI_ThreadPool_NumThreads_Args_STRUCT_SIZE, NULL, threads.context, &count};
  ccw_status status = CCW_CALL_(threads.api, XLA_FFI_ThreadPool_NumThreads, &args);
  if (!status.code) return count;
  ccw_status_free(status);
  return 0;
}

/* What the threads of ccw_threads_for share. It goes with the last of them, which may come when there is nothing left to do. */
typedef struct ccw_loop_ {
  void (*body)(void *data, int64_t i);
  void *data;
  int64_t count, next, done, holders;
} ccw_loop_;

CCW_COLD void ccw_loop_release_(ccw_loop_ *loop)
{
  if (__atomic_sub_fetch(&loop->holders, 1, __ATOMIC_ACQ_REL) == 0) free(loop);
}

/* Takes what nobody has taken yet. */
static inline void ccw_loop_work_(ccw_loop_ *loop)
{
  for (int64_t i; (i = __atomic_fetch_add(&loop->next, 1, __ATOMIC_RELAXED)) < loop->count;) {
    loop->body(loop->data, i);
    __atomic_add_fetch(&loop->done, 1, __ATOMIC_RELEASE);
  }
}

CCW_COLD void ccw_loop_task_(void *data)
{
  ccw_loop_ *loop = (ccw_loop_ *)data;
  ccw_loop_work_(loop);
  ccw_loop_release_(loop);
}

/* Runs body(data, i) for every i from 0 to count - 1, in any order, on threads of the pool and on this one, and returns when all
 * have run. Unlike a handler that only waits for its tasks it cannot deadlock where all threads of the pool are in handlers, as
 * they may be in XLA: what no other thread takes, this one does. Make the pieces large, a microsecond or more; in C++ the body
 * does not throw. */
static inline void ccw_threads_for(ccw_threads threads, int64_t count, void (*body)(void *data, int64_t i), void *data)
{
  int64_t helpers = ccw_threads_count(threads) < count - 1 ? ccw_threads_count(threads) : count - 1;
  ccw_loop_ *loop = helpers > 0 ? (ccw_loop_ *)malloc(sizeof *loop) : NULL;
  if (!loop) {
    for (int64_t i = 0; i < count; ++i) body(data, i);
    return;
  }
  loop->body = body;
  loop->data = data;
  loop->count = count;
  loop->next = loop->done = 0;
  loop->holders = helpers + 1;
  for (int64_t i = 0; i < helpers; ++i) ccw_threads_run(threads, ccw_loop_task_, loop);
  ccw_loop_work_(loop);
  while (__atomic_load_n(&loop->done, __ATOMIC_ACQUIRE) < count) sched_yield(); /* for pieces that others are at */
  ccw_loop_release_(loop);
}

/* ---- futures -------------------------------------------------------------------------------------------------------- */

/* The completion of a call whose handler returns before its work is done. */
typedef struct ccw_future {
  const XLA_FFI_Api *api;
  XLA_FFI_Future *future;
} ccw_future;

/* Makes the future of this call and leaves it in the frame, CTX(frame, f): the runtime waits for it. A handler that fails
 * after that completes it with its failure. */
CCW_MUST_USE static inline ccw_status ccw_future_create(XLA_FFI_CallFrame *frame, ccw_future *out_future)
{
  XLA_FFI_Future_Create_Args args = {XLA_FFI_Future_Create_Args_STRUCT_SIZE, NULL, NULL};
  CCW_TRY(CCW_CALL_(frame->api, XLA_FFI_Future_Create, &args));
  frame->future = args.future;
  out_future->api = frame->api;
  out_future->future = args.future;
  return ccw_ok();
}

/* Completes it, once, from any thread: with success, or with a failure, whose text is freed. The buffers of the call are
 * gone afterwards. */
CCW_MUST_USE static inline ccw_status ccw_future_complete(ccw_future future, ccw_status outcome)
{
  if (!outcome.code) {
    XLA_FFI_Future_SetAvailable_Args args = {XLA_FFI_Future_SetAvailable_Args_STRUCT_SIZE, NULL, future.future};
    return CCW_CALL_(future.api, XLA_FFI_Future_SetAvailable, &args);
  }
  XLA_FFI_Future_SetError_Args args = {
      XLA_FFI_Future_SetError_Args_STRUCT_SIZE, NULL, future.future, ccw_send_(future.api, outcome)};
  ccw_status status = CCW_CALL_(future.api, XLA_FFI_Future_SetError, &args);
  if (status.code && CCW_HAS_(future.api, XLA_FFI_Error_Destroy)) { /* the error was not taken */
    XLA_FFI_Error_Destroy_Args destroy = {XLA_FFI_Error_Destroy_Args_STRUCT_SIZE, NULL, args.error};
    future.api->XLA_FFI_Error_Destroy(&destroy);
  }
  return status;
}

#ifdef __cplusplus
}
#endif

/* ---- types that pass through the runtime ---------------------------------------------------------------------------- */

/* Declares that T may be state: deleter(T *) ends its life. The library exports ccw_type_id_T and ccw_type_info_T, by which
 * a runtime registers the type before the first call. */
#define CCW_STATE(T, deleter)                                                   \
  CCW_EXTERN CCW_EXPORT CCW_WEAK XLA_FFI_TypeId ccw_type_id_##T;                \
  CCW_EXTERN CCW_EXPORT CCW_WEAK XLA_FFI_TypeInfo ccw_type_info_##T;            \
  XLA_FFI_TypeId ccw_type_id_##T = {0};                                         \
  static void ccw_delete_##T##_(void *ccw_state_) { deleter((T *)ccw_state_); } \
  XLA_FFI_TypeInfo ccw_type_info_##T = {XLA_FFI_TypeInfo_STRUCT_SIZE, NULL, ccw_delete_##T##_}

/* Declares that T may be user data: whoever starts the executable puts a T there under ccw_type_id_T. */
#define CCW_USER_DATA(T)                                         \
  CCW_EXTERN CCW_EXPORT CCW_WEAK XLA_FFI_TypeId ccw_type_id_##T; \
  XLA_FFI_TypeId ccw_type_id_##T = {0}

/* Declares that T, whose first member is an XLA_FFI_Extension, is an extension of the context. */
#define CCW_EXTENSION(T, type, major, minor) \
  static const XLA_FFI_ExtensionId ccw_extension_##T##_ = {type, major, minor}

#endif

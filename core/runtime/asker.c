#include "runtime/asker.h"

#include <string.h>

#include "base/text.h"
#include "runtime/api.h"
#include "runtime/context.h"
#include "runtime/error.h"
#include "runtime/foreign.h"

/* ---- the function table: it refuses everything, and notes what was wanted -------------------------------------------- */

static _Thread_local ccw_asker *asking;

static XLA_FFI_Error *refuse(void)
{
  return ccw_error_new(XLA_FFI_Error_Code_UNAVAILABLE, "", "ccw only asks what is bound");
}

static XLA_FFI_Error *note(ccw_context context, const XLA_FFI_TypeId *type)
{
  if (asking && asking->context_count < CCW_ASKER_MOST_CONTEXTS)
    asking->contexts[asking->context_count++] = (ccw_asked_context){context, type};
  return refuse();
}

#define CONTEXT_SLOT(slot, NAME, CONTEXT)       \
  static XLA_FFI_Error *slot(NAME##_Args *args) \
  {                                             \
    (void)args;                                 \
    return note(CCW_CONTEXT_##CONTEXT, NULL);   \
  }
CONTEXT_SLOT(stream_get, XLA_FFI_Stream_Get, STREAM)
CONTEXT_SLOT(run_id_get, XLA_FFI_RunId_Get, RUN_ID)
CONTEXT_SLOT(device_ordinal_get, XLA_FFI_DeviceOrdinal_Get, DEVICE_ORDINAL)
CONTEXT_SLOT(find_extension, XLA_FFI_InvokeContext_FindExtension, EXTENSION)
CONTEXT_SLOT(custom_options_get, XLA_FFI_CustomOptions_Get, CUSTOM_OPTIONS)
#undef CONTEXT_SLOT

static XLA_FFI_Error *context_get(XLA_FFI_InvokeContext_Get_Args *args)
{
  return note(CCW_CONTEXT_USER_DATA, args->type_id);
}

/* As of 0.2, where the type stands in the place of the stage. */
typedef struct state_get_args_0_2 {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_InvokeContext *ctx;
  XLA_FFI_TypeId *type_id;
} state_get_args_0_2;

static XLA_FFI_Error *state_get(XLA_FFI_State_Get_Args *args)
{
  bool has_stage = args->struct_size >= XLA_FFI_State_Get_Args_STRUCT_SIZE; /* before 0.3 there was one state */
  XLA_FFI_ExecutionStage stage = has_stage ? args->stage : XLA_FFI_ExecutionStage_INSTANTIATE;
  const state_get_args_0_2 *old = (const void *)args;
  return note(stage == XLA_FFI_ExecutionStage_PREPARE      ? CCW_CONTEXT_PREPARED
              : stage == XLA_FFI_ExecutionStage_INITIALIZE ? CCW_CONTEXT_INITIALIZED
                                                           : CCW_CONTEXT_STATE,
      has_stage ? args->type_id : old->type_id);
}

/* The body ran, so that nothing was bad. */
static XLA_FFI_Error *state_set(XLA_FFI_State_Set_Args *args)
{
  (void)args;
  if (asking) asking->has_made_state = true;
  return refuse();
}

#define REFUSING_SLOT(slot, NAME)               \
  static XLA_FFI_Error *slot(NAME##_Args *args) \
  {                                             \
    (void)args;                                 \
    return refuse();                            \
  }
REFUSING_SLOT(handler_register, XLA_FFI_Handler_Register)
REFUSING_SLOT(type_register, XLA_FFI_Type_Register)
REFUSING_SLOT(device_memory_allocate, XLA_FFI_DeviceMemory_Allocate)
REFUSING_SLOT(device_memory_free, XLA_FFI_DeviceMemory_Free)
REFUSING_SLOT(thread_pool_schedule, XLA_FFI_ThreadPool_Schedule)
REFUSING_SLOT(thread_pool_num_threads, XLA_FFI_ThreadPool_NumThreads)
REFUSING_SLOT(future_create, XLA_FFI_Future_Create)
REFUSING_SLOT(future_set_available, XLA_FFI_Future_SetAvailable)
REFUSING_SLOT(future_set_error, XLA_FFI_Future_SetError)
#undef REFUSING_SLOT

/* Errors are made, and read, as ever. */
static XLA_FFI_Api refusing_api(void)
{
  XLA_FFI_Api api = *ccw_api();
  api.XLA_FFI_Handler_Register = handler_register;
  api.XLA_FFI_Stream_Get = stream_get;
  api.XLA_FFI_Type_Register = type_register;
  api.XLA_FFI_InvokeContext_Get = context_get;
  api.XLA_FFI_State_Set = state_set;
  api.XLA_FFI_State_Get = state_get;
  api.XLA_FFI_DeviceMemory_Allocate = device_memory_allocate;
  api.XLA_FFI_DeviceMemory_Free = device_memory_free;
  api.XLA_FFI_ThreadPool_Schedule = thread_pool_schedule;
  api.XLA_FFI_ThreadPool_NumThreads = thread_pool_num_threads;
  api.XLA_FFI_Future_Create = future_create;
  api.XLA_FFI_Future_SetAvailable = future_set_available;
  api.XLA_FFI_Future_SetError = future_set_error;
  api.XLA_FFI_RunId_Get = run_id_get;
  api.XLA_FFI_DeviceOrdinal_Get = device_ordinal_get;
  api.XLA_FFI_InvokeContext_FindExtension = find_extension;
  api.XLA_FFI_CustomOptions_Get = custom_options_get;
  return api;
}

/* ---- an asker -------------------------------------------------------------------------------------------------------- */

static void make_harmless(ccw_asker *a)
{
  static const char no_name[] = "?";
  a->harmless = (XLA_FFI_Buffer){.struct_size = XLA_FFI_Buffer_STRUCT_SIZE, .data = a->memory, .dims = a->dims};
  a->scalar = (XLA_FFI_Scalar){.value = a->memory};
  a->unnamed = (XLA_FFI_ByteSpan){no_name, sizeof no_name - 1};
  for (int i = 0; i < CCW_ASKER_MOST; ++i) {
    a->args.kinds[i] = a->rets.kinds[i] = CCW_ASKER_NO_KIND;
    a->args.buffers[i] = a->rets.buffers[i] = &a->harmless;
  }
}

ccw_status ccw_asker_new(const char *name, XLA_FFI_Handler *function, ccw_asker **out_asker)
{
  ccw_asker *a = ccw_allocate_zeroed(sizeof *a);
  if (!a) return ccw_no_memory(sizeof *a);
  a->name = name;
  a->function = function;
  a->api = refusing_api();
  a->frame_size = XLA_FFI_CallFrame_STRUCT_SIZE;
  a->args.complaint = CCW_TOPIC_ARGS;
  a->args.no_buffer = CCW_TOPIC_ARG;
  a->rets.complaint = CCW_TOPIC_RESULTS;
  a->rets.no_buffer = CCW_TOPIC_RESULT;
  make_harmless(a);
  /* There are attributes, beyond the size, for functions that look without asking. */
  ccw_status status = ccw_asker_dictionary(a, CCW_ASKER_MOST, &a->attrs);
  a->attrs.size = 0;
  if (status.code)
    ccw_asker_free(a);
  else
    *out_asker = a;
  return status;
}

void ccw_asker_free(ccw_asker *a)
{
  ccw_text_free(&a->answer);
  ccw_arena_free(&a->arena);
  ccw_release(a, sizeof *a);
}

/* ---- a question ------------------------------------------------------------------------------------------------------ */

void ccw_asker_ask(ccw_asker *a)
{
  XLA_FFI_InvokeContext context = {.stage = a->stage};
  XLA_FFI_CallFrame frame = {.struct_size = a->frame_size,
      .api = &a->api,
      .ctx = &context,
      .stage = a->stage,
      .args = {.struct_size = XLA_FFI_Args_STRUCT_SIZE,
          .size = a->args.size,
          .types = (XLA_FFI_ArgType *)a->args.kinds,
          .args = a->args.buffers},
      .rets = {.struct_size = XLA_FFI_Rets_STRUCT_SIZE,
          .size = a->rets.size,
          .types = (XLA_FFI_RetType *)a->rets.kinds,
          .rets = a->rets.buffers},
      .attrs = a->attrs};
  asking = a;
  a->context_count = 0;
  a->has_made_state = false;
  ccw_status status = ccw_status_of_error(ccw_foreign_call(a->function, &frame, a->name, "asked what it binds"));
  asking = NULL;
  ccw_text_free(&a->answer);
  ccw_text_add(&a->answer, "%s", ccw_status_text(status));
  a->lacks_memory |= a->answer.failed;
  a->topic = ccw_answer_topic(ccw_text_data(&a->answer));
  a->is_unclear = status.code && a->topic != CCW_TOPIC_OPERANDS && !a->has_made_state;
  ccw_status_free(status);
}

const char *ccw_asker_answer(const ccw_asker *a) { return ccw_text_data(&a->answer); }

bool ccw_asker_has(const ccw_asker *a, ccw_topic topic) { return a->topic == topic; }

bool ccw_asker_was_taken(const ccw_asker *a)
{
  return ccw_asker_has(a, CCW_TOPIC_OPERANDS) && ccw_answer_bad(ccw_asker_answer(a)) == a->bad - 1;
}

ccw_status ccw_asker_dictionary(ccw_asker *a, int64_t size, XLA_FFI_Attrs *out_attrs)
{
  XLA_FFI_AttrType *types = ccw_arena_take(&a->arena, (size_t)size * sizeof *types);
  XLA_FFI_ByteSpan **names = ccw_arena_take(&a->arena, (size_t)size * sizeof *names);
  void **attrs = ccw_arena_take(&a->arena, (size_t)size * sizeof *attrs);
  if (!types || !names || !attrs) return ccw_no_memory(size);
  for (int64_t i = 0; i < size; ++i) {
    types[i] = XLA_FFI_AttrType_SCALAR;
    names[i] = &a->unnamed;
    attrs[i] = &a->scalar;
  }
  *out_attrs = (XLA_FFI_Attrs){
      .struct_size = XLA_FFI_Attrs_STRUCT_SIZE, .size = size, .types = types, .names = names, .attrs = attrs};
  return ccw_ok();
}

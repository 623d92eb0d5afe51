#include "runtime/api.h"

#include <string.h>

#include "runtime/context.h"
#include "runtime/error.h"
#include "runtime/foreign.h"
#include "runtime/future.h"
#include "runtime/library.h"
#include "runtime/pool.h"

/* A caller tells how much of the struct it knows: more than is known here is fine, less is refused, but for the older
 * structs that a slot names. Returns from the slot. */
#define REQUIRE_SIZE(args, NAME)                                             \
  do {                                                                       \
    if ((args)->struct_size < NAME##_Args_STRUCT_SIZE)                       \
      return too_small(#NAME, (args)->struct_size, NAME##_Args_STRUCT_SIZE); \
  } while (0)

static XLA_FFI_Error *too_small(const char *name, size_t size, size_t expected)
{
  return ccw_error_of_status(ccw_invalid("%s_Args: expected at least %zu bytes, got %zu; API %d.%d is spoken here",
      name, expected, size, XLA_FFI_API_MAJOR, XLA_FFI_API_MINOR));
}

/* ---- errors -------------------------------------------------------------------------------------------------------- */

static XLA_FFI_Error *error_create(XLA_FFI_Error_Create_Args *args)
{
  REQUIRE_SIZE(args, XLA_FFI_Error_Create);
  return ccw_error_new(args->errc, "", args->message);
}

static void error_get_details(XLA_FFI_Error_GetDetails_Args *args)
{
  /* Before 0.4 the struct ended after the message. It cannot fail: a struct that is too small stays as it is. */
  enum { WITHOUT_CODE = XLA_FFI_STRUCT_SIZE(XLA_FFI_Error_GetDetails_Args, message) };
  if (args->struct_size < WITHOUT_CODE || !ccw_error_is_live(args->error)) return;
  args->message = ccw_error_message(args->error);
  if (args->struct_size >= XLA_FFI_Error_GetDetails_Args_STRUCT_SIZE) args->errc = ccw_error_code(args->error);
}

static void error_destroy(XLA_FFI_Error_Destroy_Args *args)
{
  if (args->struct_size >= XLA_FFI_Error_Destroy_Args_STRUCT_SIZE) ccw_error_destroy(args->error);
}

/* ---- registration -------------------------------------------------------------------------------------------------- */

/* The arguments before 0.4, whose bundle had four handlers. */
typedef struct register_args_0_3 {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_ByteSpan name, platform;
  XLA_FFI_Handler *instantiate, *prepare, *initialize, *execute;
  XLA_FFI_Handler_Traits traits;
} register_args_0_3;

static XLA_FFI_Error *handler_register(XLA_FFI_Handler_Register_Args *args)
{
  if (args->struct_size == XLA_FFI_STRUCT_SIZE(register_args_0_3, traits)) {
    const register_args_0_3 *old = (const void *)args;
    XLA_FFI_Handler_Bundle bundle = {old->instantiate, old->prepare, old->initialize, old->execute, NULL};
    return ccw_error_of_status(ccw_library_register(&old->name, &old->platform, &bundle, old->traits));
  }
  REQUIRE_SIZE(args, XLA_FFI_Handler_Register);
  return ccw_error_of_status(ccw_library_register(&args->name, &args->platform, &args->bundle, args->traits));
}

/* ---- types of state and user data ---------------------------------------------------------------------------------- */

/* Since 0.2 what the size says ends before `type_info`; in 0.1 the struct did. So there may be no memory there, and what is there may
 * be no pointer: the kernel reads both. */
static const XLA_FFI_TypeInfo *read_type_info(const XLA_FFI_Type_Register_Args *args, XLA_FFI_TypeInfo *info)
{
  const XLA_FFI_TypeInfo *at;
  if (!ccw_read_memory(&args->type_info, &at, sizeof at) || !at || !ccw_read_memory(at, info, sizeof *info))
    return NULL;
  void *deleter;
  memcpy(&deleter, &info->deleter, sizeof deleter);
  return info->struct_size >= XLA_FFI_TypeInfo_STRUCT_SIZE && deleter && ccw_is_code(deleter) ? info : NULL;
}

static XLA_FFI_Error *type_register(XLA_FFI_Type_Register_Args *args)
{
  REQUIRE_SIZE(args, XLA_FFI_Type_Register);
  XLA_FFI_TypeInfo info;
  return ccw_error_of_status(ccw_library_register_own_type(&args->name, args->type_id, read_type_info(args, &info)));
}

/* ---- context ------------------------------------------------------------------------------------------------------- */

/* The metadata query has no context. Returns from the slot. */
#define REQUIRE_CONTEXT(args, NAME)                                                                                 \
  do {                                                                                                              \
    if (!(args)->ctx) return ccw_error_of_status(ccw_failed_precondition("%s: there is no call under way", #NAME)); \
  } while (0)

static XLA_FFI_Error *run_id_get(XLA_FFI_RunId_Get_Args *args)
{
  REQUIRE_SIZE(args, XLA_FFI_RunId_Get);
  REQUIRE_CONTEXT(args, XLA_FFI_RunId_Get);
  args->run_id = args->ctx->run_id;
  return NULL;
}

static XLA_FFI_Error *device_ordinal_get(XLA_FFI_DeviceOrdinal_Get_Args *args)
{
  REQUIRE_SIZE(args, XLA_FFI_DeviceOrdinal_Get);
  REQUIRE_CONTEXT(args, XLA_FFI_DeviceOrdinal_Get);
  args->device_ordinal = args->ctx->device_ordinal;
  return NULL;
}

static XLA_FFI_Error *stream_get(XLA_FFI_Stream_Get_Args *args)
{
  REQUIRE_SIZE(args, XLA_FFI_Stream_Get);
  REQUIRE_CONTEXT(args, XLA_FFI_Stream_Get);
  if (!args->ctx->stream) return ccw_error_of_status(ccw_unimplemented("a call on the host has no stream"));
  args->stream = ccw_stream_handle(args->ctx->stream);
  return NULL;
}

static XLA_FFI_Error *find_extension(XLA_FFI_InvokeContext_FindExtension_Args *args)
{
  REQUIRE_SIZE(args, XLA_FFI_InvokeContext_FindExtension);
  REQUIRE_CONTEXT(args, XLA_FFI_InvokeContext_FindExtension);
  const XLA_FFI_Extension *extension = args->ctx->extensions;
  while (extension && extension->id.extension_type != args->extension_type) extension = extension->next;
  args->extension = extension;
  return NULL;
}

static XLA_FFI_Error *custom_options_get(XLA_FFI_CustomOptions_Get_Args *args)
{
  REQUIRE_SIZE(args, XLA_FFI_CustomOptions_Get);
  args->attrs = ccw_attributes_abi(args->ctx ? args->ctx->custom_options : NULL);
  return NULL;
}

static int64_t id_of(const XLA_FFI_TypeId *type_id) { return type_id ? type_id->type_id : 0; }

static XLA_FFI_Error *context_get(XLA_FFI_InvokeContext_Get_Args *args)
{
  REQUIRE_SIZE(args, XLA_FFI_InvokeContext_Get);
  REQUIRE_CONTEXT(args, XLA_FFI_InvokeContext_Get);
  return ccw_error_of_status(ccw_context_user_data(args->ctx, id_of(args->type_id), &args->data));
}

/* ---- state --------------------------------------------------------------------------------------------------------- */

/* In 0.1 the struct was as large as today's, and of another layout: it is the handler's version that tells them apart. */
typedef struct state_set_args_0_1 {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_InvokeContext *ctx;
  XLA_FFI_TypeId *type_id;
  void *state;
  void (*deleter)(void *state);
} state_set_args_0_1;

/* State of 0.1 is not taken, as in XLA. The handler has let go of it, and knows how it ends. */
static XLA_FFI_Error *refuse_state_0_1(const state_set_args_0_1 *args)
{
  void *deleter;
  memcpy(&deleter, &args->deleter, sizeof deleter);
  if (args->struct_size >= sizeof *args && args->state && deleter && ccw_is_code(deleter)) args->deleter(args->state);
  return ccw_error_of_status(
      ccw_unimplemented("the handler was built for FFI API 0.1, whose state is of another layout; "
                        "build it with headers of 0.2 or later"));
}

/* Before 0.3 there was state of instantiation only, and the struct had no stage. */
typedef struct state_args_0_2 {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_InvokeContext *ctx;
  XLA_FFI_TypeId *type_id;
  void *state;
} state_args_0_2;

static XLA_FFI_Error *state_set(XLA_FFI_State_Set_Args *args)
{
  const state_args_0_2 *old = (const void *)args;
  bool is_old = args->struct_size == sizeof *old;
  if (!is_old) REQUIRE_SIZE(args, XLA_FFI_State_Set);
  REQUIRE_CONTEXT(args, XLA_FFI_State_Set);
  if (args->ctx->minor == 1) return refuse_state_0_1((const void *)args);
  XLA_FFI_ExecutionStage stage = is_old ? XLA_FFI_ExecutionStage_INSTANTIATE : args->stage;
  const XLA_FFI_TypeId *type_id = is_old ? old->type_id : args->type_id;
  void *state = is_old ? old->state : args->state;
  return ccw_error_of_status(ccw_context_set_state(args->ctx, stage, id_of(type_id), state));
}

static XLA_FFI_Error *state_get(XLA_FFI_State_Get_Args *args)
{
  state_args_0_2 *old = (void *)args;
  bool is_old = args->struct_size == sizeof *old;
  if (!is_old) REQUIRE_SIZE(args, XLA_FFI_State_Get);
  REQUIRE_CONTEXT(args, XLA_FFI_State_Get);
  XLA_FFI_ExecutionStage stage = is_old ? XLA_FFI_ExecutionStage_INSTANTIATE : args->stage;
  const XLA_FFI_TypeId *type_id = is_old ? old->type_id : args->type_id;
  return ccw_error_of_status(ccw_context_state(args->ctx, stage, id_of(type_id), is_old ? &old->state : &args->state));
}

/* ---- scratch memory ------------------------------------------------------------------------------------------------ */

static XLA_FFI_Error *device_memory_allocate(XLA_FFI_DeviceMemory_Allocate_Args *args)
{
  REQUIRE_SIZE(args, XLA_FFI_DeviceMemory_Allocate);
  REQUIRE_CONTEXT(args, XLA_FFI_DeviceMemory_Allocate);
  return ccw_error_of_status(ccw_context_allocate(args->ctx, args->size, args->alignment, &args->data));
}

static XLA_FFI_Error *device_memory_free(XLA_FFI_DeviceMemory_Free_Args *args)
{
  REQUIRE_SIZE(args, XLA_FFI_DeviceMemory_Free);
  REQUIRE_CONTEXT(args, XLA_FFI_DeviceMemory_Free);
  return ccw_error_of_status(ccw_context_free(args->ctx, args->size, args->data));
}

/* ---- threads ------------------------------------------------------------------------------------------------------- */

static XLA_FFI_Error *thread_pool_schedule(XLA_FFI_ThreadPool_Schedule_Args *args)
{
  REQUIRE_SIZE(args, XLA_FFI_ThreadPool_Schedule);
  REQUIRE_CONTEXT(args, XLA_FFI_ThreadPool_Schedule);
  if (!args->task) return ccw_error_of_status(ccw_invalid("XLA_FFI_ThreadPool_Schedule: there is no task"));
  return ccw_error_of_status(ccw_pool_schedule(args->task, args->data, args->ctx->name));
}

static XLA_FFI_Error *thread_pool_num_threads(XLA_FFI_ThreadPool_NumThreads_Args *args)
{
  REQUIRE_SIZE(args, XLA_FFI_ThreadPool_NumThreads);
  REQUIRE_CONTEXT(args, XLA_FFI_ThreadPool_NumThreads);
  if (args->num_threads) *args->num_threads = ccw_pool_size();
  return NULL;
}

/* ---- futures ------------------------------------------------------------------------------------------------------- */

static XLA_FFI_Error *future_create(XLA_FFI_Future_Create_Args *args)
{
  REQUIRE_SIZE(args, XLA_FFI_Future_Create); /* which ends before the output, as it does in the official headers */
  return ccw_error_of_status(ccw_future_new(&args->future));
}

static XLA_FFI_Error *future_set_available(XLA_FFI_Future_SetAvailable_Args *args)
{
  REQUIRE_SIZE(args, XLA_FFI_Future_SetAvailable);
  return ccw_error_of_status(ccw_future_finish(args->future, ccw_ok()));
}

/* The error is consumed on success only. */
static XLA_FFI_Error *future_set_error(XLA_FFI_Future_SetError_Args *args)
{
  REQUIRE_SIZE(args, XLA_FFI_Future_SetError);
  if (!ccw_error_is_live(args->error) || ccw_error_code(args->error) == XLA_FFI_Error_Code_OK)
    return ccw_error_of_status(ccw_invalid("XLA_FFI_Future_SetError: expected an error, got %s",
        !args->error                      ? "NULL"
        : !ccw_error_is_live(args->error) ? "a pointer to none"
                                          : "one with the code OK"));
  ccw_status outcome = ccw_error_status(args->error);
  ccw_status status = ccw_future_finish(args->future, outcome);
  if (status.code)
    ccw_status_free(outcome);
  else
    ccw_error_destroy(args->error);
  return ccw_error_of_status(status);
}

/* ---- the table ----------------------------------------------------------------------------------------------------- */

static const XLA_FFI_Api table = {
    .struct_size = XLA_FFI_Api_STRUCT_SIZE,
    .api_version = {.struct_size = XLA_FFI_Api_Version_STRUCT_SIZE,
        .major_version = XLA_FFI_API_MAJOR,
        .minor_version = XLA_FFI_API_MINOR},
    .XLA_FFI_Error_Create = error_create,
    .XLA_FFI_Error_GetDetails = error_get_details,
    .XLA_FFI_Error_Destroy = error_destroy,
    .XLA_FFI_Handler_Register = handler_register,
    .XLA_FFI_Stream_Get = stream_get,
    .XLA_FFI_Type_Register = type_register,
    .XLA_FFI_InvokeContext_Get = context_get,
    .XLA_FFI_State_Set = state_set,
    .XLA_FFI_State_Get = state_get,
    .XLA_FFI_DeviceMemory_Allocate = device_memory_allocate,
    .XLA_FFI_DeviceMemory_Free = device_memory_free,
    .XLA_FFI_ThreadPool_Schedule = thread_pool_schedule,
    .XLA_FFI_ThreadPool_NumThreads = thread_pool_num_threads,
    .XLA_FFI_Future_Create = future_create,
    .XLA_FFI_Future_SetAvailable = future_set_available,
    .XLA_FFI_Future_SetError = future_set_error,
    .XLA_FFI_RunId_Get = run_id_get,
    .XLA_FFI_DeviceOrdinal_Get = device_ordinal_get,
    .XLA_FFI_InvokeContext_FindExtension = find_extension,
    .XLA_FFI_CustomOptions_Get = custom_options_get,
};

const XLA_FFI_Api *ccw_api(void) { return &table; }

/* Under both names by which a library may ask: that of c_api.h, and xla::ffi::GetXlaFfiApi() as C++ mangles it. */
CCW_API const XLA_FFI_Api *XLA_FFI_GetApi(void) { return &table; }

CCW_API const XLA_FFI_Api *ccw_get_xla_ffi_api(void) __asm__("_ZN3xla3ffi12GetXlaFfiApiEv");
const XLA_FFI_Api *ccw_get_xla_ffi_api(void) { return &table; }

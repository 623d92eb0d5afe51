#include "runtime/api.h"

#include <string.h>

#include "runtime/context.h"
#include "runtime/error.h"
#include "runtime/library.h"

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

/* ---- context ------------------------------------------------------------------------------------------------------- */

/* The metadata query has no context. */
static XLA_FFI_Error *no_context(const char *name)
{
  return ccw_error_of_status(ccw_failed_precondition("%s: there is no call under way", name));
}

static XLA_FFI_Error *run_id_get(XLA_FFI_RunId_Get_Args *args)
{
  REQUIRE_SIZE(args, XLA_FFI_RunId_Get);
  if (!args->ctx) return no_context("XLA_FFI_RunId_Get");
  args->run_id = args->ctx->run_id;
  return NULL;
}

static XLA_FFI_Error *device_ordinal_get(XLA_FFI_DeviceOrdinal_Get_Args *args)
{
  REQUIRE_SIZE(args, XLA_FFI_DeviceOrdinal_Get);
  if (!args->ctx) return no_context("XLA_FFI_DeviceOrdinal_Get");
  args->device_ordinal = args->ctx->device_ordinal;
  return NULL;
}

static XLA_FFI_Error *find_extension(XLA_FFI_InvokeContext_FindExtension_Args *args)
{
  REQUIRE_SIZE(args, XLA_FFI_InvokeContext_FindExtension);
  args->extension = NULL; /* a context has none */
  return NULL;
}

static XLA_FFI_Error *custom_options_get(XLA_FFI_CustomOptions_Get_Args *args)
{
  REQUIRE_SIZE(args, XLA_FFI_CustomOptions_Get);
  args->attrs = ccw_attributes_abi(NULL); /* none were given */
  return NULL;
}

/* ---- what this runtime does not have ------------------------------------------------------------------------------- */

#define LACKS(slot, NAME, what)                                                                        \
  static XLA_FFI_Error *slot(NAME##_Args *args)                                                        \
  {                                                                                                    \
    (void)args;                                                                                        \
    return ccw_error_of_status(ccw_unimplemented("%s: ccw %s has no %s", #NAME, ccw_version(), what)); \
  }
LACKS(stream_get, XLA_FFI_Stream_Get, "streams")
LACKS(type_register, XLA_FFI_Type_Register, "registration of types")
LACKS(context_get, XLA_FFI_InvokeContext_Get, "user data")
LACKS(state_set, XLA_FFI_State_Set, "state")
LACKS(state_get, XLA_FFI_State_Get, "state")
LACKS(device_memory_allocate, XLA_FFI_DeviceMemory_Allocate, "scratch memory")
LACKS(device_memory_free, XLA_FFI_DeviceMemory_Free, "scratch memory")
LACKS(thread_pool_schedule, XLA_FFI_ThreadPool_Schedule, "thread pool")
LACKS(thread_pool_num_threads, XLA_FFI_ThreadPool_NumThreads, "thread pool")
LACKS(future_create, XLA_FFI_Future_Create, "futures")
LACKS(future_set_available, XLA_FFI_Future_SetAvailable, "futures")
LACKS(future_set_error, XLA_FFI_Future_SetError, "futures")
#undef LACKS

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

#include <stdatomic.h>
#include <string.h>

#include "base/checked.h"
#include "base/text.h"
#include "call/frame.h"
#include "runtime/api.h"
#include "runtime/ask.h"
#include "runtime/context.h"
#include "runtime/error.h"
#include "runtime/foreign.h"
#include "runtime/handler.h"
#include "runtime/library.h"

struct ccw_handler {
  ccw_count count;
  size_t size;
  ccw_library *library;
  ccw_library *libraries[CCW_STAGE_COUNT]; /* of the functions: its own, or those of the handlers that it was made of */
  XLA_FFI_Handler_Bundle bundle;
  XLA_FFI_Handler_Traits traits;
  int major, minor;
  int minors[CCW_STAGE_COUNT]; /* by stage: they may have been built with different headers */
  int64_t state_type;
  void (*release)(void *context); /* what else ends with the handler; NULL: nothing */
  void *context;
  _Atomic(ccw_signature *) signature; /* owned; NULL: not known. Set once, by whichever thread */
  atomic_bool has_types;              /* all that it binds are registered, as they stay */
  char name[];
};

/* Asks a function for its metadata with a frame that holds nothing else. */
static ccw_status ask(const char *name, XLA_FFI_Handler *function, XLA_FFI_Metadata *out_metadata)
{
  XLA_FFI_Metadata metadata = {
      .struct_size = XLA_FFI_Metadata_STRUCT_SIZE, .api_version = {.struct_size = XLA_FFI_Api_Version_STRUCT_SIZE}};
  XLA_FFI_Metadata_Extension extension = {
      {XLA_FFI_Metadata_Extension_STRUCT_SIZE, XLA_FFI_Extension_Metadata, NULL}, &metadata};
  XLA_FFI_CallFrame frame = {.struct_size = XLA_FFI_CallFrame_STRUCT_SIZE,
      .extension_start = &extension.extension_base,
      .api = ccw_api(),
      .stage = XLA_FFI_ExecutionStage_EXECUTE, /* also for the others: it is no call */
      .args = {.struct_size = XLA_FFI_Args_STRUCT_SIZE},
      .rets = {.struct_size = XLA_FFI_Rets_STRUCT_SIZE},
      .attrs = *ccw_attributes_abi(NULL)};
  CCW_TRY(ccw_status_of_error(ccw_foreign_call(function, &frame, name, "metadata")));
  *out_metadata = metadata;
  return ccw_ok();
}

/* XLA accepts what is not newer than itself, and never 0.0, which is what a function leaves that does not answer. */
static ccw_status check_version(int major, int minor)
{
  if (major == 0 && minor == 0)
    return ccw_invalid("it did not answer the metadata query: not an FFI handler, or one that XLA would refuse too");
  bool newer = major > XLA_FFI_API_MAJOR || (major == XLA_FFI_API_MAJOR && minor > XLA_FFI_API_MINOR);
  if (major < 0 || minor < 0 || newer)
    return ccw_invalid("it was built for FFI API %d.%d; this is %d.%d, which runs handlers of 0.1 to %d.%d", major,
        minor, XLA_FFI_API_MAJOR, XLA_FFI_API_MINOR, XLA_FFI_API_MAJOR, XLA_FFI_API_MINOR);
  return ccw_ok();
}

/* The official binding answers for a function that makes state of a type which is not registered with a failure. */
static ccw_status describe(
    const char *name, const ccw_library *library, XLA_FFI_Handler *function, XLA_FFI_Metadata *out_metadata)
{
  ccw_status status = ask(name, function, out_metadata);
  if (!status.code)
    return check_version(out_metadata->api_version.major_version, out_metadata->api_version.minor_version);
  if (status.code != XLA_FFI_Error_Code_FAILED_PRECONDITION || !strstr(ccw_status_text(status), "must be registered"))
    return status;
  ccw_status_free(status);
  return ccw_unregistered_type(library, "the type of the state that it makes");
}

static ccw_status describe_instantiate(
    const char *name, const ccw_library *library, XLA_FFI_Handler *function, XLA_FFI_Metadata *out_metadata)
{
  ccw_status status = describe(name, library, function, out_metadata);
  return status.code ? ccw_status_in(status, ccw_stage_name(XLA_FFI_ExecutionStage_INSTANTIATE)) : status;
}

static ccw_status describe_bundle(const char *name, const ccw_library *library, const XLA_FFI_Handler_Bundle *bundle,
    XLA_FFI_Metadata *out_execute, XLA_FFI_Metadata *out_instantiate)
{
  if (!bundle->execute) return ccw_invalid("a handler needs an execute function");
  CCW_TRY(describe(name, library, bundle->execute, out_execute));
  *out_instantiate = *out_execute;
  if (bundle->instantiate) CCW_TRY(describe_instantiate(name, library, bundle->instantiate, out_instantiate));
  return ccw_ok();
}

/* The minor version of the function of a stage. It may be later than that of execute, since handlers of handler.h claim no more
 * than each needs; XLA would not ask it, and so it is asked only where execute claims less than what makes the difference. */
static int minor_of(const char *name, const ccw_library *library, XLA_FFI_Handler *function, int least, int minor)
{
  if (!function || minor >= least) return minor;
  XLA_FFI_Metadata metadata;
  ccw_status status = describe(name, library, function, &metadata);
  if (!status.code) minor = metadata.api_version.minor_version;
  ccw_status_free(status);
  return minor;
}

ccw_status ccw_handler_new(const char *name, const XLA_FFI_Handler_Bundle *bundle, XLA_FFI_Handler_Traits traits,
    ccw_library *library, ccw_handler **out_handler)
{
  XLA_FFI_Metadata metadata, instantiate;
  ccw_status status = describe_bundle(name, library, bundle, &metadata, &instantiate);
  if (status.code) return ccw_status_in(status, name);

  size_t length = strlen(name), size = sizeof(ccw_handler) + length + 1;
  ccw_handler *handler = ccw_allocate(size);
  if (!handler) return ccw_no_memory(size);
  *handler = (ccw_handler){.count = 1,
      .size = size,
      .library = library ? ccw_library_retain(library) : NULL,
      .bundle = *bundle,
      .traits = traits | metadata.traits,
      .major = metadata.api_version.major_version,
      .minor = metadata.api_version.minor_version,
      .state_type = bundle->instantiate ? instantiate.state_type_id.type_id : 0};
  for (int i = 0; i < CCW_STAGE_COUNT; ++i) {
    handler->minors[i] = handler->minor;
    handler->libraries[i] = library;
  }
  handler->minors[XLA_FFI_ExecutionStage_INSTANTIATE] = instantiate.api_version.minor_version;
  handler->minors[XLA_FFI_ExecutionStage_PREPARE] = minor_of(name, library, bundle->prepare, 3, handler->minor);
  handler->minors[XLA_FFI_ExecutionStage_INITIALIZE] = minor_of(name, library, bundle->initialize, 3, handler->minor);
  handler->minors[XLA_FFI_ExecutionStage_RECORD] = minor_of(name, library, bundle->record, 4, handler->minor);
  memcpy(handler->name, name, length + 1);
  *out_handler = handler;
  return ccw_ok();
}

ccw_handler *ccw_handler_retain(ccw_handler *handler)
{
  ccw_count_up(&handler->count);
  return handler;
}

void ccw_handler_release(ccw_handler *handler)
{
  if (!handler || !ccw_count_down(&handler->count)) return;
  if (handler->release) handler->release(handler->context);
  ccw_signature_release(handler->signature);
  ccw_library_release(handler->library);
  ccw_release(handler, handler->size);
}

void ccw_handler_end_with(ccw_handler *handler, void (*release)(void *context), void *context)
{
  handler->release = release;
  handler->context = context;
}

typedef struct parts {
  ccw_handler *handlers[CCW_STAGE_COUNT]; /* owned */
} parts;

static void release_parts(void *context)
{
  parts *p = context;
  for (int i = 0; i < CCW_STAGE_COUNT; ++i) ccw_handler_release(p->handlers[i]);
  ccw_release(p, sizeof *p);
}

ccw_status ccw_handler_of_stages(
    const char *name, ccw_handler *const handlers[CCW_STAGE_COUNT], ccw_handler **out_handler)
{
  parts *p = ccw_allocate_zeroed(sizeof *p);
  if (!p) return ccw_no_memory(sizeof *p);
  XLA_FFI_Handler_Bundle bundle = {0};
#define TAKE(NAME, stage, number) \
  if (handlers[number]) bundle.stage = handlers[number]->bundle.execute;
  CCW_STAGES(TAKE)
#undef TAKE
  const ccw_handler *execute = handlers[XLA_FFI_ExecutionStage_EXECUTE];
  ccw_status status = ccw_handler_new(name, &bundle, 0, execute ? execute->library : NULL, out_handler);
  if (status.code) {
    ccw_release(p, sizeof *p);
    return status;
  }
  for (int i = 0; i < CCW_STAGE_COUNT; ++i) {
    if (!handlers[i]) continue;
    p->handlers[i] = ccw_handler_retain(handlers[i]);
    (*out_handler)->minors[i] = handlers[i]->minor;
    (*out_handler)->libraries[i] = handlers[i]->library;
  }
  ccw_handler_end_with(*out_handler, release_parts, p);
  if (execute->signature) ccw_handler_set_signature(*out_handler, execute->signature);
  return ccw_ok();
}

static void release_whole(void *context) { ccw_handler_release(context); }

ccw_status ccw_handler_of_stage(ccw_handler *handler, XLA_FFI_ExecutionStage stage, ccw_handler **out_handler)
{
  XLA_FFI_Handler_Bundle bundle = {.execute = ccw_bundle_function(&handler->bundle, stage)};
  if (!bundle.execute)
    return ccw_not_found("%s: it has no function for the stage %s", handler->name, ccw_stage_name(stage));
  CCW_TRY(ccw_handler_new(handler->name, &bundle, 0, handler->libraries[stage], out_handler));
  ccw_handler_end_with(*out_handler, release_whole, ccw_handler_retain(handler));
  return ccw_ok();
}

bool ccw_handler_is_of_function(const ccw_handler *handler)
{
  if (handler->release == release_whole) return ccw_handler_is_of_function(handler->context);
  if (handler->release != release_parts) return handler->release != NULL;
  const parts *p = handler->context;
  return ccw_handler_is_of_function(p->handlers[XLA_FFI_ExecutionStage_EXECUTE]);
}

ccw_status ccw_handler_stage_signature(
    ccw_handler *handler, XLA_FFI_ExecutionStage stage, ccw_signature **out_signature)
{
  XLA_FFI_Handler *function = ccw_bundle_function(&handler->bundle, stage);
  if (!function) return ccw_not_found("%s: it has no function for the stage %s", handler->name, ccw_stage_name(stage));
  const parts *p = handler->release == release_parts ? handler->context : NULL;
  if (p && p->handlers[stage] && p->handlers[stage]->signature) {
    *out_signature = ccw_signature_retain(p->handlers[stage]->signature);
    return ccw_ok();
  }
  return ccw_library_signature_of(handler->libraries[stage], function, handler->name, out_signature);
}

const char *ccw_handler_name_of(const ccw_handler *handler, XLA_FFI_ExecutionStage stage)
{
  const parts *p = handler->release == release_parts ? handler->context : NULL;
  return p && p->handlers[stage] ? p->handlers[stage]->name : handler->name;
}

int ccw_handler_minor(const ccw_handler *handler, XLA_FFI_ExecutionStage stage) { return handler->minors[stage]; }

static bool lacks_type(const ccw_handler *handler, XLA_FFI_ExecutionStage stage)
{
  XLA_FFI_Handler *function = ccw_bundle_function(&handler->bundle, stage);
  return function && handler->libraries[stage] &&
         ccw_library_lacks_type(handler->libraries[stage], function, handler->name);
}

bool ccw_handler_lacks_type(const ccw_handler *handler)
{
  for (int stage = 0; stage < CCW_STAGE_COUNT; ++stage)
    if (lacks_type(handler, (XLA_FFI_ExecutionStage)stage)) return true;
  return false;
}

/* Holds what is known of the function of a stage against the types that are registered. */
static ccw_status check_types_of(ccw_handler *handler, XLA_FFI_ExecutionStage stage, bool *out_is_unknown)
{
  ccw_signature *told = NULL;
  ccw_status status = ccw_handler_stage_signature(handler, stage, &told);
  if (!status.code) {
    if (handler->libraries[stage]) status = ccw_library_check_types(handler->libraries[stage], told);
    ccw_signature_release(told);
  } else if (status.code != XLA_FFI_Error_Code_FAILED_PRECONDITION || !lacks_type(handler, stage)) {
    *out_is_unknown |= status.code == XLA_FFI_Error_Code_UNAVAILABLE;
    ccw_status_free(status);
    return ccw_ok();
  }
  return status.code && stage != XLA_FFI_ExecutionStage_EXECUTE ? ccw_status_in(status, ccw_stage_name(stage)) : status;
}

ccw_status ccw_handler_check_types(ccw_handler *handler, const char *name)
{
  bool is_unknown = false;
  if (atomic_load_explicit(&handler->has_types, memory_order_relaxed)) return ccw_ok();
  for (int stage = 0; stage < CCW_STAGE_COUNT; ++stage) {
    if (!ccw_bundle_function(&handler->bundle, (XLA_FFI_ExecutionStage)stage)) continue;
    ccw_status status = check_types_of(handler, (XLA_FFI_ExecutionStage)stage, &is_unknown);
    if (status.code) return ccw_status_in(status, name);
  }
  atomic_store_explicit(&handler->has_types, !is_unknown, memory_order_relaxed);
  return ccw_ok();
}

ccw_signature *ccw_handler_signature(const ccw_handler *handler) { return handler->signature; }

void ccw_handler_set_signature(ccw_handler *handler, ccw_signature *signature)
{
  ccw_signature *none = NULL;
  ccw_signature_retain(signature);
  if (!atomic_compare_exchange_strong(&handler->signature, &none, signature)) ccw_signature_release(signature);
}

/* Keeps a signature of which a reference is handed over. */
static void keep_signature(ccw_handler *handler, ccw_signature *signature, ccw_signature **out_signature)
{
  ccw_handler_set_signature(handler, signature);
  ccw_signature_release(signature);
  *out_signature = handler->signature;
}

ccw_status ccw_handler_find_signature(ccw_handler *handler, ccw_signature **out_signature)
{
  *out_signature = handler->signature;
  if (*out_signature) return ccw_ok();
  ccw_signature *found;
  CCW_TRY(ccw_library_signature_of(handler->library, handler->bundle.execute, handler->name, &found));
  keep_signature(handler, found, out_signature);
  return ccw_ok();
}

ccw_status ccw_handler_ask(ccw_handler *handler, ccw_signature **out_signature)
{
  ccw_text text = {0};
  ccw_signature *told = NULL;
  ccw_status status = ccw_ask(handler->name, handler->bundle.execute, &text);
  if (!status.code) status = ccw_signature_parse(ccw_text_data(&text), text.length, NULL, NULL, &told);
  ccw_text_free(&text);
  if (!status.code) keep_signature(handler, told, out_signature);
  return status;
}

ccw_library *ccw_handler_library(const ccw_handler *handler, XLA_FFI_ExecutionStage stage)
{
  return handler->libraries[stage];
}

void ccw_handler_place(const ccw_handler *handler, XLA_FFI_ExecutionStage stage, ccw_text *out_place)
{
  XLA_FFI_Handler *function = ccw_bundle_function(&handler->bundle, stage);
  if (function) ccw_library_place_of(handler->libraries[stage], function, handler->name, out_place);
}

ccw_handler_info ccw_handler_describe(const ccw_handler *handler)
{
  return (ccw_handler_info){.name = handler->name,
      .library = handler->library ? ccw_library_path(handler->library) : "",
      .bundle = handler->bundle,
      .traits = handler->traits,
      .major = handler->major,
      .minor = handler->minor,
      .state_type = handler->state_type};
}

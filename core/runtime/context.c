#include "runtime/context.h"

#include <string.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/text.h"
#include "call/frame.h"
#include "runtime/foreign.h"
#include "runtime/library.h"
#include "runtime/state_type.h"

/* ---- state ----------------------------------------------------------------------------------------------------------- */

ccw_status ccw_unregistered_type(const ccw_library *library, const char *what)
{
  ccw_text text = {0};
  ccw_text_add(&text, "%s is not registered", what);
  if (library) ccw_library_add_type_candidates(library, &text);
  return ccw_status_of_text(XLA_FFI_Error_Code_FAILED_PRECONDITION, &text);
}

static ccw_status check_stage(XLA_FFI_ExecutionStage stage)
{
  if (stage >= XLA_FFI_ExecutionStage_INSTANTIATE && (int)stage < CCW_STATES) return ccw_ok();
  return ccw_invalid("stage %s has no state", ccw_stage_name(stage));
}

ccw_status ccw_context_set_state(
    XLA_FFI_InvokeContext *context, XLA_FFI_ExecutionStage stage, int64_t type_id, void *object)
{
  CCW_TRY(check_stage(stage));
  if (stage != context->stage)
    return ccw_failed_precondition(
        "state of stage %s was set in stage %s", ccw_stage_name(stage), ccw_stage_name(context->stage));
  const ccw_state_type *type = ccw_state_type_of(type_id);
  if (!type) return ccw_unregistered_type(context->library, "the type of the state");
  if (!object) return ccw_invalid("state '%s': expected an object, got NULL", type->name);
  if (!type->deleter)
    return ccw_invalid("state '%s': its type was registered without a deleter, for user data", type->name);
  ccw_state *state = &context->states[stage];
  if (state->object) {
    ccw_text text = {0};
    ccw_text_add(&text, "there is state already, of type ");
    ccw_state_type_say(state->type_id, &text);
    return ccw_status_of_text(XLA_FFI_Error_Code_FAILED_PRECONDITION, &text);
  }
  *state = (ccw_state){object, type_id, type->deleter};
  return ccw_ok();
}

ccw_status ccw_context_state(
    const XLA_FFI_InvokeContext *context, XLA_FFI_ExecutionStage stage, int64_t type_id, void **out_object)
{
  CCW_TRY(check_stage(stage));
  const ccw_state *state = &context->states[stage];
  if (state->object && state->type_id == type_id) {
    *out_object = state->object;
    return ccw_ok();
  }
  if (!ccw_state_type_of(type_id)) return ccw_unregistered_type(context->library, "the type of the state");
  if (!state->object) return ccw_not_found("there is no state of stage %s", ccw_stage_name(stage));
  ccw_text text = {0};
  ccw_text_add(&text, "the state of stage %s is of type ", ccw_stage_name(stage));
  ccw_state_type_say(state->type_id, &text);
  ccw_text_add(&text, ", expected ");
  ccw_state_type_say(type_id, &text);
  return ccw_status_of_text(XLA_FFI_Error_Code_INVALID_ARGUMENT, &text);
}

void ccw_context_drop_state(XLA_FFI_InvokeContext *context, XLA_FFI_ExecutionStage stage)
{
  ccw_state *state = &context->states[stage];
  void *object = state->object;
  state->object = NULL;
  if (object) ccw_foreign_task(state->deleter, object, context->name, "the end of its state");
}

/* ---- user data ------------------------------------------------------------------------------------------------------- */

ccw_status ccw_context_user_data(const XLA_FFI_InvokeContext *context, int64_t type_id, void **out_data)
{
  for (int64_t i = 0; i < context->user_data_count; ++i)
    if (context->user_data[i].type_id == type_id) {
      *out_data = context->user_data[i].data;
      return ccw_ok();
    }
  if (!ccw_state_type_of(type_id)) return ccw_unregistered_type(context->library, "the type of the user data");
  ccw_text text = {0};
  ccw_text_add(&text, "the call has no user data of type ");
  ccw_state_type_say(type_id, &text);
  return ccw_status_of_text(XLA_FFI_Error_Code_NOT_FOUND, &text);
}

/* ---- scratch memory -------------------------------------------------------------------------------------------------- */

/* A piece of scratch memory. On the host it lies behind this, in the same block. */
typedef struct ccw_scratch_block {
  struct ccw_scratch_block *next;
  size_t size;  /* that was asked for */
  void *memory; /* of a device; NULL on the host, and where no bytes were asked for */
} ccw_scratch_block;

enum { SCRATCH_ALIGNMENT = 64, MOST_ALIGNMENT = 16 };

static void *memory_of(const XLA_FFI_InvokeContext *context, ccw_scratch_block *block)
{
  return context->device ? block->memory : (void *)ccw_align((uintptr_t)(block + 1), SCRATCH_ALIGNMENT);
}

static size_t block_size(const XLA_FFI_InvokeContext *context, size_t size)
{
  return sizeof(ccw_scratch_block) + (context->device ? 0 : SCRATCH_ALIGNMENT - 1 + size);
}

static void release_block(const XLA_FFI_InvokeContext *context, ccw_scratch_block *block)
{
  if (context->device)
    ccw_status_free(ccw_device_release(context->device, block->memory)); /* a broken one has lost it */
  ccw_release(block, block_size(context, block->size));
}

/* More than that no machine has; less may not be there either, but memory that is never touched costs nothing. The kernel is
 * asked once, since it takes its time. */
static size_t machine_memory(void)
{
  static _Atomic size_t known;
  size_t size = atomic_load_explicit(&known, memory_order_relaxed);
  if (size > 0) return size;
  long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  size = pages > 0 && page > 0 ? (size_t)pages * (size_t)page : PTRDIFF_MAX;
  atomic_store_explicit(&known, size, memory_order_relaxed);
  return size;
}

static ccw_status new_block(XLA_FFI_InvokeContext *context, size_t size, ccw_scratch_block **out_block)
{
  bool is_too_large = !context->device && size > machine_memory();
  ccw_scratch_block *block = is_too_large ? NULL : ccw_allocate(block_size(context, size));
  if (!block) return ccw_resource_exhausted("scratch: no memory for %zu bytes", size);
  *block = (ccw_scratch_block){.size = size};
  *out_block = block;
  if (!context->device) return ccw_ok();
  char site[64];
  snprintf(site, sizeof site, "scratch of %s", context->name);
  ccw_status status = ccw_device_allocate(context->device, size, site, &block->memory);
  if (!status.code) return status;
  ccw_release(block, block_size(context, size));
  return ccw_status_in(status, "scratch");
}

ccw_status ccw_context_allocate(XLA_FFI_InvokeContext *context, size_t size, size_t alignment, void **out_data)
{
  if (context->like_xla && !context->device) return ccw_invalid("XLA has no scratch memory on the CPU");
  if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > MOST_ALIGNMENT)
    return ccw_invalid("scratch: expected an alignment of 1, 2, 4, 8 or %d, got %zu", MOST_ALIGNMENT, alignment);
  if (context->is_captured)
    return ccw_failed_precondition("scratch: it ends with the call, and what is captured goes on");
  CCW_TRY_LET(ccw_scratch_block *, block, new_block, context, size);
  pthread_mutex_lock(&context->scratch_lock);
  block->next = context->scratch;
  context->scratch = block;
  pthread_mutex_unlock(&context->scratch_lock);
  *out_data = memory_of(context, block);
  return ccw_ok();
}

/* Takes a block off the list; NULL where there is none with that memory. */
static ccw_scratch_block *take_block(XLA_FFI_InvokeContext *context, const void *data)
{
  pthread_mutex_lock(&context->scratch_lock);
  ccw_scratch_block **at = &context->scratch;
  while (*at && memory_of(context, *at) != data) at = &(*at)->next;
  ccw_scratch_block *block = *at;
  if (block) *at = block->next;
  pthread_mutex_unlock(&context->scratch_lock);
  return block;
}

ccw_status ccw_context_free(XLA_FFI_InvokeContext *context, size_t size, void *data)
{
  if (context->like_xla && !context->device) return ccw_unimplemented("XLA has no scratch memory on the CPU");
  ccw_scratch_block *block = take_block(context, data);
  if (!block) return ccw_invalid("scratch: %p was not taken in this call, or is given back already", data);
  size_t taken = block->size;
  release_block(context, block);
  if (size == taken) return ccw_ok();
  return ccw_invalid("scratch: %zu bytes were taken, and %zu given back", taken, size);
}

void ccw_context_free_scratch(XLA_FFI_InvokeContext *context)
{
  while (context->scratch) {
    ccw_scratch_block *block = context->scratch;
    context->scratch = block->next;
    release_block(context, block);
  }
}

/* ---- showing --------------------------------------------------------------------------------------------------------- */

static void add_line(ccw_text *text, const char *what) { ccw_text_add(text, "\n  %-16s", what); }

void ccw_context_explain(const XLA_FFI_InvokeContext *context, ccw_text *text)
{
  ccw_text_add(text, "\nthe context");
  add_line(text, "run id");
  ccw_text_add(text, "%lld", (long long)context->run_id);
  add_line(text, "device ordinal");
  ccw_text_add(text, "%d", (int)context->device_ordinal);
  add_line(text, "stream");
  if (context->stream)
    ccw_text_add(text, "%lld of %s", (long long)ccw_stream_number(context->stream), ccw_device_name(context->device));
  else
    ccw_text_add(text, "none on the host");
  add_line(text, "scratch memory");
  ccw_text_add(text, "%s",
      context->device     ? "of the device"
      : context->like_xla ? "none, as in XLA on the CPU"
                          : "of the host; XLA has none on the CPU");
  add_line(text, "threads");
  ccw_text_add(text, "%lld", (long long)ccw_pool_size());
  for (int stage = 0; stage < CCW_STATES; ++stage) {
    if (!context->states[stage].object) continue;
    add_line(text, "state");
    ccw_text_add(text, "of %s: ", ccw_stage_name((XLA_FFI_ExecutionStage)stage));
    ccw_state_type_say(context->states[stage].type_id, text);
  }
  for (int64_t i = 0; i < context->user_data_count; ++i) {
    add_line(text, "user data");
    ccw_state_type_say(context->user_data[i].type_id, text);
  }
  add_line(text, "custom options");
  ccw_text_add(text, "%lld", (long long)ccw_attributes_abi(context->custom_options)->size);
}

#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "call/frame.h"
#include "call/signature.h"
#include "runtime/api.h"
#include "runtime/checked.h"
#include "runtime/context.h"
#include "runtime/error.h"
#include "runtime/foreign.h"
#include "value/buffer.h"

/* Before a run the content of an aliased operand goes into its result. */
typedef struct copy {
  ccw_buffer *from; /* owned */
  ccw_buffer *to;
} copy;

struct ccw_call {
  size_t size;
  const char *name;
  ccw_handler *handler;
  XLA_FFI_Handler *execute;
  ccw_attributes *attributes;
  ccw_frame *frame;
  int64_t run_id;
  int32_t device_ordinal;
  bool strict, has_side_effect;
  ccw_checked *checked; /* NULL: the handler gets the buffers themselves */
  int64_t operand_count, result_count, copy_count;
  ccw_buffer **operands; /* as the handler sees them: an aliased one is its result */
  ccw_buffer **results;
  copy *copies;
  /* the arrays and the name follow in the same block */
};

/* ---- checks -------------------------------------------------------------------------------------------------------- */

/* All that is wrong goes into one message, a line each. */
#define COMPLAIN(problems, ...) \
  (ccw_text_add_bytes(problems, "\n", (problems)->length > 0), ccw_text_add(problems, __VA_ARGS__))

/* A handler may expect 64-byte aligned memory; views need not have it. */
static void check_memory(ccw_text *problems, const char *family, ccw_buffer *const *buffers, int64_t count)
{
  for (int64_t i = 0; i < count; ++i) {
    if (!buffers[i]) {
      COMPLAIN(problems, "%s %lld: there is no buffer", family, (long long)i);
      continue;
    }
    if (ccw_buffer_shape(buffers[i])->dtype == XLA_FFI_DataType_TOKEN) continue;
    void *data = ccw_buffer_data(buffers[i]);
    if (!data)
      COMPLAIN(
          problems, "%s %lld: a view that shares a byte with its neighbours; pass its copy()", family, (long long)i);
    else if ((uintptr_t)data % CCW_BUFFER_ALIGNMENT != 0)
      COMPLAIN(problems, "%s %lld: a view that starts %d bytes past a multiple of %d; pass its copy()", family,
          (long long)i, (int)((uintptr_t)data % CCW_BUFFER_ALIGNMENT), CCW_BUFFER_ALIGNMENT);
  }
}

static bool is_aliased(const ccw_call_options *options, int64_t result, int64_t operand)
{
  for (int64_t i = 0; i < options->alias_count; ++i)
    if (options->aliases[i].result == result && options->aliases[i].operand == operand) return true;
  return false;
}

static void check_aliases(ccw_text *problems, ccw_buffer *const *operands, int64_t operand_count,
    ccw_buffer *const *results, int64_t result_count, const ccw_call_options *options)
{
  for (int64_t i = 0; i < options->alias_count; ++i) {
    ccw_alias alias = options->aliases[i];
    if (alias.result < 0 || alias.result >= result_count || alias.operand < 0 || alias.operand >= operand_count) {
      COMPLAIN(problems, "alias of result %lld and arg %lld: the call has results: %lld, args: %lld",
          (long long)alias.result, (long long)alias.operand, (long long)result_count, (long long)operand_count);
      continue;
    }
    for (int64_t j = 0; j < i; ++j)
      if (options->aliases[j].result == alias.result || options->aliases[j].operand == alias.operand)
        COMPLAIN(problems, "alias of result %lld and arg %lld: one of them has an alias already",
            (long long)alias.result, (long long)alias.operand);
    const ccw_shape *result = ccw_buffer_shape(results[alias.result]);
    const ccw_shape *operand = ccw_buffer_shape(operands[alias.operand]);
    if (ccw_shape_equal(result, operand)) continue;
    ccw_text shapes = {0};
    ccw_shape_print(operand, &shapes);
    ccw_text_add(&shapes, " and ");
    ccw_shape_print(result, &shapes);
    COMPLAIN(problems, "alias of result %lld and arg %lld: expected equal types, got %s", (long long)alias.result,
        (long long)alias.operand, ccw_text_data(&shapes));
    ccw_text_free(&shapes);
  }
}

/* The same memory as an operand twice is fine, since operands are only read. */
static void check_overlaps(ccw_text *problems, ccw_buffer *const *operands, int64_t operand_count,
    ccw_buffer *const *results, int64_t result_count, const ccw_call_options *options)
{
  for (int64_t r = 0; r < result_count; ++r) {
    for (int64_t o = 0; o < operand_count; ++o) {
      if (!ccw_buffer_overlaps(results[r], operands[o])) continue;
      bool whole = ccw_buffer_data(results[r]) == ccw_buffer_data(operands[o]);
      if (whole && is_aliased(options, r, o)) continue;
      COMPLAIN(problems, "result %lld: shares memory with arg %lld", (long long)r, (long long)o);
      if (whole)
        ccw_text_add(problems, "; if it should, say so: aliases = {[%lld] = %lld}", (long long)r, (long long)o);
      else
        ccw_text_add(problems, ", and starts elsewhere in it");
    }
    for (int64_t other = 0; other < r; ++other)
      if (ccw_buffer_overlaps(results[r], results[other]))
        COMPLAIN(problems, "result %lld: shares memory with result %lld", (long long)r, (long long)other);
  }
}

static ccw_status check(const char *name, ccw_buffer *const *operands, int64_t operand_count,
    ccw_buffer *const *results, int64_t result_count, const ccw_call_options *options)
{
  ccw_text problems = {0};
  check_memory(&problems, "arg", operands, operand_count);
  check_memory(&problems, "result", results, result_count);
  if (problems.length == 0) check_aliases(&problems, operands, operand_count, results, result_count, options);
  if (problems.length == 0) check_overlaps(&problems, operands, operand_count, results, result_count, options);
  if (problems.length == 0 && !problems.failed) return ccw_ok();
  return ccw_status_in(ccw_status_of_text(XLA_FFI_Error_Code_INVALID_ARGUMENT, &problems), name);
}

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

/* ---- preparing ----------------------------------------------------------------------------------------------------- */

/* Lays the call out in one block: itself, operands, results, copies, name. */
static ccw_status new_call(const char *name, int64_t operand_count, int64_t result_count, ccw_call **out_call)
{
  size_t pointers = (size_t)(operand_count + result_count) * sizeof(ccw_buffer *);
  size_t copies = (size_t)result_count * sizeof(copy), length = strlen(name);
  size_t size = sizeof(ccw_call) + pointers + copies + length + 1;
  ccw_call *call = ccw_allocate(size);
  if (!call) return ccw_no_memory(size);
  *call = (ccw_call){.size = size, .operand_count = operand_count, .result_count = result_count};
  call->operands = (ccw_buffer **)(call + 1);
  call->results = call->operands + operand_count;
  call->copies = (copy *)(call->results + result_count);
  call->name = memcpy(call->copies + result_count, name, length + 1);
  *out_call = call;
  return ccw_ok();
}

ccw_status ccw_call_prepare(ccw_handler *handler, ccw_buffer *const *operands, int64_t operand_count,
    ccw_buffer *const *results, int64_t result_count, ccw_attributes *attributes, const ccw_call_options *options,
    ccw_call **out_call)
{
  static const ccw_call_options none = {0};
  if (!options) options = &none;
  ccw_handler_info info = ccw_handler_describe(handler);
  const char *name = options->name ? options->name : info.name;
  if (info.bundle.instantiate || info.bundle.prepare || info.bundle.initialize || info.bundle.record)
    return ccw_unimplemented("%s: it has stages besides execute, which ccw %s does not run", name, ccw_version());
  CCW_TRY(check(name, operands, operand_count, results, result_count, options));

  ccw_call *call;
  CCW_TRY(new_call(name, operand_count, result_count, &call));
  call->handler = ccw_handler_retain(handler);
  call->execute = info.bundle.execute;
  call->attributes = attributes ? ccw_attributes_retain(attributes) : NULL;
  call->run_id = options->run_id;
  call->device_ordinal = options->device_ordinal;
  call->strict = options->strict;
  call->has_side_effect = options->has_side_effect;
  for (int64_t i = 0; i < operand_count; ++i) call->operands[i] = ccw_buffer_retain(operands[i]);
  for (int64_t i = 0; i < result_count; ++i) call->results[i] = ccw_buffer_retain(results[i]);
  for (int64_t i = 0; i < options->alias_count; ++i) {
    ccw_alias alias = options->aliases[i];
    if (ccw_buffer_data(operands[alias.operand]) == ccw_buffer_data(results[alias.result])) continue;
    call->copies[call->copy_count++] = (copy){call->operands[alias.operand], results[alias.result]};
    call->operands[alias.operand] = ccw_buffer_retain(results[alias.result]);
  }
  ccw_status status =
      ccw_frame_build(call->operands, operand_count, call->results, result_count, attributes, &call->frame);
  if (!status.code && !options->as_it_is) status = check_signature(call);
  if (!status.code && options->checked)
    status = ccw_checked_new(handler, ccw_frame_abi(call->frame), call->operands, operand_count, call->results,
        result_count, &call->checked);
  if (status.code)
    ccw_call_free(call);
  else
    *out_call = call;
  return status;
}

void ccw_call_free(ccw_call *call)
{
  if (!call) return;
  ccw_checked_free(call->checked);
  ccw_frame_free(call->frame);
  for (int64_t i = 0; i < call->operand_count; ++i) ccw_buffer_release(call->operands[i]);
  for (int64_t i = 0; i < call->result_count; ++i) ccw_buffer_release(call->results[i]);
  for (int64_t i = 0; i < call->copy_count; ++i) ccw_buffer_release(call->copies[i].from);
  ccw_attributes_release(call->attributes);
  ccw_handler_release(call->handler);
  ccw_release(call, call->size);
}

/* ---- running ------------------------------------------------------------------------------------------------------- */

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
  status = without_own_name(status, ccw_handler_describe(call->handler).name, ccw_stage_name(stage));
  return ccw_status_in(ccw_status_in(status, ccw_stage_name(stage)), call->name);
}

static ccw_status check_results(const ccw_call *call)
{
  for (int64_t i = 0; i < call->result_count; ++i) {
    ccw_status status = ccw_buffer_check(call->results[i]);
    if (!status.code) continue;
    char result[32];
    snprintf(result, sizeof result, "result %lld", (long long)i);
    return ccw_status_in(status, result);
  }
  return ccw_ok();
}

static ccw_status run_handler(const ccw_call *call)
{
  /* The handler gets a copy of the frame's head: it may write there, and the next run wants it as it was. */
  XLA_FFI_InvokeContext context = {
      .stage = XLA_FFI_ExecutionStage_EXECUTE, .run_id = call->run_id, .device_ordinal = call->device_ordinal};
  XLA_FFI_CallFrame frame = *ccw_frame_abi(call->frame);
  frame.api = ccw_api();
  frame.ctx = &context;
  XLA_FFI_Error *error = ccw_foreign_call(call->execute, &frame, call->name, ccw_stage_name(context.stage));
  ccw_status status = error ? ccw_status_of_error(error) : ccw_ok();
  if (!status.code && frame.future)
    status = ccw_internal("left a future in its frame that was not made here: %p", (void *)frame.future);
  return status;
}

/* For ccw_checked_end. */
static bool run_once_more(void *call)
{
  ccw_status status = run_handler(call);
  ccw_status_free(status);
  return !status.code;
}

static ccw_status run_checked(ccw_call *call)
{
  ccw_checked_begin(call->checked);
  ccw_status status = run_handler(call);
  return ccw_checked_end(call->checked, status, call->has_side_effect ? NULL : run_once_more, call);
}

ccw_status ccw_call_run(ccw_call *call)
{
  for (int64_t i = 0; i < call->copy_count; ++i) CCW_TRY(ccw_buffer_copy(call->copies[i].from, call->copies[i].to));
  ccw_status status = call->checked ? run_checked(call) : run_handler(call);
  if (!status.code && call->strict) status = check_results(call);
  return status.code ? failed(call, XLA_FFI_ExecutionStage_EXECUTE, status) : status;
}

const char *ccw_call_name(const ccw_call *call) { return call->name; }

void ccw_call_explain(const ccw_call *call, ccw_text *text)
{
  XLA_FFI_CallFrame frame = *ccw_frame_abi(call->frame);
  frame.api = ccw_api();
  ccw_frame_explain(&frame, text);
}

#include "runtime/call_check.h"

#include "base/text.h"
#include "value/buffer.h"

/* All that is wrong goes into one message, a line each. */
#define COMPLAIN(problems, ...) \
  (ccw_text_add_bytes(problems, "\n", (problems)->length > 0), ccw_text_add(problems, __VA_ARGS__))

/* Where the first buffer is, if any is there, and what it is called; the host for none. */
typedef struct whereabouts {
  ccw_device *device;
  const char *whose; /* NULL: of nobody's */
  long long place;
} whereabouts;

static void look_for(whereabouts *w, const char *family, ccw_buffer *const *buffers, int64_t count)
{
  for (int64_t i = 0; i < count && !w->device; ++i)
    if (buffers[i]) *w = (whereabouts){ccw_buffer_device(buffers[i]), family, (long long)i};
}

static void check_device(
    ccw_text *problems, const whereabouts *w, const char *family, int64_t i, const ccw_buffer *buffer)
{
  ccw_device *device = ccw_buffer_device(buffer);
  if (device == w->device) return;
  COMPLAIN(problems, "%s %lld: on %s, where ", family, (long long)i, ccw_device_name(device));
  if (w->whose)
    ccw_text_add(problems, "%s %lld is on %s", w->whose, w->place, ccw_device_name(w->device));
  else
    ccw_text_add(problems, "the call is on %s", ccw_device_name(w->device));
  ccw_text_add(problems, "; move it with to(\"%s\")", ccw_device_name(w->device));
}

static void check_stream(ccw_text *problems, const ccw_stream *stream, const ccw_device *device)
{
  if (!stream || ccw_stream_device(stream) == device) return;
  COMPLAIN(problems, "the stream is of %s, where the call is on %s", ccw_device_name(ccw_stream_device(stream)),
      ccw_device_name(device));
}

/* A handler may expect 64-byte aligned memory on the host, which views need not have. An empty array on a device has none at all. */
static void check_data(ccw_text *problems, const char *family, long long i, const ccw_buffer *buffer)
{
  void *data = ccw_buffer_data(buffer);
  size_t bytes = (size_t)ccw_buffer_shape(buffer)->bytes;
  bool is_here = ccw_buffer_is_on_host(buffer);
  ccw_device *device = ccw_buffer_device(buffer);
  if (!data && (is_here || bytes > 0))
    COMPLAIN(problems, "%s %lld: a view that shares a byte with its neighbours; pass its copy()", family, i);
  else if (is_here && (uintptr_t)data % CCW_BUFFER_ALIGNMENT != 0)
    COMPLAIN(problems, "%s %lld: a view that starts %d bytes past a multiple of %d; pass its copy()", family, i,
        (int)((uintptr_t)data % CCW_BUFFER_ALIGNMENT), CCW_BUFFER_ALIGNMENT);
  else if (!is_here && !ccw_device_holds(device, data, bytes))
    COMPLAIN(problems, "%s %lld: its memory is no longer there: %s was reset", family, i, ccw_device_name(device));
}

/* What a handler reads has to mean something. */
static void check_memory(ccw_text *problems, const whereabouts *w, const char *family, ccw_buffer *const *buffers,
    int64_t count, bool is_read)
{
  for (int64_t i = 0; i < count; ++i) {
    if (!buffers[i]) {
      COMPLAIN(problems, "%s %lld: there is no buffer", family, (long long)i);
      continue;
    }
    check_device(problems, w, family, i, buffers[i]);
    if (ccw_buffer_shape(buffers[i])->dtype == XLA_FFI_DataType_TOKEN) continue;
    if (is_read && ccw_buffer_is_undefined(buffers[i]))
      COMPLAIN(problems, "%s %lld: undefined: the call that was to write it failed", family, (long long)i);
    check_data(problems, family, (long long)i, buffers[i]);
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

ccw_status ccw_call_check(const char *name, ccw_buffer *const *operands, int64_t operand_count,
    ccw_buffer *const *results, int64_t result_count, const ccw_call_options *options, ccw_device **out_device)
{
  ccw_text problems = {0};
  whereabouts w = {0};
  look_for(&w, "arg", operands, operand_count);
  look_for(&w, "result", results, result_count);
  if (options->device && w.device != options->device) w = (whereabouts){.device = options->device};
  if (!w.device) w.device = ccw_device_host();
  check_memory(&problems, &w, "arg", operands, operand_count, true);
  check_memory(&problems, &w, "result", results, result_count, false);
  check_stream(&problems, options->stream, w.device);
  if (problems.length == 0) check_aliases(&problems, operands, operand_count, results, result_count, options);
  if (problems.length == 0) check_overlaps(&problems, operands, operand_count, results, result_count, options);
  *out_device = w.device;
  if (problems.length == 0 && !problems.failed) return ccw_ok();
  return ccw_status_in(ccw_status_of_text(XLA_FFI_Error_Code_INVALID_ARGUMENT, &problems), name);
}

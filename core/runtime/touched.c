#include "runtime/touched.h"

#include "base/text.h"
#include "call/problems.h"
#include "call/signature.h"
#include "runtime/place.h"

/* The operand whose memory an address lies in; -1 for none. */
static int64_t find(ccw_buffer *const *buffers, int64_t count, const void *address)
{
  for (int64_t i = 0; i < count; ++i) {
    const char *data = ccw_buffer_data(buffers[i]), *at = address;
    if (data && at >= data && at < data + ccw_buffer_shape(buffers[i])->bytes) return i;
  }
  return -1;
}

static void say_element(const ccw_buffer *buffer, const void *address, ccw_text *text)
{
  const ccw_shape *shape = ccw_buffer_shape(buffer);
  int64_t offset = (const char *)address - (const char *)ccw_buffer_data(buffer);
  ccw_text_add(text, ", element %lld of %lld", (long long)(offset * 8 / ccw_dtype_bits(shape->dtype) + 1),
      (long long)shape->count);
}

/* Whether the address lies in one of these; then a line of it is begun. */
static bool begin_at(ccw_problems *problems, const ccw_signature *signature, const ccw_operands *family,
    ccw_buffer *const *buffers, int64_t count, const ccw_host_access *access)
{
  int64_t i = find(buffers, count, access->address);
  if (i < 0) return false;
  ccw_problem_at(problems, family->noun, i, ccw_signature_operand(signature, family, i));
  ccw_text_add(&problems->text, "%s by code of the host", access->is_write ? "written" : "read");
  say_element(buffers[i], access->address, &problems->text);
  return true;
}

ccw_status ccw_touched_report(const ccw_handler *handler, ccw_device *device, ccw_buffer *const *operands,
    int64_t operand_count, ccw_buffer *const *results, int64_t result_count, ccw_status status)
{
  enum { MOST = 16 };
  ccw_host_access accesses[MOST];
  ccw_problems problems = {0};
  const ccw_signature *signature = ccw_handler_signature(handler);
  uintptr_t execute = (uintptr_t)ccw_handler_describe(handler).bundle.execute;
  int64_t count = ccw_device_take_accesses(device, accesses, MOST);
  for (int64_t i = 0; i < count; ++i) {
    const ccw_host_access *access = &accesses[i];
    if (!begin_at(&problems, signature, &ccw_args, operands, operand_count, access) &&
        !begin_at(&problems, signature, &ccw_rets, results, result_count, access)) {
      ccw_problem(&problems);
      ccw_text_add(
          &problems.text, "%p: %s by code of the host", access->address, access->is_write ? "written" : "read");
    }
    ccw_text_add(&problems.text, ", but its memory is on %s, for kernels and copies only", ccw_device_name(device));
    ccw_place_print_culprit(access->code, access->depth, execute, &problems.text);
  }
  ccw_status report = ccw_problems_status(&problems, "", "faults");
  if (report.code == XLA_FFI_Error_Code_INVALID_ARGUMENT) report.code = XLA_FFI_Error_Code_PERMISSION_DENIED;
  return ccw_status_join(status, report);
}

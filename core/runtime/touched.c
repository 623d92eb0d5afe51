#include "runtime/touched.h"

#include "base/text.h"
#include "call/problems.h"
#include "call/signature.h"
#include "runtime/place.h"

/* An operand or a result, and how far from its beginning an address is. */
typedef struct side {
  const ccw_operands *family; /* NULL: none */
  int64_t place, offset;
  const ccw_shape *shape;
} side;

/* Bytes between the address and the memory of a side; 0 inside. */
static int64_t distance(const side *s)
{
  if (!s->family) return INT64_MAX;
  return s->offset < 0 ? -s->offset : s->offset < s->shape->bytes ? 0 : s->offset - s->shape->bytes + 1;
}

/* Some memory: what is sought lies in it or is nearest to an address. */
typedef struct range {
  const char *from, *to;
} range;

static void look_among(
    const ccw_operands *family, ccw_buffer *const *buffers, int64_t count, range in, const void *address, side *nearest)
{
  for (int64_t i = 0; i < count; ++i) {
    const char *data = ccw_buffer_data(buffers[i]);
    side s = {family, i, (const char *)address - data, ccw_buffer_shape(buffers[i])};
    if (data && data >= in.from && data < in.to && distance(&s) < distance(nearest)) *nearest = s;
  }
}

/* The side that begins in a range and is nearest to an address; false for none. */
static bool find(const ccw_touched *call, range in, const void *address, side *out_side)
{
  *out_side = (side){0};
  look_among(&ccw_args, call->operands, call->operand_count, in, address, out_side);
  look_among(&ccw_rets, call->results, call->result_count, in, address, out_side);
  return out_side->family;
}

static void begin_at(ccw_problems *problems, const ccw_touched *call, const side *s)
{
  const ccw_signature *signature = ccw_handler_signature(call->handler);
  ccw_problem_at(problems, s->family->noun, s->place, ccw_signature_operand(signature, s->family, s->place));
}

static void say_access(ccw_problems *problems, const ccw_touched *call, const ccw_host_access *access)
{
  const range all = {NULL, (const char *)UINTPTR_MAX};
  side s;
  if (find(call, all, access->address, &s) && distance(&s) == 0) {
    begin_at(problems, call, &s);
    ccw_text_add_access(&problems->text, s.shape, s.offset, access->is_write, " by code of the host");
  } else {
    ccw_problem(problems);
    ccw_text_add(&problems->text, "%p: %s by code of the host", access->address, access->is_write ? "written" : "read");
  }
  ccw_text_add(
      &problems->text, ", but its memory is on %s, for kernels and copies only", ccw_device_name(call->device));
  uintptr_t execute = (uintptr_t)ccw_handler_describe(call->handler).bundle.execute;
  ccw_place_print_culprit(access->code, access->depth, execute, &problems->text);
}

void ccw_touched_forget(ccw_device *device)
{
  ccw_host_access access;
  while (ccw_device_take_accesses(device, &access, 1) > 0) continue;
}

ccw_status ccw_touched_by_host(const ccw_touched *call, ccw_status status)
{
  enum { MOST = 16 };
  ccw_host_access accesses[MOST];
  ccw_problems problems = {0};
  int64_t count = ccw_device_take_accesses(call->device, accesses, MOST);
  for (int64_t i = 0; i < count; ++i) say_access(&problems, call, &accesses[i]);
  ccw_status report = ccw_problems_status(&problems, "", "faults");
  if (report.code == XLA_FFI_Error_Code_INVALID_ARGUMENT) report.code = XLA_FFI_Error_Code_PERMISSION_DENIED;
  return ccw_status_join(status, report);
}

ccw_status ccw_touched_by_kernel(const ccw_touched *call, ccw_status status)
{
  ccw_kernel_fault fault;
  side s;
  if (!status.code || status.code == XLA_FFI_Error_Code_ABORTED) return status; /* which tells of an earlier one */
  if (!ccw_device_last_fault(call->device, &fault) || !fault.memory) return status;
  const range left = {fault.memory, (const char *)fault.memory + fault.size};
  if (!find(call, left, fault.address, &s)) return status; /* it was no operand's */
  ccw_problems problems = {0};
  begin_at(&problems, call, &s);
  ccw_text_add_access(&problems.text, s.shape, s.offset, fault.is_write, "");
  uintptr_t execute = (uintptr_t)ccw_handler_describe(call->handler).bundle.execute;
  ccw_place_print_culprit(fault.code, fault.depth, execute, &problems.text);
  return ccw_status_join(status, ccw_problems_status(&problems, "", ""));
}

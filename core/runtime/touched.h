/* touched.h: what was done to the memory of a device that may not be done, by the names of the call in which it happened. */
#ifndef CCW_RUNTIME_TOUCHED_H
#define CCW_RUNTIME_TOUCHED_H

#include <ccw/ccw.h>

/* A call, as far as its memory goes. All is borrowed. */
typedef struct ccw_touched {
  const ccw_handler *handler;
  ccw_device *device;
  ccw_buffer *const *operands, *const *results;
  int64_t operand_count, result_count;
} ccw_touched;

/* Before a call: forgets what was touched before, by code that is none of its. */
void ccw_touched_forget(ccw_device *device);

/* What code of the host touched since the last time, which only the device may touch: PERMISSION_DENIED with a line each, which names
 * operand or result, element, and the place in the code; behind the text of `status`, which is consumed, where that is a failure.
 * `status` as it is where nothing was. */
CCW_MUST_USE ccw_status ccw_touched_by_host(const ccw_touched *call, ccw_status status);

/* Puts behind the failure of a wait which operand, element and line it was where a kernel has left the memory of one. Consumes it. */
CCW_MUST_USE ccw_status ccw_touched_by_kernel(const ccw_touched *call, ccw_status status);

#endif

/* touched.h: what code of the host did to memory that only a device may touch. */
#ifndef CCW_RUNTIME_TOUCHED_H
#define CCW_RUNTIME_TOUCHED_H

#include <ccw/ccw.h>

/* What was touched since the last time on the device of a call of that handler: PERMISSION_DENIED with a line each, which names
 * operand or result, element, and the place in the code; behind the text of `status`, which is consumed, where that is a failure.
 * `status` as it is where nothing was. */
CCW_MUST_USE ccw_status ccw_touched_report(const ccw_handler *handler, ccw_device *device, ccw_buffer *const *operands,
    int64_t operand_count, ccw_buffer *const *results, int64_t result_count, ccw_status status);

#endif

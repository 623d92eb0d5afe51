/* call_check.h: what has to be right about the memory of a call, whatever its handler binds. */
#ifndef CCW_RUNTIME_CALL_CHECK_H
#define CCW_RUNTIME_CALL_CHECK_H

#include <ccw/ccw.h>

/* Success where every operand and result is there, on one device and aligned, the aliases fit, and nothing else shares memory:
 * gives the device. All that is wrong is one INVALID_ARGUMENT, which begins with the name. */
CCW_MUST_USE ccw_status ccw_call_check(const char *name, ccw_buffer *const *operands, int64_t operand_count,
    ccw_buffer *const *results, int64_t result_count, const ccw_call_options *options, ccw_device **out_device);

#endif

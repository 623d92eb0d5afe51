/* checked.h: a call on copies of its buffers, which tell where the handler leaves them.
 *
 * The handler sees the copies. Operands are protected there, results hold a pattern, and memory that may not be touched
 * lies around both; what the handler does to it is found, and let through, so that it comes to its end. An operand and a
 * result that are one buffer are one copy.
 *
 * Some of it cannot be seen in one run: a read of the few bytes between the aligned copy and the memory around it, an
 * element that was perhaps written with what the pattern had there. For these the handler runs twice more in a forked child,
 * on copies that lie otherwise and hold another pattern. A child that fails, dies or hangs has found nothing.
 */
#ifndef CCW_RUNTIME_CHECKED_H
#define CCW_RUNTIME_CHECKED_H

#include <ccw/ccw.h>

typedef struct ccw_checked ccw_checked;

/* Makes the copies for a call of the handler, whose frame points to them from now on. Handler, buffers and frame are
 * borrowed. An operand and a result of one memory count as one buffer. RESOURCE_EXHAUSTED. */
CCW_MUST_USE ccw_status ccw_checked_new(const ccw_handler *handler, const XLA_FFI_CallFrame *frame,
    ccw_buffer *const *operands, int64_t operand_count, ccw_buffer *const *results, int64_t result_count,
    ccw_checked **out_checked);

/* Frees it. NULL is fine. */
void ccw_checked_free(ccw_checked *checked);

/* Before the handler runs, in its thread: copies the operands. Takes no memory. */
void ccw_checked_begin(ccw_checked *checked);

/* Runs the handler once more; whether it succeeded. */
typedef bool ccw_checked_again(void *context);

/* After the handler has run: copies the results back. `status` is what the handler ended with, consumed. Where it failed,
 * what else was found follows its text. Where it did not, the status is success or
 * OUT_OF_RANGE, PERMISSION_DENIED, DATA_LOSS: it touched what is no part of a buffer, it wrote to an operand, it left elements
 * of a result unwritten: the first of all that was found, a line each.
 * `again` is NULL where the handler may not run more often: it has an effect beyond its results and its state. */
CCW_MUST_USE ccw_status ccw_checked_end(
    ccw_checked *checked, ccw_status status, ccw_checked_again *again, void *context);

#endif

/* future.h: what a handler leaves in its frame when its work is not done yet.
 *
 * A future that passes the ABI is the number of a place in a table, with the number of times that the place was used: one
 * that was completed before, or was never made here, is told apart without being followed. The place is free again when the
 * future is complete and somebody has taken its outcome.
 */
#ifndef CCW_RUNTIME_FUTURE_H
#define CCW_RUNTIME_FUTURE_H

#include <ccw/ccw.h>

/* Makes one that is not complete. RESOURCE_EXHAUSTED. */
CCW_MUST_USE ccw_status ccw_future_new(XLA_FFI_Future **out_future);

/* Completes it, and consumes the outcome where that succeeds. INVALID_ARGUMENT: no future of this runtime.
 * FAILED_PRECONDITION: it is complete already. */
CCW_MUST_USE ccw_status ccw_future_finish(XLA_FFI_Future *future, ccw_status outcome);

/* What is told of the outcome, once, in the thread that completes the future; it owns the status. */
typedef void ccw_future_waiter(void *context, ccw_status outcome);

/* Has the waiter told: at once where the future is complete. INVALID_ARGUMENT: no future of this runtime, or one that
 * another waits for. */
CCW_MUST_USE ccw_status ccw_future_await(XLA_FFI_Future *future, ccw_future_waiter *waiter, void *context);

/* The futures that this thread makes while a handler runs, the first few of them. */
enum { CCW_FUTURES_RECORDED = 4 };

typedef struct ccw_future_record {
  struct ccw_future_record *outer, **present; /* where the thread has its present one */
  int count;
  XLA_FFI_Future *made[CCW_FUTURES_RECORDED];
} ccw_future_record;

/* Begins a record, and ends it: what was made meanwhile, but for the one that was taken, was left behind, and goes as soon as
 * it is complete. */
void ccw_future_record_begin(ccw_future_record *record);
void ccw_future_record_end(ccw_future_record *record, const XLA_FFI_Future *taken);

#endif

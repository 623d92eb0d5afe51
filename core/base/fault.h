/* fault.h: faults of memory that somebody knows of.
 *
 * Whoever owns a range of addresses that may not be touched says so, and is asked when it is touched all the same, in whatever
 * thread, by SIGSEGV or SIGBUS: he notes the access and makes the memory accessible, so that it is repeated and succeeds, or
 * does not come back. What nobody takes is handed on to whoever caught the signal before.
 */
#ifndef CCW_BASE_FAULT_H
#define CCW_BASE_FAULT_H

#include <stdint.h>

#include <ccw/ccw.h>

typedef struct ccw_fault {
  uintptr_t address;
  uintptr_t instruction;
  bool is_write;
} ccw_fault;

/* In a signal handler: whether the access may be repeated. */
typedef bool ccw_fault_taker(void *context, const ccw_fault *fault);

/* Says who takes faults from `base` up to `end`; *out_place is for ccw_fault_disown. Ranges must not overlap.
 * RESOURCE_EXHAUSTED: there are too many. UNAVAILABLE: faults cannot be caught here. */
CCW_MUST_USE ccw_status ccw_fault_own(
    uintptr_t base, uintptr_t end, ccw_fault_taker *taker, void *context, int *out_place);

/* Ends that. Not while somebody touches the range. */
void ccw_fault_disown(int place);

/* Says who takes the faults of this process that lie in no such range, a null pointer's too; one taker, for good.
 * UNAVAILABLE: faults cannot be caught here. */
CCW_MUST_USE ccw_status ccw_fault_own_rest(ccw_fault_taker *taker);

/* Gives this thread a stack for the signal handler, if it has none: its own may be what is full. A thread without one runs the
 * handler on its own stack. */
void ccw_fault_prepare_thread(void);

/* The return addresses around an instruction that faulted, itself first; how many. For a taker. */
int32_t ccw_fault_walk(uintptr_t instruction, uintptr_t *code, int32_t most);

/* The instruction that a signal interrupted, out of what its handler gets. */
uintptr_t ccw_fault_instruction(const void *context);

/* Has faults that nobody takes end the process, as if nobody had caught them before. For a child. */
void ccw_fault_hand_on_to_none(void);

#endif

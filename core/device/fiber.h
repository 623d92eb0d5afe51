/* fiber.h: code that runs on a stack of its own, and can be left in the middle.
 *
 * Fibers run in the thread that resumes them, one at a time in this process: whoever resumes one holds a lock. A fiber goes back
 * by itself, and is resumed behind that; or it is left for good, out of a signal handler too, and begins anew.
 */
#ifndef CCW_DEVICE_FIBER_H
#define CCW_DEVICE_FIBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CCW_FIBER_STACK = 128 << 10, CCW_FIBER_GUARD = 128 << 10, CCW_FIBERS = 1024 };

/* Fibers are numbered. Has numbers 0 to `count` - 1 ready for ccw_fiber_resume, each to begin with `run`, which does not return.
 * False: there is no memory for their stacks. */
bool ccw_fibers_prepare(uint32_t count, void (*run)(void));

/* Runs a fiber until it goes back or is left; whether it went back. One that was left begins anew. */
bool ccw_fiber_resume(uint32_t number);

/* In a fiber: goes back to who resumed it, and returns when it is resumed. */
void ccw_fiber_go_back(void);

/* In a fiber, or in a signal handler that interrupted one: the same, and it will not be resumed there. */
_Noreturn void ccw_fiber_leave(void);

/* Has a fiber that went back begin anew. */
void ccw_fiber_restart(uint32_t number);

/* Whether a fiber's stack ended at that address. */
bool ccw_fiber_is_guard(uint32_t number, uintptr_t address);

#endif

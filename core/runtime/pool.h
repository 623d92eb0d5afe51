/* pool.h: the threads on which handlers run tasks. They start with the first task, and never end. */
#ifndef CCW_RUNTIME_POOL_H
#define CCW_RUNTIME_POOL_H

#include <ccw/ccw.h>

/* Has task(data) run once on one of the threads, on behalf of the handler of that name, which is copied. It never waits:
 * a task may be scheduled from a task. RESOURCE_EXHAUSTED: no memory, or no thread could be started; the task was not taken. */
CCW_MUST_USE ccw_status ccw_pool_schedule(XLA_FFI_Task *task, void *data, const char *name);

#endif

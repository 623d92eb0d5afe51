/* jobs.h: calls of handlers in Lua that are under way.
 *
 * A job is what one call has in use: the buffers that are lent to it, its scratch memory, the tasks that it has started, the
 * promise that it has left. It begins with the handler's function, and ends with that or with the promise. Tasks and promises
 * may be held longer: a job is counted. Whoever touches one owns the Lua state, but to count it. An invocation is a function of
 * Lua's that a thread runs for a job: the handler's, or a task's.
 */
#ifndef CCW_JOBS_H
#define CCW_JOBS_H

#include "glue.h"

#include <ccw/decode.h>

typedef struct promise promise;
typedef struct task task;

/* A buffer over memory of the frame, and the box that Lua has it in, NULL where nothing keeps that. */
typedef struct lent {
  ccw_buffer *buffer;
  void **box;
} lent;

typedef struct job {
  _Atomic int count;
  owner *owner;
  char name[64]; /* of the handler, cut */
  XLA_FFI_ExecutionStage stage;
  XLA_FFI_CallFrame *frame; /* NULL: the function has returned */
  ccw_scratch scratch;
  lent *lent;
  int lent_count, lent_room;
  int uses;            /* calls under way that have its buffers */
  task *first, **last; /* that have not begun */
  int begun;           /* tasks under way */
  promise *promise;    /* that was left to the runtime; NULL */
  ccw_status failure;  /* of a task, the first; owned */
} job;

typedef struct invocation {
  job *job;
  bool is_task;
  struct invocation *outer; /* on the same thread */
  int depth;
  lua_State *thread; /* of Lua's, in which it runs */
  const char *name;  /* what messages call the call */
  ccw_status status; /* what it comes to */
  int64_t entries;   /* of dictionaries, so far: one that holds others many times over grows beyond all measure */
  const struct closure *closure; /* of the handler's function */
} invocation;

/* What this thread runs now; NULL: nothing. */
extern _Thread_local invocation *current_invocation __attribute__((visibility("hidden")));

/* Begins an invocation for a job. RESOURCE_EXHAUSTED: too deep. */
ccw_status invocation_begin(job *j, bool is_task, invocation *out_call);

/* Calls function(...) of the values on the top of the stack, protected, in the thread of the invocation. An error becomes
 * its status. */
void invocation_run(invocation *call, lua_CFunction function, int arguments);

/* Begins a job; NULL: no memory. */
job *job_new(owner *o, const char *name, XLA_FFI_CallFrame *frame);
job *job_retain(job *j);
void job_release(job *j);

/* Pushes a buffer over memory of a device that is lent to the job. `boxes`, 0 for none, is where a list lies that keeps its box. */
void job_lend(lua_State *L, job *j, ccw_device *device, const ccw_shape *shape, void *memory, const char *label,
    bool read_only, int boxes);

/* Ends the loans. The boxes are still there: whoever has the list of them sees to it. */
void job_end_loans(job *j);

/* Gives the scratch memory back, when nobody uses it any longer. */
void job_end_scratch(job *j);

/* Runs the tasks that have not begun, and waits for the others; after a failure they are dropped. */
void job_finish_tasks(job *j, bool has_failed);

/* Pushes what a handler gets for @scratch and @threads. */
void push_scratch(lua_State *L, job *j);
void push_threads(lua_State *L, job *j);

/* Puts "scale: execute: " in front of a failure that leaves a job by another way than its handler's return. */
ccw_status job_name_failure(const job *j, ccw_status status);

/* ---- what a function of Lua's comes to ------------------------------------------------------------------------------- */

/* The error at an index as a status: of an error object code and text, of other values their text with that code. */
ccw_status status_of(lua_State *L, int index, XLA_FFI_Error_Code otherwise, const char *traceback);

bool is_error(lua_State *L, int index);

/* The message handler: what was raised becomes the status of the invocation, with the way there. */
int on_error(lua_State *L);

/* Drops what is nil at the end of what a function returned, which is from `first` up to the top, and of nil, err the nil. Returns
 * how many values are left, *out_failed: of which the one is an error. */
int strip_returned(lua_State *L, int first, bool *out_failed);

/* What the function returned: success for nothing, nil and true. */
ccw_status outcome(lua_State *L, int first);

/* ---- state ----------------------------------------------------------------------------------------------------------- */

/* The type of state that is a value of Lua's. */
extern XLA_FFI_TypeId lua_state_id __attribute__((visibility("hidden")));

/* Hands the value that a function returned over to the runtime, as the state of the job's stage. */
ccw_status keep_state(lua_State *L, int first);

/* Pushes the value of a state of that type. FAILED_PRECONDITION: it is of another Lua state. */
ccw_status push_state(lua_State *L, const void *state);

/* ---- promises -------------------------------------------------------------------------------------------------------- */

/* Leaves the promise at an index, which the function returned, to the runtime, together with the list of boxes at another. Gives
 * the outcome where it is complete already. */
ccw_status return_promise(lua_State *L, int index, int boxes);

/* Completes the promise of a job, unless it is complete already; then the outcome comes back. */
ccw_status promise_finish(promise *p, ccw_status outcome);

/* The last call that had buffers of the job's is over: what has waited for that happens. */
void promise_unused(promise *p);

#endif

/* runtime.h: handlers that use all that the runtime offers, for the programs that try it. Each binds an operand, a result and an
 * attribute, v. */
#ifndef SPEC_RUNTIME_H
#define SPEC_RUNTIME_H

#define _POSIX_C_SOURCE 200809L
#include <ccw/ccw.h>
#include <ccw/handler.h>

#include "expect.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

static inline bool succeeds(ccw_status status)
{
  if (status.code) printf("%s\n", ccw_status_text(status));
  ccw_status_free(status);
  return !status.code;
}

static inline bool fails(ccw_status status, XLA_FFI_Error_Code code, const char *text)
{
  bool as_expected = status.code == code && strcmp(ccw_status_text(status), text) == 0;
  if (!as_expected) printf("%d: %s\n", (int)status.code, ccw_status_text(status));
  ccw_status_free(status);
  return as_expected;
}

/* For what has to succeed, so that there is something to test. */
static inline void must(ccw_status status)
{
  if (!succeeds(status)) abort();
}

/* Of a run on the host, which would be the stage execute alone. */
enum {
  ALL_STAGES =
      1 << XLA_FFI_ExecutionStage_PREPARE | 1 << XLA_FFI_ExecutionStage_INITIALIZE | 1 << XLA_FFI_ExecutionStage_EXECUTE
};

/* ---- handlers ----------------------------------------------------------------------------------------------------------- */

CCW_HANDLER(add, ARG(f32, 1, x), RET(f32, 1, y), ATTR(s64, v))
{
  for (int64_t i = 0; i < x.dims[0]; ++i) y.data[i] = x.data[i] + (float)v;
  return ccw_ok();
}

CCW_HANDLER(multiply, ARG(f32, 1, x), RET(f32, 1, y), ATTR(s64, v))
{
  for (int64_t i = 0; i < x.dims[0]; ++i) y.data[i] = x.data[i] * (float)v;
  return ccw_ok();
}

CCW_HANDLER(refuse, ARG(f32, 1, x), RET(f32, 1, y), ATTR(s64, v)) { return ccw_aborted("v is %lld", (long long)v); }

/* Leaves the last element as it is. */
CCW_HANDLER(careless, ARG(f32, 1, x), RET(f32, 1, y), ATTR(s64, v))
{
  for (int64_t i = 0; i + 1 < x.dims[0]; ++i) y.data[i] = x.data[i] + (float)v;
  return ccw_ok();
}

/* Takes memory, and gives back all but one piece of it. */
CCW_HANDLER(borrow, ARG(f32, 1, x), RET(f32, 1, y), ATTR(s64, v), CTX(scratch, s), CTX(frame, f))
{
  XLA_FFI_DeviceMemory_Allocate_Args left = {
      XLA_FFI_DeviceMemory_Allocate_Args_STRUCT_SIZE, NULL, f->ctx, (size_t)v, 16, NULL};
  XLA_FFI_Error_Destroy_Args refusal = {
      XLA_FFI_Error_Destroy_Args_STRUCT_SIZE, NULL, f->api->XLA_FFI_DeviceMemory_Allocate(&left)};
  if (refusal.error) {
    f->api->XLA_FFI_Error_Destroy(&refusal);
    return ccw_resource_exhausted("there is no memory to be left behind");
  }
  memset(left.data, 1, (size_t)v);
  for (size_t size = 1; size <= 1000; size *= 10) {
    CCW_TRY_LET(void *, data, ccw_scratch_take, s, size, 8);
    memset(data, 2, size);
  }
  memcpy(y.data, x.data, (size_t)ccw_bytes(y));
  return ccw_ok();
}

/* ---- handlers with state ---------------------------------------------------------------------------------------------- */

typedef struct counter {
  int64_t next;
} counter;

static _Atomic int64_t counters_made, counters_ended;

static void counter_end(counter *c)
{
  ++counters_ended;
  free(c);
}

CCW_STATE(counter, counter_end);

static ccw_status counter_make(int64_t from, counter **out_counter)
{
  counter *c = malloc(sizeof *c);
  if (!c) return ccw_resource_exhausted("no memory for a counter");
  ++counters_made;
  c->next = from;
  *out_counter = c;
  return ccw_ok();
}

/* Below zero it fails, with a counter or without. */
CCW_STAGE_HANDLER(instantiate, count_instantiate, ATTR(s64, v), NEW_STATE(counter, c))
{
  if (v == -1) return ccw_out_of_range("too early");
  CCW_TRY(counter_make(v, c));
  return v < 0 ? ccw_out_of_range("too late") : ccw_ok();
}

CCW_STAGE_HANDLER(prepare, count_prepare, ATTR(s64, v), CTX(state(counter), c), NEW_STATE(counter, p))
{
  return counter_make(c->next + v, p);
}

CCW_STAGE_HANDLER(initialize, count_initialize, ATTR(s64, v), CTX(prepared(counter), p), NEW_STATE(counter, i))
{
  return counter_make(p->next + v, i);
}

CCW_HANDLER(count_up, ARG(f32, 1, x), RET(f32, 1, y), ATTR(s64, v), CTX(state(counter), c))
{
  y.data[0] = (float)c->next++;
  return ccw_ok();
}

CCW_HANDLER(count_all, ARG(f32, 1, x), RET(f32, 1, y), ATTR(s64, v), CTX(state(counter), c), CTX(prepared(counter), p),
    CTX(initialized(counter), i))
{
  y.data[0] = (float)(i->next - p->next - v + c->next++);
  return ccw_ok();
}

/* ---- handlers with tasks ---------------------------------------------------------------------------------------------- */

enum { TASKS = 8 };

static pthread_mutex_t sums_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t sum_done = PTHREAD_COND_INITIALIZER;

typedef struct sum {
  int64_t addend, total;
  int tasks;
} sum;

static void add_to_sum(void *data)
{
  sum *s = data;
  pthread_mutex_lock(&sums_lock);
  s->total += s->addend;
  if (++s->tasks == TASKS) pthread_cond_broadcast(&sum_done);
  pthread_mutex_unlock(&sums_lock);
}

CCW_HANDLER(add_in_tasks, ARG(f32, 1, x), RET(f32, 1, y), ATTR(s64, v), CTX(threads, t))
{
  sum s = {.addend = v};
  for (int i = 0; i < TASKS; ++i) ccw_threads_run(t, add_to_sum, &s);
  pthread_mutex_lock(&sums_lock);
  while (s.tasks < TASKS) pthread_cond_wait(&sum_done, &sums_lock);
  pthread_mutex_unlock(&sums_lock);
  y.data[0] = (float)s.total;
  return ccw_ok();
}

static void count_task(void *data) { ++*(_Atomic int *)data; }

/* Reads behind its operand, which a checked call sees when it runs again in a child, and there after its tasks. */
CCW_HANDLER(careless_in_tasks, ARG(f32, 1, x), RET(f32, 1, y), ATTR(s64, v), CTX(threads, t))
{
  _Atomic int done = 0;
  for (int i = 0; i < TASKS; ++i) ccw_threads_run(t, count_task, &done);
  while (done < TASKS) sched_yield();
  for (int64_t i = 0; i < x.dims[0]; ++i) y.data[i] = ((const volatile float *)x.data)[i + v];
  return ccw_ok();
}

/* ---- handlers with futures -------------------------------------------------------------------------------------------- */

enum { AT_ONCE, AT_ONCE_FAILED, IN_POOL, IN_POOL_FAILED, NEVER_TAKEN };

typedef struct work {
  const float *from;
  float *to;
  int64_t how;
  ccw_future future;
} work;

static _Atomic int64_t under_way; /* tasks that are to complete a future */

static void finish_work(void *data)
{
  work *w = data;
  if (w->how != NEVER_TAKEN) w->to[0] = w->from[0] + 1; /* else the call may be gone */
  bool is_failure = w->how == AT_ONCE_FAILED || w->how == IN_POOL_FAILED;
  ccw_status status = ccw_future_complete(w->future, is_failure ? ccw_data_loss("late") : ccw_ok());
  EXPECT(!status.code || w->how == NEVER_TAKEN); /* of which the handler's failure may have come first */
  ccw_status_free(status);
  if (w->how >= IN_POOL) --under_way;
  free(w);
}

CCW_HANDLER(later, ARG(f32, 1, x), RET(f32, 1, y), ATTR(s64, v), CTX(threads, t), CTX(frame, f))
{
  work *w = malloc(sizeof *w);
  if (!w) return ccw_resource_exhausted("no memory for the work");
  *w = (work){.from = x.data, .to = y.data, .how = v};
  ccw_status status = ccw_future_create(f, &w->future);
  if (status.code) {
    free(w);
    return status;
  }
  if (v < IN_POOL) {
    finish_work(w);
    return ccw_ok();
  }
  ++under_way;
  ccw_threads_run(t, finish_work, w);
  return v == NEVER_TAKEN ? ccw_cancelled("after all") : ccw_ok();
}

/* ---- time --------------------------------------------------------------------------------------------------------------- */

static inline double now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline void rest(void) { nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL); }

/* Waits until core has that many blocks and no task is under way, or for a while; gives the blocks. */
static inline int64_t settle(int64_t expected)
{
  double deadline = now() + 10;
  while ((ccw_memory_in_use().blocks != expected || under_way > 0) && now() < deadline) rest();
  EXPECT(under_way == 0);
  EXPECT(counters_made == counters_ended);
  return ccw_memory_in_use().blocks;
}

/* ---- the pool at rest --------------------------------------------------------------------------------------------------- */

static _Atomic int64_t arrived; /* threads, at all meetings */

static void meet(void *all)
{
  ++arrived;
  while (arrived < (intptr_t)all) rest();
}

CCW_HANDLER(meet_threads, CTX(threads, t))
{
  int64_t count = ccw_pool_size();
  intptr_t all = arrived + count;
  for (int64_t i = 0; i < count; ++i) ccw_threads_run(t, meet, (void *)all);
  while (arrived < all) rest();
  return ccw_ok();
}

/* The blocks that core has once every thread of the pool is done with what it was given before. */
static inline int64_t blocks_at_rest(void)
{
  ccw_handler *handler;
  ccw_call *call;
  must(ccw_handler_new("meet", &(XLA_FFI_Handler_Bundle){.execute = meet_threads}, 0, NULL, &handler));
  must(ccw_call_prepare(handler, NULL, 0, NULL, 0, NULL, NULL, &call));
  ccw_handler_release(handler);
  must(ccw_call_run(call));
  ccw_call_free(call);
  return ccw_memory_in_use().blocks;
}

#endif

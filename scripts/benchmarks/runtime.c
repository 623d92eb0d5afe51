/* runtime.c: what the runtime costs beyond a call: state, futures, tasks, and whether two threads do twice as much. Prints a line
 * a figure: its name, ours and what it is held against, in nanoseconds. Best of some rounds, which take turns. */
#define _POSIX_C_SOURCE 200809L
#include <ccw/handler.h>

#include <pthread.h>
#include <stdatomic.h>

#include "measure.h"

enum { ROUNDS = 31, CALLS = 20000, POOLED = 200, TASKS = 1000, BATCHES = 8 };

/* ---- handlers --------------------------------------------------------------------------------------------------------- */

CCW_HANDLER(stateless, ARG(f32, 1, x), RET(f32, 1, y))
{
  y.data[0] = x.data[0] + 1;
  return ccw_ok();
}

typedef struct counter {
  float next;
} counter;

static void counter_end(counter *c) { free(c); }

CCW_STATE(counter, counter_end);

CCW_STAGE_HANDLER(instantiate, make_counter, NEW_STATE(counter, c))
{
  *c = calloc(1, sizeof **c);
  return *c ? ccw_ok() : ccw_resource_exhausted("no memory for a counter");
}

CCW_HANDLER(stateful, ARG(f32, 1, x), RET(f32, 1, y), CTX(state(counter), c))
{
  y.data[0] = x.data[0] + c->next++;
  return ccw_ok();
}

CCW_HANDLER(complete, ARG(f32, 1, x), RET(f32, 1, y), CTX(frame, f))
{
  CCW_TRY_LET(ccw_future, future, ccw_future_create, f);
  y.data[0] = x.data[0] + 1;
  return ccw_future_complete(future, ccw_ok());
}

static ccw_future pooled_future;

static void complete_task(void *nothing)
{
  (void)nothing;
  check(ccw_future_complete(pooled_future, ccw_ok()));
}

CCW_HANDLER(complete_in_pool, ARG(f32, 1, x), RET(f32, 1, y), CTX(frame, f), CTX(threads, t))
{
  CCW_TRY(ccw_future_create(f, &pooled_future));
  y.data[0] = x.data[0] + 1;
  ccw_threads_run(t, complete_task, NULL);
  return ccw_ok();
}

/* ---- tasks, and a queue that is held against the pool ------------------------------------------------------------------ */

static pthread_mutex_t done_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_done = PTHREAD_COND_INITIALIZER;
static _Atomic int tasks_left;

/* The last wakes who waits. */
static void count_task(void *nothing)
{
  (void)nothing;
  if (--tasks_left > 0) return;
  pthread_mutex_lock(&done_lock);
  pthread_cond_signal(&all_done);
  pthread_mutex_unlock(&done_lock);
}

static void wait_for_tasks(void)
{
  pthread_mutex_lock(&done_lock);
  while (tasks_left > 0) pthread_cond_wait(&all_done, &done_lock);
  pthread_mutex_unlock(&done_lock);
}

CCW_HANDLER(many_tasks, ARG(f32, 1, x), RET(f32, 1, y), CTX(threads, t))
{
  tasks_left = TASKS;
  for (int i = 0; i < TASKS; ++i) ccw_threads_run(t, count_task, NULL);
  wait_for_tasks();
  return ccw_ok();
}

typedef struct item {
  struct item *next;
  void (*run)(void *);
  void *data;
} item;

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_filled = PTHREAD_COND_INITIALIZER;
static item *queue, **queue_end = &queue;

static void queue_add(void (*run)(void *), void *data)
{
  item *i = malloc(sizeof *i);
  if (!i) exit(1);
  *i = (item){NULL, run, data};
  pthread_mutex_lock(&queue_lock);
  *queue_end = i;
  queue_end = &i->next;
  pthread_cond_signal(&queue_filled);
  pthread_mutex_unlock(&queue_lock);
}

static void *queue_serve(void *nothing)
{
  for (;;) {
    pthread_mutex_lock(&queue_lock);
    while (!queue) pthread_cond_wait(&queue_filled, &queue_lock);
    item *i = queue;
    queue = i->next;
    if (!queue) queue_end = &queue;
    pthread_mutex_unlock(&queue_lock);
    i->run(i->data);
    free(i);
  }
  return nothing;
}

static void run_queue(void)
{
  tasks_left = TASKS;
  for (int i = 0; i < TASKS; ++i) queue_add(count_task, NULL);
  wait_for_tasks();
}

/* ---- calls ------------------------------------------------------------------------------------------------------------ */

static ccw_call *prepare(XLA_FFI_Handler *instantiate, XLA_FFI_Handler *execute)
{
  XLA_FFI_Handler_Bundle bundle = {.instantiate = instantiate, .execute = execute};
  ccw_handler *handler;
  ccw_buffer *x, *y;
  ccw_shape shape;
  ccw_call *call;
  check(ccw_shape_make(XLA_FFI_DataType_F32, (int64_t[]){4}, 1, &shape));
  check(ccw_buffer_new(&shape, true, &x));
  check(ccw_buffer_new(&shape, true, &y));
  check(ccw_handler_new("bench", &bundle, 0, NULL, &handler));
  check(ccw_call_prepare(handler, &x, 1, &y, 1, NULL, NULL, &call));
  return call;
}

/* Nanoseconds of a call. */
static double time_of(ccw_call *call, int calls)
{
  double from = now();
  for (int i = 0; i < calls; ++i) check(ccw_call_run(call));
  return (now() - from) / calls;
}

static double time_of_queue(void)
{
  double from = now();
  for (int i = 0; i < BATCHES; ++i) run_queue();
  return (now() - from) / BATCHES;
}

/* A task, and the wait for it. */
static double time_of_errand(void)
{
  double from = now();
  for (int i = 0; i < POOLED; ++i) {
    tasks_left = 1;
    queue_add(count_task, NULL);
    wait_for_tasks();
  }
  return (now() - from) / POOLED;
}

/* ---- two threads ------------------------------------------------------------------------------------------------------ */

enum { MANY_CALLS = 10 * CALLS };

static pthread_barrier_t both;

static double processor_time(void)
{
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

typedef struct runner {
  ccw_call *call;
  double from, to;
  double spent; /* of the processor, a call */
} runner;

static void *run_many(void *context)
{
  runner *r = context;
  pthread_barrier_wait(&both);
  double before = processor_time();
  r->from = now();
  for (int i = 0; i < MANY_CALLS; ++i) check(ccw_call_run(r->call));
  r->to = now();
  r->spent = (processor_time() - before) / MANY_CALLS;
  return NULL;
}

/* Nanoseconds in which one more call is done, of so many threads, and what a call takes of the first one's processor. */
static double time_of_threads(ccw_call *const *calls, int threads, double *out_spent)
{
  pthread_t running[2];
  runner runners[2];
  pthread_barrier_init(&both, NULL, (unsigned)threads);
  for (int i = 0; i < threads; ++i) {
    runners[i].call = calls[i];
    if (pthread_create(&running[i], NULL, run_many, &runners[i]) != 0) exit(1);
  }
  for (int i = 0; i < threads; ++i) pthread_join(running[i], NULL);
  pthread_barrier_destroy(&both);
  double from = runners[0].from, to = runners[0].to;
  for (int i = 1; i < threads; ++i) {
    if (runners[i].from < from) from = runners[i].from;
    if (runners[i].to > to) to = runners[i].to;
  }
  *out_spent = runners[0].spent;
  return (to - from) / MANY_CALLS / threads;
}

/* ---- the run ---------------------------------------------------------------------------------------------------------- */

int main(void)
{
  check(ccw_state_type_register("counter", 7, &ccw_type_id_counter, &ccw_type_info_counter));
  ccw_call *plain = prepare(NULL, stateless), *with_state = prepare(make_counter, stateful);
  ccw_call *completing = prepare(NULL, complete), *pooled = prepare(NULL, complete_in_pool);
  ccw_call *scheduling = prepare(NULL, many_tasks), *two[] = {prepare(NULL, stateless), prepare(NULL, stateless)};
  for (int64_t i = 0; i < ccw_pool_size(); ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, queue_serve, NULL) != 0) return 1;
  }
  double none = 0, state = 0, future = 0, in_pool = 0, errand = 0, tasks = 0, queued = 0, one = 0, together = 0,
         spent[2] = {0};
  for (int round = 0; round < ROUNDS; ++round) {
    keep_least(&none, time_of(plain, CALLS));
    keep_least(&state, time_of(with_state, CALLS));
    keep_least(&future, time_of(completing, CALLS));
    keep_least(&in_pool, time_of(pooled, POOLED));
    keep_least(&errand, time_of_errand());
    keep_least(&tasks, time_of(scheduling, BATCHES) / TASKS);
    keep_least(&queued, time_of_queue() / TASKS);
    double beside;
    keep_least(&one, time_of_threads(two, 1, &beside));
    keep_least(&spent[0], beside);
    keep_least(&together, time_of_threads(two, 2, &beside));
    keep_least(&spent[1], beside);
  }
  printf("state %g %g\n", state, none);
  printf("future %g %g\n", future, none);
  printf("future_in_pool %g %g\n", in_pool, errand);
  printf("task %g %g\n", tasks, queued);
  printf("two_threads %g %g\n", together, one);
  printf("beside_another %g %g\n", spent[1], spent[0]);
  return 0;
}

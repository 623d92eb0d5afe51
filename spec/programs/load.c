/* load.c [ROUNDS]: the runtime under load. Eight threads do the same at once, phase by phase, and at last all of it in a
 * mixture. What is in use after a phase is what was in use before it, and all state that was made has ended.
 *
 * Prints a line for each promise that is broken and one for each phase: its name, calls, calls a second, and live blocks. */
#include "runtime.h"

#include <inttypes.h>

/* ---- handlers of these phases alone ------------------------------------------------------------------------------------- */

/* Leaves the future to whoever has v. */
CCW_HANDLER(handed_out, ARG(f32, 1, x), RET(f32, 1, y), ATTR(pointer(ccw_future), v), CTX(frame, f))
{
  return ccw_future_create(f, v);
}

/* Counts its runs where no two may run at once. */
CCW_HANDLER(alone, ARG(f32, 1, x), RET(f32, 1, y), ATTR(pointer(int64_t), v), CTX(threads, t), CTX(frame, f))
{
  ++*v;
  if (*v % 4 == 0) return ccw_ok();
  work *w = malloc(sizeof *w);
  if (!w) return ccw_resource_exhausted("no memory for the work");
  *w = (work){.from = x.data, .to = y.data, .how = *v % 4 == 1 ? AT_ONCE : IN_POOL};
  CCW_TRY(ccw_future_create(f, &w->future));
  if (w->how == AT_ONCE) {
    finish_work(w);
    return ccw_ok();
  }
  ++under_way;
  ccw_threads_run(t, finish_work, w);
  return ccw_ok();
}

/* ---- calls ------------------------------------------------------------------------------------------------------------ */

enum { THREADS = 8 };

typedef struct worker {
  int number;
  int64_t rounds, calls;
  uint64_t seed;
  ccw_buffer *x, *y; /* f32[4]: x is 0, 1, 2, 3 */
} worker;

static uint32_t draw(worker *w, uint32_t below)
{
  w->seed = w->seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(w->seed >> 33) % below;
}

static ccw_handler *handler_of(XLA_FFI_Handler *execute)
{
  ccw_handler *handler;
  must(ccw_handler_new("load", &(XLA_FFI_Handler_Bundle){.execute = execute}, 0, NULL, &handler));
  return handler;
}

static ccw_status prepare(
    worker *w, ccw_handler *handler, int64_t v, const ccw_call_options *options, ccw_call **out_call)
{
  ccw_attributes_builder *builder;
  ccw_attributes *attributes;
  CCW_TRY(ccw_attributes_begin(&builder));
  must(ccw_attributes_add_scalar(builder, "v", 1, (ccw_scalar){.dtype = XLA_FFI_DataType_S64, .as.s = v}));
  CCW_TRY(ccw_attributes_finish(builder, &attributes));
  ccw_status status = ccw_call_prepare(handler, &w->x, 1, &w->y, 1, attributes, options, out_call);
  ccw_attributes_release(attributes);
  return status;
}

static ccw_call *prepared(worker *w, ccw_handler *handler, int64_t v)
{
  ccw_call *call;
  must(prepare(w, handler, v, NULL, &call));
  return call;
}

/* A call of a handler that is released: the call keeps it. */
static ccw_call *call_of(worker *w, XLA_FFI_Handler *execute, int64_t v)
{
  ccw_handler *handler = handler_of(execute);
  ccw_call *call = prepared(w, handler, v);
  ccw_handler_release(handler);
  return call;
}

static void make_buffers(worker *w)
{
  ccw_shape shape;
  must(ccw_shape_make(XLA_FFI_DataType_F32, (int64_t[]){4}, 1, &shape));
  must(ccw_buffer_new(&shape, true, &w->x));
  must(ccw_buffer_new(&shape, true, &w->y));
  must(ccw_buffer_iota(w->x, 0));
}

static void release_buffers(worker *w)
{
  ccw_buffer_release(w->x);
  ccw_buffer_release(w->y);
}

static float result(const worker *w, int64_t i) { return (float)ccw_buffer_get(w->y, i).as.f; }

/* ---- phases without contexts ------------------------------------------------------------------------------------------ */

static ccw_handler *shared_handler;

static void make_shared_handler(void) { shared_handler = handler_of(add); }

static void release_shared_handler(void) { ccw_handler_release(shared_handler); }

static void run_plain(worker *w)
{
  ccw_call *call = call_of(w, w->number % 2 ? add : multiply, 3);
  for (int64_t i = 0; i < w->rounds; ++i, ++w->calls) EXPECT(succeeds(ccw_call_run(call)));
  EXPECT(result(w, 2) == (w->number % 2 ? 5 : 6));
  ccw_call_free(call);
}

static void run_shared(worker *w)
{
  ccw_call *call = prepared(w, shared_handler, w->number);
  for (int64_t i = 0; i < w->rounds; ++i, ++w->calls) EXPECT(succeeds(ccw_call_run(call)));
  EXPECT(result(w, 3) == (float)(3 + w->number));
  ccw_call_free(call);
}

static void prepare_shared(worker *w)
{
  for (int64_t i = 0; i < w->rounds; ++i, ++w->calls) {
    ccw_call *call = prepared(w, shared_handler, i % 1000);
    EXPECT(succeeds(ccw_call_start(call)));
    EXPECT(ccw_call_is_done(call));
    EXPECT(succeeds(ccw_call_wait(call, 0)));
    EXPECT(result(w, 1) == (float)(1 + i % 1000));
    ccw_call_free(call);
  }
}

static void run_refused(worker *w)
{
  ccw_call *call = call_of(w, refuse, w->number);
  char expected[64];
  snprintf(expected, sizeof expected, "load: execute: refuse: execute: v is %d", w->number);
  for (int64_t i = 0; i < w->rounds; ++i, ++w->calls) {
    EXPECT(fails(ccw_call_run(call), XLA_FFI_Error_Code_ABORTED, expected));
    EXPECT(ccw_buffer_is_undefined(w->y));
  }
  ccw_call_free(call);
  ccw_buffer_set_undefined(w->y, false);
}

static void run_checked(worker *w)
{
  ccw_handler *good = handler_of(add), *bad = handler_of(careless);
  for (int64_t i = 0; i < w->rounds; ++i) {
    ccw_call *call;
    bool forks = i % 32 == 0;
    must(prepare(w, good, 7, &(ccw_call_options){.checked = true, .has_side_effect = !forks}, &call));
    for (int k = 0; k < 4; ++k, ++w->calls) EXPECT(succeeds(ccw_call_run(call)));
    EXPECT(result(w, 0) == 7);
    ccw_call_free(call);
    must(prepare(w, bad, 7, &(ccw_call_options){.checked = true, .has_side_effect = !forks}, &call));
    EXPECT(fails(ccw_call_run(call), XLA_FFI_Error_Code_DATA_LOSS,
        "load: execute: result 0: 1 of 4 elements was never written, the first is [4]"));
    ++w->calls;
    ccw_call_free(call);
  }
  ccw_handler_release(good);
  ccw_handler_release(bad);
}

/* A forked child has none of the threads of the pool, which wait in the parent. */
static void run_checked_with_tasks(worker *w)
{
  ccw_handler *handler = handler_of(careless_in_tasks);
  ccw_call *call;
  must(prepare(w, handler, 1, &(ccw_call_options){.checked = true}, &call));
  ccw_status status = ccw_call_run(call);
  EXPECT(status.code == XLA_FFI_Error_Code_OUT_OF_RANGE);
  EXPECT(strstr(ccw_status_text(status), "arg 0: read past its end, element 5 of 4"));
  ccw_status_free(status);
  ccw_call_free(call);
  ccw_handler_release(handler);
}

/* ---- phases with state and scratch memory ----------------------------------------------------------------------------- */

static void run_stateful(worker *w)
{
  XLA_FFI_Handler_Bundle bundle = {.instantiate = count_instantiate, .execute = count_up};
  ccw_handler *handler;
  must(ccw_handler_new("count", &bundle, 0, NULL, &handler));
  for (int64_t i = 0; i < w->rounds; ++i) {
    ccw_call *call = prepared(w, handler, i % 1000);
    for (int k = 0; k < 4; ++k, ++w->calls) {
      EXPECT(succeeds(ccw_call_run(call)));
      EXPECT(result(w, 0) == (float)(i % 1000 + k));
    }
    ccw_call_free(call);
    EXPECT(fails(prepare(w, handler, -1, NULL, &call), XLA_FFI_Error_Code_OUT_OF_RANGE,
        "count: instantiate: count_instantiate: instantiate: too early"));
    EXPECT(fails(prepare(w, handler, -2, NULL, &call), XLA_FFI_Error_Code_OUT_OF_RANGE,
        "count: instantiate: count_instantiate: instantiate: too late"));
  }
  ccw_handler_release(handler);
}

static void run_staged(worker *w)
{
  ccw_handler *parts[CCW_STAGE_COUNT] = {
      handler_of(count_instantiate), handler_of(count_prepare), handler_of(count_initialize), handler_of(count_all)};
  ccw_handler *handler;
  ccw_call *call;
  must(ccw_handler_of_stages("count_all", parts, &handler));
  for (int i = 0; i < CCW_STAGE_COUNT; ++i) ccw_handler_release(parts[i]);
  must(prepare(w, handler, 5, &(ccw_call_options){.stages = ALL_STAGES}, &call));
  ccw_handler_release(handler);
  for (int64_t i = 0; i < w->rounds; ++i, ++w->calls) {
    EXPECT(succeeds(i % 4 == 3 ? ccw_call_start(call) : ccw_call_run(call))); /* the next run drops what was started */
    EXPECT(result(w, 0) == (float)(5 + i));
  }
  ccw_call_free(call);
}

static void run_borrowing(worker *w)
{
  ccw_call *call = call_of(w, borrow, 100 + w->number);
  for (int64_t i = 0; i < w->rounds; ++i, ++w->calls)
    EXPECT(succeeds(i % 4 == 3 ? ccw_call_start(call) : ccw_call_run(call)));
  EXPECT(result(w, 3) == 3);
  ccw_call_free(call);
}

/* ---- phases with tasks and futures ------------------------------------------------------------------------------------ */

static void run_tasks(worker *w)
{
  ccw_call *call = call_of(w, add_in_tasks, 2);
  for (int64_t i = 0; i < w->rounds; ++i, ++w->calls) {
    EXPECT(succeeds(ccw_call_run(call)));
    EXPECT(result(w, 0) == 2 * TASKS);
  }
  ccw_call_free(call);
}

/* Waits in pieces, the first of which are too short. */
static ccw_status wait_patiently(ccw_call *call)
{
  for (double seconds = 0; seconds < 1e-3; seconds += 2e-4) {
    ccw_status status = ccw_call_wait(call, seconds);
    if (status.code != XLA_FFI_Error_Code_DEADLINE_EXCEEDED) return status;
    ccw_status_free(status);
  }
  return ccw_call_wait(call, -1);
}

/* At once, or step by step. */
static ccw_status run_in_some_way(ccw_call *call, int64_t way)
{
  if (way % 3 == 0) return ccw_call_run(call);
  ccw_status status = way % 3 == 1 ? ccw_call_start(call) : ccw_call_run_for(call, 0);
  bool is_over = way % 3 == 2 && status.code != XLA_FFI_Error_Code_DEADLINE_EXCEEDED;
  if (is_over) return status;
  ccw_status_free(status);
  return wait_patiently(call);
}

static void run_futures(worker *w)
{
  static const char late[] = "load: execute: late";
  static const int64_t ways[] = {AT_ONCE, IN_POOL, AT_ONCE_FAILED, IN_POOL_FAILED};
  ccw_call *calls[4];
  for (int k = 0; k < 4; ++k) calls[k] = call_of(w, later, ways[k]);
  for (int64_t i = 0; i < w->rounds; ++i, ++w->calls) {
    ccw_status status = run_in_some_way(calls[i % 4], i / 4);
    if (i % 4 < 2)
      EXPECT(succeeds(status) && result(w, 0) == 1);
    else
      EXPECT(fails(status, XLA_FFI_Error_Code_DATA_LOSS, late));
  }
  for (int k = 0; k < 4; ++k) ccw_call_free(calls[k]);
  ccw_buffer_set_undefined(w->y, false);
}

/* The table of futures grows with those that are not complete: there are not to be many. */
static void let_others_finish(void)
{
  while (under_way > 4 * THREADS) sched_yield();
}

static void run_abandoned(worker *w)
{
  ccw_handler *handler = handler_of(later);
  for (int64_t i = 0; i < w->rounds; ++i, ++w->calls) {
    worker own = {.number = 0};
    make_buffers(&own);
    ccw_call *call = prepared(&own, handler, i % 3 == 2 ? NEVER_TAKEN : i % 3 == 1 ? IN_POOL_FAILED : IN_POOL);
    release_buffers(&own);
    EXPECT(succeeds(ccw_call_start(call)));
    ccw_call_free(call);
    let_others_finish();
  }
  ccw_handler_release(handler);
}

/* Threads go by twos: both complete a future at once, and one of them does. */
static pthread_barrier_t pairs[THREADS / 2];
static ccw_future futures[THREADS / 2];
static _Atomic int completions[THREADS / 2];

static void make_pairs(void)
{
  for (int i = 0; i < THREADS / 2; ++i) pthread_barrier_init(&pairs[i], NULL, 2);
}

static void destroy_pairs(void)
{
  for (int i = 0; i < THREADS / 2; ++i) pthread_barrier_destroy(&pairs[i]);
}

static void complete_at_once(int pair)
{
  pthread_barrier_wait(&pairs[pair]);
  ccw_status status = ccw_future_complete(futures[pair], ccw_ok());
  if (status.code)
    EXPECT(fails(status, XLA_FFI_Error_Code_FAILED_PRECONDITION, "the future is complete already"));
  else
    ++completions[pair];
  pthread_barrier_wait(&pairs[pair]);
}

static void run_completed_twice(worker *w)
{
  int pair = w->number / 2;
  ccw_call *call = w->number % 2 ? NULL : call_of(w, handed_out, (int64_t)(intptr_t)&futures[pair]);
  for (int64_t i = 0; i < w->rounds; ++i) {
    if (call) {
      completions[pair] = 0;
      EXPECT(succeeds(ccw_call_start(call)));
    }
    complete_at_once(pair);
    if (!call) continue;
    EXPECT(completions[pair] == 1);
    EXPECT(succeeds(ccw_call_wait(call, -1)));
    ++w->calls;
  }
  ccw_call_free(call);
}

/* ---- one call for all threads ----------------------------------------------------------------------------------------- */

static int64_t contested_runs;
static _Atomic int64_t contested_successes;
static ccw_call *contested;
static worker contestant;

static void make_contested(void)
{
  make_buffers(&contestant);
  contested_runs = 0;
  contested_successes = 0;
  contested = call_of(&contestant, alone, (int64_t)(intptr_t)&contested_runs);
}

static void free_contested(void)
{
  ccw_status_free(ccw_call_wait(contested, -1));
  ccw_call_free(contested);
  release_buffers(&contestant);
  EXPECT(contested_runs == contested_successes);
}

/* Whether it ran the handler; a call that is another's just then refuses. */
static bool is_mine(ccw_status status)
{
  EXPECT(!status.code || status.code == XLA_FFI_Error_Code_FAILED_PRECONDITION);
  ccw_status_free(status);
  return !status.code;
}

static void run_contested(worker *w)
{
  for (int64_t i = 0; i < w->rounds; ++i, ++w->calls) {
    uint32_t way = draw(w, 8);
    if (way == 0)
      is_mine(ccw_call_wait(contested, -1));
    else if (way == 1)
      ccw_status_free(ccw_call_wait(contested, 1e-6));
    else if (way < 4)
      contested_successes += is_mine(ccw_call_run(contested));
    else if (way == 4)
      contested_successes += is_mine(ccw_call_stage(contested, XLA_FFI_ExecutionStage_EXECUTE));
    else
      contested_successes += is_mine(ccw_call_start(contested));
  }
}

/* ---- the registry ----------------------------------------------------------------------------------------------------- */

enum { NAMES = 16 };

static void find_and_call(worker *w, const char *name)
{
  ccw_handler *handler;
  ccw_status status = ccw_registry_find(name, strlen(name), "cpu", 3, &handler);
  if (status.code == XLA_FFI_Error_Code_NOT_FOUND) { /* nobody has registered it yet */
    ccw_status_free(status);
    return;
  }
  must(status);
  ccw_call *call = prepared(w, handler, 2);
  ccw_handler_release(handler);
  EXPECT(succeeds(ccw_call_run(call)));
  EXPECT(result(w, 3) == 5 || result(w, 3) == 6);
  ++w->calls;
  ccw_call_free(call);
}

static void look_through(void)
{
  ccw_text name = {0}, platform = {0};
  ccw_handler *handler;
  for (size_t i = 0; ccw_registry_at(i, &name, &platform, &handler); ++i) ccw_handler_release(handler);
  must(ccw_text_status(&name));
  ccw_text_free(&name);
  ccw_text_free(&platform);
}

static void run_registry(worker *w)
{
  char name[32];
  for (int64_t i = 0; i < w->rounds; ++i) {
    snprintf(name, sizeof name, "load.%u", draw(w, NAMES));
    if (w->number % 4 == 0) {
      ccw_handler *handler = handler_of(draw(w, 2) ? add : multiply);
      EXPECT(succeeds(ccw_registry_add(name, strlen(name), "Host", 4, handler, true)));
      ccw_handler_release(handler);
    }
    find_and_call(w, name);
    if (i % 64 == 0) look_through();
  }
}

/* So that the phase ends with as many as it begins with. */
static void register_names(void)
{
  char name[32];
  ccw_handler *handler = handler_of(add);
  for (int i = 0; i < NAMES; ++i) {
    snprintf(name, sizeof name, "load.%d", i);
    EXPECT(succeeds(ccw_registry_add(name, strlen(name), "Host", 4, handler, true)));
  }
  ccw_handler_release(handler);
}

/* ---- all of it -------------------------------------------------------------------------------------------------------- */

static void run_mixed(worker *w)
{
  static void (*const some[])(worker *) = {run_plain, run_shared, prepare_shared, run_refused, run_stateful, run_staged,
      run_borrowing, run_tasks, run_futures, run_abandoned, run_registry, run_contested};
  int64_t rounds = w->rounds;
  w->rounds = 8;
  for (int64_t i = 0; i < rounds; ++i) some[draw(w, sizeof some / sizeof *some)](w);
  w->rounds = rounds;
}

static void make_for_mixed(void)
{
  make_shared_handler();
  make_contested();
}

static void end_mixed(void)
{
  release_shared_handler();
  free_contested();
  register_names();
}

typedef struct phase {
  const char *name;
  int64_t rounds; /* of a thread, for each of the program's */
  void (*run)(worker *w);
  void (*begin)(void), (*end)(void);
} phase;

static const phase phases[] = {
    {"plain", 20000, run_plain, NULL, NULL},
    {"one handler", 20000, run_shared, make_shared_handler, release_shared_handler},
    {"prepared each time", 1000, prepare_shared, make_shared_handler, release_shared_handler},
    {"failing", 1000, run_refused, NULL, NULL},
    {"checked", 16, run_checked, NULL, NULL},
    {"state", 500, run_stateful, NULL, NULL},
    {"all stages", 2000, run_staged, NULL, NULL},
    {"scratch memory", 1000, run_borrowing, NULL, NULL},
    {"tasks", 200, run_tasks, NULL, NULL},
    {"futures", 800, run_futures, NULL, NULL},
    {"abandoned", 400, run_abandoned, NULL, NULL},
    {"completed twice", 200, run_completed_twice, make_pairs, destroy_pairs},
    {"one call", 2000, run_contested, make_contested, free_contested},
    {"registry", 400, run_registry, register_names, register_names},
    {"mixed", 60, run_mixed, make_for_mixed, end_mixed},
};

/* ---- running a phase -------------------------------------------------------------------------------------------------- */

static const phase *present;
static pthread_barrier_t start;
static atomic_bool is_over;

static void *work_on_phase(void *context)
{
  worker *w = context;
  make_buffers(w);
  pthread_barrier_wait(&start);
  present->run(w);
  release_buffers(w);
  return NULL;
}

/* Has the pool grow and shrink all the while. */
static void *resize_pool(void *nothing)
{
  for (int64_t i = 0; !is_over; ++i) {
    must(ccw_pool_resize(1 + i * 5 % 7));
    rest();
  }
  return nothing;
}

static void start_thread(pthread_t *thread, void *(*run)(void *), void *context)
{
  if (pthread_create(thread, NULL, run, context) != 0) abort();
}

/* Gives the calls. */
static int64_t run_threads(int64_t rounds)
{
  static worker workers[THREADS];
  pthread_t threads[THREADS], resizer;
  int64_t calls = 0;
  is_over = false;
  start_thread(&resizer, resize_pool, NULL);
  for (int i = 0; i < THREADS; ++i) {
    workers[i] = (worker){.number = i, .rounds = rounds, .seed = (uint64_t)i};
    start_thread(&threads[i], work_on_phase, &workers[i]);
  }
  for (int i = 0; i < THREADS; ++i) {
    pthread_join(threads[i], NULL);
    calls += workers[i].calls;
  }
  is_over = true;
  pthread_join(resizer, NULL);
  return calls;
}

static void run_phase(const phase *p, int64_t rounds, int64_t live)
{
  present = p;
  if (p->begin) p->begin();
  double from = now();
  int64_t calls = run_threads(rounds * p->rounds);
  double seconds = now() - from;
  if (p->end) p->end();
  int64_t after = settle(live);
  printf("%-20s %10" PRId64 " calls %12.0f/s %6" PRId64 " blocks\n", p->name, calls, (double)calls / seconds, after);
  fflush(stdout);
  EXPECT(after == live);
}

/* Makes once what stays for good: the names, and the first table of futures. Gives what is live then. */
static int64_t prepare_all(void)
{
  must(ccw_state_type_register("counter", 7, &ccw_type_id_counter, &ccw_type_info_counter));
  register_names();
  worker w = {.rounds = 8};
  make_buffers(&w);
  run_futures(&w);
  run_checked_with_tasks(&w);
  release_buffers(&w);
  return blocks_at_rest();
}

int main(int argc, char **argv)
{
  int64_t rounds = argc > 1 ? atoll(argv[1]) : 1;
  pthread_barrier_init(&start, NULL, THREADS);
  int64_t live = prepare_all();
  for (size_t i = 0; i < sizeof phases / sizeof *phases; ++i) run_phase(&phases[i], rounds, live);
  printf("%d broken\n", broken);
  return broken > 0;
}

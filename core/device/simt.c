#include "device/simt.h"

#include <dlfcn.h>
#include <errno.h>
#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/mix.h"
#include "device/fiber.h"

#ifndef sigev_notify_thread_id /* which older C libraries do not name */
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* ---- what there is while a launch runs: one, whose thread holds the lock ----------------------------------------------- */

typedef enum state { IDLE, READY, WAITS_FOR_BLOCK, WAITS_FOR_WARP } state;

/* A fiber, by its number, and the thread that is suspended on it. A fresh one runs threads from `thread` on. */
typedef struct member {
  state state;
  bool is_fresh;
  uint32_t thread;
  ccw_sim_place place;
  bool predicate;  /* at a barrier */
  uint32_t agreed; /* for how many it was true */
  uint64_t mask, value, *values, lanes;
} member;

static struct running {
  const ccw_sim_launch *launch;
  ccw_simt_outcome *outcome;
  ccw_simt simt;
  uint32_t threads;        /* of a block */
  uint32_t started, ended; /* of this block's */
  uint32_t current;        /* the fiber that runs */
  uint32_t waiting;
  int64_t deadline; /* 0: none */
  fenv_t fenv;
} run;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic pthread_t runner;
static atomic_bool has_runner;

/* Of the runner alone, which signal handlers in it read and write. */
static volatile bool is_in_fiber; /* a kernel or what it has called here */
static volatile bool is_in_kernel;
static volatile bool is_late, is_interrupted;

static member members[CCW_SIMT_THREADS];
static uint32_t idle[CCW_SIMT_THREADS], idle_count; /* fibers, the last one first */
static uint32_t used;                               /* of the members */

/* Threads that go on, in this order: a ring. */
static uint32_t ready[CCW_SIMT_THREADS], ready_first, ready_count;

/* The fiber of each thread that waits, counted from 1; 0 for none. */
static uint32_t waits[CCW_SIMT_THREADS];

static bool is_runner(void) { return atomic_load(&has_runner) && pthread_equal(atomic_load(&runner), pthread_self()); }

bool ccw_simt_is_running(void) { return is_runner() && is_in_fiber; }

/* ---- the end of a launch ----------------------------------------------------------------------------------------------- */

static void place_of(uint32_t thread, uint32_t out[3])
{
  const uint32_t *block = run.launch->block;
  out[0] = thread % block[0];
  out[1] = thread / block[0] % block[1];
  out[2] = thread / block[0] / block[1];
}

/* The thread that runs: a fresh fiber's says its kernel. */
static void note_thread(void)
{
  member *m = &members[run.current];
  memcpy(run.outcome->block, run.simt.block_index, sizeof run.outcome->block);
  if (m->is_fresh && run.simt.thread_index)
    memcpy(run.outcome->thread, run.simt.thread_index, sizeof run.outcome->thread);
  else
    place_of(m->thread, run.outcome->thread);
}

/* In a fiber or a signal handler: the launch is over. What the kernel holds stays as it is. */
static _Noreturn void end_here(ccw_simt_end end)
{
  run.outcome->end = end;
  note_thread();
  ccw_fiber_leave(&ccw_fibers[run.current]);
}

_Noreturn void ccw_simt_abandon(const ccw_fault *fault)
{
  ccw_simt_outcome *o = run.outcome;
  o->fault = *fault;
  o->depth = ccw_fault_walk(fault->instruction, o->code, CCW_SIMT_DEPTH);
  end_here(CCW_SIMT_FAULT);
}

static const char *file_of(const ccw_sim_place *place)
{
  const char *slash = strrchr(place->file, '/');
  return slash ? slash + 1 : place->file;
}

/* What is not said when the space is full is not missed: the text ends there. */
CCW_PRINTF(2, 3) static size_t say(size_t length, const char *format, ...)
{
  size_t room = sizeof run.outcome->text - length;
  va_list arguments;
  va_start(arguments, format);
  int more = vsnprintf(run.outcome->text + length, room, format, arguments);
  va_end(arguments);
  return length + (more < 0 ? 0 : (size_t)more < room ? (size_t)more : room - 1);
}

static void fail(ccw_simt *simt, uint32_t thread, const ccw_sim_place *place)
{
  (void)simt, (void)thread;
  if (!ccw_simt_is_running()) return;
  is_in_kernel = false;
  if (place->file)
    say(0, "%s (%s:%u)", place->operation, file_of(place), place->line);
  else
    say(0, "%s", place->operation);
  end_here(CCW_SIMT_ASSERTION);
}

/* ---- dynamic shared memory ------------------------------------------------------------------------------------------------ */

enum { SHARED_MOST = 228 << 10, SHARED_GUARD = 64 << 10 };
enum { SHARED_PATTERN = 0xff }; /* no number, as a float */

static unsigned char *shared_room; /* between two guards */

static bool is_near_shared(uintptr_t address)
{
  return shared_room && address - (uintptr_t)(shared_room - SHARED_GUARD) < SHARED_MOST + 2 * SHARED_GUARD;
}

static bool open_shared(void)
{
  if (shared_room) return true;
  size_t size = SHARED_MOST + 2 * SHARED_GUARD;
  unsigned char *memory = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  if (mprotect(memory + SHARED_GUARD, SHARED_MOST, PROT_READ | PROT_WRITE) != 0) return munmap(memory, size), false;
  shared_room = memory + SHARED_GUARD;
  return true;
}

/* It ends where the guard begins, but for what alignment takes. */
static unsigned char *shared_of(size_t size)
{
  enum { ALIGNMENT = 16 };
  return shared_room + SHARED_MOST - ccw_align(size, ALIGNMENT);
}

/* ---- faults, and other things that the processor does not do ------------------------------------------------------------ */

/* Addresses that are nobody's. */
static bool take_rest(void *context, const ccw_fault *fault)
{
  (void)context;
  if (!ccw_simt_is_running()) return false;
  int64_t behind = (int64_t)(fault->address - (uintptr_t)run.simt.shared);
  if (ccw_fiber_is_guard(&ccw_fibers[run.current], fault->address))
    say(0, "the stack of a thread, %d KiB, is full", CCW_FIBER_STACK >> 10);
  else if (is_near_shared(fault->address))
    say(0, "dynamic shared memory has %zu bytes, and byte %lld is not among them", run.launch->shared_size,
        (long long)behind);
  ccw_simt_abandon(fault);
}

/* What the processor does not do: SIGFPE, SIGILL, SIGTRAP. */
static const int traps[] = {SIGFPE, SIGILL, SIGTRAP};
static struct sigaction before_trap[sizeof traps / sizeof *traps];

static void on_trap(int number, siginfo_t *info, void *context)
{
  (void)context;
  if (!ccw_simt_is_running() || info->si_code <= 0) {
    for (size_t i = 0; i < sizeof traps / sizeof *traps; ++i)
      if (traps[i] == number) sigaction(number, &before_trap[i], NULL);
    if (info->si_code <= 0) raise(number); /* else it comes again, by itself */
    return;
  }
  if (number != SIGFPE)
    say(0, "it came to where the compiler saw undefined behaviour, or to a trap");
  else if (info->si_code == FPE_INTDIV)
    say(0, "an integer was divided by zero");
  else
    say(0, "a floating-point exception");
  uintptr_t at = (uintptr_t)info->si_addr;
  ccw_simt_abandon(&(ccw_fault){.address = at, .instruction = at});
}

/* ---- the time limit ------------------------------------------------------------------------------------------------------ */

/* A timer that sends a signal to its thread, that of the last launch. It is left alone as long as it is due before the limit, since
 * setting it costs more than a small launch: who comes too early sets it again. */
static struct watch {
  timer_t timer;
  bool exists;
  const bool *owner;
  int64_t due; /* in nanoseconds; in the past: it is not set */
} watch;

static _Thread_local bool owns_watch;
static int watch_signal;
static int32_t late_times;

static int64_t nanoseconds(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000 + now.tv_nsec;
}

static bool set_watch(int64_t due)
{
  watch.due = due;
  if (!watch.exists) return false; /* there is no limit */
  struct itimerspec at = {.it_value = {.tv_sec = due / 1000000000, .tv_nsec = due % 1000000000}};
  return timer_settime(watch.timer, TIMER_ABSTIME, &at, NULL) == 0;
}

/* Whether an instruction is the kernel's own, or that of a library it calls, which may hold a lock. */
static bool is_of_kernel(uintptr_t instruction)
{
#if __GLIBC_PREREQ(2, 35)
  struct dl_find_object there, kernel;
  return _dl_find_object((void *)instruction, &there) == 0 &&
         _dl_find_object((void *)(uintptr_t)run.launch->kernel->run, &kernel) == 0 &&
         there.dlfo_map_start == kernel.dlfo_map_start;
#else
  (void)instruction;
  return true;
#endif
}

/* Where it cannot end the launch here, who runs it will; and it comes again, since a kernel may call others all the time. At last
 * it does not ask any more: they may never come back. */
static void on_time(int number, siginfo_t *info, void *context)
{
  enum { AGAIN = 200000, TIMES = 1000 };
  (void)number, (void)info;
  if (!is_runner() || (run.deadline == 0 && !is_interrupted)) return;
  int error = errno;
  int64_t now = nanoseconds();
  if (now < run.deadline && !is_interrupted) {
    set_watch(run.deadline);
  } else {
    is_late = true;
    if (is_in_kernel && (++late_times > TIMES || is_of_kernel(ccw_fault_instruction(context)))) end_here(CCW_SIMT_LATE);
    set_watch(now + AGAIN);
  }
  errno = error;
}

static bool make_watch(void)
{
  if (watch.exists) timer_delete(watch.timer);
  watch.due = 0;
  struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = watch_signal};
  event.sigev_notify_thread_id = gettid();
  watch.exists = timer_create(CLOCK_MONOTONIC, &event, &watch.timer) == 0;
  owns_watch = watch.exists;
  watch.owner = &owns_watch;
  return watch.exists;
}

bool ccw_simt_interrupt(void)
{
  if (!has_runner) return false;
  is_interrupted = true;
  pthread_kill(runner, watch_signal);
  return true;
}

/* The flags first: the signal may come at once. */
static bool begin_time(double seconds)
{
  enum { MOST = 1000000000 };
  is_late = is_interrupted;
  late_times = 0;
  run.deadline = 0;
  bool is_watched =
      (owns_watch && watch.owner == &owns_watch) || make_watch(); /* without a limit, too: one may interrupt it */
  if (!(seconds > 0)) return true;
  if (!is_watched) return say(0, "no timer for the time limit"), false;
  int64_t now = nanoseconds();
  run.deadline = now + (int64_t)(1e9 * fmin(seconds, MOST));
  return (watch.due > now && watch.due <= run.deadline) || set_watch(run.deadline);
}

/* ---- threads wait -------------------------------------------------------------------------------------------------------- */

static void make_ready(uint32_t thread)
{
  uint32_t number = waits[thread] - 1;
  waits[thread] = 0;
  members[number].state = READY;
  ready[(ready_first + ready_count++) % CCW_SIMT_THREADS] = number;
  --run.waiting;
}

static bool is_same_place(const ccw_sim_place *a, const ccw_sim_place *b)
{
  return a->line == b->line && (a->operation == b->operation || strcmp(a->operation, b->operation) == 0) &&
         (a->file == b->file || strcmp(a->file, b->file) == 0);
}

/* The first thread of its warp, and the lanes that there are. */
static uint64_t warp_of(uint32_t thread, uint32_t *out_first)
{
  uint32_t size = run.simt.warp_size, first = thread / size * size;
  uint32_t lanes = run.threads - first < size ? run.threads - first : size;
  *out_first = first;
  return ~(uint64_t)0 >> (64 - lanes);
}

/* Those of a warp who wait for each other there by that mask. */
static uint64_t find_lanes(uint32_t first, uint64_t lanes, uint64_t mask, const ccw_sim_place *place)
{
  uint64_t found = 0;
  for (uint64_t left = lanes; left; left &= left - 1) {
    uint32_t lane = (uint32_t)__builtin_ctzll(left);
    if (!waits[first + lane]) continue;
    const member *m = &members[waits[first + lane] - 1];
    if (m->state == WAITS_FOR_WARP && m->mask == mask && is_same_place(&m->place, place)) found |= (uint64_t)1 << lane;
  }
  return found;
}

/* Gives each of these lanes the values of all. */
static void exchange_among(uint32_t first, uint64_t lanes)
{
  uint64_t values[64] = {0};
  for (uint64_t left = lanes; left; left &= left - 1) {
    int lane = __builtin_ctzll(left);
    values[lane] = members[waits[first + (uint32_t)lane] - 1].value;
  }
  for (uint64_t left = lanes; left; left &= left - 1) {
    uint32_t thread = first + (uint32_t)__builtin_ctzll(left);
    member *m = &members[waits[thread] - 1];
    if (m->values) memcpy(m->values, values, run.simt.warp_size * sizeof *values);
    m->lanes = lanes;
    make_ready(thread);
  }
}

/* In a fiber. Behind what ran on it in this block before, others begin on other fibers. */
static member *suspend(uint32_t thread, state why, const ccw_sim_place *place)
{
  member *m = &members[run.current];
  if (m->is_fresh) {
    run.ended += thread - m->thread;
    run.started = thread + 1;
    m->is_fresh = false;
    m->thread = thread;
  }
  m->state = why;
  m->place = *place;
  waits[m->thread] = run.current + 1;
  ++run.waiting;
  return m;
}

static void wait_for_turn(void)
{
  ccw_fiber_go_back(&ccw_fibers[run.current]);
  is_in_kernel = true;
}

static uint32_t barrier(ccw_simt *simt, uint32_t thread, int predicate, const ccw_sim_place *place)
{
  (void)simt;
  is_in_kernel = false;
  member *m = suspend(thread, WAITS_FOR_BLOCK, place);
  m->predicate = predicate != 0;
  wait_for_turn();
  return m->agreed;
}

static uint64_t exchange(
    ccw_simt *simt, uint32_t thread, uint64_t mask, uint64_t value, uint64_t *values, const ccw_sim_place *place)
{
  (void)simt;
  is_in_kernel = false;
  uint32_t first;
  uint64_t lanes = warp_of(thread, &first);
  if (mask && !(mask >> (thread - first) & 1)) {
    say(0, "lane %u is not in the mask that it gives to %s (%s:%u)", thread - first, place->operation, file_of(place),
        place->line);
    end_here(CCW_SIMT_DIVERGED);
  }
  member *m = suspend(thread, WAITS_FOR_WARP, place);
  m->mask = mask & lanes;
  m->value = value;
  m->values = values;
  if (mask && find_lanes(first, m->mask, m->mask, place) == m->mask) exchange_among(first, m->mask);
  wait_for_turn();
  return m->lanes;
}

/* All threads of the block wait at the same barrier: they go on. */
static bool open_barrier(void)
{
  if (run.waiting < run.threads) return false;
  const member *first = &members[waits[0] - 1];
  uint32_t agreed = 0;
  for (uint32_t i = 0; i < run.threads; ++i) {
    const member *m = &members[waits[i] - 1];
    if (m->state != WAITS_FOR_BLOCK || !is_same_place(&m->place, &first->place)) return false;
    agreed += m->predicate;
  }
  for (uint32_t i = 0; i < run.threads; ++i) {
    members[waits[i] - 1].agreed = agreed;
    make_ready(i);
  }
  return true;
}

/* Who waits for whoever comes has waited long enough, since nobody else can go on. */
static bool let_some_go_on(void)
{
  for (uint32_t i = 0; i < run.threads; ++i) {
    if (!waits[i]) continue;
    const member *m = &members[waits[i] - 1];
    if (m->state != WAITS_FOR_WARP || m->mask) continue;
    uint32_t first;
    uint64_t lanes = warp_of(i, &first);
    exchange_among(first, find_lanes(first, lanes, 0, &m->place));
  }
  return ready_count > 0;
}

/* ---- who waits for whom, in words ----------------------------------------------------------------------------------------- */

/* Where threads wait, and how many at each place. */
typedef struct crowd {
  const ccw_sim_place *place;
  uint32_t count;
} crowd;

enum { CROWDS = 3 };

/* How many places; the last of the list, without a place, is for all others. */
static int gather(crowd crowds[CROWDS + 1])
{
  int count = 0;
  for (uint32_t i = 0; i < run.threads; ++i) {
    if (!waits[i]) continue;
    const ccw_sim_place *place = &members[waits[i] - 1].place;
    int at = 0;
    while (at < count && crowds[at].place && !is_same_place(crowds[at].place, place)) ++at;
    if (at == count) crowds[count++] = (crowd){at < CROWDS ? place : NULL, 0};
    ++crowds[at].count;
  }
  return count;
}

static void say_divergence(void)
{
  crowd crowds[CROWDS + 1];
  int count = gather(crowds);
  size_t length = 0;
  for (int i = 0; i < count; ++i) {
    const ccw_sim_place *place = crowds[i].place;
    length = i == 0 ? say(length, "%u of %u threads wait", crowds[i].count, run.threads)
                    : say(length, ", %u", crowds[i].count);
    length = place ? say(length, " at %s (%s:%u)", place->operation, file_of(place), place->line)
                   : say(length, " elsewhere");
  }
  if (run.ended > 0)
    say(length, ", %u %s ended", run.ended, run.ended == 1 ? "has" : "have");
  else if (count == 1)
    say(length, ", with different masks");
}

static bool diverge(void)
{
  uint32_t first = 0;
  while (!waits[first]) ++first;
  run.outcome->end = CCW_SIMT_DIVERGED;
  memcpy(run.outcome->block, run.simt.block_index, sizeof run.outcome->block);
  place_of(first, run.outcome->thread);
  say_divergence();
  return false;
}

/* ---- a block -------------------------------------------------------------------------------------------------------------- */

/* What a fiber does all its life. */
static void run_threads(void)
{
  for (;;) {
    is_in_kernel = true;
    run.launch->kernel->run(&run.simt, run.launch->arguments);
    is_in_kernel = false;
    member *m = &members[run.current];
    if (m->is_fresh) {
      run.ended += run.threads - m->thread;
      run.started = run.threads;
    } else {
      ++run.ended;
    }
    m->state = IDLE;
    idle[idle_count++] = run.current;
    ccw_fiber_go_back(&ccw_fibers[run.current]);
  }
}

/* Takes a fiber for the threads from `thread` on. False: there is no memory for one. */
static bool take_fiber(uint32_t thread)
{
  if (idle_count == 0) {
    if (!ccw_fibers_prepare(used + 1, run_threads)) return false;
    idle[idle_count++] = used++;
  }
  uint32_t number = idle[--idle_count];
  members[number] = (member){.state = READY, .is_fresh = true, .thread = thread};
  ready[(ready_first + ready_count++) % CCW_SIMT_THREADS] = number;
  return true;
}

/* Has the processor fetch what the next thread needs first, while this one runs: the stacks of a block are more than it keeps at
 * hand. */
static void fetch_stack(void)
{
  enum { LINE = 64, LINES = 4 };
  if (ready_count == 0) return;
  const char *next = ccw_fibers[ready[ready_first]].place;
  for (int i = 0; i < LINES; ++i) __builtin_prefetch(next + i * LINE);
}

/* Runs the next thread that is ready, until it waits or ends. False: the launch is over. */
static bool run_next(void)
{
  run.current = ready[ready_first];
  ready_first = (ready_first + 1) % CCW_SIMT_THREADS;
  --ready_count;
  member *m = &members[run.current];
  fetch_stack();
  run.simt.from = m->thread;
  run.simt.suspended = m->is_fresh ? NULL : m;
  is_in_fiber = true;
  bool came_back = ccw_fiber_resume(&ccw_fibers[run.current]);
  is_in_fiber = false;
  if (!came_back) {
    is_in_kernel = false;
    fesetenv(&run.fenv); /* a signal handler has another */
    return false;
  }
  if (!is_late) return true;
  run.outcome->end = CCW_SIMT_LATE;
  note_thread();
  return false;
}

static bool no_stack(void)
{
  run.outcome->end = CCW_SIMT_NO_MEMORY;
  say(0, "no memory for the stacks of %u threads that wait", run.waiting + 1);
  return false;
}

static bool run_block(void)
{
  run.started = run.ended = 0;
  if (run.launch->shared_size > 0) memset(run.simt.shared, SHARED_PATTERN, run.launch->shared_size);
  for (;;) {
    if (ready_count > 0) {
      if (!run_next()) return false;
    } else if (run.started < run.threads) {
      if (!take_fiber(run.started)) return no_stack();
    } else if (run.waiting == 0) {
      return true;
    } else if (!open_barrier() && !let_some_go_on()) {
      return diverge();
    }
  }
}

/* ---- a launch ------------------------------------------------------------------------------------------------------------- */

/* Number i of the blocks in an order that is drawn: the cipher of Feistel, whose numbers may lie above the count, and are then
 * drawn on. */
static uint64_t draw(uint64_t i, uint64_t count, uint64_t seed)
{
  enum { ROUNDS = 4 };
  int half = 1;
  while (half < 32 && (uint64_t)1 << 2 * half < count) ++half;
  uint64_t mask = ((uint64_t)1 << half) - 1;
  do {
    for (uint64_t round = 0; round < ROUNDS; ++round)
      i = (i & mask) << half | ((i >> half ^ ccw_mix(ccw_mix(seed + round) ^ (i & mask))) & mask);
  } while (i >= count);
  return i;
}

static void run_blocks(uint64_t seed)
{
  const uint32_t *grid = run.launch->grid;
  uint64_t count = (uint64_t)grid[0] * grid[1] * grid[2];
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t block = seed ? draw(i, count, seed) : i;
    run.simt.block_index[0] = (uint32_t)(block % grid[0]);
    run.simt.block_index[1] = (uint32_t)(block / grid[0] % grid[1]);
    run.simt.block_index[2] = (uint32_t)(block / grid[0] / grid[1]);
    if (!run_block()) return;
  }
}

/* Forgets the threads that were left in the middle. */
static void clean_up(void)
{
  for (uint32_t i = 0; i < used; ++i)
    if (members[i].state != IDLE) {
      members[i].state = IDLE;
      ccw_fiber_restart(&ccw_fibers[i]);
      idle[idle_count++] = i;
    }
  memset(waits, 0, sizeof waits);
  ready_count = run.waiting = 0;
}

/* A child has the thread that made it, and no launch of its own. */
static void after_fork(void)
{
  pthread_mutex_init(&lock, NULL);
  atomic_store(&has_runner, false);
  is_in_fiber = is_in_kernel = false;
  watch.exists = false;
  watch.owner = NULL;
  clean_up();
}

/* A signal that nobody else catches. */
static int free_signal(void)
{
  struct sigaction present;
  int number = SIGRTMAX;
  while (number > SIGRTMIN && (sigaction(number, NULL, &present) != 0 || present.sa_handler != SIG_DFL)) --number;
  return number;
}

static void install(void)
{
  ccw_status_free(ccw_fault_own_rest(take_rest)); /* without it a fault ends the process, as it would else */
  struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < sizeof traps / sizeof *traps; ++i) {
    sigaction(traps[i], NULL, &before_trap[i]);
    sigaction(traps[i], &action, NULL);
  }
  watch_signal = free_signal();
  action.sa_sigaction = on_time;
  action.sa_flags |= SA_RESTART;
  sigaction(watch_signal, &action, NULL);
  pthread_atfork(NULL, NULL, after_fork);
}

/* Whoever is left in a signal handler leaves the mask of signals as it was: none of these is blocked meanwhile. */
static void prepare_thread(void)
{
  static _Thread_local bool is_prepared;
  if (is_prepared) return;
  ccw_fault_prepare_thread();
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGSEGV);
  sigaddset(&signals, SIGBUS);
  for (size_t i = 0; i < sizeof traps / sizeof *traps; ++i) sigaddset(&signals, traps[i]);
  sigaddset(&signals, watch_signal);
  is_prepared = pthread_sigmask(SIG_UNBLOCK, &signals, NULL) == 0;
}

static bool prepare(const ccw_sim_launch *launch, const ccw_simt_limits *limits, ccw_simt_outcome *outcome)
{
  uint64_t threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
  run.launch = launch;
  run.outcome = outcome;
  if (threads > CCW_SIMT_THREADS) return say(0, "more than %d threads in a block", CCW_SIMT_THREADS), false;
  if (launch->shared_size > SHARED_MOST || !open_shared())
    return say(0, "no room for %zu bytes of dynamic shared memory", launch->shared_size), false;
  run.threads = (uint32_t)threads;
  run.simt = (ccw_simt){
      .struct_size = sizeof run.simt,
      .warp_size = limits->warp_size,
      .shared = shared_of(launch->shared_size),
      .barrier = barrier,
      .exchange = exchange,
      .fail = fail,
  };
  memcpy(run.simt.grid, launch->grid, sizeof run.simt.grid);
  memcpy(run.simt.block, launch->block, sizeof run.simt.block);
  fegetenv(&run.fenv);
  return true;
}

void ccw_simt_run(const ccw_sim_launch *launch, const ccw_simt_limits *limits, ccw_simt_outcome *out_outcome)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  *out_outcome = (ccw_simt_outcome){.end = CCW_SIMT_DONE};
  if (ccw_simt_is_running()) {
    out_outcome->end = CCW_SIMT_ASSERTION;
    snprintf(out_outcome->text, sizeof out_outcome->text, "a kernel waits for another launch");
    return;
  }
  pthread_once(&once, install);
  prepare_thread();
  pthread_mutex_lock(&lock);
  is_interrupted = false;
  atomic_store(&runner, pthread_self());
  atomic_store(&has_runner, true);
  if (prepare(launch, limits, out_outcome) && begin_time(limits->seconds)) {
    run_blocks(limits->seed);
    fesetenv(&run.fenv); /* whatever the kernel did to it */
  } else {
    out_outcome->end = CCW_SIMT_NO_MEMORY;
  }
  run.deadline = 0;
  if (out_outcome->end == CCW_SIMT_LATE && is_interrupted)
    snprintf(out_outcome->text, sizeof out_outcome->text, "interrupted");
  if (out_outcome->end != CCW_SIMT_DONE) clean_up();
  atomic_store(&has_runner, false);
  pthread_mutex_unlock(&lock);
}

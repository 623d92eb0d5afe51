#include "runtime/pool.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "runtime/foreign.h"

typedef struct task {
  struct task *next;
  XLA_FFI_Task *run;
  void *data;
  char name[64]; /* of the handler, cut: the call may be gone when the task runs */
} task;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static task *first, **last = &first;
static int64_t queued;                /* tasks */
static int64_t wanted, running, idle; /* threads; none are wanted before anybody has asked */

enum { MOST_THREADS = 1024 };

static int64_t default_count(void)
{
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  return processors < 1 ? 1 : processors > MOST_THREADS ? MOST_THREADS : processors;
}

/* What a thread does until it is one too many. */
static void *serve(void *nothing)
{
  (void)nothing;
  pthread_mutex_lock(&lock);
  while (running <= wanted) {
    if (!first) {
      ++idle;
      pthread_cond_wait(&work, &lock);
      --idle;
      continue;
    }
    task t = *first;
    ccw_release(first, sizeof t); /* before it runs: whoever waits for the end of what it does waits for this, too */
    first = t.next;
    if (!first) last = &first;
    --queued;
    pthread_mutex_unlock(&lock);
    ccw_foreign_task(t.run, t.data, t.name, "a task");
    pthread_mutex_lock(&lock);
  }
  --running;
  pthread_cond_signal(&work); /* the task that woke this thread is for another */
  pthread_mutex_unlock(&lock);
  return NULL;
}

/* Starts a thread. Signals are for the others: Ctrl-C has to reach whoever waits. Callers hold the lock. */
static bool start_thread(void)
{
  pthread_attr_t detached;
  pthread_t thread;
  sigset_t all, before;
  sigfillset(&all);
  sigdelset(&all, SIGSEGV); /* these are of the thread's own making */
  sigdelset(&all, SIGBUS);
  sigdelset(&all, SIGFPE);
  sigdelset(&all, SIGILL);
  sigdelset(&all, SIGABRT);
  pthread_attr_init(&detached);
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  ++running;
  bool started = pthread_create(&thread, &detached, serve, NULL) == 0;
  if (!started) --running;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&detached);
  return started;
}

/* As many as there are tasks for, and no more than wanted. An idle thread may have been woken for a task already. */
static void start_threads(void)
{
  if (wanted == 0) wanted = default_count();
  for (int64_t missing = queued - idle; missing > 0 && running < wanted; --missing)
    if (!start_thread()) return;
}

/* A child that was forked has none of the threads, and none of their tasks. A condition for which threads of the parent waited
 * would wait for them in turn. */
static void before_fork(void) { pthread_mutex_lock(&lock); }
static void after_fork(void) { pthread_mutex_unlock(&lock); }
static void in_child(void)
{
  first = NULL;
  last = &first;
  queued = running = idle = 0;
  work = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
  pthread_mutex_unlock(&lock);
}
static void watch_forks(void) { pthread_atfork(before_fork, after_fork, in_child); }

ccw_status ccw_pool_schedule(XLA_FFI_Task *run, void *data, const char *name)
{
  task *t = ccw_allocate(sizeof *t);
  if (!t) return ccw_no_memory(sizeof *t);
  t->next = NULL;
  t->run = run;
  t->data = data;
  size_t length = strnlen(name, sizeof t->name - 1);
  memcpy(t->name, name, length);
  t->name[length] = '\0';
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch_forks);
  pthread_mutex_lock(&lock);
  ++queued;
  start_threads();
  bool taken = running > 0, is_waited_for = idle > 0;
  if (taken) {
    *last = t;
    last = &t->next;
  } else {
    --queued;
  }
  pthread_mutex_unlock(&lock);
  if (taken && is_waited_for) pthread_cond_signal(&work);
  if (taken) return ccw_ok();
  ccw_release(t, sizeof *t);
  return ccw_resource_exhausted("no thread could be started");
}

int64_t ccw_pool_size(void)
{
  pthread_mutex_lock(&lock);
  if (wanted == 0) wanted = default_count();
  int64_t count = wanted;
  pthread_mutex_unlock(&lock);
  return count;
}

ccw_status ccw_pool_resize(int64_t size)
{
  if (size < 1 || size > MOST_THREADS)
    return ccw_invalid("threads: expected 1 to %d, got %lld", MOST_THREADS, (long long)size);
  pthread_mutex_lock(&lock);
  wanted = size;
  start_threads();
  pthread_cond_broadcast(&work);
  pthread_mutex_unlock(&lock);
  return ccw_ok();
}

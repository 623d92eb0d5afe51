/* Promises: what a handler in Lua returns when its work is not done yet, a future for the runtime. */
#include "jobs.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What becomes of promises that everybody has dropped. A runtime that waits for one need not run any Lua meanwhile, so that
 * nobody else would collect it: a thread does now and then, as long as promises are waited for and nothing happens to them. It
 * also completes what the collector has found, since that would not do inside of a finalizer: a runtime may go on from there. */
typedef struct sweeper {
  _Atomic int count;
  owner *owner;
  pthread_mutex_t lock;
  pthread_cond_t wake;
  int64_t pending, completed; /* promises, of those that were left to a runtime */
  promise *dropped;
  bool is_running;
} sweeper;

struct promise {
  promise *next; /* that was dropped */
  sweeper *sweeper;
  job *job; /* NULL: it was not returned yet, or the runtime knows its outcome */
  ccw_future future;
  bool is_returned, is_complete, is_dropped;
  ccw_status outcome; /* owned; of a complete one of which nobody knows */
};

static const char sweeper_key;

static void sweeper_release(sweeper *s)
{
  if (--s->count > 0) return;
  pthread_cond_destroy(&s->wake);
  pthread_mutex_destroy(&s->lock);
  owner_release(s->owner);
  free(s);
}

static void promise_free(promise *p)
{
  ccw_status_free(p->outcome);
  sweeper_release(p->sweeper);
  free(p);
}

/* ---- completion ------------------------------------------------------------------------------------------------------ */

/* Tells the runtime the outcome. That may go on with whatever waited, in this thread: nothing of Lua's may be used meanwhile. */
static ccw_status tell(promise *p)
{
  job *j = p->job;
  sweeper *s = p->sweeper;
  ccw_status status = ccw_future_complete(p->future, job_name_failure(j, p->outcome));
  pthread_mutex_lock(&s->lock);
  --s->pending;
  ++s->completed;
  pthread_cond_signal(&s->wake);
  pthread_mutex_unlock(&s->lock);
  job_release(j);
  return status;
}

/* The same for a promise that may go meanwhile. This thread owns the state. */
static ccw_status tell_given_up(promise *p)
{
  owner *o = p->job->owner;
  promise told = *p;
  told.sweeper = p->sweeper;
  ++told.sweeper->count;
  p->job->promise = NULL;
  p->job = NULL;
  p->outcome = ccw_ok();
  if (p->is_dropped) promise_free(p);
  int depth = owner_give_up(o);
  ccw_status status = tell(&told);
  owner_take_back(o, depth);
  sweeper_release(told.sweeper);
  return status;
}

/* The runtime learns of it when no call has buffers of the job's any longer. */
static ccw_status complete(promise *p, ccw_status outcome)
{
  p->is_complete = true;
  p->outcome = outcome;
  if (!p->job) return ccw_ok(); /* whoever returns it will see */
  job_end_loans(p->job);
  return p->job->uses == 0 ? tell_given_up(p) : ccw_ok();
}

ccw_status promise_finish(promise *p, ccw_status outcome)
{
  if (p->is_complete) return outcome;
  ccw_status_free(complete(p, outcome));
  return ccw_ok();
}

void promise_unused(promise *p)
{
  if (p->is_complete) ccw_status_free(tell_given_up(p));
}

/* ---- the sweeper ----------------------------------------------------------------------------------------------------- */

static void collect(owner *o)
{
  if (!owner_enter(o)) return;
  lua_State *thread = owner_borrow_thread(o);
  if (thread) {
    lua_gc(thread, LUA_GCCOLLECT);
    owner_return_thread(o, thread);
  }
  owner_leave(o);
}

/* Waits for that many seconds, or until something was completed or dropped. */
static void doze(sweeper *s, double seconds)
{
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  int64_t nanoseconds = at.tv_nsec + (int64_t)(seconds * 1e9);
  at.tv_sec += nanoseconds / 1000000000;
  at.tv_nsec = nanoseconds % 1000000000;
  pthread_cond_timedwait(&s->wake, &s->lock, &at);
}

static void *sweep(void *context)
{
  const double shortest = 0.05, longest = 2;
  sweeper *s = context;
  double delay = shortest;
  pthread_mutex_lock(&s->lock);
  while (s->pending > 0) {
    promise *p = s->dropped;
    int64_t completed = s->completed;
    if (p) {
      s->dropped = p->next;
      pthread_mutex_unlock(&s->lock);
      ccw_status_free(tell(p));
      p->outcome = ccw_ok();
      promise_free(p);
      pthread_mutex_lock(&s->lock);
      continue;
    }
    doze(s, delay);
    delay = s->completed != completed ? shortest : delay < longest / 2 ? 2 * delay : longest;
    if (s->dropped || s->completed != completed) continue;
    pthread_mutex_unlock(&s->lock);
    collect(s->owner);
    pthread_mutex_lock(&s->lock);
  }
  s->is_running = false;
  pthread_mutex_unlock(&s->lock);
  sweeper_release(s);
  return NULL;
}

/* One more promise is waited for. The thread takes no signals: Ctrl-C has to reach whoever waits. */
static void expect(sweeper *s)
{
  pthread_mutex_lock(&s->lock);
  ++s->pending;
  if (!s->is_running) {
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    ++s->count;
    s->is_running = pthread_create(&thread, NULL, sweep, s) == 0;
    if (s->is_running)
      pthread_detach(thread);
    else
      --s->count;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
  }
  pthread_mutex_unlock(&s->lock);
}

/* ---- the handler's return -------------------------------------------------------------------------------------------- */

static ccw_status take_outcome(promise *p)
{
  ccw_status outcome = p->outcome;
  p->outcome = ccw_ok();
  return outcome;
}

ccw_status return_promise(lua_State *L, int index, int boxes)
{
  job *j = current_invocation->job;
  promise *p = check_box(L, index, CCW_PROMISE);
  if (p->is_returned) return ccw_failed_precondition("returned a promise that was returned before");
  p->is_returned = true;
  job_end_scratch(j); /* which may take a while */
  if (p->is_complete) return take_outcome(p);
  if (j->failure.code) return ccw_ok(); /* of a task: it is the handler's */
  CCW_TRY(ccw_future_create(j->frame, &p->future));
  lua_pushvalue(L, boxes);
  lua_setiuservalue(L, index, 1);
  p->job = job_retain(j);
  j->promise = p;
  expect(p->sweeper);
  return ccw_ok();
}

/* ---- promise --------------------------------------------------------------------------------------------------------- */

/* ccw.promise() -> promise. What a handler in Lua returns when its work is not done yet: `local p = ccw.promise() ... return p`. The
 * handler's operands and results may be used until p:complete(), which any later Lua may call: a task of threads:run, another handler,
 * whoever has started the call. A promise that everybody has dropped is completed with an error, ABORTED. To whoever has
 * called the handler it is a future: ?future. */
static int promise_new(lua_State *L)
{
  lua_rawgetp(L, LUA_REGISTRYINDEX, &sweeper_key);
  sweeper *s = *(sweeper **)lua_touserdata(L, -1);
  if (!s) return luaL_error(L, "this Lua state is being closed");
  void **box = new_box(L, CCW_PROMISE);
  promise *p = calloc(1, sizeof *p);
  if (!p) return luaL_error(L, "not enough memory");
  p->sweeper = s;
  ++s->count;
  p->outcome = ccw_ok();
  *box = p;
  return 1;
}

/* promise:complete([err]). Completes the call: with success, or with an error, an error object, whose code stays, or a text, INTERNAL. The
 * operands and results of the handler end with that. Once: FAILED_PRECONDITION. */
static int promise_complete(lua_State *L)
{
  promise *p = check_box(L, 1, CCW_PROMISE);
  bool is_good = lua_isnoneornil(L, 2) || (lua_isboolean(L, 2) && lua_toboolean(L, 2));
  if (!is_good && lua_type(L, 2) != LUA_TSTRING && !is_error(L, 2))
    return luaL_argerror(L, 2, lua_pushfstring(L, "expected nothing, or an error, got %s", kind_name(L, 2)));
  if (p->is_complete) return raise_status(L, ccw_failed_precondition("the promise is complete already"), NULL, NULL);
  CHECK_STATUS(L, complete(p, is_good ? ccw_ok() : status_of(L, 2, XLA_FFI_Error_Code_INTERNAL, "")));
  return 0;
}

static int promise_tostring(lua_State *L)
{
  const promise *p = check_box(L, 1, CCW_PROMISE);
  lua_pushfstring(L, "promise: %s",
      p->is_complete   ? "complete"
      : p->is_returned ? "returned, not complete"
                       : "not complete");
  return 1;
}

static int promise_gc(lua_State *L)
{
  void **box = lua_touserdata(L, 1);
  promise *p = *box;
  *box = NULL;
  if (!p) return 0;
  p->is_dropped = true;
  if (!p->job) {
    promise_free(p);
    return 0;
  }
  if (!p->is_complete) {
    p->is_complete = true;
    p->outcome = ccw_aborted("everybody has dropped its promise, and nobody has completed it");
    job_end_loans(p->job);
  }
  if (p->job->uses > 0) return 0; /* whoever uses its buffers sees to it */
  p->job->promise = NULL;
  sweeper *s = p->sweeper;
  pthread_mutex_lock(&s->lock);
  bool is_running = s->is_running;
  if (is_running) {
    p->next = s->dropped;
    s->dropped = p;
    pthread_cond_signal(&s->wake);
  }
  pthread_mutex_unlock(&s->lock);
  if (is_running) return 0;
  ccw_status_free(tell(p)); /* no thread could be started */
  p->outcome = ccw_ok();
  promise_free(p);
  return 0;
}

static int sweeper_gc(lua_State *L)
{
  sweeper **box = lua_touserdata(L, 1);
  if (*box) sweeper_release(*box);
  *box = NULL;
  return 0;
}

void open_promises(lua_State *L)
{
  static const luaL_Reg metamethods[] = {{"__gc", promise_gc}, {"__tostring", promise_tostring}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"complete", promise_complete}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"promise", promise_new}, {NULL, NULL}};
  sweeper **box = lua_newuserdatauv(L, sizeof *box, 0);
  *box = NULL;
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, sweeper_gc);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &sweeper_key);
  sweeper *s = calloc(1, sizeof *s);
  if (!s) luaL_error(L, "not enough memory");
  s->count = 1;
  s->owner = owner_retain(owner_of(L));
  pthread_mutex_init(&s->lock, NULL);
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&s->wake, &monotonic);
  pthread_condattr_destroy(&monotonic);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &sweeper_key);
  *(sweeper **)lua_touserdata(L, -1) = s;
  lua_pop(L, 1);
  new_kind(L, CCW_PROMISE, metamethods, methods);
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}

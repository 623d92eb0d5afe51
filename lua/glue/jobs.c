#include "jobs.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

_Thread_local invocation *current_invocation;

lua_State *running_in_lua(void)
{
  const char *doing;
  const invocation *call = current_invocation;
  return call && ccw_call_running(&doing) == call->name ? call->thread : NULL;
}

/* ---- invocations ----------------------------------------------------------------------------------------------------- */

enum { MOST_DEPTH = 50 };

/* Whether this thread has stack left for another handler: each may use as much C stack as Lua allows a program. */
static bool has_stack(void)
{
  static _Thread_local char *lowest; /* that may be used; NULL: not asked yet */
  enum { NEEDED = 768 << 10 };
  if (!lowest) {
    pthread_attr_t attributes;
    void *start = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return true;
    pthread_attr_getstack(&attributes, &start, &size);
    pthread_attr_destroy(&attributes);
    lowest = (char *)start + (size / 2 < NEEDED ? size / 2 : NEEDED);
  }
  return (char *)__builtin_frame_address(0) > lowest;
}

ccw_status invocation_begin(job *j, bool is_task, invocation *out_call)
{
  invocation *outer = current_invocation;
  *out_call = (invocation){.job = j, .is_task = is_task, .outer = outer, .depth = outer ? outer->depth + 1 : 1};
  if (out_call->depth > MOST_DEPTH) return ccw_resource_exhausted("more than %d handlers in each other", MOST_DEPTH);
  if (!has_stack()) return ccw_resource_exhausted("too little of the stack is left for a handler in Lua");
  return ccw_ok();
}

void invocation_run(invocation *call, lua_CFunction function, int arguments)
{
  const char *doing;
  lua_State *thread = call->thread;
  int bottom = lua_gettop(thread) - arguments + 1;
  lua_pushcfunction(thread, on_error);
  lua_insert(thread, bottom);
  lua_pushcfunction(thread, function);
  lua_insert(thread, bottom + 1);
  call->name = ccw_call_running(&doing);
  current_invocation = call;
  int how = lua_pcall(thread, arguments, 0, bottom);
  current_invocation = call->outer;
  if (how == LUA_OK || call->status.code) return;
  if (how == LUA_ERRMEM)
    call->status = ccw_resource_exhausted("not enough memory");
  else
    call->status = ccw_unknown("an error in the handling of an error");
}

/* ---- jobs ------------------------------------------------------------------------------------------------------------ */

job *job_new(owner *o, const char *name, XLA_FFI_CallFrame *frame)
{
  job *j = malloc(sizeof *j);
  if (!j) return NULL;
  *j = (job){.count = 1, .owner = owner_retain(o), .stage = frame->stage, .frame = frame, .scratch = {.frame = frame}};
  j->last = &j->first;
  size_t length = strlen(name), most = sizeof j->name - 1;
  memcpy(j->name, name, length < most ? length : most);
  return j;
}

job *job_retain(job *j)
{
  ++j->count;
  return j;
}

void job_release(job *j)
{
  if (--j->count > 0) return;
  ccw_status_free(j->failure);
  owner_release(j->owner);
  free(j);
}

ccw_status job_name_failure(const job *j, ccw_status status)
{
  if (!status.code) return status;
  ccw_status named =
      ccw_status_make(status.code, "%s: %s: %s", j->name, ccw_name_of_stage_((int)j->stage), ccw_status_text(status));
  ccw_status_free(status);
  return named;
}

/* What others wait for has changed, in whatever job: few wait. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static uint64_t changes;

static void announce_change(void)
{
  pthread_mutex_lock(&lock);
  ++changes;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

/* Gives the state up until something has changed. While this thread owned it nothing has. */
static void await_change(owner *o)
{
  pthread_mutex_lock(&lock);
  uint64_t seen = changes;
  pthread_mutex_unlock(&lock);
  int depth = owner_give_up(o);
  pthread_mutex_lock(&lock);
  while (changes == seen) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
  owner_take_back(o, depth);
}

/* ---- loans ----------------------------------------------------------------------------------------------------------- */

void job_lend(lua_State *L, job *j, ccw_device *device, const ccw_shape *shape, void *memory, const char *label,
    bool read_only, int boxes)
{
  void **box = new_box(L, CCW_BUFFER);
  if (j->lent_count == j->lent_room) {
    int room = j->lent_room * 2 + 8;
    lent *more = realloc(j->lent, (size_t)room * sizeof *more);
    if (!more) luaL_error(L, "not enough memory");
    j->lent = more;
    j->lent_room = room;
  }
  if (boxes) {
    lua_pushvalue(L, -1);
    lua_rawseti(L, boxes, j->lent_count + 1);
  }
  ccw_buffer *buffer;
  ccw_status status = ccw_buffer_lend(device, shape, memory, label, read_only, j, &buffer);
  if (status.code) raise_status(L, status, NULL, NULL);
  *box = ccw_buffer_retain(buffer);
  j->lent[j->lent_count++] = (lent){buffer, boxes ? box : NULL};
}

static void end_loans_from(job *j, int first)
{
  for (int i = first; i < j->lent_count; ++i) {
    lent *l = &j->lent[i];
    ccw_buffer_recall(l->buffer); /* views of it may live on */
    if (l->box) {
      if (*l->box) ccw_buffer_release(l->buffer);
      l->box[0] = NULL;
      l->box[1] = l->box; /* tells check_buffer why */
    }
    ccw_buffer_release(l->buffer);
  }
  j->lent_count = first;
}

void job_end_loans(job *j)
{
  end_loans_from(j, 0);
  free(j->lent);
  j->lent = NULL;
  j->lent_room = 0;
}

/* A call that this thread runs, a task of which it runs, or one that is left to whoever completes its promise. */
void check_lender(lua_State *L, const ccw_loan *loan)
{
  for (const invocation *call = current_invocation; call; call = call->outer)
    if (call->job == loan->lender) return;
  if (((const job *)loan->lender)->promise) return;
  luaL_error(L, "%s: it belongs to a call on another thread; keep its copy()", loan->label);
}

void hold_lender(void *lender)
{
  job *j = job_retain(lender);
  ++j->uses;
}

void let_go_of_lender(void *lender)
{
  job *j = lender;
  if (--j->uses == 0) {
    announce_change();
    if (j->promise) promise_unused(j->promise);
  }
  job_release(j);
}

/* ---- scratch memory -------------------------------------------------------------------------------------------------- */

static void push_of_job(lua_State *L, const char *kind, job *j)
{
  void **box = new_box(L, kind);
  *box = job_retain(j);
}

static int of_job_gc(lua_State *L)
{
  void **box = lua_touserdata(L, 1);
  if (*box) job_release(*box);
  *box = NULL;
  return 0;
}

/* The job of what stands at 1, whose function runs still. */
static job *check_running(lua_State *L, const char *kind)
{
  job *j = check_box(L, 1, kind);
  if (!j->frame) luaL_error(L, "%s: the handler that got this has returned", kind + 4);
  return j;
}

void push_scratch(lua_State *L, job *j) { push_of_job(L, CCW_SCRATCH, j); }

/* scratch:take(type) -> buffer. Memory of that type, with arbitrary content, until the handler's function returns. A runtime may have
 * none: XLA has none on the CPU. */
static int scratch_take(lua_State *L)
{
  enum { ALIGNMENT = 16 }; /* the highest that XLA has */
  job *j = check_running(L, CCW_SCRATCH);
  const ccw_shape *shape = check_shape(L, 2);
  void *memory;
  CHECK_STATUS(L, ccw_scratch_take(&j->scratch, (size_t)shape->bytes, ALIGNMENT, &memory));
  job_lend(L, j, ccw_frame_device(j->frame), shape, memory, "scratch", false, 0);
  return 1;
}

void job_end_scratch(job *j)
{
  if (j->scratch.count == 0) return;
  while (j->uses > 0) await_change(j->owner);
  int kept = 0;
  for (int i = 0; i < j->lent_count; ++i) { /* what has no box is scratch memory: to the end with it */
    lent l = j->lent[i];
    if (!l.box) continue;
    j->lent[i] = j->lent[kept];
    j->lent[kept++] = l;
  }
  end_loans_from(j, kept);
  ccw_scratch_free_(&j->scratch);
}

/* ---- tasks ----------------------------------------------------------------------------------------------------------- */

/* The pool holds it and, until it begins, its job's list. */
struct task {
  _Atomic int count;
  _Atomic bool is_taken;
  task *next;
  job *job;
  int function; /* in the registry */
};

static void task_release(task *t)
{
  if (--t->count > 0) return;
  job_release(t->job);
  free(t);
}

/* Takes it off the list, and off whoever else would run it. False where it has begun. */
static bool take_task(task *t)
{
  task **at = &t->job->first;
  while (*at && *at != t) at = &(*at)->next;
  if (!*at) return false;
  *at = t->next;
  if (!*at) t->job->last = at;
  t->is_taken = true;
  return true;
}

/* In the thread of Lua's, protected: calls the function at 1. */
static int run_task(lua_State *L)
{
  lua_call(L, 0, LUA_MULTRET);
  current_invocation->status = outcome(L, 1);
  return 0;
}

/* A failure of a task is its call's: the handler's while that runs, the promise's afterwards. */
static void fail(lua_State *L, job *j, ccw_status status)
{
  if (j->promise) status = promise_finish(j->promise, status);
  if (!status.code) return;
  if (j->frame && !j->failure.code) {
    j->failure = status;
    return;
  }
  lua_warning(L, "ccw: ", 1);
  lua_warning(L, j->name, 1);
  lua_warning(L, ": a task failed: ", 1);
  lua_warning(L, ccw_status_text(status), 0);
  ccw_status_free(status);
}

/* Runs a task that was taken. */
static void perform(task *t)
{
  job *j = t->job;
  invocation call;
  ++j->begun;
  ccw_status status = invocation_begin(j, true, &call);
  lua_State *main = owner_main(j->owner);
  call.thread = status.code ? NULL : owner_borrow_thread(j->owner);
  if (call.thread) {
    lua_rawgeti(call.thread, LUA_REGISTRYINDEX, t->function);
    luaL_unref(main, LUA_REGISTRYINDEX, t->function);
    invocation_run(&call, run_task, 1);
    owner_return_thread(j->owner, call.thread);
    status = call.status;
  } else {
    luaL_unref(main, LUA_REGISTRYINDEX, t->function);
    if (!status.code) status = ccw_resource_exhausted("not enough memory");
  }
  if (status.code) fail(main, j, status);
  --j->begun;
  announce_change();
}

/* On a thread of the pool, or wherever the runtime runs it. */
static void enter_task(void *data)
{
  task *t = data;
  owner *o = owner_retain(t->job->owner);
  if (!t->is_taken && owner_enter(o)) {
    if (take_task(t)) {
      perform(t);
      task_release(t);
    }
    owner_leave(o);
  }
  task_release(t);
  owner_release(o);
}

void job_finish_tasks(job *j, bool has_failed)
{
  for (;;) {
    task *t = j->first;
    if (t && take_task(t)) {
      if (has_failed)
        luaL_unref(owner_main(j->owner), LUA_REGISTRYINDEX, t->function);
      else
        perform(t);
      task_release(t);
    } else if (j->begun > 0) {
      await_change(j->owner);
    } else {
      return;
    }
  }
}

void push_threads(lua_State *L, job *j) { push_of_job(L, CCW_THREADS, j); }

/* threads:run(f). Has f() run once, on a thread of the runtime's pool: one function of Lua's runs at a time, but calls of handlers in C run
 * beside each other. The handler's function does not return before its tasks have: those that have not begun by then it runs itself. A
 * promise that it returns leaves them to the pool. What f raises, or returns as an error, fails the call, or the promise. */
static int threads_run(lua_State *L)
{
  job *j = check_running(L, CCW_THREADS);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  int function = luaL_ref(L, LUA_REGISTRYINDEX);
  task *t = malloc(sizeof *t);
  if (!t) {
    luaL_unref(L, LUA_REGISTRYINDEX, function);
    return luaL_error(L, "not enough memory");
  }
  *t = (task){.count = 2, .job = job_retain(j), .function = function};
  *j->last = t;
  j->last = &t->next;
  ccw_threads_run((ccw_threads){j->frame->api, j->frame->ctx}, enter_task, t);
  return 0;
}

/* threads:wait(). Runs the tasks that have not begun, waits for the others, and raises what the first of them that failed has raised. For the
 * handler's function itself. */
static int threads_wait(lua_State *L)
{
  job *j = check_running(L, CCW_THREADS);
  const invocation *call = current_invocation;
  if (!call || call->job != j || call->is_task)
    return luaL_error(L, "threads: it is the handler's function that waits for its tasks");
  job_finish_tasks(j, false);
  ccw_status failure = j->failure;
  j->failure = ccw_ok();
  return failure.code ? raise_status(L, failure, NULL, NULL) : 0;
}

/* The field count, and the methods. */
static int threads_index(lua_State *L)
{
  if (lua_type(L, 2) == LUA_TSTRING && strcmp(lua_tostring(L, 2), "count") == 0) {
    const job *j = check_running(L, CCW_THREADS);
    lua_pushinteger(L, ccw_threads_count((ccw_threads){j->frame->api, j->frame->ctx}));
  } else {
    lua_pushvalue(L, 2);
    lua_rawget(L, lua_upvalueindex(1));
  }
  return 1;
}

void open_jobs(lua_State *L)
{
  static const luaL_Reg metamethods[] = {{"__gc", of_job_gc}, {NULL, NULL}};
  static const luaL_Reg of_scratch[] = {{"take", scratch_take}, {NULL, NULL}};
  static const luaL_Reg of_threads[] = {{"run", threads_run}, {"wait", threads_wait}, {NULL, NULL}};
  new_kind(L, CCW_SCRATCH, metamethods, of_scratch);
  new_kind(L, CCW_THREADS, metamethods, NULL);
  luaL_newlib(L, of_threads);
  lua_pushcclosure(L, threads_index, 1);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 2);
}

/* Who may use a Lua state: one thread at a time. */
#include "glue.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

struct owner {
  _Atomic int count;
  _Atomic uintptr_t thread; /* the thread that owns the state; 0: nobody */
  _Atomic int waiting;      /* threads that wait for it */
  pthread_mutex_t lock;     /* of the waiting */
  pthread_cond_t free;
  int depth;        /* how often it is owned */
  lua_State *main;  /* NULL: the state is closed */
  lua_State **idle; /* threads of Lua's to run handlers in; all of them are kept in the registry */
  int idle_count, idle_room;
};

static const char owner_key;

owner *owner_retain(owner *o)
{
  ++o->count;
  return o;
}

void owner_release(owner *o)
{
  if (--o->count > 0) return;
  pthread_cond_destroy(&o->free);
  pthread_mutex_destroy(&o->lock);
  free(o->idle);
  free(o);
}

void push_owner(lua_State *L) { lua_rawgetp(L, LUA_REGISTRYINDEX, &owner_key); }

owner *owner_in(lua_State *L, int index)
{
  owner *o = *(owner **)lua_touserdata(L, index);
  if (!o) luaL_error(L, "this Lua state is being closed"); /* a finalizer that runs after ours */
  return o;
}

owner *owner_of(lua_State *L)
{
  push_owner(L);
  owner *o = owner_in(L, -1);
  lua_pop(L, 1);
  return o;
}

static uintptr_t self(void) { return (uintptr_t)pthread_self(); }

static bool is_mine(const owner *o) { return atomic_load_explicit(&o->thread, memory_order_relaxed) == self(); }

static bool try_to_take(owner *o)
{
  uintptr_t nobody = 0;
  return atomic_compare_exchange_strong(&o->thread, &nobody, self());
}

/* Whoever waits says so before it looks again, and whoever lets go looks for that afterwards: one of them sees the other. */
static void take(owner *o)
{
  if (try_to_take(o)) return;
  pthread_mutex_lock(&o->lock);
  ++o->waiting;
  while (!try_to_take(o)) pthread_cond_wait(&o->free, &o->lock);
  --o->waiting;
  pthread_mutex_unlock(&o->lock);
}

static void let_go(owner *o)
{
  atomic_store(&o->thread, 0);
  if (atomic_load(&o->waiting) == 0) return;
  pthread_mutex_lock(&o->lock);
  pthread_cond_signal(&o->free);
  pthread_mutex_unlock(&o->lock);
}

int owner_give_up(owner *o)
{
  if (!is_mine(o)) return 0;
  int depth = o->depth;
  o->depth = 0;
  let_go(o);
  return depth;
}

void owner_take_back(owner *o, int depth)
{
  if (depth == 0) return;
  take(o);
  o->depth = depth;
  if (o->main) return;
  owner_give_up(o); /* os.exit in a handler on another thread has closed the state: nothing is left to go back to */
  for (;;) pause();
}

bool owner_enter(owner *o)
{
  if (!is_mine(o)) take(o);
  if (o->main) {
    ++o->depth;
    return true;
  }
  if (o->depth == 0) let_go(o);
  return false;
}

void owner_leave(owner *o)
{
  if (--o->depth == 0) let_go(o);
}

lua_State *owner_main(const owner *o) { return o->main; }

/* ---- threads of Lua's ---------------------------------------------------------------------------------------------- */

/* Makes a thread, keeps it in the registry, and pushes it. */
static int make_thread(lua_State *L)
{
  luaL_getsubtable(L, LUA_REGISTRYINDEX, "ccw.coroutines");
  lua_State *thread = lua_newthread(L);
  lua_rawsetp(L, -2, thread);
  lua_pushlightuserdata(L, thread);
  return 1;
}

/* The state's main thread may be in the middle of something that waits: it is left as it was. */
lua_State *owner_borrow_thread(owner *o)
{
  if (o->idle_count > 0) return o->idle[--o->idle_count];
  lua_State *L = o->main, *thread = NULL;
  if (!lua_checkstack(L, 2)) return NULL;
  lua_pushcfunction(L, make_thread);
  if (lua_pcall(L, 0, 1, 0) == LUA_OK) thread = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return thread;
}

void owner_return_thread(owner *o, lua_State *thread)
{
  lua_settop(thread, 0);
  lua_sethook(thread, NULL, 0, 0); /* an interrupt that came too late */
  if (o->idle_count == o->idle_room) {
    int room = o->idle_room * 2 + 4;
    lua_State **idle = realloc(o->idle, (size_t)room * sizeof *idle);
    if (!idle) return; /* the state frees the thread at its end */
    o->idle = idle;
    o->idle_room = room;
  }
  o->idle[o->idle_count++] = thread;
}

/* ---- interrupts ------------------------------------------------------------------------------------------------------ */

hooks hooks_of(lua_State *L, const owner *o) { return (hooks){lua_gethook(L), lua_gethook(o->main)}; }

bool is_interrupted(lua_State *L, const owner *o, hooks before)
{
  hooks now = hooks_of(L, o);
  return now.own != before.own || now.main != before.main;
}

/* ---- the module ---------------------------------------------------------------------------------------------------- */

/* The state ends: handlers in it fail from now on. */
static int owner_gc(lua_State *L)
{
  owner **box = lua_touserdata(L, 1);
  if (!*box) return 0;
  (*box)->main = NULL;
  owner_give_up(*box);
  owner_release(*box);
  *box = NULL;
  return 0;
}

/* give_up(). Says that this thread has no more use for Lua, so that others may run handlers in it: for a program that has
 * loaded Lua to define handlers, as its last word. */
static int give_up(lua_State *L)
{
  owner_give_up(owner_of(L));
  return 0;
}

void open_owner(lua_State *L)
{
  static const luaL_Reg functions[] = {{"give_up", give_up}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
  owner **box = lua_newuserdatauv(L, sizeof *box, 0);
  *box = NULL;
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, owner_gc);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &owner_key);

  owner *o = calloc(1, sizeof *o);
  if (!o) luaL_error(L, "not enough memory");
  o->count = 1;
  pthread_mutex_init(&o->lock, NULL);
  pthread_cond_init(&o->free, NULL);
  o->thread = self();
  o->depth = 1;
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  o->main = lua_tothread(L, -1);
  lua_pop(L, 1);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &owner_key);
  *(owner **)lua_touserdata(L, -1) = o;
  lua_pop(L, 1);
}

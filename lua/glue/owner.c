/* Who may use a Lua state: one thread at a time. */
#include "glue.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct owner {
  _Atomic int count;
  pthread_mutex_t lock;
  pthread_cond_t free;
  pthread_t thread; /* the owner, while depth is above 0 */
  int depth;        /* how often it owns it */
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

owner *owner_of(lua_State *L)
{
  lua_rawgetp(L, LUA_REGISTRYINDEX, &owner_key);
  owner *o = *(owner **)lua_touserdata(L, -1);
  lua_pop(L, 1);
  return o;
}

int owner_give_up(owner *o)
{
  pthread_mutex_lock(&o->lock);
  int depth = o->depth > 0 && pthread_equal(o->thread, pthread_self()) ? o->depth : 0;
  if (depth > 0) {
    o->depth = 0;
    pthread_cond_signal(&o->free);
  }
  pthread_mutex_unlock(&o->lock);
  return depth;
}

void owner_take_back(owner *o, int depth)
{
  if (depth == 0) return;
  pthread_mutex_lock(&o->lock);
  while (o->depth > 0) pthread_cond_wait(&o->free, &o->lock);
  o->thread = pthread_self();
  o->depth = depth;
  pthread_mutex_unlock(&o->lock);
}

bool owner_enter(owner *o)
{
  pthread_mutex_lock(&o->lock);
  bool mine = o->depth > 0 && pthread_equal(o->thread, pthread_self());
  while (!mine && o->depth > 0) pthread_cond_wait(&o->free, &o->lock);
  bool open = o->main != NULL;
  if (open) {
    o->thread = pthread_self();
    ++o->depth;
  } else {
    pthread_cond_signal(&o->free); /* others wait to hear the same */
  }
  pthread_mutex_unlock(&o->lock);
  return open;
}

void owner_leave(owner *o)
{
  pthread_mutex_lock(&o->lock);
  if (--o->depth == 0) pthread_cond_signal(&o->free);
  pthread_mutex_unlock(&o->lock);
}

lua_State *owner_main(const owner *o) { return o->main; }

/* ---- threads of Lua's ---------------------------------------------------------------------------------------------- */

/* Makes a thread, keeps it in the registry, and pushes it. */
static int make_thread(lua_State *L)
{
  luaL_getsubtable(L, LUA_REGISTRYINDEX, "ccw.threads");
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

/* ---- the module ---------------------------------------------------------------------------------------------------- */

/* The state ends: handlers in it fail from now on. */
static int owner_gc(lua_State *L)
{
  owner **box = lua_touserdata(L, 1);
  if (!*box) return 0;
  pthread_mutex_lock(&(*box)->lock);
  (*box)->main = NULL;
  (*box)->depth = 0;
  pthread_cond_signal(&(*box)->free);
  pthread_mutex_unlock(&(*box)->lock);
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
  o->thread = pthread_self();
  o->depth = 1;
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  o->main = lua_tothread(L, -1);
  lua_pop(L, 1);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &owner_key);
  *(owner **)lua_touserdata(L, -1) = o;
  lua_pop(L, 1);
}

/* Ctrl-C ends what Lua is doing, as in the stock interpreter, and in coroutines too. What it cannot end, C that does not return,
 * it names; a second one asks at a terminal whether the program is to end, and ends it elsewhere. */
#include "program.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "glue/glue.h"

/* A Lua thread that runs, on the C stack of who runs it. */
typedef struct level {
  struct level *outer; /* who resumed it */
  lua_State *L;
  lua_Hook hook; /* its own: coverage and debuggers have one */
  int mask, count;
} level;

static _Thread_local level *volatile innermost;
static pthread_t prompt; /* the thread that can be interrupted */

/* Whether Ctrl-C came since something was stopped; how often in this run; raises that are to come. Each has one raise more than that
 * before, whose error may have been caught. */
static volatile sig_atomic_t is_asked, presses, left;

static void on_interrupt(int number);
static void stop(lua_State *L, lua_Debug *event);

/* ---- what runs ------------------------------------------------------------------------------------------------------- */

static void restore_hook(const level *l) { lua_sethook(l->L, l->hook, l->mask, l->count); }

static void enter(level *l, lua_State *L)
{
  *l = (level){innermost, L, lua_gethook(L), lua_gethookmask(L), lua_gethookcount(L)};
  innermost = l;
}

static void leave(const level *l)
{
  innermost = l->outer;
  if (lua_gethook(l->L) == stop) restore_hook(l); /* an interrupt that came too late */
}

/* Gives a thread the hook back that it had. */
static void release(lua_State *L)
{
  const level *l = innermost;
  while (l && l->L != L) l = l->outer;
  if (l)
    restore_hook(l);
  else
    lua_sethook(L, NULL, 0, 0); /* a handler's */
}

/* The hook of a thread that is to stop. The last time it is taken away first: what handles the error runs on. A place in ccw's own
 * modules says nothing. */
static void stop(lua_State *L, lua_Debug *event)
{
  left = left - 1;
  if (left <= 0) release(L);
  is_asked = 0;
  lua_getinfo(L, "Sl", event);
  if (event->currentline > 0 && strncmp(event->source, "=ccw.", 5) != 0)
    lua_pushfstring(L, "%s:%d: interrupted", event->short_src, event->currentline);
  else
    lua_pushliteral(L, "interrupted");
  lua_error(L);
}

/* All of them: one alone might be resumed, or caught, for ever by those around it. */
static void stop_all(void)
{
  const int mask = LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT;
  lua_State *handler = running_in_lua();
  for (const level *l = innermost; l; l = l->outer) lua_sethook(l->L, stop, mask, 1);
  if (handler) lua_sethook(handler, stop, mask, 1);
}

/* ---- the signal ------------------------------------------------------------------------------------------------------ */

void say(const char *text)
{
  ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
  (void)ignored;
}

/* Whether somebody is there to answer. */
static bool is_at_terminal(void)
{
  return isatty(STDIN_FILENO) && isatty(STDERR_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp();
}

static bool read_yes(void)
{
  char first = '\0', next;
  while (read(STDIN_FILENO, &next, 1) == 1 && next != '\n')
    if (!first && next != ' ') first = next;
  return first == 'y' || first == 'Y';
}

/* Asks whether the program is to end. Ctrl-C is an answer, too. What was typed before the question is none. */
static bool is_to_end(int number, const char *name)
{
  sigset_t numbers;
  sigemptyset(&numbers);
  sigaddset(&numbers, number);
  tcflush(STDIN_FILENO, TCIFLUSH);
  say("\nccw: ");
  say(name ? name : "what was called");
  say(" has not returned. End ccw, and this session with it? [y/N] ");
  signal(number, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &numbers, NULL);
  if (read_yes()) return true;
  pthread_sigmask(SIG_BLOCK, &numbers, NULL);
  signal(number, on_interrupt);
  say("ccw: waiting for ");
  say(name ? name : "what was called");
  say("\n");
  return false;
}

static void end(int number)
{
  signal(number, SIG_DFL);
  raise(number); /* when this handler returns, at the latest */
}

static void on_interrupt(int number)
{
  if (!pthread_equal(pthread_self(), prompt)) {
    pthread_kill(prompt, number);
    return;
  }
  int error = errno;
  const char *doing, *name = ccw_call_running(&doing);
  bool is_stuck = !ccw_device_interrupt() && name && !running_in_lua(), is_first = !is_asked;
  is_asked = 1;
  presses = presses + 1;
  left = presses;
  if (!is_first && (!is_at_terminal() || is_to_end(number, name))) end(number);
  if (is_first && is_stuck) {
    say("\nccw: ");
    say(name);
    say(is_at_terminal() ? " is still running; Ctrl-C again asks whether to end ccw\n"
                         : " is still running; Ctrl-C again ends ccw\n");
  }
  stop_all();
  errno = error;
}

/* interruptible(handler, f, ...) -> results of f. Raises what the message handler makes of an error. While f runs, Ctrl-C
 * raises "interrupted" in it, and in the coroutines that it runs. */
static int interruptible(lua_State *L)
{
  level here;
  enter(&here, L);
  is_asked = presses = 0;
  prompt = pthread_self();
  void (*before)(int) = signal(SIGINT, on_interrupt);
  int status = lua_pcall(L, lua_gettop(L) - 2, LUA_MULTRET, 1);
  signal(SIGINT, before);
  leave(&here);
  is_asked = presses = 0;
  return status == LUA_OK ? lua_gettop(L) - 1 : lua_error(L);
}

/* ---- coroutines: resume and wrap of Lua's, which say what they run ------------------------------------------------------ */

/* Resumes with the arguments on the top of L, and leaves the results there, whose number it gives; -1 where they are one error. */
static int resume(lua_State *L, lua_State *coroutine, int arguments)
{
  level here;
  int results = 0;
  if (!lua_checkstack(coroutine, arguments)) {
    lua_pushliteral(L, "too many arguments to resume");
    return -1;
  }
  lua_xmove(L, coroutine, arguments);
  enter(&here, coroutine);
  int status = lua_resume(coroutine, L, arguments, &results);
  leave(&here);
  if (status != LUA_OK && status != LUA_YIELD) {
    lua_xmove(coroutine, L, 1);
    return -1;
  }
  if (!lua_checkstack(L, results + 1)) {
    lua_pop(coroutine, results);
    lua_pushliteral(L, "too many results to resume");
    return -1;
  }
  lua_xmove(coroutine, L, results);
  return results;
}

static int coroutine_resume(lua_State *L)
{
  lua_State *coroutine = lua_tothread(L, 1);
  if (!coroutine) return luaL_typeerror(L, 1, "coroutine");
  int results = resume(L, coroutine, lua_gettop(L) - 1), count = results < 0 ? 1 : results;
  lua_pushboolean(L, results >= 0);
  lua_insert(L, -1 - count);
  return 1 + count;
}

/* What wrap gives: raises what goes wrong, as an error of the caller's. */
static int call_wrapped(lua_State *L)
{
  lua_State *coroutine = lua_tothread(L, lua_upvalueindex(1));
  int results = resume(L, coroutine, lua_gettop(L));
  if (results >= 0) return results;
  int status = lua_status(coroutine);
  if (left <= 0 && lua_gethook(L) == stop) release(L); /* the interrupt has been raised, and goes on as this error */
  if (status != LUA_OK && status != LUA_YIELD) { /* it is over: its variables are closed, which may be another error */
    lua_resetthread(coroutine);
    lua_xmove(coroutine, L, 1);
  }
  if (status != LUA_ERRMEM && lua_type(L, -1) == LUA_TSTRING) {
    luaL_where(L, 1);
    lua_insert(L, -2);
    lua_concat(L, 2);
  }
  return lua_error(L);
}

static int coroutine_wrap(lua_State *L)
{
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_State *coroutine = lua_newthread(L);
  lua_pushvalue(L, 1);
  lua_xmove(L, coroutine, 1);
  lua_pushcclosure(L, call_wrapped, 1);
  return 1;
}

void open_interrupts(lua_State *L)
{
  static const luaL_Reg coroutines[] = {{"resume", coroutine_resume}, {"wrap", coroutine_wrap}, {NULL, NULL}};
  lua_getglobal(L, "coroutine");
  luaL_setfuncs(L, coroutines, 0);
  lua_pop(L, 1);
  lua_pushcfunction(L, interruptible);
  lua_setfield(L, -2, "interruptible");
}

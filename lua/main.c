/* main.c: the program ccw. It brings the Lua modules along and leaves the rest to ccw/command.lua. */
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <lualib.h>

#include "embedded.h"
#include "glue/glue.h"
#include "program.h"

/* ---- the end: a handler that crashes takes the process along, but not without a word --------------------------------- */

static void on_crash(int number)
{
  const char *doing, *name = ccw_call_running(&doing);
  if (name && !is_worker()) {
    say("ccw: ");
    say(name);
    say(": ");
    say(doing);
    say(strcmp(doing, "metadata") == 0 ? ": the function crashed when it was asked for it: is it an FFI handler?\n"
                                       : ": the handler crashed, and ends ccw\n");
  }
  const char *test = watched();
  if (test) {
    say("ccw: it was in ");
    say(test);
    say("\n");
  }
  signal(number, SIG_DFL); /* what caused it happens again, and ends the program as it would have */
}

/* On a stack of its own: the other may be what overflowed. Of faults AddressSanitizer has a better report. */
static void watch_for_crashes(void)
{
#ifdef __SANITIZE_ADDRESS__
  static const int numbers[] = {SIGABRT};
#else
  static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
#endif
  static char stack[64 << 10];
  sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
  struct sigaction action = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK | SA_NODEFER};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) sigaction(numbers[i], &action, NULL);
}

/* ---- the modules it brings along ------------------------------------------------------------------------------------- */

static int search_embedded(lua_State *L)
{
  const char *name = luaL_checkstring(L, 1);
  for (const ccw_embedded *module = ccw_embedded_modules; module->name; ++module) {
    if (strcmp(module->name, name) != 0) continue;
    lua_pushfstring(L, "=%s", name);
    if (luaL_loadbuffer(L, (const char *)module->text, module->length, lua_tostring(L, -1)) != LUA_OK)
      return lua_error(L);
    lua_pushliteral(L, "brought along by ccw");
    return 2;
  }
  lua_pushfstring(L, "ccw brings no module '%s' along", name);
  return 1;
}

static int open_program(lua_State *L)
{
  lua_newtable(L);
  open_interrupts(L);
  open_console(L);
  return 1;
}

static void preload(lua_State *L, const char *name, lua_CFunction open)
{
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  lua_pushcfunction(L, open);
  lua_setfield(L, -2, name);
  lua_pop(L, 1);
}

/* Puts the search among the embedded modules right behind the preloaded ones. */
static void add_searcher(lua_State *L)
{
  lua_getglobal(L, "table");
  lua_getfield(L, -1, "insert");
  lua_getglobal(L, "package");
  lua_getfield(L, -1, "searchers");
  lua_remove(L, -2);
  lua_pushinteger(L, 2);
  lua_pushcfunction(L, search_embedded);
  lua_call(L, 3, 0);
  lua_pop(L, 1);
}

/* ---- start ----------------------------------------------------------------------------------------------------------- */

static int traceback(lua_State *L)
{
  const char *message = lua_tostring(L, 1);
  luaL_traceback(L, L, message ? message : luaL_tolstring(L, 1, NULL), 1);
  return 1;
}

/* Opens everything and calls ccw.command with the arguments, [0] being the program. */
static int run(lua_State *L)
{
  int argc = (int)lua_tointeger(L, 1);
  char **argv = lua_touserdata(L, 2);
  luaL_openlibs(L);
  preload(L, "ccw.core", luaopen_ccw_core);
  preload(L, "ccw.program", open_program);
#ifdef CCW_HAS_EDITOR
  preload(L, "ccw.editor", luaopen_ccw_editor);
#endif
  add_searcher(L);
  lua_getglobal(L, "require");
  lua_pushliteral(L, "ccw.command");
  lua_call(L, 1, 1);
  lua_createtable(L, argc, 1);
  for (int i = 0; i < argc; ++i) {
    lua_pushstring(L, argv[i]);
    lua_rawseti(L, -2, i);
  }
  lua_call(L, 1, 1);
  return 1;
}

int main(int argc, char **argv)
{
  setlocale(LC_CTYPE, ""); /* the prompt edits UTF-8; numbers keep their point */
  watch_for_crashes();
  lua_State *L = luaL_newstate();
  if (!L) {
    fprintf(stderr, "ccw: no memory to start\n");
    return 1;
  }
  lua_pushcfunction(L, traceback);
  lua_pushcfunction(L, run);
  lua_pushinteger(L, argc);
  lua_pushlightuserdata(L, argv);
  int code = 1;
  if (lua_pcall(L, 2, 1, 1) == LUA_OK)
    code = (int)lua_tointeger(L, -1);
  else
    fprintf(stderr, "ccw: %s\n", lua_tostring(L, -1));
  lua_close(L);
  return code;
}

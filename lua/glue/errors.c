/* Error objects: a failure of core as Lua sees it. They are tables, so that people can look at them; what they know how to
 * do (tostring, operands, ==) is in ccw/errors.lua. */
#include "glue.h"

#include <string.h>

/* Lua may raise for want of memory while a status or a text waits to be handed over: they wait in a userdata of the
 * registry, which frees what was left behind. */
typedef struct waiting {
  ccw_status status;
  ccw_text text;
} waiting;

static const char waiting_key;

static void clear(waiting *w)
{
  ccw_status_free(w->status);
  w->status = ccw_ok();
  ccw_text_free(&w->text);
}

static waiting *get_waiting(lua_State *L)
{
  lua_rawgetp(L, LUA_REGISTRYINDEX, &waiting_key); /* allocates nothing */
  waiting *w = lua_touserdata(L, -1);
  lua_pop(L, 1);
  clear(w);
  return w;
}

static int waiting_gc(lua_State *L)
{
  clear(lua_touserdata(L, 1));
  return 0;
}

int raise_status(lua_State *L, ccw_status status, const char *handler, const char *stage)
{
  waiting *w = get_waiting(L);
  w->status = status;
  luaL_checkstack(L, 4, NULL);
  lua_pushstring(
      L, handler); /* first: what else is made here may run a finalizer, which may close what it belongs to */
  lua_createtable(L, 0, 4);
  const char *name = ccw_code_name(status.code);
  lua_pushstring(L, name ? name : "UNKNOWN");
  lua_setfield(L, -2, "code");
  const char *text = ccw_status_text(status);
  lua_pushlstring(L, text, status.message ? status.message->length : strlen(text));
  lua_setfield(L, -2, "message");
  clear(w);
  lua_insert(L, -2);
  lua_setfield(L, -2, "handler"); /* nil sets nothing */
  if (stage) {
    lua_pushstring(L, stage);
    lua_setfield(L, -2, "stage");
  }
  set_kind(L, CCW_ERROR);
  return lua_error(L);
}

int push_text(lua_State *L, ccw_text *text)
{
  waiting *w = get_waiting(L);
  w->text = *text;
  *text = (ccw_text){0};
  ccw_status status = ccw_text_status(&w->text);
  if (status.code) return raise_status(L, status, NULL, NULL);
  lua_pushlstring(L, ccw_text_data(&w->text), w->text.length);
  clear(w);
  return 1;
}

int push_problem(lua_State *L, ccw_status status)
{
  if (!status.code) return 0;
  if (status.code == XLA_FFI_Error_Code_RESOURCE_EXHAUSTED) return raise_status(L, status, NULL, NULL);
  waiting *w = get_waiting(L);
  w->status = status;
  lua_pushstring(L, ccw_status_text(status));
  clear(w);
  return 1;
}

int push_unless(lua_State *L, ccw_status status)
{
  XLA_FFI_Error_Code code = status.code;
  if (!code) return 1;
  lua_pushnil(L);
  push_problem(L, status);
  lua_pushstring(L, ccw_code_name(code));
  return 3;
}

int raise_misuse(lua_State *L, int argument, ccw_status status)
{
  push_problem(L, status);
  return luaL_argerror(L, argument, lua_tostring(L, -1));
}

/* code_names() -> table. The names of all codes, by their number, 0 for OK. */
static int code_names(lua_State *L)
{
  lua_newtable(L);
  for (int code = 0; ccw_code_name((XLA_FFI_Error_Code)code); ++code) {
    lua_pushstring(L, ccw_code_name((XLA_FFI_Error_Code)code));
    lua_rawseti(L, -2, code);
  }
  return 1;
}

void open_errors(lua_State *L)
{
  static const luaL_Reg functions[] = {{"code_names", code_names}, {NULL, NULL}};
  static const luaL_Reg none[] = {{NULL, NULL}};
  new_kind(L, CCW_ERROR, none, NULL);
  lua_setfield(L, -2, "error_metatable");
  luaL_setfuncs(L, functions, 0);

  waiting *w = lua_newuserdatauv(L, sizeof *w, 0);
  *w = (waiting){.status = ccw_ok()};
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, waiting_gc);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &waiting_key);
}

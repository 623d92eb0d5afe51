/* Error objects: a failure of core as Lua sees it. They are tables, so that people can look at them; what they know how to
 * do (tostring, operands, ==) is in ccw/errors.lua. */
#include "glue.h"

int raise_status(lua_State *L, ccw_status status, const char *handler, const char *stage)
{
  luaL_checkstack(L, 4, NULL);
  lua_createtable(L, 0, 4);
  const char *name = ccw_code_name(status.code);
  lua_pushstring(L, name ? name : "UNKNOWN");
  lua_setfield(L, -2, "code");
  lua_pushlstring(
      L, ccw_status_text(status), status.message ? status.message->length : strlen(ccw_status_text(status)));
  ccw_status_free(status);
  lua_setfield(L, -2, "message");
  if (handler) {
    lua_pushstring(L, handler);
    lua_setfield(L, -2, "handler");
  }
  if (stage) {
    lua_pushstring(L, stage);
    lua_setfield(L, -2, "stage");
  }
  set_kind(L, CCW_ERROR);
  return lua_error(L);
}

int push_problem(lua_State *L, ccw_status status)
{
  if (!status.code) return 0;
  if (status.code == XLA_FFI_Error_Code_RESOURCE_EXHAUSTED) return raise_status(L, status, NULL, NULL);
  lua_pushstring(L, ccw_status_text(status));
  ccw_status_free(status);
  return 1;
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
}

/* What a function of Lua's comes to: an error that it raised, or what it returned, as a status. */
#include "jobs.h"

#include <string.h>

static XLA_FFI_Error_Code code_of(const char *name)
{
  for (int code = 1; ccw_code_name((XLA_FFI_Error_Code)code); ++code)
    if (strcmp(ccw_code_name((XLA_FFI_Error_Code)code), name) == 0) return (XLA_FFI_Error_Code)code;
  return XLA_FFI_Error_Code_UNKNOWN;
}

bool is_error(lua_State *L, int index)
{
  if (!lua_getmetatable(L, index)) return false;
  lua_rawgetp(L, LUA_REGISTRYINDEX, CCW_ERROR);
  bool same = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return same;
}

ccw_status status_of(lua_State *L, int index, XLA_FFI_Error_Code otherwise, const char *traceback)
{
  size_t length;
  const char *text, *code = NULL;
  if (is_error(L, index)) {
    lua_getfield(L, index, "code");
    code = lua_tostring(L, -1);
    lua_getfield(L, index, "message");
    text = lua_tolstring(L, -1, &length);
    if (code && text) return ccw_status_make(code_of(code), "%s%s", text, traceback);
  }
  text = luaL_tolstring(L, index, &length);
  return ccw_status_make(otherwise, "%s%s", text, traceback);
}

int on_error(lua_State *L)
{
  static const char outermost[] = "\n\t[C]: in ?", empty[] = "\nstack traceback:";
  luaL_traceback(L, L, "", 1);
  luaL_gsub(L, lua_tostring(L, -1), "ccw.globals.", ""); /* where our modules keep Lua's own functions */
  size_t length, shorter;
  const char *way = lua_tolstring(L, -1, &length);
  shorter = length - (sizeof outermost - 1);
  if (length > sizeof outermost && strcmp(way + shorter, outermost) == 0) way = lua_pushlstring(L, way, shorter);
  invocation *call = current_invocation;
  ccw_status_free(call->status); /* of an error before, on the way out of which this one was raised */
  call->status = status_of(L, 1, XLA_FFI_Error_Code_UNKNOWN, strcmp(way, empty) == 0 ? "" : way);
  return 0;
}

int strip_returned(lua_State *L, int first, bool *out_failed)
{
  while (lua_gettop(L) > first && lua_isnil(L, -1)) lua_pop(L, 1);
  int count = lua_gettop(L) - first + 1;
  *out_failed = count == 2 && lua_isnil(L, first) && !lua_isnil(L, first + 1);
  if (*out_failed) lua_remove(L, first); /* nil, err */
  return *out_failed ? 1 : count;
}

ccw_status outcome(lua_State *L, int first)
{
  bool failed;
  int count = strip_returned(L, first, &failed);
  if (count > 1) return ccw_internal("returned %d values: expected nothing, or an error", count);
  if (count == 0 || lua_isnil(L, first) || (lua_isboolean(L, first) && lua_toboolean(L, first))) return ccw_ok();
  if (lua_type(L, first) == LUA_TSTRING || is_error(L, first))
    return status_of(L, first, XLA_FFI_Error_Code_INTERNAL, "");
  if (kind_of(L, first) == CCW_BUFFER)
    return ccw_internal("returned a buffer: results are written in place, as in y[i] = x, and nothing is returned");
  return ccw_internal("returned a %s: expected nothing, or an error", kind_name(L, first));
}

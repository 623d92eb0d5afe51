/* The Lua module ccw.core: what of core Lua can reach. People use the module ccw, which is built on it. */
#include "glue.h"

#include <string.h>

const char CCW_BUFFER[] = "ccw.buffer", CCW_TYPE[] = "ccw.type", CCW_SCALAR[] = "ccw.scalar",
           CCW_ATTRIBUTES[] = "ccw.attributes", CCW_BUILDER[] = "ccw.builder", CCW_HANDLER[] = "ccw.handler",
           CCW_LIBRARY[] = "ccw.library", CCW_CALL[] = "ccw.call", CCW_SIGNATURE[] = "ccw.signature",
           CCW_ERROR[] = "ccw.error", CCW_SCRATCH[] = "ccw.scratch", CCW_THREADS[] = "ccw.threads",
           CCW_PROMISE[] = "ccw.promise", CCW_DEVICE[] = "ccw.device", CCW_STREAM[] = "ccw.stream",
           CCW_EVENT[] = "ccw.event", CCW_GRAPH[] = "ccw.graph", CCW_MODULE[] = "ccw.module",
           CCW_KERNEL[] = "ccw.kernel", CCW_FILE[] = "ccw.file", CCW_ARCHIVE[] = "ccw.archive",
           CCW_MEMBER[] = "ccw.member";

void set_kind(lua_State *L, const char *kind)
{
  lua_rawgetp(L, LUA_REGISTRYINDEX, kind);
  lua_setmetatable(L, -2);
}

void **new_box(lua_State *L, const char *kind)
{
  void **box = lua_newuserdatauv(L, 2 * sizeof *box, 1);
  box[0] = box[1] = NULL;
  set_kind(L, kind);
  return box;
}

/* The key under which a metatable of ours keeps the address of its kind. */
static const char kind_key;

const char *kind_of(lua_State *L, int index)
{
  if (lua_type(L, index) != LUA_TUSERDATA || !lua_getmetatable(L, index)) return NULL;
  lua_rawgetp(L, -1, &kind_key);
  const char *kind = lua_touserdata(L, -1);
  lua_pop(L, 2);
  return kind;
}

void *test_kind(lua_State *L, int index, const char *kind)
{
  return kind_of(L, index) == kind ? lua_touserdata(L, index) : NULL;
}

void **check_kind(lua_State *L, int index, const char *kind)
{
  void **box = test_kind(L, index, kind);
  if (!box) {
    const char *message = lua_pushfstring(L, "expected %s, got %s", kind + 4, kind_name(L, index));
    luaL_argerror(L, index, message);
  }
  return box;
}

void *check_box(lua_State *L, int index, const char *kind)
{
  void **box = check_kind(L, index, kind);
  if (!*box) luaL_error(L, "this %s is closed", kind + 4); /* without "ccw." */
  return *box;
}

void new_kind(lua_State *L, const char *kind, const luaL_Reg *functions, const luaL_Reg *methods)
{
  luaL_newmetatable(L, kind);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, kind);
  lua_pushlightuserdata(L, (void *)kind);
  lua_rawsetp(L, -2, &kind_key);
  luaL_setfuncs(L, functions, 0);
  if (!methods) return;
  lua_newtable(L);
  luaL_setfuncs(L, methods, 0);
  lua_setfield(L, -2, "__index");
}

const char *kind_name(lua_State *L, int index)
{
  const char *name = luaL_typename(L, index);
  if (luaL_getmetafield(L, index, "__name") == LUA_TNIL) return name;
  const char *own = lua_tostring(L, -1); /* stays valid: its metatable holds it */
  lua_pop(L, 1);
  if (!own) return name;
  return strncmp(own, "ccw.", 4) == 0 ? own + 4 : own;
}

const char *check_text(lua_State *L, int index)
{
  size_t length;
  if (lua_type(L, index) != LUA_TSTRING) luaL_typeerror(L, index, "string");
  const char *text = lua_tolstring(L, index, &length);
  if (strlen(text) != length) luaL_argerror(L, index, "the string holds a NUL");
  return text;
}

int64_t check_integer(lua_State *L, int index, int64_t low, int64_t high)
{
  int is_integer = 0;
  lua_Integer value = lua_type(L, index) == LUA_TNUMBER ? lua_tointegerx(L, index, &is_integer) : 0;
  if (!is_integer) {
    if (lua_type(L, index) != LUA_TNUMBER) luaL_typeerror(L, index, "integer");
    luaL_argerror(L, index, "number has no integer representation");
  }
  if (value < low || value > high) {
    const char *message = lua_pushfstring(L, "expected %I to %I, got %I", low, high, value);
    luaL_argerror(L, index, message);
  }
  return value;
}

int luaopen_ccw_core(lua_State *L)
{
  luaL_checkversion(L);
  lua_newtable(L);
  lua_pushstring(L, ccw_version());
  lua_setfield(L, -2, "version");
  lua_pushfstring(L, "%d.%d", XLA_FFI_API_MAJOR, XLA_FFI_API_MINOR);
  lua_setfield(L, -2, "api_version");
  lua_pushboolean(L, ccw_catches_exceptions());
  lua_setfield(L, -2, "catches_exceptions");
  lua_pushinteger(L, CCW_MAX_RANK);
  lua_setfield(L, -2, "max_rank");
  lua_pushinteger(L, CCW_MAX_TUPLE_DEPTH);
  lua_setfield(L, -2, "max_tuple_depth");
  open_owner(L);
  open_errors(L);
  open_scalars(L);
  open_types(L);
  open_devices(L);
  open_buffers(L);
  open_attributes(L);
  open_signatures(L);
  open_handlers(L);
  open_libraries(L);
  open_calls(L);
  open_tools(L);
  open_child(L);
  open_workers(L);
  open_jobs(L);
  open_promises(L);
  open_states(L);
  open_closures(L);
  open_patterns(L);
  open_compilers(L);
  open_kernels(L);
  open_files(L);
  open_archives(L);
  return 1;
}

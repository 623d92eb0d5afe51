/* Libraries of handlers. */
#include "glue.h"

/* open(path) -> library. */
static int library_open(lua_State *L)
{
  const char *path = check_text(L, 1);
  void **box = new_box(L, CCW_LIBRARY);
  CHECK_STATUS(L, ccw_library_open(path, (ccw_library **)box));
  return 1;
}

/* open_python(module, path, last) -> library. `path` is a list of folders to search first, `last` one to search last. */
static int library_open_python(lua_State *L)
{
  const char *module = check_text(L, 1);
  const char *last = luaL_optstring(L, 3, NULL);
  luaL_checktype(L, 2, LUA_TTABLE);
  size_t count = lua_rawlen(L, 2);
  const char **path = lua_newuserdatauv(L, (count + 1) * sizeof *path, 0);
  luaL_checkstack(L, (int)count + LUA_MINSTACK, "too many folders");
  for (size_t i = 0; i < count; ++i) {
    lua_rawgeti(L, 2, (lua_Integer)i + 1);
    path[i] = check_text(L, -1);
  }
  void **box = new_box(L, CCW_LIBRARY);
  CHECK_STATUS(L, ccw_library_open_python(module, path, count, last, (ccw_library **)box));
  return 1;
}

/* handler(library, name) -> handler. */
static int library_handler(lua_State *L)
{
  check_box(L, 1, CCW_LIBRARY);
  const char *name = check_text(L, 2);
  void **box = new_box(L, CCW_HANDLER);
  CHECK_STATUS(L, ccw_library_handler(check_box(L, 1, CCW_LIBRARY), name, (ccw_handler **)box));
  return 1;
}

/* Names are collected as text, a line each: core calls back where Lua must not raise. */
static bool add_name(void *context, const char *name)
{
  ccw_text_add((ccw_text *)context, "%s\n", name);
  return true;
}

static int push_names(lua_State *L, ccw_status status, ccw_text *names)
{
  if (status.code) {
    ccw_text_free(names);
    return raise_status(L, status, NULL, NULL);
  }
  return push_text(L, names);
}

/* names(library) -> string. What could be handlers, a line each. */
static int library_names(lua_State *L)
{
  const ccw_library *library = check_box(L, 1, CCW_LIBRARY);
  ccw_text names = {0};
  ccw_status status = ccw_library_names(library, add_name, &names);
  return push_names(L, status, &names);
}

/* file_names(path) -> string. The same of a file that is not loaded. */
static int library_file_names(lua_State *L)
{
  const char *path = check_text(L, 1);
  ccw_text names = {0};
  ccw_status status = ccw_library_file_names(path, add_name, &names);
  return push_names(L, status, &names);
}

/* about(library) -> path, registered, refused. The last two a line each. */
static int library_about(lua_State *L)
{
  /* Each time anew: what is made here may run a finalizer, which may close. */
  lua_pushstring(L, ccw_library_path(check_box(L, 1, CCW_LIBRARY)));
  lua_pushstring(L, ccw_library_registered(check_box(L, 1, CCW_LIBRARY)));
  lua_pushstring(L, ccw_library_refused(check_box(L, 1, CCW_LIBRARY)));
  return 3;
}

static int library_gc(lua_State *L)
{
  void **box = check_kind(L, 1, CCW_LIBRARY);
  ccw_library_release(*box);
  *box = NULL;
  return 0;
}

void open_libraries(lua_State *L)
{
  static const luaL_Reg metamethods[] = {{"__gc", library_gc}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"open", library_open}, {"open_python", library_open_python},
      {"library_handler", library_handler}, {"library_names", library_names}, {"file_names", library_file_names},
      {"library_about", library_about}, {NULL, NULL}};
  new_kind(L, CCW_LIBRARY, metamethods, NULL);
  lua_setfield(L, -2, "library_metatable");
  luaL_setfuncs(L, functions, 0);
}

/* Libraries of handlers. */
#include "glue.h"

#include <string.h>

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

/* library_place(library, name, stage) -> string. Where that function lies, the same in every process. */
static int library_place(lua_State *L)
{
  const char *name = check_text(L, 2);
  ccw_text place = {0};
  ccw_status status = ccw_library_place(check_box(L, 1, CCW_LIBRARY), name, check_stage(L, 3), &place);
  if (!status.code) return push_text(L, &place);
  ccw_text_free(&place);
  return raise_status(L, status, NULL, NULL);
}

/* library_signature(library, name) -> signature, or nil, why, code. As far as it is known without calling the function. */
static int library_signature(lua_State *L)
{
  const char *name = check_text(L, 2);
  void **box = new_box(L, CCW_SIGNATURE);
  ccw_library *library = check_box(L, 1, CCW_LIBRARY);
  return push_unless(L, ccw_library_find_signature(library, name, (ccw_signature **)box));
}

/* library_tell(library, place, signature, why). Remembers what asking has brought, see ccw_library_tell. */
static int library_tell(lua_State *L)
{
  const char *place = check_text(L, 2);
  const char *signature = lua_isnoneornil(L, 3) ? NULL : check_text(L, 3);
  const char *why = lua_isnoneornil(L, 4) ? NULL : check_text(L, 4);
  CHECK_STATUS(L, ccw_library_tell(check_box(L, 1, CCW_LIBRARY), place, signature, why));
  return 0;
}

/* library_tell_type(library, place, type). That a type is lacking, see ccw_library_tell_type. */
static int library_tell_type(lua_State *L)
{
  const char *place = check_text(L, 2), *type = check_text(L, 3);
  CHECK_STATUS(L, ccw_library_tell_type(check_box(L, 1, CCW_LIBRARY), place, type));
  return 0;
}

/* library_origin(library) -> string, or nil, why, code. How another process loads it, see ccw_library_origin. */
static int library_origin(lua_State *L)
{
  ccw_text origin = {0};
  ccw_status status = ccw_library_origin(check_box(L, 1, CCW_LIBRARY), &origin);
  if (!status.code) return push_text(L, &origin);
  ccw_text_free(&origin);
  lua_pushnil(L);
  return push_unless(L, status);
}

/* Name, signature and problem, a NUL behind each. */
static bool add_signature(void *context, const char *name, const ccw_signature *signature, ccw_status problem)
{
  ccw_text *text = context;
  ccw_text_add_bytes(text, name, strlen(name) + 1);
  if (signature) ccw_signature_print(signature, text);
  ccw_text_add_bytes(text, "", 1);
  ccw_text_add_bytes(text, ccw_status_text(problem), strlen(ccw_status_text(problem)) + 1);
  return true;
}

/* file_signatures(path) -> string. The names in a file that is not loaded, the signatures that it carries for them, "" for
 * none, and what is wrong with that, "" for nothing: a NUL behind each. */
static int library_file_signatures(lua_State *L)
{
  const char *path = check_text(L, 1);
  ccw_text text = {0};
  ccw_status status = ccw_library_file_signatures(path, add_signature, &text);
  return push_names(L, status, &text);
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

/* library_register_type(library, name, id, info) -> the name under which it is registered. See ccw_library_register_type. */
static int library_register_type(lua_State *L)
{
  const char *name = check_text(L, 2);
  const char *id = lua_isnoneornil(L, 3) ? NULL : check_text(L, 3);
  const char *info = lua_isnoneornil(L, 4) ? NULL : check_text(L, 4);
  ccw_text registered = {0};
  ccw_status status = ccw_library_register_type(check_box(L, 1, CCW_LIBRARY), name, id, info, &registered);
  if (!status.code) return push_text(L, &registered);
  ccw_text_free(&registered);
  return raise_status(L, status, NULL, NULL);
}

static bool add_type(void *context, const char *type, bool is_registered)
{
  ccw_text_add(context, "type %s%s\n", type, is_registered ? "" : ", not registered");
  return true;
}

/* library_types(library) -> string. A line for each type: "type Counter", "type Counter, not registered". */
static int library_types(lua_State *L)
{
  ccw_text text = {0};
  ccw_library_types(check_box(L, 1, CCW_LIBRARY), add_type, &text);
  return push_text(L, &text);
}

/* library_invent_types(library). In a process that only asks, see ccw_library_invent_types. */
static int library_invent_types(lua_State *L)
{
  ccw_library_invent_types(check_box(L, 1, CCW_LIBRARY));
  return 0;
}

/* state_type(name) -> id, nil for a name that no type has. */
static int state_type(lua_State *L)
{
  size_t length;
  const char *name = luaL_checklstring(L, 1, &length);
  int64_t id = ccw_state_type_find(name, length);
  if (id == 0) return 0;
  lua_pushinteger(L, id);
  return 1;
}

/* state_type_at(i) -> name, id, is_state; nothing past the end. Counted from 0, the newest first. */
static int state_type_at(lua_State *L)
{
  ccw_text name = {0};
  int64_t id;
  bool is_state;
  if (!ccw_state_type_at((size_t)check_integer(L, 1, 0, INT64_MAX), &name, &id, &is_state)) return 0;
  push_text(L, &name);
  lua_pushinteger(L, id);
  lua_pushboolean(L, is_state);
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
      {"library_about", library_about}, {"library_place", library_place}, {"library_signature", library_signature},
      {"library_tell", library_tell}, {"library_tell_type", library_tell_type}, {"library_origin", library_origin},
      {"file_signatures", library_file_signatures}, {"library_register_type", library_register_type},
      {"library_invent_types", library_invent_types}, {"library_types", library_types}, {"state_type", state_type},
      {"state_type_at", state_type_at}, {NULL, NULL}};
  new_kind(L, CCW_LIBRARY, metamethods, NULL);
  lua_setfield(L, -2, "library_metatable");
  luaL_setfuncs(L, functions, 0);
}

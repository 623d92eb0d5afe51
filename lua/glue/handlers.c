/* Handlers and the registry. */
#include "glue.h"

#include <string.h>

ccw_handler *check_handler(lua_State *L, int index) { return check_box(L, index, CCW_HANDLER); }

/* bundle(name, {stage = handler, ...}) -> handler. One handler of several stages, each the execute function of a handler. */
static int handler_bundle(lua_State *L)
{
  const char *name = luaL_checkstring(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  void **box = new_box(L, CCW_HANDLER);
  ccw_handler *handlers[CCW_STAGE_COUNT] = {NULL};
#define TAKE(NAME, stage, number)                                 \
  lua_getfield(L, 2, #stage);                                     \
  if (!lua_isnil(L, -1)) handlers[number] = check_handler(L, -1); \
  lua_pop(L, 1);
  CCW_STAGES(TAKE)
#undef TAKE
  CHECK_STATUS(L, ccw_handler_of_stages(name, handlers, (ccw_handler **)box));
  return 1;
}

/* handler_signature(handler) -> signature, or nil, why, code. As far as it is known without calling the handler. */
static int handler_signature(lua_State *L)
{
  ccw_signature *signature;
  ccw_handler *handler = check_handler(L, 1);
  void **box = new_box(L, CCW_SIGNATURE);
  ccw_status status = ccw_handler_find_signature(handler, &signature);
  if (!status.code) *box = ccw_signature_retain(signature);
  return push_unless(L, status);
}

/* handler_stage_signature(handler, stage) -> signature, or nil, why, code. What the binary tells of the function of a stage, as far as it is
 * known without calling it. */
static int handler_stage_signature(lua_State *L)
{
  ccw_handler *handler = check_handler(L, 1);
  XLA_FFI_ExecutionStage stage = check_stage(L, 2);
  void **box = new_box(L, CCW_SIGNATURE);
  return push_unless(L, ccw_handler_stage_signature(handler, stage, (ccw_signature **)box));
}

/* handler_lacks_type(handler) -> boolean. Whether asking it has shown that it binds a type which was not registered. */
static int handler_lacks_type(lua_State *L)
{
  lua_pushboolean(L, ccw_handler_lacks_type(check_handler(L, 1)));
  return 1;
}

/* handler_of_stage(handler, stage) -> handler. One of that function alone. */
static int handler_of_stage(lua_State *L)
{
  ccw_handler *handler = check_handler(L, 1);
  XLA_FFI_ExecutionStage stage = check_stage(L, 2);
  void **box = new_box(L, CCW_HANDLER);
  CHECK_STATUS(L, ccw_handler_of_stage(handler, stage, (ccw_handler **)box));
  return 1;
}

/* handler_ask(handler) -> signature. Asks in this process, which may not survive it. */
static int handler_ask(lua_State *L)
{
  ccw_signature *signature;
  ccw_handler *handler = check_handler(L, 1);
  void **box = new_box(L, CCW_SIGNATURE);
  CHECK_STATUS(L, ccw_handler_ask(handler, &signature));
  *box = ccw_signature_retain(signature);
  return 1;
}

/* set_signature(handler, signature). The first one stays. */
static int handler_set_signature(lua_State *L)
{
  ccw_handler_set_signature(check_handler(L, 1), check_box(L, 2, CCW_SIGNATURE));
  return 0;
}

/* handler_library(handler, stage) -> library, nil for none. */
static int handler_library(lua_State *L)
{
  ccw_library *library = ccw_handler_library(check_handler(L, 1), check_stage(L, 2));
  if (!library) return 0;
  *new_box(L, CCW_LIBRARY) = library;
  ccw_library_retain(library);
  return 1;
}

/* handler_place(handler, stage) -> string. Where its code lies, the same in every process. */
static int handler_place(lua_State *L)
{
  ccw_text place = {0};
  ccw_handler_place(check_handler(L, 1), check_stage(L, 2), &place);
  return push_text(L, &place);
}

static void push_traits(lua_State *L, XLA_FFI_Handler_Traits traits)
{
  lua_newtable(L);
  if (traits & XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE) {
    lua_pushliteral(L, "command_buffer_compatible");
    lua_rawseti(L, -2, 1);
  }
}

static void push_stages(lua_State *L, const XLA_FFI_Handler_Bundle *bundle)
{
  lua_Integer n = 0;
  lua_newtable(L);
#define PUSH(NAME, name, number) \
  if (bundle->name) {            \
    lua_pushliteral(L, #name);   \
    lua_rawseti(L, -2, ++n);     \
  }
  CCW_STAGES(PUSH)
#undef PUSH
}

/* has_stages(handler) -> boolean. Whether it has a function for another stage than execute. */
static int handler_has_stages(lua_State *L)
{
  XLA_FFI_Handler_Bundle bundle = ccw_handler_describe(check_handler(L, 1)).bundle;
  lua_pushboolean(L, bundle.instantiate || bundle.prepare || bundle.initialize || bundle.record);
  return 1;
}

/* Fields: name; library, the path it came from; version, of the FFI API; traits and stages, lists. */
static int handler_index(lua_State *L)
{
  ccw_handler_info info = ccw_handler_describe(check_handler(L, 1));
  const char *field = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  if (strcmp(field, "name") == 0)
    lua_pushstring(L, info.name);
  else if (strcmp(field, "library") == 0)
    lua_pushstring(L, info.library);
  else if (strcmp(field, "version") == 0)
    lua_pushfstring(L, "%d.%d", info.major, info.minor);
  else if (strcmp(field, "address") == 0)
    lua_pushinteger(L, (lua_Integer)(uintptr_t)info.bundle.execute);
  else if (strcmp(field, "traits") == 0)
    push_traits(L, info.traits);
  else if (strcmp(field, "stages") == 0)
    push_stages(L, &info.bundle);
  else
    lua_pushnil(L);
  return 1;
}

static int handler_gc(lua_State *L)
{
  void **box = check_kind(L, 1, CCW_HANDLER);
  ccw_handler_release(*box);
  *box = NULL;
  return 0;
}

/* ---- registry ------------------------------------------------------------------------------------------------------ */

/* register(name, handler, platform, replace). */
static int registry_add(lua_State *L)
{
  size_t name_length, platform_length;
  const char *name = luaL_checklstring(L, 1, &name_length), *platform = luaL_checklstring(L, 3, &platform_length);
  CHECK_STATUS(
      L, ccw_registry_add(name, name_length, platform, platform_length, check_handler(L, 2), lua_toboolean(L, 4)));
  return 0;
}

/* platform(name) -> string. The canonical name. */
static int platform_name(lua_State *L)
{
  size_t length;
  const char *name = luaL_checklstring(L, 1, &length);
  char canonical[CCW_PLATFORM_SIZE];
  CHECK_STATUS(L, ccw_platform_canonical(name, length, canonical));
  lua_pushstring(L, canonical);
  return 1;
}

/* find(name, platform) -> handler. */
static int registry_find(lua_State *L)
{
  size_t name_length, platform_length;
  const char *name = luaL_checklstring(L, 1, &name_length), *platform = luaL_checklstring(L, 2, &platform_length);
  void **box = new_box(L, CCW_HANDLER);
  CHECK_STATUS(L, ccw_registry_find(name, name_length, platform, platform_length, (ccw_handler **)box));
  return 1;
}

/* registered(i) -> name, platform, handler; nothing past the end. Counted from 0, by name and platform. */
static int registry_at(lua_State *L)
{
  size_t i = (size_t)check_integer(L, 1, 0, INT64_MAX);
  void **box = new_box(L, CCW_HANDLER);
  ccw_text name = {0}, platform = {0};
  if (!ccw_registry_at(i, &name, &platform, (ccw_handler **)box)) return 0;
  push_text(L, &name);
  push_text(L, &platform);
  lua_pushvalue(L, -3);
  return 3;
}

void open_handlers(lua_State *L)
{
  static const luaL_Reg metamethods[] = {{"__gc", handler_gc}, {"__index", handler_index}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"bundle", handler_bundle}, {"register", registry_add}, {"find", registry_find},
      {"platform", platform_name}, {"registered", registry_at}, {"handler_signature", handler_signature},
      {"handler_ask", handler_ask}, {"set_signature", handler_set_signature}, {"handler_library", handler_library},
      {"handler_place", handler_place}, {"handler_stage_signature", handler_stage_signature},
      {"has_stages", handler_has_stages}, {"handler_lacks_type", handler_lacks_type},
      {"handler_of_stage", handler_of_stage}, {NULL, NULL}};
  new_kind(L, CCW_HANDLER, metamethods, NULL);
  lua_setfield(L, -2, "handler_metatable");
  luaL_setfuncs(L, functions, 0);
}

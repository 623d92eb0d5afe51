/* Attributes: built piece by piece, then immutable. What a Lua table means is decided in ccw/attributes.lua. */
#include "glue.h"

/* ---- building ------------------------------------------------------------------------------------------------------ */

/* builder() -> builder. */
static int builder_new(lua_State *L)
{
  void **box = new_box(L, CCW_BUILDER);
  CHECK_STATUS(L, ccw_attributes_begin((ccw_attributes_builder **)box));
  return 1;
}

/* builder:add(name, value) -> nil, or why not. The value is a boolean, a number, a scalar, a string, a buffer (an array
 * attribute, whatever its rank) or a dictionary. */
static int builder_add(lua_State *L)
{
  ccw_attributes_builder *builder = check_box(L, 1, CCW_BUILDER);
  size_t name_length, length;
  const char *name = luaL_checklstring(L, 2, &name_length);
  ccw_scalar scalar;
  if (to_scalar(L, 3, &scalar)) return push_problem(L, ccw_attributes_add_scalar(builder, name, name_length, scalar));
  if (lua_type(L, 3) == LUA_TSTRING) {
    const char *bytes = lua_tolstring(L, 3, &length);
    return push_problem(L, ccw_attributes_add_string(builder, name, name_length, bytes, length));
  }
  if (luaL_testudata(L, 3, CCW_BUFFER)) {
    const ccw_buffer *buffer = check_buffer(L, 3);
    const ccw_shape *shape = ccw_buffer_shape(buffer);
    return push_problem(
        L, ccw_attributes_add_array(builder, name, name_length, shape->dtype, ccw_buffer_data(buffer), shape->count));
  }
  return push_problem(L, ccw_attributes_add_dictionary(builder, name, name_length, check_box(L, 3, CCW_ATTRIBUTES)));
}

/* builder:finish() -> dictionary. The builder is closed then. */
static int builder_finish(lua_State *L)
{
  void **builder = luaL_checkudata(L, 1, CCW_BUILDER);
  ccw_attributes_builder *finished = check_box(L, 1, CCW_BUILDER);
  void **box = new_box(L, CCW_ATTRIBUTES);
  *builder = NULL;
  CHECK_STATUS(L, ccw_attributes_finish(finished, (ccw_attributes **)box));
  return 1;
}

static int builder_gc(lua_State *L)
{
  void **box = luaL_checkudata(L, 1, CCW_BUILDER);
  ccw_attributes_discard(*box);
  *box = NULL;
  return 0;
}

/* ---- use ----------------------------------------------------------------------------------------------------------- */

static int attributes_tostring(lua_State *L)
{
  ccw_text text = {0};
  ccw_attributes_print(ccw_attributes_abi(check_box(L, 1, CCW_ATTRIBUTES)), &text);
  return push_text(L, &text);
}

static int attributes_len(lua_State *L)
{
  lua_pushinteger(L, ccw_attributes_abi(check_box(L, 1, CCW_ATTRIBUTES))->size);
  return 1;
}

/* names(dictionary) -> list. Sorted as a handler finds them, by byte. */
static int attributes_names(lua_State *L)
{
  const XLA_FFI_Attrs *attrs = ccw_attributes_abi(check_box(L, 1, CCW_ATTRIBUTES));
  lua_createtable(L, (int)attrs->size, 0);
  for (int64_t i = 0; i < attrs->size; ++i) {
    lua_pushlstring(L, attrs->names[i]->ptr, attrs->names[i]->len);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

static int attributes_gc(lua_State *L)
{
  void **box = luaL_checkudata(L, 1, CCW_ATTRIBUTES);
  ccw_attributes_release(*box);
  *box = NULL;
  return 0;
}

void open_attributes(lua_State *L)
{
  static const luaL_Reg builder_metamethods[] = {{"__gc", builder_gc}, {NULL, NULL}};
  static const luaL_Reg builder_methods[] = {{"add", builder_add}, {"finish", builder_finish}, {NULL, NULL}};
  static const luaL_Reg metamethods[] = {
      {"__tostring", attributes_tostring}, {"__len", attributes_len}, {"__gc", attributes_gc}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"builder", builder_new}, {"names", attributes_names}, {NULL, NULL}};
  new_metatable(L, CCW_BUILDER, builder_metamethods, builder_methods);
  lua_pop(L, 1);
  new_metatable(L, CCW_ATTRIBUTES, metamethods, NULL);
  lua_setfield(L, -2, "attributes_metatable");
  luaL_setfuncs(L, functions, 0);
}

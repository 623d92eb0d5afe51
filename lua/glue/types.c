/* Types: the type of an array or a tuple. */
#include "glue.h"

#include <string.h>

ccw_type *check_type(lua_State *L, int index)
{
  index = lua_absindex(L, index);
  if (lua_type(L, index) == LUA_TSTRING) {
    size_t length;
    const char *text = lua_tolstring(L, index, &length);
    void **box = new_box(L, CCW_TYPE);
    ccw_status status = ccw_type_parse(text, length, (ccw_type **)box);
    if (status.code) raise_status(L, status, NULL, NULL);
    lua_replace(L, index);
  } else if (!test_kind(L, index, CCW_TYPE)) {
    luaL_typeerror(L, index, "type");
  }
  return check_box(L, index, CCW_TYPE);
}

const ccw_shape *check_shape(lua_State *L, int index)
{
  const ccw_shape *shape = ccw_type_shape(check_type(L, index));
  if (!shape) luaL_argerror(L, index, "expected the type of an array, got a tuple");
  return shape;
}

bool to_shape(lua_State *L, int index, ccw_shape *out_shape)
{
  if (lua_type(L, index) != LUA_TSTRING) {
    const ccw_shape *shape = ccw_type_shape(check_type(L, index));
    if (shape) *out_shape = *shape;
    return shape != NULL;
  }
  size_t length;
  const char *text = lua_tolstring(L, index, &length);
  if (text[strspn(text, " \t\n")] == '(') return false;
  ccw_status status = ccw_shape_parse(text, length, out_shape);
  if (status.code) raise_status(L, status, NULL, NULL);
  return true;
}

void push_dims(lua_State *L, const ccw_shape *shape)
{
  lua_createtable(L, shape->rank, 0);
  for (int32_t i = 0; i < shape->rank; ++i) {
    lua_pushinteger(L, shape->dims[i]);
    lua_rawseti(L, -2, i + 1);
  }
}

/* ccw.type(text) -> type. Reads the text of a type: "f32[2,3]", "f32[]", "token[]", "(f32[32], (f32[64], f32[128]))".
 * ?type tells what it has. */
static int type_new(lua_State *L)
{
  check_type(L, 1);
  lua_settop(L, 1);
  return 1;
}

static int type_tostring(lua_State *L)
{
  ccw_text text = {0};
  ccw_type_print(check_box(L, 1, CCW_TYPE), &text);
  return push_text(L, &text);
}

static int type_len(lua_State *L)
{
  lua_pushinteger(L, ccw_type_size(check_box(L, 1, CCW_TYPE)));
  return 1;
}

static int type_eq(lua_State *L)
{
  void **a = test_kind(L, 1, CCW_TYPE), **b = test_kind(L, 2, CCW_TYPE);
  lua_pushboolean(L, a && b && *a && *b && ccw_type_equal(*a, *b));
  return 1;
}

/* type: of an array, or of a tuple; ccw.type reads one. Fields of an array's: dtype, dims, rank, count (elements), bytes (in memory). A
 * tuple's has a length, #t, and elements, t[1]. tostring gives the text back; two are equal when they are the same type. A type
 * stands wherever its text may stand. */
static int type_index(lua_State *L)
{
  const ccw_type *type = check_box(L, 1, CCW_TYPE);
  const ccw_shape *shape = ccw_type_shape(type);
  lua_settop(L, 2);
  if (!shape && lua_isinteger(L, 2) && lua_tointeger(L, 2) >= 1 && lua_tointeger(L, 2) <= ccw_type_size(type)) {
    int64_t element = lua_tointeger(L, 2) - 1;
    *new_box(L, CCW_TYPE) = ccw_type_retain(ccw_type_element(type, element));
    return 1;
  }
  const char *field = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  if (shape && strcmp(field, "dtype") == 0) {
    lua_pushstring(L, ccw_dtype_name(shape->dtype));
  } else if (shape && strcmp(field, "rank") == 0) {
    lua_pushinteger(L, shape->rank);
  } else if (shape && strcmp(field, "count") == 0) {
    lua_pushinteger(L, shape->count);
  } else if (shape && strcmp(field, "bytes") == 0) {
    lua_pushinteger(L, shape->bytes);
  } else if (shape && strcmp(field, "dims") == 0) {
    push_dims(L, shape);
  } else {
    lua_pushnil(L);
  }
  return 1;
}

static int type_gc(lua_State *L)
{
  void **box = check_kind(L, 1, CCW_TYPE);
  ccw_type_release(*box);
  *box = NULL;
  return 0;
}

void open_types(lua_State *L)
{
  static const luaL_Reg metamethods[] = {{"__tostring", type_tostring}, {"__len", type_len}, {"__eq", type_eq},
      {"__index", type_index}, {"__gc", type_gc}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"type", type_new}, {NULL, NULL}};
  new_kind(L, CCW_TYPE, metamethods, NULL);
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}

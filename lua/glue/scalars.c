/* Scalars: numbers with a dtype, as ccw.f32(2) makes them. Elements that Lua has no number for are scalars too: complex
 * ones, and u64 above 2^63. */
#include "glue.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool to_scalar(lua_State *L, int index, ccw_scalar *out_scalar)
{
  ccw_scalar *scalar;
  switch (lua_type(L, index)) {
  case LUA_TBOOLEAN:
    *out_scalar = (ccw_scalar){.dtype = XLA_FFI_DataType_PRED, .as.pred = lua_toboolean(L, index)};
    return true;
  case LUA_TNUMBER:
    if (lua_isinteger(L, index))
      *out_scalar = (ccw_scalar){.dtype = XLA_FFI_DataType_S64, .as.s = lua_tointeger(L, index)};
    else
      *out_scalar = (ccw_scalar){.dtype = XLA_FFI_DataType_F64, .as.f = lua_tonumber(L, index)};
    return true;
  default:
    scalar = test_kind(L, index, CCW_SCALAR);
    if (scalar) *out_scalar = *scalar;
    return scalar != NULL;
  }
}

static void push_box(lua_State *L, ccw_scalar scalar)
{
  ccw_scalar *box = lua_newuserdatauv(L, sizeof *box, 0);
  *box = scalar;
  set_kind(L, CCW_SCALAR);
}

void push_scalar(lua_State *L, ccw_scalar scalar)
{
  switch (ccw_dtype_class(scalar.dtype)) {
  case CCW_CLASS_PRED: lua_pushboolean(L, scalar.as.pred); break;
  case CCW_CLASS_SIGNED: lua_pushinteger(L, scalar.as.s); break;
  case CCW_CLASS_FLOAT: lua_pushnumber(L, scalar.as.f); break;
  case CCW_CLASS_UNSIGNED:
    if (scalar.as.u <= INT64_MAX) {
      lua_pushinteger(L, (lua_Integer)scalar.as.u);
      break;
    }
    /* fallthrough */
  default: push_box(L, scalar); break;
  }
}

ccw_dtype check_dtype(lua_State *L, int index)
{
  size_t length;
  if (lua_type(L, index) != LUA_TSTRING) luaL_typeerror(L, index, "dtype");
  const char *name = lua_tolstring(L, index, &length);
  ccw_dtype dtype = ccw_dtype_from_name(name, length);
  if (dtype == XLA_FFI_DataType_INVALID) {
    const char *message = lua_pushfstring(L, "no dtype is called '%s'", name);
    luaL_argerror(L, index, message);
  }
  return dtype;
}

/* The number that a text spells, as Lua spells numbers; decimal ones may go up to 2^64 - 1. */
static bool read_number(lua_State *L, const char *text, size_t length, ccw_scalar *out_scalar)
{
  char *end;
  errno = 0;
  unsigned long long big = strtoull(text, &end, 10);
  if (isdigit((unsigned char)text[0]) && end == text + length && errno == 0 && big > INT64_MAX) {
    *out_scalar = (ccw_scalar){.dtype = XLA_FFI_DataType_U64, .as.u = big};
    return true;
  }
  if (lua_stringtonumber(L, text) != length + 1) return false;
  bool found = to_scalar(L, -1, out_scalar);
  lua_pop(L, 1);
  return found;
}

/* scalar(dtype, value [, imaginary]) -> scalar. A number of that dtype. Floats round, integers must fit. A string is read
 * as a number, so that u64 has a way to be written above 2^63. */
static int scalar_new(lua_State *L)
{
  ccw_dtype dtype = check_dtype(L, 1);
  ccw_scalar scalar, part;
  size_t length;
  if (lua_type(L, 2) == LUA_TSTRING) {
    const char *text = lua_tolstring(L, 2, &length);
    if (!read_number(L, text, length, &scalar)) return luaL_argerror(L, 2, "the string is no number");
  } else if (!to_scalar(L, 2, &scalar)) {
    return luaL_typeerror(L, 2, "number");
  }
  ccw_status status = ccw_scalar_convert(scalar, dtype, &scalar);
  if (status.code) return raise_misuse(L, 2, status);
  if (!lua_isnoneornil(L, 3)) {
    if (ccw_dtype_class(dtype) != CCW_CLASS_COMPLEX) return luaL_argerror(L, 3, "only complex numbers have two parts");
    if (!to_scalar(L, 3, &part)) return luaL_typeerror(L, 3, "number");
    status = ccw_scalar_convert(part, dtype, &part);
    if (status.code) return raise_misuse(L, 3, status);
    scalar.as.c[1] = part.as.c[0];
  }
  push_box(L, scalar);
  return 1;
}

static int scalar_tostring(lua_State *L)
{
  const ccw_scalar *scalar = (const void *)check_kind(L, 1, CCW_SCALAR);
  bool complex = ccw_dtype_class(scalar->dtype) == CCW_CLASS_COMPLEX; /* brings its own parentheses */
  ccw_text text = {0};
  ccw_text_add(&text, complex ? "%s" : "%s(", ccw_dtype_name(scalar->dtype));
  ccw_scalar_print(*scalar, &text);
  if (!complex) ccw_text_add(&text, ")");
  return push_text(L, &text);
}

/* Fields: dtype; value, as Lua has it; re and im of a complex one. */
static int scalar_index(lua_State *L)
{
  const ccw_scalar *scalar = (const void *)check_kind(L, 1, CCW_SCALAR);
  const char *field = luaL_checkstring(L, 2);
  bool complex = ccw_dtype_class(scalar->dtype) == CCW_CLASS_COMPLEX;
  if (strcmp(field, "dtype") == 0)
    lua_pushstring(L, ccw_dtype_name(scalar->dtype));
  else if (strcmp(field, "value") == 0)
    push_scalar(L, *scalar);
  else if (complex && (strcmp(field, "re") == 0 || strcmp(field, "im") == 0))
    lua_pushnumber(L, scalar->as.c[field[0] == 'i']);
  else
    lua_pushnil(L);
  return 1;
}

/* Equal are scalars of one dtype and value. */
static int scalar_eq(lua_State *L)
{
  const ccw_scalar *a = test_kind(L, 1, CCW_SCALAR), *b = test_kind(L, 2, CCW_SCALAR);
  bool equal = a && b && a->dtype == b->dtype;
  if (equal) switch (ccw_dtype_class(a->dtype)) {
    case CCW_CLASS_PRED: equal = a->as.pred == b->as.pred; break;
    case CCW_CLASS_FLOAT: equal = a->as.f == b->as.f; break;
    case CCW_CLASS_COMPLEX: equal = a->as.c[0] == b->as.c[0] && a->as.c[1] == b->as.c[1]; break;
    default: equal = a->as.u == b->as.u; break;
    }
  lua_pushboolean(L, equal);
  return 1;
}

/* dtypes() -> table. The names of all dtypes, each with its number, bits and class. */
static int dtypes(lua_State *L)
{
  lua_newtable(L);
#define ROW(NAME, name, number, bits, class) \
  lua_createtable(L, 0, 3);                  \
  lua_pushinteger(L, number);                \
  lua_setfield(L, -2, "number");             \
  lua_pushinteger(L, bits);                  \
  lua_setfield(L, -2, "bits");               \
  lua_pushliteral(L, #class);                \
  lua_setfield(L, -2, "class");              \
  lua_setfield(L, -2, #name);
  CCW_DTYPES(ROW)
#undef ROW
  return 1;
}

void open_scalars(lua_State *L)
{
  static const luaL_Reg metamethods[] = {
      {"__tostring", scalar_tostring}, {"__index", scalar_index}, {"__eq", scalar_eq}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"scalar", scalar_new}, {"dtypes", dtypes}, {NULL, NULL}};
  new_kind(L, CCW_SCALAR, metamethods, NULL);
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}

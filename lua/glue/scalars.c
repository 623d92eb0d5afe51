/* Scalars: numbers with a dtype, as ccw.f32(2) makes them. Elements that Lua has no number for are scalars too: complex
 * ones, and u64 above 2^63. */
#include "glue.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
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

void push_attribute_number(lua_State *L, ccw_scalar scalar)
{
  bool is_plain = scalar.dtype == XLA_FFI_DataType_PRED || scalar.dtype == XLA_FFI_DataType_S64 ||
                  scalar.dtype == XLA_FFI_DataType_F64;
  if (is_plain)
    push_scalar(L, scalar);
  else
    push_box(L, scalar);
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

/* The whole number that a text spells in decimal or, with 0x, in hex. False where it spells none; `fits` says whether the
 * number lies from -2^63 to 2^64 - 1. */
static bool read_integer(const char *text, size_t length, ccw_scalar *out_scalar, bool *out_fits)
{
  bool negative = text[0] == '-';
  const char *digits = text + negative;
  bool hex = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
  char *end;
  errno = 0;
  unsigned long long magnitude = strtoull(digits, &end, hex ? 16 : 10);
  if (!isdigit((unsigned char)digits[0]) || (hex && !isxdigit((unsigned char)digits[2])) || end != text + length)
    return false;
  *out_fits = errno == 0 && (!negative || magnitude <= 1ULL << 63);
  if (negative)
    *out_scalar = (ccw_scalar){.dtype = XLA_FFI_DataType_S64, .as.u = 0 - magnitude};
  else
    *out_scalar = (ccw_scalar){.dtype = XLA_FFI_DataType_U64, .as.u = magnitude};
  return true;
}

/* The number that a text spells, as Lua spells numbers, or nan, inf, -inf. */
static bool read_float(lua_State *L, const char *text, size_t length, ccw_scalar *out_scalar)
{
  static const struct {
    const char *name;
    double value;
  } words[] = {{"nan", NAN}, {"inf", INFINITY}, {"-inf", -INFINITY}};
  for (size_t i = 0; i < sizeof words / sizeof *words; ++i) {
    if (strcmp(text, words[i].name) != 0) continue;
    *out_scalar = (ccw_scalar){.dtype = XLA_FFI_DataType_F64, .as.f = words[i].value};
    return true;
  }
  if (lua_stringtonumber(L, text) != length + 1) return false;
  bool found = to_scalar(L, -1, out_scalar);
  lua_pop(L, 1);
  return found;
}

/* Pushes why the value at an index is no number of that dtype, and returns 1; 0 where it is one. */
static int push_why_not(lua_State *L, int index, ccw_dtype dtype, ccw_scalar *out_scalar)
{
  if (lua_type(L, index) != LUA_TSTRING) {
    if (to_scalar(L, index, out_scalar)) return push_problem(L, ccw_scalar_convert(*out_scalar, dtype, out_scalar));
    lua_pushfstring(L, "expected number, got %s", kind_name(L, index));
    return 1;
  }
  size_t length;
  const char *text = lua_tolstring(L, index, &length);
  bool fits = true, is_integer = read_integer(text, length, out_scalar, &fits);
  if (is_integer && fits) return push_problem(L, ccw_scalar_convert(*out_scalar, dtype, out_scalar));
  if (is_integer && (ccw_dtype_class(dtype) == CCW_CLASS_SIGNED || ccw_dtype_class(dtype) == CCW_CLASS_UNSIGNED)) {
    lua_pushfstring(L, "%s does not fit in %s", text, ccw_dtype_name(dtype));
    return 1;
  }
  if (read_float(L, text, length, out_scalar))
    return push_problem(L, ccw_scalar_convert(*out_scalar, dtype, out_scalar));
  lua_pushliteral(L, "the string is no number");
  return 1;
}

/* Reads the number at an index as one of that dtype; else pushes nil, the position and the reason. */
static bool read_part(lua_State *L, int index, ccw_dtype dtype, ccw_scalar *out_scalar)
{
  lua_pushnil(L);
  lua_pushinteger(L, index - 1);
  if (push_why_not(L, index, dtype, out_scalar) > 0) return false;
  lua_pop(L, 2);
  return true;
}

/* scalar(dtype, value [, imaginary]) -> scalar, or nil, which of the two, and why not. A number of that dtype. Floats round,
 * integers must fit. A string is read as a number, so that u64 has a way to be written above 2^63. */
static int scalar_new(lua_State *L)
{
  ccw_dtype dtype = check_dtype(L, 1);
  ccw_scalar scalar;
  lua_settop(L, 3);
  if (lua_isnil(L, 3)) {
    if (!read_part(L, 2, dtype, &scalar)) return 3;
  } else {
    ccw_dtype real = dtype == XLA_FFI_DataType_C64 ? XLA_FFI_DataType_F32 : XLA_FFI_DataType_F64;
    ccw_scalar re, im;
    if (ccw_dtype_class(dtype) != CCW_CLASS_COMPLEX) {
      lua_pushnil(L);
      lua_pushinteger(L, 2);
      lua_pushliteral(L, "only complex numbers have two parts");
      return 3;
    }
    if (!read_part(L, 2, real, &re) || !read_part(L, 3, real, &im)) return 3;
    scalar = (ccw_scalar){.dtype = dtype, .as.c = {re.as.f, im.as.f}};
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

/* Fields: dtype; value, as Lua has it; re and im, or [1] and [2], of a complex one. */
static int scalar_index(lua_State *L)
{
  const ccw_scalar *scalar = (const void *)check_kind(L, 1, CCW_SCALAR);
  const char *field = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  lua_Integer number = lua_isinteger(L, 2) ? lua_tointeger(L, 2) : 0;
  bool re = strcmp(field, "re") == 0 || number == 1, im = strcmp(field, "im") == 0 || number == 2;
  if (strcmp(field, "dtype") == 0)
    lua_pushstring(L, ccw_dtype_name(scalar->dtype));
  else if (strcmp(field, "value") == 0)
    push_scalar(L, *scalar);
  else if ((re || im) && ccw_dtype_class(scalar->dtype) == CCW_CLASS_COMPLEX)
    lua_pushnumber(L, scalar->as.c[im]);
  else
    lua_pushnil(L);
  return 1;
}

/* Equal are scalars of one dtype and value. */
static int scalar_eq(lua_State *L)
{
  const ccw_scalar *a = test_kind(L, 1, CCW_SCALAR), *b = test_kind(L, 2, CCW_SCALAR);
  lua_pushboolean(L, a && b && ccw_scalar_equal(*a, *b));
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

/* fit(dtype, number) -> scalar, or nil, why, code; as ccw_scalar_fit. */
static int scalar_fit(lua_State *L)
{
  ccw_dtype dtype = check_dtype(L, 1);
  ccw_scalar scalar;
  luaL_argexpected(L, to_scalar(L, 2, &scalar), 2, "number");
  ccw_status status = ccw_scalar_fit(scalar, dtype, &scalar);
  lua_pushnil(L);
  if (status.code) return push_unless(L, status);
  push_box(L, scalar);
  return 1;
}

void open_scalars(lua_State *L)
{
  static const luaL_Reg metamethods[] = {
      {"__tostring", scalar_tostring}, {"__index", scalar_index}, {"__eq", scalar_eq}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"scalar", scalar_new}, {"fit", scalar_fit}, {"dtypes", dtypes}, {NULL, NULL}};
  new_kind(L, CCW_SCALAR, metamethods, NULL);
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}

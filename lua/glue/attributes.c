/* Attributes: built piece by piece, then immutable. What a Lua table means is decided in ccw/attributes.lua. */
#include "glue.h"

#include <string.h>

/* ---- building ------------------------------------------------------------------------------------------------------ */

/* builder() -> builder. */
static int builder_new(lua_State *L)
{
  void **box = new_box(L, CCW_BUILDER);
  CHECK_STATUS(L, ccw_attributes_begin((ccw_attributes_builder **)box));
  return 1;
}

/* The kind of the attribute of that name, as far as a signature tells. */
static ccw_kind kind_in(const ccw_signature *signature, const char *name)
{
  const ccw_binding *binding = signature ? ccw_signature_binding(signature) : NULL;
  for (int64_t i = 0; binding && i < binding->count; ++i) {
    const ccw_parameter *parameter = &binding->parameters[i];
    if (parameter->word == CCW_WORD_ATTR && strcmp(parameter->name, name) == 0) return parameter->kind;
  }
  return (ccw_kind){.form = CCW_FORM_UNKNOWN};
}

/* The value of an enum that a string names; false where it names none. */
static bool to_enum_value(lua_State *L, int index, ccw_kind kind, ccw_scalar *out_scalar)
{
  if (kind.form != CCW_FORM_ENUM || lua_type(L, index) != LUA_TSTRING) return false;
  const ccw_enum_info *info = kind.detail;
  for (int64_t i = 0; i < info->count; ++i)
    if (strcmp(info->values[i].name, lua_tostring(L, index)) == 0) {
      *out_scalar = (ccw_scalar){.dtype = (ccw_dtype)kind.dtype, .as.s = info->values[i].value};
      return true;
    }
  return false;
}

/* What is wrong with a string that names no value of an enum. */
static ccw_status no_enum_value(lua_State *L, int index, ccw_kind kind)
{
  size_t length;
  const char *name = lua_tolstring(L, index, &length);
  const ccw_enum_info *info = kind.detail;
  ccw_text text = {0};
  ccw_near near = ccw_near_to(name, length);
  ccw_text_add(&text, "expected ");
  for (int64_t i = 0; i < info->count; ++i) {
    ccw_text_add(&text, "%s%s", i ? ", " : "", info->values[i].name);
    ccw_near_offer(&near, info->values[i].name, strlen(info->values[i].name));
  }
  ccw_text_add(&text, " or its number, got ");
  ccw_text_add_quoted(&text, name, length);
  ccw_near_print(&near, &text);
  ccw_status status = ccw_text_status(&text);
  if (!status.code)
    status = ccw_status_from_text(XLA_FFI_Error_Code_INVALID_ARGUMENT, ccw_text_data(&text), text.length);
  ccw_text_free(&text);
  return status;
}

/* The number at an index as a kind wants it: plain numbers have no type of their own. */
static ccw_status fit(lua_State *L, int index, ccw_kind kind, ccw_scalar *scalar)
{
  if (lua_type(L, index) != LUA_TNUMBER) return ccw_ok();
  switch (kind.form) {
  case CCW_FORM_SCALAR:
  case CCW_FORM_ENUM: return ccw_scalar_fit(*scalar, (ccw_dtype)kind.dtype, scalar);
  case CCW_FORM_POINTER: return ccw_scalar_fit(*scalar, XLA_FFI_DataType_S64, scalar);
  default: return ccw_ok();
  }
}

/* Adds the number, boolean, scalar or string at an index; false for anything else. */
static bool add_simple(lua_State *L, ccw_attributes_builder *builder, const char *name, size_t name_length, int index,
    ccw_kind kind, ccw_status *out_status)
{
  ccw_scalar scalar;
  size_t length;
  if (to_enum_value(L, index, kind, &scalar)) {
    *out_status = ccw_attributes_add_scalar(builder, name, name_length, scalar);
  } else if (to_scalar(L, index, &scalar)) {
    *out_status = fit(L, index, kind, &scalar);
    if (!out_status->code) *out_status = ccw_attributes_add_scalar(builder, name, name_length, scalar);
  } else if (lua_type(L, index) == LUA_TSTRING && kind.form == CCW_FORM_ENUM) {
    *out_status = no_enum_value(L, index, kind);
  } else if (lua_type(L, index) == LUA_TSTRING) {
    const char *bytes = lua_tolstring(L, index, &length);
    *out_status = ccw_attributes_add_string(builder, name, name_length, bytes, length);
  } else {
    return false;
  }
  return true;
}

/* add(builder, name, value) -> nil, or why not. The value is a boolean, a number, a scalar, a string, a buffer (an array
 * attribute, whatever its rank) or a dictionary. */
static int builder_add(lua_State *L)
{
  ccw_attributes_builder *builder = check_box(L, 1, CCW_BUILDER);
  size_t name_length;
  const char *name = luaL_checklstring(L, 2, &name_length);
  ccw_status status;
  ccw_kind unknown = {.form = CCW_FORM_UNKNOWN};
  if (add_simple(L, builder, name, name_length, 3, unknown, &status)) return push_problem(L, status);
  if (test_kind(L, 3, CCW_BUFFER)) {
    const ccw_buffer *buffer = check_buffer(L, 3);
    const ccw_shape *shape = ccw_buffer_shape(buffer);
    return push_problem(
        L, ccw_attributes_add_array(builder, name, name_length, shape->dtype, ccw_buffer_data(buffer), shape->count));
  }
  return push_problem(L, ccw_attributes_add_dictionary(builder, name, name_length, check_box(L, 3, CCW_ATTRIBUTES)));
}

/* finish(builder) -> dictionary. The builder itself becomes it. */
static int builder_finish(lua_State *L)
{
  ccw_attributes_builder *builder = check_box(L, 1, CCW_BUILDER);
  void **box = lua_touserdata(L, 1);
  *box = NULL;
  lua_settop(L, 1);
  set_kind(L, CCW_ATTRIBUTES);
  CHECK_STATUS(L, ccw_attributes_finish(builder, (ccw_attributes **)box));
  return 1;
}

/* A value that is an attribute whatever its name is: no table, and no scalar of the types that XLA has no attributes of. */
static bool is_simple_value(lua_State *L, int index)
{
  ccw_scalar scalar;
  if (lua_type(L, index) == LUA_TSTRING) return true;
  if (!to_scalar(L, index, &scalar)) return false;
  return lua_type(L, index) != LUA_TUSERDATA ||
         (ccw_dtype_bits(scalar.dtype) >= 32 && ccw_dtype_class(scalar.dtype) != CCW_CLASS_COMPLEX);
}

/* is_simple(table) -> boolean. Whether it holds names with simple values and nothing else, so that a call can take it as it
 * is. */
static int is_simple(lua_State *L)
{
  lua_settop(L, 1);
  bool simple = true;
  for (lua_pushnil(L); simple && lua_next(L, 1); lua_settop(L, 2))
    simple = lua_type(L, 2) == LUA_TSTRING && is_simple_value(L, 3);
  lua_pushboolean(L, simple);
  return 1;
}

ccw_status build_simple(lua_State *L, int index, const ccw_signature *signature, ccw_attributes **out_attributes)
{
  ccw_attributes_builder *builder;
  CCW_TRY(ccw_attributes_begin(&builder));
  ccw_status status = ccw_ok();
  for (lua_pushnil(L); !status.code && lua_next(L, index); lua_pop(L, 1)) {
    size_t name_length;
    if (lua_type(L, -2) != LUA_TSTRING) { /* a finalizer has changed the table since it was looked at */
      status = ccw_internal("the table changed while it was read");
      continue;
    }
    const char *name = lua_tolstring(L, -2, &name_length);
    if (!add_simple(L, builder, name, name_length, lua_gettop(L), kind_in(signature, name), &status))
      status = ccw_internal("not simple");
    if (status.code && status.code != XLA_FFI_Error_Code_RESOURCE_EXHAUSTED) {
      ccw_status named = ccw_status_make(status.code, "attribute '%s': %s", name, ccw_status_text(status));
      ccw_status_free(status);
      status = named;
    }
  }
  if (!status.code) return ccw_attributes_finish(builder, out_attributes);
  ccw_attributes_discard(builder);
  return status;
}

static int builder_gc(lua_State *L)
{
  void **box = check_kind(L, 1, CCW_BUILDER);
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

static int attributes_index(lua_State *L)
{
  return luaL_error(L, "attributes are for handlers to read: print them, or keep the table that they were made of");
}

/* names(dictionary) -> list. Sorted as a handler finds them, by byte. */
static int attributes_names(lua_State *L)
{
  int64_t count = ccw_attributes_abi(check_box(L, 1, CCW_ATTRIBUTES))->size;
  lua_createtable(L, (int)count, 0);
  for (int64_t i = 0; i < count; ++i) {
    const XLA_FFI_ByteSpan *name = ccw_attributes_abi(check_box(L, 1, CCW_ATTRIBUTES))->names[i];
    lua_pushlstring(L, name->ptr, name->len);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

static void push_values(lua_State *L, const XLA_FFI_Attrs *attrs);

static void push_array(lua_State *L, const XLA_FFI_Array *array)
{
  ccw_shape shape;
  int64_t size = (int64_t)array->size;
  ccw_status status = ccw_shape_make((ccw_dtype)array->dtype, &size, 1, &shape);
  if (status.code) raise_status(L, status, NULL, NULL);
  void **box = new_box(L, CCW_BUFFER);
  status = ccw_buffer_new(&shape, false, (ccw_buffer **)box);
  if (status.code) raise_status(L, status, NULL, NULL);
  if (shape.bytes > 0) memcpy(ccw_buffer_data(*box), array->data, (size_t)shape.bytes);
}

static void push_value(lua_State *L, XLA_FFI_AttrType type, const void *value)
{
  const XLA_FFI_Scalar *scalar = value;
  const XLA_FFI_ByteSpan *string = value;
  switch (type) {
  case XLA_FFI_AttrType_SCALAR:
    push_attribute_number(L, ccw_scalar_load((ccw_dtype)scalar->dtype, scalar->value));
    break;
  case XLA_FFI_AttrType_STRING: lua_pushlstring(L, string->len > 0 ? string->ptr : "", string->len); break;
  case XLA_FFI_AttrType_ARRAY: push_array(L, value); break;
  default: push_values(L, value); break;
  }
}

static void push_values(lua_State *L, const XLA_FFI_Attrs *attrs)
{
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  lua_createtable(L, 0, (int)attrs->size);
  for (int64_t i = 0; i < attrs->size; ++i) {
    lua_pushlstring(L, attrs->names[i]->ptr, attrs->names[i]->len);
    push_value(L, attrs->types[i], attrs->attrs[i]);
    lua_rawset(L, -3);
  }
}

/* values(dictionary) -> table. What it holds, as ccw.attrs takes it and keeps its types: numbers of other dtypes than s64 and f64 are
 * scalars, arrays are buffers of their own, dictionaries tables. */
static int attributes_values(lua_State *L)
{
  push_values(L, ccw_attributes_abi(check_box(L, 1, CCW_ATTRIBUTES)));
  return 1;
}

static int attributes_gc(lua_State *L)
{
  void **box = check_kind(L, 1, CCW_ATTRIBUTES);
  ccw_attributes_release(*box);
  *box = NULL;
  return 0;
}

void open_attributes(lua_State *L)
{
  static const luaL_Reg builder_metamethods[] = {{"__gc", builder_gc}, {NULL, NULL}};
  static const luaL_Reg builder_methods[] = {{"add", builder_add}, {"finish", builder_finish}, {NULL, NULL}};
  static const luaL_Reg metamethods[] = {{"__tostring", attributes_tostring}, {"__len", attributes_len},
      {"__index", attributes_index}, {"__gc", attributes_gc}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"builder", builder_new}, {"is_simple", is_simple}, {"names", attributes_names},
      {"values", attributes_values}, {NULL, NULL}};
  new_kind(L, CCW_BUILDER, builder_metamethods, builder_methods);
  lua_pop(L, 1);
  new_kind(L, CCW_ATTRIBUTES, metamethods, NULL);
  lua_setfield(L, -2, "attributes_metatable");
  luaL_setfuncs(L, functions, 0);
}

/* Signatures: what a handler binds, as text. */
#include "glue.h"

#include <ctype.h>
#include <string.h>

static ccw_signature *check_signature(lua_State *L, int index) { return check_box(L, index, CCW_SIGNATURE); }

/* Kinds by name: texts of Lua's, name and kind in turn, ended by NULL. */
static const char *find_kind(void *context, const char *name)
{
  for (const char **kinds = context; *kinds; kinds += 2)
    if (strcmp(kinds[0], name) == 0) return kinds[1];
  return NULL;
}

/* The names and texts of a table, which keeps them, in memory of Lua's, which stays on the stack. */
static const char **check_kinds(lua_State *L, int index)
{
  size_t count = 0;
  luaL_checktype(L, index, LUA_TTABLE);
  for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) ++count;
  const char **kinds = lua_newuserdatauv(L, (2 * count + 1) * sizeof *kinds, 0), **kind = kinds;
  for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING || lua_type(L, -1) != LUA_TSTRING)
      luaL_argerror(L, index, "expected names of kinds and their texts");
    *kind++ = check_text(L, -2);
    *kind++ = check_text(L, -1);
  }
  *kind = NULL;
  return kinds;
}

/* ccw.signature(text [, kinds]) -> signature. Reads what a handler binds: "scale(x: f32[n]) -> (y: f32[n]) {s: f32}". tostring gives
 * the text back. Contexts are @stream and the like; operands and results are patterns: f32[4,n,?], s32|s64[n], any[*] for any
 * rank, T[n] for any dtype, captured. A name of a dim means one size, wherever it stands. `mask?: pred[n]` is optional, `...`
 * the rest. Attributes are s64, f32[], string, {...}, {lo: s64, hi: s64}, s32 = add(0)|mul(1), or called by a name that the table
 * `kinds` explains by such a text. Field: name. */
static int signature_new(lua_State *L)
{
  size_t length;
  if (lua_type(L, 1) != LUA_TSTRING) luaL_typeerror(L, 1, "string");
  const char *text = lua_tolstring(L, 1, &length);
  const char **kinds = lua_isnoneornil(L, 2) ? NULL : check_kinds(L, 2);
  void **box = new_box(L, CCW_SIGNATURE);
  CHECK_STATUS(L, ccw_signature_parse(text, length, kinds ? find_kind : NULL, kinds, (ccw_signature **)box));
  return 1;
}

static int signature_tostring(lua_State *L)
{
  ccw_text text = {0};
  ccw_signature_print(check_signature(L, 1), &text);
  return push_text(L, &text);
}

/* The shapes of a list of types, or of their texts, in memory of Lua's, which stays on the stack. */
static const ccw_shape *const *check_shapes(lua_State *L, int index, int64_t *out_count)
{
  luaL_checktype(L, index, LUA_TTABLE);
  lua_Integer count = (lua_Integer)lua_rawlen(L, index);
  ccw_shape *shapes = lua_newuserdatauv(L, (size_t)count * (sizeof *shapes + sizeof(ccw_shape *)), 0);
  const ccw_shape **pointers = (const ccw_shape **)(shapes + count);
  for (lua_Integer i = 0; i < count; ++i) {
    lua_rawgeti(L, index, i + 1);
    if (!to_shape(L, -1, &shapes[i])) luaL_argerror(L, index, "expected the types of arrays, got a tuple");
    pointers[i] = &shapes[i];
    lua_pop(L, 1);
  }
  *out_count = count;
  return pointers;
}

/* signature:check(operands, results [, attributes [, who]]) -> true. Checks a call of these types, lists of types or of their
 * texts. What is wrong is raised, all of it, a line each. `who` begins the message: the name, if it is left out. */
static int signature_check(lua_State *L)
{
  const ccw_signature *signature = check_signature(L, 1);
  lua_settop(L, 5);
  const ccw_attributes *attributes = lua_isnil(L, 4) ? NULL : check_box(L, 4, CCW_ATTRIBUTES);
  const char *who = lua_isnil(L, 5) ? NULL : check_text(L, 5);
  int64_t operands, results;
  const ccw_shape *const *operand_shapes = check_shapes(L, 2, &operands);
  const ccw_shape *const *result_shapes = check_shapes(L, 3, &results);
  CHECK_STATUS(L, ccw_signature_check(signature, who, operand_shapes, operands, result_shapes, results,
                      ccw_attributes_abi(attributes)));
  lua_pushboolean(L, true);
  return 1;
}

/* signature:results(operands [, who]) -> list of types. The results that follow from the types of the operands; optional and
 * remaining ones are left out. `who` begins the message, as in check. */
static int signature_results(lua_State *L)
{
  const ccw_signature *signature = check_signature(L, 1);
  int64_t operands, count = ccw_signature_count(signature, CCW_WORD_RET);
  lua_settop(L, 3);
  const char *who = lua_isnil(L, 3) ? NULL : check_text(L, 3);
  const ccw_shape *const *shapes = check_shapes(L, 2, &operands);
  ccw_shape *results = lua_newuserdatauv(L, (size_t)count * sizeof *results, 0);
  CHECK_STATUS(L, ccw_signature_results(signature, who, shapes, operands, results));
  lua_createtable(L, (int)count, 0);
  for (int64_t i = 0; i < count; ++i) {
    void **box = new_box(L, CCW_TYPE);
    CHECK_STATUS(L, ccw_type_of_shape(&results[i], (ccw_type **)box));
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/* signature:agree(told [, who]) -> true. Checks that a declared signature says nothing else than what a binary tells, though
 * it may say more. What disagrees is raised, a line each. */
static int signature_agree(lua_State *L)
{
  const ccw_signature *declared = check_signature(L, 1), *told = check_signature(L, 2);
  const char *who = lua_isnoneornil(L, 3) ? NULL : check_text(L, 3);
  CHECK_STATUS(L, ccw_signature_agree(declared, told, who));
  lua_pushboolean(L, true);
  return 1;
}

/* Pushes the word of a parameter as Lua has it: "optional_arg". */
static void push_word(lua_State *L, ccw_word word)
{
  static const char *const words[] = {
#define WORD(NAME, family) [CCW_WORD_##NAME] = #NAME,
      CCW_WORDS(WORD)
#undef WORD
  };
  char small[32];
  size_t length = strlen(words[word]);
  for (size_t i = 0; i < length; ++i) small[i] = (char)tolower((unsigned char)words[word][i]);
  lua_pushlstring(L, small, length);
}

/* signature:parameters() -> list. All that is bound, in the order in which it was declared, each a table: word ("ctx", "arg",
 * "optional_arg", "remaining_args", "ret", ..., "attr", "attrs"), name ("" where there is none), text (its pattern or kind). */
static int signature_parameters(lua_State *L)
{
  const ccw_signature *signature = check_signature(L, 1);
  const ccw_binding *binding = ccw_signature_binding(signature);
  lua_createtable(L, (int)binding->count, 0);
  for (int64_t i = 0; i < binding->count; ++i) {
    lua_createtable(L, 0, 3);
    push_word(L, binding->parameters[i].word);
    lua_setfield(L, -2, "word");
    lua_pushstring(L, binding->parameters[i].name);
    lua_setfield(L, -2, "name");
    ccw_text text = {0};
    ccw_signature_print_parameter(signature, i, &text);
    push_text(L, &text);
    lua_setfield(L, -2, "text");
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/* The fields, and the methods behind them. */
static int signature_index(lua_State *L)
{
  const ccw_signature *signature = check_signature(L, 1);
  if (lua_type(L, 2) == LUA_TSTRING && strcmp(lua_tostring(L, 2), "name") == 0) {
    lua_pushstring(L, ccw_signature_name(signature));
  } else {
    lua_pushvalue(L, 2);
    lua_rawget(L, lua_upvalueindex(1));
  }
  return 1;
}

static int signature_gc(lua_State *L)
{
  void **box = check_kind(L, 1, CCW_SIGNATURE);
  ccw_signature_release(*box);
  *box = NULL;
  return 0;
}

static void push_kind(lua_State *L, ccw_kind kind);

/* Members by name. */
static void push_members(lua_State *L, const ccw_member *members, int64_t count)
{
  lua_createtable(L, 0, (int)count);
  for (int64_t i = 0; i < count; ++i) {
    push_kind(L, members[i].kind);
    lua_setfield(L, -2, members[i].name);
  }
}

/* A kind as a table: form, dtype, and the members of a struct. */
static void push_kind(lua_State *L, ccw_kind kind)
{
  static const char *const forms[] = {[CCW_FORM_UNKNOWN] = "unknown",
      [CCW_FORM_SCALAR] = "scalar",
      [CCW_FORM_ARRAY] = "array",
      [CCW_FORM_STRING] = "string",
      [CCW_FORM_DICTIONARY] = "dictionary",
      [CCW_FORM_POINTER] = "pointer",
      [CCW_FORM_ENUM] = "enum",
      [CCW_FORM_STRUCT] = "struct",
      [CCW_FORM_TYPE] = "type"};
  luaL_checkstack(L, 4, NULL);
  lua_createtable(L, 0, 3);
  lua_pushstring(L, forms[kind.form]);
  lua_setfield(L, -2, "form");
  lua_pushstring(L, ccw_dtype_name((ccw_dtype)kind.dtype));
  lua_setfield(L, -2, "dtype");
  const ccw_struct_info *info = kind.form == CCW_FORM_STRUCT ? kind.detail : NULL;
  if (info) {
    push_members(L, info->members, info->count);
    lua_setfield(L, -2, "members");
  }
  const ccw_enum_info *values = kind.form == CCW_FORM_ENUM ? kind.detail : NULL;
  for (int64_t i = 0; values && i < values->count; ++i) {
    if (i == 0) lua_newtable(L);
    lua_pushinteger(L, values->values[i].value);
    lua_setfield(L, -2, values->values[i].name);
    if (i == values->count - 1) lua_setfield(L, -2, "values");
  }
}

/* attribute_kinds(signature) -> table. What the attributes are to be, by name: form, dtype, members, values of an enum. */
static int attribute_kinds(lua_State *L)
{
  const ccw_binding *binding = ccw_signature_binding(check_signature(L, 1));
  lua_newtable(L);
  for (int64_t i = 0; i < binding->count; ++i) {
    if (binding->parameters[i].word != CCW_WORD_ATTR) continue;
    push_kind(L, binding->parameters[i].kind);
    lua_setfield(L, -2, binding->parameters[i].name);
  }
  return 1;
}

void open_signatures(lua_State *L)
{
  static const luaL_Reg metamethods[] = {{"__tostring", signature_tostring}, {"__gc", signature_gc}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"check", signature_check}, {"results", signature_results},
      {"agree", signature_agree}, {"parameters", signature_parameters}, {NULL, NULL}};
  static const luaL_Reg functions[] = {
      {"signature", signature_new}, {"attribute_kinds", attribute_kinds}, {NULL, NULL}};
  new_kind(L, CCW_SIGNATURE, metamethods, NULL);
  luaL_newlib(L, methods);
  lua_pushvalue(L, -1);
  lua_setfield(L, -4, "signature_methods"); /* what the prompt completes */
  lua_pushcclosure(L, signature_index, 1);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}

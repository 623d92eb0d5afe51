/* Prepared calls. */
#include "glue.h"

/* The user value of a call: a list of what a run returns, in its nesting, and of the buffers that it uses. Core holds the
 * buffers too; this list holds what keeps imported memory alive. */
enum { RETURNS = 1, OPERANDS, RESULTS };

/* The buffers of a list, in memory of Lua's. */
static ccw_buffer **check_buffers(lua_State *L, int index, int64_t *out_count)
{
  luaL_checktype(L, index, LUA_TTABLE);
  int64_t count = (int64_t)lua_rawlen(L, index);
  ccw_buffer **buffers = lua_newuserdatauv(L, (size_t)count * sizeof *buffers + 1, 0);
  for (int64_t i = 0; i < count; ++i) {
    lua_rawgeti(L, index, i + 1);
    buffers[i] = check_buffer(L, -1);
    lua_pop(L, 1);
  }
  *out_count = count;
  return buffers;
}

/* The list {result, operand, result, operand, ...} at an index. */
static ccw_alias *check_aliases(lua_State *L, int index, int64_t *out_count)
{
  luaL_checktype(L, index, LUA_TTABLE);
  int64_t count = (int64_t)lua_rawlen(L, index) / 2;
  ccw_alias *aliases = lua_newuserdatauv(L, (size_t)count * sizeof *aliases + 1, 0);
  for (int64_t i = 0; i < count; ++i) {
    lua_rawgeti(L, index, 2 * i + 1);
    lua_rawgeti(L, index, 2 * i + 2);
    aliases[i] = (ccw_alias){luaL_checkinteger(L, -2), luaL_checkinteger(L, -1)};
    lua_pop(L, 2);
  }
  *out_count = count;
  return aliases;
}

/* prepare(handler, operands, results, attributes, returns, name, aliases, run_id, device_ordinal, strict) -> call. Lists
 * are flat; `returns` is what every run gives back. */
static int call_prepare(lua_State *L)
{
  ccw_handler *handler = check_handler(L, 1);
  ccw_attributes *attributes = lua_isnil(L, 4) ? NULL : check_box(L, 4, CCW_ATTRIBUTES);
  lua_settop(L, 10);
  int64_t operand_count, result_count;
  ccw_buffer **operands = check_buffers(L, 2, &operand_count), **results = check_buffers(L, 3, &result_count);
  ccw_call_options options = {.name = luaL_optstring(L, 6, NULL),
      .run_id = check_integer(L, 8, INT64_MIN, INT64_MAX),
      .device_ordinal = (int32_t)check_integer(L, 9, INT32_MIN, INT32_MAX),
      .strict = lua_toboolean(L, 10)};
  options.aliases = check_aliases(L, 7, &options.alias_count);

  void **box = new_box(L, CCW_CALL);
  ccw_status status =
      ccw_call_prepare(handler, operands, operand_count, results, result_count, attributes, &options, (ccw_call **)box);
  if (status.code) {
    const char *name = options.name ? options.name : ccw_handler_describe(handler).name;
    return raise_status(L, status, name, NULL);
  }
  lua_createtable(L, 3, 0);
  lua_pushvalue(L, 5);
  lua_rawseti(L, -2, RETURNS);
  lua_pushvalue(L, 2);
  lua_rawseti(L, -2, OPERANDS);
  lua_pushvalue(L, 3);
  lua_rawseti(L, -2, RESULTS);
  lua_setiuservalue(L, -2, 1);
  return 1;
}

/* call() -> results. Runs the handler; the results are the same buffers each time, in the nesting of their types. Raises an
 * error object with the handler's code and message. */
static int call_run(lua_State *L)
{
  ccw_call *call = check_box(L, 1, CCW_CALL);
  ccw_status status = ccw_call_run(call);
  if (status.code) return raise_status(L, status, ccw_call_name(call), "execute");
  lua_getiuservalue(L, 1, 1);
  lua_rawgeti(L, -1, RETURNS);
  return 1;
}

/* call_name(call) -> string. What messages call it. */
static int call_name(lua_State *L)
{
  lua_pushstring(L, ccw_call_name(check_box(L, 1, CCW_CALL)));
  return 1;
}

/* call:explain() -> string. The frame, field by field, as the handler finds it in memory: offset, field, value. */
static int call_explain(lua_State *L)
{
  ccw_text text = {0};
  ccw_call_explain(check_box(L, 1, CCW_CALL), &text);
  return push_text(L, &text);
}

/* call:close(). Lets go of handler and buffers. `local call <close> = ...` does it at the end of the block. */
static int call_close(lua_State *L)
{
  void **box = luaL_checkudata(L, 1, CCW_CALL);
  ccw_call_free(*box);
  *box = NULL;
  return 0;
}

void open_calls(lua_State *L)
{
  static const luaL_Reg metamethods[] = {
      {"__call", call_run}, {"__gc", call_close}, {"__close", call_close}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"explain", call_explain}, {"close", call_close}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"prepare", call_prepare}, {"call_name", call_name}, {NULL, NULL}};
  new_metatable(L, CCW_CALL, metamethods, methods);
  lua_setfield(L, -2, "call_metatable");
  luaL_setfuncs(L, functions, 0);
}

/* Prepared calls. */
#include "glue.h"

#include <string.h>

/* The user value of a call: a list of what a run returns, in its nesting, of the buffers that it uses, and of what else was said of
 * it; SHARED are the aliases. Core holds the buffers too; this list holds what keeps imported memory alive. */
enum { RETURNS = 1, OPERANDS, RESULTS, OPTIONS, SHARED };

/* What a call is made of, as it stands on the stack: handler, operands, results, attributes, returns, name, aliases,
 * run_id, device_ordinal, strict, as_it_is, options. Operands and results are flat lists of buffers, or results are nil and RETURNED
 * is the only one; attributes are a dictionary, a simple table or nil; options are nil or a table of what is seldom said:
 * device; stream; stages, as core has them; by_hand, like_xla, checked, has_side_effect; custom_options, a dictionary; user_data, a list
 * {id, address or value, id, ...}. */
enum { HANDLER = 1, ARGS, RETS, ATTRIBUTES, RETURNED, NAME, ALIASES, RUN_ID, ORDINAL, STRICT, AS_IT_IS, MORE };

/* The box of a call has a second place: not NULL while it runs. */
enum { RUNNING = 1 };

enum { FEW = 16 }; /* buffers that need no memory to be listed */

typedef struct buffer_list {
  ccw_buffer **buffers;
  int64_t count;
  ccw_buffer *few[FEW];
} buffer_list;

/* Whose memory a call uses that is not kept: those whom it must not end under. */
enum { MOST_LENDERS = 8 };

typedef struct lenders {
  void *all[MOST_LENDERS];
  int count;
} lenders;

static void add_lender(lua_State *L, lenders *l, void *lender)
{
  for (int i = 0; i < l->count; ++i)
    if (l->all[i] == lender) return;
  if (l->count == MOST_LENDERS) luaL_error(L, "operands and results of more than %d other calls", MOST_LENDERS);
  l->all[l->count++] = lender;
}

static void hold_lenders(const lenders *l)
{
  for (int i = 0; i < l->count; ++i) hold_lender(l->all[i]);
}

static void let_go_of_lenders(const lenders *l)
{
  for (int i = 0; i < l->count; ++i) let_go_of_lender(l->all[i]);
}

/* Makes room for the list: before the buffers are looked at, since making anything may run finalizers, which may close. */
static void make_room(lua_State *L, int index, buffer_list *list)
{
  bool is_returned = index == RETS && lua_isnil(L, RETS);
  if (!is_returned) luaL_checktype(L, index, LUA_TTABLE);
  list->count = is_returned ? 1 : (int64_t)lua_rawlen(L, index);
  list->buffers = list->few;
  if (list->count > FEW) list->buffers = lua_newuserdatauv(L, (size_t)list->count * sizeof *list->buffers, 0);
}

/* Of the memory that is lent to a handler in Lua operands are read only, and none of it outlives the call. */
static ccw_buffer *check_loan(lua_State *L, ccw_buffer *buffer, bool is_result, lenders *l)
{
  ccw_loan loan = ccw_buffer_loan(buffer);
  if (*loan.label && !l)
    luaL_error(L, "a prepared call cannot keep %s, which lives as long as its call; pass its copy()", loan.label);
  if (loan.read_only && is_result) luaL_error(L, "%s: operands are read only", loan.label);
  if (*loan.label) add_lender(L, l, loan.lender);
  return buffer;
}

static void take_buffers(lua_State *L, int index, lenders *l, buffer_list *list)
{
  bool is_result = index == RETS;
  if (lua_isnil(L, index)) {
    list->buffers[0] = check_loan(L, check_buffer(L, RETURNED), is_result, l);
    return;
  }
  for (int64_t i = 0; i < list->count; ++i) {
    lua_rawgeti(L, index, i + 1);
    list->buffers[i] = check_loan(L, check_buffer(L, -1), is_result, l);
    lua_pop(L, 1);
  }
}

/* The list {result, operand, result, operand, ...} at an index, or nil. */
static ccw_alias *check_aliases(lua_State *L, int index, int64_t *out_count)
{
  *out_count = lua_isnil(L, index) ? 0 : (int64_t)lua_rawlen(L, index) / 2;
  if (*out_count == 0) return NULL;
  ccw_alias *aliases = lua_newuserdatauv(L, (size_t)*out_count * sizeof *aliases, 0);
  for (int64_t i = 0; i < *out_count; ++i) {
    lua_rawgeti(L, index, 2 * i + 1);
    lua_rawgeti(L, index, 2 * i + 2);
    aliases[i] = (ccw_alias){luaL_checkinteger(L, -2), luaL_checkinteger(L, -1)};
    lua_pop(L, 2);
  }
  return aliases;
}

/* Where user data lies: a buffer's memory, a block, or an address. */
static void *check_user_data(lua_State *L, int index)
{
  if (kind_of(L, index) == CCW_BUFFER) return ccw_buffer_data(check_buffer(L, index));
  return lua_touserdata(L, index);
}

static void take_user_data(lua_State *L, ccw_call_options *options)
{
  options->user_data_count = (int64_t)lua_rawlen(L, -1) / 2;
  ccw_user_data *list = lua_newuserdatauv(L, (size_t)options->user_data_count * sizeof *list, 0);
  options->user_data = list;
  for (int64_t i = 0; i < options->user_data_count; ++i) {
    lua_rawgeti(L, -2, 2 * i + 1);
    lua_rawgeti(L, -3, 2 * i + 2);
    list[i] = (ccw_user_data){luaL_checkinteger(L, -2), check_user_data(L, -1)};
    lua_pop(L, 2);
  }
}

static bool has_flag(lua_State *L, const char *name)
{
  bool is_set = lua_getfield(L, MORE, name) != LUA_TNIL && lua_toboolean(L, -1);
  lua_pop(L, 1);
  return is_set;
}

/* Takes what stands in the table of options, which keeps it. Leaves things on the stack. */
static void take_options(lua_State *L, ccw_call_options *options)
{
  if (lua_isnil(L, MORE)) return;
  options->by_hand = has_flag(L, "by_hand");
  options->like_xla = has_flag(L, "like_xla");
  options->checked = has_flag(L, "checked");
  options->has_side_effect = has_flag(L, "has_side_effect");
  lua_getfield(L, MORE, "stages");
  options->stages = (unsigned)lua_tointeger(L, -1);
  if (lua_getfield(L, MORE, "device") != LUA_TNIL) options->device = check_device(L, -1);
  if (lua_getfield(L, MORE, "stream") != LUA_TNIL) options->stream = check_stream(L, -1);
  if (lua_getfield(L, MORE, "custom_options") != LUA_TNIL) options->custom_options = check_box(L, -1, CCW_ATTRIBUTES);
  if (lua_getfield(L, MORE, "user_data") != LUA_TNIL) take_user_data(L, options);
}

/* What messages call the call that stands on the stack. Stays valid as long as that stands there. */
static const char *name_of(lua_State *L)
{
  const char *name = lua_tostring(L, NAME);
  return name ? name : ccw_handler_describe(check_handler(L, HANDLER)).name;
}

/* The same failure with the call's name in front. */
static ccw_status name_status(lua_State *L, ccw_status status)
{
  ccw_status named = ccw_status_make(status.code, "%s: %s", name_of(L), ccw_status_text(status));
  ccw_status_free(status);
  return named;
}

/* Raises the failure of a call: the text tells in which stage. */
static int raise_run(lua_State *L, ccw_status status, const char *name)
{
  static const char *const stages[] = {
#define NAME(NAME, stage, number) #stage,
      CCW_STAGES(NAME)
#undef NAME
  };
  const char *stage = NULL, *text = ccw_status_text(status);
  size_t length = strlen(name);
  if (strncmp(text, name, length) == 0 && strncmp(text + length, ": ", 2) == 0)
    for (size_t i = 0; i < sizeof stages / sizeof *stages; ++i) {
      size_t size = strlen(stages[i]);
      if (strncmp(text + length + 2, stages[i], size) == 0 && text[length + 2 + size] == ':') stage = stages[i];
    }
  return raise_status(L, status, name, stage);
}

/* Runs the stage instantiate with the Lua state given up: its tasks may be written in Lua. */
static ccw_status instantiate(owner *o, ccw_call *call)
{
  int depth = owner_give_up(o);
  ccw_status status = ccw_call_stage(call, XLA_FFI_ExecutionStage_INSTANTIATE);
  if (status.code) ccw_call_free(call);
  owner_take_back(o, depth);
  return status;
}

/* Prepares the call that stands on the stack, to be kept or to be run and forgotten; raises when that fails. Only one that is forgotten
 * may have lenders, which are held then. */
static void prepare(lua_State *L, lenders *l, ccw_call **out_call)
{
  owner *o = owner_of(L);
  bool simple = lua_type(L, ATTRIBUTES) == LUA_TTABLE;
  ccw_call_options options = {.run_id = check_integer(L, RUN_ID, INT64_MIN, INT64_MAX),
      .device_ordinal = (int32_t)check_integer(L, ORDINAL, INT32_MIN, INT32_MAX),
      .strict = lua_toboolean(L, STRICT),
      .as_it_is = lua_toboolean(L, AS_IT_IS)};
  options.aliases = check_aliases(L, ALIASES, &options.alias_count);
  take_options(L, &options);
  buffer_list operands, results;
  make_room(L, ARGS, &operands);
  make_room(L, RETS, &results);
  luaL_checkstack(L, LUA_MINSTACK, NULL);

  /* From here on nothing is made that could run a finalizer. */
  ccw_handler *handler = check_handler(L, HANDLER);
  options.name = lua_tostring(L, NAME);
  ccw_attributes *attributes = NULL;
  if (!simple && !lua_isnil(L, ATTRIBUTES)) attributes = check_box(L, ATTRIBUTES, CCW_ATTRIBUTES);
  take_buffers(L, ARGS, l, &operands);
  take_buffers(L, RETS, l, &results);
  bool instantiates = !options.by_hand && ccw_handler_describe(handler).bundle.instantiate;
  options.by_hand |= instantiates;

  const ccw_signature *signature = options.as_it_is ? NULL : ccw_handler_signature(handler);
  ccw_status status = simple ? build_simple(L, ATTRIBUTES, signature, &attributes) : ccw_ok();
  bool is_built = !status.code;
  ccw_call *call;
  if (!status.code)
    status = ccw_call_prepare(
        handler, operands.buffers, operands.count, results.buffers, results.count, attributes, &options, &call);
  if (simple) ccw_attributes_release(attributes); /* the call holds them */
  if (!status.code && l) hold_lenders(l);
  if (!status.code && instantiates) {
    status = instantiate(o, call);
    if (status.code && l) let_go_of_lenders(l);
  }
  if (!status.code) {
    *out_call = call;
    return;
  }
  if (!is_built) status = name_status(L, status);
  raise_run(L, status, name_of(L));
}

/* Pushes a copy of the list at an index, if there is one: the caller may change its own. */
static void push_copy(lua_State *L, int index)
{
  if (lua_isnil(L, index)) {
    lua_pushnil(L);
    return;
  }
  lua_Integer count = (lua_Integer)lua_rawlen(L, index);
  lua_createtable(L, (int)count, 0);
  for (lua_Integer i = 1; i <= count; ++i) {
    lua_rawgeti(L, index, i);
    lua_rawseti(L, -2, i);
  }
}

/* is_flat(table) -> boolean, device. Whether it is a list of open buffers and nothing else, as core takes them; then where the first
 * is, nil for the host. */
static int is_flat(lua_State *L)
{
  lua_settop(L, 1);
  lua_Unsigned count = 0;
  bool flat = true;
  for (lua_pushnil(L); flat && lua_next(L, 1); lua_settop(L, 2), ++count) {
    void **box = test_kind(L, 3, CCW_BUFFER);
    flat = box && *box && lua_isinteger(L, 2);
  }
  flat = flat && count == lua_rawlen(L, 1); /* as many integer keys as it is long: they are 1 to n */
  lua_pushboolean(L, flat);
  if (!flat || count == 0) return 1;
  lua_rawgeti(L, 1, 1);
  ccw_device *device = ccw_buffer_device(check_buffer(L, -1));
  if (device == ccw_device_host()) return lua_settop(L, 2), 1;
  push_device(L, device);
  lua_replace(L, -2);
  return 2;
}

/* prepare(...) -> call. Every run gives back what stands at RETURNED. */
static int call_prepare(lua_State *L)
{
  lua_settop(L, MORE);
  void **box = new_box(L, CCW_CALL);
  int at = lua_gettop(L);
  prepare(L, NULL, (ccw_call **)box);
  lua_createtable(L, 5, 0);
  lua_pushvalue(L, RETURNED);
  lua_rawseti(L, -2, RETURNS);
  push_copy(L, ARGS);
  lua_rawseti(L, -2, OPERANDS);
  push_copy(L, RETS);
  lua_rawseti(L, -2, RESULTS);
  lua_pushvalue(L, MORE);
  lua_rawseti(L, -2, OPTIONS);
  push_copy(L, ALIASES);
  lua_rawseti(L, -2, SHARED);
  lua_setiuservalue(L, at, 1);
  lua_settop(L, at);
  return 1;
}

/* Waits with the Lua state given up: the handler's tasks may be written in Lua. Looks up now and then whether it is to stop. False where
 * the time is up, or somebody has interrupted it. A time below 0 is as long as it takes. */
static bool wait_given_up(lua_State *L, owner *o, ccw_call *call, double seconds, ccw_status *out_outcome)
{
  const double slice = 0.05;
  double deadline = now() + seconds;
  hooks before = hooks_of(L, o);
  for (;;) {
    double left = seconds < 0 ? slice : deadline - now();
    int depth = owner_give_up(o);
    bool is_done = ccw_call_await(call, left < 0 ? 0 : left < slice ? left : slice);
    if (is_done) *out_outcome = ccw_call_wait(call, 0);
    owner_take_back(o, depth);
    if (is_done) return true;
    if (is_interrupted(L, o, before) || (seconds >= 0 && now() >= deadline)) return false;
  }
}

/* Runs it with the Lua state given up, and waits for its future. */
static ccw_status run_given_up(lua_State *L, owner *o, ccw_call *call)
{
  int depth = owner_give_up(o);
  ccw_status status = ccw_call_run_for(call, 0);
  owner_take_back(o, depth);
  if (status.code != XLA_FFI_Error_Code_DEADLINE_EXCEEDED || !ccw_call_is_started(call)) return status;
  ccw_status_free(status);
  if (!wait_given_up(L, o, call, -1, &status))
    status = ccw_cancelled("%s: interrupted before its future was complete", ccw_call_name(call));
  return status;
}

/* call(...) -> what stands at RETURNED. Prepares, runs and forgets: with nothing of Lua's in between no box is needed. */
static int call_once(lua_State *L)
{
  lua_settop(L, MORE);
  owner *o = owner_of(L);
  ccw_call *call;
  lenders held = {.count = 0};
  prepare(L, &held, &call);
  ccw_status status = run_given_up(L, o, call);
  ccw_call_free(call);
  let_go_of_lenders(&held);
  if (status.code) return raise_run(L, status, name_of(L));
  lua_pushvalue(L, RETURNED);
  return 1;
}

static ccw_call *check_idle(lua_State *L, void ***out_box)
{
  void **box = check_kind(L, 1, CCW_CALL);
  ccw_call *call = box[0] ? box[0] : check_box(L, 1, CCW_CALL);
  if (box[RUNNING]) luaL_error(L, "this call is running");
  *out_box = box;
  return call;
}

static int push_returns(lua_State *L)
{
  lua_getiuservalue(L, 1, 1);
  lua_rawgeti(L, -1, RETURNS);
  return 1;
}

/* Runs the handler. What is called call() in Lua is described in ccw/call.lua. */
static int call_run(lua_State *L)
{
  void **box;
  ccw_call *call = check_idle(L, &box);
  owner *o = owner_in(L, lua_upvalueindex(1));
  box[RUNNING] = call; /* the handler may be written in Lua, and close it */
  ccw_status status = run_given_up(L, o, call);
  box[RUNNING] = NULL;
  if (status.code) return raise_run(L, status, ccw_call_name(call));
  return push_returns(L);
}

/* call_start(call). Runs it until the handler returns. */
static int call_start(lua_State *L)
{
  void **box;
  ccw_call *call = check_idle(L, &box);
  owner *o = owner_of(L);
  box[RUNNING] = call;
  int depth = owner_give_up(o);
  ccw_status status = ccw_call_start(call);
  owner_take_back(o, depth);
  box[RUNNING] = NULL;
  return status.code ? raise_run(L, status, ccw_call_name(call)) : 0;
}

/* call_wait(call, seconds) -> the results of the run that was started, or false when the time is up. Below 0: as long as it takes. */
static int call_wait(lua_State *L)
{
  void **box;
  ccw_call *call = check_idle(L, &box);
  double seconds = luaL_checknumber(L, 2);
  owner *o = owner_of(L);
  box[RUNNING] = call;
  ccw_status status = ccw_ok();
  bool is_done = wait_given_up(L, o, call, seconds, &status);
  box[RUNNING] = NULL;
  if (status.code) return raise_run(L, status, ccw_call_name(call));
  if (is_done) return push_returns(L);
  lua_pushboolean(L, false);
  return 1;
}

/* call_done(call) -> boolean. Whether the run that was started is complete. */
static int call_done(lua_State *L)
{
  lua_pushboolean(L, ccw_call_is_done(check_box(L, 1, CCW_CALL)));
  return 1;
}

XLA_FFI_ExecutionStage check_stage(lua_State *L, int index)
{
  static const char *const names[] = {
#define NAME(NAME, stage, number) #stage,
      CCW_STAGES(NAME)
#undef NAME
          NULL};
  return (XLA_FFI_ExecutionStage)luaL_checkoption(L, index, "execute", names);
}

/* call:stage(name) -> results, for execute. Runs one stage by itself: "instantiate", once; "prepare", which begins an execution
 * anew; "initialize"; "execute"; "record". A call whose stages are all to be run in this way is prepared with
 * {stages = "by hand"}. */
static int call_stage(lua_State *L)
{
  void **box;
  ccw_call *call = check_idle(L, &box);
  XLA_FFI_ExecutionStage stage = check_stage(L, 2);
  owner *o = owner_of(L);
  box[RUNNING] = call;
  int depth = owner_give_up(o);
  ccw_status status = ccw_call_stage(call, stage);
  owner_take_back(o, depth);
  box[RUNNING] = NULL;
  if (status.code) return raise_run(L, status, ccw_call_name(call));
  return stage == XLA_FFI_ExecutionStage_EXECUTE ? push_returns(L) : 0;
}

/* call_name(call) -> string. What messages call it. */
static int call_name(lua_State *L)
{
  lua_pushstring(L, ccw_call_name(check_box(L, 1, CCW_CALL)));
  return 1;
}

/* call_parts(call) -> operands, results in their nesting, attributes or nil, aliases as core takes them or nil, has_side_effect. What it
 * is made of: lists that are not to be changed, and a dictionary. */
static int call_parts(lua_State *L)
{
  lua_settop(L, 1);
  void **box = new_box(L, CCW_ATTRIBUTES);
  ccw_attributes *attributes =
      ccw_call_attributes(check_box(L, 1, CCW_CALL)); /* a box that is made may run finalizers, which may close */
  if (attributes) *box = ccw_attributes_retain(attributes);
  lua_getiuservalue(L, 1, 1);
  lua_rawgeti(L, 3, OPERANDS);
  lua_rawgeti(L, 3, RETURNS);
  if (attributes)
    lua_pushvalue(L, 2);
  else
    lua_pushnil(L);
  lua_rawgeti(L, 3, SHARED);
  bool has_effect = lua_rawgeti(L, 3, OPTIONS) == LUA_TTABLE && lua_getfield(L, -1, "has_side_effect") != LUA_TNIL &&
                    lua_toboolean(L, -1);
  lua_settop(L, 7);
  lua_pushboolean(L, has_effect);
  return 5;
}

/* call_is_checked(call) -> boolean. Whether it was prepared to be. */
static int call_is_checked(lua_State *L)
{
  check_kind(L, 1, CCW_CALL);
  lua_getiuservalue(L, 1, 1);
  bool has_options = lua_istable(L, -1) && lua_rawgeti(L, -1, OPTIONS) == LUA_TTABLE;
  lua_pushboolean(L, has_options && lua_getfield(L, -1, "checked") != LUA_TNIL && lua_toboolean(L, -1));
  return 1;
}

/* call:explain([stage]) -> string. The frame of a stage, execute where none is named, field by field as the handler finds it in
 * memory: offset, field, value; then what its context answers. */
static int call_explain(lua_State *L)
{
  ccw_text text = {0};
  ccw_status status = ccw_call_explain(check_box(L, 1, CCW_CALL), check_stage(L, 2), &text);
  if (!status.code) return push_text(L, &text);
  ccw_text_free(&text);
  return raise_status(L, status, NULL, NULL);
}

/* call:recorded() -> string. What the stage record has put into the stand-in for a command buffer: a line for each launch of a
 * kernel and each copy, or "stream capture requested". "" where it has not run. */
static int call_recorded(lua_State *L)
{
  ccw_text text = {0};
  ccw_call_recorded(check_box(L, 1, CCW_CALL), &text);
  return push_text(L, &text);
}

/* call:replay(). Does what the recorded copies say. UNIMPLEMENTED: a kernel is to be launched. */
static int call_replay(lua_State *L)
{
  void **box;
  ccw_call *call = check_idle(L, &box);
  CHECK_STATUS(L, ccw_call_replay(call));
  return 0;
}

/* call:capture() -> graph. Has the handler queue its work without running it, and makes a graph of that: graph:launch(stream) does it again
 * and again, with the same memory. For a handler that says that it is compatible with command buffers, on a device that makes graphs. */
static int call_capture(lua_State *L)
{
  void **box;
  check_idle(L, &box);
  void **graph = new_box(L, CCW_GRAPH);
  ccw_call *call = check_idle(L, &box); /* a box that is made may run finalizers, which may close */
  owner *o = owner_of(L);
  box[RUNNING] = call;
  int depth = owner_give_up(o);
  ccw_status status = ccw_call_capture(call, (ccw_graph **)graph);
  owner_take_back(o, depth);
  box[RUNNING] = NULL;
  if (status.code) return raise_run(L, status, ccw_call_name(call));
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1); /* whose buffers it uses */
  return 1;
}

/* call_close(call). Lets go of handler and buffers, or does nothing where that was done. */
static int call_close(lua_State *L)
{
  void **box = check_kind(L, 1, CCW_CALL);
  if (box[RUNNING]) return luaL_error(L, "this call is running");
  ccw_call_free(*box);
  *box = NULL;
  return 0;
}

void open_calls(lua_State *L)
{
  static const luaL_Reg metamethods[] = {{"__gc", call_close}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"explain", call_explain}, {"stage", call_stage}, {"recorded", call_recorded},
      {"replay", call_replay}, {"capture", call_capture}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"prepare", call_prepare}, {"call", call_once}, {"is_flat", is_flat},
      {"call_name", call_name}, {"call_parts", call_parts}, {"call_is_checked", call_is_checked},
      {"call_start", call_start}, {"call_wait", call_wait}, {"call_done", call_done}, {"call_close", call_close},
      {NULL, NULL}};
  new_kind(L, CCW_CALL, metamethods, methods);
  push_owner(L);
  lua_pushcclosure(L, call_run, 1); /* at hand without a look into the registry: this is the path that counts */
  lua_setfield(L, -2, "__call");
  lua_setfield(L, -2, "call_metatable");
  luaL_setfuncs(L, functions, 0);
}

/* Devices, their streams, events and graphs. A function that waits gives the Lua state up meanwhile. */
#include "glue.h"

/* Keys of the registry: tables that give the value Lua has for a device, for good, and for a stream, as long as it lives. */
static const char devices_key, streams_key;

void push_device(lua_State *L, ccw_device *device)
{
  lua_rawgetp(L, LUA_REGISTRYINDEX, &devices_key);
  if (lua_rawgetp(L, -1, device) == LUA_TNIL) {
    lua_pop(L, 1);
    *new_box(L, CCW_DEVICE) = device;
    lua_pushvalue(L, -1);
    lua_rawsetp(L, -3, device);
  }
  lua_remove(L, -2);
}

ccw_device *check_device(lua_State *L, int index)
{
  if (lua_type(L, index) != LUA_TSTRING) return check_box(L, index, CCW_DEVICE);
  size_t length;
  const char *name = lua_tolstring(L, index, &length);
  ccw_device *device;
  ccw_status status = ccw_device_open(name, length, &device);
  if (status.code) raise_status(L, status, NULL, NULL);
  return device;
}

/* device(name or device) -> device. */
static int device_open(lua_State *L)
{
  push_device(L, check_device(L, 1));
  return 1;
}

/* For each device or family: a list {name, device or nil, why it is not there}. */
static void list_device(void *context, const char *name, ccw_device *device, ccw_status why)
{
  lua_State *L = context;
  lua_createtable(L, 3, 0);
  lua_pushstring(L, name);
  lua_rawseti(L, -2, 1);
  if (device)
    push_device(L, device);
  else
    lua_pushnil(L);
  lua_rawseti(L, -2, 2);
  lua_pushstring(L, ccw_status_text(why));
  lua_rawseti(L, -2, 3);
  lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
  ccw_status_free(why);
}

/* devices() -> list of {name, device or nil, why}. */
static int device_list(lua_State *L)
{
  lua_newtable(L);
  ccw_devices_visit(list_device, L);
  return 1;
}

static void push_extents(lua_State *L, const uint32_t extents[3])
{
  lua_createtable(L, 3, 0);
  for (int i = 0; i < 3; ++i) {
    lua_pushinteger(L, extents[i]);
    lua_rawseti(L, -2, i + 1);
  }
}

static void push_cannot(lua_State *L, const ccw_device *device)
{
  const char *what, *why;
  lua_newtable(L);
  for (size_t i = 0; ccw_device_cannot(device, i, &what, &why); ++i) {
    lua_pushstring(L, why);
    lua_setfield(L, -2, what);
  }
}

/* device_info(device) -> table. What is known of it. */
static int device_info(lua_State *L)
{
  ccw_device *device = check_device(L, 1);
  ccw_device_info info = ccw_device_describe(device);
  const struct {
    const char *name;
    lua_Integer value;
  } numbers[] = {{"ordinal", info.ordinal}, {"memory", info.memory}, {"memory_free", info.memory_free},
      {"warp_size", info.warp_size}, {"max_threads", info.max_threads}, {"max_shared", info.max_shared},
      {"processors", info.processors}};
  lua_newtable(L);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
    lua_pushinteger(L, numbers[i].value);
    lua_setfield(L, -2, numbers[i].name);
  }
  lua_pushstring(L, info.name);
  lua_setfield(L, -2, "name");
  lua_pushstring(L, info.platform);
  lua_setfield(L, -2, "platform");
  lua_pushstring(L, info.description);
  lua_setfield(L, -2, "description");
  lua_pushstring(L, info.architecture);
  lua_setfield(L, -2, "architecture");
  push_extents(L, info.max_block);
  lua_setfield(L, -2, "max_block");
  push_extents(L, info.max_grid);
  lua_setfield(L, -2, "max_grid");
  push_cannot(L, device);
  lua_setfield(L, -2, "cannot");
  return 1;
}

/* device_set(device, option, number). */
static int device_set(lua_State *L)
{
  CHECK_STATUS(L, ccw_device_set(check_device(L, 1), check_text(L, 2), luaL_checknumber(L, 3)));
  return 0;
}

/* device_set_platform(device, canonical name). */
static int device_set_platform(lua_State *L)
{
  CHECK_STATUS(L, ccw_device_set_platform(check_device(L, 1), check_text(L, 2)));
  return 0;
}

static int synchronize_device(lua_State *L)
{
  ccw_device *device = check_device(L, 1);
  owner *o = owner_of(L);
  int depth = owner_give_up(o);
  ccw_status status = ccw_device_synchronize(device);
  owner_take_back(o, depth);
  CHECK_STATUS(L, status);
  return 0;
}

static int reset_device(lua_State *L)
{
  CHECK_STATUS(L, ccw_device_reset(check_device(L, 1)));
  return 0;
}

static void list_allocation(void *context, const void *memory, size_t size, const char *site)
{
  ccw_text *text = context;
  ccw_text_add(text, "%llu %llu %s\n", (unsigned long long)(uintptr_t)memory, (unsigned long long)size, site);
}

/* allocations(device) -> string. A line each: address, bytes, site. */
static int device_allocations(lua_State *L)
{
  ccw_text text = {0};
  ccw_device_visit_memory(check_device(L, 1), list_allocation, &text);
  return push_text(L, &text);
}

/* ---- streams --------------------------------------------------------------------------------------------------------- */

ccw_stream *check_stream(lua_State *L, int index) { return check_box(L, index, CCW_STREAM); }

void push_stream(lua_State *L, ccw_stream *stream)
{
  lua_rawgetp(L, LUA_REGISTRYINDEX, &streams_key);
  if (lua_rawgetp(L, -1, stream) == LUA_TNIL) {
    lua_pop(L, 1);
    *new_box(L, CCW_STREAM) = ccw_stream_retain(stream);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, -3, stream);
  }
  lua_remove(L, -2);
}

/* stream_new(device) -> stream. Where there are too many, those that nobody has any more go first. */
static int stream_new(lua_State *L)
{
  ccw_device *device = check_device(L, 1);
  void **box = new_box(L, CCW_STREAM);
  ccw_status status = ccw_stream_new(device, (ccw_stream **)box);
  if (status.code == XLA_FFI_Error_Code_RESOURCE_EXHAUSTED) {
    ccw_status_free(status);
    lua_gc(L, LUA_GCCOLLECT);
    status = ccw_stream_new(device, (ccw_stream **)box);
  }
  CHECK_STATUS(L, status);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &streams_key);
  lua_pushvalue(L, -2);
  lua_rawsetp(L, -2, *box);
  lua_pop(L, 1);
  return 1;
}

/* device_stream(device) -> stream. The device's own. */
static int device_stream(lua_State *L)
{
  ccw_stream *stream;
  CHECK_STATUS(L, ccw_device_stream(check_device(L, 1), &stream));
  push_stream(L, stream);
  return 1;
}

/* stream_info(stream) -> device, number. */
static int stream_info(lua_State *L)
{
  ccw_stream *stream = check_stream(L, 1);
  push_device(L, ccw_stream_device(stream));
  lua_pushinteger(L, ccw_stream_number(stream));
  return 2;
}

/* stream:sync() -> stream. Waits for all that is queued on it. What failed there is raised here. */
static int stream_sync(lua_State *L)
{
  owner *o = owner_of(L);
  ccw_stream *stream = ccw_stream_retain(check_stream(L, 1)); /* meanwhile it may be closed */
  int depth = owner_give_up(o);
  ccw_status status = ccw_stream_synchronize(stream);
  ccw_stream_release(stream);
  owner_take_back(o, depth);
  CHECK_STATUS(L, status);
  lua_settop(L, 1);
  return 1;
}

/* stream:done() -> boolean. Whether all that was queued on it is done. */
static int stream_done(lua_State *L)
{
  bool is_done;
  CHECK_STATUS(L, ccw_stream_query(check_stream(L, 1), &is_done));
  lua_pushboolean(L, is_done);
  return 1;
}

/* stream:record([event]) -> event. The event, a new one where none is given, happens when what is queued now is done. */
static int stream_record(lua_State *L)
{
  ccw_stream *stream = check_stream(L, 1);
  lua_settop(L, 2);
  if (lua_isnil(L, 2)) {
    void **box = new_box(L, CCW_EVENT);
    CHECK_STATUS(L, ccw_event_new(ccw_stream_device(stream), (ccw_event **)box));
    lua_replace(L, 2);
  }
  CHECK_STATUS(L, ccw_event_record(check_box(L, 2, CCW_EVENT), check_stream(L, 1)));
  return 1;
}

/* stream:wait(event or stream) -> stream. What is queued on it from now on waits for the event or, of another stream, for what is queued there
 * now. */
static int stream_wait(lua_State *L)
{
  ccw_stream *stream = check_stream(L, 1);
  if (test_kind(L, 2, CCW_STREAM)) {
    ccw_stream *other = check_stream(L, 2);
    ccw_event *event;
    CHECK_STATUS(L, ccw_event_new(ccw_stream_device(stream), &event));
    ccw_status status = ccw_event_record(event, other);
    if (!status.code) status = ccw_stream_wait(stream, event);
    ccw_event_release(event);
    CHECK_STATUS(L, status);
  } else {
    CHECK_STATUS(L, ccw_stream_wait(stream, check_box(L, 2, CCW_EVENT)));
  }
  lua_settop(L, 1);
  return 1;
}

/* stream:begin_capture() -> stream. What is queued on it from now on does not run and makes a graph. */
static int stream_begin_capture(lua_State *L)
{
  CHECK_STATUS(L, ccw_stream_begin_capture(check_stream(L, 1)));
  lua_settop(L, 1);
  return 1;
}

/* stream:end_capture() -> graph. Raises where something was done in between that a graph cannot hold. */
static int stream_end_capture(lua_State *L)
{
  ccw_stream *stream = check_stream(L, 1);
  void **box = new_box(L, CCW_GRAPH);
  CHECK_STATUS(L, ccw_stream_end_capture(stream, (ccw_graph **)box));
  return 1;
}

/* stream:close(). Lets go of it; what is queued still runs. */
static int stream_close(lua_State *L)
{
  void **box = check_kind(L, 1, CCW_STREAM);
  if (!*box) return 0;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &streams_key);
  if (lua_rawgetp(L, -1, *box) == LUA_TUSERDATA && lua_rawequal(L, -1, 1)) {
    lua_pushnil(L);
    lua_rawsetp(L, -3, *box);
  }
  ccw_stream_release(*box);
  *box = NULL;
  return 0;
}

/* ---- events and graphs ----------------------------------------------------------------------------------------------- */

/* event:sync() -> event. Waits for it; one that was never recorded needs no waiting. */
static int event_sync(lua_State *L)
{
  owner *o = owner_of(L);
  ccw_event *event = ccw_event_retain(check_box(L, 1, CCW_EVENT)); /* meanwhile it may be closed */
  int depth = owner_give_up(o);
  ccw_status status = ccw_event_synchronize(event);
  ccw_event_release(event);
  owner_take_back(o, depth);
  CHECK_STATUS(L, status);
  lua_settop(L, 1);
  return 1;
}

/* event:seconds_since(event) -> number. Seconds from the other event to this one; both have happened. */
static int event_seconds(lua_State *L)
{
  double seconds;
  CHECK_STATUS(L, ccw_event_seconds(check_box(L, 2, CCW_EVENT), check_box(L, 1, CCW_EVENT), &seconds));
  lua_pushnumber(L, seconds);
  return 1;
}

/* event:close(). */
static int event_close(lua_State *L)
{
  void **box = check_kind(L, 1, CCW_EVENT);
  ccw_event_release(*box);
  *box = NULL;
  return 0;
}

/* graph:launch(stream) -> graph. Queues all of it, with the memory that it was captured with. */
static int graph_launch(lua_State *L)
{
  CHECK_STATUS(L, ccw_graph_launch(check_box(L, 1, CCW_GRAPH), check_stream(L, 2)));
  lua_settop(L, 1);
  return 1;
}

/* graph:close(). */
static int graph_close(lua_State *L)
{
  void **box = check_kind(L, 1, CCW_GRAPH);
  ccw_graph_free(*box);
  *box = NULL;
  return 0;
}

void open_devices(lua_State *L)
{
  static const luaL_Reg none[] = {{NULL, NULL}};
  static const luaL_Reg of_stream[] = {{"__gc", stream_close}, {"__close", stream_close}, {NULL, NULL}};
  static const luaL_Reg of_event[] = {{"__gc", event_close}, {"__close", event_close}, {NULL, NULL}};
  static const luaL_Reg of_graph[] = {{"__gc", graph_close}, {"__close", graph_close}, {NULL, NULL}};
  static const luaL_Reg stream_methods[] = {{"sync", stream_sync}, {"done", stream_done}, {"record", stream_record},
      {"wait", stream_wait}, {"begin_capture", stream_begin_capture}, {"end_capture", stream_end_capture},
      {"close", stream_close}, {NULL, NULL}};
  static const luaL_Reg event_methods[] = {
      {"sync", event_sync}, {"seconds_since", event_seconds}, {"close", event_close}, {NULL, NULL}};
  static const luaL_Reg graph_methods[] = {{"launch", graph_launch}, {"close", graph_close}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"device", device_open}, {"devices", device_list}, {"device_info", device_info},
      {"device_set", device_set}, {"device_set_platform", device_set_platform}, {"device_sync", synchronize_device},
      {"device_reset", reset_device}, {"device_allocations", device_allocations}, {"device_stream", device_stream},
      {"stream_new", stream_new}, {"stream_info", stream_info}, {NULL, NULL}};
  lua_newtable(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &devices_key);
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "v");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &streams_key);
  new_kind(L, CCW_DEVICE, none, NULL);
  lua_setfield(L, -2, "device_metatable");
  new_kind(L, CCW_STREAM, of_stream, stream_methods);
  lua_setfield(L, -2, "stream_metatable");
  new_kind(L, CCW_EVENT, of_event, event_methods);
  lua_setfield(L, -2, "event_metatable");
  new_kind(L, CCW_GRAPH, of_graph, graph_methods);
  lua_setfield(L, -2, "graph_metatable");
  luaL_setfuncs(L, functions, 0);
}

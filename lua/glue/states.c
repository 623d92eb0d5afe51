/* State that is a value of Lua's: what a handler of instantiate, prepare or initialize has returned. */
#include "jobs.h"

#include <stdlib.h>

typedef struct kept {
  owner *owner;
  int reference; /* in the registry */
} kept;

/* The runtime may end it on any thread, and after the Lua state. */
static void kept_delete(void *state)
{
  kept *k = state;
  if (owner_enter(k->owner)) {
    luaL_unref(owner_main(k->owner), LUA_REGISTRYINDEX, k->reference);
    owner_leave(k->owner);
  }
  owner_release(k->owner);
  free(k);
}

/* One id for every runtime, ours and a real XLA: those count the ids that they give away from 1, and this one is "ccw.lua". */
XLA_FFI_TypeId lua_state_id = {INT64_C(0x6363772e6c7561)};
static const char type_name[] = "ccw.lua";
static const XLA_FFI_TypeInfo info = {.struct_size = XLA_FFI_TypeInfo_STRUCT_SIZE, .deleter = kept_delete};

ccw_status keep_state(lua_State *L, int first)
{
  static const char expected[] = "expected the state, any value but nil, or nil and an error";
  bool failed;
  int count = strip_returned(L, first, &failed);
  if (failed || (count == 1 && is_error(L, first))) return status_of(L, first, XLA_FFI_Error_Code_INTERNAL, "");
  if (count > 1) return ccw_internal("returned %d values: %s", count, expected);
  if (count == 0 || lua_isnil(L, first)) return ccw_internal("made no state: %s", expected);
  if (kind_of(L, first) == CCW_PROMISE) return ccw_internal("returned a promise: %s", expected);
  job *j = current_invocation->job;
  lua_pushvalue(L, first);
  int reference = luaL_ref(L, LUA_REGISTRYINDEX);
  kept *k = malloc(sizeof *k);
  if (!k) {
    luaL_unref(L, LUA_REGISTRYINDEX, reference);
    return ccw_resource_exhausted("not enough memory");
  }
  *k = (kept){owner_retain(j->owner), reference};
  ccw_status status = ccw_set_state_(j->frame, &lua_state_id, k);
  if (status.code) kept_delete(k);
  return status;
}

ccw_status push_state(lua_State *L, const void *state)
{
  const kept *k = state;
  if (k->owner != current_invocation->job->owner)
    return ccw_failed_precondition("it is a value of another Lua state than the handler");
  lua_rawgeti(L, LUA_REGISTRYINDEX, k->reference);
  return ccw_ok();
}

/* lua_state_type() -> name, address of the id, address of the info. The type of such state, for a program that makes it known
 * to another runtime. */
static int lua_state_type(lua_State *L)
{
  lua_pushstring(L, type_name);
  lua_pushinteger(L, (lua_Integer)(uintptr_t)&lua_state_id);
  lua_pushinteger(L, (lua_Integer)(uintptr_t)&info);
  return 3;
}

void open_states(lua_State *L)
{
  static const luaL_Reg functions[] = {{"lua_state_type", lua_state_type}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
  ccw_status status = ccw_state_type_register(type_name, sizeof type_name - 1, &lua_state_id, &info);
  if (status.code) raise_status(L, status, NULL, NULL);
}

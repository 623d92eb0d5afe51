/* A Lua state that is closed while a runtime still has what was made in it: a handler fails then, state ends, a future is complete,
 * and nothing crashes. Prints what happens, before and afterwards. */
#include <lauxlib.h>
#include <lualib.h>
#include <semaphore.h>

#include <ccw/handler.h>

static void *state;
static sem_t completed;
static const char *of_future;

static XLA_FFI_Error *say(XLA_FFI_Error_Create_Args *args)
{
  printf("%s %s\n", ccw_code_name(args->errc), args->message);
  return (XLA_FFI_Error *)args;
}

static XLA_FFI_Error *set_state(XLA_FFI_State_Set_Args *args)
{
  state = args->state;
  return NULL;
}

static XLA_FFI_Error *make_future(XLA_FFI_Future_Create_Args *args)
{
  args->future = (XLA_FFI_Future *)&of_future;
  return NULL;
}

static XLA_FFI_Error *fail_future(XLA_FFI_Future_SetError_Args *args)
{
  of_future = args->future == (XLA_FFI_Future *)&of_future ? "failed" : "another";
  sem_post(&completed);
  return NULL;
}

static const XLA_FFI_Api api = {.struct_size = XLA_FFI_Api_STRUCT_SIZE,
    .api_version = {.struct_size = XLA_FFI_Api_Version_STRUCT_SIZE, .minor_version = XLA_FFI_API_MINOR},
    .XLA_FFI_Error_Create = say,
    .XLA_FFI_State_Set = set_state,
    .XLA_FFI_Future_Create = make_future,
    .XLA_FFI_Future_SetError = fail_future};

static void call(lua_Integer address, XLA_FFI_ExecutionStage stage)
{
  XLA_FFI_Handler *handler = (XLA_FFI_Handler *)(uintptr_t)address;
  XLA_FFI_CallFrame frame = {.struct_size = XLA_FFI_CallFrame_STRUCT_SIZE, .api = &api, .stage = stage};
  if (!handler(&frame)) printf("OK%s\n", frame.future ? " later" : "");
}

int main(void)
{
  sem_init(&completed, 0, 0);
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  if (luaL_dostring(L, "local ccw = require 'ccw' "
                       "local i = ccw.bind 'i(@new_state)':stage 'instantiate':to(function() return {} end) "
                       "local h = ccw.bind 'h()':to(function() end) "
                       "local l = ccw.bind 'l()':to(function() promise = ccw.promise() return promise end) "
                       "ccw.register('h', h, 'Host') ccw.register('l', l, 'Host') ccw.register('i', i, 'Host') "
                       "local _, _, info = require 'ccw.core'.lua_state_type() "
                       "return h.address, l.address, i.address, info")) {
    printf("%s\n", lua_tostring(L, -1));
    return 1;
  }
  lua_Integer h = lua_tointeger(L, 1), l = lua_tointeger(L, 2), i = lua_tointeger(L, 3);
  const XLA_FFI_TypeInfo *info = (const XLA_FFI_TypeInfo *)(uintptr_t)lua_tointeger(L, 4);
  call(h, XLA_FFI_ExecutionStage_EXECUTE);
  call(l, XLA_FFI_ExecutionStage_EXECUTE);
  call(i, XLA_FFI_ExecutionStage_INSTANTIATE);
  lua_close(L);
  sem_wait(&completed);
  printf("future: %s\n", of_future);
  info->deleter(state);
  call(h, XLA_FFI_ExecutionStage_EXECUTE);
  return 0;
}

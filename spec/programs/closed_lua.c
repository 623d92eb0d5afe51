/* A Lua state that is closed while a runtime still has a handler that was written in it: the handler fails, and does not crash.
 * Prints what it answers, before and afterwards. */
#include <lauxlib.h>
#include <lualib.h>

#include <ccw/handler.h>

static XLA_FFI_Error *say(XLA_FFI_Error_Create_Args *args)
{
  printf("%s %s\n", ccw_code_name(args->errc), args->message);
  return (XLA_FFI_Error *)args;
}

static void call(XLA_FFI_Handler *handler)
{
  XLA_FFI_Api api = {.struct_size = XLA_FFI_Api_STRUCT_SIZE, .XLA_FFI_Error_Create = say};
  XLA_FFI_CallFrame frame = {
      .struct_size = XLA_FFI_CallFrame_STRUCT_SIZE, .api = &api, .stage = XLA_FFI_ExecutionStage_EXECUTE};
  if (!handler(&frame)) printf("OK\n");
}

int main(void)
{
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  if (luaL_dostring(L, "local ccw = require 'ccw' local h = ccw.bind 'h()':to(function() end) "
                       "ccw.register('h', h, 'Host') return h.address")) {
    printf("%s\n", lua_tostring(L, -1));
    return 1;
  }
  XLA_FFI_Handler *handler = (XLA_FFI_Handler *)(uintptr_t)lua_tointeger(L, -1);
  call(handler);
  lua_close(L);
  call(handler);
  return 0;
}

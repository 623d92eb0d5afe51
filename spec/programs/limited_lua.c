/* A Lua that can be short of memory: limited_lua SCRIPT runs a script in which limit(n) makes every allocation of Lua's
 * after n more fail, until limit() is called. */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include <stdio.h>
#include <stdlib.h>

static lua_Integer left = -1; /* no limit */

static void *allocate(void *context, void *block, size_t old_size, size_t size)
{
  (void)context;
  if (size == 0) {
    free(block);
    return NULL;
  }
  if (left >= 0 && (!block || size > old_size)) { /* Lua counts on it that shrinking succeeds */
    if (left == 0) return NULL;
    --left;
  }
  return realloc(block, size);
}

static int limit(lua_State *L)
{
  left = luaL_optinteger(L, 1, -1);
  return 0;
}

int main(int argc, char **argv)
{
  lua_State *L = lua_newstate(allocate, NULL);
  if (!L || argc != 2) return 2;
  luaL_openlibs(L);
  lua_register(L, "limit", limit);
  int failed = luaL_dofile(L, argv[1]);
  left = -1;
  if (failed) fprintf(stderr, "%s\n", luaL_tolstring(L, -1, NULL));
  lua_close(L);
  return failed != 0;
}

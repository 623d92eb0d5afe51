/* Tools: what the Lua side needs of core besides its values. */
#include "glue.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* near(wanted, {name, ...}) -> list. The names that are nearest to the wanted one, nearest first. */
static int near(lua_State *L)
{
  size_t wanted_length;
  const char *wanted = luaL_checklstring(L, 1, &wanted_length);
  luaL_checktype(L, 2, LUA_TTABLE);
  ccw_near found = ccw_near_to(wanted, wanted_length);
  for (lua_Integer i = 1; lua_rawgeti(L, 2, i) == LUA_TSTRING; ++i) {
    size_t length;
    const char *name = lua_tolstring(L, -1, &length);
    ccw_near_offer(&found, name, length);
    lua_pop(L, 1);
  }
  lua_createtable(L, (int)found.count, 0);
  for (size_t i = 0; i < found.count; ++i) {
    lua_pushstring(L, found.best[i].name);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* quote(string) -> string. As Lua reads it, and as a terminal can show it. */
static int quote(lua_State *L)
{
  size_t length;
  const char *bytes = luaL_checklstring(L, 1, &length);
  ccw_text text = {0};
  ccw_text_add_quoted(&text, bytes, length);
  return push_text(L, &text);
}

/* block(string) -> userdata. A copy of the bytes, which C may write to. */
static int block(lua_State *L)
{
  size_t length;
  const char *bytes = luaL_checklstring(L, 1, &length);
  memcpy(lua_newuserdatauv(L, length, 0), bytes, length);
  return 1;
}

/* ccw.threads([count]) -> integer. How many threads handlers have for their tasks: as many as there are processors, or as were
 * set, 1 to 1024. */
static int threads(lua_State *L)
{
  if (!lua_isnoneornil(L, 1)) {
    ccw_status status = ccw_pool_resize(check_integer(L, 1, INT64_MIN, INT64_MAX));
    if (status.code) return raise_misuse(L, 1, status);
  }
  lua_pushinteger(L, ccw_pool_size());
  return 1;
}

/* pause(seconds). Lets other threads have the Lua state for a moment. */
static int pause_for(lua_State *L)
{
  double seconds = luaL_checknumber(L, 1);
  struct timespec time = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
  owner *o = owner_of(L);
  int depth = owner_give_up(o);
  nanosleep(&time, NULL);
  owner_take_back(o, depth);
  return 0;
}

/* kind(value) -> string, open. "buffer", "type" and so on for what is of this module, else nil; and whether it is usable
 * still. */
static int kind(lua_State *L)
{
  const char *found = kind_of(L, 1);
  if (!found) return 0;
  void *content = found == CCW_SCALAR ? NULL : *(void **)lua_touserdata(L, 1);
  bool is_open = found == CCW_SCALAR || content; /* a scalar is never closed */
  if (found == CCW_BUFFER && content) is_open = !ccw_buffer_loan(content).is_over;
  lua_pushstring(L, found + 4); /* without "ccw." */
  lua_pushboolean(L, is_open);
  return 2;
}

double now(void)
{
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* clock() -> seconds. A clock that only goes forward; where it starts means nothing. */
static int clock_now(lua_State *L)
{
  lua_pushnumber(L, now());
  return 1;
}

/* home() -> string. A build folder, or the prefix of an installation: what the library's folder, lib or lib/TRIPLET, lies
 * in. */
static int home(lua_State *L)
{
  Dl_info about;
  char *path = dladdr(ccw_version(), &about) ? realpath(about.dli_fname, NULL) : NULL;
  if (!path) return 0;
  char *lib = strstr(path, "/lib/"), *last = lib;
  while (lib) {
    last = lib;
    lib = strstr(lib + 1, "/lib/");
  }
  if (last) *last = '\0';
  lua_pushstring(L, path);
  free(path);
  return 1;
}

/* make_folder(path). Makes a folder, and those above it, for the user alone; says nothing when it cannot. */
static int make_folder(lua_State *L)
{
  char path[4096];
  snprintf(path, sizeof path, "%s/", luaL_checkstring(L, 1));
  for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    mkdir(path, 0700);
    *slash = '/';
  }
  return 0;
}

/* ---- memory -------------------------------------------------------------------------------------------------------- */

/* memory() -> table. What core has in use: blocks, bytes; and how many allocations there have been. */
static int memory(lua_State *L)
{
  ccw_memory_use use = ccw_memory_in_use();
  lua_createtable(L, 0, 3);
  lua_pushinteger(L, (lua_Integer)use.allocations);
  lua_setfield(L, -2, "allocations");
  lua_pushinteger(L, use.blocks);
  lua_setfield(L, -2, "blocks");
  lua_pushinteger(L, use.bytes);
  lua_setfield(L, -2, "bytes");
  return 1;
}

static ccw_allocator original;
static _Atomic int64_t until_failure;

static void *failing_allocate(void *context, size_t size, bool zeroed)
{
  (void)context;
  if (atomic_fetch_sub(&until_failure, 1) <= 0) return NULL;
  return original.allocate(original.context, size, zeroed);
}

static void failing_release(void *context, void *block, size_t size)
{
  (void)context;
  original.release(original.context, block, size);
}

/* fail_memory(n). For tests: after n more allocations core gets no memory, until it is called without n. */
static int fail_memory(lua_State *L)
{
  if (original.allocate) ccw_memory_replace(original);
  original = (ccw_allocator){NULL, NULL, NULL};
  if (lua_isnoneornil(L, 1)) return 0;
  until_failure = check_integer(L, 1, 0, INT64_MAX);
  original = ccw_memory_replace((ccw_allocator){failing_allocate, failing_release, NULL});
  return 0;
}

void open_tools(lua_State *L)
{
  static const luaL_Reg functions[] = {{"near", near}, {"quote", quote}, {"block", block}, {"pause", pause_for},
      {"threads", threads}, {"kind", kind}, {"clock", clock_now}, {"home", home}, {"make_folder", make_folder},
      {"memory", memory}, {"fail_memory", fail_memory}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}

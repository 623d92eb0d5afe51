/* Compiling sources. */
#include "glue.h"

#include <string.h>

/* A list of strings as C takes it, in a userdata that is left on the stack; the strings stay in their table. */
static const char *const *push_strings(lua_State *L, int table, const char *field, size_t *out_count)
{
  lua_getfield(L, table, field);
  size_t count = lua_istable(L, -1) ? lua_rawlen(L, -1) : 0;
  const char **list = lua_newuserdatauv(L, (count + 1) * sizeof *list, 0);
  lua_insert(L, -2);
  for (size_t i = 0; i < count; ++i) {
    lua_rawgeti(L, -1, (lua_Integer)i + 1);
    list[i] = check_text(L, -1);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  *out_count = count;
  return list;
}

/* A text of a table, which keeps it; NULL where there is none. */
static const char *text_of(lua_State *L, int table, const char *field)
{
  lua_getfield(L, table, field);
  const char *text = lua_isnil(L, -1) ? NULL : check_text(L, -1);
  lua_pop(L, 1);
  return text;
}

typedef struct outcome {
  ccw_compiled compiled;
  ccw_status status;
} outcome;

/* Pushes what is in an outcome. It is called under protection, so that the outcome is freed where that raises. */
static int push_outcome(lua_State *L)
{
  outcome *o = lua_touserdata(L, 1);
  bool good = !o->status.code;
  if (good)
    lua_pushlstring(L, ccw_text_data(&o->compiled.path), o->compiled.path.length);
  else
    lua_pushnil(L);
  lua_pushlstring(L, ccw_text_data(&o->compiled.log), o->compiled.log.length);
  if (good) {
    lua_pushboolean(L, o->compiled.was_kept);
    lua_pushlstring(L, ccw_text_data(&o->compiled.symbols), o->compiled.symbols.length);
  } else {
    lua_pushstring(L, ccw_code_name(o->status.code));
    lua_pushstring(L, ccw_status_text(o->status));
  }
  return 4;
}

/* Who waits for a compiler, with the state given up. */
typedef struct waiting {
  lua_State *L;
  owner *owner;
  hooks before;
  int depth;
} waiting;

static bool is_wanted(void *context)
{
  waiting *w = context;
  owner_take_back(w->owner, w->depth);
  bool interrupted = is_interrupted(w->L, w->owner, w->before);
  w->depth = owner_give_up(w->owner);
  return !interrupted;
}

/* compile{text, language, name, flags, kernels, architecture, time_limit} -> path, log, was_kept, symbols; or nil, log, code,
 * message. See ccw_compile. */
static int compile(lua_State *L)
{
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  ccw_source source = {.language = text_of(L, 1, "language"),
      .name = text_of(L, 1, "name"),
      .architecture = text_of(L, 1, "architecture")};
  lua_getfield(L, 1, "text");
  source.text = luaL_checklstring(L, -1, &source.length);
  source.flags = push_strings(L, 1, "flags", &source.flag_count);
  source.kernels = push_strings(L, 1, "kernels", &source.kernel_count);
  lua_getfield(L, 1, "time_limit");
  source.time_limit = luaL_optnumber(L, -1, 0);
  lua_pushcfunction(L, push_outcome);

  outcome made;
  waiting w = {.L = L, .owner = owner_of(L)};
  w.before = hooks_of(L, w.owner);
  source.is_wanted = is_wanted;
  source.context = &w;
  w.depth = owner_give_up(w.owner);
  made.status = ccw_compile(&source, &made.compiled);
  owner_take_back(w.owner, w.depth);
  lua_pushlightuserdata(L, &made);
  int raised = lua_pcall(L, 1, 4, 0);
  ccw_status_free(made.status);
  ccw_compiled_free(&made.compiled);
  return raised ? lua_error(L) : 4;
}

void open_compilers(lua_State *L)
{
  static const luaL_Reg functions[] = {{"compile", compile}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}

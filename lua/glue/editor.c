/* The line editor of the prompt, on libedit. Only the program has it. */
#include "glue.h"

#include <errno.h>
#include <histedit.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define CCW_EDITOR "ccw.editor"

typedef struct editor {
  EditLine *line;
  History *history;
  lua_State *L; /* while a line is read */
  owner *owner; /* borrowed from the state */
  char prompt[64];
} editor;

static char *give_prompt(EditLine *line)
{
  editor *e;
  el_get(line, EL_CLIENTDATA, &e);
  return e->prompt;
}

/* ---- completion ------------------------------------------------------------------------------------------------------ */

/* complete(text before the cursor) -> insertion, candidates. Runs under pcall: an error may not pass libedit. */
static int call_complete(lua_State *L)
{
  lua_getiuservalue(L, 1, 1);
  lua_pushvalue(L, 2);
  lua_call(L, 1, 2);
  return 2;
}

static unsigned char complete(EditLine *line, int key)
{
  (void)key;
  editor *e;
  el_get(line, EL_CLIENTDATA, &e);
  lua_State *L = e->L;
  if (!owner_enter(e->owner)) return CC_ERROR; /* it was given up for the reading */
  const LineInfo *info = el_line(line);
  int top = lua_gettop(L);
  unsigned char answer = CC_ERROR;
  lua_pushcfunction(L, call_complete);
  lua_pushvalue(L, 1);
  lua_pushlstring(L, info->buffer, (size_t)(info->cursor - info->buffer));
  if (lua_pcall(L, 2, 2, 0) == LUA_OK) {
    if (lua_isstring(L, -1)) { /* several: below the line */
      fprintf(stdout, "\n%s\n", lua_tostring(L, -1));
      fflush(stdout);
      answer = CC_REDISPLAY;
    }
    if (lua_isstring(L, -2) && lua_rawlen(L, -2) > 0 && el_insertstr(line, lua_tostring(L, -2)) == 0)
      answer = answer == CC_REDISPLAY ? CC_REDISPLAY : CC_REFRESH;
  }
  lua_settop(L, top);
  owner_leave(e->owner);
  return answer;
}

/* ---- pasting: what a terminal marks as pasted is text, and runs when Enter is pressed ----------------------------------- */

#define PASTE_ON "\033[?2004h"
#define PASTE_OFF "\033[?2004l"

static void tell_terminal(const char *sequence)
{
  fputs(sequence, stdout);
  fflush(stdout);
}

/* Reads up to the mark of the end. Tabs complete nothing here, and ends of lines, which come as returns, end nothing. */
static unsigned char paste(EditLine *line, int key)
{
  static const wchar_t end[] = L"\033[201~";
  const size_t end_length = sizeof end / sizeof *end - 1;
  size_t length = 0, room = 0;
  wchar_t *text = NULL, next;
  bool is_whole = false;
  (void)key;
  while (!is_whole && el_wgetc(line, &next) == 1) {
    if (length + 1 >= room) {
      room = room * 2 + 256;
      wchar_t *larger = realloc(text, room * sizeof *text);
      if (!larger) break;
      text = larger;
    }
    text[length++] = next == L'\r' ? L'\n' : next;
    is_whole = length >= end_length && wmemcmp(text + length - end_length, end, end_length) == 0;
  }
  if (is_whole) length -= end_length;
  while (length > 0 && text[length - 1] == L'\n') --length;
  bool good = length > 0;
  if (good) {
    text[length] = L'\0';
    good = el_winsertstr(line, text) == 0;
  }
  free(text);
  return good ? CC_REFRESH : CC_ERROR;
}

/* ---- reading --------------------------------------------------------------------------------------------------------- */

static void ignore_interrupt(int number) { (void)number; /* it is enough that the read ends */ }

/* editor:read(prompt) -> line, or nil and "end" or "interrupt". Without its newline. */
static int editor_read(lua_State *L)
{
  editor *e = luaL_checkudata(L, 1, CCW_EDITOR);
  snprintf(e->prompt, sizeof e->prompt, "%s", luaL_checkstring(L, 2));
  e->L = L;
  struct sigaction action = {.sa_handler = ignore_interrupt}, before; /* no SA_RESTART */
  sigaction(SIGINT, &action, &before);
  int length = 0;
  el_resize(e->line); /* the window may be another size by now: libedit is told of no signals */
  tell_terminal(PASTE_ON);
  errno = 0;
  e->owner = owner_of(L);
  int depth = owner_give_up(e->owner); /* while a person thinks, handlers in Lua may run */
  const char *line = el_gets(e->line, &length);
  owner_take_back(e->owner, depth);
  int error = errno;
  tell_terminal(PASTE_OFF);
  sigaction(SIGINT, &before, NULL);
  e->L = NULL;
  if (!line || length <= 0) {
    bool interrupted = length < 0 && error == EINTR;
    if (interrupted) el_reset(e->line);
    lua_pushnil(L);
    lua_pushstring(L, interrupted ? "interrupt" : "end");
    return 2;
  }
  if (line[length - 1] == '\n') --length;
  lua_pushlstring(L, line, (size_t)length);
  return 1;
}

/* editor:remember(text). Adds an entry, of several lines perhaps, to the history. */
static int editor_remember(lua_State *L)
{
  editor *e = luaL_checkudata(L, 1, CCW_EDITOR);
  HistEvent event;
  history(e->history, &event, H_ENTER, luaL_checkstring(L, 2));
  return 0;
}

/* editor:load(path), editor:save(path). The history in a file. */
static int editor_load(lua_State *L)
{
  editor *e = luaL_checkudata(L, 1, CCW_EDITOR);
  HistEvent event;
  history(e->history, &event, H_LOAD, luaL_checkstring(L, 2));
  return 0;
}

static int editor_save(lua_State *L)
{
  editor *e = luaL_checkudata(L, 1, CCW_EDITOR);
  HistEvent event;
  lua_pushboolean(L, history(e->history, &event, H_SAVE, luaL_checkstring(L, 2)) >= 0);
  return 1;
}

static int editor_gc(lua_State *L)
{
  editor *e = luaL_checkudata(L, 1, CCW_EDITOR);
  if (e->line) el_end(e->line);
  if (e->history) history_end(e->history);
  *e = (editor){.line = NULL};
  return 0;
}

/* new(complete) -> editor. */
static int editor_new(lua_State *L)
{
  luaL_checktype(L, 1, LUA_TFUNCTION);
  editor *e = lua_newuserdatauv(L, sizeof *e, 1);
  *e = (editor){.line = NULL};
  luaL_setmetatable(L, CCW_EDITOR);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  e->line = el_init("ccw", stdin, stdout, stderr);
  e->history = history_init();
  if (!e->line || !e->history) return luaL_error(L, "the line editor does not start");
  HistEvent event;
  history(e->history, &event, H_SETSIZE, 2000);
  history(e->history, &event, H_SETUNIQUE, 1);
  el_set(e->line, EL_CLIENTDATA, e);
  el_set(e->line, EL_PROMPT, give_prompt);
  el_set(e->line, EL_HIST, history, e->history);
  el_set(e->line, EL_EDITOR, "emacs");
  el_set(e->line, EL_SIGNAL, 0); /* Ctrl-C is ours */
  el_wset(
      e->line, EL_ADDFN, L"ccw-complete", L"complete a name", complete); /* the other would copy, and lose, the texts */
  el_set(e->line, EL_BIND, "^I", "ccw-complete", NULL);
  el_wset(e->line, EL_ADDFN, L"ccw-paste", L"insert what is pasted", paste);
  el_set(e->line, EL_BIND, "\\e[200~", "ccw-paste", NULL);
  el_set(e->line, EL_BIND, "^R", "em-inc-search-prev", NULL);
  return 1;
}

int luaopen_ccw_editor(lua_State *L)
{
  static const luaL_Reg metamethods[] = {{"__gc", editor_gc}, {NULL, NULL}};
  static const luaL_Reg methods[] = {
      {"read", editor_read}, {"remember", editor_remember}, {"load", editor_load}, {"save", editor_save}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"new", editor_new}, {NULL, NULL}};
  luaL_newmetatable(L, CCW_EDITOR);
  luaL_setfuncs(L, metamethods, 0);
  luaL_newlib(L, methods);
  lua_setfield(L, -2, "__index");
  luaL_newlib(L, functions);
  return 1;
}

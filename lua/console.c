/* The console: what standard input and output are, and a line that says what is waited for. */
#include "program.h"

#include <dirent.h>
#include <langinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "glue/glue.h"

enum { COLUMNS = 100, LINES = 40, FEWEST = 20 };

/* is_terminal(n) -> boolean. Whether that file descriptor is a terminal. */
static int is_terminal(lua_State *L)
{
  lua_pushboolean(L, isatty((int)luaL_checkinteger(L, 1)));
  return 1;
}

#define CCW_FOLDER "ccw.folder"

static int folder_close(lua_State *L)
{
  DIR **box = luaL_checkudata(L, -1, CCW_FOLDER);
  if (*box) closedir(*box);
  *box = NULL;
  return 0;
}

static void measure(int file, int *out_columns, int *out_lines)
{
  struct winsize size = {.ws_col = 0};
  bool is_known = ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
  *out_columns = !is_known ? COLUMNS : size.ws_col < FEWEST ? FEWEST : size.ws_col;
  *out_lines = !is_known ? LINES : size.ws_row;
}

/* columns() -> columns, lines. Those of the terminal that standard output is; 100 and 40 where it is none. */
static int columns(lua_State *L)
{
  int wide, high;
  measure(STDOUT_FILENO, &wide, &high);
  lua_pushinteger(L, wide);
  lua_pushinteger(L, high);
  return 2;
}

/* is_utf8() -> boolean. Whether the user's locale has UTF-8. */
static int is_utf8(lua_State *L)
{
  lua_pushboolean(L, strcmp(nl_langinfo(CODESET), "UTF-8") == 0);
  return 1;
}

/* list(folder) -> list. The names in a folder, those of folders with a slash; none where it cannot be read. */
static int list(lua_State *L)
{
  const char *path = luaL_checkstring(L, 1);
  lua_Integer count = 0;
  lua_newtable(L);
  DIR **box = lua_newuserdatauv(L, sizeof *box, 0); /* closed by whatever ends this */
  *box = NULL;
  luaL_setmetatable(L, CCW_FOLDER);
  *box = opendir(path);
  for (const struct dirent *entry; *box && (entry = readdir(*box));) {
    struct stat about;
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    bool is_folder = fstatat(dirfd(*box), entry->d_name, &about, 0) == 0 && S_ISDIR(about.st_mode);
    lua_pushfstring(L, "%s%s", entry->d_name, is_folder ? "/" : "");
    lua_rawseti(L, 2, ++count);
  }
  folder_close(L);
  lua_settop(L, 2);
  return 1;
}

/* ---- progress -------------------------------------------------------------------------------------------------------- */

#define CCW_PROGRESS "ccw.progress"

/* A thread writes the line, since who waits may be anywhere in C. */
typedef struct progress {
  bool is_begun, is_over;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t over;
  char text[256];
} progress;

static void write_line(const progress *p, int seconds)
{
  char line[COLUMNS + 2];
  int wide, high;
  measure(STDERR_FILENO, &wide, &high);
  if (wide > COLUMNS) wide = COLUMNS;
  int room = wide - (int)sizeof "\rccw: , 1000 s";
  int length = snprintf(line, sizeof line, "\rccw: %.*s, %d s", room, p->text, seconds);
  if (seconds == 0) length = snprintf(line, sizeof line, "\r%*s\r", wide - 1, ""); /* nothing, where the line was */
  ssize_t ignored = write(STDERR_FILENO, line, (size_t)length);
  (void)ignored;
}

static void *show_progress(void *context)
{
  progress *p = context;
  struct timespec next;
  int seconds = 0;
  clock_gettime(CLOCK_MONOTONIC, &next);
  pthread_mutex_lock(&p->lock);
  for (;;) {
    ++next.tv_sec;
    while (!p->is_over && pthread_cond_timedwait(&p->over, &p->lock, &next) == 0) {}
    if (p->is_over) break;
    write_line(p, ++seconds);
  }
  pthread_mutex_unlock(&p->lock);
  if (seconds > 0) write_line(p, 0);
  return NULL;
}

static int progress_close(lua_State *L)
{
  progress *p = luaL_checkudata(L, 1, CCW_PROGRESS);
  if (!p->is_begun) return 0;
  pthread_mutex_lock(&p->lock);
  p->is_over = true;
  pthread_cond_signal(&p->over);
  pthread_mutex_unlock(&p->lock);
  pthread_join(p->thread, NULL);
  pthread_cond_destroy(&p->over);
  pthread_mutex_destroy(&p->lock);
  p->is_begun = false;
  return 0;
}

/* progress(text) -> something to close, nothing where standard error is no terminal. Says what is waited for, once that takes more than a
 * second, until it is closed. */
static int begin_progress(lua_State *L)
{
  const char *text = luaL_checkstring(L, 1);
  if (!isatty(STDERR_FILENO)) return 0;
  progress *p = lua_newuserdatauv(L, sizeof *p, 0);
  *p = (progress){.is_begun = false};
  luaL_setmetatable(L, CCW_PROGRESS);
  for (size_t i = 0; i < sizeof p->text - 1 && text[i]; ++i)
    p->text[i] = (unsigned char)text[i] < ' ' || text[i] == '\x7F' ? ' ' : text[i];
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&p->over, &monotonic);
  pthread_condattr_destroy(&monotonic);
  pthread_mutex_init(&p->lock, NULL);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before); /* Ctrl-C has to reach who waits */
  p->is_begun = pthread_create(&p->thread, NULL, show_progress, p) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return 1;
}

void open_console(lua_State *L)
{
  static const luaL_Reg functions[] = {{"is_terminal", is_terminal}, {"columns", columns}, {"is_utf8", is_utf8},
      {"list", list}, {"progress", begin_progress}, {NULL, NULL}};
  static const luaL_Reg metamethods[] = {{"__gc", progress_close}, {"__close", progress_close}, {NULL, NULL}};
  luaL_newmetatable(L, CCW_FOLDER);
  lua_pushcfunction(L, folder_close);
  lua_setfield(L, -2, "__gc");
  lua_pop(L, 1);
  luaL_newmetatable(L, CCW_PROGRESS);
  luaL_setfuncs(L, metamethods, 0);
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}

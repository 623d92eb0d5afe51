/* Workers: forked children that answer questions in Lua, for what may crash or hang while its caller goes on. And the note of what
 * this process runs itself, for when it crashes or hangs. */
#include "glue.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static const char WORKER[] = "ccw.worker";

typedef struct worker {
  pid_t child; /* 0: none, or none any more */
  int socket;
} worker;

static char note[1024];
static volatile bool is_noted;

const char *watched(void) { return is_noted ? note : NULL; }

/* ---- messages: their length, then their bytes ----------------------------------------------------------------------- */

static bool put(int socket, const void *memory, size_t size)
{
  for (const char *from = memory; size > 0;) {
    ssize_t sent = send(socket, from, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    from += sent;
    size -= (size_t)sent;
  }
  return true;
}

static bool put_message(int socket, const char *bytes, size_t length)
{
  return put(socket, &length, sizeof length) && put(socket, bytes, length);
}

typedef enum got { GOT, TOO_LATE, ENDED } got;

/* Reads that many bytes; below 0 a deadline is none. */
static got take(int socket, void *memory, size_t size, double deadline)
{
  for (char *to = memory; size > 0;) {
    double left = deadline < 0 ? 3600 : deadline - now();
    if (left <= 0) return TOO_LATE;
    struct pollfd poll_for = {.fd = socket, .events = POLLIN};
    if (poll(&poll_for, 1, left > 3600 ? 3600000 : (int)(left * 1000) + 1) <= 0) continue;
    ssize_t received = recv(socket, to, size, 0);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) return ENDED;
    to += received;
    size -= (size_t)received;
  }
  return GOT;
}

/* ---- in the child ---------------------------------------------------------------------------------------------------- */

static bool is_child;

bool is_worker(void) { return is_child; }

/* Answers one question: f(socket). What goes wrong here is raised. */
static int answer(lua_State *L)
{
  int socket = (int)lua_tointeger(L, 2);
  size_t length;
  if (take(socket, &length, sizeof length, -1) != GOT) _exit(0); /* nobody asks any more */
  char *question = lua_newuserdatauv(L, length + 1, 0);
  if (take(socket, question, length, -1) != GOT) _exit(0);
  lua_pushvalue(L, 1);
  lua_pushlstring(L, question, length);
  lua_call(L, 1, 1);
  const char *text = luaL_tolstring(L, -1, &length);
  fflush(stdout);
  fflush(stderr);
  if (!put_message(socket, text, length)) _exit(0);
  return 0;
}

/* The child lives to answer, and never comes back to what its parent was about to do. */
static _Noreturn void serve(lua_State *L, int socket)
{
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  is_child = true;
  is_noted = false;
  for (;;) {
    lua_settop(L, 1);
    lua_pushcfunction(L, answer);
    lua_pushvalue(L, 1);
    lua_pushinteger(L, socket);
    if (lua_pcall(L, 2, 0, 0) == LUA_OK) continue;
    const char *message = lua_tostring(L, -1);
    fprintf(stderr, "ccw: a question was not answered: %s\n", message ? message : "?");
    _exit(70);
  }
}

/* ---- in the parent --------------------------------------------------------------------------------------------------- */

/* Ends the child, and tells how it ended: for a while it may still be about to, then it is killed. */
static int end(worker *w, bool at_once)
{
  int how = 0;
  if (!w->child) return how;
  close(w->socket);
  double deadline = now() + 2;
  if (at_once) kill(w->child, SIGKILL);
  for (pid_t ended = 0; ended != w->child;) {
    ended = waitpid(w->child, &how, at_once ? 0 : WNOHANG);
    if (ended < 0 && errno != EINTR) break;
    if (ended != 0) continue;
    if (now() > deadline) {
      kill(w->child, SIGKILL);
      at_once = true;
    } else {
      poll(NULL, 0, 1);
    }
  }
  w->child = 0;
  return how;
}

static int worker_gc(lua_State *L)
{
  end(luaL_checkudata(L, 1, WORKER), true);
  return 0;
}

/* worker(f [, aside]) -> worker. Forks a child, in which f(question) -> answer is called for each question, both strings. What f changes
 * changes there alone. `aside` has what it prints go to standard error. */
static int worker_new(lua_State *L)
{
  luaL_checktype(L, 1, LUA_TFUNCTION);
  bool aside = lua_toboolean(L, 2);
  lua_settop(L, 1);
  worker *w = lua_newuserdatauv(L, sizeof *w, 0);
  *w = (worker){0};
  luaL_setmetatable(L, WORKER);
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    CHECK_STATUS(L, ccw_unavailable("no socket for a child process: %s", strerror(errno)));
  fflush(stdout);
  fflush(stderr);
  pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    if (aside) dup2(STDERR_FILENO, STDOUT_FILENO);
    serve(L, ends[1]);
  }
  int error = errno;
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    CHECK_STATUS(L, ccw_unavailable("no child process: %s", strerror(error)));
  }
  *w = (worker){.child = child, .socket = ends[0]};
  return 1;
}

/* worker:ask(question, seconds) -> answer, or nil and how it ended: "timeout", "signal 11", "exit 1". After that it is over. */
static int worker_ask(lua_State *L)
{
  worker *w = luaL_checkudata(L, 1, WORKER);
  size_t length;
  const char *question = luaL_checklstring(L, 2, &length);
  double deadline = now() + luaL_checknumber(L, 3);
  if (!w->child) return luaL_error(L, "this worker is over");
  owner *o = owner_of(L);
  int depth = owner_give_up(o);
  bool sent = put_message(w->socket, question, length);
  got state = sent ? take(w->socket, &length, sizeof length, deadline) : ENDED;
  owner_take_back(o, depth);
  if (state == GOT) {
    char *text = lua_newuserdatauv(L, length + 1, 0);
    state = take(w->socket, text, length, deadline);
    if (state == GOT) {
      lua_pushlstring(L, text, length);
      return 1;
    }
  }
  int how = end(w, state == TOO_LATE);
  lua_pushnil(L);
  push_end(L, state != TOO_LATE, how);
  return 2;
}

/* worker:over() -> boolean. Whether it has ended. */
static int worker_over(lua_State *L)
{
  worker *w = luaL_checkudata(L, 1, WORKER);
  lua_pushboolean(L, !w->child);
  return 1;
}

/* ---- what runs here -------------------------------------------------------------------------------------------------- */

static lua_State *volatile limited; /* where what has a limit runs */
static double limit_seconds;

static void start_timer(void)
{
  struct itimerval timer = {.it_value = {.tv_sec = (time_t)limit_seconds}};
  timer.it_value.tv_usec = (suseconds_t)((limit_seconds - (double)timer.it_value.tv_sec) * 1e6);
  setitimer(ITIMER_REAL, &timer, NULL);
}

static void stop(lua_State *L, lua_Debug *event)
{
  (void)event;
  lua_sethook(L, NULL, 0, 0);
  lua_pushfstring(L, "it was not done after %f seconds", limit_seconds); /* wherever it happens to be */
  lua_error(L);
}

/* Lua is stopped with an error. What goes on in spite of that, such as a handler in C, ends the process in as long again. */
static void on_time(int number)
{
  (void)number;
  if (limited) {
    lua_sethook(limited, stop, LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
    limited = NULL;
    start_timer();
    return;
  }
  static const char late[] = ": it was not done in time and could not be stopped, which ends the run\n";
  ssize_t ignored = write(STDERR_FILENO, note, strlen(note));
  ignored = write(STDERR_FILENO, late, sizeof late - 1);
  (void)ignored;
  _exit(1);
}

/* watch([text, seconds]). What this process is about to run: said when it crashes. When it takes longer than that an error is raised
 * in it, and it ends the process where that does not stop it; 0 is no limit. Without arguments it is over. */
static int watch(lua_State *L)
{
  const char *text = luaL_optstring(L, 1, NULL);
  double seconds = luaL_optnumber(L, 2, 0);
  is_noted = false;
  if (text) snprintf(note, sizeof note, "%s", text);
  is_noted = text;
  if (seconds <= 0 && limit_seconds <= 0) return 0;
  limited = NULL;
  limit_seconds = seconds > 0 ? seconds : 0;
  start_timer();
  lua_sethook(L, NULL, 0, 0); /* one that came too late */
  if (limit_seconds <= 0) return 0;
  limited = L;
  signal(SIGALRM, on_time);
  return 0;
}

void open_workers(lua_State *L)
{
  static const luaL_Reg metamethods[] = {{"__gc", worker_gc}, {"__close", worker_gc}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"ask", worker_ask}, {"over", worker_over}, {"close", worker_gc}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"worker", worker_new}, {"watch", watch}, {NULL, NULL}};
  luaL_newmetatable(L, WORKER);
  luaL_setfuncs(L, metamethods, 0);
  luaL_newlib(L, methods);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}

/* Child processes: for what may crash or hang. */
#include "glue.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Starts the program with its output, errors included, into a pipe. Returns an errno. */
static int start(const char *const *argv, pid_t *out_child, int *out_pipe)
{
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return errno;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  int error = posix_spawnp(out_child, argv[0], &actions, NULL, (char *const *)argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error)
    close(ends[0]);
  else
    *out_pipe = ends[0];
  return error;
}

enum { PART = 4096, PIPE_HOLDS = 64 << 10, MOST_OUTPUT = 16 << 20 };

/* Reads a part of what there is, waiting for it up to some milliseconds. False at the end of it. */
static bool read_part(int pipe, int milliseconds, ccw_text *output)
{
  char part[PART];
  struct pollfd poll_for = {.fd = pipe, .events = POLLIN};
  if (poll(&poll_for, 1, milliseconds) <= 0) return true;
  ssize_t got = read(pipe, part, sizeof part);
  if (got > 0 && output->length < MOST_OUTPUT) ccw_text_add_bytes(output, part, (size_t)got);
  return got > 0;
}

/* Reads until the program ends: it may close its output before, and leave processes behind that hold it open. False where
 * the time is up first, and it was killed. */
static bool wait_for(pid_t child, int pipe, double deadline, ccw_text *output, int *out_how)
{
  enum { SLICE = 20 }; /* milliseconds */
  bool more = true;
  while (waitpid(child, out_how, WNOHANG) == 0) {
    if (now() > deadline) {
      kill(child, SIGKILL);
      while (waitpid(child, out_how, 0) < 0 && errno == EINTR) {}
      return false;
    }
    if (more)
      more = read_part(pipe, SLICE, output);
    else
      poll(NULL, 0, SLICE);
  }
  for (int read = 0; more && read < PIPE_HOLDS; read += PART) more = read_part(pipe, 0, output);
  return true;
}

void push_end(lua_State *L, bool in_time, int how)
{
  if (!in_time)
    lua_pushliteral(L, "timeout");
  else if (WIFSIGNALED(how))
    lua_pushfstring(L, "signal %d", WTERMSIG(how));
  else
    lua_pushfstring(L, "exit %d", WEXITSTATUS(how));
}

/* run(argv, seconds) -> output, end. Runs a program, gives what it printed, and kills it after that time. The end is "exit
 * 0", "signal 11", "timeout". */
static int run(lua_State *L)
{
  luaL_checktype(L, 1, LUA_TTABLE);
  double deadline = now() + luaL_checknumber(L, 2);
  size_t count = lua_rawlen(L, 1);
  luaL_argcheck(L, count > 0, 1, "expected a program");
  const char **argv = lua_newuserdatauv(L, (count + 1) * sizeof *argv, 0);
  luaL_checkstack(L, (int)count + LUA_MINSTACK, "too many arguments");
  for (size_t i = 0; i < count; ++i) {
    lua_rawgeti(L, 1, (lua_Integer)i + 1);
    argv[i] = luaL_checkstring(L, -1);
  }
  argv[count] = NULL;
  owner *o = owner_of(L);

  pid_t child;
  int pipe = -1, how = 0;
  int error = start(argv, &child, &pipe);
  if (error) CHECK_STATUS(L, ccw_unavailable("cannot run %s: %s", argv[0], strerror(error)));
  ccw_text output = {0};
  int depth = owner_give_up(o);
  bool in_time = wait_for(child, pipe, deadline, &output, &how);
  owner_take_back(o, depth);
  close(pipe);
  push_text(L, &output);
  push_end(L, in_time, how);
  return 2;
}

/* limit(seconds). In a child: ends it with SIGALRM when that time is up, unless it is limited anew before; 0 lifts the limit. */
static int limit(lua_State *L)
{
  double seconds = luaL_checknumber(L, 1);
  struct itimerval timer = {.it_value = {.tv_sec = (time_t)seconds}};
  timer.it_value.tv_usec = (suseconds_t)((seconds - (double)timer.it_value.tv_sec) * 1e6);
  setitimer(ITIMER_REAL, &timer, NULL);
  return 0;
}

/* interpreter() -> string. The file of the program that this process runs; nothing where it cannot be told. */
static int interpreter(lua_State *L)
{
  char path[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0) return 0;
  lua_pushlstring(L, path, (size_t)length);
  return 1;
}

void open_child(lua_State *L)
{
  static const luaL_Reg functions[] = {{"run", run}, {"limit", limit}, {"interpreter", interpreter}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}

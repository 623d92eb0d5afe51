/* Programs: what is compiled elsewhere than in this process. */
#include "device/compile.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"

extern char **environ;

enum { PART = 4096, SLICE = 5 /* milliseconds */, PIPE_HOLDS = 64 << 10, MOST_OUTPUT = 1 << 20 };

/* ---- words ----------------------------------------------------------------------------------------------------------- */

void ccw_words_free(ccw_words *words)
{
  ccw_text_free(&words->bytes);
  words->count = 0;
}

ccw_status ccw_words_list(const ccw_words *words, char ***out_list)
{
  CCW_TRY(ccw_text_status(&words->bytes));
  size_t size = (words->count + 1) * sizeof **out_list;
  char **list = ccw_allocate(size), *word = words->bytes.data;
  if (!list) return ccw_no_memory(size);
  for (size_t i = 0; i < words->count; ++i, word += strlen(word) + 1) list[i] = word;
  list[words->count] = NULL;
  *out_list = list;
  return ccw_ok();
}

/* ---- finding --------------------------------------------------------------------------------------------------------- */

static bool is_program(const char *path)
{
  struct stat about;
  return stat(path, &about) == 0 && S_ISREG(about.st_mode) && access(path, X_OK) == 0;
}

bool ccw_program_find(const char *name, ccw_text *out_path)
{
  if (strchr(name, '/')) {
    ccw_text_add(out_path, "%s", name);
    return is_program(name);
  }
  const char *folders = getenv("PATH");
  for (const char *at = folders ? folders : "/usr/local/bin:/usr/bin:/bin"; *at; at += *at == ':') {
    int length = (int)strcspn(at, ":");
    out_path->length = 0;
    ccw_text_add(out_path, "%.*s/%s", length ? length : 1, length ? at : ".", name);
    if (is_program(ccw_text_data(out_path))) return true;
    at += length;
  }
  return false;
}

/* ---- running --------------------------------------------------------------------------------------------------------- */

static double seconds_now(void)
{
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* A process that waits for the end of this one and then kills its group, in which the child is born: a compiler's driver, told to
 * end, would leave the compiler proper behind. It is woken when this thread ends, which waits here. 0: there is none. */
static pid_t guard(void)
{
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_t parent = getpid(), guardian = fork();
  if (guardian == 0) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    siginfo_t why;
    while (getppid() == parent) sigwaitinfo(&all, &why);
    kill(0, SIGKILL);
    _exit(0);
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (guardian < 0) return 0;
  setpgid(guardian, guardian); /* whoever is first: it is to be done before the child joins */
  return guardian;
}

static void collect(pid_t child, int *out_how)
{
  while (waitpid(child, out_how, 0) < 0 && errno == EINTR) {}
}

static void dismiss(pid_t guardian)
{
  int ignored;
  if (!guardian) return;
  kill(guardian, SIGKILL);
  collect(guardian, &ignored);
}

/* Starts it in that process group, one of its own where it is 0, so that the compiler proper, which its driver starts, can be killed
 * with it, and with the signals of a process that nobody has touched. Returns an errno. */
static int start(char *const *words, char *const *environment, int output, pid_t group, pid_t *out_child)
{
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  if (posix_spawn_file_actions_init(&actions) != 0) return ENOMEM;
  if (posix_spawnattr_init(&attributes) != 0) {
    posix_spawn_file_actions_destroy(&actions);
    return ENOMEM;
  }
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&attributes, group);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  int error = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  if (!error) error = posix_spawn_file_actions_adddup2(&actions, output, 1);
  if (!error) error = posix_spawn_file_actions_adddup2(&actions, output, 2);
  if (!error) error = posix_spawn(out_child, words[0], &actions, &attributes, words, environment);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return error;
}

/* Reads a part of what there is, waiting for it up to some milliseconds. False at the end of it. */
static bool read_part(int from, int milliseconds, ccw_text *output)
{
  char part[PART];
  struct pollfd poll_for = {.fd = from, .events = POLLIN};
  if (poll(&poll_for, 1, milliseconds) <= 0) return true;
  ssize_t got = read(from, part, sizeof part);
  if (got > 0 && output->length < MOST_OUTPUT) ccw_text_add_bytes(output, part, (size_t)got);
  return got > 0 || (got < 0 && errno == EINTR);
}

/* Reads until the program ends: it may close its output before, and leave processes behind that hold it open. Where this process
 * has somebody else collect its children, how it ended is not known, and taken for good. DEADLINE_EXCEEDED, CANCELLED: it still runs. */
static ccw_status wait_for(
    const ccw_source *source, const char *what, pid_t child, int from, ccw_text *output, int *out_how)
{
  double seconds = source->time_limit > 0 ? source->time_limit : CCW_COMPILE_SECONDS;
  double deadline = seconds_now() + seconds;
  bool more = true;
  pid_t ended;
  *out_how = 0;
  while ((ended = waitpid(child, out_how, WNOHANG)) == 0 || (ended < 0 && errno == EINTR)) {
    if (seconds_now() > deadline) return ccw_deadline_exceeded("%s took more than %g s and was ended", what, seconds);
    if (source->is_wanted && !source->is_wanted(source->context)) return ccw_cancelled("%s was interrupted", what);
    if (more)
      more = read_part(from, SLICE, output);
    else
      poll(NULL, 0, 1);
  }
  for (int read = 0; more && read < PIPE_HOLDS; read += PART) more = read_part(from, 0, output);
  return ccw_ok();
}

/* Waits for a child that writes to a pipe, which is closed then. */
static ccw_status attend(
    const ccw_source *source, const char *what, pid_t guardian, pid_t child, int from, ccw_text *output, int *out_exit)
{
  int how;
  ccw_status status = wait_for(source, what, child, from, output, &how);
  close(from);
  if (status.code) {
    kill(guardian ? -guardian : -child, SIGKILL);
    collect(child, &how);
  }
  dismiss(guardian);
  CCW_TRY(status);
  if (WIFSIGNALED(how)) return ccw_aborted("%s was ended by signal %d", what, WTERMSIG(how));
  *out_exit = WEXITSTATUS(how);
  return ccw_ok();
}

static ccw_status cannot_run(const char *what, int error)
{
  return ccw_unavailable("cannot run %s: %s", what, strerror(error));
}

ccw_status ccw_program_run(
    const ccw_source *source, char *const *words, char *const *environment, ccw_text *output, int *out_exit)
{
  int ends[2];
  pid_t guardian = guard(), child;
  if (pipe2(ends, O_CLOEXEC) != 0) {
    int error = errno;
    dismiss(guardian);
    return cannot_run(words[0], error);
  }
  int error = start(words, environment ? environment : environ, ends[1], guardian, &child);
  close(ends[1]);
  if (!error) return attend(source, words[0], guardian, child, ends[0], output, out_exit);
  close(ends[0]);
  dismiss(guardian);
  return cannot_run(words[0], error);
}

/* In the child: its process group, and signals that end it as if nobody had looked at them before. */
static void become_child(int output, pid_t group)
{
  static const int numbers[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTRAP, SIGINT, SIGTERM, SIGALRM, SIGPIPE};
  setpgid(0, group);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) signal(numbers[i], SIG_DFL);
  int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, 0);
  dup2(output, 1);
  dup2(output, 2);
}

ccw_status ccw_child_run(const ccw_source *source, int (*function)(void *context), void *context, const char *what,
    ccw_text *output, int *out_exit)
{
  int ends[2];
  pid_t guardian = guard();
  if (pipe2(ends, O_CLOEXEC) != 0) {
    int error = errno;
    dismiss(guardian);
    return cannot_run(what, error);
  }
  pid_t child = fork();
  if (child == 0) {
    become_child(ends[1], guardian);
    _exit(function(context));
  }
  int error = errno;
  close(ends[1]);
  if (child > 0) {
    setpgid(child, guardian ? guardian : child); /* whoever is first: it is to be done before the child is killed */
    return attend(source, what, guardian, child, ends[0], output, out_exit);
  }
  close(ends[0]);
  dismiss(guardian);
  return cannot_run(what, error);
}

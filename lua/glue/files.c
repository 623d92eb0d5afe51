/* Files with an array in them: they are read straight into a buffer's memory, and replaced as a whole. */
#include "glue.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct file {
  void *open; /* itself, or NULL once it is closed */
  int descriptor;
  int64_t at, size;
} file;

ccw_status status_of_system(int error)
{
  XLA_FFI_Error_Code code = XLA_FFI_Error_Code_UNAVAILABLE;
  switch (error) {
  case ENOENT:
  case ENOTDIR: code = XLA_FFI_Error_Code_NOT_FOUND; break;
  case EACCES:
  case EPERM:
  case EROFS: code = XLA_FFI_Error_Code_PERMISSION_DENIED; break;
  case EISDIR:
  case ELOOP:
  case ENAMETOOLONG: code = XLA_FFI_Error_Code_INVALID_ARGUMENT; break;
  case EMFILE:
  case ENFILE:
  case ENOMEM: code = XLA_FFI_Error_Code_RESOURCE_EXHAUSTED; break;
  default: break;
  }
  const char *text = strerror(error);
  return ccw_status_from_text(code, text, strlen(text));
}

static ccw_status check_regular(const struct stat *about)
{
  if (S_ISREG(about->st_mode)) return ccw_ok();
  if (S_ISDIR(about->st_mode)) return ccw_invalid("a folder, and no file");
  return ccw_invalid("a pipe or a device, and no file");
}

ccw_status open_regular(const char *path, int *out_descriptor, int64_t *out_size)
{
  struct stat about;
  int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK); /* a pipe would wait for a writer */
  if (descriptor < 0) return status_of_system(errno);
  ccw_status status = fstat(descriptor, &about) == 0 ? check_regular(&about) : status_of_system(errno);
  if (status.code) {
    close(descriptor);
    return status;
  }
  *out_descriptor = descriptor;
  *out_size = about.st_size;
  return ccw_ok();
}

/* ---- reading ------------------------------------------------------------------------------------------------------- */

static file *check_file(lua_State *L, int index) { return check_box(L, index, CCW_FILE); }

/* open_file(path) -> file; nil, why, code. To be read from its beginning on; nothing but a regular file. */
static int file_open(lua_State *L)
{
  const char *path = check_text(L, 1);
  file *f = lua_newuserdatauv(L, sizeof *f, 0);
  f->open = NULL;
  set_kind(L, CCW_FILE);
  f->at = 0;
  ccw_status status = open_regular(path, &f->descriptor, &f->size);
  if (!status.code) f->open = f;
  return push_unless(L, status);
}

/* file:left() -> integer. Bytes that were not read yet. */
static int file_left(lua_State *L)
{
  file *f = check_file(L, 1);
  lua_pushinteger(L, f->size - f->at);
  return 1;
}

static ccw_status read_exactly(file *f, char *bytes, size_t size)
{
  while (size > 0) {
    ssize_t got = pread(f->descriptor, bytes, size, f->at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return status_of_system(errno);
    if (got == 0) return ccw_data_loss("the file ended while it was read");
    bytes += got;
    size -= (size_t)got;
    f->at += got;
  }
  return ccw_ok();
}

/* file:read(count) -> string; nil, why, code. The next bytes, of which there must be as many left. */
static int file_read(lua_State *L)
{
  file *f = check_file(L, 1);
  size_t size = (size_t)check_integer(L, 2, 0, f->size - f->at);
  luaL_Buffer string;
  char *bytes = luaL_buffinitsize(L, &string, size);
  ccw_status status = read_exactly(f, bytes, size);
  luaL_pushresultsize(&string, status.code ? 0 : size);
  return push_unless(L, status);
}

/* file:fill(buffer) -> true; nil, why, code. Overwrites a buffer of the host with the next bytes. */
static int file_fill(lua_State *L)
{
  file *f = check_file(L, 1);
  ccw_buffer *buffer = check_buffer(L, 2);
  int64_t at = f->at;
  f->at += ccw_buffer_shape(buffer)->bytes;
  owner *o = owner_of(L);
  hold_buffer(buffer);
  int depth = owner_give_up(o);
  ccw_status status = ccw_buffer_read_file(buffer, f->descriptor, at);
  owner_take_back(o, depth);
  let_go_of_buffer(buffer);
  lua_pushboolean(L, true);
  return push_unless(L, status);
}

static int file_close(lua_State *L)
{
  file *f = test_kind(L, 1, CCW_FILE);
  if (f && f->open) close(f->descriptor);
  if (f) f->open = NULL;
  return 0;
}

/* ---- writing ------------------------------------------------------------------------------------------------------- */

ccw_status find_target(const char *path, char target[PATH_MAX], mode_t *out_mode)
{
  struct stat about;
  bool is_there = realpath(path, target) != NULL; /* a link stays, and what it leads to is replaced */
  if (!is_there && errno != ENOENT) return status_of_system(errno);
  if (!is_there && strlen(path) >= PATH_MAX) return status_of_system(ENAMETOOLONG);
  if (!is_there) snprintf(target, PATH_MAX, "%s", path);
  *out_mode = 0;
  if (!is_there) return ccw_ok();
  if (stat(target, &about) != 0) return status_of_system(errno);
  CCW_TRY(check_regular(&about));
  *out_mode = about.st_mode & 0777;
  return ccw_ok();
}

/* A new file beside another. */
static ccw_status open_beside(const char *target, char name[PATH_MAX], int *out_descriptor)
{
  enum { MOST = 100 };
  for (int i = 0; i < MOST; ++i) {
    int length = snprintf(name, PATH_MAX, "%s.%ld-%d", target, (long)getpid(), i);
    if (length >= PATH_MAX) return status_of_system(ENAMETOOLONG);
    *out_descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (*out_descriptor >= 0) return ccw_ok();
    if (errno != EEXIST) break;
  }
  return status_of_system(errno);
}

static ccw_status write_all(int descriptor, const char *bytes, size_t size)
{
  while (size > 0) {
    ssize_t put = write(descriptor, bytes, size);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return status_of_system(errno);
    bytes += put;
    size -= (size_t)put;
  }
  return ccw_ok();
}

static ccw_status replace(const char *path, const char *head, size_t head_size, const ccw_buffer *buffer)
{
  char target[PATH_MAX], name[PATH_MAX];
  mode_t mode;
  int descriptor = -1;
  CCW_TRY(find_target(path, target, &mode));
  CCW_TRY(open_beside(target, name, &descriptor));
  ccw_status status = write_all(descriptor, head, head_size);
  if (!status.code) status = ccw_buffer_write_file(buffer, descriptor);
  if (!status.code && mode) fchmod(descriptor, mode); /* where that is not allowed, it is a file like any new one */
  if (close(descriptor) != 0 && !status.code) status = status_of_system(errno);
  if (!status.code && rename(name, target) != 0) status = status_of_system(errno);
  if (status.code) unlink(name);
  return status;
}

/* write_file(path, head, buffer) -> true; nil, why, code. A file of these bytes and the memory of a buffer of the host, written beside
 * the one of that name and put into its place. */
static int file_write(lua_State *L)
{
  size_t head_size;
  const char *path = check_text(L, 1), *head = luaL_checklstring(L, 2, &head_size);
  ccw_buffer *buffer = check_buffer(L, 3);
  owner *o = owner_of(L);
  hold_buffer(buffer);
  int depth = owner_give_up(o);
  ccw_status status = replace(path, head, head_size, buffer);
  owner_take_back(o, depth);
  let_go_of_buffer(buffer);
  lua_pushboolean(L, true);
  return push_unless(L, status);
}

void open_files(lua_State *L)
{
  static const luaL_Reg metamethods[] = {{"__gc", file_close}, {"__close", file_close}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"left", file_left}, {"read", file_read}, {"fill", file_fill}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"open_file", file_open}, {"write_file", file_write}, {NULL, NULL}};
  new_kind(L, CCW_FILE, metamethods, methods);
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}

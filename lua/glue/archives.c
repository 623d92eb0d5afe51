/* Archives of arrays, which .npz is: zip, by libzip. That is opened when it is first needed: it brings libraries for encryption along,
 * which take as long to load as all of ccw. */
#include "glue.h"

#include <string.h>
#include <unistd.h>

#ifdef CCW_HAS_ZIP
#include <dlfcn.h>
#include <pthread.h>
#include <zip.h>

#define FUNCTIONS(X)            \
  X(zip_close)                  \
  X(zip_discard)                \
  X(zip_error_fini)             \
  X(zip_error_init_with_code)   \
  X(zip_error_strerror)         \
  X(zip_error_system_type)      \
  X(zip_fclose)                 \
  X(zip_fdopen)                 \
  X(zip_file_add)               \
  X(zip_file_get_error)         \
  X(zip_file_set_dostime)       \
  X(zip_fopen_index)            \
  X(zip_fread)                  \
  X(zip_get_error)              \
  X(zip_get_num_entries)        \
  X(zip_open)                   \
  X(zip_set_file_compression)   \
  X(zip_source_buffer_fragment) \
  X(zip_source_free)            \
  X(zip_stat_index)

#define FUNCTION(name) __typeof__(name) *name;
static struct {
  FUNCTIONS(FUNCTION)
} zip;
static bool has_zip;
static char why_not[256];

static void open_libzip(void)
{
  void *library = dlopen("libzip.so.5", RTLD_NOW | RTLD_LOCAL);
  if (!library) library = dlopen("libzip.so.4", RTLD_NOW | RTLD_LOCAL);
  has_zip = library != NULL;
  if (!library) snprintf(why_not, sizeof why_not, "%s", dlerror());
#define FIND(name)                                                     \
  if (has_zip && !(*(void **)&zip.name = dlsym(library, #name))) {     \
    has_zip = false;                                                   \
    snprintf(why_not, sizeof why_not, "it has no function %s", #name); \
  }
  FUNCTIONS(FIND)
#undef FIND
}

static ccw_status need_zip(void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, open_libzip);
  return has_zip ? ccw_ok() : ccw_unavailable("a .npz file needs libzip: %s", why_not);
}

static ccw_status status_of_zip(zip_error_t *error)
{
  XLA_FFI_Error_Code code =
      zip.zip_error_system_type(error) == ZIP_ET_SYS ? XLA_FFI_Error_Code_UNAVAILABLE : XLA_FFI_Error_Code_DATA_LOSS;
  switch (error->zip_err) {
  case ZIP_ER_NOZIP: code = XLA_FFI_Error_Code_INVALID_ARGUMENT; break;
  case ZIP_ER_MEMORY: code = XLA_FFI_Error_Code_RESOURCE_EXHAUSTED; break;
  case ZIP_ER_MULTIDISK:
  case ZIP_ER_OPNOTSUPP:
  case ZIP_ER_COMPNOTSUPP:
  case ZIP_ER_ENCRNOTSUPP: code = XLA_FFI_Error_Code_UNIMPLEMENTED; break;
  default: break;
  }
  const char *text = zip.zip_error_strerror(error);
  return ccw_status_from_text(code, text, strlen(text));
}

static ccw_status status_of_code(int code)
{
  zip_error_t error;
  zip.zip_error_init_with_code(&error, code);
  ccw_status status = status_of_zip(&error);
  zip.zip_error_fini(&error);
  return status;
}

/* ---- reading ------------------------------------------------------------------------------------------------------- */

static ccw_status open_archive(const char *path, zip_t **out_archive, int64_t *out_size)
{
  int descriptor, code;
  CCW_TRY(need_zip());
  CCW_TRY(open_regular(path, &descriptor, out_size));
  *out_archive = zip.zip_fdopen(descriptor, ZIP_CHECKCONS, &code); /* takes the descriptor over */
  if (*out_archive) return ccw_ok();
  close(descriptor);
  if (code == ZIP_ER_EXISTS) return ccw_invalid("two members of one name");
  return status_of_code(code);
}

/* open_archive(path) -> archive, bytes of the file; nil, why, code. */
static int archive_open(lua_State *L)
{
  const char *path = check_text(L, 1);
  zip_t *archive;
  int64_t size;
  void **box = new_box(L, CCW_ARCHIVE);
  ccw_status status = open_archive(path, &archive, &size);
  if (status.code) return push_unless(L, status);
  box[0] = archive;
  lua_pushinteger(L, size);
  return 2;
}

static int archive_close(lua_State *L)
{
  void **box = test_kind(L, 1, CCW_ARCHIVE);
  if (box && box[0]) zip.zip_discard(box[0]);
  if (box) box[0] = NULL;
  return 0;
}

static void push_member(lua_State *L, const zip_stat_t *about)
{
  lua_createtable(L, 0, 5);
  lua_pushstring(L, about->name);
  lua_setfield(L, -2, "name");
  lua_pushinteger(L, (lua_Integer)about->size);
  lua_setfield(L, -2, "size");
  lua_pushinteger(L, (lua_Integer)about->comp_size);
  lua_setfield(L, -2, "stored");
  lua_pushinteger(L, about->comp_method);
  lua_setfield(L, -2, "method");
  lua_pushboolean(L, about->encryption_method != ZIP_EM_NONE);
  lua_setfield(L, -2, "is_encrypted");
}

/* archive:members() -> list of {name, size, stored, method, is_encrypted}. What the archive says of them: bytes, also as they are stored
 * in the archive, and the number of the method; sizes of 2^63 or more are negative. */
static int archive_members(lua_State *L)
{
  zip_t *archive = check_box(L, 1, CCW_ARCHIVE);
  lua_newtable(L);
  for (zip_int64_t i = 0; i < zip.zip_get_num_entries(archive, 0); ++i) {
    zip_stat_t about;
    const zip_uint64_t needed =
        ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    if (zip.zip_stat_index(archive, (zip_uint64_t)i, 0, &about) != 0)
      return push_unless(L, status_of_zip(zip.zip_get_error(archive)));
    if ((about.valid & needed) != needed)
      return push_unless(L, ccw_data_loss("member %lld has no sizes", (long long)i));
    push_member(L, &about);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/* A member that is read from its beginning to its end. */
typedef struct member {
  zip_file_t *file; /* NULL once it is closed */
  int64_t at, size;
} member;

static member *check_member(lua_State *L, int index)
{
  check_box(L, index, CCW_MEMBER);
  return lua_touserdata(L, index);
}

/* archive:open(i, size) -> member; nil, why, code. That one of the list, of which so many bytes are expected. */
static int member_open(lua_State *L)
{
  zip_t *archive = check_box(L, 1, CCW_ARCHIVE);
  int64_t i = check_integer(L, 2, 1, zip.zip_get_num_entries(archive, 0)), size = check_integer(L, 3, 0, INT64_MAX);
  member *m = lua_newuserdatauv(L, sizeof *m, 1);
  *m = (member){.size = size};
  set_kind(L, CCW_MEMBER);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1); /* the archive lives as long */
  m->file = zip.zip_fopen_index(archive, (zip_uint64_t)i - 1, 0);
  return push_unless(L, m->file ? ccw_ok() : status_of_zip(zip.zip_get_error(archive)));
}

static int member_close(lua_State *L)
{
  member *m = test_kind(L, 1, CCW_MEMBER);
  if (m && m->file) zip.zip_fclose(m->file);
  if (m) m->file = NULL;
  return 0;
}

/* member:left() -> integer. */
static int member_left(lua_State *L)
{
  member *m = check_member(L, 1);
  lua_pushinteger(L, m->size - m->at);
  return 1;
}

/* At the end libzip compares the checksum. */
static ccw_status read_member(member *m, char *bytes, int64_t size)
{
  char more;
  for (int64_t done = 0; done < size;) {
    zip_int64_t got = zip.zip_fread(m->file, bytes + done, (zip_uint64_t)(size - done));
    if (got < 0) return status_of_zip(zip.zip_file_get_error(m->file));
    if (got == 0) return ccw_data_loss("it ends before the size that the archive says");
    done += got;
  }
  m->at += size;
  if (m->at < m->size) return ccw_ok();
  zip_int64_t got = zip.zip_fread(m->file, &more, 1);
  if (got < 0) return status_of_zip(zip.zip_file_get_error(m->file));
  return got == 0 ? ccw_ok() : ccw_data_loss("it is longer than the archive says");
}

/* member:read(count) -> string; nil, why, code. */
static int member_read(lua_State *L)
{
  member *m = check_member(L, 1);
  int64_t size = check_integer(L, 2, 0, m->size - m->at);
  luaL_Buffer string;
  char *bytes = luaL_buffinitsize(L, &string, (size_t)size);
  ccw_status status = read_member(m, bytes, size);
  luaL_pushresultsize(&string, status.code ? 0 : (size_t)size);
  return push_unless(L, status);
}

/* member:fill(buffer) -> true; nil, why, code. */
static int member_fill(lua_State *L)
{
  member *m = check_member(L, 1);
  ccw_buffer *buffer = check_buffer(L, 2);
  owner *o = owner_of(L);
  hold_buffer(buffer);
  int depth = owner_give_up(o);
  ccw_status status = read_member(m, ccw_buffer_data(buffer), ccw_buffer_shape(buffer)->bytes);
  owner_take_back(o, depth);
  let_go_of_buffer(buffer);
  lua_pushboolean(L, true);
  return push_unless(L, status);
}

/* ---- writing ------------------------------------------------------------------------------------------------------- */

/* A member to be written: these bytes, then the memory of a buffer of the host. */
typedef struct content {
  const char *name, *head; /* strings of Lua's */
  size_t head_size;
  ccw_buffer *buffer;
} content;

static ccw_status add_member(zip_t *archive, const content *c, bool compressed)
{
  zip_buffer_fragment_t parts[] = {{(zip_uint8_t *)c->head, c->head_size},
      {ccw_buffer_data(c->buffer), (zip_uint64_t)ccw_buffer_shape(c->buffer)->bytes}};
  zip_source_t *source = zip.zip_source_buffer_fragment(archive, parts, parts[1].length > 0 ? 2 : 1, 0);
  zip_int64_t index = source ? zip.zip_file_add(archive, c->name, source, ZIP_FL_ENC_GUESS) : -1;
  if (source && index < 0) zip.zip_source_free(source);
  if (index < 0 ||
      zip.zip_set_file_compression(archive, (zip_uint64_t)index, compressed ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0) != 0 ||
      zip.zip_file_set_dostime(archive, (zip_uint64_t)index, 0, 1 << 5 | 1, 0) !=
          0) /* the first of 1980, as numpy has it */
    return status_of_zip(zip.zip_get_error(archive));
  return ccw_ok();
}

/* libzip writes beside the old file, and puts the new one into its place. */
static ccw_status write_archive(const char *path, const content *contents, int64_t count, bool compressed)
{
  char target[PATH_MAX];
  mode_t mode;
  int code;
  CCW_TRY(find_target(path, target, &mode));
  zip_t *archive = zip.zip_open(target, ZIP_CREATE | ZIP_TRUNCATE, &code);
  if (!archive) return status_of_code(code);
  ccw_status status = ccw_ok();
  for (int64_t i = 0; i < count && !status.code; ++i) status = add_member(archive, &contents[i], compressed);
  if (!status.code && zip.zip_close(archive) == 0) return ccw_ok();
  if (!status.code) status = status_of_zip(zip.zip_get_error(archive));
  zip.zip_discard(archive);
  return status;
}

/* write_archive(path, list, compressed) -> true; nil, why, code. Each item of the list is {name, head, buffer}, and stays as it is. */
static int archive_write(lua_State *L)
{
  const char *path = check_text(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  int64_t count = (int64_t)lua_rawlen(L, 2);
  content *contents = lua_newuserdatauv(L, (size_t)count * sizeof *contents, 0);
  for (int64_t i = 0; i < count; ++i) {
    lua_rawgeti(L, 2, i + 1);
    lua_rawgeti(L, -1, 1);
    contents[i].name = check_text(L, -1);
    lua_rawgeti(L, -2, 2);
    contents[i].head = luaL_checklstring(L, -1, &contents[i].head_size);
    lua_rawgeti(L, -3, 3);
    contents[i].buffer = check_buffer(L, -1);
    lua_pop(L, 4);
  }
  ccw_status status = need_zip();
  if (status.code) return push_unless(L, status);
  owner *o = owner_of(L);
  for (int64_t i = 0; i < count; ++i) hold_buffer(contents[i].buffer);
  int depth = owner_give_up(o);
  status = write_archive(path, contents, count, lua_toboolean(L, 3));
  owner_take_back(o, depth);
  for (int64_t i = 0; i < count; ++i) let_go_of_buffer(contents[i].buffer);
  lua_pushboolean(L, true);
  return push_unless(L, status);
}

void open_archives(lua_State *L)
{
  static const luaL_Reg archive_metamethods[] = {{"__gc", archive_close}, {"__close", archive_close}, {NULL, NULL}};
  static const luaL_Reg archive_methods[] = {{"members", archive_members}, {"open", member_open}, {NULL, NULL}};
  static const luaL_Reg member_metamethods[] = {{"__gc", member_close}, {"__close", member_close}, {NULL, NULL}};
  static const luaL_Reg member_methods[] = {
      {"left", member_left}, {"read", member_read}, {"fill", member_fill}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"open_archive", archive_open}, {"write_archive", archive_write}, {NULL, NULL}};
  new_kind(L, CCW_ARCHIVE, archive_metamethods, archive_methods);
  new_kind(L, CCW_MEMBER, member_metamethods, member_methods);
  lua_pop(L, 2);
  luaL_setfuncs(L, functions, 0);
}

#else

static int no_zip(lua_State *L)
{
  return push_unless(L, ccw_unavailable("a .npz file needs libzip, which was not there when ccw was built"));
}

void open_archives(lua_State *L)
{
  static const luaL_Reg functions[] = {{"open_archive", no_zip}, {"write_archive", no_zip}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}

#endif

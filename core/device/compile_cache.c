/* The cache of what was compiled: a folder for each recipe, named by its digest, with the code and a file "about", which holds
 * the recipe itself, so that no two are ever taken for one. A folder is made under another name and renamed when it is whole.
 * Code that was cut, or written by half when the power went, is known by its digest. */
#include "device/compile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mix.h"
#include "base/text.h"

#define IN_THE_MAKING "making-"

/* ---- digests --------------------------------------------------------------------------------------------------------- */

typedef struct digest {
  uint64_t a, b, length;
} digest;

/* Adds bytes; only the last piece may be of a length that is no multiple of 8. */
static void digest_add(digest *d, const char *bytes, size_t length)
{
  for (size_t i = 0; i < length; i += 8) {
    uint64_t word = 0;
    memcpy(&word, bytes + i, length - i < 8 ? length - i : 8);
    d->a = ccw_mix(d->a ^ word);
    d->b = ccw_mix(d->b + word * 0xD1342543DE82EF95);
  }
  d->length += length;
}

static void digest_print(digest d, ccw_text *text)
{
  uint64_t a = ccw_mix(d.a ^ d.length), b = ccw_mix(d.b + d.length);
  ccw_text_add(text, "%016llx%016llx", (unsigned long long)a, (unsigned long long)b);
}

/* ---- files ----------------------------------------------------------------------------------------------------------- */

ccw_status ccw_file_read(const char *path, ccw_text *out_bytes)
{
  char part[16384];
  ssize_t got = 0;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  while (file >= 0 && ((got = read(file, part, sizeof part)) > 0 || (got < 0 && errno == EINTR)))
    if (got > 0) ccw_text_add_bytes(out_bytes, part, (size_t)got);
  int error = errno;
  if (file >= 0) close(file);
  if (file < 0 || got < 0) return ccw_unavailable("%s: %s", path, strerror(error));
  return ccw_text_status(out_bytes);
}

ccw_status ccw_file_write(const char *path, const char *bytes, size_t length)
{
  int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  bool good = file >= 0;
  for (size_t done = 0; good && done < length;) {
    ssize_t wrote = write(file, bytes + done, length - done);
    good = wrote > 0 || (wrote < 0 && errno == EINTR);
    if (wrote > 0) done += (size_t)wrote;
  }
  int error = errno;
  if (file >= 0 && close(file) != 0 && good) {
    good = false;
    error = errno;
  }
  return good ? ccw_ok() : ccw_unavailable("%s: %s", path, strerror(error));
}

bool ccw_file_identity(const char *path, ccw_text *text)
{
  struct stat about;
  if (stat(path, &about) != 0) return false;
  ccw_text_add(
      text, "%s %lld %lld %ld", path, (long long)about.st_size, (long long)about.st_mtim.tv_sec, about.st_mtim.tv_nsec);
  ccw_text_add_bytes(text, "", 1);
  return true;
}

static bool digest_file(const char *path, ccw_text *out_digest)
{
  char part[16384];
  digest d = {0};
  size_t held = 0;
  ssize_t got = 0;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  while (file >= 0 && ((got = read(file, part + held, sizeof part - held)) > 0 || (got < 0 && errno == EINTR))) {
    held += got > 0 ? (size_t)got : 0;
    if (held < sizeof part) continue;
    digest_add(&d, part, held);
    held = 0;
  }
  if (file < 0) return false;
  close(file);
  digest_add(&d, part, held);
  digest_print(d, out_digest);
  return got == 0;
}

/* ---- folders --------------------------------------------------------------------------------------------------------- */

static bool find_place(ccw_text *out_folder)
{
  static const struct {
    const char *variable, *below;
  } places[] = {{"CCW_CACHE", ""}, {"XDG_CACHE_HOME", "/ccw"}, {"HOME", "/.cache/ccw"}};
  for (size_t i = 0; i < sizeof places / sizeof *places; ++i) {
    const char *folder = getenv(places[i].variable);
    if (!folder || !*folder) continue;
    ccw_text_add(out_folder, "%s%s", folder, places[i].below);
    return true;
  }
  return false;
}

/* What a relative name means may change, what was compiled stays. */
static void make_absolute(ccw_text *folder)
{
  char *path = folder->data[0] == '/' ? NULL : realpath(folder->data, NULL);
  if (!path) return;
  folder->length = 0;
  ccw_text_add(folder, "%s", path);
  free(path);
}

/* Makes a folder and those above it, for the user alone. */
static void make_folders(char *path)
{
  if (mkdir(path, 0700) == 0 || errno == EEXIST) return;
  for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    mkdir(path, 0700);
    *slash = '/';
  }
  mkdir(path, 0700);
}

ccw_status ccw_cache_open(ccw_text *out_folder)
{
  struct stat about;
  uint64_t limit;
  CCW_TRY(ccw_cache_limit(&limit));
  if (!find_place(out_folder))
    return ccw_unavailable("there is no folder to compile in: set CCW_CACHE to one, or HOME");
  CCW_TRY(ccw_text_status(out_folder));
  make_folders(out_folder->data);
  const char *folder = out_folder->data;
  if (stat(folder, &about) != 0 || (S_ISDIR(about.st_mode) && access(folder, W_OK | X_OK) != 0))
    return ccw_unavailable(
        "%s, where compiled code is kept: %s; set CCW_CACHE to another folder", folder, strerror(errno));
  if (!S_ISDIR(about.st_mode))
    return ccw_unavailable("%s, where compiled code is kept: it is no folder; set CCW_CACHE to another one", folder);
  if (about.st_uid != geteuid() || (about.st_mode & S_IWOTH))
    return ccw_unavailable(
        "%s, where compiled code is kept: others can write there; set CCW_CACHE to a folder of your own", folder);
  make_absolute(out_folder);
  return ccw_text_status(out_folder);
}

void ccw_cache_discard(const ccw_text *folder)
{
  if (folder->length == 0) return;
  DIR *entries = opendir(folder->data);
  for (struct dirent *entry; entries && (entry = readdir(entries));) unlinkat(dirfd(entries), entry->d_name, 0);
  if (entries) closedir(entries);
  rmdir(folder->data);
}

/* Removes what processes have left behind that ended while they compiled: what is older than an hour. */
static void discard_old(const ccw_text *cache)
{
  enum { LONG_AGO = 3600 };
  time_t now = time(NULL);
  DIR *entries = opendir(cache->data);
  for (struct dirent *entry; entries && (entry = readdir(entries));) {
    struct stat about;
    if (strncmp(entry->d_name, IN_THE_MAKING, strlen(IN_THE_MAKING)) != 0) continue;
    if (fstatat(dirfd(entries), entry->d_name, &about, 0) != 0 || now - about.st_mtime < LONG_AGO) continue;
    ccw_text folder = {0};
    ccw_text_add(&folder, "%s/%s", cache->data, entry->d_name);
    if (!folder.failed) ccw_cache_discard(&folder);
    ccw_text_free(&folder);
  }
  if (entries) closedir(entries);
}

ccw_status ccw_cache_begin(const ccw_text *cache, ccw_text *out_folder)
{
  discard_old(cache);
  ccw_text folder = {0};
  ccw_text_add(&folder, "%s/" IN_THE_MAKING "XXXXXX", cache->data);
  ccw_status status = ccw_text_status(&folder);
  if (!status.code && !mkdtemp(folder.data))
    status = ccw_unavailable(
        "%s, where compiled code is kept: %s; set CCW_CACHE to another folder", cache->data, strerror(errno));
  if (status.code)
    ccw_text_free(&folder);
  else
    *out_folder = folder;
  return status;
}

/* ---- entries --------------------------------------------------------------------------------------------------------- */

static void entry_folder(const ccw_text *cache, const ccw_text *recipe, ccw_text *out_folder)
{
  digest d = {0};
  digest_add(&d, recipe->data, recipe->length);
  ccw_text_add(out_folder, "%s/", cache->data);
  digest_print(d, out_folder);
}

/* A part of "about": its length, then its bytes. */
static void add_part(ccw_text *about, const char *bytes, size_t length)
{
  ccw_text_add(about, "%zu\n", length);
  ccw_text_add_bytes(about, bytes, length);
}

/* Takes the next part off the rest of "about". */
static bool take_part(XLA_FFI_ByteSpan *rest, XLA_FFI_ByteSpan *out_part)
{
  size_t length = 0, i = 0;
  for (; i < rest->len && i < 12 && rest->ptr[i] >= '0' && rest->ptr[i] <= '9'; ++i)
    length = length * 10 + (size_t)(rest->ptr[i] - '0');
  if (i == 0 || i == rest->len || rest->ptr[i] != '\n' || rest->len - i - 1 < length) return false;
  *out_part = (XLA_FFI_ByteSpan){rest->ptr + i + 1, length};
  rest->ptr += i + 1 + length;
  rest->len -= i + 1 + length;
  return true;
}

/* Whether the files that were included are as they were: the identity of each, see ccw_file_identity. */
static bool are_unchanged(XLA_FFI_ByteSpan uses)
{
  ccw_text now = {0};
  bool same = true;
  for (const char *at = uses.ptr, *end = at + uses.len; same && at < end;) {
    size_t length = strnlen(at, (size_t)(end - at));
    const char *path_end = at + length;
    for (int fields = 0; path_end > at && fields < 3; --path_end) fields += path_end[-1] == ' ';
    ccw_text path = {0};
    ccw_text_add_bytes(&path, at, (size_t)(path_end - at));
    now.length = 0;
    same = ccw_file_identity(ccw_text_data(&path), &now) && !now.failed && now.length == length + 1 &&
           memcmp(now.data, at, length) == 0;
    ccw_text_free(&path);
    at += length + 1;
  }
  ccw_text_free(&now);
  return same;
}

enum { PART_RECIPE, PART_USES, PART_FILE, PART_DIGEST, PART_SYMBOLS, PART_LOG, PARTS };

static bool is_text(XLA_FFI_ByteSpan span, const ccw_text *text)
{
  return span.len == text->length && (span.len == 0 || memcmp(span.ptr, text->data, span.len) == 0);
}

/* Whether an entry is whole and of that recipe; its parts, which borrow from `about`, and the path of its code. */
static bool read_entry(
    const ccw_text *folder, const ccw_text *recipe, ccw_text *about, XLA_FFI_ByteSpan *parts, ccw_text *out_path)
{
  ccw_text path = {0}, sum = {0};
  ccw_text_add(&path, "%s/about", ccw_text_data(folder));
  ccw_status status = ccw_file_read(ccw_text_data(&path), about);
  XLA_FFI_ByteSpan rest = {about->data, about->length};
  bool good = !status.code;
  for (int i = 0; good && i < PARTS; ++i) good = take_part(&rest, &parts[i]);
  good = good && rest.len == 0 && is_text(parts[PART_RECIPE], recipe) && are_unchanged(parts[PART_USES]);
  if (good) {
    ccw_text_add(out_path, "%s/%.*s", folder->data, (int)parts[PART_FILE].len, parts[PART_FILE].ptr);
    good = digest_file(ccw_text_data(out_path), &sum) && is_text(parts[PART_DIGEST], &sum);
  }
  ccw_status_free(status);
  ccw_text_free(&path);
  ccw_text_free(&sum);
  return good;
}

/* An entry was used now. */
static void touch(const ccw_text *folder)
{
  ccw_text path = {0};
  ccw_text_add(&path, "%s/about", folder->data);
  if (!path.failed) utimensat(AT_FDCWD, path.data, NULL, 0);
  ccw_text_free(&path);
}

bool ccw_cache_find(const ccw_text *cache, const ccw_text *recipe, ccw_compiled *out_compiled)
{
  ccw_text folder = {0}, about = {0}, path = {0};
  XLA_FFI_ByteSpan parts[PARTS];
  entry_folder(cache, recipe, &folder);
  if (!folder.failed) ccw_cache_use(cache, &folder);
  bool found = read_entry(&folder, recipe, &about, parts, &path);
  if (found) {
    touch(&folder);
    *out_compiled = (ccw_compiled){.path = path, .was_kept = true};
    ccw_text_add_bytes(&out_compiled->symbols, parts[PART_SYMBOLS].ptr, parts[PART_SYMBOLS].len);
    ccw_text_add_bytes(&out_compiled->log, parts[PART_LOG].ptr, parts[PART_LOG].len);
  } else {
    ccw_text_free(&path);
  }
  ccw_text_free(&folder);
  ccw_text_free(&about);
  return found;
}

/* The identities of the files that a list for make names: "code: source header \\\n header". Relative names become absolute. */
static void add_uses(const char *list, ccw_text *uses)
{
  const char *at = strstr(list, ": ");
  ccw_text path = {0};
  for (at = at ? at + 2 : ""; *at;) {
    path.length = 0;
    at += strspn(at, " \n");
    while (*at == '\\' && at[1] == '\n') at += 2 + strspn(at + 2, " \n");
    for (; *at && *at != ' ' && *at != '\n'; ++at) {
      if (*at == '\\' && at[1] == '\n') break;
      if ((*at == '\\' && (at[1] == ' ' || at[1] == '#' || at[1] == '\\')) || (*at == '$' && at[1] == '$')) ++at;
      ccw_text_add_bytes(&path, at, 1);
    }
    char *full = path.length > 0 ? realpath(path.data, NULL) : NULL;
    if (full) ccw_file_identity(full, uses);
    free(full);
  }
  ccw_text_free(&path);
}

/* What was included, but for the source itself, which is in the recipe. */
static ccw_status read_uses(const ccw_compilation *c, ccw_text *out_uses)
{
  ccw_text list = {0}, all = {0};
  if (access(ccw_text_data(&c->uses), F_OK) != 0) return ccw_ok();
  ccw_status status = ccw_file_read(c->uses.data, &list);
  if (!status.code) add_uses(list.data ? list.data : "", &all);
  for (const char *at = ccw_text_data(&all), *end = at + all.length; at < end; at += strlen(at) + 1)
    if (!strstr(at, "/" IN_THE_MAKING)) ccw_text_add_bytes(out_uses, at, strlen(at) + 1);
  if (!status.code) status = ccw_text_status(&all);
  ccw_text_free(&list);
  ccw_text_free(&all);
  return status.code ? status : ccw_text_status(out_uses);
}

static ccw_status write_about(const ccw_compilation *c, const ccw_compiled *compiled)
{
  ccw_text about = {0}, path = {0}, uses = {0}, sum = {0};
  ccw_status status = read_uses(c, &uses);
  const char *file = ccw_base_name(c->file.data);
  if (!status.code && !digest_file(c->file.data, &sum)) status = ccw_unavailable("%s: it is gone", file);
  add_part(&about, c->recipe.data, c->recipe.length);
  add_part(&about, ccw_text_data(&uses), uses.length);
  add_part(&about, file, strlen(file));
  add_part(&about, ccw_text_data(&sum), sum.length);
  add_part(&about, ccw_text_data(&compiled->symbols), compiled->symbols.length);
  add_part(&about, ccw_text_data(&compiled->log), compiled->log.length);
  ccw_text_add(&path, "%s/about", c->folder.data);
  if (!status.code) status = ccw_text_status(about.failed ? &about : &path);
  if (!status.code) status = ccw_file_write(path.data, about.data, about.length);
  ccw_text_free(&about);
  ccw_text_free(&path);
  ccw_text_free(&uses);
  ccw_text_free(&sum);
  return status;
}

/* Puts the folder in its place. Where another process was quicker, its entry stays; one that is damaged makes room. */
static ccw_status place(const ccw_text *cache, const ccw_compilation *c, const ccw_text *entry)
{
  for (int attempt = 0; attempt < 3; ++attempt) {
    if (rename(c->folder.data, entry->data) == 0) return ccw_ok();
    if (errno != ENOTEMPTY && errno != EEXIST) break;
    ccw_text about = {0}, path = {0}, aside = {0};
    XLA_FFI_ByteSpan parts[PARTS];
    bool is_whole = read_entry(entry, &c->recipe, &about, parts, &path);
    ccw_text_free(&about);
    ccw_text_free(&path);
    if (is_whole) return ccw_ok();
    CCW_TRY(ccw_cache_begin(cache, &aside));
    if (rename(entry->data, aside.data) != 0) rmdir(aside.data);
    ccw_cache_discard(&aside);
    ccw_text_free(&aside);
  }
  return ccw_unavailable("%s, where compiled code is kept: %s", entry->data, strerror(errno));
}

/* Puts what is in the code into its name: the loader knows what is loaded by its path, and after a change in a file that was included
 * the path would be the same. */
static ccw_status name_by_content(ccw_compilation *c)
{
  ccw_text sum = {0}, path = {0};
  const char *file = ccw_base_name(c->file.data), *ending = strrchr(file, '.');
  bool good = digest_file(c->file.data, &sum);
  if (!good) return ccw_unavailable("%s: the compiler left no code there", file);
  ccw_text_add(&path, "%s/%.*s-%.16s%s", c->folder.data, (int)(ending - file), file, ccw_text_data(&sum), ending);
  ccw_text_free(&sum);
  ccw_status status = ccw_text_status(&path);
  if (!status.code && rename(c->file.data, path.data) != 0)
    status = ccw_unavailable("%s: %s", path.data, strerror(errno));
  if (status.code) {
    ccw_text_free(&path);
    return status;
  }
  ccw_text_free(&c->file);
  c->file = path;
  return status;
}

/* The code of an entry, which may be another process's: that was called otherwise. */
static ccw_status find_code(const ccw_text *entry, const ccw_text *recipe, ccw_text *out_path)
{
  ccw_text about = {0};
  XLA_FFI_ByteSpan parts[PARTS];
  bool good = read_entry(entry, recipe, &about, parts, out_path);
  ccw_text_free(&about);
  CCW_TRY(ccw_text_status(out_path));
  return good ? ccw_ok() : ccw_unavailable("%s: somebody has removed or changed what was compiled there", entry->data);
}

ccw_status ccw_cache_keep(const ccw_text *cache, ccw_compilation *c, ccw_compiled *compiled)
{
  ccw_text entry = {0};
  entry_folder(cache, &c->recipe, &entry);
  ccw_status status = ccw_text_status(&entry);
  if (!status.code) status = name_by_content(c);
  if (!status.code) status = write_about(c, compiled);
  unlink(c->input.data);
  if (c->uses.length > 0) unlink(c->uses.data);
  if (!status.code) ccw_cache_use(cache, &entry);
  if (!status.code) status = place(cache, c, &entry);
  if (!status.code) status = find_code(&entry, &c->recipe, &compiled->path);
  if (!status.code) ccw_cache_shrink(cache);
  ccw_text_free(&entry);
  return status;
}

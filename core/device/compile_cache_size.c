/* The size of the cache: who uses what there, and what goes where there is too much. An entry is used by a process from when that finds it
 * or puts it there until it ends: the process holds a lock on a byte of one file, whose place is the entry's name. */
#include "device/compile.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

enum { DEFAULT_MIB = 512, NAME = 32 /* hex digits */ };

ccw_status ccw_cache_limit(uint64_t *out_bytes)
{
  const char *text = getenv("CCW_CACHE_SIZE");
  char *end = NULL;
  unsigned long long mib = DEFAULT_MIB;
  if (text && *text) mib = strtoull(text, &end, 10);
  if (end && (*end || !isdigit((unsigned char)*text) || mib > UINT64_MAX >> 20))
    return ccw_unavailable("CCW_CACHE_SIZE=%s: expected a number of MiB", text);
  *out_bytes = (uint64_t)mib << 20;
  return ccw_ok();
}

/* ---- locks ----------------------------------------------------------------------------------------------------------- */

static int open_locks(const char *path) { return open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600); }

/* Locks or unlocks the byte of an entry; a lock of one's own for writing is refused where anybody has another one. */
static bool lock(int file, const char *name, short how, bool may_wait)
{
  char digits[16] = "";
  memcpy(digits, name, sizeof digits - 1);
  struct flock one = {.l_type = how, .l_whence = SEEK_SET, .l_start = (off_t)strtoull(digits, NULL, 16), .l_len = 1};
  int result;
  while ((result = fcntl(file, may_wait ? F_OFD_SETLKW : F_OFD_SETLK, &one)) != 0 && errno == EINTR) {}
  return result == 0;
}

/* The file with the locks of this process, which stays open: they end with it. Below 0: there is none. */
static int find_locks(const char *path)
{
  enum { MOST = 8 }; /* caches of one process */
  static struct {
    dev_t device;
    ino_t number;
    int file;
  } known[MOST];
  static int count;
  struct stat about;
  if (stat(path, &about) == 0)
    for (int i = 0; i < MOST && i < count; ++i)
      if (known[i].device == about.st_dev && known[i].number == about.st_ino) return known[i].file;
  int file = open_locks(path);
  if (file < 0 || fstat(file, &about) != 0) return file;
  known[count % MOST].device = about.st_dev;
  known[count % MOST].number = about.st_ino;
  known[count++ % MOST].file = file;
  return file;
}

static bool name_locks(const char *cache, ccw_text *path)
{
  ccw_text_add(path, "%s/.in-use", cache);
  return !path->failed;
}

void ccw_cache_use(const ccw_text *cache, const ccw_text *entry)
{
  static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
  ccw_text path = {0};
  pthread_mutex_lock(&one_at_a_time);
  int file = name_locks(cache->data, &path) ? find_locks(path.data) : -1;
  pthread_mutex_unlock(&one_at_a_time);
  if (file >= 0) lock(file, ccw_base_name(entry->data), F_RDLCK, true);
  ccw_text_free(&path);
}

/* ---- removing -------------------------------------------------------------------------------------------------------- */

typedef struct entry {
  char name[NAME + 1];
  struct timespec used;
  uint64_t bytes;
} entry;

static bool is_entry(const char *name) { return strlen(name) == NAME && strspn(name, "0123456789abcdef") == NAME; }

/* What an entry takes, and when it was last used. */
static entry measure(int cache, const char *name)
{
  entry e = {.bytes = 0};
  memcpy(e.name, name, NAME);
  int folder = openat(cache, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *files = folder < 0 ? NULL : fdopendir(folder);
  if (folder >= 0 && !files) close(folder);
  for (struct dirent *file; files && (file = readdir(files));) {
    struct stat about;
    if (fstatat(folder, file->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(about.st_mode)) continue;
    e.bytes += (uint64_t)about.st_size;
    if (strcmp(file->d_name, "about") == 0) e.used = about.st_mtim;
  }
  if (files) closedir(files);
  return e;
}

static int by_use(const void *left, const void *right)
{
  struct timespec a = ((const entry *)left)->used, b = ((const entry *)right)->used;
  if (a.tv_sec != b.tv_sec) return a.tv_sec < b.tv_sec ? -1 : 1;
  return (a.tv_nsec > b.tv_nsec) - (a.tv_nsec < b.tv_nsec);
}

static bool discard(const ccw_text *cache, int locks, const char *name)
{
  ccw_text path = {0}, aside = {0};
  if (!lock(locks, name, F_WRLCK, false)) return false;
  ccw_text_add(&path, "%s/%s", cache->data, name);
  ccw_status status = ccw_text_status(&path);
  if (!status.code) status = ccw_cache_begin(cache, &aside);
  bool gone = !status.code && rename(path.data, aside.data) == 0;
  if (!status.code) ccw_cache_discard(&aside);
  lock(locks, name, F_UNLCK, false);
  ccw_status_free(status);
  ccw_text_free(&path);
  ccw_text_free(&aside);
  return gone;
}

void ccw_cache_shrink(const ccw_text *cache)
{
  uint64_t limit = 0, total = 0;
  ccw_text list = {0}, path = {0};
  ccw_status status = ccw_cache_limit(&limit);
  DIR *folder = status.code ? NULL : opendir(cache->data);
  for (struct dirent *file; folder && (file = readdir(folder));) {
    if (!is_entry(file->d_name)) continue;
    entry e = measure(dirfd(folder), file->d_name);
    ccw_text_add_bytes(&list, (const char *)&e, sizeof e);
    total += e.bytes;
  }
  if (folder) closedir(folder);
  if (total > limit && !list.failed && name_locks(cache->data, &path)) {
    entry *entries = (entry *)(void *)list.data;
    size_t count = list.length / sizeof *entries;
    int locks = open_locks(path.data);
    qsort(entries, count, sizeof *entries, by_use);
    for (size_t i = 0; i < count && total > limit && locks >= 0; ++i)
      if (discard(cache, locks, entries[i].name)) total -= entries[i].bytes;
    if (locks >= 0) close(locks);
  }
  ccw_status_free(status);
  ccw_text_free(&list);
  ccw_text_free(&path);
}

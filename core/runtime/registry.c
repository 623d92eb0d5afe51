#include <pthread.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

typedef struct registration {
  char *name; /* with room for its NUL */
  size_t name_length;
  char platform[CCW_PLATFORM_SIZE]; /* canonical */
  ccw_handler *handler;
} registration;

/* Sorted by name, then platform. The lock is held for look-ups only: calls hold their handler. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static registration *registrations;
static size_t count, room;

ccw_status ccw_platform_canonical(const char *platform, size_t length, char out_platform[CCW_PLATFORM_SIZE])
{
  static const char *const other_names[][2] = {{"cpu", "host"}, {"gpu", "cuda"}, {"oneapi", "sycl"}};
  if (length == 0) return ccw_invalid("platform: expected a name, got an empty one");
  if (length >= CCW_PLATFORM_SIZE) return ccw_invalid("platform: a name of %zu bytes is too long", length);
  for (size_t i = 0; i < length; ++i) {
    char c = platform[i];
    if (c < '!' || c > '~') return ccw_invalid("platform: a name is of printable ASCII, without spaces");
    out_platform[i] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  out_platform[length] = '\0';
  for (size_t i = 0; i < sizeof other_names / sizeof *other_names; ++i)
    if (strcmp(out_platform, other_names[i][0]) == 0) strcpy(out_platform, other_names[i][1]);
  return ccw_ok();
}

/* Where a registration is or would be inserted; *out_found tells which. */
static size_t position(const char *name, size_t length, const char *platform, bool *out_found)
{
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    const registration *r = &registrations[middle];
    int order = ccw_compare_bytes(name, length, r->name, r->name_length);
    if (order == 0) order = strcmp(platform, r->platform);
    if (order == 0) {
      *out_found = true;
      return middle;
    }
    if (order < 0)
      high = middle;
    else
      low = middle + 1;
  }
  *out_found = false;
  return low;
}

/* As XLA compares: the record function is left out. */
static bool same(const ccw_handler *a, const ccw_handler *b)
{
  ccw_handler_info x = ccw_handler_describe(a), y = ccw_handler_describe(b);
  return x.traits == y.traits && x.major == y.major && x.minor == y.minor && x.state_type == y.state_type &&
         x.bundle.instantiate == y.bundle.instantiate && x.bundle.prepare == y.bundle.prepare &&
         x.bundle.initialize == y.bundle.initialize && x.bundle.execute == y.bundle.execute;
}

static ccw_status duplicate(const registration *r, const ccw_handler *handler)
{
  ccw_handler_info there = ccw_handler_describe(r->handler), here = ccw_handler_describe(handler);
  ccw_text text = {0};
  ccw_text_add(&text, "'");
  ccw_text_add_escaped(&text, r->name, r->name_length);
  ccw_text_add(&text, "' is registered for platform %s already, with ", r->platform);
  if (there.traits != here.traits)
    ccw_text_add(&text, "traits %u instead of %u", there.traits, here.traits);
  else if (there.major != here.major || there.minor != here.minor)
    ccw_text_add(&text, "FFI API %d.%d instead of %d.%d", there.major, there.minor, here.major, here.minor);
  else
    ccw_text_add(&text, "other functions");
  if (*there.library) ccw_text_add(&text, " (from %s)", there.library);
  return ccw_status_of_text(XLA_FFI_Error_Code_INVALID_ARGUMENT, &text);
}

static ccw_status insert(size_t at, const char *name, size_t length, const char *platform, ccw_handler *handler)
{
  if (count == room) {
    size_t more = room ? 2 * room : 16;
    registration *grown = ccw_reallocate(registrations, room * sizeof *grown, more * sizeof *grown);
    if (!grown) return ccw_no_memory(more * sizeof *grown);
    registrations = grown;
    room = more;
  }
  registration r = {.name = ccw_allocate(length + 1), .name_length = length, .handler = handler};
  if (!r.name) return ccw_no_memory(length + 1);
  if (length > 0) memcpy(r.name, name, length);
  r.name[length] = '\0';
  strcpy(r.platform, platform);
  memmove(&registrations[at + 1], &registrations[at], (count - at) * sizeof r);
  registrations[at] = r;
  ++count;
  ccw_handler_retain(handler);
  return ccw_ok();
}

ccw_status ccw_registry_add(const char *name, size_t name_length, const char *platform, size_t platform_length,
    ccw_handler *handler, bool replace)
{
  char canonical_platform[CCW_PLATFORM_SIZE];
  if (name_length == 0) return ccw_invalid("name: expected a name, got an empty one");
  CCW_TRY(ccw_platform_canonical(platform, platform_length, canonical_platform));

  pthread_mutex_lock(&lock);
  ccw_status status = ccw_ok();
  ccw_handler *replaced = NULL;
  bool found;
  size_t at = position(name, name_length, canonical_platform, &found);
  if (!found) {
    status = insert(at, name, name_length, canonical_platform, handler);
  } else if (replace) {
    replaced = registrations[at].handler;
    registrations[at].handler = ccw_handler_retain(handler);
  } else if (!same(registrations[at].handler, handler)) {
    status = duplicate(&registrations[at], handler);
  }
  pthread_mutex_unlock(&lock);
  ccw_handler_release(replaced);
  return status;
}

/* Callers hold the lock. */
static ccw_status not_found(
    const char *name, size_t length, const char *platform, size_t platform_length, const char *canonical_platform)
{
  ccw_text text = {0};
  ccw_text_add(&text, "no handler '");
  ccw_text_add_escaped(&text, name, length);
  ccw_text_add(&text, "' is registered for platform ");
  ccw_text_add_escaped(&text, platform, platform_length);
  if (strlen(canonical_platform) != platform_length || memcmp(canonical_platform, platform, platform_length) != 0)
    ccw_text_add(&text, " (%s)", canonical_platform);
  ccw_near near = ccw_near_to(name, length);
  bool elsewhere = false;
  for (size_t i = 0; i < count; ++i) {
    const registration *r = &registrations[i];
    if (ccw_compare_bytes(name, length, r->name, r->name_length) == 0) {
      ccw_text_add(&text, "%s%s", elsewhere ? ", " : "; it is for ", r->platform);
      elsewhere = true;
    } else {
      ccw_near_offer(&near, r->name, r->name_length);
    }
  }
  ccw_near_print(&near, &text);
  return ccw_status_of_text(XLA_FFI_Error_Code_NOT_FOUND, &text);
}

ccw_status ccw_registry_find(
    const char *name, size_t name_length, const char *platform, size_t platform_length, ccw_handler **out_handler)
{
  char canonical_platform[CCW_PLATFORM_SIZE];
  CCW_TRY(ccw_platform_canonical(platform, platform_length, canonical_platform));
  pthread_mutex_lock(&lock);
  ccw_status status = ccw_ok();
  bool found;
  size_t at = position(name, name_length, canonical_platform, &found);
  if (found)
    *out_handler = ccw_handler_retain(registrations[at].handler);
  else
    status = not_found(name, name_length, platform, platform_length, canonical_platform);
  pthread_mutex_unlock(&lock);
  return status;
}

bool ccw_registry_at(size_t i, ccw_text *out_name, ccw_text *out_platform, ccw_handler **out_handler)
{
  pthread_mutex_lock(&lock);
  bool found = i < count;
  if (found) {
    ccw_text_add_bytes(out_name, registrations[i].name, registrations[i].name_length);
    ccw_text_add(out_platform, "%s", registrations[i].platform);
    *out_handler = ccw_handler_retain(registrations[i].handler);
  }
  pthread_mutex_unlock(&lock);
  return found;
}

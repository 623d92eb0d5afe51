/* The memory of a simulated GPU: a range of addresses that nobody may touch but a kernel of the device, and its own copies.
 *
 * An allocation ends where a page ends, so that the next byte faults: its start is at the largest power of two up to 256 that
 * divides its size, where CUDA's is always at 256. What its first page holds in front of it is looked at after each launch that
 * wrote to it. In front of its pages and behind them lies memory of nobody. Addresses that were given back are not used again
 * before allocations have gone round some GiB.
 *
 * A kernel's first access to an allocation faults, which opens it: so it is known what a launch touched. Host code that touches
 * one is noted, and let through. A system call that is given such an address fails with EFAULT instead, and nobody notes it. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/mix.h"
#include "base/text.h"
#include "device/sim.h"
#include "device/simt.h"

static const size_t RANGE = (size_t)256 << 30, LEAST_RANGE = (size_t)1 << 30; /* addresses, which cost nothing */
static const size_t GRANULE = 64 << 10;                                       /* an allocation takes three or more */
static const size_t WINDOW = (size_t)16 << 30; /* so far allocations go before addresses are used again */
static const size_t MOST_BEHIND = (size_t)1 << 30;
static const size_t MOST_MIRRORED = (size_t)64 << 20;
static const size_t PATTERN =
    4 << 20; /* bytes of fresh memory that are filled; the rest is zero, and takes no memory */

enum { FRESH = 0xCB, CHUNKS = 64, RECORD_GRANULES = 3 };

static size_t page_size(void)
{
  static size_t size;
  if (!size) size = (size_t)sysconf(_SC_PAGESIZE);
  return size;
}

static bool allow(unsigned char *from, unsigned char *to, int what)
{
  return from == to || mprotect(from, (size_t)(to - from), what) == 0;
}

/* ---- the range ------------------------------------------------------------------------------------------------------- */

static void *reserve(size_t size, int what)
{
  void *memory = mmap(NULL, size, what, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return NULL;
  madvise(memory, size, MADV_DONTDUMP);
  return memory;
}

/* What a first page holds in front of the start, byte by byte. */
static const unsigned char *front_page(void)
{
  static unsigned char *page;
  if (page) return page;
  page = reserve(page_size(), PROT_READ | PROT_WRITE);
  for (size_t i = 0; page && i < page_size(); ++i) page[i] = (unsigned char)(ccw_mix(i / 8) >> i % 8 * 8);
  return page;
}

/* Pages that were never touched do not merge with others when they are closed, unless something was touched before they were
 * parted: and there are only so many mappings. */
static bool touch(unsigned char *base)
{
  if (!allow(base, base + page_size(), PROT_READ | PROT_WRITE)) return false;
  *(volatile unsigned char *)base = 1;
  madvise(base, page_size(), MADV_DONTNEED);
  return allow(base, base + page_size(), PROT_NONE);
}

static bool take_fault(void *context, const ccw_fault *fault);

static ccw_status own(sim_space *s, sim_device *device)
{
  uintptr_t base = (uintptr_t)s->base;
  int place; /* for good */
  return ccw_fault_own(base, base + s->granules * GRANULE, take_fault, device, &place);
}

ccw_status ccw_sim_space_open(sim_device *device)
{
  sim_space *s = &device->space;
  size_t size = RANGE;
  while (!(s->base = reserve(size, PROT_NONE)) && size > LEAST_RANGE) size /= 2;
  if (!s->base) return ccw_unavailable("no addresses for its memory");
  s->granules = size / GRANULE;
  s->window = (size < WINDOW ? size : WINDOW) / GRANULE;
  s->records_most = s->granules / RECORD_GRANULES;
  size_t owners_size = s->granules * sizeof *s->owners, records_size = s->records_most * sizeof *s->records;
  s->owners = reserve(owners_size, PROT_READ | PROT_WRITE);
  s->records = reserve(records_size, PROT_READ | PROT_WRITE);
  atomic_store(&s->stray_low, UINTPTR_MAX);
  ccw_status status = ccw_ok();
  if (!s->owners || !s->records || !front_page() || !touch(s->base))
    status = ccw_unavailable("no memory for what it has to know of its addresses");
  else
    status = own(s, device);
  if (!status.code) return status;
  munmap(s->base, size);
  if (s->owners) munmap((void *)s->owners, owners_size);
  if (s->records) munmap(s->records, records_size);
  *s = (sim_space){0};
  return status;
}

/* Read by who takes a fault. */
static bool is_in(const sim_space *s, const void *address)
{
  return s->base && (uintptr_t)address - (uintptr_t)s->base < s->granules * GRANULE;
}

sim_device *ccw_sim_device_at(const void *address)
{
  for (int i = 0; i < SIM_DEVICES; ++i) {
    sim_device *device = ccw_sim_number(i);
    if (device && is_in(&device->space, address)) return device;
  }
  return NULL;
}

sim_allocation *ccw_sim_allocation_at(const sim_device *device, const void *address)
{
  const sim_space *s = &device->space;
  return is_in(s, address) ? atomic_load(&s->owners[((uintptr_t)address - (uintptr_t)s->base) / GRANULE]) : NULL;
}

static bool is_inside(const sim_allocation *a, const void *address)
{
  return (uintptr_t)address - (uintptr_t)a->start < a->size;
}

static bool is_live(const sim_allocation *a) { return a && atomic_load(&a->state) == SIM_LIVE; }

bool ccw_sim_is_within(const sim_device *device, const void *memory, size_t size, sim_allocation **out_allocation)
{
  sim_allocation *a = ccw_sim_allocation_at(device, memory);
  if (!is_live(a) || !is_inside(a, memory)) return false;
  *out_allocation = a;
  return size <= a->size - (size_t)((const unsigned char *)memory - a->start);
}

/* ---- telling --------------------------------------------------------------------------------------------------------- */

void ccw_sim_describe_allocation(const sim_allocation *a, char out_text[SIM_WHAT])
{
  if (a->site[0])
    snprintf(out_text, SIM_WHAT, "%zu bytes taken at %s", a->size, a->site);
  else
    snprintf(out_text, SIM_WHAT, "%zu bytes", a->size);
}

void ccw_sim_describe_memory(const sim_device *device, const void *memory, size_t size, char out_text[SIM_WHAT])
{
  const sim_device *owner = ccw_sim_device_at(memory);
  const sim_allocation *a = owner ? ccw_sim_allocation_at(owner, memory) : NULL;
  char what[SIM_WHAT];
  if (a) ccw_sim_describe_allocation(a, what);
  long long at = a ? (long long)((const unsigned char *)memory - a->start) : 0;
  if (!owner)
    snprintf(out_text, SIM_WHAT, "it is memory of the host");
  else if (owner != device)
    snprintf(out_text, SIM_WHAT, "it is memory of %s%s%.200s", owner->base.name, a ? ": " : "", a ? what : "");
  else if (!a)
    snprintf(out_text, SIM_WHAT, "nothing is allocated there");
  else if (at < 0)
    snprintf(out_text, SIM_WHAT, "it lies %lld bytes in front of %.200s", -at, what);
  else if ((size_t)at >= a->size)
    snprintf(out_text, SIM_WHAT, "it lies %lld bytes behind %.200s", at - (long long)a->size, what);
  else if (atomic_load(&a->state) == SIM_FREED)
    snprintf(out_text, SIM_WHAT, "it was freed: %.200s", what);
  else if (atomic_load(&a->state) == SIM_FORGOTTEN)
    snprintf(out_text, SIM_WHAT, "it went when the device was reset: %.200s", what);
  else
    snprintf(out_text, SIM_WHAT, "%zu bytes from byte %lld on pass the end of %.200s", size, at, what);
}

void ccw_sim_describe_fault(const sim_device *device, const ccw_fault *fault, char out_text[SIM_WHAT])
{
  const char *verb = fault->is_write ? "writes" : "reads";
  const void *address = (const void *)fault->address;
  const sim_device *owner = ccw_sim_device_at(address);
  const sim_allocation *a = owner ? ccw_sim_allocation_at(owner, address) : NULL;
  char what[SIM_WHAT];
  if (a) ccw_sim_describe_allocation(a, what);
  long long at = a ? (long long)((const unsigned char *)address - a->start) : 0;
  if (!owner && fault->address < page_size())
    snprintf(out_text, SIM_WHAT, "%s through a null pointer", verb);
  else if (!owner)
    snprintf(out_text, SIM_WHAT, "%s %p, which is no memory of the device", verb, address);
  else if (!a)
    snprintf(out_text, SIM_WHAT, "%s memory of %s where nothing is allocated", verb, owner->base.name);
  else if (owner != device)
    snprintf(out_text, SIM_WHAT, "%s memory of %s: byte %lld of %.200s", verb, owner->base.name, at, what);
  else if (at < 0)
    snprintf(out_text, SIM_WHAT, "%s in front of %.200s: byte %lld", verb, what, at);
  else if ((size_t)at >= a->size)
    snprintf(out_text, SIM_WHAT, "%s past the end of %.200s: byte %lld", verb, what, at);
  else if (!is_live(a))
    snprintf(out_text, SIM_WHAT, "%s what was freed: byte %lld of %.200s", verb, at, what);
  else
    snprintf(out_text, SIM_WHAT, "%s byte %lld of %.200s, and the system opens no more memory", verb, at, what);
}

/* ---- taking and giving back ------------------------------------------------------------------------------------------ */

static void fill_front(const sim_allocation *a) { memcpy(a->first, front_page(), (size_t)(a->start - a->first)); }

/* The byte in front that is not as it was and is nearest to the start; NULL: all are. */
static unsigned char *find_damage(const sim_allocation *a)
{
  const unsigned char *page = front_page();
  size_t size = (size_t)(a->start - a->first);
  if (memcmp(a->first, page, size) == 0) return NULL;
  while (a->first[size - 1] == page[size - 1]) --size;
  return &a->first[size - 1];
}

static size_t granule_of(const sim_space *s, const unsigned char *address)
{
  return (size_t)(address - s->base) / GRANULE;
}

/* What a reset took is kept until it is given back, so that this gives back nothing else. */
static bool is_taken(const sim_allocation *a)
{
  int state = a ? atomic_load(&a->state) : SIM_NEVER;
  return state == SIM_LIVE || state == SIM_FORGOTTEN;
}

/* A run of granules between two places that nobody has. */
static bool find_run(const sim_space *s, size_t from, size_t to, size_t count, size_t *out_first)
{
  size_t first = from;
  for (size_t i = from; i < to && i - first < count;) {
    const sim_allocation *a = atomic_load(&s->owners[i]);
    i = a ? granule_of(s, a->high) : i + 1;
    if (is_taken(a)) first = i;
  }
  *out_first = first;
  return first <= to && to - first >= count;
}

static bool find_room(sim_space *s, size_t count, size_t *out_first)
{
  for (;;) {
    if (find_run(s, s->at, s->window, count, out_first) || find_run(s, 0, s->window, count, out_first)) return true;
    if (s->window == s->granules) return false;
    s->window = s->window > s->granules / 2 ? s->granules : s->window * 2;
  }
}

/* Forgets who had the granules before. */
static void clear_run(sim_space *s, size_t first, size_t count)
{
  for (size_t i = first; i < first + count; ++i) {
    sim_allocation *a = atomic_load(&s->owners[i]);
    if (!a) continue;
    for (size_t k = granule_of(s, a->low); k < granule_of(s, a->high); ++k) atomic_store(&s->owners[k], NULL);
    atomic_store(&a->state, SIM_NEVER);
    a->next_open = s->free_records;
    s->free_records = a;
  }
}

static sim_allocation *take_record(sim_space *s)
{
  sim_allocation *a = s->free_records;
  if (a)
    s->free_records = a->next_open;
  else if (s->records_used < s->records_most)
    a = &s->records[s->records_used++];
  return a;
}

static bool prepare(sim_allocation *a)
{
  madvise(a->first, (size_t)(a->last - a->first), MADV_DONTNEED); /* what strays wrote */
  if (!allow(a->first, a->last, PROT_READ | PROT_WRITE)) return false;
  fill_front(a);
  memset(a->start, FRESH, a->size < PATTERN ? a->size : PATTERN);
  if (allow(a->first, a->last, PROT_NONE)) return true;
  madvise(a->first, (size_t)(a->last - a->first), MADV_DONTNEED);
  return false;
}

/* Bytes in pages with memory of nobody around them: as much behind as there are, since who takes bytes for elements passes the
 * end by some times the size. */
static bool lay_out(sim_space *s, size_t size, sim_allocation **out_allocation)
{
  size_t pages = ccw_align(size, page_size()), first;
  size_t behind = pages < GRANULE ? GRANULE : pages > MOST_BEHIND ? MOST_BEHIND : pages;
  size_t count = ccw_align(GRANULE + pages + behind, GRANULE) / GRANULE;
  if (!find_room(s, count, &first)) return false;
  clear_run(s, first, count);
  sim_allocation *a = take_record(s);
  if (!a) return false;
  s->at = first + count < s->window ? first + count : 0;
  a->low = s->base + first * GRANULE;
  a->first = a->low + GRANULE;
  a->last = a->first + pages;
  a->start = a->last - size;
  a->high = a->low + count * GRANULE;
  a->size = size;
  atomic_store(&a->noted, 0);
  for (size_t i = 0; i < count; ++i) atomic_store(&s->owners[first + i], a);
  *out_allocation = a;
  return true;
}

static void link_newest(sim_space *s, sim_allocation *a)
{
  a->number = ++s->allocations;
  a->older = s->newest;
  a->newer = NULL;
  if (s->newest)
    s->newest->newer = a;
  else
    s->oldest = a;
  s->newest = a;
}

static void unlink_live(sim_space *s, sim_allocation *a)
{
  if (a->older)
    a->older->newer = a->newer;
  else
    s->oldest = a->newer;
  if (a->newer)
    a->newer->older = a->older;
  else
    s->newest = a->older;
}

ccw_status ccw_sim_allocate(sim_device *device, size_t size, const char *site, void **out_memory)
{
  sim_space *s = &device->space;
  sim_allocation *a;
  if (s->in_use > device->memory || size > device->memory - s->in_use)
    return ccw_resource_exhausted("no memory for %zu bytes: %zu of %zu are in use", size, s->in_use, device->memory);
  if (!lay_out(s, size, &a)) return ccw_resource_exhausted("no addresses for %zu bytes", size);
  if (!prepare(a)) {
    atomic_store(&a->state, SIM_FREED);
    return ccw_resource_exhausted("the system has no memory for %zu bytes", size);
  }
  snprintf(a->site, sizeof a->site, "%s", site ? site : "");
  link_newest(s, a);
  s->in_use += size;
  atomic_store(&a->state, SIM_LIVE);
  *out_memory = a->start;
  return ccw_ok();
}

/* What chunks held before a launch wrote to them lies elsewhere, as far from the base. Large ones would take too long. */
static bool is_mirrored(const sim_space *s, const sim_allocation *a) { return s->mirror && a->size <= MOST_MIRRORED; }

static unsigned char *mirrored(const sim_space *s, const unsigned char *address)
{
  return s->mirror + (address - s->base);
}

static void end(sim_space *s, sim_allocation *a, int state)
{
  atomic_store(&a->state, state);
  allow(a->first, a->last, PROT_NONE);
  madvise(a->first, (size_t)(a->last - a->first), MADV_DONTNEED);
  if (is_mirrored(s, a)) madvise(mirrored(s, a->first), (size_t)(a->last - a->first), MADV_DONTNEED);
  ccw_sim_forget_accesses(&a->accesses);
  unlink_live(s, a);
  s->in_use -= a->size;
}

ccw_status ccw_sim_release(sim_device *device, void *memory)
{
  sim_allocation *a = ccw_sim_allocation_at(device, memory);
  char what[SIM_WHAT];
  if (!a || a->start != memory) {
    if (is_live(a) && is_inside(a, memory)) {
      ccw_sim_describe_allocation(a, what);
      return ccw_invalid("release: expected the start of an allocation, got byte %zu of %s",
          (size_t)((unsigned char *)memory - a->start), what);
    }
    ccw_sim_describe_memory(device, memory, 1, what);
    return ccw_invalid("release: expected memory of this device, got %p: %s", memory, what);
  }
  ccw_sim_close_seen(device);
  switch (atomic_load(&a->state)) {
  case SIM_LIVE: end(&device->space, a, SIM_FREED); return ccw_ok();
  case SIM_FORGOTTEN: atomic_store(&a->state, SIM_FREED); return ccw_ok();
  default: ccw_sim_describe_allocation(a, what); return ccw_invalid("release: freed already: %s", what);
  }
}

void ccw_sim_forget_memory(sim_device *device)
{
  ccw_sim_close_seen(device);
  while (device->space.oldest) end(&device->space, device->space.oldest, SIM_FORGOTTEN);
}

/* ---- what the device itself touches ---------------------------------------------------------------------------------- */

static bool allow_pages(void *memory, size_t size, int what)
{
  uintptr_t page = page_size(), from = (uintptr_t)memory & ~(page - 1);
  return mprotect((void *)from, ccw_align((uintptr_t)memory + size - from, page), what) == 0;
}

/* An allocation that a launch has opened stays so for what comes behind it, where there is one stream: nobody else is to be told
 * apart then. */
static bool is_open(const sim_device *device, const void *memory, bool for_write)
{
  const sim_allocation *a = ccw_sim_allocation_at(device, memory);
  return device->stream_count < 2 && a && (a->was_written || (a->was_read && !for_write));
}

bool ccw_sim_open(const sim_device *device, void *memory, size_t size, bool for_write)
{
  return is_open(device, memory, for_write) || allow_pages(memory, size, PROT_READ | PROT_WRITE);
}

void ccw_sim_close(const sim_device *device, void *memory, size_t size, bool for_write)
{
  if (!is_open(device, memory, for_write))
    allow_pages(memory, size, is_open(device, memory, false) ? PROT_READ : PROT_NONE);
}

/* ---- what a launch touches ------------------------------------------------------------------------------------------- */

/* The first accesses of a launch to each chunk: one kernel runs at a time, in one thread, which faults. */
typedef struct touched {
  uintptr_t address;
  bool is_write;
} touched;

enum { MOST_TOUCHED = 8192 };

static sim_device *running; /* whose kernel it is */
static touched touches[MOST_TOUCHED];
static int64_t touch_count;

void ccw_sim_mirror(sim_device *device)
{
  sim_space *s = &device->space;
  if (!s->mirror) s->mirror = reserve(s->granules * GRANULE, PROT_READ | PROT_WRITE);
}

/* Where several streams may race, an allocation is opened piece by piece, to know more of what was touched. */
static size_t chunk_size(const sim_device *device, const sim_allocation *a)
{
  size_t size = (size_t)(a->last - a->first);
  return device->stream_count > 1 ? ccw_align((size + CHUNKS - 1) / CHUNKS, page_size()) : size;
}

static bool open_for_kernel(sim_device *device, sim_allocation *a, const ccw_fault *fault)
{
  sim_space *s = &device->space;
  size_t chunk = chunk_size(device, a), i = (size_t)((unsigned char *)fault->address - a->first) / chunk;
  unsigned char *from = a->first + i * chunk, *to = (size_t)(a->last - from) < chunk ? a->last : from + chunk;
  if (!allow(from, to, fault->is_write ? PROT_READ | PROT_WRITE : PROT_READ)) return false;
  if (!a->was_read && !a->was_written) {
    a->next_open = s->opened;
    s->opened = a;
  }
  *(fault->is_write ? &a->was_written : &a->was_read) |= (uint64_t)1 << i;
  if (device->stream_count < 2) return true;
  if (fault->is_write && is_mirrored(s, a)) memcpy(mirrored(s, from), from, (size_t)(to - from));
  if (touch_count < MOST_TOUCHED) touches[touch_count++] = (touched){fault->address, fault->is_write};
  return true;
}

/* The bytes of a page that have changed. Those of an element do not all change: up to three in between count, too. */
static void add_changes_of_page(
    const sim_space *s, const sim_allocation *a, const unsigned char *from, const unsigned char *to, sim_parts *parts)
{
  enum { BETWEEN = 3 };
  const unsigned char *old = mirrored(s, from), *first = NULL, *end = NULL;
  for (const unsigned char *at = from; at < to; ++at, ++old) {
    if (*at == *old) continue;
    if (first && at - end > BETWEEN) {
      ccw_sim_add_part(parts, (uintptr_t)(first - a->start), (uintptr_t)(end - a->start));
      first = NULL;
    }
    if (!first) first = at;
    end = at + 1;
  }
  if (first) ccw_sim_add_part(parts, (uintptr_t)(first - a->start), (uintptr_t)(end - a->start));
}

static void add_changes(
    const sim_space *s, const sim_allocation *a, const unsigned char *from, const unsigned char *to, sim_parts *parts)
{
  if (from < a->start) from = a->start;
  while (from < to) {
    const unsigned char *end = (const unsigned char *)ccw_align((uintptr_t)from + 1, page_size());
    if (end > to) end = to;
    if (memcmp(from, mirrored(s, from), (size_t)(end - from)) != 0) add_changes_of_page(s, a, from, end, parts);
    from = end;
  }
}

static void add_touches(const sim_allocation *a, bool is_write, sim_parts *parts)
{
  for (int64_t i = 0; i < touch_count; ++i)
    if (touches[i].is_write == is_write && is_inside(a, (void *)touches[i].address))
      ccw_sim_add_part(parts, touches[i].address - (uintptr_t)a->start, touches[i].address - (uintptr_t)a->start + 1);
}

/* What is certain of an access is held against others: the first byte that was touched of each chunk, and what has changed. */
static void check_race(sim_device *device, const sim_operation *launch, sim_allocation *a)
{
  static sim_parts parts;
  sim_space *s = &device->space;
  size_t chunk = chunk_size(device, a);
  parts.count = 0;
  add_touches(a, false, &parts);
  ccw_sim_check_race(launch, a, &parts, false);
  parts.count = 0;
  add_touches(a, true, &parts);
  for (unsigned char *from = a->first; from < a->last && is_mirrored(s, a); from += chunk) {
    size_t size = (size_t)(a->last - from) < chunk ? (size_t)(a->last - from) : chunk;
    if (!(a->was_written >> (size_t)(from - a->first) / chunk & 1)) continue;
    add_changes(s, a, from, from + size, &parts);
  }
  ccw_sim_check_race(launch, a, &parts, true);
}

void ccw_sim_begin_touching(sim_device *device) { running = device; }

bool ccw_sim_end_touching(sim_device *device, const sim_operation *launch, unsigned char **out_damage)
{
  bool is_good = true;
  for (sim_allocation *a = device->space.opened; a; a = a->next_open) {
    unsigned char *damage = a->was_written & 1 ? find_damage(a) : NULL;
    if (damage) {
      is_good = false;
      *out_damage = damage;
      fill_front(a);
    }
    if (device->stream_count > 1) check_race(device, launch, a);
  }
  if (device->stream_count > 1) ccw_sim_close_opened(device);
  touch_count = 0;
  running = NULL;
  return is_good;
}

void ccw_sim_close_opened(sim_device *device)
{
  uintptr_t low = UINTPTR_MAX, high = 0; /* around all that is open: one call closes it */
  for (sim_allocation *a = device->space.opened; a; a = a->next_open) {
    a->was_read = a->was_written = 0;
    if ((uintptr_t)a->first < low) low = (uintptr_t)a->first;
    if ((uintptr_t)a->last > high) high = (uintptr_t)a->last;
  }
  device->space.opened = NULL;
  if (low < high) allow((unsigned char *)low, (unsigned char *)high, PROT_NONE);
}

/* ---- what host code touches ------------------------------------------------------------------------------------------ */

enum { NONE, BEING_WRITTEN, WRITTEN };
enum { READ_INSIDE = 1, WRITE_INSIDE = 2, READ_OUTSIDE = 4, WRITE_OUTSIDE = 8 };

static void note(sim_space *s, _Atomic unsigned *noted, unsigned bit, const ccw_fault *fault)
{
  atomic_store(&s->was_touched, true);
  if (atomic_fetch_or(noted, bit) & bit) return;
  for (int i = 0; i < SIM_NOTES; ++i) {
    sim_note *n = &s->notes[i];
    int none = NONE;
    if (!atomic_compare_exchange_strong(&n->state, &none, BEING_WRITTEN)) continue;
    n->noted = noted;
    n->bit = bit;
    n->access.address = (const void *)fault->address;
    n->access.is_write = fault->is_write;
    n->access.depth = ccw_fault_walk(fault->instruction, n->access.code, CCW_ACCESS_DEPTH);
    atomic_store(&n->state, WRITTEN);
    return;
  }
}

/* An allocation is opened whole, and so is what lies on either side of it: who passes an end goes on to do so. It is opened before
 * it is put down: who closes what was put down either finds it there, or closes nothing yet. */
static bool open_of_allocation(sim_space *s, sim_allocation *a, unsigned char *address, bool is_write)
{
  unsigned char *from = address < a->first ? a->low : address < a->last ? a->first : a->last;
  unsigned char *to = address < a->first ? a->first : address < a->last ? a->last : a->high;
  if (!allow(from, to, is_write ? PROT_READ | PROT_WRITE : PROT_READ)) return false;
  if (atomic_exchange(&a->is_seen, true)) return true;
  a->next_seen = atomic_load(&s->seen);
  while (!atomic_compare_exchange_weak(&s->seen, &a->next_seen, a)) continue;
  return true;
}

static bool open_stray(sim_space *s, uintptr_t address)
{
  uintptr_t low = address & ~(uintptr_t)(page_size() - 1), high = low + page_size(),
            present = atomic_load(&s->stray_low);
  if (!allow((unsigned char *)low, (unsigned char *)high, PROT_READ | PROT_WRITE)) return false;
  while (low < present && !atomic_compare_exchange_weak(&s->stray_low, &present, low)) continue;
  present = atomic_load(&s->stray_high);
  while (high > present && !atomic_compare_exchange_weak(&s->stray_high, &present, high)) continue;
  return true;
}

static bool let_host_through(sim_device *device, const ccw_fault *fault)
{
  sim_space *s = &device->space;
  unsigned char *address = (unsigned char *)fault->address;
  sim_allocation *a = ccw_sim_allocation_at(device, address);
  bool is_in_it = is_live(a) && is_inside(a, address);
  unsigned bit = is_in_it ? READ_INSIDE : READ_OUTSIDE;
  note(s, a ? &a->noted : &s->stray_noted, fault->is_write ? bit << 1 : bit, fault);
  return a ? open_of_allocation(s, a, address, fault->is_write) : open_stray(s, fault->address);
}

/* Host code may have written to the first page, too, which was noted: a launch is not to be blamed for it. */
static void close_allocation(sim_allocation *a)
{
  if (is_live(a) && a->first < a->start && allow(a->first, a->last, PROT_READ | PROT_WRITE)) fill_front(a);
  allow(a->low, a->high, PROT_NONE);
  madvise(a->low, (size_t)(a->first - a->low), MADV_DONTNEED);
  madvise(a->last, (size_t)(a->high - a->last), MADV_DONTNEED);
}

void ccw_sim_close_seen(sim_device *device)
{
  sim_space *s = &device->space;
  for (sim_allocation *a = atomic_exchange(&s->seen, NULL), *next; a; a = next) {
    next = a->next_seen;
    atomic_store(&a->is_seen, false);
    close_allocation(a);
  }
  uintptr_t low = atomic_exchange(&s->stray_low, UINTPTR_MAX), high = atomic_exchange(&s->stray_high, 0);
  if (low < high) allow((unsigned char *)low, (unsigned char *)high, PROT_NONE);
}

int64_t ccw_sim_take_notes(sim_device *device, ccw_host_access *accesses, int64_t most)
{
  int64_t count = 0;
  for (int i = 0; i < SIM_NOTES && count < most; ++i) {
    sim_note *n = &device->space.notes[i];
    if (atomic_load(&n->state) != WRITTEN) continue;
    accesses[count++] = n->access;
    atomic_fetch_and(n->noted, ~n->bit);
    atomic_store(&n->state, NONE);
  }
  return count;
}

/* ---- faults ---------------------------------------------------------------------------------------------------------- */

static bool take_fault(void *context, const ccw_fault *fault)
{
  sim_device *device = context;
  if (!ccw_simt_is_running()) return let_host_through(device, fault);
  sim_allocation *a = ccw_sim_allocation_at(device, (void *)fault->address);
  if (device == running && is_live(a) && is_inside(a, (void *)fault->address) && open_for_kernel(device, a, fault))
    return true;
  ccw_simt_abandon(fault);
}

/* ---- visiting -------------------------------------------------------------------------------------------------------- */

/* The oldest that is newer than number `number`; `near` may be that one. */
static sim_allocation *next_live(const sim_space *s, sim_allocation *near, int64_t number)
{
  if (is_live(near) && near->number == number) return near->newer;
  sim_allocation *a = s->oldest;
  while (a && a->number <= number) a = a->newer;
  return a;
}

/* The callback may use the device: nothing is locked meanwhile. */
void ccw_sim_visit(ccw_device *base, ccw_allocation_visitor *visit, void *context)
{
  sim_space *s = &ccw_sim_of(base)->space;
  sim_allocation *a = NULL;
  int64_t number = 0;
  for (;;) {
    char site[SIM_SITE];
    ccw_sim_lock();
    a = next_live(s, a, number);
    void *memory = a ? a->start : NULL;
    size_t size = a ? a->size : 0;
    if (a) {
      number = a->number;
      memcpy(site, a->site, sizeof site);
    }
    ccw_sim_unlock();
    if (!memory) return;
    visit(context, memory, size, site);
  }
}

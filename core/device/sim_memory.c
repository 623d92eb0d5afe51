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

#include "base/mix.h"
#include "device/sim.h"

static const size_t RANGE = (size_t)256 << 30, LEAST_RANGE = (size_t)1 << 30; /* addresses, which cost nothing */
static const size_t GRANULE = 64 << 10;                                       /* an allocation takes three or more */
static const size_t WINDOW = (size_t)16 << 30; /* so far allocations go before addresses are used again */
static const size_t MOST_BEHIND = (size_t)1 << 30;
static const size_t MOST_MIRRORED = (size_t)64 << 20;
static const size_t PATTERN = 4 << 20; /* bytes of fresh memory that are filled; the rest is zero, and costs nothing */
static const size_t LARGE = 4 << 20;

enum { FRESH = 0xCB, RECORD_GRANULES = 3 };

size_t ccw_sim_page_size(void)
{
  static size_t size;
  if (!size) size = (size_t)sysconf(_SC_PAGESIZE);
  return size;
}

bool ccw_sim_protect(unsigned char *from, unsigned char *to, int what)
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
  page = reserve(ccw_sim_page_size(), PROT_READ | PROT_WRITE);
  for (size_t i = 0; page && i < ccw_sim_page_size(); ++i) page[i] = (unsigned char)(ccw_mix(i / 8) >> i % 8 * 8);
  return page;
}

/* Pages that were never touched do not merge with others when they are closed, unless something was touched before they were
 * parted: and there are only so many mappings. */
static bool touch(unsigned char *base)
{
  if (!ccw_sim_protect(base, base + ccw_sim_page_size(), PROT_READ | PROT_WRITE)) return false;
  *(volatile unsigned char *)base = 1;
  madvise(base, ccw_sim_page_size(), MADV_DONTNEED);
  return ccw_sim_protect(base, base + ccw_sim_page_size(), PROT_NONE);
}

static ccw_status own(sim_space *s, sim_device *device)
{
  uintptr_t base = (uintptr_t)s->base;
  int place; /* for good */
  return ccw_fault_own(base, base + s->granules * GRANULE, ccw_sim_take_fault, device, &place);
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

bool ccw_sim_is_within(const sim_device *device, const void *memory, size_t size, sim_allocation **out_allocation)
{
  sim_allocation *a = ccw_sim_allocation_at(device, memory);
  if (!ccw_sim_is_live(a) || !ccw_sim_is_inside(a, memory)) return false;
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
  else if (atomic_load(&a->state) == SIM_FORGOTTEN)
    snprintf(out_text, SIM_WHAT, "it went when the device was reset: %.200s", what);
  else if (!ccw_sim_is_live(a))
    snprintf(out_text, SIM_WHAT, "it was freed: %.200s", what);
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
  if (fault->instruction == fault->address)
    snprintf(out_text, SIM_WHAT, "calls %p, where no code is", address);
  else if (!owner && fault->address == UINTPTR_MAX)
    snprintf(out_text, SIM_WHAT, "touches an address that cannot be one");
  else if (!owner && fault->address < ccw_sim_page_size())
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
  else if (!ccw_sim_is_live(a))
    snprintf(out_text, SIM_WHAT, "%s what was freed: byte %lld of %.200s", verb, at, what);
  else
    snprintf(out_text, SIM_WHAT, "%s byte %lld of %.200s, and the system opens no more memory", verb, at, what);
}

/* ---- taking and giving back ------------------------------------------------------------------------------------------ */

void ccw_sim_fill_front(const sim_allocation *a) { memcpy(a->first, front_page(), (size_t)(a->start - a->first)); }

/* The byte in front that is not as it was and is nearest to the start; NULL: all are. */
unsigned char *ccw_sim_find_damage(const sim_allocation *a)
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
  return ccw_sim_is_live(a) || (a && atomic_load(&a->state) == SIM_FORGOTTEN);
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
  size_t size = (size_t)(a->last - a->first);
  madvise(a->first, size, MADV_DONTNEED);                    /* what strays wrote */
  if (size >= LARGE) madvise(a->first, size, MADV_HUGEPAGE); /* to open and close many pages takes its time */
  if (!ccw_sim_protect(a->first, a->last, PROT_READ | PROT_WRITE)) return false;
  ccw_sim_fill_front(a);
  memset(a->start, FRESH, a->size < PATTERN ? a->size : PATTERN);
  if (ccw_sim_protect(a->first, a->last, PROT_NONE)) return true;
  madvise(a->first, size, MADV_DONTNEED);
  return false;
}

/* Bytes in pages with memory of nobody around them: as much behind as there are, since who takes bytes for elements passes the
 * end by some times the size. */
static bool lay_out(sim_space *s, size_t size, sim_allocation **out_allocation)
{
  size_t pages = ccw_align(size, ccw_sim_page_size()), first;
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
  ccw_sim_close_seen(device); /* what was freed may be seen, and is used again */
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

void ccw_sim_mirror(sim_device *device)
{
  sim_space *s = &device->space;
  if (!s->mirror) s->mirror = reserve(s->granules * GRANULE, PROT_READ | PROT_WRITE);
}

/* What chunks held before a launch wrote to them lies elsewhere, as far from the base. Large ones would take too long. */
bool ccw_sim_is_mirrored(const sim_space *s, const sim_allocation *a) { return s->mirror && a->size <= MOST_MIRRORED; }

unsigned char *ccw_sim_mirrored(const sim_space *s, const unsigned char *address)
{
  return s->mirror + (address - s->base);
}

static void end(sim_space *s, sim_allocation *a, int state)
{
  atomic_store(&a->state, state);
  ccw_sim_protect(a->first, a->last, PROT_NONE);
  madvise(a->first, (size_t)(a->last - a->first), MADV_DONTNEED);
  if (ccw_sim_is_mirrored(s, a)) madvise(ccw_sim_mirrored(s, a->first), (size_t)(a->last - a->first), MADV_DONTNEED);
  ccw_sim_forget_accesses(&a->accesses);
  unlink_live(s, a);
  s->in_use -= a->size;
}

static void leave(sim_space *s, sim_allocation *a, bool later)
{
  if (!later) {
    end(s, a, SIM_FREED);
  } else {
    atomic_store(&a->state, SIM_LEAVING);
    ++s->leaving;
  }
}

ccw_status ccw_sim_release(sim_device *device, void *memory, bool later)
{
  sim_allocation *a = ccw_sim_allocation_at(device, memory);
  char what[SIM_WHAT];
  if (!a || a->start != memory) {
    if (ccw_sim_is_live(a) && ccw_sim_is_inside(a, memory)) {
      ccw_sim_describe_allocation(a, what);
      return ccw_invalid("release: expected the start of an allocation, got byte %zu of %s",
          (size_t)((unsigned char *)memory - a->start), what);
    }
    ccw_sim_describe_memory(device, memory, 1, what);
    return ccw_invalid("release: expected memory of this device, got %p: %s", memory, what);
  }
  ccw_sim_close_seen(device);
  switch (atomic_load(&a->state)) {
  case SIM_LIVE: leave(&device->space, a, later); return ccw_ok();
  case SIM_FORGOTTEN: atomic_store(&a->state, SIM_FREED); return ccw_ok();
  default: ccw_sim_describe_allocation(a, what); return ccw_invalid("release: freed already: %s", what);
  }
}

void ccw_sim_release_leaving(sim_device *device)
{
  sim_space *s = &device->space;
  ccw_sim_close_seen(device);
  for (sim_allocation *a = s->oldest, *newer; a && s->leaving > 0; a = newer) {
    newer = a->newer;
    if (atomic_load(&a->state) != SIM_LEAVING) continue;
    end(s, a, SIM_FREED);
    --s->leaving;
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
  uintptr_t page = ccw_sim_page_size(), from = (uintptr_t)memory & ~(page - 1);
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

/* ---- visiting -------------------------------------------------------------------------------------------------------- */

/* The oldest that is newer than number `number`; `near` may be that one. */
static sim_allocation *next_live(const sim_space *s, sim_allocation *near, int64_t number)
{
  if (ccw_sim_is_live(near) && near->number == number) return near->newer;
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

/* Who touches the memory of a simulated GPU: kernels, whose first access opens it, and host code, which is noted and let through. */
#include <string.h>
#include <sys/mman.h>

#include "device/sim.h"
#include "device/simt.h"

enum { CHUNKS = 64 };

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

/* Where several streams may race, an allocation is opened piece by piece, to know more of what was touched. */
static size_t chunk_size(const sim_device *device, const sim_allocation *a)
{
  size_t size = (size_t)(a->last - a->first);
  return device->stream_count > 1 ? ccw_align((size + CHUNKS - 1) / CHUNKS, ccw_sim_page_size()) : size;
}

static bool open_for_kernel(sim_device *device, sim_allocation *a, const ccw_fault *fault)
{
  sim_space *s = &device->space;
  size_t chunk = chunk_size(device, a), i = (size_t)((unsigned char *)fault->address - a->first) / chunk;
  unsigned char *from = a->first + i * chunk, *to = (size_t)(a->last - from) < chunk ? a->last : from + chunk;
  if (!ccw_sim_protect(from, to, fault->is_write ? PROT_READ | PROT_WRITE : PROT_READ)) return false;
  if (!a->was_read && !a->was_written) {
    a->next_open = s->opened;
    s->opened = a;
  }
  *(fault->is_write ? &a->was_written : &a->was_read) |= (uint64_t)1 << i;
  if (device->stream_count < 2) return true;
  if (fault->is_write && ccw_sim_is_mirrored(s, a)) memcpy(ccw_sim_mirrored(s, from), from, (size_t)(to - from));
  if (touch_count < MOST_TOUCHED) touches[touch_count++] = (touched){fault->address, fault->is_write};
  return true;
}

/* Bytes that have changed, up to where the next ones may still join them. */
typedef struct changes {
  const sim_allocation *allocation;
  sim_parts *parts;
  const unsigned char *from, *to; /* NULL: none */
} changes;

static void end_changes(changes *c)
{
  uintptr_t start = (uintptr_t)c->allocation->start;
  if (c->from) ccw_sim_add_part(c->parts, (uintptr_t)c->from - start, (uintptr_t)c->to - start);
  c->from = NULL;
}

/* Of an element not all bytes change: up to three in between count, too. */
static void add_changed(changes *c, const unsigned char *from, const unsigned char *to)
{
  if (c->from && from - c->to > 3) end_changes(c);
  if (!c->from) c->from = from;
  c->to = to;
}

enum { UNIT = 4, UNITS = 16, BLOCK = UNIT * UNITS }; /* bytes */

static void add_changes_of_unit(changes *c, const unsigned char *now, const unsigned char *old, size_t size)
{
  size_t low = 0;
  while (low < size && now[low] == old[low]) ++low;
  if (low == size) return;
  while (now[size - 1] == old[size - 1]) --size;
  add_changed(c, now + low, now + size);
}

/* The common case, at once. */
static bool have_all_changed(const unsigned char *now, const unsigned char *old)
{
  uint32_t a[UNITS], b[UNITS], same = 0;
  memcpy(a, now, sizeof a);
  memcpy(b, old, sizeof b);
  for (int i = 0; i < UNITS; ++i) same |= a[i] == b[i];
  return !same;
}

static void add_changes_of_block(changes *c, const unsigned char *now, const unsigned char *old, size_t size)
{
  const size_t last = BLOCK - UNIT;
  if (size == BLOCK && have_all_changed(now, old)) {
    add_changes_of_unit(c, now, old, UNIT);
    add_changed(c, now + UNIT, now + last);
    add_changes_of_unit(c, now + last, old + last, UNIT);
    return;
  }
  for (size_t at = 0; at < size; at += UNIT)
    add_changes_of_unit(c, now + at, old + at, size - at < UNIT ? size - at : UNIT);
}

static void add_changes_of_page(changes *c, const unsigned char *now, const unsigned char *old, size_t size)
{
  if (memcmp(now, old, size) == 0) return;
  for (size_t at = 0; at < size; at += BLOCK)
    add_changes_of_block(c, now + at, old + at, size - at < BLOCK ? size - at : BLOCK);
}

static void add_changes(
    const sim_space *s, const sim_allocation *a, const unsigned char *from, const unsigned char *to, sim_parts *parts)
{
  changes c = {.allocation = a, .parts = parts};
  if (from < a->start) from = a->start;
  while (from < to) {
    const unsigned char *end = (const unsigned char *)ccw_align((uintptr_t)from + 1, ccw_sim_page_size());
    if (end > to) end = to;
    add_changes_of_page(&c, from, ccw_sim_mirrored(s, from), (size_t)(end - from));
    from = end;
  }
  end_changes(&c);
}

static void add_touches(const sim_allocation *a, bool is_write, sim_parts *parts)
{
  for (int64_t i = 0; i < touch_count; ++i)
    if (touches[i].is_write == is_write && ccw_sim_is_inside(a, (void *)touches[i].address))
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
  for (unsigned char *from = a->first; from < a->last && ccw_sim_is_mirrored(s, a); from += chunk) {
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
    unsigned char *damage = a->was_written & 1 ? ccw_sim_find_damage(a) : NULL;
    if (damage) {
      is_good = false;
      *out_damage = damage;
      ccw_sim_fill_front(a);
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
  if (low < high) ccw_sim_protect((unsigned char *)low, (unsigned char *)high, PROT_NONE);
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
  atomic_fetch_and(noted, ~bit); /* no room: another time */
}

/* An allocation is opened whole, and so is what lies on either side of it: who passes an end goes on to do so. It is opened before
 * it is put down: who closes what was put down either finds it there, or closes nothing yet. */
static bool open_of_allocation(sim_space *s, sim_allocation *a, unsigned char *address, bool is_write)
{
  unsigned char *from = address < a->first ? a->low : address < a->last ? a->first : a->last;
  unsigned char *to = address < a->first ? a->first : address < a->last ? a->last : a->high;
  if (!ccw_sim_protect(from, to, is_write ? PROT_READ | PROT_WRITE : PROT_READ)) return false;
  if (atomic_exchange(&a->is_seen, true)) return true;
  a->next_seen = atomic_load(&s->seen);
  while (!atomic_compare_exchange_weak(&s->seen, &a->next_seen, a)) continue;
  return true;
}

static bool open_stray(sim_space *s, uintptr_t address)
{
  uintptr_t low = address & ~(uintptr_t)(ccw_sim_page_size() - 1), high = low + ccw_sim_page_size(),
            present = atomic_load(&s->stray_low);
  if (!ccw_sim_protect((unsigned char *)low, (unsigned char *)high, PROT_READ | PROT_WRITE)) return false;
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
  bool is_in_it = ccw_sim_is_live(a) && ccw_sim_is_inside(a, address);
  unsigned bit = is_in_it ? READ_INSIDE : READ_OUTSIDE;
  note(s, a ? &a->noted : &s->stray_noted, fault->is_write ? bit << 1 : bit, fault);
  return a ? open_of_allocation(s, a, address, fault->is_write) : open_stray(s, fault->address);
}

/* Host code may have written to the first page, too, which was noted: a launch is not to be blamed for it. */
static void close_allocation(sim_allocation *a)
{
  if (ccw_sim_is_live(a) && a->first < a->start && ccw_sim_protect(a->first, a->last, PROT_READ | PROT_WRITE))
    ccw_sim_fill_front(a);
  ccw_sim_protect(a->low, a->high, PROT_NONE);
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
  if (low < high) ccw_sim_protect((unsigned char *)low, (unsigned char *)high, PROT_NONE);
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

bool ccw_sim_take_fault(void *context, const ccw_fault *fault)
{
  sim_device *device = context;
  if (!ccw_simt_is_running()) return let_host_through(device, fault);
  sim_allocation *a = ccw_sim_allocation_at(device, (void *)fault->address);
  bool is_call = fault->instruction == fault->address; /* to where no code is */
  if (device == running && !is_call && ccw_sim_is_live(a) && ccw_sim_is_inside(a, (void *)fault->address) &&
      open_for_kernel(device, a, fault))
    return true;
  ccw_simt_abandon(fault);
}

#include "base/guard.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/fault.h"
#include "base/memory.h"
#include "base/mix.h"
#include "base/text.h"

/* From low to high: what may not be touched in front, the pages of the piece, what may not be touched behind. */
typedef struct piece {
  unsigned char *low, *first, *last, *high;
  unsigned char *start; /* by layout: in the pages */
  size_t size;
  bool is_protected;
  atomic_bool is_front_open, is_back_open;
} piece;

/* Written by whoever faults, in any thread and in a child. */
typedef struct note {
  _Atomic int32_t state;
  ccw_guard_access access;
} note;

enum { NONE, BEING_WRITTEN, WRITTEN };
enum { SORTS = 6 }; /* by side, and whether it was written */

/* What a child shares with its parent. */
typedef struct shared {
  _Alignas(16) atomic_bool is_finished[CCW_GUARD_LAYOUTS];
  /* then notes by layout, piece and sort; then what the user shares */
} shared;

struct ccw_guard {
  size_t block; /* bytes of this, with the pieces */
  unsigned char *memory;
  size_t size;
  struct shared *shared;
  size_t shared_size, shared_offset;
  note *notes;
  int place; /* among those who own addresses; -1 for none */
  ccw_guard_layout layout;
  int64_t count;
  piece pieces[];
};

static size_t page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }

/* ---- faults ---------------------------------------------------------------------------------------------------------- */

static note *note_of(const ccw_guard *guard, ccw_guard_layout layout, int64_t i, ccw_guard_side side, bool write)
{
  return &guard->notes[((int64_t)layout * guard->count + i) * SORTS + side * 2 + write];
}

static void take_note(note *n, int64_t offset, uintptr_t instruction)
{
  int32_t none = NONE;
  if (!atomic_compare_exchange_strong(&n->state, &none, BEING_WRITTEN)) return;
  n->access.offset = offset;
  n->access.depth = ccw_fault_walk(instruction, n->access.code, CCW_GUARD_DEPTH);
  atomic_store(&n->state, WRITTEN);
}

/* Makes what is between two addresses accessible, so that the access is repeated and succeeds. */
static bool open_for(bool write, unsigned char *from, unsigned char *to)
{
  return mprotect(from, (size_t)(to - from), write ? PROT_READ | PROT_WRITE : PROT_READ) == 0;
}

/* Notes the access and opens the whole of what it hit: who passes an end goes on to do so. */
static bool let_through(void *context, const ccw_fault *fault)
{
  ccw_guard *guard = context;
  unsigned char *address = (unsigned char *)fault->address;
  int64_t i = 0;
  while (i < guard->count && address >= guard->pieces[i].high) ++i;
  if (i == guard->count) return false;
  piece *p = &guard->pieces[i];
  bool write = fault->is_write;
  int64_t offset = address - p->start;
  ccw_guard_side side = offset < 0 ? CCW_GUARD_BEFORE : (size_t)offset >= p->size ? CCW_GUARD_BEHIND : CCW_GUARD_INSIDE;
  take_note(note_of(guard, guard->layout, i, side, write), offset, fault->instruction);
  if (address < p->first) {
    atomic_store(&p->is_front_open, true);
    return open_for(write, p->low, p->first);
  }
  if (address < p->last) return open_for(write, p->first, p->last);
  atomic_store(&p->is_back_open, true);
  return open_for(write, p->last, p->high);
}

/* ---- making ---------------------------------------------------------------------------------------------------------- */

/* What may not be touched: generous, since it takes addresses and no memory. Who takes bytes for elements passes the end by
 * some times the size. */
enum { MARGIN = 1 << 20, TIMES = 8 };

/* Lays the pieces out from address 0 on. False where they do not fit into the address space. */
static bool lay_out(ccw_guard *guard, const int64_t *sizes, int64_t count)
{
  int64_t at = 0, page = (int64_t)page_size();
  for (int64_t i = 0; i < count; ++i) {
    int64_t first, pages, last, behind, high;
    if (sizes[i] > INT64_MAX / 2) return false;
    pages = (int64_t)ccw_align((size_t)sizes[i], (size_t)page);
    if (!ccw_add_i64(at, MARGIN, &first) || !ccw_add_i64(first, pages, &last)) return false;
    if (!ccw_mul_i64(pages, TIMES, &behind) || !ccw_add_i64(behind, MARGIN, &behind)) return false;
    if (!ccw_add_i64(last, behind, &high)) return false;
    piece *p = &guard->pieces[i];
    p->size = (size_t)sizes[i];
    p->low = (unsigned char *)at;
    p->first = (unsigned char *)first;
    p->last = (unsigned char *)last;
    p->high = (unsigned char *)high;
    at = high;
  }
  guard->size = (size_t)at + (size_t)page;
  return true;
}

static bool map(ccw_guard *guard)
{
  void *memory = mmap(NULL, guard->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  guard->memory = memory;
  uintptr_t base = (uintptr_t)memory;
  for (int64_t i = 0; i < guard->count; ++i) {
    piece *p = &guard->pieces[i];
    p->low += base;
    p->first += base;
    p->last += base;
    p->high += base;
    p->start = p->last;
    if (p->first < p->last && !open_for(true, p->first, p->last)) return false;
  }
  memory = mmap(NULL, guard->shared_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  guard->shared = memory;
  guard->notes = (note *)(guard->shared + 1);
  return true;
}

static ccw_status own(ccw_guard *guard)
{
  uintptr_t base = (uintptr_t)guard->memory;
  return ccw_fault_own(base, base + guard->size, let_through, guard, &guard->place);
}

ccw_status ccw_guard_new(const int64_t *sizes, int64_t count, size_t shared_size, ccw_guard **out_guard)
{
  size_t block = sizeof(ccw_guard) + (size_t)count * sizeof(piece);
  ccw_guard *guard = ccw_allocate_zeroed(block);
  if (!guard) return ccw_no_memory(block);
  guard->block = block;
  guard->count = count;
  guard->place = -1;
  guard->shared_offset = sizeof(shared) + (size_t)(CCW_GUARD_LAYOUTS * SORTS * count) * sizeof(note);
  guard->shared_size = guard->shared_offset + shared_size;
  ccw_status status = ccw_ok();
  if (!lay_out(guard, sizes, count) || !map(guard))
    status = ccw_resource_exhausted("no memory for guarded copies of %lld buffers", (long long)count);
  else
    status = own(guard);
  if (status.code)
    ccw_guard_free(guard);
  else
    *out_guard = guard;
  return status;
}

void ccw_guard_free(ccw_guard *guard)
{
  if (!guard) return;
  if (guard->place >= 0) ccw_fault_disown(guard->place);
  if (guard->shared) munmap(guard->shared, guard->shared_size);
  if (guard->memory) munmap(guard->memory, guard->size);
  ccw_release(guard, guard->block);
}

void *ccw_guard_shared(const ccw_guard *guard) { return (char *)guard->shared + guard->shared_offset; }

/* ---- running --------------------------------------------------------------------------------------------------------- */

/* What the bytes around a piece hold. */
static unsigned char canary_at(const unsigned char *address)
{
  return (unsigned char)(ccw_mix((uintptr_t)address / 8) >> (uintptr_t)address % 8 * 8);
}

static void fill(unsigned char *from, const unsigned char *to)
{
  for (; from < to; ++from) *from = canary_at(from);
}

static unsigned char *end_of(const piece *p) { return p->start + p->size; }

static unsigned char *start_of(const piece *p, ccw_guard_layout layout)
{
  switch (layout) {
  case CCW_GUARD_FIRST: return p->first;
  case CCW_GUARD_LAST: return p->last - p->size;
  default: return p->last - ccw_align(p->size, CCW_BUFFER_ALIGNMENT);
  }
}

/* Closes what was opened, and forgets what was written there. */
static void close_again(atomic_bool *is_open, unsigned char *from, unsigned char *to)
{
  if (!atomic_exchange(is_open, false)) return;
  mprotect(from, (size_t)(to - from), PROT_NONE);
  madvise(from, (size_t)(to - from), MADV_DONTNEED);
}

static void forget(ccw_guard *guard, ccw_guard_layout layout)
{
  atomic_store(&guard->shared->is_finished[layout], false);
  note *first = note_of(guard, layout, 0, CCW_GUARD_INSIDE, false);
  for (int64_t i = 0; i < guard->count * SORTS; ++i) atomic_store(&first[i].state, NONE);
}

void ccw_guard_arm(ccw_guard *guard, ccw_guard_layout layout)
{
  ccw_fault_prepare_thread();
  forget(guard, layout);
  guard->layout = layout;
  for (int64_t i = 0; i < guard->count; ++i) {
    piece *p = &guard->pieces[i];
    close_again(&p->is_front_open, p->low, p->first);
    close_again(&p->is_back_open, p->last, p->high);
    p->start = start_of(p, layout);
    p->is_protected = false;
    if (p->first == p->last) continue;
    open_for(true, p->first, p->last);
    fill(p->first, p->start);
    fill(end_of(p), p->last);
  }
}

unsigned char *ccw_guard_piece(const ccw_guard *guard, int64_t i) { return guard->pieces[i].start; }

void ccw_guard_protect(ccw_guard *guard, int64_t i)
{
  piece *p = &guard->pieces[i];
  if (p->first == p->last) return;
  p->is_protected = true;
  if (guard->layout == CCW_GUARD_ALIGNED) {
    memset(p->first, 0, (size_t)(p->start - p->first));
    memset(end_of(p), 0, (size_t)(p->last - end_of(p)));
  }
  open_for(false, p->first, p->last);
}

void ccw_guard_finish(ccw_guard *guard, ccw_guard_layout layout)
{
  atomic_store(&guard->shared->is_finished[layout], true);
}

bool ccw_guard_is_finished(const ccw_guard *guard, ccw_guard_layout layout)
{
  return atomic_load(&guard->shared->is_finished[layout]);
}

void ccw_guard_forget_children(ccw_guard *guard)
{
  forget(guard, CCW_GUARD_FIRST);
  forget(guard, CCW_GUARD_LAST);
}

/* ---- what was found -------------------------------------------------------------------------------------------------- */

bool ccw_guard_has_gaps(const ccw_guard *guard)
{
  for (int64_t i = 0; i < guard->count; ++i)
    if (guard->pieces[i].size != (size_t)(guard->pieces[i].last - guard->pieces[i].first)) return true;
  return false;
}

/* A write next to the piece where nothing faults: the byte that is nearest to it. */
static bool find_damage(const piece *p, ccw_guard_side side, int64_t *out_offset)
{
  if (p->is_protected) return false; /* writes have been noted as such */
  if (side == CCW_GUARD_BEHIND) {
    for (const unsigned char *at = end_of(p); at < p->last; ++at)
      if (*at != canary_at(at)) return *out_offset = at - p->start, true;
  } else if (side == CCW_GUARD_BEFORE) {
    for (const unsigned char *at = p->start; at > p->first; --at)
      if (at[-1] != canary_at(at - 1)) return *out_offset = at - 1 - p->start, true;
  }
  return false;
}

/* Whether an access comes nearer to the piece than another. */
static bool is_nearer(int64_t offset, int64_t other) { return offset < 0 ? offset > other : offset < other; }

/* What is found afterwards may be nearer than what faulted: a loop passes an end, and faults behind the gap. */
bool ccw_guard_find(const ccw_guard *guard, int64_t i, ccw_guard_side side, bool is_write, ccw_guard_access *out_access)
{
  bool found = false;
  int64_t damage;
  for (int layout = 0; layout < CCW_GUARD_LAYOUTS; ++layout) {
    note *n = note_of(guard, (ccw_guard_layout)layout, i, side, is_write);
    if (layout != CCW_GUARD_ALIGNED && !ccw_guard_is_finished(guard, (ccw_guard_layout)layout)) continue;
    if (atomic_load(&n->state) != WRITTEN) continue;
    if (!found || is_nearer(n->access.offset, out_access->offset)) *out_access = n->access;
    found = true;
  }
  if (!is_write || !find_damage(&guard->pieces[i], side, &damage)) return found;
  if (!found) *out_access = (ccw_guard_access){.offset = damage};
  if (is_nearer(damage, out_access->offset)) out_access->offset = damage;
  return true;
}

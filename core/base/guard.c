#include "base/guard.h"

#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/checked.h"
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
  int slot;
  ccw_guard_layout layout;
  int64_t count;
  piece pieces[];
};

static size_t page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }

/* ---- the regions that there are -------------------------------------------------------------------------------------- */

/* A slot is read in a signal handler, while other threads make and free regions: the version is odd while it is written. A
 * region that somebody touches is not being freed, so that a slot which changes meanwhile is another's. */
typedef struct slot {
  _Atomic uint32_t version;
  _Atomic uintptr_t base, end;
  ccw_guard *_Atomic guard;
} slot;

enum { SLOTS = 4096 };

static slot slots[SLOTS];
static atomic_int slots_used; /* those before it were used at some time */
static pthread_mutex_t slots_lock = PTHREAD_MUTEX_INITIALIZER;

static void write_slot(slot *s, ccw_guard *guard, uintptr_t base, uintptr_t end)
{
  atomic_fetch_add(&s->version, 1);
  atomic_store(&s->guard, guard);
  atomic_store(&s->base, base);
  atomic_store(&s->end, end);
  atomic_fetch_add(&s->version, 1);
}

static bool enter_slot(ccw_guard *guard)
{
  pthread_mutex_lock(&slots_lock);
  int i = 0;
  while (i < SLOTS && atomic_load(&slots[i].guard)) ++i;
  if (i < SLOTS) {
    guard->slot = i;
    write_slot(&slots[i], guard, (uintptr_t)guard->memory, (uintptr_t)guard->memory + guard->size);
    if (i >= slots_used) slots_used = i + 1;
  }
  pthread_mutex_unlock(&slots_lock);
  return i < SLOTS;
}

static void leave_slot(const ccw_guard *guard)
{
  pthread_mutex_lock(&slots_lock);
  write_slot(&slots[guard->slot], NULL, 0, 0);
  pthread_mutex_unlock(&slots_lock);
}

static ccw_guard *find_guard(uintptr_t address)
{
  for (int i = 0, used = atomic_load(&slots_used); i < used; ++i) {
    slot *s = &slots[i];
    uint32_t version = atomic_load(&s->version);
    if (address < atomic_load(&s->base) || address >= atomic_load(&s->end)) continue;
    ccw_guard *guard = atomic_load(&s->guard);
    if (guard && version % 2 == 0 && version == atomic_load(&s->version)) return guard;
  }
  return NULL;
}

/* ---- faults ---------------------------------------------------------------------------------------------------------- */

static const int numbers[] = {SIGSEGV, SIGBUS};
static struct sigaction before[sizeof numbers / sizeof *numbers];

#if defined(__x86_64__)
static bool is_write(const ucontext_t *context) { return context->uc_mcontext.gregs[REG_ERR] & 2; }
static uintptr_t instruction_of(const ucontext_t *context) { return (uintptr_t)context->uc_mcontext.gregs[REG_RIP]; }
#elif defined(__aarch64__)
/* The syndrome is one of the records behind the registers: ESR_MAGIC, and WnR in it. */
static bool is_write(const ucontext_t *context)
{
  const unsigned char *at = context->uc_mcontext.__reserved;
  uint32_t head[2]; /* magic, size */
  for (size_t left = sizeof context->uc_mcontext.__reserved; left >= 16; at += head[1], left -= head[1]) {
    memcpy(head, at, sizeof head);
    if (head[0] == 0x45535201) {
      uint64_t syndrome;
      memcpy(&syndrome, at + sizeof head, sizeof syndrome);
      return syndrome & 1 << 6;
    }
    if (head[0] == 0 || head[1] < sizeof head || head[1] > left) break;
  }
  return true;
}
static uintptr_t instruction_of(const ucontext_t *context) { return (uintptr_t)context->uc_mcontext.pc; }
#else
#error "guard.c: tell how this processor says what faulted"
#endif

static note *note_of(const ccw_guard *guard, ccw_guard_layout layout, int64_t i, ccw_guard_side side, bool write)
{
  return &guard->notes[((int64_t)layout * guard->count + i) * SORTS + side * 2 + write];
}

/* The stack of the fault is below the frames of those who handle it. */
static int32_t walk(uintptr_t instruction, uintptr_t code[CCW_GUARD_DEPTH])
{
  void *frames[CCW_GUARD_DEPTH + 16];
  int count = backtrace(frames, sizeof frames / sizeof *frames), at = 0;
  while (at < count && (uintptr_t)frames[at] != instruction) ++at;
  int32_t depth = 1;
  code[0] = instruction;
  while (depth < CCW_GUARD_DEPTH && at + depth < count) {
    code[depth] = (uintptr_t)frames[at + depth];
    ++depth;
  }
  return depth;
}

static void take_note(note *n, int64_t offset, uintptr_t instruction)
{
  int32_t none = NONE;
  if (!atomic_compare_exchange_strong(&n->state, &none, BEING_WRITTEN)) return;
  n->access.offset = offset;
  n->access.depth = walk(instruction, n->access.code);
  atomic_store(&n->state, WRITTEN);
}

/* Makes what is between two addresses accessible, so that the access is repeated and succeeds. */
static bool open_for(bool write, unsigned char *from, unsigned char *to)
{
  return mprotect(from, (size_t)(to - from), write ? PROT_READ | PROT_WRITE : PROT_READ) == 0;
}

/* Notes the access and opens the whole of what it hit: who passes an end goes on to do so. */
static bool let_through(ccw_guard *guard, unsigned char *address, const ucontext_t *context)
{
  int64_t i = 0;
  while (i < guard->count && address >= guard->pieces[i].high) ++i;
  if (i == guard->count) return false;
  piece *p = &guard->pieces[i];
  bool write = is_write(context);
  int64_t offset = address - p->start;
  ccw_guard_side side = offset < 0 ? CCW_GUARD_BEFORE : (size_t)offset >= p->size ? CCW_GUARD_BEHIND : CCW_GUARD_INSIDE;
  take_note(note_of(guard, guard->layout, i, side, write), offset, instruction_of(context));
  if (address < p->first) {
    atomic_store(&p->is_front_open, true);
    return open_for(write, p->low, p->first);
  }
  if (address < p->last) return open_for(write, p->first, p->last);
  atomic_store(&p->is_back_open, true);
  return open_for(write, p->last, p->high);
}

/* What would have happened without us: the former handler, or the end by this signal once it comes again. */
static void hand_on(int number, siginfo_t *info, void *context)
{
  const struct sigaction *former = &before[number == SIGSEGV ? 0 : 1];
  if (former->sa_flags & SA_SIGINFO) {
    former->sa_sigaction(number, info, context);
  } else if (former->sa_handler != SIG_DFL && former->sa_handler != SIG_IGN) {
    former->sa_handler(number);
  } else if (info->si_code > 0 || former->sa_handler == SIG_DFL) {
    signal(number, SIG_DFL);
    if (info->si_code <= 0) raise(number); /* somebody sent it: it does not come again by itself */
  }
}

static void on_fault(int number, siginfo_t *info, void *context)
{
  int error = errno;
  ccw_guard *guard = info->si_code > 0 ? find_guard((uintptr_t)info->si_addr) : NULL;
  if (!guard || !let_through(guard, info->si_addr, context)) hand_on(number, info, context);
  errno = error;
}

void ccw_guard_hand_on_to_none(void)
{
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) before[i] = (struct sigaction){.sa_handler = SIG_DFL};
}

/* ---- a stack for the signal handler: the thread's own may be what is full -------------------------------------------- */

static pthread_key_t stack_key;

static size_t stack_size(void)
{
  long least = sysconf(_SC_MINSIGSTKSZ); /* what the registers take */
  return ccw_align((size_t)(least > 0 ? least : 0) + (64 << 10), page_size());
}

/* At the end of the thread. */
static void free_stack(void *stack)
{
  stack_t present;
  if (sigaltstack(NULL, &present) == 0 && present.ss_sp == stack)
    sigaltstack(&(stack_t){.ss_flags = SS_DISABLE, .ss_size = MINSIGSTKSZ}, NULL);
  munmap(stack, stack_size());
}

/* A thread that gets none runs the handler on its own stack, which does but for an overflow. */
static void give_stack(void)
{
  stack_t present;
  if (sigaltstack(NULL, &present) != 0 || !(present.ss_flags & SS_DISABLE) || pthread_getspecific(stack_key)) return;
  size_t size = stack_size();
  void *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack == MAP_FAILED) return;
  if (pthread_setspecific(stack_key, stack) != 0 ||
      sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = size}, NULL) != 0) {
    pthread_setspecific(stack_key, NULL);
    munmap(stack, size);
  }
}

static bool is_installed;

static void install(void)
{
  void *frames[1];
  backtrace(frames, 1); /* the first one loads a library, which a signal handler could not */
  bool good = pthread_key_create(&stack_key, free_stack) == 0;
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i)
    good = good && sigaction(numbers[i], NULL, &before[i]) == 0 && sigaction(numbers[i], &action, NULL) == 0;
  is_installed = good;
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

ccw_status ccw_guard_new(const int64_t *sizes, int64_t count, size_t shared_size, ccw_guard **out_guard)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, install);
  if (!is_installed) return ccw_unavailable("faults cannot be caught here");

  size_t block = sizeof(ccw_guard) + (size_t)count * sizeof(piece);
  ccw_guard *guard = ccw_allocate_zeroed(block);
  if (!guard) return ccw_no_memory(block);
  guard->block = block;
  guard->count = count;
  guard->slot = -1;
  guard->shared_offset = sizeof(shared) + (size_t)(CCW_GUARD_LAYOUTS * SORTS * count) * sizeof(note);
  guard->shared_size = guard->shared_offset + shared_size;
  ccw_status status = ccw_ok();
  if (!lay_out(guard, sizes, count) || !map(guard))
    status = ccw_resource_exhausted("no memory for guarded copies of %lld buffers", (long long)count);
  else if (!enter_slot(guard))
    status = ccw_resource_exhausted("more than %d guarded calls at once", SLOTS);
  if (status.code)
    ccw_guard_free(guard);
  else
    *out_guard = guard;
  return status;
}

void ccw_guard_free(ccw_guard *guard)
{
  if (!guard) return;
  if (guard->slot >= 0) leave_slot(guard);
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
  give_stack();
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

#include "base/fault.h"

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

/* ---- the ranges that there are --------------------------------------------------------------------------------------- */

/* A slot is read in a signal handler, while other threads take and leave ranges: the version is odd while it is written. A
 * range that somebody touches is not being left, so that a slot which changes meanwhile is another's. */
typedef struct slot {
  _Atomic uint32_t version;
  _Atomic uintptr_t base, end;
  ccw_fault_taker *_Atomic taker;
  void *_Atomic context;
} slot;

enum { SLOTS = 4096 };

static slot slots[SLOTS];
static atomic_int slots_used; /* those before it were used at some time */
static pthread_mutex_t slots_lock = PTHREAD_MUTEX_INITIALIZER;
static ccw_fault_taker *_Atomic taker_of_rest;

static void write_slot(slot *s, uintptr_t base, uintptr_t end, ccw_fault_taker *taker, void *context)
{
  atomic_fetch_add(&s->version, 1);
  atomic_store(&s->taker, taker);
  atomic_store(&s->context, context);
  atomic_store(&s->base, base);
  atomic_store(&s->end, end);
  atomic_fetch_add(&s->version, 1);
}

void ccw_fault_disown(int place)
{
  pthread_mutex_lock(&slots_lock);
  write_slot(&slots[place], 0, 0, NULL, NULL);
  pthread_mutex_unlock(&slots_lock);
}

/* Whether the owner of the address, if there is one, takes the fault. */
static bool is_taken(const ccw_fault *fault)
{
  for (int i = 0, used = atomic_load(&slots_used); i < used; ++i) {
    slot *s = &slots[i];
    uint32_t version = atomic_load(&s->version);
    if (fault->address < atomic_load(&s->base) || fault->address >= atomic_load(&s->end)) continue;
    ccw_fault_taker *taker = atomic_load(&s->taker);
    void *context = atomic_load(&s->context);
    if (taker && version % 2 == 0 && version == atomic_load(&s->version)) return taker(context, fault);
  }
  ccw_fault_taker *rest = atomic_load(&taker_of_rest);
  return rest && rest(NULL, fault);
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
#error "fault.c: tell how this processor says what faulted"
#endif

uintptr_t ccw_fault_instruction(const void *context) { return instruction_of(context); }

int32_t ccw_fault_walk(uintptr_t instruction, uintptr_t *code, int32_t most)
{
  enum { MOST = 64, OURS = 16 }; /* the frames of those who handle the fault stand in front */
  void *frames[MOST + OURS];
  if (most > MOST) most = MOST;
  int count = backtrace(frames, most + OURS), at = 0;
  while (at < count && (uintptr_t)frames[at] != instruction) ++at;
  int32_t depth = 1;
  code[0] = instruction;
  while (depth < most && at + depth < count) {
    code[depth] = (uintptr_t)frames[at + depth];
    ++depth;
  }
  return depth;
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
  ccw_fault fault = {(uintptr_t)info->si_addr, instruction_of(context), is_write(context)};
  if (info->si_code == SI_KERNEL && !info->si_addr)
    fault.address = UINTPTR_MAX; /* one that cannot be: which is not told */
  if (info->si_code <= 0 || !is_taken(&fault)) hand_on(number, info, context);
  errno = error;
}

void ccw_fault_hand_on_to_none(void)
{
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) before[i] = (struct sigaction){.sa_handler = SIG_DFL};
}

/* ---- a stack for the signal handler: the thread's own may be what is full -------------------------------------------- */

static pthread_key_t stack_key;

static size_t stack_size(void)
{
  long least = sysconf(_SC_MINSIGSTKSZ); /* what the registers take */
  return ccw_align((size_t)(least > 0 ? least : 0) + (64 << 10), (size_t)sysconf(_SC_PAGESIZE));
}

/* At the end of the thread. */
static void free_stack(void *stack)
{
  stack_t present;
  if (sigaltstack(NULL, &present) == 0 && present.ss_sp == stack)
    sigaltstack(&(stack_t){.ss_flags = SS_DISABLE, .ss_size = MINSIGSTKSZ}, NULL);
  munmap(stack, stack_size());
}

void ccw_fault_prepare_thread(void)
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

static ccw_status install_once(void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, install);
  return is_installed ? ccw_ok() : ccw_unavailable("faults cannot be caught here");
}

ccw_status ccw_fault_own(uintptr_t base, uintptr_t end, ccw_fault_taker *taker, void *context, int *out_place)
{
  CCW_TRY(install_once());
  pthread_mutex_lock(&slots_lock);
  int i = 0;
  while (i < SLOTS && atomic_load(&slots[i].taker)) ++i;
  if (i < SLOTS) {
    write_slot(&slots[i], base, end, taker, context);
    if (i >= slots_used) slots_used = i + 1;
  }
  pthread_mutex_unlock(&slots_lock);
  if (i == SLOTS) return ccw_resource_exhausted("more than %d ranges of memory that may not be touched", SLOTS);
  *out_place = i;
  return ccw_ok();
}

ccw_status ccw_fault_own_rest(ccw_fault_taker *taker)
{
  CCW_TRY(install_once());
  atomic_store(&taker_of_rest, taker);
  return ccw_ok();
}

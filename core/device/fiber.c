#include "device/fiber.h"

#include <sys/mman.h>

#ifdef CCW_FIBER_ASAN
#include <sanitizer/asan_interface.h>
#endif

ccw_fiber ccw_fibers[CCW_FIBERS];
ccw_fiber ccw_fiber_home;

static unsigned char *stacks; /* of each fiber: a guard, then its stack, which grows down */
static uint32_t stacks_open;  /* those whose memory can be touched */
static void (*run_fiber)(void);
static const ccw_fiber *beginner; /* the fiber that began last */

/* Where a fiber begins: calls begin. Nobody called this, as a walk up the stack sees. */
void ccw_fiber_first(void);

/* clang-format off */
#if defined(__x86_64__)
enum { WORDS = 4, START = 0 }; /* where to go on, rbp, and two for the alignment */
__asm__(
    ".text\n"
    ".p2align 4\n"
    ".hidden ccw_fiber_first\n"
    ".globl ccw_fiber_first\n"
    ".type ccw_fiber_first, @function\n"
    "ccw_fiber_first:\n"
    ".cfi_startproc\n"
    ".cfi_undefined rip\n"
    "  popq %rbp\n"
    "  callq ccw_fiber_call\n"
    "  ud2\n"
    ".cfi_endproc\n"
    ".size ccw_fiber_first, . - ccw_fiber_first\n");
#elif defined(__aarch64__)
enum { WORDS = 2, START = 1 }; /* x29, where to go on */
__asm__(
    ".text\n"
    ".p2align 4\n"
    ".hidden ccw_fiber_first\n"
    ".globl ccw_fiber_first\n"
    ".type ccw_fiber_first, %function\n"
    "ccw_fiber_first:\n"
    ".cfi_startproc\n"
    ".cfi_undefined x30\n"
    "  bl ccw_fiber_call\n"
    "  brk #0\n"
    ".cfi_endproc\n"
    ".size ccw_fiber_first, . - ccw_fiber_first\n");
#endif
/* clang-format on */

void ccw_fiber_call(void);

void ccw_fiber_call(void)
{
  ccw_fiber_say_arrived(beginner, &ccw_fiber_home);
  run_fiber();
}

static unsigned char *guard_of(const ccw_fiber *fiber)
{
  return stacks + (size_t)(fiber - ccw_fibers) * (CCW_FIBER_GUARD + CCW_FIBER_STACK);
}

static unsigned char *stack_of(const ccw_fiber *fiber) { return guard_of(fiber) + CCW_FIBER_GUARD; }

bool ccw_fiber_is_guard(const ccw_fiber *fiber, uintptr_t address)
{
  return stacks && address - (uintptr_t)guard_of(fiber) < CCW_FIBER_GUARD;
}

/* The stacks begin at different lines of the cache: all at the same would drive each other out. */
void ccw_fiber_begin(ccw_fiber *fiber)
{
  enum { LINES = 32, LINE = 128 };
  fiber->stack = stack_of(fiber);
  fiber->stack_size = CCW_FIBER_STACK;
#ifdef CCW_FIBER_ASAN
  if (fiber->is_left) __asan_unpoison_memory_region(fiber->stack, fiber->stack_size); /* the frames that were left */
#endif
  void **top = (void **)(void *)(stack_of(fiber) + CCW_FIBER_STACK - (fiber - ccw_fibers) % LINES * LINE);
  void **place = top - WORDS;
  for (int i = 0; i < WORDS; ++i) place[i] = NULL;
  place[START] = (void *)(uintptr_t)ccw_fiber_first;
  fiber->place = place;
  fiber->is_begun = true;
  fiber->is_left = false;
  beginner = fiber;
}

bool ccw_fibers_prepare(uint32_t count, void (*run)(void))
{
  run_fiber = run;
  if (!stacks) {
    void *memory = mmap(NULL, (size_t)CCW_FIBERS * (CCW_FIBER_GUARD + CCW_FIBER_STACK), PROT_NONE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    stacks = memory;
  }
  for (; stacks_open < count; ++stacks_open)
    if (mprotect(stack_of(&ccw_fibers[stacks_open]), CCW_FIBER_STACK, PROT_READ | PROT_WRITE) != 0) return false;
  return true;
}

/* It has nothing on its own stack, which may be a signal handler's: ASan would note it there, and nobody would strike it out. */
_Noreturn void ccw_fiber_leave(ccw_fiber *fiber)
{
  fiber->is_begun = false;
  fiber->is_left = true;
  ccw_fiber_say_leaving(fiber, &ccw_fiber_home);
  ccw_fiber_switch(&fiber->place, ccw_fiber_home.place);
  __builtin_unreachable();
}

void ccw_fiber_restart(ccw_fiber *fiber)
{
  fiber->is_begun = false;
  fiber->is_left = true;
}

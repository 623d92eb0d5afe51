#include "device/fiber.h"

#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif
#ifdef HAS_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

/* ---- from one stack to another --------------------------------------------------------------------------------------- */

/* Saves what a call preserves on the stack, the place of it in *out_place, and goes on where another place was saved. */
void ccw_fiber_switch(void **out_place, void *place);

/* The same, and nothing is saved. */
_Noreturn void ccw_fiber_jump(void *place);

/* Where a fiber begins: calls what the first register that a call preserves points to. No one called it, which a walk up the
 * stack sees. */
void ccw_fiber_begin(void);

/* clang-format off */
#if defined(__x86_64__)
/* The jump at the end is not a return: the processor would foretell where that goes, and err. */
__asm__(
    ".text\n"
    ".hidden ccw_fiber_switch, ccw_fiber_jump, ccw_fiber_begin\n"
    ".globl ccw_fiber_switch, ccw_fiber_jump, ccw_fiber_begin\n"
    ".type ccw_fiber_switch, @function\n"
    ".type ccw_fiber_jump, @function\n"
    ".type ccw_fiber_begin, @function\n"
    ".p2align 4\n"
    "ccw_fiber_switch:\n"
    "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
    "  movq %rsp, (%rdi)\n"
    "  movq %rsi, %rdi\n"
    "ccw_fiber_jump:\n"
    "  movq %rdi, %rsp\n"
    "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
    "  popq %rcx\n"
    "  jmpq *%rcx\n"
    ".size ccw_fiber_switch, . - ccw_fiber_switch\n"
    ".p2align 4\n"
    "ccw_fiber_begin:\n"
    ".cfi_startproc\n"
    ".cfi_undefined rip\n"
    "  callq *%rbx\n"
    "  ud2\n"
    ".cfi_endproc\n"
    ".size ccw_fiber_begin, . - ccw_fiber_begin\n");
enum { WORDS = 9, FUNCTION = 4, START = 6 };
#elif defined(__aarch64__)
__asm__(
    ".text\n"
    ".hidden ccw_fiber_switch, ccw_fiber_jump, ccw_fiber_begin\n"
    ".globl ccw_fiber_switch, ccw_fiber_jump, ccw_fiber_begin\n"
    ".type ccw_fiber_switch, %function\n"
    ".type ccw_fiber_jump, %function\n"
    ".type ccw_fiber_begin, %function\n"
    ".p2align 4\n"
    "ccw_fiber_switch:\n"
    "  sub sp, sp, #160\n"
    "  stp x19, x20, [sp]\n  stp x21, x22, [sp, #16]\n  stp x23, x24, [sp, #32]\n  stp x25, x26, [sp, #48]\n"
    "  stp x27, x28, [sp, #64]\n  stp x29, x30, [sp, #80]\n"
    "  stp d8, d9, [sp, #96]\n  stp d10, d11, [sp, #112]\n  stp d12, d13, [sp, #128]\n  stp d14, d15, [sp, #144]\n"
    "  mov x9, sp\n"
    "  str x9, [x0]\n"
    "  mov x0, x1\n"
    "ccw_fiber_jump:\n"
    "  mov sp, x0\n"
    "  ldp x19, x20, [sp]\n  ldp x21, x22, [sp, #16]\n  ldp x23, x24, [sp, #32]\n  ldp x25, x26, [sp, #48]\n"
    "  ldp x27, x28, [sp, #64]\n  ldp x29, x30, [sp, #80]\n"
    "  ldp d8, d9, [sp, #96]\n  ldp d10, d11, [sp, #112]\n  ldp d12, d13, [sp, #128]\n  ldp d14, d15, [sp, #144]\n"
    "  add sp, sp, #160\n"
    "  br x30\n"
    ".size ccw_fiber_switch, . - ccw_fiber_switch\n"
    ".p2align 4\n"
    "ccw_fiber_begin:\n"
    ".cfi_startproc\n"
    ".cfi_undefined x30\n"
    "  blr x19\n"
    "  brk #0\n"
    ".cfi_endproc\n"
    ".size ccw_fiber_begin, . - ccw_fiber_begin\n");
enum { WORDS = 22, FUNCTION = 0, START = 11 };
#else
#error "fiber.c: tell how this processor goes from one stack to another"
#endif
/* clang-format on */

/* ---- fibers ---------------------------------------------------------------------------------------------------------- */

typedef struct fiber {
  void *place;
  void *fake_stack; /* ASan's */
  bool is_begun;    /* it went back, and is resumed behind that */
  bool is_left;     /* in the middle: what ASan noted of the stack holds no more */
} fiber;

static fiber fibers[CCW_FIBERS];
static unsigned char *stacks; /* of each fiber: a guard, then its stack, which grows down */
static uint32_t stacks_open;  /* those whose memory can be touched */
static void (*run_fiber)(void);

/* Who resumed the fiber that runs. */
static struct home {
  void *place;
  void *fake_stack;
  const void *stack;
  size_t stack_size;
} home;

static fiber *current;

static unsigned char *guard_of(uint32_t number)
{
  return stacks + (size_t)number * (CCW_FIBER_GUARD + CCW_FIBER_STACK);
}

static unsigned char *stack_of(uint32_t number) { return guard_of(number) + CCW_FIBER_GUARD; }

bool ccw_fiber_is_guard(uint32_t number, uintptr_t address)
{
  return stacks && address - (uintptr_t)guard_of(number) < CCW_FIBER_GUARD;
}

#ifdef HAS_ASAN
static void say_leaving(void **out_fake_stack, const void *stack, size_t size)
{
  __sanitizer_start_switch_fiber(out_fake_stack, stack, size);
}
static void say_arrived(void *fake_stack, const void **out_stack, size_t *out_size)
{
  __sanitizer_finish_switch_fiber(fake_stack, out_stack, out_size);
}
static void forget_frames(uint32_t number) { __asan_unpoison_memory_region(stack_of(number), CCW_FIBER_STACK); }
#else
static void say_leaving(void **out_fake_stack, const void *stack, size_t size)
{
  (void)out_fake_stack, (void)stack, (void)size;
}
static void say_arrived(void *fake_stack, const void **out_stack, size_t *out_size)
{
  (void)fake_stack, (void)out_stack, (void)out_size;
}
static void forget_frames(uint32_t number) { (void)number; }
#endif

/* What a fiber begins with, on its own stack. */
static void begin(void)
{
  say_arrived(current->fake_stack, &home.stack, &home.stack_size);
  run_fiber();
}

/* The stacks begin at different lines of the cache: all at the same would drive each other out. */
static void make(uint32_t number)
{
  enum { LINES = 32, LINE = 128 };
  fiber *f = &fibers[number];
  if (f->is_left) forget_frames(number);
  unsigned char *top = stack_of(number) + CCW_FIBER_STACK - number % LINES * LINE;
  void **place = (void **)(void *)top - WORDS;
  for (int i = 0; i < WORDS; ++i) place[i] = NULL;
  place[FUNCTION] = (void *)(uintptr_t)begin;
  place[START] = (void *)(uintptr_t)ccw_fiber_begin;
  f->place = place;
  f->is_begun = true;
  f->is_left = false;
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
    if (mprotect(stack_of(stacks_open), CCW_FIBER_STACK, PROT_READ | PROT_WRITE) != 0) return false;
  return true;
}

bool ccw_fiber_resume(uint32_t number)
{
  fiber *f = &fibers[number];
  if (!f->is_begun) make(number);
  current = f;
  say_leaving(&home.fake_stack, stack_of(number), CCW_FIBER_STACK);
  ccw_fiber_switch(&home.place, f->place);
  say_arrived(home.fake_stack, NULL, NULL);
  return f->is_begun;
}

void ccw_fiber_go_back(void)
{
  fiber *f = current;
  say_leaving(&f->fake_stack, home.stack, home.stack_size);
  ccw_fiber_switch(&f->place, home.place);
  say_arrived(f->fake_stack, &home.stack, &home.stack_size);
}

_Noreturn void ccw_fiber_leave(void)
{
  current->is_begun = false;
  current->is_left = true;
  say_leaving(&current->fake_stack, home.stack, home.stack_size);
  ccw_fiber_jump(home.place);
}

void ccw_fiber_restart(uint32_t number)
{
  fibers[number].is_begun = false;
  fibers[number].is_left = true;
}

/* fiber.h: code that runs on a stack of its own, and can be left in the middle.
 *
 * Fibers are numbered, and run in the thread that resumes them, one at a time in this process: whoever resumes one holds a lock. A
 * fiber goes back by itself, and is resumed behind that; or it is left for good, out of a signal handler too, and begins anew.
 *
 * Going from one to another is part of the code that asks for it: a processor foretells where a function returns to, and a
 * function that came back on another stack would be foretold wrongly.
 */
#ifndef CCW_DEVICE_FIBER_H
#define CCW_DEVICE_FIBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__SANITIZE_ADDRESS__)
#define CCW_FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CCW_FIBER_ASAN 1
#endif
#endif
#ifdef CCW_FIBER_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

enum { CCW_FIBER_STACK = 128 << 10, CCW_FIBER_GUARD = 128 << 10, CCW_FIBERS = 1024 };

/* One of them, or who resumed it: what lies on its stack at `place` says where it goes on. */
typedef struct ccw_fiber {
  void *place;
  void *fake_stack; /* ASan's */
  const void *stack;
  size_t stack_size;
  bool is_begun; /* it went back, and is resumed behind that */
  bool is_left;  /* in the middle */
} ccw_fiber;

extern ccw_fiber ccw_fibers[CCW_FIBERS];
extern ccw_fiber ccw_fiber_home; /* who resumed the one that runs */

/* Has numbers 0 to `count` - 1 ready to be resumed, each to begin with `run`, which does not return. False: there is no memory for
 * their stacks. */
bool ccw_fibers_prepare(uint32_t count, void (*run)(void));

/* Has a fiber that is not running begin anew. */
void ccw_fiber_restart(ccw_fiber *fiber);

/* In a fiber, or in a signal handler that interrupted it: goes back to who resumed it, and will not be resumed there. */
_Noreturn void ccw_fiber_leave(ccw_fiber *fiber);

/* Whether the fiber's stack ended at that address. */
bool ccw_fiber_is_guard(const ccw_fiber *fiber, uintptr_t address);

/* For the functions below: has the fiber begin where it is resumed next. */
void ccw_fiber_begin(ccw_fiber *fiber);

/* ---- from one stack to another --------------------------------------------------------------------------------------- */

/* Saves on the stack where to go on, and the register that a compiler cannot be told of; then goes on at the other place. All
 * else is lost, and the compiler knows. */
static inline __attribute__((always_inline)) void ccw_fiber_switch(void **out_place, void *place)
{
#if defined(__x86_64__) /* below the stack lies what a function may use that calls no other: 128 bytes */
  __asm__ volatile("leaq -128(%%rsp), %%rsp\n\t"
                   "pushq %%rbp\n\t"
                   "leaq 1f(%%rip), %%rax\n\t"
                   "pushq %%rax\n\t"
                   "movq %%rsp, (%0)\n\t"
                   "movq %1, %%rsp\n\t"
                   "popq %%rax\n\t"
                   "jmpq *%%rax\n"
                   "1:\n\t"
                   "popq %%rbp\n\t"
                   "leaq 128(%%rsp), %%rsp\n\t"
                   : "+D"(out_place), "+S"(place)
                   :
                   : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1",
                   "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
                   "xmm14", "xmm15", "memory", "cc");
#elif defined(__aarch64__)
  register void **to __asm__("x0") = out_place;
  register void *from __asm__("x1") = place;
  __asm__ volatile("adr x9, 1f\n\t"
                   "stp x29, x9, [sp, #-16]!\n\t"
                   "mov x9, sp\n\t"
                   "str x9, [%0]\n\t"
                   "mov sp, %1\n\t"
                   "ldp x29, x9, [sp], #16\n\t"
                   "br x9\n"
                   "1:\n\t"
                   : "+r"(to), "+r"(from)
                   :
                   : "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16",
                   "x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x30", "v0",
                   "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15",
                   "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29",
                   "v30", "v31", "memory", "cc");
#else
#error "fiber.h: tell how this processor goes from one stack to another"
#endif
}

/* What ASan wants to know of it, on both sides. */
static inline void ccw_fiber_say_leaving(ccw_fiber *from, const ccw_fiber *to)
{
#ifdef CCW_FIBER_ASAN
  __sanitizer_start_switch_fiber(&from->fake_stack, to->stack, to->stack_size);
#else
  (void)from, (void)to;
#endif
}

static inline void ccw_fiber_say_arrived(const ccw_fiber *to, ccw_fiber *from)
{
#ifdef CCW_FIBER_ASAN
  __sanitizer_finish_switch_fiber(to->fake_stack, &from->stack, &from->stack_size);
#else
  (void)to, (void)from;
#endif
}

/* Runs a fiber until it goes back or is left; whether it went back. */
static inline __attribute__((always_inline)) bool ccw_fiber_resume(ccw_fiber *fiber)
{
  if (!fiber->is_begun) ccw_fiber_begin(fiber);
  ccw_fiber_say_leaving(&ccw_fiber_home, fiber);
  ccw_fiber_switch(&ccw_fiber_home.place, fiber->place);
  ccw_fiber_say_arrived(&ccw_fiber_home, fiber);
  return fiber->is_begun;
}

/* In a fiber: goes back to who resumed it, and returns when it is resumed. */
static inline __attribute__((always_inline)) void ccw_fiber_go_back(ccw_fiber *fiber)
{
  ccw_fiber_say_leaving(fiber, &ccw_fiber_home);
  ccw_fiber_switch(&fiber->place, ccw_fiber_home.place);
  ccw_fiber_say_arrived(fiber, &ccw_fiber_home);
}

#endif

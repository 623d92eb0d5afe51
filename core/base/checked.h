/* checked.h: arithmetic that says when it overflows, and counting of references. */
#ifndef CCW_BASE_CHECKED_H
#define CCW_BASE_CHECKED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* *out = a * b; false, and no output, where the product does not fit. */
static inline bool ccw_mul_i64(int64_t a, int64_t b, int64_t *out)
{
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product)) return false;
  *out = product;
  return true;
}

/* *out = a + b; false, and no output, where the sum does not fit. */
static inline bool ccw_add_i64(int64_t a, int64_t b, int64_t *out)
{
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) return false;
  *out = sum;
  return true;
}

/* Rounds up to a multiple of `alignment`, a power of two. */
static inline size_t ccw_align(size_t size, size_t alignment) { return (size + alignment - 1) & ~(alignment - 1); }

/* A count of references: starts at 1, is dropped to 0 once. */
typedef _Atomic int64_t ccw_count;

static inline void ccw_count_up(ccw_count *count) { atomic_fetch_add_explicit(count, 1, memory_order_relaxed); }

/* True for the last reference: free the object. */
static inline bool ccw_count_down(ccw_count *count)
{
  return atomic_fetch_sub_explicit(count, 1, memory_order_acq_rel) == 1;
}

#endif

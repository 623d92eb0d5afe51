/* pairs.h: what both sides of the differential test of patterns share. patterns.lua writes the patterns, compare.c runs them
 * on the same buffers. */
#ifndef PAIRS_H
#define PAIRS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct XLA_FFI_Buffer;

/* The variables that patterns capture into, as `&s.a`. They start as UNTOUCHED. */
typedef struct sizes {
  int64_t a, b, c;
} sizes;

#define UNTOUCHED -77

/* How one pattern and one buffer got on. */
enum { NOTHING_TO_REFINE_TO = -1 };
typedef struct outcome {
  int verified, matched; /* codes of Verify and Match */
  sizes after_verify, after_match;
  const void *data; /* of the buffer that Match gave */
} outcome;

typedef outcome meeting(struct XLA_FFI_Buffer *x);

/* What WithShapeOf and Like refer to; and the numbers from -8 on, which no compiler can see: at(3) is 3. */
extern struct XLA_FFI_Buffer *references[];
extern int64_t numbers[];
static inline int64_t at(int number) { return numbers[number + 8]; }

/* Buffers in short: dtype, rank, dims. */
enum { ROW = 11, BUFFERS = 100 };

#ifdef __cplusplus
}
#endif

#endif

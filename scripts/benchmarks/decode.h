/* decode.h: the handlers of the suite `decode`. Each is written twice, as ours_NAME in decode.c and as official_NAME in
 * decode_official.cc, and leaves a number made of what it decoded in decode_result. */
#ifndef DECODE_H
#define DECODE_H

#include <stdint.h>

/* X(name, calls in a round). */
#define DECODE_HANDLERS(X)                                                                                       \
  X(any1, 200000) /* as many arguments of any type */                                                            \
  X(any4, 200000)                                                                                                \
  X(any12, 100000)                                                                                               \
  X(typed4, 200000)      /* four arguments f32[?,?] */                                                           \
  X(match4, 50000)       /* four of any type, and four patterns: captures, these sizes, the same shape, alike */ \
  X(attrs4, 200000)      /* an s32, an f32, a string and an s64 */                                               \
  X(struct4, 100000)     /* one dictionary of those four, as a struct */                                         \
  X(enum5, 100000)       /* five enums */                                                                        \
  X(dictionary16, 20000) /* sixteen s64, each asked for by its name */                                           \
  X(remaining64, 20000)  /* sixty-four remaining arguments, each taken as f32[?] */

#ifdef __cplusplus
extern "C" {
#endif

extern volatile int64_t decode_result;

#ifdef __cplusplus
}
#endif

#endif

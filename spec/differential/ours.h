/* ours.h: OURS(number, use, dtype, pattern) is a function that tries a pattern of pattern.h on a buffer. */
#ifndef OURS_H
#define OURS_H

#include <ccw/handler.h>

#include "patterns.h"

static inline ccw_arg_any arg(const XLA_FFI_Buffer *buffer)
{
  return (ccw_arg_any){buffer->data, buffer->dims, buffer->rank, buffer};
}

static inline int code_of(ccw_status status)
{
  ccw_status_free(status);
  return (int)status.code;
}

/* INTERNAL is for patterns that do not say what to refine to: such a one is none for the official header. */
static inline int code_of_match(ccw_status status)
{
  int code = code_of(status);
  return code == XLA_FFI_Error_Code_INTERNAL ? NOTHING_TO_REFINE_TO : code;
}

#define OURS(number, use, dtype, pattern)          \
  outcome ours_##number(XLA_FFI_Buffer *buffer)    \
  {                                                \
    outcome o = {.matched = NOTHING_TO_REFINE_TO}; \
    sizes s = {UNTOUCHED, UNTOUCHED, UNTOUCHED};   \
    const ccw_pattern p = pattern;                 \
    OURS_##use(dtype) o.after_match = s;           \
    return o;                                      \
  }
#define OURS_any(dtype) OURS_VERIFY(ccw_arg_any) OURS_MATCH(arg, dtype)
#define OURS_typed(dtype) OURS_VERIFY(ccw_arg_f32) OURS_MATCH(arg, dtype)
#define OURS_result(dtype) OURS_VERIFY(ccw_ret_any) OURS_MATCH(ret, dtype)
#define OURS_only_verify(dtype) OURS_VERIFY(ccw_arg_any)

#define OURS_VERIFY(type)                                      \
  type x = {buffer->data, buffer->dims, buffer->rank, buffer}; \
  o.verified = code_of(ccw_verify("x", x, p));                 \
  o.after_verify = s;                                          \
  s = (sizes){UNTOUCHED, UNTOUCHED, UNTOUCHED};
#define OURS_MATCH(family, dtype)                                          \
  ccw_##family##_##dtype match = {NULL, NULL, 0, NULL};                    \
  o.matched = code_of_match(ccw_match_##family(dtype, "x", x, p, &match)); \
  o.data = match.data;

#endif

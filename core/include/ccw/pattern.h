/* pattern.h: what a buffer should look like, said as a value.
 *
 *   int64_t rows, cols;
 *   CCW_TRY(ccw_verify("x", x, ccw_with_dims(ccw_of(f32), &rows, &cols)));     a matrix; its sizes are captured
 *   CCW_TRY(ccw_verify("w", w, ccw_with_dims(ccw_of(f32), cols)));             w: expected f32[cols] with cols = 8, got f32[3]
 *   CCW_TRY(ccw_verify("y", y, ccw_like(x)));
 *   CCW_TRY(ccw_verify("i", i, ccw_with_rank(ccw_with_dtype(ccw_any(), s32, s64), 1, 2)));
 *
 * A pattern is immutable: each modifier gives a new one, in which a later word replaces an earlier one on the same subject.
 * A dim is a size, CCW_ANY_SIZE, or the address of an int64_t to capture it; the same address twice means equal sizes.
 * Captures are written when the whole pattern has matched, and not at all otherwise.
 *
 * The meaning is that of the patterns in XLA's headers (FFI API 0.4 and later).
 */
#ifndef CCW_PATTERN_H
#define CCW_PATTERN_H

#include "decode.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Dims that a pattern may speak of. More of them come by ccw_shape_of alone. */
#ifndef CCW_PATTERN_DIMS
#define CCW_PATTERN_DIMS 8
#endif
#if CCW_PATTERN_DIMS < 8
#error "CCW_PATTERN_DIMS: expected 8 or more"
#endif

/* A dim of any size. */
#define CCW_ANY_SIZE INT64_MIN

typedef struct ccw_dim {
  int64_t size;     /* CCW_ANY_SIZE: any. Below zero otherwise: none */
  int64_t *capture; /* where it goes, or NULL */
  const char *name; /* what messages call it, or NULL */
} ccw_dim;

typedef struct ccw_pattern {
  int32_t dtype;                      /* one; 0: see dtypes */
  uint64_t dtypes;                    /* the set of them by number; 0: any */
  int64_t rank;                       /* one; -1: see ranks */
  uint64_t ranks;                     /* the set of them; 0: any */
  bool dtype_is_given, rank_is_given; /* by the author, not copied from a buffer: these make ccw_match possible */
  int64_t count;                      /* dims that are spoken of, from the first on */
  const int64_t *more;                /* sizes of those past CCW_PATTERN_DIMS */
  const char *mistake;                /* of the author */
  ccw_dim dims[CCW_PATTERN_DIMS];
} ccw_pattern;

/* Ends eight blocks that macros have begun, each within the one before. */
#define CCW_CLOSE_8_ \
  }                  \
  }                  \
  }                  \
  }                  \
  }                  \
  }                  \
  }                  \
  }

/* ---- building ------------------------------------------------------------------------------------------------------- */

/* Any buffer. */
CCW_INLINE ccw_pattern ccw_any(void)
{
  ccw_pattern pattern = CCW_ZERO_;
  pattern.rank = -1;
  return pattern;
}

CCW_INLINE ccw_pattern ccw_pattern_dtype_(ccw_pattern pattern, int dtype)
{
  pattern.dtype = dtype;
  pattern.dtypes = 0;
  pattern.dtype_is_given = true;
  return pattern;
}

CCW_INLINE ccw_pattern ccw_pattern_dtypes_(ccw_pattern pattern, uint64_t dtypes)
{
  pattern.dtype = 0;
  pattern.dtypes = dtypes;
  pattern.dtype_is_given = false;
  return pattern;
}

CCW_INLINE ccw_pattern ccw_pattern_rank_(ccw_pattern pattern, int64_t rank)
{
  pattern.rank = rank;
  pattern.ranks = 0;
  pattern.rank_is_given = rank >= 0;
  return pattern;
}

CCW_INLINE ccw_pattern ccw_pattern_ranks_(ccw_pattern pattern, uint64_t ranks)
{
  pattern.rank = -1;
  pattern.ranks = ranks;
  pattern.rank_is_given = false;
  return pattern;
}

/* Starts a complete shape: of rank 0 so far. */
CCW_INLINE ccw_pattern ccw_pattern_no_dims_(ccw_pattern pattern)
{
  pattern.count = 0;
  return ccw_pattern_rank_(pattern, 0);
}

/* One dim more. */
CCW_INLINE ccw_pattern ccw_pattern_then_(ccw_pattern pattern, ccw_dim dim)
{
  if (pattern.count >= CCW_PATTERN_DIMS) {
    pattern.mistake = "it speaks of too many dims";
    return pattern;
  }
  pattern.dims[pattern.count++] = dim;
  pattern.rank = pattern.count;
  return pattern;
}

CCW_INLINE ccw_pattern ccw_pattern_dim_(ccw_pattern pattern, int64_t place, ccw_dim dim)
{
  if (place < 0 || place >= CCW_PATTERN_DIMS) {
    pattern.mistake = "it speaks of a dim that is below 0 or too far";
    return pattern;
  }
  ccw_dim any = {CCW_ANY_SIZE, NULL, NULL};
#define CCW_GAP_(i) \
  if (i >= pattern.count && i < place) pattern.dims[i] = any;
  CCW_GAP_(0)
  CCW_GAP_(1)
  CCW_GAP_(2)
  CCW_GAP_(3)
  CCW_GAP_(4)
  CCW_GAP_(5)
  CCW_GAP_(6)
#undef CCW_GAP_
  for (int64_t i = 7; i < CCW_PATTERN_DIMS && i < place; ++i)
    if (i >= pattern.count) pattern.dims[i] = any;
  pattern.dims[place] = dim;
  if (pattern.count <= place) pattern.count = place + 1;
  return pattern;
}

CCW_INLINE ccw_pattern ccw_pattern_shape_of_(ccw_pattern pattern, const XLA_FFI_Buffer *buffer)
{
  if (!CCW_LIKELY(buffer)) {
    pattern.mistake = "it is to be like an argument or result that was not given";
    return pattern;
  }
  const int64_t *dims = buffer->dims;
  pattern.rank = pattern.count = buffer->rank;
  pattern.ranks = 0;
  pattern.rank_is_given = false;
#define CCW_COPY_(i)                \
  if (buffer->rank > i) {           \
    pattern.dims[i].size = dims[i]; \
    pattern.dims[i].capture = NULL; \
    pattern.dims[i].name = NULL;
  CCW_COPY_(0)
  CCW_COPY_(1)
  CCW_COPY_(2)
  CCW_COPY_(3)
  CCW_COPY_(4)
  CCW_COPY_(5)
  CCW_COPY_(6)
  CCW_COPY_(7)
#undef CCW_COPY_
  for (int64_t i = 8; i < CCW_PATTERN_DIMS && i < buffer->rank; ++i) {
    ccw_dim dim = {dims[i], NULL, NULL};
    pattern.dims[i] = dim;
  }
  if (buffer->rank > CCW_PATTERN_DIMS) pattern.more = dims + CCW_PATTERN_DIMS;
  CCW_CLOSE_8_
  return pattern;
}

CCW_INLINE ccw_pattern ccw_pattern_like_(ccw_pattern pattern, const XLA_FFI_Buffer *buffer)
{
  pattern = ccw_pattern_shape_of_(pattern, buffer);
  if (!CCW_LIKELY(buffer)) return pattern;
  pattern.dtype = ccw_number_at_(&buffer->dtype);
  pattern.dtypes = 0;
  pattern.dtype_is_given = false;
  return pattern;
}

CCW_INLINE ccw_dim ccw_dim_of_size_(int64_t size, const char *name)
{
  ccw_dim dim = {size, NULL, name};
  return dim;
}

CCW_INLINE ccw_dim ccw_dim_captured_(int64_t *capture, const char *name)
{
  ccw_dim dim = {CCW_ANY_SIZE, capture, name};
  return dim;
}

/* ---- matching ------------------------------------------------------------------------------------------------------- */

CCW_INLINE bool ccw_dim_fits_(const ccw_pattern *pattern, const int64_t *dims, int64_t i)
{
  if (pattern->dims[i].size != dims[i] && pattern->dims[i].size != CCW_ANY_SIZE) return false;
#define CCW_EARLIER_(j)                                                                                                \
  if (i > j && pattern->dims[i].capture && pattern->dims[j].capture == pattern->dims[i].capture && dims[i] != dims[j]) \
    return false;
  CCW_EARLIER_(0)
  CCW_EARLIER_(1)
  CCW_EARLIER_(2)
  CCW_EARLIER_(3)
  CCW_EARLIER_(4)
  CCW_EARLIER_(5)
  CCW_EARLIER_(6)
#undef CCW_EARLIER_
  return true;
}

/* Dims past those of the pattern, which were copied from a buffer. */
CCW_COLD bool ccw_more_fit_(const int64_t *more, const int64_t *dims, int64_t count)
{
  return more && memcmp(more, dims, (size_t)count * sizeof *dims) == 0;
}

#if CCW_PATTERN_DIMS > 8
/* Dims past the eighth, one after the other. */
CCW_COLD bool ccw_far_dims_fit_(const ccw_pattern *pattern, const int64_t *dims)
{
  for (int64_t i = 8; i < pattern->count && i < CCW_PATTERN_DIMS; ++i) {
    const ccw_dim *dim = &pattern->dims[i];
    if (dim->size != dims[i] && dim->size != CCW_ANY_SIZE) return false;
    for (int64_t j = 0; j < i; ++j)
      if (dim->capture && pattern->dims[j].capture == dim->capture && dims[j] != dims[i]) return false;
  }
  return true;
}
#endif

/* The empty asm keeps compilers from seeing that a capture may stay unwritten on a path that returns. */
CCW_INLINE void ccw_capture_(const ccw_pattern *pattern, const int64_t *dims, int64_t i)
{
  if (pattern->count <= i || !pattern->dims[i].capture) return;
  int64_t *capture = pattern->dims[i].capture;
  __asm__("" : "+r"(capture));
  *capture = dims[i];
}

/* Whether a set has the number, which may be any. */
CCW_INLINE bool ccw_is_in_(uint64_t set, int64_t number)
{
  return number >= 0 && number < 64 && (set >> (number & 63) & 1);
}

/* Whether the buffer matches; then the captures are written. Straight down, without a loop: compilers turn a pattern that
 * they see into just the tests that it needs. */
CCW_INLINE bool ccw_matches_(const XLA_FFI_Buffer *buffer, ccw_pattern pattern)
{
  if (!CCW_LIKELY(buffer && !pattern.mistake)) return false;
  const int64_t *dims = buffer->dims;
  if (!CCW_LIKELY((!pattern.dtype || pattern.dtype == ccw_number_at_(&buffer->dtype)) &&
                  (!pattern.dtypes || ccw_is_in_(pattern.dtypes, ccw_number_at_(&buffer->dtype))) &&
                  (pattern.rank < 0 || pattern.rank == buffer->rank) &&
                  (!pattern.ranks || ccw_is_in_(pattern.ranks, buffer->rank)) && buffer->rank >= pattern.count))
    return false;
#define CCW_FIT_(i)        \
  if (pattern.count > i) { \
    if (!CCW_LIKELY(ccw_dim_fits_(&pattern, dims, i))) return false;
  CCW_FIT_(0)
  CCW_FIT_(1)
  CCW_FIT_(2)
  CCW_FIT_(3)
  CCW_FIT_(4)
  CCW_FIT_(5)
  CCW_FIT_(6)
  CCW_FIT_(7)
#undef CCW_FIT_
#if CCW_PATTERN_DIMS > 8
  if (pattern.count > 8 && !ccw_far_dims_fit_(&pattern, dims)) return false;
#endif
  if (pattern.count > CCW_PATTERN_DIMS &&
      !ccw_more_fit_(pattern.more, dims + CCW_PATTERN_DIMS, pattern.count - CCW_PATTERN_DIMS))
    return false;
  CCW_CLOSE_8_
  ccw_capture_(&pattern, dims, 0), ccw_capture_(&pattern, dims, 1), ccw_capture_(&pattern, dims, 2);
  ccw_capture_(&pattern, dims, 3), ccw_capture_(&pattern, dims, 4), ccw_capture_(&pattern, dims, 5);
  ccw_capture_(&pattern, dims, 6), ccw_capture_(&pattern, dims, 7);
#if CCW_PATTERN_DIMS > 8
  for (int64_t i = 8; i < CCW_PATTERN_DIMS; ++i) ccw_capture_(&pattern, dims, i);
#endif
  return true;
}

/* ---- in words ------------------------------------------------------------------------------------------------------- */

CCW_COLD void ccw_say_ranks_(ccw_report *report, uint64_t ranks)
{
  const char *bar = "";
  for (int i = 0; i < 64; ++i) {
    if (!(ranks >> i & 1)) continue;
    ccw_report_add_(report, "%s%d", bar, i);
    bar = "|";
  }
}

/* Whether a dim was written as a number, which needs no name: "8", "-1". */
CCW_COLD bool ccw_is_number_(const char *name)
{
  name += *name == '-';
  return *name >= '0' && *name <= '9';
}

/* A dim in a message: its size where it is a number, else its name or a question mark. */
CCW_COLD void ccw_say_dim_(ccw_report *report, const ccw_pattern *pattern, int64_t i)
{
  const ccw_dim *dim = &pattern->dims[i % CCW_PATTERN_DIMS];
  if (i >= CCW_PATTERN_DIMS)
    ccw_report_add_(report, "%lld", pattern->more ? (long long)pattern->more[i - CCW_PATTERN_DIMS] : -1);
  else if (dim->name && dim->capture)
    ccw_report_add_(report, "%s", dim->name + (*dim->name == '&'));
  else if (dim->size == CCW_ANY_SIZE)
    ccw_report_add_(report, "?");
  else if (dim->name && !ccw_is_number_(dim->name))
    ccw_report_add_(report, "%s", dim->name);
  else
    ccw_report_add_(report, "%lld", (long long)dim->size);
}

/* "f32[rows,8] with rows = 3", "s32|s64[*1|2]", "any[?,7,*]". */
CCW_COLD void ccw_say_pattern_(ccw_report *report, const ccw_pattern *pattern)
{
  const char *bar = "";
  if (!pattern->dtypes) ccw_say_dtype_(report, pattern->dtype);
#define CCW_SAY_DTYPE_(NAME, name, number, bits, class) \
  if (pattern->dtypes >> number & 1) {                  \
    ccw_report_add_(report, "%s%s", bar, #name);        \
    bar = "|";                                          \
  }
  CCW_DTYPES(CCW_SAY_DTYPE_)
#undef CCW_SAY_DTYPE_
  ccw_report_add_(report, "[");
  int64_t count = pattern->rank > pattern->count ? pattern->rank : pattern->count;
  for (int64_t i = 0; i < count; ++i) {
    ccw_report_add_(report, i ? "," : "");
    if (i < pattern->count)
      ccw_say_dim_(report, pattern, i);
    else
      ccw_report_add_(report, "?");
  }
  if (pattern->rank < 0) ccw_report_add_(report, pattern->count > 0 ? ",*" : "*");
  if (pattern->rank < 0 && pattern->ranks) ccw_say_ranks_(report, pattern->ranks);
  ccw_report_add_(report, "]");
  if (pattern->rank >= 0 && pattern->rank < pattern->count)
    ccw_report_add_(report, " of rank %lld", (long long)pattern->rank);
  const char *comma = " with";
  for (int64_t i = 0; i < pattern->count && i < CCW_PATTERN_DIMS; ++i) {
    const ccw_dim *dim = &pattern->dims[i];
    if (!dim->name || dim->capture || dim->size == CCW_ANY_SIZE || ccw_is_number_(dim->name)) continue;
    ccw_report_add_(report, "%s %s = %lld", comma, dim->name, (long long)dim->size);
    comma = ",";
  }
}

/* Why a buffer does not match. */
CCW_COLD ccw_status ccw_mismatch_(const char *name, const XLA_FFI_Buffer *buffer, ccw_pattern pattern)
{
  if (pattern.mistake) return ccw_internal("%s: the pattern is no good: %s", name, pattern.mistake);
  char text[1024];
  ccw_report report = {text, sizeof text - 256, 0, 0, XLA_FFI_Error_Code_OK}; /* what came has room in any case */
  ccw_say_pattern_(&report, &pattern);
  report.room = sizeof text;
  ccw_report_add_(&report, ", got ");
  ccw_say_buffer_(&report, buffer);
  return ccw_invalid("%s: expected %s", name, text);
}

/* A match that does not say what to refine to is a mistake of the author. */
CCW_COLD ccw_status ccw_ambiguous_(const char *name, const ccw_pattern *pattern, int dtype)
{
  char text[1024];
  ccw_report report = {text, sizeof text, 0, 0, XLA_FFI_Error_Code_OK};
  ccw_say_pattern_(&report, pattern);
  return ccw_internal("%s: a match needs a pattern that gives the dtype %s and one rank itself, got %s", name,
      ccw_name_of_dtype_(dtype), text);
}

/* Whether a pattern says by itself what a buffer of any type is refined to. */
CCW_INLINE bool ccw_refines_(const ccw_pattern *pattern, int dtype)
{
  return CCW_LIKELY(pattern->dtype_is_given && pattern->rank_is_given && pattern->dtype == dtype);
}

#define CCW_MATCH_(NAME, name, number, bits, class)                                                                 \
  CCW_MUST_USE CCW_INLINE ccw_status ccw_match_arg_##name##_(                                                       \
      const char *called, const XLA_FFI_Buffer *buffer, bool is_typed, ccw_pattern pattern, ccw_arg_##name *out)    \
  {                                                                                                                 \
    if (!is_typed && !ccw_refines_(&pattern, number)) return ccw_surely_(ccw_ambiguous_(called, &pattern, number)); \
    if (!ccw_matches_(buffer, pattern)) return ccw_surely_(ccw_mismatch_(called, buffer, pattern));                 \
    *out = ccw_arg_of_##name##_(buffer);                                                                            \
    return ccw_ok();                                                                                                \
  }                                                                                                                 \
  CCW_MUST_USE CCW_INLINE ccw_status ccw_match_ret_##name##_(                                                       \
      const char *called, const XLA_FFI_Buffer *buffer, bool is_typed, ccw_pattern pattern, ccw_ret_##name *out)    \
  {                                                                                                                 \
    if (!is_typed && !ccw_refines_(&pattern, number)) return ccw_surely_(ccw_ambiguous_(called, &pattern, number)); \
    if (!ccw_matches_(buffer, pattern)) return ccw_surely_(ccw_mismatch_(called, buffer, pattern));                 \
    *out = ccw_ret_of_##name##_(buffer);                                                                            \
    return ccw_ok();                                                                                                \
  }
CCW_DTYPES(CCW_MATCH_)
#undef CCW_MATCH_

#ifdef __cplusplus
}
#endif

/* ---- the words ------------------------------------------------------------------------------------------------------ */

#ifdef __cplusplus
CCW_INLINE ccw_dim ccw_dim_(int64_t *capture, const char *name) { return ccw_dim_captured_(capture, name); }
template <typename T> /* so that 0 is a size, and no pointer */
CCW_INLINE ccw_dim ccw_dim_(T size, const char *name)
{
  static_assert(T(1) / 2 == 0, "a size is an integer");
  return ccw_dim_of_size_(static_cast<int64_t>(size), name);
}
#define CCW_DIM_(d) ccw_dim_((d), #d)
#define CCW_IS_TYPE_(x, type) (__is_same(__typeof__(x), type) || __is_same(__typeof__(x), const type))
#else
#define CCW_DIM_(d)                               \
  _Generic((d), int64_t *                         \
           : ccw_dim_captured_, int               \
           : ccw_dim_of_size_, unsigned           \
           : ccw_dim_of_size_, long               \
           : ccw_dim_of_size_, unsigned long      \
           : ccw_dim_of_size_, long long          \
           : ccw_dim_of_size_, unsigned long long \
           : ccw_dim_of_size_, short              \
           : ccw_dim_of_size_, unsigned short     \
           : ccw_dim_of_size_, signed char        \
           : ccw_dim_of_size_, unsigned char      \
           : ccw_dim_of_size_, char               \
           : ccw_dim_of_size_)((d), #d)
#define CCW_IS_TYPE_(x, type) __builtin_types_compatible_p(__typeof__(x), type)
#endif

/* op(op(p, a), b): up to eight of them. */
#define CCW_FOLD_0_(op, p) p
#define CCW_FOLD_1_(op, p, a) op(p, a)
#define CCW_FOLD_2_(op, p, a, ...) CCW_FOLD_1_(op, op(p, a), __VA_ARGS__)
#define CCW_FOLD_3_(op, p, a, ...) CCW_FOLD_2_(op, op(p, a), __VA_ARGS__)
#define CCW_FOLD_4_(op, p, a, ...) CCW_FOLD_3_(op, op(p, a), __VA_ARGS__)
#define CCW_FOLD_5_(op, p, a, ...) CCW_FOLD_4_(op, op(p, a), __VA_ARGS__)
#define CCW_FOLD_6_(op, p, a, ...) CCW_FOLD_5_(op, op(p, a), __VA_ARGS__)
#define CCW_FOLD_7_(op, p, a, ...) CCW_FOLD_6_(op, op(p, a), __VA_ARGS__)
#define CCW_FOLD_8_(op, p, a, ...) CCW_FOLD_7_(op, op(p, a), __VA_ARGS__)
#define CCW_TENTH_(a, b, c, d, e, f, g, h, i, j, ...) j
#define CCW_FOLD_(op, ...)                                                                                           \
  CCW_TENTH_(__VA_ARGS__, CCW_FOLD_8_, CCW_FOLD_7_, CCW_FOLD_6_, CCW_FOLD_5_, CCW_FOLD_4_, CCW_FOLD_3_, CCW_FOLD_2_, \
      CCW_FOLD_1_, CCW_FOLD_0_, 0)                                                                                   \
  (op, __VA_ARGS__)

#define CCW_THEN_(p, d) ccw_pattern_then_(p, CCW_DIM_(d))
#define CCW_OR_DTYPE_(set, dtype) (set | UINT64_C(1) << CCW_NUMBER_##dtype)
#define CCW_OR_RANK_(set, rank) (set | UINT64_C(1) << CCW_RANK_##rank)

/* One dtype, or several alternatives: ccw_with_dtype(p, s32, s64). */
#define ccw_with_dtype(pattern, ...)                                                                             \
  CCW_TENTH_(pattern, __VA_ARGS__, CCW_DTYPES_, CCW_DTYPES_, CCW_DTYPES_, CCW_DTYPES_, CCW_DTYPES_, CCW_DTYPES_, \
      CCW_DTYPES_, CCW_DTYPE_, 0, 0)                                                                             \
  (pattern, __VA_ARGS__)
#define CCW_DTYPE_(pattern, dtype) ccw_pattern_dtype_((pattern), CCW_NUMBER_##dtype)
#define CCW_DTYPES_(pattern, ...) ccw_pattern_dtypes_((pattern), CCW_FOLD_(CCW_OR_DTYPE_, UINT64_C(0), __VA_ARGS__))

/* One rank, or several alternatives: ccw_with_rank(p, 1, 2). Dims said before remain. */
#define ccw_with_rank(pattern, ...)                                                                                    \
  CCW_TENTH_(pattern, __VA_ARGS__, CCW_RANKS_, CCW_RANKS_, CCW_RANKS_, CCW_RANKS_, CCW_RANKS_, CCW_RANKS_, CCW_RANKS_, \
      CCW_RANK_, 0, 0)                                                                                                 \
  (pattern, __VA_ARGS__)
#define CCW_RANK_(pattern, rank) ccw_pattern_rank_((pattern), CCW_RANK_##rank)
#define CCW_RANKS_(pattern, ...) ccw_pattern_ranks_((pattern), CCW_FOLD_(CCW_OR_RANK_, UINT64_C(0), __VA_ARGS__))

/* A dtype, or a dtype and a rank: ccw_of(f32), ccw_of(f32, 2). */
#define ccw_of(...) CCW_TENTH_(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0, CCW_OF_2_, CCW_OF_1_, 0)(__VA_ARGS__)
#define CCW_OF_1_(dtype) ccw_with_dtype(ccw_any(), dtype)
#define CCW_OF_2_(dtype, rank) ccw_with_rank(ccw_with_dtype(ccw_any(), dtype), rank)

/* The complete shape, each dim as said above; it fixes the rank. */
#define ccw_with_dims(...)                                                                                    \
  CCW_TENTH_(__VA_ARGS__, CCW_SHAPE_, CCW_SHAPE_, CCW_SHAPE_, CCW_SHAPE_, CCW_SHAPE_, CCW_SHAPE_, CCW_SHAPE_, \
      CCW_SHAPE_, ccw_pattern_no_dims_, 0)                                                                    \
  (__VA_ARGS__)
#define CCW_SHAPE_(pattern, ...) CCW_FOLD_(CCW_THEN_, ccw_pattern_no_dims_(pattern), __VA_ARGS__)
#define ccw_dims(...) CCW_SHAPE_(ccw_any(), __VA_ARGS__)

/* One dim alone, counted from 0: the rank must be above it. */
#define ccw_with_dim(pattern, place, d) ccw_pattern_dim_((pattern), (place), CCW_DIM_(d))

/* The shape of that argument or result, whatever the dtype; and the shape and dtype. */
#define ccw_with_shape_of(pattern, x) ccw_pattern_shape_of_((pattern), (x).buffer)
#define ccw_with_like(pattern, x) ccw_pattern_like_((pattern), (x).buffer)
#define ccw_shape_of(x) ccw_with_shape_of(ccw_any(), x)
#define ccw_like(x) ccw_with_like(ccw_any(), x)

/* Success where the argument or result matches, else INVALID_ARGUMENT with its name, what was expected and what came. The
 * pattern is evaluated a second time for the message. */
#define ccw_verify(name, x, pattern) \
  ccw_used_(CCW_LIKELY(ccw_matches_((x).buffer, (pattern))) ? ccw_ok() : ccw_mismatch_((name), (x).buffer, (pattern)))

/* The same, and *out_x becomes the argument as one of that dtype. Where x is of any type the pattern must give this dtype and
 * one rank itself (INTERNAL otherwise: copied ones do not count); where x has its type already only the rest is checked:
 *   CCW_TRY_LET(ccw_arg_f32, w, ccw_match_arg, f32, "w", x, ccw_of(f32, 2)); */
#define ccw_match_arg(dtype, name, x, pattern, out_x) \
  ccw_match_arg_##dtype##_((name), (x).buffer, CCW_IS_TYPE_(x, ccw_arg_##dtype), (pattern), (out_x))
#define ccw_match_ret(dtype, name, x, pattern, out_x) \
  ccw_match_ret_##dtype##_((name), (x).buffer, CCW_IS_TYPE_(x, ccw_ret_##dtype), (pattern), (out_x))

#endif

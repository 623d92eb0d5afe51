/* decode.h: what a handler finds in a call frame, as C sees it: buffers, attributes, dictionaries.
 *
 * A handler with its binding at its head (handler.h) gets these values as parameters. What is bound late, the remaining
 * operands and the attributes of a dictionary, is asked for here, and each answer is a value or a status.
 *
 * Everything is a view of the frame and lives as long as the call does.
 */
#ifndef CCW_DECODE_H
#define CCW_DECODE_H

#include "report.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- element types -------------------------------------------------------------------------------------------------- */

/* The number of a dtype by its name, CCW_NUMBER_f32; `any` is 0. */
enum {
  CCW_NUMBER_any = 0,
#define CCW_NUMBER(NAME, name, number, bits, class) CCW_NUMBER_##name = number,
  CCW_DTYPES(CCW_NUMBER)
#undef CCW_NUMBER
};

typedef struct ccw_c64 {
  float re, im;
} ccw_c64;

typedef struct ccw_c128 {
  double re, im;
} ccw_c128;

/* What the elements of each dtype are in memory. A pred is 0 or 1. Where C has no type there is the pattern of bits and,
 * where several elements share a byte, the byte. */
typedef void ccw_element_any, ccw_element_token;
typedef int8_t ccw_element_s8;
typedef int16_t ccw_element_s16;
typedef int32_t ccw_element_s32;
typedef int64_t ccw_element_s64;
typedef uint16_t ccw_element_u16, ccw_element_f16, ccw_element_bf16;
typedef uint32_t ccw_element_u32;
typedef uint64_t ccw_element_u64;
typedef float ccw_element_f32;
typedef double ccw_element_f64;
typedef ccw_c64 ccw_element_c64;
typedef ccw_c128 ccw_element_c128;
typedef uint8_t ccw_element_pred, ccw_element_u8, ccw_element_s1, ccw_element_s2, ccw_element_s4, ccw_element_u1,
    ccw_element_u2, ccw_element_u4, ccw_element_f8e5m2, ccw_element_f8e4m3, ccw_element_f8e4m3fn,
    ccw_element_f8e4m3b11fnuz, ccw_element_f8e5m2fnuz, ccw_element_f8e4m3fnuz, ccw_element_f8e3m4, ccw_element_f4e2m1fn,
    ccw_element_f8e8m0fnu;

/* Bits of an element in memory; 0 for a token, and for a number that is no dtype. */
CCW_INLINE int64_t ccw_bits_(XLA_FFI_DataType dtype)
{
  switch ((int)dtype) {
#define CCW_BITS(NAME, name, number, bits, class) \
  case number: return bits;
    CCW_DTYPES(CCW_BITS)
#undef CCW_BITS
  default: return 0;
  }
}

/* ---- buffers -------------------------------------------------------------------------------------------------------- */

CCW_INLINE int64_t ccw_elements_(const XLA_FFI_Buffer *buffer)
{
  uint64_t count = 1;
  for (int64_t i = 0; i < buffer->rank; ++i) count *= (uint64_t)buffer->dims[i];
  return (int64_t)count;
}

/* Of an argument or result, whatever its type: its dtype, how many elements it has, and how many bytes of memory, where
 * packed elements share theirs. */
#define ccw_dtype_of(x) ((x).buffer->dtype)
#define ccw_elements(x) ccw_elements_((x).buffer)
#define ccw_bytes(x) ((int64_t)(((uint64_t)ccw_elements(x) * (uint64_t)ccw_bits_(ccw_dtype_of(x)) + 7) / 8))

/* Whether an optional argument or result was given. */
#define ccw_given(x) ((x).buffer != NULL)

/* Ranks as handlers write them: a number, or any. */
/* clang-format off */
enum {
  CCW_RANK_any = -1,
  CCW_RANK_0, CCW_RANK_1, CCW_RANK_2, CCW_RANK_3, CCW_RANK_4, CCW_RANK_5, CCW_RANK_6, CCW_RANK_7, CCW_RANK_8,
  CCW_RANK_9, CCW_RANK_10, CCW_RANK_11, CCW_RANK_12, CCW_RANK_13, CCW_RANK_14, CCW_RANK_15, CCW_RANK_16, CCW_RANK_17,
  CCW_RANK_18, CCW_RANK_19, CCW_RANK_20, CCW_RANK_21, CCW_RANK_22, CCW_RANK_23, CCW_RANK_24, CCW_RANK_25,
  CCW_RANK_26, CCW_RANK_27, CCW_RANK_28, CCW_RANK_29, CCW_RANK_30, CCW_RANK_31, CCW_RANK_32,
};
/* clang-format on */

/* A vector of two: rank and dims of a buffer in one load. */
typedef int64_t ccw_pair_ __attribute__((vector_size(16)));

/* Takes a buffer of that dtype (0: any) and rank (-1: any). Where only the soundness of rank and dims is left to check, it
 * is done for all buffers at once at the end: a negative number in `marks` tells of a rank below zero or of dims that are
 * NULL, which for rank 0 are as good as others. */
CCW_INLINE bool ccw_take_buffer_(const XLA_FFI_Buffer *buffer, int dtype, int64_t rank, ccw_pair_ *marks)
{
  if (!CCW_LIKELY(buffer)) return false;
  if (dtype != CCW_NUMBER_any && !CCW_LIKELY(ccw_number_at_(&buffer->dtype) == dtype)) return false;
  if (rank >= 0) return CCW_LIKELY(buffer->rank == rank) && (rank == 0 || CCW_LIKELY(buffer->dims != NULL));
  const ccw_pair_ less = {0, -1};
  ccw_pair_ pair;
  memcpy(&pair, &buffer->rank, sizeof pair);
  *marks |= pair + less;
  return true;
}

/* The same for a buffer that stands alone. */
CCW_INLINE bool ccw_fits_(const XLA_FFI_Buffer *buffer, int dtype, int64_t rank)
{
  return ccw_is_sound_(buffer) && (dtype == CCW_NUMBER_any || ccw_number_at_(&buffer->dtype) == dtype) &&
         (rank < 0 || buffer->rank == rank);
}

/* ---- remaining arguments and results -------------------------------------------------------------------------------- */

/* What follows the bound arguments, or results: `size` of them, counted from 0. */
typedef struct ccw_remaining_args {
  const XLA_FFI_CallFrame *frame;
  int64_t first, size;
} ccw_remaining_args;

typedef struct ccw_remaining_rets {
  const XLA_FFI_CallFrame *frame;
  int64_t first, size;
} ccw_remaining_rets;

/* What is wrong with operand `i` of the remaining ones. */
CCW_COLD ccw_status ccw_bad_remaining_(const char *family, int64_t first, int64_t i, int64_t size, int type,
    const XLA_FFI_Buffer *buffer, int dtype, int64_t rank)
{
  if (i < 0 || i >= size)
    return ccw_invalid("%s %lld: there are %lld, %lld of them remaining ones", family, (long long)(first + i),
        (long long)(first + size), (long long)size);
  char text[512];
  ccw_kind kind = {CCW_FORM_UNKNOWN, dtype, NULL};
  ccw_report report = {text, sizeof text, 0, 0, XLA_FFI_Error_Code_OK};
  ccw_report_operand_(&report, family, first + i, "", kind, rank, type, buffer);
  return ccw_invalid("%s", text + strspn(text, "\n "));
}

#define CCW_REMAINING_(family, FAMILY, Family)                                                                     \
  CCW_INLINE const XLA_FFI_Buffer *ccw_##family##_at_(                                                             \
      ccw_remaining_##family##s rest, int64_t i, int dtype, int64_t rank, ccw_status *status)                      \
  {                                                                                                                \
    const XLA_FFI_##Family##s *all = &rest.frame->family##s;                                                       \
    bool is_inside = i >= 0 && i < rest.size;                                                                      \
    int type = is_inside ? ccw_number_at_(&all->types[rest.first + i]) : 0;                                        \
    const XLA_FFI_Buffer *buffer = is_inside ? (const XLA_FFI_Buffer *)all->family##s[rest.first + i] : NULL;      \
    bool fits = CCW_LIKELY(type == XLA_FFI_##Family##Type_BUFFER && ccw_fits_(buffer, dtype, rank));               \
    *status = fits ? ccw_ok()                                                                                      \
                   : ccw_surely_(ccw_bad_remaining_(FAMILY, rest.first, i, rest.size, type, buffer, dtype, rank)); \
    return fits ? buffer : NULL;                                                                                   \
  }
CCW_REMAINING_(arg, "arg", Arg)
CCW_REMAINING_(ret, "result", Ret)
#undef CCW_REMAINING_

/* ---- arguments and results ------------------------------------------------------------------------------------------ */

/* An argument and a result of each dtype: ccw_arg_f32, ccw_ret_f32. Arguments are read, results are written, whole. */
#define CCW_BUFFER_TYPES(NAME, name, number, bits, class)                                \
  typedef struct ccw_arg_##name {                                                        \
    const ccw_element_##name *data;                                                      \
    const int64_t *dims;                                                                 \
    int64_t rank;                                                                        \
    const XLA_FFI_Buffer *buffer;                                                        \
  } ccw_arg_##name;                                                                      \
  typedef struct ccw_ret_##name {                                                        \
    ccw_element_##name *data;                                                            \
    const int64_t *dims;                                                                 \
    int64_t rank;                                                                        \
    const XLA_FFI_Buffer *buffer;                                                        \
  } ccw_ret_##name;                                                                      \
  CCW_INLINE ccw_arg_##name ccw_arg_of_##name##_(const XLA_FFI_Buffer *buffer)           \
  {                                                                                      \
    ccw_arg_##name x = {NULL, NULL, 0, NULL};                                            \
    if (!buffer) return x;                                                               \
    x.data = (const ccw_element_##name *)buffer->data;                                   \
    x.dims = buffer->dims;                                                               \
    x.rank = buffer->rank;                                                               \
    x.buffer = buffer;                                                                   \
    return x;                                                                            \
  }                                                                                      \
  CCW_INLINE ccw_ret_##name ccw_ret_of_##name##_(const XLA_FFI_Buffer *buffer)           \
  {                                                                                      \
    ccw_ret_##name x = {NULL, NULL, 0, NULL};                                            \
    if (!buffer) return x;                                                               \
    x.data = (ccw_element_##name *)buffer->data;                                         \
    x.dims = buffer->dims;                                                               \
    x.rank = buffer->rank;                                                               \
    x.buffer = buffer;                                                                   \
    return x;                                                                            \
  }                                                                                      \
  CCW_MUST_USE CCW_INLINE ccw_status ccw_arg_at_##name##_(                               \
      ccw_remaining_args rest, int64_t i, int64_t rank, ccw_arg_##name *out)             \
  {                                                                                      \
    ccw_status status;                                                                   \
    *out = ccw_arg_of_##name##_(ccw_arg_at_(rest, i, CCW_NUMBER_##name, rank, &status)); \
    return status;                                                                       \
  }                                                                                      \
  CCW_MUST_USE CCW_INLINE ccw_status ccw_ret_at_##name##_(                               \
      ccw_remaining_rets rest, int64_t i, int64_t rank, ccw_ret_##name *out)             \
  {                                                                                      \
    ccw_status status;                                                                   \
    *out = ccw_ret_of_##name##_(ccw_ret_at_(rest, i, CCW_NUMBER_##name, rank, &status)); \
    return status;                                                                       \
  }
CCW_BUFFER_TYPES(ANY, any, 0, 0, NONE)
CCW_DTYPES(CCW_BUFFER_TYPES)
#undef CCW_BUFFER_TYPES

/* Remaining argument or result `i`, of that dtype and rank (both may be any), or INVALID_ARGUMENT:
 *   CCW_TRY_LET(ccw_arg_f32, x, ccw_arg_at, rest, i, f32, 1); */
#define ccw_arg_at(rest, i, dtype, rank, out_x) ccw_arg_at_##dtype##_((rest), (i), CCW_RANK_##rank, (out_x))
#define ccw_ret_at(rest, i, dtype, rank, out_x) ccw_ret_at_##dtype##_((rest), (i), CCW_RANK_##rank, (out_x))

/* ---- attributes ----------------------------------------------------------------------------------------------------- */

/* Any bytes; a NUL need not follow. */
typedef struct ccw_string {
  const char *data;
  int64_t size;
} ccw_string;

#define CCW_ARRAY_TYPE_(name)       \
  typedef struct ccw_array_##name { \
    const ccw_element_##name *data; \
    int64_t size;                   \
  } ccw_array_##name;
CCW_ARRAY_TYPE_(s8)
CCW_ARRAY_TYPE_(s16)
CCW_ARRAY_TYPE_(s32)
CCW_ARRAY_TYPE_(s64)
CCW_ARRAY_TYPE_(u8)
CCW_ARRAY_TYPE_(u16)
CCW_ARRAY_TYPE_(u32)
CCW_ARRAY_TYPE_(u64)
CCW_ARRAY_TYPE_(f32)
CCW_ARRAY_TYPE_(f64)
#undef CCW_ARRAY_TYPE_

/* A dictionary, to be read by name: ccw_attr. */
typedef struct ccw_dictionary {
  const XLA_FFI_Attrs *attrs;
} ccw_dictionary;

/* What attributes of each dtype are as C values. */
typedef bool ccw_scalar_pred;
typedef int8_t ccw_scalar_s8;
typedef int16_t ccw_scalar_s16;
typedef int32_t ccw_scalar_s32;
typedef int64_t ccw_scalar_s64;
typedef uint8_t ccw_scalar_u8;
typedef uint16_t ccw_scalar_u16;
typedef uint32_t ccw_scalar_u32;
typedef uint64_t ccw_scalar_u64;
typedef float ccw_scalar_f32;
typedef double ccw_scalar_f64;
typedef ccw_c64 ccw_scalar_c64;
typedef ccw_c128 ccw_scalar_c128;

/* The value of a scalar of that dtype; NULL where the attribute is another. */
CCW_INLINE const void *ccw_take_value_(ccw_attribute attribute, int dtype)
{
  const XLA_FFI_Scalar *scalar = (const XLA_FFI_Scalar *)attribute.value;
  if (!CCW_LIKELY(attribute.type == XLA_FFI_AttrType_SCALAR && scalar && ccw_number_at_(&scalar->dtype) == dtype))
    return NULL;
  return scalar->value;
}

#define CCW_TAKE_SCALAR_(name)                                                               \
  CCW_INLINE bool ccw_take_scalar_##name##_(ccw_attribute attribute, ccw_scalar_##name *out) \
  {                                                                                          \
    const void *value = ccw_take_value_(attribute, CCW_NUMBER_##name);                       \
    if (!CCW_LIKELY(value)) return false;                                                    \
    memcpy(out, value, sizeof *out);                                                         \
    return true;                                                                             \
  }
CCW_TAKE_SCALAR_(s8)
CCW_TAKE_SCALAR_(s16)
CCW_TAKE_SCALAR_(s32)
CCW_TAKE_SCALAR_(s64)
CCW_TAKE_SCALAR_(u8)
CCW_TAKE_SCALAR_(u16)
CCW_TAKE_SCALAR_(u32)
CCW_TAKE_SCALAR_(u64)
CCW_TAKE_SCALAR_(f32)
CCW_TAKE_SCALAR_(f64)
CCW_TAKE_SCALAR_(c64)
CCW_TAKE_SCALAR_(c128)
#undef CCW_TAKE_SCALAR_

/* Every byte but 0 is true. */
CCW_INLINE bool ccw_take_scalar_pred_(ccw_attribute attribute, bool *out)
{
  const uint8_t *value = (const uint8_t *)ccw_take_value_(attribute, CCW_NUMBER_pred);
  if (!CCW_LIKELY(value)) return false;
  *out = *value != 0;
  return true;
}

CCW_INLINE bool ccw_take_pointer_(ccw_attribute attribute, void **out)
{
  int64_t value;
  if (!ccw_take_scalar_s64_(attribute, &value)) return false;
  *out = (void *)(uintptr_t)value;
  return true;
}

CCW_INLINE bool ccw_take_string_(ccw_attribute attribute, ccw_string *out)
{
  const XLA_FFI_ByteSpan *string = (const XLA_FFI_ByteSpan *)attribute.value;
  if (!CCW_LIKELY(attribute.type == XLA_FFI_AttrType_STRING && string && (string->ptr || string->len == 0) &&
                  string->len <= INT64_MAX))
    return false;
  out->data = string->ptr;
  out->size = (int64_t)string->len;
  return true;
}

CCW_INLINE const XLA_FFI_Array *ccw_take_array_(ccw_attribute attribute, int dtype)
{
  const XLA_FFI_Array *array = (const XLA_FFI_Array *)attribute.value;
  bool fits = attribute.type == XLA_FFI_AttrType_ARRAY && array && ccw_number_at_(&array->dtype) == dtype &&
              (array->data || array->size == 0) && array->size <= INT64_MAX / 16;
  return CCW_LIKELY(fits) ? array : NULL;
}

#define CCW_TAKE_ARRAY_(name)                                                              \
  CCW_INLINE bool ccw_take_array_##name##_(ccw_attribute attribute, ccw_array_##name *out) \
  {                                                                                        \
    const XLA_FFI_Array *array = ccw_take_array_(attribute, CCW_NUMBER_##name);            \
    if (!array) return false;                                                              \
    out->data = (const ccw_element_##name *)array->data;                                   \
    out->size = (int64_t)array->size;                                                      \
    return true;                                                                           \
  }
CCW_TAKE_ARRAY_(s8)
CCW_TAKE_ARRAY_(s16)
CCW_TAKE_ARRAY_(s32)
CCW_TAKE_ARRAY_(s64)
CCW_TAKE_ARRAY_(u8)
CCW_TAKE_ARRAY_(u16)
CCW_TAKE_ARRAY_(u32)
CCW_TAKE_ARRAY_(u64)
CCW_TAKE_ARRAY_(f32)
CCW_TAKE_ARRAY_(f64)
#undef CCW_TAKE_ARRAY_

CCW_INLINE bool ccw_take_dictionary_(ccw_attribute attribute, ccw_dictionary *out)
{
  out->attrs = (const XLA_FFI_Attrs *)attribute.value;
  return CCW_LIKELY(attribute.type == XLA_FFI_AttrType_DICTIONARY && ccw_is_readable_(out->attrs));
}

/* ---- names ---------------------------------------------------------------------------------------------------------- */

#define CCW_DIFFERS_(type)                                    \
  {                                                           \
    type x, y;                                                \
    memcpy(&x, a + i, sizeof x), memcpy(&y, b + i, sizeof y); \
    differs |= (uint64_t)(x ^ y);                             \
    i += sizeof x;                                            \
  }

/* Whether the bytes are equal. The length is a constant here, and then this is one test. */
CCW_INLINE bool ccw_same_bytes_(const char *a, const char *b, size_t length)
{
  if (length > 15) return memcmp(a, b, length) == 0;
  uint64_t differs = 0;
  size_t i = 0;
  if (length & 8) CCW_DIFFERS_(uint64_t)
  if (length & 4) CCW_DIFFERS_(uint32_t)
  if (length & 2) CCW_DIFFERS_(uint16_t)
  if (length & 1) CCW_DIFFERS_(uint8_t)
  return CCW_LIKELY(differs == 0);
}
#undef CCW_DIFFERS_

/* The attribute at that place, if it has that name: its value is NULL else. */
CCW_INLINE ccw_attribute ccw_attribute_at_(const XLA_FFI_Attrs *attrs, int64_t place, const char *name)
{
  ccw_attribute attribute = {0, NULL};
  const XLA_FFI_ByteSpan *found = attrs->names[place];
  size_t length = __builtin_strlen(name);
  if (!CCW_LIKELY(found && found->len == length && (found->ptr || length == 0))) return attribute;
  if (!ccw_same_bytes_(found->ptr, name, length)) return attribute;
  attribute.type = ccw_number_at_(&attrs->types[place]);
  attribute.value = attrs->attrs[place];
  return attribute;
}

/* The place of a name among `count` that will be sorted: how many come before it. A constant, where the names are. */
CCW_INLINE int64_t ccw_place_of_(const char *const *names, int64_t count, const char *name)
{
  int64_t place = 0;
#define CCW_BEFORE_(i) place += count > i && __builtin_strcmp(names[count > i ? i : 0], name) < 0
  /* clang-format off */
  CCW_BEFORE_(0), CCW_BEFORE_(1), CCW_BEFORE_(2), CCW_BEFORE_(3), CCW_BEFORE_(4), CCW_BEFORE_(5), CCW_BEFORE_(6), CCW_BEFORE_(7),
  CCW_BEFORE_(8), CCW_BEFORE_(9), CCW_BEFORE_(10), CCW_BEFORE_(11), CCW_BEFORE_(12), CCW_BEFORE_(13), CCW_BEFORE_(14),
  CCW_BEFORE_(15), CCW_BEFORE_(16), CCW_BEFORE_(17), CCW_BEFORE_(18), CCW_BEFORE_(19), CCW_BEFORE_(20), CCW_BEFORE_(21),
  CCW_BEFORE_(22), CCW_BEFORE_(23), CCW_BEFORE_(24), CCW_BEFORE_(25), CCW_BEFORE_(26), CCW_BEFORE_(27), CCW_BEFORE_(28),
  CCW_BEFORE_(29), CCW_BEFORE_(30), CCW_BEFORE_(31);
  /* clang-format on */
#undef CCW_BEFORE_
  return place;
}

/* ---- dictionaries --------------------------------------------------------------------------------------------------- */

/* The attribute of that name, found by halves, since names are sorted; its value is NULL where there is none. */
static inline ccw_attribute ccw_find_(ccw_dictionary dictionary, const char *name, size_t length)
{
  ccw_attribute attribute = {0, NULL};
  const XLA_FFI_Attrs *attrs = dictionary.attrs;
  int64_t low = 0, high = attrs->size;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    const XLA_FFI_ByteSpan *found = attrs->names[middle];
    if (!found || (!found->ptr && found->len > 0)) break;
    size_t shorter = found->len < length ? found->len : length;
    int order = shorter ? memcmp(found->ptr, name, shorter) : 0;
    if (order == 0) order = found->len < length ? -1 : found->len > length;
    if (order == 0) {
      attribute.type = ccw_number_at_(&attrs->types[middle]);
      attribute.value = attrs->attrs[middle];
      break;
    }
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return attribute;
}

CCW_INLINE ccw_kind ccw_kind_(ccw_form form, int dtype, const void *detail)
{
  ccw_kind kind = {form, dtype, detail};
  return kind;
}

/* What is wrong with one attribute of a dictionary. */
CCW_COLD ccw_status ccw_bad_attribute_(ccw_dictionary dictionary, const char *name, ccw_kind kind)
{
  char text[1024];
  ccw_report report = {text, sizeof text, 0, 0, XLA_FFI_Error_Code_INVALID_ARGUMENT};
  ccw_member member = {name, kind};
  if (!dictionary.attrs || ccw_report_readable_(&report, dictionary.attrs, NULL)) {
    int64_t place = dictionary.attrs ? ccw_seek_(dictionary.attrs, name) : -1;
    if (place >= 0) {
      ccw_attribute attribute = {ccw_number_at_(&dictionary.attrs->types[place]), dictionary.attrs->attrs[place]};
      ccw_report_attribute_(&report, member, attribute, NULL, NULL);
    } else if (dictionary.attrs) {
      ccw_report_missing_(&report, member, dictionary.attrs, NULL, -1);
    }
    if (report.problems == 0 && place >= 0) ccw_report_order_(&report, dictionary.attrs);
  }
  if (report.problems == 0) return ccw_invalid("attribute '%s': the dictionary cannot be read", name);
  return ccw_status_make(report.code, "%s", text + strspn(text, "\n "));
}

/* What is wrong with an attribute that is looked at by itself. */
CCW_COLD ccw_status ccw_bad_value_(ccw_attribute attribute, ccw_kind kind)
{
  char text[1024];
  ccw_report report = {text, sizeof text, 0, 0, XLA_FFI_Error_Code_INVALID_ARGUMENT};
  ccw_member member = {"", kind};
  ccw_report_attribute_(&report, member, attribute, NULL, NULL);
  const char *line = report.problems ? text + strspn(text, "\n ") : "expected another value";
  const char *nameless = "attribute '': ";
  return ccw_status_make(report.code, "%s", line + (strncmp(line, nameless, strlen(nameless)) ? 0 : strlen(nameless)));
}

/* Whether a dictionary holds an attribute of that name. */
#define ccw_has_attr(dictionary, name) (ccw_find_((dictionary), (name), __builtin_strlen(name)).value != NULL)

/* How many attributes a dictionary holds, and the name of number `i` of them, in their order. */
#define ccw_attr_count(dictionary) ((dictionary).attrs->size)
CCW_INLINE ccw_string ccw_attr_name(ccw_dictionary dictionary, int64_t i)
{
  const XLA_FFI_ByteSpan *name = i >= 0 && i < dictionary.attrs->size ? dictionary.attrs->names[i] : NULL;
  bool is_sound = name && name->ptr && name->len <= INT64_MAX;
  ccw_string string = {is_sound ? name->ptr : NULL, is_sound ? (int64_t)name->len : 0};
  return string;
}

#ifdef __cplusplus
}
#endif

#endif

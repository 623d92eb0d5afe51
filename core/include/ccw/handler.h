/* handler.h: write a custom call in C, or in C++ as C would.
 *
 *   #include <ccw/handler.h>
 *
 *   CCW_HANDLER(scale, ARG(f32, any, x), RET(f32, any, y), ATTR(f32, s))
 *   {
 *     CCW_TRY(ccw_verify("y", y, ccw_like(x)));
 *     for (int64_t i = 0; i < ccw_elements(x); ++i) y.data[i] = s * x.data[i];
 *     return ccw_ok();
 *   }
 *
 * makes `scale`, an XLA_FFI_Handler that loads into XLA and into ccw. It checks its frame, reports everything in it that
 * does not fit, and calls the body with what it found. The words of a binding:
 *
 *   ARG(dtype, rank, x)            an argument, ccw_arg_DTYPE; either may be `any`           RET: a result, ccw_ret_DTYPE
 *   OPTIONAL_ARG(dtype, rank, x)   may be left out: ccw_given(x)                             OPTIONAL_RET
 *   REMAINING_ARGS(rest)           what follows: ccw_arg_at(rest, i, dtype, rank, &x)        REMAINING_RETS: ccw_ret_at
 *   ARG_AS(T, x)                   a type of yours, CCW_BUFFER_TYPE(T, f)                    RET_AS
 *   ATTR(kind, s)                  an attribute; ATTR(kind, s, "name") where C has no such name
 *   ATTRS(dictionary, d)           all of them, read late: ccw_attr(d, "name", kind, &x)
 *   ATTRS(struct(T), s)            all of them, CCW_STRUCT(T, ...)
 *   CTX(what, c)                   stream, stream_as(T), scratch, threads, run_id, device_ordinal, state(T), prepared(T),
 *                                  initialized(T), user_data(T), extension(T), custom_options, frame, type(T); context.h
 *                                  says what can be done with them: ccw_scratch_take, ccw_threads_for, ccw_future_create
 *   NEW_STATE(T, p)                T **p: the state that this stage makes, CCW_STATE(T, deleter). That of prepare and initialize
 *                                  is for GPUs: XLA on the CPU ends the process when it is asked for it
 *   TRAIT(command_buffer_compatible)
 *
 * Kinds of attributes: pred s8 s16 s32 s64 u8 u16 u32 u64 f32 f64 c64 c128 string dictionary array(dtype) enum(T)
 * struct(T) pointer(T) type(T).
 *
 * CCW_STAGE_HANDLER(stage, name, ...) is for the other stages: instantiate, prepare, initialize, record.
 *
 * The handler claims the lowest version of the FFI that has what it binds, so that it loads wherever it can run. Beside it
 * stands ccw_signature_NAME, its signature as text. On success no memory is taken. In C++ an exception out of the body
 * becomes UNKNOWN with its text. The body becomes part of the handler: what compilers do not inline, code with setjmp, has its
 * place in a function of its own. gcc and clang, 64-bit machines.
 */
#ifndef CCW_HANDLER_H
#define CCW_HANDLER_H

#include "pattern.h"

#if defined(__cplusplus) && defined(__cpp_exceptions)
#include <exception>
#define CCW_GUARD_ try {
#define CCW_GUARDED_(status)                                                                          \
  }                                                                                                   \
  catch (const std::exception &ccw_exception_) { status = ccw_unknown("%s", ccw_exception_.what()); } \
  catch (...) { status = ccw_unknown("a C++ exception of unknown type"); }
#else
#define CCW_GUARD_ {
#define CCW_GUARDED_(status) }
#endif
#ifdef __cplusplus
#define CCW_REFUSE_(frame, binding)              \
  ccw_status ccw_thrown_ = ccw_ok();             \
  CCW_GUARD_ return ccw_refuse_(frame, binding); \
  CCW_GUARDED_(ccw_thrown_)                      \
  return ccw_leave_(frame, binding, ccw_thrown_);
#else
#define CCW_REFUSE_(frame, binding) return ccw_refuse_(frame, binding);
#endif

#ifdef __cplusplus
#define CCW_ASSERT_ static_assert
#else
#define CCW_ASSERT_ _Static_assert
#endif

/* ---- macros over words ---------------------------------------------------------------------------------------------- */

/* CCW_EACH_(op, name, word...) is op(name, 2, 3, word) op(name, 1, 2, word): each word has a number, the last one 1, and the
 * number of the word before it. Up to 32 words. */
#define CCW_EACH_(op, ...)                                                                                            \
  CCW_PICK_(__VA_ARGS__, CCW_EACH_33_, CCW_EACH_32_, CCW_EACH_31_, CCW_EACH_30_, CCW_EACH_29_, CCW_EACH_28_,          \
      CCW_EACH_27_, CCW_EACH_26_, CCW_EACH_25_, CCW_EACH_24_, CCW_EACH_23_, CCW_EACH_22_, CCW_EACH_21_, CCW_EACH_20_, \
      CCW_EACH_19_, CCW_EACH_18_, CCW_EACH_17_, CCW_EACH_16_, CCW_EACH_15_, CCW_EACH_14_, CCW_EACH_13_, CCW_EACH_12_, \
      CCW_EACH_11_, CCW_EACH_10_, CCW_EACH_9_, CCW_EACH_8_, CCW_EACH_7_, CCW_EACH_6_, CCW_EACH_5_, CCW_EACH_4_,       \
      CCW_EACH_3_, CCW_EACH_2_, CCW_EACH_1_, 0)                                                                       \
  (op, __VA_ARGS__)
#define CCW_PICK_(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, \
    a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, ...)                                                  \
  a33
#define CCW_EACH_1_(op, h)
#define CCW_EACH_2_(op, h, p) op(h, 1, 2, p)
#define CCW_EACH_3_(op, h, p, ...) op(h, 2, 3, p) CCW_EACH_2_(op, h, __VA_ARGS__)
#define CCW_EACH_4_(op, h, p, ...) op(h, 3, 4, p) CCW_EACH_3_(op, h, __VA_ARGS__)
#define CCW_EACH_5_(op, h, p, ...) op(h, 4, 5, p) CCW_EACH_4_(op, h, __VA_ARGS__)
#define CCW_EACH_6_(op, h, p, ...) op(h, 5, 6, p) CCW_EACH_5_(op, h, __VA_ARGS__)
#define CCW_EACH_7_(op, h, p, ...) op(h, 6, 7, p) CCW_EACH_6_(op, h, __VA_ARGS__)
#define CCW_EACH_8_(op, h, p, ...) op(h, 7, 8, p) CCW_EACH_7_(op, h, __VA_ARGS__)
#define CCW_EACH_9_(op, h, p, ...) op(h, 8, 9, p) CCW_EACH_8_(op, h, __VA_ARGS__)
#define CCW_EACH_10_(op, h, p, ...) op(h, 9, 10, p) CCW_EACH_9_(op, h, __VA_ARGS__)
#define CCW_EACH_11_(op, h, p, ...) op(h, 10, 11, p) CCW_EACH_10_(op, h, __VA_ARGS__)
#define CCW_EACH_12_(op, h, p, ...) op(h, 11, 12, p) CCW_EACH_11_(op, h, __VA_ARGS__)
#define CCW_EACH_13_(op, h, p, ...) op(h, 12, 13, p) CCW_EACH_12_(op, h, __VA_ARGS__)
#define CCW_EACH_14_(op, h, p, ...) op(h, 13, 14, p) CCW_EACH_13_(op, h, __VA_ARGS__)
#define CCW_EACH_15_(op, h, p, ...) op(h, 14, 15, p) CCW_EACH_14_(op, h, __VA_ARGS__)
#define CCW_EACH_16_(op, h, p, ...) op(h, 15, 16, p) CCW_EACH_15_(op, h, __VA_ARGS__)
#define CCW_EACH_17_(op, h, p, ...) op(h, 16, 17, p) CCW_EACH_16_(op, h, __VA_ARGS__)
#define CCW_EACH_18_(op, h, p, ...) op(h, 17, 18, p) CCW_EACH_17_(op, h, __VA_ARGS__)
#define CCW_EACH_19_(op, h, p, ...) op(h, 18, 19, p) CCW_EACH_18_(op, h, __VA_ARGS__)
#define CCW_EACH_20_(op, h, p, ...) op(h, 19, 20, p) CCW_EACH_19_(op, h, __VA_ARGS__)
#define CCW_EACH_21_(op, h, p, ...) op(h, 20, 21, p) CCW_EACH_20_(op, h, __VA_ARGS__)
#define CCW_EACH_22_(op, h, p, ...) op(h, 21, 22, p) CCW_EACH_21_(op, h, __VA_ARGS__)
#define CCW_EACH_23_(op, h, p, ...) op(h, 22, 23, p) CCW_EACH_22_(op, h, __VA_ARGS__)
#define CCW_EACH_24_(op, h, p, ...) op(h, 23, 24, p) CCW_EACH_23_(op, h, __VA_ARGS__)
#define CCW_EACH_25_(op, h, p, ...) op(h, 24, 25, p) CCW_EACH_24_(op, h, __VA_ARGS__)
#define CCW_EACH_26_(op, h, p, ...) op(h, 25, 26, p) CCW_EACH_25_(op, h, __VA_ARGS__)
#define CCW_EACH_27_(op, h, p, ...) op(h, 26, 27, p) CCW_EACH_26_(op, h, __VA_ARGS__)
#define CCW_EACH_28_(op, h, p, ...) op(h, 27, 28, p) CCW_EACH_27_(op, h, __VA_ARGS__)
#define CCW_EACH_29_(op, h, p, ...) op(h, 28, 29, p) CCW_EACH_28_(op, h, __VA_ARGS__)
#define CCW_EACH_30_(op, h, p, ...) op(h, 29, 30, p) CCW_EACH_29_(op, h, __VA_ARGS__)
#define CCW_EACH_31_(op, h, p, ...) op(h, 30, 31, p) CCW_EACH_30_(op, h, __VA_ARGS__)
#define CCW_EACH_32_(op, h, p, ...) op(h, 31, 32, p) CCW_EACH_31_(op, h, __VA_ARGS__)
#define CCW_EACH_33_(op, h, p, ...) op(h, 32, 33, p) CCW_EACH_32_(op, h, __VA_ARGS__)

/* The number of words with the name, and the name. */
#define CCW_COUNT_(...)                                                                                              \
  CCW_PICK_(__VA_ARGS__, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, \
      10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define CCW_NAME_(...) CCW_FIRST_(__VA_ARGS__, 0)
#define CCW_FIRST_(name, ...) name

#define CCW_PASTE_(a, b) CCW_PASTED_(a, b)
#define CCW_PASTED_(a, b) a##b

/* CCW_CALL_WORD_(op_, i, before, ARG(f32, 1, x)) is op_ARG(i, before, f32, 1, x). ATTR gets its name as a string too. */
#define CCW_CALL_WORD_(op, i, before, word) CCW_CALL_PARTS_(op, i, before, CCW_PARTS_##word)
#define CCW_CALL_PARTS_(...) CCW_CALL_APPLIED_(__VA_ARGS__)
#define CCW_CALL_APPLIED_(op, i, before, word, ...) op##word(i, before, __VA_ARGS__)
#define CCW_PARTS_ARG(dtype, rank, name) ARG, dtype, rank, name
#define CCW_PARTS_OPTIONAL_ARG(dtype, rank, name) OPTIONAL_ARG, dtype, rank, name
#define CCW_PARTS_REMAINING_ARGS(name) REMAINING_ARGS, name
#define CCW_PARTS_ARG_AS(T, name) ARG_AS, T, name
#define CCW_PARTS_RET(dtype, rank, name) RET, dtype, rank, name
#define CCW_PARTS_OPTIONAL_RET(dtype, rank, name) OPTIONAL_RET, dtype, rank, name
#define CCW_PARTS_REMAINING_RETS(name) REMAINING_RETS, name
#define CCW_PARTS_RET_AS(T, name) RET_AS, T, name
#define CCW_PARTS_ATTR(...) CCW_PICK_ATTR_(__VA_ARGS__, CCW_NAMED_ATTR_, CCW_PLAIN_ATTR_, 0)(__VA_ARGS__)
#define CCW_PICK_ATTR_(a, b, c, d, ...) d
#define CCW_PLAIN_ATTR_(kind, name) ATTR, kind, name, #name
#define CCW_NAMED_ATTR_(kind, name, text) ATTR, kind, name, text
#define CCW_PARTS_ATTRS(kind, name) ATTRS, kind, name
#define CCW_PARTS_CTX(what, name) CTX, what, name
#define CCW_PARTS_NEW_STATE(T, name) NEW_STATE, T, name
#define CCW_PARTS_TRAIT(name) TRAIT, name
#define CCW_PARTS_MEMBER(kind, name) MEMBER, kind, name, #name
#define CCW_PARTS_VALUE(name, number) VALUE, name, number

/* ---- kinds of attributes -------------------------------------------------------------------------------------------- */

/* CCW_KIND_##kind is a form and what it is of; op_FORM(of) then says something of it. */
#define CCW_KIND_pred SCALAR, pred
#define CCW_KIND_s8 SCALAR, s8
#define CCW_KIND_s16 SCALAR, s16
#define CCW_KIND_s32 SCALAR, s32
#define CCW_KIND_s64 SCALAR, s64
#define CCW_KIND_u8 SCALAR, u8
#define CCW_KIND_u16 SCALAR, u16
#define CCW_KIND_u32 SCALAR, u32
#define CCW_KIND_u64 SCALAR, u64
#define CCW_KIND_f32 SCALAR, f32
#define CCW_KIND_f64 SCALAR, f64
#define CCW_KIND_c64 SCALAR, c64
#define CCW_KIND_c128 SCALAR, c128
#define CCW_KIND_string STRING, 0
#define CCW_KIND_dictionary DICTIONARY, 0
#define CCW_KIND_array(dtype) ARRAY, dtype
#define CCW_KIND_enum(T) ENUM, T
#define CCW_KIND_struct(T) STRUCT, T
#define CCW_KIND_pointer(T) POINTER, T
#define CCW_KIND_type(T) TYPE, T

#define CCW_OF_KIND_(op, kind) CCW_OF_PARTS_(op, CCW_KIND_##kind)
#define CCW_OF_PARTS_(...) CCW_OF_APPLIED_(__VA_ARGS__)
#define CCW_OF_APPLIED_(op, form, ...) op##form(__VA_ARGS__)

/* The C type. */
#define CCW_C_TYPE_(kind) CCW_OF_KIND_(CCW_C_TYPE_OF_, kind)
#define CCW_C_TYPE_OF_SCALAR(dtype) ccw_scalar_##dtype
#define CCW_C_TYPE_OF_STRING(none) ccw_string
#define CCW_C_TYPE_OF_DICTIONARY(none) ccw_dictionary
#define CCW_C_TYPE_OF_ARRAY(dtype) ccw_array_##dtype
#define CCW_C_TYPE_OF_ENUM(T) T
#define CCW_C_TYPE_OF_STRUCT(T) T
#define CCW_C_TYPE_OF_POINTER(T) T *
#define CCW_C_TYPE_OF_TYPE(T) T

/* A function bool(ccw_attribute, C type *). */
#define CCW_TAKER_(kind) CCW_OF_KIND_(CCW_TAKER_OF_, kind)
#define CCW_TAKER_OF_SCALAR(dtype) ccw_take_scalar_##dtype##_
#define CCW_TAKER_OF_STRING(none) ccw_take_string_
#define CCW_TAKER_OF_DICTIONARY(none) ccw_take_dictionary_
#define CCW_TAKER_OF_ARRAY(dtype) ccw_take_array_##dtype##_
#define CCW_TAKER_OF_ENUM(T) ccw_own_take_##T##_
#define CCW_TAKER_OF_STRUCT(T) ccw_own_take_##T##_
#define CCW_TAKER_OF_POINTER(T) ccw_take_pointer_
#define CCW_TAKER_OF_TYPE(T) ccw_own_take_##T##_

/* Where that function writes. */
#define CCW_TARGET_(kind, out) CCW_OF_KIND_(CCW_TARGET_OF_, kind)(out)
#define CCW_TARGET_OF_SCALAR(dtype) CCW_TARGET_PLAIN_
#define CCW_TARGET_OF_STRING(none) CCW_TARGET_PLAIN_
#define CCW_TARGET_OF_DICTIONARY(none) CCW_TARGET_PLAIN_
#define CCW_TARGET_OF_ARRAY(dtype) CCW_TARGET_PLAIN_
#define CCW_TARGET_OF_ENUM(T) CCW_TARGET_PLAIN_
#define CCW_TARGET_OF_STRUCT(T) CCW_TARGET_PLAIN_
#define CCW_TARGET_OF_POINTER(T) CCW_TARGET_POINTER_
#define CCW_TARGET_OF_TYPE(T) CCW_TARGET_PLAIN_
#define CCW_TARGET_PLAIN_(out) (out)
#define CCW_TARGET_POINTER_(out) ((void **)(out))

/* A ccw_kind, between braces or as arguments. */
#define CCW_KIND_DATA_(kind) CCW_OF_KIND_(CCW_KIND_DATA_OF_, kind)
#define CCW_KIND_DATA_OF_SCALAR(dtype) CCW_FORM_SCALAR, CCW_NUMBER_##dtype, NULL
#define CCW_KIND_DATA_OF_STRING(none) CCW_FORM_STRING, 0, NULL
#define CCW_KIND_DATA_OF_DICTIONARY(none) CCW_FORM_DICTIONARY, 0, NULL
#define CCW_KIND_DATA_OF_ARRAY(dtype) CCW_FORM_ARRAY, CCW_NUMBER_##dtype, NULL
#define CCW_KIND_DATA_OF_ENUM(T) CCW_FORM_ENUM, ccw_own_dtype_##T##_, &ccw_own_info_##T##_
#define CCW_KIND_DATA_OF_STRUCT(T) CCW_FORM_STRUCT, 0, &ccw_own_info_##T##_
#define CCW_KIND_DATA_OF_POINTER(T) CCW_FORM_POINTER, CCW_NUMBER_s64, NULL
#define CCW_KIND_DATA_OF_TYPE(T) CCW_FORM_TYPE, 0, &ccw_own_info_##T##_

/* Its text in a signature. That of an enum or struct T stands in ccw_kind_T of the same library. */
#define CCW_KIND_TEXT_(kind) CCW_OF_KIND_(CCW_KIND_TEXT_OF_, kind)
#define CCW_KIND_TEXT_OF_SCALAR(dtype) #dtype
#define CCW_KIND_TEXT_OF_STRING(none) "string"
#define CCW_KIND_TEXT_OF_DICTIONARY(none) "{...}"
#define CCW_KIND_TEXT_OF_ARRAY(dtype) #dtype "[]"
#define CCW_KIND_TEXT_OF_ENUM(T) #T
#define CCW_KIND_TEXT_OF_STRUCT(T) #T
#define CCW_KIND_TEXT_OF_POINTER(T) "pointer"
#define CCW_KIND_TEXT_OF_TYPE(T) #T

/* Attribute `name` of a dictionary as that kind, or INVALID_ARGUMENT. The name is a string literal:
 *   CCW_TRY_LET(int64_t, n, ccw_attr, d, "n", s64); */
#define ccw_attr(dictionary, name, kind, out_x)                                                                       \
  ccw_used_(                                                                                                          \
      CCW_LIKELY(CCW_TAKER_(kind)(ccw_find_((dictionary), (name), __builtin_strlen(name)), CCW_TARGET_(kind, out_x))) \
          ? ccw_ok()                                                                                                  \
          : ccw_surely_(ccw_bad_attribute_((dictionary), (name), ccw_kind_(CCW_KIND_DATA_(kind)))))

/* Whether it is there and of that kind. */
#define ccw_is_attr(dictionary, name, kind) \
  ccw_is_of_kind_(ccw_find_((dictionary), (name), __builtin_strlen(name)), ccw_kind_(CCW_KIND_DATA_(kind)))

/* An attribute, as a decoder of a type of your own gets it, as that kind, or INVALID_ARGUMENT. */
#define ccw_as(attribute, kind, out_x)                                          \
  ccw_used_(CCW_LIKELY(CCW_TAKER_(kind)((attribute), CCW_TARGET_(kind, out_x))) \
                ? ccw_ok()                                                      \
                : ccw_surely_(ccw_bad_value_((attribute), ccw_kind_(CCW_KIND_DATA_(kind)))))

/* ---- enums, structs, types of the user's ---------------------------------------------------------------------------- */

/* An integer attribute with known values: CCW_ENUM(mode, s32, VALUE(nearest, 0), VALUE(linear, 1)) declares the type mode, of that
 * dtype, and mode_nearest, mode_linear; another value is refused. With CCW_OPEN_ENUM any value is taken. Up to 32 values, each
 * a constant expression. */
#define CCW_ENUM(T, dtype, ...) CCW_ENUM_(T, dtype, false, "", T, __VA_ARGS__)
#define CCW_OPEN_ENUM(T, dtype, ...) CCW_ENUM_(T, dtype, true, "...", T, __VA_ARGS__)
#define CCW_ENUM_(T, dtype, is_open, tail, ...)                                                          \
  typedef ccw_scalar_##dtype T;                                                                          \
  CCW_EACH_(CCW_ENUM_FITS_, __VA_ARGS__)                                                                 \
  enum { ccw_own_dtype_##T##_ = CCW_NUMBER_##dtype, CCW_EACH_(CCW_ENUMERATOR_, __VA_ARGS__) };           \
  static const ccw_enum_value ccw_own_values_##T##_[] = {CCW_EACH_(CCW_ENUM_DATA_, __VA_ARGS__)};        \
  __attribute__((unused)) static const ccw_enum_info ccw_own_info_##T##_ = {                             \
      #T, is_open, sizeof ccw_own_values_##T##_ / sizeof *ccw_own_values_##T##_, ccw_own_values_##T##_}; \
  CCW_TEXT_SYMBOL_(ccw_kind_##T, CCW_WEAK, #dtype " = " CCW_EACH_(CCW_ENUM_TEXT_, __VA_ARGS__) tail)     \
  CCW_EXTERN CCW_EXPORT CCW_WEAK const char ccw_values_##T[];                                            \
  const char ccw_values_##T[] = {CCW_EACH_(CCW_ENUM_NUMBER_, __VA_ARGS__) '\0'};                         \
  CCW_INLINE bool ccw_own_take_##T##_(ccw_attribute ccw_attribute_, T *ccw_out_)                         \
  {                                                                                                      \
    return ccw_take_scalar_##dtype##_(ccw_attribute_, ccw_out_) &&                                       \
           CCW_LIKELY(is_open CCW_EACH_(CCW_ENUM_TEST_, __VA_ARGS__));                                   \
  }                                                                                                      \
  struct ccw_own_end_of_##T##_ /* so that a semicolon may follow */
#define CCW_ENUM_FITS_(T, i, before, value) CCW_CALL_WORD_(CCW_ENUM_FITS_OF_, T, i, value)
#define CCW_ENUM_FITS_OF_VALUE(T, i, name, number) \
  CCW_ASSERT_(                                     \
      (int64_t)(T)(number) == (int64_t)(number), #T "_" #name ": " #number " does not fit in the dtype of the enum");
#define CCW_ENUMERATOR_(T, i, before, value) CCW_CALL_WORD_(CCW_ENUMERATOR_OF_, T, i, value)
#define CCW_ENUMERATOR_OF_VALUE(T, i, name, number) T##_##name = (number),
#define CCW_ENUM_DATA_(T, i, before, value) CCW_CALL_WORD_(CCW_ENUM_DATA_OF_, T, i, value)
#define CCW_ENUM_DATA_OF_VALUE(T, i, name, number) {#name, (int64_t)(number)},
#define CCW_ENUM_TEST_(T, i, before, value) CCW_CALL_WORD_(CCW_ENUM_TEST_OF_, T, i, value)
#define CCW_ENUM_TEST_OF_VALUE(T, i, name, number) || *ccw_out_ == (T)(number)
#define CCW_ENUM_TEXT_(T, i, before, value) CCW_CALL_WORD_(CCW_ENUM_TEXT_OF_, T, i, value)
#define CCW_ENUM_TEXT_OF_VALUE(T, i, name, number) #name "(#)|"
/* The numbers, each in 20 characters and a comma: what '#' stands for, in this order. */
#define CCW_ENUM_NUMBER_(T, i, before, value) CCW_CALL_WORD_(CCW_ENUM_NUMBER_OF_, T, i, value)
#define CCW_ENUM_NUMBER_OF_VALUE(T, i, name, number)                                                                  \
  (int64_t)(number) < 0 ? '-' : ' ', CCW_DIGIT_(number, 1000000000000000000), CCW_DIGIT_(number, 100000000000000000), \
      CCW_DIGIT_(number, 10000000000000000), CCW_DIGIT_(number, 1000000000000000),                                    \
      CCW_DIGIT_(number, 100000000000000), CCW_DIGIT_(number, 10000000000000), CCW_DIGIT_(number, 1000000000000),     \
      CCW_DIGIT_(number, 100000000000), CCW_DIGIT_(number, 10000000000), CCW_DIGIT_(number, 1000000000),              \
      CCW_DIGIT_(number, 100000000), CCW_DIGIT_(number, 10000000), CCW_DIGIT_(number, 1000000),                       \
      CCW_DIGIT_(number, 100000), CCW_DIGIT_(number, 10000), CCW_DIGIT_(number, 1000), CCW_DIGIT_(number, 100),       \
      CCW_DIGIT_(number, 10), (char)('0' + CCW_MAGNITUDE_(number) % 10), ',',
#define CCW_MAGNITUDE_(number) ((int64_t)(number) < 0 ? 0 - (uint64_t)(int64_t)(number) : (uint64_t)(number))
#define CCW_DIGIT_(number, power) \
  (char)(CCW_MAGNITUDE_(number) / UINT64_C(power) > 0 ? '0' + CCW_MAGNITUDE_(number) / UINT64_C(power) % 10 : ' ')

/* Text that stands in the library under a name of its own, to be read without running anything. */
#define CCW_TEXT_SYMBOL_(name, binds, text)      \
  CCW_EXTERN CCW_EXPORT binds const char name[]; \
  const char name[] = text;

/* A dictionary of just these members: CCW_STRUCT(range, MEMBER(s64, lo), MEMBER(s64, hi)) declares struct range, and the type
 * range. Members are of any kind, other structs too. */
#define CCW_STRUCT(T, ...) CCW_STRUCT_(T, T, __VA_ARGS__)
#define CCW_STRUCT_(T, ...)                                                                        \
  typedef struct T {                                                                               \
    CCW_EACH_(CCW_FIELD_, __VA_ARGS__)                                                             \
  } T;                                                                                             \
  static const ccw_member ccw_own_members_##T##_[] = {CCW_EACH_(CCW_MEMBER_DATA_, __VA_ARGS__)};   \
  __attribute__((unused)) static const ccw_struct_info ccw_own_info_##T##_ = {                     \
      #T, sizeof ccw_own_members_##T##_ / sizeof *ccw_own_members_##T##_, ccw_own_members_##T##_}; \
  CCW_TEXT_SYMBOL_(ccw_kind_##T, CCW_WEAK, "{" CCW_EACH_(CCW_MEMBER_TEXT_, __VA_ARGS__) "}")       \
  CCW_INLINE bool ccw_own_take_all_##T##_(const XLA_FFI_Attrs *ccw_attrs_, T *ccw_out_)            \
  {                                                                                                \
    static const char *const ccw_names_[] = {CCW_EACH_(CCW_MEMBER_NAME_, __VA_ARGS__)};            \
    enum { ccw_count_ = sizeof ccw_names_ / sizeof *ccw_names_ };                                  \
    if (!CCW_LIKELY(ccw_is_readable_(ccw_attrs_) && ccw_attrs_->size == ccw_count_)) return false; \
    CCW_EACH_(CCW_MEMBER_TAKE_, __VA_ARGS__)                                                       \
    return true;                                                                                   \
  }                                                                                                \
  CCW_INLINE bool ccw_own_take_##T##_(ccw_attribute ccw_attribute_, T *ccw_out_)                   \
  {                                                                                                \
    return CCW_LIKELY(ccw_attribute_.type == XLA_FFI_AttrType_DICTIONARY) &&                       \
           ccw_own_take_all_##T##_((const XLA_FFI_Attrs *)ccw_attribute_.value, ccw_out_);         \
  }                                                                                                \
  struct ccw_own_end_of_##T##_
#define CCW_FIELD_(T, i, before, member) CCW_CALL_WORD_(CCW_FIELD_OF_, T, i, member)
#define CCW_FIELD_OF_MEMBER(T, i, kind, name, text) CCW_C_TYPE_(kind) name;
#define CCW_MEMBER_DATA_(T, i, before, member) CCW_CALL_WORD_(CCW_MEMBER_DATA_OF_, T, i, member)
#define CCW_MEMBER_DATA_OF_MEMBER(T, i, kind, name, text) {text, {CCW_KIND_DATA_(kind)}},
#define CCW_MEMBER_TEXT_(T, i, before, member) CCW_CALL_WORD_(CCW_MEMBER_TEXT_OF_, T, i, member)
#define CCW_MEMBER_TEXT_OF_MEMBER(T, i, kind, name, text) text ": " CCW_KIND_TEXT_(kind) ", "
#define CCW_MEMBER_NAME_(T, i, before, member) CCW_CALL_WORD_(CCW_MEMBER_NAME_OF_, T, i, member)
#define CCW_MEMBER_NAME_OF_MEMBER(T, i, kind, name, text) text,
#define CCW_MEMBER_TAKE_(T, i, before, member) CCW_CALL_WORD_(CCW_MEMBER_TAKE_OF_, T, i, member)
#define CCW_MEMBER_TAKE_OF_MEMBER(T, i, kind, name, text)                                                 \
  if (!CCW_TAKER_(kind)(ccw_attribute_at_(ccw_attrs_, ccw_place_of_(ccw_names_, ccw_count_, text), text), \
          CCW_TARGET_(kind, &ccw_out_->name)))                                                            \
    return false;

/* Decodes a type of your own by a function of your own: out of an attribute, ATTR(type(T), x), an argument, ARG_AS(T, x), a
 * result, RET_AS(T, x), or the frame, CTX(type(T), x). The function may say what is wrong:
 *   ccw_status f(ccw_attribute attribute, T *out);     ccw_as(attribute, kind, &x) reads it
 *   ccw_status f(ccw_arg_any x, T *out);
 *   ccw_status f(ccw_ret_any y, T *out);
 *   ccw_status f(const XLA_FFI_CallFrame *frame, T *out); */
#define CCW_ATTR_TYPE(T, f) \
  CCW_TYPE_(T, info, check, f(ccw_attribute_, &ccw_value_), take, ccw_attribute ccw_given_, f(ccw_given_, ccw_out_))
#define CCW_ARG_TYPE(T, f)                                                                  \
  CCW_TYPE_(T, arg_info, check_arg, f(ccw_arg_of_any_(ccw_buffer_), &ccw_value_), take_arg, \
      const XLA_FFI_Buffer *ccw_given_, f(ccw_arg_of_any_(ccw_given_), ccw_out_))
#define CCW_RET_TYPE(T, f)                                                                  \
  CCW_TYPE_(T, ret_info, check_ret, f(ccw_ret_of_any_(ccw_buffer_), &ccw_value_), take_ret, \
      const XLA_FFI_Buffer *ccw_given_, f(ccw_ret_of_any_(ccw_given_), ccw_out_))
#define CCW_CTX_TYPE(T, f)                                                                                     \
  CCW_TYPE_(T, ctx_info, check_ctx, f(ccw_frame_, &ccw_value_), take_ctx, const XLA_FFI_CallFrame *ccw_given_, \
      f(ccw_given_, ccw_out_))
#define CCW_TYPE_(T, info, check, checked, take, parameter, taken)                                             \
  static ccw_status ccw_own_##check##_##T##_(                                                                  \
      const XLA_FFI_CallFrame *ccw_frame_, ccw_attribute ccw_attribute_, const XLA_FFI_Buffer *ccw_buffer_)    \
  {                                                                                                            \
    T ccw_value_;                                                                                              \
    (void)ccw_frame_, (void)ccw_attribute_, (void)ccw_buffer_;                                                 \
    return checked;                                                                                            \
  }                                                                                                            \
  __attribute__((unused)) static const ccw_type_info ccw_own_##info##_##T##_ = {#T, ccw_own_##check##_##T##_}; \
  __attribute__((unused)) static bool ccw_own_##take##_##T##_(parameter, T *ccw_out_)                          \
  {                                                                                                            \
    ccw_status ccw_status_ = taken;                                                                            \
    if (CCW_LIKELY(!ccw_status_.code)) return true;                                                            \
    ccw_status_free(ccw_status_);                                                                              \
    return false;                                                                                              \
  }                                                                                                            \
  struct ccw_own_end_of_##info##_##T##_

/* ---- contexts ------------------------------------------------------------------------------------------------------- */

/* What CTX may be: its number in CCW_CONTEXTS, and what it is of. */
#define CCW_CTX_stream STREAM, void *
#define CCW_CTX_stream_as(T) STREAM, T
#define CCW_CTX_scratch SCRATCH, 0
#define CCW_CTX_threads THREADS, 0
#define CCW_CTX_run_id RUN_ID, 0
#define CCW_CTX_device_ordinal DEVICE_ORDINAL, 0
#define CCW_CTX_state(T) STATE, T
#define CCW_CTX_prepared(T) PREPARED, T
#define CCW_CTX_initialized(T) INITIALIZED, T
#define CCW_CTX_user_data(T) USER_DATA, T
#define CCW_CTX_extension(T) EXTENSION, T
#define CCW_CTX_custom_options CUSTOM_OPTIONS, 0
#define CCW_CTX_frame FRAME, 0
#define CCW_CTX_type(T) TYPE, T

/* op_STREAM(of, x), with whatever else is handed on. */
#define CCW_OF_CTX_(op, what, x) CCW_OF_CTX_PARTS_(op, x, CCW_CTX_##what)
#define CCW_OF_CTX_PARTS_(...) CCW_OF_CTX_APPLIED_(__VA_ARGS__)
#define CCW_OF_CTX_APPLIED_(op, x, form, ...) op##form(__VA_ARGS__, x)

/* The C type; the data of the report; the version; and how the value is got, which leaves the block where it cannot be. */
#define CCW_CTX_TYPE_OF_STREAM(T, x) T
#define CCW_CTX_TYPE_OF_SCRATCH(none, x) ccw_scratch *
#define CCW_CTX_TYPE_OF_THREADS(none, x) ccw_threads
#define CCW_CTX_TYPE_OF_RUN_ID(none, x) int64_t
#define CCW_CTX_TYPE_OF_DEVICE_ORDINAL(none, x) int32_t
#define CCW_CTX_TYPE_OF_STATE(T, x) T *
#define CCW_CTX_TYPE_OF_PREPARED(T, x) T *
#define CCW_CTX_TYPE_OF_INITIALIZED(T, x) T *
#define CCW_CTX_TYPE_OF_USER_DATA(T, x) T *
#define CCW_CTX_TYPE_OF_EXTENSION(T, x) const T *
#define CCW_CTX_TYPE_OF_CUSTOM_OPTIONS(none, x) ccw_dictionary
#define CCW_CTX_TYPE_OF_FRAME(none, x) XLA_FFI_CallFrame *
#define CCW_CTX_TYPE_OF_TYPE(T, x) T

#define CCW_CTX_DATA_OF_STREAM(T, name) CCW_CTX_DATA_(STREAM, name, NULL)
#define CCW_CTX_DATA_OF_SCRATCH(none, name) CCW_CTX_DATA_(SCRATCH, name, NULL)
#define CCW_CTX_DATA_OF_THREADS(none, name) CCW_CTX_DATA_(THREADS, name, NULL)
#define CCW_CTX_DATA_OF_RUN_ID(none, name) CCW_CTX_DATA_(RUN_ID, name, NULL)
#define CCW_CTX_DATA_OF_DEVICE_ORDINAL(none, name) CCW_CTX_DATA_(DEVICE_ORDINAL, name, NULL)
#define CCW_CTX_DATA_OF_STATE(T, name) CCW_CTX_DATA_(STATE, name, &ccw_type_id_##T)
#define CCW_CTX_DATA_OF_PREPARED(T, name) CCW_CTX_DATA_(PREPARED, name, &ccw_type_id_##T)
#define CCW_CTX_DATA_OF_INITIALIZED(T, name) CCW_CTX_DATA_(INITIALIZED, name, &ccw_type_id_##T)
#define CCW_CTX_DATA_OF_USER_DATA(T, name) CCW_CTX_DATA_(USER_DATA, name, &ccw_type_id_##T)
#define CCW_CTX_DATA_OF_EXTENSION(T, name) CCW_CTX_DATA_(EXTENSION, name, &ccw_extension_##T##_)
#define CCW_CTX_DATA_OF_CUSTOM_OPTIONS(none, name) CCW_CTX_DATA_(CUSTOM_OPTIONS, name, NULL)
#define CCW_CTX_DATA_OF_FRAME(none, name) CCW_CTX_DATA_(FRAME, name, NULL)
#define CCW_CTX_DATA_OF_TYPE(T, name) CCW_CTX_DATA_(TYPE, name, &ccw_own_ctx_info_##T##_)
#define CCW_CTX_DATA_(NAME, name, detail) {CCW_WORD_CTX, CCW_CONTEXT_##NAME, name, {CCW_FORM_UNKNOWN, 0, detail}, -1},

enum {
#define CCW_CONTEXT_NEEDS_(NAME, name, minor) CCW_NEEDED_BY_##NAME = 1 << minor,
  CCW_CONTEXTS(CCW_CONTEXT_NEEDS_)
#undef CCW_CONTEXT_NEEDS_
};
#define CCW_CTX_NUMBER_OF_STREAM(of, x) STREAM
#define CCW_CTX_NEEDS_OF_STREAM(of, x) CCW_NEEDED_BY_STREAM
#define CCW_CTX_NEEDS_OF_SCRATCH(of, x) CCW_NEEDED_BY_SCRATCH
#define CCW_CTX_NEEDS_OF_THREADS(of, x) CCW_NEEDED_BY_THREADS
#define CCW_CTX_NEEDS_OF_RUN_ID(of, x) CCW_NEEDED_BY_RUN_ID
#define CCW_CTX_NEEDS_OF_DEVICE_ORDINAL(of, x) CCW_NEEDED_BY_DEVICE_ORDINAL
#define CCW_CTX_NEEDS_OF_STATE(of, x) CCW_NEEDED_BY_STATE
#define CCW_CTX_NEEDS_OF_PREPARED(of, x) CCW_NEEDED_BY_PREPARED
#define CCW_CTX_NEEDS_OF_INITIALIZED(of, x) CCW_NEEDED_BY_INITIALIZED
#define CCW_CTX_NEEDS_OF_USER_DATA(of, x) CCW_NEEDED_BY_USER_DATA
#define CCW_CTX_NEEDS_OF_EXTENSION(of, x) CCW_NEEDED_BY_EXTENSION
#define CCW_CTX_NEEDS_OF_CUSTOM_OPTIONS(of, x) CCW_NEEDED_BY_CUSTOM_OPTIONS
#define CCW_CTX_NEEDS_OF_FRAME(of, x) CCW_NEEDED_BY_FRAME
#define CCW_CTX_NEEDS_OF_TYPE(of, x) CCW_NEEDED_BY_TYPE

#define CCW_ASKED_(question)             \
  {                                      \
    ccw_status ccw_asked_ = question;    \
    if (!CCW_LIKELY(!ccw_asked_.code)) { \
      ccw_status_free(ccw_asked_);       \
      break;                             \
    }                                    \
  }
#define CCW_CTX_ASK_POINTER_(T, x, question) \
  {                                          \
    void *ccw_pointer_ = NULL;               \
    CCW_ASKED_(question)                     \
    x = (T)ccw_pointer_;                     \
  }
#define CCW_CTX_ASK_OF_STREAM(T, x) CCW_CTX_ASK_POINTER_(T, x, ccw_ask_stream_(ccw_frame_, &ccw_pointer_))
#define CCW_CTX_ASK_OF_SCRATCH(none, x) \
  x = &ccw_scratch_;                    \
  ccw_scratch_.frame = ccw_frame_;
#define CCW_CTX_ASK_OF_THREADS(none, x) x.api = ccw_frame_->api, x.context = ccw_frame_->ctx;
#define CCW_CTX_ASK_OF_RUN_ID(none, x) CCW_ASKED_(ccw_ask_run_id_(ccw_frame_, &x))
#define CCW_CTX_ASK_OF_DEVICE_ORDINAL(none, x) CCW_ASKED_(ccw_ask_device_ordinal_(ccw_frame_, &x))
#define CCW_CTX_ASK_STATE_(T, x, STAGE) \
  CCW_CTX_ASK_POINTER_(                 \
      T *, x, ccw_ask_state_(ccw_frame_, XLA_FFI_ExecutionStage_##STAGE, &ccw_type_id_##T, &ccw_pointer_))
#define CCW_CTX_ASK_OF_STATE(T, x) CCW_CTX_ASK_STATE_(T, x, INSTANTIATE)
#define CCW_CTX_ASK_OF_PREPARED(T, x) CCW_CTX_ASK_STATE_(T, x, PREPARE)
#define CCW_CTX_ASK_OF_INITIALIZED(T, x) CCW_CTX_ASK_STATE_(T, x, INITIALIZE)
#define CCW_CTX_ASK_OF_USER_DATA(T, x) \
  CCW_CTX_ASK_POINTER_(T *, x, ccw_ask_user_data_(ccw_frame_, &ccw_type_id_##T, &ccw_pointer_))
#define CCW_CTX_ASK_OF_EXTENSION(T, x)                                             \
  {                                                                                \
    const XLA_FFI_Extension *ccw_found_;                                           \
    CCW_ASKED_(ccw_ask_extension_(ccw_frame_, &ccw_extension_##T##_, &ccw_found_)) \
    x = (const T *)(const void *)ccw_found_;                                       \
  }
#define CCW_CTX_ASK_OF_CUSTOM_OPTIONS(none, x)              \
  CCW_ASKED_(ccw_ask_custom_options_(ccw_frame_, &x.attrs)) \
  if (!ccw_is_readable_(x.attrs)) break;
#define CCW_CTX_ASK_OF_FRAME(none, x) x = ccw_frame_;
#define CCW_CTX_ASK_OF_TYPE(T, x) \
  if (!ccw_own_take_ctx_##T##_(ccw_frame_, &x)) break;

/* ---- a handler ------------------------------------------------------------------------------------------------------ */

typedef int ccw_four_ __attribute__((vector_size(16)));

/* Whether `count` operands are buffers; their number is a constant. Four are looked at together. */
CCW_INLINE bool ccw_all_buffers_(const void *types, int count)
{
  const char *at = (const char *)types;
  const ccw_four_ buffers = {1, 1, 1, 1};
  ccw_four_ four, differs = {0, 0, 0, 0};
  uint64_t rest = 0, two;
  uint32_t one;
#define CCW_FOUR_(i)                         \
  if (count >= 4 * i + 4) {                  \
    memcpy(&four, at + 16 * i, sizeof four); \
    differs |= four ^ buffers;               \
  }
  CCW_FOUR_(0)
  CCW_FOUR_(1)
  CCW_FOUR_(2)
  CCW_FOUR_(3)
  CCW_FOUR_(4)
  CCW_FOUR_(5)
  CCW_FOUR_(6)
  CCW_FOUR_(7)
#undef CCW_FOUR_
  at += count / 4 * 16;
  if (count & 2) {
    memcpy(&two, at, sizeof two);
    rest |= two ^ UINT64_C(0x100000001);
    at += sizeof two;
  }
  if (count & 1) {
    memcpy(&one, at, sizeof one);
    rest |= one ^ 1;
  }
  uint64_t halves[2] = {0, 0};
  if (count >= 4) memcpy(halves, &differs, sizeof halves);
  return CCW_LIKELY((rest | halves[0] | halves[1]) == 0);
}

/* How many operands of a family a handler binds; all are constants. */
typedef struct ccw_bound_count_ {
  int all, optional, open;
} ccw_bound_count_;

CCW_INLINE uint64_t ccw_miscounted_(int64_t size, ccw_bound_count_ bound)
{
  if (bound.all == 0 && !bound.open) return 0;
  if (bound.optional || bound.open)
    return (uint64_t)(size < bound.all - bound.optional || (!bound.open && size > bound.all));
  return (uint64_t)(size ^ bound.all);
}

/* Whether the frame is a call of that stage, with as many operands as are bound, whose required ones are buffers. */
CCW_INLINE bool ccw_head_fits_(
    const XLA_FFI_CallFrame *frame, int stage, ccw_bound_count_ args, ccw_bound_count_ rets, int attrs)
{
  uint64_t differs = (frame->struct_size ^ XLA_FFI_CallFrame_STRUCT_SIZE) | (uintptr_t)frame->extension_start |
                     (unsigned)(ccw_number_at_(&frame->stage) ^ stage);
  differs |= ccw_miscounted_(frame->args.size, args) | ccw_miscounted_(frame->rets.size, rets);
  if (attrs > 0) differs |= (uint64_t)(frame->attrs.size ^ attrs);
  if (!CCW_LIKELY(differs == 0)) return false;
  int least_args = args.all - args.optional, least_rets = rets.all - rets.optional;
  if (least_args > 0 && !CCW_LIKELY(frame->args.types && frame->args.args)) return false;
  if (least_rets > 0 && !CCW_LIKELY(frame->rets.types && frame->rets.rets)) return false;
  if (attrs > 0 && !CCW_LIKELY(frame->attrs.types && frame->attrs.names && frame->attrs.attrs)) return false;
  return (least_args == 0 || ccw_all_buffers_(frame->args.types, least_args)) &&
         (least_rets == 0 || ccw_all_buffers_(frame->rets.types, least_rets));
}

/* The state that a handler has made goes to the runtime, or ends here. */
CCW_COLD ccw_status ccw_hand_over_(
    const XLA_FFI_CallFrame *frame, ccw_status status, XLA_FFI_TypeId *id, const XLA_FFI_TypeInfo *info, void *state)
{
  if (!status.code && !state) return ccw_internal("succeeded and made no state");
  if (!status.code) status = ccw_set_state_(frame, id, state);
  if (status.code && state) info->deleter(state);
  return status;
}

/* A failure after the future was made is the future's. */
CCW_COLD ccw_status ccw_fail_future_(XLA_FFI_CallFrame *frame, ccw_status status)
{
  ccw_future future = {frame->api, frame->future};
  return ccw_future_complete(future, status);
}

enum {
#define CCW_STAGE_NUMBER_(NAME, name, number) CCW_STAGE_##name = number,
  CCW_STAGES(CCW_STAGE_NUMBER_)
#undef CCW_STAGE_NUMBER_
};

/* The highest bit of the versions that are needed. */
#define CCW_MINOR_(bits) ((bits)&1 << 5 ? 5 : (bits)&1 << 4 ? 4 : (bits)&1 << 3 ? 3 : (bits)&1 << 2 ? 2 : 1)

/* What a stage needs: record itself; and state of its own, but for instantiate. */
enum { CCW_MAKES_STATE_ = 1 << 8 };
#define CCW_STAGE_NEEDS_(stage, needs)                                                                \
  ((int)(stage) == (int)CCW_STAGE_record                                                     ? 1 << 4 \
      : (int)(stage) != (int)CCW_STAGE_instantiate && ((int)(needs) & (int)CCW_MAKES_STATE_) ? 1 << 3 \
                                                                                             : 0)

#define CCW_HANDLER(...) CCW_STAGE_HANDLER(execute, __VA_ARGS__)
#define CCW_STAGE_HANDLER(stage, ...) \
  CCW_HANDLER_(CCW_STAGE_##stage, CCW_NAME_(__VA_ARGS__), CCW_COUNT_(__VA_ARGS__), __VA_ARGS__)
#define CCW_HANDLER_(...) CCW_HANDLER_OF_(__VA_ARGS__)
#define CCW_HANDLER_OF_(stage_, name_, count_, ...)                                                                \
  CCW_EACH_(CCW_CHECK_, __VA_ARGS__)                                                                               \
  CCW_EACH_(CCW_CHECK_OF_, __VA_ARGS__) CCW_EXTERN CCW_EXPORT XLA_FFI_Error *name_(XLA_FFI_CallFrame *ccw_frame_); \
  CCW_TEXT_SYMBOL_(ccw_signature_##name_, ,                                                                        \
      #name_ "(" CCW_EACH_(CCW_TEXT_OPERAND_, __VA_ARGS__) ") -> (" CCW_EACH_(                                     \
          CCW_TEXT_RESULT_, __VA_ARGS__) ") {" CCW_EACH_(CCW_TEXT_ATTRIBUTE_, __VA_ARGS__) "}")                    \
  CCW_INLINE ccw_status ccw_body_of_##name_(                                                                       \
      const XLA_FFI_CallFrame *ccw_frame_ CCW_EACH_(CCW_PARAMETER_, __VA_ARGS__));                                 \
  XLA_FFI_Error *name_(XLA_FFI_CallFrame *ccw_frame_)                                                              \
  {                                                                                                                \
    enum { CCW_FIRST_TALLY_(count_) CCW_EACH_(CCW_TALLY_, __VA_ARGS__) ccw_tallied_ };                             \
    CCW_EACH_(CCW_RULE_, __VA_ARGS__)                                                                              \
    CCW_RULE_OF_STATE_(stage_, name_, ccw_needs_1_);                                                               \
    static const char *const ccw_names_[] = {CCW_EACH_(CCW_ATTR_NAME_, __VA_ARGS__) NULL};                         \
    static const ccw_parameter ccw_parameters_[] = {                                                               \
        CCW_EACH_(CCW_DATA_, __VA_ARGS__){CCW_WORD_TRAIT, (ccw_context)0, NULL, {CCW_FORM_UNKNOWN, 0, NULL}, 0}};  \
    static const ccw_binding ccw_binding_ = {#name_, name_, (XLA_FFI_ExecutionStage)stage_,                        \
        CCW_MINOR_((int)ccw_needs_1_ | CCW_STAGE_NEEDS_(stage_, (int)ccw_needs_1_)), ccw_traits_1_,                \
        CCW_EACH_(CCW_STATE_OF_, __VA_ARGS__) NULL, sizeof ccw_parameters_ / sizeof *ccw_parameters_ - 1,          \
        ccw_parameters_};                                                                                          \
    do {                                                                                                           \
      const ccw_bound_count_ ccw_args_ = {ccw_args_1_, ccw_optional_args_1_, ccw_open_args_1_};                    \
      const ccw_bound_count_ ccw_rets_ = {ccw_rets_1_, ccw_optional_rets_1_, ccw_open_rets_1_};                    \
      if (!ccw_head_fits_(ccw_frame_, stage_, ccw_args_, ccw_rets_, ccw_attrs_1_)) break;                          \
      ccw_pair_ ccw_marks_ = {0, 0};                                                                               \
      (void)ccw_marks_, (void)ccw_names_;                                                                          \
      CCW_EACH_(CCW_VARIABLE_, __VA_ARGS__)                                                                        \
      ccw_status ccw_status_;                                                                                      \
      CCW_GUARD_                                                                                                   \
      CCW_EACH_(CCW_TAKE_, __VA_ARGS__)                                                                            \
      if (!CCW_LIKELY((ccw_marks_[0] | ccw_marks_[1]) >= 0)) {                                                     \
        XLA_FFI_CallFrame *ccw_again_ = ccw_frame_;                                                                \
        __asm__("" : "+r"(ccw_again_)); /* read anew: keeping every pointer for this would cost more */            \
        CCW_EACH_(CCW_SOUND_, __VA_ARGS__)                                                                         \
      }                                                                                                            \
      ccw_status_ = ccw_body_of_##name_(ccw_frame_ CCW_EACH_(CCW_VALUE_, __VA_ARGS__));                            \
      CCW_GUARDED_(ccw_status_)                                                                                    \
      CCW_EACH_(CCW_FINISH_, __VA_ARGS__)                                                                          \
      return CCW_LIKELY(!ccw_status_.code) ? NULL : ccw_leave_(ccw_frame_, &ccw_binding_, ccw_status_);            \
    } while (0);                                                                                                   \
    CCW_REFUSE_(ccw_frame_, &ccw_binding_)                                                                         \
  }                                                                                                                \
  CCW_INLINE ccw_status ccw_body_of_##name_(                                                                       \
      __attribute__((unused)) const XLA_FFI_CallFrame *ccw_frame_ CCW_EACH_(CCW_PARAMETER_, __VA_ARGS__))

/* A misspelt word, kind or context: what is known expands to several parts, and the rest stays one. */
#define CCW_IS_KNOWN_(...) CCW_EIGHTH_(__VA_ARGS__, 1, 1, 1, 1, 1, 1, 0, 0)
#define CCW_EIGHTH_(a, b, c, d, e, f, g, h, ...) h
#define CCW_CHECK_(h, i, before, word)         \
  CCW_ASSERT_(CCW_IS_KNOWN_(CCW_PARTS_##word), \
      #word ": this is no word of a binding; the words stand at the head of ccw/handler.h");
#define CCW_CHECK_KIND_(kind)                                                                  \
  CCW_ASSERT_(CCW_IS_KNOWN_(CCW_KIND_##kind),                                                  \
      #kind ": this is no kind of an attribute; there are pred s8 s16 s32 s64 u8 u16 u32 u64 " \
            "f32 f64 c64 c128 string dictionary array(dtype) enum(T) struct(T) pointer(T) type(T)");
#define CCW_CHECK_OF_(h, i, before, word) CCW_CALL_WORD_(CCW_CHECK_OF_, i, before, word)
#define CCW_CHECK_OF_ARG(i, b, dtype, rank, name)
#define CCW_CHECK_OF_OPTIONAL_ARG(i, b, dtype, rank, name)
#define CCW_CHECK_OF_REMAINING_ARGS(i, b, name)
#define CCW_CHECK_OF_ARG_AS(i, b, T, name)
#define CCW_CHECK_OF_RET(i, b, dtype, rank, name)
#define CCW_CHECK_OF_OPTIONAL_RET(i, b, dtype, rank, name)
#define CCW_CHECK_OF_REMAINING_RETS(i, b, name)
#define CCW_CHECK_OF_RET_AS(i, b, T, name)
#define CCW_CHECK_OF_ATTR(i, b, kind, name, text) CCW_CHECK_KIND_(kind)
#define CCW_CHECK_OF_ATTRS(i, b, kind, name) CCW_CHECK_KIND_(kind)
#define CCW_CHECK_OF_CTX(i, b, what, name) \
  CCW_ASSERT_(CCW_IS_KNOWN_(CCW_CTX_##what), #what ": this is no context; they stand at the head of ccw/handler.h");
#define CCW_CHECK_OF_NEW_STATE(i, b, T, name)
#define CCW_CHECK_OF_TRAIT(i, b, name)

/* Each of the following says one thing of each word. */

/* How many of everything there have been so far. */
#define CCW_TALLY_(h, i, before, word) CCW_CALL_WORD_(CCW_TALLY_OF_, i, before, word)
#define CCW_TALLY_OF_ARG(i, b, dtype, rank, name) CCW_TALLIED_(i, b, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0)
#define CCW_TALLY_OF_OPTIONAL_ARG(i, b, dtype, rank, name) CCW_TALLIED_(i, b, 1, 1, 0, 0, 0, 0, 0, 0, 2, 0)
#define CCW_TALLY_OF_REMAINING_ARGS(i, b, name) CCW_TALLIED_(i, b, 0, 0, 1, 0, 0, 0, 0, 0, 2, 0)
#define CCW_TALLY_OF_ARG_AS(i, b, T, name) CCW_TALLIED_(i, b, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0)
#define CCW_TALLY_OF_RET(i, b, dtype, rank, name) CCW_TALLIED_(i, b, 0, 0, 0, 1, 0, 0, 0, 0, 2, 0)
#define CCW_TALLY_OF_OPTIONAL_RET(i, b, dtype, rank, name) CCW_TALLIED_(i, b, 0, 0, 0, 1, 1, 0, 0, 0, 2, 0)
#define CCW_TALLY_OF_REMAINING_RETS(i, b, name) CCW_TALLIED_(i, b, 0, 0, 0, 0, 0, 1, 0, 0, 2, 0)
#define CCW_TALLY_OF_RET_AS(i, b, T, name) CCW_TALLIED_(i, b, 0, 0, 0, 1, 0, 0, 0, 0, 2, 0)
#define CCW_TALLY_OF_ATTR(i, b, kind, name, text) CCW_TALLIED_(i, b, 0, 0, 0, 0, 0, 0, 1, 0, 2, 0)
#define CCW_TALLY_OF_ATTRS(i, b, kind, name) CCW_TALLIED_(i, b, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0)
#define CCW_TALLY_OF_CTX(i, b, what, name) \
  CCW_TALLIED_(i, b, 0, 0, 0, 0, 0, 0, 0, 0, CCW_OF_CTX_(CCW_CTX_NEEDS_OF_, what, 0), 0)
#define CCW_TALLY_OF_NEW_STATE(i, b, T, name) CCW_TALLIED_(i, b, 0, 0, 0, 0, 0, 0, 0, 0, 1 << 2 | CCW_MAKES_STATE_, 0)
#define CCW_TALLY_OF_TRAIT(i, b, name) CCW_TALLIED_(i, b, 0, 0, 0, 0, 0, 0, 0, 0, 2, CCW_TRAIT_##name)
#define CCW_TALLIED_(                                                                                            \
    i, b, args, optional_args, open_args, rets, optional_rets, open_rets, attrs, all_attrs, needs, traits)       \
  ccw_args_##i##_ = ccw_args_##b##_ + args, ccw_optional_args_##i##_ = ccw_optional_args_##b##_ + optional_args, \
  ccw_open_args_##i##_ = ccw_open_args_##b##_ + open_args, ccw_rets_##i##_ = ccw_rets_##b##_ + rets,             \
  ccw_optional_rets_##i##_ = ccw_optional_rets_##b##_ + optional_rets,                                           \
  ccw_open_rets_##i##_ = ccw_open_rets_##b##_ + open_rets, ccw_attrs_##i##_ = ccw_attrs_##b##_ + attrs,          \
  ccw_all_attrs_##i##_ = ccw_all_attrs_##b##_ + all_attrs, ccw_needs_##i##_ = (int)ccw_needs_##b##_ | (needs),   \
  ccw_traits_##i##_ = (int)ccw_traits_##b##_ | (traits),
#define CCW_FIRST_TALLY_(n) CCW_FIRST_TALLY_OF_(n)
#define CCW_FIRST_TALLY_OF_(n)                                                                            \
  ccw_args_##n##_ = 0, ccw_optional_args_##n##_ = 0, ccw_open_args_##n##_ = 0, ccw_rets_##n##_ = 0,       \
  ccw_optional_rets_##n##_ = 0, ccw_open_rets_##n##_ = 0, ccw_attrs_##n##_ = 0, ccw_all_attrs_##n##_ = 0, \
  ccw_needs_##n##_ = 2, ccw_traits_##n##_ = 0,
enum { CCW_TRAIT_command_buffer_compatible = XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE };

/* The rules of order. */
#define CCW_RULE_(h, i, before, word) CCW_CALL_WORD_(CCW_RULE_OF_, i, before, word)
#define CCW_RULE_OF_ARG(i, b, dtype, rank, name)                                                          \
  CCW_ASSERT_(!ccw_open_args_##b##_, "ARG " #name ": no regular argument may follow the remaining ones"); \
  CCW_ASSERT_(!ccw_optional_args_##b##_, "ARG " #name ": no regular argument may follow an optional one");
#define CCW_RULE_OF_ARG_AS(i, b, T, name) CCW_RULE_OF_ARG(i, b, any, any, name)
#define CCW_RULE_OF_OPTIONAL_ARG(i, b, dtype, rank, name) \
  CCW_ASSERT_(!ccw_open_args_##b##_, "OPTIONAL_ARG " #name ": no optional argument may follow the remaining ones");
#define CCW_RULE_OF_REMAINING_ARGS(i, b, name) \
  CCW_ASSERT_(!ccw_open_args_##b##_, "REMAINING_ARGS " #name ": the remaining arguments are bound already");
#define CCW_RULE_OF_RET(i, b, dtype, rank, name)                                                        \
  CCW_ASSERT_(!ccw_open_rets_##b##_, "RET " #name ": no regular result may follow the remaining ones"); \
  CCW_ASSERT_(!ccw_optional_rets_##b##_, "RET " #name ": no regular result may follow an optional one");
#define CCW_RULE_OF_RET_AS(i, b, T, name) CCW_RULE_OF_RET(i, b, any, any, name)
#define CCW_RULE_OF_OPTIONAL_RET(i, b, dtype, rank, name) \
  CCW_ASSERT_(!ccw_open_rets_##b##_, "OPTIONAL_RET " #name ": no optional result may follow the remaining ones");
#define CCW_RULE_OF_REMAINING_RETS(i, b, name) \
  CCW_ASSERT_(!ccw_open_rets_##b##_, "REMAINING_RETS " #name ": the remaining results are bound already");
#define CCW_RULE_OF_ATTR(i, b, kind, name, text) \
  CCW_ASSERT_(!ccw_all_attrs_##b##_, "ATTR " #name ": ATTRS binds all attributes already");
#define CCW_RULE_OF_ATTRS(i, b, kind, name) \
  CCW_ASSERT_(!ccw_attrs_##b##_, "ATTRS " #name ": ATTR binds single attributes already");
#define CCW_RULE_OF_CTX(i, b, what, name)
#define CCW_RULE_OF_NEW_STATE(i, b, T, name)
#define CCW_RULE_OF_TRAIT(i, b, name)

/* The runtime has a place for the state of three stages. XLA does not look, and ends where another wants one. */
#define CCW_RULE_OF_STATE_(stage, name, needs)                                                       \
  CCW_ASSERT_(!((int)(needs) & (int)CCW_MAKES_STATE_) ||                                             \
                  ((int)(stage) != (int)CCW_STAGE_execute && (int)(stage) != (int)CCW_STAGE_record), \
      #name ": NEW_STATE is for instantiate, prepare and initialize")

/* The parameter of the body. */
#define CCW_PARAMETER_(h, i, before, word) CCW_CALL_WORD_(CCW_PARAMETER_OF_, i, before, word)
#define CCW_PARAMETER_OF_ARG(i, b, dtype, rank, name) , __attribute__((unused)) ccw_arg_##dtype name
#define CCW_PARAMETER_OF_OPTIONAL_ARG(i, b, dtype, rank, name) , __attribute__((unused)) ccw_arg_##dtype name
#define CCW_PARAMETER_OF_REMAINING_ARGS(i, b, name) , __attribute__((unused)) ccw_remaining_args name
#define CCW_PARAMETER_OF_ARG_AS(i, b, T, name) , __attribute__((unused)) T name
#define CCW_PARAMETER_OF_RET(i, b, dtype, rank, name) , __attribute__((unused)) ccw_ret_##dtype name
#define CCW_PARAMETER_OF_OPTIONAL_RET(i, b, dtype, rank, name) , __attribute__((unused)) ccw_ret_##dtype name
#define CCW_PARAMETER_OF_REMAINING_RETS(i, b, name) , __attribute__((unused)) ccw_remaining_rets name
#define CCW_PARAMETER_OF_RET_AS(i, b, T, name) , __attribute__((unused)) T name
#define CCW_PARAMETER_OF_ATTR(i, b, kind, name, text) , __attribute__((unused)) CCW_C_TYPE_(kind) name
#define CCW_PARAMETER_OF_ATTRS(i, b, kind, name) , __attribute__((unused)) CCW_C_TYPE_(kind) name
#define CCW_PARAMETER_OF_CTX(i, b, what, name) , __attribute__((unused)) CCW_OF_CTX_(CCW_CTX_TYPE_OF_, what, 0) name
#define CCW_PARAMETER_OF_NEW_STATE(i, b, T, name) , __attribute__((unused)) T **name
#define CCW_PARAMETER_OF_TRAIT(i, b, name)

/* The variable that holds its value before. */
#define CCW_VARIABLE_(h, i, before, word) CCW_CALL_WORD_(CCW_VARIABLE_OF_, i, before, word)
#define CCW_VARIABLE_OF_ARG(i, b, dtype, rank, name) ccw_arg_##dtype ccw_value_##i##_;
#define CCW_VARIABLE_OF_OPTIONAL_ARG(i, b, dtype, rank, name) ccw_arg_##dtype ccw_value_##i##_;
#define CCW_VARIABLE_OF_REMAINING_ARGS(i, b, name) ccw_remaining_args ccw_value_##i##_;
#define CCW_VARIABLE_OF_ARG_AS(i, b, T, name) T ccw_value_##i##_;
#define CCW_VARIABLE_OF_RET(i, b, dtype, rank, name) ccw_ret_##dtype ccw_value_##i##_;
#define CCW_VARIABLE_OF_OPTIONAL_RET(i, b, dtype, rank, name) ccw_ret_##dtype ccw_value_##i##_;
#define CCW_VARIABLE_OF_REMAINING_RETS(i, b, name) ccw_remaining_rets ccw_value_##i##_;
#define CCW_VARIABLE_OF_RET_AS(i, b, T, name) T ccw_value_##i##_;
#define CCW_VARIABLE_OF_ATTR(i, b, kind, name, text) CCW_C_TYPE_(kind) ccw_value_##i##_;
#define CCW_VARIABLE_OF_ATTRS(i, b, kind, name) CCW_C_TYPE_(kind) ccw_value_##i##_;
#define CCW_VARIABLE_OF_CTX(i, b, what, name)              \
  CCW_OF_CTX_(CCW_CTX_TYPE_OF_, what, 0) ccw_value_##i##_; \
  CCW_OF_CTX_(CCW_CTX_BEFORE_OF_, what, 0)
#define CCW_VARIABLE_OF_NEW_STATE(i, b, T, name) T *ccw_value_##i##_ = NULL;
#define CCW_VARIABLE_OF_TRAIT(i, b, name)

/* How it gets its value, which leaves the block where the frame does not fit. */
#define CCW_TAKE_(h, i, before, word) CCW_CALL_WORD_(CCW_TAKE_OF_, i, before, word)
#define CCW_TAKE_BUFFER_(i, place, family, dtype, rank)                                                 \
  {                                                                                                     \
    const XLA_FFI_Buffer *ccw_buffer_ = (const XLA_FFI_Buffer *)ccw_frame_->family##s.family##s[place]; \
    if (!ccw_take_buffer_(ccw_buffer_, CCW_NUMBER_##dtype, CCW_RANK_##rank, &ccw_marks_)) break;        \
    ccw_value_##i##_ = ccw_##family##_of_##dtype##_(ccw_buffer_);                                       \
  }
#define CCW_TAKE_OPTIONAL_(i, place, family, dtype, rank)                        \
  if (ccw_frame_->family##s.size > place) {                                      \
    if (!ccw_frame_->family##s.types || !ccw_frame_->family##s.family##s) break; \
    if (ccw_number_at_(&ccw_frame_->family##s.types[place]) != 1) break;         \
    CCW_TAKE_BUFFER_(i, place, family, dtype, rank)                              \
  } else {                                                                       \
    ccw_value_##i##_ = ccw_##family##_of_##dtype##_(NULL);                       \
  }
#define CCW_TAKE_REMAINING_(i, place, family)                                                                     \
  if (ccw_frame_->family##s.size > 0 && !(ccw_frame_->family##s.types && ccw_frame_->family##s.family##s)) break; \
  ccw_value_##i##_.frame = ccw_frame_;                                                                            \
  ccw_value_##i##_.first = place;                                                                                 \
  ccw_value_##i##_.size = ccw_frame_->family##s.size > place ? ccw_frame_->family##s.size - place : 0;
#define CCW_TAKE_AS_(i, place, family, T)                                                                      \
  {                                                                                                            \
    const XLA_FFI_Buffer *ccw_buffer_ = (const XLA_FFI_Buffer *)ccw_frame_->family##s.family##s[place];        \
    if (!ccw_is_sound_(ccw_buffer_) || !ccw_own_take_##family##_##T##_(ccw_buffer_, &ccw_value_##i##_)) break; \
  }
#define CCW_TAKE_OF_ARG(i, b, dtype, rank, name) CCW_TAKE_BUFFER_(i, ccw_args_##b##_, arg, dtype, rank)
#define CCW_TAKE_OF_OPTIONAL_ARG(i, b, dtype, rank, name) CCW_TAKE_OPTIONAL_(i, ccw_args_##b##_, arg, dtype, rank)
#define CCW_TAKE_OF_REMAINING_ARGS(i, b, name) CCW_TAKE_REMAINING_(i, ccw_args_##b##_, arg)
#define CCW_TAKE_OF_ARG_AS(i, b, T, name) CCW_TAKE_AS_(i, ccw_args_##b##_, arg, T)
#define CCW_TAKE_OF_RET(i, b, dtype, rank, name) CCW_TAKE_BUFFER_(i, ccw_rets_##b##_, ret, dtype, rank)
#define CCW_TAKE_OF_OPTIONAL_RET(i, b, dtype, rank, name) CCW_TAKE_OPTIONAL_(i, ccw_rets_##b##_, ret, dtype, rank)
#define CCW_TAKE_OF_REMAINING_RETS(i, b, name) CCW_TAKE_REMAINING_(i, ccw_rets_##b##_, ret)
#define CCW_TAKE_OF_RET_AS(i, b, T, name) CCW_TAKE_AS_(i, ccw_rets_##b##_, ret, T)
#define CCW_TAKE_OF_ATTR(i, b, kind, name, text)                                                                    \
  if (!CCW_TAKER_(kind)(ccw_attribute_at_(&ccw_frame_->attrs, ccw_place_of_(ccw_names_, ccw_attrs_1_, text), text), \
          CCW_TARGET_(kind, &ccw_value_##i##_)))                                                                    \
    break;
#define CCW_TAKE_OF_ATTRS(i, b, kind, name)                                     \
  {                                                                             \
    ccw_attribute ccw_all_ = {XLA_FFI_AttrType_DICTIONARY, &ccw_frame_->attrs}; \
    if (!CCW_TAKER_(kind)(ccw_all_, &ccw_value_##i##_)) break;                  \
  }
#define CCW_TAKE_OF_CTX(i, b, what, name) CCW_OF_CTX_(CCW_CTX_ASK_OF_, what, ccw_value_##i##_)
#define CCW_TAKE_OF_NEW_STATE(i, b, T, name)
#define CCW_TAKE_OF_TRAIT(i, b, name)

/* The second look at each buffer, when the marks of all together tell of a rank below zero or of dims that are NULL. */
#define CCW_SOUND_(h, i, before, word) CCW_CALL_WORD_(CCW_SOUND_OF_, i, before, word)
#define CCW_SOUND_OF_ARG(i, b, dtype, rank, name) \
  if (!ccw_is_sound_((const XLA_FFI_Buffer *)ccw_again_->args.args[ccw_args_##b##_])) break;
#define CCW_SOUND_OF_OPTIONAL_ARG(i, b, dtype, rank, name) \
  if (ccw_again_->args.size > ccw_args_##b##_) CCW_SOUND_OF_ARG(i, b, dtype, rank, name)
#define CCW_SOUND_OF_REMAINING_ARGS(i, b, name)
#define CCW_SOUND_OF_ARG_AS(i, b, T, name)
#define CCW_SOUND_OF_RET(i, b, dtype, rank, name) \
  if (!ccw_is_sound_((const XLA_FFI_Buffer *)ccw_again_->rets.rets[ccw_rets_##b##_])) break;
#define CCW_SOUND_OF_OPTIONAL_RET(i, b, dtype, rank, name) \
  if (ccw_again_->rets.size > ccw_rets_##b##_) CCW_SOUND_OF_RET(i, b, dtype, rank, name)
#define CCW_SOUND_OF_REMAINING_RETS(i, b, name)
#define CCW_SOUND_OF_RET_AS(i, b, T, name)
#define CCW_SOUND_OF_ATTR(i, b, kind, name, text)
#define CCW_SOUND_OF_ATTRS(i, b, kind, name)
#define CCW_SOUND_OF_CTX(i, b, what, name)
#define CCW_SOUND_OF_NEW_STATE(i, b, T, name)
#define CCW_SOUND_OF_TRAIT(i, b, name)

/* The argument of the body. */
#define CCW_VALUE_(h, i, before, word) CCW_CALL_WORD_(CCW_VALUE_OF_, i, before, word)
#define CCW_VALUE_OF_ARG(i, b, dtype, rank, name) , ccw_value_##i##_
#define CCW_VALUE_OF_OPTIONAL_ARG(i, b, dtype, rank, name) , ccw_value_##i##_
#define CCW_VALUE_OF_REMAINING_ARGS(i, b, name) , ccw_value_##i##_
#define CCW_VALUE_OF_ARG_AS(i, b, T, name) , ccw_value_##i##_
#define CCW_VALUE_OF_RET(i, b, dtype, rank, name) , ccw_value_##i##_
#define CCW_VALUE_OF_OPTIONAL_RET(i, b, dtype, rank, name) , ccw_value_##i##_
#define CCW_VALUE_OF_REMAINING_RETS(i, b, name) , ccw_value_##i##_
#define CCW_VALUE_OF_RET_AS(i, b, T, name) , ccw_value_##i##_
#define CCW_VALUE_OF_ATTR(i, b, kind, name, text) , ccw_value_##i##_
#define CCW_VALUE_OF_ATTRS(i, b, kind, name) , ccw_value_##i##_
#define CCW_VALUE_OF_CTX(i, b, what, name) , ccw_value_##i##_
#define CCW_VALUE_OF_NEW_STATE(i, b, T, name) , &ccw_value_##i##_
#define CCW_VALUE_OF_TRAIT(i, b, name)

/* What is left to do when the body has returned. */
#define CCW_FINISH_(h, i, before, word) CCW_CALL_WORD_(CCW_FINISH_OF_, i, before, word)
#define CCW_FINISH_OF_ARG(i, b, dtype, rank, name)
#define CCW_FINISH_OF_OPTIONAL_ARG(i, b, dtype, rank, name)
#define CCW_FINISH_OF_REMAINING_ARGS(i, b, name)
#define CCW_FINISH_OF_ARG_AS(i, b, T, name)
#define CCW_FINISH_OF_RET(i, b, dtype, rank, name)
#define CCW_FINISH_OF_OPTIONAL_RET(i, b, dtype, rank, name)
#define CCW_FINISH_OF_REMAINING_RETS(i, b, name)
#define CCW_FINISH_OF_RET_AS(i, b, T, name)
#define CCW_FINISH_OF_ATTR(i, b, kind, name, text)
#define CCW_FINISH_OF_ATTRS(i, b, kind, name)
#define CCW_FINISH_OF_CTX(i, b, what, name) CCW_OF_CTX_(CCW_CTX_AFTER_OF_, what, 0)
#define CCW_FINISH_OF_NEW_STATE(i, b, T, name) \
  ccw_status_ = ccw_hand_over_(ccw_frame_, ccw_status_, &ccw_type_id_##T, &ccw_type_info_##T, ccw_value_##i##_);
#define CCW_FINISH_OF_TRAIT(i, b, name)

/* What scratch memory and futures need around the body. */
#define CCW_CTX_BEFORE_OF_STREAM(of, x)
#define CCW_CTX_BEFORE_OF_SCRATCH(of, x) \
  ccw_scratch ccw_scratch_;              \
  ccw_scratch_.count = 0;
#define CCW_CTX_BEFORE_OF_THREADS(of, x)
#define CCW_CTX_BEFORE_OF_RUN_ID(of, x)
#define CCW_CTX_BEFORE_OF_DEVICE_ORDINAL(of, x)
#define CCW_CTX_BEFORE_OF_STATE(of, x)
#define CCW_CTX_BEFORE_OF_PREPARED(of, x)
#define CCW_CTX_BEFORE_OF_INITIALIZED(of, x)
#define CCW_CTX_BEFORE_OF_USER_DATA(of, x)
#define CCW_CTX_BEFORE_OF_EXTENSION(of, x)
#define CCW_CTX_BEFORE_OF_CUSTOM_OPTIONS(of, x)
#define CCW_CTX_BEFORE_OF_FRAME(of, x) const XLA_FFI_Future *const ccw_no_future_ = ccw_frame_->future;
#define CCW_CTX_BEFORE_OF_TYPE(of, x)
#define CCW_CTX_AFTER_OF_STREAM(of, x)
#define CCW_CTX_AFTER_OF_SCRATCH(of, x) \
  if (ccw_scratch_.count > 0) ccw_scratch_free_(&ccw_scratch_);
#define CCW_CTX_AFTER_OF_THREADS(of, x)
#define CCW_CTX_AFTER_OF_RUN_ID(of, x)
#define CCW_CTX_AFTER_OF_DEVICE_ORDINAL(of, x)
#define CCW_CTX_AFTER_OF_STATE(of, x)
#define CCW_CTX_AFTER_OF_PREPARED(of, x)
#define CCW_CTX_AFTER_OF_INITIALIZED(of, x)
#define CCW_CTX_AFTER_OF_USER_DATA(of, x)
#define CCW_CTX_AFTER_OF_EXTENSION(of, x)
#define CCW_CTX_AFTER_OF_CUSTOM_OPTIONS(of, x)
#define CCW_CTX_AFTER_OF_FRAME(of, x) \
  if (ccw_status_.code && ccw_frame_->future != ccw_no_future_) ccw_status_ = ccw_fail_future_(ccw_frame_, ccw_status_);
#define CCW_CTX_AFTER_OF_TYPE(of, x)

/* Its name among those that are sorted. */
#define CCW_ATTR_NAME_(h, i, before, word) CCW_CALL_WORD_(CCW_ATTR_NAME_OF_, i, before, word)
#define CCW_ATTR_NAME_OF_ARG(i, b, dtype, rank, name)
#define CCW_ATTR_NAME_OF_OPTIONAL_ARG(i, b, dtype, rank, name)
#define CCW_ATTR_NAME_OF_REMAINING_ARGS(i, b, name)
#define CCW_ATTR_NAME_OF_ARG_AS(i, b, T, name)
#define CCW_ATTR_NAME_OF_RET(i, b, dtype, rank, name)
#define CCW_ATTR_NAME_OF_OPTIONAL_RET(i, b, dtype, rank, name)
#define CCW_ATTR_NAME_OF_REMAINING_RETS(i, b, name)
#define CCW_ATTR_NAME_OF_RET_AS(i, b, T, name)
#define CCW_ATTR_NAME_OF_ATTR(i, b, kind, name, text) text,
#define CCW_ATTR_NAME_OF_ATTRS(i, b, kind, name)
#define CCW_ATTR_NAME_OF_CTX(i, b, what, name)
#define CCW_ATTR_NAME_OF_NEW_STATE(i, b, T, name)
#define CCW_ATTR_NAME_OF_TRAIT(i, b, name)

/* The data of the binding. */
#define CCW_DATA_(h, i, before, word) CCW_CALL_WORD_(CCW_DATA_OF_, i, before, word)
#define CCW_OPERAND_DATA_(WORD, name, dtype, rank) \
  {CCW_WORD_##WORD, (ccw_context)0, name, {CCW_FORM_UNKNOWN, CCW_NUMBER_##dtype, NULL}, CCW_RANK_##rank},
#define CCW_DATA_OF_ARG(i, b, dtype, rank, name) CCW_OPERAND_DATA_(ARG, #name, dtype, rank)
#define CCW_DATA_OF_OPTIONAL_ARG(i, b, dtype, rank, name) CCW_OPERAND_DATA_(OPTIONAL_ARG, #name, dtype, rank)
#define CCW_DATA_OF_REMAINING_ARGS(i, b, name) CCW_OPERAND_DATA_(REMAINING_ARGS, #name, any, any)
#define CCW_DATA_OF_ARG_AS(i, b, T, name) \
  {CCW_WORD_ARG, (ccw_context)0, #name, {CCW_FORM_TYPE, 0, &ccw_own_arg_info_##T##_}, -1},
#define CCW_DATA_OF_RET(i, b, dtype, rank, name) CCW_OPERAND_DATA_(RET, #name, dtype, rank)
#define CCW_DATA_OF_OPTIONAL_RET(i, b, dtype, rank, name) CCW_OPERAND_DATA_(OPTIONAL_RET, #name, dtype, rank)
#define CCW_DATA_OF_REMAINING_RETS(i, b, name) CCW_OPERAND_DATA_(REMAINING_RETS, #name, any, any)
#define CCW_DATA_OF_RET_AS(i, b, T, name) \
  {CCW_WORD_RET, (ccw_context)0, #name, {CCW_FORM_TYPE, 0, &ccw_own_ret_info_##T##_}, -1},
#define CCW_DATA_OF_ATTR(i, b, kind, name, text) {CCW_WORD_ATTR, (ccw_context)0, text, {CCW_KIND_DATA_(kind)}, -1},
#define CCW_DATA_OF_ATTRS(i, b, kind, name) {CCW_WORD_ATTRS, (ccw_context)0, #name, {CCW_KIND_DATA_(kind)}, -1},
#define CCW_DATA_OF_CTX(i, b, what, name) CCW_OF_CTX_(CCW_CTX_DATA_OF_, what, #name)
#define CCW_DATA_OF_NEW_STATE(i, b, T, name) \
  {CCW_WORD_NEW_STATE, (ccw_context)0, #name, {CCW_FORM_UNKNOWN, 0, &ccw_type_id_##T}, -1},
#define CCW_DATA_OF_TRAIT(i, b, name) {CCW_WORD_TRAIT, (ccw_context)0, #name, {CCW_FORM_UNKNOWN, 0, NULL}, -1},

/* The type of the state that is made, in front of NULL for none. */
#define CCW_STATE_OF_(h, i, before, word) CCW_CALL_WORD_(CCW_STATE_OF_OF_, i, before, word)
#define CCW_STATE_OF_OF_ARG(i, b, dtype, rank, name)
#define CCW_STATE_OF_OF_OPTIONAL_ARG(i, b, dtype, rank, name)
#define CCW_STATE_OF_OF_REMAINING_ARGS(i, b, name)
#define CCW_STATE_OF_OF_ARG_AS(i, b, T, name)
#define CCW_STATE_OF_OF_RET(i, b, dtype, rank, name)
#define CCW_STATE_OF_OF_OPTIONAL_RET(i, b, dtype, rank, name)
#define CCW_STATE_OF_OF_REMAINING_RETS(i, b, name)
#define CCW_STATE_OF_OF_RET_AS(i, b, T, name)
#define CCW_STATE_OF_OF_ATTR(i, b, kind, name, text)
#define CCW_STATE_OF_OF_ATTRS(i, b, kind, name)
#define CCW_STATE_OF_OF_CTX(i, b, what, name)
#define CCW_STATE_OF_OF_NEW_STATE(i, b, T, name) 1 ? &ccw_type_id_##T:
#define CCW_STATE_OF_OF_TRAIT(i, b, name)

/* Its place in the text of the signature: contexts and arguments, then results, then attributes. */
#define CCW_TEXT_OPERAND_(h, i, before, word) CCW_CALL_WORD_(CCW_TEXT_OF_, OPERAND, before, word)
#define CCW_TEXT_RESULT_(h, i, before, word) CCW_CALL_WORD_(CCW_TEXT_OF_, RESULT, before, word)
#define CCW_TEXT_ATTRIBUTE_(h, i, before, word) CCW_CALL_WORD_(CCW_TEXT_OF_, ATTRIBUTE, before, word)
#define CCW_TEXT_OF_ARG(want, b, dtype, rank, name) CCW_TEXT_##want##_OPERAND(#name ": " CCW_TYPE_TEXT_(dtype, rank))
#define CCW_TEXT_OF_OPTIONAL_ARG(want, b, dtype, rank, name) \
  CCW_TEXT_##want##_OPERAND(#name "?: " CCW_TYPE_TEXT_(dtype, rank))
#define CCW_TEXT_OF_REMAINING_ARGS(want, b, name) CCW_TEXT_##want##_OPERAND("...")
#define CCW_TEXT_OF_ARG_AS(want, b, T, name) CCW_TEXT_##want##_OPERAND(#name ": any[*]")
#define CCW_TEXT_OF_RET(want, b, dtype, rank, name) CCW_TEXT_##want##_RESULT(#name ": " CCW_TYPE_TEXT_(dtype, rank))
#define CCW_TEXT_OF_OPTIONAL_RET(want, b, dtype, rank, name) \
  CCW_TEXT_##want##_RESULT(#name "?: " CCW_TYPE_TEXT_(dtype, rank))
#define CCW_TEXT_OF_REMAINING_RETS(want, b, name) CCW_TEXT_##want##_RESULT("...")
#define CCW_TEXT_OF_RET_AS(want, b, T, name) CCW_TEXT_##want##_RESULT(#name ": any[*]")
#define CCW_TEXT_OF_ATTR(want, b, kind, name, text) CCW_TEXT_##want##_ATTRIBUTE("\"" text "\": " CCW_KIND_TEXT_(kind))
#define CCW_TEXT_OF_ATTRS(want, b, kind, name) CCW_TEXT_##want##_ATTRIBUTE("..." CCW_OF_KIND_(CCW_ALL_TEXT_OF_, kind))
#define CCW_ALL_TEXT_OF_DICTIONARY(none) ""
#define CCW_ALL_TEXT_OF_STRUCT(T) #T
#define CCW_TEXT_OF_CTX(want, b, what, name) CCW_TEXT_##want##_OPERAND("@" #what)
#define CCW_TEXT_OF_NEW_STATE(want, b, T, name) CCW_TEXT_##want##_OPERAND("@new_state(" #T ")")
#define CCW_TEXT_OF_TRAIT(want, b, name)
#define CCW_TYPE_TEXT_(dtype, rank) #dtype "[" CCW_TEXT_RANK_##rank "]"
#define CCW_TEXT_OPERAND_OPERAND(text) text ", "
#define CCW_TEXT_OPERAND_RESULT(text)
#define CCW_TEXT_OPERAND_ATTRIBUTE(text)
#define CCW_TEXT_RESULT_OPERAND(text)
#define CCW_TEXT_RESULT_RESULT(text) text ", "
#define CCW_TEXT_RESULT_ATTRIBUTE(text)
#define CCW_TEXT_ATTRIBUTE_OPERAND(text)
#define CCW_TEXT_ATTRIBUTE_RESULT(text)
#define CCW_TEXT_ATTRIBUTE_ATTRIBUTE(text) text ", "
#define CCW_TEXT_RANK_any "*"
#define CCW_TEXT_RANK_0 ""
#define CCW_TEXT_RANK_1 "?"
#define CCW_TEXT_RANK_2 CCW_TEXT_RANK_1 ",?"
#define CCW_TEXT_RANK_3 CCW_TEXT_RANK_2 ",?"
#define CCW_TEXT_RANK_4 CCW_TEXT_RANK_3 ",?"
#define CCW_TEXT_RANK_5 CCW_TEXT_RANK_4 ",?"
#define CCW_TEXT_RANK_6 CCW_TEXT_RANK_5 ",?"
#define CCW_TEXT_RANK_7 CCW_TEXT_RANK_6 ",?"
#define CCW_TEXT_RANK_8 CCW_TEXT_RANK_7 ",?"
#define CCW_TEXT_RANK_9 CCW_TEXT_RANK_8 ",?"
#define CCW_TEXT_RANK_10 CCW_TEXT_RANK_9 ",?"
#define CCW_TEXT_RANK_11 CCW_TEXT_RANK_10 ",?"
#define CCW_TEXT_RANK_12 CCW_TEXT_RANK_11 ",?"
#define CCW_TEXT_RANK_13 CCW_TEXT_RANK_12 ",?"
#define CCW_TEXT_RANK_14 CCW_TEXT_RANK_13 ",?"
#define CCW_TEXT_RANK_15 CCW_TEXT_RANK_14 ",?"
#define CCW_TEXT_RANK_16 CCW_TEXT_RANK_15 ",?"
#define CCW_TEXT_RANK_17 CCW_TEXT_RANK_16 ",?"
#define CCW_TEXT_RANK_18 CCW_TEXT_RANK_17 ",?"
#define CCW_TEXT_RANK_19 CCW_TEXT_RANK_18 ",?"
#define CCW_TEXT_RANK_20 CCW_TEXT_RANK_19 ",?"
#define CCW_TEXT_RANK_21 CCW_TEXT_RANK_20 ",?"
#define CCW_TEXT_RANK_22 CCW_TEXT_RANK_21 ",?"
#define CCW_TEXT_RANK_23 CCW_TEXT_RANK_22 ",?"
#define CCW_TEXT_RANK_24 CCW_TEXT_RANK_23 ",?"
#define CCW_TEXT_RANK_25 CCW_TEXT_RANK_24 ",?"
#define CCW_TEXT_RANK_26 CCW_TEXT_RANK_25 ",?"
#define CCW_TEXT_RANK_27 CCW_TEXT_RANK_26 ",?"
#define CCW_TEXT_RANK_28 CCW_TEXT_RANK_27 ",?"
#define CCW_TEXT_RANK_29 CCW_TEXT_RANK_28 ",?"
#define CCW_TEXT_RANK_30 CCW_TEXT_RANK_29 ",?"
#define CCW_TEXT_RANK_31 CCW_TEXT_RANK_30 ",?"
#define CCW_TEXT_RANK_32 CCW_TEXT_RANK_31 ",?"

#endif

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "value/element.h"

/* ---- conversion ---------------------------------------------------------------------------------------------------- */

static ccw_status refuse(XLA_FFI_Error_Code code, ccw_scalar scalar, ccw_dtype dtype, const char *why)
{
  ccw_text text = {0};
  ccw_scalar_print(scalar, &text);
  ccw_text_add(&text, " %s %s", why, ccw_dtype_name(dtype));
  return ccw_status_of_text(code, &text);
}

/* The smallest and largest number of an integer dtype. */
static int64_t lowest(ccw_dtype dtype)
{
  return ccw_dtype_class(dtype) == CCW_CLASS_SIGNED ? INT64_MIN >> (64 - ccw_dtype_bits(dtype)) : 0;
}

static uint64_t highest(ccw_dtype dtype)
{
  int bits = ccw_dtype_bits(dtype) - (ccw_dtype_class(dtype) == CCW_CLASS_SIGNED);
  return bits == 0 ? 0 : UINT64_MAX >> (64 - bits);
}

static ccw_status to_integer(ccw_scalar from, ccw_dtype dtype, ccw_scalar *out)
{
  bool negative = false;
  uint64_t bits = 0; /* the number modulo 2^64 */
  switch (ccw_dtype_class(from.dtype)) {
  case CCW_CLASS_PRED: bits = from.as.pred; break;
  case CCW_CLASS_SIGNED:
    negative = from.as.s < 0;
    bits = (uint64_t)from.as.s;
    break;
  case CCW_CLASS_UNSIGNED: bits = from.as.u; break;
  default: {
    double x = ccw_dtype_class(from.dtype) == CCW_CLASS_COMPLEX ? from.as.c[0] : from.as.f;
    if (!isfinite(x) || x != trunc(x))
      return refuse(XLA_FFI_Error_Code_INVALID_ARGUMENT, from, dtype, "is not an integer, as needed for");
    if (x < -0x1p63 || x >= 0x1p64) return refuse(XLA_FFI_Error_Code_OUT_OF_RANGE, from, dtype, "does not fit in");
    negative = x < 0;
    bits = negative ? (uint64_t)(int64_t)x : (uint64_t)x;
  }
  }
  if (negative ? (int64_t)bits < lowest(dtype) : bits > highest(dtype))
    return refuse(XLA_FFI_Error_Code_OUT_OF_RANGE, from, dtype, "does not fit in");
  out->as.u = bits;
  return ccw_ok();
}

static double to_double(ccw_scalar from)
{
  switch (ccw_dtype_class(from.dtype)) {
  case CCW_CLASS_PRED: return from.as.pred;
  case CCW_CLASS_SIGNED: return (double)from.as.s;
  case CCW_CLASS_UNSIGNED: return (double)from.as.u;
  case CCW_CLASS_COMPLEX: return from.as.c[0];
  default: return from.as.f;
  }
}

/* An integer of more than 53 bits on its way to a shorter float would round twice, first to the double. Rounding to odd
 * keeps what the second rounding needs to know. */
static double to_double_odd(ccw_scalar from)
{
  double x = to_double(from);
  ccw_class class = ccw_dtype_class(from.dtype);
  if (class != CCW_CLASS_SIGNED && class != CCW_CLASS_UNSIGNED) return x;
  uint64_t magnitude = class == CCW_CLASS_SIGNED && from.as.s < 0 ? 0 - from.as.u : from.as.u;
  if (magnitude <= 1ULL << 53) return x;
  int drop = 64 - __builtin_clzll(magnitude) - 53;
  if (drop <= 0) return x;
  uint64_t kept = magnitude >> drop;
  if (magnitude & ((1ULL << drop) - 1)) kept |= 1;
  double odd = ldexp((double)kept, drop);
  return x < 0 ? -odd : odd;
}

static bool is_nonzero(ccw_scalar from)
{
  switch (ccw_dtype_class(from.dtype)) {
  case CCW_CLASS_PRED: return from.as.pred;
  case CCW_CLASS_COMPLEX: return from.as.c[0] != 0 || from.as.c[1] != 0;
  case CCW_CLASS_FLOAT: return from.as.f != 0;
  default: return from.as.u != 0;
  }
}

ccw_status ccw_scalar_convert(ccw_scalar scalar, ccw_dtype dtype, ccw_scalar *out_scalar)
{
  ccw_scalar out = {.dtype = dtype};
  ccw_class to = ccw_dtype_class(dtype), from = ccw_dtype_class(scalar.dtype);
  if (to == CCW_CLASS_NONE || to == CCW_CLASS_TOKEN || from == CCW_CLASS_NONE || from == CCW_CLASS_TOKEN)
    return ccw_invalid("%s does not convert to %s", ccw_dtype_name(scalar.dtype), ccw_dtype_name(dtype));
  if (from == CCW_CLASS_COMPLEX && to != CCW_CLASS_COMPLEX && to != CCW_CLASS_PRED && scalar.as.c[1] != 0)
    return refuse(XLA_FFI_Error_Code_INVALID_ARGUMENT, scalar, dtype, "has an imaginary part, which does not fit in");

  switch (to) {
  case CCW_CLASS_PRED: out.as.pred = is_nonzero(scalar); break;
  case CCW_CLASS_FLOAT:
    out.as.f = dtype == XLA_FFI_DataType_F64 ? to_double(scalar) : ccw_float_round(dtype, to_double_odd(scalar));
    break;
  case CCW_CLASS_COMPLEX:
    out.as.c[0] = to_double(scalar);
    out.as.c[1] = from == CCW_CLASS_COMPLEX ? scalar.as.c[1] : 0;
    if (dtype == XLA_FFI_DataType_C64) {
      out.as.c[0] = (float)(from == CCW_CLASS_COMPLEX ? out.as.c[0] : to_double_odd(scalar));
      out.as.c[1] = (float)out.as.c[1];
    }
    break;
  default: CCW_TRY(to_integer(scalar, dtype, &out)); break;
  }
  *out_scalar = out;
  return ccw_ok();
}

ccw_status ccw_scalar_fit(ccw_scalar scalar, ccw_dtype dtype, ccw_scalar *out_scalar)
{
  ccw_class to = ccw_dtype_class(dtype), from = ccw_dtype_class(scalar.dtype);
  ccw_scalar out, back;
  if ((to == CCW_CLASS_PRED) != (from == CCW_CLASS_PRED))
    return ccw_invalid("expected %s, got %s", ccw_dtype_name(dtype), ccw_dtype_name(scalar.dtype));
  CCW_TRY(ccw_scalar_convert(scalar, dtype, &out));
  bool fits = true;
  if (to == CCW_CLASS_FLOAT && from == CCW_CLASS_FLOAT) {
    fits = isfinite(out.as.f) || !isfinite(scalar.as.f);
  } else if (to == CCW_CLASS_FLOAT) {
    ccw_status status = ccw_scalar_convert(out, scalar.dtype, &back);
    fits = !status.code && ccw_scalar_equal(back, scalar);
    ccw_status_free(status);
  }
  if (!fits) return refuse(XLA_FFI_Error_Code_OUT_OF_RANGE, scalar, dtype, "does not fit in");
  *out_scalar = out;
  return ccw_ok();
}

bool ccw_scalar_equal(ccw_scalar a, ccw_scalar b)
{
  if (a.dtype != b.dtype) return false;
  switch (ccw_dtype_class(a.dtype)) {
  case CCW_CLASS_PRED: return a.as.pred == b.as.pred;
  case CCW_CLASS_FLOAT: return a.as.f == b.as.f;
  case CCW_CLASS_COMPLEX: return a.as.c[0] == b.as.c[0] && a.as.c[1] == b.as.c[1];
  default: return a.as.u == b.as.u;
  }
}

/* ---- text ---------------------------------------------------------------------------------------------------------- */

/* As short as reads back to the same number. Formats of a byte print as an f32 would: 3.25 could be written 3.2 in them,
 * which nobody would take for 3.25. */
static void print_float(double x, ccw_dtype dtype, ccw_text *text)
{
  if (ccw_dtype_bits(dtype) <= 8) dtype = XLA_FFI_DataType_F32;
  if (isnan(x)) {
    ccw_text_add(text, "nan");
  } else if (isinf(x)) {
    ccw_text_add(text, x < 0 ? "-inf" : "inf");
  } else if (x == 0) {
    ccw_text_add(text, signbit(x) ? "-0.0" : "0");
  } else {
    char digits[32];
    int precision = 0; /* digits after the first */
    do snprintf(digits, sizeof digits, "%.*e", precision, x);
    while (ccw_float_round(dtype, strtod(digits, NULL)) != x && ++precision < 17);
    int exponent = atoi(strchr(digits, 'e') + 1);
    if (exponent >= -4 && exponent < 16)
      ccw_text_add(text, "%.*f", precision > exponent ? precision - exponent : 0, x);
    else
      ccw_text_add(text, "%s", digits);
  }
}

void ccw_scalar_print(ccw_scalar scalar, ccw_text *text)
{
  switch (ccw_dtype_class(scalar.dtype)) {
  case CCW_CLASS_PRED: ccw_text_add(text, scalar.as.pred ? "true" : "false"); break;
  case CCW_CLASS_SIGNED: ccw_text_add(text, "%lld", (long long)scalar.as.s); break;
  case CCW_CLASS_UNSIGNED: ccw_text_add(text, "%llu", (unsigned long long)scalar.as.u); break;
  case CCW_CLASS_FLOAT: print_float(scalar.as.f, scalar.dtype, text); break;
  case CCW_CLASS_COMPLEX: {
    ccw_dtype part = scalar.dtype == XLA_FFI_DataType_C64 ? XLA_FFI_DataType_F32 : XLA_FFI_DataType_F64;
    ccw_text_add(text, "(");
    print_float(scalar.as.c[0], part, text);
    ccw_text_add(text, ", ");
    print_float(scalar.as.c[1], part, text);
    ccw_text_add(text, ")");
    break;
  }
  default: ccw_text_add(text, "%s", ccw_dtype_name(scalar.dtype)); break;
  }
}

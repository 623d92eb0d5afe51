#include "value/element.h"

#include <math.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "elements are read and written in the byte order of x86");

/* ---- floats of 16 bits and less ------------------------------------------------------------------------------------ */

/* What a format does with the codes above its largest finite number. */
typedef enum overflow_rule {
  IEEE,     /* infinity, then NaNs */
  ONE_NAN,  /* no infinity; all ones is NaN (the FN formats) */
  NO_MINUS, /* no infinity and no -0.0, whose code is the NaN (the FNUZ formats) */
  SATURATE, /* neither; the largest number stands for all beyond, zero for NaN */
} overflow_rule;

typedef struct float_format {
  int exponent_bits, mantissa_bits, bias;
  overflow_rule rule;
} float_format;

static const float_format formats[] = {
    [XLA_FFI_DataType_F16] = {5, 10, 15, IEEE},
    [XLA_FFI_DataType_BF16] = {8, 7, 127, IEEE},
    [XLA_FFI_DataType_F8E5M2] = {5, 2, 15, IEEE},
    [XLA_FFI_DataType_F8E4M3] = {4, 3, 7, IEEE},
    [XLA_FFI_DataType_F8E3M4] = {3, 4, 3, IEEE},
    [XLA_FFI_DataType_F8E4M3FN] = {4, 3, 7, ONE_NAN},
    [XLA_FFI_DataType_F8E4M3B11FNUZ] = {4, 3, 11, NO_MINUS},
    [XLA_FFI_DataType_F8E5M2FNUZ] = {5, 2, 16, NO_MINUS},
    [XLA_FFI_DataType_F8E4M3FNUZ] = {4, 3, 8, NO_MINUS},
    [XLA_FFI_DataType_F4E2M1FN] = {2, 1, 1, SATURATE},
};

enum { DOUBLE_MANTISSA = 52, DOUBLE_BIAS = 1023 };

static uint64_t double_bits(double x)
{
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static double double_of_bits(uint64_t bits)
{
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* f8e8m0fnu: a power of two from 2^-127 to 2^127, or NaN; no zero, no sign. Halfway rounds up, and so does everything
 * between the two smallest numbers; a number is an f32 first: ml_dtypes and XLA have it so. */
static uint64_t encode_e8m0(double number)
{
  enum { NAN_CODE = 0xFF, BIAS = 127 };
  double x = (float)number;
  if (!(x > 0) || isinf(x)) return NAN_CODE;
  uint64_t bits = double_bits(x);
  int64_t exponent = (int64_t)(bits >> DOUBLE_MANTISSA) - DOUBLE_BIAS;
  uint64_t mantissa = bits & ((1ULL << DOUBLE_MANTISSA) - 1);
  if (exponent < -BIAS) return 0;
  if (exponent == -BIAS ? mantissa != 0 : mantissa >= 1ULL << (DOUBLE_MANTISSA - 1)) ++exponent;
  return exponent > BIAS ? NAN_CODE : (uint64_t)(exponent + BIAS);
}

static double decode_e8m0(uint64_t code) { return code == 0xFF ? (double)NAN : ldexp(1, (int)code - 127); }

/* f16 keeps what it can of a NaN's payload, as the conversions of hardware and numpy do; the others have one NaN. */
static uint64_t nan_code(const float_format *format, uint64_t sign, uint64_t mantissa)
{
  int p = format->mantissa_bits, e = format->exponent_bits;
  uint64_t ones = (1ULL << (e + p)) - 1;
  switch (format->rule) {
  case IEEE: {
    uint64_t infinity = ((1ULL << e) - 1) << p, payload = p == 10 ? mantissa >> (DOUBLE_MANTISSA - p) : 1ULL << (p - 1);
    return sign << (e + p) | infinity | (payload ? payload : 1);
  }
  case ONE_NAN: return sign << (e + p) | ones;
  case NO_MINUS: return 1ULL << (e + p);
  case SATURATE: return (sign ^ 1) << (e + p);
  }
  return 0;
}

static uint64_t encode_float(const float_format *format, double x)
{
  int p = format->mantissa_bits, e = format->exponent_bits;
  uint64_t bits = double_bits(x), sign = bits >> 63, mantissa = bits & ((1ULL << DOUBLE_MANTISSA) - 1);
  int exponent = (int)(bits >> DOUBLE_MANTISSA & 0x7FF);
  if (exponent == 0x7FF && mantissa) return nan_code(format, sign, mantissa);

  uint64_t largest =
      format->rule == IEEE ? (((1ULL << e) - 1) << p) - 1 : (1ULL << (e + p)) - 1 - (format->rule == ONE_NAN);
  uint64_t code = largest + 1;
  if (exponent != 0x7FF) {
    /* The significand, of which `drop` bits go; more where the result is subnormal. */
    uint64_t significand = exponent ? mantissa | 1ULL << DOUBLE_MANTISSA : mantissa;
    int target = (exponent ? exponent : 1) - DOUBLE_BIAS + format->bias;
    int drop = DOUBLE_MANTISSA - p + (target < 1 ? 1 - target : 0);
    if (drop > DOUBLE_MANTISSA + 1) {
      code = 0;
    } else {
      uint64_t rest = significand & ((1ULL << drop) - 1), half = 1ULL << (drop - 1);
      code = significand >> drop;
      if (rest > half || (rest == half && (code & 1))) ++code;
      if (target > 1) code += (uint64_t)(target - 1) << p; /* a carry out of the mantissa lands where it should */
    }
  }
  if (code > largest) {
    if (format->rule == IEEE)
      code = largest + 1;
    else if (format->rule == SATURATE)
      code = largest;
    else
      return nan_code(format, sign, mantissa);
  }
  if (code == 0 && format->rule == NO_MINUS) return 0;
  return sign << (e + p) | code;
}

static double decode_float(const float_format *format, uint64_t code)
{
  int p = format->mantissa_bits, e = format->exponent_bits;
  uint64_t sign = code >> (e + p) & 1, mantissa = code & ((1ULL << p) - 1), ones = (1ULL << e) - 1;
  uint64_t exponent = code >> p & ones;
  uint64_t nan = sign << 63 | 0x7FFULL << DOUBLE_MANTISSA | 1ULL << (DOUBLE_MANTISSA - 1);
  if (format->rule == IEEE && exponent == ones)
    return double_of_bits(sign << 63 | 0x7FFULL << DOUBLE_MANTISSA | mantissa << (DOUBLE_MANTISSA - p));
  if (format->rule == ONE_NAN && exponent == ones && mantissa == (1ULL << p) - 1) return double_of_bits(nan);
  if (format->rule == NO_MINUS && code == 1ULL << (e + p)) return double_of_bits(nan);
  double magnitude = exponent == 0 ? ldexp((double)mantissa, 1 - format->bias - p)
                                   : ldexp((double)(mantissa | 1ULL << p), (int)exponent - format->bias - p);
  return sign ? -magnitude : magnitude;
}

static uint64_t encode(ccw_dtype dtype, double x)
{
  return dtype == XLA_FFI_DataType_F8E8M0FNU ? encode_e8m0(x) : encode_float(&formats[dtype], x);
}

static double decode(ccw_dtype dtype, uint64_t code)
{
  return dtype == XLA_FFI_DataType_F8E8M0FNU ? decode_e8m0(code) : decode_float(&formats[dtype], code);
}

double ccw_float_round(ccw_dtype dtype, double x)
{
  if (dtype == XLA_FFI_DataType_F64) return x;
  if (dtype == XLA_FFI_DataType_F32) return (float)x;
  return decode(dtype, encode(dtype, x));
}

/* ---- elements in memory -------------------------------------------------------------------------------------------- */

uint64_t ccw_element_bits(ccw_dtype dtype, const void *memory, int64_t index)
{
  int width = ccw_dtype_bits(dtype);
  const unsigned char *bytes = memory;
  if (width < 8) {
    int64_t first = index * width;
    return (uint64_t)(bytes[first / 8] >> first % 8) & ((1u << width) - 1);
  }
  uint64_t bits = 0;
  memcpy(&bits, bytes + index * (width / 8), (size_t)width / 8);
  return bits;
}

static void store_bits(ccw_dtype dtype, void *memory, int64_t index, uint64_t bits)
{
  int width = ccw_dtype_bits(dtype);
  unsigned char *bytes = memory;
  if (width < 8) {
    int64_t first = index * width;
    unsigned mask = ((1u << width) - 1) << first % 8;
    bytes[first / 8] = (unsigned char)((bytes[first / 8] & ~mask) | ((unsigned)bits << first % 8 & mask));
    return;
  }
  memcpy(bytes + index * (width / 8), &bits, (size_t)width / 8);
}

ccw_scalar ccw_element_load(ccw_dtype dtype, const void *memory, int64_t index)
{
  ccw_scalar scalar = {.dtype = dtype};
  const char *bytes = memory;
  float f[2]; /* through memcpy: the memory may be anybody's, of any type */
  switch (dtype) {
  case XLA_FFI_DataType_F32:
    memcpy(f, bytes + index * 4, 4);
    scalar.as.f = f[0];
    return scalar;
  case XLA_FFI_DataType_F64: memcpy(&scalar.as.f, bytes + index * 8, 8); return scalar;
  case XLA_FFI_DataType_C64:
    memcpy(f, bytes + index * 8, 8);
    scalar.as.c[0] = f[0];
    scalar.as.c[1] = f[1];
    return scalar;
  case XLA_FFI_DataType_C128: memcpy(scalar.as.c, bytes + index * 16, 16); return scalar;
  default: break;
  }
  uint64_t bits = ccw_element_bits(dtype, memory, index);
  switch (ccw_dtype_class(dtype)) {
  case CCW_CLASS_PRED: scalar.as.pred = bits != 0; break;
  case CCW_CLASS_SIGNED: {
    int unused = 64 - ccw_dtype_bits(dtype);
    scalar.as.s = (int64_t)(bits << unused) >> unused;
    break;
  }
  case CCW_CLASS_FLOAT: scalar.as.f = decode(dtype, bits); break;
  default: scalar.as.u = bits; break;
  }
  return scalar;
}

void ccw_element_store(void *memory, int64_t index, ccw_scalar scalar)
{
  char *bytes = memory;
  float f[2];
  switch (scalar.dtype) {
  case XLA_FFI_DataType_F32:
    f[0] = (float)scalar.as.f;
    memcpy(bytes + index * 4, f, 4);
    return;
  case XLA_FFI_DataType_F64: memcpy(bytes + index * 8, &scalar.as.f, 8); return;
  case XLA_FFI_DataType_C64:
    f[0] = (float)scalar.as.c[0];
    f[1] = (float)scalar.as.c[1];
    memcpy(bytes + index * 8, f, 8);
    return;
  case XLA_FFI_DataType_C128: memcpy(bytes + index * 16, scalar.as.c, 16); return;
  default: break;
  }
  uint64_t bits = scalar.as.u;
  if (ccw_dtype_class(scalar.dtype) == CCW_CLASS_PRED) bits = scalar.as.pred;
  if (ccw_dtype_class(scalar.dtype) == CCW_CLASS_FLOAT) bits = encode(scalar.dtype, scalar.as.f);
  store_bits(scalar.dtype, memory, index, bits);
}

ccw_scalar ccw_scalar_load(ccw_dtype dtype, const void *memory) { return ccw_element_load(dtype, memory, 0); }
void ccw_scalar_store(ccw_scalar scalar, void *memory) { ccw_element_store(memory, 0, scalar); }

#include <float.h>
#include <math.h>
#include <string.h>

#include <ccw/ccw.h>

#include "value/element.h"

static double absolute(double x) { return x < 0 ? -x : x; }

static bool is_nan(ccw_scalar x, ccw_class class)
{
  if (class == CCW_CLASS_COMPLEX) return isnan(x.as.c[0]) || isnan(x.as.c[1]);
  return class == CCW_CLASS_FLOAT && isnan(x.as.f);
}

static double magnitude(ccw_scalar x, ccw_class class)
{
  switch (class) {
  case CCW_CLASS_PRED: return x.as.pred;
  case CCW_CLASS_SIGNED: return absolute((double)x.as.s);
  case CCW_CLASS_UNSIGNED: return (double)x.as.u;
  case CCW_CLASS_COMPLEX: return hypot(x.as.c[0], x.as.c[1]);
  default: return absolute(x.as.f);
  }
}

static double distance_between(ccw_scalar a, ccw_scalar b, ccw_class class)
{
  switch (class) {
  case CCW_CLASS_PRED: return a.as.pred != b.as.pred;
  case CCW_CLASS_SIGNED: return (double)(a.as.s > b.as.s ? a.as.u - b.as.u : b.as.u - a.as.u);
  case CCW_CLASS_UNSIGNED: return (double)(a.as.u > b.as.u ? a.as.u - b.as.u : b.as.u - a.as.u);
  case CCW_CLASS_COMPLEX: return hypot(a.as.c[0] - b.as.c[0], a.as.c[1] - b.as.c[1]);
  default: return absolute(a.as.f - b.as.f);
  }
}

/* How many numbers of that float dtype lie between the two, which are no NaNs: the bits of a magnitude count up. */
static uint64_t ulps_between(ccw_dtype dtype, ccw_scalar a, ccw_scalar b)
{
  uint64_t bits[2], sign = 1ULL << (ccw_dtype_bits(dtype) - 1);
  bool negative[2];
  for (int i = 0; i < 2; ++i) {
    unsigned char memory[8] = {0};
    ccw_element_store(memory, 0, i ? b : a);
    bits[i] = ccw_element_bits(dtype, memory, 0);
    negative[i] = dtype != XLA_FFI_DataType_F8E8M0FNU && (bits[i] & sign);
    if (negative[i]) bits[i] &= ~sign;
  }
  if (negative[0] != negative[1]) return bits[0] + bits[1];
  return bits[0] > bits[1] ? bits[0] - bits[1] : bits[1] - bits[0];
}

static bool same_bits(const ccw_buffer *a, const ccw_buffer *b, int64_t i)
{
  unsigned char memory[2][16] = {{0}};
  ccw_element_store(memory[0], 0, ccw_buffer_get(a, i));
  ccw_element_store(memory[1], 0, ccw_buffer_get(b, i));
  const void *data[2] = {ccw_buffer_data(a), ccw_buffer_data(b)};
  int64_t bits = ccw_dtype_bits(ccw_buffer_shape(a)->dtype);
  if (data[0] && data[1] && bits >= 8) { /* from memory itself: a pred of 0xFF, the payload of a NaN */
    int64_t width = bits / 8;
    return memcmp((const char *)data[0] + i * width, (const char *)data[1] + i * width, (size_t)width) == 0;
  }
  return memcmp(memory[0], memory[1], sizeof memory[0]) == 0;
}

static bool differs(const ccw_buffer *a, const ccw_buffer *b, int64_t i, const ccw_comparison *how)
{
  if (how->bitwise && !how->close) return !same_bits(a, b, i);
  ccw_dtype dtype = ccw_buffer_shape(a)->dtype;
  ccw_class class = ccw_dtype_class(dtype);
  ccw_scalar x = ccw_buffer_get(a, i), y = ccw_buffer_get(b, i);
  bool x_nan = is_nan(x, class), y_nan = is_nan(y, class);
  if (x_nan || y_nan) return !(x_nan && y_nan && how->equal_nan);
  if (ccw_scalar_equal(x, y)) return false;
  if (!how->close) return true;
  double distance = distance_between(x, y, class), size = magnitude(y, class);
  if (isfinite(size) && isfinite(distance) && distance <= how->atol + how->rtol * size) return false;
  return !(how->max_ulp > 0 && class == CCW_CLASS_FLOAT && ulps_between(dtype, x, y) <= (uint64_t)how->max_ulp);
}

/* ---- the fast way over what is surely close ------------------------------------------------------------------------ */

enum { BLOCK = 1024 };

/* Elements of a block that are not surely close; NaNs are never, infinities only to themselves. Written for the vectoriser:
 * f32 is looked at in f32, with a tolerance that is smaller by more than what rounding adds to it. */
static int32_t doubtful_f32(const float *a, const float *b, int64_t count, double rtol, double atol)
{
  const float r = (float)rtol, t = (float)atol, shrink = 1 - 0x1p-20f, smallest = 1e-30f;
  int32_t doubtful = 0;
  for (int64_t i = 0; i < count; ++i) {
    float x = a[i], y = b[i], tolerance = (t + r * fabsf(y)) * shrink;
    doubtful += !((x == y) | ((fabsf(x - y) <= tolerance) & (tolerance >= smallest) & (tolerance <= FLT_MAX)));
  }
  return doubtful;
}

static int32_t doubtful_f64(const double *a, const double *b, int64_t count, double rtol, double atol)
{
  int32_t doubtful = 0;
  for (int64_t i = 0; i < count; ++i) {
    double distance = fabs(a[i] - b[i]);
    doubtful += !((distance <= atol + rtol * fabs(b[i])) & (distance <= DBL_MAX));
  }
  return doubtful;
}

/* True where the whole block needs no second look. */
static bool surely_equal(
    const ccw_buffer *a, const ccw_buffer *b, int64_t first, int64_t count, const ccw_comparison *how)
{
  ccw_dtype dtype = ccw_buffer_shape(a)->dtype;
  const char *x = ccw_buffer_data(a), *y = ccw_buffer_data(b);
  int64_t bits = ccw_dtype_bits(dtype);
  if (!x || !y || bits < 8) return false;
  x += first * (bits / 8);
  y += first * (bits / 8);
  if (!how->close) {
    bool may_be_nan = !how->bitwise && !how->equal_nan;
    ccw_class class = ccw_dtype_class(dtype);
    if (may_be_nan && (class == CCW_CLASS_FLOAT || class == CCW_CLASS_COMPLEX)) return false;
    return memcmp(x, y, (size_t)(count * (bits / 8))) == 0;
  }
  if (dtype == XLA_FFI_DataType_F32)
    return doubtful_f32((const float *)x, (const float *)y, count, how->rtol, how->atol) == 0;
  if (dtype == XLA_FFI_DataType_F64)
    return doubtful_f64((const double *)x, (const double *)y, count, how->rtol, how->atol) == 0;
  return false;
}

static void note(ccw_difference *difference, const ccw_buffer *a, const ccw_buffer *b, int64_t i)
{
  ccw_class class = ccw_dtype_class(ccw_buffer_shape(a)->dtype);
  ccw_scalar x = ccw_buffer_get(a, i), y = ccw_buffer_get(b, i);
  double distance = is_nan(x, class) || is_nan(y, class) ? NAN : distance_between(x, y, class);
  if (difference->count++ == 0) difference->first = i;
  bool worse = difference->worst < 0 || (!isnan(difference->distance) && !(distance <= difference->distance));
  if (!worse) return;
  difference->worst = i;
  difference->distance = distance;
  difference->relative = distance / magnitude(y, class);
}

ccw_difference ccw_buffer_compare(const ccw_buffer *a, const ccw_buffer *b, const ccw_comparison *comparison)
{
  const ccw_shape *shape = ccw_buffer_shape(a), *other = ccw_buffer_shape(b);
  ccw_difference difference = {.first = -1, .worst = -1};
  difference.dtype = shape->dtype != other->dtype;
  difference.shape =
      shape->rank != other->rank || memcmp(shape->dims, other->dims, (size_t)shape->rank * sizeof *shape->dims) != 0;
  if (difference.dtype || difference.shape || shape->dtype == XLA_FFI_DataType_TOKEN) return difference;
  for (int64_t first = 0; first < shape->count; first += BLOCK) {
    int64_t count = shape->count - first < BLOCK ? shape->count - first : BLOCK;
    if (surely_equal(a, b, first, count, comparison)) continue;
    for (int64_t i = first; i < first + count; ++i)
      if (differs(a, b, i, comparison)) note(&difference, a, b, i);
  }
  return difference;
}

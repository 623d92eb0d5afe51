#include <string.h>

#include "base/checked.h"
#include <ccw/ccw.h>

/* Rounds up: a shape of three s4 elements takes two bytes. */
static int64_t bytes_for_bits(int64_t bits) { return bits / 8 + (bits % 8 != 0); }

ccw_status ccw_shape_make(ccw_dtype dtype, const int64_t *dims, int32_t rank, ccw_shape *out_shape)
{
  if (ccw_dtype_class(dtype) == CCW_CLASS_NONE) return ccw_invalid("dtype: %d is none", (int)dtype);
  if (rank < 0 || rank > CCW_MAX_RANK) return ccw_invalid("rank: expected 0 to %d, got %d", CCW_MAX_RANK, rank);
  if (ccw_dtype_class(dtype) == CCW_CLASS_TOKEN && rank != 0)
    return ccw_invalid("token: expected rank 0, got %d", rank);

  ccw_shape shape = {.dtype = dtype, .rank = rank, .count = 1};
  int64_t bits = ccw_dtype_bits(dtype);
  for (int32_t i = 0; i < rank; ++i)
    if (dims[i] == 0) shape.count = bits = 0; /* empty, whatever the other extents and their order */
  for (int32_t i = 0; i < rank; ++i) {
    if (dims[i] < 0) return ccw_invalid("dim %d: expected 0 or more, got %lld", i, (long long)dims[i]);
    shape.dims[i] = dims[i];
    if (!ccw_mul_i64(shape.count, dims[i], &shape.count) || !ccw_mul_i64(bits, dims[i], &bits))
      return ccw_out_of_range("shape of %s: 2^63 bits or more, from dim %d on", ccw_dtype_name(dtype), i);
  }
  shape.bytes = bytes_for_bits(bits);
  *out_shape = shape;
  return ccw_ok();
}

bool ccw_shape_equal(const ccw_shape *a, const ccw_shape *b)
{
  return a->dtype == b->dtype && a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0;
}

void ccw_shape_print(const ccw_shape *shape, ccw_text *text)
{
  ccw_text_add(text, "%s[", ccw_dtype_name(shape->dtype));
  for (int32_t i = 0; i < shape->rank; ++i) ccw_text_add(text, i == 0 ? "%lld" : ",%lld", (long long)shape->dims[i]);
  ccw_text_add(text, "]");
}

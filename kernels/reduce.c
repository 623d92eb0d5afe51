/* One number for each row of a matrix: its sum, its mean or its largest. */
#include <ccw/handler.h>

CCW_ENUM(reduction, s32, VALUE(sum, 0), VALUE(mean, 1), VALUE(largest, 2));

static float reduce_row(const float *row, int64_t count, reduction how)
{
  float result = how == reduction_largest && count > 0 ? row[0] : 0;
  for (int64_t i = 0; i < count; ++i) {
    if (how != reduction_largest)
      result += row[i];
    else if (row[i] > result)
      result = row[i];
  }
  return how == reduction_mean && count > 0 ? result / (float)count : result;
}

CCW_HANDLER(reduce, ARG(f32, 2, x), RET(f32, 1, y), ATTR(enum(reduction), how))
{
  int64_t rows, cols;
  CCW_TRY(ccw_verify("arg 0 'x'", x, ccw_dims(&rows, &cols)));
  CCW_TRY(ccw_verify("result 0 'y'", y, ccw_dims(rows)));
  for (int64_t i = 0; i < rows; ++i) y.data[i] = reduce_row(x.data + i * cols, cols, how);
  return ccw_ok();
}

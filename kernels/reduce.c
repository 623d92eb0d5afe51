/* One number for each row of a matrix: its sum, its mean or its largest. Sums are made in double, and rounded once. Of no
 * elements the sum is 0, the mean NaN and the largest -inf; a NaN is larger than all. */
#include <math.h>

#include <ccw/handler.h>

CCW_ENUM(reduction, s32, VALUE(sum, 0), VALUE(mean, 1), VALUE(largest, 2));

static ccw_status check(ccw_arg_f32 x, ccw_ret_f32 y)
{
  int64_t rows, cols;
  CCW_TRY(ccw_verify("arg 0 'x'", x, ccw_dims(&rows, &cols)));
  return ccw_verify("result 0 'y'", y, ccw_with_dims(ccw_of(f32), rows));
}

/* Long rows are taken up in lanes, which do not wait for each other. */
static double sum_of(const float *row, int64_t count)
{
  enum { LANES = 16 };
  double sum = 0;
  int64_t i = 0;
  if (count >= LANES) {
    double lanes[LANES] = {0};
    for (; i + LANES <= count; i += LANES)
      for (int lane = 0; lane < LANES; ++lane) lanes[lane] += (double)row[i + lane];
    for (int lane = 0; lane < LANES; ++lane) sum += lanes[lane];
  }
  for (; i < count; ++i) sum += (double)row[i];
  return sum;
}

static float larger(float a, float b) { return b > a || b != b ? b : a; }

static float largest_of(const float *row, int64_t count)
{
  enum { LANES = 32 };
  float largest = -INFINITY;
  int64_t i = 0;
  if (count >= LANES) {
    float lanes[LANES];
    memcpy(lanes, row, sizeof lanes);
    for (i = LANES; i + LANES <= count; i += LANES)
      for (int lane = 0; lane < LANES; ++lane) lanes[lane] = larger(lanes[lane], row[i + lane]);
    for (int lane = 0; lane < LANES; ++lane) largest = larger(largest, lanes[lane]);
  }
  for (; i < count; ++i) largest = larger(largest, row[i]);
  return largest;
}

CCW_HANDLER(reduce, ARG(f32, 2, x), RET(f32, 1, y), ATTR(enum(reduction), how))
{
  CCW_TRY(check(x, y));
  int64_t rows = x.dims[0], cols = x.dims[1];
  for (int64_t r = 0; r < rows; ++r) {
    const float *row = x.data + r * cols;
    if (how == reduction_largest)
      y.data[r] = largest_of(row, cols);
    else
      y.data[r] = (float)(how == reduction_mean ? sum_of(row, cols) / (double)cols : sum_of(row, cols));
  }
  return ccw_ok();
}

#ifdef CCW_DEVICE /* its code is in reduce.cu */
ccw_status reduce_launch(void *stream, int32_t how, const float *x, float *y, int64_t rows, int64_t cols);

CCW_HANDLER(reduce_device, CTX(stream, stream), TRAIT(command_buffer_compatible), ARG(f32, 2, x), RET(f32, 1, y),
    ATTR(enum(reduction), how))
{
  CCW_TRY(check(x, y));
  return reduce_launch(stream, how, x.data, y.data, x.dims[0], x.dims[1]);
}
#endif

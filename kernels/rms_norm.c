/* y[r][i] = weight[i] * x[r][i] / sqrt(mean of the squares of x[r] + eps). The mean is made in double. */
#include <math.h>

#include <ccw/handler.h>

static ccw_status check(ccw_arg_f32 x, ccw_arg_f32 weight, ccw_ret_f32 y)
{
  int64_t r, n;
  CCW_TRY(ccw_verify("arg 0 'x'", x, ccw_with_dims(ccw_of(f32), &r, &n)));
  CCW_TRY(ccw_verify("arg 1 'weight'", weight, ccw_with_dims(ccw_of(f32), n)));
  return ccw_verify("result 0 'y'", y, ccw_like(x));
}

/* The row is taken up in lanes, which do not wait for each other. */
static double mean_square(const float *x, int64_t n)
{
  enum { LANES = 16 };
  double sum = 0, lanes[LANES] = {0};
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES)
    for (int lane = 0; lane < LANES; ++lane) lanes[lane] += (double)x[i + lane] * (double)x[i + lane];
  for (; i < n; ++i) sum += (double)x[i] * (double)x[i];
  for (int lane = 0; lane < LANES; ++lane) sum += lanes[lane];
  return sum / (double)n;
}

CCW_HANDLER(rms_norm, ARG(f32, 2, x), ARG(f32, 1, weight), RET(f32, 2, y), ATTR(f32, eps))
{
  CCW_TRY(check(x, weight, y));
  int64_t rows = x.dims[0], n = x.dims[1];
  for (int64_t r = 0; r < rows; ++r) {
    const float *from = x.data + r * n;
    float *to = y.data + r * n;
    float scale = (float)(1 / sqrt(mean_square(from, n) + (double)eps));
    for (int64_t i = 0; i < n; ++i) to[i] = from[i] * scale * weight.data[i];
  }
  return ccw_ok();
}

#ifdef CCW_DEVICE /* its code is in rms_norm.cu */
ccw_status rms_norm_launch(
    void *stream, const float *x, const float *weight, float *y, int64_t rows, int64_t n, float eps);

CCW_HANDLER(rms_norm_device, CTX(stream, stream), TRAIT(command_buffer_compatible), ARG(f32, 2, x), ARG(f32, 1, weight),
    RET(f32, 2, y), ATTR(f32, eps))
{
  CCW_TRY(check(x, weight, y));
  return rms_norm_launch(stream, x.data, weight.data, y.data, x.dims[0], x.dims[1], eps);
}
#endif

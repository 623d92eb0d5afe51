/* y[r][i] = exp(x[r][i]) / the sum of exp(x[r][...]), of each row. The largest of a row is taken from all in it first, which
 * changes nothing but that exp does not overflow. Sums are made in double. */
#include <math.h>

#include <ccw/handler.h>

static ccw_status check(ccw_arg_f32 x, ccw_ret_f32 y) { return ccw_verify("result 0 'y'", y, ccw_like(x)); }

/* Twice through x, and once through y while it is still near. x may be y. */
static void softmax_row(const float *x, float *y, int64_t n)
{
  float largest = -INFINITY;
  for (int64_t i = 0; i < n; ++i) largest = x[i] > largest ? x[i] : largest;
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += (double)(y[i] = expf(x[i] - largest));
  float scale = (float)(1 / sum);
  for (int64_t i = 0; i < n; ++i) y[i] *= scale;
}

CCW_HANDLER(softmax, ARG(f32, 2, x), RET(f32, 2, y))
{
  CCW_TRY(check(x, y));
  int64_t rows = x.dims[0], n = x.dims[1];
  for (int64_t r = 0; r < rows; ++r) softmax_row(x.data + r * n, y.data + r * n, n);
  return ccw_ok();
}

#ifdef CCW_DEVICE /* its code is in softmax.cu */
ccw_status softmax_launch(void *stream, const float *x, float *y, int64_t rows, int64_t n);

CCW_HANDLER(softmax_device, CTX(stream, stream), TRAIT(command_buffer_compatible), ARG(f32, 2, x), RET(f32, 2, y))
{
  CCW_TRY(check(x, y));
  return softmax_launch(stream, x.data, y.data, x.dims[0], x.dims[1]);
}
#endif

/* z = a * x + y, of any rank, in f32 or f64: one handler that looks at the dtype itself. */
#include <ccw/handler.h>

static ccw_status check(ccw_arg_any x, ccw_arg_any y, ccw_ret_any z)
{
  CCW_TRY(ccw_verify("arg 0 'x'", x, ccw_with_dtype(ccw_any(), f32, f64)));
  CCW_TRY(ccw_verify("arg 1 'y'", y, ccw_like(x)));
  return ccw_verify("result 0 'z'", z, ccw_like(x));
}

static void axpy_f32(float a, const float *x, const float *y, float *z, int64_t n)
{
  for (int64_t i = 0; i < n; ++i) z[i] = a * x[i] + y[i];
}

static void axpy_f64(double a, const double *x, const double *y, double *z, int64_t n)
{
  for (int64_t i = 0; i < n; ++i) z[i] = a * x[i] + y[i];
}

CCW_HANDLER(axpy, ARG(any, any, x), ARG(any, any, y), RET(any, any, z), ATTR(f64, a))
{
  CCW_TRY(check(x, y, z));
  if (ccw_dtype_of(x) == XLA_FFI_DataType_F32)
    axpy_f32((float)a, x.data, y.data, z.data, ccw_elements(x));
  else
    axpy_f64(a, x.data, y.data, z.data, ccw_elements(x));
  return ccw_ok();
}

#ifdef CCW_DEVICE /* its code is in axpy.cu */
ccw_status axpy_launch(
    void *stream, XLA_FFI_DataType dtype, double a, const void *x, const void *y, void *z, int64_t n);

CCW_HANDLER(axpy_device, CTX(stream, stream), TRAIT(command_buffer_compatible), ARG(any, any, x), ARG(any, any, y),
    RET(any, any, z), ATTR(f64, a))
{
  CCW_TRY(check(x, y, z));
  return axpy_launch(stream, ccw_dtype_of(x), a, x.data, y.data, z.data, ccw_elements(x));
}
#endif

/* z = a * x + y, of any rank, in f32 or f64: one handler that looks at the dtype itself. */
#include <ccw/handler.h>

CCW_HANDLER(axpy, ARG(any, any, x), ARG(any, any, y), RET(any, any, z), ATTR(f64, a))
{
  CCW_TRY(ccw_verify("arg 0 'x'", x, ccw_with_dtype(ccw_any(), f32, f64)));
  CCW_TRY(ccw_verify("arg 1 'y'", y, ccw_like(x)));
  CCW_TRY(ccw_verify("result 0 'z'", z, ccw_like(x)));
  int64_t count = ccw_elements(x);
  if (ccw_dtype_of(x) == XLA_FFI_DataType_F32) {
    const float *from = (const float *)x.data, *plus = (const float *)y.data;
    float *to = (float *)z.data, factor = (float)a;
    for (int64_t i = 0; i < count; ++i) to[i] = factor * from[i] + plus[i];
  } else {
    const double *from = (const double *)x.data, *plus = (const double *)y.data;
    double *to = (double *)z.data;
    for (int64_t i = 0; i < count; ++i) to[i] = a * from[i] + plus[i];
  }
  return ccw_ok();
}

/* y[i] = s * x[i]. */
#include <ccw/handler.h>

CCW_HANDLER(scale, ARG(f32, 1, x), RET(f32, 1, y), ATTR(f32, s))
{
  CCW_TRY(ccw_verify("result 0 'y'", y, ccw_like(x)));
  for (int64_t i = 0; i < x.dims[0]; ++i) y.data[i] = s * x.data[i];
  return ccw_ok();
}

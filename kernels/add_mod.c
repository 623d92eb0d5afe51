/* a[i] = b[i % k] + c[i], the example of XLA's custom-call guide. */
#include <ccw/handler.h>

CCW_HANDLER(add_mod, ARG(f32, 1, b), ARG(f32, 1, c), RET(f32, 1, a))
{
  CCW_TRY(ccw_verify("result 0 'a'", a, ccw_like(c)));
  if (b.dims[0] == 0 && c.dims[0] > 0) return ccw_invalid("arg 0 'b': expected at least 1 element, got f32[0]");
  for (int64_t i = 0; i < c.dims[0]; ++i) a.data[i] = b.data[i % b.dims[0]] + c.data[i];
  return ccw_ok();
}

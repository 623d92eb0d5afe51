/* a[i] = b[i % k] + c[i], the example of XLA's custom-call guide. */
#include <ccw/handler.h>

enum { ROUND = 1024 };

static ccw_status check(ccw_arg_f32 b, ccw_arg_f32 c, ccw_ret_f32 a)
{
  CCW_TRY(ccw_verify("result 0 'a'", a, ccw_like(c)));
  if (b.dims[0] == 0 && c.dims[0] > 0) return ccw_invalid("arg 0 'b': expected at least 1 element, got f32[0]");
  return ccw_ok();
}

/* Goes through b again and again, so that no element has to be divided for. */
static void add_rounds(const float *b, int64_t k, const float *c, float *a, int64_t n)
{
  for (int64_t start = 0; start < n; start += k) {
    int64_t count = n - start < k ? n - start : k;
    for (int64_t i = 0; i < count; ++i) a[start + i] = b[i] + c[start + i];
  }
}

/* The same for a short b: many of them, one after the other, make rounds that are worth their while. */
static void add_short_rounds(const float *b, int64_t k, const float *c, float *a, int64_t n)
{
  float many[ROUND];
  int64_t length = ROUND / k * k;
  for (int64_t i = 0; i < length; ++i) many[i] = b[i % k];
  add_rounds(many, length, c, a, n);
}

CCW_HANDLER(add_mod, ARG(f32, 1, b), ARG(f32, 1, c), RET(f32, 1, a))
{
  CCW_TRY(check(b, c, a));
  int64_t k = b.dims[0], n = c.dims[0];
  (k < ROUND / 2 && k < n ? add_short_rounds : add_rounds)(b.data, k, c.data, a.data, n);
  return ccw_ok();
}

#ifdef CCW_DEVICE /* its code is in add_mod.cu */
ccw_status add_mod_launch(void *stream, const float *b, int64_t k, const float *c, float *a, int64_t n);

CCW_HANDLER(add_mod_device, CTX(stream, stream), TRAIT(command_buffer_compatible), ARG(f32, 1, b), ARG(f32, 1, c),
    RET(f32, 1, a))
{
  CCW_TRY(check(b, c, a));
  return add_mod_launch(stream, b.data, b.dims[0], c.data, a.data, c.dims[0]);
}
#endif

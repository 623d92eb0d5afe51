/* Every kind of attribute, each written to the result as an f64. */
#include <ccw/handler.h>

CCW_ENUM(weather, s32, VALUE(sun, 0), VALUE(rain, 1), VALUE(snow, 2));
CCW_STRUCT(range, MEMBER(s64, lo), MEMBER(s64, hi));

/* A type of its own, decoded by a function: a share of 0 to 100 percent. */
typedef struct share {
  double of_one;
} share;

static ccw_status read_share(ccw_attribute attribute, share *out)
{
  CCW_TRY_LET(double, percent, ccw_as, attribute, f64);
  if (!(percent >= 0 && percent <= 100)) return ccw_invalid("expected 0 to 100 percent, got %g", percent);
  out->of_one = percent / 100;
  return ccw_ok();
}
CCW_ATTR_TYPE(share, read_share);

CCW_HANDLER(attribute_zoo, RET(f64, 1, y), ATTR(pred, flag), ATTR(s8, a), ATTR(s16, b), ATTR(s32, c), ATTR(s64, d),
    ATTR(u8, e), ATTR(u16, f), ATTR(u32, g), ATTR(u64, h), ATTR(f32, i), ATTR(f64, j), ATTR(string, text),
    ATTR(array(s32), counts), ATTR(array(f32), weights), ATTR(enum(weather), sky), ATTR(struct(range), limits),
    ATTR(type(share), part), ATTR(dictionary, more), ATTR(s64, odd, "odd name"))
{
  CCW_TRY_LET(int64_t, inner, ccw_attr, more, "inner", s64); /* out of a dictionary that is read late */
  double sum = 0;
  for (int64_t k = 0; k < counts.size; ++k) sum += counts.data[k];
  for (int64_t k = 0; k < weights.size; ++k) sum += (double)weights.data[k];
  const double all[] = {flag, a, b, c, (double)d, e, f, g, (double)h, (double)i, j, (double)text.size, sum, sky,
      (double)limits.lo, (double)limits.hi, part.of_one, (double)inner, (double)odd};
  const int64_t count = sizeof all / sizeof *all;
  CCW_TRY(ccw_verify("result 0 'y'", y, ccw_dims(count)));
  memcpy(y.data, all, sizeof all);
  return ccw_ok();
}

/* decode.c: handlers of ours that decode and do nothing else. */
#include <ccw/handler.h>

#include "decode.h"

#define ANY(x) ARG(any, any, x)
#define MATRIX(x) ARG(f32, 2, x)

static ccw_status result(int64_t number)
{
  decode_result = number;
  return ccw_ok();
}

CCW_HANDLER(ours_any1, ANY(a)) { return result((intptr_t)a.data); }

CCW_HANDLER(ours_any4, ANY(a), ANY(b), ANY(c), ANY(d)) { return result((intptr_t)d.data); }

CCW_HANDLER(ours_any12, ANY(a), ANY(b), ANY(c), ANY(d), ANY(e), ANY(f), ANY(g), ANY(h), ANY(i), ANY(j), ANY(k), ANY(l))
{
  return result((intptr_t)l.data);
}

CCW_HANDLER(ours_typed4, MATRIX(a), MATRIX(b), MATRIX(c), MATRIX(d)) { return result((intptr_t)d.data); }

CCW_HANDLER(ours_match4, ANY(a), ANY(b), ANY(c), ANY(d))
{
  int64_t rows, cols;
  CCW_TRY(ccw_verify("a", a, ccw_with_dims(ccw_of(f32), &rows, &cols)));
  CCW_TRY(ccw_verify("b", b, ccw_with_dims(ccw_of(f32), rows, cols)));
  CCW_TRY(ccw_verify("c", c, ccw_shape_of(a)));
  CCW_TRY(ccw_verify("d", d, ccw_like(a)));
  return result(rows - cols);
}

CCW_HANDLER(ours_attrs4, ATTR(s32, i32), ATTR(f32, f32), ATTR(string, str), ATTR(s64, i64))
{
  return result(i32 + (int64_t)f32 + str.size + i64);
}

CCW_STRUCT(options, MEMBER(s32, i32), MEMBER(f32, f32), MEMBER(string, str), MEMBER(s64, i64));

CCW_HANDLER(ours_struct4, ATTR(struct(options), options))
{
  return result(options.i32 + (int64_t)options.f32 + options.str.size + options.i64);
}

/* Open, since the official enums take any value. */
CCW_OPEN_ENUM(mode, s32, VALUE(nearest, 0), VALUE(linear, 1), VALUE(cubic, 2));

CCW_HANDLER(
    ours_enum5, ATTR(enum(mode), a), ATTR(enum(mode), b), ATTR(enum(mode), c), ATTR(enum(mode), d), ATTR(enum(mode), e))
{
  return result(a + b + c + d + e);
}

#define ENTRY(name)                               \
  CCW_TRY(ccw_attr(entries, #name, s64, &entry)); \
  sum += entry;

CCW_HANDLER(ours_dictionary16, ATTRS(dictionary, entries))
{
  int64_t entry, sum = 0;
  ENTRY(alpha)
  ENTRY(axis)
  ENTRY(batch)
  ENTRY(beta)
  ENTRY(channels)
  ENTRY(depth)
  ENTRY(epsilon)
  ENTRY(groups)
  ENTRY(height)
  ENTRY(kernel)
  ENTRY(layout)
  ENTRY(mode)
  ENTRY(padding)
  ENTRY(scale)
  ENTRY(stride)
  ENTRY(width)
  return result(sum);
}

CCW_HANDLER(ours_remaining64, REMAINING_ARGS(rest))
{
  int64_t sum = 0;
  for (int64_t i = 0; i < rest.size; ++i) {
    CCW_TRY_LET(ccw_arg_f32, x, ccw_arg_at, rest, i, f32, 1);
    sum += x.dims[0];
  }
  return result(sum);
}

#ifdef ONE_MORE
/* For the size of one handler: it binds what no other does. */
CCW_HANDLER(ours_one_more, MATRIX(a), MATRIX(b), RET(f32, 2, y), ATTR(f32, alpha), ATTR(pred, transposed))
{
  return result((intptr_t)a.data + (intptr_t)b.data + (intptr_t)y.data + (int64_t)alpha + transposed);
}
#endif

/* scale(x: f32[n]) -> (y: f32[n]) {s: f32}. y[i] = s * x[i]. */
#include "plain.h"

EXPORT XLA_FFI_Error *scale(XLA_FFI_CallFrame *frame);

XLA_FFI_Error *scale(XLA_FFI_CallFrame *frame)
{
  if (answer_metadata(frame)) return NULL;
  XLA_FFI_Error *error = check_frame(frame, 1, 1, 1);
  if (error) return error;
  const XLA_FFI_Buffer *x = frame->args.args[0], *y = frame->rets.rets[0];
  if ((error = check_vector(frame, "arg 0 'x'", x, -1))) return error;
  if ((error = check_vector(frame, "result 0 'y'", y, x->dims[0]))) return error;

  const XLA_FFI_ByteSpan *name = frame->attrs.names[0];
  const XLA_FFI_Scalar *s = frame->attrs.attrs[0];
  if (name->len != 1 || name->ptr[0] != 's')
    return INVALID(frame, "attribute 's': missing; there is '%.*s'", (int)name->len, name->ptr);
  if (frame->attrs.types[0] != XLA_FFI_AttrType_SCALAR)
    return INVALID(frame, "attribute 's': expected a scalar, got kind %d", (int)frame->attrs.types[0]);
  if (s->dtype != XLA_FFI_DataType_F32)
    return INVALID(frame, "attribute 's': expected F32, got %s", dtype_name(s->dtype));

  float factor;
  memcpy(&factor, s->value, sizeof factor);
  const float *from = x->data;
  float *to = y->data;
  for (int64_t i = 0; i < x->dims[0]; ++i) to[i] = factor * from[i];
  return NULL;
}

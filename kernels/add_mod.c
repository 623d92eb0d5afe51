/* add_mod(b: f32[k], c: f32[n]) -> (a: f32[n]). a[i] = b[i % k] + c[i], the example of XLA's custom-call guide. */
#include "plain.h"

EXPORT XLA_FFI_Error *add_mod(XLA_FFI_CallFrame *frame);

XLA_FFI_Error *add_mod(XLA_FFI_CallFrame *frame)
{
  if (answer_metadata(frame)) return NULL;
  XLA_FFI_Error *error = check_frame(frame, 2, 1, 0);
  if (error) return error;

  const XLA_FFI_Buffer *b = frame->args.args[0], *c = frame->args.args[1], *a = frame->rets.rets[0];
  if ((error = check_vector(frame, "arg 0 'b'", b, -1))) return error;
  if ((error = check_vector(frame, "arg 1 'c'", c, -1))) return error;
  if ((error = check_vector(frame, "result 0 'a'", a, c->dims[0]))) return error;
  if (b->dims[0] == 0 && c->dims[0] > 0) return INVALID(frame, "arg 0 'b': expected at least 1 element, got f32[0]");

  const float *short_one = b->data, *long_one = c->data;
  float *sum = a->data;
  for (int64_t i = 0; i < c->dims[0]; ++i) sum[i] = short_one[i % b->dims[0]] + long_one[i];
  return NULL;
}

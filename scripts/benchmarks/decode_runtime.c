/* decode_runtime.c: a binding that is declared at run time: nanoseconds of a prepared call of a function that does nothing, with
 * one operand and with nine, and the same of a handler of handler.h. Best of some rounds, which take turns. */
#define _POSIX_C_SOURCE 199309L
#include <time.h>

#include <ccw/ccw.h>
#include <ccw/handler.h>

CCW_HANDLER(one, ARG(f32, 1, a)) { return ccw_ok(); }
CCW_HANDLER(nine, ARG(f32, 1, a), ARG(f32, 1, b), ARG(f32, 1, c), ARG(f32, 1, d), ARG(f32, 1, e), ARG(f32, 1, f),
    ARG(f32, 1, g), ARG(f32, 1, h), ARG(f32, 1, i))
{
  return ccw_ok();
}

static ccw_status nothing(void *context, XLA_FFI_CallFrame *frame)
{
  (void)context, (void)frame;
  return ccw_ok();
}

enum { ROUNDS = 31, CALLS = 20000 };

static void check(ccw_status status)
{
  if (!status.code) return;
  fprintf(stderr, "%s\n", ccw_status_text(status));
  exit(1);
}

static ccw_call *prepare(ccw_handler *handler, int operands)
{
  ccw_buffer *buffers[9];
  ccw_shape shape;
  ccw_call *call;
  check(ccw_shape_make(XLA_FFI_DataType_F32, (int64_t[]){4}, 1, &shape));
  for (int i = 0; i < operands; ++i) check(ccw_buffer_new(&shape, true, &buffers[i]));
  check(ccw_call_prepare(handler, buffers, operands, NULL, 0, NULL, NULL, &call));
  return call;
}

static ccw_call *of_text(const char *text, int operands)
{
  ccw_signature *signature;
  ccw_handler *handler;
  check(ccw_signature_parse(text, strlen(text), NULL, NULL, &signature));
  check(ccw_handler_of_function(
      "runtime", signature, XLA_FFI_ExecutionStage_EXECUTE, NULL, nothing, NULL, NULL, &handler));
  return prepare(handler, operands);
}

static ccw_call *of_c(XLA_FFI_Handler *function, int operands)
{
  XLA_FFI_Handler_Bundle bundle = {.execute = function};
  ccw_handler *handler;
  check(ccw_handler_new("c", &bundle, 0, NULL, &handler));
  return prepare(handler, operands);
}

static double now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

int main(void)
{
  ccw_call *calls[] = {of_text("(f32[?])", 1),
      of_text("(f32[?], f32[?], f32[?], f32[?], f32[?], f32[?], f32[?], f32[?], f32[?])", 9), of_c(one, 1),
      of_c(nine, 9)};
  double best[] = {1e9, 1e9, 1e9, 1e9};
  for (int round = 0; round < ROUNDS; ++round)
    for (int i = 0; i < 4; ++i) {
      double start = now();
      for (int n = 0; n < CALLS; ++n) check(ccw_call_run(calls[i]));
      double each = (now() - start) / CALLS;
      if (each < best[i]) best[i] = each;
    }
  printf("%g %g %g %g\n", best[0], best[1], best[2], best[3]);
  return 0;
}

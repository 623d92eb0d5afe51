/* What a checked call finds, and what it lets be. Prints a line for each promise that is broken. */
#define _POSIX_C_SOURCE 200809L

#include <ccw/ccw.h>
#include <ccw/handler.h>

#include "expect.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void must(ccw_status status)
{
  if (!status.code) return;
  printf("%s\n", ccw_status_text(status));
  abort();
}

/* ---- calls ----------------------------------------------------------------------------------------------------------- */

/* A call with its buffers. */
typedef struct trial {
  ccw_handler *handler;
  ccw_buffer *in[2], *out[2];
  ccw_call *call;
} trial;

static ccw_buffer *new_buffer(const char *type)
{
  ccw_shape shape;
  ccw_buffer *buffer;
  must(ccw_shape_parse(type, strlen(type), &shape));
  must(ccw_buffer_new(&shape, true, &buffer));
  return buffer;
}

static int buffers_of(const char *const types[2], ccw_buffer *out_buffers[2])
{
  int count = 0;
  for (; count < 2 && types[count]; ++count) out_buffers[count] = new_buffer(types[count]);
  return count;
}

/* A handler of that function, which knows its operands by name: they are x and z, y and w. */
static ccw_handler *handler_of(const char *name, XLA_FFI_Handler *function, bool named)
{
  ccw_handler *handler;
  must(ccw_handler_new(name, &(XLA_FFI_Handler_Bundle){.execute = function}, 0, NULL, &handler));
  if (!named) return handler;
  char text[] = "(x: any[*], z?: any[*]) -> (y?: any[*], w?: any[*])";
  ccw_signature *signature;
  must(ccw_signature_parse(text, strlen(text), NULL, NULL, &signature));
  ccw_handler_set_signature(handler, signature);
  ccw_signature_release(signature);
  return handler;
}

typedef struct types {
  const char *in[2], *out[2];
} types;

static trial prepare(const char *name, XLA_FFI_Handler *function, types t, ccw_call_options options)
{
  trial made = {.handler = handler_of(name, function, true)};
  int in = buffers_of(t.in, made.in), out = buffers_of(t.out, made.out);
  options.checked = true;
  must(ccw_call_prepare(made.handler, made.in, in, made.out, out, NULL, &options, &made.call));
  return made;
}

static void end(trial *t)
{
  ccw_call_free(t->call);
  for (int i = 0; i < 2; ++i) {
    ccw_buffer_release(t->in[i]);
    ccw_buffer_release(t->out[i]);
  }
  ccw_handler_release(t->handler);
}

/* What the report says, in a static buffer of the thread, with N in the place of the numbers of lines. */
static const char *told(ccw_status status)
{
  static _Thread_local char text[4096];
  snprintf(text, sizeof text, "%s: ", status.code ? ccw_code_name(status.code) : "OK");
  size_t at = strlen(text);
  for (const char *from = ccw_status_text(status); *from && at + 2 < sizeof text;) {
    text[at++] = *from++;
    if (strncmp(from - 1, ":", 1) != 0 || *from < '1' || *from > '9') continue;
    while (*from >= '0' && *from <= '9') ++from;
    text[at++] = 'N';
  }
  text[at] = '\0';
  ccw_status_free(status);
  return text;
}

static bool is_told(ccw_status status, const char *expected)
{
  const char *text = told(status);
  bool same = strcmp(text, expected) == 0;
  if (!same) printf("expected: %s\n     got: %s\n", expected, text);
  return same;
}

static bool tells_with(
    const char *name, XLA_FFI_Handler *function, types t, ccw_call_options options, const char *expected)
{
  trial made = prepare(name, function, t, options);
  bool same = is_told(ccw_call_run(made.call), expected);
  end(&made);
  return same;
}

#define TYPES(x, y)         \
  (types)                   \
  {                         \
    .in = {x}, .out = { y } \
  }
#define TELLS(function, x, y, expected) \
  EXPECT(tells_with(#function, function, TYPES(x, y), (ccw_call_options){0}, expected))
#define TELLS_ONCE(function, x, y, expected) \
  EXPECT(tells_with(#function, function, TYPES(x, y), (ccw_call_options){.has_side_effect = true}, expected))

/* ---- handlers -------------------------------------------------------------------------------------------------------- */

#define X_TO_Y ARG(any, any, x), RET(any, any, y)

static volatile float seen; /* so that reads are not left out */
static volatile int *volatile nowhere = (volatile int *)64;

CCW_HANDLER(copy, X_TO_Y)
{
  if (y.data) memcpy(y.data, x.data, (size_t)ccw_bytes(y)); /* a token has none */
  return ccw_ok();
}

/* In blocks of 32, as if there were always so many. */
CCW_HANDLER(sum_blocks, X_TO_Y)
{
  const float *from = x.data;
  float sum = 0;
  for (int64_t i = 0; i < ccw_elements(x); i += 32)
    for (int64_t j = 0; j < 32; ++j) sum += from[i + j];
  *(float *)y.data = sum;
  return ccw_ok();
}

CCW_HANDLER(read_far, X_TO_Y)
{
  memset(y.data, 1, (size_t)ccw_bytes(y));
  seen = ((const float *)x.data)[ccw_elements(x) + 5000];
  return ccw_ok();
}

CCW_HANDLER(read_before, X_TO_Y)
{
  memset(y.data, 1, (size_t)ccw_bytes(y));
  seen = ((const float *)x.data)[-1];
  return ccw_ok();
}

CCW_HANDLER(write_one_more, X_TO_Y)
{
  (void)x;
  for (int64_t i = 0; i <= ccw_elements(y); ++i) ((volatile float *)y.data)[i] = 1;
  return ccw_ok();
}

CCW_HANDLER(write_before, X_TO_Y)
{
  (void)x;
  for (int64_t i = -2; i < ccw_elements(y); ++i) ((volatile float *)y.data)[i] = 1;
  return ccw_ok();
}

CCW_HANDLER(write_times_four, X_TO_Y)
{
  (void)x;
  for (int64_t i = 0; i < ccw_bytes(y); ++i) ((volatile float *)y.data)[i] = 1;
  return ccw_ok();
}

CCW_HANDLER(read_result_behind, X_TO_Y)
{
  (void)x;
  memset(y.data, 1, (size_t)ccw_bytes(y));
  seen = ((volatile float *)y.data)[ccw_elements(y)];
  return ccw_ok();
}

CCW_HANDLER(write_operand, X_TO_Y)
{
  ((volatile float *)(uintptr_t)x.data)[2] = 5;
  for (int64_t i = 0; i < ccw_elements(y); ++i) ((float *)y.data)[i] = ((const float *)x.data)[i];
  return ccw_ok();
}

/* A byte an element, also of elements of less. */
CCW_HANDLER(copy_bytes, X_TO_Y)
{
  for (int64_t i = 0; i < ccw_elements(x); ++i) ((volatile char *)y.data)[i] = ((const volatile char *)x.data)[i];
  return ccw_ok();
}

CCW_HANDLER(leave_middle, X_TO_Y)
{
  (void)x;
  size_t third = (size_t)ccw_bytes(y) / 3;
  memset(y.data, 1, third);
  memset((char *)y.data + 2 * third, 1, (size_t)ccw_bytes(y) - 2 * third);
  return ccw_ok();
}

/* Everything but element 4. */
CCW_HANDLER(leave_one, X_TO_Y)
{
  (void)x;
  for (int64_t i = 0; i < ccw_bytes(y); ++i)
    if (i != 4) ((char *)y.data)[i] = (char)i;
  return ccw_ok();
}

CCW_HANDLER(write_nothing, X_TO_Y)
{
  (void)x, (void)y;
  return ccw_ok();
}

/* Writes the bytes that are there in the first run, in each run. */
static unsigned char legit[8];
static int legit_runs;

CCW_HANDLER(write_what_is_there, X_TO_Y)
{
  (void)x;
  if (legit_runs++ == 0) memcpy(legit, y.data, sizeof legit);
  memcpy(y.data, legit, sizeof legit);
  return ccw_ok();
}

static void *read_behind(void *data)
{
  seen = ((const float *)data)[5000];
  return NULL;
}

CCW_HANDLER(read_in_thread, X_TO_Y)
{
  pthread_t thread;
  memset(y.data, 1, (size_t)ccw_bytes(y));
  if (pthread_create(&thread, NULL, read_behind, (void *)(uintptr_t)x.data) != 0) return ccw_internal("no thread");
  pthread_join(thread, NULL);
  return ccw_ok();
}

CCW_HANDLER(fail_after_fault, X_TO_Y)
{
  (void)y;
  seen = ((const float *)x.data)[5000];
  return ccw_aborted("had enough");
}

CCW_HANDLER(crash_in_child, X_TO_Y)
{
  static int runs;
  memset(y.data, 1, (size_t)ccw_bytes(y));
  if (runs++ > 0) {
    seen = ((const float *)x.data)[5000]; /* seen, and not told */
    *nowhere = 1;
  }
  return ccw_ok();
}

CCW_HANDLER(hang_in_child, X_TO_Y)
{
  static int runs;
  (void)x;
  memset(y.data, 1, (size_t)ccw_bytes(y));
  for (volatile bool forever = runs++ > 0; forever;) continue;
  return ccw_ok();
}

CCW_HANDLER(print_a_line, X_TO_Y)
{
  static const char line[] = "a line\n";
  (void)x;
  memset(y.data, 1, (size_t)ccw_bytes(y));
  return write(STDOUT_FILENO, line, sizeof line - 1) < 0 ? ccw_internal("not written") : ccw_ok();
}

CCW_HANDLER(add_in_place, X_TO_Y)
{
  for (int64_t i = 0; i < ccw_elements(x); ++i) ((float *)y.data)[i] = ((const float *)x.data)[i] + 1;
  return ccw_ok();
}

CCW_HANDLER(add_in_place_and_behind, X_TO_Y)
{
  for (int64_t i = 0; i <= ccw_elements(x); ++i)
    ((volatile float *)y.data)[i] = ((const volatile float *)x.data)[i] + 1;
  return ccw_ok();
}

/* Runs a checked call of its own, which fails. */
CCW_HANDLER(run_another, X_TO_Y)
{
  (void)x;
  for (int64_t i = 0; i <= ccw_elements(y); ++i) ((volatile float *)y.data)[i] = 1;
  trial inner = prepare("sum_blocks", sum_blocks, TYPES("f32[63]", "f32[]"), (ccw_call_options){0});
  ccw_status status = ccw_call_run(inner.call);
  bool good = strncmp(told(status), "OUT_OF_RANGE: sum_blocks: execute: arg 0 'x': read past", 55) == 0;
  end(&inner);
  return good ? ccw_ok() : ccw_internal("the inner call told something else");
}

/* Reads past the end of z, writes past that of w and leaves y alone. */
CCW_HANDLER(do_all_of_it, ARG(any, any, x), ARG(any, any, z), RET(any, any, y), RET(any, any, w))
{
  (void)x, (void)y;
  seen = ((const volatile float *)z.data)[ccw_elements(z)];
  for (int64_t i = 0; i <= ccw_elements(w); ++i) ((volatile double *)w.data)[i] = 1;
  return ccw_ok();
}

/* ---- accesses -------------------------------------------------------------------------------------------------------- */

static void who_stays_within_is_left_alone(void)
{
  TELLS(copy, "f32[63]", "f32[63]", "OK: ");
  TELLS(copy, "f32[1024]", "f32[1024]", "OK: ");
  TELLS(copy, "f32[300,1000]", "f32[300,1000]", "OK: ");
  TELLS(copy, "f32[]", "f32[]", "OK: ");
  TELLS(copy, "f32[0,3]", "f32[0,3]", "OK: ");
  TELLS(copy, "s4[5]", "s4[5]", "OK: ");
  TELLS(copy, "u1[13]", "u1[13]", "OK: ");
  TELLS(copy, "c128[3]", "c128[3]", "OK: ");
  TELLS(copy, "token[]", "token[]", "OK: ");
}

static void reads_outside_are_told(void)
{
  TELLS(sum_blocks, "f32[64]", "f32[]", "OK: ");
  TELLS(sum_blocks, "f32[63]", "f32[]",
      "OUT_OF_RANGE: sum_blocks: execute: arg 0 'x': read past its end, element 64 of 63, in sum_blocks (guard.c:N)");
  TELLS(sum_blocks, "f32[1025]", "f32[]",
      "OUT_OF_RANGE: sum_blocks: execute: arg 0 'x': read past its end, element 1026 of 1025, in sum_blocks "
      "(guard.c:N)");
  TELLS(sum_blocks, "f32[]", "f32[]",
      "OUT_OF_RANGE: sum_blocks: execute: arg 0 'x': read past its end, element 2 of 1, in sum_blocks (guard.c:N)");
  TELLS(read_far, "f32[4]", "f32[4]",
      "OUT_OF_RANGE: read_far: execute: arg 0 'x': read past its end, element 5005 of 4, in read_far (guard.c:N)");
  TELLS(read_far, "f32[0]", "f32[4]",
      "OUT_OF_RANGE: read_far: execute: arg 0 'x': read past its end, element 5001 of 0, in read_far (guard.c:N)");
  TELLS(read_result_behind, "f32[4]", "f32[5]",
      "OUT_OF_RANGE: read_result_behind: execute: result 0 'y': read past its end, element 6 of 5, "
      "in read_result_behind (guard.c:N)");
  TELLS(read_before, "f32[1024]", "f32[4]",
      "OUT_OF_RANGE: read_before: execute: arg 0 'x': read in front of its beginning, 1 element before it, "
      "in read_before (guard.c:N)");
  TELLS(read_before, "f32[3]", "f32[4]",
      "OUT_OF_RANGE: read_before: execute: arg 0 'x': read in front of its beginning, 1 element before it, "
      "in read_before (guard.c:N)");
}

static void a_fault_in_memcpy_is_told_of_who_called_it(void)
{
  trial t = prepare("copy", copy, TYPES("f32[4]", "f32[2000]"), (ccw_call_options){0});
  const char *text = told(ccw_call_run(t.call));
  EXPECT(strstr(text, "OUT_OF_RANGE: copy: execute: arg 0 'x': read past its end, element ") == text);
  EXPECT(strstr(text, " of 4, in copy (guard.c:N)"));
  end(&t);
}

static void writes_outside_are_told(void)
{
  TELLS(write_one_more, "f32[4]", "f32[1024]",
      "OUT_OF_RANGE: write_one_more: execute: result 0 'y': written past its end, element 1025 of 1024, "
      "in write_one_more (guard.c:N)");
  TELLS(write_one_more, "f32[4]", "f32[4]",
      "OUT_OF_RANGE: write_one_more: execute: result 0 'y': written past its end, element 5 of 4, "
      "in write_one_more (guard.c:N)");
  TELLS(write_one_more, "f32[4]", "f32[0]",
      "OUT_OF_RANGE: write_one_more: execute: result 0 'y': written past its end, element 1 of 0, "
      "in write_one_more (guard.c:N)");
  TELLS_ONCE(write_one_more, "f32[4]", "f32[4]",
      "OUT_OF_RANGE: write_one_more: execute: result 0 'y': written past its end, element 5 of 4");
  TELLS(write_times_four, "f32[4]", "f32[1000000]",
      "OUT_OF_RANGE: write_times_four: execute: result 0 'y': written past its end, element 1000001 of 1000000, "
      "in write_times_four (guard.c:N)");
  TELLS(write_before, "f32[4]", "f32[4]",
      "OUT_OF_RANGE: write_before: execute: result 0 'y': written in front of its beginning, 1 element before it, "
      "in write_before (guard.c:N)");
  TELLS_ONCE(write_one_more, "f32[4]", "f32[1024]",
      "OUT_OF_RANGE: write_one_more: execute: result 0 'y': written past its end, element 1025 of 1024, "
      "in write_one_more (guard.c:N)");
  TELLS_ONCE(write_times_four, "f32[4]", "f32[1000001]",
      "OUT_OF_RANGE: write_times_four: execute: result 0 'y': written past its end, element 1000002 of 1000001, "
      "in write_times_four (guard.c:N)");
  TELLS_ONCE(write_before, "f32[4]", "f32[4]",
      "OUT_OF_RANGE: write_before: execute: result 0 'y': written in front of its beginning, 1 element before it");
}

static void writes_to_operands_are_told(void)
{
  TELLS(write_operand, "f32[63]", "f32[63]",
      "PERMISSION_DENIED: write_operand: execute: arg 0 'x': written, an operand is read only, element 3 of 63, "
      "in write_operand (guard.c:N)");
  trial t = prepare("write_operand", write_operand, TYPES("f32[4]", "f32[4]"), (ccw_call_options){0});
  ccw_status_free(ccw_call_run(t.call));
  EXPECT(ccw_buffer_get(t.in[0], 2).as.f == 0 && ccw_buffer_get(t.out[0], 2).as.f == 5);
  end(&t);
}

static void packed_elements_that_are_taken_for_bytes_are_told(void)
{
  TELLS(copy_bytes, "s4[4]", "s4[4]",
      "OUT_OF_RANGE: copy_bytes: execute: 2 faults\n"
      "  arg 0 'x': read past its end, element 5 of 4, in copy_bytes (guard.c:N)\n"
      "  result 0 'y': written past its end, element 5 of 4, in copy_bytes (guard.c:N)");
  TELLS_ONCE(copy_bytes, "s4[4]", "s4[4]",
      "OUT_OF_RANGE: copy_bytes: execute: result 0 'y': written past its end, element 5 of 4");
}

static void operands_without_names_have_none(void)
{
  ccw_handler *handler = handler_of("write_one_more", write_one_more, false);
  ccw_buffer *x = new_buffer("f32[4]"), *y = new_buffer("f32[4]");
  ccw_call *call;
  ccw_call_options options = {.checked = true, .has_side_effect = true};
  must(ccw_call_prepare(handler, &x, 1, &y, 1, NULL, &options, &call));
  EXPECT(is_told(
      ccw_call_run(call), "OUT_OF_RANGE: write_one_more: execute: result 0: written past its end, element 5 of 4"));
  ccw_call_free(call);
  ccw_buffer_release(x);
  ccw_buffer_release(y);
  ccw_handler_release(handler);
}

static void all_is_told_at_once(void)
{
  types t = {.in = {"f32[2]", "f32[3]"}, .out = {"u8[4]", "f64[1]"}};
  EXPECT(tells_with("all", do_all_of_it, t, (ccw_call_options){0},
      "OUT_OF_RANGE: all: execute: 3 faults\n"
      "  arg 1 'z': read past its end, element 4 of 3, in do_all_of_it (guard.c:N)\n"
      "  result 1 'w': written past its end, element 2 of 1, in do_all_of_it (guard.c:N)\n"
      "  result 0 'y': 4 of 4 elements were never written, the first is [1]"));
}

static void a_failure_stays_first(void)
{
  TELLS(fail_after_fault, "f32[4]", "f32[4]",
      "ABORTED: fail_after_fault: execute: had enough\n"
      "  arg 0 'x': read past its end, element 5001 of 4, in fail_after_fault (guard.c:N)");
}

/* ---- what was not written -------------------------------------------------------------------------------------------- */

static void elements_that_were_not_written_are_told(void)
{
  TELLS(leave_middle, "f32[]", "f32[63]",
      "DATA_LOSS: leave_middle: execute: result 0 'y': 21 of 63 elements were never written, the first is [22]");
  TELLS(leave_middle, "f32[]", "f32[3,4]",
      "DATA_LOSS: leave_middle: execute: result 0 'y': 4 of 12 elements were never written, the first is [2][1]");
  TELLS(leave_one, "f32[]", "u8[100]",
      "DATA_LOSS: leave_one: execute: result 0 'y': 1 of 100 elements was never written, the first is [5]");
  TELLS(leave_one, "f32[]", "u4[100]",
      "DATA_LOSS: leave_one: execute: result 0 'y': 2 of 100 elements were never written, the first is [9]");
  TELLS(write_nothing, "f32[]", "u4[3]",
      "DATA_LOSS: write_nothing: execute: result 0 'y': 3 of 3 elements were never written, the first is [1]");
  TELLS(write_nothing, "f32[]", "f64[]", "DATA_LOSS: write_nothing: execute: result 0 'y': was never written");
  TELLS(write_nothing, "f32[]", "c128[2]",
      "DATA_LOSS: write_nothing: execute: result 0 'y': 2 of 2 elements were never written, the first is [1]");
  TELLS(write_nothing, "f32[]", "f32[0]", "OK: ");
  TELLS(write_nothing, "f32[]", "token[]", "OK: ");
}

static void in_one_run_single_bytes_are_not_held_for_unwritten(void)
{
  TELLS_ONCE(leave_one, "f32[]", "u8[100]", "OK: ");
  TELLS_ONCE(leave_middle, "f32[]", "u8[63]",
      "DATA_LOSS: leave_middle: execute: result 0 'y': 21 of 63 elements were never written, the first is [22]");
  TELLS_ONCE(leave_one, "f32[]", "f32[3]", "OK: ");
}

static void a_value_that_equals_the_pattern_is_written(void)
{
  legit_runs = 0;
  TELLS(write_what_is_there, "f32[]", "u8[8]", "OK: ");
}

/* ---- threads, children, other calls ---------------------------------------------------------------------------------- */

static void threads_of_the_handler_are_watched_too(void)
{
  TELLS_ONCE(read_in_thread, "f32[4]", "f32[4]",
      "OUT_OF_RANGE: read_in_thread: execute: arg 0 'x': read past its end, element 5001 of 4, in read_behind "
      "(guard.c:N)");
}

static void a_child_that_does_not_end_well_is_forgotten(void)
{
  TELLS(crash_in_child, "f32[4]", "f32[4]", "OK: ");
  TELLS(hang_in_child, "f32[4]", "f32[4]", "OK: ");
}

static void a_child_says_nothing(void)
{
  int ends[2];
  if (pipe(ends) != 0) abort();
  fflush(stdout);
  int kept = dup(STDOUT_FILENO);
  dup2(ends[1], STDOUT_FILENO);
  bool good = tells_with("print_a_line", print_a_line, TYPES("f32[4]", "f32[4]"), (ccw_call_options){0}, "OK: ");
  dup2(kept, STDOUT_FILENO);
  close(kept);
  close(ends[1]);
  char text[64];
  ssize_t length = read(ends[0], text, sizeof text);
  close(ends[0]);
  EXPECT(good && length == 7);
}

static void calls_may_be_nested(void)
{
  TELLS(run_another, "f32[]", "f32[1024]",
      "OUT_OF_RANGE: run_another: execute: result 0 'y': written past its end, element 1025 of 1024, "
      "in run_another (guard.c:N)");
}

static void *run_many(void *context)
{
  trial t = prepare("sum_blocks", sum_blocks, TYPES("f32[1025]", "f32[]"), (ccw_call_options){.has_side_effect = true});
  for (int i = 0; i < 30; ++i)
    if (!is_told(ccw_call_run(t.call), "OUT_OF_RANGE: sum_blocks: execute: arg 0 'x': read past its end, element 1041 "
                                       "of 1025, in sum_blocks (guard.c:N)"))
      ++*(int *)context;
  end(&t);
  t = prepare("sum_blocks", sum_blocks, TYPES("f32[63]", "f32[]"), (ccw_call_options){0});
  for (int i = 0; i < 5; ++i)
    if (!is_told(ccw_call_run(t.call),
            "OUT_OF_RANGE: sum_blocks: execute: arg 0 'x': read past its end, element 64 of 63, "
            "in sum_blocks (guard.c:N)"))
      ++*(int *)context;
  end(&t);
  for (int i = 0; i < 20; ++i)
    if (!tells_with("copy", copy, TYPES("f32[63]", "f32[63]"), (ccw_call_options){.has_side_effect = true}, "OK: "))
      ++*(int *)context;
  return NULL;
}

static void calls_may_run_in_threads_at_once(void)
{
  pthread_t threads[3];
  int wrong[3] = {0};
  for (int i = 0; i < 3; ++i)
    if (pthread_create(&threads[i], NULL, run_many, &wrong[i]) != 0) abort();
  for (int i = 0; i < 3; ++i) {
    pthread_join(threads[i], NULL);
    EXPECT(wrong[i] == 0);
  }
}

/* ---- aliases --------------------------------------------------------------------------------------------------------- */

static void an_aliased_result_is_its_operand(void)
{
  ccw_alias alias = {0, 0};
  ccw_call_options options = {.aliases = &alias, .alias_count = 1, .checked = true};
  ccw_handler *handler = handler_of("add_in_place", add_in_place, true);
  ccw_buffer *x = new_buffer("f32[63]"), *y = new_buffer("f32[63]");
  ccw_call *call;
  must(ccw_call_prepare(handler, &x, 1, &x, 1, NULL, &options, &call));
  for (int i = 1; i <= 3; ++i) {
    EXPECT(is_told(ccw_call_run(call), "OK: "));
    EXPECT(ccw_buffer_get(x, 62).as.f == i);
  }
  ccw_call_free(call);
  must(ccw_call_prepare(handler, &x, 1, &y, 1, NULL, &options, &call)); /* the operand is copied */
  for (int i = 1; i <= 3; ++i) {
    EXPECT(is_told(ccw_call_run(call), "OK: "));
    EXPECT(ccw_buffer_get(x, 62).as.f == 3 && ccw_buffer_get(y, 62).as.f == 4);
  }
  ccw_call_free(call);
  ccw_handler_release(handler);
  handler = handler_of("behind", add_in_place_and_behind, true);
  must(ccw_call_prepare(handler, &x, 1, &x, 1, NULL, &options, &call));
  EXPECT(is_told(ccw_call_run(call),
      "OUT_OF_RANGE: behind: execute: 2 faults\n"
      "  result 0 'y': read past its end, element 64 of 63, in add_in_place_and_behind (guard.c:N)\n"
      "  result 0 'y': written past its end, element 64 of 63, in add_in_place_and_behind (guard.c:N)"));
  ccw_call_free(call);
  ccw_handler_release(handler);
  ccw_buffer_release(x);
  ccw_buffer_release(y);
}

/* ---- faults of others ------------------------------------------------------------------------------------------------ */

static void on_fault_of_others(int number)
{
  (void)number;
  _exit(42);
}

static int ended(pid_t child)
{
  int status;
  if (child < 0 || waitpid(child, &status, 0) != child) abort();
  return status;
}

/* Before the first checked call of this process: what caught faults then is what they are handed on to. */
static void other_faults_go_to_who_caught_them_before(void)
{
  for (int how = 0; how < 3; ++how) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
      signal(SIGSEGV, how == 0 ? on_fault_of_others : SIG_DFL);
      if (!tells_with("copy", copy, TYPES("f32[3]", "f32[3]"), (ccw_call_options){0}, "OK: ")) _exit(1);
      if (how < 2)
        *nowhere = 1;
      else
        raise(SIGSEGV);
      _exit(2);
    }
    int status = ended(child);
    EXPECT(
        how == 0 ? WIFEXITED(status) && WEXITSTATUS(status) == 42 : WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
  }
}

/* ---- memory ---------------------------------------------------------------------------------------------------------- */

static void runs_take_no_memory(void)
{
  trial t = prepare("copy", copy, TYPES("f32[63]", "f32[63]"), (ccw_call_options){.has_side_effect = true});
  must(ccw_call_run(t.call));
  ccw_memory_use before = ccw_memory_in_use();
  for (int i = 0; i < 1000; ++i) must(ccw_call_run(t.call));
  EXPECT(ccw_memory_in_use().allocations == before.allocations);
  end(&t);

  t = prepare(
      "write_one_more", write_one_more, TYPES("f32[63]", "f32[1024]"), (ccw_call_options){.has_side_effect = true});
  before = ccw_memory_in_use();
  for (int i = 0; i < 200; ++i) ccw_status_free(ccw_call_run(t.call));
  EXPECT(ccw_memory_in_use().bytes == before.bytes && ccw_memory_in_use().blocks == before.blocks);
  end(&t);
}

static void many_calls_may_be_prepared(void)
{
  enum { MANY = 1000 };
  static trial trials[MANY];
  for (int i = 0; i < MANY; ++i)
    trials[i] = prepare(
        "write_one_more", write_one_more, TYPES("f32[4]", "f32[4]"), (ccw_call_options){.has_side_effect = true});
  for (int i = 0; i < MANY; i += 99)
    EXPECT(is_told(ccw_call_run(trials[i].call),
        "OUT_OF_RANGE: write_one_more: execute: result 0 'y': written past its end, element 5 of 4"));
  for (int i = 0; i < MANY; ++i) end(&trials[i]);
  for (int i = 0; i < 5 * MANY; ++i) { /* one after the other */
    trials[0] = prepare("copy", copy, TYPES("f32[4]", "f32[4]"), (ccw_call_options){0});
    end(&trials[0]);
  }
}

static ccw_allocator original;
static int until_failure;

static void *allocate(void *context, size_t size, bool zeroed)
{
  (void)context;
  return until_failure-- <= 0 ? NULL : original.allocate(original.context, size, zeroed);
}

static void release(void *context, void *block, size_t size)
{
  (void)context;
  original.release(original.context, block, size);
}

static void a_call_without_memory_fails_cleanly(void)
{
  ccw_handler *handler = handler_of("copy_bytes", copy_bytes, true);
  ccw_buffer *x = new_buffer("s4[4]"), *y = new_buffer("s4[4]");
  ccw_memory_use before = ccw_memory_in_use();
  int failures = 0;
  for (bool done = false; !done; ++failures) {
    ccw_call *call;
    until_failure = failures;
    original = ccw_memory_replace((ccw_allocator){allocate, release, NULL});
    ccw_status status = ccw_call_prepare(handler, &x, 1, &y, 1, NULL, &(ccw_call_options){.checked = true}, &call);
    if (!status.code) {
      status = ccw_call_run(call);
      done = until_failure > 0;
      EXPECT(status.code == XLA_FFI_Error_Code_OUT_OF_RANGE || status.code == XLA_FFI_Error_Code_RESOURCE_EXHAUSTED);
      ccw_call_free(call);
    } else {
      EXPECT(status.code == XLA_FFI_Error_Code_RESOURCE_EXHAUSTED);
    }
    ccw_status_free(status);
    ccw_memory_replace(original);
    EXPECT(ccw_memory_in_use().blocks == before.blocks);
  }
  EXPECT(failures > 4);
  ccw_buffer_release(x);
  ccw_buffer_release(y);
  ccw_handler_release(handler);
}

int main(void)
{
  other_faults_go_to_who_caught_them_before();
  who_stays_within_is_left_alone();
  reads_outside_are_told();
  a_fault_in_memcpy_is_told_of_who_called_it();
  writes_outside_are_told();
  writes_to_operands_are_told();
  packed_elements_that_are_taken_for_bytes_are_told();
  operands_without_names_have_none();
  all_is_told_at_once();
  a_failure_stays_first();
  elements_that_were_not_written_are_told();
  in_one_run_single_bytes_are_not_held_for_unwritten();
  a_value_that_equals_the_pattern_is_written();
  threads_of_the_handler_are_watched_too();
  a_child_that_does_not_end_well_is_forgotten();
  a_child_says_nothing();
  calls_may_be_nested();
  calls_may_run_in_threads_at_once();
  an_aliased_result_is_its_operand();
  runs_take_no_memory();
  many_calls_may_be_prepared();
  a_call_without_memory_fails_cleanly();
  printf("%d broken\n", broken);
  return broken > 0;
}

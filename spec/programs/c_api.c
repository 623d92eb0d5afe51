/* What is promised to C and cannot be seen from Lua. Prints a line for each promise that is broken. */
#include <ccw/ccw.h>

#include "expect.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ccw_shape shape_of(const char *text)
{
  ccw_shape shape;
  ccw_status status = ccw_shape_parse(text, strlen(text), &shape);
  if (status.code) abort();
  return shape;
}

static bool succeeds(ccw_status status)
{
  bool good = !status.code;
  if (!good) printf("%s\n", ccw_status_text(status));
  ccw_status_free(status);
  return good;
}

static bool fails(ccw_status status, XLA_FFI_Error_Code code)
{
  bool as_expected = status.code == code;
  ccw_status_free(status);
  return as_expected;
}

/* ---- an allocator that fails ----------------------------------------------------------------------------------------- */

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

static void fail_after(int allocations)
{
  until_failure = allocations;
  original = ccw_memory_replace((ccw_allocator){allocate, release, NULL});
}

static void fail_no_more(void) { ccw_memory_replace(original); }

/* ---- imported memory ------------------------------------------------------------------------------------------------- */

static int released;

static void count_release(void *context, void *memory)
{
  EXPECT(context == &released);
  EXPECT(memory != NULL);
  ++released;
}

static void imported_memory_is_released_once_and_when_nobody_needs_it(void)
{
  static _Alignas(64) float memory[4] = {1, 2, 3, 4};
  ccw_shape four = shape_of("f32[4]"), two = shape_of("f32[2]");
  ccw_buffer *buffer, *view;
  bool copied;
  released = 0;
  EXPECT(succeeds(ccw_buffer_import(&four, memory, count_release, &released, &copied, &buffer)));
  EXPECT(!copied && ccw_buffer_data(buffer) == memory);
  EXPECT(succeeds(ccw_buffer_view(buffer, &two, 2, &view)));
  ccw_buffer_release(buffer);
  EXPECT(released == 0); /* the view needs it */
  EXPECT(ccw_buffer_get(view, 1).as.f == 4);
  ccw_buffer_release(view);
  EXPECT(released == 1);

  EXPECT(succeeds(ccw_buffer_import(&two, memory + 1, count_release, &released, &copied, &buffer)));
  EXPECT(copied && released == 2 && ccw_buffer_get(buffer, 0).as.f == 2);
  ccw_buffer_release(buffer);
  EXPECT(released == 2);
}

static void memory_that_could_not_be_imported_is_not_released(void)
{
  static _Alignas(64) float memory[4];
  ccw_shape shape = shape_of("f32[2]");
  ccw_buffer *buffer;
  bool copied;
  released = 0;
  for (int start = 0; start < 2; ++start) /* in place, and copied */
    for (int n = 0; n < 2; ++n) {
      fail_after(n);
      EXPECT(fails(ccw_buffer_import(&shape, memory + start, count_release, &released, &copied, &buffer),
          XLA_FFI_Error_Code_RESOURCE_EXHAUSTED));
      fail_no_more();
    }
  EXPECT(released == 0);
}

/* ---- packed elements ------------------------------------------------------------------------------------------------- */

static void packed_elements_are_copied_like_others_where_they_overlap(void)
{
  ccw_shape eight = shape_of("u4[8]"), six = shape_of("u4[6]");
  for (int from = 0; from < 3; ++from)
    for (int to = 0; to < 3; ++to) {
      ccw_buffer *all, *source, *target;
      EXPECT(succeeds(ccw_buffer_new(&eight, true, &all)));
      EXPECT(succeeds(ccw_buffer_iota(all, -1)));
      EXPECT(succeeds(ccw_buffer_view(all, &six, from, &source)));
      EXPECT(succeeds(ccw_buffer_view(all, &six, to, &target)));
      EXPECT(succeeds(ccw_buffer_copy(source, target)));
      for (int i = 0; i < 8; ++i) {
        int expected = i >= to && i < to + 6 ? i - to + from : i;
        EXPECT(ccw_buffer_get(all, i).as.u == (uint64_t)expected);
      }
      ccw_buffer_release(source);
      ccw_buffer_release(target);
      ccw_buffer_release(all);
    }
}

/* ---- text without bytes ---------------------------------------------------------------------------------------------- */

static void names_of_no_bytes_may_be_null(void)
{
  ccw_attributes_builder *builder;
  ccw_attributes *attributes;
  ccw_handler *handler;
  EXPECT(succeeds(ccw_attributes_begin(&builder)));
  ccw_scalar one = {.dtype = XLA_FFI_DataType_S32, .as.s = 1};
  EXPECT(succeeds(ccw_attributes_add_scalar(builder, NULL, 0, one)));
  EXPECT(succeeds(ccw_attributes_add_string(builder, "s", 1, NULL, 0)));
  EXPECT(succeeds(ccw_attributes_finish(builder, &attributes)));
  EXPECT(ccw_attributes_abi(attributes)->size == 2);
  ccw_attributes_release(attributes);
  EXPECT(fails(ccw_registry_find(NULL, 0, "Host", 4, &handler), XLA_FFI_Error_Code_NOT_FOUND));
  EXPECT(fails(ccw_registry_find("x", 1, NULL, 0, &handler), XLA_FFI_Error_Code_INVALID_ARGUMENT));
}

/* ---- threads --------------------------------------------------------------------------------------------------------- */

enum { THREADS = 8, ROUNDS = 200 };

/* ---- functions as handlers ------------------------------------------------------------------------------------------- */

static ccw_status add_one(void *context, XLA_FFI_CallFrame *frame)
{
  const XLA_FFI_Buffer *x = frame->args.args[0], *y = frame->rets.rets[0];
  ++*(int *)context;
  for (int64_t i = 0; i < x->dims[0]; ++i) ((float *)y->data)[i] = ((const float *)x->data)[i] + 1;
  return x->dims[0] > 3 ? ccw_aborted("too long") : ccw_ok();
}

static void count_end(void *context) { *(int *)context += 100; }

static ccw_status run_on(ccw_handler *handler, const char *from, const char *to, float *out_first)
{
  ccw_shape in = shape_of(from), out = shape_of(to);
  ccw_buffer *x, *y;
  ccw_call *call;
  CCW_TRY(ccw_buffer_new(&in, true, &x));
  CCW_TRY(ccw_buffer_new(&out, true, &y));
  ccw_status status = ccw_call_prepare(handler, &x, 1, &y, 1, NULL, &(ccw_call_options){.as_it_is = true}, &call);
  if (!status.code) {
    status = ccw_call_run(call);
    *out_first = (float)ccw_buffer_get(y, 0).as.f;
    ccw_call_free(call);
  }
  ccw_buffer_release(x);
  ccw_buffer_release(y);
  return status;
}

static ccw_status succeed(void *context, XLA_FFI_CallFrame *frame)
{
  (void)context, (void)frame;
  return ccw_ok();
}

/* Contexts are for the function to ask for: a report on a frame that is not sound passes over them. */
static void contexts_are_the_functions(void)
{
  static const char text[] = "(@mine, @state(T), x: f32[n])";
  ccw_signature *signature;
  ccw_handler *handler;
  EXPECT(succeeds(ccw_signature_parse(text, strlen(text), NULL, NULL, &signature)));
  EXPECT(succeeds(
      ccw_handler_of_function("f", signature, XLA_FFI_ExecutionStage_EXECUTE, NULL, succeed, NULL, NULL, &handler)));
  ccw_signature_release(signature);
  XLA_FFI_ArgType type = XLA_FFI_ArgType_BUFFER;
  void *none = NULL;
  XLA_FFI_CallFrame frame = {.struct_size = XLA_FFI_CallFrame_STRUCT_SIZE,
      .api = XLA_FFI_GetApi(),
      .stage = XLA_FFI_ExecutionStage_EXECUTE,
      .args = {.struct_size = XLA_FFI_Args_STRUCT_SIZE, .size = 1, .types = &type, .args = &none}};
  XLA_FFI_Error_GetDetails_Args details = {.struct_size = XLA_FFI_Error_GetDetails_Args_STRUCT_SIZE,
      .error = ccw_handler_describe(handler).bundle.execute(&frame)};
  frame.api->XLA_FFI_Error_GetDetails(&details);
  EXPECT(!strcmp(details.message, "f: execute: arg 0 'x': expected f32[?], got no buffer"));
  XLA_FFI_Error_Destroy_Args destroy = {XLA_FFI_Error_Destroy_Args_STRUCT_SIZE, NULL, details.error};
  frame.api->XLA_FFI_Error_Destroy(&destroy);
  ccw_handler_release(handler);
}

static void a_function_is_a_handler(void)
{
  static const char text[] = "(x: f32[n]) -> (y: f32[n])";
  ccw_signature *signature;
  ccw_handler *handler;
  int runs = 0;
  float first = 0;
  EXPECT(succeeds(ccw_signature_parse(text, strlen(text), NULL, NULL, &signature)));
  EXPECT(succeeds(ccw_handler_of_function(
      "add_one", signature, XLA_FFI_ExecutionStage_EXECUTE, NULL, add_one, count_end, &runs, &handler)));
  ccw_signature_release(signature);
  EXPECT(succeeds(run_on(handler, "f32[2]", "f32[2]", &first)) && first == 1 && runs == 1);
  ccw_status status = run_on(handler, "f32[4]", "f32[4]", &first);
  EXPECT(status.code == XLA_FFI_Error_Code_ABORTED && !strcmp(ccw_status_text(status), "add_one: execute: too long"));
  ccw_status_free(status);
  status = run_on(handler, "f32[2]", "f32[3]", &first);
  EXPECT(
      !strcmp(ccw_status_text(status),
          "add_one: execute: result 0 'y': expected f32[n] with n = 2 (captured from arg 0 'x', dim 0), got f32[3]") &&
      runs == 2);
  ccw_status_free(status);
  ccw_handler_release(handler);
  EXPECT(runs == 102);
}

static const char *library_path;

/* Opens the library and runs its handler "scale", over and over. Returns NULL where all went well. */
static void *open_and_run(void *context)
{
  (void)context;
  ccw_shape shape = shape_of("f32[4]");
  for (int round = 0; round < ROUNDS; ++round) {
    ccw_library *library;
    ccw_handler *handler;
    ccw_buffer *x, *y;
    ccw_attributes_builder *builder;
    ccw_attributes *attributes;
    ccw_call *call;
    ccw_scalar three = {.dtype = XLA_FFI_DataType_F32, .as.f = 3};
    if (!succeeds(ccw_library_open(library_path, &library))) return context;
    if (!succeeds(ccw_library_handler(library, "scale", &handler))) return context;
    if (!succeeds(ccw_buffer_new(&shape, true, &x)) || !succeeds(ccw_buffer_new(&shape, true, &y))) return context;
    if (!succeeds(ccw_buffer_fill(x, three)) || !succeeds(ccw_attributes_begin(&builder))) return context;
    if (!succeeds(ccw_attributes_add_scalar(builder, "s", 1, three))) return context;
    if (!succeeds(ccw_attributes_finish(builder, &attributes))) return context;
    ccw_call_options options = {.name = NULL};
    if (!succeeds(ccw_call_prepare(handler, &x, 1, &y, 1, attributes, &options, &call))) return context;
    if (!succeeds(ccw_call_run(call)) || ccw_buffer_get(y, 3).as.f != 9) return context;
    ccw_call_free(call);
    ccw_attributes_release(attributes);
    ccw_buffer_release(x);
    ccw_buffer_release(y);
    ccw_handler_release(handler);
    ccw_library_release(library);
  }
  return NULL;
}

static void threads_may_open_and_run_at_once(void)
{
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i)
    if (pthread_create(&threads[i], NULL, open_and_run, &broken) != 0) abort();
  for (int i = 0; i < THREADS; ++i) {
    void *failed;
    pthread_join(threads[i], &failed);
    EXPECT(failed == NULL);
  }
}

int main(int argc, char **argv)
{
  if (argc != 2) return 2;
  library_path = argv[1];
  int64_t before = ccw_memory_in_use().blocks;
  imported_memory_is_released_once_and_when_nobody_needs_it();
  memory_that_could_not_be_imported_is_not_released();
  packed_elements_are_copied_like_others_where_they_overlap();
  names_of_no_bytes_may_be_null();
  a_function_is_a_handler();
  contexts_are_the_functions();
  EXPECT(ccw_memory_in_use().blocks == before);
  threads_may_open_and_run_at_once();
  printf("%d broken\n", broken);
  return broken > 0;
}

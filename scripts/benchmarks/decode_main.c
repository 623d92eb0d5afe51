/* decode_main.c: calls the handlers of decode.c and decode_official.cc on the same frames, made by hand, and prints a line
 * a handler: its name, ours and the official one's, in nanoseconds a call. Each is the best of many rounds, in which the
 * two take turns, so that what disturbs the machine disturbs both. Before, both are called once and compared. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <ccw/xla_ffi.h>

#include "decode.h"

enum { ROUNDS = 31, MOST = 64 };

volatile int64_t decode_result;

#define DECLARE(name, calls) XLA_FFI_Error *ours_##name(XLA_FFI_CallFrame *), *official_##name(XLA_FFI_CallFrame *);
DECODE_HANDLERS(DECLARE)
#undef DECLARE

/* ---- frames ---- */

/* Where a handler lands that does not take its frame. */
static XLA_FFI_Error *fail(XLA_FFI_Error_Create_Args *args)
{
  fprintf(stderr, "%s\n", args->message);
  exit(1);
}

static XLA_FFI_Api api = {.struct_size = XLA_FFI_Api_STRUCT_SIZE,
    .api_version = {XLA_FFI_Api_Version_STRUCT_SIZE, NULL, 0, 5},
    .XLA_FFI_Error_Create = fail};

static XLA_FFI_CallFrame empty_frame(void)
{
  return (XLA_FFI_CallFrame){.struct_size = XLA_FFI_CallFrame_STRUCT_SIZE,
      .api = &api,
      .stage = XLA_FFI_ExecutionStage_EXECUTE,
      .args = {.struct_size = XLA_FFI_Args_STRUCT_SIZE},
      .rets = {.struct_size = XLA_FFI_Rets_STRUCT_SIZE},
      .attrs = {.struct_size = XLA_FFI_Attrs_STRUCT_SIZE}};
}

/* A frame with that many arguments, f32[8,16] or f32[8]. */
static XLA_FFI_CallFrame frame_of_args(int count, int rank)
{
  static float data[8 * 16];
  static int64_t dims[] = {8, 16};
  XLA_FFI_Buffer *buffers = calloc((size_t)count, sizeof *buffers);
  XLA_FFI_ArgType *types = calloc((size_t)count, sizeof *types);
  void **args = calloc((size_t)count, sizeof *args);
  if (!buffers || !types || !args) exit(1);
  for (int i = 0; i < count; ++i) {
    buffers[i] = (XLA_FFI_Buffer){XLA_FFI_Buffer_STRUCT_SIZE, NULL, XLA_FFI_DataType_F32, data, rank, dims};
    types[i] = XLA_FFI_ArgType_BUFFER;
    args[i] = &buffers[i];
  }
  XLA_FFI_CallFrame frame = empty_frame();
  frame.args = (XLA_FFI_Args){XLA_FFI_Args_STRUCT_SIZE, NULL, count, types, args};
  return frame;
}

/* A dictionary under way. */
typedef struct entries {
  int count;
  XLA_FFI_AttrType types[MOST];
  XLA_FFI_ByteSpan names[MOST], *name_pointers[MOST];
  void *values[MOST];
  XLA_FFI_Scalar scalars[MOST];
  int64_t integers[MOST];
  XLA_FFI_Attrs attrs;
} entries;

/* Names are added in their order. */
static void add(entries *all, const char *name, XLA_FFI_AttrType type, void *value)
{
  int i = all->count++;
  all->names[i] = (XLA_FFI_ByteSpan){name, strlen(name)};
  all->name_pointers[i] = &all->names[i];
  all->types[i] = type;
  all->values[i] = value;
  all->attrs =
      (XLA_FFI_Attrs){XLA_FFI_Attrs_STRUCT_SIZE, NULL, all->count, all->types, all->name_pointers, all->values};
}

static void add_scalar(entries *all, const char *name, XLA_FFI_DataType dtype, void *value)
{
  XLA_FFI_Scalar *scalar = &all->scalars[all->count];
  *scalar = (XLA_FFI_Scalar){dtype, value};
  add(all, name, XLA_FFI_AttrType_SCALAR, scalar);
}

/* Little-endian machines: the low bytes of an s64 are an s32. */
static void add_integer(entries *all, const char *name, XLA_FFI_DataType dtype, int64_t value)
{
  int64_t *integer = &all->integers[all->count];
  *integer = value;
  add_scalar(all, name, dtype, integer);
}

static XLA_FFI_CallFrame frame_of_attrs(const entries *all)
{
  XLA_FFI_CallFrame frame = empty_frame();
  frame.attrs = all->attrs;
  return frame;
}

static void add_four(entries *all)
{
  static float number = 2;
  static XLA_FFI_ByteSpan text = {"hello", 5};
  add_scalar(all, "f32", XLA_FFI_DataType_F32, &number);
  add_integer(all, "i32", XLA_FFI_DataType_S32, 30);
  add_integer(all, "i64", XLA_FFI_DataType_S64, 400);
  add(all, "str", XLA_FFI_AttrType_STRING, &text);
}

static XLA_FFI_CallFrame frame_any1(void) { return frame_of_args(1, 2); }
static XLA_FFI_CallFrame frame_any4(void) { return frame_of_args(4, 2); }
static XLA_FFI_CallFrame frame_any12(void) { return frame_of_args(12, 2); }
static XLA_FFI_CallFrame frame_typed4(void) { return frame_of_args(4, 2); }
static XLA_FFI_CallFrame frame_match4(void) { return frame_of_args(4, 2); }
static XLA_FFI_CallFrame frame_remaining64(void) { return frame_of_args(64, 1); }

static XLA_FFI_CallFrame frame_attrs4(void)
{
  static entries four;
  add_four(&four);
  return frame_of_attrs(&four);
}

static XLA_FFI_CallFrame frame_struct4(void)
{
  static entries inner, outer;
  add_four(&inner);
  add(&outer, "options", XLA_FFI_AttrType_DICTIONARY, &inner.attrs);
  return frame_of_attrs(&outer);
}

static XLA_FFI_CallFrame frame_enum5(void)
{
  static entries five;
  static const char *const names[] = {"a", "b", "c", "d", "e"};
  for (int i = 0; i < 5; ++i) add_integer(&five, names[i], XLA_FFI_DataType_S32, i % 3);
  return frame_of_attrs(&five);
}

static XLA_FFI_CallFrame frame_dictionary16(void)
{
  static entries sixteen;
  static const char *const names[] = {"alpha", "axis", "batch", "beta", "channels", "depth", "epsilon", "groups",
      "height", "kernel", "layout", "mode", "padding", "scale", "stride", "width"};
  for (int i = 0; i < 16; ++i) add_integer(&sixteen, names[i], XLA_FFI_DataType_S64, 1 << i);
  return frame_of_attrs(&sixteen);
}

/* ---- the run ---- */

typedef struct measurement {
  const char *name;
  int calls;
  XLA_FFI_Handler *handlers[2]; /* ours, the official one */
  double best[2];
  XLA_FFI_CallFrame frame;
} measurement;

static double now(void)
{
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static double call(XLA_FFI_Handler *volatile handler, XLA_FFI_CallFrame *frame, int calls)
{
  double start = now();
  for (int i = 0; i < calls; ++i) handler(frame);
  return (now() - start) / calls;
}

/* Exits unless both take the frame and find the same in it. */
static void check(measurement *m)
{
  int64_t results[2];
  for (int side = 0; side < 2; ++side) {
    decode_result = -1;
    if (m->handlers[side](&m->frame)) exit(1);
    results[side] = decode_result;
  }
  if (results[0] == results[1] && results[0] != -1) return;
  fprintf(
      stderr, "%s: ours finds %lld, the official one %lld\n", m->name, (long long)results[0], (long long)results[1]);
  exit(1);
}

int main(void)
{
#define MEASUREMENT(name, calls) {#name, calls, {ours_##name, official_##name}, {1e9, 1e9}, frame_##name()},
  measurement all[] = {DECODE_HANDLERS(MEASUREMENT)};
#undef MEASUREMENT
  const int count = sizeof all / sizeof *all;
  for (int i = 0; i < count; ++i) check(&all[i]);
  for (int round = 0; round < ROUNDS; ++round)
    for (int i = 0; i < count; ++i)
      for (int side = 0; side < 2; ++side) {
        double time = call(all[i].handlers[side], &all[i].frame, all[i].calls);
        if (time < all[i].best[side]) all[i].best[side] = time;
      }
  for (int i = 0; i < count; ++i) printf("%s %.3f %.3f\n", all[i].name, all[i].best[0], all[i].best[1]);
  return 0;
}

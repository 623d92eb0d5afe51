/* call.c LIBRARY: what a call and a comparison are measured against: the handler `scale` alone, on a frame made by hand,
 * in nanoseconds; and memcpy of 64 MiB, in milliseconds. */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <ccw/xla_ffi.h>

static double now(void)
{
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
  enum { CALLS = 1000000, BYTES = 64 << 20 };
  void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
  void *symbol = library ? dlsym(library, "scale") : NULL;
  if (!symbol) return 1;
  XLA_FFI_Handler *handler;
  memcpy(&handler, &symbol, sizeof symbol);

  float x[4] = {1, 2, 3, 4}, y[4], s = 2;
  int64_t dims[1] = {4};
  XLA_FFI_Buffer arg = {XLA_FFI_Buffer_STRUCT_SIZE, NULL, XLA_FFI_DataType_F32, x, 1, dims}, ret = arg;
  ret.data = y;
  void *args[] = {&arg}, *rets[] = {&ret};
  XLA_FFI_ArgType arg_type = XLA_FFI_ArgType_BUFFER;
  XLA_FFI_RetType ret_type = XLA_FFI_RetType_BUFFER;
  XLA_FFI_Scalar scalar = {XLA_FFI_DataType_F32, &s};
  XLA_FFI_ByteSpan name = {"s", 1}, *names[] = {&name};
  void *attrs[] = {&scalar};
  XLA_FFI_AttrType attr_type = XLA_FFI_AttrType_SCALAR;
  XLA_FFI_CallFrame frame = {XLA_FFI_CallFrame_STRUCT_SIZE, NULL, NULL, NULL, XLA_FFI_ExecutionStage_EXECUTE,
      {XLA_FFI_Args_STRUCT_SIZE, NULL, 1, &arg_type, args}, {XLA_FFI_Rets_STRUCT_SIZE, NULL, 1, &ret_type, rets},
      {XLA_FFI_Attrs_STRUCT_SIZE, NULL, 1, &attr_type, names, attrs}, NULL};
  double start = now();
  for (int i = 0; i < CALLS; ++i)
    if (handler(&frame)) return 1;
  printf("%.3f\n", (now() - start) / CALLS * 1e9);

  char *from = malloc(BYTES), *to = malloc(BYTES);
  if (!from || !to) return 1;
  memset(from, 1, BYTES);
  memset(to, 2, BYTES);
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    start = now();
    memcpy(to, from, BYTES);
    double time = now() - start;
    if (time < best && to[BYTES - 1] == 1) best = time;
  }
  printf("%.3f\n", best * 1e3);
  return 0;
}

/* device.cu: what a launch on the simulated device costs, its kernels against plain loops, and operations of kernels/ on the host against
 * loops of the same traffic. Prints a line a figure: its name, ours and what it is held against, in nanoseconds. Best of some rounds,
 * which take turns. Compiled as C++, for the simulated device. */
#include <ccw/kernel.h>

#include <cstring>

#include "measure.h"

enum { ROUNDS = 9, LAUNCHES = 200, BLOCKS = 1024, BLOCK = 256, SIDE = 192 };

static const int64_t COUNT = (int64_t)1 << 22; /* elements of 4 bytes: more than the caches hold */

/* ---- kernels, and the loops that do the same ---------------------------------------------------------------------------- */

__global__ void nothing() {}

__global__ void barrier() { __syncthreads(); }

__global__ void axpy(int64_t n, float a, const float *x, const float *y, float *z)
{
  int64_t i = ccw::thread();
  if (i < n) z[i] = a * x[i] + y[i];
}

static __attribute__((noinline)) void axpy_loop(int64_t n, float a, const float *x, const float *y, float *z)
{
  for (int64_t i = 0; i < n; ++i) z[i] = a * x[i] + y[i];
}

static __attribute__((noinline)) void scale_loop(int64_t n, float a, const float *x, float *y)
{
  for (int64_t i = 0; i < n; ++i) y[i] = a * x[i];
}

__global__ void matmul(int n, const float *a, const float *b, float *c)
{
  int row = (int)(blockIdx.y * blockDim.y + threadIdx.y), column = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (row >= n || column >= n) return;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}

static __attribute__((noinline)) void matmul_loop(int n, const float *a, const float *b, float *c)
{
  for (int row = 0; row < n; ++row)
    for (int column = 0; column < n; ++column) {
      float sum = 0;
      for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
      c[row * n + column] = sum;
    }
}

/* ---- the device --------------------------------------------------------------------------------------------------------- */

static ccw_device *sim;
static ccw_stream *stream;

static float *on_sim(int64_t count)
{
  void *memory;
  check(ccw_device_allocate(sim, (size_t)count * sizeof(float), "device.cu", &memory));
  check(ccw_stream_fill(stream, memory, 0, (size_t)count * sizeof(float)));
  return static_cast<float *>(memory);
}

static float *on_host(int64_t count) { return static_cast<float *>(calloc((size_t)count, sizeof(float))); }

template <class F> static double time_of(int times, F f)
{
  double from = now();
  for (int i = 0; i < times; ++i) f();
  return (now() - from) / times;
}

template <auto kernel, class... A> static void launch(dim3 grid, dim3 block, A... arguments)
{
  check(ccw::launch<kernel>(ccw_stream_handle(stream), grid, block, 0, arguments...));
  check(ccw_stream_synchronize(stream));
}

/* ---- operations on the host --------------------------------------------------------------------------------------------- */

static ccw_buffer *buffer_of(int64_t count)
{
  ccw_shape shape;
  ccw_buffer *buffer;
  check(ccw_shape_make(XLA_FFI_DataType_F32, &count, 1, &shape));
  check(ccw_buffer_new(&shape, true, &buffer));
  memset(ccw_buffer_data(buffer), 0, (size_t)shape.bytes);
  return buffer;
}

static float *data(ccw_buffer *buffer) { return static_cast<float *>(ccw_buffer_data(buffer)); }

static ccw_call *prepare(
    ccw_library *library, const char *name, ccw_buffer *x, ccw_buffer *y, ccw_buffer *z, bool has_factor)
{
  ccw_handler *handler;
  ccw_attributes *attributes = nullptr;
  ccw_buffer *operands[] = {x, y};
  ccw_call *call;
  check(ccw_library_handler(library, name, &handler));
  if (has_factor) {
    ccw_attributes_builder *builder;
    ccw_scalar two = {};
    two.dtype = XLA_FFI_DataType_F64;
    two.as.f = 2;
    check(ccw_attributes_begin(&builder));
    check(ccw_attributes_add_scalar(builder, "a", 1, two));
    check(ccw_attributes_finish(builder, &attributes));
  }
  check(ccw_call_prepare(handler, operands, 2, &z, 1, attributes, nullptr, &call));
  return call;
}

int main(int, char **arguments)
{
  check(ccw_device_open("sim:0", 5, &sim));
  check(ccw_device_stream(sim, &stream));
  float *x = on_sim(COUNT), *y = on_sim(COUNT), *z = on_sim(COUNT);
  float *hx = on_host(COUNT), *hy = on_host(COUNT), *hz = on_host(COUNT);
  check(ccw_stream_synchronize(stream));

  ccw_library *library;
  check(ccw_library_open(arguments[1], &library));
  ccw_buffer *bx = buffer_of(COUNT), *by = buffer_of(COUNT), *bz = buffer_of(COUNT), *few = buffer_of(1024);
  ccw_call *axpy_call = prepare(library, "axpy", bx, by, bz, true),
           *add_mod_call = prepare(library, "add_mod", few, by, bz, false);

  double one = 0, blocks = 0, barriers = 0, no_barriers = 0, ours[4] = {}, loop[4] = {};
  for (int round = 0; round < ROUNDS; ++round) {
    keep_least(&one, time_of(LAUNCHES, [] { launch<nothing>(1, 1); }));
    keep_least(&blocks, time_of(20, [] { launch<nothing>(BLOCKS, 1); }));
    keep_least(&no_barriers, time_of(20, [] { launch<nothing>(16, BLOCK); }));
    keep_least(&barriers, time_of(20, [] { launch<barrier>(16, BLOCK); }));
    keep_least(&ours[0], time_of(2, [=] { launch<axpy>(ccw::blocks(COUNT, BLOCK), BLOCK, COUNT, 2.0f, x, y, z); }));
    keep_least(&loop[0], time_of(2, [=] { axpy_loop(COUNT, 2, hx, hy, hz); }));
    keep_least(
        &ours[1], time_of(2, [=] { launch<matmul>(dim3(SIDE / 16, SIDE / 16), dim3(16, 16), (int)SIDE, x, y, z); }));
    keep_least(&loop[1], time_of(2, [=] { matmul_loop(SIDE, hx, hy, hz); }));
    keep_least(&ours[2], time_of(2, [=] { check(ccw_call_run(axpy_call)); }));
    keep_least(&loop[2], time_of(2, [=] { axpy_loop(COUNT, 2, data(bx), data(by), data(bz)); }));
    keep_least(&ours[3], time_of(2, [=] { check(ccw_call_run(add_mod_call)); }));
    keep_least(&loop[3], time_of(2, [=] { scale_loop(COUNT, 2, data(by), data(bz)); }));
  }
  printf("launch %g -\n", one);
  printf("block %g -\n", (blocks - one) / (BLOCKS - 1));
  printf("thread %g -\n", (no_barriers - one) / (16 * BLOCK));
  printf("thread_with_barrier %g -\n", (barriers - one) / (16 * BLOCK));
  const char *const names[] = {"axpy_on_sim", "matmul_on_sim", "axpy_on_host", "add_mod_on_host"};
  for (int i = 0; i < 4; ++i) printf("%s %g %g\n", names[i], ours[i], loop[i]);
  return 0;
}

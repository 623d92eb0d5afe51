/* The device code of softmax: a block for each row. */
#include "block.h"

__global__ void softmax(const float *x, float *y, int64_t rows, int64_t n)
{
  for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    const float *from = x + r * n;
    float *to = y + r * n;
    float largest = -INFINITY;
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) largest = from[i] > largest ? from[i] : largest;
    largest = block_combine(largest, [](float a, float b) { return b > a ? b : a; });
    double sum = 0;
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) sum += (double)(to[i] = expf(from[i] - largest));
    float scale = (float)(1 / block_combine(sum, [](double a, double b) { return a + b; }));
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) to[i] *= scale;
  }
}

extern "C" ccw_status softmax_launch(void *stream, const float *x, float *y, int64_t rows, int64_t n)
{
  if (rows == 0 || n == 0) return ccw_ok();
  return ccw::launch<softmax>(stream, dim3(block_rows(rows)), dim3(block_threads(n)), 0, x, y, rows, n);
}

/* The device code of reduce: a block for each row. */
#include "block.h"

enum { SUM, MEAN, LARGEST };

__global__ void reduce_sum(const float *x, float *y, int64_t rows, int64_t cols, double divisor)
{
  for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    double sum = 0;
    for (int64_t i = threadIdx.x; i < cols; i += blockDim.x) sum += (double)x[r * cols + i];
    sum = block_combine(sum, [](double a, double b) { return a + b; });
    if (threadIdx.x == 0) y[r] = (float)(sum / divisor);
  }
}

__global__ void reduce_largest(const float *x, float *y, int64_t rows, int64_t cols)
{
  auto larger = [](float a, float b) { return b > a || b != b ? b : a; };
  for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    float largest = -INFINITY;
    for (int64_t i = threadIdx.x; i < cols; i += blockDim.x) largest = larger(largest, x[r * cols + i]);
    largest = block_combine(largest, larger);
    if (threadIdx.x == 0) y[r] = largest;
  }
}

extern "C" ccw_status reduce_launch(void *stream, int32_t how, const float *x, float *y, int64_t rows, int64_t cols)
{
  if (rows == 0) return ccw_ok();
  dim3 grid(block_rows(rows)), block(block_threads(cols));
  if (how == LARGEST) return ccw::launch<reduce_largest>(stream, grid, block, 0, x, y, rows, cols);
  return ccw::launch<reduce_sum>(stream, grid, block, 0, x, y, rows, cols, how == MEAN ? (double)cols : 1.0);
}

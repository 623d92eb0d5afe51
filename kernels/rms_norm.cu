/* The device code of rms_norm: a block for each row. */
#include "block.h"

__global__ void rms_norm(const float *x, const float *weight, float *y, int64_t rows, int64_t n, float eps)
{
  for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    const float *from = x + r * n;
    double sum = 0;
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) sum += (double)from[i] * (double)from[i];
    sum = block_combine(sum, [](double a, double b) { return a + b; });
    float scale = (float)(1 / sqrt(sum / (double)n + (double)eps));
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) y[r * n + i] = from[i] * scale * weight[i];
  }
}

extern "C" ccw_status rms_norm_launch(
    void *stream, const float *x, const float *weight, float *y, int64_t rows, int64_t n, float eps)
{
  if (rows == 0 || n == 0) return ccw_ok();
  return ccw::launch<rms_norm>(stream, dim3(block_rows(rows)), dim3(block_threads(n)), 0, x, weight, y, rows, n, eps);
}

/* The device code of histogram. Blocks count in shared memory first, where there is room for all counts. */
#include <ccw/kernel.h>

enum { COUNTERS = 256, MOST_COUNTING_BLOCKS = 1024, MOST_SHARED_COUNTS = 4096 };

__global__ void clear_counts(int32_t *counts, int64_t bins)
{
  int64_t i = ccw::thread();
  if (i < bins) counts[i] = 0;
}

template <class T> static __device__ void count_into(const T *x, int64_t n, int32_t *counts, int64_t bins)
{
  for (int64_t i = ccw::thread(); i < n; i += ccw::threads()) {
    int64_t value = x[i];
    if (value >= 0 && value < bins) atomicAdd(&counts[value], 1);
  }
}

template <class T> __global__ void histogram(const T *x, int64_t n, int32_t *counts, int64_t bins)
{
  count_into(x, n, counts, bins);
}

template <class T> __global__ void histogram_shared(const T *x, int64_t n, int32_t *counts, int64_t bins)
{
  CCW_SHARED(int32_t, of_block);
  for (int64_t i = threadIdx.x; i < bins; i += COUNTERS) of_block[i] = 0;
  __syncthreads();
  count_into(x, n, of_block, bins);
  __syncthreads();
  for (int64_t i = threadIdx.x; i < bins; i += COUNTERS)
    if (of_block[i] != 0) atomicAdd(&counts[i], of_block[i]);
}

template <class T>
static ccw_status launch_histogram(void *stream, const void *x, int64_t n, int32_t *counts, int64_t bins)
{
  unsigned blocks = ccw::blocks(n, COUNTERS);
  if (blocks > MOST_COUNTING_BLOCKS) blocks = MOST_COUNTING_BLOCKS;
  dim3 grid(blocks), block(COUNTERS);
  if (bins > MOST_SHARED_COUNTS)
    return ccw::launch<histogram<T>>(stream, grid, block, 0, (const T *)x, n, counts, bins);
  return ccw::launch<histogram_shared<T>>(
      stream, grid, block, (size_t)bins * sizeof *counts, (const T *)x, n, counts, bins);
}

extern "C" ccw_status histogram_launch(
    void *stream, XLA_FFI_DataType dtype, const void *x, int64_t n, int32_t *counts, int64_t bins)
{
  CCW_TRY(ccw::launch_over<clear_counts>(stream, bins, counts, bins));
  if (n == 0 || bins == 0) return ccw_ok();
  if (dtype == XLA_FFI_DataType_S32) return launch_histogram<int32_t>(stream, x, n, counts, bins);
  return launch_histogram<uint8_t>(stream, x, n, counts, bins);
}

/* block.h: for kernels whose blocks go through rows: how many there are, and what the threads of one find out together. */
#ifndef CCW_KERNELS_BLOCK_H
#define CCW_KERNELS_BLOCK_H

#include <ccw/kernel.h>

enum { BLOCK_THREADS = 256, BLOCK_LEAST = 64 };

/* Threads for rows of n elements: whole warps. */
static inline unsigned block_threads(int64_t n)
{
  unsigned threads = BLOCK_LEAST;
  while (threads < BLOCK_THREADS && threads < n) threads *= 2;
  return threads;
}

/* Blocks for that many rows: each begins with its own, and where there are too many goes on to others. */
static inline unsigned block_rows(int64_t rows) { return rows < 65536 ? (unsigned)rows : 65536; }

/* What `op` makes of the values of all threads of the block, which all come here; each gets it. */
template <class T, class Op> static __device__ T block_combine(T value, Op op)
{
  __shared__ T of_warp[BLOCK_THREADS / 32];
  for (int step = warpSize / 2; step > 0; step /= 2) value = op(value, __shfl_down_sync(ccw::all_lanes, value, step));
  if (threadIdx.x % warpSize == 0) of_warp[threadIdx.x / warpSize] = value;
  __syncthreads();
  value = of_warp[0];
  for (unsigned warp = 1; warp < blockDim.x / warpSize; ++warp) value = op(value, of_warp[warp]);
  __syncthreads(); /* of_warp may be written again */
  return value;
}

#endif

/* The device code of transpose: a block for each tile, which is read and written row by row, and turned in shared memory. A
 * column more than needed puts what stands below each other into different banks. */
#include <ccw/kernel.h>

enum { SQUARE = 32, SQUARE_THREADS = 8 };

typedef struct wide {
  uint64_t half[2];
} wide;

template <class T> __global__ void transpose(const T *x, T *y, int64_t rows, int64_t cols)
{
  __shared__ T tile[SQUARE][SQUARE + 1];
  int64_t across = (cols + SQUARE - 1) / SQUARE;
  int64_t row = blockIdx.x / across * SQUARE, col = blockIdx.x % across * SQUARE;
  for (unsigned i = threadIdx.y; i < SQUARE; i += SQUARE_THREADS)
    if (row + i < rows && col + threadIdx.x < cols) tile[i][threadIdx.x] = x[(row + i) * cols + col + threadIdx.x];
  __syncthreads();
  for (unsigned i = threadIdx.y; i < SQUARE; i += SQUARE_THREADS)
    if (col + i < cols && row + threadIdx.x < rows) y[(col + i) * rows + row + threadIdx.x] = tile[threadIdx.x][i];
}

template <class T> static ccw_status launch_transpose(void *stream, const void *x, void *y, int64_t rows, int64_t cols)
{
  int64_t tiles = (int64_t)ccw::blocks(rows, SQUARE) * ccw::blocks(cols, SQUARE);
  dim3 grid(ccw::blocks(tiles, 1)), block(SQUARE, SQUARE_THREADS);
  return ccw::launch<transpose<T>>(stream, grid, block, 0, (const T *)x, (T *)y, rows, cols);
}

extern "C" ccw_status transpose_launch(
    void *stream, const void *x, void *y, int64_t rows, int64_t cols, int64_t element_size)
{
  if (rows == 0 || cols == 0) return ccw_ok();
  switch (element_size) {
  case 1: return launch_transpose<uint8_t>(stream, x, y, rows, cols);
  case 2: return launch_transpose<uint16_t>(stream, x, y, rows, cols);
  case 4: return launch_transpose<uint32_t>(stream, x, y, rows, cols);
  case 8: return launch_transpose<uint64_t>(stream, x, y, rows, cols);
  default: return launch_transpose<wide>(stream, x, y, rows, cols);
  }
}

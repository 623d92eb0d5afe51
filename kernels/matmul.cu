/* The device code of matmul: a block for each tile of the result, whose threads make EACH * EACH elements each. Tiles of a and
 * b come through shared memory, DEPTH at a time. */
#include <ccw/kernel.h>

enum { SIDE = 16, EACH = 4, TILE = SIDE * EACH, DEPTH = 16 };

/* Rounded once where that costs nothing; done in software it would. */
static __device__ float multiply_add(float x, float y, float sum)
{
#if defined(__CUDACC__) || defined(__HIPCC__)
  return fmaf(x, y, sum);
#else
  return x * y + sum;
#endif
}

__global__ void matmul(const float *a, const float *b, float *c, int64_t m, int64_t k, int64_t n)
{
  __shared__ float a_tile[DEPTH][TILE + 1], b_tile[DEPTH][TILE];
  int64_t across = (n + TILE - 1) / TILE;
  int64_t row = blockIdx.x / across * TILE, col = blockIdx.x % across * TILE;
  unsigned x = threadIdx.x, y = threadIdx.y;
  float sums[EACH][EACH] = {};
  for (int64_t from = 0; from < k; from += DEPTH) {
    for (unsigned e = y * SIDE + x; e < TILE * DEPTH; e += SIDE * SIDE) {
      unsigned i = e / DEPTH, p = e % DEPTH, q = e / TILE, j = e % TILE;
      a_tile[p][i] = row + i < m && from + p < k ? a[(row + i) * k + from + p] : 0;
      b_tile[q][j] = from + q < k && col + j < n ? b[(from + q) * n + col + j] : 0;
    }
    __syncthreads();
    float part[EACH][EACH] = {};
    for (int p = 0; p < DEPTH; ++p)
      for (int i = 0; i < EACH; ++i)
        for (int j = 0; j < EACH; ++j)
          part[i][j] = multiply_add(a_tile[p][y + i * SIDE], b_tile[p][x + j * SIDE], part[i][j]);
    for (int i = 0; i < EACH; ++i)
      for (int j = 0; j < EACH; ++j) sums[i][j] += part[i][j];
    __syncthreads();
  }
  for (int i = 0; i < EACH; ++i)
    for (int j = 0; j < EACH; ++j) {
      int64_t to_row = row + y + i * SIDE, to_col = col + x + j * SIDE;
      if (to_row < m && to_col < n) c[to_row * n + to_col] = sums[i][j];
    }
}

extern "C" ccw_status matmul_launch(
    void *stream, const float *a, const float *b, float *c, int64_t m, int64_t k, int64_t n)
{
  if (m == 0 || n == 0) return ccw_ok();
  int64_t tiles = (int64_t)ccw::blocks(m, TILE) * ccw::blocks(n, TILE);
  dim3 grid(ccw::blocks(tiles, 1)), block(SIDE, SIDE);
  return ccw::launch<matmul>(stream, grid, block, 0, a, b, c, m, k, n);
}

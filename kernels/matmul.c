/* c = a b: a matrix times a matrix. Sums are made in float, in blocks of DEPTH that are added up. */
#include <ccw/handler.h>

static ccw_status check(ccw_arg_f32 a, ccw_arg_f32 b, ccw_ret_f32 c)
{
  int64_t m, k, n;
  CCW_TRY(ccw_verify("arg 0 'a'", a, ccw_with_dims(ccw_of(f32), &m, &k)));
  CCW_TRY(ccw_verify("arg 1 'b'", b, ccw_with_dims(ccw_of(f32), k, &n)));
  CCW_TRY(ccw_verify("result 0 'c'", c, ccw_with_dims(ccw_of(f32), m, n)));
  if ((c.data == a.data || c.data == b.data) && ccw_elements(c) > 0)
    return ccw_invalid("result 0 'c': expected memory of its own, got that of arg %d", c.data == a.data ? 0 : 1);
  return ccw_ok();
}

/* ROWS rows of a against WIDTH columns of b: so many sums fit into registers. */
enum { ROWS = 4, WIDTH = 8, DEPTH = 256 };
typedef float lanes __attribute__((vector_size(16)));

/* WIDTH elements of a row. */
typedef struct eight {
  lanes left, right;
} eight;

/* Copies `depth` rows of b, `width` elements of each; where that is less, zeros follow. */
static void fill_panel(eight *panel, const float *b, int64_t stride, int64_t depth, int64_t width)
{
  memset(panel, 0, (size_t)depth * sizeof *panel);
  for (int64_t p = 0; p < depth; ++p) memcpy(&panel[p], b + p * stride, (size_t)width * sizeof *b);
}

/* Adds `rows` rows of a, times the panel, to c. Rows that there are not are taken from the last. */
static void add_product(const eight *panel, const float *a, int64_t a_stride, int64_t rows, int64_t depth, float *c,
    int64_t c_stride, int64_t width)
{
  const float *row[ROWS];
  for (int64_t i = 0; i < ROWS; ++i) row[i] = a + (i < rows ? i : rows - 1) * a_stride;
  eight sums[ROWS] = {0};
  for (int64_t p = 0; p < depth; ++p)
    for (int64_t i = 0; i < ROWS; ++i) {
      sums[i].left += row[i][p] * panel[p].left;
      sums[i].right += row[i][p] * panel[p].right;
    }
  for (int64_t i = 0; i < rows; ++i) {
    float sum[WIDTH];
    memcpy(sum, &sums[i], sizeof sum);
    for (int64_t j = 0; j < width; ++j) c[i * c_stride + j] += sum[j];
  }
}

static int64_t at_most(int64_t count, int64_t most) { return count < most ? count : most; }

CCW_HANDLER(matmul, ARG(f32, 2, a), ARG(f32, 2, b), RET(f32, 2, c))
{
  CCW_TRY(check(a, b, c));
  int64_t m = a.dims[0], k = a.dims[1], n = b.dims[1];
  for (int64_t i = 0; i < m * n; ++i) c.data[i] = 0;
  eight panel[DEPTH];
  for (int64_t p = 0; p < k; p += DEPTH)
    for (int64_t j = 0; j < n; j += WIDTH) {
      int64_t depth = at_most(k - p, DEPTH), width = at_most(n - j, WIDTH);
      fill_panel(panel, b.data + p * n + j, n, depth, width);
      for (int64_t i = 0; i < m; i += ROWS)
        add_product(panel, a.data + i * k + p, k, at_most(m - i, ROWS), depth, c.data + i * n + j, n, width);
    }
  return ccw_ok();
}

#ifdef CCW_DEVICE /* its code is in matmul.cu */
ccw_status matmul_launch(void *stream, const float *a, const float *b, float *c, int64_t m, int64_t k, int64_t n);

CCW_HANDLER(matmul_device, CTX(stream, stream), TRAIT(command_buffer_compatible), ARG(f32, 2, a), ARG(f32, 2, b),
    RET(f32, 2, c))
{
  CCW_TRY(check(a, b, c));
  return matmul_launch(stream, a.data, b.data, c.data, a.dims[0], a.dims[1], b.dims[1]);
}
#endif

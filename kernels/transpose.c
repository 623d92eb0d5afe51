/* y[j][i] = x[i][j], for elements of whole bytes. */
#include <ccw/handler.h>

static int bits_of(XLA_FFI_DataType dtype)
{
  switch ((int)dtype) {
#define BITS(NAME, name, number, bits, class) \
  case number: return bits;
    CCW_DTYPES(BITS)
#undef BITS
  default: return 0;
  }
}

static ccw_status check(ccw_arg_any x, ccw_ret_any y)
{
  int bits = bits_of(ccw_dtype_of(x));
  if (bits % 8 != 0) return ccw_invalid("arg 0 'x': expected elements of whole bytes, got some of %d bit", bits);
  int64_t rows = x.dims[0], cols = x.dims[1];
  CCW_TRY(ccw_verify("result 0 'y'", y, ccw_with_dims(ccw_like(x), cols, rows)));
  if (y.data == x.data && ccw_elements(x) > 0)
    return ccw_invalid("result 0 'y': expected memory of its own, got that of arg 0");
  return ccw_ok();
}

/* Tile by tile, so that what is read across and what is written down stays near. The size is known where this is inlined. */
static inline __attribute__((always_inline)) void transpose_elements(
    const char *x, char *y, int64_t rows, int64_t cols, int64_t size)
{
  enum { TILE = 16 };
  for (int64_t i = 0; i < rows; i += TILE) {
    int64_t last_row = rows - i < TILE ? rows : i + TILE;
    for (int64_t j = 0; j < cols; j += TILE) {
      int64_t last_col = cols - j < TILE ? cols : j + TILE;
      for (int64_t col = j; col < last_col; ++col)
        for (int64_t row = i; row < last_row; ++row)
          memcpy(y + (col * rows + row) * size, x + (row * cols + col) * size, (size_t)size);
    }
  }
}

CCW_HANDLER(transpose, ARG(any, 2, x), RET(any, 2, y))
{
  CCW_TRY(check(x, y));
  int64_t rows = x.dims[0], cols = x.dims[1];
  switch (bits_of(ccw_dtype_of(x)) / 8) {
  case 1: transpose_elements(x.data, y.data, rows, cols, 1); break;
  case 2: transpose_elements(x.data, y.data, rows, cols, 2); break;
  case 4: transpose_elements(x.data, y.data, rows, cols, 4); break;
  case 8: transpose_elements(x.data, y.data, rows, cols, 8); break;
  case 16: transpose_elements(x.data, y.data, rows, cols, 16); break;
  }
  return ccw_ok();
}

#ifdef CCW_DEVICE /* its code is in transpose.cu */
ccw_status transpose_launch(void *stream, const void *x, void *y, int64_t rows, int64_t cols, int64_t element_size);

CCW_HANDLER(transpose_device, CTX(stream, stream), TRAIT(command_buffer_compatible), ARG(any, 2, x), RET(any, 2, y))
{
  CCW_TRY(check(x, y));
  return transpose_launch(stream, x.data, y.data, x.dims[0], x.dims[1], bits_of(ccw_dtype_of(x)) / 8);
}
#endif

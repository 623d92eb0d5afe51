/* A picture: how many steps z = z * z + c takes, from 0, before it is farther than 2 from 0; `limit` where it was not by then.
 * The middle of the picture is at `centre`, its left and right edges are `width` apart, pixels are square, up is up. */
#include <math.h>

#include <ccw/handler.h>

static ccw_status check(ccw_array_f64 centre, double width, int32_t limit)
{
  if (centre.size != 2) return ccw_invalid("attribute 'centre': expected 2 numbers, got %lld", (long long)centre.size);
  if (!(width > 0 && isfinite(width))) return ccw_invalid("attribute 'width': expected more than 0, got %g", width);
  if (limit < 0) return ccw_invalid("attribute 'limit': expected 0 or more, got %d", limit);
  return ccw_ok();
}

static int32_t steps_of(double x, double y, int32_t limit)
{
  double re = 0, im = 0;
  int32_t steps = 0;
  for (; steps < limit && re * re + im * im <= 4; ++steps) {
    double next = re * re - im * im + x;
    im = 2 * re * im + y;
    re = next;
  }
  return steps;
}

CCW_HANDLER(mandelbrot, RET(s32, 2, picture), ATTR(array(f64), centre), ATTR(f64, width), ATTR(s32, limit))
{
  CCW_TRY(check(centre, width, limit));
  int64_t rows = picture.dims[0], cols = picture.dims[1];
  double pixel = width / (double)cols;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j)
      picture.data[i * cols + j] = steps_of(centre.data[0] + ((double)j + 0.5 - (double)cols / 2) * pixel,
          centre.data[1] - ((double)i + 0.5 - (double)rows / 2) * pixel, limit);
  return ccw_ok();
}

#ifdef CCW_DEVICE /* its code is in mandelbrot.cu */
ccw_status mandelbrot_launch(void *stream, int32_t *picture, int64_t rows, int64_t cols, double x_centre,
    double y_centre, double width, int32_t limit);

CCW_HANDLER(mandelbrot_device, CTX(stream, stream), TRAIT(command_buffer_compatible), RET(s32, 2, picture),
    ATTR(array(f64), centre), ATTR(f64, width), ATTR(s32, limit))
{
  CCW_TRY(check(centre, width, limit));
  return mandelbrot_launch(
      stream, picture.data, picture.dims[0], picture.dims[1], centre.data[0], centre.data[1], width, limit);
}
#endif

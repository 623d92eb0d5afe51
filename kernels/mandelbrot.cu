/* The device code of mandelbrot: a thread for each pixel. */
#include <ccw/kernel.h>

__global__ void mandelbrot(
    int32_t *picture, int64_t rows, int64_t cols, double x_centre, double y_centre, double pixel, int32_t limit)
{
  int64_t at = ccw::thread();
  if (at >= rows * cols) return;
  double x = x_centre + ((double)(at % cols) + 0.5 - (double)cols / 2) * pixel;
  double y = y_centre - ((double)(at / cols) + 0.5 - (double)rows / 2) * pixel;
  double re = 0, im = 0;
  int32_t steps = 0;
  for (; steps < limit && re * re + im * im <= 4; ++steps) {
    double next = re * re - im * im + x;
    im = 2 * re * im + y;
    re = next;
  }
  picture[at] = steps;
}

extern "C" ccw_status mandelbrot_launch(void *stream, int32_t *picture, int64_t rows, int64_t cols, double x_centre,
    double y_centre, double width, int32_t limit)
{
  return ccw::launch_over<mandelbrot>(
      stream, rows * cols, picture, rows, cols, x_centre, y_centre, width / (double)cols, limit);
}

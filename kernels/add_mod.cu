/* The device code of add_mod: a thread for each element. */
#include <ccw/kernel.h>

__global__ void add_mod(const float *b, int64_t k, const float *c, float *a, int64_t n)
{
  int64_t i = ccw::thread();
  if (i < n) a[i] = b[i % k] + c[i];
}

extern "C" ccw_status add_mod_launch(void *stream, const float *b, int64_t k, const float *c, float *a, int64_t n)
{
  return ccw::launch_over<add_mod>(stream, n, b, k, c, a, n);
}

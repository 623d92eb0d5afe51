/* The device code of axpy: a thread for each element. */
#include <ccw/kernel.h>

template <class T> __global__ void axpy(T a, const T *x, const T *y, T *z, int64_t n)
{
  int64_t i = ccw::thread();
  if (i < n) z[i] = a * x[i] + y[i];
}

template <class T>
static ccw_status launch_axpy(void *stream, double a, const void *x, const void *y, void *z, int64_t n)
{
  return ccw::launch_over<axpy<T>>(stream, n, (T)a, (const T *)x, (const T *)y, (T *)z, n);
}

extern "C" ccw_status axpy_launch(
    void *stream, XLA_FFI_DataType dtype, double a, const void *x, const void *y, void *z, int64_t n)
{
  if (dtype == XLA_FFI_DataType_F32) return launch_axpy<float>(stream, a, x, y, z, n);
  return launch_axpy<double>(stream, a, x, y, z, n);
}

/* counts[v] = how many elements of x are v. What is below 0, or has no count, is not counted. */
#include <ccw/handler.h>

static ccw_status check(ccw_arg_any x, ccw_ret_s32 counts)
{
  CCW_TRY(ccw_verify("arg 0 'x'", x, ccw_with_dtype(ccw_any(), s32, u8)));
  int64_t n = ccw_elements(x);
  if (n > INT32_MAX)
    return ccw_invalid("arg 0 'x': expected %d elements at the most, got %lld", INT32_MAX, (long long)n);
  if (counts.data == x.data && n > 0)
    return ccw_invalid("result 0 'counts': expected memory of its own, got that of arg 0");
  return ccw_ok();
}

CCW_HANDLER(histogram, ARG(any, any, x), RET(s32, 1, counts))
{
  CCW_TRY(check(x, counts));
  int64_t n = ccw_elements(x), bins = counts.dims[0];
  for (int64_t i = 0; i < bins; ++i) counts.data[i] = 0;
  if (ccw_dtype_of(x) == XLA_FFI_DataType_S32) {
    const int32_t *values = x.data;
    for (int64_t i = 0; i < n; ++i)
      if (values[i] >= 0 && values[i] < bins) ++counts.data[values[i]];
  } else {
    const uint8_t *values = x.data;
    for (int64_t i = 0; i < n; ++i)
      if (values[i] < bins) ++counts.data[values[i]];
  }
  return ccw_ok();
}

#ifdef CCW_DEVICE /* its code is in histogram.cu */
ccw_status histogram_launch(
    void *stream, XLA_FFI_DataType dtype, const void *x, int64_t n, int32_t *counts, int64_t bins);

CCW_HANDLER(
    histogram_device, CTX(stream, stream), TRAIT(command_buffer_compatible), ARG(any, any, x), RET(s32, 1, counts))
{
  CCW_TRY(check(x, counts));
  return histogram_launch(stream, ccw_dtype_of(x), x.data, ccw_elements(x), counts.data, counts.dims[0]);
}
#endif

/* Handlers for a GPU that do what one may and may not, each with device code beside it; compiled as C++, for the simulated device. */
#include <ccw/handler.h>
#include <ccw/kernel.h>

#include <thread>

__global__ void doubled(int64_t n, const float *x, float *y)
{
  int64_t i = ccw::thread();
  if (i < n) y[i] = 2 * x[i];
}

__global__ void one_too_far(int64_t n, const float *x, float *y)
{
  int64_t i = ccw::thread();
  if (i <= n) y[i] = x[i];
}

__global__ void one_too_early(int64_t n, const float *x, float *y)
{
  int64_t i = ccw::thread();
  if (i < n) y[i - 1] = x[i];
}

__global__ void never_ends(volatile float *y)
{
  while (y[0] < 1e30f) y[0] = 0;
}

static ccw_status double_on(void *stream, const float *x, float *y, int64_t n)
{
  return ccw::launch_over<doubled>(stream, n, n, x, y);
}

CCW_HANDLER(launches, CTX(stream, s), ARG(f32, 1, x), RET(f32, 1, y), TRAIT(command_buffer_compatible))
{
  return double_on(s, x.data, y.data, x.dims[0]);
}

CCW_HANDLER(is_not_marked, CTX(stream, s), ARG(f32, 1, x), RET(f32, 1, y))
{
  return double_on(s, x.data, y.data, x.dims[0]);
}

CCW_HANDLER(synchronizes, CTX(stream, s), ARG(f32, 1, x), RET(f32, 1, y), TRAIT(command_buffer_compatible))
{
  CCW_TRY(double_on(s, x.data, y.data, x.dims[0]));
  return ccw::synchronize(s);
}

CCW_HANDLER(allocates, CTX(stream, s), ARG(f32, 1, x), RET(f32, 1, y), TRAIT(command_buffer_compatible))
{
  void *memory;
  CCW_TRY(double_on(s, x.data, y.data, x.dims[0]));
  CCW_TRY(ccw::device_malloc(s, 64, &memory));
  return ccw::device_free(s, memory);
}

/* A stream of its own, for which the call's waits where `joins`. */
CCW_HANDLER(
    another_stream, CTX(stream, s), ARG(f32, 1, x), RET(f32, 1, y), ATTR(pred, joins), TRAIT(command_buffer_compatible))
{
  void *mine;
  CCW_TRY(ccw::stream_create(s, &mine));
  ccw_status status = double_on(mine, x.data, y.data, x.dims[0]);
  if (!status.code && joins) status = ccw::stream_wait(s, mine);
  ccw_status destroyed = ccw::stream_destroy(mine);
  if (!status.code) return destroyed;
  ccw_status_free(destroyed);
  return status;
}

CCW_HANDLER(uses_scratch, CTX(stream, s), CTX(scratch, pieces), ARG(f32, 1, x), RET(f32, 1, y),
    TRAIT(command_buffer_compatible))
{
  void *between;
  CCW_TRY(ccw_scratch_take(pieces, (size_t)x.dims[0] * sizeof(float), 16, &between));
  CCW_TRY(double_on(s, x.data, static_cast<float *>(between), x.dims[0]));
  return double_on(s, static_cast<float *>(between), y.data, x.dims[0]);
}

CCW_HANDLER(goes_too_far, CTX(stream, s), ARG(f32, 1, x), RET(f32, 1, y))
{
  return ccw::launch<one_too_far>(s, 1, 64, 0, x.dims[0], x.data, y.data);
}

CCW_HANDLER(goes_too_early, CTX(stream, s), ARG(f32, 1, x), RET(f32, 1, y))
{
  return ccw::launch<one_too_early>(s, 1, 64, 0, x.dims[0], x.data, y.data);
}

CCW_HANDLER(never_comes_back, CTX(stream, s), RET(f32, 1, y)) { return ccw::launch<never_ends>(s, 1, 1, 0, y.data); }

CCW_HANDLER(launches_nothing, CTX(stream, s), ARG(f32, 1, x), RET(f32, 1, y))
{
  return ccw::launch<doubled>(s, 0, 64, 0, x.dims[0], x.data, y.data);
}

CCW_HANDLER(forgets_stream, ARG(f32, 1, x), RET(f32, 1, y)) { return double_on(nullptr, x.data, y.data, x.dims[0]); }

/* On another thread, as a task of a pool would. */
CCW_HANDLER(touches_in_thread, ARG(f32, 1, x), RET(f32, 1, y))
{
  std::thread([=] { y.data[1] = 2 * x.data[2]; }).join();
  return ccw_ok();
}

CCW_STAGE_HANDLER(prepare, touches_in_prepare, ARG(f32, 1, x), RET(f32, 1, y))
{
  return x.data[0] == 12345 ? ccw_internal("it cannot know") : ccw_ok();
}

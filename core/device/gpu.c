#include "device/gpu.h"

#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/memory.h"
#include "base/text.h"

/* What the vendors call so: of both the number is the same. */
enum { STREAM_NON_BLOCKING = 1, CAPTURE_MODE_RELAXED = 2 };

/* ---- turns ----------------------------------------------------------------------------------------------------------- */

/* The first to be told of what broke the device says so for all. */
static void note_broken(gpu *g, const char *what, const char *text)
{
  pthread_mutex_lock(&g->lock);
  if (!g->is_broken) {
    snprintf(g->broken_by, sizeof g->broken_by, "%s: %s", what, text);
    atomic_store_explicit(&g->is_broken, true, memory_order_release);
  }
  pthread_mutex_unlock(&g->lock);
}

static ccw_status says(gpu *g, const char *what, gpu_error error)
{
  const gpu_vendor *vendor = g->driver->vendor;
  char text[200];
  if (!error) return ccw_ok();
  gpu_error_print(g->driver, error, text, sizeof text);
  if (gpu_error_is_final(vendor, error)) note_broken(g, what, text);
  return ccw_status_make(gpu_error_code(vendor, error), "%s: %s: %s", g->device.name, what, text);
}

ccw_status gpu_begin(ccw_device *device, const char *what, gpu_turn *out_turn)
{
  gpu *g = gpu_of(device);
  *out_turn = (gpu_turn){.gpu = g, .driver = g->driver, .what = what, .capture_mode = -1};
  if (atomic_load_explicit(&g->is_broken, memory_order_acquire))
    return ccw_aborted("%s: broken until the process ends: %s", device->name, g->broken_by);
  gpu_error error = g->driver->vendor->make_current(g, &out_turn->before);
  if (!error) atomic_store_explicit(&g->is_used, true, memory_order_relaxed);
  return says(g, what, error);
}

ccw_status gpu_begin_apart(ccw_device *device, const char *what, gpu_turn *out_turn)
{
  CCW_TRY(gpu_begin(device, what, out_turn));
  if (!device->ops->graph) return ccw_ok();
  int mode = CAPTURE_MODE_RELAXED;
  if (out_turn->driver->exchange_capture_mode(&mode) == 0) out_turn->capture_mode = mode;
  return ccw_ok();
}

static void put_back(gpu_turn *turn, gpu_error error)
{
  if (turn->capture_mode >= 0) turn->driver->exchange_capture_mode(&turn->capture_mode);
  turn->driver->vendor->restore(turn->gpu, turn->before, error);
}

ccw_status gpu_end(gpu_turn *turn, gpu_error error)
{
  put_back(turn, error);
  return says(turn->gpu, turn->what, error);
}

/* ---- streams --------------------------------------------------------------------------------------------------------- */

static ccw_status create_stream(ccw_device *device, ccw_stream **out_stream)
{
  gpu_turn turn;
  gpu_stream *stream = ccw_allocate_zeroed(sizeof *stream);
  if (!stream) return ccw_no_memory(sizeof *stream);
  ccw_status status = gpu_begin(device, "create a stream", &turn);
  if (!status.code) status = gpu_end(&turn, turn.driver->create_stream(&stream->handle, STREAM_NON_BLOCKING));
  if (status.code)
    ccw_release(stream, sizeof *stream);
  else
    *out_stream = &stream->stream;
  return status;
}

/* What cannot be destroyed, on a device that is broken, ends with the process. */
static void destroy(ccw_device *device, gpu_error (*destroy_one)(void *), void *handle)
{
  gpu_turn turn;
  ccw_status status = gpu_begin_apart(device, "destroy", &turn);
  if (!status.code) status = gpu_end(&turn, destroy_one(handle));
  ccw_status_free(status);
}

static void destroy_stream(ccw_stream *stream)
{
  destroy(stream->device, gpu_of(stream->device)->driver->destroy_stream, gpu_stream_of(stream));
  ccw_release(stream, sizeof(gpu_stream));
}

static void *stream_handle(const ccw_stream *stream) { return gpu_stream_of(stream); }

static ccw_status synchronize_stream(ccw_stream *stream)
{
  gpu_turn turn;
  CCW_TRY(gpu_begin(stream->device, "synchronize", &turn));
  return gpu_end(&turn, turn.driver->synchronize_stream(gpu_stream_of(stream)));
}

static ccw_status query_stream(ccw_stream *stream, bool *out_is_done)
{
  gpu_turn turn;
  CCW_TRY(gpu_begin(stream->device, "query", &turn));
  gpu_error error = turn.driver->query_stream(gpu_stream_of(stream));
  put_back(&turn, error);
  *out_is_done = error == 0;
  return error == GPU_NOT_READY ? ccw_ok() : says(turn.gpu, turn.what, error);
}

/* ---- events ---------------------------------------------------------------------------------------------------------- */

typedef struct gpu_event {
  ccw_event event;
  void *handle;
  atomic_bool is_recorded;
} gpu_event;

static ccw_status create_event(ccw_device *device, ccw_event **out_event)
{
  gpu_turn turn;
  gpu_event *event = ccw_allocate_zeroed(sizeof *event);
  if (!event) return ccw_no_memory(sizeof *event);
  ccw_status status = gpu_begin(device, "create an event", &turn);
  if (!status.code) status = gpu_end(&turn, turn.driver->create_event(&event->handle, 0));
  if (status.code)
    ccw_release(event, sizeof *event);
  else
    *out_event = &event->event;
  return status;
}

static void destroy_event(ccw_event *event)
{
  destroy(event->device, gpu_of(event->device)->driver->destroy_event, ((gpu_event *)event)->handle);
  ccw_release(event, sizeof(gpu_event));
}

static ccw_status record_event(ccw_event *event, ccw_stream *stream)
{
  gpu_turn turn;
  gpu_event *e = (gpu_event *)event;
  CCW_TRY(gpu_begin(event->device, "record", &turn));
  CCW_TRY(gpu_end(&turn, turn.driver->record_event(e->handle, gpu_stream_of(stream))));
  e->is_recorded = true;
  return ccw_ok();
}

static ccw_status wait_for_event(ccw_stream *stream, ccw_event *event)
{
  gpu_turn turn;
  CCW_TRY(gpu_begin(stream->device, "wait for an event", &turn));
  return gpu_end(&turn, turn.driver->wait_for_event(gpu_stream_of(stream), ((gpu_event *)event)->handle, 0));
}

static ccw_status synchronize_event(ccw_event *event)
{
  gpu_turn turn;
  CCW_TRY(gpu_begin(event->device, "synchronize", &turn));
  return gpu_end(&turn, turn.driver->synchronize_event(((gpu_event *)event)->handle));
}

static ccw_status seconds_between(ccw_event *from, ccw_event *to, double *out_seconds)
{
  gpu_turn turn;
  gpu_event *a = (gpu_event *)from, *b = (gpu_event *)to;
  float milliseconds;
  if (!a->is_recorded || !b->is_recorded)
    return ccw_failed_precondition(
        "%s: the %s event was never recorded", from->device->name, a->is_recorded ? "second" : "first");
  CCW_TRY(gpu_begin(from->device, "time between events", &turn));
  CCW_TRY(gpu_end(&turn, turn.driver->elapsed(&milliseconds, a->handle, b->handle)));
  *out_seconds = milliseconds * 1e-3;
  return ccw_ok();
}

/* ---- the device ------------------------------------------------------------------------------------------------------ */

static ccw_status synchronize(ccw_device *device)
{
  gpu_turn turn;
  CCW_TRY(gpu_begin(device, "synchronize", &turn));
  return gpu_end(&turn, turn.driver->synchronize_device());
}

/* How much memory is free is known in a context only, and none is made for a list of devices: each takes some hundred MB. */
static void describe(ccw_device *device, ccw_device_info *info)
{
  gpu *g = gpu_of(device);
  gpu_turn turn;
  size_t is_free = 0, total;
  *info = g->info;
  info->name = device->name;
  info->platform = device->platform;
  if (!g->is_used) return;
  ccw_status status = gpu_begin(device, "describe", &turn);
  if (!status.code) status = gpu_end(&turn, turn.driver->memory_info(&is_free, &total));
  if (!status.code) info->memory_free = (int64_t)is_free;
  ccw_status_free(status);
}

static ccw_status make_current(ccw_device *device)
{
  gpu_turn turn;
  return gpu_begin(device, "make it current", &turn); /* and no end of it */
}

static const ccw_stream_ops stream_ops = {.create = create_stream,
    .destroy = destroy_stream,
    .handle = stream_handle,
    .synchronize = synchronize_stream,
    .query = query_stream,
    .wait = wait_for_event};
static const ccw_event_ops event_ops = {.create = create_event,
    .destroy = destroy_event,
    .record = record_event,
    .synchronize = synchronize_event,
    .seconds = seconds_between};

/* ---- the families ---------------------------------------------------------------------------------------------------- */

/* `.graph` and what `.cannot` points to are filled in when the driver is opened. */
#define DRIVER(name)                                                 \
  {                                                                  \
    .vendor = &gpu_vendor_##name, .lock = PTHREAD_MUTEX_INITIALIZER, \
    .ops = {.memory = &gpu_memory_ops,                               \
        .stream = &stream_ops,                                       \
        .event = &event_ops,                                         \
        .code = &gpu_code_ops,                                       \
        .cannot = name.cannot,                                       \
        .describe = describe,                                        \
        .synchronize = synchronize,                                  \
        .make_current = make_current},                               \
  }
static gpu_driver cuda = DRIVER(cuda), rocm = DRIVER(rocm);

/* 0 where the driver does not know. */
static int attribute(const gpu *g, int number)
{
  int value = 0;
  return g->driver->device_attribute(&value, number, g->handle) == 0 ? value : 0;
}

static void read_info(gpu *g)
{
  const gpu_attributes *numbers = &g->driver->vendor->attributes;
  ccw_device_info *info = &g->info;
  size_t memory = 0;
  info->ordinal = g->device.ordinal;
  if (g->driver->device_name(info->description, sizeof info->description, g->handle) != 0) *info->description = '\0';
  g->driver->vendor->find_architecture(g, info->architecture, sizeof info->architecture);
  if (g->driver->device_memory(&memory, g->handle) == 0) info->memory = (int64_t)memory;
  info->warp_size = (uint32_t)attribute(g, numbers->warp_size);
  info->max_threads = (uint32_t)attribute(g, numbers->max_threads);
  for (int i = 0; i < 3; ++i) {
    info->max_block[i] = (uint32_t)attribute(g, numbers->max_block[i]);
    info->max_grid[i] = (uint32_t)attribute(g, numbers->max_grid[i]);
  }
  g->shared_at_once = info->max_shared = attribute(g, numbers->max_shared);
  int by_request = g->driver->lists_modules ? attribute(g, numbers->max_shared_by_request) : 0;
  if (by_request > info->max_shared) info->max_shared = by_request;
  info->processors = attribute(g, numbers->processors);
}

static gpu_error make_device(gpu_driver *driver, int ordinal, gpu *g)
{
  g->driver = driver;
  g->device.ops = &driver->ops;
  g->device.ordinal = ordinal;
  snprintf(g->device.name, sizeof g->device.name, "%s:%d", driver->vendor->name, ordinal);
  snprintf(g->device.platform, sizeof g->device.platform, "%s", driver->vendor->name);
  pthread_mutex_init(&g->lock, NULL);
  g->allocations.older = g->allocations.newer = &g->allocations;
  gpu_error error = driver->get_device(&g->handle, ordinal);
  if (!error) read_info(g);
  return error;
}

static ccw_status unavailable(const gpu_driver *driver, gpu_error error)
{
  char text[200];
  gpu_error_print(driver, error, text, sizeof text);
  return ccw_unavailable("%s: %s %s: %s", driver->vendor->name, driver->library_name,
      error == GPU_NO_DEVICE || error == GPU_INVALID_DEVICE ? "finds no device" : "does not start", text);
}

/* Makes the devices, once; tried again where it failed. Callers hold the lock. */
static ccw_status start(gpu_driver *driver)
{
  int count = 0;
  if (driver->devices) return ccw_ok();
  CCW_TRY(gpu_driver_open(driver));
  gpu_error error = driver->init(0);
  if (!error) error = driver->count_devices(&count);
  if (error) return unavailable(driver, error);
  if (count <= 0) return ccw_unavailable("%s: %s finds no device", driver->vendor->name, driver->library_name);
  size_t size = (size_t)count * sizeof(gpu);
  gpu *devices = ccw_allocate_zeroed(size);
  if (!devices) return ccw_no_memory(size);
  for (int i = 0; i < count && !error; ++i) error = make_device(driver, i, &devices[i]);
  if (error) {
    ccw_release(devices, size);
    return unavailable(driver, error);
  }
  driver->count = count;
  driver->devices = devices;
  return ccw_ok();
}

static ccw_status open_device(gpu_driver *driver, int32_t ordinal, ccw_device **out_device)
{
  const char *name = driver->vendor->name;
  pthread_mutex_lock(&driver->lock);
  ccw_status status = start(driver);
  pthread_mutex_unlock(&driver->lock);
  CCW_TRY(status);
  if (ordinal >= driver->count)
    return driver->count == 1 ? ccw_not_found("%s:%d: there is %s:0 only", name, (int)ordinal, name)
                              : ccw_not_found("%s:%d: there are %s:0 to %s:%d", name, (int)ordinal, name, name,
                                    (int)driver->count - 1);
  *out_device = &driver->devices[ordinal].device;
  return ccw_ok();
}

static int32_t count_devices(gpu_driver *driver)
{
  pthread_mutex_lock(&driver->lock);
  ccw_status status = start(driver);
  pthread_mutex_unlock(&driver->lock);
  ccw_status_free(status);
  return driver->count;
}

static ccw_status open_cuda(int32_t ordinal, ccw_device **out) { return open_device(&cuda, ordinal, out); }
static ccw_status open_rocm(int32_t ordinal, ccw_device **out) { return open_device(&rocm, ordinal, out); }
static int32_t count_cuda(void) { return count_devices(&cuda); }
static int32_t count_rocm(void) { return count_devices(&rocm); }

const ccw_device_family ccw_family_cuda = {"cuda", open_cuda, count_cuda};
const ccw_device_family ccw_family_rocm = {"rocm", open_rocm, count_rocm};

/* Copies and fills of a simulated GPU, and memory that is taken and given back in between.
 *
 * A copy takes the host's bytes when it runs, as from pinned memory. */
#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "device/sim.h"

static sim_stream *stream_of(ccw_stream *stream) { return (sim_stream *)stream; }

/* Whether the kernel lets one byte of each page be read and, where that is wanted, written as it is. What it refuses to tell counts as
 * good. */
static bool is_host_memory(const void *memory, size_t size, bool is_written)
{
  uintptr_t page = ccw_sim_page_size(), at = (uintptr_t)memory, end = at + size;
  if (end < at) return false;
  for (; at < end; at = (at & ~(page - 1)) + page) {
    char byte;
    struct iovec here = {&byte, 1}, there = {(void *)at, 1};
    ssize_t got = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
    if (got == 1 && is_written) got = process_vm_writev(getpid(), &here, 1, &there, 1, 0);
    if (got != 1) return errno != EFAULT;
  }
  return true;
}

/* ---- running --------------------------------------------------------------------------------------------------------- */

/* Holds bytes of a copy or a fill against other work. */
static void check_race(const sim_operation *operation, const void *memory, bool is_write)
{
  static sim_parts parts;
  const sim_device *device = operation->stream->device;
  sim_allocation *a = ccw_sim_allocation_at(device, memory);
  if (ccw_sim_clock_length() < 2 || (a && device->stream_count < 2)) return;
  uintptr_t from = (uintptr_t)memory - (a ? (uintptr_t)a->start : 0);
  parts.count = 0;
  ccw_sim_add_part(&parts, from, from + operation->size);
  ccw_sim_check_race(operation, a, &parts, is_write);
}

/* What was good when it was queued may be gone: a graph holds addresses, and nothing else. */
static bool is_there(const sim_operation *operation, const void *memory)
{
  sim_device *device = operation->stream->device;
  sim_allocation *a;
  char what[SIM_WHAT], text[SIM_TEXT], name[SIM_NAME];
  if (!ccw_sim_device_at(memory) || ccw_sim_is_within(device, memory, operation->size, &a)) return true;
  ccw_sim_describe_memory(device, memory, operation->size, what);
  ccw_sim_name_operation(operation, name);
  snprintf(text, sizeof text, "%s: %s (CUDA_ERROR_ILLEGAL_ADDRESS)", name, what);
  ccw_sim_break(device, XLA_FFI_Error_Code_OUT_OF_RANGE, text);
  return false;
}

void ccw_sim_copy_run(const sim_operation *o)
{
  bool to = ccw_sim_is_on_device(o->stream, o->to), from = ccw_sim_is_on_device(o->stream, o->from);
  if (!is_there(o, o->to) || !is_there(o, o->from)) return;
  check_race(o, o->from, false);
  check_race(o, o->to, true);
  sim_device *device = o->stream->device;
  void *source = (void *)(uintptr_t)o->from;
  if (o->is_handlers &&
      ((!to && !is_host_memory(o->to, o->size, true)) || (!from && !is_host_memory(o->from, o->size, false)))) {
    ccw_sim_fail(device, XLA_FFI_Error_Code_INVALID_ARGUMENT,
        "copy: the memory of the host is gone, and had to stay until the copy is done");
    return;
  }
  if ((to && !ccw_sim_open(device, o->to, o->size, true)) || (from && !ccw_sim_open(device, source, o->size, false)))
    ccw_sim_fail(device, XLA_FFI_Error_Code_RESOURCE_EXHAUSTED, "copy: the system opens no more memory");
  else
    memmove(o->to, o->from, o->size);
  if (to) ccw_sim_close(device, o->to, o->size, true);
  if (from) ccw_sim_close(device, source, o->size, false);
}

void ccw_sim_fill_run(const sim_operation *o)
{
  sim_device *device = o->stream->device;
  if (!is_there(o, o->to)) return;
  check_race(o, o->to, true);
  if (ccw_sim_open(device, o->to, o->size, true))
    memset(o->to, o->byte, o->size);
  else
    ccw_sim_fail(device, XLA_FFI_Error_Code_RESOURCE_EXHAUSTED, "fill: the system opens no more memory");
  ccw_sim_close(device, o->to, o->size, true);
}

/* ---- copies and fills ------------------------------------------------------------------------------------------------ */

/* Whether the device may use the bytes; those that are none of any device's are the host's. */
static ccw_status check_memory(
    const sim_stream *stream, const char *what, const char *which, const void *memory, size_t size, bool may_be_host)
{
  sim_allocation *a;
  char why[SIM_WHAT];
  if (may_be_host && !ccw_sim_device_at(memory)) return ccw_ok();
  if (ccw_sim_is_within(stream->device, memory, size, &a)) return ccw_ok();
  ccw_sim_describe_memory(stream->device, memory, size, why);
  return ccw_invalid("%s: %s: expected memory of this device, got %p: %s", what, which, memory, why);
}

/* Memory of the host that a handler names is anybody's. */
static ccw_status check_host(const void *memory, size_t size, bool is_written)
{
  if (ccw_sim_device_at(memory) || is_host_memory(memory, size, is_written)) return ccw_ok();
  return ccw_invalid(
      "copy: %zu bytes of the host from %p on cannot be %s", size, memory, is_written ? "written" : "read");
}

static ccw_status queue_copy(sim_stream *stream, void *to, const void *from, size_t size, bool is_handlers)
{
  sim_operation *operation = ccw_sim_operation_new(SIM_COPY, 0);
  if (!operation) return ccw_no_memory(sizeof *operation);
  operation->to = to;
  operation->from = from;
  operation->size = size;
  operation->is_handlers = is_handlers;
  return ccw_sim_queue(stream, operation);
}

static ccw_status may_copy(sim_stream *stream)
{
  CCW_TRY(ccw_sim_check(stream->device));
  if (ccw_sim_is_to_fail(&stream->device->fail_copy)) return ccw_internal("copy: injected failure");
  return ccw_ok();
}

ccw_status ccw_sim_copy(sim_stream *stream, void *to, const void *from, size_t size)
{
  CCW_TRY(may_copy(stream));
  if (size == 0) return ccw_ok();
  if (!to || !from) return ccw_invalid("copy: expected memory, got NULL");
  CCW_TRY(check_memory(stream, "copy", "to", to, size, ccw_sim_is_on_device(stream, from)));
  CCW_TRY(check_memory(stream, "copy", "from", from, size, true));
  CCW_TRY(check_host(to, size, true));
  CCW_TRY(check_host(from, size, false));
  return queue_copy(stream, to, from, size, true);
}

static ccw_status check_end(
    const sim_stream *stream, const char *what, const char *which, const void *memory, size_t size, bool is_host)
{
  if (!is_host) return check_memory(stream, what, which, memory, size, false);
  const sim_device *device = ccw_sim_device_at(memory);
  if (!device) return ccw_ok();
  return ccw_invalid("%s: %s: expected memory of the host, got %p of %s", what, which, memory, device->base.name);
}

static ccw_status copy_of_kind(sim_stream *stream, ccw_copy_kind kind, void *to, const void *from, size_t size)
{
  static const char *const names[] = {"copy to device", "copy from device", "copy within device"};
  CCW_TRY(may_copy(stream));
  CCW_TRY(check_end(stream, names[kind], "to", to, size, kind == CCW_COPY_FROM_DEVICE));
  CCW_TRY(check_end(stream, names[kind], "from", from, size, kind == CCW_COPY_TO_DEVICE));
  return queue_copy(stream, to, from, size, false);
}

static ccw_status copy(ccw_stream *stream, ccw_copy_kind kind, void *to, const void *from, size_t size)
{
  ccw_sim_lock();
  ccw_status status = copy_of_kind(stream_of(stream), kind, to, from, size);
  ccw_sim_unlock();
  return ccw_device_says(stream->device, status);
}

ccw_status ccw_sim_fill(sim_stream *stream, void *memory, int byte, size_t size)
{
  CCW_TRY(ccw_sim_check(stream->device));
  if (size == 0) return ccw_ok();
  CCW_TRY(check_memory(stream, "fill", "to", memory, size, false));
  sim_operation *operation = ccw_sim_operation_new(SIM_FILL, 0);
  if (!operation) return ccw_no_memory(sizeof *operation);
  operation->to = memory;
  operation->byte = byte;
  operation->size = size;
  return ccw_sim_queue(stream, operation);
}

static ccw_status fill(ccw_stream *stream, void *memory, int byte, size_t size)
{
  ccw_sim_lock();
  ccw_status status = ccw_sim_fill(stream_of(stream), memory, byte, size);
  ccw_sim_unlock();
  return ccw_device_says(stream->device, status);
}

/* ---- memory that waits for work -------------------------------------------------------------------------------------- */

static ccw_status allocate_locked(sim_device *device, size_t size, const char *site, void **out_memory)
{
  CCW_TRY(ccw_sim_check(device));
  CCW_TRY(ccw_sim_check_capture(device, "allocating"));
  if (ccw_sim_is_to_fail(&device->fail_allocation))
    return ccw_resource_exhausted("no memory for %zu bytes: injected failure", size);
  return ccw_sim_allocate(device, size, site, out_memory);
}

ccw_status ccw_sim_take_memory(sim_device *device, size_t size, const char *site, void **out_memory)
{
  ccw_sim_lock();
  ccw_status status = allocate_locked(device, size, site, out_memory);
  ccw_sim_unlock();
  return ccw_device_says(&device->base, status);
}

/* As cudaFree: behind all that is queued. What failed there is told by who waits for it; and memory of a device that is broken is
 * given back, too.
 *
 * While a stream is captured memory may become garbage that has nothing to do with it, and somebody collects it: this goes when
 * the capture is over. A handler that frees memory meanwhile could not be captured by CUDA. */
static ccw_status release_locked(sim_device *device, void *memory, bool is_handler)
{
  bool is_garbage = device->capture && !is_handler && !ccw_sim_captures(device, memory);
  if (is_garbage) return ccw_sim_release(device, memory, true);
  CCW_TRY(ccw_sim_check_capture(device, "releasing"));
  ccw_sim_wait_for_all(device);
  return ccw_sim_release(device, memory, false);
}

ccw_status ccw_sim_give_memory(sim_device *device, void *memory, bool is_handler)
{
  ccw_sim_lock();
  ccw_status status = release_locked(device, memory, is_handler);
  ccw_sim_unlock();
  return ccw_device_says(&device->base, status);
}

static ccw_status allocate(ccw_device *device, size_t size, const char *site, void **out_memory)
{
  return ccw_sim_take_memory(ccw_sim_of(device), size, site, out_memory);
}

static ccw_status release(ccw_device *device, void *memory)
{
  return ccw_sim_give_memory(ccw_sim_of(device), memory, false);
}

const ccw_memory_ops ccw_sim_memory_ops = {
    .allocate = allocate, .release = release, .copy = copy, .fill = fill, .visit = ccw_sim_visit};

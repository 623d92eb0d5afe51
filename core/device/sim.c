/* The simulated GPUs, sim:0 to sim:15: their options, and the functions for handlers.
 *
 * A sim is there when it is asked for. Its memory is out of the host's reach, its work runs when somebody waits for it, its kernels
 * run on this machine, and its errors come where CUDA's would. */
#include "device/sim.h"

#include <pthread.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"

/* ---- one lock -------------------------------------------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void ccw_sim_lock(void) { pthread_mutex_lock(&lock); }
void ccw_sim_unlock(void) { pthread_mutex_unlock(&lock); }

/* A child that was forked is not to wait for a thread that it does not have. */
static void watch_forks(void) { pthread_atfork(ccw_sim_lock, ccw_sim_unlock, ccw_sim_unlock); }

/* ---- options --------------------------------------------------------------------------------------------------------- */

bool ccw_sim_is_to_fail(int64_t *left) { return *left > 0 && --*left == 0; }

static bool is_count(double value, double most)
{
  return value >= 0 && value <= most && value == (double)(uint64_t)value;
}

static bool set_count(int64_t *out_count, double value)
{
  if (!is_count(value, 1e15)) return false;
  *out_count = (int64_t)value;
  return true;
}

static bool set_seed(sim_device *device, double value)
{
  if (!is_count(value, 9007199254740992.0)) return false;
  device->seed = (uint64_t)value;
  device->drawn = 0;
  return true;
}

static bool set_memory(sim_device *device, double value)
{
  if (!is_count(value, 1e15)) return false;
  device->memory = (size_t)value;
  return true;
}

static bool set_time_limit(sim_device *device, double value)
{
  if (!(value >= 0 && value <= 1e9)) return false;
  device->time_limit = value;
  return true;
}

static bool set_warp_size(sim_device *device, double value)
{
  if (value != 32 && value != 64) return false;
  device->warp_size = (uint32_t)value;
  return true;
}

static bool fail_allocation(sim_device *device, double n) { return set_count(&device->fail_allocation, n); }
static bool fail_launch(sim_device *device, double n) { return set_count(&device->fail_launch, n); }
static bool fail_copy(sim_device *device, double n) { return set_count(&device->fail_copy, n); }
static bool fail_synchronize(sim_device *device, double n) { return set_count(&device->fail_synchronize, n); }

static const struct {
  const char *name;
  bool (*set)(sim_device *device, double value); /* false: it may not be that */
  const char *expected;
} options[] = {
    {"seed", set_seed, "a whole number from 0 on"},
    {"memory", set_memory, "a number of bytes"},
    {"time_limit", set_time_limit, "seconds, or 0 for none"},
    {"warp_size", set_warp_size, "32 or 64"},
    {"fail_allocation", fail_allocation, "a whole number from 0 on"},
    {"fail_launch", fail_launch, "a whole number from 0 on"},
    {"fail_copy", fail_copy, "a whole number from 0 on"},
    {"fail_synchronize", fail_synchronize, "a whole number from 0 on"},
};

enum { OPTIONS = sizeof options / sizeof *options };

static ccw_status no_option(const char *name)
{
  ccw_text text = {0};
  ccw_near near = ccw_near_to(name, strlen(name));
  ccw_text_add(&text, "no option is called ");
  ccw_text_add_quoted(&text, name, strlen(name));
  for (int i = 0; i < OPTIONS; ++i) ccw_near_offer(&near, options[i].name, strlen(options[i].name));
  ccw_near_print(&near, &text);
  return ccw_status_of_text(XLA_FFI_Error_Code_NOT_FOUND, &text);
}

static ccw_status set_locked(sim_device *device, const char *name, double value)
{
  for (int i = 0; i < OPTIONS; ++i) {
    if (strcmp(options[i].name, name) != 0) continue;
    if (options[i].set(device, value)) return ccw_ok();
    return ccw_out_of_range("%s: expected %s, got %g", name, options[i].expected, value);
  }
  return no_option(name);
}

static ccw_status set(ccw_device *device, const char *name, double value)
{
  ccw_sim_lock();
  ccw_status status = set_locked(ccw_sim_of(device), name, value);
  ccw_sim_unlock();
  return ccw_device_says(device, status);
}

static void set_defaults(sim_device *device)
{
  device->memory = (size_t)16 << 30;
  device->time_limit = 10;
  device->warp_size = 32;
}

/* ---- the device ------------------------------------------------------------------------------------------------------ */

ccw_status ccw_sim_check(sim_device *device)
{
  return device->is_broken ? ccw_aborted("broken until it is reset: %s", device->text) : ccw_ok();
}

static void describe(ccw_device *base, ccw_device_info *info)
{
  sim_device *device = ccw_sim_of(base);
  struct utsname machine;
  bool is_known = uname(&machine) == 0;
  snprintf(info->description, sizeof info->description, "simulated GPU%s%.32s", is_known ? " on " : "",
      is_known ? machine.machine : "");
  strcpy(info->architecture, "sim");
  ccw_sim_describe_limits(info);
  info->processors = 1; /* one block runs at a time */
  ccw_sim_lock();
  info->memory = (int64_t)device->memory;
  info->memory_free = device->memory > device->space.in_use ? (int64_t)(device->memory - device->space.in_use) : 0;
  info->warp_size = device->warp_size;
  ccw_sim_unlock();
}

static ccw_status synchronize(ccw_device *device)
{
  ccw_sim_lock();
  ccw_status status = ccw_sim_synchronize_device(ccw_sim_of(device));
  ccw_sim_unlock();
  return ccw_device_says(device, status);
}

static void forget_accesses(sim_device *device)
{
  ccw_host_access access;
  ccw_sim_close_seen(device);
  while (ccw_sim_take_notes(device, &access, 1) > 0) continue;
}

/* Those that handlers have made, and not destroyed. */
static void leave_handlers_streams(sim_device *device)
{
  for (sim_stream *stream = device->streams, *next; stream; stream = next) {
    next = stream->next;
    if (stream->is_of_handler) ccw_sim_stream_leave(stream);
  }
}

static ccw_status reset(ccw_device *base)
{
  sim_device *device = ccw_sim_of(base);
  ccw_sim_lock();
  ccw_sim_drop_work(device);
  ccw_sim_drop_capture(device);
  ccw_sim_forget_memory(device);
  forget_accesses(device);
  leave_handlers_streams(device);
  device->failure = XLA_FFI_Error_Code_OK;
  device->is_broken = device->has_fault = false;
  ccw_sim_unlock();
  return ccw_ok();
}

static int64_t take_accesses(ccw_device *device, ccw_host_access *accesses, int64_t most)
{
  ccw_sim_lock();
  ccw_sim_close_seen(ccw_sim_of(device));
  int64_t count = ccw_sim_take_notes(ccw_sim_of(device), accesses, most);
  ccw_sim_unlock();
  return count;
}

static bool last_fault(ccw_device *base, ccw_kernel_fault *out_fault)
{
  sim_device *device = ccw_sim_of(base);
  ccw_sim_lock();
  bool is_there = device->has_fault;
  if (is_there) *out_fault = device->fault;
  ccw_sim_unlock();
  return is_there;
}

static bool holds(ccw_device *device, const void *memory, size_t size)
{
  sim_allocation *a;
  ccw_sim_lock();
  bool is_there = ccw_sim_is_within(ccw_sim_of(device), memory, size, &a);
  ccw_sim_unlock();
  return is_there;
}

static const ccw_cannot cannot[] = {{"half", "kernels run on the processor, and have no arithmetic of f16 and bf16"},
    {"ptx", "kernels are compiled for the processor: there is no inline PTX"},
    {"textures", "there is no texture unit, and nothing in place of one"},
    {"clusters", "one block runs at a time: blocks cannot wait for each other"}, {NULL, NULL}};

static const ccw_device_ops device_ops = {
    .memory = &ccw_sim_memory_ops,
    .stream = &ccw_sim_stream_ops,
    .event = &ccw_sim_event_ops,
    .code = &ccw_sim_code_ops,
    .graph = &ccw_sim_graph_ops,
    .cannot = cannot,
    .holds = holds,
    .describe = describe,
    .synchronize = synchronize,
    .reset = reset,
    .takes_platforms = true,
    .set = set,
    .take_accesses = take_accesses,
    .last_fault = last_fault,
};

/* ---- for handlers ---------------------------------------------------------------------------------------------------- */

/* The stream of a handle; NULL where there is none, or no more. With the lock held. */
static sim_stream *find_stream(const ccw_sim_stream *handle)
{
  sim_device *device;
  for (int i = 0; i < SIM_DEVICES; ++i)
    for (sim_stream *s = (device = ccw_sim_number(i)) ? device->streams : NULL; s; s = s->next)
      if (&s->handle == handle) return s;
  return NULL;
}

static ccw_status no_stream(const ccw_sim_stream *handle)
{
  return ccw_invalid("no stream of a simulated device is at %p: it was destroyed, or never made", (const void *)handle);
}

/* What a handler does with a stream: begins with the lock and the stream, ends with what is said of it, and the lock given back. */
static ccw_status begin(const ccw_sim_stream *handle, sim_stream **out_stream)
{
  ccw_sim_lock();
  *out_stream = find_stream(handle);
  if (*out_stream) return ccw_ok();
  ccw_sim_unlock();
  return no_stream(handle);
}

static ccw_status end(sim_device *device, ccw_status status)
{
  ccw_sim_unlock();
  return ccw_device_says(&device->base, status);
}

static ccw_status handler_launches(ccw_sim_stream *handle, const ccw_sim_launch *launch)
{
  CCW_TRY_LET(sim_stream *, stream, begin, handle);
  return end(stream->device, ccw_sim_launch_queue(stream, launch, NULL));
}

/* Whether memory is in frames that are under way, and gone when the handler returns. */
static bool is_on_stack(const void *memory)
{
  const uintptr_t most = 8 << 20;
  return (uintptr_t)memory - (uintptr_t)__builtin_frame_address(0) < most;
}

/* Copies of what is on the stack are done at once, as CUDA does with all memory of the host that is not pinned. */
static ccw_status handler_copies(ccw_sim_stream *handle, void *to, const void *from, size_t size)
{
  CCW_TRY_LET(sim_stream *, stream, begin, handle);
  ccw_status status = ccw_sim_copy(stream, to, from, size);
  if (!status.code && !stream->device->capture && (is_on_stack(to) || is_on_stack(from)))
    status = ccw_sim_synchronize(stream);
  return end(stream->device, status);
}

static ccw_status handler_fills(ccw_sim_stream *handle, void *memory, int byte, size_t size)
{
  CCW_TRY_LET(sim_stream *, stream, begin, handle);
  return end(stream->device, ccw_sim_fill(stream, memory, byte, size));
}

static ccw_status handler_synchronizes(ccw_sim_stream *handle)
{
  CCW_TRY_LET(sim_stream *, stream, begin, handle);
  return end(stream->device, ccw_sim_synchronize(stream));
}

/* Whose the stream is. */
static ccw_status find_device(const ccw_sim_stream *handle, sim_device **out_device)
{
  CCW_TRY_LET(sim_stream *, stream, begin, handle);
  *out_device = stream->device;
  ccw_sim_unlock();
  return ccw_ok();
}

static ccw_status handler_allocates(ccw_sim_stream *handle, size_t size, void **out_memory)
{
  *out_memory = NULL;
  CCW_TRY_LET(sim_device *, device, find_device, handle);
  return size == 0 ? ccw_ok() : ccw_sim_take_memory(device, size, "a handler", out_memory);
}

static ccw_status handler_releases(ccw_sim_stream *handle, void *memory)
{
  CCW_TRY_LET(sim_device *, device, find_device, handle);
  return memory ? ccw_sim_give_memory(device, memory, true) : ccw_ok();
}

static ccw_status handler_creates(ccw_sim_stream *handle, ccw_sim_stream **out_stream)
{
  *out_stream = NULL;
  CCW_TRY_LET(sim_stream *, like, begin, handle);
  sim_stream *stream;
  ccw_status status = ccw_sim_check(like->device);
  if (!status.code) status = ccw_sim_stream_new(like->device, true, &stream);
  if (!status.code) *out_stream = &stream->handle;
  return end(like->device, status);
}

static ccw_status handler_destroys(ccw_sim_stream *handle)
{
  CCW_TRY_LET(sim_stream *, stream, begin, handle);
  sim_device *device = stream->device;
  if (!stream->is_of_handler)
    return end(device, ccw_invalid("a handler may destroy what it has created, and no other stream"));
  ccw_sim_leave_capture(stream);
  ccw_sim_stream_leave(stream);
  return end(device, ccw_ok());
}

static ccw_status handler_waits(ccw_sim_stream *handle, ccw_sim_stream *other)
{
  CCW_TRY_LET(sim_stream *, stream, begin, handle);
  sim_stream *awaited = find_stream(other);
  if (!other) return end(stream->device, ccw_invalid("wait: expected a stream, got NULL"));
  if (!awaited) return end(stream->device, no_stream(other));
  if (awaited->device != stream->device)
    return end(stream->device,
        ccw_invalid("wait: expected a stream of this device, got one of %s", awaited->device->base.name));
  return end(stream->device, ccw_sim_wait(stream, awaited));
}

const ccw_sim_functions ccw_sim_functions_of_streams = {
    .struct_size = sizeof(ccw_sim_functions),
    .abi = CCW_SIM_ABI,
    .launch = handler_launches,
    .copy = handler_copies,
    .fill = handler_fills,
    .synchronize = handler_synchronizes,
    .allocate = handler_allocates,
    .release = handler_releases,
    .create = handler_creates,
    .destroy = handler_destroys,
    .wait = handler_waits,
};

/* ---- the family ------------------------------------------------------------------------------------------------------ */

static sim_device devices[SIM_DEVICES];
static sim_device *_Atomic opened[SIM_DEVICES]; /* also asked by who takes a fault */

sim_device *ccw_sim_number(int i) { return atomic_load_explicit(&opened[i], memory_order_acquire); }

static ccw_status open_now(int32_t ordinal)
{
  sim_device *device = &devices[ordinal];
  snprintf(device->base.name, sizeof device->base.name, "sim:%d", (int)ordinal);
  strcpy(device->base.platform, "sim");
  device->base.ops = &device_ops;
  device->base.ordinal = ordinal;
  set_defaults(device);
  CCW_TRY(ccw_sim_space_open(device));
  atomic_store_explicit(&opened[ordinal], device, memory_order_release);
  return ccw_ok();
}

static ccw_status open(int32_t ordinal, ccw_device **out_device)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (ordinal < 0 || ordinal >= SIM_DEVICES)
    return ccw_not_found("sim:%d: there are sim:0 to sim:%d", (int)ordinal, SIM_DEVICES - 1);
  pthread_once(&once, watch_forks);
  ccw_status status = ccw_ok();
  ccw_sim_lock();
  if (!ccw_sim_number(ordinal)) status = open_now(ordinal);
  ccw_sim_unlock();
  if (status.code) return ccw_device_says(&devices[ordinal].base, status);
  *out_device = &devices[ordinal].base;
  return ccw_ok();
}

/* Up to the last one that somebody has asked for. */
static int32_t count(void)
{
  int32_t i = SIM_DEVICES;
  while (i > 1 && !ccw_sim_number(i - 1)) --i;
  return i;
}

const ccw_device_family ccw_family_sim = {"sim", open, count};

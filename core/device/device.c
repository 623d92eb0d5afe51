#include "device/device.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/checked.h"
#include "base/memory.h"
#include "base/text.h"
#include "device/simt.h"

/* In the order in which they are listed. */
static const ccw_device_family *const families[] = {
    &ccw_family_host, &ccw_family_sim, &ccw_family_cuda, &ccw_family_rocm};

enum { FAMILIES = sizeof families / sizeof *families };

ccw_status ccw_device_says(const ccw_device *device, ccw_status status)
{
  return status.code ? ccw_status_in(status, device->name) : status;
}

/* ---- what a device lacks --------------------------------------------------------------------------------------------- */

static ccw_status cannot(const ccw_device *device, const char *what)
{
  const char *why = "it cannot";
  for (const ccw_cannot *c = device->ops->cannot; c && c->what; ++c)
    if (strcmp(c->what, what) == 0) why = c->why;
  return ccw_unimplemented("%s: %s: %s", device->name, what, why);
}

bool ccw_device_cannot(const ccw_device *device, size_t i, const char **out_what, const char **out_why)
{
  const ccw_cannot *c = device->ops->cannot;
  while (c && c->what && i > 0) ++c, --i;
  if (!c || !c->what) return false;
  *out_what = c->what;
  *out_why = c->why;
  return true;
}

/* ---- finding --------------------------------------------------------------------------------------------------------- */

/* Reads "sim:1"; false where that is no such name. No ordinal is 0. */
static bool read_name(const char *name, size_t length, size_t *out_family_length, int32_t *out_ordinal)
{
  const char *colon = memchr(name, ':', length);
  *out_family_length = colon ? (size_t)(colon - name) : length;
  *out_ordinal = 0;
  if (!colon) return length > 0;
  const char *digit = colon + 1, *end = name + length;
  if (digit == end || end - digit > 4) return false;
  for (; digit < end; ++digit) {
    if (*digit < '0' || *digit > '9') return false;
    *out_ordinal = *out_ordinal * 10 + (*digit - '0');
  }
  return true;
}

static ccw_status no_device(const char *name, size_t length)
{
  ccw_text text = {0};
  size_t family_length;
  int32_t ordinal;
  read_name(name, length, &family_length, &ordinal);
  ccw_near near = ccw_near_to(name, family_length);
  ccw_text_add(&text, "no device is called ");
  ccw_text_add_quoted(&text, name, length);
  for (int i = 0; i < FAMILIES; ++i) ccw_near_offer(&near, families[i]->name, strlen(families[i]->name));
  ccw_near_print(&near, &text);
  ccw_text_add(&text, "; there are ");
  for (int i = 0; i < FAMILIES; ++i) ccw_text_add(&text, "%s%s", i > 0 ? ", " : "", families[i]->name);
  ccw_text_add(&text, " and, of more than one, NAME:0, NAME:1, ...");
  return ccw_status_of_text(XLA_FFI_Error_Code_NOT_FOUND, &text);
}

ccw_status ccw_device_open(const char *name, size_t length, ccw_device **out_device)
{
  size_t family_length;
  int32_t ordinal;
  *out_device = NULL;
  if (!read_name(name, length, &family_length, &ordinal)) return no_device(name, length);
  for (int i = 0; i < FAMILIES; ++i) {
    const ccw_device_family *family = families[i];
    if (strlen(family->name) == family_length && memcmp(family->name, name, family_length) == 0)
      return family->open(ordinal, out_device);
  }
  return no_device(name, length);
}

ccw_device *ccw_device_host(void)
{
  ccw_device *host;
  ccw_status_free(ccw_family_host.open(0, &host)); /* which is always there */
  return host;
}

void ccw_devices_visit(ccw_device_visitor *visit, void *context)
{
  for (int i = 0; i < FAMILIES; ++i) {
    ccw_device *device = NULL;
    int32_t count = families[i]->count();
    for (int32_t ordinal = 0; ordinal < count || ordinal == 0; ++ordinal) {
      ccw_status status = families[i]->open(ordinal, &device);
      visit(context, status.code ? families[i]->name : device->name, status.code ? NULL : device, status);
    }
  }
}

/* ---- about it -------------------------------------------------------------------------------------------------------- */

const char *ccw_device_name(const ccw_device *device) { return device->name; }
const char *ccw_device_platform(const ccw_device *device) { return device->platform; }
int32_t ccw_device_ordinal(const ccw_device *device) { return device->ordinal; }

ccw_status ccw_device_set_platform(ccw_device *device, const char *platform)
{
  if (strcmp(device->platform, platform) == 0) return ccw_ok();
  if (!device->ops->takes_platforms) return cannot(device, "as");
  if (strlen(platform) >= sizeof device->platform)
    return ccw_invalid("%s: no platform has so long a name", device->name);
  strcpy(device->platform, platform);
  return ccw_ok();
}

ccw_device_info ccw_device_describe(ccw_device *device)
{
  ccw_device_info info = {.name = device->name, .platform = device->platform, .ordinal = device->ordinal};
  device->ops->describe(device, &info);
  return info;
}

ccw_status ccw_device_synchronize(ccw_device *device) { return device->ops->synchronize(device); }

ccw_status ccw_device_make_current(ccw_device *device)
{
  return device->ops->make_current ? device->ops->make_current(device) : ccw_ok();
}

ccw_status ccw_device_reset(ccw_device *device)
{
  return device->ops->reset ? device->ops->reset(device) : cannot(device, "reset");
}

ccw_status ccw_device_set(ccw_device *device, const char *option, double value)
{
  return device->ops->set ? device->ops->set(device, option, value) : cannot(device, "set");
}

int64_t ccw_device_take_accesses(ccw_device *device, ccw_host_access *accesses, int64_t most)
{
  return device->ops->take_accesses && most > 0 ? device->ops->take_accesses(device, accesses, most) : 0;
}

bool ccw_device_last_fault(ccw_device *device, ccw_kernel_fault *out_fault)
{
  return device->ops->last_fault && device->ops->last_fault(device, out_fault);
}

/* ---- memory ---------------------------------------------------------------------------------------------------------- */

ccw_status ccw_device_allocate(ccw_device *device, size_t size, const char *site, void **out_memory)
{
  *out_memory = NULL;
  if (size == 0) return ccw_ok();
  if (size > PTRDIFF_MAX) return ccw_resource_exhausted("%s: no memory for %zu bytes", device->name, size);
  return device->ops->memory->allocate(device, size, site, out_memory);
}

ccw_status ccw_device_release(ccw_device *device, void *memory)
{
  return memory ? device->ops->memory->release(device, memory) : ccw_ok();
}

ccw_status ccw_device_allocate_pinned(ccw_device *device, size_t size, void **out_memory)
{
  *out_memory = NULL;
  if (size == 0) return ccw_ok();
  if (device->ops->memory->allocate_pinned) return device->ops->memory->allocate_pinned(device, size, out_memory);
  *out_memory = ccw_allocate(size);
  return *out_memory ? ccw_ok() : ccw_no_memory(size);
}

ccw_status ccw_device_release_pinned(ccw_device *device, void *memory, size_t size)
{
  if (!memory) return ccw_ok();
  if (device->ops->memory->allocate_pinned) return device->ops->memory->release_pinned(device, memory);
  ccw_release(memory, size);
  return ccw_ok();
}

bool ccw_device_holds(ccw_device *device, const void *memory, size_t size)
{
  return size == 0 || !device->ops->holds || device->ops->holds(device, memory, size);
}

void ccw_device_visit_memory(ccw_device *device, ccw_allocation_visitor *visit, void *context)
{
  if (device->ops->memory->visit) device->ops->memory->visit(device, visit, context);
}

ccw_status ccw_stream_copy(ccw_stream *stream, ccw_copy_kind kind, void *to, const void *from, size_t size)
{
  if (size == 0) return ccw_ok();
  if (!to || !from) return ccw_invalid("%s: copy: expected memory, got NULL", stream->device->name);
  return stream->device->ops->memory->copy(stream, kind, to, from, size);
}

ccw_status ccw_stream_fill(ccw_stream *stream, void *memory, int byte, size_t size)
{
  if (size == 0) return ccw_ok();
  if (!memory) return ccw_invalid("%s: fill: expected memory, got NULL", stream->device->name);
  return stream->device->ops->memory->fill(stream, memory, byte, size);
}

/* On the device's own stream, to its end. What is queued is not left behind when it fails: the host's memory may go. */
static ccw_status copy_on(ccw_device *device, ccw_copy_kind kind, void *to, const void *from, size_t size)
{
  CCW_TRY_LET(ccw_stream *, stream, ccw_device_stream, device);
  CCW_TRY(ccw_stream_copy(stream, kind, to, from, size));
  return ccw_stream_synchronize(stream);
}

/* Between two devices that do not know each other: through the host, in parts. */
static ccw_status copy_through_host(
    ccw_device *to_device, char *to, ccw_device *from_device, const char *from, size_t size)
{
  const size_t most = (size_t)16 << 20;
  size_t part = size < most ? size : most;
  char *between = ccw_allocate(part);
  if (!between) return ccw_no_memory(part);
  ccw_status status = ccw_ok();
  for (size_t at = 0; at < size && !status.code; at += part) {
    size_t now = size - at < part ? size - at : part;
    status = copy_on(from_device, CCW_COPY_FROM_DEVICE, between, from + at, now);
    if (!status.code) status = copy_on(to_device, CCW_COPY_TO_DEVICE, to + at, between, now);
  }
  ccw_release(between, part);
  return status;
}

ccw_status ccw_device_copy(ccw_device *to_device, void *to, ccw_device *from_device, const void *from, size_t size)
{
  ccw_device *host = ccw_device_host();
  if (size == 0) return ccw_ok();
  if (to_device == from_device) return copy_on(to_device, CCW_COPY_WITHIN, to, from, size);
  if (from_device == host) return copy_on(to_device, CCW_COPY_TO_DEVICE, to, from, size);
  if (to_device == host) return copy_on(from_device, CCW_COPY_FROM_DEVICE, to, from, size);
  return copy_through_host(to_device, to, from_device, from, size);
}

/* ---- streams and events ---------------------------------------------------------------------------------------------- */

static ccw_status make_stream(ccw_device *device, int64_t number, ccw_stream **out_stream)
{
  CCW_TRY(device->ops->stream->create(device, out_stream));
  (*out_stream)->count = 1;
  (*out_stream)->device = device;
  (*out_stream)->number = number;
  return ccw_ok();
}

ccw_status ccw_device_stream(ccw_device *device, ccw_stream **out_stream)
{
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  *out_stream = atomic_load_explicit(&device->stream, memory_order_acquire);
  if (*out_stream) return ccw_ok();
  pthread_mutex_lock(&lock);
  ccw_status status = ccw_ok();
  *out_stream = device->stream;
  if (!*out_stream) status = make_stream(device, 0, out_stream);
  if (!status.code) atomic_store_explicit(&device->stream, *out_stream, memory_order_release);
  pthread_mutex_unlock(&lock);
  return status;
}

ccw_status ccw_stream_new(ccw_device *device, ccw_stream **out_stream)
{
  static _Atomic int64_t last;
  *out_stream = NULL;
  return make_stream(device, ++last, out_stream);
}

ccw_stream *ccw_stream_retain(ccw_stream *stream)
{
  ccw_count_up(&stream->count);
  return stream;
}

void ccw_stream_release(ccw_stream *stream)
{
  if (stream && ccw_count_down(&stream->count)) stream->device->ops->stream->destroy(stream);
}

ccw_device *ccw_stream_device(const ccw_stream *stream) { return stream->device; }
int64_t ccw_stream_number(const ccw_stream *stream) { return stream->number; }
void *ccw_stream_handle(const ccw_stream *stream) { return stream->device->ops->stream->handle(stream); }
ccw_status ccw_stream_synchronize(ccw_stream *stream) { return stream->device->ops->stream->synchronize(stream); }

ccw_status ccw_stream_query(ccw_stream *stream, bool *out_is_done)
{
  *out_is_done = false;
  return stream->device->ops->stream->query(stream, out_is_done);
}

/* Streams, events and kernels belong to one device each. */
static ccw_status check_same(const ccw_device *device, const ccw_device *other, const char *what)
{
  if (device == other) return ccw_ok();
  return ccw_invalid("%s: expected %s of this device, got one of %s", device->name, what, other->name);
}

ccw_status ccw_stream_wait(ccw_stream *stream, ccw_event *event)
{
  CCW_TRY(check_same(stream->device, event->device, "an event"));
  return stream->device->ops->stream->wait(stream, event);
}

ccw_status ccw_event_new(ccw_device *device, ccw_event **out_event)
{
  *out_event = NULL;
  CCW_TRY(device->ops->event->create(device, out_event));
  (*out_event)->count = 1;
  (*out_event)->device = device;
  return ccw_ok();
}

ccw_event *ccw_event_retain(ccw_event *event)
{
  ccw_count_up(&event->count);
  return event;
}

void ccw_event_release(ccw_event *event)
{
  if (event && ccw_count_down(&event->count)) event->device->ops->event->destroy(event);
}

ccw_status ccw_event_record(ccw_event *event, ccw_stream *stream)
{
  CCW_TRY(check_same(event->device, stream->device, "a stream"));
  return event->device->ops->event->record(event, stream);
}

ccw_status ccw_event_synchronize(ccw_event *event) { return event->device->ops->event->synchronize(event); }

ccw_status ccw_event_seconds(ccw_event *from, ccw_event *to, double *out_seconds)
{
  *out_seconds = 0;
  CCW_TRY(check_same(from->device, to->device, "an event"));
  return from->device->ops->event->seconds(from, to, out_seconds);
}

/* ---- code ------------------------------------------------------------------------------------------------------------ */

ccw_status ccw_module_load(ccw_device *device, const char *path, ccw_module **out_module)
{
  *out_module = NULL;
  if (!device->ops->code) return cannot(device, "code");
  CCW_TRY(device->ops->code->load(device, path, out_module));
  (*out_module)->device = device;
  return ccw_ok();
}

void ccw_module_unload(ccw_module *module)
{
  if (module) module->device->ops->code->unload(module);
}

ccw_status ccw_module_kernel(ccw_module *module, const char *name, ccw_kernel **out_kernel)
{
  *out_kernel = NULL;
  CCW_TRY(module->device->ops->code->find(module, name, out_kernel));
  (*out_kernel)->module = module;
  return ccw_ok();
}

int64_t ccw_kernel_parameters(const ccw_kernel *kernel, const ccw_kernel_parameter **out_parameters)
{
  *out_parameters = kernel->parameters;
  return kernel->parameter_count;
}

/* The number of arguments and their sizes, where the kernel says what it takes. */
static ccw_status check_arguments(const ccw_kernel *kernel, const ccw_launch *launch)
{
  const char *device = kernel->module->device->name;
  if (kernel->parameter_count < 0) return ccw_ok();
  if (launch->count != kernel->parameter_count)
    return ccw_invalid("%s: launch of %s: expected %lld arguments, got %lld", device, kernel->name,
        (long long)kernel->parameter_count, (long long)launch->count);
  for (int64_t i = 0; i < launch->count; ++i)
    if (launch->sizes[i] != kernel->parameters[i].size)
      return ccw_invalid("%s: launch of %s: arg %lld: expected %zu bytes, got %zu", device, kernel->name, (long long)i,
          kernel->parameters[i].size, launch->sizes[i]);
  return ccw_ok();
}

ccw_status ccw_kernel_launch(ccw_kernel *kernel, const ccw_launch *launch, ccw_stream *stream)
{
  CCW_TRY(check_same(kernel->module->device, stream->device, "a stream"));
  CCW_TRY(check_arguments(kernel, launch));
  return stream->device->ops->code->launch(kernel, launch, stream);
}

bool ccw_device_interrupt(void) { return ccw_simt_interrupt(); }

/* ---- graphs ---------------------------------------------------------------------------------------------------------- */

ccw_status ccw_stream_begin_capture(ccw_stream *stream)
{
  const ccw_graph_ops *graph = stream->device->ops->graph;
  return graph ? graph->begin(stream) : cannot(stream->device, "graph");
}

ccw_status ccw_stream_end_capture(ccw_stream *stream, ccw_graph **out_graph)
{
  const ccw_graph_ops *graph = stream->device->ops->graph;
  *out_graph = NULL;
  if (!graph) return cannot(stream->device, "graph");
  CCW_TRY(graph->end(stream, out_graph));
  (*out_graph)->device = stream->device;
  return ccw_ok();
}

ccw_status ccw_graph_launch(ccw_graph *graph, ccw_stream *stream)
{
  CCW_TRY(check_same(graph->device, stream->device, "a stream"));
  return graph->device->ops->graph->launch(graph, stream);
}

void ccw_graph_free(ccw_graph *graph)
{
  if (graph) graph->device->ops->graph->destroy(graph);
}

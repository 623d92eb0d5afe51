/* This machine as a device: memory of core's allocator, and streams on which everything is done at once. It runs no kernels. */
#include <pthread.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/memory.h"
#include "base/text.h"
#include "device/device.h"

/* ---- memory ---------------------------------------------------------------------------------------------------------- */

/* In front of what the caller gets, in the same block. */
typedef struct allocation {
  struct allocation *next; /* an older one */
  size_t size;
  char site[64];
} allocation;

static allocation *allocations;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *memory_of(allocation *a) { return (void *)ccw_align((uintptr_t)(a + 1), CCW_BUFFER_ALIGNMENT); }
static size_t block_size(size_t size) { return sizeof(allocation) + CCW_BUFFER_ALIGNMENT - 1 + size; }

static ccw_status allocate(ccw_device *device, size_t size, const char *site, void **out_memory)
{
  allocation *a = size < PTRDIFF_MAX ? ccw_allocate(block_size(size)) : NULL;
  if (!a) return ccw_resource_exhausted("%s: no memory for %zu bytes", device->name, size);
  a->size = size;
  snprintf(a->site, sizeof a->site, "%s", site ? site : "");
  pthread_mutex_lock(&lock);
  a->next = allocations;
  allocations = a;
  pthread_mutex_unlock(&lock);
  *out_memory = memory_of(a);
  return ccw_ok();
}

static ccw_status release(ccw_device *device, void *memory)
{
  pthread_mutex_lock(&lock);
  allocation **at = &allocations;
  while (*at && memory_of(*at) != memory) at = &(*at)->next;
  allocation *a = *at;
  if (a) *at = a->next;
  pthread_mutex_unlock(&lock);
  if (!a) return ccw_invalid("%s: %p was not allocated here, or is given back already", device->name, memory);
  ccw_release(a, block_size(a->size));
  return ccw_ok();
}

static void visit_from(allocation *a, ccw_allocation_visitor *visit, void *context)
{
  if (!a) return;
  visit_from(a->next, visit, context); /* the oldest first */
  visit(context, memory_of(a), a->size, a->site);
}

static void visit_memory(ccw_device *device, ccw_allocation_visitor *visit, void *context)
{
  (void)device;
  pthread_mutex_lock(&lock);
  visit_from(allocations, visit, context);
  pthread_mutex_unlock(&lock);
}

static ccw_status copy(ccw_stream *stream, ccw_copy_kind kind, void *to, const void *from, size_t size)
{
  (void)stream, (void)kind;
  memmove(to, from, size);
  return ccw_ok();
}

static ccw_status fill(ccw_stream *stream, void *memory, int byte, size_t size)
{
  (void)stream;
  memset(memory, byte, size);
  return ccw_ok();
}

/* ---- streams and events: whatever was queued is done ----------------------------------------------------------------- */

typedef struct host_event {
  ccw_event event;
  struct timespec at;
  bool is_recorded;
} host_event;

static ccw_status create_stream(ccw_device *device, ccw_stream **out_stream)
{
  (void)device;
  *out_stream = ccw_allocate_zeroed(sizeof **out_stream);
  return *out_stream ? ccw_ok() : ccw_no_memory(sizeof **out_stream);
}

static void destroy_stream(ccw_stream *stream) { ccw_release(stream, sizeof *stream); }

static void *no_handle(const ccw_stream *stream)
{
  (void)stream;
  return NULL;
}

static ccw_status synchronize_stream(ccw_stream *stream)
{
  (void)stream;
  return ccw_ok();
}

static ccw_status query_stream(ccw_stream *stream, bool *out_is_done)
{
  (void)stream;
  *out_is_done = true;
  return ccw_ok();
}

static ccw_status wait_for_event(ccw_stream *stream, ccw_event *event)
{
  (void)stream, (void)event;
  return ccw_ok();
}

static ccw_status create_event(ccw_device *device, ccw_event **out_event)
{
  (void)device;
  host_event *event = ccw_allocate_zeroed(sizeof *event);
  if (!event) return ccw_no_memory(sizeof *event);
  *out_event = &event->event;
  return ccw_ok();
}

static void destroy_event(ccw_event *event) { ccw_release(event, sizeof(host_event)); }

static ccw_status record_event(ccw_event *event, ccw_stream *stream)
{
  (void)stream;
  host_event *e = (host_event *)event;
  clock_gettime(CLOCK_MONOTONIC, &e->at);
  e->is_recorded = true;
  return ccw_ok();
}

static ccw_status synchronize_event(ccw_event *event)
{
  (void)event;
  return ccw_ok();
}

static ccw_status seconds_between(ccw_event *from, ccw_event *to, double *out_seconds)
{
  const host_event *a = (host_event *)from, *b = (host_event *)to;
  if (!a->is_recorded || !b->is_recorded)
    return ccw_failed_precondition(
        "%s: the %s event was never recorded", from->device->name, a->is_recorded ? "second" : "first");
  *out_seconds = (double)(b->at.tv_sec - a->at.tv_sec) + (double)(b->at.tv_nsec - a->at.tv_nsec) * 1e-9;
  return ccw_ok();
}

/* ---- the device ------------------------------------------------------------------------------------------------------ */

static ccw_status synchronize(ccw_device *device)
{
  (void)device;
  return ccw_ok();
}

static void describe(ccw_device *device, ccw_device_info *info)
{
  (void)device;
  struct utsname machine = {0};
  uname(&machine);
  long processors = sysconf(_SC_NPROCESSORS_ONLN), page = sysconf(_SC_PAGESIZE);
  info->processors = processors > 0 ? (int32_t)processors : 1;
  info->memory = sysconf(_SC_PHYS_PAGES) * (int64_t)page;
  info->memory_free = sysconf(_SC_AVPHYS_PAGES) * (int64_t)page;
  snprintf(info->description, sizeof info->description, "%.32s, %d processors", machine.machine, info->processors);
}

static const ccw_memory_ops memory_ops = {
    .allocate = allocate, .release = release, .copy = copy, .fill = fill, .visit = visit_memory};
static const ccw_stream_ops stream_ops = {.create = create_stream,
    .destroy = destroy_stream,
    .handle = no_handle,
    .synchronize = synchronize_stream,
    .query = query_stream,
    .wait = wait_for_event};
static const ccw_event_ops event_ops = {.create = create_event,
    .destroy = destroy_event,
    .record = record_event,
    .synchronize = synchronize_event,
    .seconds = seconds_between};
static const ccw_cannot lacks[] = {{"code", "the host runs handlers and no kernels; sim:0 runs kernels"},
    {"graph", "nothing is queued on the host that could be captured"},
    {"reset", "memory of the host belongs to the process"}, {"set", "there is nothing to set of the host"},
    {"as", "the host is the host"}, {NULL, NULL}};
static const ccw_device_ops ops = {.memory = &memory_ops,
    .stream = &stream_ops,
    .event = &event_ops,
    .cannot = lacks,
    .describe = describe,
    .synchronize = synchronize};

static ccw_device host = {.ops = &ops, .name = "host", .platform = "host"};

static ccw_status open_host(int32_t ordinal, ccw_device **out_device)
{
  if (ordinal > 0) return ccw_not_found("host:%d: there is one host", (int)ordinal);
  *out_device = &host;
  return ccw_ok();
}

static int32_t count_hosts(void) { return 1; }

const ccw_device_family ccw_family_host = {"host", open_host, count_hosts};

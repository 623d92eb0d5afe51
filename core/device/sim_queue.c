/* The work of simulated GPUs: streams, events, and the order in which things run.
 *
 * Nothing runs before somebody waits for it, and then no more than he waits for: who forgets to wait sees it. With a seed, other
 * work may run as well, in an order that is drawn. */
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/mix.h"
#include "base/text.h"
#include "device/sim.h"

static sim_device *device_of(const ccw_stream *stream) { return ccw_sim_of(stream->device); }
static sim_stream *stream_of(ccw_stream *stream) { return (sim_stream *)stream; }

static int64_t queued_everywhere; /* operations */

/* ---- operations ------------------------------------------------------------------------------------------------------ */

sim_operation *ccw_sim_operation_new(sim_kind kind, size_t extra)
{
  size_t block = sizeof(sim_operation) + extra;
  sim_operation *operation = ccw_allocate(block);
  if (!operation) return NULL;
  *operation = (sim_operation){.block = block, .kind = kind};
  return operation;
}

sim_operation *ccw_sim_operation_copy(const sim_operation *operation)
{
  sim_operation *copy = ccw_allocate(operation->block);
  if (!copy) return NULL;
  memcpy(copy, operation, operation->block);
  copy->next = NULL;
  copy->host = NULL;
  copy->launch.arguments = copy->arguments;
  if (copy->module) ccw_sim_module_retain(copy->module);
  return copy;
}

static void unref(sim_stream *stream);

static void release_occurrence(sim_occurrence *occurrence)
{
  if (!occurrence || !ccw_count_down(&occurrence->count)) return;
  ccw_sim_clock_release(occurrence->clock);
  if (occurrence->stream) unref(occurrence->stream);
  ccw_release(occurrence, sizeof *occurrence);
}

void ccw_sim_operation_free(sim_operation *operation)
{
  if (!operation) return;
  ccw_sim_clock_release(operation->host);
  ccw_sim_module_release(operation->module);
  release_occurrence(operation->occurrence);
  ccw_release(operation, operation->block);
}

bool ccw_sim_is_on_device(const sim_stream *stream, const void *address)
{
  return ccw_sim_device_at(address) == stream->device;
}

void ccw_sim_name_operation(const sim_operation *operation, char out_name[SIM_NAME])
{
  const sim_stream *stream = operation->stream;
  switch (operation->kind) {
  case SIM_LAUNCH: snprintf(out_name, SIM_NAME, "launch of %s", operation->launch.kernel->name); break;
  case SIM_FILL: snprintf(out_name, SIM_NAME, "fill"); break;
  case SIM_COPY: {
    bool to = ccw_sim_is_on_device(stream, operation->to), from = ccw_sim_is_on_device(stream, operation->from);
    snprintf(out_name, SIM_NAME, "copy %s", to && from ? "within device" : to ? "to device" : "from device");
    break;
  }
  default: snprintf(out_name, SIM_NAME, "event");
  }
}

/* ---- streams --------------------------------------------------------------------------------------------------------- */

ccw_status ccw_sim_stream_new(sim_device *device, bool is_of_handler, sim_stream **out_stream)
{
  int place;
  int64_t index;
  CCW_TRY(ccw_sim_place_take(&place, &index));
  sim_stream *stream = ccw_allocate_zeroed(sizeof *stream);
  if (!stream) {
    ccw_sim_place_leave(place, index);
    return ccw_no_memory(sizeof *stream);
  }
  stream->base.device = &device->base;
  stream->handle.functions = &ccw_sim_functions_of_streams;
  stream->references = 1;
  stream->device = device;
  stream->place = place;
  stream->queued = stream->done = stream->clock[place] = index;
  stream->is_of_handler = is_of_handler;
  if (is_of_handler) stream->base.number = ++device->handlers_streams;
  stream->previous = device->newest_stream;
  if (stream->previous)
    stream->previous->next = stream;
  else
    device->streams = stream;
  device->newest_stream = stream;
  if (++device->stream_count > 1) ccw_sim_mirror(device);
  *out_stream = stream;
  return ccw_ok();
}

static void unref(sim_stream *stream)
{
  sim_device *device = stream->device;
  if (--stream->references > 0) return;
  if (stream->next)
    stream->next->previous = stream->previous;
  else
    device->newest_stream = stream->previous;
  if (stream->previous)
    stream->previous->next = stream->next;
  else
    device->streams = stream->next;
  --device->stream_count;
  ccw_sim_place_leave(stream->place, stream->queued);
  ccw_release(stream, sizeof *stream);
}

void ccw_sim_stream_leave(sim_stream *stream) { unref(stream); }

static ccw_status create(ccw_device *base, ccw_stream **out_stream)
{
  sim_stream *stream;
  ccw_sim_lock();
  ccw_status status = ccw_sim_check(ccw_sim_of(base));
  if (!status.code) status = ccw_sim_stream_new(ccw_sim_of(base), false, &stream);
  if (!status.code) *out_stream = &stream->base;
  ccw_sim_unlock();
  return ccw_device_says(base, status);
}

static void destroy(ccw_stream *stream)
{
  ccw_sim_lock();
  ccw_sim_leave_capture(stream_of(stream));
  unref(stream_of(stream));
  ccw_sim_unlock();
}

static void *handle(const ccw_stream *stream) { return &((sim_stream *)(uintptr_t)stream)->handle; }

/* ---- queueing -------------------------------------------------------------------------------------------------------- */

static ccw_status append(sim_stream *stream, sim_operation *operation)
{
  ccw_status status = ccw_sim_clock_of_host(&operation->host);
  if (status.code) {
    ccw_sim_operation_free(operation);
    return status;
  }
  operation->stream = stream;
  operation->index = ++stream->queued;
  if (stream->last)
    stream->last->next = operation;
  else
    stream->first = operation;
  if (!stream->last) ++stream->references;
  stream->last = operation;
  ++queued_everywhere;
  return ccw_ok();
}

ccw_status ccw_sim_queue(sim_stream *stream, sim_operation *operation)
{
  return stream->device->capture ? ccw_sim_capture(stream, operation) : append(stream, operation);
}

static sim_operation *take_first(sim_stream *stream)
{
  sim_operation *operation = stream->first;
  stream->first = operation->next;
  if (!stream->first) stream->last = NULL;
  operation->next = NULL;
  --queued_everywhere;
  return operation;
}

/* `was_last`: nothing was behind it when it was taken. */
static void end_operation(sim_stream *stream, sim_operation *operation, bool was_last)
{
  ccw_sim_operation_free(operation);
  if (was_last) unref(stream);
}

void ccw_sim_drop_work(sim_device *device)
{
  for (sim_stream *stream = device->streams, *next; stream; stream = next) {
    ++stream->references; /* the next one may go with what is dropped, this one not before that is known */
    while (stream->first) {
      sim_operation *operation = take_first(stream);
      end_operation(stream, operation, !stream->first);
    }
    stream->done = stream->clock[stream->place] = stream->queued;
    next = stream->next;
    unref(stream);
  }
}

/* ---- failing --------------------------------------------------------------------------------------------------------- */

void ccw_sim_fail(sim_device *device, XLA_FFI_Error_Code code, const char *text)
{
  if (device->failure || device->is_broken) return;
  device->failure = code;
  snprintf(device->text, sizeof device->text, "%s", text);
}

void ccw_sim_break(sim_device *device, XLA_FFI_Error_Code code, const char *text)
{
  device->failure = XLA_FFI_Error_Code_OK;
  ccw_sim_fail(device, code, text);
  device->is_broken = true;
  ccw_sim_drop_work(device);
}

ccw_status ccw_sim_tell(sim_device *device)
{
  XLA_FFI_Error_Code code = device->failure;
  device->failure = XLA_FFI_Error_Code_OK;
  if (code) return ccw_status_from_text(code, device->text, strlen(device->text));
  return ccw_sim_check(device);
}

/* ---- running --------------------------------------------------------------------------------------------------------- */

static double now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void run_record(sim_occurrence *occurrence)
{
  occurrence->clock = ccw_sim_clock_of(occurrence->stream);
  occurrence->seconds = now();
  occurrence->has_happened = true;
}

/* Where nobody knows what was ordered before the event, more is taken to be. */
static void join_occurrence(sim_stream *stream, const sim_occurrence *occurrence)
{
  const sim_clock *clock = occurrence->clock;
  if (clock)
    ccw_sim_stream_joins(stream, clock->at, clock->length);
  else if (occurrence->stream)
    ccw_sim_stream_joins(stream, occurrence->stream->clock, ccw_sim_clock_length());
}

static void run_first(sim_stream *stream)
{
  sim_operation *operation = take_first(stream);
  bool was_last = !stream->first; /* what breaks the device drops the others */
  if (operation->host) ccw_sim_stream_joins(stream, operation->host->at, operation->host->length);
  stream->clock[stream->place] = stream->done = operation->index;
  switch (operation->kind) {
  case SIM_COPY: ccw_sim_copy_run(operation); break;
  case SIM_FILL: ccw_sim_fill_run(operation); break;
  case SIM_LAUNCH: ccw_sim_launch_run(stream, operation); break;
  case SIM_RECORD: run_record(operation->occurrence); break;
  case SIM_WAIT: join_occurrence(stream, operation->occurrence); break;
  }
  end_operation(stream, operation, was_last);
}

static bool is_waiting(const sim_stream *stream)
{
  if (!stream->first || stream->first->kind != SIM_WAIT) return false;
  const sim_occurrence *occurrence = stream->first->occurrence;
  return occurrence->stream && occurrence->stream->done < occurrence->index;
}

/* The stream that comes first where another has to go on. What is waited for was queued before, so that nobody waits in a ring. */
static sim_stream *next_for(sim_stream *stream)
{
  while (is_waiting(stream)) stream = stream->first->occurrence->stream;
  return stream;
}

static uint64_t draw(sim_device *device, uint64_t below)
{
  return ccw_mix(device->seed ^ ccw_mix(++device->drawn)) % below;
}

/* With a seed any stream that can go on may be the next. */
static sim_stream *pick(sim_device *device, sim_stream *wanted)
{
  uint64_t count = 0;
  if (device->seed)
    for (sim_stream *s = device->streams; s; s = s->next) count += s->first && !is_waiting(s);
  if (count == 0) return next_for(wanted);
  uint64_t drawn = draw(device, count);
  for (sim_stream *s = device->streams;; s = s->next)
    if (s->first && !is_waiting(s) && drawn-- == 0) return s;
}

static void run_until(sim_stream *stream, int64_t index)
{
  ccw_sim_close_seen(stream->device);
  ++stream->references;
  while (stream->done < index) run_first(pick(stream->device, stream));
  ccw_sim_close_opened(stream->device);
  unref(stream);
}

/* Whether what is queued may conflict by that memory with what the stream has done after its operation `since`. */
static bool is_rival_by(const void *memory, bool is_write, const sim_stream *stream, int64_t since)
{
  const sim_allocation *a = memory ? ccw_sim_allocation_at(stream->device, memory) : NULL;
  return a && ccw_sim_is_rival(a, is_write, stream, since);
}

static bool is_rival(const sim_operation *o, const sim_stream *stream, int64_t since)
{
  if (o->kind == SIM_COPY || o->kind == SIM_FILL)
    return is_rival_by(o->to, true, stream, since) || is_rival_by(o->from, false, stream, since);
  if (o->kind != SIM_LAUNCH) return false;
  const ccw_sim_kernel *kernel = o->launch.kernel;
  for (uint32_t i = 0; i < kernel->parameter_count; ++i) {
    const ccw_sim_parameter *p = &kernel->parameters[i];
    const void *memory;
    if (!p->is_pointer) continue;
    memcpy(&memory, (const char *)o->launch.arguments + p->offset, sizeof memory);
    if (is_rival_by(memory, !p->is_const, stream, since)) return true;
  }
  return false;
}

/* The last that a stream has queued of these; 0 for none. */
static int64_t last_rival(const sim_stream *queued, const sim_stream *stream, int64_t since)
{
  int64_t last = 0;
  for (const sim_operation *o = queued->first; o; o = o->next)
    if (is_rival(o, stream, since)) last = o->index;
  return last;
}

/* Work of other streams that is still queued, and uses memory that this one's used after its operation `since`, runs now, too: so a
 * race is told where somebody waits for one side of it, and not where he waits for the other or never. */
static void run_rivals(sim_stream *stream, int64_t since)
{
  sim_device *device = stream->device;
  if (device->stream_count < 2) return;
  for (sim_stream *other = device->streams; other;) {
    int64_t last = other == stream ? 0 : last_rival(other, stream, since);
    if (last > 0) run_until(other, last);
    other = last > 0 ? device->streams : other->next; /* some may be gone */
  }
}

static void run_all(sim_device *device)
{
  for (sim_stream *stream = device->streams; stream;) {
    if (stream->first) {
      run_until(stream, stream->queued);
      stream = device->streams; /* some may be gone */
    } else {
      stream = stream->next;
    }
  }
}

static void host_has_waited(const int64_t *at, int64_t length)
{
  ccw_sim_host_joins(at, length);
  if (queued_everywhere == 0) ccw_sim_forget_ordered_accesses();
}

/* ---- waiting --------------------------------------------------------------------------------------------------------- */

/* A failure that was asked for: the work is done all the same, and memory of the host that it used may go. */
static ccw_status told(sim_device *device)
{
  CCW_TRY(ccw_sim_tell(device));
  if (ccw_sim_is_to_fail(&device->fail_synchronize)) return ccw_internal("synchronize: injected failure");
  return ccw_ok();
}

ccw_status ccw_sim_synchronize(sim_stream *stream)
{
  CCW_TRY(ccw_sim_check_capture(stream->device, "synchronizing"));
  int64_t since = stream->done;
  run_until(stream, stream->queued);
  run_rivals(stream, since);
  host_has_waited(stream->clock, ccw_sim_clock_length());
  return told(stream->device);
}

void ccw_sim_wait_for_all(sim_device *device)
{
  run_all(device);
  for (sim_stream *stream = device->streams; stream; stream = stream->next)
    host_has_waited(stream->clock, ccw_sim_clock_length());
}

ccw_status ccw_sim_synchronize_device(sim_device *device)
{
  CCW_TRY(ccw_sim_check_capture(device, "synchronizing"));
  ccw_sim_wait_for_all(device);
  return told(device);
}

static ccw_status synchronize(ccw_stream *stream)
{
  ccw_sim_lock();
  ccw_status status = ccw_sim_synchronize(stream_of(stream));
  ccw_sim_unlock();
  return ccw_device_says(stream->device, status);
}

/* Asking lets the work go on by an operation: who asks until it is done sees it done. */
static ccw_status query_locked(sim_stream *stream, bool *out_is_done)
{
  sim_device *device = stream->device;
  CCW_TRY(ccw_sim_check_capture(device, "asking whether work is done"));
  ccw_sim_close_seen(device);
  if (stream->first) run_first(pick(device, stream));
  ccw_sim_close_opened(device);
  CCW_TRY(ccw_sim_tell(device));
  *out_is_done = !stream->first;
  if (*out_is_done) host_has_waited(stream->clock, ccw_sim_clock_length());
  return ccw_ok();
}

static ccw_status query(ccw_stream *stream, bool *out_is_done)
{
  ccw_sim_lock();
  ccw_status status = query_locked(stream_of(stream), out_is_done);
  ccw_sim_unlock();
  return ccw_device_says(stream->device, status);
}

/* ---- events ---------------------------------------------------------------------------------------------------------- */

typedef struct sim_event {
  ccw_event base;
  sim_occurrence *last; /* counted; NULL: it was never recorded */
} sim_event;

static sim_event *event_of(ccw_event *event) { return (sim_event *)event; }

static sim_occurrence *new_occurrence(void)
{
  sim_occurrence *occurrence = ccw_allocate_zeroed(sizeof *occurrence);
  if (occurrence) occurrence->count = 1;
  return occurrence;
}

static ccw_status queue_of_occurrence(sim_stream *stream, sim_kind kind, sim_occurrence *occurrence)
{
  sim_operation *operation = ccw_sim_operation_new(kind, 0);
  if (!operation) return ccw_no_memory(sizeof *operation);
  ccw_count_up(&occurrence->count);
  operation->occurrence = occurrence;
  return append(stream, operation);
}

/* Whoever records into a capture orders what is captured. */
static ccw_status record_now(sim_stream *stream, sim_occurrence *occurrence)
{
  sim_device *device = stream->device;
  CCW_TRY(ccw_sim_check(device));
  if (device->capture) return ccw_sim_capture_record(stream, occurrence);
  CCW_TRY(queue_of_occurrence(stream, SIM_RECORD, occurrence));
  ++stream->references;
  occurrence->stream = stream;
  occurrence->index = stream->queued;
  return ccw_ok();
}

static ccw_status wait_for(sim_stream *stream, sim_occurrence *occurrence)
{
  CCW_TRY(ccw_sim_check(stream->device));
  if (stream->device->capture || occurrence->capture) return ccw_sim_capture_wait(stream, occurrence);
  return queue_of_occurrence(stream, SIM_WAIT, occurrence);
}

ccw_status ccw_sim_wait(sim_stream *stream, sim_stream *other)
{
  sim_occurrence *occurrence = new_occurrence();
  if (!occurrence) return ccw_no_memory(sizeof *occurrence);
  ccw_status status = record_now(other, occurrence);
  if (!status.code) status = wait_for(stream, occurrence);
  release_occurrence(occurrence);
  return status;
}

static ccw_status wait(ccw_stream *stream, ccw_event *event)
{
  ccw_sim_lock();
  sim_occurrence *last = event_of(event)->last;
  ccw_status status = last ? wait_for(stream_of(stream), last) : ccw_sim_check(device_of(stream));
  ccw_sim_unlock();
  return ccw_device_says(stream->device, status);
}

static ccw_status create_event(ccw_device *base, ccw_event **out_event)
{
  sim_event *event = ccw_allocate_zeroed(sizeof *event);
  if (!event) return ccw_device_says(base, ccw_no_memory(sizeof *event));
  event->base.device = base;
  *out_event = &event->base;
  return ccw_ok();
}

static void destroy_event(ccw_event *base)
{
  sim_event *event = event_of(base);
  ccw_sim_lock();
  release_occurrence(event->last);
  ccw_sim_unlock();
  ccw_release(event, sizeof *event);
}

static ccw_status record_locked(sim_event *event, sim_stream *stream)
{
  sim_occurrence *occurrence = new_occurrence();
  if (!occurrence) return ccw_no_memory(sizeof *occurrence);
  ccw_status status = record_now(stream, occurrence);
  sim_occurrence *other = status.code ? occurrence : event->last;
  if (!status.code) event->last = occurrence;
  release_occurrence(other);
  return status;
}

static ccw_status record(ccw_event *event, ccw_stream *stream)
{
  ccw_sim_lock();
  ccw_status status = record_locked(event_of(event), stream_of(stream));
  ccw_sim_unlock();
  return ccw_device_says(stream->device, status);
}

static ccw_status synchronize_event_locked(sim_device *device, const sim_occurrence *last)
{
  CCW_TRY(ccw_sim_check_capture(device, "synchronizing"));
  if (last && last->capture) return ccw_failed_precondition("the event was recorded in a capture, and never happens");
  if (last) {
    run_until(last->stream, last->index);
    if (last->clock) host_has_waited(last->clock->at, last->clock->length);
  }
  return told(device);
}

static ccw_status synchronize_event(ccw_event *event)
{
  ccw_sim_lock();
  ccw_status status = synchronize_event_locked(ccw_sim_of(event->device), event_of(event)->last);
  ccw_sim_unlock();
  return ccw_device_says(event->device, status);
}

static ccw_status seconds_locked(sim_device *device, const sim_event *from, const sim_event *to, double *out_seconds)
{
  CCW_TRY(ccw_sim_check_capture(device, "asking for the time of an event"));
  CCW_TRY(ccw_sim_check(device));
  if (!from->last || !from->last->has_happened) return ccw_failed_precondition("the first event has not happened");
  if (!to->last || !to->last->has_happened) return ccw_failed_precondition("the second event has not happened");
  *out_seconds = to->last->seconds - from->last->seconds;
  return ccw_ok();
}

static ccw_status seconds(ccw_event *from, ccw_event *to, double *out_seconds)
{
  ccw_sim_lock();
  ccw_status status = seconds_locked(ccw_sim_of(from->device), event_of(from), event_of(to), out_seconds);
  ccw_sim_unlock();
  return ccw_device_says(from->device, status);
}

const ccw_stream_ops ccw_sim_stream_ops = {create, destroy, handle, synchronize, query, wait};
const ccw_event_ops ccw_sim_event_ops = {create_event, destroy_event, record, synchronize_event, seconds};

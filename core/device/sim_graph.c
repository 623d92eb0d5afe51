/* Captures of a simulated GPU. While a stream is captured, what is queued on it, and on streams that wait for it, is noted and does
 * not run. Whatever else is done to the device meanwhile invalidates the capture, as CUDA's strictest mode has it.
 *
 * A graph runs its operations one after the other, in the order in which they were captured. */
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "device/sim.h"

static void free_graph(sim_graph *graph)
{
  for (sim_operation *operation = graph->first, *next; operation; operation = next) {
    next = operation->next;
    ccw_sim_operation_free(operation);
  }
  ccw_release(graph, sizeof *graph);
}

/* The streams are as they were before. */
static void leave(sim_device *device)
{
  for (sim_stream *stream = device->streams; stream; stream = stream->next) stream->capture = NULL;
  device->capture = NULL;
  if (device->space.leaving == 0) return;
  ccw_sim_wait_for_all(device);
  ccw_sim_release_leaving(device);
}

void ccw_sim_drop_capture(sim_device *device)
{
  sim_graph *graph = device->capture;
  if (!graph) return;
  leave(device);
  free_graph(graph);
}

void ccw_sim_leave_capture(sim_stream *stream)
{
  sim_graph *graph = stream->device->capture;
  if (!graph || stream->capture != graph) return;
  ccw_status_free(ccw_sim_check_capture(stream->device, "destroying a stream that is part of it"));
  if (graph->origin == stream) ccw_sim_drop_capture(stream->device);
}

/* ---- what may not happen --------------------------------------------------------------------------------------------- */

static ccw_status invalidate(sim_graph *graph, const char *reason)
{
  if (!graph->is_invalid) snprintf(graph->reason, sizeof graph->reason, "%s", reason);
  graph->is_invalid = true;
  return ccw_failed_precondition("%s", reason);
}

ccw_status ccw_sim_check_capture(sim_device *device, const char *what)
{
  char reason[SIM_TEXT];
  if (!device->capture) return ccw_ok();
  snprintf(reason, sizeof reason, "%s may not happen while stream %lld is captured", what,
      (long long)device->capture->stream_number);
  return invalidate(device->capture, reason);
}

/* Whether the stream takes part; a capture that is invalid takes nothing more. */
static ccw_status check_part(sim_stream *stream)
{
  sim_graph *graph = stream->device->capture;
  char what[64];
  if (stream->capture == graph) return graph->is_invalid ? ccw_failed_precondition("%s", graph->reason) : ccw_ok();
  snprintf(what, sizeof what, "using stream %lld, which does not wait for it,", (long long)stream->base.number);
  return ccw_sim_check_capture(stream->device, what);
}

static bool uses(const sim_operation *operation, const sim_allocation *allocation)
{
  if (operation->kind == SIM_LAUNCH) return ccw_sim_launch_uses(operation, allocation);
  return ccw_sim_is_inside(allocation, operation->to) ||
         (operation->kind == SIM_COPY && ccw_sim_is_inside(allocation, operation->from));
}

bool ccw_sim_captures(sim_device *device, const void *memory)
{
  const sim_allocation *allocation = ccw_sim_allocation_at(device, memory);
  if (!allocation) return false;
  for (const sim_operation *operation = device->capture->first; operation; operation = operation->next)
    if (uses(operation, allocation)) return true;
  return false;
}

/* ---- taking part ----------------------------------------------------------------------------------------------------- */

ccw_status ccw_sim_capture(sim_stream *stream, sim_operation *operation)
{
  sim_graph *graph = stream->device->capture;
  ccw_status status = check_part(stream);
  if (status.code) {
    ccw_sim_operation_free(operation);
    return status;
  }
  *graph->last = operation;
  graph->last = &operation->next;
  ++stream->captured;
  return ccw_ok();
}

ccw_status ccw_sim_capture_record(sim_stream *stream, sim_occurrence *occurrence)
{
  CCW_TRY(check_part(stream));
  occurrence->capture = stream->device->capture->number;
  occurrence->captured = stream;
  occurrence->captured_index = stream->captured;
  return ccw_ok();
}

/* What was captured there so far is ordered before what follows here, which has to be joined in turn. */
static void join(sim_stream *stream, const sim_occurrence *occurrence)
{
  if (stream->capture != stream->device->capture) stream->captured = stream->captured_waited = 0;
  stream->capture = stream->device->capture;
  if (occurrence->captured == stream) return;
  for (sim_stream *other = stream->device->streams; other; other = other->next)
    if (other == occurrence->captured && other->captured_waited < occurrence->captured_index)
      other->captured_waited = occurrence->captured_index;
  ++stream->captured;
}

ccw_status ccw_sim_capture_wait(sim_stream *stream, const sim_occurrence *occurrence)
{
  sim_graph *graph = stream->device->capture;
  if (graph && occurrence->capture == graph->number && !graph->is_invalid) {
    join(stream, occurrence);
    return ccw_ok();
  }
  if (!graph) return ccw_failed_precondition("the event was recorded in a capture, and never happens");
  CCW_TRY(check_part(stream));
  return ccw_sim_check_capture(stream->device, "waiting for an event that was recorded elsewhere");
}

/* ---- beginning and ending -------------------------------------------------------------------------------------------- */

static ccw_status begin_locked(sim_stream *stream)
{
  sim_device *device = stream->device;
  CCW_TRY(ccw_sim_check(device));
  CCW_TRY(ccw_sim_check_capture(device, "another capture"));
  sim_graph *graph = ccw_allocate_zeroed(sizeof *graph);
  if (!graph) return ccw_no_memory(sizeof *graph);
  graph->base.device = &device->base;
  graph->number = ++device->captures;
  graph->origin = stream;
  graph->stream_number = stream->base.number;
  graph->last = &graph->first;
  ccw_sim_close_seen(device);
  atomic_store(&device->space.was_touched, false);
  device->capture = stream->capture = graph;
  stream->captured = stream->captured_waited = 0;
  return ccw_ok();
}

static ccw_status begin(ccw_stream *stream)
{
  ccw_sim_lock();
  ccw_status status = begin_locked((sim_stream *)stream);
  ccw_sim_unlock();
  return ccw_device_says(stream->device, status);
}

static void check_end(sim_device *device, sim_graph *graph)
{
  if (atomic_load(&device->space.was_touched))
    ccw_status_free(ccw_sim_check_capture(device, "host code that touches memory of the device"));
  for (sim_stream *stream = device->streams; stream; stream = stream->next) {
    char reason[SIM_TEXT];
    if (stream->capture != graph || stream == graph->origin || stream->captured_waited == stream->captured) continue;
    snprintf(reason, sizeof reason,
        "stream %lld takes part in the capture of stream %lld, which does not wait for it in the end",
        (long long)stream->base.number, (long long)graph->stream_number);
    ccw_status_free(invalidate(graph, reason));
  }
}

static ccw_status end_locked(sim_stream *stream, ccw_graph **out_graph)
{
  sim_device *device = stream->device;
  sim_graph *graph = device->capture;
  CCW_TRY(ccw_sim_check(device));
  if (!graph || stream->capture != graph) return ccw_failed_precondition("the stream is not captured");
  if (graph->origin != stream) return ccw_sim_check_capture(device, "ending the capture on another stream");
  check_end(device, graph);
  leave(device);
  if (graph->is_invalid) {
    ccw_status status = ccw_failed_precondition("the capture failed: %s", graph->reason);
    free_graph(graph);
    return status;
  }
  *out_graph = &graph->base;
  return ccw_ok();
}

static ccw_status end(ccw_stream *stream, ccw_graph **out_graph)
{
  ccw_sim_lock();
  ccw_status status = end_locked((sim_stream *)stream, out_graph);
  ccw_sim_unlock();
  return ccw_device_says(stream->device, status);
}

/* ---- launching ------------------------------------------------------------------------------------------------------- */

static void free_copies(sim_operation *first)
{
  for (sim_operation *next; first; first = next) {
    next = first->next;
    ccw_sim_operation_free(first);
  }
}

/* All of it, or nothing: copies first. */
static ccw_status copy_operations(const sim_graph *graph, sim_operation **out_first)
{
  sim_operation *first = NULL, **last = &first;
  for (const sim_operation *operation = graph->first; operation; operation = operation->next) {
    *last = ccw_sim_operation_copy(operation);
    if (!*last) {
      free_copies(first);
      return ccw_no_memory(operation->block);
    }
    last = &(*last)->next;
  }
  *out_first = first;
  return ccw_ok();
}

static ccw_status launch_locked(const sim_graph *graph, sim_stream *stream)
{
  CCW_TRY(ccw_sim_check(stream->device));
  CCW_TRY_LET(sim_operation *, operation, copy_operations, graph);
  ccw_status status = ccw_ok();
  for (sim_operation *next; operation; operation = next) {
    next = operation->next;
    operation->next = NULL;
    status = ccw_sim_queue(stream, operation);
    if (!status.code) continue;
    free_copies(next);
    break;
  }
  return status;
}

static ccw_status launch(ccw_graph *graph, ccw_stream *stream)
{
  ccw_sim_lock();
  ccw_status status = launch_locked((sim_graph *)graph, (sim_stream *)stream);
  ccw_sim_unlock();
  return ccw_device_says(stream->device, status);
}

static void destroy(ccw_graph *graph)
{
  ccw_sim_lock();
  free_graph((sim_graph *)graph);
  ccw_sim_unlock();
}

const ccw_graph_ops ccw_sim_graph_ops = {begin, end, launch, destroy};

#include "base/memory.h"
#include "base/text.h"
#include "device/gpu.h"

enum { CAPTURE_OF_THREAD = 1 }; /* of both: what other threads do meanwhile is no matter */

typedef struct gpu_graph {
  ccw_graph graph;
  void *executable;
} gpu_graph;

static ccw_status begin(ccw_stream *stream)
{
  gpu_turn turn;
  CCW_TRY(gpu_begin(stream->device, "begin to capture", &turn));
  return gpu_end(&turn, turn.driver->begin_capture(gpu_stream_of(stream), CAPTURE_OF_THREAD));
}

/* The capture ends in any case, also where there is no memory for what it gave. */
static gpu_error end_capture(const gpu_driver *driver, void *stream, gpu_graph *graph)
{
  void *captured = NULL;
  gpu_error error = driver->end_capture(stream, &captured);
  if (!error && graph) error = driver->instantiate(&graph->executable, captured, 0);
  if (captured) driver->destroy_graph(captured);
  return error;
}

static ccw_status end(ccw_stream *stream, ccw_graph **out_graph)
{
  gpu_turn turn;
  gpu_graph *graph = ccw_allocate_zeroed(sizeof *graph);
  ccw_status status = gpu_begin_apart(stream->device, "end the capture", &turn);
  if (!status.code) status = gpu_end(&turn, end_capture(turn.driver, gpu_stream_of(stream), graph));
  if (!status.code && !graph) status = ccw_no_memory(sizeof *graph);
  if (status.code)
    ccw_release(graph, sizeof *graph);
  else
    *out_graph = &graph->graph;
  return status;
}

static ccw_status launch(ccw_graph *graph, ccw_stream *stream)
{
  gpu_turn turn;
  CCW_TRY(gpu_begin(stream->device, "launch a graph", &turn));
  return gpu_end(&turn, turn.driver->launch_graph(((gpu_graph *)graph)->executable, gpu_stream_of(stream)));
}

static void destroy(ccw_graph *graph)
{
  gpu_turn turn;
  ccw_status status = gpu_begin_apart(graph->device, "destroy a graph", &turn);
  if (!status.code) status = gpu_end(&turn, turn.driver->destroy_executable(((gpu_graph *)graph)->executable));
  ccw_status_free(status);
  ccw_release(graph, sizeof(gpu_graph));
}

const ccw_graph_ops gpu_graph_ops = {.begin = begin, .end = end, .launch = launch, .destroy = destroy};

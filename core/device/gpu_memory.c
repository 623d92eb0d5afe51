#include <stdio.h>

#include "base/memory.h"
#include "base/text.h"
#include "device/gpu.h"

enum { PINNED_FOR_ALL_DEVICES = 1 }; /* PORTABLE of both */

/* ---- what is allocated ----------------------------------------------------------------------------------------------- */

static void note(gpu *g, gpu_allocation *a)
{
  gpu_allocation *ring = &g->allocations;
  pthread_mutex_lock(&g->lock);
  a->older = ring->older;
  a->newer = ring;
  ring->older->newer = a;
  ring->older = a;
  pthread_mutex_unlock(&g->lock);
}

/* Takes it out of the ring; NULL: there is none. What is given back is often young. */
static gpu_allocation *forget(gpu *g, const void *memory)
{
  gpu_allocation *ring = &g->allocations;
  pthread_mutex_lock(&g->lock);
  gpu_allocation *a = ring->older;
  while (a != ring && a->memory != memory) a = a->older;
  if (a != ring) {
    a->older->newer = a->newer;
    a->newer->older = a->older;
  }
  pthread_mutex_unlock(&g->lock);
  return a != ring ? a : NULL;
}

static ccw_status allocate_on(ccw_device *device, size_t size, void **out_memory)
{
  gpu_turn turn;
  char what[48];
  snprintf(what, sizeof what, "allocate %zu bytes", size);
  CCW_TRY(gpu_begin_apart(device, what, &turn));
  return gpu_end(&turn, turn.driver->allocate(out_memory, size));
}

static ccw_status allocate(ccw_device *device, size_t size, const char *site, void **out_memory)
{
  gpu_allocation *a = ccw_allocate(sizeof *a);
  if (!a) return ccw_no_memory(sizeof *a);
  ccw_status status = allocate_on(device, size, &a->memory);
  if (status.code) {
    ccw_release(a, sizeof *a);
    return status;
  }
  a->size = size;
  snprintf(a->site, sizeof a->site, "%s", site ? site : "");
  *out_memory = a->memory;
  note(gpu_of(device), a);
  return ccw_ok();
}

/* The driver waits for work that is queued before it gives memory back. */
static ccw_status release(ccw_device *device, void *memory)
{
  gpu_turn turn;
  gpu_allocation *a = forget(gpu_of(device), memory);
  if (!a) return ccw_invalid("%s: %p was not allocated here, or is given back already", device->name, memory);
  ccw_release(a, sizeof *a);
  CCW_TRY(gpu_begin_apart(device, "release", &turn));
  return gpu_end(&turn, turn.driver->release(memory));
}

static void visit_memory(ccw_device *device, ccw_allocation_visitor *visit, void *context)
{
  gpu *g = gpu_of(device);
  pthread_mutex_lock(&g->lock);
  for (const gpu_allocation *a = g->allocations.newer; a != &g->allocations; a = a->newer)
    visit(context, a->memory, a->size, a->site);
  pthread_mutex_unlock(&g->lock);
}

/* ---- memory of the host ---------------------------------------------------------------------------------------------- */

static ccw_status allocate_pinned(ccw_device *device, size_t size, void **out_memory)
{
  gpu_turn turn;
  char what[64];
  snprintf(what, sizeof what, "allocate %zu bytes of pinned memory", size);
  CCW_TRY(gpu_begin_apart(device, what, &turn));
  return gpu_end(&turn, turn.driver->allocate_pinned(out_memory, size, PINNED_FOR_ALL_DEVICES));
}

static ccw_status release_pinned(ccw_device *device, void *memory)
{
  gpu_turn turn;
  CCW_TRY(gpu_begin_apart(device, "release pinned memory", &turn));
  return gpu_end(&turn, turn.driver->release_pinned(memory));
}

/* ---- copies ---------------------------------------------------------------------------------------------------------- */

static ccw_status copy(ccw_stream *stream, ccw_copy_kind kind, void *to, const void *from, size_t size)
{
  gpu_turn turn;
  void *handle = gpu_stream_of(stream);
  CCW_TRY(gpu_begin(stream->device, "copy", &turn));
  switch (kind) {
  case CCW_COPY_TO_DEVICE: return gpu_end(&turn, turn.driver->copy_to_device(to, from, size, handle));
  case CCW_COPY_FROM_DEVICE: return gpu_end(&turn, turn.driver->copy_from_device(to, from, size, handle));
  default: return gpu_end(&turn, turn.driver->copy_within(to, from, size, handle));
  }
}

static ccw_status fill(ccw_stream *stream, void *memory, int byte, size_t size)
{
  gpu_turn turn;
  CCW_TRY(gpu_begin(stream->device, "fill", &turn));
  return gpu_end(&turn, turn.driver->fill(memory, (unsigned char)byte, size, gpu_stream_of(stream)));
}

const ccw_memory_ops gpu_memory_ops = {.allocate = allocate,
    .release = release,
    .allocate_pinned = allocate_pinned,
    .release_pinned = release_pinned,
    .copy = copy,
    .fill = fill,
    .visit = visit_memory};

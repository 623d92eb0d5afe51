/* Which work of simulated GPUs is ordered before which, by vector clocks, and accesses to memory that nothing orders.
 *
 * Streams order their own work, events order that of others, and the host what it has waited for before what it queues later. An
 * allocation keeps the latest accesses. Those of copies and fills are known byte by byte. Of a launch only that is held
 * against others which is certain (sim_touch.c): so there are no false alarms, and races may be missed. */
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "device/sim.h"

/* ---- clocks ---------------------------------------------------------------------------------------------------------- */

/* A place that was left goes to another stream, which counts on: what the one before did is taken to be ordered. */
static struct {
  bool is_taken;
  int64_t index;
} places[SIM_STREAMS];

static int64_t length;            /* of clocks: as many places were taken at some time */
static int64_t host[SIM_STREAMS]; /* what the host has waited for */
static sim_clock *host_now;       /* the same, to be shared; NULL: it has changed */

int64_t ccw_sim_clock_length(void) { return length; }

ccw_status ccw_sim_place_take(int *out_place, int64_t *out_index)
{
  int i = 0;
  while (i < SIM_STREAMS && places[i].is_taken) ++i;
  if (i == SIM_STREAMS) return ccw_resource_exhausted("more than %d streams", SIM_STREAMS);
  places[i].is_taken = true;
  if (i >= length) length = i + 1;
  *out_place = i;
  *out_index = places[i].index;
  return ccw_ok();
}

void ccw_sim_place_leave(int place, int64_t index)
{
  places[place].is_taken = false;
  places[place].index = index;
}

static sim_clock *copy_of(const int64_t *at)
{
  size_t size = (size_t)length * sizeof *at, block = sizeof(sim_clock) + size;
  sim_clock *clock = ccw_allocate(block);
  if (!clock) return NULL;
  clock->count = 1;
  clock->block = block;
  clock->length = length;
  memcpy(clock->at, at, size);
  return clock;
}

void ccw_sim_clock_release(sim_clock *clock)
{
  if (clock && ccw_count_down(&clock->count)) ccw_release(clock, clock->block);
}

/* With one stream there is nothing to be ordered but by it. */
ccw_status ccw_sim_clock_of_host(sim_clock **out_clock)
{
  *out_clock = NULL;
  if (length < 2) return ccw_ok();
  if (!host_now) host_now = copy_of(host);
  if (!host_now) return ccw_no_memory(sizeof *host_now);
  ccw_count_up(&host_now->count);
  *out_clock = host_now;
  return ccw_ok();
}

sim_clock *ccw_sim_clock_of(const sim_stream *stream) { return copy_of(stream->clock); }

static void join(int64_t *clock, const int64_t *at, int64_t count)
{
  for (int64_t i = 0; i < count; ++i)
    if (at[i] > clock[i]) clock[i] = at[i];
}

void ccw_sim_stream_joins(sim_stream *stream, const int64_t *at, int64_t count) { join(stream->clock, at, count); }

void ccw_sim_host_joins(const int64_t *at, int64_t count)
{
  join(host, at, count);
  ccw_sim_clock_release(host_now);
  host_now = NULL;
}

/* ---- bytes ----------------------------------------------------------------------------------------------------------- */

void ccw_sim_add_part(sim_parts *parts, uintptr_t from, uintptr_t to)
{
  sim_bytes *part = parts->part;
  int64_t first = parts->count; /* of those that touch the new one */
  while (first > 0 && part[first - 1].to >= from) --first;
  int64_t end = first;
  for (; end < parts->count && part[end].from <= to; ++end) {
    if (part[end].from < from) from = part[end].from;
    if (part[end].to > to) to = part[end].to;
  }
  if (end == first && parts->count == SIM_PARTS) return;
  memmove(&part[first + 1], &part[end], (size_t)(parts->count - end) * sizeof *part);
  part[first] = (sim_bytes){from, to};
  parts->count += 1 - (end - first);
}

/* The first bytes that both have. */
static bool overlap(const sim_bytes *a, int64_t a_count, const sim_bytes *b, int64_t b_count, sim_bytes *out_bytes)
{
  while (a_count > 0 && b_count > 0) {
    uintptr_t from = a->from > b->from ? a->from : b->from, to = a->to < b->to ? a->to : b->to;
    if (from < to) {
      *out_bytes = (sim_bytes){from, to};
      return true;
    }
    if (a->to < b->to)
      ++a, --a_count;
    else
      ++b, --b_count;
  }
  return false;
}

/* ---- accesses -------------------------------------------------------------------------------------------------------- */

struct sim_access {
  size_t block;
  sim_access *next; /* an older one */
  int place;
  int64_t index;
  bool is_write;
  char name[SIM_NAME + 40]; /* "launch of axpy on stream 1" */
  int64_t count;
  sim_bytes part[];
};

enum { MOST_ACCESSES = 64 }; /* the oldest are forgotten then */

static sim_access *host_accesses; /* to memory of the host */
static sim_allocation *accessed;  /* allocations that keep some, or did */

static void name_access(const sim_operation *operation, char *out_name, size_t size)
{
  char name[SIM_NAME];
  ccw_sim_name_operation(operation, name);
  const sim_stream *stream = operation->stream;
  if (stream->is_of_handler)
    snprintf(out_name, size, "%s on a handler's stream %lld", name, (long long)stream->base.number);
  else
    snprintf(out_name, size, "%s on stream %lld", name, (long long)stream->base.number);
}

static void drop(sim_access **place)
{
  sim_access *access = *place;
  *place = access->next;
  ccw_release(access, access->block);
}

void ccw_sim_forget_accesses(sim_access **accesses)
{
  while (*accesses) drop(accesses);
}

static void forget_what_host_awaited(sim_access **place)
{
  while (*place)
    if ((*place)->index <= host[(*place)->place])
      drop(place);
    else
      place = &(*place)->next;
}

void ccw_sim_forget_ordered_accesses(void)
{
  forget_what_host_awaited(&host_accesses);
  for (sim_allocation **place = &accessed; *place;) {
    sim_allocation *a = *place;
    forget_what_host_awaited(&a->accesses);
    if (a->accesses) {
      place = &a->next_accessed;
    } else {
      *place = a->next_accessed;
      a->is_accessed = false;
    }
  }
}

static bool is_before(const sim_access *access, const sim_stream *stream)
{
  return access->index <= stream->clock[access->place];
}

/* Whether whoever races with the old one races with the new one, too. */
static bool replaces(const sim_operation *operation, const sim_parts *parts, bool is_write, const sim_access *old)
{
  if (!is_before(old, operation->stream) || (old->is_write && !is_write)) return false;
  if (old->count == 0) return true;
  uintptr_t from = old->part[0].from, to = old->part[old->count - 1].to;
  for (int64_t i = 0; i < parts->count; ++i)
    if (parts->part[i].from <= from && parts->part[i].to >= to) return true;
  return false;
}

/* Without memory it is not kept: a race may be missed. */
static void keep(sim_access **accesses, const sim_operation *operation, const sim_parts *parts, bool is_write)
{
  sim_access **place = accesses;
  for (int count = 0; *place;) {
    if (replaces(operation, parts, is_write, *place) || ++count >= MOST_ACCESSES)
      drop(place);
    else
      place = &(*place)->next;
  }
  size_t size = (size_t)parts->count * sizeof *parts->part, block = sizeof(sim_access) + size;
  sim_access *access = ccw_allocate(block);
  if (!access) return;
  *access = (sim_access){.block = block,
      .next = *accesses,
      .place = operation->stream->place,
      .index = operation->index,
      .is_write = is_write,
      .count = parts->count};
  name_access(operation, access->name, sizeof access->name);
  memcpy(access->part, parts->part, size);
  *accesses = access;
}

static void tell(const sim_operation *operation, const sim_allocation *allocation, const sim_access *other,
    sim_bytes bytes, bool is_write)
{
  char text[SIM_TEXT], what[SIM_WHAT], where[64], name[sizeof other->name];
  name_access(operation, name, sizeof name);
  if (allocation)
    ccw_sim_describe_allocation(allocation, what);
  else
    snprintf(what, sizeof what, "memory of the host");
  if (!allocation)
    snprintf(where, sizeof where, "%zu bytes", (size_t)(bytes.to - bytes.from));
  else if (bytes.to - bytes.from == 1)
    snprintf(where, sizeof where, "byte %zu", (size_t)bytes.from);
  else
    snprintf(where, sizeof where, "bytes %zu to %zu", (size_t)bytes.from, (size_t)bytes.to - 1);
  snprintf(text, sizeof text,
      "race on %.200s: %s %s and %s %s %s, and nothing orders them: wait for one stream first, or let the other wait "
      "for an event "
      "of it",
      what, other->name, other->is_write ? "writes" : "reads", name, is_write ? "writes" : "reads", where);
  ccw_sim_fail(operation->stream->device, XLA_FFI_Error_Code_FAILED_PRECONDITION, text);
}

void ccw_sim_check_race(
    const sim_operation *operation, sim_allocation *allocation, const sim_parts *parts, bool is_write)
{
  if (parts->count == 0) return;
  sim_access **accesses = allocation ? &allocation->accesses : &host_accesses;
  sim_bytes bytes;
  for (const sim_access *a = *accesses; a; a = a->next) {
    if (!(a->is_write || is_write) || is_before(a, operation->stream)) continue;
    if (!overlap(a->part, a->count, parts->part, parts->count, &bytes)) continue;
    tell(operation, allocation, a, bytes, is_write);
    break;
  }
  keep(accesses, operation, parts, is_write);
  if (!allocation || allocation->is_accessed) return;
  allocation->is_accessed = true;
  allocation->next_accessed = accessed;
  accessed = allocation;
}

bool ccw_sim_is_rival(const sim_allocation *allocation, bool is_write, const sim_stream *stream, int64_t since)
{
  for (const sim_access *a = allocation->accesses; a; a = a->next)
    if (a->place == stream->place && a->index > since && (a->is_write || is_write)) return true;
  return false;
}

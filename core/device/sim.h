/* sim.h: the parts of a simulated GPU, for its own files.
 *
 *   sim.c         the devices and their options: what a device's tables point to
 *   sim_memory.c  the address range, and what is taken of it
 *   sim_touch.c   who touches it: launches, and host code
 *   sim_queue.c   streams, events, the work that is queued, and its order
 *   sim_copy.c    copies and fills
 *   sim_race.c    what is ordered before what, and two operations that are not
 *   sim_launch.c  launches, and modules
 *   sim_graph.c   captures
 *
 * One lock is held while anything of any sim is changed, also while work runs, since one kernel runs at a time. Takers of faults
 * hold no lock: what they read is changed with care.
 */
#ifndef CCW_DEVICE_SIM_H
#define CCW_DEVICE_SIM_H

#include <stddef.h>

#include <ccw/sim.h>

#include "base/checked.h"
#include "base/fault.h"
#include "device/device.h"

enum {
  SIM_DEVICES = 16,
  SIM_STREAMS = 1024, /* of all sims, at a time */
  SIM_SITE = 96,
  SIM_NAME = 64,
  SIM_WHAT = 512,  /* bytes of a part of a message */
  SIM_TEXT = 1024, /* and of a whole one */
  SIM_NOTES = 128,
};

typedef struct sim_device sim_device;
typedef struct sim_stream sim_stream;
typedef struct sim_operation sim_operation;
typedef struct sim_occurrence sim_occurrence;
typedef struct sim_allocation sim_allocation;
typedef struct sim_access sim_access;
typedef struct sim_clock sim_clock;
typedef struct sim_graph sim_graph;
typedef struct sim_module sim_module;

/* ---- memory ---------------------------------------------------------------------------------------------------------- */

enum {
  SIM_NEVER, /* not an allocation */
  SIM_LIVE,
  SIM_LEAVING, /* freed, but for work that was queued before a capture, which is not over */
  SIM_FREED,
  SIM_FORGOTTEN, /* by reset, and not given back yet */
};

/* From low to high: what may not be touched in front, its pages, what may not be touched behind. It ends where its pages end. */
struct sim_allocation {
  unsigned char *low, *first, *start, *last, *high;
  size_t size;
  _Atomic int state;
  int64_t number;                 /* by age */
  sim_allocation *older, *newer;  /* of those that live */
  sim_allocation *next_open;      /* of those that launches have opened */
  uint64_t was_read, was_written; /* by launches: its chunks */
  sim_allocation *next_seen;      /* of those that host code has touched */
  atomic_bool is_seen;
  _Atomic unsigned noted;        /* of host code: the sorts of accesses */
  sim_access *accesses;          /* the latest of streams, the newest first */
  sim_allocation *next_accessed; /* of those that keep some */
  bool is_accessed;
  char site[SIM_SITE]; /* "" where nobody knows */
};

static inline bool ccw_sim_is_live(const sim_allocation *allocation)
{
  int state = allocation ? atomic_load(&allocation->state) : SIM_NEVER;
  return state == SIM_LIVE || state == SIM_LEAVING;
}

static inline bool ccw_sim_is_inside(const sim_allocation *allocation, const void *address)
{
  return (uintptr_t)address - (uintptr_t)allocation->start < allocation->size;
}

/* An access of host code; written by whoever faults. */
typedef struct sim_note {
  _Atomic int state;
  _Atomic unsigned *noted; /* what to clear once it was taken */
  unsigned bit;
  ccw_host_access access;
} sim_note;

/* The addresses of a device. */
typedef struct sim_space {
  unsigned char *base;
  size_t granules;                 /* of the range */
  size_t window;                   /* as many are used before the first are used again */
  size_t at;                       /* where the next allocation is sought */
  unsigned char *mirror;           /* what chunks held before a launch wrote to them; NULL: nobody wants to know */
  sim_allocation *_Atomic *owners; /* by granule */
  sim_allocation *records;         /* never given back: who takes a fault may look at one */
  size_t records_used, records_most;
  sim_allocation *free_records;            /* linked by next_open */
  sim_allocation *oldest, *newest;         /* of those that live */
  int64_t allocations;                     /* so far */
  size_t in_use;                           /* bytes */
  int64_t leaving;                         /* allocations */
  sim_allocation *opened;                  /* by launches of the work under way */
  sim_allocation *_Atomic seen;            /* by host code */
  _Atomic uintptr_t stray_low, stray_high; /* addresses of nobody that host code has touched lie in between */
  _Atomic unsigned stray_noted;
  _Atomic bool was_touched; /* by host code, since a capture began */
  sim_note notes[SIM_NOTES];
} sim_space;

/* Makes the range of addresses. UNAVAILABLE. */
CCW_MUST_USE ccw_status ccw_sim_space_open(sim_device *device);

CCW_MUST_USE ccw_status ccw_sim_allocate(sim_device *device, size_t size, const char *site, void **out_memory);

/* Not while work is queued, unless it is `later`: then it goes with ccw_sim_release_leaving. INVALID_ARGUMENT. */
CCW_MUST_USE ccw_status ccw_sim_release(sim_device *device, void *memory, bool later);
void ccw_sim_release_leaving(sim_device *device);

void ccw_sim_forget_memory(sim_device *device);

/* Keeps what launches write over, so that races between them show. */
void ccw_sim_mirror(sim_device *device);

/* Whose range the address is in; NULL for none. */
sim_device *ccw_sim_device_at(const void *address);

/* The allocation, of any state, to which the address belongs or is nearest; NULL for none. */
sim_allocation *ccw_sim_allocation_at(const sim_device *device, const void *address);

/* Whether all of these bytes lie in a live allocation, which is given. */
bool ccw_sim_is_within(const sim_device *device, const void *memory, size_t size, sim_allocation **out_allocation);

/* "32 bytes taken at x.lua:3". */
void ccw_sim_describe_allocation(const sim_allocation *allocation, char out_text[SIM_WHAT]);

/* "it is memory of the host": why the bytes are none of the device's that may be used. */
void ccw_sim_describe_memory(const sim_device *device, const void *memory, size_t size, char out_text[SIM_WHAT]);

/* What its first page holds in front of it, and the byte there that has changed and is nearest to it; NULL: none has. */
void ccw_sim_fill_front(const sim_allocation *allocation);
unsigned char *ccw_sim_find_damage(const sim_allocation *allocation);

/* Where what launches write over is kept, of an allocation where it is. */
bool ccw_sim_is_mirrored(const sim_space *space, const sim_allocation *allocation);
unsigned char *ccw_sim_mirrored(const sim_space *space, const unsigned char *address);

size_t ccw_sim_page_size(void);
bool ccw_sim_protect(unsigned char *from, unsigned char *to, int what); /* PROT_READ and so on */

/* A ccw_fault_taker. */
bool ccw_sim_take_fault(void *device, const ccw_fault *fault);

/* Lets the device itself touch bytes of an allocation, and no longer. False where the system has no memory for that. */
bool ccw_sim_open(const sim_device *device, void *memory, size_t size, bool for_write);
void ccw_sim_close(const sim_device *device, void *memory, size_t size, bool for_write);

/* Takes back what host code was let to touch. */
void ccw_sim_close_seen(sim_device *device);

/* What it touched since the last time, up to `most`; how many. */
int64_t ccw_sim_take_notes(sim_device *device, ccw_host_access *accesses, int64_t most);

/* Not with the lock held. */
void ccw_sim_visit(ccw_device *device, ccw_allocation_visitor *visit, void *context);

/* What the first byte of an access is called that a kernel may not do: "reads byte 32 of 32 bytes taken at x.lua:3". */
void ccw_sim_describe_fault(const sim_device *device, const ccw_fault *fault, char out_text[SIM_WHAT]);

/* From here on a kernel of the device may touch its memory, in this thread. */
void ccw_sim_begin_touching(sim_device *device);

/* Ends that, and holds what it touched against others. False where it wrote in front of an allocation, and *out_damage is where. */
bool ccw_sim_end_touching(sim_device *device, const sim_operation *launch, unsigned char **out_damage);

/* Takes back what launches were let to touch: at the end of each, or of work that is run at once. */
void ccw_sim_close_opened(sim_device *device);

/* ---- order ----------------------------------------------------------------------------------------------------------- */

/* How far each stream was when something happened: what is at or below is ordered before it. */
struct sim_clock {
  ccw_count count;
  size_t block;
  int64_t length;
  int64_t at[];
};

/* Bytes, by offset in their allocation, or by address in the host's memory. */
typedef struct sim_bytes {
  uintptr_t from, to;
} sim_bytes;

enum { SIM_PARTS = 512 };

/* Sorted, apart from each other. What finds no room is left out. */
typedef struct sim_parts {
  int64_t count;
  sim_bytes part[SIM_PARTS];
} sim_parts;

void ccw_sim_add_part(sim_parts *parts, uintptr_t from, uintptr_t to);

/* A place in clocks for a stream; *out_index is where its operations begin to count. RESOURCE_EXHAUSTED. */
CCW_MUST_USE ccw_status ccw_sim_place_take(int *out_place, int64_t *out_index);
void ccw_sim_place_leave(int place, int64_t index);

/* A reference to what the host has waited for. */
CCW_MUST_USE ccw_status ccw_sim_clock_of_host(sim_clock **out_clock);

/* What is ordered before the next operation of a stream; NULL: no memory. */
sim_clock *ccw_sim_clock_of(const sim_stream *stream);
void ccw_sim_clock_release(sim_clock *clock);
void ccw_sim_stream_joins(sim_stream *stream, const int64_t *at, int64_t length);
void ccw_sim_host_joins(const int64_t *at, int64_t length);
int64_t ccw_sim_clock_length(void);

/* Holds what an operation does against what others did, and keeps it. `allocation` is NULL for memory of the host. */
void ccw_sim_check_race(
    const sim_operation *operation, sim_allocation *allocation, const sim_parts *parts, bool is_write);
void ccw_sim_forget_accesses(sim_access **accesses);

/* Whether an operation that reads, or writes, an allocation conflicts by it with what a stream did there after its operation `since`. */
bool ccw_sim_is_rival(const sim_allocation *allocation, bool is_write, const sim_stream *stream, int64_t since);

/* When nothing is queued: forgets the accesses for which the host has waited, since all that comes is ordered behind them. */
void ccw_sim_forget_ordered_accesses(void);

/* ---- work ------------------------------------------------------------------------------------------------------------ */

typedef enum sim_kind { SIM_COPY, SIM_FILL, SIM_LAUNCH, SIM_RECORD, SIM_WAIT } sim_kind;

struct sim_operation {
  size_t block; /* bytes of this, with the arguments of a launch */
  sim_operation *next;
  sim_stream *stream; /* while it is queued */
  sim_kind kind;
  int64_t index;   /* on its stream */
  sim_clock *host; /* what the host had waited for when it was queued; NULL: nothing */
  void *to;        /* of copies and fills */
  const void *from;
  size_t size;
  bool is_handlers; /* a copy that a handler has queued: memory of the host is anybody's */
  int byte;
  ccw_sim_launch launch;
  sim_module *module;         /* whose kernel it is, NULL for none; counted */
  sim_occurrence *occurrence; /* of records and waits; counted */
  max_align_t arguments[];
};

/* One recording of an event. */
struct sim_occurrence {
  ccw_count count;
  sim_stream *stream; /* counted; NULL of a capture */
  int64_t index;      /* happens when the stream has come so far */
  bool has_happened;
  double seconds;
  sim_clock *clock;     /* of what is ordered before it; NULL: nobody knows */
  int64_t capture;      /* the number of the capture in which it was recorded, 0 for none */
  sim_stream *captured; /* and the stream, to be compared and not to be used */
  int64_t captured_index;
};

struct sim_stream {
  ccw_stream base;
  ccw_sim_stream handle;
  int64_t references; /* of who made it, of occurrences, of its queue where that is not empty */
  sim_device *device;
  sim_stream *next, *previous; /* of the device */
  bool is_of_handler;          /* made by one, through handle */
  int place;                   /* in clocks */
  int64_t queued, done;        /* operations so far */
  sim_operation *first, *last;
  sim_graph *capture;                /* where it is being captured; borrowed */
  int64_t captured, captured_waited; /* operations; so many of them are ordered before what others do */
  int64_t clock[SIM_STREAMS];        /* what is ordered before its next operation */
};

/* The next function that waits tells it. */
void ccw_sim_fail(sim_device *device, XLA_FFI_Error_Code code, const char *text);

/* The same, and nothing else works until the device is reset. */
void ccw_sim_break(sim_device *device, XLA_FFI_Error_Code code, const char *text);

/* "launch of axpy". */
void ccw_sim_name_operation(const sim_operation *operation, char out_name[SIM_NAME]);

/* An operation with room for `extra` bytes of arguments; NULL: no memory. */
sim_operation *ccw_sim_operation_new(sim_kind kind, size_t extra);
sim_operation *ccw_sim_operation_copy(const sim_operation *operation);
void ccw_sim_operation_free(sim_operation *operation);

/* Queues it, or adds it to the capture. It is owned then, also in the case of a failure. */
CCW_MUST_USE ccw_status ccw_sim_queue(sim_stream *stream, sim_operation *operation);

CCW_MUST_USE ccw_status ccw_sim_stream_new(sim_device *device, bool is_of_handler, sim_stream **out_stream);
void ccw_sim_stream_leave(sim_stream *stream); /* whoever made it */

/* What has failed and nobody was told; ABORTED: the device is broken. */
CCW_MUST_USE ccw_status ccw_sim_tell(sim_device *device);

/* Drops what is queued. */
void ccw_sim_drop_work(sim_device *device);

CCW_MUST_USE ccw_status ccw_sim_synchronize_device(sim_device *device);

/* For all work of the device. What fails is told by who waits next. */
void ccw_sim_wait_for_all(sim_device *device);

bool ccw_sim_is_on_device(const sim_stream *stream, const void *address);
void ccw_sim_copy_run(const sim_operation *operation);
void ccw_sim_fill_run(const sim_operation *operation);

extern const ccw_memory_ops ccw_sim_memory_ops;
extern const ccw_stream_ops ccw_sim_stream_ops;
extern const ccw_event_ops ccw_sim_event_ops;

/* What handlers ask for. */
CCW_MUST_USE ccw_status ccw_sim_take_memory(sim_device *device, size_t size, const char *site, void **out_memory);
CCW_MUST_USE ccw_status ccw_sim_give_memory(sim_device *device, void *memory, bool is_handler);
CCW_MUST_USE ccw_status ccw_sim_copy(sim_stream *stream, void *to, const void *from, size_t size);
CCW_MUST_USE ccw_status ccw_sim_fill(sim_stream *stream, void *memory, int byte, size_t size);
CCW_MUST_USE ccw_status ccw_sim_synchronize(sim_stream *stream);
CCW_MUST_USE ccw_status ccw_sim_wait(sim_stream *stream, sim_stream *other);

/* ---- launches -------------------------------------------------------------------------------------------------------- */

extern const ccw_code_ops ccw_sim_code_ops;
CCW_MUST_USE ccw_status ccw_sim_launch_queue(sim_stream *stream, const ccw_sim_launch *launch, sim_module *module);
void ccw_sim_launch_run(sim_stream *stream, const sim_operation *operation);
void ccw_sim_describe_limits(ccw_device_info *info);
bool ccw_sim_launch_uses(const sim_operation *operation, const sim_allocation *allocation);
void ccw_sim_module_retain(sim_module *module);
void ccw_sim_module_release(sim_module *module);

/* ---- captures -------------------------------------------------------------------------------------------------------- */

struct sim_graph {
  ccw_graph base;
  int64_t number;     /* of captures */
  sim_stream *origin; /* while it is captured */
  int64_t stream_number;
  sim_operation *first, **last;
  bool is_invalid;
  char reason[SIM_TEXT];
};

extern const ccw_graph_ops ccw_sim_graph_ops;

/* FAILED_PRECONDITION while a stream of the device is captured, which then fails. `what` is a subject, "synchronizing". */
CCW_MUST_USE ccw_status ccw_sim_check_capture(sim_device *device, const char *what);

/* Whether what is captured uses the memory. */
bool ccw_sim_captures(sim_device *device, const void *memory);

/* While a stream of the device is captured: adds to it what another queues; owns the operation. */
CCW_MUST_USE ccw_status ccw_sim_capture(sim_stream *stream, sim_operation *operation);
CCW_MUST_USE ccw_status ccw_sim_capture_record(sim_stream *stream, sim_occurrence *occurrence);
CCW_MUST_USE ccw_status ccw_sim_capture_wait(sim_stream *stream, const sim_occurrence *occurrence);

/* The stream goes. */
void ccw_sim_leave_capture(sim_stream *stream);

/* Forgets the capture under way, if there is one. */
void ccw_sim_drop_capture(sim_device *device);

/* ---- devices --------------------------------------------------------------------------------------------------------- */

struct sim_device {
  ccw_device base;
  sim_space space;
  sim_stream *streams, *newest_stream; /* by age */
  int64_t stream_count, handlers_streams;
  int64_t captures;   /* so far */
  sim_graph *capture; /* under way */
  uint64_t drawn;     /* numbers, from the seed */

  uint64_t seed;
  size_t memory;
  double time_limit;
  uint32_t warp_size;
  int64_t fail_allocation, fail_launch, fail_copy, fail_synchronize; /* so many times from now; 0: never */

  XLA_FFI_Error_Code failure; /* that nobody was told */
  bool is_broken;
  char text[SIM_TEXT]; /* of the failure, or of what broke it */
  bool has_fault;
  ccw_kernel_fault fault;
};

static inline sim_device *ccw_sim_of(const ccw_device *device) { return (sim_device *)(uintptr_t)device; }

/* The sim of that number, below SIM_DEVICES; NULL: nobody has opened it. */
sim_device *ccw_sim_number(int i);

void ccw_sim_lock(void);
void ccw_sim_unlock(void);

/* ABORTED where the device is broken. */
CCW_MUST_USE ccw_status ccw_sim_check(sim_device *device);

/* Counts down to a failure that was asked for; whether this is the one. */
bool ccw_sim_is_to_fail(int64_t *left);

extern const ccw_sim_functions ccw_sim_functions_of_streams;

#endif

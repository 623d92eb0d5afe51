/* device.h: what a device is made of, for those who write one.
 *
 * A device fills in the tables below. The functions of ccw.h (ccw_device_*, ccw_stream_*, ...) check arguments, zero outputs
 * and call them; nobody else does. A slot that says (optional) may be NULL; then the function of ccw.h does what the comment
 * says or, where it says nothing else, answers UNIMPLEMENTED with the reason that the device gives in `cannot`.
 *
 * Memory is told by its address on the device. Work is queued on streams, in order on each; streams are not ordered among each
 * other, and not with the device's own stream, but by events. What fails while queued work runs is told by the first function
 * that waits for it. Every function may be called from any thread.
 */
#ifndef CCW_DEVICE_DEVICE_H
#define CCW_DEVICE_DEVICE_H

#include <ccw/ccw.h>

#include "base/checked.h"

/* Something that a device cannot do, and why. */
typedef struct ccw_cannot {
  const char *what; /* the name of a table or slot, "graph", "set", or something that its kernels lack, "textures" */
  const char *why;
} ccw_cannot;

typedef struct ccw_memory_ops {
  /* `size` bytes, 1 or more. `site` says who wants it, and is copied; NULL: nobody knows. RESOURCE_EXHAUSTED. */
  ccw_status (*allocate)(ccw_device *device, size_t size, const char *site, void **out_memory);
  /* Gives back what allocate gave. INVALID_ARGUMENT: it is none, or was given back already. Work that is queued and uses it comes
   * first where the device knows of it. */
  ccw_status (*release)(ccw_device *device, void *memory);
  /* (optional) Memory of the host from which copies are quick, and asynchronous; it is memory of core's allocator else. */
  ccw_status (*allocate_pinned)(ccw_device *device, size_t size, void **out_memory);
  ccw_status (*release_pinned)(ccw_device *device, void *memory);
  /* Queues a copy. Host memory must stay until it is done. Of TO_DEVICE the host's bytes may be taken at once or later. */
  ccw_status (*copy)(ccw_stream *stream, ccw_copy_kind kind, void *to, const void *from, size_t size);
  /* Queues filling with a byte. */
  ccw_status (*fill)(ccw_stream *stream, void *memory, int byte, size_t size);
  /* (optional: nothing is visited) Visits what is allocated. */
  void (*visit)(ccw_device *device, ccw_allocation_visitor *visit, void *context);
} ccw_memory_ops;

typedef struct ccw_stream_ops {
  ccw_status (*create)(ccw_device *device, ccw_stream **out_stream); /* fills in what follows ccw_stream */
  void (*destroy)(ccw_stream *stream);                               /* work that is queued still runs */
  void *(*handle)(const ccw_stream *stream); /* what a handler gets: a CUstream, a hipStream_t, a ccw_sim_stream * */
  ccw_status (*synchronize)(ccw_stream *stream);
  ccw_status (*query)(ccw_stream *stream, bool *out_is_done);
  ccw_status (*wait)(ccw_stream *stream, ccw_event *event); /* queued: what follows waits for the event */
} ccw_stream_ops;

typedef struct ccw_event_ops {
  ccw_status (*create)(ccw_device *device, ccw_event **out_event);
  void (*destroy)(ccw_event *event);
  ccw_status (*record)(ccw_event *event, ccw_stream *stream);
  ccw_status (*synchronize)(ccw_event *event); /* of an event that was never recorded: nothing to wait for */
  ccw_status (*seconds)(ccw_event *from, ccw_event *to, double *out_seconds);
} ccw_event_ops;

typedef struct ccw_code_ops {
  /* Loads what was compiled for the device: a shared library for sim, a cubin, PTX, a code object. NOT_FOUND, INVALID_ARGUMENT. */
  ccw_status (*load)(ccw_device *device, const char *path, ccw_module **out_module);
  void (*unload)(ccw_module *module);
  /* NOT_FOUND, with the names that there are where the device knows them. Lives as long as the module. */
  ccw_status (*find)(ccw_module *module, const char *name, ccw_kernel **out_kernel);
  /* Queues a launch. The values of the arguments are copied. */
  ccw_status (*launch)(ccw_kernel *kernel, const ccw_launch *launch, ccw_stream *stream);
} ccw_code_ops;

typedef struct ccw_graph_ops {
  ccw_status (*begin)(ccw_stream *stream); /* from now on what is queued is noted, and does not run */
  ccw_status (*end)(
      ccw_stream *stream, ccw_graph **out_graph); /* FAILED_PRECONDITION: something in between may not be captured */
  ccw_status (*launch)(ccw_graph *graph, ccw_stream *stream);
  void (*destroy)(ccw_graph *graph);
} ccw_graph_ops;

typedef struct ccw_device_ops {
  const ccw_memory_ops *memory;
  const ccw_stream_ops *stream;
  const ccw_event_ops *event;
  const ccw_code_ops *code;                                        /* (optional) */
  const ccw_graph_ops *graph;                                      /* (optional) */
  const ccw_cannot *cannot;                                        /* ends with {NULL, NULL} */
  void (*describe)(ccw_device *device, ccw_device_info *out_info); /* fills in what it knows; the rest is zero */
  ccw_status (*synchronize)(ccw_device *device);                   /* all streams */
  /* (optional) Forgets all work, memory, and failure. Modules stay. */
  ccw_status (*reset)(ccw_device *device);
  bool takes_platforms; /* it answers to another platform when it is asked to */
  /* (optional) Sets an option of the device. NOT_FOUND: there is none of that name. */
  ccw_status (*set)(ccw_device *device, const char *option, double value);
  /* (optional: nothing to do) Makes it the current device of this thread, for code that uses the vendor's runtime. */
  ccw_status (*make_current)(ccw_device *device);
  /* (optional: there are none) What host code did to the device's memory since the last time: up to `most`; how many. */
  int64_t (*take_accesses)(ccw_device *device, ccw_host_access *accesses, int64_t most);
  /* (optional: they are) Whether all of these bytes are allocated there. */
  bool (*holds)(ccw_device *device, const void *memory, size_t size);
  /* (optional: nobody knows) The kernel that broke the device; false: none did. */
  bool (*last_fault)(ccw_device *device, ccw_kernel_fault *out_fault);
} ccw_device_ops;

/* What stands in front of a device's own fields. Devices live as long as the process. */
struct ccw_device {
  const ccw_device_ops *ops;
  char name[16];                    /* "sim:0" */
  char platform[CCW_PLATFORM_SIZE]; /* canonical: whose handlers are called for what lies there */
  int32_t ordinal;
  ccw_stream *_Atomic stream; /* its own, made when it is first wanted */
};

/* In front of a stream's own fields, an event's, a module's, a kernel's, a graph's; filled in by the functions of ccw.h. */
struct ccw_stream {
  ccw_count count;
  ccw_device *device;
  int64_t number; /* 0 is the device's own */
};

struct ccw_event {
  ccw_count count;
  ccw_device *device;
};

struct ccw_module {
  ccw_device *device;
};

struct ccw_kernel {
  ccw_module *module;
  const char *name;                       /* owned by the module */
  int64_t parameter_count;                /* -1: nobody knows */
  const ccw_kernel_parameter *parameters; /* owned by the module */
};

struct ccw_graph {
  ccw_device *device;
};

/* A family of devices, "sim", and how one is found. */
typedef struct ccw_device_family {
  const char *name;
  /* Gives device `ordinal`, the same one each time. NOT_FOUND: there are not so many. UNAVAILABLE: there is none, and why. */
  ccw_status (*open)(int32_t ordinal, ccw_device **out_device);
  /* How many there are to be listed; 0: none, and open tells why. */
  int32_t (*count)(void);
} ccw_device_family;

/* One file each: host.c, sim.c, gpu.c. */
extern const ccw_device_family ccw_family_host, ccw_family_sim, ccw_family_cuda, ccw_family_rocm;

/* "sim:0: " in front of a failure. */
CCW_MUST_USE ccw_status ccw_device_says(const ccw_device *device, ccw_status status);

#endif

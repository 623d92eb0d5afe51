/* gpu.h: GPUs of NVIDIA and AMD: one backend over the functions of two drivers, which are found at run time. Nothing of theirs
 * is needed to build this, or to start.
 *
 * What is done on a device is one turn: begin, which makes the device current for this thread; one or some functions of the
 * driver; end, which puts back what was current before and makes a status of what the driver said. The context is the primary
 * one, which code that uses the vendor's runtime shares with us.
 */
#ifndef CCW_DEVICE_GPU_H
#define CCW_DEVICE_GPU_H

#include <pthread.h>
#include <stdatomic.h>

#include "device/device.h"
#include "device/gpu_symbols.h"

typedef int gpu_error; /* a CUresult, a hipError_t: 0 is success, and most numbers mean the same */

enum {
  GPU_STUB_LIBRARY = 34,
  GPU_NO_DEVICE = 100,
  GPU_INVALID_DEVICE = 101,
  GPU_INVALID_IMAGE = 200,
  GPU_NO_BINARY = 209,
  GPU_NOT_FOUND = 500,
  GPU_NOT_READY = 600
};

typedef struct gpu gpu;
typedef struct gpu_driver gpu_driver;

/* What was current for a thread: a context of CUDA, a device of HIP. */
typedef union gpu_current {
  void *context;
  int device;
} gpu_current;

/* The numbers of what a driver is asked about a device. */
typedef struct gpu_attributes {
  int max_threads, max_block[3], max_grid[3], max_shared, max_shared_by_request, warp_size, processors, capability[2];
} gpu_attributes;

/* In what the two differ. */
typedef struct gpu_vendor {
  const char *name;             /* of the family, and of the platform */
  const char *const *libraries; /* in the order in which they are tried; ends with NULL */
  const char *advice;           /* where there is none */
  int column;                   /* of the names of symbols */
  gpu_attributes attributes;
  const char *(*error_name)(const gpu_driver *driver, gpu_error error); /* NULL: unknown */
  const char *(*error_text)(const gpu_driver *driver, gpu_error error);
  gpu_error (*make_current)(gpu *g, gpu_current *out_before);
  void (*restore)(gpu *g, gpu_current before, gpu_error error); /* `error` is what was said in between */
  void (*find_architecture)(const gpu *g, char *architecture, size_t size);
} gpu_vendor;

/* A driver that may have been opened. */
struct gpu_driver {
  const gpu_vendor *vendor;
  pthread_mutex_t lock; /* of opening it */
  void *library;        /* NULL: not opened yet */
  char library_name[32];
  bool lists_modules;
  gpu *devices; /* NULL: not started yet */
  int32_t count;
  ccw_device_ops ops; /* of its devices */
  ccw_cannot cannot[8];
  char why_no_graphs[96];
#define GPU_MEMBER(member, cuda, hip, parameters) gpu_error(*member) parameters;
  GPU_SYMBOLS(GPU_MEMBER)
  GPU_GRAPH_SYMBOLS(GPU_MEMBER)
#undef GPU_MEMBER
#define GPU_MEMBER(result, name, parameters) result(*name) parameters;
  CUDA_SYMBOLS(GPU_MEMBER)
  CUDA_LISTING_SYMBOLS(GPU_MEMBER)
  HIP_SYMBOLS(GPU_MEMBER)
#undef GPU_MEMBER
};

/* In a ring, the oldest behind the device's own, which is none. */
typedef struct gpu_allocation {
  struct gpu_allocation *older, *newer;
  void *memory;
  size_t size;
  char site[64];
} gpu_allocation;

struct gpu {
  ccw_device device;
  gpu_driver *driver;
  int handle;             /* the driver's number of it */
  void *_Atomic context;  /* CUDA: the primary one, once it is used */
  atomic_bool is_used;    /* it is not only looked at: there is a context, which takes time and memory to make */
  ccw_device_info info;   /* what does not change */
  int64_t shared_at_once; /* bytes of a block that need not be asked for */
  pthread_mutex_t lock;   /* of what follows, and of making the context */
  gpu_allocation allocations;
  atomic_bool is_broken;
  char broken_by[256];
};

typedef struct gpu_stream {
  ccw_stream stream;
  void *handle;
} gpu_stream;

/* ---- gpu_driver.c: what is opened -------------------------------------------------------------------------------------- */

extern const gpu_vendor gpu_vendor_cuda, gpu_vendor_rocm;

/* Opens the library and finds its functions, unless that was done. UNAVAILABLE. Callers hold the driver's lock. */
CCW_MUST_USE ccw_status gpu_driver_open(gpu_driver *driver);

/* What code is compiled for, "gfx90a", for the GPU of AMD at that place, "0000:c1:00.0", out of the kernel's folder of nodes;
 * nothing is written where it is not there. */
void gpu_find_architecture(const char *nodes, const char *place, char *architecture, size_t size);

/* ---- gpu_image.c: what is in code -------------------------------------------------------------------------------------- */

/* Adds the names of the kernels in PTX, a cubin, a code object of AMD or a bundle of such, one a line; none of what is unknown. A
 * NUL follows the image. */
void gpu_image_names(char *image, size_t size, ccw_text *names);

/* ---- gpu_status.c: what a driver says ---------------------------------------------------------------------------------- */

/* "CUDA_ERROR_NOT_FOUND: named symbol not found", cut. */
void gpu_error_print(const gpu_driver *driver, gpu_error error, char *text, size_t size);

/* The code that an error has here: the one place where that is said. */
XLA_FFI_Error_Code gpu_error_code(const gpu_vendor *vendor, gpu_error error);

/* Whether nothing works behind it. */
bool gpu_error_is_final(const gpu_vendor *vendor, gpu_error error);

/* ---- gpu.c: devices ---------------------------------------------------------------------------------------------------- */

typedef struct gpu_turn {
  gpu *gpu;
  const gpu_driver *driver;
  const char *what; /* is done, for messages */
  gpu_current before;
  int capture_mode; /* to put back; -1: none */
} gpu_turn;

/* Begins a turn. ABORTED: the device is broken. */
CCW_MUST_USE ccw_status gpu_begin(ccw_device *device, const char *what, gpu_turn *out_turn);

/* The same for what a capture that goes on in this thread has nothing to do with: a collector of garbage gives memory back when it
 * likes. Without this the driver would refuse it, and end the capture. */
CCW_MUST_USE ccw_status gpu_begin_apart(ccw_device *device, const char *what, gpu_turn *out_turn);

/* Ends it with what the driver said last. */
CCW_MUST_USE ccw_status gpu_end(gpu_turn *turn, gpu_error error);

static inline gpu *gpu_of(ccw_device *device) { return (gpu *)device; }
static inline void *gpu_stream_of(const ccw_stream *stream) { return ((const gpu_stream *)stream)->handle; }

/* ---- gpu_memory.c, gpu_code.c, gpu_graph.c ------------------------------------------------------------------------------- */

extern const ccw_memory_ops gpu_memory_ops;
extern const ccw_code_ops gpu_code_ops;
extern const ccw_graph_ops gpu_graph_ops;

#endif

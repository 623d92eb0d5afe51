/* sim.h: how code that was compiled for the simulated device meets the device. Plain C data; nothing to link.
 *
 * What a handler gets as its stream on sim points to a ccw_sim_stream, whose functions take the work. kernel.h launches kernels
 * through them; the launches that it makes say everything that the device has to know.
 */
#ifndef CCW_SIM_H
#define CCW_SIM_H

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CCW_SIM_ABI = 1 };

/* A parameter of a kernel: its value lies at that offset of the arguments. */
typedef struct ccw_sim_parameter {
  uint32_t offset, size;
  int32_t dtype;      /* XLA_FFI_DataType of the value or, of a pointer, of what it points to; 0 where it is of none */
  uint8_t is_pointer; /* to memory of the device */
  uint8_t is_const;   /* a pointer to const */
  uint8_t reserved[2];
} ccw_sim_parameter;

/* Where threads wait for each other, or what went wrong: "__syncthreads", "axpy.cu", 12. The file may be NULL: nobody knows. */
typedef struct ccw_sim_place {
  const char *operation, *file;
  uint32_t line;
} ccw_sim_place;

/* A block under way. The code of a kernel reads it, and calls the functions where a thread has to wait for others; whoever runs
 * the launch fills it in. */
typedef struct ccw_simt ccw_simt;

struct ccw_simt {
  size_t struct_size;
  uint32_t grid[3], block[3]; /* extents: x, y, z */
  uint32_t block_index[3];
  uint32_t warp_size;
  uint32_t from;                /* the thread at which run begins, x fastest */
  const uint32_t *thread_index; /* x, y, z of the thread that runs: run says where it notes them */
  void *suspended; /* not NULL: a thread was suspended, others have gone on behind it, and run ends with its kernel */
  void *shared;    /* dynamic shared memory */
  /* Of thread number `thread`, which is suspended until all threads of the block have come. Returns for how many of them
   * `predicate` is not 0. */
  uint32_t (*barrier)(ccw_simt *simt, uint32_t thread, int predicate, const ccw_sim_place *place);
  /* Gives the value of each lane of the warp to all in the mask: `values` has room for 64, at the place of each lane. Returns the
   * lanes that took part. A mask of 0 names whoever comes here while the others of the warp cannot go on. */
  uint64_t (*exchange)(
      ccw_simt *simt, uint32_t thread, uint64_t mask, uint64_t value, uint64_t *values, const ccw_sim_place *place);
  /* Ends the launch: an assertion, the operation of `place`, failed. Returns where this thread runs no kernel. */
  void (*fail)(ccw_simt *simt, uint32_t thread, const ccw_sim_place *place);
};

/* A kernel as it was compiled. */
typedef struct ccw_sim_kernel {
  size_t struct_size;
  const char *name;
  /* Runs threads of the block under way, the first of them number simt->from, until one of them is suspended or all have run. */
  void (*run)(ccw_simt *simt, const void *arguments);
  const ccw_sim_parameter *parameters;
  uint32_t parameter_count;
  uint32_t arguments_size; /* bytes */
  uint32_t static_shared;  /* bytes of shared memory that it always takes; 0 where unknown */
  uint32_t abi;            /* CCW_SIM_ABI */
} ccw_sim_kernel;

typedef struct ccw_sim_launch {
  size_t struct_size;
  const ccw_sim_kernel *kernel; /* lives as long as the process */
  uint32_t grid[3], block[3];   /* x, y, z */
  size_t shared_size;           /* bytes of dynamic shared memory */
  const void *arguments;        /* copied, to where any type is aligned */
} ccw_sim_launch;

typedef struct ccw_sim_stream ccw_sim_stream;

/* What one can do with a stream. Each queues, but `synchronize`. */
typedef struct ccw_sim_functions {
  size_t struct_size;
  uint32_t abi; /* CCW_SIM_ABI */
  ccw_status (*launch)(ccw_sim_stream *stream, const ccw_sim_launch *launch);
  ccw_status (*copy)(ccw_sim_stream *stream, void *to, const void *from, size_t size); /* of any kind: addresses tell */
  ccw_status (*fill)(ccw_sim_stream *stream, void *memory, int byte, size_t size);
  ccw_status (*synchronize)(ccw_sim_stream *stream);
  ccw_status (*allocate)(
      ccw_sim_stream *stream, size_t size, void **out_memory);             /* of the device; at once, as cudaMalloc */
  ccw_status (*release)(ccw_sim_stream *stream, void *memory);             /* waits for the device, as cudaFree */
  ccw_status (*create)(ccw_sim_stream *like, ccw_sim_stream **out_stream); /* another stream of the same device */
  ccw_status (*destroy)(ccw_sim_stream *stream);
  ccw_status (*wait)(ccw_sim_stream *stream, ccw_sim_stream *other); /* for all that is queued on the other now */
} ccw_sim_functions;

struct ccw_sim_stream {
  const ccw_sim_functions *functions;
};

/* What a module for sim exports beside its code: a list that ends with NULL. */
#define CCW_SIM_KERNELS ccw_sim_kernels

#ifdef __cplusplus
}
#endif

#endif

/* simt.h: runs a kernel as a GPU does: blocks of threads, which wait for each other.
 *
 * One launch runs at a time in this process, in the thread that asks, block by block. The threads of a block take turns; one
 * gives way only where it waits for others. A kernel that does what it may not is left where it is and never comes back.
 */
#ifndef CCW_DEVICE_SIMT_H
#define CCW_DEVICE_SIMT_H

#include <ccw/ccw.h>
#include <ccw/sim.h>

#include "base/fault.h"

typedef enum ccw_simt_end {
  CCW_SIMT_DONE,
  CCW_SIMT_FAULT,     /* touched what it may not, or divided by zero */
  CCW_SIMT_ASSERTION, /* an assertion failed */
  CCW_SIMT_DIVERGED,  /* some threads wait at a barrier, or in a warp, to which others do not come */
  CCW_SIMT_LATE,      /* the time was up */
  CCW_SIMT_NO_MEMORY, /* for shared memory or a timer, and nothing ran; or for the stacks of threads that wait */
} ccw_simt_end;

enum { CCW_SIMT_DEPTH = 17, CCW_SIMT_THREADS = 1024 /* of a block, at most */ };

typedef struct ccw_simt_outcome {
  ccw_simt_end end;
  uint32_t block[3], thread[3]; /* which one ended it: of DIVERGED one that waits */
  ccw_fault fault;
  int32_t depth; /* of a fault */
  uintptr_t code[CCW_SIMT_DEPTH];
  /* Of an assertion "n > 0 (axpy.cu:7)"; of a divergence "3 of 32 threads wait at __syncthreads (axpy.cu:12), 29 have ended"; of a
   * fault what is known of its cause beside the address, or ""; of NO_MEMORY what it was wanted for. */
  char text[256];
} ccw_simt_outcome;

typedef struct ccw_simt_limits {
  double seconds;     /* 0: none */
  uint32_t warp_size; /* 32 or 64 */
  uint64_t seed;      /* of the order of the blocks; 0: as they are numbered */
} ccw_simt_limits;

/* Runs a launch, whose extents were checked. */
void ccw_simt_run(const ccw_sim_launch *launch, const ccw_simt_limits *limits, ccw_simt_outcome *out_outcome);

/* Whether this thread runs a kernel now. A signal handler may ask. */
bool ccw_simt_is_running(void);

/* Has the launch that runs end as if its time were up: its text is "interrupted" then. False where none runs. A signal handler may
 * ask. */
bool ccw_simt_interrupt(void);

/* For who takes a fault in a thread that runs a kernel: ends the launch with it. Does not return. */
_Noreturn void ccw_simt_abandon(const ccw_fault *fault);

#endif

#include "device/simt.h"

#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>

static _Thread_local volatile bool is_running;
static sigjmp_buf back;
static ccw_fault kept;
static char text[256];

bool ccw_simt_is_running(void) { return is_running; }

_Noreturn void ccw_simt_abandon(const ccw_fault *fault)
{
  kept = *fault;
  siglongjmp(back, 1);
}

static void fail(ccw_simt *simt, uint32_t thread, const ccw_sim_place *place)
{
  (void)thread, (void)simt;
  snprintf(text, sizeof text, "assertion failed: %s (%s:%u)", place->operation, place->file, (unsigned)place->line);
  siglongjmp(back, 2);
}

static uint32_t barrier(ccw_simt *simt, uint32_t thread, int predicate, const ccw_sim_place *place)
{
  (void)thread, (void)simt, (void)predicate;
  snprintf(text, sizeof text, "1 of 2 threads waits at %s (%s:%u), the others have ended", place->operation,
      place->file, (unsigned)place->line);
  siglongjmp(back, 4);
}

static void on_alarm(int number)
{
  (void)number;
  siglongjmp(back, 3);
}

static uint64_t shared[6144];

void ccw_simt_run(const ccw_sim_launch *launch, const ccw_simt_limits *limits, ccw_simt_outcome *out_outcome)
{
  static ccw_simt simt;
  simt = (ccw_simt){
      .struct_size = sizeof simt, .warp_size = limits->warp_size, .shared = shared, .fail = fail, .barrier = barrier};
  memcpy(simt.grid, launch->grid, sizeof simt.grid);
  memcpy(simt.block, launch->block, sizeof simt.block);
  is_running = true;
  int how = sigsetjmp(back, 1);
  if (how == 0) {
    if (limits->seconds > 0 && strcmp(launch->kernel->name, "spin") == 0) {
      signal(SIGALRM, on_alarm);
      setitimer(ITIMER_REAL,
          &(struct itimerval){{0, 0}, {(time_t)limits->seconds, (long)(limits->seconds * 1e6) % 1000000}}, NULL);
    }
    for (uint32_t z = 0; z < simt.grid[2]; ++z)
      for (uint32_t y = 0; y < simt.grid[1]; ++y)
        for (uint32_t x = 0; x < simt.grid[0]; ++x) {
          simt.block_index[0] = x, simt.block_index[1] = y, simt.block_index[2] = z;
          simt.from = 0;
          launch->kernel->run(&simt, launch->arguments);
        }
  }
  is_running = false;
  static const ccw_simt_end ends[] = {
      CCW_SIMT_DONE, CCW_SIMT_FAULT, CCW_SIMT_ASSERTION, CCW_SIMT_LATE, CCW_SIMT_DIVERGED};
  out_outcome->end = ends[how];
  if (how == 0) return;
  memcpy(out_outcome->block, simt.block_index, sizeof simt.block_index);
  uint32_t t = simt.from;
  out_outcome->thread[0] = t % simt.block[0];
  out_outcome->thread[1] = t / simt.block[0] % simt.block[1];
  out_outcome->thread[2] = t / simt.block[0] / simt.block[1];
  out_outcome->fault = kept;
  out_outcome->depth = how == 1;
  out_outcome->code[0] = kept.instruction;
  snprintf(out_outcome->text, sizeof out_outcome->text, "%s", text);
}

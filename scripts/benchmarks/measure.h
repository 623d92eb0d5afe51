/* measure.h: what programs of benchmarks have in common. */
#ifndef BENCHMARKS_MEASURE_H
#define BENCHMARKS_MEASURE_H

#include <ccw/ccw.h>
#include <time.h>

/* Ends the program with what a failure says. */
static inline void check(ccw_status status)
{
  if (!status.code) return;
  fprintf(stderr, "%s\n", ccw_status_text(status));
  exit(1);
}

/* Nanoseconds of a clock that only goes forward. */
static inline double now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* 0 is none yet. */
static inline void keep_least(double *best, double value)
{
  if (*best == 0 || value < *best) *best = value;
}

#endif

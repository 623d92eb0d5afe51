/* mix.h: numbers that look random, each made of another number alone. */
#ifndef CCW_BASE_MIX_H
#define CCW_BASE_MIX_H

#include <stdint.h>

/* SplitMix64 (Steele, Lea, Flood 2014): a good mix of a counter, so that element k depends on no other. */
static inline uint64_t ccw_mix(uint64_t x)
{
  x += 0x9E3779B97F4A7C15;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
  x = (x ^ x >> 27) * 0x94D049BB133111EB;
  return x ^ x >> 31;
}

#endif

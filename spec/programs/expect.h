/* expect.h: what the programs of the specs say of what is not as it should be. */
#ifndef EXPECT_H
#define EXPECT_H

#include <stdio.h>

/* How often; from any thread. */
static _Atomic int broken;

#define EXPECT(condition)                                    \
  do {                                                       \
    if (!(condition)) {                                      \
      printf("line %d: not so: %s\n", __LINE__, #condition); \
      ++broken;                                              \
    }                                                        \
  } while (0)

#endif

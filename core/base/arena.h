/* arena.h: memory that is taken piece by piece and given back at once. Start with {0}. */
#ifndef CCW_BASE_ARENA_H
#define CCW_BASE_ARENA_H

#include <stdint.h>

#include "base/memory.h"

typedef struct ccw_arena {
  struct ccw_arena_block *last;
} ccw_arena;

/* `size` bytes, aligned for any type. NULL: there are none. */
void *ccw_arena_take(ccw_arena *arena, size_t size);

/* A copy of those bytes, ended by a NUL. NULL: no memory. */
char *ccw_arena_copy(ccw_arena *arena, const char *bytes, size_t length);

/* An array of `count` elements with room for another: the same, or a copy that has twice the room. NULL: no memory. */
void *ccw_arena_grow(ccw_arena *arena, void *array, int64_t count, size_t element_size);

/* Gives everything back. */
void ccw_arena_free(ccw_arena *arena);

#endif

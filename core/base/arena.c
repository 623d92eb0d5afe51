#include "base/arena.h"

#include <string.h>

#include "base/checked.h"

enum { ALIGNMENT = 16, SMALLEST = 512, LARGEST = 1 << 16 };

struct ccw_arena_block {
  struct ccw_arena_block *previous;
  size_t size, used; /* this head included */
};

/* Blocks become larger with their number, so that there are few of them. */
static struct ccw_arena_block *new_block(struct ccw_arena_block *previous, size_t needed)
{
  size_t size = previous ? 2 * previous->size : SMALLEST;
  if (size > LARGEST) size = LARGEST;
  if (size < needed) size = needed;
  struct ccw_arena_block *block = ccw_allocate(size);
  if (block) *block = (struct ccw_arena_block){previous, size, ccw_align(sizeof *block, ALIGNMENT)};
  return block;
}

void *ccw_arena_take(ccw_arena *arena, size_t size)
{
  size_t head = ccw_align(sizeof(struct ccw_arena_block), ALIGNMENT);
  if (size > PTRDIFF_MAX - head - ALIGNMENT) return NULL;
  size = ccw_align(size, ALIGNMENT);
  if (!arena->last || arena->last->size - arena->last->used < size) {
    struct ccw_arena_block *block = new_block(arena->last, head + size);
    if (!block) return NULL;
    arena->last = block;
  }
  void *memory = (char *)arena->last + arena->last->used;
  arena->last->used += size;
  return memory;
}

char *ccw_arena_copy(ccw_arena *arena, const char *bytes, size_t length)
{
  char *copy = ccw_arena_take(arena, length + 1);
  if (!copy) return NULL;
  if (length > 0) memcpy(copy, bytes, length);
  copy[length] = '\0';
  return copy;
}

/* There is room for 4, 8, 16 and so on: the next step is due where the count is one of these. */
void *ccw_arena_grow(ccw_arena *arena, void *array, int64_t count, size_t element_size)
{
  enum { FIRST = 4 };
  if (count > 0 && (count < FIRST || (count & (count - 1)) != 0)) return array;
  int64_t size;
  if (!ccw_mul_i64(count ? 2 * count : FIRST, (int64_t)element_size, &size)) return NULL;
  void *grown = ccw_arena_take(arena, (size_t)size);
  if (grown && count > 0) memcpy(grown, array, (size_t)count * element_size);
  return grown;
}

void ccw_arena_free(ccw_arena *arena)
{
  while (arena->last) {
    struct ccw_arena_block *block = arena->last;
    arena->last = block->previous;
    ccw_release(block, block->size);
  }
}

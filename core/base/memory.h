/* memory.h: where core's memory comes from. Everything in core allocates here; what libraries take (libelf, Python, the
 * dynamic linker) is theirs. The build includes this header before everything else in core, so that the texts of statuses
 * come from here too. */
#ifndef CCW_BASE_MEMORY_H
#define CCW_BASE_MEMORY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* `size` bytes, aligned for any type, with arbitrary content. NULL: there are none. */
void *ccw_allocate(size_t size);

/* The same, zeroed. Large blocks take memory only where they are touched. */
void *ccw_allocate_zeroed(size_t size);

/* A block of `new_size` bytes with the content of `memory`, which is gone then. NULL, and `memory` as it was: there is
 * none. */
void *ccw_reallocate(void *memory, size_t size, size_t new_size);

/* Gives back a block of that size. NULL is fine. */
void ccw_release(void *memory, size_t size);

/* What handler.h asks for. */
#define CCW_STATUS_ALLOCATE(size) ccw_allocate(size)
#define CCW_STATUS_RELEASE(memory, size) ccw_release(memory, size)

#ifdef __cplusplus
}
#endif

#endif

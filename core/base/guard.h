/* guard.h: memory that is lent to foreign code, and that tells where it was left.
 *
 * A guarded region has pieces. In front of each piece and behind it lies memory that may not be touched. Who touches it all
 * the same, in whatever thread, is noted once and then let through, so that it goes on and comes to its end. What lies
 * between a piece and the memory that may not be touched holds a pattern, so that writes there are found afterwards.
 */
#ifndef CCW_BASE_GUARD_H
#define CCW_BASE_GUARD_H

#include <ccw/ccw.h>

typedef struct ccw_guard ccw_guard;

/* Where a piece lies in its pages. A start at a multiple of CCW_BUFFER_ALIGNMENT can leave a gap behind the piece. */
typedef enum ccw_guard_layout {
  CCW_GUARD_ALIGNED, /* as near to the memory behind as an aligned start allows */
  CCW_GUARD_FIRST,   /* aligned, nothing in front */
  CCW_GUARD_LAST,    /* nothing behind, the start where it may be */
} ccw_guard_layout;

enum { CCW_GUARD_LAYOUTS = 3, CCW_GUARD_DEPTH = 17 };

typedef enum ccw_guard_side {
  CCW_GUARD_INSIDE, /* a write to a piece that is protected */
  CCW_GUARD_BEHIND,
  CCW_GUARD_BEFORE,
} ccw_guard_side;

/* An access that was not allowed: the first of its sort. */
typedef struct ccw_guard_access {
  int64_t offset;                  /* of the byte from the start of its piece; below 0 in front of it */
  int32_t depth;                   /* 0: a write that was found afterwards, and nobody knows whose */
  uintptr_t code[CCW_GUARD_DEPTH]; /* the instruction, then the return addresses of the functions around it */
} ccw_guard_access;

/* Makes a region with a piece for each size, and `shared_size` bytes that a forked child shares with its parent.
 * RESOURCE_EXHAUSTED. */
CCW_MUST_USE ccw_status ccw_guard_new(const int64_t *sizes, int64_t count, size_t shared_size, ccw_guard **out_guard);

/* Frees it. NULL is fine. Not while anybody uses it. */
void ccw_guard_free(ccw_guard *guard);

/* Prepares a run in this thread: the pieces take their places and can be written, the memory around them cannot be touched
 * any more, and what was noted in an earlier run of that layout is forgotten. Takes no memory. */
void ccw_guard_arm(ccw_guard *guard, ccw_guard_layout layout);

/* The start of a piece; of one of no bytes, too. */
unsigned char *ccw_guard_piece(const ccw_guard *guard, int64_t i);

/* Notes writes to a piece from now on. In the layout CCW_GUARD_ALIGNED zeros lie around it then, as they mostly do: who reads an index
 * there is to survive it. */
void ccw_guard_protect(ccw_guard *guard, int64_t i);

/* Says that the run of a layout in a child came to its end; what was noted there counts from then on. The run of
 * CCW_GUARD_ALIGNED needs no word. */
void ccw_guard_finish(ccw_guard *guard, ccw_guard_layout layout);
bool ccw_guard_is_finished(const ccw_guard *guard, ccw_guard_layout layout);

/* Takes back what was said and noted of all layouts but CCW_GUARD_ALIGNED. */
void ccw_guard_forget_children(ccw_guard *guard);

/* Whether a read could pass the end, or the beginning, of some piece and stay unnoticed in the layout CCW_GUARD_ALIGNED. */
bool ccw_guard_has_gaps(const ccw_guard *guard);

/* The first access of a sort to piece `i`, of all layouts the one nearest to it; false where there was none. */
bool ccw_guard_find(
    const ccw_guard *guard, int64_t i, ccw_guard_side side, bool is_write, ccw_guard_access *out_access);

/* The bytes that a child shares. */
void *ccw_guard_shared(const ccw_guard *guard);

#endif

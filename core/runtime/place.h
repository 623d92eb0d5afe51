/* place.h: where a piece of code is, as people say it. */
#ifndef CCW_RUNTIME_PLACE_H
#define CCW_RUNTIME_PLACE_H

#include <ccw/ccw.h>

/* Adds "scale (scale.c:12)" for the instruction at an address; "scale", or "libscale.so+0x1a40", where no more is known;
 * nothing for what is no code of a library. */
void ccw_place_print(uintptr_t address, ccw_text *text);

/* Adds ", in scale (scale.c:12)": of an instruction and the return addresses around it, the innermost in the library of the code at
 * `within`, which may have called memcpy. Nothing where none is known. */
void ccw_place_print_culprit(const uintptr_t *code, int32_t depth, uintptr_t within, ccw_text *text);

/* Whether two addresses lie in one library, or both in the program. */
bool ccw_place_is_shared(uintptr_t a, uintptr_t b);

#endif

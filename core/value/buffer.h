/* buffer.h: what core knows of a buffer beyond ccw.h. */
#ifndef CCW_VALUE_BUFFER_H
#define CCW_VALUE_BUFFER_H

#include <ccw/ccw.h>

/* The two share at least one byte. */
bool ccw_buffer_overlaps(const ccw_buffer *a, const ccw_buffer *b);

/* Adds the place of element `i` as Lua reads it: "[1][3]"; nothing for rank 0. */
void ccw_buffer_print_index(const ccw_buffer *buffer, int64_t i, ccw_text *text);

#endif

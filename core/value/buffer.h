/* buffer.h: what core knows of a buffer beyond ccw.h. */
#ifndef CCW_VALUE_BUFFER_H
#define CCW_VALUE_BUFFER_H

#include <ccw/ccw.h>

/* Whether its memory can be read and written here. */
bool ccw_buffer_is_on_host(const ccw_buffer *buffer);

/* The two share at least one byte. */
bool ccw_buffer_overlaps(const ccw_buffer *a, const ccw_buffer *b);

#endif

/* embedded.h: the Lua modules that the program brings along; the table is made by gather.lua. */
#ifndef CCW_EMBEDDED_H
#define CCW_EMBEDDED_H

#include <stddef.h>

typedef struct ccw_embedded {
  const char *name; /* NULL ends the table */
  const unsigned char *text;
  size_t length;
} ccw_embedded;

extern const ccw_embedded ccw_embedded_modules[];

#endif

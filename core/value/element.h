/* element.h: an element in memory, and the scalar that it holds. */
#ifndef CCW_VALUE_ELEMENT_H
#define CCW_VALUE_ELEMENT_H

#include <ccw/ccw.h>

/* Element `index` of an array that starts at `memory`. Not for tokens. */
ccw_scalar ccw_element_load(ccw_dtype dtype, const void *memory, int64_t index);

/* Writes element `index`. The scalar has been converted to the array's dtype. */
void ccw_element_store(void *memory, int64_t index, ccw_scalar scalar);

/* The bits of an element of 64 bits or less, lowest first. */
uint64_t ccw_element_bits(ccw_dtype dtype, const void *memory, int64_t index);

/* The number nearest to x that a float dtype holds. */
double ccw_float_round(ccw_dtype dtype, double x);

#endif

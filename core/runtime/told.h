/* told.h: what was told of the signatures of a library's functions, by asking them in another process. Start with {0}. */
#ifndef CCW_RUNTIME_TOLD_H
#define CCW_RUNTIME_TOLD_H

#include <ccw/ccw.h>

typedef struct ccw_told {
  struct ccw_told_item *first;
} ccw_told;

/* Takes note of a signature, retained, or of why there is none; of neither for what is no handler. `place` is where the
 * function lies, or "" for all those of which nothing was told. RESOURCE_EXHAUSTED. */
CCW_MUST_USE ccw_status ccw_told_add(ccw_told *told, const char *place, ccw_signature *signature, const char *why);

/* Takes note that a function could not be asked, since it binds that type, "" for one whose name is not known, which was not
 * registered. RESOURCE_EXHAUSTED. */
CCW_MUST_USE ccw_status ccw_told_add_type(ccw_told *told, const char *place, const char *type);

/* Whether that was told of a function, also long ago. */
bool ccw_told_lacks_type(const ccw_told *told, const char *place);

/* The signature, with a reference. UNAVAILABLE: nothing was told of anything yet, or a type was not
 * registered, and some type was since. NOT_FOUND: it is no handler.
 * FAILED_PRECONDITION: why there is none. */
CCW_MUST_USE ccw_status ccw_told_find(const ccw_told *told, const char *place, ccw_signature **out_signature);

/* Forgets everything. */
void ccw_told_free(ccw_told *told);

#endif

/* problems.h: all that is wrong, a line each, and then one status of it. Start with {0}. */
#ifndef CCW_CALL_PROBLEMS_H
#define CCW_CALL_PROBLEMS_H

#include <ccw/ccw.h>

typedef struct ccw_problems {
  ccw_text text;
  int64_t count;
} ccw_problems;

/* Starts a problem: what is added to the text from here on is its line. */
void ccw_problem(ccw_problems *problems);

/* Adds a place: "arg 1 'w'". `name` is "" where there is none. */
void ccw_text_add_place(ccw_text *text, const char *noun, int64_t place, const char *name);

/* Starts a problem with a place: "arg 1 'w': ". */
void ccw_problem_at(ccw_problems *problems, const char *noun, int64_t place, const char *name);

/* Adds what somebody did to the memory of an array, `offset` bytes from its beginning: "read past its end, element 64 of 63", "written in
 * front of its beginning, 1 element before it", or "read", `inside` and the element. */
void ccw_text_add_access(ccw_text *text, const ccw_shape *shape, int64_t offset, bool is_write, const char *inside);

/* Success where there is none, else "WHO: the problem" or "WHO: 2 WHAT", as "bad operands", and the lines. `who` may be "".
 * Frees the text. */
CCW_MUST_USE ccw_status ccw_problems_status(ccw_problems *problems, const char *who, const char *what);

#endif

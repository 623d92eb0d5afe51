/* stand_in.h: what the stand-in drivers have beside the functions of a driver; found with dlsym. */
#ifndef STAND_IN_H
#define STAND_IN_H

#include <stdbool.h>
#include <stddef.h>

/* Has call number `nth` of the function, counted from 0, fail with that error; "": of any function. Those that give something
 * back do so all the same. */
void stand_in_fail(const char *function, int nth, int error);

/* Whether it came to that. */
bool stand_in_failed(void);

/* How many objects there are that were not given back, and which. */
int stand_in_live(char *text, size_t size);

#endif

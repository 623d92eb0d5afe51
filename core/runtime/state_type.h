/* state_type.h: the types of state and of user data that are registered, see ccw_state_type_register. */
#ifndef CCW_RUNTIME_STATE_TYPE_H
#define CCW_RUNTIME_STATE_TYPE_H

#include <ccw/ccw.h>

/* What to do about a type whose variables nobody can find, a format for its name. */
#define CCW_REGISTER_BY_SYMBOL \
  "lib:type(\"%s\", \"SYMBOL\"), the symbol of the variable with its id, or of a function that gives it"

/* A registered type. It stays as it is until the process ends. */
typedef struct ccw_state_type {
  struct ccw_state_type *next; /* that was registered before */
  int64_t id;
  void (*deleter)(void *object); /* NULL: none, it is for user data only */
  char name[];
} ccw_state_type;

/* The type of that id, NULL where there is none. Takes no lock. */
const ccw_state_type *ccw_state_type_of(int64_t id);

/* How many were registered so far. */
int64_t ccw_state_type_count(void);

/* Adds what a message calls the type of that id: "'counter' (id 3)", "id 7, which is not registered". */
void ccw_state_type_say(int64_t id, ccw_text *text);

#endif

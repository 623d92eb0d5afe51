/* asker.h: the questions of ask.h: frames that are hostile, and what comes back. */
#ifndef CCW_RUNTIME_ASKER_H
#define CCW_RUNTIME_ASKER_H

#include "base/arena.h"
#include "runtime/answer.h"

enum {
  CCW_ASKER_MOST = 256,         /* operands of a family, attributes, members of a struct: of more nothing is told */
  CCW_ASKER_MOST_CONTEXTS = 32, /* that are told */
  CCW_ASKER_NO_KIND = 77,       /* of an operand: none that there is */
};

/* A context that was asked for. */
typedef struct ccw_asked_context {
  ccw_context context;
  const XLA_FFI_TypeId *type; /* the variable with the id of its type; NULL where it has none */
} ccw_asked_context;

/* Arguments or results. */
typedef struct ccw_asked_family {
  ccw_topic complaint, no_buffer;
  int64_t size; /* in the frame */
  int kinds[CCW_ASKER_MOST];
  void *buffers[CCW_ASKER_MOST];
  bool is_counted, is_open; /* it is known how many there are; that many at least */
  int64_t told;             /* the number that was told: for one that is open it is too small, see find_regular */
  int64_t regular, optional;
  bool has_remaining;
} ccw_asked_family;

typedef struct ccw_asker {
  const char *name;
  XLA_FFI_Handler *function;
  XLA_FFI_Api api;
  ccw_arena arena;

  size_t frame_size;
  XLA_FFI_ExecutionStage stage;
  ccw_asked_family args, rets;
  XLA_FFI_Attrs attrs;

  /* What hostile operands point to, for functions that look without asking: memory that may be read and written. */
  XLA_FFI_Buffer harmless, asked;
  XLA_FFI_Scalar scalar;
  XLA_FFI_ByteSpan unnamed;
  int64_t dims[8], memory[512];

  ccw_text answer;
  ccw_topic topic;
  bool lacks_memory;
  bool has_made_state; /* the function, which is for a stage with state: it wanted to keep it */
  bool is_unclear;     /* the answer is an error, and not one that lists bad operands */
  int64_t bad;         /* operands, while all of them are bad that can be */
  bool is_strict;      /* built with headers of jaxlib 0.8.1 or before, which refuse attributes that are not bound */
  ccw_asked_context contexts[CCW_ASKER_MOST_CONTEXTS];
  int context_count;
} ccw_asker;

/* The names of attributes, or of members, in the order in which they are bound. */
typedef struct ccw_asked_names {
  XLA_FFI_ByteSpan *names;
  int64_t count;
} ccw_asked_names;

/* Makes an asker of the function, with nothing in its frame. RESOURCE_EXHAUSTED. */
CCW_MUST_USE ccw_status ccw_asker_new(const char *name, XLA_FFI_Handler *function, ccw_asker **out_asker);
void ccw_asker_free(ccw_asker *asker);

/* Calls the function with the frame as it is, and keeps its answer. */
void ccw_asker_ask(ccw_asker *asker);

/* The text of the answer, and whether it is about that. */
const char *ccw_asker_answer(const ccw_asker *asker);
bool ccw_asker_has(const ccw_asker *asker, ccw_topic topic);

/* Whether what was just asked about was taken, and only that. */
bool ccw_asker_was_taken(const ccw_asker *asker);

/* A dictionary of scalars of no dtype, under a name that nobody binds. RESOURCE_EXHAUSTED. */
CCW_MUST_USE ccw_status ccw_asker_dictionary(ccw_asker *asker, int64_t size, XLA_FFI_Attrs *out_attrs);

/* The names that are told of attributes, in an answer of which all are of another name. RESOURCE_EXHAUSTED. */
CCW_MUST_USE ccw_status ccw_asker_read_names(ccw_asker *asker, ccw_asked_names *out_names);

/* Adds " {s: f32}", or nothing. `bound` are the names that were told when everything was bad, and `members` the number of
 * members of a struct that all attributes are, 0 for none. RESOURCE_EXHAUSTED. */
CCW_MUST_USE ccw_status ccw_asker_add_attributes(
    ccw_asker *asker, ccw_asked_names *bound, int64_t members, ccw_text *out_text);

#endif

/* answer.h: what a handler of the official C++ binding says of a frame that it does not take, taken apart.
 *
 * The texts come from the headers that the handler was built with, and differ between their generations: all that is relied
 * on stands in one table. What does not match it is nothing, never an error.
 */
#ifndef CCW_RUNTIME_ANSWER_H
#define CCW_RUNTIME_ANSWER_H

#include <ccw/ccw.h>

typedef enum ccw_topic {
  CCW_TOPIC_NONE,
  /* what a whole answer is about */
  CCW_TOPIC_FRAME,      /* the size of the frame */
  CCW_TOPIC_STAGE,      /* the stage */
  CCW_TOPIC_OPERANDS,   /* bad operands, with a list of diagnostics */
  CCW_TOPIC_ARGS,       /* the number of arguments */
  CCW_TOPIC_RESULTS,    /* the number of results */
  CCW_TOPIC_ATTRIBUTES, /* the number of attributes */
  /* what a diagnostic is about */
  CCW_TOPIC_ARG,       /* an argument that is no buffer */
  CCW_TOPIC_RESULT,    /* a result that is none */
  CCW_TOPIC_DTYPE,     /* a buffer's dtype: "F32" */
  CCW_TOPIC_RANK,      /* its rank: "1" */
  CCW_TOPIC_NAME,      /* an attribute of another name: "got vs expected" */
  CCW_TOPIC_POINTER,   /* an attribute that is to be a pointer */
  CCW_TOPIC_KIND,      /* that is to be of another kind: "string" */
  CCW_TOPIC_SCALAR,    /* a scalar's dtype: "F32" */
  CCW_TOPIC_ARRAY,     /* an array's dtype: "F32" */
  CCW_TOPIC_MEMBERS,   /* how many members a struct has: "2" */
  CCW_TOPIC_MEMBER,    /* a member that is missing: its name */
  CCW_TOPIC_EXTENSION, /* an extension that could not be had: "its name: ..." */
  CCW_TOPIC_CONTEXT,   /* another context that could not be had */
} ccw_topic;

/* What a whole answer is about; `text` is "" for none. */
ccw_topic ccw_answer_topic(const char *text);

/* What was expected of a number: "at least 2" or "2". False where there is none. */
bool ccw_answer_number(const char *text, ccw_topic topic, bool *out_at_least, int64_t *out_number);

/* The stage that was expected: EXECUTE where none is named. */
XLA_FFI_ExecutionStage ccw_answer_stage(const char *text);

/* How many operands were bad. */
int64_t ccw_answer_bad(const char *text);

/* A diagnostic: what is told of its topic. */
typedef struct ccw_diagnostic {
  ccw_topic topic;
  const char *text;
  size_t length;
} ccw_diagnostic;

/* Where the diagnostics of an answer start. */
const char *ccw_answer_diagnostics(const char *text);

/* The next diagnostic from `*at`, which goes on to the one behind it; they follow each other without a break. False at the
 * end. */
bool ccw_answer_next(const char **at, ccw_diagnostic *out_diagnostic);

/* The number of diagnostics of that topic, and the first of them. */
int64_t ccw_answer_count(const char *text, ccw_topic topic);
bool ccw_answer_find(const char *text, ccw_topic topic, ccw_diagnostic *out_diagnostic);

/* The dtype that a diagnostic names: INVALID where it is none. */
ccw_dtype ccw_diagnostic_dtype(const ccw_diagnostic *diagnostic);

#endif

/* joined.c: handlers whose names are near to the targets of calls, for joining. */
#include <stdlib.h>
#include <string.h>

#include <ccw/handler.h>

/* Each answers with its number. */
#define ANSWER(name, number)        \
  CCW_HANDLER(name, RET(s32, 0, y)) \
  {                                 \
    y.data[0] = number;             \
    return ccw_ok();                \
  }
ANSWER(exact, 1)
ANSWER(Exact, 2)
ANSWER(RmsNorm, 3)
ANSWER(twice_over, 4)
ANSWER(TwiceOver, 5)
ANSWER(SolveFfiHandler, 6)

/* Answers with its attribute. */
CCW_HANDLER(echo, RET(u8, 1, y), ATTR(string, text))
{
  for (int64_t i = 0; i < y.dims[0]; ++i) y.data[i] = (uint8_t)(i < text.size ? text.data[i] : 0);
  return ccw_ok();
}

/* An array in place, with `at` added, and how many names there are. */
CCW_HANDLER(TwoParts, ARG(f32, 1, x), RET(f32, 1, y), RET(s32, 0, count), ATTR(s64, at), ATTR(dictionary, names))
{
  for (int64_t i = 0; i < x.dims[0]; ++i) y.data[i] = x.data[i] + (float)at;
  count.data[0] = (int32_t)names.attrs->size;
  return ccw_ok();
}

typedef struct count {
  int64_t next;
} count;

static void count_delete(count *c) { free(c); }
CCW_STATE(count, count_delete);

static ccw_status make(int64_t from, count **out_count)
{
  *out_count = malloc(sizeof **out_count);
  if (!*out_count) return ccw_resource_exhausted("no memory for a count");
  (*out_count)->next = from;
  return ccw_ok();
}

/* Counts: of one the stages have names that tell, of the other they do not. */
CCW_STAGE_HANDLER(instantiate, counter_instantiate, ATTR(s64, from), NEW_STATE(count, c)) { return make(from, c); }
CCW_STAGE_HANDLER(instantiate, start, ATTR(s64, from), NEW_STATE(count, c)) { return make(from + 100, c); }

CCW_HANDLER(counter, CTX(state(count), c), RET(s64, 0, y))
{
  y.data[0] = c->next++;
  return ccw_ok();
}

/* What is no handler, though its name is that of a stage. */
__attribute__((visibility("default"))) int exact_prepare(void);
int exact_prepare(void) { return 1; }

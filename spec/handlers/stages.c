/* stages.c: handlers of every stage with ccw/handler.h, as versions.cc has them of the official binding. */
#include <stdlib.h>
#include <string.h>

#include <ccw/handler.h>

static char story[64];
static int64_t made, ended;

static void note(char letter)
{
  size_t length = strlen(story);
  if (length + 1 < sizeof story) story[length] = letter;
}

/* A letter for each stage that ran since it was last asked, and objects that were made and ended. */
CCW_HANDLER(tell, RET(u8, 1, letters), RET(s64, 1, counts))
{
  for (int64_t i = 0; i < letters.dims[0]; ++i) letters.data[i] = (uint8_t)(story[i] ? story[i] : '.');
  memset(story, 0, sizeof story);
  counts.data[0] = made;
  counts.data[1] = ended;
  return ccw_ok();
}

typedef struct tally {
  int64_t value;
} tally;

static void tally_delete(void *object)
{
  ++ended;
  free(object);
}
CCW_STATE(tally, tally_delete);

static ccw_status new_tally(int64_t value, tally **out_tally)
{
  if (value < 0) return ccw_invalid("start is below 0");
  tally *t = malloc(sizeof *t);
  if (!t) return ccw_resource_exhausted("no tally");
  t->value = value;
  ++made;
  *out_tally = t;
  return ccw_ok();
}

CCW_STAGE_HANDLER(instantiate, tally_instantiate, NEW_STATE(tally, t), ATTR(s64, start))
{
  note('i');
  return new_tally(start, t);
}

typedef struct plan {
  int64_t value;
} plan;

static void plan_delete(void *object)
{
  note('P');
  tally_delete(object);
}
CCW_STATE(plan, plan_delete);

CCW_STAGE_HANDLER(prepare, tally_prepare, NEW_STATE(plan, p), CTX(state(tally), t), ATTR(s64, start))
{
  note('p');
  (void)start;
  tally *other;
  CCW_TRY(new_tally(10 * t->value, &other));
  *p = (plan *)other;
  return ccw_ok();
}

CCW_STAGE_HANDLER(initialize, tally_initialize, CTX(prepared(plan), p), ATTR(s64, start))
{
  note('n');
  return p->value == 10 * start + 10 ? ccw_aborted("the second execution") : ccw_ok();
}

CCW_HANDLER(tally_execute, CTX(state(tally), t), RET(s64, 1, y), ATTR(s64, start))
{
  note('e');
  (void)start;
  y.data[0] = t->value++;
  return ccw_ok();
}

CCW_HANDLER(tally_fails, CTX(state(tally), t), ATTR(s64, start))
{
  (void)t;
  return ccw_aborted("not %lld", (long long)start);
}

CCW_HANDLER(needs_stream, ARG(f32, 1, x), CTX(stream, s))
{
  (void)x;
  (void)s;
  return ccw_internal("the body ran");
}

/* Whether two pieces came, and the code and text of why the second did not. */
CCW_HANDLER(takes_scratch, CTX(scratch, scratch), ATTR(s64, size))
{
  void *first, *second;
  CCW_TRY(ccw_scratch_take(scratch, (size_t)size, 16, &first));
  CCW_TRY(ccw_scratch_take(scratch, (size_t)size, 16, &second));
  memset(first, 1, (size_t)size);
  memset(second, 2, (size_t)size);
  return first != second && (size == 0 || *(char *)first == 1) ? ccw_ok() : ccw_internal("they are one");
}

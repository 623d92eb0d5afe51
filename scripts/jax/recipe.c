/* recipe.c: the handlers of recipe.py and two_processes.py, one without state and one with. */
#include <stdatomic.h>
#include <stdlib.h>

#include <ccw/handler.h>

CCW_HANDLER(scale, ARG(f32, any, x), RET(f32, any, y), ATTR(f32, s))
{
  CCW_TRY(ccw_verify("y", y, ccw_like(x)));
  for (int64_t i = 0; i < ccw_elements(x); ++i) y.data[i] = s * x.data[i];
  return ccw_ok();
}

/* What an executable keeps from run to run. It may run on several devices at once, and all of them share it. */
typedef struct ticks {
  _Atomic int32_t next;
} ticks;

static void ticks_delete(ticks *t) { free(t); }

CCW_STATE(ticks, ticks_delete);

/* Makes the state, when the executable is made. Every stage gets the attributes, and binds them all. */
CCW_STAGE_HANDLER(instantiate, counter_instantiate, ATTR(s32, first), NEW_STATE(ticks, t))
{
  *t = malloc(sizeof **t);
  if (!*t) return ccw_resource_exhausted("no memory for a counter");
  atomic_init(&(*t)->next, first);
  return ccw_ok();
}

/* Numbers the calls. */
CCW_HANDLER(counter, RET(s32, 0, y), ATTR(s32, first), CTX(state(ticks), t))
{
  *y.data = t->next++;
  return ccw_ok();
}

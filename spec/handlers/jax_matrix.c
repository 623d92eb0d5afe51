/* jax_matrix.c: one handler for each thing that a handler may do in a real runtime. jax_spec.lua runs them in JAX. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <ccw/handler.h>

/* What happened in this process so far, by name. */
#define EVENTS(X)      \
  X(counters_made)     \
  X(counters_deleted)  \
  X(instantiated)      \
  X(prepared)          \
  X(initialized)       \
  X(executed)          \
  X(rows_doubled)      \
  X(bumped)            \
  X(ran_after_failure) \
  X(tasks)

#define EVENT_NUMBER(name) name,
enum { EVENTS(EVENT_NUMBER) EVENT_COUNT };
#undef EVENT_NUMBER
static _Atomic int64_t happened[EVENT_COUNT];

CCW_HANDLER(census, RET(s64, 0, y), ATTR(string, what))
{
#define EVENT_NAME(name) #name,
  static const char *const names[] = {EVENTS(EVENT_NAME)};
#undef EVENT_NAME
  size_t size = (size_t)what.size;
  for (int i = 0; i < EVENT_COUNT; ++i)
    if (size == strlen(names[i]) && memcmp(what.data, names[i], size) == 0) {
      *y.data = happened[i];
      return ccw_ok();
    }
  return ccw_invalid("what: there is no event '%.*s'", (int)what.size, what.data);
}

/* ---- without state --------------------------------------------------------------------------------------------------- */

CCW_HANDLER(plus, ARG(f32, any, x), RET(f32, any, y), ATTR(f32, by))
{
  CCW_TRY(ccw_verify("y", y, ccw_like(x)));
  for (int64_t i = 0; i < ccw_elements(x); ++i) y.data[i] = x.data[i] + by;
  return ccw_ok();
}

/* Rank 1 and no other. */
CCW_HANDLER(double_row, ARG(f32, 1, x), RET(f32, 1, y))
{
  CCW_TRY(ccw_verify("y", y, ccw_like(x)));
  ++happened[rows_doubled];
  for (int64_t i = 0; i < x.dims[0]; ++i) y.data[i] = 2 * x.data[i];
  return ccw_ok();
}

/* Whether the result lies where the argument does. */
CCW_HANDLER(in_place, ARG(f32, any, x), RET(f32, any, y), RET(s32, any, same))
{
  CCW_TRY(ccw_verify("y", y, ccw_like(x)));
  for (int64_t i = 0; i < ccw_elements(same); ++i) same.data[i] = x.data == y.data;
  for (int64_t i = 0; i < ccw_elements(x); ++i) y.data[i] = x.data[i] + 1;
  return ccw_ok();
}

/* Two results of different types. */
CCW_HANDLER(split, ARG(f32, any, x), RET(s32, any, whole), RET(f32, any, rest))
{
  CCW_TRY(ccw_verify("whole", whole, ccw_shape_of(x)));
  CCW_TRY(ccw_verify("rest", rest, ccw_like(x)));
  for (int64_t i = 0; i < ccw_elements(x); ++i) {
    whole.data[i] = (int32_t)x.data[i];
    rest.data[i] = x.data[i] - (float)whole.data[i];
  }
  return ccw_ok();
}

/* A token that goes in and one that comes out have no memory. */
CCW_HANDLER(after, ARG(token, 0, t), ARG(f32, any, x), RET(token, 0, u), RET(f32, any, y))
{
  if (ccw_bytes(t) != 0 || ccw_bytes(u) != 0) return ccw_invalid("a token has bytes");
  memcpy(y.data, x.data, (size_t)ccw_bytes(y));
  return ccw_ok();
}

/* Every call is to be seen. */
CCW_HANDLER(bump, RET(s64, any, y))
{
  int64_t now = ++happened[bumped];
  for (int64_t i = 0; i < ccw_elements(y); ++i) y.data[i] = now;
  return ccw_ok();
}

/* The kind of attribute v, as XLA numbers it, and the dtype of a scalar. */
CCW_HANDLER(kind_of_v, RET(s32, 1, y), ATTRS(dictionary, d))
{
  if (d.attrs->size != 1) return ccw_invalid("expected v, got %lld attributes", (long long)d.attrs->size);
  y.data[0] = (int32_t)d.attrs->types[0];
  y.data[1] =
      d.attrs->types[0] == XLA_FFI_AttrType_SCALAR ? (int32_t)((const XLA_FFI_Scalar *)d.attrs->attrs[0])->dtype : 0;
  return ccw_ok();
}

/* ---- state and stages ------------------------------------------------------------------------------------------------ */

typedef struct counter {
  _Atomic int64_t next;
} counter;

static void counter_delete(counter *c)
{
  ++happened[counters_deleted];
  free(c);
}

CCW_STATE(counter, counter_delete);

/* Below zero there is no counter; at -2 that comes out late. */
CCW_STAGE_HANDLER(instantiate, count_instantiate, ATTR(s64, v), NEW_STATE(counter, c))
{
  if (v < 0 && v != -2) return ccw_invalid("v: expected 0 or more, got %lld", (long long)v);
  *c = malloc(sizeof **c);
  if (!*c) return ccw_resource_exhausted("no memory for a counter");
  ++happened[counters_made];
  atomic_init(&(*c)->next, v);
  if (v < 0) return ccw_out_of_range("v: a counter of %lld is made and is of no use", (long long)v);
  return ccw_ok();
}

CCW_HANDLER(count, RET(s64, any, y), ATTR(s64, v), CTX(state(counter), c))
{
  if (v < 0) ++happened[ran_after_failure];
  int64_t now = c->next++;
  for (int64_t i = 0; i < ccw_elements(y); ++i) y.data[i] = now;
  return ccw_ok();
}

/* The same out of an argument, so that it can be mapped. */
CCW_HANDLER(count_from, ARG(s64, any, x), RET(s64, any, y), ATTR(s64, v), CTX(state(counter), c))
{
  CCW_TRY(ccw_verify("y", y, ccw_like(x)));
  int64_t now = c->next++;
  for (int64_t i = 0; i < ccw_elements(x); ++i) y.data[i] = x.data[i] + now + 0 * v;
  return ccw_ok();
}

/* State that nobody has made. */
CCW_HANDLER(stateless_count, RET(s64, 0, y), CTX(state(counter), c))
{
  *y.data = c->next;
  return ccw_ok();
}

/* State of another type than was made, and of stages that XLA has on GPUs alone. */
typedef struct stranger {
  int64_t age;
} stranger;

static void stranger_delete(stranger *s) { free(s); }

CCW_STATE(stranger, stranger_delete);

CCW_HANDLER(strange_count, RET(s64, 0, y), ATTR(s64, v), CTX(state(stranger), s))
{
  *y.data = s->age;
  return ccw_ok();
}

CCW_HANDLER(prepared_count, RET(s64, 0, y), CTX(prepared(counter), c))
{
  *y.data = c->next;
  return ccw_ok();
}

CCW_HANDLER(initialized_count, RET(s64, 0, y), CTX(initialized(counter), c))
{
  *y.data = c->next;
  return ccw_ok();
}

/* All stages that a bundle may have. */
CCW_STAGE_HANDLER(instantiate, staged_instantiate, ATTRS(dictionary, d))
{
  ++happened[instantiated];
  return ccw_ok();
}

CCW_STAGE_HANDLER(prepare, staged_prepare, ATTRS(dictionary, d))
{
  ++happened[prepared];
  return ccw_ok();
}

CCW_STAGE_HANDLER(initialize, staged_initialize, ATTRS(dictionary, d))
{
  ++happened[initialized];
  return ccw_ok();
}

CCW_HANDLER(staged, ARG(f32, any, x), RET(f32, any, y), ATTRS(dictionary, d))
{
  ++happened[executed];
  memcpy(y.data, x.data, (size_t)ccw_bytes(y));
  return ccw_ok();
}

/* ---- threads --------------------------------------------------------------------------------------------------------- */

enum { PIECE = 64 };

typedef struct squares {
  const float *from;
  float *to;
  int64_t count;
} squares;

static void square_piece(void *data, int64_t piece)
{
  const squares *s = data;
  int64_t end = (piece + 1) * PIECE < s->count ? (piece + 1) * PIECE : s->count;
  for (int64_t i = piece * PIECE; i < end; ++i) s->to[i] = s->from[i] * s->from[i];
  ++happened[tasks];
}

CCW_HANDLER(square_by_threads, ARG(f32, any, x), RET(f32, any, y), CTX(threads, t))
{
  CCW_TRY(ccw_verify("y", y, ccw_like(x)));
  squares s = {x.data, y.data, ccw_elements(x)};
  ccw_threads_for(t, (s.count + PIECE - 1) / PIECE, square_piece, &s);
  return ccw_ok();
}

CCW_HANDLER(thread_count, RET(s64, 0, y), CTX(threads, t))
{
  *y.data = ccw_threads_count(t);
  return ccw_ok();
}

/* ---- futures --------------------------------------------------------------------------------------------------------- */

/* Who completes the future, and when. */
CCW_ENUM(when, s32, VALUE(before_return, 0), VALUE(in_pool, 1), VALUE(in_thread, 2), VALUE(with_error, 3),
    VALUE(with_error_at_once, 4), VALUE(failed_after, 5));

typedef struct halves {
  const float *from;
  float *to;
  int64_t count;
  bool fails;
  ccw_future future;
} halves;

static void halves_finish(void *data)
{
  halves *h = data;
  for (int64_t i = 0; i < h->count; ++i) h->to[i] = h->from[i] / 2;
  ccw_status outcome = h->fails ? ccw_internal("the future has failed") : ccw_ok();
  ccw_status_free(ccw_future_complete(h->future, outcome));
  free(h);
}

static void *halves_finish_late(void *data)
{
  nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL); /* long after the handler has returned */
  halves_finish(data);
  return NULL;
}

static ccw_status halves_start(halves work, when how, ccw_threads threads)
{
  halves *h = malloc(sizeof *h);
  if (!h) return ccw_resource_exhausted("no memory for the work");
  *h = work;
  h->fails = how == when_with_error || how == when_with_error_at_once;
  if (how == when_before_return || how == when_with_error_at_once) {
    halves_finish(h);
    return ccw_ok();
  }
  if (how == when_in_pool) {
    ccw_threads_run(threads, halves_finish, h);
    return ccw_ok();
  }
  pthread_t thread;
  if (how == when_failed_after || pthread_create(&thread, NULL, halves_finish_late, h) != 0) {
    free(h);
    return ccw_aborted("failed after the future was made");
  }
  pthread_detach(thread);
  return ccw_ok();
}

CCW_HANDLER(halve_later, ARG(f32, any, x), RET(f32, any, y), ATTR(enum(when), how), CTX(threads, t), CTX(frame, f))
{
  CCW_TRY(ccw_verify("y", y, ccw_like(x)));
  halves work = {.from = x.data, .to = y.data, .count = ccw_elements(x)};
  CCW_TRY(ccw_future_create(f, &work.future));
  return halves_start(work, how, t);
}

/* ---- the other contexts ---------------------------------------------------------------------------------------------- */

/* The run and the device. */
CCW_HANDLER(where, RET(s64, 1, y), CTX(run_id, run), CTX(device_ordinal, ordinal))
{
  CCW_TRY(ccw_verify("y", y, ccw_dims(2)));
  y.data[0] = run;
  y.data[1] = ordinal;
  return ccw_ok();
}

typedef struct guest {
  int64_t age;
} guest;

CCW_USER_DATA(guest);

CCW_HANDLER(age, RET(s64, 0, y), CTX(user_data(guest), g))
{
  *y.data = g->age;
  return ccw_ok();
}

CCW_HANDLER(options, RET(s64, 0, y), CTX(custom_options, d))
{
  *y.data = d.attrs->size;
  return ccw_ok();
}

typedef struct visitor {
  XLA_FFI_Extension head;
} visitor;

CCW_EXTENSION(visitor, 1234567, 0, 1);

CCW_HANDLER(visited, RET(s64, 0, y), CTX(extension(visitor), e))
{
  *y.data = e->head.id.minor_version;
  return ccw_ok();
}

CCW_HANDLER(streamed, RET(s64, 0, y), CTX(stream, s))
{
  *y.data = s != NULL;
  return ccw_ok();
}

/* The code of the refusal, or 0. */
CCW_HANDLER(scratched, RET(s64, 0, y), CTX(scratch, s))
{
  void *data;
  ccw_status status = ccw_scratch_take(s, 64, 16, &data);
  *y.data = status.code;
  ccw_status_free(status);
  return ccw_ok();
}

/* Fails with the refusal. */
CCW_HANDLER(scratched_or_failed, RET(s64, 0, y), CTX(scratch, s))
{
  void *data;
  CCW_TRY(ccw_scratch_take(s, 64, 16, &data));
  *y.data = 0;
  return ccw_ok();
}

/* runtime.c: handlers that use what stands behind the frame, step by step as a spec says. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <ccw/handler.h>

/* ---- stages: what ran, in the order in which it did ------------------------------------------------------------------ */

static char steps[256];

static void step(const char *name)
{
  if (strlen(steps) + strlen(name) + 2 > sizeof steps) return;
  if (*steps) strcat(steps, " ");
  strcat(steps, name);
}

/* Fails with the steps so far, and forgets them. */
CCW_HANDLER(tell_steps)
{
  ccw_status status = ccw_aborted("%s", steps);
  *steps = '\0';
  return status;
}

typedef struct mark {
  int64_t value;
} mark;

static _Atomic int64_t made, deleted;

static void mark_delete(mark *m)
{
  ++deleted;
  step("delete");
  free(m);
}

CCW_STATE(mark, mark_delete);

static ccw_status new_mark(int64_t value, mark **out_mark)
{
  *out_mark = malloc(sizeof **out_mark);
  if (!*out_mark) return ccw_resource_exhausted("no memory for a mark");
  (*out_mark)->value = value;
  ++made;
  return ccw_ok();
}

/* -> s64[2]: marks made and deleted. */
CCW_HANDLER(count_marks, RET(s64, 1, y))
{
  CCW_TRY(ccw_verify("y", y, ccw_dims(2)));
  y.data[0] = made;
  y.data[1] = deleted;
  return ccw_ok();
}

/* `fails` names the stage that fails. */
static ccw_status reach(const char *stage, ccw_string fails)
{
  step(stage);
  bool is_it = (size_t)fails.size == strlen(stage) && memcmp(fails.data, stage, strlen(stage)) == 0;
  return is_it ? ccw_out_of_range("asked to fail") : ccw_ok();
}

CCW_STAGE_HANDLER(instantiate, marks_instantiate, ATTR(string, fails), NEW_STATE(mark, m))
{
  CCW_TRY(new_mark(1, m));
  return reach("instantiate", fails);
}

CCW_STAGE_HANDLER(prepare, marks_prepare, ATTR(string, fails), CTX(state(mark), s), NEW_STATE(mark, m))
{
  CCW_TRY(new_mark(10 * s->value, m));
  return reach("prepare", fails);
}

CCW_STAGE_HANDLER(
    initialize, marks_initialize, ATTR(string, fails), CTX(state(mark), s), CTX(prepared(mark), p), NEW_STATE(mark, m))
{
  CCW_TRY(new_mark(s->value + 10 * p->value, m));
  return reach("initialize", fails);
}

/* The sum of the three states. */
CCW_HANDLER(
    marks, RET(s64, 0, y), ATTR(string, fails), CTX(state(mark), s), CTX(prepared(mark), p), CTX(initialized(mark), i))
{
  *y.data = s->value + p->value + i->value;
  return reach("execute", fails);
}

/* The same of instantiation alone: it counts on. */
CCW_HANDLER(mark_alone, RET(s64, 0, y), ATTR(string, fails), CTX(state(mark), s))
{
  *y.data = s->value++;
  return reach("execute", fails);
}

/* What a stage gets besides: operands, results, and whether they have data. */
static XLA_FFI_Error *tell_frame(XLA_FFI_CallFrame *frame, const char *stage)
{
  char text[64];
  const XLA_FFI_Buffer *first = frame->args.size > 0 ? frame->args.args[0] : NULL;
  snprintf(text, sizeof text, "%s(%d,%d%s)", stage, (int)frame->args.size, (int)frame->rets.size,
      first ? first->data ? ",data" : ",none" : "");
  step(text);
  return NULL;
}

CCW_STAGE_HANDLER(instantiate, frames_instantiate, CTX(frame, f)) { return tell_frame(f, "instantiate"), ccw_ok(); }
CCW_STAGE_HANDLER(prepare, frames_prepare, CTX(frame, f)) { return tell_frame(f, "prepare"), ccw_ok(); }
CCW_STAGE_HANDLER(initialize, frames_initialize, CTX(frame, f)) { return tell_frame(f, "initialize"), ccw_ok(); }
CCW_HANDLER(frames, CTX(frame, f)) { return tell_frame(f, "execute"), ccw_ok(); }

/* ---- futures that are completed when a spec says so ------------------------------------------------------------------ */

enum { SLOTS = 8 };

static struct {
  ccw_future future;
  float *to;
  const float *from;
  int64_t count;
} waiting[SLOTS];

/* y = 2 x, when finish(slot) is called. */
CCW_HANDLER(later, ARG(f32, any, x), RET(f32, any, y), ATTR(s64, slot), CTX(frame, f))
{
  CCW_TRY(ccw_verify("y", y, ccw_like(x)));
  if (slot < 0 || slot >= SLOTS) return ccw_invalid("slot: expected 0 to %d", SLOTS - 1);
  waiting[slot].from = x.data;
  waiting[slot].to = y.data;
  waiting[slot].count = ccw_elements(x);
  return ccw_future_create(f, &waiting[slot].future);
}

typedef struct finishing {
  int64_t slot, code;
} finishing;

static ccw_status finish_slot(finishing f)
{
  for (int64_t i = 0; i < waiting[f.slot].count && !f.code; ++i) waiting[f.slot].to[i] = 2 * waiting[f.slot].from[i];
  ccw_status outcome = f.code ? ccw_status_make((XLA_FFI_Error_Code)f.code, "finished with %d", (int)f.code) : ccw_ok();
  return ccw_future_complete(waiting[f.slot].future, outcome);
}

CCW_HANDLER(finish, ATTR(s64, slot), ATTR(s64, code)) { return finish_slot((finishing){slot, code}); }

static void finish_task(void *data)
{
  ccw_status_free(finish_slot(*(finishing *)data));
  free(data);
}

CCW_HANDLER(finish_in_pool, ATTR(s64, slot), ATTR(s64, code), CTX(threads, t))
{
  finishing *f = malloc(sizeof *f);
  if (!f) return ccw_resource_exhausted("no memory");
  *f = (finishing){slot, code};
  ccw_threads_run(t, finish_task, f);
  return ccw_ok();
}

/* Leaves what is no future. */
CCW_HANDLER(strange_future, CTX(frame, f))
{
  static char none;
  f->future = (XLA_FFI_Future *)(void *)&none;
  return ccw_ok();
}

/* Makes two, and leaves one of them. */
CCW_HANDLER(two_futures, CTX(frame, f))
{
  ccw_future one, other;
  CCW_TRY(ccw_future_create(f, &one));
  CCW_TRY(ccw_future_complete(one, ccw_ok()));
  CCW_TRY(ccw_future_create(f, &other));
  return ccw_future_complete(other, ccw_ok());
}

/* An error together with a future, which is forbidden. */
XLA_FFI_Error *error_and_future(XLA_FFI_CallFrame *frame);
CCW_EXPORT XLA_FFI_Error *error_and_future(XLA_FFI_CallFrame *frame)
{
  if (frame->extension_start) {
    ((XLA_FFI_Metadata_Extension *)(void *)frame->extension_start)->metadata->api_version.minor_version = 1;
    return NULL;
  }
  ccw_future future;
  ccw_status_free(ccw_future_create(frame, &future));
  return ccw_send_(frame->api, ccw_aborted("an error beside a future"));
}

/* ---- threads --------------------------------------------------------------------------------------------------------- */

typedef struct chain {
  _Atomic int64_t left;
  ccw_threads threads;
  ccw_future future;
} chain;

/* Each task schedules the next, also on a pool of one thread; the last one completes the future. */
static void chain_task(void *data)
{
  chain *c = data;
  if (--c->left > 0) {
    ccw_threads_run(c->threads, chain_task, c);
    return;
  }
  ccw_status_free(ccw_future_complete(c->future, ccw_ok()));
  free(c);
}

CCW_HANDLER(tasks_from_tasks, ATTR(s64, count), CTX(threads, t), CTX(frame, f))
{
  chain *c = malloc(sizeof *c);
  if (!c) return ccw_resource_exhausted("no memory");
  atomic_init(&c->left, count);
  c->threads = t;
  ccw_status status = ccw_future_create(f, &c->future);
  if (status.code) {
    free(c);
    return status;
  }
  ccw_threads_run(t, chain_task, c);
  return ccw_ok();
}

CCW_HANDLER(thread_count, RET(s64, 0, y), CTX(threads, t))
{
  *y.data = ccw_threads_count(t);
  return ccw_ok();
}

/* Calls of another handler in tasks, for which this one waits. */
typedef struct relay {
  XLA_FFI_Handler *handler;
  const XLA_FFI_CallFrame *frame;
  pthread_mutex_t lock;
  pthread_cond_t done;
  int64_t left;
  XLA_FFI_Error *error; /* the first */
} relay;

static void relay_task(void *data)
{
  relay *r = data;
  XLA_FFI_CallFrame frame = *r->frame;
  frame.attrs.size = 0;
  XLA_FFI_Error *error = r->handler(&frame);
  pthread_mutex_lock(&r->lock);
  if (!r->error) r->error = error;
  if (--r->left == 0) pthread_cond_signal(&r->done);
  pthread_mutex_unlock(&r->lock);
}

/* The handler at that address is called `times` times, in a task each, with the same operands and without attributes. */
CCW_HANDLER(relay_in_pool, REMAINING_ARGS(args), REMAINING_RETS(rets), ATTR(s64, handler), ATTR(s64, times),
    CTX(threads, t), CTX(frame, f))
{
  relay r = {.handler = (XLA_FFI_Handler *)(uintptr_t)handler, .frame = f, .left = times};
  pthread_mutex_init(&r.lock, NULL);
  pthread_cond_init(&r.done, NULL);
  for (int64_t i = 0; i < times; ++i) ccw_threads_run(t, relay_task, &r);
  pthread_mutex_lock(&r.lock);
  while (r.left > 0) pthread_cond_wait(&r.done, &r.lock);
  pthread_mutex_unlock(&r.lock);
  pthread_mutex_destroy(&r.lock);
  pthread_cond_destroy(&r.done);
  return r.error ? ccw_receive_(f->api, r.error) : ccw_ok();
}

/* ---- scratch memory -------------------------------------------------------------------------------------------------- */

/* Takes that much twice, writes it, and leaves it to the runtime to give it back. */
CCW_HANDLER(take_scratch, RET(s64, 0, y), ATTR(s64, size), ATTR(s64, alignment), CTX(scratch, s))
{
  void *one, *other;
  CCW_TRY(ccw_scratch_take(s, (size_t)size, (size_t)alignment, &one));
  CCW_TRY(ccw_scratch_take(s, (size_t)size, (size_t)alignment, &other));
  memset(one, 1, (size_t)size);
  memset(other, 2, (size_t)size);
  *y.data = one != other && (size_t)one % (size_t)alignment == 0;
  return ccw_ok();
}

/* Gives back what it has not taken, and what it has with another size. */
CCW_HANDLER(wrong_scratch, ATTR(s64, how), CTX(frame, f))
{
  XLA_FFI_DeviceMemory_Allocate_Args taken = {
      XLA_FFI_DeviceMemory_Allocate_Args_STRUCT_SIZE, NULL, f->ctx, 100, 16, NULL};
  CCW_TRY(CCW_CALL_(f->api, XLA_FFI_DeviceMemory_Allocate, &taken));
  XLA_FFI_DeviceMemory_Free_Args given = {XLA_FFI_DeviceMemory_Free_Args_STRUCT_SIZE, NULL, f->ctx, 100, taken.data};
  if (how == 0) given.data = &given;
  if (how == 1) given.size = 99;
  CCW_TRY(CCW_CALL_(f->api, XLA_FFI_DeviceMemory_Free, &given));
  return CCW_CALL_(f->api, XLA_FFI_DeviceMemory_Free, &given);
}

/* ---- user data and options ------------------------------------------------------------------------------------------- */

typedef struct settings {
  int32_t width;
  double scale;
} settings;

CCW_USER_DATA(settings);

CCW_HANDLER(read_settings, RET(f64, 1, y), CTX(user_data(settings), s))
{
  CCW_TRY(ccw_verify("y", y, ccw_dims(2)));
  y.data[0] = s->width;
  y.data[1] = s->scale;
  ++s->width;
  return ccw_ok();
}

CCW_HANDLER(read_options, RET(f64, 1, y), CTX(custom_options, d))
{
  CCW_TRY_LET(float, eps, ccw_attr, d, "eps", f32);
  CCW_TRY_LET(int64_t, n, ccw_attr, d, "n", s64);
  CCW_TRY(ccw_verify("y", y, ccw_dims(2)));
  y.data[0] = eps;
  y.data[1] = (double)n;
  return ccw_ok();
}

/* ---- what a checked call finds --------------------------------------------------------------------------------------- */

/* Sums in blocks of `block`, the last of which may reach past the end. */
CCW_HANDLER(sum_blocks, ARG(f32, 1, x), RET(f32, 0, y), ATTR(s64, block))
{
  float sum = 0;
  for (int64_t i = 0; i < x.dims[0]; i += block)
    for (int64_t j = i; j < i + block; ++j) sum += ((const volatile float *)x.data)[j];
  *y.data = sum;
  return ccw_ok();
}

CCW_HANDLER(write_past, RET(f32, 1, y), ATTR(s64, by))
{
  for (int64_t i = 0; i < y.dims[0] + by; ++i) ((volatile float *)y.data)[i] = (float)i;
  return ccw_ok();
}

CCW_HANDLER(write_operand, ARG(s32, 1, x), RET(s32, 1, y))
{
  for (int64_t i = 0; i < y.dims[0]; ++i) y.data[i] = x.data[i];
  ((volatile int32_t *)(uintptr_t)x.data)[2] = 7;
  return ccw_ok();
}

CCW_HANDLER(write_some, RET(u8, 1, y), ATTR(s64, count))
{
  for (int64_t i = 0; i < count; ++i) y.data[i] = (uint8_t)i;
  return ccw_ok();
}

/* Reads an index too many, and uses it. */
CCW_HANDLER(gather_past, ARG(s32, 1, at), ARG(f32, 1, x), RET(f32, 0, y))
{
  volatile float sum = 0;
  for (int64_t i = 0; i <= at.dims[0]; ++i) sum += x.data[((const volatile int32_t *)at.data)[i]];
  *y.data = sum;
  return ccw_ok();
}

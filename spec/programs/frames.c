/* Handlers of handler.h against frames made by hand, good and bad: what each of them answers, a line each.
 *
 * Compiled as C11 and as C++17. A host of a few lines stands in for the runtime, of whatever version is asked for.
 */
#include <stdlib.h>

static int allocations;

static void *count_and_allocate(size_t size)
{
  ++allocations;
  return malloc(size);
}

#define CCW_STATUS_ALLOCATE(size) count_and_allocate(size)
#define CCW_STATUS_RELEASE(memory, size) free(memory)
#include <ccw/handler.h>

/* ---- a host --------------------------------------------------------------------------------------------------------- */

struct XLA_FFI_Error {
  XLA_FFI_Error_Code code;
  char text[1];
};

static XLA_FFI_Error *new_error(XLA_FFI_Error_Code code, const char *text)
{
  XLA_FFI_Error *error = (XLA_FFI_Error *)malloc(sizeof *error + strlen(text));
  error->code = code;
  memcpy(error->text, text, strlen(text) + 1);
  return error;
}

static XLA_FFI_Error *error_create(XLA_FFI_Error_Create_Args *args) { return new_error(args->errc, args->message); }

static void error_get_details(XLA_FFI_Error_GetDetails_Args *args)
{
  args->message = args->error->text;
  if (args->struct_size >= XLA_FFI_Error_GetDetails_Args_STRUCT_SIZE) args->errc = args->error->code;
}

static void error_destroy(XLA_FFI_Error_Destroy_Args *args) { free(args->error); }

static XLA_FFI_Error *stream_get(XLA_FFI_Stream_Get_Args *args)
{
  (void)args;
  return new_error(XLA_FFI_Error_Code_UNAVAILABLE, "no stream on this host");
}

static XLA_FFI_Error *run_id_get(XLA_FFI_RunId_Get_Args *args)
{
  args->run_id = 42;
  return NULL;
}

static int64_t live_scratch;

static XLA_FFI_Error *scratch_allocate(XLA_FFI_DeviceMemory_Allocate_Args *args)
{
  args->data = malloc(args->size);
  ++live_scratch;
  return NULL;
}

static XLA_FFI_Error *scratch_free(XLA_FFI_DeviceMemory_Free_Args *args)
{
  free(args->data);
  --live_scratch;
  return NULL;
}

static void *state;

static XLA_FFI_Error *state_set(XLA_FFI_State_Set_Args *args)
{
  if (args->struct_size == 40)
    memcpy(&state, (char *)args + 32, sizeof state); /* before 0.3 */
  else
    state = args->state;
  return NULL;
}

static XLA_FFI_Error *state_get(XLA_FFI_State_Get_Args *args)
{
  if (!state) return new_error(XLA_FFI_Error_Code_NOT_FOUND, "there is no state");
  if (args->struct_size == 40)
    memcpy((char *)args + 32, &state, sizeof state);
  else
    args->state = state;
  return NULL;
}

static XLA_FFI_Future *future_made = (XLA_FFI_Future *)&live_scratch;
static XLA_FFI_Error *future_error;
static int future_done;

static XLA_FFI_Error *future_create(XLA_FFI_Future_Create_Args *args)
{
  args->future = future_made;
  return NULL;
}

static XLA_FFI_Error *future_set_available(XLA_FFI_Future_SetAvailable_Args *args)
{
  future_done += args->future == future_made;
  return NULL;
}

static XLA_FFI_Error *future_set_error(XLA_FFI_Future_SetError_Args *args)
{
  future_error = args->error;
  return NULL;
}

static void add_one(void *data) { ++*(int *)data; }

static int streamed = 11, used = 12;

static XLA_FFI_Error *give_stream(XLA_FFI_Stream_Get_Args *args)
{
  args->stream = &streamed;
  return NULL;
}

static XLA_FFI_Error *give_user_data(XLA_FFI_InvokeContext_Get_Args *args)
{
  args->data = &used;
  return NULL;
}

static XLA_FFI_Error *give_ordinal(XLA_FFI_DeviceOrdinal_Get_Args *args)
{
  args->device_ordinal = 3;
  return NULL;
}

static XLA_FFI_Error *count_threads(XLA_FFI_ThreadPool_NumThreads_Args *args)
{
  *args->num_threads = 5;
  return NULL;
}

static int tasks_taken;

static XLA_FFI_Error *run_at_once(XLA_FFI_ThreadPool_Schedule_Args *args)
{
  ++tasks_taken;
  args->task(args->data);
  return NULL;
}

static XLA_FFI_Extension recording = {sizeof recording, {128, 0, 1}, NULL};

static XLA_FFI_Error *find_extension(XLA_FFI_InvokeContext_FindExtension_Args *args)
{
  args->extension = args->extension_type == recording.id.extension_type ? &recording : NULL;
  return NULL;
}

static const XLA_FFI_Attrs *custom;

static XLA_FFI_Error *give_options(XLA_FFI_CustomOptions_Get_Args *args)
{
  args->attrs = custom;
  return NULL;
}

static XLA_FFI_Api api;

/* The table of a runtime of 0.`minor`, with as many slots as it had. */
static void host(int minor)
{
  static const size_t sizes[] = {0, 184, 184, 192, 200, 208};
  memset(&api, 0, sizeof api);
  api.struct_size = sizes[minor];
  api.api_version.minor_version = minor;
  api.XLA_FFI_Error_Create = error_create;
  api.XLA_FFI_Error_GetDetails = error_get_details;
  api.XLA_FFI_Error_Destroy = error_destroy;
  api.XLA_FFI_Stream_Get = stream_get;
  api.XLA_FFI_State_Set = state_set;
  api.XLA_FFI_State_Get = state_get;
  api.XLA_FFI_DeviceMemory_Allocate = scratch_allocate;
  api.XLA_FFI_DeviceMemory_Free = scratch_free;
  api.XLA_FFI_Future_Create = future_create;
  api.XLA_FFI_Future_SetAvailable = future_set_available;
  api.XLA_FFI_Future_SetError = future_set_error;
  api.XLA_FFI_RunId_Get = run_id_get;
}

/* ---- frames --------------------------------------------------------------------------------------------------------- */

enum { MOST = 40 };

/* A frame with room to be changed: three f32 matrices as arguments, one as result, no attributes. */
typedef struct frame {
  XLA_FFI_CallFrame f;
  float data[MOST];
  int64_t dims[MOST];
  XLA_FFI_Buffer args[MOST], rets[MOST];
  void *arg_pointers[MOST], *ret_pointers[MOST];
  XLA_FFI_ArgType arg_types[MOST];
  XLA_FFI_RetType ret_types[MOST];
  XLA_FFI_AttrType attr_types[MOST];
  XLA_FFI_ByteSpan names[MOST], *name_pointers[MOST];
  void *values[MOST];
} frame;

static XLA_FFI_Buffer f32_of(frame *f, int64_t rank)
{
  XLA_FFI_Buffer buffer = {XLA_FFI_Buffer_STRUCT_SIZE, NULL, XLA_FFI_DataType_F32, f->data, rank, f->dims};
  return buffer;
}

static frame *fresh(int64_t args, int64_t rets)
{
  static frame f;
  memset(&f, 0, sizeof f);
  for (int i = 0; i < MOST; ++i) {
    f.dims[i] = 2;
    f.args[i] = f.rets[i] = f32_of(&f, 2);
    f.arg_pointers[i] = &f.args[i];
    f.ret_pointers[i] = &f.rets[i];
    f.arg_types[i] = XLA_FFI_ArgType_BUFFER;
    f.ret_types[i] = XLA_FFI_RetType_BUFFER;
    f.name_pointers[i] = &f.names[i];
  }
  f.f.struct_size = XLA_FFI_CallFrame_STRUCT_SIZE;
  f.f.api = &api;
  f.f.stage = XLA_FFI_ExecutionStage_EXECUTE;
  f.f.args.size = args, f.f.args.types = f.arg_types, f.f.args.args = f.arg_pointers;
  f.f.rets.size = rets, f.f.rets.types = f.ret_types, f.f.rets.rets = f.ret_pointers;
  f.f.attrs.types = f.attr_types, f.f.attrs.names = f.name_pointers, f.f.attrs.attrs = f.values;
  return &f;
}

/* Adds an attribute at the end; the caller keeps the order. */
static void add(frame *f, const char *name, int type, void *value)
{
  int64_t i = f->f.attrs.size++;
  f->names[i].ptr = name, f->names[i].len = strlen(name);
  memcpy(&f->attr_types[i], &type, sizeof type);
  f->values[i] = value;
}

/* One line: what the handler answers. */
static void say(const char *what, XLA_FFI_Handler *handler, XLA_FFI_CallFrame *f)
{
  XLA_FFI_Error *error = handler(f);
  if (error)
    printf("%s: %s %s\n", what, ccw_code_name(error->code), error->text);
  else
    printf("%s: OK\n", what);
  free(error);
}

/* ---- handlers ------------------------------------------------------------------------------------------------------- */

CCW_HANDLER(three, ARG(f32, 2, x), ARG(any, any, y), ARG(f32, any, z), RET(any, 2, r)) { return ccw_ok(); }
CCW_HANDLER(some, ARG(f32, 2, x), OPTIONAL_ARG(f32, 2, y), OPTIONAL_RET(any, any, r))
{
  return ccw_aborted("y %d, r %d", ccw_given(y), ccw_given(r));
}
CCW_HANDLER(more, ARG(f32, 2, x), REMAINING_ARGS(rest), REMAINING_RETS(rets), ATTRS(dictionary, d))
{
  CCW_TRY_LET(ccw_arg_f32, a, ccw_arg_at, rest, 0, f32, 2);
  CCW_TRY_LET(ccw_arg_any, b, ccw_arg_at, rest, 1, any, any);
  CCW_TRY_LET(ccw_ret_f32, r, ccw_ret_at, rets, 0, f32, 1);
  return ccw_aborted("%d %d %d", a.rank == 2, b.rank == 2, r.rank == 1);
}
CCW_HANDLER(none) { return ccw_ok(); }
CCW_HANDLER(quiet, ARG(f32, 2, x)) { return ccw_ok(); }

CCW_ENUM(mode, s32, VALUE(nearest, 0), VALUE(linear, 1));
CCW_OPEN_ENUM(level, u8, VALUE(low, 1));
CCW_STRUCT(range, MEMBER(s64, lo), MEMBER(s64, hi));
CCW_STRUCT(window, MEMBER(struct(range), rows), MEMBER(string, name));
CCW_HANDLER(attrs, ATTR(f32, eps), ATTR(s64, n), ATTR(string, mode_name))
{
  return ccw_aborted("%g %d", (double)eps, (int)n);
}
CCW_HANDLER(enums, ATTR(enum(mode), m), ATTR(enum(level), l)) { return ccw_aborted("%d %d", m == mode_linear, l); }
CCW_HANDLER(structs, ATTR(struct(window), w), ATTR(s64, z))
{
  return ccw_aborted("%d %d %d %d", (int)w.rows.lo, (int)w.rows.hi, (int)w.name.size, (int)z);
}
CCW_HANDLER(whole, ATTRS(struct(range), r)) { return ccw_aborted("%d %d", (int)r.lo, (int)r.hi); }
CCW_HANDLER(late, ATTRS(dictionary, d))
{
  CCW_TRY_LET(range, r, ccw_attr, d, "r", struct(range));
  CCW_TRY_LET(int64_t, n, ccw_attr, d, "n", s64);
  return ccw_aborted(
      "%d %d %d %d %d", (int)r.lo, (int)n, ccw_has_attr(d, "n"), ccw_is_attr(d, "n", f32), (int)ccw_attr_count(d));
}
CCW_HANDLER(decodes, ARG(f32, any, x), REMAINING_ARGS(rest), ATTRS(struct(range), r), CTX(run_id, id))
{
  int64_t rows, cols;
  CCW_TRY(ccw_verify("x", x, ccw_dims(&rows, &cols)));
  CCW_TRY_LET(ccw_arg_f32, y, ccw_arg_at, rest, 1, f32, 2);
  CCW_TRY_LET(ccw_arg_f32, z, ccw_match_arg, f32, "y", y, ccw_with_dims(ccw_of(f32), rows, cols));
  return z.data ? ccw_ok() : ccw_internal("no data");
}
CCW_HANDLER(twice, ATTR(s64, a, "x"), ATTR(s64, b, "x")) { return ccw_aborted("%d", (int)(a + b)); }

typedef struct even {
  int64_t half;
} even;
static ccw_status read_even(ccw_attribute attribute, even *out)
{
  CCW_TRY_LET(int64_t, n, ccw_as, attribute, s64);
  if (n % 2) return ccw_out_of_range("expected an even number, got %d", (int)n);
  out->half = n / 2;
  return ccw_ok();
}
CCW_ATTR_TYPE(even, read_even);
typedef struct vector {
  const float *data;
} vector;
static ccw_status read_vector(ccw_arg_any x, vector *out)
{
  CCW_TRY_LET(ccw_arg_f32, v, ccw_match_arg, f32, "vector", x, ccw_of(f32, 1));
  out->data = v.data;
  return ccw_ok();
}
CCW_ARG_TYPE(vector, read_vector);
typedef struct minor {
  int of;
} minor;
static ccw_status read_minor(const XLA_FFI_CallFrame *f, minor *out)
{
  if (!f->api) return ccw_failed_precondition("there is no api");
  out->of = f->api->api_version.minor_version;
  return ccw_ok();
}
CCW_CTX_TYPE(minor, read_minor);
CCW_HANDLER(own, ATTR(type(even), e), ARG_AS(vector, v), CTX(type(minor), m))
{
  return ccw_aborted("%d %d", (int)e.half, m.of);
}

typedef struct counter {
  int n;
} counter;
static void counter_free(counter *c) { free(c); }
CCW_STATE(counter, counter_free);
typedef struct settings {
  int n;
} settings;
CCW_USER_DATA(settings);
typedef struct recorder {
  XLA_FFI_Extension base;
} recorder;
CCW_EXTENSION(recorder, 128, 0, 1);

CCW_STAGE_HANDLER(instantiate, make, NEW_STATE(counter, c), ATTR(s64, n))
{
  if (n == 0) return ccw_ok();
  *c = (counter *)calloc(1, sizeof **c);
  (*c)->n = (int)n;
  return n < 0 ? ccw_aborted("after it was made") : ccw_ok();
}
CCW_STAGE_HANDLER(prepare, make_prepared, NEW_STATE(counter, c)) { return ccw_aborted("%d", *c == NULL); }
CCW_HANDLER(count, CTX(state(counter), c)) { return ccw_aborted("state %d", c->n); }
CCW_HANDLER(count_prepared, CTX(prepared(counter), c)) { return ccw_ok(); }
CCW_HANDLER(streams, ARG(f32, 2, x), CTX(stream, s), CTX(run_id, id)) { return ccw_ok(); }
CCW_HANDLER(ids, CTX(run_id, id)) { return ccw_aborted("%d", (int)id); }
CCW_HANDLER(extends, CTX(extension(recorder), e)) { return ccw_ok(); }
CCW_HANDLER(options, CTX(custom_options, o)) { return ccw_ok(); }
CCW_HANDLER(data, CTX(user_data(settings), s)) { return ccw_ok(); }
CCW_STAGE_HANDLER(record, records) { return ccw_ok(); }
CCW_HANDLER(trait, TRAIT(command_buffer_compatible)) { return ccw_ok(); }
CCW_HANDLER(scratches, CTX(scratch, s), ATTR(s64, n))
{
  for (int64_t i = 0; i < n; ++i) {
    CCW_TRY_LET(void *, p, ccw_scratch_take, s, 10, 64);
    memset(p, 1, 10);
  }
  return ccw_aborted("live %d", (int)live_scratch);
}
CCW_HANDLER(promises, CTX(frame, f), ATTR(s64, n))
{
  CCW_TRY_LET(ccw_future, future, ccw_future_create, f);
  if (n) return ccw_aborted("too late");
  return ccw_future_complete(future, ccw_ok());
}

/* Of every dtype that an attribute may have: scalars, then arrays. */
CCW_HANDLER(scalars, ATTR(pred, a), ATTR(s8, b), ATTR(s16, c), ATTR(s32, d), ATTR(s64, e), ATTR(u8, f), ATTR(u16, g),
    ATTR(u32, h), ATTR(u64, i), ATTR(f32, j), ATTR(f64, k), ATTR(c64, l), ATTR(c128, m), ATTR(pointer(int), n))
{
  return ccw_aborted("%d %d %d %d %d %d %d %d %d %g %g %g %g %g %g %d", a, b, c, (int)d, (int)e, f, g, (int)h, (int)i,
      (double)j, k, (double)l.re, (double)l.im, m.re, m.im, n == (int *)16);
}
CCW_HANDLER(arrays, ATTR(array(s8), a), ATTR(array(s16), b), ATTR(array(s32), c), ATTR(array(s64), d),
    ATTR(array(u8), e), ATTR(array(u16), f), ATTR(array(u32), g), ATTR(array(u64), h), ATTR(array(f32), i),
    ATTR(array(f64), j))
{
  return ccw_aborted("%d %d %d %d %d %d %d %d %g %g of %d", a.data[1], b.data[1], (int)c.data[1], (int)d.data[1],
      e.data[1], f.data[1], (int)g.data[1], (int)h.data[1], (double)i.data[1], j.data[1],
      (int)(a.size + b.size + c.size + d.size + e.size + f.size + g.size + h.size + i.size + j.size));
}
typedef struct target {
  float *data;
} target;
static ccw_status read_target(ccw_ret_any y, target *out)
{
  CCW_TRY_LET(ccw_ret_f32, v, ccw_match_ret, f32, "target", y, ccw_of(f32, 2));
  out->data = v.data;
  return ccw_ok();
}
CCW_RET_TYPE(target, read_target);
CCW_HANDLER(writes, RET_AS(target, t)) { return ccw_aborted("%d", t.data != NULL); }
CCW_HANDLER(offered, CTX(stream_as(int *), s), CTX(user_data(settings), u), CTX(extension(recorder), e),
    CTX(custom_options, o), CTX(initialized(counter), c), CTX(threads, t), CTX(device_ordinal, d))
{
  int ran = 0;
  CCW_TRY_LET(int64_t, n, ccw_attr, o, "n", s64);
  ccw_threads_run(t, add_one, &ran);
  return ccw_aborted("%d %d %d %d %d, %d threads, %d run, %d taken, device %d", *s, u->n, (int)e->base.id.minor_version,
      (int)n, c->n, (int)ccw_threads_count(t), ran, tasks_taken, (int)d);
}

/* ---- what they answer ----------------------------------------------------------------------------------------------- */

static void operands(void)
{
  frame *f = fresh(3, 1);
  say("fits", three, &f->f);
  f->args[0].dtype = XLA_FFI_DataType_S32, f->args[1].rank = 1, f->rets[0].rank = 1,
  f->args[2].dtype = XLA_FFI_DataType_BF16;
  f->args[0].rank = 1;
  say("all bad ones", three, &f->f);
  f = fresh(3, 1), f->args[2].dtype = (XLA_FFI_DataType)99;
  say("no dtype", three, &f->f);
  f = fresh(2, 1);
  say("too few", three, &f->f);
  f = fresh(4, 2);
  say("too many", three, &f->f);
  f = fresh(-7, -7);
  say("below zero", three, &f->f);
  f = fresh(3, 1), f->arg_types[1] = (XLA_FFI_ArgType)77;
  say("kind", three, &f->f);
  f = fresh(3, 1), f->arg_pointers[1] = NULL;
  say("no buffer", three, &f->f);
  f = fresh(3, 1), f->args[1].dims = NULL, f->args[2].rank = -3;
  say("no dims", three, &f->f);
  f = fresh(3, 1), f->args[1].dims = NULL, f->args[1].rank = 0;
  say("rank 0 needs none", three, &f->f);
  f = fresh(3, 1), f->f.args.types = NULL;
  say("no types", three, &f->f);
  f = fresh(3, 1), f->f.rets.rets = NULL;
  say("no results", three, &f->f);
  f = fresh(3, 1), f->f.struct_size = 176;
  say("size", three, &f->f);
  f = fresh(3, 1), f->f.stage = XLA_FFI_ExecutionStage_PREPARE;
  say("stage", three, &f->f);
  f = fresh(3, 1), f->f.stage = (XLA_FFI_ExecutionStage)9;
  say("no stage", three, &f->f);
  f = fresh(7, 9);
  say("nothing bound, nothing checked", none, &f->f);
  f = fresh(1, 9);
  say("no result bound", quiet, &f->f);

  f = fresh(1, 0);
  say("none given", some, &f->f);
  f = fresh(2, 1);
  say("both given", some, &f->f);
  f = fresh(2, 1), f->args[1].rank = 3;
  say("given, and bad", some, &f->f);
  f = fresh(3, 1);
  say("one too many", some, &f->f);
  f = fresh(0, 0);
  say("required", some, &f->f);

  f = fresh(3, 1), f->rets[0].rank = 1;
  say("remaining", more, &f->f);
  f = fresh(2, 1);
  say("remaining: past the end", more, &f->f);
  f = fresh(3, 1), f->args[1].dtype = XLA_FFI_DataType_S4;
  say("remaining: another dtype", more, &f->f);
  f = fresh(3, 1), f->arg_types[1] = (XLA_FFI_ArgType)2;
  say("remaining: another kind", more, &f->f);
  f = fresh(3, 1);
  say("remaining: another rank", more, &f->f);
  f = fresh(0, 0);
  say("remaining: one at least", more, &f->f);
}

static void attributes(void)
{
  float eps = 0.5f;
  int64_t n = 7, odd = 3, zero = 0;
  int32_t m = 1;
  uint8_t l = 200;
  XLA_FFI_Scalar of_f32 = {XLA_FFI_DataType_F32, &eps}, of_s64 = {XLA_FFI_DataType_S64, &n};
  XLA_FFI_Scalar of_s32 = {XLA_FFI_DataType_S32, &m}, of_u8 = {XLA_FFI_DataType_U8, &l};
  XLA_FFI_Scalar of_odd = {XLA_FFI_DataType_S64, &odd}, of_zero = {XLA_FFI_DataType_S64, &zero};
  XLA_FFI_Scalar empty = {XLA_FFI_DataType_S64, NULL};
  XLA_FFI_ByteSpan text = {"text", 4};
  const XLA_FFI_AttrType SCALAR = XLA_FFI_AttrType_SCALAR, STRING = XLA_FFI_AttrType_STRING;
  const XLA_FFI_AttrType DICTIONARY = XLA_FFI_AttrType_DICTIONARY;

  frame *f = fresh(0, 0);
  add(f, "eps", SCALAR, &of_f32), add(f, "mode_name", STRING, &text), add(f, "n", SCALAR, &of_s64);
  say("attributes", attrs, &f->f);
  f->values[0] = &of_s64, f->values[1] = &of_s32, f->attr_types[1] = SCALAR;
  say("wrong types", attrs, &f->f);
  f = fresh(0, 0), add(f, "eps", SCALAR, &of_f32), add(f, "m", STRING, &text);
  say("missing", attrs, &f->f);
  f = fresh(0, 0);
  add(f, "esp", SCALAR, &of_f32), add(f, "mode_name", STRING, &text), add(f, "n", SCALAR, &of_s64);
  say("misspelt", attrs, &f->f);
  f = fresh(0, 0), add(f, "eps", SCALAR, &of_f32), add(f, "mode_name", STRING, &text);
  add(f, "n", SCALAR, &of_s64), add(f, "verbose", SCALAR, &of_s64);
  say("extra", attrs, &f->f);
  f = fresh(0, 0);
  say("none", attrs, &f->f);
  f = fresh(0, 0), add(f, "n", SCALAR, &of_s64), add(f, "eps", SCALAR, &of_f32), add(f, "mode_name", STRING, &text);
  say("order", attrs, &f->f);
  f = fresh(0, 0), add(f, "eps", SCALAR, &of_f32), add(f, "mode_name", STRING, NULL), add(f, "n", SCALAR, &empty);
  say("no values", attrs, &f->f);
  f = fresh(0, 0), add(f, "eps", 9, &of_f32), add(f, "mode_name", STRING, &text);
  add(f, "n", SCALAR, &of_s64), f->name_pointers[2] = NULL;
  say("no name", attrs, &f->f);
  f = fresh(0, 0), f->f.attrs.size = 3, f->f.attrs.names = NULL;
  say("no names", attrs, &f->f);
  f = fresh(0, 0), f->f.attrs.size = -1;
  say("below zero", attrs, &f->f);
  f = fresh(0, 0), add(f, "x", SCALAR, &of_s64);
  say("bound twice", twice, &f->f);

  f = fresh(0, 0), add(f, "l", SCALAR, &of_u8), add(f, "m", SCALAR, &of_s32);
  say("enums", enums, &f->f);
  m = 7;
  say("enums: not known", enums, &f->f);
  f->values[1] = &of_u8;
  say("enums: dtype", enums, &f->f);

  frame inner = *fresh(0, 0), outer = inner;
  for (int i = 0; i < MOST; ++i) inner.name_pointers[i] = &inner.names[i], outer.name_pointers[i] = &outer.names[i];
  inner.f.attrs.types = inner.attr_types, inner.f.attrs.names = inner.name_pointers, inner.f.attrs.attrs = inner.values;
  outer.f.attrs.types = outer.attr_types, outer.f.attrs.names = outer.name_pointers, outer.f.attrs.attrs = outer.values;
  add(&inner, "hi", SCALAR, &of_s64), add(&inner, "lo", SCALAR, &of_odd);
  add(&outer, "name", STRING, &text), add(&outer, "rows", DICTIONARY, &inner.f.attrs);
  f = fresh(0, 0), add(f, "w", DICTIONARY, &outer.f.attrs), add(f, "z", SCALAR, &of_s64);
  say("structs", structs, &f->f);
  inner.values[1] = &of_f32, outer.names[0].ptr = "nama";
  say("structs: nested", structs, &f->f);
  inner.f.attrs.types = NULL;
  say("structs: broken", structs, &f->f);
  inner.f.attrs.types = inner.attr_types, f->attr_types[0] = STRING, f->values[0] = &text;
  say("structs: none", structs, &f->f);
  say("whole", whole, &inner.f);
  inner.values[1] = &of_odd;
  say("whole: fits", whole, &inner.f);
  f = fresh(0, 0), add(f, "n", SCALAR, &of_s64), add(f, "r", DICTIONARY, &inner.f.attrs);
  say("late", late, &f->f);
  f->values[0] = &of_f32;
  say("late: type", late, &f->f);
  inner.f.attrs.size = 1;
  say("late: missing", late, &f->f);
  f = fresh(0, 0), f->f.attrs.size = 2, f->f.attrs.attrs = NULL;
  say("late: broken", late, &f->f);

  f = fresh(1, 0), f->args[0].rank = 1, add(f, "e", SCALAR, &of_zero);
  say("own types", own, &f->f);
  f->values[0] = &of_odd, f->args[0].rank = 2;
  say("own types: refused", own, &f->f);
  f->values[0] = &text, f->attr_types[0] = STRING;
  say("own types: kind", own, &f->f);
  n = -1;
  f = fresh(0, 0), add(f, "n", SCALAR, &of_s64), f->f.stage = XLA_FFI_ExecutionStage_INSTANTIATE;
  say("state: failed later", make, &f->f);
  n = 0;
  say("state: none made", make, &f->f);
  n = 5;
  say("state: no attribute", make_prepared, &f->f);
  f->f.stage = XLA_FFI_ExecutionStage_EXECUTE;
  say("state: not there", count, &f->f);
  f->f.stage = XLA_FFI_ExecutionStage_INSTANTIATE;
  say("state: made", make, &f->f);
  f->f.stage = XLA_FFI_ExecutionStage_EXECUTE;
  say("state: used", count, &f->f);
  host(2);
  say("state: used under 0.2", count, &f->f);
  say("state: prepared under 0.2", count_prepared, &f->f);
  free(state), state = NULL;
  f->f.stage = XLA_FFI_ExecutionStage_INSTANTIATE;
  say("state: made under 0.2", make, &f->f);
  printf("state of 0.2: %d\n", ((counter *)state)->n);
  host(1);
  say("state: 0.1", make, &f->f);
  host(5);
  free(state), state = NULL;
  f->f.stage = XLA_FFI_ExecutionStage_EXECUTE;
  n = 3;
  say("scratch", scratches, &f->f);
  n = 17;
  say("scratch: too many", scratches, &f->f);
  printf("scratch left: %d\n", (int)live_scratch);
  n = 0;
  say("future", promises, &f->f);
  n = 1, f->f.future = NULL;
  say("future: failed", promises, &f->f);
  printf("future: done %d, error %s\n", future_done, future_error ? future_error->text : "none");
  free(future_error);
}

static void contexts(void)
{
  frame *f = fresh(1, 0);
  f->args[0].rank = 1;
  say("context", streams, &f->f);
  say("run id", ids, &f->f);
  host(3);
  say("extension under 0.3", extends, &f->f);
  host(4);
  say("custom options under 0.4", options, &f->f);
  host(5);
  say("user data", data, &f->f);
  api.struct_size = 88; /* as tables of 0.1 said of themselves, which had the run id */
  api.api_version.minor_version = 1;
  say("run id under 0.1", ids, &f->f);
  f->f.api = NULL;
  XLA_FFI_Error *error = ids(&f->f);
  printf("no api: %s\n", error ? "an error" : "OK");
  host(5);
}

/* The scalars of a list, named a, b, c and so on. */
static void add_scalars(frame *f, XLA_FFI_Scalar *scalars, int count)
{
  static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n"};
  for (int i = 0; i < count; ++i) add(f, names[i], XLA_FFI_AttrType_SCALAR, &scalars[i]);
}

static void every_dtype(void)
{
  uint8_t a = 1, f8 = 200;
  int8_t b = -2;
  int16_t c = -3;
  int32_t d = -4;
  int64_t e = -5, pointer = 16;
  uint16_t g = 60000;
  uint32_t h = 7;
  uint64_t i = 8;
  float j = 0.5f, l[] = {1, -1};
  double k = 0.25, m[] = {2, -2};
  XLA_FFI_Scalar of_all[] = {{XLA_FFI_DataType_PRED, &a}, {XLA_FFI_DataType_S8, &b}, {XLA_FFI_DataType_S16, &c},
      {XLA_FFI_DataType_S32, &d}, {XLA_FFI_DataType_S64, &e}, {XLA_FFI_DataType_U8, &f8}, {XLA_FFI_DataType_U16, &g},
      {XLA_FFI_DataType_U32, &h}, {XLA_FFI_DataType_U64, &i}, {XLA_FFI_DataType_F32, &j}, {XLA_FFI_DataType_F64, &k},
      {XLA_FFI_DataType_C64, l}, {XLA_FFI_DataType_C128, m}, {XLA_FFI_DataType_S64, &pointer}};
  frame *f = fresh(0, 0);
  add_scalars(f, of_all, 14);
  say("scalars", scalars, &f->f);
  of_all[11].dtype = XLA_FFI_DataType_C128, of_all[13].dtype = XLA_FFI_DataType_U64,
  of_all[2].dtype = XLA_FFI_DataType_U16;
  say("scalars: bad ones", scalars, &f->f);

  XLA_FFI_DataType dtypes[] = {XLA_FFI_DataType_S8, XLA_FFI_DataType_S16, XLA_FFI_DataType_S32, XLA_FFI_DataType_S64,
      XLA_FFI_DataType_U8, XLA_FFI_DataType_U16, XLA_FFI_DataType_U32, XLA_FFI_DataType_U64, XLA_FFI_DataType_F32,
      XLA_FFI_DataType_F64};
  int8_t s8s[] = {0, -2};
  int16_t s16s[] = {0, -3};
  int32_t s32s[] = {0, -4};
  int64_t s64s[] = {0, -5};
  uint8_t u8s[] = {0, 200};
  uint16_t u16s[] = {0, 60000};
  uint32_t u32s[] = {0, 7};
  uint64_t u64s[] = {0, 8};
  float f32s[] = {0, 0.5f};
  double f64s[] = {0, 0.25};
  void *const data[] = {s8s, s16s, s32s, s64s, u8s, u16s, u32s, u64s, f32s, f64s};
  XLA_FFI_Array of_arrays[10];
  static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
  f = fresh(0, 0);
  for (int n = 0; n < 10; ++n) {
    of_arrays[n].dtype = dtypes[n], of_arrays[n].size = 2, of_arrays[n].data = data[n];
    add(f, names[n], XLA_FFI_AttrType_ARRAY, &of_arrays[n]);
  }
  say("arrays", arrays, &f->f);
  of_arrays[0].data = NULL, of_arrays[3].dtype = XLA_FFI_DataType_U64, of_arrays[9].size = SIZE_MAX;
  say("arrays: bad ones", arrays, &f->f);

  f = fresh(0, 1);
  say("own result", writes, &f->f);
  f->rets[0].dtype = XLA_FFI_DataType_S32;
  say("own result: refused", writes, &f->f);
}

/* A runtime that has everything. */
static void everything_offered(void)
{
  static frame options_frame;
  frame *f = fresh(0, 0);
  int64_t n = 14;
  counter c = {15};
  XLA_FFI_Scalar of_s64 = {XLA_FFI_DataType_S64, &n};
  options_frame = *f;
  options_frame.f.attrs.types = options_frame.attr_types;
  options_frame.f.attrs.names = options_frame.name_pointers;
  options_frame.f.attrs.attrs = options_frame.values;
  options_frame.name_pointers[0] = &options_frame.names[0];
  add(&options_frame, "n", XLA_FFI_AttrType_SCALAR, &of_s64);
  custom = &options_frame.f.attrs;
  state = &c;
  host(5);
  api.XLA_FFI_Stream_Get = give_stream;
  api.XLA_FFI_InvokeContext_Get = give_user_data;
  api.XLA_FFI_InvokeContext_FindExtension = find_extension;
  api.XLA_FFI_CustomOptions_Get = give_options;
  api.XLA_FFI_DeviceOrdinal_Get = give_ordinal;
  api.XLA_FFI_ThreadPool_NumThreads = count_threads;
  api.XLA_FFI_ThreadPool_Schedule = run_at_once;
  say("offered", offered, &f->f);
  api.XLA_FFI_ThreadPool_Schedule = NULL; /* the task runs here and now */
  tasks_taken = 0;
  say("offered, without threads", offered, &f->f);
  recording.id.minor_version = 0;
  say("an older extension", offered, &f->f);
  recording.id.extension_type = 129;
  say("no extension", offered, &f->f);
  state = NULL;
  host(5);
}

static void metadata_of(const char *what, XLA_FFI_Handler *handler)
{
  XLA_FFI_Metadata metadata;
  memset(&metadata, 0, sizeof metadata);
  metadata.struct_size = XLA_FFI_Metadata_STRUCT_SIZE;
  XLA_FFI_Metadata_Extension extension = {
      {XLA_FFI_Metadata_Extension_STRUCT_SIZE, XLA_FFI_Extension_Metadata, NULL}, &metadata};
  frame *f = fresh(0, 0);
  f->f.extension_start = &extension.extension_base;
  XLA_FFI_Error *error = handler(&f->f);
  printf("%s: %d.%d traits %u state %d%s%s\n", what, metadata.api_version.major_version,
      metadata.api_version.minor_version, (unsigned)metadata.traits, (int)metadata.state_type_id.type_id,
      error ? " " : "", error ? error->text : "");
  free(error);
}

static void versions(void)
{
  metadata_of("buffers", three);
  metadata_of("attributes", attrs);
  metadata_of("stream, run id", streams);
  metadata_of("scratch", scratches);
  metadata_of("frame", promises);
  metadata_of("state", count);
  metadata_of("state made, not registered", make);
  ccw_type_id_counter.type_id = 17;
  metadata_of("state made", make);
  metadata_of("state made in prepare", make_prepared);
  metadata_of("prepared state", count_prepared);
  metadata_of("extension", extends);
  metadata_of("record", records);
  metadata_of("custom options", options);
  metadata_of("trait", trait);
  frame *f = fresh(3, 1);
  XLA_FFI_InternalExtension unknown = {sizeof unknown, (XLA_FFI_InternalExtension_Type)50, NULL};
  f->f.extension_start = &unknown;
  say("an extension of another kind", three, &f->f);
  f->args[0].rank = 1;
  say("the same, and a bad operand", three, &f->f);
  unknown.type = XLA_FFI_Extension_Metadata;
  unknown.struct_size = 8;
  say("a question that is too small", three, &f->f);
}

static uint64_t random_state = 20261130;

static int draw(int n)
{
  random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (int)(random_state >> 33) % n;
}

/* Damages frames at random: every answer is success or an error, and nothing is read that is not there. */
static void fuzz(void)
{
  static XLA_FFI_Handler *const handlers[] = {
      three, some, more, none, attrs, enums, structs, whole, late, own, count, streams, options};
  int refused = 0, taken = 0;
  int64_t number = 1;
  XLA_FFI_Scalar scalar = {XLA_FFI_DataType_S64, &number};
  XLA_FFI_ByteSpan text = {"text", 4};
  for (int round = 0; round < 200000; ++round) {
    int64_t args = draw(5);
    frame *f = fresh(args, draw(3));
    static const char *const known[] = {"eps", "l", "m", "mode_name", "n", "r", "w", "z", "lo", "hi", "e", ""};
    for (int i = draw(4); i > 0; --i) {
      const char *name = known[draw(12)];
      int type = draw(6);
      void *value = type == 3 ? (void *)&scalar : type == 4 ? (void *)&text : type == 2 && draw(2) ? &f->f.attrs : NULL;
      add(f, name, type, value);
    }
    for (int i = draw(3); i > 0; --i) {
      int k = draw(4);
      switch (draw(18)) {
      case 0: f->f.args.size = -draw(100); break;
      case 1: f->f.args.types = NULL; break;
      case 2: f->f.args.args = NULL; break;
      case 3: f->f.rets.size = -1; break;
      case 4: f->f.rets.types = NULL; break;
      case 5: f->f.rets.rets = NULL; break;
      case 6: f->f.attrs.size = -draw(3); break;
      case 7: f->f.attrs.names = NULL; break;
      case 8: f->f.attrs.attrs = NULL; break;
      case 9: f->f.attrs.types = NULL; break;
      case 10: f->name_pointers[k] = NULL; break;
      case 11: f->values[k] = NULL; break;
      case 12: f->arg_pointers[k] = NULL; break;
      case 13: f->args[k].dims = NULL; break;
      case 14: f->args[k].rank = draw(5) - 2; break;
      case 15: f->arg_types[k] = (XLA_FFI_ArgType)draw(90); break;
      case 16: f->names[k].ptr = NULL; break;
      case 17: f->args[k].dtype = (XLA_FFI_DataType)(draw(60) - 10); break;
      }
    }
    XLA_FFI_Error *error = handlers[draw((int)(sizeof handlers / sizeof *handlers))](&f->f);
    if (error)
      ++refused;
    else
      ++taken;
    free(error);
  }
  printf("fuzz: %d refused, %d taken\n", refused > 100000, taken > 1000);
}

#ifdef __cplusplus
#include <stdexcept>
CCW_HANDLER(throws, ATTR(s64, n))
{
  if (n == 1) throw std::runtime_error("out of paper");
  throw 5;
}
#endif

/* What success costs in memory, for a handler of each kind. */
static void success(void)
{
  int64_t n = 7;
  XLA_FFI_Scalar of_s64 = {XLA_FFI_DataType_S64, &n};
  frame *f = fresh(3, 1);
  int before = allocations;
  XLA_FFI_Error *error = three(&f->f);
  add(f, "hi", XLA_FFI_AttrType_SCALAR, &of_s64);
  add(f, "lo", XLA_FFI_AttrType_SCALAR, &of_s64);
  if (!error) error = decodes(&f->f);
  printf("success: %d allocations, %s\n", allocations - before, error ? "an error" : "OK");
}

int main(void)
{
  host(5);
  success();
  operands();
  attributes();
  every_dtype();
  contexts();
  everything_offered();
  versions();
  fuzz();
#ifdef __cplusplus
  int64_t n = 1;
  XLA_FFI_Scalar of_s64 = {XLA_FFI_DataType_S64, &n};
  frame *f = fresh(0, 0);
  add(f, "n", XLA_FFI_AttrType_SCALAR, &of_s64);
  say("throws", throws, &f->f);
  n = 2;
  say("throws something", throws, &f->f);
#endif
  return 0;
}

/* exhaust.c: what happens when memory runs out: at the first allocation of a task, at the second, ... until there is enough.
 * Each time a status says so, as much is in use as before, and the task succeeds when it is tried again. Then failures of every
 * sort, one hundred thousand each, after which as much is in use as before.
 *
 * Prints a line for each promise that is broken, and one for each task: its name, and at how many points it can fail. */
#include "runtime.h"

#include <ccw/xla_ffi_record.h>

/* ---- an allocator that fails ------------------------------------------------------------------------------------------ */

/* It stays in place: tasks of the pool may be about to give memory back when nobody knows of them any more. */
static ccw_allocator original;
static _Atomic int64_t until_failure = INT64_MAX;

static void *allocate(void *context, size_t size, bool zeroed)
{
  (void)context;
  return until_failure-- <= 0 ? NULL : original.allocate(original.context, size, zeroed);
}

static void release(void *context, void *block, size_t size)
{
  (void)context;
  original.release(original.context, block, size);
}

/* ---- what tasks are made of ------------------------------------------------------------------------------------------- */

static ccw_buffer *x, *y; /* f32[4] */

/* Success where a task fails in that way. A text that there was no memory for, or for part of it, counts as none. */
static ccw_status expect(ccw_status status, XLA_FFI_Error_Code code, const char *text)
{
  if (status.code != code) return status.code ? status : ccw_internal("it succeeded");
  bool is_whole = strcmp(ccw_status_text(status), text) == 0;
  bool is_cut = until_failure < 0;
  if (!is_whole && !is_cut) return status;
  ccw_status_free(status);
  return is_whole ? ccw_ok() : ccw_status_of_message_(XLA_FFI_Error_Code_RESOURCE_EXHAUSTED, NULL);
}

static ccw_status number(const char *name, int64_t v, ccw_attributes **out_attributes)
{
  ccw_attributes_builder *builder;
  CCW_TRY(ccw_attributes_begin(&builder));
  ccw_status status =
      ccw_attributes_add_scalar(builder, name, strlen(name), (ccw_scalar){.dtype = XLA_FFI_DataType_S64, .as.s = v});
  if (!status.code) return ccw_attributes_finish(builder, out_attributes);
  ccw_attributes_discard(builder);
  return status;
}

typedef ccw_status way(ccw_call *call);

static ccw_status run_twice(ccw_call *call)
{
  CCW_TRY(ccw_call_run(call));
  return ccw_call_run(call);
}

static ccw_status start_and_wait(ccw_call *call)
{
  CCW_TRY(ccw_call_start(call));
  return ccw_call_wait(call, -1);
}

static ccw_status start_and_leave(ccw_call *call) { return ccw_call_start(call); }

static ccw_status each_stage(ccw_call *call)
{
  for (int stage = 0; stage < XLA_FFI_ExecutionStage_RECORD; ++stage)
    CCW_TRY(ccw_call_stage(call, (XLA_FFI_ExecutionStage)stage));
  return ccw_ok();
}

static ccw_status explain(ccw_call *call)
{
  ccw_text text = {0};
  ccw_status status = ccw_call_explain(call, XLA_FFI_ExecutionStage_INSTANTIATE, &text);
  if (!status.code) status = ccw_call_explain(call, XLA_FFI_ExecutionStage_EXECUTE, &text);
  ccw_text_free(&text);
  return status;
}

static ccw_status record_and_replay(ccw_call *call)
{
  CCW_TRY(ccw_call_run(call));
  CCW_TRY(ccw_call_run(call)); /* updates */
  ccw_text text = {0};
  ccw_call_recorded(call, &text);
  ccw_status status = ccw_text_status(&text);
  ccw_text_free(&text);
  return status.code ? status : ccw_call_replay(call);
}

/* Prepares a call of a handler, which is released, and goes on in that way. */
static ccw_status call_with(
    ccw_handler *handler, const char *name, int64_t v, const ccw_call_options *options, way *go_on)
{
  ccw_attributes *attributes = NULL;
  ccw_call *call = NULL;
  ccw_status status = number(name, v, &attributes);
  if (!status.code) status = ccw_call_prepare(handler, &x, 1, &y, 1, attributes, options, &call);
  ccw_attributes_release(attributes);
  ccw_handler_release(handler);
  if (status.code) return status;
  status = go_on(call);
  ccw_call_free(call);
  ccw_buffer_set_undefined(y, false);
  return status;
}

static ccw_status call_bundle(
    const XLA_FFI_Handler_Bundle *bundle, int64_t v, const ccw_call_options *options, way *go_on)
{
  CCW_TRY_LET(ccw_handler *, handler, ccw_handler_new, "h", bundle, 0, NULL);
  return call_with(handler, "v", v, options, go_on);
}

static ccw_status call_of(XLA_FFI_Handler *execute, int64_t v, const ccw_call_options *options, way *go_on)
{
  return call_bundle(&(XLA_FFI_Handler_Bundle){.execute = execute}, v, options, go_on);
}

/* ---- tasks ------------------------------------------------------------------------------------------------------------ */

static ccw_status plain(void) { return call_of(add, 1, NULL, run_twice); }
static ccw_status explained(void) { return call_of(add, 1, NULL, explain); }

static ccw_status aliased(void)
{
  ccw_alias alias = {0, 0};
  return call_of(add, 1, &(ccw_call_options){.aliases = &alias, .alias_count = 1, .strict = true}, run_twice);
}

static ccw_status checked(void)
{
  return call_of(add, 1, &(ccw_call_options){.checked = true, .has_side_effect = true}, run_twice);
}

static ccw_status found_careless(void)
{
  ccw_call_options options = {.checked = true, .has_side_effect = true};
  return expect(call_of(careless, 1, &options, run_twice), XLA_FFI_Error_Code_DATA_LOSS,
      "h: execute: result 0: 1 of 4 elements was never written, the first is [4]");
}

static ccw_status failing(void)
{
  return expect(call_of(refuse, 7, NULL, run_twice), XLA_FFI_Error_Code_ABORTED, "h: execute: refuse: execute: v is 7");
}

static ccw_status refused(void)
{
  ccw_handler *handler;
  CCW_TRY(ccw_handler_new("h", &(XLA_FFI_Handler_Bundle){.execute = add}, 0, NULL, &handler));
  ccw_alias alias = {3, 4};
  return expect(call_with(handler, "v", 1, &(ccw_call_options){.aliases = &alias, .alias_count = 1}, run_twice),
      XLA_FFI_Error_Code_INVALID_ARGUMENT, "h: alias of result 3 and arg 4: the call has results: 1, args: 1");
}

/* The handler itself finds that its attribute is not there. */
static ccw_status undecodable(void)
{
  ccw_handler *handler;
  CCW_TRY(ccw_handler_new("h", &(XLA_FFI_Handler_Bundle){.execute = add}, 0, NULL, &handler));
  return expect(call_with(handler, "w", 1, NULL, run_twice), XLA_FFI_Error_Code_INVALID_ARGUMENT,
      "h: execute: add: execute: 2 bad operands\n"
      "  attribute 'v': expected s64, got none; present: 'w'\n"
      "  attribute 'w': not expected; bound: 'v'");
}

static const XLA_FFI_Handler_Bundle counting = {.instantiate = count_instantiate, .execute = count_up};

static ccw_status stateful(void) { return call_bundle(&counting, 1, NULL, run_twice); }

static ccw_status without_state(void)
{
  return expect(call_bundle(&counting, -1, NULL, run_twice), XLA_FFI_Error_Code_OUT_OF_RANGE,
      "h: instantiate: count_instantiate: instantiate: too early");
}

static ccw_status with_useless_state(void)
{
  return expect(call_bundle(&counting, -2, NULL, run_twice), XLA_FFI_Error_Code_OUT_OF_RANGE,
      "h: instantiate: count_instantiate: instantiate: too late");
}

static const XLA_FFI_Handler_Bundle counting_all = {
    .instantiate = count_instantiate, .prepare = count_prepare, .initialize = count_initialize, .execute = count_all};

static ccw_status staged(void)
{
  return call_bundle(&counting_all, 1, &(ccw_call_options){.stages = ALL_STAGES}, run_twice);
}

static ccw_status staged_by_hand(void)
{
  return call_bundle(&counting_all, 1, &(ccw_call_options){.by_hand = true}, each_stage);
}

static ccw_status stage_left_out(void)
{
  return expect(
      call_bundle(&counting_all, 1, &(ccw_call_options){.stages = 1 << XLA_FFI_ExecutionStage_EXECUTE}, run_twice),
      XLA_FFI_Error_Code_INVALID_ARGUMENT,
      "h: execute: count_all: execute: 2 bad operands\n"
      "  context 1 'p': prepared: there is no state of stage prepare\n"
      "  context 2 'i': initialized: there is no state of stage initialize");
}

/* One handler of several. */
static ccw_status bundled(void)
{
  XLA_FFI_Handler *const functions[] = {count_instantiate, count_prepare, count_initialize, count_all};
  ccw_handler *parts[CCW_STAGE_COUNT] = {NULL}, *whole = NULL;
  ccw_status status = ccw_ok();
  for (int i = 0; i < 4 && !status.code; ++i)
    status = ccw_handler_new("part", &(XLA_FFI_Handler_Bundle){.execute = functions[i]}, 0, NULL, &parts[i]);
  if (!status.code) status = ccw_handler_of_stages("whole", parts, &whole);
  for (int i = 0; i < 4; ++i) ccw_handler_release(parts[i]);
  return status.code ? status : call_with(whole, "v", 1, &(ccw_call_options){.stages = ALL_STAGES}, run_twice);
}

static ccw_status borrowing(void) { return call_of(borrow, 100, NULL, run_twice); }
static ccw_status in_tasks(void) { return call_of(add_in_tasks, 1, NULL, run_twice); }
static ccw_status future_at_once(void) { return call_of(later, AT_ONCE, NULL, run_twice); }
static ccw_status future_in_pool(void) { return call_of(later, IN_POOL, NULL, run_twice); }
static ccw_status waited_for(void) { return call_of(later, IN_POOL, NULL, start_and_wait); }
static ccw_status abandoned(void) { return call_of(later, IN_POOL_FAILED, NULL, start_and_leave); }
static ccw_status never_taken(void) { return call_of(later, NEVER_TAKEN, NULL, start_and_leave); }

static ccw_status future_failed_at_once(void)
{
  return expect(call_of(later, AT_ONCE_FAILED, NULL, run_twice), XLA_FFI_Error_Code_DATA_LOSS, "h: execute: late");
}

static ccw_status future_failed_in_pool(void)
{
  return expect(call_of(later, IN_POOL_FAILED, NULL, start_and_wait), XLA_FFI_Error_Code_DATA_LOSS, "h: execute: late");
}

typedef struct guest {
  int64_t age;
} guest;

CCW_USER_DATA(guest);

CCW_HANDLER(visit, ARG(f32, 1, from), RET(f32, 1, to), ATTR(s64, v), CTX(user_data(guest), g), CTX(custom_options, d))
{
  CCW_TRY_LET(int64_t, more, ccw_attr, d, "more", s64);
  to.data[0] = from.data[0] + (float)(g->age + more);
  return ccw_ok();
}

static ccw_status visited(bool is_there)
{
  guest adam = {930};
  ccw_user_data data = {ccw_type_id_guest.type_id, &adam};
  ccw_call_options options = {.user_data = &data, .user_data_count = is_there};
  CCW_TRY(number("more", 5, &options.custom_options));
  ccw_status status = call_of(visit, 1, &options, run_twice);
  ccw_attributes_release(options.custom_options);
  return status;
}

static ccw_status with_user_data(void) { return visited(true); }

static ccw_status without_user_data(void)
{
  char text[256];
  snprintf(text, sizeof text,
      "h: execute: visit: execute: context 0 'g': user_data: the call has no user data of type 'guest' (id %lld)",
      (long long)ccw_type_id_guest.type_id);
  return expect(visited(false), XLA_FFI_Error_Code_INVALID_ARGUMENT, text);
}

typedef struct XLA_FFI_Record_Extension recording;

CCW_EXTENSION(recording, XLA_FFI_Extension_Record, 0, 1);

CCW_STAGE_HANDLER(
    record, copy_record, ARG(f32, 1, from), RET(f32, 1, to), ATTR(s64, v), CTX(extension(recording), r), CTX(frame, f))
{
  XLA_FFI_RecordFrame *commands = r->record_frame;
  XLA_FFI_Error *error;
  if (commands->action == XLA_FFI_RecordAction_Create) {
    error = commands->api->create_memcpy_d2d(
        commands->record_ctx, to.data, (void *)(uintptr_t)from.data, 16, NULL, 0, &commands->commands[0]);
    if (!error) *commands->num_commands = 1;
  } else {
    error = commands->api->update_memcpy_d2d(
        commands->record_ctx, commands->commands[0], to.data, (void *)(uintptr_t)from.data, 16);
  }
  if (!error) return ccw_ok();
  XLA_FFI_Error_Destroy_Args args = {XLA_FFI_Error_Destroy_Args_STRUCT_SIZE, NULL, error};
  f->api->XLA_FFI_Error_Destroy(&args);
  return ccw_resource_exhausted("no memory for a command");
}

static ccw_status recorded(void)
{
  XLA_FFI_Handler_Bundle bundle = {.execute = add, .record = copy_record};
  unsigned stages = 1u << XLA_FFI_ExecutionStage_EXECUTE | 1u << XLA_FFI_ExecutionStage_RECORD;
  return call_bundle(&bundle, 1, &(ccw_call_options){.stages = stages}, record_and_replay);
}

static ccw_status succeed(void *context, XLA_FFI_CallFrame *frame)
{
  (void)context, (void)frame;
  return ccw_ok();
}

static ccw_status call_function(const char *text, way *go_on)
{
  CCW_TRY_LET(ccw_signature *, signature, ccw_signature_parse, text, strlen(text), NULL, NULL);
  ccw_handler *handler;
  ccw_status status =
      ccw_handler_of_function("f", signature, XLA_FFI_ExecutionStage_EXECUTE, NULL, succeed, NULL, NULL, &handler);
  ccw_signature_release(signature);
  return status.code ? status : call_with(handler, "v", 1, NULL, go_on);
}

static ccw_status function(void) { return call_function("(f32[n]) -> (f32[n]) {v: s64}", run_twice); }

static ccw_status function_that_does_not_fit(void)
{
  return expect(call_function("(x: f32[n,m]) -> (y: f32[n]) {v: s64}", run_twice), XLA_FFI_Error_Code_INVALID_ARGUMENT,
      "f: arg 0 'x': expected f32[n,m], got f32[4]");
}

static ccw_status looked_up(void)
{
  ccw_handler *handler;
  ccw_status status = ccw_registry_find("exhaust", 7, "Host", 4, &handler);
  if (status.code) return status;
  return call_with(handler, "v", 1, NULL, run_twice);
}

static ccw_status not_registered(void)
{
  ccw_handler *handler;
  return expect(ccw_registry_find("exhaus", 6, "Host", 4, &handler), XLA_FFI_Error_Code_NOT_FOUND,
      "no handler 'exhaus' is registered for platform Host (host); near: exhaust");
}

static ccw_status replaced(void)
{
  ccw_handler *handler;
  CCW_TRY(ccw_handler_new("h", &(XLA_FFI_Handler_Bundle){.execute = add}, 0, NULL, &handler));
  ccw_status status = ccw_registry_add("exhaust", 7, "cpu", 3, handler, true);
  ccw_handler_release(handler);
  return status;
}

static ccw_status registered_twice(void)
{
  ccw_handler *handler;
  CCW_TRY(ccw_handler_new("h", &(XLA_FFI_Handler_Bundle){.execute = refuse}, 0, NULL, &handler));
  ccw_status status = ccw_registry_add("exhaust", 7, "cpu", 3, handler, false);
  ccw_handler_release(handler);
  return expect(status, XLA_FFI_Error_Code_INVALID_ARGUMENT,
      "'exhaust' is registered for platform host already, with other functions");
}

static ccw_status type_taken(void)
{
  XLA_FFI_TypeId another = {12345};
  char text[128];
  snprintf(text, sizeof text, "type 'guest' is registered already, with id %lld instead of 12345",
      (long long)ccw_type_id_guest.type_id);
  return expect(ccw_state_type_register("guest", 5, &another, NULL), XLA_FFI_Error_Code_INTERNAL, text);
}

typedef struct task {
  const char *name;
  ccw_status (*run)(void);
  bool is_failure; /* whose like leaves nothing in any number */
} task;

static const task tasks[] = {{"plain", plain, false}, {"explained", explained, false}, {"aliased", aliased, false},
    {"checked", checked, false}, {"found careless", found_careless, false}, {"failing", failing, true},
    {"refused", refused, true}, {"undecodable", undecodable, true}, {"stateful", stateful, true},
    {"without state", without_state, true}, {"with useless state", with_useless_state, true}, {"staged", staged, true},
    {"staged by hand", staged_by_hand, false}, {"stage left out", stage_left_out, true}, {"bundled", bundled, false},
    {"borrowing", borrowing, true}, {"in tasks", in_tasks, false}, {"future at once", future_at_once, false},
    {"future in pool", future_in_pool, false}, {"waited for", waited_for, false}, {"abandoned", abandoned, false},
    {"never taken", never_taken, false}, {"future failed at once", future_failed_at_once, true},
    {"future failed in pool", future_failed_in_pool, false}, {"with user data", with_user_data, false},
    {"without user data", without_user_data, true}, {"recorded", recorded, true}, {"function", function, false},
    {"function that does not fit", function_that_does_not_fit, true}, {"looked up", looked_up, false},
    {"not registered", not_registered, true}, {"replaced", replaced, false},
    {"registered twice", registered_twice, true}, {"type taken", type_taken, true}};

/* ---- running them ----------------------------------------------------------------------------------------------------- */

/* Runs it with the allocation of that number failing, and all after it; tells whether there was one. A task may do with less. */
static ccw_status run_with(const task *t, int64_t n, bool *out_ran_out)
{
  until_failure = n;
  ccw_status status = t->run();
  while (under_way > 0) rest();
  *out_ran_out = until_failure < 0;
  until_failure = INT64_MAX;
  return status;
}

/* A failure for want of memory, or none. */
static bool is_exhausted(ccw_status status)
{
  bool is_good = !status.code || status.code == XLA_FFI_Error_Code_RESOURCE_EXHAUSTED;
  if (!is_good) printf("%d: %s\n", (int)status.code, ccw_status_text(status));
  ccw_status_free(status);
  return is_good;
}

/* What is live is as it was, and the task succeeds. */
static bool is_sound(const task *t, int64_t live)
{
  return settle(live) == live && succeeds(t->run()) && settle(live) == live;
}

static void exhaust(const task *t)
{
  enum { MOST = 1000 };
  EXPECT(succeeds(t->run()));
  int64_t before = blocks_at_rest(), n = 0;
  bool ran_out = true;
  for (; ran_out && n < MOST; n += ran_out) {
    bool is_good = is_exhausted(run_with(t, n, &ran_out)) && is_sound(t, before);
    EXPECT(is_good);
    if (!is_good) break;
  }
  EXPECT(n < MOST);
  printf("%-28s %4d points of failure\n", t->name, (int)n);
  fflush(stdout);
}

#if defined(__SANITIZE_ADDRESS__)
enum { TIMES = 10000 };
#elif defined(__SANITIZE_THREAD__)
enum { TIMES = 2000 };
#else
enum { TIMES = 100000 };
#endif

static void repeat(const task *t)
{
  int64_t before = blocks_at_rest();
  for (int i = 0; i < TIMES; ++i) {
    ccw_status status = t->run();
    if (!status.code) continue;
    EXPECT(succeeds(status));
    break;
  }
  EXPECT(settle(before) == before);
}

/* What grows for good grows when there is memory again. */
static void grow(void)
{
  ccw_handler *handler;
  XLA_FFI_TypeId id = {0};
  must(ccw_handler_new("h", &(XLA_FFI_Handler_Bundle){.execute = add}, 0, NULL, &handler));
  int64_t before = ccw_memory_in_use().blocks;
  until_failure = 0;
  EXPECT(is_exhausted(ccw_registry_add("exhaust", 7, "Host", 4, handler, false)));
  EXPECT(is_exhausted(ccw_state_type_register("guest", 5, &id, NULL)));
  EXPECT(id.type_id == 0);
  until_failure = 1; /* room for the list, none for the name */
  EXPECT(is_exhausted(ccw_registry_add("exhaust", 7, "Host", 4, handler, false)));
  until_failure = INT64_MAX;
  EXPECT(ccw_memory_in_use().blocks == before + 1); /* the list is kept */
  EXPECT(succeeds(ccw_registry_add("exhaust", 7, "Host", 4, handler, false)));
  EXPECT(succeeds(ccw_state_type_register("guest", 5, &ccw_type_id_guest, NULL)));
  EXPECT(succeeds(ccw_state_type_register("counter", 7, &ccw_type_id_counter, &ccw_type_info_counter)));
  ccw_handler_release(handler);
}

/* The first future makes the table of futures. */
static void make_first_future(void)
{
  static const task first = {"first future", future_at_once, false};
  int64_t before = ccw_memory_in_use().blocks, n = 0;
  bool ran_out = true;
  for (; ran_out && n < 100; n += ran_out) {
    EXPECT(is_exhausted(run_with(&first, n, &ran_out)));
    EXPECT(ccw_memory_in_use().blocks == before + !ran_out); /* the table */
  }
  EXPECT(n > 5);
}

int main(void)
{
  original = ccw_memory_replace((ccw_allocator){allocate, release, NULL});
  ccw_shape shape;
  must(ccw_shape_make(XLA_FFI_DataType_F32, (int64_t[]){4}, 1, &shape));
  must(ccw_buffer_new(&shape, true, &x));
  must(ccw_buffer_new(&shape, true, &y));
  grow();
  make_first_future();
  for (size_t i = 0; i < sizeof tasks / sizeof *tasks; ++i) exhaust(&tasks[i]);
  for (size_t i = 0; i < sizeof tasks / sizeof *tasks; ++i)
    if (tasks[i].is_failure) repeat(&tasks[i]);
  printf("%d broken\n", broken);
  return broken > 0;
}

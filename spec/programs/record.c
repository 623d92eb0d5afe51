/* The stand-in for a command buffer: what it answers, a line each.
 *
 * record                                 what C may do with it, good and bad
 * record LIBRARY API_MINOR HANDLER ...   creates, prints, replays, updates and prints the commands of official handlers
 */
#include <ccw/ccw.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/error.h"
#include "runtime/recorder.h"

typedef const XLA_FFI_Command *id;

#define AT(address) ((void *)(uintptr_t)(address))
#define BOGUS ((id)AT(0xBAD))

static ccw_recorder *recorder;
static const XLA_FFI_RecordApi *api;
static XLA_FFI_RecordFrame *frame;
static XLA_FFI_RecordContext *context;

static void say(const char *what, ccw_status status)
{
  printf("%s: %s%s%s\n", what, ccw_code_name(status.code), status.code ? " " : "", ccw_status_text(status));
  ccw_status_free(status);
}

static void said(const char *what, XLA_FFI_Error *error) { say(what, ccw_status_of_error(error)); }

static void must(ccw_status status)
{
  if (!status.code) return;
  say("stopped", status);
  exit(1);
}

static void print(void)
{
  ccw_text text = {0};
  ccw_recorder_print(recorder, &text);
  must(ccw_text_status(&text));
  printf("%s", text.length > 0 ? ccw_text_data(&text) : "(nothing)\n");
  ccw_text_free(&text);
}

/* A new recorder, in Create. */
static void fresh(int api_minor)
{
  ccw_recorder_free(recorder);
  must(ccw_recorder_new(api_minor, &recorder));
  must(ccw_recorder_begin(recorder, XLA_FFI_RecordAction_Create));
  frame = ((XLA_FFI_Record_Extension *)(uintptr_t)ccw_recorder_extension(recorder))->record_frame;
  api = frame->api;
  context = frame->record_ctx;
}

static void list(id command) { frame->commands[(*frame->num_commands)++] = command; }

static id made(XLA_FFI_Error *error, const id *out_command)
{
  must(ccw_status_of_error(error));
  list(*out_command);
  return *out_command;
}

static id empty(void)
{
  id command;
  return made(api->create_empty_command(context, NULL, 0, &command), &command);
}

static id memcpy_of(void *to, void *from, int64_t size, const id *after, uint32_t count)
{
  id command;
  return made(api->create_memcpy_d2d(context, to, from, size, after, count, &command), &command);
}

/* ---- a kernel that is in order, and its parts to be replaced --------------------------------------------------------- */

static int32_t value = 7;
static const char image[1024];

typedef struct kernel {
  const char *name;
  const void *data;
  int64_t size;
  int format;
  XLA_FFI_LaunchDims dims;
  int64_t arg_count;
  XLA_FFI_KernelArg args[3];
  const id *after;
  uint32_t after_count;
} kernel;

static kernel good(void)
{
  return (kernel){.name = "add",
      .data = image,
      .size = sizeof image,
      .format = XLA_FFI_SourceFormat_CUBIN,
      .dims = {{2, 1, 1}, {32, 1, 1}, {0, 0, 0}},
      .arg_count = 2,
      .args = {
          {AT(0x7000), 0, XLA_FFI_KernelArgType_DevicePtr}, {&value, sizeof value, XLA_FFI_KernelArgType_HostValue}}};
}

static XLA_FFI_Error *create(const kernel *k, id *out_command)
{
  XLA_FFI_KernelArgs args = {k->args, k->arg_count};
  return api->create_launch(context, k->name, k->data, k->size, (XLA_FFI_SourceFormat)k->format, k->dims, 48, 0, &args,
      k->after, k->after_count, out_command);
}

static void refused(const char *what, kernel k)
{
  id command = BOGUS;
  said(what, create(&k, &command));
  if (command != BOGUS) printf("  and out_command was written\n");
}

static void kernels(void)
{
  fresh(5);
  kernel k = good();
  id command = NULL;
  said("launch", create(&k, &command));
  list(command);
  k = good(), k.dims.cluster = (XLA_FFI_Dim3){2, 1, 1}, k.arg_count = 0, k.after = &command, k.after_count = 1;
  k.format = XLA_FFI_SourceFormat_FUNCTION_PTR, k.data = AT(0xF00), k.size = 0, k.name = "a \x1b[31mred\xff name";
  id second = NULL;
  said("launch of a function", create(&k, &second));
  list(second);

  k = good(), k.name = NULL, refused("no name", k);
  k = good(), k.data = NULL, refused("no kernel", k);
  k = good(), k.size = 0, refused("no bytes", k);
  k = good(), k.size = -1, refused("a negative size", k);
  k = good(), k.format = 2, refused("a function with a size", k);
  k = good(), k.format = 7, refused("a format that is none", k);
  k = good(), k.dims.grid.z = 0, refused("no grid", k);
  k = good(), k.dims.block.y = -4, refused("a negative block", k);
  k = good(), k.dims.cluster.x = 2, refused("half a cluster", k);
  k = good(), k.arg_count = -1, refused("a negative number of arguments", k);
  k = good(), k.arg_count = INT64_MAX, refused("a huge number of arguments", k);
  k = good(), k.args[0].size = 8, refused("a device pointer with a size", k);
  k = good(), k.args[1].size = 0, refused("a value without bytes", k);
  k = good(), k.args[1].size = -4, refused("a value of negative size", k);
  k = good(), k.args[1].size = INT64_MAX, refused("a huge value", k);
  k = good(), k.args[1].arg_address = NULL, refused("a value that is nowhere", k);
  k = good(), k.args[1].type = (XLA_FFI_KernelArgType)9, refused("an argument that is none", k);
  k = good(), k.after = &command, k.after_count = 3, refused("more dependencies than commands", k);
  k = good(), k.after_count = 1, refused("dependencies that are nowhere", k);
  k = good(), k.after = (id[]){command, BOGUS}, k.after_count = 2, refused("a dependency that is none", k);
  k = good(), k.after = (id[]){NULL}, k.after_count = 1, refused("a dependency that is NULL", k);
  k = good(), k.after = (id[]){second, second}, k.after_count = 2, refused("a dependency twice", k);
  k = good();
  said("no out_command", create(&k, NULL));
  said("no arguments",
      api->create_launch(context, "x", image, 4, XLA_FFI_SourceFormat_PTX, k.dims, 0, 0, NULL, NULL, 0, &command));
  XLA_FFI_KernelArgs nowhere = {NULL, 2};
  said("arguments that are nowhere",
      api->create_launch(context, "x", image, 4, XLA_FFI_SourceFormat_PTX, k.dims, 0, 0, &nowhere, NULL, 0, &command));
  say("end", ccw_recorder_end(recorder));
  print();
  say("replay", ccw_recorder_replay(recorder));

  must(ccw_recorder_begin(recorder, XLA_FFI_RecordAction_Update));
  k = good(), k.args[0].arg_address = AT(0x9000);
  XLA_FFI_KernelArgs args = {k.args, 2};
  said("update", api->update_launch(context, frame->commands[0], &args));
  args.num_args = 1;
  said("update with fewer arguments", api->update_launch(context, frame->commands[0], &args));
  args.num_args = 2, k.args[1].size = 2;
  said("update with another size", api->update_launch(context, frame->commands[0], &args));
  k.args[1] = k.args[0];
  said("update with another kind", api->update_launch(context, frame->commands[0], &args));
  said("update without arguments", api->update_launch(context, frame->commands[0], NULL));
  said("update of what is none", api->update_launch(context, BOGUS, &args));
  said("update of NULL", api->update_launch(context, NULL, &args));
  said("update as a memcpy", api->update_memcpy_d2d(context, frame->commands[0], AT(8), AT(8), 1));
  say("end", ccw_recorder_end(recorder));
  print();

  fresh(4);
  printf("API 0.4 sees version %d.%d\n", ccw_recorder_extension(recorder)->id.major_version,
      ccw_recorder_extension(recorder)->id.minor_version);
  k = good(), k.format = 2, k.size = 0, refused("a function in version 0.1", k);
  k = good(), k.format = 7, refused("a format that is none in version 0.1", k);
  ccw_recorder *none;
  say("API 0.3", ccw_recorder_new(3, &none));
}

/* ---- copies ----------------------------------------------------------------------------------------------------------- */

static void copies(void)
{
  char a[4] = "abc", b[4] = "", c[4] = "", d[4] = "xyz";
  fresh(5);
  id first = memcpy_of(b, a, 4, NULL, 0), second = memcpy_of(c, b, 4, &first, 1);
  id command = BOGUS;
  said("a negative copy", api->create_memcpy_d2d(context, b, a, -1, NULL, 0, &command));
  said("a copy to nowhere", api->create_memcpy_d2d(context, NULL, a, 1, NULL, 0, &command));
  said("a copy from nowhere", api->create_memcpy_d2d(context, b, NULL, 1, NULL, 0, &command));
  said("a copy of nothing", api->create_memcpy_d2d(context, NULL, NULL, 0, (id[]){second, first}, 2, &command));
  list(command);
  said("a copy after what is none", api->create_memcpy_d2d(context, b, a, 1, (id[]){BOGUS}, 1, &command));
  said("a copy without out_command", api->create_memcpy_d2d(context, b, a, 1, NULL, 0, NULL));
  say("replay before the end", ccw_recorder_replay(recorder));
  say("end", ccw_recorder_end(recorder));
  say("replay", ccw_recorder_replay(recorder));
  printf("b is %s, c is %s\n", b, c);

  must(ccw_recorder_begin(recorder, XLA_FFI_RecordAction_Update));
  printf("%lld commands to update\n", (long long)*frame->num_commands);
  said("update", api->update_memcpy_d2d(context, first, b, d, 2));
  said("a negative update", api->update_memcpy_d2d(context, first, b, d, -2));
  said("update as a launch", api->update_launch(context, second, NULL));
  said("create in an update", api->create_empty_command(context, NULL, 0, &command));
  say("end", ccw_recorder_end(recorder));
  say("replay", ccw_recorder_replay(recorder));
  printf("b is %s, c is %s\n", b, c);
}

/* ---- the protocol ----------------------------------------------------------------------------------------------------- */

static void protocol(void)
{
  fresh(5);
  for (int i = 0; i < CCW_RECORDER_MOST_COMMANDS; ++i) empty();
  id command = BOGUS;
  said("one too many", api->create_empty_command(context, NULL, 0, &command));
  say("end of as many as there may be", ccw_recorder_end(recorder));
  fresh(5), *frame->num_commands = 17;
  say("more than there may be", ccw_recorder_end(recorder));
  fresh(5), *frame->num_commands = -1;
  say("fewer than none", ccw_recorder_end(recorder));
  fresh(5), frame->commands[16] = BOGUS;
  say("written behind the list", ccw_recorder_end(recorder));
  fresh(5), empty(), list(BOGUS);
  say("a command that is none", ccw_recorder_end(recorder));
  print();
  fresh(5), list(empty());
  say("a command twice", ccw_recorder_end(recorder));
  fresh(5), empty(), empty(), *frame->num_commands = 1;
  say("a command that is not in the list", ccw_recorder_end(recorder));
  say("replay of nothing", ccw_recorder_replay(recorder));
  say("update of nothing", ccw_recorder_begin(recorder, XLA_FFI_RecordAction_Update));
  say("an action that is none", ccw_recorder_begin(recorder, (XLA_FFI_RecordAction)2));
  fresh(5);
  say("nothing at all", ccw_recorder_end(recorder));
  print();
  must(ccw_recorder_begin(recorder, XLA_FFI_RecordAction_Update));
  must(ccw_status_of_error(api->request_stream_capture(context)));
  say("stream capture after nothing", ccw_recorder_end(recorder));

  fresh(5), empty();
  said("stream capture", api->request_stream_capture(context));
  say("end beside a command", ccw_recorder_end(recorder));
  fresh(5);
  said("stream capture", api->request_stream_capture(context));
  say("end", ccw_recorder_end(recorder));
  print();
  say("replay", ccw_recorder_replay(recorder));
  must(ccw_recorder_begin(recorder, XLA_FFI_RecordAction_Update));
  say("not requested again", ccw_recorder_end(recorder));
  must(ccw_recorder_begin(recorder, XLA_FFI_RecordAction_Update));
  said("stream capture", api->request_stream_capture(context));
  say("requested again", ccw_recorder_end(recorder));

  fresh(5);
  id first = empty(), second = empty();
  frame->commands[0] = second, frame->commands[1] = first; /* XLA asks for no order */
  say("begin in a recording", ccw_recorder_begin(recorder, XLA_FFI_RecordAction_Create));
  XLA_FFI_KernelArgs args = {NULL, 0};
  said("update in a creation", api->update_launch(context, first, &args));
  say("end", ccw_recorder_end(recorder));
  say("end again", ccw_recorder_end(recorder));
  said("after the end", api->create_empty_command(context, NULL, 0, &command));
  must(ccw_recorder_begin(recorder, XLA_FFI_RecordAction_Update));
  printf("the list is %s\n", frame->commands[0] == second && frame->commands[1] == first ? "as it was" : "another");
  *frame->num_commands = 1;
  say("fewer in an update", ccw_recorder_end(recorder));
  must(ccw_recorder_begin(recorder, XLA_FFI_RecordAction_Update));
  frame->commands[0] = first;
  say("another list in an update", ccw_recorder_end(recorder));
  must(ccw_recorder_begin(recorder, XLA_FFI_RecordAction_Update));
  said("stream capture", api->request_stream_capture(context));
  say("stream capture in an update", ccw_recorder_end(recorder));
  must(ccw_recorder_begin(recorder, XLA_FFI_RecordAction_Update));
  memset(frame, 0xFF, sizeof *frame);
  say("a frame that was written to", ccw_recorder_end(recorder));
  must(ccw_recorder_begin(recorder, XLA_FFI_RecordAction_Update));
  say("and the next", ccw_recorder_end(recorder));
  print();

  must(ccw_recorder_begin(recorder, XLA_FFI_RecordAction_Update));
  ccw_recorder_cancel(recorder);
  must(ccw_recorder_begin(recorder, XLA_FFI_RecordAction_Create));
  empty();
  said("after a command of an earlier recording", api->create_empty_command(context, &first, 1, &command));
  ccw_recorder_cancel(recorder), ccw_recorder_cancel(recorder);
  say("end of what was cancelled", ccw_recorder_end(recorder));
  say("update of what was cancelled", ccw_recorder_begin(recorder, XLA_FFI_RecordAction_Update));

  ccw_recorder *mine = recorder;
  XLA_FFI_RecordContext *earlier = context;
  must(ccw_recorder_begin(mine, XLA_FFI_RecordAction_Create));
  first = empty();
  recorder = NULL, fresh(5), empty();
  said("after a command of another recorder", api->create_empty_command(context, &first, 1, &command));
  say("end of one of two", ccw_recorder_end(mine));
  ccw_recorder_free(mine);
  said("in a recorder that is gone", api->create_empty_command(earlier, NULL, 0, &command));
  said("without a context", api->request_stream_capture(NULL));
  said("in a context that is none", api->update_memcpy_d2d((XLA_FFI_RecordContext *)AT(0xBAD), first, AT(8), AT(8), 1));
  ccw_recorder_free(NULL);
}

/* ---- memory ----------------------------------------------------------------------------------------------------------- */

static ccw_allocator original;
static int until_failure;

static void *allocate(void *of, size_t size, bool zeroed)
{
  (void)of;
  return until_failure-- <= 0 ? NULL : original.allocate(original.context, size, zeroed);
}

static void release(void *of, void *block, size_t size)
{
  (void)of;
  original.release(original.context, block, size);
}

/* Everything that takes memory. */
static ccw_status record_all(ccw_text *text)
{
  ccw_recorder_free(recorder);
  recorder = NULL;
  CCW_TRY(ccw_recorder_new(5, &recorder));
  frame = ((XLA_FFI_Record_Extension *)(uintptr_t)ccw_recorder_extension(recorder))->record_frame;
  CCW_TRY(ccw_recorder_begin(recorder, XLA_FFI_RecordAction_Create));
  context = frame->record_ctx;
  for (int i = 0; i < 3; ++i) {
    kernel k = good();
    id command;
    CCW_TRY(ccw_status_of_error(create(&k, &command)));
    list(command);
  }
  CCW_TRY(ccw_recorder_end(recorder));
  CCW_TRY(ccw_recorder_begin(recorder, XLA_FFI_RecordAction_Update));
  kernel k = good();
  XLA_FFI_KernelArgs args = {k.args, k.arg_count};
  CCW_TRY(ccw_status_of_error(api->update_launch(context, frame->commands[1], &args)));
  CCW_TRY(ccw_recorder_end(recorder));
  ccw_recorder_print(recorder, text);
  return ccw_text_status(text);
}

static void without_memory(void)
{
  ccw_recorder_free(recorder);
  recorder = NULL;
  int64_t before = ccw_memory_in_use().blocks;
  original = ccw_memory_replace((ccw_allocator){allocate, release, NULL});
  XLA_FFI_Error_Code code = XLA_FFI_Error_Code_RESOURCE_EXHAUSTED;
  int failures = 0;
  for (; code == XLA_FFI_Error_Code_RESOURCE_EXHAUSTED; ++failures) {
    ccw_text text = {0};
    until_failure = failures;
    ccw_status status = record_all(&text);
    code = status.code;
    ccw_status_free(status);
    ccw_text_free(&text);
    ccw_recorder_free(recorder);
    recorder = NULL;
    if (ccw_memory_in_use().blocks != before) printf("%d allocations: something is left\n", failures);
  }
  ccw_memory_replace(original);
  printf("without memory: %s after %s\n", ccw_code_name(code), failures > 9 ? "many failures" : "few failures");
}

/* ---- anything at all -------------------------------------------------------------------------------------------------- */

static uint32_t seed = 1;

static uint32_t draw(uint32_t below)
{
  seed = seed * 1664525 + 1013904223;
  return (seed >> 16) % below;
}

static id any_command(void)
{
  switch (draw(8)) {
  case 0: return NULL;
  case 1: return BOGUS;
  default: return frame->commands == NULL ? NULL : frame->commands[draw(16)];
  }
}

static void any_call(void)
{
  static char room[64];
  id after[4] = {any_command(), any_command(), any_command(), any_command()}, command = NULL;
  uint32_t count = draw(4) ? draw(3) : draw(40);
  const id *dependencies = draw(10) ? after : NULL;
  if (count > 4 && dependencies) count = UINT32_MAX; /* refused before it is followed */
  XLA_FFI_RecordContext *where = draw(20) ? context : AT(16 * draw(10));
  kernel k = good();
  k.arg_count = draw(10) ? draw(4) : -(int64_t)draw(9);
  for (int i = 0; i < 3; ++i)
    if (draw(3) == 0) k.args[i].size = (int64_t)draw(6) - 1, k.args[i].type = (XLA_FFI_KernelArgType)draw(3);
  k.args[0].arg_address = k.args[2].arg_address = room; /* there to be copied, where it is a value */
  XLA_FFI_KernelArgs args = {k.args, k.arg_count};
  int32_t extent = (int32_t)draw(9) - 1;
  XLA_FFI_LaunchDims dims = {{extent, 1, 1}, {1, extent, 1}, {0, 0, draw(20) == 0}};
  void *to = draw(9) ? room : NULL, *from = draw(9) ? room + 32 : NULL;
  int64_t size = (int64_t)draw(34) - 2;
  XLA_FFI_Error *error = NULL;
  switch (draw(20)) {
  case 0: error = api->request_stream_capture(where); break;
  case 1:
  case 2:
  case 3:
  case 4:
    error = api->create_launch(where, draw(9) ? "k" : NULL, image, draw(3), (XLA_FFI_SourceFormat)draw(4), dims, 0, 0,
        draw(9) ? &args : NULL, dependencies, count, draw(9) ? &command : NULL);
    break;
  case 5:
  case 6:
  case 7: error = api->update_launch(where, any_command(), draw(9) ? &args : NULL); break;
  case 8:
  case 9:
  case 10: error = api->create_memcpy_d2d(where, to, from, size, dependencies, count, draw(9) ? &command : NULL); break;
  case 11:
  case 12:
  case 13: error = api->update_memcpy_d2d(where, any_command(), to, from, size); break;
  case 14:
  case 15: error = api->create_empty_command(where, dependencies, count, draw(9) ? &command : NULL); break;
  case 16: *frame->num_commands += (int64_t)draw(3) - 1; break;
  case 17: frame->commands[draw(16)] = any_command(); break;
  case 18: ccw_status_free(ccw_recorder_replay(recorder)); break;
  default: {
    ccw_text text = {0};
    ccw_recorder_print(recorder, &text);
    ccw_text_free(&text);
  }
  }
  ccw_error_destroy(error);
  if (command && draw(20)) {
    int64_t n = *frame->num_commands;
    if (n >= 0 && n < 16) frame->commands[n] = command, ++*frame->num_commands;
  }
}

static void anything(void)
{
  int good_ends = 0, bad_ends = 0;
  for (int round = 0; round < 20000; ++round) {
    if (round % 10 == 0) fresh(4 + (int)draw(2));
    for (int i = (int)draw(12); i > 0; --i) any_call();
    ccw_status status = ccw_recorder_end(recorder);
    *(status.code ? &bad_ends : &good_ends) += 1;
    ccw_status_free(status);
    status = ccw_recorder_begin(recorder, (XLA_FFI_RecordAction)draw(2));
    if (status.code) must(ccw_recorder_begin(recorder, XLA_FFI_RecordAction_Create));
    ccw_status_free(status);
  }
  printf("anything: %s\n", good_ends > 1000 && bad_ends > 1000 ? "some of it good, some bad" : "too much of one kind");
}

/* ---- official handlers ------------------------------------------------------------------------------------------------ */

static XLA_FFI_Error *find_extension(XLA_FFI_InvokeContext_FindExtension_Args *args)
{
  args->extension = args->extension_type == XLA_FFI_Extension_Record ? ccw_recorder_extension((void *)args->ctx) : NULL;
  return NULL;
}

static char operand[16] = "0123456789abcde", moved[16] = "zyxwvutsrqponml", result[16];

/* Runs a handler of stage RECORD, and ends the recording. */
static ccw_status run(XLA_FFI_Handler *handler, XLA_FFI_RecordAction action, char *from)
{
  XLA_FFI_Api table = *XLA_FFI_GetApi();
  table.XLA_FFI_InvokeContext_FindExtension = find_extension;
  int64_t extent = 16;
  XLA_FFI_Buffer x = {XLA_FFI_Buffer_STRUCT_SIZE, NULL, XLA_FFI_DataType_U8, from, 1, &extent}, y = x;
  y.data = result;
  XLA_FFI_ArgType arg_type = XLA_FFI_ArgType_BUFFER;
  XLA_FFI_RetType ret_type = XLA_FFI_RetType_BUFFER;
  void *args[] = {&x}, *rets[] = {&y};
  XLA_FFI_CallFrame call = {.struct_size = XLA_FFI_CallFrame_STRUCT_SIZE,
      .api = &table,
      .ctx = (XLA_FFI_InvokeContext *)recorder,
      .stage = XLA_FFI_ExecutionStage_RECORD,
      .args = {XLA_FFI_Args_STRUCT_SIZE, NULL, 1, &arg_type, args},
      .rets = {XLA_FFI_Rets_STRUCT_SIZE, NULL, 1, &ret_type, rets},
      .attrs = {.struct_size = XLA_FFI_Attrs_STRUCT_SIZE}};
  CCW_TRY(ccw_recorder_begin(recorder, action));
  ccw_status status = ccw_status_of_error(handler(&call));
  if (!status.code) return ccw_recorder_end(recorder);
  ccw_recorder_cancel(recorder);
  return status;
}

static void official(void *library, const char *name, int api_minor)
{
  void *symbol = dlsym(library, name);
  XLA_FFI_Handler *handler;
  memcpy(&handler, &symbol, sizeof handler);
  if (!handler) exit(2);
  memset(result, 0, sizeof result);
  must(ccw_recorder_new(api_minor, &recorder));
  printf("%s\n", name);
  say("create", run(handler, XLA_FFI_RecordAction_Create, operand));
  print();
  say("replay", ccw_recorder_replay(recorder));
  printf("result: %s\n", result[0] ? result : "none");
  say("update", run(handler, XLA_FFI_RecordAction_Update, moved));
  print();
  say("replay", ccw_recorder_replay(recorder));
  printf("result: %s\n", result[0] ? result : "none");
  ccw_recorder_free(recorder);
  recorder = NULL;
}

int main(int argc, char **argv)
{
  int64_t before = ccw_memory_in_use().blocks;
  if (argc > 2) {
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) return 2;
    for (int i = 3; i < argc; ++i) official(library, argv[i], atoi(argv[2]));
  } else {
    kernels();
    copies();
    protocol();
    without_memory();
    anything();
    ccw_recorder_free(recorder);
  }
  if (ccw_memory_in_use().blocks != before)
    printf("%lld blocks are left\n", (long long)(ccw_memory_in_use().blocks - before));
  return 0;
}

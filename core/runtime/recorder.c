#include "runtime/recorder.h"

#include <pthread.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "runtime/error.h"

enum {
  MOST = CCW_RECORDER_MOST_COMMANDS,
  BEYOND = 16,                /* places behind the list of commands, to notice who writes there */
  MOST_ARGUMENT_BYTES = 32764 /* CUDA's limit for a kernel; it also stops a number of arguments that is none */
};

typedef enum kind { LAUNCH, MEMCPY, EMPTY } kind;

static const char *const kind_names[] = {[LAUNCH] = "launch", [MEMCPY] = "memcpy", [EMPTY] = "empty"};

typedef struct argument {
  XLA_FFI_KernelArgType type;
  int64_t size;
  const void *address; /* of the device; of a value's bytes, behind the arguments */
} argument;

typedef struct arguments {
  size_t size; /* of the whole block */
  int64_t count;
  argument list[];
} arguments;

typedef struct command {
  const XLA_FFI_Command *id;
  kind kind;
  uint32_t after; /* bit i: command i */
  /* launch */
  char *name;
  XLA_FFI_SourceFormat format;
  const void *kernel;
  int64_t kernel_size;
  XLA_FFI_LaunchDims dims;
  uint32_t shared_bytes;
  bool pdl; /* programmatic dependent launch */
  arguments *arguments;
  /* memcpy */
  void *to;
  const void *from;
  int64_t bytes;
} command;

struct ccw_recorder {
  ccw_recorder *next; /* of all that there are */
  const XLA_FFI_RecordContext *id;
  int32_t minor; /* of the extension's version */
  bool under_way;
  XLA_FFI_RecordAction action;
  bool captures; /* the handler has requested stream capture in this recording */
  int64_t count;
  command commands[MOST];

  /* What the last successful Create left. */
  bool created, created_by_capture;
  const XLA_FFI_Command *created_list[MOST];

  /* What the handler sees, and may write to. */
  XLA_FFI_Record_Extension extension;
  XLA_FFI_RecordFrame frame;
  int64_t listed_count;
  const XLA_FFI_Command *listed[MOST + BEYOND];
};

/* Held by everything here, since handlers run in any thread and may keep a context too long. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ccw_recorder *recorders;

/* The next number that looks like a pointer. */
static void *new_id(void)
{
  static uintptr_t last;
  return (void *)(last += 16);
}

static unsigned long long number_of(const void *address) { return (unsigned long long)(uintptr_t)address; }

/* ---- commands ------------------------------------------------------------------------------------------------------- */

static void free_command(command *old)
{
  if (old->name) ccw_release(old->name, strlen(old->name) + 1);
  if (old->arguments) ccw_release(old->arguments, old->arguments->size);
}

static void drop_commands(ccw_recorder *recorder)
{
  while (recorder->count > 0) free_command(&recorder->commands[--recorder->count]);
  recorder->created = false;
}

/* The position of a command, -1 for what is none of this recorder's. */
static int64_t position_of(const ccw_recorder *recorder, const XLA_FFI_Command *id)
{
  for (int64_t i = 0; i < recorder->count; ++i)
    if (recorder->commands[i].id == id) return i;
  return -1;
}

static ccw_status check_argument(int64_t i, const XLA_FFI_KernelArg *given)
{
  long long position = (long long)i, size = (long long)given->size;
  switch ((int)given->type) {
  case XLA_FFI_KernelArgType_DevicePtr:
    if (size != 0) return ccw_invalid("arg %lld: expected size 0 of a device pointer, got %lld", position, size);
    return ccw_ok();
  case XLA_FFI_KernelArgType_HostValue:
    if (size <= 0) return ccw_invalid("arg %lld: expected 1 byte or more of a host value, got %lld", position, size);
    if (!given->arg_address) return ccw_invalid("arg %lld: expected the address of a host value, got NULL", position);
    return ccw_ok();
  default:
    return ccw_invalid(
        "arg %lld: expected the type DevicePtr (0) or HostValue (1), got %d", position, (int)given->type);
  }
}

static ccw_status check_arguments(const XLA_FFI_KernelArgs *given, int64_t *out_value_bytes)
{
  if (!given) return ccw_invalid("args: expected an XLA_FFI_KernelArgs, got NULL");
  if (given->num_args < 0 || given->num_args > MOST_ARGUMENT_BYTES)
    return ccw_invalid("num_args: expected 0 to %d, got %lld", MOST_ARGUMENT_BYTES, (long long)given->num_args);
  if (given->num_args > 0 && !given->args)
    return ccw_invalid("args: expected %lld of them, got NULL", (long long)given->num_args);

  int64_t bytes = 0, value_bytes = 0;
  for (int64_t i = 0; i < given->num_args; ++i) {
    const XLA_FFI_KernelArg *one = &given->args[i];
    CCW_TRY(check_argument(i, one));
    int64_t size = one->size > 0 ? one->size : (int64_t)sizeof(void *);
    if (size > MOST_ARGUMENT_BYTES - bytes)
      return ccw_invalid(
          "arg %lld: expected at most %d bytes of arguments, got more", (long long)i, MOST_ARGUMENT_BYTES);
    bytes += size;
    value_bytes += one->size;
  }
  *out_value_bytes = value_bytes;
  return ccw_ok();
}

static ccw_status copy_arguments(const XLA_FFI_KernelArgs *given, arguments **out_arguments)
{
  CCW_TRY_LET(int64_t, value_bytes, check_arguments, given);
  size_t head = sizeof(arguments) + (size_t)given->num_args * sizeof(argument), size = head + (size_t)value_bytes;
  arguments *copy = ccw_allocate(size);
  if (!copy) return ccw_no_memory(size);
  copy->size = size;
  copy->count = given->num_args;
  char *value = (char *)copy + head;
  for (int64_t i = 0; i < given->num_args; ++i) {
    const XLA_FFI_KernelArg *one = &given->args[i];
    copy->list[i] = (argument){one->type, one->size, one->size > 0 ? value : one->arg_address};
    if (one->size > 0) memcpy(value, one->arg_address, (size_t)one->size);
    value += one->size;
  }
  *out_arguments = copy;
  return ccw_ok();
}

/* A kernel has the parameters that it has: new arguments are of the same kinds and sizes. */
static ccw_status check_same_parameters(const arguments *old, const arguments *new)
{
  if (new->count != old->count)
    return ccw_invalid("num_args: expected %lld, as when the command was created, got %lld", (long long)old->count,
        (long long)new->count);
  for (int64_t i = 0; i < old->count; ++i) {
    const argument *was = &old->list[i], *is = &new->list[i];
    if (is->type != was->type)
      return ccw_invalid("arg %lld: expected a %s, as when the command was created", (long long)i,
          was->type == XLA_FFI_KernelArgType_DevicePtr ? "device pointer" : "host value");
    if (is->size != was->size)
      return ccw_invalid("arg %lld: expected %lld bytes, as when the command was created, got %lld", (long long)i,
          (long long)was->size, (long long)is->size);
  }
  return ccw_ok();
}

static ccw_status check_extent(const char *of, const char *axis, int32_t extent)
{
  return extent > 0 ? ccw_ok() : ccw_invalid("%s.%s: expected 1 or more, got %d", of, axis, (int)extent);
}

static ccw_status check_dim3(const char *of, XLA_FFI_Dim3 dim3)
{
  CCW_TRY(check_extent(of, "x", dim3.x));
  CCW_TRY(check_extent(of, "y", dim3.y));
  return check_extent(of, "z", dim3.z);
}

static bool has_clusters(const command *launch)
{
  XLA_FFI_Dim3 cluster = launch->dims.cluster;
  return cluster.x != 0 || cluster.y != 0 || cluster.z != 0;
}

static ccw_status check_launch(const ccw_recorder *recorder, const char *name, const command *launch)
{
  long long size = (long long)launch->kernel_size;
  bool has_functions = recorder->minor >= 2;
  if (!name) return ccw_invalid("kernel_name: expected a name, got NULL");
  switch ((int)launch->format) {
  case XLA_FFI_SourceFormat_PTX:
  case XLA_FFI_SourceFormat_CUBIN:
    if (size <= 0) return ccw_invalid("kernel_size: expected 1 byte or more, got %lld", size);
    break;
  case XLA_FFI_SourceFormat_FUNCTION_PTR:
    if (!has_functions)
      return ccw_invalid(
          "format: expected PTX (0) or CUBIN (1), got FUNCTION_PTR (2), which version 0.1 does not have");
    if (size != 0) return ccw_invalid("kernel_size: expected 0 of a function pointer, got %lld", size);
    break;
  default:
    return ccw_invalid("format: expected PTX (0)%s, got %d",
        has_functions ? ", CUBIN (1) or FUNCTION_PTR (2)" : " or CUBIN (1)", (int)launch->format);
  }
  if (!launch->kernel) return ccw_invalid("kernel_data: expected the kernel, got NULL");
  CCW_TRY(check_dim3("grid", launch->dims.grid));
  CCW_TRY(check_dim3("block", launch->dims.block));
  return has_clusters(launch) ? check_dim3("cluster", launch->dims.cluster) : ccw_ok();
}

static ccw_status check_memcpy(const void *to, const void *from, int64_t bytes)
{
  if (bytes < 0) return ccw_invalid("size: expected 0 bytes or more, got %lld", (long long)bytes);
  if (bytes > 0 && !to) return ccw_invalid("dst: expected the address of %lld bytes, got NULL", (long long)bytes);
  if (bytes > 0 && !from) return ccw_invalid("src: expected the address of %lld bytes, got NULL", (long long)bytes);
  return ccw_ok();
}

/* Every dependency is an earlier command, and given once: so wants it CUDA. */
static ccw_status find_dependencies(
    const ccw_recorder *recorder, const XLA_FFI_Command *const *dependencies, uint32_t count, uint32_t *out_after)
{
  if (count > recorder->count)
    return ccw_invalid("num_dependencies: expected at most %lld, the commands so far, got %lu",
        (long long)recorder->count, (unsigned long)count);
  if (count > 0 && !dependencies)
    return ccw_invalid("dependencies: expected %lu of them, got NULL", (unsigned long)count);
  uint32_t after = 0;
  for (uint32_t i = 0; i < count; ++i) {
    int64_t position = position_of(recorder, dependencies[i]);
    if (position < 0)
      return ccw_invalid(
          "dependency %lu: 0x%llx is no command of this recording", (unsigned long)i, number_of(dependencies[i]));
    if (after >> position & 1)
      return ccw_invalid("dependency %lu: command %lld is given twice", (unsigned long)i, (long long)position);
    after |= UINT32_C(1) << position;
  }
  *out_after = after;
  return ccw_ok();
}

/* Adds a command, which is taken on success. */
static ccw_status add(ccw_recorder *recorder, command new, const XLA_FFI_Command *const *dependencies, uint32_t count,
    const XLA_FFI_Command **out_command)
{
  if (!out_command) return ccw_invalid("out_command: expected a place for the command, got NULL");
  if (recorder->count == MOST) return ccw_resource_exhausted("there are %d commands, and no room for another", MOST);
  CCW_TRY(find_dependencies(recorder, dependencies, count, &new.after));
  new.id = new_id();
  recorder->commands[recorder->count++] = new;
  *out_command = new.id;
  return ccw_ok();
}

static ccw_status add_launch(ccw_recorder *recorder, command launch, const char *name, const XLA_FFI_KernelArgs *args,
    const XLA_FFI_Command *const *dependencies, uint32_t count, const XLA_FFI_Command **out_command)
{
  CCW_TRY(check_launch(recorder, name, &launch));
  CCW_TRY(copy_arguments(args, &launch.arguments));
  size_t size = strlen(name) + 1;
  launch.name = ccw_allocate(size);
  if (launch.name) memcpy(launch.name, name, size);
  ccw_status status = launch.name ? add(recorder, launch, dependencies, count, out_command) : ccw_no_memory(size);
  if (status.code) free_command(&launch);
  return status;
}

static ccw_status find_to_update(ccw_recorder *recorder, const XLA_FFI_Command *id, kind wanted, command **out_command)
{
  int64_t position = position_of(recorder, id);
  if (position < 0) return ccw_invalid("command: 0x%llx is none of this recorder", number_of(id));
  command *found = &recorder->commands[position];
  if (found->kind != wanted)
    return ccw_invalid("command: expected a %s, got command %lld: %s", kind_names[wanted], (long long)position,
        kind_names[found->kind]);
  *out_command = found;
  return ccw_ok();
}

/* ---- the function table --------------------------------------------------------------------------------------------- */

/* Takes the lock, which `leave` gives back, and finds the recorder that a handler means. */
static ccw_status enter(const XLA_FFI_RecordContext *id, ccw_recorder **out_recorder)
{
  pthread_mutex_lock(&lock);
  ccw_recorder *recorder = recorders;
  while (recorder && recorder->id != id) recorder = recorder->next;
  if (!recorder) return ccw_invalid("ctx: 0x%llx is no context of a recording", number_of(id));
  if (!recorder->under_way) return ccw_failed_precondition("no recording is under way: the handler has returned");
  *out_recorder = recorder;
  return ccw_ok();
}

static ccw_status enter_for(const XLA_FFI_RecordContext *id, XLA_FFI_RecordAction action, ccw_recorder **out_recorder)
{
  CCW_TRY(enter(id, out_recorder));
  if ((*out_recorder)->action == action) return ccw_ok();
  return action == XLA_FFI_RecordAction_Create
             ? ccw_failed_precondition("the action is Update: the commands are made, and may be updated only")
             : ccw_failed_precondition("the action is Create: there is nothing to update yet");
}

static XLA_FFI_Error *leave(const char *function, ccw_status status)
{
  pthread_mutex_unlock(&lock);
  return status.code ? ccw_error_of_status(ccw_status_in(status, function)) : NULL;
}

static XLA_FFI_Error *create_launch(XLA_FFI_RecordContext *ctx, const char *kernel_name, const void *kernel_data,
    int64_t kernel_size, XLA_FFI_SourceFormat format, XLA_FFI_LaunchDims launch_dims, uint32_t shared_mem_bytes,
    int32_t uses_pdl, const XLA_FFI_KernelArgs *args, const XLA_FFI_Command *const *dependencies,
    uint32_t num_dependencies, const XLA_FFI_Command **out_command)
{
  ccw_recorder *recorder;
  ccw_status status = enter_for(ctx, XLA_FFI_RecordAction_Create, &recorder);
  command launch = {.kind = LAUNCH,
      .format = format,
      .kernel = kernel_data,
      .kernel_size = kernel_size,
      .dims = launch_dims,
      .shared_bytes = shared_mem_bytes,
      .pdl = uses_pdl != 0};
  if (!status.code)
    status = add_launch(recorder, launch, kernel_name, args, dependencies, num_dependencies, out_command);
  return leave("create_launch", status);
}

static ccw_status set_arguments(ccw_recorder *recorder, const XLA_FFI_Command *id, const XLA_FFI_KernelArgs *args)
{
  CCW_TRY_LET(command *, launch, find_to_update, recorder, id, LAUNCH);
  CCW_TRY_LET(arguments *, new, copy_arguments, args);
  ccw_status status = check_same_parameters(launch->arguments, new);
  arguments *unused = status.code ? new : launch->arguments;
  if (!status.code) launch->arguments = new;
  ccw_release(unused, unused->size);
  return status;
}

static XLA_FFI_Error *update_launch(
    XLA_FFI_RecordContext *ctx, const XLA_FFI_Command *id, const XLA_FFI_KernelArgs *args)
{
  ccw_recorder *recorder;
  ccw_status status = enter_for(ctx, XLA_FFI_RecordAction_Update, &recorder);
  if (!status.code) status = set_arguments(recorder, id, args);
  return leave("update_launch", status);
}

static XLA_FFI_Error *create_memcpy_d2d(XLA_FFI_RecordContext *ctx, void *dst, void *src, int64_t size,
    const XLA_FFI_Command *const *dependencies, uint32_t num_dependencies, const XLA_FFI_Command **out_command)
{
  ccw_recorder *recorder;
  ccw_status status = enter_for(ctx, XLA_FFI_RecordAction_Create, &recorder);
  command copy = {.kind = MEMCPY, .to = dst, .from = src, .bytes = size};
  if (!status.code) status = check_memcpy(dst, src, size);
  if (!status.code) status = add(recorder, copy, dependencies, num_dependencies, out_command);
  return leave("create_memcpy_d2d", status);
}

static ccw_status set_memcpy(
    ccw_recorder *recorder, const XLA_FFI_Command *id, void *to, const void *from, int64_t bytes)
{
  CCW_TRY_LET(command *, copy, find_to_update, recorder, id, MEMCPY);
  CCW_TRY(check_memcpy(to, from, bytes));
  copy->to = to;
  copy->from = from;
  copy->bytes = bytes;
  return ccw_ok();
}

static XLA_FFI_Error *update_memcpy_d2d(
    XLA_FFI_RecordContext *ctx, const XLA_FFI_Command *id, void *dst, void *src, int64_t size)
{
  ccw_recorder *recorder;
  ccw_status status = enter_for(ctx, XLA_FFI_RecordAction_Update, &recorder);
  if (!status.code) status = set_memcpy(recorder, id, dst, src, size);
  return leave("update_memcpy_d2d", status);
}

static XLA_FFI_Error *request_stream_capture(XLA_FFI_RecordContext *ctx)
{
  ccw_recorder *recorder;
  ccw_status status = enter(ctx, &recorder);
  if (!status.code) recorder->captures = true;
  return leave("request_stream_capture", status);
}

static XLA_FFI_Error *create_empty_command(XLA_FFI_RecordContext *ctx, const XLA_FFI_Command *const *dependencies,
    uint32_t num_dependencies, const XLA_FFI_Command **out_command)
{
  ccw_recorder *recorder;
  ccw_status status = enter_for(ctx, XLA_FFI_RecordAction_Create, &recorder);
  if (!status.code) status = add(recorder, (command){.kind = EMPTY}, dependencies, num_dependencies, out_command);
  return leave("create_empty_command", status);
}

static const XLA_FFI_RecordApi table = {
    .create_launch = create_launch,
    .update_launch = update_launch,
    .create_memcpy_d2d = create_memcpy_d2d,
    .update_memcpy_d2d = update_memcpy_d2d,
    .request_stream_capture = request_stream_capture,
    .create_empty_command = create_empty_command,
};

/* ---- recorders ------------------------------------------------------------------------------------------------------ */

ccw_status ccw_recorder_new(int api_minor, ccw_recorder **out_recorder)
{
  if (api_minor < 4)
    return ccw_invalid("stage record: expected a handler of FFI API 0.4 or later, got 0.%d", api_minor);
  ccw_recorder *recorder = ccw_allocate_zeroed(sizeof *recorder);
  if (!recorder) return ccw_no_memory(sizeof *recorder);
  recorder->minor = api_minor < 5 ? 1 : XLA_FFI_Extension_Record_MinorVersion;
  recorder->extension.extension_base = (XLA_FFI_Extension){.struct_size = XLA_FFI_Record_Extension_STRUCT_SIZE,
      .id = {XLA_FFI_Extension_Record, XLA_FFI_Extension_Record_MajorVersion, recorder->minor}};
  recorder->extension.record_frame = &recorder->frame;
  pthread_mutex_lock(&lock);
  recorder->id = new_id();
  recorder->next = recorders;
  recorders = recorder;
  pthread_mutex_unlock(&lock);
  *out_recorder = recorder;
  return ccw_ok();
}

void ccw_recorder_free(ccw_recorder *recorder)
{
  if (!recorder) return;
  pthread_mutex_lock(&lock);
  ccw_recorder **place = &recorders;
  while (*place != recorder) place = &(*place)->next;
  *place = recorder->next;
  drop_commands(recorder);
  pthread_mutex_unlock(&lock);
  ccw_release(recorder, sizeof *recorder);
}

const XLA_FFI_Extension *ccw_recorder_extension(const ccw_recorder *recorder)
{
  return &recorder->extension.extension_base;
}

static ccw_status begin(ccw_recorder *recorder, XLA_FFI_RecordAction action)
{
  if (action != XLA_FFI_RecordAction_Create && action != XLA_FFI_RecordAction_Update)
    return ccw_invalid("record: expected the action Create (0) or Update (1), got %d", (int)action);
  if (recorder->under_way) return ccw_failed_precondition("record: a recording is under way");
  if (action == XLA_FFI_RecordAction_Update && !recorder->created)
    return ccw_failed_precondition("record: there are no commands to update, since none were created");

  if (action == XLA_FFI_RecordAction_Create) drop_commands(recorder);
  recorder->under_way = true;
  recorder->action = action;
  recorder->captures = false;
  recorder->listed_count = recorder->count;
  memset(recorder->listed, 0, sizeof recorder->listed);
  for (int64_t i = 0; i < recorder->count; ++i) recorder->listed[i] = recorder->created_list[i];
  recorder->frame = (XLA_FFI_RecordFrame){.record_ctx = (XLA_FFI_RecordContext *)(uintptr_t)recorder->id,
      .api = &table,
      .action = action,
      .commands = recorder->listed,
      .num_commands = &recorder->listed_count,
      .max_commands = MOST};
  return ccw_ok();
}

ccw_status ccw_recorder_begin(ccw_recorder *recorder, XLA_FFI_RecordAction action)
{
  pthread_mutex_lock(&lock);
  ccw_status status = begin(recorder, action);
  pthread_mutex_unlock(&lock);
  return status;
}

/* After Create: the list holds every command, once, in any order. */
static ccw_status check_created(const ccw_recorder *recorder)
{
  uint32_t seen = 0;
  for (int64_t i = 0; i < recorder->listed_count; ++i) {
    int64_t position = position_of(recorder, recorder->listed[i]);
    if (position < 0)
      return ccw_invalid(
          "commands[%lld]: 0x%llx is no command of this recording", (long long)i, number_of(recorder->listed[i]));
    if (seen >> position & 1)
      return ccw_invalid("commands[%lld]: command %lld is there a second time", (long long)i, (long long)position);
    seen |= UINT32_C(1) << position;
  }
  for (int64_t i = 0; i < recorder->count; ++i)
    if (!(seen >> i & 1)) return ccw_invalid("commands: command %lld was recorded and is not among them", (long long)i);
  return ccw_ok();
}

/* After Update: the list is as Create has left it. */
static ccw_status check_updated(const ccw_recorder *recorder)
{
  if (recorder->captures != recorder->created_by_capture)
    return ccw_invalid(recorder->captures ? "stream capture was requested now, and not when the commands were created"
                                          : "stream capture was requested when the commands were created, and not now");
  if (recorder->listed_count != recorder->count)
    return ccw_invalid("num_commands: expected %lld, as when they were created, got %lld", (long long)recorder->count,
        (long long)recorder->listed_count);
  for (int64_t i = 0; i < recorder->count; ++i)
    if (recorder->listed[i] != recorder->created_list[i])
      return ccw_invalid("commands[%lld]: another than when they were created", (long long)i);
  return ccw_ok();
}

static ccw_status check_list(const ccw_recorder *recorder)
{
  int64_t listed = recorder->listed_count;
  if (listed < 0 || listed > MOST)
    return ccw_invalid("num_commands: expected 0 to %d, got %lld", MOST, (long long)listed);
  for (int i = MOST; i < MOST + BEYOND; ++i)
    if (recorder->listed[i]) return ccw_invalid("commands: written to behind the %d that there is room for", MOST);
  if (recorder->captures && (listed > 0 || recorder->count > 0))
    return ccw_invalid("stream capture was requested: expected no commands, got %lld",
        (long long)(listed > recorder->count ? listed : recorder->count));
  return recorder->action == XLA_FFI_RecordAction_Create ? check_created(recorder) : check_updated(recorder);
}

static ccw_status end(ccw_recorder *recorder)
{
  if (!recorder->under_way) return ccw_failed_precondition("record: no recording is under way");
  recorder->under_way = false;
  ccw_status status = check_list(recorder);
  if (recorder->action == XLA_FFI_RecordAction_Update) return status;
  if (status.code) {
    drop_commands(recorder);
    return status;
  }
  recorder->created = true;
  recorder->created_by_capture = recorder->captures;
  memcpy(recorder->created_list, recorder->listed, sizeof recorder->created_list);
  return ccw_ok();
}

ccw_status ccw_recorder_end(ccw_recorder *recorder)
{
  pthread_mutex_lock(&lock);
  ccw_status status = end(recorder);
  pthread_mutex_unlock(&lock);
  return status;
}

void ccw_recorder_cancel(ccw_recorder *recorder)
{
  pthread_mutex_lock(&lock);
  if (recorder->under_way && recorder->action == XLA_FFI_RecordAction_Create) drop_commands(recorder);
  recorder->under_way = false;
  pthread_mutex_unlock(&lock);
}

/* ---- replay --------------------------------------------------------------------------------------------------------- */

static ccw_status cannot_launch(int64_t position, const command *launch)
{
  ccw_text text = {0};
  ccw_text_add(&text, "replay: command %lld launches the kernel '", (long long)position);
  ccw_text_add_escaped(&text, launch->name, strlen(launch->name));
  ccw_text_add(&text, "', which a CPU cannot");
  return ccw_status_of_text(XLA_FFI_Error_Code_UNIMPLEMENTED, &text);
}

static ccw_status replay(const ccw_recorder *recorder)
{
  if (recorder->under_way) return ccw_failed_precondition("replay: a recording is under way");
  if (!recorder->created) return ccw_failed_precondition("replay: nothing was recorded");
  if (recorder->created_by_capture)
    return ccw_unimplemented("replay: stream capture was requested, and a CPU has no stream");
  for (int64_t i = 0; i < recorder->count; ++i)
    if (recorder->commands[i].kind == LAUNCH) return cannot_launch(i, &recorder->commands[i]);
  for (int64_t i = 0; i < recorder->count; ++i) { /* dependencies are earlier commands */
    const command *copy = &recorder->commands[i];
    if (copy->kind == MEMCPY && copy->bytes > 0) memmove(copy->to, copy->from, (size_t)copy->bytes);
  }
  return ccw_ok();
}

ccw_status ccw_recorder_replay(const ccw_recorder *recorder)
{
  pthread_mutex_lock(&lock);
  ccw_status status = replay(recorder);
  pthread_mutex_unlock(&lock);
  return status;
}

/* ---- print ---------------------------------------------------------------------------------------------------------- */

static void print_dim3(ccw_text *text, const char *of, XLA_FFI_Dim3 dim3)
{
  ccw_text_add(text, " %s %dx%dx%d", of, (int)dim3.x, (int)dim3.y, (int)dim3.z);
}

static void print_launch(ccw_text *text, const command *launch)
{
  ccw_text_add(text, "launch '");
  ccw_text_add_escaped(text, launch->name, strlen(launch->name));
  if (launch->format == XLA_FFI_SourceFormat_FUNCTION_PTR)
    ccw_text_add(text, "' function 0x%llx", number_of(launch->kernel));
  else
    ccw_text_add(text, "' %s (%lld bytes)", launch->format == XLA_FFI_SourceFormat_PTX ? "ptx" : "cubin",
        (long long)launch->kernel_size);
  print_dim3(text, "grid", launch->dims.grid);
  print_dim3(text, "block", launch->dims.block);
  if (has_clusters(launch)) print_dim3(text, "cluster", launch->dims.cluster);
  ccw_text_add(text, " shared %lu%s, args:", (unsigned long)launch->shared_bytes, launch->pdl ? " pdl" : "");
  const arguments *args = launch->arguments;
  if (args->count == 0) ccw_text_add(text, " none");
  for (int64_t i = 0; i < args->count; ++i) {
    const argument *one = &args->list[i];
    const char *before = i > 0 ? ", " : " ";
    if (one->type == XLA_FFI_KernelArgType_DevicePtr)
      ccw_text_add(text, "%sdevice 0x%llx", before, number_of(one->address));
    else
      ccw_text_add(text, "%shost %lld bytes", before, (long long)one->size);
  }
}

static void print_command(ccw_text *text, int64_t position, const command *one)
{
  ccw_text_add(text, "%lld: ", (long long)position);
  switch (one->kind) {
  case LAUNCH: print_launch(text, one); break;
  case MEMCPY:
    ccw_text_add(text, "memcpy %lld bytes from 0x%llx to 0x%llx", (long long)one->bytes, number_of(one->from),
        number_of(one->to));
    break;
  case EMPTY: ccw_text_add(text, "empty"); break;
  }
  ccw_text_add(text, "; after:");
  const char *before = " ";
  for (int i = 0; i < MOST; ++i) {
    if (!(one->after >> i & 1)) continue;
    ccw_text_add(text, "%s%d", before, i);
    before = ", ";
  }
  ccw_text_add(text, one->after ? "\n" : " none\n");
}

void ccw_recorder_print(const ccw_recorder *recorder, ccw_text *text)
{
  pthread_mutex_lock(&lock);
  for (int64_t i = 0; i < recorder->count; ++i) print_command(text, i, &recorder->commands[i]);
  if (recorder->under_way ? recorder->captures : recorder->created && recorder->created_by_capture)
    ccw_text_add(text, "stream capture requested\n");
  pthread_mutex_unlock(&lock);
}

/* Calls every slot of the function table from a handler, with structs of every size that a caller may have, and of sizes that none
 * may have. They end where memory ends, so that nothing behind them can be read or written. Prints a line for each promise that is
 * broken. */
#define _GNU_SOURCE
#include <ccw/ccw.h>

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int broken;
static char now[128]; /* what is being done */

#define EXPECT(condition)                                             \
  do {                                                                \
    if (!(condition)) {                                               \
      printf("line %d: %s: not so: %s\n", __LINE__, now, #condition); \
      ++broken;                                                       \
    }                                                                 \
  } while (0)

/* ---- structs at the end of memory ------------------------------------------------------------------------------------ */

static char *end;

static void make_end(void)
{
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED || mprotect(pages + page, page, PROT_NONE) != 0) abort();
  end = pages + page;
}

static void die(int number)
{
  (void)number;
  static const char text[] = ": went beyond the struct\n";
  ssize_t ignored = write(STDOUT_FILENO, now, strlen(now));
  ignored = write(STDOUT_FILENO, text, sizeof text - 1);
  (void)ignored;
  _exit(1);
}

/* A copy of the first bytes of a struct that has `size` of them, which end where memory ends; what a struct does not have is filled
 * with ones. A sanitizer wants structs where they may be. */
static void *place(const void *args, size_t args_size, size_t size)
{
#ifdef ALIGNED
  char *at = end - (size + 7) / 8 * 8;
#else
  char *at = end - size;
#endif
  memset(at, 0x11, (size_t)(end - at));
  return memcpy(at, args, args_size < size ? args_size : size);
}

static bool is_untouched(const char *from, size_t size)
{
  while (size > 0 && *from == 0x11) ++from, --size;
  return size == 0;
}

/* ---- calls ----------------------------------------------------------------------------------------------------------- */

static const XLA_FFI_Api *api;

static XLA_FFI_Error_Code code; /* that came last, with its text */
static char text[256];

/* Takes note of an error, and destroys it. */
static XLA_FFI_Error_Code take(XLA_FFI_Error *error)
{
  code = XLA_FFI_Error_Code_OK;
  *text = '\0';
  if (!error) return code;
  XLA_FFI_Error_GetDetails_Args details = {XLA_FFI_Error_GetDetails_Args_STRUCT_SIZE, NULL, error, NULL, 0};
  api->XLA_FFI_Error_GetDetails(&details);
  snprintf(text, sizeof text, "%s", details.message);
  code = details.errc;
  XLA_FFI_Error_Destroy_Args destroy = {XLA_FFI_Error_Destroy_Args_STRUCT_SIZE, NULL, error};
  api->XLA_FFI_Error_Destroy(&destroy);
  return code;
}

/* Calls a slot with `has` bytes of memory for a struct that says `says`; `args` are what is given and what comes back. */
#define CALL(NAME, args, says, has)                                                                      \
  do {                                                                                                   \
    snprintf(now, sizeof now, "%s, %zu bytes of %zu", #NAME, (size_t)(has), (size_t)(says));             \
    (args).struct_size = says;                                                                           \
    NAME##_Args *placed = place(&(args), sizeof(args), has);                                             \
    take(api->NAME(placed));                                                                             \
    memcpy(&(args), placed, (has) < sizeof(args) ? (has) : sizeof(args));                                \
    if ((has) > sizeof(args)) EXPECT(is_untouched((char *)placed + sizeof(args), (has) - sizeof(args))); \
  } while (0)

/* Every size below `least` is refused with both numbers, but for one. The first field must be there. */
#define REFUSES(NAME, least, except, ...)                                                                        \
  for (size_t size = sizeof(size_t); size < (size_t)(least); ++size) {                                           \
    if (size == (size_t)(except)) continue;                                                                      \
    NAME##_Args args = {.extension_start = NULL, __VA_ARGS__};                                                   \
    char expected[256];                                                                                          \
    CALL(NAME, args, size, size);                                                                                \
    snprintf(expected, sizeof expected, "%s_Args: expected at least %zu bytes, got %zu; API 0.5 is spoken here", \
        #NAME, (size_t)(least), size);                                                                           \
    EXPECT(code == XLA_FFI_Error_Code_INVALID_ARGUMENT);                                                         \
    EXPECT(strcmp(text, expected) == 0);                                                                         \
  }

/* Answers to the struct as it is, to one padded and to a larger one, with that code. */
#define ACCEPTS(NAME, wanted, check, ...)                                                            \
  do {                                                                                               \
    const size_t sizes[] = {NAME##_Args_STRUCT_SIZE, sizeof(NAME##_Args), sizeof(NAME##_Args) + 40}; \
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {                                      \
      NAME##_Args args = {.extension_start = NULL, __VA_ARGS__};                                     \
      CALL(NAME, args, sizes[i], sizes[i]);                                                          \
      EXPECT(code == XLA_FFI_Error_Code_##wanted);                                                   \
      EXPECT(check);                                                                                 \
    }                                                                                                \
  } while (0)

/* And refuses what is too small. */
#define ANSWERS(NAME, wanted, check, ...)                  \
  do {                                                     \
    REFUSES(NAME, NAME##_Args_STRUCT_SIZE, 0, __VA_ARGS__) \
    ACCEPTS(NAME, wanted, check, __VA_ARGS__);             \
  } while (0)

/* ---- the slots ------------------------------------------------------------------------------------------------------- */

static void errors(void)
{
  ANSWERS(
      XLA_FFI_Error_Create, DATA_LOSS, strcmp(text, "m") == 0, .message = "m", .errc = XLA_FFI_Error_Code_DATA_LOSS);

  XLA_FFI_Error_Create_Args create = {XLA_FFI_Error_Create_Args_STRUCT_SIZE, NULL, "text", XLA_FFI_Error_Code_ABORTED};
  XLA_FFI_Error *error = api->XLA_FFI_Error_Create(&create);
  enum { WITHOUT_CODE = 32 };
  for (size_t size = sizeof(size_t); size <= sizeof(XLA_FFI_Error_GetDetails_Args) + 16; ++size) {
    XLA_FFI_Error_GetDetails_Args details = {size, NULL, error, NULL, XLA_FFI_Error_Code_OK};
    snprintf(now, sizeof now, "XLA_FFI_Error_GetDetails, %zu bytes", size);
    XLA_FFI_Error_GetDetails_Args *placed = place(&details, sizeof details, size);
    api->XLA_FFI_Error_GetDetails(placed);
    memcpy(&details, placed, size < sizeof details ? size : sizeof details);
    EXPECT((details.message != NULL) == (size >= WITHOUT_CODE));
    EXPECT((details.errc == XLA_FFI_Error_Code_ABORTED) == (size >= XLA_FFI_Error_GetDetails_Args_STRUCT_SIZE));
  }
  int64_t before = ccw_memory_in_use().blocks;
  for (size_t size = sizeof(size_t); size <= XLA_FFI_Error_Destroy_Args_STRUCT_SIZE; ++size) {
    XLA_FFI_Error_Destroy_Args destroy = {size, NULL, error};
    snprintf(now, sizeof now, "XLA_FFI_Error_Destroy, %zu bytes", size);
    api->XLA_FFI_Error_Destroy(place(&destroy, sizeof destroy, size));
    EXPECT(ccw_memory_in_use().blocks == before - (size == XLA_FFI_Error_Destroy_Args_STRUCT_SIZE));
  }
}

static XLA_FFI_Error *other(XLA_FFI_CallFrame *frame);

static bool is_registered(const char *name, bool records)
{
  ccw_handler *handler;
  ccw_status status = ccw_registry_find(name, strlen(name), "Host", 4, &handler);
  if (status.code) {
    ccw_status_free(status);
    return false;
  }
  ccw_handler_info info = ccw_handler_describe(handler);
  bool good = info.bundle.execute == other && info.bundle.prepare == other && !info.bundle.instantiate &&
              info.traits == XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE &&
              (info.bundle.record == other) == records;
  ccw_handler_release(handler);
  return good;
}

/* Before 0.4 the bundle had four functions. */
typedef struct old_register_args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_ByteSpan name, platform;
  XLA_FFI_Handler *instantiate, *prepare, *initialize, *execute;
  XLA_FFI_Handler_Traits traits;
} old_register_args;

static void registration(void)
{
  enum { OLD = offsetof(old_register_args, traits) + sizeof(XLA_FFI_Handler_Traits) };
  REFUSES(XLA_FFI_Handler_Register, XLA_FFI_Handler_Register_Args_STRUCT_SIZE, OLD, .name = {"sizes", 5})
  old_register_args old = {.struct_size = OLD,
      .name = {"sizes.old", 9},
      .platform = {"Host", 4},
      .prepare = other,
      .execute = other,
      .traits = XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE};
  snprintf(now, sizeof now, "XLA_FFI_Handler_Register, %d bytes", (int)OLD);
  EXPECT(take(api->XLA_FFI_Handler_Register(place(&old, sizeof old, OLD))) == 0);
  EXPECT(is_registered("sizes.old", false));
  const size_t sizes[] = {XLA_FFI_Handler_Register_Args_STRUCT_SIZE, sizeof(XLA_FFI_Handler_Register_Args),
      sizeof(XLA_FFI_Handler_Register_Args) + 40};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    XLA_FFI_Handler_Register_Args args = {.name = {"sizes.new", 9},
        .platform = {"Host", 4},
        .bundle = {.prepare = other, .execute = other, .record = other},
        .traits = XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE};
    CALL(XLA_FFI_Handler_Register, args, sizes[i], sizes[i]);
    EXPECT(code == XLA_FFI_Error_Code_OK && is_registered("sizes.new", true));
  }
}

static void delete_nothing(void *object) { (void)object; }

/* Whether the type that was registered last may be state. */
static bool last_is_state(void)
{
  ccw_text name = {0};
  int64_t id;
  bool is_state = false;
  EXPECT(ccw_state_type_at(0, &name, &id, &is_state));
  ccw_text_free(&name);
  return is_state;
}

/* Registers one with such memory behind the 40 bytes that the size says: none, an info, or what is none. */
static void register_type(const char *name, size_t has, const void *info, bool is_state)
{
  static XLA_FFI_TypeId ids[16];
  static int count;
  XLA_FFI_Type_Register_Args args = {.name = {name, strlen(name)}, .type_id = &ids[count++], .type_info = info};
  CALL(XLA_FFI_Type_Register, args, XLA_FFI_Type_Register_Args_STRUCT_SIZE, has);
  EXPECT(code == XLA_FFI_Error_Code_OK && args.type_id->type_id > 0);
  EXPECT(last_is_state() == is_state);
}

static void types(void)
{
  REFUSES(XLA_FFI_Type_Register, XLA_FFI_Type_Register_Args_STRUCT_SIZE, 0, .name = {"t", 1})
  static const XLA_FFI_TypeInfo info = {XLA_FFI_TypeInfo_STRUCT_SIZE, NULL, delete_nothing};
  static const XLA_FFI_TypeInfo small = {XLA_FFI_TypeInfo_STRUCT_SIZE - 1, NULL, delete_nothing}, none = {0};
  static XLA_FFI_TypeInfo wild = {XLA_FFI_TypeInfo_STRUCT_SIZE, NULL, NULL};
  void *data = &wild;
  memcpy(&wild.deleter, &data, sizeof data); /* no code */
  register_type("sizes.0_1", 40, NULL, false);
  register_type("sizes.info", 48, &info, true);
  register_type("sizes.null", 48, NULL, false);
  register_type("sizes.odd", 48, (const void *)(uintptr_t)3, false);
  register_type("sizes.unreadable", 48, end, false);
  register_type("sizes.half", 48, end - 8, false);
  register_type("sizes.small", 48, &small, false);
  register_type("sizes.none", 48, &none, false);
  register_type("sizes.wild", 48, &wild, false);
}

static void context(XLA_FFI_InvokeContext *ctx)
{
  static XLA_FFI_TypeId unknown = {1 << 20};
  int64_t threads = 0;
  ANSWERS(XLA_FFI_Stream_Get, UNIMPLEMENTED, true, .ctx = ctx);
  ANSWERS(XLA_FFI_InvokeContext_Get, FAILED_PRECONDITION, true, .ctx = ctx, .type_id = &unknown);
  ANSWERS(XLA_FFI_ThreadPool_Schedule, INVALID_ARGUMENT, true, .ctx = ctx);
  ANSWERS(XLA_FFI_ThreadPool_NumThreads, OK, threads == ccw_pool_size(), .ctx = ctx, .num_threads = &threads);
  ANSWERS(XLA_FFI_RunId_Get, OK, args.run_id == 77, .ctx = ctx);
  ANSWERS(XLA_FFI_DeviceOrdinal_Get, OK, args.device_ordinal == 5, .ctx = ctx);
  ANSWERS(XLA_FFI_InvokeContext_FindExtension, OK, !args.extension, .ctx = ctx, .extension_type = 128);
  ANSWERS(XLA_FFI_CustomOptions_Get, OK, args.attrs->size == 0, .ctx = ctx);

  /* The official binding says 40 of these 32 bytes. */
  XLA_FFI_RunId_Get_Args run_id = {.ctx = ctx};
  CALL(XLA_FFI_RunId_Get, run_id, 40, sizeof run_id);
  EXPECT(code == XLA_FFI_Error_Code_OK && run_id.run_id == 77);
}

static void scratch(XLA_FFI_InvokeContext *ctx)
{
  void *data = NULL;
  ANSWERS(XLA_FFI_DeviceMemory_Allocate, OK, (data = args.data), .ctx = ctx, .size = 24, .alignment = 8);
  REFUSES(XLA_FFI_DeviceMemory_Free, XLA_FFI_DeviceMemory_Free_Args_STRUCT_SIZE, 0, .ctx = ctx)
  XLA_FFI_DeviceMemory_Free_Args args = {.ctx = ctx, .size = 24, .data = data};
  CALL(XLA_FFI_DeviceMemory_Free, args, sizeof args, sizeof args);
  EXPECT(code == XLA_FFI_Error_Code_OK);
}

static void futures(void)
{
  XLA_FFI_Future *future = NULL;
  REFUSES(XLA_FFI_Future_Create, XLA_FFI_Future_Create_Args_STRUCT_SIZE, 0, .future = NULL)
  for (int i = 0; i < 2; ++i) { /* the size ends in front of what comes back */
    XLA_FFI_Future_Create_Args create = {0};
    size_t says = i == 0 ? XLA_FFI_Future_Create_Args_STRUCT_SIZE : sizeof create;
    CALL(XLA_FFI_Future_Create, create, says, sizeof create);
    future = create.future;
    EXPECT(code == XLA_FFI_Error_Code_OK && future);
  }
  REFUSES(XLA_FFI_Future_SetAvailable, XLA_FFI_Future_SetAvailable_Args_STRUCT_SIZE, 0, .future = future)
  REFUSES(XLA_FFI_Future_SetError, XLA_FFI_Future_SetError_Args_STRUCT_SIZE, 0, .future = future)
  XLA_FFI_Future_SetError_Args set_error = {.future = future};
  CALL(XLA_FFI_Future_SetError, set_error, sizeof set_error, sizeof set_error);
  EXPECT(code == XLA_FFI_Error_Code_INVALID_ARGUMENT);
  XLA_FFI_Future_SetAvailable_Args available = {.future = future};
  CALL(XLA_FFI_Future_SetAvailable, available, sizeof available, sizeof available);
  EXPECT(code == XLA_FFI_Error_Code_OK);
}

/* ---- state ----------------------------------------------------------------------------------------------------------- */

static XLA_FFI_TypeId state_type;
static int a_state, states_deleted;

static void delete_state(void *object) { states_deleted += object == &a_state; }

/* Of 0.1 and 0.2: no stage. */
typedef struct old_state_args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_InvokeContext *ctx;
  XLA_FFI_TypeId *type_id;
  void *state;
} old_state_args;

static XLA_FFI_Error_Code use_old_state(
    XLA_FFI_Error *(*slot)(const void *args), XLA_FFI_InvokeContext *ctx, void *state, void **out_state)
{
  old_state_args args = {sizeof args, NULL, ctx, &state_type, state};
  snprintf(now, sizeof now, "state, %zu bytes", sizeof args);
  old_state_args *placed = place(&args, sizeof args, sizeof args);
  take(slot(placed));
  *out_state = placed->state;
  return code;
}

static XLA_FFI_Error *set_state(const void *args)
{
  return api->XLA_FFI_State_Set((XLA_FFI_State_Set_Args *)(uintptr_t)args);
}

static XLA_FFI_Error *get_state(const void *args)
{
  return api->XLA_FFI_State_Get((XLA_FFI_State_Get_Args *)(uintptr_t)args);
}

static void set_states(XLA_FFI_InvokeContext *ctx)
{
  void *ignored;
  REFUSES(XLA_FFI_State_Set, XLA_FFI_State_Set_Args_STRUCT_SIZE, sizeof(old_state_args), .ctx = ctx)
  EXPECT(use_old_state(set_state, ctx, &a_state, &ignored) == XLA_FFI_Error_Code_OK);
  XLA_FFI_State_Set_Args args = {.ctx = ctx, .type_id = &state_type, .state = &a_state};
  CALL(XLA_FFI_State_Set, args, sizeof args, sizeof args);
  EXPECT(code == XLA_FFI_Error_Code_FAILED_PRECONDITION); /* there is state already */
}

static void get_states(XLA_FFI_InvokeContext *ctx)
{
  void *found = NULL;
  REFUSES(XLA_FFI_State_Get, XLA_FFI_State_Get_Args_STRUCT_SIZE, sizeof(old_state_args), .ctx = ctx)
  EXPECT(use_old_state(get_state, ctx, NULL, &found) == XLA_FFI_Error_Code_OK && found == &a_state);
  ACCEPTS(XLA_FFI_State_Get, OK, args.state == &a_state, .ctx = ctx, .type_id = &state_type);
}

/* ---- handlers -------------------------------------------------------------------------------------------------------- */

static bool answer_metadata(const XLA_FFI_CallFrame *frame)
{
  const XLA_FFI_InternalExtension *extension = frame->extension_start;
  if (!extension || extension->type != XLA_FFI_Extension_Metadata) return false;
  XLA_FFI_Metadata *metadata = ((const XLA_FFI_Metadata_Extension *)extension)->metadata;
  metadata->api_version.minor_version = XLA_FFI_API_MINOR;
  return true;
}

static XLA_FFI_Error *other(XLA_FFI_CallFrame *frame)
{
  answer_metadata(frame);
  return NULL;
}

static XLA_FFI_Error *instantiate(XLA_FFI_CallFrame *frame)
{
  if (!answer_metadata(frame)) set_states(frame->ctx);
  return NULL;
}

static XLA_FFI_Error *execute(XLA_FFI_CallFrame *frame)
{
  if (answer_metadata(frame)) return NULL;
  errors();
  registration();
  types();
  context(frame->ctx);
  scratch(frame->ctx);
  futures();
  get_states(frame->ctx);
  return NULL;
}

static bool succeeds(ccw_status status)
{
  if (status.code) printf("%s\n", ccw_status_text(status));
  bool good = !status.code;
  ccw_status_free(status);
  return good;
}

int main(void)
{
  make_end();
  signal(SIGSEGV, die);
  signal(SIGBUS, die);
  api = XLA_FFI_GetApi();
  const XLA_FFI_TypeInfo info = {XLA_FFI_TypeInfo_STRUCT_SIZE, NULL, delete_state};
  EXPECT(succeeds(ccw_state_type_register("sizes.state", 11, &state_type, &info)));
  ccw_handler *handler = NULL;
  ccw_call *call = NULL;
  ccw_call_options options = {.run_id = 77, .device_ordinal = 5};
  XLA_FFI_Handler_Bundle bundle = {.instantiate = instantiate, .execute = execute};
  if (!succeeds(ccw_handler_new("sizes", &bundle, 0, NULL, &handler)) ||
      !succeeds(ccw_call_prepare(handler, NULL, 0, NULL, 0, NULL, &options, &call)))
    return 1;
  EXPECT(succeeds(ccw_call_run(call)));
  ccw_call_free(call);
  ccw_handler_release(handler);
  EXPECT(states_deleted == 1);
  if (!broken) printf("nothing broken\n");
  return broken > 0;
}

/* gpu.c: the backend of GPUs against a stand-in driver, which LD_LIBRARY_PATH leads to.
 *
 *   gpu cuda|rocm FOLDER    everything, with files written into the folder
 *   gpu visit               what there is, and what each lacks
 *   gpu begin NAME [LIBRARY]  opens the device and begins to capture; the library is there before
 *
 * Prints a line for each promise that is broken, then how many there are. */
#include <ccw/ccw.h>
#include <ccw/handler.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>

#include "expect.h"
#include "stand_in.h"

/* ---- what the two vendors call things -------------------------------------------------------------------------------- */

static bool is_cuda;
static const char *family, *architecture;
static const char *folder;

typedef struct words {
  const char *cuda, *rocm, *text;
} words;

static const words invalid_value = {"CUDA_ERROR_INVALID_VALUE", "hipErrorInvalidValue", "invalid argument"};
static const words out_of_memory = {"CUDA_ERROR_OUT_OF_MEMORY", "hipErrorOutOfMemory", "out of memory"};
static const words not_ready = {"CUDA_ERROR_NOT_READY", "hipErrorNotReady", "device not ready"};
static const words illegal_address = {
    "CUDA_ERROR_ILLEGAL_ADDRESS", "hipErrorIllegalAddress", "an illegal memory access was encountered"};
static const words illegal_state = {
    "CUDA_ERROR_ILLEGAL_STATE", "hipErrorIllegalState", "the operation cannot be performed in the present state"};
static const words unsupported = {"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "hipErrorStreamCaptureUnsupported",
    "operation not permitted when stream is capturing"};
static const words invalidated = {"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "hipErrorStreamCaptureInvalidated",
    "operation failed due to a previous error during capture"};
static const words invalid_image = {
    "CUDA_ERROR_INVALID_IMAGE", "hipErrorInvalidImage", "device kernel image is invalid"};
static const words no_binary = {"CUDA_ERROR_NO_BINARY_FOR_GPU", "hipErrorNoBinaryForGpu",
    "no kernel image is available for execution on the device"};
static const words unjoined = {
    "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "hipErrorStreamCaptureUnjoined", "capturing stream has unjoined work"};
static const words invalid_handle = {"CUDA_ERROR_INVALID_HANDLE", "hipErrorInvalidHandle", "invalid resource handle"};

/* "CUDA_ERROR_INVALID_VALUE: invalid argument"; for one message at a time. */
static const char *vendor_says(const words *w)
{
  static _Thread_local char text[256];
  snprintf(text, sizeof text, "%s: %s", is_cuda ? w->cuda : w->rocm, w->text);
  return text;
}

/* ---- the driver ------------------------------------------------------------------------------------------------------ */

static void (*fail)(const char *function, int nth, int error);
static bool (*failed)(void);
static int (*live)(char *text, size_t size);
static int (*get_current_context)(void **context);
static int (*get_device)(int *device);
static int (*get_last_error)(void);

static void find(void *library, const char *name, void *function)
{
  void *address = dlsym(library, name);
  if (!address) printf("the driver has no %s: it is none of ours\n", name), exit(1);
  memcpy(function, &address, sizeof address);
}

static void find_driver(void)
{
  void *library = dlopen(is_cuda ? "libcuda.so.1" : "libamdhip64.so.6", RTLD_NOW);
  if (!library) printf("%s\n", dlerror()), exit(1);
  find(library, "stand_in_fail", &fail);
  find(library, "stand_in_failed", &failed);
  find(library, "stand_in_live", &live);
  if (is_cuda) {
    find(library, "cuCtxGetCurrent", &get_current_context);
  } else {
    find(library, "hipGetDevice", &get_device);
    find(library, "hipGetLastError", &get_last_error);
  }
}

/* The driver's name of a function. */
static const char *named(const char *cuda, const char *rocm) { return is_cuda ? cuda : rocm; }

/* The device that is current for this thread; -1: none. */
static intptr_t current(void)
{
  void *context = NULL;
  int device = -1;
  if (!is_cuda) return get_device(&device) == 0 ? device : -1;
  return get_current_context(&context) == 0 && context ? (intptr_t)context : -1;
}

static const char *code_of(ccw_status status)
{
  const char *name = ccw_code_name(status.code);
  return name ? name : "no code";
}

/* ---- expecting ------------------------------------------------------------------------------------------------------- */

CCW_PRINTF(4, 5)
static void expect_status(int line, ccw_status status, XLA_FFI_Error_Code code, const char *format, ...)
{
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (status.code != code || strcmp(ccw_status_text(status), text) != 0) {
    printf("line %d: expected %s: %s\n           got %s: %s\n", line, ccw_code_name(code), text, code_of(status),
        ccw_status_text(status));
    ++broken;
  }
  ccw_status_free(status);
}

#define SAYS(status, name, ...) expect_status(__LINE__, (status), XLA_FFI_Error_Code_##name, __VA_ARGS__)

static void expect_good(int line, ccw_status status)
{
  if (!status.code) return;
  printf("line %d: %s: %s\n", line, code_of(status), ccw_status_text(status));
  ++broken;
  ccw_status_free(status);
}

#define GOOD(status) expect_good(__LINE__, (status))

/* An allocator that fails from a point on. It stays in place. */
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

static ccw_device *device, *other; /* 0 and 1 */

/* Where memory runs out the first time, it is tried again. */
static void open_without_memory(void)
{
  int64_t blocks = ccw_memory_in_use().blocks;
  int points = 0;
  for (; points < 100; ++points) {
    until_failure = points;
    ccw_status status = ccw_device_open(family, strlen(family), &device);
    until_failure = INT64_MAX;
    if (!status.code) break;
    EXPECT(status.code == XLA_FFI_Error_Code_RESOURCE_EXHAUSTED);
    ccw_status_free(status);
    EXPECT(!device && ccw_memory_in_use().blocks == blocks);
  }
  EXPECT(points > 0 && points < 100);
}

static void open_devices(void)
{
  char name[16];
  snprintf(name, sizeof name, "%s:1", family);
  GOOD(ccw_device_open(family, strlen(family), &device));
  GOOD(ccw_device_open(name, strlen(name), &other));
  ccw_stream *stream;
  GOOD(ccw_device_stream(device, &stream));
  GOOD(ccw_device_stream(other, &stream));
}

static ccw_stream *own_stream(void)
{
  ccw_stream *stream = NULL;
  GOOD(ccw_device_stream(device, &stream));
  return stream;
}

/* ---- files ----------------------------------------------------------------------------------------------------------- */

static const char *file_of(const char *name, const char *text)
{
  static char path[512];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "wb");
  if (file) fputs(text, file), fclose(file);
  EXPECT(file);
  return path;
}

static ccw_status load_text(ccw_device *where, const char *name, const char *text, ccw_module **out_module)
{
  return ccw_module_load(where, file_of(name, text), out_module);
}

static ccw_module *good_module(ccw_device *where)
{
  char text[256];
  ccw_module *module = NULL;
  snprintf(text, sizeof text, "stand-in code for %s\naxpy_f32\nfill_u32\n_Z4axpyfPKfPfl\nnever_ends\nasserts\n",
      architecture);
  GOOD(load_text(where, "good.code", text, &module));
  return module;
}

/* ---- what there is --------------------------------------------------------------------------------------------------- */

static void test_opening(void)
{
  ccw_device *again = NULL;
  char name[16];
  snprintf(name, sizeof name, "%s:0", family);
  GOOD(ccw_device_open(name, strlen(name), &again));
  EXPECT(again == device);
  EXPECT(strcmp(ccw_device_name(device), name) == 0);
  EXPECT(strcmp(ccw_device_platform(device), family) == 0);
  EXPECT(ccw_device_ordinal(other) == 1);
  name[5] = '2';
  SAYS(ccw_device_open(name, strlen(name), &again), NOT_FOUND, "%s:2: there are %s:0 to %s:1", family, family, family);

  ccw_device_info info = ccw_device_describe(device);
  EXPECT(strcmp(info.name, ccw_device_name(device)) == 0 && strcmp(info.platform, family) == 0);
  EXPECT(strcmp(info.description, "stand-in 0") == 0);
  EXPECT(strcmp(info.architecture, is_cuda ? "sm_90" : "") == 0);
  EXPECT(info.memory == 1 << 28 && info.processors == 4);
  EXPECT(info.warp_size == (is_cuda ? 32 : 64) && info.max_threads == 1024);
  EXPECT(info.max_block[2] == (is_cuda ? 64 : 1024) && info.max_grid[0] == 2147483647);
  EXPECT(info.max_shared == (is_cuda ? 232448 : 65536));

  SAYS(ccw_device_reset(device), UNIMPLEMENTED,
      "%s:0: reset: handlers use the same context, and one that is broken ends with its process", family);
  SAYS(ccw_device_set(device, "seed", 1), UNIMPLEMENTED, "%s:0: set: there is nothing to set of a real GPU", family);
  SAYS(ccw_device_set_platform(device, "sim"), UNIMPLEMENTED, "%s:0: as: a real GPU is what it is", family);
}

/* ---- memory ---------------------------------------------------------------------------------------------------------- */

typedef struct seen {
  int count;
  const void *memory[4];
  size_t sizes[4];
  char sites[4][64];
} seen;

static void see(void *context, const void *memory, size_t size, const char *site)
{
  seen *s = context;
  if (s->count == 4) return;
  s->memory[s->count] = memory;
  s->sizes[s->count] = size;
  snprintf(s->sites[s->count++], sizeof s->sites[0], "%s", site);
}

static void test_memory(void)
{
  void *a, *b, *c;
  seen all = {0};
  int64_t before = ccw_device_describe(device).memory_free;
  GOOD(ccw_device_allocate(device, 100, "first", &a));
  GOOD(ccw_device_allocate(device, 200, NULL, &b));
  GOOD(ccw_device_allocate(device, 300, "third", &c));
  EXPECT(ccw_device_describe(device).memory_free == before - 600);
  GOOD(ccw_device_release(device, b));
  ccw_device_visit_memory(device, see, &all);
  EXPECT(all.count == 2 && all.memory[0] == a && all.memory[1] == c);
  EXPECT(all.sizes[0] == 100 && all.sizes[1] == 300);
  EXPECT(strcmp(all.sites[0], "first") == 0 && strcmp(all.sites[1], "third") == 0);

  SAYS(ccw_device_release(device, b), INVALID_ARGUMENT, "%s:0: %p was not allocated here, or is given back already",
      family, b);
  SAYS(ccw_device_release(other, a), INVALID_ARGUMENT, "%s:1: %p was not allocated here, or is given back already",
      family, a);
  GOOD(ccw_device_release(device, a));
  GOOD(ccw_device_release(device, c));
  GOOD(ccw_device_release(device, NULL));
  GOOD(ccw_device_allocate(device, 0, NULL, &a));
  EXPECT(!a);

  SAYS(ccw_device_allocate(device, (size_t)1 << 40, "huge", &a), RESOURCE_EXHAUSTED,
      "%s:0: allocate 1099511627776 bytes: %s", family, vendor_says(&out_of_memory));
  EXPECT(!a);
  SAYS(ccw_device_allocate_pinned(device, (size_t)1 << 40, &a), RESOURCE_EXHAUSTED,
      "%s:0: allocate 1099511627776 bytes of pinned memory: %s", family, vendor_says(&out_of_memory));
  SAYS(ccw_device_release_pinned(device, &all, 1), INVALID_ARGUMENT, "%s:0: release pinned memory: %s", family,
      vendor_says(&invalid_value));
  EXPECT(ccw_device_describe(device).memory_free == before);
  all.count = 0;
  ccw_device_visit_memory(device, see, &all);
  EXPECT(all.count == 0);
}

/* ---- copies and streams ---------------------------------------------------------------------------------------------- */

enum { BYTES = 1024 };

static void test_copies(void)
{
  ccw_stream *stream;
  unsigned char *pinned, pageable[BYTES], back[BYTES] = {0};
  void *a, *b, *foreign, *p;
  bool is_done;
  GOOD(ccw_stream_new(device, &stream));
  GOOD(ccw_device_allocate_pinned(device, BYTES, &p));
  GOOD(ccw_device_allocate(device, BYTES, NULL, &a));
  GOOD(ccw_device_allocate(device, BYTES, NULL, &b));
  GOOD(ccw_device_allocate(other, BYTES, NULL, &foreign));
  pinned = p;
  for (int i = 0; i < BYTES; ++i) pinned[i] = (unsigned char)i, pageable[i] = (unsigned char)(i * 7);

  GOOD(ccw_stream_copy(stream, CCW_COPY_TO_DEVICE, a, pinned, BYTES));
  GOOD(ccw_stream_copy(stream, CCW_COPY_WITHIN, b, a, BYTES));
  GOOD(ccw_stream_fill(stream, (char *)b + 100, 0x5A, 10));
  GOOD(ccw_stream_copy(stream, CCW_COPY_FROM_DEVICE, back, b, BYTES));
  EXPECT(back[1] == 0); /* queued: nobody has waited */
  GOOD(ccw_stream_query(stream, &is_done));
  EXPECT(!is_done);
  if (!is_cuda) EXPECT(get_last_error() == 0); /* a handler asks after its launch */
  while (!is_done) GOOD(ccw_stream_query(stream, &is_done));
  EXPECT(back[1] == 1 && back[99] == 99 && back[100] == 0x5A && back[109] == 0x5A && back[110] == 110);

  GOOD(ccw_device_copy(device, a, ccw_device_host(), pageable, BYTES));
  GOOD(ccw_device_copy(other, foreign, device, a, BYTES)); /* through the host */
  GOOD(ccw_device_copy(ccw_device_host(), back, other, foreign, BYTES));
  EXPECT(memcmp(back, pageable, BYTES) == 0);

  SAYS(ccw_stream_copy(stream, CCW_COPY_TO_DEVICE, foreign, pinned, BYTES), INVALID_ARGUMENT, "%s:0: copy: %s", family,
      vendor_says(&invalid_value));
  SAYS(ccw_stream_copy(stream, CCW_COPY_FROM_DEVICE, back, a, BYTES + 1), INVALID_ARGUMENT, "%s:0: copy: %s", family,
      vendor_says(&invalid_value));
  SAYS(ccw_stream_fill(stream, pinned, 0, 1), INVALID_ARGUMENT, "%s:0: fill: %s", family, vendor_says(&invalid_value));
  GOOD(ccw_stream_synchronize(stream)); /* and none of it broke anything */

  GOOD(ccw_stream_fill(stream, a, 1, BYTES));
  GOOD(ccw_device_synchronize(device));
  GOOD(ccw_stream_query(stream, &is_done));
  EXPECT(is_done);

  ccw_stream_release(stream);
  GOOD(ccw_device_release_pinned(device, p, BYTES));
  GOOD(ccw_device_release(device, a));
  GOOD(ccw_device_release(device, b));
  GOOD(ccw_device_release(other, foreign));
}

static void test_streams(void)
{
  ccw_stream *s, *t, *u;
  void *a;
  unsigned char back = 0;
  GOOD(ccw_stream_new(device, &s));
  GOOD(ccw_stream_new(device, &t));
  GOOD(ccw_stream_new(other, &u));
  EXPECT(ccw_stream_device(u) == other);
  EXPECT(ccw_stream_handle(s) && ccw_stream_handle(s) != ccw_stream_handle(t));
  GOOD(ccw_device_allocate(device, 8, NULL, &a));

  /* work that is queued runs although its stream is gone */
  GOOD(ccw_stream_fill(s, a, 42, 8));
  GOOD(ccw_stream_copy(s, CCW_COPY_FROM_DEVICE, &back, a, 1));
  ccw_stream_release(s);
  EXPECT(back == 42);
  ccw_stream_release(t);
  ccw_stream_release(u);
  GOOD(ccw_device_release(device, a));
}

static void test_events(void)
{
  ccw_stream *s, *t;
  ccw_event *early, *late, *foreign;
  void *a;
  unsigned char back[8] = {0};
  double seconds;
  GOOD(ccw_stream_new(device, &s));
  GOOD(ccw_stream_new(device, &t));
  GOOD(ccw_event_new(device, &early));
  GOOD(ccw_event_new(device, &late));
  GOOD(ccw_event_new(other, &foreign));
  GOOD(ccw_device_allocate(device, 8, NULL, &a));

  GOOD(ccw_event_synchronize(early)); /* never recorded */
  GOOD(ccw_stream_wait(t, early));
  SAYS(ccw_event_seconds(early, late, &seconds), FAILED_PRECONDITION, "%s:0: the first event was never recorded",
      family);
  GOOD(ccw_event_record(early, s));
  SAYS(ccw_event_seconds(early, late, &seconds), FAILED_PRECONDITION, "%s:0: the second event was never recorded",
      family);

  /* t waits for what s does, although nobody waits for s */
  GOOD(ccw_stream_fill(s, a, 9, 8));
  GOOD(ccw_event_record(late, s));
  SAYS(ccw_event_seconds(early, late, &seconds), FAILED_PRECONDITION, "%s:0: time between events: %s", family,
      vendor_says(&not_ready));
  GOOD(ccw_stream_wait(t, late));
  GOOD(ccw_stream_copy(t, CCW_COPY_FROM_DEVICE, back, a, 8));
  GOOD(ccw_stream_synchronize(t));
  EXPECT(back[0] == 9 && back[7] == 9);
  GOOD(ccw_event_seconds(early, late, &seconds));
  EXPECT(seconds >= 0 && seconds < 10);

  GOOD(ccw_stream_fill(s, a, 10, 8));
  GOOD(ccw_stream_copy(s, CCW_COPY_FROM_DEVICE, back, a, 8));
  GOOD(ccw_event_record(late, s));
  GOOD(ccw_event_synchronize(late));
  EXPECT(back[3] == 10);

  SAYS(ccw_stream_wait(s, foreign), INVALID_ARGUMENT, "%s:0: expected an event of this device, got one of %s:1", family,
      family);
  SAYS(ccw_event_record(foreign, s), INVALID_ARGUMENT, "%s:1: expected a stream of this device, got one of %s:0",
      family, family);
  ccw_event_release(early);
  ccw_event_release(late);
  ccw_event_release(foreign);
  ccw_stream_release(s);
  ccw_stream_release(t);
  GOOD(ccw_device_release(device, a));
}

/* A stream that the driver does not know: what a handler destroyed, say. */
static void test_destroyed_stream(void)
{
  ccw_stream *s;
  int (*destroy)(void *);
  void *library = dlopen(is_cuda ? "libcuda.so.1" : "libamdhip64.so.6", RTLD_NOW | RTLD_NOLOAD);
  find(library, named("cuStreamDestroy_v2", "hipStreamDestroy"), &destroy);
  GOOD(ccw_stream_new(device, &s));
  GOOD(ccw_device_make_current(device));
  EXPECT(destroy(ccw_stream_handle(s)) == 0);
  SAYS(ccw_stream_synchronize(s), INVALID_ARGUMENT, "%s:0: synchronize: %s", family, vendor_says(&invalid_handle));
  ccw_stream_release(s);
}

/* ---- what is current ------------------------------------------------------------------------------------------------- */

static void *in_new_thread(void *nothing)
{
  intptr_t before = current();
  void *a, *b;
  (void)nothing;
  GOOD(ccw_device_allocate(device, 8, NULL, &a));
  GOOD(ccw_device_allocate(other, 8, NULL, &b));
  EXPECT(current() == before);
  GOOD(ccw_device_make_current(other));
  intptr_t of_other = current();
  EXPECT(of_other != before);
  GOOD(ccw_device_release(device, a));
  GOOD(ccw_device_release(other, b));
  ccw_status_free(ccw_device_allocate(device, (size_t)1 << 40, NULL, &a));
  EXPECT(current() == of_other);
  GOOD(ccw_device_make_current(device));
  EXPECT(current() != of_other);
  return NULL;
}

static void test_current(void)
{
  pthread_t thread;
  EXPECT(pthread_create(&thread, NULL, in_new_thread, NULL) == 0);
  pthread_join(thread, NULL);
  GOOD(ccw_device_make_current(ccw_device_host())); /* nothing to do */
}

/* ---- code ------------------------------------------------------------------------------------------------------------ */

static void test_loading(void)
{
  char text[64];
  const char *suffix = is_cuda ? "; the device runs code for sm_90" : "";
  ccw_module *module;
  snprintf(text, sizeof text, "%s/nowhere", folder);
  SAYS(ccw_module_load(device, text, &module), NOT_FOUND, "%s:0: cannot open '%s': No such file or directory", family,
      text);
  EXPECT(!module);
  SAYS(ccw_module_load(device, folder, &module), INVALID_ARGUMENT, "%s:0: '%s' is no code for a GPU: it is no file",
      family, folder);
  SAYS(load_text(device, "empty.code", "", &module), INVALID_ARGUMENT,
      "%s:0: '%s/empty.code' is no code for a GPU: it is empty", family, folder);
  SAYS(load_text(device, "bad.code", "\177ELF", &module), INVALID_ARGUMENT, "%s:0: load bad.code: %s%s", family,
      vendor_says(&invalid_image), suffix);
  SAYS(load_text(device, "other.code", "stand-in code for sm_10\n", &module), INVALID_ARGUMENT,
      "%s:0: load other.code: %s%s", family, vendor_says(&no_binary), suffix);
}

static void test_names(void)
{
  static const char hint[] = "; a function of C++ has its plain name where it is declared extern \"C\"";
  ccw_module *module = good_module(device);
  ccw_kernel *kernel, *again;
  const ccw_kernel_parameter *parameters;
  GOOD(ccw_module_kernel(module, "axpy_f32", &kernel));
  GOOD(ccw_module_kernel(module, "axpy_f32", &again));
  EXPECT(kernel == again);
  int64_t count = ccw_kernel_parameters(kernel, &parameters);
  EXPECT(count == (is_cuda ? 4 : -1));
  if (is_cuda) EXPECT(parameters[0].size == 4 && parameters[1].size == 8 && parameters[3].size == 8);

  if (is_cuda) {
    const char *names = "it has axpy_f32, fill_u32, _Z4axpyfPKfPfl, never_ends, asserts";
    SAYS(ccw_module_kernel(module, "axpy", &kernel), NOT_FOUND,
        "cuda:0: no kernel \"axpy\" in good.code; %s; 'axpy' is _Z4axpyfPKfPfl there%s", names, hint);
    SAYS(ccw_module_kernel(module, "axpy_f23", &kernel), NOT_FOUND,
        "cuda:0: no kernel \"axpy_f23\" in good.code; %s; near: axpy_f32", names);
  } else {
    SAYS(ccw_module_kernel(module, "axpy", &kernel), NOT_FOUND, "rocm:0: no kernel \"axpy\" in good.code%s", hint);
  }
  EXPECT(!kernel);
  ccw_module_unload(module);

  char text[64];
  snprintf(text, sizeof text, "stand-in code for %s\n", architecture);
  GOOD(load_text(device, "none.code", text, &module));
  SAYS(ccw_module_kernel(module, "axpy", &kernel), NOT_FOUND, "%s:0: no kernel \"axpy\" in none.code%s", family,
      is_cuda ? "; it has none" : hint);
  ccw_module_unload(module);
}

enum { COUNT = 1000 };

typedef struct axpy_arguments {
  float a;
  void *x, *y;
  int64_t n;
} axpy_arguments;

static ccw_status launch_axpy(
    ccw_kernel *kernel, ccw_stream *stream, axpy_arguments *arguments, uint32_t blocks, uint32_t threads, size_t shared)
{
  void *addresses[] = {&arguments->a, &arguments->x, &arguments->y, &arguments->n};
  size_t sizes[] = {4, 8, 8, 8};
  ccw_launch launch = {.grid = {blocks, 1, 1},
      .block = {threads, 1, 1},
      .shared_size = shared,
      .arguments = addresses,
      .sizes = sizes,
      .count = 4};
  return ccw_kernel_launch(kernel, &launch, stream);
}

static void test_launching(void)
{
  ccw_module *module = good_module(device);
  ccw_stream *stream = own_stream();
  ccw_kernel *kernel = NULL;
  float x[COUNT], y[COUNT], back[COUNT];
  axpy_arguments arguments = {.a = 2, .n = COUNT};
  for (int i = 0; i < COUNT; ++i) x[i] = (float)i, y[i] = (float)(1000 - i);
  GOOD(ccw_module_kernel(module, "axpy_f32", &kernel));
  GOOD(ccw_device_allocate(device, sizeof x, NULL, &arguments.x));
  GOOD(ccw_device_allocate(device, sizeof y, NULL, &arguments.y));
  GOOD(ccw_stream_copy(stream, CCW_COPY_TO_DEVICE, arguments.x, x, sizeof x));
  GOOD(ccw_stream_copy(stream, CCW_COPY_TO_DEVICE, arguments.y, y, sizeof y));
  axpy_arguments given = arguments;
  GOOD(launch_axpy(kernel, stream, &given, 8, 128, 0));
  memset(&given, 0xFF, sizeof given); /* they were copied */
  GOOD(ccw_stream_copy(stream, CCW_COPY_FROM_DEVICE, back, arguments.y, sizeof back));
  GOOD(ccw_stream_synchronize(stream));
  for (int i = 0; i < COUNT; ++i) EXPECT(back[i] == 2 * x[i] + y[i]);

  /* too few threads leave the rest as it is */
  GOOD(launch_axpy(kernel, stream, &arguments, 1, 10, is_cuda ? 200000 : 65536));
  GOOD(ccw_stream_copy(stream, CCW_COPY_FROM_DEVICE, back, arguments.y, sizeof back));
  GOOD(ccw_stream_synchronize(stream));
  EXPECT(back[9] == 4 * x[9] + y[9] && back[10] == 2 * x[10] + y[10]);
  GOOD(launch_axpy(kernel, stream, &arguments, 1, 10, 1000));

  SAYS(launch_axpy(kernel, stream, &arguments, 0, 10, 0), INVALID_ARGUMENT,
      "%s:0: launch of axpy_f32: grid x: expected 1 to 2147483647, got 0", family);
  SAYS(launch_axpy(kernel, stream, &arguments, 1, 0, 0), INVALID_ARGUMENT,
      "%s:0: launch of axpy_f32: block x: expected 1 to 1024, got 0", family);
  SAYS(launch_axpy(kernel, stream, &arguments, 1, 1025, 0), INVALID_ARGUMENT,
      "%s:0: launch of axpy_f32: block x: expected 1 to 1024, got 1025", family);
  SAYS(launch_axpy(kernel, stream, &arguments, 1, 1, 300000), INVALID_ARGUMENT,
      "%s:0: launch of axpy_f32: shared memory: expected %d bytes at most, got 300000", family,
      is_cuda ? 232448 : 65536);
  void *addresses[4] = {&arguments.a, &arguments.x, &arguments.y, &arguments.n};
  size_t sizes[] = {4, 8, 8, 4};
  ccw_launch launch = {.grid = {1, 1, 70000}, .block = {1, 1, 1}, .arguments = addresses, .sizes = sizes, .count = 4};
  if (is_cuda) {
    SAYS(ccw_kernel_launch(kernel, &launch, stream), INVALID_ARGUMENT,
        "cuda:0: launch of axpy_f32: arg 3: expected 8 bytes, got 4");
    launch.count = 3;
    SAYS(ccw_kernel_launch(kernel, &launch, stream), INVALID_ARGUMENT,
        "cuda:0: launch of axpy_f32: expected 4 arguments, got 3");
    launch.count = 4;
  }
  sizes[3] = 8;
  SAYS(ccw_kernel_launch(kernel, &launch, stream), INVALID_ARGUMENT,
      "%s:0: launch of axpy_f32: grid z: expected 1 to %d, got 70000", family, is_cuda ? 65535 : 65536);
  launch.grid[2] = 1;
  launch.block[0] = 32, launch.block[1] = 64;
  SAYS(ccw_kernel_launch(kernel, &launch, stream), INVALID_ARGUMENT,
      "%s:0: launch of axpy_f32: block: expected 1024 threads at most, got 32 x 64 x 1", family);
  ccw_stream *foreign = NULL;
  GOOD(ccw_device_stream(other, &foreign));
  SAYS(launch_axpy(kernel, foreign, &arguments, 1, 1, 0), INVALID_ARGUMENT,
      "%s:0: expected a stream of this device, got one of %s:1", family, family);
  GOOD(ccw_device_synchronize(device)); /* nothing of that sticks */

  GOOD(ccw_device_release(device, arguments.x));
  GOOD(ccw_device_release(device, arguments.y));
  ccw_module_unload(module);
}

static void test_many_launches(void)
{
  ccw_module *module = good_module(device);
  ccw_kernel *kernel;
  ccw_stream *stream = own_stream();
  axpy_arguments arguments = {.a = 1, .n = 4};
  char text[256];
  float x[4] = {1, 1, 1, 1}, y[4] = {0};
  GOOD(ccw_module_kernel(module, "axpy_f32", &kernel));
  GOOD(ccw_device_allocate(device, sizeof x, NULL, &arguments.x));
  GOOD(ccw_device_allocate(device, sizeof y, NULL, &arguments.y));
  GOOD(ccw_device_copy(device, arguments.x, ccw_device_host(), x, sizeof x));
  GOOD(ccw_device_copy(device, arguments.y, ccw_device_host(), y, sizeof y));
  int64_t blocks = ccw_memory_in_use().blocks;
  int objects = live(text, sizeof text);
  for (int i = 0; i < 10000; ++i) {
    GOOD(launch_axpy(kernel, stream, &arguments, 1, 4, 0));
    if (i % 100 == 99) GOOD(ccw_stream_synchronize(stream));
  }
  GOOD(ccw_device_copy(ccw_device_host(), y, device, arguments.y, sizeof y));
  EXPECT(y[0] == 10000 && y[3] == 10000);
  EXPECT(ccw_memory_in_use().blocks == blocks && live(text, sizeof text) == objects);
  GOOD(ccw_device_release(device, arguments.x));
  GOOD(ccw_device_release(device, arguments.y));
  ccw_module_unload(module);
}

/* ---- graphs ---------------------------------------------------------------------------------------------------------- */

static void test_graphs(void)
{
  ccw_module *module = good_module(device);
  ccw_kernel *kernel;
  ccw_stream *stream, *foreign;
  ccw_graph *graph;
  float x[4] = {1, 2, 3, 4}, y[4] = {0};
  axpy_arguments arguments = {.a = 1, .n = 4};
  bool is_done;
  void *scratch;
  GOOD(ccw_module_kernel(module, "axpy_f32", &kernel));
  GOOD(ccw_stream_new(device, &stream));
  GOOD(ccw_device_allocate(device, sizeof x, NULL, &arguments.x));
  GOOD(ccw_device_allocate(device, sizeof y, NULL, &arguments.y));
  GOOD(ccw_device_copy(device, arguments.x, ccw_device_host(), x, sizeof x));
  GOOD(ccw_device_copy(device, arguments.y, ccw_device_host(), y, sizeof y));

  /* what is captured does not run; memory that comes and goes meanwhile is nobody's business */
  GOOD(ccw_stream_begin_capture(stream));
  GOOD(launch_axpy(kernel, stream, &arguments, 1, 4, 0));
  GOOD(ccw_device_allocate(device, 16, NULL, &scratch));
  GOOD(ccw_device_release(device, scratch));
  ccw_module_unload(good_module(device));
  GOOD(launch_axpy(kernel, stream, &arguments, 1, 4, 0));
  GOOD(ccw_stream_end_capture(stream, &graph));
  GOOD(ccw_device_copy(ccw_device_host(), y, device, arguments.y, sizeof y));
  EXPECT(y[3] == 0);
  for (int i = 0; i < 3; ++i) GOOD(ccw_graph_launch(graph, stream));
  GOOD(ccw_stream_synchronize(stream));
  GOOD(ccw_device_copy(ccw_device_host(), y, device, arguments.y, sizeof y));
  EXPECT(y[0] == 6 && y[3] == 24);
  GOOD(ccw_device_stream(other, &foreign));
  SAYS(ccw_graph_launch(graph, foreign), INVALID_ARGUMENT, "%s:0: expected a stream of this device, got one of %s:1",
      family, family);
  ccw_graph_free(graph);

  /* what may not be captured is told where it is done, and again in the end */
  GOOD(ccw_stream_begin_capture(stream));
  SAYS(ccw_stream_synchronize(stream), FAILED_PRECONDITION, "%s:0: synchronize: %s", family, vendor_says(&unsupported));
  SAYS(ccw_stream_end_capture(stream, &graph), FAILED_PRECONDITION, "%s:0: end the capture: %s", family,
      vendor_says(&invalidated));
  EXPECT(!graph);
  GOOD(ccw_stream_begin_capture(stream));
  SAYS(ccw_stream_query(stream, &is_done), FAILED_PRECONDITION, "%s:0: query: %s", family, vendor_says(&unsupported));
  SAYS(launch_axpy(kernel, stream, &arguments, 1, 4, 0), FAILED_PRECONDITION, "%s:0: launch of axpy_f32: %s", family,
      vendor_says(&invalidated));
  SAYS(ccw_stream_end_capture(stream, &graph), FAILED_PRECONDITION, "%s:0: end the capture: %s", family,
      vendor_says(&invalidated));
  GOOD(ccw_stream_begin_capture(stream));
  SAYS(ccw_device_synchronize(device), FAILED_PRECONDITION, "%s:0: synchronize: %s", family, vendor_says(&unsupported));
  SAYS(ccw_stream_end_capture(stream, &graph), FAILED_PRECONDITION, "%s:0: end the capture: %s", family,
      vendor_says(&invalidated));
  GOOD(ccw_stream_begin_capture(stream));
  SAYS(ccw_stream_begin_capture(stream), FAILED_PRECONDITION, "%s:0: begin to capture: %s", family,
      vendor_says(&illegal_state));
  ccw_status_free(ccw_stream_end_capture(stream, &graph));
  SAYS(ccw_stream_end_capture(stream, &graph), FAILED_PRECONDITION, "%s:0: end the capture: %s", family,
      vendor_says(&illegal_state));
  GOOD(ccw_stream_synchronize(stream)); /* it works on */

  /* two streams in one capture */
  ccw_stream *second;
  ccw_event *fork, *join;
  GOOD(ccw_stream_new(device, &second));
  GOOD(ccw_event_new(device, &fork));
  GOOD(ccw_event_new(device, &join));
  for (int is_joined = 0; is_joined < 2; ++is_joined) {
    GOOD(ccw_stream_begin_capture(stream));
    GOOD(ccw_event_record(fork, stream));
    GOOD(ccw_stream_wait(second, fork));
    GOOD(launch_axpy(kernel, second, &arguments, 1, 4, 0));
    GOOD(ccw_event_record(join, second));
    if (is_joined) GOOD(ccw_stream_wait(stream, join));
    ccw_status status = ccw_stream_end_capture(stream, &graph);
    if (is_joined)
      GOOD(status);
    else
      SAYS(status, FAILED_PRECONDITION, "%s:0: end the capture: %s", family, vendor_says(&unjoined));
  }
  GOOD(ccw_graph_launch(graph, second));
  GOOD(ccw_stream_synchronize(second));
  ccw_graph_free(graph);
  ccw_event_release(fork);
  ccw_event_release(join);
  ccw_stream_release(second);
  ccw_stream_release(stream);
  GOOD(ccw_device_release(device, arguments.x));
  GOOD(ccw_device_release(device, arguments.y));
  ccw_module_unload(module);
}

/* ---- handlers ---------------------------------------------------------------------------------------------------------- */

static int (*driver_copies)(void *to, const void *from, size_t size, void *stream);
static int (*driver_synchronizes)(void *stream);

static ccw_status driver_says(int error) { return error ? ccw_unknown("the driver says %d", error) : ccw_ok(); }

/* What a library for GPUs does: it gives its work to the driver, on the stream of the call. */
CCW_HANDLER(on_stream, CTX(stream, s), CTX(device_ordinal, ordinal), ARG(f32, 1, x), RET(f32, 1, y),
    TRAIT(command_buffer_compatible))
{
  if (ordinal != 0) return ccw_invalid("ordinal: expected 0, got %d", (int)ordinal);
  return driver_says(driver_copies(y.data, x.data, (size_t)x.dims[0] * sizeof(float), s));
}

/* What may not be captured, although it says so. */
CCW_HANDLER(impatient, CTX(stream, s), ARG(f32, 1, x), RET(f32, 1, y), TRAIT(command_buffer_compatible))
{
  CCW_TRY(driver_says(driver_copies(y.data, x.data, (size_t)x.dims[0] * sizeof(float), s)));
  driver_synchronizes(s);
  return ccw_ok();
}

static ccw_buffer *buffer_on_device(float first)
{
  float values[4] = {first, first + 1, first + 2, first + 3};
  ccw_shape shape = {0};
  ccw_buffer *buffer = NULL;
  GOOD(ccw_shape_make(XLA_FFI_DataType_F32, (int64_t[]){4}, 1, &shape));
  GOOD(ccw_buffer_new_on(device, &shape, "spec", &buffer));
  GOOD(ccw_device_copy(device, ccw_buffer_data(buffer), ccw_device_host(), values, sizeof values));
  return buffer;
}

static float third_of(const ccw_buffer *buffer)
{
  float values[4] = {0};
  GOOD(ccw_device_copy(ccw_device_host(), values, device, ccw_buffer_data(buffer), sizeof values));
  return values[2];
}

static ccw_call *prepare(XLA_FFI_Handler *function, ccw_buffer *x, ccw_buffer *y, ccw_stream *stream)
{
  XLA_FFI_Handler_Bundle bundle = {.execute = function};
  ccw_handler *handler = NULL;
  ccw_call *call = NULL;
  GOOD(ccw_handler_new("h", &bundle, 0, NULL, &handler));
  GOOD(ccw_call_prepare(handler, &x, 1, &y, 1, NULL, &(ccw_call_options){.stream = stream}, &call));
  ccw_handler_release(handler);
  return call;
}

static void test_handlers(void)
{
  ccw_stream *stream;
  ccw_graph *graph;
  ccw_buffer *x = buffer_on_device(1), *y = buffer_on_device(0), *z = buffer_on_device(5);
  void *library = dlopen(is_cuda ? "libcuda.so.1" : "libamdhip64.so.6", RTLD_NOW | RTLD_NOLOAD);
  find(library, named("cuMemcpyDtoDAsync_v2", "hipMemcpyDtoDAsync"), &driver_copies);
  find(library, named("cuStreamSynchronize", "hipStreamSynchronize"), &driver_synchronizes);
  GOOD(ccw_stream_new(device, &stream));

  ccw_call *call = prepare(on_stream, x, y, NULL), *other_call = prepare(on_stream, z, y, stream);
  GOOD(ccw_call_run(call)); /* and waits for the device's own stream */
  EXPECT(third_of(y) == 3);
  GOOD(ccw_call_run(other_call));
  EXPECT(third_of(y) == 7);

  GOOD(ccw_call_capture(call, &graph));
  EXPECT(third_of(y) == 7);
  GOOD(ccw_graph_launch(graph, stream));
  GOOD(ccw_stream_synchronize(stream));
  EXPECT(third_of(y) == 3);
  ccw_graph_free(graph);
  ccw_call_free(call);
  ccw_call_free(other_call);

  call = prepare(impatient, z, y, stream);
  GOOD(ccw_call_run(call));
  EXPECT(third_of(y) == 7);
  SAYS(ccw_call_capture(call, &graph), FAILED_PRECONDITION, "h: execute: %s:0: end the capture: %s", family,
      vendor_says(&invalidated));
  GOOD(ccw_call_run(call)); /* the stream works on */
  ccw_call_free(call);
  ccw_buffer_release(x);
  ccw_buffer_release(y);
  ccw_buffer_release(z);
  ccw_stream_release(stream);
}

/* ---- everything at once, for what fails on the way ------------------------------------------------------------------- */

typedef struct things {
  ccw_stream *stream;
  ccw_event *event;
  ccw_module *module;
  ccw_kernel *kernel;
  ccw_graph *graph;
  void *a, *pinned;
} things;

static ccw_status capture(things *t, axpy_arguments *arguments)
{
  CCW_TRY(ccw_stream_begin_capture(t->stream));
  ccw_status launched = launch_axpy(t->kernel, t->stream, arguments, 1, 4, is_cuda ? 100000 : 0);
  ccw_status status = ccw_stream_end_capture(t->stream, &t->graph);
  if (!launched.code) return status;
  ccw_status_free(status);
  return launched;
}

static ccw_status use(things *t)
{
  bool is_done;
  double seconds;
  CCW_TRY(ccw_stream_new(device, &t->stream));
  CCW_TRY(ccw_event_new(device, &t->event));
  CCW_TRY(ccw_device_allocate(device, 64, "use", &t->a));
  CCW_TRY(ccw_device_allocate_pinned(device, 64, &t->pinned));
  memset(t->pinned, 0, 64);
  char path[512];
  snprintf(path, sizeof path, "%s/good.code", folder);
  CCW_TRY(ccw_module_load(device, path, &t->module));
  CCW_TRY(ccw_module_kernel(t->module, "axpy_f32", &t->kernel));
  CCW_TRY(ccw_event_record(t->event, t->stream));
  CCW_TRY(ccw_stream_copy(t->stream, CCW_COPY_TO_DEVICE, t->a, t->pinned, 64));
  CCW_TRY(ccw_stream_fill(t->stream, t->a, 0, 64));
  CCW_TRY(ccw_stream_wait(t->stream, t->event));
  axpy_arguments arguments = {.a = 1, .x = t->a, .y = (char *)t->a + 32, .n = 4};
  CCW_TRY(capture(t, &arguments));
  CCW_TRY(ccw_graph_launch(t->graph, t->stream));
  CCW_TRY(launch_axpy(t->kernel, t->stream, &arguments, 1, 4, 0));
  CCW_TRY(ccw_stream_copy(t->stream, CCW_COPY_WITHIN, t->a, (char *)t->a + 32, 16));
  CCW_TRY(ccw_stream_copy(t->stream, CCW_COPY_FROM_DEVICE, t->pinned, t->a, 64));
  CCW_TRY(ccw_stream_query(t->stream, &is_done));
  CCW_TRY(ccw_event_synchronize(t->event));
  CCW_TRY(ccw_stream_synchronize(t->stream));
  CCW_TRY(ccw_event_seconds(t->event, t->event, &seconds));
  return ccw_device_synchronize(device);
}

/* What was made so far goes, also where the driver complains of it. */
static ccw_status use_and_give_back(void)
{
  things t = {0};
  ccw_status status = use(&t), given_back[2];
  ccw_graph_free(t.graph);
  ccw_module_unload(t.module);
  ccw_event_release(t.event);
  ccw_stream_release(t.stream);
  given_back[0] = ccw_device_release(device, t.a);
  given_back[1] = ccw_device_release_pinned(device, t.pinned, 64);
  for (int i = 0; i < 2; ++i) {
    if (status.code)
      ccw_status_free(given_back[i]);
    else
      status = given_back[i];
  }
  return status;
}

static void test_no_memory(void)
{
  char text[256];
  ccw_module_unload(good_module(device)); /* the file is there */
  GOOD(use_and_give_back());
  int objects = live(text, sizeof text), points = 0;
  int64_t blocks = ccw_memory_in_use().blocks;
  for (int64_t n = 0; n < 1000; ++n, ++points) {
    until_failure = n;
    ccw_status status = use_and_give_back();
    until_failure = INT64_MAX;
    bool is_good = !status.code;
    EXPECT(is_good || status.code == XLA_FFI_Error_Code_RESOURCE_EXHAUSTED);
    ccw_status_free(status);
    if (ccw_memory_in_use().blocks != blocks)
      printf("without memory for allocation %d: blocks are left\n", points), ++broken;
    if (live(text, sizeof text) != objects)
      printf("without memory for allocation %d: %sare left\n", points, text), ++broken;
    if (is_good) break;
  }
  EXPECT(points > 5 && points < 1000);
  GOOD(use_and_give_back());
}

/* Each call of the driver fails once, and as much is left as before. */
static void test_faults(void)
{
  char text[256];
  int objects = live(text, sizeof text), points = 0, failures = 0;
  int64_t blocks = ccw_memory_in_use().blocks;
  for (; points < 1000; ++points) {
    fail("", points, 2);
    ccw_status status = use_and_give_back();
    failures += status.code != 0;
    ccw_status_free(status);
    if (!failed()) break;
    if (ccw_memory_in_use().blocks != blocks) printf("call %d failed: blocks are left\n", points), ++broken;
    if (live(text, sizeof text) != objects) printf("call %d failed: %sare left\n", points, text), ++broken;
  }
  fail("", -1, 0);
  EXPECT(points >= 25 && points < 1000 && failures >= 20);
  GOOD(use_and_give_back());

  void *a;
  for (int i = 0; i < 3; ++i) {
    if (i == 0) fail(named("cuMemAlloc_v2", "hipMalloc"), 2, 2);
    ccw_status status = ccw_device_allocate(device, 64, NULL, &a);
    if (i < 2)
      GOOD(status);
    else
      SAYS(status, RESOURCE_EXHAUSTED, "%s:0: allocate 64 bytes: %s", family, vendor_says(&out_of_memory));
    if (a) GOOD(ccw_device_release(device, a));
  }
  fail(named("cuLaunchKernel", "hipModuleLaunchKernel"), 0, 12345); /* which nobody knows */
  things t = {0};
  ccw_status status = use(&t);
  SAYS(status, INTERNAL, "%s:0: launch of axpy_f32: error 12345", family);
  ccw_graph_free(t.graph);
  ccw_module_unload(t.module);
  ccw_event_release(t.event);
  ccw_stream_release(t.stream);
  GOOD(ccw_device_release(device, t.a));
  GOOD(ccw_device_release_pinned(device, t.pinned, 64));
}

static void *work(void *nothing)
{
  (void)nothing;
  for (int i = 0; i < 200; ++i) GOOD(use_and_give_back());
  return NULL;
}

static void test_threads(void)
{
  enum { THREADS = 4 };
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i) EXPECT(pthread_create(&threads[i], NULL, work, NULL) == 0);
  for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
}

/* ---- what breaks a device -------------------------------------------------------------------------------------------- */

static void test_broken(void)
{
  char why[512];
  ccw_module *module = good_module(other);
  ccw_kernel *kernel;
  ccw_stream *stream, *another;
  ccw_event *event;
  bool is_done;
  void *a, *b;
  double seconds;
  seen all = {0};
  GOOD(ccw_module_kernel(module, "axpy_f32", &kernel));
  GOOD(ccw_device_stream(other, &stream));
  GOOD(ccw_stream_new(other, &another));
  GOOD(ccw_event_new(other, &event));
  GOOD(ccw_event_record(event, stream));
  GOOD(ccw_device_allocate(other, 64, NULL, &a));
  axpy_arguments arguments = {.a = 1, .x = a, .y = a, .n = 17}; /* one too many */
  GOOD(launch_axpy(kernel, stream, &arguments, 1, 32, 0));
  SAYS(ccw_stream_synchronize(stream), OUT_OF_RANGE, "%s:1: synchronize: %s", family, vendor_says(&illegal_address));
  snprintf(
      why, sizeof why, "%s:1: broken until the process ends: synchronize: %s", family, vendor_says(&illegal_address));
  SAYS(ccw_stream_synchronize(stream), ABORTED, "%s", why);
  SAYS(ccw_stream_query(another, &is_done), ABORTED, "%s", why);
  SAYS(ccw_stream_wait(another, event), ABORTED, "%s", why);
  SAYS(ccw_event_record(event, another), ABORTED, "%s", why);
  SAYS(ccw_event_synchronize(event), ABORTED, "%s", why);
  SAYS(ccw_event_seconds(event, event, &seconds), ABORTED, "%s", why);
  SAYS(ccw_device_allocate(other, 8, NULL, &b), ABORTED, "%s", why);
  SAYS(ccw_device_allocate_pinned(other, 8, &b), ABORTED, "%s", why);
  SAYS(ccw_stream_fill(stream, a, 0, 8), ABORTED, "%s", why);
  SAYS(ccw_stream_copy(stream, CCW_COPY_WITHIN, a, a, 8), ABORTED, "%s", why);
  SAYS(launch_axpy(kernel, stream, &arguments, 1, 1, 0), ABORTED, "%s", why);
  SAYS(ccw_stream_begin_capture(stream), ABORTED, "%s", why);
  SAYS(ccw_device_synchronize(other), ABORTED, "%s", why);
  SAYS(ccw_device_make_current(other), ABORTED, "%s", why);
  SAYS(ccw_module_kernel(module, "fill_u32", &kernel), ABORTED, "%s", why);
  SAYS(ccw_device_release(other, a), ABORTED, "%s", why);
  ccw_device_visit_memory(other, see, &all);
  EXPECT(all.count == 0);
  EXPECT(strcmp(ccw_device_describe(other).description, "stand-in 1") == 0);
  ccw_module_unload(module);
  ccw_event_release(event);
  ccw_stream_release(another);
  GOOD(use_and_give_back()); /* of device 0 */
}

/* The last, since it is device 0. */
static void test_timeout(void)
{
  ccw_module *module = good_module(device);
  ccw_kernel *kernel;
  ccw_launch launch = {.grid = {1, 1, 1}, .block = {1, 1, 1}};
  GOOD(ccw_module_kernel(module, "never_ends", &kernel));
  GOOD(ccw_kernel_launch(kernel, &launch, own_stream()));
  SAYS(ccw_device_synchronize(device), DEADLINE_EXCEEDED, "%s:0: synchronize: %s: %s", family,
      named("CUDA_ERROR_LAUNCH_TIMEOUT", "hipErrorLaunchTimeOut"), "the launch timed out and was terminated");
  ccw_module_unload(module);
}

/* ---- what there is, for the spec to read ----------------------------------------------------------------------------- */

static void print(void *context, const char *name, ccw_device *found, ccw_status why)
{
  const char *what, *reason;
  (void)context;
  if (strncmp(name, "cuda", 4) == 0 || strncmp(name, "rocm", 4) == 0) {
    printf("%s %s\n", found ? name : code_of(why), ccw_status_text(why));
    for (size_t i = 0; found && ccw_device_cannot(found, i, &what, &reason); ++i) printf("  %s: %s\n", what, reason);
  }
  ccw_status_free(why);
}

/* Where there are no graphs a status says so. */
static void begin_on(const char *name, const char *library)
{
  ccw_device *old;
  ccw_stream *stream;
  ccw_graph *graph;
  void *memory = NULL;
  if (library && !dlopen(library, RTLD_NOW)) printf("%s\n", dlerror());
  ccw_status status = ccw_device_open(name, strlen(name), &old);
  if (!status.code) status = ccw_device_stream(old, &stream);
  if (!status.code) status = ccw_device_allocate(old, 8, NULL, &memory);
  if (!status.code) status = ccw_device_release(old, memory);
  if (!status.code) status = ccw_stream_begin_capture(stream);
  if (!status.code) status = ccw_stream_end_capture(stream, &graph);
  if (!status.code) ccw_graph_free(graph);
  printf("%s: %s\n", code_of(status), ccw_status_text(status));
  ccw_status_free(status);
}

int main(int count, char **arguments)
{
  char text[256];
  if (count == 2 && strcmp(arguments[1], "visit") == 0) {
    ccw_devices_visit(print, NULL);
    return 0;
  }
  if (count >= 3 && strcmp(arguments[1], "begin") == 0) {
    begin_on(arguments[2], arguments[3]);
    return 0;
  }
  if (count != 3) return 2;
  family = arguments[1];
  folder = arguments[2];
  is_cuda = strcmp(family, "cuda") == 0;
  architecture = is_cuda ? "sm_90" : "gfx90a";
  find_driver();
  original = ccw_memory_replace((ccw_allocator){allocate, release, NULL});
  open_without_memory();
  open_devices();
  test_opening();
  test_memory();
  test_copies();
  test_streams();
  test_events();
  test_destroyed_stream();
  test_current();
  test_loading();
  test_names();
  test_launching();
  test_many_launches();
  test_graphs();
  test_handlers();
  test_no_memory();
  test_faults();
  test_threads();
  if (live(text, sizeof text) != 2) printf("left: %s\n", text), ++broken; /* the streams of the devices */
  test_broken();
  test_timeout();
  printf("%d broken\n", broken);
  return broken > 0;
}

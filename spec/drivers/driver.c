/* driver.c: a driver of a GPU that there is not, under NVIDIA's names or, with ROCM defined, under AMD's. Memory is the host's, work
 * is queued and runs when somebody waits for it, and kernels are functions in C. It is as strict as the real ones are, or
 * stricter: who uses what is not there, or is none of the current device's, is told so.
 *
 * Environment: STAND_IN_DEVICES, how many there are, 2 unless it is said; STAND_IN_FAIL, FUNCTION:ERROR, which fails always.
 * Defined for the build: OLD, a driver without graphs and lists; INCOMPLETE, one that lacks what everybody has. */
#include "stand_in.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef int gpu_error;
#include "device/gpu_symbols.h"

#ifdef ROCM
#define API(cuda, hip) hip
#define ARCHITECTURE "gfx90a"
#else
#define API(cuda, hip) cuda
#define ARCHITECTURE "sm_90"
#endif

#define DECLARE(member, cuda, hip, parameters) int API(cuda, hip) parameters;
GPU_SYMBOLS(DECLARE)
GPU_GRAPH_SYMBOLS(DECLARE)
#undef DECLARE
#define DECLARE(result, name, parameters) result name parameters;
#ifdef ROCM
HIP_SYMBOLS(DECLARE)
#else
CUDA_SYMBOLS(DECLARE)
CUDA_LISTING_SYMBOLS(DECLARE)
#endif

/* E(name here, number, of CUDA, of HIP, text) */
#define ERRORS(E)                                                                                             \
  E(INVALID_VALUE, 1, "CUDA_ERROR_INVALID_VALUE", "hipErrorInvalidValue", "invalid argument")                 \
  E(OUT_OF_MEMORY, 2, "CUDA_ERROR_OUT_OF_MEMORY", "hipErrorOutOfMemory", "out of memory")                     \
  E(NOT_INITIALIZED, 3, "CUDA_ERROR_NOT_INITIALIZED", "hipErrorNotInitialized", "initialization error")       \
  E(NO_DEVICE, 100, "CUDA_ERROR_NO_DEVICE", "hipErrorNoDevice", "no device is detected")                      \
  E(INVALID_DEVICE, 101, "CUDA_ERROR_INVALID_DEVICE", "hipErrorInvalidDevice", "invalid device ordinal")      \
  E(INVALID_IMAGE, 200, "CUDA_ERROR_INVALID_IMAGE", "hipErrorInvalidImage", "device kernel image is invalid") \
  E(INVALID_CONTEXT, 201, "CUDA_ERROR_INVALID_CONTEXT", "hipErrorInvalidContext", "invalid device context")   \
  E(NO_BINARY, 209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "hipErrorNoBinaryForGpu",                                 \
      "no kernel image is available for execution on the device")                                             \
  E(INVALID_HANDLE, 400, "CUDA_ERROR_INVALID_HANDLE", "hipErrorInvalidHandle", "invalid resource handle")     \
  E(ILLEGAL_STATE, 401, "CUDA_ERROR_ILLEGAL_STATE", "hipErrorIllegalState",                                   \
      "the operation cannot be performed in the present state")                                               \
  E(NOT_FOUND, 500, "CUDA_ERROR_NOT_FOUND", "hipErrorNotFound", "named symbol not found")                     \
  E(NOT_READY, 600, "CUDA_ERROR_NOT_READY", "hipErrorNotReady", "device not ready")                           \
  E(ILLEGAL_ADDRESS, 700, "CUDA_ERROR_ILLEGAL_ADDRESS", "hipErrorIllegalAddress",                             \
      "an illegal memory access was encountered")                                                             \
  E(LAUNCH_TIMEOUT, 702, "CUDA_ERROR_LAUNCH_TIMEOUT", "hipErrorLaunchTimeOut",                                \
      "the launch timed out and was terminated")                                                              \
  E(ASSERT, 710, "CUDA_ERROR_ASSERT", "hipErrorAssert", "device-side assert triggered")                       \
  E(CAPTURE_UNSUPPORTED, 900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "hipErrorStreamCaptureUnsupported",    \
      "operation not permitted when stream is capturing")                                                     \
  E(CAPTURE_INVALIDATED, 901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "hipErrorStreamCaptureInvalidated",    \
      "operation failed due to a previous error during capture")                                              \
  E(CAPTURE_UNMATCHED, 903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "hipErrorStreamCaptureUnmatched",          \
      "the capture was not initiated in this stream")                                                         \
  E(CAPTURE_UNJOINED, 904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "hipErrorStreamCaptureUnjoined",             \
      "capturing stream has unjoined work")                                                                   \
  E(CAPTURE_ISOLATION, 905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "hipErrorStreamCaptureIsolation",          \
      "dependency created on uncaptured work in another stream")                                              \
  E(CAPTURED_EVENT, 907, "CUDA_ERROR_CAPTURED_EVENT", "hipErrorCapturedEvent",                                \
      "operation not permitted on an event last recorded in a capturing stream")                              \
  E(WRONG_THREAD, 908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "hipErrorStreamCaptureWrongThread",          \
      "attempt to terminate a thread-local capture sequence from another thread")

#define ENUMERATE(name, number, cuda, hip, text) name = number,
enum { SUCCESS, ERRORS(ENUMERATE) };

/* ---- objects --------------------------------------------------------------------------------------------------------- */

typedef enum kind { STREAM, EVENT, MODULE, FUNCTION, GRAPH, EXECUTABLE, MEMORY, PINNED, KINDS } kind;

static const char *const kind_names[KINDS] = {
    "streams", "events", "modules", "functions", "graphs", "executables", "allocations", "pinned allocations"};

typedef struct operation operation;
typedef struct capture capture;

/* What handles point to; of memory, the block. None is freed, so that no handle is taken for another. */
typedef struct object {
  struct object *next;
  kind kind;
  int device;
  /* a block */
  unsigned char *block;
  size_t size;
  /* a stream, a graph, an executable: what is queued */
  operation *first;
  capture *capture;
  bool is_unjoined; /* something was captured that the first stream has not waited for */
  /* an event */
  struct object *stream;
  long recorded, happened; /* how often */
  struct timespec at;
  capture *recorded_in;
  /* a module has functions */
  struct object *module;
  const struct kernel *kernel;
} object;

typedef struct kernel {
  const char *name;
  size_t sizes[5]; /* of parameters, ends with 0 */
  /* Computes the elements below `threads`; gives an error. */
  int (*run)(int device, int64_t threads, void **arguments);
} kernel;

enum { COPY, FILL, LAUNCH, RECORD, WAIT };

struct operation {
  operation *next;
  int what;
  unsigned char *to;
  const unsigned char *from;
  size_t size;
  unsigned char byte;
  const kernel *kernel;
  int64_t threads;
  uint64_t values[4];
  object *event;
  long generation;
};

struct capture {
  capture *next;
  object *origin;
  pthread_t thread;
  int mode;
  bool is_invalid;
  operation *first;
};

enum { MOST_DEVICES = 8, CAPACITY = 1 << 28 };

static struct device {
  int broken; /* by that error */
  size_t used;
} devices[MOST_DEVICES];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int device_count = 2;
static bool is_initialized;
static object *live, *dead;
static capture *captures;
#ifdef ROCM
static _Thread_local int current; /* a device */
static _Thread_local int last_error;
#else
static _Thread_local int current = -1;
#endif
static _Thread_local int capture_mode, late_error;

static object *make(kind k)
{
  object *o = calloc(1, sizeof *o);
  o->kind = k;
  o->device = current;
  o->next = live;
  live = o;
  return o;
}

/* NULL: it is none, or is gone, or belongs to another device than the current one. */
static object *find(kind k, const void *handle)
{
  for (object *o = live; o; o = o->next)
    if (o == handle && o->kind == k) return o->device == current ? o : NULL;
  return NULL;
}

static void bury(object *o)
{
  object **at = &live;
  while (*at != o) at = &(*at)->next;
  *at = o->next;
  o->next = dead;
  dead = o;
}

/* The block of that kind that has these bytes; NULL: there is none. */
static object *find_block(kind k, int device, const void *memory, size_t size)
{
  for (object *o = live; o; o = o->next) {
    if (o->kind != k || o->device != device || (const unsigned char *)memory < o->block) continue;
    size_t offset = (size_t)((const unsigned char *)memory - o->block);
    if (offset < o->size && size <= o->size - offset) return o;
  }
  return NULL;
}

/* ---- faults on demand ------------------------------------------------------------------------------------------------ */

static char failing[64];
static int until_failure = -1, failure;
static char always_failing[64];
static int always_failure;

void stand_in_fail(const char *function, int nth, int error)
{
  snprintf(failing, sizeof failing, "%s", function);
  until_failure = nth;
  failure = error;
}

bool stand_in_failed(void) { return until_failure < 0; }

static int injected(const char *function)
{
  if (strcmp(always_failing, function) == 0) return always_failure;
  if (until_failure < 0 || (*failing && strcmp(failing, function) != 0)) return 0;
  return until_failure-- == 0 ? failure : 0;
}

int stand_in_live(char *text, size_t size)
{
  int counts[KINDS] = {0}, sum = 0;
  pthread_mutex_lock(&lock);
  for (const object *o = live; o; o = o->next) ++counts[o->kind];
  pthread_mutex_unlock(&lock);
  size_t length = 0;
  *text = '\0';
  for (int i = 0; i < KINDS; ++i) {
    sum += counts[i];
    if (counts[i] > 0 && length < size)
      length += (size_t)snprintf(text + length, size - length, "%d %s; ", counts[i], kind_names[i]);
  }
  return sum;
}

__attribute__((constructor)) static void read_environment(void)
{
  const char *count = getenv("STAND_IN_DEVICES"), *fail = getenv("STAND_IN_FAIL");
  if (count) device_count = atoi(count);
  if (fail && sscanf(fail, "%63[^:]:%d", always_failing, &always_failure) != 2) *always_failing = '\0';
}

/* ---- the frame of every function ------------------------------------------------------------------------------------- */

/* NOTHING may be called at any time; SAFE wants a current device that works, UNSAFE also that this thread captures nothing.
 * What is CURRENT can be asked and said at any time, once the driver works, and is not made to fail. What ENDS something is SAFE,
 * what RELEASES is UNSAFE, and they do their work even where they are made to fail. */
typedef enum need { NOTHING, INITIALIZED, CURRENT, SAFE, ENDS, UNSAFE, RELEASES } need;

/* What may not be done while a stream captures ends the capture, unless the thread has said otherwise. */
static int check_captures(void)
{
  enum { GLOBAL, OF_THREAD, RELAXED };
  int error = 0;
  if (capture_mode == RELAXED) return 0;
  for (capture *c = captures; c; c = c->next) {
    bool is_own = pthread_equal(c->thread, pthread_self()) != 0;
    if (c->mode == RELAXED || (!is_own && (c->mode == OF_THREAD || capture_mode == OF_THREAD))) continue;
    c->is_invalid = true;
    error = CAPTURE_UNSUPPORTED;
  }
  return error;
}

static int end(int error)
{
  if (!error) error = late_error;
  late_error = 0;
#ifdef ROCM
  if (error) last_error = error;
#endif
  pthread_mutex_unlock(&lock);
  return error;
}

static int check(need n)
{
  if (n >= INITIALIZED && !is_initialized) return NOT_INITIALIZED;
  if (n >= SAFE && current < 0) return INVALID_CONTEXT;
  if (n >= SAFE && devices[current].broken) return devices[current].broken;
  return n >= UNSAFE ? check_captures() : 0;
}

static int begin(const char *function, need n)
{
  pthread_mutex_lock(&lock);
  int fault = n == CURRENT ? 0 : injected(function), error = check(n);
  bool is_late = n == ENDS || n == RELEASES;
  late_error = is_late ? fault : 0;
  if (!error && !is_late) error = fault;
  return error ? end(error) : 0;
}

#define NAME_OF(name) NAME_OF_(name)
#define NAME_OF_(name) #name
#define BEGIN(cuda, hip, need)                           \
  do {                                                   \
    int error_ = begin(NAME_OF(API(cuda, hip)), (need)); \
    if (error_) return error_;                           \
  } while (0)

/* ---- work ------------------------------------------------------------------------------------------------------------ */

static void append(operation **first, const operation *o)
{
  operation *copied = malloc(sizeof *copied);
  *copied = *o;
  copied->next = NULL;
  while (*first) first = &(*first)->next;
  *first = copied;
}

static void forget(operation **first)
{
  for (operation *o; (o = *first);) {
    *first = o->next;
    free(o);
  }
}

static int queue(object *stream, const operation *o)
{
  capture *c = stream->capture;
  if (!c) return append(&stream->first, o), 0;
  if (c->is_invalid) return CAPTURE_INVALIDATED;
  stream->is_unjoined = stream != c->origin;
  return append(&c->first, o), 0;
}

static int run_one(object *stream);

static int run_launch(int device, const operation *o)
{
  void *arguments[4];
  for (int i = 0; i < 4; ++i) arguments[i] = (void *)(uintptr_t)&o->values[i];
  return o->kernel->run(device, o->threads, arguments);
}

static int run_operation(object *stream, const operation *o)
{
  switch (o->what) {
  case COPY: return memmove(o->to, o->from, o->size), 0;
  case FILL: return memset(o->to, o->byte, o->size), 0;
  case LAUNCH: return run_launch(stream->device, o);
  case RECORD:
    o->event->happened = o->generation;
    clock_gettime(CLOCK_MONOTONIC, &o->event->at);
    return 0;
  default:
    while (o->event->happened < o->generation) {
      int error = run_one(o->event->stream);
      if (error) return error;
    }
    return 0;
  }
}

/* Where one fails the device is broken, and the rest never runs. */
static int run_one(object *stream)
{
  operation *o = stream->first;
  stream->first = o->next;
  int error = devices[stream->device].broken;
  if (!error) error = run_operation(stream, o);
  free(o);
  devices[stream->device].broken = error;
  if (error) forget(&stream->first);
  return error;
}

static int drain(object *stream)
{
  int error = devices[stream->device].broken;
  while (stream->first && !error) error = run_one(stream);
  return error;
}

static int drain_device(int device)
{
  for (object *o = live; o; o = o->next)
    if (o->kind == STREAM && o->device == device && drain(o)) break;
  return devices[device].broken;
}

/* ---- kernels --------------------------------------------------------------------------------------------------------- */

static bool is_ours(int device, const void *memory, int64_t count, size_t size)
{
  return count <= 0 || find_block(MEMORY, device, memory, (size_t)count * size);
}

#define ARGUMENT(type, i) (*(type *)arguments[i])

/* axpy_f32(float a, const float *x, float *y, int64_t n): y = a * x + y */
static int axpy(int device, int64_t threads, void **arguments)
{
  float a = ARGUMENT(float, 0), *y = ARGUMENT(float *, 2);
  const float *x = ARGUMENT(const float *, 1);
  int64_t n = ARGUMENT(int64_t, 3) < threads ? ARGUMENT(int64_t, 3) : threads;
  if (!is_ours(device, x, n, sizeof *x) || !is_ours(device, y, n, sizeof *y)) return ILLEGAL_ADDRESS;
  for (int64_t i = 0; i < n; ++i) y[i] = a * x[i] + y[i];
  return 0;
}

/* fill_u32(uint32_t value, uint32_t *memory, int64_t n) */
static int fill(int device, int64_t threads, void **arguments)
{
  uint32_t *memory = ARGUMENT(uint32_t *, 1);
  int64_t n = ARGUMENT(int64_t, 2) < threads ? ARGUMENT(int64_t, 2) : threads;
  if (!is_ours(device, memory, n, sizeof *memory)) return ILLEGAL_ADDRESS;
  for (int64_t i = 0; i < n; ++i) memory[i] = ARGUMENT(uint32_t, 0);
  return 0;
}

static int never_ends(int device, int64_t threads, void **arguments)
{
  (void)device, (void)threads, (void)arguments;
  return LAUNCH_TIMEOUT;
}

static int asserts(int device, int64_t threads, void **arguments)
{
  (void)device, (void)threads, (void)arguments;
  return ASSERT;
}

static int nothing(int device, int64_t threads, void **arguments)
{
  (void)device, (void)threads, (void)arguments;
  return 0;
}

static const kernel kernels[] = {{"nothing", {0}, nothing}, {"axpy_f32", {4, 8, 8, 8, 0}, axpy},
    {"fill_u32", {4, 8, 8, 0}, fill}, {"_Z4axpyfPKfPfl", {4, 8, 8, 8, 0}, axpy}, {"never_ends", {0}, never_ends},
    {"asserts", {0}, asserts}};

enum { KERNELS = sizeof kernels / sizeof *kernels };

static const kernel *kernel_of(const char *name, size_t length)
{
  for (int i = 0; i < KERNELS; ++i)
    if (strlen(kernels[i].name) == length && memcmp(kernels[i].name, name, length) == 0) return &kernels[i];
  return NULL;
}

/* ---- the driver and its devices -------------------------------------------------------------------------------------- */

int API(cuInit, hipInit)(unsigned flags)
{
  BEGIN(cuInit, hipInit, NOTHING);
  if (flags != 0) return end(INVALID_VALUE);
  if (device_count == 0) return end(NO_DEVICE);
  is_initialized = true;
  return end(0);
}

#ifndef ROCM
/* NVRTC asks a driver that is there, before any other function, and takes no for an answer. */
int cuGetExportTable(const void **table, const void *id);
int cuGetExportTable(const void **table, const void *id)
{
  (void)id;
  *table = NULL;
  return NOT_FOUND;
}
#endif

int API(cuDeviceGetCount, hipGetDeviceCount)(int *count)
{
  BEGIN(cuDeviceGetCount, hipGetDeviceCount, INITIALIZED);
  *count = device_count;
  return end(0);
}

static bool is_device(int device) { return device >= 0 && device < device_count; }

int API(cuDeviceGet, hipDeviceGet)(int *device, int ordinal)
{
  BEGIN(cuDeviceGet, hipDeviceGet, INITIALIZED);
  if (!is_device(ordinal)) return end(INVALID_DEVICE);
  *device = ordinal;
  return end(0);
}

int API(cuDeviceGetName, hipDeviceGetName)(char *name, int length, int device)
{
  BEGIN(cuDeviceGetName, hipDeviceGetName, INITIALIZED);
  if (!is_device(device)) return end(INVALID_DEVICE);
  snprintf(name, (size_t)length, "stand-in %d", device);
  return end(0);
}

int API(cuDeviceTotalMem_v2, hipDeviceTotalMem)(size_t *size, int device)
{
  BEGIN(cuDeviceTotalMem_v2, hipDeviceTotalMem, INITIALIZED);
  *size = CAPACITY;
  return end(is_device(device) ? 0 : INVALID_DEVICE);
}

int API(cuDeviceGetAttribute, hipDeviceGetAttribute)(int *value, int attribute, int device)
{
  static const int known[][2] = {
#ifdef ROCM
      {26, 1024}, {27, 1024}, {28, 1024}, {29, 2147483647}, {30, 65536}, {31, 65536}, {56, 1024}, {63, 4}, {74, 65536},
      {87, 64}
#else
      {1, 1024}, {2, 1024}, {3, 1024}, {4, 64}, {5, 2147483647}, {6, 65535}, {7, 65535}, {8, 49152}, {10, 32}, {16, 4},
      {75, 9}, {76, 0}, {97, 232448}
#endif
  };
  BEGIN(cuDeviceGetAttribute, hipDeviceGetAttribute, INITIALIZED);
  if (!is_device(device)) return end(INVALID_DEVICE);
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i)
    if (known[i][0] == attribute) return *value = known[i][1], end(0);
  return end(INVALID_VALUE);
}

int API(cuCtxSynchronize, hipDeviceSynchronize)(void)
{
  BEGIN(cuCtxSynchronize, hipDeviceSynchronize, UNSAFE);
  return end(drain_device(current));
}

static const struct {
  int error;
  const char *names[2], *text;
} errors[] = {
#define ROW(name, number, cuda, hip, text) {number, {cuda, hip}, text},
    ERRORS(ROW)};

enum { ERROR_COUNT = sizeof errors / sizeof *errors };

static const char *error_name(int error)
{
  for (int i = 0; i < ERROR_COUNT; ++i)
    if (errors[i].error == error) return errors[i].names[API(0, 1)];
  return NULL;
}

static const char *error_text(int error)
{
  for (int i = 0; i < ERROR_COUNT; ++i)
    if (errors[i].error == error) return errors[i].text;
  return NULL;
}

#ifdef ROCM
const char *hipGetErrorName(int error) { return error_name(error); }
const char *hipGetErrorString(int error) { return error_text(error); }

int hipGetLastError(void)
{
  int error = last_error;
  last_error = 0;
  return error;
}

int hipGetDevice(int *device)
{
  BEGIN(, hipGetDevice, CURRENT);
  *device = current;
  return end(0);
}

int hipSetDevice(int device)
{
  BEGIN(, hipSetDevice, CURRENT);
  if (!is_device(device)) return end(INVALID_DEVICE);
  current = device;
  return end(0);
}

int hipDeviceGetPCIBusId(char *id, int length, int device)
{
  BEGIN(, hipDeviceGetPCIBusId, INITIALIZED);
  snprintf(id, (size_t)length, "ffff:%02x:00.0", device);
  return end(0);
}
#else
int cuGetErrorName(int error, const char **name)
{
  *name = error_name(error);
  return *name ? 0 : INVALID_VALUE;
}

int cuGetErrorString(int error, const char **text)
{
  *text = error_text(error);
  return *text ? 0 : INVALID_VALUE;
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
  BEGIN(cuDevicePrimaryCtxRetain, , INITIALIZED);
  if (!is_device(device)) return end(INVALID_DEVICE);
  *context = &devices[device];
  return end(0);
}

int cuCtxGetCurrent(void **context)
{
  BEGIN(cuCtxGetCurrent, , CURRENT);
  *context = current < 0 ? NULL : &devices[current];
  return end(0);
}

int cuCtxSetCurrent(void *context)
{
  BEGIN(cuCtxSetCurrent, , CURRENT);
  struct device *device = context;
  if (device && (device < devices || device >= devices + device_count)) return end(INVALID_CONTEXT);
  current = device ? (int)(device - devices) : -1;
  return end(0);
}
#endif

/* ---- memory ---------------------------------------------------------------------------------------------------------- */

int API(cuMemGetInfo_v2, hipMemGetInfo)(size_t *is_free, size_t *total)
{
  BEGIN(cuMemGetInfo_v2, hipMemGetInfo, SAFE);
  *total = CAPACITY;
  *is_free = CAPACITY - devices[current].used;
  return end(0);
}

static int make_block(kind k, void **memory, size_t size)
{
  if (size == 0) return INVALID_VALUE;
  object *o = make(k);
  o->block = malloc(size);
  o->size = size;
  memset(o->block, 0xCB, size);
  *memory = o->block;
  return 0;
}

static void release_block(object *o)
{
  free(o->block);
  o->block = NULL;
  bury(o);
}

int API(cuMemAlloc_v2, hipMalloc)(void **memory, size_t size)
{
  BEGIN(cuMemAlloc_v2, hipMalloc, UNSAFE);
  if (size > CAPACITY - devices[current].used) return end(OUT_OF_MEMORY);
  int error = make_block(MEMORY, memory, size);
  if (!error) devices[current].used += size;
  return end(error);
}

int API(cuMemFree_v2, hipFree)(void *memory)
{
  BEGIN(cuMemFree_v2, hipFree, RELEASES);
  object *o = find_block(MEMORY, current, memory, 0);
  if (!o || o->block != memory) return end(INVALID_VALUE);
  int error = drain_device(current);
  devices[current].used -= o->size;
  release_block(o);
  return end(error);
}

int API(cuMemHostAlloc, hipHostMalloc)(void **memory, size_t size, unsigned flags)
{
  BEGIN(cuMemHostAlloc, hipHostMalloc, UNSAFE);
  if (flags != 1) return end(INVALID_VALUE);
  return end(size > CAPACITY ? OUT_OF_MEMORY : make_block(PINNED, memory, size));
}

int API(cuMemFreeHost, hipHostFree)(void *memory)
{
  BEGIN(cuMemFreeHost, hipHostFree, RELEASES);
  object *o = find_block(PINNED, current, memory, 0);
  if (!o || o->block != memory) return end(INVALID_VALUE);
  release_block(o);
  return end(0);
}

static int queue_copy(void *stream, void *to, const void *from, size_t size, const void *ours, const void *also_ours)
{
  object *s = find(STREAM, stream);
  if (!s) return INVALID_HANDLE;
  if (!find_block(MEMORY, current, ours, size)) return INVALID_VALUE;
  if (!find_block(MEMORY, current, also_ours, size)) return INVALID_VALUE;
  return queue(s, &(operation){.what = COPY, .to = to, .from = from, .size = size});
}

int API(cuMemcpyHtoDAsync_v2, hipMemcpyHtoDAsync)(void *to, const void *from, size_t size, void *stream)
{
  BEGIN(cuMemcpyHtoDAsync_v2, hipMemcpyHtoDAsync, SAFE);
  return end(queue_copy(stream, to, from, size, to, to));
}

int API(cuMemcpyDtoHAsync_v2, hipMemcpyDtoHAsync)(void *to, const void *from, size_t size, void *stream)
{
  BEGIN(cuMemcpyDtoHAsync_v2, hipMemcpyDtoHAsync, SAFE);
  return end(queue_copy(stream, to, from, size, from, from));
}

int API(cuMemcpyDtoDAsync_v2, hipMemcpyDtoDAsync)(void *to, const void *from, size_t size, void *stream)
{
  BEGIN(cuMemcpyDtoDAsync_v2, hipMemcpyDtoDAsync, SAFE);
  return end(queue_copy(stream, to, from, size, to, from));
}

int API(cuMemsetD8Async, hipMemsetD8Async)(void *memory, unsigned char byte, size_t size, void *stream)
{
  BEGIN(cuMemsetD8Async, hipMemsetD8Async, SAFE);
  object *s = find(STREAM, stream);
  if (!s) return end(INVALID_HANDLE);
  if (!find_block(MEMORY, current, memory, size)) return end(INVALID_VALUE);
  return end(queue(s, &(operation){.what = FILL, .to = memory, .byte = byte, .size = size}));
}

/* ---- streams and events ---------------------------------------------------------------------------------------------- */

int API(cuStreamCreate, hipStreamCreateWithFlags)(void **stream, unsigned flags)
{
  BEGIN(cuStreamCreate, hipStreamCreateWithFlags, SAFE);
  if (flags > 1) return end(INVALID_VALUE);
  *stream = make(STREAM);
  return end(0);
}

int API(cuStreamDestroy_v2, hipStreamDestroy)(void *stream)
{
  BEGIN(cuStreamDestroy_v2, hipStreamDestroy, RELEASES);
  object *s = find(STREAM, stream);
  if (!s) return end(INVALID_HANDLE);
  if (s->capture) s->capture->is_invalid = true;
  int error = drain(s);
  bury(s);
  return end(error);
}

/* Waiting for a stream that captures ends the capture. */
static int not_capturing(object *stream)
{
  if (!stream) return INVALID_HANDLE;
  if (!stream->capture) return 0;
  stream->capture->is_invalid = true;
  return CAPTURE_UNSUPPORTED;
}

int API(cuStreamSynchronize, hipStreamSynchronize)(void *stream)
{
  BEGIN(cuStreamSynchronize, hipStreamSynchronize, SAFE);
  object *s = find(STREAM, stream);
  int error = not_capturing(s);
  return end(error ? error : drain(s));
}

#ifndef INCOMPLETE
/* Goes on by one operation each time it is asked. */
int API(cuStreamQuery, hipStreamQuery)(void *stream)
{
  BEGIN(cuStreamQuery, hipStreamQuery, SAFE);
  object *s = find(STREAM, stream);
  int error = not_capturing(s);
  if (error || !s->first) return end(error);
  error = run_one(s);
  return end(error ? error : NOT_READY);
}
#endif

int API(cuEventCreate, hipEventCreateWithFlags)(void **event, unsigned flags)
{
  BEGIN(cuEventCreate, hipEventCreateWithFlags, SAFE);
  if (flags != 0) return end(INVALID_VALUE);
  *event = make(EVENT);
  return end(0);
}

int API(cuEventDestroy_v2, hipEventDestroy)(void *event)
{
  BEGIN(cuEventDestroy_v2, hipEventDestroy, RELEASES);
  object *e = find(EVENT, event);
  if (!e) return end(INVALID_HANDLE);
  bury(e);
  return end(0);
}

int API(cuEventRecord, hipEventRecord)(void *event, void *stream)
{
  BEGIN(cuEventRecord, hipEventRecord, SAFE);
  object *e = find(EVENT, event), *s = find(STREAM, stream);
  if (!e || !s) return end(INVALID_HANDLE);
  e->stream = s;
  e->recorded_in = s->capture;
  if (s->capture) return end(s->capture->is_invalid ? CAPTURE_INVALIDATED : 0);
  return end(queue(s, &(operation){.what = RECORD, .event = e, .generation = ++e->recorded}));
}

/* A stream that waits for what another captures captures, too; the first one has to wait for it in the end. */
static int wait_captured(object *stream, const object *event)
{
  capture *c = event->recorded_in;
  if (stream->capture && stream->capture != c) return CAPTURE_ISOLATION;
  if (c->is_invalid) return CAPTURE_INVALIDATED;
  stream->capture = c;
  if (stream == c->origin) event->stream->is_unjoined = false;
  return 0;
}

int API(cuStreamWaitEvent, hipStreamWaitEvent)(void *stream, void *event, unsigned flags)
{
  BEGIN(cuStreamWaitEvent, hipStreamWaitEvent, SAFE);
  object *s = find(STREAM, stream), *e = find(EVENT, event);
  if (!s || !e) return end(INVALID_HANDLE);
  if (flags != 0) return end(INVALID_VALUE);
  if (e->recorded_in) return end(wait_captured(s, e));
  if (s->capture) return end(not_capturing(s) ? CAPTURE_ISOLATION : 0);
  if (e->recorded == 0) return end(0);
  return end(queue(s, &(operation){.what = WAIT, .event = e, .generation = e->recorded}));
}

int API(cuEventSynchronize, hipEventSynchronize)(void *event)
{
  BEGIN(cuEventSynchronize, hipEventSynchronize, UNSAFE);
  object *e = find(EVENT, event);
  if (!e) return end(INVALID_HANDLE);
  if (e->recorded_in) return end(CAPTURED_EVENT);
  int error = 0;
  while (e->happened < e->recorded && !error) error = run_one(e->stream);
  return end(error);
}

int API(cuEventElapsedTime, hipEventElapsedTime)(float *milliseconds, void *from, void *to)
{
  BEGIN(cuEventElapsedTime, hipEventElapsedTime, SAFE);
  object *a = find(EVENT, from), *b = find(EVENT, to);
  if (!a || !b || a->recorded == 0 || b->recorded == 0) return end(INVALID_HANDLE);
  if (a->happened < a->recorded || b->happened < b->recorded) return end(NOT_READY);
  *milliseconds = (float)((double)(b->at.tv_sec - a->at.tv_sec) * 1e3 + (double)(b->at.tv_nsec - a->at.tv_nsec) * 1e-6);
  return end(0);
}

/* ---- code ------------------------------------------------------------------------------------------------------------ */

/* A text: "stand-in code for sm_90", then a name of a kernel a line. */
static int read_code(object *module, const char *code)
{
  static const char head[] = "stand-in code for ";
  size_t length = strcspn(code, "\n");
  if (strncmp(code, head, strlen(head)) != 0) return INVALID_IMAGE;
  if (strlen(head) + strlen(ARCHITECTURE) != length ||
      strncmp(code + strlen(head), ARCHITECTURE, strlen(ARCHITECTURE)) != 0)
    return NO_BINARY;
  while (code[length] == '\n') {
    code += length + 1;
    length = strcspn(code, "\n");
    if (length == 0) break;
    const kernel *known = kernel_of(code, length);
    if (!known) return INVALID_IMAGE;
    object *function = make(FUNCTION);
    function->kernel = known;
    function->module = module;
  }
  return 0;
}

static object *function_of(const object *module, const object *after)
{
  for (object *o = after ? after->next : live; o; o = o->next)
    if (o->kind == FUNCTION && o->module == module) return o;
  return NULL;
}

static void bury_module(object *module)
{
  for (object *function; (function = function_of(module, NULL));) bury(function);
  bury(module);
}

int API(cuModuleLoadData, hipModuleLoadData)(void **module, const void *image)
{
  BEGIN(cuModuleLoadData, hipModuleLoadData, UNSAFE);
  object *m = make(MODULE);
  int error = read_code(m, image);
  if (error)
    bury_module(m);
  else
    *module = m;
  return end(error);
}

int API(cuModuleUnload, hipModuleUnload)(void *module)
{
  BEGIN(cuModuleUnload, hipModuleUnload, RELEASES);
  object *m = find(MODULE, module);
  if (!m) return end(INVALID_HANDLE);
  int error = drain_device(current);
  bury_module(m);
  return end(error);
}

int API(cuModuleGetFunction, hipModuleGetFunction)(void **function, void *module, const char *name)
{
  BEGIN(cuModuleGetFunction, hipModuleGetFunction, SAFE);
  object *m = find(MODULE, module), *f = NULL;
  if (!m) return end(INVALID_HANDLE);
  while ((f = function_of(m, f)) && strcmp(f->kernel->name, name) != 0) continue;
  *function = f;
  return end(f ? 0 : NOT_FOUND);
}

int API(cuLaunchKernel, hipModuleLaunchKernel)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
    unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_size, void *stream, void **arguments,
    void **extra)
{
  BEGIN(cuLaunchKernel, hipModuleLaunchKernel, SAFE);
  object *f = find(FUNCTION, function), *s = find(STREAM, stream);
  uint64_t blocks = (uint64_t)grid_x * grid_y * grid_z, threads = (uint64_t)block_x * block_y * block_z;
  if (!f || !s) return end(INVALID_HANDLE);
  size_t most_shared = f->size > 0 ? f->size : API(49152, 65536);
  if (blocks == 0 || threads == 0 || threads > 1024 || extra || shared_size > most_shared) return end(INVALID_VALUE);
  operation o = {.what = LAUNCH, .kernel = f->kernel, .threads = (int64_t)(blocks * threads)};
  for (int i = 0; f->kernel->sizes[i]; ++i) memcpy(&o.values[i], arguments[i], f->kernel->sizes[i]);
  return end(queue(s, &o));
}

#if !defined ROCM && !defined OLD
int cuModuleGetFunctionCount(unsigned *count, void *module)
{
  BEGIN(cuModuleGetFunctionCount, , SAFE);
  object *m = find(MODULE, module);
  if (!m) return end(INVALID_HANDLE);
  *count = 0;
  for (object *f = NULL; (f = function_of(m, f));) ++*count;
  return end(0);
}

/* The list has the youngest first, a module its functions as they were written. */
int cuModuleEnumerateFunctions(void **functions, unsigned count, void *module)
{
  BEGIN(cuModuleEnumerateFunctions, , SAFE);
  object *m = find(MODULE, module);
  if (!m) return end(INVALID_HANDLE);
  for (object *f = NULL; count > 0 && (f = function_of(m, f));) functions[--count] = f;
  return end(0);
}

int cuFuncGetName(const char **name, void *function)
{
  BEGIN(cuFuncGetName, , SAFE);
  object *f = find(FUNCTION, function);
  if (!f) return end(INVALID_HANDLE);
  *name = f->kernel->name;
  return end(0);
}

int cuFuncGetParamInfo(void *function, size_t index, size_t *offset, size_t *size)
{
  BEGIN(cuFuncGetParamInfo, , SAFE);
  object *f = find(FUNCTION, function);
  if (!f) return end(INVALID_HANDLE);
  size_t count = 0;
  while (f->kernel->sizes[count]) ++count;
  if (index >= count) return end(INVALID_VALUE);
  *offset = index * 8;
  *size = f->kernel->sizes[index];
  return end(0);
}

int cuFuncSetAttribute(void *function, int attribute, int value)
{
  BEGIN(cuFuncSetAttribute, , SAFE);
  object *f = find(FUNCTION, function);
  if (!f) return end(INVALID_HANDLE);
  if (attribute != 8 || value < 0 || value > 232448) return end(INVALID_VALUE);
  f->size = (size_t)value;
  return end(0);
}
#endif

/* ---- graphs ---------------------------------------------------------------------------------------------------------- */

#ifndef OLD
int API(cuStreamBeginCapture_v2, hipStreamBeginCapture)(void *stream, int mode)
{
  BEGIN(cuStreamBeginCapture_v2, hipStreamBeginCapture, SAFE);
  object *s = find(STREAM, stream);
  if (!s) return end(INVALID_HANDLE);
  if (s->capture) return end(not_capturing(s) ? ILLEGAL_STATE : 0);
  capture *c = calloc(1, sizeof *c);
  *c = (capture){.next = captures, .origin = s, .thread = pthread_self(), .mode = mode};
  captures = s->capture = c;
  return end(0);
}

/* Takes all streams out of it, and says whether they were joined. */
static int leave_capture(const capture *c)
{
  int error = 0;
  for (object *o = live; o; o = o->next) {
    if (o->recorded_in == c) o->recorded_in = NULL;
    if (o->capture != c) continue;
    if (o->is_unjoined) error = CAPTURE_UNJOINED;
    o->is_unjoined = false;
    o->capture = NULL;
  }
  return c->is_invalid ? CAPTURE_INVALIDATED : error;
}

int API(cuStreamEndCapture, hipStreamEndCapture)(void *stream, void **graph)
{
  BEGIN(cuStreamEndCapture, hipStreamEndCapture, ENDS);
  object *s = find(STREAM, stream);
  *graph = NULL;
  if (!s) return end(INVALID_HANDLE);
  capture *c = s->capture, **at = &captures;
  if (!c) return end(ILLEGAL_STATE);
  if (c->origin != s) return end(CAPTURE_UNMATCHED);
  if (c->mode == 1 && !pthread_equal(c->thread, pthread_self())) return end(WRONG_THREAD);
  while (*at != c) at = &(*at)->next;
  *at = c->next;
  int error = leave_capture(c);
  if (!error) error = late_error;
  if (error) {
    forget(&c->first);
  } else {
    object *g = make(GRAPH);
    g->first = c->first;
    *graph = g;
  }
  free(c);
  return end(error);
}

int API(cuThreadExchangeStreamCaptureMode, hipThreadExchangeStreamCaptureMode)(int *mode)
{
  int before = capture_mode;
  capture_mode = *mode;
  *mode = before;
  return 0;
}

int API(cuGraphInstantiateWithFlags, hipGraphInstantiateWithFlags)(
    void **executable, void *graph, unsigned long long flags)
{
  BEGIN(cuGraphInstantiateWithFlags, hipGraphInstantiateWithFlags, SAFE);
  object *g = find(GRAPH, graph);
  if (!g) return end(INVALID_HANDLE);
  if (flags != 0) return end(INVALID_VALUE);
  object *e = make(EXECUTABLE);
  for (const operation *o = g->first; o; o = o->next) append(&e->first, o);
  *executable = e;
  return end(0);
}

int API(cuGraphLaunch, hipGraphLaunch)(void *executable, void *stream)
{
  BEGIN(cuGraphLaunch, hipGraphLaunch, SAFE);
  object *e = find(EXECUTABLE, executable), *s = find(STREAM, stream);
  int error = e && s ? 0 : INVALID_HANDLE;
  for (const operation *o = e ? e->first : NULL; o && !error; o = o->next) error = queue(s, o);
  return end(error);
}

static int destroy_graph(kind k, void *handle)
{
  object *o = find(k, handle);
  if (!o) return INVALID_HANDLE;
  forget(&o->first);
  bury(o);
  return 0;
}

int API(cuGraphExecDestroy, hipGraphExecDestroy)(void *executable)
{
  BEGIN(cuGraphExecDestroy, hipGraphExecDestroy, RELEASES);
  return end(destroy_graph(EXECUTABLE, executable));
}

int API(cuGraphDestroy, hipGraphDestroy)(void *graph)
{
  BEGIN(cuGraphDestroy, hipGraphDestroy, RELEASES);
  return end(destroy_graph(GRAPH, graph));
}
#endif

/* What the simulated GPU does, and what it says. Prints a line for each promise that is broken.
 *
 * sim MODULE NO_MODULE   two libraries, the second of which exports no kernels
 * sim measure            prints what some things cost
 */
#define _POSIX_C_SOURCE 200809L

#include <ccw/ccw.h>
#include <ccw/sim.h>

#include "expect.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <time.h>

static void must(ccw_status status)
{
  if (!status.code) return;
  printf("%s: %s\n", ccw_code_name(status.code), ccw_status_text(status));
  fflush(stdout);
  abort();
}

/* Whether it tells just this, in which *0x stands for an address. */
static bool is_told(ccw_status status, const char *expected)
{
  char text[4096];
  int at = snprintf(text, sizeof text, "%s: ", status.code ? ccw_code_name(status.code) : "OK");
  for (const char *from = ccw_status_text(status); *from && at < 4000;) {
    if (strncmp(from, "0x", 2) == 0) {
      text[at++] = '*';
      for (from += 2; (*from >= '0' && *from <= '9') || (*from >= 'a' && *from <= 'f');) ++from;
    } else {
      text[at++] = *from++;
    }
  }
  text[at] = '\0';
  ccw_status_free(status);
  bool is_same = strcmp(text, expected) == 0;
  if (!is_same) printf("expected: %s\n     got: %s\n", expected, text);
  return is_same;
}

#define TELLS(status, expected) EXPECT(is_told(status, expected))

static ccw_device *sim, *other_sim;
static ccw_stream *s0, *s1, *s2;

static void *take(size_t size, const char *site)
{
  void *memory;
  must(ccw_device_allocate(sim, size, site, &memory));
  return memory;
}

static void give(void *memory) { must(ccw_device_release(sim, memory)); }

static void to_device(ccw_stream *stream, void *to, const void *from, size_t size)
{
  must(ccw_stream_copy(stream, CCW_COPY_TO_DEVICE, to, from, size));
}

static void from_device(ccw_stream *stream, void *to, const void *from, size_t size)
{
  must(ccw_stream_copy(stream, CCW_COPY_FROM_DEVICE, to, from, size));
}

static void set(const char *option, double value) { must(ccw_device_set(sim, option, value)); }

/* ---- kernels ----------------------------------------------------------------------------------------------------------- */

typedef struct arguments {
  const float *x;
  float *y;
  int64_t first, count; /* elements */
} arguments;

#define POINTER(member, constant)                                                                     \
  {                                                                                                   \
    .offset = offsetof(arguments, member), .size = 8, .dtype = XLA_FFI_DataType_F32, .is_pointer = 1, \
    .is_const = constant                                                                              \
  }
#define NUMBER(member)                                                              \
  {                                                                                 \
    .offset = offsetof(arguments, member), .size = 8, .dtype = XLA_FFI_DataType_S64 \
  }

static const ccw_sim_parameter parameters[] = {POINTER(x, 1), POINTER(y, 0), NUMBER(first), NUMBER(count)};

static uint32_t threads_of(const ccw_simt *simt) { return simt->block[0] * simt->block[1] * simt->block[2]; }

/* What goes wrong in a kernel is the device's to find. */
#define AS_IT_IS __attribute__((no_sanitize("undefined", "address")))

/* The kernel NAME, in which `i` is an element, of thread and block, and `p` are the arguments. */
#define KERNEL(NAME, ...)                                                          \
  AS_IT_IS static void NAME##_run(ccw_simt *simt, const void *memory)              \
  {                                                                                \
    const arguments *p = memory;                                                   \
    for (uint32_t t = simt->from; t < threads_of(simt) && !simt->suspended; ++t) { \
      int64_t i = p->first + (int64_t)simt->block_index[0] * threads_of(simt) + t; \
      if (i >= p->first + p->count) continue;                                      \
      __VA_ARGS__                                                                  \
    }                                                                              \
  }                                                                                \
  static const ccw_sim_kernel NAME = {                                             \
      sizeof(ccw_sim_kernel), #NAME, NAME##_run, parameters, 4, sizeof(arguments), 0, CCW_SIM_ABI};

KERNEL(twice, p->y[i] = 2 * p->x[i];)
KERNEL(look, (void)*(const volatile float *)&p->x[i];)
KERNEL(one, p->y[i] = 1;)
KERNEL(mark, ((unsigned char *)p->y)[i] = 1;)
KERNEL(assert_false, {
  ccw_sim_place place = {"i < 0", "here.cu", 3};
  simt->fail(simt, t, &place);
})
KERNEL(wait_alone, {
  ccw_sim_place place = {"__syncthreads", "here.cu", 4};
  if (i == 0) simt->barrier(simt, t, 0, &place);
})
static volatile int forever = 1;
KERNEL(spin, while (forever) continue;)

static ccw_sim_stream *handle_of(ccw_stream *stream) { return ccw_stream_handle(stream); }

/* One thread an element, eight a block. */
static ccw_status launch(
    ccw_stream *stream, const ccw_sim_kernel *kernel, const void *x, void *y, int64_t first, int64_t count)
{
  arguments a = {x, y, first, count};
  ccw_sim_launch what = {
      sizeof what, kernel, {(uint32_t)((count + 7) / 8), 1, 1}, {count < 8 ? (uint32_t)count : 8, 1, 1}, 0, &a};
  return handle_of(stream)->functions->launch(handle_of(stream), &what);
}

static ccw_status launch_as(uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx, uint32_t by, uint32_t bz, size_t shared)
{
  arguments a = {0};
  ccw_sim_launch what = {sizeof what, &one, {gx, gy, gz}, {bx, by, bz}, shared, &a};
  return handle_of(s0)->functions->launch(handle_of(s0), &what);
}

static void reset(void) { must(ccw_device_reset(sim)); }

/* ---- memory ------------------------------------------------------------------------------------------------------------ */

static void memory_ends_where_a_page_ends(void)
{
  for (size_t size = 1; size < 10000; size += size < 70 ? 1 : 997) {
    uintptr_t memory = (uintptr_t)take(size, NULL);
    EXPECT((memory + size) % 4096 == 0);
    give((void *)memory);
  }
}

static void fresh_memory_holds_a_pattern(void)
{
  unsigned char bytes[5] = {0}, *memory = take(5, NULL);
  from_device(s0, bytes, memory, 5);
  must(ccw_stream_synchronize(s0));
  EXPECT(memcmp(bytes, "\xCB\xCB\xCB\xCB\xCB", 5) == 0);
  give(memory);
}

static void memory_has_an_end(void)
{
  void *memory;
  set("memory", 1000);
  void *first = take(600, "here");
  TELLS(ccw_device_allocate(sim, 401, "there", &memory),
      "RESOURCE_EXHAUSTED: sim:0: no memory for 401 bytes: 600 of 1000 are in use");
  EXPECT(ccw_device_describe(sim).memory == 1000 && ccw_device_describe(sim).memory_free == 400);
  give(first);
  set("memory", 16.0 * (1 << 30));
  TELLS(ccw_device_allocate(sim, (size_t)1 << 40, NULL, &memory),
      "RESOURCE_EXHAUSTED: sim:0: no memory for 1099511627776 bytes: 0 of 17179869184 are in use");
  set("memory", 1e15);
  TELLS(ccw_device_allocate(sim, (size_t)1 << 45, NULL, &memory),
      "RESOURCE_EXHAUSTED: sim:0: no addresses for 35184372088832 bytes");
  set("memory", 16.0 * (1 << 30));
  memory = take((size_t)12 << 30, NULL); /* which nobody touches */
  give(memory);
}

static void what_is_freed_is_known(void)
{
  char *memory = take(32, "x.lua:3"), of_host;
  TELLS(ccw_device_release(sim, memory + 4),
      "INVALID_ARGUMENT: sim:0: release: expected the start of an allocation, got byte 4 of 32 bytes taken at x.lua:3");
  TELLS(ccw_device_release(other_sim, memory), "INVALID_ARGUMENT: sim:1: release: expected memory of this device, got "
                                               "*: it is memory of sim:0: 32 bytes taken at x.lua:3");
  TELLS(ccw_device_release(sim, &of_host),
      "INVALID_ARGUMENT: sim:0: release: expected memory of this device, got *: it is memory of the host");
  TELLS(ccw_device_release(sim, memory - 4), "INVALID_ARGUMENT: sim:0: release: expected memory of this device, got *: "
                                             "it lies 4 bytes in front of 32 bytes taken at "
                                             "x.lua:3");
  give(memory);
  TELLS(ccw_device_release(sim, memory), "INVALID_ARGUMENT: sim:0: release: freed already: 32 bytes taken at x.lua:3");
}

typedef struct visited {
  int count;
  size_t sizes[8];
  char sites[8][16];
  void *free; /* at the first visit */
} visited;

static void visit(void *context, const void *memory, size_t size, const char *site)
{
  visited *v = context;
  (void)memory;
  if (v->count == 8) return;
  v->sizes[v->count] = size;
  snprintf(v->sites[v->count++], sizeof *v->sites, "%s", site);
  if (v->free) give(v->free);
  v->free = NULL;
}

static void memory_is_visited_by_age(void)
{
  visited v = {0};
  void *a = take(1, "a"), *b = take(2, NULL), *c = take(3, "c");
  ccw_device_visit_memory(sim, visit, &v);
  EXPECT(v.count == 3 && v.sizes[0] == 1 && v.sizes[1] == 2 && v.sizes[2] == 3);
  EXPECT(strcmp(v.sites[0], "a") == 0 && strcmp(v.sites[1], "") == 0 && strcmp(v.sites[2], "c") == 0);
  v = (visited){.free = a};
  ccw_device_visit_memory(sim, visit, &v);
  EXPECT(v.count == 3);
  v = (visited){.free = c};
  ccw_device_visit_memory(sim, visit, &v);
  EXPECT(v.count == 1);
  give(b);
}

static void much_memory_comes_and_goes(void)
{
  static void *many[3000];
  for (int i = 0; i < 3000; ++i) many[i] = take((size_t)i + 1, NULL);
  for (int i = 0; i < 3000; i += 2) give(many[i]);
  for (int i = 0; i < 100000; ++i) {
    void *memory = take(64, "again");
    if (i % 1000 == 0) {
      must(ccw_stream_fill(s0, memory, i, 64));
      must(ccw_stream_synchronize(s0));
    }
    give(memory);
  }
  for (int i = 1; i < 3000; i += 2) give(many[i]);
}

/* ---- copies, fills, laziness --------------------------------------------------------------------------------------------- */

static void nothing_runs_before_it_is_waited_for(void)
{
  char in[] = "abc", out[4] = "...", *memory = take(4, NULL);
  to_device(s0, memory, in, 4);
  from_device(s0, out, memory, 4);
  in[0] = 'A'; /* too early, and it shows */
  EXPECT(strcmp(out, "...") == 0);
  must(ccw_stream_synchronize(s1));
  EXPECT(strcmp(out, "...") == 0);
  must(ccw_stream_synchronize(s0));
  EXPECT(strcmp(out, "Abc") == 0);
  must(ccw_stream_fill(s0, memory + 1, 'x', 2));
  from_device(s0, out, memory, 4);
  must(ccw_device_synchronize(sim));
  EXPECT(strcmp(out, "Axx") == 0);
  must(ccw_stream_copy(s0, CCW_COPY_WITHIN, memory, memory + 1, 2));
  from_device(s0, out, memory, 4);
  give(memory); /* behind the work that uses it */
  EXPECT(strcmp(out, "xxx") == 0);
}

static void asking_again_and_again_sees_the_end(void)
{
  char out[4] = "...", *memory = take(4, NULL);
  bool is_done;
  must(ccw_stream_fill(s0, memory, 'a', 3));
  must(ccw_stream_fill(s0, memory + 3, 0, 1));
  from_device(s0, out, memory, 4);
  int count = 0;
  do {
    must(ccw_stream_query(s0, &is_done));
    ++count;
  } while (!is_done && count < 100);
  EXPECT(count == 3 && strcmp(out, "aaa") == 0);
  give(memory);
}

static void copies_stay_within(void)
{
  char *memory = take(32, "x.lua:3"), bytes[64] = {0};
  TELLS(ccw_stream_copy(s0, CCW_COPY_TO_DEVICE, memory, bytes, 33),
      "INVALID_ARGUMENT: sim:0: copy to device: to: expected memory of this device, got *: 33 bytes from byte 0 on "
      "pass the end of "
      "32 bytes taken at x.lua:3");
  TELLS(ccw_stream_copy(s0, CCW_COPY_FROM_DEVICE, bytes, memory + 30, 4),
      "INVALID_ARGUMENT: sim:0: copy from device: from: expected memory of this device, got *: 4 bytes from byte 30 on "
      "pass the "
      "end of 32 bytes taken at x.lua:3");
  TELLS(ccw_stream_copy(s0, CCW_COPY_TO_DEVICE, bytes, bytes + 32, 4),
      "INVALID_ARGUMENT: sim:0: copy to device: to: expected memory of this device, got *: it is memory of the host");
  TELLS(ccw_stream_copy(s0, CCW_COPY_TO_DEVICE, memory, memory, 4),
      "INVALID_ARGUMENT: sim:0: copy to device: from: expected memory of the host, got * of sim:0");
  TELLS(ccw_stream_fill(s0, memory + 40, 0, 1), "INVALID_ARGUMENT: sim:0: fill: to: expected memory of this device, "
                                                "got *: it lies 8 bytes behind 32 bytes taken at x.lua:3");
  give(memory);
  TELLS(ccw_stream_fill(s0, memory, 0, 1), "INVALID_ARGUMENT: sim:0: fill: to: expected memory of this device, got *: "
                                           "it was freed: 32 bytes taken at x.lua:3");
}

static void devices_do_not_mix(void)
{
  char in[4] = "abc", out[4] = "...";
  void *a = take(4, NULL), *b;
  must(ccw_device_allocate(other_sim, 4, NULL, &b));
  must(ccw_device_copy(sim, a, ccw_device_host(), in, 4));
  must(ccw_device_copy(other_sim, b, sim, a, 4));
  must(ccw_device_copy(ccw_device_host(), out, other_sim, b, 4));
  EXPECT(strcmp(out, "abc") == 0);
  TELLS(ccw_stream_fill(s0, b, 0, 1),
      "INVALID_ARGUMENT: sim:0: fill: to: expected memory of this device, got *: it is memory of sim:1: 4 bytes");
  give(a);
  must(ccw_device_release(other_sim, b));
}

/* ---- host code that touches memory of the device ------------------------------------------------------------------------ */

static volatile float sink;

static void host_code_is_noted_and_let_through(void)
{
  ccw_host_access accesses[8];
  float in[4] = {1, 2, 3, 4}, out[4];
  volatile float *x = take(sizeof in, "x"), *y = take(sizeof in, "y");
  to_device(s0, (void *)x, in, sizeof in);
  must(ccw_stream_synchronize(s0));
  EXPECT(ccw_device_take_accesses(sim, accesses, 8) == 0);

  for (int i = 1; i < 4; ++i) sink = x[i];
  EXPECT(sink == 4);
  for (int i = 2; i < 4; ++i) x[i] = 7;
  y[0] = 1;
  int64_t count = ccw_device_take_accesses(sim, accesses, 8);
  EXPECT(count == 3);
  EXPECT(accesses[0].address == &x[1] && !accesses[0].is_write && accesses[0].depth > 0);
  EXPECT(accesses[1].address == &x[2] && accesses[1].is_write);
  EXPECT(accesses[2].address == &y[0] && accesses[2].is_write);
  EXPECT(ccw_device_take_accesses(sim, accesses, 8) == 0);

  sink = x[0]; /* it was closed */
  must(ccw_device_synchronize(sim));
  sink = x[0]; /* and again, at the next wait: noted once */
  EXPECT(ccw_device_take_accesses(sim, accesses, 8) == 1);

  for (int i = 0; i < 3000; ++i) x[i + 4] = 1; /* behind its end, page after page */
  sink = x[-1];                                /* in its first page */
  sink = x[-5000];                             /* in front of that */
  count = ccw_device_take_accesses(sim, accesses, 8);
  EXPECT(count == 2);
  EXPECT(accesses[0].address == &x[4] && accesses[0].is_write);
  EXPECT(accesses[1].address == &x[-1] && !accesses[1].is_write);

  from_device(s0, out, (void *)x, sizeof out);
  must(ccw_stream_synchronize(s0));
  EXPECT(out[0] == 1 && out[3] == 7);
  x[-1] = 3; /* which no launch is blamed for */
  must(launch(s0, &one, NULL, (void *)x, 0, 4));
  must(ccw_stream_synchronize(s0));
  EXPECT(ccw_device_take_accesses(sim, accesses, 8) == 1);
  give((void *)x);
  sink = x[0];
  EXPECT(ccw_device_take_accesses(sim, accesses, 8) == 1 && accesses[0].address == x);
  sink = ((volatile char *)x)[(size_t)1 << 32]; /* where nothing ever was */
  EXPECT(ccw_device_take_accesses(sim, accesses, 8) == 1);
  give((void *)y);
}

static void much_may_be_touched(void)
{
  enum { MANY = 300 };
  static ccw_host_access accesses[MANY];
  static volatile char *memory[MANY];
  for (int i = 0; i < MANY; ++i) memory[i] = take(8, NULL);
  int64_t found = 0;
  for (int round = 0; round < 4; ++round) { /* some are told each time, and the others when they are touched again */
    for (int i = (int)found; i < MANY; ++i) memory[i][0] = 1;
    int64_t count = ccw_device_take_accesses(sim, accesses, MANY);
    for (int64_t i = 0; i < count; ++i) EXPECT(accesses[i].address == memory[found + i]);
    found += count;
  }
  EXPECT(found == MANY);
  for (int i = 0; i < MANY; ++i) give((void *)memory[i]);
}

static void *touch_in_thread(void *memory)
{
  for (int i = 0; i < 1000; ++i) ((volatile char *)memory)[i] = 1;
  return NULL;
}

static void other_threads_are_noted_too(void)
{
  enum { THREADS = 4 };
  pthread_t threads[THREADS];
  void *memory[THREADS];
  ccw_host_access accesses[16];
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < THREADS; ++i) memory[i] = take(1000, NULL);
    for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, touch_in_thread, memory[i]);
    for (int i = 0; i < 10; ++i) must(ccw_device_synchronize(sim));
    for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
    EXPECT(ccw_device_take_accesses(sim, accesses, 16) == THREADS);
    for (int i = 0; i < THREADS; ++i) give(memory[i]);
  }
}

/* ---- launches ---------------------------------------------------------------------------------------------------------- */

static void launches_run(void)
{
  float in[20], out[20];
  for (int i = 0; i < 20; ++i) in[i] = (float)i;
  float *x = take(sizeof in, NULL), *y = take(sizeof in, NULL);
  to_device(s0, x, in, sizeof in);
  must(launch(s0, &twice, x, y, 0, 20));
  from_device(s0, out, y, sizeof out);
  must(ccw_stream_synchronize(s0));
  for (int i = 0; i < 20; ++i) EXPECT(out[i] == 2 * in[i]);
  must(launch(s0, &one, NULL, y + 20, 0, 1) /* one past the end may be said, and not touched */);
  TELLS(ccw_stream_synchronize(s0),
      "OUT_OF_RANGE: sim:0: launch of one: block (0,0,0), thread (0,0,0): writes past the end of 80 bytes: byte 80 "
      "(CUDA_ERROR_ILLEGAL_ADDRESS)");
  reset();
  give(x);
  give(y);
}

/* What a launch has opened is not closed under the copies and launches behind it. */
static void copies_and_launches_take_turns(void)
{
  ccw_host_access access;
  float in[8] = {1, 2, 3, 4, 5, 6, 7, 8}, out[8], *x = take(32, "x"), *y = take(32, "y");
  to_device(s0, x, in, 32);
  must(launch(s0, &look, x, NULL, 0, 8));
  to_device(s0, x + 7, in, 4);
  from_device(s0, out, x, 32);
  must(launch(s0, &twice, x, y, 0, 8));
  must(launch(s0, &twice, y, y, 0, 8));
  must(ccw_stream_copy(s0, CCW_COPY_WITHIN, x, y, 4));
  must(ccw_stream_fill(s0, y + 1, 0, 4));
  must(launch(s0, &twice, x, x, 0, 1));
  must(ccw_stream_copy(s0, CCW_COPY_WITHIN, y + 2, x, 4));
  from_device(s0, out + 4, y, 16);
  must(ccw_stream_synchronize(s0));
  EXPECT(out[0] == 1 && out[3] == 4 && out[4] == 4 && out[5] == 0 && out[6] == 8 && out[7] == 16);
  EXPECT(ccw_device_take_accesses(sim, &access, 1) == 0);
  sink = *(volatile float *)x; /* and then all is closed */
  sink = *(volatile float *)y;
  EXPECT(ccw_device_take_accesses(sim, &access, 1) == 1 && ccw_device_take_accesses(sim, &access, 1) == 1);
  give(x);
  give(y);
}

/* What a launch of a kernel that reads or writes one element there is told to have done. */
static bool is_fault(const ccw_sim_kernel *kernel, const void *x, void *y, int64_t i, const char *expected)
{
  must(launch(s0, kernel, x, y, i, 1));
  bool is_good = is_told(ccw_stream_synchronize(s0), expected);
  reset();
  return is_good;
}

static void faults_are_told_once_and_stick(void)
{
  ccw_kernel_fault fault;
  void *memory;
  bool is_done;
  float *x = take(32, "x.lua:3");
  EXPECT(!ccw_device_last_fault(sim, &fault));
  must(launch(s0, &look, x, NULL, 9, 1));
  TELLS(ccw_stream_synchronize(s0), "OUT_OF_RANGE: sim:0: launch of look: block (0,0,0), thread (0,0,0): reads past "
                                    "the end of 32 bytes taken at x.lua:3: byte 36, by arg 0 "
                                    "(CUDA_ERROR_ILLEGAL_ADDRESS)");
  EXPECT(ccw_device_last_fault(sim, &fault) && strcmp(fault.kernel, "look") == 0 && fault.address == x + 9);
  EXPECT(fault.is_access && !fault.is_write && fault.argument == -1 && fault.depth > 0);
  const char *broken_now = "ABORTED: sim:0: broken until it is reset: launch of look: block (0,0,0), thread (0,0,0): "
                           "reads past the end of 32 bytes taken "
                           "at x.lua:3: byte 36, by arg 0 (CUDA_ERROR_ILLEGAL_ADDRESS)";
  TELLS(ccw_stream_synchronize(s0), broken_now);
  TELLS(ccw_stream_synchronize(s1), broken_now);
  TELLS(ccw_device_synchronize(sim), broken_now);
  TELLS(ccw_stream_query(s0, &is_done), broken_now);
  TELLS(ccw_stream_fill(s0, x, 0, 1), broken_now);
  TELLS(launch(s0, &look, x, NULL, 0, 1), broken_now);
  TELLS(ccw_device_allocate(sim, 1, NULL, &memory), broken_now);
  ccw_stream *stream;
  TELLS(ccw_stream_new(sim, &stream), broken_now);
  must(ccw_device_synchronize(other_sim)); /* which is none of its */
  reset();
  must(ccw_stream_synchronize(s0));
  EXPECT(!ccw_device_last_fault(sim, &fault));
  TELLS(ccw_stream_fill(s0, x, 0, 1), "INVALID_ARGUMENT: sim:0: fill: to: expected memory of this device, got *: it "
                                      "went when the device was reset: 32 bytes taken "
                                      "at x.lua:3");
  give(x);
  TELLS(ccw_device_release(sim, x), "INVALID_ARGUMENT: sim:0: release: freed already: 32 bytes taken at x.lua:3");
}

static void faults_are_told_by_what_they_hit(void)
{
#define FAULT(what) "OUT_OF_RANGE: sim:0: launch of " what " (CUDA_ERROR_ILLEGAL_ADDRESS)"
#define FIRST "block (0,0,0), thread (0,0,0): "
  float *x = take(32, "x.lua:3"), *gone, *theirs, of_host[8] = {0};
  EXPECT(is_fault(
      &one, NULL, x, -2000, FAULT("one: " FIRST "writes in front of 32 bytes taken at x.lua:3: byte -8000, by arg 1")));
  give(x);
  x = take(32, "x.lua:3");
  EXPECT(is_fault(
      &look, x, NULL, -1, FAULT("look: " FIRST "reads in front of 32 bytes taken at x.lua:3: byte -4, by arg 0")));
  EXPECT(is_fault(&one, NULL, NULL, 1, FAULT("one: " FIRST "writes through a null pointer")));
  gone = take(16, "y");
  give(gone);
  EXPECT(is_fault(
      &look, gone, NULL, 0, FAULT("look: arg 0: expected memory of this device: it was freed: 16 bytes taken at y")));
  EXPECT(
      is_fault(&one, NULL, of_host, 0, FAULT("one: arg 1: expected memory of this device: it is memory of the host")));
  must(ccw_device_allocate(other_sim, 8, "z", &(void *){NULL}));
  must(ccw_device_allocate(other_sim, 8, "z", (void **)&theirs));
  EXPECT(is_fault(&one, NULL, theirs, 0,
      FAULT("one: arg 1: expected memory of this device: it is memory of sim:1: 8 bytes taken at z")));
  x = take(32, "x.lua:3");
  EXPECT(is_fault(
      &look, x, NULL, theirs - x, FAULT("look: " FIRST "reads memory of sim:1: byte 0 of 8 bytes taken at z")));
  ccw_kernel_fault fault;
  must(launch(s0, &one, NULL, of_host, 0, 1));
  ccw_status_free(ccw_stream_synchronize(s0));
  EXPECT(ccw_device_last_fault(sim, &fault) && fault.argument == 1 && !fault.is_access && fault.address == of_host);
  reset();
  must(ccw_device_reset(other_sim));
}

KERNEL(first_then_in_front, ((volatile unsigned char *)p->y)[0] = 1; ((volatile unsigned char *)p->y)[-1] ^= 1;)

static void writes_in_front_are_found(void)
{
  ccw_kernel_fault fault;
  float *y = take(32, "y");
  must(launch(s0, &first_then_in_front, NULL, y, 0, 1));
  TELLS(ccw_stream_synchronize(s0),
      "OUT_OF_RANGE: sim:0: launch of first_then_in_front: it writes in front of 32 bytes taken at y: byte -1");
  EXPECT(ccw_device_last_fault(sim, &fault) && fault.address == (char *)y - 1 && fault.is_write);
  reset();
  y = take(4096, "page"); /* whose start is at a page: it faults */
  EXPECT(is_fault(
      &one, NULL, y, -1, FAULT("one: " FIRST "writes in front of 4096 bytes taken at page: byte -4, by arg 1")));
}

static void launches_obey_the_rules(void)
{
  TELLS(launch_as(0, 1, 1, 1, 1, 1, 0),
      "INVALID_ARGUMENT: sim:0: launch of one: grid x: expected 1 to 2147483647, got 0");
  TELLS(launch_as(0x80000000, 1, 1, 1, 1, 1, 0),
      "INVALID_ARGUMENT: sim:0: launch of one: grid x: expected 1 to 2147483647, got 2147483648");
  TELLS(launch_as(1, 65536, 1, 1, 1, 1, 0),
      "INVALID_ARGUMENT: sim:0: launch of one: grid y: expected 1 to 65535, got 65536");
  TELLS(launch_as(1, 1, 65536, 1, 1, 1, 0),
      "INVALID_ARGUMENT: sim:0: launch of one: grid z: expected 1 to 65535, got 65536");
  TELLS(launch_as(1, 1, 1, 1, 0, 1, 0), "INVALID_ARGUMENT: sim:0: launch of one: block y: expected 1 to 1024, got 0");
  TELLS(launch_as(1, 1, 1, 1025, 1, 1, 0),
      "INVALID_ARGUMENT: sim:0: launch of one: block x: expected 1 to 1024, got 1025");
  TELLS(launch_as(1, 1, 1, 1, 1, 65, 0), "INVALID_ARGUMENT: sim:0: launch of one: block z: expected 1 to 64, got 65");
  TELLS(launch_as(1, 1, 1, 32, 32, 2, 0),
      "INVALID_ARGUMENT: sim:0: launch of one: block: expected 1024 threads at most, got 32 x 32 x 2");
  TELLS(launch_as(1, 1, 1, 1, 1, 1, 49153),
      "INVALID_ARGUMENT: sim:0: launch of one: shared memory: expected 49152 bytes at most, got 49153");
  ccw_sim_kernel old = one;
  old.abi = 99;
  TELLS(launch(s0, &old, NULL, NULL, 0, 1),
      "INVALID_ARGUMENT: sim:0: launch of one: it was compiled for version 99 of sim.h, expected 1");
  TELLS(handle_of(s0)->functions->launch(handle_of(s0), NULL),
      "INVALID_ARGUMENT: sim:0: launch: it says less than it has to");
  must(launch_as(1, 1, 1, 32, 32, 1, 49152)); /* nothing sticks */
  must(launch_as(1, 2, 3, 1, 2, 64, 0));
  must(ccw_stream_synchronize(s0));
}

static void kernels_that_fail_break_the_device(void)
{
  must(launch(s0, &assert_false, NULL, NULL, 0, 1));
  TELLS(ccw_stream_synchronize(s0),
      "INTERNAL: sim:0: launch of assert_false: block (0,0,0), thread (0,0,0): assertion failed: i < 0 "
      "(here.cu:3) (CUDA_ERROR_ASSERT)");
  reset();

  must(launch(s0, &wait_alone, NULL, NULL, 0, 2));
  TELLS(ccw_stream_synchronize(s0),
      "FAILED_PRECONDITION: sim:0: launch of wait_alone: block (0,0,0), thread (0,0,0): 1 of 2 threads wait "
      "at __syncthreads (here.cu:4), 1 has ended; what a GPU does then is not defined, it may hang");
  ccw_status status = ccw_stream_synchronize(s0);
  EXPECT(status.code == XLA_FFI_Error_Code_ABORTED);
  ccw_status_free(status);
  reset();

  set("time_limit", 0.05);
  must(launch(s0, &spin, NULL, NULL, 0, 1));
  TELLS(ccw_stream_synchronize(s0),
      "DEADLINE_EXCEEDED: sim:0: launch of spin: it did not end within 0.05 seconds (CUDA_ERROR_LAUNCH_TIMEOUT)");
  set("time_limit", 10);
  reset();
}

/* What is queued behind a launch that breaks the device does not run, on whatever stream. */
static void broken_devices_drop_their_work(void)
{
  char out[4] = "...", *memory = take(4, NULL);
  must(launch(s1, &one, NULL, NULL, 0, 1));
  from_device(s1, out, memory, 4);
  from_device(s2, out, memory, 4);
  from_device(s0, out, memory, 4);
  ccw_status_free(ccw_stream_synchronize(s1));
  ccw_status_free(ccw_device_synchronize(sim));
  reset();
  must(ccw_device_synchronize(sim));
  EXPECT(strcmp(out, "...") == 0);
  give(memory);
}

/* ---- streams and events -------------------------------------------------------------------------------------------------- */

static ccw_event *new_event(void)
{
  ccw_event *event;
  must(ccw_event_new(sim, &event));
  return event;
}

static void events_order_streams(void)
{
  char out[4] = "...", *memory = take(4, NULL);
  ccw_event *event = new_event(), *later = new_event();
  double seconds;
  must(ccw_stream_wait(s0, event)); /* which was never recorded */
  must(ccw_event_synchronize(event));
  must(ccw_stream_fill(s1, memory, 'a', 3));
  must(ccw_stream_fill(s1, memory + 3, 0, 1));
  must(ccw_event_record(event, s1));
  must(ccw_stream_wait(s0, event));
  must(ccw_event_record(event, s2)); /* the wait is for what was recorded before */
  from_device(s0, out, memory, 4);
  must(ccw_event_record(later, s0));
  TELLS(ccw_event_seconds(event, later, &seconds), "FAILED_PRECONDITION: sim:0: the first event has not happened");
  must(ccw_event_synchronize(later));
  EXPECT(strcmp(out, "aaa") == 0);
  TELLS(ccw_event_seconds(event, later, &seconds), "FAILED_PRECONDITION: sim:0: the first event has not happened");
  must(ccw_event_synchronize(event));
  must(ccw_event_seconds(event, later, &seconds));
  EXPECT(seconds <= 0 && seconds > -10);
  ccw_event_release(event);
  ccw_event_release(later);
  give(memory);
}

/* Many waits to and fro. */
static void streams_may_wait_for_each_other(void)
{
  uint32_t *memory = take(4, NULL), out = 0;
  ccw_event *event = new_event();
  ccw_stream *streams[] = {s0, s1, s2};
  for (int i = 0; i < 3000; ++i) {
    must(ccw_stream_fill(streams[i % 3], memory, i, 4));
    must(ccw_event_record(event, streams[i % 3]));
    must(ccw_stream_wait(streams[(i + 1) % 3], event));
  }
  from_device(s0, &out, memory, 4);
  must(ccw_stream_synchronize(s0));
  EXPECT(out == 0x01010101u * (2999 & 0xFF));
  ccw_event_release(event);
  give(memory);
}

static void a_stream_that_is_freed_still_works(void)
{
  char out[4] = "...", *memory = take(4, NULL);
  ccw_stream *stream;
  ccw_event *event = new_event();
  must(ccw_stream_new(sim, &stream));
  must(ccw_stream_fill(stream, memory, 'b', 3));
  must(ccw_stream_fill(stream, memory + 3, 0, 1));
  must(ccw_event_record(event, stream));
  ccw_stream_release(stream);
  must(ccw_stream_wait(s0, event));
  from_device(s0, out, memory, 4);
  must(ccw_stream_synchronize(s0));
  EXPECT(strcmp(out, "bbb") == 0);
  ccw_event_release(event);
  give(memory);

  static ccw_stream *many[2000];
  int count = 0;
  ccw_status status = ccw_ok();
  while (count < 2000 && !(status = ccw_stream_new(sim, &many[count])).code) ++count;
  TELLS(status, "RESOURCE_EXHAUSTED: sim:0: more than 1024 streams");
  while (count > 0) ccw_stream_release(many[--count]);
}

/* With a seed two streams run in some order, the same one for the same seed, and not always one order. */
static void a_seed_draws_the_order(void)
{
  int orders = 0;
  for (int seed = 1; seed <= 20; ++seed) {
    char first[2];
    for (int again = 0; again < 2; ++again) {
      char a[] = ".", b[] = ".", *x = take(1, NULL), *y = take(1, NULL);
      set("seed", seed);
      must(ccw_stream_fill(s1, x, 'a', 1));
      must(ccw_stream_fill(s2, y, 'b', 1));
      from_device(s1, a, x, 1);
      from_device(s2, b, y, 1);
      must(ccw_stream_synchronize(s1));
      EXPECT(a[0] == 'a');
      first[again] = b[0];
      must(ccw_device_synchronize(sim));
      EXPECT(b[0] == 'b');
      give(x);
      give(y);
    }
    EXPECT(first[0] == first[1]);
    orders |= first[0] == 'b' ? 1 : 2;
  }
  EXPECT(orders == 3);
  set("seed", 0);
}

/* ---- races ------------------------------------------------------------------------------------------------------------ */

#define UNORDERED ", and nothing orders them: wait for one stream first, or let the other wait for an event of it"

static void races_with_copies_are_told(void)
{
  float in[8] = {0}, out[8];
  float *x = take(32, "x"), *y = take(32, "y");
  must(ccw_stream_synchronize(s0));
  to_device(s0, x, in, 32);
  must(launch(s1, &twice, x, y, 0, 8));
  TELLS(ccw_device_synchronize(sim), "FAILED_PRECONDITION: sim:0: race on 32 bytes taken at x: copy to device on "
                                     "stream 0 writes and launch of twice on stream 1 reads byte 0" UNORDERED);
  must(ccw_device_synchronize(sim)); /* once */

  must(launch(s1, &twice, x, y, 0, 8));
  from_device(s0, out, y, 32);
  TELLS(ccw_stream_synchronize(s0), "FAILED_PRECONDITION: sim:0: race on 32 bytes taken at y: copy from device on "
                                    "stream 0 reads and launch of twice on stream 1 writes byte 0" UNORDERED);
  must(ccw_stream_synchronize(s1));

  to_device(s1, x, in, 16);
  to_device(s2, x + 2, in, 16);
  TELLS(ccw_device_synchronize(sim), "FAILED_PRECONDITION: sim:0: race on 32 bytes taken at x: copy to device on "
                                     "stream 1 writes and copy to device on stream 2 writes bytes 8 to 15" UNORDERED);
  give(x);
  give(y);
}

static void races_of_launches_are_told(void)
{
  float *x = take(32000, "x"), *y = take(32000, "y"), *z = take(32000, "z");
  must(ccw_stream_fill(s0, x, 0x3F, 32000));
  must(ccw_stream_synchronize(s0));
  must(launch(s1, &twice, x, y, 0, 8000));
  must(launch(s2, &twice, y, z, 0, 8000));
  ccw_status status = ccw_stream_synchronize(s1);
  must(ccw_stream_synchronize(s2));
  EXPECT(status.code == XLA_FFI_Error_Code_FAILED_PRECONDITION);
  EXPECT(strstr(ccw_status_text(status), "launch of twice on stream 1 writes and launch of twice on stream 2 reads"));
  ccw_status_free(status);
  give(take(1, NULL)); /* which waits for all, as cudaFree does */
  must(launch(s1, &one, NULL, y, 0, 8000));
  must(launch(s2, &one, NULL, y, 4000, 4000));
  TELLS(ccw_device_synchronize(sim), "FAILED_PRECONDITION: sim:0: race on 32000 bytes taken at y: launch of one on "
                                     "stream 1 writes and launch of one on stream 2 writes byte 16000" UNORDERED);
  give(x);
  give(y);
  give(z);
}

/* Halves, quarters, an event in between, a wait in between. */
static void what_is_ordered_or_apart_is_no_race(void)
{
  enum { COUNT = 1000 };
  static float in[COUNT], out[COUNT];
  for (int i = 0; i < COUNT; ++i) in[i] = (float)i;
  float *x = take(sizeof in, "x"), *y = take(sizeof in, "y");
  ccw_event *event = new_event();
  for (int seed = 0; seed < 10; ++seed) {
    set("seed", seed);
    for (int part = 0; part < 3; ++part) { /* copy, launch, copy: each third on a stream */
      ccw_stream *stream = part == 0 ? s0 : part == 1 ? s1 : s2;
      int first = part * COUNT / 3, count = (part + 1) * COUNT / 3 - first;
      to_device(stream, x + first, in + first, sizeof *in * (size_t)count);
      must(launch(stream, &twice, x, y, first, count));
      must(launch(stream, &twice, y, y, first, count));
      from_device(stream, out + first, y + first, sizeof *in * (size_t)count);
    }
    must(ccw_device_synchronize(sim));
    for (int i = 0; i < COUNT; ++i) EXPECT(out[i] == 4 * in[i]);

    must(launch(s0, &mark, NULL, y, 0, 333));
    must(launch(s1, &mark, NULL, y, 333, 333));
    must(launch(s2, &mark, NULL, y, 666, 334));
    must(ccw_device_synchronize(sim));

    to_device(s1, x, in, sizeof in);
    must(ccw_event_record(event, s1));
    must(ccw_stream_wait(s2, event));
    must(launch(s2, &twice, x, y, 0, COUNT));
    must(ccw_event_record(event, s2));
    must(ccw_stream_wait(s0, event));
    from_device(s0, out, y, sizeof out);
    must(ccw_stream_synchronize(s0));
    must(launch(s1, &twice, y, x, 0, COUNT)); /* the host has waited for all of it */
    must(ccw_stream_synchronize(s1));
    from_device(s2, out, x, sizeof out);
    must(ccw_stream_synchronize(s2));
    for (int i = 0; i < COUNT; ++i) EXPECT(out[i] == 4 * in[i]);
  }
  set("seed", 0);
  ccw_event_release(event);
  give(x);
  give(y);
}

KERNEL(add, p->y[i] += p->x[i];)

enum { ARRAYS = 4, ELEMENTS = 3000, STREAMS = 3 };

/* Arrays on the device, what they have to hold, and the last use of each by each stream. */
typedef struct world {
  ccw_stream *streams[STREAMS];
  float *arrays[ARRAYS];
  ccw_event *uses[ARRAYS][STREAMS];
  float expected[ARRAYS][ELEMENTS];
} world;

static uint64_t drawn = 1;

static int draw(int below)
{
  drawn = drawn * 6364136223846793005u + 1442695040888963407u;
  return (int)((drawn >> 33) % (uint64_t)below);
}

/* What others have done comes first. */
static void wait_for_uses(world *w, int stream, int array)
{
  for (int i = 0; i < STREAMS; ++i) must(ccw_stream_wait(w->streams[stream], w->uses[array][i]));
}

/* A copy, a fill or a launch, on part of two arrays. */
static void do_something(world *w)
{
  int stream = draw(STREAMS), x = draw(ARRAYS), y = draw(ARRAYS), what = draw(3), first = draw(ELEMENTS);
  int count = 1 + draw(ELEMENTS - first);
  size_t size = sizeof(float) * (size_t)count;
  if (x == y) return;
  wait_for_uses(w, stream, x);
  wait_for_uses(w, stream, y);
  if (what == 0)
    must(ccw_stream_copy(w->streams[stream], CCW_COPY_WITHIN, w->arrays[y] + first, w->arrays[x] + first, size));
  if (what == 1) must(ccw_stream_fill(w->streams[stream], w->arrays[y] + first, 0x3F, size));
  if (what == 2) must(launch(w->streams[stream], &add, w->arrays[x], w->arrays[y], first, count));
  must(ccw_event_record(w->uses[x][stream], w->streams[stream]));
  must(ccw_event_record(w->uses[y][stream], w->streams[stream]));
  for (int i = first; i < first + count; ++i) {
    float *to = &w->expected[y][i], from = w->expected[x][i];
    if (what == 1) memset(&from, 0x3F, sizeof from);
    *to = what == 2 ? *to + from : from;
  }
}

static void ordered_work_is_right_in_any_order(void)
{
  static float found[ELEMENTS];
  static world w;
  w = (world){.streams = {s0, s1, s2}};
  for (int a = 0; a < ARRAYS; ++a) {
    w.arrays[a] = take(sizeof found, "world");
    must(ccw_stream_fill(s0, w.arrays[a], 0, sizeof found));
    for (int i = 0; i < STREAMS; ++i) w.uses[a][i] = new_event();
  }
  must(ccw_stream_synchronize(s0));
  for (int round = 0; round < 100; ++round) {
    set("seed", draw(2) * round);
    for (int i = draw(30); i >= 0; --i) do_something(&w);
    if (draw(2)) must(ccw_stream_synchronize(w.streams[draw(STREAMS)]));
    if (draw(2)) continue;
    must(ccw_device_synchronize(sim));
    for (int a = 0; a < ARRAYS; ++a) {
      from_device(s1, found, w.arrays[a], sizeof found);
      must(ccw_stream_synchronize(s1));
      EXPECT(memcmp(found, w.expected[a], sizeof found) == 0);
      memset(w.expected[a], 0, sizeof found); /* or they grow to infinity */
      must(ccw_stream_fill(s1, w.arrays[a], 0, sizeof found));
    }
    must(ccw_device_synchronize(sim));
  }
  set("seed", 0);
  must(ccw_device_synchronize(sim));
  for (int a = 0; a < ARRAYS; ++a) {
    give(w.arrays[a]);
    for (int i = 0; i < STREAMS; ++i) ccw_event_release(w.uses[a][i]);
  }
}

static void streams_that_come_and_go_are_no_race(void)
{
  float *y = take(32, "y");
  for (int i = 0; i < 50; ++i) {
    ccw_stream *stream;
    must(ccw_stream_new(sim, &stream));
    must(launch(stream, &one, NULL, y, 0, 8));
    must(ccw_stream_synchronize(stream));
    ccw_stream_release(stream);
    must(launch(s0, &one, NULL, y, 0, 8));
    must(ccw_stream_synchronize(s0));
  }
  give(y);
}

static void races_in_host_memory_are_told(void)
{
  float out[8], *x = take(32, "x"), *y = take(32, "y");
  from_device(s1, out, x, 32);
  from_device(s2, out, y, 32);
  TELLS(ccw_device_synchronize(sim), "FAILED_PRECONDITION: sim:0: race on memory of the host: copy from device on "
                                     "stream 1 writes and copy from device on stream 2 writes 32 bytes" UNORDERED);
  from_device(s1, out, x, 32);
  must(ccw_stream_synchronize(s1));
  from_device(s2, out, y, 32);
  must(ccw_device_synchronize(sim));
  give(x);
  give(y);
}

/* ---- options ----------------------------------------------------------------------------------------------------------- */

static void options_are_checked(void)
{
  TELLS(ccw_device_set(sim, "sede", 1), "NOT_FOUND: sim:0: no option is called \"sede\"; near: seed");
  TELLS(ccw_device_set(sim, "wrap_size", 1), "NOT_FOUND: sim:0: no option is called \"wrap_size\"; near: warp_size");
  TELLS(ccw_device_set(sim, "warp_size", 33), "OUT_OF_RANGE: sim:0: warp_size: expected 32 or 64, got 33");
  TELLS(ccw_device_set(sim, "seed", -1), "OUT_OF_RANGE: sim:0: seed: expected a whole number from 0 on, got -1");
  TELLS(ccw_device_set(sim, "seed", 0.0 / 0.0 * -1),
      "OUT_OF_RANGE: sim:0: seed: expected a whole number from 0 on, got nan");
  TELLS(ccw_device_set(sim, "memory", 1.5), "OUT_OF_RANGE: sim:0: memory: expected a number of bytes, got 1.5");
  TELLS(ccw_device_set(sim, "time_limit", -1),
      "OUT_OF_RANGE: sim:0: time_limit: expected seconds, or 0 for none, got -1");
  set("warp_size", 64);
  EXPECT(ccw_device_describe(sim).warp_size == 64);
  set("warp_size", 32);
}

static void failures_are_injected(void)
{
  void *memory;
  char bytes[4] = "abc", *x = take(4, NULL);
  set("fail_allocation", 2);
  void *first = take(4, NULL);
  TELLS(
      ccw_device_allocate(sim, 4, NULL, &memory), "RESOURCE_EXHAUSTED: sim:0: no memory for 4 bytes: injected failure");
  give(take(4, NULL));
  give(first);
  set("fail_copy", 1);
  TELLS(ccw_stream_copy(s0, CCW_COPY_TO_DEVICE, x, bytes, 4), "INTERNAL: sim:0: copy: injected failure");
  to_device(s0, x, bytes, 4);
  set("fail_launch", 1);
  TELLS(launch(s0, &one, NULL, x, 0, 1), "INTERNAL: sim:0: launch of one: injected failure");
  must(launch(s0, &one, NULL, x, 0, 1));
  set("fail_synchronize", 1);
  TELLS(ccw_stream_synchronize(s0), "INTERNAL: sim:0: synchronize: injected failure");
  must(ccw_stream_synchronize(s0));
  set("fail_launch", 1);
  set("fail_launch", 0);
  must(launch(s0, &one, NULL, x, 0, 1));
  must(ccw_device_synchronize(sim));
  give(x);
}

/* ---- graphs ------------------------------------------------------------------------------------------------------------ */

static void graphs_replay(void)
{
  float in[8] = {1, 1, 1, 1, 1, 1, 1, 1}, out[8] = {0}, *x = take(32, "x");
  ccw_graph *graph;
  to_device(s1, x, in, 32);
  must(ccw_stream_begin_capture(s1));
  must(launch(s1, &twice, x, x, 0, 8));
  must(ccw_stream_end_capture(s1, &graph));
  from_device(s1, out, x, 32);
  must(ccw_stream_synchronize(s1));
  EXPECT(out[0] == 1); /* it was noted, and did not run */
  for (int i = 0; i < 5; ++i) must(ccw_graph_launch(graph, s1));
  from_device(s1, out, x, 32);
  must(ccw_stream_synchronize(s1));
  EXPECT(out[0] == 32 && out[7] == 32);
  give(x);
  must(ccw_graph_launch(graph, s1));
  TELLS(ccw_stream_synchronize(s1),
      FAULT("twice: arg 0: expected memory of this device: it was freed: 32 bytes taken at x"));
  reset();
  ccw_graph_free(graph);
}

/* Memory that has nothing to do with the capture, and is collected meanwhile. */
static void garbage_may_be_collected_meanwhile(void)
{
  char out[4] = "...", *x = take(4, "x"), *garbage = take(4, "garbage"), *ours = take(4, "ours");
  ccw_graph *graph;
  must(ccw_stream_fill(s0, garbage, 'g', 4));
  from_device(s0, out, garbage, 3);
  must(ccw_stream_begin_capture(s1));
  must(ccw_stream_fill(s1, x, 0, 4));
  give(garbage);
  TELLS(ccw_device_release(sim, garbage), "INVALID_ARGUMENT: sim:0: release: freed already: 4 bytes taken at garbage");
  must(ccw_stream_end_capture(s1, &graph));
  EXPECT(strcmp(out, "ggg") == 0); /* behind the work that uses it */
  TELLS(ccw_stream_fill(s0, garbage, 0, 1), "INVALID_ARGUMENT: sim:0: fill: to: expected memory of this device, got *: "
                                            "it was freed: 4 bytes taken at garbage");
  ccw_graph_free(graph);
  must(ccw_stream_begin_capture(s1));
  TELLS(handle_of(s1)->functions->release(handle_of(s1), ours),
      "FAILED_PRECONDITION: sim:0: releasing may not happen while stream 1 is captured");
  give(ours);
  must(ccw_device_reset(sim));
  give(x);
}

/* With another stream that takes part. */
static void graphs_hold_what_is_joined(void)
{
  float out[8] = {0}, *x = take(32, "x");
  ccw_graph *graph;
  ccw_event *event = new_event(), *back = new_event();
  must(ccw_stream_begin_capture(s1));
  must(ccw_stream_fill(s1, x, 0, 32));
  must(ccw_event_record(event, s1));
  must(ccw_stream_wait(s2, event));
  must(launch(s2, &one, NULL, x, 0, 8));
  must(ccw_event_record(back, s2));
  must(ccw_stream_wait(s1, back));
  must(launch(s1, &twice, x, x, 0, 8));
  must(ccw_stream_end_capture(s1, &graph));
  for (int i = 0; i < 2; ++i) must(ccw_graph_launch(graph, s0));
  from_device(s0, out, x, 32);
  must(ccw_stream_synchronize(s0));
  EXPECT(out[0] == 2 && out[7] == 2);
  ccw_graph_free(graph);
  TELLS(ccw_event_synchronize(back),
      "FAILED_PRECONDITION: sim:0: the event was recorded in a capture, and never happens");
  TELLS(
      ccw_stream_wait(s0, back), "FAILED_PRECONDITION: sim:0: the event was recorded in a capture, and never happens");

  must(ccw_stream_begin_capture(s1));
  must(ccw_event_record(event, s1));
  must(ccw_stream_wait(s2, event));
  must(launch(s2, &one, NULL, x, 0, 8));
  TELLS(ccw_stream_end_capture(s1, &graph),
      "FAILED_PRECONDITION: sim:0: the capture failed: stream 2 takes part in the capture of "
      "stream 1, which does not wait for it in the end");
  must(launch(s2, &one, NULL, x, 0, 8)); /* both are as before */
  must(ccw_device_synchronize(sim));
  ccw_event_release(event);
  ccw_event_release(back);
  give(x);
}

/* Captures, lets `spoil` do something, and tells what it and the end of the capture say. */
static bool spoils(ccw_status (*spoil)(void *x), const char *expected)
{
  char text[512];
  float *x = take(32, "x");
  ccw_graph *graph;
  must(ccw_stream_begin_capture(s1));
  must(launch(s1, &one, NULL, x, 0, 8));
  snprintf(text, sizeof text, "FAILED_PRECONDITION: sim:0: %s may not happen while stream 1 is captured", expected);
  bool is_good = is_told(spoil(x), text) && is_told(launch(s1, &one, NULL, x, 0, 8), text);
  snprintf(text, sizeof text,
      "FAILED_PRECONDITION: sim:0: the capture failed: %s may not happen while stream 1 is captured", expected);
  is_good = is_told(ccw_stream_end_capture(s1, &graph), text) && is_good;
  must(launch(s1, &one, NULL, x, 0, 8)); /* it is usable */
  must(ccw_stream_synchronize(s1));
  give(x);
  return is_good;
}

static ccw_status spoil_synchronize(void *x) { return (void)x, ccw_stream_synchronize(s1); }
static ccw_status spoil_device(void *x) { return (void)x, ccw_device_synchronize(sim); }
static ccw_status spoil_allocate(void *x) { return ccw_device_allocate(sim, 1, NULL, &x); }
static ccw_status spoil_release(void *x) { return ccw_device_release(sim, x); }
static ccw_status spoil_query(void *x) { return (void)x, ccw_stream_query(s1, &(bool){false}); }
static ccw_status spoil_other(void *x) { return ccw_stream_fill(s2, x, 0, 1); }
static ccw_status spoil_begin(void *x) { return (void)x, ccw_stream_begin_capture(s2); }
static ccw_module *module;
static const char *module_path, *no_module_path;

static void captures_are_spoilt(void)
{
  EXPECT(spoils(spoil_synchronize, "synchronizing"));
  EXPECT(spoils(spoil_device, "synchronizing"));
  EXPECT(spoils(spoil_allocate, "allocating"));
  EXPECT(spoils(spoil_release, "releasing"));
  EXPECT(spoils(spoil_query, "asking whether work is done"));
  EXPECT(spoils(spoil_other, "using stream 2, which does not wait for it,"));
  EXPECT(spoils(spoil_begin, "another capture"));
  ccw_graph *graph;
  ccw_host_access access;
  must(ccw_module_load(sim, module_path, &module));
  must(ccw_stream_begin_capture(s1));
  ccw_module_unload(module);
  TELLS(ccw_stream_end_capture(s1, &graph),
      "FAILED_PRECONDITION: sim:0: the capture failed: unloading a module may not happen while "
      "stream 1 is captured");
  volatile float *x = take(4, "x");
  must(ccw_stream_begin_capture(s1));
  sink = *x;
  TELLS(ccw_stream_end_capture(s1, &graph),
      "FAILED_PRECONDITION: sim:0: the capture failed: host code that touches memory of the "
      "device may not happen while stream 1 is captured");
  EXPECT(ccw_device_take_accesses(sim, &access, 1) == 1);
  TELLS(ccw_stream_end_capture(s1, &graph), "FAILED_PRECONDITION: sim:0: the stream is not captured");
  must(ccw_stream_begin_capture(s1));
  must(ccw_device_reset(sim));
  TELLS(ccw_stream_end_capture(s1, &graph), "FAILED_PRECONDITION: sim:0: the stream is not captured");
  ccw_stream *stream;
  must(ccw_stream_new(sim, &stream));
  must(ccw_stream_begin_capture(stream));
  ccw_stream_release(stream);
  must(ccw_device_synchronize(sim));
}

/* ---- modules ------------------------------------------------------------------------------------------------------------ */

static void modules_hold_kernels(void)
{
  ccw_kernel *kernel;
  const ccw_kernel_parameter *p;
  must(ccw_module_load(sim, module_path, &module));
  TELLS(ccw_module_kernel(module, "axpi", &kernel),
      "NOT_FOUND: sim:0: no kernel is called \"axpi\"; there are axpy, nothing");
  must(ccw_module_kernel(module, "axpy", &kernel));
  EXPECT(
      ccw_kernel_parameters(kernel, &p) == 4 && !p[0].is_pointer && p[2].is_pointer && p[2].is_const && !p[3].is_const);
  EXPECT(p[0].size == 4 && p[3].size == 8 && p[3].dtype == XLA_FFI_DataType_F32 && p[1].dtype == XLA_FFI_DataType_U32);

  float in[3] = {1, 2, 3}, out[3], a = 10;
  float *x = take(12, "x"), *y = take(12, "y");
  uint32_t n = 3;
  void *values[] = {&a, &n, &x, &y};
  size_t sizes[] = {4, 4, 8, 8};
  ccw_launch what = {.grid = {1, 1, 1}, .block = {32, 1, 1}, .arguments = values, .sizes = sizes, .count = 4};
  to_device(s0, x, in, 12);
  to_device(s0, y, in, 12);
  must(ccw_kernel_launch(kernel, &what, s0));
  a = 0;                     /* the value was copied */
  ccw_module_unload(module); /* and the code stays until it has run */
  from_device(s0, out, y, 12);
  must(ccw_stream_synchronize(s0));
  EXPECT(out[0] == 11 && out[1] == 22 && out[2] == 33);
  give(x);
  give(y);

  TELLS(ccw_module_load(sim, "/nowhere/none.so", &module), "NOT_FOUND: sim:0: no such file: /nowhere/none.so");
  char text[4096];
  snprintf(text, sizeof text,
      "INVALID_ARGUMENT: sim:0: %s: it exports no ccw_sim_kernels: was it compiled with kernel.h?", no_module_path);
  TELLS(ccw_module_load(sim, no_module_path, &module), text);
  ccw_status status = ccw_module_load(sim, "/dev/null", &module);
  EXPECT(status.code == XLA_FFI_Error_Code_INVALID_ARGUMENT);
  ccw_status_free(status);
}

/* ---- what handlers do ---------------------------------------------------------------------------------------------------- */

static void handlers_use_their_stream(void)
{
  ccw_sim_stream *stream = handle_of(s1), *mine;
  const ccw_sim_functions *f = stream->functions;
  float in[8] = {1, 2, 3, 4, 5, 6, 7, 8}, out[8] = {0};
  void *x, *none;
  EXPECT(f->struct_size == sizeof *f && f->abi == CCW_SIM_ABI);
  must(f->allocate(stream, 32, &x));
  must(f->allocate(stream, 0, &none));
  EXPECT(none == NULL);
  must(f->copy(stream, x, in, 32));
  must(f->create(stream, &mine));
  TELLS(f->copy(mine, in, in + 4, 4),
      "INVALID_ARGUMENT: sim:0: copy: to: expected memory of this device, got *: it is memory of the host");
  must(f->wait(mine, stream));
  arguments a = {x, x, 0, 8};
  ccw_sim_launch what = {sizeof what, &twice, {1, 1, 1}, {8, 1, 1}, 0, &a};
  must(f->launch(mine, &what));
  must(f->copy(mine, out, x, 32));
  must(f->synchronize(mine));
  EXPECT(out[7] == 16);
  must(f->fill(mine, x, 0, 32));
  TELLS(f->copy(stream, out, x, 32),
      "FAILED_PRECONDITION: sim:0: race on 32 bytes taken at a handler: copy from device on "
      "stream 1 reads and fill on a handler's stream 1 writes bytes 0 to 31" UNORDERED);
  TELLS(f->synchronize(stream), "OK: ");
  TELLS(f->copy(stream, NULL, x, 32), "INVALID_ARGUMENT: sim:0: copy: expected memory, got NULL");
  TELLS(f->synchronize(mine), "OK: ");
  must(f->destroy(mine));
  TELLS(f->destroy(mine), "INVALID_ARGUMENT: no stream of a simulated device is at *: it was destroyed, or never made");
  TELLS(f->destroy(stream), "INVALID_ARGUMENT: sim:0: a handler may destroy what it has created, and no other stream");
  ccw_stream *theirs;
  must(ccw_device_stream(other_sim, &theirs));
  TELLS(f->wait(stream, handle_of(theirs)),
      "INVALID_ARGUMENT: sim:0: wait: expected a stream of this device, got one of sim:1");
  TELLS(f->wait(stream, NULL), "INVALID_ARGUMENT: sim:0: wait: expected a stream, got NULL");
  must(f->release(stream, x));
  TELLS(f->release(stream, x), "INVALID_ARGUMENT: sim:0: release: freed already: 32 bytes taken at a handler");
}

/* ---- threads, memory of core ------------------------------------------------------------------------------------------------ */

static void *work_in_thread(void *nothing)
{
  (void)nothing;
  ccw_stream *stream;
  must(ccw_stream_new(sim, &stream));
  for (int i = 0; i < 200; ++i) {
    float in[8], out[8] = {0}, *x = take(32, "thread");
    for (int k = 0; k < 8; ++k) in[k] = (float)(i + k);
    to_device(stream, x, in, 32);
    must(launch(stream, &twice, x, x, 0, 8));
    from_device(stream, out, x, 32);
    must(ccw_stream_synchronize(stream));
    for (int k = 0; k < 8; ++k) EXPECT(out[k] == 2 * in[k]);
    give(x);
  }
  ccw_stream_release(stream);
  return NULL;
}

static void threads_share_the_device(void)
{
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, work_in_thread, NULL);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
}

static void many_launches_leak_nothing(void)
{
  float *x = take(32, NULL), out[8];
  ccw_memory_use before = {0};
  for (int i = 0; i < 10000; ++i) {
    if (i == 10) before = ccw_memory_in_use();
    must(launch(i % 2 ? s0 : s1, &one, NULL, x, 0, 8));
    if (i % 3 == 0) must(ccw_device_synchronize(sim));
    if (i % 2) must(ccw_stream_synchronize(s0));
    must(ccw_device_synchronize(sim));
    from_device(s0, out, x, 32);
    must(ccw_stream_synchronize(s0));
  }
  EXPECT(ccw_memory_in_use().blocks == before.blocks && ccw_memory_in_use().bytes == before.bytes);
  give(x);
}

static ccw_allocator original;
static int until_failure;

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

/* A bit of everything, up to what fails first. */
static ccw_status do_everything(
    ccw_stream **stream, ccw_event **event, ccw_graph **graph, ccw_module **loaded, void **x)
{
  static float in[8] = {1}, out[8]; /* work that is queued may outlive this */
  ccw_kernel *kernel;
  CCW_TRY(ccw_stream_new(sim, stream));
  CCW_TRY(ccw_event_new(sim, event));
  CCW_TRY(ccw_device_allocate(sim, 32, "memory", x));
  CCW_TRY(ccw_stream_copy(s0, CCW_COPY_TO_DEVICE, *x, in, 32));
  CCW_TRY(ccw_event_record(*event, s0));
  CCW_TRY(ccw_stream_wait(*stream, *event));
  CCW_TRY(launch(*stream, &twice, *x, *x, 0, 8));
  CCW_TRY(ccw_stream_copy(*stream, CCW_COPY_FROM_DEVICE, out, *x, 32));
  CCW_TRY(ccw_stream_synchronize(*stream));
  EXPECT(out[0] == 2);
  CCW_TRY(ccw_stream_begin_capture(*stream));
  ccw_status status = launch(*stream, &twice, *x, *x, 0, 8);
  if (!status.code) status = launch(*stream, &twice, *x, *x, 0, 8);
  ccw_status end = ccw_stream_end_capture(*stream, graph);
  if (status.code) {
    ccw_status_free(end);
    return status;
  }
  CCW_TRY(end);
  CCW_TRY(ccw_graph_launch(*graph, *stream));
  CCW_TRY(ccw_stream_synchronize(*stream));
  CCW_TRY(ccw_module_load(sim, module_path, loaded));
  CCW_TRY(ccw_module_kernel(*loaded, "nothing", &kernel));
  return ccw_kernel_launch(kernel, &(ccw_launch){.grid = {1, 1, 1}, .block = {1, 1, 1}}, s0);
}

static void without_memory_it_fails_cleanly(void)
{
  int failures = 0;
  for (bool done = false; !done; ++failures) {
    ccw_memory_use before = ccw_memory_in_use();
    ccw_stream *stream = NULL;
    ccw_event *event = NULL;
    ccw_graph *graph = NULL;
    ccw_module *loaded = NULL;
    void *x = NULL;
    until_failure = failures;
    original = ccw_memory_replace((ccw_allocator){allocate, release, NULL});
    ccw_status status = do_everything(&stream, &event, &graph, &loaded, &x);
    EXPECT(status.code == XLA_FFI_Error_Code_OK || status.code == XLA_FFI_Error_Code_RESOURCE_EXHAUSTED);
    done = !status.code && until_failure > 0;
    ccw_status_free(status);
    ccw_memory_replace(original);
    if (x) must(ccw_device_release(sim, x));
    ccw_graph_free(graph);
    ccw_event_release(event);
    ccw_stream_release(stream);
    ccw_module_unload(loaded);
    must(ccw_device_synchronize(sim));
    EXPECT(ccw_memory_in_use().blocks == before.blocks);
  }
  EXPECT(failures > 15);
}

/* ---- what it costs -------------------------------------------------------------------------------------------------------- */

static double now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#define MEASURE(what, count, ...)                                     \
  do {                                                                \
    double start_ = now();                                            \
    for (int i_ = 0; i_ < count; ++i_) {                              \
      __VA_ARGS__                                                     \
    }                                                                 \
    printf("%-56s %9.0f ns\n", what, (now() - start_) / count * 1e9); \
  } while (0)

static void measure(void)
{
  static char big[1 << 20];
  float *x = take(32, NULL), *y = take(32, NULL), out[8];
  char *z = take(sizeof big, NULL);
  MEASURE("allocate and release 64 bytes", 20000, { give(take(64, NULL)); });
  MEASURE("launch of a block of one thread, which touches nothing", 100000, {
    must(launch_as(1, 1, 1, 1, 1, 1, 0));
    must(ccw_stream_synchronize(s0));
  });
  MEASURE("the same, a hundred at a time", 1000, {
    for (int i = 0; i < 100; ++i) must(launch_as(1, 1, 1, 1, 1, 1, 0));
    must(ccw_stream_synchronize(s0));
  });
  MEASURE("launch that writes to an allocation", 20000, {
    must(launch(s0, &one, NULL, y, 0, 1));
    must(ccw_stream_synchronize(s0));
  });
  MEASURE("launch that reads one and writes another", 20000, {
    must(launch(s0, &twice, x, y, 0, 1));
    must(ccw_stream_synchronize(s0));
  });
  MEASURE("copy of 32 bytes to the host", 20000, {
    from_device(s0, out, y, 32);
    must(ccw_stream_synchronize(s0));
  });
  MEASURE("copy of 1 MiB to the host", 2000, {
    from_device(s0, big, z, sizeof big);
    must(ccw_stream_synchronize(s0));
  });
  must(ccw_stream_new(sim, &s1));
  printf("with two streams:\n");
  MEASURE("launch of a block of one thread, which touches nothing", 100000, {
    must(launch_as(1, 1, 1, 1, 1, 1, 0));
    must(ccw_stream_synchronize(s0));
  });
  MEASURE("launch that reads one and writes another", 20000, {
    must(launch(s0, &twice, x, y, 0, 1));
    must(ccw_stream_synchronize(s0));
  });
  MEASURE("launch that writes to 1 MiB", 200, {
    must(launch(s0, &one, NULL, z, 0, sizeof big / 4));
    must(ccw_stream_synchronize(s0));
  });
  ccw_stream_release(s1);
  printf("with one again:\n");
  MEASURE("launch that writes to 1 MiB", 200, {
    must(launch(s0, &one, NULL, z, 0, sizeof big / 4));
    must(ccw_stream_synchronize(s0));
  });
}

static void one_stream_is_well(void)
{
  launches_run();
  copies_and_launches_take_turns();
  faults_are_told_by_what_they_hit();
  writes_in_front_are_found();
  launches_obey_the_rules();
  kernels_that_fail_break_the_device();
}

static void all_is_well(void)
{
  memory_ends_where_a_page_ends();
  fresh_memory_holds_a_pattern();
  memory_has_an_end();
  what_is_freed_is_known();
  memory_is_visited_by_age();
  much_memory_comes_and_goes();
  nothing_runs_before_it_is_waited_for();
  asking_again_and_again_sees_the_end();
  copies_stay_within();
  devices_do_not_mix();
  host_code_is_noted_and_let_through();
  much_may_be_touched();
  other_threads_are_noted_too();
  one_stream_is_well();
  faults_are_told_once_and_stick();
  broken_devices_drop_their_work();
  events_order_streams();
  streams_may_wait_for_each_other();
  a_stream_that_is_freed_still_works();
  a_seed_draws_the_order();
  races_with_copies_are_told();
  races_of_launches_are_told();
  what_is_ordered_or_apart_is_no_race();
  ordered_work_is_right_in_any_order();
  streams_that_come_and_go_are_no_race();
  races_in_host_memory_are_told();
  options_are_checked();
  failures_are_injected();
  graphs_replay();
  garbage_may_be_collected_meanwhile();
  graphs_hold_what_is_joined();
  captures_are_spoilt();
  modules_hold_kernels();
  handlers_use_their_stream();
  threads_share_the_device();
  many_launches_leak_nothing();
  without_memory_it_fails_cleanly();
}

int main(int count, char **words)
{
  ccw_stream *stream;
  must(ccw_device_open("sim:0", 5, &sim));
  must(ccw_device_open("sim:1", 5, &other_sim));
  must(ccw_device_stream(sim, &s0));
  must(ccw_device_stream(other_sim, &stream));
  if (count == 2) {
    measure();
    return 0;
  }
  if (count != 3) return 2;
  module_path = words[1];
  no_module_path = words[2];
  one_stream_is_well();
  must(ccw_stream_new(sim, &s1));
  must(ccw_stream_new(sim, &s2));
  all_is_well();
  ccw_stream_release(s1);
  ccw_stream_release(s2);
  visited v = {0};
  ccw_device_visit_memory(sim, visit, &v);
  printf("%d broken\n", broken);
  return broken > 0;
}

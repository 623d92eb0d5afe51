/* What a launch on the simulated device does, and how one ends that does wrong. Prints a line for each promise that is broken. */
#undef NDEBUG /* a kernel's assertion is looked at */
#include <ccw/kernel.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <numeric>
#include <string>
#include <vector>

#include <fenv.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" {
#define _Noreturn [[noreturn]]
#include "device/simt.h"
#undef _Noreturn
}

static std::atomic<int> broken;

#define EXPECT(condition)                                    \
  do {                                                       \
    if (!(condition)) {                                      \
      printf("line %d: not so: %s\n", __LINE__, #condition); \
      ++broken;                                              \
    }                                                        \
  } while (0)

/* ---- a stream that runs what it gets at once -------------------------------------------------------------------------- */

struct stream : ccw_sim_stream {
  ccw_simt_limits limits = {0, 32, 0};
  ccw_simt_outcome outcome = {};
};

static ccw_status run_at_once(ccw_sim_stream *to, const ccw_sim_launch *launch)
{
  stream *s = static_cast<stream *>(to);
  ccw_simt_run(launch, &s->limits, &s->outcome);
  return ccw_ok();
}

static const ccw_sim_functions functions = {sizeof(ccw_sim_functions), CCW_SIM_ABI, run_at_once, nullptr, nullptr,
    nullptr, nullptr, nullptr, nullptr, nullptr, nullptr};

static stream new_stream(double seconds = 0, uint32_t warp_size = 32, uint64_t seed = 0)
{
  stream s;
  s.functions = &functions;
  s.limits = {seconds, warp_size, seed};
  return s;
}

template <auto kernel, class... A>
static ccw_simt_outcome run_on(stream s, dim3 grid, dim3 block, size_t shared, const A &...arguments)
{
  ccw_status status = ccw::launch<kernel>(&s, grid, block, shared, arguments...);
  EXPECT(status.code == XLA_FFI_Error_Code_OK);
  ccw_status_free(status);
  return s.outcome;
}

template <auto kernel, class... A>
static ccw_simt_outcome run(dim3 grid, dim3 block, size_t shared, const A &...arguments)
{
  return run_on<kernel>(new_stream(), grid, block, shared, arguments...);
}

static bool is_at(const uint32_t found[3], uint32_t x, uint32_t y, uint32_t z)
{
  return found[0] == x && found[1] == y && found[2] == z;
}

static bool says(const ccw_simt_outcome &outcome, ccw_simt_end end, const std::string &text)
{
  bool same = outcome.end == end && outcome.text == text;
  if (!same) printf("expected: %d %s\n     got: %d %s\n", end, text.c_str(), outcome.end, outcome.text);
  return same;
}

/* " (simt.cc:12)" of the line that many lines above. */
#define ABOVE(lines) (" (simt.cc:" + std::to_string(__LINE__ - (lines)) + ")")

/* ---- coordinates ------------------------------------------------------------------------------------------------------- */

struct seen {
  unsigned thread[3], block[3], threads[3], blocks[3];
  int64_t number, count;
};

__global__ void note(seen *out)
{
  unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  out[block * (blockDim.x * blockDim.y * blockDim.z) + thread] = {{threadIdx.x, threadIdx.y, threadIdx.z},
      {blockIdx.x, blockIdx.y, blockIdx.z}, {blockDim.x, blockDim.y, blockDim.z}, {gridDim.x, gridDim.y, gridDim.z},
      ccw::thread(), ccw::threads()};
}

static void test_coordinates(dim3 grid, dim3 block)
{
  std::vector<seen> all(grid.x * grid.y * grid.z * block.x * block.y * block.z);
  EXPECT(run<note>(grid, block, 0, all.data()).end == CCW_SIMT_DONE);
  size_t at = 0;
  bool right = true;
  for (unsigned i = 0; i < grid.x * grid.y * grid.z; ++i)
    for (unsigned k = 0; k < block.x * block.y * block.z; ++k) {
      const seen &s = all[at++];
      right &= is_at(s.block, i % grid.x, i / grid.x % grid.y, i / grid.x / grid.y);
      right &= is_at(s.thread, k % block.x, k / block.x % block.y, k / block.x / block.y);
      right &= is_at(s.threads, block.x, block.y, block.z) && is_at(s.blocks, grid.x, grid.y, grid.z);
      right &= s.number == int64_t{s.block[0]} * block.x + s.thread[0] && s.count == int64_t{grid.x} * block.x;
    }
  EXPECT(right);
}

/* ---- elements ---------------------------------------------------------------------------------------------------------- */

template <class T> __global__ void axpy(int64_t n, T a, const T *x, T *y)
{
  for (int64_t i = ccw::thread(); i < n; i += ccw::threads()) y[i] += a * x[i];
}

static void test_elements()
{
  for (int64_t n : {0, 1, 255, 256, 257, 10000}) {
    std::vector<double> x(n), y(n, 1);
    std::iota(x.begin(), x.end(), 0);
    stream s = new_stream();
    s.outcome.end = CCW_SIMT_LATE;
    ccw_status status = ccw::launch_over<axpy<double>>(&s, n, n, 2, x.data(), y.data()); /* 2 becomes a double */
    EXPECT(status.code == XLA_FFI_Error_Code_OK && s.outcome.end == (n ? CCW_SIMT_DONE : CCW_SIMT_LATE));
    bool right = true;
    for (int64_t i = 0; i < n; ++i) right &= y[i] == 1 + 2.0 * i;
    EXPECT(right);
  }
  EXPECT(ccw::blocks(0) == 0 && ccw::blocks(1) == 1 && ccw::blocks(257, 256) == 2 &&
         ccw::blocks(INT64_MAX, 1) == UINT32_MAX);
  EXPECT(ccw::blocks(256 * int64_t{UINT32_MAX} - 256) == UINT32_MAX - 1);
}

/* What a launch says of its kernel. */
static void test_description()
{
  const ccw_sim_kernel *k = &ccw::launched<axpy<float>>;
  EXPECT(std::string(k->name).find("axpy") == 0 && k->parameter_count == 4 && k->arguments_size == 32);
  const ccw_sim_parameter *p = k->parameters;
  EXPECT(p[0].offset == 0 && p[0].size == 8 && p[0].dtype == XLA_FFI_DataType_S64 && !p[0].is_pointer);
  EXPECT(p[1].offset == 8 && p[1].size == 4 && p[1].dtype == XLA_FFI_DataType_F32 && !p[1].is_pointer);
  EXPECT(p[2].offset == 16 && p[2].size == 8 && p[2].dtype == XLA_FFI_DataType_F32 && p[2].is_pointer && p[2].is_const);
  EXPECT(p[3].offset == 24 && p[3].is_pointer && !p[3].is_const);
}

template <class T, int times> __global__ void scale(int64_t n, T *x)
{
  int64_t i = ccw::thread();
  if (i < n) x[i] *= times;
}

CCW_SIM_MODULE(note, axpy<float>, scale<short, 3>);

/* What a module exports, under the names that it gives. */
static void test_module()
{
  const ccw_sim_kernel *const *kernels = CCW_SIM_KERNELS.kernels;
  EXPECT(static_cast<const void *>(kernels) == &CCW_SIM_KERNELS);
  EXPECT(kernels[0]->name == std::string("note") && kernels[1]->name == std::string("axpy<float>"));
  EXPECT(kernels[2]->name == std::string("scale<short, 3>") && !kernels[3]);
  EXPECT(kernels[2]->parameter_count == 2 && kernels[2]->parameters[1].dtype == XLA_FFI_DataType_S16);
}

/* ---- barriers ---------------------------------------------------------------------------------------------------------- */

__global__ void sum_block(const int *x, int *out)
{
  CCW_SHARED(int, part);
  part[threadIdx.x] = x[ccw::thread()];
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

template <int size> __global__ void transpose(int rows, int columns, const float *x, float *y)
{
  __shared__ float tile[size][size + 1];
  int column = blockIdx.x * size + threadIdx.x, row = blockIdx.y * size + threadIdx.y;
  if (row < rows && column < columns) tile[threadIdx.y][threadIdx.x] = x[row * columns + column];
  __syncthreads();
  column = blockIdx.y * size + threadIdx.x;
  row = blockIdx.x * size + threadIdx.y;
  if (row < columns && column < rows) y[row * rows + column] = tile[threadIdx.x][threadIdx.y];
}

__global__ void count_odd(int *out)
{
  int odd = threadIdx.x % 2;
  out[3 * threadIdx.x] = __syncthreads_count(odd);
  out[3 * threadIdx.x + 1] = __syncthreads_and(odd || threadIdx.x == 0 || blockDim.x > 1);
  out[3 * threadIdx.x + 2] = __syncthreads_or(odd);
}

static void test_barriers()
{
  std::vector<int> x(1024 * 3), sums(3);
  std::iota(x.begin(), x.end(), 1);
  EXPECT(run<sum_block>(3, 1024, 1024 * sizeof(int), x.data(), sums.data()).end == CCW_SIMT_DONE);
  for (int i = 0; i < 3; ++i) EXPECT(sums[i] == std::accumulate(&x[1024 * i], &x[1024 * i] + 1024, 0));

  std::vector<float> a(50 * 70), b(50 * 70);
  std::iota(a.begin(), a.end(), 0);
  EXPECT(run<transpose<16>>(dim3(5, 4), dim3(16, 16), 0, 50, 70, a.data(), b.data()).end == CCW_SIMT_DONE);
  bool right = true;
  for (int i = 0; i < 50; ++i)
    for (int k = 0; k < 70; ++k) right &= b[k * 50 + i] == a[i * 70 + k];
  EXPECT(right);

  std::vector<int> odd(3 * 100);
  EXPECT(run<count_odd>(1, 100, 0, odd.data()).end == CCW_SIMT_DONE);
  for (int i = 0; i < 100; ++i) EXPECT(odd[3 * i] == 50 && odd[3 * i + 1] == 1 && odd[3 * i + 2] == 1);
  EXPECT(run<count_odd>(1, 1, 0, odd.data()).end == CCW_SIMT_DONE);
  EXPECT(odd[0] == 0 && odd[1] == 1 && odd[2] == 0);
}

/* ---- divergence -------------------------------------------------------------------------------------------------------- */

__global__ void some_end(unsigned stay)
{
  if (threadIdx.x >= stay) return;
  __syncthreads();
}
static const std::string some_end_at = ABOVE(2);

__global__ void two_places(unsigned first)
{
  if (threadIdx.x < first)
    __syncthreads();
  else
    __syncthreads_or(1);
}
static const std::string first_at = ABOVE(4), second_at = ABOVE(2);

__global__ void last_stays()
{
  if (threadIdx.x + 1 < blockDim.x) return;
  __syncthreads();
}
static const std::string last_at = ABOVE(2);

static void test_divergence()
{
  ccw_simt_outcome o = run<some_end>(2, 32, 0, 3);
  EXPECT(says(o, CCW_SIMT_DIVERGED, "3 of 32 threads wait at __syncthreads" + some_end_at + ", 29 have ended"));
  EXPECT(is_at(o.block, 0, 0, 0) && is_at(o.thread, 0, 0, 0));
  o = run<some_end>(2, 32, 0, 31);
  EXPECT(says(o, CCW_SIMT_DIVERGED, "31 of 32 threads wait at __syncthreads" + some_end_at + ", 1 has ended"));
  EXPECT(run<some_end>(2, 32, 0, 32).end == CCW_SIMT_DONE);
  o = run<two_places>(1, dim3(8, 4), 0, 5);
  EXPECT(says(o, CCW_SIMT_DIVERGED,
      "20 of 32 threads wait at __syncthreads" + first_at + ", 12 at __syncthreads_or" + second_at));
  o = run<last_stays>(1, 32, 0);
  EXPECT(says(o, CCW_SIMT_DIVERGED, "1 of 32 threads wait at __syncthreads" + last_at + ", 31 have ended"));
  EXPECT(is_at(o.thread, 31, 0, 0));
}

/* ---- warps ------------------------------------------------------------------------------------------------------------- */

struct shuffled {
  int of_three, up, down, by_xor, in_eights;
  double twice;
  uint64_t votes;
  int any, all, sum, least, most;
  unsigned bits;
};

__global__ void shuffle(shuffled *out)
{
  int me = threadIdx.x, lane = me % warpSize;
  int value = 100 * (me / warpSize) + 3 * lane;
  shuffled s = {};
  s.of_three = __shfl_sync(ccw::all_lanes, value, 3);
  s.up = __shfl_up_sync(ccw::all_lanes, value, 2);
  s.down = __shfl_down_sync(ccw::all_lanes, value, 5);
  s.by_xor = __shfl_xor_sync(ccw::all_lanes, value, 1);
  s.in_eights = __shfl_down_sync(ccw::all_lanes, value, 1, 8);
  s.twice = __shfl_sync(ccw::all_lanes, value * 0.5, lane / 2);
  s.votes = __ballot_sync(ccw::all_lanes, lane % 3 == 0);
  s.any = __any_sync(ccw::all_lanes, lane == 7);
  s.all = __all_sync(ccw::all_lanes, lane != 7);
  s.sum = __reduce_add_sync(ccw::all_lanes, value);
  s.least = __reduce_min_sync(ccw::all_lanes, value - 50);
  s.most = __reduce_max_sync(ccw::all_lanes, value);
  s.bits = __reduce_xor_sync(ccw::all_lanes, 1u << lane % 32);
  out[me] = s;
}

static void test_shuffles(int warp_size)
{
  const int warps = 3;
  std::vector<shuffled> all(warps * warp_size);
  EXPECT(run_on<shuffle>(new_stream(0, warp_size), 1, warps * warp_size, 0, all.data()).end == CCW_SIMT_DONE);
  bool right = true;
  for (int w = 0; w < warps; ++w) {
    auto value = [w](int lane) { return 100 * w + 3 * lane; };
    int sum = 0;
    uint64_t votes = 0;
    for (int i = 0; i < warp_size; ++i) sum += value(i), votes |= uint64_t(i % 3 == 0) << i;
    for (int i = 0; i < warp_size; ++i) {
      const shuffled &s = all[w * warp_size + i];
      right &= s.of_three == value(3) && s.up == value(i < 2 ? i : i - 2);
      right &= s.down == value(i + 5 < warp_size ? i + 5 : i) && s.by_xor == value(i ^ 1);
      right &= s.in_eights == value(i % 8 < 7 ? i + 1 : i) && s.twice == value(i / 2) * 0.5;
      right &= s.votes == votes && s.any == 1 && s.all == 0;
      right &= s.sum == sum && s.least == value(0) - 50 && s.most == value(warp_size - 1);
      right &= s.bits == (warp_size == 32 ? ~0u : 0u);
    }
  }
  EXPECT(right);
}

/* Lanes meet by the mask, whatever the others do; those that are not there are not waited for. */
__global__ void meet(unsigned *out)
{
  unsigned lane = threadIdx.x;
  if (lane < 4) {
    out[lane] = __shfl_sync(0xfu, lane, 3);
    __syncwarp(0xfu);
  } else if (lane % 2) {
    out[lane] = static_cast<unsigned>(__activemask());
  } else {
    out[lane] = __shfl_down_sync(0x1550u, lane, 2);
  }
  __syncwarp();
  out[lane] += 1000;
}

__global__ void not_in_mask() { __shfl_sync(0xffffu, 1, 0); }
static const std::string not_in_mask_at = ABOVE(1);

__global__ void tail(int n, int *out)
{
  if (static_cast<int>(threadIdx.x) >= n) return;
  out[threadIdx.x] = __shfl_down_sync(0xffffffffu, out[threadIdx.x], 1);
}
static const std::string tail_at = ABOVE(2);

__global__ void masks_differ() { __syncwarp(threadIdx.x < 16 ? 0xffffffffu : 0xfffffffeu); }
static const std::string masks_differ_at = ABOVE(1);

static void test_meetings()
{
  std::vector<unsigned> out(13);
  EXPECT(run<meet>(1, 13, 0, out.data()).end == CCW_SIMT_DONE);
  for (unsigned i = 0; i < 13; ++i) EXPECT(out[i] == 1000 + (i < 4 ? 3 : i % 2 ? 0xaa0 : i < 12 ? i + 2 : ~0u));

  ccw_simt_outcome o = run_on<not_in_mask>(new_stream(0, 64), 1, 64, 0);
  EXPECT(says(o, CCW_SIMT_DIVERGED, "lane 16 is not in the mask that it gives to __shfl_sync" + not_in_mask_at));
  EXPECT(is_at(o.thread, 16, 0, 0));
  std::vector<int> x(64);
  o = run<tail>(1, 64, 0, 40, x.data());
  EXPECT(says(o, CCW_SIMT_DIVERGED, "8 of 64 threads wait at __shfl_down_sync" + tail_at + ", 56 have ended"));
  EXPECT(is_at(o.thread, 32, 0, 0));
  o = run<masks_differ>(1, 32, 0);
  EXPECT(
      says(o, CCW_SIMT_DIVERGED, "32 of 32 threads wait at __syncwarp" + masks_differ_at + ", with different masks"));
}

/* ---- atomic operations, and others ------------------------------------------------------------------------------------- */

struct counters {
  int i, least, most, cas, swapped;
  unsigned u, wraps, down, bits;
  unsigned long long l;
  float f;
  double d;
};

__global__ void count(counters *c)
{
  int me = static_cast<int>(ccw::thread());
  atomicAdd(&c->i, me);
  atomicSub(&c->u, 2u);
  atomicAdd(&c->l, 1ull << 33);
  atomicAdd(&c->f, 0.5f);
  atomicAdd(&c->d, 0.25);
  atomicMin(&c->least, -me);
  atomicMax(&c->most, me);
  atomicInc(&c->wraps, 9);
  atomicDec(&c->down, 4);
  atomicOr(&c->bits, 1u << me % 8);
  atomicAnd(&c->bits, ~2u);
  atomicXor(&c->bits, 1u << 31);
  if (atomicCAS(&c->cas, me, me + 1) == me) atomicExch(&c->swapped, me);
}

static void test_atomics()
{
  counters c = {};
  EXPECT(run<count>(4, 250, 0, &c).end == CCW_SIMT_DONE);
  EXPECT(c.i == 999 * 500 && c.u == -2000u && c.l == 1000ull << 33 && c.f == 500 && c.d == 250);
  EXPECT(c.least == -999 && c.most == 999 && c.wraps == 0 && c.down == 0 && c.bits == (0xfdu));
  EXPECT(c.cas == 1000 && c.swapped == 999);
  EXPECT(__popc(0xf0u) == 4 && __clz(1) == 31 && __clz(0) == 32 && __ffs(8) == 4 && __brev(1) == 0x80000000u);
  EXPECT(__umulhi(~0u, 2) == 1 && __int_as_float(__float_as_int(1.5f)) == 1.5f && rsqrtf(4) == 0.5f);
  EXPECT(max(1u, 2u) == 2 && min(1.5f, 2.5f) == 1.5f && __expf(0) == 1 && __saturatef(2) == 1);
  EXPECT(sizeof(float3) == 12 && alignof(float4) == 4 && make_float4(1, 2, 3, 4).w == 4);
}

/* ---- shared memory ----------------------------------------------------------------------------------------------------- */

__global__ void look_into_shared(int words, int *same, unsigned char **end)
{
  CCW_SHARED(int, memory);
  if (threadIdx.x == 0)
    for (int i = 0; i < words; ++i) *same += memory[i] == -1;
  __syncthreads();
  for (int i = threadIdx.x; i < words; i += blockDim.x) memory[i] = i;
  *end = reinterpret_cast<unsigned char *>(memory + words);
}

__global__ void pass_shared(int byte)
{
  CCW_SHARED(char, memory);
  memory[byte + static_cast<int>(threadIdx.x)] = 1;
}

static void test_shared()
{
  const size_t most = 227 << 10;
  int same = 0;
  unsigned char *end;
  EXPECT(run<look_into_shared>(3, 64, most, int(most / 4), &same, &end).end == CCW_SIMT_DONE);
  EXPECT(same == int(3 * (most / 4))); /* each block finds it as new */
  EXPECT(run<pass_shared>(1, 32, 1024, 1024 - 32).end == CCW_SIMT_DONE);
  ccw_simt_outcome o = run<pass_shared>(1, 32, 1024, 1024 - 7);
  EXPECT(says(o, CCW_SIMT_FAULT, "dynamic shared memory has 1024 bytes, and byte 1024 is not among them"));
  EXPECT(is_at(o.thread, 7, 0, 0) && o.fault.is_write);
  o = run<pass_shared>(1, 1, 228 << 10, -1);
  EXPECT(says(o, CCW_SIMT_FAULT, "dynamic shared memory has 233472 bytes, and byte -1 is not among them"));
  o = run<pass_shared>(1, 1, (228 << 10) + 1, 0);
  EXPECT(says(o, CCW_SIMT_NO_MEMORY, "no room for 233473 bytes of dynamic shared memory"));
}

/* ---- ends -------------------------------------------------------------------------------------------------------------- */

__global__ void must_be_below(unsigned n, int *ran)
{
  ++*ran;
  assert(threadIdx.x + blockDim.x * blockIdx.x < n);
}
static const std::string must_be_below_at = ABOVE(2);

__global__ void trap() { __trap(); }
static const std::string trap_at = ABOVE(1);

/* What is wrong here is to be found by the device. */
#define WRONG __attribute__((no_sanitize("undefined")))

WRONG __global__ void write_to(unsigned thread, bool waits, int *address)
{
  if (waits) __syncthreads();
  if (threadIdx.x + blockDim.x * threadIdx.y == thread && blockIdx.x == 1) *address = 7;
}

WRONG __global__ void divide(int a, int b, int *out) { *out = a / b; }

__global__ void throw_one()
{
  __syncthreads();
  if (threadIdx.x == 4) throw std::string("text");
}

static volatile int depth_wanted = 1000000000;

__attribute__((noinline)) static int go_deep(int n)
{
  volatile char room[512] = {};
  room[n % 512] = static_cast<char>(n);
  return n >= depth_wanted ? room[0] : go_deep(n + 1) + room[n % 512];
}

__global__ void recurse(int *out)
{
  __syncthreads();
  out[threadIdx.x] = go_deep(0);
}

static void test_ends()
{
  int ran = 0;
  ccw_simt_outcome o = run<must_be_below>(3, 32, 0, 40, &ran);
  EXPECT(says(o, CCW_SIMT_ASSERTION, "threadIdx.x + blockDim.x * blockIdx.x < n" + must_be_below_at));
  EXPECT(is_at(o.block, 1, 0, 0) && is_at(o.thread, 8, 0, 0) && ran == 41);
  EXPECT(says(run<trap>(1, 1, 0), CCW_SIMT_ASSERTION, "__trap" + trap_at));

  o = run<throw_one>(1, 8, 0);
  EXPECT(says(o, CCW_SIMT_ASSERTION, "an exception left the kernel"));
  EXPECT(is_at(o.thread, 4, 0, 0));

  for (bool waits : {false, true}) {
    o = run<write_to>(3, dim3(8, 2), 0, 11u, waits, nullptr);
    EXPECT(says(o, CCW_SIMT_FAULT, "") && o.fault.is_write && o.depth > 1);
    EXPECT(o.fault.address == 0 && o.fault.instruction == o.code[0]);
    EXPECT(is_at(o.block, 1, 0, 0) && is_at(o.thread, 3, 1, 0));
    EXPECT(run<write_to>(1, dim3(8, 2), 0, 11u, waits, nullptr).end == CCW_SIMT_DONE);
  }
  void *page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  o = run<write_to>(2, 32, 0, 0u, true, static_cast<int *>(page));
  EXPECT(o.end == CCW_SIMT_FAULT && o.fault.address == reinterpret_cast<uintptr_t>(page));
  munmap(page, 4096);
  o = run<write_to>(2, 32, 0, 31u, false, reinterpret_cast<int *>(0xdeadbeefdeadbeec));
  EXPECT(o.end == CCW_SIMT_FAULT && is_at(o.thread, 31, 0, 0));

#if defined(__x86_64__) /* where it is a fault */
  int result = 0;
  EXPECT(says(run<divide>(1, 1, 0, 1, 0, &result), CCW_SIMT_FAULT, "an integer was divided by zero"));
  EXPECT(run<divide>(1, 1, 0, 6, 2, &result).end == CCW_SIMT_DONE && result == 3);
#endif

  std::vector<int> out(32);
  EXPECT(says(run<recurse>(1, 32, 0, out.data()), CCW_SIMT_FAULT, "the stack of a thread, 128 KiB, is full"));
  depth_wanted = 20;
  EXPECT(run<recurse>(1, 32, 0, out.data()).end == CCW_SIMT_DONE);
}

/* What a signal handler leaves is as it was: the way of rounding, and which signals are blocked. */
static void test_left_as_it_was()
{
  sigset_t before = {}, after = {};
  run<write_to>(1, 1, 0, 1u, false, nullptr); /* the first launch of a thread unblocks what it needs */
  pthread_sigmask(SIG_BLOCK, nullptr, &before);
  fesetround(FE_TOWARDZERO);
  EXPECT(run<write_to>(2, 1, 0, 0u, false, nullptr).end == CCW_SIMT_FAULT);
  EXPECT(fegetround() == FE_TOWARDZERO);
  fesetround(FE_TONEAREST);
  pthread_sigmask(SIG_BLOCK, nullptr, &after);
  EXPECT(memcmp(&before, &after, sizeof before) == 0);
}

/* ---- time -------------------------------------------------------------------------------------------------------------- */

__global__ void never_end(unsigned thread, volatile int *x)
{
  if (threadIdx.x < thread) return;
  while (*x >= 0) *x = 1;
}

__global__ void wait_for_ever(volatile int *x)
{
  while (*x >= 0) {
    *x = 1;
    __syncthreads();
  }
}

__global__ void sleep_for_ever()
{
  for (;;) usleep(100);
}

__global__ void add_one(int *x) { atomicAdd(x, 1); }

static void test_time()
{
  int x = 0;
  for (int i = 0; i < 5; ++i) {
    ccw_simt_outcome o = run_on<never_end>(new_stream(0.05), 2, 64, 0, 40u, &x);
    EXPECT(says(o, CCW_SIMT_LATE, ""));
    EXPECT(is_at(o.block, 0, 0, 0) && is_at(o.thread, 40, 0, 0));
    EXPECT(run_on<wait_for_ever>(new_stream(0.01), 2, 64, 0, &x).end == CCW_SIMT_LATE);
    x = 0;
    for (int k = 0; k < 200; ++k) {
      EXPECT(run_on<add_one>(new_stream(0.05), 4, 64, 0, &x).end == CCW_SIMT_DONE);
      EXPECT(run_on<some_end>(new_stream(), 4, 64, 0, 64u).end == CCW_SIMT_DONE);
    }
    EXPECT(x == 200 * 256);
  }
  EXPECT(run_on<sleep_for_ever>(new_stream(0.01), 1, 1, 0).end == CCW_SIMT_LATE);

  /* Limits that are over now and then in a launch that goes well, and in the midst of its end. */
  int late = 0;
  for (int i = 0; i < 2000; ++i)
    late += run_on<some_end>(new_stream(1e-6 * (i % 200)), 4, 64, 0, 64u).end == CCW_SIMT_LATE;
  EXPECT(late < 2000);
  EXPECT(run_on<some_end>(new_stream(1e300), 4, 64, 0, 64u).end == CCW_SIMT_DONE);
}

/* ---- the order of blocks ----------------------------------------------------------------------------------------------- */

__global__ void note_order(unsigned *at, unsigned *order)
{
  order[(*at)++] = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
}

static std::vector<unsigned> order_of(dim3 grid, uint64_t seed)
{
  unsigned at = 0;
  std::vector<unsigned> order(grid.x * grid.y * grid.z);
  EXPECT(run_on<note_order>(new_stream(0, 32, seed), grid, 1, 0, &at, order.data()).end == CCW_SIMT_DONE);
  EXPECT(at == order.size());
  return order;
}

static void test_order()
{
  for (dim3 grid : {dim3(1), dim3(2), dim3(7, 5, 3), dim3(1000)}) {
    std::vector<unsigned> in_order = order_of(grid, 0), drawn = order_of(grid, 1);
    EXPECT(std::is_sorted(in_order.begin(), in_order.end()));
    EXPECT(drawn == order_of(grid, 1));
    EXPECT(in_order.size() < 100 || (drawn != in_order && drawn != order_of(grid, 2)));
    std::sort(drawn.begin(), drawn.end());
    EXPECT(drawn == in_order);
  }
}

/* ---- threads of the host, children, memory ----------------------------------------------------------------------------- */

static void *launch_often(void *)
{
  std::vector<int> x(256 * 4), sums(4);
  std::iota(x.begin(), x.end(), 0);
  for (int i = 0; i < 200; ++i) {
    EXPECT(run_on<sum_block>(new_stream(10), 4, 256, 1024, x.data(), sums.data()).end == CCW_SIMT_DONE);
    EXPECT(std::accumulate(sums.begin(), sums.end(), 0) == 1023 * 512);
    EXPECT(run_on<write_to>(new_stream(10), 2, 32, 0, 5u, i % 2 == 0, nullptr).end == CCW_SIMT_FAULT);
    if (i % 20 == 0) EXPECT(run_on<never_end>(new_stream(0.002), 1, 32, 0, 5u, sums.data()).end == CCW_SIMT_LATE);
  }
  return nullptr;
}

static void test_threads()
{
  pthread_t threads[2];
  for (pthread_t &t : threads) EXPECT(pthread_create(&t, nullptr, launch_often, nullptr) == 0);
  for (pthread_t &t : threads) pthread_join(t, nullptr);
}

static void test_child()
{
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    int x = 0, before = broken;
    EXPECT(run_on<never_end>(new_stream(0.01), 1, 32, 0, 5u, &x).end == CCW_SIMT_LATE);
    EXPECT(run_on<some_end>(new_stream(), 1, 32, 0, 32u).end == CCW_SIMT_DONE);
    fflush(stdout);
    _exit(broken != before);
  }
  int result;
  EXPECT(waitpid(child, &result, 0) == child && result == 0);
}

static long resident_pages()
{
  FILE *file = fopen("/proc/self/statm", "r");
  long size = 0, resident = 0;
  EXPECT(file && fscanf(file, "%ld %ld", &size, &resident) == 2);
  if (file) fclose(file);
  return resident;
}

static void test_leaks()
{
  int x = 0;
  long before = resident_pages();
  ccw_simt_outcome o;
  for (int i = 0; i < 100000; ++i) {
    EXPECT(run_on<add_one>(new_stream(10), 1, 8, 0, &x).end == CCW_SIMT_DONE);
    if (i % 1000 == 0) o = run_on<write_to>(new_stream(10), 2, 8, 0, 5u, i % 2000 == 0, nullptr);
  }
  EXPECT(x == 800000 && o.end == CCW_SIMT_FAULT);
  EXPECT(resident_pages() < before + 1024); /* ASan keeps what is freed for a while */
}

static void test_refusals()
{
  ccw_status status = ccw::launch<trap>(nullptr, 1, 1, 0);
  EXPECT(status.code == XLA_FFI_Error_Code_FAILED_PRECONDITION);
  EXPECT(ccw_status_text(status) == std::string("launch of trap: there is no stream; pass on that of the call"));
  ccw_status_free(status);
  ccw_status_free(status = ccw::launch_over<trap>(nullptr, -1));
  EXPECT(status.code == XLA_FFI_Error_Code_INVALID_ARGUMENT);
  ccw_status_free(status = ccw::synchronize(nullptr));
  EXPECT(status.code == XLA_FFI_Error_Code_FAILED_PRECONDITION);
}

int main()
{
  EXPECT(!ccw_simt_is_running());
  test_coordinates(5, 33);
  test_coordinates(dim3(3, 2), dim3(8, 4));
  test_coordinates(dim3(2, 3, 4), dim3(4, 3, 2));
  test_coordinates(1, 1024);
  test_elements();
  test_description();
  test_module();
  test_barriers();
  test_divergence();
  test_shuffles(32);
  test_shuffles(64);
  test_meetings();
  test_atomics();
  test_shared();
  test_ends();
  test_left_as_it_was();
  test_time();
  test_order();
  test_threads();
  test_child();
  test_leaks();
  test_refusals();
  printf("%d broken\n", broken.load());
  return broken != 0;
}

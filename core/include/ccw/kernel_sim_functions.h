/* kernel_sim_functions.h: the functions that CUDA C++ has beside those of C++, for the simulated device. Included by kernel_sim.h. */
#ifndef CCW_KERNEL_SIM_FUNCTIONS_H
#define CCW_KERNEL_SIM_FUNCTIONS_H

/* ---- threads of a block wait for each other ----------------------------------------------------------------------------- */

namespace ccw::sim
{

/* Others have run meanwhile, and left their own coordinates. */
inline unsigned barrier(int predicate, const char *operation, caller from)
{
  ccw_sim_place place = {operation, from.file, from.line};
  ccw_simt *block = simt;
  uint3 me = thread_index;
  unsigned count = block->barrier(block, thread_number(), predicate, &place);
  thread_index = me;
  return count;
}

/* The lanes that came; the value of each lies in `values`, which has room for all. */
inline uint64_t exchange(uint64_t mask, uint64_t value, uint64_t *values, const char *operation, caller from)
{
  ccw_sim_place place = {operation, from.file, from.line};
  ccw_simt *block = simt;
  uint3 me = thread_index;
  uint64_t lanes = block->exchange(block, thread_number(), mask, value, values, &place);
  thread_index = me;
  return lanes;
}

enum { most_lanes = 64 };

}  // namespace ccw::sim

inline void __syncthreads(ccw::sim::caller from = ccw::sim::caller::here())
{
  ccw::sim::barrier(0, "__syncthreads", from);
}

inline int __syncthreads_count(int predicate, ccw::sim::caller from = ccw::sim::caller::here())
{
  return static_cast<int>(ccw::sim::barrier(predicate, "__syncthreads_count", from));
}

inline int __syncthreads_and(int predicate, ccw::sim::caller from = ccw::sim::caller::here())
{
  return ccw::sim::barrier(predicate, "__syncthreads_and", from) == blockDim.x * blockDim.y * blockDim.z;
}

inline int __syncthreads_or(int predicate, ccw::sim::caller from = ccw::sim::caller::here())
{
  return ccw::sim::barrier(predicate, "__syncthreads_or", from) != 0;
}

/* The order of memory is the program's. */
inline void __threadfence_block() {}
inline void __threadfence() {}
inline void __threadfence_system() {}

/* ---- lanes of a warp ---------------------------------------------------------------------------------------------------- */

inline void __syncwarp(unsigned long long mask = ~0ull, ccw::sim::caller from = ccw::sim::caller::here())
{
  ccw::sim::exchange(mask, 0, nullptr, "__syncwarp", from);
}

/* The lanes that are here together, which the others do not join. */
inline unsigned long long __activemask(ccw::sim::caller from = ccw::sim::caller::here())
{
  return ccw::sim::exchange(0, 0, nullptr, "__activemask", from);
}

namespace ccw::sim
{

inline uint64_t ballot(uint64_t mask, bool predicate, const char *operation, caller from, uint64_t *out_lanes)
{
  uint64_t values[most_lanes], votes = 0;
  *out_lanes = exchange(mask, predicate, values, operation, from);
  for (int i = 0; i < warpSize; ++i)
    if (*out_lanes >> i & 1) votes |= values[i] << i;
  return votes;
}

/* The value of lane `source`; what no lane gave is no number. */
template <class T> T shuffle(uint64_t mask, T value, int source, const char *operation, caller from)
{
  static_assert(sizeof(T) <= sizeof(uint64_t) && std::is_trivially_copyable_v<T>, "a lane gives up to 8 bytes");
  uint64_t values[most_lanes], bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  uint64_t lanes = exchange(mask, bits, values, operation, from);
  bits = lanes >> source & 1 ? values[source] : ~static_cast<uint64_t>(0);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/* Combines the values of all lanes, from the lowest up. */
template <class T, class F> T reduce(uint64_t mask, T value, F combine, const char *operation, caller from)
{
  uint64_t values[most_lanes], left = exchange(mask, static_cast<uint64_t>(value), values, operation, from);
  value = static_cast<T>(values[__builtin_ctzll(left)]);
  for (left &= left - 1; left; left &= left - 1) value = combine(value, static_cast<T>(values[__builtin_ctzll(left)]));
  return value;
}

}  // namespace ccw::sim

inline unsigned long long __ballot_sync(
    unsigned long long mask, int predicate, ccw::sim::caller from = ccw::sim::caller::here())
{
  uint64_t lanes;
  return ccw::sim::ballot(mask, predicate, "__ballot_sync", from, &lanes);
}

inline int __any_sync(unsigned long long mask, int predicate, ccw::sim::caller from = ccw::sim::caller::here())
{
  uint64_t lanes;
  return ccw::sim::ballot(mask, predicate, "__any_sync", from, &lanes) != 0;
}

inline int __all_sync(unsigned long long mask, int predicate, ccw::sim::caller from = ccw::sim::caller::here())
{
  uint64_t lanes;
  return ccw::sim::ballot(mask, predicate, "__all_sync", from, &lanes) == lanes;
}

/* `width`, a power of two, parts the warp into pieces that know nothing of each other. */
template <class T>
T __shfl_sync(unsigned long long mask, T value, int source, int width = warpSize,
    ccw::sim::caller from = ccw::sim::caller::here())
{
  int lane = static_cast<int>(ccw::sim::lane()), first = lane & ~(width - 1);
  return ccw::sim::shuffle(mask, value, first + (source & (width - 1)), "__shfl_sync", from);
}

template <class T>
T __shfl_up_sync(unsigned long long mask, T value, unsigned delta, int width = warpSize,
    ccw::sim::caller from = ccw::sim::caller::here())
{
  int lane = static_cast<int>(ccw::sim::lane()), at = lane & (width - 1);
  return ccw::sim::shuffle(
      mask, value, delta <= static_cast<unsigned>(at) ? lane - static_cast<int>(delta) : lane, "__shfl_up_sync", from);
}

template <class T>
T __shfl_down_sync(unsigned long long mask, T value, unsigned delta, int width = warpSize,
    ccw::sim::caller from = ccw::sim::caller::here())
{
  int lane = static_cast<int>(ccw::sim::lane()), left = width - 1 - (lane & (width - 1));
  return ccw::sim::shuffle(mask, value, delta <= static_cast<unsigned>(left) ? lane + static_cast<int>(delta) : lane,
      "__shfl_down_sync", from);
}

template <class T>
T __shfl_xor_sync(
    unsigned long long mask, T value, int lanes, int width = warpSize, ccw::sim::caller from = ccw::sim::caller::here())
{
  int lane = static_cast<int>(ccw::sim::lane()), source = lane ^ lanes;
  bool is_there = source >= 0 && source <= (lane | (width - 1));
  return ccw::sim::shuffle(mask, value, is_there ? source : lane, "__shfl_xor_sync", from);
}

#define CCW_REDUCE_(type, name, expression)                                                                          \
  inline type __reduce_##name##_sync(                                                                                \
      unsigned long long mask, type value, ccw::sim::caller from = ccw::sim::caller::here())                         \
  {                                                                                                                  \
    return ccw::sim::reduce(                                                                                         \
        mask, value, [](type a, type b) { return static_cast<type>(expression); }, "__reduce_" #name "_sync", from); \
  }
CCW_REDUCE_(int, add, static_cast<unsigned>(a) + static_cast<unsigned>(b))
CCW_REDUCE_(unsigned, add, a + b)
CCW_REDUCE_(int, min, b < a ? b : a)
CCW_REDUCE_(unsigned, min, b < a ? b : a)
CCW_REDUCE_(int, max, a < b ? b : a)
CCW_REDUCE_(unsigned, max, a < b ? b : a)
CCW_REDUCE_(unsigned, and, a &b)
CCW_REDUCE_(unsigned, or, a | b)
CCW_REDUCE_(unsigned, xor, a ^ b)
#undef CCW_REDUCE_

/* ---- atomic operations: each gives what was there before ----------------------------------------------------------------- */

#define CCW_ATOMIC_(type, name, expression)      \
  inline type atomic##name(type *at, type value) \
  {                                              \
    type was = *at;                              \
    *at = static_cast<type>(expression);         \
    return was;                                  \
  }
#define CCW_ATOMIC_NUMBER_(type)                             \
  CCW_ATOMIC_(type, Min, value < was ? value : was)          \
  CCW_ATOMIC_(type, Max, was < value ? value : was)          \
  CCW_ATOMIC_(type, Exch, value)                             \
  inline type atomicCAS(type *at, type expected, type value) \
  {                                                          \
    type was = *at;                                          \
    if (was == expected) *at = value;                        \
    return was;                                              \
  }
#define CCW_ATOMIC_BITS_(type)                       \
  CCW_ATOMIC_(type, And, was &value)                 \
  CCW_ATOMIC_(type, Or, was | value)                 \
  CCW_ATOMIC_(type, Xor, was ^ value)                \
  CCW_ATOMIC_(type, Inc, was >= value ? 0 : was + 1) \
  CCW_ATOMIC_(type, Dec, was == 0 || was > value ? value : was - 1)
#define CCW_ATOMIC_SUM_(type, wide)                                         \
  CCW_ATOMIC_(type, Add, static_cast<wide>(was) + static_cast<wide>(value)) \
  CCW_ATOMIC_(type, Sub, static_cast<wide>(was) - static_cast<wide>(value))
#define CCW_ATOMIC_ALL_(type, wide) CCW_ATOMIC_NUMBER_(type) CCW_ATOMIC_SUM_(type, wide)
CCW_ATOMIC_ALL_(int, unsigned)
CCW_ATOMIC_ALL_(unsigned, unsigned)
CCW_ATOMIC_ALL_(long long, unsigned long long)
CCW_ATOMIC_ALL_(unsigned long long, unsigned long long)
CCW_ATOMIC_ALL_(float, float)
CCW_ATOMIC_ALL_(double, double)
CCW_ATOMIC_BITS_(int)
CCW_ATOMIC_BITS_(unsigned)
CCW_ATOMIC_BITS_(unsigned long long)
#undef CCW_ATOMIC_ALL_
#undef CCW_ATOMIC_SUM_
#undef CCW_ATOMIC_BITS_
#undef CCW_ATOMIC_NUMBER_
#undef CCW_ATOMIC_

/* ---- bits ---------------------------------------------------------------------------------------------------------------- */

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(static_cast<unsigned>(x)) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }

inline unsigned long long __brevll(unsigned long long x)
{
  unsigned long long turned = 0;
  for (int i = 0; i < 64; ++i) turned |= (x >> i & 1) << (63 - i);
  return turned;
}
inline unsigned __brev(unsigned x) { return static_cast<unsigned>(__brevll(x) >> 32); }

inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>(static_cast<uint64_t>(a) * b >> 32); }
inline int __mulhi(int a, int b) { return static_cast<int>(static_cast<int64_t>(a) * b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
  __extension__ using wide = unsigned __int128;
  return static_cast<unsigned long long>(static_cast<wide>(a) * b >> 64);
}

namespace ccw::sim
{

template <class To, class From> To same_bits(From from)
{
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

}  // namespace ccw::sim

inline int __float_as_int(float x) { return ccw::sim::same_bits<int>(x); }
inline unsigned __float_as_uint(float x) { return ccw::sim::same_bits<unsigned>(x); }
inline float __int_as_float(int x) { return ccw::sim::same_bits<float>(x); }
inline float __uint_as_float(unsigned x) { return ccw::sim::same_bits<float>(x); }
inline long long __double_as_longlong(double x) { return ccw::sim::same_bits<long long>(x); }
inline double __longlong_as_double(long long x) { return ccw::sim::same_bits<double>(x); }

/* A read that goes another way on a GPU. */
template <class T> T __ldg(const T *from) { return *from; }

/* ---- mathematics --------------------------------------------------------------------------------------------------------- */

#define CCW_LEAST_(type)                                       \
  constexpr type min(type a, type b) { return b < a ? b : a; } \
  constexpr type max(type a, type b) { return a < b ? b : a; }
CCW_LEAST_(int)
CCW_LEAST_(unsigned)
CCW_LEAST_(long)
CCW_LEAST_(unsigned long)
CCW_LEAST_(long long)
CCW_LEAST_(unsigned long long)
#undef CCW_LEAST_
inline float min(float a, float b) { return std::fmin(a, b); }
inline float max(float a, float b) { return std::fmax(a, b); }
inline double min(double a, double b) { return std::fmin(a, b); }
inline double max(double a, double b) { return std::fmax(a, b); }

inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
inline double rsqrt(double x) { return 1 / std::sqrt(x); }
inline float fdividef(float a, float b) { return a / b; }
inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1) : 0; }

/* Quick and less exact on a GPU. Libraries of C may declare some of them, with C's linkage. */
#define CCW_QUICK_(name, expression) \
  inline float name(float x) noexcept { return expression; }
#define CCW_QUICK_2_(name, expression) \
  inline float name(float x, float y) noexcept { return expression; }
extern "C" {
CCW_QUICK_(__expf, std::exp(x))
CCW_QUICK_(__exp10f, std::pow(10.0f, x))
CCW_QUICK_(__logf, std::log(x))
CCW_QUICK_(__log2f, std::log2(x))
CCW_QUICK_(__log10f, std::log10(x))
CCW_QUICK_(__sinf, std::sin(x))
CCW_QUICK_(__cosf, std::cos(x))
CCW_QUICK_(__tanf, std::tan(x))
CCW_QUICK_2_(__powf, std::pow(x, y))
inline void __sincosf(float x, float *sine, float *cosine) noexcept
{
  *sine = std::sin(x);
  *cosine = std::cos(x);
}
}
CCW_QUICK_(__frcp_rn, 1 / x)
CCW_QUICK_(__fsqrt_rn, std::sqrt(x))
CCW_QUICK_(__frsqrt_rn, 1 / std::sqrt(x))
CCW_QUICK_2_(__fdividef, x / y)
CCW_QUICK_2_(__fdiv_rn, x / y)
CCW_QUICK_2_(__fadd_rn, x + y)
CCW_QUICK_2_(__fsub_rn, x - y)
CCW_QUICK_2_(__fmul_rn, x *y)
inline float __fmaf_rn(float x, float y, float z) { return std::fma(x, y, z); }
#undef CCW_QUICK_
#undef CCW_QUICK_2_

/* Ends the launch, as on a GPU. */
inline void __trap(ccw::sim::caller from = ccw::sim::caller::here())
{
  ccw_sim_place place = {"__trap", from.file, from.line};
  ccw::sim::simt->fail(ccw::sim::simt, ccw::sim::thread_number(), &place);
}

/* ---- assert -------------------------------------------------------------------------------------------------------------- */

/* What the macro of the C library calls: in a kernel the launch ends, and the process goes on. */
extern "C" __attribute__((noreturn)) inline void __assert_fail(
    const char *what, const char *file, unsigned line, const char *function) noexcept
{
  ccw_sim_place place = {what, file, line};
  if (ccw::sim::simt) ccw::sim::simt->fail(ccw::sim::simt, ccw::sim::thread_number(), &place);
  std::fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function ? function : "?", what);
  std::abort();
}

#endif

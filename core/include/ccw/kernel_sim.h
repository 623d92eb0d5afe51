/* kernel_sim.h: what the words of CUDA C++ mean where a C++17 compiler compiles a kernel for the simulated device. Included by
 * kernel.h; see there.
 *
 * The threads of a block run one after the other in one thread of the host, and one launch runs at a time in the process: so
 * that threadIdx and its kind are plain variables, shared memory is static, and an atomic operation is a plain one.
 */
#ifndef CCW_KERNEL_SIM_H
#define CCW_KERNEL_SIM_H

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "sim.h"

/* All is hidden, so that each library has its own, whose kernels are compiled into the loop over their threads. */
#pragma GCC visibility push(hidden)
#pragma GCC diagnostic ignored "-Wattributes" /* a static kernel cannot be hidden, and need not */

/* ---- words ------------------------------------------------------------------------------------------------------------- */

#define __global__ __attribute__((visibility("hidden")))
#define __device__ __attribute__((visibility("hidden")))
#define __host__
#define __shared__ static
#define __constant__ __attribute__((visibility("hidden")))
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(alignment) __attribute__((aligned(alignment)))

/* ---- vectors ----------------------------------------------------------------------------------------------------------- */

/* Aligned as an element is, so that memory which suits an element only is no fault of the host's processor. On a GPU it is one,
 * which this does not show. */
#define CCW_VECTORS_(type, name)                                                 \
  struct name##1 { type x; };                                                    \
  struct name##2 { type x, y; };                                                 \
  struct name##3 { type x, y, z; };                                              \
  struct name##4 { type x, y, z, w; };                                           \
  constexpr name##1 make_##name##1(type x) { return {x}; }                       \
  constexpr name##2 make_##name##2(type x, type y) { return {x, y}; }            \
  constexpr name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; } \
  constexpr name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
CCW_VECTORS_(signed char, char)
CCW_VECTORS_(unsigned char, uchar)
CCW_VECTORS_(short, short)
CCW_VECTORS_(unsigned short, ushort)
CCW_VECTORS_(int, int)
CCW_VECTORS_(unsigned, uint)
CCW_VECTORS_(long, long)
CCW_VECTORS_(unsigned long, ulong)
CCW_VECTORS_(long long, longlong)
CCW_VECTORS_(unsigned long long, ulonglong)
CCW_VECTORS_(float, float)
CCW_VECTORS_(double, double)
#undef CCW_VECTORS_

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};

/* ---- the block under way ------------------------------------------------------------------------------------------------ */

namespace ccw::sim
{

inline ccw_simt *simt; /* NULL: none has run yet */
inline uint3 thread_index, block_index;
inline dim3 block_dim, grid_dim;
inline int warp_size;

}  // namespace ccw::sim

/* A kernel reads them. */
inline constexpr const uint3 &threadIdx = ccw::sim::thread_index, &blockIdx = ccw::sim::block_index;
inline constexpr const dim3 &blockDim = ccw::sim::block_dim, &gridDim = ccw::sim::grid_dim;
inline constexpr const int &warpSize = ccw::sim::warp_size;

namespace ccw::sim
{

/* Notes which thread of a row runs, before anything else that it does: a report of a fault says it. */
inline void enter(unsigned x) { *const_cast<volatile unsigned *>(&thread_index.x) = x; }

/* The number of this thread in its block, and of its lane. */
inline unsigned thread_number() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
inline unsigned lane() { return thread_number() % static_cast<unsigned>(warpSize); }

/* Where a function was called from; of use as a default argument. */
struct caller {
  const char *file;
  unsigned line;
  static constexpr caller here(const char *file = __builtin_FILE(), unsigned line = __builtin_LINE())
  {
    return {file, line};
  }
};

}  // namespace ccw::sim

#define CCW_SHARED(type, name) type *name = static_cast<type *>(ccw::sim::simt->shared)

#include "kernel_sim_functions.h"

/* ---- how a kernel is run ------------------------------------------------------------------------------------------------ */

namespace ccw::sim
{

template <class T> constexpr int32_t dtype_of()
{
  using V = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<V, bool>) return XLA_FFI_DataType_PRED;
  if constexpr (std::is_same_v<V, float>) return XLA_FFI_DataType_F32;
  if constexpr (std::is_same_v<V, double>) return XLA_FFI_DataType_F64;
  if constexpr (std::is_integral_v<V> && std::is_signed_v<V>)
    return sizeof(V) == 1   ? XLA_FFI_DataType_S8
           : sizeof(V) == 2 ? XLA_FFI_DataType_S16
           : sizeof(V) == 4 ? XLA_FFI_DataType_S32
                            : XLA_FFI_DataType_S64;
  if constexpr (std::is_integral_v<V> && std::is_unsigned_v<V>)
    return sizeof(V) == 1   ? XLA_FFI_DataType_U8
           : sizeof(V) == 2 ? XLA_FFI_DataType_U16
           : sizeof(V) == 4 ? XLA_FFI_DataType_U32
                            : XLA_FFI_DataType_U64;
  return XLA_FFI_DataType_INVALID;
}

template <class P> constexpr ccw_sim_parameter describe_parameter(size_t offset)
{
  using V = std::remove_pointer_t<P>;
  return {static_cast<uint32_t>(offset), sizeof(P), dtype_of<V>(), std::is_pointer_v<P>,
      std::is_pointer_v<P> && std::is_const_v<V>, {0, 0}};
}

/* Where parameter `i` lies among the arguments: each is aligned as its type is. */
template <class... P> constexpr size_t offset_of(size_t i)
{
  size_t sizes[] = {sizeof(P)..., 0}, alignments[] = {alignof(P)..., 1}, at = 0;
  for (size_t k = 0;; at += sizes[k++]) {
    at = (at + alignments[k] - 1) / alignments[k] * alignments[k];
    if (k == i) return at;
  }
}

template <class Indices, class... P> struct parameters_at;

template <size_t... i, class... P> struct parameters_at<std::index_sequence<i...>, P...> {
  static constexpr ccw_sim_parameter list[] = {describe_parameter<P>(offset_of<P...>(i))..., {}};
};

template <class... P> struct parameter_list : parameters_at<std::index_sequence_for<P...>, P...> {
};

template <auto kernel, class Function = decltype(kernel)> struct compiled;

template <auto kernel, class... P> struct compiled<kernel, void (*)(P...) noexcept> : compiled<kernel, void (*)(P...)> {
};

template <auto kernel, class... P> struct compiled<kernel, void (*)(P...)> {
  static_assert((!std::is_reference_v<P> && ...), "a parameter of a kernel is a value");
  static_assert((std::is_trivially_copyable_v<P> && ...), "a parameter of a kernel is copied byte by byte");

  static constexpr size_t size = offset_of<P...>(sizeof...(P));
  static constexpr const ccw_sim_parameter *parameters = parameter_list<P...>::list;

  /* The values of a launch's arguments. */
  struct values {
    alignas(std::max_align_t) unsigned char bytes[size > 0 ? size : 1];
    explicit values(const P &...arguments) { put(std::index_sequence_for<P...>(), arguments...); }
    template <size_t... i> void put(std::index_sequence<i...>, const P &...arguments)
    {
      (static_cast<void>(std::memcpy(bytes + offset_of<P...>(i), &arguments, sizeof arguments)), ...);
    }
  };

  /* A thread that waited comes back from its kernel when others have gone on behind it, each on a stack of its own. */
  static void run_threads(ccw_simt *block, P... arguments)
  {
    unsigned nx = block->block[0], ny = block->block[1], nz = block->block[2];
    unsigned x = block->from % nx, y = block->from / nx % ny, z = block->from / nx / ny;
    for (; z < nz; ++z, y = 0)
      for (; y < ny; ++y, x = 0) {
        thread_index = {x, y, z};
        for (; x < nx; ++x) {
          enter(x);
          kernel(arguments...);
          if (block->suspended) return;
        }
      }
  }

  template <size_t... i>
  static void run_with(ccw_simt *block, [[maybe_unused]] const unsigned char *arguments, std::index_sequence<i...>)
  {
    run_threads(block, *std::launder(reinterpret_cast<const P *>(arguments + offset_of<P...>(i)))...);
  }

  static void run(ccw_simt *block, const void *arguments)
  {
    simt = block;
    block->thread_index = &thread_index.x;
    block_index = {block->block_index[0], block->block_index[1], block->block_index[2]};
    block_dim = {block->block[0], block->block[1], block->block[2]};
    grid_dim = {block->grid[0], block->grid[1], block->grid[2]};
    warp_size = static_cast<int>(block->warp_size);
    const unsigned char *values = static_cast<const unsigned char *>(arguments);
#if defined(__cpp_exceptions)
    bool threw = false;
    try {
      run_with(block, values, std::index_sequence_for<P...>());
    } catch (...) {
      threw = true;
    }
    ccw_sim_place place = {"an exception left the kernel", nullptr, 0};
    if (threw) block->fail(block, thread_number(), &place);
#else
    run_with(block, values, std::index_sequence_for<P...>());
#endif
  }

  static constexpr ccw_sim_kernel describe(const char *name)
  {
    return {sizeof(ccw_sim_kernel), name, run, parameters, sizeof...(P), size, 0, CCW_SIM_ABI};
  }
};

/* The kernels that a module exports. */
template <size_t count> struct kernel_table {
  ccw_sim_kernel kernels[count];
};

template <size_t count> struct kernel_list {
  const ccw_sim_kernel *kernels[count + 1];
};

/* Names parted at the commas that stand outside of brackets. */
template <size_t size> struct kernel_texts {
  char text[size];
  size_t starts[size];
};

template <size_t size> constexpr kernel_texts<size> part_names(const char (&from)[size])
{
  kernel_texts<size> names = {};
  size_t count = 0, depth = 0;
  bool is_start = true;
  for (size_t i = 0; i < size; ++i) {
    char c = from[i];
    if (c == '<' || c == '(' || c == '[') ++depth;
    if (c == '>' || c == ')' || c == ']') --depth;
    if (c == ',' && depth == 0) {
      is_start = true;
      continue;
    }
    if (is_start && c == ' ') continue;
    if (is_start) names.starts[count++] = i;
    is_start = false;
    names.text[i] = c;
  }
  return names;
}

template <auto... kernels, size_t size, size_t... i>
constexpr kernel_table<sizeof...(kernels)> describe_kernels_at(
    const kernel_texts<size> &names, std::index_sequence<i...>)
{
  return {{compiled<kernels>::describe(names.text + names.starts[i])...}};
}

template <auto... kernels, size_t size>
constexpr kernel_table<sizeof...(kernels)> describe_kernels(const kernel_texts<size> &names)
{
  return describe_kernels_at<kernels...>(names, std::make_index_sequence<sizeof...(kernels)>());
}

template <size_t count> constexpr kernel_list<count> list_kernels(const kernel_table<count> &table)
{
  kernel_list<count> list = {};
  for (size_t i = 0; i < count; ++i) list.kernels[i] = &table.kernels[i];
  return list;
}

}  // namespace ccw::sim

#define CCW_SIM_MODULE(...)                                                                       \
  static constexpr auto ccw_sim_names_ = ccw::sim::part_names(#__VA_ARGS__);                      \
  static constexpr auto ccw_sim_table_ = ccw::sim::describe_kernels<__VA_ARGS__>(ccw_sim_names_); \
  extern "C" __attribute__((visibility("default"))) constexpr auto CCW_SIM_KERNELS =              \
      ccw::sim::list_kernels(ccw_sim_table_)

#pragma GCC visibility pop

#endif

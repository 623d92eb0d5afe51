/* kernel.h: one kernel source for CUDA, ROCm and the simulated device.
 *
 *   #include <ccw/kernel.h>
 *
 *   template <class T>
 *   __global__ void axpy(int64_t n, T a, const T *x, T *y)
 *   {
 *     for (int64_t i = ccw::thread(); i < n; i += ccw::threads()) y[i] += a * x[i];
 *   }
 *
 *   ccw_status axpy_on(void *stream, int64_t n, float a, const float *x, float *y)
 *   {
 *     return ccw::launch_over<axpy<float>>(stream, n, n, a, x, y);
 *   }
 *
 * nvcc and hipcc (-x hip -std=c++17) compile such a file for GPUs; for the simulated device a C++17 compiler does (-x c++), where
 * kernel_sim.h says what the words of the language mean. What stands in namespace ccw reads the same everywhere. Streams are
 * those that handlers get: a CUstream, a hipStream_t, a ccw_sim_stream *. Header only; nothing of ours to link. NVRTC and HIPRTC
 * take the part for kernels.
 */
#ifndef CCW_KERNEL_H
#define CCW_KERNEL_H

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "ccw/kernel.h wants C++17: compile with -std=c++17"
#endif

#if defined(__CUDACC__)
#define CCW_ON_CUDA 1
#elif defined(__HIPCC__) || defined(__HIP__)
#define CCW_ON_HIP 1
#else
#define CCW_ON_SIM 1
#endif
#if defined(__CUDACC_RTC__) || defined(__HIPCC_RTC__)
#define CCW_KERNELS_ONLY 1 /* compiled at run time: there is nothing but the device */
#endif

#if defined(CCW_KERNELS_ONLY)
#include "kernel_rtc.h"
#else
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "status.h"

#if defined(CCW_ON_CUDA)
#include <cuda_runtime.h>
#elif defined(CCW_ON_HIP)
#include <hip/hip_runtime.h>
#endif
#endif

#if defined(CCW_ON_HIP)
#include "kernel_hip.h"
#elif defined(CCW_ON_SIM)
#include "kernel_sim.h"
#pragma GCC visibility push(hidden) /* each library has its own */
#endif

/* ---- in a kernel ------------------------------------------------------------------------------------------------------- */

#if !defined(CCW_ON_SIM)
/* Dynamic shared memory, aligned for any type: CCW_SHARED(float, partial) declares float *partial. */
#define CCW_SHARED(type, name)                                        \
  extern __shared__ __align__(16) unsigned char ccw_shared_memory_[]; \
  type *name = reinterpret_cast<type *>(ccw_shared_memory_)

/* For a module that is loaded at run time: CCW_SIM_MODULE(fill, axpy<float>) lists its kernels, for the simulated device. */
#define CCW_SIM_MODULE(...) static_assert(true, "a GPU finds kernels by itself")
#endif

namespace ccw
{

/* This thread's number in the x of the grid. */
__device__ inline int64_t thread() { return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }

/* How many there are. */
__device__ inline int64_t threads() { return static_cast<int64_t>(gridDim.x) * blockDim.x; }

/* A set of lanes of a warp, and all of them: the masks of shuffles and votes. */
#if defined(CCW_ON_CUDA)
using lanes = unsigned;
#else
using lanes = unsigned long long;
#endif
constexpr lanes all_lanes = ~static_cast<lanes>(0);

}  // namespace ccw

#if !defined(CCW_KERNELS_ONLY)

/* ---- on the host ------------------------------------------------------------------------------------------------------- */

namespace ccw
{

enum { block_size = 256 }; /* of launch_over */

/* Blocks of `block` threads for n elements; UINT32_MAX where there are too many, which every device refuses. */
inline unsigned blocks(int64_t n, int64_t block = block_size)
{
  if (n <= 0 || block <= 0) return 0;
  int64_t count = n / block + (n % block != 0);
  return count < static_cast<int64_t>(UINT32_MAX) ? static_cast<unsigned>(count) : UINT32_MAX;
}

/* What launch does when it knows the kernel's parameters. */
template <class Function> struct launcher;

template <class... P> struct launcher<void (*)(P...)> {
  template <auto kernel>
  CCW_MUST_USE static ccw_status launch(void *stream, dim3 grid, dim3 block, size_t shared, P... arguments);
};

template <class... P> struct launcher<void (*)(P...) noexcept> : launcher<void (*)(P...)> {
};

/* Queues a launch: launch<axpy<float>>(stream, grid, block, shared, n, a, x, y), `shared` being the bytes of dynamic shared
 * memory. Arguments convert to the kernel's parameters as in a call. The status is the device's own. */
template <auto kernel, class... A>
CCW_MUST_USE ccw_status launch(void *stream, dim3 grid, dim3 block, size_t shared, A &&...arguments)
{
  return launcher<decltype(kernel)>::template launch<kernel>(
      stream, grid, block, shared, static_cast<A &&>(arguments)...);
}

/* The same with a thread for each of n elements, in blocks of 256. Nothing is launched for none. */
template <auto kernel, class... A> CCW_MUST_USE ccw_status launch_over(void *stream, int64_t n, A &&...arguments)
{
  if (n == 0) return ccw_ok();
  if (n < 0) return ccw_invalid("launch over %lld elements", static_cast<long long>(n));
  return launch<kernel>(stream, dim3(blocks(n)), dim3(block_size), 0, static_cast<A &&>(arguments)...);
}

/* Queues a copy, of any kind: addresses tell. Memory of the host must stay until it is done. */
CCW_MUST_USE inline ccw_status copy_async(void *stream, void *to, const void *from, size_t size);

/* Queues filling with a byte. */
CCW_MUST_USE inline ccw_status fill_async(void *stream, void *memory, int byte, size_t size);

/* Waits for all that is queued on the stream, and tells what failed. */
CCW_MUST_USE inline ccw_status synchronize(void *stream);

/* Memory of the stream's device, at once; device_free waits for the device. */
CCW_MUST_USE inline ccw_status device_malloc(void *stream, size_t size, void **out_memory);
CCW_MUST_USE inline ccw_status device_free(void *stream, void *memory);

/* Another stream of the same device. */
CCW_MUST_USE inline ccw_status stream_create(void *like, void **out_stream);
CCW_MUST_USE inline ccw_status stream_destroy(void *stream);

/* What is queued on `stream` from now on waits for all that is queued on `other` now. */
CCW_MUST_USE inline ccw_status stream_wait(void *stream, void *other);

/* The name of a kernel as the compiler writes it, "axpy<float>". */
template <auto kernel> constexpr const char *kernel_name();

}  // namespace ccw

/* ---- the name of a kernel ----------------------------------------------------------------------------------------------- */

namespace ccw
{

struct kernel_name_text {
  char text[256];
};

/* Out of "... [with auto kernel = axpy<float>]", or "... [kernel = &axpy<float>]". */
constexpr kernel_name_text find_kernel_name(const char *from)
{
  const char *start = from;
  for (const char *at = from; *at; ++at)
    if (at[0] == 'k' && at[1] == 'e' && at[2] == 'r' && at[3] == 'n' && at[4] == 'e' && at[5] == 'l' && at[6] == ' ' &&
        at[7] == '=' && at[8] == ' ')
      start = at + 9;
  if (*start == '&') ++start;
  kernel_name_text name = {};
  unsigned depth = 0;
  for (unsigned i = 0; start[i] && i < sizeof name.text - 1; ++i) {
    if (start[i] == '[') ++depth;
    if ((start[i] == ']' || start[i] == ';') && depth == 0) break;
    if (start[i] == ']') --depth;
    name.text[i] = start[i];
  }
  return name;
}

template <auto kernel> constexpr kernel_name_text find_name() { return find_kernel_name(__PRETTY_FUNCTION__); }

template <auto kernel> inline constexpr kernel_name_text name_of = find_name<kernel>();

template <auto kernel> constexpr const char *kernel_name() { return name_of<kernel>.text; }

}  // namespace ccw

#if defined(CCW_ON_SIM)
#include "kernel_sim_host.h"
#pragma GCC visibility pop
#else
#include "kernel_gpu.h"
#endif

#endif

#endif

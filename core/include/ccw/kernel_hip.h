/* kernel_hip.h: what HIP lacks of the functions of CUDA C++ by which lanes of a warp meet. Included by kernel.h.
 *
 * On this hardware the lanes of a wavefront, 32 or 64 by the GPU, go in step: whoever is in the mask is there.
 */
#ifndef CCW_KERNEL_HIP_H
#define CCW_KERNEL_HIP_H

#if HIP_VERSION < 60200000 /* what came later has its own */

__device__ inline unsigned long long __activemask() { return __ballot(1); }

__device__ inline void __syncwarp(unsigned long long = ~0ull)
{
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

__device__ inline unsigned long long __ballot_sync(unsigned long long mask, int predicate)
{
  return __ballot(predicate) & mask;
}

__device__ inline int __any_sync(unsigned long long mask, int predicate) { return (__ballot(predicate) & mask) != 0; }
__device__ inline int __all_sync(unsigned long long mask, int predicate) { return (__ballot(!predicate) & mask) == 0; }

template <class T> __device__ T __shfl_sync(unsigned long long, T value, int source, int width = warpSize)
{
  return __shfl(value, source, width);
}

template <class T> __device__ T __shfl_up_sync(unsigned long long, T value, unsigned delta, int width = warpSize)
{
  return __shfl_up(value, delta, width);
}

template <class T> __device__ T __shfl_down_sync(unsigned long long, T value, unsigned delta, int width = warpSize)
{
  return __shfl_down(value, delta, width);
}

template <class T> __device__ T __shfl_xor_sync(unsigned long long, T value, int lanes, int width = warpSize)
{
  return __shfl_xor(value, lanes, width);
}

#endif

#if HIP_VERSION < 70000000

namespace ccw
{

/* Combines the values of all lanes of the mask that are here, from the lowest up. */
template <class T, class F> __device__ T reduce_lanes(unsigned long long mask, T value, F combine)
{
  unsigned long long left = mask & __ballot(1);
  T all = __shfl(value, __ffsll(left) - 1);
  for (left &= left - 1; left; left &= left - 1) all = combine(all, __shfl(value, __ffsll(left) - 1));
  return all;
}

}  // namespace ccw

#define CCW_REDUCE_(type, name, expression)                                                              \
  __device__ inline type __reduce_##name##_sync(unsigned long long mask, type value)                     \
  {                                                                                                      \
    return ccw::reduce_lanes(mask, value, [](type a, type b) { return static_cast<type>(expression); }); \
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

#endif

#endif

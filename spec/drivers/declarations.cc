// Compares our declarations of a driver's functions with the vendor's header: compiles only where they agree. With ROCM defined
// that of HIP, else that of CUDA.
#include <climits>
#include <cstdbool>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#ifdef ROCM
#define __HIP_PLATFORM_AMD__
#undef __cplusplus // for C++ the header has templates of the same names, too
#include <hip/hip_runtime_api.h>
#else
#define __CUDA_API_VERSION_INTERNAL // the header declares the newest of each function only, else
#include <cuda.h>
#endif

typedef int gpu_error;
#include "device/gpu_symbols.h"

// Passed in the same way: addresses on the device are numbers of 64 bits for CUDA.
template <typename Ours, typename Theirs> constexpr bool is_passed_alike()
{
  bool is_address = std::is_pointer_v<Ours>;
#ifndef ROCM
  if (std::is_same_v<Theirs, CUdeviceptr>) return is_address || std::is_same_v<Ours, Theirs>;
#endif
  return is_address == std::is_pointer_v<Theirs> && sizeof(Ours) == sizeof(Theirs) &&
         std::is_floating_point_v<Ours> == std::is_floating_point_v<Theirs>;
}

template <typename OurResult, typename... Ours, typename TheirResult, typename... Theirs>
constexpr bool is_called_alike(OurResult (*)(Ours...), TheirResult (*)(Theirs...))
{
  if constexpr (sizeof...(Ours) != sizeof...(Theirs))
    return false;
  else
    return is_passed_alike<OurResult, TheirResult>() && (is_passed_alike<Ours, Theirs>() && ...);
}

#ifdef ROCM
#define CHECK(member, cuda, hip, parameters) \
  static_assert(is_called_alike(static_cast<gpu_error(*) parameters>(nullptr), &hip), #hip);
#define CHECK_NUMBER(member, cuda_name, cuda, hip_name, hip) \
  static_assert(hipDeviceAttribute##hip_name == hip, #hip_name);
#else
#define CHECK(member, cuda, hip, parameters) \
  static_assert(is_called_alike(static_cast<gpu_error(*) parameters>(nullptr), &cuda), #cuda);
#define CHECK_NUMBER(member, cuda_name, cuda, hip_name, hip) \
  static_assert(CU_DEVICE_ATTRIBUTE_##cuda_name == cuda, #cuda_name);
#endif
#define CHECK_OWN(result, name, parameters) \
  static_assert(is_called_alike(static_cast<result(*) parameters>(nullptr), &name), #name);

GPU_SYMBOLS(CHECK)
GPU_GRAPH_SYMBOLS(CHECK)
GPU_ATTRIBUTES(CHECK_NUMBER)
#ifdef ROCM
HIP_SYMBOLS(CHECK_OWN)
#else
CUDA_SYMBOLS(CHECK_OWN)
CUDA_LISTING_SYMBOLS(CHECK_OWN)
#endif

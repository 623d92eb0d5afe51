#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "device/gpu.h"

/* Both vendors number alike, as far as they have the same errors; HIP's own are marked. */
enum { CUDA = 1, ROCM = 2, BOTH = 3 };

typedef struct meaning {
  gpu_error error;
  unsigned char of;
  bool is_final; /* "the process must be terminated and relaunched", or the device is gone */
  XLA_FFI_Error_Code code;
} meaning;

#define CODE(name) XLA_FFI_Error_Code_##name

/* What is not here is INTERNAL. */
static const meaning meanings[] = {
    {1, BOTH, false, CODE(INVALID_ARGUMENT)},      /* INVALID_VALUE */
    {2, BOTH, false, CODE(RESOURCE_EXHAUSTED)},    /* OUT_OF_MEMORY */
    {3, BOTH, false, CODE(UNAVAILABLE)},           /* NOT_INITIALIZED: in a child that was forked */
    {4, BOTH, true, CODE(UNAVAILABLE)},            /* DEINITIALIZED: the process ends */
    {9, ROCM, false, CODE(INVALID_ARGUMENT)},      /* InvalidConfiguration */
    {17, ROCM, false, CODE(INVALID_ARGUMENT)},     /* InvalidDevicePointer */
    {21, ROCM, false, CODE(INVALID_ARGUMENT)},     /* InvalidMemcpyDirection */
    {34, CUDA, false, CODE(UNAVAILABLE)},          /* STUB_LIBRARY */
    {35, ROCM, false, CODE(UNAVAILABLE)},          /* InsufficientDriver */
    {36, CUDA, false, CODE(UNAVAILABLE)},          /* CALL_REQUIRES_NEWER_DRIVER */
    {46, CUDA, false, CODE(UNAVAILABLE)},          /* DEVICE_UNAVAILABLE */
    {98, ROCM, false, CODE(INVALID_ARGUMENT)},     /* InvalidDeviceFunction */
    {100, BOTH, false, CODE(UNAVAILABLE)},         /* NO_DEVICE */
    {101, BOTH, false, CODE(UNAVAILABLE)},         /* INVALID_DEVICE */
    {102, CUDA, false, CODE(UNAVAILABLE)},         /* DEVICE_NOT_LICENSED */
    {200, BOTH, false, CODE(INVALID_ARGUMENT)},    /* INVALID_IMAGE */
    {201, BOTH, false, CODE(FAILED_PRECONDITION)}, /* INVALID_CONTEXT */
    {209, BOTH, false, CODE(INVALID_ARGUMENT)},    /* NO_BINARY_FOR_GPU */
    {214, BOTH, true, CODE(DATA_LOSS)},            /* ECC_UNCORRECTABLE */
    {218, BOTH, false, CODE(INVALID_ARGUMENT)},    /* INVALID_PTX */
    {220, CUDA, true, CODE(DATA_LOSS)},            /* NVLINK_UNCORRECTABLE */
    {221, CUDA, false, CODE(UNAVAILABLE)},         /* JIT_COMPILER_NOT_FOUND */
    {222, CUDA, false, CODE(INVALID_ARGUMENT)},    /* UNSUPPORTED_PTX_VERSION */
    {226, CUDA, true, CODE(INTERNAL)},             /* CONTAINED */
    {300, BOTH, false, CODE(INVALID_ARGUMENT)},    /* INVALID_SOURCE */
    {301, BOTH, false, CODE(NOT_FOUND)},           /* FILE_NOT_FOUND */
    {400, BOTH, false, CODE(INVALID_ARGUMENT)},    /* INVALID_HANDLE */
    {401, BOTH, false, CODE(FAILED_PRECONDITION)}, /* ILLEGAL_STATE */
    {500, BOTH, false, CODE(NOT_FOUND)},           /* NOT_FOUND */
    {600, BOTH, false, CODE(FAILED_PRECONDITION)}, /* NOT_READY, where it is no answer */
    {700, BOTH, true, CODE(OUT_OF_RANGE)},         /* ILLEGAL_ADDRESS */
    {701, BOTH, false, CODE(RESOURCE_EXHAUSTED)},  /* LAUNCH_OUT_OF_RESOURCES */
    {702, BOTH, true, CODE(DEADLINE_EXCEEDED)},    /* LAUNCH_TIMEOUT */
    {709, BOTH, true, CODE(FAILED_PRECONDITION)},  /* CONTEXT_IS_DESTROYED: somebody else reset the device */
    {710, BOTH, true, CODE(INTERNAL)},             /* ASSERT */
    {714, CUDA, true, CODE(INTERNAL)},             /* HARDWARE_STACK_ERROR */
    {715, CUDA, true, CODE(INTERNAL)},             /* ILLEGAL_INSTRUCTION */
    {716, CUDA, true, CODE(INTERNAL)},             /* MISALIGNED_ADDRESS */
    {717, CUDA, true, CODE(INTERNAL)},             /* INVALID_ADDRESS_SPACE */
    {718, CUDA, true, CODE(INTERNAL)},             /* INVALID_PC */
    {719, BOTH, true, CODE(INTERNAL)},             /* LAUNCH_FAILED */
    {720, BOTH, false, CODE(INVALID_ARGUMENT)},    /* COOPERATIVE_LAUNCH_TOO_LARGE */
    {721, CUDA, true, CODE(INTERNAL)},             /* TENSOR_MEMORY_LEAK */
    {800, CUDA, false, CODE(PERMISSION_DENIED)},   /* NOT_PERMITTED */
    {801, BOTH, false, CODE(UNIMPLEMENTED)},       /* NOT_SUPPORTED */
    {802, CUDA, false, CODE(UNAVAILABLE)},         /* SYSTEM_NOT_READY */
    {803, CUDA, false, CODE(UNAVAILABLE)},         /* SYSTEM_DRIVER_MISMATCH */
    {804, CUDA, false, CODE(UNAVAILABLE)},         /* COMPAT_NOT_SUPPORTED_ON_DEVICE */
    {805, CUDA, false, CODE(UNAVAILABLE)},         /* MPS_CONNECTION_FAILED */
    {807, CUDA, false, CODE(UNAVAILABLE)},         /* MPS_SERVER_NOT_READY */
    {810, CUDA, true, CODE(UNAVAILABLE)},          /* MPS_CLIENT_TERMINATED */
    {900, BOTH, false, CODE(FAILED_PRECONDITION)}, /* STREAM_CAPTURE_UNSUPPORTED */
    {901, BOTH, false, CODE(FAILED_PRECONDITION)}, /* STREAM_CAPTURE_INVALIDATED */
    {902, BOTH, false, CODE(FAILED_PRECONDITION)}, /* STREAM_CAPTURE_MERGE */
    {903, BOTH, false, CODE(FAILED_PRECONDITION)}, /* STREAM_CAPTURE_UNMATCHED */
    {904, BOTH, false, CODE(FAILED_PRECONDITION)}, /* STREAM_CAPTURE_UNJOINED */
    {905, BOTH, false, CODE(FAILED_PRECONDITION)}, /* STREAM_CAPTURE_ISOLATION */
    {906, BOTH, false, CODE(FAILED_PRECONDITION)}, /* STREAM_CAPTURE_IMPLICIT */
    {907, BOTH, false, CODE(FAILED_PRECONDITION)}, /* CAPTURED_EVENT */
    {908, BOTH, false, CODE(FAILED_PRECONDITION)}, /* STREAM_CAPTURE_WRONG_THREAD */
    {909, CUDA, false, CODE(DEADLINE_EXCEEDED)},   /* TIMEOUT */
    {911, CUDA, true, CODE(INTERNAL)},             /* EXTERNAL_DEVICE */
    {1052, ROCM, false, CODE(RESOURCE_EXHAUSTED)}, /* RuntimeMemory */
};

static const meaning *find(const gpu_vendor *vendor, gpu_error error)
{
  int of = vendor == &gpu_vendor_cuda ? CUDA : ROCM;
  for (size_t i = 0; i < sizeof meanings / sizeof *meanings; ++i)
    if (meanings[i].error == error && (meanings[i].of & of)) return &meanings[i];
  return NULL;
}

XLA_FFI_Error_Code gpu_error_code(const gpu_vendor *vendor, gpu_error error)
{
  const meaning *m = find(vendor, error);
  return m ? m->code : CODE(INTERNAL);
}

bool gpu_error_is_final(const gpu_vendor *vendor, gpu_error error)
{
  const meaning *m = find(vendor, error);
  return m && m->is_final;
}

/* HIP 5 gives the name again for a text, and NVIDIA's stub knows not even its own error. */
void gpu_error_print(const gpu_driver *driver, gpu_error error, char *text, size_t size)
{
  const char *name = driver->vendor->error_name(driver, error), *what = driver->vendor->error_text(driver, error);
  if (driver->vendor == &gpu_vendor_cuda && error == GPU_STUB_LIBRARY)
    snprintf(text, size, "CUDA_ERROR_STUB_LIBRARY: it is there for linking only, and is not the driver");
  else if (!name || !*name)
    snprintf(text, size, "error %d", error);
  else if (!what || !*what || strcmp(name, what) == 0)
    snprintf(text, size, "%s", name);
  else
    snprintf(text, size, "%s: %s", name, what);
}

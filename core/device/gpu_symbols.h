/* gpu_symbols.h: the functions of the two drivers that are used. Each list makes the members of the table and the code that
 * loads them.
 *
 * Both drivers are called the same way under other names. The declarations are ours, so that no header of theirs is wanted:
 * handles are pointers, and so is an address on the device, which both pass as a pointer is passed. Only what has been there for
 * long is asked of a driver: CUDA 11, HIP 5.2. Where a header of theirs is found, the specs compare what is said here with it.
 */
#ifndef CCW_DEVICE_GPU_SYMBOLS_H
#define CCW_DEVICE_GPU_SYMBOLS_H

/* S(member, name of CUDA, name of HIP, parameters): all give a gpu_error. */
#define GPU_SYMBOLS(S)                                                                                                 \
  S(init, cuInit, hipInit, (unsigned flags))                                                                           \
  S(count_devices, cuDeviceGetCount, hipGetDeviceCount, (int *count))                                                  \
  S(get_device, cuDeviceGet, hipDeviceGet, (int *device, int ordinal))                                                 \
  S(device_name, cuDeviceGetName, hipDeviceGetName, (char *name, int length, int device))                              \
  S(device_memory, cuDeviceTotalMem_v2, hipDeviceTotalMem, (size_t * size, int device))                                \
  S(device_attribute, cuDeviceGetAttribute, hipDeviceGetAttribute, (int *value, int attribute, int device))            \
  S(synchronize_device, cuCtxSynchronize, hipDeviceSynchronize, (void))                                                \
  S(memory_info, cuMemGetInfo_v2, hipMemGetInfo, (size_t * free, size_t * total))                                      \
  S(allocate, cuMemAlloc_v2, hipMalloc, (void **memory, size_t size))                                                  \
  S(release, cuMemFree_v2, hipFree, (void *memory))                                                                    \
  S(allocate_pinned, cuMemHostAlloc, hipHostMalloc, (void **memory, size_t size, unsigned flags))                      \
  S(release_pinned, cuMemFreeHost, hipHostFree, (void *memory))                                                        \
  S(copy_to_device, cuMemcpyHtoDAsync_v2, hipMemcpyHtoDAsync, (void *to, const void *from, size_t size, void *stream)) \
  S(copy_from_device, cuMemcpyDtoHAsync_v2, hipMemcpyDtoHAsync,                                                        \
      (void *to, const void *from, size_t size, void *stream))                                                         \
  S(copy_within, cuMemcpyDtoDAsync_v2, hipMemcpyDtoDAsync, (void *to, const void *from, size_t size, void *stream))    \
  S(fill, cuMemsetD8Async, hipMemsetD8Async, (void *memory, unsigned char byte, size_t size, void *stream))            \
  S(create_stream, cuStreamCreate, hipStreamCreateWithFlags, (void **stream, unsigned flags))                          \
  S(destroy_stream, cuStreamDestroy_v2, hipStreamDestroy, (void *stream))                                              \
  S(synchronize_stream, cuStreamSynchronize, hipStreamSynchronize, (void *stream))                                     \
  S(query_stream, cuStreamQuery, hipStreamQuery, (void *stream))                                                       \
  S(wait_for_event, cuStreamWaitEvent, hipStreamWaitEvent, (void *stream, void *event, unsigned flags))                \
  S(create_event, cuEventCreate, hipEventCreateWithFlags, (void **event, unsigned flags))                              \
  S(destroy_event, cuEventDestroy_v2, hipEventDestroy, (void *event))                                                  \
  S(record_event, cuEventRecord, hipEventRecord, (void *event, void *stream))                                          \
  S(synchronize_event, cuEventSynchronize, hipEventSynchronize, (void *event))                                         \
  S(elapsed, cuEventElapsedTime, hipEventElapsedTime, (float *milliseconds, void *from, void *to))                     \
  S(load_module, cuModuleLoadData, hipModuleLoadData, (void **module, const void *image))                              \
  S(unload_module, cuModuleUnload, hipModuleUnload, (void *module))                                                    \
  S(find_function, cuModuleGetFunction, hipModuleGetFunction, (void **function, void *module, const char *name))       \
  S(launch, cuLaunchKernel, hipModuleLaunchKernel,                                                                     \
      (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,          \
          unsigned block_z, unsigned shared_size, void *stream, void **arguments, void **extra))

/* Without one of these there are no graphs. */
#define GPU_GRAPH_SYMBOLS(S)                                                                                   \
  S(begin_capture, cuStreamBeginCapture_v2, hipStreamBeginCapture, (void *stream, int mode))                   \
  S(end_capture, cuStreamEndCapture, hipStreamEndCapture, (void *stream, void **graph))                        \
  S(exchange_capture_mode, cuThreadExchangeStreamCaptureMode, hipThreadExchangeStreamCaptureMode, (int *mode)) \
  S(instantiate, cuGraphInstantiateWithFlags, hipGraphInstantiateWithFlags,                                    \
      (void **executable, void *graph, unsigned long long flags))                                              \
  S(launch_graph, cuGraphLaunch, hipGraphLaunch, (void *executable, void *stream))                             \
  S(destroy_executable, cuGraphExecDestroy, hipGraphExecDestroy, (void *executable))                           \
  S(destroy_graph, cuGraphDestroy, hipGraphDestroy, (void *graph))

/* What only one of them has: S(result, name, parameters), the member having the name of the function. */
#define CUDA_SYMBOLS(S)                                                \
  S(gpu_error, cuGetErrorName, (gpu_error error, const char **name))   \
  S(gpu_error, cuGetErrorString, (gpu_error error, const char **text)) \
  S(gpu_error, cuDevicePrimaryCtxRetain, (void **context, int device)) \
  S(gpu_error, cuCtxGetCurrent, (void **context))                      \
  S(gpu_error, cuCtxSetCurrent, (void *context))

/* CUDA 12.4. Without one of these nobody knows what is in a module. */
#define CUDA_LISTING_SYMBOLS(S)                                                                          \
  S(gpu_error, cuModuleGetFunctionCount, (unsigned *count, void *module))                                \
  S(gpu_error, cuModuleEnumerateFunctions, (void **functions, unsigned count, void *module))             \
  S(gpu_error, cuFuncGetName, (const char **name, void *function))                                       \
  S(gpu_error, cuFuncGetParamInfo, (void *function, size_t index, size_t *out_offset, size_t *out_size)) \
  S(gpu_error, cuFuncSetAttribute, (void *function, int attribute, int value))

#define HIP_SYMBOLS(S)                                  \
  S(const char *, hipGetErrorName, (gpu_error error))   \
  S(const char *, hipGetErrorString, (gpu_error error)) \
  S(gpu_error, hipGetLastError, (void))                 \
  S(gpu_error, hipGetDevice, (int *device))             \
  S(gpu_error, hipSetDevice, (int device))              \
  S(gpu_error, hipDeviceGetPCIBusId, (char *id, int length, int device))

/* A(member, name and number of CUDA, name and number of HIP): what a driver is asked about a device. */
#define GPU_ATTRIBUTES(A)                                                                     \
  A(max_threads, MAX_THREADS_PER_BLOCK, 1, MaxThreadsPerBlock, 56)                            \
  A(max_block[0], MAX_BLOCK_DIM_X, 2, MaxBlockDimX, 26)                                       \
  A(max_block[1], MAX_BLOCK_DIM_Y, 3, MaxBlockDimY, 27)                                       \
  A(max_block[2], MAX_BLOCK_DIM_Z, 4, MaxBlockDimZ, 28)                                       \
  A(max_grid[0], MAX_GRID_DIM_X, 5, MaxGridDimX, 29)                                          \
  A(max_grid[1], MAX_GRID_DIM_Y, 6, MaxGridDimY, 30)                                          \
  A(max_grid[2], MAX_GRID_DIM_Z, 7, MaxGridDimZ, 31)                                          \
  A(max_shared, MAX_SHARED_MEMORY_PER_BLOCK, 8, MaxSharedMemoryPerBlock, 74)                  \
  A(max_shared_by_request, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97, SharedMemPerBlockOptin, 75) \
  A(warp_size, WARP_SIZE, 10, WarpSize, 87)                                                   \
  A(processors, MULTIPROCESSOR_COUNT, 16, MultiprocessorCount, 63)                            \
  A(capability[0], COMPUTE_CAPABILITY_MAJOR, 75, ComputeCapabilityMajor, 23)                  \
  A(capability[1], COMPUTE_CAPABILITY_MINOR, 76, ComputeCapabilityMinor, 61)

#endif

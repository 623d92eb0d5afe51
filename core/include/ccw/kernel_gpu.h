/* kernel_gpu.h: the host's side of kernel.h on CUDA and ROCm. Included there. */
#ifndef CCW_KERNEL_GPU_H
#define CCW_KERNEL_GPU_H

#if defined(CCW_ON_CUDA)
#define CCW_VENDOR_(name) cuda##name
#elif defined(CCW_ON_HIP)
#define CCW_VENDOR_(name) hip##name
#endif

namespace ccw
{

/* Our code for a failure of the vendor's runtime, under the vendor's name and with its text. */
CCW_MUST_USE inline ccw_status vendor_status(CCW_VENDOR_(Error_t) error, const char *what, const char *of)
{
  XLA_FFI_Error_Code code = XLA_FFI_Error_Code_INTERNAL;
  switch (error) {
  case CCW_VENDOR_(Success): return ccw_ok();
  case CCW_VENDOR_(ErrorInvalidValue):
  case CCW_VENDOR_(ErrorInvalidConfiguration): code = XLA_FFI_Error_Code_INVALID_ARGUMENT; break;
#if defined(CCW_ON_CUDA)
  case cudaErrorMemoryAllocation: code = XLA_FFI_Error_Code_RESOURCE_EXHAUSTED; break;
#else
  case hipErrorOutOfMemory: code = XLA_FFI_Error_Code_RESOURCE_EXHAUSTED; break;
#endif
  case CCW_VENDOR_(ErrorInsufficientDriver):
  case CCW_VENDOR_(ErrorNoDevice): code = XLA_FFI_Error_Code_UNAVAILABLE; break;
  default: break;
  }
  return ccw_status_make(
      code, "%s%s: %s: %s", what, of, CCW_VENDOR_(GetErrorName)(error), CCW_VENDOR_(GetErrorString)(error));
}

template <class... P>
template <auto kernel>
ccw_status launcher<void (*)(P...)>::launch(void *stream, dim3 grid, dim3 block, size_t shared, P... arguments)
{
  kernel<<<grid, block, shared, static_cast<CCW_VENDOR_(Stream_t)>(stream)>>>(arguments...);
  return vendor_status(CCW_VENDOR_(GetLastError)(), "launch of ", kernel_name<kernel>());
}

inline ccw_status copy_async(void *stream, void *to, const void *from, size_t size)
{
  return vendor_status(
      CCW_VENDOR_(MemcpyAsync)(to, from, size, CCW_VENDOR_(MemcpyDefault), static_cast<CCW_VENDOR_(Stream_t)>(stream)),
      "copy", "");
}

inline ccw_status fill_async(void *stream, void *memory, int byte, size_t size)
{
  return vendor_status(
      CCW_VENDOR_(MemsetAsync)(memory, byte, size, static_cast<CCW_VENDOR_(Stream_t)>(stream)), "fill", "");
}

inline ccw_status synchronize(void *stream)
{
  return vendor_status(CCW_VENDOR_(StreamSynchronize)(static_cast<CCW_VENDOR_(Stream_t)>(stream)), "synchronize", "");
}

inline ccw_status device_malloc(void *, size_t size, void **out_memory)
{
  return vendor_status(CCW_VENDOR_(Malloc)(out_memory, size), "malloc", "");
}

inline ccw_status device_free(void *, void *memory) { return vendor_status(CCW_VENDOR_(Free)(memory), "free", ""); }

inline ccw_status stream_create(void *, void **out_stream)
{
  CCW_VENDOR_(Stream_t) stream;
  CCW_TRY(vendor_status(CCW_VENDOR_(StreamCreate)(&stream), "stream", ""));
  *out_stream = stream;
  return ccw_ok();
}

inline ccw_status stream_destroy(void *stream)
{
  return vendor_status(CCW_VENDOR_(StreamDestroy)(static_cast<CCW_VENDOR_(Stream_t)>(stream)), "end of a stream", "");
}

inline ccw_status stream_wait(void *stream, void *other)
{
  CCW_VENDOR_(Event_t) event;
  CCW_TRY(vendor_status(
      CCW_VENDOR_(EventCreateWithFlags)(&event, CCW_VENDOR_(EventDisableTiming)), "wait for a stream", ""));
  CCW_VENDOR_(Error_t) error = CCW_VENDOR_(EventRecord)(event, static_cast<CCW_VENDOR_(Stream_t)>(other));
  if (error == CCW_VENDOR_(Success))
    error = CCW_VENDOR_(StreamWaitEvent)(static_cast<CCW_VENDOR_(Stream_t)>(stream), event, 0);
  CCW_VENDOR_(Error_t) end = CCW_VENDOR_(EventDestroy)(event);
  return vendor_status(error == CCW_VENDOR_(Success) ? end : error, "wait for a stream", "");
}

}  // namespace ccw
#undef CCW_VENDOR_

#endif

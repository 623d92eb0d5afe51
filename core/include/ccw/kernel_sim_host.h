/* kernel_sim_host.h: the host's side of kernel.h on the simulated device. Included there. */
#ifndef CCW_KERNEL_SIM_HOST_H
#define CCW_KERNEL_SIM_HOST_H

namespace ccw
{

/* The functions of a stream, or what to say where there is none. */
CCW_MUST_USE inline ccw_status find_functions(
    void *stream, const char *what, const char *of, const ccw_sim_functions **out)
{
  if (!stream) return ccw_failed_precondition("%s%s: there is no stream; pass on that of the call", what, of);
  *out = static_cast<ccw_sim_stream *>(stream)->functions;
  return ccw_ok();
}

template <auto kernel>
inline constexpr ccw_sim_kernel launched = sim::compiled<kernel>::describe(kernel_name<kernel>());

template <class... P>
template <auto kernel>
ccw_status launcher<void (*)(P...)>::launch(void *stream, dim3 grid, dim3 block, size_t shared, P... arguments)
{
  const ccw_sim_functions *functions;
  CCW_TRY(find_functions(stream, "launch of ", kernel_name<kernel>(), &functions));
  typename sim::compiled<kernel>::values values(arguments...);
  ccw_sim_launch launch = {
      sizeof launch, &launched<kernel>, {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared, values.bytes};
  return functions->launch(static_cast<ccw_sim_stream *>(stream), &launch);
}

inline ccw_status copy_async(void *stream, void *to, const void *from, size_t size)
{
  const ccw_sim_functions *functions;
  CCW_TRY(find_functions(stream, "copy", "", &functions));
  return functions->copy(static_cast<ccw_sim_stream *>(stream), to, from, size);
}

inline ccw_status fill_async(void *stream, void *memory, int byte, size_t size)
{
  const ccw_sim_functions *functions;
  CCW_TRY(find_functions(stream, "fill", "", &functions));
  return functions->fill(static_cast<ccw_sim_stream *>(stream), memory, byte, size);
}

inline ccw_status synchronize(void *stream)
{
  const ccw_sim_functions *functions;
  CCW_TRY(find_functions(stream, "synchronize", "", &functions));
  return functions->synchronize(static_cast<ccw_sim_stream *>(stream));
}

inline ccw_status device_malloc(void *stream, size_t size, void **out_memory)
{
  const ccw_sim_functions *functions;
  CCW_TRY(find_functions(stream, "malloc", "", &functions));
  return functions->allocate(static_cast<ccw_sim_stream *>(stream), size, out_memory);
}

inline ccw_status device_free(void *stream, void *memory)
{
  const ccw_sim_functions *functions;
  CCW_TRY(find_functions(stream, "free", "", &functions));
  return functions->release(static_cast<ccw_sim_stream *>(stream), memory);
}

inline ccw_status stream_create(void *like, void **out_stream)
{
  const ccw_sim_functions *functions;
  CCW_TRY(find_functions(like, "stream", "", &functions));
  ccw_sim_stream *stream;
  CCW_TRY(functions->create(static_cast<ccw_sim_stream *>(like), &stream));
  *out_stream = stream;
  return ccw_ok();
}

inline ccw_status stream_destroy(void *stream)
{
  const ccw_sim_functions *functions;
  CCW_TRY(find_functions(stream, "end of a stream", "", &functions));
  return functions->destroy(static_cast<ccw_sim_stream *>(stream));
}

inline ccw_status stream_wait(void *stream, void *other)
{
  const ccw_sim_functions *functions;
  CCW_TRY(find_functions(stream, "wait for a stream", "", &functions));
  CCW_TRY(find_functions(other, "wait for a stream", "", &functions));
  return static_cast<ccw_sim_stream *>(stream)->functions->wait(
      static_cast<ccw_sim_stream *>(stream), static_cast<ccw_sim_stream *>(other));
}

}  // namespace ccw

#endif

#include "call/frame.h"

#include <string.h>

#include "base/memory.h"
#include "base/text.h"

struct ccw_frame {
  size_t size;
  XLA_FFI_CallFrame abi;
  /* In the same block, in this order: the XLA_FFI_Buffer of every operand and result, a pointer to each, their extents,
   * the types. WARNING: the frame points into its own block: it can be used where it is and never be moved. */
};

static int64_t dims_of(ccw_buffer *const *buffers, int64_t count)
{
  int64_t dims = 0;
  for (int64_t i = 0; i < count; ++i) dims += ccw_buffer_shape(buffers[i])->rank;
  return dims;
}

/* The rest of the block while it is handed out. */
typedef struct parts {
  XLA_FFI_Buffer *buffers;
  void **pointers;
  int64_t *dims;
  int *types;
} parts;

_Static_assert(sizeof(XLA_FFI_ArgType) == sizeof(int) && sizeof(XLA_FFI_RetType) == sizeof(int), "types are ints");

static void fill(parts *rest, ccw_buffer *const *buffers, int64_t count)
{
  for (int64_t i = 0; i < count; ++i) {
    const ccw_shape *shape = ccw_buffer_shape(buffers[i]);
    memcpy(rest->dims, shape->dims, (size_t)shape->rank * sizeof *rest->dims);
    *rest->buffers = (XLA_FFI_Buffer){.struct_size = XLA_FFI_Buffer_STRUCT_SIZE,
        .dtype = shape->dtype,
        .data = ccw_buffer_data(buffers[i]),
        .rank = shape->rank,
        .dims = rest->dims};
    *rest->pointers++ = rest->buffers++;
    *rest->types++ = XLA_FFI_ArgType_BUFFER;
    rest->dims += shape->rank;
  }
}

ccw_status ccw_frame_build(ccw_buffer *const *operands, int64_t operand_count, ccw_buffer *const *results,
    int64_t result_count, const ccw_attributes *attributes, ccw_frame **out_frame)
{
  /* First phase: how much. A frame has fewer buffers than bytes fit into memory, so that nothing here overflows. */
  size_t buffers = (size_t)(operand_count + result_count);
  size_t dims = (size_t)(dims_of(operands, operand_count) + dims_of(results, result_count));
  size_t size =
      sizeof(ccw_frame) + buffers * (sizeof(XLA_FFI_Buffer) + sizeof(void *) + sizeof(int)) + dims * sizeof(int64_t);
  ccw_frame *frame = ccw_allocate(size);
  if (!frame) return ccw_no_memory(size);

  /* Second phase: nothing moves any more, so that pointers can be set. */
  parts rest = {.buffers = (XLA_FFI_Buffer *)(frame + 1)};
  rest.pointers = (void **)(rest.buffers + buffers);
  rest.dims = (int64_t *)(rest.pointers + buffers);
  rest.types = (int *)(rest.dims + dims);
  frame->size = size;
  frame->abi = (XLA_FFI_CallFrame){.struct_size = XLA_FFI_CallFrame_STRUCT_SIZE,
      .stage = XLA_FFI_ExecutionStage_EXECUTE,
      .attrs = *ccw_attributes_abi(attributes)};
  frame->abi.args = (XLA_FFI_Args){.struct_size = XLA_FFI_Args_STRUCT_SIZE,
      .size = operand_count,
      .types = (XLA_FFI_ArgType *)rest.types,
      .args = rest.pointers};
  fill(&rest, operands, operand_count);
  frame->abi.rets = (XLA_FFI_Rets){.struct_size = XLA_FFI_Rets_STRUCT_SIZE,
      .size = result_count,
      .types = (XLA_FFI_RetType *)rest.types,
      .rets = rest.pointers};
  fill(&rest, results, result_count);
  *out_frame = frame;
  return ccw_ok();
}

const XLA_FFI_CallFrame *ccw_frame_abi(const ccw_frame *frame) { return &frame->abi; }

void ccw_frame_drop_data(ccw_frame *frame)
{
  XLA_FFI_Buffer *buffers = (XLA_FFI_Buffer *)(frame + 1);
  for (int64_t i = 0; i < frame->abi.args.size + frame->abi.rets.size; ++i) buffers[i].data = NULL;
}

void ccw_frame_free(ccw_frame *frame)
{
  if (frame) ccw_release(frame, frame->size);
}

const char *ccw_stage_name(XLA_FFI_ExecutionStage stage)
{
  switch (stage) {
#define NAME(NAME, name, number) \
  case number: return #name;
    CCW_STAGES(NAME)
#undef NAME
  }
  return "unknown";
}

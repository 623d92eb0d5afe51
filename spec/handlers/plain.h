/* plain.h: the little that a handler over the bare ABI needs, without handler.h. */
#ifndef CCW_SPEC_PLAIN_H
#define CCW_SPEC_PLAIN_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <ccw/xla_ffi.h>

#define EXPORT __attribute__((visibility("default")))

/* Makes the error that a handler returns. */
__attribute__((format(printf, 3, 4))) static inline XLA_FFI_Error *fail(
    const XLA_FFI_CallFrame *frame, XLA_FFI_Error_Code code, const char *format, ...)
{
  char message[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  XLA_FFI_Error_Create_Args args = {XLA_FFI_Error_Create_Args_STRUCT_SIZE, NULL, message, code};
  return frame->api->XLA_FFI_Error_Create(&args);
}

#define INVALID(frame, ...) fail(frame, XLA_FFI_Error_Code_INVALID_ARGUMENT, __VA_ARGS__)

/* A runtime asks for the metadata before the first call. Buffers and attributes are all that is used here, and those every
 * version of the FFI has: 0.1 makes the handler load everywhere. */
static inline bool answer_metadata(const XLA_FFI_CallFrame *frame)
{
  const XLA_FFI_InternalExtension *extension = frame->extension_start;
  if (!extension || extension->type != XLA_FFI_Extension_Metadata) return false;
  XLA_FFI_Metadata *metadata = ((const XLA_FFI_Metadata_Extension *)extension)->metadata;
  metadata->api_version.major_version = 0;
  metadata->api_version.minor_version = 1;
  metadata->traits = 0;
  return true;
}

/* NULL where the frame is one to execute, with that many operands, results and, unless it is 0, attributes. */
static inline XLA_FFI_Error *check_frame(const XLA_FFI_CallFrame *frame, int64_t args, int64_t rets, int64_t attrs)
{
  if (frame->stage != XLA_FFI_ExecutionStage_EXECUTE)
    return INVALID(frame, "stage: expected 3, got %d", (int)frame->stage);
  if (frame->args.size != args)
    return INVALID(frame, "expected %lld args, got %lld", (long long)args, (long long)frame->args.size);
  if (frame->rets.size != rets)
    return INVALID(frame, "expected %lld results, got %lld", (long long)rets, (long long)frame->rets.size);
  if (attrs != 0 && frame->attrs.size != attrs)
    return INVALID(frame, "expected %lld attributes, got %lld", (long long)attrs, (long long)frame->attrs.size);
  return NULL;
}

static inline const char *dtype_name(XLA_FFI_DataType dtype)
{
  switch (dtype) {
#define NAME(NAME, name, number, bits, class) \
  case XLA_FFI_DataType_##NAME: return #NAME;
    CCW_DTYPES(NAME)
#undef NAME
  default: return "no dtype";
  }
}

/* NULL where it is F32 of rank 1 and, unless `size` is below 0, of that size. `what` is "arg 0 'x'". */
static inline XLA_FFI_Error *check_vector(
    const XLA_FFI_CallFrame *frame, const char *what, const XLA_FFI_Buffer *buffer, int64_t size)
{
  if (buffer->dtype != XLA_FFI_DataType_F32)
    return INVALID(frame, "%s: expected F32, got %s", what, dtype_name(buffer->dtype));
  if (buffer->rank != 1) return INVALID(frame, "%s: expected rank 1, got %lld", what, (long long)buffer->rank);
  if (size >= 0 && buffer->dims[0] != size)
    return INVALID(frame, "%s: expected %lld elements, got %lld", what, (long long)size, (long long)buffer->dims[0]);
  return NULL;
}

#endif

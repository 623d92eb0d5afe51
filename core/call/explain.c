#include <stddef.h>
#include <string.h>

#include "call/frame.h"
#include "value/element.h"

/* The start of a line: indentation, offset in the struct, field. `family` is the struct within the frame, "" for others. */
static void field(ccw_text *text, int depth, size_t offset, const char *family, const char *name)
{
  char full[32];
  snprintf(full, sizeof full, "%s%s", family, name);
  ccw_text_add(text, "\n%*s%4zu  %-21s ", 4 * depth, "", offset, full);
}

#define FIELD(text, depth, type, member) field(text, depth, offsetof(type, member), "", #member)

static void pointer(ccw_text *text, const void *address)
{
  if (address)
    ccw_text_add(text, "%p", address);
  else
    ccw_text_add(text, "NULL");
}

/* Sizes and extensions stand at the head of every struct. */
static void head(ccw_text *text, int depth, size_t base, const char *family, size_t struct_size, const void *extension)
{
  field(text, depth, base, family, "struct_size");
  ccw_text_add(text, "%zu", struct_size);
  field(text, depth, base + sizeof(size_t), family, "extension_start");
  pointer(text, extension);
}

static void dtype(ccw_text *text, ccw_dtype number)
{
  ccw_text_add(text, "%d %s", (int)number, ccw_dtype_name(number));
}

static void hex(ccw_text *text, const void *bytes, size_t length)
{
  enum { MOST = 16 };
  for (size_t i = 0; i < length && i < MOST; ++i)
    ccw_text_add(text, i ? " %02X" : "%02X", ((const unsigned char *)bytes)[i]);
  if (length > MOST) ccw_text_add(text, " ...");
}

static void explain_buffer(ccw_text *text, int depth, const XLA_FFI_Buffer *buffer)
{
  head(text, depth, 0, "", buffer->struct_size, buffer->extension_start);
  FIELD(text, depth, XLA_FFI_Buffer, dtype);
  dtype(text, buffer->dtype);
  FIELD(text, depth, XLA_FFI_Buffer, data);
  pointer(text, buffer->data);
  FIELD(text, depth, XLA_FFI_Buffer, rank);
  ccw_text_add(text, "%lld", (long long)buffer->rank);
  FIELD(text, depth, XLA_FFI_Buffer, dims);
  ccw_text_add(text, "{");
  for (int64_t i = 0; i < buffer->rank; ++i) ccw_text_add(text, i ? ", %lld" : "%lld", (long long)buffer->dims[i]);
  ccw_text_add(text, "}");
}

/* The buffers of a family: its number, kinds (ints in either) and pointers. */
static void explain_buffers(
    ccw_text *text, const char *family, size_t base, int64_t size, const void *types, void *const *buffers)
{
  _Static_assert(offsetof(XLA_FFI_Args, args) == offsetof(XLA_FFI_Rets, rets), "one layout");
  field(text, 0, base + offsetof(XLA_FFI_Args, size), family, "size");
  ccw_text_add(text, "%lld", (long long)size);
  field(text, 0, base + offsetof(XLA_FFI_Args, types), family, "types");
  pointer(text, types);
  field(text, 0, base + offsetof(XLA_FFI_Args, args), family, family[0] == 'a' ? "args" : "rets");
  pointer(text, buffers);
  for (int64_t i = 0; i < size; ++i) {
    int type;
    memcpy(&type, (const char *)types + (size_t)i * sizeof type, sizeof type);
    ccw_text_add(text, "\n    %.3s %lld: %d BUFFER at %p", family, (long long)i, type, buffers[i]);
    explain_buffer(text, 1, buffers[i]);
  }
}

static void explain_attributes(ccw_text *text, int depth, size_t base, const char *family, const XLA_FFI_Attrs *attrs);

static void explain_attribute(ccw_text *text, int depth, XLA_FFI_AttrType type, const void *value)
{
  switch (type) {
  case XLA_FFI_AttrType_SCALAR: {
    const XLA_FFI_Scalar *scalar = value;
    ccw_text_add(text, "3 SCALAR");
    FIELD(text, depth, XLA_FFI_Scalar, dtype);
    dtype(text, scalar->dtype);
    FIELD(text, depth, XLA_FFI_Scalar, value);
    hex(text, scalar->value, (size_t)ccw_dtype_bits(scalar->dtype) / 8);
    ccw_text_add(text, " = ");
    ccw_scalar_print(ccw_element_load(scalar->dtype, scalar->value, 0), text);
    break;
  }
  case XLA_FFI_AttrType_ARRAY: {
    const XLA_FFI_Array *array = value;
    ccw_text_add(text, "1 ARRAY");
    FIELD(text, depth, XLA_FFI_Array, dtype);
    dtype(text, array->dtype);
    FIELD(text, depth, XLA_FFI_Array, size);
    ccw_text_add(text, "%zu", array->size);
    FIELD(text, depth, XLA_FFI_Array, data);
    hex(text, array->data, array->size * (size_t)ccw_dtype_bits(array->dtype) / 8);
    break;
  }
  case XLA_FFI_AttrType_STRING: {
    const XLA_FFI_ByteSpan *string = value;
    ccw_text_add(text, "4 STRING");
    FIELD(text, depth, XLA_FFI_ByteSpan, ptr);
    ccw_text_add_quoted(text, string->ptr, string->len);
    FIELD(text, depth, XLA_FFI_ByteSpan, len);
    ccw_text_add(text, "%zu", string->len);
    break;
  }
  case XLA_FFI_AttrType_DICTIONARY:
    ccw_text_add(text, "2 DICTIONARY");
    explain_attributes(text, depth, 0, "", value);
    break;
  }
}

static void explain_attributes(ccw_text *text, int depth, size_t base, const char *family, const XLA_FFI_Attrs *attrs)
{
  head(text, depth, base, family, attrs->struct_size, attrs->extension_start);
  field(text, depth, base + offsetof(XLA_FFI_Attrs, size), family, "size");
  ccw_text_add(text, "%lld", (long long)attrs->size);
  field(text, depth, base + offsetof(XLA_FFI_Attrs, types), family, "types");
  pointer(text, attrs->types);
  field(text, depth, base + offsetof(XLA_FFI_Attrs, names), family, "names");
  pointer(text, attrs->names);
  field(text, depth, base + offsetof(XLA_FFI_Attrs, attrs), family, "attrs");
  pointer(text, attrs->attrs);
  for (int64_t i = 0; i < attrs->size; ++i) {
    ccw_text_add(text, "\n%*sattr %lld ", 4 * (depth + 1), "", (long long)i);
    ccw_text_add_quoted(text, attrs->names[i]->ptr, attrs->names[i]->len);
    ccw_text_add(text, ": ");
    explain_attribute(text, depth + 1, attrs->types[i], attrs->attrs[i]);
  }
}

void ccw_frame_explain(const XLA_FFI_CallFrame *frame, ccw_text *text)
{
  ccw_text_add(text, "XLA_FFI_CallFrame, %zu bytes", sizeof *frame);
  head(text, 0, 0, "", frame->struct_size, frame->extension_start);
  FIELD(text, 0, XLA_FFI_CallFrame, api);
  ccw_text_add(text, "API %d.%d, %zu bytes", frame->api->api_version.major_version,
      frame->api->api_version.minor_version, frame->api->struct_size);
  FIELD(text, 0, XLA_FFI_CallFrame, ctx);
  ccw_text_add(text, "made for each run");
  FIELD(text, 0, XLA_FFI_CallFrame, stage);
  ccw_text_add(text, "%d %s", (int)frame->stage, ccw_stage_name(frame->stage));
  size_t base = offsetof(XLA_FFI_CallFrame, args);
  head(text, 0, base, "args.", frame->args.struct_size, frame->args.extension_start);
  explain_buffers(text, "args.", base, frame->args.size, frame->args.types, frame->args.args);
  base = offsetof(XLA_FFI_CallFrame, rets);
  head(text, 0, base, "rets.", frame->rets.struct_size, frame->rets.extension_start);
  explain_buffers(text, "rets.", base, frame->rets.size, frame->rets.types, frame->rets.rets);
  explain_attributes(text, 0, offsetof(XLA_FFI_CallFrame, attrs), "attrs.", &frame->attrs);
  FIELD(text, 0, XLA_FFI_CallFrame, future);
  pointer(text, frame->future);
}

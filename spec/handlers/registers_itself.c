/* registers_itself.c: a library that registers its handlers when it is loaded, with the struct of today and with that of
 * FFI API 0.3, and once more under a name that is taken by another function. */
#include "plain.h"

static XLA_FFI_Error *answer(XLA_FFI_CallFrame *frame, float value)
{
  if (answer_metadata(frame)) return NULL;
  *(float *)((const XLA_FFI_Buffer *)frame->rets.rets[0])->data = value;
  return NULL;
}

static XLA_FFI_Error *one(XLA_FFI_CallFrame *frame) { return answer(frame, 1); }
static XLA_FFI_Error *two(XLA_FFI_CallFrame *frame) { return answer(frame, 2); }

static XLA_FFI_ByteSpan span(const char *text) { return (XLA_FFI_ByteSpan){text, strlen(text)}; }

static void ignore(const XLA_FFI_Api *api, XLA_FFI_Error *error)
{
  XLA_FFI_Error_Destroy_Args args = {XLA_FFI_Error_Destroy_Args_STRUCT_SIZE, NULL, error};
  api->XLA_FFI_Error_Destroy(&args);
}

__attribute__((constructor)) static void register_all(void)
{
  const XLA_FFI_Api *api = XLA_FFI_GetApi();
  XLA_FFI_Handler_Register_Args args = {.struct_size = XLA_FFI_Handler_Register_Args_STRUCT_SIZE,
      .name = span("self.one"),
      .platform = span("Host"),
      .bundle = {.execute = one}};
  ignore(api, api->XLA_FFI_Handler_Register(&args));
  args.traits = XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE; /* the same function with other traits */
  ignore(api, api->XLA_FFI_Handler_Register(&args));
  args.traits = 0;
  args.bundle.execute = two; /* another function under the same name */
  ignore(api, api->XLA_FFI_Handler_Register(&args));

  struct {
    size_t struct_size;
    XLA_FFI_InternalExtension *extension_start;
    XLA_FFI_ByteSpan name, platform;
    XLA_FFI_Handler *bundle[4];
    uint32_t traits;
  } old = {84, NULL, span("self.two"), span("cpu"), {NULL, NULL, NULL, two}, 0};
  ignore(api, api->XLA_FFI_Handler_Register((XLA_FFI_Handler_Register_Args *)(void *)&old));
}

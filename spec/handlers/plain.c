/* plain.c: handlers over the ABI alone, most of them with something wrong. */
#include <pthread.h>
#include <stdint.h>

#include "plain.h"

#define HANDLER(name)                                   \
  EXPORT XLA_FFI_Error *name(XLA_FFI_CallFrame *frame); \
  XLA_FFI_Error *name(XLA_FFI_CallFrame *frame)

static const XLA_FFI_Scalar *scalar_attribute(const XLA_FFI_CallFrame *frame, const char *name)
{
  for (int64_t i = 0; i < frame->attrs.size; ++i)
    if (frame->attrs.names[i]->len == strlen(name) && memcmp(frame->attrs.names[i]->ptr, name, strlen(name)) == 0)
      return frame->attrs.attrs[i];
  return NULL;
}

/* {code: s32, message: string}: fails with that code, whatever it is. */
HANDLER(fail_with)
{
  if (answer_metadata(frame)) return NULL;
  int32_t code;
  memcpy(&code, scalar_attribute(frame, "code")->value, sizeof code);
  const XLA_FFI_ByteSpan *message = frame->attrs.attrs[1];
  char text[64];
  size_t length = message->len < sizeof text - 1 ? message->len : sizeof text - 1;
  memcpy(text, message->ptr, length);
  text[length] = '\0';
  XLA_FFI_Error_Create_Args args = {XLA_FFI_Error_Create_Args_STRUCT_SIZE, NULL, text, (XLA_FFI_Error_Code)code};
  return frame->api->XLA_FFI_Error_Create(&args);
}

/* Fails with a message of a million bytes. */
HANDLER(fail_at_length)
{
  if (answer_metadata(frame)) return NULL;
  static char text[1000001];
  memset(text, 'x', sizeof text - 1);
  XLA_FFI_Error_Create_Args args = {XLA_FFI_Error_Create_Args_STRUCT_SIZE, NULL, text, XLA_FFI_Error_Code_ABORTED};
  return frame->api->XLA_FFI_Error_Create(&args);
}

/* Does not know the metadata query, as a function of another kind would not. */
HANDLER(silent)
{
  (void)frame;
  return NULL;
}

static bool claim_version(const XLA_FFI_CallFrame *frame, int major, int minor)
{
  if (!answer_metadata(frame)) return false;
  XLA_FFI_Metadata *metadata = ((const XLA_FFI_Metadata_Extension *)frame->extension_start)->metadata;
  metadata->api_version.major_version = major;
  metadata->api_version.minor_version = minor;
  return true;
}

HANDLER(from_the_future) { return claim_version(frame, 0, 6) ? NULL : NULL; }
HANDLER(from_another_major) { return claim_version(frame, 1, 0) ? NULL : NULL; }
HANDLER(negative_version) { return claim_version(frame, 0, -1) ? NULL : NULL; }

/* Its metadata has the trait. */
HANDLER(recordable)
{
  if (!answer_metadata(frame)) return NULL;
  ((const XLA_FFI_Metadata_Extension *)frame->extension_start)->metadata->traits =
      XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE;
  return NULL;
}

/* Returns what is no error. */
HANDLER(garbage) { return answer_metadata(frame) ? NULL : (XLA_FFI_Error *)(uintptr_t)0x1234; }

/* Leaves a future that nobody made. */
HANDLER(strange_future)
{
  if (!answer_metadata(frame)) frame->future = (XLA_FFI_Future *)(uintptr_t)0x1234;
  return NULL;
}

/* Fails with an error whose code is OK, which is a success. */
HANDLER(error_that_is_ok)
{
  if (answer_metadata(frame)) return NULL;
  return fail(frame, XLA_FFI_Error_Code_OK, "fine");
}

/* Destroys its error, and returns it all the same. */
HANDLER(error_after_destruction)
{
  if (answer_metadata(frame)) return NULL;
  XLA_FFI_Error_Destroy_Args args = {XLA_FFI_Error_Destroy_Args_STRUCT_SIZE, NULL, INVALID(frame, "gone")};
  frame->api->XLA_FFI_Error_Destroy(&args);
  return args.error;
}

/* Writes over the head of its frame, as no handler should. */
HANDLER(scribbler)
{
  if (answer_metadata(frame)) return NULL;
  XLA_FFI_Error *error = check_frame(frame, 1, 1, 0);
  memset(&frame->args, 0xFF, sizeof frame->args);
  frame->struct_size = 0;
  frame->api = NULL;
  return error;
}

/* (any...) -> s64[n]: where the operands are, then the results. */
HANDLER(addresses)
{
  if (answer_metadata(frame)) return NULL;
  const XLA_FFI_Buffer *out = frame->rets.rets[0];
  int64_t *to = out->data, n = 0;
  for (int64_t i = 0; i < frame->args.size && n < out->dims[0]; ++i)
    to[n++] = (int64_t)(uintptr_t)((const XLA_FFI_Buffer *)frame->args.args[i])->data;
  for (int64_t i = 0; i < frame->rets.size && n < out->dims[0]; ++i)
    to[n++] = (int64_t)(uintptr_t)((const XLA_FFI_Buffer *)frame->rets.rets[i])->data;
  return NULL;
}

/* -> pred[3]: the bytes 0, 1, 255. */
HANDLER(odd_preds)
{
  if (answer_metadata(frame)) return NULL;
  unsigned char *to = ((const XLA_FFI_Buffer *)frame->rets.rets[0])->data;
  to[0] = 0, to[1] = 1, to[2] = 0xFF;
  return NULL;
}

/* (x) -> (y) of any one type: copies, bytes as they are counted by the dtype's bits. */
HANDLER(copy)
{
  if (answer_metadata(frame)) return NULL;
  const XLA_FFI_Buffer *x = frame->args.args[0], *y = frame->rets.rets[0];
  int64_t bits = 0;
  switch (x->dtype) {
#define BITS(NAME, name, number, width, class) \
  case XLA_FFI_DataType_##NAME: bits = width; break;
    CCW_DTYPES(BITS)
#undef BITS
  default: break;
  }
  for (int64_t i = 0; i < x->rank; ++i) bits *= x->dims[i];
  if (bits > 0) memcpy(y->data, x->data, (size_t)((bits + 7) / 8));
  return NULL;
}

/* x + 1 in place or not: reads arg 0 and writes result 0, f32 both. */
HANDLER(increment)
{
  if (answer_metadata(frame)) return NULL;
  const XLA_FFI_Buffer *x = frame->args.args[0], *y = frame->rets.rets[0];
  for (int64_t i = 0; i < x->dims[0]; ++i) ((float *)y->data)[i] = ((const float *)x->data)[i] + 1;
  return NULL;
}

static int *volatile nowhere;

HANDLER(crashes)
{
  if (answer_metadata(frame)) return NULL;
  *nowhere = 1;
  return NULL;
}

HANDLER(crashes_when_asked)
{
  *nowhere = 1;
  return (XLA_FFI_Error *)frame;
}

/* Does nothing at all: what a call costs by itself. */
HANDLER(nothing)
{
  answer_metadata(frame);
  return NULL;
}

/* ---- the function table --------------------------------------------------------------------------------------------- */

static int32_t code_of(const XLA_FFI_CallFrame *frame, XLA_FFI_Error *error)
{
  if (!error) return 0;
  XLA_FFI_Error_GetDetails_Args details = {.struct_size = XLA_FFI_Error_GetDetails_Args_STRUCT_SIZE, .error = error};
  frame->api->XLA_FFI_Error_GetDetails(&details);
  XLA_FFI_Error_Destroy_Args destroy = {XLA_FFI_Error_Destroy_Args_STRUCT_SIZE, NULL, error};
  frame->api->XLA_FFI_Error_Destroy(&destroy);
  return (int32_t)details.errc;
}

/* -> s32[2,20]: the code with which every slot answers, first to a struct of size 0, then to one that is right. */
HANDLER(every_slot)
{
  if (answer_metadata(frame)) return NULL;
  int32_t *to = ((const XLA_FFI_Buffer *)frame->rets.rets[0])->data;
  XLA_FFI_InvokeContext *ctx = frame->ctx;
  int64_t threads;
  XLA_FFI_TypeId type = {1};
  for (int sized = 0; sized < 2; ++sized) {
    int n = 0;
#define ASK(NAME, ...)                                                                    \
  {                                                                                       \
    NAME##_Args args = {.struct_size = sized ? NAME##_Args_STRUCT_SIZE : 0, __VA_ARGS__}; \
    to[20 * sized + n++] = code_of(frame, frame->api->NAME(&args));                       \
  }
#define ASK_VOID(NAME)                                                       \
  {                                                                          \
    NAME##_Args args = {.struct_size = sized ? NAME##_Args_STRUCT_SIZE : 0}; \
    frame->api->NAME(&args);                                                 \
    to[20 * sized + n++] = 0;                                                \
  }
    ASK(XLA_FFI_Error_Create, .message = "m", .errc = XLA_FFI_Error_Code_DATA_LOSS)
    ASK_VOID(XLA_FFI_Error_GetDetails)
    ASK_VOID(XLA_FFI_Error_Destroy)
    ASK(XLA_FFI_Handler_Register, .name = {"x", 1}, .platform = {"Host", 4})
    ASK(XLA_FFI_Stream_Get, .ctx = ctx)
    ASK(XLA_FFI_Type_Register, .name = {"t", 1}, .type_id = &type)
    ASK(XLA_FFI_InvokeContext_Get, .ctx = ctx, .type_id = &type)
    ASK(XLA_FFI_State_Set, .ctx = ctx, .type_id = &type)
    ASK(XLA_FFI_State_Get, .ctx = ctx, .type_id = &type)
    ASK(XLA_FFI_DeviceMemory_Allocate, .ctx = ctx, .size = 8, .alignment = 8)
    ASK(XLA_FFI_DeviceMemory_Free, .ctx = ctx, .size = 8)
    ASK(XLA_FFI_ThreadPool_Schedule, .ctx = ctx)
    ASK(XLA_FFI_ThreadPool_NumThreads, .ctx = ctx, .num_threads = &threads)
    ASK(XLA_FFI_Future_Create, .future = NULL)
    ASK(XLA_FFI_Future_SetAvailable, .future = NULL)
    ASK(XLA_FFI_Future_SetError, .future = NULL)
    ASK(XLA_FFI_RunId_Get, .ctx = ctx)
    ASK(XLA_FFI_DeviceOrdinal_Get, .ctx = ctx)
    ASK(XLA_FFI_InvokeContext_FindExtension, .ctx = ctx, .extension_type = 128)
    ASK(XLA_FFI_CustomOptions_Get, .ctx = ctx)
  }
  return NULL;
}

/* ---- what is no handler ---------------------------------------------------------------------------------------------- */

EXPORT extern int some_data;
int some_data = 3;

__asm__(".data\n.globl some_label\nsome_label: .long 3\n.text");

/* ---- a handler that has others call ---------------------------------------------------------------------------------- */

/* What a thread of `relay` does: calls a handler with a frame, some times. */
typedef struct relayed {
  XLA_FFI_Handler *handler;
  const XLA_FFI_CallFrame *frame;
  int64_t times;
  XLA_FFI_Error *error;
} relayed;

static void *relay_in_thread(void *context)
{
  relayed *r = context;
  for (int64_t i = 0; i < r->times && !r->error; ++i) {
    XLA_FFI_CallFrame frame = *r->frame;
    r->error = r->handler(&frame);
  }
  return NULL;
}

/* {handler: s64, threads: s64, times: s64}: the handler at that address is called with the same operands and no attributes, from
 * so many threads at once, so often by each. The first error is returned. */
HANDLER(relay)
{
  enum { MOST = 16 };
  if (answer_metadata(frame)) return NULL;
  int64_t address, threads;
  relayed all[MOST];
  pthread_t running[MOST];
  memcpy(&address, scalar_attribute(frame, "handler")->value, sizeof address);
  memcpy(&threads, scalar_attribute(frame, "threads")->value, sizeof threads);
  XLA_FFI_CallFrame plain_frame = *frame;
  plain_frame.attrs.size = 0;
  for (int64_t i = 0; i < threads; ++i) {
    all[i] = (relayed){.handler = (XLA_FFI_Handler *)(uintptr_t)address, .frame = &plain_frame};
    memcpy(&all[i].times, scalar_attribute(frame, "times")->value, sizeof all[i].times);
    pthread_create(&running[i], NULL, relay_in_thread, &all[i]);
  }
  XLA_FFI_Error *error = NULL;
  for (int64_t i = 0; i < threads; ++i) {
    pthread_join(running[i], NULL);
    if (!error) error = all[i].error;
  }
  return error;
}

/* {flaw: s64, handler: s64}: the handler at that address is called with the same operands, the second of them spoilt in that way. */
HANDLER(spoil)
{
  if (answer_metadata(frame)) return NULL;
  int64_t address, flaw, below_zero = -1;
  memcpy(&address, scalar_attribute(frame, "handler")->value, sizeof address);
  memcpy(&flaw, scalar_attribute(frame, "flaw")->value, sizeof flaw);
  XLA_FFI_Buffer second = *(const XLA_FFI_Buffer *)frame->args.args[1];
  void *operands[] = {frame->args.args[0], flaw == 1 ? NULL : &second};
  XLA_FFI_ArgType types[] = {XLA_FFI_ArgType_BUFFER, flaw == 5 ? (XLA_FFI_ArgType)7 : XLA_FFI_ArgType_BUFFER};
  if (flaw == 2) second.dims = NULL;
  if (flaw == 3) second.data = NULL;
  if (flaw == 4) second.rank = (INT64_C(1) << 32) + 1;
  if (flaw == 6) second.dtype = (XLA_FFI_DataType)75;
  if (flaw == 7) second.dims = &below_zero;
  XLA_FFI_CallFrame spoilt = *frame;
  spoilt.attrs.size = 0;
  spoilt.args.args = operands;
  spoilt.args.types = types;
  return ((XLA_FFI_Handler *)(uintptr_t)address)(&spoilt);
}

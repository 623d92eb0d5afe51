/* xla_ffi_record.h: the extension by which a handler records commands instead of running them, version 0.2.
 *
 * A handler of stage RECORD finds it in its context: XLA_FFI_InvokeContext_FindExtension for XLA_FFI_Extension_Record. Its
 * function table makes the nodes of a command buffer, for example a CUDA graph, which the runtime launches as often as it
 * likes. Where buffers have moved, the handler is called again to update the commands that it has made.
 *
 * As xla_ffi.h, which it includes, this goes together with the official record_c_api.h in one C++ file, in either order.
 * Version 0.1, of FFI API 0.4, is the same without XLA_FFI_SourceFormat_FUNCTION_PTR.
 */
#ifndef CCW_XLA_FFI_RECORD_H
#define CCW_XLA_FFI_RECORD_H

#include "xla_ffi.h"

/* The other public extension, of collective operations. */
#define XLA_FFI_Extension_Collectives 129

#ifdef XLA_FFI_API_RECORD_C_API_H_
#if XLA_FFI_Extension_Record_MajorVersion == 0 && XLA_FFI_Extension_Record_MinorVersion < 2
#error "ccw/xla_ffi_record.h speaks version 0.2: the record_c_api.h before it is older. Take that of jaxlib 0.12."
#endif
#else
#define XLA_FFI_API_RECORD_C_API_H_

#define XLA_FFI_Extension_Record 128
#define XLA_FFI_Extension_Record_MajorVersion 0
#define XLA_FFI_Extension_Record_MinorVersion 2

#ifdef __cplusplus
extern "C" {
#endif

typedef struct XLA_FFI_RecordContext XLA_FFI_RecordContext; /* the runtime's side of a recording */
typedef struct XLA_FFI_Command XLA_FFI_Command;             /* lives as long as the context */

/* What a handler is called for: to make its commands, once, or to update those that it has made. */
typedef enum XLA_FFI_RecordAction {
  XLA_FFI_RecordAction_Create = 0,
  XLA_FFI_RecordAction_Update = 1,
} XLA_FFI_RecordAction;

/* ---- kernels ------------------------------------------------------------------------------------------------------ */

typedef enum XLA_FFI_SourceFormat {
  XLA_FFI_SourceFormat_PTX = 0,
  XLA_FFI_SourceFormat_CUBIN = 1,
  XLA_FFI_SourceFormat_FUNCTION_PTR = 2, /* a function of the device that is loaded already; its size is 0. Since 0.2 */
} XLA_FFI_SourceFormat;

typedef struct XLA_FFI_Dim3 {
  int32_t x;
  int32_t y;
  int32_t z;
} XLA_FFI_Dim3;

typedef struct XLA_FFI_LaunchDims {
  XLA_FFI_Dim3 grid;
  XLA_FFI_Dim3 block;
  XLA_FFI_Dim3 cluster; /* all 0: no clusters */
} XLA_FFI_LaunchDims;

typedef enum XLA_FFI_KernelArgType {
  XLA_FFI_KernelArgType_DevicePtr = 0, /* the address itself; its size is 0 */
  XLA_FFI_KernelArgType_HostValue = 1, /* bytes of the host at that address, copied when the command is recorded */
} XLA_FFI_KernelArgType;

typedef struct XLA_FFI_KernelArg {
  const void *arg_address;
  int64_t size;
  XLA_FFI_KernelArgType type;
} XLA_FFI_KernelArg;

typedef struct XLA_FFI_KernelArgs {
  const XLA_FFI_KernelArg *args; /* length == num_args */
  int64_t num_args;
} XLA_FFI_KernelArgs;

/* ---- the function table ------------------------------------------------------------------------------------------- */

/* A command runs after its dependencies, and in no other order. Arrays are borrowed for the length of the function. */
typedef struct XLA_FFI_RecordApi {
  XLA_FFI_Error *(*create_launch)(XLA_FFI_RecordContext *ctx, const char *kernel_name, const void *kernel_data,
      int64_t kernel_size, XLA_FFI_SourceFormat format, XLA_FFI_LaunchDims launch_dims, uint32_t shared_mem_bytes,
      int32_t uses_pdl, const XLA_FFI_KernelArgs *args, const XLA_FFI_Command *const *dependencies,
      uint32_t num_dependencies, const XLA_FFI_Command **out_command);
  XLA_FFI_Error *(*update_launch)(
      XLA_FFI_RecordContext *ctx, const XLA_FFI_Command *command, const XLA_FFI_KernelArgs *args);
  XLA_FFI_Error *(*create_memcpy_d2d)(XLA_FFI_RecordContext *ctx, void *dst, void *src, int64_t size,
      const XLA_FFI_Command *const *dependencies, uint32_t num_dependencies, const XLA_FFI_Command **out_command);
  XLA_FFI_Error *(*update_memcpy_d2d)(
      XLA_FFI_RecordContext *ctx, const XLA_FFI_Command *command, void *dst, void *src, int64_t size);
  /* Has the runtime capture what stage EXECUTE puts into the stream instead; then there must be no commands. */
  XLA_FFI_Error *(*request_stream_capture)(XLA_FFI_RecordContext *ctx);
  /* A command that does nothing: what comes after it comes after all of its dependencies. */
  XLA_FFI_Error *(*create_empty_command)(XLA_FFI_RecordContext *ctx, const XLA_FFI_Command *const *dependencies,
      uint32_t num_dependencies, const XLA_FFI_Command **out_command);
} XLA_FFI_RecordApi;

/* ---- the extension ------------------------------------------------------------------------------------------------ */

/* A handler that creates puts every command into the list and counts it; one that updates finds them there. */
typedef struct XLA_FFI_RecordFrame {
  XLA_FFI_RecordContext *record_ctx;
  const XLA_FFI_RecordApi *api;
  XLA_FFI_RecordAction action;
  const XLA_FFI_Command **commands; /* room for max_commands */
  int64_t *num_commands;            /* in and out */
  int64_t max_commands;
} XLA_FFI_RecordFrame;

struct XLA_FFI_Record_Extension {
  XLA_FFI_Extension extension_base;
  XLA_FFI_RecordFrame *record_frame;
};
CCW_ABI_STRUCT(XLA_FFI_Record_Extension, record_frame, 40, 40);

#ifdef __cplusplus
}
#endif

#endif /* no official record_c_api.h came first */
#endif

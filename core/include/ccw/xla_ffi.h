/* xla_ffi.h: the binary interface between XLA and a custom call, FFI API 0.5.
 *
 * A custom call is one C function, `XLA_FFI_Error *handler(XLA_FFI_CallFrame *)`. This header declares the frame that
 * it is given, the table of functions that it may call back, and nothing else: it needs stddef.h and stdint.h, compiles
 * as C11 and as C++17, and a library built with it links to nothing. The names, numbers and layouts are those of XLA's
 * own c_api.h, so that a handler is binary compatible with every runtime that has the FFI.
 *
 * It goes together with the official headers in one C++ file, in either order: an official c_api.h that came first is
 * used as it is (it must be 0.5 or later), one that comes after finds its include guard taken.
 *
 * Conventions of the interface:
 *   - A struct starts with its size and a chain of internal extensions. The size to write is NAME_STRUCT_SIZE, which ends
 *     with the last field that the version knew; it is not always sizeof.
 *   - Fields marked `out` are written by the callee. Everything else in a frame is borrowed for the length of the call.
 *   - NULL for an error means success. Whoever receives an error owns it, and destroys it.
 */
#ifndef CCW_XLA_FFI_H
#define CCW_XLA_FFI_H

#include <stddef.h>
#include <stdint.h>

/* ---- the two lists ------------------------------------------------------------------------------------------------ */

/* Every element type: X(NAME, name, number, bits of an element in memory, class). The numbers are XLA's PrimitiveType.
 * Elements of less than eight bits are packed, the first in the lowest bits. */
#define CCW_DTYPES(X)                           \
  X(PRED, pred, 1, 8, PRED)                     \
  X(S1, s1, 30, 1, SIGNED)                      \
  X(S2, s2, 26, 2, SIGNED)                      \
  X(S4, s4, 21, 4, SIGNED)                      \
  X(S8, s8, 2, 8, SIGNED)                       \
  X(S16, s16, 3, 16, SIGNED)                    \
  X(S32, s32, 4, 32, SIGNED)                    \
  X(S64, s64, 5, 64, SIGNED)                    \
  X(U1, u1, 31, 1, UNSIGNED)                    \
  X(U2, u2, 27, 2, UNSIGNED)                    \
  X(U4, u4, 22, 4, UNSIGNED)                    \
  X(U8, u8, 6, 8, UNSIGNED)                     \
  X(U16, u16, 7, 16, UNSIGNED)                  \
  X(U32, u32, 8, 32, UNSIGNED)                  \
  X(U64, u64, 9, 64, UNSIGNED)                  \
  X(F16, f16, 10, 16, FLOAT)                    \
  X(F32, f32, 11, 32, FLOAT)                    \
  X(F64, f64, 12, 64, FLOAT)                    \
  X(BF16, bf16, 16, 16, FLOAT)                  \
  X(F8E5M2, f8e5m2, 19, 8, FLOAT)               \
  X(F8E4M3, f8e4m3, 28, 8, FLOAT)               \
  X(F8E4M3FN, f8e4m3fn, 20, 8, FLOAT)           \
  X(F8E4M3B11FNUZ, f8e4m3b11fnuz, 23, 8, FLOAT) \
  X(F8E5M2FNUZ, f8e5m2fnuz, 24, 8, FLOAT)       \
  X(F8E4M3FNUZ, f8e4m3fnuz, 25, 8, FLOAT)       \
  X(F8E3M4, f8e3m4, 29, 8, FLOAT)               \
  X(F4E2M1FN, f4e2m1fn, 32, 4, FLOAT)           \
  X(F8E8M0FNU, f8e8m0fnu, 33, 8, FLOAT)         \
  X(C64, c64, 15, 64, COMPLEX)                  \
  X(C128, c128, 18, 128, COMPLEX)               \
  X(TOKEN, token, 17, 0, TOKEN)

/* Every failure: X(NAME, number). The numbers are those of absl::StatusCode; 0 is success. */
#define CCW_CODES(X)        \
  X(CANCELLED, 1)           \
  X(UNKNOWN, 2)             \
  X(INVALID_ARGUMENT, 3)    \
  X(DEADLINE_EXCEEDED, 4)   \
  X(NOT_FOUND, 5)           \
  X(ALREADY_EXISTS, 6)      \
  X(PERMISSION_DENIED, 7)   \
  X(RESOURCE_EXHAUSTED, 8)  \
  X(FAILED_PRECONDITION, 9) \
  X(ABORTED, 10)            \
  X(OUT_OF_RANGE, 11)       \
  X(UNIMPLEMENTED, 12)      \
  X(INTERNAL, 13)           \
  X(UNAVAILABLE, 14)        \
  X(DATA_LOSS, 15)          \
  X(UNAUTHENTICATED, 16)

/* Every stage: X(NAME, name, number). The names are also the fields of XLA_FFI_Handler_Bundle. */
#define CCW_STAGES(X)            \
  X(INSTANTIATE, instantiate, 0) \
  X(PREPARE, prepare, 1)         \
  X(INITIALIZE, initialize, 2)   \
  X(EXECUTE, execute, 3)         \
  X(RECORD, record, 4)

/* Every slot of the function table, in its order: X(NAME). */
#define CCW_XLA_FFI_SLOTS(X)             \
  X(XLA_FFI_Error_Create)                \
  X(XLA_FFI_Error_GetDetails)            \
  X(XLA_FFI_Error_Destroy)               \
  X(XLA_FFI_Handler_Register)            \
  X(XLA_FFI_Stream_Get)                  \
  X(XLA_FFI_Type_Register)               \
  X(XLA_FFI_InvokeContext_Get)           \
  X(XLA_FFI_State_Set)                   \
  X(XLA_FFI_State_Get)                   \
  X(XLA_FFI_DeviceMemory_Allocate)       \
  X(XLA_FFI_DeviceMemory_Free)           \
  X(XLA_FFI_ThreadPool_Schedule)         \
  X(XLA_FFI_ThreadPool_NumThreads)       \
  X(XLA_FFI_Future_Create)               \
  X(XLA_FFI_Future_SetAvailable)         \
  X(XLA_FFI_Future_SetError)             \
  X(XLA_FFI_RunId_Get)                   \
  X(XLA_FFI_DeviceOrdinal_Get)           \
  X(XLA_FFI_InvokeContext_FindExtension) \
  X(XLA_FFI_CustomOptions_Get)

/* ---- the layout of a struct --------------------------------------------------------------------------------------- */

#ifdef __cplusplus
#define CCW_ABI_ASSERT static_assert
#else
#define CCW_ABI_ASSERT _Static_assert
#endif

/* Declares NAME_STRUCT_SIZE and holds the struct to its layout on a 64-bit machine: `size` is where `last_field` ends,
 * `whole` is sizeof. `last_field` is the last one but where a version added a field and left the constant alone. */
#if UINTPTR_MAX == 0xffffffffffffffff
#define CCW_ABI_STRUCT(sname, last_field, size, whole)                                                               \
  XLA_FFI_DEFINE_STRUCT_TRAITS(sname, last_field);                                                                   \
  CCW_ABI_ASSERT(XLA_FFI_STRUCT_SIZE(sname, last_field) == (size), #sname ": the end of " #last_field " has moved"); \
  CCW_ABI_ASSERT(sizeof(sname) == (whole), #sname ": its size has changed")
#else
#define CCW_ABI_STRUCT(sname, last_field, size, whole) XLA_FFI_DEFINE_STRUCT_TRAITS(sname, last_field)
#endif

/* ---- an official c_api.h came first ------------------------------------------------------------------------------- */

#ifdef XLA_FFI_API_C_API_H_
#if XLA_FFI_API_MAJOR == 0 && XLA_FFI_API_MINOR < 5
#error "ccw/xla_ffi.h speaks XLA FFI API 0.5: the c_api.h included before it is older. Take that of jaxlib 0.12."
#endif
#else
#define XLA_FFI_API_C_API_H_

#define XLA_FFI_API_MAJOR 0
#define XLA_FFI_API_MINOR 5

#ifdef __cplusplus
extern "C" {
#endif

/* The size that a struct declares of itself: up to the end of its last field, without the padding after it. */
#define XLA_FFI_STRUCT_SIZE(struct_type, last_field) \
  (offsetof(struct_type, last_field) + sizeof(((struct_type *)0)->last_field))

#define XLA_FFI_DEFINE_STRUCT_TRAITS(sname, last_field) \
  typedef struct sname sname;                           \
  enum { sname##_STRUCT_SIZE = XLA_FFI_STRUCT_SIZE(sname, last_field) }

/* ---- extensions and version --------------------------------------------------------------------------------------- */

typedef struct XLA_FFI_Api XLA_FFI_Api;
typedef struct XLA_FFI_InternalApi XLA_FFI_InternalApi; /* only for code built together with the runtime */

typedef enum XLA_FFI_InternalExtension_Type {
  XLA_FFI_Extension_Metadata = 1,
} XLA_FFI_InternalExtension_Type;

/* An element of the chain at the head of a struct. The only one there is asks a handler for its metadata. */
struct XLA_FFI_InternalExtension {
  size_t struct_size;
  XLA_FFI_InternalExtension_Type type;
  struct XLA_FFI_InternalExtension *next;
};
CCW_ABI_STRUCT(XLA_FFI_InternalExtension, next, 24, 24);

struct XLA_FFI_ExtensionId {
  int64_t extension_type;
  int32_t major_version;
  int32_t minor_version;
};
CCW_ABI_STRUCT(XLA_FFI_ExtensionId, minor_version, 16, 16);

/* First member of a context extension: a struct of its own that a runtime hangs on the invoke context, at most one of
 * each type, for the length of the call. Since 0.4. */
struct XLA_FFI_Extension {
  size_t struct_size;
  struct XLA_FFI_ExtensionId id;
  const struct XLA_FFI_Extension *next;
};
CCW_ABI_STRUCT(XLA_FFI_Extension, next, 32, 32);

/* A runtime accepts handlers of its own version and of older ones. */
struct XLA_FFI_Api_Version {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  int major_version; /* out */
  int minor_version; /* out */
};
CCW_ABI_STRUCT(XLA_FFI_Api_Version, minor_version, 24, 24);

/* ---- errors ------------------------------------------------------------------------------------------------------- */

typedef struct XLA_FFI_Error XLA_FFI_Error;

#define CCW_XLA_FFI_CODE(NAME, number) XLA_FFI_Error_Code_##NAME = number,
typedef enum XLA_FFI_Error_Code { XLA_FFI_Error_Code_OK = 0, CCW_CODES(CCW_XLA_FFI_CODE) } XLA_FFI_Error_Code;
#undef CCW_XLA_FFI_CODE

/* Makes an error; the message is copied. */
struct XLA_FFI_Error_Create_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  const char *message;
  XLA_FFI_Error_Code errc;
};
CCW_ABI_STRUCT(XLA_FFI_Error_Create_Args, errc, 28, 32);
typedef XLA_FFI_Error *XLA_FFI_Error_Create(XLA_FFI_Error_Create_Args *args);

/* Reads an error. The message is borrowed from it. Callers older than 0.4 declare 32 bytes: they have no errc. */
struct XLA_FFI_Error_GetDetails_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_Error *error;
  const char *message;     /* out */
  XLA_FFI_Error_Code errc; /* out */
};
CCW_ABI_STRUCT(XLA_FFI_Error_GetDetails_Args, errc, 36, 40);
typedef void XLA_FFI_Error_GetDetails(XLA_FFI_Error_GetDetails_Args *args);

struct XLA_FFI_Error_Destroy_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_Error *error;
};
CCW_ABI_STRUCT(XLA_FFI_Error_Destroy_Args, error, 24, 24);
typedef void XLA_FFI_Error_Destroy(XLA_FFI_Error_Destroy_Args *args);

/* ---- buffers and attributes --------------------------------------------------------------------------------------- */

#define CCW_XLA_FFI_DTYPE(NAME, name, number, bits, class) XLA_FFI_DataType_##NAME = number,
typedef enum XLA_FFI_DataType { XLA_FFI_DataType_INVALID = 0, CCW_DTYPES(CCW_XLA_FFI_DTYPE) } XLA_FFI_DataType;
#undef CCW_XLA_FFI_DTYPE

/* An array of `rank` extents, row-major. On a GPU `data` is a device pointer; dims are always on the host. */
struct XLA_FFI_Buffer {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_DataType dtype;
  void *data;
  int64_t rank;
  int64_t *dims; /* length == rank */
};
CCW_ABI_STRUCT(XLA_FFI_Buffer, dims, 48, 48);

typedef enum XLA_FFI_ArgType { XLA_FFI_ArgType_BUFFER = 1 } XLA_FFI_ArgType;
typedef enum XLA_FFI_RetType { XLA_FFI_RetType_BUFFER = 1 } XLA_FFI_RetType;
typedef enum XLA_FFI_AttrType {
  XLA_FFI_AttrType_ARRAY = 1,      /* XLA_FFI_Array */
  XLA_FFI_AttrType_DICTIONARY = 2, /* XLA_FFI_Attrs */
  XLA_FFI_AttrType_SCALAR = 3,     /* XLA_FFI_Scalar */
  XLA_FFI_AttrType_STRING = 4,     /* XLA_FFI_ByteSpan */
} XLA_FFI_AttrType;

typedef struct XLA_FFI_InvokeContext XLA_FFI_InvokeContext; /* the runtime's side of one call */
typedef XLA_FFI_InvokeContext XLA_FFI_ExecutionContext;     /* its name before 0.4 */

typedef struct XLA_FFI_ByteSpan {
  const char *ptr; /* may hold NULs, need not end with one */
  size_t len;
} XLA_FFI_ByteSpan;

typedef struct XLA_FFI_Scalar {
  XLA_FFI_DataType dtype;
  void *value;
} XLA_FFI_Scalar;

typedef struct XLA_FFI_Array {
  XLA_FFI_DataType dtype;
  size_t size; /* elements */
  void *data;
} XLA_FFI_Array;

/* ---- types, futures ----------------------------------------------------------------------------------------------- */

typedef struct XLA_FFI_TypeId {
  int64_t type_id;
} XLA_FFI_TypeId;

#ifdef __cplusplus
#define XLA_FFI_UNKNOWN_TYPE_ID \
  XLA_FFI_TypeId { 0 }
#else
#define XLA_FFI_UNKNOWN_TYPE_ID \
  (XLA_FFI_TypeId) { 0 }
#endif

struct XLA_FFI_TypeInfo {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  void (*deleter)(void *object);
};
CCW_ABI_STRUCT(XLA_FFI_TypeInfo, deleter, 24, 24);

/* A future that a handler stores in its frame belongs to the runtime; the handler completes it, from any thread. */
typedef struct XLA_FFI_Future XLA_FFI_Future;

struct XLA_FFI_Future_Create_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_Future *future; /* out; not counted in the struct's size */
};
CCW_ABI_STRUCT(XLA_FFI_Future_Create_Args, extension_start, 16, 24);
typedef XLA_FFI_Error *XLA_FFI_Future_Create(XLA_FFI_Future_Create_Args *args);

struct XLA_FFI_Future_SetAvailable_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_Future *future;
};
CCW_ABI_STRUCT(XLA_FFI_Future_SetAvailable_Args, future, 24, 24);
typedef XLA_FFI_Error *XLA_FFI_Future_SetAvailable(XLA_FFI_Future_SetAvailable_Args *args);

struct XLA_FFI_Future_SetError_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_Future *future;
  XLA_FFI_Error *error; /* taken, when the call succeeds */
};
CCW_ABI_STRUCT(XLA_FFI_Future_SetError_Args, error, 32, 32);
typedef XLA_FFI_Error *XLA_FFI_Future_SetError(XLA_FFI_Future_SetError_Args *args);

/* ---- the call frame ----------------------------------------------------------------------------------------------- */

/* INSTANTIATE runs once for a call site, PREPARE and INITIALIZE once before an execution starts, EXECUTE each time the
 * call runs, RECORD when a command buffer is recorded (since 0.4). Buffers hold data in EXECUTE only. */
#define CCW_XLA_FFI_STAGE(NAME, name, number) XLA_FFI_ExecutionStage_##NAME = number,
typedef enum XLA_FFI_ExecutionStage { CCW_STAGES(CCW_XLA_FFI_STAGE) } XLA_FFI_ExecutionStage;
#undef CCW_XLA_FFI_STAGE

struct XLA_FFI_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  int64_t size;
  XLA_FFI_ArgType *types; /* length == size */
  void **args;            /* length == size; XLA_FFI_Buffer for BUFFER */
};
CCW_ABI_STRUCT(XLA_FFI_Args, args, 40, 40);

struct XLA_FFI_Rets {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  int64_t size;
  XLA_FFI_RetType *types; /* length == size */
  void **rets;            /* length == size; XLA_FFI_Buffer for BUFFER */
};
CCW_ABI_STRUCT(XLA_FFI_Rets, rets, 40, 40);

/* A dictionary, sorted by name as unsigned bytes, at every level. Arrays may be NULL where size is 0. */
struct XLA_FFI_Attrs {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  int64_t size;
  XLA_FFI_AttrType *types;  /* length == size */
  XLA_FFI_ByteSpan **names; /* length == size */
  void **attrs;             /* length == size */
};
CCW_ABI_STRUCT(XLA_FFI_Attrs, attrs, 48, 48);

struct XLA_FFI_CallFrame {
  size_t struct_size; /* exactly XLA_FFI_CallFrame_STRUCT_SIZE, which leaves out `future` */
  XLA_FFI_InternalExtension *extension_start;
  const XLA_FFI_Api *api;
  XLA_FFI_InvokeContext *ctx;
  XLA_FFI_ExecutionStage stage;
  XLA_FFI_Args args;
  XLA_FFI_Rets rets;
  XLA_FFI_Attrs attrs;
  XLA_FFI_Future *future; /* out; a handler that goes on after it has returned leaves its future here */
};
CCW_ABI_STRUCT(XLA_FFI_CallFrame, attrs, 168, 176);

/* ---- handlers ----------------------------------------------------------------------------------------------------- */

typedef XLA_FFI_Error *XLA_FFI_Handler(XLA_FFI_CallFrame *call_frame);

/* The handlers of one custom call by stage; only `execute` is required. */
typedef struct XLA_FFI_Handler_Bundle {
  XLA_FFI_Handler *instantiate;
  XLA_FFI_Handler *prepare;
  XLA_FFI_Handler *initialize;
  XLA_FFI_Handler *execute;
  XLA_FFI_Handler *record; /* since 0.4 */
} XLA_FFI_Handler_Bundle;

enum XLA_FFI_Handler_TraitsBits {
  /* Calls with equal arguments record the same commands, so that they may go into a command buffer. */
  XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE = 1u << 0,
};
typedef uint32_t XLA_FFI_Handler_Traits;

/* Callers older than 0.4 declare 84 bytes: their bundle has four handlers. */
struct XLA_FFI_Handler_Register_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_ByteSpan name;
  XLA_FFI_ByteSpan platform;
  XLA_FFI_Handler_Bundle bundle;
  XLA_FFI_Handler_Traits traits;
};
CCW_ABI_STRUCT(XLA_FFI_Handler_Register_Args, traits, 92, 96);
typedef XLA_FFI_Error *XLA_FFI_Handler_Register(XLA_FFI_Handler_Register_Args *args);

struct XLA_FFI_Type_Register_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_ByteSpan name;
  XLA_FFI_TypeId *type_id; /* in and out: 0 asks for a number */
  const XLA_FFI_TypeInfo *type_info;
};
CCW_ABI_STRUCT(XLA_FFI_Type_Register_Args, type_id, 40, 48);
typedef XLA_FFI_Error *XLA_FFI_Type_Register(XLA_FFI_Type_Register_Args *args);

/* Put as the first extension of a frame, it asks the handler for its metadata instead of a call. The storage must be
 * the whole struct, whatever its struct_size says: newer handlers write state_type_id too. */
struct XLA_FFI_Metadata {
  size_t struct_size;
  XLA_FFI_Api_Version api_version; /* out */
  XLA_FFI_Handler_Traits traits;   /* out */
  XLA_FFI_TypeId state_type_id;    /* out; of a handler that makes state, else 0 */
};
CCW_ABI_STRUCT(XLA_FFI_Metadata, traits, 36, 48);

struct XLA_FFI_Metadata_Extension {
  XLA_FFI_InternalExtension extension_base;
  XLA_FFI_Metadata *metadata;
};
CCW_ABI_STRUCT(XLA_FFI_Metadata_Extension, metadata, 32, 32);

/* ---- what a handler may ask of its context ------------------------------------------------------------------------ */

/* An extension by type; success with NULL where there is none. Since 0.4. */
struct XLA_FFI_InvokeContext_FindExtension_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_InvokeContext *ctx;
  int64_t extension_type;
  const XLA_FFI_Extension *extension; /* out */
};
CCW_ABI_STRUCT(XLA_FFI_InvokeContext_FindExtension_Args, extension, 40, 40);
typedef XLA_FFI_Error *XLA_FFI_InvokeContext_FindExtension(XLA_FFI_InvokeContext_FindExtension_Args *args);

/* User data by type. */
struct XLA_FFI_InvokeContext_Get_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_InvokeContext *ctx;
  XLA_FFI_TypeId *type_id;
  void *data; /* out */
};
CCW_ABI_STRUCT(XLA_FFI_InvokeContext_Get_Args, data, 40, 40);
typedef XLA_FFI_Error *XLA_FFI_InvokeContext_Get(XLA_FFI_InvokeContext_Get_Args *args);

/* Options of this execution, apart from the attributes. Since 0.5. */
struct XLA_FFI_CustomOptions_Get_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_InvokeContext *ctx;
  const XLA_FFI_Attrs *attrs; /* out; valid until the handler returns */
};
CCW_ABI_STRUCT(XLA_FFI_CustomOptions_Get_Args, attrs, 32, 32);
typedef XLA_FFI_Error *XLA_FFI_CustomOptions_Get(XLA_FFI_CustomOptions_Get_Args *args);

/* State of a stage. Callers before 0.3 declare 40 bytes without the stage; before 0.2 the layout differed. */
struct XLA_FFI_State_Set_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_InvokeContext *ctx;
  XLA_FFI_ExecutionStage stage;
  XLA_FFI_TypeId *type_id;
  void *state; /* taken, when the call succeeds */
};
CCW_ABI_STRUCT(XLA_FFI_State_Set_Args, state, 48, 48);
typedef XLA_FFI_Error *XLA_FFI_State_Set(XLA_FFI_State_Set_Args *args);

struct XLA_FFI_State_Get_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_InvokeContext *ctx;
  XLA_FFI_ExecutionStage stage;
  XLA_FFI_TypeId *type_id;
  void *state; /* out; borrowed */
};
CCW_ABI_STRUCT(XLA_FFI_State_Get_Args, state, 48, 48);
typedef XLA_FFI_Error *XLA_FFI_State_Get(XLA_FFI_State_Get_Args *args);

/* The platform's own stream, for example a CUstream. */
struct XLA_FFI_Stream_Get_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_InvokeContext *ctx;
  void *stream; /* out */
};
CCW_ABI_STRUCT(XLA_FFI_Stream_Get_Args, stream, 32, 32);
typedef XLA_FFI_Error *XLA_FFI_Stream_Get(XLA_FFI_Stream_Get_Args *args);

struct XLA_FFI_DeviceMemory_Allocate_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_InvokeContext *ctx;
  size_t size;
  size_t alignment;
  void *data; /* out */
};
CCW_ABI_STRUCT(XLA_FFI_DeviceMemory_Allocate_Args, data, 48, 48);
typedef XLA_FFI_Error *XLA_FFI_DeviceMemory_Allocate(XLA_FFI_DeviceMemory_Allocate_Args *args);

struct XLA_FFI_DeviceMemory_Free_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_InvokeContext *ctx;
  size_t size;
  void *data;
};
CCW_ABI_STRUCT(XLA_FFI_DeviceMemory_Free_Args, data, 40, 40);
typedef XLA_FFI_Error *XLA_FFI_DeviceMemory_Free(XLA_FFI_DeviceMemory_Free_Args *args);

typedef void XLA_FFI_Task(void *data);

/* Runs task(data) once, some time, on some thread; on an error the task was not taken. */
struct XLA_FFI_ThreadPool_Schedule_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_InvokeContext *ctx;
  XLA_FFI_Task *task;
  void *data;
};
CCW_ABI_STRUCT(XLA_FFI_ThreadPool_Schedule_Args, data, 40, 40);
typedef XLA_FFI_Error *XLA_FFI_ThreadPool_Schedule(XLA_FFI_ThreadPool_Schedule_Args *args);

struct XLA_FFI_ThreadPool_NumThreads_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_InvokeContext *ctx;
  int64_t *num_threads; /* out, where it points */
};
CCW_ABI_STRUCT(XLA_FFI_ThreadPool_NumThreads_Args, num_threads, 32, 32);
typedef XLA_FFI_Error *XLA_FFI_ThreadPool_NumThreads(XLA_FFI_ThreadPool_NumThreads_Args *args);

struct XLA_FFI_RunId_Get_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_InvokeContext *ctx;
  int64_t run_id; /* out */
};
CCW_ABI_STRUCT(XLA_FFI_RunId_Get_Args, run_id, 32, 32);
typedef XLA_FFI_Error *XLA_FFI_RunId_Get(XLA_FFI_RunId_Get_Args *args);

struct XLA_FFI_DeviceOrdinal_Get_Args {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_InvokeContext *ctx;
  int32_t device_ordinal; /* out; -1 where unknown */
};
CCW_ABI_STRUCT(XLA_FFI_DeviceOrdinal_Get_Args, device_ordinal, 28, 32);
typedef XLA_FFI_Error *XLA_FFI_DeviceOrdinal_Get(XLA_FFI_DeviceOrdinal_Get_Args *args);

/* ---- the function table ------------------------------------------------------------------------------------------- */

/* A field bears the name of its function type; C++ wants the type qualified then. */
#ifdef __cplusplus
#define CCW_XLA_FFI_SLOT(NAME) ::NAME *NAME;
#else
#define CCW_XLA_FFI_SLOT(NAME) NAME *NAME;
#endif
struct XLA_FFI_Api {
  size_t struct_size;
  XLA_FFI_InternalExtension *extension_start;
  XLA_FFI_Api_Version api_version;
  const XLA_FFI_InternalApi *internal_api;
  CCW_XLA_FFI_SLOTS(CCW_XLA_FFI_SLOT)
};
#undef CCW_XLA_FFI_SLOT
CCW_ABI_STRUCT(XLA_FFI_Api, XLA_FFI_CustomOptions_Get, 208, 208);

/* The table of the runtime in this process, for libraries that register themselves. */
#ifdef __cplusplus
const XLA_FFI_Api *XLA_FFI_GetApi();
}
#else
const XLA_FFI_Api *XLA_FFI_GetApi(void);
#endif

#endif /* no official c_api.h came first */
#endif

/* binding.h: what a handler binds, as data.
 *
 * handler.h writes such data for each handler in C, and from it come the reports on bad frames. The workbench reads the
 * same data out of the text of a signature. All of it is constant, and borrowed by whoever looks.
 */
#ifndef CCW_BINDING_H
#define CCW_BINDING_H

#include <stdbool.h>

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The words of a binding: X(NAME, family). */
#define CCW_WORDS(X)      \
  X(CTX, CTX)             \
  X(ARG, ARG)             \
  X(OPTIONAL_ARG, ARG)    \
  X(REMAINING_ARGS, ARG)  \
  X(RET, RET)             \
  X(OPTIONAL_RET, RET)    \
  X(REMAINING_RETS, RET)  \
  X(ATTR, ATTR)           \
  X(ATTRS, ATTR)          \
  X(NEW_STATE, NEW_STATE) \
  X(TRAIT, TRAIT)

#define CCW_WORD_ENUM(NAME, family) CCW_WORD_##NAME,
typedef enum ccw_word { CCW_WORDS(CCW_WORD_ENUM) } ccw_word;
#undef CCW_WORD_ENUM

/* What an attribute may be asked to be. */
typedef enum ccw_form {
  CCW_FORM_UNKNOWN,    /* anything: the binding does not say */
  CCW_FORM_SCALAR,     /* of dtype */
  CCW_FORM_ARRAY,      /* of dtype, rank 1 */
  CCW_FORM_STRING,     /* any bytes */
  CCW_FORM_DICTIONARY, /* read by name, late */
  CCW_FORM_POINTER,    /* in an s64 */
  CCW_FORM_ENUM,       /* a scalar; detail: ccw_enum_info */
  CCW_FORM_STRUCT,     /* a dictionary of just these; detail: ccw_struct_info */
  CCW_FORM_TYPE,       /* a type of the user's; detail: ccw_type_info */
} ccw_form;

/* The kind of an attribute. */
typedef struct ccw_kind {
  ccw_form form;
  int dtype;          /* XLA_FFI_DataType, of scalars, arrays and enums */
  const void *detail; /* as the form says */
} ccw_kind;

typedef struct ccw_enum_value {
  const char *name;
  int64_t value;
} ccw_enum_value;

typedef struct ccw_enum_info {
  const char *name;
  bool open; /* other values are accepted too */
  int64_t count;
  const ccw_enum_value *values;
} ccw_enum_info;

typedef struct ccw_member {
  const char *name;
  ccw_kind kind;
} ccw_member;

typedef struct ccw_struct_info {
  const char *name;
  int64_t count;
  const ccw_member *members;
} ccw_struct_info;

/* An attribute as it stands in the frame. */
typedef struct ccw_attribute {
  int type;          /* an XLA_FFI_AttrType, if the frame is sound */
  const void *value; /* XLA_FFI_Scalar, _Array, _ByteSpan or _Attrs, as the type says */
} ccw_attribute;

/* A type of the user's, decoded out of an attribute, a buffer or the frame: `check` decodes it and throws it away. */
typedef struct ccw_type_info {
  const char *name;
  ccw_status (*check)(const XLA_FFI_CallFrame *frame, ccw_attribute attribute, const XLA_FFI_Buffer *buffer);
} ccw_type_info;

/* What the runtime is asked for: X(NAME, name, the minor version that it needs). */
#define CCW_CONTEXTS(X)                \
  X(STREAM, stream, 1)                 \
  X(SCRATCH, scratch, 1)               \
  X(THREADS, threads, 1)               \
  X(RUN_ID, run_id, 1)                 \
  X(DEVICE_ORDINAL, device_ordinal, 1) \
  X(STATE, state, 2)                   \
  X(PREPARED, prepared, 3)             \
  X(INITIALIZED, initialized, 3)       \
  X(USER_DATA, user_data, 1)           \
  X(EXTENSION, extension, 4)           \
  X(CUSTOM_OPTIONS, custom_options, 5) \
  X(FRAME, frame, 1)                   \
  X(TYPE, type, 1)

#define CCW_CONTEXT_ENUM(NAME, name, minor) CCW_CONTEXT_##NAME,
typedef enum ccw_context { CCW_CONTEXTS(CCW_CONTEXT_ENUM) } ccw_context;
#undef CCW_CONTEXT_ENUM

/* One word of a binding. */
typedef struct ccw_parameter {
  ccw_word word;
  ccw_context context; /* of CTX */
  const char *name;    /* "" where there is none */
  ccw_kind kind;       /* of ATTR and ATTRS; of operands the dtype (0: any), and a user's type; of CTX the detail */
  int64_t rank;        /* of operands; -1: any */
} ccw_parameter;

/* Everything that a handler binds, in the order in which it was declared. */
typedef struct ccw_binding {
  const char *name;
  XLA_FFI_Handler *handler;
  XLA_FFI_ExecutionStage stage;
  int minor; /* of the FFI API that it needs */
  XLA_FFI_Handler_Traits traits;
  const XLA_FFI_TypeId *state; /* of the state that it makes; NULL */
  int64_t count;
  const ccw_parameter *parameters;
} ccw_binding;

#ifdef __cplusplus
}
#endif

#endif

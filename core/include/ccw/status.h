/* status.h: success, or a code and a text. Handlers return it, and so does the workbench library.
 *
 *   ccw_status f(int64_t n)
 *   {
 *     if (n < 0) return ccw_invalid("n: expected 0 or more, got %lld", (long long)n);
 *     CCW_TRY(g(n));
 *     return ccw_ok();
 *   }
 */
#ifndef CCW_STATUS_H
#define CCW_STATUS_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xla_ffi.h"

/* Where the text of a status lives. Whoever counts memory may define both before. */
#ifndef CCW_STATUS_ALLOCATE
#define CCW_STATUS_ALLOCATE(size) malloc(size)
#define CCW_STATUS_RELEASE(memory, size) free(memory)
#endif

#if defined(__GNUC__) || defined(__clang__)
#define CCW_MUST_USE __attribute__((warn_unused_result))
#define CCW_PRINTF(text, first) __attribute__((__format__(__printf__, text, first)))
#else
#define CCW_MUST_USE
#define CCW_PRINTF(text, first)
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- status ------------------------------------------------------------------------------------------------------- */

/* The text of a failure. It knows how to free itself, so that a status may cross from one library to another. */
typedef struct ccw_message {
  void (*release)(struct ccw_message *);
  size_t length;
  /* the text follows, ended by a NUL */
} ccw_message;

/* Success, or a code and a text. Memory is taken on failure only. Whoever holds a failure hands it on or frees it. */
typedef struct ccw_status {
  XLA_FFI_Error_Code code;
  ccw_message *message; /* NULL: no text; owned */
} ccw_status;

/* Success. */
static inline ccw_status ccw_ok(void)
{
  ccw_status status = {XLA_FFI_Error_Code_OK, NULL};
  return status;
}

static inline void ccw_message_release_(ccw_message *message)
{
  CCW_STATUS_RELEASE(message, sizeof *message + message->length + 1);
}

/* Room for a text of that length; NULL where there is none. */
static inline ccw_message *ccw_message_new_(size_t length)
{
  ccw_message *message = (ccw_message *)CCW_STATUS_ALLOCATE(sizeof(ccw_message) + length + 1);
  if (!message) return NULL;
  message->release = ccw_message_release_;
  message->length = length;
  ((char *)(message + 1))[length] = '\0';
  return message;
}

CCW_PRINTF(1, 2) static inline ccw_message *ccw_message_print_(const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  ccw_message *message = ccw_message_new_(length < 0 ? 0 : (size_t)length);
  if (!message || length < 0) return message;
  va_start(arguments, format);
  vsnprintf((char *)(message + 1), (size_t)length + 1, format, arguments);
  va_end(arguments);
  return message;
}

CCW_MUST_USE static inline ccw_status ccw_status_of_message_(XLA_FFI_Error_Code code, ccw_message *message)
{
  ccw_status status = {code, message};
  return status;
}

/* A failure with a text of `length` bytes, copied. Where there is no memory for it the code comes without a text. */
CCW_MUST_USE static inline ccw_status ccw_status_from_text(XLA_FFI_Error_Code code, const char *text, size_t length)
{
  ccw_message *message = ccw_message_new_(length);
  if (message && length > 0) memcpy(message + 1, text, length);
  return ccw_status_of_message_(code, message);
}

/* A failure with a text made as by printf; a macro, so that the compiler sees that the code is none of success. */
#define ccw_status_make(code, ...) ccw_status_of_message_(code, ccw_message_print_(__VA_ARGS__))

/* The same for each code: ccw_invalid("n: expected 0 or more, got %d", n). */
#define ccw_cancelled(...) ccw_status_make(XLA_FFI_Error_Code_CANCELLED, __VA_ARGS__)
#define ccw_unknown(...) ccw_status_make(XLA_FFI_Error_Code_UNKNOWN, __VA_ARGS__)
#define ccw_invalid(...) ccw_status_make(XLA_FFI_Error_Code_INVALID_ARGUMENT, __VA_ARGS__)
#define ccw_deadline_exceeded(...) ccw_status_make(XLA_FFI_Error_Code_DEADLINE_EXCEEDED, __VA_ARGS__)
#define ccw_not_found(...) ccw_status_make(XLA_FFI_Error_Code_NOT_FOUND, __VA_ARGS__)
#define ccw_already_exists(...) ccw_status_make(XLA_FFI_Error_Code_ALREADY_EXISTS, __VA_ARGS__)
#define ccw_permission_denied(...) ccw_status_make(XLA_FFI_Error_Code_PERMISSION_DENIED, __VA_ARGS__)
#define ccw_resource_exhausted(...) ccw_status_make(XLA_FFI_Error_Code_RESOURCE_EXHAUSTED, __VA_ARGS__)
#define ccw_failed_precondition(...) ccw_status_make(XLA_FFI_Error_Code_FAILED_PRECONDITION, __VA_ARGS__)
#define ccw_aborted(...) ccw_status_make(XLA_FFI_Error_Code_ABORTED, __VA_ARGS__)
#define ccw_out_of_range(...) ccw_status_make(XLA_FFI_Error_Code_OUT_OF_RANGE, __VA_ARGS__)
#define ccw_unimplemented(...) ccw_status_make(XLA_FFI_Error_Code_UNIMPLEMENTED, __VA_ARGS__)
#define ccw_internal(...) ccw_status_make(XLA_FFI_Error_Code_INTERNAL, __VA_ARGS__)
#define ccw_unavailable(...) ccw_status_make(XLA_FFI_Error_Code_UNAVAILABLE, __VA_ARGS__)
#define ccw_data_loss(...) ccw_status_make(XLA_FFI_Error_Code_DATA_LOSS, __VA_ARGS__)
#define ccw_unauthenticated(...) ccw_status_make(XLA_FFI_Error_Code_UNAUTHENTICATED, __VA_ARGS__)

/* The text of a status, borrowed from it; "" for success. */
static inline const char *ccw_status_text(ccw_status status)
{
  if (status.message) return (const char *)(status.message + 1);
  return status.code == XLA_FFI_Error_Code_OK ? "" : "(no memory was left for the message)";
}

/* Frees the text of a status; nothing to do for success. */
static inline void ccw_status_free(ccw_status status)
{
  if (status.message) status.message->release(status.message);
}

/* The name of a code as absl spells it, "INVALID_ARGUMENT"; NULL for a number that is none. */
static inline const char *ccw_code_name(XLA_FFI_Error_Code code)
{
  switch ((int)code) {
  case XLA_FFI_Error_Code_OK: return "OK";
#define CCW_CODE_NAME(NAME, number) \
  case number: return #NAME;
    CCW_CODES(CCW_CODE_NAME)
#undef CCW_CODE_NAME
  default: return NULL;
  }
}

/* Returns from the calling function where `expression`, a ccw_status, is a failure. */
#define CCW_TRY(expression)                           \
  do {                                                \
    ccw_status ccw_try_status_ = (expression);        \
    if (ccw_try_status_.code) return ccw_try_status_; \
  } while (0)

/* Declares a variable and has a function fill it in, as the last of its arguments, or returns where that fails:
 * CCW_TRY_LET(float, eps, find_eps, table) is float eps; CCW_TRY(find_eps(table, &eps)). */
#define CCW_TRY_LET(type, variable, function, ...) \
  type variable;                                   \
  CCW_TRY(function(__VA_ARGS__, &variable))

#ifdef __cplusplus
}
#endif

#endif

/* error.h: the error objects that pass the ABI. Every live one is on record, so that a pointer that a broken handler
 * returns is recognised before it is followed. */
#ifndef CCW_RUNTIME_ERROR_H
#define CCW_RUNTIME_ERROR_H

#include <ccw/ccw.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes an error; the message, NULL for none, is copied and `prefix` put in front. Never NULL: when memory has run out it
 * is one that says so. */
XLA_FFI_Error *ccw_error_new(XLA_FFI_Error_Code code, const char *prefix, const char *message);

/* Makes an error of a failure, which is consumed. NULL for success. */
XLA_FFI_Error *ccw_error_of_status(ccw_status status);

/* True for an error that was made here and is not destroyed yet. */
bool ccw_error_is_live(const XLA_FFI_Error *error);

XLA_FFI_Error_Code ccw_error_code(const XLA_FFI_Error *error);
const char *ccw_error_message(const XLA_FFI_Error *error);

/* Destroys a live error; others, and NULL, are left alone. */
void ccw_error_destroy(XLA_FFI_Error *error);

/* The same code and text as a status. A code that is none becomes UNKNOWN. */
CCW_MUST_USE ccw_status ccw_error_status(const XLA_FFI_Error *error);

/* Makes a status of what a handler returned, and destroys it. NULL and an error with code OK are success. A pointer
 * that is no error becomes INTERNAL. */
CCW_MUST_USE ccw_status ccw_status_of_error(XLA_FFI_Error *error);

#ifdef __cplusplus
}
#endif

#endif

/* carried.h: signatures that a library carries as data. handler.h puts ccw_signature_NAME beside each handler, and ccw_kind_T
 * beside each enum and struct that they name, with ccw_values_T for the numbers of an enum; all are read here, and none is
 * trusted. */
#ifndef CCW_RUNTIME_CARRIED_H
#define CCW_RUNTIME_CARRIED_H

#include <ccw/ccw.h>

/* Finds the text in the data symbol of that name: NULL where there is no such symbol. It stays as long as the library. */
typedef ccw_status ccw_carried_finder(void *context, const char *symbol, const char **out_text);

/* Reads the signature that is carried for the handler of that name; NULL where none is.
 * INVALID_ARGUMENT: there is one, and it is damaged; the message names the symbol. Errors of `find`. */
CCW_MUST_USE ccw_status ccw_carried_read(
    ccw_carried_finder *find, void *context, const char *name, ccw_signature **out_signature);

/* The same for a function in this process, from the library that holds it. It may be called otherwise than the handler. */
CCW_MUST_USE ccw_status ccw_carried_by(XLA_FFI_Handler *function, const char *name, ccw_signature **out_signature);

/* Success where the bytes of a symbol are a text: one NUL, at the end. INVALID_ARGUMENT. */
CCW_MUST_USE ccw_status ccw_carried_check(const char *symbol, const char *bytes, size_t size);

#endif

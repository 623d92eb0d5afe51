/* library.h: what a library does while it is loaded. */
#ifndef CCW_RUNTIME_LIBRARY_H
#define CCW_RUNTIME_LIBRARY_H

#include <ccw/ccw.h>

/* Registers a handler on behalf of a library that asked the function table to. What the library that is being loaded in
 * this thread registers, or fails to, it keeps in mind. Errors of ccw_handler_new and ccw_registry_add. */
CCW_MUST_USE ccw_status ccw_library_register(const XLA_FFI_ByteSpan *name, const XLA_FFI_ByteSpan *platform,
    const XLA_FFI_Handler_Bundle *bundle, XLA_FFI_Handler_Traits traits);

/* Adds where a function lies, see ccw_handler_place. `library` is NULL for none. */
void ccw_library_place_of(const ccw_library *library, XLA_FFI_Handler *function, const char *name, ccw_text *out_place);

/* The signature of a function, with a reference; see ccw_handler_find_signature. `library` is NULL for none. */
CCW_MUST_USE ccw_status ccw_library_signature_of(
    ccw_library *library, XLA_FFI_Handler *function, const char *name, ccw_signature **out_signature);

#endif

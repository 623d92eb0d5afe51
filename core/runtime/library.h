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

/* Adds what to do about a type that is not registered, and which types the library has: "; register it, ...". */
void ccw_library_add_type_candidates(const ccw_library *library, ccw_text *text);

/* Success where the types that the signature names are registered, as far as their variables are in the library.
 * FAILED_PRECONDITION: one is not; the message says which, and what to do. */
CCW_MUST_USE ccw_status ccw_library_check_types(const ccw_library *library, const ccw_signature *signature);

/* Adds what the type is called whose id is in that variable of some library; nothing where that is not known. */
void ccw_library_add_type_name(const XLA_FFI_TypeId *variable, ccw_text *text);

#endif

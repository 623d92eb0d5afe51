/* library.h: what a library does while it is loaded. */
#ifndef CCW_RUNTIME_LIBRARY_H
#define CCW_RUNTIME_LIBRARY_H

#include <ccw/ccw.h>

/* Registers a handler on behalf of a library that asked the function table to. What the library that is being loaded in
 * this thread registers, or fails to, it keeps in mind. Errors of ccw_handler_new and ccw_registry_add. */
CCW_MUST_USE ccw_status ccw_library_register(const XLA_FFI_ByteSpan *name, const XLA_FFI_ByteSpan *platform,
    const XLA_FFI_Handler_Bundle *bundle, XLA_FFI_Handler_Traits traits);

#endif

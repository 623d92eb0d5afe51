/* library.h: what a library does while it is loaded. */
#ifndef CCW_RUNTIME_LIBRARY_H
#define CCW_RUNTIME_LIBRARY_H

#include <ccw/ccw.h>

/* The function of a stage, NULL for none. */
static inline XLA_FFI_Handler *ccw_bundle_function(const XLA_FFI_Handler_Bundle *bundle, XLA_FFI_ExecutionStage stage)
{
  switch (stage) {
#define FUNCTION(NAME, stage, number) \
  case XLA_FFI_ExecutionStage_##NAME: return bundle->stage;
    CCW_STAGES(FUNCTION)
#undef FUNCTION
  default: return NULL;
  }
}

/* Registers a handler on behalf of a library that asked the function table to. What the library that is being loaded in
 * this thread registers, or fails to, it keeps in mind. Errors of ccw_handler_new and ccw_registry_add. */
CCW_MUST_USE ccw_status ccw_library_register(const XLA_FFI_ByteSpan *name, const XLA_FFI_ByteSpan *platform,
    const XLA_FFI_Handler_Bundle *bundle, XLA_FFI_Handler_Traits traits);

/* Registers a type on behalf of a library that asked the function table to. One that is being loaded in this thread and comes
 * with a name that is taken gets another, with the name of its file in front: the official binding aborts where it is refused, and
 * a library that is loaded anew brings its names along. Errors of ccw_state_type_register. */
CCW_MUST_USE ccw_status ccw_library_register_own_type(
    const XLA_FFI_ByteSpan *name, XLA_FFI_TypeId *type_id, const XLA_FFI_TypeInfo *info);

/* Adds where a function lies, see ccw_handler_place. `library` is NULL for none. */
void ccw_library_place_of(const ccw_library *library, XLA_FFI_Handler *function, const char *name, ccw_text *out_place);

/* The signature of a function, with a reference; see ccw_handler_find_signature. `library` is NULL for none. */
CCW_MUST_USE ccw_status ccw_library_signature_of(
    ccw_library *library, XLA_FFI_Handler *function, const char *name, ccw_signature **out_signature);

/* Whether asking a function has shown that it binds a type which was not registered. */
bool ccw_library_lacks_type(ccw_library *library, XLA_FFI_Handler *function, const char *name);

/* Adds what to do about a type that is not registered, and which types the library has: "; register it, ...". */
void ccw_library_add_type_candidates(const ccw_library *library, ccw_text *text);

/* Success where the types that the signature names are registered, as far as their variables are in the library.
 * FAILED_PRECONDITION: one is not; the message says which, and what to do. */
CCW_MUST_USE ccw_status ccw_library_check_types(const ccw_library *library, const ccw_signature *signature);

/* Adds what the type is called whose id is in that variable of some library; nothing where that is not known. */
void ccw_library_add_type_name(const XLA_FFI_TypeId *variable, ccw_text *text);

#endif

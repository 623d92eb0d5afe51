/* python.h: handlers out of Python extension modules. libpython is found and opened when the first one is loaded. */
#ifndef CCW_RUNTIME_PYTHON_H
#define CCW_RUNTIME_PYTHON_H

#include <ccw/ccw.h>

/* An imported module and the handlers in it. */
typedef struct ccw_python ccw_python;

/* See ccw_library_open_python. */
CCW_MUST_USE ccw_status ccw_python_import(
    const char *module, const char *const *path, size_t path_size, const char *last, ccw_python **out_module);

/* Registers the types of state and user data that the module has in its dictionaries, each under its name there or, where that
 * is another type's, with the module's file in front. Errors of ccw_state_type_register. */
CCW_MUST_USE ccw_status ccw_python_register_types(const ccw_python *module);

/* Forgets the handlers; the module itself stays imported, as Python modules do. NULL is fine. */
void ccw_python_free(ccw_python *module);

/* The module's file. Borrowed. */
const char *ccw_python_file(const ccw_python *module);

/* The functions under a name. A name that was not collected is looked up in the module, and called when it is a function.
 * INVALID_ARGUMENT: it is there, and no handler; the message says why. */
CCW_MUST_USE ccw_status ccw_python_bundle(
    ccw_python *module, const char *name, XLA_FFI_Handler_Bundle *out_bundle, bool *out_found);

void ccw_python_visit(const ccw_python *module, ccw_name_visitor *visit, void *context);

#endif

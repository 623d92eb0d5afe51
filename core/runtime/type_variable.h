/* type_variable.h: the variables in which a library keeps the ids of its types of state and user data: ccw_type_id_Counter of
 * handler.h, Counter::id in C++. The official binding gives the runtime their addresses. */
#ifndef CCW_RUNTIME_TYPE_VARIABLE_H
#define CCW_RUNTIME_TYPE_VARIABLE_H

#include <ccw/ccw.h>

typedef struct ccw_type_variable {
  struct ccw_type_variable *next;
  size_t size;                  /* of this block */
  const char *type;             /* "Counter", "mine::Counter" */
  const char *symbol;           /* as the linker knows it */
  XLA_FFI_TypeId *id;           /* the variable */
  const XLA_FFI_TypeInfo *info; /* that stands beside it, NULL where none does */
  bool is_ours;                 /* of handler.h, which says what it is for */
} ccw_type_variable;

/* Reads the file of a library that is loaded at `base`, with a handle of the dynamic linker's, and lists the variables that may be
 * ids of types, sorted by type. RESOURCE_EXHAUSTED; nothing is listed of a file that cannot be read. */
CCW_MUST_USE ccw_status ccw_type_variables_read(
    const char *path, void *handle, uintptr_t base, ccw_type_variable **out_variables);

void ccw_type_variables_free(ccw_type_variable *variables);

/* The one of that type; NULL where there is none. */
ccw_type_variable *ccw_type_variable_find(ccw_type_variable *variables, const char *type);

/* Whether that is the symbol of what stands beside the id: ccw_type_info_Counter, Counter::info. */
bool ccw_type_variable_has_info(const ccw_type_variable *variable, const char *symbol);

/* Registers the type of a variable in the library of that path: under its own name or, where another type has that, with the
 * name of the file in front. Errors of ccw_state_type_register. */
CCW_MUST_USE ccw_status ccw_type_variable_register(const char *path, ccw_type_variable *variable);

/* Adds what to do about types that are not registered, and which they are: "; register it, ...". */
void ccw_type_variables_say_unregistered(const ccw_type_variable *variables, ccw_text *text);

/* Success where the types that the signature names are registered, as far as they have variables here. FAILED_PRECONDITION. */
CCW_MUST_USE ccw_status ccw_type_variables_check(const ccw_type_variable *variables, const ccw_signature *signature);

/* See ccw_library_invent_types. */
void ccw_type_variables_invent(ccw_type_variable *variables);

#endif

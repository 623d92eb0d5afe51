/* symbols.h: the symbols that a shared library exports, read from its file without loading it. */
#ifndef CCW_RUNTIME_SYMBOLS_H
#define CCW_RUNTIME_SYMBOLS_H

#include <ccw/ccw.h>

/* Visits the exported functions that could be handlers: not those of C++ (mangled) nor of the compiler (two underscores).
 * NOT_FOUND: no such file. INVALID_ARGUMENT: not a shared library for this machine. */
CCW_MUST_USE ccw_status ccw_symbols_visit(const char *path, ccw_name_visitor *visit, void *context);

/* The same with the signatures that the library carries for them, see ccw_library_file_signatures. */
CCW_MUST_USE ccw_status ccw_symbols_visit_signatures(const char *path, ccw_signature_visitor *visit, void *context);

/* A variable in a library. */
typedef struct ccw_data_symbol {
  const char *name;
  uint64_t address; /* before the library is moved to where it is loaded */
  uint64_t size;
  bool
      is_unique; /* one for all libraries of a process that have it, as of templates: the first that was loaded has it */
} ccw_data_symbol;

/* A callback for a variable. Returns false to stop. */
typedef bool ccw_data_visitor(void *context, const ccw_data_symbol *symbol);

/* Visits the variables that can be written, or are when the library is loaded: the exported ones and, where the file is not
 * stripped, the others too; some twice. Errors of ccw_symbols_visit. */
CCW_MUST_USE ccw_status ccw_symbols_visit_data(const char *path, ccw_data_visitor *visit, void *context);

#endif

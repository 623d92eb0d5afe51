/* foreign.h: the call of foreign code. */
#ifndef CCW_RUNTIME_FOREIGN_H
#define CCW_RUNTIME_FOREIGN_H

#include <ccw/ccw.h>

/* Calls a function of the handler of that name in order to do something, "execute" or "metadata"; ccw_call_running tells
 * both meanwhile. A C++ exception out of it becomes an error, UNKNOWN with its text, as in XLA; without a C++ compiler at
 * build time it ends the process. */
XLA_FFI_Error *ccw_foreign_call(
    XLA_FFI_Handler *function, XLA_FFI_CallFrame *frame, const char *name, const char *doing);

/* Runs a task of the handler of that name, or a deleter of its state; ccw_call_running tells meanwhile. */
void ccw_foreign_task(XLA_FFI_Task *task, void *data, const char *name, const char *doing);

/* Copies a little memory that may not be there. False where it is not. */
bool ccw_read_memory(const void *from, void *to, size_t size);

/* What C++ calls a symbol, "Counter::id", to be freed with free. NULL where it is none of C++, or without a C++ compiler at build
 * time. */
char *ccw_demangle(const char *symbol);

/* Whether the address lies in memory that may be executed. */
bool ccw_is_code(void *address);

#endif

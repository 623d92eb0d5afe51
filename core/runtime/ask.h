/* ask.h: asks a function of the official C++ binding what it binds.
 *
 * Such a function checks its frame before its body runs, and says what it expected. It is called with frames that it cannot
 * take: at least one operand always stays bad, so that the body cannot run. One that binds nothing which can be bad is run
 * once, without operands. A function of another sort is called once with an empty frame of a wrong size, and then left
 * alone. All the same it may crash or hang, and this process with it.
 */
#ifndef CCW_RUNTIME_ASK_H
#define CCW_RUNTIME_ASK_H

#include <ccw/ccw.h>

/* Adds the text of the signature, with the handler's name in front. '?' is what could not be told.
 * FAILED_PRECONDITION: it is no function of that binding. RESOURCE_EXHAUSTED. */
CCW_MUST_USE ccw_status ccw_ask(const char *name, XLA_FFI_Handler *function, ccw_text *out_text);

#endif

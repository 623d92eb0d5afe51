/* handler.h: what else belongs to a handler. */
#ifndef CCW_RUNTIME_HANDLER_H
#define CCW_RUNTIME_HANDLER_H

#include <ccw/ccw.h>

/* release(context) is called when the handler ends. */
void ccw_handler_end_with(ccw_handler *handler, void (*release)(void *context), void *context);

/* Whether its execute function is made of a function with a context: ccw_handler_of_function. */
bool ccw_handler_is_of_function(const ccw_handler *handler);

/* What the function of a stage is called: in a handler made of others each has its own name. Borrowed. */
const char *ccw_handler_name_of(const ccw_handler *handler, XLA_FFI_ExecutionStage stage);

/* The minor version of the FFI API 0.x for which the function of a stage was built. */
int ccw_handler_minor(const ccw_handler *handler, XLA_FFI_ExecutionStage stage);

/* Success where the types of state and user data are registered that its functions bind, as far as is known what they bind. The
 * official binding asserts it, and ends the process. FAILED_PRECONDITION, which begins with the name. */
CCW_MUST_USE ccw_status ccw_handler_check_types(ccw_handler *handler, const char *name);

#endif

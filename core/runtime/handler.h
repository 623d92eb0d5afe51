/* handler.h: what else belongs to a handler. */
#ifndef CCW_RUNTIME_HANDLER_H
#define CCW_RUNTIME_HANDLER_H

#include <ccw/ccw.h>

/* release(context) is called when the handler ends. */
void ccw_handler_end_with(ccw_handler *handler, void (*release)(void *context), void *context);

#endif

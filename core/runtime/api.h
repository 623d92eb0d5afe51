/* api.h: the function table of this runtime. */
#ifndef CCW_RUNTIME_API_H
#define CCW_RUNTIME_API_H

#include <ccw/ccw.h>

/* The table; it is the one that XLA_FFI_GetApi() gives to libraries that register themselves. */
const XLA_FFI_Api *ccw_api(void);

#endif

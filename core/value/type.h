/* type.h: what other readers than that of types need to read a dtype. */
#ifndef CCW_VALUE_TYPE_H
#define CCW_VALUE_TYPE_H

#include "base/reader.h"

/* What XLA calls a dtype of numpy, C or MLIR; NULL for other words. */
const char *ccw_dtype_meant(const char *name, size_t length);

/* The failure of a word, read at that place, that is no dtype. */
CCW_MUST_USE ccw_status ccw_dtype_refuse(const ccw_reader *reader, size_t at, XLA_FFI_ByteSpan word);

#endif

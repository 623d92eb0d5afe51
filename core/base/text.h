/* text.h: what messages are made of, beyond the ccw_text of ccw.h. */
#ifndef CCW_BASE_TEXT_H
#define CCW_BASE_TEXT_H

#include <ccw/ccw.h>

/* Adds bytes as part of a sentence: control bytes and bytes that are not UTF-8 as \xHH, everything else as it is. */
void ccw_text_add_escaped(ccw_text *text, const char *bytes, size_t length);

/* Adds two lines: the source, and a caret below the byte at `offset`. Long sources are cut around it. */
void ccw_text_add_caret(ccw_text *text, const char *source, size_t length, size_t offset);

/* The order of two strings of bytes, as by memcmp; a shorter one comes first. */
int ccw_compare_bytes(const char *a, size_t a_length, const char *b, size_t b_length);

/* The part of a path behind the last slash. Borrowed from it. */
const char *ccw_base_name(const char *path);

/* Makes a failure of a text, which is freed. */
CCW_MUST_USE ccw_status ccw_status_of_text(XLA_FFI_Error_Code code, ccw_text *text);

/* Puts "CONTEXT: " in front of the text of a failure. */
CCW_MUST_USE ccw_status ccw_status_in(ccw_status status, const char *context);

/* Two failures as one: the code of the first, the text of the second in a line behind it. Consumes both; either may be success. */
CCW_MUST_USE ccw_status ccw_status_join(ccw_status first, ccw_status second);

/* The status of an allocation that failed. */
#define ccw_no_memory(size) ccw_resource_exhausted("no memory for %zu bytes", (size_t)(size))

#endif

/* reader.h: a text that is read from its beginning on, and failures that show where it is wrong. */
#ifndef CCW_BASE_READER_H
#define CCW_BASE_READER_H

#include <ccw/ccw.h>

typedef struct ccw_reader {
  const char *what; /* begins every message: "type" */
  const char *text;
  size_t length;
  size_t at;
} ccw_reader;

/* What names are made of: letters and '_', then digits too. */
bool ccw_is_letter(char c);
bool ccw_is_digit(char c);
bool ccw_is_name(const char *bytes, size_t length);

/* The value of a digit, also of a hexadecimal one; -1 for any other byte. */
int ccw_hex_digit(char c);

/* Whether a word is that one. */
bool ccw_word_is(XLA_FFI_ByteSpan word, const char *text);

/* The next byte that is no space; NUL at the end, and for a NUL, which nothing accepts. */
char ccw_reader_peek(ccw_reader *reader);

/* Takes that token, if it is what comes next. */
bool ccw_reader_accept(ccw_reader *reader, const char *token);

/* Takes letters and digits, as many as come next. */
XLA_FFI_ByteSpan ccw_reader_word(ccw_reader *reader);

/* Takes a size, 0 to 2^63 - 1. */
CCW_MUST_USE ccw_status ccw_reader_size(ccw_reader *reader, int64_t *out_size);

/* "expected WHAT, got 'x'", and the place. */
CCW_MUST_USE ccw_status ccw_reader_unexpected(ccw_reader *reader, const char *what);

/* A failure of what was read at that place, and the place. Consumes the status. */
CCW_MUST_USE ccw_status ccw_reader_refuse(const ccw_reader *reader, size_t at, ccw_status why);

/* The same, with a text as by printf. */
#define ccw_reader_invalid(reader, at, ...) ccw_reader_refuse(reader, at, ccw_invalid(__VA_ARGS__))

#endif

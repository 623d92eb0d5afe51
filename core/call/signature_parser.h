/* signature_parser.h: a signature while it is read: words, names, lists, and the kinds of attributes. */
#ifndef CCW_CALL_SIGNATURE_PARSER_H
#define CCW_CALL_SIGNATURE_PARSER_H

#include "base/reader.h"
#include "call/signature.h"

typedef struct ccw_parser {
  ccw_reader in;
  ccw_arena arena; /* of the signature to be */
  ccw_kind_finder *find;
  void *find_context;
  int found; /* kinds, by name */

  const char *name;
  ccw_parameter *parameters;
  const ccw_signature_pattern **patterns;
  int64_t count;
  ccw_signature_capture **captures;
  int64_t capture_count;
} ccw_parser;

/* Takes a token, if it is what comes next; fails where it is not. */
bool ccw_parser_accept(ccw_parser *parser, const char *token);
CCW_MUST_USE ccw_status ccw_parser_expect(ccw_parser *parser, const char *token, const char *what);

/* The failures of ccw_reader_unexpected, and of a name that is there twice: "attribute 'a' is there twice". */
CCW_MUST_USE ccw_status ccw_parser_unexpected(ccw_parser *parser, const char *what);
CCW_MUST_USE ccw_status ccw_parser_twice(ccw_parser *parser, size_t at, const char *noun, const char *name);

/* Whether a list, whose first item is still to come, goes on or ends. A comma may stand before the end too. */
CCW_MUST_USE ccw_status ccw_parser_comma(
    ccw_parser *parser, bool is_first, const char *close, const char *what, bool *out_more);

/* Memory of the signature: some bytes; an array of `count` items with room for another; a copy of a word. Of the first two
 * the output is the address of a pointer. */
CCW_MUST_USE ccw_status ccw_parser_take(ccw_parser *parser, size_t size, void *out_memory);
CCW_MUST_USE ccw_status ccw_parser_grow(
    ccw_parser *parser, void *array, int64_t count, size_t size, const char *what, void *out_array);
CCW_MUST_USE ccw_status ccw_parser_copy(ccw_parser *parser, XLA_FFI_ByteSpan word, const char **out_name);

/* Reads a name: an identifier, or a quoted one; a quoted one alone, as ccw_text_add_quoted writes it. */
CCW_MUST_USE ccw_status ccw_parser_name(ccw_parser *parser, const char *what, const char **out_name);
CCW_MUST_USE ccw_status ccw_parser_quoted(ccw_parser *parser, const char **out_name);

/* Reads the kind of an attribute. `depth` counts the kinds around it; `name` is what it is called, "" where it stands in the
 * signature itself. */
CCW_MUST_USE ccw_status ccw_parser_kind(ccw_parser *parser, int depth, const char *name, ccw_kind *out_kind);

/* The kind of a word that has been read: known by its name, or somebody's own. */
CCW_MUST_USE ccw_status ccw_parser_named(ccw_parser *parser, int depth, XLA_FFI_ByteSpan word, ccw_kind *out_kind);

#endif

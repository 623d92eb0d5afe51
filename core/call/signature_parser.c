#include "call/signature_parser.h"

#include <string.h>

#include "base/text.h"

/* Parameters, members of a struct, values of an enum, captures: each is looked up among its like. */
enum { MOST = 4096 };

static ccw_status no_memory(void) { return ccw_resource_exhausted("no memory for a signature"); }

bool ccw_parser_accept(ccw_parser *p, const char *token) { return ccw_reader_accept(&p->in, token); }

ccw_status ccw_parser_unexpected(ccw_parser *p, const char *what) { return ccw_reader_unexpected(&p->in, what); }

ccw_status ccw_parser_expect(ccw_parser *p, const char *token, const char *what)
{
  return ccw_parser_accept(p, token) ? ccw_ok() : ccw_parser_unexpected(p, what);
}

ccw_status ccw_parser_comma(ccw_parser *p, bool is_first, const char *close, const char *what, bool *out_more)
{
  *out_more = false;
  if (ccw_parser_accept(p, close)) return ccw_ok();
  if (!is_first) {
    CCW_TRY(ccw_parser_expect(p, ",", what));
    if (ccw_parser_accept(p, close)) return ccw_ok();
  }
  *out_more = true;
  return ccw_ok();
}

ccw_status ccw_parser_grow(ccw_parser *p, void *array, int64_t count, size_t size, const char *what, void *out_array)
{
  if (count == MOST) return ccw_reader_invalid(&p->in, p->in.at, "more than %d %s", MOST, what);
  void *grown = ccw_arena_grow(&p->arena, array, count, size);
  if (!grown) return no_memory();
  memcpy(out_array, &grown, sizeof grown);
  return ccw_ok();
}

ccw_status ccw_parser_take(ccw_parser *p, size_t size, void *out_memory)
{
  void *memory = ccw_arena_take(&p->arena, size);
  if (!memory) return no_memory();
  memcpy(out_memory, &memory, sizeof memory);
  return ccw_ok();
}

ccw_status ccw_parser_copy(ccw_parser *p, XLA_FFI_ByteSpan word, const char **out_name)
{
  *out_name = ccw_arena_copy(&p->arena, word.ptr, word.len);
  return *out_name ? ccw_ok() : no_memory();
}

/* What follows a backslash. */
static ccw_status read_escape(ccw_parser *p, char *out_byte)
{
  const char *at = p->in.text + p->in.at;
  size_t left = p->in.length - p->in.at;
  char c = left > 0 ? at[0] : '\0';
  int high = left > 2 ? ccw_hex_digit(at[1]) : -1, low = left > 2 ? ccw_hex_digit(at[2]) : -1;
  if (c == 'x' && high >= 0 && low >= 0) {
    p->in.at += 3;
    *out_byte = (char)(16 * high + low);
  } else if (c == 'n' || c == '"' || c == '\\') {
    p->in.at += 1;
    *out_byte = c == 'n' ? '\n' : c;
  } else {
    return ccw_reader_invalid(&p->in, p->in.at, "expected \\n, \\\", \\\\ or \\xHH");
  }
  if (*out_byte == '\0') return ccw_reader_invalid(&p->in, p->in.at - 1, "a name cannot hold a NUL");
  return ccw_ok();
}

ccw_status ccw_parser_twice(ccw_parser *p, size_t at, const char *noun, const char *name)
{
  ccw_text text = {0};
  ccw_text_add(&text, "%s '", noun);
  ccw_text_add_escaped(&text, name, strlen(name));
  ccw_text_add(&text, "' is there twice");
  return ccw_reader_refuse(&p->in, at, ccw_status_of_text(XLA_FFI_Error_Code_INVALID_ARGUMENT, &text));
}

ccw_status ccw_parser_quoted(ccw_parser *p, const char **out_name)
{
  ccw_reader *in = &p->in;
  size_t start = in->at++, end = in->at, length = 0;
  while (end < in->length && in->text[end] != '"') end += in->text[end] == '\\' ? 2 : 1;
  char *name;
  CCW_TRY(ccw_parser_take(p, end - start, &name));
  while (in->at < in->length && in->text[in->at] != '"') {
    char c = in->text[in->at++];
    if ((unsigned char)c < 0x20 || c == 0x7F)
      return ccw_reader_invalid(in, in->at - 1, "a control byte in a name: it is written as \\xHH");
    if (c == '\\') CCW_TRY(read_escape(p, &c));
    name[length++] = c;
  }
  if (in->at == in->length) return ccw_parser_unexpected(p, "the '\"' that ends a name");
  ++in->at;
  if (length == 0) return ccw_reader_invalid(in, start, "a name of no bytes");
  name[length] = '\0';
  *out_name = name;
  return ccw_ok();
}

ccw_status ccw_parser_name(ccw_parser *p, const char *what, const char **out_name)
{
  char c = ccw_reader_peek(&p->in);
  if (c == '"') return ccw_parser_quoted(p, out_name);
  return ccw_is_letter(c) ? ccw_parser_copy(p, ccw_reader_word(&p->in), out_name) : ccw_parser_unexpected(p, what);
}

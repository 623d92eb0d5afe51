#include "base/reader.h"

#include <string.h>

#include "base/checked.h"
#include "base/text.h"

bool ccw_is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

bool ccw_is_digit(char c) { return c >= '0' && c <= '9'; }

bool ccw_is_name(const char *bytes, size_t length)
{
  if (length == 0 || ccw_is_digit(bytes[0])) return false;
  for (size_t i = 0; i < length; ++i)
    if (!ccw_is_letter(bytes[i]) && !ccw_is_digit(bytes[i])) return false;
  return true;
}

int ccw_hex_digit(char c)
{
  if (ccw_is_digit(c)) return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool ccw_word_is(XLA_FFI_ByteSpan word, const char *text)
{
  return word.len == strlen(text) && memcmp(word.ptr, text, word.len) == 0;
}

char ccw_reader_peek(ccw_reader *r)
{
  while (r->at < r->length && (r->text[r->at] == ' ' || r->text[r->at] == '\t' || r->text[r->at] == '\n')) ++r->at;
  return r->at < r->length ? r->text[r->at] : '\0';
}

bool ccw_reader_accept(ccw_reader *r, const char *token)
{
  size_t length = strlen(token);
  ccw_reader_peek(r);
  if (r->length - r->at < length || memcmp(r->text + r->at, token, length) != 0) return false;
  r->at += length;
  return true;
}

XLA_FFI_ByteSpan ccw_reader_word(ccw_reader *r)
{
  ccw_reader_peek(r);
  size_t start = r->at;
  while (r->at < r->length && (ccw_is_letter(r->text[r->at]) || ccw_is_digit(r->text[r->at]))) ++r->at;
  return (XLA_FFI_ByteSpan){r->text + start, r->at - start};
}

ccw_status ccw_reader_size(ccw_reader *r, int64_t *out_size)
{
  if (!ccw_is_digit(ccw_reader_peek(r))) return ccw_reader_unexpected(r, "a size");
  size_t start = r->at;
  int64_t size = 0;
  for (; r->at < r->length && ccw_is_digit(r->text[r->at]); ++r->at)
    if (!ccw_mul_i64(size, 10, &size) || !ccw_add_i64(size, r->text[r->at] - '0', &size))
      return ccw_reader_refuse(r, start, ccw_out_of_range("a size of 2^63 or more"));
  *out_size = size;
  return ccw_ok();
}

ccw_status ccw_reader_unexpected(ccw_reader *r, const char *what)
{
  ccw_text text = {0};
  ccw_text_add(&text, "%s: expected %s, got ", r->what, what);
  ccw_reader_peek(r);
  if (r->at < r->length) {
    ccw_text_add(&text, "'");
    ccw_text_add_escaped(&text, r->text + r->at, 1);
    ccw_text_add(&text, "'");
  } else {
    ccw_text_add(&text, "the end");
  }
  ccw_text_add_caret(&text, r->text, r->length, r->at);
  return ccw_status_of_text(XLA_FFI_Error_Code_INVALID_ARGUMENT, &text);
}

ccw_status ccw_reader_refuse(const ccw_reader *r, size_t at, ccw_status why)
{
  ccw_text text = {0};
  ccw_text_add(&text, "%s: %s", r->what, ccw_status_text(why));
  ccw_text_add_caret(&text, r->text, r->length, at);
  ccw_status_free(why);
  return ccw_status_of_text(why.code, &text);
}

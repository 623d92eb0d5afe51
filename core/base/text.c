#include "base/text.h"

#include <string.h>

static bool text_reserve(ccw_text *text, size_t more)
{
  if (text->failed) return false;
  size_t needed = text->length + more + 1;
  if (needed <= text->capacity) return true;
  size_t capacity = text->capacity ? text->capacity : 64;
  while (capacity < needed) capacity *= 2;
  char *data = (char *)ccw_reallocate(text->data, text->capacity, capacity);
  if (!data) {
    text->failed = true;
    return false;
  }
  text->data = data;
  text->capacity = capacity;
  return true;
}

void ccw_text_add_bytes(ccw_text *text, const char *bytes, size_t length)
{
  if (!text_reserve(text, length)) return;
  if (length > 0) memcpy(text->data + text->length, bytes, length);
  text->length += length;
  text->data[text->length] = '\0';
}

void ccw_text_add(ccw_text *text, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  if (length < 0 || !text_reserve(text, (size_t)length)) return;
  va_start(arguments, format);
  vsnprintf(text->data + text->length, (size_t)length + 1, format, arguments);
  va_end(arguments);
  text->length += (size_t)length;
}

/* Bytes of the well-formed UTF-8 character at `bytes`, 0 where there is none. */
static size_t utf8_length(const unsigned char *bytes, size_t length)
{
  static const struct {
    unsigned char first, last, second_low, second_high, length;
  } forms[] = {
      /* Unicode 15, table 3-7 */
      {0x00, 0x7F, 0, 0, 1},
      {0xC2, 0xDF, 0x80, 0xBF, 2},
      {0xE0, 0xE0, 0xA0, 0xBF, 3},
      {0xE1, 0xEC, 0x80, 0xBF, 3},
      {0xED, 0xED, 0x80, 0x9F, 3},
      {0xEE, 0xEF, 0x80, 0xBF, 3},
      {0xF0, 0xF0, 0x90, 0xBF, 4},
      {0xF1, 0xF3, 0x80, 0xBF, 4},
      {0xF4, 0xF4, 0x80, 0x8F, 4},
  };
  for (size_t f = 0; f < sizeof forms / sizeof *forms; ++f) {
    if (bytes[0] < forms[f].first || bytes[0] > forms[f].last) continue;
    if (forms[f].length > length) return 0;
    for (size_t i = 1; i < forms[f].length; ++i) {
      unsigned char low = i == 1 ? forms[f].second_low : 0x80, high = i == 1 ? forms[f].second_high : 0xBF;
      if (bytes[i] < low || bytes[i] > high) return 0;
    }
    return forms[f].length;
  }
  return 0;
}

/* Adds a character or, where it would do harm to a terminal (controls, and U+0080 to U+009F, which are controls too) or is
 * no UTF-8, its bytes in hex; returns how many bytes it took. */
static size_t add_character(ccw_text *text, const char *bytes, size_t length, bool quoted)
{
  unsigned char first = (unsigned char)bytes[0];
  size_t taken = utf8_length((const unsigned char *)bytes, length);
  if (quoted && (first == '"' || first == '\\'))
    ccw_text_add(text, "\\%c", first);
  else if (quoted && first == '\n')
    ccw_text_add(text, "\\n");
  else if (taken == 0 || first < 0x20 || first == 0x7F)
    ccw_text_add(text, "\\x%02X", first);
  else if (first == 0xC2 && (unsigned char)bytes[1] < 0xA0)
    ccw_text_add(text, "\\x%02X\\x%02X", first, (unsigned char)bytes[1]);
  else
    ccw_text_add_bytes(text, bytes, taken);
  return taken ? taken : 1;
}

void ccw_text_add_quoted(ccw_text *text, const char *bytes, size_t length)
{
  ccw_text_add_bytes(text, "\"", 1);
  for (size_t i = 0; i < length;) i += add_character(text, bytes + i, length - i, true);
  ccw_text_add_bytes(text, "\"", 1);
}

void ccw_text_add_escaped(ccw_text *text, const char *bytes, size_t length)
{
  for (size_t i = 0; i < length;) {
    if (bytes[i] == '\n' || bytes[i] == '\t')
      ccw_text_add_bytes(text, bytes + i++, 1);
    else
      i += add_character(text, bytes + i, length - i, false);
  }
}

void ccw_text_add_caret(ccw_text *text, const char *source, size_t length, size_t offset)
{
  enum { BEFORE = 60, AFTER = 40 };
  size_t start = offset > BEFORE ? offset - BEFORE : 0, end = length - offset > AFTER ? offset + AFTER : length;
  ccw_text_add(text, "\n  %s", start > 0 ? "..." : "");
  size_t column = start > 0 ? 5 : 2;
  for (size_t i = start; i < end;) {
    size_t before = text->length;
    size_t taken = add_character(text, source + i, end - i, false);
    if (i < offset) column += taken > 1 ? 1 : text->length - before;
    i += taken;
  }
  ccw_text_add(text, "%s\n%*s^", end < length ? "..." : "", (int)column, "");
}

int ccw_compare_bytes(const char *a, size_t a_length, const char *b, size_t b_length)
{
  size_t shorter = a_length < b_length ? a_length : b_length;
  int order = shorter > 0 ? memcmp(a, b, shorter) : 0; /* of no bytes the address may be NULL */
  return order ? order : (a_length > b_length) - (a_length < b_length);
}

const char *ccw_text_data(const ccw_text *text) { return text->data ? text->data : ""; }

ccw_status ccw_text_status(const ccw_text *text)
{
  return text->failed ? ccw_resource_exhausted("no memory for a text") : ccw_ok();
}

void ccw_text_free(ccw_text *text)
{
  ccw_release(text->data, text->capacity);
  *text = (ccw_text){0};
}

ccw_status ccw_status_of_text(XLA_FFI_Error_Code code, ccw_text *text)
{
  ccw_status status = text->failed ? ccw_text_status(text) : ccw_status_from_text(code, text->data, text->length);
  ccw_text_free(text);
  return status;
}

ccw_status ccw_status_in(ccw_status status, const char *context)
{
  if (!status.message) return status;
  ccw_text text = {0};
  ccw_text_add(&text, "%s: ", context);
  ccw_text_add_bytes(&text, ccw_status_text(status), status.message->length);
  if (text.failed) { /* better the bare message than none */
    ccw_text_free(&text);
    return status;
  }
  ccw_status_free(status);
  return ccw_status_of_text(status.code, &text);
}

const char *ccw_base_name(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

ccw_status ccw_status_join(ccw_status first, ccw_status second)
{
  if (!first.code) return second;
  if (!second.code) return first;
  ccw_text whole = {0};
  ccw_text_add(&whole, "%s\n  %s", ccw_status_text(first), ccw_status_text(second));
  XLA_FFI_Error_Code code = first.code;
  ccw_status_free(first);
  ccw_status_free(second);
  return ccw_status_of_text(code, &whole);
}

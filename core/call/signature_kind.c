#include <string.h>

#include "base/text.h"
#include "call/signature_parser.h"
#include "value/type.h"

enum {
  DEEPEST = 32,     /* structs in each other, and kinds found by name in each other */
  MOST_FOUND = 1024 /* kinds by name, which may multiply: one of two that are of two each */
};

/* Digits, decimal or as 0x1F, in front of which a sign was read; false for more than 64 bits. C's u and l may follow. */
static bool read_digits(ccw_parser *p, uint64_t *out_number)
{
  uint64_t number = 0;
  bool fits = true, is_hex = ccw_parser_accept(p, "0x") || ccw_parser_accept(p, "0X");
  size_t first = p->in.at;
  for (; p->in.at < p->in.length; ++p->in.at) {
    int digit = ccw_hex_digit(p->in.text[p->in.at]);
    if (digit < 0 || (digit > 9 && !is_hex)) break;
    fits = fits && !__builtin_mul_overflow(number, (uint64_t)(is_hex ? 16 : 10), &number) &&
           !__builtin_add_overflow(number, (uint64_t)digit, &number);
  }
  size_t digits = p->in.at - first;
  bool is_octal = !is_hex && digits > 1 && p->in.text[first] == '0'; /* as C would read it */
  while (p->in.at < p->in.length && p->in.text[p->in.at] && strchr("uUlL", p->in.text[p->in.at])) ++p->in.at;
  *out_number = number;
  return fits && digits > 0 && !is_octal;
}

/* A number that the dtype holds, as the bits of an s64. */
static ccw_status read_number(ccw_parser *p, ccw_dtype dtype, int64_t *out_number)
{
  ccw_reader_peek(&p->in);
  size_t start = p->in.at;
  int bits = ccw_dtype_bits(dtype);
  bool is_signed = ccw_dtype_class(dtype) == CCW_CLASS_SIGNED, is_negative = ccw_parser_accept(p, "-");
  if (!ccw_is_digit(ccw_reader_peek(&p->in))) return ccw_parser_unexpected(p, "a number");
  uint64_t number, most = UINT64_MAX >> (64 - bits + is_signed);
  bool fits = read_digits(p, &number);
  if (is_negative && is_signed) ++most;
  if (!fits || number > most || (is_negative && !is_signed && number > 0))
    return ccw_reader_invalid(
        &p->in, start, "expected a decimal or hexadecimal number that %s holds", ccw_dtype_name(dtype));
  *out_number = (int64_t)(is_negative ? 0 - number : number);
  return ccw_ok();
}

static ccw_status read_enum_value(ccw_parser *p, ccw_dtype dtype, ccw_enum_info *info, ccw_enum_value **values)
{
  ccw_reader_peek(&p->in);
  size_t at = p->in.at;
  ccw_enum_value value;
  CCW_TRY(ccw_parser_name(p, "the name of a value, as in s32 = add(0)|mul(1)", &value.name));
  for (int64_t i = 0; i < info->count; ++i)
    if (strcmp((*values)[i].name, value.name) == 0) return ccw_parser_twice(p, at, "value", value.name);
  CCW_TRY(ccw_parser_expect(p, "(", "'(' and the number of the value"));
  CCW_TRY(read_number(p, dtype, &value.value));
  CCW_TRY(ccw_parser_expect(p, ")", "')'"));
  CCW_TRY(ccw_parser_grow(p, *values, info->count, sizeof value, "values", values));
  (*values)[info->count++] = value;
  return ccw_ok();
}

/* What follows the '=' of "s32 = add(0)|mul(1)|...". A bar may stand behind the last value. */
static ccw_status read_enum(ccw_parser *p, size_t at, const char *name, ccw_kind *kind)
{
  ccw_dtype dtype = (ccw_dtype)kind->dtype;
  ccw_class class = ccw_dtype_class(dtype);
  if (class != CCW_CLASS_SIGNED && class != CCW_CLASS_UNSIGNED)
    return ccw_reader_invalid(&p->in, at, "an enum is of an integer dtype, not of %s", ccw_dtype_name(dtype));
  ccw_enum_info *info;
  CCW_TRY(ccw_parser_take(p, sizeof *info, &info));
  *info = (ccw_enum_info){.name = name};
  ccw_enum_value *values = NULL;
  do {
    CCW_TRY(read_enum_value(p, dtype, info, &values));
    bool goes_on = ccw_parser_accept(p, "|");
    info->open = goes_on && ccw_parser_accept(p, "...");
    char c = ccw_reader_peek(&p->in);
    if (!goes_on || info->open || (c != '"' && !ccw_is_letter(c))) break;
  } while (true);
  info->values = values;
  *kind = (ccw_kind){CCW_FORM_ENUM, (int)dtype, info};
  return ccw_ok();
}

static ccw_status read_member(
    ccw_parser *p, int depth, const ccw_member *members, int64_t count, ccw_member *out_member)
{
  ccw_reader_peek(&p->in);
  size_t at = p->in.at;
  CCW_TRY(ccw_parser_name(p, "the name of an attribute", &out_member->name));
  for (int64_t i = 0; i < count; ++i)
    if (strcmp(members[i].name, out_member->name) == 0) return ccw_parser_twice(p, at, "attribute", out_member->name);
  CCW_TRY(ccw_parser_expect(p, ":", "':' and the kind of the attribute"));
  return ccw_parser_kind(p, depth, "", &out_member->kind);
}

/* A struct without a name of its own is called by its text. */
static ccw_status name_struct(ccw_parser *p, ccw_struct_info *info)
{
  if (*info->name) return ccw_ok();
  ccw_text text = {0};
  ccw_signature_print_members(info->members, info->count, &text);
  ccw_status status = ccw_text_status(&text);
  if (!status.code) status = ccw_parser_copy(p, (XLA_FFI_ByteSpan){ccw_text_data(&text), text.length}, &info->name);
  ccw_text_free(&text);
  return status;
}

/* "{...}" or "{lo: s64, hi: s64}". */
static ccw_status read_braces(ccw_parser *p, int depth, const char *name, ccw_kind *out_kind)
{
  static const char what[] = "',' or '}'";
  if (depth == DEEPEST) return ccw_reader_invalid(&p->in, p->in.at, "more than %d kinds in each other", DEEPEST);
  ccw_parser_accept(p, "{");
  if (ccw_parser_accept(p, "...")) {
    *out_kind = (ccw_kind){CCW_FORM_DICTIONARY, 0, NULL};
    ccw_parser_accept(p, ",");
    return ccw_parser_expect(p, "}", "'}'");
  }
  ccw_struct_info *info;
  CCW_TRY(ccw_parser_take(p, sizeof *info, &info));
  *info = (ccw_struct_info){.name = name};
  ccw_member *members = NULL;
  bool more;
  while (true) {
    CCW_TRY(ccw_parser_comma(p, info->count == 0, "}", what, &more));
    if (!more) break;
    if (ccw_parser_accept(p, "..."))
      return ccw_reader_invalid(&p->in, p->in.at - 3, "'...' stands alone in a dictionary that is an attribute");
    ccw_member member;
    CCW_TRY(read_member(p, depth + 1, members, info->count, &member));
    CCW_TRY(ccw_parser_grow(p, members, info->count, sizeof member, "members", &members));
    members[info->count++] = member;
  }
  info->members = members;
  *out_kind = (ccw_kind){CCW_FORM_STRUCT, 0, info};
  return name_struct(p, info);
}

/* The kind that another text tells. */
static ccw_status read_found(
    ccw_parser *p, int depth, size_t at, const char *name, const char *text, ccw_kind *out_kind)
{
  if (depth == DEEPEST || ++p->found > MOST_FOUND)
    return ccw_reader_invalid(&p->in, at, "too many kinds by name, or in each other");
  ccw_reader outside = p->in;
  p->in = (ccw_reader){name, text, strlen(text), 0};
  ccw_status status = ccw_parser_kind(p, depth + 1, name, out_kind);
  if (!status.code && ccw_reader_peek(&p->in) != '\0') status = ccw_parser_unexpected(p, "the end");
  p->in = outside;
  return status.code ? ccw_status_in(status, outside.what) : status;
}

ccw_status ccw_parser_named(ccw_parser *p, int depth, XLA_FFI_ByteSpan word, ccw_kind *out_kind)
{
  size_t at = p->in.at - word.len;
  const char *name;
  CCW_TRY(ccw_parser_copy(p, word, &name));
  const char *text = p->find ? p->find(p->find_context, name) : NULL;
  if (text) return read_found(p, depth, at, name, text, out_kind);
  if (ccw_dtype_meant(word.ptr, word.len)) return ccw_dtype_refuse(&p->in, at, word);
  ccw_type_info *info;
  CCW_TRY(ccw_parser_take(p, sizeof *info, &info));
  *info = (ccw_type_info){.name = name};
  *out_kind = (ccw_kind){CCW_FORM_TYPE, 0, info};
  return ccw_ok();
}

/* What the C++ binding decodes: pred, s8 to s64, u8 to u64, f32, f64, c64, c128, and arrays of the integers and f32, f64. */
static bool is_dtype_of_attributes(ccw_dtype dtype, bool in_array)
{
  int bits = ccw_dtype_bits(dtype);
  switch (ccw_dtype_class(dtype)) {
  case CCW_CLASS_SIGNED:
  case CCW_CLASS_UNSIGNED: return bits >= 8;
  case CCW_CLASS_FLOAT: return bits >= 32;
  case CCW_CLASS_PRED:
  case CCW_CLASS_COMPLEX: return !in_array;
  default: return false;
  }
}

ccw_status ccw_parser_kind(ccw_parser *p, int depth, const char *name, ccw_kind *out_kind)
{
  *out_kind = (ccw_kind){CCW_FORM_UNKNOWN, 0, NULL};
  if (ccw_parser_accept(p, "?")) return ccw_ok();
  if (ccw_reader_peek(&p->in) == '{') return read_braces(p, depth, name, out_kind);
  if (!ccw_is_letter(ccw_reader_peek(&p->in)))
    return ccw_parser_unexpected(p, "the kind of an attribute, as s64, f32[], string or {...}");

  XLA_FFI_ByteSpan word = ccw_reader_word(&p->in);
  size_t at = p->in.at - word.len;
  ccw_dtype dtype = ccw_dtype_from_name(word.ptr, word.len);
  if (ccw_word_is(word, "string") || ccw_word_is(word, "pointer")) {
    out_kind->form = ccw_word_is(word, "string") ? CCW_FORM_STRING : CCW_FORM_POINTER;
    return ccw_ok();
  }
  if (dtype == XLA_FFI_DataType_INVALID) return ccw_parser_named(p, depth, word, out_kind);
  bool is_array = ccw_parser_accept(p, "[");
  if (is_array) CCW_TRY(ccw_parser_expect(p, "]", "']': an attribute's array has any size"));
  if (!is_dtype_of_attributes(dtype, is_array))
    return ccw_reader_invalid(&p->in, at, "XLA has no attributes of %s%s", ccw_dtype_name(dtype), is_array ? "[]" : "");
  *out_kind = (ccw_kind){is_array ? CCW_FORM_ARRAY : CCW_FORM_SCALAR, (int)dtype, NULL};
  return !is_array && ccw_parser_accept(p, "=") ? read_enum(p, at, name, out_kind) : ccw_ok();
}

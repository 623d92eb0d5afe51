#include <string.h>

#include "call/signature_parser.h"
#include "value/type.h"

/* ---- patterns ------------------------------------------------------------------------------------------------------ */

/* The capture of that name, which may be a new one. */
static ccw_status capture(
    ccw_parser *p, XLA_FFI_ByteSpan word, bool is_letter, const ccw_signature_capture **out_capture)
{
  for (int64_t i = 0; i < p->capture_count; ++i) {
    *out_capture = p->captures[i];
    if (p->captures[i]->is_letter == is_letter && ccw_word_is(word, p->captures[i]->name)) return ccw_ok();
  }
  ccw_signature_capture *made;
  CCW_TRY(ccw_parser_take(p, sizeof *made, &made));
  *made = (ccw_signature_capture){.is_letter = is_letter, .number = p->capture_count};
  CCW_TRY(ccw_parser_copy(p, word, &made->name));
  CCW_TRY(
      ccw_parser_grow(p, p->captures, p->capture_count, sizeof *p->captures, "names of dims and dtypes", &p->captures));
  p->captures[p->capture_count++] = made;
  *out_capture = made;
  return ccw_ok();
}

/* A capital letter, and digits. */
static bool is_letter_of_dtype(XLA_FFI_ByteSpan word)
{
  if (word.len == 0 || word.ptr[0] < 'A' || word.ptr[0] > 'Z') return false;
  for (size_t i = 1; i < word.len; ++i)
    if (!ccw_is_digit(word.ptr[i])) return false;
  return true;
}

/* F32 would be a letter with digits, and is what people write who come from C++. */
static ccw_status check_letter(ccw_parser *p, size_t at, XLA_FFI_ByteSpan word)
{
  char small[4] = "";
  if (word.len >= sizeof small) return ccw_ok();
  memcpy(small, word.ptr, word.len);
  small[0] = (char)(small[0] - 'A' + 'a');
  if (ccw_dtype_from_name(small, word.len) == XLA_FFI_DataType_INVALID) return ccw_ok();
  return ccw_reader_invalid(
      &p->in, at, "expected a dtype or a letter for one, got '%.*s': the dtype is %s", (int)word.len, word.ptr, small);
}

static ccw_status read_dtypes(ccw_parser *p, ccw_signature_pattern *pattern)
{
  if (!ccw_is_letter(ccw_reader_peek(&p->in)))
    return ccw_parser_unexpected(p, "a dtype, as in f32[n], any[*] and T[n]");
  XLA_FFI_ByteSpan word = ccw_reader_word(&p->in);
  size_t at = p->in.at - word.len;
  if (is_letter_of_dtype(word)) {
    CCW_TRY(check_letter(p, at, word));
    CCW_TRY(capture(p, word, true, &pattern->letter));
  }
  if (pattern->letter || ccw_word_is(word, "any")) {
    pattern->dtypes = UINT64_MAX;
    return ccw_ok();
  }
  while (true) {
    ccw_dtype dtype = ccw_dtype_from_name(word.ptr, word.len);
    if (dtype == XLA_FFI_DataType_INVALID) return ccw_dtype_refuse(&p->in, at, word);
    pattern->dtypes |= (uint64_t)1 << dtype;
    if (!ccw_parser_accept(p, "|")) return ccw_ok();
    if (!ccw_is_letter(ccw_reader_peek(&p->in))) return ccw_parser_unexpected(p, "a dtype");
    word = ccw_reader_word(&p->in);
    at = p->in.at - word.len;
  }
}

static ccw_status read_dim(ccw_parser *p, ccw_signature_dim *out_dim)
{
  *out_dim = (ccw_signature_dim){-1, NULL};
  char c = ccw_reader_peek(&p->in);
  if (ccw_is_digit(c)) return ccw_reader_size(&p->in, &out_dim->size);
  if (ccw_is_letter(c)) return capture(p, ccw_reader_word(&p->in), false, &out_dim->capture);
  return ccw_parser_accept(p, "?") ? ccw_ok()
                                   : ccw_parser_unexpected(p, "a dim: a size, a name, '?', or '*' for any rank");
}

/* What follows the '*' of "*1|2". */
static ccw_status read_ranks(ccw_parser *p, uint64_t *out_ranks)
{
  *out_ranks = 0;
  do {
    int64_t rank;
    size_t at = p->in.at;
    CCW_TRY(ccw_reader_size(&p->in, &rank));
    if (rank > CCW_MAX_RANK) return ccw_reader_invalid(&p->in, at, "a rank of more than %d", CCW_MAX_RANK);
    *out_ranks |= ccw_ranks_only(rank);
  } while (ccw_parser_accept(p, "|"));
  return ccw_ok();
}

/* Gives a set of ranks the shortest form: [*2] is [?,?], [*1|2|...|32] is [?,*]. */
static void spread(ccw_signature_pattern *pattern, ccw_signature_dim *dims)
{
  int lowest = __builtin_ctzll(pattern->ranks);
  if (pattern->ranks != ccw_ranks_only(lowest) && pattern->ranks != ccw_ranks_from(lowest)) return;
  for (pattern->size = 0; pattern->size < lowest; ++pattern->size) dims[pattern->size] = (ccw_signature_dim){-1, NULL};
}

static ccw_status read_dims(ccw_parser *p, ccw_signature_pattern *pattern)
{
  static const char what[] = "',' or ']'";
  ccw_signature_dim dims[CCW_MAX_RANK];
  bool more, is_open = false;
  for (bool is_first = true;; is_first = false) {
    CCW_TRY(ccw_parser_comma(p, is_first, "]", what, &more));
    if (!more) break;
    if (is_open) return ccw_reader_invalid(&p->in, p->in.at, "no dim may follow '*'");
    is_open = ccw_parser_accept(p, "*");
    if (is_open && is_first && ccw_is_digit(ccw_reader_peek(&p->in))) {
      CCW_TRY(read_ranks(p, &pattern->ranks));
    } else if (!is_open) {
      if (pattern->size == CCW_MAX_RANK) return ccw_reader_invalid(&p->in, p->in.at, "more than %d dims", CCW_MAX_RANK);
      CCW_TRY(read_dim(p, &dims[pattern->size]));
      ++pattern->size;
    }
  }
  if (pattern->ranks)
    spread(pattern, dims);
  else
    pattern->ranks = is_open ? ccw_ranks_from(pattern->size) : ccw_ranks_only(pattern->size);
  ccw_signature_dim *kept;
  CCW_TRY(ccw_parser_take(p, sizeof *kept * (size_t)pattern->size, &kept));
  memcpy(kept, dims, sizeof *kept * (size_t)pattern->size);
  pattern->dims = kept;
  return ccw_ok();
}

static ccw_status read_pattern(ccw_parser *p, const ccw_signature_pattern **out_pattern)
{
  ccw_signature_pattern *pattern;
  CCW_TRY(ccw_parser_take(p, sizeof *pattern, &pattern));
  *pattern = (ccw_signature_pattern){.is_unknown = ccw_parser_accept(p, "?")};
  *out_pattern = pattern;
  if (pattern->is_unknown) return ccw_ok();
  CCW_TRY(read_dtypes(p, pattern));
  CCW_TRY(ccw_parser_expect(p, "[", "'[', as in f32[n], f32[] and f32[*]"));
  return read_dims(p, pattern);
}

/* ---- parameters ---------------------------------------------------------------------------------------------------- */

static ccw_status add(ccw_parser *p, ccw_parameter parameter, const ccw_signature_pattern *pattern)
{
  CCW_TRY(ccw_parser_grow(p, p->parameters, p->count, sizeof *p->parameters, "parameters", &p->parameters));
  CCW_TRY(ccw_parser_grow(p, p->patterns, p->count, sizeof *p->patterns, "parameters", &p->patterns));
  p->parameters[p->count] = parameter;
  p->patterns[p->count++] = pattern;
  return ccw_ok();
}

/* The parameter of that family and name, which is not "". */
static bool is_taken(const ccw_parser *p, ccw_word first, ccw_word last, const char *name)
{
  for (int64_t i = 0; i < p->count && *name; ++i)
    if (p->parameters[i].word >= first && p->parameters[i].word <= last && strcmp(p->parameters[i].name, name) == 0)
      return true;
  return false;
}

/* The end of what stands in parentheses, in which there may be others: C++ has types in an "(anonymous namespace)". */
static size_t end_of_type(const ccw_reader *in)
{
  size_t end = in->at;
  for (int depth = 0; end < in->length && (unsigned char)in->text[end] >= ' ' && in->text[end] != '\x7F'; ++end) {
    if (in->text[end] == '(') ++depth;
    if (in->text[end] == ')' && depth-- == 0) break;
  }
  return end;
}

/* The type of "@state(Counter)", as C has it: whatever stands in the parentheses. "" where there are none. */
static ccw_status read_type_of_context(ccw_parser *p, const char **out_name)
{
  *out_name = "";
  if (!ccw_parser_accept(p, "(")) return ccw_ok();
  ccw_reader_peek(&p->in);
  size_t start = p->in.at, end = end_of_type(&p->in);
  p->in.at = end;
  while (end > start && p->in.text[end - 1] == ' ') --end;
  if (end == start) return ccw_parser_unexpected(p, "the type of a context, as in @state(T)");
  CCW_TRY(ccw_parser_copy(p, (XLA_FFI_ByteSpan){p->in.text + start, end - start}, out_name));
  return ccw_parser_expect(p, ")", "')'");
}

/* What follows the '@' of a context, or of a state that is made. */
static ccw_status read_context(ccw_parser *p)
{
  if (!ccw_is_letter(ccw_reader_peek(&p->in))) return ccw_parser_unexpected(p, "the name of a context, as in @stream");
  XLA_FFI_ByteSpan word = ccw_reader_word(&p->in);
  size_t after = p->in.at;
  ccw_type_info *info;
  CCW_TRY(ccw_parser_take(p, sizeof *info, &info));
  *info = (ccw_type_info){0};
  CCW_TRY(read_type_of_context(p, &info->name));
  ccw_parameter parameter = {
      .word = CCW_WORD_CTX, .name = "", .kind = {CCW_FORM_TYPE, 0, info}, .rank = -1, .context = CCW_CONTEXT_TYPE};
  if (ccw_word_is(word, "new_state"))
    parameter.word = CCW_WORD_NEW_STATE;
  else
    parameter.context = ccw_context_of(word);
  bool is_own = parameter.context == CCW_CONTEXT_TYPE && !ccw_word_is(word, "type") && parameter.word == CCW_WORD_CTX;
  if (is_own && *info->name) return ccw_reader_invalid(&p->in, after, "a context that is not known has no type");
  if (is_own) CCW_TRY(ccw_parser_copy(p, word, &info->name));
  return add(p, parameter, NULL);
}

/* "x: ", "mask?: ", "?: ", or nothing. */
static ccw_status read_operand_name(ccw_parser *p, const char **out_name, bool *out_optional)
{
  char c = ccw_reader_peek(&p->in);
  size_t start = p->in.at;
  *out_name = "";
  if (c == '"') {
    CCW_TRY(ccw_parser_quoted(p, out_name));
    *out_optional = ccw_parser_accept(p, "?");
    return ccw_parser_expect(p, ":", "':' and a pattern");
  }
  XLA_FFI_ByteSpan word = ccw_reader_word(&p->in);
  *out_optional = ccw_parser_accept(p, "?");
  if ((word.len == 0 || ccw_is_letter(word.ptr[0])) && (word.len > 0 || *out_optional) && ccw_parser_accept(p, ":"))
    return ccw_parser_copy(p, word, out_name);
  *out_optional = false;
  p->in.at = start; /* it was a pattern */
  return ccw_ok();
}

/* The rules of order; `last` is the order of what came before, 0 where nothing did. */
static ccw_status check_order(ccw_parser *p, size_t at, const char *noun, int last, int next)
{
  if (last == 2 && next == 2)
    return ccw_reader_invalid(&p->in, at, "the remaining %ss are there twice: '...' stands once, last", noun);
  if (last == 2)
    return ccw_reader_invalid(&p->in, at, "%s %s may not follow the remaining ones: '...' stands last",
        next == 1 ? "an optional" : "a regular", noun);
  if (last == 1 && next == 0)
    return ccw_reader_invalid(&p->in, at, "a regular %s may not follow an optional one", noun);
  return ccw_ok();
}

static ccw_status read_operand(ccw_parser *p, const ccw_operands *family, const char *noun, int *last)
{
  size_t at = p->in.at;
  ccw_parameter parameter = {.word = family->remaining, .name = "", .rank = -1};
  const ccw_signature_pattern *pattern = NULL;
  bool is_optional = false;
  int next = 2;
  if (!ccw_parser_accept(p, "...")) {
    CCW_TRY(read_operand_name(p, &parameter.name, &is_optional));
    CCW_TRY(read_pattern(p, &pattern));
    next = is_optional;
    parameter.word = is_optional ? family->optional : family->regular;
    parameter.kind.dtype = ccw_only_bit(pattern->dtypes) > 0 ? ccw_only_bit(pattern->dtypes) : 0;
    parameter.rank = ccw_only_bit(pattern->ranks);
  }
  CCW_TRY(check_order(p, at, noun, *last, next));
  *last = next;
  if (is_taken(p, family->regular, family->remaining, parameter.name))
    return ccw_parser_twice(p, at, noun, parameter.name);
  return add(p, parameter, pattern);
}

static ccw_status read_operands(ccw_parser *p, const ccw_operands *family, const char *noun)
{
  static const char what[] = "',' or ')'";
  int last = 0;
  bool more;
  CCW_TRY(ccw_parser_expect(p, "(", family == &ccw_args ? "'(' and the operands" : "'(' and the results"));
  for (bool is_first = true;; is_first = false) {
    CCW_TRY(ccw_parser_comma(p, is_first, ")", what, &more));
    if (!more) return ccw_ok();
    ccw_reader_peek(&p->in);
    size_t at = p->in.at;
    if (!ccw_parser_accept(p, "@"))
      CCW_TRY(read_operand(p, family, noun, &last));
    else if (family == &ccw_rets)
      return ccw_reader_invalid(&p->in, at, "a context stands among the operands");
    else
      CCW_TRY(read_context(p));
  }
}

/* What follows the '...' of the attributes: nothing, or a struct that all of them are, whose members they then are. */
static ccw_status read_rest(ccw_parser *p)
{
  ccw_parameter parameter = {.word = CCW_WORD_ATTRS, .name = "", .kind = {.form = CCW_FORM_DICTIONARY}, .rank = -1};
  XLA_FFI_ByteSpan word = ccw_is_letter(ccw_reader_peek(&p->in)) ? ccw_reader_word(&p->in) : (XLA_FFI_ByteSpan){0};
  size_t at = p->in.at - word.len;
  if (word.len > 0) CCW_TRY(ccw_parser_named(p, 0, word, &parameter.kind));
  if (parameter.kind.form == CCW_FORM_DICTIONARY || parameter.kind.form == CCW_FORM_TYPE)
    return add(p, parameter, NULL);
  if (parameter.kind.form != CCW_FORM_STRUCT) return ccw_reader_invalid(&p->in, at, "the attributes are no struct");
  const ccw_struct_info *info = parameter.kind.detail;
  for (int64_t i = 0; i < info->count; ++i) {
    ccw_parameter member = {
        .word = CCW_WORD_ATTR, .name = info->members[i].name, .kind = info->members[i].kind, .rank = -1};
    if (is_taken(p, CCW_WORD_ATTR, CCW_WORD_ATTR, member.name))
      return ccw_parser_twice(p, at, "attribute", member.name);
    CCW_TRY(add(p, member, NULL));
  }
  return ccw_ok();
}

static ccw_status read_attribute(ccw_parser *p, bool *is_open)
{
  ccw_reader_peek(&p->in);
  size_t at = p->in.at;
  ccw_parameter parameter = {.word = CCW_WORD_ATTR, .name = "", .rank = -1};
  bool is_rest = ccw_parser_accept(p, "...");
  if (*is_open)
    return ccw_reader_invalid(&p->in, at, is_rest ? "'...' is there twice" : "no attribute may follow '...'");
  *is_open = is_rest;
  if (is_rest) return read_rest(p);
  CCW_TRY(ccw_parser_name(p, "the name of an attribute, or '...'", &parameter.name));
  if (is_taken(p, CCW_WORD_ATTR, CCW_WORD_ATTR, parameter.name))
    return ccw_parser_twice(p, at, "attribute", parameter.name);
  CCW_TRY(ccw_parser_expect(p, ":", "':' and the kind of the attribute"));
  CCW_TRY(ccw_parser_kind(p, 0, "", &parameter.kind));
  return add(p, parameter, NULL);
}

static ccw_status read_attributes(ccw_parser *p)
{
  static const char what[] = "',' or '}'";
  bool more, is_open = false;
  ccw_parser_accept(p, "{");
  for (bool is_first = true;; is_first = false) {
    CCW_TRY(ccw_parser_comma(p, is_first, "}", what, &more));
    if (!more) return ccw_ok();
    CCW_TRY(read_attribute(p, &is_open));
  }
}

static ccw_status read_signature(ccw_parser *p)
{
  if (ccw_reader_peek(&p->in) != '(') CCW_TRY(ccw_parser_name(p, "a name or '('", &p->name));
  CCW_TRY(read_operands(p, &ccw_args, "operand"));
  if (ccw_parser_accept(p, "->")) CCW_TRY(read_operands(p, &ccw_rets, "result"));
  if (ccw_reader_peek(&p->in) == '{') CCW_TRY(read_attributes(p));
  ccw_reader_peek(&p->in);
  return p->in.at < p->in.length ? ccw_parser_unexpected(p, "'->', '{' or the end") : ccw_ok();
}

/* The lowest minor version of the API that has all of the contexts, and state where one is made. */
static int minor_of(const ccw_parser *p)
{
  int highest = 1;
  for (int64_t i = 0; i < p->count; ++i) {
    ccw_word word = p->parameters[i].word;
    if (word != CCW_WORD_CTX && word != CCW_WORD_NEW_STATE) continue;
    int minor = ccw_contexts[word == CCW_WORD_CTX ? p->parameters[i].context : CCW_CONTEXT_STATE].minor;
    if (minor > highest) highest = minor;
  }
  return highest;
}

static ccw_status finish(ccw_parser *p, ccw_signature **out_signature)
{
  ccw_signature *signature;
  CCW_TRY(ccw_parser_take(p, sizeof *signature, &signature));
  *signature = (ccw_signature){.count = 1, .patterns = p->patterns, .captures = p->capture_count};
  signature->binding = (ccw_binding){.name = p->name,
      .stage = XLA_FFI_ExecutionStage_EXECUTE,
      .minor = minor_of(p),
      .count = p->count,
      .parameters = p->parameters};
  signature->arena = p->arena;
  *out_signature = signature;
  return ccw_ok();
}

ccw_status ccw_signature_parse(
    const char *text, size_t length, ccw_kind_finder *find, void *context, ccw_signature **out_signature)
{
  ccw_parser p = {.in = {"signature", text, length, 0}, .find = find, .find_context = context, .name = ""};
  ccw_status status = read_signature(&p);
  if (!status.code) status = finish(&p, out_signature);
  if (status.code) ccw_arena_free(&p.arena);
  return status;
}

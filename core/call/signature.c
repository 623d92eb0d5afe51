#include "call/signature.h"

#include <string.h>

#include "base/reader.h"

void ccw_signature_release(ccw_signature *signature)
{
  if (!signature || !ccw_count_down(&signature->count)) return;
  ccw_arena arena = signature->arena; /* where the signature itself lies */
  ccw_arena_free(&arena);
}

ccw_signature *ccw_signature_retain(ccw_signature *signature)
{
  ccw_count_up(&signature->count);
  return signature;
}

const char *ccw_signature_name(const ccw_signature *signature) { return signature->binding.name; }

const ccw_binding *ccw_signature_binding(const ccw_signature *signature) { return &signature->binding; }

const ccw_signature_pattern *ccw_signature_pattern_of(const ccw_signature *signature, int64_t i)
{
  return signature->patterns[i];
}

int64_t ccw_signature_count(const ccw_signature *signature, ccw_word word)
{
  int64_t count = 0;
  for (int64_t i = 0; i < signature->binding.count; ++i) count += signature->binding.parameters[i].word == word;
  return count;
}

const ccw_operands ccw_args = {CCW_WORD_ARG, CCW_WORD_OPTIONAL_ARG, CCW_WORD_REMAINING_ARGS, "arg"};
const ccw_operands ccw_rets = {CCW_WORD_RET, CCW_WORD_OPTIONAL_RET, CCW_WORD_REMAINING_RETS, "result"};

int ccw_operands_order(const ccw_operands *family, ccw_word word)
{
  return word == family->regular ? 0 : word == family->optional ? 1 : word == family->remaining ? 2 : -1;
}

const char *ccw_signature_operand(const ccw_signature *signature, const ccw_operands *family, int64_t place)
{
  for (int64_t i = 0; signature && i < signature->binding.count; ++i) {
    const ccw_parameter *parameter = &signature->binding.parameters[i];
    int order = ccw_operands_order(family, parameter->word);
    if (order == 2) break;
    if (order >= 0 && place-- == 0) return parameter->name;
  }
  return "";
}

const ccw_context_info ccw_contexts[] = {
#define INFO(NAME, name, minor) [CCW_CONTEXT_##NAME] = {#name, minor},
    CCW_CONTEXTS(INFO)
#undef INFO
};

ccw_context ccw_context_of(XLA_FFI_ByteSpan word)
{
  if (ccw_word_is(word, "stream_as")) return CCW_CONTEXT_STREAM; /* as a type of its platform's */
  int context = 0;
  while (context < CCW_CONTEXT_TYPE && !ccw_word_is(word, ccw_contexts[context].name)) ++context;
  return (ccw_context)context;
}

uint64_t ccw_ranks_only(int64_t rank) { return (uint64_t)1 << rank; }

uint64_t ccw_ranks_from(int64_t rank) { return ccw_ranks_only(CCW_MAX_RANK + 1) - ccw_ranks_only(rank); }

int ccw_only_bit(uint64_t set) { return set && !(set & (set - 1)) ? __builtin_ctzll(set) : -1; }

/* ---- the text ------------------------------------------------------------------------------------------------------ */

static void print_name(const char *name, ccw_text *text)
{
  size_t length = strlen(name);
  if (ccw_is_name(name, length))
    ccw_text_add_bytes(text, name, length);
  else
    ccw_text_add_quoted(text, name, length);
}

static void print_dtypes(uint64_t dtypes, ccw_text *text)
{
  if (dtypes == UINT64_MAX) {
    ccw_text_add(text, "any");
    return;
  }
  const char *bar = "";
  for (int number = 0; number < 64; ++number) {
    if (!(dtypes >> number & 1)) continue;
    ccw_text_add(text, "%s%s", bar, ccw_dtype_name((ccw_dtype)number));
    bar = "|";
  }
}

/* "*1|2": what else than the dims must be told of the rank. */
static void print_ranks(const ccw_signature_pattern *pattern, ccw_text *text)
{
  if (pattern->ranks == ccw_ranks_only(pattern->size)) return;
  ccw_text_add(text, pattern->size > 0 ? ",*" : "*");
  if (pattern->ranks == ccw_ranks_from(pattern->size)) return;
  const char *bar = "";
  for (int rank = 0; rank <= CCW_MAX_RANK; ++rank) {
    if (!(pattern->ranks >> rank & 1)) continue;
    ccw_text_add(text, "%s%d", bar, rank);
    bar = "|";
  }
}

void ccw_signature_print_pattern(const ccw_signature_pattern *pattern, ccw_text *text)
{
  if (pattern->is_unknown) {
    ccw_text_add(text, "?");
    return;
  }
  if (pattern->letter)
    ccw_text_add(text, "%s", pattern->letter->name);
  else
    print_dtypes(pattern->dtypes, text);
  ccw_text_add(text, "[");
  for (int64_t i = 0; i < pattern->size; ++i) {
    const ccw_signature_dim *dim = &pattern->dims[i];
    if (i > 0) ccw_text_add(text, ",");
    if (dim->size >= 0)
      ccw_text_add(text, "%lld", (long long)dim->size);
    else
      ccw_text_add(text, "%s", dim->capture ? dim->capture->name : "?");
  }
  print_ranks(pattern, text);
  ccw_text_add(text, "]");
}

static void print_enum(ccw_kind kind, ccw_text *text)
{
  const ccw_enum_info *info = kind.detail;
  bool is_unsigned = ccw_dtype_class((ccw_dtype)kind.dtype) == CCW_CLASS_UNSIGNED;
  ccw_text_add(text, "%s", ccw_dtype_name((ccw_dtype)kind.dtype));
  for (int64_t i = 0; i < info->count; ++i) {
    ccw_text_add(text, i == 0 ? " = " : "|");
    print_name(info->values[i].name, text);
    long long value = (long long)info->values[i].value;
    if (is_unsigned)
      ccw_text_add(text, "(%llu)", (unsigned long long)value);
    else
      ccw_text_add(text, "(%lld)", value);
  }
  if (info->open) ccw_text_add(text, "|...");
}

void ccw_signature_print_members(const ccw_member *members, int64_t count, ccw_text *text)
{
  ccw_text_add(text, "{");
  for (int64_t i = 0; i < count; ++i) {
    if (i > 0) ccw_text_add(text, ", ");
    print_name(members[i].name, text);
    ccw_text_add(text, ": ");
    ccw_signature_print_kind(members[i].kind, text);
  }
  ccw_text_add(text, "}");
}

void ccw_signature_print_kind(ccw_kind kind, ccw_text *text)
{
  switch (kind.form) {
  case CCW_FORM_UNKNOWN: ccw_text_add(text, "?"); break;
  case CCW_FORM_SCALAR: ccw_text_add(text, "%s", ccw_dtype_name((ccw_dtype)kind.dtype)); break;
  case CCW_FORM_ARRAY: ccw_text_add(text, "%s[]", ccw_dtype_name((ccw_dtype)kind.dtype)); break;
  case CCW_FORM_STRING: ccw_text_add(text, "string"); break;
  case CCW_FORM_DICTIONARY: ccw_text_add(text, "{...}"); break;
  case CCW_FORM_POINTER: ccw_text_add(text, "pointer"); break;
  case CCW_FORM_ENUM: print_enum(kind, text); break;
  case CCW_FORM_TYPE: ccw_text_add(text, "%s", ((const ccw_type_info *)kind.detail)->name); break;
  case CCW_FORM_STRUCT: {
    const ccw_struct_info *info = kind.detail;
    ccw_signature_print_members(info->members, info->count, text);
    break;
  }
  }
}

/* Whether a type may stand for its context: @Mine is @type(Mine). */
static bool is_free(const char *type)
{
  XLA_FFI_ByteSpan word = {type, strlen(type)};
  return ccw_is_name(word.ptr, word.len) && ccw_context_of(word) == CCW_CONTEXT_TYPE && !ccw_word_is(word, "type") &&
         !ccw_word_is(word, "new_state");
}

static void print_context(const ccw_parameter *parameter, ccw_text *text)
{
  const char *type = ((const ccw_type_info *)parameter->kind.detail)->name;
  const char *name = ccw_contexts[parameter->context].name;
  if (parameter->word == CCW_WORD_NEW_STATE)
    name = "new_state";
  else if (parameter->context == CCW_CONTEXT_STREAM && *type)
    name = "stream_as";
  else if (parameter->context == CCW_CONTEXT_TYPE && is_free(type))
    name = type, type = "";
  ccw_text_add(text, "@%s", name);
  if (*type) ccw_text_add(text, "(%s)", type);
}

void ccw_signature_print_parameter(const ccw_signature *signature, int64_t i, ccw_text *text)
{
  const ccw_parameter *parameter = &signature->binding.parameters[i];
  switch (parameter->word) {
  case CCW_WORD_CTX:
  case CCW_WORD_NEW_STATE: print_context(parameter, text); break;
  case CCW_WORD_ATTR: ccw_signature_print_kind(parameter->kind, text); break;
  case CCW_WORD_ARG:
  case CCW_WORD_OPTIONAL_ARG:
  case CCW_WORD_RET:
  case CCW_WORD_OPTIONAL_RET: ccw_signature_print_pattern(signature->patterns[i], text); break;
  case CCW_WORD_ATTRS:
    ccw_text_add(text, "...");
    if (parameter->kind.form == CCW_FORM_TYPE) ccw_signature_print_kind(parameter->kind, text);
    break;
  default: ccw_text_add(text, "...");
  }
}

/* "mask?: " */
static void print_name_of(const ccw_parameter *parameter, ccw_text *text)
{
  bool is_optional = parameter->word == CCW_WORD_OPTIONAL_ARG || parameter->word == CCW_WORD_OPTIONAL_RET;
  if (*parameter->name) print_name(parameter->name, text);
  if (is_optional) ccw_text_add(text, "?");
  if (*parameter->name || is_optional) ccw_text_add(text, ": ");
}

/* Prints the parameters of these words, with `open` in front of the first and ", " between them; `open` where there is none,
 * ", " where there are some. */
static const char *print_words(
    const ccw_signature *signature, ccw_word first, ccw_word last, const char *open, ccw_text *text)
{
  for (int64_t i = 0; i < signature->binding.count; ++i) {
    const ccw_parameter *parameter = &signature->binding.parameters[i];
    if (parameter->word < first || parameter->word > last) continue;
    ccw_text_add(text, "%s", open);
    print_name_of(parameter, text);
    ccw_signature_print_parameter(signature, i, text);
    open = ", ";
  }
  return open;
}

/* The same in brackets; nothing where there are none. */
static void print_list(
    const ccw_signature *signature, ccw_word first, ccw_word last, const char *open, const char *close, ccw_text *text)
{
  if (print_words(signature, first, last, open, text) != open) ccw_text_add(text, "%s", close);
}

void ccw_signature_print(const ccw_signature *signature, ccw_text *text)
{
  if (*signature->binding.name) print_name(signature->binding.name, text);
  ccw_text_add(text, "(");
  const char *comma = print_words(signature, CCW_WORD_CTX, CCW_WORD_CTX, "", text);
  comma = print_words(signature, CCW_WORD_NEW_STATE, CCW_WORD_NEW_STATE, comma, text);
  print_words(signature, CCW_WORD_ARG, CCW_WORD_REMAINING_ARGS, comma, text);
  ccw_text_add(text, ")");
  print_list(signature, CCW_WORD_RET, CCW_WORD_REMAINING_RETS, " -> (", ")", text);
  print_list(signature, CCW_WORD_ATTR, CCW_WORD_ATTRS, " {", "}", text);
}

#include <stdlib.h>
#include <string.h>

#include "base/reader.h"
#include "base/text.h"
#include "runtime/asker.h"

enum { DEEPEST = 8 }; /* structs in each other */

/* Where an attribute is in the frame, and whether it alone is bad. */
typedef struct place {
  XLA_FFI_AttrType *type;
  void **value;
  bool is_alone;
  int depth;
} place;

static ccw_status add_kind(ccw_asker *a, place at, ccw_text *out_text);

static bool has_name(const ccw_asked_names *list, const char *name, size_t length)
{
  for (int64_t i = 0; i < list->count; ++i)
    if (ccw_compare_bytes(list->names[i].ptr, list->names[i].len, name, length) == 0) return true;
  return false;
}

/* Adds a name that ends with a byte to spare, see add_attributes. */
static ccw_status add_name(ccw_asker *a, ccw_asked_names *list, const char *name, size_t length)
{
  list->names = ccw_arena_grow(&a->arena, list->names, list->count, sizeof *list->names);
  char *copy = list->names ? ccw_arena_copy(&a->arena, name, length) : NULL;
  if (!copy) return ccw_no_memory(length);
  copy[length] = '\x01';
  list->names[list->count++] = (XLA_FFI_ByteSpan){copy, length};
  return ccw_ok();
}

/* Names of members, which the answer tells from diagnostic number `first` of that topic on. */
static ccw_status read_members(ccw_asker *a, int64_t first, int64_t count, ccw_asked_names *out_names)
{
  ccw_diagnostic told;
  int64_t i = 0;
  for (const char *at = ccw_answer_diagnostics(ccw_asker_answer(a)); ccw_answer_next(&at, &told);) {
    if (told.topic != CCW_TOPIC_MEMBER) continue;
    if (i >= first && i < first + count) CCW_TRY(add_name(a, out_names, told.text, told.length));
    ++i;
  }
  if (out_names->count != count) out_names->count = 0;
  return ccw_ok();
}

/* "? vs NAME" for each bound attribute. One that is bound twice can never be had, and is told once. */
ccw_status ccw_asker_read_names(ccw_asker *a, ccw_asked_names *out_names)
{
  static const char mismatch[] = "? vs ";
  enum { LENGTH = sizeof mismatch - 1 };
  ccw_diagnostic told;
  for (const char *at = ccw_answer_diagnostics(ccw_asker_answer(a)); ccw_answer_next(&at, &told);) {
    if (told.topic != CCW_TOPIC_NAME || told.length <= LENGTH || memcmp(told.text, mismatch, LENGTH) != 0) continue;
    if (has_name(out_names, told.text + LENGTH, told.length - LENGTH)) continue;
    CCW_TRY(add_name(a, out_names, told.text + LENGTH, told.length - LENGTH));
  }
  return ccw_ok();
}

/* The place of name `i` in a dictionary, which is sorted. */
static int64_t sorted_place(const ccw_asked_names *list, int64_t i)
{
  int64_t at = 0;
  for (int64_t k = 0; k < list->count; ++k)
    at += ccw_compare_bytes(list->names[k].ptr, list->names[k].len, list->names[i].ptr, list->names[i].len) < 0;
  return at;
}

/* Asks for the kind of each attribute in turn. The others are there under names that are longer by a byte, so that they keep
 * their places and are no bound ones. */
static ccw_status add_attributes(
    ccw_asker *a, XLA_FFI_Attrs *attrs, ccw_asked_names *list, place around, ccw_text *out_text)
{
  XLA_FFI_ByteSpan *hidden = ccw_arena_take(&a->arena, (size_t)list->count * sizeof *hidden);
  if (!hidden) return ccw_no_memory(list->count);
  for (int64_t i = 0; i < list->count; ++i) {
    hidden[i] = (XLA_FFI_ByteSpan){list->names[i].ptr, list->names[i].len + 1};
    attrs->names[sorted_place(list, i)] = &hidden[i];
  }
  around.is_alone = around.is_alone && list->count == 1;
  ++around.depth;
  ccw_text_add(out_text, "{");
  for (int64_t i = 0; i < list->count; ++i) {
    int64_t at = sorted_place(list, i);
    attrs->names[at] = &list->names[i];
    around.type = &attrs->types[at];
    around.value = &attrs->attrs[at];
    if (i > 0) ccw_text_add(out_text, ", ");
    ccw_text_add_quoted(out_text, list->names[i].ptr, list->names[i].len);
    ccw_text_add(out_text, ": ");
    CCW_TRY(add_kind(a, around, out_text));
    attrs->names[at] = &hidden[i];
  }
  ccw_text_add(out_text, "}");
  return ccw_ok();
}

static void add_array(ccw_asker *a, place at, ccw_text *out_text)
{
  XLA_FFI_Array array = {.dtype = XLA_FFI_DataType_INVALID, .data = a->memory};
  ccw_diagnostic told;
  *at.type = XLA_FFI_AttrType_ARRAY;
  *at.value = &array;
  ccw_asker_ask(a);
  ccw_dtype dtype = ccw_answer_find(ccw_asker_answer(a), CCW_TOPIC_ARRAY, &told) ? ccw_diagnostic_dtype(&told) : 0;
  if (dtype)
    ccw_text_add(out_text, "%s[]", ccw_dtype_name(dtype));
  else
    ccw_text_add(out_text, "?");
}

/* Members that are missing in the structs around an attribute: how many are told in front of it, and in all. */
typedef struct missing {
  int64_t before, all;
} missing;

/* The names of the members of the struct that the dictionary at that place is to be; none where any dictionary will do, or
 * where nothing is understood. */
static ccw_status ask_members(ccw_asker *a, place at, missing others, XLA_FFI_Attrs *attrs, ccw_asked_names *out_names)
{
  ccw_diagnostic told;
  int64_t count = 1;
  CCW_TRY(ccw_asker_dictionary(a, count, attrs));
  *at.type = XLA_FFI_AttrType_DICTIONARY;
  *at.value = attrs;
  ccw_asker_ask(a);
  if (ccw_answer_find(ccw_asker_answer(a), CCW_TOPIC_MEMBERS, &told)) {
    count = strtoll(told.text, NULL, 10);
    if (count < 1 || count > CCW_ASKER_MOST) return ccw_ok();
    CCW_TRY(ccw_asker_dictionary(a, count, attrs));
    ccw_asker_ask(a);
  }
  bool is_struct = ccw_answer_count(ccw_asker_answer(a), CCW_TOPIC_MEMBER) == others.all + count;
  return is_struct ? read_members(a, others.before, count, out_names) : ccw_ok();
}

static ccw_status add_dictionary(ccw_asker *a, place at, missing others, ccw_text *out_text)
{
  XLA_FFI_Attrs attrs;
  ccw_asked_names list = {NULL, 0};
  /* If it were taken the body would run. */
  if (!at.is_alone && at.depth < DEEPEST) CCW_TRY(ask_members(a, at, others, &attrs, &list));
  if (list.count > 0) return add_attributes(a, &attrs, &list, at, out_text);
  ccw_text_add(out_text, "{...}");
  return ccw_ok();
}

/* A scalar of no dtype, which everybody refuses, tells the kind. */
static ccw_status add_kind(ccw_asker *a, place at, ccw_text *out_text)
{
  ccw_asker_ask(a);
  ccw_status status = ccw_ok();
  ccw_diagnostic told = {0};
  missing others = {.all = ccw_answer_count(ccw_asker_answer(a), CCW_TOPIC_MEMBER)};
  bool is_told = false;
  for (const char *next = ccw_answer_diagnostics(ccw_asker_answer(a)); !is_told && ccw_answer_next(&next, &told);) {
    is_told = told.topic == CCW_TOPIC_SCALAR || told.topic == CCW_TOPIC_POINTER || told.topic == CCW_TOPIC_KIND;
    others.before += told.topic == CCW_TOPIC_MEMBER;
  }
  ccw_dtype dtype = is_told && told.topic == CCW_TOPIC_SCALAR ? ccw_diagnostic_dtype(&told) : XLA_FFI_DataType_INVALID;
  XLA_FFI_ByteSpan kind = {told.text, is_told && told.topic == CCW_TOPIC_KIND ? strcspn(told.text, " ") : 0};
  if (dtype)
    ccw_text_add(out_text, "%s", ccw_dtype_name(dtype));
  else if (is_told && told.topic == CCW_TOPIC_POINTER)
    ccw_text_add(out_text, "pointer");
  else if (ccw_word_is(kind, "string"))
    ccw_text_add(out_text, "string");
  else if (ccw_word_is(kind, "array"))
    add_array(a, at, out_text);
  else if (ccw_word_is(kind, "dictionary"))
    status = add_dictionary(a, at, others, out_text);
  else
    ccw_text_add(out_text, "?");
  *at.type = XLA_FFI_AttrType_SCALAR;
  *at.value = &a->scalar;
  return status;
}

/* All attributes are one struct, of that many members. */
static ccw_status add_struct(ccw_asker *a, int64_t count, place around, ccw_text *out_text)
{
  ccw_asked_names list = {NULL, 0};
  XLA_FFI_Attrs none = a->attrs;
  CCW_TRY(ccw_asker_dictionary(a, count, &a->attrs));
  ccw_asker_ask(a);
  CCW_TRY(read_members(a, 0, count, &list));
  if (list.count > 0)
    CCW_TRY(add_attributes(a, &a->attrs, &list, around, out_text));
  else
    ccw_text_add(out_text, "{...}");
  a->attrs = none;
  return ccw_ok();
}

/* Headers of jaxlib 0.8.1 and before take an attribute that is not bound where all of them are bound as a dictionary only;
 * later ones do not look. */
static bool takes_dictionary(ccw_asker *a)
{
  if (!a->is_strict) return false;
  a->attrs.size = 1;
  ccw_asker_ask(a);
  a->attrs.size = 0;
  return ccw_asker_has(a, CCW_TOPIC_OPERANDS);
}

ccw_status ccw_asker_add_attributes(ccw_asker *a, ccw_asked_names *bound, int64_t members, ccw_text *out_text)
{
  place around = {.is_alone = a->bad < 2};
  if (bound->count > 0 && bound->count <= a->attrs.size) {
    ccw_text_add(out_text, " ");
    return add_attributes(a, &a->attrs, bound, around, out_text);
  }
  bool is_named = a->attrs.size > 0, is_struct = members > 0 && members <= CCW_ASKER_MOST;
  if (is_struct && !is_named) {
    ccw_text_add(out_text, " ");
    return add_struct(a, members, around, out_text);
  }
  if (is_named || members > 0 || takes_dictionary(a)) ccw_text_add(out_text, " {...}");
  return ccw_ok();
}

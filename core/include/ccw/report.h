/* report.h: what is wrong with a call frame, in words.
 *
 * A handler checks its frame with as little code as it can, and comes here when something does not fit: everything that it
 * binds is looked at again, out of the data of its binding, and all that is wrong goes into one text, a line each:
 *
 *   scale: execute: 2 bad operands
 *     arg 0 'x': expected f32[?], got s32[3]
 *     attribute 's': expected f32, got f64
 *
 * Little of a frame is trusted: pointers may be NULL, counts below zero, names out of order. Extents are taken as they are.
 */
#ifndef CCW_REPORT_H
#define CCW_REPORT_H

#include "context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- text ----------------------------------------------------------------------------------------------------------- */

/* A report under way. It is written twice: first to be counted, with no room, then into memory of the right size. */
typedef struct ccw_report {
  char *text;
  size_t room, length;
  int64_t problems;
  XLA_FFI_Error_Code code; /* of the first problem */
} ccw_report;

CCW_PRINTF(2, 3) CCW_COLD void ccw_report_add_(ccw_report *report, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  size_t left = report->room - report->length;
  int length =
      vsnprintf(report->room ? report->text + report->length : NULL, report->room ? left : 0, format, arguments);
  va_end(arguments);
  if (length < 0) return;
  report->length += report->room && (size_t)length >= left ? left - 1 : (size_t)length;
}

/* Starts a problem, a line of its own. */
CCW_COLD void ccw_problem_(ccw_report *report, XLA_FFI_Error_Code code)
{
  if (report->problems++ == 0) report->code = code;
  ccw_report_add_(report, "\n  ");
}

/* Ways to say an operand in a sentence: "arg 1 'w'". */
CCW_COLD void ccw_say_place_(ccw_report *report, const char *family, int64_t place, const char *name)
{
  ccw_problem_(report, XLA_FFI_Error_Code_INVALID_ARGUMENT);
  ccw_report_add_(report, *name ? "%s %lld '%s': " : "%s %lld: ", family, (long long)place, name);
}

/* What a bad frame may hold where a name is due is cut to a line's length, and held to printable characters. */
CCW_COLD void ccw_say_name_(ccw_report *report, XLA_FFI_ByteSpan name)
{
  enum { LONGEST = 64 };
  ccw_report_add_(report, "'");
  for (size_t i = 0; i < name.len && i < LONGEST; ++i) {
    unsigned char c = (unsigned char)name.ptr[i];
    ccw_report_add_(report, c < ' ' || c == 127 ? "\\x%02x" : "%c", c);
  }
  ccw_report_add_(report, name.len > LONGEST ? "...'" : "'");
}

CCW_COLD const char *ccw_name_of_dtype_(int dtype)
{
  switch (dtype) {
#define CCW_DTYPE_NAME(NAME, name, number, bits, class) \
  case number: return #name;
    CCW_DTYPES(CCW_DTYPE_NAME)
#undef CCW_DTYPE_NAME
  default: return dtype == 0 ? "any" : NULL;
  }
}

CCW_COLD void ccw_say_dtype_(ccw_report *report, int dtype)
{
  const char *name = ccw_name_of_dtype_(dtype);
  if (name)
    ccw_report_add_(report, "%s", name);
  else
    ccw_report_add_(report, "a dtype of number %d", dtype);
}

/* "f32[?,?]", "any[*]". */
CCW_COLD void ccw_say_type_(ccw_report *report, int dtype, int64_t rank)
{
  ccw_say_dtype_(report, dtype);
  ccw_report_add_(report, rank < 0 ? "[*" : "[");
  for (int64_t i = 0; i < rank; ++i) ccw_report_add_(report, i ? ",?" : "?");
  ccw_report_add_(report, "]");
}

/* Whether there are extents where the rank says so. */
CCW_INLINE bool ccw_is_sound_(const XLA_FFI_Buffer *buffer)
{
  return buffer && (buffer->rank == 0 || (buffer->rank > 0 && buffer->dims));
}

/* "s32[3]", and what a malformed buffer is. */
CCW_COLD void ccw_say_buffer_(ccw_report *report, const XLA_FFI_Buffer *buffer)
{
  enum { MOST = 32 };
  if (!buffer) {
    ccw_report_add_(report, "no buffer");
    return;
  }
  int dtype = ccw_number_at_(&buffer->dtype);
  ccw_say_dtype_(report, dtype ? dtype : -1);
  if (!ccw_is_sound_(buffer)) {
    ccw_report_add_(report, " of rank %lld%s", (long long)buffer->rank, buffer->rank > 0 ? " without dims" : "");
    return;
  }
  ccw_report_add_(report, "[");
  for (int64_t i = 0; i < buffer->rank && i < MOST; ++i)
    ccw_report_add_(report, i ? ",%lld" : "%lld", (long long)buffer->dims[i]);
  ccw_report_add_(report, buffer->rank > MOST ? ",...]" : "]");
}

/* ---- attributes ----------------------------------------------------------------------------------------------------- */

/* Whether a dictionary can be read at all. */
CCW_INLINE bool ccw_is_readable_(const XLA_FFI_Attrs *attrs)
{
  return attrs && (attrs->size == 0 || (attrs->size > 0 && attrs->types && attrs->names && attrs->attrs));
}

CCW_INLINE bool ccw_is_named_(const XLA_FFI_ByteSpan *name, const char *wanted, size_t length)
{
  return name && name->len == length && (length == 0 || (name->ptr && !memcmp(name->ptr, wanted, length)));
}

/* Where that name is, or -1. Names may be out of order here. */
CCW_COLD int64_t ccw_seek_(const XLA_FFI_Attrs *attrs, const char *name)
{
  size_t length = strlen(name);
  for (int64_t i = 0; i < attrs->size; ++i)
    if (ccw_is_named_(attrs->names[i], name, length)) return i;
  return -1;
}

CCW_COLD void ccw_say_kind_(ccw_report *report, ccw_kind kind)
{
  switch (kind.form) {
  case CCW_FORM_UNKNOWN: ccw_report_add_(report, "anything"); break;
  case CCW_FORM_SCALAR: ccw_say_dtype_(report, kind.dtype); break;
  case CCW_FORM_ARRAY: ccw_say_dtype_(report, kind.dtype), ccw_report_add_(report, "[]"); break;
  case CCW_FORM_STRING: ccw_report_add_(report, "string"); break;
  case CCW_FORM_DICTIONARY: ccw_report_add_(report, "a dictionary"); break;
  case CCW_FORM_POINTER: ccw_report_add_(report, "s64 (a pointer)"); break;
  case CCW_FORM_STRUCT:
    ccw_report_add_(report, "a dictionary (%s)", ((const ccw_struct_info *)kind.detail)->name);
    break;
  case CCW_FORM_TYPE: ccw_report_add_(report, "%s", ((const ccw_type_info *)kind.detail)->name); break;
  case CCW_FORM_ENUM: {
    const ccw_enum_info *info = (const ccw_enum_info *)kind.detail;
    ccw_say_dtype_(report, kind.dtype);
    for (int64_t i = 0; i < info->count; ++i)
      ccw_report_add_(report, "%s%s(%lld)", i ? "|" : " = ", info->values[i].name, (long long)info->values[i].value);
    break;
  }
  }
}

/* "f64", "string", "s32[]": an attribute as it stands in the frame. */
CCW_COLD void ccw_say_attribute_(ccw_report *report, ccw_attribute attribute)
{
  const XLA_FFI_Scalar *scalar = (const XLA_FFI_Scalar *)attribute.value;
  const XLA_FFI_Array *array = (const XLA_FFI_Array *)attribute.value;
  const XLA_FFI_ByteSpan *string = (const XLA_FFI_ByteSpan *)attribute.value;
  bool is_empty = !attribute.value;
  size_t size = 0;
  switch (is_empty ? 0 : attribute.type) {
  case 0: ccw_report_add_(report, "one"); break;
  case XLA_FFI_AttrType_SCALAR:
    ccw_say_dtype_(report, ccw_number_at_(&scalar->dtype));
    is_empty = !scalar->value;
    break;
  case XLA_FFI_AttrType_ARRAY:
    ccw_say_dtype_(report, ccw_number_at_(&array->dtype));
    ccw_report_add_(report, "[]");
    is_empty = !array->data && array->size > 0;
    size = array->size;
    break;
  case XLA_FFI_AttrType_STRING:
    ccw_report_add_(report, "string");
    is_empty = !string->ptr && string->len > 0;
    size = string->len;
    break;
  case XLA_FFI_AttrType_DICTIONARY: ccw_report_add_(report, "a dictionary"); break;
  default: ccw_report_add_(report, "one of kind %d", attribute.type);
  }
  if (is_empty)
    ccw_report_add_(report, " without a value");
  else if (size > INT64_MAX / 16) /* no memory holds so many: why it was refused */
    ccw_report_add_(report, " of impossible size %llu", (unsigned long long)size);
}

/* The integer that a scalar holds, whatever its dtype; 0 for other numbers. */
CCW_COLD int64_t ccw_integer_of_(const XLA_FFI_Scalar *scalar)
{
  switch (ccw_number_at_(&scalar->dtype)) {
#define CCW_INTEGER_(TYPE, type)                 \
  case XLA_FFI_DataType_##TYPE: {                \
    type value;                                  \
    memcpy(&value, scalar->value, sizeof value); \
    return (int64_t)value;                       \
  }
    CCW_INTEGER_(S8, int8_t)
    CCW_INTEGER_(S16, int16_t)
    CCW_INTEGER_(S32, int32_t)
    CCW_INTEGER_(S64, int64_t)
    CCW_INTEGER_(U8, uint8_t)
    CCW_INTEGER_(U16, uint16_t)
    CCW_INTEGER_(U32, uint32_t)
    CCW_INTEGER_(U64, uint64_t)
#undef CCW_INTEGER_
  default: return 0;
  }
}

CCW_COLD bool ccw_is_known_(const ccw_enum_info *info, int64_t value)
{
  bool known = info->open;
  for (int64_t i = 0; i < info->count; ++i) known |= info->values[i].value == value;
  return known;
}

/* Whether the attribute is of that kind, as far as its own words go: the members of a struct are looked at one by one. */
CCW_COLD bool ccw_is_of_kind_(ccw_attribute attribute, ccw_kind kind)
{
  const XLA_FFI_Scalar *scalar = (const XLA_FFI_Scalar *)attribute.value;
  const XLA_FFI_Array *array = (const XLA_FFI_Array *)attribute.value;
  const XLA_FFI_ByteSpan *string = (const XLA_FFI_ByteSpan *)attribute.value;
  if (!attribute.value) return false;
  bool is_scalar = attribute.type == XLA_FFI_AttrType_SCALAR && scalar->value;
  switch (kind.form) {
  case CCW_FORM_SCALAR: return is_scalar && ccw_number_at_(&scalar->dtype) == kind.dtype;
  case CCW_FORM_POINTER: return is_scalar && ccw_number_at_(&scalar->dtype) == XLA_FFI_DataType_S64;
  case CCW_FORM_ENUM:
    return is_scalar && ccw_number_at_(&scalar->dtype) == kind.dtype &&
           ccw_is_known_((const ccw_enum_info *)kind.detail, ccw_integer_of_(scalar));
  case CCW_FORM_ARRAY:
    return attribute.type == XLA_FFI_AttrType_ARRAY && ccw_number_at_(&array->dtype) == kind.dtype &&
           array->size <= INT64_MAX / 16 && (array->data || array->size == 0);
  case CCW_FORM_STRING:
    return attribute.type == XLA_FFI_AttrType_STRING && (string->ptr || string->len == 0) && string->len <= INT64_MAX;
  case CCW_FORM_DICTIONARY:
  case CCW_FORM_STRUCT: return attribute.type == XLA_FFI_AttrType_DICTIONARY;
  case CCW_FORM_UNKNOWN:
  case CCW_FORM_TYPE: break;
  }
  return true;
}

/* Where an attribute is, from the outside in: 'range.lo'. */
typedef struct ccw_path_ {
  const struct ccw_path_ *outside;
  const char *name;
} ccw_path_;

CCW_COLD void ccw_say_path_(ccw_report *report, const ccw_path_ *path)
{
  if (path->outside) {
    ccw_say_path_(report, path->outside);
    ccw_report_add_(report, ".");
  }
  ccw_report_add_(report, "%s", path->name);
}

CCW_COLD void ccw_say_attribute_place_(ccw_report *report, const ccw_path_ *outside, const char *name)
{
  ccw_path_ path = {outside, name};
  ccw_problem_(report, XLA_FFI_Error_Code_INVALID_ARGUMENT);
  ccw_report_add_(report, "attribute '");
  ccw_say_path_(report, &path);
  ccw_report_add_(report, "': ");
}

CCW_COLD void ccw_say_names_(ccw_report *report, const XLA_FFI_Attrs *attrs)
{
  enum { MOST = 16 };
  if (attrs->size == 0) ccw_report_add_(report, "none");
  for (int64_t i = 0; i < attrs->size && i < MOST; ++i) {
    ccw_report_add_(report, i ? ", " : "");
    ccw_say_name_(report, *attrs->names[i]);
  }
  if (attrs->size > MOST) ccw_report_add_(report, " and %lld more", (long long)(attrs->size - MOST));
}

/* Letters to change, add or leave out that make one name of the other, case aside; long names are far from everything. */
CCW_COLD size_t ccw_distance_(XLA_FFI_ByteSpan a, const char *b)
{
  enum { LONGEST = 48 };
  size_t row[LONGEST + 1], length = strlen(b);
  if (length > LONGEST || a.len > LONGEST) return SIZE_MAX;
  for (size_t j = 0; j <= length; ++j) row[j] = j;
  for (size_t i = 0; i < a.len; ++i) {
    size_t corner = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < length; ++j) {
      size_t change = corner + ((a.ptr[i] | 32) != (b[j] | 32)), above = row[j + 1];
      size_t best = above < row[j] ? above + 1 : row[j] + 1;
      corner = above;
      row[j + 1] = change < best ? change : best;
    }
  }
  return row[length];
}

/* The bound attributes of one dictionary, as both ATTR words and the members of a struct give them. */
typedef struct ccw_bound_ {
  const ccw_member *members; /* of a struct, or NULL */
  const ccw_parameter *parameters;
  int64_t count;
} ccw_bound_;

/* Number `i` of them; false where that word is none. */
CCW_COLD bool ccw_bound_at_(const ccw_bound_ *bound, int64_t i, ccw_member *out_member)
{
  if (bound->members) {
    *out_member = bound->members[i];
    return true;
  }
  out_member->name = bound->parameters[i].name;
  out_member->kind = bound->parameters[i].kind;
  return bound->parameters[i].word == CCW_WORD_ATTR;
}

CCW_COLD bool ccw_binds_name_(const ccw_bound_ *bound, XLA_FFI_ByteSpan name)
{
  ccw_member member;
  for (int64_t i = 0; i < bound->count; ++i)
    if (ccw_bound_at_(bound, i, &member) && ccw_is_named_(&name, member.name, strlen(member.name))) return true;
  return false;
}

/* The name in the frame that is not bound and was probably meant to be this one; -1 for none. */
CCW_COLD int64_t ccw_misspelt_(const ccw_bound_ *bound, const XLA_FFI_Attrs *attrs, const char *name)
{
  int64_t nearest = -1;
  size_t limit = 1 + strlen(name) / 3, best = limit + 1;
  for (int64_t i = 0; i < attrs->size; ++i) {
    if (ccw_binds_name_(bound, *attrs->names[i])) continue;
    size_t distance = ccw_distance_(*attrs->names[i], name);
    if (distance >= best || distance >= strlen(name)) continue;
    best = distance;
    nearest = i;
  }
  return nearest;
}

CCW_COLD void ccw_report_extra_(
    ccw_report *report, const ccw_bound_ *bound, const XLA_FFI_Attrs *attrs, const ccw_path_ *outside, int64_t place)
{
  ccw_member member;
  for (int64_t i = 0; i < bound->count; ++i)
    if (ccw_bound_at_(bound, i, &member) && ccw_seek_(attrs, member.name) < 0 &&
        ccw_misspelt_(bound, attrs, member.name) == place)
      return; /* said already where that one is missing */
  ccw_problem_(report, XLA_FFI_Error_Code_INVALID_ARGUMENT);
  ccw_report_add_(report, "attribute ");
  ccw_say_name_(report, *attrs->names[place]);
  if (outside) {
    ccw_report_add_(report, " of '");
    ccw_say_path_(report, outside);
    ccw_report_add_(report, "'");
  }
  ccw_report_add_(report, ": not expected; bound: ");
  const char *comma = "";
  for (int64_t i = 0; i < bound->count; ++i) {
    if (!ccw_bound_at_(bound, i, &member)) continue;
    ccw_report_add_(report, "%s'%s'", comma, member.name);
    comma = ", ";
  }
  if (!*comma) ccw_report_add_(report, "none");
}

/* Says what makes a dictionary unreadable; true where it can be read. */
CCW_COLD bool ccw_report_readable_(ccw_report *report, const XLA_FFI_Attrs *attrs, const ccw_path_ *outside)
{
  const char *problem = NULL;
  if (!attrs || attrs->size < 0)
    problem = attrs ? "of a size below zero" : "without anything";
  else if (!ccw_is_readable_(attrs))
    problem = "without its arrays";
  else
    for (int64_t i = 0; i < attrs->size && !problem; ++i) {
      const XLA_FFI_ByteSpan *name = attrs->names[i];
      if (!name || (!name->ptr && name->len > 0)) problem = "with an attribute that has no name";
    }
  if (!problem) return true;
  ccw_problem_(report, XLA_FFI_Error_Code_INVALID_ARGUMENT);
  ccw_report_add_(report, "attribute%s", outside ? " '" : "s: ");
  if (outside) {
    ccw_say_path_(report, outside);
    ccw_report_add_(report, "': ");
  }
  ccw_report_add_(report, "expected a dictionary, got one %s", problem);
  return false;
}

/* Two names that are equal, or stand in the wrong order. */
CCW_COLD void ccw_report_order_(ccw_report *report, const XLA_FFI_Attrs *attrs)
{
  for (int64_t i = 1; i < attrs->size; ++i) {
    XLA_FFI_ByteSpan a = *attrs->names[i - 1], b = *attrs->names[i];
    size_t shorter = a.len < b.len ? a.len : b.len;
    int order = shorter ? memcmp(a.ptr, b.ptr, shorter) : 0;
    if (order < 0 || (order == 0 && a.len < b.len)) continue;
    ccw_problem_(report, XLA_FFI_Error_Code_INVALID_ARGUMENT);
    ccw_report_add_(report, "attributes: expected in the order of their names, got ");
    ccw_say_name_(report, a);
    ccw_report_add_(report, " before ");
    ccw_say_name_(report, b);
    return;
  }
}

CCW_COLD void ccw_report_attributes_(
    ccw_report *report, const ccw_bound_ *bound, const XLA_FFI_Attrs *attrs, const ccw_path_ *outside);

CCW_COLD void ccw_report_attribute_(ccw_report *report, ccw_member member, ccw_attribute attribute,
    const ccw_path_ *outside, const XLA_FFI_CallFrame *frame)
{
  if (!ccw_is_of_kind_(attribute, member.kind)) {
    ccw_say_attribute_place_(report, outside, member.name);
    ccw_report_add_(report, "expected ");
    ccw_say_kind_(report, member.kind);
    ccw_report_add_(report, ", got ");
    const XLA_FFI_Scalar *scalar = (const XLA_FFI_Scalar *)attribute.value;
    if (member.kind.form == CCW_FORM_ENUM && scalar && attribute.type == XLA_FFI_AttrType_SCALAR && scalar->value &&
        ccw_number_at_(&scalar->dtype) == member.kind.dtype)
      ccw_report_add_(report, "%lld", (long long)ccw_integer_of_(scalar));
    else
      ccw_say_attribute_(report, attribute);
    return;
  }
  ccw_path_ path = {outside, member.name};
  const XLA_FFI_Attrs *inside = (const XLA_FFI_Attrs *)attribute.value;
  if (member.kind.form == CCW_FORM_STRUCT) {
    const ccw_struct_info *info = (const ccw_struct_info *)member.kind.detail;
    ccw_bound_ members = {info->members, NULL, info->count};
    ccw_report_attributes_(report, &members, inside, &path);
  } else if (member.kind.form == CCW_FORM_DICTIONARY) {
    ccw_report_readable_(report, inside, &path);
  } else if (member.kind.form == CCW_FORM_TYPE && ((const ccw_type_info *)member.kind.detail)->check) {
    ccw_status status = ((const ccw_type_info *)member.kind.detail)->check(frame, attribute, NULL);
    if (!status.code) return;
    ccw_say_attribute_place_(report, outside, member.name);
    if (report->problems == 1) report->code = status.code;
    ccw_report_add_(report, "%s", ccw_status_text(status));
    ccw_status_free(status);
  }
}

/* An attribute that is not there; `misspelt` is the place of the name that was probably meant to be it, or -1. */
CCW_COLD void ccw_report_missing_(
    ccw_report *report, ccw_member member, const XLA_FFI_Attrs *attrs, const ccw_path_ *outside, int64_t misspelt)
{
  ccw_say_attribute_place_(report, outside, member.name);
  ccw_report_add_(report, "expected ");
  ccw_say_kind_(report, member.kind);
  if (misspelt < 0) {
    ccw_report_add_(report, ", got none; present: ");
    ccw_say_names_(report, attrs);
    return;
  }
  ccw_report_add_(report, ", got none; misspelt as ");
  ccw_say_name_(report, *attrs->names[misspelt]);
  ccw_report_add_(report, "?");
}

/* A name that an earlier word bound already: a mistake of the handler's author. */
CCW_COLD void ccw_report_twice_(ccw_report *report, const ccw_bound_ *bound, int64_t place, const ccw_path_ *outside)
{
  ccw_member member, earlier;
  if (!ccw_bound_at_(bound, place, &member)) return;
  for (int64_t i = 0; i < place; ++i)
    if (ccw_bound_at_(bound, i, &earlier) && strcmp(earlier.name, member.name) == 0) {
      ccw_say_attribute_place_(report, outside, member.name);
      if (report->problems == 1) report->code = XLA_FFI_Error_Code_INTERNAL;
      ccw_report_add_(report, "the handler binds it twice");
    }
}

/* A dictionary that must hold just what is bound. */
CCW_COLD void ccw_report_attributes_(
    ccw_report *report, const ccw_bound_ *bound, const XLA_FFI_Attrs *attrs, const ccw_path_ *outside)
{
  if (!ccw_report_readable_(report, attrs, outside)) return;
  ccw_member member;
  for (int64_t i = 0; i < bound->count; ++i) {
    if (!ccw_bound_at_(bound, i, &member)) continue;
    ccw_report_twice_(report, bound, i, outside);
    int64_t place = ccw_seek_(attrs, member.name);
    if (place >= 0) {
      ccw_attribute attribute = {ccw_number_at_(&attrs->types[place]), attrs->attrs[place]};
      ccw_report_attribute_(report, member, attribute, outside, NULL);
      continue;
    }
    ccw_report_missing_(report, member, attrs, outside, ccw_misspelt_(bound, attrs, member.name));
  }
  for (int64_t i = 0; i < attrs->size; ++i)
    if (!ccw_binds_name_(bound, *attrs->names[i])) ccw_report_extra_(report, bound, attrs, outside, i);
  ccw_report_order_(report, attrs);
}

/* ---- arguments and results ------------------------------------------------------------------------------------------ */

/* How many operands of a family a binding takes. */
typedef struct ccw_arity_ {
  int64_t least, most; /* of them; most is -1 where any number may follow */
} ccw_arity_;

CCW_COLD ccw_arity_ ccw_arity_of_(const ccw_binding *binding, ccw_word one, ccw_word optional, ccw_word remaining)
{
  ccw_arity_ arity = {0, 0};
  for (int64_t i = 0; i < binding->count; ++i) {
    ccw_word word = binding->parameters[i].word;
    arity.least += word == one;
    if (word == remaining)
      arity.most = -1;
    else if (arity.most >= 0)
      arity.most += word == one || word == optional;
  }
  return arity;
}

/* Says what is wrong with the number of operands; true where it fits. A binding that binds none takes any number. */
CCW_COLD bool ccw_report_count_(ccw_report *report, const char *family, int64_t count, ccw_arity_ arity)
{
  if (arity.most == 0 || (count >= arity.least && (arity.most < 0 || count <= arity.most))) return true;
  ccw_problem_(report, XLA_FFI_Error_Code_INVALID_ARGUMENT);
  long long least = (long long)arity.least, most = (long long)arity.most, got = (long long)count;
  if (arity.most < 0)
    ccw_report_add_(report, "expected at least %lld %s%s, got %lld", least, family, least == 1 ? "" : "s", got);
  else if (least < most)
    ccw_report_add_(report, "expected %lld to %lld %ss, got %lld", least, most, family, got);
  else
    ccw_report_add_(report, "expected %lld %s%s, got %lld", least, family, least == 1 ? "" : "s", got);
  return false;
}

CCW_COLD void ccw_report_operand_(ccw_report *report, const char *family, int64_t place, const char *name,
    ccw_kind kind, int64_t rank, int type, const XLA_FFI_Buffer *buffer)
{
  bool is_buffer = type == 1;
  bool fits = is_buffer && ccw_is_sound_(buffer) && (kind.dtype == 0 || ccw_number_at_(&buffer->dtype) == kind.dtype) &&
              (rank < 0 || buffer->rank == rank);
  if (!fits) {
    ccw_say_place_(report, family, place, name);
    ccw_report_add_(report, "expected ");
    ccw_say_type_(report, kind.dtype, rank);
    ccw_report_add_(report, ", got ");
    if (is_buffer)
      ccw_say_buffer_(report, buffer);
    else
      ccw_report_add_(report, "an operand of kind %d, which is no buffer", type);
  } else if (kind.form == CCW_FORM_TYPE && ((const ccw_type_info *)kind.detail)->check) {
    ccw_attribute none = {0, NULL};
    ccw_status status = ((const ccw_type_info *)kind.detail)->check(NULL, none, buffer);
    if (!status.code) return;
    ccw_say_place_(report, family, place, name);
    if (report->problems == 1) report->code = status.code;
    ccw_report_add_(report, "%s", ccw_status_text(status));
    ccw_status_free(status);
  }
}

/* One family, arguments or results. `types` and `operands` are the frame's arrays. */
CCW_COLD void ccw_report_family_(ccw_report *report, const ccw_binding *binding, bool results, int64_t count,
    const void *types, void *const *operands)
{
  const char *family = results ? "result" : "arg";
  ccw_word one = results ? CCW_WORD_RET : CCW_WORD_ARG,
           optional = results ? CCW_WORD_OPTIONAL_RET : CCW_WORD_OPTIONAL_ARG;
  ccw_word remaining = results ? CCW_WORD_REMAINING_RETS : CCW_WORD_REMAINING_ARGS;
  ccw_arity_ arity = ccw_arity_of_(binding, one, optional, remaining);
  if (arity.most == 0 || !ccw_report_count_(report, family, count, arity)) return;
  if (count > 0 && !(types && operands)) {
    ccw_problem_(report, XLA_FFI_Error_Code_INVALID_ARGUMENT);
    ccw_report_add_(report, "the frame lacks the arrays of its %ss", family);
    return;
  }
  int64_t place = 0;
  for (int64_t i = 0; i < binding->count; ++i) {
    const ccw_parameter *parameter = &binding->parameters[i];
    if (parameter->word != one && parameter->word != optional) continue;
    if (place == count) break; /* the rest are optional ones that are not given */
    int type;
    memcpy(&type, (const char *)types + (size_t)place * sizeof type, sizeof type);
    ccw_report_operand_(report, family, place, parameter->name, parameter->kind, parameter->rank, type,
        (const XLA_FFI_Buffer *)operands[place]);
    ++place;
  }
}

/* ---- the whole frame ------------------------------------------------------------------------------------------------ */

CCW_COLD const char *ccw_name_of_stage_(int stage)
{
  switch (stage) {
#define CCW_STAGE_NAME(NAME, name, number) \
  case number: return #name;
    CCW_STAGES(CCW_STAGE_NAME)
#undef CCW_STAGE_NAME
  default: return "unknown stage";
  }
}

CCW_COLD const char *ccw_name_of_context_(ccw_context context)
{
  switch (context) {
#define CCW_CONTEXT_NAME(NAME, name, minor) \
  case CCW_CONTEXT_##NAME: return #name;
    CCW_CONTEXTS(CCW_CONTEXT_NAME)
#undef CCW_CONTEXT_NAME
  }
  return "";
}

CCW_COLD void ccw_report_contexts_(ccw_report *report, const XLA_FFI_CallFrame *frame, const ccw_binding *binding)
{
  int64_t place = 0;
  for (int64_t i = 0; i < binding->count; ++i) {
    const ccw_parameter *parameter = &binding->parameters[i];
    if (parameter->word != CCW_WORD_CTX) continue;
    ccw_status status = ccw_ask_(frame, parameter->context, parameter->kind.detail);
    if (status.code) {
      ccw_say_place_(report, "context", place, parameter->name);
      ccw_report_add_(report, "%s: %s", ccw_name_of_context_(parameter->context), ccw_status_text(status));
      ccw_status_free(status);
    }
    ++place;
  }
}

CCW_COLD void ccw_report_frame_(ccw_report *report, const XLA_FFI_CallFrame *frame, const ccw_binding *binding)
{
  int stage = ccw_number_at_(&frame->stage);
  if (stage != (int)binding->stage) {
    ccw_problem_(report, XLA_FFI_Error_Code_INVALID_ARGUMENT);
    ccw_report_add_(
        report, "expected stage %s, got %s", ccw_name_of_stage_((int)binding->stage), ccw_name_of_stage_(stage));
    return;
  }
  ccw_report_contexts_(report, frame, binding);
  ccw_report_family_(report, binding, false, frame->args.size, frame->args.types, frame->args.args);
  ccw_report_family_(report, binding, true, frame->rets.size, frame->rets.types, frame->rets.rets);
  ccw_bound_ bound = {NULL, binding->parameters, binding->count};
  bool names = false;
  for (int64_t i = 0; i < binding->count; ++i) {
    const ccw_parameter *parameter = &binding->parameters[i];
    names |= parameter->word == CCW_WORD_ATTR;
    if (parameter->word != CCW_WORD_ATTRS) continue;
    const ccw_struct_info *info = (const ccw_struct_info *)parameter->kind.detail;
    ccw_bound_ members = {info ? info->members : NULL, NULL, info ? info->count : 0};
    if (parameter->kind.form == CCW_FORM_STRUCT)
      ccw_report_attributes_(report, &members, &frame->attrs, NULL);
    else
      ccw_report_readable_(report, &frame->attrs, NULL);
  }
  if (names) ccw_report_attributes_(report, &bound, &frame->attrs, NULL);
}

/* The head of a report: "scale: execute:", and how many problems there are where there are several. */
CCW_COLD void ccw_report_head_(ccw_report *report, const ccw_binding *binding, int64_t problems)
{
  ccw_report_add_(report, "%s: %s:", binding->name, ccw_name_of_stage_((int)binding->stage));
  if (problems != 1) ccw_report_add_(report, " %lld bad operands", (long long)problems);
}

/* What is wrong with the frame, in one text; success where it fits the binding. */
CCW_COLD ccw_status ccw_check_frame_(const XLA_FFI_CallFrame *frame, const ccw_binding *binding)
{
  ccw_report counted = {NULL, 0, 0, 0, XLA_FFI_Error_Code_OK};
  ccw_report_frame_(&counted, frame, binding);
  if (counted.problems == 0) return ccw_ok();
  int64_t problems = counted.problems;
  ccw_report_head_(&counted, binding, problems);

  ccw_message *message = ccw_message_new_(counted.length);
  if (!message) return ccw_status_of_message_(counted.code, NULL);
  ccw_report report = {(char *)(message + 1), counted.length + 1, 0, 0, XLA_FFI_Error_Code_OK};
  ccw_report_head_(&report, binding, problems);
  ccw_report_frame_(&report, frame, binding);
  /* A problem that is alone stands on the line of the head. */
  char *line = problems == 1 ? strchr(report.text, '\n') : NULL;
  if (line) memmove(line, line + 2, strlen(line + 2) + 1);
  memset(report.text + strlen(report.text), 0, counted.length - strlen(report.text));
  return ccw_status_of_message_(counted.code, message);
}

/* ---- the edge of a handler ------------------------------------------------------------------------------------------ */

/* A failure as it leaves a handler, with the handler's name and the stage in front. */
CCW_COLD XLA_FFI_Error *ccw_leave_(const XLA_FFI_CallFrame *frame, const ccw_binding *binding, ccw_status status)
{
  ccw_message *named =
      ccw_message_print_("%s: %s: %s", binding->name, ccw_name_of_stage_((int)binding->stage), ccw_status_text(status));
  if (!named) return ccw_send_(frame->api, status);
  ccw_status_free(status);
  return ccw_send_(frame->api, ccw_status_of_message_(status.code, named));
}

/* Fills in the answer, where the frame is the question for metadata. */
CCW_COLD bool ccw_answer_metadata_(const XLA_FFI_CallFrame *frame, const ccw_binding *binding, ccw_status *out_status)
{
  const XLA_FFI_InternalExtension *extension = frame->extension_start;
  if (!extension || ccw_number_at_(&extension->type) != XLA_FFI_Extension_Metadata) return false;
  *out_status = ccw_ok();
  bool is_whole = extension->struct_size >= XLA_FFI_Metadata_Extension_STRUCT_SIZE;
  XLA_FFI_Metadata *metadata =
      is_whole ? ((const XLA_FFI_Metadata_Extension *)(const void *)extension)->metadata : NULL;
  if (!metadata || metadata->struct_size < XLA_FFI_Metadata_STRUCT_SIZE) {
    *out_status =
        ccw_invalid("%s: the question for metadata is of another size than FFI API 0.1 to 0.5 have it", binding->name);
    return true;
  }
  if (binding->state && binding->state->type_id == 0) {
    *out_status = ccw_failed_precondition("the type of its state is to be registered before the handler is");
    return true;
  }
  metadata->api_version.major_version = 0;
  metadata->api_version.minor_version = binding->minor;
  metadata->traits = binding->traits;
  /* Runtimes before 0.2 have no room for it, and no state. */
  bool has_room =
      frame->api && (frame->api->api_version.major_version > 0 || frame->api->api_version.minor_version >= 2);
  if (has_room) metadata->state_type_id.type_id = binding->state ? binding->state->type_id : 0;
  return true;
}

/* A frame that a handler did not take: the question for metadata, an error with all that is wrong, or a frame with an
 * extension that is not known, which is handed to the handler again without it. */
CCW_COLD XLA_FFI_Error *ccw_refuse_(XLA_FFI_CallFrame *frame, const ccw_binding *binding)
{
  if (frame->struct_size != XLA_FFI_CallFrame_STRUCT_SIZE)
    return ccw_send_(
        frame->api, ccw_invalid("%s: expected a frame of %d bytes, got %zu: another FFI API than 0.1 to 0.5",
                        binding->name, (int)XLA_FFI_CallFrame_STRUCT_SIZE, frame->struct_size));
  ccw_status status;
  if (!ccw_answer_metadata_(frame, binding, &status))
    status = ccw_check_frame_(frame, binding);
  else if (!status.code)
    return NULL;
  if (!status.code && frame->extension_start) {
    XLA_FFI_CallFrame plain = *frame;
    plain.extension_start = NULL;
    XLA_FFI_Error *error = binding->handler(&plain);
    frame->future = plain.future;
    return error;
  }
  if (!status.code) status = ccw_internal("%s: the frame changed while it was read", binding->name);
  return ccw_send_(frame->api, status);
}

#ifdef __cplusplus
}
#endif

#endif

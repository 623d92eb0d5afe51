#include <string.h>

#include "base/text.h"
#include "call/problems.h"
#include "call/signature.h"

/* Two signatures that are compared. */
typedef struct pair {
  const ccw_signature *declared, *told;
  ccw_problems problems;
} pair;

/* ---- operands ------------------------------------------------------------------------------------------------------ */

/* "2 args, 1 optional, and the remaining ones". */
static void say_counts(const ccw_signature *signature, const ccw_operands *family, ccw_text *text)
{
  int64_t regular = ccw_signature_count(signature, family->regular);
  int64_t optional = ccw_signature_count(signature, family->optional);
  ccw_text_add(text, "%lld %s%s", (long long)regular, family->noun, regular == 1 ? "" : "s");
  if (optional > 0) ccw_text_add(text, ", %lld optional", (long long)optional);
  if (ccw_signature_count(signature, family->remaining) > 0) ccw_text_add(text, ", and the remaining ones");
}

static bool have_same_counts(const pair *p, const ccw_operands *family)
{
  const ccw_word words[] = {family->regular, family->optional, family->remaining};
  for (int i = 0; i < 3; ++i)
    if (ccw_signature_count(p->declared, words[i]) != ccw_signature_count(p->told, words[i])) return false;
  return true;
}

/* Whether all that fits the declared pattern fits the told one, as far as dtype, rank and sizes go. */
static bool is_within(const ccw_signature_pattern *declared, const ccw_signature_pattern *told)
{
  if (declared->is_unknown || told->is_unknown) return true;
  if ((declared->dtypes & ~told->dtypes) != 0 || (declared->ranks & ~told->ranks) != 0) return false;
  for (int64_t i = 0; i < told->size; ++i)
    if (told->dims[i].size >= 0 && told->dims[i].size != (i < declared->size ? declared->dims[i].size : -1))
      return false;
  return true;
}

/* The next operand of a family from parameter `i` on, remaining ones left out; the number of parameters where there is
 * none. */
static int64_t next_operand(const ccw_signature *signature, const ccw_operands *family, int64_t i)
{
  const ccw_binding *binding = &signature->binding;
  while (i < binding->count && (ccw_operands_order(family, binding->parameters[i].word) < 0 || !signature->patterns[i]))
    ++i;
  return i;
}

static void compare_operands(pair *p, const ccw_operands *family)
{
  ccw_text *text = &p->problems.text;
  if (!have_same_counts(p, family)) {
    ccw_problem(&p->problems);
    ccw_text_add(text, "declared ");
    say_counts(p->declared, family, text);
    ccw_text_add(text, "; the binary binds ");
    say_counts(p->told, family, text);
    return;
  }
  int64_t i = 0, j = 0;
  for (int64_t place = 0;; ++place, ++i, ++j) {
    i = next_operand(p->declared, family, i);
    j = next_operand(p->told, family, j);
    if (i == p->declared->binding.count) return;
    if (is_within(p->declared->patterns[i], p->told->patterns[j])) continue;
    ccw_problem_at(&p->problems, family->noun, place, p->declared->binding.parameters[i].name);
    ccw_text_add(text, "declared ");
    ccw_signature_print_pattern(p->declared->patterns[i], text);
    ccw_text_add(text, ", the binary binds ");
    ccw_signature_print_pattern(p->told->patterns[j], text);
  }
}

/* ---- attributes ---------------------------------------------------------------------------------------------------- */

/* A dictionary's attributes: bound ones, or members of a struct. `outside` is the struct's path, "" or "range.". */
typedef struct names {
  const ccw_parameter *parameters; /* or NULL: members */
  const ccw_member *members;
  int64_t count;
} names;

/* Number `i` of them; false for a parameter that is no attribute. */
static bool name_at(const names *list, int64_t i, ccw_member *out_member)
{
  if (list->members) {
    *out_member = list->members[i];
    return true;
  }
  *out_member = (ccw_member){list->parameters[i].name, list->parameters[i].kind};
  return list->parameters[i].word == CCW_WORD_ATTR;
}

static bool find_name(const names *list, const char *name, ccw_member *out_member)
{
  for (int64_t i = 0; i < list->count; ++i)
    if (name_at(list, i, out_member) && strcmp(out_member->name, name) == 0) return true;
  return false;
}

/* Whether one kind may stand for the other: a scalar for an enum or a pointer of its dtype, a dictionary for a struct,
 * anything for what is unknown or somebody's own. */
static bool are_alike(ccw_kind a, ccw_kind b)
{
  static const struct {
    bool is_open, is_scalar, is_dictionary;
  } forms[] = {[CCW_FORM_UNKNOWN] = {.is_open = true},
      [CCW_FORM_TYPE] = {.is_open = true},
      [CCW_FORM_SCALAR] = {.is_scalar = true},
      [CCW_FORM_ENUM] = {.is_scalar = true},
      [CCW_FORM_POINTER] = {.is_scalar = true},
      [CCW_FORM_DICTIONARY] = {.is_dictionary = true},
      [CCW_FORM_STRUCT] = {.is_dictionary = true}};
  if (a.form == CCW_FORM_POINTER) a.dtype = XLA_FFI_DataType_S64;
  if (b.form == CCW_FORM_POINTER) b.dtype = XLA_FFI_DataType_S64;
  if (forms[a.form].is_open || forms[b.form].is_open) return true;
  if (forms[a.form].is_scalar && forms[b.form].is_scalar) return a.dtype == b.dtype;
  if (forms[a.form].is_dictionary && forms[b.form].is_dictionary) return true;
  return a.form == b.form && a.dtype == b.dtype;
}

static void compare_names(pair *p, const char *outside, const names *declared, const names *told, bool is_open);

static void begin_attribute(pair *p, const char *outside, const char *name)
{
  ccw_problem(&p->problems);
  ccw_text_add(&p->problems.text, "attribute '%s", outside);
  ccw_text_add_escaped(&p->problems.text, name, strlen(name));
  ccw_text_add(&p->problems.text, "': ");
}

/* The members of two structs of one name. */
static void compare_members(pair *p, const char *outside, const char *name, ccw_kind declared, ccw_kind told)
{
  if (declared.form != CCW_FORM_STRUCT || told.form != CCW_FORM_STRUCT) return;
  const ccw_struct_info *a = declared.detail, *b = told.detail;
  ccw_text path = {0};
  ccw_text_add(&path, "%s", outside);
  ccw_text_add_escaped(&path, name, strlen(name));
  ccw_text_add(&path, ".");
  names x = {NULL, a->members, a->count}, y = {NULL, b->members, b->count};
  compare_names(p, ccw_text_data(&path), &x, &y, false);
  p->problems.text.failed |= path.failed;
  ccw_text_free(&path);
}

static void compare_attribute(pair *p, const char *outside, ccw_member declared, ccw_kind told)
{
  if (are_alike(declared.kind, told)) {
    compare_members(p, outside, declared.name, declared.kind, told);
    return;
  }
  ccw_text *text = &p->problems.text;
  begin_attribute(p, outside, declared.name);
  ccw_text_add(text, "declared ");
  ccw_signature_print_kind(declared.kind, text);
  ccw_text_add(text, ", the binary binds ");
  ccw_signature_print_kind(told, text);
}

/* `is_open`: the binary reads further attributes late, so that more of them may be declared. */
static void compare_names(pair *p, const char *outside, const names *declared, const names *told, bool is_open)
{
  ccw_member mine, other;
  for (int64_t i = 0; i < declared->count; ++i) {
    if (!name_at(declared, i, &mine)) continue;
    if (find_name(told, mine.name, &other)) {
      compare_attribute(p, outside, mine, other.kind);
    } else if (!is_open) {
      begin_attribute(p, outside, mine.name);
      ccw_text_add(&p->problems.text, "declared, and the binary binds none of that name");
    }
  }
  for (int64_t i = 0; i < told->count; ++i) {
    if (!name_at(told, i, &other) || find_name(declared, other.name, &mine)) continue;
    begin_attribute(p, outside, other.name);
    ccw_text_add(&p->problems.text, "not declared, and the binary binds it as ");
    ccw_signature_print_kind(other.kind, &p->problems.text);
  }
}

static void compare_attributes(pair *p)
{
  const ccw_binding *a = &p->declared->binding, *b = &p->told->binding;
  names declared = {a->parameters, NULL, a->count}, told = {b->parameters, NULL, b->count};
  bool is_open = ccw_signature_count(p->told, CCW_WORD_ATTRS) > 0;
  compare_names(p, "", &declared, &told, is_open);
  if (is_open || ccw_signature_count(p->declared, CCW_WORD_ATTRS) == 0) return;
  ccw_problem(&p->problems);
  ccw_text_add(&p->problems.text, "attributes: '...' is declared, and the binary takes no further ones");
}

ccw_status ccw_signature_agree(const ccw_signature *declared, const ccw_signature *told, const char *who)
{
  pair p = {declared, told, {{0}, 0}};
  compare_operands(&p, &ccw_args);
  compare_operands(&p, &ccw_rets);
  compare_attributes(&p);
  return ccw_problems_status(&p.problems, who ? who : declared->binding.name, "disagreements");
}

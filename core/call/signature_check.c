#include <string.h>

#include <ccw/report.h>

#include "base/text.h"
#include "call/problems.h"
#include "call/signature.h"

enum { FEW = 16, OF_DTYPE = -1 };

/* What a capture stands for, and where that was found. */
typedef struct slot {
  bool is_set;
  int64_t value;     /* a size, or a dtype */
  int64_t parameter; /* of the binding */
  int64_t place;     /* of the operand among its like */
  int64_t dim;       /* OF_DTYPE for a letter */
} slot;

/* A call that is checked. */
typedef struct matcher {
  const ccw_signature *signature;
  slot *slots; /* by capture */
  slot few[FEW];
  ccw_problems problems;
} matcher;

static size_t slots_size(const ccw_signature *signature) { return (size_t)signature->captures * sizeof(slot); }

static ccw_status begin(const ccw_signature *signature, matcher *out_matcher)
{
  *out_matcher = (matcher){.signature = signature, .slots = out_matcher->few};
  if (signature->captures > FEW) out_matcher->slots = ccw_allocate_zeroed(slots_size(signature));
  return out_matcher->slots ? ccw_ok() : ccw_no_memory(slots_size(signature));
}

static ccw_status finish(matcher *m, const char *who, const char *what)
{
  if (m->slots != m->few) ccw_release(m->slots, slots_size(m->signature));
  return ccw_problems_status(&m->problems, who ? who : m->signature->binding.name, what);
}

/* ---- operands ------------------------------------------------------------------------------------------------------ */

/* An operand before its pattern. */
typedef struct operand {
  int64_t parameter, place;
  const ccw_signature_pattern *pattern;
  const ccw_shape *shape;
} operand;

/* Where an operand stands that was captured from. */
static const ccw_operands *family_of(ccw_word word)
{
  return ccw_operands_order(&ccw_args, word) >= 0 ? &ccw_args : &ccw_rets;
}

/* Whether what was found is what the capture stands for, from now on if it is the first. */
static bool meet(matcher *m, const ccw_signature_capture *capture, const operand *o, int64_t dim, int64_t value)
{
  slot *s = &m->slots[capture->number];
  if (!s->is_set) *s = (slot){true, value, o->parameter, o->place, dim};
  return s->value == value;
}

static bool fits(matcher *m, const operand *o)
{
  const ccw_signature_pattern *pattern = o->pattern;
  bool good = (pattern->dtypes >> o->shape->dtype & 1) && (pattern->ranks >> o->shape->rank & 1);
  if (pattern->letter) good &= meet(m, pattern->letter, o, OF_DTYPE, o->shape->dtype);
  for (int64_t i = 0; i < pattern->size && i < o->shape->rank; ++i) {
    const ccw_signature_dim *dim = &pattern->dims[i];
    if (dim->size >= 0) good &= dim->size == o->shape->dims[i];
    if (dim->capture) good &= meet(m, dim->capture, o, i, o->shape->dims[i]);
  }
  return good;
}

/* "n = 128 (captured from arg 0 'x', dim 1)", where the capture stands for something else than what was found. */
static void say_conflict(
    matcher *m, const ccw_signature_capture *capture, const operand *o, int64_t value, const char **word)
{
  const slot *s = &m->slots[capture->number];
  ccw_text *text = &m->problems.text;
  if (s->value == value) return;
  ccw_text_add(text, "%s%s = ", *word, capture->name);
  *word = " and ";
  if (capture->is_letter)
    ccw_text_add(text, "%s (captured from ", ccw_dtype_name((ccw_dtype)s->value));
  else
    ccw_text_add(text, "%lld (captured from ", (long long)s->value);
  const ccw_parameter *parameter = &m->signature->binding.parameters[s->parameter];
  if (s->parameter != o->parameter) {
    ccw_text_add_place(text, family_of(parameter->word)->noun, s->place, parameter->name);
    if (!capture->is_letter) ccw_text_add(text, ", ");
  }
  if (!capture->is_letter) ccw_text_add(text, "dim %lld", (long long)s->dim);
  ccw_text_add(text, ")");
}

/* Whether a dim before dim `i` has told of the same capture. */
static bool is_said(const matcher *m, const operand *o, int64_t i)
{
  const ccw_signature_dim *dims = o->pattern->dims;
  for (int64_t j = 0; j < i; ++j)
    if (dims[j].capture == dims[i].capture && m->slots[dims[i].capture->number].value != o->shape->dims[j]) return true;
  return false;
}

static void say_misfit(matcher *m, const operand *o)
{
  const ccw_parameter *parameter = &m->signature->binding.parameters[o->parameter];
  ccw_text *text = &m->problems.text;
  const char *word = " with ";
  ccw_problem_at(&m->problems, family_of(parameter->word)->noun, o->place, parameter->name);
  ccw_text_add(text, "expected ");
  ccw_signature_print_pattern(o->pattern, text);
  if (o->pattern->letter) say_conflict(m, o->pattern->letter, o, o->shape->dtype, &word);
  for (int64_t i = 0; i < o->pattern->size && (o->pattern->ranks >> o->shape->rank & 1); ++i)
    if (o->pattern->dims[i].capture && !is_said(m, o, i))
      say_conflict(m, o->pattern->dims[i].capture, o, o->shape->dims[i], &word);
  ccw_text_add(text, ", got ");
  ccw_shape_print(o->shape, text);
}

/* What did not fit as a whole captures nothing. */
static void forget(matcher *m, int64_t parameter)
{
  for (int64_t i = 0; i < m->signature->captures; ++i)
    if (m->slots[i].parameter == parameter) m->slots[i].is_set = false;
}

/* Matches the operands of a family, whose number fits, with their patterns. */
static void match(matcher *m, const ccw_operands *family, const ccw_shape *const *shapes, int64_t count)
{
  const ccw_binding *binding = &m->signature->binding;
  int64_t place = 0;
  for (int64_t i = 0; i < binding->count && place < count; ++i) {
    int order = ccw_operands_order(family, binding->parameters[i].word);
    if (order < 0 || order == 2) continue;
    operand o = {i, place, m->signature->patterns[i], shapes[place]};
    ++place;
    if (o.pattern->is_unknown || fits(m, &o)) continue;
    say_misfit(m, &o);
    forget(m, i);
  }
}

/* ---- what handlers report ------------------------------------------------------------------------------------------ */

/* Adds what a handler would report: `write` is called to count and again to write. */
static void add_report(matcher *m, void (*write)(ccw_report *report, const void *what), const void *what)
{
  ccw_report counted = {.text = NULL};
  write(&counted, what);
  if (counted.problems == 0) return;
  size_t room = counted.length + 1;
  char *text = ccw_allocate(room);
  if (!text) {
    m->problems.text.failed = true;
    return;
  }
  ccw_report report = {.text = text, .room = room};
  write(&report, what);
  ccw_text_add_bytes(&m->problems.text, text, report.length);
  m->problems.count += report.problems;
  ccw_release(text, room);
}

typedef struct counted {
  const ccw_binding *binding;
  const ccw_operands *family;
  int64_t count;
} counted;

static void write_count(ccw_report *report, const void *what)
{
  const counted *c = what;
  const ccw_operands *family = c->family;
  ccw_report_count_(
      report, family->noun, c->count, ccw_arity_of_(c->binding, family->regular, family->optional, family->remaining));
}

/* Checks the number of the operands and then, where it is right, each one. */
static void check_family(matcher *m, const ccw_operands *family, const ccw_shape *const *shapes, int64_t count)
{
  int64_t before = m->problems.count;
  counted c = {&m->signature->binding, family, count};
  add_report(m, write_count, &c);
  if (m->problems.count == before) match(m, family, shapes, count);
}

typedef struct bound {
  const ccw_signature *signature;
  const XLA_FFI_Attrs *attributes;
} bound;

/* One of the attributes, where others may be there too. */
static void write_attribute(ccw_report *report, const ccw_parameter *parameter, const XLA_FFI_Attrs *attributes)
{
  ccw_member member = {parameter->name, parameter->kind};
  int64_t place = ccw_seek_(attributes, member.name);
  if (place >= 0) {
    ccw_attribute attribute = {attributes->types[place], attributes->attrs[place]};
    ccw_report_attribute_(report, member, attribute, NULL, NULL);
    return;
  }
  ccw_say_attribute_place_(report, NULL, member.name);
  ccw_report_add_(report, "expected ");
  ccw_say_kind_(report, member.kind);
  ccw_report_add_(report, ", got none; present: ");
  ccw_say_names_(report, attributes);
}

static void write_attributes(ccw_report *report, const void *what)
{
  const bound *b = what;
  const ccw_binding *binding = &b->signature->binding;
  if (ccw_signature_count(b->signature, CCW_WORD_ATTR) == 0) return;
  if (ccw_signature_count(b->signature, CCW_WORD_ATTRS) == 0) {
    ccw_bound_ all = {NULL, binding->parameters, binding->count};
    ccw_report_attributes_(report, &all, b->attributes, NULL);
    return;
  }
  if (!ccw_report_readable_(report, b->attributes, NULL)) return;
  for (int64_t i = 0; i < binding->count; ++i)
    if (binding->parameters[i].word == CCW_WORD_ATTR) write_attribute(report, &binding->parameters[i], b->attributes);
}

ccw_status ccw_signature_check(const ccw_signature *signature, const char *who, const ccw_shape *const *operands,
    int64_t operand_count, const ccw_shape *const *results, int64_t result_count, const XLA_FFI_Attrs *attributes)
{
  matcher m;
  CCW_TRY(begin(signature, &m));
  check_family(&m, &ccw_args, operands, operand_count);
  check_family(&m, &ccw_rets, results, result_count);
  bound b = {signature, attributes ? attributes : ccw_attributes_abi(NULL)};
  add_report(&m, write_attributes, &b);
  return finish(&m, who, "bad operands");
}

/* ---- the short way ------------------------------------------------------------------------------------------------- */

/* What the captures stand for so far: a size, or a dtype; -1 for nothing yet. */
typedef struct seen {
  int64_t values[FEW];
} seen;

static bool is_same(seen *s, const ccw_signature_capture *capture, int64_t value)
{
  int64_t *known = &s->values[capture->number];
  if (*known < 0) *known = value;
  return *known == value;
}

static bool buffer_fits(seen *s, const ccw_signature_pattern *pattern, const XLA_FFI_Buffer *buffer)
{
  int dtype = ccw_number_at_(&buffer->dtype);
  if (pattern->is_unknown) return true;
  if (!ccw_is_sound_(buffer) || buffer->rank > CCW_MAX_RANK || dtype < 0 || dtype > 63) return false;
  if (!(pattern->dtypes >> dtype & 1) || !(pattern->ranks >> buffer->rank & 1)) return false;
  if (pattern->letter && !is_same(s, pattern->letter, dtype)) return false;
  for (int64_t i = 0; i < pattern->size; ++i) {
    const ccw_signature_dim *dim = &pattern->dims[i];
    if (dim->size >= 0 && dim->size != buffer->dims[i]) return false;
    if (dim->capture && !is_same(s, dim->capture, buffer->dims[i])) return false;
  }
  return true;
}

/* Whether an attribute is of a kind that can be told at a glance, and is of it. */
static bool attribute_fits(const ccw_parameter *parameter, const XLA_FFI_Attrs *attributes)
{
  ccw_form form = parameter->kind.form;
  if (form == CCW_FORM_STRUCT || form == CCW_FORM_DICTIONARY) return false;
  int64_t place = ccw_seek_(attributes, parameter->name);
  if (place < 0) return false;
  ccw_attribute attribute = {ccw_number_at_(&attributes->types[place]), attributes->attrs[place]};
  return ccw_is_of_kind_(attribute, parameter->kind);
}

/* Whether the names of a dictionary, which can be read, stand in their order, each once. */
static bool is_sorted(const XLA_FFI_Attrs *attributes)
{
  for (int64_t i = 0; i < attributes->size; ++i) {
    const XLA_FFI_ByteSpan *name = attributes->names[i], *before = i > 0 ? attributes->names[i - 1] : NULL;
    if (!name || (!name->ptr && name->len > 0)) return false;
    if (!before) continue;
    size_t shorter = name->len < before->len ? name->len : before->len;
    int order = shorter > 0 ? memcmp(before->ptr, name->ptr, shorter) : 0;
    if (order > 0 || (order == 0 && before->len >= name->len)) return false;
  }
  return true;
}

bool ccw_signature_fits(const ccw_signature *signature, const XLA_FFI_CallFrame *frame)
{
  const ccw_binding *binding = &signature->binding;
  int64_t place[2] = {0}, optional[2] = {0}, attributes = 0;
  bool open[2] = {false, false}, all = false;
  seen s;
  if (signature->captures > FEW) return false;
  for (int64_t i = 0; i < signature->captures; ++i) s.values[i] = -1;
  for (int64_t i = 0; i < binding->count; ++i) {
    const ccw_parameter *parameter = &binding->parameters[i];
    int family = ccw_operands_order(&ccw_rets, parameter->word) >= 0;
    int order = ccw_operands_order(family ? &ccw_rets : &ccw_args, parameter->word);
    int64_t count = family ? frame->rets.size : frame->args.size;
    void *const *buffers = family ? frame->rets.rets : frame->args.args;
    if (order == 2) {
      open[family] = true;
    } else if (order >= 0) {
      optional[family] += order;
      if (place[family] < count && !buffer_fits(&s, signature->patterns[i], buffers[place[family]])) return false;
      ++place[family];
    } else if (parameter->word == CCW_WORD_ATTR) {
      if (!ccw_is_readable_(&frame->attrs) || !attribute_fits(parameter, &frame->attrs)) return false;
      ++attributes;
    } else if (parameter->word == CCW_WORD_ATTRS) {
      all = true;
    }
  }
  for (int family = 0; family < 2; ++family) {
    int64_t count = family ? frame->rets.size : frame->args.size;
    if (place[family] == 0 && !open[family]) continue; /* of which nothing is bound is not looked at */
    if (count < place[family] - optional[family] || (!open[family] && count > place[family])) return false;
  }
  return !all && (attributes == 0 || (attributes == frame->attrs.size && is_sorted(&frame->attrs)));
}

/* ---- results ------------------------------------------------------------------------------------------------------- */

/* What a dim is according to the operands; -1: they do not say. */
static int64_t size_of(const matcher *m, const ccw_signature_dim *dim)
{
  if (dim->size >= 0 || !dim->capture) return dim->size;
  const slot *s = &m->slots[dim->capture->number];
  return s->is_set ? s->value : -1;
}

static int dtype_of(const matcher *m, const ccw_signature_pattern *pattern)
{
  if (!pattern->letter) return ccw_only_bit(pattern->dtypes);
  const slot *s = &m->slots[pattern->letter->number];
  return s->is_set ? (int)s->value : -1;
}

enum { TYPE = -4, DTYPE, RANK, NOTHING };

/* What of a result the operands do not determine: one of these, or a dim. */
static int64_t find_open(const matcher *m, const ccw_signature_pattern *pattern)
{
  if (pattern->is_unknown) return TYPE;
  if (dtype_of(m, pattern) < 0) return DTYPE;
  if (ccw_only_bit(pattern->ranks) < 0) return RANK;
  for (int64_t i = 0; i < pattern->size; ++i)
    if (size_of(m, &pattern->dims[i]) < 0) return i;
  return NOTHING;
}

static void say_open(matcher *m, const operand *o, int64_t open)
{
  static const char *const words[] = {"the type", "the dtype", "the rank"};
  ccw_text *text = &m->problems.text;
  const ccw_signature_capture *capture = open >= 0 ? o->pattern->dims[open].capture : NULL;
  if (open == DTYPE) capture = o->pattern->letter;
  ccw_problem_at(&m->problems, "result", o->place, m->signature->binding.parameters[o->parameter].name);
  ccw_signature_print_pattern(o->pattern, text);
  if (open < 0)
    ccw_text_add(text, ": %s", words[open - TYPE]);
  else
    ccw_text_add(text, ": dim %lld", (long long)open);
  if (capture) ccw_text_add(text, " '%s'", capture->name);
  ccw_text_add(text, " is not determined by the operands: give the results, or a signature with names");
}

static ccw_status shape_of(const matcher *m, const ccw_signature_pattern *pattern, ccw_shape *out_shape)
{
  int64_t dims[CCW_MAX_RANK];
  for (int64_t i = 0; i < pattern->size; ++i) dims[i] = size_of(m, &pattern->dims[i]);
  return ccw_shape_make((ccw_dtype)dtype_of(m, pattern), dims, (int32_t)pattern->size, out_shape);
}

static ccw_status determine(matcher *m, ccw_shape *out_shapes)
{
  const ccw_binding *binding = &m->signature->binding;
  operand o = {0};
  for (; o.parameter < binding->count; ++o.parameter) {
    if (binding->parameters[o.parameter].word != CCW_WORD_RET) continue;
    o.pattern = m->signature->patterns[o.parameter];
    int64_t open = find_open(m, o.pattern);
    if (open == NOTHING)
      CCW_TRY(shape_of(m, o.pattern, &out_shapes[o.place]));
    else
      say_open(m, &o, open);
    ++o.place;
  }
  return ccw_ok();
}

ccw_status ccw_signature_results(const ccw_signature *signature, const char *who, const ccw_shape *const *operands,
    int64_t operand_count, ccw_shape *out_results)
{
  matcher m;
  CCW_TRY(begin(signature, &m));
  check_family(&m, &ccw_args, operands, operand_count);
  ccw_status status = m.problems.count == 0 ? determine(&m, out_results) : ccw_ok();
  ccw_status problems = finish(&m, who, "bad operands");
  if (!status.code) return problems;
  ccw_status_free(problems);
  return status;
}

#include "runtime/ask.h"

#include <stdlib.h>
#include <string.h>

#include "base/reader.h"
#include "call/signature.h"
#include "runtime/asker.h"
#include "runtime/library.h"

enum {
  SURPLUS = 64, /* operands in a frame that is to show optional ones */
  NO_SIZE = -7, /* of a family: none that anybody accepts */
};

/* ---- counts ---------------------------------------------------------------------------------------------------------- */

/* Takes a complaint about the number of operands into account; false where nothing is learned from it. */
static bool note_count(ccw_asker *a, ccw_asked_family *f)
{
  int64_t number = 0;
  if (f->is_counted || !ccw_answer_number(ccw_asker_answer(a), f->complaint, &f->is_open, &number)) return false;
  if (number > CCW_ASKER_MOST || (!f->is_open && number < 0)) return false;
  f->is_counted = true;
  f->told = number;
  f->size = f->is_open ? SURPLUS : number;
  a->is_strict = ccw_asker_answer(a)[0] != '['; /* the stage, which later headers tell */
  return true;
}

static ccw_status note_attributes(ccw_asker *a, bool *out_learned)
{
  int64_t number;
  bool at_least;
  *out_learned = a->attrs.size == 0 &&
                 ccw_answer_number(ccw_asker_answer(a), CCW_TOPIC_ATTRIBUTES, &at_least, &number) && !at_least &&
                 number > 0 && number <= CCW_ASKER_MOST;
  return *out_learned ? ccw_asker_dictionary(a, number, &a->attrs) : ccw_ok();
}

/* Asks with more and more of the numbers right, until they are: then all operands are bad. */
static ccw_status count(ccw_asker *a)
{
  a->args.size = a->rets.size = NO_SIZE;
  for (bool learned = true; learned;) {
    ccw_asker_ask(a);
    switch (a->topic) {
    case CCW_TOPIC_ARGS: learned = note_count(a, &a->args); break;
    case CCW_TOPIC_RESULTS: learned = note_count(a, &a->rets); break;
    case CCW_TOPIC_ATTRIBUTES: CCW_TRY(note_attributes(a, &learned)); break;
    default: learned = false;
    }
  }
  return ccw_ok();
}

/* How many regular operands a family that is open has, of `bound` that are looked at. The number that headers tell is too
 * small, by the optional ones and by one where there are remaining ones: it is tried out. The body cannot run: a regular
 * operand is missing, or is bad, or what else is bad stays so. */
static int64_t find_regular(ccw_asker *a, ccw_asked_family *f, int64_t bound)
{
  for (int64_t regular = 0; regular < bound; ++regular) {
    f->size = regular;
    ccw_asker_ask(a);
    if (!ccw_asker_has(a, f->complaint)) return regular;
  }
  return bound;
}

/* `bound` operands complained of being no buffers. Of a family that nothing is said of any number is accepted, which means
 * that none is bound, unless the answer was unclear. */
static void settle(ccw_asker *a, ccw_asked_family *f, int64_t bound, bool is_unclear)
{
  f->has_remaining = f->is_open || (is_unclear && !f->is_counted);
  if (!f->is_counted) f->size = 0;
  if (!f->is_open) f->regular = f->size;
  if (!f->is_open || bound >= SURPLUS) return; /* of those that are open there are perhaps more */
  f->regular = find_regular(a, f, bound);
  f->optional = bound - f->regular;
  f->has_remaining = f->optional == 0 || f->told != f->regular - f->optional;
  f->size = bound;
}

/* ---- operands -------------------------------------------------------------------------------------------------------- */

/* Whether the buffer that was just asked about was taken. An optional one of a wrong type is complained of, and then taken
 * for one that is not there. */
static bool was_buffer_taken(const ccw_asker *a, const ccw_asked_family *f, bool is_optional)
{
  if (!is_optional) return ccw_asker_was_taken(a);
  return ccw_asker_has(a, CCW_TOPIC_OPERANDS) && ccw_answer_count(ccw_asker_answer(a), CCW_TOPIC_DTYPE) == 0 &&
         ccw_answer_count(ccw_asker_answer(a), CCW_TOPIC_RANK) == 0 &&
         ccw_answer_count(ccw_asker_answer(a), f->no_buffer) == f->regular + f->optional - 1;
}

/* A real buffer of no dtype tells the dtype, one of that dtype and no rank the rank. Silence means any. */
static void add_pattern(ccw_asker *a, const ccw_asked_family *f, bool is_optional, ccw_text *out_text)
{
  ccw_diagnostic told;
  ccw_asker_ask(a);
  if (was_buffer_taken(a, f, is_optional)) {
    ccw_text_add(out_text, "any[*]");
    return;
  }
  a->asked.dtype = ccw_answer_find(ccw_asker_answer(a), CCW_TOPIC_DTYPE, &told) ? ccw_diagnostic_dtype(&told) : 0;
  if (a->asked.dtype) ccw_asker_ask(a);
  bool is_ranked = ccw_answer_find(ccw_asker_answer(a), CCW_TOPIC_RANK, &told);
  int64_t rank = is_ranked ? strtoll(told.text, NULL, 10) : 0;
  if (!a->asked.dtype || rank < 0 || rank > CCW_MAX_RANK || !(is_ranked || was_buffer_taken(a, f, is_optional))) {
    ccw_text_add(out_text, "?");
    return;
  }
  ccw_text_add(out_text, "%s[%s", ccw_dtype_name(a->asked.dtype), is_ranked ? "" : "*");
  for (int64_t i = 0; i < rank; ++i) ccw_text_add(out_text, i ? ",?" : "?");
  ccw_text_add(out_text, "]");
}

static void add_operand(ccw_asker *a, ccw_asked_family *f, int64_t i, ccw_text *out_text)
{
  bool is_optional = i >= f->regular;
  if (is_optional) ccw_text_add(out_text, "?: ");
  if (a->bad < (is_optional ? 1 : 2)) { /* nothing else would stay bad */
    ccw_text_add(out_text, "?");
    return;
  }
  a->asked = a->harmless;
  a->asked.rank = -1;
  f->kinds[i] = XLA_FFI_ArgType_BUFFER;
  f->buffers[i] = &a->asked;
  add_pattern(a, f, is_optional, out_text);
  f->kinds[i] = CCW_ASKER_NO_KIND;
  f->buffers[i] = &a->harmless;
}

static void add_operands(ccw_asker *a, ccw_asked_family *f, const char *comma, ccw_text *out_text)
{
  for (int64_t i = 0; i < f->regular + f->optional; ++i, comma = ", ") {
    ccw_text_add(out_text, "%s", comma);
    add_operand(a, f, i, out_text);
  }
  if (f->has_remaining) ccw_text_add(out_text, "%s...", comma);
}

/* ---- all of it ------------------------------------------------------------------------------------------------------- */

/* "(Counter)", where it is known which type has its id in that variable. */
static void add_type(const XLA_FFI_TypeId *variable, ccw_text *out_text)
{
  ccw_text name = {0};
  ccw_library_add_type_name(variable, &name);
  if (name.length > 0) ccw_text_add(out_text, "(%s)", ccw_text_data(&name));
  ccw_text_free(&name);
}

/* The contexts that could not be had when all operands were bad. Of extensions the names were told, in their order. */
static const char *add_contexts(const ccw_asker *a, ccw_text *out_text)
{
  const char *comma = "", *at = ccw_answer_diagnostics(ccw_asker_answer(a));
  for (int i = 0; i < a->context_count; ++i, comma = ", ") {
    ccw_text_add(out_text, "%s@%s", comma, ccw_contexts[a->contexts[i].context].name);
    if (a->contexts[i].type) add_type(a->contexts[i].type, out_text);
    if (a->contexts[i].context != CCW_CONTEXT_EXTENSION) continue;
    ccw_diagnostic told = {0};
    while (ccw_answer_next(&at, &told) && told.topic != CCW_TOPIC_EXTENSION) told.topic = CCW_TOPIC_NONE;
    size_t length = told.topic == CCW_TOPIC_EXTENSION ? strcspn(told.text, ":") : 0;
    if (ccw_is_name(told.text, length)) ccw_text_add(out_text, "(%.*s)", (int)length, told.text);
  }
  return comma;
}

/* Everything that is bound is bad in the frame. */
static ccw_status add_signature(ccw_asker *a, ccw_text *out_text)
{
  ccw_diagnostic told;
  ccw_asked_names bound = {NULL, 0};
  int64_t members = 0, args = ccw_answer_count(ccw_asker_answer(a), CCW_TOPIC_ARG);
  int64_t rets = ccw_answer_count(ccw_asker_answer(a), CCW_TOPIC_RESULT);
  if (ccw_answer_find(ccw_asker_answer(a), CCW_TOPIC_MEMBERS, &told)) members = strtoll(told.text, NULL, 10);
  CCW_TRY(ccw_asker_read_names(a, &bound));
  a->bad = ccw_answer_bad(ccw_asker_answer(a));
  ccw_text_add(out_text, "(");
  /* Where the body ran it asked for things of its own accord. */
  const char *comma = ccw_asker_has(a, CCW_TOPIC_OPERANDS) ? add_contexts(a, out_text) : "";
  /* Where nothing at all was counted it is the body that failed, or a text that nobody knows. */
  bool is_unclear = a->is_unclear && !a->args.is_counted && !a->rets.is_counted && a->attrs.size == 0;
  settle(a, &a->args, args, is_unclear);
  settle(a, &a->rets, rets, is_unclear);
  add_operands(a, &a->args, comma, out_text);
  ccw_text_add(out_text, ") -> (");
  add_operands(a, &a->rets, "", out_text);
  ccw_text_add(out_text, ")");
  if (a->bad > 0) return ccw_asker_add_attributes(a, &bound, members, out_text);
  if (is_unclear) ccw_text_add(out_text, " {...}");
  return ccw_ok();
}

/* The first question has a frame of a wrong size, which the official binding refuses before it looks at anything else. The
 * second is of a stage that few are for. */
static ccw_status ask_everything(ccw_asker *a, ccw_text *out_text)
{
  a->stage = XLA_FFI_ExecutionStage_PREPARE;
  a->frame_size = 1;
  ccw_asker_ask(a);
  if (!ccw_asker_has(a, CCW_TOPIC_FRAME))
    return ccw_failed_precondition(
        "it carries no signature, and it is not of the official C++ binding, which could be asked");
  a->frame_size = XLA_FFI_CallFrame_STRUCT_SIZE;
  ccw_asker_ask(a);
  if (ccw_asker_has(a, CCW_TOPIC_STAGE)) a->stage = ccw_answer_stage(ccw_asker_answer(a));
  CCW_TRY(count(a));
  return add_signature(a, out_text);
}

ccw_status ccw_ask(const char *name, XLA_FFI_Handler *function, ccw_text *out_text)
{
  ccw_asker *a;
  CCW_TRY(ccw_asker_new(name, function, &a));
  ccw_text_add_quoted(out_text, name, strlen(name));
  ccw_status status = ask_everything(a, out_text);
  if (!status.code)
    status = a->lacks_memory ? ccw_resource_exhausted("no memory for an answer") : ccw_text_status(out_text);
  ccw_asker_free(a);
  return status;
}

#include "runtime/answer.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Answers first, in the order in which they are looked for: the diagnostics of bad operands hold numbers of attributes too.
 * Seen in the headers of jaxlib 0.7.2 to 0.12.0.1. */
static const struct phrase {
  ccw_topic topic;
  const char *text;
} phrases[] = {
    {CCW_TOPIC_FRAME, "Unexpected XLA_FFI_CallFrame size: "},
    {CCW_TOPIC_STAGE, "Wrong execution stage: expected `"},
    {CCW_TOPIC_OPERANDS, "(bad operands at: "},
    {CCW_TOPIC_ARGS, "Wrong number of arguments: expected "},
    {CCW_TOPIC_RESULTS, "Wrong number of results: expected "},
    {CCW_TOPIC_ATTRIBUTES, "Wrong number of attributes: expected "},
    {CCW_TOPIC_ARG, "Wrong argument type: expected "},
    {CCW_TOPIC_RESULT, "Wrong result type: expected "},
    {CCW_TOPIC_DTYPE, "Wrong buffer dtype: expected "},
    {CCW_TOPIC_RANK, "Wrong buffer rank: expected "},
    {CCW_TOPIC_NAME, "Attribute name mismatch: "},
    {CCW_TOPIC_POINTER, "Wrong attribute type: expected i64 scalar for passing pointer"},
    {CCW_TOPIC_KIND, "Wrong attribute type: expected "},
    {CCW_TOPIC_NONE, "Wrong attribute type: "}, /* of a variant, which names nothing */
    {CCW_TOPIC_SCALAR, "Wrong scalar data type: expected "},
    {CCW_TOPIC_ARRAY, "Wrong array data type: expected "},
    {CCW_TOPIC_MEMBERS, "Wrong number of attributes: expected "},
    {CCW_TOPIC_MEMBER, "Unexpected attribute: "},
    {CCW_TOPIC_EXTENSION, "Failed to find extension "},
    {CCW_TOPIC_CONTEXT, "Failed to get "},
    {CCW_TOPIC_CONTEXT, "Custom options are not supported"},
};

enum { FIRST_DIAGNOSTIC = 6, PHRASES = sizeof phrases / sizeof *phrases };

/* ---- the whole answer ----------------------------------------------------------------------------------------------- */

ccw_topic ccw_answer_topic(const char *text)
{
  for (int i = 0; i < FIRST_DIAGNOSTIC; ++i)
    if (strstr(text, phrases[i].text)) return phrases[i].topic;
  return CCW_TOPIC_NONE;
}

/* What stands behind the phrase of an answer, NULL where it is about something else. */
static const char *behind(const char *text, ccw_topic topic)
{
  for (int i = 0; i < FIRST_DIAGNOSTIC; ++i) {
    const char *at = phrases[i].topic == topic ? strstr(text, phrases[i].text) : NULL;
    if (at) return at + strlen(phrases[i].text);
  }
  return NULL;
}

bool ccw_answer_number(const char *text, ccw_topic topic, bool *out_at_least, int64_t *out_number)
{
  static const char at_least[] = "at least ";
  const char *at = behind(text, topic);
  if (!at) return false;
  *out_at_least = strncmp(at, at_least, sizeof at_least - 1) == 0;
  if (*out_at_least) at += sizeof at_least - 1;
  char *end;
  *out_number = strtoll(at, &end, 10);
  return end != at;
}

XLA_FFI_ExecutionStage ccw_answer_stage(const char *text)
{
  const char *at = behind(text, CCW_TOPIC_STAGE);
#define STAGE(NAME, name, number) \
  if (at && strncmp(at, #name "`", sizeof #name) == 0) return XLA_FFI_ExecutionStage_##NAME;
  CCW_STAGES(STAGE)
#undef STAGE
  return XLA_FFI_ExecutionStage_EXECUTE;
}

int64_t ccw_answer_bad(const char *text)
{
  const char *at = behind(text, CCW_TOPIC_OPERANDS);
  int64_t bad = 0;
  for (; at && isdigit((unsigned char)*at); ++bad) {
    at += strspn(at, "0123456789");
    if (strncmp(at, ", ", 2) == 0) at += 2;
  }
  return bad;
}

/* ---- diagnostics ---------------------------------------------------------------------------------------------------- */

const char *ccw_answer_diagnostics(const char *text)
{
  static const char head[] = "\nDiagnostics:\n";
  const char *at = strstr(text, head);
  return at ? at + sizeof head - 1 : "";
}

/* Where the next phrase of a diagnostic starts; the end of the text where there is none. Of two that start alike the longer
 * one stands first in the table. */
static const char *next_phrase(const char *text, const struct phrase **out_phrase)
{
  for (; *text; ++text)
    for (const struct phrase *p = phrases + FIRST_DIAGNOSTIC; p < phrases + PHRASES; ++p)
      if (*text == *p->text && strncmp(text, p->text, strlen(p->text)) == 0) {
        *out_phrase = p;
        return text;
      }
  *out_phrase = NULL;
  return text;
}

bool ccw_answer_next(const char **at, ccw_diagnostic *out_diagnostic)
{
  const struct phrase *phrase, *following;
  const char *start = next_phrase(*at, &phrase);
  if (!phrase) return false;
  const char *text = start + strlen(phrase->text);
  *at = next_phrase(text, &following);
  *out_diagnostic = (ccw_diagnostic){phrase->topic, text, (size_t)(*at - text)};
  return true;
}

int64_t ccw_answer_count(const char *text, ccw_topic topic)
{
  int64_t count = 0;
  ccw_diagnostic diagnostic;
  for (const char *at = ccw_answer_diagnostics(text); ccw_answer_next(&at, &diagnostic);)
    count += diagnostic.topic == topic;
  return count;
}

bool ccw_answer_find(const char *text, ccw_topic topic, ccw_diagnostic *out_diagnostic)
{
  for (const char *at = ccw_answer_diagnostics(text); ccw_answer_next(&at, out_diagnostic);)
    if (out_diagnostic->topic == topic) return true;
  return false;
}

ccw_dtype ccw_diagnostic_dtype(const ccw_diagnostic *diagnostic)
{
  char name[16]; /* "F32" or, in XLA's own handlers, "f32" */
  size_t length = 0;
  while (length < diagnostic->length && length < sizeof name && isalnum((unsigned char)diagnostic->text[length])) {
    name[length] = (char)tolower((unsigned char)diagnostic->text[length]);
    ++length;
  }
  return ccw_dtype_from_name(name, length);
}

#include "call/problems.h"

#include <string.h>

#include "base/text.h"

static const char line[] = "\n  ";

void ccw_problem(ccw_problems *problems)
{
  ++problems->count;
  ccw_text_add(&problems->text, line);
}

void ccw_text_add_place(ccw_text *text, const char *noun, int64_t place, const char *name)
{
  ccw_text_add(text, "%s %lld", noun, (long long)place);
  if (!*name) return;
  ccw_text_add(text, " '");
  ccw_text_add_escaped(text, name, strlen(name));
  ccw_text_add(text, "'");
}

void ccw_problem_at(ccw_problems *problems, const char *noun, int64_t place, const char *name)
{
  ccw_problem(problems);
  ccw_text_add_place(&problems->text, noun, place, name);
  ccw_text_add(&problems->text, ": ");
}

void ccw_text_add_access(ccw_text *text, const ccw_shape *shape, int64_t offset, bool is_write, const char *inside)
{
  int64_t bits = ccw_dtype_bits(shape->dtype);
  ccw_text_add(text, is_write ? "written" : "read");
  if (offset < 0) {
    int64_t elements = bits > 0 ? (-offset * 8 + bits - 1) / bits : 0;
    ccw_text_add(
        text, " in front of its beginning, %lld element%s before it", (long long)elements, elements == 1 ? "" : "s");
    return;
  }
  int64_t element = bits > 0 ? offset * 8 / bits + 1 : 0;
  ccw_text_add(text, "%s, element %lld of %lld", offset >= shape->bytes ? " past its end" : inside, (long long)element,
      (long long)shape->count);
}

ccw_status ccw_problems_status(ccw_problems *problems, const char *who, const char *what)
{
  ccw_text whole = {.failed = problems->text.failed};
  size_t skipped = problems->count == 1 ? sizeof line - 1 : 0;
  if (*who) ccw_text_add(&whole, "%s: ", who);
  if (problems->count > 1) ccw_text_add(&whole, "%lld %s", (long long)problems->count, what);
  if (problems->text.length > skipped)
    ccw_text_add_bytes(&whole, problems->text.data + skipped, problems->text.length - skipped);
  bool is_bad = problems->count > 0 || whole.failed;
  ccw_text_free(&problems->text);
  if (is_bad) return ccw_status_of_text(XLA_FFI_Error_Code_INVALID_ARGUMENT, &whole);
  ccw_text_free(&whole);
  return ccw_ok();
}

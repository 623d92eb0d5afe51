/* signature.h: a signature from within, for those who read it and check against it. */
#ifndef CCW_CALL_SIGNATURE_H
#define CCW_CALL_SIGNATURE_H

#include <ccw/ccw.h>

#include "base/arena.h"
#include "base/checked.h"

/* All of it, itself included, lies in the arena. */
struct ccw_signature {
  ccw_count count;
  ccw_arena arena;
  ccw_binding binding;
  const ccw_signature_pattern **patterns; /* by parameter */
  int64_t captures;
};

/* Arguments or results. Three words of a binding belong to each, in this order. */
typedef struct ccw_operands {
  ccw_word regular, optional, remaining;
  const char *noun; /* "arg" */
} ccw_operands;

extern const ccw_operands ccw_args, ccw_rets;

/* 0, 1 or 2: regular, optional, remaining; -1 for a word of another family. */
int ccw_operands_order(const ccw_operands *family, ccw_word word);

/* The name of operand or result number `place`, "" where it has none; of no signature, NULL, none has. Borrowed. */
const char *ccw_signature_operand(const ccw_signature *signature, const ccw_operands *family, int64_t place);

/* What a context is called, and the minor version of the FFI API that has it. By ccw_context. */
typedef struct ccw_context_info {
  const char *name;
  int minor;
} ccw_context_info;

extern const ccw_context_info ccw_contexts[];

/* The context of that name; TYPE for any other word. */
ccw_context ccw_context_of(XLA_FFI_ByteSpan word);

/* Every rank from `rank` on, as in [*] and [n,*]; that rank alone. */
uint64_t ccw_ranks_from(int64_t rank);
uint64_t ccw_ranks_only(int64_t rank);

/* The number of the one bit of a set; -1 where there are more, or none. */
int ccw_only_bit(uint64_t set);

/* Adds a pattern, a kind, a list of members "{lo: s64, hi: s64}" as they stand in the text. */
void ccw_signature_print_pattern(const ccw_signature_pattern *pattern, ccw_text *text);
void ccw_signature_print_kind(ccw_kind kind, ccw_text *text);
void ccw_signature_print_members(const ccw_member *members, int64_t count, ccw_text *text);

/* Whether a frame, whose operands are buffers, fits as far as that can be told without much ado: where this says no, the whole
 * check may say yes. */
bool ccw_signature_fits(const ccw_signature *signature, const XLA_FFI_CallFrame *frame);

#endif

/* deadly.c: functions that answer the question for metadata, and end or stop whoever asks them more. */
#include <stdlib.h>
#include <unistd.h>

#include "plain.h"

#define HANDLER(name)                                   \
  EXPORT XLA_FFI_Error *name(XLA_FFI_CallFrame *frame); \
  XLA_FFI_Error *name(XLA_FFI_CallFrame *frame)

/* As the official binding says it. */
static XLA_FFI_Error *refuse_size(const XLA_FFI_CallFrame *frame)
{
  if (frame->struct_size == XLA_FFI_CallFrame_STRUCT_SIZE) return NULL;
  return INVALID(frame, "Unexpected XLA_FFI_CallFrame size: expected 168 got %zu. Check installed software versions.",
      frame->struct_size);
}

/* The others are asked before and behind it: (f32[?]) */
HANDLER(a_first)
{
  if (answer_metadata(frame)) return NULL;
  XLA_FFI_Error *error = refuse_size(frame);
  if (error) return error;
  if (frame->rets.size != 1) return INVALID(frame, "[execute] Wrong number of results: expected 1 but got 0");
  if (frame->args.size != 1) return INVALID(frame, "[execute] Wrong number of arguments: expected 1 but got 0");
  return INVALID(frame, "Failed to decode all FFI handler operands (bad operands at: 0, 1)\nDiagnostics:\n"
                        "Wrong argument type: expected 1 but got 77Wrong result type: expected 1 but got 77");
}

static int *volatile nowhere;

HANDLER(crashes_asked)
{
  if (answer_metadata(frame)) return NULL;
  *nowhere = 1;
  return NULL;
}

HANDLER(exits_asked)
{
  if (answer_metadata(frame)) return NULL;
  exit(3);
}

HANDLER(exits_well_asked)
{
  if (answer_metadata(frame)) return NULL;
  exit(0);
}

HANDLER(hangs_asked)
{
  if (answer_metadata(frame)) return NULL;
  for (;;) pause();
}

/* Prints as if it were the one who answers, and half a line. */
HANDLER(talks_asked)
{
  if (answer_metadata(frame)) return NULL;
  printf("no line\n\n\tccw\tno answer of anybody's\n\thalf of a line");
  return INVALID(frame, "no");
}

/* Knows the size of a frame, and from there on says what nobody ever said. */
HANDLER(strange_asked)
{
  if (answer_metadata(frame)) return NULL;
  XLA_FFI_Error *error = refuse_size(frame);
  return error ? error : INVALID(frame, "It is Tuesday");
}

/* Counts that cannot be, over and over. */
HANDLER(wild_asked)
{
  if (answer_metadata(frame)) return NULL;
  XLA_FFI_Error *error = refuse_size(frame);
  static int turn;
  if (error) return error;
  switch (turn++ % 4) {
  case 0: return INVALID(frame, "Wrong number of arguments: expected 99999999999999999999 but got 0");
  case 1: return INVALID(frame, "Wrong number of arguments: expected -5 but got 0");
  case 2: return INVALID(frame, "Wrong number of results: expected at least but got 0");
  default: return INVALID(frame, "Failed to decode all FFI handler operands (bad operands at: 0, x, )");
  }
}

/* More of everything than it said that there is. */
HANDLER(wordy_asked)
{
  if (answer_metadata(frame)) return NULL;
  XLA_FFI_Error *error = refuse_size(frame);
  if (error) return error;
  if (frame->args.size < 0) return INVALID(frame, "Wrong number of arguments: expected at least 2 but got -7");
  if (frame->attrs.size != 1) return INVALID(frame, "Wrong number of attributes: expected 1 but got 0");
  static char text[32 << 10] = "Failed to decode all FFI handler operands (bad operands at: 0, 1)\nDiagnostics:\n";
  for (int i = 0; i < 400 && frame->stage == XLA_FFI_ExecutionStage_PREPARE && strlen(text) < sizeof text - 100; ++i)
    strcat(text, "Wrong argument type: expected 1Attribute name mismatch: ? vs x");
  XLA_FFI_Error_Create_Args args = {
      XLA_FFI_Error_Create_Args_STRUCT_SIZE, NULL, text, XLA_FFI_Error_Code_INVALID_ARGUMENT};
  for (char *at = strstr(text, "? vs x"); at; at = strstr(at + 1, "? vs x")) at[5] = (char)('a' + (at - text) % 26);
  return frame->api->XLA_FFI_Error_Create(&args);
}

HANDLER(z_last)
{
  if (answer_metadata(frame)) return NULL;
  XLA_FFI_Error *error = refuse_size(frame);
  return error ? error : NULL;
}

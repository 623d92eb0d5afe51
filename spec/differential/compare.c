/* compare.c: tries every pattern, ours and the official one, on the buffers that were drawn for it. A line for each
 * disagreement, and at the end the counts. */
#include <stdio.h>
#include <string.h>

#include <ccw/xla_ffi.h>

#include "patterns.h"
#include "tables.h"

enum { REFERENCES = sizeof reference_rows / sizeof *reference_rows };

/* A buffer, and room for its dims. */
typedef struct roomy_buffer {
  XLA_FFI_Buffer buffer;
  int64_t dims[ROW - 2];
  char data;
} roomy_buffer;

static void fill(roomy_buffer *out, const int8_t *row)
{
  for (int i = 0; i < ROW - 2; ++i) out->dims[i] = row[i + 2];
  out->buffer =
      (XLA_FFI_Buffer){XLA_FFI_Buffer_STRUCT_SIZE, NULL, (XLA_FFI_DataType)row[0], &out->data, row[1], out->dims};
}

XLA_FFI_Buffer *references[REFERENCES];
int64_t numbers[32];

static void fill_globals(void)
{
  static roomy_buffer rooms[REFERENCES];
  for (int i = 0; i < REFERENCES; ++i) {
    fill(&rooms[i], reference_rows[i]);
    references[i] = &rooms[i].buffer;
  }
  for (int i = 0; i < (int)(sizeof numbers / sizeof *numbers); ++i) numbers[i] = i - 8;
}

static int same_sizes(sizes x, sizes y) { return x.a == y.a && x.b == y.b && x.c == y.c; }

static int is_untouched(sizes s) { return same_sizes(s, (sizes){UNTOUCHED, UNTOUCHED, UNTOUCHED}); }

static void say(const char *who, outcome o)
{
  sizes s = o.after_verify, t = o.after_match;
  printf("  %s: verify %d with %lld, %lld, %lld; match %d with %lld, %lld, %lld%s\n", who, o.verified, (long long)s.a,
      (long long)s.b, (long long)s.c, o.matched, (long long)t.a, (long long)t.b, (long long)t.c,
      o.data ? "" : ", no data");
}

static void say_pair(int pattern, const XLA_FFI_Buffer *buffer)
{
  printf("pattern %d, %s, and a buffer of dtype %d [", pattern, patterns[pattern].text, (int)buffer->dtype);
  for (int64_t i = 0; i < buffer->rank; ++i) printf(i ? ",%lld" : "%lld", (long long)buffer->dims[i]);
  printf("]\n");
}

int main(void)
{
  long pairs = 0, taken = 0, captured = 0, refined = 0, unrefinable = 0, disagreements = 0;
  fill_globals();
  for (int i = 0; i < PATTERNS; ++i)
    for (int j = 0; j < BUFFERS; ++j) {
      roomy_buffer room;
      fill(&room, rows[i][j]);
      outcome ours = patterns[i].ours(&room.buffer), official = patterns[i].official(&room.buffer);
      ++pairs;
      taken += official.verified == 0;
      captured += !is_untouched(official.after_verify);
      refined += official.matched == 0;
      unrefinable += official.matched == NOTHING_TO_REFINE_TO;
      int agree = ours.verified == official.verified && ours.matched == official.matched &&
                  ours.data == official.data && same_sizes(ours.after_verify, official.after_verify) &&
                  same_sizes(ours.after_match, official.after_match);
      if (agree) continue;
      ++disagreements;
      say_pair(i, &room.buffer);
      say("ours", ours);
      say("official", official);
    }
  printf(
      "%d patterns, %ld pairs: %ld match, %ld of them with captures, %ld are refined, %ld have nothing to refine to, "
      "%ld disagree\n",
      PATTERNS, pairs, taken, captured, refined, unrefinable, disagreements);
  return disagreements > 0;
}

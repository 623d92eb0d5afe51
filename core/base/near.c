#include <ctype.h>
#include <string.h>

#include <ccw/ccw.h>

enum { LONGEST = CCW_NEAR_LENGTH - 1 };

ccw_near ccw_near_to(const char *wanted, size_t length)
{
  return (ccw_near){.wanted = wanted, .wanted_length = length};
}

static bool same_letter(char a, char b) { return tolower((unsigned char)a) == tolower((unsigned char)b); }

/* Insertions, deletions, replacements and swaps of neighbours that lead from a to b (optimal string alignment). Both at
 * most LONGEST long. */
static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
  size_t rows[3][LONGEST + 1];
  for (size_t j = 0; j <= b_length; ++j) rows[0][j] = j;
  for (size_t i = 1; i <= a_length; ++i) {
    size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];
    row[0] = i;
    for (size_t j = 1; j <= b_length; ++j) {
      size_t best = above[j - 1] + !same_letter(a[i - 1], b[j - 1]);
      if (above[j] + 1 < best) best = above[j] + 1;
      if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
      if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]) &&
          above2[j - 2] + 1 < best)
        best = above2[j - 2] + 1;
      row[j] = best;
    }
  }
  return rows[a_length % 3][b_length];
}

void ccw_near_offer(ccw_near *near, const char *name, size_t length)
{
  if (length == 0 || length > LONGEST || near->wanted_length > LONGEST) return;
  size_t distance = edit_distance(near->wanted, near->wanted_length, name, length);
  size_t longer = length > near->wanted_length ? length : near->wanted_length;
  if (distance * 3 > longer) return;

  size_t place = near->count;
  for (size_t i = 0; i < near->count; ++i)
    if (strlen(near->best[i].name) == length && memcmp(near->best[i].name, name, length) == 0) return;
  while (place > 0 && near->best[place - 1].distance > distance) --place;
  if (place == CCW_NEAR_MOST) return;
  if (near->count < CCW_NEAR_MOST) ++near->count;
  memmove(&near->best[place + 1], &near->best[place], (near->count - 1 - place) * sizeof near->best[0]);
  memcpy(near->best[place].name, name, length);
  near->best[place].name[length] = '\0';
  near->best[place].distance = distance;
}

void ccw_near_print(const ccw_near *near, ccw_text *text)
{
  for (size_t i = 0; i < near->count; ++i) ccw_text_add(text, "%s%s", i == 0 ? "; near: " : ", ", near->best[i].name);
}

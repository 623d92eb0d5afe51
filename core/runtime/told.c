#include "runtime/told.h"

#include <pthread.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

typedef struct ccw_told_item {
  struct ccw_told_item *next;
  ccw_text place, why;
  ccw_signature *signature; /* owned; NULL for none */
  bool is_handler;
} item;

/* One for all: it is held for moments. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void free_item(item *i)
{
  ccw_text_free(&i->place);
  ccw_text_free(&i->why);
  ccw_signature_release(i->signature);
  ccw_release(i, sizeof *i);
}

ccw_status ccw_told_add(ccw_told *told, const char *place, ccw_signature *signature, const char *why)
{
  item *i = ccw_allocate(sizeof *i);
  if (!i) return ccw_no_memory(sizeof *i);
  *i = (item){.is_handler = signature || why};
  i->signature = signature ? ccw_signature_retain(signature) : NULL;
  ccw_text_add(&i->place, "%s", place);
  ccw_text_add(&i->why, "%s", why ? why : "");
  ccw_status status = ccw_text_status(&i->place);
  if (!status.code) status = ccw_text_status(&i->why);
  if (status.code) {
    free_item(i);
    return status;
  }
  pthread_mutex_lock(&lock);
  i->next = told->first;
  told->first = i;
  pthread_mutex_unlock(&lock);
  return ccw_ok();
}

static const item *find(const ccw_told *told, const char *place)
{
  const item *i = told->first;
  while (i && strcmp(ccw_text_data(&i->place), place) != 0) i = i->next;
  return i;
}

static ccw_status answer(const item *i, ccw_signature **out_signature)
{
  if (!i) return ccw_unavailable("nothing was asked yet");
  if (!i->is_handler) return ccw_not_found("no handler: it does not answer the question for metadata");
  if (!i->signature) return ccw_failed_precondition("%s", ccw_text_data(&i->why));
  *out_signature = ccw_signature_retain(i->signature);
  return ccw_ok();
}

ccw_status ccw_told_find(const ccw_told *told, const char *place, ccw_signature **out_signature)
{
  pthread_mutex_lock(&lock);
  const item *i = find(told, place);
  ccw_status status = answer(i ? i : find(told, ""), out_signature);
  pthread_mutex_unlock(&lock);
  return status;
}

void ccw_told_free(ccw_told *told)
{
  while (told->first) {
    item *i = told->first;
    told->first = i->next;
    free_item(i);
  }
}

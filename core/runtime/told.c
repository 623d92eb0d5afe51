#include "runtime/told.h"

#include <pthread.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "runtime/state_type.h"

typedef struct ccw_told_item {
  struct ccw_told_item *next;
  ccw_text place, why;
  ccw_signature *signature; /* owned; NULL for none */
  bool is_handler;
  bool lacks_type;
  int64_t types; /* that were registered in all when one was lacking */
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

/* Adds an item like that one, whose texts it takes over. */
static ccw_status add(ccw_told *told, const char *place, item like)
{
  item *i = ccw_allocate(sizeof *i);
  if (!i) {
    ccw_text_free(&like.why);
    return ccw_no_memory(sizeof *i);
  }
  *i = like;
  if (i->signature) ccw_signature_retain(i->signature);
  ccw_text_add(&i->place, "%s", place);
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

ccw_status ccw_told_add(ccw_told *told, const char *place, ccw_signature *signature, const char *why)
{
  item like = {.signature = signature, .is_handler = signature || why};
  if (why) ccw_text_add(&like.why, "%s", why);
  return add(told, place, like);
}

ccw_status ccw_told_add_type(ccw_told *told, const char *place, const char *type)
{
  item like = {.is_handler = true, .lacks_type = true, .types = ccw_state_type_count()};
  if (*type)
    ccw_text_add(
        &like.why, "it binds the type '%s', which is not registered; register it: " CCW_REGISTER_BY_SYMBOL, type, type);
  else
    ccw_text_add(&like.why, "it binds a type that is not registered; register it: " CCW_REGISTER_BY_SYMBOL, "NAME");
  return add(told, place, like);
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
  if (i->lacks_type && i->types != ccw_state_type_count())
    return ccw_unavailable("types were registered since it was asked");
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

bool ccw_told_lacks_type(const ccw_told *told, const char *place)
{
  pthread_mutex_lock(&lock);
  const item *i = find(told, place);
  bool lacks_type = i && i->lacks_type;
  pthread_mutex_unlock(&lock);
  return lacks_type;
}

void ccw_told_free(ccw_told *told)
{
  while (told->first) {
    item *i = told->first;
    told->first = i->next;
    free_item(i);
  }
}

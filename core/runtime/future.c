#include "runtime/future.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/memory.h"
#include "base/text.h"

/* A place in the table. Memory of places is never given back, so that a stale number can be looked up. */
typedef struct place {
  pthread_mutex_t lock;
  uint64_t uses; /* of the future that is here; odd while there is one */
  bool is_complete;
  ccw_status outcome; /* owned, once complete */
  ccw_future_waiter *waiter;
  void *context;
  _Atomic uint32_t next_free; /* the number of the next free place, from 1; 0: none */
} place;

/* Chunks of places, each twice as large as the one before. */
enum { FIRST_CHUNK = 64, CHUNKS = 15, INDEX_BITS = 22 };
static place *_Atomic chunks[CHUNKS];

/* The free places, a stack: the number of the topmost, and above it a count of changes, so that a place that has come back
 * meanwhile is not taken for one that never went. */
static _Atomic uint64_t free_places;
static pthread_mutex_t growing = PTHREAD_MUTEX_INITIALIZER;
static int chunk_count;

static _Thread_local ccw_future_record *recording;

static place *place_at(uint32_t number)
{
  uint32_t at = number - 1 + FIRST_CHUNK;
  int chunk = 31 - __builtin_clz(at / FIRST_CHUNK);
  if (chunk >= CHUNKS) return NULL;
  place *places = atomic_load_explicit(&chunks[chunk], memory_order_acquire);
  return places ? &places[at - ((uint32_t)FIRST_CHUNK << chunk)] : NULL;
}

static void push_free(uint32_t number, place *p)
{
  uint64_t top = atomic_load(&free_places);
  do atomic_store_explicit(&p->next_free, (uint32_t)top, memory_order_relaxed);
  while (!atomic_compare_exchange_weak(&free_places, &top, ((top >> 32) + 1) << 32 | number));
}

static uint32_t pop_free(void)
{
  uint64_t top = atomic_load(&free_places);
  while ((uint32_t)top) {
    uint32_t next = atomic_load_explicit(&place_at((uint32_t)top)->next_free, memory_order_relaxed);
    if (atomic_compare_exchange_weak(&free_places, &top, ((top >> 32) + 1) << 32 | next)) return (uint32_t)top;
  }
  return 0;
}

/* Adds a chunk and keeps one of its places. */
static ccw_status grow(uint32_t *out_number)
{
  pthread_mutex_lock(&growing);
  *out_number = pop_free(); /* another thread may have grown it */
  ccw_status status = ccw_ok();
  if (*out_number == 0 && chunk_count == CHUNKS) {
    status = ccw_resource_exhausted("futures: %d are not complete", FIRST_CHUNK * ((1 << CHUNKS) - 1));
  } else if (*out_number == 0) {
    uint32_t size = (uint32_t)FIRST_CHUNK << chunk_count, first = size - FIRST_CHUNK + 1;
    place *places = ccw_allocate_zeroed(size * sizeof *places);
    if (!places) {
      status = ccw_no_memory(size * sizeof *places);
    } else {
      for (uint32_t i = 0; i < size; ++i) pthread_mutex_init(&places[i].lock, NULL);
      atomic_store_explicit(&chunks[chunk_count++], places, memory_order_release);
      for (uint32_t i = 1; i < size; ++i) push_free(first + i, &places[i]);
      *out_number = first;
    }
  }
  pthread_mutex_unlock(&growing);
  return status;
}

static XLA_FFI_Future *future_at(uint32_t number, uint64_t uses)
{
  return (XLA_FFI_Future *)(uintptr_t)(uses << INDEX_BITS | number);
}

static uint32_t number_of(const XLA_FFI_Future *future)
{
  return (uint32_t)((uintptr_t)future & ((1u << INDEX_BITS) - 1));
}

/* Finds the place of a future and locks it; NULL where it is none. *out_is_over: it was one, and its place is free. */
static place *lock_place(const XLA_FFI_Future *future, bool *out_is_over)
{
  uint32_t number = number_of(future);
  uint64_t uses = (uintptr_t)future >> INDEX_BITS;
  place *p = number > 0 && uses % 2 == 1 ? place_at(number) : NULL;
  *out_is_over = false;
  if (!p) return NULL;
  pthread_mutex_lock(&p->lock);
  if (p->uses == uses) return p;
  *out_is_over = uses < p->uses;
  pthread_mutex_unlock(&p->lock);
  return NULL;
}

static ccw_status no_future(const XLA_FFI_Future *future, bool is_over)
{
  if (is_over) return ccw_failed_precondition("the future is complete already");
  return ccw_invalid("%p is no future that was made here", (const void *)future);
}

/* Ends the use of a place, whose lock is held. */
static void release(uint32_t number, place *p)
{
  ++p->uses;
  pthread_mutex_unlock(&p->lock);
  push_free(number, p);
}

ccw_status ccw_future_new(XLA_FFI_Future **out_future)
{
  uint32_t number = pop_free();
  if (number == 0) CCW_TRY(grow(&number));
  place *p = place_at(number);
  pthread_mutex_lock(&p->lock);
  uint64_t uses = ++p->uses;
  p->is_complete = false;
  p->waiter = NULL;
  pthread_mutex_unlock(&p->lock);
  *out_future = future_at(number, uses);
  if (recording && recording->count < CCW_FUTURES_RECORDED) recording->made[recording->count++] = *out_future;
  return ccw_ok();
}

ccw_status ccw_future_finish(XLA_FFI_Future *future, ccw_status outcome)
{
  bool is_over;
  place *p = lock_place(future, &is_over);
  if (!p) return no_future(future, is_over);
  if (p->is_complete) {
    pthread_mutex_unlock(&p->lock);
    return no_future(future, true);
  }
  ccw_future_waiter *waiter = p->waiter;
  void *context = p->context;
  if (waiter) {
    release(number_of(future), p);
    waiter(context, outcome);
  } else {
    p->is_complete = true;
    p->outcome = outcome;
    pthread_mutex_unlock(&p->lock);
  }
  return ccw_ok();
}

ccw_status ccw_future_await(XLA_FFI_Future *future, ccw_future_waiter *waiter, void *context)
{
  bool is_over;
  place *p = lock_place(future, &is_over);
  if (!p) return ccw_invalid("%p is no future that was made here and is not used up", (void *)future);
  if (p->waiter) {
    pthread_mutex_unlock(&p->lock);
    return ccw_invalid("another call waits for the same future");
  }
  if (p->is_complete) {
    ccw_status outcome = p->outcome;
    release(number_of(future), p);
    waiter(context, outcome);
  } else {
    p->waiter = waiter;
    p->context = context;
    pthread_mutex_unlock(&p->lock);
  }
  return ccw_ok();
}

/* ---- what is left behind ---------------------------------------------------------------------------------------------- */

static void forget(void *context, ccw_status outcome)
{
  (void)context;
  ccw_status_free(outcome);
}

void ccw_future_record_begin(ccw_future_record *record)
{
  record->present = &recording;
  record->outer = *record->present;
  record->count = 0;
  *record->present = record;
}

void ccw_future_record_end(ccw_future_record *record, const XLA_FFI_Future *taken)
{
  *record->present = record->outer;
  for (int i = 0; i < record->count; ++i)
    if (record->made[i] != taken) ccw_status_free(ccw_future_await(record->made[i], forget, NULL));
}

#include "runtime/state_type.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/text.h"

/* Types are added in front, under the lock, and never go: whoever reads needs none. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(ccw_state_type *) types;
static int64_t last_id; /* that was assigned */

/* The first that was registered with that id: a second name for it adds nothing. */
const ccw_state_type *ccw_state_type_of(int64_t id)
{
  const ccw_state_type *found = NULL;
  for (const ccw_state_type *t = atomic_load_explicit(&types, memory_order_acquire); t; t = t->next)
    if (t->id == id) found = t;
  return found;
}

int64_t ccw_state_type_count(void)
{
  int64_t count = 0;
  for (const ccw_state_type *t = atomic_load_explicit(&types, memory_order_acquire); t; t = t->next) ++count;
  return count;
}

static const ccw_state_type *find_name(const char *name, size_t length)
{
  const ccw_state_type *t = atomic_load_explicit(&types, memory_order_acquire);
  while (t && ccw_compare_bytes(t->name, strlen(t->name), name, length) != 0) t = t->next;
  return t;
}

void ccw_state_type_say(int64_t id, ccw_text *text)
{
  const ccw_state_type *type = ccw_state_type_of(id);
  if (type)
    ccw_text_add(text, "'%s' (id %lld)", type->name, (long long)id);
  else
    ccw_text_add(text, "id %lld, which is not registered", (long long)id);
}

static ccw_status add(const char *name, size_t length, int64_t id, void (*deleter)(void *object))
{
  size_t size = sizeof(ccw_state_type) + length + 1;
  ccw_state_type *type = ccw_allocate(size);
  if (!type) return ccw_no_memory(size);
  *type = (ccw_state_type){.next = types, .id = id, .deleter = deleter};
  memcpy(type->name, name, length);
  type->name[length] = '\0';
  atomic_store_explicit(&types, type, memory_order_release);
  return ccw_ok();
}

/* Callers hold the lock. */
static ccw_status register_type(const char *name, size_t length, XLA_FFI_TypeId *type_id, void (*deleter)(void *object))
{
  const ccw_state_type *known = find_name(name, length);
  if (known && type_id->type_id == known->id) return ccw_ok();
  if (known && type_id->type_id == 0)
    return ccw_internal("type '%s' is registered already, with id %lld", known->name, (long long)known->id);
  if (known)
    return ccw_internal("type '%s' is registered already, with id %lld instead of %lld", known->name,
        (long long)known->id, (long long)type_id->type_id);
  int64_t id = type_id->type_id;
  if (id == 0) {
    id = last_id + 1;
    while (ccw_state_type_of(id)) ++id;
  }
  CCW_TRY(add(name, length, id, deleter));
  if (type_id->type_id == 0) type_id->type_id = last_id = id;
  return ccw_ok();
}

ccw_status ccw_state_type_register(
    const char *name, size_t name_length, XLA_FFI_TypeId *type_id, const XLA_FFI_TypeInfo *info)
{
  if (name_length == 0 || memchr(name, '\0', name_length))
    return ccw_invalid("type: expected a name, got %s", name_length == 0 ? "an empty one" : "one with a NUL");
  if (!type_id) return ccw_invalid("type '%.*s': there is no place for its id", (int)name_length, name);
  pthread_mutex_lock(&lock);
  ccw_status status = register_type(name, name_length, type_id, info ? info->deleter : NULL);
  pthread_mutex_unlock(&lock);
  return status;
}

int64_t ccw_state_type_find(const char *name, size_t name_length)
{
  const ccw_state_type *type = find_name(name, name_length);
  return type ? type->id : 0;
}

bool ccw_state_type_at(size_t i, ccw_text *out_name, int64_t *out_id, bool *out_is_state)
{
  const ccw_state_type *type = atomic_load_explicit(&types, memory_order_acquire);
  while (type && i-- > 0) type = type->next;
  if (!type) return false;
  ccw_text_add(out_name, "%s", type->name);
  *out_id = type->id;
  *out_is_state = type->deleter != NULL;
  return true;
}

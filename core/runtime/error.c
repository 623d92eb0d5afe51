#include "runtime/error.h"

#include <pthread.h>
#include <string.h>

#include "base/memory.h"

struct XLA_FFI_Error {
  XLA_FFI_Error *next, *previous; /* on record */
  XLA_FFI_Error_Code code;
  size_t size;
  char message[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static XLA_FFI_Error *live;

/* Stands in for an error that there was no memory for: shared, and never destroyed. */
static XLA_FFI_Error out_of_memory = {.code = XLA_FFI_Error_Code_RESOURCE_EXHAUSTED};

static void record(XLA_FFI_Error *error)
{
  pthread_mutex_lock(&lock);
  error->next = live;
  if (live) live->previous = error;
  live = error;
  pthread_mutex_unlock(&lock);
}

/* Callers hold the lock. */
static bool on_record(const XLA_FFI_Error *error)
{
  for (const XLA_FFI_Error *e = live; e; e = e->next)
    if (e == error) return true;
  return false;
}

XLA_FFI_Error *ccw_error_new(XLA_FFI_Error_Code code, const char *prefix, const char *message)
{
  if (!message) message = "";
  size_t before = strlen(prefix), length = strlen(message), size = sizeof(XLA_FFI_Error) + before + length + 1;
  XLA_FFI_Error *error = ccw_allocate(size);
  if (!error) return &out_of_memory;
  *error = (XLA_FFI_Error){.code = code, .size = size};
  memcpy(error->message, prefix, before);
  memcpy(error->message + before, message, length + 1);
  record(error);
  return error;
}

XLA_FFI_Error *ccw_error_of_status(ccw_status status)
{
  if (!status.code) return NULL;
  XLA_FFI_Error *error = ccw_error_new(status.code, "", ccw_status_text(status));
  ccw_status_free(status);
  return error;
}

bool ccw_error_is_live(const XLA_FFI_Error *error)
{
  if (error == &out_of_memory) return true;
  pthread_mutex_lock(&lock);
  bool found = on_record(error);
  pthread_mutex_unlock(&lock);
  return found;
}

XLA_FFI_Error_Code ccw_error_code(const XLA_FFI_Error *error) { return error->code; }

const char *ccw_error_message(const XLA_FFI_Error *error)
{
  return error == &out_of_memory ? "no memory for the error's message" : error->message;
}

void ccw_error_destroy(XLA_FFI_Error *error)
{
  pthread_mutex_lock(&lock);
  bool found = error && on_record(error);
  if (found) {
    if (error->next) error->next->previous = error->previous;
    if (error->previous)
      error->previous->next = error->next;
    else
      live = error->next;
  }
  pthread_mutex_unlock(&lock);
  if (found) ccw_release(error, error->size);
}

ccw_status ccw_error_status(const XLA_FFI_Error *error)
{
  XLA_FFI_Error_Code code = ccw_error_code(error);
  const char *message = ccw_error_message(error);
  if (!ccw_code_name(code)) return ccw_unknown("failed with code %d, which is no status code: %s", (int)code, message);
  return code == XLA_FFI_Error_Code_OK ? ccw_ok() : ccw_status_from_text(code, message, strlen(message));
}

ccw_status ccw_status_of_error(XLA_FFI_Error *error)
{
  if (!error) return ccw_ok();
  if (!ccw_error_is_live(error))
    return ccw_internal("returned %p, which is no error that was made here: is it an FFI handler?", (void *)error);
  ccw_status status = ccw_error_status(error);
  ccw_error_destroy(error);
  return status;
}

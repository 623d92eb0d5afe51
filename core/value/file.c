/* Buffers and the bytes of files. Fresh memory costs as much as the copying does: it is taken in large pages, and two threads share
 * the work. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/checked.h"
#include "value/buffer.h"

enum { HUGE_PAGE = 2 << 20, CHUNK = 1 << 20, WORTH_A_THREAD = 16 << 20 };

/* A part of a file, and where it goes. */
typedef struct part {
  int file;
  int64_t offset;
  char *memory;
  size_t size;
  int error; /* an errno; -1: the file ended */
} part;

static void *read_part(void *context)
{
  part *p = context;
  while (p->size > 0) {
    ssize_t got = pread(p->file, p->memory, p->size < CHUNK ? p->size : CHUNK, p->offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      p->error = got < 0 ? errno : -1;
      return NULL;
    }
    p->memory += got;
    p->offset += got;
    p->size -= (size_t)got;
  }
  return NULL;
}

/* A hint, which may come to nothing. */
static void ask_for_huge_pages(char *memory, size_t size)
{
  char *start = (char *)ccw_align((uintptr_t)memory, HUGE_PAGE), *end = memory + size;
  if (start < end) madvise(start, (size_t)(end - start) / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE);
}

/* The second half on another thread, if there can be one. The halves meet between two pages. */
static int read_in_halves(part whole)
{
  size_t half = ccw_align((uintptr_t)whole.memory + whole.size / 2, HUGE_PAGE) - (uintptr_t)whole.memory;
  part first = whole, second = whole;
  first.size = half;
  second.memory += half;
  second.offset += (int64_t)half;
  second.size -= half;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the threads that were there */
  pthread_t thread;
  bool is_shared = pthread_create(&thread, NULL, read_part, &second) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  read_part(&first);
  if (is_shared)
    pthread_join(thread, NULL);
  else
    read_part(&second);
  return first.error ? first.error : second.error;
}

static ccw_status check_bytes(const ccw_buffer *buffer)
{
  if (ccw_buffer_data(buffer) || ccw_buffer_shape(buffer)->bytes == 0) return ccw_ok();
  return ccw_invalid("a view that shares a byte with its neighbours");
}

ccw_status ccw_buffer_read_file(ccw_buffer *buffer, int file, int64_t offset)
{
  CCW_TRY(check_bytes(buffer));
  part whole = {.file = file,
      .offset = offset,
      .memory = ccw_buffer_data(buffer),
      .size = (size_t)ccw_buffer_shape(buffer)->bytes};
  if (whole.size >= WORTH_A_THREAD) {
    ask_for_huge_pages(whole.memory, whole.size);
    whole.error = read_in_halves(whole);
  } else {
    read_part(&whole);
  }
  if (whole.error < 0) return ccw_data_loss("the file ended while it was read");
  if (whole.error) return ccw_unavailable("%s", strerror(whole.error));
  ccw_buffer_set_undefined(buffer, false);
  return ccw_ok();
}

ccw_status ccw_buffer_write_file(const ccw_buffer *buffer, int file)
{
  CCW_TRY(check_bytes(buffer));
  const char *memory = ccw_buffer_data(buffer);
  size_t size = (size_t)ccw_buffer_shape(buffer)->bytes;
  while (size > 0) {
    ssize_t put = write(file, memory, size);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return ccw_unavailable("%s", strerror(errno));
    memory += put;
    size -= (size_t)put;
  }
  return ccw_ok();
}

#define SWAP(bits)                                   \
  static void swap_##bits(char *bytes, int64_t size) \
  {                                                  \
    for (int64_t i = 0; i < size; i += bits / 8) {   \
      uint##bits##_t number;                         \
      memcpy(&number, bytes + i, sizeof number);     \
      number = __builtin_bswap##bits(number);        \
      memcpy(bytes + i, &number, sizeof number);     \
    }                                                \
  }

SWAP(16)
SWAP(32)
SWAP(64)

void ccw_buffer_swap_bytes(ccw_buffer *buffer)
{
  const ccw_shape *shape = ccw_buffer_shape(buffer);
  char *bytes = ccw_buffer_data(buffer);
  int bits = ccw_dtype_bits(shape->dtype);
  if (ccw_dtype_class(shape->dtype) == CCW_CLASS_COMPLEX) bits /= 2;
  switch (bits) {
  case 16: swap_16(bytes, shape->bytes); break;
  case 32: swap_32(bytes, shape->bytes); break;
  case 64: swap_64(bytes, shape->bytes); break;
  default: break; /* no number is larger, and bytes have no order */
  }
}

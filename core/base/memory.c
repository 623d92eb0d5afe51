#include "base/memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <ccw/ccw.h>

/* From here on blocks come straight from the kernel, which hands out zeroes and no memory before it is touched. A sanitizer
 * watches the blocks of malloc only. */
#ifdef __SANITIZE_ADDRESS__
static const size_t LARGE = PTRDIFF_MAX;
#else
static const size_t LARGE = 4 << 20;
#endif

static void *system_allocate(void *context, size_t size, bool zeroed)
{
  (void)context;
  if (size < LARGE) return zeroed ? calloc(1, size) : malloc(size);
  void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

static void system_release(void *context, void *memory, size_t size)
{
  (void)context;
  if (size >= LARGE)
    munmap(memory, size);
  else
    free(memory);
}

static ccw_allocator current = {system_allocate, system_release, NULL};
static _Atomic uint64_t allocations, releases;
static _Atomic int64_t bytes;

ccw_allocator ccw_memory_replace(ccw_allocator allocator)
{
  ccw_allocator previous = current;
  current = allocator;
  return previous;
}

ccw_memory_use ccw_memory_in_use(void)
{
  uint64_t allocated = atomic_load(&allocations);
  return (ccw_memory_use){
      .allocations = allocated, .blocks = (int64_t)(allocated - atomic_load(&releases)), .bytes = atomic_load(&bytes)};
}

static void *allocate(size_t size, bool zeroed)
{
  if (size == 0) size = 1;
  if (size > PTRDIFF_MAX) return NULL;
  void *memory = current.allocate(current.context, size, zeroed);
  if (!memory) return NULL;
  atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&bytes, (int64_t)size, memory_order_relaxed);
  return memory;
}

void *ccw_allocate(size_t size) { return allocate(size, false); }

void *ccw_allocate_zeroed(size_t size) { return allocate(size, true); }

void *ccw_reallocate(void *memory, size_t size, size_t new_size)
{
  void *grown = ccw_allocate(new_size);
  if (!grown) return NULL;
  if (memory) memcpy(grown, memory, size < new_size ? size : new_size);
  ccw_release(memory, size);
  return grown;
}

void ccw_release(void *memory, size_t size)
{
  if (!memory) return;
  if (size == 0) size = 1;
  current.release(current.context, memory, size);
  atomic_fetch_sub_explicit(&bytes, (int64_t)size, memory_order_relaxed);
  atomic_fetch_add_explicit(
      &releases, 1, memory_order_release); /* last: what is not live any more has been given back */
}

#include "runtime/foreign.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef CCW_HAS_BARRIER
XLA_FFI_Error *ccw_barrier_call(XLA_FFI_Handler *function, XLA_FFI_CallFrame *frame); /* barrier.cc */
#else
static XLA_FFI_Error *ccw_barrier_call(XLA_FFI_Handler *function, XLA_FFI_CallFrame *frame) { return function(frame); }
char *ccw_demangle(const char *symbol) { return (void)symbol, NULL; }
#endif

/* What this thread runs now; a handler may run another. */
static _Thread_local struct {
  const char *name, *doing;
} running;

XLA_FFI_Error *ccw_foreign_call(
    XLA_FFI_Handler *function, XLA_FFI_CallFrame *frame, const char *name, const char *doing)
{
  const char *outer_name = running.name, *outer_doing = running.doing;
  running.name = name;
  running.doing = doing;
  XLA_FFI_Error *error = ccw_barrier_call(function, frame);
  running.name = outer_name;
  running.doing = outer_doing;
  return error;
}

void ccw_foreign_task(XLA_FFI_Task *task, void *data, const char *name, const char *doing)
{
  const char *outer_name = running.name, *outer_doing = running.doing;
  running.name = name;
  running.doing = doing;
  task(data);
  running.name = outer_name;
  running.doing = outer_doing;
}

/* Through a pipe: the kernel says of an address that is none that it is none. A sanitizer, which stands in front of write(), would
 * say so too, and end the process. */
bool ccw_read_memory(const void *from, void *to, size_t size)
{
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return false;
  bool good = syscall(SYS_write, ends[1], from, size) == (long)size && read(ends[0], to, size) == (ssize_t)size;
  close(ends[0]);
  close(ends[1]);
  return good;
}

const char *ccw_call_running(const char **out_doing)
{
  *out_doing = running.doing;
  return running.name;
}

/* For dl_iterate_phdr: 1 where the object has the address in code, -1 where it has it elsewhere, 0 to go on. */
static int holds_code(struct dl_phdr_info *object, size_t size, void *context)
{
  (void)size;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
    uintptr_t start = object->dlpi_addr + segment->p_vaddr;
    if (segment->p_type == PT_LOAD && (uintptr_t)context - start < segment->p_memsz)
      return segment->p_flags & PF_X ? 1 : -1;
  }
  return 0;
}

/* The same of memory that no library has, where code was perhaps made at run time. */
static bool is_mapped_code(uintptr_t address)
{
  FILE *maps = fopen("/proc/self/maps", "re");
  if (!maps) return true; /* nothing to say against it */
  bool found = false;
  char line[PATH_MAX + 128];
  while (!found && fgets(line, sizeof line, maps)) {
    uintptr_t start, end;
    char flags[8];
    found = sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s", &start, &end, flags) == 3 && flags[2] == 'x' &&
            address >= start && address < end;
  }
  fclose(maps);
  return found;
}

bool ccw_is_code(void *address)
{
  int found = dl_iterate_phdr(holds_code, address);
  return found == 0 ? is_mapped_code((uintptr_t)address) : found > 0;
}

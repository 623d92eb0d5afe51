#include "runtime/place.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#ifdef CCW_HAS_DWFL
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <pthread.h>
#endif

#ifdef CCW_HAS_BARRIER
char *ccw_barrier_demangle(const char *name); /* barrier.cc */
#else
static char *ccw_barrier_demangle(const char *name) { return (void)name, NULL; }
#endif

static const char *base_name(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* Adds the name of a function, a mangled one as it was written, and the body of a handler of handler.h as the handler. */
static void add_function(const char *name, ccw_text *text)
{
  static const char body[] = "ccw_body_of_";
  if (strncmp(name, body, sizeof body - 1) == 0) name += sizeof body - 1;
  char *written = ccw_barrier_demangle(name);
  const char *shown = written ? written : name;
  ccw_text_add_escaped(text, shown, strlen(shown));
  free(written);
}

/* ---- with debug information ------------------------------------------------------------------------------------------ */

#ifdef CCW_HAS_DWFL
/* What is used of libdw, which is opened when it is first needed: it is large, and not everywhere. */
#define FUNCTIONS(X)                                                                                                \
  X(dwfl_begin)                                                                                                     \
  X(dwfl_end) X(dwfl_report_begin) X(dwfl_report_elf) X(dwfl_report_end) X(dwfl_module_getsrc) X(dwfl_lineinfo)     \
      X(dwfl_module_addrname) X(dwfl_module_addrdie) X(dwarf_getscopes) X(dwarf_tag) X(dwarf_diename) X(dwarf_attr) \
          X(dwarf_formudata) X(dwarf_getsrcfiles) X(dwarf_filesrc)

static struct {
#define MEMBER(name) __typeof__(name) *name;
  FUNCTIONS(MEMBER)
#undef MEMBER
} dw;
static bool has_dw;
static pthread_mutex_t dw_lock = PTHREAD_MUTEX_INITIALIZER; /* libdw is for one thread at a time */

static void open_dw(void)
{
  void *library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
  has_dw = library != NULL;
#define FIND(name) has_dw = has_dw && (*(void **)&dw.name = dlsym(library, #name));
  FUNCTIONS(FIND)
#undef FIND
}

/* Debug information is taken out of the library itself; libdw could ask servers for it. */
static int find_no_file(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base, const char *file_name,
    const char *link, GElf_Word crc, char **out_name)
{
  (void)module, (void)user, (void)name, (void)base, (void)file_name, (void)link, (void)crc, (void)out_name;
  return -1;
}

/* Where code is: the function as it was written, inlined or not. */
typedef struct place {
  const char *function, *file;
  int line;
} place;

/* Code of the system's headers is nobody's fault. */
static bool is_of_system(const char *file) { return strncmp(file, "/usr/", 5) == 0; }

/* Goes from an inlined function to where it stands. */
static bool go_out(Dwarf_Die *inlined, Dwarf_Die *unit, place *p)
{
  Dwarf_Attribute attribute;
  Dwarf_Word file, line;
  Dwarf_Files *files;
  size_t count;
  if (dw.dwarf_formudata(dw.dwarf_attr(inlined, DW_AT_call_file, &attribute), &file) != 0) return false;
  if (dw.dwarf_formudata(dw.dwarf_attr(inlined, DW_AT_call_line, &attribute), &line) != 0) return false;
  if (dw.dwarf_getsrcfiles(unit, &files, &count) != 0 || file >= count) return false;
  p->file = dw.dwarf_filesrc(files, file, NULL, NULL);
  p->line = (int)line;
  return p->file != NULL;
}

/* The innermost function around the address that does not come out of a header of the system. */
static void find_function(Dwfl_Module *module, uintptr_t address, place *p)
{
  Dwarf_Addr bias;
  Dwarf_Die *unit = dw.dwfl_module_addrdie(module, address, &bias), *scopes = NULL;
  int count = unit ? dw.dwarf_getscopes(unit, address - bias, &scopes) : 0;
  for (int i = 0; i < count; ++i) {
    int tag = dw.dwarf_tag(&scopes[i]);
    if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine) continue;
    p->function = dw.dwarf_diename(&scopes[i]);
    if (tag == DW_TAG_subprogram || !p->file || !is_of_system(p->file) || !go_out(&scopes[i], unit, p)) break;
  }
  free(scopes);
}

static bool print_with_lines(const char *path, uintptr_t base, uintptr_t address, ccw_text *text)
{
  static const Dwfl_Callbacks callbacks = {.find_debuginfo = find_no_file};
  Dwfl *dwfl = dw.dwfl_begin(&callbacks);
  if (!dwfl) return false;
  dw.dwfl_report_begin(dwfl);
  Dwfl_Module *module = dw.dwfl_report_elf(dwfl, path, path, -1, base, true);
  dw.dwfl_report_end(dwfl, NULL, NULL);
  place p = {NULL, NULL, 0};
  if (module) {
    Dwfl_Line *line = dw.dwfl_module_getsrc(module, address);
    if (line) p.file = dw.dwfl_lineinfo(line, NULL, &p.line, NULL, NULL, NULL);
    find_function(module, address, &p);
    if (!p.function) p.function = dw.dwfl_module_addrname(module, address);
  }
  bool found = p.function != NULL;
  if (found) add_function(p.function, text);
  if (found && p.file) {
    ccw_text_add(text, " (");
    ccw_text_add_escaped(text, base_name(p.file), strlen(base_name(p.file)));
    ccw_text_add(text, ":%d)", p.line);
  }
  dw.dwfl_end(dwfl);
  return found;
}

static bool print_line(const char *path, uintptr_t base, uintptr_t address, ccw_text *text)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, open_dw);
  if (!has_dw) return false;
  pthread_mutex_lock(&dw_lock);
  bool found = print_with_lines(path, base, address, text);
  pthread_mutex_unlock(&dw_lock);
  return found;
}
#else
static bool print_line(const char *path, uintptr_t base, uintptr_t address, ccw_text *text)
{
  (void)path, (void)base, (void)address, (void)text;
  return false;
}
#endif

/* ---- with and without ------------------------------------------------------------------------------------------------ */

void ccw_place_print(uintptr_t address, ccw_text *text)
{
  Dl_info info;
  struct link_map *object = NULL;
  if (!dladdr1((void *)address, &info, (void **)&object, RTLD_DL_LINKMAP) || !object) return;
  const char *path = *object->l_name ? object->l_name : "/proc/self/exe";
  if (print_line(path, object->l_addr, address, text)) return;
  if (info.dli_sname)
    add_function(info.dli_sname, text);
  else
    ccw_text_add(text, "%s+0x%zx", base_name(info.dli_fname), (size_t)(address - (uintptr_t)info.dli_fbase));
}

bool ccw_place_is_shared(uintptr_t a, uintptr_t b)
{
  Dl_info of_a, of_b;
  return dladdr((void *)a, &of_a) && dladdr((void *)b, &of_b) && of_a.dli_fbase == of_b.dli_fbase;
}

#include "runtime/place.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "runtime/foreign.h"

#ifdef CCW_HAS_DWFL
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <pthread.h>
#endif

/* Adds "deep::blocks" of "Error deep::blocks<long>(Buffer<11>, long)". */
static void add_short(const char *name, ccw_text *text)
{
  static const char anonymous[] = "(anonymous namespace)";
  ccw_text kept = {.failed = text->failed};
  int depth = 0;
  for (const char *at = name; *at && (*at != '(' || depth > 0); ++at) {
    if (*at == ' ' && depth == 0) ccw_text_free(&kept); /* that was the type of what it returns */
    if (*at == '<') ++depth;
    if (depth == 0 && *at != ' ') ccw_text_add_bytes(&kept, at, 1);
    if (*at == '>') --depth;
    if (strncmp(at + 1, anonymous, sizeof anonymous - 1) == 0) at += sizeof anonymous + 1; /* and the "::" behind it */
  }
  ccw_text_add_escaped(text, ccw_text_data(&kept), kept.length);
  ccw_text_free(&kept);
}

/* Adds the name of a function, a mangled one as it was written, and the body of a handler of handler.h as the handler. */
static void add_function(const char *name, ccw_text *text)
{
  static const char body[] = "ccw_body_of_";
  if (strncmp(name, body, sizeof body - 1) == 0) name += sizeof body - 1;
  char *written = ccw_demangle(name);
  if (written) name = written;
  if (strstr(name, "operator"))
    ccw_text_add_escaped(text, name, strlen(name));
  else
    add_short(name, text);
  free(written);
}

/* ---- with debug information ------------------------------------------------------------------------------------------ */

#ifdef CCW_HAS_DWFL
/* What is used of libdw, which is opened when it is first needed: it is large, and not everywhere. */
/* clang-format off */
#define FUNCTIONS(X)                                                                                \
  X(dwfl_begin) X(dwfl_end) X(dwfl_report_begin) X(dwfl_report_elf) X(dwfl_report_end)              \
  X(dwfl_module_addrdie) X(dwfl_module_addrname) X(dwfl_module_nextcu) X(dwarf_attr) X(dwarf_child) \
  X(dwarf_diename) X(dwarf_filesrc) X(dwarf_formudata) X(dwarf_getsrc_die) X(dwarf_getsrcfiles)     \
  X(dwarf_haspc) X(dwarf_lineno) X(dwarf_linesrc) X(dwarf_siblingof) X(dwarf_tag) X(dwfl_module_build_id)
/* clang-format on */

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
  bool is_settled;
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

static bool is_function(int tag) { return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine; }

/* What has no addresses of its own and holds functions. */
static bool is_scope(int tag)
{
  return tag == DW_TAG_namespace || tag == DW_TAG_class_type || tag == DW_TAG_structure_type;
}

/* Finds the innermost function around the address that does not come out of a header of the system. dwarf_getscopes does not
 * look into namespaces. */
static void find_function(Dwarf_Die *outer, Dwarf_Addr address, Dwarf_Die *unit, place *p)
{
  Dwarf_Die inner;
  for (int end = dw.dwarf_child(outer, &inner); end == 0 && !p->is_settled; end = dw.dwarf_siblingof(&inner, &inner)) {
    int tag = dw.dwarf_tag(&inner);
    if (is_scope(tag)) find_function(&inner, address, unit, p);
    if (!is_function(tag) && tag != DW_TAG_lexical_block) continue;
    if (dw.dwarf_haspc(&inner, address) <= 0) continue;
    find_function(&inner, address, unit, p);
    if (p->is_settled || !is_function(tag)) continue;
    p->function = dw.dwarf_diename(&inner);
    p->is_settled = tag == DW_TAG_subprogram || !p->file || !is_of_system(p->file) || !go_out(&inner, unit, p);
  }
}

/* The unit that was compiled to the code at the address. Not every compiler leaves an index of that. */
static Dwarf_Die *find_unit(Dwfl_Module *module, Dwarf_Addr address, Dwarf_Addr *out_bias)
{
  Dwarf_Die *unit = dw.dwfl_module_addrdie(module, address, out_bias);
  if (unit) return unit;
  while ((unit = dw.dwfl_module_nextcu(module, unit, out_bias)))
    if (dw.dwarf_haspc(unit, address - *out_bias) > 0) return unit;
  return NULL;
}

/* Whether the file is still the one that was loaded: it may have been built anew since. */
static bool is_as_loaded(Dwfl_Module *module, uintptr_t address)
{
  const unsigned char *id;
  GElf_Addr loaded;
  int size = dw.dwfl_module_build_id(module, &id, &loaded);
  return size <= 0 || (ccw_place_is_shared(loaded, address) && memcmp((void *)loaded, id, (size_t)size) == 0);
}

static place find_place(Dwfl_Module *module, Dwarf_Addr address)
{
  place p = {NULL, NULL, 0, false};
  Dwarf_Addr bias;
  Dwarf_Die *unit = find_unit(module, address, &bias);
  Dwarf_Line *line = unit ? dw.dwarf_getsrc_die(unit, address - bias) : NULL;
  if (line && dw.dwarf_lineno(line, &p.line) == 0) p.file = dw.dwarf_linesrc(line, NULL, NULL);
  if (unit) find_function(unit, address - bias, unit, &p);
  if (!p.function) p.function = dw.dwfl_module_addrname(module, address);
  return p;
}

static bool print_with_lines(const char *path, uintptr_t base, uintptr_t address, ccw_text *text)
{
  static const Dwfl_Callbacks callbacks = {.find_debuginfo = find_no_file};
  Dwfl *dwfl = dw.dwfl_begin(&callbacks);
  if (!dwfl) return false;
  dw.dwfl_report_begin(dwfl);
  Dwfl_Module *module = dw.dwfl_report_elf(dwfl, path, path, -1, base, true);
  dw.dwfl_report_end(dwfl, NULL, NULL);
  place p = module && is_as_loaded(module, address) ? find_place(module, address) : (place){NULL, NULL, 0, false};
  if (p.function) add_function(p.function, text);
  if (p.function && p.file) {
    ccw_text_add(text, " (");
    ccw_text_add_escaped(text, ccw_base_name(p.file), strlen(ccw_base_name(p.file)));
    ccw_text_add(text, ":%d)", p.line);
  }
  dw.dwfl_end(dwfl);
  return p.function != NULL;
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
    ccw_text_add(text, "%s+0x%zx", ccw_base_name(info.dli_fname), (size_t)(address - (uintptr_t)info.dli_fbase));
}

bool ccw_place_is_shared(uintptr_t a, uintptr_t b)
{
  Dl_info of_a, of_b;
  return dladdr((void *)a, &of_a) && dladdr((void *)b, &of_b) && of_a.dli_fbase == of_b.dli_fbase;
}

static uintptr_t culprit(const uintptr_t *code, int32_t depth, uintptr_t within)
{
  for (int32_t i = 0; i < depth; ++i) {
    uintptr_t at = code[i] - (i > 0); /* a return address may lie in the next line */
    if (ccw_place_is_shared(at, within)) return at;
  }
  return code[0];
}

void ccw_place_print_culprit(const uintptr_t *code, int32_t depth, uintptr_t within, ccw_text *text)
{
  if (depth == 0) return;
  ccw_text in = {.failed = text->failed};
  ccw_place_print(culprit(code, depth, within), &in);
  if (in.length > 0) ccw_text_add(text, ", in %s", ccw_text_data(&in));
  ccw_text_free(&in);
}

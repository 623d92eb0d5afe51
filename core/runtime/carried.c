#include "runtime/carried.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

#include "base/text.h"

/* ---- a text, wherever it is --------------------------------------------------------------------------------------- */

ccw_status ccw_carried_check(const char *symbol, const char *bytes, size_t size)
{
  const char *end = memchr(bytes, '\0', size);
  if (!end) return ccw_invalid("%s: no text: nothing ends its %zu bytes", symbol, size);
  if (end + 1 != bytes + size)
    return ccw_invalid("%s: no text: it ends after %zu of its %zu bytes", symbol, (size_t)(end - bytes), size);
  return ccw_ok();
}

/* Finds the texts of one signature, and keeps in mind what went wrong where the reader of the text cannot be told. */
typedef struct source {
  ccw_carried_finder *find;
  void *context;
  ccw_status failure; /* of a kind; owned */
  ccw_text kind;      /* the last one, with its numbers */
} source;

static ccw_status find_text(const source *from, const char *prefix, const char *name, const char **out_text)
{
  ccw_text symbol = {0};
  ccw_text_add(&symbol, "%s%s", prefix, name);
  ccw_status status = ccw_text_status(&symbol);
  if (!status.code) status = from->find(from->context, ccw_text_data(&symbol), out_text);
  ccw_text_free(&symbol);
  return status;
}

/* Puts the numbers of an enum, "   0,  10,", where a '#' stands for each in its text. */
static ccw_status fill_in(ccw_text *text, const char *name, const char *form, const char *numbers)
{
  ccw_text_free(text);
  for (; *form; ++form) {
    const char *comma = *form == '#' && numbers ? strchr(numbers, ',') : NULL;
    if (*form == '#' && !comma)
      return ccw_invalid("ccw_values_%s: fewer numbers than ccw_kind_%s has values", name, name);
    if (comma)
      ccw_text_add_bytes(text, numbers, (size_t)(comma - numbers));
    else
      ccw_text_add_bytes(text, form, 1);
    if (comma) numbers = comma + 1;
  }
  return ccw_text_status(text);
}

static const char *find_kind(void *context, const char *name)
{
  source *from = context;
  const char *text = NULL, *numbers = NULL;
  if (!from->failure.code) from->failure = find_text(from, "ccw_kind_", name, &text);
  if (from->failure.code || !text || !strchr(text, '#')) return from->failure.code ? NULL : text;
  from->failure = find_text(from, "ccw_values_", name, &numbers);
  if (!from->failure.code) from->failure = fill_in(&from->kind, name, text, numbers);
  return from->failure.code ? NULL : ccw_text_data(&from->kind);
}

ccw_status ccw_carried_read(ccw_carried_finder *find, void *context, const char *name, ccw_signature **out_signature)
{
  source from = {find, context, ccw_ok(), {0}};
  const char *text = NULL;
  CCW_TRY(find_text(&from, "ccw_signature_", name, &text));
  *out_signature = NULL;
  if (!text) return ccw_ok();
  ccw_signature *signature = NULL;
  ccw_status status = ccw_signature_parse(text, strlen(text), find_kind, &from, &signature);
  ccw_text_free(&from.kind);
  if (from.failure.code) {
    ccw_status_free(status);
    if (!status.code) ccw_signature_release(signature);
    return from.failure;
  }
  if (!status.code) {
    *out_signature = signature;
    return status;
  }
  char symbol[128];
  snprintf(symbol, sizeof symbol, "ccw_signature_%s", name);
  return ccw_status_in(status, symbol);
}

/* ---- a library in this process -------------------------------------------------------------------------------------- */

/* Where a range of addresses lies, for dl_iterate_phdr. */
typedef struct range {
  uintptr_t start;
  size_t size;
} range;

/* 1 where all of the range lies in one readable segment of the object, 0 to go on. */
static int holds_range(struct dl_phdr_info *object, size_t size, void *context)
{
  (void)size;
  const range *wanted = context;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
    uintptr_t offset = wanted->start - (object->dlpi_addr + segment->p_vaddr);
    if (segment->p_type == PT_LOAD && segment->p_flags & PF_R && offset < segment->p_memsz)
      return wanted->size <= segment->p_memsz - offset;
  }
  return 0;
}

/* A library that is loaded. */
typedef struct object {
  void *handle;
  const struct link_map *map;
} object;

/* The symbol's own entry in the table of its library tells how long the text is. */
static ccw_status find_loaded(void *context, const char *symbol, const char **out_text)
{
  const object *in = context;
  const char *address = dlsym(in->handle, symbol);
  Dl_info about;
  const struct link_map *map = NULL;
  const ElfW(Sym) *entry = NULL;
  *out_text = NULL;
  if (!address) return ccw_ok();
  if (dladdr1(address, &about, (void **)&map, RTLD_DL_LINKMAP) && map != in->map) return ccw_ok(); /* another's */
  if (!dladdr1(address, &about, (void **)&entry, RTLD_DL_SYMENT) || !entry || !about.dli_sname ||
      strcmp(about.dli_sname, symbol) != 0 || ELF64_ST_TYPE(entry->st_info) != STT_OBJECT)
    return ccw_invalid("%s: a symbol that is no data", symbol);
  range text = {(uintptr_t)address, entry->st_size};
  if (dl_iterate_phdr(holds_range, &text) != 1)
    return ccw_invalid("%s: its %zu bytes are not all in the library", symbol, text.size);
  CCW_TRY(ccw_carried_check(symbol, address, text.size));
  *out_text = address;
  return ccw_ok();
}

ccw_status ccw_carried_by(XLA_FFI_Handler *function, const char *name, ccw_signature **out_signature)
{
  void *address;
  memcpy(&address, &function, sizeof address);
  Dl_info about;
  object in = {NULL, NULL};
  *out_signature = NULL;
  if (!dladdr1(address, &about, (void **)&in.map, RTLD_DL_LINKMAP) || !in.map) return ccw_ok();
  in.handle = dlopen(in.map->l_name && *in.map->l_name ? in.map->l_name : NULL, RTLD_NOW | RTLD_NOLOAD);
  if (!in.handle) return ccw_ok();
  /* The name that it is known by, where that is the function's: one that several share has one address. */
  if (dlsym(in.handle, name) != address) name = about.dli_saddr == address ? about.dli_sname : NULL;
  ccw_status status = name ? ccw_carried_read(find_loaded, &in, name, out_signature) : ccw_ok();
  dlclose(in.handle);
  return status;
}

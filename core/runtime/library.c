#include "runtime/library.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>

#include "base/checked.h"
#include "base/text.h"
#include "runtime/python.h"
#include "runtime/symbols.h"

struct ccw_library {
  ccw_count count;
  ccw_text path;
  void *handle;       /* of a shared library */
  ccw_python *module; /* of a Python module */
  ccw_text registered, refused;
};

/* The library that this thread is loading: its static initialisers run now. */
static _Thread_local ccw_library *loading;

static ccw_status new_library(const char *path, ccw_library **out_library)
{
  ccw_library *library = ccw_allocate(sizeof *library);
  if (!library) return ccw_no_memory(sizeof *library);
  *library = (ccw_library){.count = 1};
  ccw_text_add(&library->path, "%s", path);
  *out_library = library;
  return ccw_ok();
}

ccw_library *ccw_library_retain(ccw_library *library)
{
  ccw_count_up(&library->count);
  return library;
}

void ccw_library_release(ccw_library *library)
{
  if (!library || !ccw_count_down(&library->count)) return;
  if (library->handle) dlclose(library->handle);
  ccw_python_free(library->module);
  ccw_text_free(&library->path);
  ccw_text_free(&library->registered);
  ccw_text_free(&library->refused);
  ccw_release(library, sizeof *library);
}

const char *ccw_library_path(const ccw_library *library) { return ccw_text_data(&library->path); }
const char *ccw_library_registered(const ccw_library *library) { return ccw_text_data(&library->registered); }
const char *ccw_library_refused(const ccw_library *library) { return ccw_text_data(&library->refused); }

/* ---- loading ------------------------------------------------------------------------------------------------------- */

/* The type bits of the file's mode, 0 where there is no file. */
static mode_t kind_of_file(const char *path)
{
  struct stat about;
  return stat(path, &about) == 0 ? about.st_mode & S_IFMT : 0;
}

static bool ignore_name(void *context, const char *name)
{
  (void)context;
  (void)name;
  return false;
}

/* Makes what XLA_FFI_GetApi() names visible to the libraries that are loaded, also where this one was itself loaded
 * privately, as Lua's require does. */
static void offer_api(void)
{
  static bool done; /* a second time, from another thread too, does no harm */
  Dl_info about;
  if (done || !dladdr(&done, &about)) return;
  dlopen(about.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL); /* keeps a reference: this library stays */
  done = true;
}

/* What the dynamic linker says, in our words: it names the file that is missing, or the symbol. */
static ccw_status load_failure(const char *path, const char *error)
{
  static const char no_file[] = ": cannot open shared object file: No such file or directory";
  static const char no_symbol[] = "undefined symbol: ";
  const char *at = strstr(error, no_file);
  if (at) {
    int length = (int)(at - error);
    if (strncmp(error, path, (size_t)length) == 0 && path[length] == '\0')
      return ccw_not_found("%s: no such file, and no library of that name", path);
    return ccw_failed_precondition("%s: needs %.*s, which is not there", path, length, error);
  }
  at = strstr(error, no_symbol);
  if (at) {
    const char *name = at + strlen(no_symbol);
    bool is_api = strncmp(name, "_ZN3xla3ffi12GetXlaFfiApiEv", 27) == 0 || strncmp(name, "XLA_FFI_GetApi", 14) == 0;
    return ccw_failed_precondition("%s: needs the symbol %s, which nothing that it links to defines%s", path, name,
        is_api ? "; ccw does, but its library could not be made visible to it" : "");
  }
  return ccw_failed_precondition("%s", error);
}

static ccw_status open_handle(const char *path, ccw_library *library)
{
  offer_api();
  ccw_library *outer = loading;
  loading = library;
  /* Once loaded it stays: handlers leave threads and static objects behind, and XLA never unloads them either. */
  library->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  loading = outer;
  if (!library->handle) return load_failure(path, dlerror());
  struct link_map *map;
  if (dlinfo(library->handle, RTLD_DI_LINKMAP, &map) == 0 && *map->l_name) {
    ccw_text_free(&library->path);
    ccw_text_add(&library->path, "%s", map->l_name);
  }
  return ccw_text_status(&library->path);
}

/* "scale" may be called libscale.so. */
static ccw_status open_by_name(const char *name, ccw_library *library)
{
  ccw_status status = open_handle(name, library);
  if (status.code != XLA_FFI_Error_Code_NOT_FOUND || strchr(name, '/')) return status;
  ccw_text full = {0};
  ccw_text_add(&full, "lib%s.so", name);
  ccw_status second = ccw_text_status(&full);
  if (!second.code) second = open_handle(ccw_text_data(&full), library);
  ccw_text_free(&full);
  if (second.code == XLA_FFI_Error_Code_NOT_FOUND) {
    ccw_status_free(second);
    return status;
  }
  ccw_status_free(status);
  return second;
}

static ccw_status open_file(const char *path, ccw_library *library)
{
  CCW_TRY(ccw_symbols_visit(path, ignore_name, NULL)); /* says better than the linker what is not a library */
  ccw_text full = {0};
  ccw_text_add(&full, strchr(path, '/') ? "%s" : "./%s", path); /* without a slash the linker would search */
  ccw_status status = ccw_text_status(&full);
  if (!status.code) status = open_handle(ccw_text_data(&full), library);
  ccw_text_free(&full);
  return status;
}

ccw_status ccw_library_open(const char *path, ccw_library **out_library)
{
  if (!*path) return ccw_not_found("a library's path is empty");
  mode_t kind = kind_of_file(path);
  if (S_ISDIR(kind)) return ccw_invalid("%s: a folder, not a library", path);
  ccw_library *library;
  CCW_TRY(new_library(path, &library));
  ccw_status status = kind ? open_file(path, library) : open_by_name(path, library);
  if (status.code)
    ccw_library_release(library);
  else
    *out_library = library;
  return status;
}

ccw_status ccw_library_open_python(
    const char *module, const char *const *path, size_t path_size, ccw_library **out_library)
{
  ccw_library *library;
  CCW_TRY(new_library(module, &library));
  ccw_status status = ccw_python_import(module, path, path_size, &library->module);
  if (!status.code) {
    ccw_text_free(&library->path);
    ccw_text_add(&library->path, "%s", ccw_python_file(library->module));
    status = ccw_text_status(&library->path);
  }
  if (status.code)
    ccw_library_release(library);
  else
    *out_library = library;
  return status;
}

/* ---- handlers ------------------------------------------------------------------------------------------------------ */

static bool offer_near(void *context, const char *name)
{
  ccw_near_offer(context, name, strlen(name));
  return true;
}

static ccw_status no_such_handler(const ccw_library *library, const char *name, const char *why)
{
  ccw_text text = {0};
  ccw_near near = ccw_near_to(name, strlen(name));
  ccw_status ignored = ccw_library_names(library, offer_near, &near);
  ccw_status_free(ignored);
  ccw_text_add(&text, "%s: %s '%s'", ccw_library_path(library), why, name);
  ccw_near_print(&near, &text);
  return ccw_status_of_text(XLA_FFI_Error_Code_NOT_FOUND, &text);
}

/* The address of an exported function of the library itself: dlsym also finds those of the libraries that it links to,
 * and calling malloc with a frame would not end well. */
static ccw_status find_function(const ccw_library *library, const char *name, XLA_FFI_Handler **out_function)
{
  void *address = dlsym(library->handle, name);
  Dl_info about;
  const ElfW(Sym) *symbol = NULL;
  struct link_map *map;
  if (!address) return no_such_handler(library, name, "exports no");
  if (dladdr1(address, &about, (void **)&symbol, RTLD_DL_SYMENT) && symbol &&
      dlinfo(library->handle, RTLD_DI_LINKMAP, &map) == 0) {
    if ((uintptr_t)about.dli_fbase != map->l_addr)
      return no_such_handler(library, name, "links to, but does not hold,");
    int type = ELF64_ST_TYPE(symbol->st_info);
    if (type == STT_OBJECT || type == STT_TLS)
      return ccw_invalid("%s: '%s' is data, not a function", ccw_library_path(library), name);
  }
  memcpy(out_function, &address, sizeof address); /* ISO C has no conversion from void * to a function */
  return ccw_ok();
}

ccw_status ccw_library_handler(ccw_library *library, const char *name, ccw_handler **out_handler)
{
  XLA_FFI_Handler_Bundle bundle = {0};
  if (library->module) {
    bool found;
    CCW_TRY(ccw_python_bundle(library->module, name, &bundle, &found));
    if (!found) return no_such_handler(library, name, "has no handler");
  } else {
    CCW_TRY(find_function(library, name, &bundle.execute));
  }
  return ccw_handler_new(name, &bundle, 0, library, out_handler);
}

ccw_status ccw_library_names(const ccw_library *library, ccw_name_visitor *visit, void *context)
{
  if (!library->module) return ccw_symbols_visit(ccw_library_path(library), visit, context);
  ccw_python_visit(library->module, visit, context);
  return ccw_ok();
}

ccw_status ccw_library_file_names(const char *path, ccw_name_visitor *visit, void *context)
{
  return ccw_symbols_visit(path, visit, context);
}

/* ---- registration by the library itself ---------------------------------------------------------------------------- */

static void add_line(ccw_text *lines, const XLA_FFI_ByteSpan *name, const XLA_FFI_ByteSpan *platform)
{
  if (lines->length > 0) ccw_text_add(lines, "\n");
  ccw_text_add_escaped(lines, name->ptr, name->len);
  ccw_text_add(lines, " on ");
  ccw_text_add_escaped(lines, platform->ptr, platform->len);
}

static ccw_status register_handler(const XLA_FFI_ByteSpan *name, const XLA_FFI_ByteSpan *platform,
    const XLA_FFI_Handler_Bundle *bundle, XLA_FFI_Handler_Traits traits)
{
  ccw_text text = {0};
  ccw_text_add_bytes(&text, name->ptr, name->len);
  ccw_handler *handler;
  ccw_status status = ccw_text_status(&text);
  if (!status.code) status = ccw_handler_new(ccw_text_data(&text), bundle, traits, loading, &handler);
  ccw_text_free(&text);
  CCW_TRY(status);
  status = ccw_registry_add(name->ptr, name->len, platform->ptr, platform->len, handler, false);
  ccw_handler_release(handler);
  return status;
}

ccw_status ccw_library_register(const XLA_FFI_ByteSpan *name, const XLA_FFI_ByteSpan *platform,
    const XLA_FFI_Handler_Bundle *bundle, XLA_FFI_Handler_Traits traits)
{
  ccw_status status = register_handler(name, platform, bundle, traits);
  if (!loading) return status;
  if (status.code) {
    add_line(&loading->refused, name, platform);
    ccw_text_add(&loading->refused, ": %s", ccw_status_text(status));
  } else {
    add_line(&loading->registered, name, platform);
  }
  return status;
}

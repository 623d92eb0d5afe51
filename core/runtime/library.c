#include "runtime/library.h"

#include <dlfcn.h>
#include <elf.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/text.h"
#include "call/frame.h"
#include "runtime/carried.h"
#include "runtime/foreign.h"
#include "runtime/python.h"
#include "runtime/state_type.h"
#include "runtime/symbols.h"
#include "runtime/told.h"
#include "runtime/type_variable.h"

/* A shared library in this process. It stays for ever: handlers leave threads and static objects behind, and XLA never
 * unloads them either. */
typedef struct image {
  struct image *next;
  void *handle;
  ccw_text path;     /* canonical */
  struct stat about; /* of the file when it was loaded */
  ccw_text registered, refused;
  ccw_told told;
  ccw_type_variable *types;
} image;

struct ccw_library {
  ccw_count count;
  ccw_text path;
  image *image;             /* of a shared library */
  ccw_python *module;       /* of a Python module */
  ccw_text origin;          /* of a Python module, see ccw_library_origin */
  ccw_told told;            /* of a Python module; of an image all its libraries are told */
  ccw_type_variable *types; /* of a Python module; an image has its own */
  bool is_anew;             /* an older state of the file is loaded too */
};

static pthread_mutex_t lock; /* recursive: a static initialiser may load a library */
static pthread_once_t lock_once = PTHREAD_ONCE_INIT;
static image *images;

/* The library that this thread is loading: its static initialisers run now. */
static _Thread_local ccw_library *loading;

/* Makes what XLA_FFI_GetApi() names visible to the libraries that are loaded, also where this one was itself loaded
 * privately, as Lua's require does. It keeps a reference: this library stays. */
static void offer_api(void)
{
  Dl_info about;
  if (dladdr(&lock, &about)) dlopen(about.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
}

static void prepare_loading(void)
{
  pthread_mutexattr_t recursive;
  pthread_mutexattr_init(&recursive);
  pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&lock, &recursive);
  pthread_mutexattr_destroy(&recursive);
  offer_api();
}

/* ---- images --------------------------------------------------------------------------------------------------------- */

static ccw_status new_image(const char *path, const struct stat *about, image **out_image)
{
  image *i = ccw_allocate(sizeof *i);
  if (!i) return ccw_no_memory(sizeof *i);
  *i = (image){.about = *about};
  ccw_text_add(&i->path, "%s", path);
  *out_image = i;
  return ccw_ok();
}

static void free_image(image *i)
{
  if (!i) return;
  ccw_text_free(&i->path);
  ccw_text_free(&i->registered);
  ccw_text_free(&i->refused);
  ccw_release(i, sizeof *i);
}

static image *find_image(const void *handle)
{
  image *i = images;
  while (i && i->handle != handle) i = i->next;
  return i;
}

/* The newest image of that file. */
static image *find_path(const char *path)
{
  image *i = images;
  while (i && strcmp(ccw_text_data(&i->path), path) != 0) i = i->next;
  return i;
}

static bool is_unchanged(const struct stat *a, const struct stat *b)
{
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
         a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* What the dynamic linker says, in our words: it names the file that is missing, or the symbol. */
static ccw_status load_failure(const char *path, const char *error)
{
  static const char no_file[] = ": cannot open shared object file: No such file or directory";
  static const char no_symbol[] = "undefined symbol: ", no_elf[] = ": invalid ELF header";
  const char *at = strstr(error, no_file);
  if (at) {
    int length = (int)(at - error);
    if (strncmp(error, path, (size_t)length) == 0 && path[length] == '\0')
      return ccw_not_found("%s: no such file, and no library of that name", path);
    return ccw_failed_precondition("%s: needs %.*s, which is not there", path, length, error);
  }
  at = strstr(error, no_elf);
  if (at)
    return ccw_invalid("%.*s: not a shared library (perhaps a linker script, as there is for libm: name libm.so.6)",
        (int)(at - error), error);
  at = strstr(error, no_symbol);
  if (at) {
    const char *name = at + strlen(no_symbol);
    bool is_python = strncmp(name, "Py", 2) == 0 || strncmp(name, "_Py", 3) == 0;
    return ccw_failed_precondition("%s: needs the symbol %s, which nothing that it links to defines%s%s", path, name,
        is_python ? "; a Python extension module is loaded as python:" : "", is_python ? path : "");
  }
  return ccw_failed_precondition("%s", error);
}

/* A copy of the file in memory, under a name that the dynamic linker does not know: by its own name, and by that of a copy
 * that is gone, it would find the old code. So the descriptor stays open. */
static ccw_status open_copy(const char *path, char out_name[64])
{
  int from = open(path, O_RDONLY | O_CLOEXEC), to = memfd_create("ccw", MFD_CLOEXEC);
  struct stat about;
  bool good = from >= 0 && to >= 0 && fstat(from, &about) == 0;
  for (off_t done = 0; good && done < about.st_size;) {
    ssize_t sent = sendfile(to, from, &done, (size_t)(about.st_size - done));
    good = sent > 0;
  }
  if (from >= 0) close(from);
  if (good) {
    snprintf(out_name, 64, "/proc/self/fd/%d", to);
    return ccw_ok();
  }
  if (to >= 0) close(to);
  return ccw_unavailable("%s: it has changed since it was loaded, and could not be copied to be loaded anew", path);
}

/* Lists the variables of types in a library, and registers the types of handler.h, whose variables say what they are for. */
static ccw_status read_types(void *handle, ccw_type_variable **out_types)
{
  struct link_map *map;
  *out_types = NULL;
  if (!handle || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || !*map->l_name) return ccw_ok();
  CCW_TRY(ccw_type_variables_read(map->l_name, handle, map->l_addr, out_types));
  for (ccw_type_variable *v = *out_types; v; v = v->next)
    if (v->is_ours && v->id->type_id == 0) CCW_TRY(ccw_type_variable_register(map->l_name, v));
  return ccw_ok();
}

/* Loads what the linker knows under `name` into the library, whose new image `i` is taken over. */
static ccw_status open_image(const char *name, ccw_library *library, image *i)
{
  ccw_library *outer = loading;
  loading = library;
  library->image = i;
  i->handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  loading = outer;
  image *known = i->handle ? find_image(i->handle) : NULL;
  if (i->handle && !known) {
    i->next = images;
    images = i;
    return read_types(i->handle, &i->types);
  }
  library->image = known;
  ccw_status status = known ? ccw_ok() : load_failure(ccw_library_path(library), dlerror());
  free_image(i);
  return status;
}

/* ---- libraries ------------------------------------------------------------------------------------------------------ */

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
  ccw_python_free(library->module);
  ccw_told_free(&library->told);
  ccw_type_variables_free(library->types);
  ccw_text_free(&library->origin);
  ccw_text_free(&library->path);
  ccw_release(library, sizeof *library);
}

const char *ccw_library_path(const ccw_library *library) { return ccw_text_data(&library->path); }

const char *ccw_library_registered(const ccw_library *library)
{
  return library->image ? ccw_text_data(&library->image->registered) : "";
}

const char *ccw_library_refused(const ccw_library *library)
{
  return library->image ? ccw_text_data(&library->image->refused) : "";
}

static bool ignore_name(void *context, const char *name)
{
  (void)context;
  (void)name;
  return false;
}

static ccw_status open_file(const char *path, const struct stat *about, ccw_library *library)
{
  char canonical[PATH_MAX], copy[64];
  CCW_TRY(ccw_symbols_visit(path, ignore_name, NULL)); /* says better than the linker what is not a library */
  if (!realpath(path, canonical)) return ccw_not_found("%s: it is gone", path);
  image *known = find_path(canonical), *i;
  if (known && is_unchanged(&known->about, about)) {
    library->image = known;
    return ccw_ok();
  }
  library->is_anew = known != NULL;
  if (known) CCW_TRY(open_copy(path, copy));
  CCW_TRY(new_image(canonical, about, &i));
  return open_image(known ? copy : canonical, library, i);
}

/* By the name that the linker searches for, "libscale.so"; the path is then where it was found. */
static ccw_status open_name(const char *name, ccw_library *library)
{
  struct stat none = {0};
  image *i;
  CCW_TRY(new_image(name, &none, &i));
  CCW_TRY(open_image(name, library, i));
  struct link_map *map;
  if (dlinfo(library->image->handle, RTLD_DI_LINKMAP, &map) == 0 && *map->l_name) {
    ccw_text_free(&library->path);
    ccw_text_add(&library->path, "%s", map->l_name);
  }
  return ccw_text_status(&library->path);
}

/* "scale" may be called libscale.so. */
static ccw_status open_short_name(const char *name, ccw_library *library)
{
  ccw_status status = open_name(name, library);
  if (status.code != XLA_FFI_Error_Code_NOT_FOUND || strchr(name, '/')) return status;
  ccw_text_free(&library->path);
  ccw_text_add(&library->path, "lib%s.so", name);
  ccw_status second = ccw_text_status(&library->path);
  if (!second.code) {
    char full[NAME_MAX + 1]; /* a copy: the path changes when it is found */
    snprintf(full, sizeof full, "%s", ccw_library_path(library));
    second = open_name(full, library);
  }
  if (second.code == XLA_FFI_Error_Code_NOT_FOUND) {
    ccw_status_free(second);
    return status;
  }
  ccw_status_free(status);
  return second;
}

ccw_status ccw_library_open(const char *path, ccw_library **out_library)
{
  if (!*path) return ccw_not_found("a library's path is empty");
  if (strlen(path) >= PATH_MAX) /* too much for the stack of the dynamic linker, too */
    return ccw_invalid("a library's path may have %d bytes, this has %zu", PATH_MAX - 1, strlen(path));
  ccw_library *library;
  CCW_TRY(new_library(path, &library));
  pthread_once(&lock_once, prepare_loading);
  pthread_mutex_lock(&lock);
  struct stat about;
  ccw_status status = stat(path, &about) == 0 ? open_file(path, &about, library) : open_short_name(path, library);
  pthread_mutex_unlock(&lock);
  if (status.code)
    ccw_library_release(library);
  else
    *out_library = library;
  return status;
}

ccw_status ccw_library_open_python(
    const char *module, const char *const *path, size_t path_size, const char *last, ccw_library **out_library)
{
  ccw_library *library;
  CCW_TRY(new_library(module, &library));
  ccw_text_add(&library->origin, "python:%s", module);
  ccw_text_add_bytes(&library->origin, "", 1);
  for (size_t i = 0; i < path_size; ++i) ccw_text_add_bytes(&library->origin, path[i], strlen(path[i]) + 1);
  ccw_status status = ccw_python_import(module, path, path_size, last, &library->module);
  if (!status.code) {
    ccw_text_free(&library->path);
    ccw_text_add(&library->path, "%s", ccw_python_file(library->module));
    status = ccw_text_status(&library->path);
  }
  if (!status.code) status = read_types(dlopen(ccw_library_path(library), RTLD_NOW | RTLD_NOLOAD), &library->types);
  if (!status.code) status = ccw_python_register_types(library->module);
  if (status.code)
    ccw_library_release(library);
  else
    *out_library = library;
  return status;
}

/* ---- handlers ------------------------------------------------------------------------------------------------------- */

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
  void *handle = library->image->handle, *address = dlsym(handle, name);
  if (!address) return no_such_handler(library, name, "exports no");
  Dl_info about;
  bool is_code = ccw_is_code(address);
  const ElfW(Sym) *symbol = NULL;
  struct link_map *map, *its_map = NULL;
  if (dladdr1(address, &about, (void **)&its_map, RTLD_DL_LINKMAP) && its_map &&
      dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != its_map)
    return no_such_handler(library, name, "links to, but does not hold,");
  if (dladdr1(address, &about, (void **)&symbol, RTLD_DL_SYMENT) && symbol) {
    int type = ELF64_ST_TYPE(symbol->st_info);
    is_code = is_code && type != STT_OBJECT && type != STT_TLS;
  }
  if (!is_code) return ccw_invalid("%s: '%s' is data, not a function", ccw_library_path(library), name);
  memcpy(out_function, &address, sizeof address); /* ISO C has no conversion from void * to a function */
  return ccw_ok();
}

static ccw_status find_bundle(ccw_library *library, const char *name, XLA_FFI_Handler_Bundle *out_bundle)
{
  *out_bundle = (XLA_FFI_Handler_Bundle){0};
  if (!library->module) return find_function(library, name, &out_bundle->execute);
  bool found;
  CCW_TRY(ccw_python_bundle(library->module, name, out_bundle, &found));
  return found ? ccw_ok() : no_such_handler(library, name, "has no handler");
}

ccw_status ccw_library_handler(ccw_library *library, const char *name, ccw_handler **out_handler)
{
  XLA_FFI_Handler_Bundle bundle;
  CCW_TRY(find_bundle(library, name, &bundle));
  return ccw_handler_new(name, &bundle, 0, library, out_handler);
}

ccw_status ccw_library_names(const ccw_library *library, ccw_name_visitor *visit, void *context)
{
  if (library->image) {
    const char *file = ccw_text_data(&library->image->path); /* canonical; the other may be relative to where we were */
    return ccw_symbols_visit(*file == '/' ? file : ccw_library_path(library), visit, context);
  }
  ccw_python_visit(library->module, visit, context);
  return ccw_ok();
}

ccw_status ccw_library_file_names(const char *path, ccw_name_visitor *visit, void *context)
{
  return ccw_symbols_visit(path, visit, context);
}

ccw_status ccw_library_file_signatures(const char *path, ccw_signature_visitor *visit, void *context)
{
  return ccw_symbols_visit_signatures(path, visit, context);
}

/* ---- signatures ----------------------------------------------------------------------------------------------------- */

void ccw_library_place_of(const ccw_library *library, XLA_FFI_Handler *function, const char *name, ccw_text *out_place)
{
  void *address;
  memcpy(&address, &function, sizeof address);
  Dl_info about;
  struct link_map *own = NULL, *map = NULL;
  if (!dladdr1(address, &about, (void **)&map, RTLD_DL_LINKMAP) || !map) {
    ccw_text_add(out_place, "%s", name);
    return;
  }
  bool is_own = library && library->image && dlinfo(library->image->handle, RTLD_DI_LINKMAP, &own) == 0 && own == map;
  ccw_text_add(out_place, "%s+0x%zx", is_own ? "" : ccw_base_name(about.dli_fname),
      (size_t)((const char *)address - (const char *)about.dli_fbase));
}

static ccw_told *told_of(ccw_library *library) { return library->image ? &library->image->told : &library->told; }

ccw_status ccw_library_signature_of(
    ccw_library *library, XLA_FFI_Handler *function, const char *name, ccw_signature **out_signature)
{
  CCW_TRY(ccw_carried_by(function, name, out_signature));
  if (*out_signature) return ccw_ok();
  if (!library) return ccw_failed_precondition("it came out of no library that could be asked");
  ccw_text place = {0};
  ccw_library_place_of(library, function, name, &place);
  ccw_status status = ccw_text_status(&place);
  if (!status.code) status = ccw_told_find(told_of(library), ccw_text_data(&place), out_signature);
  ccw_text_free(&place);
  return status;
}

ccw_status ccw_library_place(ccw_library *library, const char *name, XLA_FFI_ExecutionStage stage, ccw_text *out_place)
{
  XLA_FFI_Handler_Bundle bundle;
  CCW_TRY(find_bundle(library, name, &bundle));
  XLA_FFI_Handler *function = ccw_bundle_function(&bundle, stage);
  if (!function) return ccw_not_found("%s: it has no function for the stage %s", name, ccw_stage_name(stage));
  ccw_library_place_of(library, function, name, out_place);
  return ccw_text_status(out_place);
}

/* Whether asking a function found that it binds a type which is not registered. */
bool ccw_library_lacks_type(ccw_library *library, XLA_FFI_Handler *function, const char *name)
{
  ccw_text place = {0};
  ccw_library_place_of(library, function, name, &place);
  bool lacks_type = ccw_told_lacks_type(told_of(library), ccw_text_data(&place));
  ccw_text_free(&place);
  return lacks_type;
}

ccw_status ccw_library_find_signature(ccw_library *library, const char *name, ccw_signature **out_signature)
{
  XLA_FFI_Handler_Bundle bundle;
  CCW_TRY(find_bundle(library, name, &bundle));
  if (!bundle.execute) return ccw_failed_precondition("it has no execute function, which could be asked");
  return ccw_library_signature_of(library, bundle.execute, name, out_signature);
}

ccw_status ccw_library_tell(ccw_library *library, const char *place, const char *signature, const char *why)
{
  ccw_signature *told = NULL;
  if (signature) CCW_TRY(ccw_signature_parse(signature, strlen(signature), NULL, NULL, &told));
  ccw_status status = ccw_told_add(told_of(library), place, told, why);
  ccw_signature_release(told);
  return status;
}

ccw_status ccw_library_tell_type(ccw_library *library, const char *place, const char *type)
{
  return ccw_told_add_type(told_of(library), place, type);
}

ccw_status ccw_library_origin(const ccw_library *library, ccw_text *out_origin)
{
  if (library->module) {
    ccw_text_add_bytes(out_origin, library->origin.data, library->origin.length);
    return ccw_text_status(&library->origin);
  }
  const image *from = library->image;
  const char *file = ccw_text_data(&from->path); /* canonical, or a name for the linker */
  struct stat about;
  bool is_file = *file == '/';
  if (is_file && !(stat(file, &about) == 0 && is_unchanged(&from->about, &about)))
    return ccw_failed_precondition("%s has changed since it was loaded, and can no longer be asked", file);
  if (!is_file) file = ccw_library_path(library);
  ccw_text_add_bytes(out_origin, file, strlen(file) + 1);
  return ccw_text_status(out_origin);
}

/* ---- types of state and user data ------------------------------------------------------------------------------------ */

static ccw_type_variable *types_of(const ccw_library *library)
{
  return library->image ? library->image->types : library->types;
}

void ccw_library_add_type_candidates(const ccw_library *library, ccw_text *text)
{
  ccw_type_variables_say_unregistered(types_of(library), text);
}

ccw_status ccw_library_register_own_type(
    const XLA_FFI_ByteSpan *name, XLA_FFI_TypeId *type_id, const XLA_FFI_TypeInfo *info)
{
  bool is_taken = type_id && type_id->type_id == 0 && ccw_state_type_find(name->ptr, name->len);
  if (!loading || !is_taken) return ccw_state_type_register(name->ptr, name->len, type_id, info);
  ccw_text own = {0};
  ccw_text_add(&own, "%s: ", ccw_base_name(ccw_library_path(loading)));
  ccw_text_add_bytes(&own, name->ptr, name->len);
  if (ccw_state_type_find(ccw_text_data(&own), own.length)) ccw_text_add(&own, " at %p", (void *)type_id);
  ccw_status status = ccw_text_status(&own);
  if (!status.code) status = ccw_state_type_register(ccw_text_data(&own), own.length, type_id, info);
  ccw_text_free(&own);
  return status;
}

ccw_status ccw_library_check_types(const ccw_library *library, const ccw_signature *signature)
{
  return ccw_type_variables_check(types_of(library), signature);
}

void ccw_library_add_type_name(const XLA_FFI_TypeId *variable, ccw_text *text)
{
  pthread_once(&lock_once, prepare_loading);
  pthread_mutex_lock(&lock);
  for (const image *i = images; i; i = i->next)
    for (const ccw_type_variable *v = i->types; v; v = v->next)
      if (v->id == variable) ccw_text_add(text, "%s", v->type);
  pthread_mutex_unlock(&lock);
}

/* The address that a symbol names: of a variable, or what a function without parameters returns. */
static ccw_status find_address(ccw_library *library, const char *symbol, size_t size, void **out_address)
{
  for (const ccw_type_variable *v = types_of(library); v; v = v->next) {
    bool is_info = v->info && ccw_type_variable_has_info(v, symbol);
    bool is_id = strcmp(v->symbol, symbol) == 0;
    if (!(is_info && size == sizeof *v->info) && !(is_id && size == sizeof *v->id)) continue;
    *out_address = is_info ? (void *)(uintptr_t)v->info : (void *)v->id;
    return ccw_ok();
  }
  void *handle = library->image ? library->image->handle : dlopen(ccw_library_path(library), RTLD_NOW | RTLD_NOLOAD);
  void *address = handle ? dlsym(handle, symbol) : NULL;
  if (!address) return no_such_handler(library, symbol, "exports no");
  Dl_info about;
  const ElfW(Sym) *found = NULL;
  if (ccw_is_code(address)) {
    ccw_signature *signature = NULL;
    ccw_status ignored = ccw_library_find_signature(library, symbol, &signature);
    ccw_status_free(ignored);
    ccw_signature_release(signature);
    if (signature) return ccw_invalid("%s: %s is a handler, and gives no address", ccw_library_path(library), symbol);
    void *(*function)(void);
    memcpy(&function, &address, sizeof function);
    address = function();
  } else if (dladdr1(address, &about, (void **)&found, RTLD_DL_SYMENT) && found && found->st_size != size) {
    return ccw_invalid("%s: expected a variable of %zu bytes, %s has %zu", ccw_library_path(library), size, symbol,
        (size_t)found->st_size);
  }
  if (!address) return ccw_invalid("%s: %s gives no address", ccw_library_path(library), symbol);
  *out_address = address;
  return ccw_ok();
}

static ccw_status no_such_type(const ccw_library *library, const char *name)
{
  ccw_text text = {0};
  const char *comma = "; it has ";
  ccw_text_add(&text, "%s: has no type '%s'", ccw_library_path(library), name);
  for (const ccw_type_variable *v = types_of(library); v; v = v->next, comma = ", ")
    ccw_text_add(&text, "%s%s", comma, v->type);
  if (!types_of(library))
    ccw_text_add(&text, "; name the symbol of the variable with its id, or of a function that gives it");
  return ccw_status_of_text(XLA_FFI_Error_Code_NOT_FOUND, &text);
}

ccw_status ccw_library_register_type(
    ccw_library *library, const char *name, const char *id_symbol, const char *info_symbol, ccw_text *out_name)
{
  void *id, *info = NULL;
  if (!id_symbol) {
    ccw_type_variable *variable = ccw_type_variable_find(types_of(library), name);
    if (!variable) return no_such_type(library, name);
    bool is_done = variable->is_ours && variable->id->type_id != 0; /* since it was loaded */
    if (!is_done) CCW_TRY(ccw_type_variable_register(ccw_library_path(library), variable));
    ccw_text_add(out_name, "%s", ccw_state_type_of(variable->id->type_id)->name);
    return ccw_text_status(out_name);
  }
  CCW_TRY(find_address(library, id_symbol, sizeof(XLA_FFI_TypeId), &id));
  if (info_symbol) CCW_TRY(find_address(library, info_symbol, sizeof(XLA_FFI_TypeInfo), &info));
  CCW_TRY(ccw_state_type_register(name, strlen(name), id, info));
  ccw_text_add(out_name, "%s", name);
  return ccw_text_status(out_name);
}

void ccw_library_types(const ccw_library *library, ccw_type_visitor *visit, void *context)
{
  const ccw_type_variable *v = types_of(library);
  while (v && visit(context, v->type, v->id->type_id != 0)) v = v->next;
}

void ccw_library_invent_types(ccw_library *library) { ccw_type_variables_invent(types_of(library)); }

/* ---- registration by the library itself ----------------------------------------------------------------------------- */

static void add_line(ccw_text *lines, const XLA_FFI_ByteSpan *name, const XLA_FFI_ByteSpan *platform)
{
  if (lines->length > 0) ccw_text_add(lines, "\n");
  ccw_text_add_escaped(lines, name->ptr, name->len);
  ccw_text_add(lines, " on ");
  ccw_text_add_escaped(lines, platform->ptr, platform->len);
}

/* Whether the name belongs to an older state of the library that is being loaded anew. */
static bool is_of_older_self(const XLA_FFI_ByteSpan *name, const XLA_FFI_ByteSpan *platform)
{
  ccw_handler *handler;
  if (!loading || !loading->is_anew) return false;
  ccw_status status = ccw_registry_find(name->ptr, name->len, platform->ptr, platform->len, &handler);
  ccw_status_free(status);
  if (status.code) return false;
  const char *path = ccw_handler_describe(handler).library, *own = ccw_library_path(loading);
  bool is_older = path != own && strcmp(path, own) == 0; /* another library object of the same path */
  ccw_handler_release(handler);
  return is_older;
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
  bool replace = is_of_older_self(name, platform);
  status = ccw_registry_add(name->ptr, name->len, platform->ptr, platform->len, handler, replace);
  ccw_handler_release(handler);
  return status;
}

ccw_status ccw_library_register(const XLA_FFI_ByteSpan *name, const XLA_FFI_ByteSpan *platform,
    const XLA_FFI_Handler_Bundle *bundle, XLA_FFI_Handler_Traits traits)
{
  ccw_status status = register_handler(name, platform, bundle, traits);
  if (!loading) return status;
  ccw_text *lines = status.code ? &loading->image->refused : &loading->image->registered;
  add_line(lines, name, platform);
  if (status.code) ccw_text_add(lines, ": %s", ccw_status_text(status));
  return status;
}

#include "runtime/python.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "base/memory.h"
#include "base/text.h"
#include "runtime/foreign.h"
#include "collect.h" /* made of collect.py by the build */

/* ---- libpython ----------------------------------------------------------------------------------------------------- */

typedef struct _object PyObject; /* Python's own name for it */

/* What is used of Python's C API: X(result, name, parameters). */
#define PYTHON_SYMBOLS(X)                                              \
  X(int, Py_IsInitialized, (void))                                     \
  X(void, Py_InitializeEx, (int))                                      \
  X(const char *, Py_GetVersion, (void))                               \
  X(wchar_t *, Py_DecodeLocale, (const char *, size_t *))              \
  X(void *, PyEval_SaveThread, (void))                                 \
  X(int, PyGILState_Ensure, (void))                                    \
  X(void, PyGILState_Release, (int))                                   \
  X(PyObject *, Py_CompileString, (const char *, const char *, int))   \
  X(PyObject *, PyEval_EvalCode, (PyObject *, PyObject *, PyObject *)) \
  X(PyObject *, PyEval_GetBuiltins, (void))                            \
  X(PyObject *, PyDict_New, (void))                                    \
  X(PyObject *, PyDict_GetItemString, (PyObject *, const char *))      \
  X(int, PyDict_SetItemString, (PyObject *, const char *, PyObject *)) \
  X(PyObject *, PyList_New, (ssize_t))                                 \
  X(int, PyList_Append, (PyObject *, PyObject *))                      \
  X(ssize_t, PyList_Size, (PyObject *))                                \
  X(PyObject *, PyList_GetItem, (PyObject *, ssize_t))                 \
  X(PyObject *, PyTuple_GetItem, (PyObject *, ssize_t))                \
  X(PyObject *, PyUnicode_DecodeFSDefault, (const char *))             \
  X(const char *, PyUnicode_AsUTF8AndSize, (PyObject *, ssize_t *))    \
  X(const char *, PyCapsule_GetName, (PyObject *))                     \
  X(void *, PyCapsule_GetPointer, (PyObject *, const char *))          \
  X(void, PyErr_Clear, (void))                                         \
  X(void, Py_DecRef, (PyObject *))

static struct {
#define MEMBER(result, name, parameters) result(*name) parameters;
  PYTHON_SYMBOLS(MEMBER)
#undef MEMBER
} py;

enum { OLDEST_MINOR = 9, NEWEST_MINOR = 16 };

static void *open_library(const char *path) { return dlopen(path, RTLD_NOW | RTLD_GLOBAL); }

/* Extension modules do not link to libpython: they expect its symbols to be there, so that it is opened globally. */
static void *open_version(const char *folder, int minor)
{
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s%slibpython3.%d.so.1.0", folder, *folder ? "/" : "", minor);
  return open_library(path);
}

/* Goes up to the folder that holds this one; false at the top. */
static bool parent(char *path)
{
  char *slash = strrchr(path, '/');
  if (!slash || slash == path) return false;
  *slash = '\0';
  return true;
}

/* The libpython of a virtual environment is beside the interpreter that its python links to. */
static void *open_of_environment(const char *environment)
{
  for (int minor = NEWEST_MINOR; minor >= OLDEST_MINOR; --minor) {
    char path[PATH_MAX], interpreter[PATH_MAX];
    snprintf(path, sizeof path, "%s/bin/python3.%d", environment, minor);
    if (access(path, X_OK) != 0) {
      snprintf(path, sizeof path, "%s/lib/python3.%d", environment, minor);
      if (access(path, R_OK) != 0) continue;
      snprintf(path, sizeof path, "%s/bin/python3", environment);
    }
    if (!realpath(path, interpreter) || !parent(interpreter) || !parent(interpreter)) continue;
    strcat(interpreter, "/lib"); /* shorter than what was cut off */
    void *library = open_version(interpreter, minor);
    return library ? library : open_version("", minor);
  }
  return NULL;
}

static void *find_libpython(void)
{
  const char *named = getenv("CCW_LIBPYTHON"), *environment = getenv("VIRTUAL_ENV");
  if (named && *named) return open_library(named);
  void *library = dlsym(RTLD_DEFAULT, "Py_InitializeEx") ? dlopen(NULL, RTLD_NOW) : NULL; /* this may be Python */
  if (!library && environment && *environment) library = open_of_environment(environment);
  for (int minor = NEWEST_MINOR; !library && minor >= OLDEST_MINOR; --minor) library = open_version("", minor);
  return library;
}

static ccw_status load_symbols(void *library)
{
#define LOAD(result, name, parameters)                                                                      \
  {                                                                                                         \
    void *symbol = dlsym(library, #name);                                                                   \
    if (!symbol) return ccw_unavailable("libpython has no %s: it is older than 3.%d", #name, OLDEST_MINOR); \
    memcpy(&py.name, &symbol, sizeof symbol);                                                               \
  }
  PYTHON_SYMBOLS(LOAD)
#undef LOAD
  return ccw_ok();
}

/* Modules come from the interpreter that belongs to this libpython. Left alone, Python would take the first python3 on
 * PATH for it. */
static void name_interpreter(void *library)
{
  Dl_info about;
  char folder[PATH_MAX], path[PATH_MAX + 32];
  void *symbol = dlsym(library, "Py_SetProgramName");
  void (*set_program_name)(const wchar_t *);
  memcpy(&set_program_name, &symbol, sizeof symbol);
  int minor = 0;
  if (!symbol || sscanf(py.Py_GetVersion(), "3.%d", &minor) != 1) return;
  if (!dladdr(dlsym(library, "Py_InitializeEx"), &about) || !realpath(about.dli_fname, folder)) return;
  while (parent(folder)) {
    snprintf(path, sizeof path, "%s/bin/python3.%d", folder, minor);
    if (access(path, X_OK) != 0) continue;
    wchar_t *wide = py.Py_DecodeLocale(path, NULL);
    if (wide) set_program_name(wide); /* kept by Python, for ever */
    return;
  }
}

/* Python ends the process when it does not find its own modules where PYTHONHOME, "prefix" or "prefix:exec_prefix", says. */
static ccw_status check_home(void)
{
  const char *home = getenv("PYTHONHOME");
  char path[PATH_MAX];
  int minor = 0;
  if (!home || !*home || sscanf(py.Py_GetVersion(), "3.%d", &minor) != 1) return ccw_ok();
  int length = (int)strcspn(home, ":");
  static const char *const folders[] = {"lib", "lib64"};
  for (size_t i = 0; i < sizeof folders / sizeof *folders; ++i) {
    snprintf(path, sizeof path, "%.*s/%s/python3.%d/os.py", length, home, folders[i], minor);
    if (access(path, R_OK) == 0) return ccw_ok();
  }
  return ccw_unavailable("PYTHONHOME is %.*s, where there are no modules of Python 3.%d", length, home, minor);
}

/* Callers hold the lock. */
static ccw_status start_python(void)
{
  static bool running;
  if (running) return ccw_ok();
  void *library = find_libpython();
  const char *named = getenv("CCW_LIBPYTHON");
  if (!library && named && *named)
    return ccw_unavailable("CCW_LIBPYTHON is %s, which cannot be opened: %s", named, dlerror());
  if (!library)
    return ccw_unavailable("Python modules need a libpython, and there is none: install one (on Debian 12 the package "
                           "libpython3.11), or name its file in CCW_LIBPYTHON");
  CCW_TRY(load_symbols(library));
  if (!py.Py_IsInitialized()) {
    CCW_TRY(check_home());
    name_interpreter(library);
    py.Py_InitializeEx(0); /* 0: signals stay ours */
    py.PyEval_SaveThread();
  }
  running = true;
  return ccw_ok();
}

/* ---- what runs inside Python --------------------------------------------------------------------------------------- */

/* collect_code is collect.py. This adds what the module has under the name `wanted`. */
static const char named_code[] = "error = ''\n"
                                 "try: named(wanted)\n"
                                 "except BaseException as e: error = text(e)\n";

/* ---- modules ------------------------------------------------------------------------------------------------------- */

/* A capsule that could be a handler, or why it is none. */
typedef struct target {
  const char *name; /* borrowed from Python, which keeps the list */
  const char *stage;
  XLA_FFI_Handler *function;
  const char *fault;
} target;

struct ccw_python {
  PyObject *globals; /* where the code above has run */
  ccw_text file;
  target *targets;
  size_t count, room;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A string in the globals; "" where it is none. */
static const char *text_of(const ccw_python *module, const char *name)
{
  PyObject *object = py.PyDict_GetItemString(module->globals, name);
  const char *text = object ? py.PyUnicode_AsUTF8AndSize(object, NULL) : NULL;
  if (!text) py.PyErr_Clear();
  return text ? text : "";
}

static bool set_text(ccw_python *module, const char *name, const char *text)
{
  PyObject *object = py.PyUnicode_DecodeFSDefault(text);
  if (!object) {
    py.PyErr_Clear();
    return false;
  }
  int failed = py.PyDict_SetItemString(module->globals, name, object);
  py.Py_DecRef(object);
  return failed == 0;
}

static ccw_status run_code(ccw_python *module, const char *code)
{
  enum { FILE_INPUT = 257 }; /* Py_file_input, the same in every version */
  PyObject *compiled = py.Py_CompileString(code, "<ccw>", FILE_INPUT);
  PyObject *result = compiled ? py.PyEval_EvalCode(compiled, module->globals, module->globals) : NULL;
  if (compiled) py.Py_DecRef(compiled);
  if (result) py.Py_DecRef(result);
  py.PyErr_Clear();
  return result ? ccw_ok() : ccw_internal("Python could not run ccw's own code");
}

static target read_capsule(const char *name, const char *stage, PyObject *capsule)
{
  target t = {.name = name, .stage = stage};
  const char *capsule_name = py.PyCapsule_GetName(capsule);
  if (capsule_name && strcmp(capsule_name, "xla._CUSTOM_CALL_TARGET") != 0) {
    t.fault = "its capsule is named otherwise than a handler's, whose name is NULL or xla._CUSTOM_CALL_TARGET";
    return t;
  }
  void *pointer = py.PyCapsule_GetPointer(capsule, capsule_name);
  py.PyErr_Clear();
  if (ccw_is_code(pointer))
    memcpy(&t.function, &pointer, sizeof pointer);
  else
    t.fault = "its capsule does not point to code";
  return t;
}

static ccw_status add_target(ccw_python *module, target t)
{
  if (module->count == module->room) {
    size_t room = module->room ? 2 * module->room : 32;
    target *grown = ccw_reallocate(module->targets, module->room * sizeof *grown, room * sizeof *grown);
    if (!grown) return ccw_no_memory(room * sizeof *grown);
    module->targets = grown;
    module->room = room;
  }
  module->targets[module->count++] = t;
  return ccw_ok();
}

/* Takes the capsules of `handlers` from number `first` on. */
static ccw_status take_targets(ccw_python *module, size_t first)
{
  PyObject *list = py.PyDict_GetItemString(module->globals, "handlers");
  for (ssize_t i = (ssize_t)first; i < py.PyList_Size(list); ++i) {
    PyObject *item = py.PyList_GetItem(list, i);
    const char *name = py.PyUnicode_AsUTF8AndSize(py.PyTuple_GetItem(item, 0), NULL);
    const char *stage = py.PyUnicode_AsUTF8AndSize(py.PyTuple_GetItem(item, 1), NULL);
    if (name && stage) CCW_TRY(add_target(module, read_capsule(name, stage, py.PyTuple_GetItem(item, 2))));
    py.PyErr_Clear();
  }
  return ccw_ok();
}

static bool add_folder(PyObject *list, const char *folder, size_t length)
{
  char path[PATH_MAX];
  if (length == 0 || length >= sizeof path) return true;
  memcpy(path, folder, length);
  path[length] = '\0';
  PyObject *object = py.PyUnicode_DecodeFSDefault(path);
  if (!object) return false;
  int failed = py.PyList_Append(list, object);
  py.Py_DecRef(object);
  return failed == 0;
}

/* `path`, `environment` and `last`: where collect.py lets Python look. */
static bool set_path(ccw_python *module, const char *const *path, size_t path_size, const char *last)
{
  char folder[PATH_MAX] = "";
  const char *environment = getenv("VIRTUAL_ENV"); /* PYTHONPATH is read by Python itself */
  int minor = 0;
  if (environment && *environment && sscanf(py.Py_GetVersion(), "3.%d", &minor) == 1)
    snprintf(folder, sizeof folder, "%s/lib/python3.%d/site-packages", environment, minor);
  PyObject *list = py.PyList_New(0);
  if (!list) return false;
  bool good = set_text(module, "environment", folder) && set_text(module, "last", last ? last : "");
  for (size_t i = 0; i < path_size; ++i) good = good && add_folder(list, path[i], strlen(path[i]));
  good = good && py.PyDict_SetItemString(module->globals, "path", list) == 0;
  py.Py_DecRef(list);
  return good;
}

/* The GIL is held. */
static ccw_status import(
    ccw_python *module, const char *name, const char *const *path, size_t path_size, const char *last)
{
  module->globals = py.PyDict_New();
  if (!module->globals || py.PyDict_SetItemString(module->globals, "__builtins__", py.PyEval_GetBuiltins()) != 0 ||
      !set_text(module, "module", name) || !set_path(module, path, path_size, last)) {
    py.PyErr_Clear();
    return ccw_invalid("Python takes no module name or path of this kind: %s", name);
  }
  CCW_TRY(run_code(module, collect_code));
  const char *error = text_of(module, "error"), *missing = text_of(module, "missing");
  if (*missing)
    return ccw_not_found(
        "Python %.*s finds no module '%s': %s", (int)strcspn(py.Py_GetVersion(), " "), py.Py_GetVersion(), name, error);
  if (*error)
    return ccw_failed_precondition(
        "Python %.*s cannot import '%s': %s", (int)strcspn(py.Py_GetVersion(), " "), py.Py_GetVersion(), name, error);
  ccw_text_add(&module->file, "%s", text_of(module, "file"));
  CCW_TRY(ccw_text_status(&module->file));
  return take_targets(module, 0);
}

ccw_status ccw_python_import(
    const char *module, const char *const *path, size_t path_size, const char *last, ccw_python **out_module)
{
  pthread_mutex_lock(&lock);
  ccw_status status = start_python();
  pthread_mutex_unlock(&lock);
  CCW_TRY(status);
  ccw_python *imported = ccw_allocate(sizeof *imported);
  if (!imported) return ccw_no_memory(sizeof *imported);
  *imported = (ccw_python){.globals = NULL};
  int state = py.PyGILState_Ensure();
  status = import(imported, module, path, path_size, last);
  py.PyGILState_Release(state);
  if (status.code)
    ccw_python_free(imported);
  else
    *out_module = imported;
  return status;
}

/* What a capsule holds, if it is of that size; NULL for None, and where there is nothing to read. */
static void *pointer_in(PyObject *capsule, size_t size)
{
  char content[64];
  void *pointer = py.PyCapsule_GetPointer(capsule, py.PyCapsule_GetName(capsule));
  py.PyErr_Clear();
  return pointer && ccw_read_memory(pointer, content, size) ? pointer : NULL;
}

/* The GIL is held. Names are unique among types: a name that stands for another gets the module's file in front. */
static ccw_status register_python_type(const ccw_python *module, PyObject *item)
{
  const char *name = py.PyUnicode_AsUTF8AndSize(py.PyTuple_GetItem(item, 0), NULL);
  XLA_FFI_TypeId *id = pointer_in(py.PyTuple_GetItem(item, 1), sizeof *id);
  const XLA_FFI_TypeInfo *info = pointer_in(py.PyTuple_GetItem(item, 2), sizeof *info);
  if (!name || !id) return ccw_ok();
  int64_t known = ccw_state_type_find(name, strlen(name));
  ccw_text full = {0};
  if (known && known != id->type_id) ccw_text_add(&full, "%s: ", ccw_text_data(&module->file));
  ccw_text_add(&full, "%s", name);
  ccw_status status = ccw_text_status(&full);
  if (!status.code) status = ccw_state_type_register(ccw_text_data(&full), full.length, id, info);
  ccw_text_free(&full);
  return status;
}

ccw_status ccw_python_register_types(const ccw_python *module)
{
  ccw_status status = ccw_ok();
  int state = py.PyGILState_Ensure();
  PyObject *list = py.PyDict_GetItemString(module->globals, "types");
  for (ssize_t i = 0; !status.code && i < py.PyList_Size(list); ++i)
    status = register_python_type(module, py.PyList_GetItem(list, i));
  py.PyErr_Clear();
  py.PyGILState_Release(state);
  return status;
}

void ccw_python_free(ccw_python *module)
{
  if (!module) return;
  if (module->globals) {
    int state = py.PyGILState_Ensure();
    py.Py_DecRef(module->globals);
    py.PyGILState_Release(state);
  }
  ccw_text_free(&module->file);
  ccw_release(module->targets, module->room * sizeof *module->targets);
  ccw_release(module, sizeof *module);
}

const char *ccw_python_file(const ccw_python *module) { return ccw_text_data(&module->file); }

/* Fills the bundle with what is under the name; `fault` is set where something there is no handler. */
static bool find(const ccw_python *module, const char *name, XLA_FFI_Handler_Bundle *bundle, const char **out_fault)
{
  bool found = false;
  for (size_t i = 0; i < module->count; ++i) {
    const target *t = &module->targets[i];
    if (strcmp(t->name, name) != 0) continue;
    found = true;
    if (t->fault) *out_fault = t->fault;
#define TAKE(NAME, name, number) \
  if (strcmp(t->stage, #name) == 0) bundle->name = t->function;
    CCW_STAGES(TAKE)
#undef TAKE
  }
  return found;
}

/* The GIL is held. Asks the module for a name that was not collected. */
static ccw_status look_up(ccw_python *module, const char *name)
{
  if (!set_text(module, "wanted", name)) return ccw_ok(); /* not a name at all: it stays unfound */
  CCW_TRY(run_code(module, named_code));
  const char *error = text_of(module, "error");
  if (*error) return ccw_failed_precondition("%s: '%s': %s", ccw_python_file(module), name, error);
  return take_targets(module, module->count);
}

ccw_status ccw_python_bundle(ccw_python *module, const char *name, XLA_FFI_Handler_Bundle *out_bundle, bool *out_found)
{
  XLA_FFI_Handler_Bundle bundle = {0};
  const char *fault = NULL;
  bool found = find(module, name, &bundle, &fault);
  if (!found) {
    int state = py.PyGILState_Ensure();
    ccw_status status = look_up(module, name);
    py.PyGILState_Release(state);
    CCW_TRY(status);
    found = find(module, name, &bundle, &fault);
  }
  if (fault) return ccw_invalid("%s: '%s' is no handler: %s", ccw_python_file(module), name, fault);
  *out_bundle = bundle;
  *out_found = found;
  return ccw_ok();
}

void ccw_python_visit(const ccw_python *module, ccw_name_visitor *visit, void *context)
{
  for (size_t i = 0; i < module->count; ++i) {
    const target *t = &module->targets[i];
    bool first = strcmp(t->stage, "execute") == 0; /* once for a bundle, which always has it */
    if (first && !t->fault && !visit(context, t->name)) return;
  }
}

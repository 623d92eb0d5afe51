#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/text.h"
#include "device/gpu.h"

/* One block: this, its parameters, and "launch of NAME". */
typedef struct gpu_kernel {
  ccw_kernel kernel;
  struct gpu_kernel *next;
  size_t block;
  void *function;
  size_t shared; /* bytes of a block that were asked for */
  const char *what;
  ccw_kernel_parameter parameters[];
} gpu_kernel;

typedef struct gpu_module {
  ccw_module module;
  void *handle;
  pthread_mutex_t lock; /* of the kernels that were found, and of their `shared` */
  gpu_kernel *kernels;
  char what[80];  /* "load NAME" */
  ccw_text names; /* of its kernels, one a line, where the driver does not tell */
} gpu_module;

/* ---- loading --------------------------------------------------------------------------------------------------------- */

static ccw_status read_open_file(FILE *file, const char *path, char **out_image, size_t *out_size)
{
  struct stat about;
  if (fstat(fileno(file), &about) != 0 || !S_ISREG(about.st_mode) || about.st_size == 0)
    return ccw_invalid("'%s' is no code for a GPU: %s", path, S_ISREG(about.st_mode) ? "it is empty" : "it is no file");
  size_t length = (size_t)about.st_size;
  char *image = ccw_allocate(length + 1); /* PTX is a text, and its end has to be seen */
  if (!image) return ccw_no_memory(length + 1);
  if (fread(image, 1, length, file) != length) {
    ccw_release(image, length + 1);
    return ccw_data_loss("'%s' could not be read to its end", path);
  }
  image[length] = '\0';
  *out_image = image;
  *out_size = length + 1;
  return ccw_ok();
}

static ccw_status read_image(const char *path, char **out_image, size_t *out_size)
{
  FILE *file = fopen(path, "rbe");
  if (!file) return ccw_not_found("cannot open '%s': %s", path, strerror(errno));
  ccw_status status = read_open_file(file, path, out_image, out_size);
  fclose(file);
  return status;
}

/* Code for another GPU is the usual mistake. */
static ccw_status explain_image(const gpu *g, gpu_error error, ccw_status status)
{
  if ((error != GPU_NO_BINARY && error != GPU_INVALID_IMAGE) || !*g->info.architecture) return status;
  ccw_status more =
      ccw_status_make(status.code, "%s; the device runs code for %s", ccw_status_text(status), g->info.architecture);
  ccw_status_free(status);
  return more;
}

static ccw_status load_image(ccw_device *device, gpu_module *module, char *image, size_t size)
{
  gpu_turn turn;
  if (!gpu_of(device)->driver->lists_modules) gpu_image_names(image, size, &module->names);
  CCW_TRY(ccw_text_status(&module->names));
  CCW_TRY(gpu_begin_apart(device, module->what, &turn));
  gpu_error error = turn.driver->load_module(&module->handle, image);
  return explain_image(turn.gpu, error, gpu_end(&turn, error));
}

static ccw_status load(ccw_device *device, const char *path, ccw_module **out_module)
{
  char *image;
  size_t size;
  ccw_status status = read_image(path, &image, &size);
  if (status.code) return ccw_device_says(device, status);
  gpu_module *module = ccw_allocate_zeroed(sizeof *module);
  if (module) {
    snprintf(module->what, sizeof module->what, "load %s", ccw_base_name(path));
    status = load_image(device, module, image, size - 1);
  } else {
    status = ccw_no_memory(sizeof *module);
  }
  ccw_release(image, size);
  if (status.code) {
    if (module) ccw_text_free(&module->names);
    ccw_release(module, sizeof *module);
    return status;
  }
  pthread_mutex_init(&module->lock, NULL);
  *out_module = &module->module;
  return ccw_ok();
}

static void unload(ccw_module *module)
{
  gpu_turn turn;
  gpu_module *m = (gpu_module *)module;
  ccw_status status = gpu_begin_apart(module->device, "unload", &turn);
  if (!status.code) status = gpu_end(&turn, turn.driver->unload_module(m->handle));
  ccw_status_free(status);
  for (gpu_kernel *kernel = m->kernels, *next; kernel; kernel = next) {
    next = kernel->next;
    ccw_release(kernel, kernel->block);
  }
  pthread_mutex_destroy(&m->lock);
  ccw_text_free(&m->names);
  ccw_release(m, sizeof *m);
}

/* ---- what is not there ----------------------------------------------------------------------------------------------- */

enum { MOST_NAMES = 20 };

static const char hint[] = "; a function of C++ has its plain name where it is declared extern \"C\"";

/* "_Z4axpyfPKfPf" is axpy, whatever it takes. */
static bool is_mangled(const char *name, size_t length, const char *wanted)
{
  char part[128];
  snprintf(part, sizeof part, "%zu%s", strlen(wanted), wanted);
  return length > 2 && memcmp(name, "_Z", 2) == 0 && memmem(name, length, part, strlen(part)) != NULL;
}

static void list(const char *names, const char *wanted, ccw_text *text)
{
  ccw_near near = ccw_near_to(wanted, strlen(wanted));
  char mangled[256] = "";
  int count = 0;
  for (size_t length; *names; names += length + 1, ++count) {
    length = strcspn(names, "\n");
    if (count < MOST_NAMES) ccw_text_add(text, "%s%.*s", count == 0 ? "; it has " : ", ", (int)length, names);
    if (!*mangled && is_mangled(names, length, wanted)) snprintf(mangled, sizeof mangled, "%.*s", (int)length, names);
    ccw_near_offer(&near, names, length);
  }
  if (count == 0) ccw_text_add(text, "; it has none");
  if (count > MOST_NAMES) ccw_text_add(text, " and %d more", count - MOST_NAMES);
  if (*mangled)
    ccw_text_add(text, "; '%s' is %s there%s", wanted, mangled, hint);
  else
    ccw_near_print(&near, text);
}

/* The names that the driver knows, one a line. */
static void ask_names(const gpu_module *module, const gpu_driver *driver, ccw_text *names)
{
  unsigned count = 0;
  if (driver->cuModuleGetFunctionCount(&count, module->handle) != 0 || count == 0) return;
  size_t size = count * sizeof(void *);
  void **functions = ccw_allocate(size);
  names->failed = !functions;
  if (functions && driver->cuModuleEnumerateFunctions(functions, count, module->handle) == 0)
    for (unsigned i = 0; i < count; ++i) {
      const char *name;
      if (driver->cuFuncGetName(&name, functions[i]) == 0) ccw_text_add(names, "%s\n", name);
    }
  ccw_release(functions, size);
}

static void add_names(const gpu_module *module, const gpu_driver *driver, const char *wanted, ccw_text *text)
{
  ccw_text asked = {0};
  if (driver->lists_modules) {
    ask_names(module, driver, &asked);
    list(ccw_text_data(&asked), wanted, text);
  } else if (module->names.length > 0) {
    list(ccw_text_data(&module->names), wanted, text);
  } else {
    ccw_text_add(text, "%s", hint);
  }
  text->failed = text->failed || asked.failed;
  ccw_text_free(&asked);
}

/* In the turn in which it was not found. */
static ccw_status not_found(const gpu_module *module, const gpu_driver *driver, const char *name)
{
  ccw_text text = {0};
  ccw_text_add(&text, "%s: no kernel ", module->module.device->name);
  ccw_text_add_quoted(&text, name, strlen(name));
  ccw_text_add(&text, " in %s", module->what + strlen("load "));
  add_names(module, driver, name, &text);
  return ccw_status_of_text(XLA_FFI_Error_Code_NOT_FOUND, &text);
}

/* ---- finding --------------------------------------------------------------------------------------------------------- */

/* How many parameters a function has; -1: nobody knows. */
static int64_t count_parameters(const gpu_driver *driver, void *function)
{
  enum { MOST = 4096 }; /* bytes of parameters that a kernel may have are no more */
  size_t offset, size, count = 0;
  if (!driver->lists_modules) return -1;
  while (count < MOST && driver->cuFuncGetParamInfo(function, count, &offset, &size) == 0) ++count;
  return (int64_t)count;
}

/* The driver knows sizes, and no types. */
static gpu_kernel *make_kernel(const gpu_driver *driver, const char *name, void *function)
{
  static const char launch_of[] = "launch of ";
  int64_t count = count_parameters(driver, function);
  size_t known = count > 0 ? (size_t)count : 0, fixed = sizeof(gpu_kernel) + known * sizeof(ccw_kernel_parameter);
  size_t block = fixed + sizeof launch_of + strlen(name), offset;
  gpu_kernel *kernel = ccw_allocate_zeroed(block);
  if (!kernel) return NULL;
  char *what = (char *)kernel + fixed;
  strcpy(what, launch_of);
  strcat(what, name);
  kernel->block = block;
  kernel->function = function;
  kernel->what = what;
  kernel->kernel.name = what + strlen(launch_of);
  kernel->kernel.parameter_count = count;
  kernel->kernel.parameters = kernel->parameters;
  for (size_t i = 0; i < known; ++i) driver->cuFuncGetParamInfo(function, i, &offset, &kernel->parameters[i].size);
  return kernel;
}

static ccw_status look_up(gpu_module *module, const char *name, gpu_kernel **out_kernel)
{
  gpu_turn turn;
  void *function;
  CCW_TRY(gpu_begin(module->module.device, "look a kernel up", &turn));
  gpu_error error = turn.driver->find_function(&function, module->handle, name);
  ccw_status status = error == GPU_NOT_FOUND ? not_found(module, turn.driver, name) : ccw_ok();
  *out_kernel = error ? NULL : make_kernel(turn.driver, name, function);
  if (!error && !*out_kernel) status = ccw_no_memory(sizeof(gpu_kernel));
  ccw_status driver_says = gpu_end(&turn, error);
  if (!status.code) return driver_says;
  ccw_status_free(driver_says);
  return status;
}

static ccw_status find(ccw_module *module, const char *name, ccw_kernel **out_kernel)
{
  gpu_module *m = (gpu_module *)module;
  ccw_status status = ccw_ok();
  pthread_mutex_lock(&m->lock);
  gpu_kernel *kernel = m->kernels;
  while (kernel && strcmp(kernel->kernel.name, name) != 0) kernel = kernel->next;
  if (!kernel) {
    status = look_up(m, name, &kernel);
    if (!status.code) {
      kernel->next = m->kernels;
      m->kernels = kernel;
    }
  }
  pthread_mutex_unlock(&m->lock);
  if (!status.code) *out_kernel = &kernel->kernel;
  return status;
}

/* ---- launching ------------------------------------------------------------------------------------------------------- */

/* A limit of 0 is unknown. */
static ccw_status check_extents(const char *who, const char *what, const uint32_t extents[3], const uint32_t most[3])
{
  for (int i = 0; i < 3; ++i) {
    if (extents[i] > 0 && (extents[i] <= most[i] || most[i] == 0)) continue;
    if (most[i] == 0) return ccw_invalid("%s: %s %c: expected 1 or more, got 0", who, what, 'x' + i);
    return ccw_invalid("%s: %s %c: expected 1 to %u, got %u", who, what, 'x' + i, most[i], extents[i]);
  }
  return ccw_ok();
}

static ccw_status check(const ccw_device_info *info, const char *who, const ccw_launch *launch)
{
  const uint32_t *block = launch->block;
  CCW_TRY(check_extents(who, "grid", launch->grid, info->max_grid));
  CCW_TRY(check_extents(who, "block", block, info->max_block));
  /* each is 1024 or less, or unknown */
  unsigned long long threads = (unsigned long long)block[0] * block[1];
  if (info->max_threads > 0 && (threads > info->max_threads || threads * block[2] > info->max_threads))
    return ccw_invalid("%s: block: expected %u threads at most, got %u x %u x %u", who, info->max_threads, block[0],
        block[1], block[2]);
  if (launch->shared_size > (uint64_t)info->max_shared)
    return ccw_invalid("%s: shared memory: expected %lld bytes at most, got %zu", who, (long long)info->max_shared,
        launch->shared_size);
  return ccw_ok();
}

/* What is more than every kernel may have is asked for. It is never taken back: another thread may be about to launch. */
static gpu_error ask_for_shared(const gpu *g, gpu_kernel *kernel, size_t size)
{
  enum { MAX_DYNAMIC_SHARED_SIZE_BYTES = 8 };
  gpu_module *module = (gpu_module *)kernel->kernel.module;
  gpu_error error = 0;
  if (size <= (size_t)g->shared_at_once) return 0;
  pthread_mutex_lock(&module->lock);
  if (size > kernel->shared) {
    error = g->driver->cuFuncSetAttribute(kernel->function, MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)size);
    if (!error) kernel->shared = size;
  }
  pthread_mutex_unlock(&module->lock);
  return error;
}

static ccw_status launch(ccw_kernel *kernel, const ccw_launch *l, ccw_stream *stream)
{
  gpu *g = gpu_of(stream->device);
  gpu_kernel *k = (gpu_kernel *)kernel;
  gpu_turn turn;
  ccw_status status = check(&g->info, k->what, l);
  if (status.code) return ccw_device_says(stream->device, status);
  CCW_TRY(gpu_begin(stream->device, k->what, &turn));
  gpu_error error = ask_for_shared(g, k, l->shared_size);
  if (!error)
    error = turn.driver->launch(k->function, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2],
        (unsigned)l->shared_size, gpu_stream_of(stream), (void **)l->arguments, NULL);
  return gpu_end(&turn, error);
}

const ccw_code_ops gpu_code_ops = {.load = load, .unload = unload, .find = find, .launch = launch};

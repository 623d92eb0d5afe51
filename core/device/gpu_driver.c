#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "device/gpu.h"

#define NUMBER_OF_CUDA(member, cuda_name, cuda, hip_name, hip) .member = cuda,
#define NUMBER_OF_HIP(member, cuda_name, cuda, hip_name, hip) .member = hip,

/* ---- CUDA ------------------------------------------------------------------------------------------------------------ */

static const char *cuda_error_name(const gpu_driver *driver, gpu_error error)
{
  const char *name = NULL;
  return driver->cuGetErrorName(error, &name) == 0 ? name : NULL;
}

static const char *cuda_error_text(const gpu_driver *driver, gpu_error error)
{
  const char *text = NULL;
  return driver->cuGetErrorString(error, &text) == 0 ? text : NULL;
}

/* The primary context, which whoever uses the runtime shares. It is made when it is first wanted, and kept. */
static gpu_error cuda_context(gpu *g, void **out_context)
{
  *out_context = atomic_load_explicit(&g->context, memory_order_acquire);
  if (*out_context) return 0;
  pthread_mutex_lock(&g->lock);
  gpu_error error = 0;
  *out_context = g->context;
  if (!*out_context) error = g->driver->cuDevicePrimaryCtxRetain(out_context, g->handle);
  if (!error) atomic_store_explicit(&g->context, *out_context, memory_order_release);
  pthread_mutex_unlock(&g->lock);
  return error;
}

static gpu_error cuda_make_current(gpu *g, gpu_current *out_before)
{
  void *context;
  gpu_error error = cuda_context(g, &context);
  if (!error) error = g->driver->cuCtxGetCurrent(&out_before->context);
  if (!error && out_before->context != context) error = g->driver->cuCtxSetCurrent(context);
  return error;
}

static void cuda_restore(gpu *g, gpu_current before, gpu_error error)
{
  (void)error;
  if (before.context != g->context) g->driver->cuCtxSetCurrent(before.context);
}

static void cuda_architecture(const gpu *g, char *architecture, size_t size)
{
  const int *capability = g->driver->vendor->attributes.capability;
  int major, minor;
  if (g->driver->device_attribute(&major, capability[0], g->handle) != 0) return;
  if (g->driver->device_attribute(&minor, capability[1], g->handle) != 0) return;
  snprintf(architecture, size, "sm_%d%d", major, minor);
}

static const char *const cuda_libraries[] = {"libcuda.so.1", NULL};

const gpu_vendor gpu_vendor_cuda = {.name = "cuda",
    .libraries = cuda_libraries,
    .advice = "libcuda.so.1 is not there: install NVIDIA's driver, or take sim:0, which needs none",
    .column = 0,
    .attributes = {GPU_ATTRIBUTES(NUMBER_OF_CUDA)},
    .error_name = cuda_error_name,
    .error_text = cuda_error_text,
    .make_current = cuda_make_current,
    .restore = cuda_restore,
    .find_architecture = cuda_architecture};

/* ---- ROCm ------------------------------------------------------------------------------------------------------------ */

static const char *rocm_error_name(const gpu_driver *driver, gpu_error error) { return driver->hipGetErrorName(error); }
static const char *rocm_error_text(const gpu_driver *driver, gpu_error error)
{
  return driver->hipGetErrorString(error);
}

/* HIP has contexts, too, but pops them without going back to the device before. */
static gpu_error rocm_make_current(gpu *g, gpu_current *out_before)
{
  gpu_error error = g->driver->hipGetDevice(&out_before->device);
  if (!error && out_before->device != g->handle) error = g->driver->hipSetDevice(g->handle);
  return error;
}

/* HIP remembers the last error of a thread for whoever asks next, which is a handler that has just launched its kernel. */
static void rocm_restore(gpu *g, gpu_current before, gpu_error error)
{
  if (error) g->driver->hipGetLastError();
  if (before.device != g->handle) g->driver->hipSetDevice(before.device);
}

/* A number in a file of names and numbers, one a line. */
static long number_in(FILE *file, const char *wanted)
{
  char name[64];
  long number;
  rewind(file);
  while (fscanf(file, "%63s %ld", name, &number) == 2)
    if (strcmp(name, wanted) == 0) return number;
  return -1;
}

/* Of 90010 major is 9, minor 0, and the stepping, in hex, a. A GPU that is divided has several nodes, and numbers of them beside
 * its place. */
void gpu_find_architecture(const char *nodes, const char *place, char *architecture, size_t size)
{
  char path[256];
  unsigned domain, bus, slot;
  if (sscanf(place, "%x:%x:%x", &domain, &bus, &slot) != 3) return;
  for (int node = 0;; ++node) {
    snprintf(path, sizeof path, "%s/%d/properties", nodes, node);
    FILE *file = fopen(path, "re");
    if (!file) return;
    long version = number_in(file, "gfx_target_version"), location = number_in(file, "location_id");
    long its_domain = number_in(file, "domain");
    fclose(file);
    if (version <= 0 || its_domain != (long)domain || (location & 0xFFF8) != (long)(bus << 8 | slot << 3)) continue;
    snprintf(architecture, size, "gfx%ld%ld%lx", version / 10000, version / 100 % 100, (unsigned long)version % 100);
    return;
  }
}

/* HIP tells the name that code is compiled for in a struct only, whose layout changed. The kernel's list of nodes has it, too. */
static void rocm_architecture(const gpu *g, char *architecture, size_t size)
{
  char place[32] = "";
  if (g->driver->hipDeviceGetPCIBusId(place, sizeof place, g->handle) == 0)
    gpu_find_architecture("/sys/class/kfd/kfd/topology/nodes", place, architecture, size);
}

static const char *const rocm_libraries[] = {
    "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so", NULL};

const gpu_vendor gpu_vendor_rocm = {.name = "rocm",
    .libraries = rocm_libraries,
    .advice =
        "libamdhip64.so.7, .6 or .5 is not there: install AMD's ROCm, or put its folder into LD_LIBRARY_PATH, or take "
        "sim:0, which needs none",
    .column = 1,
    .attributes = {GPU_ATTRIBUTES(NUMBER_OF_HIP)},
    .error_name = rocm_error_name,
    .error_text = rocm_error_text,
    .make_current = rocm_make_current,
    .restore = rocm_restore,
    .find_architecture = rocm_architecture};

/* ---- opening --------------------------------------------------------------------------------------------------------- */

/* A function: its name, by vendor, and where its address goes. */
typedef struct symbol {
  const char *names[2];
  size_t offset;
} symbol;

#define OF_BOTH(member, cuda, hip, parameters) {{#cuda, #hip}, offsetof(gpu_driver, member)},
#define OF_ONE(result, name, parameters) {{#name, #name}, offsetof(gpu_driver, name)},
static const symbol common[] = {GPU_SYMBOLS(OF_BOTH){{NULL, NULL}, 0}};
static const symbol graphs[] = {GPU_GRAPH_SYMBOLS(OF_BOTH){{NULL, NULL}, 0}};
static const symbol of_cuda[] = {CUDA_SYMBOLS(OF_ONE){{NULL, NULL}, 0}};
static const symbol of_cuda_listing[] = {CUDA_LISTING_SYMBOLS(OF_ONE){{NULL, NULL}, 0}};
static const symbol of_rocm[] = {HIP_SYMBOLS(OF_ONE){{NULL, NULL}, 0}};

/* Loads functions; gives the name of the first that is not there, or NULL. */
static const char *load(gpu_driver *driver, const symbol *symbols)
{
  for (; symbols->names[0]; ++symbols) {
    const char *name = symbols->names[driver->vendor->column];
    void *address = dlsym(driver->library, name);
    if (!address) return name;
    memcpy((char *)driver + symbols->offset, &address, sizeof address);
  }
  return NULL;
}

/* What the process has already comes first, whichever it is: a handler brought it, and calls it. */
static void *open_any(gpu_driver *driver, char *problem, size_t size)
{
  for (int flags = RTLD_NOW | RTLD_NOLOAD; flags >= RTLD_NOW; flags -= RTLD_NOLOAD) {
    for (const char *const *name = driver->vendor->libraries; *name; ++name) {
      void *library = dlopen(*name, flags);
      snprintf(driver->library_name, sizeof driver->library_name, "%s", *name);
      if (library) return library;
      const char *why = dlerror();
      bool is_absent = !why || strstr(why, "No such file") != NULL || (flags & RTLD_NOLOAD) != 0;
      if (!is_absent && !*problem) snprintf(problem, size, "%s", why);
    }
  }
  return NULL;
}

static ccw_status too_old(gpu_driver *driver, const char *missing)
{
  ccw_status status =
      ccw_unavailable("%s: %s has no %s: the driver is too old", driver->vendor->name, driver->library_name, missing);
  dlclose(driver->library);
  driver->library = NULL;
  return status;
}

ccw_status gpu_driver_open(gpu_driver *driver)
{
  bool is_cuda = driver->vendor == &gpu_vendor_cuda;
  char problem[256] = "";
  if (driver->library) return ccw_ok();
  driver->library = open_any(driver, problem, sizeof problem);
  if (!driver->library)
    return ccw_unavailable("%s: %s", driver->vendor->name, *problem ? problem : driver->vendor->advice);
  const char *missing = load(driver, common);
  if (!missing) missing = load(driver, is_cuda ? of_cuda : of_rocm);
  if (missing) return too_old(driver, missing);

  ccw_cannot *next = driver->cannot;
  *next++ = (ccw_cannot){"reset", "handlers use the same context, and one that is broken ends with its process"};
  *next++ = (ccw_cannot){"set", "there is nothing to set of a real GPU"};
  *next++ = (ccw_cannot){"as", "a real GPU is what it is"};
  driver->lists_modules = is_cuda && !load(driver, of_cuda_listing);
  if (!driver->lists_modules) *next++ = (ccw_cannot){"parameters", "the driver does not tell what a kernel takes"};
  missing = load(driver, graphs);
  driver->ops.graph = missing ? NULL : &gpu_graph_ops;
  snprintf(driver->why_no_graphs, sizeof driver->why_no_graphs, "%s has no %s", driver->library_name,
      missing ? missing : "");
  if (missing) *next++ = (ccw_cannot){"graph", driver->why_no_graphs};
  *next = (ccw_cannot){NULL, NULL};
  return ccw_ok();
}

/* gpu_launch.c MODULE KERNEL: what a launch of an empty kernel and the wait for it cost through ccw on cuda:0, and through the driver's own
 * functions. Prints a line a figure: its name, ours and the driver's, in nanoseconds. Best of some rounds, which take turns. */
#define _POSIX_C_SOURCE 200809L

#include <dlfcn.h>

#include "measure.h"

enum { ROUNDS = 15, LAUNCHES = 2000 };

/* ---- the driver --------------------------------------------------------------------------------------------------------- */

static void *driver;

static void *function(const char *name)
{
  void *found = dlsym(driver, name);
  if (!found) {
    fprintf(stderr, "libcuda.so.1 has no %s\n", name);
    exit(1);
  }
  return found;
}

/* As the driver's own header has them. */
typedef int launch_kernel(void *kernel, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned shared,
    void *stream, void **arguments, void **extra);
typedef int synchronize(void *stream);
typedef int load(void **module, const void *image);
typedef int get_function(void **kernel, void *module, const char *name);

static launch_kernel *cu_launch;
static synchronize *cu_synchronize;

static void must(int error)
{
  if (error == 0) return;
  fprintf(stderr, "the driver fails with %d\n", error);
  exit(1);
}

static char *read_all(const char *path)
{
  FILE *file = fopen(path, "rb");
  char *bytes = calloc(1, 1 << 20);
  if (!file || !bytes || fread(bytes, 1, (1 << 20) - 1, file) == 0) exit(1);
  fclose(file);
  return bytes;
}

static void *kernel_of_driver(const char *path, const char *name)
{
  void *module, *kernel, *entry;
  load *cu_load;
  get_function *cu_get;
  driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (!driver) exit(1);
  entry = function("cuLaunchKernel"), memcpy(&cu_launch, &entry, sizeof entry);
  entry = function("cuStreamSynchronize"), memcpy(&cu_synchronize, &entry, sizeof entry);
  entry = function("cuModuleLoadData"), memcpy(&cu_load, &entry, sizeof entry);
  entry = function("cuModuleGetFunction"), memcpy(&cu_get, &entry, sizeof entry);
  must(cu_load(&module, read_all(path)));
  must(cu_get(&kernel, module, name));
  return kernel;
}

/* ---- both --------------------------------------------------------------------------------------------------------------- */

static double time_of_ours(ccw_kernel *kernel, ccw_stream *stream, int times_a_wait)
{
  ccw_launch launch = {.grid = {1, 1, 1}, .block = {32, 1, 1}};
  double from = now();
  for (int i = 0; i < LAUNCHES; ++i) {
    check(ccw_kernel_launch(kernel, &launch, stream));
    if (i % times_a_wait == 0) check(ccw_stream_synchronize(stream));
  }
  check(ccw_stream_synchronize(stream));
  return (now() - from) / LAUNCHES;
}

static double time_of_driver(void *kernel, void *stream, int times_a_wait)
{
  double from = now();
  for (int i = 0; i < LAUNCHES; ++i) {
    must(cu_launch(kernel, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
    if (i % times_a_wait == 0) must(cu_synchronize(stream));
  }
  must(cu_synchronize(stream));
  return (now() - from) / LAUNCHES;
}

int main(int count, char **arguments)
{
  ccw_device *device;
  ccw_stream *stream;
  ccw_module *module;
  ccw_kernel *ours;
  if (count != 3) return 2;
  check(ccw_device_open("cuda:0", 6, &device));
  check(ccw_device_make_current(device));
  check(ccw_device_stream(device, &stream));
  check(ccw_module_load(device, arguments[1], &module));
  check(ccw_module_kernel(module, arguments[2], &ours));
  void *theirs = kernel_of_driver(arguments[1], arguments[2]), *handle = ccw_stream_handle(stream);
  double best[4] = {0};
  for (int round = 0; round < ROUNDS; ++round) {
    keep_least(&best[0], time_of_ours(ours, stream, 1));
    keep_least(&best[1], time_of_driver(theirs, handle, 1));
    keep_least(&best[2], time_of_ours(ours, stream, 100));
    keep_least(&best[3], time_of_driver(theirs, handle, 100));
  }
  printf("launch_and_wait %g %g\nlaunch %g %g\n", best[0], best[1], best[2], best[3]);
  return 0;
}

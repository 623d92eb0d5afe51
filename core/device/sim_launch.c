/* Launches on a simulated GPU, by the rules of CUDA, and the modules that hold kernels.
 *
 * A launch that may not be is refused when it is queued, and the device works on. What goes wrong while one runs breaks the device,
 * as it breaks a CUDA context. */
#include <dlfcn.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/mix.h"
#include "base/text.h"
#include "device/sim.h"
#include "device/simt.h"

enum { MOST_THREADS = 1024, MOST_SHARED = 48 << 10 };

static const uint32_t most_grid[3] = {INT32_MAX, 65535, 65535}, most_block[3] = {1024, 1024, 64};

/* ---- what may be launched -------------------------------------------------------------------------------------------- */

static ccw_status check_extents(const char *name, const char *what, const uint32_t extents[3], const uint32_t most[3])
{
  for (int i = 0; i < 3; ++i)
    if (extents[i] < 1 || extents[i] > most[i])
      return ccw_invalid("launch of %s: %s %c: expected 1 to %u, got %u", name, what, "xyz"[i], (unsigned)most[i],
          (unsigned)extents[i]);
  return ccw_ok();
}

static ccw_status check_kernel(const ccw_sim_launch *launch)
{
  if (!launch || launch->struct_size < sizeof *launch) return ccw_invalid("launch: it says less than it has to");
  const ccw_sim_kernel *kernel = launch->kernel;
  if (!kernel || kernel->struct_size < sizeof *kernel || !kernel->name || !kernel->run)
    return ccw_invalid("launch: it names no kernel");
  if (kernel->abi != CCW_SIM_ABI)
    return ccw_invalid("launch of %s: it was compiled for version %u of sim.h, expected %u", kernel->name,
        (unsigned)kernel->abi, (unsigned)CCW_SIM_ABI);
  if (kernel->arguments_size > 0 && !launch->arguments) return ccw_invalid("launch of %s: no arguments", kernel->name);
  return ccw_ok();
}

static ccw_status check(const ccw_sim_launch *launch)
{
  CCW_TRY(check_kernel(launch));
  const char *name = launch->kernel->name;
  const uint32_t *block = launch->block;
  CCW_TRY(check_extents(name, "grid", launch->grid, most_grid));
  CCW_TRY(check_extents(name, "block", block, most_block));
  uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
  if (threads > MOST_THREADS)
    return ccw_invalid("launch of %s: block: expected %d threads at most, got %u x %u x %u", name, MOST_THREADS,
        (unsigned)block[0], (unsigned)block[1], (unsigned)block[2]);
  size_t shared_static = launch->kernel->static_shared;
  if (launch->shared_size > MOST_SHARED || shared_static > MOST_SHARED - launch->shared_size)
    return ccw_invalid("launch of %s: shared memory: expected %d bytes at most, got %zu", name, MOST_SHARED,
        launch->shared_size > SIZE_MAX - shared_static ? SIZE_MAX : launch->shared_size + shared_static);
  return ccw_ok();
}

ccw_status ccw_sim_launch_queue(sim_stream *stream, const ccw_sim_launch *launch, sim_module *module)
{
  CCW_TRY(ccw_sim_check(stream->device));
  CCW_TRY(check(launch));
  if (ccw_sim_is_to_fail(&stream->device->fail_launch))
    return ccw_internal("launch of %s: injected failure", launch->kernel->name);
  size_t size = launch->kernel->arguments_size;
  sim_operation *operation = ccw_sim_operation_new(SIM_LAUNCH, size);
  if (!operation) return ccw_no_memory(sizeof *operation + size);
  operation->launch = *launch;
  operation->launch.struct_size = sizeof *launch;
  operation->launch.arguments = operation->arguments;
  if (size > 0) memcpy(operation->arguments, launch->arguments, size);
  operation->module = module;
  if (module) ccw_sim_module_retain(module);
  return ccw_sim_queue(stream, operation);
}

/* ---- running --------------------------------------------------------------------------------------------------------- */

static ccw_kernel_fault *start_fault(sim_device *device, const char *kernel)
{
  ccw_kernel_fault *fault = &device->fault;
  *fault = (ccw_kernel_fault){.argument = -1};
  snprintf(fault->kernel, sizeof fault->kernel, "%s", kernel);
  device->has_fault = true;
  return fault;
}

/* The address that parameter `i` holds; NULL where it is no pointer. */
static const void *pointer_of(const sim_operation *operation, uint32_t i)
{
  const ccw_sim_parameter *p = &operation->launch.kernel->parameters[i];
  const void *address = NULL;
  if (p->is_pointer && p->size == sizeof address)
    memcpy(&address, (const char *)operation->launch.arguments + p->offset, sizeof address);
  return address;
}

bool ccw_sim_launch_uses(const sim_operation *operation, const sim_allocation *allocation)
{
  for (uint32_t i = 0; i < operation->launch.kernel->parameter_count; ++i)
    if (ccw_sim_is_inside(allocation, pointer_of(operation, i))) return true;
  return false;
}

/* An address one past the end is fine, as long as nobody reads there. */
static bool is_good(const sim_device *device, const void *address)
{
  sim_allocation *a = ccw_sim_allocation_at(device, address);
  return !address || (ccw_sim_is_live(a) && (uintptr_t)address - (uintptr_t)a->start <= a->size);
}

/* A GPU would read garbage, or fault; here a pointer to what is not the device's does not get so far. */
static bool check_pointers(sim_device *device, const sim_operation *operation)
{
  const ccw_sim_kernel *kernel = operation->launch.kernel;
  char why[SIM_WHAT], text[SIM_TEXT];
  for (uint32_t i = 0; i < kernel->parameter_count; ++i) {
    const void *address = pointer_of(operation, i);
    if (is_good(device, address)) continue;
    ccw_sim_describe_memory(device, address, 1, why);
    snprintf(text, sizeof text, "launch of %s: arg %u: expected memory of this device: %s (CUDA_ERROR_ILLEGAL_ADDRESS)",
        kernel->name, (unsigned)i, why);
    ccw_kernel_fault *fault = start_fault(device, kernel->name);
    fault->address = address;
    fault->argument = (int32_t)i;
    ccw_sim_break(device, XLA_FFI_Error_Code_OUT_OF_RANGE, text);
    return false;
  }
  return true;
}

static void set_access(const sim_device *device, ccw_kernel_fault *fault, const void *address, bool is_write)
{
  const sim_allocation *a = ccw_sim_allocation_at(device, address);
  fault->is_access = true;
  fault->is_write = is_write;
  fault->address = address;
  if (!a) return;
  fault->memory = a->start;
  fault->size = a->size;
}

static void keep_fault(sim_device *device, const char *kernel, const ccw_simt_outcome *outcome)
{
  ccw_kernel_fault *fault = start_fault(device, kernel);
  memcpy(fault->block, outcome->block, sizeof fault->block);
  memcpy(fault->thread, outcome->thread, sizeof fault->thread);
  if (outcome->end != CCW_SIMT_FAULT) return;
  set_access(device, fault, (const void *)outcome->fault.address, outcome->fault.is_write);
  for (; fault->depth < outcome->depth && fault->depth < CCW_ACCESS_DEPTH; ++fault->depth)
    fault->code[fault->depth] = outcome->code[fault->depth];
}

/* ", by arg 0": which of its pointers goes to the allocation that the kernel has left; "" for none, or where it is not known. */
static void describe_argument(const sim_operation *operation, const void *address, char out_text[32])
{
  const sim_allocation *a = ccw_sim_allocation_at(operation->stream->device, address);
  out_text[0] = '\0';
  for (uint32_t i = 0; a && i < operation->launch.kernel->parameter_count; ++i) {
    const void *pointer = pointer_of(operation, i);
    if (!pointer || !ccw_sim_is_inside(a, pointer)) continue;
    snprintf(out_text, 32, ", by arg %u", (unsigned)i);
    return;
  }
}

static void break_by(const sim_operation *operation, const ccw_simt_outcome *outcome)
{
  sim_device *device = operation->stream->device;
  const char *kernel = operation->launch.kernel->name;
  char text[SIM_TEXT], what[SIM_WHAT], who[256], by[32];
  const uint32_t *b = outcome->block, *t = outcome->thread;
  XLA_FFI_Error_Code code = XLA_FFI_Error_Code_INTERNAL;
  snprintf(who, sizeof who, "launch of %.100s: block (%u,%u,%u), thread (%u,%u,%u)", kernel, (unsigned)b[0],
      (unsigned)b[1], (unsigned)b[2], (unsigned)t[0], (unsigned)t[1], (unsigned)t[2]);
  switch (outcome->end) {
  case CCW_SIMT_FAULT:
    code = XLA_FFI_Error_Code_OUT_OF_RANGE;
    ccw_sim_describe_fault(device, &outcome->fault, what);
    describe_argument(operation, (const void *)outcome->fault.address, by);
    if (outcome->text[0])
      snprintf(text, sizeof text, "%s: %s", who, outcome->text);
    else
      snprintf(text, sizeof text, "%s: %s%s (CUDA_ERROR_ILLEGAL_ADDRESS)", who, what, by);
    break;
  case CCW_SIMT_LATE:
    code = outcome->text[0] ? XLA_FFI_Error_Code_CANCELLED : XLA_FFI_Error_Code_DEADLINE_EXCEEDED;
    snprintf(text, sizeof text, "launch of %s: it did not end within %g seconds (CUDA_ERROR_LAUNCH_TIMEOUT)", kernel,
        device->time_limit);
    if (outcome->text[0]) snprintf(text, sizeof text, "launch of %s: %s", kernel, outcome->text);
    break;
  case CCW_SIMT_DIVERGED:
    code = XLA_FFI_Error_Code_FAILED_PRECONDITION;
    snprintf(text, sizeof text, "%s: %s; what a GPU does then is not defined, it may hang", who, outcome->text);
    break;
  default: snprintf(text, sizeof text, "%s: assertion failed: %s (CUDA_ERROR_ASSERT)", who, outcome->text);
  }
  keep_fault(device, kernel, outcome);
  ccw_sim_break(device, code, text);
}

/* Found afterwards, so that nobody knows which thread it was. */
static void break_by_damage(sim_device *device, const char *kernel, unsigned char *damage)
{
  char text[SIM_TEXT], what[SIM_WHAT];
  ccw_sim_describe_fault(device, &(ccw_fault){.address = (uintptr_t)damage, .is_write = true}, what);
  snprintf(text, sizeof text, "launch of %s: it %s", kernel, what);
  set_access(device, start_fault(device, kernel), damage, true);
  ccw_sim_break(device, XLA_FFI_Error_Code_OUT_OF_RANGE, text);
}

void ccw_sim_launch_run(sim_stream *stream, const sim_operation *operation)
{
  sim_device *device = stream->device;
  const char *name = operation->launch.kernel->name;
  if (!check_pointers(device, operation)) return;
  ccw_simt_limits limits = {.seconds = device->time_limit, .warp_size = device->warp_size};
  if (device->seed) limits.seed = ccw_mix(device->seed ^ ccw_mix(++device->drawn)) | 1;
  ccw_simt_outcome outcome = {.end = CCW_SIMT_DONE};
  unsigned char *damage;
  ccw_fault_prepare_thread();
  ccw_sim_begin_touching(device);
  ccw_simt_run(&operation->launch, &limits, &outcome);
  bool is_undamaged = ccw_sim_end_touching(device, operation, &damage);
  if (outcome.end == CCW_SIMT_NO_MEMORY) {
    char text[SIM_TEXT];
    snprintf(text, sizeof text, "launch of %s: no memory for the stacks of its threads", name);
    ccw_sim_fail(device, XLA_FFI_Error_Code_RESOURCE_EXHAUSTED, text);
  } else if (outcome.end != CCW_SIMT_DONE) {
    break_by(operation, &outcome);
  } else if (!is_undamaged) {
    break_by_damage(device, name, damage);
  }
}

/* ---- modules --------------------------------------------------------------------------------------------------------- */

typedef struct sim_kernel {
  ccw_kernel base;
  const ccw_sim_kernel *code;
} sim_kernel;

struct sim_module {
  ccw_module base;
  size_t block;       /* bytes of this, with the kernels and their parameters */
  int64_t references; /* of who loaded it, and of operations */
  void *library;
  int64_t count;
  sim_kernel kernels[];
};

void ccw_sim_module_retain(sim_module *module) { ++module->references; }

void ccw_sim_module_release(sim_module *module)
{
  if (!module || --module->references > 0) return;
  dlclose(module->library);
  ccw_release(module, module->block);
}

static ccw_status open_library(const char *path, void **out_library)
{
  char real[PATH_MAX];
  if (!realpath(path, real)) return ccw_not_found("no such file: %s", path);
  *out_library = dlopen(real, RTLD_NOW | RTLD_LOCAL);
  return *out_library ? ccw_ok() : ccw_invalid("%s", dlerror());
}

static bool has_good_parameters(const ccw_sim_kernel *kernel)
{
  if (kernel->parameter_count > 0 && !kernel->parameters) return false;
  for (uint32_t i = 0; i < kernel->parameter_count; ++i) {
    const ccw_sim_parameter *p = &kernel->parameters[i];
    if (p->size > kernel->arguments_size || p->offset > kernel->arguments_size - p->size) return false;
    if (p->is_pointer && p->size != sizeof(void *)) return false;
  }
  return true;
}

static ccw_status check_code(
    const char *path, const ccw_sim_kernel *const *kernels, size_t *out_kernels, size_t *out_parameters)
{
  if (!kernels) return ccw_invalid("%s: it exports no ccw_sim_kernels: was it compiled with kernel.h?", path);
  size_t count = 0, parameters = 0;
  for (; kernels[count]; ++count) {
    const ccw_sim_kernel *kernel = kernels[count];
    if (kernel->struct_size < sizeof *kernel || kernel->abi != CCW_SIM_ABI)
      return ccw_invalid(
          "%s: kernel %zu was compiled for another version of sim.h, expected %d", path, count, CCW_SIM_ABI);
    if (!kernel->name || !kernel->run || !has_good_parameters(kernel))
      return ccw_invalid("%s: kernel %zu makes no sense", path, count);
    parameters += kernel->parameter_count;
  }
  *out_kernels = count;
  *out_parameters = parameters;
  return ccw_ok();
}

static void fill_in(sim_module *module, const ccw_sim_kernel *const *kernels)
{
  ccw_kernel_parameter *parameter = (ccw_kernel_parameter *)&module->kernels[module->count];
  for (int64_t k = 0; k < module->count; ++k) {
    const ccw_sim_kernel *code = kernels[k];
    module->kernels[k] = (sim_kernel){{&module->base, code->name, (int64_t)code->parameter_count, parameter}, code};
    for (uint32_t i = 0; i < code->parameter_count; ++i, ++parameter) {
      const ccw_sim_parameter *p = &code->parameters[i];
      *parameter = (ccw_kernel_parameter){(ccw_dtype)p->dtype, p->size, p->is_pointer, p->is_const};
    }
  }
}

static ccw_status make_module(ccw_device *device, const char *path, void *library, sim_module **out_module)
{
  const ccw_sim_kernel *const *kernels = dlsym(library, "ccw_sim_kernels");
  size_t count, parameters;
  CCW_TRY(check_code(path, kernels, &count, &parameters));
  size_t block = sizeof(sim_module) + count * sizeof(sim_kernel) + parameters * sizeof(ccw_kernel_parameter);
  sim_module *module = ccw_allocate(block);
  if (!module) return ccw_no_memory(block);
  *module =
      (sim_module){.base = {device}, .block = block, .references = 1, .library = library, .count = (int64_t)count};
  fill_in(module, kernels);
  *out_module = module;
  return ccw_ok();
}

static ccw_status load_library(ccw_device *device, const char *path, ccw_module **out_module)
{
  void *library;
  sim_module *module;
  CCW_TRY(open_library(path, &library));
  ccw_status status = make_module(device, path, library, &module);
  if (status.code)
    dlclose(library);
  else
    *out_module = &module->base;
  return status;
}

static ccw_status load(ccw_device *base, const char *path, ccw_module **out_module)
{
  ccw_sim_lock();
  ccw_status status = ccw_sim_check(ccw_sim_of(base));
  ccw_sim_unlock();
  if (!status.code) status = load_library(base, path, out_module);
  return ccw_device_says(base, status);
}

static void unload(ccw_module *base)
{
  ccw_sim_lock();
  ccw_status_free(ccw_sim_check_capture(ccw_sim_of(base->device), "unloading a module"));
  ccw_sim_module_release((sim_module *)base);
  ccw_sim_unlock();
}

static ccw_status no_kernel(const sim_module *module, const char *name)
{
  ccw_text text = {0};
  ccw_text_add(&text, "no kernel is called ");
  ccw_text_add_quoted(&text, name, strlen(name));
  for (int64_t i = 0; i < module->count; ++i)
    ccw_text_add(&text, "%s%s", i == 0 ? "; there are " : ", ", module->kernels[i].base.name);
  if (module->count == 0) ccw_text_add(&text, "; there are none");
  return ccw_status_of_text(XLA_FFI_Error_Code_NOT_FOUND, &text);
}

static ccw_status find(ccw_module *base, const char *name, ccw_kernel **out_kernel)
{
  sim_module *module = (sim_module *)base;
  for (int64_t i = 0; i < module->count; ++i)
    if (strcmp(module->kernels[i].base.name, name) == 0) {
      *out_kernel = &module->kernels[i].base;
      return ccw_ok();
    }
  return ccw_device_says(base->device, no_kernel(module, name));
}

/* Puts the arguments where the kernel expects them. Their number and their sizes are checked. */
static ccw_status launch_packed(const sim_kernel *kernel, const ccw_launch *launch, sim_stream *stream)
{
  const ccw_sim_kernel *code = kernel->code;
  size_t size = code->arguments_size;
  unsigned char few[256], *arguments = size > sizeof few ? ccw_allocate_zeroed(size) : few;
  if (!arguments) return ccw_no_memory(size);
  if (arguments == few) memset(few, 0, sizeof few);
  for (uint32_t i = 0; i < code->parameter_count; ++i)
    memcpy(arguments + code->parameters[i].offset, launch->arguments[i], code->parameters[i].size);
  ccw_sim_launch packed = {.struct_size = sizeof packed,
      .kernel = code,
      .grid = {launch->grid[0], launch->grid[1], launch->grid[2]},
      .block = {launch->block[0], launch->block[1], launch->block[2]},
      .shared_size = launch->shared_size,
      .arguments = arguments};
  ccw_status status = ccw_sim_launch_queue(stream, &packed, (sim_module *)kernel->base.module);
  if (arguments != few) ccw_release(arguments, size);
  return status;
}

static ccw_status launch(ccw_kernel *kernel, const ccw_launch *what, ccw_stream *stream)
{
  ccw_sim_lock();
  ccw_status status = launch_packed((sim_kernel *)kernel, what, (sim_stream *)stream);
  ccw_sim_unlock();
  return ccw_device_says(stream->device, status);
}

void ccw_sim_describe_limits(ccw_device_info *info)
{
  info->max_threads = MOST_THREADS;
  info->max_shared = MOST_SHARED;
  memcpy(info->max_block, most_block, sizeof most_block);
  memcpy(info->max_grid, most_grid, sizeof most_grid);
}

const ccw_code_ops ccw_sim_code_ops = {load, unload, find, launch};

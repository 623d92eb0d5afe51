/* NVRTC and HIPRTC: libraries that compile kernels for GPUs, without one. They look the same but for their names, and how the code
 * is taken out. They are opened when they are first wanted, and run in a child: HIPRTC ends the process that names an architecture which
 * it does not know. */
#include "device/compile.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

typedef void *program;

/* The functions that are wanted, in the order of the names below. */
typedef struct library {
  void *handle;
  int (*create)(program *, const char *, const char *, int, const char *const *, const char *const *);
  int (*add_name)(program, const char *);
  int (*compile)(program, int, const char *const *);
  int (*lowered_name)(program, const char *, const char **);
  int (*log_size)(program, size_t *);
  int (*log)(program, char *);
  const char *(*error_text)(int);
  int (*code_size)(program, size_t *);
  int (*code)(program, char *);
  int (*assembly_size)(program, size_t *); /* of NVRTC: PTX */
  int (*assembly)(program, char *);
} library;

typedef struct family {
  const char *prefix, *variable, *const *files, *code, *assembly;
  const char *architecture; /* the option */
  const char *advice;
} family;

static const char *const nvrtc_files[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
    "/usr/local/cuda/lib64/libnvrtc.so.13", "/usr/local/cuda/lib64/libnvrtc.so.12",
    "/usr/local/cuda/lib64/libnvrtc.so.11.2", "/usr/local/cuda/lib64/libnvrtc.so", NULL};
static const char *const hiprtc_files[] = {"libhiprtc.so.7", "libamdhip64.so.7", "libhiprtc.so.6", "libamdhip64.so.6",
    "libamdhip64.so.5", "libhiprtc.so", "/opt/rocm/lib/libhiprtc.so", "/opt/rocm/lib/libamdhip64.so", NULL};

static const family nvrtc = {"nvrtc", "CCW_NVRTC", nvrtc_files, "CUBIN", "PTX", "--gpu-architecture=",
    "NVRTC is not here: install CUDA's toolkit, or nvidia-cuda-nvrtc from PyPI, and name the folder of libnvrtc.so in "
    "CCW_NVRTC"};
static const family hiprtc = {"hiprtc", "CCW_HIPRTC", hiprtc_files, "Code", NULL, "--offload-arch=",
    "HIPRTC is not here: install ROCm's HIP runtime, and name the folder of libamdhip64.so or libhiprtc.so in "
    "CCW_HIPRTC"};

/* ---- finding ----------------------------------------------------------------------------------------------------------- */

static bool find_functions(const family *f, library *l)
{
  static const char *const names[] = {"CreateProgram", "AddNameExpression", "CompileProgram", "GetLoweredName",
      "GetProgramLogSize", "GetProgramLog", "GetErrorString"};
  enum { NAMES = sizeof names / sizeof *names, CODE = 4 };
  void **slots = (void **)((char *)l + offsetof(library, create));
  for (size_t i = 0; i < NAMES + CODE; ++i) {
    char name[64];
    const char *of = i < NAMES + 2 ? f->code : f->assembly;
    if (!of) break;
    if (i < NAMES)
      snprintf(name, sizeof name, "%s%s", f->prefix, names[i]);
    else
      snprintf(name, sizeof name, "%sGet%s%s", f->prefix, of, (i - NAMES) % 2 == 0 ? "Size" : "");
    slots[i] = dlsym(l->handle, name);
    if (!slots[i]) return false;
  }
  return true;
}

/* Opens a file that has the functions. It stays open: such libraries are not made to be closed. */
static bool open_file(const family *f, const char *path, library *out_library)
{
  library l = {.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)};
  if (!l.handle || !find_functions(f, &l)) return false;
  *out_library = l;
  return true;
}

/* What the variable names: a file, or the folder that holds one. */
static bool open_named(const family *f, const char *named, library *out_library)
{
  struct stat about;
  if (stat(named, &about) != 0 || !S_ISDIR(about.st_mode)) return open_file(f, named, out_library);
  bool found = false;
  for (const char *const *file = f->files; *file && !found; ++file) {
    ccw_text path = {0};
    ccw_text_add(&path, "%s/%s", named, ccw_base_name(*file));
    found = access(ccw_text_data(&path), R_OK) == 0 && open_file(f, ccw_text_data(&path), out_library);
    ccw_text_free(&path);
  }
  return found;
}

static ccw_status open_library(const family *f, library *out_library)
{
  const char *named = getenv(f->variable);
  if (named && *named) {
    if (open_named(f, named, out_library)) return ccw_ok();
    return ccw_unavailable("%s=%s: there is no library with %sCompileProgram", f->variable, named, f->prefix);
  }
  for (const char *const *file = f->files; *file; ++file)
    if (open_file(f, *file, out_library)) return ccw_ok();
  return ccw_unavailable("%s", f->advice);
}

/* ---- preparing --------------------------------------------------------------------------------------------------------- */

/* The headers that came with the library, for who includes more than those of ccw: cuda_fp16.h. */
static void add_own_headers(const char *file, ccw_words *words)
{
  char *path = realpath(file, NULL);
  for (int up = 0; path && up < 5; ++up) {
    char *slash = strrchr(path, '/');
    if (!slash) break;
    *slash = '\0';
    ccw_text folder = {0};
    ccw_text_add(&folder, "%s/include/cuda_fp16.h", path);
    bool found = access(ccw_text_data(&folder), R_OK) == 0;
    ccw_text_free(&folder);
    if (!found) continue;
    ccw_words_add(words, "-I%s/include", path);
    break;
  }
  free(path);
}

/* The headers of ccw are part of the recipe: NVRTC and HIPRTC do not tell what was included. */
static void add_headers(ccw_compilation *c)
{
  ccw_text folder = {0};
  struct dirent **entries;
  ccw_text_add(&folder, "%s/ccw", ccw_text_data(&c->include));
  int count = scandir(ccw_text_data(&folder), &entries, NULL, alphasort);
  for (int i = 0; i < count; ++i) {
    ccw_text path = {0};
    ccw_text_add(&path, "%s/%s", ccw_text_data(&folder), entries[i]->d_name);
    if (entries[i]->d_name[0] != '.') ccw_file_identity(ccw_text_data(&path), &c->recipe);
    ccw_text_free(&path);
    free(entries[i]);
  }
  if (count >= 0) free(entries);
  ccw_text_free(&folder);
}

static ccw_status prepare(ccw_compilation *c, const family *f)
{
  library l;
  Dl_info about;
  const ccw_source *source = c->source;
  CCW_TRY(open_library(f, &l));
  if (!dladdr(*(void **)&l.create, &about) || !ccw_file_identity(about.dli_fname, &c->recipe))
    return ccw_unavailable("%s: it is gone", f->prefix);
  add_headers(c);
  ccw_words_add(&c->words, "%s%s", f->architecture, source->architecture);
  ccw_words_add(&c->words, "-std=c++17");
  ccw_words_add(&c->words, "-I%s", ccw_text_data(&c->include));
  if (f == &nvrtc) add_own_headers(about.dli_fname, &c->words);
  for (size_t i = 0; i < source->flag_count; ++i) ccw_words_add(&c->words, "%s", source->flags[i]);
  ccw_text_add(&c->text, "#include <ccw/kernel.h>\n#line 1 \"");
  for (const char *at = c->name; *at; ++at) ccw_text_add(&c->text, "%s%c", *at == '"' || *at == '\\' ? "\\" : "", *at);
  ccw_text_add(&c->text, "\"\n");
  ccw_text_add_bytes(&c->text, source->text, source->length);
  ccw_text_add(&c->text, "\n#line 1 \"" CCW_KERNEL_NAMES "\"\n");
  c->is_kept = source->flag_count == 0;
  return ccw_ok();
}

static ccw_status prepare_cuda(ccw_compilation *c)
{
  c->file_ending = strncmp(c->source->architecture, "compute_", 8) == 0 ? ".ptx" : ".cubin";
  return prepare(c, &nvrtc);
}

static ccw_status prepare_rocm(ccw_compilation *c)
{
  c->file_ending = ".hsaco";
  return prepare(c, &hiprtc);
}

/* ---- compiling, in a child ---------------------------------------------------------------------------------------------- */

typedef struct task {
  const ccw_compilation *c;
  library library;
  char **options;
} task;

enum { DOES_NOT_COMPILE = 1, WENT_WRONG = 2 };

/* What is printed goes to the parent. */
static int give_up(const char *what, ccw_status status)
{
  fprintf(stderr, "%s: error: %s\n", what, ccw_status_text(status));
  ccw_status_free(status);
  return WENT_WRONG;
}

static void print_log(const library *l, program p)
{
  size_t size = 0;
  char *log;
  if (l->log_size(p, &size) != 0 || size == 0 || !(log = calloc(size + 1, 1))) return;
  if (l->log(p, log) == 0) fputs(log, stdout);
  fflush(stdout);
  free(log);
}

static int write_code(const task *t, program p)
{
  bool is_assembly = strcmp(t->c->file_ending, ".ptx") == 0;
  const library *l = &t->library;
  size_t size = 0;
  int error = (is_assembly ? l->assembly_size : l->code_size)(p, &size);
  char *code = !error && size > 0 ? calloc(size, 1) : NULL;
  if (!code) return give_up("code", ccw_unavailable("%s", error ? l->error_text(error) : "there is none"));
  error = (is_assembly ? l->assembly : l->code)(p, code);
  ccw_status status = ccw_file_write(t->c->file.data, code, size);
  return error || status.code ? give_up("code", status) : 0;
}

/* The symbol of each kernel that was asked for, a line each. */
static int write_symbols(const task *t, program p)
{
  ccw_text symbols = {0};
  const ccw_source *source = t->c->source;
  for (size_t i = 0; i < source->kernel_count; ++i) {
    const char *symbol;
    int error = t->library.lowered_name(p, source->kernels[i], &symbol);
    if (error) return give_up(source->kernels[i], ccw_unavailable("%s", t->library.error_text(error)));
    ccw_text_add(&symbols, "%s\n", symbol);
  }
  ccw_status status = ccw_file_write(t->c->uses.data, ccw_text_data(&symbols), symbols.length);
  return status.code ? give_up("symbols", status) : 0;
}

/* Names of headers that sources include for the host's compiler, and need not here: kernel.h brings what there is. */
static const char *const host_headers[] = {"cassert", "cfloat", "climits", "cmath", "cstddef", "cstdint", "cstdio",
    "assert.h", "float.h", "limits.h", "math.h", "stddef.h", "stdint.h", "stdio.h", "cuda_runtime.h",
    "hip/hip_runtime.h"};

enum { HOST_HEADERS = sizeof host_headers / sizeof *host_headers };

static int compile_in_child(void *context)
{
  const task *t = context;
  const ccw_source *source = t->c->source;
  program p = NULL;
  const char *contents[HOST_HEADERS];
  for (size_t i = 0; i < HOST_HEADERS; ++i) contents[i] = "\n";
  int error = t->library.create(&p, t->c->text.data, t->c->name, HOST_HEADERS, contents, host_headers);
  for (size_t i = 0; i < source->kernel_count && !error; ++i) error = t->library.add_name(p, source->kernels[i]);
  if (error) return give_up("program", ccw_unavailable("%s", t->library.error_text(error)));
  error = t->library.compile(p, (int)t->c->words.count, (const char *const *)t->options);
  print_log(&t->library, p);
  if (error) return DOES_NOT_COMPILE;
  error = write_code(t, p);
  return error ? error : write_symbols(t, p);
}

static ccw_status compile(ccw_compilation *c, const family *f, ccw_compiled *out_compiled)
{
  task t = {.c = c};
  int code = 0;
  CCW_TRY(open_library(f, &t.library));
  CCW_TRY(ccw_words_list(&c->words, &t.options));
  ccw_status status = ccw_child_run(c->source, compile_in_child, &t, f->prefix, &out_compiled->log, &code);
  ccw_release(t.options, (c->words.count + 1) * sizeof *t.options);
  if (status.code == XLA_FFI_Error_Code_ABORTED) {
    ccw_status_free(status);
    return ccw_invalid(
        "%s: %s crashed; perhaps it does not know the architecture '%s'", c->name, f->prefix, c->source->architecture);
  }
  CCW_TRY(status);
  if (code != 0) return ccw_compile_failure(c, &out_compiled->log);
  status = ccw_file_read(c->uses.data, &out_compiled->symbols);
  unlink(c->uses.data);
  return status;
}

static ccw_status compile_cuda(ccw_compilation *c, ccw_compiled *out_compiled)
{
  return compile(c, &nvrtc, out_compiled);
}

static ccw_status compile_rocm(ccw_compilation *c, ccw_compiled *out_compiled)
{
  return compile(c, &hiprtc, out_compiled);
}

const ccw_compiler ccw_compiler_cuda = {.language = "cuda",
    .ending = ".cu",
    .wants_architecture = true,
    .has_kernels = true,
    .prepare = prepare_cuda,
    .compile = compile_cuda};
const ccw_compiler ccw_compiler_rocm = {.language = "rocm",
    .ending = ".hip",
    .wants_architecture = true,
    .has_kernels = true,
    .prepare = prepare_rocm,
    .compile = compile_rocm};

/* The system's compiler: handlers in C and C++, and kernels for sim. */
#include "device/compile.h"

#include <unistd.h>

#include "base/text.h"

extern char **environ;

/* ---- which ----------------------------------------------------------------------------------------------------------- */

/* What a variable names: a program, or, where there is none of that name, a program and words for it. */
static ccw_status use_variable(ccw_compilation *c, const char *variable, const char *value)
{
  ccw_text path = {0}, word = {0};
  bool found = ccw_program_find(value, &path);
  if (found) {
    ccw_words_add(&c->words, "%s", ccw_text_data(&path));
  } else {
    for (const char *at = value + strspn(value, " "); *at; at += strspn(at, " ")) {
      size_t length = strcspn(at, " ");
      word.length = path.length = 0;
      ccw_text_add_bytes(&word, at, length);
      if (c->words.count == 0 && !(found = ccw_program_find(ccw_text_data(&word), &path))) break;
      ccw_words_add(&c->words, "%s", c->words.count == 0 ? ccw_text_data(&path) : ccw_text_data(&word));
      at += length;
    }
  }
  ccw_status status = ccw_text_status(path.failed ? &path : &word);
  if (!status.code && !found) status = ccw_unavailable("%s=%s: there is no such compiler", variable, value);
  ccw_text_free(&path);
  ccw_text_free(&word);
  return status;
}

static ccw_status use_first(ccw_compilation *c, const char *variable, const char *const *names, const char *what)
{
  const char *value = getenv(variable);
  if (value && *value) return use_variable(c, variable, value);
  ccw_text path = {0};
  while (*names && !ccw_program_find(*names, &path)) ++names;
  if (*names) ccw_words_add(&c->words, "%s", ccw_text_data(&path));
  ccw_status status = ccw_text_status(&path);
  ccw_text_free(&path);
  if (*names || status.code) return status;
  return ccw_unavailable("there is no %s compiler: install gcc or clang, or name one in %s", what, variable);
}

/* Whether a text includes files by quoted names, which may lie in the present folder. */
static bool includes_files(const char *text, size_t length)
{
  static const char word[] = "include";
  const char *end = text + length;
  while ((text = memmem(text, (size_t)(end - text), word, sizeof word - 1))) {
    text += sizeof word - 1;
    while (text < end && (*text == ' ' || *text == '\t')) ++text;
    if (text < end && *text == '"') return true;
  }
  return false;
}

/* What a compiler takes from the environment, and what relative names of files mean. */
static void add_surroundings(ccw_compilation *c)
{
  static const char *const variables[] = {
      "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX"};
  bool is_local = c->source->flag_count > 0 || includes_files(c->source->text, c->source->length);
  for (size_t i = 0; i < sizeof variables / sizeof *variables; ++i) {
    const char *value = getenv(variables[i]);
    ccw_text_add(&c->recipe, "%s%s", value ? "=" : "", value ? value : "");
    ccw_text_add_bytes(&c->recipe, "", 1);
    is_local = is_local || (value && *value);
  }
  char *folder = is_local ? getcwd(NULL, 0) : NULL;
  ccw_text_add(&c->recipe, "%s", folder ? folder : "");
  ccw_text_add_bytes(&c->recipe, "", 1);
  free(folder);
}

/* ---- what it reads, what it is told ----------------------------------------------------------------------------------- */

/* The name of the source, as a line for the preprocessor has it. */
static void add_line_directive(ccw_text *text, const char *name)
{
  ccw_text_add(text, "#line 1 \"");
  for (; *name; ++name) ccw_text_add(text, "%s%c", *name == '"' || *name == '\\' ? "\\" : "", *name);
  ccw_text_add(text, "\"\n");
}

static ccw_status prepare(ccw_compilation *c, const char *level, const char *standard)
{
  const ccw_source *source = c->source;
  CCW_TRY(ccw_text_status(&c->words.bytes));
  const char *const ours[] = {level, standard, "-g", "-fPIC", "-shared", "-Wall", "-fdiagnostics-color=never",
      "-ftabstop=1", "-iquote", ".", "-I"};
  if (!ccw_file_identity(ccw_text_data(&c->words.bytes), &c->recipe))
    return ccw_unavailable("%s: it is gone", c->words.bytes.data);
  for (size_t i = 0; i < sizeof ours / sizeof *ours; ++i) ccw_words_add(&c->words, "%s", ours[i]);
  ccw_words_add(&c->words, "%s", ccw_text_data(&c->include));
  add_surroundings(c);
  add_line_directive(&c->text, c->name);
  ccw_text_add_bytes(&c->text, source->text, source->length);
  ccw_text_add(&c->text, "\n");
  c->file_ending = ".so";
  c->is_kept = true;
  return ccw_ok();
}

static ccw_status prepare_c(ccw_compilation *c)
{
  static const char *const names[] = {"cc", "gcc", "clang", NULL};
  CCW_TRY(use_first(c, "CC", names, "C"));
  return prepare(c, "-O2", "-std=gnu11");
}

static ccw_status find_cxx(ccw_compilation *c)
{
  static const char *const names[] = {"c++", "g++", "clang++", NULL};
  return use_first(c, "CXX", names, "C++");
}

static ccw_status prepare_cxx(ccw_compilation *c)
{
  CCW_TRY(find_cxx(c));
  return prepare(c, "-O2", "-std=gnu++17");
}

/* Kernels are compiled as C++ of the host; kernel.h says what the words of a GPU mean there, and how the device finds them. */
static ccw_status prepare_sim(ccw_compilation *c)
{
  CCW_TRY(find_cxx(c));
  ccw_text_add(&c->text, "#include <ccw/kernel.h>\n");
  CCW_TRY(prepare(c, "-O3", "-std=c++17"));
  ccw_words_add(&c->words, "-Wno-sign-compare"); /* threadIdx is unsigned, and people write int */
  ccw_words_add(
      &c->words, "-fstack-clash-protection"); /* a large frame meets what lies behind the stack of its thread */
  ccw_text_add(&c->text, "#line 1 \"" CCW_KERNEL_NAMES "\"\n");
  for (size_t i = 0; i < c->source->kernel_count; ++i)
    ccw_text_add(&c->text, "%s%s", i == 0 ? "CCW_SIM_MODULE(" : ",\n", c->source->kernels[i]);
  ccw_text_add(&c->text, ");\n");
  return ccw_ok();
}

/* ---- compiling -------------------------------------------------------------------------------------------------------- */

/* This process's environment, in which messages are in English and in ASCII. */
static ccw_status make_environment(char ***out_list, size_t *out_size)
{
  static char language[] = "LC_ALL=C";
  size_t count = 0, kept = 0;
  while (environ && environ[count]) ++count;
  size_t size = (count + 2) * sizeof **out_list;
  char **list = ccw_allocate(size);
  if (!list) return ccw_no_memory(size);
  for (size_t i = 0; i < count; ++i)
    if (strncmp(environ[i], "LC_ALL=", 7) != 0 && strncmp(environ[i], "LANGUAGE=", 9) != 0) list[kept++] = environ[i];
  list[kept] = language;
  list[kept + 1] = NULL;
  *out_list = list;
  *out_size = size;
  return ccw_ok();
}

static ccw_status run_compiler(ccw_compilation *c, ccw_text *log, int *out_exit)
{
  char **words, **environment;
  size_t size;
  CCW_TRY(ccw_words_list(&c->words, &words));
  ccw_status status = make_environment(&environment, &size);
  if (!status.code) {
    status = ccw_program_run(c->source, words, environment, log, out_exit);
    ccw_release(environment, size);
  }
  ccw_release(words, (c->words.count + 1) * sizeof *words);
  return status;
}

static ccw_status compile(ccw_compilation *c, ccw_compiled *out_compiled)
{
  int code = 0;
  CCW_TRY(ccw_file_write(c->input.data, c->text.data, c->text.length));
  ccw_words_add(&c->words, "%s", c->input.data);
  for (size_t i = 0; i < c->source->flag_count; ++i) ccw_words_add(&c->words, "%s", c->source->flags[i]);
  ccw_words_add(&c->words, "-MMD");
  ccw_words_add(&c->words, "-MF");
  ccw_words_add(&c->words, "%s", c->uses.data);
  ccw_words_add(&c->words, "-o");
  ccw_words_add(&c->words, "%s", c->file.data);
  CCW_TRY(run_compiler(c, &out_compiled->log, &code));
  bool is_made = access(c->file.data, F_OK) == 0;
  if (code != 0 || (!is_made && out_compiled->log.length > 0)) return ccw_compile_failure(c, &out_compiled->log);
  for (size_t i = 0; i < c->source->kernel_count; ++i)
    ccw_text_add(&out_compiled->symbols, "%s\n", c->source->kernels[i]);
  return ccw_ok();
}

const ccw_compiler ccw_compiler_c = {.language = "c", .ending = ".c", .prepare = prepare_c, .compile = compile};
const ccw_compiler ccw_compiler_cxx = {.language = "c++", .ending = ".cc", .prepare = prepare_cxx, .compile = compile};
const ccw_compiler ccw_compiler_sim = {
    .language = "sim", .ending = ".cc", .has_kernels = true, .prepare = prepare_sim, .compile = compile};

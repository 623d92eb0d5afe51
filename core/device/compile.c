#include "device/compile.h"

#include <ctype.h>
#include <dlfcn.h>
#include <limits.h>
#include <unistd.h>

#include "base/text.h"

enum { MOST_BYTES = 64 << 20, MOST_NAME = 200 };

/* ---- what is asked for ------------------------------------------------------------------------------------------------ */

static const ccw_compiler *const compilers[] = {
    &ccw_compiler_c, &ccw_compiler_cxx, &ccw_compiler_sim, &ccw_compiler_cuda, &ccw_compiler_rocm};

enum { COMPILERS = sizeof compilers / sizeof *compilers };

static ccw_status find_compiler(const char *language, const ccw_compiler **out_compiler)
{
  ccw_text text = {0};
  for (size_t i = 0; i < COMPILERS; ++i) {
    if (language && strcmp(compilers[i]->language, language) == 0) {
      *out_compiler = compilers[i];
      ccw_text_free(&text);
      return ccw_ok();
    }
    ccw_text_add(&text, "%s%s", i == 0 ? "" : i + 1 < COMPILERS ? ", " : " or ", compilers[i]->language);
  }
  ccw_status status = ccw_invalid("language: expected %s, got '%s'", ccw_text_data(&text), language ? language : "");
  ccw_text_free(&text);
  return status;
}

/* Architectures go to compilers that do not all look at them twice. */
static bool is_architecture(const char *text)
{
  size_t length = 0;
  for (; isalnum((unsigned char)text[length]) || strchr("_:+-", text[length]); ++length)
    if (!text[length]) return length > 0;
  return false;
}

static ccw_status check_name(const char *name)
{
  if (strlen(name) > MOST_NAME) return ccw_invalid("name: expected up to %d bytes, got %zu", MOST_NAME, strlen(name));
  for (const char *at = name; *at; ++at)
    if (iscntrl((unsigned char)*at)) return ccw_invalid("name: expected one line of text, got the byte 0x%02x", *at);
  if (!*name || strcmp(name, CCW_KERNEL_NAMES) == 0)
    return ccw_invalid("name: expected the name of a source, got '%s'", name);
  return ccw_ok();
}

static ccw_status check(const ccw_compilation *c)
{
  const ccw_source *source = c->source;
  CCW_TRY(check_name(c->name));
  if (source->length > MOST_BYTES)
    return ccw_out_of_range("%s: expected up to %d bytes, got %zu", c->name, MOST_BYTES, source->length);
  size_t blank = 0;
  while (blank < source->length && isspace((unsigned char)source->text[blank])) ++blank;
  if (blank == source->length) return ccw_invalid("%s: the source is empty", c->name);
  const char *nul = memchr(source->text, '\0', source->length);
  if (nul) return ccw_invalid("%s: the source holds a NUL, at byte %zu", c->name, (size_t)(nul - source->text));
  for (size_t i = 0; i < source->kernel_count; ++i)
    if (!*source->kernels[i] || strpbrk(source->kernels[i], "\n\r;{}#\"\\"))
      return ccw_invalid("%s: expected the name of a kernel, got '%s'", c->name, source->kernels[i]);
  if (source->kernel_count > 0 && !c->compiler->has_kernels)
    return ccw_invalid("%s: %s has no kernels", c->name, c->compiler->language);
  if (source->kernel_count == 0 && c->compiler == &ccw_compiler_sim)
    return ccw_invalid("%s: expected the names of its kernels, got none", c->name);
  if (c->compiler->wants_architecture && !(source->architecture && is_architecture(source->architecture)))
    return ccw_invalid("architecture: expected one such as %s, got '%s'",
        c->compiler == &ccw_compiler_cuda ? "sm_90" : "gfx90a", source->architecture ? source->architecture : "");
  return ccw_ok();
}

/* ---- the headers of ccw ----------------------------------------------------------------------------------------------- */

static bool holds_headers(const char *folder)
{
  char path[PATH_MAX];
  int length = snprintf(path, sizeof path, "%s/ccw/handler.h", folder);
  return length < (int)sizeof path && access(path, R_OK) == 0;
}

/* include beside the folder that this library lies in, lib or lib/TRIPLET. */
static bool find_beside(ccw_text *out_folder)
{
  Dl_info about;
  char *path = dladdr((const void *)(uintptr_t)ccw_version, &about) ? realpath(about.dli_fname, NULL) : NULL;
  bool found = false;
  for (int up = 0; path && !found && up < 3; ++up) {
    char *slash = strrchr(path, '/');
    if (!slash) break;
    *slash = '\0';
    out_folder->length = 0;
    ccw_text_add(out_folder, "%s/include", path);
    found = holds_headers(ccw_text_data(out_folder));
  }
  free(path);
  return found;
}

static ccw_status find_headers(ccw_text *out_folder)
{
  static const char *const built[] = {
#ifdef CCW_SOURCE_INCLUDE
      CCW_SOURCE_INCLUDE,
#endif
#ifdef CCW_INSTALL_INCLUDE
      CCW_INSTALL_INCLUDE,
#endif
      NULL};
  const char *named = getenv("CCW_INCLUDE");
  if (named && *named) {
    ccw_text_add(out_folder, "%s", named);
    return holds_headers(named) ? ccw_ok() : ccw_unavailable("CCW_INCLUDE=%s: there is no ccw/handler.h", named);
  }
  if (find_beside(out_folder)) return ccw_ok();
  CCW_TRY(ccw_text_status(out_folder));
  for (size_t i = 0; built[i]; ++i) {
    if (!holds_headers(built[i])) continue;
    out_folder->length = 0;
    ccw_text_add(out_folder, "%s", built[i]);
    return ccw_ok();
  }
  return ccw_unavailable(
      "the headers of ccw are not beside its library: set CCW_INCLUDE to the folder that holds ccw/handler.h");
}

/* ---- the recipe -------------------------------------------------------------------------------------------------------- */

static void add_word(ccw_text *recipe, const char *word) { ccw_text_add_bytes(recipe, word, strlen(word) + 1); }

/* All that decides about the outcome. What the compiler adds says which one it is. */
static ccw_status prepare(ccw_compilation *c)
{
  const ccw_source *source = c->source;
  CCW_TRY(find_headers(&c->include));
  ccw_text_add(&c->recipe, "ccw %s", ccw_version());
  ccw_text_add_bytes(&c->recipe, "", 1);
  add_word(&c->recipe, source->language);
  add_word(&c->recipe, c->name);
  add_word(&c->recipe, source->architecture ? source->architecture : "");
  for (size_t i = 0; i < source->flag_count; ++i)
    ccw_text_add(&c->recipe, "%zu %s\n", strlen(source->flags[i]), source->flags[i]);
  for (size_t i = 0; i < source->kernel_count; ++i)
    ccw_text_add(&c->recipe, "%zu:%s\n", strlen(source->kernels[i]), source->kernels[i]);
  CCW_TRY(c->compiler->prepare(c));
  ccw_text_add_bytes(&c->recipe, c->words.bytes.data, c->words.bytes.length);
  ccw_text_add_bytes(&c->recipe, c->text.data, c->text.length);
  CCW_TRY(ccw_text_status(&c->include));
  CCW_TRY(ccw_text_status(&c->words.bytes));
  CCW_TRY(ccw_text_status(&c->text));
  return ccw_text_status(&c->recipe);
}

/* ---- compiling --------------------------------------------------------------------------------------------------------- */

/* The name of a file of code, after the name of its source: "axpy" of "kernels/axpy.cu". */
static void add_stem(const char *name, ccw_text *path)
{
  enum { MOST = 40 };
  const char *base = ccw_base_name(name), *dot = strrchr(base, '.');
  size_t length = dot && dot > base ? (size_t)(dot - base) : strlen(base);
  for (size_t i = 0; i < length && i < MOST; ++i)
    ccw_text_add(path, "%c", isalnum((unsigned char)base[i]) || base[i] == '-' ? base[i] : '_');
  if (length == 0) ccw_text_add(path, "code");
}

static ccw_status name_files(ccw_compilation *c)
{
  ccw_text_add(&c->input, "%s/source%s", c->folder.data, c->compiler->ending);
  ccw_text_add(&c->uses, "%s/uses", c->folder.data);
  ccw_text_add(&c->file, "%s/", c->folder.data);
  add_stem(c->name, &c->file);
  ccw_text_add(&c->file, "%s", c->file_ending);
  CCW_TRY(ccw_text_status(&c->input));
  CCW_TRY(ccw_text_status(&c->uses));
  return ccw_text_status(&c->file);
}

static ccw_status compile_anew(const ccw_text *cache, ccw_compilation *c, ccw_compiled *compiled)
{
  CCW_TRY(ccw_cache_begin(cache, &c->folder));
  ccw_status status = name_files(c);
  if (!status.code) status = c->compiler->compile(c, compiled);
  if (!status.code) status = ccw_text_status(compiled->symbols.failed ? &compiled->symbols : &compiled->log);
  if (!status.code && !c->is_kept) status = ccw_file_read(c->file.data, &c->recipe); /* known by the code itself */
  if (!status.code) status = ccw_cache_keep(cache, c, compiled);
  ccw_cache_discard(&c->folder);
  return status;
}

static ccw_status find_or_compile(ccw_compilation *c, ccw_compiled *compiled)
{
  ccw_text cache = {0};
  ccw_status status = ccw_cache_open(&cache);
  if (!status.code && !(c->is_kept && ccw_cache_find(&cache, &c->recipe, compiled)))
    status = compile_anew(&cache, c, compiled);
  ccw_text_free(&cache);
  return status;
}

ccw_status ccw_compile(const ccw_source *source, ccw_compiled *out_compiled)
{
  ccw_compilation c = {.source = source, .name = source->name};
  *out_compiled = (ccw_compiled){.was_kept = false};
  CCW_TRY(find_compiler(source->language, &c.compiler));
  ccw_text name = {0};
  ccw_text_add(&name, "source%s", c.compiler->ending);
  if (!c.name) c.name = ccw_text_data(&name);
  ccw_status status = ccw_text_status(&name);
  if (!status.code) status = check(&c);
  if (!status.code) status = prepare(&c);
  if (!status.code) status = find_or_compile(&c, out_compiled);
  ccw_text *const own[] = {
      &name, &c.include, &c.text, &c.words.bytes, &c.recipe, &c.folder, &c.input, &c.file, &c.uses};
  for (size_t i = 0; i < sizeof own / sizeof *own; ++i) ccw_text_free(own[i]);
  return status;
}

void ccw_compiled_free(ccw_compiled *compiled)
{
  ccw_text_free(&compiled->path);
  ccw_text_free(&compiled->symbols);
  ccw_text_free(&compiled->log);
}

/* compile.h: what compiling is made of.
 *
 * A compilation is prepared first: its recipe says all that decides about the outcome, and the cache is asked for it. Only what is not
 * there is compiled, in a folder of its own, which then takes its place in the cache in one step.
 */
#ifndef CCW_DEVICE_COMPILE_H
#define CCW_DEVICE_COMPILE_H

#include <ccw/ccw.h>

/* ---- words: arguments of a program, a NUL behind each ---- */

typedef struct ccw_words {
  ccw_text bytes;
  size_t count;
} ccw_words;

/* Adds a word, as by printf. */
#define ccw_words_add(words, ...) \
  (ccw_text_add(&(words)->bytes, __VA_ARGS__), ccw_text_add_bytes(&(words)->bytes, "", 1), ++(words)->count)

void ccw_words_free(ccw_words *words);

/* A list of them that ends with NULL, borrowing from the words; to be given back by ccw_release(list, (count + 1) * sizeof *list). */
CCW_MUST_USE ccw_status ccw_words_list(const ccw_words *words, char ***out_list);

/* ---- compilations ---- */

typedef struct ccw_compilation ccw_compilation;

/* How one language is compiled. */
typedef struct ccw_compiler {
  const char *language;
  const char *ending; /* of a source, ".cu" */
  bool wants_architecture, has_kernels;
  /* Finds the compiler, and adds to the words and the recipe what it is and is told. UNAVAILABLE, with advice. */
  ccw_status (*prepare)(ccw_compilation *c);
  /* Compiles into the file. What the compiler says goes to the log. A failure whose log tells why has no text yet. */
  ccw_status (*compile)(ccw_compilation *c, ccw_compiled *out_compiled);
} ccw_compiler;

struct ccw_compilation {
  const ccw_source *source;
  const ccw_compiler *compiler;
  const char *name; /* of the source, as messages have it */
  ccw_text include; /* the folder of ccw's headers */
  ccw_text text;    /* what the compiler reads: the source, and what stands around it */
  ccw_words words;  /* what the compiler is told */
  ccw_text recipe;
  const char *file_ending;    /* of the code, ".so" */
  bool is_kept;               /* and found again: what it includes is known */
  ccw_text folder;            /* where it is compiled */
  ccw_text input, file, uses; /* paths in there: what is read, what is made, what was included */
};

extern const ccw_compiler ccw_compiler_c, ccw_compiler_cxx, ccw_compiler_sim, ccw_compiler_cuda, ccw_compiler_rocm;

/* The files that messages call so hold lines of ours, one for each kernel that was asked for. */
#define CCW_KERNEL_NAMES "kernel names"

/* ---- the parts ---- */

/* Runs a program without a shell, reading nothing, and collects what it prints, up to a limit. `environment` may be NULL: this
 * process's own. UNAVAILABLE: it cannot be started. DEADLINE_EXCEEDED, CANCELLED: it took longer than the source allows, or is not wanted
 * any more, and was killed with all its children, as it is when this process ends. ABORTED: a signal ended it. */
CCW_MUST_USE ccw_status ccw_program_run(
    const ccw_source *source, char *const *words, char *const *environment, ccw_text *output, int *out_exit);

/* The same of a function of ours, in a copy of this process: for what may crash or hang. What it returns is the exit. */
CCW_MUST_USE ccw_status ccw_child_run(const ccw_source *source, int (*function)(void *context), void *context,
    const char *what, ccw_text *output, int *out_exit);

/* The file of a program: of a name without a slash the first in PATH. False: there is none. */
bool ccw_program_find(const char *name, ccw_text *out_path);

/* Makes the failure of a compilation out of the log: the errors, with the lines of the source. NOT_FOUND: only kernels that were asked for
 * are not there. */
CCW_MUST_USE ccw_status ccw_compile_failure(const ccw_compilation *c, const ccw_text *log);

/* The cache's folder, which is made where it is not there. UNAVAILABLE: nobody can write there, or others can. */
CCW_MUST_USE ccw_status ccw_cache_open(ccw_text *out_folder);

/* What was kept under that recipe, if it is whole, and what it includes is as it was. */
bool ccw_cache_find(const ccw_text *cache, const ccw_text *recipe, ccw_compiled *out_compiled);

/* Makes a folder to compile in. */
CCW_MUST_USE ccw_status ccw_cache_begin(const ccw_text *cache, ccw_text *out_folder);

/* Keeps what was compiled in there, and says where it is then. */
CCW_MUST_USE ccw_status ccw_cache_keep(const ccw_text *cache, ccw_compilation *c, ccw_compiled *compiled);

/* How much the cache may hold: $CCW_CACHE_SIZE MiB, or 512. UNAVAILABLE: it is no number. */
CCW_MUST_USE ccw_status ccw_cache_limit(uint64_t *out_bytes);

/* Says that this process uses an entry, which nobody removes as long as it lives. */
void ccw_cache_use(const ccw_text *cache, const ccw_text *entry);

/* Removes what nobody uses, the least recently used first, until the cache is no larger than it may be. */
void ccw_cache_shrink(const ccw_text *cache);

/* Removes a folder and the files in it. An empty name is fine. */
void ccw_cache_discard(const ccw_text *folder);

/* Reads a file, or writes one that is not there yet. The failure has the system's words. */
CCW_MUST_USE ccw_status ccw_file_read(const char *path, ccw_text *out_bytes);
CCW_MUST_USE ccw_status ccw_file_write(const char *path, const char *bytes, size_t length);

/* "PATH SIZE SECONDS NANOSECONDS" and a NUL: of a file that is the same as long as that is. False: it is not there. */
bool ccw_file_identity(const char *path, ccw_text *text);

#endif

#include "runtime/symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/carried.h"

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { MACHINE = EM_AARCH64 };
#else
#error "symbols.c: add the ELF machine number of this processor"
#endif

static bool could_be_handler(const GElf_Sym *symbol, const char *name)
{
  int type = GELF_ST_TYPE(symbol->st_info), binding = GELF_ST_BIND(symbol->st_info);
  bool exported = (binding == STB_GLOBAL || binding == STB_WEAK) && symbol->st_shndx != SHN_UNDEF &&
                  GELF_ST_VISIBILITY(symbol->st_other) == STV_DEFAULT;
  if (!exported || (type != STT_FUNC && type != STT_GNU_IFUNC) || !name || !*name) return false;
  return strncmp(name, "_Z", 2) != 0 && strncmp(name, "__", 2) != 0 && strcmp(name, "_init") != 0 &&
         strcmp(name, "_fini") != 0;
}

/* Visits the symbols of one table; false when the visitor wants no more. */
static bool visit_table(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, ccw_name_visitor *visit, void *context)
{
  Elf_Data *data = elf_getdata(section, NULL);
  if (!data || header->sh_entsize == 0) return true;
  size_t symbols = header->sh_size / header->sh_entsize;
  for (size_t i = 0; i < symbols && i <= INT32_MAX; ++i) {
    GElf_Sym symbol;
    if (!gelf_getsym(data, (int)i, &symbol)) break;
    const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);
    if (could_be_handler(&symbol, name) && !visit(context, name)) return false;
  }
  return true;
}

/* The dynamic linker maps a file that was cut short, and dies when it touches what is missing. */
static bool is_whole(Elf *elf, uint64_t size)
{
  size_t count;
  if (elf_getphdrnum(elf, &count) != 0 || count == 0) return false;
  for (size_t i = 0; i < count && i <= INT32_MAX; ++i) {
    GElf_Phdr segment;
    if (!gelf_getphdr(elf, (int)i, &segment)) return false;
    if (segment.p_offset > size || segment.p_filesz > size - segment.p_offset) return false;
  }
  return true;
}

/* The dynamic linker takes for granted that a library tells where its names and symbols are, and dies where it does not:
 * where a download left zeros, say. */
static bool has_symbols(Elf *elf)
{
  GElf_Phdr segment = {.p_type = PT_NULL};
  for (int n = 0; segment.p_type != PT_DYNAMIC; ++n)
    if (!gelf_getphdr(elf, n, &segment)) return false;
  Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)segment.p_offset, segment.p_filesz, ELF_T_DYN);
  bool strings = false, symbols = false;
  GElf_Dyn entry;
  for (int i = 0; data && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; ++i) {
    strings = strings || entry.d_tag == DT_STRTAB;
    symbols = symbols || entry.d_tag == DT_SYMTAB;
  }
  return strings && symbols;
}

/* Success for a shared library that this machine can load. */
static ccw_status check_elf(Elf *elf, uint64_t size, const char *path)
{
  GElf_Ehdr file;
  if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &file))
    return ccw_invalid("%s: not a shared library (it has no ELF header)", path);
  if (file.e_type != ET_DYN) return ccw_invalid("%s: an ELF file, but not a shared library", path);
  if (file.e_machine != MACHINE || gelf_getclass(elf) != ELFCLASS64)
    return ccw_invalid("%s: a shared library for another machine (ELF machine %d)", path, file.e_machine);
  if (!is_whole(elf, size)) return ccw_invalid("%s: a shared library that was cut short", path);
  if (!has_symbols(elf)) return ccw_invalid("%s: a damaged shared library, without a table of symbols", path);
  return ccw_ok();
}

static void visit_elf(Elf *elf, ccw_name_visitor *visit, void *context)
{
  for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) && header.sh_type == SHT_DYNSYM &&
        !visit_table(elf, section, &header, visit, context))
      break;
  }
}

/* ---- variables ------------------------------------------------------------------------------------------------------- */

static bool is_writable(Elf *elf, const GElf_Sym *symbol)
{
  Elf_Scn *section =
      symbol->st_shndx != SHN_UNDEF && symbol->st_shndx < SHN_LORESERVE ? elf_getscn(elf, symbol->st_shndx) : NULL;
  GElf_Shdr header;
  return section && gelf_getshdr(section, &header) && (header.sh_flags & SHF_WRITE) && !(header.sh_flags & SHF_TLS);
}

static bool visit_variables(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, ccw_data_visitor *visit, void *context)
{
  Elf_Data *data = elf_getdata(section, NULL);
  size_t symbols = data && header->sh_entsize > 0 ? header->sh_size / header->sh_entsize : 0;
  GElf_Sym symbol;
  for (size_t i = 0; i < symbols && i <= INT32_MAX && gelf_getsym(data, (int)i, &symbol); ++i) {
    const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);
    bool is_variable = GELF_ST_TYPE(symbol.st_info) == STT_OBJECT && symbol.st_size > 0 && name && *name;
    if (!is_variable || !is_writable(elf, &symbol)) continue;
    bool is_unique = GELF_ST_BIND(symbol.st_info) == STB_GNU_UNIQUE;
    if (!visit(context, &(ccw_data_symbol){name, symbol.st_value, symbol.st_size, is_unique})) return false;
  }
  return true;
}

/* ---- texts ---------------------------------------------------------------------------------------------------------- */

/* Finds an exported symbol of any sort, by a name of which `length` bytes are compared. */
static bool find_symbol(Elf *elf, const char *name, size_t length, GElf_Sym *out_symbol)
{
  for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
    GElf_Shdr header;
    if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNSYM || header.sh_entsize == 0) continue;
    Elf_Data *data = elf_getdata(section, NULL);
    size_t symbols = data ? header.sh_size / header.sh_entsize : 0;
    for (size_t i = 0; i < symbols && i <= INT32_MAX && gelf_getsym(data, (int)i, out_symbol); ++i) {
      const char *found = elf_strptr(elf, header.sh_link, out_symbol->st_name);
      if (out_symbol->st_shndx != SHN_UNDEF && found && strncmp(found, name, length) == 0) return true;
    }
  }
  return false;
}

/* Where the section that a symbol is in has its bytes; NULL where they are not all in the section. */
static const char *bytes_of(Elf *elf, const GElf_Sym *symbol)
{
  Elf_Scn *section = symbol->st_shndx < SHN_LORESERVE ? elf_getscn(elf, symbol->st_shndx) : NULL;
  GElf_Shdr header;
  if (!section || !gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS) return NULL;
  Elf_Data *data = elf_rawdata(section, NULL);
  uint64_t offset = symbol->st_value - header.sh_addr;
  if (!data || !data->d_buf || offset > data->d_size || symbol->st_size > data->d_size - offset) return NULL;
  return (const char *)data->d_buf + offset;
}

/* For ccw_carried_read: the text of a data symbol in the file. */
static ccw_status find_text(void *context, const char *name, const char **out_text)
{
  Elf *elf = context;
  GElf_Sym symbol;
  *out_text = NULL;
  if (!find_symbol(elf, name, strlen(name) + 1, &symbol)) return ccw_ok();
  if (GELF_ST_TYPE(symbol.st_info) != STT_OBJECT) return ccw_invalid("%s: a symbol that is no data", name);
  const char *bytes = bytes_of(elf, &symbol);
  if (!bytes) return ccw_invalid("%s: its %zu bytes are not all in the library", name, (size_t)symbol.st_size);
  CCW_TRY(ccw_carried_check(name, bytes, symbol.st_size));
  *out_text = bytes;
  return ccw_ok();
}

/* Hands the names on with their signatures. */
typedef struct signatures {
  Elf *elf;
  bool has_any;
  ccw_signature_visitor *visit;
  void *context;
} signatures;

static bool visit_signature(void *context, const char *name)
{
  const signatures *in = context;
  ccw_signature *signature = NULL;
  ccw_status problem = in->has_any ? ccw_carried_read(find_text, in->elf, name, &signature) : ccw_ok();
  bool goes_on = in->visit(in->context, name, signature, problem);
  ccw_status_free(problem);
  ccw_signature_release(signature);
  return goes_on;
}

/* ---- files ---------------------------------------------------------------------------------------------------------- */

/* Opens a regular file, and no other: a pipe would wait, a device never end. */
static ccw_status open_regular(const char *path, int *out_file, uint64_t *out_size)
{
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0 && errno == EACCES) return ccw_permission_denied("%s: %s", path, strerror(errno));
  if (file < 0) return ccw_not_found("%s: %s", path, strerror(errno));
  struct stat about;
  if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) {
    close(file);
    return ccw_invalid("%s: %s, not a library", path, S_ISDIR(about.st_mode) ? "a folder" : "no regular file");
  }
  *out_file = file;
  *out_size = (uint64_t)about.st_size;
  return ccw_ok();
}

/* An ELF file, open. */
typedef struct elf_file {
  int file;
  Elf *elf;
} elf_file;

static void close_elf(elf_file opened)
{
  elf_end(opened.elf);
  close(opened.file);
}

static ccw_status open_elf(const char *path, elf_file *out_opened)
{
  if (elf_version(EV_CURRENT) == EV_NONE) return ccw_internal("libelf does not know its own version");
  elf_file opened;
  uint64_t size;
  CCW_TRY(open_regular(path, &opened.file, &size));
  opened.elf = elf_begin(opened.file, ELF_C_READ_MMAP, NULL);
  ccw_status status = check_elf(opened.elf, size, path);
  if (status.code)
    close_elf(opened);
  else
    *out_opened = opened;
  return status;
}

ccw_status ccw_symbols_visit(const char *path, ccw_name_visitor *visit, void *context)
{
  elf_file opened;
  CCW_TRY(open_elf(path, &opened));
  visit_elf(opened.elf, visit, context);
  close_elf(opened);
  return ccw_ok();
}

ccw_status ccw_symbols_visit_signatures(const char *path, ccw_signature_visitor *visit, void *context)
{
  static const char prefix[] = "ccw_signature_";
  elf_file opened;
  CCW_TRY(open_elf(path, &opened));
  GElf_Sym ignored;
  signatures in = {opened.elf, find_symbol(opened.elf, prefix, sizeof prefix - 1, &ignored), visit, context};
  visit_elf(opened.elf, visit_signature, &in);
  close_elf(opened);
  return ccw_ok();
}

ccw_status ccw_symbols_visit_data(const char *path, ccw_data_visitor *visit, void *context)
{
  elf_file opened;
  CCW_TRY(open_elf(path, &opened));
  for (Elf_Scn *section = NULL; (section = elf_nextscn(opened.elf, section));) {
    GElf_Shdr header;
    bool has_symbols = gelf_getshdr(section, &header) && (header.sh_type == SHT_DYNSYM || header.sh_type == SHT_SYMTAB);
    if (has_symbols && !visit_variables(opened.elf, section, &header, visit, context)) break;
  }
  close_elf(opened);
  return ccw_ok();
}

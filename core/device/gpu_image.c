#include <gelf.h>
#include <string.h>

#include "base/memory.h"
#include "device/gpu.h"

static void add_name(ccw_text *names, const char *name, size_t length)
{
  ccw_text_add_bytes(names, name, length);
  ccw_text_add_bytes(names, "\n", 1);
}

/* A text whose words ".entry NAME" begin kernels. */
static void read_ptx(const char *text, ccw_text *names)
{
  static const char entry[] = ".entry",
                    part_of_name[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$%";
  for (const char *at = text; (at = strstr(at, entry)) != NULL;) {
    at += strlen(entry);
    at += strspn(at, " \t\r\n");
    size_t length = strspn(at, part_of_name);
    if (length > 0) add_name(names, at, length);
  }
}

/* Of AMD each kernel has a descriptor, NAME.kd; of NVIDIA a mark. */
static void read_symbol(const GElf_Sym *symbol, const char *name, ccw_text *names)
{
  enum { ENTRY = 0x10 };
  if (!name || symbol->st_shndx == SHN_UNDEF) return;
  size_t length = strlen(name);
  if (GELF_ST_TYPE(symbol->st_info) == STT_OBJECT && length > 3 && strcmp(name + length - 3, ".kd") == 0)
    add_name(names, name, length - 3);
  else if (GELF_ST_TYPE(symbol->st_info) == STT_FUNC && (symbol->st_other & ENTRY) != 0)
    add_name(names, name, length);
}

static void read_table(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, ccw_text *names)
{
  Elf_Data *data = elf_getdata(section, NULL);
  GElf_Sym symbol;
  for (int i = 0; data && gelf_getsym(data, i, &symbol); ++i)
    read_symbol(&symbol, elf_strptr(elf, header->sh_link, symbol.st_name), names);
}

/* One of its tables is enough: the other has the same. */
static void read_elf(char *image, size_t size, ccw_text *names)
{
  elf_version(EV_CURRENT);
  Elf *elf = elf_memory(image, size);
  GElf_Shdr header;
  for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL && names->length == 0;)
    if (gelf_getshdr(section, &header) && (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM))
      read_table(elf, section, &header, names);
  elf_end(elf);
}

static uint64_t number_at(const char *bytes)
{
  uint64_t number;
  memcpy(&number, bytes, sizeof number);
  return number;
}

static const char bundle[] = "__CLANG_OFFLOAD_BUNDLE__";

/* Code for several GPUs, the same kernels for each: a count, then of each where it lies, its size, and a name with its length. */
static void read_bundle(char *image, size_t size, ccw_text *names)
{
  enum { ENTRY = 24 };
  size_t at = strlen(bundle) + 8;
  if (size < at) return;
  for (uint64_t left = number_at(image + at - 8); left > 0 && size - at >= ENTRY && names->length == 0; --left) {
    uint64_t offset = number_at(image + at), length = number_at(image + at + 8), name = number_at(image + at + 16);
    at += ENTRY;
    if (name > size - at || offset > size || length > size - offset) return;
    at += name;
    if (length > 0) read_elf(image + offset, length, names);
  }
}

void gpu_image_names(char *image, size_t size, ccw_text *names)
{
  if (size >= strlen(bundle) && memcmp(image, bundle, strlen(bundle)) == 0)
    read_bundle(image, size, names);
  else if (size >= SELFMAG && memcmp(image, ELFMAG, SELFMAG) == 0)
    read_elf(image, size, names);
  else
    read_ptx(image, names);
}

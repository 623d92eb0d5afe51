#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/reader.h"
#include "base/text.h"
#include "value/element.h"

/* Deep enough for any configuration, and far from the end of the stack. */
enum { MAX_DEPTH = 64 };

enum { FEW = 4 };

/* One attribute in one block: this, the bytes of its value, the bytes of its name. */
typedef struct entry {
  size_t size;
  XLA_FFI_AttrType type;
  XLA_FFI_ByteSpan name;
  union {
    XLA_FFI_Scalar scalar;
    XLA_FFI_Array array;
    XLA_FFI_ByteSpan string;
    ccw_attributes *dictionary;
  } as;
} entry;

struct ccw_attributes {
  ccw_count count;
  int depth; /* dictionaries in each other, this one included */
  XLA_FFI_Attrs abi;
  /* While it is built there are entries and nothing else; the arrays of `abi` come when it is finished. A few attributes
   * need no memory for either. */
  size_t room; /* entries that there is room for */
  entry **entries;
  entry *few_entries[FEW];
  void *few_arrays[3 * FEW];
};

struct ccw_attributes_builder {
  ccw_attributes attributes;
};

static size_t arrays_size(int64_t count)
{
  return (size_t)count * (sizeof(XLA_FFI_AttrType) + sizeof(XLA_FFI_ByteSpan *) + sizeof(void *)) + sizeof(void *);
}

static void free_entry(entry *e)
{
  if (e->type == XLA_FFI_AttrType_DICTIONARY) ccw_attributes_release(e->as.dictionary);
  ccw_release(e, e->size);
}

static void free_entries(ccw_attributes *attributes)
{
  for (int64_t i = 0; i < attributes->abi.size; ++i) free_entry(attributes->entries[i]);
  if (attributes->entries != attributes->few_entries)
    ccw_release(attributes->entries, attributes->room * sizeof(entry *));
  if (attributes->abi.attrs != attributes->few_arrays)
    ccw_release(attributes->abi.attrs, arrays_size(attributes->abi.size));
}

/* ---- building ------------------------------------------------------------------------------------------------------ */

ccw_status ccw_attributes_begin(ccw_attributes_builder **out_builder)
{
  ccw_attributes_builder *builder = ccw_allocate(sizeof *builder);
  if (!builder) return ccw_no_memory(sizeof *builder);
  *builder = (ccw_attributes_builder){
      {.count = 1, .depth = 1, .abi = {.struct_size = XLA_FFI_Attrs_STRUCT_SIZE}, .room = FEW}};
  builder->attributes.entries = builder->attributes.few_entries;
  *out_builder = builder;
  return ccw_ok();
}

void ccw_attributes_discard(ccw_attributes_builder *builder)
{
  if (!builder) return;
  free_entries(&builder->attributes);
  ccw_release(builder, sizeof *builder);
}

/* Adds an entry with room for `bytes` bytes of value, whose place is *out_value. */
static ccw_status add_entry(ccw_attributes_builder *builder, XLA_FFI_AttrType type, const char *name,
    size_t name_length, size_t bytes, entry **out_entry, void **out_value)
{
  ccw_attributes *attributes = &builder->attributes;
  size_t count = (size_t)attributes->abi.size;
  if (count == attributes->room) {
    size_t size = count * sizeof(entry *);
    entry **entries = ccw_allocate(2 * size);
    if (!entries) return ccw_no_memory(2 * size);
    memcpy(entries, attributes->entries, size);
    if (attributes->entries != attributes->few_entries) ccw_release(attributes->entries, size);
    attributes->entries = entries;
    attributes->room = 2 * count;
  }
  size_t value_at = ccw_align(sizeof(entry), 16), size = value_at + bytes + name_length;
  if (bytes > PTRDIFF_MAX - value_at - name_length) return ccw_no_memory(bytes);
  entry *e = ccw_allocate(size);
  if (!e) return ccw_no_memory(size);
  char *name_copy = (char *)e + value_at + bytes;
  if (name_length > 0) memcpy(name_copy, name, name_length);
  *e = (entry){.size = size, .type = type, .name = {name_copy, name_length}};
  attributes->entries[attributes->abi.size++] = e;
  *out_entry = e;
  *out_value = (char *)e + value_at;
  return ccw_ok();
}

/* The dtypes that XLA's runtime can put into an attribute. */
static ccw_status check_type_of_attribute(ccw_dtype dtype, bool in_array)
{
  int bits = ccw_dtype_bits(dtype);
  switch (ccw_dtype_class(dtype)) {
  case CCW_CLASS_PRED:
    if (!in_array) return ccw_ok();
    return ccw_invalid("XLA has no attributes that are arrays of pred");
  case CCW_CLASS_SIGNED:
  case CCW_CLASS_UNSIGNED:
    if (bits >= 8) return ccw_ok();
    break;
  case CCW_CLASS_FLOAT:
    if (bits >= 32) return ccw_ok();
    break;
  default: break;
  }
  return ccw_invalid("XLA has no attributes of %s", ccw_dtype_name(dtype));
}

ccw_status ccw_attributes_add_scalar(
    ccw_attributes_builder *builder, const char *name, size_t name_length, ccw_scalar scalar)
{
  CCW_TRY(check_type_of_attribute(scalar.dtype, false));
  entry *e;
  void *value;
  CCW_TRY(add_entry(builder, XLA_FFI_AttrType_SCALAR, name, name_length, sizeof(uint64_t), &e, &value));
  memset(value, 0, sizeof(uint64_t));
  ccw_element_store(value, 0, scalar);
  e->as.scalar = (XLA_FFI_Scalar){scalar.dtype, value};
  return ccw_ok();
}

ccw_status ccw_attributes_add_array(ccw_attributes_builder *builder, const char *name, size_t name_length,
    ccw_dtype dtype, const void *elements, int64_t count)
{
  CCW_TRY(check_type_of_attribute(dtype, true));
  ccw_shape shape;
  CCW_TRY(ccw_shape_make(dtype, &count, 1, &shape));
  entry *e;
  void *value;
  CCW_TRY(add_entry(builder, XLA_FFI_AttrType_ARRAY, name, name_length, (size_t)shape.bytes, &e, &value));
  if (shape.bytes > 0) memcpy(value, elements, (size_t)shape.bytes);
  e->as.array = (XLA_FFI_Array){dtype, (size_t)count, value};
  return ccw_ok();
}

ccw_status ccw_attributes_add_string(
    ccw_attributes_builder *builder, const char *name, size_t name_length, const char *bytes, size_t length)
{
  entry *e;
  void *value;
  CCW_TRY(add_entry(builder, XLA_FFI_AttrType_STRING, name, name_length, length, &e, &value));
  if (length > 0) memcpy(value, bytes, length);
  e->as.string = (XLA_FFI_ByteSpan){value, length};
  return ccw_ok();
}

ccw_status ccw_attributes_add_dictionary(
    ccw_attributes_builder *builder, const char *name, size_t name_length, const ccw_attributes *dictionary)
{
  if (dictionary->depth == MAX_DEPTH) return ccw_invalid("more than %d dictionaries in each other", MAX_DEPTH);
  entry *e;
  void *value;
  CCW_TRY(add_entry(builder, XLA_FFI_AttrType_DICTIONARY, name, name_length, 0, &e, &value));
  e->as.dictionary = ccw_attributes_retain((ccw_attributes *)dictionary); /* immutable, so that sharing is copying */
  if (builder->attributes.depth < dictionary->depth + 1) builder->attributes.depth = dictionary->depth + 1;
  return ccw_ok();
}

static int compare_entries(const void *a, const void *b)
{
  const XLA_FFI_ByteSpan *x = &(*(entry *const *)a)->name, *y = &(*(entry *const *)b)->name;
  return ccw_compare_bytes(x->ptr, x->len, y->ptr, y->len);
}

static void *entry_abi(entry *e)
{
  return e->type == XLA_FFI_AttrType_DICTIONARY ? (void *)&e->as.dictionary->abi : (void *)&e->as;
}

/* Points the arrays of the ABI at the entries, which stay where they are from now on. */
static ccw_status freeze(ccw_attributes *attributes)
{
  int64_t count = attributes->abi.size;
  if (count == 0) return ccw_ok();
  qsort(attributes->entries, (size_t)count, sizeof(entry *), compare_entries);
  for (int64_t i = 1; i < count; ++i) {
    if (compare_entries(&attributes->entries[i - 1], &attributes->entries[i]) != 0) continue;
    ccw_text text = {0};
    ccw_text_add_quoted(&text, attributes->entries[i]->name.ptr, attributes->entries[i]->name.len);
    ccw_text_add(&text, " is there twice");
    return ccw_status_of_text(XLA_FFI_Error_Code_INVALID_ARGUMENT, &text);
  }
  void **arrays = count <= FEW ? attributes->few_arrays : ccw_allocate(arrays_size(count));
  if (!arrays) return ccw_no_memory(arrays_size(count));
  attributes->abi.attrs = arrays;
  attributes->abi.names = (XLA_FFI_ByteSpan **)(arrays + count);
  attributes->abi.types = (XLA_FFI_AttrType *)(arrays + 2 * count);
  for (int64_t i = 0; i < count; ++i) {
    entry *e = attributes->entries[i];
    attributes->abi.attrs[i] = entry_abi(e);
    attributes->abi.names[i] = &e->name;
    attributes->abi.types[i] = e->type;
  }
  return ccw_ok();
}

ccw_status ccw_attributes_finish(ccw_attributes_builder *builder, ccw_attributes **out_attributes)
{
  ccw_status status = freeze(&builder->attributes);
  if (status.code)
    ccw_attributes_discard(builder);
  else
    *out_attributes = &builder->attributes;
  return status;
}

/* ---- use ----------------------------------------------------------------------------------------------------------- */

ccw_attributes *ccw_attributes_retain(ccw_attributes *attributes)
{
  ccw_count_up(&attributes->count);
  return attributes;
}

void ccw_attributes_release(ccw_attributes *attributes)
{
  if (!attributes || !ccw_count_down(&attributes->count)) return;
  free_entries(attributes);
  ccw_release(attributes, sizeof(ccw_attributes_builder));
}

const XLA_FFI_Attrs *ccw_attributes_abi(const ccw_attributes *attributes)
{
  static const XLA_FFI_Attrs empty = {.struct_size = XLA_FFI_Attrs_STRUCT_SIZE};
  return attributes ? &attributes->abi : &empty;
}

static void print_name(const XLA_FFI_ByteSpan *name, ccw_text *text)
{
  if (ccw_is_name(name->ptr, name->len)) {
    ccw_text_add_bytes(text, name->ptr, name->len);
  } else {
    ccw_text_add(text, "[");
    ccw_text_add_quoted(text, name->ptr, name->len);
    ccw_text_add(text, "]");
  }
}

static void print_scalar(const XLA_FFI_Scalar *scalar, ccw_text *text)
{
  bool plain = scalar->dtype == XLA_FFI_DataType_PRED || scalar->dtype == XLA_FFI_DataType_S64;
  if (!plain) ccw_text_add(text, "%s(", ccw_dtype_name(scalar->dtype));
  ccw_scalar_print(ccw_element_load(scalar->dtype, scalar->value, 0), text);
  if (!plain) ccw_text_add(text, ")");
}

static void print_array(const XLA_FFI_Array *array, ccw_text *text)
{
  ccw_text_add(text, "%s{", ccw_dtype_name(array->dtype));
  for (size_t i = 0; i < array->size; ++i) {
    if (i > 0) ccw_text_add(text, ", ");
    ccw_scalar_print(ccw_element_load(array->dtype, array->data, (int64_t)i), text);
  }
  ccw_text_add(text, "}");
}

void ccw_attributes_print(const XLA_FFI_Attrs *attributes, ccw_text *text)
{
  ccw_text_add(text, "{");
  for (int64_t i = 0; i < attributes->size; ++i) {
    if (i > 0) ccw_text_add(text, ", ");
    print_name(attributes->names[i], text);
    ccw_text_add(text, " = ");
    const void *value = attributes->attrs[i];
    switch (attributes->types[i]) {
    case XLA_FFI_AttrType_SCALAR: print_scalar(value, text); break;
    case XLA_FFI_AttrType_ARRAY: print_array(value, text); break;
    case XLA_FFI_AttrType_DICTIONARY: ccw_attributes_print(value, text); break;
    case XLA_FFI_AttrType_STRING: {
      const XLA_FFI_ByteSpan *string = value;
      ccw_text_add_quoted(text, string->ptr, string->len);
      break;
    }
    }
  }
  ccw_text_add(text, "}");
}

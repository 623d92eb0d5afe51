#include "value/type.h"

#include <string.h>

#include "base/checked.h"
#include "base/text.h"

struct ccw_type {
  ccw_count count;
  bool is_tuple;
  ccw_shape shape; /* of an array */
  int64_t size;    /* of a tuple */
  ccw_type **elements;
};

static ccw_status new_type(bool is_tuple, ccw_type **out_type)
{
  ccw_type *type = ccw_allocate(sizeof *type);
  if (!type) return ccw_no_memory(sizeof *type);
  *type = (ccw_type){.count = 1, .is_tuple = is_tuple};
  *out_type = type;
  return ccw_ok();
}

ccw_status ccw_type_of_shape(const ccw_shape *shape, ccw_type **out_type)
{
  ccw_type *type;
  CCW_TRY(new_type(false, &type));
  type->shape = *shape;
  *out_type = type;
  return ccw_ok();
}

ccw_type *ccw_type_retain(ccw_type *type)
{
  ccw_count_up(&type->count);
  return type;
}

/* The elements have room for the next power of two of their number. */
static size_t room_for(int64_t size)
{
  size_t room = 4;
  while (room < (size_t)size) room *= 2;
  return room * sizeof(ccw_type *);
}

void ccw_type_release(ccw_type *type)
{
  if (!type || !ccw_count_down(&type->count)) return;
  for (int64_t i = 0; i < type->size; ++i) ccw_type_release(type->elements[i]);
  if (type->elements) ccw_release(type->elements, room_for(type->size));
  ccw_release(type, sizeof *type);
}

const ccw_shape *ccw_type_shape(const ccw_type *type) { return type->is_tuple ? NULL : &type->shape; }

int64_t ccw_type_size(const ccw_type *type) { return type->size; }

ccw_type *ccw_type_element(const ccw_type *type, int64_t i) { return type->elements[i]; }

bool ccw_type_equal(const ccw_type *a, const ccw_type *b)
{
  if (a->is_tuple != b->is_tuple) return false;
  if (!a->is_tuple) return ccw_shape_equal(&a->shape, &b->shape);
  if (a->size != b->size) return false;
  for (int64_t i = 0; i < a->size; ++i)
    if (!ccw_type_equal(a->elements[i], b->elements[i])) return false;
  return true;
}

void ccw_type_print(const ccw_type *type, ccw_text *text)
{
  if (!type->is_tuple) {
    ccw_shape_print(&type->shape, text);
    return;
  }
  ccw_text_add(text, "(");
  for (int64_t i = 0; i < type->size; ++i) {
    if (i > 0) ccw_text_add(text, ", ");
    ccw_type_print(type->elements[i], text);
  }
  ccw_text_add(text, ")");
}

/* Takes the element over, also when it fails. */
static ccw_status append(ccw_type *tuple, ccw_type *element)
{
  size_t room = tuple->elements ? room_for(tuple->size) : 0, needed = room_for(tuple->size + 1);
  if (needed > room) {
    ccw_type **elements = ccw_reallocate(tuple->elements, room, needed);
    if (!elements) {
      ccw_type_release(element);
      return ccw_no_memory(needed);
    }
    tuple->elements = elements;
  }
  tuple->elements[tuple->size++] = element;
  return ccw_ok();
}

/* ---- reading ------------------------------------------------------------------------------------------------------- */

const char *ccw_dtype_meant(const char *name, size_t length)
{
  static const char *const names[][2] = {{"bool", "pred"}, {"i1", "pred"}, {"int", "s32"}, {"float", "f32"},
      {"double", "f64"}, {"half", "f16"}, {"bfloat16", "bf16"}, {"float16", "f16"}, {"float32", "f32"},
      {"float64", "f64"}, {"complex64", "c64"}, {"complex128", "c128"}, {"int4", "s4"}, {"int8", "s8"},
      {"int16", "s16"}, {"int32", "s32"}, {"int64", "s64"}, {"uint4", "u4"}, {"uint8", "u8"}, {"uint16", "u16"},
      {"uint32", "u32"}, {"uint64", "u64"}, {"i4", "s4"}, {"i8", "s8"}, {"i16", "s16"}, {"i32", "s32"}, {"i64", "s64"},
      {"ui8", "u8"}, {"ui16", "u16"}, {"ui32", "u32"}, {"ui64", "u64"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
    if (strlen(names[i][0]) == length && memcmp(names[i][0], name, length) == 0) return names[i][1];
  return NULL;
}

ccw_status ccw_dtype_refuse(const ccw_reader *r, size_t at, XLA_FFI_ByteSpan word)
{
  ccw_text text = {0};
  ccw_text_add(&text, "no dtype is called '");
  ccw_text_add_bytes(&text, word.ptr, word.len);
  ccw_text_add(&text, "'");
  const char *meant = ccw_dtype_meant(word.ptr, word.len);
  if (meant) ccw_text_add(&text, ": XLA's name is %s", meant);
  return ccw_reader_refuse(r, at, ccw_status_of_text(XLA_FFI_Error_Code_INVALID_ARGUMENT, &text));
}

static ccw_status read_shape(ccw_reader *r, ccw_shape *out_shape)
{
  XLA_FFI_ByteSpan word = ccw_reader_word(r);
  size_t start = r->at - word.len;
  ccw_dtype dtype = ccw_dtype_from_name(word.ptr, word.len);
  if (dtype == XLA_FFI_DataType_INVALID) return ccw_dtype_refuse(r, start, word);
  if (!ccw_reader_accept(r, "[")) return ccw_reader_unexpected(r, "'[', as in f32[] and f32[2,3]");

  int64_t dims[CCW_MAX_RANK];
  int32_t rank = 0;
  while (!ccw_reader_accept(r, "]")) {
    if (rank > 0 && !ccw_reader_accept(r, ",")) return ccw_reader_unexpected(r, "',' or ']'");
    if (rank == CCW_MAX_RANK) return ccw_reader_invalid(r, r->at, "more than %d dims", CCW_MAX_RANK);
    CCW_TRY(ccw_reader_size(r, &dims[rank]));
    ++rank;
  }
  ccw_status status = ccw_shape_make(dtype, dims, rank, out_shape);
  return status.code ? ccw_reader_refuse(r, start, status) : status;
}

static ccw_status read_type(ccw_reader *r, int depth, ccw_type **out_type);

static ccw_status read_elements(ccw_reader *r, int depth, ccw_type *tuple)
{
  while (!ccw_reader_accept(r, ")")) {
    if (tuple->size > 0 && !ccw_reader_accept(r, ",")) return ccw_reader_unexpected(r, "',' or ')'");
    ccw_type *element;
    CCW_TRY(read_type(r, depth + 1, &element));
    CCW_TRY(append(tuple, element));
  }
  return ccw_ok();
}

static ccw_status read_type(ccw_reader *r, int depth, ccw_type **out_type)
{
  if (ccw_is_letter(ccw_reader_peek(r))) {
    ccw_shape shape;
    CCW_TRY(read_shape(r, &shape));
    return ccw_type_of_shape(&shape, out_type);
  }
  if (ccw_reader_peek(r) != '(') return ccw_reader_unexpected(r, "a dtype or '('");
  if (depth == CCW_MAX_TUPLE_DEPTH)
    return ccw_reader_invalid(r, r->at, "more than %d tuples in each other", CCW_MAX_TUPLE_DEPTH);
  ccw_reader_accept(r, "(");
  ccw_type *tuple;
  CCW_TRY(new_type(true, &tuple));
  ccw_status status = read_elements(r, depth, tuple);
  if (status.code) {
    ccw_type_release(tuple);
    return status;
  }
  *out_type = tuple;
  return ccw_ok();
}

/* Nothing may follow. */
static ccw_status read_end(ccw_reader *r)
{
  if (ccw_reader_peek(r) == '{') return ccw_reader_unexpected(r, "the end (a layout is no part of a type)");
  return r->at < r->length ? ccw_reader_unexpected(r, "the end") : ccw_ok();
}

ccw_status ccw_shape_parse(const char *text, size_t length, ccw_shape *out_shape)
{
  ccw_reader r = {"type", text, length, 0};
  ccw_shape shape;
  if (!ccw_is_letter(ccw_reader_peek(&r))) return ccw_reader_unexpected(&r, "a dtype");
  CCW_TRY(read_shape(&r, &shape));
  CCW_TRY(read_end(&r));
  *out_shape = shape;
  return ccw_ok();
}

ccw_status ccw_type_parse(const char *text, size_t length, ccw_type **out_type)
{
  ccw_reader r = {"type", text, length, 0};
  ccw_type *type;
  CCW_TRY(read_type(&r, 0, &type));
  ccw_status status = read_end(&r);
  if (status.code)
    ccw_type_release(type);
  else
    *out_type = type;
  return status;
}

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

typedef struct reader {
  const char *text;
  size_t length;
  size_t at;
} reader;

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* The next byte that is no space; NUL at the end, and for a NUL, which nothing accepts. */
static char peek(reader *r)
{
  while (r->at < r->length && (r->text[r->at] == ' ' || r->text[r->at] == '\t' || r->text[r->at] == '\n')) ++r->at;
  return r->at < r->length ? r->text[r->at] : '\0';
}

static bool accept(reader *r, char c)
{
  if (peek(r) != c) return false;
  ++r->at;
  return true;
}

/* "expected WHAT, got 'x'" and the place. */
static ccw_status unexpected(reader *r, const char *what)
{
  ccw_text text = {0};
  ccw_text_add(&text, "type: expected %s, got ", what);
  peek(r);
  if (r->at < r->length) {
    ccw_text_add(&text, "'");
    ccw_text_add_escaped(&text, r->text + r->at, 1);
    ccw_text_add(&text, "'");
  } else {
    ccw_text_add(&text, "the end");
  }
  ccw_text_add_caret(&text, r->text, r->length, r->at);
  return ccw_status_of_text(XLA_FFI_Error_Code_INVALID_ARGUMENT, &text);
}

/* A failure of a value that was read, with the place. */
static ccw_status refused(reader *r, size_t at, ccw_status why)
{
  ccw_text text = {0};
  ccw_text_add(&text, "type: %s", ccw_status_text(why));
  ccw_text_add_caret(&text, r->text, r->length, at);
  ccw_status_free(why);
  return ccw_status_of_text(why.code, &text);
}

static ccw_status read_size(reader *r, int64_t *out_size)
{
  if (!is_digit(peek(r))) return unexpected(r, "a size");
  size_t start = r->at;
  int64_t size = 0;
  for (; r->at < r->length && is_digit(r->text[r->at]); ++r->at)
    if (!ccw_mul_i64(size, 10, &size) || !ccw_add_i64(size, r->text[r->at] - '0', &size))
      return refused(r, start, ccw_out_of_range("a size of 2^63 or more"));
  *out_size = size;
  return ccw_ok();
}

/* What XLA calls a dtype of numpy, C or MLIR; NULL for other words. */
static const char *xla_name(const char *name)
{
  static const char *const names[][2] = {{"bool", "pred"}, {"i1", "pred"}, {"int", "s32"}, {"float", "f32"},
      {"double", "f64"}, {"half", "f16"}, {"bfloat16", "bf16"}, {"float16", "f16"}, {"float32", "f32"},
      {"float64", "f64"}, {"complex64", "c64"}, {"complex128", "c128"}, {"int4", "s4"}, {"int8", "s8"},
      {"int16", "s16"}, {"int32", "s32"}, {"int64", "s64"}, {"uint4", "u4"}, {"uint8", "u8"}, {"uint16", "u16"},
      {"uint32", "u32"}, {"uint64", "u64"}, {"i4", "s4"}, {"i8", "s8"}, {"i16", "s16"}, {"i32", "s32"}, {"i64", "s64"},
      {"ui8", "u8"}, {"ui16", "u16"}, {"ui32", "u32"}, {"ui64", "u64"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
    if (strcmp(names[i][0], name) == 0) return names[i][1];
  return NULL;
}

static ccw_status read_shape(reader *r, ccw_shape *out_shape)
{
  size_t start = r->at;
  while (r->at < r->length && (is_letter(r->text[r->at]) || is_digit(r->text[r->at]))) ++r->at;
  ccw_dtype dtype = ccw_dtype_from_name(r->text + start, r->at - start);
  if (dtype == XLA_FFI_DataType_INVALID) {
    ccw_text name = {0};
    ccw_text_add_bytes(&name, r->text + start, r->at - start);
    const char *meant = xla_name(ccw_text_data(&name));
    ccw_status why = meant ? ccw_invalid("no dtype is called '%s': XLA's name is %s", ccw_text_data(&name), meant)
                           : ccw_invalid("no dtype is called '%s'", ccw_text_data(&name));
    ccw_text_free(&name);
    return refused(r, start, why);
  }
  if (!accept(r, '[')) return unexpected(r, "'[', as in f32[] and f32[2,3]");

  int64_t dims[CCW_MAX_RANK];
  int32_t rank = 0;
  while (!accept(r, ']')) {
    if (rank > 0 && !accept(r, ',')) return unexpected(r, "',' or ']'");
    if (rank == CCW_MAX_RANK) return refused(r, r->at, ccw_invalid("more than %d dims", CCW_MAX_RANK));
    CCW_TRY(read_size(r, &dims[rank]));
    ++rank;
  }
  ccw_status status = ccw_shape_make(dtype, dims, rank, out_shape);
  return status.code ? refused(r, start, status) : status;
}

static ccw_status read_type(reader *r, int depth, ccw_type **out_type);

static ccw_status read_elements(reader *r, int depth, ccw_type *tuple)
{
  while (!accept(r, ')')) {
    if (tuple->size > 0 && !accept(r, ',')) return unexpected(r, "',' or ')'");
    ccw_type *element;
    CCW_TRY(read_type(r, depth + 1, &element));
    CCW_TRY(append(tuple, element));
  }
  return ccw_ok();
}

static ccw_status read_type(reader *r, int depth, ccw_type **out_type)
{
  if (is_letter(peek(r))) {
    ccw_shape shape;
    CCW_TRY(read_shape(r, &shape));
    return ccw_type_of_shape(&shape, out_type);
  }
  if (peek(r) != '(') return unexpected(r, "a dtype or '('");
  if (depth == CCW_MAX_TUPLE_DEPTH)
    return refused(r, r->at, ccw_invalid("more than %d tuples in each other", CCW_MAX_TUPLE_DEPTH));
  accept(r, '(');
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
static ccw_status read_end(reader *r)
{
  if (peek(r) == '{') return unexpected(r, "the end (a layout is no part of a type)");
  return r->at < r->length ? unexpected(r, "the end") : ccw_ok();
}

ccw_status ccw_shape_parse(const char *text, size_t length, ccw_shape *out_shape)
{
  reader r = {text, length, 0};
  ccw_shape shape;
  if (!is_letter(peek(&r))) return unexpected(&r, "a dtype");
  CCW_TRY(read_shape(&r, &shape));
  CCW_TRY(read_end(&r));
  *out_shape = shape;
  return ccw_ok();
}

ccw_status ccw_type_parse(const char *text, size_t length, ccw_type **out_type)
{
  reader r = {text, length, 0};
  ccw_type *type;
  CCW_TRY(read_type(&r, 0, &type));
  ccw_status status = read_end(&r);
  if (status.code)
    ccw_type_release(type);
  else
    *out_type = type;
  return status;
}

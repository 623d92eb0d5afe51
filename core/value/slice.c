/* Elements of a buffer in another order than they lie in: slices, and the transpose. */
#include <string.h>

#include "base/checked.h"
#include "base/text.h"
#include "value/buffer.h"
#include "value/element.h"

/* A way through the elements of a buffer, in the order in which they are wanted: like loops in each other, the outermost first. */
typedef struct walk {
  int64_t first; /* element at which it starts */
  int32_t depth;
  int64_t size[CCW_MAX_RANK];
  int64_t stride[CCW_MAX_RANK]; /* elements from one to the next where they lie */
  int64_t place[CCW_MAX_RANK];  /* the same where they go, one behind the other */
} walk;

/* Adds a loop around which there is what was added before. Two that go on evenly are one. */
static void add_loop(walk *w, int64_t size, int64_t stride)
{
  if (size == 1) return;
  int32_t outer = w->depth - 1;
  if (outer >= 0 && w->stride[outer] == size * stride) {
    w->size[outer] *= size;
    w->stride[outer] = stride;
    return;
  }
  w->size[w->depth] = size;
  w->stride[w->depth++] = stride;
}

static void set_places(walk *w)
{
  int64_t place = 1;
  for (int32_t i = w->depth - 1; i >= 0; --i) {
    w->place[i] = place;
    place *= w->size[i];
  }
}

/* One behind the other as they lie. */
static bool is_dense(const walk *w) { return w->depth == 0 || (w->depth == 1 && w->stride[0] == 1); }

/* ---- copying ------------------------------------------------------------------------------------------------------- */

/* The two innermost loops. What is read goes along the outer of them, what is written along the inner: in squares both stay
 * in the cache. */
typedef struct plane {
  int64_t rows, row_stride, row_place;
  int64_t columns, column_stride; /* columns go one behind the other */
} plane;

enum { SQUARE = 64 };

#define COPY_PLANE(type)                                                                                         \
  static void copy_plane_of_##type(const plane *p, const char *from, char *to)                                   \
  {                                                                                                              \
    const int64_t size = (int64_t)sizeof(type);                                                                  \
    for (int64_t i = 0; i < p->rows; i += SQUARE)                                                                \
      for (int64_t j = 0; j < p->columns; j += SQUARE)                                                           \
        for (int64_t r = i; r < p->rows && r < i + SQUARE; ++r)                                                  \
          for (int64_t c = j; c < p->columns && c < j + SQUARE; ++c)                                             \
            memcpy(to + (r * p->row_place + c) * size, from + (r * p->row_stride + c * p->column_stride) * size, \
                sizeof(type));                                                                                   \
  }

typedef struct pair {
  uint64_t parts[2];
} pair;

COPY_PLANE(uint8_t)
COPY_PLANE(uint16_t)
COPY_PLANE(uint32_t)
COPY_PLANE(uint64_t)
COPY_PLANE(pair)

static void copy_rows(const plane *p, int64_t size, const char *from, char *to)
{
  for (int64_t r = 0; r < p->rows; ++r)
    memcpy(to + r * p->row_place * size, from + r * p->row_stride * size, (size_t)(p->columns * size));
}

static void copy_plane(const plane *p, int bits, const char *from, char *to)
{
  if (p->column_stride == 1) {
    copy_rows(p, bits / 8, from, to);
    return;
  }
  switch (bits) {
  case 8: copy_plane_of_uint8_t(p, from, to); break;
  case 16: copy_plane_of_uint16_t(p, from, to); break;
  case 32: copy_plane_of_uint32_t(p, from, to); break;
  case 64: copy_plane_of_uint64_t(p, from, to); break;
  default: copy_plane_of_pair(p, from, to); break;
  }
}

/* Elements that are parts of bytes, one by one. */
static void copy_packed_plane(const plane *p, const ccw_buffer *from, int64_t first, ccw_buffer *to, int64_t place)
{
  for (int64_t r = 0; r < p->rows; ++r)
    for (int64_t c = 0; c < p->columns; ++c)
      ccw_element_store(ccw_buffer_data(to), place + r * p->row_place + c,
          ccw_buffer_get(from, first + r * p->row_stride + c * p->column_stride));
}

/* Has the loop that goes through neighbours where they lie be the one around the innermost. */
static void bring_neighbours_in(walk *w)
{
  for (int32_t i = 0; i + 2 < w->depth; ++i) {
    if (w->stride[i] != 1) continue;
    int64_t size = w->size[i], place = w->place[i];
    for (int32_t k = i; k + 2 < w->depth; ++k) {
      w->size[k] = w->size[k + 1];
      w->stride[k] = w->stride[k + 1];
      w->place[k] = w->place[k + 1];
    }
    w->size[w->depth - 2] = size;
    w->stride[w->depth - 2] = 1;
    w->place[w->depth - 2] = place;
    return;
  }
}

/* Copies what the walk finds in `from` to `to`, new and as large. Both are on the host. */
static void gather(walk w, const ccw_buffer *from, ccw_buffer *to)
{
  if (ccw_buffer_shape(to)->count == 0) return;
  int bits = ccw_dtype_bits(ccw_buffer_shape(to)->dtype);
  set_places(&w);
  bring_neighbours_in(&w);
  plane p = {.rows = 1, .columns = 1};
  if (w.depth > 0) {
    p.columns = w.size[w.depth - 1];
    p.column_stride = w.stride[w.depth - 1];
  }
  if (w.depth > 1) {
    p.rows = w.size[w.depth - 2];
    p.row_stride = w.stride[w.depth - 2];
    p.row_place = w.place[w.depth - 2];
  }
  int64_t at[CCW_MAX_RANK] = {0}, first = w.first, place = 0;
  for (;;) {
    if (bits < 8)
      copy_packed_plane(&p, from, first, to, place);
    else
      copy_plane(&p, bits, (const char *)ccw_buffer_data(from) + first * bits / 8,
          (char *)ccw_buffer_data(to) + place * bits / 8);
    int32_t i = w.depth - 3; /* the next plane */
    for (; i >= 0 && ++at[i] == w.size[i]; --i) {
      first -= (w.size[i] - 1) * w.stride[i];
      place -= (w.size[i] - 1) * w.place[i];
      at[i] = 0;
    }
    if (i < 0) return;
    first += w.stride[i];
    place += w.place[i];
  }
}

/* ---- slices -------------------------------------------------------------------------------------------------------- */

static ccw_status refuse(const ccw_shape *shape, int32_t dim, XLA_FFI_Error_Code code, const char *what, int64_t number)
{
  ccw_text text = {0};
  ccw_text_add(&text, "slice: dim %d of ", dim);
  ccw_shape_print(shape, &text);
  ccw_text_add(&text, ": %s %lld", what, (long long)number);
  return ccw_status_of_text(code, &text);
}

static ccw_status check_range(const ccw_shape *shape, int32_t dim, const ccw_range *range)
{
  const XLA_FFI_Error_Code invalid = XLA_FFI_Error_Code_INVALID_ARGUMENT;
  int64_t size = shape->dims[dim], last;
  if (range->count < 0) return refuse(shape, dim, invalid, "a count of", range->count);
  if (range->is_index && range->count != 1)
    return refuse(shape, dim, invalid, "an index with a count of", range->count);
  if (range->count == 0) return ccw_ok();
  if (range->step == 0) return refuse(shape, dim, invalid, "a step of", 0);
  if (range->first < 0 || range->first >= size)
    return refuse(shape, dim, XLA_FFI_Error_Code_OUT_OF_RANGE, "there is no position", range->first);
  if (!ccw_mul_i64(range->count - 1, range->step, &last) || !ccw_add_i64(last, range->first, &last))
    return refuse(shape, dim, XLA_FFI_Error_Code_OUT_OF_RANGE, "2^63 or more, by steps of", range->step);
  if (last < 0 || last >= size)
    return refuse(shape, dim, XLA_FFI_Error_Code_OUT_OF_RANGE, "there is no position", last);
  return ccw_ok();
}

/* What the slice is, and the way to it. */
static ccw_status plan(
    const ccw_shape *shape, const ccw_range *ranges, int32_t count, ccw_shape *out_shape, walk *out_walk)
{
  int64_t dims[CCW_MAX_RANK];
  int32_t rank = 0;
  if (count != shape->rank) {
    ccw_text text = {0};
    ccw_text_add(&text, "slice: expected %d ranges for ", shape->rank);
    ccw_shape_print(shape, &text);
    ccw_text_add(&text, ", got %d", count);
    return ccw_status_of_text(XLA_FFI_Error_Code_INVALID_ARGUMENT, &text);
  }
  for (int32_t i = 0; i < count; ++i) {
    CCW_TRY(check_range(shape, i, &ranges[i]));
    if (!ranges[i].is_index) dims[rank++] = ranges[i].count;
  }
  ccw_shape made;
  CCW_TRY(ccw_shape_make(shape->dtype, dims, rank, &made));
  walk w = {0};
  if (made.count > 0) { /* and all strides fit */
    int64_t stride = shape->count;
    for (int32_t i = 0; i < count; ++i) {
      stride /= shape->dims[i];
      w.first += ranges[i].first * stride;
      if (ranges[i].count > 1) add_loop(&w, ranges[i].count, ranges[i].step * stride);
    }
  }
  *out_shape = made;
  *out_walk = w;
  return ccw_ok();
}

/* A handler can be given it: at a multiple of 64 bytes, in bytes of its own. */
static bool is_presentable(const ccw_buffer *buffer)
{
  const void *data = ccw_buffer_data(buffer);
  return data && (uintptr_t)data % CCW_BUFFER_ALIGNMENT == 0;
}

/* The part of a buffer that a walk goes through, from its lowest element to its highest; the walk starts within it then. */
static ccw_status span(ccw_buffer *buffer, walk *w, ccw_buffer **out_part)
{
  int64_t low = w->first, high = w->first;
  for (int32_t i = 0; i < w->depth; ++i) *(w->stride[i] < 0 ? &low : &high) += (w->size[i] - 1) * w->stride[i];
  ccw_shape shape;
  CCW_TRY(ccw_shape_make(ccw_buffer_shape(buffer)->dtype, (int64_t[]){high - low + 1}, 1, &shape));
  CCW_TRY(ccw_buffer_view(buffer, &shape, low, out_part));
  w->first -= low;
  return ccw_ok();
}

/* A copy on another device. */
static ccw_status copy_to(const ccw_buffer *buffer, ccw_device *device, ccw_buffer **out_copy)
{
  ccw_buffer *copy;
  CCW_TRY(ccw_buffer_new_on(device, ccw_buffer_shape(buffer), "a slice", &copy));
  ccw_status status = ccw_buffer_copy(buffer, copy);
  if (status.code)
    ccw_buffer_release(copy);
  else
    *out_copy = copy;
  return status;
}

static ccw_status pack_on_host(const ccw_buffer *buffer, const walk *w, const ccw_shape *shape, ccw_buffer **out_slice)
{
  CCW_TRY(ccw_buffer_new(shape, false, out_slice));
  gather(*w, buffer, *out_slice);
  return ccw_ok();
}

/* What is on a device comes to the host, as much of it as is needed, and goes back packed. */
static ccw_status pack_on_device(ccw_buffer *buffer, walk w, const ccw_shape *shape, ccw_buffer **out_slice)
{
  ccw_buffer *part = NULL, *here = NULL, *packed = NULL;
  bool is_part = ccw_dtype_bits(shape->dtype) >= 8; /* parts of packed arrays may not end with a byte */
  ccw_status status = is_part ? span(buffer, &w, &part) : ccw_ok();
  if (!status.code) status = copy_to(is_part ? part : buffer, ccw_device_host(), &here);
  if (!status.code) status = pack_on_host(here, &w, shape, &packed);
  if (!status.code) status = copy_to(packed, ccw_buffer_device(buffer), out_slice);
  ccw_buffer_release(part);
  ccw_buffer_release(here);
  ccw_buffer_release(packed);
  return status;
}

ccw_status ccw_buffer_slice(
    ccw_buffer *buffer, const ccw_range *ranges, int32_t count, bool *out_packed, ccw_buffer **out_slice)
{
  ccw_shape shape;
  walk w;
  CCW_TRY(plan(ccw_buffer_shape(buffer), ranges, count, &shape, &w));
  if (is_dense(&w)) {
    ccw_buffer *view;
    CCW_TRY(ccw_buffer_view(buffer, &shape, w.first, &view));
    if (is_presentable(view) || shape.dtype == XLA_FFI_DataType_TOKEN) {
      *out_packed = false;
      *out_slice = view;
      return ccw_ok();
    }
    ccw_buffer_release(view);
  }
  ccw_buffer *slice;
  if (shape.count == 0)
    CCW_TRY(ccw_buffer_new_on(ccw_buffer_device(buffer), &shape, "a slice", &slice));
  else if (ccw_buffer_is_on_host(buffer))
    CCW_TRY(pack_on_host(buffer, &w, &shape, &slice));
  else
    CCW_TRY(pack_on_device(buffer, w, &shape, &slice));
  if (shape.count > 0) ccw_buffer_set_undefined(slice, ccw_buffer_is_undefined(buffer));
  *out_packed = true;
  *out_slice = slice;
  return ccw_ok();
}

ccw_status ccw_buffer_transpose(const ccw_buffer *buffer, ccw_buffer **out_buffer)
{
  const ccw_shape *shape = ccw_buffer_shape(buffer);
  int64_t dims[CCW_MAX_RANK];
  for (int32_t i = 0; i < shape->rank; ++i) dims[i] = shape->dims[shape->rank - 1 - i];
  ccw_shape turned;
  CCW_TRY(ccw_shape_make(shape->dtype, dims, shape->rank, &turned));
  walk w = {0};
  int64_t stride = 1;
  for (int32_t i = 0; turned.count > 0 && i < turned.rank; ++i) {
    add_loop(&w, turned.dims[i], stride);
    stride *= turned.dims[i];
  }
  return pack_on_host(buffer, &w, &turned, out_buffer);
}

#include "value/buffer.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/checked.h"
#include "base/mix.h"
#include "base/text.h"
#include "value/element.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

/* Memory that one or more buffers look at: behind this head in the same block, or imported. */
typedef struct storage {
  ccw_count count;
  void *memory;
  ccw_device *device;                           /* NULL: the host */
  size_t block;                                 /* bytes of the whole block */
  void (*release)(void *context, void *memory); /* of imported memory; NULL: there is nothing to do */
  void *context;
  _Atomic int64_t undefined_from, undefined_to; /* elements; none where the two are equal */
  char label[64];                               /* of memory that is lent; "" else */
  bool read_only;
  atomic_bool is_over;
  void *lender;
} storage;

struct ccw_buffer {
  ccw_count count;
  ccw_shape shape;
  int64_t first;          /* element of the storage at which the buffer starts */
  bool ends_in_neighbour; /* packed elements: its last byte holds elements behind it, too */
  storage *storage;
};

/* In a sanitized build what lies around the elements in their block may not be touched. */
#ifdef __SANITIZE_ADDRESS__
static void fence(storage *s, size_t bytes)
{
  char *start = (char *)(s + 1), *elements = s->memory, *end = elements + bytes;
  __asan_poison_memory_region(start, (size_t)(elements - start));
  __asan_poison_memory_region(end, (size_t)((char *)s + s->block - end));
}
static void unfence(storage *s) { __asan_unpoison_memory_region(s + 1, s->block - sizeof *s); }
#else
static void fence(storage *s, size_t bytes) { (void)s, (void)bytes; }
static void unfence(storage *s) { (void)s; }
#endif

static void storage_release(storage *s)
{
  if (!ccw_count_down(&s->count)) return;
  if (s->release) s->release(s->context, s->memory);
  unfence(s);
  ccw_release(s, s->block);
}

static ccw_status new_storage(size_t bytes, bool zeroed, storage **out_storage)
{
  size_t block = sizeof(storage) + CCW_BUFFER_ALIGNMENT - 1 + bytes;
  storage *s = zeroed ? ccw_allocate_zeroed(block) : ccw_allocate(block);
  if (!s) return ccw_no_memory(bytes);
  *s = (storage){.count = 1, .block = block, .memory = (void *)ccw_align((uintptr_t)(s + 1), CCW_BUFFER_ALIGNMENT)};
  fence(s, bytes);
  *out_storage = s;
  return ccw_ok();
}

/* Takes the storage over, also when it fails. */
static ccw_status new_buffer(const ccw_shape *shape, int64_t first, storage *s, ccw_buffer **out_buffer)
{
  ccw_buffer *buffer = ccw_allocate(sizeof *buffer);
  if (!buffer) {
    storage_release(s);
    return ccw_no_memory(sizeof *buffer);
  }
  *buffer = (ccw_buffer){.count = 1, .shape = *shape, .first = first, .storage = s};
  *out_buffer = buffer;
  return ccw_ok();
}

ccw_status ccw_buffer_new(const ccw_shape *shape, bool zeroed, ccw_buffer **out_buffer)
{
  storage *s;
  CCW_TRY(new_storage((size_t)shape->bytes, zeroed, &s));
  if (ccw_dtype_bits(shape->dtype) < 8 && shape->bytes > 0) ((char *)s->memory)[shape->bytes - 1] = 0; /* the padding */
  return new_buffer(shape, 0, s, out_buffer);
}

/* Memory of a device goes back to it. One that is broken has lost it already. */
static void give_back(void *device, void *memory) { ccw_status_free(ccw_device_release(device, memory)); }

ccw_status ccw_buffer_new_on(ccw_device *device, const ccw_shape *shape, const char *site, ccw_buffer **out_buffer)
{
  if (device == ccw_device_host()) return ccw_buffer_new(shape, false, out_buffer);
  storage *s = ccw_allocate(sizeof *s);
  if (!s) return ccw_no_memory(sizeof *s);
  *s = (storage){.count = 1, .device = device, .block = sizeof *s, .release = give_back, .context = device};
  ccw_status status = ccw_device_allocate(device, (size_t)shape->bytes, site, &s->memory);
  if (!status.code) return new_buffer(shape, 0, s, out_buffer);
  ccw_release(s, sizeof *s);
  return status;
}

ccw_status ccw_buffer_import(const ccw_shape *shape, void *memory, void (*release)(void *context, void *memory),
    void *context, bool *out_copied, ccw_buffer **out_buffer)
{
  ccw_buffer *buffer;
  bool copied = (uintptr_t)memory % CCW_BUFFER_ALIGNMENT != 0;
  if (copied) {
    CCW_TRY(ccw_buffer_new(shape, false, &buffer));
    memcpy(buffer->storage->memory, memory, (size_t)shape->bytes);
    if (release) release(context, memory);
  } else {
    storage *s = ccw_allocate(sizeof *s);
    if (!s) return ccw_no_memory(sizeof *s);
    *s = (storage){.count = 1, .memory = memory, .block = sizeof *s};
    CCW_TRY(new_buffer(shape, 0, s, &buffer));
    s->release = release; /* not before nothing can fail any more */
    s->context = context;
  }
  *out_copied = copied;
  *out_buffer = buffer;
  return ccw_ok();
}

ccw_status ccw_buffer_lend(ccw_device *device, const ccw_shape *shape, void *memory, const char *label, bool read_only,
    void *lender, ccw_buffer **out_buffer)
{
  storage *s = ccw_allocate(sizeof *s);
  if (!s) return ccw_no_memory(sizeof *s);
  *s = (storage){.count = 1, .memory = memory, .block = sizeof *s, .read_only = read_only, .lender = lender};
  if (device != ccw_device_host()) s->device = device;
  snprintf(s->label, sizeof s->label, "%s", label);
  return new_buffer(shape, 0, s, out_buffer);
}

void ccw_buffer_recall(ccw_buffer *buffer) { buffer->storage->is_over = true; }

ccw_loan ccw_buffer_loan(const ccw_buffer *buffer)
{
  const storage *s = buffer->storage;
  return (ccw_loan){s->label, s->read_only, s->is_over, s->lender};
}

ccw_status ccw_buffer_view(ccw_buffer *buffer, const ccw_shape *shape, int64_t first, ccw_buffer **out_view)
{
  if (shape->dtype != buffer->shape.dtype)
    return ccw_invalid("view: expected %s, got %s", ccw_dtype_name(buffer->shape.dtype), ccw_dtype_name(shape->dtype));
  if (first < 0 || first > buffer->shape.count || shape->count > buffer->shape.count - first)
    return ccw_out_of_range("view: %lld elements from %lld on do not lie within %lld", (long long)shape->count,
        (long long)first, (long long)buffer->shape.count);
  ccw_count_up(&buffer->storage->count);
  CCW_TRY(new_buffer(shape, buffer->first + first, buffer->storage, out_view));
  int64_t end = first + shape->count;
  (*out_view)->ends_in_neighbour = (buffer->first + end) * ccw_dtype_bits(shape->dtype) % 8 != 0 &&
                                   (end < buffer->shape.count || buffer->ends_in_neighbour);
  return ccw_ok();
}

ccw_status ccw_buffer_reshape(ccw_buffer *buffer, const ccw_shape *shape, ccw_buffer **out_view)
{
  if (shape->dtype == buffer->shape.dtype && shape->count == buffer->shape.count)
    return ccw_buffer_view(buffer, shape, 0, out_view);
  ccw_text text = {0};
  ccw_text_add(&text, "reshape: expected %lld elements of %s, got ", (long long)buffer->shape.count,
      ccw_dtype_name(buffer->shape.dtype));
  ccw_shape_print(shape, &text);
  return ccw_status_of_text(XLA_FFI_Error_Code_INVALID_ARGUMENT, &text);
}

ccw_buffer *ccw_buffer_retain(ccw_buffer *buffer)
{
  ccw_count_up(&buffer->count);
  return buffer;
}

void ccw_buffer_release(ccw_buffer *buffer)
{
  if (!buffer || !ccw_count_down(&buffer->count)) return;
  storage_release(buffer->storage);
  ccw_release(buffer, sizeof *buffer);
}

const ccw_shape *ccw_buffer_shape(const ccw_buffer *buffer) { return &buffer->shape; }

ccw_device *ccw_buffer_device(const ccw_buffer *buffer)
{
  ccw_device *device = buffer->storage->device;
  return device ? device : ccw_device_host();
}

bool ccw_buffer_is_on_host(const ccw_buffer *buffer) { return !buffer->storage->device; }

void *ccw_buffer_data(const ccw_buffer *buffer)
{
  int64_t bits = buffer->first * ccw_dtype_bits(buffer->shape.dtype);
  if (buffer->shape.dtype == XLA_FFI_DataType_TOKEN || bits % 8 != 0 || buffer->ends_in_neighbour) return NULL;
  return (char *)buffer->storage->memory + bits / 8;
}

/* What is undefined is one range: what lies between two such ranges counts as undefined, too. */
static void set_undefined(storage *s, int64_t first, int64_t end, bool undefined)
{
  int64_t from = s->undefined_from, to = s->undefined_to;
  if (first == end || (!undefined && from == to)) return;
  if (undefined && from == to)
    from = first, to = end;
  else if (undefined)
    from = from < first ? from : first, to = to > end ? to : end;
  else if (first <= from && to <= end)
    from = to = 0;
  else if (first <= from && from < end)
    from = end;
  else if (first < to && to <= end)
    to = first;
  s->undefined_from = from;
  s->undefined_to = to;
}

void ccw_buffer_set_undefined(ccw_buffer *buffer, bool undefined)
{
  set_undefined(buffer->storage, buffer->first, buffer->first + buffer->shape.count, undefined);
}

bool ccw_buffer_is_undefined(const ccw_buffer *buffer)
{
  const storage *s = buffer->storage;
  int64_t from = s->undefined_from, to = s->undefined_to;
  return from < to && buffer->first < to && from < buffer->first + buffer->shape.count;
}

bool ccw_buffer_overlaps(const ccw_buffer *a, const ccw_buffer *b)
{
  if (a->shape.bytes == 0 || b->shape.bytes == 0) return false;
  /* In bytes of memory rather than by storage: two imports may be one memory. */
  const ccw_buffer *sides[2] = {a, b};
  uintptr_t start[2], end[2];
  for (int i = 0; i < 2; ++i) {
    int64_t bits = ccw_dtype_bits(sides[i]->shape.dtype), first = sides[i]->first * bits;
    start[i] = (uintptr_t)sides[i]->storage->memory + (uintptr_t)(first / 8);
    end[i] = (uintptr_t)sides[i]->storage->memory + (uintptr_t)((first + sides[i]->shape.count * bits + 7) / 8);
  }
  return start[0] < end[1] && start[1] < end[0];
}

/* ---- elements ------------------------------------------------------------------------------------------------------ */

ccw_scalar ccw_buffer_get(const ccw_buffer *buffer, int64_t i)
{
  return ccw_element_load(buffer->shape.dtype, buffer->storage->memory, buffer->first + i);
}

ccw_status ccw_buffer_fetch(const ccw_buffer *buffer, int64_t i, ccw_scalar *out_scalar)
{
  ccw_dtype dtype = buffer->shape.dtype;
  int64_t bits = ccw_dtype_bits(dtype), from = (buffer->first + i) * bits;
  unsigned char bytes[16] = {0}; /* of the widest element */
  if (ccw_buffer_is_on_host(buffer)) {
    *out_scalar = ccw_buffer_get(buffer, i);
    return ccw_ok();
  }
  const char *memory = (const char *)buffer->storage->memory + from / 8;
  CCW_TRY(ccw_device_copy(ccw_device_host(), bytes, buffer->storage->device, memory, (size_t)(bits + 7) / 8));
  *out_scalar = ccw_element_load(dtype, bytes, bits < 8 ? from % 8 / bits : 0);
  return ccw_ok();
}

static void put(ccw_buffer *buffer, int64_t i, ccw_scalar converted)
{
  ccw_element_store(buffer->storage->memory, buffer->first + i, converted);
}

ccw_status ccw_buffer_set(ccw_buffer *buffer, int64_t i, ccw_scalar scalar)
{
  ccw_scalar converted;
  CCW_TRY(ccw_scalar_convert(scalar, buffer->shape.dtype, &converted));
  put(buffer, i, converted);
  set_undefined(buffer->storage, buffer->first + i, buffer->first + i + 1, false);
  return ccw_ok();
}

ccw_status ccw_buffer_fill(ccw_buffer *buffer, ccw_scalar scalar)
{
  ccw_scalar converted;
  CCW_TRY(ccw_scalar_convert(scalar, buffer->shape.dtype, &converted));
  for (int64_t i = 0; i < buffer->shape.count; ++i) put(buffer, i, converted);
  ccw_buffer_set_undefined(buffer, false);
  return ccw_ok();
}

/* Elements between two neighbours of that dim. */
static int64_t stride_of(const ccw_shape *shape, int32_t dim)
{
  int64_t stride = 1;
  for (int32_t i = dim + 1; i < shape->rank; ++i) stride *= shape->dims[i];
  return stride;
}

ccw_status ccw_buffer_iota(ccw_buffer *buffer, int32_t dim)
{
  const ccw_shape *shape = &buffer->shape;
  if (dim >= shape->rank) return ccw_invalid("iota: dim %d of rank %d", dim, shape->rank);
  if (shape->count == 0) return ccw_ok(); /* where the product of some extents may not fit */
  int64_t stride = dim < 0 ? 1 : stride_of(shape, dim), size = dim < 0 ? shape->count : shape->dims[dim];
  ccw_scalar position = {.dtype = XLA_FFI_DataType_S64, .as.s = size - 1}, converted;
  CCW_TRY(ccw_scalar_convert(position, shape->dtype, &converted));
  for (int64_t i = 0; i < shape->count; ++i) {
    position.as.s = i / stride % size;
    CCW_TRY(ccw_scalar_convert(position, shape->dtype, &converted));
    put(buffer, i, converted);
  }
  return ccw_ok();
}

static ccw_status no_numbers(ccw_scalar low, ccw_scalar high)
{
  ccw_text text = {0};
  ccw_text_add(&text, "random: no numbers from ");
  ccw_scalar_print(low, &text);
  ccw_text_add(&text, " to ");
  ccw_scalar_print(high, &text);
  return ccw_status_of_text(XLA_FFI_Error_Code_INVALID_ARGUMENT, &text);
}

/* A bound as a double, where the float or complex dtype has a finite number for it. */
static ccw_status to_bound(ccw_scalar bound, ccw_dtype dtype, double *out_bound)
{
  ccw_scalar wide, narrow;
  CCW_TRY(ccw_scalar_convert(bound, XLA_FFI_DataType_F64, &wide));
  CCW_TRY(ccw_scalar_convert(wide, dtype, &narrow));
  if (!isfinite(ccw_dtype_class(dtype) == CCW_CLASS_COMPLEX ? narrow.as.c[0] : narrow.as.f))
    return ccw_out_of_range("random: %g does not fit in %s", wide.as.f, ccw_dtype_name(dtype));
  *out_bound = wide.as.f;
  return ccw_ok();
}

static ccw_status random_floats(ccw_buffer *buffer, uint64_t seed, ccw_scalar low, ccw_scalar high)
{
  ccw_dtype dtype = buffer->shape.dtype;
  double from, to;
  CCW_TRY(to_bound(low, dtype, &from));
  CCW_TRY(to_bound(high, dtype, &to));
  if (!(from <= to) || !isfinite(to - from)) return no_numbers(low, high);
  for (int64_t i = 0; i < buffer->shape.count; ++i) {
    uint64_t bits = ccw_mix(seed ^ ccw_mix((uint64_t)i)); /* 53 of them make a number from 0 up to 1 */
    double re = from + (double)(bits >> 11) * 0x1p-53 * (to - from);
    double im = from + (double)(ccw_mix(bits) >> 11) * 0x1p-53 * (to - from);
    ccw_scalar number = {.dtype = XLA_FFI_DataType_F64, .as.f = re}, converted;
    if (ccw_dtype_class(dtype) == CCW_CLASS_COMPLEX)
      number = (ccw_scalar){.dtype = XLA_FFI_DataType_C128, .as.c = {re, im}};
    CCW_TRY(ccw_scalar_convert(number, dtype, &converted));
    put(buffer, i, converted);
  }
  return ccw_ok();
}

static ccw_status random_integers(ccw_buffer *buffer, uint64_t seed, ccw_scalar low, ccw_scalar high)
{
  __extension__ typedef unsigned __int128 wide;
  bool pred = buffer->shape.dtype == XLA_FFI_DataType_PRED;
  ccw_dtype dtype = pred ? XLA_FFI_DataType_U1 : buffer->shape.dtype;
  ccw_scalar from, to;
  CCW_TRY(ccw_scalar_convert(low, dtype, &from));
  CCW_TRY(ccw_scalar_convert(high, dtype, &to));
  bool is_signed = ccw_dtype_class(dtype) == CCW_CLASS_SIGNED;
  if (is_signed ? from.as.s > to.as.s : from.as.u > to.as.u) return no_numbers(low, high);
  wide count = (wide)(to.as.u - from.as.u) + 1;
  for (int64_t i = 0; i < buffer->shape.count; ++i) {
    uint64_t bits = ccw_mix(seed ^ ccw_mix((uint64_t)i));
    ccw_scalar number = {.dtype = dtype, .as.u = from.as.u + (uint64_t)(bits * count >> 64)};
    if (pred) number = (ccw_scalar){.dtype = XLA_FFI_DataType_PRED, .as.pred = number.as.u != 0};
    put(buffer, i, number);
  }
  return ccw_ok();
}

ccw_status ccw_buffer_random(ccw_buffer *buffer, uint64_t seed, ccw_scalar low, ccw_scalar high)
{
  switch (ccw_dtype_class(buffer->shape.dtype)) {
  case CCW_CLASS_FLOAT:
  case CCW_CLASS_COMPLEX: return random_floats(buffer, seed, low, high);
  case CCW_CLASS_TOKEN: return ccw_invalid("random: a token holds nothing");
  default: return random_integers(buffer, seed, low, high);
  }
}

void ccw_buffer_print_index(const ccw_buffer *buffer, int64_t i, ccw_text *text)
{
  for (int32_t dim = 0; dim < buffer->shape.rank; ++dim)
    ccw_text_add(text, "[%lld]", (long long)(i / stride_of(&buffer->shape, dim) % buffer->shape.dims[dim] + 1));
}

/* "element [1][3]: " in front of a failure. */
static ccw_status at_element(const ccw_buffer *buffer, int64_t i, ccw_status status)
{
  ccw_text place = {0};
  ccw_text_add(&place, "element ");
  ccw_buffer_print_index(buffer, i, &place);
  status = ccw_status_in(status, ccw_text_data(&place));
  ccw_text_free(&place);
  return status;
}

ccw_status ccw_buffer_cast(const ccw_buffer *buffer, ccw_dtype dtype, ccw_buffer **out_buffer)
{
  ccw_shape shape;
  CCW_TRY(ccw_shape_make(dtype, buffer->shape.dims, buffer->shape.rank, &shape));
  ccw_buffer *cast;
  CCW_TRY(ccw_buffer_new(&shape, false, &cast));
  for (int64_t i = 0; i < shape.count; ++i) {
    ccw_status status = ccw_buffer_set(cast, i, ccw_buffer_get(buffer, i));
    if (status.code) {
      ccw_buffer_release(cast);
      return at_element(buffer, i, status);
    }
  }
  *out_buffer = cast;
  return ccw_ok();
}

/* Parts of bytes: the neighbours' bits stay. From the end where that is in front of what is overwritten. */
static void copy_elements(const ccw_buffer *from, ccw_buffer *to)
{
  bool backward = from->storage->memory == to->storage->memory && from->first < to->first;
  int64_t count = from->shape.count;
  for (int64_t i = 0; i < count; ++i) {
    int64_t k = backward ? count - 1 - i : i;
    put(to, k, ccw_buffer_get(from, k));
  }
}

ccw_status ccw_buffer_copy(const ccw_buffer *from, ccw_buffer *to)
{
  if (from->shape.dtype != to->shape.dtype || from->shape.count != to->shape.count) {
    ccw_text text = {0};
    ccw_text_add(&text, "copy: expected ");
    ccw_shape_print(&to->shape, &text);
    ccw_text_add(&text, ", got ");
    ccw_shape_print(&from->shape, &text);
    return ccw_status_of_text(XLA_FFI_Error_Code_INVALID_ARGUMENT, &text);
  }
  void *source = ccw_buffer_data(from), *target = ccw_buffer_data(to);
  int64_t bits = ccw_dtype_bits(from->shape.dtype);
  if (!ccw_buffer_is_on_host(from) || !ccw_buffer_is_on_host(to)) {
    if (from->shape.bytes > 0 && (!source || !target))
      return ccw_invalid("copy: a view that shares a byte with its neighbours cannot leave the host, or a device");
    CCW_TRY(ccw_device_copy(ccw_buffer_device(to), target, ccw_buffer_device(from), source, (size_t)from->shape.bytes));
  } else if (source && target && from->shape.count * bits % 8 == 0)
    memmove(target, source, (size_t)from->shape.bytes);
  else if (bits > 0)
    copy_elements(from, to);
  ccw_buffer_set_undefined(to, ccw_buffer_is_undefined(from));
  return ccw_ok();
}

ccw_status ccw_buffer_check(const ccw_buffer *buffer)
{
  if (buffer->shape.dtype != XLA_FFI_DataType_PRED) return ccw_ok();
  const unsigned char *bytes = ccw_buffer_data(buffer);
  for (int64_t i = 0; i < buffer->shape.count; ++i)
    if (bytes[i] > 1) return at_element(buffer, i, ccw_data_loss("a pred is 0 or 1, this byte is %d", bytes[i]));
  return ccw_ok();
}

ccw_summary ccw_buffer_summarize(const ccw_buffer *buffer)
{
  ccw_summary summary = {.min = NAN, .max = NAN, .mean = NAN};
  ccw_class class = ccw_dtype_class(buffer->shape.dtype);
  if (class == CCW_CLASS_TOKEN) return summary;
  long double sum = 0; /* of f64 the sum may pass what f64 holds */
  for (int64_t i = 0; i < buffer->shape.count; ++i) {
    ccw_scalar scalar = ccw_buffer_get(buffer, i), number;
    double x;
    if (class == CCW_CLASS_COMPLEX) {
      x = isnan(scalar.as.c[0]) || isnan(scalar.as.c[1]) ? NAN : 0;
    } else {
      ccw_status status = ccw_scalar_convert(scalar, XLA_FFI_DataType_F64, &number);
      ccw_status_free(status); /* every real number converts to f64 */
      x = number.as.f;
    }
    if (isnan(x)) {
      ++summary.nans;
      continue;
    }
    if (summary.numbers++ == 0) summary.min = summary.max = x;
    if (x < summary.min) summary.min = x;
    if (x > summary.max) summary.max = x;
    sum += x;
  }
  if (class == CCW_CLASS_COMPLEX)
    summary.min = summary.max = NAN;
  else if (summary.numbers > 0)
    summary.mean = (double)(sum / (long double)summary.numbers);
  return summary;
}

/* Buffers: arrays in memory. */
#include "glue.h"

#include <stdatomic.h>
#include <string.h>

/* The user value of a box: what keeps imported memory alive. */
enum { OWNER = 1 };

ccw_buffer *check_buffer(lua_State *L, int index)
{
  void **box = check_kind(L, index, CCW_BUFFER);
  if (!box[0] && box[1])
    luaL_error(L, "a handler's operand or result: the call that it belonged to is over; keep its copy()");
  ccw_buffer *buffer = check_box(L, index, CCW_BUFFER);
  ccw_loan loan = ccw_buffer_loan(buffer);
  if (loan.is_over) luaL_error(L, "%s: the call that it belonged to is over; keep its copy()", loan.label);
  if (*loan.label) check_lender(L, &loan);
  return buffer;
}

void hold_buffer(ccw_buffer *buffer)
{
  ccw_loan loan = ccw_buffer_loan(buffer);
  if (*loan.label) hold_lender(loan.lender);
  ccw_buffer_retain(buffer);
}

void let_go_of_buffer(ccw_buffer *buffer)
{
  ccw_loan loan = ccw_buffer_loan(buffer);
  bool is_lent = *loan.label; /* which may not be there any more in a moment */
  ccw_buffer_release(buffer);
  if (is_lent) let_go_of_lender(loan.lender);
}

/* The buffer at that index, to be written. */
static ccw_buffer *check_writable(lua_State *L, int index)
{
  ccw_buffer *buffer = check_buffer(L, index);
  ccw_loan loan = ccw_buffer_loan(buffer);
  if (loan.read_only) luaL_error(L, "%s: operands are read only", loan.label);
  return buffer;
}

/* The buffer, whose elements are to be had here. */
static ccw_buffer *check_here(lua_State *L, ccw_buffer *buffer)
{
  if (ccw_buffer_device(buffer) != ccw_device_host())
    luaL_error(L, "this buffer is on %s: its elements are to be had from x:to \"host\"",
        ccw_device_name(ccw_buffer_device(buffer)));
  return buffer;
}

/* The buffer at that index, whose elements are to be written. */
static ccw_buffer *check_writable_here(lua_State *L, int index) { return check_here(L, check_writable(L, index)); }

/* The buffer at an index, to be read: what a call that failed has left there is nothing. */
static ccw_buffer *check_defined(lua_State *L, int index)
{
  ccw_buffer *buffer = check_buffer(L, index);
  if (ccw_buffer_is_undefined(buffer))
    raise_status(L, ccw_failed_precondition("undefined: the call that was to write it failed"), NULL, NULL);
  return buffer;
}

/* The same, by its elements. */
static ccw_buffer *check_elements(lua_State *L, int index) { return check_here(L, check_defined(L, index)); }

/* "arg 0 'x': " for the operand of a handler, "" for other buffers; a string of Lua's. */
static const char *push_label(lua_State *L, const ccw_buffer *buffer)
{
  const char *label = ccw_buffer_loan(buffer).label;
  return *label ? lua_pushfstring(L, "%s: ", label) : "";
}

/* Lua sees a buffer as a few bytes. When the memory in use has doubled since the last full collection, and by more than
 * 64 MiB, there may be much to find. */
void collect_before(lua_State *L, int64_t bytes)
{
  static _Atomic int64_t after_last; /* shared by all states, as the memory is */
  enum { SLACK = 64 << 20 };
  if (bytes < 4096 || ccw_memory_in_use().bytes + bytes < 2 * after_last + SLACK) return;
  lua_gc(L, LUA_GCCOLLECT);
  after_last = ccw_memory_in_use().bytes;
}

/* What a new buffer is to be. */
typedef struct wanted {
  ccw_shape shape;
  bool zeroed;        /* on the host */
  ccw_device *device; /* NULL: the host */
  const char *site;
} wanted;

static ccw_status make(const wanted *w, ccw_buffer **out_buffer)
{
  return w->device ? ccw_buffer_new_on(w->device, &w->shape, w->site, out_buffer)
                   : ccw_buffer_new(&w->shape, w->zeroed, out_buffer);
}

/* Whether memory is what is missing: a device may have been told to fail. */
static bool is_missing(const wanted *w)
{
  return !w->device || ccw_device_describe(w->device).memory_free < w->shape.bytes;
}

static void push_new(lua_State *L, const wanted *w)
{
  collect_before(L, w->shape.bytes);
  void **box = new_box(L, CCW_BUFFER);
  ccw_status status = make(w, (ccw_buffer **)box);
  if (status.code == XLA_FFI_Error_Code_RESOURCE_EXHAUSTED && is_missing(w)) { /* perhaps garbage holds it */
    ccw_status_free(status);
    lua_gc(L, LUA_GCCOLLECT);
    status = make(w, (ccw_buffer **)box);
  }
  if (status.code) raise_status(L, status, NULL, NULL);
}

/* buffer(type [, zeroed [, device [, site]]]) -> buffer, or nil for a tuple. With arbitrary content unless zeroed is true and it is on
 * the host. */
static int buffer_new(lua_State *L)
{
  wanted w = {.zeroed = lua_toboolean(L, 2)};
  if (!to_shape(L, 1, &w.shape)) return 0;
  if (!lua_isnoneornil(L, 3)) w.device = check_device(L, 3);
  w.site = luaL_optstring(L, 4, NULL);
  push_new(L, &w);
  return 1;
}

/* copy_to(buffer, device, site) -> buffer. A copy there. */
static int buffer_copy_to(lua_State *L)
{
  wanted w = {.shape = *ccw_buffer_shape(check_defined(L, 1)),
      .device = check_device(L, 2),
      .site = luaL_optstring(L, 3, NULL)};
  push_new(L, &w);
  ccw_buffer *from = check_buffer(L, 1), *to = check_buffer(L, -1);
  owner *o = owner_of(L);
  hold_buffer(from);
  hold_buffer(to);
  int depth = owner_give_up(o);
  ccw_status status = ccw_buffer_copy(from, to);
  owner_take_back(o, depth);
  let_go_of_buffer(from);
  let_go_of_buffer(to);
  CHECK_STATUS(L, status);
  return 1;
}

/* device_of(buffer) -> device. */
static int buffer_device(lua_State *L)
{
  push_device(L, ccw_buffer_device(check_buffer(L, 1)));
  return 1;
}

/* ccw.import(type, address [, owner]) -> buffer, copied. A buffer over memory of somebody else, at an address given as
 * an integer or a light userdata; owner is any value that keeps the memory alive. Memory that does not start at a multiple
 * of 64 bytes is copied, and the second result is true then. Nothing can check the address. */
static int buffer_import(lua_State *L)
{
  const ccw_shape *shape = check_shape(L, 1);
  void *memory =
      lua_islightuserdata(L, 2) ? lua_touserdata(L, 2) : (void *)(uintptr_t)check_integer(L, 2, 0, INT64_MAX);
  luaL_argcheck(L, memory != NULL, 2, "the address is NULL");
  luaL_argcheck(L, shape->dtype != XLA_FFI_DataType_TOKEN, 1, "a token has no memory");
  lua_settop(L, 3);
  bool copied;
  void **box = new_box(L, CCW_BUFFER);
  CHECK_STATUS(L, ccw_buffer_import(shape, memory, NULL, NULL, &copied, (ccw_buffer **)box));
  lua_pushvalue(L, 3);
  lua_setiuservalue(L, -2, OWNER);
  lua_pushboolean(L, copied);
  return 2;
}

/* ---- elements ------------------------------------------------------------------------------------------------------ */

/* The element or row at an index counted from 1; -1 for one past the end, which ends ipairs. */
static int64_t check_index(lua_State *L, const ccw_buffer *buffer, bool end_is_fine)
{
  const ccw_shape *shape = ccw_buffer_shape(buffer);
  int is_integer;
  lua_Integer i = lua_tointegerx(L, 2, &is_integer);
  if (shape->rank == 0) luaL_error(L, "%srank 0 has no index: use item()", push_label(L, buffer));
  if (!is_integer) luaL_error(L, "%san index is an integer, this is %f", push_label(L, buffer), lua_tonumber(L, 2));
  if (end_is_fine && i >= 1 && i - 1 == shape->dims[0]) return -1;
  if (i < 1 || i > shape->dims[0])
    luaL_error(L, "%sindex %I is outside 1 to %I", push_label(L, buffer), i, (lua_Integer)shape->dims[0]);
  return i - 1;
}

/* A view of the buffer at index 1, which is asked for after the box: making a box may run finalizers, which may close. */
static void push_view(lua_State *L, const ccw_shape *shape, int64_t first)
{
  void **box = new_box(L, CCW_BUFFER);
  ccw_status status = ccw_buffer_view(check_buffer(L, 1), shape, first, (ccw_buffer **)box);
  if (status.code) raise_status(L, status, NULL, NULL);
  lua_getiuservalue(L, 1, OWNER);
  lua_setiuservalue(L, -2, OWNER);
}

static int push_row(lua_State *L, ccw_buffer *buffer, int64_t row)
{
  const ccw_shape *shape = ccw_buffer_shape(buffer);
  ccw_shape row_shape;
  CHECK_STATUS(L, ccw_shape_make(shape->dtype, shape->dims + 1, shape->rank - 1, &row_shape));
  push_view(L, &row_shape, row * row_shape.count);
  return 1;
}

static int push_flat(lua_State *L, ccw_buffer *buffer)
{
  ccw_shape flat;
  CHECK_STATUS(L, ccw_shape_make(ccw_buffer_shape(buffer)->dtype, &ccw_buffer_shape(buffer)->count, 1, &flat));
  push_view(L, &flat, 0);
  return 1;
}

/* Fields besides the methods: dtype, type, rank, count, dims, flat (all elements as rank 1, sharing the memory), address, device
 * (its name). */
static int push_field(lua_State *L, ccw_buffer *buffer, const char *field)
{
  const ccw_shape *shape = ccw_buffer_shape(buffer);
  if (strcmp(field, "dims") == 0) {
    ccw_shape copy = *shape; /* making the list may run a finalizer, which may close */
    push_dims(L, &copy);
    return 1;
  }
  if (strcmp(field, "flat") == 0 && shape->dtype != XLA_FFI_DataType_TOKEN) return push_flat(L, buffer);
  if (strcmp(field, "dtype") == 0) {
    lua_pushstring(L, ccw_dtype_name(shape->dtype));
  } else if (strcmp(field, "rank") == 0) {
    lua_pushinteger(L, shape->rank);
  } else if (strcmp(field, "count") == 0) {
    lua_pushinteger(L, shape->count);
  } else if (strcmp(field, "device") == 0) {
    lua_pushstring(L, ccw_device_name(ccw_buffer_device(buffer)));
  } else if (strcmp(field, "address") == 0) {
    lua_pushinteger(L, (lua_Integer)(uintptr_t)ccw_buffer_data(buffer));
  } else if (strcmp(field, "type") == 0) {
    ccw_text text = {0};
    ccw_shape_print(shape, &text);
    return push_text(L, &text);
  } else {
    lua_pushnil(L);
  }
  return 1;
}

static int buffer_index(lua_State *L)
{
  check_kind(L, 1, CCW_BUFFER);
  if (lua_type(L, 2) == LUA_TNUMBER) {
    ccw_buffer *buffer = check_buffer(L, 1);
    const ccw_shape *shape = ccw_buffer_shape(buffer);
    int64_t i = check_index(L, buffer, true);
    if (i < 0)
      lua_pushnil(L);
    else if (shape->rank == 1)
      push_scalar(L, ccw_buffer_get(check_elements(L, 1), i));
    else
      return push_row(L, buffer, i);
    return 1;
  }
  lua_getmetatable(L, 1);
  lua_getfield(L, -1, "methods");
  lua_pushvalue(L, 2);
  if (lua_rawget(L, -2) != LUA_TNIL) return 1;
  return push_field(L, check_buffer(L, 1), lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "");
}

static bool is_complex(const ccw_buffer *buffer)
{
  return ccw_dtype_class(ccw_buffer_shape(buffer)->dtype) == CCW_CLASS_COMPLEX;
}

/* The number, or for complex elements the pair {re, im}, at an index. */
static bool to_element(lua_State *L, int index, const ccw_buffer *buffer, ccw_scalar *out_scalar)
{
  if (to_scalar(L, index, out_scalar)) return true;
  if (!is_complex(buffer) || lua_type(L, index) != LUA_TTABLE || lua_rawlen(L, index) != 2) return false;
  ccw_scalar pair = {.dtype = XLA_FFI_DataType_C128};
  for (int part = 0; part < 2; ++part) {
    lua_rawgeti(L, index, part + 1);
    bool is_number = lua_type(L, -1) == LUA_TNUMBER;
    pair.as.c[part] = is_number ? lua_tonumber(L, -1) : 0;
    lua_pop(L, 1);
    if (!is_number) return false;
  }
  *out_scalar = pair;
  return true;
}

/* Pushes "expected number, got table". */
static const char *push_expected(lua_State *L, int index, const ccw_buffer *buffer)
{
  return lua_pushfstring(
      L, "expected %s, got %s", is_complex(buffer) ? "number or {re, im}" : "number", kind_name(L, index));
}

static int buffer_newindex(lua_State *L)
{
  ccw_buffer *buffer = check_writable_here(L, 1);
  const ccw_shape *shape = ccw_buffer_shape(buffer);
  if (lua_type(L, 2) != LUA_TNUMBER)
    return luaL_error(L, "elements are set by their number, this is a %s", kind_name(L, 2));
  int64_t i = check_index(L, buffer, false);
  if (shape->rank > 1)
    return luaL_error(L, "%s[%I] is a row: write its elements, or fill() it", push_label(L, buffer), i + 1);
  ccw_scalar scalar;
  if (!to_element(L, 3, buffer, &scalar))
    return luaL_error(L, "%selement [%I]: %s", push_label(L, buffer), i + 1, push_expected(L, 3, buffer));
  if (push_problem(L, ccw_buffer_set(buffer, i, scalar)) == 0) return 0;
  const char *problem = lua_tostring(L, -1);
  return luaL_error(L, "%selement [%I]: %s", push_label(L, buffer), i + 1, problem);
}

static int buffer_len(lua_State *L)
{
  const ccw_shape *shape = ccw_buffer_shape(check_buffer(L, 1));
  if (shape->rank == 0) return luaL_error(L, "rank 0 has no length");
  lua_pushinteger(L, shape->dims[0]);
  return 1;
}

/* For pairs: the index after this one, and its element or row; nothing at the end. */
static int next_element(lua_State *L)
{
  const ccw_shape *shape = ccw_buffer_shape(check_buffer(L, 1));
  lua_Integer i = luaL_optinteger(L, 2, 0);
  if (shape->rank == 0 || i < 0 || i >= shape->dims[0]) return 0;
  lua_settop(L, 1);
  lua_pushinteger(L, i + 1);
  buffer_index(L);
  lua_pushinteger(L, i + 1);
  lua_insert(L, -2);
  return 2;
}

static int buffer_pairs(lua_State *L)
{
  check_buffer(L, 1);
  lua_pushcfunction(L, next_element);
  lua_pushvalue(L, 1);
  return 2;
}

/* get(buffer, k) -> element. Counted from 0 over all elements, row-major. */
static int get_element(lua_State *L)
{
  ccw_buffer *buffer = check_elements(L, 1);
  push_scalar(L, ccw_buffer_get(buffer, check_integer(L, 2, 0, ccw_buffer_shape(buffer)->count - 1)));
  return 1;
}

/* put(buffer, k, element) -> nil, or why not. For those who know better where the element came from. */
static int put_element(lua_State *L)
{
  ccw_buffer *buffer = check_writable_here(L, 1);
  int64_t k = check_integer(L, 2, 0, ccw_buffer_shape(buffer)->count - 1);
  ccw_scalar scalar;
  if (!to_element(L, 3, buffer, &scalar)) {
    push_expected(L, 3, buffer);
    return 1;
  }
  return push_problem(L, ccw_buffer_set(buffer, k, scalar));
}

/* index_text(buffer, k) -> string. "[1][3]": how Lua reads the element, counted from 0 here. */
static int index_text(lua_State *L)
{
  ccw_buffer *buffer = check_buffer(L, 1);
  ccw_text text = {0};
  ccw_buffer_print_index(buffer, check_integer(L, 2, 0, ccw_buffer_shape(buffer)->count - 1), &text);
  return push_text(L, &text);
}

/* element_text(buffer, k) -> string. The element as people write it, counted from 0. */
static int element_text(lua_State *L)
{
  ccw_buffer *buffer = check_buffer(L, 1);
  ccw_text text = {0};
  ccw_scalar element;
  CHECK_STATUS(L, ccw_buffer_fetch(buffer, check_integer(L, 2, 0, ccw_buffer_shape(buffer)->count - 1), &element));
  ccw_scalar_print(element, &text);
  return push_text(L, &text);
}

/* ---- methods ------------------------------------------------------------------------------------------------------- */

/* buffer:item() -> element. The only element of an array that has one, whatever its rank. */
static int buffer_item(lua_State *L)
{
  ccw_buffer *buffer = check_elements(L, 1);
  if (ccw_buffer_shape(buffer)->dtype == XLA_FFI_DataType_TOKEN) return luaL_error(L, "item: a token has no element");
  if (ccw_buffer_shape(buffer)->count != 1)
    return luaL_error(
        L, "item: expected exactly one element, there are %I", (lua_Integer)ccw_buffer_shape(buffer)->count);
  push_scalar(L, ccw_buffer_get(buffer, 0));
  return 1;
}

/* buffer:fill(number) -> buffer. Every element becomes the number. */
static int buffer_fill(lua_State *L)
{
  ccw_buffer *buffer = check_writable_here(L, 1);
  ccw_scalar scalar;
  if (!to_element(L, 2, buffer, &scalar)) return luaL_argerror(L, 2, push_expected(L, 2, buffer));
  ccw_status status = ccw_buffer_fill(buffer, scalar);
  if (status.code) return raise_misuse(L, 2, status);
  lua_settop(L, 1);
  return 1;
}

/* buffer:copy() -> buffer. The same content in memory of its own on the same device, on the host aligned to 64 bytes. */
static int buffer_copy(lua_State *L)
{
  lua_settop(L, 1);
  push_device(L, ccw_buffer_device(check_defined(L, 1)));
  return buffer_copy_to(L);
}

/* buffer:as(dtype) -> buffer. A copy in another dtype. Floats round to nearest even; integers must fit, and a fraction is
 * no integer: the error names the element. To pred, everything but zero is true. */
static int buffer_as(lua_State *L)
{
  ccw_dtype dtype = check_dtype(L, 2);
  collect_before(L, ccw_buffer_shape(check_elements(L, 1))->count / 8 * ccw_dtype_bits(dtype));
  void **box = new_box(L, CCW_BUFFER);
  CHECK_STATUS(L, ccw_buffer_cast(check_buffer(L, 1), dtype, (ccw_buffer **)box));
  return 1;
}

/* buffer:reshape(type) -> buffer. The same memory under another shape of as many elements; the dtype stays. */
static int buffer_reshape(lua_State *L)
{
  check_buffer(L, 1);
  const ccw_shape *shape = check_shape(L, 2);
  void **box = new_box(L, CCW_BUFFER);
  CHECK_STATUS(L, ccw_buffer_reshape(check_buffer(L, 1), shape, (ccw_buffer **)box));
  lua_getiuservalue(L, 1, OWNER);
  lua_setiuservalue(L, -2, OWNER);
  return 1;
}

/* buffer:rows(first, last) -> buffer. These rows of it, counted from 1, one behind the other: the same memory, as an array of the same
 * rank. None where last is first - 1. */
static int buffer_rows(lua_State *L)
{
  ccw_shape rows = *ccw_buffer_shape(check_buffer(L, 1));
  if (rows.rank == 0) return luaL_error(L, "rank 0 has no rows");
  int64_t count = rows.dims[0], first = check_integer(L, 2, 1, count + 1), last = check_integer(L, 3, first - 1, count);
  int64_t row = count > 0 ? rows.count / count : 0;
  rows.dims[0] = last - first + 1;
  CHECK_STATUS(L, ccw_shape_make(rows.dtype, rows.dims, rows.rank, &rows));
  push_view(L, &rows, (first - 1) * row);
  return 1;
}

/* slice(buffer, first, count, step, is_index, ...) -> buffer, packed. Four for each dim, the first counted from 0; `packed` is true where it
 * does not share the memory. */
static int buffer_slice(lua_State *L)
{
  ccw_range ranges[CCW_MAX_RANK];
  int32_t count = (lua_gettop(L) - 1) / 4;
  luaL_argcheck(L, count <= CCW_MAX_RANK, 2, "too many ranges");
  for (int32_t i = 0; i < count; ++i)
    ranges[i] = (ccw_range){.first = luaL_checkinteger(L, 4 * i + 2),
        .count = luaL_checkinteger(L, 4 * i + 3),
        .step = luaL_checkinteger(L, 4 * i + 4),
        .is_index = lua_toboolean(L, 4 * i + 5)};
  bool packed;
  collect_before(L, ccw_buffer_shape(check_buffer(L, 1))->bytes); /* no more than that */
  void **box = new_box(L, CCW_BUFFER);
  CHECK_STATUS(L, ccw_buffer_slice(check_buffer(L, 1), ranges, count, &packed, (ccw_buffer **)box));
  if (!packed) {
    lua_getiuservalue(L, 1, OWNER);
    lua_setiuservalue(L, -2, OWNER);
  }
  lua_pushboolean(L, packed);
  return 2;
}

/* transpose(buffer) -> buffer. A new one with the dims in the opposite order. */
static int buffer_transpose(lua_State *L)
{
  collect_before(L, ccw_buffer_shape(check_elements(L, 1))->bytes);
  void **box = new_box(L, CCW_BUFFER);
  CHECK_STATUS(L, ccw_buffer_transpose(check_buffer(L, 1), (ccw_buffer **)box));
  return 1;
}

/* swap_bytes(buffer). The other order of bytes. */
static int buffer_swap_bytes(lua_State *L)
{
  ccw_buffer_swap_bytes(check_writable_here(L, 1));
  return 0;
}

/* The memory of a buffer; one that has no address of its own is misuse. */
static void *check_data(lua_State *L, const ccw_buffer *buffer)
{
  void *data = ccw_buffer_data(buffer);
  if (!data && ccw_buffer_shape(buffer)->bytes > 0)
    luaL_error(L, "a view that shares a byte with its neighbours; use its copy()");
  return data;
}

/* buffer:bytes() -> string. The memory as it is, wherever it is; packed elements stay packed. */
static int buffer_bytes(lua_State *L)
{
  ccw_buffer *buffer = check_buffer(L, 1);
  const void *data = check_data(L, buffer);
  size_t size = (size_t)ccw_buffer_shape(buffer)->bytes;
  if (ccw_buffer_device(buffer) == ccw_device_host()) {
    lua_pushlstring(L, data ? data : "", size);
    return 1;
  }
  luaL_Buffer string;
  void *bytes = luaL_buffinitsize(L, &string, size);
  CHECK_STATUS(L, ccw_device_copy(ccw_device_host(), bytes, ccw_buffer_device(buffer), data, size));
  luaL_pushresultsize(&string, size);
  return 1;
}

/* buffer:set_bytes(string) -> buffer. Overwrites the memory, wherever it is; the string must be exactly as long. */
static int buffer_set_bytes(lua_State *L)
{
  ccw_buffer *buffer = check_writable(L, 1);
  size_t length;
  const char *bytes = luaL_checklstring(L, 2, &length);
  void *data = check_data(L, buffer);
  if ((int64_t)length != ccw_buffer_shape(buffer)->bytes) {
    const char *message = lua_pushfstring(
        L, "expected %I bytes, got %I", (lua_Integer)ccw_buffer_shape(buffer)->bytes, (lua_Integer)length);
    return luaL_argerror(L, 2, message);
  }
  CHECK_STATUS(L, ccw_device_copy(ccw_buffer_device(buffer), data, ccw_device_host(), bytes, length));
  ccw_buffer_set_undefined(buffer, false);
  lua_settop(L, 1);
  return 1;
}

/* buffer:check() -> buffer. Raises DATA_LOSS for a pred element that is neither 0 nor 1 in memory. */
static int buffer_check(lua_State *L)
{
  CHECK_STATUS(L, ccw_buffer_check(check_here(L, check_buffer(L, 1))));
  lua_settop(L, 1);
  return 1;
}

/* buffer:summary() -> table. min, max and mean over the numbers, how many numbers, how many nans. */
static int buffer_summary(lua_State *L)
{
  ccw_summary summary = ccw_buffer_summarize(check_elements(L, 1));
  lua_createtable(L, 0, 5);
  lua_pushnumber(L, summary.min);
  lua_setfield(L, -2, "min");
  lua_pushnumber(L, summary.max);
  lua_setfield(L, -2, "max");
  lua_pushnumber(L, summary.mean);
  lua_setfield(L, -2, "mean");
  lua_pushinteger(L, summary.numbers);
  lua_setfield(L, -2, "numbers");
  lua_pushinteger(L, summary.nans);
  lua_setfield(L, -2, "nans");
  return 1;
}

/* undefined(buffer) -> boolean. Whether a call that failed was to write it. */
static int buffer_undefined(lua_State *L)
{
  lua_pushboolean(L, ccw_buffer_is_undefined(check_buffer(L, 1)));
  return 1;
}

/* buffer:close(). Gives the memory back, unless a view or a prepared call still holds it. Using the buffer afterwards is
 * an error; closing it again is none. `local x <close> = ...` does it at the end of the block. */
static int buffer_close(lua_State *L)
{
  void **box = check_kind(L, 1, CCW_BUFFER);
  ccw_buffer_release(*box);
  *box = NULL;
  return 0;
}

/* iota(buffer, dim) -> buffer. */
static int buffer_iota(lua_State *L)
{
  ccw_buffer *buffer = check_writable_here(L, 1);
  ccw_status status = ccw_buffer_iota(buffer, (int32_t)check_integer(L, 2, -1, CCW_MAX_RANK));
  if (status.code) return raise_status(L, status, NULL, NULL);
  lua_settop(L, 1);
  return 1;
}

/* random(buffer, seed, low, high) -> buffer. */
static int buffer_random(lua_State *L)
{
  ccw_buffer *buffer = check_writable_here(L, 1);
  uint64_t seed = (uint64_t)check_integer(L, 2, INT64_MIN, INT64_MAX);
  ccw_scalar low, high;
  luaL_argexpected(L, to_scalar(L, 3, &low), 3, "number");
  luaL_argexpected(L, to_scalar(L, 4, &high), 4, "number");
  CHECK_STATUS(L, ccw_buffer_random(buffer, seed, low, high));
  lua_settop(L, 1);
  return 1;
}

/* compare(a, b, close, bitwise, equal_nan, rtol, atol, max_ulp) -> table. The fields of ccw_difference. */
static int buffer_compare(lua_State *L)
{
  ccw_comparison comparison = {.close = lua_toboolean(L, 3),
      .bitwise = lua_toboolean(L, 4),
      .equal_nan = lua_toboolean(L, 5),
      .rtol = luaL_checknumber(L, 6),
      .atol = luaL_checknumber(L, 7),
      .max_ulp = check_integer(L, 8, 0, INT64_MAX)};
  ccw_difference difference = ccw_buffer_compare(check_elements(L, 1), check_elements(L, 2), &comparison);
  lua_createtable(L, 0, 7);
  lua_pushboolean(L, difference.dtype);
  lua_setfield(L, -2, "dtype");
  lua_pushboolean(L, difference.shape);
  lua_setfield(L, -2, "shape");
  lua_pushinteger(L, difference.count);
  lua_setfield(L, -2, "count");
  lua_pushinteger(L, difference.first);
  lua_setfield(L, -2, "first");
  lua_pushinteger(L, difference.worst);
  lua_setfield(L, -2, "worst");
  lua_pushnumber(L, difference.distance);
  lua_setfield(L, -2, "distance");
  lua_pushnumber(L, difference.relative);
  lua_setfield(L, -2, "relative");
  return 1;
}

void open_buffers(lua_State *L)
{
  static const luaL_Reg metamethods[] = {{"__index", buffer_index}, {"__newindex", buffer_newindex},
      {"__len", buffer_len}, {"__pairs", buffer_pairs}, {"__gc", buffer_close}, {"__close", buffer_close},
      {NULL, NULL}};
  static const luaL_Reg methods[] = {{"item", buffer_item}, {"fill", buffer_fill}, {"copy", buffer_copy},
      {"as", buffer_as}, {"reshape", buffer_reshape}, {"rows", buffer_rows}, {"bytes", buffer_bytes},
      {"set_bytes", buffer_set_bytes}, {"check", buffer_check}, {"summary", buffer_summary}, {"close", buffer_close},
      {NULL, NULL}};
  static const luaL_Reg functions[] = {{"buffer", buffer_new}, {"copy_to", buffer_copy_to},
      {"device_of", buffer_device}, {"import", buffer_import}, {"undefined", buffer_undefined}, {"get", get_element},
      {"put", put_element}, {"element_text", element_text}, {"index_text", index_text}, {"iota", buffer_iota},
      {"random", buffer_random}, {"compare", buffer_compare}, {"slice", buffer_slice}, {"transpose", buffer_transpose},
      {"swap_bytes", buffer_swap_bytes}, {NULL, NULL}};
  new_kind(L, CCW_BUFFER, metamethods, NULL);
  luaL_newlibtable(L, methods);
  luaL_setfuncs(L, methods, 0);
  lua_setfield(L, -2, "methods");
  lua_setfield(L, -2, "buffer_metatable");
  luaL_setfuncs(L, functions, 0);
}

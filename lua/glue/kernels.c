/* Kernels: code on a device, and launches of it. */
#include "glue.h"

#include <string.h>

enum { MOST_ARGUMENTS = 64, NAME_SIZE = 64 };

/* What a kernel takes, as far as anybody knows: the user value of its box. */
typedef struct parameter {
  ccw_kernel_parameter about;
  char name[NAME_SIZE]; /* "": not known */
} parameter;

typedef struct parameters {
  int64_t count; /* -1: not known */
  parameter list[MOST_ARGUMENTS];
} parameters;

/* ---- loading --------------------------------------------------------------------------------------------------------- */

/* module(device, path) -> module. Code that was compiled for the device. */
static int module_load(lua_State *L)
{
  ccw_device *device = check_device(L, 1);
  const char *path = check_text(L, 2);
  void **box = new_box(L, CCW_MODULE);
  CHECK_STATUS(L, ccw_module_load(device, path, (ccw_module **)box));
  box[1] = device;
  return 1;
}

static int module_gc(lua_State *L)
{
  void **box = check_kind(L, 1, CCW_MODULE);
  ccw_module_unload(*box);
  *box = NULL;
  return 0;
}

static void push_flag(lua_State *L, const char *name, bool value)
{
  lua_pushboolean(L, value);
  lua_setfield(L, -2, name);
}

/* What the device tells of a kernel: a list of {size, is_pointer, is_const, dtype}; nil where it tells nothing. */
static void push_told(lua_State *L, const ccw_kernel *kernel)
{
  const ccw_kernel_parameter *told;
  int64_t count = ccw_kernel_parameters(kernel, &told);
  if (count < 0) {
    lua_pushnil(L);
    return;
  }
  lua_createtable(L, (int)count, 0);
  for (int64_t i = 0; i < count; ++i) {
    lua_createtable(L, 0, 4);
    lua_pushinteger(L, (lua_Integer)told[i].size);
    lua_setfield(L, -2, "size");
    push_flag(L, "is_pointer", told[i].is_pointer);
    push_flag(L, "is_const", told[i].is_const);
    if (told[i].dtype != XLA_FFI_DataType_INVALID) {
      lua_pushstring(L, ccw_dtype_name(told[i].dtype));
      lua_setfield(L, -2, "dtype");
    }
    lua_rawseti(L, -2, i + 1);
  }
}

/* kernel_of(module, symbol) -> kernel, list. The kernel holds its module, which stays loaded; the list is what the device tells of its
 * parameters. */
static int kernel_of(lua_State *L)
{
  void **module = check_kind(L, 1, CCW_MODULE);
  const char *symbol = check_text(L, 2);
  void **box = new_box(L, CCW_KERNEL);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  CHECK_STATUS(L, ccw_module_kernel(*module, symbol, (ccw_kernel **)box));
  box[1] = module[1];
  push_told(L, *box);
  return 2;
}

static bool get_flag(lua_State *L, const char *name)
{
  lua_getfield(L, -1, name);
  bool value = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return value;
}

/* Reads the parameter on the top of the stack. */
static void read_parameter(lua_State *L, parameter *p)
{
  size_t length;
  *p = (parameter){.about = {.is_pointer = get_flag(L, "is_pointer"), .is_const = get_flag(L, "is_const")}};
  lua_getfield(L, -1, "size");
  p->about.size = (size_t)luaL_checkinteger(L, -1);
  lua_getfield(L, -2, "dtype");
  if (!lua_isnil(L, -1)) p->about.dtype = check_dtype(L, lua_gettop(L));
  lua_getfield(L, -3, "name");
  const char *name = luaL_optlstring(L, -1, "", &length);
  if (length < NAME_SIZE) memcpy(p->name, name, length + 1);
  lua_pop(L, 3);
}

/* kernel_expect(kernel, list). What its launches are to be given: {name, size, is_pointer, is_const, dtype}, of which name and dtype
 * may be left out; nil: nobody knows. */
static int kernel_expect(lua_State *L)
{
  check_box(L, 1, CCW_KERNEL);
  parameters *expected = lua_newuserdatauv(L, sizeof *expected, 1);
  expected->count = lua_istable(L, 2) ? (int64_t)lua_rawlen(L, 2) : -1;
  luaL_argcheck(L, expected->count <= MOST_ARGUMENTS, 2, "more parameters than a launch can have");
  for (int64_t i = 0; i < expected->count; ++i) {
    lua_rawgeti(L, 2, i + 1);
    read_parameter(L, &expected->list[i]);
    lua_pop(L, 1);
  }
  lua_getiuservalue(L, 1, 1); /* the module, which is held through them now */
  lua_setiuservalue(L, -2, 1);
  lua_setiuservalue(L, 1, 1);
  return 0;
}

/* ---- arguments ------------------------------------------------------------------------------------------------------- */

typedef union value {
  void *pointer;
  unsigned char bytes[16];
} value;

typedef struct launch {
  value values[MOST_ARGUMENTS];
  const void *addresses[MOST_ARGUMENTS];
  size_t sizes[MOST_ARGUMENTS];
  int64_t count;
  const ccw_device *device;
  ccw_text problems;
} launch;

/* "f32", "const f32*", "pointer". */
static void add_type(const ccw_kernel_parameter *p, ccw_text *text)
{
  const char *dtype = p->dtype == XLA_FFI_DataType_INVALID ? NULL : ccw_dtype_name(p->dtype);
  if (p->is_pointer)
    ccw_text_add(text, "%s%s*", p->is_const ? "const " : "", dtype ? dtype : "any");
  else if (dtype)
    ccw_text_add(text, "%s", dtype);
  else
    ccw_text_add(text, "%zu bytes", p->size);
}

/* Begins a line, "arg 2 'a': ". */
static ccw_text *begin_problem(launch *l, int64_t i, const parameter *p)
{
  ccw_text_add(&l->problems, "%sarg %lld", l->problems.length > 0 ? "\n" : "", (long long)i);
  if (p && *p->name) ccw_text_add(&l->problems, " '%s'", p->name);
  ccw_text_add(&l->problems, ": ");
  return &l->problems;
}

/* "arg 2 'a': expected f32, got WHAT". */
static void refuse(launch *l, int64_t i, const parameter *p, const char *what)
{
  ccw_text *text = begin_problem(l, i, p);
  ccw_text_add(text, "expected ");
  if (p)
    add_type(&p->about, text);
  else
    ccw_text_add(text, "a buffer, or a number that has a type, such as ccw.s32(3)");
  ccw_text_add(text, ", got %s", what);
}

static void put_pointer(launch *l, int64_t i, void *pointer)
{
  l->values[i].pointer = pointer;
  l->addresses[i] = &l->values[i];
  l->sizes[i] = sizeof pointer;
}

/* Why the buffer in a box cannot be used; NULL where it can. */
static const char *why_unusable(void *const *box, const parameter *p)
{
  if (!box[0]) return box[1] ? "the call that it belonged to is over" : "this buffer is closed";
  ccw_loan loan = ccw_buffer_loan(box[0]);
  if (loan.is_over) return "the call that it belonged to is over";
  bool is_written = p && p->about.is_pointer && !p->about.is_const;
  return loan.read_only && is_written ? "operands are read only, and the kernel may write there" : NULL;
}

static void put_buffer(launch *l, int64_t i, const parameter *p, void *const *box)
{
  const char *why = why_unusable(box, p);
  if (why) {
    ccw_text_add(begin_problem(l, i, p), "%s", why);
    return;
  }
  const ccw_buffer *buffer = box[0];
  const ccw_shape *shape = ccw_buffer_shape(buffer);
  bool fits =
      !p || (p->about.size == sizeof(void *) && (p->about.is_pointer || p->about.dtype == XLA_FFI_DataType_INVALID));
  if (!fits || (p && p->about.dtype != XLA_FFI_DataType_INVALID && p->about.dtype != shape->dtype)) {
    ccw_text type = {0};
    ccw_shape_print(shape, &type);
    refuse(l, i, p, ccw_text_data(&type));
    ccw_text_free(&type);
  } else if (ccw_buffer_device(buffer) != l->device) {
    ccw_text_add(begin_problem(l, i, p), "expected a buffer on %s, got one on %s", ccw_device_name(l->device),
        ccw_device_name(ccw_buffer_device(buffer)));
  } else {
    put_pointer(l, i, ccw_buffer_data(buffer));
  }
}

static void put_scalar(launch *l, int64_t i, ccw_scalar scalar)
{
  ccw_scalar_store(scalar, l->values[i].bytes);
  l->addresses[i] = &l->values[i];
  l->sizes[i] = (size_t)(ccw_dtype_bits(scalar.dtype) + 7) / 8;
}

/* A number of a type is taken as it is where nobody knows better; a plain one needs a parameter that says what it becomes. */
static void put_number(lua_State *L, launch *l, int64_t i, const parameter *p, ccw_scalar scalar)
{
  bool is_typed = lua_type(L, -1) == LUA_TUSERDATA, is_open = !p || p->about.dtype == XLA_FFI_DataType_INVALID;
  if (p && p->about.is_pointer) {
    refuse(l, i, p, kind_name(L, -1));
  } else if (is_open) {
    if (is_typed && (!p || p->about.size == (size_t)(ccw_dtype_bits(scalar.dtype) + 7) / 8))
      put_scalar(l, i, scalar);
    else if (is_typed)
      refuse(l, i, p, ccw_dtype_name(scalar.dtype));
    else
      ccw_text_add(begin_problem(l, i, p), "the kernel does not tell its type: give it one, such as ccw.s32(3)");
  } else if (is_typed && scalar.dtype != p->about.dtype) {
    refuse(l, i, p, ccw_dtype_name(scalar.dtype));
  } else {
    ccw_status status = ccw_scalar_fit(scalar, p->about.dtype, &scalar);
    if (status.code)
      ccw_text_add(begin_problem(l, i, p), "%s", ccw_status_text(status));
    else
      put_scalar(l, i, scalar);
    ccw_status_free(status);
  }
}

/* Takes the value on the top of the stack as argument `i`. Raises nothing. */
static void put_argument(lua_State *L, launch *l, int64_t i, const parameter *p)
{
  ccw_scalar scalar;
  void *const *buffer = test_kind(L, -1, CCW_BUFFER);
  size_t length;
  if (buffer)
    put_buffer(l, i, p, buffer);
  else if (to_scalar(L, -1, &scalar))
    put_number(L, l, i, p, scalar);
  else if (lua_type(L, -1) == LUA_TSTRING && p && !p->about.is_pointer && p->about.dtype == XLA_FFI_DataType_INVALID &&
           (l->addresses[i] = lua_tolstring(L, -1, &length), length == p->about.size))
    l->sizes[i] = length; /* the bytes of a struct; the list holds them */
  else
    refuse(l, i, p, lua_isnil(L, -1) ? "nothing" : kind_name(L, -1));
}

/* Raises where a buffer belongs to a call on another thread. */
static void check_lenders(lua_State *L, int list, int64_t count)
{
  for (int64_t i = 0; i < count; ++i) {
    lua_rawgeti(L, list, i + 1);
    void *const *box = test_kind(L, -1, CCW_BUFFER);
    ccw_loan loan = box && *box ? ccw_buffer_loan(*box) : (ccw_loan){.label = ""};
    if (*loan.label && !loan.is_over) check_lender(L, &loan);
    lua_pop(L, 1);
  }
}

static void put_arguments(lua_State *L, int list, const parameters *expected, launch *l)
{
  int64_t given = (int64_t)lua_rawlen(L, list), wanted = expected->count < 0 ? given : expected->count;
  if (given > wanted || given > MOST_ARGUMENTS) {
    ccw_text_add(&l->problems, "expected %lld arguments, got %lld",
        (long long)(given > wanted ? wanted : MOST_ARGUMENTS), (long long)given);
    return;
  }
  for (l->count = 0; l->count < wanted; ++l->count) {
    lua_rawgeti(L, list, l->count + 1);
    put_argument(L, l, l->count, expected->count < 0 ? NULL : &expected->list[l->count]);
    lua_pop(L, 1);
  }
}

/* ---- launching ------------------------------------------------------------------------------------------------------- */

/* kernel_launch(kernel, arguments, stream, grid x, y, z, block x, y, z, shared) -> nil, or what is wrong with the arguments. Of a
 * grid that is nil nothing is launched. */
static int kernel_launch(lua_State *L)
{
  void **box = check_kind(L, 1, CCW_KERNEL);
  ccw_kernel *kernel = check_box(L, 1, CCW_KERNEL);
  luaL_checktype(L, 2, LUA_TTABLE);
  ccw_stream *stream = NULL;
  if (lua_isnoneornil(L, 3))
    CHECK_STATUS(L, ccw_device_stream(box[1], &stream));
  else
    stream = check_stream(L, 3);
  ccw_launch launched = {.shared_size = (size_t)check_integer(L, 10, 0, INT64_MAX)};
  bool is_empty = lua_isnil(L, 4);
  for (int i = 0; i < 3; ++i) {
    launched.grid[i] = is_empty ? 0 : (uint32_t)check_integer(L, 4 + i, 0, UINT32_MAX);
    launched.block[i] = (uint32_t)check_integer(L, 7 + i, 0, UINT32_MAX);
  }
  lua_getiuservalue(L, 1, 1);
  const parameters *expected = lua_touserdata(L, -1);
  check_lenders(L, 2, (int64_t)lua_rawlen(L, 2));

  launch l;
  l.device = box[1];
  l.problems = (ccw_text){0};
  put_arguments(L, 2, expected, &l);
  if (l.problems.length > 0) return push_text(L, &l.problems);
  if (is_empty) return 0;
  launched.arguments = (void *const *)l.addresses;
  launched.sizes = l.sizes;
  launched.count = l.count;
  owner *o = owner_of(L);
  int depth = owner_give_up(o);
  ccw_status status = ccw_kernel_launch(kernel, &launched, stream);
  owner_take_back(o, depth);
  CHECK_STATUS(L, status);
  return 0;
}

void open_kernels(lua_State *L)
{
  static const luaL_Reg of_module[] = {{"__gc", module_gc}, {NULL, NULL}};
  static const luaL_Reg none[] = {{NULL, NULL}};
  static const luaL_Reg functions[] = {{"module", module_load}, {"kernel_of", kernel_of},
      {"kernel_expect", kernel_expect}, {"kernel_launch", kernel_launch}, {NULL, NULL}};
  new_kind(L, CCW_MODULE, of_module, NULL);
  lua_pop(L, 1);
  new_kind(L, CCW_KERNEL, none, NULL);
  lua_setfield(L, -2, "kernel_metatable");
  luaL_setfuncs(L, functions, 0);
}

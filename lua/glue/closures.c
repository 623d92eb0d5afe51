/* Handlers written in Lua. */
#include "glue.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <ccw/decode.h>

/* A parameter of the function: of the binding, and its place in its family. */
typedef struct binds {
  int64_t of;
  int64_t in_family;
} binds;

/* A function of Lua's with a binding. `functions` is a table in the registry: the function at 0, decoders by the number of the
 * parameter. */
typedef struct closure {
  owner *owner;
  int functions;
  ccw_signature *signature;
  int count;
  binds places[];
} closure;

/* A buffer over memory of the frame, and the box that Lua has it in. */
typedef struct lent {
  ccw_buffer *buffer;
  void **box;
} lent;

/* A call under way. Its buffers are the frame's memory, lent, and end with it. */
typedef struct invocation {
  const closure *closure;
  const XLA_FFI_CallFrame *frame;
  struct invocation *outer;
  int depth;
  lua_State *thread; /* of Lua's, in which it runs */
  const char *name;  /* what messages call the call */
  ccw_status status; /* what it comes to */
  struct lent *lent;
  int lent_count, lent_room;
  int64_t entries; /* of dictionaries, so far: one that holds others many times over grows beyond all measure */
} invocation;

static _Thread_local invocation *current;

lua_State *running_in_lua(void)
{
  const char *doing;
  return current && ccw_call_running(&doing) == current->name ? current->thread : NULL;
}

enum { MOST_DEPTH = 50, MOST_NESTED = 64, MOST_ENTRIES = 1 << 20 };

/* ---- values of the frame ------------------------------------------------------------------------------------------- */

/* In the thread of a call: the functions' table, a list of the boxes of lent buffers, which keeps them, and the function. */
enum { FUNCTIONS = 1, BOXES, FUNCTION };

/* Pushes a buffer over memory of the frame. */
static void push_lent(lua_State *L, const ccw_shape *shape, void *memory, const char *label, bool read_only)
{
  invocation *call = current;
  void **box = new_box(L, CCW_BUFFER);
  if (call->lent_count == call->lent_room) {
    int room = call->lent_room * 2 + 8;
    lent *more = realloc(call->lent, (size_t)room * sizeof *more);
    if (!more) luaL_error(L, "not enough memory");
    call->lent = more;
    call->lent_room = room;
  }
  lua_pushvalue(L, -1);
  lua_rawseti(L, BOXES, call->lent_count + 1);
  ccw_buffer *buffer;
  ccw_status status = ccw_buffer_lend(shape, memory, label, read_only, &buffer);
  if (status.code) raise_status(L, status, NULL, NULL);
  *box = ccw_buffer_retain(buffer);
  call->lent[call->lent_count++] = (lent){buffer, box};
}

/* Ends the loans. The boxes are still there: nothing of Lua's ran since the list of them was on the stack. */
static void end_loans(invocation *call)
{
  for (int i = 0; i < call->lent_count; ++i) {
    lent *l = &call->lent[i];
    ccw_buffer_recall(l->buffer); /* views of it may live on */
    if (*l->box) ccw_buffer_release(l->buffer);
    l->box[0] = NULL;
    l->box[1] = l->box; /* tells check_buffer why */
    ccw_buffer_release(l->buffer);
  }
  free(call->lent);
}

/* "arg 1 'w'". Not by snprintf, which takes longer than all the rest. */
static void say_place(char *label, size_t size, const char *noun, int64_t place, const char *name)
{
  char digits[24], *digit = digits + sizeof digits;
  *--digit = '\0';
  do *--digit = (char)('0' + place % 10);
  while ((place /= 10) > 0);
  const char *const parts[] = {noun, " ", digit, *name ? " '" : "", name, *name ? "'" : ""};
  size_t length = 0;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i)
    for (const char *c = parts[i]; *c && length + 1 < size; ++c) label[length++] = *c;
  label[length] = '\0';
}

static void push_operand(lua_State *L, const XLA_FFI_Buffer *buffer, const char *noun, int64_t place, const char *name)
{
  char label[64];
  ccw_shape shape;
  say_place(label, sizeof label, noun, place, name);
  ccw_status status = ccw_shape_make(buffer->dtype, buffer->dims, (int32_t)buffer->rank, &shape);
  if (status.code) raise_status(L, status, NULL, NULL);
  push_lent(L, &shape, buffer->data, label, strcmp(noun, "arg") == 0);
}

static void push_attribute(lua_State *L, ccw_attribute attribute, ccw_kind kind, const char *name, int depth);

/* An enum is the name of its value, where it has one. */
static void push_enum(lua_State *L, ccw_scalar scalar, const ccw_enum_info *info)
{
  bool is_signed = ccw_dtype_class(scalar.dtype) == CCW_CLASS_SIGNED;
  int64_t value = is_signed ? scalar.as.s : (int64_t)scalar.as.u;
  for (int64_t i = 0; i < info->count; ++i)
    if (info->values[i].value == value) {
      lua_pushstring(L, info->values[i].name);
      return;
    }
  push_scalar(L, scalar);
}

static void push_array(lua_State *L, const XLA_FFI_Array *array, const char *name)
{
  char label[64];
  ccw_shape shape;
  int64_t size = (int64_t)array->size;
  snprintf(label, sizeof label, "attribute '%s'", name);
  ccw_status status = ccw_shape_make(array->dtype, &size, 1, &shape);
  if (status.code) raise_status(L, status, NULL, NULL);
  push_lent(L, &shape, array->data, label, true);
}

/* The kind of a member of a struct; UNKNOWN for what is in no struct. */
static ccw_kind kind_of_member(ccw_kind kind, const char *name)
{
  ccw_kind unknown = {CCW_FORM_UNKNOWN, 0, NULL};
  if (kind.form != CCW_FORM_STRUCT) return unknown;
  const ccw_struct_info *info = kind.detail;
  for (int64_t i = 0; i < info->count; ++i)
    if (strcmp(info->members[i].name, name) == 0) return info->members[i].kind;
  return unknown;
}

static void push_dictionary(lua_State *L, const XLA_FFI_Attrs *attrs, ccw_kind kind, int depth)
{
  if (!ccw_is_readable_(attrs)) luaL_error(L, "a dictionary that cannot be read");
  if (depth == MOST_NESTED) luaL_error(L, "more than %d dictionaries in each other", MOST_NESTED);
  current->entries += attrs->size;
  if (current->entries > MOST_ENTRIES) luaL_error(L, "more than %d attributes", MOST_ENTRIES);
  luaL_checkstack(L, 4, NULL);
  lua_createtable(L, 0, (int)attrs->size);
  for (int64_t i = 0; i < attrs->size; ++i) {
    const XLA_FFI_ByteSpan *name = attrs->names[i];
    if (!name || (!name->ptr && name->len > 0)) luaL_error(L, "a dictionary with an attribute that has no name");
    lua_pushlstring(L, name->ptr ? name->ptr : "", name->len);
    const char *text = lua_tostring(L, -1);
    push_attribute(
        L, (ccw_attribute){(int)attrs->types[i], attrs->attrs[i]}, kind_of_member(kind, text), text, depth + 1);
    lua_rawset(L, -3);
  }
}

/* Pushes an attribute as Lua has it: booleans, numbers, strings; arrays are buffers, dictionaries tables. */
static void push_attribute(lua_State *L, ccw_attribute attribute, ccw_kind kind, const char *name, int depth)
{
  const XLA_FFI_Scalar *scalar = attribute.value;
  const XLA_FFI_Array *array = attribute.value;
  const XLA_FFI_ByteSpan *string = attribute.value;
  bool is_empty = !attribute.value;
  if (!is_empty && attribute.type == XLA_FFI_AttrType_SCALAR) {
    if (scalar->value && ccw_dtype_bits(scalar->dtype) >= 8) {
      ccw_scalar value = ccw_scalar_load(scalar->dtype, scalar->value);
      if (kind.form == CCW_FORM_ENUM)
        push_enum(L, value, kind.detail);
      else
        push_scalar(L, value);
      return;
    }
  } else if (!is_empty && attribute.type == XLA_FFI_AttrType_ARRAY) {
    if (array->data || array->size == 0) {
      push_array(L, array, name);
      return;
    }
  } else if (!is_empty && attribute.type == XLA_FFI_AttrType_STRING) {
    if (string->ptr || string->len == 0) {
      lua_pushlstring(L, string->len > 0 ? string->ptr : "", string->len);
      return;
    }
  } else if (!is_empty && attribute.type == XLA_FFI_AttrType_DICTIONARY) {
    push_dictionary(L, attribute.value, kind, depth);
    return;
  }
  luaL_error(L, "attribute '%s': it has no value", name);
}

/* ---- parameters ---------------------------------------------------------------------------------------------------- */

static void push_context(lua_State *L, const ccw_parameter *parameter, int64_t place)
{
  const XLA_FFI_CallFrame *frame = current->frame;
  ccw_status status = ccw_ok();
  void *stream;
  int64_t run_id;
  int32_t ordinal;
  const XLA_FFI_Attrs *options;
  ccw_kind unknown = {CCW_FORM_UNKNOWN, 0, NULL};
  switch ((int)parameter->context) {
  case CCW_CONTEXT_STREAM:
    status = ccw_ask_stream_(frame, &stream);
    if (!status.code) lua_pushlightuserdata(L, stream);
    break;
  case CCW_CONTEXT_RUN_ID:
    status = ccw_ask_run_id_(frame, &run_id);
    if (!status.code) lua_pushinteger(L, run_id);
    break;
  case CCW_CONTEXT_DEVICE_ORDINAL:
    status = ccw_ask_device_ordinal_(frame, &ordinal);
    if (!status.code) lua_pushinteger(L, ordinal);
    break;
  case CCW_CONTEXT_CUSTOM_OPTIONS:
    status = ccw_ask_custom_options_(frame, &options);
    if (!status.code) push_dictionary(L, options, unknown, 0);
    break;
  default: status = ccw_unimplemented("a handler in Lua has no such context");
  }
  if (!status.code) return;
  ccw_status placed = ccw_status_make(status.code, "context %lld: %s: %s", (long long)place,
      ccw_name_of_context_(parameter->context), ccw_status_text(status));
  ccw_status_free(status);
  raise_status(L, placed, NULL, NULL);
}

/* A list of the remaining operands, from a place on. */
static void push_remaining(lua_State *L, const char *noun, int64_t first, int64_t count, void *const *operands)
{
  lua_createtable(L, count > first ? (int)(count - first) : 0, 0);
  for (int64_t i = first; i < count; ++i) {
    push_operand(L, operands[i], noun, i, "");
    lua_rawseti(L, -2, i - first + 1);
  }
}

/* An operand that may have been left out. */
static void push_optional(
    lua_State *L, const char *noun, int64_t place, const char *name, int64_t count, void *const *operands)
{
  if (place < count)
    push_operand(L, operands[place], noun, place, name);
  else
    lua_pushnil(L);
}

/* The attribute of that name; where there is a decoder for it, what that makes of it. */
static void push_named(lua_State *L, const ccw_parameter *parameter, int number)
{
  ccw_dictionary all = {&current->frame->attrs};
  bool decodes = lua_rawgeti(L, FUNCTIONS, number) == LUA_TFUNCTION;
  if (!decodes) lua_pop(L, 1);
  ccw_attribute attribute = ccw_find_(all, parameter->name, strlen(parameter->name));
  push_attribute(L, attribute, parameter->kind, parameter->name, 0);
  if (!decodes) return;
  lua_call(L, 1, 2);
  if (lua_isnil(L, -2)) {
    const char *why = luaL_tolstring(L, -1, NULL);
    ccw_status status = ccw_invalid("attribute '%s': %s", parameter->name, lua_isnil(L, -2) ? "refused" : why);
    raise_status(L, status, NULL, NULL);
  }
  lua_pop(L, 1);
}

static void push_parameter(lua_State *L, int number)
{
  const closure *c = current->closure;
  const XLA_FFI_CallFrame *frame = current->frame;
  const ccw_parameter *p = &ccw_signature_binding(c->signature)->parameters[c->places[number - 1].of];
  const XLA_FFI_Args *args = &frame->args;
  const XLA_FFI_Rets *rets = &frame->rets;
  int64_t place = c->places[number - 1].in_family;
  ccw_kind whole = {CCW_FORM_UNKNOWN, 0, NULL};
  switch (p->word) {
  case CCW_WORD_CTX: push_context(L, p, place); break;
  case CCW_WORD_ARG:
  case CCW_WORD_OPTIONAL_ARG: push_optional(L, "arg", place, p->name, args->size, args->args); break;
  case CCW_WORD_REMAINING_ARGS: push_remaining(L, "arg", place, args->size, args->args); break;
  case CCW_WORD_RET:
  case CCW_WORD_OPTIONAL_RET: push_optional(L, "result", place, p->name, rets->size, rets->rets); break;
  case CCW_WORD_REMAINING_RETS: push_remaining(L, "result", place, rets->size, rets->rets); break;
  case CCW_WORD_ATTR: push_named(L, p, number); break;
  case CCW_WORD_ATTRS: push_dictionary(L, &frame->attrs, whole, 0); break;
  case CCW_WORD_NEW_STATE:
  case CCW_WORD_TRAIT: lua_pushnil(L); break;
  }
}

/* ---- outcome ------------------------------------------------------------------------------------------------------- */

static XLA_FFI_Error_Code code_of(const char *name)
{
  for (int code = 1; ccw_code_name((XLA_FFI_Error_Code)code); ++code)
    if (strcmp(ccw_code_name((XLA_FFI_Error_Code)code), name) == 0) return (XLA_FFI_Error_Code)code;
  return XLA_FFI_Error_Code_UNKNOWN;
}

static bool is_error(lua_State *L, int index)
{
  if (!lua_getmetatable(L, index)) return false;
  lua_rawgetp(L, LUA_REGISTRYINDEX, CCW_ERROR);
  bool same = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return same;
}

/* The error at an index as a status: of an error object code and text, of other values their text with that code. */
static ccw_status status_of(lua_State *L, int index, XLA_FFI_Error_Code otherwise, const char *traceback)
{
  size_t length;
  const char *text, *code = NULL;
  if (is_error(L, index)) {
    lua_getfield(L, index, "code");
    code = lua_tostring(L, -1);
    lua_getfield(L, index, "message");
    text = lua_tolstring(L, -1, &length);
    if (code && text) return ccw_status_make(code_of(code), "%s%s", text, traceback);
  }
  text = luaL_tolstring(L, index, &length);
  return ccw_status_make(otherwise, "%s%s", text, traceback);
}

/* The message handler: what was raised becomes the call's status, with the way there. */
static int on_error(lua_State *L)
{
  static const char outermost[] = "\n\t[C]: in ?", empty[] = "\nstack traceback:";
  luaL_traceback(L, L, "", 1);
  luaL_gsub(L, lua_tostring(L, -1), "ccw.globals.", ""); /* where our modules keep Lua's own functions */
  size_t length, shorter;
  const char *way = lua_tolstring(L, -1, &length);
  shorter = length - (sizeof outermost - 1);
  if (length > sizeof outermost && strcmp(way + shorter, outermost) == 0) way = lua_pushlstring(L, way, shorter);
  ccw_status_free(current->status); /* of an error before, on the way out of which this one was raised */
  current->status = status_of(L, 1, XLA_FFI_Error_Code_UNKNOWN, strcmp(way, empty) == 0 ? "" : way);
  return 0;
}

/* What the function returned: from `first` on, up to the top of the stack. */
static ccw_status outcome(lua_State *L, int first)
{
  while (lua_gettop(L) > first && lua_isnil(L, -1)) lua_pop(L, 1);
  int count = lua_gettop(L) - first + 1;
  if (count == 2 && lua_isnil(L, first) && !lua_isnil(L, first + 1)) {
    lua_remove(L, first); /* nil, err */
    count = 1;
  } else if (count > 1) {
    return ccw_internal("returned %d values: expected nothing, or an error", count);
  }
  if (count == 0 || lua_isnil(L, first) || (lua_isboolean(L, first) && lua_toboolean(L, first))) return ccw_ok();
  if (lua_type(L, first) == LUA_TSTRING || is_error(L, first))
    return status_of(L, first, XLA_FFI_Error_Code_INTERNAL, "");
  if (kind_of(L, first) == CCW_BUFFER)
    return ccw_internal("returned a buffer: results are written in place, as in y[i] = x, and nothing is returned");
  return ccw_internal("returned a %s: expected nothing, or an error", kind_name(L, first));
}

/* In the thread of the call, protected: pushes the parameters and calls the function. */
static int run(lua_State *L)
{
  const closure *c = current->closure;
  lua_settop(L, 0);
  luaL_checkstack(L, c->count + LUA_MINSTACK, NULL);
  lua_rawgeti(L, LUA_REGISTRYINDEX, c->functions);
  lua_createtable(L, c->count, 0);
  lua_rawgeti(L, FUNCTIONS, 0);
  for (int i = 1; i <= c->count; ++i) push_parameter(L, i);
  lua_call(L, c->count, LUA_MULTRET);
  current->status = outcome(L, FUNCTION);
  return 0;
}

/* ---- the handler --------------------------------------------------------------------------------------------------- */

static void run_in(lua_State *thread, invocation *call)
{
  lua_pushcfunction(thread, on_error);
  lua_pushcfunction(thread, run);
  int how = lua_pcall(thread, 0, 0, 1);
  if (how == LUA_OK || call->status.code) return;
  if (how == LUA_ERRMEM)
    call->status = ccw_resource_exhausted("not enough memory");
  else
    call->status = ccw_unknown("an error in the handling of an error");
}

/* Whether this thread has stack left for another handler: each may use as much C stack as Lua allows a program. */
static bool has_stack(void)
{
  static _Thread_local char *lowest; /* that may be used; NULL: not asked yet */
  enum { NEEDED = 768 << 10 };
  if (!lowest) {
    pthread_attr_t attributes;
    void *start = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return true;
    pthread_attr_getstack(&attributes, &start, &size);
    pthread_attr_destroy(&attributes);
    lowest = (char *)start + (size / 2 < NEEDED ? size / 2 : NEEDED);
  }
  return (char *)__builtin_frame_address(0) > lowest;
}

/* What core calls, from any thread, with a frame that fits. */
static ccw_status call_lua(void *context, XLA_FFI_CallFrame *frame)
{
  closure *c = context;
  invocation call = {.closure = c, .frame = frame, .outer = current, .depth = current ? current->depth + 1 : 1};
  if (call.depth > MOST_DEPTH) return ccw_resource_exhausted("more than %d handlers in each other", MOST_DEPTH);
  if (!has_stack()) return ccw_resource_exhausted("too little of the stack is left for a handler in Lua");
  if (!owner_enter(c->owner)) return ccw_failed_precondition("the Lua state that it was written in is closed");
  lua_State *thread = owner_borrow_thread(c->owner);
  if (thread) {
    const char *doing;
    call.thread = thread;
    call.name = ccw_call_running(&doing);
    current = &call;
    run_in(thread, &call);
    current = call.outer;
    end_loans(&call);
    owner_return_thread(c->owner, thread);
  } else {
    call.status = ccw_resource_exhausted("not enough memory");
  }
  owner_leave(c->owner);
  return call.status;
}

static void closure_free(void *context)
{
  closure *c = context;
  if (owner_enter(c->owner)) {
    luaL_unref(owner_main(c->owner), LUA_REGISTRYINDEX, c->functions);
    owner_leave(c->owner);
  }
  owner_release(c->owner);
  ccw_signature_release(c->signature);
  free(c);
}

static ccw_word family_of(ccw_word word)
{
  switch (word) {
#define FAMILY(NAME, family) \
  case CCW_WORD_##NAME: return CCW_WORD_##family;
    CCW_WORDS(FAMILY)
#undef FAMILY
  }
  return word;
}

/* The place of a parameter among those of its family. */
static int64_t place_of(const ccw_binding *binding, int64_t of)
{
  int64_t before = 0;
  for (int64_t i = 0; i < of; ++i)
    before += family_of(binding->parameters[i].word) == family_of(binding->parameters[of].word);
  return before;
}

/* handler(name, signature, order, functions) -> handler. `order` lists the parameters of the function as numbers of those of the
 * signature, from 1; `functions` holds the function at 0 and decoders by the number in that list. */
static int handler_new(lua_State *L)
{
  const char *name = check_text(L, 1);
  check_box(L, 2, CCW_SIGNATURE);
  luaL_checktype(L, 3, LUA_TTABLE);
  luaL_checktype(L, 4, LUA_TTABLE);
  void **box = new_box(L, CCW_HANDLER);
  int count = (int)lua_rawlen(L, 3);
  owner *o = owner_of(L);
  closure *c = malloc(sizeof *c + (size_t)count * sizeof *c->places);
  if (!c) return luaL_error(L, "not enough memory");
  ccw_signature *signature = check_box(L, 2, CCW_SIGNATURE);
  *c = (closure){
      .owner = owner_retain(o), .functions = LUA_NOREF, .signature = ccw_signature_retain(signature), .count = count};
  for (int i = 0; i < count; ++i) {
    lua_rawgeti(L, 3, i + 1);
    c->places[i].of = lua_tointeger(L, -1) - 1;
    c->places[i].in_family = place_of(ccw_signature_binding(signature), c->places[i].of);
    lua_pop(L, 1);
  }
  ccw_status status = ccw_handler_of_function(name, signature, call_lua, closure_free, c, (ccw_handler **)box);
  if (status.code) {
    closure_free(c);
    return raise_status(L, status, NULL, NULL);
  }
  lua_pushvalue(L, 4);
  c->functions = luaL_ref(L, LUA_REGISTRYINDEX);
  return 1;
}

void open_closures(lua_State *L)
{
  static const luaL_Reg functions[] = {{"handler", handler_new}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}

/* Handlers written in Lua: what their functions get, and how they are called. */
#include "jobs.h"

#include <stdlib.h>
#include <string.h>

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
  char *name; /* owned */
  bool makes_state;
  int count;
  binds places[];
} closure;

enum { MOST_NESTED = 64, MOST_ENTRIES = 1 << 20 };

/* ---- values of the frame ------------------------------------------------------------------------------------------- */

/* In the thread of a call: the functions' table, a list of the boxes of lent buffers, which keeps them, and the function. */
enum { FUNCTIONS = 1, BOXES, FUNCTION };

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

/* Before there is an executable there are types, and no content. */
static void push_type(lua_State *L, const ccw_shape *shape)
{
  void **box = new_box(L, CCW_TYPE);
  ccw_status status = ccw_type_of_shape(shape, (ccw_type **)box);
  if (status.code) raise_status(L, status, NULL, NULL);
}

static void push_operand(lua_State *L, const XLA_FFI_Buffer *buffer, const char *noun, int64_t place, const char *name)
{
  job *j = current_invocation->job;
  char label[64];
  ccw_shape shape;
  say_place(label, sizeof label, noun, place, name);
  ccw_status status = ccw_shape_make(buffer->dtype, buffer->dims, (int32_t)buffer->rank, &shape);
  if (status.code) raise_status(L, status, NULL, NULL);
  if (j->stage == XLA_FFI_ExecutionStage_INSTANTIATE)
    push_type(L, &shape);
  else
    job_lend(L, j, ccw_frame_device(j->frame), &shape, buffer->data, label, strcmp(noun, "arg") == 0, BOXES);
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
  job_lend(L, current_invocation->job, ccw_device_host(), &shape, array->data, label, true, BOXES);
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
  current_invocation->entries += attrs->size;
  if (current_invocation->entries > MOST_ENTRIES) luaL_error(L, "more than %d attributes", MOST_ENTRIES);
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

/* The id of a type of other code's, by the name under which it is registered. */
static ccw_status find_type(const char *name, XLA_FFI_TypeId *out_id)
{
  out_id->type_id = ccw_state_type_find(name, strlen(name));
  if (out_id->type_id) return ccw_ok();
  return ccw_failed_precondition("no type is registered as '%s'; register it, as in lib:type \"NAME\"", name);
}

/* Pushes the state of a stage: a value of Lua's, or where what another type has lies. */
static ccw_status push_state_of(
    lua_State *L, const XLA_FFI_CallFrame *frame, XLA_FFI_ExecutionStage stage, const char *type)
{
  void *state;
  XLA_FFI_TypeId id = lua_state_id;
  if (*type) CCW_TRY(find_type(type, &id));
  CCW_TRY(ccw_ask_state_(frame, stage, &id, &state));
  if (!*type) return push_state(L, state);
  lua_pushlightuserdata(L, state);
  return ccw_ok();
}

static ccw_status push_user_data(lua_State *L, const XLA_FFI_CallFrame *frame, const char *type)
{
  void *data;
  XLA_FFI_TypeId id;
  CCW_TRY(find_type(type, &id));
  CCW_TRY(ccw_ask_user_data_(frame, &id, &data));
  lua_pushlightuserdata(L, data);
  return ccw_ok();
}

static ccw_status push_what(lua_State *L, ccw_context what, const char *type)
{
  job *j = current_invocation->job;
  const XLA_FFI_CallFrame *frame = j->frame;
  void *stream;
  int64_t run_id;
  int32_t ordinal;
  const XLA_FFI_Attrs *options;
  ccw_kind unknown = {CCW_FORM_UNKNOWN, 0, NULL};
  switch ((int)what) {
  case CCW_CONTEXT_STREAM:
    CCW_TRY(ccw_ask_stream_(frame, &stream));
    if (ccw_frame_stream(frame))
      push_stream(L, ccw_frame_stream(frame));
    else
      lua_pushlightuserdata(L, stream);
    return ccw_ok();
  case CCW_CONTEXT_RUN_ID:
    CCW_TRY(ccw_ask_run_id_(frame, &run_id));
    lua_pushinteger(L, run_id);
    return ccw_ok();
  case CCW_CONTEXT_DEVICE_ORDINAL:
    CCW_TRY(ccw_ask_device_ordinal_(frame, &ordinal));
    lua_pushinteger(L, ordinal);
    return ccw_ok();
  case CCW_CONTEXT_CUSTOM_OPTIONS:
    CCW_TRY(ccw_ask_custom_options_(frame, &options));
    push_dictionary(L, options, unknown, 0);
    return ccw_ok();
  case CCW_CONTEXT_STATE: return push_state_of(L, frame, XLA_FFI_ExecutionStage_INSTANTIATE, type);
  case CCW_CONTEXT_PREPARED: return push_state_of(L, frame, XLA_FFI_ExecutionStage_PREPARE, type);
  case CCW_CONTEXT_INITIALIZED: return push_state_of(L, frame, XLA_FFI_ExecutionStage_INITIALIZE, type);
  case CCW_CONTEXT_USER_DATA: return push_user_data(L, frame, type);
  case CCW_CONTEXT_SCRATCH: push_scratch(L, j); return ccw_ok();
  case CCW_CONTEXT_THREADS: push_threads(L, j); return ccw_ok();
  default: return ccw_unimplemented("a handler in Lua has no such context");
  }
}

static void push_context(lua_State *L, const ccw_parameter *parameter, int64_t place)
{
  ccw_status status = push_what(L, parameter->context, ((const ccw_type_info *)parameter->kind.detail)->name);
  if (!status.code) return;
  ccw_status placed = ccw_invalid(
      "context %lld: %s: %s", (long long)place, ccw_name_of_context_(parameter->context), ccw_status_text(status));
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
  ccw_dictionary all = {&current_invocation->job->frame->attrs};
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
  const closure *c = current_invocation->closure;
  const XLA_FFI_CallFrame *frame = current_invocation->job->frame;
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

/* ---- the handler --------------------------------------------------------------------------------------------------- */

/* What the function returned, from FUNCTION on. */
static ccw_status take_returned(lua_State *L, const closure *c)
{
  if (c->makes_state) return keep_state(L, FUNCTION);
  bool is_promise = lua_gettop(L) == FUNCTION && kind_of(L, FUNCTION) == CCW_PROMISE;
  return is_promise ? return_promise(L, FUNCTION, BOXES) : outcome(L, FUNCTION);
}

/* In the thread of the call, protected: pushes the parameters and calls the function. */
static int run(lua_State *L)
{
  const closure *c = current_invocation->closure;
  luaL_checkstack(L, c->count + LUA_MINSTACK, NULL);
  lua_rawgeti(L, LUA_REGISTRYINDEX, c->functions);
  lua_createtable(L, c->count, 0);
  lua_rawgeti(L, FUNCTIONS, 0);
  for (int i = 1; i <= c->count; ++i) push_parameter(L, i);
  lua_call(L, c->count, LUA_MULTRET);
  current_invocation->status = take_returned(L, c);
  return 0;
}

/* The end of a function's call: everything that it has in use ends with it, but what a promise keeps. */
static ccw_status leave(job *j, ccw_status status)
{
  if (!j->promise) {
    job_finish_tasks(j, status.code);
    job_end_scratch(j);
    if (!status.code) {
      status = j->failure;
      j->failure = ccw_ok();
    }
    job_end_loans(j);
  }
  j->frame = NULL;
  return status;
}

static ccw_status call_owned(const closure *c, XLA_FFI_CallFrame *frame)
{
  invocation call;
  lua_State *thread = owner_borrow_thread(c->owner);
  job *j = thread ? job_new(c->owner, c->name, frame) : NULL;
  ccw_status status = invocation_begin(j, false, &call);
  if (j && !status.code) {
    call.thread = thread;
    call.closure = c;
    invocation_run(&call, run, 0);
    status = leave(j, call.status);
  } else if (!status.code) {
    status = ccw_resource_exhausted("not enough memory");
  }
  if (j) job_release(j);
  if (thread) owner_return_thread(c->owner, thread);
  return status;
}

/* What core calls, from any thread, with a frame that fits. */
static ccw_status call_lua(void *context, XLA_FFI_CallFrame *frame)
{
  closure *c = context;
  if (!owner_enter(c->owner)) return ccw_failed_precondition("the Lua state that it was written in is closed");
  ccw_status status = call_owned(c, frame);
  owner_leave(c->owner);
  return status;
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
  free(c->name);
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

static bool makes_state(const ccw_binding *binding)
{
  bool any = false;
  for (int64_t i = 0; i < binding->count; ++i) any |= binding->parameters[i].word == CCW_WORD_NEW_STATE;
  return any;
}

/* handler(name, signature, order, functions, stage) -> handler. `order` lists the parameters of the function as numbers of those of
 * the signature, from 1; `functions` holds the function at 0 and decoders by the number in that list. */
static int handler_new(lua_State *L)
{
  const char *name = check_text(L, 1);
  check_box(L, 2, CCW_SIGNATURE);
  luaL_checktype(L, 3, LUA_TTABLE);
  luaL_checktype(L, 4, LUA_TTABLE);
  XLA_FFI_ExecutionStage stage = check_stage(L, 5);
  void **box = new_box(L, CCW_HANDLER);
  int count = (int)lua_rawlen(L, 3);
  owner *o = owner_of(L);
  closure *c = malloc(sizeof *c + (size_t)count * sizeof *c->places);
  char *own_name = strdup(name);
  if (!c || !own_name) {
    free(c);
    free(own_name);
    return luaL_error(L, "not enough memory");
  }
  ccw_signature *signature = check_box(L, 2, CCW_SIGNATURE);
  *c = (closure){.owner = owner_retain(o),
      .functions = LUA_NOREF,
      .signature = ccw_signature_retain(signature),
      .name = own_name,
      .makes_state = makes_state(ccw_signature_binding(signature)),
      .count = count};
  for (int i = 0; i < count; ++i) {
    lua_rawgeti(L, 3, i + 1);
    c->places[i].of = lua_tointeger(L, -1) - 1;
    c->places[i].in_family = place_of(ccw_signature_binding(signature), c->places[i].of);
    lua_pop(L, 1);
  }
  ccw_status status = ccw_handler_of_function(
      name, signature, stage, c->makes_state ? &lua_state_id : NULL, call_lua, closure_free, c, (ccw_handler **)box);
  if (status.code) {
    closure_free(c);
    return raise_status(L, status, NULL, NULL);
  }
  lua_pushvalue(L, 4);
  c->functions = luaL_ref(L, LUA_REGISTRYINDEX);
  return 1;
}

/* current_stream() -> stream. Of the call whose handler runs in this thread; nothing where there is none. */
static int current_stream(lua_State *L)
{
  const XLA_FFI_CallFrame *frame = current_invocation ? current_invocation->job->frame : NULL;
  ccw_stream *stream = frame ? ccw_frame_stream(frame) : NULL;
  if (!stream) return 0;
  push_stream(L, stream);
  return 1;
}

void open_closures(lua_State *L)
{
  static const luaL_Reg functions[] = {{"handler", handler_new}, {"current_stream", current_stream}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}

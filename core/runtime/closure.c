#include <ffi.h>
#include <string.h>

#include <ccw/report.h>

#include "base/checked.h"
#include "base/text.h"
#include "call/frame.h"
#include "call/signature.h"
#include "runtime/handler.h"

/* A function with a binding that was declared at run time, and the code that makes a handler of it. */
typedef struct closure {
  ccw_count count;
  size_t size;
  ffi_closure *memory; /* owned; where the code is written */
  ffi_cif interface;
  ffi_type *parameters[1];
  ccw_binding binding;      /* the signature's, with name and handler, and without contexts */
  ccw_signature *signature; /* owned */
  ccw_function *function;
  void (*release)(void *context);
  void *context;
  const char *name;
  ccw_parameter bound[]; /* what the binding has, and the name behind it */
} closure;

/* ---- a call -------------------------------------------------------------------------------------------------------- */

/* Operands of a frame as shapes: a few without memory of its own. */
enum { FEW = 8 };

typedef struct shapes {
  ccw_shape few[FEW], *all;
  const ccw_shape *few_pointers[FEW], **pointers;
  size_t size; /* of the block that holds more of them; 0 */
} shapes;

static ccw_status shapes_make(shapes *s, const char *noun, int64_t count, void *const *buffers)
{
  s->all = s->few;
  s->pointers = s->few_pointers;
  s->size = 0;
  if (count > FEW) {
    s->size = (size_t)count * (sizeof *s->all + sizeof *s->pointers);
    s->all = ccw_allocate(s->size);
    if (!s->all) return ccw_no_memory(s->size);
    s->pointers = (const ccw_shape **)(s->all + count);
  }
  for (int64_t i = 0; i < count; ++i) {
    const XLA_FFI_Buffer *buffer = buffers[i];
    ccw_status status = ccw_shape_make(buffer->dtype, buffer->dims, (int32_t)buffer->rank, &s->all[i]);
    if (status.code) {
      char place[32];
      snprintf(place, sizeof place, "%s %lld", noun, (long long)i);
      return ccw_status_in(status, place);
    }
    s->pointers[i] = &s->all[i];
  }
  return ccw_ok();
}

static void shapes_free(shapes *s)
{
  if (s->size > 0) ccw_release(s->all, s->size);
}

/* What makes an operand one that a function cannot look at; NULL for nothing. */
static const char *flaw_of(int type, const XLA_FFI_Buffer *buffer, bool needs_data)
{
  if (type != XLA_FFI_ArgType_BUFFER) return "no buffer";
  if (!buffer) return "NULL";
  if (ccw_dtype_class(buffer->dtype) == CCW_CLASS_NONE) return "one of no dtype";
  if (buffer->rank < 0 || buffer->rank > CCW_MAX_RANK) return "one of a rank that is none";
  if (!ccw_is_sound_(buffer)) return "one without dims";
  int64_t count = 1;
  for (int64_t i = 0; i < buffer->rank; ++i) {
    if (buffer->dims[i] < 0) return "one with a dim below zero";
    if (buffer->dims[i] == 0) count = 0;
  }
  needs_data &= count > 0 && buffer->dtype != XLA_FFI_DataType_TOKEN;
  return needs_data && !buffer->data ? "one without data" : NULL;
}

/* Whether a binding binds any of a family, which is not looked at otherwise. */
static bool binds(const closure *c, const ccw_operands *family)
{
  bool any = false;
  for (int64_t i = 0; i < c->binding.count; ++i) any |= ccw_operands_order(family, c->binding.parameters[i].word) >= 0;
  return any;
}

/* Success where every operand of a family is a buffer that can be looked at. */
static ccw_status check_soundness(
    const closure *c, const ccw_operands *family, int64_t count, const void *types, void *const *operands)
{
  if (!binds(c, family)) return ccw_ok();
  if (count < 0) return ccw_invalid("expected %ss, got %lld of them", family->noun, (long long)count);
  if (count > 0 && !(types && operands)) return ccw_invalid("the frame lacks the arrays of its %ss", family->noun);
  for (int64_t i = 0; i < count; ++i) {
    bool needs_data = c->binding.stage != XLA_FFI_ExecutionStage_INSTANTIATE; /* which GPUs do with prototypes */
    const char *flaw = flaw_of(ccw_number_at_((const int *)types + i), operands[i], needs_data);
    if (flaw) return ccw_invalid("%s %lld: expected a buffer, got %s", family->noun, (long long)i, flaw);
  }
  return ccw_ok();
}

/* Whether a frame is what the signature says. One that is not even sound may be known to the report of its binding, which
 * tells all that is wrong. */
static ccw_status check(const closure *c, const XLA_FFI_CallFrame *frame)
{
  const XLA_FFI_Args *args = &frame->args;
  const XLA_FFI_Rets *rets = &frame->rets;
  ccw_status status = frame->stage == c->binding.stage ? ccw_ok() : ccw_check_frame_(frame, &c->binding);
  if (status.code) return status;
  status = check_soundness(c, &ccw_args, args->size, args->types, args->args);
  if (!status.code) status = check_soundness(c, &ccw_rets, rets->size, rets->types, rets->rets);
  char who[256];
  snprintf(who, sizeof who, "%s: %s", c->name, ccw_stage_name(frame->stage));
  if (status.code) {
    ccw_status report = ccw_check_frame_(frame, &c->binding);
    if (!report.code) return ccw_status_in(status, who);
    ccw_status_free(status);
    return report;
  }
  if (ccw_signature_fits(c->signature, frame)) return ccw_ok();
  bool has_args = binds(c, &ccw_args), has_rets = binds(c, &ccw_rets);
  shapes of_args = {.size = 0}, of_rets = {.size = 0};
  status = shapes_make(&of_args, "arg", has_args ? args->size : 0, args->args);
  if (!status.code) status = shapes_make(&of_rets, "result", has_rets ? rets->size : 0, rets->rets);
  if (status.code)
    status = ccw_status_in(status, who);
  else
    status = ccw_signature_check(c->signature, who, of_args.pointers, has_args ? args->size : 0, of_rets.pointers,
        has_rets ? rets->size : 0, &frame->attrs);
  shapes_free(&of_args);
  shapes_free(&of_rets);
  return status;
}

static XLA_FFI_Error *run(closure *c, XLA_FFI_CallFrame *frame)
{
  if (frame->struct_size != XLA_FFI_CallFrame_STRUCT_SIZE || frame->extension_start)
    return ccw_refuse_(frame, &c->binding);
  ccw_status status = check(c, frame);
  if (status.code) return ccw_send_(frame->api, status);
  status = c->function(c->context, frame);
  return status.code ? ccw_leave_(frame, &c->binding, status) : NULL;
}

/* The handler holds it, and each call that is under way: a handler may be released by the call that it runs in. */
static void closure_release(void *context)
{
  closure *c = context;
  if (!ccw_count_down(&c->count)) return;
  if (c->memory) ffi_closure_free(c->memory);
  if (c->release) c->release(c->context);
  ccw_signature_release(c->signature);
  ccw_release(c, c->size);
}

static void enter(ffi_cif *interface, void *result, void **arguments, void *context)
{
  (void)interface;
  XLA_FFI_CallFrame *frame;
  memcpy(&frame, arguments[0], sizeof frame);
  closure *c = context;
  ccw_count_up(&c->count);
  XLA_FFI_Error *error = run(c, frame);
  memcpy(result, &error, sizeof error);
  closure_release(c);
}

/* ---- making one ---------------------------------------------------------------------------------------------------- */

/* What a report on a frame looks at. Contexts are for the function to ask for: the text has their types as names, where a report
 * expects what C has. */
static void bind(closure *c)
{
  for (int64_t i = 0; i < c->binding.count; ++i) {
    c->bound[i] = c->binding.parameters[i];
    if (c->bound[i].word == CCW_WORD_CTX) c->bound[i].word = CCW_WORD_TRAIT;
  }
  c->binding.parameters = c->bound;
}

/* A stage may need a later version than what it binds: record itself, and state of stages on GPUs. */
static int minor_of_stage(XLA_FFI_ExecutionStage stage, bool makes_state)
{
  if (stage == XLA_FFI_ExecutionStage_RECORD) return 4;
  return makes_state && stage != XLA_FFI_ExecutionStage_INSTANTIATE ? 3 : 1;
}

static ccw_status closure_make(const char *name, ccw_signature *signature, XLA_FFI_ExecutionStage stage,
    const XLA_FFI_TypeId *state, ccw_function *function, closure **out_closure)
{
  size_t bound = (size_t)ccw_signature_binding(signature)->count * sizeof(ccw_parameter);
  size_t length = strlen(name), size = sizeof(closure) + bound + length + 1;
  closure *c = ccw_allocate(size);
  if (!c) return ccw_no_memory(size);
  *c = (closure){.count = 1,
      .size = size,
      .parameters = {&ffi_type_pointer},
      .binding = *ccw_signature_binding(signature),
      .signature = ccw_signature_retain(signature),
      .function = function};
  c->name = memcpy((char *)c->bound + bound, name, length + 1);
  bind(c);
  void *code;
  c->memory = ffi_closure_alloc(sizeof *c->memory, &code);
  if (!c->memory || ffi_prep_cif(&c->interface, FFI_DEFAULT_ABI, 1, &ffi_type_pointer, c->parameters) != FFI_OK ||
      ffi_prep_closure_loc(c->memory, &c->interface, enter, c, code) != FFI_OK) {
    closure_release(c);
    return ccw_resource_exhausted("%s: no memory for code", name);
  }
  c->binding.name = c->name;
  c->binding.stage = stage;
  c->binding.state = state;
  int minor = minor_of_stage(stage, state != NULL);
  if (minor > c->binding.minor) c->binding.minor = minor;
  memcpy(&c->binding.handler, &code, sizeof code);
  *out_closure = c;
  return ccw_ok();
}

ccw_status ccw_handler_of_function(const char *name, ccw_signature *signature, XLA_FFI_ExecutionStage stage,
    const XLA_FFI_TypeId *state, ccw_function *function, void (*release)(void *context), void *context,
    ccw_handler **out_handler)
{
  closure *c;
  CCW_TRY(closure_make(name, signature, stage, state, function, &c));
  XLA_FFI_Handler_Bundle bundle = {.execute = c->binding.handler};
  ccw_status status = ccw_handler_new(name, &bundle, 0, NULL, out_handler);
  if (status.code) {
    closure_release(c);
    return status;
  }
  c->release = release; /* not before nothing can fail any more */
  c->context = context;
  ccw_handler_end_with(*out_handler, closure_release, c);
  ccw_handler_set_signature(*out_handler, signature);
  return ccw_ok();
}

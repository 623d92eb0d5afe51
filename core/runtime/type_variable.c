#include "runtime/type_variable.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "runtime/foreign.h"
#include "runtime/state_type.h"
#include "runtime/symbols.h"

static const char our_id[] = "ccw_type_id_", our_info[] = "ccw_type_info_";

typedef struct listing {
  void *handle;
  uintptr_t base;
  ccw_type_variable *variables;
  ccw_status status;
} listing;

/* The type whose id is in the variable of that symbol; false where it is no such variable. */
static bool type_of(const char *symbol, size_t size, char *out_type, size_t room, bool *out_is_ours)
{
  static const char id[] = "::id";
  if (size != sizeof(XLA_FFI_TypeId)) return false;
  *out_is_ours = strncmp(symbol, our_id, sizeof our_id - 1) == 0;
  if (*out_is_ours) return snprintf(out_type, room, "%s", symbol + sizeof our_id - 1) < (int)room;
  static const char member[] = "_ZN", of_std[] = "_ZNSt",
                    of_gnu[] = "_ZN9__gnu_cxx"; /* locales have ids of that size, too */
  bool is_member = strncmp(symbol, member, sizeof member - 1) == 0;
  bool is_others = strncmp(symbol, of_std, sizeof of_std - 1) == 0 || strncmp(symbol, of_gnu, sizeof of_gnu - 1) == 0;
  char *name = is_member && !is_others ? ccw_demangle(symbol) : NULL;
  size_t length = name ? strlen(name) : 0;
  bool is_id = length >= sizeof id && length < room && strcmp(name + length - (sizeof id - 1), id) == 0;
  if (is_id) snprintf(out_type, room, "%.*s", (int)(length - (sizeof id - 1)), name);
  free(name);
  return is_id;
}

/* In the order of types; one symbol may be in two tables. */
static void insert(listing *to, ccw_type_variable *variable)
{
  ccw_type_variable **at = &to->variables;
  while (*at && strcmp((*at)->type, variable->type) < 0) at = &(*at)->next;
  if (*at && (*at)->id == variable->id) {
    ccw_release(variable, variable->size);
    return;
  }
  variable->next = *at;
  *at = variable;
}

/* Where a variable is: the library's own may be another's. */
static void *place_of(const listing *in, const ccw_data_symbol *symbol)
{
  void *shared = symbol->is_unique ? dlsym(in->handle, symbol->name) : NULL;
  return shared ? shared : (void *)(in->base + symbol->address);
}

static bool add_variable(void *context, const ccw_data_symbol *symbol)
{
  listing *to = context;
  char type[512];
  bool is_ours;
  if (!type_of(symbol->name, symbol->size, type, sizeof type, &is_ours)) return true;
  size_t type_size = strlen(type) + 1, symbol_size = strlen(symbol->name) + 1;
  size_t block = sizeof(ccw_type_variable) + type_size + symbol_size;
  ccw_type_variable *variable = ccw_allocate(block);
  if (!variable) {
    to->status = ccw_no_memory(block);
    return false;
  }
  char *texts = (char *)(variable + 1);
  *variable = (ccw_type_variable){.size = block,
      .type = memcpy(texts, type, type_size),
      .symbol = memcpy(texts + type_size, symbol->name, symbol_size),
      .id = place_of(to, symbol),
      .is_ours = is_ours};
  insert(to, variable);
  return true;
}

bool ccw_type_variable_has_info(const ccw_type_variable *variable, const char *symbol)
{
  if (variable->is_ours)
    return strncmp(symbol, our_info, sizeof our_info - 1) == 0 &&
           strcmp(symbol + sizeof our_info - 1, variable->type) == 0;
  static const char id[] = "2idE", info[] = "4infoE"; /* as they end when they are mangled */
  size_t shared = strlen(variable->symbol) - (sizeof id - 1);
  return strncmp(symbol, variable->symbol, shared) == 0 && strcmp(symbol + shared, info) == 0;
}

static bool add_info(void *context, const ccw_data_symbol *symbol)
{
  const listing *to = context;
  if (symbol->size < sizeof(XLA_FFI_TypeInfo)) return true;
  for (ccw_type_variable *v = to->variables; v; v = v->next)
    if (ccw_type_variable_has_info(v, symbol->name)) v->info = place_of(to, symbol);
  return true;
}

ccw_status ccw_type_variables_read(const char *path, void *handle, uintptr_t base, ccw_type_variable **out_variables)
{
  listing to = {.handle = handle, .base = base};
  ccw_status_free(ccw_symbols_visit_data(path, add_variable, &to));
  if (to.variables && !to.status.code) ccw_status_free(ccw_symbols_visit_data(path, add_info, &to));
  if (to.status.code)
    ccw_type_variables_free(to.variables);
  else
    *out_variables = to.variables;
  return to.status;
}

void ccw_type_variables_free(ccw_type_variable *variables)
{
  while (variables) {
    ccw_type_variable *next = variables->next;
    ccw_release(variables, variables->size);
    variables = next;
  }
}

ccw_type_variable *ccw_type_variable_find(ccw_type_variable *variables, const char *type)
{
  ccw_type_variable *v = variables;
  while (v && strcmp(v->type, type) != 0) v = v->next;
  return v;
}

/* ---- what is registered ---------------------------------------------------------------------------------------------- */

/* Adds the name under which a type of a library is to be registered: its own or, where another type has that, with the name of
 * the library in front. */
static ccw_status name_type(const char *path, const ccw_type_variable *v, ccw_text *out_name)
{
  int64_t taken = ccw_state_type_find(v->type, strlen(v->type));
  if (taken && taken != v->id->type_id) ccw_text_add(out_name, "%s: ", ccw_base_name(path));
  ccw_text_add(out_name, "%s", v->type);
  taken = ccw_state_type_find(ccw_text_data(out_name), out_name->length);
  if (taken && taken != v->id->type_id) ccw_text_add(out_name, " at %p", (void *)v->id);
  return ccw_text_status(out_name);
}

ccw_status ccw_type_variable_register(const char *path, ccw_type_variable *v)
{
  ccw_text name = {0};
  ccw_status status = name_type(path, v, &name);
  if (!status.code) status = ccw_state_type_register(ccw_text_data(&name), name.length, v->id, v->info);
  ccw_text_free(&name);
  return status;
}

void ccw_type_variables_say_unregistered(const ccw_type_variable *variables, ccw_text *text)
{
  const ccw_type_variable *first = NULL;
  int64_t count = 0;
  for (const ccw_type_variable *v = variables; v; v = v->next) {
    if (v->id->type_id != 0) continue;
    if (count++ == 0) first = v;
  }
  if (count == 0)
    ccw_text_add(text, "; register it: " CCW_REGISTER_BY_SYMBOL, "NAME");
  else if (count == 1)
    ccw_text_add(text, "; register it: lib:type \"%s\"", first->type);
  else
    ccw_text_add(text, "; register it, as in lib:type \"NAME\"; not registered in its library: %s", first->type);
  for (const ccw_type_variable *v = count > 1 ? first->next : NULL; v; v = v->next)
    if (v->id->type_id == 0) ccw_text_add(text, ", %s", v->type);
}

/* The name of the type that a parameter is about; NULL where it is about none. */
static const char *type_of_parameter(const ccw_parameter *parameter)
{
  bool has_type = parameter->word == CCW_WORD_NEW_STATE;
  if (parameter->word == CCW_WORD_CTX) switch (parameter->context) {
    case CCW_CONTEXT_STATE:
    case CCW_CONTEXT_PREPARED:
    case CCW_CONTEXT_INITIALIZED:
    case CCW_CONTEXT_USER_DATA: has_type = true; break;
    default: break;
    }
  return has_type ? ((const ccw_type_info *)parameter->kind.detail)->name : NULL;
}

/* Types of an anonymous namespace may share a name: one that is not registered is enough. */
static bool is_unregistered(const ccw_type_variable *variables, const char *type)
{
  for (const ccw_type_variable *v = variables; v; v = v->next)
    if (strcmp(v->type, type) == 0 && v->id->type_id == 0) return true;
  return false;
}

ccw_status ccw_type_variables_check(const ccw_type_variable *variables, const ccw_signature *signature)
{
  const ccw_binding *binding = ccw_signature_binding(signature);
  for (int64_t i = 0; i < binding->count; ++i) {
    const char *type = type_of_parameter(&binding->parameters[i]);
    if (type && is_unregistered(variables, type))
      return ccw_failed_precondition(
          "it binds the type '%s', which is not registered; register it: lib:type \"%s\"", type, type);
  }
  return ccw_ok();
}

void ccw_type_variables_invent(ccw_type_variable *variables)
{
  static int64_t last = INT64_C(1) << 40;
  for (ccw_type_variable *v = variables; v; v = v->next)
    if (v->id->type_id == 0) v->id->type_id = ++last;
}

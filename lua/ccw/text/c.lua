--- A call as a program in C that makes it.
local core = require "ccw.core"
local errors = require "ccw.errors"
local sorted = require "ccw.text.attribute".sorted
local contents = require "ccw.text.contents"

local M = {}

-- ---- literals ---------------------------------------------------------------------------------------------------------

--- A literal of any bytes. Octal escapes end after three digits, whatever comes then; "??" would begin a trigraph.
local function quote(bytes)
  return ('"%s"'):format((bytes:gsub('["\\?%c\x7F-\xFF]', function(c)
    return c:find '["\\?]' and "\\" .. c or ("\\%03o"):format(c:byte())
  end)))
end

--- A float, exactly.
local function float(x)
  if x ~= x then return "NAN" end
  if x == math.huge or x == -math.huge then return x > 0 and "INFINITY" or "-INFINITY" end
  return ("%a"):format(x)
end

local function integer(x)
  if core.kind(x) == "scalar" then return ("UINT64_C(%s)"):format(tostring(x):match "%d+%f[)]") end -- a u64 above 2^63
  return x == math.mininteger and "INT64_MIN" or ("%d"):format(x)
end

--- A number as C has it.
local function number(x)
  if type(x) == "boolean" then return tostring(x) end
  return math.type(x) == "float" and float(x) or integer(x)
end

local dtypes = core.dtypes()

--- The type of C of a dtype that attributes have, and the member of ccw_scalar that holds one.
local function c_type(dtype)
  local info = dtypes[dtype]
  if info.class == "PRED" then return "bool", "pred" end
  if info.class == "FLOAT" then return info.bits == 32 and "float" or "double", "f" end
  if info.class == "SIGNED" then return ("int%d_t"):format(info.bits), "s" end
  return ("uint%d_t"):format(info.bits), "u"
end

local function c_dtype(dtype) return "XLA_FFI_DataType_" .. dtype:upper() end

-- ---- attributes -------------------------------------------------------------------------------------------------------

--- A ccw_scalar.
local function scalar(value)
  local dtype = type(value) == "boolean" and "pred" or math.type(value) == "integer" and "s64" or "f64"
  if core.kind(value) == "scalar" then dtype, value = value.dtype, value.value end
  local _, member = c_type(dtype)
  return ("(ccw_scalar){%s, {.%s = %s}}"):format(c_dtype(dtype), member, number(value))
end

--- A dtype, a pointer to elements and their count.
local function array(buffer)
  local items = {}
  for i = 1, buffer.count do items[i] = number(buffer.flat[i]) end
  local elements = #items > 0 and ("(const %s[]){%s}"):format(c_type(buffer.dtype), table.concat(items, ", ")) or "NULL"
  return ("%s, %s, %d"):format(c_dtype(buffer.dtype), elements, #items)
end

local DICTIONARY = [[
static ccw_status NAME(ccw_attributes **out_attributes)
{
  ccw_attributes_builder *builder;
INNER  CCW_TRY(ccw_attributes_begin(&builder));
ATTRIBUTES  return ccw_attributes_finish(builder, out_attributes);
}

]]

local INNER = "  ccw_attributes *inner;\n"

--- A template with the words that are keys of `values` replaced.
local function fill(template, values) return (template:gsub("%u+", values)) end

local add_dictionary

--- The lines that add an attribute to a dictionary.
local function attribute(name, value, functions)
  local kind = core.kind(value) or type(value)
  local where = ("builder, %s, %d, "):format(quote(name), #name)
  if kind == "table" then
    return ("  CCW_TRY(%s(&inner));\n  CCW_TRY(ccw_attributes_add_dictionary(%sinner));\n  ccw_attributes_release(inner);\n")
      :format(add_dictionary(value, functions), where)
  end
  local what = kind == "string" and "string" or kind == "buffer" and "array" or "scalar"
  local given = kind == "string" and ("%s, %d"):format(quote(value), #value) or kind == "buffer" and array(value) or scalar(value)
  return ("  CCW_TRY(ccw_attributes_add_%s(%s%s));\n"):format(what, where, given)
end

--- Adds a function that makes a dictionary, behind those of the dictionaries in it, and gives its name.
function add_dictionary(dictionary, functions)
  local lines, has_inner = {}, false
  for i, name in ipairs(sorted(dictionary)) do
    lines[i] = attribute(name, dictionary[name], functions)
    has_inner = has_inner or type(dictionary[name]) == "table"
  end
  local name = "make_attributes_" .. #functions
  functions[#functions + 1] = fill(DICTIONARY, { NAME = name, INNER = has_inner and INNER or "", ATTRIBUTES = table.concat(lines) })
  return name
end

-- ---- the program ------------------------------------------------------------------------------------------------------

local PROGRAM = [[
/* Made by ccw: a call of OPERANDTYPES -> RESULTTYPES.
 *   cc call.c $(pkg-config --cflags --libs ccw) -o call
 *   ./call LIBRARY [SYMBOL] */
#include <ccw/ccw.h>
#include <math.h>
#include <stdio.h>

enum { OPERANDS = OPERANDCOUNT, RESULTS = RESULTCOUNT };

static const char *const operand_types[] = {OPERANDLIST NULL};
static const char *const result_types[] = {RESULTLIST NULL};

DICTIONARIES/* New buffers of these types, zeroed. */
static ccw_status make_buffers(const char *const *types, int64_t count, ccw_buffer **buffers)
{
  for (int64_t i = 0; i < count; ++i) {
    ccw_shape shape;
    CCW_TRY(ccw_shape_parse(types[i], strlen(types[i]), &shape));
    CCW_TRY(ccw_buffer_new(&shape, true, &buffers[i]));
  }
  return ccw_ok();
}

/* Prints the type and the first elements. */
static void print_buffer(const ccw_buffer *buffer)
{
  enum { MOST = 16 };
  const ccw_shape *shape = ccw_buffer_shape(buffer);
  ccw_text text = {0};
  ccw_shape_print(shape, &text);
  for (int64_t i = 0; i < shape->count && i < MOST && shape->dtype != XLA_FFI_DataType_TOKEN; ++i) {
    ccw_text_add(&text, i ? ", " : " ");
    ccw_scalar_print(ccw_buffer_get(buffer, i), &text);
  }
  printf("%s%s\n", ccw_text_data(&text), shape->count > MOST ? ", ..." : "");
  ccw_text_free(&text);
}

static ccw_status run(const char *path, const char *symbol)
{
  ccw_library *library;
  ccw_handler *handler;
  ccw_buffer *operands[OPERANDS + 1], *results[RESULTS + 1];
  ccw_attributes *attributes;
  ccw_call *call;
  CCW_TRY(ccw_library_open(path, &library));
  CCW_TRY(ccw_library_handler(library, symbol, &handler));
  CCW_TRY(make_buffers(operand_types, OPERANDS, operands));
  CCW_TRY(make_buffers(result_types, RESULTS, results));
  /* Operands go here: ccw_buffer_data(operands[0]) is where the elements of the first are. */
  CCW_TRY(ATTRIBUTES(&attributes));
OPTIONS  CCW_TRY(ccw_call_prepare(handler, operands, OPERANDS, results, RESULTS, attributes, &options, &call));
  CCW_TRY(ccw_call_run(call));
  for (int64_t i = 0; i < RESULTS; ++i) print_buffer(results[i]);
  ccw_call_free(call);
  ccw_attributes_release(attributes);
  for (int64_t i = 0; i < OPERANDS; ++i) ccw_buffer_release(operands[i]);
  for (int64_t i = 0; i < RESULTS; ++i) ccw_buffer_release(results[i]);
  ccw_handler_release(handler);
  ccw_library_release(library);
  return ccw_ok();
}

int main(int argc, char **argv)
{
  ccw_status status = argc > 1 ? run(argv[1], argc > 2 ? argv[2] : TARGET) : ccw_invalid("expected the path of a library");
  printf("%s %s\n", ccw_code_name(status.code), ccw_status_text(status));
  return status.code;
}
]]

--- Types as strings of C, each with a comma behind.
local function type_list(types)
  local list = {}
  for i, type in ipairs(types) do list[i] = quote(tostring(type)) .. "," end
  return table.concat(list, " ")
end

--- The line that declares the options.
local function options(description)
  local given, aliases = {}, {}
  for i, alias in ipairs(contents.aliases(description)) do aliases[i] = ("{%d, %d}"):format(alias[1], alias[2]) end
  if #aliases > 0 then
    given[1] = (".aliases = (const ccw_alias[]){%s}, .alias_count = %d"):format(table.concat(aliases, ", "), #aliases)
  end
  if description.has_side_effect then given[#given + 1] = ".has_side_effect = true" end
  return ("  ccw_call_options options = {%s};\n"):format(#given > 0 and table.concat(given, ", ") or "0")
end

--- Refuses what no handler could receive.
local function check(description)
  local function unable(format, ...) errors.raise("UNIMPLEMENTED", ("c: " .. format):format(...)) end
  local version = description.api_version or 4
  if version ~= 4 then unable("api_version %d: only 4, the typed FFI, is spoken here", version) end
  if #(description.called_computations or {}) > 0 then unable "there are no computations for a handler to call" end
  local is_other = contents.layouts(description.operand_layouts) or contents.layouts(description.result_layouts)
  if is_other then unable "arrays are row-major here" end
  if description.target:find "\0" then errors.raise("INVALID_ARGUMENT", "c: a target with a NUL in it can be the name of no symbol") end
end

--- write(description) -> string. A program in C that loads a library, makes operands that are zero, runs the call and prints its results.
-- Its lines are as long as what they hold. What a compiler reads and no handler (sharding, frontend attributes, schedule) is left
-- out. INVALID_ARGUMENT, UNIMPLEMENTED: what no handler can receive, and a target that is the name of no symbol.
function M.write(description)
  check(description)
  local operands, results, functions = contents.operands(description), contents.results(description), {}
  local attributes = add_dictionary(contents.attributes(description), functions)
  return fill(PROGRAM, {
    OPERANDTYPES = ("(%s)"):format(contents.listed(operands)), RESULTTYPES = ("(%s)"):format(contents.listed(results)),
    OPERANDCOUNT = #operands, RESULTCOUNT = #results,
    OPERANDLIST = type_list(operands), RESULTLIST = type_list(results),
    DICTIONARIES = table.concat(functions), ATTRIBUTES = attributes, OPTIONS = options(description), TARGET = quote(description.target),
  })
end

return M

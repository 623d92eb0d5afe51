--- A call as Python that makes it in JAX.
local core = require "ccw.core"
local errors = require "ccw.errors"
local array = require "ccw.array"
local sorted = require "ccw.text.attribute".sorted
local contents = require "ccw.text.contents"

local M = {}

local function unable(format, ...) errors.raise("UNIMPLEMENTED", ("jax: " .. format):format(...)) end

-- ---- dtypes -----------------------------------------------------------------------------------------------------------

local dtypes = core.dtypes()

--- Python's names of dtypes: numpy's, or JAX's for what numpy has not.
local python_dtypes = { pred = "np.bool_", bf16 = "jnp.bfloat16", c64 = "np.complex64", c128 = "np.complex128" }
for name, info in pairs(dtypes) do
  local kind = ({ SIGNED = "int", UNSIGNED = "uint", FLOAT = "float" })[info.class]
  local behind = name:match "^f%d+(e.*)$"
  if kind and not python_dtypes[name] and info.bits > 1 then
    local from = (behind or info.bits < 8) and "jnp" or "np"
    python_dtypes[name] = ("%s.%s%d%s"):format(from, kind, info.bits, behind and "_" .. behind or "")
  end
end

local function python_dtype(dtype) return python_dtypes[dtype] or unable("it has no dtype %s", dtype) end

--- Whether JAX makes narrower arrays of these unless it is told not to.
local function is_wide(type)
  local info = dtypes[type.dtype]
  return info.bits == (info.class == "COMPLEX" and 128 or 64)
end

-- ---- literals ---------------------------------------------------------------------------------------------------------

local function escape(c)
  if c == '"' or c == "\\" then return "\\" .. c end
  return #c == 1 and ("\\x%02x"):format(c:byte()) or ("\\U%08x"):format(utf8.codepoint(c))
end

--- A literal of any bytes: a string or, of what is no UTF-8, bytes, which JAX takes for a string too.
local function quote(bytes)
  if utf8.len(bytes) then return ('"%s"'):format((bytes:gsub('["\\%c]', escape):gsub("[\xC2-\xF4][\x80-\xBF]+", escape))) end
  return ('b"%s"'):format((bytes:gsub('["\\%c\x80-\xFF]', escape)))
end

--- A name, of which JAX wants text.
local function quote_name(name, what)
  if not utf8.len(name) then unable("%s %s: its names are UTF-8", what, core.quote(name)) end
  return quote(name)
end

--- An element as Python reads it: the text that is shortest, which has no word for infinities.
local function element(buffer, i)
  local text = core.element_text(buffer, i)
  return text:find "inf" and ('float("%s")'):format(text) or text
end

local function has_nan(buffer)
  for i = 1, buffer.count do
    local x = buffer.flat[i]
    if x ~= x then return true end
  end
  return false
end

--- The elements as a list in Python, and the dtype that makes an array of it. Where there is a nan they are unsigned integers of the same
--- bits: one nan is not another.
local function elements(buffer)
  local list, dtype = {}, buffer.dtype
  if has_nan(buffer) then
    dtype = "u" .. dtypes[dtype].bits
    buffer = core.buffer(("%s[%d]"):format(dtype, buffer.count)):set_bytes(buffer:bytes())
  end
  for i = 1, buffer.count do list[i] = element(buffer, i - 1) end
  return list, python_dtype(dtype)
end

--- What makes an array of bits one of floats.
local function view(made_of, dtype) return made_of ~= python_dtype(dtype) and (".view(%s)"):format(python_dtype(dtype)) or "" end

local function tuple(items) return ("(%s%s)"):format(table.concat(items, ", "), #items == 1 and "," or "") end

--- A number with its dtype, a plain one where that is what JAX makes of it.
local function scalar(value)
  if type(value) == "boolean" then return value and "True" or "False" end
  local dtype = core.kind(value) == "scalar" and value.dtype or math.type(value) == "integer" and "s64" or "f64"
  local is_large = dtype == "u64" and core.kind(value.value) == "scalar"
  if is_large then unable("it takes no u64 of 2^63 or more as an attribute, got %s", value) end
  local list, made_of = elements(array.array(dtype .. "[1]", value))
  if made_of == "np.int64" then return list[1] end
  if made_of == "np.float64" then return list[1]:find "[.ef]" and list[1] or list[1] .. ".0" end
  return ("%s(%s)"):format(made_of, list[1]) .. view(made_of, dtype)
end

--- Words that no keyword argument can be: those of Python, and a parameter of a function of JAX that gets all of them.
local taken = { ctx = true }
for word in ([[False None True and as assert async await break class continue def del elif else except finally for from global if import in
  is lambda nonlocal not or pass raise return try while with yield]]):gmatch "%S+" do taken[word] = true end

local dictionary

--- The value of an attribute. JAX keeps attributes as keys of a table, and can do so with arrays and dictionaries that are no part of
--- another; those that are become such that know how: Array, Dict.
local function value_text(value, is_inner)
  if type(value) == "string" then return quote(value) end
  if core.kind(value) == "buffer" then
    local list, made_of = elements(value)
    local text = ("np.array([%s], %s)%s"):format(table.concat(list, ", "), made_of, view(made_of, value.dtype))
    if value.rank ~= 1 then text = ("%s.reshape(%s)"):format(text, tuple(value.dims)) end
    return text .. (is_inner and ".view(Array)" or "")
  end
  if type(value) ~= "table" then return scalar(value) end
  return is_inner and ("Dict(%s)"):format(dictionary(value)) or dictionary(value)
end

function dictionary(attributes)
  local items = {}
  for i, name in ipairs(sorted(attributes)) do
    items[i] = ("%s: %s"):format(quote_name(name, "attribute"), value_text(attributes[name], true))
  end
  return ("{%s}"):format(table.concat(items, ", "))
end

--- Keyword arguments, behind those that stand there already; names that no keyword can be come in a dictionary.
local function add_keywords(attributes, list)
  local odd = {}
  for _, name in ipairs(sorted(attributes)) do
    local value = value_text(attributes[name], false)
    if name == "ctx" then unable "an attribute 'ctx': its own function has a parameter of that name" end
    if name:find "^[%a_][%w_]*$" and not taken[name] then
      list[#list + 1] = name .. "=" .. value
    else
      odd[#odd + 1] = quote_name(name, "attribute") .. ": " .. value
    end
  end
  if #odd > 0 then list[#list + 1] = ("**{%s}"):format(table.concat(odd, ", ")) end
end

-- ---- the call ---------------------------------------------------------------------------------------------------------

--- What JAX wants to know of a result.
local function result_text(type)
  if type.dtype == "token" then return "abstract_token" end
  return ("jax.ShapeDtypeStruct(%s, %s)"):format(tuple(type.dims), python_dtype(type.dtype))
end

--- The results: one, or several.
local function results_text(description, types)
  local texts = {}
  for i, type in ipairs(types) do texts[i] = result_text(type) end
  local whole = core.type(description.results or "()")
  if whole.dims then return texts[1] end
  for i = 1, #whole do
    if not whole[i].dims then unable("it has no tuple as one of several results, got %s", whole) end
  end
  return tuple(texts)
end

--- Layouts as tuples in a list or, for results of which there is one, a tuple; nothing where all are row-major.
local function layouts_text(name, given, is_one)
  local texts, layouts = {}, contents.layouts(given)
  if not layouts then return nil end
  for i, order in ipairs(layouts) do texts[i] = tuple(order) end
  return ("%s=%s"):format(name, is_one and texts[1] or ("[%s]"):format(table.concat(texts, ", ")))
end

--- What is said of the call besides its operands, results and attributes.
local function options_text(description)
  local list, shared, is_shared = {}, {}, {}
  if description.has_side_effect then list[1] = "has_side_effect=True" end
  for _, alias in ipairs(contents.aliases(description)) do
    local result, operand = alias[1], alias[2]
    if is_shared[operand] then unable("arg %d is aliased by more than one result", operand) end
    is_shared[operand] = true
    shared[#shared + 1] = ("%d: %d"):format(operand, result)
  end
  if #shared > 0 then list[#list + 1] = ("input_output_aliases={%s}"):format(table.concat(shared, ", ")) end
  list[#list + 1] = layouts_text("input_layouts", description.operand_layouts)
  list[#list + 1] = layouts_text("output_layouts", description.result_layouts, core.type(description.results or "()").dims)
  if description.api_version and description.api_version ~= 4 then
    list[#list + 1] = ("custom_call_api_version=%d, legacy_backend_config=%s"):format(description.api_version,
      quote(description.backend_config or ""))
  end
  return #list > 0 and ", " .. table.concat(list, ", ") or ""
end

local ARRAY = [[
class Array(np.ndarray):
    __hash__ = lambda a: hash(a.tobytes())
    __eq__ = lambda a, b: (a.dtype, a.tobytes()) == (b.dtype, b.tobytes())
]]
local DICT = [[
class Dict(dict):
    __hash__ = lambda d: hash(repr(d))
]]

--- The lines that have to come before the call.
local function preamble(call, operands, results)
  local lines = { "import jax" .. (call:find("jnp.", 1, true) and ", jax.numpy as jnp" or "") ..
    (call:find("np.", 1, true) and ", numpy as np" or "") .. "\n" }
  if call:find("abstract_token", 1, true) then
    lines[#lines + 1] = "from jax._src.core import abstract_token\n" -- there is no public name for it
  end
  for _, type in ipairs(table.move(results, 1, #results, #operands + 1, table.move(operands, 1, #operands, 1, {}))) do
    if is_wide(type) then
      lines[#lines + 1] = 'jax.config.update("jax_enable_x64", True)\n'
      break
    end
  end
  if call:find(".view(Array)", 1, true) then lines[#lines + 1] = ARRAY end
  if call:find("Dict(", 1, true) then lines[#lines + 1] = DICT end
  for i, type in ipairs(operands) do lines[#lines + 1] = ("# x%d: %s\n"):format(i - 1, type) end
  return table.concat(lines)
end

--- write(description) -> string. Lines of Python whose last makes the call with jax.ffi.ffi_call, of arrays x0, x1 and so on, and calls
-- what comes back y. What a compiler reads and no handler (sharding, frontend attributes, schedule) is left out. UNIMPLEMENTED: what JAX
-- cannot say.
function M.write(description)
  if description.called_computations and #description.called_computations > 0 then unable "it calls no computations from a handler" end
  local operands, results = contents.operands(description), contents.results(description)
  for i, text in ipairs(description.operands or {}) do
    if not core.type(text).dims then unable("it has no tuple as an operand, got %s as arg %d", text, i - 1) end
  end
  local arguments = {}
  for i = 1, #operands do arguments[i] = "x" .. i - 1 end
  add_keywords(contents.attributes(description), arguments)
  local call = ("y = jax.ffi.ffi_call(%s, %s%s)(%s)\n"):format(quote_name(description.target, "target"),
    results_text(description, results), options_text(description), table.concat(arguments, ", "))
  return preamble(call, operands, results) .. call
end

return M

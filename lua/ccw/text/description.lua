--- Descriptions: custom calls that were read from text, as values to change, to run and to write.
local core = require "ccw.core"
local errors = require "ccw.errors"
local array = require "ccw.array"
local attributes = require "ccw.attributes"
local call = require "ccw.call"
local versions = require "ccw.text.parts".versions

local M = {}

local loaded = {}

--- The modules that read and write. They need LPeg, without which the rest of ccw works.
local function need(name)
  if loaded[name] then return loaded[name] end
  if not pcall(require, "lpeg") then
    errors.raise("UNIMPLEMENTED", "to read and write calls as text ccw needs LPeg for Lua 5.4, which is not there (Debian: lua-lpeg)")
  end
  loaded[name] = require("ccw.text." .. name)
  return loaded[name]
end

--- description: a custom call that was read from a text, to be changed, run and written.
-- Fields, all to be changed: target; operands, a list of types, "f32[2,3]", a tuple being "(f32[2], s32[])"; results, one type or a
-- tuple; attributes, a table as for ccw.call, of just these types, as d:text() writes them: a plain 2 is s64, and no f32 for a handler
-- that binds one; aliases, {[result] = operand}, counted in the frame from 0; has_side_effect; api_version, 4
-- for the typed FFI, of others backend_config is the opaque text; operand_layouts and result_layouts, a list {1, 0} for each array, the
-- fastest dim first; called_computations, sharding, frontend_attributes, schedule; mlir and hlo, what else only one of the two says;
-- name and operand_names, of the text that it was in. d.unsupported lists what no handler can receive, {path = ..., why = ...}, as the
-- description is now. Methods: d:call(handler, operands), d:prepare(handler, operands), d:text(form). Two are equal when all but
-- their names are.
local methods = {}
local meta = { __name = "ccw.description" }

--- The type of each field; "any" is looked at where it is used.
local fields = { target = "string", operands = "table", results = "string", attributes = "any", aliases = "table",
  has_side_effect = "boolean", api_version = "number", backend_config = "string", operand_layouts = "table", result_layouts = "table",
  called_computations = "table", sharding = "string", frontend_attributes = "table", schedule = "string", mlir = "table", hlo = "table",
  name = "string", operand_names = "table", one_tuple = "boolean" }
local needed = { "target", "operands", "results", "api_version" }

-- ---- checks

--- The length of a list.
local function length_of(list, what, fail)
  local length, why = array.list_length(list)
  if not length then fail(1, "%s: %s", what, why) end
  return length
end

local MOST_NESTED = 64 --- lists of types in each other: more is one that holds itself

--- Types of operands and results that a person has changed, as texts: core's own types, "(f32[2], s32[])", lists of those.
local function type_text(value, what, fail, level)
  if type(value) == "string" then -- as it mostly is
    local text, why = need "types".canonical(value)
    return text or fail(1, "%s: expected a type, got %s: %s", what, core.quote(value), why)
  end
  if core.kind(value) == "type" then return tostring(value) end
  if type(value) ~= "table" then fail(1, "%s: expected a type, got %s", what, core.kind(value) or type(value)) end
  if level == MOST_NESTED then fail(1, "%s: more than %d lists in each other", what, MOST_NESTED) end
  local all = {}
  for i = 1, length_of(value, what, fail) do all[i] = type_text(value[i], what, fail, (level or 0) + 1) end
  return need "types".tuple(all)
end

--- Raises misuse for layouts that are no orders of the dims of these arrays.
local function check_layouts(all, field, leaves, fail)
  local types = need "types"
  for i, order in next, all do
    local leaf = leaves[i]
    if not leaf then fail(1, "%s: there is no array [%s]", field, tostring(i)) end
    if type(order) ~= "table" then fail(1, "%s[%d]: expected a list of dims, got %s", field, i, core.kind(order) or type(order)) end
    for _, dim in ipairs(order) do
      if math.type(dim) ~= "integer" then fail(1, "%s[%d]: expected integers, got %s", field, i, tostring(dim)) end
    end
    local problem = types.check_layout(order, types.rank(leaf) or #order)
    if problem then fail(1, "%s[%d]: %s: %s", field, i, leaf, problem) end
  end
end

--- What is in fields that are tables, or has a form: check(value, name, fail) raises misuse.
local insides = {}

function insides.called_computations(list, name, fail)
  for i = 1, length_of(list, name, fail) do
    if type(list[i]) ~= "string" then fail(1, "%s[%d]: expected a name, got %s", name, i, core.kind(list[i]) or type(list[i])) end
  end
end

--- Raises misuse for keys that are no names, and for values that are not of that type.
local function check_names(names, field, fail, wanted)
  for name, value in next, names do
    if type(name) ~= "string" then fail(1, "%s: expected names, got the key %s", field, tostring(name)) end
    if name == "" then fail(1, "%s: a name is empty", field) end
    if wanted and type(value) ~= wanted then
      fail(1, "%s: %s: expected a %s, got %s", field, core.quote(name), wanted, core.kind(value) or type(value))
    end
  end
end

function insides.mlir(names, field, fail) check_names(names, field, fail) end
function insides.hlo(names, field, fail) check_names(names, field, fail, "string") end
function insides.frontend_attributes(names, field, fail) check_names(names, field, fail, "string") end

function insides.schedule(text, name, fail)
  if not text:find "^%u[%u_]*$" then fail(1, "%s: expected a word, such as LATEST, got %s", name, core.quote(text)) end
end

--- Raises misuse for a field that no description has, or one that is of another type.
local function refuse_field(name, value, fail)
  local wanted = fields[name]
  if wanted then fail(1, "%s: expected a %s, got %s", name, wanted, core.kind(value) or type(value)) end
  local names = {}
  for known in pairs(fields) do names[#names + 1] = known end
  local near = core.near(tostring(name), names)
  fail(1, "a description has no field '%s'%s", tostring(name), near[1] and "; near: " .. table.concat(near, ", ") or "")
end

--- The description as a plain table with its types as texts, checked; fail(position, format, ...) raises misuse.
local function plain(description, fail)
  if getmetatable(description) ~= meta then
    fail(1, "expected a description, got %s; a method is called with a colon", core.kind(description) or type(description))
  end
  local copy = {}
  for name, value in next, description do
    local wanted, check = fields[name], insides[name]
    if name == "results" and type(value) ~= "string" then value = type_text(value, name, fail) end -- a type, or a list of them
    if wanted ~= type(value) and wanted ~= "any" then refuse_field(name, value, fail) end
    if check then check(value, name, fail) end
    copy[name] = value
  end
  for _, name in ipairs(needed) do
    if copy[name] == nil then fail(1, "%s: expected one, got nil", name) end
  end
  if not versions[copy.api_version] then fail(1, "api_version: expected 0 to 4, got %s", tostring(copy.api_version)) end
  local operands = {}
  for i = 1, length_of(copy.operands, "operands", fail) do
    operands[i] = type_text(copy.operands[i], "operand " .. i - 1, fail)
  end
  copy.operands, copy.results = operands, type_text(copy.results, "results", fail)
  local types = need "types"
  if copy.operand_layouts then check_layouts(copy.operand_layouts, "operand_layouts", types.leaves(types.tuple(operands)), fail) end
  if copy.result_layouts then check_layouts(copy.result_layouts, "result_layouts", types.leaves(copy.results), fail) end
  local config = copy.attributes
  if core.kind(config) == "attributes" then
    copy.attributes = need "attribute".open(config)
  elseif type(config) == "table" then
    check_names(config, "attributes", fail)
  elseif config ~= nil then
    fail(1, "attributes: expected a table, got %s", core.kind(config) or type(config))
  end
  return copy
end

-- ---- what no handler can receive

--- Whether bytes in that layout lie as in a row-major array: where a dim has one element its place does not matter.
local function lies_row_major(order, type)
  local dims, last = type.dims or {}, math.huge
  if order.more then return false end
  for i = #order, 1, -1 do -- from the slowest
    local size = dims[order[i] + 1]
    if size and size ~= 1 then
      if last ~= math.huge and order[i] < last then return false end
      last = order[i]
    end
  end
  return true
end

local function layouts_unsupported(all, leaves, what, add)
  local types = need "types"
  for i, leaf in ipairs(leaves) do
    local order, type = all and all[i], types.value(leaf)
    if order and type and type.count ~= 0 and not lies_row_major(order, type) then
      add(("%s %d"):format(what, i - 1), ("layout %s: arrays are row-major here, and the handler would see other bytes")
        :format(types.layout_text(order)))
    end
  end
end

local function types_unsupported(leaves, what, add)
  local types = need "types"
  for i, leaf in ipairs(leaves) do
    if not types.value(leaf) then
      add(("%s %d"):format(what, i - 1), leaf:find "^%w+%[.*[?<*]" and ("%s: a call has sizes that are known"):format(leaf)
        or ("%s is no array"):format(leaf))
    end
  end
end

--- All that no handler can receive, in the order of the fields.
local function unsupported(description)
  local types, attribute, list = need "types", need "attribute", {}
  local function add(path, why) list[#list + 1] = { path = path, why = why } end
  local version = description.api_version
  if version ~= 4 then
    add("api_version", ("%d, %s: only %s is spoken here"):format(version, versions[version], versions[4]))
  end
  local operands, results = types.leaves(types.tuple(description.operands)), types.leaves(description.results)
  types_unsupported(operands, "arg", add)
  types_unsupported(results, "result", add)
  layouts_unsupported(description.operand_layouts, operands, "arg", add)
  layouts_unsupported(description.result_layouts, results, "result", add)
  local names = description.attributes
  if type(names) == "table" then attribute.unsupported(names, nil, list) end
  if description.called_computations then
    local called = table.concat(description.called_computations, ", ")
    add("called_computations", ("%s: there are no computations here for a handler to run"):format(called))
  end
  local of_mlir, of_hlo = description.mlir or {}, description.hlo or {}
  if of_mlir["mhlo.backend_config"] ~= nil then
    add("mhlo.backend_config", "XLA drops it where api_version or backend_config say something else")
  end
  if of_mlir["mhlo.attributes"] ~= nil then
    add("mhlo.attributes", "an operation of MHLO that is carried as a custom call: XLA has no handler for it")
  end
  if of_mlir.result_tilings ~= nil then add("result_tilings", "arrays are row-major here, and have no tiles") end
  if of_hlo.literal then add("literal", "HLO can hold one, but no runtime hands it to a handler") end
  return list
end

function meta:__index(name)
  if name == "unsupported" then
    local fail = errors.misuse_of "unsupported"
    return unsupported(plain(self, fail))
  end
  if methods[name] then return methods[name] end
  if type(name) == "string" and not fields[name] then
    local names = {}
    for known in pairs(fields) do names[#names + 1] = known end
    for known in pairs(methods) do names[#names + 1] = known end
    local near = core.near(name, names)
    error(("a description has no field '%s'%s"):format(name, near[1] and "; near: " .. table.concat(near, ", ") or ""), 2)
  end
end

function meta:__newindex(name, value)
  if name == "unsupported" then error("unsupported: it follows from the other fields, change those", 2) end
  rawset(self, name, value)
end

--- Raises one report of all that no handler can receive.
local function refuse_unsupported(copy)
  local lines = unsupported(copy)
  if #lines == 0 then return end
  for i, one in ipairs(lines) do lines[i] = ("%s: %s"):format(one.path, one.why) end
  errors.raise("INVALID_ARGUMENT", ("%s: %s"):format(copy.target, #lines == 1 and lines[1]
    or ("%d things that no handler can receive:\n  %s"):format(#lines, table.concat(lines, "\n  "))))
end

-- ---- running

--- The operands that were given, compared with those of the description, as many lists in each other as there are tuples.
local function check_operands(copy, operands, fail)
  local types = need "types"
  if operands ~= nil and type(operands) ~= "table" then
    fail(3, "expected a list of buffers, got %s", core.kind(operands) or type(operands))
  end
  local lines, flat = {}, {}
  local function flatten(value)
    if type(value) == "table" then
      for _, part in ipairs(value) do flatten(part) end
    else
      flat[#flat + 1] = value
    end
  end
  flatten(operands or {})
  local wanted = types.leaves(types.tuple(copy.operands))
  if #flat ~= #wanted then
    errors.raise("INVALID_ARGUMENT", ("%s: expected %d operands, (%s), got %d")
      :format(copy.target, #wanted, table.concat(wanted, ", "), #flat))
  end
  for i, buffer in ipairs(flat) do
    if core.kind(buffer) == "buffer" and types.value(wanted[i]) ~= types.value(buffer.type) then
      lines[#lines + 1] = ("arg %d: expected %s, got %s"):format(i - 1, wanted[i], buffer.type)
    end
  end
  if lines[1] then errors.raise("INVALID_ARGUMENT", copy.target .. ": " .. table.concat(lines, "\n  ")) end
end

--- What ccw.call and ccw.prepare take of a description.
local function run(how, name, description, handler, operands, results, options)
  local fail = errors.misuse_of(name)
  local copy = plain(description, fail)
  refuse_unsupported(copy)
  if errors.metatable_name(handler) == "ccw.library" or core.kind(handler) == "library" then
    local said
    handler, said = require "ccw.text.join".join(description, handler)
    if said then warn("ccw: ", said) end
  end
  check_operands(copy, operands, fail)
  local all = { aliases = copy.aliases and next(copy.aliases) ~= nil and copy.aliases or nil, has_side_effect = copy.has_side_effect }
  for key, value in next, options or {} do all[key] = value end
  if handler == nil then handler = copy.target end
  local given = attributes.build(copy.attributes or {}, function(_, format, ...) fail(1, "attributes: " .. format, ...) end, 1, copy.target)
  return how(handler, operands, results or copy.results, given, next(all) ~= nil and all or nil)
end

--- description:call(handler, operands [, results [, options]]) -> results. Runs the call on buffers of the types that it says.
-- The handler is what ccw.call takes, nil for the one that is registered under its target, or a library, whose handler of that name it
-- is. Results are of the types that it says; buffers in their place are destinations. Attributes are handed over with the types that the
-- text gives them, as XLA does. What no handler can receive (d.unsupported) raises, all in one report.
function methods:call(handler, operands, results, options) return run(call.call, "call", self, handler, operands, results, options) end

--- description:prepare(handler, operands [, results [, options]]) -> call. The same for ccw.prepare.
function methods:prepare(handler, operands, results, options)
  return run(call.prepare, "prepare", self, handler, operands, results, options)
end

-- ---- writing

--- The modules that write each form: write(call, fail, raise, generic) -> string, and write_module, where a form has modules.
local forms = { stablehlo = "mlir", generic = "mlir", hlo = "hlo", jax = "jax", c = "c" }

local text_options = { module = "boolean" }

--- description:text([form [, {module = true}]]) -> string. The call as text.
-- The form is "stablehlo" (the default), "generic" (StableHLO's generic form), "hlo", "jax" (a line of Python) or "c". With module a
-- whole one, whose main function does the call. What the form has no words for raises; what only the other form says (the fields mlir
-- and hlo) is left out.
function methods:text(form, options)
  local fail = errors.misuse_of "text"
  local copy = plain(self, fail)
  form = form == nil and "stablehlo" or form
  if not forms[form] then fail(2, "expected \"stablehlo\", \"generic\", \"hlo\", \"jax\" or \"c\", got %s", tostring(form)) end
  errors.check_options(fail, 3, options, text_options)
  local writer = need(forms[form])
  local write = options and options.module and writer.write_module or writer.write
  if options and options.module and write == writer.write then fail(3, "module: the form \"%s\" has none", form) end
  local function misuse(format, ...) fail(1, "attributes: " .. format, ...) end
  local function raise(format, ...) errors.raise("INVALID_ARGUMENT", copy.target .. ": " .. format:format(...)) end
  return write(copy, misuse, raise, form == "generic")
end

--- The fields of a description in a fixed text, names left out: what two have to share to be equal.
local function digest(description)
  local attribute = need "attribute"
  local copy, parts = plain(description, errors.misuse_of "=="), {}
  copy.name, copy.operand_names = nil, nil
  for _, name in ipairs(attribute.sorted(copy)) do
    local value = copy[name]
    if name == "attributes" or name == "mlir" or name == "frontend_attributes" or name == "hlo" then
      if name == "attributes" or next(value) ~= nil then parts[#parts + 1] = name .. "=" .. attribute.write_dictionary(value) end
    elseif name == "aliases" then
      local list = need "parts".aliases(copy) or {}
      for i, alias in ipairs(list) do
        list[i] = ("{%s}:%d{%s}"):format(table.concat(alias[1], ","), alias[2], table.concat(alias[3], ","))
      end
      if list[1] then parts[#parts + 1] = "aliases=" .. table.concat(list, ";") end
    elseif type(value) == "table" then
      local items = {}
      for i, item in ipairs(value) do
        items[i] = type(item) == "table" and need "types".layout_text(item) or core.quote(tostring(item))
      end
      parts[#parts + 1] = name .. "=" .. table.concat(items, ";")
    elseif value ~= false then
      parts[#parts + 1] = name .. "=" .. core.quote(tostring(value))
    end
  end
  return table.concat(parts, "\n")
end

function meta.__eq(a, b) return getmetatable(a) == meta and getmetatable(b) == meta and digest(a) == digest(b) end

local function print_description(self)
  local copy, attribute, types = plain(self, errors.misuse_of "tostring"), need "attribute", need "types"
  local name = copy.target:match "^[%a_][%w_]*$" or core.quote(copy.target)
  local results = types.parts(copy.results) and copy.results or "(" .. copy.results .. ")"
  local text = ("%s(%s) -> %s"):format(name, table.concat(copy.operands, ", "), results)
  if copy.attributes and next(copy.attributes) ~= nil then
    text = text .. " " .. attribute.show(copy.attributes)
  elseif copy.backend_config then
    text = text .. " " .. core.quote(copy.backend_config)
  end
  for _, one in ipairs(unsupported(copy)) do text = ("%s\n  not for a handler: %s: %s"):format(text, one.path, one.why) end
  return text
end

--- What a description prints as: its signature with values, and what no handler can receive.
function meta:__tostring()
  local ok, text = pcall(print_description, self)
  if ok then return text end
  return "description that is damaged: " .. (tostring(text):match "bad argument #1 to 'tostring' %((.*)%)$" or tostring(text))
end

-- ---- reading

--- is_description(value) -> boolean.
function M.is_description(value) return getmetatable(value) == meta end

--- new(fields) -> description. Of a plain table.
function M.new(plain_fields) return setmetatable(plain_fields, meta) end

local function check_text(text, fail)
  if type(text) ~= "string" then fail(1, "expected a text, got %s", core.kind(text) or type(text)) end
end

--- ccw.list_text(text) -> rows. Lists the custom calls in a text of StableHLO or HLO, one or a whole module, in their order.
-- Each row has index, line, target, form ("stablehlo" or "hlo") and the name of the result in the text; problem where the target cannot be
-- read. ccw.from_text(text, row.index) reads one.
function M.list_text(text)
  check_text(text, errors.misuse_of "list_text")
  local rows = need "module".list(text)
  for i, row in ipairs(rows) do
    rows[i] = { index = row.index, line = row.line, target = row.target, form = row.form, name = row.name, problem = row.problem }
  end
  return rows
end

--- The rows that a pick means: an index, a target, or a name with or without "%".
local function matching(rows, pick)
  if math.type(pick) == "integer" then return { rows[pick] } end
  local found = {}
  for _, row in ipairs(rows) do
    if row.target == pick then found[#found + 1] = row end
  end
  if found[1] then return found end
  local name = pick:gsub("^%%", "")
  for _, row in ipairs(rows) do
    if row.name == name then found[#found + 1] = row end
  end
  return found
end

--- ccw.from_text(text [, pick]) -> description. Reads a custom call of StableHLO (pretty or generic) or HLO.
-- The text is one operation or a whole module. If there are several calls in it pick says which: its index in ccw.list_text, its target,
-- or the name of its result. A text that is damaged raises INVALID_ARGUMENT with the line, the column and a caret; the error object has
-- line and column, too. What no handler can receive is read as well, see ?description.
function M.from_text(text, pick)
  local fail = errors.misuse_of "from_text"
  check_text(text, fail)
  if pick ~= nil and math.type(pick) ~= "integer" and type(pick) ~= "string" then
    fail(2, "expected an index, a target or a name, got %s", core.kind(pick) or type(pick))
  end
  local module, reader = need "module", need "reader"
  local only = pick == nil and module.only(text)
  if only then return M.new(module.read(text, only)) end
  local rows = module.list(text)
  if #rows == 0 then
    reader.fail(text, (text:match "^%s*()"),
      "no custom call is here: expected stablehlo.custom_call @target(...) or %%name = shape custom-call(...)")
  end
  local found = pick == nil and rows or matching(rows, pick)
  if #found == 1 then return M.new(module.read(text, found[1])) end
  local said = pick == nil and ("%d custom calls are here"):format(#rows)
    or #found == 0 and ("no custom call is picked by %s"):format(type(pick) == "string" and core.quote(pick) or pick)
    or ("%d custom calls are picked by %s"):format(#found, core.quote(pick))
  errors.raise(#found == 0 and "NOT_FOUND" or "INVALID_ARGUMENT", ("%s; pick one by its index, its target or the name of its result:\n%s")
    :format(said, module.rows_text(#found > 0 and found or rows)))
end

--- ccw.attribute_from_text(text) -> value. Reads one attribute of MLIR, the right-hand side of a name: "42 : i32", "dense<[1, 2]> :
-- tensor<2xi64>", "{x = 1 : i8}".
-- The text must be that attribute and nothing else. What ccw has no value for becomes an `attribute`, which is kept in a description, and
-- which no handler can receive.
function M.attribute_from_text(text)
  check_text(text, errors.misuse_of "attribute_from_text")
  local reader = need "reader".new(text)
  local value = need "attribute".read(reader)
  if reader:peek() then reader:fail(reader.at, "expected the end of the attribute, got %s", reader:got()) end
  return value
end

--- ccw.attribute_text(value) -> string. Writes an attribute as MLIR does, with its type: 2 is "2 : i64".
function M.attribute_text(value)
  local fail = errors.misuse_of "attribute_text"
  if value == nil then fail(1, "expected a value, got nil") end
  return need "attribute".write(value, function(format, ...) fail(1, format, ...) end)
end

return M

--- custom-call of HLO, read and written.
local core = require "ccw.core"
local attribute = require "ccw.text.attribute"
local parts = require "ccw.text.parts"
local quote = require "ccw.text.quote"
local reader_of = require "ccw.text.reader"
local types = require "ccw.text.types"

local M = {}

local versions = {}
for number, name in pairs(parts.versions) do
  if number > 0 then versions[name] = number end
end

-- ---- reading

--- Skips a value that is kept as it is: up to a comma, the end of the line or of a bracket. Gives its text.
local function skip_value(reader)
  reader:peek()
  local start = reader.at
  while true do
    local at = reader.at
    local c = reader.text:sub(at, at)
    if c == "" or c:find "[,\n)}]" then break end
    if c:find "[{(%[]" then
      reader:balanced "a value"
    elseif c == '"' then
      reader:c_string()
    elseif reader.text:find("^//", at) or reader.text:find("^/%*", at) then
      break
    else
      reader.at = at + 1
    end
  end
  local text = types.trim(reader.text:sub(start, reader.at - 1))
  if text == "" then reader:fail(start, "expected a value, got %s", reader:got(start)) end
  return reader_of.one_line(text)
end

--- The name of an instruction, without its "%".
local function instruction_name(reader) return reader:take "^%%?([%a_][%w_.-]*)()" or reader:take "^%%([%w_.-]+)()" end

--- The operands: names and, where they stand there, types and layouts.
local function read_operands(reader)
  local operands = {}
  reader:expect("(", "and operands")
  reader:list(")", "to close the operands", function()
    reader:peek()
    local operand, at = { layouts = {} }, reader.at
    local has_shape = reader.text:find("^%(", at) or reader.text:find("^%a[%w]*%[", at)
    operand.type = has_shape and types.read_hlo(reader, operand.layouts) or nil
    reader:peek()
    operand.at = reader.at
    operand.name = instruction_name(reader) or reader:fail(reader.at, "expected an operand, as %%x, got %s", reader:got())
    operands[#operands + 1] = operand
  end)
  return operands
end

local function boolean(reader)
  reader:peek()
  local at = reader.at
  local word = reader:word()
  if word ~= "true" and word ~= "false" then reader:fail(at, "expected true or false, got %s", reader:got(at)) end
  return word == "true"
end

--- {%f, %g} or %f: names of computations.
local function computations(reader)
  local names = {}
  local function one()
    reader:peek()
    names[#names + 1] = instruction_name(reader) or reader:fail(reader.at, "expected the name of a computation, got %s", reader:got())
  end
  if reader:accept "{" then reader:list("}", "to close the computations", one) else one() end
  return names
end

--- {1, 0}: a path into a tuple.
local function path(reader)
  local list = {}
  reader:expect("{", "to begin a path into a tuple")
  reader:list("}", "to close a path", function()
    reader:peek()
    local digits = reader:take "^(%d+)()" or reader:fail(reader.at, "expected an index, got %s", reader:got())
    list[#list + 1] = #digits < 10 and math.tointeger(tonumber(digits)) or reader:fail(reader.at, "an index of %s", digits)
  end)
  return list
end

--- {{0}: (0, {}), {1}: (1, {})}
local function aliasing(reader)
  local list = {}
  reader:expect("{", "to begin the aliases")
  reader:list("}", "to close the aliases", function()
    reader:peek()
    local alias = { at = reader.at, path(reader) }
    reader:expect(":", "and an operand")
    reader:expect("(", "and an operand")
    reader:peek()
    local digits = reader:take "^(%d+)()" or reader:fail(reader.at, "expected the number of an operand, got %s", reader:got())
    alias[2] = #digits < 10 and math.tointeger(tonumber(digits)) or reader:fail(reader.at, "there is no operand %s", digits)
    reader:expect(",", "and a path into the operand")
    alias[3] = path(reader)
    reader:expect(")", "to close an operand")
    list[#list + 1] = alias
  end)
  return list
end

--- {f32[2,3]{1,0}, s32[]}: shapes of operands.
local function constraints(reader)
  local list = { layouts = {} }
  reader:expect("{", "to begin the shapes")
  reader:list("}", "to close the shapes", function() list[#list + 1] = types.read_hlo(reader, list.layouts) end)
  return list
end

--- {name="text", ...}; what is more than that is kept as it is.
local function frontend(reader)
  reader:peek()
  local start, names = reader.at, {}
  local ok = pcall(function()
    reader:expect("{", "")
    reader:list("}", "", function()
      local name = reader:take "^([%w_.-]+)()"
      reader:expect("=", "")
      names[name] = assert(names[name] == nil and reader:c_string())
    end)
  end)
  if ok then return names end
  reader.at = start
  return skip_value(reader)
end

--- A configuration: a string, or a run in braces, which is read when the version is known.
local function config(reader)
  reader:peek()
  local at = reader.at
  local text = reader:c_string()
  if text then return { at = at, text = text } end
  if reader:peek() ~= 123 then reader:fail(at, "expected a string or '{', got %s", reader:got(at)) end
  reader:balanced "a configuration"
  return { at = at, run = reader.text:sub(at, reader.at - 1) }
end

local function word(reader)
  reader:peek()
  local at = reader.at
  return reader:word() or reader:fail(at, "expected a word, got %s", reader:got(at))
end

local function string(reader)
  reader:peek()
  return reader:c_string() or reader:fail(reader.at, "expected a string, got %s", reader:got())
end

local readers = { custom_call_target = string, api_version = word, backend_config = config, custom_call_has_side_effect = boolean,
  called_computations = computations, to_apply = computations, output_to_operand_aliasing = aliasing,
  operand_layout_constraints = constraints, frontend_attributes = frontend, schedule = word }

--- All key=value behind the operands.
local function keys(reader, places)
  local values, behind = {}, reader.at
  while reader:accept "," do
    reader:peek()
    local at = reader.at
    local key = reader:take "^([%a_][%w_-]*)()" or reader:fail(at, "expected the name of an attribute, got %s", reader:got(at))
    if values[key] ~= nil then reader:fail(at, "%s stands here twice", key) end
    reader:expect("=", ("after '%s'"):format(key))
    reader:peek()
    places[key] = reader.at
    if key == "backend_config" and values.api_version == "API_VERSION_TYPED_FFI" and reader:peek() == 123 then
      reader.angles = nil
      values[key] = { dictionary = attribute.dictionary(reader) }
      reader.angles = false
    else
      values[key] = (readers[key] or skip_value)(reader)
    end
    behind = reader.at
  end
  reader.at = behind
  return values
end

local function take(values, key)
  local value = values[key]
  values[key] = nil
  return value
end

local function read_config(reader, call, values, places)
  local version = take(values, "api_version")
  call.api_version = version == nil and 1 or versions[version]
  if not call.api_version then
    reader:fail(places.api_version, "expected API_VERSION_ORIGINAL, API_VERSION_STATUS_RETURNING, API_VERSION_STATUS_RETURNING_UNIFIED "
      .. "or API_VERSION_TYPED_FFI, got %s", version)
  end
  local found = take(values, "backend_config")
  if call.api_version ~= 4 then
    local text = found and (found.text or found.run)
    call.backend_config = text ~= "" and text or nil
    return
  end
  call.attributes = found and found.dictionary or {}
  if not found or found.dictionary or found.text == "" then return end
  local inside, after = reader, reader.at
  if found.text then -- in quotes: the same dictionary
    inside = reader_of.new(found.text)
    inside.outer, inside.outer_at, inside.brief = reader, found.at, reader.brief
  else
    reader.at = found.at
  end
  inside.angles = nil
  call.attributes = attribute.dictionary(inside)
  inside.angles = false
  if found.run and inside.at ~= found.at + #found.run or found.text and inside:peek() then
    inside:fail(inside.at, "expected the end of the dictionary, got %s", inside:got())
  end
  reader.at = after
end

--- Whether some layout is said, and is not the usual one.
local function are_unusual(layouts)
  for _, order in ipairs(layouts) do
    if order and not types.is_row_major(order) then return true end
  end
  return false
end

--- All layouts, the usual one where none is said.
local function filled(layouts, leaves)
  for i, leaf in ipairs(leaves) do layouts[i] = layouts[i] or types.default_layout(leaf) end
  return layouts
end

--- Types and layouts of the operands: as they stand there, as their names are defined, or as the constraints say.
local function resolve(reader, call, operands, constrained, define)
  call.operands, call.operand_names = {}, {}
  local layouts = {}
  for i, operand in ipairs(operands) do
    if not operand.type then operand.type, operand.layouts = define(operand.name) end
    if not operand.type and constrained then operand.type, operand.layouts = constrained[i], {} end
    if not operand.type then
      reader:fail(operand.at, "the operand %s has no shape here, and none is defined in this text", operand.name)
    end
    if constrained and constrained[i] ~= operand.type then
      reader:fail(operand.at, "the operand %s is %s, but operand_layout_constraints say %s", operand.name, operand.type,
        constrained[i] or "nothing")
    end
    call.operands[i], call.operand_names[i] = operand.type, "%" .. operand.name
    for k = 1, #types.leaves(operand.type) do layouts[#layouts + 1] = operand.layouts and operand.layouts[k] or false end
  end
  if constrained and #constrained ~= #operands then
    reader:fail(constrained.at, "operand_layout_constraints: expected %d shapes, got %d", #operands, #constrained)
  end
  if constrained or are_unusual(layouts) then
    call.operand_layouts = filled(constrained and constrained.layouts or layouts, types.leaves(types.tuple(call.operands)))
  end
end

--- read(reader, define) -> call. The instruction at the reader, "%name = shape custom-call(...), ...", as a plain table with the fields
-- of a description. define(name) gives the type and the layouts that a name has elsewhere in the text, or nil.
function M.read(reader, define)
  local call, places, layouts = {}, {}, {}
  reader:take "^(ROOT)%s()"
  call.name = instruction_name(reader) or reader:fail(reader.at, "expected the name of an instruction, got %s", reader:got())
  reader:expect("=", "after a name")
  call.results = types.read_hlo(reader, layouts)
  if not reader:accept_text "custom-call" then reader:fail(reader.at, "expected 'custom-call', got %s", reader:got()) end
  local operands = read_operands(reader)
  local after = reader.at
  local values = keys(reader, places)
  call.target = take(values, "custom_call_target") or reader:fail(after, "custom_call_target is missing")
  local constrained = take(values, "operand_layout_constraints")
  if constrained then constrained.at = places.operand_layout_constraints end
  resolve(reader, call, operands, constrained, define)
  if constrained or are_unusual(layouts) then call.result_layouts = filled(layouts, types.leaves(call.results)) end
  read_config(reader, call, values, places)
  call.has_side_effect = take(values, "custom_call_has_side_effect") or nil
  call.called_computations = take(values, "called_computations")
  if values.to_apply and call.called_computations then reader:fail(places.to_apply, "to_apply beside called_computations") end
  call.called_computations = take(values, "to_apply") or call.called_computations
  if call.called_computations and not call.called_computations[1] then call.called_computations = nil end
  for _, alias in ipairs(take(values, "output_to_operand_aliasing") or {}) do
    local problem = parts.add_alias(call, table.unpack(alias))
    if problem then reader:fail(alias.at, "output_to_operand_aliasing: %s", problem) end
  end
  local schedule = take(values, "schedule")
  call.schedule = schedule and schedule ~= "SCHEDULE_NONE" and schedule:gsub("^SCHEDULE_", "") or nil
  call.sharding = take(values, "sharding")
  if type(values.frontend_attributes) == "table" then call.frontend_attributes = take(values, "frontend_attributes") end
  if next(values) ~= nil then call.hlo = values end
  return call
end

--- target(reader) -> string. That of the instruction whose word custom-call is next; raises where it is damaged.
function M.target(reader)
  reader.angles = false
  reader:accept_text "custom-call"
  reader:peek()
  reader:balanced "the operands"
  while reader:accept "," do
    local key = reader:take "^([%a_][%w_-]*)()"
    reader:expect("=", "after a name")
    if key == "custom_call_target" then return string(reader) end
    skip_value(reader)
  end
end

-- ---- writing

local function names_text(names, raise)
  local all = {}
  for i, name in ipairs(names) do
    if not tostring(name):find "^[%w_.-]+$" then raise("called_computations: HLO has no name %s", core.quote(tostring(name))) end
    all[i] = "%" .. name
  end
  return "{" .. table.concat(all, ", ") .. "}"
end

--- A text that is put in as it is: it has to be one value, so that it changes nothing around it.
local function piece(key, text, raise)
  if type(text) ~= "string" then raise("%s: expected a text, got %s", key, core.kind(text) or type(text)) end
  local reader = reader_of.new(text)
  reader.angles = false
  local ok = pcall(skip_value, reader)
  if not ok or reader.at <= #text then raise("%s: %s is no value of HLO's", key, core.quote(text)) end
  return text
end

local function aliasing_text(call, raise)
  local list, why = parts.aliases(call)
  if not list then raise("%s", why) end
  for i, alias in ipairs(list) do
    list[i] = ("{%s}: (%d, {%s})"):format(table.concat(alias[1], ","), alias[2], table.concat(alias[3], ","))
  end
  return list[1] and "{" .. table.concat(list, ", ") .. "}"
end

local function frontend_text(names, raise)
  local all = attribute.sorted(names)
  for i, name in ipairs(all) do
    if not name:find "^[%w_.-]+$" then raise("frontend_attributes: HLO has no name %s", core.quote(name)) end
    if type(names[name]) ~= "string" then raise("frontend_attributes: %s: expected a string", name) end
    all[i] = name .. "=" .. quote.c(names[name])
  end
  return "{" .. table.concat(all, ",") .. "}"
end

--- A name of an instruction, nil where HLO has no such; %0#1 of MLIR is %0.1.
local function good_name(name)
  return name:match "^[%w_][%w_.-]*$" or name:match "^[%w_.-]+#%d+$" and name:gsub("#", ".") or nil
end

--- Shapes of all operands, each with its layout.
local function shapes(call, raise)
  local all, position = {}, 1
  for i, operand in ipairs(call.operands) do
    local shape, count = types.write_hlo(operand, call.operand_layouts, position)
    if not shape then raise("operand %d: %s", i - 1, count) end
    all[i], position = shape, position + count
  end
  return all
end

--- write(call, fail, raise) -> string. The instruction in a line, its operands with their types. fail(format, ...) raises misuse,
-- raise(format, ...) what HLO has no words for.
function M.write(call, fail, raise)
  local result, why = types.write_hlo(call.results, call.result_layouts, 1)
  if not result then raise("results: %s", why) end
  local of_operands, operands, values = shapes(call, raise), {}, {}
  for i, shape in ipairs(of_operands) do
    operands[i] = ("%s %%%s"):format(shape, parts.operand_name(call, i, good_name))
  end
  local function add(key, text) if text then values[#values + 1] = key .. "=" .. text end end
  add("custom_call_target", quote.c(call.target))
  add("operand_layout_constraints", call.operand_layouts and "{" .. table.concat(of_operands, ", ") .. "}")
  add("custom_call_has_side_effect", call.has_side_effect and "true")
  add("called_computations", call.called_computations and names_text(call.called_computations, raise))
  add("schedule", call.schedule and "SCHEDULE_" .. piece("schedule", call.schedule, raise))
  add("output_to_operand_aliasing", call.aliases and aliasing_text(call, raise))
  if call.api_version == 0 then raise "api_version: HLO has no version 0" end
  add("api_version", call.api_version ~= 1 and parts.versions[call.api_version])
  add("sharding", call.sharding and piece("sharding", call.sharding, raise))
  add("frontend_attributes", call.frontend_attributes and frontend_text(call.frontend_attributes, raise))
  for _, key in ipairs(attribute.sorted(call.hlo or {})) do
    if not key:find "^[%a_][%w_-]*$" then raise("hlo: HLO has no attribute %s", core.quote(key)) end
    add(key, piece(key, call.hlo[key], raise))
  end
  if call.api_version == 4 then
    add("backend_config", attribute.write_dictionary(call.attributes or {}, nil, fail))
  else
    add("backend_config", call.backend_config and quote.c(call.backend_config))
  end
  local name = call.name and good_name(call.name) or "call"
  return ("%%%s = %s custom-call(%s), %s"):format(name, result, table.concat(operands, ", "), table.concat(values, ", "))
end

--- write_module(call, fail, raise) -> string. A module whose entry computation does the call and nothing else.
function M.write_module(call, fail, raise)
  local lines, names = {}, {}
  for i, shape in ipairs(shapes(call, raise)) do
    names[i] = "%arg" .. i - 1
    lines[i] = ("  %s = %s parameter(%d)\n"):format(names[i], shape, i - 1)
  end
  local copy = setmetatable({ name = "call", operand_names = names }, { __index = call })
  return ("HloModule ccw\n\nENTRY main {\n%s  ROOT %s\n}\n"):format(table.concat(lines), M.write(copy, fail, raise))
end

return M

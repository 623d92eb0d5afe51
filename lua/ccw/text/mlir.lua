--- custom_call of StableHLO and MHLO, read and written, pretty and generic.
local core = require "ccw.core"
local attribute = require "ccw.text.attribute"
local parts = require "ccw.text.parts"
local quote = require "ccw.text.quote"
local types = require "ccw.text.types"

local M = {}

-- ---- reading

--- What the operation defines itself; of all others MLIR knows nothing.
local inherent = { api_version = true, backend_config = true, call_target_name = true, called_computations = true, has_side_effect = true,
  operand_layouts = true, output_operand_aliases = true, result_layouts = true, result_tilings = true, custom_call_schedule = true }

local function operand_names(reader)
  local names = {}
  local plain, behind = reader.text:match("^%((%%[%w_$%%, ]*)%)()", reader.at) -- as it is mostly printed
  if plain then
    for name in (plain .. ", "):gmatch "(%%[%w_$]+), " do names[#names + 1] = name end
    if #table.concat(names, ", ") == #plain then
      reader.at = behind
      return names
    end
    names = {}
  end
  reader:expect("(", "and operands")
  reader:list(")", "to close the operands", function()
    reader:peek()
    names[#names + 1] = reader:take "^(%%[%w_$.-]+#%d+)()" or reader:take "^(%%[%w_$.-]+)()"
      or reader:fail(reader.at, "expected an operand, as %%x, got %s", reader:got())
  end)
  return names
end

--- Types of operations by their texts: programs have many of the same.
local signatures, known = {}, 0

local function read_function_type(reader, call)
  reader:expect(":", "and the types of operands and results")
  reader:expect("(", "and the types of operands")
  reader:peek()
  local at, operands = reader.at, {}
  reader:list(")", "to close the types of operands", function() operands[#operands + 1] = types.read_mlir(reader) end)
  if #operands ~= #call.operand_names then
    reader:fail(at, "expected %d types of operands, as there are operands, got %d", #call.operand_names, #operands)
  end
  if not reader:accept_text "->" then reader:fail(reader.at, "expected '->' and the types of results, got %s", reader:got()) end
  local results = {}
  if reader:accept "(" then
    reader:list(")", "to close the types of results", function() results[#results + 1] = types.read_mlir(reader) end)
  else
    results[1] = types.read_mlir(reader)
  end
  call.operands = operands
  call.results = #results == 1 and results[1] or types.tuple(results)
  call.one_tuple = #results == 1 and types.parts(results[1]) and true or nil
  return #results
end

--- The types of operands and results: "(tensor<f32>) -> tensor<f32>".
local function function_type(reader, call)
  local text, behind = reader.text:match("^( : %([^()\n!#/]*%) %-> %(?[^()\n!#/{}]*%)?)()", reader.at)
  local found = text and signatures[text]
  if found and #found == #call.operand_names then
    reader.at = behind
    call.operands, call.results, call.one_tuple = table.move(found, 1, #found, 1, {}), found.results, found.one_tuple
    return found.count
  end
  local count = read_function_type(reader, call)
  if text and reader.at == behind and #text < 500 then
    if known == 500 then signatures, known = {}, 0 end
    if not signatures[text] then known = known + 1 end
    local kept = { results = call.results, one_tuple = call.one_tuple, count = count }
    signatures[text] = table.move(call.operands, 1, #call.operands, 1, kept)
  end
  return count
end

--- The dictionaries of an operation as one: what is inherent may stand in <{...}> in front.
local function dictionaries(reader, places)
  local names = {}
  if reader:accept "<" then
    names = attribute.dictionary(reader, places)
    reader:expect(">", "to close '<{'")
  end
  if reader:peek() == 123 then
    for name, value in pairs(attribute.dictionary(reader, places)) do
      if names[name] ~= nil then reader:fail(places[name], "the name %s stands here twice", core.quote(name)) end
      names[name] = value
    end
  end
  return names
end

--- What some attribute has to be: f(value) gives what is kept of it, or nil.
local function expect(reader, names, places, name, what, f)
  local value = names[name]
  if value == nil then return nil end
  names[name] = nil
  local found = f(value)
  if found == nil then reader:fail(places[name], "%s: expected %s", name, what) end
  return found
end

local function is_string(value) if type(value) == "string" then return value end end

local function is_boolean(value) if type(value) == "boolean" then return value end end

local function is_dictionary(value) return type(value) == "table" and not attribute.is_kept(value) end

--- The items of a list, each as f(item) gives it; nil where one is nil.
local function list_of(f)
  return function(value)
    if not (attribute.is_kept(value) and value.why == "a list") then return nil end
    local all = {}
    for i, item in ipairs(value.items) do
      all[i] = f(item)
      if all[i] == nil then return nil end
    end
    return all
  end
end

local symbols = list_of(function(item) return attribute.is_kept(item) and item.symbol or nil end)
local orders = list_of(function(item)
  return attribute.is_kept(item) and item.why == "an array of index" and table.move(item.items, 1, #item.items, 1, {}) or nil
end)

--- The fields of #stablehlo.output_operand_alias<...>.
local pairs_of_aliases = list_of(function(item)
  local text = attribute.is_kept(item) and item.text:gsub("%s", "")
  local body = text and text:match "^#%w+[.<]output_operand_alias<?(.-)>+$"
  if not body then return nil end
  local operand = body:match "operand_index=(%d+)"
  return operand and { parts.integers(body:match "output_tuple_indices=%[([%d,]*)%]" or ""), math.tointeger(tonumber(operand)),
    parts.integers(body:match "operand_tuple_indices=%[([%d,]*)%]" or "") } or nil
end)

--- The strings of a dictionary; nil where something else is in it.
local function strings(value)
  if not is_dictionary(value) then return nil end
  for _, item in pairs(value) do
    if type(item) ~= "string" then return nil end
  end
  return value
end

local function is_version(value)
  local number = core.kind(value) == "scalar" and value.dtype == "s32" and value.value
  return number and parts.versions[number] and number or nil
end

local function read_config(reader, call, names, places)
  local version = expect(reader, names, places, "api_version", "0 to 4, of type i32", is_version) or 1
  local config, of_jax = names.backend_config, names["mhlo.backend_config"]
  names.backend_config = nil
  -- This is how JAX says that a call is of the typed FFI.
  if version == 1 and (config == nil or config == "") and is_dictionary(of_jax) then
    version, config, names["mhlo.backend_config"] = 4, of_jax, nil
  end
  if version == 4 then
    if config == nil then config = {} end
    if not is_dictionary(config) then
      reader:fail(places.backend_config, "backend_config: expected a dictionary, with api_version 4")
    end
    call.attributes = config
  elseif config ~= nil then
    if type(config) ~= "string" then
      reader:fail(places.backend_config, "backend_config: expected a string, with api_version %d", version)
    end
    call.backend_config = config ~= "" and config or nil
  end
  call.api_version = version
end

local function check_layouts(reader, places, call, what, field, leaves)
  local all = call[field]
  if #all ~= #leaves then reader:fail(places[field], "%s: expected %d layouts, got %d", field, #leaves, #all) end
  for i, order in ipairs(all) do
    local problem = types.check_layout(order, types.rank(leaves[i]) or #order)
    if problem then reader:fail(places[field], "%s: %s %d: %s", field, what, i - 1, problem) end
  end
end

local function read_layouts(reader, call, names, places)
  local what = "a list of orders, dense<[1, 0]> : tensor<2xindex>"
  call.operand_layouts = expect(reader, names, places, "operand_layouts", what, orders)
  call.result_layouts = expect(reader, names, places, "result_layouts", what, orders)
  if not call.operand_layouts and not call.result_layouts then return end
  if not call.operand_layouts or not call.result_layouts then
    local have, miss = "operand_layouts", "result_layouts"
    if not call.operand_layouts then have, miss = miss, have end
    reader:fail(places[have], "%s: expected %s beside it", have, miss)
  end
  for i, operand in ipairs(call.operands) do
    if types.parts(operand) then reader:fail(places.operand_layouts, "operand_layouts: operand %d is a tuple, which has none", i - 1) end
  end
  check_layouts(reader, places, call, "operand", "operand_layouts", call.operands)
  check_layouts(reader, places, call, "result", "result_layouts", types.leaves(call.results))
end

--- Takes what is known of the attributes into the call; the rest becomes call.mlir.
local function interpret(reader, call, names, places)
  read_config(reader, call, names, places)
  call.has_side_effect = expect(reader, names, places, "has_side_effect", "true or false", is_boolean) or nil
  call.called_computations = expect(reader, names, places, "called_computations", "a list of symbols, [@f]", symbols)
  if call.called_computations and not call.called_computations[1] then call.called_computations = nil end
  read_layouts(reader, call, names, places)
  local at = places.output_operand_aliases
  for _, alias in ipairs(expect(reader, names, places, "output_operand_aliases", "a list of #stablehlo.output_operand_alias<...>",
    pairs_of_aliases) or {}) do
    local problem = parts.add_alias(call, table.unpack(alias))
    if problem then reader:fail(at, "output_operand_aliases: %s", problem) end
  end
  if type(names["mhlo.sharding"]) == "string" then call.sharding, names["mhlo.sharding"] = names["mhlo.sharding"], nil end
  local frontend = strings(names["mhlo.frontend_attributes"])
  if frontend then call.frontend_attributes, names["mhlo.frontend_attributes"] = frontend, nil end
  local schedule = names.custom_call_schedule
  local when = attribute.is_kept(schedule) and schedule.text:match "custom_call_schedule[%s<]+(%u+)%s*>*$"
  if when then call.schedule, names.custom_call_schedule = when ~= "NONE" and when or nil, nil end
  if next(names) ~= nil then call.mlir = names end
end

--- Counts of results that stand in front: "%r:2" is 2.
local function count_names(results)
  local count = 0
  for one in results:gmatch "[^,]+" do count = count + (math.tointeger(tonumber(one:match ":%s*(%d+)%s*$")) or 1) end
  return count
end

--- read(reader, results) -> call. The operation at the reader, whose name is next, as a plain table with the fields of a description.
-- `results` is the text that stands in front of it, "%r:2" or nil.
function M.read(reader, results)
  local start, call, places = reader.at, {}, {}
  local generic = reader:peek() == 34
  if generic then reader:string() else reader:word() end
  if not generic then
    reader:expect("@", "and a target")
    reader:peek()
    call.target = reader:string() or reader:word() or reader:fail(reader.at, "expected a target after '@', got %s", reader:got())
  end
  call.operand_names = operand_names(reader)
  local at = reader.at
  local names = dictionaries(reader, places)
  local count = function_type(reader, call)
  local after = reader.at
  if generic then
    call.target = expect(reader, names, places, "call_target_name", "a string", is_string)
      or reader:fail(at, "call_target_name is missing")
  elseif names.call_target_name then
    reader:fail(places.call_target_name, "call_target_name: the target stands in front already")
  end
  interpret(reader, call, names, places)
  if results then
    if count_names(results) ~= count then
      reader:fail(start, "expected %s in front, as there are results, got %s", count == 1 and "one name" or count .. " names", results)
    end
    call.name = not results:find(",", 1, true) and results:match "^%%([%w_$.-]+)" or nil
  end
  reader.at = after
  if reader:accept_text "loc" then
    if reader:peek() ~= 40 then reader:fail(reader.at, "expected '(' after 'loc', got %s", reader:got()) end
    reader.aliases = nil -- whatever they stand for: it is left out
    reader:balanced "a location"
  else
    reader.at = after
  end
  return call
end

-- ---- writing

local order_texts = {}

--- An order of dims as MLIR writes it; of those there are few.
local function order_text(order)
  local list = table.concat(order, ", ")
  local text = order_texts[list]
  if not text then
    text = ("dense<%s> : tensor<%dxindex>"):format(order[1] and "[" .. list .. "]" or "", #order)
    if #order < 5 then order_texts[list] = text end
  end
  return text
end

--- The layouts of operands or results as a list of MLIR's.
local function layouts_text(field, all, leaves, raise)
  local texts = {}
  for i, leaf in ipairs(leaves) do
    local order = all and all[i] or types.default_layout(leaf)
    if order.more then raise("%s: StableHLO has nothing for the layout %s", field, types.layout_text(order)) end
    texts[i] = order_text(order)
  end
  return "[" .. table.concat(texts, ", ") .. "]"
end

--- Whether all layouts are the usual ones, so that a call with tuples may go without.
local function are_usual(all)
  for _, order in ipairs(all or {}) do
    if not types.is_row_major(order) then return false end
  end
  return true
end

local function write_layouts(call, add, raise)
  if not call.operand_layouts and not call.result_layouts then return end
  for i, operand in ipairs(call.operands) do
    if types.parts(operand) then
      if are_usual(call.operand_layouts) and are_usual(call.result_layouts) then return end
      raise("operand %d is a tuple, and StableHLO has no layouts of those", i - 1)
    end
  end
  add("operand_layouts", layouts_text("operand_layouts", call.operand_layouts, call.operands, raise))
  add("result_layouts", layouts_text("result_layouts", call.result_layouts, types.leaves(call.results), raise))
end

local function write_aliases(call, add, raise)
  local list, why = parts.aliases(call)
  if not list then raise("%s", why) end
  for i, alias in ipairs(list) do
    list[i] = ("#stablehlo.output_operand_alias<output_tuple_indices = [%s], operand_index = %d, operand_tuple_indices = [%s]>"):format(
      table.concat(alias[1], ", "), alias[2], table.concat(alias[3], ", "))
  end
  if list[1] then add("output_operand_aliases", "[" .. table.concat(list, ", ") .. "]") end
end

--- All attributes: names and their texts.
local function attributes_of(call, generic, fail, raise)
  local names, texts = {}, {}
  local function add(name, text) names[#names + 1], texts[name] = name, text end
  if generic then add("call_target_name", quote.mlir(call.target)) end
  if call.api_version ~= 1 then add("api_version", call.api_version .. " : i32") end
  if call.api_version == 4 then
    add("backend_config", attribute.write_dictionary(call.attributes or {}, nil, fail))
  elseif call.backend_config then
    add("backend_config", quote.mlir(call.backend_config))
  end
  if call.has_side_effect then add("has_side_effect", "true") end
  if call.called_computations then
    local symbols_of = {}
    for i, name in ipairs(call.called_computations) do symbols_of[i] = attribute.write_symbol(name) end
    add("called_computations", "[" .. table.concat(symbols_of, ", ") .. "]")
  end
  write_layouts(call, add, raise)
  if call.aliases then write_aliases(call, add, raise) end
  if call.sharding then add("mhlo.sharding", quote.mlir(call.sharding)) end
  if call.frontend_attributes then
    add("mhlo.frontend_attributes", attribute.write_dictionary(call.frontend_attributes, nil, fail))
  end
  if call.schedule then
    if not generic then raise "schedule: StableHLO has none; the form \"generic\" is mhlo.custom_call, which has" end
    add("custom_call_schedule", ("#mhlo<custom_call_schedule %s>"):format(call.schedule))
  end
  for name, value in pairs(call.mlir or {}) do add(name, attribute.write(value, fail)) end
  table.sort(names)
  return names, texts
end

--- "{name = text, ...}" of the names that `wanted` accepts; "" for none.
local function join(names, texts, open, close, wanted)
  local items = {}
  for _, name in ipairs(names) do
    if wanted(name) then
      items[#items + 1] = texts[name] == "unit" and attribute.write_name(name) or attribute.write_name(name) .. " = " .. texts[name]
    end
  end
  return items[1] and open .. table.concat(items, ", ") .. close or ""
end

--- signature(call) -> string, list. The types of operands and results, and of each result.
local function signature(call)
  local operands, results = {}, {}
  for i, operand in ipairs(call.operands) do operands[i] = types.write_mlir(operand) end
  local of_results = types.parts(call.results)
  if not of_results or call.one_tuple or #of_results == 1 then of_results = { call.results } end
  for i, result in ipairs(of_results) do results[i] = types.write_mlir(result) end
  return ("(%s) -> %s"):format(table.concat(operands, ", "),
    #results == 1 and results[1] or "(" .. table.concat(results, ", ") .. ")"), results, operands
end

local function all() return true end

--- A name of a value, nil where MLIR has no such.
local function good_name(name)
  return (name:find "^[%a_$.-][%w_$.-]*#?%d*$" or name:find "^%d+#?%d*$") and name or nil
end

--- write(call, fail, raise, generic) -> string. The operation in a line. fail(format, ...) raises misuse, raise(format, ...) what
-- StableHLO has no words for.
function M.write(call, fail, raise, generic)
  if call.hlo and call.hlo.literal then raise "literal: StableHLO has none" end
  local types_text, results = signature(call)
  local names, texts = attributes_of(call, generic, fail, raise)
  local operands = {}
  for i = 1, #call.operands do operands[i] = "%" .. parts.operand_name(call, i, good_name) end
  local name = "%" .. (call.name and not call.name:find "#" and good_name(call.name) or "0")
  local front = #results == 0 and "" or #results == 1 and name .. " = " or ("%s:%d = "):format(name, #results)
  local list = "(" .. table.concat(operands, ", ") .. ")"
  if generic then
    local properties = join(names, texts, " <{", "}>", function(one) return inherent[one] end)
    local rest = join(names, texts, " {", "}", function(one) return not inherent[one] end)
    local op = call.schedule and "mhlo.custom_call" or "stablehlo.custom_call"
    return ("%s\"%s\"%s%s%s : %s"):format(front, op, list, properties, rest, types_text)
  end
  return ("%sstablehlo.custom_call %s%s%s : %s"):format(front, attribute.write_symbol(call.target), list,
    join(names, texts, " {", "}", all), types_text)
end

--- write_module(call, fail, raise, generic) -> string. A module whose function @main does the call and nothing else.
function M.write_module(call, fail, raise, generic)
  local _, results, operands = signature(call)
  local arguments, names, returned = {}, {}, {}
  for i, operand in ipairs(operands) do names[i], arguments[i] = "%arg" .. i - 1, ("%%arg%d: %s"):format(i - 1, operand) end
  for i = 1, #results do returned[i] = #results == 1 and "%0" or ("%%0#%d"):format(i - 1) end
  local copy = setmetatable({ name = "0", operand_names = names }, { __index = call })
  local list = table.concat(results, ", ")
  return ("module {\n  func.func public @main(%s)%s {\n    %s\n    return%s\n  }\n}\n"):format(table.concat(arguments, ", "),
    results[1] and " -> (" .. list .. ")" or "", M.write(copy, fail, raise, generic),
    results[1] and (" %s : %s"):format(table.concat(returned, ", "), list) or "")
end

return M

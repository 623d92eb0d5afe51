--- One run of a handler, and all that a test looks at in it.
local core = require "ccw.core"
local errors = require "ccw.errors"
local array = require "ccw.array"
local attributes = require "ccw.attributes"
local call = require "ccw.call"
local comparison = require "ccw.comparison"
local axes = require "ccw.test.axes"

local M = {}

local dtypes, host = core.dtypes(), core.device "host"

--- What an oracle computes with: floats as f64, complex as c128; integers and pred are exact as they are.
local function wide(dtype)
  local class = dtypes[dtype].class
  return class == "FLOAT" and "f64" or class == "COMPLEX" and "c128" or dtype
end

--- A number that depends on a seed and a text, and on nothing else (FNV-1a).
local function hash(seed, text)
  local h = 0xcbf29ce484222325 ~ seed
  for i = 1, #text do h = (h ~ text:byte(i)) * 0x100000001b3 end
  return h
end

--- ---- what goes in

--- The values of a case with what the handler gets for attributes, as a function is told of them: {n = 33, eps = f32's 1e-05}.
local function told_values(check, values)
  local told = {}
  for name, value in pairs(values) do
    local kind = check.form.kinds[name]
    if kind and kind.form == "scalar" and type(value) == "number" then
      local scalar = core.fit(kind.dtype, value)
      value = scalar and scalar.value or value
    elseif core.kind(value) == "scalar" then
      value = value.value
    end
    told[name] = value
  end
  return told
end

local function make_operand(check, pattern, place, values, seed)
  local wanted = axes.type_of(pattern, values)
  local given = check.inputs and (check.inputs[pattern.name] or check.inputs[place])
  local from_file = check.file and check.file[pattern.name]
  if type(given) == "function" then given = given(wanted, seed, told_values(check, values)) end
  local is_range = type(given) == "table" and (given.low or given.high)
  if wanted == "token[]" then return core.buffer(wanted) end
  if from_file or given ~= nil and not is_range then return array.array(wanted, from_file or given) end
  return array.random(wanted, seed, given)
end

--- The operands of a case that are there, {pattern, place, buffer}, on the host.
local function make_operands(check, case, values, seed)
  local list = {}
  local name = axes.name(check, case)
  for place, pattern in ipairs(check.form.operands) do
    if axes.is_there(pattern, values) then
      local own_seed = hash(seed, ("%s %d"):format(name, place))
      list[#list + 1] = { pattern = pattern, place = place, buffer = make_operand(check, pattern, place - 1, values, own_seed) }
    end
  end
  return list
end

local function make_attributes(check, values)
  local table_of = {}
  for _, name in ipairs(check.form.attributes) do table_of[name] = values[name] end
  local function fail(_, ...) errors.raise("INVALID_ARGUMENT", (...):format(select(2, ...))) end
  return next(table_of) ~= nil and attributes.from(table_of, fail, 3, check.form.signature, "check") or nil
end

--- All that a case is made of: values by name, operands, patterns and types of results, attributes.
local function make(check, case, seed)
  local values = axes.values(check, case)
  local made = { values = values, operands = make_operands(check, case, values, seed), patterns = axes.results(check, values), types = {} }
  for i, pattern in ipairs(made.patterns) do made.types[i] = axes.type_of(pattern, values) end
  made.attributes = make_attributes(check, values)
  return made
end

--- ---- poison: what results hold before, so that what is not written shows

local poison = { byte = false, size = -1, text = "" }

local function poison_text(byte, size)
  if poison.byte ~= byte or poison.size ~= size then poison = { byte = byte, size = size, text = byte:rep(size) } end
  return poison.text
end

local function poisoned(type, byte)
  local buffer = core.buffer(type)
  return buffer.count > 0 and buffer:set_bytes(poison_text(byte, core.type(type).bytes)) or buffer
end

--- A copy there, of which the device says that it is a test's: to ask who calls takes longer than to copy.
local function copy_to(buffer, device) return core.copy_to(buffer, device, "ccw.test") end

--- Runs it once, its results poisoned with a byte. Returns the results on the host, and the operands as they are after it; or nil and
--- the error.
local function run(place, made, byte, is_checked)
  local device, there, results = place.device, {}, {}
  local is_host = device.name == "host"
  for i, operand in ipairs(made.operands) do there[i] = is_host and operand.buffer:copy() or copy_to(operand.buffer, device) end
  for i, type in ipairs(made.types) do
    local result = poisoned(type, byte)
    results[i] = is_host and result or copy_to(result, device)
  end
  local options = { device = not is_host and device or nil, checked = is_checked or false }
  local ok, err = errors.try(call.call, place.handler, there, results, made.attributes, options)
  if ok == nil then return nil, err end
  if not is_host then
    for i, result in ipairs(results) do results[i] = copy_to(result, host) end
    for i, operand in ipairs(there) do there[i] = copy_to(operand, host) end
  end
  return results, there
end

--- ---- what is looked at

--- How many elements of two buffers differ in memory, and the first that does, from 0.
local function differ(a, b)
  local found = core.compare(a, b, false, true, false, 0, 0, 0)
  return found.count, found.first
end

--- Nothing where the operands are as before.
local function changed_operand(operands, after)
  for i, operand in ipairs(operands) do
    local before = operand.buffer
    if before.dtype ~= "token" and before.count > 0 then
      local count, k = differ(before, after[i])
      if count > 0 then
        return ("%s: the handler has written to it: %s was %s and is %s"):format(operand.pattern.label, core.index_text(before, k),
          core.element_text(before, k), core.element_text(after[i], k))
      end
    end
  end
end

local FIRST, SECOND = "\xA5", "\x5A"

--- The same for elements that share bytes with their neighbours.
local function untouched_packed(first_run, second_run)
  local first, second = poisoned(first_run.type, FIRST), poisoned(first_run.type, SECOND)
  local function is_same(a, b, k) return differ(a.flat:rows(k, k), b.flat:rows(k, k)) == 0 end
  local count, place = 0, nil
  for k = 1, first_run.count do
    if is_same(first_run, first, k) and is_same(second_run, second, k) then count, place = count + 1, place or k - 1 end
  end
  return count, place
end

--- Elements that have kept the poison in both runs: how many, and the first, from 0.
local function untouched(first_run, second_run)
  local bytes, others = first_run:bytes(), second_run:bytes()
  local size = #bytes // first_run.count
  if size * first_run.count ~= #bytes then return untouched_packed(first_run, second_run) end
  local first, second = FIRST:rep(size), SECOND:rep(size)
  local count, place, at = 0, nil, bytes:find(first, 1, true)
  while at do
    if (at - 1) % size == 0 and others:sub(at, at + size - 1) == second then
      count, place, at = count + 1, place or (at - 1) // size, at + size - 1
    end
    at = bytes:find(first, at + 1, true)
  end
  return count, place
end

--- Nothing where all results are written. An element may be by chance what it was poisoned with: another run, with another poison,
--- tells.
local function unwritten(made, results, run_again)
  local again
  for i, result in ipairs(results) do
    if result.dtype ~= "token" and result.count > 0 and differ(result, poisoned(result.type, FIRST)) < result.count then
      local err
      if not again then again, err = run_again() end
      if not again then return ("%s: elements may not be written, and a second run, which would tell, fails: %s"):format(
        made.patterns[i].label, tostring(err)) end
      local count, first = untouched(result, again[i])
      if count > 0 then
        local place = core.index_text(result, first)
        return ("%s: %d of %d elements %s never written%s"):format(made.patterns[i].label, count, result.count,
          count == 1 and "is" or "are", place ~= "" and ", the first " .. place or "")
      end
    end
  end
end

--- ---- the oracle

--- What a value of an oracle's is as the result of that pattern.
local function expected_of(value, pattern, values)
  local dtype = pattern.dtype or values[pattern.letter]
  local type = axes.type_of(pattern, values, wide(dtype))
  local kind, is_open = core.kind(value)
  if kind == "buffer" and not is_open then error(("%s: what it gives is closed"):format(pattern.label), 0) end
  if kind == "buffer" then value = value:to "host" end
  if kind == "buffer" and value.type == type then return value end
  local ok, expected = pcall(array.array, type, value)
  if ok then return expected end
  local text = tostring(expected)
  error(("%s: %s"):format(pattern.label, text:match "bad argument #2 to 'array' %((.*)%)$" or text), 0)
end

--- What the oracle is told of a case, and the results that it may write.
local function told_with_results(check, made)
  local c, results = told_values(check, made.values), {}
  for i, pattern in ipairs(made.patterns) do
    results[i] = core.buffer(axes.type_of(pattern, made.values, wide(pattern.dtype or made.values[pattern.letter])), true)
    if pattern.name ~= "" and c[pattern.name] == nil then c[pattern.name] = results[i] end
  end
  c.results = c.results or results
  return c, results
end

--- A function that gives the result in which an oracle has written; or what it was set to, c.y = ...
local function written_by(c, results, patterns)
  local own, is_named, is_listed = table.move(results, 1, #results, 1, {}), {}, rawequal(c.results, results)
  for i, pattern in ipairs(patterns) do is_named[i] = rawequal(c[pattern.name], own[i]) end
  return function(i)
    local named = is_named[i] and c[patterns[i].name] or own[i]
    if not rawequal(named, own[i]) then return named end
    return is_listed and type(c.results) == "table" and c.results[i] or own[i]
  end
end

--- The expected results of a function: those it returns, else what it has written or set. Operands that are not there are nil.
local function ask_function(check, made)
  local arguments, count = {}, #check.form.operands
  for _, operand in ipairs(made.operands) do
    local dtype = operand.buffer.dtype
    arguments[operand.place] = dtype == wide(dtype) and operand.buffer:copy() or operand.buffer:as(wide(dtype))
  end
  local c, results = told_with_results(check, made)
  arguments[count + 1] = c
  local written = written_by(c, results, made.patterns)
  local returned, expected = table.pack(check.oracle(table.unpack(arguments, 1, count + 1))), {}
  for i, pattern in ipairs(made.patterns) do
    local value = returned[i]
    if value == nil then value = written(i) end
    expected[i] = expected_of(value, pattern, made.values)
  end
  return expected
end

local function ask_handler(check, made)
  local list = {}
  for i, operand in ipairs(made.operands) do list[i] = operand.buffer end
  return call.call(check.oracle, list, made.types, made.attributes)
end

local function ask_file(check, made)
  local results = {}
  for i, pattern in ipairs(made.patterns) do
    results[i] = check.file[pattern.name]
    if not results[i] then error(("%s has no array '%s'"):format(check.oracle, pattern.name), 0) end
  end
  return results
end

--- The results that are expected, or nil and why there are none.
local function expect(check, made)
  local ask = check.file and ask_file or type(check.oracle) == "function" and ask_function or ask_handler
  local ok, results = xpcall(ask, tostring, check, made)
  if ok then return results end
  return nil, results
end

--- How results of a dtype are compared: integers exactly, others closely, a NaN being a NaN.
local function closeness(check, dtype)
  local class, given = dtypes[dtype].class, check.close or {}
  if class ~= "FLOAT" and class ~= "COMPLEX" then return given[dtype] or nil end
  local options = { equal_nan = true, close = true }
  for name, value in next, given[dtype] or given do
    if not dtypes[name] then options[name] = value end
  end
  if options.bitwise then options.close, options.equal_nan = nil, nil end
  return options
end

--- Nothing where a result is what is expected.
local function difference(check, pattern, got, expected)
  if got.dtype == "token" or got.count == 0 then return nil end
  if expected.type:match "%[.*" ~= got.type:match "%[.*" then
    return "oracle", ("%s: the oracle has %s for %s"):format(pattern.label, expected.type, got.type)
  end
  local converted, err = errors.try(function() return expected.dtype == got.dtype and expected or expected:as(got.dtype) end)
  if not converted then return "oracle", ("%s: the oracle has what no %s is: %s"):format(pattern.label, got.dtype, err) end
  local options = closeness(check, got.dtype)
  local outcome = comparison.compare(got, converted, options)
  if outcome.equal then return nil end
  local k = outcome.first - 1
  local place = core.index_text(got, k)
  local text = ("%s: %s%s, expected %s; %d of %d elements differ"):format(pattern.label, place ~= "" and place .. " is " or "it is ",
    core.element_text(got, k), core.element_text(converted, k), outcome.count, got.count)
  if outcome.distance == outcome.distance then text = text .. (", by up to %.3g"):format(outcome.distance) end
  if outcome.relative < math.huge then text = text .. (" (relative %.3g)"):format(outcome.relative) end
  return "differs", ("%s (%s)"):format(text, got.type)
end

--- ---- a case

--- What is wrong with results, beside those of the oracle.
local function judge(check, made, results)
  local expected, why = expect(check, made)
  if not expected then return "oracle", "the oracle fails: " .. why end
  for i, pattern in ipairs(made.patterns) do
    local kind, text = difference(check, pattern, results[i], expected[i])
    if kind then return kind, text end
  end
end

--- Runs a case at a place. Returns nothing where all is well, else the kind of the failure, a word, and what it is.
function M.run(check, place, case, seed)
  local made = make(check, case, seed)
  local results, after = run(place, made, FIRST, check.checked)
  if not results then return "error " .. after.code, tostring(after) end
  local problem = changed_operand(made.operands, after)
  if problem then return "operand", problem end
  problem = unwritten(made, results, function() return run(place, made, SECOND, check.checked) end)
  if problem then return "unwritten", problem end
  if check.oracle then return judge(check, made, results) end
end

--- What a checked call finds in a case that fails, on the host, of a handler in C: "" for nothing.
function M.explain(check, place, case, seed)
  if place.device.name ~= "host" or core.kind(place.handler) ~= "handler" or place.handler.library == "" then return "" end
  local _, err = run(place, make(check, case, seed), FIRST, true)
  return errors.is_error(err) and err.message or ""
end

return M

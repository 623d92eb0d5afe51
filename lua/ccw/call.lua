--- Calls: operands, results and options as people write them, flat as core takes them.
local core = require "ccw.core"
local errors = require "ccw.errors"
local attributes = require "ccw.attributes"
local array = require "ccw.array"

local M = {}

local option_names = { "platform", "device", "aliases", "has_side_effect", "run_id", "device_ordinal", "strict" }

--- Adds the buffers of a value, a list being a tuple, to `flat`.
local function flatten(value, flat, fail, position, what)
  local kind, open = core.kind(value)
  if kind == "buffer" then
    if not open then fail(position, "%s %d: this buffer is closed", what, #flat) end
    flat[#flat + 1] = value
  elseif type(value) == "table" then
    local length, why = array.list_length(value)
    if not length then fail(position, "%ss: %s", what, why) end
    for i = 1, length do flatten(value[i], flat, fail, position, what) end
  else
    fail(position, "%s %d: expected a buffer, got %s", what, #flat, kind or type(value))
  end
end

local function flatten_operands(operands, fail)
  local flat = {}
  if operands == nil then return flat end
  if type(operands) ~= "table" then
    fail(2, "expected a list of buffers, got %s", core.kind(operands) or type(operands))
  end
  flatten(operands, flat, fail, 2, "arg")
  return flat
end

--- A new buffer for an array type, a list of them for a tuple.
local function allocate(result_type, flat)
  if result_type.dims then
    local buffer = core.buffer(result_type)
    flat[#flat + 1] = buffer
    return buffer
  end
  local list = {}
  for i = 1, #result_type do list[i] = allocate(result_type[i], flat) end
  return list
end

--- The buffers that results go into, in the nesting in which they are given back.
local function make_results(results, flat, fail)
  local kind, open = core.kind(results)
  if kind == "buffer" then
    if not open then fail(3, "result %d: this buffer is closed", #flat) end
    flat[#flat + 1] = results
    return results
  elseif type(results) == "string" or kind == "type" then
    return allocate(core.type(results), flat)
  elseif type(results) == "table" then
    local length, why = array.list_length(results)
    if not length then fail(3, "results: %s", why) end
    local list = {}
    for i = 1, length do list[i] = make_results(results[i], flat, fail) end
    return list
  end
  fail(3, "result %d: expected a type, a buffer or a list of them, got %s", #flat, kind or type(results))
end

local function check_integer(value, name, fail)
  local integer = type(value) == "number" and math.tointeger(value)
  if not integer then fail(5, "%s: expected an integer, got %s", name, tostring(value)) end
  return integer
end

--- {[result] = operand} as the flat list that core takes.
local function flatten_aliases(aliases, fail)
  local flat = {}
  if aliases == nil then return flat end
  if type(aliases) ~= "table" then fail(5, "aliases: expected a table {[result] = arg}, got %s", type(aliases)) end
  for result, operand in next, aliases do
    flat[#flat + 1] = check_integer(result, "aliases", fail)
    flat[#flat + 1] = check_integer(operand, "aliases", fail)
  end
  return flat
end

local function check_options(options, fail)
  errors.check(fail, 5, options, "table")
  local known = {}
  for _, name in ipairs(option_names) do known[name] = true end
  for name in next, options do
    if not known[name] then
      local near = type(name) == "string" and core.near(name, option_names) or {}
      fail(5, "no option is called '%s'%s", tostring(name), near[1] and "; near: " .. table.concat(near, ", ") or "")
    end
  end
  if options.device ~= nil and options.device ~= "host" then fail(5, "no device is called '%s'", options.device) end
end

--- The handler that a target stands for, and the name under which messages know it.
local function resolve(target, platform, fail)
  local kind = core.kind(target)
  if kind == "handler" then return target, target.name end
  if type(target) == "string" then
    if type(platform) ~= "string" then fail(5, "platform: expected a string, got %s", type(platform)) end
    return core.find(target, platform), target
  end
  if type(target) == "table" then
    for stage, handler in next, target do
      if core.kind(handler) ~= "handler" then
        fail(1, "stage '%s': expected a handler, got %s", tostring(stage), core.kind(handler) or type(handler))
      end
    end
    local name = target.execute and target.execute.name or "bundle"
    return core.bundle(name, target), name
  end
  fail(1, "expected a handler, a table of handlers by stage or a registered name, got %s", kind or type(target))
end
M.resolve = resolve

local function prepare(function_name, target, operands, results, attrs, options)
  local fail = errors.misuse_of(function_name)
  options = options or {}
  check_options(options, fail)
  local handler, name = resolve(target, options.platform or "host", fail)
  local flat_operands, flat_results = flatten_operands(operands, fail), {}
  local returns = make_results(results, flat_results, fail)
  local dictionary = attributes.from(attrs, function(...) fail(4, ...) end)
  local run_id = check_integer(options.run_id or 0, "run_id", fail)
  local device_ordinal = check_integer(options.device_ordinal or -1, "device_ordinal", fail)
  return core.prepare(handler, flat_operands, flat_results, dictionary, returns, name,
    flatten_aliases(options.aliases, fail), run_id, device_ordinal, options.strict)
end

--- ccw.prepare(target, operands, results [, attributes [, options]]) -> call.
-- Builds a call once, to run it many times: call() allocates nothing and returns the same result buffers each time.
-- call:explain() shows the frame. The arguments are those of ccw.call.
function M.prepare(...) return prepare("prepare", ...) end

--- ccw.call(target, operands, results [, attributes [, options]]) -> results.
-- Runs a custom call. The target is a handler, a table of handlers by stage, or a registered name. Operands are a list of
-- buffers; a list in it is a tuple, whose buffers the handler sees one after the other. Results are a type, "f32[4]" or
-- "(f32[4], s32[])", a buffer as the destination, or a list of those; they come back in the same nesting. Attributes are a
-- table, see ccw.attrs. Options: platform ("Host") to look a name up for; aliases = {[0] = 1}, result 0 may have the memory
-- of arg 1: a result given as a type gets a copy of it first, the operand's own buffer is overwritten; run_id,
-- device_ordinal, for handlers that ask; strict, check that a pred result holds 0 and 1 only; has_side_effect, which changes
-- nothing: a call always runs. A failure raises an error object with the handler's code and message.
function M.call(...)
  local call <close> = prepare("call", ...)
  return call()
end

return M

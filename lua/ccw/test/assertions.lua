--- Assertions for busted: registered with luassert, and functions of ccw.test.
local core = require "ccw.core"
local errors = require "ccw.errors"
local array = require "ccw.array"
local comparison = require "ccw.comparison"
local device = require "ccw.device"
local same = require "ccw.test.same"

local M = {}

local found, luassert = pcall(require, "luassert")
if not found then error("ccw.test needs luassert, which is not here: install lua-busted, or its rock", 0) end
local say = require "say"
local assertions = require "luassert.namespaces".assertion

--- ---- what luassert wants to know

say:set("assertion.ccw.said", "%s")
say:set("assertion.ccw.not_said", "expected otherwise: %s")

--- Has a failure say that text, and what the user says in front of it.
local function tell(state, arguments, text, message)
  if message ~= nil then state.failure_message = message end
  arguments[1], arguments.n, arguments.nofmt = text, 1, { true }
end

local function register(name, check)
  luassert:register("assertion", name, check, "assertion.ccw.said", "assertion.ccw.not_said")
end

local function check_count(name, arguments, least)
  if arguments.n < least then error(("assert.%s: expected %d arguments, got %d"):format(name, least, arguments.n), 0) end
end

luassert:add_formatter(function(value)
  local kind = core.kind(value)
  if kind or errors.is_error(value) then return ("(%s) %s"):format(kind or "error", tostring(value)) end
end)

--- ---- the same

--- luassert's own, for what is none of ours.
local luasserts_same = assertions.same

luassert:register("assertion", "same", function(state, arguments, level)
  local expected, passed, message = arguments[1], arguments[2], arguments[3]
  if arguments.n < 2 or not same.is_ours(expected) and not same.is_ours(passed) then
    return luasserts_same.callback(state, arguments, level)
  end
  local text = same.difference(expected, passed, false)
  arguments[1], arguments[2] = passed, expected
  state.failure_message = text and message and ("%s\n%s"):format(tostring(message), text) or message or text
  return not text
end, luasserts_same.positive_message, luasserts_same.negative_message)

register("same_bits", function(state, arguments)
  check_count("same_bits", arguments, 2)
  local text = same.difference(arguments[1], arguments[2], true)
  tell(state, arguments, text or "both are the same in all bits", arguments[3])
  return not text
end)

--- ---- close

--- A value as an array of a buffer's type: a number, a table of them, a function.
local function like(value, buffer)
  local ok, made = pcall(array.array, buffer.type, value)
  if ok and value ~= nil then return made end
  local why = value ~= nil and tostring(made):match "%((.*)%)$" or "nil is nothing to be close to"
  error(("assert.close: what is expected of %s: %s"):format(buffer.type, why), 0)
end

local function as_buffer(value)
  local kind, is_open = core.kind(value)
  if kind == "buffer" and not is_open then error("assert.close: a buffer is closed", 0) end
  if kind == "buffer" then return value:to "host" end
  if core.kind(value) == "scalar" then return array.array(value.dtype .. "[]", value) end
  if type(value) == "number" then return array.array("f64[]", value) end
end

register("close", function(state, arguments)
  check_count("close", arguments, 2)
  local expected = type(arguments[1]) ~= "number" and as_buffer(arguments[1]) or nil
  local passed = as_buffer(arguments[2])
  if not passed then
    error(("assert.close: expected a buffer, a scalar or a number, got %s"):format(core.kind(arguments[2]) or type(arguments[2])), 0)
  end
  if not expected then expected = like(arguments[1], passed) end
  local options, message = {}, arguments[4]
  if type(arguments[3]) == "table" then
    for name, value in next, arguments[3] do options[name] = value end
  elseif message == nil then
    message = arguments[3]
  end
  options.close = not options.bitwise and (options.close == nil or options.close) or nil
  local ok, outcome = pcall(comparison.compare, passed, expected, options)
  if not ok then error("assert.close: " .. (tostring(outcome):match "bad argument #3 to 'compare' %((.*)%)$" or tostring(outcome)), 0) end
  local text = "both are close"
  if not outcome.equal and not outcome.first then
    local what = expected.dtype ~= passed.dtype and "dtypes" or "shapes"
    text = ("%s differ: %s, expected %s"):format(what, passed.type, expected.type)
  elseif not outcome.equal then
    text = ("%s, by up to %.3g"):format(same.elements(passed, expected, outcome, options.bitwise), outcome.distance)
  end
  tell(state, arguments, text, message)
  return outcome.equal
end)

--- ---- errors

register("rejects", function(state, arguments)
  check_count("rejects", arguments, 2)
  local code, f = arguments[1], arguments[2]
  if type(f) ~= "function" and not (getmetatable(f) or {}).__call then
    error(("assert.rejects: expected a function, got %s"):format(core.kind(f) or type(f)), 0)
  end
  if type(code) ~= "string" then error(("assert.rejects: expected a code, as INVALID_ARGUMENT, got %s"):format(type(code)), 0) end
  local results = table.pack(pcall(f, table.unpack(arguments, 3, arguments.n)))
  local err = results[2]
  local is_right = not results[1] and errors.is_error(err) and err.code == code
  local text
  if results[1] then
    text = ("expected %s, got no error"):format(code)
  elseif errors.is_error(err) then
    text = ("expected %s, got %s"):format(code, tostring(err))
  else
    text = ("expected the error object %s, got: %s"):format(code, tostring(err))
  end
  tell(state, arguments, text)
  return is_right, { err, n = 1 }
end)

--- ---- leaks

--- What is in use: blocks and bytes of core's, and allocations by device.
local function in_use()
  collectgarbage()
  collectgarbage()
  local use = { memory = core.memory(), devices = {} }
  for _, one in ipairs(device.devices()) do
    if one.name ~= "host" then use.devices[one.name] = one:allocations() end
  end
  return use
end

local function plural(count, noun) return ("%d %s%s"):format(count, noun, count == 1 and "" or "s") end

--- What there is more than before, nothing for no more.
local function growth(before, after)
  local parts = {}
  local blocks = after.memory.blocks - before.memory.blocks
  if blocks > 0 then
    parts[1] = ("%s of memory, %s"):format(plural(blocks, "block"), plural(after.memory.bytes - before.memory.bytes, "byte"))
  end
  for name, list in pairs(after.devices) do
    local more = #list - #(before.devices[name] or {})
    if more > 0 then
      local last = list[#list]
      parts[#parts + 1] = ("%s on %s, the last of %s%s"):format(plural(more, "allocation"), name, plural(last.bytes, "byte"),
        last.site ~= "" and ", of " .. last.site or "")
    end
  end
  return parts[1] and table.concat(parts, "; ")
end

--- What f leaves behind each time; a first call may fill what is kept for later.
local function leak(f, ...)
  f(...)
  local before = in_use()
  f(...)
  local middle = in_use()
  if not growth(before, middle) then return nil end
  f(...)
  return growth(middle, in_use())
end

register("no_leaks", function(state, arguments)
  check_count("no_leaks", arguments, 1)
  local text = leak(table.unpack(arguments, 1, arguments.n))
  tell(state, arguments, text and "each call leaves behind: " .. text or "nothing is left behind")
  return not text
end)

for _, name in ipairs { "same", "same_bits", "close", "rejects", "no_leaks" } do
  M[name] = function(...) return luassert[name](...) end
end

return M

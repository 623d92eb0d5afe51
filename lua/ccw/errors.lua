--- Error objects: what a failure of the world raises, as opposed to misuse, which raises a string.
local core = require "ccw.core"

local M = {}
local meta = core.error_metatable

--- Whether a value is an error object.
function M.is_error(value) return getmetatable(value) == meta end

--- Positions of the operands that the message names, counted from 0 as XLA does.
local function operands(message)
  local found = {}
  local list = message:match "bad operands at: ([%d, ]+)"
  for position in (list or ""):gmatch "%d+" do found[#found + 1] = math.tointeger(tonumber(position)) end
  if not list then
    for position in ("\n" .. message):gmatch "%f[%w]arg (%d+)" do found[#found + 1] = math.tointeger(tonumber(position)) end
  end
  return #found > 0 and found or nil
end

function meta.__index(object, key)
  if key == "operands" then return operands(rawget(object, "message")) end
end

function meta.__tostring(object) return object.code .. ": " .. object.message end

function meta.__eq(a, b) return M.is_error(a) and M.is_error(b) and a.code == b.code and a.message == b.message end

--- Where ccw's own functions come from: "=ccw." or a path, in front of a module's name.
local own = debug.getinfo(1, "S").source:match "^(.*)errors"

--- Whether a function, as debug.getinfo describes it, is one of ccw's own modules'.
function M.is_own(info) return info.source:sub(1, #own) == own end

--- The level of the nearest function that is not ccw's own, as error counts them in the function that asks; 0 for none.
local function caller_level()
  local level = 2
  while true do
    local info = debug.getinfo(level, "S")
    if not info then return 0 end
    if info.what ~= "C" and not M.is_own(info) then return level - 1 end
    level = level + 1
  end
end

--- A function fail(position, format, ...) that raises misuse of an argument of the named function, as Lua's own do: "bad
--- argument #2 to 'array' (...)", with the place in the caller's code.
function M.misuse_of(name)
  return function(position, format, ...)
    error(("bad argument #%d to '%s' (%s)"):format(position, name, format:format(...)), caller_level())
  end
end

--- Raises misuse unless the value is of that type, nil where that is allowed.
function M.check(fail, position, value, wanted, may_be_nil)
  if type(value) == wanted or (value == nil and may_be_nil) then return end
  fail(position, "expected a %s, got %s", wanted, core.kind(value) or type(value))
end

--- Raises an error object.
function M.raise(code, message) error(setmetatable({ code = code, message = message }, meta), 0) end

--- ccw.try(f, ...) -> results of f, or nil and an error object.
-- Calls f. A failure of the world (a handler, a file, the registry, shapes, text that was read) comes back as nil and an
-- error object, which has code ("INVALID_ARGUMENT"), message, handler, stage, operands (positions from 0) and a good
-- tostring. Misuse goes on as the error that it is.
function M.try(f, ...)
  local results = table.pack(pcall(f, ...))
  if results[1] then return table.unpack(results, 2, results.n) end
  if M.is_error(results[2]) then return nil, results[2] end
  error(results[2], 0)
end

return M

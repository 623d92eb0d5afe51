--- Error objects: what a failure of the world raises, as opposed to misuse, which raises a string.
local core = require "ccw.core"

local M = {}
local meta = core.error_metatable

--- error: what a failure raises, and what ccw.try gives back.
-- Fields: code ("INVALID_ARGUMENT", one of absl's), message; handler and stage, where it came from one; operands, a list of
-- positions from 0, as the handler counts what it binds, where the message names them. tostring gives "CODE: message"; two
-- are equal when code and message are.

--- Whether a value is an error object.
function M.is_error(value) return getmetatable(value) == meta end

--- The name that the metatable of a table gives; nil for everything else.
function M.metatable_name(value)
  local metatable = type(value) == "table" and getmetatable(value)
  return type(metatable) == "table" and rawget(metatable, "__name") or nil
end

--- An __index for values with methods, which says what was perhaps meant by another name.
function M.index_of(what, methods)
  return function(_, name)
    if methods[name] or type(name) ~= "string" then return methods[name] end
    local names = {}
    for known in pairs(methods) do names[#names + 1] = known end
    local near = core.near(name, names)
    error(("a %s has no method '%s'%s"):format(what, name, near[1] and "; near: " .. table.concat(near, ", ") or ""), 2)
  end
end

--- Checks a table of options: each name must be in `types`, with a value of the type that stands there.
function M.check_options(fail, position, options, types)
  M.check(fail, position, options, "table", true)
  for name, value in next, options or {} do
    local wanted = types[name]
    if not wanted then
      local names = {}
      for known in pairs(types) do names[#names + 1] = known end
      local near = core.near(tostring(name), names)
      fail(position, "no option is called '%s'%s", tostring(name), near[1] and "; near: " .. table.concat(near, ", ") or "")
    end
    if wanted == "integer" then
      if math.type(value) ~= "integer" and not (math.type(value) == "float" and math.tointeger(value)) then
        fail(position, "%s: expected an integer, got %s", name, tostring(value))
      end
    elseif wanted ~= "any" and type(value) ~= wanted then
      fail(position, "%s: expected a %s, got %s", name, wanted, core.kind(value) or type(value))
    end
  end
end

--- Positions of what the handler bound, as far as the message names them: those of the official binding ("bad operands at:
--- 0, 3", which counts all parameters), or the args that the lines of a message of ours begin with.
local function operands(object)
  local found, message = {}, tostring(rawget(object, "message"))
  local list = message:match "%(bad operands at: ([%d, ]+)%)"
  for position in (list or ""):gmatch "%d+" do found[#found + 1] = math.tointeger(tonumber(position)) end
  if not list then
    for _, prefix in ipairs { rawget(object, "handler") or "", rawget(object, "stage") or "" } do
      if message:sub(1, #prefix + 2) == prefix .. ": " then message = message:sub(#prefix + 3) end
    end
    for line in message:gmatch "[^\n]+" do
      local position = line:match "^ *arg (%d+)[ :]"
      if position then found[#found + 1] = math.tointeger(tonumber(position)) end
    end
  end
  return #found > 0 and found or nil
end

function meta.__index(object, key)
  if key == "operands" then return operands(object) end
end

function meta.__tostring(object) return tostring(object.code) .. ": " .. tostring(object.message) end

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

--- "file.lua:12", the place in the user's code from which the present function was called; "" where there is none.
function M.site()
  local level = 2
  while true do
    local info = debug.getinfo(level, "Sl")
    if not info then return "" end
    if info.what ~= "C" and not M.is_own(info) then return ("%s:%d"):format((info.short_src:gsub("%c", " ")), info.currentline) end
    level = level + 1
  end
end

local MOST_FRAMES = 20

--- Where an error comes from, a line for each function of the user's, nearest first; from the message handler that asks.
-- `last` is the function where the user's code begins. Of a recursion without an end the nearest are enough.
function M.user_frames(last)
  local lines = {}
  for level = 3, math.huge do
    local info = debug.getinfo(level, "Slnf")
    if not info or info.func == last then return lines end
    if #lines == MOST_FRAMES then
      lines[#lines + 1] = "  ..."
      return lines
    end
    if info.what ~= "C" and not M.is_own(info) then
      local name = info.name ~= "chunk" and info.name or "the chunk" -- what ccw itself calls it
      lines[#lines + 1] = ("  %s:%d: in %s"):format(info.short_src, info.currentline, name)
    end
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

--- Raises misuse unless the value is a string, without a NUL.
function M.check_text(fail, position, value)
  M.check(fail, position, value, "string")
  if value:find "\0" then fail(position, "the string holds a NUL") end
end

--- Raises misuse of a value that is closed.
function M.check_open(value)
  local kind, is_open = core.kind(value)
  if not is_open then error(("this %s is closed"):format(kind), caller_level()) end
end

--- Raises misuse unless that method was called on an open value of its kind.
function M.check_self(kind, method, value)
  if core.kind(value) ~= kind then M.misuse_of(method)(1, "a method is called with a colon, %s:%s()", kind, method) end
  M.check_open(value)
end

--- Raises an error object.
function M.raise(code, message) error(setmetatable({ code = code, message = message }, meta), 0) end

--- ccw.try(f, ...) -> results of f, or nil and an error object.
-- Calls f. A failure of the world (a handler, a file, the registry, shapes, text that was read) comes back as nil and an
-- error object: ?error. Misuse goes on as the error that it is.
function M.try(f, ...)
  local results = table.pack(pcall(f, ...))
  if results[1] then return table.unpack(results, 2, results.n) end
  if M.is_error(results[2]) then return nil, results[2] end
  error(results[2], 0)
end

return M

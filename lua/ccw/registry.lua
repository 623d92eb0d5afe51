--- The registry: handlers by name and platform.
local core = require "ccw.core"
local errors = require "ccw.errors"
local call = require "ccw.call"

local M = {}

--- ccw.register(name, handler [, platform [, {replace = true}]]).
-- Registers a handler, or a table of handlers by stage, under a name for a platform, "Host" when none is given. Platform
-- names are those of XLA: case does not matter, "cpu" is "host", "gpu" is "cuda". The same handler again is fine; another one
-- under a name that is taken is refused unless replace is true.
function M.register(name, handler, platform, options)
  local fail = errors.misuse_of "register"
  errors.check(fail, 1, name, "string")
  if type(handler) == "string" then fail(2, "expected a handler, got a string") end
  platform = platform == nil and "Host" or platform
  errors.check(fail, 3, platform, "string")
  errors.check_options(fail, 4, options, { replace = "boolean" })
  core.register(name, call.resolve(handler, platform, function(_, ...) fail(2, ...) end), platform,
    options and options.replace)
end

--- ccw.find(name [, platform]) -> handler.
-- The handler that is registered under that name. NOT_FOUND, which says on which platforms the name is registered, and names
-- that are near.
function M.find(name, platform)
  local fail = errors.misuse_of "find"
  errors.check(fail, 1, name, "string")
  platform = platform == nil and "Host" or platform
  errors.check(fail, 2, platform, "string")
  return core.find(name, platform)
end

local list_metatable = {}

function list_metatable.__tostring(list)
  if #list == 0 then return "no handler is registered" end
  local rows, names, width = {}, {}, 0
  for i, row in ipairs(list) do
    names[i] = row.name:find "%c" and core.quote(row.name) or row.name
    width = math.max(width, #names[i])
  end
  for i, row in ipairs(list) do
    local handler = row.handler
    local traits = #handler.traits > 0 and "  " .. table.concat(handler.traits, ", ") or ""
    rows[i] = names[i] .. (" "):rep(width - #names[i]) .. ("  %-6s  FFI %s  %s%s  %s"):format(row.platform, handler.version,
      table.concat(handler.stages, ", "), traits, handler.library ~= "" and handler.library or "(no library)")
  end
  return table.concat(rows, "\n")
end

--- ccw.registered() -> list.
-- All registrations by name and platform, each with name, platform and handler. It prints as a table.
function M.registered()
  local list = {}
  while true do
    local name, platform, handler = core.registered(#list)
    if not name then return setmetatable(list, list_metatable) end
    list[#list + 1] = { name = name, platform = platform, handler = handler }
  end
end

--- ccw.types() -> list.
-- The types of state and of user data that are registered, in the order in which they were: each has name, id, and state, false for
-- one that is for user data alone. lib:type registers one; types of ccw/handler.h and of Python modules are registered when they are
-- loaded.
function M.types()
  local list = {}
  for i = 0, math.huge do
    local name, id, is_state = core.state_type_at(i)
    if not name then break end
    table.insert(list, 1, { name = name, id = id, state = is_state })
  end
  return list
end

return M

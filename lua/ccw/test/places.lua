--- Where a check runs: the devices for which there is a handler.
local core = require "ccw.core"
local errors = require "ccw.errors"
local device = require "ccw.device"
local settings = require "ccw.test.settings"

local M = {}

local stages = { instantiate = true, prepare = true, initialize = true, execute = true, record = true }
local families = { host = true, sim = true, cuda = true, rocm = true }

local function family_of(name) return name:match "^%a+" end

--- The handlers by family of devices, or a name that is registered for platforms.
local function read_handlers(handler, fail)
  local kind = core.kind(handler)
  if type(handler) == "string" then return nil, handler end
  if kind == "handler" then return { any = handler } end
  if type(handler) ~= "table" or errors.metatable_name(handler) then
    fail(1, "expected a handler, a table of handlers by device, {host = ..., sim = ...}, or a registered name, got %s",
      kind or errors.metatable_name(handler) or type(handler))
  end
  local name, value = next(handler)
  if name == nil then fail(1, "expected handlers, got an empty table") end
  if not families[family_of(tostring(name)) or ""] then
    if stages[name] and core.kind(value) == "handler" then return { any = handler } end -- of one device
    fail(1, "expected the name of a device, host, sim, cuda, rocm or sim:0, or of a stage, got %s", tostring(name))
  end
  for key, one in next, handler do
    if type(key) ~= "string" or not families[family_of(key) or ""] then
      fail(1, "expected names of devices, host, sim, cuda, rocm or sim:0, got %s", tostring(key))
    end
    if core.kind(one) ~= "handler" and (type(one) ~= "table" or getmetatable(one)) then
      fail(1, "%s: expected a handler, got %s", key, core.kind(one) or type(one))
    end
  end
  return handler
end

--- What there is: devices, and by family why there is none.
local function present()
  local list, by_name = device.devices(), {}
  for _, one in ipairs(list) do by_name[one.name] = one end
  return list, by_name
end

--- The handler for a device; a handler that is given alone is the host's, unless a place is named for it.
local function handler_for(handlers, registered, one, is_named)
  if registered then return errors.try(core.find, registered, one.platform) and registered end
  if handlers.any then return (is_named or one.name == "host") and handlers.any or nil end
  return handlers[one.name] or handlers[family_of(one.name)]
end

--- What handlers are called: those that are given, one or some by place.
function M.name(handler)
  if core.kind(handler) == "handler" then return handler.name end
  if type(handler) == "string" then return handler end
  local one = handler.host or handler.execute or select(2, next(handler))
  return core.kind(one) == "handler" and one.name or "handler"
end

--- Asks a handler for its signature now, so that child processes know it: an official one is asked in a process of its own.
function M.learn(place)
  if core.kind(place.handler) == "handler" then errors.try(function() return place.handler.signature end) end
end

--- Whether --require names that place, or its family.
local function is_required(name) return settings.requires[name] or settings.requires[family_of(name)] end

--- Where to run, a list of {name, device, handler}, or {name, why, is_required} for what there is not. on: "all", "host", a list of names.
function M.find(handler, on, fail)
  local handlers, registered = read_handlers(handler, fail)
  local list, by_name = present()
  local places = {}
  local function add(one, is_named)
    local found = handler_for(handlers, registered, one, is_named)
    if found then
      places[#places + 1] = { name = one.name, device = one, handler = found }
    elseif is_named then
      places[#places + 1] = { name = one.name, why = "there is no handler for it", is_required = is_required(one.name) }
    end
  end
  local function absent(name)
    local why = tostring(list[family_of(name)] or "there is no such device")
    places[#places + 1] = { name = name, why = why, is_required = is_required(name) }
  end
  if on == nil or on == "all" then
    for _, one in ipairs(list) do add(one, false) end
    for key in next, handlers and not handlers.any and handlers or {} do
      if list[family_of(key)] or key:find ":" and not by_name[key] then absent(key) end
    end
    if registered and #places == 0 then core.find(registered, "host") end -- which says what there is
    return places
  end
  if type(on) == "table" and next(on) == nil then fail(3, "on: expected names of devices, got an empty list") end
  for i, name in ipairs(type(on) == "table" and on or { on }) do
    if type(name) ~= "string" or not families[family_of(name) or ""] then
      fail(3, "on: expected \"all\" or names of devices, got %s", tostring(name or on[i]))
    end
    local found = by_name[name] or by_name[name .. ":0"] or family_of(name) == "sim" and errors.try(core.device, name)
    if found then add(found, true) else absent(name) end
  end
  return places
end

return M

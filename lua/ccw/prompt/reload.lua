--- Libraries that were built anew.
local core = require "ccw.core"
local ask = require "ccw.ask"
local errors = require "ccw.errors"
local load = require "ccw.load"

local M = {}

--- libraries(session) -> list. The names of the variables of a prompt that hold libraries.
function M.libraries(session)
  local names, seen = {}, {}
  for _, name in ipairs(session:names()) do
    local kind, open = core.kind(session:value(name))
    if kind == "library" and open and not seen[name] then
      seen[name] = true
      names[#names + 1] = name
    end
  end
  return names
end

local function listed(names, what)
  if #names == 0 then return nil end
  table.sort(names)
  return ("%d %s (%s)"):format(#names, what, table.concat(names, ", "))
end

--- What has become of the handlers. The old file is gone, and cannot be asked: its signatures are those that its code carries, and what
--- it has told before.
local function changes(old, new)
  local count, added, changed = 0, {}, {}
  for _, name in ipairs(errors.try(function() return new:names() end) or {}) do
    local signature, _, code = ask.signature_in(new, name)
    local before, _, code_before = core.library_signature(old, name)
    if code ~= "NOT_FOUND" then
      count = count + 1
      if code_before == "NOT_FOUND" then
        added[#added + 1] = name
      elseif signature and before and tostring(signature) ~= tostring(before) then
        changed[#changed + 1] = name
      end
    end
  end
  local parts = { ("%d handler%s"):format(count, count == 1 and "" or "s") }
  parts[#parts + 1] = listed(added, "of them new")
  parts[#parts + 1] = listed(changed, "with another signature")
  return table.concat(parts, ", ")
end

--- Names under which handlers of that file are registered: they go on with the code that they had.
local function registered_from(path)
  local names, seen = {}, {}
  for i = 0, math.huge do
    local name, _, handler = core.registered(i)
    if not name then return names end
    if handler.library == path and not seen[name] then
      seen[name] = true
      names[#names + 1] = name
    end
  end
end

local function which(session, name)
  local names = M.libraries(session)
  if name == "" and #names == 1 then name = names[1] end
  local kind, open = core.kind(session:value(name))
  if kind == "library" and open then return name end
  local there = #names > 0 and "; there " .. (#names == 1 and "is " or "are ") .. table.concat(names, ", ") or ""
  error((name == "" and ":reload wants the name of a variable that holds a library" or
    ("'%s' is no variable that holds a library"):format(name)) .. there, 0)
end

--- reload(session, name) -> text. Loads the library of that variable anew, and gives it to the variable. What has its old handlers keeps
--- them. Says what has changed.
function M.reload(session, name)
  name = which(session, name)
  local old = session:value(name)
  local path, origin = old:path(), core.library_origin(old)
  if origin and origin:find "^python:" then
    error(("%s is a Python module, which Python imports once: a new process has the new code"):format(name), 0)
  elseif origin then
    return ("%s has not changed since it was loaded"):format(path)
  end
  local new = load.load(path)
  session:assign(name, new)
  local text = ("%s is the new code of %s: %s; calls and handlers from before keep theirs"):format(name, path,
    changes(old, new))
  local kept = registered_from(path)
  return #kept > 0 and ("%s, and so do the registered names %s"):format(text, table.concat(kept, ", ")) or text
end

return M

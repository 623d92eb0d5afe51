--- Attributes out of Lua tables.
local core = require "ccw.core"
local errors = require "ccw.errors"
local array = require "ccw.array"

local M = {}

local scalar_types = { boolean = true, number = true }

--- The path of an attribute as people write it: b.x["two words"].
local function join(path, name)
  if not name:match "^[%a_][%w_]*$" then return ("%s[%s]"):format(path, core.quote(name)) end
  return path == "" and name or path .. "." .. name
end

--- The array attribute that a list of plain numbers stands for: s64 of integers, f64 of floats.
local function from_list(list, path, fail)
  local length, why = array.list_length(list)
  if not length then fail("%s: %s", path, why) end
  local kind = math.type(list[1])
  for i = 1, length do
    local value = list[i]
    if type(value) == "boolean" then fail("%s: XLA has no attributes that are arrays of pred", path) end
    if type(value) ~= "number" then
      fail("%s[%d]: expected a number, got %s", path, i, core.kind(value) or type(value))
    end
    if math.type(value) ~= kind then
      fail("%s[%d]: integers and floats in one list; say which: ccw.f64{...}", path, i)
    end
  end
  local buffer = core.buffer(("%s[%d]"):format(kind == "integer" and "s64" or "f64", length))
  for i = 1, length do core.put(buffer, i - 1, list[i]) end
  return buffer
end

local build

--- The value of an attribute as the builder takes it.
local function convert(value, path, depth, fail)
  local kind, open = core.kind(value)
  if kind == "attributes" or kind == "scalar" then return value end
  if kind == "buffer" then
    if not open then fail("%s: this buffer is closed", path) end
    return value.address == 0 and value.count > 0 and value:copy() or value -- a view inside a byte has no address
  end
  if scalar_types[type(value)] or type(value) == "string" then return value end
  if type(value) ~= "table" then
    fail("%s: expected a boolean, a number, a string, an array or a table, got %s", path, kind or type(value))
  end
  local key = next(value)
  if key ~= nil and type(key) ~= "string" then return from_list(value, path, fail) end
  return build(value, path, depth + 1, fail)
end

function build(source, path, depth, fail)
  if depth > 64 then fail("%s: more than 64 dictionaries in each other", path:sub(1, 20) .. "...") end
  local builder = core.builder()
  for name, value in next, source do
    if type(name) ~= "string" then
      fail("%sexpected names, got the key %s", path == "" and "" or path .. ": ", tostring(name))
    end
    local inner = join(path, name)
    local problem = builder:add(name, convert(value, inner, depth, fail))
    if problem then fail("%s: %s", inner, problem) end
  end
  return builder:finish()
end

--- The attributes that an argument stands for, nil for none; `fail` raises.
function M.from(value, fail)
  local kind = core.kind(value)
  if value == nil or kind == "attributes" then return value end
  if type(value) ~= "table" then fail("expected a table of attributes, got %s", kind or type(value)) end
  return build(value, "", 1, fail)
end

--- ccw.attrs(table) -> attributes.
-- A dictionary of attributes, copied now and immutable from then on. true and false are pred, integers s64, floats f64;
-- ccw.f32(1.5) says otherwise. Strings hold any bytes. A list of integers is an array of s64, of floats of f64; ccw.s32{...}
-- says otherwise, and an empty array is ccw.s64{}. A table with names, or an empty one, is a dictionary. Names are sorted by
-- byte at every level, as XLA does. Wherever attributes are wanted a table does as well.
function M.attrs(source)
  local misuse = errors.misuse_of "attrs"
  errors.check(misuse, 1, source, "table")
  return M.from(source, function(...) misuse(1, ...) end)
end

return M

--- Attributes out of Lua tables.
local core = require "ccw.core"
local errors = require "ccw.errors"
local array = require "ccw.array"

local M = {}

local scalar_types = { boolean = true, number = true, string = true }

--- The path of an attribute as people write it: b.x["two words"].
local function join(path)
  local text = ""
  for _, name in ipairs(path) do
    if not name:match "^[%a_][%w_]*$" then
      text = ("%s[%s]"):format(text, core.quote(name))
    else
      text = text == "" and name or text .. "." .. name
    end
  end
  return text
end

--- A plain number as a kind wants it; complain(format, ...) raises. What no kind is known of stays as it is.
local function fit(number, kind, refuse)
  if kind.form ~= "scalar" and kind.form ~= "enum" and kind.form ~= "pointer" then return number end
  local scalar, why, code = core.fit(kind.form == "pointer" and "s64" or kind.dtype, number)
  return scalar or refuse(code, ": %s", why)
end

--- The array attribute that a list of plain numbers stands for: of the dtype that is wanted, else s64 of integers, f64 of
--- floats.
local function from_list(list, kind, complain, refuse)
  local length, why = array.list_length(list)
  if not length then complain(": %s", why) end
  if kind.form == "array" then
    local buffer = core.buffer(("%s[%d]"):format(kind.dtype, length))
    for i = 1, length do
      if type(list[i]) ~= "number" then complain("[%d]: expected a number, got %s", i, core.kind(list[i]) or type(list[i])) end
      local scalar, problem, code = core.fit(kind.dtype, list[i])
      if not scalar then refuse(code, "[%d]: %s", i, problem) end
      core.put(buffer, i - 1, scalar)
    end
    return buffer
  end
  local number = math.type(list[1])
  for i = 1, length do
    local value = list[i]
    if type(value) == "boolean" then complain ": XLA has no attributes that are arrays of pred" end
    if type(value) ~= "number" then complain("[%d]: expected a number, got %s", i, core.kind(value) or type(value)) end
    if math.type(value) ~= number then complain("[%d]: integers and floats in one list; say which: ccw.f64{...}", i) end
  end
  local buffer = core.buffer(("%s[%d]"):format(number == "integer" and "s64" or "f64", length))
  for i = 1, length do core.put(buffer, i - 1, list[i]) end
  return buffer
end

local build

local unknown = { form = "unknown" }

--- The value of an attribute as the builder takes it. `path` is the list of names that lead here; `wanted` the kind that it is to
--- be, as core.attribute_kinds has it; `who` wants it.
local function convert(value, path, wanted, who, fail, position)
  local function refuse(code, format, ...)
    errors.raise(code, ("%s: attribute '%s'" .. format):format(who, join(path), ...))
  end
  if type(value) == "number" then return fit(value, wanted, refuse) end
  if type(value) == "string" and wanted.values and wanted.values[value] then
    return fit(wanted.values[value], wanted, refuse)
  end
  if type(value) == "string" and wanted.values then
    local names = {}
    for name in pairs(wanted.values) do names[#names + 1] = name end
    table.sort(names)
    refuse("INVALID_ARGUMENT", ": expected %s or its number, got %s", table.concat(names, ", "), core.quote(value))
  end
  if scalar_types[type(value)] then return value end
  local kind, open = core.kind(value)
  if kind == "attributes" or kind == "scalar" then return value end
  local function complain(format, ...) fail(position, "%s" .. format, join(path), ...) end
  if kind == "buffer" then
    if not open then complain ": this buffer is closed" end
    return value.address == 0 and value.count > 0 and value:copy() or value -- a view that shares a byte has no address
  end
  if type(value) ~= "table" or errors.metatable_name(value) then
    complain(": expected a boolean, a number, a string, an array or a table, got %s", kind or errors.metatable_name(value) or type(value))
  end
  local key = next(value)
  if key ~= nil and type(key) ~= "string" or key == nil and wanted.form == "array" then
    return from_list(value, wanted, complain, refuse)
  end
  return build(value, path, wanted.members or {}, who, fail, position)
end

function build(source, path, kinds, who, fail, position)
  local depth = #path + 1
  if depth > 64 then fail(position, "%s...: more than 64 dictionaries in each other", join { path[1], path[2] }) end
  local builder = core.builder()
  for name, value in next, source do
    if type(name) ~= "string" then
      fail(position, "%s%sexpected names, got the key %s", join(path), depth > 1 and ": " or "", tostring(name))
    end
    path[depth] = name
    local problem = builder:add(name, convert(value, path, kinds[name] or unknown, who, fail, position))
    if problem then fail(position, "%s: %s", join(path), problem) end
    path[depth] = nil
  end
  return builder:finish()
end

--- Kinds of attributes by signature.
local kinds_of = setmetatable({}, { __mode = "k" })

--- Kinds of attributes, and those that further signatures know besides.
local function merged(kinds, signatures)
  local all = {}
  for _, signature in ipairs(signatures) do
    for name, kind in pairs(core.attribute_kinds(signature)) do all[name] = kind end
  end
  for name, kind in pairs(kinds) do all[name] = kind end
  return all
end

--- The attributes of a call, as core takes them: a dictionary, a simple table or nil; fail(position, format, ...) raises. Plain
--- numbers become what the signature, or nil, says of them, or one of `more`; `who` wants them.
function M.from(value, fail, position, signature, who, more)
  if value == nil then return nil end
  local kind = core.kind(value)
  if kind == "attributes" then return value end
  if type(value) == "string" then fail(position, "expected a table of attributes: an opaque string is no typed FFI") end
  if type(value) ~= "table" then fail(position, "expected a table of attributes, got %s", kind or type(value)) end
  if core.is_simple(value) and not more then return value end
  if signature and not kinds_of[signature] then kinds_of[signature] = core.attribute_kinds(signature) end
  local kinds = signature and kinds_of[signature] or {}
  return build(value, {}, more and merged(kinds, more) or kinds, who, fail, position)
end

--- A dictionary of a table without a signature; fail(position, format, ...) raises, `who` wants it.
function M.build(value, fail, position, who)
  if type(value) ~= "table" then fail(position, "%s: expected a table, got %s", who, core.kind(value) or type(value)) end
  return build(value, {}, {}, who, fail, position)
end

--- attributes: a dictionary, built once and then immutable.
-- It goes wherever a table of attributes does; #a counts it, and it prints as Lua that makes it.

--- ccw.attrs(table) -> attributes.
-- A dictionary of attributes, copied now and immutable from then on. true and false are pred, integers s64, floats f64;
-- ccw.f32(1.5) says otherwise. Strings hold any bytes. A list of integers is an array of s64, of floats of f64; ccw.s32{...}
-- says otherwise, and an empty array is ccw.s64{}. A table with names, or an empty one, is a dictionary. Names are sorted by
-- byte at every level, as XLA does. Wherever attributes are wanted a table does as well.
function M.attrs(source)
  local misuse = errors.misuse_of "attrs"
  errors.check(misuse, 1, source, "table")
  return build(source, {}, {}, "attrs", misuse, 1)
end

return M

--- What makes two values the same: buffers, scalars and attributes by dtype, too; tables by what is in them.
local core = require "ccw.core"
local errors = require "ccw.errors"
local array = require "ccw.array"
local comparison = require "ccw.comparison"
local show = require "ccw.show"

local M = {}

--- Whether a value is one of ccw's, or a table that holds one.
function M.is_ours(value, seen)
  if core.kind(value) then return true end
  if type(value) ~= "table" or errors.is_error(value) then return false end
  seen = seen or {}
  if seen[value] then return false end
  seen[value] = true
  for key, item in next, value do
    if M.is_ours(key, seen) or M.is_ours(item, seen) then return true end
  end
  return false
end

local modes = { [false] = {}, [true] = { bitwise = true } }

--- "[1].x" in front of a text, where there is a path.
local function at(path, text) return path ~= "" and ("%s: %s"):format(path:gsub("^%.", ""), text) or text end

local function of_buffers(expected, passed, bits, path)
  for name, buffer in pairs { expected = expected, passed = passed } do
    if not select(2, core.kind(buffer)) then return at(path, ("the buffer that is %s is closed"):format(name)) end
  end
  if expected.dtype == "token" or passed.dtype == "token" then
    return expected.type ~= passed.type and at(path, ("types differ: %s, expected %s"):format(passed.type, expected.type)) or nil
  end
  if expected.type ~= passed.type then
    local what = expected.dtype ~= passed.dtype and "dtypes" or "shapes"
    return at(path, ("%s differ: %s, expected %s"):format(what, passed.type, expected.type))
  end
  local outcome = comparison.compare(passed:to "host", expected:to "host", modes[bits])
  if outcome.equal then return nil end
  return at(path, M.elements(passed:to "host", expected:to "host", outcome, bits))
end

--- What a comparison, of bits or of numbers, has found: "[1][3] is 2, expected 3; 1 of 6 elements differ (f32[2,3])".
function M.elements(passed, expected, outcome, bits)
  local k = outcome.first - 1
  local place = core.index_text(passed, k)
  local got, wanted = core.element_text(passed, k), core.element_text(expected, k)
  local how = got ~= wanted and "" or bits and " in its bits" or ", but a NaN equals nothing"
  return ("%s %s, expected %s%s; %d of %d elements differ (%s)"):format(place ~= "" and place .. " is" or "it is", got, wanted, how,
    outcome.count, passed.count, passed.type)
end

--- The one element of an array of rank 0.
local function of_scalars(expected, passed, bits, path)
  if expected.dtype ~= passed.dtype then
    return at(path, ("dtypes differ: %s, expected %s"):format(tostring(passed), tostring(expected)))
  end
  local function buffer(scalar) return array.array(scalar.dtype .. "[]", scalar) end
  return of_buffers(buffer(expected), buffer(passed), bits, path)
end

local function differ(expected, passed, path)
  return at(path, ("%s, expected %s"):format(show.value(passed), show.value(expected)))
end

local function same_numbers(a, b, bits)
  if not bits then return a == b end
  if a ~= a and b ~= b then return true end
  return math.type(a) == math.type(b) and a == b and (a ~= 0 or math.type(a) == "integer" or 1 / a == 1 / b)
end

local compare

local function of_tables(expected, passed, bits, path, seen)
  if seen[expected] == passed then return nil end
  seen[expected] = passed
  for key, value in next, expected do
    local place = type(key) == "string" and path .. "." .. key or ("%s[%s]"):format(path, tostring(key))
    local text = compare(value, passed[key], bits, place, seen)
    if text then return text end
  end
  for key, value in next, passed do
    if expected[key] == nil then
      return at(type(key) == "string" and path .. "." .. key or ("%s[%s]"):format(path, tostring(key)),
        ("%s, expected nothing"):format(show.value(value)))
    end
  end
end

function compare(expected, passed, bits, path, seen)
  local kind, other = core.kind(expected) or type(expected), core.kind(passed) or type(passed)
  if kind ~= other then return differ(expected, passed, path) end
  if kind == "buffer" then return of_buffers(expected, passed, bits, path) end
  if kind == "scalar" then return of_scalars(expected, passed, bits, path) end
  if kind == "attributes" then
    return tostring(expected) ~= tostring(passed) and differ(expected, passed, path) or nil
  end
  if kind == "table" and not errors.is_error(expected) then return of_tables(expected, passed, bits, path, seen) end
  local is_same = expected == passed
  if kind == "number" then is_same = same_numbers(expected, passed, bits) end
  return not is_same and differ(expected, passed, path) or nil
end

--- Nothing where two values are the same, else what is not. With bits, memory counts: -0.0 is not 0.0, a NaN is the same NaN, and of
--- Lua's numbers 1 is not 1.0.
function M.difference(expected, passed, bits) return compare(expected, passed, bits, "", {}) end

return M

--- What writers of calls in other languages need of a description: its arrays, one by one, and its attributes with their types.
local core = require "ccw.core"
local errors = require "ccw.errors"
local attributes = require "ccw.attributes"
local parts = require "ccw.text.parts"

local M = {}

--- Adds the types of a type's arrays, in the order in which a handler gets them.
local function add_arrays(type, list)
  if type.dims then
    list[#list + 1] = type
    return
  end
  for i = 1, #type do add_arrays(type[i], list) end
end

--- arrays(text, place) -> list of types. The arrays of a type's text, those of tuples one after the other; `place` says in messages whose
-- type it is, "arg 1". INVALID_ARGUMENT: it is none that an array can have.
function M.arrays(text, place)
  local type, err = errors.try(core.type, text)
  if not type then errors.raise(err.code, ("%s: %s"):format(place, err.message)) end
  local list = {}
  add_arrays(type, list)
  return list
end

--- operands(description) -> list of types. All arrays that a handler gets.
function M.operands(description)
  local list = {}
  for i, text in ipairs(description.operands or {}) do
    for _, type in ipairs(M.arrays(text, ("arg %d"):format(i - 1))) do list[#list + 1] = type end
  end
  return list
end

--- results(description) -> list of types. All arrays that it writes.
function M.results(description) return M.arrays(description.results or "()", "results") end

--- Types of arrays as a text for a comment: "f32[4], s32[]".
function M.listed(types)
  local texts = {}
  for i, type in ipairs(types) do texts[i] = tostring(type) end
  return table.concat(texts, ", ")
end

--- Gives arrays the dims that they were given with: in a dictionary they are flat, as a handler finds them.
local function reshape(values, given)
  for name, value in pairs(values) do
    local before = given[name]
    if core.kind(before) == "buffer" and before.rank ~= 1 then
      values[name] = value:reshape(before.type)
    elseif type(value) == "table" then
      reshape(value, before)
    end
  end
end

--- attributes(description) -> table. The attributes with the types that a handler gets: plain numbers are s64 and f64, other numbers are
-- scalars, arrays buffers, dictionaries tables.
function M.attributes(description)
  local function fail(_, format, ...) errors.raise("INVALID_ARGUMENT", ("attributes: " .. format):format(...)) end
  local given = description.attributes or {}
  if core.kind(given) == "attributes" then return core.values(given) end
  local values = core.values(attributes.build(given, fail, 1, "attributes"))
  reshape(values, given)
  return values
end

--- layouts(list) -> list or nil. Those of arrays, from the slowest dim to the fastest, {0, 1} being row-major; nil where all are.
-- UNIMPLEMENTED: one with tiles.
function M.layouts(list)
  local all, is_other = {}, false
  for i, order in ipairs(list or {}) do
    if order.more then errors.raise("UNIMPLEMENTED", "a layout with tiles is none of a custom call") end
    all[i] = {}
    for k = #order, 1, -1 do
      all[i][#order - k + 1] = order[k]
      is_other = is_other or order[k] ~= #order - k
    end
  end
  return is_other and all or nil
end

--- aliases(description) -> list of {result, operand}. In the order of the results. INVALID_ARGUMENT: one of what is not there.
function M.aliases(description)
  local list, good, why = {}, parts.aliases(description)
  if not good then errors.raise("INVALID_ARGUMENT", why) end
  for result, operand in pairs(description.aliases or {}) do list[#list + 1] = { result, operand } end
  table.sort(list, function(a, b) return a[1] < b[1] end)
  return list
end

return M

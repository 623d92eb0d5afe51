--- Slices: elements of an array at regular places.
local core = require "ccw.core"
local errors = require "ccw.errors"

local M = {}

local misuse = errors.misuse_of "slice"

--- An integer of a range; 2.0 is 2.
local function integer(value, fail)
  local number = type(value) == "number" and math.tointeger(value)
  if not number then fail("expected an integer, got %s", type(value) == "number" and tostring(value) or core.kind(value) or type(value)) end
  return number
end

--- A place in a dim of that size, counted from 1, or back from the end, which is -1.
local function place(value, size, fail)
  local number = integer(value, fail)
  return number < 0 and number + size + 1 or number
end

--- A single position of a dim, counted from 0.
local function index(value, size, fail)
  local at = place(value, size, fail)
  if at < 1 or at > size then fail("%d is outside 1 to %d", value, size) end
  return at - 1
end

--- The first position of a range, counted from 0, how many there are, and the step.
local function range(list, size, fail)
  for key in next, list do
    if key ~= 1 and key ~= 2 and key ~= 3 then fail("expected {first, last, step}, got something at [%s]", tostring(key)) end
  end
  local step = list[3] == nil and 1 or integer(list[3], fail)
  if step == 0 then fail("a step of 0") end
  local first = list[1] == nil and (step > 0 and 1 or size) or place(list[1], size, fail)
  local last = list[2] == nil and (step > 0 and size or 1) or place(list[2], size, fail)
  if last == first - (step > 0 and 1 or -1) and math.min(first, last) >= 0 and math.max(first, last) - 1 <= size then
    return 0, 0, step -- none
  end
  for i, at in ipairs { first, last } do
    if at < 1 or at > size then fail("%d is outside 1 to %d", list[i] or at, size) end
  end
  if (last < first) == (step > 0) then
    local none = step > 0 and "{%d, %d}" or "{%d, %d, -1}"
    fail("from %d to %d there is no way in steps of %d; none are " .. none, first, last, step, first, first - (step > 0 and 1 or -1))
  end
  return first - 1, (last - first) // step + 1, step
end

--- buffer:slice(range, ...) -> buffer, packed.
-- Elements at regular places: for each dim {first, last} or {first, last, step}, counted from 1, both ends included, or an index, with
-- which the dim is gone, or nil for all of it; dims behind are whole. From the end on it counts from -1 downward, a step may go backward,
-- and what is left out of a range goes to the end: x:slice({2, -1}, 3), x:slice({31, 1, -1}), x:slice{nil, nil, -1}. {i, i - 1} is none.
-- Where the elements lie one behind the other and start at a multiple of 64 bytes, so that a handler can be given it, the slice is a
-- view, which shares the memory. Anything else is packed into a new buffer, and then the second result is "packed". On a device, whole rows
-- at such a place are views, too; what is to be packed there goes through the host.
function core.buffer_metatable.methods.slice(buffer, ...)
  local kind, open = core.kind(buffer)
  if kind ~= "buffer" then misuse(1, "a method is called with a colon, x:slice(...)") end
  if not open then misuse(1, "this buffer is closed") end
  local ranges, dims = table.pack(...), buffer.dims
  if ranges.n > #dims then misuse(#dims + 1, "expected at most %d ranges for %s, got %d", #dims, buffer.type, ranges.n) end
  local parts = {}
  for d, size in ipairs(dims) do
    local function fail(format, ...) misuse(d, "dim %d of %s: %s", d - 1, buffer.type, format:format(...)) end
    local wanted, first, count, step = ranges[d], 0, size, 1
    local is_index = math.type(wanted) ~= nil
    if is_index then
      first, count = index(wanted, size, fail), 1
    elseif type(wanted) == "table" and not errors.metatable_name(wanted) then
      first, count, step = range(wanted, size, fail)
    elseif wanted ~= nil then
      fail("expected {first, last, step} or an integer, got %s", core.kind(wanted) or type(wanted))
    end
    table.move({ first, count, step, is_index }, 1, 4, #parts + 1, parts)
  end
  local slice, packed = core.slice(buffer, table.unpack(parts))
  if packed then return slice, "packed" end
  return slice
end

return M

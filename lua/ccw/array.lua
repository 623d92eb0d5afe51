--- Arrays out of what Lua has: numbers, tables, functions.
local core = require "ccw.core"
local errors = require "ccw.errors"

local M = {}

--- "[1][3]" for a path of indices.
local function place(path, depth)
  local parts = {}
  for i = 1, depth do parts[i] = "[" .. path[i] .. "]" end
  return table.concat(parts)
end

--- The number of keys, which must be 1 to n without a hole; else why not.
local function list_length(list)
  local count, highest = 0, 0
  for key in next, list do
    if math.type(key) ~= "integer" or key < 1 then
      return nil, ("expected a list, got the key %s"):format(type(key) == "string" and core.quote(key) or tostring(key))
    end
    count = count + 1
    if key > highest then highest = key end
  end
  if count == highest then return count end
  for i = 1, highest do
    if list[i] == nil then return nil, ("nothing is at [%d], while there is something at [%d]"):format(i, highest) end
  end
end
M.list_length = list_length

--- Fills all elements from nested tables, one level for each dim.
local function fill_from_table(buffer, source, fail)
  local dims, put, path, k = buffer.dims, core.put, {}, 0
  local function level(values, depth)
    if type(values) ~= "table" then
      fail("%s: expected a table of %d, got %s", place(path, depth - 1), dims[depth], type(values))
    end
    local length, why = list_length(values)
    if not length then fail("%s%s%s", place(path, depth - 1), depth > 1 and ": " or "", why) end
    if length ~= dims[depth] then
      fail("%s%sexpected %d elements, got %d", place(path, depth - 1), depth > 1 and ": " or "", dims[depth], length)
    end
    for i = 1, length do
      path[depth] = i
      if depth < #dims then
        level(values[i], depth + 1)
      else
        local problem = put(buffer, k, values[i])
        if problem then fail("%s: %s", place(path, depth), problem) end
        k = k + 1
      end
    end
  end
  if #dims == 0 then
    local problem = put(buffer, 0, source)
    if problem then fail("%s", problem) end
  else
    level(source, 1)
  end
end

--- Fills all elements with f(i, j, ...), the indices counted from 1.
local function fill_from_function(buffer, f, fail)
  local dims, put, index = buffer.dims, core.put, {}
  for d = 1, #dims do index[d] = 1 end
  for k = 0, buffer.count - 1 do
    local problem = put(buffer, k, f(table.unpack(index, 1, #dims)))
    if problem then fail("the function gave for %s: %s", place(index, #dims), problem) end
    for d = #dims, 1, -1 do
      index[d] = index[d] + 1
      if index[d] <= dims[d] then break end
      index[d] = 1
    end
  end
end

--- A copy in that dtype, of a buffer whose dims must be those of the type.
local function from_buffer(type, source, fail)
  local same = #type.dims == source.rank
  for i, size in ipairs(type.dims) do same = same and source.dims[i] == size end
  if not same then fail("expected dims of %s, got %s", type, source.type) end
  return source.dtype == type.dtype and source:copy() or source:as(type.dtype)
end

--- The type of an array that an argument stands for.
local function check_type(value, fail)
  if core.kind(value) ~= "type" then errors.check(fail, 1, value, "string") end
  local shape = core.type(value)
  if not shape.dims then fail(1, "expected the type of an array, got the tuple %s", shape) end
  return shape
end

local misuse_of_array = errors.misuse_of "array"

--- ccw.array(type [, source]) -> buffer.
-- An array of that type: ccw.array("f32[2,3]", {{1, 2, 3}, {4, 5, 6}}). The source is a table, nested as deep as there are
-- dims; a number, a boolean or a scalar for every element; a function of the indices, counted from 1; or a buffer of the
-- same dims, which is converted and copied. Without one the array is zeroed. Floats round to nearest even; integers must
-- fit. Elements of complex arrays are written as {re, im}. x[i] is an element for rank 1 and a row, which shares the memory, above.
-- ?buffer tells what an array has and can do.
function M.array(type_or_text, source)
  local shape = check_type(type_or_text, misuse_of_array)
  local function fail(...) misuse_of_array(2, ...) end
  if source == nil then return core.buffer(shape, true) end
  local kind, open = core.kind(source)
  if kind == "buffer" then
    if not open then fail("this buffer is closed") end
    return from_buffer(shape, source, fail)
  end
  local buffer = core.buffer(shape)
  if shape.dtype == "token" then fail("a token holds nothing") end
  local source_type = type(source)
  if source_type == "number" or source_type == "boolean" or kind == "scalar" then
    if buffer.count > 0 then
      local problem = core.put(buffer, 0, source)
      if problem then fail("%s", problem) end
      buffer:fill(source)
    end
  elseif source_type == "table" then
    fill_from_table(buffer, source, fail)
  elseif source_type == "function" then
    fill_from_function(buffer, source, fail)
  else
    fail("expected a number, a table, a function or a buffer, got %s", kind or source_type)
  end
  return buffer
end

--- buffer: an array in memory, dense and row-major.
-- x[i], counted from 1, is an element for rank 1 and a row, which shares the memory, above; #x is the first dim; pairs(x) and
-- ipairs(x) go over both. Fields: type ("f32[2,3]"), dtype, dims, rank, count (elements), flat (all elements as rank 1,
-- sharing the memory), device (the name of where it is), address. Methods: x:item(), x:fill(number), x:copy(), x:to(device),
-- x:as(dtype), x:reshape(type), x:rows(first, last), x:slice({first, last, step}, ...), x:bytes(), x:set_bytes(string), x:summary(),
-- x:check(), x:close(). On a device other than the host elements are to be had from x:to "host" alone; printing shows them all the same.

--- scalar: a number with a dtype, as ccw.f32(2) gives it.
-- Fields: dtype; value, as Lua has it; re and im of a complex one. Elements that Lua has no number for are scalars too:
-- complex ones, and u64 above 2^63.

--- The dims of nested tables: along their first elements. A pair of numbers may be one complex number.
local function dims_of(values, complex, fail)
  local dims, depth = {}, 0
  while type(values) == "table" do
    if complex and depth > 0 and #values == 2 and type(values[1]) == "number" then break end
    local length, why = list_length(values)
    if not length then fail("%s%s%s", ("[1]"):rep(depth), depth > 0 and ": " or "", why) end
    depth = depth + 1
    if depth > core.max_rank then fail("more than %d tables in each other", core.max_rank) end
    dims[depth] = length
    values = values[1]
  end
  return dims
end

--- The constructor of a dtype: ccw.f32 and its like.
function M.constructor(dtype)
  local complex, misuse = core.dtypes()[dtype].class == "COMPLEX", errors.misuse_of(dtype)
  return function(value, imaginary)
    local kind, open = core.kind(value)
    if kind == "buffer" then return open and value:as(dtype) or misuse(1, "this buffer is closed") end
    if type(value) ~= "table" then
      local scalar, position, why = core.scalar(dtype, value, imaginary)
      return scalar or misuse(position, "%s", why)
    end
    local function fail(...) misuse(1, ...) end
    local dims = dims_of(value, complex, fail)
    local buffer = core.buffer(("%s[%s]"):format(dtype, table.concat(dims, ",")))
    fill_from_table(buffer, value, fail)
    return buffer
  end
end

--- ccw.iota(type [, dim]) -> buffer.
-- Counts: 0, 1, 2, ... over all elements, row-major, or along one dim, counted from 0 as in XLA.
function M.iota(type_or_text, dim)
  local fail = errors.misuse_of "iota"
  local shape = check_type(type_or_text, fail)
  if dim ~= nil and (math.type(dim) ~= "integer" or dim < 0 or dim >= shape.rank) then
    fail(2, "expected a dim of 0 to %d, got %s", shape.rank - 1, tostring(dim))
  end
  if shape.dtype == "token" then fail(1, "a token holds nothing") end
  return core.iota(core.buffer(shape), dim or -1)
end

--- Where random numbers lie when nobody says.
local function default_range(dtype)
  local info = core.dtypes()[dtype]
  if dtype == "f8e8m0fnu" then return 0.5, 4 end
  if info.class == "FLOAT" or info.class == "COMPLEX" then return -1, 1 end
  if info.class == "PRED" then return 0, 1 end
  local unsigned = info.class == "UNSIGNED"
  local bits = info.bits - (unsigned and 0 or 1)
  local high = bits >= 7 and 100 or (1 << bits) - 1
  return unsigned and 0 or math.max(-100, -(1 << bits)), high
end

local range_options = { low = "number", high = "number" }

--- ccw.random(type, seed [, {low = ..., high = ...}]) -> buffer.
-- Random numbers that depend on the seed, an integer, and on nothing else. Floats are uniform from low up to high, -1 and
-- 1 when nobody says; integers from low to high inclusive, -100 (or 0) and 100, or what the dtype holds.
function M.random(type_or_text, seed, range)
  local fail = errors.misuse_of "random"
  local shape = check_type(type_or_text, fail)
  if math.type(seed) ~= "integer" then fail(2, "expected an integer as seed, got %s", type(seed)) end
  errors.check_options(fail, 3, range, range_options)
  if shape.dtype == "token" then fail(1, "a token holds nothing") end
  local low, high = default_range(shape.dtype)
  low, high = range and range.low or low, range and range.high or high
  return core.random(core.buffer(shape), seed, low, high)
end

return M

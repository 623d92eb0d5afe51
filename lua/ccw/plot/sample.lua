--- Numbers out of arrays, few enough to be drawn.
local core = require "ccw.core"

local M = {}

local SIDE = 8 -- a pixel looks at so many elements each way

--- Reads elements of a buffer on the host as floats: a complex number is its magnitude.
local function reader(buffer)
  local flat, complex = buffer.flat, core.dtypes()[buffer.dtype].class == "COMPLEX"
  return function(k)
    local value = flat[k]
    if type(value) == "number" then return value + 0.0 end
    if type(value) == "boolean" then return value and 1.0 or 0.0 end
    if complex then return math.sqrt(value.re ^ 2 + value.im ^ 2) end
    return tonumber((tostring(value):match "%((.*)%)")) + 0.0 -- u64(18446744073709551615), which Lua has no integer for
  end
end

--- A tally of what was read: low and high of the finite numbers, nan, inf and negative_inf counted.
local function new_tally() return { low = math.huge, high = -math.huge, nan = 0, inf = 0, negative_inf = 0 } end

local function note(tally, x)
  if x ~= x then
    tally.nan = tally.nan + 1
  elseif x == math.huge then
    tally.inf = tally.inf + 1
  elseif x == -math.huge then
    tally.negative_inf = tally.negative_inf + 1
  else
    if x < tally.low then tally.low = x end
    if x > tally.high then tally.high = x end
  end
end

--- How far apart positions are, so that there are no more than `most` from first to last.
local function step_over(first, last, most) return (last - first) // most + 1 end

--- matrix(buffer, wide, high) -> grid, tally. A matrix as pixels of that many columns and rows of elements: grid[row][column]. A pixel is
--- the mean of its elements that are finite, or of 64 or fewer that lie evenly apart, grid.is_sampled; what is not finite wins, so that it
--- is seen.
function M.matrix(buffer, wide, high)
  local dims, read, tally = buffer.dims, reader(buffer), new_tally()
  local grid = { wide = wide, high = high, is_sampled = wide > SIDE or high > SIDE }
  for top = 1, dims[1], high do
    local line, bottom = {}, math.min(top + high - 1, dims[1])
    for left = 1, dims[2], wide do
      local sum, count, odd, right = 0.0, 0, nil, math.min(left + wide - 1, dims[2])
      for i = top, bottom, step_over(top, bottom, SIDE) do
        for j = left, right, step_over(left, right, SIDE) do
          local x = read((i - 1) * dims[2] + j)
          note(tally, x)
          if x - x == 0 then
            sum, count = sum + x, count + 1
          elseif odd == nil or x ~= x then
            odd = x
          end
        end
      end
      line[#line + 1] = odd or sum / count
    end
    grid[#grid + 1] = line
  end
  return grid, tally
end

--- The finite range of many elements: exact, but for those with an infinity among them, and magnitudes, for which 64 have to do.
local function range_of(buffer, read, first, last)
  local info, point = buffer:rows(first, last):summary(), new_tally()
  if info.min - info.min == 0 and info.max - info.max == 0 then
    point.low, point.high = info.min, info.max
  else
    for k = first, last, step_over(first, last, SIDE * SIDE) do note(point, read(k)) end
    if info.max == math.huge then point.inf = math.max(1, point.inf) end
    if info.min == -math.huge then point.negative_inf = math.max(1, point.negative_inf) end
  end
  point.nan = info.nans
  return point
end

--- vector(buffer, columns) -> list, tally. A vector as no more than that many points, each a tally. list.wide is how many elements a
--- point is.
function M.vector(buffer, columns)
  local size, read, tally = buffer.dims[1], reader(buffer), new_tally()
  local wide = (size - 1) // columns + 1
  local points = { wide = wide }
  for first = 1, size, wide do
    local last, point = math.min(first + wide - 1, size), new_tally()
    if wide <= SIDE * SIDE then
      for k = first, last do note(point, read(k)) end
    else
      point = range_of(buffer, read, first, last)
    end
    points[#points + 1] = point
    for _, what in ipairs { "nan", "inf", "negative_inf" } do tally[what] = tally[what] + point[what] end
    tally.low, tally.high = math.min(tally.low, point.low), math.max(tally.high, point.high)
  end
  return points, tally
end

return M

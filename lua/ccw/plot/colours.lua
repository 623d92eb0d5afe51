--- From dark blue over green to yellow: a scale whose order is seen without colours, too.
local M = {}

local anchors = { { 68, 1, 84 }, { 59, 82, 139 }, { 33, 145, 140 }, { 94, 201, 98 }, { 253, 231, 37 } }
local special = { nan = { 255, 0, 255 }, inf = { 255, 255, 255 }, negative_inf = { 0, 0, 0 } }

--- What is shown in place of a number that is not finite, as text.
M.marks = { nan = "?", inf = "^", negative_inf = "v" }

--- what(x) -> "nan", "inf", "negative_inf", or nil for a finite number.
function M.what(x)
  if x ~= x then return "nan" end
  if x == math.huge then return "inf" end
  if x == -math.huge then return "negative_inf" end
end

--- level(x, tally, count) -> integer. Where a finite number lies between the lowest and the highest, 1 to count.
function M.level(x, tally, count)
  local range = tally.high / 2 - tally.low / 2 -- the whole of it may not fit
  if range <= 0 then return (count + 1) // 2 end
  return math.min(count, math.floor((x / 2 - tally.low / 2) / range * count) + 1)
end

local function mix(share)
  local place = share * (#anchors - 1)
  local i = math.min(math.floor(place), #anchors - 2)
  local a, b, colour = anchors[i + 1], anchors[i + 2], {}
  for c = 1, 3 do colour[c] = math.floor(a[c] + (b[c] - a[c]) * (place - i) + 0.5) end
  return colour
end

--- colour(x, tally, count) -> red, green, blue. One of so many colours for a number, or that of one that is not finite.
function M.colour(x, tally, count)
  local what = M.what(x)
  return table.unpack(what and special[what] or mix((M.level(x, tally, count) - 1) / (count - 1)))
end

--- The nearest of the six steps that a terminal with 256 colours has for each of red, green and blue.
local function step(value) return value < 48 and 0 or value < 115 and 1 or (value - 35) // 40 end

--- index(red, green, blue) -> integer. The nearest colour of a terminal with 256.
function M.index(red, green, blue) return 16 + 36 * step(red) + 6 * step(green) + step(blue) end

return M

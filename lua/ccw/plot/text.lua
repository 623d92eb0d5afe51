--- Pictures of characters.
local colours = require "ccw.plot.colours"
local sample = require "ccw.plot.sample"

local M = {}

local SHADES = " .:-=+*#%@"
local COLOURS = 24
local FEW = 8 -- pixels that a side keeps, if it has so many elements, whatever becomes of the proportions

local function short(x) return ("%.6g"):format(x) end

local function paint(x, tally) return colours.index(colours.colour(x, tally, COLOURS)) end

--- ", 2 nan ('?')" for what is not finite.
local function others(tally, is_coloured)
  local text = ""
  for _, what in ipairs { "nan", "inf", "negative_inf" } do
    local value = what == "nan" and 0 / 0 or what == "inf" and math.huge or -math.huge
    local mark = is_coloured and ("\27[48;5;%dm  \27[0m"):format(paint(value, tally)) or "'" .. colours.marks[what] .. "'"
    if tally[what] > 0 then text = ("%s, %d %s (%s)"):format(text, tally[what], what:gsub("negative_", "-"), mark) end
  end
  return text
end

--- "1    40", as wide as the picture: what stands below its first and its last column.
local function ruler(last, width)
  if last == 1 then return "1" end
  local gap = width - 1 - #tostring(last)
  return gap > 0 and "1" .. (" "):rep(gap) .. last or "1.." .. last
end

--- Pixels that are as many elements wide and half as many, or as many, high, so that the picture fits and keeps its proportions.
local function pixel_size(rows, columns, most_lines, most_columns, high)
  local function over(count, most) return (count - 1) // most + 1 end
  local side = math.max(over(columns, most_columns), over(rows, most_lines * 2))
  local function most(count) return math.max(1, count // FEW) end
  return math.max(math.min(side, most(columns)), over(columns, most_columns)),
    math.max(math.min(side * high, most(rows)), over(rows, most_lines * 2 // high))
end

--- A line of pixels, each a character or two.
local function shade_line(line, tally, wide)
  local parts = {}
  for j, x in ipairs(line) do
    local what = colours.what(x)
    local level = not what and colours.level(x, tally, #SHADES)
    parts[j] = (what and colours.marks[what] or SHADES:sub(level, level)):rep(wide)
  end
  return table.concat(parts)
end

--- Two lines of pixels in one of characters, each a half block: what is above has the colour, what is below the ground.
local function block_line(upper, lower, tally, wide)
  local parts, last = {}, nil
  for j, x in ipairs(upper) do
    local code = ("\27[38;5;%d;%sm"):format(paint(x, tally), lower and "48;5;" .. paint(lower[j], tally) or "49")
    parts[j] = (code ~= last and code or "") .. ("▀"):rep(wide)
    last = code
  end
  return table.concat(parts) .. "\27[0m"
end

local function legend(tally, style)
  local low, high = short(tally.low), short(tally.high)
  if tally.low > tally.high then return "nothing finite" .. others(tally, style.colour) end
  if not style.colour then return ("%s (' ') to %s ('@')%s"):format(low, high, others(tally, false)) end
  local bar = {}
  for i = 0, 15 do
    bar[i + 1] = ("\27[48;5;%dm "):format(paint(tally.low + (tally.high / 2 - tally.low / 2) * (i / 15) * 2, tally))
  end
  return ("%s %s\27[0m %s%s"):format(low, table.concat(bar), high, others(tally, true))
end

local function pixel_text(grid)
  if grid.wide * grid.high == 1 then return "" end
  return ("; a pixel is the mean of %s%dx%d elements"):format(grid.is_sampled and "64 or fewer of its " or "", grid.high, grid.wide)
end

--- matrix(buffer, style) -> lines. A heat map. A style has columns and lines, the most that there may be; colour and utf8, whether it may
--- have half blocks in colours, or else shades.
function M.matrix(buffer, style)
  local rows, columns = buffer.dims[1], buffer.dims[2]
  local margin = #tostring(rows) + 1
  local most = math.max(1, style.columns - margin - 2)
  local is_coloured = style.colour and style.utf8
  local is_large = columns * 2 <= most and rows <= style.lines -- then an element is two characters, about a square
  local wide, high = 1, 1
  if not is_large then wide, high = pixel_size(rows, columns, style.lines, most, is_coloured and 1 or 2) end
  local grid, tally = sample.matrix(buffer, wide, high)
  local picture = {}
  if is_coloured and not is_large then
    for i = 1, #grid, 2 do picture[#picture + 1] = block_line(grid[i], grid[i + 1], tally, 1) end
  else
    for i, line in ipairs(grid) do
      picture[i] = is_coloured and block_line(line, line, tally, 2) or shade_line(line, tally, is_large and 2 or 1)
    end
  end
  local bar = style.utf8 and "│" or "|"
  local lines = { ("%s, dim 0 down, dim 1 across: %s%s"):format(buffer.type, legend(tally, { colour = is_coloured }), pixel_text(grid)) }
  for i, line in ipairs(picture) do
    local label = i == 1 and "1" or i == #picture and tostring(rows) or ""
    lines[#lines + 1] = (" "):rep(margin - 1 - #label) .. label .. bar .. line .. bar
  end
  lines[#lines + 1] = (" "):rep(margin) .. ruler(columns, #grid[1] * (is_large and 2 or 1))
  return lines
end

-- ---- plots of vectors --------------------------------------------------------------------------------------------------

--- Bits of a braille character, by row and column of its dots.
local dots = { { 0x01, 0x08 }, { 0x02, 0x10 }, { 0x04, 0x20 }, { 0x40, 0x80 } }

--- A canvas of wide by high characters: canvas.mark(x, y), from 0, y upwards; canvas.lines().
local function new_canvas(wide, high, utf8_allowed)
  local across, up, cells = utf8_allowed and 2 or 1, utf8_allowed and 4 or 1, {}
  local canvas = { across = across, width = wide * across, height = high * up }
  function canvas.mark(x, y)
    local row, column = high - 1 - y // up, x // across
    local at = row * wide + column
    cells[at] = (cells[at] or 0) | dots[up - y % up][x % across + 1]
  end
  function canvas.lines()
    local lines = {}
    for row = 0, high - 1 do
      local parts = {}
      for column = 0, wide - 1 do
        local cell = cells[row * wide + column]
        parts[column + 1] = not cell and " " or utf8_allowed and utf8.char(0x2800 + cell) or "*"
      end
      lines[row + 1] = table.concat(parts):gsub(" +$", "")
    end
    return lines
  end
  return canvas
end

--- Marks all from y to y2 above x.
local function run(canvas, x, y, y2)
  for k = math.min(y, y2), math.max(y, y2) do canvas.mark(x, k) end
end

local function draw(canvas, points, tally)
  local function y_of(value) return colours.level(value, tally, canvas.height) - 1 end
  local function x_of(i) return #points == 1 and 0 or ((i - 1) * (canvas.width - 1) * 2 + #points - 1) // (2 * (#points - 1)) end
  local before
  for i, point in ipairs(points) do
    local x = x_of(i)
    local here = point.low <= point.high and { x = x, low = y_of(point.low), high = y_of(point.high) } or nil
    if here then run(canvas, x, here.low, here.high) end
    if here and before then -- a line from the one to the other
      local rises = here.low > before.high
      local from, to = rises and before.high or before.low, rises and here.low or here.high
      local overlaps = here.low <= before.high and before.low <= here.high
      local last = from
      for k = before.x + 1, overlaps and x - before.x == 1 and before.x or x do
        local y = math.floor(from + (to - from) * (k - before.x) / (x - before.x) + 0.5)
        run(canvas, k, y > last and last + 1 or y < last and last - 1 or y, y)
        last = y
      end
    end
    before = here
  end
  return x_of
end

--- Below the plot: where there are numbers that are not finite.
local function marks_line(points, x_of, across, wide)
  local line = {}
  for column = 1, wide do line[column] = " " end
  for i, point in ipairs(points) do
    for _, what in ipairs { "negative_inf", "inf", "nan" } do
      if point[what] > 0 then line[x_of(i) // across + 1] = colours.marks[what] end
    end
  end
  return (table.concat(line):gsub(" +$", ""))
end

--- vector(buffer, style) -> lines. A plot, of braille characters where there is UTF-8, else of stars.
function M.vector(buffer, style)
  local bar = style.utf8 and "│" or "|"
  local function across(margin) return math.max(1, style.columns - margin - 1) * (style.utf8 and 2 or 1) end
  local points, tally = sample.vector(buffer, across(8))
  local has_any = tally.low <= tally.high
  local top, bottom = has_any and short(tally.high) or "", has_any and short(tally.low) or ""
  local margin = math.max(#top, #bottom)
  local canvas = new_canvas(math.max(1, style.columns - math.max(margin, 8) - 1), style.lines, style.utf8)
  local x_of = draw(canvas, points, tally)
  local is_odd = tally.nan + tally.inf + tally.negative_inf > 0
  local span = points.wide > 1 and ("; a point is the range of %d elements"):format(points.wide) or ""
  local lines = { ("%s: %s%s%s"):format(buffer.type, has_any and bottom .. " to " .. top or "nothing finite", others(tally, false), span) }
  local drawn = canvas.lines()
  for i, line in ipairs(drawn) do
    local label = i == 1 and top or i == #drawn and bottom or ""
    lines[#lines + 1] = (" "):rep(margin - #label) .. label .. bar .. line
  end
  local wide = canvas.width // canvas.across
  if is_odd then lines[#lines + 1] = (" "):rep(margin) .. bar .. marks_line(points, x_of, canvas.across, wide) end
  lines[#lines + 1] = (" "):rep(margin + 1) .. ruler(buffer.dims[1], wide)
  return lines
end

return M

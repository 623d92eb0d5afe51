--- Pictures as SVG.
local colours = require "ccw.plot.colours"
local sample = require "ccw.plot.sample"

local M = {}

local SIZE, MARGIN, MOST, COLOURS = 600, 40, 200, 64

local function short(x) return ("%.6g"):format(x) end

local function text(x, y, anchor, what)
  return ('<text x="%g" y="%g" text-anchor="%s">%s</text>'):format(x, y, anchor, what)
end

--- A page of that size inside, with a title and what is in it.
local function page(width, height, title, parts)
  local full_width, full_height = width + 2 * MARGIN, height + 2 * MARGIN
  return table.concat({
    ('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">')
      :format(full_width, full_height, full_width, full_height),
    ('<rect width="%d" height="%d" fill="white"/>'):format(full_width, full_height),
    text(MARGIN, MARGIN - 12, "start", title),
    table.concat(parts, "\n"),
    "</svg>\n",
  }, "\n")
end

local function counts(tally)
  local list = ""
  for _, what in ipairs { "nan", "inf", "negative_inf" } do
    if tally[what] > 0 then list = ("%s, %d %s"):format(list, tally[what], (what:gsub("negative_", "-"))) end
  end
  return list
end

local function range(tally)
  return (tally.low <= tally.high and short(tally.low) .. " to " .. short(tally.high) or "nothing finite") .. counts(tally)
end

local function hex(x, tally) return ("#%02x%02x%02x"):format(colours.colour(x, tally, COLOURS)) end

--- matrix(buffer) -> text. A heat map; neighbours of one colour are one rectangle.
function M.matrix(buffer)
  local rows, columns = buffer.dims[1], buffer.dims[2]
  local side = (math.max(rows, columns) - 1) // MOST + 1
  local grid, tally = sample.matrix(buffer, math.min(side, columns), math.min(side, rows))
  local pixel = math.max(1, SIZE // math.max(#grid, #grid[1]))
  local parts = { ('<g transform="translate(%d %d)" shape-rendering="crispEdges">'):format(MARGIN, MARGIN) }
  for i, line in ipairs(grid) do
    local j = 1
    while j <= #line do
      local colour, first = hex(line[j], tally), j
      repeat j = j + 1 until j > #line or hex(line[j], tally) ~= colour
      parts[#parts + 1] = ('<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>')
        :format((first - 1) * pixel, (i - 1) * pixel, (j - first) * pixel, pixel, colour)
    end
  end
  local width, height = #grid[1] * pixel, #grid * pixel
  parts[#parts + 1] = "</g>"
  parts[#parts + 1] = text(MARGIN - 6, MARGIN + 12, "end", "1")
  if rows > 1 then parts[#parts + 1] = text(MARGIN - 6, MARGIN + height, "end", rows) end
  parts[#parts + 1] = text(MARGIN, MARGIN + height + 16, "start", "1")
  if columns > 1 then parts[#parts + 1] = text(MARGIN + width, MARGIN + height + 16, "end", columns) end
  return page(width, height, buffer.type .. ": " .. range(tally), parts)
end

--- vector(buffer) -> text. A line; where a point is many elements it goes up and down through their range. It is broken where there is
--- nothing finite.
function M.vector(buffer)
  local points, tally = sample.vector(buffer, SIZE)
  local width, height = SIZE, SIZE // 2
  local function y_of(value)
    local extent = tally.high / 2 - tally.low / 2
    return height - (extent > 0 and (value / 2 - tally.low / 2) / extent or 0.5) * height
  end
  local parts = { ('<g transform="translate(%d %d)" fill="none" stroke="#3b528b">'):format(MARGIN, MARGIN),
    ('<path d="M0 0V%dH%d" stroke="#888888"/>'):format(height, width) }
  local line = {}
  local function finish()
    if #line > 0 then parts[#parts + 1] = ('<polyline points="%s"/>'):format(table.concat(line, " ")) end
    line = {}
  end
  for i, point in ipairs(points) do
    local x = #points == 1 and 0 or (i - 1) * width / (#points - 1)
    if point.low > point.high then
      finish()
    else
      line[#line + 1] = ("%.5g,%.5g"):format(x, y_of(point.low))
      if point.high > point.low then line[#line + 1] = ("%.5g,%.5g"):format(x, y_of(point.high)) end
    end
  end
  finish()
  parts[#parts + 1] = "</g>"
  if tally.low <= tally.high then
    parts[#parts + 1] = text(MARGIN - 6, MARGIN + 12, "end", short(tally.high))
    parts[#parts + 1] = text(MARGIN - 6, MARGIN + height, "end", short(tally.low))
  end
  parts[#parts + 1] = text(MARGIN, MARGIN + height + 16, "start", "1")
  parts[#parts + 1] = text(MARGIN + width, MARGIN + height + 16, "end", buffer.dims[1])
  return page(width, height, buffer.type .. ": " .. range(tally), parts)
end

return M

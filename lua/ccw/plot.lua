--- Pictures of arrays.
local core = require "ccw.core"
local errors = require "ccw.errors"
local svg = require "ccw.plot.svg"
local terminal = require "ccw.terminal"
local text = require "ccw.plot.text"

local M = {}
local misuse_of_show = errors.misuse_of "show"

local option_types = { svg = "string", columns = "integer", lines = "integer", colour = "boolean", utf8 = "boolean" }
local WIDEST, HIGHEST, PLOT = 100, 40, 10 -- columns and lines, and lines of a plot, where nobody says

--- How the terminal shows pictures, or how the options want it.
local function style_of(options, rank)
  local style = {
    columns = options.columns or math.min(terminal.columns(), WIDEST),
    lines = options.lines or (rank == 1 and PLOT or math.max(4, math.min(terminal.lines() - 4, HIGHEST))),
    colour = options.colour, utf8 = options.utf8,
  }
  for _, name in ipairs { "columns", "lines" } do
    if style[name] < 1 or style[name] > 10000 then misuse_of_show(2, "%s: expected 1 to 10000, got %d", name, style[name]) end
  end
  if style.utf8 == nil then style.utf8 = terminal.is_utf8() or options.colour == true end
  if style.colour == nil then style.colour = style.utf8 and terminal.has_colours() end
  return style
end

--- The first matrix of an array of more dims, and what it is called.
local function first_matrix(buffer)
  local name = "x"
  while buffer.rank > 2 do
    buffer, name = buffer[1], name .. "[1]"
  end
  return buffer, name
end

local function write(path, content)
  local file, why = io.open(path, "wb")
  local good = file
  if file then
    good, why = file:write(content)
    local closed, problem = file:close()
    if good and not closed then good, why = nil, problem end
  end
  why = why and why:gsub("^" .. path:gsub("%p", "%%%0") .. ": ", "")
  if not good then errors.raise("UNAVAILABLE", ("cannot write '%s': %s"):format(path, why)) end
end

--- ccw.show(x [, options]).
-- Draws an array, and gives nothing. A matrix is a heat map, of half blocks where standard output is a terminal with 256 colours, else of
-- shades; a vector is a plot. Both say what lies where, and mark what is not finite: ? is nan, ^ inf, v -inf. What has no room is drawn
-- smaller, and says so: a pixel of a heat map is then the mean of its elements, a point of a plot their range. Of more than two dims the
-- first matrix is drawn. Complex numbers are shown as magnitudes. What is on a device is copied.
-- Options:
-- - svg: a file to write the picture to, as SVG, in place of drawing it.
-- - columns, lines: the most that the picture may take; what the terminal has, up to 100 and 40, or 10 lines for a plot.
-- - colour, utf8: whether it may have colours, and characters outside ASCII; as the terminal has them, and no colours where NO_COLOR is
-- set.
function M.show(buffer, options)
  local kind, open = core.kind(buffer)
  if kind ~= "buffer" then misuse_of_show(1, "expected a buffer, got %s", kind or type(buffer)) end
  if not open then misuse_of_show(1, "this buffer is closed") end
  errors.check_options(misuse_of_show, 2, options, option_types)
  options = options or {}
  if options.svg and options.svg:find "\0" then misuse_of_show(2, "svg: the path holds a NUL") end
  if buffer.dtype == "token" then misuse_of_show(1, "a token holds nothing") end
  if buffer.rank == 0 or buffer.count == 0 then
    print(buffer.count == 0 and buffer.type .. " has no elements to draw" or tostring(buffer) .. " is one number, not drawn")
    return
  end
  local drawn, name = first_matrix(buffer:to "host")
  if buffer.rank > 2 then print(("%s has %d dims: this is %s, its first matrix"):format(buffer.type, buffer.rank, name)) end
  local _ <close> = terminal.progress("drawing " .. buffer.type)
  local draw = drawn.rank == 1 and "vector" or "matrix"
  if options.svg then
    write(options.svg, svg[draw](drawn))
    print("wrote " .. options.svg)
  else
    print(table.concat(text[draw](drawn, style_of(options, drawn.rank)), "\n"))
  end
end

return M

--- What values look like.
local core = require "ccw.core"
local terminal = require "ccw.terminal"

local M = {}

local WIDTH = 100 --- most columns of a line of elements
local MOST, EDGE = 1000, 3 --- arrays with more elements are cut to this many at each end of every dim

--- Which positions (from 0) of a dim are shown, with "..." for a gap.
local function shown(size, cut)
  local positions = {}
  local function run(first, last)
    for i = first, last do positions[#positions + 1] = i end
  end
  if not cut or size <= 2 * EDGE then
    run(0, size - 1)
  else
    run(0, EDGE - 1)
    positions[#positions + 1] = "..."
    run(size - EDGE, size - 1)
  end
  return positions
end

--- Columns of a line here and now.
local function width() return math.min(WIDTH, terminal.columns()) end

--- The rows of elements between braces, wrapped where they are long.
local function wrap(items, indent, columns)
  local lines, line = {}, ""
  for i, item in ipairs(items) do
    item = item .. (i < #items and ", " or "")
    if #line + #item + indent > columns and line ~= "" then
      lines[#lines + 1] = line
      line = ""
    end
    line = line .. item
  end
  lines[#lines + 1] = line
  return "{" .. table.concat(lines, "\n" .. (" "):rep(indent + 1)):gsub(" +\n", "\n") .. "}"
end

local function elements(buffer, indent)
  local dims, count, columns = buffer.dims, buffer.count, width()
  local cut = count > MOST or math.max(0, table.unpack(dims)) > MOST -- an empty array may have large dims too
  local total = 1
  for _, size in ipairs(dims) do total = total * math.min(size, 2 * EDGE) end
  if cut and total > MOST then dims = { count } end -- many dims: the cut would still leave too much, so that it is flat
  local function level(depth, first)
    local stride, items = 1, {}
    for d = depth + 1, #dims do stride = stride * dims[d] end
    for _, i in ipairs(shown(dims[depth], cut)) do
      if i == "..." then
        items[#items + 1] = "..."
      elseif depth == #dims then
        items[#items + 1] = core.element_text(buffer, first + i)
      else
        items[#items + 1] = level(depth + 1, first + i * stride)
      end
    end
    if depth == #dims then return wrap(items, indent + depth - 1, columns) end
    local together = "{" .. table.concat(items, ", ") .. "}"
    if #together + indent <= columns and not together:find "\n" then return together end
    return "{" .. table.concat(items, ",\n" .. (" "):rep(indent + depth)) .. "}"
  end
  if #dims == 0 then return core.element_text(buffer, 0) end
  return level(1, 0)
end

--- A number with few digits, for a summary.
local function short(x) return ("%.6g"):format(x) end

--- "f32[4] {2, 4, 6, 8}"; long arrays are cut, with their smallest, largest and mean element and the count of NaNs.
function M.buffer(buffer)
  local _, open = core.kind(buffer)
  if not open then return "closed buffer" end
  if buffer.dtype == "token" then return buffer.type end
  if core.undefined(buffer) then return buffer.type .. " undefined: the call that was to write it failed" end
  local text = buffer.type .. " " .. elements(buffer, #buffer.type + 1)
  if buffer.device ~= "host" then return text .. (buffer.count > MOST and "\non " or " on ") .. buffer.device end
  if buffer.count <= MOST then return text end
  local summary = buffer:summary()
  local numbers = summary.min == summary.min
      and ("min %s, max %s, mean %s, "):format(short(summary.min), short(summary.max), short(summary.mean)) or ""
  return ("%s\n%s%d nan"):format(text, numbers, summary.nans)
end

--- Whether a string is lines of text, which are shown as lines.
local function is_lines(text)
  return text:find "\n" and not text:find "]]" and not (text:gsub("[\n\t]", "")):find "%c"
end

--- Any Lua value in a line or a few: strings quoted, tables with their fields.
function M.value(value, depth)
  depth = depth or 0
  if type(value) == "string" then
    return depth == 0 and is_lines(value) and "[[\n" .. value .. "]]" or core.quote(value)
  end
  local meta = type(value) == "table" and getmetatable(value)
  if type(value) ~= "table" or type(meta) == "table" and meta.__tostring then return tostring(value) end
  if next(value) == nil then return "{}" end
  if depth == 3 then return "{...}" end
  local items, listed = {}, {}
  for i, item in ipairs(value) do
    listed[i] = true
    if i > 20 then
      items[#items + 1] = "..."
      for j = i, #value do listed[j] = true end
      break
    end
    items[#items + 1] = M.value(item, depth + 1)
  end
  local names = {}
  for name in next, value do
    if not listed[name] then names[#names + 1] = name end
  end
  table.sort(names, function(a, b) return tostring(a) < tostring(b) end)
  for i, name in ipairs(names) do
    if i > 40 then
      items[#items + 1] = "..."
      break
    end
    local key = type(name) == "string" and name:match "^[%a_][%w_]*$" or "[" .. M.value(name, depth + 1) .. "]"
    items[#items + 1] = key .. " = " .. M.value(value[name], depth + 1)
  end
  local separator = #table.concat(items, ", ") > width() and ",\n" .. ("  "):rep(depth + 1) or ", "
  return "{" .. table.concat(items, separator) .. "}"
end

--- A text in lines as wide as the terminal, all but the first indented by so much; the first begins there already.
function M.wrapped(text, indent)
  local lines, line, most = {}, "", width() - indent
  for word in text:gmatch "%S+" do
    if line ~= "" and #line + 1 + #word > most then
      lines[#lines + 1] = line
      line = ""
    end
    line = line .. (line ~= "" and " " or "") .. word
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n" .. (" "):rep(indent))
end

--- Values, `n` of them, as the prompt shows them: beside each other, or below where one takes lines.
function M.values(values)
  local texts, separator = {}, "\t"
  for i = 1, values.n do
    texts[i] = M.value(values[i])
    if texts[i]:find "\n" then separator = "\n" end
  end
  return table.concat(texts, separator)
end

--- Gives the values of core their tostring.
function M.install()
  core.buffer_metatable.__tostring = M.buffer
  core.call_metatable.__tostring = function(call)
    local _, open = core.kind(call)
    return open and "prepared call of " .. core.call_name(call) or "closed call"
  end
end

return M

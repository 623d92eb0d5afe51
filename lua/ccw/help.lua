--- Help: the doc comments, by name.
local core = require "ccw.core"
local errors = require "ccw.errors"
local show = require "ccw.show"
local terminal = require "ccw.terminal"
local reference = require "ccw.reference"

local M = {}

local COLUMNS = 80 -- at most
local kinds = { "buffer", "type", "scalar", "attributes", "signature", "binding", "pattern", "handler", "library", "call", "future",
  "device", "stream", "event", "graph", "kernel", "promise", "threads", "scratch", "description", "attribute", "options", "error" }
M.kinds = kinds

--- Adds a paragraph to lines, wrapped, all but its first line indented by so much.
local function wrap(text, indent, lines)
  local line, columns = "", math.min(COLUMNS, terminal.columns())
  for word in text:gmatch "%S+" do
    if #line + #word >= columns and line ~= "" then
      lines[#lines + 1] = line
      line = (" "):rep(indent) .. word
    else
      line = line == "" and word or line .. " " .. word
    end
  end
  lines[#lines + 1] = line
end

--- The parts of a doc comment: its text, then the items of its list, which begin with "- ".
local function split(text)
  local parts = {}
  for part in (text .. "\n- "):gmatch "(.-)\n%- " do parts[#parts + 1] = part:gsub("\n", " ") end
  return parts
end

--- A doc comment for a terminal: what is called on a line of its own, the rest wrapped, items of a list below it.
local function lay_out(text)
  local parts = split(text)
  local head, body = parts[1]:match "^(ccw[^ ]*%b()[^.]*%.) +(.*)$"
  if not head then head, body = parts[1]:match "^(%l+:[%w_]+%b()[^.]*%.) +(.*)$" end
  local lines = { head }
  wrap(body or parts[1], 0, lines)
  for i = 2, #parts do wrap("- " .. parts[i], 2, lines) end
  return table.concat(lines, "\n")
end

--- What is said of an option of calls.
local function option(name)
  for _, part in ipairs(split(reference.options)) do
    if part:match "^([%w_]+):" == name then return "option " .. part end
  end
end

--- options(name) -> list. The names of the options that a doc comment lists, "ccw.kernel" or "options".
function M.options(name)
  local names = {}
  for line in (reference[name] or ""):gmatch "\n%- ([%w_, ]+):" do
    for known in line:gmatch "[%w_]+" do names[#names + 1] = known end
  end
  return names
end

local function overview()
  local names = {}
  for name in pairs(reference) do
    if name:match "^ccw%." and name ~= "ccw.f32" then names[#names + 1] = name:sub(5) end
  end
  table.sort(names)
  return lay_out("?name explains one of the functions: " .. table.concat(names, ", ") .. ";") .. "\n" ..
    lay_out("a dtype, which makes numbers and arrays of itself: f32, bf16, s4, pred, c64 ...;") .. "\n" ..
    lay_out("or a kind of value, with its fields and methods: " .. table.concat(kinds, ", ") .. ".") .. "\n" ..
    lay_out("At the prompt :help lists the commands, and _ is the last result.")
end

--- What is documented under a name: a function, a kind of value, a method, a dtype.
local function find(name)
  local bare = name:gsub("^ccw[.:]", "")
  local texts = { reference[name] or reference["ccw." .. bare] }
  for _, kind in ipairs(kinds) do
    if bare == kind and reference[kind] ~= texts[1] then texts[#texts + 1] = reference[kind] end
  end
  if #texts == 0 and core.dtypes()[bare] then texts[1] = reference["ccw.f32"] end
  local method = name:match "[.:]([%w_]+)$"
  for _, kind in ipairs(kinds) do
    if #texts == 0 and method then texts[1] = reference[kind .. ":" .. method] end
  end
  if #texts == 0 then texts[1] = option(bare) end
  for i, text in ipairs(texts) do texts[i] = lay_out(text) end
  return #texts > 0 and table.concat(texts, "\n\n") or nil
end

--- The text for a name as people write it: "array", "ccw.array", "x:fill", "buffer"; `value` is what the name means at the
--- prompt, if anything.
function M.text(name, value)
  name = name:gsub("%s", "")
  if name == "" or name == "ccw" then return overview() end
  local kind = core.kind(value) or (errors.is_error(value) and "error") or nil
  if kind then return show.value(value) .. "\n" .. (find(kind) or "") end
  local found = find(name)
  if found then return found end
  if value ~= nil then return show.value(value) end
  local handler = errors.try(core.find, name, "host")
  if handler then return show.value(handler) end
  local names = {}
  for known in pairs(reference) do names[#names + 1] = known:gsub("^ccw%.", "") end
  local near = core.near(name:gsub("^ccw%.", ""), names)
  return ("nothing is known of '%s'%s"):format(name, near[1] and "; near: " .. table.concat(near, ", ") or "")
end

--- near(name, is_method) -> list. What ccw has that is called nearly so: methods, or functions.
function M.near(name, is_method)
  local names, seen = {}, {}
  for known in pairs(reference) do
    local own = known:match(is_method and ":([%w_]+)$" or "^ccw%..-([%w_]+)$")
    if own and not seen[own] then names[#names + 1], seen[own] = own, true end
  end
  return core.near(name, names)
end

return M

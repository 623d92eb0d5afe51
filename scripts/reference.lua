-- build/bin/ccw scripts/reference.lua >lua/REFERENCE.md: writes the Lua reference, made of the same doc comments as what ?name shows.
local core, help, reference = require "ccw.core", require "ccw.help", require "ccw.reference"

--- The parts of a doc comment: what is called, if anything, what is said of it, and the items of its list, which begin with "- ".
local function split(name, text)
  local parts = {}
  for part in (text .. "\n- "):gmatch "(.-)\n%- " do parts[#parts + 1] = part:gsub("%s+", " ") end
  local body = table.remove(parts, 1)
  if not name:find "[.:]" then return nil, (body:sub(#name + 3):gsub("^%l", string.upper)), parts end
  local head, rest = body:match "^(.-)%. +(.*)$"
  return head or body:gsub("%.$", ""), rest or "", parts
end

local function escape(text)
  return (text:gsub("[\\*<]", "\\%0"):gsub("%](%()", "\\]%1"):gsub("%f[%w_]_", "\\_"))
end

--- Text of which Markdown makes nothing else; what stands between backticks is code already.
local function plain(text)
  local parts, is_code = {}, false
  for part in (text .. "`"):gmatch "(.-)`" do
    parts[#parts + 1] = is_code and part or escape(part)
    is_code = not is_code
  end
  return table.concat(parts, "`")
end

local function write(...) io.write(...) end

--- An entry with its heading; `mark` is "###" or the like.
local function entry(name, mark)
  local head, body, items = split(name, reference[name])
  write(mark, " ", head and ("`%s`"):format(head) or name, "\n\n")
  if body ~= "" then write(plain(body), "\n\n") end
  for i, item in ipairs(items) do
    local option, rest = item:match "^([%w_, ]+): (.*)$"
    write("- ", option and ("`%s`: %s"):format(option:gsub(", ", "`, `"), plain(rest)) or plain(item), i == #items and "\n\n" or "\n")
  end
end

--- The names that a pattern finds, in the order of the alphabet.
local function names(pattern)
  local found = {}
  for name in pairs(reference) do
    if name:find(pattern) then found[#found + 1] = name end
  end
  table.sort(found)
  return found
end

local dtypes = {}
for name in pairs(core.dtypes()) do
  if name ~= "token" then dtypes[#dtypes + 1] = "`" .. name .. "`" end
end
table.sort(dtypes)

write("# The Lua reference\n\n",
  "Made of the doc comments of the sources, by `build/bin/ccw scripts/reference.lua >lua/REFERENCE.md`; at the prompt `?name` shows the\n",
  "same. First the functions of `ccw`, then the kinds of values with their fields and methods, then the options of calls.\n\n",
  "## Functions\n\n")
for _, name in ipairs(names "^ccw[.:]") do
  entry(name, "###")
  if name == "ccw.f32" then write("The dtypes: ", table.concat(dtypes, ", "), ".\n\n") end
end
write("## Kinds of values\n\n")
for _, kind in ipairs(help.kinds) do
  if kind ~= "options" then
    entry(kind, "###")
    for _, name in ipairs(names("^" .. kind .. ":")) do entry(name, "####") end
  end
end
write("## Options of calls\n\n")
local _, body, items = split("options", reference.options)
write(plain(body), "\n\n")
for _, item in ipairs(items) do
  local option, rest = item:match "^([%w_]+): (.*)$"
  write("- `", option, "`: ", plain(rest), "\n")
end

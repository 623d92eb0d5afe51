-- gather.lua FOLDER EMBEDDED SOURCE...: puts the Lua modules, ccw/PATH.lua, into FOLDER/PATH.lua, with a reference made of the
-- doc comments of all SOURCEs, the lessons, lessons/NN-NAME.lua, as one module, and all of them into EMBEDDED, a C file, for the
-- program to bring along. Folders are there.
local folder, embedded = arg[1], arg[2]

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read("a")
end

local function write(path, text)
  local file <close> = assert(io.open(path, "wb"))
  assert(file:write(text))
end

-- A doc comment starts with its name and parameters, "ccw.iota(type) -> buffer. ...", "buffer:fill(number) -> ...", or is of
-- a kind of value, "buffer: ...".
local reference = {}
local function note(text)
  local name = text:match("^(ccw[.:][%w_.:]+)%f[^%w_.:]") or text:match("^(%l+:[%w_]+)%(") or text:match("^(%l+): ")
  if name then reference[name] = text end
end

local function gather_c(text)
  for comment, behind in text:gmatch "/%* (.-) %*/()" do
    if text:find("^\nstatic ", behind) then note((comment:gsub("\n *%* ?", "\n"))) end
  end
end

-- A Lua doc comment goes on over the lines that start with "--", or with "---" as its first one does.
local function gather_lua(text)
  local lines = {}
  for line in (text .. "\n"):gmatch("(.-)\n") do
    local first, more = line:match("^%-%-%- (.*)"), line:match("^%-%-%-?%s?(.*)")
    if first and #lines == 0 then
      lines = { first }
    elseif #lines > 0 and more then
      lines[#lines + 1] = more
    elseif #lines > 0 then
      note(table.concat(lines, "\n"))
      lines = {}
    end
  end
end

local modules, lessons = {}, {}
for i = 3, #arg do
  local text, lesson = read(arg[i]), arg[i]:match("/lessons/(%d%d%-[%w-]+)%.lua$")
  local name = arg[i]:match("/ccw/([%w_/]+)%.lua$")
  if lesson then
    lessons[#lessons + 1] = { name = lesson, text = text }
  elseif name then
    gather_lua(text)
    modules[name] = text
  else
    gather_c(text)
  end
end

-- Methods of what is no kind of value to users are ccw's own.
local names = {}
for name in pairs(reference) do
  local kind = name:match "^(%l+):"
  if kind and not reference[kind] then reference[name] = nil end
end
for name in pairs(reference) do names[#names + 1] = name end
table.sort(names)
local rows = {}
for i, name in ipairs(names) do rows[i] = ("  [%q] = %q,\n"):format(name, reference[name]) end
modules.reference = "--- What ?name shows: made of the doc comments.\nreturn {\n" .. table.concat(rows) .. "}\n"

table.sort(lessons, function(a, b) return a.name < b.name end)
for i, lesson in ipairs(lessons) do
  lessons[i] = ("  { name = %q, text = %q },\n"):format(lesson.name:sub(4), lesson.text)
end
modules.lessons = "--- The lessons of `ccw lesson`, made of scripts/lessons.\nreturn {\n" .. table.concat(lessons) .. "}\n"

local sorted, bodies, entries = {}, {}, {}
for name in pairs(modules) do sorted[#sorted + 1] = name end
table.sort(sorted)
for _, name in ipairs(sorted) do
  local text = modules[name]
  if name ~= "globals" then text = "local _ENV = require 'ccw.globals' " .. text end
  write(folder .. "/" .. name .. ".lua", text)
  local bytes = {}
  for start = 1, #text, 24 do bytes[#bytes + 1] = table.concat({ text:byte(start, start + 23) }, ",") .. ",\n" end
  local variable, module = "module_" .. name:gsub("/", "_"), name == "init" and "ccw" or "ccw." .. name:gsub("/", ".")
  bodies[#bodies + 1] = ("static const unsigned char %s[] = {%s};\n"):format(variable, table.concat(bytes))
  entries[#entries + 1] = ("    {\"%s\", %s, sizeof %s},\n"):format(module, variable, variable)
end
write(embedded, "/* Made by gather.lua. */\n#include \"embedded.h\"\n\n" .. table.concat(bodies) ..
  "\nconst ccw_embedded ccw_embedded_modules[] = {\n" .. table.concat(entries) .. "    {0, 0, 0},\n};\n")

--- ccw inspect: what is in a library, without running its code here.
local core = require "ccw.core"
local errors = require "ccw.errors"
local load = require "ccw.load"

local M = {}

local SECONDS = 20 -- to load a library and ask one handler; a large Python module takes a few

local MARK = "\tccw\t" -- begins a line of an answer: the library may print too

--- In the child process: loads the library and tells of one handler, or of the names in it.
function M.probe(library, name)
  local ok, result = pcall(function()
    local loaded = load.load(library)
    if name then return tostring(loaded:handler(name)) end
    return table.concat(loaded:names(), "\n")
  end)
  local text = ok and result or "error: " .. tostring(result)
  if text ~= "" then print(MARK .. text:gsub("\n", "\n" .. MARK)) end
end

local function ask(program, seconds, ...)
  local output, how = core.run({ program, "probe", ... }, seconds)
  local lines = {}
  for line in output:gmatch "[^\n]+" do
    if line:sub(1, #MARK) == MARK then lines[#lines + 1] = line:sub(#MARK + 1) end
  end
  if how == "exit 0" then return lines end
  return { "error: asking ended it: " .. (how == "timeout" and "it did not answer in time" or how) }
end

--- The names in a library. A file is read and not loaded; what only the dynamic linker or Python can find is, in a child.
local function names_in(program, seconds, library)
  local text, err
  if not library:find "^python:" then text, err = errors.try(core.file_names, library) end
  if not text and (not err or err.code == "NOT_FOUND") then return ask(program, seconds, library) end
  if err then error(err, 0) end
  local names = {}
  for name in text:gmatch "[^\n]+" do names[#names + 1] = name end
  table.sort(names)
  return names
end

--- Lists the names that could be handlers or, for the names given, API version and traits. `program` is how to run ccw,
-- `seconds` the time that each question may take. Returns the lines and whether all went well.
function M.inspect(program, library, names, seconds)
  seconds = seconds or SECONDS
  if #names == 0 then
    local lines = names_in(program, seconds, library)
    return lines, not (lines[1] or ""):find "^error: "
  end
  local lines, good = {}, true
  for _, name in ipairs(names) do
    local answer = table.concat(ask(program, seconds, library, name), "\n")
    local failed = answer:find "^error: "
    good = good and not failed
    lines[#lines + 1] = failed and name .. ": " .. answer or answer
  end
  return lines, good
end

return M

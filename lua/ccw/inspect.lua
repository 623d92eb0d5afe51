--- ccw inspect: what is in a library, without running its code here.
local core = require "ccw.core"
local load = require "ccw.load"

local M = {}

local SECONDS = 20 -- to load a library and ask one handler; a large Python module takes a few

--- In the child process: loads the library and tells of one handler, or of the names in it, in lines that start with a tab.
function M.probe(library, name)
  local ok, result = pcall(function()
    local loaded = load.load(library)
    if not name then return table.concat(loaded:names(), "\n\t") end
    return tostring(loaded:handler(name))
  end)
  if ok and result == "" then return end
  print("\t" .. (ok and result or "error: " .. tostring(result)):gsub("\n", "\n\t"))
end

local function ask(program, seconds, ...)
  local output, how = core.run({ program, "probe", ... }, seconds)
  local lines = {}
  for line in output:gmatch "\t([^\n]*)" do lines[#lines + 1] = line end
  if how == "exit 0" then return lines end
  local reasons = { timeout = "it did not answer in time" }
  return { "error: asking ended it: " .. (reasons[how] or how) }
end

--- Lists the names that could be handlers or, for the names given, API version and traits. `program` is how to run ccw.
-- `seconds` is the time that each question may take. Returns the lines and whether all went well.
function M.inspect(program, library, names, seconds)
  seconds = seconds or SECONDS
  if #names == 0 then
    local lines
    if library:find "^python:" then -- its names are known only to Python
      lines = ask(program, seconds, library)
    else
      lines = {}
      for line in core.file_names(library):gmatch "[^\n]+" do lines[#lines + 1] = line end
    end
    return lines, not (lines[1] or ""):find "^error: "
  end
  local lines, good = {}, true
  for _, name in ipairs(names) do
    local answer = table.concat(ask(program, seconds, library, name), "\n")
    good = good and not answer:find "^error: "
    lines[#lines + 1] = answer:find "^error: " and name .. ": " .. answer or answer
  end
  return lines, good
end

return M

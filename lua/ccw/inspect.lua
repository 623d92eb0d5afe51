--- ccw inspect: what is in a library, without running its code here.
local core = require "ccw.core"
local errors = require "ccw.errors"
local ask = require "ccw.ask"

local M = {}

--- What the file of a library carries, by name: its text is read, and nothing of it runs. Nothing for what only the dynamic
--- linker or Python can find.
local function read_file(library)
  if library:find "^python:" then return nil end
  local text, err = errors.try(core.file_signatures, library)
  if not text and err.code == "NOT_FOUND" then return nil end
  if err then error(err, 0) end
  local entries = {}
  for name, signature, problem in text:gmatch "([^%z]*)%z([^%z]*)%z([^%z]*)%z" do
    entries[#entries + 1] = { name = name, signature = signature ~= "" and signature or nil,
      why = problem ~= "" and problem or nil }
  end
  return entries
end

--- Puts what asking brought to what the file carries.
local function merge(carried, asked, failure)
  local by_name, all = {}, {}
  for _, entry in ipairs(asked) do
    if entry.platform then
      entry.behind = "  registered by itself on " .. entry.platform
      all[#all + 1] = entry
    elseif not entry.stage then
      by_name[entry.name] = entry
    end
  end
  for _, entry in ipairs(carried or asked) do
    local told = (entry.signature or entry.why) and entry or by_name[entry.name]
    if not told and failure then told = { name = entry.name, why = failure } end
    if told and not told.none and not told.platform and not told.stage then all[#all + 1] = told end
  end
  table.sort(all, function(a, b) return a.name < b.name end)
  return all
end

local function list(library, seconds, to_load)
  local carried, asked, failure = read_file(library), {}, nil
  local is_known = carried and #carried > 0 -- with none it may register its handlers when it is loaded
  for _, entry in ipairs(carried or {}) do is_known = is_known and (entry.signature or entry.why) end
  if not is_known then asked, failure = ask.ask { library = library, seconds = seconds, to_load = to_load } end
  if failure and not carried and #asked == 0 then return { "error: " .. failure }, false end
  return ask.lines(merge(carried, asked, failure)), true
end

--- Lists the signatures of a library's handlers or, for the names given, also API version and traits. `seconds` is the time
-- that each handler may take, `to_load` that of the library. Returns the lines and whether all went well.
function M.inspect(library, names, seconds, to_load)
  if #names == 0 then return list(library, seconds, to_load) end
  local entries, failure = ask.ask { library = library, names = names, seconds = seconds, to_load = to_load }
  local lines, good = {}, #entries == #names
  for i, name in ipairs(names) do
    local entry = entries[i] or { why = failure }
    if entry.signature then
      lines[#lines + 1] = ask.text(name, entry.signature) .. "\n  (" .. entry.about .. ")"
    elseif entry.about then
      lines[#lines + 1] = ("%s (%s)\n  %s"):format(name, entry.about, entry.why)
    else
      lines[#lines + 1] = name .. ": error: " .. (entry.why or entry.none)
      good = false
    end
  end
  return lines, good
end

--- command(arguments) -> exit code. What `ccw inspect` does.
function M.command(arguments)
  local p = require "argparse" ("ccw inspect", "Lists the handlers of a library.")
  p:argument("library", "A path, the name of a library, or python:MODULE.")
  p:argument("handlers", "Names to ask for API version and traits, too."):args "*"
  local options = p:parse(arguments)
  local ok, lines, good = pcall(M.inspect, options.library, options.handlers)
  if not ok then
    io.stderr:write("ccw: ", tostring(lines), "\n")
    return 1
  end
  if not good and #options.handlers == 0 then
    io.stderr:write("ccw: ", (table.concat(lines, "\n"):gsub("^error: ", "")), "\n")
  else
    for _, line in ipairs(lines) do print(line) end
    if #lines == 0 then io.stderr:write("ccw: ", options.library, ": no handlers are here\n") end
  end
  return good and 0 or 1
end

return M

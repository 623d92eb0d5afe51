--- The plain output of `ccw test`: a line of progress on a terminal, then what failed and what was skipped.
local errors = require "ccw.errors"
local core = require "ccw.core"

local M = {}

local SECONDS = 0.1 --- between two lines of progress

--- Whether a trace is of ccw's own code: then where the test was declared says more.
local function is_own(trace)
  return trace and trace.source and errors.is_own(trace)
end

--- Where in the user's code it is: "x_spec.lua:12"; nil where that is not known.
local function place_of(entry)
  for _, trace in ipairs { entry.trace or {}, entry.element.trace or {} } do
    if trace.short_src and not is_own(trace) then return ("%s:%d"):format(trace.short_src, trace.currentline or 0) end
  end
end

local function indent(text) return (("\n" .. text):gsub("\n", "\n    "):sub(2)) end

local function describe(entry, write)
  local message = entry.message
  if type(message) ~= "string" then message = message and tostring(message) or "nothing more is known" end
  local place, what = place_of(entry), entry.element.descriptor == "it" and "FAILED" or "ERROR"
  local own = is_own(entry.trace) and ("%s:%d"):format(entry.trace.short_src, entry.trace.currentline)
  for prefix in pairs { [place or ""] = true, [own or ""] = true } do -- said already, or of no use
    if prefix ~= "" and message:sub(1, #prefix + 2) == prefix .. ": " then message = message:sub(#prefix + 3) end
  end
  write(("%s: %s%s\n%s\n"):format(what, entry.name, place and (" (%s)"):format(place) or "", indent(message)))
end

--- A handler of busted's for the options of its command line. program tells whether output is a terminal.
function M.handler(program)
  return function()
    local busted = require "busted"
    local handler = require "busted.outputHandlers.base"()
    local terminal = os.getenv "TERM"
    local shows, last, ran = program.is_terminal(1) and terminal and terminal ~= "dumb", 0, 0

    --- In the place of what was there: one line, which the terminal cuts where it is too long.
    local function progress(text) io.write("\r\27[K\27[?7l", text, "\27[?7h") end

    function handler.testStart(element)
      local now = core.clock()
      if shows and now - last > SECONDS then
        local failed = handler.failuresCount + handler.errorsCount
        progress(("%d done%s  %s"):format(ran, failed > 0 and (", %d failed"):format(failed) or "", handler.getFullName(element)))
        io.flush()
        last = now
      end
      ran = ran + 1
      return nil, true
    end

    function handler.suiteEnd()
      if shows then progress "" end
      local function write(text) io.write(text) end
      for _, entry in ipairs(handler.failures) do describe(entry, write) end
      for _, entry in ipairs(handler.errors) do describe(entry, write) end
      for _, entry in ipairs(handler.pendings) do
        write(("skipped: %s: %s\n"):format(entry.name, (tostring(entry.message or "no reason is given"):gsub("^[^\n]-:%d+: ", ""))))
      end
      return nil, true
    end

    busted.subscribe({ "test", "start" }, handler.testStart)
    busted.subscribe({ "suite", "end" }, handler.suiteEnd)
    return handler
  end
end

--- Counts what happens, whatever the output: passed, failed, skipped.
function M.counter()
  local busted, counts = require "busted", { passed = 0, failed = 0, skipped = 0 }
  local names = { success = "passed", pending = "skipped", failure = "failed", error = "failed" }
  busted.subscribe({ "test", "end" }, function(_, _, status)
    local name = names[status]
    counts[name] = counts[name] + 1
    return nil, true
  end)
  local function outside(element)
    if element.descriptor ~= "it" then counts.failed = counts.failed + 1 end
    return nil, true
  end
  busted.subscribe({ "error" }, outside)
  busted.subscribe({ "failure" }, outside)
  return counts
end

return M

-- report.lua: an output of busted that names what failed or was skipped, and ends with "N passed, N failed".
local new_handler = require "busted.outputHandlers.base"

return function()
  local busted = require "busted"
  local handler = new_handler()
  local name = os.getenv "CCW_RUN" or "specs"

  local function line(...) io.write(..., "\n") end

  local function describe(entry)
    line(("%s: %s (%s:%d)"):format(entry.element.descriptor == "it" and "FAILED" or "ERROR", entry.name,
      entry.trace and entry.trace.short_src or "?", entry.trace and entry.trace.currentline or 0))
    local message = entry.message
    if type(message) ~= "string" then message = message and tostring(message) or "nothing more is known" end
    line((("\n" .. message):gsub("\n", "\n    "):sub(2)))
  end

  function handler.suiteEnd()
    for _, entry in ipairs(handler.failures) do describe(entry) end
    for _, entry in ipairs(handler.errors) do describe(entry) end
    for _, entry in ipairs(handler.pendings) do
      line(("skipped: %s: %s"):format(entry.name, (tostring(entry.message):gsub("^[^\n]-:%d+: ", ""))))
    end
    line(("%s: %d passed, %d failed, %d skipped"):format(name, handler.successesCount,
      handler.failuresCount + handler.errorsCount, handler.pendingsCount))
    return nil, true
  end

  busted.subscribe({ "suite", "end" }, handler.suiteEnd)
  return handler
end

--- The terminal, as far as the program knows it. In another host there is none.
local M = {}

local found, program = pcall(require, "ccw.program")
if not found then program = nil end

--- columns() -> integer. How wide standard output is: 100 where it is no terminal.
function M.columns() return program and program.columns() or 100 end

--- lines() -> integer. How many lines it shows: 40 where it is no terminal.
function M.lines() return program and select(2, program.columns()) or 40 end

--- is_utf8() -> boolean. Whether texts may hold other characters than those of ASCII.
function M.is_utf8() return program ~= nil and program.is_utf8() end

--- has_colours() -> boolean. Whether standard output shows 256 colours, and the user wants them.
function M.has_colours()
  local term, no_color = os.getenv "TERM" or "", os.getenv "NO_COLOR"
  if not program or not program.is_terminal(1) or no_color and no_color ~= "" then return false end
  return term:find "256color" ~= nil or (os.getenv "COLORTERM" or "") ~= "" and term ~= "dumb"
end

--- list(folder) -> list. The names in a folder, those of folders with a slash; none where it cannot be read.
function M.list(folder) return program and program.list(folder) or {} end

--- progress(text) -> something to close, or nil. Says what is being waited for, when that takes more than a second, on a line of standard
--- error that is gone when it is closed; at a terminal alone: local _ <close> = terminal.progress "compiling scale.c".
function M.progress(text) return program and program.progress(text) or nil end

return M

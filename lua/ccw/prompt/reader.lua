--- Where lines come from: with editing, history and completion at a terminal, plain elsewhere.
local core = require "ccw.core"
local terminal = require "ccw.terminal"

local M = {}

--- xdg(variable, default, name) -> path, or nil. A file of ours in a folder of the user's, as the XDG rules say.
function M.xdg(variable, default, name)
  local folder = os.getenv(variable)
  if not folder or folder == "" then
    local home = os.getenv "HOME"
    if not home or home == "" then return nil end
    folder = home .. "/" .. default
  end
  return folder .. "/ccw/" .. name
end

local function history_path()
  local path = M.xdg("XDG_STATE_HOME", ".local/state", "history")
  if path then core.make_folder(path:match "^(.*)/") end
  return path
end

--- Whether a history is as libedit writes it: it reads past the end of a line with an escape that it does not know.
local function is_sound(path)
  local file <close> = io.open(path, "rb")
  if not file then return false end
  local text = file:read("a"):gsub("\\[0-7][0-7][0-7]", ""):gsub("\\M[-^][^\n]", "")
  return not text:find "[\\\0-\9\11-\31\127]"
end

--- Candidates in lines as wide as the terminal.
local function lay_out(candidates)
  local lines, line, columns = {}, "", terminal.columns()
  for _, name in ipairs(candidates) do
    if line ~= "" and #line + 2 + #name > columns then
      lines[#lines + 1] = line
      line = ""
    end
    line = line .. (line ~= "" and "  " or "") .. name
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n")
end

local function new_plain(is_terminal)
  return {
    read = function(prompt)
      if is_terminal then io.write(prompt) io.flush() end
      local line = io.read "l"
      if not line then return nil, "end" end
      return line
    end,
    remember = function() end,
    close = function() if is_terminal then print() end end,
  }
end

--- new(session, program) -> reader. reader.read(prompt, pending) gives a line, which goes on with what is pending, or nil and "end" or
--- "interrupt"; reader.remember(text) adds to the history; reader.close() ends the last line.
function M.new(session, program)
  local is_terminal = program.is_terminal(0) and program.is_terminal(1)
  local found, editor_module = pcall(require, "ccw.editor")
  if not (is_terminal and found and os.getenv "TERM" ~= "dumb") then return new_plain(is_terminal) end
  local before = ""
  local editor = editor_module.new(function(text)
    local insertion, candidates = session:complete(before .. text)
    return insertion, candidates and lay_out(candidates)
  end)
  local path = history_path()
  if path and is_sound(path) then editor:load(path) end
  return {
    read = function(prompt, pending)
      before = pending and pending .. "\n" or ""
      return editor:read(prompt)
    end,
    remember = function(text)
      editor:remember(text)
      if path then editor:save(path) end
    end,
    close = function() print() end,
  }
end

return M

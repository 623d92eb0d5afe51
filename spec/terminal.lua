--- A real terminal for specs: the prompt in a window of tmux. Whoever waits waits for what the screen shows.
local support = require "spec.support"

local M = {}
local Terminal = {}
Terminal.__index = Terminal

--- Whether there is a tmux.
function M.is_here() return support.sh "tmux -V":find "^tmux" ~= nil end

--- open{columns =, lines =, environment =, arguments =} -> terminal. Starts the program in a window of that size, in a home of its own
--- unless the environment, "NAME=VALUE ...", says otherwise. The window stays when the program has ended, which it says. A server that is
--- ending takes no new session, so that each has its server.
function M.open(options)
  options = options or {}
  local t = setmetatable({ socket = "ccw-spec-" .. tostring({}):match "0x(%x+)" }, Terminal)
  local home = support.temporary()
  t:tmux(("new-session -d -x %d -y %d \"trap : INT; env LC_ALL=C.utf8 XDG_STATE_HOME='%s/state' XDG_CONFIG_HOME='%s/config' %s '%s' %s;"
    .. " echo ended with \\$?; cat\""):format(options.columns or 100, options.lines or 40, home, home, options.environment or "",
    support.program, options.arguments or ""))
  t:wait_for "ccw>"
  return t
end

function Terminal:tmux(arguments) return support.sh(("tmux -L %s -f /dev/null %s"):format(self.socket, arguments)) end

function Terminal:screen(how) return (self:tmux("capture-pane -p -t 0 " .. (how or ""))) end

--- Presses keys, by the names that tmux has for them.
function Terminal:press(...)
  for _, key in ipairs { ... } do self:tmux("send-keys -t 0 " .. key) end
end

--- Types a text as it is.
function Terminal:type(text) self:tmux("send-keys -t 0 -l '" .. text:gsub("'", "'\\''") .. "'") end

--- Types lines, each with Enter behind it.
function Terminal:enter(...)
  for _, line in ipairs { ... } do
    self:type(line)
    self:press "Enter"
  end
end

--- Waits until the screen shows a text, and fails after many looks. `how` is for capture-pane.
function Terminal:wait_for(text, how)
  for _ = 1, 400 do
    if self:screen(how):find(text, 1, true) then return end
    os.execute "sleep 0.05"
  end
  error("the screen does not show " .. text .. ":\n" .. self:screen(how), 2)
end

function Terminal:clear()
  self:press "C-l"
  self:wait_for "ccw>"
end

function Terminal:close() self:tmux "kill-server" end

Terminal.__close = Terminal.close

return M

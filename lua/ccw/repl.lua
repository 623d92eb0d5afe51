--- The prompt: reads, evaluates, shows.
local call = require "ccw.call"
local chunk = require "ccw.prompt.chunk"
local reader = require "ccw.prompt.reader"
local session = require "ccw.prompt.session"

local M = { session = session.new, classify = chunk.classify }

local EPIPE, EBADF = 32, 9

--- Prints a text, if it is not empty, and tells whether somebody can read what was printed: a closed pipe is the end of the session, and no
--- error.
local function say(text)
  local good, why, number = true, nil, nil
  if text ~= "" then good, why, number = io.stdout:write(text, "\n") end
  if good then good, why, number = io.stdout:flush() end
  if not good and number ~= EPIPE and number ~= EBADF then io.stderr:write("ccw: cannot write: ", tostring(why), "\n") end
  return good ~= nil
end

--- Runs the user's start-up file, if there is one and somebody sits at the prompt. Prints what is wrong with it.
function M.start(program, own)
  if not program.is_terminal(0) then return end
  local path = reader.xdg("XDG_CONFIG_HOME", ".config", "init.lua")
  local file = path and io.open(path, "rb")
  if not file then return end
  file:close()
  own.protect = program.interruptible
  local ok, text = own:show(function() own:load(path) end)
  if not ok then say(text) end
end

--- Reads chunks, of one line or more, until the input ends. Returns whether all went well. `own` is a session that has been used
--- already.
function M.loop(program, own)
  local good, is_heard = true, true
  own = own or M.session()
  local function answer(source)
    local ok, text = own:answer(source)
    good = good and ok
    is_heard = say(text)
  end
  own.protect = program.interruptible
  call.checked = true
  local input = reader.new(own, program)
  local pending
  while is_heard do
    local line, why = input.read(pending and "   > " or "ccw> ", pending)
    if line then
      local source = pending and pending .. "\n" .. line or line
      if not session.is_for_prompt(source) and source:find "%S" and chunk.classify(source) == "more" then
        pending = source
      else
        pending = nil
        if source:find "%S" then
          input.remember(source)
          answer(source)
        end
      end
    elseif why == "interrupt" then
      pending = nil
      print()
    else
      if pending then answer(pending) end
      input.close()
      return good and is_heard
    end
  end
  return false
end

--- Plays chunks as a person would type them: prints each behind a prompt, then what it gives. Returns whether all went well.
function M.play(own, sources)
  local good = true
  for _, source in ipairs(sources) do
    print((("ccw> " .. source):gsub("\n", "\n   > ")))
    local ok, text = own:answer(source)
    good = good and ok
    if text ~= "" then print(text) end
  end
  return good
end

return M

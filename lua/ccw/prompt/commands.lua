--- The commands of the prompt, ":name rest".
local core = require "ccw.core"
local show = require "ccw.show"
local terminal = require "ccw.terminal"
local chunk = require "ccw.prompt.chunk"
local reload = require "ccw.prompt.reload"
local timing = require "ccw.prompt.timing"
local trace = require "ccw.prompt.trace"

local M = {}

--- What each does, "ARGUMENTS: text".
local usage = {
  help = ": lists the commands; ?name explains a name, ? alone lists those",
  load = "FILE: runs a file of Lua as if it were typed here: its top-level locals stay",
  reload = "LIB: loads a library that was built anew, LIB being the variable that holds it; calls from before keep their code",
  time = "EXPR: runs it as it is, checks and all, and says how long it took",
  timeit = "EXPR: runs it again and again, without checks, and says how long it takes, and how steadily",
  trace = "EXPR: runs it, without checks, and shows what its calls do: stages, times, the frame that the handler gets",
}

--- Raises unless there is something to run.
local function check_source(name, source)
  if source:find "%S" then return end
  error((":%s wants an expression, as in :%s ccw.call(lib.scale, {x}, \"f32[4]\", {s = 2})"):format(name, name), 0)
end

--- Lines that are there, one below the other.
local function join(...)
  local lines = {}
  for _, line in ipairs { ... } do
    if line ~= "" then lines[#lines + 1] = line end
  end
  return table.concat(lines, "\n")
end

--- A sentence on the calls that a source names and that were prepared to be checked, which takes much of their time; "" for none.
local function checked_calls(session, source)
  local names = {}
  for name in pairs((select(2, chunk.survey(source)))) do
    local value = session:value(name)
    if core.kind(value) == "call" and core.call_is_checked(value) then names[#names + 1] = name end
  end
  table.sort(names)
  return #names > 0 and ("checks are part of that: prepare %s with {checked = false}"):format(table.concat(names, ", ")) or ""
end

local commands = {}

function commands.help(session, rest)
  if rest ~= "" then error((":help takes nothing; ?%s explains a name"):format(rest), 0) end
  local names, width, lines = {}, 0, {}
  for name in pairs(session.commands) do names[#names + 1] = name end
  table.sort(names)
  for i, name in ipairs(names) do
    local arguments = (session.usage[name] or ""):match "^([^:]*):" or ""
    lines[i] = ":" .. name .. (arguments ~= "" and " " .. arguments or "")
    width = math.max(width, #lines[i])
  end
  for i, name in ipairs(names) do
    local text = (session.usage[name] or ""):match ":%s*(.*)$" or ""
    local indent = (" "):rep(width + 2)
    if terminal.columns() < 60 then
      lines[i] = lines[i] .. (text ~= "" and "\n  " .. show.wrapped(text, 2) or "")
    else
      lines[i] = (lines[i] .. indent:sub(#lines[i] + 1) .. show.wrapped(text, #indent)):gsub(" +$", "")
    end
  end
  return table.concat(lines, "\n")
end

function commands.load(session, path)
  if path == "" then error(":load wants a file of Lua, as in :load ./start.lua", 0) end
  session:load(path)
  return ""
end

function commands.reload(session, name) return reload.reload(session, name) end

function commands.time(session, source)
  check_source("time", source)
  local seconds, results = timing.once(session.evaluate, session, source)
  return join(show.values(results[1]), "took " .. timing.seconds(seconds))
end

function commands.timeit(session, source)
  check_source("timeit", source)
  local kind, message = chunk.classify(source)
  if not kind then error(message, 0) end
  if kind == "more" then error("the input ends in the middle", 0) end
  if select(3, chunk.survey(source)) then error(":timeit cannot repeat what returns", 0) end
  local value = kind == "expression" and "local __ccw_value = " or ""
  local loop, wrong = session:compile(("for __ccw_turn = 1, (...) do %s%s\nend"):format(value, source))
  if not loop then error(wrong, 0) end
  local text
  do
    local _ <close> = terminal.progress("timing " .. source)
    text = timing.text(timing.unchecked(timing.measure, loop))
  end
  return join(text, checked_calls(session, source))
end

function commands.trace(session, source)
  check_source("trace", source)
  if core.kind(session:value(source)) == "call" then source = source .. "()" end
  local results, text, count = trace.trace(function() return session:evaluate(source) end)
  if count == 0 then error(":trace has seen no call of a handler", 0) end
  return join(text, show.values(results))
end

--- install(session). Gives a session the commands.
function M.install(session)
  for name, command in pairs(commands) do session.commands[name], session.usage[name] = command, usage[name] end
end

return M

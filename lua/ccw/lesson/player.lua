--- Plays a lesson: runs its code as if it were typed at the prompt, and compares what it prints with what the lesson says.
local array = require "ccw.array"
local errors = require "ccw.errors"
local call = require "ccw.call"
local compile = require "ccw.compile"
local file = require "ccw.lesson.file"
local repl = require "ccw.repl"
local show = require "ccw.show"

local M = {}

--- lesson.numbers(type, seed [, low, high]) -> buffer. Small whole numbers, from -9 to 9 unless it says otherwise, which are easy to read
-- in a message: what exercises try answers on.
local function numbers(of, seed, low, high)
  local dtype, dims = tostring(of):match "^(%w+)(%b[])$"
  if not dtype then error(("bad argument #1 to 'numbers' (expected a type, \"f32[5]\", got %s)"):format(show.value(of)), 2) end
  return array.random("s32" .. dims, seed, { low = low or -9, high = high or 9 }):as(dtype)
end

local Player = {}
Player.__index = Player

--- new(lesson, tell [, session]) -> player. Its session, a new one or one that begins anew, gets what the lesson's code makes; tell(text)
-- is given what is to be seen, as it comes.
function M.new(lesson, tell, session)
  session = session or repl.session()
  session.cells = {}
  local player = setmetatable({ lesson = lesson, tell = tell, session = session, printed = nil }, Player)
  local env = session.env
  for _, exercise in ipairs(lesson.exercises) do _G[exercise.name] = nil end -- what another lesson, or an earlier try, left
  player.given = { numbers = numbers, ask = function(exercise)
    local problem = file.problem_of(exercise)
    if problem then error(problem, 2) end
    local known = lesson.exercises[exercise[1]]
    if not known then error(("an exercise '%s' is not in the lesson's file"):format(exercise[1]), 2) end
    known.try, known.answer, known.hints = exercise.try, exercise.answer, exercise.hints or {}
  end }
  rawset(env, "lesson", player.given)
  rawset(env, "print", function(...)
    local parts = table.pack(...)
    for i = 1, parts.n do parts[i] = tostring(parts[i]) end
    player:show(table.concat(parts, "\t"))
  end)
  return player
end

--- Shows a text, and notes it while the lesson's own code runs.
function Player:show(text)
  if self.printed then
    for line in (text .. "\n"):gmatch "(.-)\n" do self.printed[#self.printed + 1] = (line:gsub("\t", "   ")) end
  end
  self.tell(text)
end

--- quietly(session, source) -> ok, text. Runs code in the session, whose own protection is for what people type: where this runs that is in
-- force already.
function M.quietly(session, source)
  local protect = session.protect
  session.protect = nil
  local ok, text = session:run(source)
  session.protect = protect
  return ok, text
end

--- Runs a step of code, its calls checked as they are at the prompt. Returns a text where it did not give what the lesson says.
function Player:run(step)
  self.printed = {}
  self.session.cells.lesson = nil -- whatever the learner calls so
  rawset(self.session.env, "lesson", self.given)
  local before = call.checked
  call.checked = true
  local _, text = M.quietly(self.session, step.source)
  call.checked = before
  if text ~= "" then self:show(text) end
  local got, wanted = table.concat(self.printed, "\n"), table.concat(step.outputs, "\n")
  self.printed = nil
  if got == wanted then return nil end
  return ("%s:%d: expected\n%s\ngot\n%s"):format(self.lesson.name, step.line, wanted == "" and "nothing" or wanted,
    got == "" and "nothing" or got)
end

local sources = {
  ["a C compiler"] = { "#include <ccw/handler.h>\nCCW_HANDLER(probe) { return ccw_ok(); }\n" },
  ["a C++ compiler"] = { "#include <ccw/handler.h>\nCCW_HANDLER(probe) { return ccw_ok(); }\n", { language = "c++" } },
}

--- lacks(what) -> text. Why what a lesson needs is not here; nil where it is. "a C compiler" and "a C++ compiler" are known.
function M.lacks(what)
  local source = sources[what]
  if not source then return ("nobody knows how to look for %s"):format(what) end
  local library, err = errors.try(compile.compile, source[1], source[2])
  return not library and tostring(err):match "^[^\n]*" or nil
end

return M

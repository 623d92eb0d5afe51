--- ccw lesson: the guide of custom calls, taught at the prompt.
local errors = require "ccw.errors"
local file = require "ccw.lesson.file"
local text_file = require "ccw.text_file"
local fit = require "ccw.usage"

local M = {}

--- lessons() -> list. Those that ccw brings along, in their order, each with number and name.
function M.lessons()
  local list = {}
  for i, source in ipairs(require "ccw.lessons") do
    list[i] = file.read(source.name, source.text)
    list[i].number = i
  end
  return list
end

--- read(path) -> lesson. A lesson of a file.
function M.read(path) return file.read(path, text_file.read(path)) end

--- A lesson by what people call it: a number, a name, or a file.
local function find(which)
  if which:find "[/.]" then return M.read(which) end
  local lesson, why = require "ccw.lesson.teacher".find(M.lessons(), which)
  if not lesson then errors.raise("NOT_FOUND", why .. "; ccw lesson lists them") end
  return lesson
end

--- What --check is for: a lesson, which is checked, or answers to one, which are graded.
local function check(path, which)
  local grader, text = require "ccw.lesson.grader", text_file.read(path)
  if file.is_lesson(text:match "^[^\n]*") then return grader.check(file.read(path, text)) end
  which = which or text:match "^%-%- Answers to ccw lesson ([^\n:]+)"
  if not which then
    errors.raise("INVALID_ARGUMENT", path .. ":1: expected a lesson, --- TITLE  N minutes, or -- Answers to ccw lesson NAME")
  end
  return grader.grade(find(which), path, text)
end

local function parser()
  local p = require "argparse" ("ccw lesson", "Teaches custom calls at the prompt: without LESSON, lists the lessons.")
  p:argument("lesson", "A number, a name, or a file, lesson.lua or ./lesson.lua."):args "?"
  p:option("--check", "Check a file: a lesson, or answers to one; LESSON says to which, where the file does not."):argname "FILE"
  p:option("--time-limit", "Seconds that an answer may take, 10 unless this says otherwise."):argname "SECONDS":convert(tonumber)
  p:flag("--sheet", "Print a file of answers to LESSON, to be filled in.")
  return fit(p, [=[
A lesson is a Lua file. Its first line is its title, "--- TITLE  N minutes"; comments are what it says, code runs, and
what it prints stands behind it, --> so. A paragraph that begins with Try waits for the learner. "-- Guide: HEADING"
names a heading of XLA's guide, "-- Needs: a C compiler", or a C++ compiler, what all behind it needs. An exercise is
lesson.ask{"name", try = function(name) ... end, answer = [[name = ...]], hints = {"...", "..."}}: an answer is right
when `try` gives for it what it gives for the reference answer. lesson.numbers(type, seed [, low, high]) makes arrays
of small whole numbers to try it on.

Answers are a Lua file that sets the names of the exercises; --sheet prints one to fill in, whose first line says to
which lesson it belongs. --check exits with 0 when the lesson is sound, or all answers are right, with 1 when not, and
with 2 when there is nothing that it could check.]=])
end

local function run(options, program)
  if options.time_limit then require "ccw.lesson.exercise".time_limit = options.time_limit end
  if options.check then return check(options.check, options.lesson) end
  local teacher = require "ccw.lesson.teacher"
  if options.sheet and not options.lesson then errors.raise("INVALID_ARGUMENT", "a sheet is of a lesson: ccw lesson LESSON --sheet") end
  if not options.lesson then
    print(teacher.list(M.lessons(), teacher.columns(program)))
    print "ccw lesson N begins one."
    return 0
  end
  local lesson = find(options.lesson)
  if options.sheet then
    print(require "ccw.lesson.grader".sheet(lesson, lesson.name))
    return 0
  end
  return teacher.teach(lesson, M.lessons(), program)
end

--- command(arguments, program) -> exit code. What `ccw lesson` does.
function M.command(arguments, program)
  local options = parser():parse(arguments)
  _G.ccw = require "ccw"
  local ok, code = pcall(run, options, program)
  if ok then return code end
  io.stderr:write("ccw: ", errors.is_error(code) and code.message or tostring(code), "\n")
  return 2
end

--- script(path) -> exit code. What `ccw FILE` does where the file is a lesson.
function M.script(path)
  local lesson, err = errors.try(M.read, path)
  if lesson then return require "ccw.lesson.grader".script(lesson) end
  io.stderr:write("ccw: ", err.message, "\n")
  return 1
end

return M

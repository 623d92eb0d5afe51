--- Lesson files: text to read, code to run, exercises.
local core = require "ccw.core"
local errors = require "ccw.errors"
local globals = require "ccw.globals"
local repl = require "ccw.repl"

local M = {}

--- The first line of a lesson: its title and how long it takes.
local TITLE = "^%-%-%- (.-)%s+(%d+) minutes?%s*$"

--- is_lesson(line) -> boolean. Whether a file that begins with this line is a lesson.
function M.is_lesson(line) return line:find(TITLE) ~= nil end

local function fail(name, line, text, ...)
  errors.raise("INVALID_ARGUMENT", ("%s:%d: " .. text):format(name, line, ...))
end

--- A message of Lua's, "prompt:2: ...", with the line of the file.
local function relocate(name, first, message)
  local line, text = message:match "^prompt:(%d+): (.*)$"
  fail(name, first + (line or 1) - 1, "%s", text or message)
end

--- Stands for what is not known before a lesson runs: any field of it, and what it gives when it is called, is the same.
local anything = setmetatable({}, { __index = function(self) return self end, __call = function(self) return self end })

local fields = { [1] = "string", try = "function", answer = "string", hints = "table" }

--- problem_of(exercise) -> text. What is wrong with what `lesson.ask` was given; nil for nothing.
function M.problem_of(exercise)
  if type(exercise) ~= "table" then return "an exercise is a table, lesson.ask{NAME, try = f, answer = text}" end
  local called = exercise[1]
  if type(called) ~= "string" or not called:find "^[%a_][%w_]*$" then
    return "an exercise has no name, lesson.ask{NAME, ...}, under which its answer is looked for"
  end
  if globals[called] ~= nil or called == "lesson" then
    return ("exercise '%s' has the name of something that is there already"):format(called)
  end
  for field, value in next, exercise do
    local wanted = fields[field]
    if not wanted then
      local near = core.near(tostring(field), { "try", "answer", "hints" })
      return ("exercise '%s': no field is called '%s'%s"):format(called, tostring(field), near[1] and "; near: " .. near[1] or "")
    end
    if value ~= anything and type(value) ~= wanted then
      return ("exercise '%s': %s: expected a %s, got %s"):format(called, field, wanted, type(value))
    end
  end
  if not exercise.answer then return ("exercise '%s' has no answer, a text that sets %s as it should be"):format(called, called) end
  if not exercise.try then return ("exercise '%s' has no try, a function that tries an answer"):format(called) end
end

--- What `lesson.ask` is given, as far as it is known before the lesson runs.
local function read_exercise(name, line, source)
  local exercise
  local env = setmetatable({ lesson = { ask = function(given) exercise = given end } }, { __index = function() return anything end })
  local chunk, message = load(source, "=prompt", "t", env)
  local ok = chunk and true
  if chunk then ok, message = pcall(chunk) end
  if not ok then relocate(name, line, tostring(message)) end
  local problem = M.problem_of(exercise)
  if problem then fail(name, line, "%s", problem) end
  return { name = exercise[1], answer = exercise.answer, hints = exercise.hints or {}, try = exercise.try }
end

--- Code as people see it: without the outputs that are written behind it.
local function without_outputs(source) return (source:gsub("[ \t]*%-%->[^\n]*", "")) end

local function outputs_of(source)
  local list = {}
  for text in source:gmatch "%-%-> ?([^\n]*)" do list[#list + 1] = text end
  return list
end

--- The code that begins at a line: all lines that belong together. Returns them and the number of the next.
local function take_chunk(name, lines, first)
  local source, last = lines[first], first
  while true do
    local kind, message = repl.classify(source)
    local goes_on = lines[last + 1] and lines[last + 1]:find "^%s+[:.]" -- a method on a line of its own
    if (kind == "expression" or kind == "statement") and not goes_on then break end
    if not kind then relocate(name, first, message) end
    last = last + 1
    if not lines[last] then fail(name, first, "the file ends in the middle of what begins here") end
    source = source .. "\n" .. lines[last]
  end
  return source, last + 1
end

--- Adds a line of text to the paragraph that is being read; one that is indented stands by itself.
local function add_text(steps, text, line, begins)
  local step = steps[#steps]
  if begins or not step or step.kind ~= "text" then
    step = { kind = "text", line = line, "" }
    steps[#steps + 1] = step
    step.waits = text:find "^Try" ~= nil -- something to change: the learner has the floor
  end
  local kept = text:find "^    " or text == ""
  if kept or step.kept then
    step[#step + 1] = text
  else
    step[#step] = step[#step] == "" and text or step[#step] .. " " .. text
  end
  step.kept = kept
end

local function read_steps(lesson, lines)
  local steps, i, begins = lesson.steps, 2, true
  while lines[i] do
    local line = lines[i]
    local text, output = line:match "^%-%-%s?(.*)$", line:match "^%-%-> ?(.*)$"
    local guide, needs = line:match "^%-%- Guide: (.*)$", line:match "^%-%- Needs: (.*)$"
    local last = steps[#steps]
    if not line:find "%S" then
      begins, i = true, i + 1
    elseif output then
      if not last or last.kind ~= "code" then fail(lesson.name, i, "an output, with no code in front of it") end
      last.outputs[#last.outputs + 1] = output
      i = i + 1
    elseif guide then
      lesson.guide, i = guide, i + 1
    elseif needs then
      steps[#steps + 1] = { kind = "needs", line = i, what = needs }
      i = i + 1
    elseif text then
      add_text(steps, text, i, begins)
      begins, i = false, i + 1
    else
      local source, next_line = take_chunk(lesson.name, lines, i)
      local step = { kind = "code", line = i, source = source, shown = without_outputs(source), outputs = outputs_of(source) }
      if source:find "^lesson%.ask" then
        step.kind, step.exercise = "ask", read_exercise(lesson.name, i, source)
        local name = step.exercise.name
        if lesson.exercises[name] then fail(lesson.name, i, "there is an exercise '%s' already", name) end
        lesson.exercises[name] = step.exercise
        lesson.exercises[#lesson.exercises + 1] = step.exercise
      end
      steps[#steps + 1] = step
      begins, i = true, next_line
    end
  end
end

--- read(name, source) -> lesson. Takes a lesson file apart: title, minutes, guide (a heading of XLA's guide, or nil), exercises (a list,
-- and by name) and steps, each with its kind, "text", "code", "ask" or "needs", and its line.
-- INVALID_ARGUMENT, with the line: no title, what Lua does not understand, an exercise that lacks something.
function M.read(name, source)
  local lines = {}
  for line in (source:gsub("\r\n", "\n") .. "\n"):gmatch "(.-)\n" do lines[#lines + 1] = line end
  if lines[#lines] == "" then lines[#lines] = nil end
  local title, minutes = (lines[1] or ""):match(TITLE)
  if not title then fail(name, 1, "expected the title of a lesson, --- TITLE  N minutes, got %s", core.quote(lines[1] or "")) end
  local lesson = { name = name, title = title, minutes = math.tointeger(tonumber(minutes)), steps = {}, exercises = {} }
  read_steps(lesson, lines)
  return lesson
end

return M

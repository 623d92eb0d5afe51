--- Lessons without a learner: run as scripts, checked, and answers to them graded.
local errors = require "ccw.errors"
local exercise = require "ccw.lesson.exercise"
local player = require "ccw.lesson.player"
local teacher = require "ccw.lesson.teacher"

local M = {}

local function silent() end

--- Has os.exit raise an error with that text, until what is given back is closed.
local function forbid_exit(text)
  local exit = os.exit
  function os.exit() error(text, 2) end -- luacheck: ignore
  return setmetatable({}, { __close = function() os.exit = exit end }) -- luacheck: ignore
end

--- What is wrong with an exercise of a lesson that is being played; nil for nothing.
local function problem_of(session, asked)
  local ok, err = pcall(function()
    if exercise.refuses_nothing(session, asked) then
      errors.raise("INTERNAL", ("exercise '%s': an empty answer is right, too"):format(asked.name))
    end
    session:run(asked.answer)
    local verdict = exercise.check(session, asked)
    if not verdict.right then errors.raise("INTERNAL", "its own answer is wrong: " .. exercise.text(asked, verdict)) end
  end)
  if ok then return nil end
  return errors.is_error(err) and err.message or tostring(err)
end

--- play(lesson, tell) -> problems, lacking. Runs a lesson from its beginning to its end, exercises solved by their own answers. tell(text)
-- gets what it teaches. problems is a list of texts, each with the line; lacking says what it needs that is not here, or is nil.
function M.play(lesson, tell)
  local playing, problems = player.new(lesson, tell), {}
  for _, step in ipairs(lesson.steps) do
    if step.kind == "text" then
      tell("\n" .. teacher.paragraphs(step, 100))
    elseif step.kind == "code" then
      tell("\n" .. step.shown)
      problems[#problems + 1] = exercise.limit(playing.run, playing, step)
    elseif step.kind == "ask" then
      problems[#problems + 1] = playing:run({ source = step.source, outputs = {}, line = step.line })
      local problem = problem_of(playing.session, step.exercise)
      if problem then problems[#problems + 1] = ("%s:%d: %s"):format(lesson.name, step.line, problem) end
      tell("\n" .. step.exercise.answer)
    else
      local why = player.lacks(step.what)
      if why then return problems, ("the rest needs %s, and there is none here: %s"):format(step.what, why) end
    end
  end
  return problems, nil
end

--- script(lesson) -> exit code. Prints what a lesson teaches, and what is wrong with it.
function M.script(lesson)
  print(("%s (%d minutes)"):format(lesson.title, lesson.minutes))
  local problems, lacking = M.play(lesson, print)
  if lacking then print("\n" .. lacking) end
  for _, problem in ipairs(problems) do io.stderr:write("ccw: ", problem, "\n") end
  return #problems == 0 and 0 or 1
end

local function count(n, what) return ("%d %s%s"):format(n, what, n == 1 and "" or "s") end

--- check(lesson) -> exit code. Says whether a lesson is sound: its code prints what it says, and its exercises take their own answers, and
-- no empty ones.
function M.check(lesson)
  local restore <close> = forbid_exit "a lesson does not end the program" -- luacheck: ignore
  local problems, lacking = M.play(lesson, silent)
  for _, problem in ipairs(problems) do print(problem) end
  if lacking then print(lesson.name .. ": " .. lacking) end
  if #problems > 0 then return 1 end
  print(("%s: sound, %s"):format(lesson.name, count(#lesson.exercises, "exercise")))
  return 0
end

--- Runs answers as if they were typed, but for the name of their places: those of the lesson's code are others.
local function run_answers(session, source)
  return session:show(function()
    local chunk, message = session:compile(source, "=answers")
    if not chunk then error(message, 0) end
    chunk()
  end)
end

--- grade(lesson, name, source) -> exit code. Runs the answers to a lesson, Lua that sets the names of its exercises, behind the lesson's
-- own code, and says of each how it does: 0 when all are right, 1 when not.
function M.grade(lesson, name, source)
  local playing, right = player.new(lesson, silent), 0
  for _, step in ipairs(lesson.steps) do
    local why = step.kind == "needs" and player.lacks(step.what)
    if why then errors.raise("UNAVAILABLE", ("%s needs %s, and there is none here: %s"):format(lesson.name, step.what, why)) end
    if step.kind == "code" or step.kind == "ask" then playing.session:run(step.source) end
  end
  playing.tell = print -- from here on it is the learner who prints
  local restore <close> = forbid_exit "an answer does not end the program" -- luacheck: ignore
  local function placed(text) return (text:gsub("%f[%w]answers:(%d+)", function(line) return name .. ":" .. line end)) end
  local ok, text = exercise.limit(run_answers, playing.session, (source:gsub("^#[^\n]*", "")))
  if not ok then
    local cause, hint = exercise.diagnose((text:gsub("^error: ", "")))
    print(placed(text:match "^[^\n]*" .. (hint and ("\n  %s\n  hint: %s"):format(cause, hint) or "")))
  end
  for _, asked in ipairs(lesson.exercises) do
    local verdict = exercise.check(playing.session, asked)
    right = right + (verdict.right and 1 or 0)
    print(placed(exercise.text(asked, verdict)))
  end
  print(("%d of %d right"):format(right, #lesson.exercises))
  return ok and right == #lesson.exercises and 0 or 1
end

--- sheet(lesson, where) -> text. A file of answers to be filled in: for each exercise what it asks, and its name. `where` is what `ccw
-- lesson` knows the lesson by.
function M.sheet(lesson, where)
  local lines, text = { ("-- Answers to ccw lesson %s: %s"):format(where, lesson.title),
    ("-- ccw lesson --check THIS-FILE grades them.") }, nil
  for _, step in ipairs(lesson.steps) do
    if step.kind == "text" then
      text = step
    elseif step.kind == "ask" then
      lines[#lines + 1] = ""
      for line in (text and teacher.paragraphs(text, 100) or ""):gmatch "[^\n]+" do lines[#lines + 1] = "-- " .. line end
      lines[#lines + 1] = step.exercise.name .. " = nil"
    end
  end
  return table.concat(lines, "\n")
end

return M

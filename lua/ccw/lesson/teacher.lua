--- A lesson at the prompt: it speaks and shows until it is the learner's turn.
local core = require "ccw.core"
local exercise = require "ccw.lesson.exercise"
local player = require "ccw.lesson.player"
local repl = require "ccw.repl"

local M = {}

--- columns(program) -> number. The width of the terminal, or else what COLUMNS says, or 80.
function M.columns(program)
  local known = program.is_terminal(1) and program.columns and program.columns() or math.tointeger(tonumber(os.getenv "COLUMNS"))
  return math.max(20, known or 80)
end

local function width_of(text) return utf8.len(text) or #text end

--- wrap(text, columns [, indent]) -> text. Breaks a paragraph between words; its further lines are indented by so many blanks.
function M.wrap(text, columns, indent)
  local lines, line = {}, nil
  for word in text:gmatch "%S+" do
    if line and width_of(line) + 1 + width_of(word) > columns then
      lines[#lines + 1] = line
      line = (" "):rep(indent or 0) .. word
    else
      line = line and line .. " " .. word or word
    end
  end
  lines[#lines + 1] = line
  return table.concat(lines, "\n")
end

--- paragraphs(step, columns) -> text. The text of a lesson, wrapped; what is indented stays as it is.
function M.paragraphs(step, columns)
  local list = {}
  for _, text in ipairs(step) do list[#list + 1] = text:find "^    " and text or M.wrap(text, columns) end
  return table.concat(list, "\n")
end

local Teacher = {}
Teacher.__index = Teacher

function Teacher:say(text) print(M.wrap(text, self.columns())) end

--- A text whose lines are wrapped one by one: a verdict, with its hint.
function Teacher:lines(text)
  local lines = {}
  for line in text:gmatch "[^\n]+" do
    lines[#lines + 1] = line:match "^ *" .. M.wrap(line, self.columns() - 2, 2)
  end
  return table.concat(lines, "\n")
end

--- Begins a lesson, from its head.
function Teacher:open(lesson)
  self.lesson, self.at, self.exercise, self.hints = lesson, 1, nil, 0
  self.has_shown, self.is_over = false, false
  self.player = player.new(lesson, print, self.session)
  self:say(("%s%s"):format(lesson.number and ("Lesson %d. "):format(lesson.number) or "", lesson.title))
  self:say(("%d minutes.%s"):format(lesson.minutes, lesson.guide and (" In XLA's guide: %s."):format(lesson.guide) or ""))
  self:say(":next goes on, :hint helps, :skip passes an exercise, :again starts over, :lessons lists all, Ctrl-D leaves. Else this is " ..
    "the prompt.")
  self:go_on()
end

--- Shows code as if it were typed, and what it gives.
function Teacher:play(step)
  print((("ccw> " .. step.shown):gsub("\n", "\n   > ")))
  local problem = self.player:run(step)
  if problem then self:say("The lesson expected something else here: " .. problem) end
end

--- Plays on to the next place where it is the learner's turn.
function Teacher:go_on()
  local steps = self.lesson.steps
  while steps[self.at] do
    local step = steps[self.at]
    if step.kind == "text" and self.has_shown then -- one thing at a time
      self.has_shown = false
      return self:say "(:next goes on)"
    end
    self.at = self.at + 1
    if step.kind == "text" then
      print("\n" .. M.paragraphs(step, self.columns()))
      if step.waits then return self:say "(:next goes on)" end
    elseif step.kind == "code" then
      self:play(step)
      self.has_shown = true
    elseif step.kind == "needs" then
      local why = player.lacks(step.what)
      if why then
        self:say(("What follows needs %s, and there is none here: %s"):format(step.what, why))
        self.at = #steps + 1
      end
    else
      self.player:run(step)
      self.has_shown = false
      self.exercise, self.hints = step.exercise, 0
      self.tried, self.names = self.session:value(step.exercise.name), self:known_names()
      return
    end
  end
  self:finish()
end

function Teacher:finish()
  self.done[self.lesson.name], self.is_over = true, true
  local following = self.lesson.number and self.lessons[self.lesson.number + 1]
  self:say(("That was the lesson.%s"):format(following and (" :next begins the next one, \"%s\"."):format(following.title) or
    " Ctrl-D leaves."))
end

--- Tells how the answer to the open exercise does, and closes the exercise when it is right.
function Teacher:judge()
  local asked = self.exercise
  self.tried = self.session:value(asked.name)
  local verdict = exercise.check(self.session, asked)
  local text = self:lines(exercise.text(asked, verdict))
  if not verdict.right then return text end
  self.exercise = nil
  return text .. " :next goes on."
end

local commands = {}

--- What :help says of them, as far as the prompt has it.
local usage = {
  next = ": goes on with the lesson; where an exercise is open, looks at the answer first",
  hint = ": helps with the exercise, in the end with an answer",
  skip = ": passes the exercise",
  again = ": begins the lesson anew",
  lessons = "[LESSON]: lists the lessons, or begins one, by number or name",
}

function commands.next(teacher)
  if teacher.exercise then
    local text = teacher:judge()
    print(text)
    if teacher.exercise then return ":hint helps, :skip passes it." end
  end
  local following = teacher.lesson.number and teacher.lessons[teacher.lesson.number + 1]
  if not teacher.is_over then
    teacher:go_on()
  elseif following then
    teacher:open(following)
  else
    return "That was the last one. Ctrl-D leaves."
  end
  return ""
end

function commands.hint(teacher)
  local asked = teacher.exercise
  if not asked then return "There is no exercise open; :next goes on." end
  teacher.hints = teacher.hints + 1
  if asked.hints[teacher.hints] then return M.wrap("hint: " .. asked.hints[teacher.hints], teacher.columns(), 2) end
  return "One answer:\n" .. asked.answer
end

function commands.again(teacher)
  teacher:open(teacher.lesson)
  return ""
end

function commands.skip(teacher)
  teacher.exercise = nil
  return commands.next(teacher)
end

function commands.lessons(teacher, rest)
  if rest == "" then return M.list(teacher.lessons, teacher.columns(), teacher.done, teacher.lesson) end
  local lesson, why = M.find(teacher.lessons, rest)
  if not lesson then return why end
  teacher:open(lesson)
  return ""
end

--- The names that mean something, as a set.
function Teacher:known_names()
  local set = {}
  for _, name in ipairs(self.session:names()) do set[name] = true end
  return set
end

--- A name that was set since the exercise was asked, and looks like the one that it asks for.
function Teacher:near_miss()
  local new = {}
  for name in pairs(self:known_names()) do
    if not self.names[name] then new[#new + 1] = name end
  end
  self.names = self:known_names()
  return core.near(self.exercise.name, new)[1]
end

--- What is to be said of a chunk that was typed: what its error means, or how the answer does, if there is a new one.
function Teacher:remark(ok, text)
  local asked = self.exercise
  if not ok then
    local cause, hint = exercise.diagnose((text:gsub("^error: ", "")))
    return hint and self:lines(("%s\n  hint: %s"):format(cause, hint)) or ""
  end
  if not asked then return "" end
  if not rawequal(self.session:value(asked.name), self.tried) then return self:judge() end
  local miss = self:near_miss()
  return miss and self:lines(("%s: the name '%s' was never set\n  hint: near: %s"):format(asked.name, asked.name, miss)) or ""
end

--- list(lessons, columns [, done [, current]]) -> text. A line for each lesson: number, name, minutes, heading in the guide.
function M.list(lessons, columns, done, current)
  local lines, width = {}, 0
  for _, lesson in ipairs(lessons) do width = math.max(width, #lesson.name) end
  for i, lesson in ipairs(lessons) do
    local mark = current and lesson.name == current.name and ">" or done and done[lesson.name] and "+" or " "
    local head = ("%s%2d  %s%s  %2d min  "):format(mark, i, lesson.name, (" "):rep(width - #lesson.name), lesson.minutes)
    local heading = lesson.guide or "(beyond the guide)"
    lines[i] = #head + #heading <= columns and head .. heading or head:gsub(" +$", "") .. "\n" ..
      "     " .. M.wrap(heading, columns - 5):gsub("\n", "\n     ")
  end
  return table.concat(lines, "\n")
end

--- find(lessons, which) -> lesson, or nil and why not. By number, or by name.
function M.find(lessons, which)
  local number = math.tointeger(tonumber(which))
  if number then
    if lessons[number] then return lessons[number] end
    return nil, ("there is no lesson %d; there are 1 to %d"):format(number, #lessons)
  end
  local names = {}
  for i, lesson in ipairs(lessons) do
    if lesson.name == which then return lesson end
    names[i] = lesson.name
  end
  local near = core.near(which, names)
  return nil, ("no lesson is called '%s'%s"):format(which, near[1] and "; near: " .. table.concat(near, ", ") or "")
end

--- new(lessons, program) -> teacher. Its session is one of the prompt, with commands and an ear for answers; teacher:open(lesson) begins.
function M.new(lessons, program)
  local session = repl.session()
  local teacher = setmetatable({ lessons = lessons, session = session, done = {},
    columns = function() return M.columns(program) end }, Teacher)
  for name, command in pairs(commands) do
    session.commands[name] = function(_, rest) return command(teacher, rest) end
    if session.usage then session.usage[name] = usage[name] end
  end
  local answer = session.answer
  function session:answer(source)
    local ok, text = answer(self, source)
    if source:find "^%s*[:?]" then return ok, text end
    local _, remark = self:show(function() return teacher:remark(ok, text) end)
    return ok, text .. (text ~= "" and remark ~= "" and "\n" or "") .. remark
  end
  return teacher
end

--- teach(lesson, lessons, program) -> exit code. Teaches it at the prompt.
function M.teach(lesson, lessons, program)
  local teacher = M.new(lessons, program)
  teacher:open(lesson)
  repl.loop(program, teacher.session)
  return 0
end

return M

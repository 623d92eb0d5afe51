-- Lessons: each runs, prints what it says, and takes right answers and no others; and `ccw lesson`, which teaches them.
local ccw = require "ccw"
local lesson = require "ccw.lesson"
local exercise = require "ccw.lesson.exercise"
local file = require "ccw.lesson.file"
local grader = require "ccw.lesson.grader"
local player = require "ccw.lesson.player"
local teacher = require "ccw.lesson.teacher"
local support = require "spec.support"
local answers = dofile(support.root .. "/spec/lessons/answers.lua")

local folder = support.root .. "/scripts/lessons"

--- The lessons in their order: file, name, and the features that each teaches.
local order = {
  { "01-binding", "CC-2" }, { "02-errors", "CC-5 CC-6" }, { "03-destinations", "CC-7" }, { "04-buffers", "CC-8 CC-9" },
  { "05-patterns", "CC-10 CC-11 CC-12 CC-13 CC-14 CC-15 CC-16 CC-17 CC-18 CC-19" }, { "06-variadics", "CC-20 CC-21" },
  { "07-attributes", "CC-22" }, { "08-enums", "CC-23" }, { "09-structs", "CC-4 CC-24 CC-25" }, { "10-cpu-call", "CC-27 CC-28 CC-29" },
  { "11-gpu-call", "CC-30 CC-31" }, { "12-tuples", "CC-32 CC-33" }, { "13-scratch", "CC-34 CC-37" }, { "14-stages", "CC-36" },
  { "15-futures", "CC-38" }, { "16-jax", "CC-35 CC-39" },
}

local function run(arguments) return support.sh(("cd '%s' && '%s' %s"):format(support.root, support.program, arguments)) end

--- What a lesson lacks of what it needs.
local function lacking(known)
  for _, step in ipairs(known.steps) do
    if step.kind == "needs" and player.lacks(step.what) then return step.what .. " is not here" end
  end
end

--- A session in which a lesson has run as far as to an exercise.
local function session_at(known, name)
  local playing = player.new(known, function() end)
  for _, step in ipairs(known.steps) do
    if step.kind == "code" or step.kind == "ask" then playing:run { source = step.source, outputs = {}, line = step.line } end
    if step.exercise and step.exercise.name == name then return playing.session end
  end
  error("no exercise is called " .. name)
end

--- What is said of an answer to an exercise.
local function judge(known, name, answer)
  local session = session_at(known, name)
  local ok, text = session:run(answer)
  assert(ok, text)
  return (exercise.text(known.exercises[name], exercise.check(session, known.exercises[name])):gsub(" %(source%.c:%d+%)", "")
    :gsub("stream %d+", "stream N"))
end

for i, row in ipairs(order) do
  local path, name = ("%s/%s.lua"):format(folder, row[1]), row[1]:sub(4)

  describe(("lesson %d, %s, %s"):format(i, name, row[2]), function()
    local known = lesson.lessons()[i]
    local absent = lacking(known)

    it("is in its place, with minutes, and speaks in short paragraphs", function()
      assert.equal(name, known.name)
      assert.is_true(known.minutes >= 3 and known.minutes <= 12)
      assert.is_true(#known.exercises >= 1 and #known.exercises <= 3)
      for _, step in ipairs(known.steps) do
        for _, text in ipairs(step) do assert.is_true(#text <= 420, text) end
      end
    end)

    it("runs as a script, prints what it says, and its exercises take their own answers and no empty ones", function()
      if absent then return pending(absent) end
      local output, good = run("lesson --check " .. path)
      assert.equal(("%s: sound, %d exercise%s\n"):format(path, #known.exercises, #known.exercises == 1 and "" or "s"), output)
      assert.is_true(good)
      output, good = run(path)
      assert.is_true(good, output)
      assert.equal(known.title, output:match "^(.-) %(")
      for _, asked in ipairs(known.exercises) do assert.matches(asked.answer, output, 1, true) end
    end)

    it("knows every exercise's answers", function()
      for _, asked in ipairs(known.exercises) do
        local list = answers[name][asked.name]
        assert.is_true(list and #list.right >= 1, asked.name .. " has no other right answer")
        if absent and asked.name ~= "add_mod" then return pending(absent) end
        assert.equal(asked.name .. ": right.", judge(known, asked.name, asked.answer))
        for _, right in ipairs(list.right) do assert.equal(asked.name .. ": right.", judge(known, asked.name, right)) end
        for wrong, text in pairs(list.wrong) do assert.equal(text, judge(known, asked.name, wrong)) end
      end
    end)

    it("does not know a name that was not set", function()
      for _, asked in ipairs(known.exercises) do
        local text = judge(known, asked.name, "")
        assert.equal(("%s: the name '%s' was never set"):format(asked.name, asked.name), text:match "^[^\n]*")
      end
    end)
  end)
end

describe("the usual mistakes", function()
  local function lesson_of(name) return assert(teacher.find(lesson.lessons(), name)) end

  --- The same answer's text for each of several ways to make one mistake: bodies of a handler r(x) -> (y).
  local function each(text, bodies)
    for _, body in ipairs(bodies) do
      local answer = ('rectify = ccw.bind "r(x: f32[n]) -> (y: f32[n])":to(function(x, y) %s end)'):format(body)
      assert.equal("rectify: " .. text, judge(lesson_of "destinations", "rectify", answer))
    end
  end

  it("names a name that was never set", function()
    each("the name 'limit' was never set\n" ..
      "  hint: set it first; a function sees its parameters, what the lesson made, and Lua's own names", {
      "for i = 1, #x do y[i] = math.max(limit, x[i]) end", "y:fill(limit)", "for i = 1, #x do y[i] = limit(x[i]) end",
      "local limit for i = 1, #x do y[i] = limit.low end" })
    each("the name 'prnt' was never set\n  hint: a slip of the pen? near: print", { "prnt(x)" })
    each("nothing is called 'maximum' there\n  hint: a slip of the pen? ?buffer and its like list what there is", {
      "for i = 1, #x do y[i] = math.maximum(0, x[i]) end", "y:fill(x:maximum())" })
  end)

  it("names an answer under another name", function()
    assert.equal("rectify: the name 'rectify' was never set\n  hint: near: rectfy",
      judge(lesson_of "destinations", "rectify", "local rectfy = 1"))
    assert.equal("rectify: the name 'rectify' was never set\n  hint: the answer is what rectify is set to: rectify = ...",
      judge(lesson_of "destinations", "rectify", "local something = 1"))
  end)

  it("names a value that a handler returned", function()
    local hint = "\n  hint: a handler returns nothing when all went well: it writes into its result, y[i] = ..."
    each("the handler returned a buffer, and nobody takes it" .. hint, { "return x", "return ccw.f32{1}", "local z = x:copy() return z",
      "y:fill(1) return y" })
    each("the handler returned a table, and nobody takes it" .. hint, { "return {1, 2}" })
    each("the handler returned a number, and nobody takes it" .. hint, { "return math.max(0, x[1] or 0)" })
    each("the handler returned 2 values, and nobody takes them" .. hint, { "return x, y" })
  end)

  it("names a result that was rebound instead of written", function()
    each("'y' was set to another value, and the result itself was not written\n" ..
      "  hint: y = ... only has the name mean something else: write into it, y[i] = ... or y:fill(...)", {
      "y = x", "y = ccw.array(x.type, 1)", "y = x:copy() for i = 1, #y do y[i] = math.max(0, y[i]) end",
      "y = {} for i = 1, #x do y[i] = 1 end" })
    assert.equal("rectify: 'out' was set to another value, and the result itself was not written\n" .. -- by its name in the function
      "  hint: out = ... only has the name mean something else: write into it, out[i] = ... or out:fill(...)",
      judge(lesson_of "destinations", "rectify", 'rectify = ccw.bind():arg "f32[n]":ret("f32[n]", "y"):to(function(x, out) out = x end)'))
  end)

  it("names a result that was not written", function()
    each("the result 'y' was not written: 7 of its 7 elements are what the memory held before\n" ..
      "  hint: write every element of it: for i = 1, #y do y[i] = ... end", { "", "local z = y z = x", "for i = 1, 0 do y[i] = 1 end" })
  end)

  it("names index 0", function()
    each("index 0: elements are counted from 1\n  hint: for i = 1, #x do ... end goes over all of them", {
      "for i = 0, #x - 1 do y[i] = math.max(0, x[i]) end", "y[0] = 1", "local first = x[0]", "for i = 1, #x do y[i] = x[i - 1] end" })
  end)

  it("names a write to an operand", function()
    each("the operand 'x' was written\n  hint: operands are the caller's, and read only: write into the result, y", {
      "for i = 1, #x do x[i] = math.max(0, x[i]) end", "x:fill(0)", "x.flat[1] = 0", "x:set_bytes(y:bytes())" })
  end)

  it("names a dot for a colon", function()
    local function text(name)
      return ("the method '%s' was called with a dot\n  hint: a colon hands the value over: x:%s(...)"):format(name, name)
    end
    each(text "fill", { "y.fill(0)" })
    each(text "copy", { "local z = x.copy()" })
    each(text "as", { 'local z = x.as("f64")' })
    each(text "bytes", { "y:set_bytes(x.bytes())" })
    each(text "to", { 'local z = x.to "host"' })
    for source, name in pairs {
      ['ccw.bind "r(x: f32[n]) -> (y: f32[n])".to(function(x, y) end)'] = "to", ['ccw.bind().arg "f32"'] = "arg",
      ['ccw.bind().stage "instantiate"'] = "stage", ['ccw.bind().attr("s32", "n")'] = "attr", ['ccw.bind().ctx "scratch"'] = "ctx",
      ['ccw.match.buffer("f32").with_rank(2)'] = "with_rank", ['ccw.match.buffer("f32").with_dims("n", "n")'] = "with_dims",
      ["ccw.match.buffer().like(ccw.f32{1})"] = "like", ["ccw.device('sim:0'):stream().sync()"] = "sync",
      ["ccw.promise().complete()"] = "complete",
    } do
      local _, message = pcall(load(source, "=answer", "t", { ccw = ccw }))
      assert.equal(text(name), table.concat({ exercise.diagnose(message) }, "\n  hint: "))
    end
  end)

  it("names a parameter too few, or too many", function()
    local function told(f)
      local _, message = pcall(function() return ccw.bind "r(x: f32[n], z: f32[n]) -> (y: f32[n])":to(f) end)
      return table.concat({ exercise.diagnose(message) }, "\n  hint: ")
    end
    local hint = "\n  hint: it gets all that the signature binds, in its order: function(x, z, y)"
    assert.equal("the function has a parameter too few: expected 3 (x, z, y), got 2" .. hint, told(function(x, y) return x, y end))
    assert.equal("the function has 2 parameters too few: expected 3 (x, z, y), got 1" .. hint, told(function(x) return x end))
    assert.equal("the function has a parameter too many: expected 3 (x, z, y), got 4" .. hint,
      told(function(a, b, c, d) return a, b, c, d end))
  end)

  it("names a result of the wrong shape", function()
    local hint = "\n  hint: the names of dims in the signature tie the result to the operands: give it the same ones"
    assert.equal("rectify: a result of the wrong shape: f32[m], and no operand says what m is" .. hint, judge(lesson_of "destinations",
      "rectify", 'rectify = ccw.bind "r(x: f32[n]) -> (y: f32[m])":to(function(x, y) y:fill(0) end)'))
    assert.equal("subtract: a result of the wrong shape: expected f32[2], got f32[4]" .. hint, judge(lesson_of "binding",
      "subtract", 'subtract = ccw.bind "s(a: f32[n], b: f32[n]) -> (c: f32[2])":to(function(a, b, c) c:fill(a[1] - b[1]) end)'))
  end)

  it("names a loop of the host over memory of a device, in Lua and in C", function()
    if player.lacks "a C++ compiler" then return pending "no C++ compiler is here" end
    local lua = "negate: a loop of the host over memory of a device\n" ..
      '  hint: what is on sim:0 is for kernels: launch one, or move the array first, x:to "host"'
    for _, body in ipairs { "for i = 1, #x do y[i] = -x[i] end", "for i, v in ipairs(x) do y[i] = -v end", "y:fill(-x[1])",
      "local sum = 0 for _, v in pairs(x) do sum = sum + v end" } do
      assert.equal(lua, judge(lesson_of "gpu-call", "negate",
        ('negate = ccw.bind "n(x: f32[n]) -> (y: f32[n])":to(function(x, y) %s end)'):format(body)))
    end
    if player.lacks "a C compiler" then return pending "no C compiler is here" end
    assert.equal("negate: a loop of the host over memory of a device\n" ..
      '  hint: the host cannot reach it: launch a kernel, or have the array on the host, x:to "host"',
      judge(lesson_of "gpu-call", "negate", [==[negate = ccw.compile [[
#include <ccw/handler.h>
CCW_HANDLER(negate, ARG(f32, 1, x), RET(f32, 1, y))
{
  for (int64_t i = 0; i < x.dims[0]; ++i) y.data[i] = -x.data[i];
  return ccw_ok();
}]].negate]==]))
  end)

  it("names a missing synchronisation, and has the device as it was", function()
    if player.lacks "a C++ compiler" then return pending "no C++ compiler is here" end
    local text = "twice: a missing synchronisation: launch of flip on stream N and launch of flip on stream N use the same memory\n" ..
      "  hint: wait between them: s:sync(), or t:wait(s:record()) for another stream"
    local launches = "flip{over = #x, args = {x, y, #x}, stream = s} %s flip{over = #x, args = {y, x, #x}, stream = t} %s"
    for _, wait in ipairs { "", "t:sync()", "s:wait(t:record())" } do -- of the three two wait for the wrong one
      assert.equal(text, judge(lesson_of "gpu-call", "twice",
        ("function twice(x, y, s, t) %s end"):format(launches:format(wait, "s:sync() t:sync()"))))
    end
    assert.equal("twice: a missing synchronisation: copy from device on stream N and launch of flip on stream N use the same memory\n" ..
      "  hint: wait between them: s:sync(), or t:wait(s:record()) for another stream", judge(lesson_of "gpu-call", "twice",
        ("function twice(x, y, s, t) %s end"):format(launches:format("s:sync()", ""))))
    assert.equal("f32[1] {1} on sim:0", tostring(ccw.f32{1}:to "sim:0"))
    assert.equal("twice: right.", judge(lesson_of "gpu-call", "twice", [==[
      local broken = ccw.kernel{name = "b", source = "__global__ void b(float *x) { x[threadIdx.x + 4096] = 1; }"} -- by the learner, before
      broken{grid = 1, args = {ccw.f32{1}:to "sim:0"}}
      function twice(x, y, s, t) flip{over = #x, args = {x, y, #x}, stream = s} s:sync()
        flip{over = #x, args = {y, x, #x}, stream = t} t:sync() end]==]))
  end)

  it("names what is no usual mistake by what it says, and gives no hint", function()
    each("prompt:1: far away", { "error 'far away'" })
    local before = exercise.time_limit
    exercise.time_limit = 0.2
    each("it does not come to an end\n  hint: what has to be so for its loop to stop?", { "while true do end" })
    exercise.time_limit = before
    assert.same({ "prompt:3: something else" }, { exercise.diagnose "prompt:3: something else" })
  end)
end)

describe("a lesson's file", function()
  local head = "--- A title  5 minutes\n"
  local good = 'lesson.ask{"y", try = function(y) return y end, answer = "y = 7"}\n'

  local function refused(text, source)
    local _, err = ccw.try(file.read, "week3.lua", source)
    assert.equal("INVALID_ARGUMENT", err and err.code)
    assert.equal("week3.lua:" .. text, err.message)
  end

  it("is told what it lacks, and in which line", function()
    refused([[1: expected the title of a lesson, --- TITLE  N minutes, got ""]], "")
    refused([[1: expected the title of a lesson, --- TITLE  N minutes, got "local x = 1"]], "local x = 1\n")
    refused([[1: expected the title of a lesson, --- TITLE  N minutes, got "--- Minutes are missing"]], "--- Minutes are missing\n")
    refused("4: unexpected symbol near '='", head .. "-- text\n\nx = = 1\n")
    refused("4: unexpected symbol near ')'", head .. "local function f()\n  local x\n  return )\nend\n")
    refused("3: the file ends in the middle of what begins here", head .. "-- text\nfor i = 1, 2 do\n  print(i)\n")
    refused("3: an output, with no code in front of it", head .. "-- text\n--> 4\n")
    refused("2: an exercise has no name, lesson.ask{NAME, ...}, under which its answer is looked for", head .. "lesson.ask{try = print}\n")
    refused("2: exercise 'y' has no answer, a text that sets y as it should be", head .. 'lesson.ask{"y", try = function() end}\n')
    refused("2: exercise 'y' has no try, a function that tries an answer", head .. 'lesson.ask{"y", answer = "y = 1"}\n')
    refused("2: exercise 'y': answer: expected a string, got number", head .. 'lesson.ask{"y", try = print, answer = 1}\n')
    refused("2: exercise 'y': no field is called 'hint'; near: hints",
      head .. 'lesson.ask{"y", try = function() end, answer = "", hint = {}}\n')
    refused("2: exercise 'print' has the name of something that is there already", head .. (good:gsub('"y"', '"print"')))
    refused("3: there is an exercise 'y' already", head .. good .. good)
    refused("2: an exercise is a table, lesson.ask{NAME, try = f, answer = text}", head .. "lesson.ask(7)\n")
  end)

  it("is checked: outputs, its own answers, and whether it takes anything", function()
    local function check(source)
      return (grader.play(file.read("week3.lua", source), function() end))
    end
    assert.same({}, check(head .. "print(1 + 1)   --> 2\n" .. good))
    assert.same({}, check(head .. "-- Guide: none\nfor i = 1, 2 do\n  print(i, i)\nend\n--> 1   1\n--> 2   2\n"))
    assert.same({ "week3.lua:3: expected\n3\ngot\n2" }, check(head .. "-- text\nprint(1 + 1) --> 3\n"))
    assert.same({ "week3.lua:2: expected\nnothing\ngot\n2" }, check(head .. "print(1 + 1)\n"))
    assert.same({ "week3.lua:2: expected\nnothing\ngot\nerror: prompt:1: 'nowhere' was never set" },
      check(head .. "local x = nowhere\n"))
    assert.same({ "week3.lua:2: exercise 'y': an empty answer is right, too" },
      check(head .. 'lesson.ask{"y", try = function() end, answer = "y = 1"}\n'))
    assert.same({ "week3.lua:2: exercise 'y': its answer does not set y" },
      check(head .. 'lesson.ask{"y", try = function(y) return y end, answer = "z = 1"}\n'))
    assert.same({ "week3.lua:2: exercise 'y': its answer fails: error: prompt:1: no" },
      check(head .. 'lesson.ask{"y", try = function(y) return y end, answer = "error \'no\'"}\n'))
    assert.same({ "week3.lua:2: exercise 'y': its own answer fails: prompt:1: bad" },
      check(head .. 'lesson.ask{"y", try = function() error "bad" end, answer = "y = 1"}\n'))
    assert.same({}, check(head .. 'lesson.ask{"y", try = function(y) return y() end, answer = "y = function() return {1} end"}\n'))
    assert.same({}, check(head .. 'lesson.ask{"y", try = function(y) local t = {y = y} t.t = t return t end, answer = "y = 1"}\n'))
    assert.same({ "week3.lua:2: expected\nnothing\ngot\nerror: prompt:1: bad argument #1 to 'numbers' (expected a type, \"f32[5]\", " ..
      "got \"f32\")" }, check(head .. 'lesson.numbers "f32"\n'))
  end)

  it("comes to an end when it is checked, and says so", function()
    local function check(source)
      return run("lesson --time-limit 0.2 --check " .. support.write("endless.lua", head .. source))
    end
    local endless = "NO END: still running after 0.2 seconds\n"
    assert.matches(endless, check "while true do end\n", 1, true)
    assert.matches("its answer fails: error: prompt:1: " .. endless,
      check 'lesson.ask{"y", try = function(y) return y end, answer = "while true do end"}\n', 1, true)
    assert.matches("its own answer fails: prompt:1: " .. endless,
      check 'lesson.ask{"y", try = function() while true do end end, answer = "y = 1"}\n', 1, true)
    local output, is_sound = check "os.exit(0)\n"
    assert.matches("error: prompt:1: a lesson does not end the program\n", output, 1, true)
    assert.is_false(is_sound)
  end)

  it("is sound where README.md shows one", function()
    local readme <close> = assert(io.open(support.root .. "/README.md"))
    local source = readme:read "a":match "\n```lesson\n(.-)\n```\n"
    local known = file.read("README.md", source)
    assert.same({}, (grader.play(known, function() end)))
    assert.equal(1, #known.exercises)
  end)

  it("says what it needs and is not here", function()
    local problems, lacks = grader.play(file.read("week3.lua", head .. "-- Needs: a time machine\nprint(1)\n"), function() end)
    assert.same({}, problems)
    assert.equal("the rest needs a time machine, and there is none here: nobody knows how to look for a time machine", lacks)
    local output, good_exit = support.sh(("CXX=/nowhere/c++ CCW_CACHE='%s/empty' '%s' lesson --check '%s/11-gpu-call.lua'"):format(
      support.temporary(), support.program, folder))
    assert.is_true(good_exit, output)
    assert.matches("the rest needs a C++ compiler, and there is none here: ", output, 1, true)
  end)
end)

describe("the guide's C++ in the lessons", function()
  local headers = support.root .. "/build/wheels/jaxlib-0.12.0.1/jaxlib/include"
  local wheels = os.getenv "CCW_WHEELS"
  if wheels then headers = wheels .. "/jaxlib-0.12.0.1/jaxlib/include" end

  --- Whether C++ compiles with the official headers, and what the compiler says.
  local function compiles(source)
    local path = support.write("guide.cc", source)
    local output, good = support.sh(("c++ -std=c++17 -fsyntax-only -I'%s' '%s'"):format(headers, path))
    return good, output
  end

  --- The lines of a lesson that are shown as they are.
  local function shown(name)
    local lines = {}
    for _, step in ipairs(assert(teacher.find(lesson.lessons(), name)).steps) do
      for _, text in ipairs(step) do
        if text == "" or text:find "^    " then lines[#lines + 1] = text end
      end
    end
    return table.concat(lines, "\n") .. "\n"
  end

  local absent = not support.exists(headers .. "/xla/ffi/api/ffi.h") and "the official headers could not be had"

  it("compiles as it was mended", function()
    if absent then return pending(absent) end
    local good, output = compiles(shown "variadics" .. shown "cpu-call")
    assert.is_true(good, output)
  end)

  it("does not compile as it is printed", function()
    if absent then return pending(absent) end
    local mistakes = {
      "Error f(ErrorOr<AnyBuffer> arg) { return Error(ErrorCode::kInternal, arg.error()); }",
      "auto g = Ffi::Bind().Ret<AnyBuffer>().To([](AnyBuffer) -> Error { return Error::Success(); });",
      "size_t h(BufferR1<F32> in) { return in.dimensions[0]; }",
      "auto i = Ffi::Bind().Arg<Buffer>();",
    }
    local good, output = compiles('#include "xla/ffi/api/ffi.h"\nusing namespace xla::ffi;\n' .. table.concat(mistakes, "\n") .. "\n")
    assert.is_false(good)
    for k, mistake in ipairs(mistakes) do
      assert.is_truthy(output:find(("guide.cc:%d:"):format(k + 2), 1, true), mistake .. " compiles")
    end
  end)
end)

describe("the guide's Python in the lessons", function()
  it("runs in JAX and prints what it says #jax", function()
    local python = (os.getenv "CCW_VENV" or support.build .. "/venv") .. "/jax-0.10.2/bin/python"
    if not support.exists(python) then return pending "JAX 0.10.2 could not be had" end
    local lines = {}
    for _, step in ipairs(assert(teacher.find(lesson.lessons(), "jax")).steps) do
      for _, text in ipairs(step) do lines[#lines + 1] = text:match "^    (.*)$" end
      if step[1] and step[1]:find "And here" then break end -- from there on it is Lua
    end
    local source = table.concat(lines, "\n"):gsub("\nccw%..*", ""):gsub("build/", support.build .. "/")
    local path = support.write("lesson.py", source .. "\n")
    assert.equal("[2. 4.]\n", (support.sh(("JAX_PLATFORMS=cpu '%s' '%s'"):format(python, path))))
  end)
end)

describe("ccw lesson", function()
  it("lists the lessons with minutes and the guide's headings", function()
    local output, good = run "lesson"
    assert.is_true(good)
    assert.matches("\n  3  destinations   7 min  Buffer Arguments And Results\n", output, 1, true)
    assert.matches("\n 14  stages         8 min  (beyond the guide)\n", output, 1, true)
    for i, row in ipairs(order) do assert.matches(("\n%3d  %s "):format(i, row[1]:sub(4)), "\n" .. output, 1, true) end
  end)

  it("brings them along, wherever it is", function()
    local output, good = support.sh(("cd / && env -u LUA_PATH -u LUA_CPATH '%s' lesson | wc -l && echo | '%s' lesson jax"):format(
      support.program, support.program))
    assert.is_true(good, output)
    assert.matches("JAX: the same handler there", output, 1, true)
  end)

  it("knows a lesson by number, name and file, and says what there is instead", function()
    for _, which in ipairs { "3", "destinations", folder .. "/03-destinations.lua" } do
      local output, good = support.sh(("echo | '%s' lesson '%s'"):format(support.program, which))
      assert.is_true(good)
      assert.matches("Destinations: where does a result go?", output, 1, true)
    end
    assert.equal("ccw: there is no lesson 17; there are 1 to 16; ccw lesson lists them\n", (run "lesson 17"))
    assert.equal("ccw: no lesson is called 'pattern'; near: patterns; ccw lesson lists them\n", (run "lesson pattern"))
    assert.equal("ccw: cannot read 'nowhere.lua': No such file or directory\n", (run "lesson nowhere.lua"))
    assert.equal(2, select(3, os.execute(("'%s' lesson 17 2>&1"):format(support.program) .. " >/dev/null")))
  end)

  --- What the program says to lines in a pipe.
  local function talk(which, lines, columns)
    local path = support.write("typed", table.concat(lines, "\n") .. "\n")
    return (support.sh(("env COLUMNS=%d '%s' lesson %s < '%s'"):format(columns or 80, support.program, which, path)))
  end

  it("teaches in a pipe: text, code that ran, an exercise, hints, the answer, and what is right", function()
    local output = talk("2", { "oops", ":next", "err.code", ":next", ":next", ":next", ":hint", ":next", "roots = 7", "other = 1",
      "root = 7", ":hint", ":hint",
      'root = ccw.bind "root(x: f32[n]) -> (y: f32[n])":to(function(x, y)', "for i, v in ipairs(x) do", "y[i] = v ^ 0.5", "end", "end)",
      ':next', 'local root = ccw.bind "root(x: f32[n]) -> (y: f32[n])":to(function(x, y)', "for i, v in ipairs(x) do",
      "if v < 0 then return nil, 'below zero' end", "y[i] = v ^ 0.5", "end", "end)", ":next", ":lessons", ":again" })
    local at = 1
    for _, text in ipairs {
      "Lesson 2. Errors: how does a handler say no?\n6 minutes. In XLA's guide: Returning Errors From Custom Calls.\n",
      "\nA handler succeeds or fails.", "\nccw> print(err.code, err.handler, err.stage)\nINTERNAL\toops\texecute\n(:next goes on)\n",
      "oops()", "\"INTERNAL\"\n", "Try first with an empty array", "\nYour turn. Write `root`", "hint: look at all elements first",
      "root: the name 'root' was never set\n  hint: the answer is what root is set to: root = ...\n:hint helps, :skip passes it.\n",
      "root: the name 'root' was never set\n  hint: near: roots\nroot: expected a handler, got a number\n" ..
      "  hint: ccw.bind \"...\":to(function(...) ... end) makes a handler\n",
      "hint: return nil, \"below zero\" ends",
      "One answer:\nroot = ccw.bind \"root(x: f32[n]) -> (y: f32[n])\":to(function(x, y)\n",
      "root: root(f32[6] {2, 6, 5, 8, 9, -1}): it should have failed, with INTERNAL,\n  and did not\n",
      "root: right. :next goes on.\n", "That was the lesson. :next begins the next one, \"Destinations: where does a\nresult go?\".\n",
      "> 2  errors", "Lesson 2. Errors: how does a handler say no?\n" } do
      local first, last = output:find(text, at, true)
      assert(first, ("%s does not follow in\n%s"):format(text, output:sub(at)))
      at = last
    end
  end)

  it("passes exercises, goes to other lessons, and marks what was done", function()
    local output = talk("enums", { ":skip", ":skip", ":skip", ":skip", ":skip", ":lessons", ":lessons 12", ":lessons nowhere",
      ":hint", ":lesson", ":lessons" })
    assert.matches("That was the lesson. :next begins the next one", output, 1, true)
    assert.matches("\n> 8  enums", output, 1, true)
    assert.matches("\n+ 8  enums", output, 1, true)
    assert.matches("Lesson 12. Tuples: lists of arrays", output, 1, true)
    assert.matches("no lesson is called 'nowhere'\n", output, 1, true)
    assert.matches("There is no exercise open; :next goes on.\n", output, 1, true)
    assert.matches("error: no command is called ':lesson'; near: :lessons\n", output, 1, true)
  end)

  it("needs its own name for itself, whatever the learner calls so", function()
    assert.matches("triple: t(f32[5] {-9, 8, 7, 8, 4}): expected", talk("binding", { "local lesson = 5", ":next", ":next", ":next", ":next",
      ":next", 'triple = ccw.bind "t(x: f32[n]) -> (y: f32[n])":to(function(_, y) y:fill(0) end)' }), 1, true)
  end)

  it("says what an error means, also between exercises", function()
    assert.matches("error: prompt:1: bad argument #1 to 'to' (expected a function of 1 parameter (x), got one of 0)\n" ..
      "the function has a parameter too few: expected 1 (x), got 0\n" ..
      "  hint: it gets all that the signature binds, in its order: function(x)\n",
      talk("1", { 'ccw.bind "f(x: f32[n])":to(function() end)' }), 1, true)
  end)

  it("keeps its words to the width of the terminal, 40 columns too", function()
    for i, row in ipairs(order) do
      local many = {}
      for k = 1, 20 do many[k] = ":skip" end
      for line in talk(row[1]:sub(4), { table.unpack(many, 1, i < 16 and 6 or 20) }, 40):gmatch "[^\n]+" do
        local is_prose = line:find "^%u[%l']+ " and not line:find "[{}]"
        if is_prose then assert.is_true(utf8.len(line) <= 40, line) end
      end
    end
    for line in support.sh(("COLUMNS=40 '%s' lesson"):format(support.program)):gmatch "[^\n]+" do assert.is_true(#line <= 40, line) end
  end)

  it("teaches a teacher's own", function()
    local path = support.write("week3.lua", "--- My own  3 minutes\n-- Welcome.\nprint(6 * 7) --> 42\n" ..
      'lesson.ask{"y", try = function(y) return y end, answer = "y = 7"}\n')
    local output = talk(path, { "y = 8", "y = 7", ":next", ":next" })
    assert.equal("My own\n3 minutes.\n:next goes on, :hint helps, :skip passes an exercise, :again starts over,\n" ..
      ":lessons lists all, Ctrl-D leaves. Else this is the prompt.\n\nWelcome.\nccw> print(6 * 7)\n42\n" ..
      "y: expected 7, got 8\ny: right. :next goes on.\n" ..
      "That was the lesson. Ctrl-D leaves.\nThat was the last one. Ctrl-D leaves.\n", output)
    assert.equal("My own (3 minutes)\n\nWelcome.\n\nprint(6 * 7)\n42\n\ny = 7\n", (run(path)))
    local broken = support.write("week4.lua", "--- My own  3 minutes\nprint(\n")
    assert.equal(("ccw: %s:2: the file ends in the middle of what begins here\n"):format(broken), (run("lesson " .. broken)))
    assert.equal(("ccw: %s:2: the file ends in the middle of what begins here\n"):format(broken), (run(broken)))
  end)
end)

describe("ccw lesson --check", function()
  --- Grades a file of answers; what it prints, and the exit code.
  local function grade(text, more)
    local path = support.write("mine.lua", text)
    local output = support.sh(("'%s' lesson --check '%s' %s; echo \"exit $?\""):format(support.program, path, more or ""))
    return (output:gsub(path:gsub("%p", "%%%0"), "mine.lua"))
  end
  local head = "-- Answers to ccw lesson destinations\n"
  local rectify = 'rectify = ccw.bind "r(x: f32[n]) -> (y: f32[n])":to(function(x, y) for i = 1, #x do y[i] = math.max(0, x[i]) end end)\n'
  local reverse = 'local reverse = ccw.bind "r(x: f32[n]) -> (y: f32[n])":to(function(x, y) ' ..
    'for i, v in ipairs(x) do y[#x - i + 1] = v end end)\n'

  it("grades answers, with an exit code", function()
    assert.equal("rectify: right.\nreverse: right.\n2 of 2 right\nexit 0\n", grade(head .. rectify .. reverse))
    assert.equal("rectify: right.\nreverse: right.\n2 of 2 right\nexit 0\n", grade(rectify .. reverse, "3"))
    assert.equal("rectify: right.\nreverse: the name 'reverse' was never set\n" ..
      "  hint: the answer is what reverse is set to: reverse = ...\n" ..
      "1 of 2 right\nexit 1\n", grade(head .. rectify))
  end)

  it("names mistakes in answers by their places in the file", function()
    assert.equal("rectify: mine.lua:3: too hard\nreverse: right.\n1 of 2 right\nexit 1\n",
      grade(head .. reverse .. 'rectify = ccw.bind "r(x: f32[n]) -> (y: f32[n])":to(function(x, y) error "too hard" end)\n'))
    assert.equal("error: mine.lua:3: bad argument #1 to 'to' (expected a function of 2 parameters (x, y), got one of 1)\n" ..
      "  the function has a parameter too few: expected 2 (x, y), got 1\n" ..
      "  hint: it gets all that the signature binds, in its order: function(x, y)\n" ..
      "rectify: right.\nreverse: the name 'reverse' was never set\n  hint: the answer is what reverse is set to: reverse = ...\n" ..
      "1 of 2 right\nexit 1\n", grade(head .. rectify .. 'reverse = ccw.bind "r(x: f32[n]) -> (y: f32[n])":to(function(x) end)\n'))
    assert.matches("error: mine.lua:2: unexpected symbol near '='", grade(head .. "reverse = = 1\n"), 1, true)
    local path = support.write("100%1.lua", head .. "error 'no'\n")
    assert.matches("error: " .. path .. ":2: no\n", (run(("lesson --check '%s'"):format(path))), 1, true)
  end)

  it("is not ended by an answer", function()
    assert.matches("^error: mine.lua:2: an answer does not end the program\n.*\n0 of 2 right\nexit 1\n$", grade(head .. "os.exit(0)\n"))
    assert.matches("^error: mine.lua:3: NO END: still running after 0.2 seconds\n  it does not come to an end\n  hint: [^\n]*\n.*\n" ..
      "1 of 2 right\nexit 1\n$", grade(head .. rectify .. "while true do end\n", "--time-limit 0.2"))
    assert.matches("^error: mine.lua:2: an answer does not end the program\n", grade(head .. "require 'os'.exit(0)\n"))
    assert.matches("^error: mine.lua:2: stack overflow\n", grade(head .. "local function f() return f() + 1 end f()\n"))
    for _, loop in ipairs {
      "coroutine.wrap(function() while true do end end)()",
      "while true do coroutine.resume(coroutine.create(function() while 1 do end end)) end",
      "while true do pcall(function() while true do pcall(error) end end) end",
    } do
      local endless = 'rectify = ccw.bind "r(x: f32[n]) -> (y: f32[n])":to(function(_, _) ' .. loop .. " end)\n"
      assert.equal("rectify: it does not come to an end\n  hint: what has to be so for its loop to stop?\nreverse: right.\n" ..
        "1 of 2 right\nexit 1\n", grade(head .. endless .. reverse, "--time-limit 0.2"))
    end
  end)

  it("takes what editors and shells put in front", function()
    assert.equal("rectify: right.\nreverse: right.\n2 of 2 right\nexit 0\n", grade("\xEF\xBB\xBF" .. head .. rectify .. reverse))
    assert.equal("rectify: right.\nreverse: right.\n2 of 2 right\nexit 0\n", grade("#!/bin/ccw\n" .. rectify .. reverse, "3"))
  end)

  it("says when there is nothing that it could grade", function()
    assert.equal("ccw: mine.lua:1: expected a lesson, --- TITLE  N minutes, or -- Answers to ccw lesson NAME\nexit 2\n", grade(rectify))
    assert.equal("ccw: no lesson is called 'destination'; near: destinations; ccw lesson lists them\nexit 2\n",
      grade("-- Answers to ccw lesson destination\n"))
  end)

  it("takes a sheet, which is empty first", function()
    local sheet = run "lesson destinations --sheet"
    assert.equal("-- Answers to ccw lesson destinations: Destinations: where does a result go?\n" ..
      "-- ccw lesson --check THIS-FILE grades them.\n\n" ..
      "-- Your turn. Write `rectify`: x: f32[n] to y: f32[n], what is below 0 becomes 0, all else stays.\nrectify = nil\n\n" ..
      "-- And `reverse`: x: f32[n] to y: f32[n], from the last element to the first.\nreverse = nil\n", sheet)
    assert.matches("\n0 of 2 right\nexit 1\n", grade(sheet), 1, true)
    assert.equal("rectify: right.\nreverse: right.\n2 of 2 right\nexit 0\n",
      grade((sheet:gsub("rectify = nil\n", function() return rectify end):gsub("reverse = nil\n", function() return reverse end))))
  end)
end)

describe("a lesson at a terminal", function()
  local socket

  local function tmux(arguments) return support.sh(("tmux -L %s -f /dev/null %s"):format(socket, arguments)) end
  local function screen() return (tmux "capture-pane -p -S - -t 0") end

  --- Waits until the screen shows a text, and fails after many looks.
  local function wait_for(text)
    for _ = 1, 400 do
      if screen():find(text, 1, true) then return end
      os.execute "sleep 0.05"
    end
    error("the screen does not show " .. text .. ":\n" .. screen(), 2)
  end

  local function type_line(line) tmux("send-keys -t 0 -l '" .. line:gsub("'", "'\\''") .. "'") tmux "send-keys -t 0 Enter" end

  teardown(function() if socket then tmux "kill-server" end end)

  it("is taught from its head to its end", function()
    if not support.sh "tmux -V":find "^tmux" then return pending "tmux is not here" end
    socket = "ccw-lesson-" .. tostring({}):match "0x(%x+)"
    local command = ("env COLUMNS=72 XDG_STATE_HOME='%s/state' '%s' lesson 3; cat"):format(support.temporary(), support.program)
    tmux(("new-session -d -x 72 -y 40 \"%s\""):format(command))
    wait_for "(:next goes on)\nccw>"
    assert.matches("The handler\nwrites there. This is destination passing.", screen(), 1, true) -- at 72 columns
    type_line "here"
    wait_for "ccw> here\nf32[3] {1, 2, 3}"
    type_line ":next"
    wait_for "DATA_LOSS: lazy: execute: result 0 'y'"
    type_line ":next"
    wait_for "arg 0 'x': operands are read only"
    type_line ":next"
    wait_for "Try to write halve"
    type_line ":next"
    wait_for "Your turn. Write `rectify`"
    type_line [[rectify = ccw.bind "r(x: f32[n]) -> (y: f32[n])":to(function(x, y) y = x end)]]
    wait_for "rectify: 'y' was set to another value"
    type_line ":hint"
    wait_for "hint: every element has to be written"
    type_line [[rectify = ccw.bind "r(x: f32[n]) -> (y: f32[n])":to(function(x, y)]]
    type_line "while true do end"
    type_line "end) print(\"ty\" .. \"ped\")"
    wait_for "\ntyped"
    tmux "send-keys -t 0 C-c" -- ends the check of it
    wait_for "interrupted"
    type_line [[rectify = ccw.bind "r(x: f32[n]) -> (y: f32[n])":to(function(x, y)]]
    type_line "for i = 1, #x do y[i] = math.max(0, x[i]) end end)"
    wait_for "rectify: right. :next goes on."
    type_line ":next"
    wait_for "And `reverse`"
    type_line ":skip"
    wait_for "That was the lesson. :next begins the next one"
    type_line ":next"
    wait_for "Lesson 4. Buffers: any, of a dtype, of a rank"
    tmux "send-keys -t 0 C-d"
  end)
end)

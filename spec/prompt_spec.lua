-- The prompt: what it answers, and how it behaves at a terminal.
require "ccw"
local repl = require "ccw.repl"
local support = require "spec.support"

describe("the prompt", function()
  local session

  before_each(function() session = repl.session() end)

  --- What the prompt answers to lines, each a chunk of its own; the last answer.
  local function answer(...)
    local text
    for _, source in ipairs { ... } do text = select(2, session:answer(source)) end
    return text
  end

  it("shows the values of expressions", function()
    assert.equal("3", answer "1 + 2")
    assert.equal("1\t\"two\"\tnil", answer "1, 'two', nil")
    assert.equal("", answer "local x = 1")
    assert.equal('{1, 2, name = "x", [true] = {}}', answer "{1, 2, name = 'x', [true] = {}}")
    assert.equal("f32[2] {1, 2}", answer 'ccw.array("f32[2]", {1, 2})')
    assert.equal('"a\\n\\x00\\"b"', answer '"a\\n\\0\\"b"')
  end)

  it("keeps top-level locals, as variables and not as copies", function()
    assert.equal("3", answer("local x = 1", "local function f() x = x + 1 return x end", "f()", "f()"))
    assert.equal("10", answer("x = 10", "x"))
    assert.equal("11", answer "f()")
    assert.equal("1\t2", answer("local a, b <const> = 1, 2", "a, b"))
    assert.equal("5", answer("local x = 5", "x")) -- a new variable of the name
    assert.equal("12", answer "f()") -- which the function does not know
    assert.equal("7", answer("local y = 7 return y", "y"))
    assert.is_nil(rawget(_G, "x"))
  end)

  it("takes apart what is local to a block and what is not", function()
    answer("do local hidden = 1 end", "for i = 1, 2 do local inner = i end", "local t = {['local z'] = 1} -- local c = 2",
      "local s = [[\nlocal long = 1]]", "if true then local within = 1 end", "local function g(...) local deep = ... return deep end",
      "local h = function() local deeper = 1 end repeat local r = 1 until r")
    for _, name in ipairs { "hidden", "inner", "c", "long", "within", "deep", "deeper", "r" } do
      assert.equal(("error: prompt:1: '%s' was never set"):format(name), (answer(name):gsub("; near: .*", "")))
    end
    assert.equal("4", answer "g(4)")
  end)

  it("does not know a name that was never set, and says what is near", function()
    assert.equal("error: prompt:1: 'prnt' was never set; near: print", answer "prnt(1)")
    assert.equal("error: prompt:1: 'matrx' was never set; near: matrix", answer("local matrix = 1", "matrx + 1"))
    answer "global_one = 1"
    assert.equal("1", answer "global_one")
    assert.equal("error: prompt:1: 'help' was never set; ?name explains a name, ? alone lists them", answer "help")
    assert.equal("error: prompt:1: 'exit' was never set; Ctrl-D leaves", answer "exit")
    _G.global_one = nil
  end)

  it("shows the error of a statement whose call failed", function()
    assert.equal("error: INVALID_ARGUMENT: type: expected '[', as in f32[] and f32[2,3], got the end\n  f32\n     ^",
      answer 'local y = ccw.array("f32")')
    assert.equal("error: prompt:1: bad argument #1 to 'array' (expected a string, got number)", answer "ccw.array(1)")
    assert.equal("error: prompt:1: unexpected symbol near '+'", answer "+")
    assert.equal("error: prompt:2: deep\n  prompt:2: in inner\n  prompt:1: in outer\n  prompt:1: in the chunk",
      answer("local function inner()\n error 'deep' end", "local function outer() inner() return 1 end", "outer()"))
  end)

  it("goes on when showing a value fails", function()
    assert.equal("error: prompt:1: no text", answer "setmetatable({}, {__tostring = function() error 'no text' end})")
    assert.equal("error: prompt:1: no text", answer(
      "local x = setmetatable({}, {__tostring = function() error 'no text' end})", "?x"))
    assert.equal("error: 1", answer "setmetatable({a = 1}, {__index = function(_, name) error(name) end})")
    assert.equal("{}", answer "setmetatable({}, {__metatable = true})")
    assert.equal("NOT_FOUND: nil", answer("local e = select(2, ccw.try(ccw.load, 'nowhere'))", "e.message = nil", "e"))
    assert.equal("closed library", answer("local lib = ccw.load '" .. support.kernels .. "'", "lib:close()", "lib"))
  end)

  it("goes on when the user's globals have the names of Lua's own", function()
    local code = [[
      type, print, next, pairs, table, string, error, pcall = "f32[2]", 1, 2, 3, {}, {}, 4, 5
      local list = {a = 1}
      list
      nothing
      ccw.f32{1, 2}
      ccw.f32{1, {}}
      ?buffer:fill
      _G = nil
      ccw.load "nowhere"
    ]]
    local output = support.sh(("printf '%%s' '%s' | '%s'"):format(code:gsub("'", "'\\''"), support.program))
    assert.equal("{a = 1}\nerror: prompt:1: 'nothing' was never set\nf32[2] {1, 2}\n" ..
      "error: prompt:1: bad argument #1 to 'f32' ([2]: expected number, got table)\n" ..
      "buffer:fill(number) -> buffer.\nEvery element becomes the number.\n" ..
      "error: NOT_FOUND: nowhere: no such file, and no library of that name\n", output)
  end)

  it("takes what leaves no place for its own words", function()
    assert.equal("", answer "local a = 1 goto done local b = 2 ::done::")
    assert.equal("", answer "local _ENV = {}")
    assert.equal("3", answer "1 + 2")
  end)

  it("takes statements that look like expressions, and comments", function()
    assert.equal("", answer "tostring(1);")
    assert.equal("3", answer "1 + 2 -- three")
    assert.equal("3", answer "--[[ three ]] 1 + 2")
    assert.equal("", answer "-- nothing")
    assert.equal("[[\ntwo\nlines]]", answer "'two\\nlines'")
  end)

  it("steps through official handlers, and outlives those that throw, overrun and answer late #plain", function()
    local versions, overruns = support.library "versions_0.12.0.1", support.library "overruns"
    if not (support.exists(versions) and support.exists(overruns)) then return pending "built with gcc where the headers could be had" end
    local code = ([[
      lib = ccw.load %q
      lib:type "Counter"
      stages = {instantiate = lib.CounterInstantiate, execute = lib.CounterExecute}
      call = ccw.prepare(stages, {}, "s64[1]", {start = 5}, {stages = "by hand"})
      call:stage "execute"
      call:explain "instantiate":match "stage +(%%d %%a+)"
      call:stage "instantiate"
      call:stage "execute"
      call:stage "execute"
      x = ccw.array("f32[1]", 3)
      ccw.call(lib.Throws, {}, "f32[1]", {what = 0})
      ccw.prepare(lib.Later, {x}, "f32[1]"):start():wait()
      over = ccw.load %q
      ccw.call(over.WritePast, {x}, "f32[1]")
      6 * 7
    ]]):format(versions, overruns)
    local output = support.sh(("printf '%%s' '%s' | '%s'"):format(code:gsub("'", "'\\''"), support.program))
    assert.equal([[
"Counter"
error: FAILED_PRECONDITION: CounterExecute: its stage instantiate has not run
"0 instantiate"
s64[1] {5}
s64[1] {6}
error: UNKNOWN: Throws: execute: C++ exception: boom
f32[1] {5}
error: OUT_OF_RANGE: WritePast: execute: result 0: written past its end, element 2 of 1, in write_past (overruns.cc:N)
42
]], (output:gsub("cc:%d+", "cc:N")))
  end)

  it("asks for more when something is missing at the end", function()
    for _, source in ipairs { "1 +", "f(", "{1,", "a.b.", "if a", "for i = 1, 2 do", "x = [[", "function f()", "local x =" } do
      assert.equal("more", repl.classify(source), source)
    end
    assert.equal("expression", repl.classify "1 + 1")
    assert.equal("statement", repl.classify "x = 1")
    assert.is_nil(repl.classify "x = = 1")
  end)

  it("explains options one by one", function()
    assert.matches("\n- checked: run the handler on copies of operands and results", answer "?options", 1, true)
    assert.matches("^option stages: which stages run, in their order", answer "?stages")
  end)

  it("explains names", function()
    assert.matches("^ccw.array%(type %[, source%]%) %-> buffer.\nAn array of that type", answer "?ccw.array")
    assert.matches("^ccw.array%(type", answer "? array")
    assert.matches("^buffer:fill%(number%) %-> buffer.\nEvery element", answer "?x:fill")
    assert.matches("^ccw.f32%(number%)", answer "?bf16")
    assert.matches("^f32%[1%] {1}\nbuffer: an array in memory", answer("local x = ccw.f32{1}", "?x"))
    for _, kind in ipairs { "buffer", "type", "scalar", "attributes", "handler", "library", "call", "error" } do
      assert.matches(kind, answer("?" .. kind), 1, true)
    end
    assert.matches("call: a call that was prepared", answer "?call", 1, true)
    for line in answer "?ccw.call":gmatch "[^\n]+" do assert.is_true(#line <= 80, line) end
    assert.equal("nothing is known of 'aray'; near: array", answer "?aray")
    assert.matches("?name explains one of the functions: array, array_from_text,\nattribute_from_text, ", answer "?", 1, true)
    assert.equal("5", answer("local five = 5", "?five"))
  end)

  it("has a text for everything that people can call", function()
    local core, reference = require "ccw.core", require "ccw.reference"
    local ccw = require "ccw"
    local missing = {}
    for name, value in pairs(ccw) do
      local dtype = core.dtypes()[name]
      if type(value) == "function" and not dtype and not reference["ccw." .. name] then missing[#missing + 1] = name end
    end
    for name in pairs(core.buffer_metatable.methods) do
      if not reference["buffer:" .. name] then missing[#missing + 1] = "buffer:" .. name end
    end
    for name in pairs(core.call_metatable.__index) do
      if not reference["call:" .. name] then missing[#missing + 1] = "call:" .. name end
    end
    for name in pairs(core.library_metatable.methods) do
      if not reference["library:" .. name] then missing[#missing + 1] = "library:" .. name end
    end
    assert.same({}, missing)
  end)

  it("completes names, fields, methods and targets", function()
    local function complete(text)
      local insertion, list = session:complete(text)
      return insertion .. (list and " of " .. #list or "")
    end
    assert.equal("nt", complete "pri")
    assert.equal("ay", complete "ccw.arr")
    assert.equal("t", complete "x = string.forma")
    answer("local matrix = ccw.array('f32[2,2]')", "local lib = ccw.load '" .. support.kernels .. "'")
    assert.equal("ix", complete "matr")
    assert.equal("ill", complete "matrix:f")
    assert.equal("shape", complete "matrix:re")
    assert.equal("at", complete "matrix.fl")
    assert.equal("", complete "matrix:fl")
    assert.equal("le", complete "ccw.call(lib.sca")
    answer "ccw.register('complete_me', lib.scale)"
    assert.equal("lete_me", complete "ccw.call(\"comp")
    assert.equal("", complete "nothing.here.")
    assert.equal("", complete "zzz")
    local _, list = session:complete "ccw.s"
    table.sort(list)
    assert.same({ "s1", "s16", "s2", "s32", "s4", "s64", "s8", "shard", "signature" }, list)
    assert.equal("", (session:complete "lib.scale("))
  end)
end)

describe("the prompt at a terminal", function()
  local state, socket

  local function tmux(arguments) return support.sh(("tmux -L %s -f /dev/null %s"):format(socket, arguments)) end
  local function screen() return (tmux "capture-pane -p -t 0") end
  local function type_in(...) for _, keys in ipairs { ... } do tmux("send-keys -t 0 " .. keys) end end

  --- Waits until the screen shows a text, and fails after many looks.
  local function wait_for(text)
    for _ = 1, 400 do
      if screen():find(text, 1, true) then return end
      os.execute "sleep 0.05"
    end
    error("the screen does not show " .. text .. ":\n" .. screen(), 2)
  end

  --- A terminal with a prompt of its own; a server that is ending takes no new session, so that each has its server.
  local function start()
    if socket then tmux "kill-server" end
    socket = "ccw-spec-" .. tostring({}):match "0x(%x+)"
    tmux(("new-session -d -x 100 -y 40 \"env XDG_STATE_HOME='%s' '%s'; cat\""):format(state, support.program))
    wait_for "ccw>"
  end

  setup(function()
    state = support.temporary() .. "/state"
  end)

  teardown(function() if socket then tmux "kill-server" end end)

  it("edits, completes, remembers and comes back from Ctrl-C", function()
    if not support.sh "tmux -V":find "^tmux" then return pending "tmux is not here" end
    start()
    wait_for "?name for help"
    type_in("-l 'local x = ccw.array(\"f32[2]\", {1, 2})'", "Enter")
    wait_for "{1, 2})\nccw>\n" -- what is typed before the prompt is there goes through the terminal's own editing
    type_in("-l 'x:rever'", "BSpace", "BSpace", "BSpace", "-l 's'", "Tab")
    wait_for "x:reshape"
    type_in("-l '\"f32[2,1]\"'", "Enter")
    wait_for "f32[2,1] {{1}, {2}}"

    type_in("-l 'for i = 1, 2 do'", "Enter")
    wait_for "   >"
    type_in("-l '  print(\"line \" .. i)'", "Enter", "-l 'end'", "Enter")
    wait_for "line 2"
    type_in("C-p") -- the loop is one entry
    wait_for "ccw> for i = 1, 2 do"
    type_in("C-c")
    wait_for "end\nccw>\n"

    type_in("-l 'half of a line'")
    wait_for "half of a line"
    type_in("C-c", "-l '6 * 7'", "Enter")
    wait_for "42"
    type_in("-l 'print \"busy\" while true do end'", "Enter")
    wait_for "\nbusy"
    type_in("C-c")
    wait_for "interrupted"
    type_in("-l '6 * 8'", "Enter")
    wait_for "48"
    type_in([[-l 'ccw.call(ccw.bind "f()":to(function() print("be" .. "gun") while true do end end), {}, "()")']], "Enter")
    wait_for "begun" -- a handler in Lua, too
    type_in("C-c")
    type_in("-l '6 * 10'", "Enter")
    wait_for "60"
    type_in(("-l 'r = ccw.load %q'"):format(support.library "runtime"), "Enter")
    type_in("-l 'f = ccw.prepare(r.later, {x}, {x:copy()}, {slot = 0})'",
      "Enter", "-l 'print(\"wai\" .. \"ting\") f()'", "Enter") -- for a future that nobody completes
    wait_for "\nwaiting"
    type_in("C-c")
    wait_for "waiting\n^Cerror"
    type_in("-l 'ccw.call(r.finish, {}, \"()\", {slot = 0, code = 0}) print(\"fin\" .. \"ished\")'", "Enter")
    wait_for "finished"
    type_in([[-l 'k = ccw.kernel{name = "f", source = "__global__ void f(volatile int *x) { while (1) *x = 0; }"}']], "Enter",
      [[-l 'ccw.device("sim:0", {time_limit = 0})']], "Enter", [[-l 'a = ccw.s32{1}:to "sim:0" k{grid = 1, args = {a}}']], "Enter",
      [[-l 'print("ker" .. "nel") ccw.device "sim:0":sync()']], "Enter") -- a kernel that never ends
    wait_for "\nkernel"
    type_in("C-c")
    wait_for "kernel\n^Cerror"
    type_in([[-l 'ccw.device "sim:0":reset() print("re" .. "set")']], "Enter")
    wait_for "\nreset"

    type_in("-l 'ccw.s'", "Tab")
    wait_for "s1  s16  s2  s32  s4  s64  s8"
    type_in("C-c", "C-d")
    start()
    type_in("C-p") -- the history of the run before
    wait_for "\"set\")"
    type_in("C-c", "C-d")

    local file <close> = assert(io.open(state .. "/ccw/history", "ab"))
    file:write("\\q\0", ("\xff"):rep(1000), "\n") -- what libedit cannot read
    file:close()
    start()
    type_in("-l '6 * 9'", "Enter")
    wait_for "54"
  end)
end)

-- The prompt: what it answers. How it behaves at a terminal is in terminal_spec.
local ccw = require "ccw"
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
    assert.matches("^error: prompt:1: stack overflow\n  prompt:1: in f\n.*\n  prompt:1: in f\n  %.%.%.$",
      answer "local function f() return f() + 1 end f()") -- soon, though it was deep
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
    assert.matches("?name explains one of the functions: array, array_from_text,\nattribute_from_text, attribute_text, attrs",
      answer "?", 1, true)
    assert.equal("5", answer("local five = 5", "?five"))
  end)

  it("has a text for everything that people can call", function()
    local core, reference = require "ccw.core", require "ccw.reference"
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

  it("has a name for the last result, and for the two before it", function()
    assert.equal("error: prompt:1: '_' was never set; it is the last result, once there is one", answer "_")
    assert.equal("3", answer("1 + 1", "_ + 1"))
    assert.equal("{3, 2}", answer "{_, _1}")
    assert.equal("2", answer("nil", "local x = 5", "x = 6", "_[2]")) -- what gives nothing leaves it as it was
    assert.equal("f32[2] {1, 2}\nbuffer: an array", answer("ccw.f32{1, 2}", "?_"):sub(1, 30))
    assert.equal("ill", (session:complete "_:f"))
    assert.equal("f32[2] {1, 2}", answer("local _, err = ccw.try(ccw.load, 'nowhere')", "_")) -- a local of that name is the line's own
    assert.equal("9", answer("_ = 9", "1", "_")) -- a global is the user's
    _G._ = nil
  end)

  it("says what may have been meant where there is nothing to call", function()
    assert.equal("error: prompt:1: attempt to call a nil value (field 'lod'); near: load", answer "ccw.lod 'x'")
    assert.equal("error: prompt:1: attempt to call a nil value (method 'fil'); near: fill", answer "ccw.f32{1}:fil(2)")
    assert.equal("error: prompt:1: attempt to call a nil value (method 'zzz')", answer "ccw.f32{1}:zzz()")
  end)

  describe("commands", function()
    before_each(function() answer("lib = ccw.load '" .. support.kernels .. "'", "x = ccw.f32{1, 2}") end)
    after_each(function() _G.lib, _G.x = nil, nil end)

    --- A pattern in which TIME stands for a time.
    local function timed(pattern) return (pattern:gsub("TIME", "[%%d.]+ [mnu\xC2\xB5]*s")) end

    it("are listed, each with what it does", function()
      local text = answer ":help"
      assert.matches("^:help +lists the commands; %?name explains a name, %? alone lists those\n:load FILE ", text)
      for name in pairs(session.commands) do assert.matches("\n:" .. name .. " ", "\n" .. text, 1, true) end
      for line in text:gmatch "[^\n]+" do assert.is_true(#line <= 100, line) end
      session.commands.greet = function(_, rest) return "hello, " .. rest end
      assert.equal("hello, you", answer ":greet you")
      assert.matches("^:greet\n:help ", answer ":help")
    end)

    it("say what is wrong with them in a sentence", function()
      assert.equal("error: no command is called ':tiem'; near: :time", answer ":tiem 1")
      assert.equal("error: no command is called ':zzz'; :help lists them", answer ":zzz")
      assert.equal("error: :help takes nothing; ?me explains a name", answer ":help me")
      for _, name in ipairs { "time", "timeit", "trace" } do
        assert.equal(("error: :%s wants an expression, as in :%s ccw.call(lib.scale, {x}, \"f32[4]\", {s = 2})"):format(name, name),
          answer(":" .. name))
        assert.equal("error: the input ends in the middle", answer((":%s 1 +"):format(name)))
        assert.equal("error: prompt:1: unexpected symbol near '='", answer((":%s = 1"):format(name)))
        assert.equal("error: prompt:1: no", answer((":%s error 'no'"):format(name)))
      end
      assert.equal("error: :timeit cannot repeat what returns", answer ":timeit return 1")
      assert.equal("error: :trace has seen no call of a handler", answer ":trace 1 + 1")
      assert.equal("error: :load wants a file of Lua, as in :load ./start.lua", answer ":load")
      assert.equal("error: NOT_FOUND: cannot read 'nowhere.lua': No such file or directory", answer ":load nowhere.lua")
      assert.equal("error: 'x' is no variable that holds a library; there is lib", answer ":reload x")
      assert.equal("error: 'nothing here' is no variable that holds a library; there is lib", answer ":reload nothing here")
      answer "second = lib"
      assert.equal("error: :reload wants the name of a variable that holds a library; there are lib, second", answer ":reload")
      _G.second = nil
    end)

    it("time what runs once, and show what it gives", function()
      assert.matches(timed "^3\t4\ntook TIME$", answer ":time 1 + 2, 4")
      assert.matches(timed "^took TIME$", answer ":time local y = 1")
      assert.equal("3", answer "_")
      assert.equal("1", answer "y")
    end)

    it("time what runs again and again, unchecked, and say how steadily", function()
      local call = require "ccw.call"
      local before = call.checked
      call.checked = true
      answer("counted, checks = 0, {}")
      local text = answer ":timeit counted = counted + 1 checks[require 'ccw.call'.checked] = true"
      assert.matches(timed "^TIME in the median of %d+ rounds of %d+; best TIME, middle half TIME to TIME, worst TIME$", text)
      local rounds, count = text:match "of (%d+) rounds of (%d+)"
      assert.is_true(_G.counted >= rounds * count)
      assert.same({ [false] = true }, _G.checks)
      assert.is_true(call.checked)
      answer "local prepared = ccw.prepare(lib.scale, {x}, 'f32[2]', {s = 2})"
      assert.matches("\nchecks are part of that: prepare prepared with {checked = false}$", answer ":timeit prepared()")
      call.checked = before
      answer "x"
      assert.matches(timed "^TIME in the median", answer ":timeit _.count") -- the last result, there too
      answer "prepared = ccw.prepare(lib.scale, {x}, 'f32[2]', {s = 2})"
      assert.is_nil(answer ":timeit prepared()":find "\n")
      _G.counted, _G.checks = nil, nil
    end)

    it("wait for what devices have to do, as part of the time", function()
      answer("local there = x:to 'sim:0'", [[local k = ccw.kernel{name = "f", source = "__global__ void f(float *x) { x[9] = 0; }"}]])
      assert.matches("^error: OUT_OF_RANGE: ", answer ":timeit k{grid = 1, block = 1, args = {there}}")
      ccw.device "sim:0":reset()
    end)

    it("trace what a call does: its stages, their times and the frame of execute", function()
      local text = answer ":trace ccw.call(lib.scale, {x}, 'f32[2]', {s = 2})"
      assert.matches(timed "^scale on host\n  execute      TIME\nXLA_FFI_CallFrame, 176 bytes\n", text)
      assert.matches('\n    attr 0 "s": 3 SCALAR\n', text, 1, true)
      assert.matches("\nf32[2] {2, 4}", text:sub(-14), 1, true)
      assert.equal("f32[2] {2, 4}", answer "_")
      answer("make = ccw.bind 'm(@new_state)':stage 'instantiate':to(function() return {n = 4} end)",
        "count = ccw.bind 'count(@state) -> (y: s64[])':to(function(state, y) y:fill(state.n) end)")
      text = answer ":trace ccw.call({instantiate = make, execute = count}, {}, 's64[]')"
      assert.matches(timed "^count on host\n  instantiate  TIME\n  execute      TIME\nXLA_FFI", text)
      assert.matches("\ns64%[%] 4$", text)
      answer "prepared = ccw.prepare(lib.scale, {x}, 'f32[2]', {s = 3}, {checked = false})"
      assert.matches(timed "^scale as it was prepared\n  the call     TIME\nXLA_FFI.*\nf32%[2%] {3, 6}$", answer ":trace prepared")
      assert.matches("^count on host\n.*\ncount on host\n.*\nand 2 calls more$",
        answer ":trace for _ = 1, 5 do ccw.call({instantiate = make, execute = count}, {}, 's64[]') end")
      assert.equal("f32[2] {3, 6}", answer "ccw.call(lib.scale, {x}, 'f32[2]', {s = 3})") -- and all is as it was
      assert.matches("^error: UNKNOWN: bad: execute: prompt:1: no\n.*\nbad on host\n  execute      failed\nXLA_FFI",
        answer ":trace ccw.call(ccw.bind 'bad()':to(function() error 'no' end), {}, '()')")
      text = answer(":trace ccw.call(ccw.bind 'outer(x: f32[n]) -> (y: f32[n])':to(function(x, y) ccw.call(lib.scale, {x}, y, {s = 2}) " ..
        "end), {x})")
      assert.is_nil(text:find("scale on host", 1, true)) -- what a handler calls is part of it
      assert.matches("\nf32%[2%] {2, 4}$", text)
      answer(("local gpu = ccw.load %q"):format(support.kernels), "local there = x:to 'sim:0'")
      assert.matches(timed "^axpy_device on sim:0\n  execute      TIME\n.*\nf32%[2%] {3, 6} on sim:0$",
        answer ":trace ccw.call(gpu.axpy_device, {there, there}, 'f32[2]', {a = 2})")
      _G.make, _G.count, _G.prepared = nil, nil, nil
    end)

    it("load files, whose top-level locals stay", function()
      local path = support.write("loaded.lua", "#!/usr/bin/env ccw\nlocal base <const> = 40\nlocal function more(n) return base + n end\n")
      assert.equal("", answer(":load " .. path))
      assert.equal("42", answer "more(2)")
      path = support.write("wrong.lua", "local kept = 1\nlocal function fail() error 'wrong' end\nfail()\n")
      assert.equal(("error: %s:2: wrong\n  %s:2: in fail\n  %s:3: in the chunk"):format(path, path, path), answer(":load " .. path))
      path = support.write("wrong.lua", "x = = 1\n")
      assert.equal(("error: %s:1: unexpected symbol near '='"):format(path), answer(":load " .. path))
      support.write(path:match "[^/]*$", "\xEF\xBB\xBFreturn 1") -- as some editors begin a file
      assert.equal("", answer(":load " .. path))
    end)

    it("load libraries anew, and say what has changed", function()
      local function build(code)
        local source, path = support.write("changing.c", "#include <ccw/handler.h>\n" .. code), support.temporary() .. "/libchanging.so"
        local output, good = support.sh(("cc -shared -fPIC -I'%s/core/include' '%s' -o '%s'"):format(support.root, source, path))
        assert(good, output)
        return path
      end
      local stays = "CCW_HANDLER(stays, RET(f32, 0, y)) { *y.data = %d; return ccw_ok(); }\n"
      local path = build(stays:format(1) .. "CCW_HANDLER(grows, RET(f32, 0, y)) { *y.data = 1; return ccw_ok(); }\n")
      answer(("local changing = ccw.load %q"):format(path), "local function now() return ccw.call(changing.stays, {}, 'f32[]') end",
        "ccw.register('reload_stays', changing.stays)", "local old = ccw.prepare(changing.stays, {}, 'f32[]')")
      assert.equal("f32[] 1", answer "now()")
      assert.equal(path .. " has not changed since it was loaded", answer ":reload changing")
      build(stays:format(2) .. "CCW_HANDLER(grows, RET(f32, 0, y), ATTR(s32, n)) { *y.data = n; return ccw_ok(); }\n" ..
        "CCW_HANDLER(comes, RET(f32, 0, y)) { *y.data = 1; return ccw_ok(); }\n")
      assert.equal(("changing is the new code of %s: 3 handlers, 1 of them new (comes), 1 with another signature (grows); calls and " ..
        "handlers from before keep theirs, and so do the registered names reload_stays"):format(path), answer ":reload changing")
      assert.equal("f32[] 2", answer "now()") -- functions of the prompt see the new one
      assert.equal("f32[] 1", answer "old()")
      assert.equal("f32[] 1", answer "ccw.call('reload_stays', {}, 'f32[]')")
      build(stays:format(3))
      answer ":reload changing"
      assert.equal("f32[] 3", answer "now()")
      assert.equal("f32[] 1", answer "old()")
    end)

    it("do not load modules of Python anew", function()
      local klujax = ccw.try(ccw.load, "python:klujax_cpp")
      if not klujax then return pending "klujax could not be had" end
      answer "lib = ccw.load 'python:klujax_cpp'"
      assert.equal("error: lib is a Python module, which Python imports once: a new process has the new code", answer ":reload lib")
    end)
  end)

  it("completes attributes and their enums, options, types, devices, commands and topics", function()
    local function complete(text)
      local insertion, list = session:complete(text)
      return list and table.concat(list, " ") or insertion
    end
    answer("local lib = ccw.load '" .. support.kernels .. "'", "local x = ccw.f32{1}",
      "ccw.register('a_picture', lib.mandelbrot)")
    for _, text in ipairs { "x:to('sim:0'):", "('x'):", "f(x).", "t[1].", "{}.s" } do assert.equal("", complete(text)) end -- who knows
    assert.equal("b", complete "'a'..li")
    assert.equal("centre limit width", complete "ccw.call(lib.mandelbrot, {}, 's32[4,4]', {")
    assert.equal("dth", complete "ccw.prepare(lib.mandelbrot, {}, 's32[4,4]', {wi")
    assert.equal("centre limit", complete "ccw.call(lib.mandelbrot, {}, 's32[4,4]', {width = 2, ")
    assert.equal("limit width", complete "ccw.try(ccw.call, lib.mandelbrot, {}, {'s32[4,4]'}, {centre = {1, 2}, ")
    assert.equal("dth", complete "ccw.call('a_picture', {}, 's32[4,4]', {wi")
    assert.equal("ain", complete "ccw.call(lib.attribute_zoo, {}, 'f64[2]', {sky = 'r")
    assert.equal("hi lo", complete "ccw.call(lib.attribute_zoo, {}, 'f64[2]', {limits = {")
    assert.equal("hi", complete "ccw.call(lib.attribute_zoo, {}, 'f64[2]', {limits = {lo = 1, ")
    assert.equal("", complete "ccw.call(lib.nothing, {}, 'f64[2]', {s")
    assert.equal("", complete "ccw.call(lib.scale, {}, 'f64[2]', {s = {l")
    assert.equal("x xpcall", complete "ccw.call(lib.scale, {x")
    assert.equal("cked", complete "ccw.call(lib.scale, {x}, 'f32[1]', {s = 2}, {che")
    assert.equal("urce", complete "ccw.kernel{so")
    assert.equal("fail_allocation fail_copy fail_launch fail_synchronize", complete "ccw.device('sim:0', {fail_")
    assert.equal("colour columns", complete "ccw.show(x, {col")
    assert.equal("2", complete "ccw.call(lib.scale, {x}, 'f3")
    assert.equal("6", complete "ccw.array('(f32[2], bf1")
    assert.equal("", complete "ccw.array('f32[s")
    assert.matches("^m:", (complete "x:to 'si")) -- m:0 where no spec before has made others
    assert.matches("^m:", (complete "ccw.call(lib.scale, {x}, 'f32[1]', {s = 2}, {device = 'si"))
    assert.equal("st", complete "x:to 'ho")
    assert.equal("", complete "x:as 'ho")
    assert.equal("e", complete ":tim")
    assert.equal("b", complete ":reload li")
    assert.equal("ay", complete ":timeit ccw.arr")
    assert.equal("er", complete "?buff")
    assert.equal("nature", complete "lib.scale.sig")
    assert.equal("", complete "-- ccw.arr")
    assert.equal("", complete "'a' .. 'x:zz")
  end)

  it("completes files, as far as the folder has them", function()
    local folder = support.temporary() .. "/complete"
    support.sh(("mkdir -p '%s/inner' && touch '%s/inside' '%s/.hidden' '%s/öl' '%s/özi'"):format(folder, folder, folder, folder, folder))
    local path = support.write("complete.lua", ([[
      local session = require "ccw.repl".session()
      for _, text in ipairs { "ccw.load './i", "dofile('./inn", ":load ./ins", "x = './.h", "x = 'i", "ccw.read 'ins", "ccw.load './ö" } do
        local insertion, list = session:complete(text)
        print(list and table.concat(list, " ") or insertion)
      end
    ]]))
    local output = support.sh(("cd '%s' && '%s' '%s'"):format(folder, support.program:find "^/" and support.program or
      support.sh "pwd":gsub("\n", "/") .. support.program, path))
    assert.equal("n\ner/\nide\nidden\n\nide\n./öl ./özi\n", output)
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
    assert.same({ "s1", "s16", "s2", "s32", "s4", "s64", "s8", "shard", "show", "signature" }, list)
    assert.equal("", (session:complete "lib.scale("))
  end)
end)

describe("the prompt in a pipe", function()
  local function ends(command)
    local output, good = support.sh(command)
    return output, good
  end

  it("ends without a word when nobody reads any more", function()
    -- With SIGPIPE, and where that is ignored with what the writing says.
    for _, trap in ipairs { "", "trap '' PIPE; " } do
      assert.equal("", (ends(("(%s{ echo 1; sleep 0.2; seq 1 1000; echo 'io.stderr:write \"still here\"'; } 2> '%s/pipe' | '%s' | true)")
        :format(trap, support.temporary(), support.program))))
    end
    local output, good = ends(("echo 1 | '%s' >&-"):format(support.program))
    assert.equal("", output)
    assert.is_false(good)
  end)

  it("says when what it prints goes nowhere", function()
    if not support.exists "/dev/full" then return pending "there is no /dev/full" end
    local output, good = ends(("echo 1 | '%s' > /dev/full"):format(support.program))
    assert.equal("ccw: cannot write: No space left on device\n", output)
    assert.is_false(good)
  end)

  it("runs no start-up file", function()
    local folder = support.temporary() .. "/pipe_config"
    support.sh(("mkdir -p '%s/ccw' && echo 'print \"started\"' > '%s/ccw/init.lua'"):format(folder, folder))
    for _, how in ipairs { "", "-e 'print(1)'" } do
      assert.equal("1\n", (ends(("echo 1 | XDG_CONFIG_HOME='%s' '%s' %s"):format(folder, support.program, how))))
    end
  end)

  it("takes bytes that are no text, and lines of any length", function()
    local expected = "error: prompt:1: unexpected symbol near '<\\255>'\n2\n100000\n"
    assert.equal(expected, (ends(([[
      { printf '\377\377\n#"\303("\n#"'; head -c 100000 /dev/zero | tr '\0' x; printf '"\n'; } | '%s']]):format(support.program))))
  end)

  it("names a handler that does not return, and is ended by a second interrupt", function()
    local folder = support.temporary()
    local script = support.write("stuck.lua", ([=[
      local library = ccw.compile [[#include <ccw/handler.h>
        #include <unistd.h>
        CCW_HANDLER(stuck, RET(f32, 0, y)) { *y.data = 0; if (write(2, "inside\n", 7) == 7) for (;;) pause(); return ccw_ok(); }]]
      ccw.call(library.stuck, {}, "f32[]")]=]))
    local output = ends(([[
      wait_for() { for i in $(seq 400); do grep -q "$1" '%s/stuck.log' && return; sleep 0.05; done; }
      '%s' '%s' 2> '%s/stuck.log' < /dev/null &
      wait_for inside; kill -INT $!
      wait_for still; kill -INT $!
      wait $!
      echo ended with $?
      cat '%s/stuck.log']]):format(folder, support.program, script, folder, folder))
    assert.equal("ended with 130\ninside\n\nccw: stuck is still running; Ctrl-C again ends ccw\n", output)
  end)
end)

-- The prompt at a real terminal.
local support = require "spec.support"
local terminal = require "spec.terminal"

--- A handler in C that says that it is there, and runs until a file is.
local function waiting_handler(path)
  return ([=[s = ccw.compile([[#include <ccw/handler.h>
#include <unistd.h>
CCW_HANDLER(stuck, RET(f32, 0, y)) {
  *y.data = write(2, "ins" "ide\n", 7);
  while (access("%s", F_OK) != 0) usleep(1000);
  *y.data = 5;
  return ccw_ok();
}]])]=]):format(path)
end

describe("the prompt at a terminal", function()
  --- A spec that is pending where there is no tmux.
  local function at_terminal(name, f)
    it(name, function()
      if not terminal.is_here() then return pending "tmux is not here" end
      f()
    end)
  end

  at_terminal("edits, completes, remembers and comes back from Ctrl-C", function()
    local t <close> = terminal.open()
    t:wait_for "?name for help"
    t:enter 'local x = ccw.array("f32[2]", {1, 2})'
    t:wait_for "{1, 2})\nccw>\n" -- what is typed before the prompt is there goes through the terminal's own editing
    t:type "x:rever"
    t:press("BSpace", "BSpace", "BSpace")
    t:type "s"
    t:press "Tab"
    t:wait_for "x:reshape"
    t:enter '"f32[2,1]"'
    t:wait_for "f32[2,1] {{1}, {2}}"

    t:enter "for i = 1, 2 do"
    t:wait_for "   >"
    t:enter('  print("line " .. i)', "end")
    t:wait_for "line 2"
    t:press "C-p" -- the loop is one entry
    t:wait_for "ccw> for i = 1, 2 do"
    t:press "C-c"
    t:wait_for "end\nccw>\n"

    t:type "half of a line"
    t:wait_for "half of a line"
    t:press "C-c"
    t:enter "6 * 7"
    t:wait_for "\n42\n"
    t:type "ccw.s"
    t:press "Tab"
    t:wait_for "s1  s16  s2  s32  s4  s64  s8  shard  show  signature"
    t:press("C-c", "C-d")
    t:wait_for "ended with 0"
  end)

  at_terminal("keeps its history from one run to the next, and does without one that libedit cannot read", function()
    do
      local t <close> = terminal.open()
      t:enter "'remember ' .. 'me'"
      t:wait_for '"remember me"'
      t:press "C-d"
      t:wait_for "ended with 0"
    end
    do
      local t <close> = terminal.open()
      t:press "C-p"
      t:wait_for "ccw> 'remember ' .. 'me'"
      t:press("C-c", "C-d")
      t:wait_for "ended with 0"
    end
    local file <close> = assert(io.open(support.temporary() .. "/state/ccw/history", "ab"))
    file:write("\\q\0", ("\xff"):rep(1000), "\n")
    file:close()
    local t <close> = terminal.open()
    t:enter "6 * 9"
    t:wait_for "\n54\n"
  end)

  at_terminal("interrupts loops, handlers in Lua, futures that nobody completes and kernels that do not end", function()
    local t <close> = terminal.open()
    t:enter 'print("bu" .. "sy") while true do end'
    t:wait_for "\nbusy"
    t:press "C-c"
    t:wait_for "error: prompt:1: interrupted"
    t:clear()
    t:enter [[ccw.call(ccw.bind "f()":to(function() print("be" .. "gun") while true do end end), {}, "()")]]
    t:wait_for "begun"
    t:press "C-c"
    t:wait_for "\n^Cerror"
    t:clear()
    t:enter(("r = ccw.load %q"):format(support.library "runtime"), "x = ccw.f32{1, 2}",
      "f = ccw.prepare(r.later, {x}, {x:copy()}, {slot = 0})", 'print("wai" .. "ting") f()')
    t:wait_for "\nwaiting"
    t:press "C-c"
    t:wait_for "waiting\n^Cerror"
    t:enter 'ccw.call(r.finish, {}, "()", {slot = 0, code = 0}) print("fin" .. "ished")'
    t:wait_for "finished"
    t:clear()
    t:enter([[k = ccw.kernel{name = "f", source = "__global__ void f(volatile int *x) { while (1) *x = 0; }"}]],
      [[ccw.device("sim:0", {time_limit = 0})]], [[a = ccw.s32{1}:to "sim:0" k{grid = 1, args = {a}}]],
      [[print("ker" .. "nel") ccw.device "sim:0":sync()]])
    t:wait_for "\nkernel"
    t:press "C-c"
    t:wait_for "kernel\n^Cerror"
    t:enter [[ccw.device "sim:0":reset() print("re" .. "set")]]
    t:wait_for "\nreset"
  end)

  at_terminal("interrupts coroutines, also those whose errors are caught around them", function()
    local t <close> = terminal.open()
    t:enter 'coroutine.wrap(function() print("in" .. "side") while true do end end)()'
    t:wait_for "\ninside"
    t:press "C-c"
    t:wait_for "interrupted"
    t:clear()
    t:enter 'while true do coroutine.resume(coroutine.create(function() print("ag" .. "ain") while true do end end)) end'
    t:wait_for "\nagain"
    t:press "C-c"
    t:wait_for "interrupted"
    t:clear()
    t:enter 'while true do print("ro" .. "und") pcall(function() while true do end end) end'
    t:wait_for "\nround"
    t:press "C-c"
    t:wait_for "\n^Cround"
    t:press "C-c" -- which insists
    t:wait_for "interrupted"
    t:clear()
    t:enter(("r = ccw.load %q"):format(support.library "runtime"), "debug.sethook(function() end, 'l')", -- a hook of somebody else's
      "f = ccw.prepare(r.later, {ccw.f32{1}}, 'f32[1]', {slot = 1})", 'coroutine.wrap(function() print("wai" .. "ting") f() end)()')
    t:wait_for "\nwaiting"
    t:press "C-c"
    t:wait_for "waiting\n^Cerror: interrupted"
    t:enter "(select(2, debug.gethook()))"
    t:wait_for '\n"l"\n'
    t:enter 'ccw.call(r.finish, {}, "()", {slot = 1, code = 0}) debug.sethook() print("fin" .. "ished")'
    t:wait_for "\nfinished"
    t:clear()
    t:enter("co = coroutine.wrap(function() for i = 1, 2 do coroutine.yield(i) end end)", "{co(), co() + 40}")
    t:wait_for "\n{1, 42}\n" -- nothing of an interrupt is left in them
  end)

  at_terminal("says which handler does not return, and asks before it ends with it", function()
    local t <close> = terminal.open { lines = 30 }
    local path = support.temporary() .. "/go"
    t:enter(waiting_handler(path), 'ccw.call(s.stuck, {}, "f32[]", {}, {checked = false})')
    t:wait_for "\ninside"
    t:press "C-c"
    t:wait_for "\nccw: stuck is still running; Ctrl-C again asks whether to end ccw\n"
    t:press "C-c"
    t:wait_for "ccw: stuck has not returned. End ccw, and this session with it? [y/N]"
    t:enter "n"
    t:wait_for "\nccw: waiting for stuck\n"
    support.write("go", "")
    t:wait_for "interrupted" -- it has returned, to somebody who was told to stop
    t:enter 'ccw.call(s.stuck, {}, "f32[]", {}, {has_side_effect = true})'
    t:wait_for "\nf32[] 5\n"

    assert(os.remove(path))
    t:clear()
    t:enter 'ccw.call(s.stuck, {}, "f32[]", {}, {checked = false})'
    t:wait_for "\ninside"
    t:press "C-c"
    t:wait_for "Ctrl-C again asks"
    t:press "C-c"
    t:wait_for "[y/N]"
    t:enter "y"
    t:wait_for "ended with 130"
  end)

  at_terminal("takes Ctrl-C for an answer, too", function()
    local t <close> = terminal.open()
    t:enter(waiting_handler(support.temporary() .. "/never"), 'ccw.call(s.stuck, {}, "f32[]")')
    t:wait_for "\ninside"
    t:press "C-c"
    t:wait_for "Ctrl-C again asks"
    t:press "C-c"
    t:wait_for "[y/N]"
    t:press "C-c"
    t:wait_for "ended with 130"
  end)

  at_terminal("completes attributes, types, devices and files", function()
    local t <close> = terminal.open()
    support.write("one_file.lua", "")
    t:enter(("lib = ccw.load %q"):format(support.kernels))
    t:wait_for '.so"\nccw>\n'
    t:type 'ccw.call(lib.mandelbrot, {}, "s32[2,2]", {'
    t:press "Tab"
    t:wait_for "\ncentre  limit  width\n"
    t:type "ce"
    t:press "Tab"
    t:wait_for '"s32[2,2]", {centre'
    t:press "C-c"
    t:enter "ccw.call(lib.attribute_zoo, {},"
    t:type '"f64[1]", {limits = {lo = 1, h'
    t:press "Tab"
    t:wait_for "{lo = 1, hi"
    t:press "C-c"
    t:type 'ccw.array("f3'
    t:press "Tab"
    t:wait_for 'ccw.array("f32'
    t:press "C-c"
    t:type 'x:to "si'
    t:press "Tab"
    t:wait_for 'x:to "sim:0'
    t:press "C-c"
    t:type(("dofile %q"):format(support.temporary() .. "/one"):sub(1, -2))
    t:press "Tab"
    t:wait_for("/one_file.lua", "-J")
    t:press "C-c"
    t:type ":timei"
    t:press "Tab"
    t:wait_for "ccw> :timeit"
    t:enter " 6 * 7"
    t:wait_for " in the median of "
    t:enter "6 * 7"
    t:wait_for "\n42\n"
    t:enter "_ + 1"
    t:wait_for "\n43\n"
  end)

  at_terminal("loads a library that was built anew while a call to the old one exists", function()
    local folder = support.temporary()
    local function build(factor)
      local source = support.write("anew.c", ([[#include <ccw/handler.h>
        CCW_HANDLER(times, ARG(f32, 0, x), RET(f32, 0, y)) { *y.data = *x.data * %d; return ccw_ok(); }]]):format(factor))
      local output, good = support.sh(("cc -shared -fPIC -I'%s/core/include' '%s' -o '%s/libanew.so'"):format(support.root, source, folder))
      assert(good, output)
    end
    build(2)
    local t <close> = terminal.open()
    t:enter(("local lib = ccw.load '%s/libanew.so'"):format(folder), "x = ccw.f32(21)", "x = ccw.array('f32[]', 21)",
      "old = ccw.prepare(lib.times, {x}, 'f32[]')", "old()")
    t:wait_for "\nf32[] 42\n"
    t:enter ":reload lib"
    t:wait_for "has not changed since it was loaded"
    build(3)
    t:clear()
    t:enter ":reload lib"
    t:wait_for(("lib is the new code of %s/libanew.so: 1 handler; calls and handlers from before keep theirs"):format(folder), "-J")
    t:enter "old()"
    t:wait_for "\nf32[] 42\n"
    t:enter "ccw.call(lib.times, {x}, 'f32[]')"
    t:wait_for "\nf32[] 63\n"
  end)

  at_terminal("wraps what it shows to 40 columns", function()
    local t <close> = terminal.open { columns = 40, environment = "NO_COLOR=1" }
    t:enter "ccw.iota 's32[20]'"
    t:wait_for "\ns32[20] {0, 1, 2, 3, 4, 5, 6, 7, 8, 9,\n         10, 11, 12, 13, 14, 15, 16, 17,\n         18, 19}\n"
    t:clear()
    t:enter "?buffer:fill"
    t:wait_for "\nbuffer:fill(number) -> buffer.\nEvery element becomes the number.\n"
    t:clear()
    t:enter "ccw.show(ccw.iota 's32[2,4]')"
    t:wait_for "\n1│  ..::==│\n2│++##%%@@│\n  1      4\n"
    t:clear()
    t:type "ccw.f"
    t:press "Tab"
    for line in t:screen():gmatch "[^\n]+" do assert.is_true(#line <= 40) end
    t:wait_for "\nf16  f32  f4e2m1fn  f64  f8e3m4  f8e4m3\n"
  end)

  at_terminal("draws in colours where there are 256 of them, unless NO_COLOR is set", function()
    local show = "ccw.show(ccw.iota 's32[1,2]')"
    do
      local t <close> = terminal.open { environment = "TERM=screen-256color" }
      t:enter(show)
      t:wait_for("▀▀", "-e")
      assert.matches("\27[38;5;53m", t:screen "-e", 1, true)
    end
    local t <close> = terminal.open { environment = "TERM=screen-256color NO_COLOR=1" }
    t:enter(show)
    t:wait_for "\n1│  @@│\n"
  end)

  at_terminal("works in a dumb terminal", function()
    local t <close> = terminal.open { environment = "TERM=dumb" }
    t:enter "6 * 7"
    t:wait_for "\n42\n"
    t:enter 'print("bu" .. "sy") while true do end'
    t:wait_for "\nbusy"
    t:press "C-c"
    t:wait_for "interrupted"
    t:enter "6 * 8"
    t:wait_for "\n48\n"
    t:press "C-d"
    t:wait_for "ended with 0"
  end)

  at_terminal("takes what is pasted as text: tabs complete nothing, and it runs on Enter, as one entry of the history", function()
    local t <close> = terminal.open()
    local text = "for i = 1, 2 do\n\tprint('pasted ' .. i, 'ö')\nend\n"
    t:tmux(("load-buffer '%s'"):format(support.write("paste", text)))
    t:tmux "paste-buffer -p -t 0"
    t:wait_for "\nend"
    assert.is_nil(t:screen():find("pasted 1", 1, true))
    t:press "Enter"
    t:wait_for "\npasted 2        ö\n" -- of tabs the screen has but the columns
    t:clear()
    t:press "C-p"
    t:wait_for "ccw> for i = 1, 2 do\n"
  end)

  at_terminal("outlives bytes that are no UTF-8, and long lines", function()
    local t <close> = terminal.open()
    local paste = support.write("paste", "x = '\xff\xc3(' #x\r")
    t:tmux(("load-buffer '%s'"):format(paste))
    t:tmux "paste-buffer -r -t 0"
    t:enter "6 * 7"
    t:wait_for "\n42\n"
    t:tmux(("load-buffer '%s'"):format(support.write("paste", "#'" .. ("x"):rep(3000) .. "'\r")))
    t:tmux "paste-buffer -r -t 0"
    t:wait_for "\n3000\n"
  end)

  at_terminal("runs the start-up file, tells what is wrong with it, and goes on", function()
    local folder = support.temporary() .. "/config/ccw"
    support.sh(("mkdir -p '%s'"):format(folder))
    local function write(text)
      local file <close> = assert(io.open(folder .. "/init.lua", "wb"))
      file:write(text)
    end
    write "local answer = 40\nanswer = answer + 2\n"
    do
      local t <close> = terminal.open()
      t:enter "answer"
      t:wait_for "\n42\n"
    end
    do
      local t <close> = terminal.open { arguments = "--no-init" }
      t:enter "answer"
      t:wait_for "'answer' was never set"
    end
    write "local answer = 40\nerror 'not today'\n"
    do
      local t <close> = terminal.open()
      t:wait_for(("error: %s/init.lua:2: not today"):format(folder), "-J")
      t:enter "6 * 7"
      t:wait_for "\n42\n"
    end
    write "local = 1\n"
    local t <close> = terminal.open()
    t:wait_for(("error: %s/init.lua:1: <name> expected near '='"):format(folder), "-J")
    assert(os.remove(folder .. "/init.lua"))
  end)

  at_terminal("says what takes longer than a second, and takes it back", function()
    local t <close> = terminal.open()
    t:enter "p = require 'ccw.terminal'.progress 'waiting for Godot'"
    t:wait_for "ccw: waiting for Godot, 2 s"
    t:enter("getmetatable(p).__close(p)", "6 * 7")
    t:wait_for "\n42\n"
    t:clear()
    assert.is_nil(t:screen():find("Godot", 1, true))
  end)

  at_terminal("says so while a compiler is busy", function()
    local folder = support.temporary()
    local compiler = support.write("slow_cc",
      ("#!/bin/sh\nuntil [ -e '%s/may_compile' ]; do sleep 0.05; done\nexec cc \"$@\"\n"):format(folder))
    support.sh(("chmod +x '%s'"):format(compiler))
    local t <close> = terminal.open { environment = ("CC='%s' XDG_CACHE_HOME='%s/cache'"):format(compiler, folder) }
    t:enter [[ccw.compile("#include <ccw/handler.h>\nCCW_HANDLER(f, RET(f32, 0, y)) { *y.data = 1; return ccw_ok(); }", {name = "slow.c"})]]
    t:wait_for "\nccw: compiling slow.c, 1 s"
    support.write("may_compile", "")
    t:wait_for "f() -> (y: f32[])"
    assert.is_nil(t:screen():find("compiling slow.c", 1, true))
  end)
end)

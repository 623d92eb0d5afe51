-- Sources that become code at run time: handlers for ccw.load, kernels for devices, the cache of both; case C74.
local ccw = require "ccw"
local core = require "ccw.core"
local support = require "spec.support"
local kernel_source = require "ccw.kernel_source"

local has_sanitizer = support.build:find "san$" ~= nil

local scale = [[
#include <ccw/handler.h>

CCW_HANDLER(scale, ARG(f32, 1, x), RET(f32, 1, y), ATTR(f32, s))
{
  for (int64_t i = 0; i < x.dims[0]; ++i) y.data[i] = s * x.data[i];
  return ccw_ok();
}
]]

--- The same source, but new to every cache: a number in it that no other run has.
local serial = 0
local function fresh(source)
  serial = serial + 1
  return ("%s\n/* %d %d %s */\n"):format(source, os.time(), serial, tostring({}))
end

--- What compilers say in words of their own, in ours.
local function plain(message)
  return (message:gsub("'(%w+)' undeclared %(first use in this function%)", "no %1")
    :gsub("use of undeclared identifier '(%w+)'", "no %1"):gsub("'(%w+)' was not declared in this scope", "no %1")
    :gsub("identifier \"(%w+)\" is undefined", "no %1"))
end

local function failure(f, ...)
  local result, err = ccw.try(f, ...)
  assert.is_nil(result)
  return err
end

--- Runs Lua code in the program, with more in its environment, and gives what it prints.
local function run(environment, code)
  local path = support.write("compile.lua", code)
  return (support.sh(("%s '%s' '%s'"):format(environment, support.program, path)))
end

--- Waits until no process runs whose number stands in a file: dead at once, it is gone when somebody looks after it.
local function wait_for_end(note)
  for pid in io.open(note):read("a"):gmatch "%d+" do
    local state
    repeat
      local file = io.open("/proc/" .. pid .. "/stat")
      state = file and file:read("a"):match "%) (%a)"
      if file then file:close() end
    until state ~= "S" and state ~= "R"
  end
end

--- A folder for a cache of its own.
local folders = 0
local function new_folder()
  folders = folders + 1
  return ("%s/cache %d"):format(support.temporary(), folders)
end

local function write_script(name, text)
  local path = support.write(name, "#!/bin/sh\n" .. text)
  support.sh("chmod +x '" .. path .. "'")
  return path
end

describe("ccw.compile", function()
  it("makes a library of a handler in C, as ccw.load does of a file", function()
    local library = ccw.compile(fresh(scale), { name = "scale.c" })
    assert.equal("scale(x: f32[?]) -> (y: f32[?]) {s: f32}", tostring(library.scale):match "^[^\n]*")
    assert.equal("f32[2] {3, 6}", tostring(ccw.call(library.scale, { ccw.f32 { 1, 2 } }, "f32[2]", { s = 3 })))
  end)

  it("takes C++", function()
    local library = ccw.compile(fresh [[
      #include <algorithm>
      #include <ccw/handler.h>
      CCW_HANDLER(sorted, ARG(f32, 1, x), RET(f32, 1, y))
      {
        std::copy(x.data, x.data + x.dims[0], y.data);
        std::sort(y.data, y.data + y.dims[0]);
        return ccw_ok();
      }]], { language = "c++" })
    assert.equal("f32[3] {1, 2, 3}", tostring(ccw.call(library.sorted, { ccw.f32 { 3, 1, 2 } }, "f32[3]")))
  end)

  it("gives the same library for the same source, and another for another one", function()
    local source = fresh(scale)
    local first, again, other = ccw.compile(source), ccw.compile(source), ccw.compile(fresh(scale))
    assert.is_false(first:compiled().was_kept)
    assert.is_true(again:compiled().was_kept)
    assert.equal(first:path(), again:path())
    assert.not_equal(first:path(), other:path())
    assert.is_nil(ccw.load(support.kernels):compiled())
  end)

  it("hands flags to the compiler", function()
    local source = fresh("#if !defined(FACTOR) || FACTOR != 3\n#error none\n#endif\n" .. scale)
    assert.is_truthy(ccw.compile(source, { flags = { "-DFACTOR=3", "-lm" } }).scale)
    local err = failure(ccw.compile, source, { name = "s.c" })
    assert.equal("s.c:2:2: error: #error none\n  #error none\n   ^", (err.message:gsub(": error: none", ": error: #error none")))
  end)

  it("shows the errors with the user's lines, and has all that the compiler said", function()
    local err = failure(ccw.compile, "int f(int x)\n{\n\treturn y + x;\n}\n\nint g(int x) { return z; }\n", { name = "my/f.c" })
    assert.equal("INVALID_ARGUMENT", err.code)
    assert.equal("my/f.c:3:9: error: no y\n  return y + x;\n         ^\nmy/f.c:6:23: error: no z\n" ..
      "  int g(int x) { return z; }\n                        ^", plain(err.message))
    assert.matches("my/f.c:3:9: error", err.log, 1, true)
  end)

  it("shows eight errors, and how many more there are", function()
    local source = {}
    for i = 1, 12 do source[i] = ("int f%d(void) { return y%d; }"):format(i, i) end
    local err = failure(ccw.compile, table.concat(source, "\n"))
    local _, shown = err.message:gsub("error: ", "")
    assert.equal(8, shown)
    assert.equal("... and 4 more", err.message:match "[^\n]*$")
  end)

  it("says of an error in a header which line led there", function()
    local err = failure(ccw.compile,
      "#include <algorithm>\n#include <list>\nvoid f() { std::list<int> l; std::sort(l.begin(), l.end()); }\n",
      { language = "c++", name = "f.cc" })
    assert.matches("/bits/stl_algo.h:%d+:%d+: error: [^\n]*std::_List_iterator<int>", err.message)
    assert.matches("\nf.cc:3:%d+:", err.message)
  end)

  it("says what a linker says", function()
    local err = failure(ccw.compile, fresh(scale), { flags = { "-lno_such_library" } })
    assert.matches("^source.c does not compile\n  [^\n]*cannot find %-lno_such_library", err.message)
  end)

  it("takes any name that is a line", function()
    for _, name in ipairs { "a\"b.c", "back\\slash.c", "with 'quotes' and $(words).c", "../../up.c", "-o", "..", "é.c", ".c" } do
      local err = failure(ccw.compile, "int f(void) { return y; }", { name = name })
      assert.equal(name .. ":1:22: error: no y", plain(err.message):match "^[^\n]*")
      assert.is_truthy(ccw.compile(fresh(scale), { name = name }).scale)
    end
    local err = failure(ccw.compile, scale, { name = "a\nb.c" })
    assert.equal("INVALID_ARGUMENT: name: expected one line of text, got the byte 0x0a", tostring(err))
    err = failure(ccw.compile, scale, { name = ("x"):rep(201) })
    assert.equal("INVALID_ARGUMENT: name: expected up to 200 bytes, got 201", tostring(err))
  end)

  it("refuses a source of nothing, and one with a NUL", function()
    for _, source in ipairs { "", " \n\t\n" } do
      assert.equal("INVALID_ARGUMENT: source.c: the source is empty", tostring(failure(ccw.compile, source)))
    end
    assert.equal("INVALID_ARGUMENT: source.c: the source holds a NUL, at byte 6",
      tostring(failure(ccw.compile, "int x;\0int y;")))
  end)

  it("takes 10 MB, and refuses more than 64 MiB", function()
    assert.is_truthy(ccw.compile(fresh(scale .. "/*" .. ("long "):rep(2000000) .. "*/")).scale)
    assert.equal("OUT_OF_RANGE: source.c: expected up to 67108864 bytes, got 67108865",
      tostring(failure(ccw.compile, (" "):rep(67108865))))
  end)

  it("is misused with a plain string", function()
    support.refuses("bad argument #1 to 'compile' (expected a string, got number)", ccw.compile, 1)
    support.refuses("bad argument #2 to 'compile' (language: expected \"c\" or \"c++\", got \"rust\")", ccw.compile, scale,
      { language = "rust" })
    support.refuses("bad argument #2 to 'compile' (no option is called 'flag'; near: flags)", ccw.compile, scale, { flag = 1 })
    support.refuses("bad argument #2 to 'compile' (flags[2]: expected a string, got number)", ccw.compile, scale,
      { flags = { "-g", 1 } })
    support.refuses("bad argument #2 to 'compile' (flags: expected a list, got the key \"a\")", ccw.compile, scale,
      { flags = { a = 1 } })
    support.refuses("bad argument #2 to 'compile' (flags[1]: it holds a NUL)", ccw.compile, scale, { flags = { "a\0" } })
    support.refuses("bad argument #2 to 'compile' (name: it holds a NUL)", ccw.compile, scale, { name = "a\0" })
    for _, seconds in ipairs { 0, -1, 0 / 0, math.huge } do
      support.refuses("bad argument #2 to 'compile' (time_limit: expected seconds above 0", ccw.compile, scale,
        { time_limit = seconds })
    end
  end)

  it("leaves no memory behind, whether it compiles or not, and says so where there is none", function()
    local kept = fresh(scale)
    core.compile { language = "c", text = kept }
    local function all()
      core.compile { language = "c", text = kept }
      core.compile { language = "c", text = "int f(void) { return y; }" }
      core.compile { language = "c", text = "" }
    end
    all()
    collectgarbage()
    local before = core.memory().blocks
    for _ = 1, 3 do all() end
    assert.equal(before, core.memory().blocks)
    local n, code = 0
    repeat
      core.fail_memory(n)
      local path, _, third = core.compile { language = "c", text = kept }
      core.fail_memory()
      code, n = not path and third or nil, n + 1
      assert.is_true(code == nil or code == "RESOURCE_EXHAUSTED", code)
      assert.equal(before, core.memory().blocks)
    until n > 200 or (not code and n > 40)
    assert.is_true(n > 20)
  end)
end)

describe("a compiler", function()
  local code = ("local lib, err = ccw.try(ccw.compile, [==[%s]==], {name = \"scale.c\", time_limit = %%g})\n" ..
    "print(lib and lib.scale.name or err)"):format(scale)

  local function with(compiler, seconds)
    return run(("CCW_CACHE='%s' CC='%s'"):format(new_folder(), compiler), code:format(seconds or 60))
  end

  it("is CC, words and all", function()
    assert.equal("scale\n", with "cc")
    assert.equal("scale\n", with "cc -O0 -DNOTHING=1")
    local folder = support.temporary() .. "/a folder"
    support.sh(("mkdir -p '%s' && ln -sf \"$(command -v cc)\" '%s/my cc'"):format(folder, folder))
    assert.equal("scale\n", with(folder .. "/my cc"))
  end)

  it("that is not there is UNAVAILABLE", function()
    assert.equal("UNAVAILABLE: CC=/nonexistent: there is no such compiler\n", with "/nonexistent")
    assert.equal("UNAVAILABLE: CC=no_such_cc -O2: there is no such compiler\n", with "no_such_cc -O2")
    assert.equal("UNAVAILABLE: there is no C compiler: install gcc or clang, or name one in CC\n",
      run(("env -u CC CCW_CACHE='%s' PATH=/nonexistent"):format(new_folder()), code:format(60)))
  end)

  it("that hangs is ended, and its children with it", function()
    local note = support.temporary() .. "/pids"
    local script = write_script("hang", ("sleep 600 & echo $$ $! >'%s'\nwait\n"):format(note))
    assert.equal(("DEADLINE_EXCEEDED: %s took more than 0.5 s and was ended\n"):format(script), with(script, 0.5))
    wait_for_end(note)
  end)

  it("that closes its output and hangs is ended, too", function()
    local script = write_script("silent", "exec >/dev/null 2>&1\nexec sleep 600\n")
    assert.equal(("DEADLINE_EXCEEDED: %s took more than 0.5 s and was ended\n"):format(script), with(script, 0.5))
  end)

  it("that crashes, says too much, or makes nothing is told of", function()
    local script = write_script("crash", "kill -SEGV $$\n")
    assert.equal(("ABORTED: %s was ended by signal 11\n"):format(script), with(script))
    script = write_script("loud", "yes 'scale.c:1:1: error: a b c' | head -c 4000000\nexit 1\n")
    assert.matches("^INVALID_ARGUMENT: scale.c:1:1: error: a b c\n.*\n%.%.%. and %d+ more\n$", with(script))
    script = write_script("mute", "exit 3\n")
    assert.equal("INVALID_ARGUMENT: scale.c does not compile, and the compiler does not say why\n", with(script))
    script = write_script("idle", "exit 0\n")
    assert.equal("UNAVAILABLE: scale.so: the compiler left no code there\n", with(script))
  end)

  --- Runs the program, which compiles, and sends it a signal as soon as the compiler has written its note.
  local function signal(which, environment, program, note)
    os.remove(note)
    local output = support.sh(("%s '%s' '%s' & program=$!\nuntil test -s '%s'; do kill -0 $program || break; done\n" ..
      "kill -%s $program; wait $program 2>/dev/null; echo $?"):format(environment, support.program,
      support.write("signal.lua", program), note, which))
    wait_for_end(note)
    return output
  end

  it("ends with Ctrl-C, its children too, and leaves no folder", function()
    local note, cache = support.temporary() .. "/noted", new_folder()
    local script = write_script("slow", ("sleep 600 &\necho $$ $! >'%s.new' && mv '%s.new' '%s'\nwait\n"):format(note, note, note))
    assert.matches("^ccw: [^\n]*interrupted\n.*\n1\n$",
      signal("INT", ("CCW_CACHE='%s' CC='%s'"):format(cache, script), code:format(60), note))
    assert.equal("", support.sh(("ls '%s'"):format(cache)))
  end)

  it("does not outlive ccw", function()
    local note = support.temporary() .. "/noted"
    local script = write_script("slow", ("sleep 600 &\necho $$ $! >'%s.new' && mv '%s.new' '%s'\nwait\n"):format(note, note, note))
    assert.matches("^137\n$", signal("KILL", ("CCW_CACHE='%s' CC='%s'"):format(new_folder(), script), code:format(60), note))
  end)

  it("that is a library ends with Ctrl-C and with ccw, too", function()
    local note, library = support.temporary() .. "/noted", support.temporary() .. "/libnvrtc.so.12"
    local names = "CreateProgram AddNameExpression GetLoweredName GetProgramLogSize GetProgramLog GetErrorString GetCUBINSize " ..
      "GetCUBIN GetPTXSize GetPTX"
    local source = support.write("nvrtc.c", "#include <stdio.h>\n#include <unistd.h>\n" ..
      names:gsub("%w+", "int nvrtc%0(void) { return 0; }\n") .. ([[
      int nvrtcCompileProgram(void)
      {
        FILE *note = fopen("%s", "w");
        fprintf(note, "%%d\n", getpid());
        fclose(note);
        for (;;) pause();
      }]]):format(note))
    support.sh(("cc -shared -fPIC -o '%s' '%s'"):format(library, source))
    local compiles = "print(require \"ccw.core\".compile { language = \"cuda\", architecture = \"sm_90\", text = \"int x;\" })"
    local environment = ("CCW_CACHE='%s' CCW_NVRTC='%s'"):format(new_folder(), library)
    assert.matches("interrupted\n.*\n1\n$", signal("INT", environment, compiles, note))
    assert.equal("137\n", signal("KILL", environment, compiles, note))
  end)

  it("leaves no process and no file behind", function()
    local cache = new_folder()
    local output = run(("CCW_CACHE='%s'"):format(cache), [[
      local core = require "ccw.core"
      core.compile { language = "c", text = "int f(void) { return y; }" }
      core.compile { language = "c", text = "int f(void);" }
      core.compile { language = "c", text = "int f(void);", flags = { "-nothing" } }
      local own = io.open("/proc/self/stat"):read "a":match "^%d+"
      print(io.open("/proc/" .. own .. "/task/" .. own .. "/children"):read "a" == "")]])
    assert.equal("true\n", output)
    local names = support.sh(("cd '%s' && find . -mindepth 1 | sed 's/[0-9a-f]\\{32\\}/KEY/' | sort"):format(cache))
    assert.matches("^./KEY\n./KEY/about\n./KEY/source%-%x+.so\n$", (names:gsub("^./.in%-use\n", "")))
  end)
end)

describe("the cache of compiled code", function()
  local function request(more)
    return ("{ language = \"c\", text = [==[%s]==], flags = { \"-O0\" } %s }"):format(scale, more or "")
  end
  local compile = "local core = require \"ccw.core\"\nlocal function compile(r) local p, l, k, s = core.compile(r) " ..
    "print(p and (k and \"kept\" or \"compiled\") or k .. \": \" .. s) return p end\n"

  it("is for the user alone, and is found by the content", function()
    local cache = new_folder()
    local output = run(("CCW_CACHE='%s/deep/er'"):format(cache), compile .. ("compile(%s) compile(%s)"):format(request(), request()) ..
      ("compile(%s) compile(%s)"):format(request ", name = \"other.c\"", request ", flags = { \"-O1\" }"))
    assert.equal("compiled\nkept\ncompiled\ncompiled\n", output)
    assert.equal("drwx------\ndrwx------\n",
      support.sh(("stat -c %%A '%s/deep/er' \"$(ls -d '%s'/deep/er/* | head -1)\""):format(cache, cache)))
    output = run(("CCW_CACHE='%s/deep/er'"):format(cache), compile .. ("compile(%s)"):format(request()))
    assert.equal("kept\n", output)
  end)

  it("lies in CCW_CACHE, XDG_CACHE_HOME or HOME", function()
    local folder = new_folder()
    local code = compile .. ("print(compile(%s))"):format(request())
    local prefix = "^compiled\n" .. folder:gsub("%p", "%%%0")
    assert.matches(prefix .. "/ccw/%x+/source%-%x+.so\n$", run(("env -u CCW_CACHE XDG_CACHE_HOME='%s'"):format(folder), code))
    assert.matches(prefix .. "/.cache/ccw/%x+/source%-%x+.so\n$",
      run(("env -u CCW_CACHE -u XDG_CACHE_HOME HOME='%s'"):format(folder), code))
    support.sh(("mkdir -p '%s'"):format(folder))
    local relative = support.sh(("cd '%s' && CCW_CACHE=near '%s' '%s'"):format(folder, support.program,
      support.write("near.lua", code)))
    assert.matches(prefix .. "/near/%x+/source%-%x+.so\n$", relative)
    assert.equal("UNAVAILABLE: there is no folder to compile in: set CCW_CACHE to one, or HOME\nnil\n",
      run("env -u CCW_CACHE -u XDG_CACHE_HOME -u HOME", code))
  end)

  it("that cannot be used is said so", function()
    local code = compile .. ("compile(%s)"):format(request())
    local file = support.write("no_folder", "")
    assert.equal(("UNAVAILABLE: %s, where compiled code is kept: it is no folder; set CCW_CACHE to another one\n"):format(file),
      run(("CCW_CACHE='%s'"):format(file), code))
    assert.equal(("UNAVAILABLE: %s/a, where compiled code is kept: Not a directory; set CCW_CACHE to another folder\n"):format(file),
      run(("CCW_CACHE='%s/a'"):format(file), code))
    local open = new_folder()
    support.sh(("mkdir '%s' && chmod 777 '%s'"):format(open, open))
    assert.equal(("UNAVAILABLE: %s, where compiled code is kept: others can write there; " ..
      "set CCW_CACHE to a folder of your own\n"):format(open), run(("CCW_CACHE='%s'"):format(open), code))
  end)

  it("takes nothing that was cut, changed or removed", function()
    local cache = new_folder()
    local code = compile .. ([[
      compile(%s)
      for _, how in ipairs { "truncate -s 1000 source-*.so", "truncate -s 0 about", "rm source-*.so", "rm about",
        "printf x | dd of=$(ls source-*.so) bs=1 seek=500 conv=notrunc status=none", "printf 99999999999 >about" } do
        os.execute("cd '%s'/* && " .. how)
        compile(%s)
        compile(%s)
      end]]):format(request(), cache, request(), request())
    assert.equal("compiled\n" .. ("compiled\nkept\n"):rep(6), run(("CCW_CACHE='%s'"):format(cache), code))
    assert.equal("1\n", support.sh(("ls '%s' | wc -l"):format(cache)))
  end)

  it("sees that a header, a flag's meaning or the compiler has changed", function()
    local folder, cache = new_folder(), new_folder()
    support.sh(("mkdir -p '%s' && cp -r '%s/core/include' '%s/include' && ln -s \"$(command -v cc)\" '%s/cc'"):format(folder,
      support.root, folder, folder))
    support.sh(("echo 'int a;' >'%s/mine.h'"):format(folder))
    local source = request():gsub("#include <ccw/handler.h>", "%0\n#include \"mine.h\"")
    local code = compile .. ("compile(%s)"):format(source)
    local function again(more)
      support.sh(more or "true")
      return (support.sh(("cd '%s' && CC='%s/cc' CCW_INCLUDE='%s/include' CCW_CACHE='%s' '%s' '%s'"):format(folder, folder, folder,
        cache, support.program, support.write("again.lua", code))))
    end
    assert.equal("compiled\n", again())
    assert.equal("kept\n", again())
    assert.equal("compiled\n", again(("echo '/* */' >>'%s/mine.h'"):format(folder)))
    assert.equal("kept\n", again())
    assert.equal("compiled\n", again(("echo '/* */' >>'%s/include/ccw/status.h'"):format(folder)))
    assert.equal("kept\n", again())
    assert.equal("compiled\n", again(("rm '%s/cc'; printf '#!/bin/sh\\nexec cc \"$@\"\\n' >'%s/cc'; chmod +x '%s/cc'"):format(folder,
      folder, folder)))
    assert.equal("UNAVAILABLE: CCW_INCLUDE=/nonexistent: there is no ccw/handler.h\n",
      run("CCW_INCLUDE=/nonexistent", code))
  end)

  it("is shared by processes that compile the same at once", function()
    local cache = new_folder()
    local path = support.write("at_once.lua", compile .. ("ccw.load(compile(%s))"):format(request()))
    local one = ("CCW_CACHE='%s' '%s' '%s' & "):format(cache, support.program, path)
    local output = support.sh(one:rep(6) .. "wait")
    assert.equal(6, select(2, output:gsub("compiled\n", "")) + select(2, output:gsub("kept\n", "")))
    assert.equal("", (output:gsub("compiled\n", ""):gsub("kept\n", "")))
    assert.equal("1\n", support.sh(("ls '%s' | wc -l"):format(cache)))
  end)

  it("sweeps out what ended processes have left", function()
    local cache = new_folder()
    support.sh(("mkdir -p '%s/making-old' '%s/making-new' && touch '%s/making-old/source.c' && touch -d '2 hours ago' '%s/making-old'")
      :format(cache, cache, cache, cache))
    run(("CCW_CACHE='%s'"):format(cache), compile .. ("compile(%s)"):format(request()))
    assert.equal("making-new\n", support.sh(("ls '%s' | grep making"):format(cache)))
  end)

  --- A request for a library of 700 KiB that does not do much.
  local function large(name)
    return ("{ language = \"c\", name = \"%s.c\", text = \"char large[700 << 10] = { 1 };\" }"):format(name)
  end

  it("holds no more than it may, and lets go of what was used least recently", function()
    local environment = ("CCW_CACHE='%s' CCW_CACHE_SIZE=2"):format(new_folder())
    local function now(name) return run(environment, compile .. ("compile(%s)"):format(large(name))) end
    assert.equal("compiled\n", now "a")
    assert.equal("compiled\n", now "b")
    assert.equal("kept\n", now "a")
    assert.equal("compiled\n", now "c")
    assert.equal("kept\n", now "a")
    assert.equal("kept\n", now "c")
    assert.equal("compiled\n", now "b")
  end)

  it("keeps what a process uses that still lives", function()
    local cache, done = new_folder(), support.temporary() .. "/done"
    local environment = ("CCW_CACHE='%s' CCW_CACHE_SIZE=0"):format(cache)
    local user = support.write("user.lua", compile .. ("io.stdout:setvbuf 'no'\ncompile(%s) io.read() print(compile(%s))"):format(
      large "used", large "used"))
    local other = support.write("other.lua", compile .. ("print(compile(%s))"):format(large "other"))
    local third = support.write("third.lua", compile .. ("compile(%s)"):format(large "third"))
    local pipe = support.temporary() .. "/pipe"
    local output = support.sh(([[
      mkfifo '%s'; %s '%s' '%s' <'%s' >'%s' & user=$!
      exec 3>'%s'
      until grep -q compiled '%s'; do kill -0 $user || break; done
      %s '%s' '%s'
      echo >&3; wait $user; cat '%s'
      %s '%s' '%s'; ls '%s' | wc -l]]):format(pipe, environment, support.program, user, pipe, done, pipe, done, environment,
      support.program, other, done, environment, support.program, third, cache))
    assert.matches("^compiled\n" .. cache:gsub("%p", "%%%0") .. "/%x+/other%-%x+.so\ncompiled\nkept\n[^\n]*/used%-%x+.so\ncompiled\n1\n$",
      output)
  end)

  it("is told its size as a number", function()
    local code = compile .. ("compile(%s)"):format(request())
    for _, size in ipairs { "much", "-1", "1G", "99999999999999999999" } do
      assert.equal(("UNAVAILABLE: CCW_CACHE_SIZE=%s: expected a number of MiB\n"):format(size), run("CCW_CACHE_SIZE=" .. size, code))
    end
  end)

  it("gives what it has in less than a millisecond", function()
    if has_sanitizer then return end
    local source = fresh(scale)
    core.compile { language = "c", text = source }
    local best = math.huge
    for _ = 1, 50 do
      local start = core.clock()
      core.compile { language = "c", text = source }
      best = math.min(best, core.clock() - start)
    end
    assert.is_true(best < 1e-3, ("%.2f ms"):format(best * 1e3))
  end)
end)

--- Whether a compiler for GPUs is here; else why not, for what is skipped.
local kernel = "template <class T> __global__ void axpy(const T *x, T *y, T a, int64_t n)\n{\n" ..
  "  for (int64_t i = ccw::thread(); i < n; i += ccw::threads()) y[i] += a * x[i];\n}\n" ..
  "namespace mine { __global__ void fill(float *x) { x[threadIdx.x] = INFINITY; } }\n"

for language, about in pairs {
  cuda = { what = "NVRTC", variable = "CCW_NVRTC", good = "sm_90", bad = "sm_12345", magic = "\127ELF" },
  rocm = { what = "HIPRTC", variable = "CCW_HIPRTC", good = "gfx90a", bad = "gfx99", magic = "" },
} do
  describe(about.what, function()
    local function compile(more)
      local request = { language = language, name = "axpy.cu", text = kernel, architecture = about.good, kernels = {} }
      for key, value in pairs(more) do request[key] = value end
      return core.compile(request)
    end
    local path, _, code, why = compile {}
    local missing = not path and code == "UNAVAILABLE" and why

    local function works(what, f)
      it(what, function()
        if missing then return pending("skipped: " .. missing) end
        f()
      end)
    end

    works("compiles for a GPU that is not here, and tells what kernels are called there", function()
      local text = fresh(kernel)
      for _, was_kept in ipairs { false, true } do
        local file, _, kept, symbols = compile { text = text, kernels = { "axpy<float>", "mine::fill" } }
        assert.equal(was_kept, kept)
        assert.equal("_Z4axpyIfEvPKT_PS0_S0_x\n_ZN4mine4fillEPf\n", symbols)
        local bytes <close> = io.open(file, "rb")
        local all = bytes:read "a"
        assert.equal(about.magic, all:sub(1, #about.magic))
        assert.is_truthy(all:find("_Z4axpyIfEvPKT_PS0_S0_x", 1, true))
      end
    end)

    works("shows the errors with the user's lines", function()
      local file, log, failed, message = compile { name = "a \"b\".cu", text = "__global__ void f(int *p)\n{\n  *q = 1;\n}\n" }
      assert.is_nil(file)
      assert.equal("INVALID_ARGUMENT", failed)
      assert.equal("a \"b\".cu:3:4: error: no q\n  *q = 1;\n   ^", plain(message))
      assert.matches("error", log, 1, true)
    end)

    works("finds no kernel that is not there", function()
      local file, _, failed, message = compile { kernels = { "axpi<float>" } }
      assert.is_nil(file)
      assert.equal("NOT_FOUND", failed)
      assert.matches("axpy.cu: no kernel 'axpi<float>': ", message, 1, true)
    end)

    works("outlives an architecture that nobody knows", function()
      local file, _, failed = compile { architecture = about.bad }
      assert.is_nil(file)
      assert.equal("INVALID_ARGUMENT", failed)
      assert.equal(("architecture: expected one such as %s, got 'a b'"):format(about.good),
        (select(4, compile { architecture = "a b" })))
    end)

    works("includes what a flag says, and looks again each time", function()
      local folder = new_folder()
      support.sh(("mkdir -p '%s' && echo '#define ONE 1' >'%s/one.h'"):format(folder, folder))
      local request = { text = fresh "#include \"one.h\"\n#include <cstdint>\n__global__ void f(int *p) { *p = ONE; }\n",
        flags = { "-I" .. folder }, kernels = { "f" } }
      local one, _, kept = compile(request)
      assert.is_string(one)
      assert.is_false(kept)
      assert.equal(one, (compile(request)))
      support.sh(("echo '#define ONE 2' >'%s/one.h'"):format(folder))
      assert.not_equal(one, (compile(request)))
    end)

    it("is not needed, and its absence is told", function()
      local environment = ("CCW_CACHE='%s' %s=/nonexistent"):format(new_folder(), about.variable)
      assert.equal(("UNAVAILABLE\t%s=/nonexistent: there is no library with %sCompileProgram\n"):format(about.variable,
        about.what:lower()), run(environment, ("print(select(3, require \"ccw.core\".compile { language = \"%s\", " ..
        "architecture = \"%s\", text = \"int x;\" }))"):format(language, about.good)))
    end)
  end)
end

describe("C74 the kernels of a source", function()
  local source = [[
    // __global__ void comment();
    /* __global__ void comment(); */
    const char *text = "__global__ void text()";
    namespace mine {
    template <class T, int N = 4> static __global__ __launch_bounds__(256) void axpy(const T *__restrict__ x, T* y, T a, int n) {}
    namespace { extern "C" __global__ void fill(float x[], unsigned long long n = 3) {} }
    }
    extern "C" { __global__ void
    scale (double *const x, const bool, std::uint8_t **rows, struct point p, void *any) {} }
    __global__ void nothing(void);
  ]]
  local list, hides = kernel_source.kernels(source)

  it("are read without a compiler", function()
    local names = {}
    for i, found in ipairs(list) do names[i] = found.name .. (found.template and " " .. table.concat(found.template, ",") or "") end
    assert.same({ "mine::axpy T,N", "mine::fill", "scale", "nothing" }, names)
    assert.is_true(hides) -- what comments hide might as well be a macro
    local _, hides_none = kernel_source.kernels "__global__ void f();"
    assert.is_false(hides_none)
    assert.same({ {}, true, false }, { kernel_source.kernels "#define K __global__ void f()\nK {}" })
    assert.same({ {}, true, true }, { kernel_source.kernels "#include \"k.h\"" })
  end)

  it("say what they take", function()
    local function text(parameters)
      local parts = {}
      for i, p in ipairs(parameters) do
        parts[i] = ("%s:%s%s%s"):format(p.name or "", p.is_const and "const " or "", p.dtype or "?", p.is_pointer and "*" or "")
      end
      return table.concat(parts, " ")
    end
    assert.equal("x:const f32* y:f32* a:f32 n:s32", text(kernel_source.parameters(list[1], "float, 8")))
    assert.equal("x:const u8* y:u8* a:u8 n:s32", text(kernel_source.parameters(list[1], "unsigned char")))
    assert.equal("x:const ?* y:?* a:? n:s32", text(kernel_source.parameters(list[1], "thing")))
    assert.equal("x:f32* n:u64", text(kernel_source.parameters(list[2])))
    assert.equal("x:f64* :pred rows:?* p:? any:?*", text(kernel_source.parameters(list[3])))
    assert.same({}, kernel_source.parameters(list[4]))
  end)

  it("are found by their names, and what is not there is told with what is", function()
    local function resolve(name) return kernel_source.resolve("a.cu", name, list, false) end
    assert.equal("scale", (resolve "scale"))
    assert.equal("mine::fill", (resolve "fill"))
    assert.equal("mine::axpy<float, 8>", (resolve " axpy < float,  8 > "))
    assert.same({ "INVALID_ARGUMENT",
      "a.cu: 'mine::axpy<T, N>' is a template: name one of its instances, such as mine::axpy<float, 1>" }, { select(2, resolve "axpy") })
    assert.same({ "INVALID_ARGUMENT", "a.cu: 'scale' is no template: it is named without arguments" },
      { select(2, resolve "scale<float>") })
    assert.same({ "NOT_FOUND", "a.cu has no kernel 'skale'; near: scale; it has mine::axpy<T, N>, mine::fill, scale, nothing" },
      { select(2, resolve "skale") })
    assert.same({ "NOT_FOUND", "a.cu has no kernel 'f'; it has none: a kernel is declared __global__ void NAME(...)" },
      { select(2, kernel_source.resolve("a.cu", "f", {}, false)) })
    assert.same({ "INVALID_ARGUMENT", "a.cu: 'axpy<float': expected a name such as axpy<float>" }, { select(2, resolve "axpy<float") })
  end)

  it("have their dynamic shared memory on sim, on the same lines", function()
    assert.equal("__global__ void f() {\n  CCW_SHARED(unsigned char, all)\n\n; x(); CCW_SHARED(float, s); }",
      kernel_source.for_sim("a.cu", "__global__ void f() {\n  extern __shared__ __align__(16)\nunsigned char\nall[]; x(); " ..
        "extern __shared__ float s[]; }"))
    assert.same({ "UNIMPLEMENTED", "a.cu:2: extern __shared__ s[]: sim has dynamic shared memory within a kernel only" },
      { select(2, kernel_source.for_sim("a.cu", "namespace a {\nextern __shared__ float s[]; }")) })
  end)

  it("are read in a text of any kind, to its end", function()
    for _, text in ipairs { "", "\"", "'", "/*", "//", "#", "#\\\n", "R\"(", "__global__", "__global__ void f(", "}}}}",
      "__global__ f<(",
      ("extern __shared__ "):rep(1e3), ("#"):rep(1e5), ("'"):rep(1e5),
      ("<"):rep(1e5), "template <__global__ void f() {}", ("{"):rep(1e5) .. "__global__ void f()", ("__global__ "):rep(1e3),
      "\0\255__global__ void f()", "\"\\", "'" .. ("\\"):rep(1e3), ("{"):rep(4e5) .. "__global__ void f();", ("__global__ f()"):rep(3e4),
      ("__global__ f("):rep(3e4), ("__global__ __launch_bounds__(1)"):rep(1e4), ("template<__global__ void f()"):rep(1e4),
      ("__global__ f" .. ("<"):rep(2000) .. "("):rep(200) } do
      assert.is_table(kernel_source.kernels(text))
      kernel_source.for_sim("a.cu", text)
    end
  end)

  it("are hidden where namespaces are deeper than compilers take, or names longer", function()
    local found, is_hidden = kernel_source.kernels(("namespace a {"):rep(250) .. "__global__ void f();")
    assert.same({ ("a::"):rep(250) .. "f", false }, { found[1].name, is_hidden })
    for _, text in ipairs { ("namespace a {"):rep(300), ("namespace abc_def {"):rep(150) } do
      assert.same({ {}, true, false }, { kernel_source.kernels(text .. "__global__ void f();") })
    end
  end)

  it("are listed up to twenty", function()
    local many = {}
    for i = 1, 25 do many[i] = { name = "k" .. i } end
    assert.matches("a.cu has no kernel 'f'; it has k1, k2, .*, k20, and 5 more$", (select(3, kernel_source.resolve("a.cu", "f", many))))
  end)
end)

describe("ccw.kernel", function()
  local sim = ccw.try(ccw.device, "sim:0")
  local axpy = [[
    __global__ void axpy(const float *x, float *y, float a, int n)
    {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) y[i] += a * x[i];
    }]]
  local k = sim and ccw.kernel { source = axpy, name = "axpy" }

  local function on_sim(what) return ccw.array(what, 1):to "sim:0" end

  --- What a launch wrote.
  local function read(buffer)
    sim:sync()
    return tostring(buffer:to "host")
  end

  it("gives a kernel that prints as what it takes", function()
    assert.equal("axpy(x: const f32*, y: f32*, a: f32, n: s32)", tostring(k))
    assert.equal("kernel", core.kind(k))
    assert.equal("axpy", k.name)
    assert.equal("axpy", k.symbol)
    assert.equal("sim:0", k.device)
    assert.equal("", k.log)
    assert.is_true(ccw.kernel({ source = axpy, name = "axpy" }).was_kept)
    assert.same({ name = "x", dtype = "f32", size = 8, is_pointer = true, is_const = true }, k.parameters[1])
  end)

  it("launches", function()
    local x, y = ccw.f32({ 1, 2, 3 }):to "sim:0", on_sim "f32[3]"
    k:launch { grid = 1, block = 3, args = { x, y, 2, 3 } }
    assert.equal("f32[3] {3, 5, 7}", read(y))
    k { over = 3, args = { x, y, 1, 2 } }
    assert.equal("f32[3] {4, 7, 7}", read(y))
    k { grid = { 3, 1, 1 }, block = { 1 }, args = { x, y, ccw.f32(1), ccw.s32(3) } }
    assert.equal("f32[3] {5, 9, 10}", read(y))
  end)

  it("covers as many elements as are asked for, and launches nothing for none", function()
    local count = ccw.kernel { name = "count", source =
      "__global__ void count(unsigned *all) { atomicAdd(all, 1); }" }
    local all = ccw.array("u32[]", 0):to "sim:0"
    local before = 0
    for over, threads in pairs { [0] = 0, [1] = 256, [256] = 256, [257] = 512 } do
      count { over = over, args = { all } }
      before = before + threads
    end
    assert.equal("u32[] " .. before, read(all))
    count { over = 10, block = 4, args = { all } }
    assert.equal("u32[] " .. before + 12, read(all))
  end)

  it("queues on the stream that is named", function()
    local x, y, stream = on_sim "f32[2]", on_sim "f32[2]", sim:stream()
    k { over = 2, args = { x, y, 1, 2 }, stream = stream }
    stream:sync()
    assert.equal("f32[2] {2, 2}", read(y))
    local other = ccw.device "sim:1":stream()
    assert.equal("INVALID_ARGUMENT: sim:0: expected a stream of this device, got one of sim:1",
      tostring(failure(k.launch, k, { over = 2, args = { x, y, 1, 2 }, stream = other })))
  end)

  it("C69 goes to the stream of the call whose handler launches, and to the device's own outside of one", function()
    local x, y, streams = on_sim "f32[2]", on_sim "f32[2]", { sim:stream(), sim:stream() }
    local handler = ccw.bind "f(x: f32[n]) -> (y: f32[n])":to(function(given, to) k { over = 2, args = { given, to, 1, 2 } } end)
    local launch = spy.on(core, "kernel_launch")
    for i = 1, 2 do ccw.call(handler, { x }, "f32[2]", nil, { stream = streams[i] }) end
    k { over = 2, args = { x, y, 1, 2 } }
    launch:revert()
    local seen = {}
    for i, call in ipairs(launch.calls) do seen[i] = tostring(call.vals[3]) end
    assert.same({ tostring(streams[1]), tostring(streams[2]), "nil" }, seen)
    assert.equal("f32[2] {2, 2}", read(y))
  end)

  it("does not write to the operands of a handler", function()
    local handler = ccw.bind "f(x: f32[n]) -> (y: f32[n])":to(function(x, y) k { over = 2, args = { y, x, 1, 2 } } end)
    local _, err = ccw.try(ccw.call, handler, { on_sim "f32[2]" }, "f32[2]")
    assert.matches("arg 1 'y': operands are read only, and the kernel may write there", err.message, 1, true)
  end)

  it("names every argument that is wrong, in one message", function()
    local x, y, closed = on_sim "f32[2]", on_sim "f32[2]", on_sim "f32[2]"
    closed:close()
    local function refused(args)
      local good, message = pcall(k, { over = 2, args = args })
      assert.is_false(good)
      assert.equal("string", type(message))
      return message:match "bad argument #1 to 'launch' %((.*)%)$"
    end
    assert.equal("arg 2 'a': expected f32, got table", refused { x, y, {}, 2 })
    assert.equal("arg 0 'x': expected a buffer on sim:0, got one on host\narg 1 'y': expected f32*, got s32[2]\n" ..
      "arg 2 'a': 1e+60 does not fit in f32\narg 3 'n': 0.5 is not an integer, as needed for s32",
      refused { ccw.f32 { 1, 2 }, on_sim "s32[2]", 1e60, 0.5 })
    assert.equal("arg 0 'x': this buffer is closed\narg 1 'y': expected f32*, got number\narg 2 'a': expected f32, got f32[2]\n" ..
      "arg 3 'n': expected s32, got string", refused { closed, 7, y, "2" })
    assert.equal("arg 0 'x': expected a buffer on sim:0, got one on sim:1\narg 2 'a': expected f32, got s32\n" ..
      "arg 3 'n': 2147483648 does not fit in s32", refused { ccw.f32({ 1 }):to "sim:1", y, ccw.s32(1), 2 ^ 31 | 0 })
    assert.equal("arg 3 'n': expected s32, got nothing", refused { x, y, 1 })
    assert.equal("arg 0 'x': expected const f32*, got nothing\narg 1 'y': expected f32*, got nothing\n" ..
      "arg 2 'a': expected f32, got nothing\narg 3 'n': expected s32, got nothing", refused {})
    assert.equal("expected 4 arguments, got 5", refused { x, y, 1, 2, 3 })
    assert.equal("arg 2 'a': expected f32, got pred", refused { x, y, true, 2 })
    assert.equal("f32[2] {1, 1}", read(y))
  end)

  it("is misused with a plain string", function()
    local function refused(text, options) support.refuses(text, k.launch, k, options) end
    refused("(expected a table, got nil)", nil)
    refused("(args: expected a list of the kernel's arguments, got nil)", { grid = 1 })
    refused("(expected a grid, the number of blocks, or over, the number of elements)", { args = {} })
    refused("(expected a grid, or over, the number of elements, and not both)", { args = {}, grid = 1, over = 1 })
    refused("(grid: expected an integer or up to three, got 0.5)", { args = {}, grid = 0.5 })
    refused("(grid: expected an integer or up to three, got a list of 4)", { args = {}, grid = { 1, 1, 1, 1 } })
    refused("(block[2]: expected an integer of 0 to 4294967295, got -1)", { args = {}, grid = 1, block = { 1, -1 } })
    refused("(over: expected an integer of 0 or more, got -1)", { args = {}, over = -1 })
    refused("(block: expected 1 or more threads, got 0)", { args = {}, over = 1, block = 0 })
    refused("(stream: expected a stream, got number)", { args = {}, over = 1, stream = 1 })
    refused("(shared: expected bytes, got -1)", { args = {}, over = 1, shared = -1 })
    refused("(no option is called 'blocks'; near: block)", { args = {}, blocks = 1 })
    support.refuses("(a method is called with a colon, kernel:launch{...})", k.launch, { args = {} })
    support.refuses("bad argument #1 to 'kernel' (expected a source, or the file that has it)", ccw.kernel, { name = "f" })
    support.refuses("bad argument #1 to 'kernel' (expected the name of a kernel, such as name = \"axpy\")", ccw.kernel,
      { source = axpy })
    support.refuses("bad argument #1 to 'kernel' (device: expected a device or its name, got number)", ccw.kernel,
      { source = axpy, name = "axpy", device = 1 })
  end)

  it("leaves it to the device to refuse extents", function()
    local args = { on_sim "f32[2]", on_sim "f32[2]", 1, 2 }
    assert.matches("^INVALID_ARGUMENT: sim:0: launch of axpy: grid x: expected 1 to %d+, got 0$",
      tostring(failure(k.launch, k, { grid = 0, args = args })))
    assert.matches("^INVALID_ARGUMENT: sim:0: launch of axpy: block x: expected 1 to 1024, got 2000$",
      tostring(failure(k.launch, k, { grid = 1, block = 2000, args = args })))
    assert.matches("^INVALID_ARGUMENT: sim:0: launch of axpy: ",
      tostring(failure(k.launch, k, { over = math.maxinteger, args = args })))
  end)

  it("is one for each instance of a template, wherever its namespace is", function()
    local source = "namespace mine {\ntemplate <class T, int N = 1>\n__global__ void add(T *y, T a) { y[threadIdx.x] += a * N; }\n}\n"
    local floats = ccw.kernel { source = source, name = "add<float, 3>" }
    local bytes = ccw.kernel { source = source, name = "mine::add<unsigned char>" }
    assert.equal("mine::add<float, 3>(y: f32*, a: f32)", tostring(floats))
    assert.equal("mine::add<unsigned char>(y: u8*, a: u8)", tostring(bytes))
    local y, b = on_sim "f32[2]", on_sim "u8[2]"
    floats { grid = 1, block = 2, args = { y, 0.5 } }
    bytes { grid = 1, block = 1, args = { b, 254 } }
    assert.equal("f32[2] {2.5, 2.5}", read(y))
    assert.equal("u8[2] {255, 1}", read(b))
    assert.equal("INVALID_ARGUMENT: kernel.cu: 'mine::add<T, N>' is a template: name one of its instances, such as mine::add<float, 1>",
      tostring(failure(ccw.kernel, { source = source, name = "add" })))
  end)

  it("has dynamic shared memory as CUDA writes it", function()
    local turn = ccw.kernel { name = "turn", source = [[
      __global__ void turn(float *x)
      {
        extern __shared__ float all[];
        all[threadIdx.x] = x[threadIdx.x];
        __syncthreads();
        x[threadIdx.x] = all[blockDim.x - 1 - threadIdx.x];
      }]] }
    local x = ccw.f32({ 1, 2, 3, 4 }):to "sim:0"
    turn { grid = 1, block = 4, shared = 16, args = { x } }
    assert.equal("f32[4] {4, 3, 2, 1}", read(x))
  end)

  it("takes bytes for a struct, and any buffer for a pointer to what is no dtype", function()
    local move = ccw.kernel { name = "move", source = [[
      struct point { float x, y; };
      __global__ void move(point *to, point by, void *any) { to->x += by.x; to->y += by.y; *(int *)any = 7; }]] }
    assert.equal("move(to: any*, by: 8 bytes, any: any*)", tostring(move))
    local to, any = ccw.f32({ 1, 2 }):to "sim:0", on_sim "s32[1]"
    move { grid = 1, block = 1, args = { to, ccw.f32({ 10, 20 }):bytes(), any } }
    assert.equal("f32[2] {11, 22}", read(to))
    assert.equal("s32[1] {7}", read(any))
    support.refuses("(arg 1 'by': expected 8 bytes, got string)", move, { grid = 1, block = 1, args = { to, "short", any } })
    support.refuses("(arg 1 'by': the kernel does not tell its type: give it one, such as ccw.s32(3))", move,
      { grid = 1, block = 1, args = { to, 1, any } })
  end)

  it("C74 finds no kernel by a wrong name, and says which there are", function()
    local err = failure(ccw.kernel, { source = axpy, name = "axpi", file = "axpy.cu" })
    assert.equal("NOT_FOUND: axpy.cu has no kernel 'axpi'; near: axpy; it has axpy", tostring(err))
    local made = "#define KERNEL(name) __global__ void name(int *p)\nKERNEL(one) { *p = 1; }\n__global__ void two(int *p) { *p = 2; }\n"
    local p = on_sim "s32[1]"
    local one = ccw.kernel { source = made, name = "one" }
    assert.equal("one(s32*)", tostring(one))
    one { grid = 1, block = 1, args = { p } }
    assert.equal("s32[1] {1}", read(p))
    err = failure(ccw.kernel, { source = made, name = "tvo" })
    assert.equal("NOT_FOUND: kernel.cu has no kernel 'tvo'; near: two; it has two", tostring(err))
    assert.matches("tvo", err.log)
  end)

  it("shows the errors with the user's lines", function()
    local err = failure(ccw.kernel, { name = "f", file = "f.cu", source =
      "__global__ void f(float *x)\n{\n  extern __shared__ float s[];\n  x[0] = s[0] + why;\n}\n" })
    assert.equal("INVALID_ARGUMENT: f.cu:4:17: error: no why\n  x[0] = s[0] + why;\n                ^", plain(tostring(err)))
    assert.is_string(err.log)
  end)

  it("reads a file", function()
    support.write("beside.h", axpy)
    local path = support.write("axpy.cu", "#include \"beside.h\"\n__global__ void other(int) {}\n")
    assert.equal("axpy(const f32*, f32*, f32, s32)", tostring(ccw.kernel { file = path, name = "axpy" }))
    assert.equal("other(s32)", tostring(ccw.kernel { file = path, name = "other" }))
    assert.matches("^NOT_FOUND: cannot read '/nonexistent/f.cu': ", tostring(failure(ccw.kernel,
      { file = "/nonexistent/f.cu", name = "axpy" })))
  end)

  it("is for a device that runs kernels", function()
    assert.matches("^UNIMPLEMENTED: host: code: ", tostring(failure(ccw.kernel, { source = axpy, name = "axpy", device = "host" })))
    assert.equal("sim:1", ccw.kernel({ source = axpy, name = "axpy", device = ccw.device "sim:1" }).device)
  end)

  it("leaves nothing behind after ten thousand launches", function()
    local x, y = on_sim "f32[2]", on_sim "f32[2]"
    local function many(n)
      for i = 1, n do
        k { over = 2, args = { x, y, 1, 2 } }
        if i % 1000 == 0 then sim:sync() end
      end
      collectgarbage()
      collectgarbage()
    end
    many(1000)
    local blocks = core.memory().blocks
    many(10000)
    assert.equal(blocks, core.memory().blocks)
    assert.equal("f32[2] {11001, 11001}", read(y))
  end)
end)

describe("kernels on a GPU that only the driver of spec/drivers has", function()
  for device, architecture in pairs { ["cuda:0"] = "sm_90", ["rocm:0"] = "gfx90a" } do
    local function with_driver(code)
      return run(("CCW_CACHE='%s' LD_LIBRARY_PATH='%s/spec/drivers'"):format(new_folder(), support.build), code)
    end

    it("want a type for a number where nobody knows what they take, on " .. device, function()
      local path = support.write("code", ("stand-in code for %s\naxpy_f32\n"):format(architecture))
      assert.equal("arg 0: the kernel does not tell its type: give it one, such as ccw.s32(3)\n" ..
        "arg 3: the kernel does not tell its type: give it one, such as ccw.s32(3)\nnil\nf32[3] {3, 5, 7}\n",
        with_driver(([[
          local core = require "ccw.core"
          local device = "%s"
          local kernel, told = core.kernel_of(core.module(device, "%s"), "axpy_f32")
          core.kernel_expect(kernel, told)
          local x, y = ccw.f32{1, 2, 3}:to(device), ccw.f32{1, 1, 1}:to(device)
          local function launch(...) return core.kernel_launch(kernel, {...}, nil, 1, 1, 1, 32, 1, 1, 0) end
          print(launch(2, x, y, 3) or nil)
          print(launch(ccw.f32(2), x, y, ccw.s64(3)) or nil)
          print(y:to "host")]]):format(device, path)))
    end)

    it("are compiled for " .. device .. " and loaded", function()
      local output = with_driver(([[
        local kernel = { device = "%s", name = "axpy", architecture = "%s", source =
          "__global__ void axpy(float a, const float *x, float *y, long n) { y[0] = a; }" }
        print(select(2, ccw.try(ccw.kernel, kernel)))
        kernel.name = "axpi"
        print(select(2, ccw.try(ccw.kernel, kernel)))]]):format(device, architecture))
      if output:find "^UNAVAILABLE" then return pending("skipped: " .. output:match "[^\n]*") end
      local first, second = output:match "^([^\n]*)\n(.*)\n$"
      assert.matches("^INVALID_ARGUMENT: " .. device .. ": load kernel%-%x+%.%w+: [%w_]+: device kernel image is invalid", first)
      assert.equal("NOT_FOUND: kernel.cu has no kernel 'axpi'; near: axpy; it has axpy", second)
    end)
  end
end)

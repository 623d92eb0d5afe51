-- The program ccw, and the Lua module in other hosts.
local support = require "spec.support"

local function ccw(arguments) return support.sh(("'%s' %s"):format(support.program, arguments)) end

describe("the program", function()
  it("runs a file with its arguments", function()
    local path = support.write("file.lua", 'print(arg[0]:match "[^/]+$", #arg, arg[1], ccw.version, ...)\n')
    local output, good = ccw(("'%s' one -e"):format(path))
    assert.is_true(good)
    assert.equal("file.lua\t2\tone\t0.1.0\tone\t-e\n", output)
  end)

  it("runs a piece of code", function()
    assert.equal("f32[2] {1, 2}\n", (ccw [[-e 'print(ccw.array("f32[2]", {1, 2}))']]))
    assert.equal("", (ccw "-e ''"))
    assert.equal("2\n", (ccw "-e 'x = 2' -e 'print(x)'"))
    assert.equal("3\n", (support.sh(("echo 'print(3)' | '%s' -"):format(support.program))))
    assert.equal("3\n", (support.sh(("echo '3' | '%s' --"):format(support.program))))
    local path = support.write("behind.lua", "print(x, ...)\n")
    assert.equal("2\t-x\n", (ccw(("-e 'x = 2' '%s' -x"):format(path))))
    assert.equal("nil\t-e\n", (ccw(("-- '%s' -e"):format(path))))
  end)

  it("fails with the error on standard error and exit code 1", function()
    local output, good = ccw "-e 'error \"no\"'"
    assert.is_false(good)
    assert.equal("ccw: (command line):1: no\n  (command line):1: in the chunk\n", output)
    output = ccw "-e 'ccw.find \"nothing here\"'"
    assert.equal("ccw: NOT_FOUND: no handler 'nothing here' is registered for platform Host (host)\n" ..
      "  (command line):1: in the chunk\n", output)
    local path = support.write("deep.lua", "local function inner() ccw.find 'x' end\n\nlocal function outer()\n  inner()\n  return 1\n" ..
      "end\nouter()\n")
    output = ccw(("'%s'"):format(path))
    assert.equal(("ccw: NOT_FOUND: no handler 'x' is registered for platform Host (host)\n  %s:1: in inner\n  %s:4: in outer\n" ..
      "  %s:7: in the chunk\n"):format(path, path, path), output)
    assert.matches("^ccw: %(command line%):1: syntax error", (ccw "-e 'x x'"))
    output, good = ccw "nowhere.lua"
    assert.is_false(good)
    assert.equal("ccw: cannot open nowhere.lua: No such file or directory\n", output)
  end)

  it("says how it was built, and how it is used", function()
    local output, good = ccw "--version"
    assert.is_true(good)
    assert.matches("^ccw 0.1.0, XLA FFI API 0.5, Lua 5.4\nlibrary under [^\n]+\n" ..
      "C%+%+ exceptions of handlers: caught; line editing: libedit\n$", output)
    output, good = ccw "--help"
    assert.is_true(good)
    assert.matches("ccw inspect LIBRARY [HANDLER ...]", output, 1, true)
    output, good = ccw "--nonsense"
    assert.is_false(good)
    assert.matches("unknown option '--nonsense'", output, 1, true)
  end)

  it("reads standard input where there is no terminal", function()
    local output, good = support.sh(("printf 'local x = 2\\nx + 1\\nfor i = 1, 2 do\\n  print(i)\\nend\\n' | '%s'"):format(support.program))
    assert.is_true(good)
    assert.equal("3\n1\n2\n", output)
    output, good = support.sh(("echo 'error \"no\"' | '%s'"):format(support.program))
    assert.is_false(good)
    assert.equal("error: prompt:1: no\n", output)
  end)

  it("ends with a handler that crashes, and says which #plain", function()
    local output, good = ccw(([[-e 'ccw.call(ccw.load("%s").crashes, {}, "()")']]):format(support.library "plain"))
    assert.is_false(good)
    assert.matches("ccw: crashes: execute: the handler crashed, and ends ccw\n", output, 1, true)
    output = ccw(([[-e 'print(ccw.load("%s").crashes_when_asked)']]):format(support.library "plain"))
    assert.matches("ccw: crashes_when_asked: metadata: the function crashed when it was asked for it: is it an FFI handler?\n",
      output, 1, true)
  end)

  it("hosts busted", function()
    local path = support.write("hosted_spec.lua", [[
      describe("hosted", function() it("works", function() assert.equal("0.1.0", require "ccw".version) end) end)
    ]])
    local output, good = ccw(("/usr/bin/busted --ignore-lua '%s'"):format(path))
    assert.is_true(good, output)
    assert.matches("1 success", output, 1, true)
  end)
end)

-- A sanitized module wants a sanitized host, which the program is and lua5.4 is not.
describe("the Lua module #plain", function()
  it("works in a stock lua5.4 before installation, and offers the API to libraries there", function()
    local output = support.sh(([[LUA_PATH="%s/lua/?.lua;%s/lua/?/init.lua;;" LUA_CPATH="%s/lua/?.so;;" lua5.4 -e '
      local ccw = require "ccw"
      print(ccw.load("%s"):registered()[1], ccw.call("self.one", {}, "f32[]"))']]):format(support.build, support.build,
      support.build, support.library "registers_itself"))
    assert.equal("self.one on Host\tf32[] 1\n", output)
  end)
end)

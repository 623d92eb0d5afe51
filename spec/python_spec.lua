-- CC-35: handlers out of Python extension modules, as they are published on PyPI.
local ccw = require "ccw"
local support = require "spec.support"

local folder = os.getenv "CCW_KLUJAX" or support.build .. "/python"
local klujax = support.sh(("ls '%s'/klujax_cpp.*.so 2>/dev/null"):format(folder)):match "[^\n]+"

local function with_klujax(name, body)
  it(name, function()
    if not klujax then return pending "klujax could not be had" end
    body(ccw.load("python:klujax_cpp", { path = folder }))
  end)
end

--- Runs Lua in a program of its own, with an environment; gives its output.
local function run(environment, code)
  local path = support.write("python_spec.lua", code)
  return (support.sh(("env %s '%s' '%s'"):format(environment, support.program, path)))
end

describe("CC-35 klujax, which was built for JAX", function()
  with_klujax("has 21 handlers", function(lib)
    assert.equal(21, #lib:names())
    assert.equal(klujax, lib:path())
    assert.equal("0.1", lib.solve_f64.version)
  end)

  with_klujax("solves and multiplies", function(lib)
    local Ai, Aj, Ax = ccw.s32 { 0, 1, 1 }, ccw.s32 { 0, 0, 1 }, ccw.f64 { { 2, 1, 3 } }
    local b = ccw.f64 { { { 4 }, { 8 } } }
    assert.equal("f64[1,2,1] {{{2}, {2}}}", tostring(ccw.call(lib.solve_f64, { Ai, Aj, Ax, b }, "f64[1,2,1]")))
    assert.equal("f64[1,2,1] {{{8}, {28}}}", tostring(ccw.call(lib.dot_f64, { Ai, Aj, Ax, b }, "f64[1,2,1]")))
  end)

  with_klujax("refuses an f32 for an f64", function(lib)
    local _, err = ccw.try(ccw.call, lib.solve_f64, { ccw.s32 { 0, 1, 1 }, ccw.s32 { 0, 0, 1 },
      ccw.f32 { { 2, 1, 3 } }, ccw.f64 { { { 4 }, { 8 } } } }, "f64[1,2,1]")
    assert.equal("INVALID_ARGUMENT", err.code)
    assert.same({ 2 }, err.operands)
    assert.equal("solve_f64: arg 2: expected f64[*], got f32[1,3]", err.message)
  end)

  with_klujax("is found by path, by PYTHONPATH and by its file", function()
    assert.equal(klujax .. "\n", run(("PYTHONPATH='%s'"):format(folder), 'print(ccw.load("python:klujax_cpp"):path())'))
    assert.equal(klujax, ccw.load("python:" .. klujax):path()) -- which is imported already
    assert.equal(klujax, ccw.load("python:klujax_cpp", { path = { "/nowhere", folder } }):path())
  end)

  with_klujax("has near names for one that is not there", function(lib)
    local _, err = ccw.try(lib.handler, lib, "solve_f65")
    assert.equal(("NOT_FOUND: %s: has no handler 'solve_f65'; near: solve_f64"):format(klujax), tostring(err))
    _, err = ccw.try(lib.handler, lib, "KLUNumeric")
    assert.equal("NOT_FOUND", err.code)
  end)

  with_klujax("is registered and called by name", function(lib)
    ccw.register("klu.dot", lib.dot_f64, "cpu")
    local y = ccw.call("klu.dot", { ccw.s32 { 0 }, ccw.s32 { 0 }, ccw.f64 { { 2 } }, ccw.f64 { { { 4 } } } }, "f64[1,1,1]")
    assert.equal(8, y.flat[1])
  end)
end)

describe("CC-35 a Python module", function()
  it("that is not there is not found", function()
    local _, err = ccw.try(ccw.load, "python:ccw_no_such_module")
    assert.equal("NOT_FOUND", err.code)
    assert.matches("^Python 3%.%d+%.%d+ finds no module 'ccw_no_such_module': ModuleNotFoundError: ", err.message)
  end)

  it("that cannot be imported says why, in Python's words", function()
    support.write("ccw_bad_module.py", "raise ValueError('not today')\n")
    local _, err = ccw.try(ccw.load, "python:ccw_bad_module", { path = support.temporary() })
    assert.equal("FAILED_PRECONDITION", err.code)
    assert.matches("cannot import 'ccw_bad_module': ValueError: not today$", err.message)
    support.write("ccw_needs_module.py", "import ccw_not_there\n")
    _, err = ccw.try(ccw.load, "python:ccw_needs_module", { path = support.temporary() })
    assert.equal("FAILED_PRECONDITION", err.code)
    assert.matches("No module named 'ccw_not_there'", err.message, 1, true)
  end)

  it("gives capsules from attributes, dictionaries and functions that say that they take nothing", function()
    support.write("ccw_capsules.py", ([[
import ctypes
lib = ctypes.CDLL(%q)
new = ctypes.pythonapi.PyCapsule_New
new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
NAME = b"xla._CUSTOM_CALL_TARGET"
OTHER = b"something else"
def address(name): return ctypes.cast(getattr(lib, name), ctypes.c_void_p).value
direct = new(address("nothing"), None, None)
named_capsule = new(address("nothing"), NAME, None)
by_platform = {"cpu": {"op": new(address("copy"), None, None)}, "cuda": {"op": new(address("increment"), None, None)}}
by_name = {"from_dictionary": new(address("copy"), NAME, None), "bundle": {"execute": new(address("nothing"), None, None)}}
staged = {"instantiate": new(address("nothing"), None, None), "execute": new(address("nothing"), None, None)}
wrong_name = new(address("nothing"), OTHER, None)
data = (ctypes.c_char * 16)()
not_code = new(ctypes.addressof(data), None, None)
called = []
def registrations():
    "registrations() -> dict"
    called.append("registrations")
    return {"from_function": new(address("increment"), None, None)}
def capsule_maker():
    "capsule_maker() -> types.CapsuleType"
    return new(address("copy"), None, None)
def says_nothing():
    called.append("says_nothing")
    return new(address("nothing"), None, None)
def takes_one(x):
    "takes_one(x: int) -> capsule"
    called.append("takes_one")
def ends():
    "Ends the process."
    import os
    os._exit(1)
def leaves():
    "leaves() -> capsule"
    raise SystemExit(1)
class Mute(Exception):
    def __str__(self): raise ValueError("not even this")
def mute():
    "mute() -> capsule"
    raise Mute()
class Odd:
    def __call__(self): return direct
    @property
    def __nb_signature__(self): raise Mute()
odd = Odd()
two_lines = {"a\nb": new(address("copy"), None, None)}
def fails():
    "fails() -> capsule"
    raise RuntimeError("no")
]]):format(support.library "plain"))
    local lib = ccw.load("python:ccw_capsules", { path = support.temporary() })
    local names = lib:names()
    table.sort(names)
    assert.same({ "bundle", "capsule_maker", "cpu.op", "cuda.op", "direct", "from_dictionary", "from_function",
      "named_capsule", "staged" }, names)
    assert.equal("f32[1] {2}", tostring(ccw.call(lib.from_function, { ccw.f32 { 1 } }, "f32[1]")))
    assert.same({ "instantiate", "execute" }, lib.staged.stages)
    assert.equal("direct", lib.direct.name)

    -- others when they are named
    assert.equal("says_nothing", lib.says_nothing.name)
    local _, err = ccw.try(lib.handler, lib, "wrong_name")
    assert.matches("'wrong_name' is no handler: its capsule is named otherwise than a handler's", err.message, 1, true)
    _, err = ccw.try(lib.handler, lib, "not_code")
    assert.matches("'not_code' is no handler: its capsule does not point to code", err.message, 1, true)
    for name, says in pairs { takes_one = "takes_one(x: int) -> capsule", ends = "Ends the process." } do
      _, err = ccw.try(lib.handler, lib, name)
      assert.matches(("'%s': TypeError: a function that does not say that it takes nothing and gives a handler, as in " ..
        "\"%s() -> capsule\"; it says '%s'"):format(name, name, says), err.message, 1, true)
    end
    for name, says in pairs { leaves = "SystemExit: 1", mute = "Mute", odd = "Mute" } do
      _, err = ccw.try(lib.handler, lib, name)
      assert.matches(("'%s': %s$"):format(name, says), err.message)
    end
    _, err = ccw.try(lib.handler, lib, "fails")
    assert.matches("RuntimeError: no", err.message, 1, true)
  end)

  it("has its types of state registered, case C54", function()
    support.write("ccw_types.py", ([[
import ctypes
lib = ctypes.CDLL(%q)
new = ctypes.pythonapi.PyCapsule_New
new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
class Info(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("extension", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]
ids = [ctypes.c_int64(0) for _ in range(3)]
info = Info(24, None, ctypes.cast(lib.nothing, ctypes.c_void_p).value)
def capsule(x): return new(ctypes.addressof(x), None, None)
types = {"PyState": {"type_id": capsule(ids[0]), "type_info": capsule(info)}, "PyData": {"type_id": capsule(ids[1])}}
def PyMade():
    "PyMade() -> dict"
    return {"type_id": capsule(ids[2]), "type_info": capsule(info)}
broken = {"type_id": new(8, None, None)}
]]):format(support.library "plain"))
    local function registered()
      local found = {}
      for _, type in ipairs(ccw.types()) do
        if type.name:find "Py%u" then found[#found + 1] = type.name:match "[^/]+$" .. " " .. tostring(type.state) end
      end
      table.sort(found)
      return found
    end
    for _ = 1, 2 do -- the second time they are there
      ccw.load("python:ccw_types", { path = support.temporary() })
      assert.same({ "PyData false", "PyMade true", "PyState true" }, registered())
    end
    support.sh(("cp '%s/ccw_types.py' '%s/ccw_types_too.py'"):format(support.temporary(), support.temporary()))
    ccw.load("python:ccw_types_too", { path = support.temporary() })
    assert.same({ "PyData false", "PyMade true", "PyState true", "ccw_types_too.py: PyData false", "ccw_types_too.py: PyMade true",
      "ccw_types_too.py: PyState true" }, registered())
  end)

  it("needs the modules of Python where PYTHONHOME says", function()
    assert.equal("UNAVAILABLE: PYTHONHOME is /nowhere, where there are no modules of Python 3.11\ngoing on\n",
      (run("PYTHONHOME=/nowhere", 'print(select(2, ccw.try(ccw.load, "python:json"))) print "going on"')
        :gsub("3%.%d+", "3.11")))
  end)

  it("is sought in folders whose names are no text", function()
    support.sh(("mkdir -p '%s/\xff' && echo > '%s/\xff/ccw_odd_folder.py'"):format(support.temporary(), support.temporary()))
    local lib = ccw.load("python:ccw_odd_folder", { path = support.temporary() .. "/\xff" })
    assert.matches("/\\udcff/ccw_odd_folder.py: no handlers", tostring(lib), 1, true)
    support.refuses("bad argument #2 to 'load' (path[1]: the folder holds a NUL)", ccw.load, "python:x", { path = "/a\0b" })
  end)

  it("needs a libpython, and says so where the one that was named is none", function()
    assert.matches("^UNAVAILABLE: CCW_LIBPYTHON is /nowhere.so, which cannot be opened: /nowhere.so: cannot open shared object",
      run("CCW_LIBPYTHON=/nowhere.so", 'print(select(2, ccw.try(ccw.load, "python:json")))'))
  end)

  it("without handlers says that it has none", function()
    assert.matches("json/__init__.py: no handlers$", tostring(ccw.load "python:json"))
  end)

  it("is NOT_FOUND when its file is not there", function()
    local _, err = ccw.try(ccw.load, "python:./nowhere.so")
    assert.equal("NOT_FOUND", err.code)
  end)

  it("is sought in the caller's folders first, then in PYTHONPATH, and last in ccw's own", function()
    local first, second = support.temporary() .. "/first", support.temporary() .. "/second"
    os.execute(("mkdir -p '%s' '%s'"):format(first, second))
    for _, place in ipairs { "first", "second" } do support.write(place .. "/ccw_ordered.py", "") end
    support.write("second/ccw_second_only.py", "")
    local code = ('print((ccw.load("python:ccw_ordered"%s):path():match "/(%%a+)/ccw_ordered"))')
    assert.equal("second\n", run(("PYTHONPATH='%s'"):format(second), code:format ""))
    assert.equal("first\n", run(("PYTHONPATH='%s'"):format(second), code:format((", {path = %q}"):format(first))))
  end)

  it("comes from the interpreter that belongs to the libpython, whatever python3 is on PATH", function()
    local bin = support.temporary() .. "/bin"
    os.execute(("mkdir -p '%s' && printf '#!/bin/sh\\necho wrong\\n' > '%s/python3' && chmod +x '%s/python3'"):format(bin, bin, bin))
    support.write("ccw_where.py", "import sys\nopen(sys.path[0] + '/where', 'w').write(sys.prefix + ' ' + sys.executable)\n")
    local output = run(("PATH='%s':/usr/bin:/bin"):format(bin),
      ('ccw.load("python:ccw_where", {path = %q})'):format(support.temporary()))
    assert.equal("", output)
    local file <close> = assert(io.open(support.temporary() .. "/where"))
    assert.matches("^/usr /usr/bin/python3%.%d+$", file:read "a")
  end)

  it("of a virtual environment is found", function()
    local environment = (os.getenv "CCW_VENV" or support.build .. "/venv") .. "/jax-0.10.2"
    if not support.exists(environment .. "/pyvenv.cfg") then return pending "JAX 0.10.2 could not be had" end
    local output = run(("VIRTUAL_ENV='%s'"):format(environment), [[
      local lapack = ccw.load "python:jaxlib.cpu._lapack"
      print(#lapack:names() > 50, lapack.lapack_sgeqrf_ffi.version)
    ]])
    assert.matches("^true\t0%.%d\n$", output)
  end)
end)

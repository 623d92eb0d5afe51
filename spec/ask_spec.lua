-- CC-2, CC-29: every handler has a signature. C handlers carry it, those of the official C++ binding are asked for it.
local ccw = require "ccw"
local core = require "ccw.core"
local ask = require "ccw.ask"
local inspect = require "ccw.inspect"
local support = require "spec.support"

--- The lines of print(library) behind the first, sorted.
local function listed(library)
  local lines = {}
  for line in tostring(library):gmatch "\n  ([^\n]+)" do lines[#lines + 1] = line end
  return lines
end

--- Lines of text, as a list; a line that ends with a backslash goes on in the next.
local function lines(text)
  local list = {}
  text = text:gsub("\\\n *", "")
  for line in text:gmatch " *(%S[^\n]*)" do list[#list + 1] = line end
  return list
end

local kernels = lines [[
  add_mod_device(@stream, b: f32[?], c: f32[?]) -> (a: f32[?])
  add_mod(b: f32[?], c: f32[?]) -> (a: f32[?])
  attribute_zoo() -> (y: f64[?]) {flag: pred, a: s8, b: s16, c: s32, d: s64, e: u8, f: u16, g: u32, h: u64, i: f32, \
    j: f64, text: string, counts: s32[], weights: f32[], sky: s32 = sun(0)|rain(1)|snow(2), limits: {lo: s64, \
    hi: s64}, part: share, more: {...}, "odd name": s64}
  axpy(x: any[*], y: any[*]) -> (z: any[*]) {a: f64}
  reduce(x: f32[?,?]) -> (y: f32[?]) {how: s32 = sum(0)|mean(1)|largest(2)}
  scale(x: f32[?]) -> (y: f32[?]) {s: f32}
]]

describe("a handler in C", function()
  local lib = ccw.load(support.kernels)

  it("carries its signature, enums (case C14) and structs (case C17) spelt out", function()
    local present = {}
    for _, line in ipairs(listed(lib)) do present[line] = true end
    for _, line in ipairs(kernels) do assert.is_true(present[line], line) end
    assert.equal("scale(x: f32[?]) -> (y: f32[?]) {s: f32}", tostring(lib.scale.signature))
    assert.is_nil(lib.scale.no_signature)
    assert.matches("^scale%(x: f32%[%?%]%) %-> %(y: f32%[%?%]%) {s: f32}\n  %(FFI 0.1; [^\n]*libccw_kernels.so%)$",
      tostring(lib.scale))
  end)

  it("is never asked: its file is read", function()
    local asked, run_child = false, core.run
    core.run = function(...)
      asked = true
      return run_child(...)
    end
    local found = inspect.inspect(support.kernels, {})
    local text = tostring(ccw.load(support.kernels))
    core.run = run_child
    assert.same(listed(lib), found)
    assert.matches("scale(x: f32[?])", text, 1, true)
    assert.is_false(asked)
  end)

  it("carries it into a Python module, too", function()
    support.write("ccw_carrying.py", ([[
import ctypes
new = ctypes.pythonapi.PyCapsule_New
new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
mine = new(ctypes.cast(ctypes.CDLL(%q).scale, ctypes.c_void_p).value, None, None)
]]):format(support.kernels))
    local module = ccw.load("python:ccw_carrying", { path = support.temporary() })
    assert.equal("scale(x: f32[?]) -> (y: f32[?]) {s: f32}", tostring(module.mine.signature))
    assert.same({ "mine(x: f32[?]) -> (y: f32[?]) {s: f32}" }, listed(module))
  end)

  it("keeps its signature under a name of another's", function()
    ccw.register("ask_spec.scale", lib.scale)
    assert.equal(tostring(lib.scale.signature), tostring(ccw.find("ask_spec.scale").signature))
  end)
end)

describe("signature data", function()
  local lies = {
    { "bad_kind", "ccw_kind_unended_kind: no text: nothing ends its 3 bytes" },
    { "beyond", "ccw_signature_beyond: its 1073741824 bytes are not all in the library" },
    { "binary", "ccw_signature_binary: signature: expected a name or '(', got '\\xFF'\n  \\xFF\\x01\\x80\n  ^" },
    { "circular", "ccw_signature_circular: signature: here: there: ", "too many kinds by name, or in each other\n" },
    { "code", "ccw_signature_code: a symbol that is no data" },
    { "damaged", "ccw_signature_damaged: signature: no dtype is called 'f33'\n  damaged(x: f33[n])\n             ^" },
    { "ended_twice", "ccw_signature_ended_twice: no text: it ends after 13 of its 16 bytes" },
    { "nothing", "ccw_signature_nothing: signature: expected a name or '(', got the end\n  \n  ^" },
    { "nowhere", "ccw_signature_nowhere: " },
    { "sizeless", "ccw_signature_sizeless: no text: nothing ends its 0 bytes" },
    { "unended", "ccw_signature_unended: no text: nothing ends its 10 bytes" },
  }
  local path = support.library "lies"

  it("that is damaged is reported, in this process", function()
    local lib = ccw.load(path)
    for _, lie in ipairs(lies) do
      local handler = lib[lie[1]]
      assert.is_nil(handler.signature)
      assert.equal(lie[2], handler.no_signature:sub(1, #lie[2]))
      assert.matches(lie[3] or "", handler.no_signature, 1, true)
      assert.matches("^" .. lie[1] .. " %(FFI 0.1; ", tostring(handler))
    end
    assert.equal("ccw_signature_nowhere: a symbol that is no data", lib.nowhere.no_signature)
    assert.equal("honest(x: f32[n]) {k: s32 = one(1)}", tostring(lib.honest.signature))
    assert.matches("\n  damaged: ccw_signature_damaged: signature: no dtype is called 'f33'\n    damaged(x: f33[n])\n               ^\n",
      tostring(lib), 1, true)
  end)

  it("that is damaged is reported, in a file that is read", function()
    local text = table.concat((inspect.inspect(path, {})), "\n")
    for _, lie in ipairs(lies) do assert.matches(lie[1] .. ": " .. lie[2], text, 1, true) end
    assert.matches("ccw_signature_nowhere: its 8 bytes are not all in the library", text, 1, true)
    assert.matches("honest(x: f32[n]) {k: s32 = one(1)}", text, 1, true)
  end)

  it("is read of files that are cut or damaged", function()
    local file <close> = assert(io.open(path, "rb"))
    local bytes = file:read "a"
    for at = 64, #bytes, math.max(1, #bytes // 150) do
      local damaged = support.write("damaged.so", bytes:sub(1, at) .. "\xFF\xFF\xFF\x7F" .. bytes:sub(at + 5))
      ccw.try(core.file_signatures, damaged)
      ccw.try(core.file_signatures, support.write("cut.so", bytes:sub(1, at)))
    end
  end)
end)

local official = lines [[
  AddMod(f32[?], f32[?]) -> (f32[?])
  AllAttributes() -> (f64[?]) {b: pred, s8: s8, s16: s16, s32: s32, s64: s64, u8: u8, u16: u16, u32: u32, u64: u64, \
    f32: f32, f64: f64, text: string, array_s32: s32[], array_f32: f32[], array_u8: u8[], inner: {...}}
  BoolAttribute() {b: pred}
  Context(@run_id, @device_ordinal) -> (s64[?])
  Describe(any[*]) -> (s64[?])
  DoubleAny(any[*]) -> (any[*])
  EchoArray() -> (s64[?]) {v: s64[]}
  EchoNames() -> (?)
  Fail() {code: s32, message: string}
  FourToThree(f32[?], f32[?], f32[?], f32[?]) -> (f32[?], f32[?], f32[?])
  NeedsStream(@stream)
  Recordable()
  S64Attribute() {b: s64}
  Scale(f32[?]) -> (f32[?]) {s: f32}
  Split(f32[?]) -> (f32[?], s32[?])
  SumAll(...) -> (...)
  TakeBF16(bf16[*]) -> (f32[?])
  TakeC64(c64[*]) -> (f32[?])
  TakeU32(u32[*]) -> (f32[?])
  Throws() {what: s64}
  Twice(f32[]) -> (f32[])
]]

for _, version in ipairs { "0_3", "0_5" } do
  describe("a handler of the official binding, API " .. version, function()
    local lib = support.official(version)
    local function with_headers(name, body)
      it(name, function() return lib and body() or not lib and pending "the headers of jaxlib could not be had" end)
    end

    with_headers("tells its signature when it is asked", function()
      assert.same(official, listed(lib))
      assert.same(official, (inspect.inspect(lib:path(), {})))
    end)

    with_headers("prints it, with where it came from", function()
      assert.equal(("Scale(f32[?]) -> (f32[?]) {s: f32}\n  (FFI %s; %s)"):format(version:gsub("_", "."), lib:path()),
        tostring(lib.Scale))
    end)
  end)
end

-- What all generations tell alike. A single operand, beside which nothing else would stay bad, is not asked about, nor is what
-- cannot fail: scratch memory, threads, a dictionary of all attributes, operands that are all optional or remaining.
local probed = [[
  AllDictionary(f32[?]) -> (f32[?])
  AllOne() {text: string}
  AllStruct(f32[?]) {lo: s64, inner: {flag: pred, n: s32, big: s64}, one: {text: string}, late: {...}, lo2: f32}
  Arrays() {s8: s8[], s16: s16[], s32: s32[], s64: s64[], u8: u8[], u16: u16[], u32: u32[], u64: u64[], f32: f32[], f64: f64[]}
  Contexts(@stream, @user_data(Thing), @state(Thing), @run_id, @device_ordinal, f32[?])
  Dtypes(pred[*], s8[*], s16[*], s32[*], s64[*], u8[*], u16[*], u32[*], u64[*]) -> \
    (f16[*], bf16[*], f32[*], f64[*], c64[*], c128[*], token[])
  Initialize(f32[?]) {s: f32}
  Instantiate() {n: s64, s: f32}
  Interleaved(@stream, f32[?], s32[]) -> (f32[?], f64[*]) {b: f32, a: s32}
  Nothing()
  OddNames() {b: f32, ab: s32, a: s64, "a b": f64, "\"": pred, "a.b": s8, A: u8, "é": u16, vs: u32}
  OneAndOptional(?, ?: s32[])
  OneAnyRet() -> (?)
  OneArg(?)
  OneArray() {list: s32[]}
  OneDictionary() {late: {...}}
  OneOptional(...)
  OneString() {text: string}
  OneStruct() {flags: {...}}
  OnlyOptional(...)
  OnlyRemaining(...) -> (...)
  OptionalRemaining() -> (...)
  Others() {text: string, late: {...}, pointer: pointer, mode: s8, wide: u64, flags: {flag: pred, n: s32, big: s64}, \
    one: {text: string}, outer: {lo: s64, inner: {flag: pred, n: s32, big: s64}, one: {text: string}, late: {...}, lo2: f32}}
  OwnTypes(?, f32[?]) {mine: ?, strange: ?, s: f32}
  Prepare(f32[?]) -> (s32[])
  Quiet()
  Ranks(token[], f32[], f32[?], f32[?,?], f32[?,?,?], f32[?,?,?,?,?,?,?], any[*]) -> (any[*], s32[?,?,?,?])
  RegularOptional(f32[?], f32[?], ?: s32[]) -> (f32[?], ?: s32[], ?: any[*])
  RegularOptionalRemaining(f32[?], ?: s32[], ?: f32[?], ...) -> (f32[?], f32[?], ?: s32[], ...)
  RegularRemaining(f32[?], ...) -> (s32[], ...)
  Scalars() {flag: pred, s8: s8, s16: s16, s32: s32, s64: s64, u8: u8, u16: u16, u32: u32, u64: u64, f32: f32, \
    f64: f64, c64: c64, c128: c128}
  Throwing(...) -> (...) {...}
  Twofold() -> (f32[?]) {x: f32}
]]

-- What a generation can bind, from its minor version of the API on.
local since = {
  { 2, "LateContext(f32[?]) -> (f32[?])" },
  { 2, "Variant() {either: ?, s: f32}" },
  { 3, "States(@state(Thing), @prepared(Thing), @initialized(Thing), f32[?])" },
  { 4, "Extensions(@run_id, @extension(Clock), f32[?])" },
  { 4, "Record(f32[?], s32[])" },
  { 5, "Options(@custom_options, f32[?])" },
}

-- The headers of jaxlib 0.8.1 and before refuse what is not bound. That attributes are taken where none has a name shows that
-- all of them are bound; and that no operands are bound is said.
local oldest = {
  ["AllDictionary(f32[?]) -> (f32[?])"] = "AllDictionary(f32[?]) -> (f32[?]) {...}",
  ["Throwing(...) -> (...) {...}"] = "Throwing()",
}

describe("everything that can be bound (cases C14, C17, C41) #plain", function()
  for version, minor in pairs { ["0.7.2"] = 1, ["0.8.3"] = 2, ["0.10.2"] = 3, ["0.11.2"] = 4, ["0.12.0.1"] = 5 } do
    it("is told with the headers of jaxlib " .. version .. ", and no body runs", function()
      local path = support.library("probe_" .. version)
      if not support.exists(path) then return pending "built with gcc where the headers could be had" end
      local expected = lines(probed)
      for _, row in ipairs(since) do
        if minor >= row[1] then expected[#expected + 1] = row[2] end
      end
      for i, line in ipairs(minor == 1 and expected or {}) do expected[i] = oldest[line] or line end
      table.sort(expected)
      expected[#expected + 1] = "type Thing"
      assert.same(expected, listed(ccw.load(path)))
    end)
  end
end)

describe("klujax", function()
  it("tells the signatures of all its handlers", function()
    local folder = os.getenv "CCW_KLUJAX" or support.build .. "/python"
    if support.sh(("ls '%s'/klujax_cpp.*.so"):format(folder)):find "No such file" then return pending "klujax could not be had" end
    local lib = ccw.load("python:klujax_cpp", { path = folder })
    local expected = lines [[
      analyze(s32[*], s32[*], s32[*]) -> (u64[*])
      dot_c128(s32[*], s32[*], c128[*], c128[*]) -> (c128[*])
      dot_f64(s32[*], s32[*], f64[*], f64[*]) -> (f64[*])
      factor_c128(s32[*], s32[*], c128[*], u64[*]) -> (u64[*])
      factor_f64(s32[*], s32[*], f64[*], u64[*]) -> (u64[*])
      free_numeric(u64[*]) -> (s32[*])
      free_symbolic(u64[*]) -> (s32[*])
      refactor_and_solve_c128(s32[*], s32[*], c128[*], c128[*], u64[*], u64[*]) -> (c128[*], u64[*])
      refactor_and_solve_f64(s32[*], s32[*], f64[*], f64[*], u64[*], u64[*]) -> (f64[*], u64[*])
      refactor_c128(s32[*], s32[*], c128[*], u64[*], u64[*]) -> (u64[*])
      refactor_f64(s32[*], s32[*], f64[*], u64[*], u64[*]) -> (u64[*])
      solve_c128(s32[*], s32[*], c128[*], c128[*]) -> (c128[*])
      solve_f64(s32[*], s32[*], f64[*], f64[*]) -> (f64[*])
      solve_with_numeric_c128(u64[*], u64[*], c128[*]) -> (c128[*])
      solve_with_numeric_f64(u64[*], u64[*], f64[*]) -> (f64[*])
      solve_with_symbol_c128(s32[*], s32[*], c128[*], c128[*], u64[*]) -> (c128[*])
      solve_with_symbol_f64(s32[*], s32[*], f64[*], f64[*], u64[*]) -> (f64[*])
      tsolve_with_numeric_c128(u64[*], u64[*], c128[*]) -> (c128[*])
      tsolve_with_numeric_f64(u64[*], u64[*], f64[*]) -> (f64[*])
      tsolve_with_symbol_c128(s32[*], s32[*], c128[*], c128[*], u64[*]) -> (c128[*])
      tsolve_with_symbol_f64(s32[*], s32[*], f64[*], f64[*], u64[*]) -> (f64[*])
    ]]
    assert.equal(21, #expected)
    assert.same(expected, listed(lib))
    assert.same(expected, lines((support.sh(("PYTHONPATH='%s' '%s' inspect python:klujax_cpp"):format(folder, support.program)))))
    assert.equal("solve_f64(s32[*], s32[*], f64[*], f64[*]) -> (f64[*])", tostring(lib.solve_f64.signature))
  end)
end)

describe("asking", function()
  local no_signature = "it carries no signature, and it is not of the official C++ binding, which could be asked"

  it("goes on behind a handler that hangs, crashes or ends the process, and says which", function()
    local lib = ccw.load(support.library "deadly")
    local signatures, reasons = {}, {}
    for _, name in ipairs(lib:names()) do
      local handler = lib[name]
      signatures[name], reasons[name] = tostring(handler.signature), handler.no_signature
    end
    assert.same({ a_first = "a_first(?) -> (?)", z_last = "z_last()", crashes_asked = "nil", exits_asked = "nil",
      exits_well_asked = "nil", hangs_asked = "nil", talks_asked = "nil", strange_asked = "strange_asked(...) -> (...) {...}",
      wild_asked = "wild_asked(...) -> (...) {...}", wordy_asked = "wordy_asked(...) {...}" }, signatures)
    assert.matches("^asking ended it: %l+ %d+$", reasons.crashes_asked) -- a sanitizer ends it otherwise
    reasons.crashes_asked = nil
    assert.same({ exits_asked = "asking ended it: exit 3", exits_well_asked = "asking ended it: exit 0",
      hangs_asked = "asking ended it: it did not answer in time", talks_asked = no_signature }, reasons)
    assert.matches("\n  hangs_asked: asking ended it: it did not answer in time\n", tostring(lib), 1, true)
  end)

  it("takes one run of a program for all handlers of a library, and remembers", function()
    if not support.exists(support.library "official_0_5") then return pending "the headers of jaxlib could not be had" end
    local file <close> = assert(io.open(support.library "official_0_5", "rb"))
    local lib = ccw.load(support.write("once.so", file:read "a"))
    local runs, run_child = 0, core.run
    core.run = function(...)
      runs = runs + 1
      return run_child(...)
    end
    local texts = { tostring(lib.Scale), tostring(lib), tostring(lib.Twice.signature), tostring(ccw.load(lib:path()).Fail) }
    core.run = run_child
    assert.equal(4, #texts)
    assert.equal(1, runs)
  end)

  it("leaves out what is no handler", function()
    local text = tostring(ccw.load(support.library "plain"))
    assert.is_nil(text:find("silent", 1, true))
    assert.matches("\n  from_the_future: it was built for FFI API 0.6; this is 0.5, which runs handlers of 0.1 to 0.5", text, 1, true)
    assert.matches(", increment, nothing, odd_preds, [^\n]*: it carries no signature", text)
  end)

  it("is for what a library registers by itself, too", function()
    local path = support.library "registers_itself_cc"
    if not support.exists(path) then return pending "the headers of jaxlib could not be had" end
    ccw.load(path)
    assert.equal('"self.three"() -> (?)', tostring(ccw.find("self.three").signature))
    local found, good = inspect.inspect(path, {})
    assert.is_true(good)
    assert.same({ '"self.three"() -> (?)  registered by itself on host' }, found)
  end)

  it("is for the execute function, where there are other stages", function()
    local lib = support.official()
    if not lib then return pending "the headers of jaxlib could not be had" end
    ccw.register("ask_spec.staged", { execute = lib.Scale, prepare = lib.Recordable })
    assert.equal("Scale(f32[?]) -> (f32[?]) {s: f32}", tostring(ccw.find("ask_spec.staged").signature))
    ccw.register("ask_spec.staged_in_c", { execute = ccw.load(support.kernels).scale, prepare = lib.Recordable })
    assert.equal("scale(x: f32[?]) -> (y: f32[?]) {s: f32}", tostring(ccw.find("ask_spec.staged_in_c").signature))
  end)

  it("is not possible once the file has changed", function()
    if not support.exists(support.library "official_0_5") then return pending "the headers of jaxlib could not be had" end
    local file <close> = assert(io.open(support.library "official_0_5", "rb"))
    local path = support.write("changing.so", file:read "a")
    local lib = ccw.load(path)
    support.sh(("cp '%s' '%s.new' && mv '%s.new' '%s'"):format(path, path, path, path))
    assert.equal(path .. " has changed since it was loaded, and can no longer be asked", lib.Scale.no_signature)
    assert.equal("Scale(f32[?]) -> (f32[?]) {s: f32}", tostring(ccw.load(path).Scale.signature))
  end)

  it("says so where no program can be run", function()
    local lib, run_child = ccw.load(support.library "plain"), core.run
    core.run = function() return "\tccw\tloaded\n", "signal 9" end
    local _, failure = ask.ask { library = lib:path() }
    core.run = function() require "ccw.errors".raise("UNAVAILABLE", "cannot run it") end
    local _, err = ccw.try(ask.ask, { library = lib:path() })
    core.run = run_child
    assert.equal("asking ended it: signal 9", failure)
    assert.equal("UNAVAILABLE: cannot run it", tostring(err))
  end)

  it("works in a stock lua5.4, also where there is no program ccw beside the module #plain", function()
    if not support.exists(support.library "official_0_5") then return pending "the headers of jaxlib could not be had" end
    local run = [[LUA_PATH="%s/lua/?.lua;%s/lua/?/init.lua;;" LUA_CPATH="%s/lua/?.so;;" lua5.4 -e '
      %s print(require "ccw".load("%s").Scale.signature)']]
    local away = 'local c = require "ccw.core" c.home = function() end'
    for _, before in ipairs { "", away } do
      assert.equal("Scale(f32[?]) -> (f32[?]) {s: f32}\n", (support.sh(run:format(support.build, support.build, support.build,
        before, support.library "official_0_5"))))
    end
  end)

  it("survives want of memory", function()
    local lib = support.official()
    if not lib then return pending "the headers of jaxlib could not be had" end
    local handler, text = lib.AllAttributes, nil
    local before = core.memory().blocks
    for n = 0, 400, 7 do
      local fresh = lib:handler "AllAttributes"
      core.fail_memory(n)
      local ok, result = pcall(core.handler_ask, fresh)
      core.fail_memory()
      text = ok and tostring(result) or nil
      assert.is_true(ok or result.code == "RESOURCE_EXHAUSTED" or result.code == "FAILED_PRECONDITION")
    end
    collectgarbage()
    assert.is_true(core.memory().blocks <= before + 50)
    assert.is_truthy(handler)
    assert.is_true(text == nil or text:find "AllAttributes" ~= nil)
  end)
end)

describe("a declared signature", function()
  local lib = support.official()
  local function with_headers(name, body)
    it(name, function() return lib and body() or not lib and pending "the headers of jaxlib could not be had" end)
  end

  with_headers("adds names and relations to what the binary tells", function()
    local scale = lib:handler("Scale", "(x: f32[n]) -> (y: f32[n]) {s: f32}")
    assert.equal("(x: f32[n]) -> (y: f32[n]) {s: f32}", tostring(scale.signature))
    assert.matches("^Scale%(x: f32%[n%]%) %-> %(y: f32%[n%]%) {s: f32}\n", tostring(scale))
    assert.equal("Scale(f32[?]) -> (f32[?]) {s: f32}", tostring(lib.Scale.signature))
    assert.equal("x", lib:handler("Scale", ccw.signature "Scale(x: f32[4]) -> (f32[?]) {s: f32}").signature:parameters()[1].name)
    assert.equal("f32[2] {2, 4}", tostring(ccw.call(scale, { ccw.f32 { 1, 2 } }, "f32[2]", { s = ccw.f32(2) })))
  end)

  with_headers("must agree with it", function()
    local _, err = ccw.try(lib.handler, lib, "Scale", "(x: f64[n]) -> (y: f32[n,m]) {s: f64, t: s32}")
    assert.equal("INVALID_ARGUMENT", err.code)
    assert.equal([[
Scale: 4 disagreements
  arg 0 'x': declared f64[n], the binary binds f32[?]
  result 0 'y': declared f32[n,m], the binary binds f32[?]
  attribute 's': declared f64, the binary binds f32
  attribute 't': declared, and the binary binds none of that name]], err.message)
    _, err = ccw.try(lib.handler, lib, "Scale", "(x: f32[n]) -> (")
    assert.equal("signature: expected a dtype, as in f32[n], any[*] and T[n], got the end\n  (x: f32[n]) -> (\n" ..
      (" "):rep(18) .. "^", err.message)
  end)

  it("must agree with what a C handler carries", function()
    local own = ccw.load(support.kernels)
    assert.equal("(x: f32[n]) -> (y: f32[n]) {s: f32}",
      tostring(own:handler("scale", "(x: f32[n]) -> (y: f32[n]) {s: f32}").signature))
    local _, err = ccw.try(own.handler, own, "scale", "(x: f32[n]) -> (y: f32[n]) {s: f64}")
    assert.equal("scale: attribute 's': declared f64, the binary binds f32", err.message)
  end)

  it("is all there is where the binary tells nothing", function()
    local plain = ccw.load(support.library "plain")
    assert.matches("^copy%(x: T%[%*%]%) %-> %(y: T%[%*%]%)\n", tostring(plain:handler("copy", "(x: T[*]) -> (y: T[*])")))
    support.refuses("bad argument #2 to 'handler' (expected a signature or its text, got number)", plain.handler, plain, "copy", 1)
  end)
end)

describe("the prompt", function()
  local repl = require "ccw.repl"

  it("shows signatures behind a question mark", function()
    local session = repl.session()
    session:answer("local lib = ccw.load '" .. support.kernels .. "'")
    session:answer "local add = lib.add_mod"
    local function answer(source) return select(2, session:answer(source)) end
    assert.matches("^add_mod%(b: f32%[%?%], c: f32%[%?%]%) %-> %(a: f32%[%?%]%)\n  %(FFI 0.1; .-\nhandler: the functions",
      answer "?add")
    assert.matches("^scale%(x: f32%[%?%]%)", answer "?lib.scale")
    assert.matches("\n  reduce(x: f32[?,?]) -> (y: f32[?]) {how: s32 = sum(0)|mean(1)|largest(2)}\n", answer "?lib", 1, true)
    ccw.register("ask_spec_prompt", ccw.load(support.kernels).axpy)
    assert.matches("^axpy%(x: any%[%*%]", answer "?ask_spec_prompt")
    assert.matches("signature: what a handler binds", answer "?signature", 1, true)
    assert.matches("nothing is known of 'lib.nothing'", answer "?lib.nothing", 1, true)
  end)

  it("completes the methods of signatures, and the fields of handlers", function()
    local session = repl.session()
    session:answer("local h = ccw.load '" .. support.kernels .. "'.scale")
    session:answer "local s = h.signature"
    assert.equal("ters", (session:complete "s:parame"))
    assert.equal("ame", (session:complete "s.n"))
    assert.equal("", (session:complete "s:n"))
    assert.equal("nature", (session:complete "h.sig"))
  end)
end)

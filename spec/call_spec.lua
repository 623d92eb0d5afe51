-- CC-5, CC-7 to CC-9, CC-27, CC-28, CC-32, CC-33: calls.
local ccw = require "ccw"
local core = require "ccw.core"
local support = require "spec.support"
local refuses = support.refuses

local kernels = ccw.load(support.kernels)
local plain = ccw.load(support.library "plain")
local lib = support.official()

local function official(name, body)
  it(name, function()
    if not lib then return pending "the official headers could not be had" end
    body()
  end)
end

--- The error object of a call that fails.
local function failure(...)
  local value, err = ccw.try(ccw.call, ...)
  assert.is_nil(value)
  return err
end

describe("CC-28 the guide's example", function()
  for _, target in ipairs { "add_mod", "AddMod" } do
    it("A[i] = B[i % 128] + C[i], as " .. target, function()
      local from = kernels
      if target == "AddMod" then from = lib end
      if not from then return pending "the official headers could not be had" end
      ccw.register("guide." .. target, from[target], "Host")
      local b, c = ccw.iota "f32[128]", ccw.iota "f32[2048]"
      local a = ccw.call("guide." .. target, { b, c }, "f32[2048]")
      local expected = ccw.array("f32[2048]", function(i) return (i - 1) % 128 + (i - 1) end)
      assert.equal("equal", tostring(ccw.compare(a, expected)))
    end)
  end

  it("is checked by the handler", function()
    local b, c = ccw.array("f32[0]"), ccw.array("f32[3]", 1)
    assert.equal("INVALID_ARGUMENT: add_mod: execute: arg 0 'b': expected at least 1 element, got f32[0]",
      tostring(failure(kernels.add_mod, { b, c }, "f32[3]")))
    assert.equal("f32[0] {}", tostring(ccw.call(kernels.add_mod, { b, b }, "f32[0]")))
    assert.equal("INVALID_ARGUMENT: add_mod: execute: result 0 'a': expected f32[3], got f32[4]",
      tostring(failure(kernels.add_mod, { c, c }, "f32[4]")))
    assert.equal("INVALID_ARGUMENT: add_mod: expected 2 args, got 1",
      tostring(failure(kernels.add_mod, { c }, "f32[3]")))
  end)
end)

describe("CC-2 a call of a handler whose signature is known", function()
  local x = ccw.f32 { 1, 2 }
  local runs = 0
  local norm = ccw.bind "norm(x: T[r,n], w: T[n]) -> (y: T[r,n], sums: f32[r], more: f64[2]) {eps: f32, n: s8}":to(
    function(_, _, _, _, _, _, _) runs = runs + 1 end)
  local matrix, row = ccw.array "f32[3,2]", ccw.array "f32[2]"

  it("is refused before the handler runs, all of it in one report", function()
    local err = failure(norm, { matrix, x:as "f64" }, { "f32[3,2]", "f32[2]", "f64[2]" }, { eps = ccw.f64(1), m = 1 })
    assert.equal("norm: 5 bad operands\n  arg 1 'w': expected T[n] with T = f32 (captured from arg 0 'x'), got f64[2]\n" ..
      "  result 1 'sums': expected f32[r] with r = 3 (captured from arg 0 'x', dim 0), got f32[2]\n" ..
      "  attribute 'eps': expected f32, got f64\n  attribute 'n': expected s8, got none; present: 'eps', 'm'\n" ..
      "  attribute 'm': not expected; bound: 'eps', 'n'", err.message)
    assert.same({ 1 }, err.operands)
    assert.equal("norm", err.handler)
    assert.equal(0, runs)
  end)

  it("has its results left out where the names determine them", function()
    local y = ccw.call(norm, { matrix, row }, nil, { eps = 0, n = 1 })
    assert.same({ "f32[3,2]", "f32[3]", "f64[2]" }, { y[1].type, y[2].type, y[3].type })
    local call = ccw.prepare(norm, { matrix, row }, nil, { eps = 0, n = 1 })
    assert.equal("f32[3]", call()[2].type)
    assert.equal("f32[2] {4, 8}", tostring(ccw.call(ccw.bind "twice(x: f32[n]) -> (y: f32[n])":to(function(a, b)
      for i = 1, #a do b[i] = 4 * a[i] end
    end), { x })))
    assert.equal("INVALID_ARGUMENT: scale: result 0 'y': f32[?]: dim 0 is not determined by the operands: " ..
      "give the results, or a signature with names",
      tostring(failure(kernels.scale, { x }, nil, { s = 1 })))
    assert.equal("norm: arg 1 'w': expected T[n] with n = 2 (captured from arg 0 'x', dim 1), got f32[3]",
      failure(norm, { matrix, ccw.array "f32[3]" }, nil, {}).message)
  end)

  it("case C83: converts plain numbers to what is bound, by a stated rule", function()
    local bits
    local f = ccw.bind "f() {s: f32}":to(function(s) bits = ("%08X"):format(string.unpack("<I4", string.pack("<f", s))) end)
    local function given(s)
      ccw.call(f, {}, "()", { s = s })
      return bits
    end
    assert.equal("3727C5AC", given(1e-5))
    assert.equal("3DCCCCCD", given(0.1))
    assert.equal("40400000", given(3))
    assert.equal("4B800000", given(1 << 24))
    assert.equal("7F800000", given(math.huge))
    assert.equal("OUT_OF_RANGE: f: attribute 's': 1e+39 does not fit in f32", tostring(failure(f, {}, "()", { s = 1e39 })))
    assert.equal("OUT_OF_RANGE: f: attribute 's': 16777217 does not fit in f32", tostring(failure(f, {}, "()", { s = (1 << 24) + 1 })))
    local g = ccw.bind "g() {n: s8, u: u16, flag: pred, p: pointer}":to(function(n, u, flag, p)
      return nil, ("%d %d %s %d"):format(n, u, flag, p)
    end)
    local function g_of(n, u, flag) return failure(g, {}, "()", { n = n, u = u, flag = flag, p = 64 }).message end
    assert.equal("g: execute: -5 7 true 64", g_of(-5, 7.0, true))
    assert.equal("g: attribute 'n': 128 does not fit in s8", g_of(128, 7, true))
    assert.equal("g: attribute 'u': -1 does not fit in u16", g_of(1, -1, true))
    assert.matches("g: attribute 'n': 1.5 ", g_of(1.5, 1, true), 1, true)
    assert.equal("g: attribute 'flag': expected pred, got s64", g_of(1, 1, 1))
    assert.equal("g: attribute 'n': expected s8, got s64", g_of(ccw.s64(1), 1, true)) -- who says a type means it
  end)

  it("converts within arrays and dictionaries too, and takes the names of an enum", function()
    local f = ccw.bind "f() {w: f32[], none: s32[], r: {lo: s32, w: u8[]}, how: s32 = sum(0)|mean(1), d: {...}}":to(
      function(w, none, r, how, d)
        return nil, ("%s %s %d %s %s %s"):format(w, none, r.lo, r.w, how, math.type(d.x))
      end)
    assert.equal("f: execute: f32[2] {0.5, 1} s32[0] {} 7 u8[1] {200} mean integer", failure(f, {}, "()",
      { w = { 0.5, 1 }, none = {}, r = { lo = 7, w = { 200 } }, how = "mean", d = { x = 1 } }).message)
    assert.equal("f: attribute 'r.w'[2]: 256 does not fit in u8", failure(f, {}, "()",
      { w = { 1 }, none = {}, r = { lo = 7, w = { 200, 256 } }, how = 1, d = {} }).message)
    assert.equal("f: attribute 'how': expected mean, sum or its number, got \"median\"", failure(f, {}, "()",
      { w = { 1 }, none = {}, r = { lo = 7, w = {} }, how = "median", d = {} }).message)
    local how = ccw.bind "g() {how: s32 = sum(0)|mean(1)}":to(function(value) return nil, value end)
    assert.equal("g: execute: mean", failure(how, {}, "()", { how = "mean" }).message)
    assert.equal("g: attribute 'how': expected sum, mean or its number, got \"Mean\"; near: mean",
      failure(how, {}, "()", { how = "Mean" }).message)
  end)

  official("in C++ too", function()
    assert.equal("f32[2] {3, 6}", tostring(ccw.call(lib.Scale, { x }, "f32[2]", { s = 3 })))
    assert.equal("OUT_OF_RANGE: Scale: attribute 's': 1e+39 does not fit in f32",
      tostring(failure(lib.Scale, { x }, "f32[2]", { s = 1e39 })))
    local declared = ccw.load(lib:path()):handler("Scale", "(x: f32[n]) -> (y: f32[n]) {s: f32}")
    assert.equal("f32[2] {3, 6}", tostring(ccw.call(declared, { x }, nil, { s = 3 })))
    assert.equal("Scale: result 0 'y': expected f32[n] with n = 2 (captured from arg 0 'x', dim 0), got f32[3]",
      failure(declared, { x }, "f32[3]", { s = 3 }).message)
  end)

  it("may be handed over as it is", function()
    assert.equal("scale: execute: attribute 's': expected f32, got s64",
      failure(kernels.scale, { x }, "f32[2]", { s = 2 }, { signature = false }).message)
  end)
end)

describe("CC-9 dtype and rank", function()
  official("case C20: are what the handler bound, and never converted", function()
    local y = ccw.array("f32[4]", 7)
    local err = failure(lib.Scale, { ccw.f64 { 1, 2, 3, 4 } }, y, { s = ccw.f32(2) })
    assert.equal("INVALID_ARGUMENT: Scale: arg 0: expected f32[?], got f64[4]", tostring(err))
    assert.same({ 0 }, err.operands)
    err = failure(lib.Scale, { ccw.f64 { 1, 2, 3, 4 } }, y, { s = ccw.f32(2) }, { signature = false }) -- what it says itself
    assert.equal("INVALID_ARGUMENT", err.code)
    assert.matches("Wrong buffer dtype: expected F32 but got F64", err.message, 1, true)
    assert.same({ 0 }, err.operands)
    assert.equal(string.pack("ffff", 7, 7, 7, 7), y:bytes())
  end)

  official("case C20: differ where only the size agrees", function()
    for handler, dtypes in pairs { TakeU32 = { "u32", "s32" }, TakeBF16 = { "bf16", "f16" }, TakeC64 = { "c64", "f64" } } do
      assert.equal("f32[1] {1}", tostring(ccw.call(lib[handler], { ccw[dtypes[1]] { 1, 2 } }, "f32[1]")))
      local err = failure(lib[handler], { ccw[dtypes[2]] { 1, 2 } }, "f32[1]", nil, { signature = false })
      assert.matches(("expected %s but got %s"):format(dtypes[1]:upper(), dtypes[2]:upper()), err.message, 1, true)
    end
  end)

  official("case C23: rank 0 has one element, and is not rank 1", function()
    assert.equal(42, ccw.call(lib.Twice, { ccw.array("f32[]", 21) }, "f32[]"):item())
    local err = failure(lib.Twice, { ccw.f32 { 21 } }, "f32[]", nil, { signature = false })
    assert.matches("Wrong buffer rank: expected 0 but got 1", err.message, 1, true)
  end)

  official("CC-8: are seen by a handler that takes any", function()
    local function described(type)
      local rank = ccw.type(type).rank
      local y = ccw.call(lib.Describe, { ccw.array(type) }, ("s64[%d]"):format(5 + rank))
      local list = {}
      for i, value in ipairs(y) do list[i] = value end
      return list
    end
    assert.same({ 11, 2, 6, 24, 0, 2, 3 }, described "f32[2,3]")
    assert.same({ 11, 0, 1, 4, 0 }, described "f32[]")
    assert.same({ 1, 1, 5, 5, 0, 5 }, described "pred[5]")
    assert.same({ 18, 3, 0, 0, 0, 4, 0, 2 }, described "c128[4,0,2]")
    assert.same({ 17, 0, 1, 0, 0 }, described "token[]")
    -- the official size counts a whole byte for each packed element; in memory there are two
    assert.same({ 21, 1, 4, 4, 0, 4 }, described "s4[4]")
    assert.equal(2, ccw.type "s4[4]".bytes)
  end)

  official("work for F32, F64, S32 and C128", function()
    for _, dtype in ipairs { "f32", "f64", "s32", "c128" } do
      local y = ccw.call(lib.DoubleAny, { ccw.array(dtype .. "[2,2]", { { 1, 2 }, { 3, 4 } }) }, dtype .. "[2,2]")
      assert.equal(tostring(ccw.array(dtype .. "[2,2]", { { 2, 4 }, { 6, 8 } })), tostring(y))
    end
  end)

  it("pass for every dtype there is, to a handler that copies", function()
    for dtype in pairs(core.dtypes()) do
      if dtype ~= "token" then
        local type = dtype .. "[3,5]"
        local x = ccw.random(type, 1)
        local y = ccw.call(plain.copy, { x }, ccw.array(type))
        assert.equal("equal", tostring(ccw.compare(x, y, { bitwise = true })), dtype)
      end
    end
  end)
end)

describe("CC-7 results", function()
  it("are written where the caller says", function()
    local y = ccw.array("f32[2]", 7)
    local z = ccw.call(kernels.scale, { ccw.f32 { 1, 2 } }, y, { s = ccw.f32(3) })
    assert.equal(y, z)
    assert.equal("f32[2] {3, 6}", tostring(y))
  end)

  it("are the same buffer each time a prepared call runs", function()
    local x = ccw.f32 { 1, 2 }
    local call = ccw.prepare(kernels.scale, { x }, "f32[2]", { s = ccw.f32(3) })
    local first = call()
    x[1] = 10
    assert.equal(first, call())
    assert.equal("f32[2] {30, 6}", tostring(first))
    assert.equal("prepared call of scale", tostring(call))
  end)

  it("of pred are checked when the call is strict", function()
    local call = ccw.prepare(plain.odd_preds, {}, "pred[3]", nil, { strict = true })
    local _, err = ccw.try(call)
    assert.equal("DATA_LOSS: odd_preds: execute: result 0: element [3]: a pred is 0 or 1, this byte is 255",
      tostring(err))
    assert.equal("pred[3] {false, true, true}", tostring(ccw.call(plain.odd_preds, {}, "pred[3]")))
  end)
end)

describe("a prepared call", function()
  it("allocates nothing", function()
    local call = ccw.prepare(kernels.scale, { ccw.f32 { 1, 2 } }, "f32[2]", { s = ccw.f32(3) })
    call()
    collectgarbage "stop"
    local before, lua_before = core.memory().allocations, collectgarbage "count"
    local allocations_of_measuring = core.memory().allocations - before
    for _ = 1, 1000 do call() end
    local grown = collectgarbage "count" - lua_before
    assert.equal(before + allocations_of_measuring, core.memory().allocations)
    collectgarbage "restart"
    assert.is_true(grown < 2, "Lua's memory grew by " .. grown .. " KiB") -- what counting itself takes
  end)

  it("keeps its buffers when they are closed and forgotten", function()
    local x = ccw.f32 { 1, 2 }
    local call = ccw.prepare(kernels.scale, { x }, "f32[2]", { s = ccw.f32(3) })
    x:close()
    x = nil -- luacheck: ignore
    collectgarbage()
    assert.equal("f32[2] {3, 6}", tostring(call()))
  end)

  it("survives a handler that writes over its frame", function()
    local call = ccw.prepare(plain.scribbler, { ccw.f32 { 1 } }, "f32[1]")
    call()
    call()
    assert.matches("args.size             1", call:explain(), 1, true)
  end)

  it("is closed by close(), and by <close>", function()
    local call = ccw.prepare(plain.nothing, {}, "()")
    call:close()
    call:close()
    refuses("this call is closed", function() call() end)
    refuses("this call is closed", function() call:explain() end)
    assert.equal("closed call", tostring(call))
  end)

  it("explains its frame field by field", function()
    local x = ccw.array("s32[2,3]")
    local call = ccw.prepare(plain.copy, { x }, "s32[2,3]", { s = "a\"b", list = ccw.s8 { 1, 2 }, inner = { on = true } })
    local text = call:explain():gsub("0x%x+", "POINTER")
    assert.equal([[
XLA_FFI_CallFrame, 176 bytes
   0  struct_size           168
   8  extension_start       NULL
  16  api                   API 0.5, 208 bytes
  24  ctx                   made for each run
  32  stage                 3 execute
  40  args.struct_size      40
  48  args.extension_start  NULL
  56  args.size             1
  64  args.types            POINTER
  72  args.args             POINTER
    arg 0: 1 BUFFER at POINTER
       0  struct_size           48
       8  extension_start       NULL
      16  dtype                 4 s32
      24  data                  POINTER
      32  rank                  2
      40  dims                  {2, 3}
  80  rets.struct_size      40
  88  rets.extension_start  NULL
  96  rets.size             1
 104  rets.types            POINTER
 112  rets.rets             POINTER
    ret 0: 1 BUFFER at POINTER
       0  struct_size           48
       8  extension_start       NULL
      16  dtype                 4 s32
      24  data                  POINTER
      32  rank                  2
      40  dims                  {2, 3}
 120  attrs.struct_size     48
 128  attrs.extension_start NULL
 136  attrs.size            3
 144  attrs.types           POINTER
 152  attrs.names           POINTER
 160  attrs.attrs           POINTER
    attr 0 "inner": 2 DICTIONARY
       0  struct_size           48
       8  extension_start       NULL
      16  size                  1
      24  types                 POINTER
      32  names                 POINTER
      40  attrs                 POINTER
        attr 0 "on": 3 SCALAR
           0  dtype                 1 pred
           8  value                 01 = true
    attr 1 "list": 1 ARRAY
       0  dtype                 2 s8
       8  size                  2
      16  data                  01 02
    attr 2 "s": 4 STRING
       0  ptr                   "a\"b"
       8  len                   3
 168  future                NULL
the context
  run id          0
  device ordinal  0
  stream          none on the host
  scratch memory  of the host; XLA has none on the CPU
  threads         ]] .. ccw.threads() .. "\n  custom options  0", text)
    assert.matches(("24  data                  0x%x\n"):format(x.address), call:explain(), 1, true)
  end)
end)

describe("CC-32 CC-33 tuples", function()
  official("are flattened for the handler, and come back in their nesting", function()
    local function full(n, value) return ccw.array(("f32[%d]"):format(n), value) end
    local operands = { full(32, 1), { full(64, 2), full(128, 3) }, full(256, 4) }
    local y = ccw.call(lib.FourToThree, operands, "(f32[512], (f32[1024], f32[1]))")
    assert.equal(33, y[1][1])
    assert.equal(5, y[2][1][1])
    assert.equal(4, y[2][2][1])
    assert.same({ 512, 1024, 1 }, { #y[1], #y[2][1], #y[2][2] })
    local listed = ccw.call(lib.FourToThree, operands, { "f32[1]", ccw.array "f32[1]", { "f32[1]" } })
    assert.equal(4, listed[3][1][1])
  end)

  official("case C46: of one element and of none are what was declared", function()
    local x = { ccw.array("f32[2,3]", 1) }
    local tuple = ccw.call(lib.DoubleAny, x, "(f32[2,3])")
    assert.equal(1, #tuple)
    assert.equal(2, tuple[1][2][3])
    assert.same({}, ccw.call(lib.BoolAttribute, {}, "()", { b = true }))
    assert.same({}, ccw.call(lib.BoolAttribute, {}, {}, { b = true }))
    assert.equal(2, ccw.call(lib.DoubleAny, x, "f32[2,3]")[2][3])
    assert.equal(1, #ccw.call(lib.DoubleAny, x, { "f32[2,3]" }))
    local count = ccw.call(plain.addresses, { {}, x[1], {} }, ccw.array "s64[4]")
    assert.equal(0, count[3]) -- one operand, one result: empty tuples vanish
  end)

  official("several results of different types", function()
    local y = ccw.call(lib.Split, { ccw.f32 { 1.25, 2.75 } }, "(f32[2], s32[2])")
    assert.equal("f32[2] {1.75, 3.25}", tostring(y[1]))
    assert.equal("s32[2] {1, 2}", tostring(y[2]))
  end)

  official("of 300 operands and 200 results", function()
    local operands, results = {}, {}
    for i = 1, 300 do operands[i] = ccw.f32 { i } end
    for i = 1, 200 do results[i] = "f32[]" end
    local y = ccw.call(lib.SumAll, operands, results)
    assert.equal(200, #y)
    assert.equal(45150, y[1]:item())
    assert.equal(45349, y[200]:item())
    assert.same({}, ccw.call(lib.SumAll, operands, "()"))
    assert.equal(0, ccw.call(lib.SumAll, {}, "f32[]"):item())
  end)
end)

describe("CC-27 memory that is shared", function()
  it("is fine for operands, case C44", function()
    local x = ccw.array("f32[3]", 2)
    assert.equal("f32[3] {4, 4, 4}", tostring(ccw.call(kernels.add_mod, { x, x }, "f32[3]")))
    local a = ccw.call(plain.addresses, { x, x }, "s64[2]")
    assert.equal(a[1], a[2])
  end)

  it("needs an alias for an operand and a result, cases C42 and C44", function()
    local x = ccw.f32 { 1, 2 }
    local err = failure(plain.increment, { x }, x)
    assert.equal("INVALID_ARGUMENT: increment: result 0: shares memory with arg 0; if it should, say so: " ..
      "aliases = {[0] = 0}", tostring(err))
    assert.equal("f32[2] {1, 2}", tostring(x))
    ccw.call(plain.increment, { x }, x, nil, { aliases = { [0] = 0 } })
    assert.equal("f32[2] {2, 3}", tostring(x))
  end)

  it("is copied first for an aliased result that is new, so that the operand stays, case C42", function()
    local x = ccw.f32 { 1, 2 }
    local call = ccw.prepare(plain.increment, { x }, "f32[2]", nil, { aliases = { [0] = 0 } })
    assert.equal("f32[2] {2, 3}", tostring(call()))
    assert.equal("f32[2] {2, 3}", tostring(call()))
    x[1] = 10
    assert.equal("f32[2] {11, 3}", tostring(call()))
    assert.equal("f32[2] {10, 2}", tostring(x))
    local y = ccw.call(plain.addresses, { ccw.array "s64[2]" }, "s64[2]", nil, { aliases = { [0] = 0 } })
    assert.equal(y[1], y[2])
  end)

  it("is refused in part, and between results, case C44", function()
    local parent = ccw.array "f32[64]"
    local first, middle = ccw.import("f32[32]", parent.address, parent), ccw.import("f32[32]", parent.address + 64, parent)
    assert.equal("INVALID_ARGUMENT: increment: result 0: shares memory with arg 0, and starts elsewhere in it",
      tostring(failure(plain.increment, { first }, middle, nil, { aliases = { [0] = 0 } })))
    assert.equal("INVALID_ARGUMENT: nothing: result 1: shares memory with result 0",
      tostring(failure(plain.nothing, {}, { first, middle })))
  end)

  it("is checked before the call, all of it in one report, case C42", function()
    local x, y = ccw.f32 { 1, 2 }, ccw.s32 { 1, 2 }
    assert.equal("INVALID_ARGUMENT: increment: alias of result 0 and arg 0: expected equal types, got f32[2] and s32[2]",
      tostring(failure(plain.increment, { x }, y, nil, { aliases = { [0] = 0 } })))
    assert.equal("INVALID_ARGUMENT: increment: alias of result 1 and arg 0: the call has results: 1, args: 1",
      tostring(failure(plain.increment, { x }, "f32[2]", nil, { aliases = { [1] = 0 } })))
    assert.equal("INVALID_ARGUMENT: increment: alias of result 0 and arg 5: the call has results: 1, args: 1",
      tostring(failure(plain.increment, { x }, "f32[2]", nil, { aliases = { [0] = 5 } })))
    local rows = ccw.array "f32[3,2]"
    assert.equal("INVALID_ARGUMENT: add_mod: arg 0: a view that starts 8 bytes past a multiple of 64; pass its copy()\n" ..
      "arg 1: a view that starts 16 bytes past a multiple of 64; pass its copy()",
      tostring(failure(kernels.add_mod, { rows[2], rows[3] }, "f32[2]")))
    assert.same({ 0, 1 }, failure(kernels.add_mod, { rows[2], rows[3] }, "f32[2]").operands)
    assert.equal("f32[2] {0, 0}", tostring(ccw.call(kernels.add_mod, { rows[2]:copy(), rows[1] }, "f32[2]")))
    assert.equal("INVALID_ARGUMENT: copy: arg 0: a view that shares a byte with its neighbours; pass its copy()",
      tostring(failure(plain.copy, { ccw.array "s4[2,3]" [2] }, "s4[3]")))
  end)

  it("case C32: starts at a multiple of 64 for every pointer that a handler gets", function()
    local y = ccw.call(plain.addresses, { ccw.array "u8[1]", ccw.array "f32[]", ccw.array "f64[3]", ccw.array "f32[0]" },
      { "s64[6]", "u8[1]" })
    for i = 1, 6 do assert.equal(0, y[1][i] % 64) end
    assert.is_true(y[1][4] ~= 0)
    assert.equal(0, ccw.call(plain.addresses, { ccw.array "token[]" }, "s64[1]")[1])
  end)
end)

describe("CC-5 errors", function()
  local names = { [0] = "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND",
    "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE",
    "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED" }

  local function fail_with(handler, code, message)
    return ccw.try(ccw.call, handler, {}, "()", { code = ccw.s32(code), message = message })
  end

  it("case C64: keep their code and text", function()
    assert.same(names, core.code_names())
    for code = 1, 16 do
      local _, err = fail_with(plain.fail_with, code, "text")
      assert.equal(names[code], err.code)
      assert.equal("fail_with: execute: text", err.message)
      assert.equal(names[code] .. ": fail_with: execute: text", tostring(err))
      assert.equal("fail_with", err.handler)
      assert.equal("execute", err.stage)
    end
    assert.same({}, fail_with(plain.fail_with, 0, "text"))
  end)

  it("case C64: with a code that is none are unknown, and no success", function()
    for _, code in ipairs { 17, 99, -1 } do
      local _, err = fail_with(plain.fail_with, code, "text")
      assert.equal("UNKNOWN", err.code)
      assert.equal(("fail_with: execute: failed with code %d, which is no status code: text"):format(code), err.message)
    end
  end)

  it("case C64: may have any text, which is never a format", function()
    for _, text in ipairs { "", "100%s %n", "\xFF\xFE", "two\nlines" } do
      local _, err = fail_with(plain.fail_with, 13, text)
      assert.equal("fail_with: execute: " .. text, err.message)
    end
    local _, err = fail_with(plain.fail_with, 13, "before\0after") -- the ABI passes a C string
    assert.equal("fail_with: execute: before", err.message)
    _, err = ccw.try(ccw.call, plain.fail_at_length, {}, "()")
    assert.equal(1000000 + #"fail_at_length: execute: ", #err.message)
  end)

  official("case C64: of the official binding are the same", function()
    for code = 1, 16 do
      local _, err = fail_with(lib.Fail, code, "100%s")
      assert.equal(names[code] .. ": Fail: execute: 100%s", tostring(err))
    end
    assert.same({}, fail_with(lib.Fail, 0, ""))
  end)

  it("are objects that can be compared and caught", function()
    local _, a = fail_with(plain.fail_with, 5, "x")
    local _, b = fail_with(plain.fail_with, 5, "x")
    local _, c = fail_with(plain.fail_with, 5, "y")
    assert.is_true(a == b)
    assert.is_false(a == c)
    local ok, caught = pcall(ccw.call, plain.fail_with, {}, "()", { code = ccw.s32(5), message = "x" })
    assert.is_false(ok)
    assert.is_true(caught == a)
    assert.is_nil(a.operands)
    local _, named = fail_with(plain.fail_with, 5, "cannot parse arg 7 of the config")
    assert.is_nil(named.operands) -- what a handler happens to say is no position
    refuses("bad argument #1", ccw.try, ccw.call, nil, {}, "()") -- misuse is not what try is for
  end)

  it("are recognised before they are believed", function()
    assert.equal("INTERNAL: garbage: execute: returned 0x1234, which is no error that was made here: is it an FFI handler?",
      tostring(failure(plain.garbage, {}, "()")))
    assert.matches("which is no error that was made here", failure(plain.error_after_destruction, {}, "()").message, 1, true)
    assert.matches("left a future in its frame that was not made here: 0x1234", failure(plain.strange_future, {}, "()").message, 1, true)
    assert.same({}, ccw.call(plain.error_that_is_ok, {}, "()"))
  end)

  official("come from C++ exceptions too", function()
    assert.equal("UNKNOWN: Throws: execute: C++ exception: boom", tostring(failure(lib.Throws, {}, "()", { what = 0 })))
    assert.equal("UNKNOWN: Throws: execute: C++ exception of a type that has no text",
      tostring(failure(lib.Throws, {}, "()", { what = 1 })))
  end)

  it("leak nothing", function()
    local x = ccw.f32 { 1 }
    local function fail_all()
      for _ = 1, 100 do
        failure(plain.fail_with, {}, "()", { code = ccw.s32(5), message = "x" })
        failure(kernels.scale, { x }, "f32[1]", { s = "one" })
        failure(kernels.scale, { x }, "f32[1]", { s = 1e39 })
        failure(kernels.scale, { x }, x, { s = ccw.f32(1) })
        pcall(ccw.call, kernels.scale, { x, 1 }, "f32[1]")
      end
      collectgarbage() collectgarbage()
      return core.memory().blocks
    end
    assert.equal(fail_all(), fail_all())
  end)
end)

describe("the context of a call", function()
  official("gives run id and device ordinal", function()
    local y = ccw.call(lib.Context, {}, "s64[2]", nil, { run_id = 7, device_ordinal = 3 })
    assert.equal("s64[2] {7, 3}", tostring(y))
    assert.equal("s64[2] {0, 0}", tostring(ccw.call(lib.Context, {}, "s64[2]"))) -- as in JAX on the CPU
  end)

  official("says what it has not got", function()
    local err = failure(lib.NeedsStream, {}, "()")
    assert.equal("INVALID_ARGUMENT", err.code)
    assert.same({ 0 }, err.operands)
    assert.matches("Failed to get platform stream: a call on the host has no stream", err.message, 1, true)
  end)

  it("answers at every slot of the function table, to structs of any size", function()
    local codes = ccw.call(plain.every_slot, {}, "s32[2,20]")
    local too_small, right = {}, {}
    for i = 1, 20 do too_small[i], right[i] = codes[1][i], codes[2][i] end
    -- Error_GetDetails and Error_Destroy return nothing
    assert.same({ 3, 0, 0, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3 }, too_small)
    assert.same({ 15, 0, 0, 3, 12, 0, 5, 12, 5, 0, 3, 3, 0, 0, 3, 3, 0, 0, 0, 0 }, right) -- state of 0.1 is not taken
  end)
end)

describe("ccw.call", function()
  local x = ccw.f32 { 1 }

  it("case C77: names the argument that is of no use", function()
    refuses("bad argument #1 to 'call' (expected a handler, a table of handlers by stage or a registered name, got nil)",
      ccw.call)
    refuses("bad argument #2 to 'call' (expected a list of buffers, got buffer)", ccw.call, kernels.scale, x, "f32[1]")
    refuses("bad argument #2 to 'call' (arg 1: expected a buffer, got number)", ccw.call, kernels.scale, { x, 5 }, "f32[1]")
    refuses("bad argument #2 to 'call' (arg 0: expected a buffer, got string)", ccw.call, kernels.scale, { "f32[1]" }, "f32[1]")
    refuses("bad argument #2 to 'call' (args: nothing is at [1], while there is something at [2])", ccw.call, kernels.scale,
      { nil, x }, "f32[1]")
    refuses("bad argument #3 to 'call' (expected types of results: fail_with has no signature that could tell them)", ccw.call,
      plain.fail_with, { x })
    refuses("bad argument #3 to 'call' (result 1: expected a type, a buffer or a list of them, got number)", ccw.call,
      kernels.scale, { x }, { "f32[1]", 3 })
    refuses("bad argument #4 to 'call' (expected a table of attributes, got number)", ccw.call, kernels.scale, { x }, "f32[1]", 2)
    refuses("bad argument #4 to 'call' (s: expected a boolean, a number", ccw.call, kernels.scale, { x }, "f32[1]", { s = print })
    refuses("bad argument #5 to 'call' (no option is called 'platfrom'; near: platform)", ccw.call, kernels.scale, { x },
      "f32[1]", {}, { platfrom = "Host" })
    refuses("bad argument #5 to 'prepare' (run_id: expected an integer, got 1.5)", ccw.prepare, kernels.scale, { x },
      "f32[1]", {}, { run_id = 1.5 })
    refuses("bad argument #5 to 'call' (platform: expected a string, got number)", ccw.call, kernels.scale, { x }, "f32[1]",
      {}, { platform = 42 })
    refuses("bad argument #5 to 'call' (device_ordinal: expected -1 to 2147483647, got 1099511627776)", ccw.call,
      kernels.scale, { x }, "f32[1]", {}, { device_ordinal = 1 << 40 })
    refuses("bad argument #5 to 'call' (aliases: expected an integer, got 0.5)", ccw.call, kernels.scale, { x }, "f32[1]", {},
      { aliases = { [0] = 0.5 } })
    refuses("bad argument #5 to 'call' (device: expected a device or its name, got number)", ccw.call, kernels.scale, { x }, "f32[1]",
      {}, { device = 1 })
    refuses("bad argument #5 to 'call' (stream: expected a stream, got string)", ccw.call, kernels.scale, { x }, "f32[1]", {},
      { stream = "sim:0" })
    refuses("bad argument #5 to 'call' (aliases: expected a table, got number)", ccw.call, kernels.scale,
      { x }, "f32[1]", {}, { aliases = 1 })
    refuses("bad argument #4 to 'call' (expected a table of attributes: an opaque string is no typed FFI)", ccw.call,
      kernels.scale, { x }, "f32[1]", "s = 2")
    local closed = ccw.f32 { 1 }
    closed:close()
    refuses("bad argument #2 to 'call' (arg 1: this buffer is closed)", ccw.call, kernels.scale, { x, closed }, "f32[1]")
    refuses("bad argument #3 to 'call' (result 0: this buffer is closed)", ccw.call, kernels.scale, { x }, closed)
  end)

  it("CC-27: takes what a client of XLA says of a custom call, and refuses what no handler gets", function()
    local attributes = { s = ccw.f32(2) }
    assert.equal("f32[1] {2}", tostring(ccw.call(kernels.scale, { x }, "f32[1]", attributes,
      { has_side_effect = true, schedule = "SCHEDULE_LATEST", api_version = 4 })))
    refuses("bad argument #5 to 'call' (api_version: only 4, the typed FFI, is spoken here; got 1)", ccw.call, kernels.scale,
      { x }, "f32[1]", attributes, { api_version = 1 })
    refuses("bad argument #5 to 'call' (literal: HLO can hold one, but no runtime hands it to a handler)", ccw.call,
      kernels.scale, { x }, "f32[1]", attributes, { literal = x })
  end)

  it("is what runs a handler", function()
    refuses("a handler is run by ccw.call(handler, operands, results, attributes)", function() kernels.scale(x) end)
  end)

  it("says where in the caller's code", function()
    local _, message = pcall(function() ccw.call(kernels.scale, { 5 }, "f32[1]") end)
    assert.matches("^[^\n]*spec/call_spec.lua:%d+: bad argument #2 to 'call'", message)
  end)

  it("takes text that is read from outside as such", function()
    local _, err = ccw.try(ccw.call, kernels.scale, { x }, "f32[1")
    assert.equal("INVALID_ARGUMENT", err.code)
    assert.matches("type: expected ',' or ']', got the end", err.message, 1, true)
  end)

  it("takes a table of handlers by stage, and refuses one that is none", function()
    assert.same({}, ccw.call({ execute = plain.nothing }, {}, "()"))
    refuses("stage 'execute': expected a handler, got number", ccw.call, { execute = 1 }, {}, "()")
    refuses("no stage is called 'intialize'; near: initialize", ccw.call,
      { execute = plain.nothing, intialize = plain.nothing }, {}, "()")
    assert.equal("INVALID_ARGUMENT: bundle: a handler needs an execute function",
      tostring(failure({ instantiate = plain.nothing }, {}, "()")))
  end)
end)

describe("CC-1 a call", function()
  it("may be closed by a finalizer while it fails", function()
    local fail = plain.fail_with
    for _ = 1, 3000 do
      local call = ccw.prepare(fail, {}, "()", { code = ccw.s32(3), message = "x" })
      setmetatable({}, { __gc = function() call:close() end })
      local ok, err = pcall(call)
      assert.is_false(ok)
      assert.is_true(type(err) == "string" and err:find "this call is closed" ~= nil or err.handler == "fail_with")
    end
  end)

  it("may lose its operands to a finalizer while it is prepared", function()
    local scale, attributes = kernels.scale, { s = ccw.f32(1) }
    for _ = 1, 3000 do
      local x, y = ccw.f32 { 1 }, ccw.f32 { 1 }
      setmetatable({}, { __gc = function() x:close() y:close() end })
      local ok, err = pcall(ccw.prepare, scale, { x }, y, attributes, { aliases = { [0] = 0 } })
      assert.is_true(ok or type(err) == "table" or err:find "closed" ~= nil, tostring(err))
    end
  end)

  it("takes lists that end", function()
    local loop = {}
    loop[1] = loop
    refuses("bad argument #2 to 'call' (args: more than 32 lists in each other)", ccw.call, plain.copy, loop, "f32[1]")
    refuses("bad argument #3 to 'call' (results: more than 32 lists in each other)", ccw.call, plain.copy, {}, loop)
  end)
end)

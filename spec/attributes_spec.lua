-- CC-22: attributes, as they are built.
local ccw = require "ccw"
local core = require "ccw.core"
local support = require "spec.support"
local refuses = support.refuses

describe("CC-22 attributes", function()
  it("take each kind from Lua", function()
    assert.equal('{a = true, b = 1, c = f64(1.5), d = "x\\n\\x00\\"", e = s64{1, 2}, f = f64{0.5}, g = {h = f32(2)}, i = {}}',
      tostring(ccw.attrs { a = true, b = 1, c = 1.5, d = "x\n\0\"", e = { 1, 2 }, f = { 0.5 }, g = { h = ccw.f32(2) },
        i = {} }))
  end)

  it("take every type that XLA has for them", function()
    for _, dtype in ipairs { "s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64", "f32", "f64" } do
      local printed = dtype == "s64" and "1" or dtype .. "(1)"
      assert.equal(("{a = %s{1, 0}, x = %s}"):format(dtype, printed),
        tostring(ccw.attrs { x = ccw[dtype](1), a = ccw[dtype] { 1, 0 } }))
    end
    assert.equal("{x = false}", tostring(ccw.attrs { x = ccw.pred(false) }))
    assert.equal("{x = s64{}}", tostring(ccw.attrs { x = ccw.s64 {} }))
    assert.equal("{x = s32{1, 2, 3, 4}}", tostring(ccw.attrs { x = ccw.s32 { { 1, 2 }, { 3, 4 } } }))
  end)

  it("refuse the types that it has not", function()
    for _, dtype in ipairs { "f16", "bf16", "f8e5m2", "c64", "c128", "s4", "u1" } do
      refuses(("bad argument #1 to 'attrs' (x: XLA has no attributes of %s)"):format(dtype), ccw.attrs,
        { x = ccw[dtype](0) })
    end
  end)

  it("case C07: are copied when they are built", function()
    local list, dictionary, typed = { 1, 2, 3 }, { y = 1 }, ccw.s64 { 1, 2, 3 }
    local built = ccw.attrs { v = list, d = dictionary, t = typed }
    list[1], dictionary.y, typed[1] = 99, 99, 99
    assert.equal("{d = {y = 1}, t = s64{1, 2, 3}, v = s64{1, 2, 3}}", tostring(built))
    assert.equal("{v = s64{99, 2, 3}}", tostring(ccw.attrs { v = list }))
  end)

  it("case C09: refuse lists with holes and with names", function()
    refuses("bad argument #1 to 'attrs' (v: nothing is at [2], while there is something at [3])", ccw.attrs,
      { v = { 1, nil, 3 } })
    refuses('v: expected a list, got the key "x"', ccw.attrs, { v = { 1, x = 2 } })
    refuses("v[2]: expected a number, got string", ccw.attrs, { v = { 1, "a" } })
    refuses("v[2]: integers and floats in one list; say which: ccw.f64{...}", ccw.attrs, { v = { 1, 2.5 } })
    refuses("v[1]: expected a number, got scalar", ccw.attrs, { v = { ccw.f32(1) } })
  end)

  it("case C15: have no arrays of pred", function()
    refuses("v: XLA has no attributes that are arrays of pred", ccw.attrs, { v = { true, false } })
    refuses("v: XLA has no attributes that are arrays of pred", ccw.attrs, { v = ccw.pred { true, false } })
  end)

  it("case C16: are sorted by byte at every level, and keep empty dictionaries", function()
    local built = ccw.attrs { b = { y = ccw.s32(2), x = { deep = "s", e = {} } }, a = ccw.f32(1) }
    assert.equal('{a = f32(1), b = {x = {deep = "s", e = {}}, y = s32(2)}}', tostring(built))
    assert.same({ "A", "B", "Z", "_", "a", "a1", "ab", "b", "\xC3\xA9" }, core.names(ccw.attrs {
      b = 1, ["\xC3\xA9"] = 1, ab = 1, Z = 1, a = 1, _ = 1, A = 1, a1 = 1, B = 1 }))
  end)

  it("case C17: hold a record as a dictionary of its fields", function()
    assert.equal("{r = {big = 1099511627776, flag = true, n = s32(7)}}",
      tostring(ccw.attrs { r = { flag = true, n = ccw.s32(7), big = 1 << 40 } }))
  end)

  it("case C18: keep booleans apart from integers", function()
    assert.equal("{a = true, b = 1}", tostring(ccw.attrs { a = true, b = 1 }))
  end)

  it("have names of any bytes", function()
    assert.equal('{[""] = 1, ["a b"] = 1, ["end\\x00"] = 1, ok_1 = 1}',
      tostring(ccw.attrs { [""] = 1, ["a b"] = 1, ["end\0"] = 1, ok_1 = 1 }))
    refuses("expected names, got the key 1", ccw.attrs, { 1, 2 })
    refuses("expected names, got the key 1", ccw.attrs, { true })
  end)

  it("name the path of what is wrong", function()
    refuses('b.x["two words"]: expected a boolean, a number, a string, an array or a table, got function', ccw.attrs,
      { b = { x = { ["two words"] = print } } })
  end)

  it("case C77: refuse what is no attribute, and say what it is", function()
    for label, value in pairs { ["function"] = print, thread = coroutine.create(print), userdata = io.stdout,
      type = ccw.type "f32[1]" } do
      refuses("x: expected a boolean, a number, a string, an array or a table, got " .. label, ccw.attrs, { x = value })
    end
    local closed = ccw.f32 { 1 }
    closed:close()
    refuses("x: this buffer is closed", ccw.attrs, { x = closed })
    refuses("bad argument #1 to 'attrs' (expected a table, got string)", ccw.attrs, "x = 1")
    refuses("bad argument #1 to 'attrs' (expected a table, got nil)", ccw.attrs)
  end)

  it("are for handlers to read", function()
    refuses("attributes are for handlers to read: print them", function() return ccw.attrs { a = 1 }.a end)
    assert.equal(2, #ccw.attrs { a = 1, b = 2 })
  end)

  it("are not nested without end", function()
    local loop = {}
    loop.loop = loop
    refuses("more than 64 dictionaries in each other", ccw.attrs, loop)
    local deep = {}
    for _ = 1, 63 do deep = { d = deep } end
    assert.equal(64, select(2, tostring(ccw.attrs(deep)):gsub("{", "")))
    deep = ccw.attrs(deep)
    refuses("d: more than 64 dictionaries in each other", ccw.attrs, { d = deep })
  end)

  it("give their memory back", function()
    collectgarbage()
    local before = core.memory().blocks
    for _ = 1, 50 do
      ccw.attrs { a = 1, b = { c = "x", d = { 1, 2 } } }
      pcall(ccw.attrs, { a = 1, b = { c = print } })
    end
    collectgarbage() collectgarbage()
    assert.equal(before, core.memory().blocks)
  end)
end)

describe("CC-22 attributes, as an official handler decodes them", function()
  local lib = support.official()

  local function official(name, body)
    it(name, function()
      if not lib then return pending "the official headers could not be had" end
      body()
    end)
  end

  official("arrive as what they are, every kind", function()
    local y = ccw.call(lib.AllAttributes, {}, "f64[16]", { b = true, s8 = ccw.s8(-8), s16 = ccw.s16(-16),
      s32 = ccw.s32(-32), s64 = -64, u8 = ccw.u8(8), u16 = ccw.u16(16), u32 = ccw.u32(32), u64 = ccw.u64(64),
      f32 = ccw.f32(0.5), f64 = 0.25, text = "a\0b", array_s32 = ccw.s32 { 1, 2, 3 }, array_f32 = ccw.f32 { 0.5, 1 },
      array_u8 = ccw.u8 { 200, 100 }, inner = { x = 7, other = {} } })
    assert.equal("f64[16] {1, -8, -16, -32, -64, 8, 16, 32, 64, 0.5, 0.25, 3, 6, 1.5, 300, 7}", tostring(y))
  end)

  official("case C07: arrive as they were when they were built, twice", function()
    local list = { 1, 2, 3 }
    local call = ccw.prepare(lib.EchoArray, {}, "s64[3]", { v = list })
    list[1] = 99
    assert.equal("s64[3] {1, 2, 3}", tostring(call()))
    assert.equal("s64[3] {1, 2, 3}", tostring(call()))
  end)

  official("case C16: are found at every level", function()
    local y = ccw.call(lib.EchoNames, {}, ccw.array "u8[40]", { b = { y = ccw.s32(2), x = { deep = "s", e = {} } }, a = ccw.f32(1) })
    assert.equal("a,b,b.x,b.y,b.x.deep,b.x.e,s", (y:bytes():gsub("%z+$", "")))
  end)

  official("case C02: are compared by type and not by size", function()
    local x = ccw.f32 { 1 }
    local _, err = ccw.try(ccw.call, lib.Scale, { x }, "f32[1]", { s = 2.0 }, { signature = false })
    assert.equal("INVALID_ARGUMENT", err.code)
    assert.matches("Wrong scalar data type: expected F32 but got F64", err.message, 1, true)
    assert.equal("f32[1] {2}", tostring(ccw.call(lib.Scale, { x }, "f32[1]", { s = ccw.f32(2.0) })))
    _, err = ccw.try(ccw.call, lib.Scale, { x }, "f32[1]", { s = 2 }, { signature = false })
    assert.matches("Wrong scalar data type: expected F32 but got S64", err.message, 1, true)
  end)

  official("case C18: a boolean is no integer, and an integer no boolean", function()
    local _, err = ccw.try(ccw.call, lib.BoolAttribute, {}, "()", { b = 1 }, { signature = false })
    assert.matches("expected PRED but got S64", err.message, 1, true)
    _, err = ccw.try(ccw.call, lib.S64Attribute, {}, "()", { b = true }, { signature = false })
    assert.matches("expected S64 but got PRED", err.message, 1, true)
    assert.same({}, ccw.call(lib.BoolAttribute, {}, "()", { b = true }))
    assert.same({}, ccw.call(lib.S64Attribute, {}, "()", { b = 1 }))
  end)
end)

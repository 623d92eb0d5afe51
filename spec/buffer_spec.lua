-- CC-8: arrays in memory.
local ccw = require "ccw"
local core = require "ccw.core"
local support = require "spec.support"
local refuses = support.refuses

describe("CC-8 ccw.array", function()
  it("takes a table, a number, a function, a buffer or nothing", function()
    assert.equal("f32[2,3] {{1, 2, 3}, {4, 5, 6}}", tostring(ccw.array("f32[2,3]", { { 1, 2, 3 }, { 4, 5, 6 } })))
    assert.equal("f32[2,2] {{7, 7}, {7, 7}}", tostring(ccw.array("f32[2,2]", 7)))
    assert.equal("s32[2,3] {{11, 12, 13}, {21, 22, 23}}",
      tostring(ccw.array("s32[2,3]", function(i, j) return 10 * i + j end)))
    assert.equal("f64[2] {1, 2}", tostring(ccw.array("f64[2]", ccw.f32 { 1, 2 })))
    assert.equal("u8[3] {0, 0, 0}", tostring(ccw.array "u8[3]"))
    assert.equal("pred[2] {true, true}", tostring(ccw.array("pred[2]", true)))
    assert.equal("f32[] 42", tostring(ccw.array("f32[]", 42)))
    assert.equal("f32[0] {}", tostring(ccw.array("f32[0]", {})))
    assert.equal("f32[2,0] {{}, {}}", tostring(ccw.array("f32[2,0]", { {}, {} })))
    assert.equal("f32[0] {}", tostring(ccw.array("f32[0]", 3)))
  end)

  it("copies a buffer, and does not share it", function()
    local x = ccw.f32 { 1, 2 }
    local y = ccw.array("f32[2]", x)
    x[1] = 9
    assert.equal(1, y[1])
  end)

  it("infers the dims of a typed list", function()
    assert.equal("s32[2,2] {{1, 2}, {3, 4}}", tostring(ccw.s32 { { 1, 2 }, { 3, 4 } }))
    assert.equal("s32[0] {}", tostring(ccw.s32 {}))
    assert.equal("f32[2] {1, 2}", tostring(ccw.f32(ccw.s32 { 1, 2 })))
  end)

  it("case C09: refuses holes and names, and says where", function()
    refuses("bad argument #1 to 's64' (nothing is at [2], while there is something at [3])", ccw.s64, { 1, nil, 3 })
    refuses("nothing is at [2], while there is something at [3]", ccw.s64, { [1] = 1, [3] = 3 })
    refuses('expected a list, got the key "n"', ccw.f32, { 1, 2, n = 2 })
    refuses("[2]: expected number, got string", ccw.s64, { 1, "a" })
    refuses('expected a list, got the key "x"', ccw.s64, { 1, x = 2 })
    refuses("expected a list, got the key 1.5", ccw.s64, { [1.5] = 1 })
    refuses("expected a list, got the key 0", ccw.s64, { [0] = 1 })
  end)

  it("says where in a nested table it is wrong", function()
    refuses("bad argument #2 to 'array' ([2][3]: expected number, got string)", ccw.array, "f32[2,3]",
      { { 1, 2, 3 }, { 4, 5, "6" } })
    refuses("[2]: expected 3 elements, got 2", ccw.array, "f32[2,3]", { { 1, 2, 3 }, { 4, 5 } })
    refuses("[2]: expected a table of 3, got number", ccw.array, "f32[2,3]", { { 1, 2, 3 }, 4 })
    refuses("expected 2 elements, got 3", ccw.array, "f32[2]", { 1, 2, 3 })
    refuses("[1]: expected number, got table", ccw.array, "f32[1]", { { 1 } })
    refuses("the function gave for [2]: expected number, got nil", ccw.array, "f32[2]", function(i) return i < 2 and i or nil end)
    refuses("expected dims of f32[2], got f32[3]", ccw.array, "f32[2]", ccw.f32 { 1, 2, 3 })
    refuses("[2]: 300 does not fit in u8", ccw.array, "u8[2]", { 1, 300 })
    refuses("bad argument #1 to 'array' (expected the type of an array, got the tuple (f32[2]))", ccw.array, "(f32[2])")
  end)
end)

describe("CC-8 elements", function()
  it("are counted from 1, row by row", function()
    local x = ccw.array("f32[2,3]", { { 1, 2, 3 }, { 4, 5, 6 } })
    assert.equal(6, x[2][3])
    assert.equal(2, #x)
    assert.equal(3, #x[1])
    x[1][2] = 20
    assert.equal("f32[2,3] {{1, 20, 3}, {4, 5, 6}}", tostring(x))
    assert.equal(4, x.flat[4])
    x.flat[4] = 40
    assert.equal(40, x[2][1])
  end)

  it("end for ipairs, and are an error elsewhere outside", function()
    local sum = 0
    for _, value in ipairs(ccw.s32 { 1, 2, 3 }) do sum = sum + value end
    for i, value in pairs(ccw.s32 { 1, 2, 3 }) do sum = sum + i * value end
    assert.equal(20, sum)
    local rows = {}
    for _, row in pairs(ccw.iota "s32[2,2]") do rows[#rows + 1] = tostring(row) end
    assert.same({ "s32[2] {0, 1}", "s32[2] {2, 3}" }, rows)
    for _ in pairs(ccw.array "s32[0]") do error "there is none" end
    local x = ccw.s32 { 1, 2, 3 }
    refuses("index 0 is outside 1 to 3", function() return x[0] end)
    refuses("index 5 is outside 1 to 3", function() return x[5] end)
    refuses("index -1 is outside 1 to 3", function() return x[-1] end)
    refuses("index 4 is outside 1 to 3", function() x[4] = 1 end)
    refuses("an index is an integer", function() return x[1.5] end)
    refuses("elements are set by their number, this is a string", function() x.color = 1 end)
    refuses("element [1]: expected number, got buffer", function() x[1] = x end)
    refuses("[1] is a row: write its elements, or fill() it", function() ccw.array("s32[2,2]")[1] = 5 end)
    refuses("element [1]: expected number, got nil", function() x[1] = nil end)
    refuses("element [2]: 2.5 is not an integer, as needed for s32", function() x[2] = 2.5 end)
    assert.equal(2, x[2.0])
    assert.is_nil(x.nothing)
  end)

  it("case C23: rank 0 has one, four bytes and no dims", function()
    local x = ccw.array("f32[]", 21)
    assert.equal(21, x:item())
    assert.equal(1, x.count)
    assert.same({}, x.dims)
    assert.equal(4, #x:bytes())
    assert.equal("f32[] 21", tostring(x))
    refuses("rank 0 has no index: use item()", function() return x[1] end)
    refuses("rank 0 has no length", function() return #x end)
    refuses("item: expected exactly one element, there are 2", function() return ccw.f32 { 1, 2 }:item() end)
  end)
end)

describe("CC-8 a buffer", function()
  it("case C32: starts at a multiple of 64 bytes, whatever its size", function()
    for _, type in ipairs { "u8[1]", "f32[]", "s4[3]", "f64[1000]", "f32[0]", "u8[5000000]" } do
      assert.equal(0, ccw.array(type).address % 64)
    end
  end)

  it("case C32: imports memory in place where it is aligned, and copies it, saying so, where it is not", function()
    local memory = ccw.array("u8[256]", function(i) return i - 1 end)
    local same, copied = ccw.import("u8[4]", memory.address, memory)
    assert.is_false(copied)
    assert.equal(memory.address, same.address)
    same[1] = 99
    assert.equal(99, memory[1])
    for _, offset in ipairs { 8, 16 } do
      local moved, was_copied = ccw.import("u8[4]", memory.address + offset, memory)
      assert.is_true(was_copied)
      assert.equal(0, moved.address % 64)
      assert.equal(offset, moved[1])
    end
    refuses("the address is NULL", ccw.import, "u8[4]", 0)
  end)

  it("keeps the owner of imported memory alive, through its views too", function()
    local weak = setmetatable({}, { __mode = "v" })
    local view
    do
      local memory = ccw.array("f32[64]", 7)
      weak[1] = memory
      view = ccw.import("f32[4,16]", memory.address, memory)[2]
    end
    collectgarbage()
    assert.is_not_nil(weak[1])
    assert.equal(7, view[1])
    view = nil -- luacheck: ignore
    collectgarbage() collectgarbage()
    assert.is_nil(weak[1])
  end)

  it("shares its memory with its views, which keep it", function()
    local x = ccw.iota "s32[2,3]"
    local flat, row = x:reshape "s32[6]", x[2]
    x:close()
    collectgarbage()
    row[1] = 30
    assert.equal("s32[6] {0, 1, 2, 30, 4, 5}", tostring(flat))
    local _, err = ccw.try(flat.reshape, flat, "s32[5]")
    assert.equal("INVALID_ARGUMENT: reshape: expected 6 elements of s32, got s32[5]", tostring(err))
    _, err = ccw.try(flat.reshape, flat, "f32[6]")
    assert.equal("INVALID_ARGUMENT: reshape: expected 6 elements of s32, got f32[6]", tostring(err))
  end)

  it("has rows inside a byte where elements are packed", function()
    local x = ccw.s4 { { 1, 2, 3 }, { 4, 5, 6 } }
    assert.equal("s4[3] {4, 5, 6}", tostring(x[2]))
    x[2][1] = -1
    assert.equal("s4[2,3] {{1, 2, 3}, {-1, 5, 6}}", tostring(x))
    assert.equal("5f06", support.hex(x[2]:copy()))
    refuses("a view that shares a byte with its neighbours; use its copy()", function() return x[2]:bytes() end)
  end)

  it("is closed by close(), by <close> and by nothing twice", function()
    local x = ccw.f32 { 1 }
    x:close()
    x:close()
    refuses("this buffer is closed", function() return x[1] end)
    refuses("this buffer is closed", function() return x:copy() end)
    assert.equal("closed buffer", tostring(x))
    local kept
    do
      local y <close> = ccw.f32 { 1 }
      kept = y
    end
    refuses("this buffer is closed", function() return kept.dtype end)
  end)

  it("gives its memory back", function()
    collectgarbage() collectgarbage()
    local before = core.memory().blocks
    for _ = 1, 100 do
      local x <close> = ccw.array("f32[100]", 1)
      assert.equal(1, x[1])
    end
    collectgarbage() -- the types' texts were read into values too
    assert.equal(before, core.memory().blocks)
  end)

  it("is found by the collector when it is large", function()
    collectgarbage()
    local before = core.memory().bytes
    for _ = 1, 200 do ccw.array "u8[16777216]" end -- 3.4 GB in all, without a full collection asked for
    assert.is_true(core.memory().bytes - before < 1 << 30)
  end)

  it("case C39: may be larger than 2 GiB", function()
    for type, bytes in pairs { ["s32[536870913]"] = 2147483652, ["f64[258,258,4096]"] = 2181169152 } do
      local x <close> = ccw.array(type)
      assert.equal(bytes, ccw.type(type).bytes)
      local last = x.flat
      last[x.count] = 7
      assert.equal(7, last[x.count])
      assert.equal(0, last[x.count - 1])
      local row = x
      while row.rank > 1 do row = row[#row] end
      assert.equal(7, row[#row])
      refuses("is outside 1 to", function() return last[x.count + 2] end)
    end
  end)

  it("case C39: is compared and printed with 64-bit positions", function()
    local x <close> = ccw.array "u8[2147483652]"
    local y <close> = ccw.array "u8[2147483652]"
    y[2147483652] = 1
    local difference = ccw.compare(x, y)
    assert.equal(2147483652, difference.first)
    assert.equal("1 of 2147483652 elements differ; first [2147483652]: 0 and 1, apart by 1 (relative 1)",
      tostring(difference))
  end)
end)

describe("CC-8 a long array", function()
  it("is printed with its ends, smallest, largest and mean element, and the count of NaNs", function()
    assert.equal("f32[2000] {0, 1, 2, ..., 1997, 1998, 1999}\nmin 0, max 1999, mean 999.5, 0 nan",
      tostring(ccw.iota "f32[2000]"))
    local x = ccw.array("f32[100,100]", 1)
    x[1][1] = 0 / 0
    assert.equal([[
f32[100,100] {{nan, 1, 1, ..., 1, 1, 1},
              {1, 1, 1, ..., 1, 1, 1},
              {1, 1, 1, ..., 1, 1, 1},
              ...,
              {1, 1, 1, ..., 1, 1, 1},
              {1, 1, 1, ..., 1, 1, 1},
              {1, 1, 1, ..., 1, 1, 1}}
min 1, max 1, mean 1, 1 nan]], tostring(x))
  end)

  it("that is empty is printed at once also where it has large dims, and asked for no more than it has", function()
    local x = ccw.array "u8[9223372036854775807,0]"
    assert.equal("u8[9223372036854775807,0] {{}, {}, {}, ..., {}, {}, {}}", tostring(x))
    assert.equal("u8[0] {}", tostring(x[9223372036854775807]))
    refuses("index 0 is outside 1 to 9223372036854775807", function() return x[0] end)
    assert.equal("f32[0,4611686018427387904,4] {}", tostring(ccw.iota("f32[0,4611686018427387904,4]", 0)):match "^[^\n]*")
  end)

  it("is printed at once also where it has many dims", function()
    local x = ccw.array("u1[" .. ("2,"):rep(24) .. "2]", 1)
    assert.matches("{1, 1, 1, ..., 1, 1, 1}\nmin 1, max 1, mean 1, 0 nan$", tostring(x))
  end)

  it("of moderate size is wrapped", function()
    assert.equal("s32[30] {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,\n" ..
      "         25, 26, 27, 28, 29}", tostring(ccw.iota "s32[30]"))
  end)
end)

describe("CC-8 ccw.iota and ccw.random", function()
  it("count over all elements, or along a dim", function()
    assert.equal("s32[2,3] {{0, 1, 2}, {3, 4, 5}}", tostring(ccw.iota "s32[2,3]"))
    assert.equal("s32[2,3] {{0, 0, 0}, {1, 1, 1}}", tostring(ccw.iota("s32[2,3]", 0)))
    assert.equal("f32[2,3] {{0, 1, 2}, {0, 1, 2}}", tostring(ccw.iota("f32[2,3]", 1)))
    refuses("expected a dim of 0 to 1, got 2", ccw.iota, "s32[2,3]", 2)
    local _, err = ccw.try(ccw.iota, "s8[200]")
    assert.equal("OUT_OF_RANGE: 199 does not fit in s8", tostring(err))
  end)

  it("draw the same numbers from a seed, and others from another", function()
    local a, b = ccw.random("f32[100]", 1), ccw.random("f32[100]", 1)
    assert.equal("equal", tostring(ccw.compare(a, b)))
    assert.is_false(ccw.compare(a, ccw.random("f32[100]", 2)).equal)
    assert.equal(ccw.random("f32[200]", 1)[7], a[7]) -- an element depends on nothing but its position
  end)

  it("stay in their range", function()
    for dtype, info in pairs(core.dtypes()) do
      if dtype ~= "token" and info.class ~= "COMPLEX" then
        local summary = ccw.random(dtype .. "[500]", 3):summary()
        assert.equal(0, summary.nans, dtype)
        assert.is_true(summary.min < summary.max, dtype)
      end
    end
    local s = ccw.random("s32[1000]", 4, { low = 5, high = 7 }):summary()
    assert.equal(5, s.min)
    assert.equal(7, s.max)
    s = ccw.random("f64[1000]", 4, { low = 10, high = 11 }):summary()
    assert.is_true(s.min >= 10 and s.max < 11 and math.abs(s.mean - 10.5) < 0.05)
    local _, err = ccw.try(ccw.random, "s8[1]", 1, { low = 0, high = 1000 })
    assert.equal("OUT_OF_RANGE: 1000 does not fit in s8", tostring(err))
    _, err = ccw.try(ccw.random, "f32[1]", 1, { low = 1, high = 0 })
    assert.equal("INVALID_ARGUMENT: random: no numbers from 1 to 0", tostring(err))
  end)
end)

describe("CC-7 packed elements", function()
  it("stay what they are when a view that ends inside their byte is written", function()
    local m = ccw.u4 { { 1, 2, 3 }, { 4, 5, 6 } }
    local text = "a view that shares a byte with its neighbours; use its copy()"
    refuses(text, function() m[1]:set_bytes "\xff\xff" end)
    refuses(text, function() return m[1]:bytes() end)
    local copy = ccw.load(support.library "plain").copy
    local _, err = ccw.try(ccw.call, copy, { ccw.u4 { 0, 0, 0 } }, m[1])
    assert.equal("INVALID_ARGUMENT: copy: result 0: a view that shares a byte with its neighbours; pass its copy()", tostring(err))
    m[1]:fill(9)
    m[2][1] = 8
    assert.equal("u4[2,3] {{9, 9, 9}, {8, 5, 6}}", tostring(m))
    assert.equal("\x99\x09", m[1]:copy():bytes())
    assert.equal("f32[3] {9, 9, 9}", tostring(m[1]:as "f32"))
  end)

  it("at the end of their buffer share a byte with nobody", function()
    local m = ccw.u4 { { 1, 2, 3, 4 }, { 5, 6, 7, 8 } }
    assert.equal("\x65\x87", m[2]:bytes())
    local odd = ccw.u4 { { { 1 } }, { { 2 } }, { { 3 } } }
    assert.equal("\x03", odd[3]:bytes())
    assert.equal("\x03", odd[3][1]:bytes())
    assert.equal("\x21\x03", odd.flat:bytes())
  end)
end)

describe("CC-8 the bounds of ccw.random", function()
  local function draw(type, low, high) return tostring(ccw.random(type, 1, { low = low, high = high })) end

  it("are exact for integers of 64 bits", function()
    assert.equal("s64[1] {9007199254740993}", draw("s64[1]", 9007199254740993, 9007199254740993))
    local all = ccw.random("s64[1000]", 1, { low = math.mininteger, high = math.maxinteger })
    local negative, small = 0, 0
    for _, x in ipairs(all) do
      if x < 0 then negative = negative + 1 end
      if x > -(1 << 53) and x < 1 << 53 then small = small + 1 end
    end
    assert.is_true(negative > 400 and negative < 600 and small < 20)
    assert.equal("pred[3] {true, true, true}", draw("pred[3]", 1, 1))
  end)

  it("are held by the dtype", function()
    local function refused(...) return tostring(select(2, ccw.try(draw, ...))) end
    assert.equal("OUT_OF_RANGE: random: 1e+06 does not fit in f16", refused("f16[1]", 0, 1e6))
    assert.equal("OUT_OF_RANGE: random: -1 does not fit in f8e8m0fnu", refused("f8e8m0fnu[1]", -1, 1))
    assert.equal("OUT_OF_RANGE: 2 does not fit in u1", refused("pred[1]", 0, 2))
    assert.equal("INVALID_ARGUMENT: 0.5 is not an integer, as needed for s32", refused("s32[1]", 0.5, 2))
    assert.equal("INVALID_ARGUMENT: random: no numbers from 3 to 2", refused("u64[1]", 3, 2))
    assert.equal("INVALID_ARGUMENT: random: no numbers from -1e+308 to 1e+308", refused("f64[1]", -1e308, 1e308))
  end)
end)

describe("CC-7 a buffer", function()
  it("has a mean where the sum is more than the dtype holds", function()
    assert.equal(1e308, ccw.f64({ 1e308, 1e308 }):summary().mean)
  end)

  it("may be closed by a finalizer at any time", function()
    for _, use in ipairs {
      function(x) return x[1] end, function(x) return x.dims end, function(x) return x.flat end, function(x) return x.type end,
      function(x) return x:copy() end, function(x) return x:as "f64" end, function(x) return tostring(x) end,
      function(x) return x:reshape "f32[4]" end,
    } do
      for _ = 1, 3000 do
        local x = ccw.array "f32[2,2]"
        setmetatable({}, { __gc = function() x:close() end })
        local ok, err = pcall(use, x)
        assert.is_true(ok or err:find "this buffer is closed" ~= nil, err)
      end
    end
    local x = ccw.array "u8[100000000]"
    setmetatable({}, { __gc = function() x:close() end })
    local ok, err = pcall(x.copy, x) -- which wants memory, for which the collector is asked
    assert.is_true(ok or err:find "this buffer is closed" ~= nil, tostring(err))
  end)

  it("is made of tables that end", function()
    local loop = {}
    loop[1] = loop
    refuses("bad argument #1 to 'f32' (more than 32 tables in each other)", ccw.f32, loop)
  end)

  it("that is empty is printed, however large its other dims are", function()
    assert.equal("f32[100000000,0] {{}, {}, {}, ..., {}, {}, {}}", (tostring(ccw.array "f32[100000000,0]"):gsub("\n.*", "")))
    assert.equal("f32[0] {}", tostring(ccw.array("f32[9223372036854775807,0]")[1]))
    local dims = "[0,9223372036854775807,9223372036854775807]"
    assert.equal("f32" .. dims .. " {}", tostring(ccw.iota("f32" .. dims, 0)))
  end)
end)

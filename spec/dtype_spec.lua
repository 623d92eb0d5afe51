-- CC-40: every dtype, in memory and as numbers.
local ccw = require "ccw"
local core = require "ccw.core"
local support = require "spec.support"
local refuses = support.refuses

describe("CC-40 integers", function()
  it("hold what fits, and no more", function()
    for dtype, range in pairs {
      s1 = { -1, 0 }, s2 = { -2, 1 }, s4 = { -8, 7 }, s8 = { -128, 127 }, s16 = { -32768, 32767 },
      s32 = { -2147483648, 2147483647 }, u1 = { 0, 1 }, u2 = { 0, 3 }, u4 = { 0, 15 }, u8 = { 0, 255 },
      u16 = { 0, 65535 }, u32 = { 0, 4294967295 },
    } do
      local x = ccw[dtype](range)
      assert.equal(range[1], x[1])
      assert.equal(range[2], x[2])
      refuses("does not fit in " .. dtype, function() x[1] = range[1] - 1 end)
      refuses("does not fit in " .. dtype, function() x[1] = range[2] + 1 end)
    end
  end)

  it("keep all 64 bits", function()
    local x = ccw.s64 { math.mininteger, math.maxinteger }
    assert.equal(math.mininteger, x[1])
    assert.equal(math.maxinteger, x[2])
    local y = ccw.array("u64[2]", { math.maxinteger, ccw.u64 "18446744073709551615" })
    assert.equal(math.maxinteger, y[1])
    assert.equal("u64(18446744073709551615)", tostring(y[2]))
    assert.equal(ccw.u64 "18446744073709551615", y[2])
    assert.equal("u64[2] {9223372036854775807, 18446744073709551615}", tostring(y))
    refuses("-1 does not fit in u64", function() y[1] = -1 end)
  end)

  it("case C04: take a float with an integral value, by what it is and not by what it converts to", function()
    assert.equal("s32(0)", tostring(ccw.s32(0.0)))
    assert.equal("s32(0)", tostring(ccw.s32(-0.0)))
    assert.equal("s32(1000)", tostring(ccw.s32(1000.0)))
    refuses("bad argument #1 to 's32' (0.5 is not an integer, as needed for s32)", ccw.s32, 0.5)
    refuses("bad argument #1 to 's32' (2147483648 does not fit in s32)", ccw.s32, 2 ^ 31)
    refuses("bad argument #1 to 's64' (9.223372036854776e+18 does not fit in s64)", ccw.s64, 2 ^ 63)
    refuses("bad argument #1 to 's32' (nan is not an integer, as needed for s32)", ccw.s32, 0 / 0)
    refuses("bad argument #1 to 's32' (inf is not an integer, as needed for s32)", ccw.s32, math.huge)
  end)

  it("case C04: read a string in a constructor, where people write it, and nowhere else", function()
    assert.equal("s32(7)", tostring(ccw.s32 "7"))
    assert.equal("f32(0.5)", tostring(ccw.f32 "0x1p-1"))
    assert.equal("bf16(-inf)", tostring(ccw.bf16 "-inf"))
    assert.equal("f32(nan)", tostring(ccw.f32 "nan"))
    refuses("bad argument #1 to 's32' (the string is no number)", ccw.s32, "7 apples")
    refuses("bad argument #1 to 'u64' (18446744073709551616 does not fit in u64)", ccw.u64, "18446744073709551616")
    refuses("[1]: expected number, got string", ccw.array, "s32[1]", { "7" })
    refuses("expected an integer as seed, got string", ccw.random, "s32[1]", "7")
  end)

  it("are packed when they are short, lowest bits first", function()
    assert.equal("0111", support.hex(ccw.s4 { 1, 0, 1, 1 }))
    assert.equal("51", support.hex(ccw.s2 { 1, 0, 1, 1 }))
    assert.equal("0d", support.hex(ccw.u1 { 1, 0, 1, 1 }))
    assert.equal("0222", support.hex(ccw.f4e2m1fn { 1, 0, 1, 1 }))
    assert.equal("8f07", support.hex(ccw.s4 { -1, -8, 7 })) -- three elements take two bytes
  end)
end)

describe("CC-40 pred", function()
  it("case C15: is a byte of 0 or 1", function()
    assert.equal("0100010001", support.hex(ccw.pred { true, false, true, false, true }))
    assert.equal("pred[2] {true, false}", tostring(ccw.pred { true, false }))
  end)

  it("case C37: comes from integers by comparison with zero, not by cutting bits", function()
    local x = ccw.s64 { -1, 2, 256, 0 }
    assert.equal("s32[4] {1, 1, 1, 0}", tostring(x:as "pred":as "s32"))
  end)

  it("case C37: is true for any byte but 0, and check() tells", function()
    local x = ccw.array "pred[3]"
    x:set_bytes "\0\1\xFF"
    assert.same({ false, true, true }, { x[1], x[2], x[3] })
    local _, err = ccw.try(x.check, x)
    assert.equal("DATA_LOSS: element [3]: a pred is 0 or 1, this byte is 255", tostring(err))
  end)
end)

describe("CC-40 floats", function()
  it("case C36: come into every narrow format as ml_dtypes makes them", function()
    local numbers = { 1, math.pi, 448, 500, -0.0, math.huge, 0 / 0, 0 }
    local expected = {
      bf16 = "803f4940e043fa430080807fc07f0000", f16 = "003c4842005fd05f0080007c007e0000",
      f8e4m3fn = "38457e7f807f7f00", f8e5m2 = "3c425f60807c7e00", f8e4m3 = "3845787880787c00",
      f8e4m3fnuz = "404d808000808000", f8e5m2fnuz = "4046636400808000", f8e4m3b11fnuz = "5865808000808000",
      f8e3m4 = "3049707080707800", f8e8m0fnu = "7f818888ffffffff",
    }
    for dtype, bytes in pairs(expected) do
      local x = ccw[dtype](numbers)
      x[7] = math.abs(0 / 0) -- without a sign
      assert.equal(bytes, support.hex(x), dtype)
    end
    assert.equal("80", support.hex(ccw.f8e8m0fnu { 1.5 })) -- 2.0: halfway rounds up
    assert.equal("0080ff", support.hex(ccw.f8e8m0fnu { 5.877472e-39, 1.5 - 2 ^ -52, 1e-300 })) -- an f32 first, as in ml_dtypes
    assert.equal("f8e4m3fn[1] {3.25}", tostring(ccw.f8e4m3fn { math.pi }))
    assert.equal("7a", support.hex(ccw.f4e2m1fn { -1, 6.5 })) -- no infinity: the largest, 6, stands for all beyond
  end)

  it("keep what they are given, each of them", function()
    for name, about in pairs(core.dtypes()) do
      if about.class == "FLOAT" then assert.equal(name .. "[2] {1, 2}", tostring(ccw[name] { 1, 2 })) end
    end
  end)

  it("print the shortest text that reads back", function()
    assert.equal("f32[5] {0.1, 1e-05, 16777216, -0.0, nan}", tostring(ccw.f32 { 0.1, 1e-5, 2 ^ 24, -0.0, 0 / 0 }))
    assert.equal("f64[2] {0.1, 0.30000000000000004}", tostring(ccw.f64 { 0.1, 0.1 + 0.2 }))
    assert.equal("bf16[2] {3.14, inf}", tostring(ccw.bf16 { math.pi, math.huge }))
  end)

  it("round an integer once, not first to a double", function()
    -- 2^60 + 2^36 + 1 lies above the tie between two f32 values; as a double it would lie on it
    assert.equal(2.0 ^ 60 + 2.0 ^ 37, ccw.f32 { (1 << 60) + (1 << 36) + 1 }[1])
    assert.equal(-(2.0 ^ 60 + 2.0 ^ 37), ccw.f32 { -((1 << 60) + (1 << 36) + 1) }[1])
    assert.equal(2.0 ^ 60, ccw.f32 { (1 << 60) + (1 << 36) }[1])
  end)

  describe("held against ml_dtypes", function()
    local formats = { f16 = 2, bf16 = 2, f8e5m2 = 1, f8e4m3 = 1, f8e4m3fn = 1, f8e4m3b11fnuz = 1, f8e5m2fnuz = 1,
      f8e4m3fnuz = 1, f8e3m4 = 1, f4e2m1fn = 0.5, f8e8m0fnu = 1 }
    local folder

    local function read(name)
      local file <close> = assert(io.open(folder .. "/" .. name, "rb"))
      return file:read "a"
    end

    setup(function()
      local python = (os.getenv "CCW_VENV" or support.build .. "/venv") .. "/jax-0.10.2/bin/python"
      if not support.exists(python) then return end
      folder = support.temporary()
      local output, good = support.sh(("'%s' '%s/spec/python/narrow_floats.py' '%s'"):format(python, support.root, folder))
      assert(good, output)
    end)

    for dtype, width in pairs(formats) do
      it("decode every code of " .. dtype, function()
        if not folder then return pending "ml_dtypes could not be had" end
        local count = width == 2 and 65536 or width == 1 and 256 or 16
        local codes = ccw.array(("%s[%d]"):format(dtype, count))
        if width == 0.5 then
          codes:set_bytes(ccw.array("u4[16]", function(i) return i - 1 end):bytes())
        else
          codes:set_bytes(ccw.array(("u%d[%d]"):format(8 * width, count), function(i) return i - 1 end):bytes())
        end
        local expected = ccw.array(("f64[%d]"):format(count)):set_bytes(read(dtype .. ".decoded"))
        -- NaNs have payloads of their own on either side: they are compared as NaNs
        assert.equal("equal", tostring(ccw.compare(codes:as "f64", expected, { equal_nan = true })))
        local ours, wrong = codes:as "f64", 0
        for i = 1, count do -- bits of numbers: -0.0 is not 0.0
          local number = expected[i] == expected[i]
          if number and string.pack("d", ours[i]) ~= string.pack("d", expected[i]) then wrong = wrong + 1 end
        end
        assert.equal(0, wrong)
      end)

      it("encode into " .. dtype .. ", bit for bit", function()
        if not folder then return pending "ml_dtypes could not be had" end
        local bytes = read "inputs.f32"
        local inputs = ccw.array(("f32[%d]"):format(#bytes // 4)):set_bytes(bytes)
        assert.is_true(inputs.count >= 65536 * 2 + 100000)
        local ours, expected = inputs:as(dtype), read(dtype .. ".encoded")
        if width == 0.5 then -- ml_dtypes keeps each code in a byte
          ours = ccw.array(("u4[%d]"):format(inputs.count)):set_bytes(ours:bytes()):as "u8"
        end
        local name = ("u%d[%d]"):format(width == 2 and 16 or 8, inputs.count)
        local a, b = ccw.array(name):set_bytes(ours:bytes()), ccw.array(name):set_bytes(expected)
        local difference = ccw.compare(a, b)
        assert.is_true(difference.equal, not difference.equal and
          ("%s: input %s: %s"):format(difference, inputs[difference.first], dtype))
      end)
    end
  end)
end)

describe("CC-40 complex numbers", function()
  it("are pairs in memory, and scalars in Lua", function()
    local x = ccw.c64 { { 1, 2 }, { 3, -0.0 }, 4 }
    assert.equal("c64[3] {(1, 2), (3, -0.0), (4, 0)}", tostring(x))
    assert.equal("0000803f00000040", support.hex(x):sub(1, 16))
    assert.equal(2.0, x[1].im)
    assert.equal(ccw.c64(1, 2), x[1])
    x[2] = ccw.c64(5, 6)
    assert.equal(5.0, x[2].re)
    assert.equal(6.0, x[2][2])
    assert.equal("c64(5, 6)", tostring(x[2]))
    assert.equal("c128[2,2] {{(1, 0), (2, 1)}, {(3, 0), (0, 0)}}", tostring(ccw.array("c128[2,2]", { { 1, { 2, 1 } }, { 3, 0 } })))
  end)

  it("case C38: keep their precision", function()
    local function accumulate(dtype)
      local x = ccw.array(dtype .. "[1]")
      local step = -2 * 3.1415926 / 1.5e-6
      for _ = 1, 734 do x[1] = { x[1].re, x[1].im + step } end
      return x[1].im
    end
    assert.is_true(math.abs(accumulate "c128" - -3074571957.8666) < 1e-3)
    assert.is_true(math.abs(accumulate "c64" - -3074571957.8666) > 1)
    assert.equal(16, #ccw.c128 { 1 }:bytes())
  end)

  it("do not become real while they have an imaginary part", function()
    assert.equal("f32[1] {3}", tostring(ccw.c64 { { 3, 0 } }:as "f32"))
    local _, err = ccw.try(function() return ccw.c64 { 1, { 3, 4 } }:as "f32" end)
    assert.equal("INVALID_ARGUMENT: element [2]: (3, 4) has an imaginary part, which does not fit in f32", tostring(err))
  end)
end)

describe("CC-40 conversion", function()
  it("of an array names the element that does not fit", function()
    local _, err = ccw.try(function() return ccw.s32 { { 1, 2 }, { 3, 300 } }:as "s8" end)
    assert.equal("OUT_OF_RANGE: element [2][2]: 300 does not fit in s8", tostring(err))
    _, err = ccw.try(function() return ccw.f32 { 1, 2.5 }:as "s32" end)
    assert.equal("INVALID_ARGUMENT: element [2]: 2.5 is not an integer, as needed for s32", tostring(err))
  end)

  it("goes from every dtype to every other", function()
    for from in pairs(core.dtypes()) do
      for to in pairs(core.dtypes()) do
        if from ~= "token" and to ~= "token" then
          local one = from == "s1" and 0 or 1 -- s1 holds 0 and -1
          local y = ccw.array(from .. "[3]", one):as(to == "s1" and "s2" or to)
          local back = y:as "f64"
          if not (to == "f8e8m0fnu" and one == 0) then assert.equal(one, back[3], from .. " to " .. to) end
        end
      end
    end
  end)

  it("knows no tokens", function()
    refuses("a token holds nothing", ccw.array, "token[]", 1)
    assert.equal("token[]", tostring(ccw.array "token[]"))
  end)
end)

describe("CC-40 a string in a constructor", function()
  it("is read to its last digit", function()
    local function value(...) return tostring((select(2, pcall(...)))):gsub("^.*argument #1 to '[^']*' ", "") end
    assert.equal("s64(-9223372036854775808)", value(ccw.s64, "-9223372036854775808"))
    assert.equal("(-9223372036854775809 does not fit in s64)", value(ccw.s64, "-9223372036854775809"))
    assert.equal("u64(18446744073709551615)", value(ccw.u64, "0xffffffffffffffff"))
    assert.equal("(0x1ffffffffffffffff does not fit in u64)", value(ccw.u64, "0x1ffffffffffffffff"))
    assert.equal("(18446744073709551615 does not fit in s64)", value(ccw.s64, "0xffffffffffffffff"))
    assert.equal("f64(1e+20)", value(ccw.f64, "100000000000000000000"))
    assert.equal("s8(16)", value(ccw.s8, "0x10"))
    assert.equal("s8(-16)", value(ccw.s8, "-0x10"))
    assert.equal("f32(0.5)", value(ccw.f32, "0x.8"))
    assert.equal("(the string is no number)", value(ccw.s8, "0x"))
    assert.equal("(the string is no number)", value(ccw.s8, "-"))
    assert.equal("(the string is no number)", value(ccw.s8, "1 2"))
  end)

  it("and a part of a complex number may be complex where nothing is lost", function()
    assert.equal("c64(1, 2)", tostring(ccw.c64(ccw.c64(1, 0), 2)))
    refuses("bad argument #2 to 'c64' ((1, 2) has an imaginary part, which does not fit in f32)", ccw.c64, 1, ccw.c64(1, 2))
  end)
end)

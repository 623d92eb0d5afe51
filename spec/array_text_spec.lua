-- CC-26: what an array prints is read back.
local ccw = require "ccw"
local core = require "ccw.core"
local support = require "spec.support"

local read = ccw.array_from_text

describe("CC-26 an array from its text", function()
  it("has the type and the elements that stand there", function()
    local x = read "f32[2,3] {{1, 2, 3}, {4, 5, 6.5}}"
    assert.equal("f32[2,3]", tostring(x.type))
    assert.equal(("<ffffff"):pack(1, 2, 3, 4, 5, 6.5), x:bytes())
    assert.equal(-1.5, read("f64[] -1.5"):item())
    assert.equal(("<i2i2"):pack(-32768, 7), read("s16[2]{-32768,7}"):bytes())
    assert.equal("\1\0", read("pred[2] {true, false}"):bytes())
    assert.equal(("<ffff"):pack(1, -2, 3, 0), read("c64[2] {(1, -2), 3}"):bytes())
    assert.equal("\xE1\x07", read("s4[3] {1, -2, 7}"):bytes())
    assert.equal(("<I8"):pack(0xFFFFFFFFFFFFFFFF), read("u64[] 18446744073709551615"):bytes())
    assert.equal("\x80\x3F\x00\xC0", read("bf16[2] {1, -2}"):bytes())
  end)

  it("holds infinities and minus zero as the format has them, and nan", function()
    assert.equal("\0\0\x80\x7F\0\0\x80\xFF\0\0\0\x80", read("f32[3] {inf, -inf, -0.0}"):bytes())
    local nan = read("f32[] nan"):item()
    assert.is_true(nan ~= nan)
    assert.equal("c128[1] {(nan, inf)}", tostring(read "c128[1] {(nan, inf)}"))
  end)

  it("may be written with more spaces, flat, or as one number for all", function()
    assert.equal("s32[2,2] {{1, 2}, {3, 4}}", tostring(read "\n s32[2,2]\n{ {1,2} ,\n\t{3,4,} , }\n"))
    assert.equal("s32[2,2] {{1, 2}, {3, 4}}", tostring(read "s32[2,2] {1, 2, 3, 4}"))
    assert.equal("f32[3] {7, 7, 7}", tostring(read "f32[3] 7"))
    assert.equal("f32[2,0] {{}, {}}", tostring(read "f32[2,0] {}"))
    assert.equal("token[]", tostring(read "token[]"))
  end)

  it("needs no type where that is known", function()
    assert.equal("f16[2] {1, 2}", tostring(read("{1, 2}", "f16[2]")))
    assert.equal("s32[] 3", tostring(read("3", ccw.type "s32[]")))
    assert.equal("f32[1] {3}", tostring(read("f32[1] {3}", "f16[2]")))
  end)

  it("is where it was when it was printed", function()
    local x = read(tostring(ccw.f32({ 1, 2 }):to "sim:0"))
    assert.equal("sim:0", x.device)
    assert.equal("f32[2] {1, 2}", tostring(x:to "host"))
    local _, err = ccw.try(read, "f32[1] {1} on sim:99")
    assert.equal("NOT_FOUND", err.code)
  end)

  for dtype, info in pairs(core.dtypes()) do
    if dtype ~= "token" then
      it("is read back from " .. dtype, function()
        for _, dims in ipairs { "", "7", "2,3", "2,1,3", "0", "2,0", "0,2" } do
          local x = ccw.random(("%s[%s]"):format(dtype, dims), 3)
          local back = read(tostring(x))
          assert.equal(tostring(x.type), tostring(back.type))
          assert.equal(x:bytes(), back:bytes())
        end
      end)
    end
    if info.class == "FLOAT" or info.class == "COMPLEX" then
      it("is read back from any bits of " .. dtype, function()
        local x = ccw.array(dtype .. "[256]")
        local bits = info.bits == 8 and ccw.iota "u8[256]" or
          ccw.random(("u8[%d]"):format((256 * info.bits + 7) // 8), 5, { low = 0, high = 255 })
        x:set_bytes(bits:bytes())
        local back = read(tostring(x))
        assert.equal(tostring(x), tostring(back))
        assert.is_true(ccw.compare(x, back, { equal_nan = true }).equal)
      end)
    end
  end
end)

describe("CC-26 a text that is no array's", function()
  local function refuses(text, message, code, type)
    it("is refused: " .. (text:gsub("%c", "?")):sub(1, 60), function()
      local _, err = ccw.try(read, text, type)
      assert.equal(message, err and err.message)
      assert.equal(code or "INVALID_ARGUMENT", err.code)
    end)
  end

  refuses("f32[4] {1, 2, x, 4}", "array: expected a number of f32, got 'x'\n  f32[4] {1, 2, x, 4}\n                ^")
  refuses("f32[4] {1, 2, 3}", "array: expected 4 elements, got 3\n  f32[4] {1, 2, 3}\n                 ^")
  refuses("f32[1] {1, 2}", "array: expected 1 element, got more: '2'\n  f32[1] {1, 2}\n             ^")
  refuses("f32[2,1] {{1}}", "array: expected 2 rows, got 1\n  f32[2,1] {{1}}\n               ^")
  refuses("f32[2,2] {{1, 2}, {3}}", "array: expected 2 elements, got 1\n  f32[2,2] {{1, 2}, {3}}\n                      ^")
  refuses("f32[2] {1 2}", "array: expected ',', got '2'\n  f32[2] {1 2}\n            ^")
  refuses("f32[2] {1, 2", "array: expected '}', got the end\n  f32[2] {1, 2\n              ^")
  refuses("f32[2] {1, 2} 3", "array: expected the end, got '3'\n  f32[2] {1, 2} 3\n                ^")
  refuses("f32[2]", "array: expected a number, got the end\n  f32[2]\n        ^")
  refuses("f32[1] {1\0}", "array: expected 1 element, got more: '?'\n  f32[1] {1 }\n           ^")
  refuses("f32[9] {1, 2, ..., 9}", "array: '...': this text was cut when it was printed\n  f32[9] {1, 2, ..., 9}\n                ^")
  refuses("f32[1] {1e39}", "array: 1e39 does not fit in f32\n  f32[1] {1e39}\n          ^")
  refuses("f64[1] {1e400}", "array: 1e400 does not fit in f64\n  f64[1] {1e400}\n          ^")
  refuses("f8e4m3fn[] inf", "array: f8e4m3fn has no inf\n  f8e4m3fn[] inf\n             ^")
  refuses("f4e2m1fn[] nan", "array: f4e2m1fn has no nan\n  f4e2m1fn[] nan\n             ^")
  refuses("u8[] 300", "array: 300 does not fit in u8\n  u8[] 300\n       ^")
  refuses("s32[] 1.5", "array: 1.5 is not an integer, as needed for s32\n  s32[] 1.5\n        ^")
  refuses("pred[] 2", "array: expected true or false, got '2'\n  pred[] 2\n         ^")
  refuses("c64[] (1 2)", "array: expected ',', got '2'\n  c64[] (1 2)\n           ^")
  refuses("(f32[], s32[])", "array: expected the type of an array, got a tuple\n  (f32[], s32[])\n  ^")
  refuses("f32[2", "type: expected ',' or ']', got the end\n  f32[2\n       ^")
  refuses("{1, 2}", "type: expected a dtype or '(', got '{'\n  {1, 2}\n  ^")
  refuses("f32[99999999999999999999] {}", "type: a size of 2^63 or more\n  f32[99999999999999999999]\n      ^", "OUT_OF_RANGE")
  refuses("s32[2]\n{1,\n two}", "array: expected a number of s32, got 'two'\n   two}\n   ^")
  refuses("{1, x}", "array: expected a number of f32, got 'x'\n  {1, x}\n      ^", nil, "f32[2]")

  it("takes no more memory than it holds itself", function()
    local _, err = ccw.try(read, "f32[999999999999] {1}")
    assert.matches("array: expected 999999999999 elements, got 1\n", err.message, 1, true)
    _, err = ccw.try(read, "f32[999999999999] 1")
    assert.matches("array: f32[999999999999]: one number fills an array of 1073741824 bytes at the most\n", err.message, 1, true)
  end)

  it("shows a part of a long line, however deep or long it is", function()
    for _, text in ipairs { ("{"):rep(1000000), ("1"):rep(1000000), (" "):rep(1000000), ("f32["):rep(300000) } do
      local _, err = ccw.try(read, "f32[1] " .. text)
      assert.is_true(#err.message < 300, err.message:sub(1, 300))
    end
  end)

  it("is an error, whatever is damaged, and never more than that", function()
    local random = require "spec.text_calls".numbers(1)
    local whole = { "f32[2,3] {{1, -2.5, 3}, {4, inf, nan}}", "c64[2] {(1, 2), (3, -4)}", "pred[2] {true, false}", "s4[3] {1, -8, 7}" }
    local bytes, read_again, refused = "{}()[],.-+eE019naif \0\n\xFF", 0, 0
    for _ = 1, 4000 do
      local text = whole[random(#whole)]
      for _ = 1, random(3) do
        local at, from = random(#text), random(#bytes)
        text = text:sub(1, at - 1) .. (random(3) == 1 and "" or bytes:sub(from, from)) .. text:sub(at + random(3) - 1)
      end
      local x, err = ccw.try(read, text)
      if x then
        assert.equal(tostring(x), tostring(read(tostring(x))))
        read_again = read_again + 1
      else
        assert.is_true(err.code == "INVALID_ARGUMENT" or err.code == "OUT_OF_RANGE", text)
        refused = refused + 1
      end
    end
    assert.is_true(read_again > 200 and refused > 1000, read_again .. " and " .. refused)
  end)

  it("is misuse where it is no text, or the type is none of an array", function()
    support.refuses("bad argument #1 to 'array_from_text' (expected a string, got nil)", read)
    support.refuses("bad argument #2 to 'array_from_text' (expected the type of an array, got the tuple (f32[]))", read, "1", "(f32[])")
  end)
end)

-- CC-32, CC-33: the text of types.
local ccw = require "ccw"

describe("a type's text", function()
  it("is read and printed alike", function()
    for _, text in ipairs {
      "f32[2,3]", "f32[]", "token[]", "pred[0]", "s4[3]", "bf16[1,0,5]", "c128[2]", "()", "(f32[2,3])",
      "(f32[32], (f32[64], f32[128]), f32[256])", "((), (((token[]))), s64[9223372036854775807,0])",
      "f8e4m3b11fnuz[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]",
    } do
      assert.equal(text, tostring(ccw.type(text)))
      assert.equal(ccw.type(text), ccw.type(tostring(ccw.type(text))))
    end
    assert.equal("(f32[2,3], s32[])", tostring(ccw.type " ( f32 [ 2 , 3 ] ,s32[ ]\n) "))
    assert.not_equal(ccw.type "f32[2]", ccw.type "f32[3]")
    assert.not_equal(ccw.type "f32[2]", ccw.type "(f32[2])")
    assert.is_false(ccw.type "f32[2]" == ccw.f32 { 1, 2 })
  end)

  it("gives the sizes", function()
    local t = ccw.type "s4[3,5]"
    assert.equal("s4", t.dtype)
    assert.equal(2, t.rank)
    assert.same({ 3, 5 }, t.dims)
    assert.equal(15, t.count)
    assert.equal(8, t.bytes)
    local tuple = ccw.type "(f32[2], (s8[], token[]))"
    assert.equal(2, #tuple)
    assert.equal("(s8[], token[])", tostring(tuple[2]))
    assert.is_nil(tuple.dims)
    assert.is_nil(tuple[3])
  end)

  it("counts 1 element and no dims for rank 0", function()
    assert.equal(1, ccw.type "f32[]".count)
    assert.equal(4, ccw.type "f32[]".bytes)
    assert.same({}, ccw.type "f32[]".dims)
  end)

  it("is refused where it is wrong, with the place", function()
    for text, message in pairs {
      [""] = "type: expected a dtype or '(', got the end\n  \n  ^",
      ["f33[2]"] = "type: no dtype is called 'f33'\n  f33[2]\n  ^",
      ["F32[2]"] = "type: no dtype is called 'F32'\n  F32[2]\n  ^",
      ["f32"] = "type: expected '[', as in f32[] and f32[2,3], got the end\n  f32\n     ^",
      ["float32[2]"] = "type: no dtype is called 'float32': XLA's name is f32\n  float32[2]\n  ^",
      ["f32[2]{0}"] = "type: expected the end (a layout is no part of a type), got '{'\n  f32[2]{0}\n        ^",
      ["f32[2,x]"] = "type: expected a size, got 'x'\n  f32[2,x]\n        ^",
      ["f32[2 3]"] = "type: expected ',' or ']', got '3'\n  f32[2 3]\n        ^",
      ["f32[-1]"] = "type: expected a size, got '-'\n  f32[-1]\n      ^",
      ["f32[2,]"] = "type: expected a size, got ']'\n  f32[2,]\n        ^",
      ["f32[2]]"] = "type: expected the end, got ']'\n  f32[2]]\n        ^",
      ["(f32[2] s8[])"] = "type: expected ',' or ')', got 's'\n  (f32[2] s8[])\n          ^",
      ["token[1]"] = "type: token: expected rank 0, got 1\n  token[1]\n  ^",
      ["f32[2]\0"] = "type: expected the end, got '\\x00'\n  f32[2]\\x00\n        ^",
      ["f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]"] =
        "type: more than 32 dims\n  ...1," .. ("1,"):rep(29) .. "1]\n" ..
        (" "):rep(65) .. "^",
    } do
      local _, err = ccw.try(ccw.type, text)
      assert.equal("INVALID_ARGUMENT", err.code)
      assert.equal(message, err.message)
    end
  end)

  it("is refused when the size overflows, and an empty array is not", function()
    for text, message in pairs {
      ["f32[9223372036854775808]"] = "type: a size of 2^63 or more\n  f32[9223372036854775808]\n      ^",
      ["f32[4611686018427387904,4]"] = "type: shape of f32: 2^63 bits or more, from dim 0 on\n" ..
        "  f32[4611686018427387904,4]\n  ^",
      ["f64[3037000500,3037000500]"] = "type: shape of f64: 2^63 bits or more, from dim 1 on\n" ..
        "  f64[3037000500,3037000500]\n  ^",
      ["s64[144115188075855872]"] = "type: shape of s64: 2^63 bits or more, from dim 0 on\n" ..
        "  s64[144115188075855872]\n  ^",
    } do
      local _, err = ccw.try(ccw.type, text)
      assert.equal("OUT_OF_RANGE", err.code)
      assert.equal(message, err.message)
    end
    assert.equal(0, ccw.type "f32[9223372036854775807,0,9223372036854775807]".bytes)
    assert.equal((1 << 57) - 1, ccw.type "s64[144115188075855871]".count)
  end)

  it("is refused, and nothing worse, cut at any byte and with any byte changed", function()
    local text = "(f32[2,13], (s4[64], token[]), f8e4m3fn[256])"
    for length = 0, #text - 1 do
      local _, err = ccw.try(ccw.type, text:sub(1, length))
      assert.equal("INVALID_ARGUMENT", err.code)
    end
    for at = 1, #text do
      for byte = 0, 255 do
        local changed = text:sub(1, at - 1) .. string.char(byte) .. text:sub(at + 1)
        local value, err = ccw.try(ccw.type, changed)
        assert.is_true(value ~= nil or err.code == "INVALID_ARGUMENT" or err.code == "OUT_OF_RANGE")
      end
    end
  end)

  it("may be nested, but not without end", function()
    assert.equal(32, select(2, tostring(ccw.type(("("):rep(32) .. (")"):rep(32))):gsub("%(", "")))
    local _, err = ccw.try(ccw.type, ("("):rep(100000))
    assert.matches("type: more than 32 tuples in each other", err.message, 1, true)
  end)
end)

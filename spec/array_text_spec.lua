-- CC-8: arrays are read as they are printed.
local ccw = require "ccw"
local core = require "ccw.core"
local support = require "spec.support"

local function rejects(message, text)
  local value, err = ccw.try(ccw.array_from_text, text)
  assert.is_nil(value)
  assert.equal("INVALID_ARGUMENT: " .. message, tostring(err))
end

describe("CC-8 ccw.array_from_text", function()
  for dtype in pairs(core.dtypes()) do
    if dtype ~= "token" then
      it("reads back what is printed of " .. dtype, function()
        for _, dims in ipairs { "", "3", "2,3", "0", "2,0", "0,3", "1,2,2", "200" } do
          local x = ccw.random(("%s[%s]"):format(dtype, dims), 3)
          local y = ccw.array_from_text(tostring(x))
          assert.equal(x.type, y.type)
          assert.equal(x:bytes(), y:bytes())
        end
      end)
    end
  end

  it("reads numbers that are none, zeros with a sign and the largest integers", function()
    assert.equal("f32[5] {nan, inf, -inf, -0.0, 1e-45}", tostring(ccw.array_from_text "f32[5] {nan, inf, -inf, -0.0, 1e-45}"))
    assert.equal("c64[1] {(nan, -0.0)}", tostring(ccw.array_from_text "c64[1] {(nan, -0.0)}"))
    assert.equal("u64[1] {18446744073709551615}", tostring(ccw.array_from_text "u64[1] {18446744073709551615}"))
    assert.equal("s64[1] {-9223372036854775808}", tostring(ccw.array_from_text "s64[1] {-9223372036854775808}"))
    assert.equal("token[]", tostring(ccw.array_from_text "token[]"))
  end)

  it("reads what people write: without spaces, with more of them, a float without a fraction", function()
    assert.equal("f32[4] {1, 2, 3, 4}", tostring(ccw.array_from_text "f32[4]{1,2,3,4}"))
    assert.equal("f32[2,1] {{1}, {2.5}}", tostring(ccw.array_from_text "  f32 [ 2 , 1 ]\n  {\n  { 1.0 },\n  { 2.5 } }\n"))
    assert.equal("s32[1] {2}", tostring(ccw.array_from_text "s32[1] {2.0}"))
  end)

  it("puts an array on the device that is printed", function()
    local x = ccw.s32 { 1, 2 }:to "sim:0"
    local y = ccw.array_from_text(tostring(x))
    assert.equal("sim:0", y.device)
    assert.equal("s32[2] {1, 2}", tostring(y:to "host"))
  end)

  it("shows what is wrong", function()
    rejects("array: expected 2 elements here, got 1\n  f32[2] {1}\n         ^", "f32[2] {1}")
    rejects("array: expected 2 elements here, got 3\n  f32[1,2] {{1,2,3}}\n            ^", "f32[1,2] {{1,2,3}}")
    rejects("array: expected 1000000000000 elements here, got 1\n  f32[1000000000000] {1}\n                     ^",
      "f32[1000000000000] {1}")
    rejects("array: expected ',' or '}', got \"x\"\n  ..." .. (" 1,"):rep(9) .. " 2 x," .. (" 3,"):rep(8) .. " 3, ...\n" ..
      (" "):rep(35) .. "^", "f32[90] {" .. ("1, "):rep(40) .. "2 x, " .. ("3, "):rep(40) .. "}")
    rejects("array: expected '{', got the end\n  f32[2]\n        ^", "f32[2]")
    rejects("array: expected '{', got \"1\"\n  f32[2] 1\n         ^", "f32[2] 1")
    rejects("array: expected ',' or '}', got the end\n  f32[2] {1,2\n             ^", "f32[2] {1,2")
    rejects("array: expected ',' or '}', got \"+\"\n  1 +\n    ^", "f32[1]\n{\n1 +\n}")
    rejects("array: expected an element, got \"}\"\n  f32[2] {1,}\n            ^", "f32[2] {1,}")
    rejects("array: expected an element, got \"{\"\n  f32[1] {{1}}\n          ^", "f32[1] {{1}}")
    rejects("array: expected the end, got \"3\"\n  f32[1] {1} 3\n             ^", "f32[1] {1} 3")
    rejects("array: \"1x\" is no number\n  f32[1] {1x}\n          ^", "f32[1] {1x}")
    rejects("array: expected true or false, got \"1\"\n  pred[1] {1}\n           ^", "pred[1] {1}")
    rejects("array: 1.5 is not an integer, as needed for s8\n  s8[1] {1.5}\n         ^", "s8[1] {1.5}")
    rejects("array: 300 does not fit in s8\n  s8[1] {300}\n         ^", "s8[1] {300}")
    rejects("array: only complex numbers have two parts\n  f32[1] {(1, 2)}\n          ^", "f32[1] {(1, 2)}")
    rejects("array: expected an array, got the tuple (f32[1])", "(f32[1])")
    rejects("type: expected a dtype or '(', got the end\n  \n  ^", "")
    support.refuses("bad argument #1 to 'array_from_text' (expected a string, got nil)", ccw.array_from_text)
  end)

  it("refuses a text from which elements were left out", function()
    rejects("array: elements were left out when this was printed\n  u8[9] {1, 2, ..., 9}\n               ^", "u8[9] {1, 2, ..., 9}")
    local _, err = ccw.try(ccw.array_from_text, tostring(ccw.iota "f32[100,100]"))
    assert.matches("^array: elements were left out when this was printed\n", err.message)
  end)

  it("is not slow on text that goes wrong late, nor deep in it", function()
    for _, text in ipairs { (" "):rep(1000000), "f32[1]" .. ("{"):rep(1000000), "f32[1] {" .. ("1"):rep(1000000),
      "f32[" .. ("1,"):rep(500000), ("a "):rep(500000), "f32[1] {" .. (" "):rep(1000000) .. "\n" .. ("1"):rep(1000000),
      "c64[1] {(" .. (" "):rep(1000000), ("["):rep(1000000), "f32[1] {" .. ("1,"):rep(500000) } do
      local value, err = ccw.try(ccw.array_from_text, text)
      assert.is_nil(value)
      assert.is_true(#err.message < 300)
    end
  end)
end)

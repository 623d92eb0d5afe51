-- CC-40: comparison.
local ccw = require "ccw"
local support = require "spec.support"
local refuses = support.refuses

local nan = 0 / 0

local function outcome(a, b, options) return tostring(ccw.compare(a, b, options)) end

describe("CC-40 comparison", function()
  it("is exact when nothing else is said", function()
    assert.equal("equal", outcome(ccw.f32 { 1, 2 }, ccw.f32 { 1, 2 }))
    assert.equal("equal", outcome(ccw.f32 { 0.0 }, ccw.f32 { -0.0 }))
    assert.equal("1 of 2 elements differ; first [2]: 2 and 2.0000002, apart by 2.38e-07 (relative 1.19e-07)",
      outcome(ccw.f32 { 1, 2 }, ccw.f32 { 1, 2 + 2 ^ -22 }))
    assert.is_true(ccw.compare(ccw.f32 { 1 }, ccw.f32 { 1 }).equal)
  end)

  it("names the first and the worst element by index", function()
    local a, b = ccw.iota "s32[2,3]", ccw.s32 { { 0, 1, 3 }, { 3, 14, 5 } }
    local difference = ccw.compare(a, b)
    assert.equal("2 of 6 elements differ; first [1][3]: 2 and 3; worst [2][2]: 4 and 14, apart by 10 (relative 0.714)",
      tostring(difference))
    assert.same({ false, 2, 3, 5 }, { difference.equal, difference.count, difference.first, difference.worst })
  end)

  it("knows dtypes and shapes apart", function()
    assert.equal("dtypes differ: s32[1] and f32[1]", outcome(ccw.s32 { 1 }, ccw.f32 { 1 }))
    assert.equal("shapes differ: f32[2] and f32[1,2]", outcome(ccw.f32 { 1, 2 }, ccw.f32 { { 1, 2 } }))
    assert.equal("equal", outcome(ccw.array "f32[0]", ccw.array "f32[0]"))
    assert.equal("equal", outcome(ccw.array "token[]", ccw.array "token[]"))
  end)

  it("has a rule for NaN", function()
    assert.equal("1 of 1 elements differ; first [1]: nan and nan", outcome(ccw.f32 { nan }, ccw.f32 { nan }))
    assert.equal("equal", outcome(ccw.f32 { nan }, ccw.f32 { -nan }, { equal_nan = true }))
    assert.equal("equal", outcome(ccw.f32 { nan }, ccw.f32 { nan }, { bitwise = true }))
    assert.is_false(ccw.compare(ccw.f32 { nan }, ccw.f32 { -nan }, { bitwise = true }).equal)
    assert.is_false(ccw.compare(ccw.f32 { nan }, ccw.f32 { 1 }, { equal_nan = true, close = true }).equal)
    assert.equal("close", outcome(ccw.f32 { nan }, ccw.f32 { nan }, { equal_nan = true, close = true }))
    assert.equal(2, ccw.compare(ccw.f32 { 1, nan }, ccw.f32 { 9, 0 }).worst) -- a NaN is the worst
  end)

  it("compares memory, when asked", function()
    assert.equal("1 of 1 elements differ; first [1]: 0 and -0.0, apart by 0",
      outcome(ccw.f32 { 0.0 }, ccw.f32 { -0.0 }, { bitwise = true }))
    local odd, one = ccw.array "pred[1]":set_bytes "\xFF", ccw.pred { true }
    assert.equal("equal", outcome(odd, one))
    assert.is_false(ccw.compare(odd, one, { bitwise = true }).equal)
    local big = ccw.array("u64[1]", ccw.u64 "18446744073709551615")
    assert.is_false(ccw.compare(big, ccw.array("u64[1]", 1)).equal)
  end)

  it("accepts what is close", function()
    local a, b = ccw.f32 { 100, 1e-6 }, ccw.f32 { 100.0001, 0 }
    assert.equal("close", outcome(a, b, { close = true }))
    assert.equal("close", outcome(a, b, { rtol = 1e-5, atol = 1e-6 }))
    assert.is_false(ccw.compare(a, b, { rtol = 1e-7, atol = 1e-3 }).equal == false)
    assert.is_false(ccw.compare(a, b, { rtol = 1e-5, atol = 0 }).equal)
    assert.is_false(ccw.compare(a, b, { atol = 0, rtol = 0 }).equal)
    assert.equal("close", outcome(ccw.s32 { 10 }, ccw.s32 { 11 }, { atol = 1, rtol = 0 }))
    assert.equal("close", outcome(ccw.c64 { { 1, 1 } }, ccw.c64 { { 1, 1.000001 } }, { close = true }))
  end)

  it("does not take an infinity for close to a number", function()
    local inf = math.huge
    for _, dtype in ipairs { "f32", "f64", "bf16" } do
      assert.is_false(ccw.compare(ccw[dtype] { 1 }, ccw[dtype] { inf }, { close = true }).equal)
      assert.is_false(ccw.compare(ccw[dtype] { inf }, ccw[dtype] { 1 }, { close = true }).equal)
      assert.is_false(ccw.compare(ccw[dtype] { inf }, ccw[dtype] { -inf }, { close = true }).equal)
      assert.equal("close", outcome(ccw[dtype] { inf }, ccw[dtype] { inf }, { close = true }))
    end
  end)

  it("counts representable numbers, when asked", function()
    assert.equal("close", outcome(ccw.f32 { 1 }, ccw.f32 { 1 + 2 ^ -23 }, { max_ulp = 1 }))
    assert.is_false(ccw.compare(ccw.f32 { 1 }, ccw.f32 { 1 + 2 ^ -22 }, { max_ulp = 1 }).equal)
    assert.equal("close", outcome(ccw.f32 { 0.0 }, ccw.f32 { 2 ^ -149 }, { max_ulp = 1 }))
    assert.equal("close", outcome(ccw.f32 { -2 ^ -149 }, ccw.f32 { 2 ^ -149 }, { max_ulp = 2 }))
    assert.is_false(ccw.compare(ccw.f32 { -2 ^ -149 }, ccw.f32 { 2 ^ -149 }, { max_ulp = 1 }).equal)
    assert.equal("close", outcome(ccw.bf16 { 1 }, ccw.bf16 { 1 + 2 ^ -7 }, { max_ulp = 1 }))
  end)

  it("finds one bad element among many, wherever it is", function()
    for _, dtype in ipairs { "f32", "f64", "f16", "s8", "c128", "s4" } do
      for _, options in ipairs { {}, { close = true }, { bitwise = true } } do
        local a, b = ccw.array(dtype .. "[5000]", 1), ccw.array(dtype .. "[5000]", 1)
        for _, at in ipairs { 1, 1024, 1025, 4999, 5000 } do
          b[at] = 4
          local difference = ccw.compare(a, b, options)
          assert.same({ 1, at }, { difference.count, difference.first }, dtype)
          b[at] = 1
        end
        assert.is_true(ccw.compare(a, b, options).equal)
      end
    end
  end)

  it("refuses what is not an array, and options that it does not know", function()
    refuses("bad argument #2 to 'compare' (expected a buffer, got nil)", ccw.compare, ccw.f32 { 1 })
    refuses("bad argument #1 to 'compare' (expected a buffer, got number)", ccw.compare, 1, ccw.f32 { 1 })
    refuses("bad argument #2 to 'compare' (this buffer is on sim:0: its elements are to be had from x:to \"host\")", ccw.compare,
      ccw.f32 { 1 }, ccw.f32 { 1 }:to "sim:0")
    refuses("no option is called 'tolerance'", ccw.compare, ccw.f32 { 1 }, ccw.f32 { 1 }, { tolerance = 1 })
    refuses("max_ulp: only floats have representable neighbours, this is c64", ccw.compare, ccw.c64 { 1 }, ccw.c64 { 1 },
      { max_ulp = 1 })
    refuses("rtol: a tolerance, while bits are compared", ccw.compare, ccw.f32 { 1 }, ccw.f32 { 1 },
      { bitwise = true, rtol = 1 })
    refuses("atol: a tolerance, while close is false", ccw.compare, ccw.f32 { 1 }, ccw.f32 { 1 }, { close = false, atol = 1 })
    refuses("rtol: expected 0 or more, got -1", ccw.compare, ccw.f32 { 1 }, ccw.f32 { 1 }, { rtol = -1 })
    refuses("atol: expected a number, got string", ccw.compare, ccw.f32 { 1 }, ccw.f32 { 1 }, { atol = "1" })
  end)
end)

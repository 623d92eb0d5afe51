-- CC-10 to CC-19: patterns of buffers in Lua. Their meaning is that of C's, which match_spec.lua compares with XLA's headers.
local ccw = require "ccw"
local support = require "spec.support"
local m, refuses = ccw.match, support.refuses

local function message(...)
  local value, err = ccw.try(m.verify, ...)
  assert.is_nil(value)
  assert.equal("INVALID_ARGUMENT", err.code)
  return err.message
end

describe("a pattern in Lua", function()
  local matrix, bias, four = ccw.array "f32[3,3]", ccw.array "f32[3]", ccw.array "f32[2,2,5,6]"

  it("CC-10: is immutable, and a later word replaces an earlier one", function()
    local square = m.buffer "f32":with_dims("n", "n")
    local wide = square:with_rank(4)
    assert.equal("f32[n,n]", tostring(square))
    assert.equal("f32[n,n,?,?]", tostring(wide))
    assert.equal(2, m.verify("x", four, wide).n)
    m.verify("x", four, m.buffer():with_dim(3, 7):with_dims(2, 2, 5, 6))
    assert.equal("x: expected any[2,2,5,7], got f32[2,2,5,6]", message("x", four, m.buffer():with_dims(2, 2, 5, 6):with_dim(3, 7)))
    assert.equal("x: expected s32[3], got f32[3]", message("x", bias, m.buffer():like(bias):with_dtype "s32"))
  end)

  it("CC-11, CC-12: has dims of any size, of one, and captured", function()
    assert.equal(3, m.verify("x", matrix, m.buffer():with_dims("rows", 3)).rows)
    m.verify("x", matrix, m.buffer("f32", 2):with_dims("?", "?"))
    assert.equal("x: expected any[], got f32[3]", message("x", bias, m.buffer():with_dims()))
    assert.equal("x: expected any[-1], got f32[3]", message("x", bias, m.buffer():with_dims(-5)))
  end)

  it("CC-13: constrains one position and leaves the others free", function()
    assert.equal(5, m.verify("x", four, m.buffer():with_dim(2, "n")).n)
    assert.equal("x: expected any[?,?,7,*], got f32[3]", message("x", bias, m.buffer():with_dim(2, 7)))
  end)

  it("CC-14, CC-15: captures all or nothing, and the same name means equal sizes", function()
    local captures = m.verify("matrix", matrix, "f32[n,n]")
    assert.same({ n = 3 }, captures)
    assert.equal("x: expected any[a,b,b,*], got f32[2,2,5,6]",
      message("x", four, m.buffer():with_dim(0, "a"):with_dim(1, "b"):with_dim(2, "b"), captures))
    assert.same({ n = 3 }, captures)
    assert.equal(captures, m.verify("bias", bias, "f32[n]", captures))
    assert.equal("y: expected f32[n,k] with n = 3, got f32[4,2]; n is dim 0 of matrix",
      message("y", ccw.array "f32[4,2]", "f32[n,k]", captures))
    assert.same({ n = 3 }, captures)
    m.verify("y", ccw.array "f32[3,2]", "f32[n,k]", captures)
    assert.same({ n = 3, k = 2 }, captures)
    assert.equal("z: expected f32[n] with n = 5, got f32[3]", message("z", bias, "f32[n]", { n = 5 }))
  end)

  it("captures dtypes too", function()
    local captures = m.verify("x", bias, "T[n]")
    assert.same({ T = "f32", n = 3 }, captures)
    assert.equal("y: expected f32[n] with n = 3, got f64[3]; T is the dtype of x; n is dim 0 of x",
      message("y", ccw.array "f64[3]", "T[n]", captures))
  end)

  it("CC-16: takes shape, or shape and dtype, of a buffer, now", function()
    local x = ccw.array "f32[3]"
    local shape, like = m.buffer():with_shape_of(x), m.buffer():like(x)
    x:close()
    m.verify("y", ccw.array "s8[3]", shape)
    assert.equal("y: expected f32[3], got s8[3]", message("y", ccw.array "s8[3]", like))
    assert.equal("y: expected any[3], got s8[4]", message("y", ccw.array "s8[4]", shape))
  end)

  it("CC-17: refines where it gives one dtype and one rank itself", function()
    local x, captures = m.match("x", matrix, "f32[n,?]")
    assert.equal(matrix, x)
    assert.equal(3, captures.n)
    for _, pattern in ipairs { m.buffer(), m.buffer "f32", m.buffer():with_rank(2), m.buffer("f32"):with_rank(1, 2),
      m.buffer():with_dtype("f32", "s32"):with_rank(2), m.buffer():like(matrix), m.buffer("f32", 2):with_shape_of(matrix),
      "s32|f32[?,?]", "f32[*]", "T[?,?]" } do
      refuses("bad argument #3 to 'match' (a match needs a pattern that gives one dtype and one rank itself", m.match, "x", matrix,
        pattern)
    end
    m.match("x", matrix, m.buffer():with_shape_of(matrix):with_dtype "f32":with_rank(2))
    local _, err = ccw.try(m.match, "x", bias, "f32[?,?]")
    assert.equal("x: expected f32[?,?], got f32[3]", err.message)
  end)

  it("CC-18, CC-19: verifies alternatives, and names what it verifies", function()
    local indices = m.buffer():with_dtype("s32", "s64"):with_rank(1, 2)
    for _, type in ipairs { "s32[3]", "s64[3]", "s32[3,1]" } do m.verify("i", ccw.array(type), indices) end
    assert.equal("i: expected s32|s64[*1|2], got f32[3]", message("i", bias, indices))
    assert.equal("i: expected s32|s64[*1|2], got s32[]", message("i", ccw.array "s32[]", "s32|s64[*1|2]"))
    refuses("bad argument #1 to 'verify' (expected a string, got nil)", m.verify, nil, bias, "f32[3]")
  end)

  it("refuses what is no pattern", function()
    refuses("bad argument #2 to 'verify' (expected a buffer, got string)", m.verify, "x", "f32[3]", bias)
    refuses("bad argument #1 to 'with_dtype' (no dtype is called 'F32')", function() m.buffer():with_dtype "F32" end)
    refuses("bad argument #1 to 'with_dim' (expected a place of 0 to 31, got 32)", function() m.buffer():with_dim(32, 1) end)
    refuses("expected a size, a name or \"?\"", function() m.buffer():with_dims(1.5) end)
    refuses("expected a size, a name or \"?\"", function() m.buffer():with_dims("n+1") end)
    refuses("captures: 'n' is a string, not a size", m.verify, "x", bias, "f32[n]", { n = "three" })
    refuses("captures: 'T' is 'f33', which is no dtype", m.verify, "x", bias, "T[n]", { T = "f33" })
    assert.equal("x: expected f32[n] with n = -1, got f32[3]", message("x", bias, "f32[n]", { n = math.mininteger }))
    refuses('bad argument #3 to \'verify\' (expected one pattern, got "@stream")', m.verify, "x", bias, "@stream")
    refuses('bad argument #3 to \'verify\' (expected one pattern, got "...")', m.verify, "x", bias, "...")
    local _, err = ccw.try(m.verify, "x", bias, "f32[n")
    assert.equal("INVALID_ARGUMENT", err.code)
    assert.matches("%^", err.message)
  end)
end)

-- CC-8: slices of arrays.
local ccw = require "ccw"
local core = require "ccw.core"
local support = require "spec.support"
local refuses = support.refuses

--- The positions, from 1, that a range of a spec means, worked out by a loop; nil for all.
local function positions(range, size)
  local list = {}
  local first, last, step = 1, size, 1
  if range then first, last, step = range[1], range[2], range[3] or 1 end
  for i = first, last, step do list[#list + 1] = i end
  return list
end

--- Compares a slice of a random array of that type with the same elements, one by one.
local function check(type, ...)
  local x = ccw.random(type, 5)
  local ranges, dims = table.pack(...), x.dims
  local y, packed = x:slice(...)
  local function level(row, d, expected)
    if d > #dims then
      expected[#expected + 1] = row
      return expected
    end
    local range = ranges[d]
    for _, i in ipairs(math.type(range) and { range } or positions(range, dims[d])) do
      level(row * dims[d] + i - 1, d + 1, expected)
    end
    return expected
  end
  local expected = level(0, 1, {})
  assert.equal(#expected, y.count)
  for k, from in ipairs(expected) do
    assert.equal(core.element_text(x, from), core.element_text(y, k - 1), ("%s: element %d"):format(type, k))
  end
  if y.dtype ~= "token" and y.count > 0 then assert.equal(0, y.address % 64) end
  return y, packed
end

describe("CC-8 x:slice", function()
  it("takes a range or an index for each dim, counted from 1, both ends included", function()
    local x = ccw.array("s32[3,4]", function(i, j) return 10 * i + j end)
    assert.equal("s32[2,2] {{22, 23}, {32, 33}}", tostring((x:slice({ 2, 3 }, { 2, 3 }))))
    assert.equal("s32[4] {21, 22, 23, 24}", tostring((x:slice(2))))
    assert.equal("s32[3] {13, 23, 33}", tostring((x:slice(nil, 3))))
    assert.equal("s32[] 34", tostring((x:slice(3, 4))))
    assert.equal("s32[1,1] {{34}}", tostring((x:slice({ 3, 3 }, { 4, 4 }))))
    assert.equal("s32[3,4]", x:slice().type)
    assert.equal("f32[] 7", tostring((ccw.array("f32[]", 7):slice())))
  end)

  it("takes steps, in either direction", function()
    local x = ccw.iota "s32[10]"
    assert.equal("s32[4] {0, 3, 6, 9}", tostring((x:slice { 1, 10, 3 })))
    assert.equal("s32[3] {0, 3, 6}", tostring((x:slice { 1, 9, 3 })))
    assert.equal("s32[4] {9, 6, 3, 0}", tostring((x:slice { 10, 1, -3 })))
    assert.equal("s32[1] {4}", tostring((x:slice { 5, 5, 1000 })))
    assert.equal("s32[1] {0}", tostring((x:slice { 1, 10, math.maxinteger })))
    assert.equal("s32[1] {9}", tostring((x:slice { 10, 1, math.mininteger })))
  end)

  it("counts from the end by negative numbers, and goes to the end where nobody says", function()
    local x = ccw.iota "s32[5]"
    assert.equal("s32[2] {3, 4}", tostring((x:slice { -2, -1 })))
    assert.equal("s32[] 4", tostring((x:slice(-1))))
    assert.equal("s32[4] {1, 2, 3, 4}", tostring((x:slice { 2 })))
    assert.equal("s32[2] {0, 1}", tostring((x:slice { nil, 2 })))
    assert.equal("s32[5] {4, 3, 2, 1, 0}", tostring((x:slice { nil, nil, -1 })))
    assert.equal("s32[3] {2, 1, 0}", tostring((x:slice { 3, nil, -1 })))
    assert.equal("s32[3] {0, 2, 4}", tostring((x:slice { [3] = 2.0 })))
  end)

  it("gives none for a range that ends right before it begins", function()
    local x = ccw.iota "s32[3,4]"
    for _, none in ipairs { { 1, 0 }, { 4, 3 }, { 2, 1, 7 }, { 0, 1, -1 }, { 3, 4, -2 } } do
      assert.equal("s32[0,4]", x:slice(none).type)
    end
    assert.equal("s32[3,0]", x:slice(nil, { 1, 0 }).type)
    assert.equal("f32[0]", ccw.array "f32[0]":slice({ 1, 0 }).type)
    assert.equal("f32[0]", ccw.array "f32[0]":slice().type)
    assert.equal("f32[0,2]", ccw.array "f32[0,9223372036854775807]":slice(nil, { -2, -1 }).type)
    assert.equal("f32[0,0]", ccw.array "f32[0,9223372036854775807]":slice(nil, { 1, 0 }).type)
  end)

  it("is a view where the elements lie one behind the other from a multiple of 64 bytes on", function()
    local x = ccw.iota "f32[4,16]"
    local y, packed = x:slice { 2, 3 }
    assert.is_nil(packed)
    assert.equal(x.address + 64, y.address)
    y[1][1] = 99
    assert.equal(99, x[2][1])
    assert.is_nil(select(2, x:slice()))
    assert.is_nil(select(2, x:slice(3)))
    assert.is_nil(select(2, x:slice(3, { 1, 5 })))
    assert.is_nil(select(2, x:slice({ 1, 4, 1 }, { 1, 16 })))
  end)

  it("keeps the memory alive that a view shares", function()
    local y = ccw.array("f32[64]", 7):slice { 17, 32 }
    collectgarbage() collectgarbage()
    assert.equal(7, y[16])
  end)

  it("is packed elsewhere, and says so", function()
    local x = ccw.iota "f32[4,16]"
    for _, ranges in ipairs { { { 1, 4 }, { 1, 8 } }, { 2, { 2, 16 } }, { { 1, 4, 2 } }, { nil, 1 }, { 1, 2 }, { { 4, 1, -1 } } } do
      local y, packed = x:slice(table.unpack(ranges, 1, 2))
      assert.equal("packed", packed)
      assert.equal(0, y.address % 64)
      local before = y.flat[1]
      x:fill(before + 1)
      assert.equal(before, y.flat[1])
      x = ccw.iota "f32[4,16]"
    end
  end)

  it("case C26: a view that is not contiguous is packed for a handler", function()
    local x = ccw.iota "c64[2,5]"
    local y, packed = x:slice(nil, { 1, 4 })
    assert.equal("packed", packed)
    assert.equal("c64[2,4] {{(0, 0), (1, 0), (2, 0), (3, 0)}, {(5, 0), (6, 0), (7, 0), (8, 0)}}", tostring(y))
    local seen
    ccw.call(ccw.bind "f(x: c64[*]) -> ()":to(function(a) seen = tostring(a.flat[7]) end), { y }, "()")
    assert.equal("c64(7, 0)", seen)
  end)

  it("case C28: a view that goes backward is packed, and a handler sees it so", function()
    local x = ccw.iota "f64[31]"
    x[16] = x[16] + 1000
    local y, packed = x:slice { 31, 1, -1 }
    assert.equal("packed", packed)
    local seen = {}
    local sum = ccw.bind "sum_of_three(x: f64[n]) -> (y: f64[])":to(function(a, b)
      seen = { a[1], a[2], a[3], a[16] }
      b:fill(a[1] + a[2] + a[3])
    end)
    assert.equal(87, ccw.call(sum, { y }, "f64[]"):item())
    assert.same({ 30, 29, 28, 1015 }, seen)
  end)

  it("case C29: an offset is folded into the address, or packed where that would not be aligned", function()
    local parent = ccw.iota "f32[16]"
    local y, packed = parent:slice { 4, 16 }
    assert.equal("packed", packed)
    assert.equal(0, y.address % 64)
    local lib = ccw.load(support.kernels)
    assert.equal("f32[13] {3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}", tostring(ccw.call(lib.scale, { y }, "f32[13]", { s = 1 })))
    y, packed = ccw.iota "f32[32]":slice { 17, 32 }
    assert.is_nil(packed)
    assert.equal(16, ccw.call(lib.scale, { y }, "f32[16]", { s = 1 })[1])
  end)

  it("case C29: packed elements that begin or end within a byte are packed anew", function()
    local x = ccw.s4 { 1, -2, 3, -4, 5, -6 }
    local y, packed = x:slice { 2, 5 }
    assert.equal("packed", packed)
    assert.equal("\x3e\x5c", y:bytes())
    assert.equal("s4[4] {-2, 3, -4, 5}", tostring(y))
    y, packed = x:slice { 1, 3 } -- shares its last byte with what is behind it
    assert.equal("packed", packed)
    assert.equal("\xe1\x03", y:bytes())
    assert.is_nil(select(2, x:slice { 1, 4 }))
    assert.equal("s4[2] {-6, 5}", tostring((x:slice { 6, 5, -1 })))
  end)

  for name in pairs(core.dtypes()) do
    if name ~= "token" then
      it("picks the right elements of " .. name, function()
        check(name .. "[70]", { 3, 68, 3 })
        check(name .. "[70]", { 70, 1, -1 })
        check(name .. "[70]", { 2, 69 })
        check(name .. "[1000]", { 513, 1000 })
        check(name .. "[7,9]", { 6, 2, -2 }, { 1, 9, 4 })
        check(name .. "[7,9]", nil, 4)
        check(name .. "[7,9]", 3)
        check(name .. "[3,4,5,6]", { 1, 3, 2 }, 2, nil, { 6, 1, -1 })
        check(name .. "[3,4,5,6]", { 3, 1, -1 }, { 4, 1, -1 }, { 5, 1, -1 }, { 6, 1, -1 })
        check(name .. "[2,100,70]", { 2, 1, -1 }, { 1, 100, 3 }, { 70, 1, -1 })
        check(name .. "[]")
      end)
    end
  end

  it("picks the right elements, for ranges that are drawn", function()
    local random = math.random
    math.randomseed(11)
    for _ = 1, 400 do
      local dims, ranges = {}, {}
      for d = 1, random(1, 5) do
        local size = random(1, 6)
        dims[d] = size
        local first, last = random(1, size), random(1, size)
        local how = random(4)
        if how == 1 then
          ranges[d] = first
        elseif how > 2 then
          ranges[d] = { first, last, (last < first and -1 or 1) * random(1, 3) }
        end
      end
      local dtype = ({ "s32", "u4", "f8e4m3fn", "c128", "f16" })[random(5)]
      check(("%s[%s]"):format(dtype, table.concat(dims, ",")), table.unpack(ranges, 1, #dims))
    end
  end)

  it("stays on a device, and goes through the host where it is packed", function()
    local x = ccw.iota "f32[4,16]":to "sim:0"
    local y, packed = x:slice { 2, 3 }
    assert.is_nil(packed)
    assert.equal(x.address + 64, y.address)
    y, packed = x:slice(nil, { 3, 1, -2 })
    assert.equal("packed", packed)
    assert.equal("f32[4,2] {{2, 0}, {18, 16}, {34, 32}, {50, 48}} on sim:0", tostring(y))
    assert.equal("f32[4,0]", x:slice(nil, { 1, 0 }).type)
    y = ccw.s4 { 1, -2, 3, -4, 5 }:to "sim:0":slice { 2, 4 }
    assert.equal("s4[3] {-2, 3, -4} on sim:0", tostring(y))
  end)

  it("slices views, and what a handler was lent", function()
    local x = ccw.iota "s32[6,6]"
    local y = x:rows(2, 5):slice({ 1, 4, 3 }, { 2, 3 })
    assert.equal("s32[2,2] {{7, 8}, {25, 26}}", tostring(y))
    local seen, kept
    ccw.call(ccw.bind "f(x: s32[n,n]) -> ()":to(function(a)
      seen = tostring((a:slice(6, { 6, 1, -1 })))
      kept = a:slice({ 1, 2 })
      refuses("operands are read only", function() kept:fill(1) end)
    end), { x }, "()")
    assert.equal("s32[6] {35, 34, 33, 32, 31, 30}", seen)
    refuses("the call that it belonged to is over", function() return kept[1] end)
  end)

  it("of what a failed call left undefined is undefined", function()
    local y = ccw.array "f32[2,16]"
    local fail = ccw.bind "f() -> (y: f32[2,16])":to(function(_) return nil, "no" end)
    assert.is_nil(ccw.try(ccw.call, fail, {}, y))
    assert.is_true(core.undefined(y))
    assert.is_true(core.undefined((y:slice(1))))
    assert.is_true(core.undefined((y:slice(nil, 1))))
  end)

  it("says in C what is wrong, counted from 0", function()
    local x = ccw.iota "f32[2,5]"
    local function says(text, ...) assert.equal(text, tostring(select(2, ccw.try(core.slice, x, ...)))) end
    says("INVALID_ARGUMENT: slice: expected 2 ranges for f32[2,5], got 1", 0, 2, 1, false)
    says("INVALID_ARGUMENT: slice: dim 0 of f32[2,5]: a count of -1", 0, -1, 1, false, 0, 5, 1, false)
    says("INVALID_ARGUMENT: slice: dim 1 of f32[2,5]: a step of 0", 0, 2, 1, false, 0, 5, 0, false)
    says("INVALID_ARGUMENT: slice: dim 1 of f32[2,5]: an index with a count of 2", 0, 2, 1, false, 0, 2, 1, true)
    says("OUT_OF_RANGE: slice: dim 1 of f32[2,5]: there is no position 5", 0, 2, 1, false, 5, 1, 1, false)
    says("OUT_OF_RANGE: slice: dim 1 of f32[2,5]: there is no position -1", 0, 2, 1, false, 1, 3, -1, false)
    says("OUT_OF_RANGE: slice: dim 0 of f32[2,5]: 2^63 or more, by steps of 4611686018427387904", 0, 3, 1 << 62, false, 0, 5, 1, false)
    says("OUT_OF_RANGE: slice: dim 0 of f32[2,5]: 2^63 or more, by steps of 9223372036854775807", 1, 2, math.maxinteger, false, 0, 5, 1,
      false)
  end)

  it("says what is wrong, with the dim and its size", function()
    local x = ccw.iota "f32[2,5]"
    local function says(text, ...) refuses("bad argument " .. text, x.slice, x, ...) end
    says("#1 to 'slice' (dim 0 of f32[2,5]: 3 is outside 1 to 2)", { 1, 3 })
    says("#1 to 'slice' (dim 0 of f32[2,5]: 0 is outside 1 to 2)", { 0, 2 })
    says("#1 to 'slice' (dim 0 of f32[2,5]: -3 is outside 1 to 2)", { -3, 2 })
    says("#2 to 'slice' (dim 1 of f32[2,5]: 6 is outside 1 to 5)", nil, 6)
    says("#2 to 'slice' (dim 1 of f32[2,5]: 0 is outside 1 to 5)", nil, 0)
    says("#2 to 'slice' (dim 1 of f32[2,5]: -6 is outside 1 to 5)", nil, -6)
    says("#2 to 'slice' (dim 1 of f32[2,5]: 7 is outside 1 to 5)", nil, { 7, 6 })
    says("#2 to 'slice' (dim 1 of f32[2,5]: a step of 0)", nil, { 1, 5, 0 })
    says("#2 to 'slice' (dim 1 of f32[2,5]: from 5 to 1 there is no way in steps of 1; none are {5, 4})", nil, { 5, 1 })
    says("#2 to 'slice' (dim 1 of f32[2,5]: from 1 to 5 there is no way in steps of -1; none are {1, 2, -1})", nil, { 1, 5, -1 })
    says("#3 to 'slice' (expected at most 2 ranges for f32[2,5], got 3)", nil, nil, nil)
    says("#1 to 'slice' (dim 0 of f32[2,5]: expected {first, last, step} or an integer, got string)", "1:2")
    says("#1 to 'slice' (dim 0 of f32[2,5]: expected {first, last, step} or an integer, got buffer)", x)
    says("#1 to 'slice' (dim 0 of f32[2,5]: expected an integer, got string)", { "1", 2 })
    says("#1 to 'slice' (dim 0 of f32[2,5]: expected an integer, got 1.5)", 1.5)
    says("#1 to 'slice' (dim 0 of f32[2,5]: expected an integer, got 1.5)", { 1, 1.5 })
    says("#1 to 'slice' (dim 0 of f32[2,5]: expected {first, last, step}, got something at [4])", { 1, 2, 1, 1 })
    says("#1 to 'slice' (dim 0 of f32[2,5]: expected {first, last, step}, got something at [step])", { 1, 2, step = 1 })
    refuses("#1 to 'slice' (expected at most 0 ranges for f32[], got 1)", x.slice, ccw.array "f32[]", 1)
    refuses("#1 to 'slice' (a method is called with a colon, x:slice(...))", x.slice, { 1, 2 })
  end)
end)

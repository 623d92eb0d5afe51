-- CC-2, CC-20 to CC-25, CC-37, CC-41: handlers of the official C++ binding with every kind of binding run, and say what the headers of
-- their generation say, oddities included. Calls are handed over as they are: what answers is the handler.
local ccw = require "ccw"
local support = require "spec.support"

local generations = { ["0_3"] = "jaxlib 0.10.2", ["0_5"] = "jaxlib 0.12.0.1" }

for version, headers in pairs(generations) do
  describe("a handler of the official binding, headers of " .. headers, function()
    local path = support.library("kinds_" .. version)
    local lib = support.exists(path) and ccw.load(path)
    local x = ccw.f32 { 1, 2, 3 }

    local function official(name, body)
      it(name, function()
        if not lib then return pending "the official headers could not be had" end
        body()
      end)
    end

    --- The error of a call that is handed over as it is.
    local function refusal(handler, operands, results, attributes)
      local options = { signature = false, run_id = 7, device_ordinal = 3 }
      local value, err = ccw.try(ccw.call, lib[handler], operands, results, attributes, options)
      assert.is_nil(value)
      return err
    end

    local function says(expected, code, ...)
      local err = refusal(...)
      assert.equal(code, err.code)
      assert.matches(expected, err.message, 1, true)
    end

    local function kinds(changes)
      local attributes = { b = true, s8 = ccw.s8(-8), s16 = ccw.s16(-16), u32 = ccw.u32(32), u64 = ccw.u64(64), f64 = 0.5,
        array = ccw.s32 { 1, 2, 3 }, doubles = ccw.f64 { 0, 0.25 }, text = "abc", dictionary = { inner = 9, other = "x" },
        pointer = 4096, mode = ccw.s32(1), window = { rows = { lo = -1, hi = 5 }, name = "w" } }
      for name, value in pairs(changes or {}) do attributes[name] = value end
      return attributes
    end

    official("gets attributes of every kind", function()
      local y = ccw.call(lib.Kinds, {}, "f64[15]", kinds())
      assert.equal("f64[15] {1, -8, -16, 32, 64, 0.5, 3, 0.25, 3, 9, 4096, 1, -1, 5, 1}", tostring(y))
      says("Wrong attribute type: expected array but got scalar", "INVALID_ARGUMENT", "Kinds", {}, "f64[15]", kinds { array = 1 })
      says("Wrong array data type: expected S32 but got S64", "INVALID_ARGUMENT", "Kinds", {}, "f64[15]", kinds { array = { 1 } })
      says("Wrong attribute type: expected i64 scalar for passing pointer", "INVALID_ARGUMENT", "Kinds", {}, "f64[15]",
        kinds { pointer = "p" })
      says("expected S32 but got S64", "INVALID_ARGUMENT", "Kinds", {}, "f64[15]", kinds { mode = 1 })
      says("Unexpected attribute: lo", "INVALID_ARGUMENT", "Kinds", {}, "f64[15]",
        kinds { window = { rows = { low = -1, hi = 5 }, name = "w" } })
      assert.equal("f64[15] {1, -8, -16, 32, 64, 0.5, 3, 0.25, 3, 9, 4096, 77, -1, 5, 1}", -- an enum takes every value there
        tostring(ccw.call(lib.Kinds, {}, "f64[15]", kinds { mode = ccw.s32(77) })))
    end)

    official("CC-41: has optional ones, ignores a surplus, and counts the required ones wrong", function()
      local function told(operands, results)
        return tostring((ccw.call(lib.Optional, operands, results, nil, { signature = false }))[1])
      end
      assert.equal("f64[4] {3, 3, -1, -1}", told({ x, x }, { "f64[4]" }))
      assert.equal("f64[4] {3, 3, 3, 2}", told({ x, x, x }, { "f64[4]", "f32[2]" }))
      assert.equal("f64[4] {3, 3, 3, 2}", told({ x, x, x, x, x }, { "f64[4]", "f32[2]", "s8[9]" }))
      says("expected at least 1 but got 1", "INVALID_ARGUMENT", "Optional", { x }, { "f64[4]" }) -- 2 are required
      assert.equal("f64[4] {3, 3, -1, -1}", told({ x, x, ccw.s32 { 1 } }, { "f64[4]" })) -- of another type is as good as absent
      local _, err = ccw.try(ccw.call, lib.Optional, { x, x, ccw.s32 { 1 } }, { "f64[4]" })
      assert.equal("Optional: arg 2: expected f32[*], got s32[1]", err.message) -- but not to its signature
    end)

    official("CC-20: reads remaining ones by index", function()
      says("2 of them, this one of 2", "ABORTED", "Rest", { x, x, ccw.f32 { 1, 2 } }, "()", { which = 1 })
      says("Index out of range", "INVALID_ARGUMENT", "Rest", { x, x }, "()", { which = 1 })
      says("Wrong buffer dtype: expected F32 but got S32", "INTERNAL", "Rest", { x, ccw.s32 { 1 } }, "()", { which = 0 })
    end)

    official("CC-24, CC-25: reads a dictionary late, or decodes it whole", function()
      local range = { lo = 1, hi = 5 }
      says("7 5", "ABORTED", "Lazy", {}, "()", { n = ccw.s32(7), range = range, other = 1 })
      says("Unexpected attribute: n", "INTERNAL", "Lazy", {}, "()", { range = range })
      says("Wrong scalar data type: expected S32 but got S64", "INTERNAL", "Lazy", {}, "()", { n = 7, range = range })
      says("4", "ABORTED", "Whole", {}, "()", range)
      says("Wrong number of attributes: expected 2 attributes but got 3", "INVALID_ARGUMENT", "Whole", {}, "()",
        { lo = 1, hi = 5, more = 1 })
    end)

    official("case C01: counts named attributes, with their names, and ignores them where it binds none", function()
      says("0.5", "ABORTED", "Eps", {}, "()", { eps = ccw.f32(0.5) })
      says("Wrong number of attributes: expected 1 but got 2 with name(s): eps, vmap_method", "INVALID_ARGUMENT", "Eps", {}, "()",
        { eps = ccw.f32(0.5), vmap_method = "sequential" })
      says("Wrong number of attributes: expected 1 but got 0", "INVALID_ARGUMENT", "Eps", {}, "()", {})
      says("Attribute name mismatch: epz vs eps", "INVALID_ARGUMENT", "Eps", {}, "()", { epz = ccw.f32(0.5) })
      says("ran", "ABORTED", "NoAttributes", { x }, "(f32[1], f32[2])", { eps = 1, more = "x" })
    end)

    official("CC-37: gets run id, ordinal and threads", function()
      says("7 3 0", "ABORTED", "Contexts", {}, "()")
    end)

    official("has a signature that stands for it", function()
      assert.equal("Kinds() -> (f64[?]) {b: pred, s8: s8, s16: s16, u32: u32, u64: u64, f64: f64, array: s32[], doubles: f64[], text: " ..
        "string, dictionary: {...}, pointer: pointer, mode: s32, window: {rows: {lo: s64, hi: s64}, name: string}}",
        tostring(lib.Kinds.signature))
      assert.equal("f64[15] {1, -8, -16, 32, 64, 0.5, 2, 0.25, 3, 9, 4096, 1, -1, 5, 1}", tostring(ccw.call(lib.Kinds, {}, "f64[15]",
        kinds { s8 = -8, u32 = 32.0, array = { 1, 2 }, mode = 1 }))) -- with plain numbers
    end)
  end)
end

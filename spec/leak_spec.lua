-- C78: calls that fail, over and over, leave nothing of core's behind.
local ccw = require "ccw"
local core = require "ccw.core"
local support = require "spec.support"

local plain = ccw.load(support.library "plain")
local matrix = ccw.load(support.library "jax_matrix")
local kernels = ccw.load(support.kernels)

--- Runs f so often and gives the blocks that are live afterwards and were not before.
local function left_by(times, f)
  local function settle()
    collectgarbage() collectgarbage()
    return core.memory().blocks
  end
  f() f()
  local before = settle()
  for _ = 1, times do f() end
  return settle() - before
end

--- Fails unless f fails with that code each time.
local function failing(code, f)
  return function()
    local good, err = pcall(f)
    if good or err.code ~= code then error(("expected %s, got %s"):format(code, tostring(err))) end
  end
end

local x, y = ccw.f32 { 1, 2, 3, 4 }, ccw.array("f32[4]")
local as_it_is = { signature = false }
if not core.state_type "counter" then matrix:type "counter" end
local later = ccw.prepare(matrix.halve_later, { x }, y, { how = "with_error_at_once" })
local refused = ccw.prepare(plain.fail_with, {}, "()", { code = ccw.s32(5), message = "x" })
local count = { instantiate = matrix.count_instantiate, execute = matrix.count }
local counter = ccw.prepare(count, {}, "s64[]", { v = 1 })

local tests = {
  ["what the handler decodes"] = failing("INVALID_ARGUMENT", function() ccw.call(kernels.scale, { x }, y, { t = 1 }, as_it_is) end),
  ["the signature"] = failing("INVALID_ARGUMENT", function() ccw.call(kernels.scale, { x }, y, { t = 1 }) end),
  ["the handler"] = failing("NOT_FOUND", function() refused() end),
  ["a number"] = failing("OUT_OF_RANGE", function() ccw.call(kernels.scale, { x }, y, { s = 1e39 }) end),
  ["a type"] = failing("INVALID_ARGUMENT", function() ccw.type "f32[" end),
  ["a conversion"] = failing("INVALID_ARGUMENT", function() x:as "f32":fill(0 / 0):as "s32" end),
  ["instantiate"] = failing("INVALID_ARGUMENT", function() ccw.prepare(count, {}, "s64[]", { v = -1 }) end),
  ["instantiate, with state"] = failing("OUT_OF_RANGE", function() ccw.prepare(count, {}, "s64[]", { v = -2 }) end),
  ["a future"] = failing("INTERNAL", function() later:start():wait() end),
  ["a file"] = failing("NOT_FOUND", function() ccw.read "nowhere.npy" end),
  ["a slice"] = failing("OUT_OF_RANGE", function() core.slice(x, 4, 1, 1, false) end),
  ["a name"] = failing("NOT_FOUND", function() ccw.find "nowhere" end),
  ["nothing: scratch memory"] = function() ccw.call(matrix.scratched_or_failed, {}, "s64[]", {}) end,
  ["nothing: state"] = function()
    ccw.call(count, {}, "s64[]", { v = 1 })
    counter()
  end,
}

describe("C78 a failure of", function()
  for name, test in pairs(tests) do
    it(name .. " leaves nothing behind", function() assert.equal(0, left_by(1000, test)) end)
    it(name .. " leaves nothing behind a hundred thousand times #plain", function() assert.equal(0, left_by(100000, test)) end)
  end
end)

--- Comparison of two arrays.
local core = require "ccw.core"
local errors = require "ccw.errors"

local M = {}

--- Relative tolerances when nobody says, by dtype: a few units of the last place of each format.
local default_rtol = {
  f64 = 1e-12, f32 = 1e-5, f16 = 1e-3, bf16 = 1e-2, c128 = 1e-12, c64 = 1e-5,
  f8e5m2 = 0.25, f8e5m2fnuz = 0.25, f8e4m3 = 0.125, f8e4m3fn = 0.125, f8e4m3fnuz = 0.125, f8e4m3b11fnuz = 0.125,
  f8e3m4 = 0.0625, f4e2m1fn = 0.5, f8e8m0fnu = 0,
}

local option_types = {
  close = "boolean", rtol = "number", atol = "number", max_ulp = "integer", equal_nan = "boolean", bitwise = "boolean",
}

local function describe(a, b, difference)
  if difference.dtype then return ("dtypes differ: %s and %s"):format(a.type, b.type) end
  if difference.shape then return ("shapes differ: %s and %s"):format(a.type, b.type) end
  if difference.count == 0 then return "equal" end
  local function element(k)
    return ("%s: %s and %s"):format(core.index_text(a, k), core.element_text(a, k), core.element_text(b, k))
  end
  local text = ("%d of %d elements differ; first %s"):format(difference.count, a.count, element(difference.first))
  if difference.worst ~= difference.first then text = text .. "; worst " .. element(difference.worst) end
  if difference.distance == difference.distance then text = text .. (", apart by %.3g"):format(difference.distance) end
  if difference.relative < math.huge then text = text .. (" (relative %.3g)"):format(difference.relative) end
  return text
end

local misuse = errors.misuse_of "compare"

local function check_options(options, dtype)
  errors.check_options(misuse, 3, options, option_types)
  options = options or {}
  for _, name in ipairs { "rtol", "atol", "max_ulp" } do
    local value = options[name]
    if value and (value < 0 or value ~= value) then misuse(3, "%s: expected 0 or more, got %s", name, value) end
    if value and options.close == false then misuse(3, "%s: a tolerance, while close is false", name) end
    if value and options.bitwise then misuse(3, "%s: a tolerance, while bits are compared", name) end
  end
  if options.close and options.bitwise then misuse(3, "close: while bits are compared") end
  if options.max_ulp and core.dtypes()[dtype].class ~= "FLOAT" then
    misuse(3, "max_ulp: only floats have representable neighbours, this is %s", dtype)
  end
  return options
end

local result_metatable = {}

function result_metatable.__tostring(result) return result.message end

--- ccw.compare(a, b [, options]) -> result.
-- Compares two arrays. result.equal says how it went; result.message, which is also its tostring, names the first and the
-- worst element that differ; count, first, worst (flat positions from 1), distance and relative are fields too. Arrays of
-- different dtypes or shapes differ. Without options elements must be equal as numbers: 0.0 is -0.0, and a NaN differs from
-- everything. bitwise = true compares memory: -0.0 is not 0.0, a NaN is equal to the same NaN. equal_nan = true makes any two
-- NaNs equal. close = true, or a tolerance, accepts |a - b| <= atol + rtol * |b|; max_ulp = n accepts what is at most n
-- representable numbers apart. rtol is, when nobody says, 1e-5 for f32, 1e-12 for f64, 1e-3 for f16, 1e-2 for bf16, a unit
-- of the last place for f8 and f4, 0 for integers; atol is as large as rtol.
function M.compare(a, b, options)
  for position, value in ipairs { a or false, b or false } do
    local kind, open = core.kind(value)
    if kind ~= "buffer" then misuse(position, "expected a buffer, got %s", kind or type(value or nil)) end
    if not open then misuse(position, "this buffer is closed") end
    if value.device ~= "host" then
      misuse(position, "this buffer is on %s: its elements are to be had from x:to \"host\"", value.device)
    end
  end
  options = check_options(options, a.dtype)
  local only_ulp = options.max_ulp and not (options.rtol or options.atol)
  local close = options.close or options.rtol or options.atol or options.max_ulp
  local rtol = options.rtol or only_ulp and 0 or default_rtol[a.dtype] or 0
  local atol = options.atol or rtol
  local difference = core.compare(a, b, close, options.bitwise, options.equal_nan, rtol, atol, options.max_ulp or 0)
  local result = {
    equal = not difference.dtype and not difference.shape and difference.count == 0,
    message = describe(a, b, difference),
    count = difference.count,
    first = difference.first >= 0 and difference.first + 1 or nil,
    worst = difference.worst >= 0 and difference.worst + 1 or nil,
    distance = difference.distance,
    relative = difference.relative,
  }
  if result.equal and close then result.message = "close" end
  return setmetatable(result, result_metatable)
end

return M

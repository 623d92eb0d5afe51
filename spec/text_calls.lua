--- Custom calls made up from a seed, for specs of calls as text.
local ccw = require "ccw"

local M = {}

--- numbers(seed) -> function. random(n) is 1 to n, random() from 0 up to 1; the same for a seed everywhere.
function M.numbers(seed)
  local state = seed * 2654435761 + 88172645463325252
  return function(n)
    state = state ~ state << 13
    state = state ~ state >> 7
    state = state ~ state << 17
    if not n then return (state >> 11) / 2 ^ 53 end
    return math.tointeger((state >> 1) % n) + 1
  end
end

local function pick(random, list) return list[random(#list)] end

local dtypes = { "f32", "f64", "f16", "bf16", "s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64", "pred", "c64", "c128", "s4", "u4",
  "f8e4m3fn", "f8e5m2", "f8e4m3b11fnuz" }

local function array_type(random, is_full)
  local dims = {}
  for i = 1, random(4) - 1 do dims[i] = is_full and random(4) or random(5) - 1 end
  return ("%s[%s]"):format(pick(random, dtypes), table.concat(dims, ","))
end

local function tuple_type(random, depth)
  local parts = {}
  for i = 1, random(3) do parts[i] = depth < 2 and random(4) == 1 and tuple_type(random, depth + 1) or array_type(random) end
  return "(" .. table.concat(parts, ", ") .. ")"
end

local function word(random)
  local letters = {}
  for i = 1, random(6) do letters[i] = pick(random, { "a", "b", "Z", "_", "x" }) end
  return table.concat(letters)
end

local function bytes(random)
  local all = {}
  for i = 1, random(12) - 1 do all[i] = string.char(random(256) - 1) end
  return table.concat(all)
end

local function float(random)
  local kind = random(6)
  if kind == 1 then return pick(random, { 0.0, -0.0, 1.5, 1e-5, 0.1, 1e22, 5e-324, 1 / 0, -1 / 0 }) end
  if kind == 2 then return (string.unpack("<d", string.pack("<I8", random(1 << 62) - 1))) end
  return (random() - 0.5) * 10.0 ^ (random(40) - 20)
end

local integers = { s8 = 7, s16 = 15, s32 = 31, s64 = 62, u8 = 8, u16 = 16, u32 = 32, u64 = 62 }

local function integer(random, dtype)
  local x = random(1 << random(integers[dtype])) - 1
  return dtype:find "s" and random(2) == 1 and -x or x
end

local function number(random)
  local kind = random(5)
  if kind == 1 then return integer(random, "s64") end
  if kind == 2 then return float(random) end
  if kind == 3 then return ccw.f32(float(random)) end
  local dtype = pick(random, { "s8", "s16", "s32", "u8", "u16", "u32", "u64" })
  return ccw[dtype](integer(random, dtype))
end

local function array(random)
  local dtype = pick(random, { "f32", "f64", "s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64" })
  local dims = {}
  for i = 1, random(3) - 1 do dims[i] = random(4) - 1 end
  return ccw.array(("%s[%s]"):format(dtype, table.concat(dims, ",")), #dims == 0
    and (integers[dtype] and integer(random, dtype) or float(random))
    or function() return integers[dtype] and integer(random, dtype) or float(random) end)
end

--- What no handler can receive, and is kept all the same.
local others = { "[1 : i32, \"x\", {a = [2.5 : f64]}]", "[]", "unit", "@f", "i32", "tensor<2x?xf32>", "5 : index", "3 : i4", "1.5 : bf16",
  "array<i1: true, false>", "#stablehlo<precision HIGH>", "dense<[1.0, 2.0]> : tensor<2xbf16>",
  "dense<(1.0, 2.0)> : tensor<complex<f32>>", "dense<[true, false]> : tensor<2xi1>", "affine_map<(d0, d1) -> (d1, d0)>",
  "(i32, f32) -> i64", "0x7FC0 : bf16" }

local dictionary

local function value(random, depth, carried)
  local kind = random(10)
  if kind == 1 then return random(2) == 1 end
  if kind == 2 then return bytes(random) end
  if kind <= 4 then return array(random) end
  if kind == 5 and depth < 4 then return dictionary(random, depth + 1, carried) end
  if kind == 6 and not carried then return ccw.attribute_from_text(pick(random, others)) end
  return number(random)
end

function dictionary(random, depth, carried)
  local names = {}
  for _ = 1, random(6) - 1 do
    names[random(5) == 1 and "two words " .. random(9) or word(random)] = value(random, depth, carried)
  end
  return names
end

local function order(random, type)
  local dims, all = {}, {}
  for _ in (type:match "%[(.*)%]"):gmatch "%d+" do dims[#dims + 1] = #dims end
  while #dims > 0 do all[#all + 1] = table.remove(dims, random(#dims)) end
  return all
end

local function arrays_of(type)
  local all = {}
  for one in type:gmatch "[%w_]+%[[%d,]*%]" do all[#all + 1] = one end
  return all
end

--- fields(seed, options) -> table. The fields of a description. `options` say what it may have: carried, only what a handler can
-- receive; tuples, operands that are tuples; full, nothing
-- that a compiler would leave out: no empty arrays, and no results only with a side effect.
function M.fields(seed, options)
  local random = M.numbers(seed)
  local fields = { operands = {}, api_version = 4 }
  fields.target = random(4) == 1 and "two words." .. random(9) or word(random) .. "." .. random(99)
  for i = 1, random(4) - 1 do
    fields.operands[i] = options.tuples and random(5) == 1 and tuple_type(random, 1) or array_type(random, options.full)
  end
  local results = {}
  for i = 1, random(3) do results[i] = array_type(random, options.full) end
  local shared = fields.operands[1]
  if shared and shared:sub(1, 1) ~= "(" and random(2) == 1 then
    results[1] = shared
    fields.aliases = { [0] = 0 }
  end
  fields.results = #results == 1 and results[1] or "(" .. table.concat(results, ", ") .. ")"
  if not fields.aliases and random(6) == 1 then fields.results = "()" end
  if random(5) == 1 then
    fields.api_version = random(3)
    fields.backend_config = bytes(random)
    if fields.backend_config == "" then fields.backend_config = nil end
  else
    fields.attributes = dictionary(random, 1, options.carried)
  end
  fields.has_side_effect = (random(3) == 1 or options.full and fields.results == "()") or nil
  if random(3) == 1 and not table.concat(fields.operands):find "%(" then
    fields.operand_layouts, fields.result_layouts = {}, {}
    for i, type in ipairs(fields.operands) do fields.operand_layouts[i] = order(random, type) end
    for i, type in ipairs(arrays_of(fields.results)) do fields.result_layouts[i] = order(random, type) end
    if fields.aliases then fields.result_layouts[1] = fields.operand_layouts[1] end
  end
  if random(5) == 1 and fields.results:sub(1, 1) ~= "(" then fields.sharding = "{replicated}" end -- a tuple has one for each
  if random(5) == 1 then fields.frontend_attributes = { [word(random)] = "a \"b\" \\ c", other = "x" } end
  return fields
end

return M

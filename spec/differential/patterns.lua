-- patterns.lua XLA_FFI_H FOLDER: writes patterns, as the official header takes them and as pattern.h does, and the buffers
-- that they meet. Always the same ones.
local header, folder = arg[1], arg[2]
local PATTERNS, BUFFERS, REFERENCES = 300, 100, 16
local FILES <const> = 4 -- of each side, so that they compile in parallel; spec/CMakeLists.txt names them
math.randomseed(20250110)

local random = math.random
local function one_in(n) return random(n) == 1 end
local function pick(list) return list[random(#list)] end

local function times(n, f)
  local list = {}
  for i = 1, n do list[i] = f(i) end
  return list
end

local function map(list, f)
  local mapped = {}
  for i, x in ipairs(list) do mapped[i] = f(x) end
  return mapped
end

local function join(list, f) return table.concat(map(list, f or tostring), ", ") end

-- ---- element types

local dtypes, by_name = {}, {} -- { C++ name, C name, number }
do
  local file <close> = assert(io.open(header))
  for upper, lower, number in file:read "a":match "#define CCW_DTYPES%(X%)(.-)\n\n":gmatch "X%((%w+), (%w+), (%d+)" do
    dtypes[#dtypes + 1] = { cc = upper, c = lower, number = tonumber(number) }
    by_name[lower] = dtypes[#dtypes]
  end
end

-- Few enough that patterns and buffers meet; and those that the official Match can give, which has no type for the others.
local usual = map({ "f32", "s32", "s64", "bf16" }, function(name) return by_name[name] end)
local native = {}
for name in ("pred u8 u16 u32 u64 s8 s16 s32 s64 f16 bf16 f32 f64 c64 c128"):gmatch "%w+" do native[name] = true end

local function draw_dtype() return one_in(4) and pick(dtypes) or pick(usual) end

-- ---- buffers

local sizes = { 0, 1, 2, 2, 3, 3, 4 }

local function draw_buffer(dtype)
  local rank, same = random(0, 6), one_in(3) and pick(sizes)
  return { dtype = dtype, dims = times(rank, function() return same or pick(sizes) end) }
end

--- A line of the table: dtype, rank, dims.
local function row(buffer)
  local list = { buffer.dtype.number, #buffer.dims }
  for i = 1, 9 do list[#list + 1] = buffer.dims[i] or 0 end
  return "{" .. table.concat(list, ",") .. "}"
end

local references = times(REFERENCES, function() return draw_buffer(draw_dtype()) end)
references[1].dims, references[2].dims = {}, { 2, 2, 5, 6 }
references[REFERENCES].dims = { 1, 2, 3, 4, 1, 2, 3, 4, 2 } -- more than pattern.h keeps itself

-- ---- patterns

-- Each modifier: how it is drawn, the text in C++ after a dot, the text in C around a pattern, and what it changes in the
-- model {dtypes, ranks, dims}. The model is for making buffers that match; it decides on no verdict.
local modifiers = {}

local function draw_number(number)
  return pick { "%d", "%d", "at(%d)", "(int)at(%d)", "INT64_C(%d)", number < 0 and "(int8_t)%d" or "(uint8_t)%d" }:format(number)
end

local function draw_dim()
  local kind = random(10)
  if kind <= 2 then return { cc = "m::Dim()", c = "CCW_ANY_SIZE" } end
  if kind <= 6 then
    local capture = pick { "a", "a", "b", "c" }
    local text = "&s." .. capture
    return { capture = capture, cc = one_in(3) and "m::Dim(" .. text .. ")" or text, c = text }
  end
  local size = one_in(25) and -random(5) or pick(sizes)
  local text = draw_number(size)
  return { size = size, cc = one_in(3) and "m::Dim(" .. text .. ")" or text, c = text }
end

modifiers.dtype = {
  draw = function()
    local set = times(one_in(2) and 1 or random(2, 3), draw_dtype)
    return {
      cc = ("WithDType<%s>()"):format(join(set, function(d) return "ffi::" .. d.cc end)),
      c = ("ccw_with_dtype(%%s, %s)"):format(join(set, function(d) return d.c end)),
      change = function(model) model.dtypes, model.dtype_is_given = set, #set == 1 end,
    }
  end,
}

modifiers.rank = {
  draw = function(model)
    local set = times(one_in(2) and 1 or random(2, 3), function() return random(0, 6) end)
    if not one_in(3) then set[1] = math.max(set[1], #model.dims) end
    return {
      cc = ("WithRank<%s>()"):format(join(set)),
      c = ("ccw_with_rank(%%s, %s)"):format(join(set)),
      change = function(m) m.ranks, m.rank_is_given = set, #set == 1 end,
    }
  end,
}

modifiers.dims = {
  draw = function()
    local dims = times(random(0, 6), draw_dim)
    return {
      cc = ("WithDims(%s)"):format(join(dims, function(d) return d.cc end)),
      c = ("ccw_with_dims(%%s%s%s)"):format(#dims > 0 and ", " or "", join(dims, function(d) return d.c end)),
      change = function(m) m.ranks, m.dims, m.rank_is_given = { #dims }, dims, true end,
    }
  end,
}

modifiers.dim = {
  draw = function()
    local place, dim = random(0, one_in(3) and 5 or 2), draw_dim()
    local text = one_in(2) and ("at(%d)"):format(place)
    return {
      cc = text and ("WithDim(%s, %s)"):format(text, dim.cc) or ("WithDim<%d>(%s)"):format(place, dim.cc),
      c = ("ccw_with_dim(%%s, %s, %s)"):format(text or place, dim.c),
      change = function(m)
        local dims = table.move(m.dims, 1, #m.dims, 1, {})
        for i = #dims + 1, place do dims[i] = {} end
        dims[place + 1] = dim
        m.dims = dims
      end,
    }
  end,
}

local function draw_reference() return one_in(8) and REFERENCES or random(REFERENCES - 1) end

local function change_to_shape(model, buffer)
  model.ranks, model.dims, model.rank_is_given = { #buffer.dims }, map(buffer.dims, function(n) return { size = n } end), false
end

modifiers.shape_of = {
  draw = function()
    local i = draw_reference()
    return {
      cc = ("WithShapeOf(ffi::AnyBuffer(references[%d]))"):format(i - 1),
      c = ("ccw_with_shape_of(%%s, arg(references[%d]))"):format(i - 1),
      change = function(m) change_to_shape(m, references[i]) end,
    }
  end,
}

modifiers.like = {
  draw = function()
    local i = draw_reference()
    return {
      cc = ("Like(ffi::AnyBuffer(references[%d]))"):format(i - 1),
      c = ("ccw_with_like(%%s, arg(references[%d]))"):format(i - 1),
      change = function(m)
        change_to_shape(m, references[i])
        m.dtypes, m.dtype_is_given = { references[i].dtype }, false
      end,
    }
  end,
}

local kinds = { "dtype", "dtype", "rank", "rank", "dims", "dims", "dim", "dim", "dim", "shape_of", "like" }

--- Where a pattern starts: Buffer(), Buffer<dtype>() or Buffer<dtype, rank>().
local function draw_start()
  local words, dtype, rank = random(0, 2), draw_dtype(), random(0, 4)
  if words == 0 then return { cc = "m::Buffer()", c = "ccw_any()", model = { dims = {} } } end
  local model = { dims = {}, dtypes = { dtype }, dtype_is_given = true }
  if words == 1 then return { cc = ("m::Buffer<ffi::%s>()"):format(dtype.cc), c = ("ccw_of(%s)"):format(dtype.c), model = model } end
  model.ranks, model.rank_is_given = { rank }, true
  return { cc = ("m::Buffer<ffi::%s, %d>()"):format(dtype.cc, rank), c = ("ccw_of(%s, %d)"):format(dtype.c, rank), model = model }
end

--- The ranks that a buffer may have to match.
local function possible_ranks(model)
  local list = {}
  for _, rank in ipairs(model.ranks or { 0, 1, 2, 3, 4, 5, 6 }) do
    if rank >= #model.dims then list[#list + 1] = rank end
  end
  return list
end

local function can_match(model)
  for _, dim in ipairs(model.dims) do
    if dim.size and dim.size < 0 then return false end
  end
  return #possible_ranks(model) > 0
end

local function draw_pattern_once()
  local pattern = draw_start()
  for _ = 1, pick { 0, 1, 1, 2, 2, 2, 3, 3, 4, 5 } do
    local modifier = modifiers[pick(kinds)].draw(pattern.model)
    modifier.change(pattern.model)
    pattern.cc, pattern.c = pattern.cc .. "." .. modifier.cc, modifier.c:format(pattern.c)
  end
  return pattern
end

--- Most of them can match something.
local function draw_pattern()
  local pattern
  repeat pattern = draw_pattern_once() until can_match(pattern.model) or one_in(10)
  local model = pattern.model
  pattern.dtype = model.dtype_is_given and model.dtypes[1].c or "f32"
  -- How it is used: on a buffer of any type, on a result, on one that is f32 already, or where there is nothing to match to.
  pattern.use = pick { "any", "any", "any", "any", "result", "typed" }
  if model.dtype_is_given and model.rank_is_given and not native[pattern.dtype] then pattern.use = "only_verify" end
  if pattern.use == "typed" then pattern.dtype = "f32" end
  return pattern
end

--- A buffer that matches, if any does.
local function draw_match(model)
  local captured = {}
  for _, name in ipairs { "a", "b", "c" } do captured[name] = pick(sizes) end
  local ranks = possible_ranks(model)
  local rank = #ranks > 0 and pick(ranks) or random(0, 6)
  return {
    dtype = model.dtypes and pick(model.dtypes) or pick(dtypes),
    dims = times(rank, function(i)
      local dim = model.dims[i] or {}
      return dim.size or captured[dim.capture] or pick(sizes)
    end),
  }
end

--- The same with one thing changed.
local function draw_near_match(model)
  local buffer = draw_match(model)
  local dims = buffer.dims
  local change = random(6)
  if change == 1 then
    buffer.dtype = pick(usual)
  elseif change == 2 and #dims > 0 then
    table.remove(dims, random(#dims))
  elseif change == 3 and #dims < 9 then
    table.insert(dims, random(#dims + 1), pick(sizes))
  elseif #dims > 0 then
    local i = random(#dims)
    dims[i] = math.max(dims[i] + pick { -1, 1 }, 0)
  end
  return buffer
end

-- Some of every dtype and rank that all patterns meet.
local common = times(40, function(i) return draw_buffer(dtypes[(i - 1) % #dtypes + 1]) end)

local function draw_buffers(pattern)
  return times(BUFFERS, function(i)
    local buffer = common[i] or (i <= 70 and draw_match or draw_near_match)(pattern.model)
    return pattern.use == "typed" and { dtype = by_name.f32, dims = buffer.dims } or buffer
  end)
end

-- ---- files

local function write(name, ...)
  local file <close> = assert(io.open(folder .. "/" .. name, "w"))
  file:write(...)
end

local patterns = times(PATTERNS, draw_pattern)

local function lines(first, last, f)
  local list = {}
  for i = first, last do list[#list + 1] = f(i - 1, patterns[i]) .. "\n" end
  return table.concat(list)
end

write("patterns.h", '#include "pairs.h"\nenum { PATTERNS = ', PATTERNS, ' };\n#ifdef __cplusplus\nextern "C" {\n#endif\n',
  lines(1, PATTERNS, function(i) return ("meeting ours_%d, official_%d;"):format(i, i) end), "#ifdef __cplusplus\n}\n#endif\n")

for file = 1, FILES do
  local first, last = (file - 1) * PATTERNS // FILES + 1, file * PATTERNS // FILES
  write(("official_%d.cc"):format(file), '#include "official.h"\n', lines(first, last, function(i, pattern)
    return ("OFFICIAL(%d, %s, %s)"):format(i, pattern.use, pattern.cc)
  end))
  write(("ours_%d.c"):format(file), '#include "ours.h"\n', lines(first, last, function(i, pattern)
    return ("OURS(%d, %s, %s, %s)"):format(i, pattern.use, pattern.dtype, pattern.c)
  end))
end

write("tables.h", "static const int8_t rows[PATTERNS][BUFFERS][ROW] = {\n", lines(1, PATTERNS, function(_, pattern)
  return "{" .. table.concat(map(draw_buffers(pattern), row), ",") .. "},"
end), "};\nstatic const int8_t reference_rows[][ROW] = {", table.concat(map(references, row), ","), "};\n",
  "static const struct {\n  meeting *ours, *official;\n  const char *text;\n} patterns[] = {\n", lines(1, PATTERNS, function(i, p)
    return ("{ours_%d, official_%d, %q},"):format(i, i, p.c)
  end), "};\n")

--- Types of operands and results as MLIR, HLO and ccw write them. Here they are ccw's texts, "f32[2,3]" and "(f32[2], (s32[]))",
-- and for what ccw has no arrays of: "f32[?,3]" and "f32[<=4,3]" (sizes not known, or up to 4), "f32[*]" (no rank), and MLIR's
-- own text for anything else.
local core = require "ccw.core"
local errors = require "ccw.errors"

local M = {}

local match = string.match

-- ---- element types

local info = core.dtypes()
local mlir_names, dtypes = {}, {}
for name, one in pairs(info) do
  local mlir = name
  if one.class == "PRED" then
    mlir = "i1"
  elseif one.class == "SIGNED" and one.bits > 1 then
    mlir = "i" .. one.bits
  elseif one.class == "UNSIGNED" then
    mlir = "ui" .. one.bits
  elseif one.class == "COMPLEX" then
    mlir = ("complex<f%d>"):format(one.bits // 2)
  elseif one.class == "FLOAT" and name:find "^f%d+e" then
    mlir = "f" .. name:sub(2):upper()
  end
  if one.class ~= "TOKEN" and name ~= "s1" then
    mlir_names[name], dtypes[mlir] = mlir, name
    if one.class == "SIGNED" then dtypes["s" .. mlir] = name end
  end
end

--- MLIR's names of dtypes, and dtypes by the names of MLIR: "i32" and "si32" are s32.
M.mlir_names, M.dtypes = mlir_names, dtypes

-- ---- what a text says

--- What a type that ccw has is made of, by its text: core's value, nil where ccw has no such type.
local known, count = {}, 0
function M.value(text)
  local value = known[text]
  if value == nil then
    value = not text:find("[?*<!]") and errors.try(core.type, text) or false
    if count == 2000 then known, count = {}, 0 end
    known[text], count = value, count + 1
  end
  return value or nil
end

--- trim(text) -> string. Without the spaces at both ends, in time that grows with its length.
function M.trim(text)
  local first = text:find "%S"
  return first and text:match("^.*%S", first) or ""
end

local function split(text)
  local parts, depth, start = {}, 0, 2
  for at, c in text:gmatch "()([%(%),<>%[%]])" do
    if c == "(" or c == "<" or c == "[" then
      depth = depth + 1
      if c == "<" and text:sub(at + 1, at + 1) == "=" then depth = depth - 1 end
    elseif c ~= "," then
      depth = depth - 1
    end
    if depth == 0 or depth == 1 and c == "," then
      local part = M.trim(text:sub(start, at - 1))
      if part ~= "" then parts[#parts + 1] = part end
      start = at + 1
    end
  end
  return parts
end

local tuples, splits = {}, 0

--- parts(text) -> list, or nil. The texts of what a tuple is made of. The list is kept, and must not be changed.
function M.parts(text)
  if text:byte() ~= 40 then return nil end
  local parts = tuples[text]
  if not parts then
    parts = split(text)
    if splits == 200 then tuples, splits = {}, 0 end
    tuples[text], splits = parts, splits + 1
  end
  return parts
end

--- starts(text) -> list. How many arrays are in front of each part of a tuple, and last how many there are in all.
local starts_of = setmetatable({}, { __mode = "k" })
function M.starts(text)
  local parts = M.parts(text)
  local starts = starts_of[parts]
  if not starts then
    starts = { 0 }
    for i, part in ipairs(parts) do starts[i + 1] = starts[i] + M.count(part) end
    starts_of[parts] = starts
  end
  return starts
end

--- count(text) -> integer. How many arrays are in a type.
function M.count(text)
  if text:byte() ~= 40 then return 1 end
  local starts = M.starts(text)
  return starts[#starts]
end

--- The texts of all arrays in a type, one after the other.
function M.leaves(text, into)
  into = into or {}
  local parts = M.parts(text)
  if not parts then into[#into + 1] = text end
  for _, part in ipairs(parts or {}) do M.leaves(part, into) end
  return into
end

local function tuple(parts) return "(" .. table.concat(parts, ", ") .. ")" end
M.tuple = tuple

--- What ccw says about a type that cannot be one, in one line.
local function why_not(text)
  local _, err = errors.try(core.type, text)
  return err and err.message:gsub("^type: ", ""):match "^[^\n]*"
end

local canonical, spelled = {}, 0

--- A type as it is written here; nil and why there is none.
local function spell(text, level)
  local value = M.value(text)
  if value then return tostring(value) end
  local parts = M.parts(text)
  if parts then
    local all = {}
    if level > 64 then return nil, "more than 64 tuples in each other" end
    for i, part in ipairs(parts) do
      local one, why = spell(part, level + 1)
      if not one then return nil, why end
      all[i] = one
    end
    if tuple(parts):gsub("%s", "") ~= text:gsub("%s", "") then return nil, why_not(text) or "no tuple" end
    return tuple(all)
  end
  local dtype, dims = text:match "^%s*([%w_]+)%s*%[([^%]]*)%]%s*$"
  if not text:find "^%s*[%w_]+%s*%[" then return M.spell_mlir(text) end
  local sizes, bare = {}, {}
  for size in ((dims or "") .. ","):gmatch "%s*([^,]-)%s*," do
    sizes[#sizes + 1], bare[#bare + 1] = size, size:gsub("^<=%f[%d]", ""):gsub("^%?$", "1")
  end
  local all = table.concat(sizes, ",")
  local why = all ~= "*" and why_not(dtype and ("%s[%s]"):format(dtype == "opaque" and "u8" or dtype, table.concat(bare, ",")) or text)
  if why then return nil, why end
  return ("%s[%s]"):format(dtype, all)
end

--- canonical(text) -> text, or nil and what is wrong with it. A type that a person has written, as it is written here.
function M.canonical(text)
  local found = canonical[text]
  if found then return found end
  local made, why = spell(text, 1)
  if not made then return nil, why end
  if spelled == 2000 then canonical, spelled = {}, 0 end
  canonical[text], spelled = made, spelled + 1
  return made
end

-- ---- MLIR

local from_tensor, tensors = {}, 0 -- memory of what was read

--- The bounds of "?" in an encoding such as #stablehlo.bounds<4, ?>.
local function with_bounds(dims, encoding)
  local list = encoding:match "^#stablehlo%.bounds<(.*)>$" or encoding:match "^#stablehlo%.type_extensions<bounds = %[(.*)%]>$"
  if not list then return nil end
  local bounds, i = {}, 0
  for bound in list:gmatch "[%d?]+" do bounds[#bounds + 1] = bound end
  return (dims:gsub("[^,]+", function(size)
    i = i + 1
    return size == "?" and bounds[i] and bounds[i] ~= "?" and "<=" .. bounds[i] or size
  end))
end

local read

--- The dtype of an element type at the reader, or nil, and MLIR's name of it.
local function element(reader)
  if reader:peek() == 33 then return nil, M.write_mlir(reader:nested(read)) end
  local name = reader:take "^([%a_][%w_]*)()"
  if name == "complex" then
    reader:expect("<", "after 'complex'")
    name = ("complex<%s>"):format(reader:take "^([%w_]+)()" or "")
    reader:expect(">", "to close 'complex<'")
  end
  return dtypes[name], name
end

--- Checks that ccw has such a type, sizes that are not known left out of it.
local function check(reader, at, text)
  local problem = why_not((text:gsub("<=", ""):gsub("%?", "1")))
  if problem then reader:fail(at, "%s", problem) end
  return text
end

--- The tensor at the reader, behind its name.
local function tensor(reader, start)
  reader:expect("<", "after 'tensor'")
  if reader:accept "*" then
    reader:expect("x", "after '*'")
    local dtype, name = element(reader)
    if not name then reader:fail(reader.at, "expected an element type, got %s", reader:got()) end
    reader:expect(">", "to close 'tensor<'")
    return dtype and dtype .. "[*]" or ("tensor<*x%s>"):format(name)
  end
  local dims = {}
  while true do
    local size = reader:take "^(%d+)x()" or reader:take "^(%?)x()"
    if not size then break end
    dims[#dims + 1] = size
  end
  reader:peek()
  local at = reader.at
  local dtype, name = element(reader)
  if not name then reader:fail(at, "expected an element type, got %s", reader:got(at)) end
  local sizes, rest = table.concat(dims, "x"), ""
  dims = table.concat(dims, ",")
  local text = dtype and ("%s[%s]"):format(dtype, dims)
  if reader:accept "," then
    local from = reader.at
    if reader:peek() ~= 35 then reader:fail(reader.at, "expected an encoding, #..., got %s", reader:got()) end
    local encoding = reader:take "^(#[%a_][%w_.]*)()" or reader:fail(from, "expected an encoding, #..., got %s", reader:got())
    if reader:peek() == 60 then encoding = encoding .. reader:balanced "an encoding" end
    encoding = reader.aliases and reader.aliases(encoding) or encoding
    rest = ", " .. encoding
    local bounded = text and with_bounds(dims, encoding)
    text = bounded and ("%s[%s]"):format(dtype, bounded)
  end
  reader:expect(">", "to close 'tensor<'")
  if text then return check(reader, start, text) end
  return ("tensor<%s%s%s%s>"):format(sizes, sizes == "" and "" or "x", name, rest)
end

local function tuple_of(reader)
  reader:expect("<", "after 'tuple'")
  local parts = {}
  reader:list(">", "to close 'tuple<'", function() parts[#parts + 1] = reader:nested(read) end)
  return tuple(parts)
end

--- Words that types of MLIR begin with.
local others = { tensor = true, tuple = true, complex = true, memref = true, vector = true, none = true, index = true, tf32 = true }

--- begins_type(word) -> boolean. Whether a type of MLIR's begins so.
function M.begins_type(word) return others[word] or dtypes[word] and true or word:find "^[su]?i%d+$" ~= nil or word:find "^f%d+$" ~= nil end

local token_types = { ["!stablehlo.token"] = "token[]", ["!mhlo.token"] = "token[]" }

function read(reader)
  local b = reader:peek()
  local start = reader.at
  if b == 33 then
    local name = reader:take "^(![%a_][%w_.$]*)()" or reader:fail(start, "expected a type, got '!'")
    if token_types[name] then return token_types[name] end
    local meaning = reader.aliases and reader.aliases(name)
    if meaning then return M.read_piece(meaning, reader, start) end
    return name .. (reader:peek() == 60 and reader:balanced "a type" or "")
  end
  local word = reader:take "^([%a_][%w_]*)()"
  if word == "tensor" then return tensor(reader, start) end
  if word == "tuple" then return tuple_of(reader) end
  if not word or not M.begins_type(word) then
    reader:fail(start, "expected a type, got %s", reader:got(start))
  end
  return word .. (reader:peek() == 60 and reader:balanced "a type" or "")
end

--- read_mlir(reader) -> string. The type at the reader: tensor<2x3xf32> is "f32[2,3]".
function M.read_mlir(reader)
  reader:peek()
  local text, behind = reader.text:match("^(tensor<[%w?]*>)()", reader.at)
  local found = from_tensor[text]
  if found then
    reader.at = behind
    return found
  end
  local type = reader:nested(read)
  if text and #text < 100 then
    if tensors == 2000 then from_tensor, tensors = {}, 0 end
    from_tensor[text], tensors = type, tensors + 1
  end
  return type
end

--- read_piece(text, reader, at) -> string. A type that stands elsewhere; what is wrong with it is shown at that place of the reader.
function M.read_piece(text, reader, at)
  local piece = reader:piece(text, at)
  local type = M.read_mlir(piece)
  reader:join(piece, "a type")
  return type
end

--- spell_mlir(text) -> type, or nil and what is wrong with it. A text that is one type of MLIR.
function M.spell_mlir(text)
  local reader = require "ccw.text.reader".new(text)
  reader.brief = true
  local ok, result = pcall(function()
    local type = M.read_mlir(reader)
    if reader:peek() then reader:fail(reader.at, "expected the end of the type, got %s", reader:got()) end
    return type
  end)
  if ok then return result end
  return nil, result.message
end

local to_mlir, written = {}, 0

--- write_mlir(type) -> string. As MLIR writes a type.
function M.write_mlir(text)
  local found = to_mlir[text]
  if found then return found end
  local parts, out = M.parts(text), text
  if parts then
    local all = {}
    for i, part in ipairs(parts) do all[i] = M.write_mlir(part) end
    out = ("tuple<%s>"):format(table.concat(all, ", "))
  elseif text:find "^token%[" then
    out = "!stablehlo.token"
  else
    local dtype, dims = text:match "^([%w_]+)%[([^%]]*)%]$"
    if mlir_names[dtype] then
      local bounds, bounded = {}, dims:find("<=", 1, true)
      local sizes = dims:gsub("[^,]+", function(size)
        bounds[#bounds + 1] = size:match "<=(%d+)" or "?"
        return size:find "<=" and "?" or nil
      end):gsub("%s*,%s*", "x")
      out = ("tensor<%s%s%s%s>"):format(sizes, sizes == "" and "" or "x", mlir_names[dtype],
        bounded and (", #stablehlo.bounds<%s>"):format(table.concat(bounds, ", ")) or "")
    end
  end
  if written == 2000 then to_mlir, written = {}, 0 end
  to_mlir[text], written = out, written + 1
  return out
end

-- ---- HLO

--- The layout {1,0:T(8,128)S(1)} at the reader: the dims from the fastest on, and as `more` what else it says.
local function layout(reader)
  reader:expect("{", "to begin a layout")
  local order = {}
  while true do
    local dim = reader:take "^(%d+)()"
    if not dim then break end
    order[#order + 1] = #dim < 10 and math.tointeger(tonumber(dim)) or reader:fail(reader.at - #dim, "a dim of %s", dim)
    if not reader:accept "," then break end
  end
  if reader:accept ":" then
    local from = reader.at
    while reader:peek() and reader:peek() ~= 125 do
      if reader:peek() == 40 then reader:balanced "a layout" else reader.at = reader.at + 1 end
    end
    order.more = reader.text:sub(from, reader.at - 1)
  end
  reader:expect("}", "to close a layout")
  return order
end

--- check_layout(order, rank) -> nil, or what is wrong with it.
function M.check_layout(order, rank)
  if #order == rank and M.is_row_major(order) then return nil end -- as it mostly is
  local seen = {}
  for _, dim in ipairs(order) do
    if math.type(dim) ~= "integer" or dim < 0 or dim >= rank or seen[dim] then
      return ("{%s} is no order of %d dims"):format(table.concat(order, ","), rank)
    end
    seen[dim] = true
  end
  if #order ~= rank then return ("{%s} is no order of %d dims"):format(table.concat(order, ","), rank) end
end

--- is_row_major(order) -> boolean. Whether a layout is the usual one, and says nothing more.
function M.is_row_major(order)
  for i, dim in ipairs(order) do
    if dim ~= #order - i then return false end
  end
  return not order.more
end

local ranks, known_ranks = {}, 0

--- rank(type) -> integer, or nil. Dims of an array, known or not.
function M.rank(text)
  local rank = ranks[text]
  if rank == nil then
    local dims = match(text, "^[%w_]+%[([^%]]*)%]$")
    rank = dims and dims ~= "*" and (dims == "" and 0 or select(2, dims:gsub(",", ",")) + 1)
    if known_ranks == 2000 then ranks, known_ranks = {}, 0 end
    ranks[text], known_ranks = rank or false, known_ranks + 1
  end
  return rank or nil
end

local shapes, known_shapes = {}, 0 -- memory of what was read

--- read_hlo(reader, layouts) -> string. The shape at the reader. `layouts` gets the layout of each array in it, one after the other: a
-- list, or false where none is said.
function M.read_hlo(reader, layouts)
  local b = reader:peek()
  local start = reader.at
  local text, behind = match(reader.text, "^(%l[%w]*%[[%d,]*%]%f[^%]]{?[%d,]*}?)()", start)
  local found = shapes[text]
  if found then
    reader.at = behind
    layouts[#layouts + 1] = found.order and table.move(found.order, 1, #found.order, 1, {}) or false
    return found.type
  end
  local type = M.read_shape(reader, layouts, b, start)
  if text and reader.at == behind and #text < 100 then
    if known_shapes == 2000 then shapes, known_shapes = {}, 0 end
    local order = layouts[#layouts]
    shapes[text], known_shapes = { type = type, order = order and table.move(order, 1, #order, 1, {}) }, known_shapes + 1
  end
  return type
end

--- The same, slowly.
function M.read_shape(reader, layouts, b, start)
  if b == 40 then
    reader.at = start + 1
    local parts = {}
    reader:list(")", "to close a tuple", function() parts[#parts + 1] = reader:nested(M.read_hlo, layouts) end)
    return tuple(parts)
  end
  local dtype = reader:take "^([%a_][%w_]*)()"
  if not dtype then reader:fail(start, "expected a shape, such as f32[2,3]{1,0}, got %s", reader:got(start)) end
  reader:expect("[", ("after '%s', as in f32[2,3]"):format(dtype))
  local dims = {}
  reader:list("]", "to close the sizes", function()
    reader:peek()
    local at = reader.at
    dims[#dims + 1] = reader:take "^(%d+)()" or reader:take "^(<=%d+)()" or reader:take "^(%?)()"
      or reader:fail(at, "expected a size, got %s", reader:got(at))
  end)
  local text = ("%s[%s]"):format(dtype, table.concat(dims, ","))
  if info[dtype] then
    check(reader, start, text)
  elseif dtype ~= "opaque" then
    reader:fail(start, "no dtype is called '%s'", dtype)
  end
  layouts[#layouts + 1] = false
  if reader:peek() ~= 123 then return text end
  local at = reader.at
  local order = layout(reader)
  local problem = (#order > 0 or #dims == 0) and M.check_layout(order, #dims) -- {} of an array that has dims says nothing
  if problem then reader:fail(at, "%s", problem) end
  if #order == 0 and order.more then table.move(M.default_layout(text), 1, #dims, 1, order) end
  if #order == #dims then layouts[#layouts] = order end
  return text
end

--- default_layout(type) -> layout. That of an array which is row-major.
function M.default_layout(text)
  local order, rank = {}, M.rank(text) or 0
  for i = 1, rank do order[i] = rank - i end
  return order
end

--- layout_text(layout) -> string. {1,0:T(8,128)}.
function M.layout_text(order) return ("{%s%s}"):format(table.concat(order, ","), order.more and ":" .. order.more or "") end

--- write_hlo(type, layouts, from) -> string, count. As HLO writes a shape, with the layouts from that position on, the usual ones where
-- there are none; and how many arrays are in it. nil and why not for what HLO cannot say.
function M.write_hlo(text, layouts, from)
  local parts = M.parts(text)
  if parts then
    local all, arrays = {}, 0
    for i, part in ipairs(parts) do
      local shape, n = M.write_hlo(part, layouts, from + arrays)
      if not shape then return nil, n end
      all[i], arrays = shape, arrays + n
    end
    return tuple(all), arrays
  end
  local dtype = text:match "^([%w_]+)%["
  if not (info[dtype] or dtype == "opaque") or not M.rank(text) then return nil, ("HLO has no type %s"):format(text) end
  local order = layouts and layouts[from] or M.default_layout(text)
  return text .. ((#order > 0 or order.more) and M.layout_text(order) or ""), 1
end

return M

--- Attributes of MLIR and the values of ccw that they stand for. What ccw has no value for is kept as its text, an `attribute`.
local lpeg = require "lpeg"
local core = require "ccw.core"
local array = require "ccw.array"
local attributes = require "ccw.attributes"
local types = require "ccw.text.types"
local quote = require "ccw.text.quote"

local M = {}

local byte, match, pack, unpack = string.byte, string.match, string.pack, string.unpack
local dtypes, mlir_names, info = types.dtypes, types.mlir_names, core.dtypes()

-- ---- what is kept as text

--- attribute: one of MLIR's that no handler can receive, kept as its text.
-- ccw.attribute_from_text makes one, and tostring gives the text back. Its field why tells what it is.
local kept = { __name = "ccw.attribute" }
function kept:__tostring() return self.text end

--- The text of a list is made when somebody wants it: those of layouts nobody does.
function kept:__index(field)
  if field ~= "text" or not self.items then return nil end
  local texts = {}
  for i, item in ipairs(self.items) do texts[i] = M.write(item) end
  self.text = "[" .. table.concat(texts, ", ") .. "]"
  return self.text
end

function kept.__eq(a, b) return getmetatable(a) == kept and getmetatable(b) == kept and a.text == b.text end

--- keep(text, why [, items]) -> attribute. `items` are the values of a list, or the integers of an array of index.
local function keep(text, why, items) return setmetatable({ text = text, why = why, items = items }, kept) end
M.keep = keep

--- is_kept(value) -> boolean.
local function is_kept(value) return getmetatable(value) == kept end
M.is_kept = is_kept

-- ---- numbers

--- Bits of what fits in each of the signed integers of whole bytes, without the sign.
local bits_by_name = { i8 = 7, i16 = 15, i32 = 31, i64 = 63 }

--- A whole number of 64 bits, as the bits of an integer; nil for more. `digits` may begin with 0x.
local function magnitude(digits)
  local hex = match(digits, "^0x0*(%x*)$")
  if hex then return #hex <= 16 and (hex == "" and 0 or tonumber(hex, 16)) or nil end
  if #digits <= 18 then return math.tointeger(tonumber(digits)) end
  local n = 0
  for c in digits:gmatch "%d" do
    local digit = byte(c) - 48
    if math.ult(1844674407370955161, n) or n == 1844674407370955161 and digit > 5 then return nil end
    n = n * 10 + digit
  end
  return n
end

--- What an integer type allows, by its name: bits, and "i", "si" or "ui".
local function integer_type(name)
  local sign, bits = match(name, "^([su]?i)(%d+)$")
  if sign then return { bits = #bits < 4 and tonumber(bits) or 1000, sign = sign } end
end
local integer_types = setmetatable({ index = { bits = 64, sign = "si" } }, { __index = function(all, name)
  all[name] = integer_type(name) or false
  return all[name]
end, __mode = "k" })

--- The integer that a token of a type stands for, as 64 bits; an i8 may be written as 255, which is -1.
local function to_integer(reader, at, token, type, name)
  local negative, digits = match(token, "^(%-?)(.*)$")
  local n, bits = magnitude(digits), type.bits
  local function refuse() reader:fail(at, "%s does not fit in %s", #token > 40 and token:sub(1, 40) .. "..." or token, name) end
  if not n then refuse() end
  if negative == "-" then
    if type.sign == "ui" and n ~= 0 or math.ult(1 << bits - 1, n) then refuse() end
    return -n
  end
  if bits < 64 and n >> bits ~= 0 then refuse() end
  if type.sign == "si" and n >> bits - 1 ~= 0 then refuse() end
  if type.sign == "i" and bits < 64 and bits > 1 and n >> bits - 1 ~= 0 then return n - (1 << bits) end
  return n
end

--- The bytes of an element of a float type, from the bits that a token in hex gives.
local function bits_of(reader, at, token, dtype)
  local n, bits = magnitude(token), info[dtype].bits
  if not n or bits < 64 and n >> bits ~= 0 then reader:fail(at, "%s has more than the %d bits of %s", token:sub(1, 40), bits, dtype) end
  return pack("<I8", n):sub(1, (bits + 7) // 8)
end

--- The number of a float type that a token with a dot stands for.
local function to_float(reader, at, token, dtype)
  if not token:find(".", 1, true) then reader:fail(at, "a float has a dot: %s.0", token:sub(1, 40)) end
  local x = tonumber(token)
  local scalar = core.scalar(dtype, x)
  local rounded = scalar.value
  if rounded - rounded ~= 0 then reader:fail(at, "%s does not fit in %s", token:sub(1, 40), dtype) end
  return rounded, scalar
end

--- The scalar whose bytes those are; nil where no number here holds them, as a signaling NaN of f32.
local function from_bytes(bytes, dtype)
  if dtype == "f64" then return (unpack("<d", bytes)) end
  local buffer = core.buffer(dtype .. "[1]"):set_bytes(bytes)
  local scalar = core.scalar(dtype, core.get(buffer, 0))
  core.put(buffer, 0, scalar)
  return buffer:bytes() == bytes and scalar or nil
end

--- number(reader) -> token, or nil. 7, -7, 0x7F, 1.5, 1.0e-5.
local function number(reader)
  local text, at = reader.text, reader.at
  local behind = match(text, "^%-?%d+%.%d*()", at)
  if behind then
    behind = match(text, "^[eE][-+]?%d+()", behind) or behind
  else
    behind = match(text, "^%-?0x%x+()", at) or match(text, "^%-?%d+()", at)
  end
  if not behind then return nil end
  if match(text, "^[%w_]", behind) and not match(text, "^x", behind) then
    reader:fail(at, "expected a number, as 7, 0x7F or 1.0e-5, got %s", reader:got(at))
  end
  reader.at = behind
  return text:sub(at, behind - 1)
end

--- What is written most, read fast: 7 : i64 and 1.5 : f32. nil where it is something else, or does not fit.
local function plain_number(reader)
  local digits, name, behind = match(reader.text, "^(%-?%d+%.?%d*[eE]?[-+]?%d*) : ([if]%d+)()%f[^%w_]", reader.at)
  if not digits or #digits > 17 then return nil end
  local n, bits, value = math.tointeger(tonumber(digits)), bits_by_name[name], nil
  if bits and n and not digits:find("[.e]") and (n >> bits == 0 or -n - 1 >> bits == 0) then
    value = bits == 63 and n or core.scalar(dtypes[name], n)
  elseif name == "f32" and match(digits, "^%-?%d+%.%d*$") or match(digits, "^%-?%d+%.%d*[eE][-+]?%d+$") and name == "f32" then
    value = core.scalar("f32", tonumber(digits))
    if value.value - value.value ~= 0 then return nil end
  end
  if value then reader.at = behind end
  return value
end

--- A number with its type, which is i64 or f64 without one.
local function typed_number(reader)
  local found = plain_number(reader)
  if found then return found end
  local at = reader.at
  local token = number(reader)
  if not token then reader:fail(at, "expected a number, got %s", reader:got(at)) end
  local is_float = token:find(".", 1, true)
  local name, name_at = is_float and "f64" or "i64", at
  if reader:accept ":" then
    reader:peek()
    name_at = reader.at
    name = reader:take "^([%a_][%w_]*)()"
    if not name and reader:peek() == 33 then
      local type = types.read_mlir(reader)
      name = type:match "^[%w_]+$"
    end
    if not name then reader:fail(name_at, "expected a type after ':', got %s", reader:got(name_at)) end
  end
  local type, dtype = integer_types[name], dtypes[name]
  if type then
    if type.bits > 64 or type.bits == 0 then reader:fail(name_at, "%s: integers have 1 to 64 bits here", name) end
    if is_float then reader:fail(at, "expected an integer for %s, got %s", name, token:sub(1, 40)) end
    local n = to_integer(reader, at, token, type, name)
    if name == "i64" then return n end
    if name == "i1" then return n ~= 0 end
    if dtype == "u64" then return core.scalar("u64", ("0x%x"):format(n)) end
    if dtype then return core.scalar(dtype, n) end
    return keep(("%d : %s"):format(n, name), name == "index" and "an index" or ("an integer of type %s"):format(name))
  end
  if not (dtype and info[dtype].class == "FLOAT") then
    if name:find "^f%d+$" or name == "tf32" then return keep(("%s : %s"):format(token, name), "a float of type " .. name) end
    reader:fail(name_at, "expected the type of a number, got '%s'", name)
  end
  if match(token, "^%-?0x") then
    if byte(token) == 45 then reader:fail(at, "expected the bits of a float without a sign, got %s", token:sub(1, 40)) end
    local bytes = bits_of(reader, at, token, dtype)
    return from_bytes(bytes, dtype) or keep(("%s : %s"):format(token, name), "a signaling NaN, which no number here holds")
  end
  local x, scalar = to_float(reader, at, token, dtype)
  return dtype == "f64" and x or scalar
end

-- ---- arrays

--- Puts tokens into a buffer: of integers, floats, pairs of floats, or bits in hex, which stay exactly as they are.
local function fill(reader, buffer, tokens, places)
  local dtype, bits = buffer.dtype, {}
  local class, name, put = info[dtype].class, mlir_names[dtype], core.put
  local integer, part = integer_types[name], class == "COMPLEX" and ("f%d"):format(info[dtype].bits // 2) or dtype
  local any = false
  local function float(token, at)
    if token:find("^%-?0x") then return bits_of(reader, at, token, part) end
    if part == "f64" then return pack("<d", (to_float(reader, at, token, part))) end
    return part == "f32" and pack("<f", (to_float(reader, at, token, part))) or nil
  end
  for k = 1, #tokens do
    local token, at = tokens[k], places[k]
    if class == "COMPLEX" then
      if type(token) ~= "table" then reader:fail(at, "expected a complex number, (1.0, 2.0), got %s", token) end
      bits[k], any = float(token[1], at) .. float(token[2], at), true
    elseif type(token) ~= "string" or not token:find "^[-%d]" then
      reader:fail(at, "expected a number of %s, got %s", name, type(token) == "string" and token or "something else")
    elseif not integer then
      if token:find "^%-?0x" then
        bits[k], any = bits_of(reader, at, token, dtype), true
      else
        put(buffer, k - 1, (to_float(reader, at, token, dtype)))
      end
    else
      if token:find(".", 1, true) then reader:fail(at, "expected an integer for %s, got %s", name, token:sub(1, 40)) end
      local n = to_integer(reader, at, token, integer, name)
      put(buffer, k - 1, dtype == "u64" and core.scalar("u64", ("0x%x"):format(n)) or n)
    end
  end
  if any then
    local whole, size = buffer:bytes(), info[dtype].bits // 8
    for k = 1, #tokens do bits[k] = bits[k] or whole:sub((k - 1) * size + 1, k * size) end
    buffer:set_bytes(table.concat(bits))
  end
  return buffer
end

--- Whether ccw keeps such arrays as buffers: whole bytes, and no booleans, which MLIR and XLA pack in ways of their own.
local function is_plain(dtype)
  local one = info[dtype]
  return one and one.bits >= 8 and one.class ~= "PRED" and one.class ~= "TOKEN"
end

--- array<i32: 1, 2>
local function dense_array(reader)
  reader:expect("<", "after 'array'")
  reader:peek()
  local at = reader.at
  local name = reader:word() or reader:fail(at, "expected the type of elements, got %s", reader:got(at))
  local dtype, type = dtypes[name], integer_types[name]
  if not (dtype and info[dtype].class ~= "COMPLEX") then reader:fail(at, "expected the type of elements, got '%s'", name) end
  local tokens, places = {}, {}
  if reader:accept ":" then
    reader:list(">", "to close 'array<'", function()
      reader:peek()
      places[#places + 1] = reader.at
      tokens[#tokens + 1] = number(reader) or reader:word()
        or reader:fail(reader.at, "expected a number, got %s", reader:got())
    end)
  else
    reader:expect(">", "to close 'array<'")
  end
  if is_plain(dtype) then return fill(reader, core.buffer(("%s[%d]"):format(dtype, #tokens)), tokens, places) end
  for k, token in ipairs(tokens) do
    local good = name == "i1" and (token == "true" or token == "false")
    if not good and type and token:find "^%-?%d+$" then good = to_integer(reader, places[k], token, type, name) end
    if not good then reader:fail(places[k], "expected a number of %s, got %s", name, token) end
  end
  local text = ("array<%s%s%s>"):format(name, tokens[1] and ": " or "", table.concat(tokens, ", "))
  return keep(text, name == "i1" and "an array of booleans" or "an array of " .. dtype)
end

--- Reads what dense<...> holds: tokens, their places, and the sizes of the lists that they are in.
local function elements(reader, tokens, places, dims, depth)
  if not reader:accept "[" then
    reader:peek()
    local at = reader.at
    local token = number(reader) or reader:take "^(true)%f[^%w_]()" or reader:take "^(false)%f[^%w_]()"
    if not token and reader:accept "(" then
      token = {}
      reader:list(")", "to close a complex number", function()
        reader:peek()
        token[#token + 1] = number(reader) or reader:fail(reader.at, "expected a number, got %s", reader:got())
      end)
      if #token ~= 2 then reader:fail(at, "expected two numbers in a complex one, got %d", #token) end
    elseif not token then
      local text = reader:string()
      token = text and { string = text } or reader:fail(at, "expected an element, got %s", reader:got(at))
    end
    if dims[depth] == nil then dims[depth] = false end
    if dims[depth] then reader:fail(at, "expected a list of %d, as beside it, got %s", dims[depth], reader:got(at)) end
    tokens[#tokens + 1], places[#tokens + 1] = token, at
    return
  end
  local count, at = 0, reader.at - 1
  local known = dims[depth]
  if known == false then reader:fail(at, "expected a number, as beside it, got a list") end
  reader:list("]", "to close a list", function(r)
    count = count + 1
    r:nested(function() elements(r, tokens, places, dims, depth + 1) end)
  end)
  if known and known ~= count then reader:fail(at, "expected a list of %d, as beside it, got %d", known, count) end
  dims[depth] = count
end

--- The bytes that a string "0x..." of a dense<> spells; nil where it spells none.
local function blob(text)
  local digits = text:match "^0x(%x*)$"
  if not digits or #digits % 2 == 1 then return nil end
  return (digits:gsub("%x%x", function(pair) return string.char(tonumber(pair, 16)) end))
end

--- The count of elements of an array's type, checked against what a text may make of few bytes.
local function expand(reader, at, type, bytes_each)
  local shape = types.value(type)
  local bytes = shape and shape.bytes
  if not bytes then reader:fail(at, "expected a type with known sizes, got %s", type) end
  if bytes > reader.expandable then
    reader:fail(at, "%s: more than %d MiB out of one element each", type, require "ccw.text.reader".MOST_EXPANDED >> 20)
  end
  reader.expandable = reader.expandable - bytes
  return bytes // bytes_each
end

--- Orders of dims, by their texts: every call has a few of the same.
local orders, known_orders = {}, 0

--- What is written most, read fast: dense<[1, 0]> : tensor<2xindex>, and lists of whole numbers. nil where it is something else, or wrong.
local function plain_dense(reader, start)
  local text, behind = match(reader.text, "^(dense<[^<>\"{]*> : tensor<[%dx]*index>)()", start)
  local order = orders[text]
  if order then
    reader.at = behind
    return order
  end
  local body, count, name, after = match(reader.text, "^dense<%[([-%d, ]*)%]> : tensor<(%d+)x([si%d]+)>()", start)
  local bits = bits_by_name[name]
  if not bits or #count > 9 then return nil end
  local buffer, k, put = core.buffer(("%s[%s]"):format(dtypes[name], count)), 0, core.put
  local most = buffer.count
  for token in body:gmatch "[^, ]+" do
    local n = k < most and #token < 18 and math.tointeger(tonumber(token))
    if not n or n >> bits ~= 0 and -n - 1 >> bits ~= 0 then return nil end
    put(buffer, k, n)
    k = k + 1
  end
  if k ~= most or select(2, body:gsub(",", ",")) ~= k - 1 then return nil end
  reader.at = after
  return buffer
end

--- dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>, dense<7>, dense<"0x0000803F">
local function dense(reader, start)
  reader:expect("<", "after 'dense'")
  local tokens, places, dims, is_empty = {}, {}, {}, reader:accept ">"
  if not is_empty then
    elements(reader, tokens, places, dims, 1)
    reader:expect(">", "to close 'dense<'")
  end
  local body_end = reader.at - 1
  reader:expect(":", "and a type after 'dense<...>'")
  reader:peek()
  local type_at = reader.at
  local whole = types.read_mlir(reader)
  local vector = whole:match "^vector<([%dx]*[%w]+)>$"
  if vector then
    whole = types.read_piece("tensor<" .. vector .. ">", reader, type_at)
  end
  local dtype, sizes = whole:match "^([%w_]+)%[([%d,]*)%]$"
  local text = ("dense<%s> : %s"):format(is_empty and "" or reader.text:sub(start, body_end - 1):gsub("^dense%s*<%s*", ""):gsub("%s+", " "),
    types.write_mlir(whole))
  if not dtype then
    local index = whole:match "^tensor<([%dx]*)index>$"
    if not index then return keep(text, "an array of type " .. whole) end
    local integers = {}
    for k, token in ipairs(tokens) do
      if type(token) ~= "string" or not token:find "^%-?%d+$" then reader:fail(places[k], "expected an integer") end
      integers[k] = to_integer(reader, places[k], token, integer_types.index, "index")
    end
    local count = 1
    for size in index:gmatch "%d+" do count = count * tonumber(size) end
    if #integers == 1 and dims[1] == false then -- a splat
      if count > 64 then reader:fail(type_at, "more than 64 indices") end
      for k = 2, count do integers[k] = integers[1] end
    end
    if #integers ~= count then reader:fail(start, "expected %.0f elements, got %d", count, #integers) end
    local order = keep(text, "an array of index", integers)
    if #text < 80 then
      if known_orders == 500 then orders, known_orders = {}, 0 end
      if not orders[text] then known_orders = known_orders + 1 end
      orders[text] = order
    end
    return order
  end
  local first = tokens[1]
  local is_blob = type(first) == "table" and first.string and dims[1] == false
  local bytes = is_blob and (blob(first.string) or reader:fail(places[1], "expected \"0x...\", two hex digits a byte"))
  if not is_plain(dtype) then
    return keep(text, dtype == "pred" and "an array of booleans" or "an array of " .. dtype)
  end
  local size = info[dtype].bits // 8
  local shape = types.value(whole)
  if is_blob then
    if #bytes == shape.bytes then return core.buffer(whole):set_bytes(bytes) end
    if #bytes ~= size then reader:fail(places[1], "expected %d bytes for %s, got %d", shape.bytes, whole, #bytes) end
    local count = expand(reader, type_at, whole, size)
    return core.buffer(whole):set_bytes(bytes:rep(count))
  end
  if dims[1] == false and sizes ~= "" then -- a splat
    local count = expand(reader, type_at, whole, size)
    local one = fill(reader, core.buffer(dtype .. "[1]"), tokens, places)
    return core.buffer(whole):set_bytes(one:bytes():rep(count))
  end
  local got = {}
  for i, dim in ipairs(dims) do got[i] = dim or nil end
  if is_empty and shape.bytes == 0 then return core.buffer(whole) end
  local wanted = table.concat(got, ",")
  if #tokens * size ~= shape.bytes or wanted ~= sizes and shape.bytes > 0 then
    reader:fail(start, "expected elements of %s, got %s", whole, is_empty and "none" or ("%s[%s]"):format(dtype, wanted))
  end
  return fill(reader, core.buffer(whole), tokens, places)
end

-- ---- all others

local value

--- dictionary(reader [, places]) -> table. {name = value, ...} at the reader; a name alone is a unit. `places` gets where each name
-- stands.
function M.dictionary(reader, places)
  local names = {}
  reader:expect("{", "to begin a dictionary")
  if reader:accept "}" then return names end
  local text = reader.text
  repeat
    local at, name, behind = match(text, "^ ?()([%a_][%w_$.]*) = ()", reader.at) -- as it is mostly printed
    if name then
      reader.at = behind
    else
      reader:peek()
      at = reader.at
      name = reader:word() or reader:string() or reader:fail(at, "expected a name, got %s", reader:got(at))
      if name == "" then reader:fail(at, "a name is empty") end
    end
    if names[name] ~= nil then reader:fail(at, "the name %s stands here twice", core.quote(name)) end
    if places then places[name] = at end
    if behind or reader:accept "=" then
      names[name] = value(reader)
    else
      names[name] = keep("unit", "a name without a value")
    end
  until not reader:accept ","
  if not reader:accept "}" then
    reader:fail(reader.at, "expected ',' or '}' to close a dictionary, got %s", reader:got())
  end
  return names
end

--- Lists of orders of dims by their texts, as layouts are mostly printed.
local layouts, known_layouts = {}, 0

local function list(reader)
  local text, behind = match(reader.text, "^(%[dense<[^{}\"#!]-index>%])()", reader.at)
  if text and layouts[text] then
    reader.at = behind
    return layouts[text]
  end
  local items, count = {}, 0
  reader:expect("[", "to begin a list")
  reader:list("]", "to close a list", function()
    count = count + 1
    items[count] = value(reader)
  end)
  local found = keep(nil, "a list", items)
  if text and reader.at == behind and #text < 300 then
    if known_layouts == 500 then layouts, known_layouts = {}, 0 end
    layouts[text], known_layouts = found, known_layouts + 1
  end
  return found
end

local function symbol(reader)
  local names = {}
  repeat
    reader:expect("@", "to begin a symbol")
    local at = reader.at
    names[#names + 1] = byte(reader.text, at) == 34 and reader:string()
      or byte(reader.text, at) and match(reader.text, "^[%a_]", at) and reader:word()
      or reader:fail(at, "expected a name after '@', got %s", reader:got(at))
  until not reader:accept_text "::"
  local texts = {}
  for i, name in ipairs(names) do texts[i] = M.write_symbol(name) end
  local one = keep(table.concat(texts, "::"), "a symbol")
  one.symbol = not names[2] and names[1] or nil
  return one
end

--- write_symbol(name) -> string. "@name", quoted where that is needed.
function M.write_symbol(name) return "@" .. (name:find "^[%a_][%w_$.]*$" and name or quote.mlir(name)) end

--- #dialect.name<...>, #dialect<...>, or an alias.
local function dialect(reader)
  local at = reader.at
  local name = reader:take "^(#[%a_][%w_.$]*)()" or reader:take "^(#%d+)()" or reader:fail(at, "expected a name after '#'")
  local behind = byte(reader.text, reader.at)
  if behind == 60 then return keep(name .. reader:balanced "an attribute", "an attribute of a dialect") end
  if name:find(".", 1, true) then return keep(name, "an attribute of a dialect") end
  local meaning = reader.aliases and reader.aliases(name)
  if not meaning then reader:fail(at, "the alias %s is defined nowhere in this text", name) end
  return M.read_piece(meaning, reader, at)
end

--- read_piece(text, reader, at) -> value. A value that stands elsewhere; what is wrong with it is shown at that place of the reader.
function M.read_piece(text, reader, at)
  local piece = reader:piece(text, at)
  local found = value(piece)
  reader:join(piece, "an attribute")
  return found
end

--- Words that attributes with brackets begin with.
local bracketed = { affine_map = true, affine_set = true, dense_resource = true, sparse = true, opaque = true, strided = true,
  distinct = true, loc = true }

--- A type may follow what is no number; no handler can receive that.
local function with_type(reader, text, found)
  if not reader:accept ":" then return found end
  local type = types.write_mlir(types.read_mlir(reader))
  return keep(("%s : %s"):format(text, type), is_kept(found) and found.why or "an attribute with a type of its own")
end

local function word(reader)
  local start = reader.at
  local name = reader:word()
  if name == "true" then return true end
  if name == "false" then return false end
  if name == "dense" then return dense(reader, start) end
  if name == "array" then return dense_array(reader) end
  if name == "unit" then return keep("unit", "a name without a value") end
  if bracketed[name] then
    local text = name
    while reader:peek() and ("([{<"):find(string.char(reader:peek()), 1, true) do text = text .. reader:balanced("'" .. name .. "'") end
    if text == name then reader:fail(reader.at, "expected '<' after '%s', got %s", name, reader:got()) end
    return with_type(reader, text, keep(text, name))
  end
  reader.at = start
  if not types.begins_type(name) then
    reader:fail(start, "expected an attribute, got %s", reader:got(start))
  end
  return keep(types.write_mlir(types.read_mlir(reader)), "a type")
end

local function function_type(reader)
  local text = reader:balanced "a type"
  if not reader:accept_text "->" then reader:fail(reader.at, "expected '->' in the type of a function, got %s", reader:got()) end
  reader:peek()
  local to = reader:peek() == 40 and reader:balanced "a type" or types.write_mlir(types.read_mlir(reader))
  return keep(text .. " -> " .. to, "a type")
end

function value(reader)
  local b = reader:peek()
  if not b then reader:fail(reader.at, "expected an attribute, got the end") end
  if b >= 48 and b <= 57 or b == 45 then return typed_number(reader) end
  if b == 34 then
    local text = reader:string()
    return reader:peek() == 58 and with_type(reader, quote.mlir(text), text) or text
  end
  if b == 100 then -- mostly it is dense<...>
    local found = plain_dense(reader, reader.at)
    if found then return found end
  end
  if b == 123 then return reader:nested(M.dictionary) end
  if b == 91 then return reader:nested(list) end
  if b == 64 then return symbol(reader) end
  if b == 40 then return function_type(reader) end
  if b == 33 then return keep(types.write_mlir(types.read_mlir(reader)), "a type") end
  if b == 35 then
    local found = dialect(reader)
    return is_kept(found) and with_type(reader, found.text, found) or found
  end
  if match(reader.text, "^[%a_]", reader.at) then return word(reader) end
  reader:fail(reader.at, "expected an attribute, got %s", reader:got())
end

--- read(reader) -> value. The attribute at the reader.
function M.read(reader) return value(reader) end

-- ---- writing

--- A number in the form in which MLIR reads a float: with a dot, and bits in hex for what is no number.
local function float_text(text, bytes)
  if text:find "[ni]" then
    local digits = {}
    for i = #bytes, 1, -1 do digits[#digits + 1] = ("%02X"):format(byte(bytes, i)) end
    return "0x" .. table.concat(digits)
  end
  if text:find(".", 1, true) then return text end
  local mantissa, exponent = match(text, "^([^e]*)(.*)$")
  return mantissa .. ".0" .. exponent
end

--- The shortest text of a float that reads back to the same number.
local function shortest(x)
  for digits = 15, 17 do
    local text = ("%." .. digits .. "g"):format(x)
    if tonumber(text) == x then return text end
  end
end

local function write_float(x) return float_text(x - x ~= 0 and "nan" or shortest(x), pack("<d", x)) end

local function write_scalar(scalar)
  local dtype = scalar.dtype
  local class = info[dtype].class
  if class == "PRED" then return tostring(scalar.value) end
  local number_of = scalar.value
  if math.type(number_of) == "integer" then return ("%d : %s"):format(number_of, mlir_names[dtype]) end
  local text, type = match(tostring(scalar), "%((.*)%)$"), mlir_names[dtype]
  if class == "COMPLEX" then
    local buffer = core.buffer(dtype .. "[]")
    core.put(buffer, 0, scalar)
    return M.write(buffer)
  end
  if class == "FLOAT" then
    local bytes = ""
    if text:find "[ni]" then
      local buffer = core.buffer(dtype .. "[1]")
      core.put(buffer, 0, scalar)
      bytes = dtype == "f32" and pack("<f", number_of) or buffer:bytes()
    end
    text = float_text(text, bytes)
  end
  return ("%s : %s"):format(text, type)
end

local function write_buffer(buffer)
  local dtype, count, dims = buffer.dtype, buffer.count, buffer.dims
  local class, one, bytes = info[dtype].class, core.element_text, nil
  local is_float, size = class == "FLOAT" or class == "COMPLEX", info[dtype].bits // 8
  local part = class == "COMPLEX" and size // 2 or size
  local function element(k)
    if class == "PRED" then return tostring(core.get(buffer, k)) end
    local text = one(buffer, k)
    if not is_float then return text end
    if text:find "[ni]" then bytes = bytes or buffer:bytes() end
    local function part_text(written, at) return float_text(written, bytes and bytes:sub(at + 1, at + part) or "") end
    if class == "FLOAT" then return part_text(text, k * size) end
    local re, im = match(text, "^%(?([^,]*), ([^)]*)%)?$")
    return ("(%s, %s)"):format(part_text(re, k * size), part_text(im, k * size + part))
  end
  local function level(depth, first, stride)
    if depth > #dims then return element(first) end
    local items = {}
    stride = dims[depth] > 0 and stride // dims[depth] or 0
    for i = 1, dims[depth] do items[i] = level(depth + 1, first + (i - 1) * stride, stride) end
    return "[" .. table.concat(items, ", ") .. "]"
  end
  return ("dense<%s> : %s"):format(count > 0 and level(1, 0, count) or "", types.write_mlir(buffer.type))
end

--- sorted(table) -> list. Its names by byte.
local function sorted(names)
  local all = {}
  for name in next, names do all[#all + 1] = name end
  table.sort(all)
  return all
end
M.sorted = sorted

--- write_name(name) -> string. As a dictionary has it.
local function write_name(name) return match(name, "^[%a_][%w_$.]*$") or quote.mlir(name) end
M.write_name = write_name

--- path(outer, name) -> string. b.x["two words"], as ccw.attrs names it.
function M.path(outer, name)
  if not name:find "^[%a_][%w_]*$" then return ("%s[%s]"):format(outer or "", core.quote(name)) end
  return outer and outer .. "." .. name or name
end

local function no_fail(format, ...) error(format:format(...), 0) end

--- What a dictionary of core is printed with; `big` and `least` are for numbers that Lua reads as floats.
local constructors = { nan = 0 / 0, inf = math.huge, least = math.mininteger, big = function(digits) return core.scalar("u64", digits) end }
for dtype in pairs(info) do constructors[dtype] = array.constructor(dtype) end

local quoted = lpeg.P '"' * ((1 - lpeg.S '"\\') ^ 1 + lpeg.P "\\" * 1) ^ 0 * '"'
local long_number = lpeg.P "-" ^ -1 * lpeg.R "09" ^ 19 * -lpeg.S ".e" / function(digits)
  if digits:find "^-" then return digits == tostring(math.mininteger) and "least" or digits end
  return math.type(tonumber(digits)) == "integer" and digits or ('big"%s"'):format(digits)
end
local numbers = lpeg.Cs((quoted + long_number + 1) ^ 0)

--- open(dictionary) -> table. What a dictionary of core holds: it prints as Lua that makes it.
local function open_dictionary(dictionary)
  return load("return " .. numbers:match(tostring(dictionary)), "=attributes", "t", constructors)()
end

M.open = open_dictionary

--- plain(value, path, fail) -> value. A list of numbers is an array, a dictionary of core a table; everything else is itself.
local function plain(source, path, fail)
  local kind, open = core.kind(source)
  if kind == "attributes" then return open_dictionary(source) end
  if kind == "buffer" then
    if not open then fail("%s: this buffer is closed", path) end
    return source
  end
  if kind and kind ~= "scalar" then fail("%s: expected an attribute, got %s", path, kind) end
  if type(source) == "table" and not is_kept(source) and next(source) ~= nil and type(next(source)) ~= "string" then
    local length, why = array.list_length(source)
    if not length then fail("%s: %s", path, why) end
    local kind_of_number = math.type(source[1])
    for i = 1, length do
      local item = source[i]
      if not kind_of_number or math.type(item) ~= kind_of_number then
        fail("%s[%d]: expected %s, got %s", path, i, kind_of_number or "a number", core.kind(item) or math.type(item) or type(item))
      end
    end
    return array.constructor(kind_of_number == "integer" and "s64" or "f64")(source)
  end
  return source
end

local write

--- write_dictionary(table [, path [, fail]]) -> string. Sorted by name.
function M.write_dictionary(names, path, fail, depth)
  fail, depth = fail or no_fail, depth or 1
  local parts = sorted(names)
  for i, name in ipairs(parts) do
    local found = names[name]
    if is_kept(found) and found.text == "unit" then
      parts[i] = write_name(name)
    else
      parts[i] = write_name(name) .. " = " .. write(found, path, name, fail, depth)
    end
  end
  return "{" .. table.concat(parts, ", ") .. "}"
end

function write(source, outer, name, fail, depth)
  local kind = type(source)
  if kind == "string" then return quote.mlir(source) end
  if kind == "boolean" then return source and "true" or "false" end
  if kind == "number" then
    return math.type(source) == "integer" and ("%d : i64"):format(source) or write_float(source) .. " : f64"
  end
  if kind == "table" and is_kept(source) then return source.text end
  if core.kind(source) == "scalar" then return write_scalar(source) end
  local path = M.path(outer, name or "value")
  source = plain(source, path, fail)
  kind = core.kind(source)
  if kind == "buffer" then return write_buffer(source) end
  if type(source) ~= "table" then
    fail("%s: expected a boolean, a number, a string, an array or a table, got %s", path, kind or type(source))
  end
  for key in next, source do
    if type(key) ~= "string" then fail("%s: expected names, got the key %s", path, tostring(key)) end
    if key == "" then fail("%s: a name is empty", path) end
  end
  if depth > 64 then fail("%s...: more than 64 dictionaries in each other", path:sub(1, 40)) end
  return M.write_dictionary(source, path, fail, depth + 1)
end

--- write(value) -> string. As MLIR writes an attribute, with its type; numbers as short as they read back to the same.
function M.write(source, fail) return write(source, nil, nil, fail or no_fail, 1) end

--- show(table) -> string. A dictionary as ccw.attrs prints it, or as MLIR does where ccw has no value for something in it.
function M.show(names)
  local made, dictionary = pcall(attributes.build, names, function(_, format, ...) no_fail(format, ...) end, 1, "")
  return made and tostring(dictionary) or M.write_dictionary(names)
end

-- ---- what the FFI carries

local carried = { f32 = true, f64 = true, s8 = true, s16 = true, s32 = true, s64 = true, u8 = true, u16 = true, u32 = true, u64 = true }

--- unsupported(value, path, found). Adds {path, why} for all that no handler can receive.
function M.unsupported(source, path, found, level)
  level = level or 0
  local function add(why) found[#found + 1] = { path = path, why = why } end
  if is_kept(source) then return add(source.why .. ", which the FFI cannot carry: " .. source.text) end
  local kind = core.kind(source)
  if kind == "scalar" then
    local dtype = source.dtype
    if not carried[dtype] and dtype ~= "pred" then
      add(("a number of %s: the FFI carries integers of 8 to 64 bits, f32 and f64"):format(dtype))
    end
  elseif kind == "buffer" then
    if not carried[source.dtype] then
      add(("an array of %s: the FFI carries integers of 8 to 64 bits, f32 and f64"):format(source.dtype))
    end
  elseif type(source) == "table" and not kind then
    if level > 64 then return end
    for key in next, source do
      if type(key) ~= "string" then return end -- a list, or misuse
    end
    for _, name in ipairs(sorted(source)) do M.unsupported(source[name], M.path(path, name), found, level + 1) end
  end
end

return M

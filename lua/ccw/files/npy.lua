--- The format .npy: one array, behind a header that is a dictionary of Python's.
local core = require "ccw.core"
local errors = require "ccw.errors"

local M = {}

local MAGIC, LONGEST_HEADER = "\x93NUMPY", 1 << 20

--- What numpy calls the dtypes that it has itself: kind and bytes.
local numpy_names = { pred = "b1", s8 = "i1", s16 = "i2", s32 = "i4", s64 = "i8", u8 = "u1", u16 = "u2", u32 = "u4", u64 = "u8",
  f16 = "f2", f32 = "f4", f64 = "f8", c64 = "c8", c128 = "c16" }

local own_names = {} --- numpy's name -> dtype
for dtype, name in pairs(numpy_names) do own_names[name] = dtype end

--- Why there is nothing for the other kinds.
local refusals = {
  O = "Python objects, pickled", U = "text", S = "text", a = "text", M = "dates", m = "spans of time",
  V = "elements of several bytes without a type", f = "floats that XLA does not have", c = "complex numbers that XLA does not have",
}

local function fail(code, format, ...) errors.raise(code, format:format(...)) end

--- Results, or the failure that came as nil, text, code.
local function check(value, text, code)
  if value == nil then errors.raise(code, text) end
  return value
end

-- ---- the header ------------------------------------------------------------------------------------------------------

--- The header's text; the source stands at the elements then.
local function read_header(source)
  local prefix = source:left() >= #MAGIC + 4 and check(source:read(#MAGIC + 4))
  if not prefix or prefix:sub(1, #MAGIC) ~= MAGIC then fail("INVALID_ARGUMENT", "not .npy: it does not begin like it") end
  local major, minor = prefix:byte(#MAGIC + 1, #MAGIC + 2)
  if major < 1 or major > 3 or minor ~= 0 then
    fail("UNIMPLEMENTED", "version %d.%d of .npy; 1.0, 2.0 and 3.0 are read", major, minor)
  end
  local length = ("<I2"):unpack(prefix, #MAGIC + 3)
  if major > 1 then
    if source:left() < 2 then fail("DATA_LOSS", "it ends in its header") end
    length = length | ("<I2"):unpack(check(source:read(2))) << 16
  end
  if length > source:left() then fail("DATA_LOSS", "a header of %d bytes, of which there are %d", length, source:left()) end
  if length > LONGEST_HEADER then fail("INVALID_ARGUMENT", "a header of %d bytes, more than %d", length, LONGEST_HEADER) end
  return check(source:read(length))
end

--- Reads a header's text from its beginning on: accept(pattern) takes what matches and gives its captures.
local function reader(text)
  local at = 1
  local r = {}
  function r.accept(pattern)
    at = text:find("[^ \t\r\n]", at) or #text + 1
    local first, last, capture = text:find("^" .. pattern, at)
    if not first then return nil end
    at = last + 1
    return capture or true
  end
  function r.expected(what)
    local got = at <= #text and core.quote(text:sub(at, at)) or "its end"
    fail("INVALID_ARGUMENT", "header: expected %s at byte %d, got %s", what, at, got)
  end
  function r.expect(pattern, what) return r.accept(pattern) or r.expected(what) end
  return r
end

--- A string of Python's, without escapes: names and descriptions need none.
local function read_string(r) return r.accept "'([^'\\\n]*)'" or r.accept '"([^"\\\n]*)"' end

local function read_size(r)
  local digits = r.expect("(%-?%d+)L?", "a size") -- the L is Python 2's
  local size = tonumber(digits)
  if math.type(size) ~= "integer" or size < 0 then fail("INVALID_ARGUMENT", "header: a size of %s", digits:sub(1, 40)) end
  return size
end

local values = {}

function values.descr(r)
  if r.accept "[%[(]" then fail("UNIMPLEMENTED", "it holds elements with fields, which are not read") end
  return read_string(r) or r.expected "a string"
end

function values.fortran_order(r)
  if r.accept "True" then return true end
  r.expect("False", "True or False")
  return false
end

function values.shape(r)
  local dims = {}
  r.expect("%(", "'('")
  while not r.accept "%)" do
    if #dims == core.max_rank then fail("UNIMPLEMENTED", "more than %d dims", core.max_rank) end
    dims[#dims + 1] = read_size(r)
    local comma = r.accept ","
    if not comma and #dims == 1 then r.expected "','" end -- (3) is no tuple
    if not comma then
      r.expect("%)", "',' or ')'")
      break
    end
  end
  return dims
end

--- {descr, fortran_order, shape} of a header.
local function parse(text)
  local r, found = reader(text), {}
  r.expect("{", "'{'")
  while not r.accept "}" do
    local key = read_string(r) or r.expected "a name"
    if not values[key] then fail("INVALID_ARGUMENT", "header: nothing is known of %s", core.quote(key:sub(1, 40))) end
    if found[key] ~= nil then fail("INVALID_ARGUMENT", "header: '%s' comes twice", key) end
    r.expect(":", "':'")
    found[key] = values[key](r)
    if not r.accept "," then
      r.expect("}", "',' or '}'")
      break
    end
  end
  if not r.accept "$" then r.expected "its end" end
  for _, key in ipairs { "descr", "fortran_order", "shape" } do
    if found[key] == nil then fail("INVALID_ARGUMENT", "header: '%s' is missing", key) end
  end
  return found
end

-- ---- elements --------------------------------------------------------------------------------------------------------

--- Bytes of an element in a file, where elements of less than a byte have one each.
local function width(dtype) return math.max(core.dtypes()[dtype].bits // 8, 1) end

--- Whether elements that numpy describes so say nothing of their type: they are whatever they are told to be.
local function is_raw(name) return name == "V1" or name == "V2" or name == "f1" end

--- Raises why there is no dtype for a description.
local function refuse(descr)
  local why, shown = refusals[descr:match "^[<>|=]?(%a)"], descr:sub(1, 40)
  if not why then fail("INVALID_ARGUMENT", "header: no elements are described as %s", core.quote(shown)) end
  fail("UNIMPLEMENTED", "it holds %s (%s), which are not read", why, shown)
end

--- The dtype of elements that numpy describes so; `wanted`, a dtype or nil, is what the caller says that they are, `unsaid` what those are
-- of which nobody says it.
local function dtype_of(descr, wanted, unsaid)
  local name = descr:match "^[<>|=]?(%a%d+)$"
  local own, raw = own_names[name], name and is_raw(name)
  if not own and not raw then refuse(descr) end
  wanted = wanted or own or unsaid
  if not wanted then
    fail("INVALID_ARGUMENT", "%s does not say what its elements are: name it, as in {dtype = \"%s\"}", descr,
      name == "V2" and "bf16" or "f8e4m3fn")
  end
  if wanted == own then return own end
  local bytes = tonumber(name:sub(2))
  local is_free = raw or own:find "^u" and not numpy_names[wanted]
  if is_free and bytes == width(wanted) then return wanted end
  if own then fail("INVALID_ARGUMENT", "it holds %s, not %s, to which as() converts", own, wanted) end
  fail("INVALID_ARGUMENT", "bytes of an element: %d in the file, %d of %s", bytes, width(wanted), wanted)
end

local function type_of(dtype, dims) return ("%s[%s]"):format(dtype, table.concat(dims, ",")) end

--- Refuses a shape that is not exactly what is left of the source.
local function check_size(source, dtype, dims)
  local bytes, left = width(dtype), source:left()
  local total = bytes
  local function too_short()
    fail("DATA_LOSS", "%s, with %d bytes an element, in %d bytes", type_of(dtype, dims), bytes, left)
  end
  for _, size in ipairs(dims) do
    if size == 0 then total = 0 end
  end
  for _, size in ipairs(dims) do
    if total > 0 and size > left // total then too_short() end
    total = total * size
  end
  if total > left then too_short() end
  if total < left then fail("DATA_LOSS", "bytes behind the array: %d", left - total) end
end

--- The same bits under another name.
local function reinterpret(buffer, dtype)
  return buffer.dtype == dtype and buffer or core.buffer(type_of(dtype, buffer.dims)):set_bytes(buffer:bytes())
end

--- Elements of a byte each, the low bits of which count, as packed ones.
local function pack(codes, dtype) return reinterpret(codes:as("u" .. core.dtypes()[dtype].bits), dtype) end

--- The opposite.
local function unpack(buffer) return reinterpret(buffer:copy(), "u" .. core.dtypes()[buffer.dtype].bits):as "u8" end

--- read(source [, dtype [, unsaid]]) -> buffer. A source tells by left() how many bytes it still has, and has read(n) and fill(buffer);
-- all of it is the array. The dtype is what its elements are, or, `unsaid`, what they are where the file does not tell.
function M.read(source, wanted, unsaid)
  local header = parse(read_header(source))
  local dtype = dtype_of(header.descr, wanted, unsaid)
  local is_packed = core.dtypes()[dtype].bits < 8
  check_size(source, dtype, header.shape)
  local dims = table.move(header.shape, 1, #header.shape, 1, {})
  if header.fortran_order then
    for i, size in ipairs(header.shape) do dims[#dims + 1 - i] = size end
  end
  local buffer = core.buffer(type_of(is_packed and "u8" or dtype, dims))
  check(source:fill(buffer))
  if header.descr:find "^>" and not header.descr:find "V" then core.swap_bytes(buffer) end
  if header.fortran_order and #dims > 1 then
    local column_major <close> = buffer
    buffer = core.transpose(column_major)
  end
  return is_packed and pack(buffer, dtype) or buffer:check()
end

--- write(buffer) -> header, buffer. What makes up a file; the buffer, on the host, is the same or has its elements as numpy has them.
function M.write(buffer)
  local name, dims = numpy_names[buffer.dtype], table.concat(buffer.dims, ", ")
  local descr = name and (name:find "1$" and "|" or "<") .. name or "<V" .. width(buffer.dtype)
  local text = ("{'descr': '%s', 'fortran_order': False, 'shape': (%s%s), }"):format(descr, dims, buffer.rank == 1 and "," or "")
  text = text .. (" "):rep(-(#MAGIC + 4 + #text + 1) % 64) .. "\n"
  return MAGIC .. ("<BBs2"):pack(1, 0, text), core.dtypes()[buffer.dtype].bits < 8 and unpack(buffer) or buffer
end

return M

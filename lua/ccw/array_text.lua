--- Arrays out of the text that they print.
local core = require "ccw.core"
local errors = require "ccw.errors"

local M = {}

local dtypes = core.dtypes()

-- ---- failing ----------------------------------------------------------------------------------------------------------

local BEFORE, AFTER = 60, 40 --- bytes of a line that an error shows on each side of the place

--- The line in which a position lies, cut where it is long, and a caret below it.
local function excerpt(text, at)
  local first = at
  while first > 1 and at - first < BEFORE and text:byte(first - 1) ~= 10 do first = first - 1 end
  local last = (text:find("\n", at, true) or #text + 1) - 1
  local is_cut = first > 1 and text:byte(first - 1) ~= 10
  local function clean(part) return (part:gsub("%c", " ")) end
  local before = (is_cut and "..." or "") .. clean(text:sub(first, at - 1))
  local behind = clean(text:sub(at, math.min(last, at + AFTER))) .. (last > at + AFTER and "..." or "")
  if before .. behind == "" then return "" end
  return ("\n  %s%s\n  %s^"):format(before, behind, (" "):rep(utf8.len(before) or #before))
end

--- A text that is read from its beginning on: text, at, dtype, class. Raises what is wrong there.
local function refuse(r, format, ...)
  errors.raise("INVALID_ARGUMENT", "array: " .. format:format(...) .. excerpt(r.text, r.at))
end

--- What stands at the place, as an error names it.
local function found(r)
  local word = r.text:match("^[^%s,{}()]+", r.at) or r.text:sub(r.at, r.at)
  if word == "" then return "the end" end
  return ("'%s'"):format((#word > 40 and word:sub(1, 40) .. "..." or word):gsub("%c", "?"))
end

-- ---- elements ---------------------------------------------------------------------------------------------------------

local LONGEST = 1000 --- characters of a number: more than the exact decimal of any f64
local endless = { nan = 0 / 0, ["-nan"] = 0 / 0, inf = math.huge, ["-inf"] = -math.huge }
local truth = { ["true"] = true, ["1"] = true, ["false"] = false, ["0"] = false }
local part_of = { c64 = "f32", c128 = "f64" } --- what a complex number has two of

--- A float: one that is too large is refused, and so is a nan where the dtype has none. Formats of a byte print as an f32 does,
--- and are read as one.
local function read_float(dtype, word)
  local special = endless[word]
  local is_byte = dtypes[dtype].bits <= 8
  local scalar, _, why = core.scalar(is_byte and "f32" or dtype, special or word)
  if not scalar then return nil, why end
  if is_byte then scalar = core.scalar(dtype, scalar) end
  local value = scalar.value
  if special then
    if value == special or value ~= value and special ~= special then return scalar end
    return nil, ("%s has no %s"):format(dtype, word)
  end
  if value ~= value or math.abs(value) == math.huge then return nil, ("%s does not fit in %s"):format(word, dtype) end
  return scalar
end

--- Reads a word as an element of that dtype, which is no complex one: nil and why not.
local function read_word(dtype, class, word)
  if class == "FLOAT" then return read_float(dtype, word) end
  if class == "PRED" then return truth[word] end
  local scalar, _, why = core.scalar(dtype, word)
  return scalar, why
end

local function skip(r) r.at = r.text:match("^%s*()", r.at) end

--- Whether that sign comes next.
local function is_next(r, sign) return r.text:sub(r.at, r.at) == sign end

--- Takes a sign and the spaces behind it, if it is what comes next.
local function accept(r, sign)
  if not is_next(r, sign) then return false end
  r.at = r.at + 1
  skip(r)
  return true
end

local function expect(r, sign)
  if not accept(r, sign) then refuse(r, "expected '%s', got %s", sign, found(r)) end
end

--- Takes the number that comes next.
local function number(r, dtype, class)
  local word, behind = r.text:match("^([^%s\0,{}()]+)%s*()", r.at)
  if not word then refuse(r, "expected a number, got %s", found(r)) end
  if #word > LONGEST then refuse(r, "a number of %d characters; %d at the most are read", #word, LONGEST) end
  if word == "..." then refuse(r, "'...': this text was cut when it was printed") end
  local value, why = read_word(dtype, class, word)
  if value == nil and (why == "the string is no number" or class == "PRED") then
    refuse(r, "expected %s, got %s", class == "PRED" and "true or false" or "a number of " .. dtype, found(r))
  elseif value == nil then
    refuse(r, "%s", why)
  end
  r.at = behind
  return value
end

--- Takes the element that comes next: a complex one is a number or "(re, im)".
local function element(r)
  local part = part_of[r.dtype]
  if not part then return number(r, r.dtype, r.class) end
  if not accept(r, "(") then return core.scalar(r.dtype, number(r, part, "FLOAT").value, 0) end
  local re = number(r, part, "FLOAT").value
  expect(r, ",")
  local im = number(r, part, "FLOAT").value
  expect(r, ")")
  return (core.scalar(r.dtype, re, im))
end

-- ---- structure --------------------------------------------------------------------------------------------------------

--- Takes a list of `size` things behind its brace; `take` takes one. A comma behind the last is fine.
local function list(r, size, what, take)
  local wanted = ("%d %s%s"):format(size, what, size == 1 and "" or "s")
  for i = 1, size do
    if is_next(r, "}") then refuse(r, "expected %s, got %d", wanted, i - 1) end
    take()
    if not accept(r, ",") and i < size and not is_next(r, "}") then expect(r, ",") end
  end
  if r.at <= #r.text and not is_next(r, "}") then refuse(r, "expected %s, got more: %s", wanted, found(r)) end
  expect(r, "}")
end

--- Takes all elements: nested as the dims are, or flat in one pair of braces.
local function nested(r, dims, count, add)
  local function level(depth)
    expect(r, "{")
    local is_row = depth == #dims
    if depth == 1 and not is_row and not is_next(r, "{") then return list(r, count, "element", add) end
    list(r, dims[depth], is_row and "element" or "row", is_row and add or function() level(depth + 1) end)
  end
  level(1)
end

local MOST_FILLED = 1 << 30 --- a slip of the finger in a size is no reason to take all memory there is

--- The type that begins the text, or `type` where none does.
local function take_type(r, type)
  local behind = r.text:match("^%a[%w_]*%s*%[[^%]]*%]()", r.at)
  if not behind and type and not r.text:find("^%a[%w_]*%s*%[", r.at) then return core.type(type) end
  local shape = core.type(r.text:sub(1, behind and behind - 1 or math.min(#r.text, r.at + 200)))
  if not shape.dims then refuse(r, "expected the type of an array, got a tuple") end
  r.at = behind
  skip(r)
  return shape
end

--- The buffer of these elements.
local function make(shape, elements)
  local buffer, put = core.buffer(shape), core.put
  for i = 1, #elements do assert(put(buffer, i - 1, elements[i]) == nil) end
  return buffer
end

--- The device that "on sim:0" names at the end; nothing where that is not what comes next.
local function take_device(r)
  local name, behind = r.text:match("^on%s+([%w:]+)%s*()", r.at)
  if name then r.at = behind end
  return name
end

--- ccw.array_from_text(text [, type]) -> buffer.
-- Reads what an array prints: "f32[4] {1, 2, 3, 4}", "s32[2,2] {{1, 2}, {3, 4}}", "c64[] (1, -2)", "pred[2] {true, false}". Elements of
-- an array of several dims may stand flat in one pair of braces, and a number without braces is every element. With a type the text
-- need not begin with one. INVALID_ARGUMENT, with a caret below the place: what is no such text, a number that the dtype does not hold,
-- too few or too many elements, a text that was cut when it was printed.
function M.array_from_text(text, type)
  local fail = errors.misuse_of "array_from_text"
  errors.check(fail, 1, text, "string")
  if type ~= nil and core.kind(type) ~= "type" then errors.check(fail, 2, type, "string") end
  if type ~= nil and not core.type(type).dims then fail(2, "expected the type of an array, got the tuple %s", core.type(type)) end
  local r = { text = text, at = 1 }
  skip(r)
  local shape = take_type(r, type)
  r.dtype, r.class = shape.dtype, dtypes[shape.dtype].class
  local elements, filler = {}, nil
  local function add() elements[#elements + 1] = element(r) end
  if shape.dtype == "token" then
    elements = {}
  elseif #shape.dims > 0 and is_next(r, "{") then
    nested(r, shape.dims, shape.count, add)
  else
    filler = element(r)
    if shape.bytes > MOST_FILLED then refuse(r, "%s: one number fills an array of %d bytes at the most", shape, MOST_FILLED) end
  end
  local device = take_device(r)
  if r.at <= #text then refuse(r, "expected the end, got %s", found(r)) end
  local buffer = make(shape, elements)
  if filler ~= nil and buffer.count > 0 then buffer:fill(filler) end
  return device and buffer:to(device) or buffer
end

return M

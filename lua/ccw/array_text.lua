--- Arrays out of text, as they are printed.
local core = require "ccw.core"
local errors = require "ccw.errors"

local M = {}

local COLUMNS = 60 --- of the text that a message shows

--- Raises a failure that shows where the text is wrong.
local function refuse(text, at, format, ...)
  local start = (text:sub(1, at - 1):match "()[^\n]*$")
  local line = text:sub(start):match "^[^\n]*"
  local column = at - start
  local cut = math.max(0, column - COLUMNS // 2)
  local shown = line:sub(cut + 1, cut + COLUMNS):gsub("%c", " ")
  errors.raise("INVALID_ARGUMENT", ("array: %s\n  %s\n  %s^"):format(format:format(...), shown, (" "):rep(column - cut)))
end

--- Reads on from a place, spaces skipped: accept(pattern) takes what matches, and gives where that was and its captures.
local function reader(text, at)
  local r = {}
  function r.accept(pattern)
    at = text:find("%S", at) or #text + 1
    local first, last, a, b = text:find("^" .. pattern, at)
    if not first then return nil end
    at = last + 1
    return first, a, b
  end
  function r.expected(what)
    if text:find("^%.%.%.", at) then refuse(text, at, "elements were left out when this was printed") end
    refuse(text, at, "expected %s, got %s", what, at <= #text and core.quote(text:sub(at, at)) or "the end")
  end
  function r.expect(pattern, what) return r.accept(pattern) or r.expected(what) end
  return r
end

local NUMBER = "([%w+-][%w.+-]*)"

local function read_element(text, r, dtype)
  local at, re, im = r.accept("%(%s*" .. NUMBER .. "%s*,%s*" .. NUMBER .. "%s*%)")
  if not at then at, re = r.accept(NUMBER) end
  if not at then r.expected "an element" end
  if core.dtypes()[dtype].class == "PRED" then
    if re ~= "true" and re ~= "false" or im then refuse(text, at, "expected true or false, got %s", core.quote(re:sub(1, 40))) end
    return re == "true"
  end
  local scalar, _, why = core.scalar(dtype, re, im)
  return scalar or refuse(text, at, "%s", (why:gsub("^the string", (core.quote(re:sub(1, 40)):gsub("%%", "%%%%")))))
end

--- All elements, between as many braces as there are dims.
local function read_elements(text, r, dtype, dims)
  local elements = {}
  local function level(depth)
    if depth > #dims then
      elements[#elements + 1] = read_element(text, r, dtype)
      return
    end
    local start, count = r.expect("{", "'{'"), 0
    if not r.accept "}" then
      repeat
        level(depth + 1)
        count = count + 1
      until not r.accept ","
      r.expect("}", "',' or '}'")
    end
    if count ~= dims[depth] then refuse(text, start, "expected %d elements here, got %d", dims[depth], count) end
  end
  level(1)
  return elements
end

--- ccw.array_from_text(text) -> buffer.
-- The array that was printed so: "f32[2,2] {{1, 2}, {3, 4.5}}", "c64[1] {(1, -0.5)}", "s32[] 7"; one that ends in "on sim:0" goes there.
-- INVALID_ARGUMENT: it is none, which the message shows, or elements were left out.
function M.array_from_text(text)
  errors.check(errors.misuse_of "array_from_text", 1, text, "string")
  local head, behind = text:match("^([%w%s]-%b[])()", text:find "%S")
  local type = core.type(head or text) -- whatever is wrong with it is told here
  if not type.dims then errors.raise("INVALID_ARGUMENT", ("array: expected an array, got the tuple %s"):format(type)) end
  local r = reader(text, behind)
  local elements = type.dtype == "token" and {} or read_elements(text, r, type.dtype, type.dims)
  local _, device = r.accept "on%s+([%w:]+)"
  r.expect("$", "the end")
  local buffer = core.buffer(type)
  for k, element in ipairs(elements) do core.put(buffer, k - 1, element) end
  return device and buffer:to(device) or buffer
end

return M

--- A text that is read from left to right: tokens, and errors that show the place.
local lpeg = require "lpeg"
local errors = require "ccw.errors"
local core = require "ccw.core"

local M = {}

local P, S, R, C, Cs, Cp = lpeg.P, lpeg.S, lpeg.R, lpeg.C, lpeg.Cs, lpeg.Cp
local byte, find, match = string.byte, string.find, string.match

M.MOST_NESTED = 64 --- brackets in each other
M.MOST_ALIASED = 1 << 20 --- bytes that aliases may stand for, in all
local WIDTH = 100 --- columns of a line that an error shows
M.MOST_EXPANDED = 64 << 20 --- bytes that a text may make of few: elements of splats

local reader = {}
reader.__index = reader

--- new(text [, at [, aliases]]) -> reader. Reads from that byte on, the first without one. `aliases(name)` gives the text that "#name"
-- or "!name" stands for, or nil. Its field `angles` is false where < and > are no brackets.
function M.new(text, at, aliases)
  return setmetatable({ text = text, at = at or 1, depth = 0, expandable = M.MOST_EXPANDED, aliased = 0, aliases = aliases }, reader)
end

-- ---- errors

--- The line of a byte, its column in characters, both from 1, and where the line begins.
local function place(text, at)
  local line, start = 1, 1
  while true do
    local newline = find(text, "\n", start, true)
    if not newline or newline >= at then break end
    line, start = line + 1, newline + 1
  end
  local _, characters = text:sub(start, at - 1):gsub("[^\128-\191]", "")
  return line, characters + 1, start
end
M.place = place

--- What a line looks like at a place, and below it a caret: a long line is cut around the place.
local function excerpt(text, start, at)
  local stop = (find(text, "\n", at, true) or #text + 1) - 1
  if byte(text, stop) == 13 and stop >= at then stop = stop - 1 end
  local first, last = math.max(start, at - WIDTH // 2), math.min(stop, at + WIDTH // 2)
  while first > start and match(text, "^[\128-\191]", first) do first = first - 1 end
  while last < stop and match(text, "^[\128-\191]", last + 1) do last = last + 1 end
  local function clean(part)
    if not utf8.len(part) then part = part:gsub("[\128-\255]", "?") end
    return (part:gsub("\t", " "):gsub("%c", "?"))
  end
  local before, behind = clean(text:sub(first, at - 1)), clean(text:sub(at, last))
  if first > start then before = "..." .. before end
  if last < stop then behind = behind .. "..." end
  return ("  %s%s\n  %s^"):format(before, behind, (" "):rep(utf8.len(before)))
end

--- Raises INVALID_ARGUMENT with the place, the line and a caret. The error object has it as `line` and `column`, too.
function M.fail(text, at, format, ...)
  local line, column, start = place(text, at)
  local message = ("line %d, column %d: %s\n%s"):format(line, column, format:format(...), excerpt(text, start, at))
  local _, err = pcall(errors.raise, "INVALID_ARGUMENT", message)
  err.line, err.column = line, column
  error(err, 0)
end

--- reader:fail(at, format, ...). Raises at that byte. What is only `brief` has no place.
function reader:fail(at, format, ...)
  if self.brief then error({ message = format:format(...) }, 0) end
  while self.outer do at, self = self.outer_at, self.outer end -- a piece of another text shows where that has it
  M.fail(self.text, at, format, ...)
end

--- What stands at a place, as an error names it.
function reader:got(at)
  at = at or self.at
  if at > #self.text then return "the end" end
  local token = match(self.text, "^[%w_$.]+", at) or self.text:sub(at, at)
  if #token > 40 then token = token:sub(1, 40) .. "..." end
  return byte(token) == 10 and "the end of the line" or ("'%s'"):format(core.quote(token):sub(2, -2))
end

--- reader:piece(text, at) -> reader. Of a text that stands elsewhere and is meant at that place, such as what an alias stands for.
function reader:piece(text, at)
  self:count_aliased(text, at)
  if self.depth >= M.MOST_NESTED then self:fail(at, "more than %d brackets and aliases in each other", M.MOST_NESTED) end
  local piece = M.new(text, 1, self.aliases)
  piece.outer, piece.outer_at, piece.depth, piece.expandable, piece.aliased = self, at, self.depth + 1, self.expandable, self.aliased
  return piece
end

--- reader:join(piece, what). Goes on behind a piece, which has to be at its end.
function reader:join(piece, what)
  self.expandable, self.aliased = piece.expandable, piece.aliased
  if piece:peek() then piece:fail(1, "expected %s and nothing else, got %s", what, piece:got()) end
end

--- reader:count_aliased(text, at). Raises where aliases of aliases make too much of a short text.
function reader:count_aliased(text, at)
  self.aliased = self.aliased + #text
  if self.aliased > M.MOST_ALIASED then self:fail(at, "aliases stand for more than %d bytes", M.MOST_ALIASED) end
end

-- ---- tokens

local comment = P "//" * (1 - P "\n") ^ 0 + P "/*" * (1 - P "*/") ^ 0 * P "*/"
local blank = (S " \t\r\n" ^ 1 + comment) ^ 0 * Cp()

--- reader:peek() -> byte. The next that is neither space nor comment, nil at the end.
function reader:peek()
  local at, text = self.at, self.text
  local b = byte(text, at)
  if b == 32 then -- mostly it is one space
    at = at + 1
    b = byte(text, at)
  end
  if not b or b > 32 and b ~= 47 then
    self.at = at
    return b
  end
  at = blank:match(text, at)
  self.at = at
  return byte(text, at)
end

local codes = {}
for code = 0, 255 do codes[string.char(code)] = code end

--- reader:accept(char) -> boolean. Takes a character, if it is the next.
function reader:accept(char)
  local code = codes[char]
  if byte(self.text, self.at) ~= code and self:peek() ~= code then return false end
  self.at = self.at + 1
  return true
end

--- reader:expect(char, what). Takes a character, or raises: expected 'char' `what`.
function reader:expect(char, what)
  if not self:accept(char) then self:fail(self.at, "expected '%s' %s, got %s", char, what, self:got()) end
end

--- reader:take(pattern) -> string, or nil. Takes what a Lua pattern "^(...)()" finds next.
function reader:take(pattern)
  self:peek()
  local token, behind = match(self.text, pattern, self.at)
  if token then self.at = behind end
  return token
end

--- reader:word() -> string, or nil: a name without quotes.
function reader:word() return self:take "^([%a_][%w_$.]*)()" end

--- reader:accept_text(text) -> boolean. Takes several characters, if they are next.
function reader:accept_text(text)
  self:peek()
  if self.text:sub(self.at, self.at + #text - 1) ~= text then return false end
  self.at = self.at + #text
  return true
end

--- reader:nested(f, ...) -> results. f(reader, ...), one level deeper in brackets.
function reader:nested(f, ...)
  if self.depth >= M.MOST_NESTED then self:fail(self.at, "more than %d brackets and aliases in each other", M.MOST_NESTED) end
  self.depth = self.depth + 1
  local a, b = f(self, ...)
  self.depth = self.depth - 1
  return a, b
end

--- reader:list(close, what, f). Calls f(reader) for each item of a list with commas, up to the character that closes it.
function reader:list(close, what, f)
  if self:accept(close) then return end
  repeat f(self) until not self:accept ","
  if not self:accept(close) then self:fail(self.at, "expected ',' or '%s' %s, got %s", close, what, self:got()) end
end

-- ---- strings

local hex = R("09", "af", "AF")
local mlir_escape = P "\\" * (C(hex * hex) / function(digits) return string.char(tonumber(digits, 16)) end + P "\\" / "\\"
  + P '"' / '"' + P "n" / "\n" + P "t" / "\t")
-- a backslash that ends none of these is the error
local mlir_body = P '"' * Cs(((1 - S '"\\\n') ^ 1 + mlir_escape / 1) ^ 0) * Cp()

local letters = { a = "\a", b = "\b", f = "\f", n = "\n", r = "\r", t = "\t", v = "\v" }
local octal = R "07"
local c_escape = P "\\" * (C(R "03" * octal * octal + octal * octal ^ -1) / function(digits) return string.char(tonumber(digits, 8)) end
  + P "x" * C(hex * hex ^ -1) / function(digits) return string.char(tonumber(digits, 16)) end
  + C(S "abfnrtv") / letters + C(S "\\?'\""))
local c_body = P '"' * Cs(((1 - S '"\\') ^ 1 + c_escape / 1) ^ 0) * Cp()

local function quoted(self, body, escapes)
  local value, stop = body:match(self.text, self.at)
  local found = byte(self.text, stop)
  if found == 92 then
    self:fail(stop, "expected an escape such as %s, got '\\%s'", escapes, core.quote(self.text:sub(stop + 1, stop + 1)):sub(2, -2))
  end
  if found ~= 34 then self:fail(self.at, "this string has no end") end
  self.at = stop + 1
  return value
end

--- reader:string() -> string, or nil. A string of MLIR, whose escapes are \", \\, \n, \t and two hex digits.
function reader:string()
  if self:peek() ~= 34 then return nil end
  local value, behind = match(self.text, '^"([^"\\\n]*)"()', self.at)
  if not value then return quoted(self, mlir_body, '\\22 or \\\\') end
  self.at = behind
  return value
end

--- reader:c_string() -> string, or nil. A string of HLO, whose escapes are those of C.
function reader:c_string()
  if self:peek() ~= 34 then return nil end
  local value, behind = match(self.text, '^"([^"\\]*)"()', self.at)
  if not value then return quoted(self, c_body, '\\" or \\042') end
  self.at = behind
  return value
end

-- ---- what is kept as it is

--- one_line(text) -> string. Each end of a line, with the spaces around it, becomes one space.
function M.one_line(text)
  if not find(text, "\n", 1, true) then return text end
  return (text:gsub("%s+", function(run) return find(run, "\n", 1, true) and " " or nil end)) -- "%s*\n%s*" takes squared time
end

local closing = { [40] = 41, [91] = 93, [123] = 125, [60] = 62 }

--- reader:balanced([what]) -> string. The text of a bracket, up to the one that closes it, strings skipped, comments left out and what
-- aliases stand for put in.
function reader:balanced(what)
  local start, parts, open = self.at, {}, {}
  local text, at, first = self.text, self.at, self.at
  local special = self.angles == false and '[%(%[{}%])"/]' or '[%(%[{<>}%])"/#!-]'
  repeat
    at = find(text, special, at)
    local b = at and byte(text, at)
    if not b then self:fail(start, "%s: this '%s' has no end", what or "a bracket", text:sub(start, start)) end
    if (b == 60 or b == 62) and byte(text, at + 1) == 61 then -- <= and >= close and open nothing
      at = at + 1
    elseif closing[b] then
      open[#open + 1] = closing[b]
      if #open > M.MOST_NESTED then self:fail(at, "more than %d brackets and aliases in each other", M.MOST_NESTED) end
    elseif b == 34 then
      local stop = match(text, '^"[^"\\]*()"', at)
      self.at = at
      if stop then at = stop else at = M.string_end(self) end
    elseif b == 45 then
      if byte(text, at + 1) == 62 then at = at + 1 end -- an arrow closes nothing
    elseif b == 47 then
      local behind = (comment * Cp()):match(text, at)
      if behind then
        parts[#parts + 1] = text:sub(first, at - 1)
        first, at = behind, behind - 1
      end
    elseif b == 35 or b == 33 then
      local name = match(text, "^([%a_][%w_$]*)%f[^%w_$.]", at + 1)
      local meaning = name and self.aliases and self.aliases(text:sub(at, at) .. name)
      if meaning then
        self:count_aliased(meaning, at)
        parts[#parts + 1], parts[#parts + 2] = text:sub(first, at - 1), meaning
        at = at + #name
        first = at + 1
      end
    elseif b == open[#open] then
      open[#open] = nil
    else
      self:fail(at, "expected '%s' to close a bracket, got '%s'", string.char(open[#open]), text:sub(at, at))
    end
    at = at + 1
  until #open == 0
  parts[#parts + 1] = text:sub(first, at - 1)
  self.at = at
  return M.one_line(#parts == 1 and parts[1] or table.concat(parts))
end

--- reader:skip_value(). Goes over an attribute or a type as far as its brackets and its line go.
function reader:skip_value()
  while true do
    local at = self.at
    local c = self.text:sub(at, at)
    if c == "" or c == "\n" or c == "\r" or self.text:find("^//", at) then return end
    if closing[c:byte()] then
      self:balanced()
    elseif c == '"' then
      self.at = M.string_end(self) + 1
    else
      self.at = at + (self.text:find("^%->", at) and 2 or 1)
    end
  end
end

local any_string = P '"' * ((1 - S '"\\') ^ 1 + P "\\" * 1) ^ 0 * Cp() * P '"'

--- The last byte of the string at the reader.
function M.string_end(self)
  return any_string:match(self.text, self.at) or self:fail(self.at, "this string has no end")
end

return M

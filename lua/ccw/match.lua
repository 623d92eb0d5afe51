--- Patterns of buffers, as in XLA's headers, matched in Lua.
local core = require "ccw.core"
local errors = require "ccw.errors"

local M = {}

--- ccw.match -> table. Checks buffers against patterns, see ?pattern.
-- ccw.match.buffer([dtype [, rank]]) begins a pattern; ccw.match.verify(name, buffer, pattern [, captures]) checks and captures;
-- ccw.match.match, with the same arguments, gives the buffer too. ?ccw.match.verify tells more.

--- pattern: what a buffer should look like, as ccw.match.buffer makes it.
-- Immutable: each method gives a new one, in which a later word replaces an earlier one on the same subject. A dim is a size, a
-- name, which captures it and means equal sizes when it comes again, or "?".
-- Methods: p:with_dtype(dtype, ...), p:with_rank(rank, ...), p:with_dims(dim, ...), p:with_dim(place, dim), p:with_shape_of(buffer),
-- p:like(buffer).
local meta, methods = { __name = "ccw.pattern" }, {}

meta.__index = errors.index_of("pattern", methods)

--- Captures remember where they come from: by the table that verify gave.
local origins = setmetatable({}, { __mode = "k" })

local dtypes = core.dtypes()

local function check_dtype(misuse, position, dtype)
  errors.check(misuse, position, dtype, "string")
  if not dtypes[dtype] then misuse(position, "no dtype is called '%s'", dtype) end
end

local function check_rank(misuse, position, rank)
  if math.type(rank) ~= "integer" or rank < 0 or rank > core.max_rank then
    misuse(position, "expected a rank of 0 to %d, got %s", core.max_rank, tostring(rank))
  end
end

local function check_dim(misuse, position, dim)
  if math.type(dim) == "integer" then return end
  if type(dim) ~= "string" or dim ~= "?" and not dim:find "^[%a_][%w_]*$" then
    misuse(position, "expected a size, a name or \"?\", got %s", core.kind(dim) or tostring(dim))
  end
end

function meta:__tostring() return core.pattern_text(self.words) end

--- Raises misuse for a method that was called with a dot.
local function check_self(pattern, misuse, name)
  if getmetatable(pattern) ~= meta then misuse(1, "a method is called with a colon, p:%s(...)", name) end
end

local function with(pattern, word)
  local words = table.move(pattern.words, 1, #pattern.words, 1, {})
  words[#words + 1] = word
  return setmetatable({ words = words }, meta)
end

--- pattern:with_dtype(dtype, ...) -> pattern. One dtype, or alternatives.
function methods:with_dtype(...)
  local misuse, list = errors.misuse_of "with_dtype", table.pack(...)
  check_self(self, misuse, "with_dtype")
  if list.n == 0 then misuse(1, "expected a dtype") end
  for i = 1, list.n do check_dtype(misuse, i, list[i]) end
  return with(self, { "dtype", ... })
end

--- pattern:with_rank(rank, ...) -> pattern. One rank, or alternatives. Dims said before remain.
function methods:with_rank(...)
  local misuse, list = errors.misuse_of "with_rank", table.pack(...)
  check_self(self, misuse, "with_rank")
  if list.n == 0 then misuse(1, "expected a rank") end
  for i = 1, list.n do check_rank(misuse, i, list[i]) end
  return with(self, { "rank", ... })
end

--- pattern:with_dims(dim, ...) -> pattern. The complete shape, which fixes the rank by the number of dims.
function methods:with_dims(...)
  local misuse, list = errors.misuse_of "with_dims", table.pack(...)
  check_self(self, misuse, "with_dims")
  if list.n > core.max_rank then misuse(1, "expected up to %d dims, got %d", core.max_rank, list.n) end
  for i = 1, list.n do check_dim(misuse, i, list[i]) end
  return with(self, { "dims", ... })
end

--- pattern:with_dim(place, dim) -> pattern. One dim, its place counted from 0: the rank must be above it, and is free otherwise.
function methods:with_dim(place, dim)
  local misuse = errors.misuse_of "with_dim"
  check_self(self, misuse, "with_dim")
  if math.type(place) ~= "integer" or place < 0 or place >= core.max_rank then
    misuse(1, "expected a place of 0 to %d, got %s", core.max_rank - 1, tostring(place))
  end
  check_dim(misuse, 2, dim)
  return with(self, { "dim", place, dim })
end

local function shape_word(word)
  local name = word == "like" and word or "with_shape_of"
  local misuse = errors.misuse_of(name)
  return function(self, buffer)
    check_self(self, misuse, name)
    if core.kind(buffer) ~= "buffer" then misuse(1, "expected a buffer, got %s", core.kind(buffer) or type(buffer)) end
    return with(self, { word, buffer.dims, buffer.dtype })
  end
end

--- pattern:with_shape_of(buffer) -> pattern. The buffer's shape, whatever the dtype; copied now.
methods.with_shape_of = shape_word "shape_of"

--- pattern:like(buffer) -> pattern. The buffer's shape and dtype, copied now.
methods.like = shape_word "like"

--- A pattern, or the text of one, as words.
local function words_of(pattern, fail)
  if getmetatable(pattern) == meta then return pattern.words end
  errors.check(fail, 3, pattern, "string")
  local signature = core.signature("(" .. pattern .. ")")
  local parameters = signature:parameters()
  local only = #parameters == 1 and parameters[1]
  if not only or only.word ~= "arg" or only.text == "?" then fail(3, "expected one pattern, got %s", core.quote(pattern)) end
  return core.pattern_words(signature)
end

local misuse_of_buffer = errors.misuse_of "buffer"

--- ccw.match.buffer([dtype [, rank]]) -> pattern.
-- Any buffer, or one of that dtype, and of that rank; or a pattern as text: "f32[n,128]". ?pattern tells the modifiers.
function M.buffer(dtype, rank)
  local pattern = setmetatable({ words = {} }, meta)
  if dtype == nil then return pattern end
  errors.check(misuse_of_buffer, 1, dtype, "string")
  if dtype:find "%[" then
    if rank ~= nil then misuse_of_buffer(2, "the text says the rank already") end
    pattern.words = words_of(dtype, function(_, ...) misuse_of_buffer(1, ...) end)
    return pattern
  end
  check_dtype(misuse_of_buffer, 1, dtype)
  pattern = pattern:with_dtype(dtype)
  if rank == nil then return pattern end
  check_rank(misuse_of_buffer, 2, rank)
  return pattern:with_rank(rank)
end

--- Where the sizes in a message were captured: "; n is dim 0 of matrix".
local function told_of(message, words, captures)
  local from, text = origins[captures] or {}, ""
  local function tell(name)
    if from[name] then text = ("%s; %s is %s"):format(text, name, from[name]) end
  end
  for _, word in ipairs(words) do
    if word[1] == "letter" then tell(word[2]) end
  end
  for name in (message:match " with (.*), got " or ""):gmatch "([%a_][%w_]*) = " do tell(name) end
  return text
end

local function verify(fail, name, buffer, pattern, captures)
  errors.check(fail, 1, name, "string")
  if core.kind(buffer) ~= "buffer" then fail(2, "expected a buffer, got %s", core.kind(buffer) or type(buffer)) end
  errors.check(fail, 4, captures, "table", true)
  captures = captures or {}
  local words = words_of(pattern, fail)
  local found, message = core.match(words, buffer, name, captures)
  if not found then
    errors.raise("INVALID_ARGUMENT", message .. told_of(message, words, captures))
  end
  origins[captures] = origins[captures] or {}
  for capture, what in pairs(found) do
    if type(what) == "string" then
      captures[capture] = what
      origins[captures][capture] = origins[captures][capture] or "the dtype of " .. name
    else
      captures[capture] = buffer.dims[what + 1]
      origins[captures][capture] = ("dim %d of %s"):format(what, name)
    end
  end
  return captures, words
end

local misuse_of_verify, misuse_of_match = errors.misuse_of "verify", errors.misuse_of "match"

--- ccw.match.verify(name, buffer, pattern [, captures]) -> captures.
-- Checks a buffer: the pattern is one of ccw.match.buffer, or its text, "f32[n,128]". Gives what its names stand for: captures.n is
-- the size of a dim, captures.T a dtype. Captures of before mean the same sizes here, and get the new ones, all of them or, when it
-- fails, none. Raises INVALID_ARGUMENT with the name, what was expected and what came.
function M.verify(name, buffer, pattern, captures)
  return (verify(misuse_of_verify, name, buffer, pattern, captures))
end

--- ccw.match.match(name, buffer, pattern [, captures]) -> buffer, captures.
-- The same, and gives the buffer. The pattern must say one dtype and one rank by itself, so that what it gives is certain; a shape
-- or dtype that was copied from a buffer does not count.
function M.match(name, buffer, pattern, captures)
  local words = words_of(pattern, misuse_of_match)
  if not core.is_refining(words) then
    misuse_of_match(3, "a match needs a pattern that gives one dtype and one rank itself; verify takes any")
  end
  return buffer, (verify(misuse_of_match, name, buffer, pattern, captures))
end

return M

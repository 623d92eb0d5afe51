--- The custom calls in a text, which may be a whole module: found fast, strings and comments skipped.
local lpeg = require "lpeg"
local core = require "ccw.core"
local reader_of = require "ccw.text.reader"
local attribute = require "ccw.text.attribute"
local hlo = require "ccw.text.hlo"
local mlir = require "ccw.text.mlir"
local types = require "ccw.text.types"

local M = {}

-- ---- finding

local P, S, Cp, Ct, Cc = lpeg.P, lpeg.S, lpeg.Cp, lpeg.Ct, lpeg.Cc
local space = S " \t\r\n" ^ 0
local generic = P '"stablehlo.custom_call"' + P '"mhlo.custom_call"'
local operation = Cp() * generic * #(space * "(") * Cc "generic"
local string = P '"' * ((1 - S '"\\') ^ 1 + P "\\" * 1) ^ 0 * P '"'
local open_string = Cp() * P '"' * Cc "string"
local comment = P "//" * (1 - P "\n") ^ 0 + P "/*" * (1 - P "*/") ^ 0 * (P "*/" + -P(1)) -- one without an end goes to the end
local pretty = Cp() * P "custom_call" * #(S " \t\r\n@") * Cc "pretty"
local instruction = Cp() * P "custom-call" * #(space * "(") * Cc "hlo"
local skip = (1 - S '"/c') ^ 1
local scan = Ct((skip + operation + string + open_string * P(1) ^ 0 + comment + pretty + instruction + 1) ^ 0)

--- Where the operation begins whose word custom_call is at a place: at its dialect. nil where the word is in another name.
local function operation_start(text, at)
  for _, dialect in ipairs { "stablehlo.", "mhlo." } do
    if text:sub(at - #dialect, at - 1) == dialect then
      at = at - #dialect
      break
    end
  end
  return not text:sub(at - 1, at - 1):find "[%w_.$%%@#!-]" and at or nil
end

--- Places of calls: {at, kind, at, kind, ...}; a string without an end raises.
local function find_all(text)
  local found, calls = scan:match(text), {}
  for i = 1, #found, 2 do
    local at, kind = found[i], found[i + 1]
    if kind == "string" then reader_of.fail(text, at, "this string has no end") end
    if kind == "pretty" then
      at = operation_start(text, at)
    elseif kind == "hlo" and at > 1 and text:sub(at - 1, at - 1):find "[%w_.$%%@#!-]" then
      at = nil
    end
    if at then calls[#calls + 1], calls[#calls + 2] = at, kind end
  end
  return calls
end

-- ---- aliases of MLIR

--- aliases(text) -> function. What "#name" and "!name" stand for: "#name = ..." at the beginning of a line, wherever that is.
local function aliases_of(text)
  local places, known
  return function(name_of)
    if not places then
      places, known = {}, {}
      for alias, at in ("\n" .. text):gmatch "\n[ \t]*([#!][%w_.$]+)[ \t]*=%s*()" do places[alias] = at - 1 end
    end
    if places[name_of] and not known[name_of] then
      local reader = reader_of.new(text, places[name_of])
      reader:skip_value()
      known[name_of] = text:sub(places[name_of], reader.at - 1)
    end
    return known[name_of]
  end
end

-- ---- instructions of HLO

--- Where the line begins that a place is in, though not before `from`.
local function line_start(text, from, at)
  local size = 512
  while true do
    local first = math.max(from, at - size)
    local newline = text:sub(first, at - 1):match "^.*()\n"
    if newline then return first + newline end
    if first == from then return from end
    size = size * 8
  end
end

--- Where the instruction begins whose word custom-call is at a place: at the name of its result, on its line or, as a tuple of many
-- arrays may be wrapped, one before it, though not before `from`. nil where none is found.
local function instruction_start(text, from, at)
  local line = at
  repeat
    line = line_start(text, from, line)
    local first = text:match("^[ \t\r{]*()%%?[%w_.-]+%s*=%s*[%w(]", line)
      or text:match("^[ \t\r{]*()ROOT%s+%%?[%w_.-]+%s*=%s*[%w(]", line)
    if first and first < at then return first end
    line = line - 1
  until line <= from
end

--- definitions(text, at) -> function. The shape that a name has in the computation around a place, and its layouts.
local function definitions(text, at)
  local places, known = nil, {}
  return function(name_of)
    if not places then
      local from = 1 -- the last line before it that ends in "{" begins the computation
      for behind in text:sub(1, at):gmatch "%{[ \t\r]*\n()" do from = behind end
      places = {}
      for line in text:sub(from, at):gmatch "()[^\n]+" do
        line = from + line - 1
        local start = text:match("^%s*ROOT%s+()", line) or line
        local defined, behind = text:match("^%s*%%?([%w_.-]+)%s*=%s*()", start)
        if defined then places[defined] = behind end
      end
    end
    if not places[name_of] then return nil end
    if not known[name_of] then
      local reader, layouts = reader_of.new(text, places[name_of]), {}
      reader.angles = false
      known[name_of] = { types.read_hlo(reader, layouts), layouts }
    end
    return table.unpack(known[name_of])
  end
end

-- ---- rows

--- The names of results in front of an operation of MLIR, or nil.
local function results_before(text, at)
  local before = text:sub(math.max(1, at - 300), at - 1)
  local equals = before:match "^.*()=%s*$"
  if not equals then return nil end
  return before:sub(1, equals - 1):match "(%%[%w_$.%-:#%s,%%]*)$"
end

--- The target of the operation that a text begins with, read no further than needed; raises where it is damaged.
local function target_of(text, kind)
  local reader = reader_of.new(text, 1, function() return "unit" end)
  reader.brief = true
  if kind == "pretty" then
    reader:word()
    reader:expect("@", "and a target")
    return reader:peek() == 34 and reader:string() or reader:word()
  elseif kind == "generic" then
    reader:string()
    reader:peek()
    reader:balanced()
    local target
    if reader:accept "<" then
      target = attribute.dictionary(reader).call_target_name
      reader:expect(">", "to close '<{'")
    end
    return target or attribute.dictionary(reader).call_target_name
  end
  return hlo.target(reader)
end

--- The name of the instruction at a place.
local function name_at(text, at)
  return text:match("^ROOT%s+%%?([%w_.-]+)%s*=", at) or text:match("^%%?([%w_.-]+)%s*=", at)
end

--- only(text) -> row, or nil. The call of a text that has one, where its target is of no interest; nil where it has none or several.
function M.only(text)
  local found = find_all(text)
  if #found ~= 2 then return nil end
  local at, kind = found[1], found[2]
  if kind == "hlo" then return { at = instruction_start(text, 1, at) or at, word = at, kind = kind } end
  return { at = at, word = at, kind = kind, results = results_before(text, at) }
end

--- list(text) -> rows. All custom calls: index, line, target, name (of the result, without %), form ("stablehlo" or "hlo"), and `problem`
-- where a target cannot be read.
function M.list(text)
  local found, rows, line, seen = find_all(text), {}, 1, 1
  local before = 1 -- nothing of a call lies before the last one
  for i = 1, #found, 2 do
    local at, kind = found[i], found[i + 1]
    local start = kind == "hlo" and instruction_start(text, before, at) or at
    before = at
    while true do
      local newline = text:find("\n", seen, true)
      if not newline or newline >= at then break end
      line, seen = line + 1, newline + 1
    end
    local ok, target = pcall(target_of, text:sub(at, (found[i + 2] or #text + 1) - 1), kind)
    local results = kind ~= "hlo" and results_before(text, at)
    local row = { index = #rows + 1, line = line, form = kind == "hlo" and "hlo" or "stablehlo", at = start, word = at, kind = kind,
      results = results or nil }
    row.name = results and results:match "^%%([%w_$.-]+)" or kind == "hlo" and name_at(text, start) or nil
    row.target = ok and type(target) == "string" and target or nil
    if not row.target then row.problem = ok and "it has no target" or type(target) == "table" and target.message or tostring(target) end
    rows[#rows + 1] = row
  end
  return rows
end

--- What may stand behind a call on its line: nothing, the end of a block, or the next operation.
local function check_end(reader)
  local text, at = reader.text, reader.at
  local b = text:byte(at)
  if b == 10 or not b then return end
  local behind = text:match("^[ \t\r]*()", at)
  local c = text:sub(behind, behind)
  if c ~= "" and not c:find "[\n}%%]" and text:sub(behind, behind + 1) ~= "//" and text:sub(behind, behind + 1) ~= "/*" then
    reader:fail(behind, "expected the end of the call, got %s", reader:got(behind))
  end
end

--- read(text, row) -> call. One of those that were listed, as a plain table with the fields of a description.
function M.read(text, row)
  local call
  if row.kind == "hlo" then
    if row.at == row.word then
      reader_of.fail(text, row.word, "expected '%%name = shape' in front of custom-call")
    end
    local reader = reader_of.new(text, row.at)
    reader.angles = false
    call = hlo.read(reader, definitions(text, row.at))
    check_end(reader)
  else
    local reader = reader_of.new(text, row.word, aliases_of(text))
    call = mlir.read(reader, row.results)
    check_end(reader)
  end
  return call
end

--- What a row is called, for a person to pick it.
local function row_text(row)
  return ("  %d: line %d: %s%s"):format(row.index, row.line, row.target and core.quote(row.target) or "a call that cannot be read",
    row.name and ", %" .. row.name or "")
end

--- rows_text(rows) -> string. A line for each, cut where there are many.
function M.rows_text(rows)
  local lines = {}
  for i = 1, math.min(#rows, 20) do lines[i] = row_text(rows[i]) end
  if #rows > 20 then lines[21] = ("  ... and %d more"):format(#rows - 20) end
  return table.concat(lines, "\n")
end

return M

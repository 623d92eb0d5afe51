--- The custom calls in a text, which may be a whole module: found fast, strings and comments skipped.
local lpeg = require "lpeg"
local core = require "ccw.core"
local reader_of = require "ccw.text.reader"
local attribute = require "ccw.text.attribute"
local hlo = require "ccw.text.hlo"
local mlir = require "ccw.text.mlir"

local M = {}

-- ---- finding

local P, S, Cp, Ct, Cc = lpeg.P, lpeg.S, lpeg.Cp, lpeg.Ct, lpeg.Cc
local space = S " \t\r\n" ^ 0
local body = ((1 - S '"\\') ^ 1 + P "\\" * 1) ^ 0
local generic = P '"stablehlo.custom_call"' + P '"mhlo.custom_call"'
local operation = Cp() * generic * #(space * "(") * Cc "generic"
local string = P '"' * body * '"'
local open_string = Cp() * P '"' * Cc "string"
local comment = P "//" * (1 - P "\n") ^ 0 + P "/*" * (1 - P "*/") ^ 0 * (P "*/" + -P(1)) -- one without an end goes to the end
local pretty = Cp() * (P "stablehlo.custom_call" + P "mhlo.custom_call" + P "custom_call") * #(S " \t\r\n@") * Cc "pretty"
local instruction = Cp() * P "custom-call" * #(space * "(") * Cc "hlo"
-- Names are skipped whole, so that what looks like a call in one is none.
local name = (lpeg.R("az", "AZ", "09") + S "_.$-") ^ 1
local skip = (1 - (S '"/%@#!' + lpeg.R("az", "AZ", "09") + S "_.$-")) ^ 1
local scan = Ct((operation + string + open_string * P(1) ^ 0 + comment + S "%@#!" * name ^ -1 + pretty + instruction + name + skip + 1) ^ 0)

--- Places of calls: {at, kind, at, kind, ...}; a string without an end raises.
local function find_all(text)
  local found = scan:match(text)
  for i = 2, #found, 2 do
    if found[i] == "string" then reader_of.fail(text, found[i - 1], "this string has no end") end
  end
  return found
end

-- ---- aliases of MLIR

--- aliases(text) -> function. What "#name" and "!name" stand for: "#name = ..." at the beginning of a line, wherever that is.
local function aliases_of(text)
  local known = {}
  return function(name_of)
    if known[name_of] ~= nil then return known[name_of] or nil end
    local from = 1
    known[name_of] = false
    while true do
      local at, stop = text:find(name_of, from, true)
      if not at then return nil end
      local behind = text:match("^%s*=%s*()", stop + 1)
      local line = behind and (at == 1 or text:find("^[ \t]*", at) and text:sub(math.max(1, at - 200), at - 1):find "^[ \t]*$"
        or text:sub(math.max(1, at - 200), at - 1):find "\n[ \t]*$")
      if line then
        local reader = reader_of.new(text, behind)
        reader:skip_value()
        known[name_of] = text:sub(behind, reader.at - 1)
        return known[name_of]
      end
      from = stop + 1
    end
  end
end

-- ---- instructions of HLO

--- Where the instruction begins whose word custom-call is there: at the name of its result. nil where none is found.
local function instruction_start(text, at)
  local stop = at
  for _ = 1, 200 do -- a tuple of many arrays may be wrapped
    local start = stop
    while start > 1 and text:byte(start - 1) ~= 10 do
      start = start - 1
      if at - start > 1 << 20 then return nil end
    end
    local first = text:match("^[%s{]*()R?O?O?T?%s*%%?[%w_.-]+%s*=%s*[%w(]", start)
    if first and first < at then return first end
    if start == 1 then return nil end
    stop = start - 1
  end
end

--- definitions(text, at) -> function. The shape that a name has in the computation around a place, and its layouts.
local function definitions(text, at)
  local from = 1
  do -- the last line before it that ends in "{" begins the computation
    local before = text:sub(math.max(1, at - (1 << 16)), at)
    local near = before:match ".*()%{[ \t\r]*\n"
    if near then
      from = at - #before + near
    else
      for behind in text:sub(1, at):gmatch "%{[ \t\r]*\n()" do from = behind end
    end
  end
  return function(name_of)
    local start = from
    while true do
      local first, last = text:find(name_of, start, true)
      if not first or first > at then return nil end
      local shape_at = text:match("^%s*=%s*()", last + 1)
      local before = text:sub(first - 1, first - 1)
      if shape_at and (before == "%" or before == "" or before:find "%s") then
        local reader, layouts = reader_of.new(text, shape_at), {}
        reader.angles = false
        return require "ccw.text.types".read_hlo(reader, layouts), layouts
      end
      start = last + 1
    end
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

--- Where the text of a call begins, and for HLO its instruction.
local function start_of(text, at, kind)
  if kind == "hlo" then return instruction_start(text, at) end
  return at
end

--- The target of an operation, read no further than needed; nil where it is damaged.
local function target_of(text, at, kind)
  local reader = reader_of.new(text, at, function() return "unit" end)
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

--- list(text) -> rows. All custom calls: index, line, target, name (of the result, without %), form ("stablehlo" or "hlo"), and `problem`
-- where a target cannot be read.
function M.list(text)
  local found, rows, line, seen = find_all(text), {}, 1, 1
  for i = 1, #found, 2 do
    local at, kind = found[i], found[i + 1]
    local start = start_of(text, at, kind) or at
    while true do
      local newline = text:find("\n", seen, true)
      if not newline or newline >= at then break end
      line, seen = line + 1, newline + 1
    end
    local ok, target = pcall(target_of, text, at, kind)
    local results = kind ~= "hlo" and results_before(text, at)
    local row = { index = #rows + 1, line = line, form = kind == "hlo" and "hlo" or "stablehlo", at = start, word = at, kind = kind,
      results = results or nil }
    row.name = results and results:match "^%%([%w_$.-]+)" or kind == "hlo" and text:match("^R?O?O?T?%s*%%?([%w_.-]+)%s*=", start) or nil
    row.target = ok and type(target) == "string" and target or nil
    if not row.target then row.problem = ok and "it has no target" or target.message or tostring(target) end
    rows[#rows + 1] = row
  end
  return rows
end

--- What may stand behind a call on its line: nothing, the end of a block, or the next operation.
local function check_end(reader)
  local text, at = reader.text, reader.at
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

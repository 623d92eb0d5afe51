--- The names of a signature as axes: each has values, their product are cases, and a case gives every operand its type.
--
-- A case is a list of integers, one for each axis: the size itself for a dim, else the place of a value in the axis' list. So that
-- cases of sizes that no list has can be made, too.
local core = require "ccw.core"
local array = require "ccw.array"

local M = {}

local dtypes = core.dtypes()

local MOST_CASES = 100000

--- ---- the signature

--- What a pattern wants: {letter = "T", dtype = "f32", dims = {"n", 8}}, with fail(format, ...) for what is not certain.
local function read_pattern(text, label, fail)
  if text == "?" then fail("%s: write its type; ? says nothing of it", label) end
  local pattern = {}
  for _, word in ipairs(core.pattern_words(core.signature("(" .. text .. ")"))) do
    if word[1] == "letter" then pattern.letter = word[2] end
    if word[1] == "dtype" and #word == 2 then pattern.dtype = word[2] end
    if word[1] == "dims" then pattern.dims = table.move(word, 2, #word, 1, {}) end
  end
  if not pattern.letter and not pattern.dtype then
    fail("%s: %s has no certain dtype: write a letter, T[n], and T = {\"f32\", ...}", label, text)
  end
  for _, dim in ipairs(pattern.dims or { "?" }) do
    if dim == "?" then fail("%s: %s has no certain shape: write a size or a name for each dim, f32[n,m]", label, text) end
  end
  return pattern
end

--- "arg 0 'x'", as messages of calls have it.
local function label_of(noun, place, name) return ("%s %d%s"):format(noun, place, name ~= "" and (" '%s'"):format(name) or "") end

--- Reads a signature, or its text, as what a test wants of it: operands and results, lists of patterns with name, label and
--- optional; names, of letters and dims, in the order in which they come; kinds of attributes by name, attributes in order.
-- fail(format, ...) raises misuse.
function M.read(signature, fail)
  if core.kind(signature) ~= "signature" then signature = core.signature(signature) end
  local form = { name = signature.name, signature = signature, operands = {}, results = {}, names = {}, is_letter = {}, attributes = {},
    kinds = core.attribute_kinds(signature) }
  local function note(name, is_letter)
    if form.is_letter[name] == not is_letter then fail("'%s' is a dtype and a size in the signature", name) end
    if form.is_letter[name] == nil then form.names[#form.names + 1] = name end
    form.is_letter[name] = is_letter
  end
  for _, parameter in ipairs(signature:parameters()) do
    local word, list, noun = parameter.word, nil, nil
    if word:find "^remaining" then fail("... says nothing of what is there: write an operand or a result for each") end
    if word:find "arg$" then list, noun = form.operands, "arg" end
    if word:find "ret$" then list, noun = form.results, "result" end
    if list then
      local label = label_of(noun, #list, parameter.name)
      local pattern = read_pattern(parameter.text, label, fail)
      pattern.name, pattern.label, pattern.is_optional = parameter.name, label, word:find "optional" ~= nil
      list[#list + 1] = pattern
      if pattern.letter then note(pattern.letter, true) end
      for _, dim in ipairs(pattern.dims) do
        if type(dim) == "string" then note(dim, false) end
      end
    elseif word == "attr" then
      form.attributes[#form.attributes + 1] = parameter.name
    end
  end
  for _, name in ipairs(form.attributes) do
    if form.is_letter[name] ~= nil then fail("the signature has both a dim and an attribute '%s': which one is meant?", name) end
  end
  return form
end

--- ---- the values

local function check_size(name, value, fail)
  local size = type(value) == "number" and math.tointeger(value)
  if not size or size < 0 then fail("%s: expected a size, got %s", name, core.kind(value) or tostring(value)) end
  return size
end

local function check_dtype(name, value, fail)
  if type(value) ~= "string" or not dtypes[value] or value == "token" then
    local names = {}
    for known in pairs(dtypes) do names[#names + 1] = known end
    local near = type(value) == "string" and value ~= "token" and core.near(value, names) or {}
    fail("%s: expected a dtype, got %s%s", name, core.kind(value) or tostring(value), near[1] and "; near: " .. near[1] or "")
  end
  return value
end

--- Whether an optional operand is there.
local function check_presence(name, value, fail)
  if type(value) ~= "boolean" then fail("%s: expected true, false or a list of them, got %s", name, core.kind(value) or tostring(value)) end
  return value
end

--- Whether what is given for an attribute is a list of values rather than one value.
local function is_axis(value, kind)
  if type(value) ~= "table" or getmetatable(value) or type(next(value)) ~= "number" then return false end
  if kind.form ~= "array" then return true end
  return type(value[1]) == "table" or core.kind(value[1]) == "buffer"
end

--- One value as a word: without what parts words in the name of a case, or values for --case.
local function word_of(value) return (tostring(value):gsub("[%s%c,{}]", "_")) end

--- How a value is called in the name of a case.
function M.text_of(value)
  if type(value) == "table" then
    local parts = {}
    for _, item in ipairs(value) do parts[#parts + 1] = word_of(item) end
    if #parts == 0 then
      for name, item in next, value do parts[#parts + 1] = ("%s:%s"):format(name, word_of(item)) end
      table.sort(parts)
    end
    return "{" .. table.concat(parts, ",") .. "}"
  end
  return word_of(value)
end

--- The length of a list of values, of which there is at least one.
local function check_list(name, list, fail)
  local length = array.list_length(list)
  if not length then fail("%s: expected a list without holes", name) end
  if length == 0 then fail("%s: expected values, got an empty list: there would be nothing to run", name) end
  return length
end

--- Sets the axes of a check, and what is given once as fixed: all from `given`, a table by name.
local function add(check, name, value, is_size, listed, checked, fail)
  if not listed then
    check.fixed[name] = checked(name, value)
    return
  end
  local axis = { name = name, is_size = is_size, values = {}, place = #check.axes + 1 }
  for i = 1, check_list(name, value, fail) do axis.values[i] = checked(name, value[i]) end
  check.axes[axis.place] = axis
end

--- Gives a form its values: a check with axes (name, is_size, values, place) and fixed, values by name. `from_file` has those of
--- names that a file of arrays tells.
function M.fill(form, given, fail, from_file)
  local check = { form = form, axes = {}, fixed = {} }
  for _, name in ipairs(form.names) do
    local value, is_letter = given[name], form.is_letter[name]
    if value == nil then value = from_file[name] end
    if value == nil then
      fail("%s: expected %s of the signature, or a list of them", name, is_letter and "the dtype for this letter" or "a size for this dim")
    end
    local checked = is_letter and check_dtype or check_size
    add(check, name, value, not is_letter, type(value) == "table", function(n, v) return checked(n, v, fail) end, fail)
  end
  for _, name in ipairs(form.attributes) do
    local value = given[name]
    if value == nil then fail("attribute '%s': expected its value, or a list of values", name) end
    add(check, name, value, false, is_axis(value, form.kinds[name]), function(_, v) return v end, fail)
  end
  for _, operand in ipairs(form.operands) do
    local value = operand.is_optional and operand.name ~= "" and given[operand.name] or false
    add(check, operand.name, value, false, type(value) == "table", function(n, v) return check_presence(n, v, fail) end, fail)
  end
  return check
end

--- ---- cases

--- The value that a case has for an axis.
function M.value(axis, case) return axis.is_size and case[axis.place] or axis.values[case[axis.place]] end

--- All cases, the last axis running fastest. fail where there are too many.
function M.cases(check, fail)
  local count = 1
  for _, axis in ipairs(check.axes) do
    count = count * #axis.values
    if count > MOST_CASES then fail("the axes make more than %d cases", MOST_CASES) end
  end
  local cases = {}
  for number = 0, count - 1 do
    local case, rest = {}, number
    for i = #check.axes, 1, -1 do
      local axis = check.axes[i]
      local place = rest % #axis.values + 1
      rest = rest // #axis.values
      case[i] = axis.is_size and axis.values[place] or place
    end
    cases[number + 1] = case
  end
  return cases
end

--- "T=f32 r=4 n=33".
function M.name(check, case)
  local parts = {}
  for i, axis in ipairs(check.axes) do parts[i] = axis.name .. "=" .. M.text_of(M.value(axis, case)) end
  return table.concat(parts, " ")
end

--- "n=1,r=1": where a case differs from another, as settings.read_case reads it; "" where it does not.
function M.changes(check, case, from)
  local parts = {}
  for i, axis in ipairs(check.axes) do
    if case[i] ~= from[i] then parts[#parts + 1] = axis.name .. "=" .. M.text_of(M.value(axis, case)) end
  end
  return table.concat(parts, ",")
end

--- The same case with other values, texts by the name of their axis; nothing, and why, where there are none such.
function M.changed(check, case, changes)
  local copy, left = table.move(case, 1, #case, 1, {}), {}
  for name in pairs(changes) do left[name] = true end
  for i, axis in ipairs(check.axes) do
    local text = changes[axis.name]
    if text then
      local found = axis.is_size and math.tointeger(tonumber(text)) or nil
      for place, value in ipairs(axis.values) do
        if not axis.is_size and M.text_of(value) == text then found = place end
      end
      if not found or found < 0 then return nil, ("no value of %s is called %s"):format(axis.name, text) end
      copy[i], left[axis.name] = found, nil
    end
  end
  local unknown = next(left)
  if unknown then return nil, ("the check has no axis '%s'"):format(unknown) end
  return copy
end

--- All values of a case by name, sizes, dtypes, attributes.
function M.values(check, case)
  local values = {}
  for name, value in pairs(check.fixed) do values[name] = value end
  for _, axis in ipairs(check.axes) do values[axis.name] = M.value(axis, case) end
  return values
end

--- The type of an operand or a result, its text, for these values; its dims alone with another dtype.
function M.type_of(pattern, values, dtype)
  local dims = {}
  for i, dim in ipairs(pattern.dims) do dims[i] = type(dim) == "string" and values[dim] or dim end
  return ("%s[%s]"):format(dtype or pattern.dtype or values[pattern.letter], table.concat(dims, ","))
end

--- Whether an operand or a result is there in a case.
function M.is_there(pattern, values) return not pattern.is_optional or values[pattern.name] == true end

--- The results that a case has.
function M.results(check, values)
  local list = {}
  for _, pattern in ipairs(check.form.results) do
    if M.is_there(pattern, values) then list[#list + 1] = pattern end
  end
  return list
end

--- Text between the processes, and back.
function M.write(case) return table.concat(case, " ") end

function M.parse(text)
  local case = {}
  for number in text:gmatch "%-?%d+" do case[#case + 1] = math.tointeger(tonumber(number)) end
  return case
end

return M

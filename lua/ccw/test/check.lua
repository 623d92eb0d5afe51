--- A check runs a handler over the product of what its signature names, at each place that has one, beside an oracle.
local core = require "ccw.core"
local errors = require "ccw.errors"
local comparison = require "ccw.comparison"
local axes = require "ccw.test.axes"
local places = require "ccw.test.places"
local settings = require "ccw.test.settings"
local shrink = require "ccw.test.shrink"
local suite = require "ccw.test.suite"
local trial = require "ccw.test.trial"

local M = {}

local misuse = errors.misuse_of "check"

local option_types = {
  on = "any", oracle = "any", close = "table", inputs = "table", time_limit = "number", checked = "boolean", shrink = "boolean",
  name = "string",
}

--- ---- what a check is made of

--- Parts what is given into options and values of names of the signature.
local function part(form, given)
  errors.check(misuse, 3, given, "table")
  local known, options, values = {}, {}, {}
  for _, name in ipairs(form.names) do known[name] = true end
  for _, name in ipairs(form.attributes) do known[name] = true end
  for _, operand in ipairs(form.operands) do
    if operand.is_optional then known[operand.name] = true end
  end
  for name, value in next, given do
    if known[name] and option_types[name] then
      misuse(3, "'%s' is a name of the signature and an option of check: the signature needs another", name)
    end
    local to = known[name] and values or options
    to[name] = value
  end
  local types = {}
  for name, wanted in pairs(option_types) do types[name] = wanted end
  for name in pairs(known) do types[name] = "any" end -- so that names near to those of the signature are found, too
  errors.check_options(misuse, 3, options, types)
  return options, values
end

--- Arrays out of a file, by name; and what the names of dims and letters are in them.
local function read_file(form, path)
  local read = require "ccw".read
  if not read then misuse(3, "oracle: this ccw reads no files of arrays") end
  local arrays, told = read(path), {}
  if type(arrays) ~= "table" then errors.raise("INVALID_ARGUMENT", ("%s: expected arrays by name, as in an .npz"):format(path)) end
  for _, list in ipairs { form.operands, form.results } do
    for _, pattern in ipairs(list) do
      local array = arrays[pattern.name]
      if array then
        if pattern.letter then told[pattern.letter] = told[pattern.letter] or array.dtype end
        for i, dim in ipairs(pattern.dims) do
          if type(dim) == "string" and array.dims[i] then told[dim] = told[dim] or array.dims[i] end
        end
      end
    end
  end
  return arrays, told
end

local function check_oracle(oracle)
  local kind = core.kind(oracle)
  if oracle == nil or kind == "handler" or type(oracle) == "function" or type(oracle) == "string" then return end
  misuse(3, "oracle: expected a function, a handler or the path of an .npz, got %s", kind or type(oracle))
end

local function check_close(close)
  local one = core.buffer("f32[1]", true)
  local dtypes, plain = core.dtypes(), {}
  for name, value in next, close or {} do
    if dtypes[name] then
      errors.check(misuse, 3, value, "table")
      comparison.compare(one, one, value)
    else
      plain[name] = value
    end
  end
  comparison.compare(one, one, plain)
end

local function check_inputs(form, inputs)
  local known, names = {}, {}
  for place, operand in ipairs(form.operands) do
    known[place - 1], known[operand.name], names[place] = true, true, operand.name
  end
  for name in next, inputs or {} do
    if not known[name] or name == "" then
      local near = core.near(tostring(name), names)
      misuse(3, "inputs: the signature has no operand '%s'%s", tostring(name), near[1] and "; near: " .. near[1] or "")
    end
  end
end

--- A check: form, axes and fixed values, file, name, and the options.
local function make(signature, given)
  local function fail(format, ...) misuse(2, format, ...) end
  if core.kind(signature) ~= "signature" then errors.check(misuse, 2, signature, "string") end
  local form = axes.read(signature, fail)
  local options, values = part(form, given)
  check_oracle(options.oracle)
  check_close(options.close)
  local seconds = options.time_limit or 1
  if seconds <= 0 or seconds ~= seconds then misuse(3, "time_limit: expected seconds above 0, got %s", tostring(seconds)) end
  check_inputs(form, options.inputs)
  local file, told = nil, {}
  if type(options.oracle) == "string" then file, told = read_file(form, options.oracle) end
  local check = axes.fill(form, values, function(format, ...) misuse(3, format, ...) end, told)
  for name, option in next, options do check[name] = option end
  check.file = file
  check.name = options.name or form.name ~= "" and form.name or nil
  return check
end

--- ---- a case, at a place

--- What answers questions about cases there: "run 4 33", "explain 4 33". An answer is "" for all is well, or a kind and a text.
local function answerer(check, place)
  return function(question)
    local what, rest = question:match "^(%a+) ?(.*)$"
    local case = axes.parse(rest)
    local ok, kind, text = xpcall(what == "run" and trial.run or trial.explain, tostring, check, place, case, settings.seed)
    if kind and place.name:find "^sim:" then place.device:reset() end -- after a fault it would refuse all others
    if not ok then return "test\n" .. kind end
    if what == "explain" then return kind end
    return kind and kind .. "\n" .. text or ""
  end
end

--- Runs a case: nothing where all is well, else the kind of the failure and its text.
local function run(group, case, seconds)
  local title = ("%s: %s, %s"):format(group.site.short_src, group.title, axes.name(group.check, case))
  local answer, kind, text = group.runner:ask("run " .. axes.write(case), seconds, title)
  if not answer then return kind, text end
  if answer == "" then return nil end
  return answer:match "^([^\n]*)\n(.*)$"
end

--- ---- what is told of a case that fails

--- The search that began with a failure of that kind and explains this case, too; nil where there was none.
local function known_search(group, kind, case)
  for _, one in ipairs(group.searches) do
    if one.kind == kind and one.rule and one.rule.holds(case) then return one end
  end
end

local PROBE_SECONDS, MOST_SEARCHES = 2, 3

--- Whether a case has no element of a result that could be wrong.
local function is_void(check, case)
  local values = axes.values(check, case)
  for _, pattern in ipairs(axes.results(check, values)) do
    if core.type(axes.type_of(pattern, values)).count > 0 then return false end
  end
  return true
end

local of_elements = { differs = true, unwritten = true } -- what cases without elements say nothing of

local function search(group, kind, case)
  local check = group.check
  local seconds = math.min(group.seconds, PROBE_SECONDS)
  local found = shrink.search(check, case, group.cases, function(other)
    if of_elements[kind] and is_void(check, other) then return nil end
    local other_kind = run(group, other, seconds)
    if other_kind == kind then return true end
    if other_kind == nil then return false end
  end)
  found.kind = kind
  group.searches[#group.searches + 1] = found
  return found
end

--- A line of what a checked call finds there; nothing where it finds no more than the text, or does not come to an end.
local function explanation(group, case, text)
  if group.check.checked or group.runner.is_here then return nil end
  local answer = group.runner:ask("explain " .. axes.write(case), math.min(group.seconds, 10))
  if not answer or answer == "" or text:sub(-#answer) == answer then return nil end
  return "  checked call: " .. answer:gsub("^test\n", ""):gsub("\n", "\n    ")
end

--- Lines of what a search has found, for the case with which it began, and for another that it explains.
local function found_lines(group, found, case, is_first)
  local smallest = axes.name(group.check, found.smallest)
  if not is_first then return { ("  fails %s, as %s does"):format(found.rule.text, smallest) } end
  local rule = found.rule and "fails " .. found.rule.text or "no simple rule tells those that fail"
  local lines = { "  no smaller one fails in this way" }
  if axes.write(found.smallest) ~= axes.write(case) then
    local _, why = run(group, found.smallest, group.seconds)
    lines[1] = ("  smallest that fails: %s%s"):format(smallest, why and ": " .. why or "")
  end
  lines[2] = ("  %s (%d more cases were run%s)"):format(rule, found.runs, found.is_cut and ", and then the search ended" or "")
  return lines
end

--- Whether nothing is to be learned from a failure by running other cases: where it is the test that is wrong; and where a GPU
--- itself may have failed, which then refuses all that comes after.
local function is_unsearchable(group, kind)
  return kind == "oracle" or kind == "test" or group.runner.is_here and kind:find "^error " ~= nil
end

--- All that is told of a case that failed.
local function describe(group, one, kind, text)
  local check, case, smallest = group.check, one.case, one.case
  local lines, is_first = { ("%s:%d: %s"):format(group.site.short_src, group.site.currentline, text) }, true
  if #check.axes > 0 and check.shrink ~= false and not settings.only and not is_unsearchable(group, kind) then
    local known = known_search(group, kind, case)
    local found = known or #group.searches < MOST_SEARCHES and search(group, kind, case) or nil
    smallest, is_first = found and found.smallest or case, not known
    for _, line in ipairs(found and found_lines(group, found, case, is_first) or {}) do lines[#lines + 1] = line end
  end
  local explains = is_first and kind ~= "time" and not is_unsearchable(group, kind)
  lines[#lines + 1] = explains and explanation(group, smallest, text) or nil
  lines[#lines + 1] = "  again: " .. suite.again(group.site, one.number, axes.changes(check, smallest, one.origin))
  return table.concat(lines, "\n")
end

--- ---- declaring them

local function declare_case(group, one)
  local name = axes.name(group.check, one.case)
  suite.it(name ~= "" and name or "one case", group.site, function()
    local kind, text = run(group, one.case, group.seconds)
    if kind then suite.fail(describe(group, one, kind, text)) end
  end)
end

--- The cases of a place that are to be run, {case, origin, number}: the origin is the case before --case has changed it.
local function wanted(check, all, site)
  local list = {}
  for _, case in ipairs(all) do
    local number, is_wanted, changes = suite.next_number()
    if is_wanted then
      local changed, why = axes.changed(check, case, changes or {})
      if not changed then
        errors.raise("INVALID_ARGUMENT", ("%s:%d: --case %d: %s"):format(site.short_src, site.currentline, number, why))
      end
      list[#list + 1] = { case = changed, origin = case, number = number }
    end
  end
  return list
end

--- See ccw.test.check.
function M.check(handler, signature, given)
  local site = suite.open "ccw.test.check"
  local check = make(signature, given)
  local all = axes.cases(check, function(format, ...) misuse(3, format, ...) end)
  for _, place in ipairs(places.find(handler, check.on, misuse)) do
    local title = ("%s on %s"):format(check.name or places.name(handler), place.name)
    places.learn(place)
    local cases = place.device and wanted(check, all, site) or {}
    if #cases > 0 or not place.device and not settings.only then
      local group = { check = check, cases = all, site = site, title = title, searches = {} }
      group.seconds = check.time_limit or settings.time_limit
      suite.describe(title, site, function()
        if not place.device then return suite.absent(place, site) end
        group.runner = suite.runner(answerer(check, place), place)
        for _, one in ipairs(cases) do declare_case(group, one) end
      end)
    end
  end
end

return M

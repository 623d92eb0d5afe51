--- Misuse: what is made of a call that is right, one thing wrong at a time, and has to be refused.
local core = require "ccw.core"
local errors = require "ccw.errors"
local array = require "ccw.array"
local attributes = require "ccw.attributes"
local call = require "ccw.call"
local places = require "ccw.test.places"
local settings = require "ccw.test.settings"
local suite = require "ccw.test.suite"

local M = {}

local misuse = errors.misuse_of "refuses_misuse"

local dtypes = core.dtypes()

--- ---- the text of a call

--- Names that stand for something in attributes: numbers with a dtype.
local function environment()
  local names = { inf = math.huge, nan = 0 / 0 }
  for dtype in pairs(dtypes) do
    if dtype ~= "token" then names[dtype] = array.constructor(dtype) end
  end
  return names
end

local function read_attributes(text)
  local chunk, message = load("return " .. text, "=attributes", "t", environment())
  if not chunk then errors.raise("INVALID_ARGUMENT", ("attributes %s: %s"):format(text, (message:gsub("^attributes:%d+: ", "")))) end
  local ok, values = pcall(chunk)
  if not ok then errors.raise("INVALID_ARGUMENT", ("attributes %s: %s"):format(text, (tostring(values):gsub("^attributes:%d+: ", "")))) end
  return values
end

--- The texts of the types of a tuple, "(f32[2], s32[])", or of one array.
local function types_of(text)
  local read, list = core.type(text), {}
  if read.dims then return { text } end
  for i = 1, #read do
    if not read[i].dims then errors.raise("INVALID_ARGUMENT", ("%s: expected arrays, got the tuple %s"):format(text, tostring(read[i]))) end
    list[i] = tostring(read[i])
  end
  return list
end

--- Reads a call: "(f32[1,32], f32[32]) -> (f32[1,32]) {block = 32, eps = 1e-05}" as {operands, results, attributes}.
function M.read(text)
  local types, braces = text:match "^%s*[%w_]*%s*(.-)%s*({.*})%s*$"
  types = types or text:match "^%s*[%w_]*%s*(.-)%s*$"
  local operands, results = types:match "^(%b())%s*%->%s*(.+)$"
  operands = operands or types
  if not operands:find "^%b()$" then
    errors.raise("INVALID_ARGUMENT", ("expected a call, as (f32[2]) -> (f32[2]) {s = 2}, got %s"):format(core.quote(text)))
  end
  return { operands = types_of(operands), results = types_of(results or "()"), attributes = braces and read_attributes(braces) or {} }
end

--- ---- variants

--- A few dtypes that a dtype may be taken for: of the same width, of twice and of half of it.
local relatives = {
  f32 = { "s32", "f64", "f16", "u32" }, f64 = { "s64", "f32", "u64" }, f16 = { "bf16", "f32", "s16" }, bf16 = { "f16", "f32", "u16" },
  s32 = { "f32", "u32", "s64", "s16" }, s64 = { "f64", "u64", "s32" }, u32 = { "s32", "f32", "u64" }, u64 = { "s64", "f64", "u32" },
  s16 = { "u16", "f16", "s32" }, u16 = { "s16", "bf16", "u32" }, s8 = { "u8", "pred", "s16", "s4" }, u8 = { "s8", "pred", "u16", "u4" },
  pred = { "u8", "s8", "s32" }, c64 = { "f64", "c128", "f32" }, c128 = { "c64", "f64" }, s4 = { "u4", "s8" }, u4 = { "s4", "u8" },
}

local function with_dtype(type, dtype) return (type:gsub("^[^%[]*", dtype)) end

--- Other ranks of as many elements: one more, and one less.
local function other_ranks(type)
  local dims, dtype = core.type(type).dims, core.type(type).dtype
  local function text(list) return ("%s[%s]"):format(dtype, table.concat(list, ",")) end
  local more = text { 1, table.unpack(dims) }
  if #dims == 0 then return { more } end
  if #dims == 1 then return { more, dims[1] == 1 and text {} or nil } end
  return { more, text { dims[1] * dims[2], table.unpack(dims, 3) } }
end

--- Copies of a call with one part, a list or a table, in another state.
local function with(right, part, change)
  local copy = { operands = right.operands, results = right.results, attributes = right.attributes }
  local list = {}
  for key, value in next, right[part] do list[key] = value end
  change(list)
  copy[part] = list
  return copy
end

local function of_types(list, right, part, noun)
  for i, type in ipairs(right[part]) do
    local label = ("%s %d"):format(noun, i - 1)
    local function add(other)
      list[#list + 1] = { name = ("%s as %s"):format(label, other), call = with(right, part, function(types) types[i] = other end) }
    end
    for _, dtype in ipairs(relatives[core.type(type).dtype] or { "f32", "s32" }) do add(with_dtype(type, dtype)) end
    for _, other in ipairs(other_ranks(type)) do add(other) end
    list[#list + 1] = { name = ("a missing %s"):format(label), call = with(right, part, function(types) table.remove(types, i) end) }
  end
  local last = right[part][#right[part]]
  if not last then return end -- of a family of which nothing is bound, any number is accepted
  list[#list + 1] = { name = ("one %s more"):format(noun), call = with(right, part, function(types) types[#types + 1] = last end) }
end

--- Values of other types than that of an attribute, in the form that the handler gets.
local function other_values(value)
  local kind = core.kind(value)
  if type(value) == "string" then return { ccw_s64 = core.scalar("s64", 1) } end
  if type(value) == "boolean" then return { s32 = core.scalar("s32", 1), string = "true" } end
  if kind == "attributes" or type(value) == "table" then return { s64 = core.scalar("s64", 1), string = "x" } end
  if kind == "buffer" then
    local dtype = (relatives[value.dtype] or { "s64" })[1]
    local other = core.buffer(("%s[%d]"):format(dtype, value.count), true)
    return { ["an array of " .. dtype] = other, [value.dtype] = core.scalar(value.dtype, 1), string = "x" }
  end
  local dtype = kind == "scalar" and value.dtype or math.type(value) == "integer" and "s64" or "f64"
  local others = { string = "1", ["an array of " .. dtype] = core.buffer(dtype .. "[1]", true) }
  for _, other in ipairs { "s32", "s64", "f32", "f64" } do
    if other ~= dtype then others[other] = core.scalar(other, 1) end
  end
  return others
end

local function sorted_keys(values)
  local names = {}
  for name in next, values do names[#names + 1] = name end
  table.sort(names)
  return names
end

local function of_attributes(list, right)
  local names = sorted_keys(right.attributes)
  local function add(name, change) list[#list + 1] = { name = name, call = with(right, "attributes", change) } end
  for _, name in ipairs(names) do
    local value = right.attributes[name]
    add(("a missing attribute '%s'"):format(name), function(all) all[name] = nil end)
    add(("attribute '%s' called '%s_'"):format(name, name), function(all) all[name], all[name .. "_"] = nil, value end)
    local others = other_values(value)
    for _, kind in ipairs(sorted_keys(others)) do
      add(("attribute '%s' as %s"):format(name, (kind:gsub("^ccw_", ""))), function(all) all[name] = others[kind] end)
    end
  end
  if #names > 0 then add("one attribute more", function(all) all["one_more"] = 1 end) end
end

--- All that is wrong with a call, a list of {name, call}.
function M.variants(right)
  local list = {}
  of_types(list, right, "operands", "arg")
  of_types(list, right, "results", "result")
  of_attributes(list, right)
  return list
end

--- ---- running them

--- Values of attributes as they are bound; `front` is what stands before their names in a message.
local function fitted(values, kinds, front)
  local list = {}
  for name, value in next, values do
    local kind = kinds[name]
    if kind and kind.form == "scalar" and type(value) == "number" then
      local scalar, why = core.fit(kind.dtype, value)
      if not scalar then errors.raise("INVALID_ARGUMENT", ("attribute '%s%s': %s"):format(front, name, why)) end
      value = scalar
    elseif kind and kind.members and type(value) == "table" then
      value = fitted(value, kind.members, front .. name .. ".")
    elseif kind and kind.form == "enum" and kind.values and kind.values[value] then
      value = core.scalar(kind.dtype, kind.values[value])
    elseif kind and kind.form == "enum" and type(value) == "number" then
      value = core.scalar(kind.dtype, value)
    elseif kind and kind.form == "array" and type(value) == "table" then
      value = array.array(("%s[%d]"):format(kind.dtype, #value), value)
    end
    list[name] = value
  end
  return list
end

--- Attributes as the handler binds them, where its signature is known: it has to be the one wrong thing that is refused.
local function bound(handler, values)
  local one = core.kind(handler) == "handler" and handler or type(handler) == "string" and core.find(handler, "host") or nil
  local signature = one and errors.try(function() return one.signature end) or nil
  return fitted(values, signature and core.attribute_kinds(signature) or {}, "")
end

local function run(place, wanted)
  local operands, results = {}, {}
  for i, type in ipairs(wanted.operands) do
    operands[i] = (type == "token[]" and core.buffer(type) or array.random(type, settings.seed + i)):to(place.device)
  end
  for i, type in ipairs(wanted.results) do results[i] = core.buffer(type, true):to(place.device) end
  local attrs = next(wanted.attributes) ~= nil and attributes.attrs(wanted.attributes) or nil
  return call.call(place.handler, operands, results, attrs, { device = place.name ~= "host" and place.device or nil, signature = false,
    checked = false })
end

local function text_of(wanted)
  local attrs = next(wanted.attributes) ~= nil and " " .. tostring(attributes.attrs(wanted.attributes)) or ""
  return ("(%s) -> (%s)%s"):format(table.concat(wanted.operands, ", "), table.concat(wanted.results, ", "), attrs)
end

--- Answers for a list of calls: "ok", or an error as text.
local function answerer(place, calls)
  return function(question)
    local ok, err = pcall(run, place, calls[math.tointeger(tonumber(question))])
    if ok then return "ok" end
    return (errors.is_error(err) and "refused\n" or "misuse\n") .. tostring(err)
  end
end

local option_types = { on = "any", except = "table", name = "string" }

--- What is wrong with how the right call went, and with how a wrong one did; nothing where it is as it should be.
local function judge_right(answer, text)
  if answer ~= "ok" then return "the call that is right fails: " .. (text or answer:gsub("^%a+\n", "")) end
end

local function judge_wrong(name, answer, text)
  if not answer then return "it is not refused: " .. text end
  if answer == "ok" then
    return ("it is not refused: the handler has taken it; where it may, except = {%s} says so"):format(core.quote(name))
  end
  if answer:find "^misuse" then return "it cannot be called so: " .. answer:gsub("^misuse\n", "") end
end

--- Declares the tests of a place: a list of {name, call, judge}.
local function declare(place, tests, title, site)
  local calls, wanted = {}, {}
  for i, test in ipairs(tests) do
    calls[i] = test.call
    local number, is_wanted = suite.next_number()
    if is_wanted then wanted[#wanted + 1] = { at = i, number = number } end
  end
  if #wanted == 0 then return end
  local runner = suite.runner(answerer(place, calls), place)
  suite.describe(title, site, function()
    for _, one in ipairs(wanted) do
      local test = tests[one.at]
      suite.it(test.name, site, function()
        local what = ("%s:%d: %s %s"):format(site.short_src, site.currentline, title, test.name)
        local answer, _, text = runner:ask(tostring(one.at), settings.time_limit, what)
        local problem = test.judge(answer, text)
        if not problem then return end
        suite.fail(("%s:%d: %s\n  call: %s\n  again: %s"):format(site.short_src, site.currentline, problem, text_of(test.call),
          suite.again(site, one.number, "")))
      end)
    end
  end)
end

--- The tests of a handler: that the call is taken, and that each variant but those in `except` is refused. Notes the names of all.
local function tests_of(handler, right, except, names)
  local bound_call = { operands = right.operands, results = right.results, attributes = bound(handler, right.attributes) }
  local tests = { { name = "takes the call that is right", call = bound_call, judge = judge_right } }
  for _, variant in ipairs(M.variants(bound_call)) do
    names[variant.name] = true
    if not except[variant.name] then
      tests[#tests + 1] = { name = "refuses " .. variant.name, call = variant.call,
        judge = function(answer, text) return judge_wrong(variant.name, answer, text) end }
    end
  end
  return tests
end

--- See ccw.test.refuses_misuse.
function M.refuses_misuse(handler, text, options)
  local site = suite.open "ccw.test.refuses_misuse"
  errors.check(misuse, 2, text, "string")
  errors.check_options(misuse, 3, options, option_types)
  options = options or {}
  local right, except, names = M.read(text), {}, {}
  for _, name in ipairs(options.except or {}) do except[name] = true end
  local all = places.find(handler, options.on, misuse)
  for _, place in ipairs(all) do place.tests = place.device and tests_of(place.handler, right, except, names) end
  for name in pairs(except) do
    if not names[name] then
      local near = core.near(tostring(name), sorted_keys(names))
      misuse(3, "except: no variant is called '%s'%s", tostring(name), near[1] and "; near: " .. near[1] or "")
    end
  end
  for _, place in ipairs(all) do
    local title = ("%s on %s: misuse"):format(options.name or places.name(handler), place.name)
    if place.device then
      declare(place, place.tests, title, site)
    elseif not settings.only then
      suite.describe(title, site, function() suite.absent(place, site) end)
    end
  end
end

return M

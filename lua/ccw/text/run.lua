--- ccw run: a call that is written as text.
local ccw = require "ccw"
local core = require "ccw.core"
local errors = require "ccw.errors"
local sorted = require "ccw.text.attribute".sorted
local contents = require "ccw.text.contents"
local join = require "ccw.text.join"
local fit = require "ccw.usage"

local M = {}

-- ---- failing ----------------------------------------------------------------------------------------------------------

local GOOD, BAD, TROUBLE = 0, 1, 2 --- exit codes: as wanted; a call that failed or a result that differs; anything else

--- The end of the program before its time: a message and an exit code.
local Stop = {}

local function stop(code, format, ...) error(setmetatable({ code = code, message = format:format(...) }, Stop), 0) end

local function trouble(format, ...) stop(TROUBLE, format, ...) end

--- The results of f(...); what it refuses ends the program, with `who` in front.
local function try(who, f, ...)
  local results = table.pack(pcall(f, ...))
  if results[1] then return table.unpack(results, 2, results.n) end
  local err = results[2]
  if errors.is_error(err) then trouble("%s: %s", who, err.message) end
  error(err, 0)
end

--- A note that is no result.
local function note(format, ...) io.stderr:write("ccw: ", format:format(...), "\n") end

-- ---- the text ---------------------------------------------------------------------------------------------------------

--- What stands in a file, "-" being standard input.
local function read_text(path)
  local file, message = io.stdin, nil
  if path ~= "-" then file, message = io.open(path, "rb") end
  local text
  if file then text, message = file:read "a" end
  if not text then trouble("%s", message:find(path, 1, true) and message or path .. ": " .. message) end
  if file ~= io.stdin then file:close() end
  return text
end

--- What messages call the text.
local function name_of(options) return options.call == "-" and "standard input" or options.call end

local function row_text(row)
  local target = row.target and core.quote(row.target) or row.problem
  return ("%d\tline %d\t%s\t%s"):format(row.index, row.line, row.name and "%" .. row.name or "", target)
end

--- The call of a text that is wanted, with its description.
local function choose(options)
  local text, who = read_text(options.call), name_of(options)
  if options.list then
    for _, row in ipairs(try(who, ccw.list_text, text)) do print(row_text(row)) end
    return nil
  end
  return try(who, ccw.from_text, text, options.pick and (math.tointeger(tonumber(options.pick)) or options.pick))
end

--- Refuses what no runtime could hand to a handler.
local function check_carried(description, who)
  local lines = {}
  for i, item in ipairs(description.unsupported or {}) do lines[i] = ("\n  %s: %s"):format(item.path, item.why) end
  if #lines > 0 then trouble("%s: no handler can receive this:%s", who, table.concat(lines)) end
end

-- ---- the handler ------------------------------------------------------------------------------------------------------

local function exists(path)
  local file <close> = io.open(path, "rb")
  return file ~= nil
end

--- Opens what an option names, LIBRARY or LIBRARY:TARGET=NAMES. Gives the library, and the handler of these names where they are told for
--- the target of the call.
local function open_library(text, target)
  local path, names, other = text, nil, nil
  if not exists(text) then path, names, other = join.split(text, target) end
  if other then path = text:match "^(.*):[^:]*$" end
  local who = "--lib " .. text
  local library = try(who, ccw.load, path)
  if other then note("%s: the target of the call is %s", who, core.quote(target)) end
  return library, names and try(who, join.by_stage, library, names)
end

--- The handler of the call: the one that an option tells, or the one that the target is joined to in one of the libraries.
local function find_handler(description, texts, device)
  local libraries, target = {}, description.target
  if #texts == 0 then trouble("--lib: expected a library with a handler for %s", core.quote(target)) end
  for i, text in ipairs(texts) do
    local library, handler = open_library(text, target)
    if handler then return handler end
    libraries[i] = library
  end
  local handler, said = errors.try(join.join, description, libraries, device.platform)
  if not handler then trouble("--lib: %s; --lib LIBRARY:%s=NAME says which it is", said.message, (target:gsub("%c", "?"))) end
  if said then note("%s", said) end
  return handler
end

-- ---- arrays -----------------------------------------------------------------------------------------------------------

--- An array of a file, "x.npy" or "x.npz:NAME"; without a name the only one of the file, or the one that is called `name`.
local function read_file(text, type, name)
  local path, wanted = text:match "^(.*%.npz):([^:]+)$"
  if exists(text) then path, wanted = nil, nil end
  local found = ccw.read(path or text, { dtype = type.dtype, name = wanted })
  if core.kind(found) == "buffer" then return found end
  local names = sorted(found)
  local array = found[#names == 1 and names[1] or name]
  if array then return array end
  errors.raise("NOT_FOUND", ("%s has no array '%s'; it has %s"):format(text, name, #names > 0 and table.concat(names, ", ") or "none"))
end

--- The array that an option gives for an operand or a result of that type, which is called `name` in an .npz.
local function read_array(text, type, name)
  local buffer = text:sub(1, 1) == "@" and read_file(text:sub(2), type, name) or nil
  buffer = buffer or ccw.array_from_text(text, type)
  if tostring(buffer.type) ~= tostring(type) then errors.raise("INVALID_ARGUMENT", ("expected %s, got %s"):format(type, buffer.type)) end
  return buffer
end

--- "--input 2 '{1, 2}'", for the option that is given for the second time.
local function option_text(option, i, text)
  return ("--%s %d '%s'"):format(option, i, ((#text > 60 and text:sub(1, 60) .. "..." or text):gsub("%c", " ")))
end

--- The positions, from 1, of those that hold something: a token is given by nobody, and to nobody.
local function holding(types)
  local numbers = {}
  for i, type in ipairs(types) do
    if type.dtype ~= "token" then numbers[#numbers + 1] = i end
  end
  return numbers
end

--- "1 result", "2 results".
local function counted(count, what) return ("%d %s%s"):format(count, what, count == 1 and "" or "s") end

--- Refuses an option that is given more often than there is something for it, which is at these of all positions.
local function check_count(option, texts, numbers, types, what)
  if #texts <= #numbers then return end
  trouble("--%s: it is given %s, and the call has %s%s", option, counted(#texts, "time"), counted(#numbers, what),
    #numbers < #types and " besides tokens" or "")
end

local MOST_RANDOM = 1 << 32 --- bytes of an operand that nobody has given: a size in a text may be anything

--- The operand at a position, from 1: what `text` says, which is given k-th, or at random.
local function make_operand(type, i, text, k, options)
  local seed, place = options.seed + i - 1, ("arg %d"):format(i - 1)
  if type.dtype == "token" then return ccw.array(type) end
  if text and text ~= "random" then
    return try(option_text("input", k, text) .. ": " .. place, read_array, text, type, "arg" .. i - 1)
  end
  if type.bytes > MOST_RANDOM then
    trouble("%s is %s: what is random is of %d bytes at the most; --input gives it", place, type, MOST_RANDOM)
  end
  local operand = try(place, ccw.random, type, seed)
  note("%s is random: ccw.random(\"%s\", %d)", place, type, seed)
  return operand
end

local function make_operands(types, options, device)
  local operands, numbers = {}, holding(types)
  check_count("input", options.input, numbers, types, "operand")
  local k = 0
  for i, type in ipairs(types) do
    if type.dtype ~= "token" then k = k + 1 end
    operands[i] = make_operand(type, i, options.input[k], k, options)
    if device.name ~= "host" then operands[i] = try("arg " .. i - 1, operands[i].to, operands[i], device) end
  end
  return operands
end

--- What results should be, by their positions from 1.
local function read_expected(types, texts)
  local expected, numbers = {}, holding(types)
  check_count("expect", texts, numbers, types, "result")
  for k, text in ipairs(texts) do
    local i = numbers[k]
    local who = ("%s: result %d"):format(option_text("expect", k, text), i - 1)
    expected[i] = try(who, read_array, text, types[i], "result" .. i - 1)
  end
  return expected
end

-- ---- results ----------------------------------------------------------------------------------------------------------

--- The numbers, from 1, of the results that hold something, for which the paths have to do.
local function plan_output(types, paths)
  local numbers, seen = holding(types), {}
  for _, path in ipairs(paths) do
    if not path:find "%.np[yz]$" then trouble("--output %s: expected a name that ends in .npy or .npz", path) end
    if seen[path] then trouble("--output %s: two results for one file", path) end
    seen[path] = true
  end
  local is_all = #paths == 1 and paths[1]:find "%.npz$"
  if #paths > 0 and not is_all and #paths ~= #numbers then
    trouble("--output: expected one .npz, or an .npy for each of %s, got %d", counted(#numbers, "result"), #paths)
  end
  return numbers
end

--- The buffers of results, in the order in which the handler has them.
local function flatten(results, list)
  if core.kind(results) == "buffer" then
    list[#list + 1] = results
    return list
  end
  for _, result in ipairs(results) do flatten(result, list) end
  return list
end

local function save(results, numbers, paths)
  local write = ccw.write
  local function here(i) return results[i]:to "host" end
  if #paths == 1 and paths[1]:find "%.npz$" then
    local all = {}
    for _, i in ipairs(numbers) do all["result" .. i - 1] = here(i) end
    return try("--output " .. paths[1], write, paths[1], all)
  end
  for k, path in ipairs(paths) do try("--output " .. path, write, path, here(numbers[k])) end
end

--- Prints how the results compare to what was expected, and tells whether they are as wanted.
local function compare(results, expected, options)
  local good, how = true, { equal_nan = true }
  if not options.exact then how.close, how.rtol, how.atol = true, options.rtol, options.atol end
  for i = 1, #results do
    local result = expected[i] and ccw.compare(results[i]:to "host", expected[i], how)
    if result then print(("result %d: %s"):format(i - 1, result.message)) end
    good = good and (not result or result.equal)
  end
  return good
end

-- ---- the command ------------------------------------------------------------------------------------------------------

local forms = { stablehlo = true, generic = true, hlo = true, jax = true, c = true }

local function check_options(options)
  if options.text and not forms[options.text] then
    trouble("--text: expected stablehlo, generic, hlo, jax or c, got '%s'", options.text)
  end
  local seed = math.tointeger(tonumber(options.seed or "0"))
  if not seed then trouble("--seed: expected an integer, got '%s'", options.seed) end
  options.seed = seed
  for _, name in ipairs { "rtol", "atol" } do
    local number = options[name] and tonumber(options[name])
    if options[name] and not (number and number >= 0) then trouble("--%s: expected 0 or more, got '%s'", name, options[name]) end
    if number and options.exact then trouble("--%s: a tolerance, while --exact wants none", name) end
    if number and #options.expect == 0 then trouble("--%s: nothing is compared without --expect", name) end
    options[name] = number
  end
  if options.exact and #options.expect == 0 then trouble "--exact: nothing is compared without --expect" end
end

local function run(options)
  check_options(options)
  local description = choose(options)
  if not description then return GOOD end
  local who = name_of(options)
  if options.text then
    local text = try(who, description.text, description, options.text)
    io.write(text, text:find "\n$" and "" or "\n")
    return GOOD
  end
  check_carried(description, who)
  local device = try("--device", core.device, options.device or "host")
  local handler = find_handler(description, options.lib, device)
  local types = try(who, contents.results, description)
  local expected, numbers = read_expected(types, options.expect), plan_output(types, options.output)
  local operands = make_operands(try(who, contents.operands, description), options, device)
  local results, err = errors.try(description.call, description, handler, operands, nil,
    { device = device, checked = options.checked or false })
  if err then stop(BAD, "%s", tostring(err)) end
  results = flatten(results, {})
  for _, result in ipairs(results) do print(result) end
  save(results, numbers, options.output)
  return compare(results, expected, options) and GOOD or BAD
end

local function parser()
  local p = require "argparse" ("ccw run", "Runs a custom call that is written as StableHLO or HLO.")
  local function list(name, value, text) p:option(name, text .. " May be given again."):argname(value):count "*" end
  p:argument("call", "A file with the call, or with a module that has some; - for standard input.")
  list("--lib", "LIBRARY", "Where the handler is, or LIBRARY:TARGET=NAME, which says what it is called there; LIBRARY:TARGET=NAME,NAME " ..
    "for instantiate and execute, with four names for instantiate, prepare, initialize and execute.")
  p:option("--pick", "Which call of several: its number, its target or the name of its result."):argname "CALL"
  p:flag("--list", "List the calls, and run none.")
  p:option("--text", "Write the call as stablehlo, generic, hlo, jax or c, and do not run it."):argname "FORM"
  list("--input", "ARRAY", "An operand, then the next one, those of a tuple one by one and no tokens: 'f32[2] {1, 2}', '{1, 2}', a " ..
    "number for all elements, @FILE.npy, @FILE.npz:NAME, or random, as are those that are not given.")
  p:option("--seed", "Of random operands: arg i gets this plus i.", "0"):argname "N"
  list("--output", "FILE", "Where to save: an .npy for each result, or one .npz for all.")
  list("--expect", "ARRAY", "What a result should be, then the next one, written as operands are.")
  p:flag("--exact", "Elements have to be equal, not just close.")
  p:option("--rtol", "Close is |result - expected| <= atol + rtol * |expected|; the default is for the dtype, see ?compare."):argname "X"
  p:option("--atol", "As large as rtol where it is not given."):argname "X"
  p:option("--device", "Where it runs.", "host"):argname "DEVICE"
  p:flag("--checked", "Run the handler on copies that tell what it does wrong.")
  return fit(p, "Exit codes: 0, it ran; 1, the call failed, or a result is not as expected; 2, an option, a file or the text is wrong.")
end

--- command(arguments, program) -> exit code. What `ccw run` does.
function M.command(arguments, program)
  local ok, options = parser():pparse(arguments)
  local code
  if ok then
    ok, code = pcall(program.interruptible, function(err) return err end, run, options)
    if ok then return code end
  else
    code = setmetatable({ code = TROUBLE, message = options:gsub("\n", "; ") .. "; see ccw run --help" }, Stop)
  end
  local is_stop = getmetatable(code) == Stop
  io.stderr:write("ccw: ", is_stop and code.message or tostring(code), "\n")
  return is_stop and code.code or TROUBLE
end

return M

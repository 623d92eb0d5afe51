--- ccw test: busted, in this program.
local core = require "ccw.core"
local settings = require "ccw.test.settings"
local suite = require "ccw.test.suite"

local M = {}

local PASSED, FAILED, MISUSE = 0, 1, 2

local function say(text) io.stderr:write("ccw test: ", text, "\n") end

local function parser()
  local p = require "argparse" ("ccw test", "Runs specs with busted.")
  p:argument("specs", "Files, or folders with files *_spec.lua; spec/, where there is one."):args "*"
  p:option("--case", "Run one case again: N, or with other values N:n=1,T=f32, as the message of a failure has it."):argname "N"
  p:option("--seed", "Draw random numbers from it; 1 unless it is set."):argname "S"
  p:option("--time-limit", "Seconds that a case may take, 30 unless it is set; then every other test has it, too."):argname "S"
  p:option("--require", "A device that has to be there, as cuda or sim:0: what is skipped without it fails."):argname "DEVICE":count "*"
  p:option("-o --output", "plain, TAP, junit, or another output of busted's or a file.lua."):default "plain"
  p:option("--filter", "Run only tests whose names match this pattern of Lua."):argname "PATTERN":count "*"
  p:option("--filter-out", "Leave out tests whose names match."):argname "PATTERN":count "*"
  p:option("-t --tags", "Run only tests with these #tags."):count "*"
  p:option("--exclude-tags", "Leave out tests with these #tags."):argname "TAGS":count "*"
  p:option("--pattern", "The names of files in folders, _spec unless it is set."):argname "PATTERN":count "*"
  p:option("--helper", "A file to run first."):argname "FILE"
  p:option("--repeat", "Run everything that often."):argname "COUNT"
  p:flag("--no-keep-going", "End at the first failure.")
  p:flag("--shuffle", "In another order each time.")
  p:flag("-l --list", "List the tests, and run none.")
  p:epilog [[
The exit code is 0 when all passed, 1 when something failed, 2 when nothing could be run. The last line is
"N passed, N failed, N skipped", on standard error where TAP or XML goes to standard output.]]
  return p
end

local function exists(path)
  local file = io.open(path)
  if file then file:close() end
  return file ~= nil
end

--- The number that the value of an option is; complains and gives nothing for what is none.
local function number_of(name, text, is_good, wanted)
  local number = tonumber(text)
  if number and is_good(number) then return number end
  say(("--%s: expected %s, got %s"):format(name, wanted, text))
end

--- Takes over what is ours of the options. False, after it has said why, where it cannot be.
local function configure(options)
  if options.seed then
    settings.seed = number_of("seed", options.seed, math.tointeger, "an integer")
    settings.seed = math.tointeger(settings.seed)
    if not settings.seed then return false end
  end
  if options.time_limit then
    settings.time_limit = number_of("time-limit", options.time_limit, function(n) return n > 0 and n < math.huge end, "seconds above 0")
    if not settings.time_limit then return false end
  end
  if options.case then
    settings.only = settings.read_case(options.case)
    if not settings.only then
      say(("--case: expected a number, or as 5:n=1, got %s"):format(options.case))
      return false
    end
  end
  for _, names in ipairs(options.require) do settings.require(names) end
  if options.shuffle then settings.order = " --shuffle" end
  for _, name in ipairs { "filter_out", "exclude_tags" } do -- which leave out whole blocks
    for _, value in ipairs(options[name]) do
      settings.order = ("%s --%s %s"):format(settings.order, name:gsub("_", "-"), suite.quoted(value))
    end
  end
  return true
end

--- What busted's command line is told.
local function arguments_of(options, output)
  local list = { [0] = "ccw test", "--ignore-lua", "--output=" .. output, "--seed=" .. settings.seed }
  for _, name in ipairs { "filter", "filter_out", "tags", "exclude_tags", "pattern" } do
    for _, value in ipairs(options[name]) do list[#list + 1] = ("--%s=%s"):format(name:gsub("_", "-"), value) end
  end
  for _, name in ipairs { "helper", "repeat" } do
    if options[name] then list[#list + 1] = ("--%s=%s"):format(name, options[name]) end
  end
  if options.no_keep_going then list[#list + 1] = "--no-keep-going" end
  if options.shuffle then list[#list + 1] = "--shuffle" end
  if options.list then list[#list + 1] = "--list" end
  list[#list + 1] = "--"
  for _, spec in ipairs(options.specs) do list[#list + 1] = spec end
  return list
end

--- Runs what ends the process, and gives the exit code with which it would have, 0 where it comes to its end.
local function until_exit(f)
  local sentinel, exit = {}, os.exit
  os.exit = function(code) -- luacheck: ignore
    sentinel.code = code == true and 0 or code == false and 1 or code or 0
    error(sentinel, 0)
  end
  local ok, err = xpcall(f, function(message)
    return message == sentinel and message or debug.traceback(tostring(message), 2)
  end)
  os.exit = exit -- luacheck: ignore
  if ok then return 0 end
  if err == sentinel then return sentinel.code end
  say(err)
  return MISUSE
end

--- With a time limit that was asked for, tests that are no cases have it, too; and a crash is told with the test in which it was.
local function watch(is_limited)
  local busted = require "busted"
  local seconds = is_limited and settings.time_limit or 0
  busted.subscribe({ "test", "start" }, function(element)
    local trace = element.trace or {}
    local place = ("%s:%d: "):format(trace.short_src or "?", trace.currentline or 0)
    core.watch(place .. tostring(element.name), suite.is_case(element) and 0 or seconds)
    return nil, true
  end)
  busted.subscribe({ "test", "end" }, function()
    core.watch()
    return nil, true
  end)
end
--- Runs busted with what it is told; gives its exit code, and what was counted.
local function run_busted(options, program)
  local output = require "ccw.test.output"
  local counts
  local function counting(make)
    return function(...)
      counts = output.counter()
      watch(options.time_limit ~= nil)
      return make(...)
    end
  end
  local name = options.output
  if name == "plain" then
    package.loaded["ccw.test.plain"] = counting(output.handler(program))
    name = "ccw.test.plain"
  else
    local module = "busted.outputHandlers." .. name
    warn "@off" -- what an output of busted's is made of may be out of date, which is nobody's business here
    local found, make = pcall(name:find "%.lua$" and dofile or require, name:find "%.lua$" and name or module)
    warn "@on"
    if not found or type(make) ~= "function" then
      say(("--output: there is no output '%s': plain, TAP, junit, gtest, utfTerminal, plainTerminal, or a file.lua"):format(name))
      return MISUSE
    end
    package.loaded["ccw.test.other"] = counting(make)
    name = "ccw.test.other"
  end
  _G.arg = arguments_of(options, name)
  local code = until_exit(function() require "busted.runner" { standalone = false } end)
  return code, counts
end

local function closing_line(counts) return ("%d passed, %d failed, %d skipped"):format(counts.passed, counts.failed, counts.skipped) end

--- command(arguments, program) -> exit code. What `ccw test` does.
function M.command(arguments, program)
  local p = parser()
  local ok, options = p:pparse(arguments)
  if not ok then
    say(options .. "; ccw test --help tells what there is")
    return MISUSE
  end
  if not pcall(require, "busted.runner") then
    say "busted is not here: install lua-busted, or its rock"
    return MISUSE
  end
  if #options.specs == 0 and exists "spec" then options.specs = { "spec" } end
  if #options.specs == 0 then
    say "there is no folder spec/ here: name the specs, ccw test FILE ..., or put them there as spec/NAME_spec.lua"
    return MISUSE
  end
  for _, path in ipairs(options.specs) do
    if not exists(path) then
      say(("%s is not there"):format(path))
      return MISUSE
    end
  end
  if not configure(options) then return MISUSE end
  _G.ccw = require "ccw"
  local code, counts = run_busted(options, program)
  if code == MISUSE or not counts or options.list then return code end
  local to = options.output == "plain" and io.stdout or io.stderr
  io.stdout:flush()
  to:write(closing_line(counts), "\n")
  if counts.failed > 0 then return FAILED end
  if counts.passed + counts.skipped > 0 then return code == 0 and PASSED or FAILED end
  say(settings.only and ("no case has the number %d"):format(settings.only.number) or "no test matches")
  return MISUSE
end

return M

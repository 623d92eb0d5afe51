--- ccw test: busted, in this program.
local core = require "ccw.core"
local settings = require "ccw.test.settings"
local suite = require "ccw.test.suite"
local fit = require "ccw.usage"

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
  p:option("-o --output", "plain, TAP, junit, or another output of busted's or a file.lua."):argname "FORM":default "plain"
  p:option("--filter", "Run only tests whose names match this pattern of Lua."):argname "PATTERN":count "*"
  p:option("--filter-out", "Leave out tests whose names match."):argname "PATTERN":count "*"
  p:option("-t --tags", "Run only tests with these #tags."):argname "TAGS":count "*"
  p:option("--exclude-tags", "Leave out tests with these #tags."):argname "TAGS":count "*"
  p:option("--pattern", "The names of files in folders, _spec unless it is set."):argname "PATTERN":count "*"
  p:option("--helper", "A file to run first."):argname "FILE"
  p:option("--repeat", "Run everything that often."):argname "COUNT"
  p:flag("--no-keep-going", "End at the first failure.")
  p:flag("--shuffle", "In another order each time.")
  p:flag("-l --list", "List the tests, and run none.")
  return fit(p, [[
The exit code is 0 when all passed, 1 when something failed, 2 when nothing could be run. The last line is
"N passed, N failed, N skipped", on standard error where TAP or XML goes to standard output.]])
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
  settings.is_read_by_program = options.output ~= "plain"
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
  local function text_of(self) return ("it ends the program: os.exit(%d)"):format(self.code) end
  local sentinel, exit = setmetatable({}, { __tostring = text_of }), os.exit
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

--- The output of that name, one of ours or of busted's, or a file; says why, and gives nothing, where there is none.
local function find_output(name, program)
  if name == "plain" then return require "ccw.test.output".handler(program) end
  local load, from = require, "busted.outputHandlers." .. name
  if name:find "%.lua$" then load, from = dofile, name end
  warn "@off" -- what an output of busted's is made of may be out of date, which is nobody's business here
  local found, make = pcall(load, from)
  warn "@on"
  if found and type(make) == "function" then return make end
  say(("--output: there is no output '%s': plain, TAP, junit, gtest, utfTerminal, plainTerminal, or a file.lua"):format(name))
end

--- Runs busted with that output and what it is told; gives its exit code, and what was counted.
local function run_busted(options, make)
  local counts
  package.loaded["ccw.test.present"] = function(...) -- under which name busted finds it
    counts = require "ccw.test.output".counter()
    suite.begin()
    watch(options.time_limit ~= nil)
    return make(...)
  end
  _G.arg = arguments_of(options, "ccw.test.present")
  local code = until_exit(function() require "busted.runner" { standalone = false } end)
  return code, counts
end

--- Why there is nothing to run; nil where there is. The specs are those of the folder spec where none is named.
local function complaint(options)
  if not pcall(require, "busted.runner") then return "busted is not here: install lua-busted, or its rock" end
  if #options.specs == 0 and exists "spec" then options.specs = { "spec" } end
  if #options.specs == 0 then
    return "there is no folder spec/ here: name the specs, ccw test FILE ..., or put them there as spec/NAME_spec.lua"
  end
  for _, path in ipairs(options.specs) do
    if not exists(path) then return path .. " is not there" end
  end
end

--- command(arguments, program) -> exit code. What `ccw test` does.
function M.command(arguments, program)
  local ok, options = parser():pparse(arguments)
  local problem = not ok and options .. "; ccw test --help tells what there is" or complaint(options)
  if problem then
    say(problem)
    return MISUSE
  end
  local output = configure(options) and find_output(options.output, program)
  if not output then return MISUSE end
  _G.ccw = require "ccw"
  io.stdout:setvbuf "line" -- what was told before a crash is told
  local code, counts = run_busted(options, output)
  if code == MISUSE or not counts or options.list then return code end
  local is_empty = counts.passed + counts.failed + counts.skipped == 0
  if is_empty then say(settings.only and ("no case has the number %d"):format(settings.only.number) or "no test matches") end
  local to = options.output == "plain" and io.stdout or io.stderr -- beside what a program reads
  to:write(("%d passed, %d failed, %d skipped\n"):format(counts.passed, counts.failed, counts.skipped))
  if is_empty then return MISUSE end
  return counts.failed == 0 and code == 0 and PASSED or FAILED
end

return M

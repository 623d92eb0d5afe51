--- Cases as tests of busted: described, numbered, run in a child process, and told about when they fail.
local core = require "ccw.core"
local errors = require "ccw.errors"
local settings = require "ccw.test.settings"

local M = {}

--- ---- busted

local busted

--- The busted that runs, or an error that says what there is none for.
local function need_busted(what)
  local found, module = pcall(require, "busted")
  if not found then
    error(what .. " needs busted, which is not here: install lua-busted, or its rock", 0)
  end
  if not module.subscribe then error(what .. " is for specs: `ccw test FILE` or busted runs them", 0) end
  return module
end

local is_ours = setmetatable({}, { __mode = "k" })

M.ran = 0 --- tests that were registered
local current --- the one that runs
local number = 0 --- of the cases of a file

--- Begins with a busted, the first time it is seen: numbers are those of a file, and where one case is wanted no other test runs. Tests
--- that were declared before do all the same.
local function begin(module)
  if busted == module then return end
  busted = module
  busted.subscribe({ "file", "start" }, function()
    number = 0
    return nil, true
  end, { priority = 1 })
  busted.subscribe({ "suite", "reset" }, function()
    number = 0
    return nil, true
  end)
  busted.subscribe({ "test", "start" }, function(element)
    current = element
    return nil, true
  end)
  busted.subscribe({ "test", "end" }, function()
    current = nil
    return nil, true
  end)
  busted.subscribe({ "register", "it" }, function(_, f)
    return nil, not settings.only or is_ours[f] == true
  end, { priority = 1 })
end

--- Begins with the busted that runs, if one does.
function M.begin()
  local module = package.loaded.busted
  if module and module.subscribe then begin(module) end
end
M.begin()

--- Where the user's code calls, as busted wants to know it: short_src, currentline, traceback.
local function place_of_caller()
  for level = 3, math.huge do
    local info = debug.getinfo(level, "Sl")
    if not info then return { short_src = "?", currentline = 0, traceback = "" } end
    if info.what ~= "C" and not errors.is_own(info) then
      return { short_src = info.source:match "^[@=](.*)$" or info.short_src, source = info.source, currentline = info.currentline,
        what = "Lua", traceback = "" }
    end
  end
end

--- Begins what the function `what` of ccw.test declares, and tells where it was called.
function M.open(what)
  begin(need_busted(what))
  return place_of_caller()
end

--- A block of tests, f() declares them.
function M.describe(name, site, f)
  if current then
    error(("%s:%d: it declares tests, which a test cannot: call it in a describe, or in the file itself"):format(site.short_src,
      site.currentline), 0)
  end
  busted.publish({ "register", "describe" }, name, f, site, nil)
end

--- One test.
function M.it(name, site, f)
  is_ours[f], M.ran = true, M.ran + 1
  busted.publish({ "register", "it" }, name, f, site, nil)
end

--- Whether a test is a case, which has a time limit of its own.
function M.is_case(element) return is_ours[element.run] == true end

--- Ends a test, as failed or as skipped.
function M.fail(text) busted.fail(text, 0) end

function M.skip(text) current.env.pending(text) end

--- A test for a place that is not there: skipped, or failed where it is required.
function M.absent(place, site)
  M.it("is there", site, function()
    local text = ("%s:%d: on %s: %s"):format(site.short_src, site.currentline, place.name, place.why)
    if place.is_required then M.fail(text) end
    M.skip(text)
  end)
end

--- ---- numbers

--- The number of the next case, and whether it is to be run, with the changes to it.
function M.next_number()
  number = number + 1
  if not settings.only then return number, true, nil end
  return number, settings.only.number == number, settings.only.changes
end

--- A word as a shell takes it.
local function quoted(word) return word:find "^[%w_:=,.%-/]+$" and word or "'" .. word:gsub("'", "'\\''") .. "'" end

--- The command that runs a case again.
function M.again(site, case_number, changes)
  local option = changes ~= "" and ("%d:%s"):format(case_number, changes) or ("%d"):format(case_number)
  return ("ccw test %s --case %s --seed %d%s"):format(quoted(site.short_src), quoted(option), settings.seed, settings.order)
end
M.quoted = quoted

--- ---- the child

--- What runs questions about a place: f(question) -> answer, in a child process, of which there is one at a time. What a driver
--- gave this process a child does not have: on a GPU it is done here.
local runner = {}
runner.__index = runner

local present
local exit = os.exit -- `ccw test` has another one, for itself

function M.runner(f, place)
  return setmetatable({ f = f, is_here = place.name ~= "host" and not place.name:find "^sim:" }, runner)
end

local signals = { [4] = "SIGILL", [6] = "SIGABRT", [7] = "SIGBUS", [8] = "SIGFPE", [9] = "SIGKILL", [11] = "SIGSEGV" }

--- How a child ended, as a kind of failure and its text.
local function describe_end(how, seconds)
  local signal = math.tointeger(tonumber(how:match "^signal (%d+)"))
  if how == "timeout" then return "time", ("it was not done after %g seconds, and was ended"):format(seconds) end
  if signal then return "signal", ("it crashed: %s"):format(signals[signal] or "signal " .. signal) end
  return "exit", ("it ended the process, with exit code %s"):format(how:match "%d+")
end

--- Asks. Returns what the function answers; or nil, a kind of failure and its text where the child did not survive.
function runner:ask(question, seconds, name)
  if self.is_here then
    core.watch(name, seconds)
    local answer = self.f(question)
    core.watch()
    return answer
  end
  if present ~= self or not self.worker or self.worker:over() then
    if present and present.worker then present.worker:close() end
    present, self.worker = self, core.worker(function(asked)
      os.exit = exit -- luacheck: ignore
      return self.f(asked)
    end, settings.is_read_by_program)
  end
  local answer, how = self.worker:ask(question, seconds)
  if answer then return answer end
  return nil, describe_end(how, seconds)
end

return M

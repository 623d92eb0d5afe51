--- How long things take.
local core = require "ccw.core"
local call = require "ccw.call"
local terminal = require "ccw.terminal"

local M = {}

local ROUNDS, FEWEST = 20, 3
local A_ROUND, IN_ALL = 0.01, 2 -- seconds: at least, and about

--- seconds(t) -> string. "144 ns", "1.23 ms".
function M.seconds(t)
  if t >= 1000 then return ("%d s"):format(math.floor(t)) end
  if t >= 1 then return ("%.3g s"):format(t) end
  if t >= 1e-3 then return ("%.3g ms"):format(t * 1e3) end
  if t >= 1e-6 then return ("%.3g %s"):format(t * 1e6, terminal.is_utf8() and "µs" or "us") end
  return ("%.3g ns"):format(t * 1e9)
end

--- unchecked(f, ...) -> results of f. Calls that f makes are not checked.
function M.unchecked(f, ...)
  local before = call.checked
  local _ <close> = setmetatable({}, { __close = function() call.checked = before end })
  call.checked = false
  return f(...)
end

--- devices() -> list. Those whose work is to be waited for: there is something on them.
local function devices()
  local list = {}
  for _, row in ipairs(core.devices()) do
    local device = row[2]
    if device and device.name ~= "host" and core.device_allocations(device) ~= "" then list[#list + 1] = device end
  end
  return list
end

local function sync(list)
  for _, device in ipairs(list) do core.device_sync(device) end
end

--- once(f, ...) -> seconds, results of f, packed. With the work that it leaves on devices.
function M.once(f, ...)
  local start = core.clock()
  local results = table.pack(f(...))
  local taken = core.clock() - start
  local used = devices() -- whose finding is not timed
  start = core.clock()
  sync(used)
  return taken + core.clock() - start, results
end

--- measure(run) -> table. Times run(n), which does something n times: rounds, count (of a round), best, median, worst, low and high
--- (quartiles), in seconds for once. Work on devices is waited for in each round.
function M.measure(run)
  run(1)
  local used = devices()
  local function time(count)
    local start = core.clock()
    run(count)
    sync(used)
    return (core.clock() - start) / count
  end
  local count, once = 1, time(1)
  while once * count < A_ROUND do
    count = count * 10
    once = time(count)
  end
  local times, rounds = {}, math.max(FEWEST, math.min(ROUNDS, IN_ALL // (once * count)))
  for i = 1, rounds do times[i] = time(count) end
  table.sort(times)
  local function at(share) return times[math.floor(share * (#times - 1) + 1.5)] end
  return { rounds = #times, count = count, best = times[1], median = at(0.5), worst = times[#times], low = at(0.25), high = at(0.75) }
end

--- text(measured) -> string. What measure has found, in a sentence.
function M.text(measured)
  local t = M.seconds
  return ("%s in the median of %d rounds of %d; best %s, middle half %s to %s, worst %s"):format(t(measured.median), measured.rounds,
    measured.count, t(measured.best), t(measured.low), t(measured.high), t(measured.worst))
end

return M

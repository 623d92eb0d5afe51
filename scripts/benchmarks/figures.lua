-- figures.lua: rounds of measurements and the table of their medians.
local core = require "ccw.core"

local M = {}

--- Seconds that f(...) takes.
function M.time(f, ...)
  local start = core.clock()
  f(...)
  return core.clock() - start
end

local function median(values)
  table.sort(values)
  local n = #values
  return n % 2 == 1 and values[n // 2 + 1] or (values[n // 2] + values[n // 2 + 1]) / 2
end

--- Runs every measurement once a round, so that what disturbs the machine disturbs them all; gives each one's median.
-- `measurements` is a list of {name, f}; f returns a number.
function M.interleave(rounds, measurements)
  local samples = {}
  for _, m in ipairs(measurements) do samples[m[1]] = {} end
  for _ = 1, rounds do
    for _, m in ipairs(measurements) do table.insert(samples[m[1]], m[2]()) end
  end
  local medians = {}
  for name, values in pairs(samples) do medians[name] = median(values) end
  return medians
end

--- Prints figures {name, ours, peer or nil, unit, what the peer is}, as a table or as lines with tabs.
function M.print(figures, tsv)
  if not tsv then print(("%-26s %12s %12s %10s  %-8s %s"):format("figure", "ours", "peer", "peer/ours", "unit", "peer")) end
  for _, figure in ipairs(figures) do
    local name, ours, peer, unit, what = table.unpack(figure, 1, 5)
    local function number(x) return x and ("%.4g"):format(x) or "-" end
    local ratio = peer and number(peer / ours) or "-"
    if tsv then
      print(table.concat({ name, number(ours), number(peer), ratio, unit }, "\t"))
    else
      print(("%-26s %12s %12s %10s  %-8s %s"):format(name, number(ours), number(peer), ratio, unit, what or ""))
    end
  end
end

return M

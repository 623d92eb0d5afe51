-- runtime.lua BUILD [--tsv]: what state, futures and tasks cost beyond a call, and what two threads do of what one does.
package.path = "scripts/benchmarks/?.lua;" .. package.path
local figures = require "figures"

local build, tsv = arg[1], arg[2] == "--tsv"

local peers = {
  state = "the same call without state",
  future = "the same call without a future",
  future_in_pool = "a task in a queue with a mutex and a condition, waited for",
  task = "a task in such a queue, 1000 at once",
  two_threads = "one thread",
  beside_another = "the processor's time of a call alone",
}

local list = {}
local pipe <close> = io.popen(("'%s/bench/runtime'"):format(build))
for line in pipe:lines() do
  local name, ours, peer = line:match "^(%S+) (%S+) (%S+)$"
  list[#list + 1] = { "runtime." .. name, tonumber(ours), tonumber(peer), "ns", peers[name] }
end
assert(#list > 0, "runtime measured nothing")
figures.print(list, tsv)

-- device.lua BUILD [--tsv]: launches on the simulated device, operations on the host, and code that was compiled before.
package.path = "scripts/benchmarks/?.lua;" .. package.path
local figures = require "figures"
local ccw = require "ccw"

local build, tsv = arg[1], arg[2] == "--tsv"

local peers = {
  axpy_on_sim = "the same as a plain loop, 4M elements",
  matmul_on_sim = "the same as a plain loop, 192 x 192",
  axpy_on_host = "a plain loop on the same memory",
  add_mod_on_host = "a plain loop that scales, on the same memory",
}

local list = {}
do
  local pipe <close> = io.popen(("'%s/bench/device' '%s/lib/libccw_kernels.so'"):format(build, build))
  for line in pipe:lines() do
    local name, ours, peer = line:match "^(%S+) (%S+) (%S+)$"
    list[#list + 1] = { "device." .. name, tonumber(ours), tonumber(peer), "ns", peers[name] }
  end
end
assert(#list > 0, "device measured nothing")

local function compile()
  return ccw.kernel { name = "nothing", source = "__global__ void nothing() {}" }
end
compile()
local best = math.huge
for _ = 1, 50 do best = math.min(best, figures.time(compile)) end
list[#list + 1] = { "device.compiled_before", 1e9 * best, nil, "ns" }
figures.print(list, tsv)

-- npy.lua BUILD [--tsv]: reading a .npy file of 1 GiB that is in the page cache, beside `cat FILE >/dev/null`. Another suite may have
-- `dofile "scripts/benchmarks/npy.lua" (build)`, a list of figures, and then nothing is printed.
package.path = "scripts/benchmarks/?.lua;" .. package.path
local ccw = require "ccw"
local figures = require "figures"

local ROUNDS, GIB = 9, 1 << 30

--- A list of {name, ours, peer, unit, what the peer is}.
local function measure(build)
  local path = build .. "/bench/array.npy"
  ccw.write(path, ccw.array(("s32[%d]"):format(GIB // 4)))
  local function read()
    local milliseconds = figures.time(ccw.read, path) * 1e3
    collectgarbage() -- gives the memory back
    return milliseconds
  end
  local function cat() return figures.time(os.execute, ("cat '%s' >/dev/null"):format(path)) * 1e3 end
  read()
  cat()
  local medians = figures.interleave(ROUNDS, { { "read", read }, { "cat", cat } })
  os.remove(path)
  return { { "npy.read_1_gib", medians.read, medians.cat, "ms", "cat of the file to /dev/null" } }
end

if arg and arg[0] and arg[0]:find "npy%.lua$" then
  figures.print(measure(arg[1]), arg[2] == "--tsv")
else
  return measure
end

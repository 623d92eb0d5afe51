-- test.lua BUILD [--tsv]: 2,000 small cases under `ccw test`, and 2,000 tests that do nothing under busted.
package.path = "scripts/benchmarks/?.lua;" .. package.path
local figures = require "figures"

local build, tsv = arg[1], arg[2] == "--tsv"
local ROUNDS = 5

--- A spec in the folder of benchmarks.
local function write(name, text)
  local path = ("%s/bench/%s_spec.lua"):format(build, name)
  local file <close> = assert(io.open(path, "w"))
  file:write(text)
  return path
end

os.execute(("mkdir -p '%s/bench'"):format(build))
local nothing = write("nothing", [[
for i = 1, 2000 do
  it("n=" .. i, function() assert.is_true(true) end)
end
]])
local function cases(places)
  return ([[
local t = require "ccw.test"
local lib, sizes = ccw.load %q, {}
for i = 1, 2000 do sizes[i] = i %% 67 end
t.check(%s, "(b: f32[1], c: f32[n]) -> (a: f32[n])", {
  n = sizes,
  oracle = function(b, c, to)
    for i = 1, to.n do to.a[i] = b[1] + c[i] end
  end,
})
]]):format(build .. "/lib/libccw_kernels.so", places)
end
local on_host, on_sim = write("host", cases "lib.add_mod"), write("sim", cases "{ sim = lib.add_mod_device }")

--- Milliseconds of a command whose output ends with that line.
local function run(command, line)
  return function()
    local output
    local spent = figures.time(function()
      local pipe <close> = io.popen(command .. " 2>&1")
      output = pipe:read "a"
    end)
    assert(output:find(line, 1, true), output)
    return 1e3 * spent
  end
end

local function ccw_test(path) return run(("'%s/bin/ccw' test '%s'"):format(build, path), "2000 passed, 0 failed, 0 skipped") end

local medians = figures.interleave(ROUNDS, {
  { "busted", run(("lua5.4 /usr/bin/busted --ignore-lua '%s'"):format(nothing), "2000 successes / 0 failures") },
  { "host", ccw_test(on_host) },
  { "sim", ccw_test(on_sim) },
  { "nothing", ccw_test(nothing) },
})
local what = "2,000 tests that do nothing, under busted"
figures.print({
  { "test.cases_2000", medians.host, medians.busted, "ms", what },
  { "test.cases_2000_on_sim", medians.sim, medians.busted, "ms", what },
  { "test.nothing_2000", medians.nothing, medians.busted, "ms", what },
}, tsv)

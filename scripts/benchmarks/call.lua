-- call.lua BUILD [--tsv]: what a call costs beside its handler and beside JAX; start-up; comparison.
local ccw = require "ccw"
local core = require "ccw.core"
package.path = "scripts/benchmarks/?.lua;" .. package.path
local figures = require "figures"

local build, tsv = arg[1], arg[2] == "--tsv"
local kernels_path = build .. "/lib/libccw_kernels.so"
local scale = ccw.load(kernels_path).scale
local ROUNDS = 15

-- ---- peers

local function alone() -- the handler in ns, memcpy of 64 MiB in ms
  local pipe <close> = io.popen(("'%s/bench/call' '%s'"):format(build, kernels_path))
  return pipe:read("n", "n")
end

local jax
do
  local python = build .. "/venv/jax-0.10.2/bin/python"
  local file = io.open(python)
  if file then
    file:close()
    local fifo = build .. "/bench/jax.fifo"
    os.execute(("rm -f '%s' && mkfifo '%s'"):format(fifo, fifo))
    local answers = io.popen(("'%s' scripts/benchmarks/jax_call.py '%s' '%s'"):format(python, kernels_path, fifo))
    assert(answers:read() == "ready", "JAX does not start")
    local questions = assert(io.open(fifo, "w"))
    jax = function()
      questions:write "again\n"
      questions:flush()
      return tonumber(answers:read())
    end
  end
end

local function run(command)
  return function() return 1e3 * figures.time(os.execute, command) end
end

-- ---- ours

local CALLS = 200000
local x = ccw.f32 { 1, 2, 3, 4 }
local attributes = { s = ccw.f32(2) }
local prepared = ccw.prepare(scale, { x }, "f32[4]", attributes)

local function call_prepared()
  local start = core.clock()
  for _ = 1, CALLS do prepared() end
  return (core.clock() - start) / CALLS * 1e9
end

local types, operands = {}, {}
for n = 1, 64 do
  types[n] = ("f32[%d]"):format(n)
  operands[n] = { ccw.array(types[n]) }
end

local function call_fresh() -- another shape than the call before; result, frame and attributes are made each time
  local start = core.clock()
  for _ = 1, 400 do
    for n = 1, 64 do ccw.call(scale, operands[n], types[n], attributes) end
  end
  return (core.clock() - start) / (400 * 64) * 1e9
end

local a = ccw.random("f32[16777216]", 1)
local b = ccw.array("f32[16777216]", a)
local options = { rtol = 1e-5, atol = 1e-6 }
for i = 1, 16777216, 4097 do b[i] = b[i] * (1 + 1e-6) end -- close, and not equal

local function compare()
  local equal
  local spent = figures.time(function() equal = ccw.compare(a, b, options).equal end)
  assert(equal)
  return 1e3 * spent
end

-- ---- the run

local handler, memcpy = {}, {}
local medians = figures.interleave(ROUNDS, {
  { "prepared", call_prepared },
  { "jax", jax or function() return 0 end },
  { "fresh", call_fresh },
  { "alone", function()
    local ns, ms = alone()
    table.insert(handler, ns)
    table.insert(memcpy, ms)
    return ns
  end },
  { "memcpy", function() return table.remove(memcpy) end },
  { "compare", compare },
  { "ccw", run(("'%s/bin/ccw' -e ''"):format(build)) },
  { "lua", run "lua5.4 -e ''" },
})

local before = core.memory().allocations
for _ = 1, CALLS do prepared() end
local allocations = (core.memory().allocations - before) / CALLS

figures.print({
  { "call.prepared", medians.prepared, jax and medians.jax, "ns", "jax.jit, blocking (JAX 0.10.2)" },
  { "call.prepared_over_handler", medians.prepared - medians.alone, nil, "ns" },
  { "call.prepared_allocations", allocations, nil, "a call" },
  { "call.fresh_over_handler", medians.fresh - medians.alone, nil, "ns" },
  { "call.handler", medians.alone, nil, "ns" },
  { "call.compare_64MiB", medians.compare, medians.memcpy, "ms", "memcpy of 64 MiB" },
  { "call.startup", medians.ccw, medians.lua, "ms", "lua5.4 -e ''" },
}, tsv)
os.exit(true, true)

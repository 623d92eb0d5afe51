-- decode.lua BUILD [--tsv]: what a handler spends on its frame, and what it adds to a library, beside the official binding.
package.path = "scripts/benchmarks/?.lua;" .. package.path
local figures = require "figures"

local build, tsv = arg[1], arg[2] == "--tsv"

local function lines(command)
  local pipe <close> = io.popen(command)
  local list = {}
  for line in pipe:lines() do list[#list + 1] = line end
  return list
end

--- Whether the suite was built with that compiler.
local function is_built(compiler)
  local file <close> = io.open(("%s/bench/decode-%s/decode"):format(build, compiler))
  return file ~= nil
end

--- Nanoseconds a call of each handler, one figure each.
local function times(compiler, prefix)
  local list = {}
  for _, line in ipairs(lines(("'%s/bench/decode-%s/decode'"):format(build, compiler))) do
    local name, ours, official = line:match "^(%w+) (%S+) (%S+)$"
    list[#list + 1] = { prefix .. name, tonumber(ours), tonumber(official), "ns", "official binding (jaxlib 0.12.0.1)" }
  end
  assert(#list > 0, "decode measured nothing")
  return list
end

--- Code and data of an object, in bytes: what goes into a library, without symbols and relocations.
local function size(compiler, object)
  local text, data, bss = lines(("size '%s/bench/decode-%s/%s.o'"):format(build, compiler, object))[2]:match "(%d+)%s+(%d+)%s+(%d+)"
  return text + data + bss
end

--- What one handler more adds, in a library that has others: two matrices in, one out, two attributes.
-- What handlers share is there already and does not count; what the compiler makes for this one does.
local function handler_size(compiler, prefix)
  local function added(side) return size(compiler, side .. "_more") - size(compiler, side) end
  return { prefix .. "handler_size", added "ours", added "official", "bytes", "official binding (jaxlib 0.12.0.1)" }
end

--- A prepared call of a handler whose binding was declared at run time, beside one of handler.h that binds the same; and
--- what each operand more costs.
local function runtime_bindings()
  local pipe <close> = io.popen(("'%s/bench/decode_runtime'"):format(build))
  local one, nine, c_one, c_nine = pipe:read("n", "n", "n", "n")
  return { { "decode.runtime1", one, c_one, "ns", "a handler of handler.h, called the same way" },
    { "decode.runtime_operand", (nine - one) / 8, (c_nine - c_one) / 8, "ns", "the same, an operand more" } }
end

--- The same of handlers in Lua, which do nothing.
local function lua_handlers()
  local ccw = require "ccw"
  local CALLS, ROUNDS, x = 20000, 31, ccw.f32 { 1, 2, 3, 4 }
  local function prepare(operands)
    local patterns, list = {}, {}
    for i = 1, operands do patterns[i], list[i] = "f32[?]", x end
    local handler = ccw.bind("(" .. table.concat(patterns, ", ") .. ")"):to(function(...) return select("#", ...) == 0 or nil end)
    return ccw.prepare(handler, list, "()")
  end
  local one, nine = prepare(1), prepare(9)
  local function each(call)
    return function() return 1e9 / CALLS * figures.time(function() for _ = 1, CALLS do call() end end) end
  end
  local medians = figures.interleave(ROUNDS, { { "one", each(one) }, { "nine", each(nine) } })
  return { { "decode.lua1", medians.one, nil, "ns" }, { "decode.lua_operand", (medians.nine - medians.one) / 8, nil, "ns" } }
end

-- ---- the run

local all = {}
for _, suite in ipairs { { "gcc", "decode." }, { "clang", "decode.clang." } } do
  local compiler, prefix = table.unpack(suite)
  if is_built(compiler) then
    for _, figure in ipairs(times(compiler, prefix)) do all[#all + 1] = figure end
    all[#all + 1] = handler_size(compiler, prefix)
  end
end
for _, suite in ipairs { runtime_bindings, lua_handlers } do
  for _, figure in ipairs(suite()) do all[#all + 1] = figure end
end
figures.print(all, tsv)

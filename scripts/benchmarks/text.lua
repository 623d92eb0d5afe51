-- text.lua BUILD [--tsv]: calls as text, read, written and listed, in time of the processor. The peer is jaxlib's own parser and printer,
-- where JAX is installed: of a call as a part of a module with many, of a module as a whole.
package.path = "scripts/benchmarks/?.lua;" .. package.path
local ccw = require "ccw"
local figures = require "figures"

local build, tsv = arg[1], arg[2] == "--tsv"
local ROUNDS, CALLS, SIZE = 7, 2000, 50 << 20

-- ---- what is read

local config = "{axis = %d : i64, eps = 1.000000e-05 : f32, mode = \"fast\", on = true, sizes = dense<[1, 2, 3]> : tensor<3xi32>}"

local stablehlo_call = "    %%%d = stablehlo.custom_call @target%d(%%arg0, %%arg1) {api_version = 4 : i32, backend_config = " .. config
  .. ", operand_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>], result_layouts = [dense<[1, 0]> : "
  .. "tensor<2xindex>]} : (tensor<128x256xf32>, tensor<256xf32>) -> tensor<128x256xf32>\n"

local hlo_call = "  %%c.%d = f32[128,256]{1,0} custom-call(f32[128,256]{1,0} %%arg0, f32[256]{0} %%arg1), "
  .. "custom_call_target=\"target%d\", operand_layout_constraints={f32[128,256]{1,0}, f32[256]{0}}, "
  .. "api_version=API_VERSION_TYPED_FFI, backend_config=" .. config .. "\n"

--- The i-th of many calls: two operands, layouts, five attributes.
local function call_text(form, i) return form:format(i, i % 100, i) end

local stablehlo_head = "module @m {\n  func.func public @main(%arg0: tensor<128x256xf32>, %arg1: tensor<256xf32>) {\n"
local stablehlo_foot = "    return\n  }\n}\n"
local hlo_head = "HloModule m\n\nENTRY main {\n  %arg0 = f32[128,256]{1,0} parameter(0)\n  %arg1 = f32[256]{0} parameter(1)\n"
local hlo_foot = "  ROOT %end = () tuple()\n}\n"

--- A module of about so many bytes, and how many calls are in it: big constants, and other operations with what looks like calls.
local function module_text(head, call, other, constant, foot)
  local parts, size, i, calls = { head }, 0, 0, 0
  while size < SIZE do
    i = i + 1
    local part = i % 1000 == 0 and constant:format(i) or i % 50 == 0 and call_text(call, i) or other:format(i)
    if i % 50 == 0 and i % 1000 ~= 0 then calls = calls + 1 end
    parts[#parts + 1], size = part, size + #part
  end
  parts[#parts + 1] = foot
  return table.concat(parts), calls
end

local stablehlo, calls_in_stablehlo = module_text(stablehlo_head, stablehlo_call,
  "    %%a%d = stablehlo.add %%arg0, %%arg0 : tensor<128x256xf32> loc(\"a stablehlo.custom_call @no(%%x)\") // custom_call @no\n",
  "    %%k%d = stablehlo.constant dense<\"0x" .. ("0000803F"):rep(32768) .. "\"> : tensor<32768xf32>\n", stablehlo_foot)
local hlo, calls_in_hlo = module_text(hlo_head, hlo_call,
  "  %%custom-call.%d = f32[128,256]{1,0} add(%%arg0, %%arg0), metadata={op_name=\"custom-call(x)\" source_line=3}\n",
  "  %%k.%d = f32[32768]{0} constant({" .. ("1, "):rep(32767) .. "1})\n", hlo_foot)

local one, one_hlo = call_text(stablehlo_call, 7), call_text(hlo_call, 7)
local description, description_hlo = ccw.from_text(one), ccw.from_text(one_hlo)
assert(description == description_hlo and ccw.from_text(description:text()) == description)

-- ---- measured

--- Microseconds of the processor for each of many.
local function each(f)
  return function()
    collectgarbage()
    local start = os.clock()
    for _ = 1, CALLS do f() end
    return 1e6 * (os.clock() - start) / CALLS
  end
end

--- Milliseconds of the processor to list a module.
local function list(text, calls)
  return function()
    collectgarbage()
    local start = os.clock()
    local rows = ccw.list_text(text)
    local seconds = os.clock() - start
    assert(#rows == calls, #rows)
    return 1e3 * seconds
  end
end

--- Seconds that jaxlib takes: to parse and to print the calls, and to parse the module of HLO; nil without JAX.
local function jaxlib()
  local python = build .. "/venv/jax-0.10.2/bin/python"
  local file = io.open(python)
  if not file then return nil end
  file:close()
  local many = {}
  for i = 1, CALLS do many[i] = call_text(stablehlo_call, i) end
  local paths = { build .. "/bench/calls.mlir", build .. "/bench/module.hlo" }
  for i, text in ipairs { stablehlo_head .. table.concat(many) .. stablehlo_foot, hlo } do
    local out <close> = assert(io.open(paths[i], "wb"))
    out:write(text)
  end
  local command = ("JAX_PLATFORMS=cpu '%s' scripts/benchmarks/text_jax.py '%s' '%s'"):format(python, paths[1], paths[2])
  local pipe <close> = assert(io.popen(command))
  local parsing, printing, listing = pipe:read("n", "n", "n")
  return parsing and { parsing = 1e6 * parsing / CALLS, printing = 1e6 * printing / CALLS, listing = 1e3 * listing } or nil
end

local medians = figures.interleave(ROUNDS, {
  { "read", each(function() ccw.from_text(one) end) },
  { "write", each(function() description:text() end) },
  { "both", each(function() ccw.from_text(one):text() end) },
  { "both_hlo", each(function() ccw.from_text(one_hlo):text "hlo" end) },
  { "list", list(stablehlo, calls_in_stablehlo) },
  { "list_hlo", list(hlo, calls_in_hlo) },
})
local peer = jaxlib() or {}
local what = "jaxlib 0.10.2"
figures.print({
  { "text.read", medians.read, peer.parsing, "us", what .. ", a call of " .. CALLS .. " in a module, parsed" },
  { "text.write", medians.write, peer.printing, "us", what .. ", the same, printed" },
  { "text.read_and_write", medians.both, peer.parsing and peer.parsing + peer.printing, "us", what .. ", both" },
  { "text.read_and_write_hlo", medians.both_hlo, nil, "us" },
  { "text.list_50MiB", medians.list, nil, "ms" },
  { "text.list_hlo_50MiB", medians.list_hlo, peer.listing, "ms", what .. ", the module parsed" },
}, tsv)
os.exit(true, true)

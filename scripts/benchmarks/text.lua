-- text.lua BUILD [--tsv]: calls as text, read, written and listed. The peer is the parser and printer of jaxlib, where JAX is installed.
package.path = "scripts/benchmarks/?.lua;" .. package.path
local ccw = require "ccw"
local core = require "ccw.core"
local figures = require "figures"

local build, tsv = arg[1], arg[2] == "--tsv"
local ROUNDS, CALLS, SIZE = 7, 5000, 50 << 20

-- ---- what is read

--- The i-th of many calls: two operands, layouts, five attributes.
local function call_text(i)
  return ("    %%%d = stablehlo.custom_call @target%d(%%arg0, %%arg1) {api_version = 4 : i32, backend_config = {axis = %d : i64, eps = 1.000000e-05 : f32, "
    .. "mode = \"fast\", on = true, sizes = dense<[1, 2, 3]> : tensor<3xi32>}, operand_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<0> : "
    .. "tensor<1xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<128x256xf32>, tensor<256xf32>) -> tensor<128x256xf32>\n")
    :format(i, i % 100, i)
end

local function instruction_text(i)
  return ("  %%c.%d = f32[128,256]{1,0} custom-call(f32[128,256]{1,0} %%arg0, f32[256]{0} %%arg1), custom_call_target=\"target%d\", "
    .. "operand_layout_constraints={f32[128,256]{1,0}, f32[256]{0}}, api_version=API_VERSION_TYPED_FFI, backend_config={axis = %d : i64, "
    .. "eps = 1.000000e-05 : f32, mode = \"fast\", on = true, sizes = dense<[1, 2, 3]> : tensor<3xi32>}\n"):format(i, i % 100, i)
end

local one, one_hlo = call_text(7), instruction_text(7)

--- A module of about so many bytes: other operations, names and strings that look like calls, big constants, and a call now and then.
local function module_text(bytes, call, other, constant, head, foot)
  local parts, size, i = { head }, #head, 0
  local count = 0
  while size < bytes do
    i = i + 1
    local part = i % 1000 == 0 and constant or i % 50 == 0 and call(i) or other:format(i)
    if i % 1000 ~= 0 and i % 50 == 0 then count = count + 1 end
    parts[#parts + 1], size = part, size + #part
  end
  parts[#parts + 1] = foot
  return table.concat(parts), count
end

local module, calls_in_module = module_text(SIZE, call_text,
  "    %%a%d = stablehlo.add %%arg0, %%custom_call.1 : tensor<128x256xf32> loc(\"a stablehlo.custom_call @no(%%x)\"(#loc7))\n",
  "    %cst = stablehlo.constant dense<\"0x" .. ("0000803F"):rep(32768) .. "\"> : tensor<32768xf32>\n",
  "module @m {\n  func.func public @main(%arg0: tensor<128x256xf32>, %arg1: tensor<256xf32>) {\n", "    return\n  }\n}\n")
local hlo_module, calls_in_hlo = module_text(SIZE, instruction_text,
  "  add.%d = f32[128,256]{1,0} add(arg0, custom-call.1), metadata={op_name=\"custom-call(x)\" source_line=3}\n",
  "  cst = f32[32768]{0} constant({" .. ("1, "):rep(32767) .. "1})\n",
  "HloModule m\n\nENTRY main {\n  arg0 = f32[128,256]{1,0} parameter(0)\n  arg1 = f32[256]{0} parameter(1)\n", "}\n")

-- ---- measured

--- Microseconds of each of many.
local function each(f)
  return function() return 1e6 * figures.time(function() for _ = 1, CALLS do f() end end) / CALLS end
end

local description, description_hlo = ccw.from_text(one), ccw.from_text(one_hlo)
assert(#description.unsupported == 0 and description:text "hlo" ~= "" and description_hlo.target == "target7")

local function list(text, count)
  return function()
    local rows
    local seconds = figures.time(function() rows = ccw.list_text(text) end)
    assert(#rows == count, #rows)
    return 1e3 * seconds
  end
end

--- Microseconds that jaxlib takes to parse and to print the same call, with the module around it that it needs; nil without JAX.
local function jax()
  local python = build .. "/venv/jax-0.10.2/bin/python"
  local file = io.open(python)
  if not file then return nil end
  file:close()
  local pipe = assert(io.popen(("JAX_PLATFORMS=cpu '%s' scripts/benchmarks/text_jax.py 2>&1"):format(python), "r+" and "r"))
  local answer = pipe:read "a"
  pipe:close()
  return answer
end

local medians = figures.interleave(ROUNDS, {
  { "read", each(function() ccw.from_text(one) end) },
  { "write", each(function() description:text() end) },
  { "both", each(function() ccw.from_text(one):text() end) },
  { "read_hlo", each(function() ccw.from_text(one_hlo) end) },
  { "both_hlo", each(function() ccw.from_text(one_hlo):text "hlo" end) },
})
local lists = figures.interleave(3, {
  { "mlir", list(module, calls_in_module) }, { "hlo", list(hlo_module, calls_in_hlo) },
})
print(jax and medians.read, core)
figures.print({
  { "text.read", medians.read, nil, "us" },
  { "text.write", medians.write, nil, "us" },
  { "text.read_and_write", medians.both, nil, "us" },
  { "text.read_hlo", medians.read_hlo, nil, "us" },
  { "text.read_and_write_hlo", medians.both_hlo, nil, "us" },
  { "text.list_50MiB", lists.mlir, nil, "ms" },
  { "text.list_hlo_50MiB", lists.hlo, nil, "ms" },
}, tsv)

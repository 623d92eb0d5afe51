-- CC-35: the same calls in a real JAX give the same bytes.
local ccw = require "ccw"
local support = require "spec.support"

local venv = os.getenv "CCW_VENV" or support.build .. "/venv"

for version, headers in pairs { ["0.10.2"] = "0_3", ["0.12.0.1"] = "0_5" } do
  describe("CC-35 JAX " .. version .. " #jax", function()
    local python = ("%s/jax-%s/bin/python"):format(venv, version)
    local official, folder, missing = support.library("official_" .. headers), nil, nil
    local x, b, c = ccw.random("f32[500]", 1), ccw.random("f32[128]", 2), ccw.random("f32[2048]", 3)

    setup(function()
      if not support.exists(python) then missing = "JAX " .. version .. " could not be had" return end
      if not support.exists(official) then missing = "the official headers could not be had" return end
      folder = support.temporary() .. "/jax-" .. version
      os.execute(("mkdir -p '%s'"):format(folder))
      for name, buffer in pairs { x = x, b = b, c = c } do
        local file <close> = assert(io.open(("%s/%s.in"):format(folder, name), "wb"))
        file:write(buffer:bytes())
      end
      local output, good = support.sh(("cd '%s' && '%s' '%s/spec/python/jax_calls.py' '%s' '%s' '%s'"):format(folder, python,
        support.root, support.kernels, official, folder))
      assert(good, output)
    end)

    --- The bytes of all results of a call in ccw, or its error code.
    local function bytes(...)
      local results, err = ccw.try(ccw.call, ...)
      if err then return err.code end
      if type(results) ~= "table" then return results:bytes() end
      local parts = {}
      for i, result in ipairs(results) do parts[i] = result:bytes() end
      return table.concat(parts)
    end

    local function agrees(name, call)
      it("agrees on " .. name, function()
        if missing then return pending(missing) end
        local file <close> = assert(io.open(("%s/%s.out"):format(folder, name), "rb"))
        local theirs, ours = file:read "a", call(ccw.load(official))
        assert.is_true(#ours > 0)
        assert.is_true(theirs == ours, ("%d bytes there, %d here"):format(#theirs, #ours))
      end)
    end

    local kernels = ccw.load(support.kernels)
    agrees("scale", function() return bytes(kernels.scale, { x }, "f32[500]", { s = ccw.f32(0.1) }) end)
    agrees("add_mod", function() return bytes(kernels.add_mod, { b, c }, "f32[2048]") end)
    agrees("scale_f64", function() return bytes(kernels.scale, { x }, "f32[500]", { s = 0.1 }) end)
    agrees("Scale", function(lib) return bytes(lib.Scale, { x }, "f32[500]", { s = ccw.f32(0.1) }) end)
    agrees("AddMod", function(lib) return bytes(lib.AddMod, { b, c }, "f32[2048]") end)
    agrees("AllAttributes", function(lib)
      return bytes(lib.AllAttributes, {}, "f64[16]", { b = true, s8 = ccw.s8(-8), s16 = ccw.s16(-16), s32 = ccw.s32(-32),
        s64 = -64, u8 = ccw.u8(8), u16 = ccw.u16(16), u32 = ccw.u32(32), u64 = ccw.u64(64), f32 = ccw.f32(0.5), f64 = 0.25,
        text = "a\0b", array_s32 = ccw.s32 { 1, 2, 3 }, array_f32 = ccw.f32 { 0.5, 1 }, array_u8 = ccw.u8 { 200, 100 },
        inner = { x = 7 } })
    end)
    agrees("SumAll", function(lib)
      local operands = {}
      for i = 1, 12 do operands[i] = ccw.array("f32[10]", function(k) return x[10 * (i - 1) + k] end) end
      return bytes(lib.SumAll, operands, "(f32[], f32[], f32[])")
    end)
    agrees("Split", function(lib) return bytes(lib.Split, { x }, "(f32[500], s32[500])") end)
    agrees("FourToThree", function(lib)
      local function part(first, last)
        return ccw.array(("f32[%d]"):format(last - first), function(k) return x[first + k] end)
      end
      return bytes(lib.FourToThree, { part(0, 32), { part(32, 96), part(96, 224) }, part(224, 480) }, "(f32[1], f32[1], f32[1])")
    end)
    for code = 1, 16 do
      agrees("Fail" .. code, function(lib) return bytes(lib.Fail, {}, "f32[1]", { code = ccw.s32(code), message = "text" }) end)
    end
  end)
end

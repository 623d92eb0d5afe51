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
      local output, good = support.sh(("cd '%s' && '%s' '%s/spec/python/jax_calls.py' '%s' '%s' '%s' '%s' '%s'")
        :format(folder, python, support.root, support.kernels, official, folder, support.root, support.build .. "/lua"))
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
    local m = ccw.array("f32[498]", function(i) return x[i] end):reshape "f32[6,83]"
    agrees("axpy", function()
      local wide = m:as "f64"
      return bytes(kernels.axpy, { wide, wide }, "f64[6,83]", { a = 0.1 })
    end)
    agrees("reduce", function() return bytes(kernels.reduce, { m }, "f32[6]", { how = ccw.s32(1) }) end)
    agrees("reduce_dtype", function()
      return bytes(kernels.reduce, { ccw.array "s32[6,83]" }, "f32[6]", { how = ccw.s32(1) })
    end)
    agrees("reduce_how", function() return bytes(kernels.reduce, { m }, "f32[6]", { how = ccw.s32(7) }) end)
    agrees("attribute_zoo", function()
      return bytes(kernels.attribute_zoo, {}, "f64[19]", { flag = true, a = ccw.s8(-1), b = ccw.s16(-2), c = ccw.s32(-3), d = -4,
        e = ccw.u8(5), f = ccw.u16(6), g = ccw.u32(7), h = ccw.u64(8), i = ccw.f32(9.5), j = 10.5, text = "eleven",
        counts = ccw.s32 { 5, 7 }, weights = ccw.f32 { 0.5, 0.25 }, sky = ccw.s32(2), limits = { lo = -15, hi = 15 }, part = 50.0,
        more = { inner = 17, other = "x" }, ["odd name"] = 18 })
    end)
    local in_lua = dofile(support.root .. "/spec/handlers/in_lua.lua")
    agrees("LuaAddMod", function() return bytes(in_lua.LuaAddMod, { b, c }, "f32[2048]") end)
    agrees("LuaZoo", function()
      return bytes(in_lua.LuaZoo, {}, "f64[8]", { flag = true, a = ccw.s8(-1), b = ccw.f32(0.1), text = "abc",
        w = ccw.s32 { 1, 2 }, op = ccw.s32(1), r = { lo = -5 } })
    end)
    agrees("LuaRows", function() return bytes(in_lua.LuaRows, { m, x, x }, "(f32[6], s32[])") end)
    agrees("LuaRows_bad", function() return bytes(in_lua.LuaRows, { m, x, x }, "(f32[5], s32[])") end)
    agrees("LuaFail", function() return bytes(in_lua.LuaFail, { x }, "f32[500]") end)
    agrees("LuaRaise", function() return bytes(in_lua.LuaRaise, { x }, "f32[500]") end)
    agrees("scale_f64", function() return bytes(kernels.scale, { x }, "f32[500]", { s = ccw.f64(0.1) }) end)
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

-- CC-35: a real JAX runs our handlers, in all the ways that it has; what ccw can run gives the same bytes there.
local ccw = require "ccw"
local support = require "spec.support"

local venv = os.getenv "CCW_VENV" or support.build .. "/venv"

--- The Python with that JAX; nil and why there is none.
local function python_of(version)
  local python = ("%s/jax-%s/bin/python"):format(venv, version)
  if support.exists(python) then return python end
  return nil, "JAX " .. version .. " could not be had"
end

--- A folder of that name for files that pass between here and JAX.
local function folder_of(name)
  local folder = support.temporary() .. "/" .. name
  os.execute(("mkdir -p '%s'"):format(folder))
  return folder
end

--- Runs a Python program and gives its output; an error where it fails.
local function run(...)
  local words, said = { ... }, support.temporary() .. "/said"
  for i, word in ipairs(words) do words[i] = "'" .. word .. "'" end
  -- what XLA says, and children that end by a signal, would stand between the lines that are read
  local output, good = support.sh(("JAX_PLATFORMS=cpu %s 2>'%s'"):format(table.concat(words, " "), said))
  assert(good, output .. support.sh(("cat '%s'"):format(said)))
  return output
end

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

for version, headers in pairs { ["0.10.2"] = "0_3", ["0.12.0.1"] = "0_5" } do
  describe("CC-35 JAX " .. version .. " #jax", function()
    local python, missing = python_of(version)
    local official, folder = support.library("official_" .. headers), nil
    local x, b, c = ccw.random("f32[500]", 1), ccw.random("f32[128]", 2), ccw.random("f32[2048]", 3)

    setup(function()
      if not support.exists(official) then missing = missing or "the official headers could not be had" end
      if missing then return end
      folder = folder_of("jax-" .. version)
      for name, buffer in pairs { x = x, b = b, c = c } do
        local file <close> = assert(io.open(("%s/%s.in"):format(folder, name), "wb"))
        file:write(buffer:bytes())
      end
      run(python, support.root .. "/spec/python/jax_calls.py", support.kernels, official, folder, support.root, support.build .. "/lua")
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
        local theirs, ours = read(("%s/%s.out"):format(folder, name)), call(ccw.load(official))
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

-- The matrix: each handler in each way in which JAX calls it.
local mapped = { "plus", "double_row", "split", "in_place", "square_by_threads", "halve_later before_return",
  "halve_later in_pool", "halve_later in_thread", "LuaPlus", "LuaDoubleRow", "LuaSplit", "LuaInPlace",
  "LuaSquareByThreads", "LuaHalveLater before_return", "LuaHalveLater in_pool" }
local with_tokens = { "after", "LuaAfter" } -- which JAX does not vmap
local ways = { "eager", "jit", "shard_map over 8 devices", "two processes" }
local ways_of_vmap = { "vmap sequential", "vmap broadcast_all" }

--- The same calls in ccw: {library, results, attributes, options}.
local x = ccw.array("f32[200]", function(i) return i * 0.37 end)
local two, in_place = "(s32[200], f32[200])", { aliases = { [0] = 0 } }
local in_ccw = {
  plus = { "c", { x }, "f32[200]", { by = ccw.f32(0.5) } },
  double_row = { "c", { x }, "f32[200]" },
  split = { "c", { x }, two },
  in_place = { "c", { x }, "(f32[200], s32[200])", {}, in_place },
  square_by_threads = { "c", { x }, "f32[200]" },
  LuaPlus = { "lua", { x }, "f32[200]", { by = ccw.f32(0.5) } },
  LuaDoubleRow = { "lua", { x }, "f32[200]" },
  LuaSplit = { "lua", { x }, two },
  LuaInPlace = { "lua", { x }, "(f32[200], s32[200])", {}, in_place },
  LuaSquareByThreads = { "lua", { x }, "f32[200]" },
  after = { "c", { ccw.array "token[]", x }, "(token[], f32[200])" },
  LuaAfter = { "lua", { ccw.array "token[]", x }, "(token[], f32[200])" },
}

-- What a row says, where it says more than that all is well: for both, or by version.
local rank = "INVALID_ARGUMENT: double_row: execute: 2 bad operands\n  arg 0 'x': expected f32[?], got f32[10,10]\n" ..
  "  result 0 'y': expected f32[?], got f32[10,10]"
local function not_registered(name)
  return ("NOT_FOUND: No FFI handler registered for %s on a platform Host (canonical host)"):format(name)
end
local function refused(name, version)
  return ("INVALID_ARGUMENT: XLA FFI handler registration for %s on platform Host (canonical host) failed because the handler's API " ..
    "version (%s) is incompatible with the framework's API version (0.3). Minimum supported API version is (0.1)."):format(name, version)
end
local no_device = "XLA FFI GPU context is not available"
local rows = {
  { "C21: a row handler mapped over rows is called once a row", "ok" },
  { "C21: mapped at once it gets what it cannot take", rank },
  { "C42: the argument of a call in place stays as it was, unless it is donated", "ok" },
  { "C48: with a side effect two equal calls run, used or not", "ok" },
  { "C48: without one those that are not used do not run", "0" },
  { "C60: state that was made before the failure is deleted, and another attempt works",
    "OUT_OF_RANGE: count_instantiate: instantiate: v: a counter of -2 is made and is of no use" },
  { "C60: an attribute that instantiate does not know fails there",
    "INVALID_ARGUMENT: count_instantiate: instantiate: attribute 'w': not expected; bound: 'v'" },
  { "state that no instantiate made is refused",
    "INVALID_ARGUMENT: stateless_count: execute: context 0 'c': state: State is not set" },
  { "state of another type than instantiate made is refused",
    "INVALID_ARGUMENT: strange_count: execute: context N 's': state: Set state type id N does not match the requested one N" },
  { "state, prepared: XLA has none on the CPU, and ends the process", "ended by SIGSEGV" },
  { "state, initialized: XLA has none on the CPU, and ends the process", "ended by SIGSEGV" },
  { "C59: XLA on the CPU calls instantiate and execute alone", "1 0 0 3" },
  { "threads: there are some, and they take tasks", "ok" },
  { "threads: handlers on all of them at once come to their end", "ok" },
  { "threads in Lua: handlers on all of them at once come to their end", "ok" },
  { "promises in Lua: many at once come to their end", "ok" },
  { "futures: many at once come to their end", "ok" },
  { "futures: one of eight devices fails, and the call with it", "INTERNAL: the future has failed" },
  { "halve_later with_error, eager and jit", "INTERNAL: the future has failed" },
  { "halve_later with_error_at_once, eager and jit", "INTERNAL: the future has failed" },
  { "halve_later failed_after, eager and jit", "ABORTED: failed after the future was made" },
  { "LuaHalveLater with_error, eager and jit", "INTERNAL: halve_later: execute: the promise has failed" },
  { "LuaHalveLater with_error_at_once, eager and jit", "INTERNAL: halve_later: execute: the promise has failed" },
  { "LuaHalveLater dropped, eager and jit",
    "ABORTED: halve_later: execute: everybody has dropped its promise, and nobody has completed it" },
  { "where: one run, one id above zero", "ok" },
  { "where, shard_map over 8 devices: each has its ordinal", "1 run id" },
  { "LuaWhere: one run, one id above zero", "ok" },
  { "LuaWhere, shard_map over 8 devices: each has its ordinal", "1 run id" },
  { "user data: JAX has none",
    "INVALID_ARGUMENT: age: execute: context 0 'g': user_data: User data with type id 1 not found in execution context" },
  { "custom options: JAX sets none", { ["0.10.2"] = not_registered "options", ["0.12.0.1"] = "0" } },
  { "an extension: there is none", { ["0.10.2"] = not_registered "visited",
    ["0.12.0.1"] = "INVALID_ARGUMENT: visited: execute: context 0 'e': extension: the runtime has no extension 1234567" } },
  { "a stream: refused on the CPU", "INVALID_ARGUMENT: streamed: execute: context 0 's': stream: " .. no_device },
  { "scratch: refused on the CPU, and the handler goes on", { ["0.10.2"] = "2 UNKNOWN: scratched_or_failed: execute: " .. no_device,
    ["0.12.0.1"] = "3 INVALID_ARGUMENT: scratched_or_failed: execute: " .. no_device } },
  { "registering: handlers that this JAX cannot run are left out, with a warning",
    { ["0.10.2"] = refused("options", "0.5") .. "\n" .. refused("visited", "0.4"), ["0.12.0.1"] = "ok" } },
  { "registering: what bundles says instead of the names", "ok" },
  { "attributes: v=1 is", "scalar s64" },
  { "attributes: v=True is", "scalar pred" },
  { "attributes: v=1.0 is", "scalar f64" },
  { "attributes: v=np.uint8(1) is", "scalar u8" },
  { "attributes: v=np.array([1], np.int32) is", "array" },
  { "attributes: equal values of different types, eager, are all of the first's", "scalar s64, scalar s64, scalar s64" },
  { "attributes: and so they are in one jitted program", "scalar pred, scalar pred, scalar pred" },
  { "C86: a state type before the first backend", "Unable to initialize backend 'cpu': FAILED_PRECONDITION: the type of its state is " ..
    "to be registered before the handler is" },
  { "gathered, two processes: everyone has everything", "ok" },
}
for word, code in pairs { state = "INVALID_ARGUMENT", ["state in Lua"] = "INTERNAL" } do
  for _, row in ipairs {
    { "%s, jit: an executable has its own, and counts on", "ok" },
    { "%s, eager: calls that are alike share an executable", "ok" },
    { "%s: every call site has its own", "ok" },
    { "%s, vmap sequential: a call each, one state", "ok" },
    { "%s, vmap broadcast_all: one call", "ok" },
    { "%s, shard_map over 8 devices: one state for all of them", "made 1" },
    { "%s, two processes: each has its own", "ok" },
    { "C57, %s: as many are deleted as were made", "ok" },
    { "C60, %s: a failing instantiate is reported with its stage, and nothing runs",
      code .. ": count_instantiate: instantiate: v: expected 0 or more, got -1" },
  } do rows[#rows + 1] = { row[1]:format(word), row[2] } end
end
for _, names in ipairs { mapped, with_tokens } do
  for _, name in ipairs(names) do
    for _, way in ipairs(ways) do rows[#rows + 1] = { name .. ", " .. way, "ok" } end
    if names == mapped then
      for _, way in ipairs(ways_of_vmap) do rows[#rows + 1] = { name .. ", " .. way, "ok" } end
    end
  end
end

for _, version in ipairs { "0.10.2", "0.12.0.1" } do
  describe("JAX " .. version .. " #jax", function()
    local python, missing = python_of(version)
    local library = support.library "jax_matrix"
    local folder, says

    setup(function()
      if missing then return end
      folder, says = folder_of("matrix-" .. version), {}
      local output = run(python, support.root .. "/spec/python/jax_matrix.py", library, folder, support.root, support.build .. "/lua")
      for name, text in output:gmatch "([^\n\t]+)\t([^\n]*)" do
        says[name] = text:gsub("\\(.)", { n = "\n", ["\\"] = "\\" })
      end
    end)

    for _, row in ipairs(rows) do
      it(row[1], function()
        if missing then return pending(missing) end
        local expected = type(row[2]) == "table" and row[2][version] or row[2]
        assert.equal(expected, says[row[1]])
        says[row[1]] = nil
      end)
    end

    it("has no row beside these", function()
      if missing then return pending(missing) end
      assert.same({}, says)
    end)

    for name, call in pairs(in_ccw) do
      it("agrees with ccw on " .. name, function()
        if missing then return pending(missing) end
        local from = call[1] == "c" and ccw.load(library) or dofile(support.root .. "/spec/handlers/in_lua.lua")
        local results = ccw.call(from[name], table.unpack(call, 2))
        local parts = {}
        for i, result in ipairs(type(results) == "table" and results or { results }) do
          parts[i] = result.dtype == "token" and "" or result:bytes()
        end
        assert.is_true(table.concat(parts) == read(("%s/%s.out"):format(folder, name)))
      end)
    end

    describe("the recipe", function()
      local recipe = folder_of "recipe" .. "/librecipe.so"
      local scripts = support.root .. "/scripts/jax"

      setup(function()
        if missing then return end
        run("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-O2", "-I" .. support.root .. "/core/include",
          scripts .. "/recipe.c", "-o", recipe)
      end)

      it("runs and prints what it says", function()
        if missing then return pending(missing) end
        local lines = {}
        for text in read(scripts .. "/recipe.py"):gmatch "print[^\n]*%)  # ([^\n]*)" do lines[#lines + 1] = text .. "\n" end
        assert.is_true(#lines > 5)
        assert.equal(table.concat(lines), run(python, scripts .. "/recipe.py", recipe))
      end)

      it("runs over two processes", function()
        if missing then return pending(missing) end
        local output = run(python, scripts .. "/two_processes.py", recipe)
        assert.matches("process 0: [0, 2, 4, 6, 8, 10, 12, 14] of (16,), all of it 240.0\n", output, 1, true)
        assert.matches("process 1: [16, 18, 20, 22, 24, 26, 28, 30] of (16,), all of it 240.0\n", output, 1, true)
      end)
    end)
  end)
end

-- What happens when memory runs out: a status each time, and nothing leaked.
local ccw = require "ccw"
local core = require "ccw.core"
local support = require "spec.support"

local lib = ccw.load(support.kernels)
local plain = ccw.load(support.library "plain")

--- Runs f with core's allocator failing at allocation 0, 1, 2, ... until f succeeds; after each, as much is in use as before.
local function exhaust(f)
  f()
  collectgarbage() collectgarbage()
  local before, failures = core.memory().blocks, 0
  for n = 0, 10000 do
    core.fail_memory(n)
    local good, err = pcall(f)
    core.fail_memory()
    collectgarbage() collectgarbage()
    assert.equal(before, core.memory().blocks, "after allocation " .. n)
    if good then return failures end
    assert.is_not_string(err)
    assert.equal("RESOURCE_EXHAUSTED", err.code, ("allocation %d: %s"):format(n, err))
    failures = failures + 1
  end
  error "it never succeeded"
end

describe("without memory", function()
  it("arrays and types fail cleanly", function()
    assert.is_true(exhaust(function()
      local x = ccw.array("f32[2,3]", { { 1, 2, 3 }, { 4, 5, 6 } })
      return tostring(x[2]) .. tostring(x:as "s4":copy()) .. tostring(ccw.type "(f32[1], (s8[], (), ()), f32[], f32[])")
    end) > 20)
  end)

  it("files and slices fail cleanly", function()
    local path, x = support.temporary() .. "/exhaust", ccw.random("s4[3,5]", 1)
    for _, ending in ipairs { ".npy", ".npz" } do
      local is_one = ending == ".npy"
      assert.is_true(exhaust(function()
        ccw.write(path .. ending, is_one and x or { x = x, y = ccw.c64 { 1 } })
        local y = ccw.read(path .. ending, { dtype = "s4" })
        return tostring((is_one and y or y.x):slice({ 3, 1, -2 }, 2)) .. tostring(ccw.array_from_text "s32[2] {1, 2}")
      end) > 10)
    end
  end)

  it("attributes fail cleanly", function()
    assert.is_true(exhaust(function()
      return tostring(ccw.attrs { a = 1, b = { c = "x", d = { 1, 2 }, e = { f = true } }, g = ccw.s8 { 1 } })
    end) > 15)
  end)

  it("calls as text fail cleanly", function()
    local call = ccw.prepare(ccw.load(support.kernels).scale, { ccw.f32 { 1 } }, "f32[1]", { s = 2 })
    for _, form in ipairs { "c", "jax", "stablehlo" } do
      assert.is_true(exhaust(function() return call:text(form) end) > 0)
    end
    local d = call:description()
    d.attributes = { w = ccw.s32 { 1, 2 }, more = { s = "text", list = { 1, 2 } } }
    assert.is_true(exhaust(function() return d:text "c" .. d:text "jax" end) > 5)
  end)

  it("handlers in Lua, and patterns, fail cleanly", function()
    local x, w = ccw.f32 { 1, 2 }, ccw.s32 { 1, 2, 3 }
    local f = ccw.bind "f(x: f32[n], ...) -> (y: f32[n]) {s: f32, w: s32[], d: {...}}":to(function(a, rest, y, s, list, d)
      y[1] = a[1] * s + #rest + list[2] + d.n
      y:reshape "f32[1,2]":fill(a.flat[2])
    end)
    local attributes = ccw.attrs { s = ccw.f32(2), w = w, d = { n = 1, w = w } }
    assert.is_true(exhaust(function() return tostring(ccw.call(f, { x, x, x }, "f32[2]", attributes)) end) > 10)
    assert.is_true(exhaust(function() return tostring(ccw.call(f, { x }, nil, { s = 2, w = { 1, 2 }, d = { n = 1 } })) end) > 10)
    assert.is_true(exhaust(function()
      return tostring(ccw.bind "ggg":arg "f32[n]":ret "f32[n]":attr("s64", "n"):to(function(_, _, _) end))
    end) > 10)
    assert.is_true(exhaust(function() return ccw.match.verify("x", x, "f32[n]").n end) > 0)
  end)

  it("signatures fail cleanly", function()
    local told = ccw.signature "(any[*], ?: ?, ...) -> (?, ...) {a: ?, ...}"
    local captures = {}
    for i = 1, 20 do captures[i] = "d" .. i end
    local many = ("(f32[%s])"):format(table.concat(captures, ","))
    local kinds = { Range = "{lo: s64, hi: s64}" }
    local attributes = ccw.attrs { a = ccw.s32(7), b = { lo = 1 } }
    assert.is_true(exhaust(function()
      local s = ccw.signature("f(@Mine, x: T[n,m], m?: s32|s64[*1|2], ...) -> (T[n], ...) {a: s32 = x(1), b: Range, c: U}", kinds)
      local texts = { tostring(s), tostring(s:results { "f32[2,3]" }[1]), #s:parameters() }
      for _, failure in ipairs {
        function() return s:check({ "f32[2,2]", "f32[]" }, { "s32[3]" }, attributes) end,
        function() return s:results { "f32[]" } end,
        function() return ccw.signature "() -> (f32[n])":results {} end,
        function() return ccw.signature(many):check({ "f32[]" }, {}) end,
        function() return told:agree(s) end,
        function() return ccw.signature "(x: f32[n], f32[" end,
        function() return ccw.signature "(x: f32[n], x: f32[])" end,
        function() return ccw.signature("() {a: A}", { A = "{a: s32" }) end,
      } do
        local _, err = ccw.try(failure)
        if err.code ~= "INVALID_ARGUMENT" then error(err, 0) end
        texts[#texts + 1] = err.message
      end
      return table.concat(texts)
    end) > 50)
  end)

  it("calls fail cleanly", function()
    local x = ccw.f32 { 1, 2 }
    assert.is_true(exhaust(function()
      local call <close> = ccw.prepare(lib.scale, { x }, "(f32[2])", { s = ccw.f32(2) })
      return call:explain() .. tostring(call()[1])
    end) > 10)
  end)

  it("a failing handler fails with its own code, or with what was missing", function()
    local codes = {}
    exhaust(function()
      local _, err = ccw.try(ccw.call, plain.fail_with, {}, "()", { code = ccw.s32(5), message = "x" })
      codes[err.code] = true
      if err.code ~= "NOT_FOUND" then error(err, 0) end
      return true
    end)
    assert.is_true(codes.NOT_FOUND and codes.RESOURCE_EXHAUSTED)
  end)

  it("the registry fails cleanly", function()
    local count = 0
    local handler = lib.scale
    local function register()
      count = count + 1
      ccw.register("memory." .. count, handler)
      return true
    end
    register()
    core.fail_memory(0)
    local _, err = ccw.try(register)
    core.fail_memory()
    assert.equal("RESOURCE_EXHAUSTED", err.code)
    assert.is_true(register())
  end)

  it("loading fails cleanly", function()
    assert.is_true(exhaust(function() return tostring(ccw.load(support.kernels)) end) > 2)
  end)

  it("loading a library for the first time fails cleanly", function()
    local path = support.temporary() .. "/libfirst.so"
    support.sh(("cp '%s' '%s'"):format(support.kernels, path))
    local before, loaded = core.memory().blocks, nil
    for n = 0, 100 do
      core.fail_memory(n)
      local good, err = pcall(ccw.load, path)
      core.fail_memory()
      collectgarbage() collectgarbage()
      loaded = good and n
      if good then break end
      assert.equal("RESOURCE_EXHAUSTED", err.code)
      assert.equal(before, core.memory().blocks)
    end
    assert.is_true(loaded > 2)
  end)

  it("numbers with a dtype fail cleanly", function()
    assert.is_true(exhaust(function() return tostring(ccw.s8 "5") .. tostring(select(2, pcall(ccw.s8, 500))) end) > 0)
  end)

  it("loading a Python module fails cleanly", function()
    support.write("ccw_out_of_memory.py", "x = {}\n")
    assert.is_true(exhaust(function()
      return tostring(ccw.load("python:ccw_out_of_memory", { path = support.temporary() }))
    end) > 3)
  end)

  it("a buffer of more than there is gives RESOURCE_EXHAUSTED", function()
    local _, err = ccw.try(ccw.array, "u8[1152921504606846975]")
    assert.equal("RESOURCE_EXHAUSTED: no memory for 1152921504606846975 bytes", tostring(err))
  end)
end)

describe("without memory for Lua", function()
  it("nothing of core's is left behind", function()
    local script = support.write("limited.lua", [==[
      local ccw, core = require "ccw", require "ccw.core"
      local kernels, plain = ccw.load(KERNELS), ccw.load(PLAIN)
      local x, attributes, tuple = ccw.f32 { 1, 2 }, ccw.attrs { x = 1, y = "abc" }, ccw.type "(f32[2], f32[3])"
      local signature = ccw.signature "f(x: f32[n]) -> (y: f32[n])"
      local fail, scale = plain.fail_with, kernels.scale
      local failing = ccw.prepare(fail, {}, "()", { code = ccw.s32(5), message = "x" })
      local call = ccw.prepare(scale, { x }, "f32[2]", { s = ccw.f32(1) })
      local code, many = { code = ccw.s32(5), message = "hello" }, {}
      for i = 1, 20 do many[i] = x end
      local tests = {
        function() return tostring(attributes) end, function() return tostring(tuple) end, function() return call:explain() end,
        function() return failing() end, function() return ccw.call(fail, {}, "()", code) end,
        function() return ccw.call(scale, { x }, "f32[2]", { s = ccw.f32(1) }) end, function() return ccw.type "zz" end,
        function() return ccw.attrs { a = 1, b = { 2, 3 }, c = { d = "x" } } end, function() return kernels:names() end,
        function() return signature:results { "f32[2]" } end, function() return signature:check({ "f32[]" }, {}) end,
        function() return signature:parameters() end, function() return tostring(signature) end,
        function() return ccw.signature("f(x: f32[n]) {a: A}", { A = "s32" }) end,
        function() return ccw.s8(1000) end, function() x[1] = "x" end,
        function() return ccw.s8 { 1000 } end, function() return ccw.find "nowhere" end, ccw.registered,
        function() return ccw.call(scale, many, "f32[2]", code) end, function() return core.quote "abc\0" end,
        function() return kernels.nowhere end, function() return ccw.load "/nowhere" end,
        function() return core.run({ "/bin/echo", "x" }, 30) end, function() return x[1] + #x:copy() end,
        function() return ccw.read(FOLDER .. "/limited.npy") end, function() return ccw.read(FOLDER .. "/limited.npz") end,
        function() ccw.write(FOLDER .. "/limited.npy", x) end, function() ccw.write(FOLDER .. "/limited.npz", { x = x }) end,
        function() return ccw.read "nowhere.npz" end, function() return x:slice { 2, 1, -1 } end,
      }
      for number, test in ipairs(tests) do
        local function settle()
          pcall(ccw.type, "what waits to be handed over is given back by the next failure")
          collectgarbage() collectgarbage()
          return core.memory().blocks
        end
        pcall(test) pcall(test)
        local before, failures = settle(), 0
        for n = 0, 300 do
          collectgarbage "stop"
          limit(n)
          local ok, err = pcall(test)
          limit()
          collectgarbage "restart"
          if not ok and err == "not enough memory" then failures = failures + 1 end
          err = nil -- which may be a result
          local after = settle()
          if after ~= before then print(("test %d, limit %d: %d blocks are left"):format(number, n, after - before)) end
          before = after
        end
        if failures == 0 then print(("test %d never failed"):format(number)) end
      end
    ]==])
    local folder = support.temporary()
    ccw.write(folder .. "/limited.npy", ccw.f32 { 1 })
    ccw.write(folder .. "/limited.npz", { x = ccw.f32 { 1 }, y = ccw.f32 { 2 } })
    local start = support.write("start.lua", ("KERNELS, PLAIN, FOLDER = %q, %q, %q\ndofile %q\n"):format(support.kernels,
      support.library "plain", folder, script))
    local output, good = support.sh(("'%s/spec/limited_lua' '%s'"):format(support.build, start))
    assert.equal("", output)
    assert.is_true(good)
  end)
end)

describe("what C is promised", function()
  it("is kept", function()
    local output, good = support.sh(("'%s/spec/c_api' '%s'"):format(support.build, support.kernels))
    assert.equal("0 broken\n", output)
    assert.is_true(good)
  end)
end)

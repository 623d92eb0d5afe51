-- CC-30: what every device does in the same way: the host, simulated ones, and what drivers there are.
local ccw = require "ccw"
local support = require "spec.support"

local kernels = ccw.load(support.kernels)

ccw.device "sim:2" -- then there are the ones before it, too
local all = {}
for _, device in ipairs(ccw.devices()) do all[#all + 1] = device.name end

local function refuses(code, message, f, ...)
  local _, err = ccw.try(f, ...)
  assert.equal(code .. ": " .. message, tostring(err))
end

for _, name in ipairs(all) do
  describe("CC-30 the device " .. name, function()
    local device = ccw.device(name)

    it("says what it is", function()
      assert.equal(name, device.name)
      assert.equal(math.tointeger(name:match "%d+$" or 0), device.ordinal)
      assert.is_true(#device.description > 0)
      assert.equal(name, tostring(device):match "^(.-)[:,] ")
      assert.is_true(device.memory >= 0 and device.memory_free <= device.memory)
      assert.equal(device, ccw.device(name))
      assert.equal(device, ccw.device(device))
    end)

    it("keeps every dtype as it is, also of no elements, and packed ones", function()
      for _, dtype in ipairs { "pred", "s4", "u2", "s8", "u16", "s32", "u64", "f16", "bf16", "f32", "f64", "c64", "c128", "f8e4m3fn" } do
        for _, count in ipairs { 0, 1, 3, 64, 1001 } do
          local x = dtype == "pred" and ccw.array(("pred[%d]"):format(count), function(i) return i % 3 == 0 end)
            or ccw.random(("%s[%d]"):format(dtype, count), count, { low = 0, high = 1 })
          local there = x:to(name)
          assert.equal(name, there.device)
          assert.equal(x.type, there.type)
          assert.equal(x:bytes(), there:bytes())
          assert.equal(x:bytes(), there:to("host"):bytes())
          assert.equal(x:bytes(), there:copy():bytes())
        end
      end
    end)

    it("gives the buffer itself where it is there already", function()
      local there = ccw.iota("f32[4]"):to(device)
      assert.equal(there, there:to(name))
      assert.equal(name, there:copy().device)
      assert.is_not.equal(there.address, there:copy().address)
    end)

    it("keeps content of its own, and takes bytes", function()
      local x = ccw.iota("s32[4]")
      local there = x:copy():to(name)
      there:set_bytes(("i4i4i4i4"):pack(7, 8, 9, 10))
      assert.same({ 0, 1, 2, 3 }, { x[1], x[2], x[3], x[4] })
      assert.equal(("i4i4i4i4"):pack(7, 8, 9, 10), there:bytes())
      assert.has_error(function() there:set_bytes "short" end,
        "bad argument #1 to 'set_bytes' (expected 16 bytes, got 5)")
    end)

    it("has rows and other shapes of the same memory", function()
      local there = ccw.iota("f32[4,3]"):to(name)
      assert.equal("f32[2,3] {{3, 4, 5}, {6, 7, 8}}", tostring(there:rows(2, 3):to "host"))
      assert.equal("f32[3] {9, 10, 11}", tostring(there:reshape("f32[12]"):rows(10, 12):to "host"))
      there:rows(1, 1):set_bytes(("fff"):pack(-1, -2, -3))
      assert.equal("f32[1,3] {{-1, -2, -3}}", tostring(there:rows(1, 1):to "host"))
    end)

    it("does its streams' work in order, and tells when it is done", function()
      local s <close> = device:stream()
      assert.equal(name, s.device)
      local first = s:record()
      local second = s:record()
      s:wait(first):sync()
      second:sync()
      assert.is_true(s:done())
      assert.is_true(second:seconds_since(first) >= 0)
      assert.equal(device, device:sync())
    end)

    it("lets streams wait for each other", function()
      local a <close> = device:stream()
      local b <close> = device:stream()
      a:wait(b):sync()
      assert.equal(("stream %d of %s"):format(a.number, name), tostring(a))
      a:close()
      assert.equal("closed stream", tostring(a))
      assert.has_error(function() a:sync() end, "this stream is closed")
    end)

    it("calls a handler for what is on it, on its platform", function()
      local seen = {}
      local handler = ccw.bind("f(@device_ordinal, x: f32[n]) -> (y: f32[n])"):to(function(ordinal, x, y)
        seen = { ordinal, x.device, y.device, x.type }
        y:set_bytes(x:bytes())
      end)
      local y = ccw.call(handler, { ccw.iota("f32[3]"):to(name) })
      assert.same({ device.ordinal, name, name, "f32[3]" }, seen)
      assert.equal(name, y.device)
      assert.equal("f32[3] {0, 1, 2}", tostring(y:to "host"))
      local found = "spec.device." .. name
      ccw.register(found, handler, device.platform)
      assert.equal("f32[3] {0, 1, 2}", tostring(ccw.call(found, { ccw.iota("f32[3]"):to(name) }):to "host"))
      local nothing = ccw.bind("f() -> (y: f32[n])"):to(function(result) seen = { result.device } end)
      ccw.call(nothing, {}, "f32[0]", nil, { device = name })
      assert.same({ name }, seen)
    end)

    it("hands attributes over as everywhere, case C06", function()
      local values = {}
      for i = 1, 14 * 42 * 42 do values[i] = i * 3 end
      local got
      local handler = ccw.bind("f(x: f32[2,2,2]) -> (y: f32[2,2,2]) {a: s64[]}"):to(function(x, y, a)
        got = a:copy()
        y:set_bytes(x:bytes())
      end)
      local x = ccw.iota("f32[2,2,2]"):to(name)
      ccw.call(handler, { x }, nil, { a = ccw.s64(values) })
      assert.equal("s64[24696]", got.type)
      assert.same({ 3, 36, 24696 * 3 }, { got[1], got[12], got[24696] })
      refuses("INVALID_ARGUMENT", "f: attribute 'a': expected s64[], got s32[]", ccw.call, handler, { x }, nil, { a = ccw.s32 { 1, 2 } })
      refuses("INVALID_ARGUMENT", "f: attribute 'a': expected s64[], got s64", ccw.call, handler, { x }, nil, { a = ccw.s64(1) })
    end)

    it("has scratch memory there, until the handler returns, case C71", function()
      local sizes = {}
      local handler = ccw.bind("f(@scratch, x: f32[n]) -> (y: f32[n])"):to(function(scratch, x, y)
        for _, count in ipairs { 0, 1, 1000 } do
          local part = scratch:take(("u8[%d]"):format(count))
          part:set_bytes(("x"):rep(count))
          sizes[#sizes + 1] = #part:bytes()
          assert(part.device == name)
        end
        local _, err = ccw.try(scratch.take, scratch, ("u8[%d]"):format(1 << 46))
        sizes[#sizes + 1] = err.code
        y:set_bytes(x:bytes())
      end)
      collectgarbage()
      collectgarbage()
      local before = #device:allocations()
      for _ = 1, 3 do ccw.call(handler, { ccw.iota("f32[3]"):to(name) }) end
      assert.same({ 0, 1, 1000, "RESOURCE_EXHAUSTED" }, { table.unpack(sizes, 1, 4) })
      collectgarbage()
      collectgarbage()
      assert.equal(before, #device:allocations())
    end)

    if name ~= "host" then
      it("is not where elements are to be had, but printing shows them", function()
        local there = ccw.iota("f32[4]"):to(name)
        local message = ("this buffer is on %s: its elements are to be had from x:to \"host\""):format(name)
        for _, f in ipairs { function() return there[1] end, function() there[1] = 2 end, function() there:fill(0) end,
          function() return there:as "f64" end, function() return there:summary() end, function() return there:check() end,
          function() return there.flat[1] end } do
          local ok, err = pcall(f)
          assert.is_false(ok)
          assert.equal(message, (tostring(err):gsub("^[^ ]*:%d+: ", "")))
        end
        support.refuses(("bad argument #1 to 'compare' (%s)"):format(message), ccw.compare, there, there)
        assert.equal("f32[4] {0, 1, 2, 3} on " .. name, tostring(there))
        local long = tostring(ccw.iota("s32[1000000]"):to(name))
        assert.equal("s32[1000000] {0, 1, 2, ..., 999997, 999998, 999999}\non " .. name, long)
      end)

      it("refuses operands that are not all there, and says which", function()
        local x, there = ccw.iota("f32[4]"), ccw.iota("f32[4]"):to(name)
        refuses("INVALID_ARGUMENT", ("axpy: arg 1: on host, where arg 0 is on %s; move it with to(\"%s\")\n"
          .. "result 0: on host, where arg 0 is on %s; move it with to(\"%s\")"):format(name, name, name, name),
          ccw.call, kernels.axpy, { there, x }, x:copy(), { a = 2.0 })
        refuses("INVALID_ARGUMENT", ("axpy: arg 1: on %s, where arg 0 is on host; move it with to(\"host\")"):format(name),
          ccw.call, kernels.axpy, { x, there }, x:copy(), { a = 2.0 })
        local s <close> = device:stream()
        refuses("INVALID_ARGUMENT", ("axpy: arg 0: on host, where the call is on %s; move it with to(\"%s\")\narg 1: on host, where the "
          .. "call is on %s; move it with to(\"%s\")\nresult 0: on host, where the call is on %s; move it with to(\"%s\")")
          :format(name, name, name, name, name, name), ccw.call, kernels.axpy, { x, x }, x:copy(), { a = 2.0 }, { stream = s })
        refuses("INVALID_ARGUMENT", ("axpy: the stream is of host, where the call is on %s"):format(name),
          ccw.call, kernels.axpy, { there, there }, "f32[4]", { a = 2.0 }, { stream = ccw.device("host"):stream() })
      end)

      it("refuses a platform that it has not", function()
        local there = ccw.iota("f32[4]"):to(name)
        refuses("INVALID_ARGUMENT", ("platform sycl: the call is on %s, whose platform is %s; move its buffers to a device of that "
          .. "platform, x:to \"cuda:0\", or have a simulated one answer to it: ccw.device(\"sim:0\", {as = \"SYCL\"})")
          :format(name, device.platform), ccw.call, kernels.axpy, { there, there }, "f32[4]", { a = 2.0 }, { platform = "SYCL" })
      end)

      it("runs the stages of its platform, with prototypes for instantiate, case C59", function()
        local order = {}
        local b = ccw.bind "f(x: f32[n]) -> (y: f32[n])"
        local handlers = {}
        for _, stage in ipairs { "instantiate", "prepare", "initialize" } do
          handlers[stage] = ccw.bind("f()"):stage(stage):to(function() order[#order + 1] = stage end)
        end
        handlers.execute = b:to(function(x, y)
          order[#order + 1] = "execute"
          y:set_bytes(x:bytes())
        end)
        local call = ccw.prepare(handlers, { ccw.iota("f32[2]"):to(name) })
        assert.matches("stream          0 of " .. name, call:explain(), 1, true)
        call()
        assert.equal("instantiate prepare initialize execute", table.concat(order, " "))
      end)
    end
  end)
end

describe("CC-30 devices", function()
  it("are listed, with the reason for what there is none of", function()
    local list = ccw.devices()
    assert.equal("host", list[1].name)
    for _, family in ipairs { "cuda", "rocm" } do
      local there = ccw.try(ccw.device, family)
      if not there then assert.matches(family, list[family], 1, true) end
    end
  end)

  it("are named, and a wrong name says what there is", function()
    refuses("NOT_FOUND", "no device is called \"smi:0\"; near: sim; there are host, sim, cuda, rocm and, of more than one, NAME:0, "
      .. "NAME:1, ...", ccw.device, "smi:0")
    for _, name in ipairs { "", "sim:", "sim:x", "sim:12345", ":0", "sim:0:0" } do
      local _, err = ccw.try(ccw.device, name)
      assert.equal("NOT_FOUND", err.code)
    end
    assert.equal("sim:0", ccw.device("sim").name)
    assert.has_error(function() ccw.device(3) end, "bad argument #1 to 'device' (expected a device or its name, got number)")
  end)

  it("keep what they are told", function()
    assert.equal("cuda", ccw.device("sim:2", { as = "CUDA" }).platform)
    assert.equal("sim", ccw.device("sim:2", { as = "SIM" }).platform)
    refuses("NOT_FOUND", "as: no platform is called 'CUBA', and no handler is registered for it; near: cuda", ccw.device, "sim:2",
      { as = "CUBA" })
    refuses("NOT_FOUND", "as: no platform is called 'abacus', and no handler is registered for it", ccw.device, "sim:2",
      { as = "abacus" })
    ccw.register("spec.abacus", kernels.scale, "Abacus")
    assert.equal("abacus", ccw.device("sim:2", { as = "ABACUS" }).platform)
    assert.equal("sim", ccw.device("sim:2", { as = "SIM" }).platform)
    refuses("UNIMPLEMENTED", "host: as: the host is the host", ccw.device, "host", { as = "CUDA" })
    refuses("UNIMPLEMENTED", "host: set: there is nothing to set of the host", ccw.device, "host", { seed = 1 })
    assert.has_error(function() ccw.device("sim:2", { sede = 1 }) end,
      "bad argument #2 to 'device' (no option is called 'sede'; near: seed)")
  end)

  it("find the handler of the platform on which the operands are", function()
    local on = {}
    for _, platform in ipairs { "Host", "SIM", "CUDA" } do
      ccw.register("spec.where", ccw.bind("f(x: f32[n]) -> (y: f32[n])"):to(function(x, y)
        on[#on + 1] = platform
        y:set_bytes(x:bytes())
      end), platform)
    end
    local x = ccw.iota("f32[2]")
    ccw.call("spec.where", { x })
    ccw.call("spec.where", { x:to "sim:1" })
    ccw.device("sim:2", { as = "CUDA" })
    ccw.call("spec.where", { x:to "sim:2" })
    ccw.call("spec.where", { x:to "sim:2" }, "f32[2]", nil, { platform = "gpu" })
    ccw.device("sim:2", { as = "SIM" })
    assert.equal("Host SIM CUDA CUDA", table.concat(on, " "))
  end)

  it("tell host operands from a handler for CUDA", function()
    ccw.register("spec.cuda.only", ccw.bind("f(x: f32[n]) -> (y: f32[n])"):to(function(x, y) y:set_bytes(x:bytes()) end), "CUDA")
    refuses("NOT_FOUND", "no handler 'spec.cuda.only' is registered for platform host; it is for cuda", ccw.call, "spec.cuda.only",
      { ccw.iota("f32[2]") })
  end)
end)

describe("case C73 a batch split over devices", function()
  local devices = { "sim:0", "sim:1", "sim:2", "host" }
  local x = ccw.iota("f32[8,3]")
  local double = ccw.bind("double(x: f32[r,c]) -> (y: f32[r,c])"):to(function(a, b)
    local here, there = a:to "host", ccw.array(a.type, 0)
    for i = 1, here.count do there.flat[i] = 2 * here.flat[i] end
    b:set_bytes(there:bytes())
  end)

  it("calls once for each part, and puts the results together", function()
    local y, shards = ccw.shard(double, { x }, "f32[8,3]", nil, { devices = devices, split = { 0 } })
    assert.equal("host", y.device)
    for i = 1, 24 do assert.equal(2 * (i - 1), y.flat[i]) end
    assert.equal("sim:0: (f32[2,3]) -> (f32[2,3])\nsim:1: (f32[2,3]) -> (f32[2,3])\nsim:2: (f32[2,3]) -> (f32[2,3])\n"
      .. "host: (f32[2,3]) -> (f32[2,3])", tostring(shards))
    assert.equal(tostring(y), tostring((ccw.shard(double, { x }, nil, nil, { devices = devices, split = { 0 } }))))
  end)

  it("gives everything to each where nothing is split", function()
    local y, shards = ccw.shard(double, { x }, { "f32[8,3]" }, nil, { devices = { "sim:0", "sim:1" } })
    assert.equal("sim:0: (f32[8,3]) -> (f32[8,3])\nsim:1: (f32[8,3]) -> (f32[8,3])", tostring(shards))
    assert.equal(46, y[1][8][3])
  end)

  it("refuses what does not come out even, or has no batch", function()
    refuses("INVALID_ARGUMENT", "shard: arg 0: f32[8,3]: 8 rows cannot be split over 3 devices\n  "
      .. "result 0: f32[8,3]: 8 rows cannot be split over 3 devices", ccw.shard, double, { x }, "f32[8,3]", nil,
      { devices = { "sim:0", "sim:1", "sim:2" }, split = { 0 } })
    refuses("INVALID_ARGUMENT", "shard: arg 0: f32[] has no batch that could be split", ccw.shard, double, { ccw.f32(1) and
      ccw.array("f32[]", 1) }, nil, nil, { devices = devices, split = { 0 } })
    assert.has_error(function() ccw.shard(double, { x }, nil, nil, { devices = devices, split = { [0] = 1, batch = 1 } }) end)
    assert.has_error(function() ccw.shard(double, { x }, nil, nil, { devices = devices, split = { 3 } }) end,
      "bad argument #5 to 'shard' (split: expected positions of args, 0 to 0, got 3)")
    assert.has_error(function() ccw.shard(double, { x }, nil, nil, {}) end,
      "bad argument #5 to 'shard' (devices: expected a list of devices or their names)")
  end)
end)

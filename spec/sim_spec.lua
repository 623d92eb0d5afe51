-- The simulated GPU: memory, work, launches, races, captures, in the words of its messages.
local ccw = require "ccw"
local core = require "ccw.core"
local support = require "spec.support"

describe("the simulated device", function()
  it("keeps what it promises", function()
    local build = support.build
    local output, good = support.sh(("'%s/spec/sim' '%s/spec/libsim_kernels.so' '%s/spec/libplain.so'"):format(build, build, build))
    assert.equal("0 broken\n", output)
    assert.is_true(good)
  end)
end)

describe("CC-30 a call on a simulated GPU", function()
  local sim = ccw.device "sim:0"
  local lib = ccw.load(support.library "on_device")
  local x, result

  before_each(function()
    sim:reset()
    ccw.device(sim, { fail_launch = 0, fail_copy = 0, fail_allocation = 0, fail_synchronize = 0, seed = 0, time_limit = 10 })
    x = ccw.array("f32[4]", { 1, 2, 3, 4 }):to(sim)
    result = "f32[4]"
  end)
  teardown(function()
    sim:reset()
    ccw.device(sim, { time_limit = 10 })
  end)

  --- What a call says; the addresses of memory and streams left out.
  local function told(handler, attributes, options)
    local _, err = ccw.try(ccw.call, handler, { x }, result, attributes, options)
    return (tostring(err):gsub("taken at [^:]*:%d+", "taken here"):gsub("stream %d+", "stream n"))
  end

  it("runs what the handler queued", function()
    assert.equal("f32[4] {2, 4, 6, 8} on sim:0", tostring(ccw.call(lib.launches, { x }, result)))
    assert.equal("f32[4] {4, 8, 12, 16} on sim:0", tostring(ccw.call(lib.uses_scratch, { x }, result)))
  end)

  it("tells host code that touches the memory, in any thread and stage, and goes on", function()
    assert.equal("PERMISSION_DENIED: touches_in_thread: execute: 2 faults\n"
      .. "  arg 0 'x': read by code of the host, element 3 of 4, but its memory is on sim:0, for kernels and copies only\n"
      .. "  result 0 'y': written by code of the host, element 2 of 4, but its memory is on sim:0, for kernels and copies only",
      (told(lib.touches_in_thread):gsub(", in [^\n]*", "")))
    assert.equal("PERMISSION_DENIED: bundle: prepare: 1", (told({ prepare = lib.touches_in_prepare, execute = lib.launches })
      :gsub("^(.-prepare: ).*", "%11"):gsub("launches", "bundle")))
    assert.equal("f32[4] {2, 4, 6, 8} on sim:0", tostring(ccw.call(lib.launches, { x }, result)))
  end)

  it("names operand and element that a kernel leaves, and the device is broken until it is reset", function()
    assert.equal("OUT_OF_RANGE: goes_too_far: execute: sim:0: launch of one_too_far: block (0,0,0), thread (4,0,0): reads past the end of "
      .. "16 bytes taken here: byte 16, by arg 1 (CUDA_ERROR_ILLEGAL_ADDRESS)\n"
      .. "  arg 0 'x': read past its end, element 5 of 4, in one_too_far (on_device.cu:16)", told(lib.goes_too_far))
    local broken = "sim:0: broken until it is reset: launch of one_too_far"
    local _, err = ccw.try(x.to, x, "host")
    assert.equal("ABORTED", err.code)
    assert.matches(broken, err.message, 1, true)
    sim:reset()
    _, err = ccw.try(x.to, x, "host")
    assert.matches("it went when the device was reset", err.message, 1, true)
    assert.equal("INVALID_ARGUMENT: launches: arg 0: its memory is no longer there: sim:0 was reset", told(lib.launches))
    x = ccw.iota("f32[4]"):to(sim)
    assert.matches("result 0 'y': written in front of its beginning, 1 element before it", told(lib.goes_too_early), 1, true)
  end)

  it("case C25: refuses a grid of nothing, and works on", function()
    assert.equal("INVALID_ARGUMENT: launches_nothing: execute: sim:0: launch of doubled: grid x: expected 1 to 2147483647, got 0",
      told(lib.launches_nothing))
    assert.equal("f32[4] {2, 4, 6, 8} on sim:0", tostring(ccw.call(lib.launches, { x }, result)))
    assert.equal("f32[0] {} on sim:0", tostring(ccw.call(lib.launches, { ccw.array("f32[0]"):to(sim) }, "f32[0]")))
  end)

  it("says that a launch has no stream", function()
    assert.equal("FAILED_PRECONDITION: forgets_stream: execute: launch of doubled: there is no stream; pass on that of the call",
      told(lib.forgets_stream))
  end)

  it("leaves a kernel that never ends", function()
    ccw.device(sim, { time_limit = 0.05 })
    local _, err = ccw.try(ccw.call, lib.never_comes_back, {}, "f32[1]", nil, { device = sim })
    assert.equal("DEADLINE_EXCEEDED: never_comes_back: execute: sim:0: launch of never_ends: it did not end within 0.05 seconds "
      .. "(CUDA_ERROR_LAUNCH_TIMEOUT)", tostring(err))
    assert.matches("^ABORTED: ", told(lib.launches))
    sim:reset()
    x = ccw.iota("f32[4]"):to(sim)
    assert.equal("f32[4] {0, 2, 4, 6} on sim:0", tostring(ccw.call(lib.launches, { x }, result)))
  end)

  for option, message in pairs { fail_launch = "INTERNAL: launches: execute: sim:0: launch of doubled: injected failure",
    fail_synchronize = "INTERNAL: launches: execute: sim:0: synchronize: injected failure",
    fail_allocation = "RESOURCE_EXHAUSTED: sim:0: no memory for 16 bytes: injected failure" } do
    it("has the n-th from now fail, once, by " .. option, function()
      ccw.device(sim, { [option] = 2 })
      ccw.call(lib.launches, { x }, result)
      assert.equal(message, told(lib.launches))
      assert.equal("f32[4] {2, 4, 6, 8} on sim:0", tostring(ccw.call(lib.launches, { x }, result)))
    end)
  end

  it("has a copy fail", function()
    ccw.device(sim, { fail_copy = 1 })
    local _, err = ccw.try(x.to, x, "host")
    assert.equal("INTERNAL: sim:0: copy: injected failure", tostring(err))
    assert.equal("f32[4] {1, 2, 3, 4}", tostring(x:to "host"))
  end)

  it("runs out of memory", function()
    ccw.device(sim, { memory = 100000 })
    local _, err = ccw.try(function() return ccw.array("u8[200000]", 0):to(sim) end)
    ccw.device(sim, { memory = 1 << 34 })
    assert.matches("^RESOURCE_EXHAUSTED: sim:0: no memory for 200000 bytes: %d+ of 100000 are in use$", tostring(err))
  end)

  it("leaves nothing behind in 10,000 launches, and the collector finds what is on it", function()
    local call = ccw.prepare(lib.uses_scratch, { x }, result)
    call()
    collectgarbage()
    collectgarbage()
    local live, bytes = #sim:allocations(), core.memory()
    for _ = 1, 10000 do call() end
    collectgarbage()
    collectgarbage()
    assert.equal(live, #sim:allocations())
    assert.same(bytes.blocks, core.memory().blocks)
    call:close()
    local site
    for _, allocation in ipairs(sim:allocations()) do site = site or allocation.site end
    assert.matches("sim_spec.lua:%d+$", site)
  end)

  it("makes room for streams by those that nobody has any more", function()
    local other = ccw.device "sim:1"
    collectgarbage "stop"
    for _ = 1, 2000 do other:stream() end
    collectgarbage "restart"
    local kept = {}
    local _, err = ccw.try(function()
      for i = 1, 2000 do kept[i] = other:stream() end
    end)
    assert.equal("RESOURCE_EXHAUSTED: sim:1: more than 1024 streams", tostring(err))
    for _, stream in ipairs(kept) do stream:close() end
  end)

  it("refuses a kernel memory of another device", function()
    local other = ccw.iota("f32[4]"):to "sim:1"
    local kernel = ccw.kernel { name = "look", source = "__global__ void look(const float *x, float *y) { y[0] = x[0]; }" }
    local ok, message = pcall(kernel, { grid = 1, args = { other, x } })
    assert.is_false(ok)
    assert.matches("arg 0 'x': expected a buffer on sim:0, got one on sim:1", tostring(message), 1, true)
  end)
end)

describe("case C67 what a handler queues as a graph", function()
  local sim = ccw.device "sim:0"
  local lib = ccw.load(support.library "on_device")
  local x = ccw.array("f32[2]", { 1, 2 }):to(sim)

  local function captured(handler, attributes)
    local call = ccw.prepare(handler, { x }, "f32[2]", attributes)
    local graph, err = ccw.try(call.capture, call)
    return graph, err and tostring(err):gsub("stream %d+", "stream n") or nil, call
  end

  it("runs again and again, with the memory that it had", function()
    local graph, _, call = captured(lib.launches)
    local y = call()
    local stream <close> = sim:stream()
    for i = 1, 5 do
      x:set_bytes(("ff"):pack(i, 2 * i))
      graph:launch(stream)
      stream:sync()
      assert.equal(("f32[2] {%d, %d} on sim:0"):format(2 * i, 4 * i), tostring(y))
    end
    graph:close()
    assert.equal("closed graph", tostring(graph))
  end)

  it("is refused where the handler does not say that it may be one", function()
    local _, message = captured(lib.is_not_marked)
    assert.equal("FAILED_PRECONDITION: is_not_marked: its handler does not say that it is compatible with command buffers, "
      .. "TRAIT(command_buffer_compatible), and may not be captured", message)
    local on_host = ccw.prepare(lib.launches, { ccw.iota "f32[2]" }, "f32[2]")
    local _, err = ccw.try(on_host.capture, on_host)
    assert.equal("FAILED_PRECONDITION: launches: it runs on the host, where nothing is queued", tostring(err))
  end)

  for name, reason in pairs { synchronizes = "synchronizing may not happen while stream n is captured",
    allocates = "allocating may not happen while stream n is captured",
    another_stream = "using stream n, which does not wait for it, may not happen while stream n is captured",
    uses_scratch = "scratch: it ends with the call, and what is captured goes on" } do
    it("tells a handler that " .. name .. ", and the stream works on", function()
      local graph, message, call = captured(lib[name], name == "another_stream" and { joins = false } or nil)
      assert.is_nil(graph)
      assert.matches("^FAILED_PRECONDITION: " .. name .. ": execute: ", message)
      assert.matches(reason, message, 1, true)
      if name ~= "another_stream" then call() end
      assert.equal(2 * ("f"):unpack(x:bytes()), ("f"):unpack(ccw.call(lib.launches, { x }, "f32[2]"):bytes()))
    end)
  end
end)

describe("case C69 the stream of a call", function()
  local sim = ccw.device "sim:0"
  local lib = ccw.load(support.library "on_device")
  local x = ccw.array("f32[2]", { 1, 2 }):to(sim)

  it("is the one that the call names, behind what is queued there already", function()
    local slow = ccw.kernel { name = "set", source =
      "__global__ void set(float *x) { for (int i = 0; i < 100000; ++i) x[0] = i; x[0] = 10; x[1] = 20; }" }
    local s <close> = sim:stream()
    local between = x:copy()
    slow { grid = 1, block = 1, args = { between }, stream = s }
    assert.equal("f32[2] {20, 40}", tostring(ccw.call(lib.launches, { between }, "f32[2]", nil, { stream = s }):to "host"))
  end)

  it("is missed by a handler that makes its own, which shows", function()
    local _, err = ccw.try(function() return ccw.call(lib.another_stream, { x }, "f32[2]", { joins = false }):to "host" end)
    assert.equal("FAILED_PRECONDITION", err.code)
    assert.matches("launch of doubled on a handler's stream %d+ writes", err.message)
    sim:sync()
    assert.equal("f32[2] {2, 4}", tostring(ccw.call(lib.another_stream, { x }, "f32[2]", { joins = true }):to "host"))
  end)

  it("is that of each handler in Lua, also where two are under way in coroutines", function()
    local kernel = ccw.kernel { name = "twice", source = "__global__ void twice(const float *x, float *y) { y[0] = 2 * x[0]; }" }
    local seen = {}
    local handler = ccw.bind("f(@stream, x: f32[n]) -> (y: f32[n])"):to(function(stream, a, b)
      seen[#seen + 1] = stream.number
      kernel { grid = 1, block = 1, args = { a, b } }
    end)
    local s1 <close> = sim:stream()
    local s2 <close> = sim:stream()
    local function runs(stream)
      return coroutine.wrap(function()
        for _ = 1, 2 do
          local y = ccw.call(handler, { x:rows(1, 1):copy() }, "f32[1]", nil, { stream = stream })
          coroutine.yield(tostring(y))
        end
      end)
    end
    local a, b = runs(s1), runs(s2)
    for _, run in ipairs { a, b, b, a } do assert.equal("f32[1] {2} on sim:0", run()) end
    assert.same({ s1.number, s2.number, s2.number, s1.number }, seen)
  end)
end)

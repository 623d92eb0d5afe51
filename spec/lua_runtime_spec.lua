-- CC-36 to CC-38, CC-41: what handlers in Lua may ask of the runtime, and leave to it.
local ccw = require "ccw"
local core = require "ccw.core"
local support = require "spec.support"
local refuses = support.refuses

local lib = ccw.load(support.library "runtime")
local plain = ccw.load(support.library "plain")
local x = ccw.f32 { 1, 2, 3 }

--- The text of the error that a call fails with.
local function failure(...)
  local results, err = ccw.try(...)
  assert.is_nil(results)
  return tostring(err), err
end

--- Collects everything that nobody has.
local function collect()
  collectgarbage()
  collectgarbage()
end

--- Live allocations of core.
local function blocks()
  collect()
  return core.memory().blocks
end

describe("CC-36 a stage in Lua", function()
  it("is said of a binding, and refused to others", function()
    local binding = ccw.bind "counter_instantiate(@new_state) {v: s64}":stage "instantiate"
    assert.equal("counter_instantiate(@new_state) {v: s64}", tostring(binding))
    local handler = binding:to(function(v) return v end)
    assert.equal("counter_instantiate(@new_state) {v: s64}", tostring(handler.signature))
    assert.equal("0.2", handler.version)
    assert.equal("INVALID_ARGUMENT: counter_instantiate: execute: counter_instantiate: instantiate: " ..
      "expected stage instantiate, got execute", failure(ccw.call, handler, {}, "()", { v = 1 }))
    local plain_one = ccw.bind "f()":to(function() end)
    assert.equal("INVALID_ARGUMENT: f: instantiate: f: execute: expected stage execute, got instantiate",
      failure(ccw.call, { instantiate = plain_one, execute = plain_one }, {}, "()"))
  end)

  it("needs the version of the FFI that has it", function()
    local function version(signature, stage) return ccw.bind(signature):stage(stage):to(function() end).version end
    assert.equal("0.1", version("f()", "instantiate"))
    assert.equal("0.2", version("f(@new_state)", "instantiate"))
    assert.equal("0.3", version("f(@new_state)", "prepare"))
    assert.equal("0.4", version("f()", "record"))
    assert.equal("0.3", ccw.bind "f(@prepared)":to(function(_) end).version)
  end)

  it("is one that there is, and makes state only where there is a place for it", function()
    refuses("bad argument #1 to 'stage' (no stage is called 'instanciate'; near: instantiate)", function()
      ccw.bind "f()":stage "instanciate"
    end)
    refuses("bad argument #1 to 'stage' (expected a string, got nil)", function() ccw.bind "f()":stage() end)
    refuses("a method is called with a colon", function() ccw.bind("f()").stage("f", "prepare") end)
    refuses("bad argument #1 to 'to' (the stage execute has no state, but @new_state makes some; b:stage \"instantiate\", " ..
      "prepare and initialize do)", function() ccw.bind "f(@new_state)":to(function() end) end)
    refuses("@new_state is there twice", function()
      ccw.bind "f(@new_state, @new_state)":stage "instantiate":to(function() end)
    end)
  end)

  it("keeps what a chain says before and behind it", function()
    local start = ccw.bind "f":attr("s64", "v")
    local binding = start:stage "instantiate":ctx "new_state"
    assert.equal("f(@new_state) {v: s64}", tostring(binding))
    assert.equal("f() {v: s64}", tostring(start))
    start:to(function(_) end) -- is of execute still
  end)

  it("runs in the order of the runtime's, with what is there", function()
    local steps = {}
    local function stage(name, signature)
      return ccw.bind(signature or "f(a?: f32[n]) -> (b?: f32[n])"):stage(name):to(function(a, b)
        steps[#steps + 1] = ("%s(%s,%s)"):format(name, a and core.kind(a) or "", b and core.kind(b) or "")
      end)
    end
    local all = { instantiate = stage "instantiate", prepare = stage "prepare", initialize = stage "initialize", execute = stage "execute" }
    local call <close> = ccw.prepare(all, { x }, "f32[3]", nil, { stages = "all" })
    call()
    assert.equal("instantiate(,) prepare(buffer,buffer) initialize(buffer,buffer) execute(buffer,buffer)", table.concat(steps, " "))
    ccw.register("spec.stages", all, "CUDA")
    steps = {}
    ccw.call("spec.stages", { x:to(ccw.device("sim:7", { as = "CUDA" })) }, "f32[3]", nil, { platform = "CUDA" })
    assert.equal("instantiate(type,type) prepare(buffer,buffer) initialize(buffer,buffer) execute(buffer,buffer)", table.concat(steps, " "))
  end)

  it("may hand its work to tasks, and to a promise", function()
    local seen = {}
    local first = ccw.bind "i(@threads)":stage "instantiate":to(function(threads)
      local promise = ccw.promise()
      threads:run(function()
        seen[#seen + 1] = "task"
        promise:complete()
      end)
      return promise
    end)
    local second = ccw.bind "e()":to(function() seen[#seen + 1] = "execute" end)
    ccw.call({ instantiate = first, execute = second }, {}, "()")
    assert.same({ "task", "execute" }, seen)
    local failing = ccw.bind "i(@threads)":stage "instantiate":to(function(threads)
      local promise = ccw.promise()
      threads:run(function() promise:complete "no room" end)
      return promise
    end)
    assert.equal("INTERNAL: e: instantiate: no room", failure(ccw.call, { instantiate = failing, execute = second }, {}, "()"))
  end)
end)

describe("CC-36 state in Lua", function()
  local made, gone = 0, 0
  local instantiate = ccw.bind "count_instantiate(@new_state) {v: s64}":stage "instantiate":to(function(v)
    if v < 0 then return nil, "v: below zero" end
    made = made + 1
    return setmetatable({ v = v }, { __gc = function() gone = gone + 1 end })
  end)
  local execute = ccw.bind "count(@state) -> (y: s64[]) {v: s64}":to(function(state, y, _)
    y:fill(state.v)
    state.v = state.v + 1
  end)
  local counting = { instantiate = instantiate, execute = execute }

  before_each(function()
    collect()
    made, gone = 0, 0
  end)

  it("case C57: is one of a call site, and ends with it", function()
    do
      local a <close> = ccw.prepare(counting, {}, "s64[]", { v = 40 })
      local c <close> = ccw.prepare(counting, {}, "s64[]", { v = 10 })
      local d <close> = ccw.prepare(counting, {}, "s64[]", { v = 10 })
      assert.equal(40, a():item())
      assert.equal(41, a():item())
      assert.same({ 10, 10 }, { c():item(), d():item() })
      assert.same({ 11, 11 }, { c():item(), d():item() })
      collect()
      assert.same({ 3, 0 }, { made, gone })
    end
    collect()
    assert.same({ 3, 3 }, { made, gone })
    assert.equal(7, ccw.call(counting, {}, "s64[]", { v = 7 }):item())
    collect()
    assert.same({ 4, 4 }, { made, gone })
    ccw.register("spec.count", counting, "Host")
    assert.equal(8, ccw.call("spec.count", {}, "s64[]", { v = 8 }):item())
  end)

  it("case C60: a failing attempt leaves nothing, and another one works", function()
    local late = ccw.bind "late(@new_state)":stage "instantiate":to(function() error("too late", 0) end)
    local before = blocks()
    assert.equal("INTERNAL: count: instantiate: v: below zero", failure(ccw.call, counting, {}, "s64[]", { v = -1 }))
    do
      local call <close> = ccw.prepare(counting, {}, "s64[]", { v = -1 }, { stages = "by hand" })
      assert.equal("INTERNAL: count: instantiate: v: below zero", failure(call.stage, call, "instantiate"))
      assert.equal("FAILED_PRECONDITION: count: its stage instantiate has not run", failure(call))
    end
    assert.same({ 0, 0 }, { made, gone })
    assert.matches("^UNKNOWN: count: instantiate: too late",
      failure(ccw.call, { instantiate = late, execute = execute }, {}, "s64[]", { v = 1 }))
    assert.equal(1, ccw.call(counting, {}, "s64[]", { v = 1 }):item())
    assert.is_true(blocks() <= before)
  end)

  it("is any value but nil", function()
    local function round(...)
      local values, got = table.pack(...), nil
      local make = ccw.bind "make(@new_state)":stage "instantiate":to(function() return table.unpack(values, 1, values.n) end)
      local use = ccw.bind "use(@state)":to(function(state) got = state end)
      ccw.call({ instantiate = make, execute = use }, {}, "()")
      return got
    end
    for _, value in ipairs { 5, 0.5, "text", true, false, print } do assert.equal(value, round(value)) end
    local expected = "expected the state, any value but nil, or nil and an error"
    assert.equal("INTERNAL: use: instantiate: made no state: " .. expected, failure(round))
    assert.equal("INTERNAL: use: instantiate: made no state: " .. expected, failure(round, nil, nil))
    assert.equal("INTERNAL: use: instantiate: returned 2 values: " .. expected, failure(round, 1, 2))
    assert.equal("INTERNAL: use: instantiate: returned a promise: " .. expected, failure(round, ccw.promise()))
    local _, not_found = ccw.try(ccw.load, "./not-there.so")
    assert.equal("NOT_FOUND", select(2, failure(round, not_found)).code)
    assert.equal("NOT_FOUND", select(2, failure(round, nil, not_found)).code)
  end)

  it("is of prepare and initialize too, and ends with the execution", function()
    local log = {}
    local function holding(name)
      return setmetatable({ name = name }, { __gc = function() log[#log + 1] = name end })
    end
    local prepare = ccw.bind "p(@new_state)":stage "prepare":to(function() return holding "prepared" end)
    local initialize = ccw.bind "i(@prepared, @new_state)":stage "initialize":to(function(prepared)
      return holding("initialized after " .. prepared.name)
    end)
    local use = ccw.bind "e(@prepared, @initialized)":to(function(p, i) log[#log + 1] = p.name .. ", " .. i.name end)
    local call <close> = ccw.prepare({ prepare = prepare, initialize = initialize, execute = use }, {}, "()", nil, { stages = "all" })
    call()
    collect()
    assert.equal("prepared, initialized after prepared", log[1])
    assert.equal(3, #log)
    assert.matches("^INVALID_ARGUMENT: e: execute: context 0: prepared: there is no state of stage prepare",
      failure(ccw.call, use, {}, "()"))
  end)

  it("of C's is where it lies, and Lua's is nothing to C", function()
    local got
    local alone = ccw.bind "alone(@state(mark)) {fails: string}":to(function(mark, _) got = mark end)
    ccw.call({ instantiate = lib.marks_instantiate, execute = alone }, {}, "()", { fails = "" })
    assert.equal("userdata", type(got))
    local own = ccw.bind "own(@state) {fails: string}":to(function(_, _) end)
    assert.matches("^INVALID_ARGUMENT: own: execute: context 0: state: the state of stage instantiate is of type 'mark' %(id %d+%), " ..
      "expected 'ccw%.lua' %(id %d+%)", failure(ccw.call, { instantiate = lib.marks_instantiate, execute = own }, {}, "()", { fails = "" }))
    local make = ccw.bind "make(@new_state) {fails: string}":stage "instantiate":to(function(_) return 1 end)
    assert.matches("the state of stage instantiate is of type 'ccw%.lua' %(id %d+%), expected 'mark' %(id %d+%)",
      failure(ccw.call, { instantiate = make, execute = lib.mark_alone }, {}, "s64[]", { fails = "" }))
    local unknown = ccw.bind "unknown(@state(Nobody))":to(function(_) end)
    assert.matches("^INVALID_ARGUMENT: unknown: execute: context 0: state: no type is registered as 'Nobody'; " ..
      "register it, as in lib:type \"NAME\"", failure(ccw.call, unknown, {}, "()"))
  end)

  it("leaves nothing behind", function()
    ccw.call(counting, {}, "s64[]", { v = 1 })
    local before = blocks()
    for i = 1, 100 do ccw.call(counting, {}, "s64[]", { v = i }) end
    assert.is_true(blocks() <= before)
    assert.equal(made, gone)
  end)
end)

describe("CC-41 user data in Lua", function()
  it("is where it lies", function()
    local got
    local f = ccw.bind "f(@user_data(settings))":to(function(data) got = data end)
    local settings = ccw.f64 { 1, 2 }
    ccw.call(f, {}, "()", nil, { user_data = { settings = settings } })
    assert.equal(("0x%x"):format(settings.address), ("%p"):format(got))
    assert.matches("^INVALID_ARGUMENT: f: execute: context 0: user_data: the call has no user data of type 'settings'",
      failure(ccw.call, f, {}, "()"))
  end)
end)

describe("CC-38 scratch memory in Lua", function()
  it("is a buffer, until the function returns", function()
    local kept
    local f = ccw.bind "f(x: f32[n], @scratch) -> (y: f32[n])":to(function(a, scratch, y)
      local t = scratch:take(a.type)
      assert.equal(3, #scratch:take "s8[3]")
      kept = { scratch, t }
      for i = 1, #a do t[i] = 3 * a[i] end
      ccw.call(plain.copy, { t }, y)
    end)
    assert.equal("f32[3] {3, 6, 9}", tostring(ccw.call(f, { x }, "f32[3]")))
    refuses("scratch: the handler that got this has returned", function() kept[1]:take "f32[1]" end)
    refuses("scratch: the call that it belonged to is over; keep its copy()", function() return kept[2][1] end)
    kept = nil
    local before = blocks()
    ccw.call(f, { x }, "f32[3]")
    kept = nil
    assert.is_true(blocks() <= before)
  end)

  it("is refused as the runtime does", function()
    local f = ccw.bind "f(@scratch) {size: s64}":to(function(scratch, size)
      for _ = 1, 20 do scratch:take(("u8[%d]"):format(size)) end
    end)
    assert.matches("^INVALID_ARGUMENT: f: execute: XLA has no scratch memory on the CPU\nstack traceback:",
      failure(ccw.call, f, {}, "()", { size = 1 }, { like_xla = true }))
    assert.matches("^RESOURCE_EXHAUSTED: f: execute: scratch: 16 pieces are taken already", failure(ccw.call, f, {}, "()", { size = 1 }))
    assert.matches("^RESOURCE_EXHAUSTED: f: execute: scratch: no memory for", failure(ccw.call, f, {}, "()", { size = 1 << 56 }))
    local g = ccw.bind "g(@scratch) -> (y: s64[])":to(function(scratch, y)
      local _, err = ccw.try(scratch.take, scratch, "f32[1]")
      y:fill(err and 1 or 0)
    end)
    assert.equal(1, ccw.call(g, {}, "s64[]", nil, { like_xla = true }):item())
    assert.equal(0, ccw.call(g, {}, "s64[]"):item())
  end)
end)

describe("CC-38 threads in Lua", function()
  local function with_threads(f) return ccw.call(ccw.bind "f(x: f32[n], @threads) -> (y: f32[n])":to(f), { x }, "f32[3]") end

  it("run functions one at a time, all of them before the call is over", function()
    local inside, most, ran = 0, 0, 0
    for _ = 1, 20 do
      local y = with_threads(function(a, threads, y)
        assert.equal(ccw.threads(), threads.count)
        for i = 1, 3 do
          threads:run(function()
            inside = inside + 1
            most = math.max(most, inside)
            for _ = 1, 30 do y[i] = 2 * a[i] end
            ran, inside = ran + 1, inside - 1
          end)
        end
      end)
      assert.equal("f32[3] {2, 4, 6}", tostring(y))
    end
    assert.same({ 60, 1 }, { ran, most })
  end)

  it("run calls of handlers in C beside each other", function()
    local y = with_threads(function(a, threads, y)
      local halves = { ccw.array("f32[3]", 0), ccw.array("f32[3]", 0) }
      for i = 1, 2 do threads:run(function() ccw.call(plain.copy, { a }, halves[i]) end) end
      threads:wait()
      threads:run(function() ccw.call(plain.copy, { halves[1] }, y) end)
      assert.equal("f32[3] {1, 2, 3}", tostring(halves[2]))
    end)
    assert.equal("f32[3] {1, 2, 3}", tostring(y))
  end)

  it("run tasks of tasks", function()
    local ran = 0
    local function chain(threads, n)
      threads:run(function()
        ran = ran + 1
        if n > 1 then chain(threads, n - 1) end
      end)
    end
    with_threads(function(_, threads, _) chain(threads, 100) end)
    assert.equal(100, ran)
  end)

  it("bring failures of tasks to the call", function()
    local function run(f) return (failure(with_threads, f)) end
    assert.matches("^UNKNOWN: f: execute: boom\nstack traceback:", run(function(_, threads, _)
      threads:run(function() error("boom", 0) end)
    end))
    assert.equal("INTERNAL: f: execute: no paper", run(function(_, threads, _)
      threads:run(function() return nil, "no paper" end)
      threads:run(function() end)
    end))
    assert.equal("INTERNAL: f: execute: returned a table: expected nothing, or an error", run(function(_, threads, _)
      threads:run(function() return {} end)
    end))
    assert.matches("^INTERNAL: f: execute: no paper\nstack traceback:", run(function(_, threads, _)
      threads:run(function() return nil, "no paper" end)
      threads:wait()
    end))
    with_threads(function(_, threads, _)
      threads:run(function() return nil, "no paper" end)
      local _, err = ccw.try(threads.wait, threads)
      assert.equal("INTERNAL: no paper", tostring(err))
      threads:wait()
    end)
  end)

  it("drop what has not begun when the function fails", function()
    local ran = 0
    assert.equal("INTERNAL: f: execute: no paper", failure(with_threads, function(_, threads, _)
      for _ = 1, 50 do threads:run(function() ran = ran + 1 end) end
      return nil, "no paper"
    end))
    assert.is_true(ran < 50)
  end)

  it("are the handler's until its function returns", function()
    local kept
    with_threads(function(_, threads, _)
      kept = threads
      threads:run(function()
        refuses("threads: it is the handler's function that waits for its tasks", function() threads:wait() end)
      end)
      threads:wait()
      refuses("bad argument #1 to 'run' (function expected, got no value)", function() threads:run() end)
    end)
    refuses("threads: the handler that got this has returned", function() kept:run(print) end)
    refuses("threads: the handler that got this has returned", function() return kept.count end)
    refuses("threads: the handler that got this has returned", function() kept:wait() end)
  end)

  it("let others wait: a handler in Lua runs in a task of a handler in C, and calls on", function()
    local count = 0
    local g = ccw.bind "g(x: f32[n])":to(function(a) count = count + a[1] end)
    local f = ccw.bind "f(x: f32[n])":to(function(a)
      ccw.call(lib.relay_in_pool, { a }, "()", { handler = g.address, times = 2 })
    end)
    ccw.call(lib.relay_in_pool, { x }, "()", { handler = f.address, times = 1 })
    assert.equal(2, count)
    ccw.call(lib.relay_in_pool, { x }, "()", { handler = g.address, times = 30 })
    assert.equal(32, count)
    local bad = ccw.bind "bad(x: f32[n])":to(function(_) return nil, "no paper" end)
    assert.equal("INTERNAL: relay_in_pool: execute: bad: execute: no paper",
      failure(ccw.call, lib.relay_in_pool, { x }, "()", { handler = bad.address, times = 3 }))
  end)

  it("leave nothing behind", function()
    local function once()
      with_threads(function(_, threads, _) for _ = 1, 10 do threads:run(function() end) end end)
    end
    local nothing = ccw.bind "nothing(x: f32[n])":to(function(_) end)
    local function drain() -- the pool comes to tasks that have run already
      ccw.call(lib.relay_in_pool, { x }, "()", { handler = nothing.address, times = 5 })
      os.execute "sleep 0.01"
      return blocks()
    end
    once()
    local deadline, before = core.clock() + 5, drain()
    for _ = 1, 20 do once() end
    while drain() > before and core.clock() < deadline do end
    assert.is_true(drain() <= before)
  end)
end)

describe("CC-38 a promise", function()
  local kept
  local later = ccw.bind "later(x: f32[n]) -> (y: f32[n])":to(function(a, y)
    kept = { promise = ccw.promise(), x = a, y = y }
    return kept.promise
  end)

  before_each(function() kept = nil end)

  it("is a future to whoever has started the call, who may complete it", function()
    local call <close> = ccw.prepare(later, { x }, "f32[3]")
    local future = call:start()
    assert.is_false(future:done())
    assert.equal("promise: returned, not complete", tostring(kept.promise))
    for i = 1, #kept.x do kept.y[i] = kept.x[i] / 2 end
    kept.promise:complete()
    assert.equal("promise: complete", tostring(kept.promise))
    assert.is_true(future:done())
    assert.equal("f32[3] {0.5, 1, 1.5}", tostring(future:wait()))
    for _, name in ipairs { "x", "y" } do
      refuses("the call that it belonged to is over; keep its copy()", function() return kept[name][1] end)
    end
  end)

  it("is completed by a coroutine, by a task, by a handler that another thread runs", function()
    local call <close> = ccw.prepare(later, { x }, "f32[3]")
    local future = call:start()
    local worker = coroutine.wrap(function()
      for i = 1, 3 do
        kept.y[i] = i
        coroutine.yield()
      end
      kept.promise:complete()
    end)
    while not future:done() do worker() end
    assert.equal("f32[3] {1, 2, 3}", tostring(future:wait()))

    local in_task = ccw.bind "in_task(x: f32[n], @threads) -> (y: f32[n])":to(function(a, threads, y)
      local promise, left = ccw.promise(), #a
      for i = 1, #a do
        threads:run(function()
          y[i] = 2 * a[i]
          left = left - 1
          if left == 0 then promise:complete() end
        end)
      end
      return promise
    end)
    for _ = 1, 20 do assert.equal("f32[3] {2, 4, 6}", tostring(ccw.call(in_task, { x }, "f32[3]"))) end

    future = call:start()
    local finish = ccw.bind "finish(x: f32[n])":to(function(_)
      kept.y:fill(7)
      kept.promise:complete()
    end)
    ccw.call(plain.relay, { x }, "()", { handler = finish.address, threads = 1, times = 1 })
    assert.equal("f32[3] {7, 7, 7}", tostring(future:wait()))
  end)

  it("brings an error, with its code", function()
    local call <close> = ccw.prepare(later, { x }, "f32[3]")
    local function after(err)
      local future = call:start()
      kept.promise:complete(err)
      return failure(future.wait, future)
    end
    assert.equal("INTERNAL: later: execute: no paper", after "no paper")
    local _, not_found = ccw.try(ccw.load, "./not-there.so")
    local text, err = after(not_found)
    assert.equal("NOT_FOUND: later: execute: ./not-there.so: no such file, and no library of that name", text)
    assert.equal("execute", err.stage)
    local future = call:start()
    kept.promise:complete(true)
    future:wait()
  end)

  it("is completed once, and returned once", function()
    local promise = ccw.promise()
    assert.equal("promise: not complete", tostring(promise))
    refuses("bad argument #1 to 'complete' (expected nothing, or an error, got table)", function() promise:complete {} end)
    local returning = ccw.bind "returning()":to(function() return promise end)
    promise:complete()
    assert.equal("FAILED_PRECONDITION: the promise is complete already", failure(promise.complete, promise))
    assert.equal("FAILED_PRECONDITION: the promise is complete already", failure(promise.complete, promise, "late"))
    assert.same({}, ccw.call(returning, {}, "()")) -- it was complete before
    assert.equal("FAILED_PRECONDITION: returning: execute: returned a promise that was returned before",
      failure(ccw.call, returning, {}, "()"))
    promise = ccw.promise()
    promise:complete "no paper"
    assert.equal("INTERNAL: returning: execute: no paper", failure(ccw.call, returning, {}, "()"))
    assert.equal("INTERNAL: f: execute: returned 2 values: expected nothing, or an error",
      failure(ccw.call, ccw.bind "f()":to(function() return ccw.promise(), 1 end), {}, "()"))
  end)

  it("that everybody has dropped is an error, also to whoever waits", function()
    local text = "ABORTED: drop: execute: everybody has dropped its promise, and nobody has completed it"
    local drop = ccw.bind "drop(x: f32[n])":to(function(_) return ccw.promise() end)
    assert.equal(text, failure(ccw.call, drop, { x }, "()"))
    local call <close> = ccw.prepare(drop, { x }, "()")
    assert.equal(text, failure(call))
    local future = call:start()
    collect()
    assert.equal(text, failure(future.wait, future, 5))
    local started = call:start()
    ccw.call(lib.relay_in_pool, { x }, "()", { handler = ccw.bind "g(x: f32[n])":to(function(_) collect() end).address, times = 1 })
    assert.equal(text, failure(started.wait, started, 5))
  end)

  it("is failed by a task of its handler", function()
    local f = ccw.bind "f(@threads)":to(function(threads)
      local promise = ccw.promise()
      kept = promise
      threads:run(function() error("boom", 0) end)
      return promise
    end)
    assert.matches("^UNKNOWN: f: execute: boom\nstack traceback:", failure(ccw.call, f, {}, "()"))
    assert.matches("^FAILED_PRECONDITION: ", failure(kept.complete, kept))
  end)

  it("waits, once it is complete, for calls that use the call's buffers", function()
    local order, future = {}, nil
    local inner = ccw.bind "inner(x: f32[n])":to(function(a)
      kept.promise:complete()
      order[#order + 1] = ("complete, done: %s, %s"):format(future:done(), a[1])
      refuses("the call that it belonged to is over", function() return kept.x[1] end)
    end)
    local call <close> = ccw.prepare(later, { x }, "f32[3]")
    future = call:start()
    ccw.call(plain.relay, { kept.x }, "()", { handler = inner.address, threads = 1, times = 1 })
    order[#order + 1] = ("done: %s"):format(future:done())
    assert.same({ "complete, done: false, 1.0", "done: true" }, order)
    future:wait()
  end)

  it("outlives the function's threads and scratch memory", function()
    local late = {}
    local f = ccw.bind "f(x: f32[n], @threads, @scratch) -> (y: f32[n])":to(function(a, threads, scratch, y)
      local promise, t = ccw.promise(), scratch:take(a.type)
      t[1] = 5
      threads:run(function()
        for name, use in pairs { threads = function() threads:run(print) end, scratch = function() scratch:take "f32[1]" end,
          taken = function() return t[1] end } do
          late[name] = select(2, pcall(use))
        end
        y:fill(1)
        promise:complete()
      end)
      return promise
    end)
    local threads = ccw.threads()
    ccw.threads(1)
    ccw.call(f, { x }, "f32[3]")
    ccw.threads(threads)
    assert.matches("threads: the handler that got this has returned", late.threads, 1, true)
    assert.matches("scratch: the handler that got this has returned", late.scratch, 1, true)
    assert.matches("scratch: the call that it belonged to is over", late.taken, 1, true)
  end)

  it("leaves nothing behind", function()
    local f = ccw.bind "f(x: f32[n], ...) -> (y: f32[n]) {w: s32[]}":to(function(_, _, _, _)
      local promise = ccw.promise()
      kept = promise
      return promise
    end)
    local operands, attributes = { x, x }, { w = ccw.s32 { 1 } }
    local function once(err)
      local call <close> = ccw.prepare(f, operands, "f32[3]", attributes)
      local future = call:start()
      kept:complete(err)
      kept = nil
      ccw.try(future.wait, future)
    end
    once()
    once "bad"
    local before = blocks()
    for i = 1, 50 do once(i % 2 == 0 and "bad" or nil) end
    assert.is_true(blocks() <= before)
  end)
end)

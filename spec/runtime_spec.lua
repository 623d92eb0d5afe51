-- CC-36 to CC-38, CC-41: what stands behind the frame, with handlers in C. Those of the official binding are in versions_spec.
local ccw = require "ccw"
local core = require "ccw.core"
local support = require "spec.support"
local refuses = support.refuses

local lib = ccw.load(support.library "runtime")

--- The text of the error that a call fails with.
local function failure(...)
  local results, err = ccw.try(...)
  assert.is_nil(results)
  return tostring(err), err
end

--- The stages and deleters that ran since this was asked last.
local function steps()
  local _, err = ccw.try(ccw.call, lib.tell_steps, {}, "()")
  return (err.message:gsub("^tell_steps: execute: ?", ""))
end

--- Marks that were made and not deleted.
local function alive()
  local y = ccw.call(lib.count_marks, {}, "s64[2]")
  return y[1] - y[2]
end

--- Live allocations of core, once everything is collected that nobody has.
local function blocks()
  collectgarbage() collectgarbage()
  return core.memory().blocks
end

local bundle = { instantiate = lib.marks_instantiate, prepare = lib.marks_prepare, initialize = lib.marks_initialize,
  execute = lib.marks }
local counting = { instantiate = lib.marks_instantiate, execute = lib.mark_alone }
local frames = { instantiate = lib.frames_instantiate, prepare = lib.frames_prepare, initialize = lib.frames_initialize,
  execute = lib.frames }
local x = ccw.f32 { 1, 2 }

before_each(function() steps() end)
after_each(function()
  collectgarbage() collectgarbage()
  assert.equal(0, alive())
end)

describe("CC-36 stages, case C59", function()
  it("are instantiate once and execute in each run on the host, as on XLA's CPU", function()
    local call <close> = ccw.prepare(frames, { x }, "f32[2]")
    assert.equal("instantiate(0,0)", steps())
    call() call()
    assert.equal("execute(1,1,data) execute(1,1,data)", steps())
  end)

  it("are prepare, initialize and execute in each run where all are asked for", function()
    local call <close> = ccw.prepare(frames, { x }, "f32[2]", nil, { stages = "all" })
    call() call()
    local run = "prepare(1,1,data) initialize(1,1,data) execute(1,1,data)"
    assert.equal("instantiate(0,0) " .. run .. " " .. run, steps())
  end)

  it("are those on another platform, and instantiate gets prototypes of the operands", function()
    ccw.call(frames, { x:to "sim:7" }, "f32[2]")
    assert.equal("instantiate(1,1,none) prepare(1,1,data) initialize(1,1,data) execute(1,1,data)", steps())
  end)

  it("are those of a list, in their order", function()
    ccw.call(frames, { x }, "f32[2]", nil, { stages = { "execute", "prepare" } })
    assert.equal("instantiate(0,0) prepare(1,1,data) execute(1,1,data)", steps())
  end)

  it("are passed over where the handler has none", function()
    ccw.call({ execute = lib.frames, prepare = lib.frames_prepare }, { x }, "f32[2]", nil, { stages = "all" })
    assert.equal("prepare(1,1,data) execute(1,1,data)", steps())
  end)

  it("run one at a time by hand, each with its frame to look at", function()
    local call <close> = ccw.prepare(frames, { x }, "f32[2]", nil, { stages = "by hand" })
    assert.equal("", steps())
    assert.equal("FAILED_PRECONDITION: frames: its stage instantiate has not run", failure(call))
    assert.equal("FAILED_PRECONDITION: frames: its stage instantiate has not run", failure(call.stage, call, "prepare"))
    assert.matches("stage                 0 instantiate.*args.size             0", call:explain "instantiate")
    assert.matches("stage                 1 prepare.*args.size             1", call:explain "prepare")
    assert.matches("stage                 3 execute", call:explain())
    call:stage "instantiate"
    call:stage "initialize"
    assert.equal("f32[2]", call:stage "execute".type)
    assert.equal("instantiate(0,0) initialize(1,1,data) execute(1,1,data)", steps())
    assert.equal("FAILED_PRECONDITION: frames: its stage instantiate has run already",
      failure(call.stage, call, "instantiate"))
    assert.equal("NOT_FOUND: frames: it has no function for the stage record", failure(call.stage, call, "record"))
    refuses("bad argument #1 to 'stage' (invalid option 'prepre')", function() call:stage "prepre" end)
  end)

  it("are refused where their names are none", function()
    local function with(stages) return ccw.call, frames, { x }, "f32[2]", nil, { stages = stages } end
    refuses("stages: expected \"all\", \"by hand\" or a list of names, got some", with "some")
    refuses("no stage is called 'excute'; near: execute", with { "excute" })
    refuses("stages: instantiate is of no run: it runs once, when the call is prepared", with { "instantiate" })
    refuses("stages: expected a list of names, got an empty one", with {})
  end)

  it("have their attributes converted as each of them binds them", function()
    local make = ccw.bind "make(@new_state) {g: f32}":stage "instantiate":to(function(g) return g end)
    local give = ccw.bind "give(@state) -> (y: f32[])":to(function(state, y) y:fill(state) end)
    assert.equal("f32[] 2", tostring(ccw.call({ instantiate = make, execute = give }, {}, "f32[]", { g = 2 })))
    assert.equal("OUT_OF_RANGE: give: attribute 'g': 1e+300 does not fit in f32",
      failure(ccw.call, { instantiate = make, execute = give }, {}, "f32[]", { g = 1e300 }))
  end)

  it("stay registered together", function()
    ccw.register("runtime.counting", { instantiate = lib.marks_instantiate, execute = lib.mark_alone })
    collectgarbage() collectgarbage()
    local call <close> = ccw.prepare("runtime.counting", {}, "s64[]", { fails = "" })
    call() call()
    assert.equal(3, call():item())
  end)
end)

describe("CC-36 state", function()
  it("is found by the stages behind, and ends with the run, that of instantiation with the call", function()
    local call = ccw.prepare(bundle, {}, "s64[]", { fails = "" }, { stages = "all" })
    assert.equal(112, call():item())
    assert.equal("instantiate prepare initialize execute delete delete", steps())
    assert.equal(112, call():item())
    assert.equal(1, alive())
    call:close()
    assert.equal("prepare initialize execute delete delete delete", steps())
  end)

  it("case C57: counts on in each call site by itself", function()
    local one = ccw.prepare(counting, {}, "s64[]", { fails = "" })
    local other = ccw.prepare(counting, {}, "s64[]", { fails = "" })
    assert.same({ 1, 1, 2, 2 }, { one():item(), other():item(), one():item(), other():item() })
    one:close() other:close()
  end)

  it("case C60: that is half made leaks nothing, and allows a retry", function()
    for _, stage in ipairs { "instantiate", "prepare", "initialize", "execute" } do
      local text, err = failure(ccw.call, bundle, {}, "s64[]", { fails = stage }, { stages = "all" })
      assert.equal(("OUT_OF_RANGE: marks: %s: asked to fail"):format(stage), text)
      assert.equal(stage, err.stage)
      assert.equal(0, alive())
      assert.equal(112, ccw.call(bundle, {}, "s64[]", { fails = "" }, { stages = "all" }):item())
    end
  end)

  it("case C60: the execute function does not run behind one that failed", function()
    failure(ccw.call, counting, {}, "s64[]", { fails = "instantiate" })
    assert.equal("instantiate delete", steps())
  end)

  it("that is not there is told at the operand", function()
    assert.equal("INVALID_ARGUMENT: marks: execute: 2 bad operands\n" ..
      "  context 1 'p': prepared: there is no state of stage prepare\n" ..
      "  context 2 'i': initialized: there is no state of stage initialize",
      failure(ccw.call, bundle, {}, "s64[]", { fails = "" }))
  end)

  it("by hand lasts until the next execution", function()
    local call <close> = ccw.prepare(bundle, {}, "s64[]", { fails = "" }, { stages = "by hand" })
    call:stage "instantiate"
    call:stage "prepare"
    call:stage "initialize"
    assert.equal(112, call:stage "execute":item())
    assert.equal(112, call:stage "execute":item())
    call:stage "prepare"
    assert.equal("instantiate prepare initialize execute execute delete delete prepare", steps())
    assert.matches("there is no state of stage initialize", failure(call.stage, call, "execute"), 1, true)
  end)

  it("of the types of a library of handler.h is registered when it is loaded", function()
    assert.is_truthy(core.state_type "mark")
    assert.matches("\n  type mark\n  type settings$", tostring(lib))
    assert.is_nil(core.state_type "no such type")
    lib:type "mark"
    assert.matches("libruntime.so: has no type 'marc'; it has mark, settings$", failure(lib.type, lib, "marc"))
    refuses("bad argument #1 to 'type' (expected a string, got number)", lib.type, lib, 1)
    assert.matches("libruntime.so: frames is a handler, and gives no address$", failure(lib.type, lib, "X", "frames"))
    assert.matches("expected a variable of 8 bytes, ccw_type_info_mark has 24$", failure(lib.type, lib, "X", "ccw_type_info_mark"))
    assert.matches("expected a variable of 24 bytes, ccw_type_id_mark has 8$",
      failure(lib.type, lib, "X", "ccw_type_id_settings", "ccw_type_id_mark"))
    assert.is_nil(core.state_type "X")
  end)
end)

describe("CC-37 user data", function()
  it("is a copy of bytes, or the memory of a buffer", function()
    local bytes = string.pack("i4xxxxd", 7, 0.5)
    local call <close> = ccw.prepare(lib.read_settings, {}, "f64[2]", nil, { user_data = { settings = bytes } })
    collectgarbage() collectgarbage()
    assert.equal("f64[2] {7, 0.5}", tostring(call()))
    assert.equal("f64[2] {8, 0.5}", tostring(call())) -- the handler counts on in its copy
    assert.equal(string.pack("i4xxxxd", 7, 0.5), bytes)
    local buffer = ccw.array "u8[16]":set_bytes(bytes)
    ccw.call(lib.read_settings, {}, "f64[2]", nil, { user_data = { settings = buffer } })
    assert.equal(8, buffer[1])
  end)

  it("that is not there, or of no type, is told", function()
    assert.matches("context 0 's': user_data: the call has no user data of type 'settings' (id ",
      failure(ccw.call, lib.read_settings, {}, "f64[2]"), 1, true)
    assert.equal("NOT_FOUND: user_data: no type is registered as 'setings'; register it, as in lib:type \"NAME\"",
      failure(ccw.call, lib.read_settings, {}, "f64[2]", nil, { user_data = { setings = "" } }))
    refuses("user_data: settings: expected a buffer, a string of bytes or a light userdata, got number", ccw.call,
      lib.read_settings, {}, "f64[2]", nil, { user_data = { settings = 1 } })
  end)
end)

describe("CC-37 custom options", function()
  it("are read apart from the attributes", function()
    local options = { custom_options = { eps = ccw.f32(0.5), n = 3 } }
    assert.equal("f64[2] {0.5, 3}", tostring(ccw.call(lib.read_options, {}, "f64[2]", nil, options)))
    options.custom_options = ccw.attrs(options.custom_options)
    assert.equal("f64[2] {0.5, 3}", tostring(ccw.call(lib.read_options, {}, "f64[2]", nil, options)))
    assert.equal("INVALID_ARGUMENT: read_options: execute: attribute 'eps': expected f32, got none; present: none",
      failure(ccw.call, lib.read_options, {}, "f64[2]"))
    refuses("custom_options: expected a table, got number", ccw.call, lib.read_options, {}, "f64[2]", nil,
      { custom_options = 1 })
  end)
end)

describe("CC-37 scratch memory, case C71", function()
  local function take(size, alignment, options)
    return ccw.call(lib.take_scratch, {}, "s64[]", { size = size, alignment = alignment }, options):item()
  end

  it("is there on the host, of any size that there is, and ends with the call", function()
    local before = blocks()
    assert.equal(1, take(0, 1))
    assert.equal(1, take(1, 16))
    assert.equal(1, take(1000, 8))
    assert.equal(before, blocks())
    assert.equal("RESOURCE_EXHAUSTED: take_scratch: execute: scratch: no memory for 1099511627776 bytes",
      failure(take, 1 << 40, 16))
  end)

  it("is not there where calls are to be as XLA's", function()
    assert.equal("INVALID_ARGUMENT: take_scratch: execute: XLA has no scratch memory on the CPU",
      failure(take, 1000, 16, { like_xla = true }))
  end)

  it("has XLA's alignments", function()
    assert.equal("INVALID_ARGUMENT: take_scratch: execute: scratch: expected an alignment of 1, 2, 4, 8 or 16, got 3",
      failure(take, 8, 3))
    assert.matches("got 32$", failure(take, 8, 32))
    assert.matches("got 0$", failure(take, 8, 0))
  end)

  it("is given back once, and as it was taken", function()
    local function wrong(how) return failure(ccw.call, lib.wrong_scratch, {}, "()", { how = how }) end
    assert.matches("wrong_scratch: execute: scratch: 0x%x+ was not taken in this call, or is given back already$", wrong(0))
    assert.equal("INVALID_ARGUMENT: wrong_scratch: execute: scratch: 100 bytes were taken, and 99 given back", wrong(1))
    assert.matches("given back already$", wrong(2))
  end)
end)

describe("CC-37 the context", function()
  it("is explained with the frame", function()
    local call <close> = ccw.prepare(bundle, {}, "s64[]", { fails = "" }, { run_id = 7, device_ordinal = -1, like_xla = true,
      custom_options = { a = 1 }, user_data = { settings = "" } })
    local text = call:explain():match "the context.*":gsub("id %d+%)", "id N)"):gsub("threads +%d+", "threads N")
    assert.equal("the context\n  run id          7\n  device ordinal  -1\n  stream          none on the host\n" ..
      "  scratch memory  none, as in XLA on the CPU\n  threads N\n  state           of instantiate: 'mark' (id N)\n" ..
      "  user data       'settings' (id N)\n  custom options  1", text)
  end)

  it("has types that are listed", function()
    local found = {}
    for _, type in ipairs(ccw.types()) do found[type.name] = type end
    assert.is_true(found.mark.state)
    assert.is_false(found.settings.state)
    assert.equal(core.state_type "mark", found.mark.id)
  end)
end)

describe("CC-37 threads", function()
  local before = ccw.threads()
  after_each(function() ccw.threads(before) end)

  it("are as many as are set", function()
    for _, count in ipairs { 3, 1, 2 } do
      assert.equal(count, ccw.threads(count))
      assert.equal(count, ccw.call(lib.thread_count, {}, "s64[]"):item())
    end
    refuses("bad argument #1 to 'threads' (threads: expected 1 to 1024, got 0)", function() ccw.threads(0) end)
  end)

  it("share the work of a loop", function()
    local matrix, y = ccw.load(support.library "jax_matrix"), ccw.iota "f32[100000]"
    for _, count in ipairs { 1, 4 } do
      ccw.threads(count)
      local squares = ccw.call(matrix.square_by_threads, { y }, "f32[100000]")
      assert.equal("equal", tostring(ccw.compare(squares, ccw.array("f32[100000]", function(i) return (i - 1) * (i - 1) end))))
    end
    assert.equal(0, #ccw.call(matrix.square_by_threads, { ccw.array "f32[0]" }, "f32[0]"))
  end)

  it("take tasks from tasks, also when there is one", function()
    ccw.threads(1)
    ccw.call(lib.tasks_from_tasks, {}, "()", { count = 1000 })
    ccw.threads(4)
    ccw.call(lib.tasks_from_tasks, {}, "()", { count = 1000 })
  end)
end)

describe("CC-38 a future", function()
  local function finish(slot, code) ccw.call(lib.finish, {}, "()", { slot = slot, code = code or 0 }) end

  it("is waited for by the call itself", function()
    local call <close> = ccw.prepare(lib.later, { x }, "f32[2]", { slot = 0 })
    local waiting = call:start()
    ccw.call(lib.finish_in_pool, {}, "()", { slot = 0, code = 0 })
    assert.equal("f32[2] {2, 4}", tostring(waiting:wait()))
    assert.same({}, ccw.call(lib.tasks_from_tasks, {}, "()", { count = 10 }))
  end)

  it("is started, asked, and waited for", function()
    local call <close> = ccw.prepare(lib.later, { x }, "f32[2]", { slot = 1 })
    local waiting = call:start()
    assert.is_false(waiting:done())
    assert.equal("future of later: not complete", tostring(waiting))
    assert.equal("FAILED_PRECONDITION: later: it is running already, until its future is complete", failure(call))
    finish(1)
    assert.is_true(waiting:done())
    assert.equal("f32[2] {2, 4}", tostring(waiting:wait()))
    assert.equal("f32[2] {2, 4}", tostring(waiting:wait())) -- as often as one likes
    assert.equal("future of later: complete", tostring(waiting))
  end)

  it("brings its error", function()
    local call <close> = ccw.prepare(lib.later, { x }, "f32[2]", { slot = 2 })
    local waiting = call:start()
    finish(2, 11)
    local text, err = failure(waiting.wait, waiting)
    assert.equal("OUT_OF_RANGE: later: execute: finished with 11", text)
    assert.equal("later", err.handler)
    assert.equal("execute", err.stage)
    assert.equal("future of later: failed", tostring(waiting))
    assert.equal(text, failure(waiting.wait, waiting))
  end)

  it("that is complete when the handler returns is none", function()
    assert.same({}, ccw.call(lib.two_futures, {}, "()"))
    local waiting = ccw.prepare(lib.two_futures, {}, "()"):start()
    assert.is_true(waiting:done())
    assert.same({}, waiting:wait())
  end)

  it("is none of a handler that fails", function()
    assert.equal("ABORTED: error_and_future: execute: an error beside a future", failure(ccw.call, lib.error_and_future, {}, "()"))
  end)

  it("must have been made here", function()
    assert.matches("^INTERNAL: strange_future: execute: left a future in its frame that was not made here: 0x",
      failure(ccw.call, lib.strange_future, {}, "()"))
  end)

  it("is completed once", function()
    local call <close> = ccw.prepare(lib.later, { x }, "f32[2]", { slot = 3 })
    local waiting = call:start()
    finish(3)
    assert.equal("FAILED_PRECONDITION: finish: execute: the future is complete already",
      failure(ccw.call, lib.finish, {}, "()", { slot = 3, code = 0 }))
    waiting:wait()
    assert.equal("FAILED_PRECONDITION: finish: execute: the future is complete already",
      failure(ccw.call, lib.finish, {}, "()", { slot = 3, code = 3 }))
  end)

  it("that is not completed is given up after a time, and may be waited for again", function()
    local call = ccw.prepare(lib.later, { x }, "f32[2]", { slot = 4 })
    local waiting = call:start()
    assert.equal("DEADLINE_EXCEEDED: later: its future was not complete after 0.001 seconds",
      failure(waiting.wait, waiting, 0.001))
    assert.equal("DEADLINE_EXCEEDED: later: its future was not complete after 0 seconds", failure(waiting.wait, waiting, 0))
    finish(4)
    assert.equal("f32[2] {2, 4}", tostring(waiting:wait(10)))
    refuses("bad argument #1 to 'wait' (expected 0 seconds or more, got -1)", waiting.wait, waiting, -1)
    refuses("bad argument #1 to 'wait' (a method is called with a colon, f:wait())", function() waiting.wait() end)
    call:close()
  end)

  it("that is dropped keeps the call and its buffers until it is complete, case C76", function()
    local before = blocks()
    do
      local address = ccw.array("f32[2]", { 5, 6 })
      local operand = ccw.import("f32[2]", address.address, address) -- memory that Lua keeps
      ccw.prepare(lib.later, { operand }, "f32[2]", { slot = 5 }):start()
    end
    assert.is_true(blocks() > before)
    finish(5)
    ccw.prepare(lib.two_futures, {}, "()"):start():wait() -- which looks what is complete
    assert.equal(before, blocks())
  end)

  it("outlives a call that is closed", function()
    local function round()
      local call = ccw.prepare(lib.later, { x }, "f32[2]", { slot = 6 })
      call:start()
      call:close()
      finish(6)
      ccw.prepare(lib.two_futures, {}, "()"):close() -- which looks what is complete
    end
    round()
    local before = blocks()
    round()
    assert.equal(before, blocks())
  end)

  it("is waited for by several threads, and keeps no other call from being made", function()
    local promise
    local slow = ccw.bind "slow() -> (y: f32[])":to(function(y)
      y:fill(1)
      promise = ccw.promise()
      return promise
    end)
    local log = {}
    local function note(value) log[#log + 1] = tostring(value) end
    local two = ccw.bind "two(@threads) -> (y: f32[])":to(function(threads, y)
      local waiting = ccw.prepare(slow, {}, "f32[]"):start()
      for _ = 1, 2 do threads:run(function() note(waiting:wait()) end) end
      threads:run(function()
        promise:complete()
        note(ccw.prepare(slow, {}, "f32[]"))
        note(waiting:wait())
      end)
      y:fill(1)
    end)
    ccw.call(two, {}, "f32[]")
    table.sort(log)
    assert.same({ "f32[] 1", "f32[] 1", "f32[] 1", "prepared call of slow" }, log)
  end)

  it("works in coroutines", function()
    local log = {}
    local function worker(slot)
      return coroutine.wrap(function()
        local waiting = ccw.prepare(lib.later, { x }, "f32[2]", { slot = slot }):start()
        while not waiting:done() do
          log[#log + 1] = "waits " .. slot
          coroutine.yield()
        end
        log[#log + 1] = tostring(waiting:wait())
      end)
    end
    local one, other = worker(0), worker(1)
    one() other()
    finish(1)
    other()
    finish(0)
    one()
    assert.same({ "waits 0", "waits 1", "f32[2] {2, 4}", "f32[2] {2, 4}" }, log)
  end)
end)

describe("results of a call that failed", function()
  it("are undefined, and say so when they are read", function()
    local y = ccw.array("f32[2]", 7)
    local call <close> = ccw.prepare(lib.later, { x }, { y }, { slot = 0 })
    local waiting = call:start()
    ccw.call(lib.finish, {}, "()", { slot = 0, code = 3 })
    failure(waiting.wait, waiting)
    local undefined = "FAILED_PRECONDITION: undefined: the call that was to write it failed"
    assert.equal("f32[2] undefined: the call that was to write it failed", tostring(y))
    for name, read in pairs { index = function() return y[1] end, flat = function() return y.flat[2] end, copy = y.copy,
      as = function() return y:as "f64" end, compare = function() return ccw.compare(y, y) end, summary = y.summary } do
      assert.equal(undefined, failure(read, y), name)
    end
    assert.equal(8, #y:bytes()) -- the memory is there, for those who want to look
    y[1], y[2] = 1, 2
    assert.equal("f32[2] {1, 2}", tostring(y))
  end)

  it("are no operands", function()
    local y = ccw.array("s64[]", 7)
    failure(ccw.call, counting, {}, { y }, { fails = "execute" })
    assert.equal("INVALID_ARGUMENT: frames: arg 0: undefined: the call that was to write it failed",
      failure(ccw.call, lib.frames, { y }, "s64[]"))
  end)

  it("are good again after a call that succeeds", function()
    local y = ccw.array "s64[]"
    local call <close> = ccw.prepare(counting, {}, { y }, { fails = "" })
    local failing <close> = ccw.prepare(counting, {}, { y }, { fails = "execute" })
    call()
    failure(failing)
    assert.equal("s64[] undefined: the call that was to write it failed", tostring(y))
    call()
    assert.equal(2, y:item())
  end)

  it("stay as they were where the handler has not come to them", function()
    local y = ccw.array("s64[]", 7)
    failure(ccw.call, bundle, {}, { y }, { fails = "prepare" }, { stages = "all" })
    assert.equal(7, y:item())
  end)
end)

describe("a call", function()
  local matrix = ccw.load(support.library "jax_matrix")

  it("case C21: of a batch is refused by a handler of rank 1, and runs row by row", function()
    local batch = ccw.iota "f32[10,16]"
    assert.equal("INVALID_ARGUMENT: double_row: 2 bad operands\n  arg 0 'x': expected f32[?], got f32[10,16]\n" ..
      "  result 0 'y': expected f32[?], got f32[10,16]", failure(ccw.call, matrix.double_row, { batch }, "f32[10,16]"))
    for i = 1, 10 do
      local row = ccw.call(matrix.double_row, { batch[i] }, "f32[16]")
      assert.equal(2 * batch[i][16], row[16])
    end
  end)

  it("case C48: runs whether or not its results are used, as often as it is called, in that order", function()
    local function bumped() return ccw.call(matrix.census, {}, "s64[]", { what = "bumped" }):item() end
    local before = bumped()
    for _, flag in ipairs { true, false } do
      ccw.call(matrix.bump, {}, "s64[]", nil, { has_side_effect = flag })
      ccw.call(matrix.bump, {}, "s64[]", nil, { has_side_effect = flag })
    end
    assert.equal(before + 4, bumped())
    assert.equal(before + 5, ccw.call(matrix.bump, {}, "s64[]"):item())
    ccw.call(lib.frames, {}, "()")
    assert.equal("execute(0,0)", steps())
  end)
end)

describe("a checked call", function()
  local function checked(handler, operands, results, attributes)
    return ccw.call(lib[handler], operands, results, attributes, { checked = true })
  end

  it("case C82: names the element behind the end, and the line that reads it", function()
    for _, n in ipairs { 63, 33, 40, 65, 1025 } do
      local text, err = failure(checked, "sum_blocks", { ccw.array(("f32[%d]"):format(n), 1) }, "f32[]", { block = 32 })
      assert.matches(("sum_blocks: execute: arg 0 'x': read past its end, element %d of %d, in sum_blocks (runtime.c:")
        :format(n + 1, n), text, 1, true)
      assert.equal("OUT_OF_RANGE", err.code)
    end
    assert.equal(64, checked("sum_blocks", { ccw.array("f32[64]", 1) }, "f32[]", { block = 32 }):item())
  end)

  it("finds what is written where it should not be", function()
    assert.matches("result 0 'y': written past its end, element 4 of 3, in write_past (runtime.c:",
      failure(checked, "write_past", {}, "f32[3]", { by = 2 }), 1, true)
    local operand = ccw.s32 { 1, 2, 3 }
    local text, err = failure(checked, "write_operand", { operand }, "s32[3]")
    assert.matches("arg 0 'x': written, an operand is read only, element 3 of 3, in write_operand (runtime.c:", text, 1, true)
    assert.equal("PERMISSION_DENIED", err.code)
    assert.equal(3, operand[3]) -- it was written in a copy
  end)

  it("lets a handler survive that takes an index from behind an operand", function()
    local text = failure(checked, "gather_past", { ccw.s32 { 0, 1 }, ccw.f32 { 1, 2 } }, "f32[]")
    assert.matches("arg 0 'at': read past its end, element 3 of 2, in gather_past (runtime.c:", text, 1, true)
  end)

  it("finds what is never written", function()
    local text, err = failure(checked, "write_some", {}, "u8[300]", { count = 299 })
    assert.equal("DATA_LOSS: write_some: execute: result 0 'y': 1 of 300 elements was never written, the first is [300]", text)
    assert.equal("DATA_LOSS", err.code)
    assert.equal(300, checked("write_some", {}, "u8[300]", { count = 300 }).count) -- whatever byte stands there
  end)

  it("is one with a future, too", function()
    local call <close> = ccw.prepare(lib.later, { x }, "f32[2]", { slot = 0 }, { checked = true, has_side_effect = true })
    local waiting = call:start()
    ccw.call(lib.finish_in_pool, {}, "()", { slot = 0, code = 0 })
    assert.equal("f32[2] {2, 4}", tostring(waiting:wait()))
  end)

  it("is what the prompt makes", function()
    local code = ("local lib = ccw.load %q print(ccw.call(lib.write_some, {}, 'u8[3]', {count = 2}))"):format(support.library "runtime")
    local output = support.sh(("printf '%%s\\n' %s | '%s'"):format("'" .. code:gsub("'", "'\\''") .. "'", support.program))
    assert.matches("result 0 'y': 1 of 3 elements was never written, the first is [3]", output, 1, true)
  end)
end)

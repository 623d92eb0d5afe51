-- CC-36 to CC-39: handlers of the official C++ binding, built from one source with the headers of every generation, and what goes wrong
-- in them.
local ccw = require "ccw"
local core = require "ccw.core"
local support = require "spec.support"
local refuses = support.refuses

--- The error object of what fails.
local function failure(f, ...)
  local value, err = ccw.try(f, ...)
  assert.is_nil(value)
  return err
end

local function says(expected, f, ...) assert.equal(expected, tostring(failure(f, ...))) end

--- What a handler of the official binding says of an operand that is bad, with headers that tell the stage.
local function undecoded(handler, position, why, stage)
  stage = stage or "execute"
  return ("INVALID_ARGUMENT: %s: %s: [%s] Failed to decode all FFI handler operands (bad operands at: %d)\nDiagnostics:\n%s")
    :format(handler, stage, stage, position, why)
end

local x = ccw.f32 { 1, 2 }
local versions = { ["0.7.2"] = 1, ["0.8.3"] = 2, ["0.10.2"] = 3, ["0.11.2"] = 4, ["0.12.0.1"] = 5 }

for version, minor in pairs(versions) do
  describe("a handler built with the headers of jaxlib " .. version .. " #plain", function()
    local path = support.library("versions_" .. version)
    local lib = support.exists(path) and ccw.load(path)

    --- A test for the generations from a minor version on.
    local function since(first, name, body)
      if minor < first then return end
      it(name, function()
        if not lib then return pending "built with gcc where the headers could be had" end
        body()
      end)
    end

    --- The letters of the stages that ran since this was last asked.
    local function story() return (ccw.call(lib.Tell, {}, "u8[16]"):bytes():gsub("%.+$", "")) end

    --- Objects that were made, that ended, and bodies that ran.
    local function counts()
      local y = ccw.call(lib.Counts, {}, "s64[3]")
      return { y[1], y[2], y[3] }
    end

    local function stages(t)
      local handlers = {}
      for stage, name in pairs(t) do handlers[stage] = lib[name] end
      return handlers
    end

    since(1, "CC-39 says so, and its traits", function()
      assert.equal("0." .. minor, lib.Scale.version)
      assert.same({}, lib.Scale.traits)
      assert.same({ "command_buffer_compatible" }, lib.Marked.traits)
    end)

    since(1, "gets buffers and attributes", function()
      assert.equal("f32[2] {2, 4}", tostring(ccw.call(lib.Scale, { x }, "f32[2]", { s = 2 })))
    end)

    since(1, "CC-37 gets run id, ordinal, threads", function()
      assert.equal("s64[2] {7, 3}", tostring(ccw.call(lib.Identity, {}, "s64[2]", nil, { run_id = 7, device_ordinal = 3 })))
      assert.equal("s64[2] {0, 0}", tostring(ccw.call(lib.Identity, {}, "s64[2]")))
      for _, n in ipairs { 0, 1, 100, 5000 } do
        local y = ccw.call(lib.Tasks, {}, "s64[2]", { count = n })
        assert.equal(n * (n + 1) // 2, y[1])
        assert.is_true(y[2] >= 1)
      end
    end)

    since(1, "case C71: gets scratch memory, or none", function()
      local function scratch(size, options)
        return tostring(ccw.call(lib.Scratch, {}, "s64[4]", { size = size }, options))
      end
      local before = core.memory().bytes
      assert.equal("s64[4] {1, 1, 1, 0}", scratch(0))
      assert.equal("s64[4] {1, 1, 1, 3}", scratch(1))
      assert.equal("s64[4] {1, 1, 1, 3000}", scratch(1000))
      assert.equal("s64[4] {0, 0, 0, 0}", scratch(1 << 40)) -- more than the machine has
      assert.equal("s64[4] {0, 0, 0, 0}", scratch(1, { like_xla = true }))
      collectgarbage()
      collectgarbage()
      assert.is_true(core.memory().bytes - before < 10000)
    end)

    since(1, "CC-38 leaves a future: complete at once, from a task, failed", function()
      assert.equal("f32[1] {2}", tostring(ccw.call(lib.AtOnce, { x }, "f32[1]")))
      assert.equal("f32[1] {3}", tostring(ccw.call(lib.Later, { x }, "f32[1]")))
      says("ABORTED: FailsLater: execute: failed at once", ccw.call, lib.FailsLater, {}, "()", { at_once = 1 })
      says("DATA_LOSS: FailsLater: execute: failed in a task", ccw.call, lib.FailsLater, {}, "()", { at_once = 0 })
      local call = ccw.prepare(lib.Later, { x }, "f32[1]")
      for _ = 1, 200 do assert.equal(3, call()[1]) end
      local future = call:start()
      assert.equal("f32[1] {3}", tostring(future:wait()))
    end)

    since(1, "CC-38 counts down", function()
      assert.equal("f32[5] {0, 1, 2, 3, 4}", tostring(ccw.call(lib.Counted, {}, "f32[5]", { bad = -1 })))
      local y = ccw.array("f32[5]", 9)
      says("ABORTED: Counted: execute: task 3 failed", ccw.call, lib.Counted, {}, y, { bad = 3 })
      says("FAILED_PRECONDITION: undefined: the call that was to write it failed", function() return y[1] end)
    end)

    since(1, "case C61: throws, also after it wrote half of its result, and works again", function()
      local y = ccw.array("f32[4]", 9)
      for _ = 1, 3 do
        says("UNKNOWN: Throws: execute: C++ exception: boom", ccw.call, lib.Throws, {}, y, { what = 0 })
        says("UNKNOWN: Throws: execute: C++ exception of a type that has no text", ccw.call, lib.Throws, {}, y, { what = 1 })
        assert.equal("f32[4] {1, 1, 2, 2}", tostring(ccw.call(lib.Throws, {}, y, { what = 2 })))
      end
    end)

    since(1, "case C56: is told that there is no stream, at the place where it binds it, and does not run", function()
      local err = failure(ccw.call, lib.NeedsStream, { x }, "()")
      assert.equal(undecoded("NeedsStream", 1, "Failed to get platform stream: a call on the host has no stream"), tostring(err))
      assert.same({ 1 }, err.operands)
    end)

    since(1, "CC-37, case C85: finds user data once its type is registered", function()
      says('FAILED_PRECONDITION: Level: it binds the type \'Config\', which is not registered; register it: lib:type "Config"',
        ccw.call, lib.Level, {}, "s64[1]")
      local config = lib:type "Config"
      assert.equal(config, lib:type "Config")
      assert.matches("Config$", config)
      local err = failure(ccw.call, lib.Level, {}, "s64[1]")
      assert.equal("INVALID_ARGUMENT", err.code)
      assert.matches(("Failed to get user data from execution context: the call has no user data of type '%s' (id %d)"):format(
        config, core.state_type(config)), err.message, 1, true)
      assert.equal(42, ccw.call(lib.Level, {}, "s64[1]", nil, { user_data = { [config] = string.pack("<i8", 42) } })[1])
      local block = ccw.s64 { 43 }
      local call = ccw.prepare(lib.Level, {}, "s64[1]", nil, { user_data = { [config] = block } })
      assert.equal(43, call()[1])
      block[1] = 44
      assert.equal(44, call()[1])
    end)

    since(1, "CC-36, case C59: runs stage by stage", function()
      local handlers = stages { instantiate = "NoteInstantiate", prepare = "NotePrepare", initialize = "NoteInitialize",
        execute = "NoteExecute" }
      story()
      local function ran(handlers_, options)
        local call = ccw.prepare(handlers_, {}, "()", nil, options)
        call()
        call()
        call:close()
        return story()
      end
      assert.equal("iee", ran(handlers))
      assert.equal("ipnepne", ran(handlers, { stages = "all" }))
      assert.equal("ipnepne", ran(handlers, { device = "sim:7" }))
      assert.equal("inene", ran(handlers, { stages = { "execute", "initialize" } }))
      assert.equal("ee", ran({ execute = lib.NoteExecute }, { stages = "all" }))
      handlers.initialize = nil
      assert.equal("ipepe", ran(handlers, { stages = "all" }))
      says("INVALID_ARGUMENT: bundle: a handler needs an execute function", ccw.prepare, { prepare = lib.NotePrepare }, {}, "()")
      says("INVALID_ARGUMENT: NotePrepare: execute: Wrong execution stage: expected `prepare` but got `execute`", ccw.call,
        lib.NotePrepare, {}, "()")
      local err = failure(ccw.call, { prepare = lib.NoteExecute, execute = lib.NoteExecute }, {}, "()", nil, { stages = "all" })
      assert.equal("INVALID_ARGUMENT: NoteExecute: prepare: Wrong execution stage: expected `execute` but got `prepare`", tostring(err))
      assert.equal("prepare", err.stage)
      assert.equal("", story())
    end)

    since(1, "CC-36, case C59: runs by hand", function()
      local call = ccw.prepare(stages { instantiate = "NoteInstantiate", prepare = "NotePrepare", initialize = "NoteInitialize",
        execute = "NoteExecute" }, {}, "()", nil, { stages = "by hand" })
      says("FAILED_PRECONDITION: NoteExecute: its stage instantiate has not run", call)
      says("FAILED_PRECONDITION: NoteExecute: its stage instantiate has not run", call.stage, call, "prepare")
      for number, stage in ipairs { "instantiate", "prepare", "initialize", "execute" } do
        assert.matches(("32  stage                 %d %s\n"):format(number - 1, stage), call:explain(stage), 1, true)
        call:stage(stage)
      end
      call:stage "execute"
      assert.equal("ipnee", story())
      says("FAILED_PRECONDITION: NoteExecute: its stage instantiate has run already", call.stage, call, "instantiate")
      says("NOT_FOUND: NoteExecute: it has no function for the stage record", call.stage, call, "record")
      refuses("invalid option 'recrod'", call.stage, call, "recrod")
      call()
      assert.equal("e", story())
    end)

    since(1, "CC-36: fails in a stage, which is named, and what comes behind does not run", function()
      for stage, name in pairs { prepare = "FailingPrepare", initialize = "FailingInitialize" } do
        local handlers = stages { execute = "NoteExecute" }
        handlers[stage] = lib[name]
        local err = failure(ccw.call, handlers, {}, "()", nil, { stages = "all" })
        assert.equal(("ABORTED: NoteExecute: %s: not today"):format(stage), tostring(err))
        assert.equal(stage, err.stage)
      end
      assert.equal("", story())
    end)

    since(1, "case C59: of stage prepare, which binds attributes alone, gets a frame with buffers", function()
      local function run()
        return ccw.call(stages { prepare = "OnlyAttributes", execute = "NoteWithN" }, { x }, "f32[1]", { n = 5 },
          { stages = "all", signature = false })
      end
      if minor == 1 then -- headers before 0.8.2 refuse what is not bound
        says("INVALID_ARGUMENT: NoteWithN: prepare: Wrong number of arguments: expected 0 but got 1", run)
      else
        run()
        assert.equal("5e", story())
      end
    end)

    if minor == 1 then
      since(1, "CC-36 has no state that could be kept, is told so, and its object ends", function()
        lib:type "Counter"
        local handlers = stages { instantiate = "CounterInstantiate", execute = "CounterExecute" }
        local before = counts()
        for _ = 1, 10 do
          says("UNIMPLEMENTED: CounterExecute: instantiate: the handler was built for FFI API 0.1, whose state is of another layout; " ..
            "build it with headers of 0.2 or later", ccw.prepare, handlers, {}, "s64[1]", { start = 1 })
        end
        assert.same({ before[1] + 10, before[2] + 10, before[3] }, counts())
        says(undecoded("CounterExecute", 0, "Failed to get state from execution context: there is no state of stage instantiate"),
          ccw.call, lib.CounterExecute, {}, "s64[1]", { start = 1 })
      end)
    end

    since(2, "case C54: makes state of a type that is registered, and only then; twice is fine", function()
      local err = failure(function() return lib.CounterInstantiate end)
      assert.equal("FAILED_PRECONDITION", err.code)
      assert.matches("CounterInstantiate: the type of the state that it makes is not registered; register it", err.message, 1, true)
      assert.matches("Counter", err.message:match "register it(.*)$")
      says('FAILED_PRECONDITION: CounterExecute: it binds the type \'Counter\', which is not registered; register it: lib:type "Counter"',
        ccw.prepare, lib.CounterExecute, {}, "s64[1]", { start = 1 })
      local name = lib:type "Counter"
      assert.equal(name, lib:type "Counter")
      local call = ccw.prepare(stages { instantiate = "CounterInstantiate", execute = "CounterExecute" }, {}, "s64[1]", { start = 1 })
      assert.equal(1, call()[1])
      call:close()
    end)

    since(2, "case C57: keeps its state from run to run, each call its own", function()
      lib:type "Counter"
      local handlers = stages { instantiate = "CounterInstantiate", execute = "CounterExecute" }
      collectgarbage()
      local before = counts()
      local call = ccw.prepare(handlers, {}, "s64[1]", { start = 40 })
      assert.equal(40, call()[1])
      assert.equal(41, call()[1])
      local a = ccw.prepare(handlers, {}, "s64[1]", { start = 10 })
      local b = ccw.prepare(handlers, {}, "s64[1]", { start = 10 })
      assert.same({ 10, 10, 11, 11 }, { a()[1], b()[1], a()[1], b()[1] })
      assert.same({ before[1] + 3, before[2], before[3] + 6 }, counts())
      for _, each in ipairs { call, a, b } do each:close() end
      assert.same({ before[1] + 3, before[2] + 3, before[3] + 6 }, counts())
      for _ = 1, 1000 do ccw.call(handlers, {}, "s64[1]", { start = 1 }) end
      assert.same({ before[1] + 1003, before[2] + 1003, before[3] + 1006 }, counts())
    end)

    since(2, "case C60: fails to be instantiated, leaves nothing behind, and may try again", function()
      lib:type "Counter"
      local handlers = stages { instantiate = "CounterInstantiate", execute = "CounterExecute" }
      local function fail_all()
        for _ = 1, 20 do
          local err = failure(ccw.prepare, handlers, {}, "s64[1]", { start = -1 })
          assert.equal("INVALID_ARGUMENT: CounterExecute: instantiate: start is below 0", tostring(err))
          assert.equal("instantiate", err.stage)
          err = failure(ccw.call, handlers, {}, "s64[1]", { start = 1, more = 2 }, { signature = false })
          assert.equal("INVALID_ARGUMENT: CounterExecute: instantiate: [instantiate] Wrong number of attributes: expected 1 " ..
            "but got 2 with name(s): more, start", tostring(err))
          assert.equal("instantiate", err.stage)
        end
        collectgarbage()
        collectgarbage()
        return core.memory().blocks
      end
      local before, blocks = counts(), fail_all()
      assert.equal(blocks, fail_all())
      assert.same({ before[1] + 40, before[2] + 40, before[3] }, counts()) -- no body ran
      says("INVALID_ARGUMENT: CounterExecute: attribute 'more': not expected; bound: 'start'", ccw.prepare, handlers, {}, "s64[1]",
        { start = 1, more = 2 })
      assert.equal(1, ccw.call(handlers, {}, "s64[1]", { start = 1 })[1])
    end)

    since(2, "CC-36: keeps its state when it fails or throws, and the state ends", function()
      lib:type "Counter"
      for name, text in pairs { CounterFails = "ABORTED: CounterFails: execute: state or not",
        CounterThrows = "UNKNOWN: CounterThrows: execute: C++ exception: with state" } do
        local before = counts()
        local handlers = stages { instantiate = "CounterInstantiate", execute = name }
        local call = ccw.prepare(handlers, {}, "s64[1]", { start = 1 })
        for _ = 1, 10 do says(text, call) end
        assert.same({ before[1] + 1, before[2], before[3] }, counts())
        call:close()
        says(text, ccw.call, handlers, {}, "s64[1]", { start = 1 })
        assert.same({ before[1] + 2, before[2] + 2, before[3] }, counts())
      end
    end)

    since(3, "CC-36, case C59: has state of each stage, that of an execution ends with it", function()
      for _, name in ipairs { "Counter", "Plan", "Tables" } do lib:type(name) end
      local handlers = stages { instantiate = "CounterInstantiate", prepare = "StagedPrepare", initialize = "StagedInitialize",
        execute = "StagedExecute" }
      story()
      local before = counts()
      local call = ccw.prepare(handlers, { x }, "s64[3]", { start = 7 }, { stages = "all" })
      assert.equal("s64[3] {7, 9, 18}", tostring(call()))
      assert.equal("s64[3] {8, 10, 20}", tostring(call()))
      assert.equal("pneNPpneNP", story()) -- the later state ends first
      for _ = 1, 1000 do
        call()
        story()
      end
      assert.same({ before[1] + 2005, before[2] + 2004, before[3] }, counts())
      says(undecoded("StagedExecute", 0, "Failed to get state from execution context: there is no state of stage instantiate" ..
        "Failed to get state from execution context: there is no state of stage prepareFailed to get state from execution context: " ..
        "there is no state of stage initialize"):gsub("at: 0", "at: 0, 1, 2"), ccw.call, lib.StagedExecute, { x }, "s64[3]", { start = 1 })
      call:close()
      assert.same({ before[1] + 2005, before[2] + 2005, before[3] }, counts())
      call = ccw.prepare(handlers, { x }, "s64[3]", { start = 7 }, { stages = "by hand" })
      for _, stage in ipairs { "instantiate", "prepare", "initialize", "execute", "initialize", "execute", "prepare" } do
        call:stage(stage)
      end
      assert.equal("pneNneNPp", story())
      call:close()
      assert.equal("P", story())
      call = ccw.prepare(handlers, { x }, "s64[3]", { start = 7 }, { stages = "all" })
      call:start() -- for whose outcome nobody waits
      assert.equal("s64[3] {8, 10, 20}", tostring(call()))
      call:close()
      local after = counts()
      assert.equal(after[1], after[2])
      story()
    end)

    since(2, "CC-37 asks late", function()
      says("INTERNAL: Late: execute: Failed to get platform stream: a call on the host has no stream", ccw.call, lib.Late, {},
        "s64[2]", nil, { run_id = 7 })
    end)

    since(4, "CC-36: finds no extension when it executes", function()
      says(undecoded("NeedsClock", 1, "Extension Clock not found in context"), ccw.call, lib.NeedsClock, { x }, "()")
      says(undecoded("NeedsRecording", 1, "Extension RecordExtension not found in context"), ccw.call, lib.NeedsRecording, { x }, "()")
      for _, number in ipairs { 128, 129, 200, -1 } do
        assert.equal(0, ccw.call(lib.FindsExtension, {}, "s64[1]", { number = number })[1])
      end
      story()
      local call = ccw.prepare(stages { record = "NoteRecord", execute = "NoteExecute" }, {}, "()", nil,
        { stages = { "record", "execute" } })
      call()
      assert.equal("er", story())
    end)

    since(5, "CC-37 gets custom options", function()
      assert.equal("s64[2] {2, 3}", tostring(ccw.call(lib.Options, {}, "s64[2]", nil, { custom_options = { n = 3, m = "x" } })))
      assert.equal("s64[2] {0, -1}", tostring(ccw.call(lib.Options, {}, "s64[2]")))
      local call = ccw.prepare(lib.Options, {}, "s64[2]", nil, { custom_options = { n = 4 } })
      collectgarbage()
      assert.equal("s64[2] {1, 4}", tostring(call()))
    end)
  end)
end

describe("CC-39 a handler that is newer than this", function()
  it("is refused, with both versions", function()
    local plain = ccw.load(support.library "plain")
    says("INVALID_ARGUMENT: from_the_future: it was built for FFI API 0.6; this is 0.5, which runs handlers of 0.1 to 0.5",
      function() return plain.from_the_future end)
    says("INVALID_ARGUMENT: from_another_major: it was built for FFI API 1.0; this is 0.5, which runs handlers of 0.1 to 0.5",
      function() return plain.from_another_major end)
  end)
end)

-- The official binding asserts that its types are registered. Built so that the assertion is on, it must never come to it here.
for version, minor in pairs { ["0.7.2"] = 1, ["0.10.2"] = 3, ["0.12.0.1"] = 5 } do
  for _, kind in ipairs { "plain", "hidden", "stripped" } do
    describe(("case C85, headers of jaxlib %s, %s: a type that nobody registered #plain"):format(version, kind), function()
      local path = support.library(("unregistered_%s_%s"):format(version, kind))
      local lib = support.exists(path) and ccw.load(path)
      local types = { Plain = "Plain", Named = "mine::Named", Secret = "(anonymous namespace)::Secret",
        Box = ("Box<long, %d>"):format(minor) }
      local is_stripped = kind == "stripped"

      local function unregistered(who, key)
        local type = types[key]
        if is_stripped then type = type:gsub("long", "long int") end -- as the compiler spells it
        return ("FAILED_PRECONDITION: %s: it binds the type '%s', which is not registered; register it: "):format(who, type) ..
          (is_stripped and ('lib:type("%s", "SYMBOL"), the symbol of the variable with its id, or of a function that gives it')
            or 'lib:type "%s"'):format(type)
      end

      local function asserted(name, body)
        it(name, function()
          if not lib then return pending "built with gcc where the headers could be had" end
          body()
        end)
      end

      asserted("is refused with its name, and what to do", function()
        for _, options in ipairs { {}, { signature = false }, { checked = true } } do
          for key in pairs(types) do
            local name = key .. "Data"
            says(unregistered(name, key), ccw.call, lib[name], {}, "s64[1]", nil, options)
            says(unregistered(name, key), ccw.prepare, lib[name], {}, "s64[1]", nil, options)
          end
          says(unregistered("PlainState", "Plain"), ccw.call, lib.PlainState, {}, "s64[1]", nil, options)
        end
        local declared = is_stripped and lib.SecretData or lib:handler("SecretData", "() -> (f: s64[n])")
        says(unregistered("SecretData", "Secret"), ccw.call, declared, {}, "s64[1]")
      end)

      asserted("is refused in a bundle, whichever stage binds it", function()
        for _, options in ipairs { { stages = "all" }, { signature = false }, { stages = "by hand" } } do
          for _, key in ipairs { "Plain", "Secret" } do
            says(unregistered("One: prepare", key), ccw.prepare, { prepare = lib[key .. "Prepare"], execute = lib.One }, {}, "s64[1]", nil,
              options)
          end
        end
        ccw.register("c85." .. path, { prepare = lib.SecretPrepare, execute = lib.One })
        says(unregistered("c85." .. path .. ": prepare", "Secret"), ccw.call, "c85." .. path, {}, "s64[1]")
      end)

      asserted("is refused where a stage makes it", function()
        if minor == 1 then -- which does not tell its type when it is asked for metadata
          says(unregistered("PlainState", "Plain"), function()
            return ccw.prepare({ instantiate = lib.PlainMake, execute = lib.PlainState }, {}, "s64[1]")
          end)
          return
        end
        local err = failure(function() return lib.PlainMake end)
        assert.equal("FAILED_PRECONDITION", err.code)
        assert.equal("PlainMake: the type of the state that it makes is not registered; register it" .. (is_stripped and
          ': lib:type("NAME", "SYMBOL"), the symbol of the variable with its id, or of a function that gives it' or
          ', as in lib:type "NAME"; not registered in its library: (anonymous namespace)::Secret, ' .. types.Box .. ", Plain, mine::Named"),
          err.message)
      end)

      asserted("is found once it is registered", function()
        local kept, told = lib.PlainData, {}
        failure(ccw.call, kept, {}, "s64[1]")
        for key, type in pairs(types) do
          if is_stripped then
            told[key] = lib:type(path .. key, key .. "Id", minor > 1 and key .. "Info" or nil)
          elseif key == "Named" then
            told[key] = lib:type(path .. key, "_ZN4mine5Named2idE", minor > 1 and "_ZN4mine5Named4infoE" or nil)
          else
            told[key] = lib:type(type)
          end
        end
        for key in pairs(types) do
          local data = { [told[key]] = string.pack("<i8", #key) }
          assert.equal(#key, ccw.call(lib[key .. "Data"], {}, "s64[1]", nil, { user_data = data })[1])
        end
        local data = { [told.Plain] = string.pack("<i8", 7) }
        assert.equal(7, ccw.call(kept, {}, "s64[1]", nil, { user_data = data })[1])
        assert.equal(1, ccw.call({ prepare = lib.PlainPrepare, execute = lib.One }, {}, "s64[1]", nil,
          { stages = minor == 1 and { "execute" } or "all", user_data = data })[1])
        if minor > 1 then
          assert.equal(7, ccw.call({ instantiate = lib.PlainMake, execute = lib.PlainState }, {}, "s64[1]")[1])
        end
        assert.matches("PlainState%(@state%(?P?l?a?i?n?%)?%) %-> %(s64%[%?%]%)", tostring(lib))
      end)
    end)
  end
end

for version, minor in pairs { ["0.7.2"] = 1, ["0.10.2"] = 3, ["0.12.0.1"] = 5 } do
  it(("CC-37, case C54: types that a library registers itself are there, headers of jaxlib %s #plain"):format(version), function()
    local path = support.library("registers_types_" .. version)
    if not support.exists(path) then return pending "built with gcc where the headers could be had" end
    -- Two libraries and a rebuilt one have a type of that name.
    local file <close> = assert(io.open(path, "rb"))
    local bytes = file:read "a"
    local rebuilt = support.write("registers_types_" .. version .. ".so", bytes)
    local libraries = { ccw.load(path), ccw.load(rebuilt) }
    support.sh(("cp '%s' '%s.new' && mv '%s.new' '%s'"):format(rebuilt, rebuilt, rebuilt, rebuilt))
    libraries[3] = ccw.load(rebuilt)
    for _, lib in ipairs(libraries) do
      local name = lib:type "Own"
      assert.equal(9, ccw.call(lib.OwnData, {}, "s64[1]", nil, { user_data = { [name] = string.pack("<i8", 9) } })[1])
      if minor > 1 then
        local call = ccw.prepare({ instantiate = lib.OwnMake, execute = lib.OwnState }, {}, "s64[1]")
        assert.same({ 5, 6 }, { call()[1], call()[1] })
      end
    end
  end)
end

it("case C85: the id of a template's type is one for all libraries that have it #plain", function()
  local path = support.library "unregistered_0.12.0.1_plain"
  if not support.exists(path) then return pending "built with gcc where the headers could be had" end
  local file <close> = assert(io.open(path, "rb"))
  local first, second = ccw.load(path), ccw.load(support.write("shared_id.so", file:read "a"))
  local name = first:type "Box<long, 5>"
  assert.equal(name, second:type "Box<long, 5>")
  local data = { [name] = string.pack("<i8", 9) }
  assert.equal(9, ccw.call(second.BoxData, {}, "s64[1]", nil, { user_data = data })[1])
  assert.equal("shared_id.so: Plain", second:type "Plain")
end)

describe("CC-1 the function table", function()
  it("reads and writes no more of a struct than its caller has, of every size, and says what is too small", function()
    local output, good = support.sh(("'%s/spec/sizes'"):format(support.build))
    assert.equal("nothing broken\n", output)
    assert.is_true(good)
  end)
end)

describe("CC-36 handlers of ccw/handler.h", function()
  local lib = ccw.load(support.library "stages")
  local whole = { instantiate = lib.tally_instantiate, prepare = lib.tally_prepare, initialize = lib.tally_initialize,
    execute = lib.tally_execute }

  local function told()
    local y = ccw.call(lib.tell, {}, { "u8[16]", "s64[2]" })
    return (y[1]:bytes():gsub("%.+$", "")), y[2][1] - y[2][2]
  end

  it("case C57, C59: have state of every stage", function()
    local call = ccw.prepare(whole, {}, "s64[1]", { start = 3 }, { stages = "all" })
    assert.equal(3, call()[1])
    assert.same({ "ipneP", 1 }, { told() })
    says("ABORTED: tally_execute: initialize: the second execution", call)
    assert.same({ "pnP", 1 }, { told() }) -- also where it fails the state of prepare ends
    call:close()
    assert.same({ "", 0 }, { told() })
  end)

  it("case C60: say their name and their stage once", function()
    local err = failure(ccw.prepare, whole, {}, "s64[1]", { start = -1 })
    assert.equal("INVALID_ARGUMENT: tally_execute: instantiate: start is below 0", tostring(err))
    assert.equal("instantiate", err.stage)
    says("INVALID_ARGUMENT: tally_execute: instantiate: attribute 'more': not expected; bound: 'start'", ccw.prepare, whole, {}, "s64[1]",
      { start = 3, more = 1 }, { signature = false })
    says("ABORTED: tally_fails: execute: not 1", ccw.call, { instantiate = lib.tally_instantiate, execute = lib.tally_fails }, {}, "()",
      { start = 1 })
    assert.equal(0, select(2, told()))
  end)

  it("CC-38: leave a run that was started, and is closed before anybody waits for it", function()
    local call = ccw.prepare(whole, {}, "s64[1]", { start = 3 }, { stages = "all" })
    local future = call:start()
    call:close()
    assert.equal("s64[1] {3}", tostring(future:wait()))
    assert.equal("s64[1] {3}", tostring(ccw.prepare(whole, {}, "s64[1]", { start = 3 }, { stages = "all" })()))
    collectgarbage()
    collectgarbage()
    assert.same({ "ipnePipneP", 0 }, { told() })
  end)

  it("case C59: run by hand", function()
    local call = ccw.prepare(whole, {}, "s64[1]", { start = 3 }, { stages = "by hand" })
    call:stage "instantiate"
    says("INVALID_ARGUMENT: tally_execute: initialize: context 0 'p': prepared: there is no state of stage prepare", call.stage, call,
      "initialize")
    call:stage "prepare"
    assert.equal(3, call:stage "execute"[1])
    call:close()
    assert.same({ "ipeP", 0 }, { told() })
  end)

  it("case C56, C71: are told what there is not, and why", function()
    says("INVALID_ARGUMENT: needs_stream: execute: context 0 's': stream: a call on the host has no stream", ccw.call,
      lib.needs_stream, { x },
      "()")
    for _, size in ipairs { 0, 1, 1000 } do assert.same({}, ccw.call(lib.takes_scratch, {}, "()", { size = size })) end
    says("RESOURCE_EXHAUSTED: takes_scratch: execute: scratch: no memory for 1099511627776 bytes", ccw.call, lib.takes_scratch, {}, "()",
      { size = 1 << 40 })
    says("INVALID_ARGUMENT: takes_scratch: execute: XLA has no scratch memory on the CPU", ccw.call, lib.takes_scratch, {}, "()",
      { size = 1 }, { like_xla = true })
  end)
end)

describe("a checked call of an official handler", function()
  local path = support.library "overruns"
  local lib = support.exists(path) and ccw.load(path)
  local checked = { checked = true }

  --- "function (overruns.cc:17)", by the line that says so in the source.
  local function place(name)
    local number = 0
    for line in io.lines(support.root .. "/spec/handlers/overruns.cc") do
      number = number + 1
      if line:find("// line: " .. name .. "$") then return ("in %s (overruns.cc:%d)"):format(name, number) end
    end
  end

  local function official(name, body)
    it(name, function()
      if not lib then return pending "the official headers could not be had" end
      body()
    end)
  end

  official("case C87: copies as many bytes as the binding counts, which packed elements have not got", function()
    says("OUT_OF_RANGE: CopyCounted: execute: 2 faults\n  arg 0: read past its end, element 5 of 4, " .. place "copy_counted" ..
      "\n  result 0: written past its end, element 5 of 4, " .. place "copy_counted", ccw.call, lib.CopyCounted, { ccw.s4 { 1, 2, 3, 4 } },
      "s4[4]", nil, checked)
    assert.equal("s8[4] {1, 2, 3, 4}", tostring(ccw.call(lib.CopyCounted, { ccw.s8 { 1, 2, 3, 4 } }, "s8[4]", nil, checked)))
  end)

  official("case C82: reads past its operand where that is no multiple of its state's block", function()
    lib:type "Blocks"
    local handlers = { instantiate = lib.NewBlocks, execute = lib.SumBlocks }
    for _, n in ipairs { 63, 33, 40, 65, 1025 } do
      says(("OUT_OF_RANGE: SumBlocks: execute: arg 0: read past its end, element %d of %d, %s"):format(n + 1, n, place "sum_blocks"),
        ccw.call, handlers, { ccw.array(("f32[%d]"):format(n), 1) }, ("f32[%d]"):format((n + 31) // 32), { size = 32 }, checked)
    end
    assert.equal("f32[2] {32, 32}", tostring(ccw.call(handlers, { ccw.array("f32[64]", 1) }, "f32[2]", { size = 32 }, checked)))
  end)

  official("writes past its result, leaves elements of it, or writes to its operand", function()
    for _, n in ipairs { 1, 3, 16, 17 } do
      local ones, type = ccw.array(("f32[%d]"):format(n), 1), ("f32[%d]"):format(n)
      says(("OUT_OF_RANGE: WritePast: execute: result 0: written past its end, element %d of %d, %s"):format(n + 1, n, place "write_past"),
        ccw.call, lib.WritePast, { ones }, type, nil, checked)
      says(("DATA_LOSS: LeaveLast: execute: result 0: 1 of %d elements was never written, the first is [%d]"):format(n, n), ccw.call,
        lib.LeaveLast, { ones }, type, nil, checked)
    end
    says("PERMISSION_DENIED: WriteOperand: execute: arg 0: written, an operand is read only, element 2 of 2, " .. place "write_operand",
      ccw.call, lib.WriteOperand, { x }, "f32[2]", nil, checked)
  end)
end)

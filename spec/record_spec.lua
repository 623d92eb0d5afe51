-- CC-36: the stage that records commands, against a stand-in for a command buffer.
local support = require "spec.support"

--- What spec/programs/record.c prints, with the addresses named A, B, C in the order in which they come.
local function record(arguments)
  local output, good = support.sh(("'%s/spec/record' %s"):format(support.build, arguments))
  local names, count = {}, 0
  output = output:gsub("0x%x%x%x%x%x+", function(address)
    if not names[address] then
      names[address] = string.char(65 + count)
      count = count + 1
    end
    return names[address]
  end)
  return output, good
end

local nothing = "(nothing)\nreplay: FAILED_PRECONDITION replay: nothing was recorded\nresult: none\n" ..
  "update: FAILED_PRECONDITION record: there are no commands to update, since none were created\n" ..
  "(nothing)\nreplay: FAILED_PRECONDITION replay: nothing was recorded\nresult: none\n"

describe("CC-36 the recorder of commands", function()
  -- The answers are written out in spec/programs/record.txt: what is recorded, misuse of every function, lists of commands
  -- that XLA would not take, memory that runs out at every step, and what is drawn at random.
  it("answers whatever a handler does, and leaves nothing behind", function()
    local file <close> = assert(io.open(support.root .. "/spec/programs/record.txt"))
    local output, good = support.sh(("'%s/spec/record'"):format(support.build))
    assert.equal(file:read "a", output)
    assert.is_true(good)
  end)
end)

for minor, wheel in pairs { [4] = "jaxlib-0.11.2", [5] = "jaxlib-0.12.0.1" } do
  describe("CC-36 official handlers of stage RECORD, headers of " .. wheel, function()
    local library = support.library("record_0_" .. minor)

    --- Checks what creating, replaying, updating and replaying the commands of a handler prints.
    local function prints(expected, handler, as)
      if not support.exists(library) then return pending(wheel .. " could not be had") end
      local output, good = record(("'%s' %d %s"):format(library, as or minor, handler))
      assert.equal(handler .. "\n" .. expected, output)
      assert.is_true(good)
    end

    it("record copies that can be replayed and updated", function()
      prints([[
create: OK
0: memcpy 8 bytes from A to B; after: none
1: memcpy 8 bytes from C to D; after: none
2: empty; after: 0, 1
replay: OK
result: 0123456789abcde
update: OK
0: memcpy 8 bytes from E to B; after: none
1: memcpy 8 bytes from F to D; after: none
2: empty; after: 0, 1
replay: OK
result: zyxwvutsrqponml
]], "Copy")
    end)

    it("record launches, which a CPU cannot replay", function()
      prints([[
create: OK
0: launch 'scale' cubin (1024 bytes) grid 2x1x1 block 32x1x1 shared 0, args: device A, host 4 bytes; after: none
1: launch 'add' ptx (3 bytes) grid 2x1x1 block 32x1x1 shared 64 pdl, args: device A, device B; after: 0
replay: UNIMPLEMENTED replay: command 0 launches the kernel 'scale', which a CPU cannot
result: none
update: OK
0: launch 'scale' cubin (1024 bytes) grid 2x1x1 block 32x1x1 shared 0, args: device C, host 4 bytes; after: none
1: launch 'add' ptx (3 bytes) grid 2x1x1 block 32x1x1 shared 64 pdl, args: device C, device B; after: 0
replay: UNIMPLEMENTED replay: command 0 launches the kernel 'scale', which a CPU cannot
result: none
]], "Launch")
    end)

    it("record a kernel that is loaded already since 0.2", function()
      if minor < 5 then
        return prints("create: INVALID_ARGUMENT create_launch: format: expected PTX (0) or CUBIN (1), got FUNCTION_PTR (2), " ..
          "which version 0.1 does not have\n" .. nothing, "Function")
      end
      prints([[
create: OK
0: launch 'loaded' function A grid 2x1x1 block 32x1x1 shared 0, args: device B; after: none
replay: UNIMPLEMENTED replay: command 0 launches the kernel 'loaded', which a CPU cannot
result: none
update: OK
0: launch 'loaded' function A grid 2x1x1 block 32x1x1 shared 0, args: device B; after: none
replay: UNIMPLEMENTED replay: command 0 launches the kernel 'loaded', which a CPU cannot
result: none
]], "Function")
    end)

    it("may ask for stream capture instead, and not beside", function()
      local refused = "replay: UNIMPLEMENTED replay: stream capture was requested, and a CPU has no stream\nresult: none\n"
      prints("create: OK\nstream capture requested\n" .. refused .. "update: OK\nstream capture requested\n" .. refused, "Capture")
      prints("create: INVALID_ARGUMENT stream capture was requested: expected no commands, got 1\n" .. nothing, "CaptureBeside")
    end)

    it("record no more than there is room for", function()
      prints("create: RESOURCE_EXHAUSTED create_empty_command: there are 16 commands, and no room for another\n" .. nothing,
        "TooMany")
    end)

    it("create nothing where they should update", function()
      prints([[
create: OK
0: empty; after: none
replay: OK
result: none
update: FAILED_PRECONDITION create_empty_command: the action is Update: the commands are made, and may be updated only
0: empty; after: none
replay: OK
result: none
]], "Forgetful")
    end)

    it("find no collectives", function()
      prints("create: INVALID_ARGUMENT [record] Failed to decode all FFI handler operands (bad operands at: 0)\nDiagnostics:\n" ..
        "Extension Collectives not found in context\n" .. nothing, "Collects")
    end)

    it("take their own version of the extension, and no other", function()
      local other, versions = 9 - minor, minor == 4 and "actual(0.2) vs current(0.1)" or "actual(0.1) vs current(0.2)"
      prints("create: INVALID_ARGUMENT [record] Failed to decode all FFI handler operands (bad operands at: 0)\nDiagnostics:\n" ..
        "Extension version mismatch for RecordExtension: " .. versions .. "\n" .. nothing, "Copy", other)
    end)
  end)
end

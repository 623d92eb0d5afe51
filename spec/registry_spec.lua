-- CC-29, CC-39: the registry.
local ccw = require "ccw"
local support = require "spec.support"

local kernels = ccw.load(support.kernels)
local plain = ccw.load(support.library "plain")

--- A name that no other test registers.
local count = 0
local function fresh(stem)
  count = count + 1
  return ("spec.%s.%d"):format(stem, count)
end

describe("CC-29 a handler", function()
  it("is registered, found, listed and called", function()
    local name = fresh "scale"
    ccw.register(name, kernels.scale, "Host")
    assert.equal("scale", ccw.find(name).name)
    assert.equal("f32[1] {6}", tostring(ccw.call(name, { ccw.f32 { 3 } }, "f32[1]", { s = ccw.f32(2) })))
    local found
    for _, row in ipairs(ccw.registered()) do
      if row.name == name then found = row end
    end
    assert.equal("host", found.platform)
    assert.equal("0.1", found.handler.version)
    assert.matches(name:gsub("%p", "%%%0") .. " +host +FFI 0.1  execute  [^\n]*libccw_kernels.so", tostring(ccw.registered()))
  end)

  it("is called by its registered name in messages", function()
    local name = fresh "scale"
    ccw.register(name, kernels.scale)
    local _, err = ccw.try(ccw.call, name, {}, "f32[1]", { s = ccw.f32(1) })
    assert.equal(name .. ": expected 1 arg, got 0", err.message)
    assert.equal(name, err.handler)
  end)

  it("has platforms by XLA's names", function()
    local name = fresh "platforms"
    for spelling, canonical in pairs { CPU = "host", HOST = "host", gpu = "cuda", Cuda = "cuda", ROCM = "rocm",
      oneAPI = "sycl", SomethingElse = "somethingelse" } do
      ccw.register(name, kernels.scale, spelling)
      assert.equal("scale", ccw.find(name, canonical).name)
    end
    local platforms = {}
    for _, row in ipairs(ccw.registered()) do
      if row.name == name then platforms[#platforms + 1] = row.platform end
    end
    assert.same({ "cuda", "host", "rocm", "somethingelse", "sycl" }, platforms)
  end)

  it("case C53: may be registered again, and another one may not take its name", function()
    local name = fresh "duplicate"
    ccw.register(name, kernels.scale, "Host")
    ccw.register(name, kernels.scale, "cpu")
    local _, err = ccw.try(ccw.register, name, kernels.add_mod, "Host")
    assert.equal("INVALID_ARGUMENT", err.code)
    assert.matches(("^'%s' is registered for platform host already, with other functions %%(from [^\n]*libccw_kernels.so%%)$")
      :format(name:gsub("%p", "%%%0")), err.message)
    assert.equal("scale", ccw.find(name).name)
    ccw.register(name, kernels.add_mod, "CUDA")
    ccw.register(name, kernels.add_mod, "Host", { replace = true })
    assert.equal("add_mod", ccw.find(name).name)
  end)

  it("has the traits that its metadata tells", function()
    local lib = support.official()
    if not lib then return pending "the official headers could not be had" end
    local name = fresh "traits"
    ccw.register(name, lib.Recordable)
    assert.same({ "command_buffer_compatible" }, ccw.find(name).traits)
  end)

  it("case C50: that is not there is not found, with what is", function()
    local name = fresh "only.cuda"
    ccw.register(name, kernels.scale, "CUDA")
    local _, err = ccw.try(ccw.call, name, {}, "()")
    assert.equal("NOT_FOUND", err.code)
    assert.equal(("no handler '%s' is registered for platform host; it is for cuda"):format(name), err.message)
    local gpu = ccw.device("sim:7", { as = "GPU" })
    _, err = ccw.try(ccw.call, name, {}, "f32[1]", { s = ccw.f32(1) }, { device = gpu, platform = "CUDA" })
    assert.equal(name .. ": expected 1 arg, got 0", err.message)
    _, err = ccw.try(ccw.find, name:sub(1, -2) .. "X", "Cpu")
    assert.equal(("no handler '%sX' is registered for platform Cpu (host); near: "):format(name:sub(1, -2)),
      err.message:match "^.*; near: ")
    _, err = ccw.try(ccw.find, "nothing is called like this")
    assert.equal("no handler 'nothing is called like this' is registered for platform Host (host)", err.message)
  end)

  it("needs a name and a platform", function()
    local _, err = ccw.try(ccw.register, "", kernels.scale)
    assert.equal("INVALID_ARGUMENT: name: expected a name, got an empty one", tostring(err))
    _, err = ccw.try(ccw.register, "x", kernels.scale, "")
    assert.equal("INVALID_ARGUMENT: platform: expected a name, got an empty one", tostring(err))
    _, err = ccw.try(ccw.register, "x", kernels.scale, ("p"):rep(40))
    assert.equal("INVALID_ARGUMENT: platform: a name of 40 bytes is too long", tostring(err))
    for _, platform in ipairs { "a\0", "\27[31m", "two words", "\xE9" } do
      _, err = ccw.try(ccw.find, "x", platform)
      assert.equal("INVALID_ARGUMENT: platform: a name is of printable ASCII, without spaces", tostring(err))
    end
    ccw.register("any bytes\0\xFF", kernels.scale)
    assert.equal("scale", ccw.find("any bytes\0\xFF").name)
  end)
end)

describe("CC-39 the metadata query", function()
  it("tells version and traits", function()
    assert.same({ "0.1", {} }, { kernels.scale.version, kernels.scale.traits })
    assert.same({ "0.1", { "command_buffer_compatible" } }, { plain.recordable.version, plain.recordable.traits })
    assert.same({ "execute" }, kernels.scale.stages)
  end)

  it("refuses what XLA would refuse, case C49", function()
    for name, message in pairs {
      silent = "it did not answer the metadata query: not an FFI handler, or one that XLA would refuse too",
      from_the_future = "it was built for FFI API 0.6; this is 0.5, which runs handlers of 0.1 to 0.5",
      from_another_major = "it was built for FFI API 1.0; this is 0.5, which runs handlers of 0.1 to 0.5",
      negative_version = "it was built for FFI API 0.-1; this is 0.5, which runs handlers of 0.1 to 0.5",
    } do
      local _, err = ccw.try(function() return plain[name] end)
      assert.equal("INVALID_ARGUMENT: " .. name .. ": " .. message, tostring(err))
    end
  end)

  it("is answered by official handlers of their own version", function()
    for version, headers in pairs { ["0.3"] = "0_3", ["0.5"] = "0_5" } do
      local lib = support.official(headers)
      if not lib then return pending "the official headers could not be had" end
      assert.equal(version, lib.Scale.version)
      assert.equal("f32[1] {6}", tostring(ccw.call(lib.Scale, { ccw.f32 { 3 } }, "f32[1]", { s = ccw.f32(2) })))
    end
  end)
end)

describe("CC-29 case C84: a library that registers itself", function()
  --- Loads it as a script of the user's would: the program warns of what was refused.
  local function load_quietly(name)
    warn "@off"
    local lib = ccw.load(name)
    warn "@on"
    return lib
  end

  it("loads, and says what it registered and what it could not", function()
    for _ = 1, 2 do -- the second time the library is there already, and says the same
      local lib = load_quietly(support.library "registers_itself")
      assert.same({ "self.one on Host", "self.two on cpu" }, lib:registered())
      assert.equal(2, #lib:refused())
      assert.equal("self.one on Host: 'self.one' is registered for platform host already, with traits 0 instead of 1 " ..
        "(from " .. lib:path() .. ")", lib:refused()[1]) -- case C53
      assert.matches("^self.one on Host: 'self.one' is registered for platform host already, with other functions",
        lib:refused()[2])
      assert.equal(1, ccw.call("self.one", {}, "f32[]"):item())
      assert.equal(2, ccw.call("self.two", {}, "f32[]"):item())
      assert.matches("\n  registered by itself: self.one on Host\n", tostring(lib), 1, true)
    end
  end)

  it("loads through XLA's C++ name for the accessor", function()
    if not support.exists(support.library "registers_itself_cc") then return pending "no official headers" end
    local lib = ccw.load(support.library "registers_itself_cc")
    assert.same({ "self.three on Host" }, lib:registered())
    assert.equal(3, ccw.call("self.three", {}, "f32[]"):item())
  end)

  it("goes on working when the library is forgotten", function()
    load_quietly(support.library "registers_itself"):close()
    collectgarbage() collectgarbage()
    assert.equal(2, ccw.call("self.two", {}, "f32[]"):item())
  end)
end)

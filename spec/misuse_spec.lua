-- case C77, CC-5: a Lua value of every type where each argument is expected.
local ccw = require "ccw"
local support = require "spec.support"

local kernels = ccw.load(support.kernels)
local sim = ccw.device "sim:0"
local set = ccw.kernel { name = "set", source = "__global__ void set(int *x, int n) { *x = n; }" }

--- Work of devices, each made anew. What was left in the middle of something is forgotten before.
local function work()
  sim:reset()
  local stream, closed = sim:stream(), sim:stream()
  closed:close()
  return stream, closed, stream:record(), stream:begin_capture():end_capture()
end

--- Values of every type, each made anew: some of what they are given to keeps them.
local function values()
  local closed = ccw.f32 { 1 }
  closed:close()
  local stream, closed_stream, event, graph = work()
  return {
    device = sim, other_device = ccw.device "sim:1", stream = stream, closed_stream = closed_stream, event = event, graph = graph,
    kernel = set,
    ["nil"] = nil, ["false"] = false, ["true"] = true, integer = 3, float = 1.5, nan = 0 / 0, huge = math.huge,
    string = "x", empty = "", binary = "\0\xFF", table = {}, list = { 1, 2 }, names = { x = 1 }, hole = { 1, nil, 3 },
    ["function"] = function() end, thread = coroutine.create(print), file = io.stdout, buffer = ccw.f32 { 1 }, closed = closed,
    type = ccw.type "f32[1]", tuple = ccw.type "(f32[1])", attributes = ccw.attrs {}, scalar = ccw.f32(1),
    handler = kernels.scale, library = kernels, call = ccw.prepare(kernels.scale, { ccw.f32 { 1 } }, "f32[1]", { s = 1 }),
  }
end

local names = { "nil" }
for name in pairs(values()) do names[#names + 1] = name end

--- Every function with arguments that are right.
local function functions()
  local x, error_object = ccw.f32 { 1 }, select(2, ccw.try(ccw.type, ""))
  local stream, _, event, graph = work()
  local arguments = { ccw.s32({ 1 }):to "sim:0", 1 }
  return {
    { "array", ccw.array, "f32[1]", 1 },
    { "iota", ccw.iota, "f32[1]", 0 },
    { "random", ccw.random, "f32[1]", 1, {} },
    { "import", ccw.import, "u8[1]", x.address, x, skip = 2 }, -- any integer is an address, which nothing can check
    { "type", ccw.type, "f32[1]" },
    { "f32", ccw.f32, 1 },
    { "c64", ccw.c64, 1, 2 },
    { "attrs", ccw.attrs, {} },
    { "compare", ccw.compare, x, x, {} },
    { "load", ccw.load, "libm.so.6", {} },
    { "register", ccw.register, "misuse", kernels.scale, "Host", {} },
    { "find", ccw.find, "misuse", "Host" },
    { "call", ccw.call, kernels.scale, { x }, "f32[1]", { s = ccw.f32(1) }, {} },
    { "prepare", ccw.prepare, kernels.scale, { x }, "f32[1]", { s = ccw.f32(1) }, {} },
    { "library:handler", kernels.handler, kernels, "scale" },
    { "library:names", kernels.names, kernels },
    { "library:path", kernels.path, kernels },
    { "library:registered", kernels.registered, kernels },
    { "library:refused", kernels.refused, kernels },
    { "fill", x.fill, x, 1 },
    { "as", x.as, x, "f64" },
    { "reshape", x.reshape, x, "f32[1,1]" },
    { "copy", x.copy, x },
    { "item", x.item, x },
    { "bytes", x.bytes, x },
    { "set_bytes", x.set_bytes, x, "\0\0\0\0" },
    { "summary", x.summary, x },
    { "check", x.check, x },
    { "index", getmetatable(x).__index, x, 1 },
    { "index by name", getmetatable(x).__index, x, "fill" },
    { "newindex", getmetatable(x).__newindex, x, 1, 1 },
    { "len", getmetatable(x).__len, x },
    { "tostring", tostring, x },
    { "error", getmetatable(error_object).__tostring, error_object },
    { "to", x.to, x, "sim:0" },
    { "device", ccw.device, "sim:0", {} },
    { "device:stream", sim.stream, sim },
    { "device:sync", sim.sync, sim },
    { "device:reset", sim.reset, sim },
    { "device:allocations", sim.allocations, sim },
    { "stream:sync", stream.sync, stream },
    { "stream:done", stream.done, stream },
    { "stream:record", stream.record, stream, event },
    { "stream:wait", stream.wait, stream, event },
    { "stream:begin_capture", stream.begin_capture, stream },
    { "stream:end_capture", stream.end_capture, ccw.device("sim:1"):reset():stream():begin_capture() },
    { "stream:close", stream.close, stream },
    { "event:sync", event.sync, event },
    { "event:seconds_since", event.seconds_since, event:sync(), event },
    { "event:close", event.close, event },
    { "graph:launch", graph.launch, graph, sim:stream() },
    { "graph:close", graph.close, graph },
    { "compile", ccw.compile, "int f(void);", {} },
    { "library:compiled", kernels.compiled, kernels },
    { "kernel", ccw.kernel, { name = "set", source = "__global__ void set(int *x) { *x = 1; }" } },
    { "kernel:launch", set.launch, set, { grid = 1, args = arguments } },
  }
end

for _, row in ipairs(functions()) do
  describe("case C77: " .. row[1], function()
    it("works with what it should get", function()
      local fresh
      for _, other in ipairs(functions()) do if other[1] == row[1] then fresh = other end end
      assert.is_true(pcall(table.unpack(fresh, 2)))
    end)

    for position = 1, #row - 2 do
      if position ~= row.skip and row[1] ~= "error" then
        it(("is refused, or well, with any value as argument %d"):format(position), function()
          for _, name in ipairs(names) do
            local fresh
            for _, other in ipairs(functions()) do if other[1] == row[1] then fresh = other end end
            local arguments = table.pack(table.unpack(fresh, 2))
            arguments[position + 1] = values()[name]
            local ok, err = pcall(function()
              local result = arguments[1](table.unpack(arguments, 2, #row - 1))
              return result
            end)
            if not ok and type(err) == "string" then
              assert.matches("^[^:]*misuse_spec.lua:%d+: ", err, 1, false, ("%s as argument %d"):format(name, position))
            end
            if not ok and type(err) == "string" then
              local place = tonumber(err:match "bad argument #(%d+) to")
              -- methods may count from what follows the colon, index speaks of elements, what is closed says so instead
              local is_placed = place == position or (row[1]:find ":" and place == position - 1) or row[1]:find "index"
                or err:find " is closed"
              assert.is_truthy(is_placed, ("%s as argument %d: %s"):format(name, position, err))
            elseif not ok then
              assert.is_string(err.code, ("%s as argument %d"):format(name, position))
              assert.is_string(err.message)
            end
          end
        end)
      end
    end
  end)
end

--- Functions that take options: the position of these, what calls it with them, and options that are right.
local with_options = {
  {
    name = "device", position = 2, call = function(options) ccw.device("sim:2", options) end, right = {},
    options = { "as", "seed", "memory", "time_limit", "warp_size", "fail_allocation", "fail_launch", "fail_copy", "fail_synchronize" },
  },
  {
    name = "compile", position = 2, call = function(options) ccw.compile("int f(void);", options) end, right = {},
    options = { "language", "flags", "name", "time_limit" },
  },
  {
    name = "kernel", position = 1, call = function(options) ccw.kernel(options) end,
    right = { name = "set", source = "__global__ void set(int *x) { *x = 1; }" },
    options = { "source", "file", "name", "device", "architecture", "flags", "time_limit" },
  },
  {
    name = "launch", position = 1, call = function(options) set:launch(options) end,
    right = { grid = 1, args = { ccw.s32({ 1 }):to "sim:0", 1 } },
    options = { "grid", "block", "over", "args", "stream", "shared" },
  },
}

for _, row in ipairs(with_options) do
  describe("case C77: options of " .. row.name, function()
    teardown(function() -- options of a device stay, and other specs use it
      ccw.device("sim:2", { as = "SIM", seed = 0, memory = 1 << 34, time_limit = 10, warp_size = 32, fail_allocation = 0, fail_launch = 0,
        fail_copy = 0, fail_synchronize = 0 }):reset()
    end)

    local function check(option, wrap)
      local what = " as " .. tostring(option)
      for _, name in ipairs(names) do
        local options = {}
        for key, value in pairs(row.right) do options[key] = value end
        options[option] = wrap(values()[name])
        local ok, err = pcall(row.call, options)
        if not ok and type(err) == "string" then
          local known = ("^[^:]*misuse_spec.lua:%%d+: bad argument #%d to '%s' %%("):format(row.position, row.name)
          local is_well = err:match(known) or err:match "^[^:]*misuse_spec.lua:%d+: this %w+ is closed$"
          assert.is_truthy(is_well, name .. what .. ": " .. err)
        elseif not ok then
          assert.is_string(err.code, name .. what)
          assert.is_string(err.message)
        end
      end
    end

    for _, option in ipairs(row.options) do
      it("are refused, or well, with any value as " .. option, function() check(option, function(value) return value end) end)
      it("are refused, or well, with any value in a list as " .. option, function()
        check(option, function(value) return { value } end)
      end)
    end

    it("are refused, or well, with any value under a name that is none", function()
      for _, option in ipairs { "bogus", 1, true } do check(option, function(value) return value end) end
    end)
  end)
end

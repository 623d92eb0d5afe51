-- case C77, CC-5: a Lua value of every type where each argument is expected.
local ccw = require "ccw"
local support = require "spec.support"

local kernels = ccw.load(support.kernels)

--- Values of every type, each made anew: some of what they are given to keeps them.
local function values()
  local closed = ccw.f32 { 1 }
  closed:close()
  return {
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
    { "handler", kernels.handler, kernels, "scale" },
    { "names", kernels.names, kernels },
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
            local ok, err = pcall(arguments[1], table.unpack(arguments, 2, #row - 1))
            if not ok and type(err) == "string" then
              local place = tonumber(err:match "bad argument #(%d+) to")
              -- index speaks of elements, and what is closed says so instead
              local is_placed = place == position or row[1]:find "index" or err:find " is closed"
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

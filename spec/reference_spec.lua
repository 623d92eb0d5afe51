-- The reference: every public name has a doc comment, every doc comment names something, and lua/REFERENCE.md says the same.
local ccw = require "ccw"
local core = require "ccw.core"
local help = require "ccw.help"
local reference = require "ccw.reference"
local test = require "ccw.test"
local support = require "spec.support"

--- A value of each kind. Those that only a handler gets are caught in one.
local function make_values()
  local values = {}
  local handler = ccw.bind "catch(@threads, @scratch) -> (y: f32[1])":to(function(threads, scratch, y)
    values.threads, values.scratch, values.promise = threads, scratch, ccw.promise()
    values.count = threads.count
    y:fill(1)
    values.promise:complete()
    return values.promise
  end)
  values.call = ccw.prepare(handler, {}, "f32[1]")
  values.future = values.call:start()
  values.future:wait()
  values.device = ccw.device("sim:0"):reset()
  values.stream = values.device:stream()
  values.event = values.stream:record()
  values.graph = values.stream:begin_capture():end_capture()
  values.kernel = ccw.kernel { name = "set", source = "__global__ void set(int *x) { *x = 1; }" }
  values.library = ccw.load(support.kernels)
  values.handler = values.library.scale
  values.buffer, values.scalar, values.type = ccw.f32 { 1 }, ccw.c64(1, 2), ccw.type "f32[1]"
  values.description = ccw.from_text "%0 = stablehlo.custom_call @f() : () -> tensor<f32>"
  values.attributes, values.signature, values.binding, values.pattern =
    ccw.attrs {}, ccw.signature "f()", ccw.bind "f()", ccw.match.buffer "f32"
  values.error = select(2, ccw.try(ccw.call, values.handler, { ccw.s32 { 1 } }, "f32[1]", { s = ccw.f32(1) },
    { signature = false }))
  return values
end

local values = make_values()

--- Fields by kind, and where the code asks for them: files of C compare with strcmp.
local fields = {
  buffer = { "type", "dtype", "dims", "rank", "count", "flat", "device", "address", file = "buffers.c" },
  type = { "dtype", "dims", "rank", "count", "bytes", file = "types.c" },
  scalar = { "dtype", "value", "re", "im", file = "scalars.c" },
  signature = { "name", file = "signatures.c" },
  handler = { "name", "library", "version", "traits", "stages", "address", "signature", "no_signature", file = "handlers.c" },
  threads = { "count", file = "jobs.c" },
  stream = { "device", "number" },
  kernel = { "name", "device", "symbol", "path", "log", "was_kept", "parameters" },
  error = { "code", "message", "handler", "stage", "operands" },
  device = { "own_stream" },
}
for name in pairs(core.device_info(values.device)) do table.insert(fields.device, name) end

--- Fields that a value of ours does not have: a signature that is known, and what ends with a handler.
local absent = { no_signature = true, count = values.count }

--- Modules, whose functions are no methods.
local modules = {}
for _, module in pairs(package.loaded) do modules[module] = true end

--- The methods of a value: what its metatable has for them, as a table or as upvalues of a function.
local function methods_of(value)
  local meta, found = getmetatable(value), {}
  local function take(list)
    if type(list) ~= "table" or modules[list] then return end
    for name, f in pairs(list) do
      if type(name) == "string" and type(f) == "function" then found[name] = true end
    end
  end
  take(meta.__index)
  take(meta.methods)
  for i = 1, type(meta.__index) == "function" and 100 or 0 do take((select(2, debug.getupvalue(meta.__index, i)))) end
  return found
end

local function sorted(set)
  local list = {}
  for name in pairs(set) do list[#list + 1] = name end
  table.sort(list)
  return list
end

describe("the reference", function()
  it("has every name of ccw", function()
    local missing = {}
    for name in pairs(ccw) do
      local known = reference["ccw." .. name] or (core.dtypes()[name] and reference["ccw.f32"])
      if not known then missing["ccw." .. name] = true end
    end
    for name in pairs(ccw.match) do
      if not reference["ccw.match." .. name] then missing["ccw.match." .. name] = true end
    end
    for name in pairs(test) do
      if not reference["ccw.test." .. name] then missing["ccw.test." .. name] = true end
    end
    assert.same({}, sorted(missing))
  end)

  it("has every kind of value, and help lists it", function()
    local missing = {}
    for name, value in pairs(values) do
      local kind = core.kind(value) or name
      if kind ~= "count" and not reference[kind] then missing[kind] = true end
    end
    for _, kind in ipairs(help.kinds) do
      if not reference[kind] then missing[kind] = true end
    end
    assert.same({}, sorted(missing))
  end)

  for kind, value in pairs(values) do
    if kind ~= "count" then
      it("has every method of a " .. kind .. ", and no other", function()
        local methods = methods_of(value)
        local told = {}
        for name in pairs(reference) do
          local method = name:match("^" .. kind .. ":(.*)$")
          if method then told[method] = true end
        end
        assert.same(sorted(methods), sorted(told))
      end)

      it("tells the methods of a " .. kind .. " where it tells of the kind", function()
        local missing = {}
        for name in pairs(methods_of(value)) do
          -- one that is told of in other words is at least named
          if not reference[kind]:find("%f[%w_]" .. name .. "%f[^%w_]") and name ~= "compiled" then missing[name] = true end
        end
        assert.same({}, sorted(missing))
      end)
    end
  end

  for kind, list in pairs(fields) do
    it("has every field of a " .. kind .. ", and each is there", function()
      for _, name in ipairs(list) do
        assert.matches("%f[%w_]" .. name .. "%f[^%w_]", reference[kind])
        if not absent[name] then assert.is_not_nil(values[kind][name], name) end
      end
      if not list.file then return end
      local known, unknown = {}, {}
      for _, name in ipairs(list) do known[name] = true end
      local source <close> = assert(io.open(support.root .. "/lua/glue/" .. list.file))
      for name in source:read("a"):gmatch "strcmp%([^\"]-\"([%w_]+)\"%) == 0" do
        if not known[name] then unknown[name] = true end
      end
      assert.same({}, sorted(unknown))
    end)
  end

  it("names nothing that is not there", function()
    local wrong, kinds = {}, {}
    for _, kind in ipairs(help.kinds) do kinds[kind] = true end
    for name in pairs(reference) do
      local path = name:match "^ccw%.(.*)$"
      local kind = name:match "^(%l+):?"
      if path then
        local at = path:find "^test" and { test = test } or ccw
        for word in path:gmatch "[^.]+" do at = type(at) == "table" and at[word] or nil end
        if at == nil then wrong[name] = true end
      elseif not kinds[kind] then
        wrong[name] = true
      end
    end
    assert.same({}, sorted(wrong))
  end)

  it("lists the options that calls take, and no others", function()
    local told, wrong = {}, {}
    for name in reference.options:gmatch "\n%- ([%w_]+):" do told[name] = true end
    local x = ccw.f32 { 1 }
    for name in pairs(told) do
      local good, message = pcall(ccw.prepare, values.handler, { x }, "f32[1]", { s = 1 }, { [name] = function() end })
      if not good and tostring(message):find "no option is called" then wrong[name] = true end
    end
    assert.same({}, sorted(wrong))
    local _, message = pcall(ccw.prepare, values.handler, { x }, "f32[1]", { s = 1 }, { nothing = 1 })
    assert.matches("no option is called 'nothing'", message, 1, true)
    local source <close> = assert(io.open(support.root .. "/lua/ccw/call.lua"))
    for name in source:read("a"):match "local option_types = (%b{})":gmatch "([%w_]+) = " do
      if not told[name] then wrong[name] = true end
    end
    assert.same({}, sorted(wrong))
  end)

  it("is written down in lua/REFERENCE.md; scripts/reference.lua makes it anew", function()
    local written = support.sh(("'%s' '%s/scripts/reference.lua'"):format(support.program, support.root))
    local file <close> = assert(io.open(support.root .. "/lua/REFERENCE.md"))
    assert.is_true(written == file:read "a", "lua/REFERENCE.md is old: build/bin/ccw scripts/reference.lua >lua/REFERENCE.md")
    for name in pairs(core.dtypes()) do
      if name ~= "token" then assert.matches("`" .. name .. "`", written, 1, true) end
    end
  end)
end)

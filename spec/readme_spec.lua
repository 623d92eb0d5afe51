-- README.md: its Lua runs, and prints what it says.
local ccw = require "ccw"
local support = require "spec.support"

local blocks = {}
do
  local file <close> = assert(io.open(support.root .. "/README.md"))
  for label, code in file:read "a":gmatch "\n```lua ?([^\n]*)\n(.-)\n```" do
    blocks[#blocks + 1] = { label = label, code = code }
  end
end

describe("README.md", function()
  for i, block in ipairs(blocks) do
    it(("block %d runs and prints what it says"):format(i), function()
      if block.label == "klujax" and not ccw.try(ccw.load, "python:klujax_cpp") then
        return pending "klujax could not be had"
      end
      local expected, printed = {}, {}
      for text in block.code:gmatch "%-%->%s*([^\n]*)" do expected[#expected + 1] = text end
      local code = block.code:gsub('"build/', '"' .. support.build .. "/")
      local env = setmetatable({ ccw = ccw, print = function(...)
        local parts = table.pack(...)
        for k = 1, parts.n do parts[k] = tostring(parts[k]) end
        printed[#printed + 1] = table.concat(parts, "\t")
      end }, { __index = _G })
      assert(load(code, "=README.md", "t", env))()
      assert.same(expected, printed)
      assert.is_true(#expected > 0)
    end)
  end

  it("has blocks", function() assert.is_true(#blocks >= 3) end)
end)

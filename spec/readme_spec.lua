-- README.md: its code runs, and prints what it says.
local ccw = require "ccw"
local support = require "spec.support"

local readme
do
  local file <close> = assert(io.open(support.root .. "/README.md"))
  readme = file:read "a":gsub("\n```[^\n]*\n", function(fence) return "\0" .. fence:match "```([^\n]*)" .. "\n" end)
end

--- The blocks of a language: {label, code, what they say that they print}.
local function blocks(language)
  local list = {}
  for label, code in readme:gmatch("%z" .. language .. " ?([^\n]*)\n(.-)%z\n") do
    local says = {}
    for text in code:gmatch "%-%->%s*([^\n]*)" do says[#says + 1] = text end
    for text in code:gmatch "print%b()%s+# ([^\n]*)" do says[#says + 1] = text end
    list[#list + 1] = { label = label, code = (code:gsub("build/", support.build .. "/")), says = says }
  end
  return list
end

describe("README.md", function()
  setup(function()
    for _, block in ipairs(blocks "c") do support.write(block.label .. ".c", block.code) end
    for _, block in ipairs(blocks "c%+%+") do support.write(block.label .. ".cu", block.code) end
    for _, block in ipairs(blocks "sh") do
      for compile in ("\n" .. block.code):gmatch "\n(c[c+]+ %-[^\n]+)" do
        local output, good = support.sh(("cd '%s' && %s"):format(support.temporary(), compile:gsub("^c[c+]+ ", "%0-Wall -Wextra -Werror ")
          :gsub("%-Icore", "-I" .. support.root .. "/core")))
        assert(good, output)
      end
    end
  end)

  for i, block in ipairs(blocks "lua") do
    it(("Lua block %d runs and prints what it says"):format(i), function()
      if block.label == "klujax" and not ccw.try(ccw.load, "python:klujax_cpp") then
        return pending "klujax could not be had"
      end
      if block.label == "test" then
        support.write("test_spec.lua", block.code)
        local output = support.sh(("cd '%s' && '%s' test test_spec.lua"):format(support.temporary(), support.program))
        assert.equal(table.concat(block.says, "\n") .. "\n", (output:gsub("%f[^\n\0] +", "")))
        return
      end
      local printed = {}
      local env = setmetatable({ ccw = ccw, print = function(...)
        local parts = table.pack(...)
        for k = 1, parts.n do parts[k] = tostring(parts[k]) end
        printed[#printed + 1] = table.concat(parts, "\t")
      end }, { __index = _G })
      assert(load(block.code, "=README.md", "t", env))()
      assert.same(block.says, printed)
      assert.is_true(#block.says > 0)
    end)
  end

  for i, block in ipairs(blocks "python") do
    it(("Python block %d runs in JAX and prints what it says #jax"):format(i), function()
      local python = (os.getenv "CCW_VENV" or support.build .. "/venv") .. "/jax-0.10.2/bin/python"
      if not support.exists(python) then return pending "JAX 0.10.2 could not be had" end
      assert.is_true(#block.says > 0)
      local path = support.write("readme.py", block.code)
      assert.equal(table.concat(block.says, "\n") .. "\n", (support.sh(("JAX_PLATFORMS=cpu '%s' '%s'"):format(python, path))))
    end)
  end

  it("names files that are there", function()
    local missing = {}
    for path in readme:gmatch "`([%a_]+/[%w_./-]+)`" do
      local top = path:match "^%a+"
      local is_ours = top == "core" or top == "kernels" or top == "lua" or top == "scripts" or top == "spec"
      if is_ours and not path:find "NAME" and not support.exists(support.root .. "/" .. path) then missing[#missing + 1] = path end
    end
    assert.same({}, missing)
  end)

  it("links to headings that are there", function()
    local headings, missing = {}, {}
    for heading in readme:gmatch "\n#+ ([^\n]*)" do
      headings[heading:lower():gsub("[^%w -]", ""):gsub(" ", "-")] = true
    end
    for link in readme:gmatch "%]%(#([^)]*)%)" do
      if not headings[link] then missing[#missing + 1] = link end
    end
    assert.same({}, missing)
  end)

  it("has blocks", function()
    assert.is_true(#blocks "lua" >= 4 and #blocks "c" >= 1 and #blocks "python" >= 1)
  end)
end)

-- The house: where things are, which way they may depend, and how they are written.
local support = require "spec.support"

local function lines(command)
  local list = {}
  for line in (support.sh(command)):gmatch "[^\n]+" do list[#list + 1] = line end
  return list
end

local sources = lines(("cd '%s' && find core lua kernels spec -name '*.[ch]' -o -name '*.cc' | sort"):format(support.root))

local function read(path)
  local file <close> = assert(io.open(support.root .. "/" .. path, "rb"))
  return file:read "a"
end

describe("the house", function()
  it("has the rooms that were agreed, and nothing beside them", function()
    local names = {}
    for _, name in ipairs(lines(("cd '%s' && ls"):format(support.root))) do
      if name ~= "build" then names[#names + 1] = name end
    end
    assert.same({ "CMakeLists.txt", "README.md", "core", "kernels", "lua", "scripts", "spec" }, names)
  end)

  it("keeps Lua out of core", function()
    for _, path in ipairs(sources) do
      if path:find "^core/" then assert.is_nil(read(path):find "#include *[<\"]l[ua][ua]", path) end
    end
  end)

  it("lets a room of core use only itself and the rooms above it", function()
    local rooms = { "base", "device", "value", "call", "runtime" }
    local objects = support.build .. "/core/CMakeFiles/ccw_objects.dir/"
    local defined_in, used = {}, {}
    for floor, room in ipairs(rooms) do
      for _, line in ipairs(lines(("nm %s%s/*.o"):format(objects, room))) do
        local kind, name = line:match "([A-Za-z]) (ccw_[%w_]+)$"
        if kind == "U" then
          used[#used + 1] = { floor, name }
        elseif kind and kind:find "%u" then
          defined_in[name] = floor
        end
      end
    end
    assert.is_true(#used > 50)
    for _, use in ipairs(used) do
      local floor, name = use[1], use[2]
      assert.is_truthy(defined_in[name], name .. " is defined nowhere")
      assert.is_true(defined_in[name] <= floor, ("%s uses %s of %s"):format(rooms[floor], name, rooms[defined_in[name]]))
    end
  end)

  it("exports what its public headers declare, and nothing else", function()
    local declared = read "core/include/ccw/ccw.h"
    for _, line in ipairs(lines(("nm -D --defined-only '%s/lib/libccw.so'"):format(support.build))) do
      local name = line:match "[TDBR] ([%w_]+)$"
      if name and not name:find "^_" then
        local known = declared:find(name .. "%f[^%w_]") or name == "XLA_FFI_GetApi"
        assert.is_truthy(known, name)
      end
    end
  end)

  it("has a comment at every public function of C", function()
    local previous
    for line in read "core/include/ccw/ccw.h":gmatch "(.-)\n" do
      if line:find "^CCW_API" then
        -- a release stands with its retain, the ways to add an attribute together
        local shares = line:find "_release%(" or line:find "ccw_attributes_add_" or line:find "ccw_library_refused"
        assert.is_truthy(previous:find "%*/$" or shares and previous:find ";$", "no comment above: " .. line)
      end
      previous = line
    end
  end)

  for compiler, file in pairs { ["gcc -std=c11"] = "headers.c", ["clang -std=c11"] = "headers.c",
    ["g++ -std=c++17"] = "headers.cc", ["clang++ -std=c++17"] = "headers.cc" } do
    it("has public headers that compile without a warning, with " .. compiler, function()
      local source = support.write(file, "#include <ccw/handler.h>\n#include <ccw/ccw.h>\n" ..
        "ccw_status f(int n);\nccw_status f(int n)\n{\n  if (n < 0) return ccw_invalid(\"n: %d\", n);\n" ..
        "  CCW_TRY(f(n - 1));\n  return ccw_ok();\n}\n")
      local flags = "-O2 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror"
      local output, good = support.sh(("%s %s -I%s/core/include -c '%s' -o /dev/null"):format(compiler, flags, support.root,
        source))
      assert.is_true(good, output)
    end)
  end

  it("is formatted by clang-format", function()
    if not support.sh "clang-format --version":find "version" then return pending "clang-format is not here" end
    local files = "find core lua kernels scripts spec -name '*.[ch]' -o -name '*.cu' -o -path 'core/*.cc'"
    local output, good = support.sh(("cd '%s' && clang-format --dry-run -Werror $(%s)"):format(support.root, files))
    assert.is_true(good, output)
  end)

  it("is clean for luacheck", function()
    if not support.sh "luacheck --version":find "Luacheck" then return pending "luacheck is not here" end
    local output, good = support.sh(("cd '%s' && env -u LUA_PATH -u LUA_CPATH luacheck -q --no-color lua scripts spec")
      :format(support.root))
    assert.is_true(good, output)
  end)

  it("says nothing of one machine", function()
    local files = "find core lua kernels scripts spec .ci README.md CMakeLists.txt -type f"
    for _, path in ipairs(lines(("cd '%s' && %s"):format(support.root, files))) do
      for _, word in ipairs { "/ro" .. "ot/", "/wo" .. "rk/", "/tm" .. "p/" } do
        assert.is_nil(read(path):find(word, 1, true), path .. " names " .. word)
      end
    end
  end)
end)

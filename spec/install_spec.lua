-- The installed library, program and module, used from outside the tree. Sanitized libraries want sanitized programs, so
-- that this is for the plain build.
local support = require "spec.support"

describe("the installation #plain", function()
  local prefix = support.temporary() .. "/prefix"
  local expected = "2 4 6 OK \n"

  setup(function()
    local output, good = support.sh(("cmake --install '%s' --prefix '%s'"):format(support.build, prefix))
    assert(good, output)
  end)

  local function installed(name) return support.sh(("find '%s' -name '%s'"):format(prefix, name)):match "[^\n]+" end

  it("is found by CMake, shared and static", function()
    local folder = support.temporary() .. "/outside"
    local output, good = support.sh(("cmake -S '%s/spec/outside' -B '%s' -DCMAKE_PREFIX_PATH='%s' && cmake --build '%s'")
      :format(support.root, folder, prefix, folder))
    assert.is_true(good, output)
    for _, kind in ipairs { "shared", "static" } do
      assert.equal(expected, (support.sh(("'%s/outside_%s' '%s'"):format(folder, kind, support.kernels))))
    end
  end)

  it("is found by pkg-config, shared and static", function()
    local path, libraries = installed "ccw.pc":match "^(.*)/", installed "libccw.so":match "^(.*)/"
    for kind, flags in pairs { shared = "--cflags --libs", static = "--static --cflags --libs" } do
      local program = ("%s/outside_%s"):format(support.temporary(), kind)
      local command = "PKG_CONFIG_PATH='%s' && export PKG_CONFIG_PATH && gcc -std=c11 -Wall -Wextra -Wpedantic -Werror -o '%s' " ..
        "'%s/spec/outside/main.c' %s $(pkg-config %s ccw)"
      local output, good = support.sh(command:format(path, program, support.root,
        kind == "static" and "-Wl,-Bstatic -L" .. libraries .. " -lccw -Wl,-Bdynamic" or "", flags))
      assert.is_true(good, output)
      assert.equal(expected, (support.sh(("LD_LIBRARY_PATH='%s' '%s' '%s'"):format(libraries, program, support.kernels))))
    end
    assert.equal("NOT_FOUND nowhere.so: no such file, and no library of that name\n", (support.sh(
      ("LD_LIBRARY_PATH='%s' '%s/outside_shared' nowhere.so"):format(libraries, support.temporary()))))
  end)

  it("has a program that runs from anywhere", function()
    assert.equal("0.1.0\n", (support.sh(("cd / && env -u LUA_PATH -u LUA_CPATH '%s/bin/ccw' -e 'print(ccw.version)'"):format(prefix))))
  end)

  it("has a module for a stock lua5.4", function()
    local lua, c = installed "init.lua":match "^(.*)/ccw/", installed "core.so":match "^(.*)/ccw/"
    assert.equal("f32[] 1\n", (support.sh(("cd / && LUA_PATH='%s/?.lua;%s/?/init.lua' LUA_CPATH='%s/?.so' lua5.4 -e " ..
      "'print(require \"ccw\".array(\"f32[]\", 1))'"):format(lua, lua, c))))
  end)
end)

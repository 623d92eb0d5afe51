-- CC-1: the binary interface, held against the official headers and against a table of the same facts.
local support = require "spec.support"

--- The lines of a table of facts: "enum NAME VALUE", "struct NAME SIZEOF STRUCT_SIZE", "field STRUCT NAME OFFSET SIZE".
local function facts(version)
  local list = {}
  for line in io.lines(("%s/spec/abi/api_%s.txt"):format(support.root, version)) do list[#list + 1] = line end
  return list
end

--- A C program that prints the facts of the header it includes, in the same form.
local function printer(include, list)
  local rows = {}
  for i, line in ipairs(list) do
    local kind, name, rest = line:match "^(%a+) ([%w_]+) ?(.*)$"
    if kind == "enum" then
      rows[i] = ('  printf("enum %s %%lld\\n", (long long)%s);'):format(name, name)
    elseif kind == "struct" and rest:find "%-$" then
      rows[i] = ('  printf("struct %s %%zu -\\n", sizeof(%s));'):format(name, name)
    elseif kind == "struct" then
      rows[i] = ('  printf("struct %s %%zu %%zu\\n", sizeof(%s), (size_t)%s_STRUCT_SIZE);'):format(name, name, name)
    else
      local member = rest:match "^[%w_]+"
      rows[i] = ('  printf("field %s %s %%zu %%zu\\n", offsetof(%s, %s), sizeof(((%s *)0)->%s));'):format(name, member,
        name, member, name, member)
    end
  end
  return ("#include <stddef.h>\n#include <stdio.h>\n#include <%s>\nint main(void)\n{\n%s\n  return 0;\n}\n"):format(include,
    table.concat(rows, "\n"))
end

--- Builds and runs it; gives what it prints, by line.
local function printed(name, compiler, include, list)
  local source = support.write(name, printer(include, list))
  local output, good = support.sh(("%s '%s' -o '%s.out' && '%s.out'"):format(compiler, source, source, source))
  assert.is_true(good, output)
  local lines = {}
  for line in output:gmatch "[^\n]+" do lines[#lines + 1] = line end
  return lines
end

local strict = "-Wall -Wextra -Wpedantic -Werror -I" .. support.root .. "/core/include"

describe("CC-1 the ABI header", function()
  for compiler, label in pairs {
    ["gcc -std=c11"] = "C11 with gcc", ["g++ -std=c++17"] = "C++17 with g++",
    ["clang -std=c11"] = "C11 with clang", ["clang++ -std=c++17"] = "C++17 with clang++",
  } do
    it("has every size, offset and number of API 0.5, as " .. label, function()
      local name = compiler:find "++" and "ours.cc" or "ours.c"
      assert.same(facts "0_5", printed(name, compiler .. " " .. strict, "ccw/xla_ffi.h", facts "0_5"))
    end)
  end

  it("includes stddef.h and stdint.h and nothing else", function()
    local included = {}
    for line in io.lines(support.root .. "/core/include/ccw/xla_ffi.h") do
      included[#included + 1] = line:match "^%s*#%s*include%s+(.*)"
    end
    assert.same({ "<stddef.h>", "<stdint.h>" }, included)
  end)

  it("has one list of dtypes, with the packed ones in bits", function()
    local dtypes = require "ccw.core".dtypes()
    assert.equal(31, (function() local n = 0 for _ in pairs(dtypes) do n = n + 1 end return n end)())
    assert.same({ number = 21, bits = 4, class = "SIGNED" }, dtypes.s4)
    assert.same({ number = 32, bits = 4, class = "FLOAT" }, dtypes.f4e2m1fn)
    assert.same({ number = 17, bits = 0, class = "TOKEN" }, dtypes.token)
  end)
end)

for version, wheel in pairs { ["0_5"] = "jaxlib-0.12.0.1", ["0_3"] = "jaxlib-0.10.2" } do
  describe("CC-1 the official headers of " .. wheel, function()
    local headers = ("%s/%s/jaxlib/include"):format(os.getenv "CCW_WHEELS" or support.build .. "/wheels", wheel)
    local missing = not support.exists(headers .. "/xla/ffi/api/c_api.h")

    for _, compiler in ipairs { "gcc -std=c11", "g++ -std=c++17" } do
      it("have the facts of the table, as " .. compiler, function()
        if missing then return pending(wheel .. " could not be had") end
        local name = "official" .. version .. (compiler:find "++" and ".cc" or ".c")
        assert.same(facts(version), printed(name, compiler .. " -w -I" .. headers, "xla/ffi/api/c_api.h", facts(version)))
      end)
    end

    if version == "0_5" then
      it("go together with ours in one C++ file, ours first", function()
        if missing then return pending(wheel .. " could not be had") end
        local source = support.write("ours_first.cc", "#include <ccw/xla_ffi.h>\n#include <xla/ffi/api/ffi.h>\n")
        local output, good = support.sh(("g++ -std=c++17 -w -fsyntax-only -I%s -I%s/core/include '%s'"):format(headers,
          support.root, source))
        assert.is_true(good, output)
      end)
    end

    it("go together with ours in one C++ file, theirs first", function()
      if missing then return pending(wheel .. " could not be had") end
      local source = support.write("theirs_first.cc",
        "#include <xla/ffi/api/ffi.h>\n#include <ccw/xla_ffi.h>\n#define ROW(NAME, name, number, bits, class) + 1\n" ..
        "static_assert(0 CCW_DTYPES(ROW) == 31, \"\");\n")
      local output, good = support.sh(("g++ -std=c++17 -w -fsyntax-only -I%s -I%s/core/include '%s'"):format(headers,
        support.root, source))
      if version == "0_5" then return assert.is_true(good, output) end
      assert.is_false(good)
      assert.matches("#error \"ccw/xla_ffi.h speaks XLA FFI API 0.5: the c_api.h included before it is older.", output,
        1, true)
    end)
  end)
end

describe("CC-1 API 0.3 and 0.5", function()
  it("differ in what is known, and in nothing else", function()
    local renamed = {
      { "XLA_FFI_Extension_Base", "XLA_FFI_InternalExtension" },
      { "XLA_FFI_Error_GetMessage", "XLA_FFI_Error_GetDetails" },
      { "XLA_FFI_ExecutionContext_Get", "XLA_FFI_InvokeContext_Get" },
    }
    local old, new = {}, {}
    for _, line in ipairs(facts "0_3") do
      for _, names in ipairs(renamed) do line = line:gsub(names[1], names[2]) end
      old[line] = true
    end
    for _, line in ipairs(facts "0_5") do
      if old[line] then old[line] = nil else new[#new + 1] = line end
    end
    local gone = {}
    for line in pairs(old) do gone[#gone + 1] = line end
    table.sort(gone)
    assert.same({
      "enum XLA_FFI_API_MINOR 3",
      "field XLA_FFI_Handler_Register_Args bundle 48 32",
      "field XLA_FFI_Handler_Register_Args traits 80 4",
      "struct XLA_FFI_Api 192 192",
      "struct XLA_FFI_Error_GetDetails_Args 32 32",
      "struct XLA_FFI_Handler_Bundle 32 -",
      "struct XLA_FFI_Handler_Register_Args 88 84",
    }, gone)
    local structs = {}
    for _, line in ipairs(new) do
      if not line:find "^field XLA_FFI_ExtensionId" and not line:find "^field XLA_FFI_Extension " and
          not line:find "FindExtension_Args" and not line:find "CustomOptions_Get_Args" then
        structs[#structs + 1] = line
      end
    end
    table.sort(structs)
    assert.same({
      "enum XLA_FFI_API_MINOR 5",
      "enum XLA_FFI_ExecutionStage_RECORD 4",
      "field XLA_FFI_Api XLA_FFI_CustomOptions_Get 200 8",
      "field XLA_FFI_Api XLA_FFI_InvokeContext_FindExtension 192 8",
      "field XLA_FFI_Error_GetDetails_Args errc 32 4",
      "field XLA_FFI_Handler_Bundle record 32 8",
      "field XLA_FFI_Handler_Register_Args bundle 48 40",
      "field XLA_FFI_Handler_Register_Args traits 88 4",
      "struct XLA_FFI_Api 208 208",
      "struct XLA_FFI_Error_GetDetails_Args 40 36",
      "struct XLA_FFI_Extension 32 32",
      "struct XLA_FFI_ExtensionId 16 16",
      "struct XLA_FFI_Handler_Bundle 40 -",
      "struct XLA_FFI_Handler_Register_Args 96 92",
    }, structs)
  end)
end)

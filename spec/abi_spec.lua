-- CC-1: the binary interface, held against the official headers and against a table of the same facts.
local support = require "spec.support"

--- The lines of a table of facts: "enum NAME VALUE", "struct NAME SIZEOF STRUCT_SIZE", "field STRUCT NAME OFFSET SIZE".
local function facts(name)
  local list = {}
  for line in io.lines(("%s/spec/abi/%s.txt"):format(support.root, name)) do list[#list + 1] = line end
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
      assert.same(facts "api_0_5", printed(name, compiler .. " " .. strict, "ccw/xla_ffi.h", facts "api_0_5"))
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
        local list = facts("api_" .. version)
        assert.same(list, printed(name, compiler .. " -w -I" .. headers, "xla/ffi/api/c_api.h", list))
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

describe("CC-1 the record extension", function()
  local wheel = (os.getenv "CCW_WHEELS" or support.build .. "/wheels") .. "/jaxlib-%s/jaxlib/include"
  local new, old = wheel:format "0.12.0.1", wheel:format "0.11.2"
  local theirs, ours = "xla/ffi/api/record_c_api.h", "ccw/xla_ffi_record.h"

  --- The types of all fields, functions with their parameters, as C++ mangles them.
  local function types(name, flags, include)
    local rows = {}
    for _, line in ipairs(facts "record_0_2") do
      local struct, member = line:match "^field ([%w_]+) ([%w_]+)"
      if struct then
        rows[#rows + 1] = ('  std::printf("%s %s %%s\\n", typeid(decltype(%s::%s)).name());\n'):format(struct, member, struct,
          member)
      end
    end
    local source = support.write(name, ("#include <cstdio>\n#include <typeinfo>\n#include <%s>\nint main()\n{\n%s}\n"):format(
      include, table.concat(rows)))
    local output, good = support.sh(("g++ -std=c++17 -w -I%s -o '%s.out' '%s' && '%s.out'"):format(flags, source, source, source))
    assert.is_true(good, output)
    return output
  end

  --- Whether C++ takes a file with these includes, and what it says.
  local function together(headers, ...)
    local source = support.write("together.cc", "#include <" .. table.concat({ ... }, ">\n#include <") .. ">\n" ..
      "static_assert(XLA_FFI_Record_Extension_STRUCT_SIZE == 40 && XLA_FFI_Extension_Collectives == 129, \"\");\n")
    local output, good = support.sh(("g++ -std=c++17 -w -fsyntax-only -I%s -I%s/core/include '%s'"):format(headers,
      support.root, source))
    return good, output
  end

  for compiler, extension in pairs { ["gcc -std=c11"] = "c", ["g++ -std=c++17"] = "cc", ["clang -std=c11"] = "c",
    ["clang++ -std=c++17"] = "cc" } do
    it("has every size, offset and number of version 0.2, with " .. compiler, function()
      assert.same(facts "record_0_2", printed("record." .. extension, compiler .. " " .. strict, ours, facts "record_0_2"))
    end)
  end

  for compiler, extension in pairs { ["gcc -std=c11"] = "c", ["g++ -std=c++17"] = "cc" } do
    it("has them in the official header too, with " .. compiler, function()
      if not support.exists(new .. "/" .. theirs) then return pending "the headers of jaxlib 0.12.0.1 could not be had" end
      assert.same(facts "record_0_2", printed("official_record." .. extension, compiler .. " -w -I" .. new, theirs,
        facts "record_0_2"))
    end)
  end

  it("has fields and functions of the official types", function()
    if not support.exists(new .. "/" .. theirs) then return pending "the headers of jaxlib 0.12.0.1 could not be had" end
    local of_ours = types("signatures.cc", support.root .. "/core/include", ours)
    assert.matches("XLA_FFI_RecordApi update_launch PFP13XLA_FFI_ErrorP21XLA_FFI_RecordContextPK15XLA_FFI_Command" ..
      "PK18XLA_FFI_KernelArgsE\n", of_ours, 1, true)
    assert.equal(types("official_signatures.cc", new, theirs), of_ours)
  end)

  it("of version 0.1 differs in its number and in one format of kernels", function()
    if not support.exists(old .. "/" .. theirs) then return pending "the headers of jaxlib 0.11.2 could not be had" end
    local list = {}
    for _, line in ipairs(facts "record_0_2") do
      line = line:gsub("^(enum XLA_FFI_Extension_Record_MinorVersion) 2$", "%1 1")
      if not line:find "FUNCTION_PTR" then list[#list + 1] = line end
    end
    assert.same(list, printed("old_record.c", "gcc -std=c11 -w -I" .. old, theirs, list))
    assert.equal(types("official_signatures.cc", old, theirs),
      types("signatures.cc", support.root .. "/core/include", ours))
  end)

  it("goes together with the official headers in one C++ file, in any order", function()
    if not support.exists(new .. "/" .. theirs) then return pending "the headers of jaxlib 0.12.0.1 could not be had" end
    local binding, collectives = "xla/ffi/api/record_api.h", "xla/ffi/api/collectives_api.h"
    for _, order in ipairs {
      { ours, "xla/ffi/api/ffi.h", binding, collectives }, { "xla/ffi/api/ffi.h", binding, collectives, ours },
      { "ccw/xla_ffi.h", binding, ours }, { "xla/ffi/api/c_api.h", ours, collectives, binding },
      { collectives, "ccw/xla_ffi.h", theirs, ours },
    } do
      local good, output = together(new, table.unpack(order))
      assert.is_true(good, table.concat(order, ", ") .. ": " .. output)
    end
  end)

  it("refuses an official header that is older", function()
    if not support.exists(old .. "/" .. theirs) then return pending "the headers of jaxlib 0.11.2 could not be had" end
    local good, output = together(old, "ccw/xla_ffi.h", theirs, ours)
    assert.is_false(good)
    assert.matches('#error "ccw/xla_ffi_record.h speaks version 0.2: the record_c_api.h before it is older.', output, 1, true)
  end)

  it("needs xla_ffi.h and nothing else", function()
    local included = {}
    for line in io.lines(support.root .. "/core/include/" .. ours) do
      included[#included + 1] = line:match "^%s*#%s*include%s+(.*)"
    end
    assert.same({ '"xla_ffi.h"' }, included)
  end)
end)

describe("CC-1 API 0.3 and 0.5", function()
  it("differ in what is known, and in nothing else", function()
    local renamed = {
      { "XLA_FFI_Extension_Base", "XLA_FFI_InternalExtension" },
      { "XLA_FFI_Error_GetMessage", "XLA_FFI_Error_GetDetails" },
      { "XLA_FFI_ExecutionContext_Get", "XLA_FFI_InvokeContext_Get" },
    }
    local old, new = {}, {}
    for _, line in ipairs(facts "api_0_3") do
      for _, names in ipairs(renamed) do line = line:gsub(names[1], names[2]) end
      old[line] = true
    end
    for _, line in ipairs(facts "api_0_5") do
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

-- CC-2, CC-4, CC-6, CC-9, CC-20 to CC-25, CC-36, CC-37, CC-39, CC-41: handlers written with handler.h.
local ccw = require "ccw"
local support = require "spec.support"

local kernels = ccw.load(support.kernels)
local warnings = "-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror"
local compilers = { ["gcc -std=c11"] = "c", ["g++ -std=c++17"] = "cc", ["clang -std=c11"] = "c", ["clang++ -std=c++17"] = "cc" }

--- What a compiler says of a source, and whether it took it.
local function compile(compiler, name, source, flags, output)
  local path = support.write(name .. "." .. compilers[compiler], source)
  return support.sh(("%s %s -I%s/core/include '%s' -o '%s'"):format(compiler, flags, support.root, path, output or "/dev/null"))
end

describe("CC-2 a binding in C", function()
  local source, answers
  setup(function()
    local file <close> = assert(io.open(support.root .. "/spec/programs/frames.c"))
    source = file:read "a"
    local expected <close> = assert(io.open(support.root .. "/spec/programs/frames.txt"))
    answers = expected:read "a"
  end)

  -- The answers are written out in spec/programs/frames.txt: every kind of operand, attribute and context, of frames that
  -- fit and frames that do not, and what is left after many that were damaged at random.
  for compiler, extension in pairs(compilers) do
    it("answers every frame, sound or malformed, with " .. compiler .. " and sanitizers", function()
      local binary = support.temporary() .. "/frames_" .. extension
      local flags = "-g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -Wall -Wextra -Wpedantic -Wshadow -Werror"
      local output, good = compile(compiler, "frames", source, flags, binary)
      assert.is_true(good, output)
      local said = support.sh("'" .. binary .. "'")
      if extension == "cc" then
        said = said:gsub("throws: UNKNOWN throws: execute: out of paper\n", "")
        said = said:gsub("throws something: UNKNOWN throws: execute: a C%+%+ exception of unknown type\n", "")
        assert.not_matches("throws", said)
      end
      assert.equal(answers, said)
    end)

    it("compiles without a warning where it is optimized, with " .. compiler, function()
      for _, level in ipairs { "-O2", "-O3" } do
        local output, good = compile(compiler, "frames", source, level .. " -Wall -Wextra -Wpedantic -Wshadow -Werror -c")
        assert.is_true(good, output)
      end
    end)
  end

  it("does not compile in an order that is none, and says the rule", function()
    local rules = {
      ["no regular argument may follow the remaining ones"] = "REMAINING_ARGS(rest), ARG(f32, 1, x)",
      ["no regular argument may follow an optional one"] = "OPTIONAL_ARG(f32, 1, x), ARG(f32, 1, y)",
      ["no optional argument may follow the remaining ones"] = "REMAINING_ARGS(rest), OPTIONAL_ARG(f32, 1, x)",
      ["the remaining arguments are bound already"] = "REMAINING_ARGS(a), REMAINING_ARGS(b)",
      ["no regular result may follow the remaining ones"] = "REMAINING_RETS(rest), RET(f32, 1, x)",
      ["no regular result may follow an optional one"] = "OPTIONAL_RET(f32, 1, x), RET(f32, 1, y)",
      ["no optional result may follow the remaining ones"] = "REMAINING_RETS(rest), OPTIONAL_RET(f32, 1, x)",
      ["the remaining results are bound already"] = "REMAINING_RETS(a), REMAINING_RETS(b)",
      ["ATTRS binds all attributes already"] = "ATTRS(dictionary, d), ATTR(s64, n)",
      ["ATTR binds single attributes already"] = "ATTR(s64, n), ATTRS(dictionary, d)",
      ["NEW_STATE is for instantiate, prepare and initialize"] = "NEW_STATE(int, n)",
      ["redefinition"] = "ATTR(s64, n), ATTR(s64, n)",
    }
    for rule, words in pairs(rules) do
      for _, compiler in ipairs { "gcc -std=c11", "clang++ -std=c++17" } do
        local output, good = compile(compiler, "order", "#include <ccw/handler.h>\nCCW_HANDLER(f, " .. words ..
          ") { return ccw_ok(); }\n", "-c")
        assert.is_false(good, words)
        assert.matches(rule, output, 1, true)
      end
    end
    assert.is_true(select(2, compile("gcc -std=c11", "order", "#include <ccw/handler.h>\nCCW_HANDLER(f, ARG(f32, 1, x), " ..
      "RET(f32, 1, y), CTX(run_id, r), OPTIONAL_ARG(f32, 1, z), ATTR(s64, n), REMAINING_ARGS(rest)) { return ccw_ok(); }\n",
      warnings .. " -c")))
  end)

  it("names the word that is none, first of all, and wants verify to be used", function()
    local mistakes = {
      ["ARGS(f32, 1, x)"] = "ARGS(f32, 1, x): this is no word of a binding",
      ["ATTR(float, eps)"] = "float: this is no kind of an attribute; there are pred s8",
      ["CTX(strem, s)"] = "strem: this is no context",
    }
    for words, text in pairs(mistakes) do
      for _, compiler in ipairs { "gcc -std=c11", "clang++ -std=c++17" } do
        local output = compile(compiler, "words", "#include <ccw/handler.h>\nCCW_HANDLER(f, " .. words .. ") { return ccw_ok(); }\n", "-c")
        assert.matches(text, output:match "[^\n]*error[^\n]*", 1, true)
      end
    end
    local output, good = compile("gcc -std=c11", "unused", "#include <ccw/handler.h>\nCCW_HANDLER(f, ARG(f32, 1, x)) {\n" ..
      "  ccw_verify(\"x\", x, ccw_dims(3));\n  return ccw_ok();\n}\n", "-Werror -c")
    assert.is_false(good)
    assert.matches("warn_unused_result", output, 1, true)
    output = compile("gcc -std=c11", "large", "#include <ccw/handler.h>\nCCW_ENUM(e, s8, VALUE(big, 200));\n", "-c")
    assert.matches("e_big: 200 does not fit in the dtype of the enum", output, 1, true)
  end)

  it("CC-23: tells the numbers of an enum, whatever expression they are", function()
    local enums = [[
#include <ccw/handler.h>
enum { OTHER = 42 };
CCW_ENUM(mode, s32, VALUE(octal, 010), VALUE(most, INT32_MAX), VALUE(least, INT32_MIN), VALUE(shift, 1 << 4), VALUE(other, OTHER));
CCW_OPEN_ENUM(big, s64, VALUE(one, 1), VALUE(minus, -7));
CCW_HANDLER(tell, ATTR(enum(mode), m), ATTR(enum(big), b)) { return ccw_aborted("%d %d", (int)m, (int)b); }
]]
    for compiler in pairs(compilers) do
      local path = support.temporary() .. "/enums_" .. compiler:gsub("%W", "") .. ".so"
      local output, good = compile(compiler, "enums", enums, warnings .. " -O2 -shared -fPIC", path)
      assert.is_true(good, output)
      local tell = ccw.load(path).tell
      assert.equal("tell() {m: s32 = octal(8)|most(2147483647)|least(-2147483648)|shift(16)|other(42), b: s64 = one(1)|minus(-7)|...}",
        tostring(tell.signature))
      local _, err = ccw.try(ccw.call, tell, {}, "()", { m = "octal", b = "minus" })
      assert.equal("tell: execute: 8 -7", err.message)
    end
  end)

  it("takes every dtype and rank, packed and narrow ones included", function()
    local list, words = {}, {}
    local header <close> = assert(io.open(support.root .. "/core/include/ccw/xla_ffi.h"))
    for dtype in header:read "a":gmatch "\n  X%([%u%d]+, ([%l%d]+), %d+, %d+, %u+%)" do list[#list + 1] = dtype end
    assert.equal(31, #list)
    for i, dtype in ipairs(list) do
      words[#words + 1] = ("CCW_HANDLER(h%d, ARG(%s, %d, x), RET(%s, any, y)) { return ccw_invalid(\"%%d\", " ..
        "(int)(ccw_bytes(x) + ccw_bytes(y))); }"):format(i, dtype, i % 33, dtype)
    end
    words[#words + 1] = "CCW_HANDLER(last, ARG(any, 32, x)) { return ccw_ok(); }"
    for compiler in pairs(compilers) do
      local output, good = compile(compiler, "dtypes", "#include <ccw/handler.h>\n" .. table.concat(words, "\n") .. "\n",
        warnings .. " -c")
      assert.is_true(good, output)
    end
  end)

  it("takes up to 32 words", function()
    local words = {}
    for i = 1, 32 do words[i] = ("ARG(any, any, x%d)"):format(i) end
    local output, good = compile("gcc -std=c11", "words", "#include <ccw/handler.h>\nCCW_HANDLER(f, " ..
      table.concat(words, ", ") .. ") { return ccw_ok(); }\n", warnings .. " -c")
    assert.is_true(good, output)
  end)

  it("links to nothing but libc", function()
    local output = support.sh(("nm -D --undefined-only '%s'"):format(support.kernels))
    assert.not_matches("ccw_", output)
    assert.not_matches("XLA_FFI", output)
  end)
end)

--- What the handler itself says of a call that fails.
local function failure(target, operands, results, attributes)
  local value, err = ccw.try(ccw.call, target, operands, results, attributes, { signature = false })
  assert.is_nil(value)
  return err.message, err
end

describe("the handlers of kernels/", function()
  it("CC-8, CC-18: axpy looks at the dtype itself", function()
    for _, dtype in ipairs { "f32", "f64" } do
      local x, y = ccw.array(dtype .. "[2,2]", { { 1, 2 }, { 3, 4 } }), ccw.array(dtype .. "[2,2]", 10)
      assert.equal(dtype .. "[2,2] {{12, 14}, {16, 18}}", tostring(ccw.call(kernels.axpy, { x, y }, dtype .. "[2,2]", { a = 2.0 })))
    end
    local x = ccw.s32 { 1 }
    assert.equal("axpy: execute: arg 0 'x': expected f32|f64[*], got s32[1]", (failure(kernels.axpy, { x, x }, "s32[1]", { a = 1.0 })))
    local f = ccw.f32 { 1 }
    assert.equal("axpy: execute: arg 1 'y': expected f32[1], got f32[2]",
      (failure(kernels.axpy, { f, ccw.f32 { 1, 2 } }, "f32[1]", { a = 1.0 })))
  end)

  it("CC-11, CC-12, CC-23: reduce captures dims and has an enum", function()
    local x = ccw.array("f32[2,3]", { { 1, 2, 3 }, { 4, 5, 9 } })
    local expected = { [0] = "{6, 18}", "{2, 6}", "{3, 9}" }
    for how, text in pairs(expected) do
      assert.equal("f32[2] " .. text, tostring(ccw.call(kernels.reduce, { x }, "f32[2]", { how = ccw.s32(how) })))
    end
    assert.equal("reduce: execute: result 0 'y': expected f32[rows] with rows = 2, got f32[3]",
      ((failure(kernels.reduce, { x }, "f32[3]", { how = ccw.s32(0) })):gsub("any%[", "f32[")))
    assert.equal("reduce: execute: attribute 'how': expected s32 = sum(0)|mean(1)|largest(2), got 3",
      (failure(kernels.reduce, { x }, "f32[2]", { how = ccw.s32(3) })))
  end)

  local function zoo(changes)
    local attributes = { flag = true, a = ccw.s8(-1), b = ccw.s16(-2), c = ccw.s32(-3), d = -4, e = ccw.u8(5), f = ccw.u16(6),
      g = ccw.u32(7), h = ccw.u64(8), i = ccw.f32(9.5), j = 10.5, text = "eleven", counts = ccw.s32 { 5, 7 },
      weights = ccw.f32 { 0.5, 0.25 }, sky = ccw.s32(2), limits = { lo = -15, hi = 15 }, part = 50.0, more = { inner = 17, other = "x" },
      ["odd name"] = 18 }
    for name, value in pairs(changes or {}) do attributes[name] = value end
    return attributes
  end

  it("CC-4, CC-22 to CC-25: attribute_zoo decodes every kind", function()
    assert.equal("f64[19] {1, -1, -2, -3, -4, 5, 6, 7, 8, 9.5, 10.5, 6, 12.75, 2, -15, 15, 0.5, 17, 18}",
      tostring(ccw.call(kernels.attribute_zoo, {}, "f64[19]", zoo())))
    local message, err = failure(kernels.attribute_zoo, {}, "f64[19]", zoo { sky = ccw.s32(9), part = 120.0,
      limits = { lo = 1, high = 2 }, text = 5, counts = ccw.s64 { 1 }, a = ccw.s16(1) })
    assert.equal("attribute_zoo: execute: 7 bad operands\n" ..
      "  attribute 'a': expected s8, got s16\n" ..
      "  attribute 'text': expected string, got s64\n" ..
      "  attribute 'counts': expected s32[], got s64[]\n" ..
      "  attribute 'sky': expected s32 = sun(0)|rain(1)|snow(2), got 9\n" ..
      "  attribute 'limits.hi': expected s64, got none; present: 'high', 'lo'\n" ..
      "  attribute 'high' of 'limits': not expected; bound: 'lo', 'hi'\n" ..
      "  attribute 'part': expected 0 to 100 percent, got 120", message)
    assert.equal("INVALID_ARGUMENT", err.code)
    assert.equal("attribute_zoo: execute: attribute 'inner': expected s64, got f64",
      (failure(kernels.attribute_zoo, {}, "f64[19]", zoo { more = { inner = 1.5 } })))
  end)
end)

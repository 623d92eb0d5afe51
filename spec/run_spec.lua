-- CC-26: calls that are text are run, and written for elsewhere.
local ccw = require "ccw"
local support = require "spec.support"

local kernels, joined, module = support.kernels, support.library "joined", support.root .. "/spec/modules/jax_module.mlir"

local scale = "%0 = stablehlo.custom_call @scale(%x) {api_version = 4 : i32, backend_config = {s = 2.0 : f32}} : " ..
  "(tensor<4xf32>) -> tensor<4xf32>\n"

local function quote(word) return "'" .. word:gsub("'", "'\\''") .. "'" end

--- Runs `ccw run` with these arguments, and gives what it printed, what it said on the side, and its exit code. `text` is the call, which
--- is in a file, or standard input where the first argument is "-".
local function run(text, ...)
  local words, said, folder = { ... }, support.temporary() .. "/said", support.temporary()
  support.write("call.mlir", text)
  if words[1] ~= "-" then table.insert(words, 1, "call.mlir") end
  for i, word in ipairs(words) do words[i] = quote(word) end
  local output = support.sh(("cd '%s'; '%s' run %s <call.mlir 2>'%s'; echo \"[$?]\""):format(folder, support.program,
    table.concat(words, " "), said))
  local file <close> = assert(io.open(said))
  local printed, code = output:match "^(.-)%[(%d+)%]\n$"
  return printed, file:read "a", tonumber(code)
end

--- A sentence about a run of a text: what it prints, what it says on the side, its exit code.
local function says(what, expected, ...)
  local arguments = table.pack(...)
  it(what, function() assert.same(expected, { run(table.unpack(arguments, 1, arguments.n)) }) end)
end

--- A call without operands whose result is one s32.
local function answering(target, attributes)
  return ('%%0 = stablehlo.custom_call @"%s"() {api_version = 4 : i32, backend_config = {%s}} : () -> tensor<i32>\n'):format(target,
    attributes or "")
end

local counting = answering("counter", "from = 5 : i64"):gsub("i32>\n", "i64>\n")

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

local help = "; see ccw run --help\n"

describe("CC-26 ccw run", function()
  says("runs a call and prints its result", { "f32[4] {2, 4, 6, 8}\n", "", 0 }, scale, "--lib", kernels, "--input",
    "f32[4] {1, 2, 3, 4}")
  says("knows the types of operands", { "f32[4] {2, 4, 6, 8}\n", "", 0 }, scale, "--lib", kernels, "--input", "{1, 2, 3, 4}")
  says("reads standard input", { "f32[4] {6, 6, 6, 6}\n", "", 0 }, scale, "-", "--lib", kernels, "--input", "3")
  says("reads HLO", { "f32[2] {3, 6}\n", "", 0 }, 'r = f32[2]{0} custom-call(f32[2]{0} x), custom_call_target="scale", ' ..
    "api_version=API_VERSION_TYPED_FFI, backend_config={s = 3.0 : f32}\n", "--lib", kernels, "--input", "{1, 2}")
  says("runs on copies that tell what a handler does wrong", { "f32[4] {2, 2, 2, 2}\n", "", 0 }, scale, "--lib", kernels, "--input", "1",
    "--checked")
  says("runs on a device", { "f32[2] {3, 4} on sim:0\n", "", 0 }, "%0 = stablehlo.custom_call @axpy(%x, %y) {api_version = 4 : i32, " ..
    "backend_config = {a = 1.0}} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>\n", "--lib", kernels .. ":axpy=axpy_device", "--device",
    "sim:0", "--input", "{1, 2}", "--input", "2")
  says("hands attributes over as they stand there, as XLA does",
    { "", "ccw: INVALID_ARGUMENT: scale: attribute 's': expected f32, got s64\n", 1 }, (scale:gsub("2.0 : f32", "2 : i64")),
    "--lib", kernels, "--input", "1")
  says("hands on what a handler says",
    { "", "ccw: INVALID_ARGUMENT: add_mod: execute: arg 0 'b': expected at least 1 element, got f32[0]\n", 1 },
    "%0 = stablehlo.custom_call @add_mod(%b, %c) {api_version = 4 : i32} : (tensor<0xf32>, tensor<1xf32>) -> tensor<1xf32>\n",
    "--lib", kernels, "--input", "f32[0] {}", "--input", "1")

  describe("of a module as JAX prints it", function()
    local text = read(module)
    says("lists the calls", { '1\tline 3\t%0\t"rms_norm"\n2\tline 9\t%0\t"scale"\n3\tline 10\t%1\t"two parts"\n', "", 0 }, text,
      "--list")
    says("runs the one that is picked", { "f32[3] {2, 4, 6}\n", "", 0 }, text, "--pick", "scale", "--lib", kernels, "--input", "{1, 2, 3}")
    local row = "{0.99999875, 0.99999875, 0.99999875}"
    says("picks by number, too", { ("f32[2,3] {%s, %s}\nresult 0: close\n"):format(row, row), "", 0 }, text, "--pick", "1", "--lib",
      kernels, "--input", "2", "--input", "1", "--expect", "1", "--rtol", "1e-5") -- 2 / sqrt(4 + 1e-5)
    says("prints each result by itself", { "f32[3] {2, 3, 4}\ns32[] 2\n",
      ("ccw: the target \"two parts\" is 'TwoParts' of %s, the same but for case and underscores\n"):format(joined), 0 },
      text, "--pick", "3", "--lib", joined, "--input", "{1, 2, 3}")
    says("runs none where none is picked", { "", "ccw: call.mlir: 3 custom calls are here; pick one by its index, its target or the " ..
      'name of its result:\n  1: line 3: "rms_norm", %0\n  2: line 9: "scale", %0\n  3: line 10: "two parts", %1\n', 2 }, text, "--lib",
      kernels)
  end)

  describe("on inputs", function()
    it("that are random says so, and the same from the same seed", function()
      local printed, said, code = run(scale, "--lib", kernels, "--seed", "7")
      assert.same({ 'ccw: arg 0 is random: ccw.random("f32[4]", 7)\n', 0 }, { said, code })
      local x = ccw.random("f32[4]", 7)
      assert.equal(tostring(ccw.call(ccw.load(kernels).scale, { x }, "f32[4]", { s = 2 })) .. "\n", printed)
    end)

    it("takes those that are left out, or called random, each from its own seed", function()
      local add = "%0 = stablehlo.custom_call @add_mod(%b, %c) {api_version = 4 : i32} : (tensor<1xf32>, tensor<2xf32>) -> tensor<2xf32>\n"
      local printed, said = run(add, "--lib", kernels, "--input", "random", "--seed", "3")
      assert.equal('ccw: arg 0 is random: ccw.random("f32[1]", 3)\nccw: arg 1 is random: ccw.random("f32[2]", 4)\n', said)
      assert.equal(tostring(ccw.call(ccw.load(kernels).add_mod, { ccw.random("f32[1]", 3), ccw.random("f32[2]", 4) }, "f32[2]")) .. "\n",
        printed)
    end)

    local tuple = 'r = f32[2]{0} custom-call((f32[1]{0}, f32[2]{0}) %t), custom_call_target="add_mod", api_version=API_VERSION_TYPED_FFI\n'
    says("of a tuple, one by one", { "f32[2] {11, 12}\n", "", 0 }, tuple, "--lib", kernels, "--input", "10", "--input", "{1, 2}")

    it("passes tokens over, which hold nothing", function()
      local library = ccw.compile [[
#include <ccw/handler.h>
CCW_HANDLER(pass, ARG(token, 0, before), ARG(f32, 1, x), RET(token, 0, after), RET(f32, 1, y))
{
  for (int64_t i = 0; before.rank == after.rank && i < x.dims[0]; ++i) y.data[i] = x.data[i];
  return ccw_ok();
}]]
      local text = "%0:2 = stablehlo.custom_call @pass(%t, %x) {api_version = 4 : i32} : (!stablehlo.token, tensor<2xf32>) -> " ..
        "(!stablehlo.token, tensor<2xf32>)\n"
      assert.same({ "token[]\nf32[2] {1, 2}\nresult 1: close\n", "", 0 }, { run(text, "--lib", library:path(), "--input", "{1, 2}",
        "--expect", "{1, 2}", "--output", "y.npy") })
      assert.same({ "", "ccw: --input: it is given 2 times, and the call has 1 operand besides tokens\n", 2 },
        { run(text, "--lib", library:path(), "--input", "1", "--input", "2") })
    end)

    says("of a size that is a slip, which it does not make up", { "", "ccw: arg 0 is f32[999999999999]: what is random is of 4294967296 " ..
      "bytes at the most; --input gives it\n", 2 }, (scale:gsub("4xf32", "999999999999xf32", 1)), "--lib", kernels)

    it("of files, and saves results in files", function()
      local folder = support.temporary()
      ccw.write(folder .. "/x.npy", ccw.f32 { 1, 2, 3, 4 })
      assert.same({ "f32[4] {2, 4, 6, 8}\n", "", 0 }, { run(scale, "--lib", kernels, "--input", "@x.npy", "--output", "y.npy") })
      assert.equal("f32[4] {2, 4, 6, 8}", tostring(ccw.read(folder .. "/y.npy")))
      assert.same({ "f32[4] {2, 4, 6, 8}\nresult 0: equal\n", "", 0 },
        { run(scale, "--lib", kernels, "--input", "@x.npy", "--expect", "@y.npy", "--exact") })
    end)

    it("of bf16, whose type no .npy tells", function()
      ccw.write(support.temporary() .. "/b.npy", ccw.bf16 { 1, 2 })
      local text = "%0 = stablehlo.custom_call @transpose(%x) {api_version = 4 : i32} : (tensor<1x2xbf16>) -> tensor<2x1xbf16>\n"
      assert.same({ "", "ccw: --input 1 '@b.npy': arg 0: expected bf16[1,2], got bf16[2]\n", 2 },
        { run(text, "--lib", kernels, "--input", "@b.npy") })
      ccw.write(support.temporary() .. "/b.npy", ccw.bf16 { { 1, 2 } })
      assert.same({ "bf16[2,1] {{1}, {2}}\n", "", 0 }, { run(text, "--lib", kernels, "--input", "@b.npy") })
    end)

    it("of several arrays in a file, and saves results in one", function()
      local folder, text = support.temporary(), read(module)
      ccw.write(folder .. "/in.npz", { x = ccw.f32 { 1, 2, 3 }, arg0 = ccw.f32 { 4, 5, 6 } })
      local printed, _, code = run(text, "--pick", "3", "--lib", joined, "--input", "@in.npz:x", "--output", "out.npz")
      assert.same({ "f32[3] {2, 3, 4}\ns32[] 2\n", 0 }, { printed, code })
      local out = ccw.read(folder .. "/out.npz")
      assert.same({ "f32[3] {2, 3, 4}", "s32[] 2" }, { tostring(out.result0), tostring(out.result1) })
      printed, _, code = run(text, "--pick", "3", "--lib", joined, "--input", "@in.npz:x", "--expect", "@out.npz", "--expect", "@out.npz")
      assert.same({ "f32[3] {2, 3, 4}\ns32[] 2\nresult 0: close\nresult 1: close\n", 0 }, { printed, code })
      assert.equal("f32[3] {5, 6, 7}\ns32[] 2\n", (run(text, "--pick", "3", "--lib", joined, "--input", "@in.npz")))
      assert.same({ "", "ccw: --input 1 '@in.npz:z': arg 0: in.npz: no array is called \"z\"\n", 2 },
        { run(scale, "--lib", kernels, "--input", "@in.npz:z") })
      assert.same({ "", "ccw: --expect 1 '@in.npz': result 0: in.npz has no array 'result0'; it has arg0, x\n", 2 },
        { run(scale, "--lib", kernels, "--expect", "@in.npz") })
      run(text, "--pick", "3", "--lib", joined, "--input", "1", "--output", "a.npy", "--output", "b.npy")
      assert.equal("s32[] 2", tostring(ccw.read(folder .. "/b.npy")))
    end)
  end)

  describe("with what is expected", function()
    local function expects(what, lines, code, ...)
      says(what, { "f32[4] {2, 4, 6, 8}\n" .. lines, "", code }, scale, "--lib", kernels, "--input", "{1, 2, 3, 4}", "--expect", ...)
    end
    expects("compares closely", "result 0: close\n", 0, "{2, 4.00001, 6, 8}")
    expects("tells what differs, and fails", "result 0: 1 of 4 elements differ; first [2]: 4 and 5, apart by 1 (relative 0.2)\n", 1,
      "{2, 5, 6, 8}")
    expects("takes tolerances", "result 0: close\n", 0, "{2, 5, 6, 8}", "--rtol", "0.2")
    expects("takes absolute ones", "result 0: close\n", 0, "{2, 5, 6, 8}", "--rtol", "0", "--atol", "1")
    expects("compares exactly", "result 0: 1 of 4 elements differ; first [2]: 4 and 4.00001, apart by 1e-05 (relative 2.5e-06)\n", 1,
      "{2, 4.00001, 6, 8}", "--exact")
    says("has a nan for a nan", { "f32[4] {nan, nan, nan, nan}\nresult 0: equal\n", "", 0 }, scale, "--lib", kernels, "--input", "nan",
      "--expect", "nan", "--exact")
  end)

  describe("joins a target to a name", function()
    says("that is the same", { "s32[] 1\n", "", 0 }, answering "exact", "--lib", joined)
    says("whose case is another than that of a second one", { "s32[] 2\n", "", 0 }, answering "Exact", "--lib", joined)
    says("but for case and underscores, and says so", { "s32[] 3\n",
      ("ccw: the target \"rms_norm\" is 'RmsNorm' of %s, the same but for case and underscores\n"):format(joined), 0 },
      answering "rms_norm", "--lib", joined)
    says("but for what people put at its ends", { "s32[] 6\n", ("ccw: the target \"solve\" is 'SolveFfiHandler' of %s, the same but for " ..
      "case, underscores, and 'ffi', 'handler' or 'execute' at an end\n"):format(joined), 0 }, answering "solve", "--lib", joined)
    says("not where there are several, which it lists", { "", ("ccw: --lib: the target \"twiceover\" may be any of these: 'TwiceOver' " ..
      "of %s, 'twice_over' of %s; --lib LIBRARY:twiceover=NAME says which it is\n"):format(joined, joined), 2 }, answering "twiceover",
      "--lib", joined)
    says("that is no handler's, not at all", { "", ("ccw: --lib: no handler is called \"exact_prepare\" in %s, and the " ..
      "function of that name is none; there are Exact, RmsNorm, SolveFfiHandler, TwiceOver, TwoParts, counter, counter_instantiate, " ..
      "echo, exact, start, twice_over; --lib LIBRARY:exact_prepare=NAME says which it is\n"):format(joined), 2 },
      answering "exact_prepare", "--lib", joined)
    says("that is told", { "s32[] 4\n", "", 0 }, answering "twiceover", "--lib", joined .. ":twiceover=twice_over")
    says("with a colon in the target", { "s32[] 4\n", "", 0 }, answering "a::b", "--lib", joined .. ":a::b=twice_over")
    says("in one of several libraries", { "s32[] 1\n", "", 0 }, answering "exact", "--lib", kernels, "--lib", joined)
    it("that a library registers by itself", function()
      local text = answering("self.two"):gsub("i32>\n", "f32>\n")
      local printed, _, code = run(text, "--lib", support.library "registers_itself")
      assert.same({ "f32[] 2\n", 0 }, { printed, code })
    end)
    says("not where there is none, and what is near", { "", ("ccw: --lib: no handler is called \"scael\" in %s; near: scale; --lib " ..
      "LIBRARY:scael=NAME says which it is\n"):format(kernels), 2 }, (scale:gsub("@scale", "@scael")), "--lib", kernels)
    says("with the stages that are called after it", { "s64[] 5\n",
      ("ccw: the target \"counter\" is 'counter' of %s; instantiate is 'counter_instantiate'\n"):format(joined), 0 },
      counting, "--lib", joined)
    says("with the stages that are told", { "s64[] 105\n", "", 0 },
      counting, "--lib", joined .. ":counter=start,counter")
    says("with four stages, where there are some", { "s64[] 105\n", "", 0 },
      counting, "--lib", joined .. ":counter=start,,,counter")
    says("and says what a name is for that is told for another", { "s32[] 1\n",
      ("ccw: --lib %s:exakt=Exact: the target of the call is \"exact\"\n"):format(joined), 0 }, answering "exact", "--lib",
      joined .. ":exakt=Exact")
  end)

  describe("fails with one message, which names", function()
    local function fails(what, message, text, ...)
      says(what, { "", "ccw: " .. message, 2 }, text, ...)
    end
    fails("the option that there is not", "unknown option '--inputs'; Did you mean '--input'?" .. help, scale, "--inputs", "1")
    fails("the file that there is not", "--lib nowhere.so: nowhere.so: no such file, and no library of that name\n", scale, "--lib",
      "nowhere.so")
    fails("the want of a library", "--lib: expected a library with a handler for \"scale\"\n", scale)
    fails("the place in the text", "call.mlir: line 1, column 96: expected ',' or '}' to close a dictionary, got ':'\n" ..
      "  ...rsion = 4 : i32, backend_config = {s = 2.0 : f32} : (tensor<4xf32>) -> tensor<4xf32>\n" ..
      "                                                       ^\n", (scale:gsub("}}", "}")), "--lib", kernels)
    fails("the place in an input", "--input 2 '{1, x}': arg 1: array: expected a number of f32, got 'x'\n  {1, x}\n      ^\n",
      "%0 = stablehlo.custom_call @add_mod(%b, %c) {api_version = 4 : i32} : (tensor<1xf32>, tensor<2xf32>) -> tensor<2xf32>\n",
      "--lib", kernels, "--input", "1", "--input", "{1, x}")
    fails("the type of an input", "--input 1 'f64[4] {1, 2, 3, 4}': arg 0: expected f32[4], got f64[4]\n", scale, "--lib", kernels,
      "--input", "f64[4] {1, 2, 3, 4}")
    fails("the input that is one too many", "--input: it is given 2 times, and the call has 1 operand\n", scale, "--lib", kernels,
      "--input", "1", "--input", "1")
    fails("the file of an input", "--input 1 '@none.npy': arg 0: none.npy: No such file or directory\n", scale, "--lib", kernels,
      "--input", "@none.npy")
    fails("what is expected of no result", "--expect: it is given 2 times, and the call has 1 result\n", scale, "--lib", kernels, "--input",
      "1", "--expect", "1", "--expect", "1")
    fails("the file of an output, before it runs", "--output y.txt: expected a name that ends in .npy or .npz\n", scale, "--lib", kernels,
      "--output", "y.txt")
    fails("how many outputs there are", "--output: expected one .npz, or an .npy for each of 1 result, got 2\n", scale, "--lib", kernels,
      "--output", "y.npy", "--output", "z.npy")
    fails("one file for two results", "--output y.npy: two results for one file\n", answering("echo"):gsub("tensor<i32>",
      "(tensor<i32>, tensor<i32>)"):gsub("%%0", "%%0:2"), "--lib", joined, "--output", "y.npy", "--output", "y.npy")
    fails("a seed that is none", "--seed: expected an integer, got '1.5'\n", scale, "--lib", kernels, "--seed", "1.5")
    fails("a tolerance that is none", "--rtol: expected 0 or more, got '-1'\n", scale, "--lib", kernels, "--expect", "1", "--rtol=-1")
    fails("a tolerance that exactness forbids", "--rtol: a tolerance, while --exact wants none\n", scale, "--lib", kernels, "--expect", "1",
      "--exact", "--rtol", "1")
    fails("a tolerance for nothing", "--atol: nothing is compared without --expect\n", scale, "--lib", kernels, "--atol", "1")
    fails("exactness of nothing", "--exact: nothing is compared without --expect\n", scale, "--lib", kernels, "--exact")
    fails("a device that there is not", "--device: sim:99: there are sim:0 to sim:15\n", scale, "--lib", kernels, "--device", "sim:99")
    fails("a form that there is not", "--text: expected stablehlo, generic, hlo, jax or c, got 'lua'\n", scale, "--text", "lua")
    fails("stages of which there are not so many", ("--lib %s:exact=a,b,c: expected the name of one handler, of two (instantiate, " ..
      "execute) or of four (instantiate, prepare, initialize, execute), got 3\n"):format(joined), answering "exact", "--lib",
      joined .. ":exact=a,b,c")
    fails("what no handler can receive", "call.mlir: no handler can receive this:\n  api_version: 1, API_VERSION_ORIGINAL: only " ..
      "API_VERSION_TYPED_FFI is spoken here\n",
      "%0 = stablehlo.custom_call @old(%x) {backend_config = \"opaque\"} : (tensor<2xf32>) -> tensor<2xf32>\n", "--lib", kernels)

    it("the call that is no file, or cannot be read", function()
      assert.equal("ccw: nowhere.mlir: No such file or directory\n[2]\n",
        (support.sh(("'%s' run nowhere.mlir; echo \"[$?]\""):format(support.program))))
      assert.equal("ccw: /: Is a directory\n[2]\n", (support.sh(("'%s' run /; echo \"[$?]\""):format(support.program))))
      assert.equal("ccw: missing argument 'call'" .. help .. "[2]\n", (support.sh(("'%s' run; echo \"[$?]\""):format(support.program))))
    end)

    it("ends every text with a line's end", function()
      local command = ("'%s' run '%s/spec/modules/jax_module.mlir' --pick scale --text %%s"):format(support.program, support.root)
      for _, form in ipairs { "stablehlo", "generic", "hlo", "jax", "c" } do
        assert.matches("[^\n]\n$", (support.sh(command:format(form))))
      end
    end)

    it("and help says what the codes are", function()
      local output, good = support.sh(("'%s' run --help"):format(support.program))
      assert.is_true(good)
      local codes = "Exit codes: 0, it ran; 1, the call failed, or a result is not as expected; 2, an option, a file or the text is wrong."
      assert.matches(codes, output:gsub("%s+", " "), 1, true)
    end)
  end)
end)

describe("README.md", function()
  it("has commands that print what it says", function()
    local block = read(support.root .. "/README.md"):match "\n```sh run\n(.-)\n```"
    local count = 0
    for command, behind in (block .. "\n"):gmatch "(build/bin/ccw run [^\n]*)()" do
      local expected = {}
      for line in block:sub(behind + 1):gmatch "[^\n]+" do
        if line:sub(1, 2) ~= "# " then break end
        expected[#expected + 1] = line:sub(3) .. "\n"
      end
      count = count + 1
      command = command:gsub("build/", support.build .. "/")
      assert.equal(table.concat(expected), (support.sh(("cd '%s' && %s"):format(support.root, command))))
    end
    assert.equal(3, count)
  end)
end)

describe("CC-26 a description", function()
  it("is called in a library, whose handler is joined by name", function()
    local d = ccw.from_text(answering "rms_norm")
    assert.equal("s32[] 3", tostring(d:call(ccw.load(joined), {})))
    d.target = "nothing"
    local _, err = ccw.try(d.call, d, ccw.load(joined), {})
    assert.equal("NOT_FOUND", err.code)
    assert.equal(('no handler is called "nothing" in %s; there are Exact, RmsNorm, SolveFfiHandler, TwiceOver, TwoParts, counter, ' ..
      "counter_instantiate, echo, exact, exact_prepare, start, twice_over"):format(joined), err.message)
  end)

  it("is what a prepared call is made of", function()
    local lib = ccw.load(joined)
    local call = ccw.prepare(lib.TwoParts, { ccw.f32 { 1, 2, 3 } }, "(f32[3], s32[])", { at = 1, names = { first = "a" } },
      { aliases = { [0] = 0 }, has_side_effect = true })
    local d = call:description()
    assert.equal('TwoParts(f32[3]) -> (f32[3], s32[]) {at = 1, names = {first = "a"}}', tostring(d))
    assert.same({ { [0] = 0 }, true, 4 }, { d.aliases, d.has_side_effect, d.api_version })
    assert.is_true(d == ccw.from_text(call:text "stablehlo"))
    assert.is_true(d == ccw.from_text(call:text "generic"))
    assert.is_true(d == ccw.from_text(call:text "hlo"))
    assert.equal(d:text "jax", call:text "jax")
  end)

  it("has the attributes of a call as they were fitted to the signature", function()
    local d = ccw.prepare(ccw.load(kernels).scale, { ccw.f32 { 1 } }, "f32[1]", { s = 2 }):description()
    assert.equal("f32", d.attributes.s.dtype)
    d = ccw.prepare(ccw.load(joined).exact, {}, "s32[]"):description()
    assert.same({ {}, {}, "s32[]" }, { d.operands, d.attributes, d.results })
    assert.is_nil(d.aliases)
  end)

  it("is of no call that was closed", function()
    local call = ccw.prepare(ccw.load(joined).exact, {}, "s32[]")
    call:close()
    assert.has_error(function() call:description() end, "this call is closed")
  end)
end)

-- What people hand on: any bytes, and what would end a literal, a line or a comment.
local texts = { all = "", awkward = '"); import os #\\"\'\n\r*/ /* ??/ %s {0} \0end', words = "\u{E9} \u{1F600}" }
for byte = 0, 255 do texts.all = texts.all .. string.char(byte) end

--- The attributes of attribute_zoo, all kinds that there are.
local zoo = { flag = true, a = ccw.s8(-128), b = ccw.s16(-2), c = ccw.s32(3), d = math.mininteger, e = ccw.u8(255), f = ccw.u16(6),
  g = ccw.u32(4294967295), h = ccw.u64(8), i = ccw.f32(0.1), j = 1e300, text = texts.awkward, counts = ccw.s32 { 1, -2 },
  weights = ccw.f32 {}, sky = ccw.s32(2), limits = { lo = 1, hi = 2 }, part = 12.5, more = { inner = 5, deep = { list = ccw.u8 { 1, 2 } } },
  ["odd name"] = 7 }

--- Calls of kernels/ and of joined.c: library, handler, operands, results, attributes, options.
local calls = {
  scale = { kernels, "scale", { ccw.f32 { 1, 2, 3 } }, "f32[3]", { s = ccw.f32(0.1) } },
  axpy = { kernels, "axpy", { ccw.f64 { 1, 2 }, ccw.f64 { 3, 4 } }, "f64[2]", { a = 0.1 } },
  reduce = { kernels, "reduce", { ccw.random("f32[3,5]", 1) }, "f32[3]", { how = ccw.s32(1) } },
  mandelbrot = { kernels, "mandelbrot", {}, "s32[3,4]", { centre = ccw.f64 { -0.5, 0 }, width = 3.0, limit = ccw.s32(50) } },
  zoo = { kernels, "attribute_zoo", {}, "f64[19]", zoo },
  parts = { joined, "TwoParts", { ccw.f32 { 1, 2 } }, "(f32[2], s32[])", { at = 1, names = { ["a b"] = true, ["lambda"] = {} } },
    { aliases = { [0] = 0 }, has_side_effect = true } },
  echo_all = { joined, "echo", {}, "u8[256]", { text = texts.all } },
  echo_awkward = { joined, "echo", {}, "u8[40]", { text = texts.awkward } },
  echo_words = { joined, "echo", {}, "u8[8]", { text = texts.words } },
}

local function prepare(call) return ccw.prepare(ccw.load(call[1])[call[2]], table.unpack(call, 3, 6)) end

--- The buffers of what a call gives back.
local function list(results) return type(results) == "table" and results or { results } end

describe("CC-26 a call as C", function()
  local compilers = { "gcc" }
  if support.sh "command -v clang" ~= "" then compilers[2] = "clang" end

  --- Compiles the text and runs it; gives what that prints.
  local function build(compiler, text, ...)
    local path = support.write("written.c", text)
    local output, good = support.sh(("cd '%s' && %s -std=c11 -Wall -Wextra -Werror -Wno-overlength-strings -I'%s/core/include' '%s' " ..
      "-L'%s/lib' -lccw -o written"):format(support.temporary(), compiler, support.root, path, support.build))
    assert(good, output)
    local words = { ... }
    for i, word in ipairs(words) do words[i] = quote(word) end
    return (support.sh(("cd '%s' && LD_LIBRARY_PATH='%s/lib' ./written %s"):format(support.temporary(), support.build,
      table.concat(words, " "))))
  end

  --- What the program prints of a buffer.
  local function printed(buffer)
    local items = {}
    for i = 1, math.min(buffer.count, 16) do items[i] = require "ccw.core".element_text(buffer, i - 1) end
    return ("%s %s%s\n"):format(buffer.type, table.concat(items, ", "), buffer.count > 16 and ", ..." or "")
  end

  for _, compiler in ipairs(compilers) do
    for name, call in pairs(calls) do
      it(("compiles, runs and gives the same: %s, %s #plain"):format(name, compiler), function()
        local text, zeros, expected = prepare(call):text "c", {}, {}
        for i, operand in ipairs(call[3]) do zeros[i] = ccw.array(operand.type) end
        local attributes, options = call[5], { has_side_effect = true }
        for i, result in ipairs(list(ccw.call(ccw.load(call[1])[call[2]], zeros, call[4], attributes, options))) do
          expected[i] = printed(result)
        end
        assert.equal(table.concat(expected) .. "OK \n", build(compiler, text, call[1]))
      end)
    end
  end

  it("is told another symbol, and says what fails #plain", function()
    local text = prepare(calls.scale):text "c"
    assert.equal("INVALID_ARGUMENT expected the path of a library\n", build("gcc", text))
    assert.equal(("NOT_FOUND %s: exports no 'scael'; near: scale\n"):format(kernels), build("gcc", text, kernels, "scael"))
  end)

  it("is none of what no handler can receive", function()
    local d = ccw.from_text(scale)
    local function refuses(code, message)
      local _, err = ccw.try(d.text, d, "c")
      assert.same({ code, message }, { err.code, err.message })
    end
    d.target = "a\0b"
    refuses("INVALID_ARGUMENT", "c: a target with a NUL in it can be the name of no symbol")
    d.target, d.called_computations = "a", { "f" }
    refuses("UNIMPLEMENTED", "c: there are no computations for a handler to call")
    d.called_computations, d.operands, d.operand_layouts = nil, { "f32[2,3]" }, { { 0, 1 } }
    refuses("UNIMPLEMENTED", "c: arrays are row-major here")
    d.operand_layouts, d.api_version = nil, 2
    refuses("UNIMPLEMENTED", "c: api_version 2: only 4, the typed FFI, is spoken here")
  end)
end)

describe("CC-26 a call as Python", function()
  it("is a line, behind what it needs", function()
    local d = ccw.from_text(scale)
    assert.equal([[
import jax, numpy as np
# x0: f32[4]
y = jax.ffi.ffi_call("scale", jax.ShapeDtypeStruct((4,), np.float32))(x0, s=np.float32(2))
]], d:text "jax")
    d.operands, d.results, d.attributes = { "bf16[2,3]", "s4[]" }, "(f64[], f8e4m3fn[1])", { k = 7, x = 2.0, ["a b"] = true, t = "a\"b" }
    d.has_side_effect, d.aliases = true, { [0] = 1 }
    d.operand_layouts, d.result_layouts = { { 0, 1 }, {} }, { {}, { 0 } }
    assert.equal([[
import jax, jax.numpy as jnp, numpy as np
jax.config.update("jax_enable_x64", True)
# x0: bf16[2,3]
# x1: s4[]
y = jax.ffi.ffi_call("scale", (jax.ShapeDtypeStruct((), np.float64), jax.ShapeDtypeStruct((1,), jnp.float8_e4m3fn)), ]] ..
      [[has_side_effect=True, input_output_aliases={1: 0}, input_layouts=[(1, 0), ()])(x0, x1, k=7, t="a\"b", x=2.0, **{"a b": True})
]], d:text "jax")
  end)

  it("is none of what JAX cannot say", function()
    local function refuses(message, fields)
      local d = ccw.from_text(scale)
      for name, value in pairs(fields) do d[name] = value end
      local _, err = ccw.try(d.text, d, "jax")
      assert.same({ "UNIMPLEMENTED", message }, { err.code, err.message })
    end
    refuses('jax: target "\\xFF": its names are UTF-8', { target = "\xFF" })
    refuses('jax: attribute "\\xFF": its names are UTF-8', { attributes = { ["\xFF"] = 1 } })
    refuses("jax: it has no tuple as an operand, got (f32[1]) as arg 0", { operands = { "(f32[1])" } })
    refuses("jax: it has no tuple as one of several results, got (f32[1], (f32[1]))", { results = "(f32[1], (f32[1]))" })
    refuses("jax: it takes no u64 of 2^63 or more as an attribute, got u64(18446744073709551615)",
      { attributes = { u = ccw.u64 "18446744073709551615" } })
    refuses("jax: an attribute 'ctx': its own function has a parameter of that name", { attributes = { ctx = 1 } })
    refuses("jax: it calls no computations from a handler", { called_computations = { "f" } })
    refuses("jax: arg 0 is aliased by more than one result", { aliases = { [0] = 0, [1] = 0 }, results = "(f32[4], f32[4])" })
  end)
end)

--- The names that JAX has for dtypes.
local function jax_dtype(dtype)
  if dtype == "pred" or dtype == "bf16" then return dtype == "pred" and "bool" or "bfloat16" end
  if dtype == "token" then return dtype end
  local kind, bits, behind = dtype:match "^(%l)(%d+)(.*)$"
  local long = ({ s = "int", u = "uint", f = "float", c = "complex" })[kind]
  return long .. bits .. (behind ~= "" and "_" .. behind or "")
end

for _, version in ipairs { "0.10.2", "0.12.0.1" } do
  describe("CC-26 JAX " .. version .. " #jax", function()
    local contents = require "ccw.text.contents"
    local new = require "ccw.text.description".new
    local made_up = require "spec.text_calls"
    local python = ("%s/jax-%s/bin/python"):format(os.getenv "CCW_VENV" or support.build .. "/venv", version)
    local missing = not support.exists(python) and "JAX " .. version .. " could not be had" or nil
    local folder, descriptions, COUNT = support.temporary() .. "/jax-" .. version, {}, 200

    local function write(name, text)
      local file <close> = assert(io.open(folder .. "/" .. name, "wb"))
      file:write(text)
    end

    --- A call for JAX to lower.
    local function to_lower(name, d)
      descriptions[name] = d
      local lines = {}
      for i, type in ipairs(contents.operands(d)) do
        lines[i] = ("%s %s\n"):format(jax_dtype(type.dtype), table.concat(type.dims, " "))
      end
      write(name .. ".types", table.concat(lines))
      write(name .. ".py", d:text "jax")
    end

    setup(function()
      if missing then return end
      support.sh(("mkdir -p '%s'"):format(folder))
      for name, call in pairs(calls) do
        local prepared = prepare(call)
        write("run_" .. name .. ".py", prepared:text "jax")
        for i, operand in ipairs(call[3]) do ccw.write(("%s/run_%s.x%d.npy"):format(folder, name, i - 1), operand) end
        to_lower("lower_" .. name, prepared:description())
      end
      local d = ccw.from_text(scale)
      d.operands, d.results = { "token[]", "f32[4]" }, "(token[], f32[4])"
      to_lower("tokens", d)
      for seed = 1, COUNT do to_lower("made_up_" .. seed, new(made_up.fields(seed, { carried = true, full = true }))) end
      local output, good = support.sh(("JAX_PLATFORMS=cpu '%s' '%s/spec/python/text_calls.py' '%s' '%s' '%s'"):format(python, support.root,
        folder, kernels, joined))
      assert(good, output)
    end)

    --- The file that JAX has left; fails with what it said where there is none.
    local function left(name, ending)
      assert(support.exists(folder .. "/" .. name .. ending), support.exists(folder .. "/" .. name .. ".error") and
        read(folder .. "/" .. name .. ".error") or "no answer")
      return read(folder .. "/" .. name .. ending)
    end

    --- What JAX lowered, without what it adds: layouts that are row-major, and without what only a compiler reads.
    local function same(name)
      local d, back = descriptions[name], ccw.from_text(left(name, ".mlir"))
      if not d.operand_layouts then back.operand_layouts, back.result_layouts = nil, nil end
      d.sharding, d.frontend_attributes = nil, nil
      assert.equal(d:text(), back:text())
      assert.is_true(d == back)
    end

    for name, call in pairs(calls) do
      it("makes the call of the text, and gives the same bytes: " .. name, function()
        if missing then return pending(missing) end
        for i, result in ipairs(list(prepare(call)())) do
          local theirs = ccw.array(result.type):set_bytes(left("run_" .. name, ".y" .. i - 1))
          assert.equal(support.hex(result), support.hex(theirs))
        end
      end)

      it("lowers the text to the call that it was: " .. name, function()
        if missing then return pending(missing) end
        same("lower_" .. name)
      end)
    end

    it("lowers tokens", function()
      if missing then return pending(missing) end
      same "tokens"
    end)

    it(("lowers %d calls that are made up to what they were"):format(COUNT), function()
      if missing then return pending(missing) end
      for seed = 1, COUNT do same("made_up_" .. seed) end
    end)

    it("prints a module that ccw runs", function()
      if missing then return pending(missing) end
      local y = ccw.array "f32[3]":set_bytes(left("run_scale", ".y0"))
      ccw.write(support.temporary() .. "/y.npy", y)
      assert.same({ tostring(y) .. "\nresult 0: equal\n", "", 0 }, { run(left("lower_scale", ".mlir"), "--lib", kernels, "--input",
        "{1, 2, 3}", "--expect", "@y.npy", "--exact") })
      y = ccw.array "f64[19]":set_bytes(left("run_zoo", ".y0"))
      assert.same({ tostring(y) .. "\n", "", 0 }, { run(left("lower_zoo", ".mlir"), "--lib", kernels) })
    end)
  end)
end

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
  says("runs a call and prints its result", { "f32[4] {2, 4, 6, 8}\n", "", 0 }, scale, "--lib", kernels, "--input", "f32[4] {1, 2, 3, 4}")
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
  says("hands on what a handler says", { "", "ccw: INVALID_ARGUMENT: add_mod: execute: arg 0 'b': expected at least 1 element, got f32[0]\n", 1 },
    "%0 = stablehlo.custom_call @add_mod(%b, %c) {api_version = 4 : i32} : (tensor<0xf32>, tensor<1xf32>) -> tensor<1xf32>\n",
    "--lib", kernels, "--input", "f32[0] {}", "--input", "1")

  describe("of a module as JAX prints it", function()
    local text = read(module)
    says("lists the calls", { '1\tline 3\t%0\t"rms_norm"\n2\tline 9\t%0\t"scale"\n3\tline 10\t%1\t"two parts"\n', "", 0 }, text, "--list")
    says("runs the one that is picked", { "f32[3] {2, 4, 6}\n", "", 0 }, text, "--pick", "scale", "--lib", kernels, "--input", "{1, 2, 3}")
    says("picks by number, too", { "f32[2,3] {{0.99999875, 0.99999875, 0.99999875}, {0.99999875, 0.99999875, 0.99999875}}\nresult 0: close\n", "", 0 }, text, "--pick", "1", "--lib", kernels,
      "--input", "2", "--input", "1", "--expect", "1", "--rtol", "1e-5")
    says("prints each result by itself", { "f32[3] {2, 3, 4}\ns32[] 2\n",
      ([[ccw: the target "two parts" is 'TwoParts' of %s, the same but for case and underscores]]):format(joined) .. "\n", 0 },
      text, "--pick", "3", "--lib", joined, "--input", "{1, 2, 3}")
    says("runs none where none is picked", { "", "ccw: call.mlir: 3 custom calls are here; pick one by its index, its target or the name " ..
      'of its result:\n  1: line 3: "rms_norm", %0\n  2: line 9: "scale", %0\n  3: line 10: "two parts", %1\n', 2 }, text, "--lib", kernels)
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

    local tuple = 'r = s32[3]{0} custom-call((s32[1], (f32[2])) %t, s32[] %u), custom_call_target="x", api_version=API_VERSION_TYPED_FFI\n'
    says("of a tuple, one by one", { "", "ccw: --input: it is given 4 times, and the call has 3 operands\n", 2 }, tuple, "--lib",
      joined .. ":x=exact", "--input", "1", "--input", "{2, 3}", "--input", "4", "--input", "5")

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
      assert.same({ "", "ccw: --input 1 '@in.npz:z': arg 0: in.npz: it has no array \"z\"; there are arg0, x\n", 2 },
        { run(scale, "--lib", kernels, "--input", "@in.npz:z") })
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
    fails("the file that there is not", "--lib nowhere.so: nowhere.so: no such file, and no library of that name\n", scale, "--lib", "nowhere.so")
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
    fails("how many outputs there are", "--output: expected one .npz, or an .npy for each of 1 results, got 2\n", scale, "--lib", kernels,
      "--output", "y.npy", "--output", "z.npy")
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
    fails("what no handler can receive", "call.mlir: the FFI cannot carry this:\n  api_version: 1, API_VERSION_ORIGINAL: only API_VERSION_TYPED_FFI is spoken here\n",
      "%0 = stablehlo.custom_call @old(%x) {backend_config = \"opaque\"} : (tensor<2xf32>) -> tensor<2xf32>\n", "--lib", kernels)

    it("the call that is no file, or cannot be read", function()
      assert.equal("ccw: nowhere.mlir: No such file or directory\n[2]\n",
        (support.sh(("'%s' run nowhere.mlir; echo \"[$?]\""):format(support.program))))
      assert.equal("ccw: /: Is a directory\n[2]\n", (support.sh(("'%s' run /; echo \"[$?]\""):format(support.program))))
      assert.equal("ccw: missing argument 'call'" .. help .. "[2]\n", (support.sh(("'%s' run; echo \"[$?]\""):format(support.program))))
    end)

    it("and help says what the codes are", function()
      local output, good = support.sh(("'%s' run --help"):format(support.program))
      assert.is_true(good)
      output = output:gsub("%s+", " ")
      assert.matches("Exit codes: 0, it ran; 1, the call failed, or a result is not as expected; 2, it did not come to that.", output, 1, true)
    end)
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

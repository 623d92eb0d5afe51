-- Tests of handlers with busted: CC-32 to CC-34, cases C79 and C80.
local ccw = require "ccw"
local core = require "ccw.core"
local t = require "ccw.test"
local axes = require "ccw.test.axes"
local settings = require "ccw.test.settings"
local shrink = require "ccw.test.shrink"
local support = require "spec.support"

local lib = ccw.load(support.kernels)

local rms_norm = "(x: f32[r,n], w: f32[n]) -> (y: f32[r,n]) {eps: f32}"

local function rms_norm_oracle(x, w, c)
  for i = 1, c.r do
    local sum = 0
    for j = 1, c.n do sum = sum + x[i][j] ^ 2 end
    local scale = 1 / math.sqrt(sum / c.n + c.eps)
    for j = 1, c.n do c.y[i][j] = x[i][j] * scale * w[j] end
  end
end

--- Runs `ccw test`, or what is given, in the root, with the environment of these specs. Gives output and exit code.
local function run(arguments, command)
  local output = support.sh(("cd '%s' && %s %s; echo \"exit code $?\""):format(support.root,
    command or ("'%s' test"):format(support.program), arguments))
  local text, code = output:match "^(.*)exit code (%d+)\n$"
  return text, math.tointeger(tonumber(code))
end

local busted = "lua5.4 /usr/bin/busted --ignore-lua --output=TAP"

-- ---- checks that hold

t.check({ host = lib.rms_norm, sim = lib.rms_norm_device }, rms_norm, {
  r = { 0, 1, 4 }, n = { 0, 1, 31, 32, 33, 257 }, eps = { 1e-5, 0.5 }, on = "all", oracle = rms_norm_oracle, close = { rtol = 1e-5 },
})
t.check(lib.axpy, "axpy(x: T[n,m], y: T[n,m]) -> (z: T[n,m]) {a: f64}", {
  T = { "f32", "f64" }, n = { 1, 3 }, m = 5, a = { 0, 2.5 }, close = { f64 = { rtol = 1e-14 } },
  inputs = { x = { low = 2, high = 4 }, [1] = function(type) return ccw.iota(type) end },
  oracle = function(x, y, c) return function(i, j) return c.a * x[i][j] + y[i][j] end end,
})
t.check(lib.transpose, "transpose(x: T[r,c]) -> (y: T[c,r])", {
  T = { "s8", "s64", "u16", "pred", "bf16", "c64" }, r = { 1, 5 }, c = 3, checked = true,
  oracle = function(x) return function(i, j) return x[j][i] end end,
})
t.check({ sim = lib.softmax_device }, "softmax(x: f32[r,n]) -> (y: f32[r,n])", { r = 2, n = { 1, 40 }, oracle = lib.softmax })
t.check(ccw.bind "maybe(x: s32[n], mask?: pred[n]) -> (y: s32[n])":to(function(x, mask, y)
  for i = 1, #x do y[i] = (not mask or mask[i]) and x[i] or 0 end
end), "maybe(x: s32[n], mask?: pred[n]) -> (y: s32[n])", {
  n = { 0, 5 }, mask = { false, true },
  oracle = function(x, mask)
    return function(i) return (not mask or mask[i]) and x[i] or 0 end
  end,
})
t.check(ccw.bind "pair() -> (a: s32[2], b: f16[]) {how: s32 = up(1)|down(-1), list: s64[]}":to(function(a, b, how, list)
  a:fill(how == "up" and 1 or -1)
  b:fill(#list)
end), "pair() -> (a: s32[2], b: f16[]) {how: s32 = up(1)|down(-1), list: s64[]}", {
  how = { "up", "down" }, list = { { 1, 2 }, {} },
  oracle = function(c) return { c.how == "up" and 1 or -1, c.how == "up" and 1 or -1 }, #c.list end,
})

t.check(ccw.bind "halve(x: f64[n], @threads) -> (y: f64[n])":to(function(x, threads, y)
  local promise = ccw.promise()
  threads:run(function()
    for i = 1, #x do y[i] = x[i] / 2 end
    promise:complete()
  end)
  return promise
end), "halve(x: f64[n]) -> (y: f64[n])", { n = { 0, 3 }, oracle = function(x) return function(i) return x[i] / 2 end end })
t.check({
  instantiate = ccw.bind "counter_make(@new_state) {first: s64}":stage "instantiate":to(function(first) return { first = first } end),
  execute = ccw.bind "counter(@state) -> (y: s64[])":to(function(state, y) y:fill(state.first) end),
}, "counter() -> (y: s64[]) {first: s64}", { first = { 4, -4 }, oracle = function(c) return c.first end })
t.check({ host = ccw.bind "bits(x: s4[n]) -> (y: s4[n])":to(function(x, y)
  for i = 1, #x do y[i] = x[i] end
end) }, "bits(x: s4[n]) -> (y: s4[n])", { n = 33, inputs = { x = function(_, _, c) return ccw.random("s4[" .. c.n .. "]", 3) end },
  oracle = function(x) return x end })
ccw.register("test_spec.scale", lib.scale)
t.check("test_spec.scale", "(x: f32[n]) -> (y: f32[n]) {s: f32}", { n = 5, s = 2, oracle = function(x, c)
  for i = 1, c.n do c.y[i] = c.s * x[i] end
end })
do
  local official = support.official()
  if official then
    t.check(official.Scale, "(x: f32[n]) -> (y: f32[n]) {s: f32}", { n = 5, s = 2, oracle = lib.scale })
  end
end

t.refuses_misuse({ host = lib.rms_norm, sim = lib.rms_norm_device }, "(f32[1,32], f32[32]) -> (f32[1,32]) {eps = 1e-05}")
t.refuses_misuse(lib.reduce, "(f32[3,2]) -> f32[3] {how = 'sum'}")
t.refuses_misuse(lib.mandelbrot, "() -> (s32[2,3]) {centre = f64{0.5, 0}, width = 1, limit = 5}")
t.refuses_misuse(ccw.bind "clip(x: f32[n]) -> (y: f32[n]) {range: {lo: f32, hi: f32}}":to(function(_, y, _) y:fill(0) end),
  "(f32[3]) -> (f32[3]) {range = {lo = 0, hi = 1}}")
t.refuses_misuse(lib.histogram, "(s32[30]) -> (s32[5])", { except = { "arg 0 as s32[1,30]" } })

-- ---- checks that do not

describe("ccw test", function()
  it("names the smallest shape and the rule of a planted tail bug", function()
    local output, code = run "spec/testing/tail.lua"
    assert.equal([[
FAILED: twice on host r=2 n=33 (spec/testing/tail.lua:17)
    result 0 'y': [1][33] is 0, expected 2; 2 of 66 elements differ, by up to 2 (relative 1) (f32[2,33])
      smallest that fails: r=1 n=1: result 0 'y': [1][1] is 0, expected 2; 1 of 1 elements differ, by up to 2 (relative 1) (f32[1,1])
      fails where n % 32 ~= 0 (N more cases were run)
      again: ccw test spec/testing/tail.lua --case 3:r=1,n=1 --seed 1
FAILED: twice on host r=4 n=33 (spec/testing/tail.lua:17)
    result 0 'y': [1][33] is 0, expected 2; 4 of 132 elements differ, by up to 2 (relative 1) (f32[4,33])
      fails where n % 32 ~= 0, as r=1 n=1 does
      again: ccw test spec/testing/tail.lua --case 7:r=1,n=1 --seed 1
6 passed, 2 failed, 0 skipped
]], (output:gsub("%d+ more cases", "N more cases")))
    assert.equal(1, code)
  end)

  it("tells of operands that are written, of elements that are not, of crashes, exits, hangs and refusals #plain", function()
    local output, code = run "spec/testing/planted.lua"
    assert.equal([[
FAILED: writes_operand on host T=f64 n=8 (spec/testing/planted.lua:55)
    arg 0 'x': the handler has written to it: [3] was 1 and is 7
      smallest that fails: T=f64 n=3: arg 0 'x': the handler has written to it: [3] was 1 and is 7
      fails where T = f64 and n > 2 (N more cases were run)
      checked call: writes_operand: execute: arg 0 'x': written, an operand is read only, element 3 of 3, in writes_operand (planted.c:8)
      again: ccw test spec/testing/planted.lua --case 4:n=3 --seed 1
FAILED: leaves_some on host n=4096 (spec/testing/planted.lua:56)
    result 0 'y': 3096 of 4096 elements are never written, the first [1001]
      smallest that fails: n=1001: result 0 'y': 1 of 1001 elements is never written, the first [1001]
      fails where n > 1000 (N more cases were run)
      checked call: leaves_some: execute: result 0 'y': 1 of 1001 elements was never written, the first is [1001]
      again: ccw test spec/testing/planted.lua --case 6:n=1001 --seed 1
FAILED: crashes on host n=4096 (spec/testing/planted.lua:57)
    it crashed: SIGSEGV
      smallest that fails: n=101: it crashed: SIGSEGV
      fails where n > 100 (N more cases were run)
      again: ccw test spec/testing/planted.lua --case 8:n=101 --seed 1
FAILED: ends on host n=5 (spec/testing/planted.lua:58)
    it ended the process, with exit code 3
      smallest that fails: n=1: it ended the process, with exit code 3
      fails where n % 2 ~= 0 (N more cases were run)
      again: ccw test spec/testing/planted.lua --case 10:n=1 --seed 1
FAILED: hangs on host n=4 (spec/testing/planted.lua:59)
    it was not done after 0.3 seconds, and was ended
      again: ccw test spec/testing/planted.lua --case 12 --seed 1
FAILED: refuses_none on host n=0 (spec/testing/planted.lua:60)
    INVALID_ARGUMENT: refuses_none: execute: expected elements
      no smaller one fails in this way
      fails for n = 0 (N more cases were run)
      again: ccw test spec/testing/planted.lua --case 14 --seed 1
10 passed, 6 failed, 0 skipped
]], (output:gsub("%d+ more cases", "N more cases")))
    assert.equal(1, code)
  end)

  it("takes oracles at their word, whatever way they take, and handlers that end #plain", function()
    local output, code = run "spec/testing/oracles.lua"
    local told = {}
    for name, text in output:gmatch "FAILED: ([^\n]-) %(spec[^\n]*\n    ([^\n]*)" do told[#told + 1] = name .. ": " .. text end
    local function differs(how)
      return ("an oracle sets %s on host one case: result 0 'y': [1] is 0, expected 1; 2 of 2 elements differ, by up to 1 (relative 1) " ..
        "(f32[2])"):format(how)
    end
    assert.same({
      differs "c.y", differs "c.results[1]", differs "c.results",
      "an oracle gives too little on host one case: the oracle fails: result 0 'y': expected 2 elements, got 1",
      "an oracle gives what is closed on host one case: the oracle fails: result 0 'y': what it gives is closed",
      "a handler in Lua ends the process on host one case: it ended the process, with exit code 0",
      "a handler writes nothing, and then fails on host one case: result 0 'y': elements may not be written, and a second run, " ..
        "which would tell, fails: UNKNOWN: anonymous: execute: it ran before",
      "a test ends the process: it ends the program: os.exit(0)",
    }, told)
    assert.equal(1, code)
  end)

  it("runs one case again, and one that it has shrunk", function()
    assert.equal([[
FAILED: twice on host r=1 n=1 (spec/testing/tail.lua:17)
    result 0 'y': [1][1] is 0, expected 2; 1 of 1 elements differ, by up to 2 (relative 1) (f32[1,1])
      again: ccw test spec/testing/tail.lua --case 7:r=1,n=1 --seed 1
0 passed, 1 failed, 0 skipped
]], (run "spec/testing/tail.lua --case 7:r=1,n=1 --seed 1"))
    assert.equal("1 passed, 0 failed, 0 skipped\n", (run "spec/testing/tail.lua spec/testing/plain.lua --case 1"))
    assert.equal("1 passed, 0 failed, 0 skipped\n", (run "spec/testing/plain.lua spec/testing/tail.lua --case 1"))
    local output, code = run "spec/testing/tail.lua --case 9"
    assert.equal("ccw test: no case has the number 9\n0 passed, 0 failed, 0 skipped\n", output)
    assert.equal(2, code)
    output, code = run "spec/testing/tail.lua --case 7:q=1"
    assert.matches("INVALID_ARGUMENT: spec/testing/tail.lua:17: --case 7: the check has no axis 'q'\n", output, 1, true)
    assert.equal(1, code)
  end)

  it("reads the values of --case as the message of a failure has them", function()
    local check = axes.fill(axes.read("(x: f32[n]) -> (y: f32[n]) {v: s64[], s: string}", error), {
      n = 1, v = { { 1, 2 }, { 3 } }, s = { "a", "b, {c}=d" },
    }, error, {})
    local all = axes.cases(check, error)
    for _, case in ipairs(all) do
      for _, from in ipairs(all) do
        local only = settings.read_case("7:" .. axes.changes(check, case, from))
        assert.same(case, axes.changed(check, from, only.changes))
      end
    end
  end)

  it("draws from the seed and the case alone", function()
    local function drawn(arguments)
      local list = {}
      for case, number in run("spec/testing/draws.lua " .. arguments):gmatch "on host (T=%w+ n=%d).-drew (%S+)" do list[case] = number end
      return list
    end
    local all, again, other = drawn "", drawn "--seed 1", drawn "--seed 2"
    assert.same({ "T=f32 n=3", "T=f32 n=4", "T=s32 n=3", "T=s32 n=4" }, (function()
      local names = {}
      for name in pairs(all) do names[#names + 1] = name end
      table.sort(names)
      return names
    end)())
    assert.same(all, again)
    assert.not_equal(all["T=f32 n=3"], other["T=f32 n=3"])
    assert.not_equal(all["T=f32 n=3"], all["T=f32 n=4"])
    assert.same({ ["T=f32 n=4"] = all["T=f32 n=4"] }, drawn "--case 2")
    assert.same({ ["T=f32 n=4"] = all["T=f32 n=4"] }, drawn "--case 1:n=4")
  end)

  it("names the test in which the process ends #plain", function()
    local output, code = run "spec/testing/plain.lua --filter crashes"
    assert.matches("ccw: crash: execute: the handler crashed, and ends ccw\nccw: it was in spec/testing/plain.lua:29: crashes\n", output, 1,
      true)
    assert.not_equal(0, code)
    output, code = run "spec/testing/plain.lua --filter sleeps --time-limit 0.2 -o TAP"
    assert.equal("spec/testing/plain.lua:35: sleeps: it was not done in time and could not be stopped, which ends the run\n", output)
    assert.equal(1, code)
  end)

  it("stops a test in Lua that takes longer than was asked for", function()
    local output, code = run "spec/testing/plain.lua --filter hangs --filter passes --time-limit 0.2"
    assert.equal([[
FAILED: plain hangs (spec/testing/plain.lua:31)
    it was not done after 0.2 seconds
1 passed, 1 failed, 0 skipped
]], output)
    assert.equal(1, code)
  end)

  it("has a closing line and exit codes", function()
    local output, code = run "spec/testing/plain.lua --filter passes --filter skipped"
    assert.equal("skipped: plain is skipped: for a reason\n1 passed, 0 failed, 1 skipped\n", output)
    assert.equal(0, code)
    output, code = run "spec/testing/plain.lua --filter fails --filter passes"
    assert.matches("^FAILED: plain fails %(spec/testing/plain.lua:27%)\n    Expected objects to be equal.-\n1 passed, 1 failed, 0 skipped",
      output)
    assert.equal(1, code)
    for arguments, text in pairs {
      ["spec/testing/plain.lua --filter nothing"] = "ccw test: no test matches\n0 passed, 0 failed, 0 skipped\n",
      ["spec/nowhere.lua"] = "ccw test: spec/nowhere.lua is not there\n",
      ["--bogus"] = "ccw test: unknown option '--bogus'; ccw test --help tells what there is\n",
      ["spec/testing/plain.lua --case x"] = "ccw test: --case: expected a number, or as 5:n=1, got x\n",
      ["spec/testing/plain.lua --seed 1.5"] = "ccw test: --seed: expected an integer, got 1.5\n",
      ["spec/testing/plain.lua --time-limit 0"] = "ccw test: --time-limit: expected seconds above 0, got 0\n",
      ["spec/testing/plain.lua --output nothing"] =
        "ccw test: --output: there is no output 'nothing': plain, TAP, junit, gtest, utfTerminal, plainTerminal, or a file.lua\n",
    } do
      output, code = run(arguments)
      assert.equal(text, output)
      assert.equal(2, code)
    end
    output, code = run(("test"), ("cd '%s' && '%s'"):format(support.temporary(), support.program))
    assert.equal("ccw test: there is no folder spec/ here: name the specs, ccw test FILE ..., or put them there as spec/NAME_spec.lua\n",
      output)
    assert.equal(2, code)
  end)

  it("writes TAP, and XML for JUnit, with the closing line beside it", function()
    local output, code = run "spec/testing/tail.lua --output TAP"
    assert.matches("\nnot ok 3 - twice on host r=2 n=33\n# spec/testing/tail.lua @ 17\n# Failure message: spec/testing/tail.lua:17: ",
      output, 1, true)
    assert.matches("\nok 8 - twice on host r=4 n=4096\n1..8\n6 passed, 2 failed, 0 skipped\n", output, 1, true)
    assert.equal(1, code)
    local path = support.temporary() .. "/junit.xml"
    output, code = run(("spec/testing/tail.lua -o junit >'%s'"):format(path))
    assert.equal("6 passed, 2 failed, 0 skipped\n", output)
    assert.equal(1, code)
    local file <close> = assert(io.open(path))
    local xml = file:read "a"
    local _, cases = xml:gsub("<testcase ", "")
    local _, failures = xml:gsub("<failure>", "")
    assert.same({ 8, 2 }, { cases, failures })
    assert.matches("^%s*<testsuites .*tests='8'.*</testsuites>%s*$", xml)
    assert.equal("noise\n1 passed, 0 failed, 0 skipped\n", (run "spec/testing/noisy.lua"))
    assert.equal("noise\n1 passed, 0 failed, 0 skipped\n", (run "spec/testing/noisy.lua -o junit >/dev/null"))
  end)

  it("skips what is for a device that is not there, or fails where it is required", function()
    local output, code = run "spec/testing/absent.lua"
    assert.matches("^skipped: copy on cuda:77 is there: on cuda:77: .+\n1 passed, 0 failed, 1 skipped\n$", output)
    assert.equal(0, code)
    for _, device in ipairs { "cuda", "cuda:77", "rocm,cuda" } do
      output, code = run("spec/testing/absent.lua --require " .. device)
      assert.matches("^FAILED: copy on cuda:77 is there %(spec/testing/absent.lua:9%)\n    on cuda:77: .+\n", output)
      assert.matches("\n1 passed, 1 failed, 0 skipped\n$", output)
      assert.equal(1, code)
    end
    assert.equal(0, select(2, run "spec/testing/absent.lua --require sim"))
  end)

  it("is not needed: busted runs the same specs #plain", function()
    local output, code = run("spec/testing/tail.lua", busted)
    assert.matches("\nnot ok 3 - twice on host r=2 n=33\n", output, 1, true)
    assert.matches("#   fails where n %% 32 ~= 0 %(%d+ more cases were run%)\n", output)
    assert.equal(1, code)
    output, code = run("spec/testing/tail.lua", "CCW_TEST_CASE=4 " .. busted)
    assert.equal("ok 1 - twice on host r=2 n=4096\n1..1\n", output)
    assert.equal(0, code)
    output = run("spec/testing/absent.lua", "CCW_TEST_REQUIRE=cuda " .. busted)
    assert.matches("not ok 2 - copy on cuda:77 is there\n", output, 1, true)
    output = run("spec/testing/draws.lua", "CCW_TEST_SEED=7 " .. busted)
    assert.matches("--case 1 --seed 7\n", output, 1, true)
  end)

  it("passes names of tests, and lists them", function()
    assert.equal("spec/testing/tail.lua:17: twice on host r=2 n=0\n", (run "spec/testing/tail.lua --list"):match "^[^\n]*\n")
  end)
end)

describe("a fault on a simulated GPU", function()
  it("leaves the cases after it alone", function()
    local spec = support.write("faults.lua", [==[
      local t = require "ccw.test"
      local lib = ccw.compile([[
        #include <ccw/handler.h>
        #include <ccw/kernel.h>

        __global__ void copy(const float *x, float *y, int64_t n)
        {
          for (int64_t i = 0; i < n; ++i) y[n == 2 ? i + 100000000 : i] = x[i];
        }

        CCW_HANDLER(strays, CTX(stream, s), ARG(f32, 1, x), RET(f32, 1, y))
        {
          return ccw::launch<copy>(s, dim3(1), dim3(1), 0, x.data, y.data, x.dims[0]);
        }
      ]], { language = "c++", name = "strays.cu" })
      t.check({ sim = lib.strays }, "strays(x: f32[n]) -> (y: f32[n])", { n = { 1, 2, 3 }, oracle = function(x) return x end })
    ]==])
    local output, code = run(spec)
    assert.matches("^FAILED: strays on sim:0 n=2 %(", output)
    assert.matches("\n      fails for n = 2 %(%d+ more cases were run%)\n", output)
    assert.matches("\n2 passed, 1 failed, 0 skipped\n$", output)
    assert.equal(1, code)
  end)
end)

-- ---- shrinking and rules

--- What a search finds where a case fails as f says, of values by name. Axes are given as in a check.
local function search(given, from, f)
  local names = {}
  for name in pairs(given) do names[#names + 1] = name end
  table.sort(names)
  local letters, dims = {}, {}
  for _, name in ipairs(names) do
    local list = name:find "^%u$" and letters or dims
    list[#list + 1] = name
  end
  local form = axes.read(("(x: %s[%s]) -> (y: f32[])"):format(letters[1] or "f32", table.concat(dims, ",")), error)
  local check = axes.fill(form, given, error, {})
  local case = axes.changed(check, axes.cases(check, error)[1], from)
  local found = shrink.search(check, case, axes.cases(check, error), function(other) return f(axes.values(check, other)) end)
  assert.is_false(found.is_cut)
  return axes.name(check, found.smallest), found.rule and found.rule.text
end

describe("a rule", function()
  local sizes = { 0, 1, 31, 32, 33, 1024, 4096 }
  for text, row in pairs {
    ["where n % 32 ~= 0"] = { { n = "33" }, "n=1", function(c) return c.n % 32 ~= 0 end },
    ["where n > 1024"] = { { n = "4096" }, "n=1025", function(c) return c.n > 1024 end },
    ["where n > 777"] = { { n = "4096" }, "n=778", function(c) return c.n > 777 end },
    ["for n = 0"] = { { n = "0" }, "n=0", function(c) return c.n == 0 end },
    ["where n < 32"] = { { n = "31" }, "n=0", function(c) return c.n < 32 end },
    ["where n % 7 == 0"] = { { n = "0" }, "n=0", function(c) return c.n % 7 == 0 end },
    ["where n ~= 1"] = { { n = "33" }, "n=0", function(c) return c.n ~= 1 end },
    ["where n % 4 == 3"] = { { n = "31" }, "n=3", function(c) return c.n % 4 == 3 end },
    ["where n > 31 and n % 32 ~= 0"] = { { n = "33" }, "n=33", function(c) return c.n > 32 and c.n % 32 ~= 0 end },
    ["in every case that was tried"] = { { n = "33" }, "n=0", function() return true end },
  } do
    it("is found where it fails " .. text, function()
      local smallest, rule = search({ n = sizes }, row[1], row[3])
      assert.equal(row[2], smallest)
      assert.equal(text, rule)
    end)
  end

  for text, row in pairs {
    ["for T = bf16"] = { { T = "bf16" }, "T=bf16 m=0 n=0", function(c) return c.T == "bf16" end },
    ["where T ~= f32"] = { { T = "bf16" }, "T=f64 m=0 n=0", function(c) return c.T ~= "f32" end },
    ["where m > n"] = { { m = "33", n = "1" }, "T=f32 m=1 n=0", function(c) return c.m > c.n end },
    ["where m * n > 512"] = { { m = "33", n = "33" }, "T=f32 m=16 n=33", function(c) return c.m * c.n > 512 end },
    ["where m * n % 4 ~= 0"] = { { m = "33", n = "33" }, "T=f32 m=1 n=1", function(c) return c.m * c.n % 4 ~= 0 end },
    ["where T = bf16 and m % 8 ~= 0"] = { { T = "bf16", m = "33" }, "T=bf16 m=1 n=0",
      function(c) return c.T == "bf16" and c.m % 8 ~= 0 end },
  } do
    it("of several axes is found where it fails " .. text, function()
      local smallest, rule = search({ T = { "f32", "f64", "bf16" }, m = { 1, 8, 33 }, n = { 1, 8, 33 } }, row[1], row[3])
      assert.equal(row[2], smallest)
      assert.equal(text, rule)
    end)
  end

  it("is not made up where there is none", function()
    local odd = { [3] = true, [17] = true, [19] = true, [40] = true }
    local smallest, rule = search({ n = sizes }, { n = "40" }, function(c) return odd[c.n] == true end)
    assert.equal("n=3", smallest)
    assert.is_nil(rule)
  end)

  it("says nothing of cases that fail in another way", function()
    local smallest, rule = search({ n = sizes }, { n = "33" }, function(c)
      if c.n < 5 then return nil end
      return c.n % 2 == 1
    end)
    assert.equal("n=5", smallest)
    assert.equal("where n % 2 ~= 0", rule)
  end)
end)

-- ---- what is wrong with a check itself

describe("a check that is wrong", function()
  local handler = ccw.bind "f(x: f32[n]) -> (y: f32[n])":to(function(x, y) y:fill(x[1]) end)
  local signature = "(x: f32[n]) -> (y: f32[n])"

  local function refuses(text, ...)
    support.refuses(text, t.check, ...)
  end

  it("says so where it is declared", function()
    refuses("bad argument #1 to 'check' (expected a handler, a table of handlers by device", 5, signature, { n = 1 })
    refuses("bad argument #2 to 'check' (arg 0 'x': any[n] has no certain dtype: write a letter", handler, "(x: any[n]) -> (y: f32[n])", {})
    refuses("bad argument #2 to 'check' (arg 0 'x': f32[*] has no certain shape: write a size or a name for each dim", handler,
      "(x: f32[*]) -> (y: f32[n])", {})
    refuses("bad argument #3 to 'check' (expected a table, got nil)", handler, signature)
    refuses("bad argument #3 to 'check' (n: expected a size for this dim of the signature, or a list of them)", handler, signature, {})
    refuses("bad argument #3 to 'check' (n: expected a size, got -1)", handler, signature, { n = { 1, -1 } })
    refuses("bad argument #3 to 'check' (T: expected a dtype, got f33; near: f32)", handler, "(x: T[n]) -> (y: T[n])", { n = 1, T = "f33" })
    refuses("bad argument #3 to 'check' (no option is called 'orakel'; near: oracle)", handler, signature, { n = 1, orakel = print })
    refuses("bad argument #3 to 'check' (attribute 'eps': expected its value, or a list of values)", handler,
      "(x: f32[n]) -> (y: f32[n]) {eps: f32}", { n = 1 })
    refuses("bad argument #3 to 'check' ('on' is a name of the signature and an option of check: the signature needs another)", handler,
      "(x: f32[on]) -> (y: f32[on])", { on = 1 })
    refuses("bad argument #3 to 'check' (inputs: the signature has no operand 'xs')", handler, signature,
      { n = 1, inputs = { xs = 1 } })
    refuses("rtol: expected 0 or more, got -1", handler, signature, { n = 1, close = { rtol = -1 } })
    refuses("bad argument #3 to 'check' (on: expected \"all\" or names of devices, got tpu)", handler, signature, { n = 1, on = "tpu" })
    refuses("bad argument #3 to 'check' (oracle: expected a function, a handler or the path of an .npz, got number)", handler, signature,
      { n = 1, oracle = 5 })
    local optional = "(x: f32[n], m?: f32[n]) -> (y: f32[n])"
    refuses("bad argument #3 to 'check' (m: expected true, false or a list of them, got yes)", handler, optional, { n = 1, m = "yes" })
    refuses("bad argument #3 to 'check' (m: expected true, false or a list of them, got 1)", handler, optional, { n = 1, m = { 1, 0 } })
    refuses("bad argument #3 to 'check' (n: expected values, got an empty list: there would be nothing to run)", handler, signature,
      { n = {} })
    refuses("bad argument #3 to 'check' (a: expected a list without holes)", handler, "(x: f32[n]) -> (y: f32[n]) {a: s64}",
      { n = 1, a = { 1, nil, nil, 4 } })
    refuses("bad argument #3 to 'check' (on: expected names of devices, got an empty list)", handler, signature, { n = 1, on = {} })
    refuses("bad argument #3 to 'check' (time_limit: expected seconds above 0, got -1)", handler, signature, { n = 1, time_limit = -1 })
    refuses("rtol: expected 0 or more, got -1", handler, signature, { n = 1, close = { f32 = { rtol = -1 } } })
    refuses("bad argument #2 to 'check' (... says nothing of what is there: write an operand or a result for each)", handler,
      "(x: f32[n], ...) -> (y: f32[n])", { n = 1 })
    refuses("bad argument #1 to 'check' (expected the name of a device, host, sim, cuda, rocm or sim:0, or of a stage, got cpu)",
      { cpu = handler }, signature, { n = 1 })
    refuses("it declares tests, which a test cannot: call it in a describe, or in the file itself", handler, signature, { n = 1 })
    support.refuses("bad argument #3 to 'refuses_misuse' (except: no variant is called 'arg 0 as f65[1]'; near: arg 0 as f64[1])",
      t.refuses_misuse, handler, "(f32[1]) -> (f32[1])", { except = { "arg 0 as f65[1]" } })
  end)
end)

describe("the help", function()
  it("tells of each function", function()
    local help = require "ccw.help"
    for name in pairs(t) do assert.matches("^ccw.test." .. name .. "%(", help.text("ccw.test." .. name)) end
    assert.matches("- oracle: function(x, w, ..., c)", help.text "ccw.test.check", 1, true)
  end)
end)

-- ---- assertions

--- Fails unless f(...) fails with a message that has the text in it.
local function fails(text, f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  assert.matches(text, tostring(err), 1, true)
end

describe("assertions know dtypes, case C79:", function()
  local nan = 0 / 0

  it("other values are left to luassert", function()
    assert.same({ 1 }, { 1.0 })
    assert.same("x", "x")
    assert.not_same({ 1 }, { 2 })
    fails("Expected objects to be the same.\nPassed in:\n(table: ", assert.same, { a = 1 }, { a = 2 })
    fails("mine\nExpected objects to be the same.", assert.same, 1, 2, "mine")
  end)

  it("s32 and f32 differ where their values do not", function()
    fails("dtypes differ: f32[2], expected s32[2]\nExpected objects to be the same.\nPassed in:\n(buffer) f32[2] {1, 2}\nExpected:\n" ..
      "(buffer) s32[2] {1, 2}", assert.same, ccw.s32 { 1, 2 }, ccw.f32 { 1, 2 })
    fails("shapes differ: f32[2], expected f32[1,2]", assert.same, ccw.f32 { { 1, 2 } }, ccw.f32 { 1, 2 })
    assert.same(ccw.s32 { 1, 2 }, ccw.s32 { 1, 2 })
    assert.same({ x = ccw.s32 { 1 } }, { x = ccw.s32 { 1 } })
    fails("x[2]: [1] is 4, expected 3; 1 of 1 elements differ (s32[1])", assert.same, { x = { 1, ccw.s32 { 3 } } },
      { x = { 1, ccw.s32 { 4 } } })
    fails("x: s64(1), expected 1", assert.same_bits, { x = 1 }, { x = ccw.s64(1) })
  end)

  it("the first element that differs is named", function()
    fails("[2][1] is 9, expected 3; 2 of 4 elements differ (s32[2,2])", assert.same, ccw.s32 { { 1, 2 }, { 3, 4 } },
      ccw.s32 { { 1, 2 }, { 9, 9 } })
  end)

  it("there are a mode of numbers and a mode of bits", function()
    assert.same(ccw.f32 { 0.0 }, ccw.f32 { -0.0 })
    assert.not_same(ccw.f32 { nan }, ccw.f32 { nan })
    assert.same_bits(ccw.f32 { nan }, ccw.f32 { nan })
    assert.same_bits(nan, nan)
    assert.not_same_bits({ 1 }, { 1.0 })
    assert.not_same_bits(0.0, -0.0)
    fails("[1] is -0.0, expected 0; 1 of 1 elements differ (f32[1])", assert.same_bits, ccw.f32 { 0.0 }, ccw.f32 { -0.0 })
    fails("[1]: 1.0, expected 1", assert.same_bits, { 1 }, { 1.0 })
  end)

  it("u64's largest is not -1", function()
    fails("dtypes differ: s64(-1), expected u64(18446744073709551615)", assert.same, ccw.u64 "18446744073709551615", ccw.s64(-1))
    assert.same(ccw.u64 "18446744073709551615", ccw.u64 "0xFFFFFFFFFFFFFFFF")
    assert.not_same(ccw.u64 { ccw.u64 "18446744073709551615" }, ccw.s64 { -1 })
  end)

  it("attributes are compared with their types", function()
    assert.same(ccw.attrs { n = 1, s = "x" }, ccw.attrs { s = "x", n = 1 })
    fails("{n = f64(1)}, expected {n = 1}", assert.same, ccw.attrs { n = 1 }, ccw.attrs { n = 1.0 })
    fails("{n = s32(1)}, expected {n = 1}", assert.same, ccw.attrs { n = 1 }, ccw.attrs { n = ccw.s32(1) })
    assert.same(ccw.type "f32[2]", ccw.type "f32[2]")
  end)

  it("close takes buffers, numbers and tables, with the tolerances of compare", function()
    assert.close(ccw.f32 { 1, 2 }, ccw.f32 { 1, 2.00001 })
    assert.close({ 1, 2 }, ccw.bf16 { 1, 2 })
    assert.close(1, 1.0000000000001)
    assert.close(ccw.f32 { 1 }, ccw.f32 { 1.5 }, { atol = 1 })
    assert.not_close(ccw.f32 { 1 }, ccw.f32 { 1.5 })
    fails("[2] is 2.5, expected 2; 1 of 2 elements differ (f32[2]), by up to 0.5", assert.close, { 1, 2 }, ccw.f32 { 1, 2.5 })
    fails("why\n[1] is 2, expected 1", assert.close, ccw.f32 { 1 }, ccw.f32 { 2 }, nil, "why")
    fails("dtypes differ: f32[1], expected f64[1]", assert.close, ccw.f64 { 1 }, ccw.f32 { 1 })
    fails("it is 3, expected 1", t.close, 1, 3)
    assert.close(2, ccw.f32 { 2, 2 })
    assert.close(2, ccw.f32(2))
    fails("[1] is nan, expected nan, but a NaN equals nothing", assert.close, ccw.f32 { 0 / 0 }, ccw.f32 { 0 / 0 })
    local closed = ccw.f32 { 1 }
    closed:close()
    fails("assert.close: a buffer is closed", assert.close, closed, ccw.f32 { 1 })
    fails("assert.close: what is expected of f32[1]: nil is nothing to be close to", assert.close, nil, ccw.f32 { 0 })
    fails("assert.close: what is expected of f32[1]: expected 1 elements, got 2", assert.close, { 1, 2 }, ccw.f32 { 0 })
    fails("assert.close: no option is called 'rtl'; near: rtol", assert.close, 1, 1, { rtl = 1 })
  end)
end)

describe("errors are objects, case C80:", function()
  local function failing() return ccw.call(lib.scale, { ccw.f32 { 1 } }, "f32[1]", { s = "x" }) end

  it("rejects gives the error, whose fields can be read", function()
    local err = assert.rejects("INVALID_ARGUMENT", ccw.call, lib.add_mod, { ccw.f32 {}, ccw.s32 { 1 } }, "f32[1]")
    assert.equal("INVALID_ARGUMENT", err.code)
    assert.same({ 1 }, err.operands)
    assert.equal("INVALID_ARGUMENT: " .. err.message, tostring(err))
    assert.equal("add_mod", err.handler)
  end)

  it("rejects tells what came instead", function()
    fails("expected NOT_FOUND, got INVALID_ARGUMENT: scale: ", assert.rejects, "NOT_FOUND", failing)
    fails("assert.rejects: expected a function, got number", assert.rejects, "NOT_FOUND", 5)
    fails("expected NOT_FOUND, got no error", assert.rejects, "NOT_FOUND", function() return true end)
    fails("expected the error object NOT_FOUND, got: ", assert.rejects, "NOT_FOUND", ccw.array, 5)
    assert.not_rejects("NOT_FOUND", failing)
  end)

  it("two are equal by code and message, and pcall keeps them", function()
    local _, one = pcall(failing)
    local other = t.rejects("INVALID_ARGUMENT", failing)
    assert.is_true(one == other)
    assert.is_false(rawequal(one, other))
    assert.same(one, other)
    assert.not_same(one, t.rejects("NOT_FOUND", ccw.find, "nothing of that name"))
    assert.has_error(failing, one)
    assert.error_matches(failing, "^INVALID_ARGUMENT: scale: ")
    assert.has_error(failing, tostring(one))
  end)
end)

describe("no_leaks", function()
  it("accepts what gives everything back, and what fills a cache once", function()
    local kept
    assert.no_leaks(function()
      kept = kept or ccw.f32 { 1 }
      return ccw.f32 { 1, 2 }:to "sim:0"
    end)
    assert.is_truthy(kept)
  end)

  it("tells what is left behind each time", function()
    local kept = {}
    fails("each call leaves behind: 2 blocks of memory, ", assert.no_leaks, function() kept[#kept + 1] = ccw.array "f32[16]" end)
    fails("1 allocation on sim:0, the last of 64 bytes", t.no_leaks, function()
      kept[#kept + 1] = ccw.array "f32[16]":to "sim:0"
    end)
  end)
end)

describe("a file of arrays as the oracle", function()
  it("brings expected results, operands, sizes and dtypes", function()
    if not ccw.read then return pending "this ccw reads no files of arrays" end
    local path = support.temporary() .. "/ref.npz"
    ccw.write(path, { x = ccw.f32 { 1, 2, 3 }, y = ccw.f32 { 2, 4, 6 } })
    local spec = support.write("npz.lua", ([[
      local ccw, t = require "ccw", require "ccw.test"
      local lib = ccw.load %q
      t.check(lib.scale, "(x: T[n]) -> (y: T[n]) {s: f32}", { s = 2, oracle = %q })
      t.check(lib.scale, "(x: T[n]) -> (y: T[n]) {s: f32}", { s = 3, oracle = %q })
    ]]):format(support.kernels, path, path))
    local output = run(spec)
    assert.matches("result 0 'y': [1] is 3, expected 2; 3 of 3 elements differ", output, 1, true)
    assert.matches("\n1 passed, 1 failed, 0 skipped\n$", output)
  end)
end)

describe("a worker", function()
  it("answers in a process of its own", function()
    local count = 0
    local worker <close> = core.worker(function(question)
      count = count + 1
      return question .. count
    end)
    assert.equal("a1", worker:ask("a", 10))
    assert.equal("b2", worker:ask("b", 10))
    assert.equal(0, count)
    local long = ("x"):rep(1 << 20)
    assert.equal(long .. 3, worker:ask(long, 10))
  end)

  it("is over when it ends, and told how", function()
    for how, f in pairs { ["exit 3"] = function() os.exit(3) end, timeout = function() while true do count = 1 end end } do -- luacheck: ignore
      local worker <close> = core.worker(f)
      local answer, told = worker:ask("", how == "timeout" and 0.05 or 10)
      assert.is_nil(answer)
      assert.equal(how, told)
      assert.is_true(worker:over())
      assert.error_matches(function() worker:ask("", 1) end, "this worker is over")
    end
  end)

  it("says what it could not answer", function()
    local code = [[print(require "ccw.core".worker(function() error("no", 0) end):ask("", 10))]]
    assert.equal("ccw: a question was not answered: no\nnil\texit 70\n", (support.sh(("'%s' -e '%s'"):format(support.program, code))))
  end)
end)

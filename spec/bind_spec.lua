-- CC-2, CC-4, CC-6, CC-7, CC-20 to CC-25, CC-37, CC-41: handlers written in Lua.
local ccw = require "ccw"
local core = require "ccw.core"
local support = require "spec.support"
local refuses = support.refuses

local plain = ccw.load(support.library "plain")

--- What the handler itself says of a call that fails.
local function failure(target, operands, results, attributes)
  local value, err = ccw.try(ccw.call, target, operands, results, attributes, { signature = false })
  assert.is_nil(value)
  return err
end

local function message(...) return failure(...).message end

describe("CC-2 a binding in Lua", function()
  local add = ccw.bind "add_mod(b: f32[k], c: f32[n]) -> (a: f32[n])":to(function(b, c, a)
    for i = 1, #a do a[i] = b[(i - 1) % #b + 1] + c[i] end
  end)

  it("CC-28: is a handler", function()
    local b, c = ccw.iota "f32[128]", ccw.iota "f32[2048]"
    local expected = ccw.array("f32[2048]", function(i) return (i - 1) % 128 + (i - 1) end)
    assert.equal("equal", tostring(ccw.compare(ccw.call(add, { b, c }, "f32[2048]"), expected)))
    ccw.register("spec.bind.add", add, "Host")
    assert.equal("f32[2] {1, 2}", tostring(ccw.call("spec.bind.add", { ccw.f32 { 1 }, ccw.f32 { 0, 1 } }, "f32[2]")))
    assert.equal("add_mod", add.name)
    assert.equal("0.1", add.version)
    local call = ccw.prepare(add, { ccw.f32 { 1 }, ccw.f32 { 2 } }, "f32[1]")
    assert.equal("f32[1] {3}", tostring(call()))
    assert.equal("f32[1] {3}", tostring(call()))
  end)

  it("checks what its signature says, relations too, all in one report", function()
    local x = ccw.iota "f32[4]"
    assert.equal("add_mod: execute: result 0 'a': expected f32[n] with n = 4 (captured from arg 1 'c', dim 0), got f32[3]",
      message(add, { x, x }, "f32[3]"))
    assert.equal("add_mod: execute: 2 bad operands\n  expected 2 args, got 1\n  expected 1 result, got 2",
      message(add, { x }, "(f32[3], f32[3])"))
    assert.equal("add_mod: execute: 2 bad operands\n  arg 0 'b': expected f32[k], got s32[1]\n" ..
      "  arg 1 'c': expected f32[n], got f32[]", message(add, { ccw.s32 { 1 }, ccw.array "f32[]" }, "f32[3]"))
  end)

  it("case C65: names all that is bad, operands and attributes", function()
    local f = ccw.bind "f(x: f32[?,?]) -> (y: f32[*]) {n: s32, s: f32}":to(function(...) return ... and nil end)
    local err = failure(f, { ccw.s32 { 1, 2, 3 } }, "f64[2]", { n = ccw.s64(1), s = ccw.f64(1) })
    assert.equal("INVALID_ARGUMENT", err.code)
    assert.equal("f: execute: 4 bad operands\n  arg 0 'x': expected f32[?,?], got s32[3]\n" ..
      "  result 0 'y': expected f32[*], got f64[2]\n  attribute 'n': expected s32, got s64\n" ..
      "  attribute 's': expected f32, got f64", err.message)
  end)

  it("reads as the guide's chain, in any order, and is immutable", function()
    local start = ccw.bind "chain"
    local f = start:ret("f32[n]", "y"):ctx "run_id":arg("f32[n]", "x"):attr("f32", "s"):optional_arg "f32"
    assert.equal("chain()", tostring(start))
    assert.equal("chain(@run_id, x: f32[n], ?: f32[*]) -> (y: f32[n]) {s: f32}", tostring(f))
    local handler = f:to(function(y, run_id, x, s, more)
      for i = 1, #x do y[i] = x[i] * s + run_id + (more and more[1] or 0) end
    end)
    local x = ccw.f32 { 1, 2 }
    assert.equal("f32[2] {9, 11}", tostring(ccw.call(handler, { x }, "f32[2]", { s = ccw.f32(2) }, { run_id = 7 })))
    assert.equal("f32[2] {12, 14}",
      tostring(ccw.call(handler, { x, ccw.f32 { 10 } }, "f32[2]", { s = ccw.f32(2) })))
  end)

  it("CC-21: refuses an order that is none, with the rule", function()
    for _, chain in ipairs {
      function() return ccw.bind():remaining_args():arg() end,
      function() return ccw.bind():optional_arg():arg() end,
      function() return ccw.bind():remaining_args():remaining_args() end,
      function() return ccw.bind():remaining_rets():ret() end,
      function() return ccw.bind():attr("s64", "n"):attr("f32", "n") end,
    } do
      local binding, err = ccw.try(chain)
      assert.is_nil(binding)
      assert.equal("INVALID_ARGUMENT", err.code)
      assert.matches("\n *%^", err.message)
    end
  end)

  it("has one word at a time", function()
    refuses("bad argument #1 to 'attr' (expected one pattern or kind, got \"x: s64, z: f32\")", function()
      ccw.bind():attr("s64, z: f32", "x")
    end)
    refuses("bad argument #1 to 'arg' (expected one pattern or kind", function() ccw.bind():arg "f32[n], f32[n]" end)
    assert.equal('"a b"("x?": f32[n]) -> ("y z": f32[n])', tostring(ccw.bind '"a b"("x?": f32[n])':ret("f32[n]", "y z")))
  end)

  it("says what was meant", function()
    refuses("a binding has no method 'argument'", function() ccw.bind():argument "f32" end)
    refuses("a binding has no method 'args'; near: arg", function() ccw.bind():args "f32" end)
    refuses("a method is called with a colon", function() ccw.bind().remaining_args() end)
    refuses("expected a handler, got a binding: give it its function, :to(f)", ccw.call, ccw.bind "f()", {}, "()")
  end)

  it("must fit its function", function()
    local binding = ccw.bind "f(x: f32[n], @run_id) -> (f32[n]) {s: f32}"
    refuses("bad argument #1 to 'to' (expected a function of 4 parameters (x, @run_id, ret, s), got one of 2)", function()
      binding:to(function(_, _) end)
    end)
    binding:to(function(...) return ... end)
    binding:to(print)
    refuses("bad argument #1 to 'to' (expected a function, got nil)", function() binding:to() end)
    refuses("bad argument #1 to 'to' (a handler in Lua has no context 'frame'; there are custom_options, device_ordinal, initialized, " ..
      "new_state, prepared, run_id, scratch, state, stream, threads, user_data)", function()
      ccw.bind "f(@frame)":to(function(_) end)
    end)
    refuses("'user_data' needs the name of a type, @user_data(NAME)", function() ccw.bind "f(@user_data)":to(function(_) end) end)
    refuses("'new_state' has no type in a handler in Lua, got @new_state(T)", function()
      ccw.bind "f(@new_state(T))":stage "instantiate":to(function() end)
    end)
  end)

  it("case C14: refuses a kind that is none where it is declared", function()
    refuses("attribute 'c': no kind is called 'character'", function() ccw.bind "f() {c: character}":to(function(_) end) end)
    refuses("pred, s8 to s64, u8 to u64, f32, f64, arrays as s64[], string, {...}", function()
      ccw.bind "f() {c: character}":to(function(_) end)
    end)
    local f = ccw.bind "f() {op: s32 = add(0)|copy(2)}":to(function(op) return nil, op end)
    assert.equal("f: execute: copy", message(f, {}, "()", { op = ccw.s32(2) }))
    assert.equal("f: execute: attribute 'op': expected s32 = add(0)|copy(2), got s64", message(f, {}, "()", { op = 2 }))
    assert.equal("f: execute: attribute 'op': expected s32 = add(0)|copy(2), got string", message(f, {}, "()", { op = "N" }))
    assert.equal("f: execute: attribute 'op': expected s32 = add(0)|copy(2), got 1", message(f, {}, "()", { op = ccw.s32(1) }))
  end)
end)

describe("CC-22 attributes", function()
  it("arrive as Lua has them, cases C06, C16, C17", function()
    local seen
    local f = ccw.bind("f() {flag: pred, n: u64, big: u64, x: f32, text: string, w: s64[], d: {...}, r: {flag: pred, n: s32, big: s64}, " ..
      "mode: s32 = fast(1)|safe(2)|..., other: s32 = fast(1)|..., p: pointer}"):to(function(...)
      seen = table.pack(...)
      seen[6] = tostring(seen[6])
    end)
    local attributes = { flag = true, n = ccw.u64(5), big = ccw.u64 "18446744073709551615", x = ccw.f32(0.5), text = "a\0b",
      w = ccw.s64 { 14, 42, 42 }, d = { b = { y = ccw.s32(2), x = { deep = "s", e = {} } }, a = ccw.f32(1) },
      r = { flag = true, n = ccw.s32(7), big = 1 << 40 }, mode = ccw.s32(2), other = ccw.s32(9), p = 4096 }
    ccw.call(f, {}, "()", attributes)
    assert.equal("u64(18446744073709551615)", tostring(seen[3]))
    seen[3] = false
    assert.same({ true, 5, false, 0.5, "a\0b", "s64[3] {14, 42, 42}", { a = 1.0, b = { y = 2, x = { deep = "s", e = {} } } },
      { flag = true, n = 7, big = 1 << 40 }, "safe", 9, 4096, n = 11 }, seen)
    attributes.w = ccw.s32 { 14 }
    attributes.r = ccw.s32 { 1, 7, 0 }
    assert.equal("f: execute: 2 bad operands\n  attribute 'w': expected s64[], got s32[]\n" ..
      "  attribute 'r': expected a dictionary, got s32[]",
      (message(f, {}, "()", attributes):gsub("a dictionary %(.-%)", "a dictionary")))
  end)

  it("case C01: missing, extra and misspelt ones are told apart; who binds none ignores them", function()
    local f = ccw.bind "f() {eps: f32}":to(function(_) end)
    local eps = ccw.f32(1e-5)
    ccw.call(f, {}, "()", { eps = eps })
    assert.equal("f: execute: attribute 'vmap_method': not expected; bound: 'eps'",
      message(f, {}, "()", { eps = eps, vmap_method = "sequential" }))
    assert.equal("f: execute: attribute 'eps': expected f32, got none; present: none", message(f, {}, "()", {}))
    assert.equal("f: execute: attribute 'eps': expected f32, got none; misspelt as 'epz'?", message(f, {}, "()", { epz = eps }))
    ccw.call(ccw.bind "none()":to(function() end), {}, "()", { eps = eps, more = 1 })
  end)

  it("CC-24: may be read all together, late", function()
    local names = {}
    local f = ccw.bind "f() {...}":to(function(all)
      for name in pairs(all) do names[#names + 1] = name end
    end)
    ccw.call(f, {}, "()", { a = 1, b = "x", c = {} })
    table.sort(names)
    assert.same({ "a", "b", "c" }, names)
  end)

  it("CC-4: are decoded by a function of one's own", function()
    local f = ccw.bind("f() {share: percent}", { percent = function(value)
      if value > 100 then return nil, "more than all" end
      return value / 100
    end }):to(function(share) return nil, tostring(share) end)
    assert.equal("f: execute: 0.25", message(f, {}, "()", { share = 25.0 }))
    assert.equal("f: execute: attribute 'share': more than all", message(f, {}, "()", { share = 125.0 }))
    local g = ccw.bind "g":attr("s64", "n", function(n) return { twice = 2 * n } end)
      :to(function(n) return nil, tostring(n.twice) end)
    assert.equal("g: execute: 10", message(g, {}, "()", { n = 5 }))
  end)
end)

describe("CC-7 operands and results", function()
  local x = ccw.f32 { 1, 2, 3 }
  local function run(f) return ccw.bind "f(x: f32[n]) -> (y: f32[n])":to(function(...) return f(...) end) end

  it("are read only, and written in place", function()
    assert.matches("^f: execute: [^\n]*: arg 0 'x': operands are read only\nstack traceback:",
      message(run(function(a) a[1] = 5 end), { x }, "f32[3]"))
    assert.matches("arg 0 'x': operands are read only", message(run(function(a) a:fill(5) end), { x }, "f32[3]"), 1, true)
    assert.matches("arg 0 'x': operands are read only", message(run(function(a) a.flat[1] = 5 end), { x }, "f32[3]"), 1, true)
    assert.matches("arg 0 'x': operands are read only",
      message(run(function(a) ccw.call(plain.increment, { x }, a) end), { x }, "f32[3]"), 1, true)
    assert.equal("f32[3] {1, 2, 3}", tostring(x))
    assert.matches("result 0 'y': index 4 is outside 1 to 3",
      message(run(function(_, y) y[4] = 5 end), { x }, "f32[3]"), 1, true)
    assert.matches("arg 0 'x': index 0 is outside 1 to 3", message(run(function(a) return a[0] end), { x }, "f32[3]"), 1, true)
  end)

  it("live as long as the call", function()
    local kept = {}
    ccw.call(run(function(a, y)
      kept = { a, y, a.flat, y:reshape "f32[3,1]"[2], a:copy() }
    end), { x }, "f32[3]")
    for i = 1, 4 do
      refuses("the call that it belonged to is over; keep its copy()", function() return #kept[i] end)
      refuses(i <= 2 and "this buffer is closed" or "the call that it belonged to is over", ccw.call, plain.increment,
        { kept[i] }, "f32[3]")
    end
    assert.equal("f32[3] {1, 2, 3}", tostring(kept[5]))
    assert.matches("a prepared call cannot keep arg 0 'x'",
      message(run(function(a) ccw.prepare(plain.increment, { a }, "f32[3]") end), { x }, "f32[3]"), 1, true)
  end)

  it("CC-20, CC-41: remaining and optional ones, case C41", function()
    local f = ccw.bind "f(first: f32[n], ...) -> (y: s64[], ...)":to(function(first, rest, y, rets)
      y:fill(#rest)
      for i, ret in ipairs(rets) do ret:fill(rest[i] and rest[i][1] or #first) end
    end)
    for _, size in ipairs { { 40, 3 }, { 300, 200 } } do
      local operands, results = {}, { "s64[]" }
      for i = 1, size[1] do operands[i] = ccw.f32 { i } end
      for i = 2, size[2] do results[i] = "f32[1]" end
      local y = ccw.call(f, operands, results)
      assert.equal(size[1] - 1, y[1]:item())
      assert.equal(3.0, y[3][1])
    end
    assert.equal(0, ccw.call(f, { x }, "s64[]"):item())
    assert.equal("f: execute: expected at least 1 arg, got 0", message(f, {}, "s64[]"))
    local o = ccw.bind "o(x: f32[n], mask?: pred[n]) -> (y: s64[])":to(function(_, mask, y) y:fill(mask and 1 or 0) end)
    assert.equal(0, ccw.call(o, { x }, "s64[]"):item())
    assert.equal(1, ccw.call(o, { x, ccw.array("pred[3]", true) }, "s64[]"):item())
    assert.equal("o: execute: arg 1 'mask': expected pred[n] with n = 3 (captured from arg 0 'x', dim 0), got pred[2]",
      message(o, { x, ccw.array "pred[2]" }, "s64[]"))
    assert.equal("o: execute: expected 1 to 2 args, got 3", message(o, { x, x, x }, "s64[]"))
  end)

  it("are of every dtype, packed ones too", function()
    local f = ccw.bind "copy(x: T[n]) -> (y: T[n])":to(function(a, y) for i = 1, #a do y[i] = a[i] end end)
    for dtype in pairs(core.dtypes()) do
      if dtype ~= "token" then
        local a = ccw.array(dtype .. "[5]", function(i)
          if dtype == "pred" then return i % 2 == 0 end
          return dtype == "s1" and -(i % 2) or i % 2
        end)
        assert.equal(tostring(a), tostring(ccw.call(f, { a }, dtype .. "[5]")))
      end
    end
    assert.equal("copy: execute: result 0 'y': expected T[n] with T = f32 (captured from arg 0 'x'), got f64[3]",
      message(f, { x }, "f64[3]"))
  end)
end)

describe("case C63: what a function returns", function()
  local function returning(...)
    local values = table.pack(...)
    return ccw.bind "f()":to(function() return table.unpack(values, 1, values.n) end)
  end

  it("is success for nothing, nil and true", function()
    assert.same({}, ccw.call(returning(), {}, "()"))
    assert.same({}, ccw.call(returning(nil), {}, "()"))
    assert.same({}, ccw.call(returning(true), {}, "()"))
    assert.same({}, ccw.call(returning(nil, nil), {}, "()"))
  end)

  it("fails with an error, which keeps its code", function()
    local _, err = ccw.try(ccw.load, "./not-there.so")
    for _, f in ipairs { returning(err), returning(nil, err) } do
      assert.equal("NOT_FOUND", failure(f, {}, "()").code)
      assert.equal("f: execute: ./not-there.so: no such file, and no library of that name", failure(f, {}, "()").message)
    end
    assert.equal("INTERNAL", failure(returning(nil, "no paper"), {}, "()").code)
    assert.equal("f: execute: no paper", message(returning "no paper", {}, "()"))
  end)

  it("is INTERNAL otherwise, and says of what type", function()
    local expected = { [returning(42)] = "a number", [returning(false)] = "a boolean", [returning {}] = "a table",
      [returning(print)] = "a function" }
    for f, type in pairs(expected) do
      local err = failure(f, {}, "()")
      assert.equal("INTERNAL", err.code)
      assert.equal(("f: execute: returned %s: expected nothing, or an error"):format(type), err.message)
    end
    assert.equal("f: execute: returned a buffer: results are written in place, as in y[i] = x, and nothing is returned",
      message(returning(ccw.f32 { 1 }), {}, "()"))
    assert.equal("f: execute: returned 2 values: expected nothing, or an error", message(returning(true, 5), {}, "()"))
  end)

  it("is not asked for where the function raises", function()
    local function raising(value) return ccw.bind "f()":to(function() error(value, 0) end) end
    local err = failure(raising "boom", {}, "()")
    assert.equal("UNKNOWN", err.code)
    assert.matches("^f: execute: boom\nstack traceback:\n\t%[C%]: in function 'error'\n\t[^\n]*bind_spec.lua:", err.message)
    local _, not_found = ccw.try(ccw.load, "./not-there.so")
    err = failure(raising(not_found), {}, "()")
    assert.equal("NOT_FOUND", err.code)
    assert.matches("^f: execute: %./not%-there%.so: no such file, [^\n]*\nstack traceback:", err.message)
    assert.equal("UNKNOWN", failure(raising(nil), {}, "()").code)
    assert.equal("UNKNOWN", failure(raising {}, {}, "()").code)
    local strange = setmetatable({}, { __tostring = function() error "twice" end })
    assert.equal("UNKNOWN", failure(raising(strange), {}, "()").code)
  end)
end)

describe("a handler in Lua", function()
  it("may call others, and itself, up to a depth", function()
    local self
    self = ccw.bind "deep(x: f32[n]) -> (y: f32[n])":to(function(x, y) ccw.call(self, { x }, y) end)
    local err = failure(self, { ccw.f32 { 1 } }, "f32[1]")
    assert.equal("RESOURCE_EXHAUSTED", err.code)
    assert.matches("more than 50 handlers in each other", err.message, 1, true)
  end)

  it("cannot yield, and leaves coroutines alone", function()
    local f = ccw.bind "f()":to(function() coroutine.yield() end)
    local ok, err = coroutine.resume(coroutine.create(function() return failure(f, {}, "()") end))
    assert.is_true(ok)
    assert.matches("attempt to yield", err.message, 1, true)
  end)

  it("cannot end the call that it runs in", function()
    local call
    local f = ccw.bind "f()":to(function() call:close() end)
    call = ccw.prepare(f, {}, "()")
    local _, err = ccw.try(call)
    assert.matches("this call is running", err.message, 1, true)
    f = ccw.bind "f()":to(function() call() end)
    call = ccw.prepare(f, {}, "()")
    _, err = ccw.try(call)
    assert.matches("this call is running", err.message, 1, true)
  end)

  it("is called from any thread, one at a time", function()
    local count, inside, most = 0, 0, 0
    local f = ccw.bind "f(x: f32[n])":to(function(x)
      inside = inside + 1
      most = math.max(most, inside)
      for _ = 1, 20 do count = count + x[1] end
      collectgarbage "step"
      inside = inside - 1
    end)
    ccw.call(plain.relay, { ccw.f32 { 1 } }, "()", { handler = f.address, threads = 8, times = 50 })
    assert.equal(8 * 50 * 20, count)
    assert.equal(1, most)
    local g = ccw.bind "g(x: f32[n])":to(function(x)
      ccw.call(plain.relay, { x }, "()", { handler = f.address, threads = 2, times = 2 }) -- gives the state up again
    end)
    count = 0
    ccw.call(plain.relay, { ccw.f32 { 1 } }, "()", { handler = g.address, threads = 4, times = 5 })
    assert.equal(4 * 5 * 2 * 2 * 20, count)
    local failing = ccw.bind "failing(x: f32[n])":to(function(_) error("from a thread", 0) end)
    assert.matches("relay: execute: failing: execute: from a thread",
      message(plain.relay, { ccw.f32 { 1 } }, "()", { handler = failing.address, threads = 4, times = 5 }), 1, true)
  end)

  it("fails once its Lua state is closed, and its memory belongs to one thread", function()
    assert.equal("OK\nOK later\nOK\nABORTED l: execute: everybody has dropped its promise, and nobody has completed it\nfuture: failed\n" ..
      "FAILED_PRECONDITION h: execute: the Lua state that it was written in is closed\n",
      (support.sh("'" .. support.build .. "/spec/closed_lua'")))
    local shared, address
    local f = ccw.bind "f(x: f32[n])":to(function(x)
      if shared then return nil, select(2, pcall(function() return shared[1] end)) end
      shared = x
      ccw.call(plain.relay, { ccw.f32 { 1 } }, "()", { handler = address, threads = 1, times = 1 })
    end)
    address = f.address
    assert.matches("arg 0 'x': it belongs to a call on another thread; keep its copy()", message(f, { ccw.f32 { 1 } }, "()"), 1, true)
  end)

  it("may end the process from another thread", function()
    local path = support.write("exit.lua", ([[
      local plain = ccw.load "%s"
      local h = ccw.bind "h(x: f32[n])":to(function(_) os.exit(3, true) end)
      ccw.call(plain.relay, { ccw.f32 { 1 } }, "()", { handler = h.address, threads = 1, times = 1 })
      print "still here"
    ]]):format(support.library "plain"))
    assert.equal("3\n", (support.sh(("'%s' '%s'; echo $?"):format(support.program, path))))
  end)

  it("is not buried under attributes", function()
    local nested = ccw.attrs { x = 1 }
    for _ = 1, 24 do nested = ccw.attrs { a = nested, b = nested } end
    local f = ccw.bind "f() {...}":to(function(_) end)
    assert.matches("f: execute: more than 1048576 attributes", message(f, {}, "()", nested), 1, true)
  end)

  it("refuses operands that are none, remaining ones too", function()
    local taking = ccw.bind "taking(x: f32[n], ...)":to(function(_, rest) return nil, tostring(rest[1][1]) end)
    for flaw, text in pairs { [1] = "NULL", [2] = "one without dims", [3] = "one without data", [4] = "one of a rank that is none",
      [5] = "no buffer", [6] = "one of no dtype", [7] = "one with a dim below zero" } do
      assert.equal("spoil: execute: taking: execute: arg 1: expected a buffer, got " .. text,
        message(plain.spoil, { ccw.f32 { 1 }, ccw.f32 { 2 } }, "()", { flaw = flaw, handler = taking.address }))
    end
    assert.equal("spoil: execute: taking: execute: 2.0",
      message(plain.spoil, { ccw.f32 { 1 }, ccw.f32 { 2 } }, "()", { flaw = 0, handler = taking.address }))
  end)

  it("refuses to nest where the stack ends", function()
    local f
    local function deep(n)
      if n == 0 then return ccw.call(f, {}, "()") end
      return (string.gsub("x", "x", function() deep(n - 1) end))
    end
    f = ccw.bind "f()":to(function() deep(150) end)
    assert.equal("RESOURCE_EXHAUSTED", failure(f, {}, "()").code)
  end)

  it("leaks nothing where an error comes out of an error", function()
    local f = ccw.bind "f()":to(function()
      local _ <close> = setmetatable({}, { __close = function() error("second", 0) end })
      error("first", 0)
    end)
    assert.matches("f: execute: second", message(f, {}, "()"), 1, true)
  end)

  it("leaves nothing behind", function()
    local f = ccw.bind "f(x: f32[n], ...) -> (y: f32[n]) {w: s32[]}":to(function(x, rest, y, w)
      y[1] = x[1] + #rest + x:reshape "f32[1,1]"[1][1] + w[1]
    end)
    local operands = { ccw.f32 { 1 }, ccw.f32 { 2 } }
    local function live()
      collectgarbage()
      collectgarbage()
      return core.memory().blocks
    end
    ccw.call(f, operands, "f32[1]", { w = ccw.s32 { 1 } })
    local before = live()
    for _ = 1, 100 do ccw.call(f, operands, "f32[1]", { w = ccw.s32 { 1 } }) end
    assert.equal(before, live())
    do
      local _ = ccw.bind "f()":to(function() end)
    end
    assert.equal(before, live())
  end)
end)

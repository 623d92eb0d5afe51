-- CC-2, CC-21, CC-22, CC-23, CC-25, CC-41: the text of signatures, and calls checked against them.
local ccw = require "ccw"
local core = require "ccw.core"

--- The message of the failure that f(...) raises.
local function message_of(f, ...)
  local value, err = ccw.try(f, ...)
  assert.is_nil(value)
  assert.equal("INVALID_ARGUMENT", err.code)
  return err.message
end

--- Checks a call against the text of a signature; the message, nil where it fits.
local function check(text, operands, results, attributes)
  local _, err = ccw.try(function()
    return ccw.signature(text):check(operands, results or {}, ccw.attrs(attributes or {}))
  end)
  return err and err.message
end

describe("CC-2 a signature's text", function()
  it("is read and printed alike", function()
    for _, text in ipairs {
      "block_norm(@state, x: f32[r,n], w: f32[n]) -> (y: f32[r,n]) {block: s64, eps: f32}",
      "Scale(f32[?]) -> (f32[?]) {s: f32}",
      "many(@stream, b: bf16[*], mask?: pred[n], ...) -> (o: f32[], ...) {mode: string, w: s32[], " ..
        "op: s32 = add(0)|mul(1), range: {lo: s64, hi: s64}, ...}",
      "f()", "()", "(...)", "(?, x: ?, ?: ?, y?: s4[3])", "f(@Mine, @user_data, T[n,T], U9[*], any[4,*])",
      "f(@state((anonymous namespace)::Box<int, (f)3>), f32[])",
      "f(@state(Counter), @stream_as(cudaStream_t), @type(const struct x *), @type(stream), @type, @new_state(T), f32[])",
      "f() {a: s32, ...Unknown}", "f(s32|s64[*1|2], token[], x: any[?,*])",
      "f() -> (...) {...}",
      "f() {p: pointer, t: Thing, u: ?, z: {}, d: {...}}",
      "f() {e: u64 = a(18446744073709551615)|\"b c\"(0)|..., g: s8 = low(-128)|high(127)}",
      [["a.b"("x y": f32[]) {"\"\\\n\xFF\x01é": {"a b": f64[]}}]],
      "f() {a: pred, b: s8[], c: u16, d: c64, e: c128, f: {g: {h: {i: s64}}}}",
    } do
      assert.equal(text, tostring(ccw.signature(text)))
    end
  end)

  it("is printed in one way, however it was written", function()
    local ranks = "1"
    for rank = 2, core.max_rank do ranks = ranks .. "|" .. rank end
    for text, printed in pairs {
      ["name(b: f32[?], @stream, ) -> (a: f32[?], ) {n: s64, }"] = "name(@stream, b: f32[?]) -> (a: f32[?]) {n: s64}",
      [" f ( x\n:f32 [ n , 2 ,] , m ? : pred [ ] , ... ) ->( ) { a : s32 [ ] , }"] =
        "f(x: f32[n,2], m?: pred[], ...) {a: s32[]}",
      ["f()->(){}"] = "f()",
      ["f(s64|s32[*2])"] = "f(s32|s64[?,?])",
      ["f(f32[*0])"] = "f(f32[])",
      ["f(f32[*" .. ranks .. "])"] = "f(f32[?,*])",
      ["f() {e: s32=a(0)|b( - 1 )|, d: {...,}, s: {a: s32,},}"] = "f() {e: s32 = a(0)|b(-1), d: {...}, s: {a: s32}}",
      ['"f"("x": f32[])'] = "f(x: f32[])",
      ["f(x: f32[], @new_state( A ), @type(Mine), @state)"] = "f(@Mine, @state, @new_state(A), x: f32[])",
      ["f() {e: u8 = a(0xfF)|b(7u)|}"] = "f() {e: u8 = a(255)|b(7)}",
    } do
      assert.equal(printed, tostring(ccw.signature(text)))
    end
  end)

  it("gives the name and what is bound, in its own order", function()
    local s = ccw.signature "f(x: f32[n], @stream, m?: T[2], ...) -> (y?: ?, ...) {e: s32 = a(0), ...}"
    assert.equal("f", s.name)
    assert.equal("", ccw.signature "()".name)
    assert.same({
      { word = "arg", name = "x", text = "f32[n]" }, { word = "ctx", name = "", text = "@stream" },
      { word = "optional_arg", name = "m", text = "T[2]" }, { word = "remaining_args", name = "", text = "..." },
      { word = "optional_ret", name = "y", text = "?" }, { word = "remaining_rets", name = "", text = "..." },
      { word = "attr", name = "e", text = "s32 = a(0)" }, { word = "attrs", name = "", text = "..." },
    }, s:parameters())
  end)

  it("takes what the macros of handler.h write", function()
    local kinds = { Op = "s32 = add(0)|mul(1)|...", range = "{lo: s64, hi: s64, }" }
    assert.equal("f(@state(Counter), @new_state(Counter), x: f32[?], y?: any[*], ...) -> (z: f32[]) " ..
      "{\"a b\": s32 = add(0)|mul(1)|..., r: {lo: s64, hi: s64}}", tostring(ccw.signature("f(x: f32[?], y?: any[*], ..., " ..
      "@state(Counter), @new_state(Counter), ) -> (z: f32[], ) {\"a b\": Op, \"r\": range, }", kinds)))
    assert.equal("f() {lo: s64, hi: s64}", tostring(ccw.signature("f() -> () {...range, }", kinds)))
    assert.equal("signature: the attributes are no struct\n  f() {...Op}\n          ^",
      message_of(ccw.signature, "f() {...Op}", kinds))
    assert.equal("signature: attribute 'lo' is there twice\n  f() {lo: s8, ...range}\n                  ^",
      message_of(ccw.signature, "f() {lo: s8, ...range}", kinds))
  end)

  it("takes kinds by name from elsewhere, and prints what they are", function()
    local kinds = { Op = "s32 = add(0)|mul(1)", Range = "{lo: s64, op: Op}" }
    assert.equal("f() {a: {lo: s64, op: s32 = add(0)|mul(1)}, b: Other}",
      tostring(ccw.signature("f() {a: Range, b: Other}", kinds)))
    assert.equal("signature: Op: expected the end, got 'x'\n  s32 x\n      ^",
      message_of(ccw.signature, "f() {a: Op}", { Op = "s32 x" }))
    assert.matches("too many kinds by name, or in each other\n  {a: A}", message_of(ccw.signature, "f() {a: A}",
      { A = "{a: A}" }), 1, true)
    local doubling = {}
    for i = 1, 25 do doubling["K" .. i] = ("{a: K%d, b: K%d}"):format(i + 1, i + 1) end
    assert.matches("too many kinds by name", message_of(ccw.signature, "f() {a: K1}", doubling), 1, true)
  end)

  it("is refused where it is wrong, with the place", function()
    for text, message in pairs {
      [""] = "expected a name or '(', got the end\n  \n  ^",
      ["f"] = "expected '(' and the operands, got the end\n  f\n   ^",
      ["f(f32[n]"] = "expected ',' or ')', got the end\n  f(f32[n]\n          ^",
      ["f() x"] = "expected '->', '{' or the end, got 'x'\n  f() x\n      ^",
      ["f() -> f32[]"] = "expected '(' and the results, got 'f'\n  f() -> f32[]\n         ^",
      ["f(,)"] = "expected a dtype, as in f32[n], any[*] and T[n], got ','\n  f(,)\n    ^",
      ["f(f33[n])"] = "no dtype is called 'f33'\n  f(f33[n])\n    ^",
      ["f(x: i32[n])"] = "no dtype is called 'i32': XLA's name is s32\n  f(x: i32[n])\n       ^",
      ["f(F32[n])"] = "expected a dtype or a letter for one, got 'F32': the dtype is f32\n  f(F32[n])\n    ^",
      ["f(f32|any[n])"] = "no dtype is called 'any'\n  f(f32|any[n])\n        ^",
      ["f(f32|[n])"] = "expected a dtype, got '['\n  f(f32|[n])\n        ^",
      ["f(f32)"] = "expected '[', as in f32[n], f32[] and f32[*], got ')'\n  f(f32)\n       ^",
      ["f(f32[-1])"] = "expected a dim: a size, a name, '?', or '*' for any rank, got '-'\n  f(f32[-1])\n        ^",
      ["f(f32[*,n])"] = "no dim may follow '*'\n  f(f32[*,n])\n          ^",
      ["f(f32[n,*2])"] = "expected ',' or ']', got '2'\n  f(f32[n,*2])\n           ^",
      ["f(f32[*33])"] = "a rank of more than 32\n  f(f32[*33])\n         ^",
      ["f(f32[*1|])"] = "expected a size, got ']'\n  f(f32[*1|])\n           ^",
      ["f(@)"] = "expected the name of a context, as in @stream, got ')'\n  f(@)\n     ^",
      ["f(@Mine(T))"] = "a context that is not known has no type\n  f(@Mine(T))\n         ^",
      ["f(@state())"] = "expected the type of a context, as in @state(T), got ')'\n  f(@state())\n           ^",
      ["f(@state(a(b))"] = "expected ',' or ')', got the end\n  f(@state(a(b))\n                ^",
      ["f(@state(a(b)"] = "expected ')', got the end\n  f(@state(a(b)\n               ^",
      ["f() -> (@stream)"] = "a context stands among the operands\n  f() -> (@stream)\n          ^",
      ["f() {a}"] = "expected ':' and the kind of the attribute, got '}'\n  f() {a}\n        ^",
      ["f() {1: s32}"] = "expected the name of an attribute, or '...', got '1'\n  f() {1: s32}\n       ^",
      ["f() {a: 1}"] = "expected the kind of an attribute, as s64, f32[], string or {...}, got '1'\n  f() {a: 1}\n          ^",
      ["f() {a: int}"] = "no dtype is called 'int': XLA's name is s32\n  f() {a: int}\n          ^",
      ["f() {a: bf16}"] = "XLA has no attributes of bf16\n  f() {a: bf16}\n          ^",
      ["f() {a: pred[]}"] = "XLA has no attributes of pred[]\n  f() {a: pred[]}\n          ^",
      ["f() {a: s32[3]}"] = "expected ']': an attribute's array has any size, got '3'\n  f() {a: s32[3]}\n              ^",
      ["f() {a: f32 = x(0)}"] = "an enum is of an integer dtype, not of f32\n  f() {a: f32 = x(0)}\n          ^",
      ["f() {a: s8 = x(128)}"] = "expected a decimal or hexadecimal number that s8 holds\n  f() {a: s8 = x(128)}\n                 ^",
      ["f() {a: u8 = x(-1)}"] = "expected a decimal or hexadecimal number that u8 holds\n  f() {a: u8 = x(-1)}\n                 ^",
      ["f() {a: s64 = x(99999999999999999999)}"] =
        "expected a decimal or hexadecimal number that s64 holds\n  f() {a: s64 = x(99999999999999999999)}\n                  ^",
      ["f() {a: s32 = x(0)|x(1)}"] = "value 'x' is there twice\n  f() {a: s32 = x(0)|x(1)}\n                     ^",
      ["f() {a: s32 = ...}"] =
        "expected the name of a value, as in s32 = add(0)|mul(1), got '.'\n  f() {a: s32 = ...}\n                ^",
      ["f() {a: {b: s32, ...}}"] =
        "'...' stands alone in a dictionary that is an attribute\n  f() {a: {b: s32, ...}}\n                   ^",
      ["f() {a: {b: s32, b: s64}}"] =
        "attribute 'b' is there twice\n  f() {a: {b: s32, b: s64}}\n                   ^",
      ["f() {a: s32"] = "expected ',' or '}', got the end\n  f() {a: s32\n             ^",
      ["f() {\"\": s32}"] = "a name of no bytes\n  f() {\"\": s32}\n       ^",
      ["f() {\"a: s32}"] = "expected the '\"' that ends a name, got the end\n  f() {\"a: s32}\n               ^",
      ["f() {\"a\\q\": s32}"] = "expected \\n, \\\", \\\\ or \\xHH\n  f() {\"a\\q\": s32}\n          ^",
      ["f() {\"\\x00\": s32}"] = "a name cannot hold a NUL\n  f() {\"\\x00\": s32}\n           ^",
      ["f() {\"\1\": s32}"] =
        "a control byte in a name: it is written as \\xHH\n  f() {\"\\x01\": s32}\n        ^",
      ["f()\0"] = "expected '->', '{' or the end, got '\\x00'\n  f()\\x00\n     ^",
      ["f(f32[" .. ("1,"):rep(33) .. "])"] = "more than 32 dims\n  ...1," .. ("1,"):rep(29) .. "1,])\n" .. (" "):rep(65) .. "^",
    } do
      assert.equal("signature: " .. message, message_of(ccw.signature, text))
    end
    local _, err = ccw.try(ccw.signature, "f(f32[9223372036854775808])")
    assert.equal("OUT_OF_RANGE", err.code)
    assert.equal("signature: a size of 2^63 or more\n  f(f32[9223372036854775808])\n        ^", err.message)
  end)

  it("has limits, far from what anybody needs", function()
    local function times(count, format)
      local items = {}
      for i = 1, count do items[i] = format:gsub("#", tostring(i)) end
      return table.concat(items, ",")
    end
    assert.equal(4096, #ccw.signature("f(" .. times(4096, "f32[]") .. ")"):parameters())
    assert.matches("more than 4096 parameters", message_of(ccw.signature, "f(" .. times(4097, "f32[]") .. ")"), 1, true)
    assert.matches("more than 4096 members", message_of(ccw.signature, "f() {a: {" .. times(4097, "a#: s8") .. "}}"), 1, true)
    assert.matches("more than 4096 values", message_of(ccw.signature,
      "f() {a: s32 = " .. times(4097, "a#(#)"):gsub(",", "|") .. "}"), 1, true)
    local names = {}
    for i = 1, 129 do names[i] = "f32[" .. times(32, "a" .. i .. "_#") .. "]" end
    assert.matches("more than 4096 names", message_of(ccw.signature, "f(" .. table.concat(names, ",") .. ")"), 1, true)
    local deepest = "f() {a: " .. ("{a: "):rep(32) .. "s8" .. ("}"):rep(32) .. "}"
    assert.equal(deepest, tostring(ccw.signature(deepest)))
    assert.matches("more than 32 kinds in each other", message_of(ccw.signature, "f() {a: " .. ("{a: "):rep(100000)), 1, true)
  end)

  it("is misuse where it is no text", function()
    assert.has_error(function() ccw.signature(1) end, "bad argument #1 to 'signature' (string expected, got number)")
  end)
end)

describe("CC-21 the order of operands and results", function()
  for text, message in pairs {
    ["f(..., x: f32[])"] = "a regular operand may not follow the remaining ones: '...' stands last\n  f(..., x: f32[])\n         ^",
    ["f(..., x?: f32[])"] = "an optional operand may not follow the remaining ones: '...' stands last\n  f(..., x?: f32[])\n         ^",
    ["f(x?: f32[], f32[])"] = "a regular operand may not follow an optional one\n  f(x?: f32[], f32[])\n               ^",
    ["f(..., ...)"] = "the remaining operands are there twice: '...' stands once, last\n  f(..., ...)\n         ^",
    ["f() -> (..., ?)"] = "a regular result may not follow the remaining ones: '...' stands last\n  f() -> (..., ?)\n               ^",
    ["f() -> (?: ?, ?)"] = "a regular result may not follow an optional one\n  f() -> (?: ?, ?)\n                ^",
    ["f() -> (...,...)"] = "the remaining results are there twice: '...' stands once, last\n  f() -> (...,...)\n              ^",
    ["f(x: f32[], x: f32[])"] = "operand 'x' is there twice\n  f(x: f32[], x: f32[])\n              ^",
    ["f() -> (x: ?, x: ?)"] = "result 'x' is there twice\n  f() -> (x: ?, x: ?)\n                ^",
    ["f() {a: s32, a: s64}"] = "attribute 'a' is there twice\n  f() {a: s32, a: s64}\n               ^",
    ["f() {..., a: s64}"] = "no attribute may follow '...'\n  f() {..., a: s64}\n            ^",
    ["f() {..., ...}"] = "'...' is there twice\n  f() {..., ...}\n            ^",
  } do
    it("refuses " .. text, function() assert.equal("signature: " .. message, message_of(ccw.signature, text)) end)
  end

  it("lets contexts stand anywhere, and a result be called as an operand is", function()
    assert.equal("f(@stream, @state, x: f32[], ...) -> (x: f32[])",
      tostring(ccw.signature "f(x: f32[], @stream, ..., @state) -> (x: f32[])"))
  end)
end)

describe("CC-2 a call against a signature", function()
  local scale = "scale(x: f32[r,n], w: f32[n]) -> (y: f32[r,n])"

  it("fits", function()
    assert.is_nil(check(scale, { "f32[2,128]", "f32[128]" }, { "f32[2,128]" }))
    assert.is_nil(check("f(s32|s64[*1|2], any[4,*], T[n,n], T[]) -> (?)",
      { "s64[1,2]", "pred[4,5,6]", "s4[3,3]", "s4[]" }, { "token[]" }))
    assert.is_true(ccw.signature "f(f32[n])":check({ ccw.type "f32[3]" }, {}))
  end)

  it("says what a captured size or dtype is, and where it was captured", function()
    assert.equal("scale: arg 1 'w': expected f32[n] with n = 128 (captured from arg 0 'x', dim 1), got f32[64]",
      check(scale, { "f32[2,128]", "f32[64]" }, { "f32[2,128]" }))
    assert.equal("scale: result 0 'y': expected f32[r,n] with r = 2 (captured from arg 0 'x', dim 0) and n = 128 " ..
      "(captured from arg 0 'x', dim 1), got f32[3,4]", check(scale, { "f32[2,128]", "f32[128]" }, { "f32[3,4]" }))
    assert.equal("arg 1: expected T[n] with T = f32 (captured from arg 0), got s32[3]",
      check("(T[n], T[n])", { "f32[3]", "s32[3]" }))
    assert.equal("arg 0: expected f32[n,n,n] with n = 2 (captured from dim 0), got f32[2,3,4]",
      check("(f32[n,n,n])", { "f32[2,3,4]" }))
    assert.equal("result 1: expected f32[m] with m = 2 (captured from result 0, dim 0), got f32[3]",
      check("() -> (f32[m], f32[m])", {}, { "f32[2]", "f32[3]" }))
  end)

  it("captures nothing from what does not fit", function()
    assert.equal("f: arg 0 'x': expected f32[n], got s32[3]", check("f(x: f32[n], w: f32[n])", { "s32[3]", "f32[4]" }))
    assert.equal("f: arg 0: expected f32[n,n] with n = 2 (captured from dim 0), got f32[2,3]",
      check("f(f32[n,n], f32[n])", { "f32[2,3]", "f32[3]" }))
  end)

  it("says all that is wrong, a line each", function()
    assert.equal([==[
scale: 3 bad operands
  arg 0 'x': expected f32[r,n], got s32[3]
  arg 1 'w': expected f32[n], got f32[]
  result 0 'y': expected f32[r,n], got f32[2]]==], check(scale, { "s32[3]", "f32[]" }, { "f32[2]" }))
    assert.equal([[
f: 4 bad operands
  expected 2 args, got 1
  expected 1 result, got 0
  attribute 'a': expected f32, got s64
  attribute 'b': expected string, got none; present: 'a']], check("f(?, ?) -> (?) {a: f32, b: string}", { "f32[]" }, {},
      { a = 1 }))
  end)

  it("names patterns of every form", function()
    assert.equal("f: arg 0: expected s32|s64[*1|2], got f32[3]", check("f(s32|s64[*1|2])", { "f32[3]" }))
    assert.equal("f: arg 0: expected any[*1|2], got f32[]", check("f(any[*1|2])", { "f32[]" }))
    assert.equal("f: arg 0: expected f32[?,4,*], got f32[4,3]", check("f(f32[?,4,*])", { "f32[4,3]" }))
    assert.equal("f: arg 0: expected f32[?,4,*], got f32[4]", check("f(f32[?,4,*])", { "f32[4]" }))
  end)

  it("begins its message as it is told", function()
    local s = ccw.signature "f(f32[])"
    assert.equal("scale: execute: arg 0: expected f32[], got s32[]",
      message_of(s.check, s, { "s32[]" }, {}, nil, "scale: execute"))
    assert.equal("arg 0: expected f32[], got s32[]", message_of(s.check, s, { "s32[]" }, {}, nil, ""))
  end)

  it("CC-41 counts, with optional and remaining ones", function()
    assert.equal("f: expected 1 arg, got 2", check("f(?)", { "f32[]", "f32[]" }))
    assert.equal("f: expected 1 to 2 args, got 0", check("f(?, ?: ?)", {}))
    assert.equal("f: expected 1 to 2 args, got 3", check("f(?, ?: ?)", { "f32[]", "f32[]", "f32[]" }))
    assert.equal("f: expected at least 1 arg, got 0", check("f(?, x?: ?, ...)", {}))
    assert.equal("f: expected at least 2 results, got 1", check("f() -> (?, ?, ...)", {}, { "f32[]" }))
    assert.is_nil(check("f(?, m?: pred[], ...)", { "f32[]" }))
    assert.is_nil(check("f(?, m?: pred[], ...)", { "f32[]", "pred[]", "s32[3]", "s64[]" }))
    assert.equal("f: arg 1 'm': expected pred[], got s32[]", check("f(?, m?: pred[], ...)", { "f32[]", "s32[]" }))
  end)

  it("CC-22 looks at no family of which nothing is bound", function()
    assert.is_nil(check("f()", { "f32[]" }, { "s32[]" }, { a = 1 }))
    assert.is_nil(check("f() {...}", {}, {}, { a = 1 }))
  end)

  it("has room for many captures", function()
    local dims, sizes = {}, {}
    for i = 1, 20 do dims[i], sizes[i] = "d" .. i, i < 20 and "1" or "20" end
    local text = ("f(f32[%s], f32[d20])"):format(table.concat(dims, ","))
    local shape = ("f32[%s]"):format(table.concat(sizes, ","))
    assert.is_nil(check(text, { shape, "f32[20]" }))
    assert.equal("f: arg 1: expected f32[d20] with d20 = 20 (captured from arg 0, dim 19), got f32[19]",
      check(text, { shape, "f32[19]" }))
  end)
end)

describe("CC-22 attributes against a signature", function()
  it("must be just those, each of its kind", function()
    local text = "f() {a: f32, b: s32[], c: string, d: {...}, p: pointer, t: Thing, u: ?}"
    local good = { a = ccw.f32(1), b = ccw.s32 { 1 }, c = "x", d = {}, p = 5, t = "any", u = true }
    assert.is_nil(check(text, {}, {}, good))
    for name, case in pairs {
      a = { 1.5, "expected f32, got f64" }, b = { ccw.s64 { 1 }, "expected s32[], got s64[]" },
      c = { 1, "expected string, got s64" }, d = { "x", "expected a dictionary, got string" },
      p = { ccw.u64(5), "expected s64 (a pointer), got u64" },
    } do
      local attributes = {}
      for key, value in pairs(good) do attributes[key] = value end
      attributes[name] = case[1]
      assert.equal(("f: attribute '%s': %s"):format(name, case[2]), check(text, {}, {}, attributes))
    end
  end)

  it("are told apart when they are missing, misspelt or too many", function()
    assert.equal("f: attribute 'eps': expected f32, got none; present: 'a', 'b'",
      check("f() {eps: f32, a: s64, b: s64}", {}, {}, { a = 1, b = 2 }))
    assert.equal("f: attribute 'eps': expected f32, got none; misspelt as 'esp'?",
      check("f() {eps: f32}", {}, {}, { esp = ccw.f32(1) }))
    assert.equal("f: attribute 'other': not expected; bound: 'eps'",
      check("f() {eps: f32}", {}, {}, { eps = ccw.f32(1), other = 1 }))
  end)

  it("may be more where the signature says so", function()
    assert.is_nil(check("f() {a: s64, ...}", {}, {}, { a = 1, b = 2 }))
    assert.equal("f: 2 bad operands\n  attribute 'a': expected s64, got f64\n" ..
      "  attribute 'c': expected string, got none; present: 'a', 'b'",
      check("f() {a: s64, c: string, ...}", {}, {}, { a = 1.5, b = 2 }))
  end)

  it("CC-23 are one of the values of an enum, unless it is open", function()
    local text = "f() {op: s32 = add(0)|mul(1)}"
    assert.is_nil(check(text, {}, {}, { op = ccw.s32(1) }))
    assert.equal("f: attribute 'op': expected s32 = add(0)|mul(1), got 2", check(text, {}, {}, { op = ccw.s32(2) }))
    assert.equal("f: attribute 'op': expected s32 = add(0)|mul(1), got s64", check(text, {}, {}, { op = 1 }))
    assert.is_nil(check("f() {op: s32 = add(0)|...}", {}, {}, { op = ccw.s32(2) }))
  end)

  it("CC-25 are looked at one by one in a struct", function()
    local text = "f() {range: {lo: s64, hi: s64}}"
    assert.is_nil(check(text, {}, {}, { range = { lo = 0, hi = 42 } }))
    assert.equal("f: 2 bad operands\n  attribute 'range.lo': expected s64, got f64\n" ..
      "  attribute 'range.hi': expected s64, got none; present: 'lo'", check(text, {}, {}, { range = { lo = 0.5 } }))
    assert.equal("f: attribute 'step' of 'range': not expected; bound: 'lo', 'hi'",
      check(text, {}, {}, { range = { lo = 0, hi = 1, step = 2 } }))
    assert.equal("f: attribute 'range': expected a dictionary ({lo: s64, hi: s64}), got s64",
      check(text, {}, {}, { range = 1 }))
  end)
end)

describe("results that follow from the operands", function()
  local function results(text, operands)
    local list = ccw.signature(text):results(operands)
    for i, result in ipairs(list) do list[i] = tostring(result) end
    return list
  end

  it("are known where every name is", function()
    assert.same({ "f32[2,128]" }, results("(x: f32[r,n], w: f32[n]) -> (y: f32[r,n])", { "f32[2,128]", "f32[128]" }))
    assert.same({ "s4[3,7]", "pred[]" }, results("(T[n]) -> (T[n,7], pred[], o?: ?, ...)", { "s4[3]" }))
    assert.same({}, results("(f32[n])", { "f32[1]" }))
  end)

  it("are refused where one is not, by name", function()
    local function refused(text, operands)
      local s = ccw.signature(text)
      return message_of(s.results, s, operands)
    end
    assert.equal("f: result 0 'y': f32[n,m]: dim 1 'm' is not determined by the operands: give the results, or a signature with names",
      refused("f(f32[n]) -> (y: f32[n,m])", { "f32[1]" }))
    assert.equal("f: result 0: f32[n]: dim 0 'n' is not determined by the operands: give the results, or a signature with names",
      refused("f(?, x?: f32[n]) -> (f32[n])", { "f32[1]" }))
    assert.equal([[
f: 6 bad operands
  result 0: ?: the type is not determined by the operands: give the results, or a signature with names
  result 1: s32|s64[]: the dtype is not determined by the operands: give the results, or a signature with names
  result 3: T[]: the dtype 'T' is not determined by the operands: give the results, or a signature with names
  result 4: any[]: the dtype is not determined by the operands: give the results, or a signature with names
  result 5: f32[*1|2]: the rank is not determined by the operands: give the results, or a signature with names
  result 6: f32[?]: dim 0 is not determined by the operands: give the results, or a signature with names]],
      refused("f(?) -> (?, s32|s64[], f32[], T[], any[], f32[*1|2], f32[?])", { "f32[1]" }))
    assert.equal("f: arg 0: expected f32[n], got s32[1]", refused("f(f32[n]) -> (f32[n])", { "s32[1]" }))
    local _, err = ccw.try(results, "f(f32[n]) -> (f32[n,n,n])", { "f32[4194304]" })
    assert.equal("OUT_OF_RANGE", err.code)
  end)
end)

describe("a declared signature and what the binary tells", function()
  local function agree(declared, told) return ccw.signature(declared):agree(ccw.signature(told)) end

  it("agree where it says more", function()
    for declared, told in pairs {
      ["f(x: f32[n]) -> (y: f32[n]) {s: f32}"] = "Scale(f32[?]) -> (f32[?]) {s: f32}",
      ["f(@scratch, x: f32[n,4], T[*1|2], s32[])"] = "(?, any[*], s32|s64[])",
      ["f(f32[128]) {op: s32 = a(0), p: s64, q: pointer, r: {a: f32}, t: s8, u: Mine}"] =
        "(f32[128]) {op: s32, p: pointer, q: s64, r: {...}, t: ?, u: string}",
      ["f() {op: s32, r: {...}, more: string}"] = "() {op: s32 = a(0), r: {a: s8}, ...}",
      ["f(?, a?: f32[], ...)"] = "(f32[], ?: any[*], ...)",
    } do
      assert.is_true(agree(declared, told))
    end
  end)

  it("are told apart, all at once", function()
    assert.equal([[
f: 9 disagreements
  arg 0 'x': declared s32[n], the binary binds f32[?]
  arg 1: declared any[?,?], the binary binds any[?]
  declared 2 results, 1 optional; the binary binds 1 result, and the remaining ones
  attribute 's': declared f64, the binary binds f32
  attribute 'r.a': declared s8, the binary binds s64
  attribute 'r.b': declared, and the binary binds none of that name
  attribute 'r.c': not declared, and the binary binds it as string
  attribute 'more': declared, and the binary binds none of that name
  attributes: '...' is declared, and the binary takes no further ones]],
      message_of(agree, "f(x: s32[n], any[?,?]) -> (?, ?, ?: ?) {s: f64, r: {a: s8, b: s8}, more: s8, ...}",
        "(f32[?], any[?]) -> (?, ...) {s: f32, r: {a: s64, c: string}}"))
    assert.equal("f: arg 0: declared f32[n], the binary binds f32[128]", message_of(agree, "f(f32[n])", "(f32[128])"))
    assert.equal("f: arg 0: declared f32[*], the binary binds f32[?]", message_of(agree, "f(f32[*])", "(f32[?])"))
    assert.equal("f: arg 0: declared T[], the binary binds f32[]", message_of(agree, "f(T[])", "(f32[])"))
  end)
end)

describe("the reader of signatures", function()
  local random = 20240601
  --- A number from 1 to n, the same in every run.
  local function draw(n)
    random = (random * 6364136223846793005 + 1442695040888963407) & math.maxinteger
    return (random >> 20) % n + 1
  end
  local function pick(list) return list[draw(#list)] end
  local function list(most, f)
    local items = {}
    for i = 1, draw(most + 1) - 1 do items[i] = f(i) end
    return items
  end

  local function dims()
    return table.concat(list(4, function() return pick { "?", "0", "17", "n", "rows", "T" } end), ",")
  end
  local function pattern()
    local dtypes = pick { "f32", "any", "T", "U9", "s32|s64", "token", "f8e4m3b11fnuz" }
    return pick { "?", dtypes .. "[" .. dims() .. "]", dtypes .. "[?,*]", dtypes .. "[*]", dtypes .. "[*1|3]" }
  end
  local function kind(depth)
    local simple = pick { "s64", "pred", "f32[]", "string", "pointer", "?", "Mine", "{...}", "u8 = a(1)|b(255)",
      "s32 = x(-1)|..." }
    if depth == 0 or draw(3) > 1 then return simple end
    return "{" .. table.concat(list(3, function(i) return "m" .. i .. ": " .. kind(depth - 1) end), ", ") .. "}"
  end
  local function operands(prefix, contexts)
    local items = list(contexts and 2 or 0, function() return pick { "@stream", "@state(T)", "@Mine" } end)
    for _, item in ipairs(list(3, function(i) return pick { "", prefix .. i .. ": " } .. pattern() end)) do
      items[#items + 1] = item
    end
    for _, item in ipairs(list(2, function(i) return pick { "", prefix .. "o" .. i } .. "?: " .. pattern() end)) do
      items[#items + 1] = item
    end
    if draw(3) == 1 then items[#items + 1] = "..." end
    return items
  end
  local function generate()
    local text = pick { "", "f", "Scale", '"a.b"' } .. "(" .. table.concat(operands("x", true), ", ") .. ")"
    local results = operands("y")
    if #results > 0 then text = text .. " -> (" .. table.concat(results, ", ") .. ")" end
    local attributes = list(4, function(i) return pick { "a" .. i, ('"a %d"'):format(i) } .. ": " .. kind(3) end)
    if draw(3) == 1 then attributes[#attributes + 1] = "..." end
    if #attributes > 0 then text = text .. " {" .. table.concat(attributes, ", ") .. "}" end
    return text
  end

  it("gives back what it was given", function()
    for _ = 1, 2000 do
      local text = generate()
      assert.equal(text, tostring(ccw.signature(text)))
    end
  end)

  --- A text with damage: a byte changed, left out or put in, a piece doubled, cut or moved.
  local function damage(text)
    local at, length = draw(#text + 1), draw(8)
    local byte = pick { string.char(draw(256) - 1), pick { "?", "*", ",", "|", "(", ")", "{", "}", "[", "]", '"', "\\", "9" } }
    local before, after = text:sub(1, at - 1), text:sub(at)
    return pick { before .. byte .. after, before .. byte .. after:sub(2), before .. after:sub(length), before,
      before .. after:sub(1, length) .. after, after .. before }
  end

  it("takes damaged text, or shows where it is wrong", function()
    local taken, refused = 0, 0
    for _ = 1, 10000 do
      local text = generate()
      for _ = 1, draw(2) do text = damage(text) end
      local value, err = ccw.try(ccw.signature, text)
      if value then
        taken = taken + 1
        local printed = tostring(value)
        assert.equal(printed, tostring(ccw.signature(printed)), text)
      else
        refused = refused + 1
        assert.is_true(err.code == "INVALID_ARGUMENT" or err.code == "OUT_OF_RANGE", text)
        assert.is_truthy(err.message:find "^signature: [^\n]+\n  [^\n]*\n +%^$", err.message)
      end
    end
    assert.is_true(taken > 500 and refused > 5000)
  end)

  it("checks damaged calls, and fails with a message at worst", function()
    for _ = 1, 2000 do
      local s = ccw.signature(generate())
      local function types() return list(5, function() return pick { "f32[]", "s32[0]", "s64[17,17]", "token[]" } end) end
      local operands_given, results_given = types(), types()
      local attributes = {}
      for i = 1, draw(4) do attributes[pick { "a" .. i, "a " .. i, "zz" }] = pick { 1, "x", true, { m1 = 1 }, ccw.s32 { 1 } } end
      for _, f in ipairs {
        function() return s:check(operands_given, results_given, ccw.attrs(attributes)) end,
        function() return s:results(operands_given) end,
        function() return s:agree(ccw.signature(generate())) end,
      } do
        local value, err = ccw.try(f)
        assert.is_true(value ~= nil or err.code == "INVALID_ARGUMENT")
      end
      assert.is_true(s:agree(s))
    end
  end)
end)

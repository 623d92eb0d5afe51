-- Answers to the lessons' exercises: right ones, written in other ways than the lesson's own, and wrong ones, with what is said of them.
return {
  binding = {
    triple = {
      right = {
        'local triple = ccw.bind "triple(x: f32[n]) -> (y: f32[n])":to(function(a, b) for i, v in ipairs(a) do b[i] = v * 3 end end)',
        'triple = ccw.bind():arg "f32[n]":ret "f32[n]":to(function(x, y) for i = #x, 1, -1 do y[i] = x[i] + x[i] + x[i] end return true end)',
        'triple = ccw.bind "f(x: f32[n]) -> (y: f32[n])":to(function(...) local x, y = ... for i = 1, #y do y[i] = 3 * x[i] end end)',
        'triple = ccw.bind "f(x: f32[n]) -> (y: f32[n])":to(function(x, y) local z = x:copy() y:set_bytes(z:bytes()) y = y.flat ' ..
          'for i = 1, #x do y[i] = 3 * x[i] end end)', -- another name for the result is no mistake when it is written
      },
      wrong = {
        ["triple = function(x) return x end"] =
          "triple: expected a handler, got a function\n  hint: ccw.bind \"...\":to(function(...) ... end) makes a handler",
        ['triple = ccw.bind "triple(x: f32[n]) -> (y: f32[n])"'] =
          "triple: expected a handler, got a binding\n  hint: give the binding its function: :to(function(...) ... end)",
        ['triple = ccw.bind "t(x: f32[n]) -> (y: f32[n])":to(function(x, y) for i = 1, #x do y[i] = 2 end end)'] =
          "triple: t(f32[5] {-9, 8, 7, 8, 4}): expected f32[5] {-27, 24, 21, 24, 12}, got f32[5] {2, 2, 2, 2, 2}",
      },
    },
    subtract = {
      right = { 'subtract = ccw.bind "subtract(a: f32[n], b: f32[n]) -> (c: f32[n])":to(function(x, y, z) ' ..
        'for i = 1, #z do z[i] = -x[i] + y[i] end end)' },
      wrong = {
        ['subtract = ccw.bind "s(a: f32[n], b: f32[n]) -> (c: f32[n])":to(function(a, b, c) ' ..
          'for i = 1, #c do c[i] = b[i] - a[i + 1] end end)'] =
          "subtract: an index at which there is nothing\n  hint: the last element is a[#a]",
      },
    },
  },
  errors = {
    root = {
      right = {
        'root = ccw.bind "root(x: f32[n]) -> (y: f32[n])":to(function(x, y) for i, v in ipairs(x) do ' ..
          'if v < 0 then return nil, "below zero" end y[i] = v ^ 0.5 end end)',
      },
      wrong = {
        ['root = ccw.bind "root(x: f32[n]) -> (y: f32[n])":to(function(x, y) for i, v in ipairs(x) do y[i] = math.sqrt(v) end end)'] =
          "root: root(f32[6] {2, 6, 5, 8, 9, -1}): it should have failed, with INTERNAL, and did not",
        ['root = ccw.bind "root(x: f32[n]) -> (y: f32[n])":to(function(x, y) for i, v in ipairs(x) do ' ..
          'if v < 0 then error "below zero" end y[i] = math.sqrt(v) end end)'] =
          "root: root(f32[6] {2, 6, 5, 8, 9, -1}): expected the failure INTERNAL, got UNKNOWN, prompt:1: below zero\n" ..
          "  hint: return nil, \"...\" fails with INTERNAL; an error that is raised, as error \"...\" or one of Lua's own, with UNKNOWN",
      },
    },
  },
  destinations = {
    rectify = {
      right = {
        'rectify = ccw.bind "r(x: f32[n]) -> (y: f32[n])":to(function(x, y) y:fill(0) for i, v in ipairs(x) do if v > 0 then y[i] = v end end end)',
        'rectify = ccw.bind "r(x: f32[n]) -> (y: f32[n])":to(function(x, y) for i = 1, #x do y[i] = x[i] > 0 and x[i] or 0 end end)',
      },
      wrong = {
        ['rectify = ccw.bind "r(x: f32[n]) -> (y: f32[n])":to(function(x, y) for i, v in ipairs(x) do if v > 0 then y[i] = v end end end)'] =
          "rectify: the result 'y' was not written: 3 of its 7 elements are what the memory held before\n" ..
          "  hint: write every element of it: for i = 1, #y do y[i] = ... end",
      },
    },
    reverse = {
      right = {
        'reverse = ccw.bind "r(x: f32[n]) -> (y: f32[n])":to(function(x, y) for i = #x, 1, -1 do y[#x - i + 1] = x[i] end end)',
        'reverse = ccw.bind "r(x: f32[n]) -> (y: f32[n])":to(function(x, y) y:set_bytes(x:bytes()) local n = #y ' ..
          'for i = 1, n // 2 do y[i], y[n + 1 - i] = y[n + 1 - i], y[i] end end)',
      },
      wrong = {
        ['reverse = ccw.bind "r(x: f32[n]) -> (y: f32[n])":to(function(x, y) for i = 1, #x do y[i] = x[#x - i] end end)'] =
          "reverse: index 0: elements are counted from 1\n  hint: for i = 1, #x do ... end goes over all of them",
      },
    },
  },
  buffers = {
    size = {
      right = {
        'size = ccw.bind():arg():ret "s64[]":to(function(x, n) n.flat[1] = #x.flat end)',
        'size = ccw.bind "size(x: any[*]) -> (n: s64[])":to(function(x, n) local k = 1 for _, d in ipairs(x.dims) do k = k * d end n:fill(k) end)',
      },
      wrong = {
        ['size = ccw.bind "size(x: any[*]) -> (n: s64[])":to(function(x, n) n:fill(#x:bytes()) end)'] =
          "size: size(s32[3,5]): expected s64[] 15, got s64[] 60",
        ['size = ccw.bind "size(x: any[*]) -> (n: s32[])":to(function(x, n) n:fill(x.count) end)'] =
          "size: a result of the wrong type: expected s32[], got s64[]\n  hint: the signature says what type a result has",
      },
    },
    transpose = {
      right = {
        'transpose = ccw.bind "t(x: f32[r,c]) -> (y: f32[c,r])":to(function(x, y) for i, row in ipairs(y) do ' ..
          'for j = 1, #row do row[j] = x[j][i] end end end)',
        'transpose = ccw.bind "t(x: f32[r,c]) -> (y: f32[c,r])":to(function(x, y) local r, c = #x, #y ' ..
          'for i = 0, r - 1 do for j = 0, c - 1 do y.flat[j * r + i + 1] = x.flat[i * c + j + 1] end end end)',
      },
      wrong = {
        ['transpose = ccw.bind "t(x: f32[r,c]) -> (y: f32[r,c])":to(function(x, y) y:set_bytes(x:bytes()) end)'] =
          "transpose: t(f32[2,5] {{1, -6, 6, -7, 9}, {2, 1, 0, 2, 5}}): " ..
          "a result of the wrong shape: expected f32[5,2], got f32[2,5]",
      },
    },
  },
  patterns = {
    pattern = {
      right = { 'pattern = "f64|f32[size,size]"', 'pattern = m.buffer():with_dtype("f64", "f32"):with_dims("n", "n")' },
      wrong = {
        ['pattern = "f32[n,n]"'] = "pattern: INVALID_ARGUMENT: x: expected f32[n,n], got f64[5,5]",
        ['pattern = "f32|f64[?,?]"'] = "pattern: at f32[3,4]: it should have failed, with INVALID_ARGUMENT, and did not",
        ['pattern = "f32|f64[n,n"'] = "pattern: INVALID_ARGUMENT: signature: expected ',' or ']', got ')'\n  (f32|f64[n,n)\n              ^",
      },
    },
    product = {
      right = {
        'product = function(a, b) local _, dims = m.match("left", a, "f32[r,k]") local more = m.verify("right", b, "f32[k,c]", dims) ' ..
          'return more.r, more.c end',
        'local function product(a, b) local k = m.verify("a", a, "f32[r,k]") ' ..
          'm.verify("b", b, m.buffer("f32"):with_dims(k.k, "?")) return #a, b.dims[2] end',
      },
      wrong = {
        ['function product(a, b) local d = m.verify("a", a, "f32[r,k]") local e = m.verify("b", b, "f32[k,c]") return d.r, e.c end'] =
          "product: it should have failed, with INVALID_ARGUMENT, and did not",
        ["function product(a, b) return a.dims[1], bb.dims[2] end"] =
          "product: the name 'bb' was never set\n  hint: set it first; a function sees its parameters, what the lesson made, and Lua's own names",
      },
    },
  },
  variadics = {
    sum = {
      right = {
        'sum = ccw.bind "sum(x: f32[n], ...) -> (y: f32[n])":to(function(x, more, y) y:set_bytes(x:bytes()) ' ..
          'for _, z in ipairs(more) do for i, v in ipairs(z) do y[i] = y[i] + v end end end)',
        'sum = ccw.bind():arg "f32[n]":remaining_args():ret "f32[n]":to(function(x, more, y) for i = 1, #x do local s = x[i] ' ..
          'for k = 1, #more do s = s + more[k][i] end y[i] = s end end)',
      },
      wrong = {
        ['sum = ccw.bind "sum(x: f32[n]) -> (y: f32[n])":to(function(x, y) y:set_bytes(x:bytes()) end)'] =
          "sum: INVALID_ARGUMENT: sum: expected 1 arg, got 2",
      },
    },
    counts = {
      right = { 'counts = ccw.bind "counts(...) -> (...)":to(function(a, r) for i, y in ipairs(r) do y.flat[1] = #a[i].flat end end)' },
      wrong = {
        ['counts = ccw.bind "counts(...) -> (...)":to(function(a, r) for i in ipairs(a) do r[i] = a[i].count end end)'] =
          "counts: 'r[1]' was set to another value, and the result itself was not written\n" ..
          "  hint: r[1] = ... only has the name mean something else: write into it, r[1][i] = ... or r[1]:fill(...)",
      },
    },
  },
  attributes = {
    affine = {
      right = { 'affine = ccw.bind "f(x: f32[n]) -> (y: f32[n]) {b: f32, a: f32}":to(function(x, y, b, a) ' ..
        'for i = 1, #x do y[i] = x[i] * a + b end end)' },
      wrong = {
        ['affine = ccw.bind "f(x: f32[n]) -> (y: f32[n]) {b: f32, a: f32}":to(function(x, y, a, b) ' ..
          'for i = 1, #x do y[i] = x[i] * a + b end end)'] =
          "affine: f(f32[4] {4, 5, 6, -1}, -1.0, 2.0): expected f32[4] {7, 9, 11, -3}, got f32[4] {-2, -3, -4, 3}",
      },
    },
    settings = {
      right = { "local settings = {rate = ccw.f32(0.5), weights = ccw.f32{1, 2}, steps = ccw.s32(8)}" },
      wrong = {
        ["settings = {steps = 8, rate = 0.5}"] =
          "settings: INVALID_ARGUMENT: train: attribute 'weights': expected f32[], got none; present: 'rate', 'steps'",
        ["settings = {steps = 9, rate = 0.5, weights = {1, 2}}"] = "settings: expected f64[4] {8, 0.5, 1, 2}, got f64[4] {9, 0.5, 1, 2}",
      },
    },
  },
  enums = {
    reduce = {
      right = { 'reduce = ccw.bind "r(x: f32[n]) -> (y: f32[]) {by: s32 = sum(0)|max(1)|min(2)}":to(function(x, y, by) ' ..
        'local list = {} for i, v in ipairs(x) do list[i] = v end table.sort(list) local s = 0 for _, v in ipairs(list) do s = s + v end ' ..
        'y:fill(by == "sum" and s or by == "max" and list[#list] or list[1]) end)' },
      wrong = {
        ['reduce = ccw.bind "r(x: f32[n]) -> (y: f32[]) {by: s32 = sum(0)|max(1)|min(2)}":to(function(x, y, by) local s = 0 ' ..
          'for _, v in ipairs(x) do s = s + v end y:fill(s) end)'] =
          "reduce: expected f32[] 8, got f32[] 25",
      },
    },
  },
  structs = {
    clip = {
      right = { 'clip = ccw.bind "c(x: s64[n]) -> (y: s64[n]) {range: {lo: s64, hi: s64}}":to(function(x, y, r) for i, v in ipairs(x) do ' ..
        'if v < r.lo then y[i] = r.lo elseif v > r.hi then y[i] = r.hi else y[i] = v end end end)' },
      wrong = {
        ['clip = ccw.bind "c(x: s64[n]) -> (y: s64[n]) {range: {lo: s64, hi: s64}}":to(function(x, y, range) ' ..
          'for i = 1, #x do y[i] = math.max(range.low, x[i]) end end)'] =
          "clip: c(s64[9] {2, -7, 0, -9, 1, -6, 3, -7, 7}, {hi = 35, lo = -20}) fails: attempt to compare nil with number",
      },
    },
    shift = {
      right = { 'shift = ccw.bind "s(x: s64[n]) -> (y: s64[n]) {...}":to(function(x, y, a) local by = a.by if by == nil then by = 1 end ' ..
        'for i, v in ipairs(x) do y[i] = v + by end end)' },
      wrong = {
        ['shift = ccw.bind "s(x: s64[n]) -> (y: s64[n]) {by: s64}":to(function(x, y, by) for i, v in ipairs(x) do y[i] = v + by end end)'] =
          "shift: INVALID_ARGUMENT: s: attribute 'by': expected s64, got none; present: none",
      },
    },
  },
  ["cpu-call"] = {
    add_mod = {
      right = { 'add_mod = ccw.bind "a(b: f32[k], c: f32[n]) -> (a: f32[n])":to(function(b, c, a) local k = #b ' ..
        'if k == 0 then if #c == 0 then return end return nil, "nothing to add" end local j = 1 ' ..
        'for i, v in ipairs(c) do a[i] = v + b[j] j = j % k + 1 end end)' },
      wrong = {
        ['add_mod = ccw.bind "a(b: f32[k], c: f32[n]) -> (a: f32[n])":to(function(b, c, a) ' ..
          'for i = 1, #a do a[i] = b[i % #b] + c[i] end end)'] =
          "add_mod: index 0: elements are counted from 1\n  hint: for i = 1, #b do ... end goes over all of them",
        ["add_mod = guide"] =
          "add_mod: add_mod(f32[0] {}, f32[20]): expected the failure INTERNAL, got UNKNOWN, prompt:2: attempt to perform 'n%0'\n" ..
          "  hint: return nil, \"...\" fails with INTERNAL; an error that is raised, as error \"...\" or one of Lua's own, with UNKNOWN",
        ['add_mod = ccw.bind "a(b: f32[k], c: f32[n]) -> (a: f32[n])":to(function(b, c, a) ' ..
          'if #b == 0 then return nil, "b is empty" end for i = 1, #a do a[i] = b[(i - 1) % #b + 1] + c[i] end end)'] =
          "add_mod: a(f32[0] {}, f32[0] {}) fails: INTERNAL: a: execute: b is empty",
      },
    },
    source = {
      right = { [==[source = [[
#include <ccw/handler.h>
CCW_HANDLER(square, ARG(f32, 1, in), RET(f32, 1, out))
{
  if (in.dims[0] != out.dims[0]) return ccw_invalid("sizes");
  const float *p = in.data, *end = p + in.dims[0];
  for (float *q = out.data; p < end; ++p) *q++ = *p * *p;
  return ccw_ok();
}]]]==] },
      wrong = {
        [ [==[source = [[
#include <ccw/handler.h>
CCW_HANDLER(square, ARG(f32, 1, x), RET(f32, 1, y))
{
  for (int64_t i = 1; i <= x.dims[0]; ++i) y.data[i] = x.data[i] * x.data[i];
  return ccw_ok();
}]]]==] ] = "source: OUT_OF_RANGE: square: execute: 3 faults\n" ..
          "  arg 0 'x': read past its end, element 34 of 33, in square\n" ..
          "  result 0 'y': written past its end, element 34 of 33, in square\n" ..
          "  result 0 'y': 1 of 33 elements was never written, the first is [1]",
      },
    },
  },
  ["gpu-call"] = {
    scale = {
      right = { [==[scale = ccw.kernel{name = "scale", source = [[
__global__ void scale(const float *x, float *y, float s, int n)
{
  int i = ccw::thread();
  if (i >= n) return;
  y[i] = x[i] * s;
}]]}]==] },
      wrong = {
        [ [==[scale = ccw.kernel{name = "scale", source = [[
__global__ void scale(const float *x, float *y, float s, int n)
{
  int i = threadIdx.x;
  if (i < n) y[i] = s * x[i];
}]]}]==] ] = "scale: element 65 of f32[70]: expected -15.0, got 0.0; 4 of 70 are wrong",
      },
    },
    negate = {
      right = { 'negate = ccw.bind "negate(@stream, x: f32[n]) -> (y: f32[n])":to(function(_, x, y) ' ..
        'flip{grid = 1, block = 64, args = {x, y, #x}} end)' },
      wrong = {
        ['negate = ccw.bind "negate(x: f32[n]) -> (y: f32[n])":to(function(x, y) for i = 1, #x do y[i] = -x[i] end end)'] =
          "negate: a loop of the host over memory of a device\n" ..
          '  hint: what is on sim:0 is for kernels: launch one, or move the array first, x:to "host"',
        ['negate = ccw.bind "negate(x: f32[n]) -> (y: f32[n])":to(function(x, y) flip{over = #x, args = {y, x, #x}} end)'] =
          "negate: the kernel writes into its parameter 'y', and that was given an operand\n" ..
          "  hint: operands are read only: args stand in the order of the kernel's parameters, and a result goes where it writes",
        ['negate = ccw.bind "negate(x: f32[n]) -> (y: f32[n])":to(function(x, y) end)'] =
          "negate: negate(f32[9]): a result on sim:0 was not written: it is what fresh memory there holds\n" ..
          "  hint: a kernel has to be launched that writes it",
        ['negate = ccw.bind "n(x: f32[n]) -> (y: f32[n])":to(function(x, y) ' ..
          'flip{over = #x, args = {x, y, #x}, stream = ccw.device "sim:0":stream()} end)'] =
          "negate: a missing synchronisation: copy from device on stream N and launch of flip on stream N use the same memory\n" ..
          "  hint: wait between them: s:sync(), or t:wait(s:record()) for another stream",
      },
    },
    twice = {
      right = {
        'function twice(x, y, s, t) flip{over = #x, args = {x, y, #x}, stream = s} s:sync() ' ..
          'flip{over = #x, args = {y, x, #x}, stream = t} t:sync() end',
        'twice = function(x, y, s, t) local n = #x flip{over = n, args = {x, y, n}, stream = s} local e = s:record() t:wait(e) ' ..
          'flip{over = n, args = {y, x, n}, stream = t} ccw.device "sim:0":sync() end',
      },
      wrong = {},
    },
  },
  tuples = {
    extent = {
      right = { 'extent = ccw.bind "e(x: f32[n]) -> (low: f32[], high: f32[])":to(function(x, low, high) local list = {} ' ..
        'for i, v in ipairs(x) do list[i] = v end table.sort(list) low.flat[1], high.flat[1] = list[1], list[#list] end)' },
      wrong = {
        ['extent = ccw.bind "e(x: f32[n]) -> (low: f32[], high: f32[])":to(function(x, low, high) low, high = x[1], x[#x] end)'] =
          "extent: 'low' was set to another value, and the result itself was not written\n" ..
          "  hint: low = ... only has the name mean something else: write into it, low[i] = ... or low:fill(...)",
      },
    },
    nesting = {
      right = { 'nesting = {"s64[2]", {"s64[2]", "s64[2]"}, {{"s64[2]"}}}', 'nesting = ccw.type "(s64[2],(s64[2],s64[2]),((s64[2])))"' },
      wrong = { ['nesting = "(s64[2], (s64[2], s64[2]), (s64[2]))"'] = "nesting: at 3: at 1: expected {s64[2] {4, 4}}, got s64[2] {4, 4}" },
    },
  },
  scratch = {
    ranks = {
      right = { 'ranks = ccw.bind "r(x: f32[n]) -> (place: s32[n], work: f32[n])":to(function(x, place, work) ' ..
        'work:set_bytes(x:bytes()) for i, v in ipairs(x) do local k = 0 for _, w in ipairs(work) do if w < v then k = k + 1 end end ' ..
        'place[i] = k end end)' },
      wrong = {
        ['ranks = ccw.bind "r(x: f32[n]) -> (place: s32[n], work: f32[n])":to(function(x, place, work) for i, v in ipairs(x) do local k = 0 ' ..
          'for _, w in ipairs(x) do if w < v then k = k + 1 end end place[i] = k end end)'] =
          "ranks: the result 'work' was not written: 6 of its 6 elements are what the memory held before\n" ..
          "  hint: write every element of it: for i = 1, #work do work[i] = ... end",
      },
    },
    mirror = {
      right = { 'mirror = ccw.bind "m(@scratch, x: f32[n]) -> (y: f32[n])":to(function(s, x, y) local w = s:take(x.type) local n = #x ' ..
        'for i = 1, n do w[n - i + 1] = x[i] end for i, v in ipairs(w) do y[i] = v end end)' },
      wrong = {
        ['mirror = ccw.bind "m(x: f32[n], @scratch) -> (y: f32[n])":to(function(x, scratch, y) local work = scratch.take(x.type) ' ..
          'for i = 1, #x do y[i] = work[i] end end)'] =
          "mirror: the method 'take' was called with a dot\n  hint: a colon hands the value over: x:take(...)",
        ['mirror = ccw.bind "m(x: f32[n]) -> (y: f32[n])":to(function(x, y) for i = 1, #x do y[i] = x[#x + 1 - i] end end)'] =
          "mirror: m(f32[1] {1}): it should have failed, with INVALID_ARGUMENT, and did not",
      },
    },
  },
  stages = {
    powers = {
      right = { 'local a = ccw.bind "a(@new_state) {base: s64}":stage "instantiate":to(function(b) local k = -1 ' ..
        'return function() k = k + 1 return b ^ k // 1 | 0 end end) local b = ccw.bind "b(@state) -> (y: s64[])":to(function(f, y) y:fill(f()) end) ' ..
        'powers = {execute = b, instantiate = a}' },
      wrong = {
        ['powers = {instantiate = ccw.bind "a(@new_state) {base: s64}":stage "instantiate":to(function(b) return {b, 1} end), ' ..
          'execute = ccw.bind "b(@state) -> (y: s64[])":to(function(s, y) s[2] = s[1] * s[2] y:fill(s[2]) end)}'] =
          "powers: at 1: expected 1, got 3",
        ['powers = ccw.bind "b() -> (y: s64[]) {base: s64}":to(function(y, base) y:fill(base) end)'] = "powers: at 1: expected 1, got 3",
      },
    },
  },
  futures = {
    negate = {
      right = { 'negate = ccw.bind "n(x: f32[n], @threads) -> (y: f32[n])":to(function(x, threads, y) local p = ccw.promise() ' ..
        'for i = 1, #x do y[i] = -x[i] end threads:run(function() p:complete() end) return p end)' },
      wrong = {
        ['negate = ccw.bind "n(x: f32[n], @threads) -> (y: f32[n])":to(function(x, threads, y) local p = ccw.promise() ' ..
          'threads.run(function() for i = 1, #x do y[i] = -x[i] end p:complete() end) return p end)'] =
          "negate: the method 'run' was called with a dot\n  hint: a colon hands the value over: x:run(...)",
      },
    },
    refuse = {
      right = { 'refuse = ccw.bind "r(x: f32[n]) -> (y: f32[n])":to(function(x, y) local p = ccw.promise() for i, v in ipairs(x) do y[i] = v end ' ..
        'p:complete(x[1] < 0 and "no" or nil) return p end)' },
      wrong = {
        ['refuse = ccw.bind "r(x: f32[n]) -> (y: f32[n])":to(function(x, y) local p = ccw.promise() y:set_bytes(x:bytes()) ' ..
          'p:complete() return p end)'] = "refuse: r(f32[2] {-3, 4}): it should have failed, with INTERNAL, and did not",
      },
    },
  },
  jax = {
    sent = {
      right = {
        'sent = {rate = ccw.f64(0.5), exact = ccw.pred(true), name = "x", eps = ccw.f32(0.00001), n = ccw.s64(3)}',
        'sent = ccw.attrs{n = 3, eps = ccw.f32(1e-5), name = "x", exact = true, rate = 0.5}',
      },
      wrong = {
        ['sent = {n = 3, eps = 1e-5, name = "x", exact = true, rate = 0.5}'] =
          'sent: expected {sent = {eps = f32(1e-05), exact = true, n = 3, name = "x", rate = f64(0.5)}}, ' ..
          'got {sent = {eps = f64(1e-05), exact = true, n = 3, name = "x", rate = f64(0.5)}}',
        ["sent = 3"] = 'sent: expected {sent = {eps = f32(1e-05), exact = true, n = 3, name = "x", rate = f64(0.5)}}, got {sent = 3}',
      },
    },
    mean = {
      right = { 'mean = ccw.bind "m(x: f32[n]) -> (y: f32[]) {start: f64}":to(function(x, y, start) local m = start ' ..
        'for _, v in ipairs(x) do m = m + v / x.count end y.flat[1] = m end)' },
      wrong = { ['mean = ccw.bind "m(x: f32[n]) -> (y: f32[]) {start: f32}":to(function(x, y, start) local m = start ' ..
        'for _, v in ipairs(x) do m = m + v / x.count end y.flat[1] = m end)'] =
        "mean: INVALID_ARGUMENT: m: execute: attribute 'start': expected f32, got f64" },
    },
  },
}

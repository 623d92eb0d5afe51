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
        ["triple = function(x) return x end"] = "triple: expected a handler, got a function",
        ['triple = ccw.bind "triple(x: f32[n]) -> (y: f32[n])"'] =
          "triple: expected a handler, got a binding\n  hint: give the binding its function: :to(function(...) ... end)",
        ['triple = ccw.bind "t(x: f32[n]) -> (y: f32[n])":to(function(x, y) for i = 1, #x do y[i] = 2 end end)'] =
          "triple: t(f32[5] {-0.27498639, -0.22486544, 0.21867466, 0.74164546, -0.047463536}): expected f32[5] " ..
          "{-0.82495916, -0.6745963, 0.656024, 2.2249365, -0.1423906}, got f32[5] {2, 2, 2, 2, 2}",
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
          "root: expected the failure INTERNAL, got nil",
        ['root = ccw.bind "root(x: f32[n]) -> (y: f32[n])":to(function(x, y) for i, v in ipairs(x) do ' ..
          'if v < 0 then error "below zero" end y[i] = math.sqrt(v) end end)'] = -- the first line of what was raised
          "root: expected the failure INTERNAL, got UNKNOWN: root: execute: prompt:1: below zero",
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
          "transpose: t(f32[2,5] {{0.86012769, -0.55421627, 0.38697195, 0.80157793, -0.45384741},\n" ..
          "                      {-0.91586936, -0.33236694, -0.53447157, 0.69353497, 0.4180249}}): " ..
          "a result of the wrong shape: expected f32[5,2], got f32[2,5]",
      },
    },
  },
  patterns = {
    pattern = {
      right = { 'pattern = "f64|f32[size,size]"', 'pattern = "f32|f64 [ n , n ]"' },
      wrong = {
        ['pattern = "f32[n,n]"'] = "pattern: expected true, got false",
        ['pattern = "f32|f64[n,n"'] = "pattern: expected true, got false",
        ['pattern = m.buffer "f32|f64[n,n]"'] = "pattern: expected a string, got a pattern",
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
          "product: expected the failure INVALID_ARGUMENT, got nil",
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
          "counts: the result 'y' was not written: 1 of its 1 elements are what the memory held before\n" ..
          "  hint: write every element of it: for i = 1, #y do y[i] = ... end",
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
          "affine: f(f32[4] {-0.35604835, -0.60105515, 0.64427423, 0.58258486}, -1.0, 2.0): " ..
          "expected f32[4] {-1.7120967, -2.2021103, 0.28854847, 0.16516972}, got f32[4] {2.3560483, 2.6010551, 1.3557258, 1.4174151}",
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
          "reduce: at 2: ",
      },
    },
  },
  structs = {
    clip = {
      right = { 'clip = ccw.bind "c(x: s64[n]) -> (y: s64[n]) {range: {lo: s64, hi: s64}}":to(function(x, y, r) for i, v in ipairs(x) do ' ..
        'if v < r.lo then y[i] = r.lo elseif v > r.hi then y[i] = r.hi else y[i] = v end end end)' },
      wrong = {},
    },
    shift = {
      right = { 'shift = ccw.bind "s(x: s64[n]) -> (y: s64[n]) {...}":to(function(x, y, a) local by = a.by if by == nil then by = 1 end ' ..
        'for i, v in ipairs(x) do y[i] = v + by end end)' },
      wrong = {},
    },
  },
}

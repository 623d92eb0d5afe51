-- Handlers in Lua that JAX runs too: jax_spec.lua.
local ccw = require "ccw"

return {
  LuaAddMod = ccw.bind "add_mod(b: f32[k], c: f32[n]) -> (a: f32[n])":to(function(b, c, a)
    for i = 1, #a do a[i] = b[(i - 1) % #b + 1] + c[i] end
  end),
  LuaZoo = ccw.bind "zoo() -> (y: f64[8]) {flag: pred, a: s8, b: f32, text: string, w: s32[], op: s32 = add(0)|mul(1), r: {lo: s64}}":to(
    function(y, flag, a, b, text, w, op, r)
      y[1], y[2], y[3], y[4], y[5] = flag and 1 or 0, a, b, #text, w[2]
      y[6], y[7], y[8] = op == "mul" and 1 or 0, r.lo, #w
    end),
  LuaRows = ccw.bind "rows(x: f32[r,n], ...) -> (sums: f32[r], count: s32[])":to(function(x, rest, sums, count)
    for i = 1, #x do
      local sum = 0
      for j = 1, #x[i] do sum = sum + x[i][j] end
      sums[i] = sum
    end
    count:fill(#rest)
  end),
  LuaFail = ccw.bind "fail(x: f32[n]) -> (y: f32[n])":to(function(_, _) return nil, "no paper" end),
  LuaRaise = ccw.bind "raise(x: f32[n]) -> (y: f32[n])":to(function(_, _) error "out of ink" end),
}

-- Handlers in Lua that JAX runs too: jax_spec.lua.
local ccw = require "ccw"

-- Counters that were made, and those that were collected.
local made, gone = 0, 0
local count_instantiate = ccw.bind "count_instantiate(@new_state) {v: s64}":stage "instantiate":to(function(v)
  if v < 0 then return nil, ("v: expected 0 or more, got %d"):format(v) end
  made = made + 1
  return setmetatable({ next = v }, { __gc = function() gone = gone + 1 end })
end)

local function next_of(counter)
  counter.next = counter.next + 1
  return counter.next - 1
end

return {
  LuaCensus = ccw.bind "census() -> (y: s64[2])":to(function(y)
    collectgarbage()
    collectgarbage()
    y[1], y[2] = made, gone
  end),
  LuaCount = { instantiate = count_instantiate, execute = ccw.bind "count(@state) -> (y: s64[*]) {v: s64}":to(function(counter, y, _)
    y:fill(next_of(counter))
  end) },
  LuaCountFrom = { instantiate = count_instantiate,
    execute = ccw.bind "count_from(@state, x: s64[*]) -> (y: s64[*]) {v: s64}":to(function(counter, x, y, _)
      local now = next_of(counter)
      for i = 1, x.count do y.flat[i] = x.flat[i] + now end
    end) },
  LuaSquareByThreads = ccw.bind "square(x: f32[*], @threads) -> (y: f32[*])":to(function(x, threads, y)
    local from, to, piece = x.flat, y.flat, 64
    for first = 1, x.count, piece do
      threads:run(function()
        for i = first, math.min(first + piece - 1, x.count) do to[i] = from[i] * from[i] end
      end)
    end
  end),
  LuaHalveLater = ccw.bind("halve_later(x: f32[*], @threads) -> (y: f32[*]) " ..
    "{how: s32 = before_return(0)|in_pool(1)|with_error(3)|with_error_at_once(4)|dropped(5)}"):to(function(x, threads, y, how)
      local promise = ccw.promise()
      local function finish()
        for i = 1, x.count do y.flat[i] = x.flat[i] / 2 end
        promise:complete(how:find "error" and "the promise has failed" or nil)
      end
      if how == "before_return" or how == "with_error_at_once" then
        finish()
      elseif how ~= "dropped" then
        threads:run(finish)
      end
      return promise
    end),
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
  LuaPlus = ccw.bind "plus(x: f32[*]) -> (y: f32[*]) {by: f32}":to(function(x, y, by)
    for i = 1, x.count do y.flat[i] = x.flat[i] + by end
  end),
  LuaDoubleRow = ccw.bind "double_row(x: f32[n]) -> (y: f32[n])":to(function(x, y)
    for i = 1, #x do y[i] = 2 * x[i] end
  end),
  LuaSplit = ccw.bind "split(x: f32[*]) -> (whole: s32[*], rest: f32[*])":to(function(x, whole, rest)
    for i = 1, x.count do
      whole.flat[i] = x.flat[i] // 1 | 0
      rest.flat[i] = x.flat[i] - whole.flat[i]
    end
  end),
  -- Whether the result lies where the argument does: what is written there can be read here.
  LuaInPlace = ccw.bind "in_place(x: f32[*]) -> (y: f32[*], same: s32[*])":to(function(x, y, same)
    local before = x.flat[1]
    y.flat[1] = before + 1
    same:fill(x.flat[1] == before + 1 and 1 or 0)
    for i = 2, x.count do y.flat[i] = x.flat[i] + 1 end
  end),
  LuaAfter = ccw.bind "after(t: token[], x: f32[*]) -> (u: token[], y: f32[*])":to(function(_, x, _, y)
    for i = 1, x.count do y.flat[i] = x.flat[i] end
  end),
  LuaWhere = ccw.bind "where(@run_id, @device_ordinal) -> (y: s64[2])":to(function(run_id, ordinal, y)
    y[1], y[2] = run_id, ordinal
  end),
  LuaFail = ccw.bind "fail(x: f32[n]) -> (y: f32[n])":to(function(_, _) return nil, "no paper" end),
  LuaRaise = ccw.bind "raise(x: f32[n]) -> (y: f32[n])":to(function(_, _) error "out of ink" end),
}

--- Buffers: any, of a dtype, of a rank                                                  7 minutes
-- Guide: Constrained Buffer Arguments And Results

-- A buffer is memory with a dtype and dims. What a binding says of it is checked before the function runs. It may say
-- nothing, as the guide's AnyBuffer: any[*] takes all there is, and the function looks for itself.
local describe = ccw.bind "describe(x: any[*])":to(function(x)
  print(x.dtype, x.rank, x.count, #x:bytes())
end)
for _, type in ipairs{"f32[2,3]", "s64[]", "pred[4,0]"} do
  ccw.call(describe, {ccw.array(type)}, "()")
end
--> f32   2   6   24
--> s64   0   1   8
--> pred   2   0   0

-- No dims make one element, not none: a scalar. And a dim of 0 makes an array without elements, which is legal everywhere.

-- With a dtype, Buffer<F32> in the guide: f32[*]. With a rank too, BufferR2<F32>: f32[?,?]. A ? is any size.
local corner = ccw.bind "corner(x: f32[?,?]) -> (y: f32[])":to(function(x, y)
  y:fill(x[1][x.dims[2]])
end)
print(ccw.call(corner, {ccw.f32{{1, 2, 3}, {4, 5, 6}}}, "f32[]"))   --> f32[] 3
print(ccw.try(ccw.call, corner, {ccw.f32{1, 2}}, "f32[]"))
--> nil   INVALID_ARGUMENT: corner: arg 0 'x': expected f32[?,?], got f32[2]
print(ccw.try(ccw.call, corner, {ccw.f64{{1, 2}}}, "f32[]"))
--> nil   INVALID_ARGUMENT: corner: arg 0 'x': expected f32[?,?], got f64[1,2]

-- A row of an array of rank 2 is an array of rank 1: x[2][3]. x.flat is all of it as rank 1, in the order of memory. Both
-- share the memory of x.
local x = ccw.f32{{1, 2, 3}, {4, 5, 6}}
print(x[2][3], x.flat[6], x[2])   --> 6.0   6.0   f32[3] {4, 5, 6}

-- Try x.flat[2] = 9, and look at x.

-- Your turn. Write `size`: x: any[*] to n: s64[], the number of elements. A scalar has no x[1]; n:fill(...) writes it.
lesson.ask{"size",
  try = function(size)
    local function of(x) return ccw.call(size, {x}, "s64[]") end
    return of(ccw.iota "s32[3,5]"), of(ccw.array("f64[]", 1)), of(ccw.array "bf16[0,2]")
  end,
  hints = {"x.count is the number of elements, whatever the rank", "n:fill(x.count)"},
  answer = [[
size = ccw.bind "size(x: any[*]) -> (n: s64[])":to(function(x, n) n:fill(x.count) end)]],
}

-- And `transpose`: x: f32[r,c] to y: f32[c,r], rows become columns.
lesson.ask{"transpose",
  try = function(transpose)
    return ccw.call(transpose, {lesson.numbers("f32[2,5]", 9)}), ccw.call(transpose, {ccw.iota "f32[3,1]"})
  end,
  hints = {"two loops: for i = 1, #x do for j = 1, x.dims[2] do ... end end", "y[j][i] = x[i][j]"},
  answer = [[
transpose = ccw.bind "transpose(x: f32[r,c]) -> (y: f32[c,r])":to(function(x, y)
  for i = 1, x.dims[1] do
    for j = 1, x.dims[2] do y[j][i] = x[i][j] end
  end
end)]],
}

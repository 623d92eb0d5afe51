--- Scratch: memory for the way                                                          6 minutes
-- Guide: Tuple outputs as temp buffers

-- A handler often needs memory on its way to the result. Allocating it itself takes time, and on a GPU worse. The guide
-- has a way: a further result that nobody ever reads. A result is memory that a handler may write, and read when it has.
local smooth = ccw.bind "smooth(x: f32[n]) -> (y: f32[n], work: f32[n])":to(function(x, y, work)
  for i = 1, #x do work[i] = x[i] * x[i] end
  for i = 1, #x do y[i] = work[i] + work[i % #x + 1] end
end)
local y = ccw.call(smooth, {ccw.f32{1, 2, 3}})[1]
print(y)   --> f32[3] {5, 13, 10}

-- It is the caller who says how large it is, as of any result. And XLA knows of it when it compiles: it may take the memory
-- of something that is not needed any more.

-- The runtime has scratch memory, too: a context, which the handler asks for as much as it needs. It ends with the call.
local rotate = ccw.bind "rotate(x: f32[n], @scratch) -> (y: f32[n])":to(function(x, scratch, y)
  local work = scratch:take(x.type)
  for i = 1, #x do work[i] = x[i % #x + 1] end
  for i = 1, #x do y[i] = work[i] end
end)
print(ccw.call(rotate, {ccw.f32{1, 2, 3}}))   --> f32[3] {2, 3, 1}

-- XLA has it on GPUs alone. On its CPU a handler that takes some is refused; ccw is as strict where it is asked to be.
local z, err = ccw.try(ccw.call, rotate, {ccw.f32{1}}, "f32[1]", nil, {like_xla = true})
print(err.message:match "[^\n]*")   --> rotate: execute: XLA has no scratch memory on the CPU

-- What fresh scratch memory holds is as unknown as what a result holds.

-- Try to keep `work` in a global, and to read it after the call.

-- Your turn. Write `ranks`: x: f32[n] to place: s32[n] and work: f32[n]. place[i] says how many elements are smaller than
-- x[i]; work is scratch memory and holds afterwards what you like. Every element of it is to be written all the same: the
-- check does not know that nobody reads it.
lesson.ask{"ranks",
  try = function(ranks)
    return ccw.call(ranks, {lesson.numbers("f32[6]", 21)})[1], ccw.call(ranks, {ccw.f32{2, 2, 1}})[1]
  end,
  hints = {"two loops over x count the smaller ones", "work:fill(0) writes all of it; or count there, and copy at the end"},
  answer = [[
ranks = ccw.bind "ranks(x: f32[n]) -> (place: s32[n], work: f32[n])":to(function(x, place, work)
  work:fill(0)
  for i = 1, #x do
    for j = 1, #x do
      if x[j] < x[i] then work[i] = work[i] + 1 end
    end
  end
  for i = 1, #x do place[i] = work[i] end
end)]],
}

-- And `mirror`, with the scratch memory of the runtime: x: f32[n], @scratch to y: f32[n], x from behind. Take as much as x
-- has, and go through it.
lesson.ask{"mirror",
  try = function(mirror)
    return ccw.call(mirror, {lesson.numbers("f32[5]", 22)}),
      (select(2, ccw.try(ccw.call, mirror, {ccw.f32{1}}, "f32[1]", nil, {like_xla = true})))
  end,
  hints = {"the function gets x, scratch, y: the order of the binding", "scratch:take(x.type) is an array like any other"},
  answer = [[
mirror = ccw.bind "mirror(x: f32[n], @scratch) -> (y: f32[n])":to(function(x, scratch, y)
  local work = scratch:take(x.type)
  for i = 1, #x do work[i] = x[#x + 1 - i] end
  y:set_bytes(work:bytes())
end)]],
}

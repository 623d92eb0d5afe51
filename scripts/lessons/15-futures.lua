--- Futures: a handler that is not done yet                                              7 minutes

-- A handler may return before its work is done. It leaves a future: XLA goes on with what does not need the result, and
-- waits where somebody does. In Lua the handler returns a promise, and completes it later.
local open = {}
local later = ccw.bind "later(x: f32[n]) -> (y: f32[n])":to(function(x, y)
  local promise = ccw.promise()
  open[#open + 1] = function()
    for i = 1, #x do y[i] = 2 * x[i] end
    promise:complete()
  end
  return promise
end)

-- call() waits. call:start() does not, and gives the future.
local call = ccw.prepare(later, {ccw.f32{1, 2}}, "f32[2]")
local future = call:start()
print(future:done())   --> false
open[1]()
print(future:done(), future:wait())   --> true   f32[2] {2, 4}

-- All that the call is made of lives until then: operands and results are the handler's as long as the promise is open.

-- Work that goes on needs somebody to do it. The runtime has threads: threads:run(f) hands f over to one of them, and the
-- handler returns.
local halve = ccw.bind "halve(x: f32[n], @threads) -> (y: f32[n])":to(function(x, threads, y)
  local promise = ccw.promise()
  threads:run(function()
    for i = 1, #x do y[i] = x[i] / 2 end
    promise:complete()
  end)
  return promise
end)
print(ccw.prepare(halve, {ccw.f32{2, 4}}, "f32[2]"):start():wait())   --> f32[2] {1, 2}

-- A promise can fail, too: promise:complete "why". And one that is forgotten is completed with an error, when the
-- collector finds it, so that nobody waits for ever.
local fails = ccw.bind "fails()":to(function()
  local promise = ccw.promise()
  promise:complete "no luck"
  return promise
end)
print(ccw.try(ccw.call, fails, {}, "()"))   --> nil   INTERNAL: fails: execute: no luck

-- Try future:wait(0.1) on a call of later that nobody completes.

-- Your turn. Write `negate`: x: f32[n], @threads to y: f32[n]. A task of the runtime's threads writes -x[i] and completes a
-- promise, which the handler has returned.
lesson.ask{"negate",
  try = function(negate)
    local future = ccw.prepare(negate, {lesson.numbers("f32[6]", 23)}, "f32[6]"):start()
    return future:wait(5), ccw.call(negate, {ccw.f32{1}}, "f32[1]")
  end,
  hints = {"the handler returns the promise, the task completes it", "promise:complete() comes after the last element is written"},
  answer = [[
negate = ccw.bind "negate(x: f32[n], @threads) -> (y: f32[n])":to(function(x, threads, y)
  local promise = ccw.promise()
  threads:run(function()
    for i = 1, #x do y[i] = -x[i] end
    promise:complete()
  end)
  return promise
end)]],
}

-- And `refuse`: x: f32[n] to y: f32[n]. It returns a promise that has failed, with a text of yours, where x[1] is below 0,
-- and else one that is complete, with y like x.
lesson.ask{"refuse",
  try = function(refuse)
    return ccw.call(refuse, {ccw.f32{3, -4}}), (select(2, ccw.try(ccw.call, refuse, {ccw.f32{-3, 4}})))
  end,
  hints = {"promise:complete(\"a text\") fails", "y:set_bytes(x:bytes()) copies all"},
  answer = [[
refuse = ccw.bind "refuse(x: f32[n]) -> (y: f32[n])":to(function(x, y)
  local promise = ccw.promise()
  if x[1] < 0 then
    promise:complete "below zero"
  else
    y:set_bytes(x:bytes())
    promise:complete()
  end
  return promise
end)]],
}

--- Errors: how does a handler say no?                                                   6 minutes
-- Guide: Returning Errors From Custom Calls

-- A handler succeeds or fails. There is no third way: no abort, no exception across the border between two libraries.
-- A failure is a code, one of the sixteen of absl::Status, and a message.

-- In Lua success is to return nothing. Failure is nil and a text, which becomes INTERNAL, the guide's kInternal.
local oops = ccw.bind "oops()":to(function() return nil, "Oops!" end)
local ok, err = ccw.try(ccw.call, oops, {}, "()")
print(ok, err)                       --> nil   INTERNAL: oops: execute: Oops!
print(err.code, err.handler, err.stage)   --> INTERNAL   oops   execute

-- ccw.try gives a failure back as a value. Without it a failure is raised, and at the prompt you see it: what ran behind
-- it does not run.

-- An error that a function of ccw's raises in a handler is the handler's own, with its code. So most checks take one line.
local first = ccw.bind "first(x: f32[*]) -> (y: f32[])":to(function(x, y)
  ccw.match.verify("x", x, "f32[n]")
  y:fill(x[1])
end)
print(ccw.call(first, {ccw.f32{4, 5}}, "f32[]"))   --> f32[] 4
local failed, refused = ccw.try(ccw.call, first, {ccw.f32{{4, 5}}}, "f32[]")
print(refused.code)   --> INVALID_ARGUMENT
print(refused.message:match "[^\n]*")   --> first: execute: x: expected f32[n], got f32[1,2]

-- What the results of a failed call hold is undefined. So nobody reads them, and ccw says so.
local y = ccw.array("f32[]", 7)
local none = ccw.try(ccw.call, first, {ccw.f32{{4, 5}}}, y)
print(none, y)   --> nil   f32[] undefined: the call that was to write it failed

-- Try first with an empty array, ccw.f32{}. What is x[1] there, and who notices?

-- Your turn. Write `root`, which binds x: f32[n] and gives y: f32[n], the square roots. A number below 0 has none: fail
-- then, with nil and the text "below zero". Fail before anything is written.
lesson.ask{"root",
  try = function(root)
    local x = lesson.numbers("f32[6]", 5, 0, 9)
    local good = ccw.call(root, {x})
    x[6] = -1
    return good, (select(2, ccw.try(ccw.call, root, {x})))
  end,
  hints = {
    "look at all elements first: for i = 1, #x do if x[i] < 0 then ... end end",
    "return nil, \"below zero\" ends the function with a failure; math.sqrt does the rest",
  },
  answer = [[
root = ccw.bind "root(x: f32[n]) -> (y: f32[n])":to(function(x, y)
  for i = 1, #x do
    if x[i] < 0 then return nil, "below zero" end
  end
  for i = 1, #x do y[i] = math.sqrt(x[i]) end
end)]],
}

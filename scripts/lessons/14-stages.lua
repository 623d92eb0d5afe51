--- Stages: what is done once, and what each time                                        8 minutes

-- A program is compiled once, and runs many times. A handler may have a part for each: instantiate runs when the program
-- is built, execute each time. What instantiate makes is state, and execute gets it.
local make = ccw.bind "make(@new_state) {first: s64}":stage "instantiate":to(function(first)
  print "instantiate"
  return {next = first}
end)
local count = ccw.bind "count(@state) -> (y: s64[])":to(function(state, y)
  y:fill(state.next)
  state.next = state.next + 1
end)

-- The two go together in a table by stage. With @new_state a handler returns its state: the one case where something is
-- returned. Its function does not get it, of course.
local call = ccw.prepare({instantiate = make, execute = count}, {}, "s64[]", {first = 40})   --> instantiate
print(call():item(), call():item())   --> 40   41

-- State belongs to a call site. Another one has its own.
local other = ccw.prepare({instantiate = make, execute = count}, {}, "s64[]", {first = 7})   --> instantiate
print(other():item(), call():item())   --> 7   42

-- All stages get the same attributes; one that binds none ignores them. In instantiate there are no operands yet: on the
-- host attributes are all that is known.

-- On a GPU a run has three stages, prepare, initialize and execute, and each may leave something for the next. By hand
-- you see them one by one.
local counter = {instantiate = make, execute = count}
local step = ccw.prepare(counter, {}, "s64[]", {first = 1}, {stages = "by hand"})
local none = step:stage "instantiate"     --> instantiate
print(step:stage "execute":item())        --> 1

-- Try step:stage "execute" in a new call without its instantiate.

-- Your turn. Set `powers` to a table of two handlers. instantiate, with an attribute base: s64, makes the state; execute
-- gives y: s64[]: 1 in the first run, base in the second, base * base in the third, and so on.
lesson.ask{"powers",
  try = function(powers)
    local three = ccw.prepare(powers, {}, "s64[]", {base = 3})
    local list = {three():item(), three():item(), three():item()}
    local ten = ccw.prepare(powers, {}, "s64[]", {base = 10})
    return list, {ten():item(), ten():item()}, three():item()
  end,
  hints = {
    "instantiate: ccw.bind \"...(@new_state) {base: s64}\":stage \"instantiate\":to(function(base) return {...} end)",
    "the state holds the base and the value that comes next: a table of two",
  },
  answer = [[
powers = {
  instantiate = ccw.bind "start(@new_state) {base: s64}":stage "instantiate":to(function(base)
    return {base = base, next = 1}
  end),
  execute = ccw.bind "power(@state) -> (y: s64[])":to(function(state, y)
    y:fill(state.next)
    state.next = state.next * state.base
  end),
}]],
}

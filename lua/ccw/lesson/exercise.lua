--- Exercises: an answer is tried beside the reference answer, and what is wrong with it is named by its cause.
local core = require "ccw.core"
local errors = require "ccw.errors"
local bind = require "ccw.bind"
local call = require "ccw.call"
local comparison = require "ccw.comparison"
local device = require "ccw.device"
local mistakes = require "ccw.lesson.mistakes"
local player = require "ccw.lesson.player"
local show = require "ccw.show"

local M = {}

--- Seconds of the processor's time that an answer may take.
M.time_limit = 10

-- ---- seeing what a function does -------------------------------------------------------------------------------------

local INSTRUCTIONS = 100000 --- between two looks at the clock

--- Raises an error in what runs when it is too late, and from then on at each step of what is not ccw's: who catches one gets the next.
local function look_at_clock(deadline)
  if os.clock() <= deadline then return end
  debug.sethook(debug.gethook(), "", 1)
  if errors.is_own(debug.getinfo(3, "S")) then return end
  error(("NO END: still running after %g seconds"):format(M.time_limit), 3)
end

--- Has coroutines that are made from now on look at the clock, too. Gives a function that ends that.
local function limit_coroutines(deadline)
  local create, wrap = coroutine.create, coroutine.wrap
  function coroutine.create(f) -- luacheck: ignore
    local thread = create(f)
    debug.sethook(thread, function() look_at_clock(deadline) end, "", INSTRUCTIONS)
    return thread
  end
  function coroutine.wrap(f) -- luacheck: ignore
    local thread = coroutine.create(f)
    return function(...)
      local results = table.pack(coroutine.resume(thread, ...))
      if not results[1] then error(results[2], 0) end
      return table.unpack(results, 2, results.n)
    end
  end
  return function() coroutine.create, coroutine.wrap = create, wrap end -- luacheck: ignore
end

--- limited(f, ...) -> results of f. Ends f when it takes too long. `on_return`, if any, is called each time that a function returns.
local function limited(on_return, f, ...)
  local before, mask, count = debug.gethook()
  local deadline = os.clock() + M.time_limit
  local release = limit_coroutines(deadline)
  local restore <close> = setmetatable({}, { __close = function() -- luacheck: ignore
    release()
    if type(before) == "function" then debug.sethook(before, mask, count) else debug.sethook() end
  end })
  debug.sethook(function(event)
    if event == "return" and on_return then on_return() end
    if event == "count" then look_at_clock(deadline) end
  end, on_return and "r" or "", INSTRUCTIONS)
  local results = table.pack(f(...))
  return table.unpack(results, 1, results.n)
end

--- limit(f, ...) -> results of f. Raises an error when f takes more of the processor's time than the limit.
function M.limit(f, ...) return limited(nil, f, ...) end

--- The same function, watched: on_call(values) gets the values of its parameters, on_return(i, name, value) number, name and value of
--- each when it returns.
local function watched_function(f, on_call, on_return)
  local parameters = debug.getinfo(f, "u").nparams
  return function(...)
    on_call(table.pack(...))
    return limited(function()
      if debug.getinfo(3, "f").func ~= f then return end
      for i = 1, parameters do on_return(i, debug.getlocal(3, i)) end
    end, f, ...)
  end
end

--- A small array as a text; its type, where it is large.
local function sketch(value)
  if core.kind(value) ~= "buffer" then return show.value(value) end
  local text = value.count <= 12 and value.device == "host" and show.value(value)
  return text and not text:find "\n" and text or value.type
end

--- A handler in Lua with the same binding, whose function is watched. `seen` is told names of parameters by word, calls, as texts, and
--- the results that were given another value: declared, as the signature has them, and called, as the function does.
local function watched_handler(made, seen)
  local name = made.binding.name ~= "" and made.binding.name or "handler"
  for _, parameter in ipairs(made.parameters) do
    if parameter.name ~= "" then seen.names[parameter.word] = seen.names[parameter.word] or parameter.name end
  end
  local results -- of the call: by number of the parameter one, or a list
  local function note(parameter, called) seen.rebound[#seen.rebound + 1] = { declared = parameter.name, called = called } end
  return made.binding:to(watched_function(made.f, function(given)
    local list = {}
    results = {}
    for i, parameter in ipairs(made.parameters) do
      local word, value = parameter.word, given[i]
      if word == "arg" or word == "attr" then list[#list + 1] = sketch(value) end
      if word == "ret" then results[i] = value end
      if word == "remaining_rets" then results[i] = table.move(value, 1, #value, 1, {}) end
    end
    seen.calls[#seen.calls + 1] = ("%s(%s)"):format(name, table.concat(list, ", "))
  end, function(i, called, value)
    local parameter, before = made.parameters[i], results[i]
    if core.kind(before) == "buffer" and not rawequal(value, before) then note(parameter, called) end
    if type(before) == "table" and type(value) == "table" then
      for k, result in ipairs(before) do
        if not rawequal(value[k], result) then note(parameter, ("%s[%d]"):format(called, k)) end
      end
    end
  end))
end

local function nothing() end

local function watched(value, seen)
  if core.kind(value) == "handler" then return bind.made[value] and watched_handler(bind.made[value], seen) or value end
  if type(value) == "function" then return watched_function(value, nothing, nothing) end
  if type(value) ~= "table" or getmetatable(value) then return value end
  local copy = {}
  for key, item in next, value do copy[key] = watched(item, seen) end
  return copy
end

--- An error as a learner wants it: without the way there, and without who was called, in front of a place in their code.
local function brief(text)
  local lines = {}
  for line in text:gsub("\nstack traceback:.*", ""):gmatch "[^\n]+" do
    if #lines < 8 then lines[#lines + 1] = line end
  end
  local first = lines[1] or text
  lines[1] = first:match "^%u[%u_]+: .-: execute: ([%w_./-]+:%d+: .*)$" or first:match "^UNKNOWN: .-: execute: (.*)$" or first
  return table.concat(lines, "\n")
end

-- ---- comparing what it gives -----------------------------------------------------------------------------------------

local function on_host(buffer) return buffer:to "host" end

--- Why two arrays of one type are not the same but for rounding; nil where they are.
local function buffer_difference(got, wanted)
  local compared = comparison.compare(got, wanted, { close = true, equal_nan = true })
  if compared.equal then return nil end
  if wanted.count <= 12 then return ("expected %s, got %s"):format(show.value(wanted), show.value(got)) end
  local k = compared.first
  return ("element %d of %s: expected %s, got %s; %d of %d are wrong"):format(k, wanted.type, tostring(wanted.flat[k]),
    tostring(got.flat[k]), compared.count, wanted.count)
end

--- The keys of a table in an order that is always the same.
local function keys_of(list)
  local keys = {}
  for key in next, list do keys[#keys + 1] = key end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  return keys
end

--- What may help where a failure has another code than the one that is wanted.
local function hint_on_code(got, wanted)
  if wanted ~= "INTERNAL" or got ~= "UNKNOWN" then return nil end
  return "return nil, \"...\" fails with INTERNAL; an error that is raised, as error \"...\" or one of Lua's own, with UNKNOWN"
end

--- Why two values are not the same, and what may help; nil where they are. Buffers may differ by rounding, errors in their texts. `seen`
--- has the tables that are being compared: one may hold itself.
local function difference(got, wanted, seen)
  local kind = core.kind(wanted)
  if kind == "buffer" and core.kind(got) == "buffer" then
    if got.type ~= wanted.type then
      local what = got.dtype == wanted.dtype and "shape" or "type"
      return ("a result of the wrong %s: expected %s, got %s"):format(what, wanted.type, got.type)
    end
    if got.device ~= wanted.device then return ("expected an array on %s, got one on %s"):format(wanted.device, got.device) end
    local moved = on_host(got)
    local why = buffer_difference(moved, on_host(wanted))
    if why and got.device ~= "host" and moved:bytes():find "^\xCB+$" then
      return ("a result on %s was not written: it is what fresh memory there holds"):format(got.device),
        "a kernel has to be launched that writes it"
    end
    return why
  elseif errors.is_error(wanted) then
    if not errors.is_error(got) then return ("it should have failed, with %s, and did not"):format(wanted.code) end
    if got.code ~= wanted.code then
      local text = brief(tostring(got))
      local code = text:sub(1, #got.code) == got.code and "" or got.code .. ", "
      return ("expected the failure %s, got %s%s"):format(wanted.code, code, text), hint_on_code(got.code, wanted.code)
    end
  elseif type(wanted) == "table" and type(got) == "table" and not kind and not getmetatable(wanted) then
    seen = seen or {}
    if seen[wanted] == got then return nil end
    seen[wanted] = got
    for _, key in ipairs(keys_of(wanted)) do
      local why, hint = difference(got[key], wanted[key], seen)
      if why then return ("at %s: %s"):format(tostring(key), why), hint end
    end
    for _, key in ipairs(keys_of(got)) do
      if wanted[key] == nil then return ("nothing is expected at %s, got %s"):format(tostring(key), show.value(got[key])) end
    end
  elseif math.type(wanted) == "float" and type(got) == "number" then
    if math.abs(got - wanted) > 1e-6 * math.abs(wanted) then return ("expected %s, got %s"):format(wanted, got) end
  elseif got ~= wanted and show.value(got) ~= show.value(wanted) then
    return ("expected %s, got %s"):format(show.value(wanted), show.value(got))
  end
end

local function kind_of(value) return core.kind(value) or errors.metatable_name(value) or type(value) end

local function article(kind) return (kind:find "^[aeiou]" and "an " or "a ") .. kind:gsub("^ccw%.", "") end

-- ---- the verdict -----------------------------------------------------------------------------------------------------

--- Takes a simulated device back that somebody broke, so that an answer finds it as it should be.
local function mend_device()
  if not errors.try(function() device.device "sim:0":sync() end) then device.device "sim:0":reset() end
end

--- Runs a function as calls at the prompt run: checked.
local function checked(f, ...)
  local before = call.checked
  local restore <close> = setmetatable({}, { __close = function() call.checked = before end }) -- luacheck: ignore
  call.checked = true
  return f(...)
end

--- The texts of an error, with the way there where it is one of Lua's.
local function traced(err) return errors.is_error(err) and tostring(err) or debug.traceback(tostring(err), 2) end

--- How what an answer should be is made; nothing where that is not plain.
local function how_to_make(reference, answer)
  local kind = kind_of(reference)
  if kind_of(answer) == "ccw.binding" then return "give the binding its function: :to(function(...) ... end)" end
  if kind == "handler" and bind.made[reference] then return "ccw.bind \"...\":to(function(...) ... end) makes a handler" end
  if kind == "kernel" then return "ccw.kernel{name = \"...\", source = [[...]]} makes a kernel" end
end

local function wrong(cause, hint) return { right = false, cause = cause, hint = hint } end

--- diagnose(text [, seen]) -> cause, hint. What an error means: a usual mistake, or else what it says, and no hint.
function M.diagnose(text, seen)
  local cause, hint = mistakes.of(text, seen)
  return cause or brief(text), hint
end

--- The value that the reference answer gives its name, in the session's sight. What the learner set stays as it is.
local function reference_of(session, exercise)
  local name, cells = exercise.name, session.cells
  local cell, global = cells[name], rawget(_G, name)
  cells[name], _G[name] = nil, nil
  local ok, text = limited(nil, player.quietly, session, exercise.answer)
  local value = session:value(name)
  cells[name], _G[name] = cell, global
  if not ok or value == nil then
    errors.raise("INTERNAL", ("exercise '%s': its answer %s"):format(name, ok and "does not set " .. name or "fails: " .. text))
  end
  return value
end

--- What a handler of that binding gives when its function does nothing.
local function empty_of(reference)
  local made = bind.made[reference]
  return made and made.binding:to(function(...) end) -- luacheck: ignore
end

--- What nothing else stands for. Of a pattern, as an example, there is a text, too.
local has_one_form = { handler = true, ["function"] = true, kernel = true }

--- try(exercise, answer, reference) -> verdict. Tries an answer beside the reference answer: right, a boolean; cause and hint of what is
--- not.
local function try(exercise, answer, reference)
  if has_one_form[kind_of(reference)] and kind_of(answer) ~= kind_of(reference) then
    return wrong(("expected %s, got %s"):format(article(kind_of(reference)), article(kind_of(answer))),
      how_to_make(reference, answer))
  end
  local wanted = table.pack(pcall(limited, nil, exercise.try, reference))
  if not wanted[1] then
    errors.raise("INTERNAL", ("exercise '%s': its own answer fails: %s"):format(exercise.name, tostring(wanted[2])))
  end
  local seen = { names = {}, rebound = {}, calls = {} }
  local got = table.pack(xpcall(limited, traced, nil, exercise.try, watched(answer, seen)))
  if not got[1] then
    mend_device()
    local cause, hint = M.diagnose(got[2], seen)
    local has_no_place = not hint and not cause:find "^[%w_./-]+:%d+: " -- in the answer, which tells more
    local failed = has_no_place and got[2]:find ": execute: " and seen.calls[#seen.calls]
    return wrong(failed and ("%s fails: %s"):format(failed, cause) or cause, hint)
  end
  for i = 2, math.max(wanted.n, got.n) do
    local unexpected = errors.is_error(got[i]) and not errors.is_error(wanted[i]) and mistakes.of(tostring(got[i]), seen)
    if unexpected then return wrong(mistakes.of(tostring(got[i]), seen)) end
  end
  for i = 2, math.max(wanted.n, got.n) do
    local compared, why, hint = xpcall(difference, traced, got[i], wanted[i])
    if not compared then -- what was queued fails when it is waited for
      mend_device()
      return wrong(M.diagnose(why, seen))
    end
    local of_call = #seen.calls == got.n - 1 and seen.calls[i - 1] -- where each value is of one call
    if why then return wrong(of_call and ("%s: %s"):format(of_call, why) or why, hint) end
  end
  return { right = true }
end

--- Names that learners did not choose: nobody means `dofile` who was asked for `double`.
local own_names = {}
for name in next, _G do own_names[name] = true end

--- What the learner set that is called nearly so.
local function near_names(session, wanted)
  local names = {}
  for _, name in ipairs(session:names()) do
    if not own_names[name] then names[#names + 1] = name end
  end
  return core.near(wanted, names)
end

--- check(session, exercise) -> verdict. Tries what the exercise's name means in the session: right, a boolean; cause and hint of what is
-- wrong. INTERNAL: the exercise's own answer is.
function M.check(session, exercise)
  local answer = session:value(exercise.name)
  if answer == nil then
    local near = near_names(session, exercise.name)
    return wrong(("the name '%s' was never set"):format(exercise.name),
      near[1] and ("near: %s"):format(table.concat(near, ", ")) or ("the answer is what %s is set to: %s = ..."):format(exercise.name,
        exercise.name))
  end
  mend_device()
  return checked(try, exercise, answer, reference_of(session, exercise))
end

--- refuses_nothing(session, exercise) -> boolean. Whether an exercise is no exercise: it takes an empty handler, or one of "", 0, {} and a
-- function that does nothing, for an answer.
function M.refuses_nothing(session, exercise)
  local reference = reference_of(session, exercise)
  local empty = empty_of(reference)
  local candidates = empty and { empty } or { "", 0, {}, function() end }
  for _, candidate in ipairs(candidates) do
    if checked(try, exercise, candidate, reference).right then return true end
  end
  return false
end

--- text(exercise, verdict) -> string. How a verdict reads.
function M.text(exercise, verdict)
  if verdict.right then return exercise.name .. ": right." end
  return ("%s: %s%s"):format(exercise.name, verdict.cause, verdict.hint and "\n  hint: " .. verdict.hint or "")
end

return M

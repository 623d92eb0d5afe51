--- What a call does: its stages, how long each takes, and the frame that the handler gets.
local core = require "ccw.core"
local errors = require "ccw.errors"
local timing = require "ccw.prompt.timing"

local M = {}

local MOST = 3 -- calls whose frames are shown
local MORE = 12 -- where core.call has its options

local order = { "instantiate", "prepare", "initialize", "execute", "record" }

--- The stages of a run, in their order: those that are asked for and that the handler has.
local function stages_of(handler, mask, is_on_host)
  local has, list = {}, {}
  for _, name in ipairs(handler.stages) do has[name] = true end
  for i, name in ipairs(order) do
    local bit, is_wanted = 1 << (i - 1), name == "instantiate"
    if mask ~= 0 then
      is_wanted = is_wanted or mask & bit ~= 0
    else
      is_wanted = is_wanted or name == "execute" or not is_on_host and (name == "prepare" or name == "initialize")
    end
    if is_wanted and has[name] then list[#list + 1] = name end
  end
  return list
end

local function add(calls, name, about)
  local entry = { name = name, about = about, times = {} }
  calls[#calls + 1] = entry
  return entry
end

--- In place of core.call: each stage by itself.
local function step_through(calls, arguments)
  local more = {}
  for key, value in next, arguments[MORE] or {} do more[key] = value end
  local stages = stages_of(arguments[1], more.stages or 0, not more.device)
  more.stages, more.by_hand, more.checked = 0, true, false
  arguments[MORE] = more
  local call = core.prepare(table.unpack(arguments, 1, MORE))
  local entry, results = add(calls, core.call_name(call), "on " .. (more.device and more.device.name or "host")), nil
  for _, stage in ipairs(stages) do
    if stage == "execute" then entry.frame = call:explain "execute" end
    local start = core.clock()
    local time = { stage = stage }
    entry.times[#entry.times + 1] = time
    results = call:stage(stage)
    time.seconds = core.clock() - start
  end
  core.call_close(call)
  return results
end

local function text_of(calls)
  local lines = {}
  for i, entry in ipairs(calls) do
    if i > MOST then
      lines[#lines + 1] = #calls == MOST + 1 and "and one call more" or ("and %d calls more"):format(#calls - MOST)
      break
    end
    lines[#lines + 1] = entry.name .. " " .. entry.about
    for _, time in ipairs(entry.times) do
      lines[#lines + 1] = ("  %-11s  %s"):format(time.stage, time.seconds and timing.seconds(time.seconds) or "failed")
    end
    lines[#lines + 1] = entry.frame
  end
  return table.concat(lines, "\n")
end

--- A prepared call, as a whole.
local function run_whole(calls, run, call, ...)
  local about = core.call_is_checked(call) and "as it was prepared, checked" or "as it was prepared"
  local entry, time = add(calls, core.call_name(call), about), { stage = "the call" }
  entry.frame, entry.times[1] = call:explain "execute", time
  local start = core.clock()
  local results = run(call, ...)
  time.seconds = core.clock() - start
  return results
end

--- trace(f) -> result of f, the text of what the calls did that f made, and how many these were. Calls are not checked; what their handlers
--- call in turn is part of them. What goes wrong is raised, as a string that goes on with the text.
function M.trace(f)
  local calls, is_inside = {}, false
  local core_call, run = core.call, core.call_metatable.__call
  local _ <close> = setmetatable({}, { __close = function() core.call, core.call_metatable.__call = core_call, run end })
  local function outermost(g, ...)
    is_inside = true
    local results = table.pack(pcall(g, ...))
    is_inside = false
    if not results[1] then error(results[2], 0) end
    return table.unpack(results, 2, results.n)
  end
  core.call = function(...)
    if is_inside then return core_call(...) end
    return outermost(step_through, calls, table.pack(...))
  end
  core.call_metatable.__call = function(call, ...)
    local _, open = core.kind(call)
    if is_inside or not open then return run(call, ...) end
    return outermost(run_whole, calls, run, call, ...)
  end
  local results = table.pack(pcall(timing.unchecked, f))
  if results[1] then return results[2], text_of(calls), #calls end
  if #calls == 0 or not errors.is_error(results[2]) then error(results[2], 0) end
  error(tostring(results[2]) .. "\n" .. text_of(calls), 0)
end

return M

--- Calls: operands, results and options as people write them, flat as core takes them.
local core = require "ccw.core"
local errors = require "ccw.errors"
local ask = require "ccw.ask"
local attributes = require "ccw.attributes"
local array = require "ccw.array"

local M = {}
local kind_of = core.kind

--- Whether calls that do not say so are checked: at the prompt they are.
M.checked = false

local option_types = {
  platform = "string", device = "any", stream = "any", aliases = "table", has_side_effect = "boolean", run_id = "integer",
  device_ordinal = "integer", strict = "boolean", signature = "boolean", api_version = "integer", schedule = "string",
  literal = "any", stages = "any", like_xla = "boolean", checked = "boolean", custom_options = "any", user_data = "table",
}

local MOST_NESTED = core.max_tuple_depth --- an end, too, to a table that holds itself

--- Adds the buffers of a value, a list being a tuple, to `flat`.
local function flatten(value, flat, fail, depth)
  local kind, open = kind_of(value)
  if kind == "buffer" then
    if not open then fail(2, "arg %d: this buffer is closed", #flat) end
    flat[#flat + 1] = value
  elseif type(value) == "table" then
    local length, why = array.list_length(value)
    if not length then fail(2, "args: %s", why) end
    if depth == MOST_NESTED then fail(2, "args: more than %d lists in each other", MOST_NESTED) end
    for i = 1, length do flatten(value[i], flat, fail, depth + 1) end
  else
    fail(2, "arg %d: expected a buffer, got %s", #flat, kind or type(value))
  end
end

local nothing = {}

--- The operands as core takes them: a flat list; and where the first is, nil for the host.
local function flatten_operands(operands, fail)
  if operands == nil then return nothing end
  if type(operands) ~= "table" then
    fail(2, "expected a list of buffers, got %s", kind_of(operands) or type(operands))
  end
  local is_flat, device = core.is_flat(operands)
  if is_flat then return operands, device end -- as it mostly is
  local flat = {}
  flatten(operands, flat, fail, 0)
  return flat, select(2, core.is_flat(flat))
end

--- New buffers for the arrays of a tuple type, in its nesting.
local function allocate(tuple, flat, device, site)
  local list = {}
  for i = 1, #tuple do
    local buffer = core.buffer(tuple[i], false, device, site)
    list[i] = buffer or allocate(tuple[i], flat, device, site)
    flat[#flat + 1] = buffer
  end
  return list
end

--- The buffers that results go into, in the nesting in which they are given back. New ones are on the device, nil for the host.
local function make_results(results, flat, fail, depth, device, site)
  local kind, open = kind_of(results)
  if kind == "buffer" then
    if not open then fail(3, "result %d: this buffer is closed", #flat) end
    flat[#flat + 1] = results
    return results
  elseif type(results) == "string" or kind == "type" then
    local buffer = core.buffer(results, false, device, site)
    flat[#flat + 1] = buffer
    return buffer or allocate(core.type(results), flat, device, site)
  elseif type(results) == "table" then
    local length, why = array.list_length(results)
    if not length then fail(3, "results: %s", why) end
    if depth == MOST_NESTED then fail(3, "results: more than %d lists in each other", MOST_NESTED) end
    local list = {}
    for i = 1, length do list[i] = make_results(results[i], flat, fail, depth + 1, device, site) end
    return list
  end
  fail(3, "result %d: expected a type, a buffer or a list of them, got %s", #flat, kind or type(results))
end

--- {[result] = operand} as the flat list that core takes.
local function flatten_aliases(aliases, fail)
  if aliases == nil then return nil end
  local flat = {}
  for result, operand in next, aliases do
    for _, position in ipairs { result, operand } do
      if math.type(position) ~= "integer" then fail(5, "aliases: expected an integer, got %s", tostring(position)) end
      flat[#flat + 1] = position
    end
  end
  return flat
end

local function check_options(options, fail)
  errors.check_options(fail, 5, options, option_types)
  local device, stream = options.device, options.stream
  if device ~= nil and type(device) ~= "string" and kind_of(device) ~= "device" then
    fail(5, "device: expected a device or its name, got %s", kind_of(device) or type(device))
  end
  if stream ~= nil and kind_of(stream) ~= "stream" then fail(5, "stream: expected a stream, got %s", kind_of(stream) or type(stream)) end
  if options.api_version ~= nil and options.api_version ~= 4 then
    fail(5, "api_version: only 4, the typed FFI, is spoken here; got %s", tostring(options.api_version))
  end
  if options.literal ~= nil then fail(5, "literal: HLO can hold one, but no runtime hands it to a handler") end
  local ordinal = options.device_ordinal or 0
  if ordinal ~= ordinal & 0x7FFFFFFF and ordinal ~= -1 then
    fail(5, "device_ordinal: expected -1 to 2147483647, got %s", tostring(ordinal))
  end
end

local stage_names = { "instantiate", "prepare", "initialize", "execute", "record" }
local stage_numbers = {}
for i, name in ipairs(stage_names) do stage_numbers[name] = i - 1 end

--- Raises for what is no name of a stage.
local function check_stage_name(name, position, fail)
  if stage_numbers[name] then return end
  local near = core.near(tostring(name), stage_names)
  fail(position, "no stage is called '%s'%s", tostring(name), near[1] and "; near: " .. table.concat(near, ", ") or "")
end

--- The stages of a run as core has them, and whether none runs by itself.
local function stages_from(stages, fail)
  if stages == nil then return 0, false end
  if stages == "by hand" then return 0, true end
  if stages == "all" then stages = { "prepare", "initialize", "execute" } end
  if type(stages) ~= "table" then
    fail(5, "stages: expected \"all\", \"by hand\" or a list of names, got %s", tostring(stages))
  end
  local mask = 0
  for _, name in ipairs(stages) do
    check_stage_name(name, 5, fail)
    if name == "instantiate" then fail(5, "stages: instantiate is of no run: it runs once, when the call is prepared") end
    mask = mask | 1 << stage_numbers[name]
  end
  if mask == 0 then fail(5, "stages: expected a list of names, got an empty one; \"by hand\" is for no stage at all") end
  return mask, false
end

--- User data by the names of their types, as core takes it: a list {id, value, id, value, ...}. Strings become blocks of their
--- bytes.
local function user_data_from(data, fail)
  local list = {}
  for name, value in next, data do
    local id = type(name) == "string" and core.state_type(name)
    if not id then
      errors.raise("NOT_FOUND", ("user_data: no type is registered as '%s'; register it, as in lib:type \"NAME\"")
        :format(tostring(name)))
    end
    local kind, open = kind_of(value)
    if kind == "buffer" and not open then fail(5, "user_data: %s: this buffer is closed", name) end
    if type(value) == "string" then
      value = core.block(value)
    elseif kind ~= "buffer" and (type(value) ~= "userdata" or kind) then
      fail(5, "user_data: %s: expected a buffer, a string of bytes or a light userdata, got %s", name, kind or type(value))
    end
    list[#list + 1], list[#list + 2] = id, value
  end
  return list
end

--- What is seldom said of a call, as core takes it: nil where nothing was.
local function more_from(options, device, fail)
  local stages, by_hand = stages_from(options.stages, fail)
  local checked = options.checked
  if checked == nil then checked = M.checked end
  if not device and not options.stream and stages == 0 and not by_hand and not options.like_xla and not checked and
    options.custom_options == nil and options.user_data == nil and not options.has_side_effect then return nil end
  local custom = options.custom_options
  if custom ~= nil and kind_of(custom) ~= "attributes" then
    custom = attributes.build(custom, fail, 5, "custom_options")
  end
  return { device = device, stream = options.stream, stages = stages, by_hand = by_hand, like_xla = options.like_xla, checked = checked,
    has_side_effect = options.has_side_effect, custom_options = custom,
    user_data = options.user_data and user_data_from(options.user_data, fail) }
end

--- One handler of several, by stage.
local function bundle(handlers, fail)
  for stage, handler in next, handlers do
    check_stage_name(stage, 1, fail)
    if kind_of(handler) ~= "handler" then
      fail(1, "stage '%s': expected a handler, got %s", stage, kind_of(handler) or type(handler))
    end
    if #handler.stages > 1 then fail(1, "stage '%s': %s has stages of its own", stage, handler.name) end
  end
  return core.bundle(handlers.execute and handlers.execute.name or "bundle", handlers)
end

--- The handler that a target stands for, and the name under which messages know it where that is another than its own.
local function resolve(target, platform, fail)
  local kind = kind_of(target)
  if kind == "handler" then return target end
  if errors.metatable_name(target) == "ccw.binding" then fail(1, "expected a handler, got a binding: give it its function, :to(f)") end
  if type(target) == "string" then return core.find(target, platform), target end
  if type(target) == "table" then return bundle(target, fail) end
  fail(1, "expected a handler, a table of handlers by stage or a registered name, got %s", kind or type(target))
end
M.resolve = resolve

--- Signatures of the handlers that were asked for theirs; false where there is none.
local signatures = setmetatable({}, { __mode = "k" })

local function signature_of(handler)
  local signature = signatures[handler]
  if signature == nil then
    local is_known = errors.try(ask.learn, handler)
    signature = errors.try(function() return handler.signature end) or false
    if is_known ~= false then signatures[handler] = signature end
  end
  return signature or nil
end

--- Signatures of the other stages of a handler, as far as they are known: nil where it has none. All get the same attributes.
local function stage_signatures(handler)
  if not core.has_stages(handler) then return nil end
  local stages = handler.stages
  local list = {}
  for _, stage in ipairs(stages) do
    if stage ~= "execute" then list[#list + 1] = core.handler_stage_signature(handler, stage) end
  end
  return list[1] and list or nil
end

--- The types of the results, as the operands determine them: one, or a tuple.
local function determined_results(signature, who, operands, fail)
  if not signature then fail(3, "expected types of results: %s has no signature that could tell them", who) end
  local types = {}
  for i, operand in ipairs(operands) do types[i] = operand.type end
  local results = signature:results(types, who)
  return #results == 1 and results[1] or results
end

local host = core.device "host"

--- The first buffer among results.
local function first_buffer(results, depth)
  if kind_of(results) == "buffer" then return results end
  if type(results) ~= "table" or depth > MOST_NESTED then return nil end
  for _, result in ipairs(results) do
    local buffer = first_buffer(result, depth + 1)
    if buffer then return buffer end
  end
end

--- Where a call runs, nil for the host: what the options say, else where its operands are, else where its results are.
local function find_device(device, results, options)
  if options.device ~= nil then device = core.device(options.device) end
  if not device and options.stream then device = core.stream_info(options.stream) end
  if not device and results ~= nil and type(results) ~= "string" then
    local buffer = first_buffer(results, 0)
    device = buffer and select(2, kind_of(buffer)) and core.device_of(buffer)
  end
  return device ~= host and device or nil
end

--- The platform whose handler a name stands for. One that is asked for must be that of the device.
local function check_platform(device, options)
  local has = (device or host).platform
  local wanted = options.platform and core.platform(options.platform) or has
  if wanted == has then return has end
  local there = device and ("on %s, whose platform is %s"):format(device.name, has) or "on the host"
  errors.raise("INVALID_ARGUMENT", ("platform %s: the call is %s; move its buffers to a device of that platform, x:to \"cuda:0\", or have "
    .. "a simulated one answer to it: ccw.device(\"sim:0\", {as = %q})"):format(wanted, there, options.platform))
end

--- Hands everything over to `receive`, core.call or core.prepare, flat. A result that is one array needs no list.
local function hand_over(receive, fail, target, operands, results, attrs, options)
  local aliases, run_id, device_ordinal, strict, as_it_is = nil, 0, 0, false, false
  if options ~= nil then
    check_options(options, fail)
    strict, as_it_is = options.strict, options.signature == false
    aliases = flatten_aliases(options.aliases, fail)
    run_id, device_ordinal = options.run_id or 0, options.device_ordinal or 0
  end
  local flat_operands, device = flatten_operands(operands, fail)
  if options or not device then device = find_device(device, results, options or nothing) end
  local platform = options and check_platform(device, options) or device and device.platform or "host"
  local more = (options or device or M.checked) and more_from(options or nothing, device, fail) or nil
  local handler, name = resolve(target, platform, fail)
  local signature = signature_of(handler) -- also where it is not wanted: it names the types that have to be registered
  if as_it_is then signature = nil end
  if results == nil then results = determined_results(signature, name or handler.name, flat_operands, fail) end
  local site = device and errors.site()
  local returns, flat_results = type(results) == "string" and core.buffer(results, false, device, site) or nil, nil
  if not returns then
    flat_results = {}
    returns = make_results(results, flat_results, fail, 0, device, site)
  end
  local flat_attributes = attributes.from(attrs, fail, 4, signature, name or handler.name, signature and stage_signatures(handler))
  return receive(handler, flat_operands, flat_results, flat_attributes, returns, name, aliases, run_id, device_ordinal, strict,
    as_it_is, more)
end

--- future: the outcome of a call that was started and may not be complete yet.
-- f:wait([seconds]) gives the results, or raises the call's error; DEADLINE_EXCEEDED when the time is up before, and then it may
-- be waited for again, or dropped. f:done() tells whether there is nothing to wait for. What the call is made of stays alive
-- until it is complete, whoever drops what. A wait lets handlers and tasks in Lua run, and Ctrl-C ends it.
local future_methods = {}
local future_meta = { __name = "ccw.future", __index = errors.index_of("future", future_methods) }

--- Futures that nobody has waited for: they keep their calls, and with them imported memory, until they are complete.
local pending = {}
local current = setmetatable({}, { __mode = "k" }) -- the newest future of a call

--- Waits while another thread waits for the same future, as long as there is time.
local function wait_with_others(future, seconds)
  local deadline = core.clock() + seconds
  while future.waits and (seconds < 0 or core.clock() < deadline) do core.pause(0.001) end
end

local function raise_late(future, seconds)
  errors.raise("DEADLINE_EXCEEDED",
    ("%s: its future was not complete after %g seconds"):format(core.call_name(future.call), seconds))
end

--- Takes the outcome of a future, once its run is complete; below 0 that takes as long as it takes.
local function settle(future, seconds)
  wait_with_others(future, seconds)
  if future.settled then return end
  if future.waits then raise_late(future, seconds) end
  future.waits = true
  local ok, results, err = pcall(errors.try, core.call_wait, future.call, seconds)
  future.waits = false
  if not ok then error(results, 0) end
  if results == false then raise_late(future, seconds) end
  pending[future] = nil
  future.settled, future.results, future.error = true, results, err or false
  if future.closes then core.call_close(future.call) end
end

--- Settles what has become complete, so that it is not kept any longer.
local function sweep()
  for future in next, pending do
    if not future.waits and core.call_done(future.call) then settle(future, 0) end -- which may end the call, and take it off the list
  end
end

--- future:wait([seconds]) -> results. Waits for the call, as long as it takes where no time is given.
function future_methods:wait(seconds)
  local misuse = errors.misuse_of "wait"
  if getmetatable(self) ~= future_meta then misuse(1, "a method is called with a colon, f:wait()") end
  errors.check(misuse, 1, seconds, "number", true)
  if seconds and (seconds ~= seconds or seconds < 0) then misuse(1, "expected 0 seconds or more, got %s", tostring(seconds)) end
  if not self.settled then settle(self, seconds or -1) end
  if self.error then error(self.error, 0) end
  return self.results
end

--- future:done() -> boolean. Whether the call is complete.
function future_methods:done()
  if getmetatable(self) ~= future_meta then errors.misuse_of "done"(1, "a method is called with a colon, f:done()") end
  return self.settled or core.call_done(self.call) end

function future_meta:__tostring()
  local how = not self:done() and "not complete" or self.error and "failed" or "complete"
  return ("future of %s: %s"):format(core.call_name(self.call), how)
end

--- call:start() -> future. Runs the handler until it returns, and does not wait for the future that it may have left.
local function start(call)
  sweep()
  local before = current[call]
  if before and not before.settled and not before.waits and core.call_done(call) then settle(before, 0) end
  core.call_start(call)
  local future = setmetatable({ call = call, settled = false, waits = false, closes = false, results = false, error = false }, future_meta)
  pending[future], current[call] = true, future
  return future
end

--- call:close(). Lets go of handler, state and buffers; of a run that was started, when it is complete. `local call <close> = ...`
-- does it at the end of the block.
local function close(call)
  local future = current[call]
  if future and not future.settled then
    if future.waits or not core.call_done(call) then
      future.closes = true
      return
    end
    settle(future, 0) -- its outcome is the future's
  end
  core.call_close(call)
end

core.call_metatable.__index.start, core.call_metatable.__index.close, core.call_metatable.__close = start, close, close

--- call:description() -> description. What the call is made of, as text that was read gives it: to change, to write, to run
-- elsewhere. Operands are the arrays that the handler gets, those of tuples one by one.
function core.call_metatable.__index.description(call) return require "ccw.text.call".describe(call) end

--- call:text(form) -> string. The call as the text of "stablehlo", "generic" (StableHLO for any MLIR tool), "hlo", "jax" (Python)
-- or "c" (a program).
function core.call_metatable.__index.text(call, form) return require "ccw.text.call".describe(call):text(form) end

local misuse_of_call, misuse_of_prepare = errors.misuse_of "call", errors.misuse_of "prepare"

--- call: a call that was prepared, to be run many times.
-- call() runs the handler and gives the results, the same buffers each time, in the nesting of their types; it allocates
-- nothing, and raises an error object with the handler's code and message; results of a run that failed are undefined, and say
-- so when they are read. Methods: call:start(), call:stage(name), call:explain([stage]), call:recorded(), call:replay(),
-- call:capture(), call:description(), call:text(form), call:close().

--- ccw.prepare(target, operands [, results [, attributes [, options]]]) -> call.
-- Builds a call once, to run it many times: call() allocates nothing and returns the same result buffers each time.
-- The handler's stage instantiate, if it has one, runs now, and the state that it makes ends with the call.
-- call:explain() shows the frame. The arguments are those of ccw.call.
function M.prepare(target, operands, results, attrs, options)
  sweep()
  return hand_over(core.prepare, misuse_of_prepare, target, operands, results, attrs, options)
end

--- options: what may be said of a call, the last argument of ccw.call and ccw.prepare, as a table.
-- - checked: run the handler on copies of operands and results that tell what it does wrong: reading or writing past an end, writing
-- to an operand, leaving elements unwritten. Then it runs again, in a forked child, to see more, unless it leaves a future, is
-- written in Lua, or has_side_effect is true. Scratch memory, state and user data are not watched. The default at the prompt, and
-- nowhere else. On a device other than the host it adds nothing.
-- - aliases: {[0] = 1}, result 0 may have the memory of arg 1. A result given as a type gets a copy of it first, the operand's own
-- buffer is overwritten.
-- - strict: check that a pred result holds 0 and 1 only.
-- - signature: false hands the call over as it is, for the handler itself to check.
-- - run_id: for handlers that ask; 0 where none is given.
-- - device_ordinal: for handlers that ask; 0 where none is given, -1 is unknown.
-- - custom_options: a table like that of attributes, for handlers that ask. Nothing says what is wanted, so that plain numbers are s64
-- and f64: ccw.f32(1) says otherwise.
-- - user_data: {NAME = value} by the names of registered types, see lib:type and ccw.types: a buffer's memory, a copy of a string's
-- bytes, or a light userdata.
-- - like_xla: true answers as XLA's CPU does, which has no scratch memory; without it there is some.
-- - device: where it runs, a device or its name, "sim:0"; without it, where its operands are. Operands and results are on one device,
-- and the call's platform is that device's.
-- - stream: of that device, the one that the handler gets; the device's own without it. The call waits for it.
-- - stages: which stages run, in their order: on the host "execute" alone, as on XLA's CPU, on other platforms prepare, initialize and
-- execute, for which "all" stands everywhere; or a list of names; "by hand": none runs by itself, see call:stage. All stages get the
-- same attributes.
-- - platform: the platform that the call has to have, such as "CUDA"; it is refused where its operands are elsewhere.
-- - has_side_effect: true forbids the second run of a checked call. A call runs always and at once in any case.
-- - api_version: 4, the typed FFI, and no other.
-- - schedule: what HLO says of a call's place among others, a text; here calls run in their order.
-- - literal: what HLO can hold and no runtime hands to a handler: it is refused.

--- ccw.call(target, operands [, results [, attributes [, options]]]) -> results.
-- Runs a custom call. The target is a handler, a table of handlers by stage, or a registered name. Operands are a list of
-- buffers; a list in it is a tuple, whose buffers the handler sees one after the other. Results are a type, "f32[4]" or
-- "(f32[4], s32[])", a buffer as the destination, or a list of those; they come back in the same nesting. They may be left out
-- where the signature's names determine them. Attributes are a table, see ccw.attrs; where the handler's signature is known,
-- plain numbers become the types that it binds, and the name of an enum's value the value: integers must fit, floats round and
-- only overflow is refused. All that does not fit the signature is refused before the call.
-- A failure raises an error object with the handler's code and message. ?options lists the options.
function M.call(target, operands, results, attrs, options)
  return hand_over(core.call, misuse_of_call, target, operands, results, attrs, options)
end

return M

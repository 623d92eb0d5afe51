--- One call over several devices, as JAX makes of it: each gets a part of the batch, or all of it.
local core = require "ccw.core"
local errors = require "ccw.errors"
local array = require "ccw.array"
local call = require "ccw.call"

local M = {}
local misuse = errors.misuse_of "shard"

--- The type of an array with another extent in front.
local function with_rows(type, rows)
  local dims = type.dims
  dims[1] = rows
  return ("%s[%s]"):format(type.dtype, table.concat(dims, ","))
end

--- Which operands are split, a set of positions from 0; nil: none is.
local function split_from(split, operands)
  if split == nil then return nil end
  if type(split) ~= "table" then misuse(5, "split: expected a list of positions of args, got %s", core.kind(split) or type(split)) end
  local positions = {}
  for key, position in next, split do
    if math.type(key) ~= "integer" then
      misuse(5, "split: expected a list of args, each split in dim 0, its batch; got the key %s", tostring(key))
    end
    if math.type(position) ~= "integer" or not operands[position + 1] then
      misuse(5, "split: expected positions of args, 0 to %d, got %s", #operands - 1, tostring(position))
    end
    positions[position] = true
  end
  return next(positions) and positions
end

--- Says of what is to be split why it cannot be.
local function check_rows(what, type, count, problems)
  if #type.dims == 0 then
    problems[#problems + 1] = ("%s: %s has no batch that could be split"):format(what, tostring(type))
  elseif type.dims[1] % count ~= 0 then
    problems[#problems + 1] = ("%s: %s: %d rows cannot be split over %d devices"):format(what, tostring(type), type.dims[1], count)
  end
end

--- Results as a list of types; whether it was one alone.
local function list_results(results)
  if results == nil then return nil, false end
  local alone = type(results) == "string" or core.kind(results) == "type"
  local list = alone and { results } or results
  if type(list) ~= "table" or not array.list_length(list) then
    misuse(3, "expected a type or a list of types, got %s", core.kind(results) or type(results))
  end
  local types = {}
  for i, result in ipairs(list) do
    types[i] = core.type(result)
    if #types[i] > 0 then misuse(3, "result %d: expected the type of an array, got a tuple", i - 1) end
  end
  return types, alone
end

--- The parts of result number `i` one behind the other, on the host.
local function join(made, i)
  local rows = 0
  for _, results in ipairs(made) do rows = rows + results[i].dims[1] end
  local whole, at = core.buffer(with_rows(made[1][i], rows)), 0
  for _, results in ipairs(made) do
    local part = results[i]
    whole:rows(at + 1, at + part.dims[1]):set_bytes(part:bytes())
    at = at + part.dims[1]
  end
  return whole
end

local shards_meta = { __tostring = function(shards)
  local lines = {}
  for i, shard in ipairs(shards) do
    lines[i] = ("%s: (%s) -> (%s)"):format(shard.device, table.concat(shard.operands, ", "), table.concat(shard.results, ", "))
  end
  return table.concat(lines, "\n")
end }

local function types_of(buffers)
  local types = {}
  for i, x in ipairs(buffers) do types[i] = x.type end
  return types
end

--- What is split and what is not, and why it cannot be.
local function check_split(positions, operands, types, count)
  local problems = {}
  for i, x in ipairs(operands) do
    if positions[i - 1] then check_rows(("arg %d"):format(i - 1), core.type(x.type), count, problems) end
  end
  for i, result in ipairs(types or {}) do check_rows(("result %d"):format(i - 1), result, count, problems) end
  if #problems > 0 then errors.raise("INVALID_ARGUMENT", "shard: " .. table.concat(problems, "\n  ")) end
end

--- Operands of device number `d`, there.
local function parts_of(operands, positions, d, devices)
  local parts = {}
  for i, x in ipairs(operands) do
    if positions[i - 1] then
      local rows = x.dims[1] // #devices
      local part = x:rows((d - 1) * rows + 1, d * rows)
      parts[i] = part:to(devices[d])
      if parts[i] == part then parts[i] = part:copy() end -- a part may start anywhere, the memory of an operand may not
    else
      parts[i] = x:to(devices[d])
    end
  end
  return parts
end

--- ccw.shard(target, operands, results, attributes, options) -> results, shards.
-- The same call on several devices, options.devices, a list. options.split lists the args, by position from 0, of which each device gets
-- its part of dim 0, the batch; of the others it gets all. Results are of the whole: each device makes its part of them, and they are put
-- together on the host. Without split each device gets everything and makes everything, as in JAX where nothing says how a call is
-- sharded, and the results are those of the first. The second value prints what each device was given: a list of tables with device,
-- operands and results, as types. Operands are a flat list, results one type of an array or a list; they may be left out where the
-- signature determines them. Other options are those of ccw.call.
-- INVALID_ARGUMENT: rows that do not come out even.
function M.shard(target, operands, results, attributes, options)
  if type(operands) ~= "table" or not core.is_flat(operands) then misuse(2, "expected a flat list of buffers") end
  errors.check(misuse, 5, options, "table")
  local devices, of_call = options.devices, {}
  if type(devices) ~= "table" or #devices == 0 then misuse(5, "devices: expected a list of devices or their names") end
  for name, value in next, options do
    if name ~= "devices" and name ~= "split" then of_call[name] = value end
  end
  local positions = split_from(options.split, operands)
  local types, alone = list_results(results)
  if positions then check_split(positions, operands, types, #devices) end

  local shards, made, wanted = setmetatable({}, shards_meta), {}, types and {}
  for i, result in ipairs(types or {}) do
    wanted[i] = positions and with_rows(result, result.dims[1] // #devices) or result
  end
  for d, device in ipairs(devices) do
    local parts = parts_of(operands, positions or {}, d, devices)
    of_call.device = device
    made[d] = call.call(target, parts, wanted, attributes, of_call)
    if core.kind(made[d]) == "buffer" then made[d], alone = { made[d] }, true end
    shards[d] = { device = core.device(device).name, operands = types_of(parts), results = types_of(made[d]) }
  end
  local whole = {}
  for i, x in ipairs(made[1]) do whole[i] = positions and join(made, i) or x:to "host" end
  return alone and whole[1] or whole, shards
end

return M

--- Devices: what there is, what they are told, and what is on them.
local core = require "ccw.core"
local errors = require "ccw.errors"

local M = {}
local misuse_of_device = errors.misuse_of "device"

local option_types = {
  as = "string", seed = "integer", memory = "integer", time_limit = "number", warp_size = "integer", fail_allocation = "integer",
  fail_launch = "integer", fail_copy = "integer", fail_synchronize = "integer",
}

--- The canonical name of a platform that devices answer to, or that some handler is registered for.
local function known_platform(name)
  local wanted, known = core.platform(name), {}
  for _, row in ipairs(core.devices()) do known[#known + 1] = row[1]:match "^%a+" end
  for i = 0, math.huge do
    local _, platform = core.registered(i)
    if not platform then break end
    known[#known + 1] = platform
  end
  for _, platform in ipairs(known) do
    if platform == wanted then return wanted end
  end
  local near = core.near(wanted, known)
  errors.raise("NOT_FOUND", ("as: no platform is called '%s', and no handler is registered for it%s"):format(name,
    near[1] and "; near: " .. table.concat(near, ", ") or ""))
end

--- ccw.device(name [, options]) -> device.
-- The device of that name: "host"; "sim:0", "sim:1", ..., simulated GPUs, which are always there; "cuda:0", "rocm:0". "sim" is "sim:0".
-- Options are for simulated devices, and stay until they are set anew:
-- - as: "CUDA" or "ROCM", or another platform that handlers are registered for: those are called for what is on it; "SIM" takes it back.
-- - time_limit: seconds that a kernel may take, 10 unless it is set; 0 is no limit.
-- - memory: bytes that it has.
-- - seed: other than 0, work of several streams, and the blocks of a kernel, run in an order drawn from it. 0: each stream's work runs as
-- late as it may.
-- - warp_size: 32 or 64.
-- - fail_allocation, fail_launch, fail_copy, fail_synchronize: n has the n-th one from now fail; 0 takes it back.
function M.device(name, options)
  if core.kind(name) ~= "device" and type(name) ~= "string" then
    misuse_of_device(1, "expected a device or its name, got %s", core.kind(name) or type(name))
  end
  errors.check_options(misuse_of_device, 2, options, option_types)
  local device = core.device(name)
  for option, value in next, options or {} do
    if option == "as" then
      core.device_set_platform(device, known_platform(value))
    else
      core.device_set(device, option, value)
    end
  end
  return device
end

--- device: something that has memory and runs code; ?ccw.device tells how one is found.
-- Fields: name; platform, whose handlers are called for what is on it; ordinal, description, architecture; memory and memory_free, in
-- bytes; processors, warp_size, max_threads, max_block, max_grid, max_shared; own_stream, of calls and copies that name none; cannot, a
-- table of what it cannot do, with reasons. Methods: device:stream(), device:sync(), device:reset(), device:allocations(). A device stands
-- wherever its name may stand.
local methods = {}

local function check_self(device, name) errors.check_self("device", name, device) end

--- device:stream() -> stream. A new stream of work.
function methods:stream()
  check_self(self, "stream")
  return core.stream_new(self)
end

--- device:sync() -> device. Waits for all its streams. What failed there is raised here.
function methods:sync()
  check_self(self, "sync")
  core.device_sync(self)
  return self
end

--- device:reset() -> device. Forgets its work, its memory and its failure: buffers that were on it are gone. For a simulated device.
function methods:reset()
  check_self(self, "reset")
  core.device_reset(self)
  return self
end

--- device:allocations() -> list. What is allocated there, the oldest first: each a table of bytes, address, and site, who wanted it, such
-- as the place in the code where a buffer was moved.
function methods:allocations()
  check_self(self, "allocations")
  local list = {}
  for address, bytes, site in core.device_allocations(self):gmatch "(%d+) (%d+) ([^\n]*)\n" do
    list[#list + 1] = { address = math.tointeger(tonumber(address)), bytes = math.tointeger(tonumber(bytes)), site = site }
  end
  return list
end

local function size_text(bytes)
  if bytes < 1 << 20 then return ("%d bytes"):format(bytes) end
  return bytes >= 1 << 30 and ("%.1f GiB"):format(bytes / (1 << 30)) or ("%.1f MiB"):format(bytes / (1 << 20))
end

local function describe(device)
  local info = core.device_info(device)
  local parts = { info.description }
  if info.architecture ~= "" and info.architecture ~= "sim" then parts[#parts + 1] = info.architecture end
  if info.memory > 0 then parts[#parts + 1] = size_text(info.memory) end
  local platform = info.platform ~= info.name:match "^[^:]*" and ", as " .. info.platform or ""
  return info.name .. platform .. ": " .. table.concat(parts, ", ")
end

local device_meta = core.device_metatable
device_meta.__tostring = describe

function device_meta.__index(device, name)
  if methods[name] then return methods[name] end
  if name == "own_stream" then return core.device_stream(device) end
  return core.device_info(device)[name]
end

--- ccw.devices() -> list. The devices that there are, and beside them, by family, why there is none: list.cuda is a text then. Prints
-- a line for each.
function M.devices()
  local list, lines = {}, {}
  for _, row in ipairs(core.devices()) do
    if row[2] then
      list[#list + 1] = row[2]
      lines[#lines + 1] = describe(row[2])
    else
      list[row[1]] = row[3]
      lines[#lines + 1] = row[3]:sub(1, #row[1] + 1) == row[1] .. ":" and row[3] or row[1] .. ": " .. row[3]
    end
  end
  return setmetatable(list, { __tostring = function() return table.concat(lines, "\n") end })
end

--- stream: work that is done in its order on a device; dev:stream() makes one, and each device has its own for calls that name none.
-- Fields: device, its name; number. Methods: stream:sync(), stream:done(), stream:record([event]), stream:wait(event or stream),
-- stream:begin_capture(), stream:end_capture(), stream:close().
local stream_meta = core.stream_metatable
local stream_methods = stream_meta.__index

function stream_meta.__index(stream, name)
  if name == "number" then return select(2, core.stream_info(stream)) end
  if name == "device" then return (core.stream_info(stream)).name end
  return stream_methods[name]
end

function stream_meta.__tostring(stream)
  if not select(2, core.kind(stream)) then return "closed stream" end
  local device, number = core.stream_info(stream)
  return ("stream %d of %s"):format(number, device.name)
end

--- event: a point in the work of a stream, made by stream:record(). It happens when what was queued before is done.
-- Methods: event:sync(), event:seconds_since(event), event:close(). stream:wait(event) has another stream wait for it.

core.event_metatable.__tostring = function(event) return select(2, core.kind(event)) and "event" or "closed event" end

--- graph: work that was captured, see stream:begin_capture. graph:launch(stream) queues all of it; graph:close().
local graph_meta = core.graph_metatable
graph_meta.__index = errors.index_of("graph", graph_meta.__index)
graph_meta.__tostring = function(graph) return select(2, core.kind(graph)) and "graph" or "closed graph" end

local misuse_of_to = errors.misuse_of "to"

--- buffer:to(device) -> buffer. The same content on that device, "host" or "sim:0": a copy, or the buffer itself where it is there
-- already. It has arrived when this returns.
function core.buffer_metatable.methods.to(buffer, device)
  if core.kind(buffer) ~= "buffer" then misuse_of_to(1, "a method is called with a colon, x:to(device)") end
  if core.kind(device) ~= "device" and type(device) ~= "string" then
    misuse_of_to(2, "expected a device or its name, got %s", core.kind(device) or type(device))
  end
  errors.check_open(buffer)
  local there = core.device(device)
  if there == core.device_of(buffer) then return buffer end
  return core.copy_to(buffer, there, errors.site())
end

return M

--- ccw, the custom-call workbench: load handlers of XLA custom calls, describe calls, run them.
local core = require "ccw.core"
local errors = require "ccw.errors"
local array = require "ccw.array"
local array_text = require "ccw.array_text"
local attributes = require "ccw.attributes"
local bind = require "ccw.bind"
local call = require "ccw.call"
local comparison = require "ccw.comparison"
local compile = require "ccw.compile"
local device = require "ccw.device"
local file = require "ccw.files.file"
local kernel = require "ccw.kernel"
local load = require "ccw.load"
local match = require "ccw.match"
local registry = require "ccw.registry"
local shard = require "ccw.shard"
local show = require "ccw.show"
local text = require "ccw.text.description"
require "ccw.slice"

show.install()

local ccw = {
  version = core.version,
  type = core.type,
  signature = core.signature,
  import = core.import,
  try = errors.try,
  bind = bind.bind,
  promise = core.promise,
  array = array.array,
  array_from_text = array_text.array_from_text,
  iota = array.iota,
  random = array.random,
  read = file.read,
  write = file.write,
  attrs = attributes.attrs,
  call = call.call,
  prepare = call.prepare,
  shard = shard.shard,
  show = function(...) return require "ccw.plot".show(...) end, -- what starts up is not to wait for pictures
  compare = comparison.compare,
  compile = compile.compile,
  match = match,
  kernel = kernel.kernel,
  load = load.load,
  device = device.device,
  devices = device.devices,
  threads = core.threads,
  register = registry.register,
  registered = registry.registered,
  types = registry.types,
  find = registry.find,
  from_text = text.from_text,
  list_text = text.list_text,
  attribute_from_text = text.attribute_from_text,
  attribute_text = text.attribute_text,
}

--- ccw.version -> string. Which ccw this is: "0.1.0".

--- ccw.f32(number) -> scalar; ccw.f32{number, ...} -> buffer. The same for every dtype.
-- A number that has this dtype: as an attribute it says of which type it is, s64 for a plain integer and f64 for a plain
-- float otherwise. Floats round to nearest; an integer must fit, and 2.0 is 2. A string is read as a number, here and
-- nowhere else: ccw.u64("18446744073709551615"). Complex numbers are ccw.c64(re, im).
-- A table makes an array, nested ones an array of as many dims: ccw.s32{{1, 2}, {3, 4}} is s32[2,2]. As an attribute an
-- array is flat. A buffer is converted.
for name in pairs(core.dtypes()) do
  if name ~= "token" then ccw[name] = array.constructor(name) end -- a token holds no number
end

return ccw

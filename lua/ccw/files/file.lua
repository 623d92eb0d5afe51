--- Files of arrays, which are told by the endings of their names.
local core = require "ccw.core"
local errors = require "ccw.errors"
local npy = require "ccw.files.npy"
local npz = require "ccw.files.npz"

local M = {}

local misuse_of_read, misuse_of_write = errors.misuse_of "read", errors.misuse_of "write"

--- Calls f; in front of what it raises as a failure stands the name.
local function naming(name, f, ...)
  local value, err = errors.try(f, ...)
  if err then errors.raise(err.code, name .. ": " .. err.message) end
  return value
end

--- Results of core, or the failure that it gave as nil, text, code.
local function check(value, text, code)
  if value == nil then errors.raise(code, text) end
  return value
end

local function check_dtype(dtype)
  if dtype == nil or core.dtypes()[dtype] and dtype ~= "token" then return end
  misuse_of_read(2, "dtype: there is none called %s", type(dtype) == "string" and core.quote(dtype) or tostring(dtype))
end

local formats = {}

formats.npy = { options = { dtype = "string" }, write_options = {} }

function formats.npy.read(path, options)
  check_dtype(options.dtype)
  local source <close> = check(core.open_file(path))
  return npy.read(source, options.dtype)
end

--- A buffer as it can be written: on the host.
local function check_buffer(buffer, where)
  local kind, open = core.kind(buffer)
  if kind ~= "buffer" then misuse_of_write(2, "%sexpected a buffer, got %s", where, kind or type(buffer)) end
  if not open then misuse_of_write(2, "%sthis buffer is closed", where) end
  if buffer.dtype == "token" then misuse_of_write(2, "%sa token holds nothing", where) end
  if core.undefined(buffer) then
    errors.raise("FAILED_PRECONDITION", where .. "undefined: the call that was to write it failed")
  end
  return buffer:to "host"
end

function formats.npy.write(path, buffer)
  local header, elements = npy.write(check_buffer(buffer, ""))
  check(core.write_file(path, header, elements))
end

formats.npz = { options = { dtype = "any", name = "string" }, write_options = { compress = "boolean" } }

function formats.npz.read(path, options)
  local is_table = type(options.dtype) == "table"
  local dtypes = is_table and options.dtype or {}
  for _, dtype in pairs(dtypes) do check_dtype(dtype) end
  if not is_table then check_dtype(options.dtype) end
  return npz.read(path, options.name, dtypes, not is_table and options.dtype or nil)
end

function formats.npz.write(path, buffers, options)
  errors.check(misuse_of_write, 2, buffers, "table")
  local here = {}
  for name, buffer in pairs(buffers) do
    if type(name) ~= "string" then misuse_of_write(2, "expected buffers by name, got the key %s", tostring(name)) end
    if name:find "\0" then misuse_of_write(2, "the name %s holds a NUL", core.quote(name)) end
    if not utf8.len(name) then misuse_of_write(2, "the name %s is no UTF-8", core.quote(name)) end
    if #name > npz.LONGEST_NAME then misuse_of_write(2, "a name of %d bytes, more than %d", #name, npz.LONGEST_NAME) end
    here[name] = check_buffer(buffer, core.quote(name) .. ": ")
  end
  npz.write(path, here, options.compress)
end

--- The format of the file of that name.
local function format_of(path, fail)
  errors.check(fail, 1, path, "string")
  if path:find "\0" then fail(1, "the name holds a NUL") end
  local format = formats[path:lower():match "%.(%w+)$"]
  if not format then errors.raise("INVALID_ARGUMENT", path .. ": neither .npy nor .npz, and a file is told by its ending") end
  return format
end

--- ccw.read(path [, options]) -> buffer, or a table of buffers by name.
-- Reads the array of a .npy file, as numpy saves it, onto the host, or those of a .npz file: all, or with {name = "w"} one. Both orders
-- of bytes are read, and column-major arrays become row-major. numpy has no bf16 and nothing of less than a byte: {dtype = "bf16"} tells
-- what elements are of which the file does not (V2, V1, f1), or only that they are unsigned integers of as many bytes; of a .npz file,
-- what all are of which it does not, or {dtype = {w = "bf16"}} by name. s4 and its like have a byte each there, of which the low bits
-- count. Failures are NOT_FOUND and PERMISSION_DENIED; UNIMPLEMENTED, elements that XLA has no type for, Python objects and text among
-- them; INVALID_ARGUMENT and DATA_LOSS, a file that is damaged, too short or too long. ?ccw.write does the opposite.
function M.read(path, options)
  local format = format_of(path, misuse_of_read)
  errors.check_options(misuse_of_read, 2, options, format.options)
  return naming(path, format.read, path, options or {})
end

--- ccw.write(path, value [, options]).
-- Writes a buffer, wherever it is, to a .npy file, or a table of buffers by name to a .npz file, with {compress = true} a deflated one;
-- numpy reads both. It is written beside a file of that name that is there already, and put into its place in the end, so that nothing is
-- lost when something fails. bf16 becomes V2, a float of a byte or less and an integer of less than a byte V1:
-- numpy.load("x.npy").view(ml_dtypes.bfloat16) has it again.
function M.write(path, value, options)
  local format = format_of(path, misuse_of_write)
  errors.check_options(misuse_of_write, 3, options, format.write_options)
  naming(path, format.write, path, value, options or {})
end

return M

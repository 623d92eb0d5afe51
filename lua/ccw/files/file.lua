--- Files of arrays, which are told by the endings of their names.
local core = require "ccw.core"
local errors = require "ccw.errors"
local npy = require "ccw.files.npy"

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

local function check_dtype(dtype, fail)
  if dtype ~= nil and (not core.dtypes()[dtype] or dtype == "token") then fail(2, "dtype: there is none called %s", core.quote(dtype)) end
end

local formats = {}

formats.npy = { options = { dtype = "string" }, write_options = {} }

function formats.npy.read(path, options)
  check_dtype(options.dtype, misuse_of_read)
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

--- The format of the file of that name.
local function format_of(path, fail)
  errors.check(fail, 1, path, "string")
  if path:find "\0" then fail(1, "the name holds a NUL") end
  local format = formats[path:lower():match "%.(%w+)$"]
  if not format then errors.raise("INVALID_ARGUMENT", path .. ": neither .npy nor .npz, and a file is told by its ending") end
  return format
end

--- ccw.read(path [, options]) -> buffer, or a table of buffers by name.
-- Reads an array of a .npy file, as numpy saves it, onto the host: any of numpy's types that XLA has, in either order of bytes;
-- column-major arrays become row-major. numpy has no bf16 and no floats or integers of less: {dtype = "bf16"} says that elements of
-- as many bytes, of which the file does not say what they are (V2, V1, f1, or unsigned integers), are that. s4 and its like have a
-- byte each in the file, of which the low bits count. Failures: NOT_FOUND, PERMISSION_DENIED; UNIMPLEMENTED, what XLA has no type for;
-- INVALID_ARGUMENT and DATA_LOSS, a file that is damaged, or too short, or too long.
function M.read(path, options)
  local format = format_of(path, misuse_of_read)
  errors.check_options(misuse_of_read, 2, options, format.options)
  return naming(path, format.read, path, options or {})
end

--- ccw.write(path, value [, options]).
-- Writes a buffer, wherever it is, to a .npy file, which numpy reads. It is written beside one of that name that is there already, and
-- put into its place in the end, so that nothing is lost when something fails. bf16 becomes V2, floats of a byte or less and integers
-- of less than a byte V1: there a = numpy.load(...).view(ml_dtypes.bfloat16) tells what they are.
function M.write(path, value, options)
  local format = format_of(path, misuse_of_write)
  errors.check_options(misuse_of_write, 3, options, format.write_options)
  naming(path, format.write, path, value, options or {})
end

return M

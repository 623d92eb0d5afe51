--- What specs share: where things are built, and how to run programs.
local luassert = require "luassert"

local M = {}

M.build = os.getenv "CCW_BUILD" or "build"
M.root = os.getenv "CCW_ROOT" or "."
M.program = M.build .. "/bin/ccw"

--- A library of the specs, by the name of its source.
function M.library(name) return ("%s/spec/lib%s.so"):format(M.build, name) end

--- The library of kernels/.
M.kernels = M.build .. "/lib/libccw_kernels.so"

--- Whether a file is there.
function M.exists(path)
  local file = io.open(path, "rb")
  if file then file:close() end
  return file ~= nil
end

--- The official handlers of FFI API 0.5, for describe blocks that need them; pending where the headers could not be had.
function M.official(version)
  local path = M.library("official_" .. (version or "0_5"))
  return M.exists(path) and require("ccw").load(path) or nil
end

--- Runs a shell command and gives its output, errors included, and whether it exited with 0.
function M.sh(command)
  local pipe = io.popen("{ " .. command .. "\n} 2>&1", "r")
  local output = pipe:read "a"
  return output, (pipe:close()) == true
end

--- A folder for this run, gone when it ends.
local folder
function M.temporary()
  if not folder then
    folder = M.sh("mktemp -d"):gsub("\n", "")
    M.guard = setmetatable({}, { __gc = function() os.execute("rm -rf '" .. folder .. "'") end })
  end
  return folder
end

--- Writes a file into the temporary folder and gives its path.
function M.write(name, text)
  local path = M.temporary() .. "/" .. name
  local file <close> = assert(io.open(path, "wb"))
  file:write(text)
  return path
end

--- Fails unless f(...) raises misuse: a plain string with that text in it.
function M.refuses(text, f, ...)
  local ok, message = pcall(f, ...)
  luassert.is_false(ok)
  luassert.equal("string", type(message))
  luassert.matches(text, message, 1, true)
end

--- The bytes of a buffer in hex.
function M.hex(buffer)
  return (buffer:bytes():gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

return M

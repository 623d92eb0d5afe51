--- Files of text that a person names.
local errors = require "ccw.errors"

local M = {}

--- read(path) -> string. What stands in a file, without the byte order mark that some editors put in front of UTF-8. NOT_FOUND: it cannot
--- be read.
function M.read(path)
  local file, why = io.open(path, "rb")
  local text = file and file:read "a"
  if file then file:close() end
  if not text then
    errors.raise("NOT_FOUND", ("cannot read '%s': %s"):format(path, why and why:sub(#path + 3) or "it is no file"))
  end
  return (text:gsub("^\xEF\xBB\xBF", ""))
end

return M

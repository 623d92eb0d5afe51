--- Strings in quotes, as MLIR and HLO print them.
local M = {}

--- mlir(bytes) -> string. Quotes and what is not printable are two hex digits.
function M.mlir(bytes)
  return '"' .. bytes:gsub("[^ !#-Z%[%]^-~]", function(c) return c == "\\" and "\\\\" or ("\\%02X"):format(c:byte()) end) .. '"'
end

local named = { ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t", ['"'] = '\\"', ["'"] = "\\'", ["\\"] = "\\\\" }

--- c(bytes) -> string. With the escapes of C, three octal digits for what has no letter.
function M.c(bytes)
  return '"' .. bytes:gsub("[^ !#-&(-Z%[%]^-~]", function(c) return named[c] or ("\\%03o"):format(c:byte()) end) .. '"'
end

return M

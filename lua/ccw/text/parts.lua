--- What the forms of text have in common: paths into tuples and positions in a frame, layouts, versions.
local types = require "ccw.text.types"

local M = {}

--- API versions by their numbers in MLIR, as HLO names them.
M.versions = { [0] = "API_VERSION_UNSPECIFIED", "API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING",
  "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI" }

--- flat_position(type, path) -> position, count, or nil. Where in the frame the arrays of a part of a type are, which is reached by a path
-- of indices from 0; and how many there are.
function M.flat_position(text, path)
  local position = 0
  for _, index in ipairs(path) do
    local parts = types.parts(text)
    if not parts or index < 0 or index >= #parts then return nil end
    position = position + types.starts(text)[index + 1]
    text = parts[index + 1]
  end
  return position, types.count(text)
end

--- path_to(type, position) -> path, or nil. The inverse, for one array.
function M.path_to(text, position, path)
  path = path or {}
  local parts = types.parts(text)
  if not parts then return position == 0 and path or nil end
  local starts, low, high = types.starts(text), 1, #parts + 1
  while low < high do -- the first part that ends behind the position
    local middle = (low + high) // 2
    if middle > #parts or position < starts[middle + 1] then high = middle else low = middle + 1 end
  end
  if low > #parts then return nil end
  path[#path + 1] = low - 1
  return M.path_to(parts[low], position - starts[low], path)
end

--- add_alias(call, result_path, operand, operand_path) -> nil, or what is wrong. Notes that parts of a result and an operand share memory.
function M.add_alias(call, result_path, operand, operand_path)
  if operand < 0 or operand >= #call.operands then return ("there is no operand %d"):format(operand) end
  local result, count = M.flat_position(call.results, result_path)
  local path = table.move(operand_path, 1, #operand_path, 2, { operand })
  local position, same = M.flat_position(types.tuple(call.operands), path)
  if not result then return ("the results %s have no part {%s}"):format(call.results, table.concat(result_path, ",")) end
  if not position then return ("operand %d has no part {%s}"):format(operand, table.concat(operand_path, ",")) end
  if count ~= same then return ("%d arrays of a result cannot be %d of an operand"):format(count, same) end
  call.aliases = call.aliases or {}
  for i = 0, count - 1 do
    if call.aliases[result + i] then return ("result %d is aliased twice"):format(result + i) end
    call.aliases[result + i] = position + i
  end
end

--- aliases(call) -> list of {result path, operand, operand path}, by result; nil and what is wrong with one that a person has put in.
function M.aliases(call)
  local list, results, operands = {}, {}, types.tuple(call.operands)
  for result in pairs(call.aliases or {}) do results[#results + 1] = result end
  table.sort(results, function(a, b) return tostring(a) < tostring(b) end)
  for i, result in ipairs(results) do
    local operand = call.aliases[result]
    if math.type(result) ~= "integer" or math.type(operand) ~= "integer" then
      return nil, ("aliases: expected {[result] = operand}, got [%s] = %s"):format(tostring(result), tostring(operand))
    end
    local to, from = result >= 0 and M.path_to(call.results, result), operand >= 0 and M.path_to(operands, operand)
    if not to or not from then
      return nil, ("aliases: there is no %s"):format(not to and "result " .. result or "arg " .. operand)
    end
    list[i] = { to, table.remove(from, 1), from }
  end
  return list
end

--- operand_name(call, i, is_good) -> string. That of the operand in its text, without "%"; arg0 and so on where there is none of use.
function M.operand_name(call, i, is_good)
  local names = call.operand_names
  local name = names and #names == #call.operands and type(names[i]) == "string" and names[i]:match "^%%(.*)$"
  return name and is_good(name) or "arg" .. i - 1
end

--- integers(text) -> list. Of a text such as "1, 0".
function M.integers(text)
  local list = {}
  for digits in text:gmatch "%d+" do list[#list + 1] = math.tointeger(tonumber(digits)) or -1 end
  return list
end

return M

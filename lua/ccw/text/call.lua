--- Prepared calls as descriptions.
local core = require "ccw.core"

local M = {}

--- The type of what a call gives back, an array or lists of them.
local function type_of(results)
  if core.kind(results) == "buffer" then return tostring(results.type) end
  local types = {}
  for i, result in ipairs(results) do types[i] = type_of(result) end
  return ("(%s)"):format(table.concat(types, ", "))
end

--- describe(call) -> description. What a prepared call is made of: its name as the target, the types of its operands, those of tuples one
-- by one, and of its results, its attributes as they were fitted to the handler's signature, aliases and has_side_effect.
function M.describe(call)
  local operands, results, attributes, aliases, has_side_effect = core.call_parts(call)
  local fields = { target = core.call_name(call), operands = {}, results = type_of(results), api_version = 4,
    attributes = attributes and core.values(attributes) or {}, has_side_effect = has_side_effect }
  for i, operand in ipairs(operands) do fields.operands[i] = tostring(operand.type) end
  for i = 1, aliases and #aliases or 0, 2 do
    fields.aliases = fields.aliases or {}
    fields.aliases[aliases[i]] = aliases[i + 1]
  end
  return require "ccw.text.description".new(fields)
end

return M

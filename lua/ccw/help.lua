--- Help: the doc comments, by name.
local core = require "ccw.core"
local show = require "ccw.show"
local reference = require "ccw.reference"

local M = {}

--- What the methods of a kind of value are documented under.
local function methods_of(kind)
  local names = {}
  for name in pairs(reference) do
    if name:sub(1, #kind + 1) == kind .. ":" then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

local function overview()
  local names = {}
  for name in pairs(reference) do
    if name:match "^ccw%." then names[#names + 1] = name:sub(5) end
  end
  table.sort(names)
  return "?name explains one of: " .. table.concat(names, ", ") .. "\n" ..
    "and the methods of what they give: ?buffer, ?call, ?library"
end

--- The text for a name as people write it: "array", "ccw.array", "x:fill", "buffer"; `value` is what the name means at the
--- prompt, if anything.
function M.text(name, value)
  name = name:gsub("%s", "")
  if name == "" then return overview() end
  local bare = name:gsub("^ccw[.:]", "")
  local kind = core.kind(value)
  local found = reference[name] or reference["ccw." .. bare] or (core.dtypes()[bare] and reference["ccw.f32"])
  if not found then
    local method = name:match "[.:]([%w_]+)$"
    for _, owner in ipairs { "buffer", "call", "library" } do
      found = found or method and reference[owner .. ":" .. method]
    end
  end
  if found then return found end
  local methods = methods_of(kind or bare)
  if #methods > 0 then return (kind and tostring(value) .. "\n" or "") .. "methods: " .. table.concat(methods, ", ") end
  if value ~= nil then return show.value(value) end
  local names = {}
  for known in pairs(reference) do names[#names + 1] = known:gsub("^ccw%.", "") end
  local near = core.near(bare, names)
  return ("nothing is known of '%s'%s"):format(name, near[1] and "; near: " .. table.concat(near, ", ") or "")
end

return M

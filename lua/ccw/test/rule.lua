--- Rules: what the sizes have in common for which something fails.
--
-- Rules are tried in the order of how simple they are. Of those that agree with all that was run, the simplest is right where a run
-- could tell it from another, or it falls: cases on which rules disagree are run until one is left.
local axes = require "ccw.test.axes"

local M = {}

--- Divisors, and bounds of what is tried.
local moduli = {}
for m = 2, 64 do moduli[#moduli + 1] = m end
for _, m in ipairs { 80, 96, 100, 112, 128, 192, 256, 384, 512, 768, 1024, 2048, 4096 } do moduli[#moduli + 1] = m end

--- Sizes that are tried of an axis: small ones, those around powers of two, and its own.
function M.sizes(axis, largest)
  local seen, list = {}, {}
  local function add(size)
    if size >= 0 and size <= largest and not seen[size] then
      seen[size], list[#list + 1] = true, size
    end
  end
  for size = 0, 70 do add(size) end
  for _, m in ipairs(moduli) do
    add(m)
    add(3 * m)
  end
  for power = 7, 20 do
    for near = -1, 1 do add((1 << power) + near) end
  end
  for _, size in ipairs(axis.values) do
    for near = -1, 1 do add(size + near) end
  end
  table.sort(list)
  return list
end

--- ---- rules: {text, holds(case)}

local function of_size(list, axis, sizes)
  local name, a = axis.name, axis.place
  local function add(format, n, holds) list[#list + 1] = { text = format:format(name, n), holds = holds } end
  for _, v in ipairs(sizes) do add("for %s = %d", v, function(case) return case[a] == v end) end
  for _, v in ipairs(sizes) do add("where %s > %d", v, function(case) return case[a] > v end) end
  for _, v in ipairs(sizes) do add("where %s < %d", v, function(case) return case[a] < v end) end
  for _, m in ipairs(moduli) do add("where %s %% %d ~= 0", m, function(case) return case[a] % m ~= 0 end) end
  for _, m in ipairs(moduli) do add("where %s %% %d == 0", m, function(case) return case[a] % m == 0 end) end
  for _, v in ipairs(sizes) do add("where %s ~= %d", v, function(case) return case[a] ~= v end) end
  for m = 3, 8 do
    for k = 1, m - 1 do
      list[#list + 1] = { text = ("where %s %% %d == %d"):format(name, m, k), holds = function(case) return case[a] % m == k end }
    end
  end
end

local function of_values(list, axis)
  local a = axis.place
  for i, value in ipairs(axis.values) do
    list[#list + 1] = { text = ("for %s = %s"):format(axis.name, axes.text_of(value)), holds = function(case) return case[a] == i end }
  end
  for i, value in ipairs(axis.values) do
    list[#list + 1] = { text = ("where %s ~= %s"):format(axis.name, axes.text_of(value)), holds = function(case) return case[a] ~= i end }
  end
end

local function of_two(list, one, other)
  local a, b = one.place, other.place
  local function add(format, n, holds) list[#list + 1] = { text = format:format(one.name, other.name, n), holds = holds } end
  add("where %s > %s", nil, function(case) return case[a] > case[b] end)
  add("where %s < %s", nil, function(case) return case[a] < case[b] end)
  add("where %s ~= %s", nil, function(case) return case[a] ~= case[b] end)
  add("where %s == %s", nil, function(case) return case[a] == case[b] end)
  add("for %s * %s = %d", 0, function(case) return case[a] * case[b] == 0 end)
  add("where %s * %s > %d", 0, function(case) return case[a] * case[b] > 0 end)
  for power = 0, 16 do
    add("where %s * %s > %d", 1 << power, function(case) return case[a] * case[b] > 1 << power end)
  end
  for _, m in ipairs(moduli) do add("where %s * %s %% %d ~= 0", m, function(case) return case[a] * case[b] % m ~= 0 end) end
end

--- All simple rules of a check, the simplest first. `sizes` are lists by the name of an axis.
function M.all(check, sizes)
  local list = { { text = "in every case that was tried", holds = function() return true end } }
  for _, axis in ipairs(check.axes) do
    if not axis.is_size then of_values(list, axis) end
  end
  for _, axis in ipairs(check.axes) do
    if axis.is_size then of_size(list, axis, sizes[axis.name]) end
  end
  for i, one in ipairs(check.axes) do
    for j = i + 1, #check.axes do
      if one.is_size and check.axes[j].is_size then of_two(list, one, check.axes[j]) end
    end
  end
  return list
end

local function agrees(rule, facts)
  for _, fact in ipairs(facts) do
    if rule.holds(fact.case) ~= fact.fails then return false end
  end
  return true
end

--- Those rules of a list that agree with all facts, {case, fails}.
function M.consistent(rules, facts)
  local list = {}
  for _, rule in ipairs(rules) do
    if agrees(rule, facts) then list[#list + 1] = rule end
  end
  return list
end

--- Two rules at once, where no single one will do: of those that hold wherever it fails.
function M.both(rules, facts)
  local failing, passing, wide = {}, {}, {}
  for _, fact in ipairs(facts) do
    local to = fact.fails and failing or passing
    to[#to + 1] = fact
  end
  for _, rule in ipairs(rules) do
    if #wide < 200 and agrees(rule, failing) then wide[#wide + 1] = rule end
  end
  local list = {}
  for i = 2, #wide do -- the first says nothing
    for j = i + 1, #wide do
      local one, other = wide[i], wide[j]
      local function holds(case) return one.holds(case) and other.holds(case) end
      local rule = { holds = holds, text = ("where %s and %s"):format(one.text:match " (.*)", other.text:match " (.*)") }
      if #list < 500 and agrees(rule, passing) then list[#list + 1] = rule end
    end
  end
  return list
end

return M

--- From a case that fails to the smallest that does, and to the rule that tells those that fail from those that pass.
local core = require "ccw.core"
local axes = require "ccw.test.axes"
local rules = require "ccw.test.rule"

local M = {}

local MOST_RUNS, MOST_SECONDS = 500, 10

local search = {}
search.__index = search

--- Whether a case fails as the first one did: true, false, or nil where it does something else, or where it is time to end.
function search:fails(case)
  local key = axes.write(case)
  local known = self.known[key]
  if known == nil then
    if self.runs >= MOST_RUNS or core.clock() > self.deadline then
      self.is_cut = true
      return nil
    end
    self.runs = self.runs + 1
    known = self.probe(case)
    if known == nil then known = "other" end
    self.known[key] = known
    if known ~= "other" then
      self.facts[#self.facts + 1] = { case = table.move(case, 1, #case, 1, {}), fails = known }
    end
  end
  if known == "other" then return nil end
  return known
end

--- Whether a case may be run only to know more: no larger than those of the check.
function search:is_small(case)
  local product = 1
  for i, axis in ipairs(self.check.axes) do
    if axis.is_size then product = product * math.max(case[i], 1) end
  end
  return product <= self.largest
end

local function with(case, place, value)
  local copy = table.move(case, 1, #case, 1, {})
  copy[place] = value
  return copy
end

--- The values below the present one of an axis, the smallest first.
function search:below(axis, value)
  local list = {}
  for _, v in ipairs(axis.is_size and self.sizes[axis.name] or {}) do
    if v < value then list[#list + 1] = v end
  end
  for v = 1, axis.is_size and 0 or value - 1 do list[#list + 1] = v end
  return list
end

--- Between a size that does not fail and a larger one that does: the smallest that does, if all behind it do.
function search:bisect(case, place, low, high)
  while high - low > 1 do
    local middle = (low + high) // 2
    if self:fails(with(case, place, middle)) then high = middle else low = middle end
  end
  return high
end

--- Makes one value of a case as small as it can be.
function search:shrink_axis(case, axis)
  local place, last = axis.place, nil
  for _, value in ipairs(self:below(axis, case[place])) do
    if self:fails(with(case, place, value)) then
      return with(case, place, axis.is_size and last and self:bisect(case, place, last, value) or value)
    end
    last = value
  end
  if axis.is_size and last then return with(case, place, self:bisect(case, place, last, case[place])) end
  return case
end

--- The smallest case that fails, from one that does: no value alone can be less, of those that are tried.
function search:smallest(case)
  while true do
    local before = axes.write(case)
    for _, axis in ipairs(self.check.axes) do case = self:shrink_axis(case, axis) end
    if axes.write(case) == before or self.is_cut then return case end
  end
end

--- Cases to tell rules apart with: the smallest one with another value, the check's own, and some with more than one value changed.
function search:points(smallest)
  local list, seen = {}, {}
  local function add(case)
    local key = axes.write(case)
    if not seen[key] and self:is_small(case) then
      seen[key], list[#list + 1] = true, case
    end
  end
  local function values_of(axis)
    if axis.is_size then return self.sizes[axis.name] end
    local places = {}
    for i = 1, #axis.values do places[i] = i end
    return places
  end
  for _, axis in ipairs(self.check.axes) do
    for _, value in ipairs(values_of(axis)) do add(with(smallest, axis.place, value)) end
  end
  for i = 1, math.min(#self.cases, 300) do add(self.cases[i]) end
  for round = 1, 60 do
    local case = {}
    for i, axis in ipairs(self.check.axes) do
      local values = values_of(axis)
      case[i] = values[(round * 7919 * i + round * round) % math.min(#values, 20 + round) + 1]
    end
    add(case)
  end
  return list
end

--- The first case that was not run yet and on which another rule than the first says otherwise.
function search:disputed(candidates, points)
  local first = candidates[1]
  for _, case in ipairs(points) do
    if self.known[axes.write(case)] == nil then
      for i = 2, #candidates do
        if candidates[i].holds(case) ~= first.holds(case) then return case end
      end
    end
  end
end

--- Runs cases until one rule is left that agrees with all of them. Returns those that do, one or such as no case can tell apart.
function search:settle(candidates, points)
  while true do
    candidates = rules.consistent(candidates, self.facts)
    local case = candidates[1] and self:disputed(candidates, points)
    if not case or self.is_cut then return candidates end
    self:fails(case)
  end
end

--- Sizes that rules speak of: those that are tried, and those that were found on the way.
function search:bounds()
  local bounds = {}
  for name, list in pairs(self.sizes) do bounds[name] = table.move(list, 1, #list, 1, {}) end
  for _, axis in ipairs(self.check.axes) do
    local seen, list = {}, bounds[axis.name]
    for _, size in ipairs(list or {}) do seen[size] = true end
    for _, fact in ipairs(list and self.facts or {}) do
      local size = fact.case[axis.place]
      if not seen[size] then seen[size], list[#list + 1] = true, size end
    end
    if list then table.sort(list) end
  end
  return bounds
end

--- The rule for what was found, checked against further runs; nil where there is none.
function search:rule(smallest)
  local points, all = self:points(smallest), rules.all(self.check, self:bounds())
  for _, find in ipairs { rules.consistent, rules.both } do
    local candidates = self:settle(find(all, self.facts), points)
    for i = 1, #points, math.max(1, #points // 60) do -- one that is wrong falls here, and the next has its turn
      if not candidates[1] or self.is_cut then break end
      self:fails(points[i])
      candidates = self:settle(candidates, points)
    end
    if candidates[1] or self.is_cut then return candidates[1] end
  end
end

--- Searches from a case that fails. probe(case) tells whether a case fails in the same way, nil for neither; cases are the check's own.
-- Returns smallest, the case; rule, {text, holds}, or nil; runs, how many it took; is_cut, whether there were more to do.
function M.search(check, case, cases, probe)
  local self = setmetatable({ check = check, cases = cases, probe = probe, known = {}, facts = {}, runs = 0, is_cut = false,
    deadline = core.clock() + MOST_SECONDS, largest = 4096, sizes = {} }, search)
  for _, axis in ipairs(check.axes) do
    if axis.is_size then
      local most = 0
      for _, size in ipairs(axis.values) do most = math.max(most, size) end
      self.sizes[axis.name] = rules.sizes(axis, math.max(most, case[axis.place], 130) + 1)
    end
  end
  for _, one in ipairs(cases) do
    local product = 1
    for i, axis in ipairs(check.axes) do
      if axis.is_size then product = product * math.max(one[i], 1) end
    end
    self.largest = math.max(self.largest, product)
  end
  self.known[axes.write(case)] = true
  self.facts[1] = { case = case, fails = true }
  local smallest = self:smallest(case)
  local rule = not self.is_cut and self:rule(smallest) or nil
  return { smallest = smallest, rule = rule, runs = self.runs, is_cut = self.is_cut }
end

return M

--- Joining the target of a call to what a library has.
local core = require "ccw.core"
local errors = require "ccw.errors"
local ask = require "ccw.ask"

local M = {}

-- ---- names ------------------------------------------------------------------------------------------------------------

--- A name without case, underscores and whatever else cannot stand in a symbol.
local function plain(name) return (name:lower():gsub("[^%w\x80-\xFF]", "")) end

local affixes = { "ffi", "handler", "execute" } --- what people put in front of the name of a handler, or behind it

--- The plain name without these, as long as something is left.
local function bare(name)
  local text = plain(name)
  repeat
    local before = text
    for _, affix in ipairs(affixes) do
      if #text > #affix and text:sub(1, #affix) == affix then text = text:sub(#affix + 1) end
      if #text > #affix and text:sub(-#affix) == affix then text = text:sub(1, -#affix - 1) end
    end
  until text == before
  return text
end

local function same(name) return name end

--- How names are compared, strictest first, and what is said of those that are the same in this way only.
local ways = {
  { same },
  { plain, "but for case and underscores" },
  { bare, "but for case, underscores, and 'ffi', 'handler' or 'execute' at an end" },
}

-- ---- candidates -------------------------------------------------------------------------------------------------------

--- Handlers that a library registered by itself for the platform: they count before symbols.
local function add_registered(library, platform, list)
  for _, line in ipairs(library:registered()) do
    local name, where = line:match "^(.*) on (%S+)$"
    if name and core.platform(where) == platform then
      list[#list + 1] = { name = name, library = library, handler = core.find(name, where),
        text = ("'%s', which %s registers"):format(name, library:path()) }
    end
  end
end

local function add_symbols(library, list)
  local names = errors.try(library.names, library)
  for _, name in ipairs(names or {}) do
    list[#list + 1] = { name = name, library = library, text = ("'%s' of %s"):format(name, library:path()) }
  end
end

--- Whether a function is a handler, as far as it can be known without calling it here.
local function is_handler(library, name) return select(3, ask.signature_in(library, name)) ~= "NOT_FOUND" end

--- Those whose names are the same as the target in one way, and that are not known to be no handlers. What a library registers under just
--- that name comes before what it exports.
local function find(candidates, target, way)
  local found = {}
  for _, candidate in ipairs(candidates) do
    local is_same = way(candidate.name) == way(target)
    if is_same and candidate.handler and candidate.name == target then return { candidate } end
    if is_same and (candidate.handler or is_handler(candidate.library, candidate.name)) then found[#found + 1] = candidate end
  end
  return found
end

local FEW = 12 --- names that are listed, all

local function listed(candidates)
  local texts = {}
  for i, candidate in ipairs(candidates) do texts[i] = candidate.text end
  return table.concat(texts, ", ")
end

-- ---- stages -----------------------------------------------------------------------------------------------------------

local stages = { "instantiate", "prepare", "initialize", "execute" }

--- The handler of a symbol or, where the library has functions "NAME_instantiate" and so on for it, a table by stage; and what to say
--- of these.
local function with_stages(found)
  local handler = found.handler or found.library:handler(found.name)
  if found.handler or #handler.stages > 1 then return handler end
  local names = {}
  for _, name in ipairs(found.library:names()) do names[plain(name)] = name end
  local own = found.name:gsub("_?[Ee]xecute$", "")
  local bundle, said = {}, {}
  for _, stage in ipairs(stages) do
    local name = stage ~= "execute" and names[plain(own .. stage)]
    if name and is_handler(found.library, name) then
      bundle[stage] = found.library:handler(name)
      said[#said + 1] = ("%s is '%s'"):format(stage, name)
    end
  end
  if #said == 0 then return handler end
  bundle.execute = handler
  return bundle, table.concat(said, ", ")
end

--- by_stage(library, names) -> handler, or a table by stage. The handlers of these names: one for execute, two for instantiate and
-- execute, or four for instantiate, prepare, initialize and execute, "" where there is none.
function M.by_stage(library, names)
  if #names == 1 then return library:handler(names[1]) end
  if #names ~= 2 and #names ~= 4 then
    errors.raise("INVALID_ARGUMENT", ("expected the name of one handler, of two (instantiate, execute) or of four (instantiate, " ..
      "prepare, initialize, execute), got %d"):format(#names))
  end
  local bundle = {}
  for i, name in ipairs(names) do
    local stage = #names == 4 and stages[i] or i == 1 and "instantiate" or "execute"
    if name ~= "" then bundle[stage] = library:handler(name) end
  end
  return bundle
end

--- split(text, target) -> path, names. The parts of "LIBRARY:TARGET=NAME,NAME", names being a list, or the whole text as a path: a path
-- may hold colons, and so may a target, which is known. The third result is the target of a text that is about another one.
function M.split(text, target)
  local mark, at, last = ":" .. target .. "=", 0, nil
  repeat
    at = text:find(mark, at + 1, true)
    last = at or last
  until not at
  if not last then return text, nil, text:match ":([^:=/]+)=[^/]*$" end
  local names = {}
  for name in (text:sub(last + #mark) .. ","):gmatch "([^,]*)," do names[#names + 1] = name end
  return text:sub(1, last - 1), names
end

--- Raises that no handler has a name like the target; names that are near, or all where they are few.
local function not_found(target, candidates, libraries)
  local names, paths, behind = {}, {}, ""
  for _, candidate in ipairs(candidates) do
    if candidate.name == target then behind = ", and the function of that name is none" else names[#names + 1] = candidate.name end
  end
  for i, library in ipairs(libraries) do paths[i] = library:path() end
  local near = core.near(target, names)
  if near[1] then
    behind = behind .. "; near: " .. table.concat(near, ", ")
  elseif #names <= FEW then
    local all = #names > 0 and table.concat(names, ", ") or "none at all"
    behind = ("%s; there %s %s"):format(behind, #names == 1 and "is" or "are", all)
  end
  errors.raise("NOT_FOUND", ("no handler is called %s in %s%s"):format(core.quote(target), table.concat(paths, ", "), behind))
end

--- join(description, libraries [, platform]) -> handler, note. What the target of a description is called in one of the libraries, one or a
-- list: a handler, or a table of handlers by stage; and a sentence that says so, where the name is not the same, or stages were
-- found. Names are joined when they are equal or, where just one is, but for case and underscores. NOT_FOUND: none is, or more than
-- one; they are listed.
function M.join(description, libraries, platform)
  local target, candidates = description.target, {}
  libraries = core.kind(libraries) == "library" and { libraries } or libraries
  for _, library in ipairs(libraries) do add_registered(library, core.platform(platform or "host"), candidates) end
  for _, library in ipairs(libraries) do add_symbols(library, candidates) end
  for _, way in ipairs(ways) do
    local found = find(candidates, target, way[1])
    if #found > 1 then
      errors.raise("NOT_FOUND", ("the target %s may be any of these: %s"):format(core.quote(target), listed(found)))
    elseif #found == 1 then
      local handler, staged = with_stages(found[1])
      if not way[2] and not staged then return handler end
      local note = ("the target %s is %s%s"):format(core.quote(target), found[1].text, way[2] and ", the same " .. way[2] or "")
      return handler, note .. (staged and "; " .. staged or "")
    end
  end
  not_found(target, candidates, libraries)
end

return M

--- Signatures of handlers. C handlers carry theirs, those in Lua have one from the start; those of the official C++ binding
--- are asked, in a child process, since a handler that is asked may crash or hang.
local core = require "ccw.core"
local errors = require "ccw.errors"
local terminal = require "ccw.terminal"

local M = {}

local TO_LOAD = 20 -- seconds for a child; a large Python module takes a few to load
local TO_ANSWER = 1 -- seconds that one handler may take
local IN_ALL = 10 -- seconds after which no child is started any more
local MARK = "\tccw\t" -- begins a line of an answer: the library may print too

-- ---- in the child ---------------------------------------------------------------------------------------------------

local is_child = false

local function say(...) io.stdout:write("\n", MARK, table.concat({ ... }, "\t"), "\n"):flush() end

local function one_line(err) return (tostring(err):gsub("%s*\n%s*", "; ")) end

--- Whether a function has shown that it is no handler at all.
local function is_no_handler(err)
  return errors.is_error(err) and (err.message:find("did not answer the metadata query", 1, true) or
    err.message:find("is it an FFI handler?", 1, true)) ~= nil
end

--- What is to be asked, always in the same order: the functions of those names or, with none given, all that carry no
--- signature, and what was registered, of all stages.
local function list_items(library, names)
  local items = {}
  local function add_stages(name, place_of, get)
    for _, stage in ipairs { "instantiate", "prepare", "initialize", "record" } do
      local place = place_of(stage)
      if place then
        items[#items + 1] = { name = name, place = place, stage = stage,
          get = function() return core.handler_of_stage(get(), stage) end }
      end
    end
  end
  for _, name in ipairs(names or library:names()) do
    local place = errors.try(core.library_place, library, name)
    local function get() return library:handler(name) end
    if names or place and not core.library_signature(library, name) then
      items[#items + 1] = { name = name, place = place or "", get = get }
    end
    if not names then
      add_stages(name, function(stage) return (errors.try(core.library_place, library, name, stage)) end, get)
    end
  end
  for i = 0, names and -1 or math.huge do
    local name, platform, handler = core.registered(i)
    if not name then break end
    local function get() return handler end
    if not core.handler_signature(handler) then
      items[#items + 1] = { name = name, platform = platform, place = core.handler_place(handler), get = get }
    end
    add_stages(name, function(stage)
      local place = core.handler_place(handler, stage)
      return place ~= "" and not core.handler_stage_signature(handler, stage) and place
    end, get)
  end
  return items
end

--- An error of a handler without the handler's name, which stands in front of it already.
local function text_of(err, name)
  local text = errors.is_error(err) and err.message or tostring(err)
  return one_line(text:sub(1, #name + 2) == name .. ": " and text:sub(#name + 3) or text)
end

local function answer_for(item, is_named)
  local ok, handler = pcall(item.get)
  if not ok then
    return say(is_no_handler(handler) and "none" or "why", is_named and one_line(handler) or text_of(handler, item.name))
  end
  say("about", M.about(handler))
  local signature = core.handler_signature(handler)
  if not signature then
    ok, signature = pcall(core.handler_ask, handler)
    if not ok then return say("why", text_of(signature, item.name)) end
  end
  say("signature", tostring(signature))
end

--- In the child process: loads a library and tells of its handlers, from one of them on.
function M.answer(question)
  is_child = true
  local ok, library = pcall(require "ccw.load".load, question.library, { path = question.folders })
  if not ok then return say("failed", one_line(library)) end
  for _, type in ipairs(question.types) do
    local from = library
    if type.library then ok, from = pcall(require "ccw.load".load, type.library, { path = type.folders }) end
    if ok then pcall(core.library_register_type, from, type.name, type.id, type.info) end
  end
  core.library_invent_types(library) -- the official binding asserts that its types are registered
  say "loaded"
  for i, item in ipairs(list_items(library, question.names)) do
    if i > question.behind then
      say("asking", i, item.place, item.platform or "", item.stage or "", item.name)
      core.limit(question.seconds)
      answer_for(item, question.names ~= nil)
      core.limit(0)
    end
  end
  say "end"
end

-- ---- in the parent --------------------------------------------------------------------------------------------------

--- The text of a table of strings, numbers and such tables, for Lua to read.
local function serialize(value)
  if type(value) ~= "table" then return ("%q"):format(value) end
  local items = {}
  for key, item in next, value do items[#items + 1] = ("[%q] = %s"):format(key, serialize(item)) end
  return "{" .. table.concat(items, ", ") .. "}"
end

--- What runs Lua in another process: this program, the ccw beside the module, or else a stock interpreter.
local function find_program()
  if package.preload["ccw.program"] then return "/proc/self/exe" end
  local beside = (core.home() or "") .. "/bin/ccw"
  local file <close> = io.open(beside, "rb")
  if file then return beside end
  local own = core.interpreter() or ""
  return own:find "/lua[%d.-]*$" and own or "lua5.4"
end

local function run_child(question, seconds)
  local code = ("package.path, package.cpath = %q, %q require 'ccw.ask'.answer(%s)"):format(package.path, package.cpath,
    serialize(question))
  return core.run({ find_program(), "-e", code }, seconds)
end

--- Reads what a child said: adds to the entries, and returns the number of the last and how far the child came.
local function read(output, entries)
  local last, state = nil, "start"
  for line in output:gmatch "[^\n]+" do
    if line:sub(1, #MARK) == MARK then
      local word, rest = line:sub(#MARK + 1):match "^(%l+)\t?(.*)$"
      local entry = entries[#entries]
      if word == "asking" then
        local number, place, platform, stage, name = rest:match "^(%d+)\t([^\t]*)\t([^\t]*)\t([^\t]*)\t(.*)$"
        last, state = tonumber(number), "asking"
        entries[#entries + 1] = { name = name, place = place, platform = platform ~= "" and platform or nil,
          stage = stage ~= "" and stage or nil }
      elseif word == "about" then
        entry.about = rest
      elseif word == "signature" or word == "why" or word == "none" then
        entry[word], state = rest, "answered"
      else
        state = word
        if word == "failed" then return last, state, rest end
      end
    end
  end
  return last, state
end

--- The type whose want ended a child: the official binding asserts that it is registered, in a function of whose name it is a part.
--- "" where it cannot be told; nil where the child ended otherwise.
local function lacking_type(output)
  local behind = output:match("^.*\n" .. MARK .. "asking(.*)$") or ""
  if not behind:find("type must be registered with XLA FFI", 1, true) then return nil end
  local type = behind:match "%[with T = ([^;%]]+)" or behind:match "%[T = (.-)%]" or ""
  return (type:gsub(", stage = .*", ""):gsub("{anonymous}", "(anonymous namespace)"))
end

local function say_end(how)
  return "asking ended it: " .. ((how == "timeout" or how == "signal 14") and "it did not answer in time" or how)
end

--- ask{library = path, folders = list, names = list, seconds = number, to_load = number} -> entries, failure. Asks all that
-- carry no signature in a library, or those that are named; the seconds are for each handler, and to load. Each entry has name,
-- place, and platform if it is registered; signature, or why there is none, or none where it is no handler; and about, where it
-- is one; stage, for a function of another stage than execute; and lacks_type, the name of a type that was not registered. The failure
-- says why entries are missing. Where a handler ends the child another goes on behind it. `types` is a list of types to register:
-- name, id, info, and library and folders for those of another library.
function M.ask(question)
  local _ <close> = terminal.progress("asking " .. question.library)
  local entries, start, behind = {}, core.clock(), 0
  repeat
    local output, how = run_child({ library = question.library, folders = question.folders, names = question.names,
      types = question.types or {}, seconds = question.seconds or TO_ANSWER, behind = behind }, question.to_load or TO_LOAD)
    local last, state, failure = read(output, entries)
    if state == "end" then return entries end
    if state == "failed" then return entries, failure end
    if state ~= "asking" then return entries, say_end(how) end
    local entry = entries[#entries]
    entry.lacks_type, entry.why = lacking_type(output), say_end(how)
    if entry.lacks_type then
      entry.why = ("it binds the type '%s', which is not registered"):format(entry.lacks_type):gsub(" the type ''", " a type")
    end
    behind = last
  until core.clock() - start > IN_ALL
  return entries, "it was not asked: others took too long"
end

--- How a child loads a library: its name, and the folders in which it is sought; nil, why.
local function origin_of(library)
  local origin, why = core.library_origin(library)
  if not origin then return nil, why end
  local words = {}
  for word in origin:gmatch "([^%z]*)%z" do words[#words + 1] = word end
  return words[1], table.move(words, 2, #words, 1, {})
end

--- Types that were registered: a child has to do the same. Each has library, folders, name, id, info.
local registered = {}

--- Remembers that a type of a library was registered.
function M.note_type(library, name, id, info)
  local origin, folders = origin_of(library)
  registered[#registered + 1] = origin and { library = origin, folders = folders, name = name, id = id, info = info }
end

--- Asks with the types of the library itself and, where that is not enough, with those of other libraries, too: it may link to them.
local function ask_with_types(library, folders)
  local own, all = {}, {}
  for i, type in ipairs(registered) do
    local is_own = type.library == library
    all[i] = is_own and { name = type.name, id = type.id, info = type.info } or type
    if is_own then own[#own + 1] = all[i] end
  end
  local entries, failure = M.ask { library = library, folders = folders, types = own }
  if #own == #all then return entries, failure end
  for _, entry in ipairs(entries) do
    if entry.lacks_type then return M.ask { library = library, folders = folders, types = all } end
  end
  return entries, failure
end

local function ask_library(library)
  local origin, folders = origin_of(library)
  local entries, failure = {}, not origin and folders or nil
  if origin then
    local asked, err = errors.try(function()
      entries, failure = ask_with_types(origin, folders)
      return true
    end)
    if not asked then failure = err.message end
    for _, entry in ipairs(entries) do
      if entry.lacks_type then
        core.library_tell_type(library, entry.place, entry.lacks_type)
      else
        core.library_tell(library, entry.place, entry.signature, entry.why)
      end
    end
  end
  core.library_tell(library, "", nil, failure or "it was not asked")
end

--- Gives what `find` finds of a handler of the library; where it is not known yet the library is asked first.
local function look(library, find, ...)
  local signature, why, code = find(...)
  if code ~= "UNAVAILABLE" or is_child then return signature, why, code end
  ask_library(library or core.handler_library(...))
  return find(...)
end

--- signature(handler) -> signature, or nil, why.
function M.signature(handler) return look(nil, core.handler_signature, handler) end

--- learn(handler) -> known. Finds out what the functions of all its stages bind; false where one lacks a type: to be asked again
--- when that is registered.
function M.learn(handler)
  for _, stage in ipairs(handler.stages) do look(nil, core.handler_stage_signature, handler, stage) end
  return not core.handler_lacks_type(handler)
end

--- signature_in(library, name) -> signature, or nil, why, code: NOT_FOUND for what is no handler.
function M.signature_in(library, name) return look(library, core.library_signature, library, name) end

-- ---- showing --------------------------------------------------------------------------------------------------------

local function show_name(name) return name:find "^[%a_][%w_]*$" and name or core.quote(name) end

--- text(name, signature) -> string. The signature, a value or its text, as that of a handler of that name.
function M.text(name, signature)
  if type(signature) == "string" then signature = core.signature(signature) end
  local own = signature.name ~= "" and show_name(signature.name) or ""
  return show_name(name) .. tostring(signature):sub(#own + 1)
end

--- about(handler) -> string. Version, stages, traits and library.
function M.about(handler)
  local parts = { "FFI " .. handler.version }
  if #handler.stages > 1 then parts[#parts + 1] = "stages " .. table.concat(handler.stages, ", ") end
  for _, trait in ipairs(handler.traits) do parts[#parts + 1] = trait end
  if handler.library ~= "" then parts[#parts + 1] = handler.library end
  return table.concat(parts, "; ")
end

--- lines(entries) -> list. A line for each signature; those without one, by reason, last. Each entry has name, and signature
-- or why.
function M.lines(entries)
  local lines, reasons, names = {}, {}, {}
  for _, entry in ipairs(entries) do
    if entry.signature then
      lines[#lines + 1] = M.text(entry.name, entry.signature) .. (entry.behind or "")
    elseif not names[entry.why] then
      names[entry.why] = { show_name(entry.name) }
      reasons[#reasons + 1] = entry.why
    else
      table.insert(names[entry.why], show_name(entry.name))
    end
  end
  for _, why in ipairs(reasons) do lines[#lines + 1] = table.concat(names[why], ", ") .. ": " .. why end
  return lines
end

return M

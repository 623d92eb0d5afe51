--- A session: what a prompt remembers, and what it answers.
local core = require "ccw.core"
local ccw = require "ccw"
local errors = require "ccw.errors"
local help = require "ccw.help"
local show = require "ccw.show"
local text_file = require "ccw.text_file"
local chunks = require "ccw.prompt.chunk"
local commands = require "ccw.prompt.commands"
local completion = require "ccw.prompt.completion"

local M = {}
local as_statement = chunks.as_statement

--- The variables of a function by name: {function, number} of the upvalue.
local function upvalues(f)
  local found = {}
  for i = 1, math.huge do
    local name = debug.getupvalue(f, i)
    if not name then return found end
    found[name] = { f, i }
  end
end

local Session = {}
Session.__index = Session

--- What the names of earlier results stand for: the last, and the two before it.
local result_names = { _ = 1, _1 = 2, _2 = 3 }

--- new() -> session. What a prompt remembers: its locals, its last results, and its view of the globals, where reading a name that was
--- never set is an error.
function M.new()
  local session = setmetatable({ cells = {}, results = {}, commands = {}, usage = {} }, Session)
  _G.ccw = ccw
  session.env = setmetatable({}, {
    __index = function(_, name)
      local value = _G[name]
      if value == nil then value = session.results[result_names[name]] end
      if value == nil then error(session:unknown(name), 2) end
      return value
    end,
    __newindex = _G,
  })
  commands.install(session)
  return session
end

--- All names that mean something at the prompt.
function Session:names()
  local names = {}
  for name in pairs(self.cells) do names[#names + 1] = name end
  for name in pairs(_G) do
    if type(name) == "string" then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

local hints = {
  help = "?name explains a name, ? alone lists them", exit = "Ctrl-D leaves", quit = "Ctrl-D leaves",
  _ = "it is the last result, once there is one", _1 = "it is the result before the last", _2 = "it is the second result before the last",
}

function Session:unknown(name)
  local hint = hints[name]
  local near = core.near(tostring(name), self:names())
  if not hint and near[1] then hint = "near: " .. table.concat(near, ", ") end
  return ("'%s' was never set%s"):format(tostring(name), hint and "; " .. hint or "")
end

--- What a name means, nil for nothing.
function Session:value(name)
  local cell = self.cells[name]
  if cell then return select(2, debug.getupvalue(cell[1], cell[2])) end
  local value = rawget(_G, name)
  if value == nil then value = self.results[result_names[name]] end
  return value
end

--- Gives a variable of the prompt, local or global, another value: all functions that use it see that.
function Session:assign(name, value)
  local cell = self.cells[name]
  if cell then
    debug.setupvalue(cell[1], cell[2], value)
  else
    rawset(_G, name, value)
  end
end

--- Remembers the variables that a function made at the end of a chunk holds; a constant has none and gets one.
function Session:keep(names, holder)
  local found, values = upvalues(holder), table.pack(holder())
  for i, name in ipairs(names) do
    local value = values[i]
    self.cells[name] = found[name] or { function() return value end, 1 }
  end
end

--- session:compile(source [, name]) -> function, or nil and what is wrong. Compiles a chunk with the session's locals in reach. Lines
--- keep their numbers. `name` is what errors call it, as load takes it.
function Session:compile(source, name)
  local declared, mentioned, return_at = chunks.survey(source)
  local used = {}
  for known in pairs(self.cells) do
    if mentioned[known] then used[#used + 1] = known end
  end
  table.sort(used)
  local head = #used > 0 and "local " .. table.concat(used, ", ") .. " " or ""
  local env = setmetatable({
    __ccw_keep = function(holder) self:keep(declared, holder) end,
    __ccw_values = function(...) return ... end,
  }, { __index = self.env, __newindex = self.env })
  local function try(body) return load(head .. "return function(...) " .. body .. "\nend", name or "=prompt", "t", env) end
  local outer, message
  if #declared > 0 then
    local keep = (" ; __ccw_keep(function() return %s end) ; "):format(table.concat(declared, ", "))
    outer = try(return_at and source:sub(1, return_at - 1) .. keep .. source:sub(return_at) or source .. "\n" .. keep)
  end
  if not outer then outer, message = try(source) end -- also where nothing may follow, as behind a label that ends a chunk
  if not outer then return nil, message end
  local chunk = outer()
  for variable, place in pairs(upvalues(chunk)) do
    local cell = self.cells[variable]
    if cell and mentioned[variable] and variable ~= "_ENV" then debug.upvaluejoin(chunk, place[2], cell[1], cell[2]) end
  end
  return chunk
end

--- session:evaluate(source) -> table. Runs a whole chunk and gives its values, n of them, of which the first, unless it is nil, becomes the
--- last result. Raises what is wrong with it.
function Session:evaluate(source)
  local kind, message = chunks.classify(source)
  local chunk
  if kind == "more" then message = "the input ends in the middle" end
  if kind == "expression" or kind == "statement" then
    chunk, message = self:compile(kind == "expression" and as_statement(source) or source)
  end
  if not chunk then error(message, 0) end
  local values = table.pack(chunk())
  if values[1] ~= nil then
    table.insert(self.results, 1, values[1])
    self.results[4] = nil
  end
  return values
end

--- session:load(path). Runs a file as if it had been typed: what it declares local at its top level stays. Raises what is wrong with it.
function Session:load(path)
  local chunk, message = self:compile(text_file.read(path):gsub("^#[^\n]*", ""), "@" .. path)
  if not chunk then error(message, 0) end
  chunk()
end

--- What a function or a method that there is not may have been meant to be.
local function near_text(message)
  local word, name = message:match "attempt to call a nil value %((%l+) '([%a_][%w_]*)'%)$"
  local near = (word == "field" or word == "method") and help.near(name, word == "method") or {}
  return near[1] and "; near: " .. table.concat(near, ", ") or ""
end

local function describe_error(err)
  if errors.is_error(err) then return tostring(err) end
  local frames = errors.user_frames(Session.show)
  local text = type(err) == "string" and err .. near_text(err) or show.value(err)
  return text .. (#frames > 1 and "\n" .. table.concat(frames, "\n") or "") -- one alone is in the message
end

--- As the program's interruptible does, without interrupts.
local function protect(handler, f)
  local ok, result = xpcall(f, handler)
  if not ok then error(result, 0) end
  return result
end

--- session:run(source) -> ok, text. Runs a whole chunk and gives what to show: its values, or its error.
function Session:run(source)
  return self:show(function() return show.values(self:evaluate(source)) end) -- showing may fail too, or be interrupted
end

--- session:show(f) -> ok, text. What f gives, or its error.
function Session:show(f)
  local ok, text = pcall(self.protect or protect, describe_error, f)
  return ok, ok and (text or "") or "error: " .. tostring(text)
end

--- What a topic means: a name, or a handler of a library, "lib.scale".
function Session:meaning(topic)
  local first, rest = topic:match "^([%a_][%w_]*)%.?(.*)$"
  local value = first and self:value(first)
  if rest == "" or core.kind(value) ~= "library" then return rest == "" and value or nil end
  return (errors.try(core.library_handler, value, rest))
end

--- is_for_prompt(source) -> boolean. Whether a line is for the prompt itself and no Lua: "?name" is help, ":name rest" a command.
function M.is_for_prompt(source) return source:find "^%s*%?" or source:find "^%s*:%a" end

--- session:answer(source) -> ok, text. Like run, for what people type: help and commands too. A command is a function of
--- session.commands, given the session and the rest of the line, that returns the text to show; session.usage has what :help says of it,
--- "ARGUMENTS: text".
function Session:answer(source)
  if not M.is_for_prompt(source) then return self:run(source) end
  local topic = source:match "^%s*%?+%s*(.-)%s*$"
  if topic then return self:show(function() return help.text(topic, self:meaning(topic)) end) end
  local name, rest = source:match "^%s*:([%a_]+)%s*(.-)%s*$"
  local command = self.commands[name]
  if command then return self:show(function() return command(self, rest) end) end
  local names = {}
  for known in pairs(self.commands) do names[#names + 1] = known end
  table.sort(names)
  local near = core.near(name, names)
  local behind = near[1] and "near: :" .. table.concat(near, ", :") or ":help lists them"
  return false, ("error: no command is called ':%s'; %s"):format(name, behind)
end

--- session:complete(text) -> insertion, list. What to insert at the end of the text, and the candidates when there are several.
function Session:complete(text) return completion.complete(self, text) end

return M

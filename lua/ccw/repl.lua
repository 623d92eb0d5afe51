--- The prompt: reads, evaluates, shows.
local core = require "ccw.core"
local ccw = require "ccw"
local call = require "ccw.call"
local errors = require "ccw.errors"
local help = require "ccw.help"
local show = require "ccw.show"

local M = {}

-- ---- chunks: top-level locals stay from one to the next --------------------------------------------------------------

local opens = { ["function"] = true, ["do"] = true, ["if"] = true, ["repeat"] = true }
local closes = { ["end"] = true, ["until"] = true }

--- Tokens of Lua as {text, start}; comments and strings are passed over, numbers and signs come in pieces, which does no
--- harm to those who look for names and keywords.
local function tokens(source)
  local list, at = {}, 1
  while true do
    at = source:match("^%s*()", at)
    if at > #source then return list end
    local comment, equals = source:match("^(%-?%-?)%[(=*)%[", at)
    if equals and (comment == "--" or comment == "") then
      local _, last = source:find("]" .. equals .. "]", at, true)
      at = (last or #source) + 1
    elseif source:find("^%-%-", at) then
      at = source:match("^[^\n]*()", at)
    elseif source:find("^[\"']", at) then
      local quote, i = source:sub(at, at), at + 1
      while i <= #source and source:sub(i, i) ~= quote do i = i + (source:sub(i, i) == "\\" and 2 or 1) end
      at = i + 1
    else
      local word = source:match("^[%a_][%w_]*", at) or source:match("^%d[%w.]*", at) or source:sub(at, at)
      list[#list + 1] = { word, at }
      at = at + #word
    end
  end
end

--- The names that a chunk declares local at its top level, the names that it mentions, and where its last return starts.
local function survey(source)
  local declared, mentioned, return_at, depth = {}, {}, nil, 0
  local list = tokens(source)
  for i, token in ipairs(list) do
    local word = token[1]
    if word:find "^[%a_]" then mentioned[word] = true end
    if opens[word] then
      depth = depth + 1
    elseif closes[word] then
      depth = depth - 1
    elseif depth == 0 and word == "return" then
      return_at = token[2]
    elseif depth == 0 and word == "local" then
      local j = i + 1
      if list[j] and list[j][1] == "function" then j = j + 1 end
      while list[j] and list[j][1]:find "^[%a_]" do
        if list[j][1] ~= "_ENV" then declared[#declared + 1] = list[j][1] end
        j = j + 1
        if list[j] and list[j][1] == "<" then j = j + 3 end -- <const>, <close>
        if not (list[j] and list[j][1] == ",") then break end
        j = j + 1
      end
    end
  end
  return declared, mentioned, return_at
end

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

--- session() -> session. What a prompt remembers: its locals, and its view of the globals, where reading a name that was
--- never set is an error.
function M.session()
  local session = setmetatable({ cells = {}, commands = {} }, Session)
  _G.ccw = ccw
  session.env = setmetatable({}, {
    __index = function(_, name)
      local value = _G[name]
      if value == nil then error(session:unknown(name), 2) end
      return value
    end,
    __newindex = _G,
  })
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

local hints = { help = "?name explains a name, ? alone lists them", exit = "Ctrl-D leaves", quit = "Ctrl-D leaves" }

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
  return rawget(_G, name)
end

--- Remembers the variables that a function made at the end of a chunk holds; a constant has none and gets one.
function Session:keep(names, holder)
  local found, values = upvalues(holder), table.pack(holder())
  for i, name in ipairs(names) do
    local value = values[i]
    self.cells[name] = found[name] or { function() return value end, 1 }
  end
end

--- Compiles a chunk with the session's locals in reach. Lines keep their numbers.
function Session:compile(source)
  local declared, mentioned, return_at = survey(source)
  local used = {}
  for name in pairs(self.cells) do
    if mentioned[name] then used[#used + 1] = name end
  end
  table.sort(used)
  local head = #used > 0 and "local " .. table.concat(used, ", ") .. " " or ""
  local env = setmetatable({
    __ccw_keep = function(holder) self:keep(declared, holder) end,
    __ccw_values = function(...) return ... end,
  }, { __index = self.env, __newindex = self.env })
  local function try(body) return load(head .. "return function(...) " .. body .. "\nend", "=prompt", "t", env) end
  local outer, message
  if #declared > 0 then
    local keep = (" ; __ccw_keep(function() return %s end) ; "):format(table.concat(declared, ", "))
    outer = try(return_at and source:sub(1, return_at - 1) .. keep .. source:sub(return_at) or source .. "\n" .. keep)
  end
  if not outer then outer, message = try(source) end -- also where nothing may follow, as behind a label that ends a chunk
  if not outer then return nil, message end
  local chunk = outer()
  for name, place in pairs(upvalues(chunk)) do
    local cell = self.cells[name]
    if cell and mentioned[name] and name ~= "_ENV" then debug.upvaluejoin(chunk, place[2], cell[1], cell[2]) end
  end
  return chunk
end

--- An expression as a statement that gives its values, through a function: so a call is no tail call, and the place of an
--- error is known.
local function as_statement(expression)
  local close = expression:find "%-%-" and "\n)" or ")" -- a comment would hide it
  return "return __ccw_values(" .. expression .. close
end

--- Whether a text is whole: "expression", "statement", "more" when it could go on, or nil and what is wrong.
function M.classify(source)
  if source:find "%S" and load(as_statement(source), "=prompt", "t") then return "expression" end
  local statement, message = load(source, "=prompt", "t")
  if statement then return "statement" end
  local _, as_expression = load("return " .. source, "=prompt", "t")
  if message:find "<eof>$" or as_expression and as_expression:find "<eof>$" then return "more" end
  return nil, message
end

local function describe_error(err)
  if errors.is_error(err) then return tostring(err) end
  local frames = errors.user_frames(Session.show)
  local text = type(err) == "string" and err or show.value(err)
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
  local kind, message = M.classify(source)
  local chunk
  if kind == "more" then message = "the input ends in the middle" end
  if kind == "expression" or kind == "statement" then
    chunk, message = self:compile(kind == "expression" and as_statement(source) or source)
  end
  if not chunk then return false, "error: " .. message end
  return self:show(function()
    local values = table.pack(chunk())
    for i = 1, values.n do values[i] = show.value(values[i]) end -- may fail too, or be interrupted
    return table.concat(values, "\t")
  end)
end

--- What f gives, or its error.
function Session:show(f)
  local ok, text = pcall(self.protect or protect, describe_error, f)
  return ok, ok and text or "error: " .. tostring(text)
end

--- What a topic means: a name, or a handler of a library, "lib.scale".
function Session:meaning(topic)
  local first, rest = topic:match "^([%a_][%w_]*)%.?(.*)$"
  local value = first and self:value(first)
  if rest == "" or core.kind(value) ~= "library" then return rest == "" and value or nil end
  return (errors.try(core.library_handler, value, rest))
end

--- Whether a line is for the prompt itself and no Lua: "?name" is help, ":name rest" a command.
local function is_for_prompt(source) return source:find "^%s*%?" or source:find "^%s*:%a" end

--- session:answer(source) -> ok, text. Like run, for what people type: help and commands too. A command is a function of
--- session.commands, given the session and the rest of the line, that returns the text to show.
function Session:answer(source)
  if not is_for_prompt(source) then return self:run(source) end
  local topic = source:match "^%s*%?+%s*(.-)%s*$"
  if topic then return self:show(function() return help.text(topic, self:meaning(topic)) end) end
  local name, rest = source:match "^%s*:([%a_]+)%s*(.-)%s*$"
  local command = self.commands[name]
  if command then return self:show(function() return command(self, rest) end) end
  local names = {}
  for known in pairs(self.commands) do names[#names + 1] = known end
  table.sort(names)
  local near = core.near(name, names)
  return false, ("error: no command is called ':%s'%s"):format(name, near[1] and "; near: :" .. table.concat(near, ", :") or "")
end

-- ---- completion ------------------------------------------------------------------------------------------------------

local buffer_fields = { "dtype", "type", "rank", "count", "dims", "flat", "address" }
local handler_fields = { "name", "library", "version", "traits", "stages", "signature", "no_signature" }

--- The names that may follow "value." or "value:".
local function members(value, colon)
  local names, kind = {}, core.kind(value)
  local function add(name) names[#names + 1] = name end
  if kind == "buffer" then
    for name in pairs(core.buffer_metatable.methods) do add(name) end
    if not colon then for _, name in ipairs(buffer_fields) do add(name) end end
  elseif kind == "library" then
    for name in pairs(core.library_metatable.methods) do add(name) end
    if not colon then for _, name in ipairs(value:names()) do add(name) end end
  elseif kind == "call" then
    for name in pairs(core.call_metatable.__index) do add(name) end
  elseif kind == "handler" then
    for _, name in ipairs(handler_fields) do add(name) end
  elseif kind == "signature" then
    for name in pairs(core.signature_methods) do add(name) end
    if not colon then add "name" end
  elseif type(value) == "table" then
    for name in pairs(value) do
      if type(name) == "string" and name:find "^[%a_][%w_]*$" then add(name) end
    end
  elseif type(value) == "string" then
    for name in pairs(string) do add(name) end
  end
  return names
end

--- session:complete(text) -> insertion, list. What to insert at the end of the text, and the candidates when there are
--- several: names, fields and methods, and inside the first string of a call the names of registered handlers.
function Session:complete(text)
  local names, word
  local target = text:match "ccw%.%l+%(%s*[\"']([^\"']*)$"
  if target then
    word, names = target, {}
    for _, row in ipairs(ccw.registered()) do names[#names + 1] = row.name end
  else
    local path = text:match "[%a_][%w_.:]*$" or ""
    local owner, mark
    owner, mark, word = path:match "^(.*)([.:])([%w_]*)$"
    if owner then
      local value
      for name in owner:gmatch "[^.:]+" do
        if value == nil then
          value = self:value(name)
        else
          value = type(value) == "table" and rawget(value, name) or nil
        end
        if value == nil then return "" end
      end
      names = members(value, mark == ":")
    else
      word, names = path, self:names()
    end
  end
  local candidates, seen = {}, {}
  for _, name in ipairs(names) do
    if name:sub(1, #word) == word and not seen[name] then
      seen[name] = true
      candidates[#candidates + 1] = name
    end
  end
  table.sort(candidates)
  if #candidates == 0 then return "" end
  local common = candidates[1]
  for _, name in ipairs(candidates) do
    while name:sub(1, #common) ~= common do common = common:sub(1, -2) end
  end
  return common:sub(#word + 1), #candidates > 1 and #common == #word and candidates or nil
end

-- ---- the loop --------------------------------------------------------------------------------------------------------

--- Where the history is kept: in the user's state folder, as the XDG rules say.
local function history_path()
  local state = os.getenv "XDG_STATE_HOME"
  if not state or state == "" then
    local home = os.getenv "HOME"
    if not home or home == "" then return nil end
    state = home .. "/.local/state"
  end
  core.make_folder(state .. "/ccw")
  return state .. "/ccw/history"
end

--- Whether a history is as libedit writes it: it reads past the end of a line with an escape that it does not know.
local function is_sound(path)
  local file <close> = io.open(path, "rb")
  if not file then return false end
  local text = file:read("a"):gsub("\\[0-7][0-7][0-7]", ""):gsub("\\M[-^][^\n]", "")
  return not text:find "[\\\0-\9\11-\31\127]"
end

--- A reader of lines: with editing, history and completion at a terminal, plain elsewhere.
local function new_reader(session, program)
  local terminal = program.is_terminal(0) and program.is_terminal(1)
  local found, editor_module = pcall(require, "ccw.editor")
  if not (terminal and found and os.getenv "TERM" ~= "dumb") then
    return {
      read = function(prompt)
        if terminal then io.write(prompt) io.flush() end
        local line = io.read "l"
        if not line then return nil, "end" end
        return line
      end,
      remember = function() end,
      close = function() if terminal then print() end end,
    }
  end
  local editor = editor_module.new(function(text)
    local insertion, candidates = session:complete(text)
    return insertion, candidates and table.concat(candidates, "  ")
  end)
  local path = history_path()
  if path and is_sound(path) then editor:load(path) end
  return {
    read = function(prompt) return editor:read(prompt) end,
    remember = function(text)
      editor:remember(text)
      if path then editor:save(path) end
    end,
    close = function() print() end,
  }
end

--- Reads chunks, of one line or more, until the input ends. Returns whether all went well. `session` may be one that has
--- been used already.
function M.loop(program, session)
  local good = true
  session = session or M.session()
  local function answer(source)
    local ok, text = session:answer(source)
    good = good and ok
    if text ~= "" then print(text) end
  end
  session.protect = program.interruptible
  call.checked = true
  local reader = new_reader(session, program)
  local pending
  while true do
    local line, why = reader.read(pending and "   > " or "ccw> ")
    if line then
      local source = pending and pending .. "\n" .. line or line
      if not is_for_prompt(source) and source:find "%S" and M.classify(source) == "more" then
        pending = source
      else
        pending = nil
        if source:find "%S" then
          reader.remember(source)
          answer(source)
        end
      end
    elseif why == "interrupt" then
      pending = nil
      print()
    else
      if pending then answer(pending) end
      reader.close()
      return good
    end
  end
end

--- Plays chunks as a person would type them: prints each behind a prompt, then what it gives. Returns whether all went well.
function M.play(session, chunks)
  local good = true
  for _, source in ipairs(chunks) do
    print((("ccw> " .. source):gsub("\n", "\n   > ")))
    local ok, text = session:answer(source)
    good = good and ok
    if text ~= "" then print(text) end
  end
  return good
end

return M

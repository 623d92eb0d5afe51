--- Completion: what may stand where the cursor is.
local core = require "ccw.core"
local ccw = require "ccw"
local errors = require "ccw.errors"
local help = require "ccw.help"
local terminal = require "ccw.terminal"
local chunk = require "ccw.prompt.chunk"
local reference = require "ccw.reference"
local reload = require "ccw.prompt.reload"

local M = {}

-- ---- where the cursor is -----------------------------------------------------------------------------------------------

local keywords = {}
for word in ("and break do else elseif end false for function goto if in local nil not or repeat return then true until while")
  :gmatch "%a+" do keywords[word] = true end

local function is_name(token) return token and not token.is_string and token[1]:find "^[%a_]" and not keywords[token[1]] end

local function is_sign(token, sign) return token and not token.is_string and token[1] == sign end

--- The path that ends with the i-th token, "ccw.call", "x:to"; nil where none does.
local function path_at(tokens, i)
  if not is_name(tokens[i]) then return nil end
  local first = i
  while (is_sign(tokens[first - 1], ".") or is_sign(tokens[first - 1], ":")) and is_name(tokens[first - 2]) do first = first - 2 end
  local words = {}
  for k = first, i do words[#words + 1] = tokens[k][1] end
  return table.concat(words)
end

--- The name to which the i-th token is given in a table, {name = ...}.
local function key_at(tokens, i)
  return is_sign(tokens[i - 1], "=") and is_name(tokens[i - 2]) and tokens[i - 2][1] or nil
end

local pairs_of = { ["("] = ")", ["{"] = "}", ["["] = "]" }

--- place_of(text) -> table, or nil in a comment. Where the end of a text is: `inside`, the brackets around it, outermost first, each with
--- bracket, callee, key, arguments (where each begins, as numbers of tokens) and keys (those that it has been given); string, the
--- text of the string in which it is, with callee and key; tokens.
local function place_of(text)
  local tokens, open = chunk.tokens(text)
  if open == "comment" then return nil end
  local place = { tokens = tokens, inside = {} }
  for i, token in ipairs(tokens) do
    local word, top = token[1], place.inside[#place.inside]
    if token.is_string then
      if i == #tokens and open == "string" then place.string, place.callee, place.key = word, path_at(tokens, i - 1), key_at(tokens, i) end
    elseif pairs_of[word] then
      place.inside[#place.inside + 1] =
        { bracket = word, callee = path_at(tokens, i - 1), key = key_at(tokens, i), arguments = { i + 1 }, keys = {} }
    elseif top and word == pairs_of[top.bracket] then
      place.inside[#place.inside] = nil
    elseif top and (word == "," or word == ";") then
      top.arguments[#top.arguments + 1] = i + 1
    elseif top and word == "=" and is_name(tokens[i - 1]) then
      top.keys[tokens[i - 1][1]] = true
    end
  end
  return place
end

--- The call around the cursor: the path of its function, the number of the argument in which the cursor is, counted from 1, and the path
--- of the first. Of ccw.try(f, ...) and pcall(f, ...) it is f's.
local function call_around(place, depth)
  local call = place.inside[depth]
  if not call or call.bracket ~= "(" or not call.callee then return nil end
  local function argument(k)
    local first = call.arguments[k]
    local last = (call.arguments[k + 1] or #place.tokens + 2) - 2
    return first and path_at(place.tokens, last)
  end
  local callee, number, shift = call.callee, #call.arguments, 0
  if callee == "ccw.try" or callee == "pcall" then callee, shift = argument(1), 1 end
  local first = call.arguments[1 + shift]
  local target = argument(1 + shift)
  local token = first and place.tokens[first]
  if not target and token and token.is_string then target = token[1] end
  return callee, number - shift, target
end

-- ---- what may stand there ----------------------------------------------------------------------------------------------

local buffer_fields = { "dtype", "type", "rank", "count", "dims", "flat", "address", "device" }
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

--- What a path means, looking into tables and libraries alone, neither of which runs anything of the user's.
local function meaning(session, path)
  local value
  for name in path:gmatch "[^.:]+" do
    if value == nil then
      value = session:value(name)
    elseif core.kind(value) == "library" then
      value = errors.try(core.library_handler, value, name)
    else
      value = type(value) == "table" and rawget(value, name) or nil
    end
    if value == nil then return nil end
  end
  return value
end

--- The kinds of the attributes of a target, a path or a registered name, where its signature is known without asking.
local function kinds_of(session, target)
  local handler = target and (meaning(session, target) or errors.try(core.find, target, "host"))
  if core.kind(handler) ~= "handler" then return nil end
  local signature = errors.try(core.handler_signature, handler)
  return signature and core.attribute_kinds(signature) or nil
end

local function keys_of(map)
  local names = {}
  for name in pairs(map or {}) do names[#names + 1] = name end
  return names
end

local function targets()
  local names = {}
  for _, row in ipairs(ccw.registered()) do names[#names + 1] = row.name end
  return names
end

local function devices()
  local names = {}
  for _, row in ipairs(core.devices()) do
    if row[2] then names[#names + 1] = row[2].name end
  end
  return names
end

local function dtypes() return keys_of(core.dtypes()) end

local function list(...)
  local names = { ... }
  return function() return names end
end

local platforms, stages = list("Host", "CUDA", "ROCM", "SIM"), list("instantiate", "prepare", "initialize", "execute", "record")

--- Files: names with their folder, as it was written.
local function files(word)
  local folder = word:match "^.*/" or ""
  local names = {}
  for _, name in ipairs(terminal.list(folder == "" and "." or folder)) do
    local is_hidden = name:sub(1, 1) == "." and word:sub(#folder + 1, #folder + 1) ~= "."
    if not is_hidden and not name:find "[%c\"'\\]" then names[#names + 1] = folder .. name end
  end
  return names
end

--- In strings: what a function takes there, by argument, and what a key of a table is given.
local by_function = {
  ["ccw.call"] = { targets, nil, dtypes }, ["ccw.prepare"] = { targets, nil, dtypes }, ["ccw.find"] = { targets, platforms },
  ["ccw.register"] = { targets, nil, platforms }, ["ccw.array"] = { dtypes }, ["ccw.iota"] = { dtypes }, ["ccw.random"] = { dtypes },
  ["ccw.type"] = { dtypes }, ["ccw.signature"] = { dtypes }, ["ccw.bind"] = { dtypes }, ["ccw.device"] = { devices },
  ["ccw.load"] = { files }, ["ccw.read"] = { files }, ["ccw.write"] = { files }, dofile = { files }, loadfile = { files },
  ["io.open"] = { files }, ["to"] = { devices }, ["as"] = { dtypes }, ["reshape"] = { dtypes }, ["stage"] = { stages },
  ["explain"] = { stages },
}
local by_key = {
  device = devices, platform = platforms, as = list("CUDA", "ROCM", "SIM"), stages = list("all", "by hand"), language = list("c", "c++"),
  file = files, svg = files, path = files,
}

--- The options that a function takes in a table, by their doc comments.
local option_texts = {
  ["ccw.call"] = "options", ["ccw.prepare"] = "options", ["ccw.kernel"] = "ccw.kernel", ["ccw.compile"] = "ccw.compile",
  ["ccw.device"] = "ccw.device", ["ccw.show"] = "ccw.show", launch = "kernel:launch",
}

--- What a rule is found under: the path, or the name of a method.
local function rule(rules, path)
  if not path then return nil end
  return rules[path] or rules[path:match ":([%w_]+)$"]
end

--- The kinds of what the innermost table holds, when it is the table of attributes of a call, or one in that; none where they are not
--- known.
local function attribute_kinds(session, place)
  for depth = #place.inside, 2, -1 do
    if place.inside[depth].bracket ~= "{" then return nil end
    local callee, number, target = call_around(place, depth - 1)
    if callee == "ccw.call" or callee == "ccw.prepare" then
      if number ~= 4 then return nil end
      local kinds = kinds_of(session, target)
      for k = depth + 1, #place.inside do
        local key = place.inside[k].key
        kinds = kinds and key and kinds[key] and kinds[key].members
      end
      return kinds or {}
    end
  end
end

--- Names that may begin a field of the innermost table, and the word of it that is there.
local function fields(session, place, text)
  local top, tokens = place.inside[#place.inside], place.tokens
  if not top or top.bracket ~= "{" then return nil end
  local word = text:match "[%a_][%w_]*$" or ""
  local before = tokens[#tokens - (word ~= "" and 1 or 0)]
  if not (is_sign(before, "{") or is_sign(before, ",") or is_sign(before, ";")) then return nil end
  local kinds = attribute_kinds(session, place)
  local names = kinds and keys_of(kinds)
  if not kinds then
    local callee, number = call_around(place, #place.inside - 1)
    local is_options = callee and (number > 4 or callee ~= "ccw.call" and callee ~= "ccw.prepare")
    local function_name = top.callee or (is_options and callee)
    local topic = function_name and rule(option_texts, function_name)
    if not topic and top.callee and core.kind(meaning(session, top.callee)) == "kernel" then topic = "kernel:launch" end
    names = topic and help.options(topic)
  end
  if not names then return nil end
  local free = {}
  for _, name in ipairs(names) do
    if name:find "^[%a_][%w_]*$" and not top.keys[name] then free[#free + 1] = name end
  end
  return free, word
end

--- What may stand in the string in which the cursor is, and the word of it that is there.
local function in_string(session, place)
  local word, find = place.string
  local kinds = place.key and attribute_kinds(session, place)
  if kinds then return keys_of(kinds[place.key] and kinds[place.key].values), word end
  if place.key then
    find = by_key[place.key]
  elseif place.callee then
    find = (rule(by_function, place.callee) or {})[1]
  else
    local depth = #place.inside
    while depth > 0 and place.inside[depth].bracket == "{" and not place.inside[depth].callee do depth = depth - 1 end
    local callee, number = call_around(place, depth)
    find = (rule(by_function, callee) or {})[number or 0]
  end
  if not find then find = word:find "^%.*/" and files or dtypes end
  if find == files then return files(word), word end
  if find ~= dtypes then return find(), word end
  if word:find "%[[^%]]*$" then return {}, "" end -- among the extents of a type
  return dtypes(), word:match "[%w]*$"
end

--- Commands, what they take, and topics of help.
local function for_prompt(session, text)
  local command = text:match "^%s*:([%a_]*)$"
  if command then return keys_of(session.commands), command end
  local rest = text:match "^%s*:load%s+(.*)$"
  if rest then return files(rest), rest end
  rest = text:match "^%s*:reload%s+([%w_]*)$"
  if rest then return reload.libraries(session), rest end
  rest = text:match "^%s*%?+%s*([%l_]*)$"
  if rest then
    local names = session:names()
    for topic in pairs(reference) do names[#names + 1] = topic:gsub("^ccw%.", "") end
    return names, rest
  end
end

local function in_chunk(session, text)
  local place = place_of(text)
  if not place then return {}, "" end
  if place.string then return in_string(session, place) end
  local names, word = fields(session, place, text)
  if names then return names, word end
  local path = text:match "[%a_][%w_.:]*$" or ""
  local owner, mark, last = path:match "^(.*)([.:])([%w_]*)$"
  local before = text:sub(1, -#path - 1)
  if before:find "[^.]%.$" or before:find "[^:]:$" then return {}, path end -- of a value that is not known before it runs: f(x):
  if not owner then return session:names(), path end
  local value = meaning(session, owner)
  return value ~= nil and members(value, mark == ":") or {}, last
end

--- complete(session, text) -> insertion, list. What to insert at the end of the text, and the candidates when there are several, sorted:
--- names, fields and methods; attributes, their enums and options in the tables of a call; in strings registered names, types, devices,
--- files.
function M.complete(session, text)
  local names, word = for_prompt(session, text)
  if not names then names, word = in_chunk(session, (text:gsub("^%s*:%a+%s", ""):gsub("^%s*%?+", ""))) end
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
  while #common > #word and not utf8.len(common) do common = common:sub(1, -2) end -- no half of a character
  return common:sub(#word + 1), #candidates > 1 and #common == #word and candidates or nil
end

return M

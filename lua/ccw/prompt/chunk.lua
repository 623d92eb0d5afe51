--- Chunks of Lua as they are typed: their tokens, what they declare, and whether they are whole.
local M = {}

local opens = { ["function"] = true, ["do"] = true, ["if"] = true, ["repeat"] = true }
local closes = { ["end"] = true, ["until"] = true }

--- tokens(source) -> list, open. Tokens of Lua as {text, start, stop}; comments are passed over, numbers and signs come in pieces,
--- which does no harm to those who look for names and keywords; a string is one token, `is_string`, whose text is what stands between
--- its quotes. `open` is "string" or "comment" where the source ends in the middle of one: that string is the last token.
function M.tokens(source)
  local list, at, open = {}, 1, nil
  local function add(text, start, stop, is_string)
    list[#list + 1] = { text, start, stop, is_string = is_string }
    at = stop + 1
  end
  while true do
    at = source:match("^%s*()", at)
    if at > #source or open then return list, open end
    local comment, equals = source:match("^(%-?%-?)%[(=*)%[", at)
    if equals and (comment == "--" or comment == "") then
      local inside = at + #comment + #equals + 2
      local first, last = source:find("]" .. equals .. "]", at, true)
      if not first then open = comment == "--" and "comment" or "string" end
      if comment == "" then
        add(source:sub(inside, (first or #source + 1) - 1), at, last or #source, true)
      else
        at = (last or #source) + 1
      end
    elseif source:find("^%-%-", at) then
      at = source:match("^[^\n]*()", at)
      if at > #source then open = "comment" end
    elseif source:find("^[\"']", at) then
      local quote, i = source:sub(at, at), at + 1
      while i <= #source and source:sub(i, i) ~= quote do i = i + (source:sub(i, i) == "\\" and 2 or 1) end
      if i > #source then open = "string" end
      add(source:sub(at + 1, i - 1), at, math.min(i, #source), true)
    else
      local word = source:match("^[%a_][%w_]*", at) or source:match("^%d[%w.]*", at) or source:sub(at, at)
      add(word, at, at + #word - 1)
    end
  end
end

--- Names that stand for what was shown last: a local of theirs is for its chunk alone.
local is_result = { _ = true, _1 = true, _2 = true }

--- survey(source) -> declared, mentioned, return_at. The names that a chunk declares local at its top level, the names that it
--- mentions, and where its last return starts.
function M.survey(source)
  local declared, mentioned, return_at, depth = {}, {}, nil, 0
  local list = {}
  for _, token in ipairs(M.tokens(source)) do
    if not token.is_string then list[#list + 1] = token end
  end
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
        if list[j][1] ~= "_ENV" and not is_result[list[j][1]] then declared[#declared + 1] = list[j][1] end
        j = j + 1
        if list[j] and list[j][1] == "<" then j = j + 3 end -- <const>, <close>
        if not (list[j] and list[j][1] == ",") then break end
        j = j + 1
      end
    end
  end
  return declared, mentioned, return_at
end

--- as_statement(expression) -> string. A statement that gives its values, through a function: so a call is no tail call, and the
--- place of an error is known.
function M.as_statement(expression)
  local close = expression:find "%-%-" and "\n)" or ")" -- a comment would hide it
  return "return __ccw_values(" .. expression .. close
end

--- classify(source) -> kind. Whether a text is whole: "expression", "statement", "more" when it could go on, or nil and what is wrong.
function M.classify(source)
  if source:find "%S" and load(M.as_statement(source), "=prompt", "t") then return "expression" end
  local statement, message = load(source, "=prompt", "t")
  if statement then return "statement" end
  local _, as_expression = load("return " .. source, "=prompt", "t")
  if message:find "<eof>$" or as_expression and as_expression:find "<eof>$" then return "more" end
  return nil, message
end

return M

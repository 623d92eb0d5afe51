--- The usual mistakes, by cause: from what an answer said when it failed, and from what was seen of its function.
local M = {}

--- What people write in place of the name of a parameter that nobody knows.
local function name_of(seen, word, otherwise) return seen.names and seen.names[word] or otherwise end

local function never_set(_, name)
  return ("the name '%s' was never set"):format(name),
    "set it first; a function sees its parameters, what the lesson made, and Lua's own names"
end

local function called_with_a_dot(_, name)
  return ("the method '%s' was called with a dot"):format(name), ("a colon hands the value over: x:%s(...)"):format(name)
end

local function operand_written(seen, name)
  return ("the operand '%s' was written"):format(name),
    ("operands are the caller's, and read only: write into the result, %s"):format(name_of(seen, "ret", "y"))
end

local same_dims = "the names of dims in the signature tie the result to the operands: give it the same ones"

--- Mistakes that an error tells: a pattern of its text, and what that means, as a cause and a hint.
local told = {
  { "'([^'\n]+)' was never set(; near: [^\n]*)", function(_, name, near)
    return ("the name '%s' was never set"):format(name), "a slip of the pen?" .. near:sub(2)
  end },
  { "'([^'\n]+)' was never set", never_set },
  { "a nil value %(global '([^'\n]+)'%)", never_set },
  { "a nil value %(local '([^'\n]+)'%)", never_set },
  { "a nil value %(upvalue '([^'\n]+)'%)", never_set },
  { "a nil value %(%l+ '([%a_][%w_]*)'%)", function(_, name) -- a field or a method
    return ("nothing is called '%s' there"):format(name), "a slip of the pen? ?buffer and its like list what there is"
  end },
  { "expected a function of (%d+) parameters? %(([^)\n]*)%), got one of (%d+)", function(_, wanted, names, got)
    local missing = math.tointeger(wanted) - math.tointeger(got)
    local count = math.abs(missing) == 1 and "a parameter" or math.abs(missing) .. " parameters"
    return ("the function has %s too %s: expected %s (%s), got %s"):format(count, missing > 0 and "few" or "many", wanted, names, got),
      ("it gets all that the signature binds, in its order: function(%s)"):format(names)
  end },
  { "returned an? (%a+): ", function(seen, what)
    local y = name_of(seen, "ret", "y")
    return ("the handler returned a %s, and nobody takes it"):format(what),
      ("a handler returns nothing when all went well: it writes into its result, %s[i] = ..."):format(y)
  end },
  { "returned (%d+) values: ", function(seen, count)
    local y = name_of(seen, "ret", "y")
    return ("the handler returned %s values, and nobody takes them"):format(count),
      ("a handler returns nothing when all went well: it writes into its result, %s[i] = ..."):format(y)
  end },
  { "index 0 is outside", function(seen)
    return "index 0: elements are counted from 1", ("for i = 1, #%s do ... end goes over all of them"):format(name_of(seen, "arg", "x"))
  end },
  { "arg %d+ '([^'\n]*)': operands are read only, and the kernel may", function(_, name)
    return ("the kernel writes into its parameter '%s', and that was given an operand"):format(name),
      "operands are read only: args stand in the order of the kernel's parameters, and a result goes where it writes"
  end },
  { "arg %d+ '([^'\n]*)': operands are read only", operand_written },
  { "NOT_FOUND: [^\n]*/source%-%x+%.so: exports no '([^'\n]+)'", function(_, name)
    return ("the source has no handler '%s'"):format(name), ("CCW_HANDLER(%s, ...) makes one of that name"):format(name)
  end },
  { "arg %d+ '([^'\n]*)': written, ", operand_written },
  { "on [^\n]* for kernels and copies only", function()
    return "a loop of the host over memory of a device",
      "the host cannot reach it: launch a kernel, or have the array on the host, x:to \"host\""
  end },
  { "this buffer is on ([%w:]+): its elements", function(_, device)
    return "a loop of the host over memory of a device",
      ("what is on %s is for kernels: launch one, or move the array first, x:to \"host\""):format(device)
  end },
  { "race on [^\n]-: (.-) on stream (%d+) %a+ and (.-) on stream (%d+) %a+ byte", function(_, one, first, other, second)
    return ("a missing synchronisation: %s on stream %s and %s on stream %s use the same memory"):format(one, first, other, second),
      "wait between them: s:sync(), or t:wait(s:record()) for another stream"
  end },
  { "bad argument #1 to '([%w_]+)' %(a method is called with a colon", called_with_a_dot },
  { "bad argument #1 to '([%w_]+)' %(expected buffer, got ", called_with_a_dot },
  { "bad argument #1 to '([%w_]+)' %(expected stream, got ", called_with_a_dot },
  { "bad argument #1 to '([%w_]+)' %(expected promise, got ", called_with_a_dot },
  { "bad argument #1 to '([%w_]+)' %(expected threads, got ", called_with_a_dot },
  { "bad argument #1 to '([%w_]+)' %(expected scratch, got ", called_with_a_dot },
  { "bad argument #1 to 'call_(start)' %(expected call, got ", called_with_a_dot },
  { "bad argument #2 to '(as)' %(", called_with_a_dot },
  { "result %d+[^:\n]*: expected ([^\n]-), got ([^\n]+)", function(_, wanted, got)
    local is_shape = wanted:match "^%w+" == got:match "^%w+"
    return ("a result of the wrong %s: expected %s, got %s"):format(is_shape and "shape" or "type", wanted, got),
      is_shape and same_dims or "the signature says what type a result has"
  end },
  { "result %d+[^:\n]*: ([^:\n]+): dim %d+ '([^'\n]+)' is not determined by the operands", function(_, type, name)
    return ("a result of the wrong shape: %s, and no operand says what %s is"):format(type, name), same_dims
  end },
  { "index (%-?%d+) is outside 1 to (%d+)", function(_, index, last)
    return ("index %s of an array of %s elements"):format(index, last), "the last one is x[#x]"
  end },
  { "a nil value %(field '%?'%)", function(seen)
    local x = name_of(seen, "arg", "x")
    return "an index at which there is nothing", ("the last element is %s[#%s]"):format(x, x)
  end },
  { "its future was not complete after", function()
    return "the call does not become complete", "somebody has to complete the promise: promise:complete(), when all is written"
  end },
  { "everybody has dropped its promise", function()
    return "the promise was forgotten", "somebody has to complete it: promise:complete(), when all is written"
  end },
  { "NO END: ", function() return "it does not come to an end", "what has to be so for its loop to stop?" end },
}

--- What was not written though the call wanted it, where a checked call tells: "result 0 'y': 3 of 3 elements were never written", or,
--- of a scalar, "result 0 'y': was never written".
local function unwritten(text, seen)
  if text:find " past its end" then return nil end -- where it was written instead is the cause
  local name, missing, all = text:match "result %d+ ?'?([^':\n]*)'?: (%d+) of (%d+) elements %l+ never written"
  name = name or text:match "result %d+ ?'?([^':\n]*)'?: was never written"
  if not name then return nil end
  for _, rebound in ipairs(seen.rebound or {}) do
    if rebound.declared == name then
      local y = rebound.called
      return ("'%s' was set to another value, and the result itself was not written"):format(y),
        ("%s = ... only has the name mean something else: write into it, %s[i] = ... or %s:fill(...)"):format(y, y, y)
    end
  end
  local y = name ~= "" and name or "y"
  if not all then return ("the result '%s' was not written"):format(y), ("%s:fill(...) writes a scalar"):format(y) end
  return ("the result '%s' was not written: %s of its %s elements are what the memory held before"):format(y, missing, all),
    ("write every element of it: for i = 1, #%s do %s[i] = ... end"):format(y, y)
end

--- of(text, seen) -> cause, hint; or nil for what is no usual mistake. `text` is the error, `seen` what was observed of the function:
-- names, of its parameters by word ("arg", "ret"), and rebound, the results that it gave another value, a list.
function M.of(text, seen)
  seen = seen or {}
  local cause, hint = unwritten(text, seen)
  if cause then return cause, hint end
  for _, mistake in ipairs(told) do
    local found = table.pack(text:match(mistake[1]))
    if found[1] then return mistake[2](seen, table.unpack(found, 1, found.n)) end
  end
end

return M

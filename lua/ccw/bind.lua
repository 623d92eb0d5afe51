--- Handlers in Lua: a binding, and a function that it is bound to.
local core = require "ccw.core"
local errors = require "ccw.errors"

local M = {}

--- binding: what a handler in Lua binds, in the order in which its function gets it.
-- ccw.bind makes one; each method gives a new one with a word more, and b:to(f) makes a handler of it. tostring gives the
-- signature. Methods: b:arg(pattern, name), b:optional_arg, b:remaining_args(), b:ret(pattern, name), b:optional_ret,
-- b:remaining_rets(), b:attr(kind, name), b:attrs(), b:ctx(what), b:stage(name), b:to(f).
local meta, methods = { __name = "ccw.binding" }, {}

meta.__index = errors.index_of("binding", methods)

--- Kinds of attributes by one word; others are somebody's own, and want a decoder.
local built_in = { string = true, pointer = true }
for dtype in pairs(core.dtypes()) do built_in[dtype] = true end

--- Contexts, and whether they have a type: "never", "maybe", "always".
local contexts = { stream = "never", run_id = "never", device_ordinal = "never", custom_options = "never", scratch = "never",
  threads = "never", state = "maybe", prepared = "maybe", initialized = "maybe", user_data = "always", new_state = "never" }
local context_names = {}
for name in pairs(contexts) do context_names[#context_names + 1] = name end
table.sort(context_names)

local stages = { "instantiate", "prepare", "initialize", "execute", "record" }
local is_stage, has_state = {}, { instantiate = true, prepare = true, initialize = true }
for _, name in ipairs(stages) do is_stage[name] = true end

local misuse_of_to = errors.misuse_of "to"

--- What handlers were made of, for those who want to see more of one, such as the exercises of a lesson: by handler its binding, its
--- function f, and parameters, a list of what that gets, each with name and word.
M.made = setmetatable({}, { __mode = "k" })

--- A binding of words: lists of texts by family, the families in order, and decoders by the name of the attribute.
local function new(binding) return setmetatable(binding, meta) end

--- A name as it stands in the text.
local function quote_name(name) return (name == "" or name:find "^[%a_][%w_]*$") and name or core.quote(name) end

--- The text of a binding of words.
local function text_of(binding)
  local called = quote_name(binding.name)
  local operands, results = table.concat(binding.operands, ", "), table.concat(binding.results, ", ")
  local attributes = table.concat(binding.attributes, ", ")
  return ("%s(%s)%s%s"):format(called, operands, results ~= "" and " -> (" .. results .. ")" or "",
    attributes ~= "" and " {" .. attributes .. "}" or "")
end

function meta:__tostring() return tostring(self.signature) end

--- Raises misuse for a method that was called with a dot.
local function check_self(binding, fail)
  if getmetatable(binding) ~= meta then fail(1, "a method is called with a colon, b:arg(...)") end
end

--- The same binding, to be changed.
local function copy_of(binding, fail)
  check_self(binding, fail)
  local copy = { name = binding.name, texts = binding.texts, decoders_by_kind = binding.decoders_by_kind, decoders = {},
    of_stage = binding.of_stage, signature = binding.signature }
  for _, list in ipairs { "operands", "results", "attributes", "order" } do
    copy[list] = table.move(binding[list], 1, #binding[list], 1, {})
  end
  for known, f in pairs(binding.decoders) do copy.decoders[known] = f end
  return copy
end

--- A new binding with a word more, which is read at once, so that a mistake shows where it is made.
local function with(fail, binding, family, text, name, decoder)
  local copy = copy_of(binding, fail)
  local list = copy[family]
  list[#list + 1] = text
  copy.order[#copy.order + 1] = { family, #list }
  if name then copy.decoders[name] = decoder end
  copy.signature = core.signature(text_of(copy), copy.texts)
  if #copy.signature:parameters() ~= #copy.order then fail(1, "expected one pattern or kind, got %s", core.quote(text)) end
  return new(copy)
end

--- binding:ctx(what) -> binding. A context, what the runtime is asked for.
-- "state", and "prepared" and "initialized": what the handler of that stage has returned, see binding:stage. "state(Counter)": where
-- state lies that is of a type of C's, a light userdata. "user_data(NAME)": where user data lies. "threads": see threads:run.
-- "scratch": see scratch:take. "run_id" and "device_ordinal", integers; "custom_options", a table; "stream", a light userdata. And
-- "new_state": the handler returns its stage's state.
function methods:ctx(what)
  local misuse = errors.misuse_of "ctx"
  check_self(self, misuse)
  errors.check(misuse, 1, what, "string")
  return with(misuse, self, "operands", "@" .. what)
end

--- binding:stage(name) -> binding. The stage whose handler it is: "instantiate", "prepare", "initialize", "execute", "record".
-- A handler of the first three may make state: with @new_state it returns it, any value but nil, and handlers of later stages get
-- that for @state, @prepared or @initialized, until the call, or the executable, ends. It fails as others do, with nil and an error or
-- error(err). Handlers go together in a table by stage, {instantiate = h1, execute = h2}, which ccw.call, ccw.prepare and ccw.register
-- take. In instantiate there are attributes alone on the host; elsewhere operands are types, since they have no content yet.
function methods:stage(name)
  local misuse = errors.misuse_of "stage"
  check_self(self, misuse)
  errors.check(misuse, 1, name, "string")
  if not is_stage[name] then
    local near = core.near(name, stages)
    misuse(1, "no stage is called '%s'%s", name, near[1] and "; near: " .. table.concat(near, ", ") or "")
  end
  local copy = copy_of(self, misuse)
  copy.of_stage = name
  return new(copy)
end

local function operand(family, method, mark)
  return function(self, pattern, name)
    local misuse = errors.misuse_of(method)
    errors.check(misuse, 1, pattern, "string", true)
    errors.check(misuse, 2, name, "string", true)
    pattern = pattern or "any[*]"
    if not pattern:find "%[" then pattern = pattern .. "[*]" end
    local called = name and quote_name(name) or ""
    if mark or name then pattern = ("%s%s: %s"):format(called, mark and "?" or "", pattern) end
    return with(misuse, self, family, pattern)
  end
end

--- binding:arg([pattern [, name]]) -> binding. An argument: any one, or "f32" of any rank, or "f32[n,8]".
methods.arg = operand("operands", "arg")

--- binding:optional_arg([pattern [, name]]) -> binding. One that may be left out: the function gets nil then.
methods.optional_arg = operand("operands", "optional_arg", true)

--- binding:ret([pattern [, name]]) -> binding. A result.
methods.ret = operand("results", "ret")

--- binding:optional_ret([pattern [, name]]) -> binding. A result that may be left out.
methods.optional_ret = operand("results", "optional_ret", true)

--- binding:remaining_args() -> binding. All further arguments: the function gets a list.
function methods:remaining_args() return with(errors.misuse_of "remaining_args", self, "operands", "...") end

--- binding:remaining_rets() -> binding. All further results.
function methods:remaining_rets() return with(errors.misuse_of "remaining_rets", self, "results", "...") end

--- binding:attr(kind, name [, decode]) -> binding. An attribute: "f32", "s64[]", "string", "{lo: s64, hi: s64}", "s32 = add(0)|mul(1)".
-- With decode the function gets what decode(value) gives; nil and a text refuse the call.
function methods:attr(kind, name, decode)
  local misuse = errors.misuse_of "attr"
  check_self(self, misuse)
  errors.check(misuse, 1, kind, "string")
  errors.check(misuse, 2, name, "string")
  errors.check(misuse, 3, decode, "function", true)
  return with(misuse, self, "attributes", ("%s: %s"):format(quote_name(name), kind), name, decode)
end

--- binding:attrs() -> binding. All attributes: the function gets a table.
function methods:attrs() return with(errors.misuse_of "attrs", self, "attributes", "...") end

--- Where the words of a chain that the function gets stand among the parameters of the signature: arguments and contexts, results,
--- attributes.
local function numbers(binding, parameters)
  local before = { operands = 0, results = #binding.operands, attributes = #binding.operands + #binding.results }
  local list = {}
  for _, at in ipairs(binding.order) do
    local number = before[at[1]] + at[2]
    if parameters[number].word ~= "new_state" then list[#list + 1] = number end
  end
  return list
end

--- What a person calls a parameter.
local function called(parameter)
  return parameter.name ~= "" and parameter.name or parameter.word == "ctx" and parameter.text or parameter.word
end

--- What decodes an attribute: nil where it is as the frame has it.
local function decoder_of(binding, parameter)
  if parameter.word ~= "attr" then return nil end
  return binding.decoders[parameter.name] or binding.decoders_by_kind[parameter.text]
end

--- Checks the contexts of a binding, and what stands in parentheses behind them.
local function check_contexts(binding, parameters)
  local makes_state = false
  for _, parameter in ipairs(parameters) do
    local what, of_type = parameter.text:match "^@([%w_]+)(.*)$"
    local typed = what and contexts[what]
    if what and not typed then
      misuse_of_to(1, "a handler in Lua has no context '%s'; there are %s", what, table.concat(context_names, ", "))
    elseif typed == "never" and of_type ~= "" then
      misuse_of_to(1, "'%s' has no type in a handler in Lua, got @%s%s", what, what, of_type)
    elseif typed == "always" and of_type == "" then
      misuse_of_to(1, "'%s' needs the name of a type, @%s(NAME)", what, what)
    end
    if what == "new_state" then
      if makes_state then misuse_of_to(1, "@new_state is there twice") end
      makes_state = true
    end
  end
  if makes_state and not has_state[binding.of_stage] then
    misuse_of_to(1, "the stage %s has no state, but @new_state makes some; b:stage \"instantiate\", prepare and initialize do",
      binding.of_stage)
  end
end

--- binding:to(f) -> handler. Binds a function, which gets the values in the order of the binding.
-- Arguments are buffers to read, results buffers to write, in place: both live as long as the call. Attributes are numbers,
-- booleans, strings; arrays are buffers, dictionaries tables, an enum is the name of its value. f succeeds with nothing, nil or
-- true; it fails with `return nil, err` or error(err), err being an error object, whose code stays, or a text: INTERNAL where it is
-- returned, UNKNOWN, with the way there, where it is raised. A handler whose work goes on returns a promise, see ccw.promise; one that
-- makes state returns the state, see binding:stage. The handler is a true XLA_FFI_Handler:
-- it may be registered, and called from any thread.
function methods:to(f)
  if getmetatable(self) ~= meta then misuse_of_to(1, "a method is called with a colon, b:to(f)") end
  errors.check(misuse_of_to, 1, f, "function")
  local parameters = self.signature:parameters()
  local order, names, ordered = numbers(self, parameters), {}, {}
  check_contexts(self, parameters)
  for i, number in ipairs(order) do
    local parameter = parameters[number]
    names[i], ordered[i] = called(parameter), parameter
    local own = parameter.word == "attr" and parameter.text:match "^[%a_][%w_]*$"
    if own and not built_in[own] and not decoder_of(self, parameter) then
      misuse_of_to(1, "attribute '%s': no kind is called '%s': say what it is, ccw.bind(signature, {%s = ...}); there are " ..
        "pred, s8 to s64, u8 to u64, f32, f64, arrays as s64[], string, {...}, {lo: s64, hi: s64}, s32 = add(0)|mul(1), pointer",
        parameter.name, own, own)
    end
  end
  local info = debug.getinfo(f, "uS")
  if info.what ~= "C" and not info.isvararg and info.nparams ~= #order then
    misuse_of_to(1, "expected a function of %d parameter%s (%s), got one of %d", #order, #order == 1 and "" or "s",
       table.concat(names, ", "), info.nparams)
  end
  local functions = { [0] = f }
  for i, number in ipairs(order) do
    local parameter = parameters[number]
    functions[i] = decoder_of(self, parameter) or false
  end
  local handler = core.handler(self.name ~= "" and self.name or "anonymous", self.signature, order, functions, self.of_stage)
  M.made[handler] = { binding = self, f = f, parameters = ordered }
  return handler
end

--- promise: what a handler in Lua returns when its work is not done yet; see ccw.promise.
-- p:complete() ends the call, p:complete(err) with an error. tostring tells whether it is complete.

--- threads: what a handler in Lua gets for @threads, until its function returns.
-- Field: count, of the threads that the runtime has for tasks, 0 where it has none: then threads:run(f) calls f at once. Methods:
-- threads:run(f), threads:wait().

--- scratch: what a handler in Lua gets for @scratch, until its function returns.
-- Method: scratch:take(type).

--- ccw.bind([signature [, kinds]]) -> binding.
-- Declares a handler: ccw.bind "add(x: f32[n], y: f32[n]) -> (z: f32[n])":to(function(x, y, z) ... end), or word by word,
-- ccw.bind():arg "f32":ret "f32":attr("f32", "s"):to(function(x, y, s) ... end). ?ccw.signature explains the text, ?binding the words.
-- A name alone, "add", begins a chain. `kinds` explains kinds of attributes by name: a text, {mode = "s32 = add(0)|mul(1)"}, or a
-- function that decodes a value, {percent = function(value) ... end}: the handler's function gets what it gives; nil and a text
-- refuse the call.
function M.bind(signature, kinds)
  local misuse = errors.misuse_of "bind"
  errors.check(misuse, 1, signature, "string", true)
  errors.check(misuse, 2, kinds, "table", true)
  local texts, decoders = {}, {}
  for name, kind in next, kinds or {} do
    if type(name) ~= "string" then misuse(2, "expected names of kinds, got the key %s", tostring(name)) end
    if type(kind) == "function" then
      decoders[name] = kind
    elseif type(kind) == "string" then
      texts[name] = kind
    else
      misuse(2, "%s: expected a text or a function, got %s", name, core.kind(kind) or type(kind))
    end
  end
  local binding = { name = "", operands = {}, results = {}, attributes = {}, order = {}, texts = texts, decoders = {},
    decoders_by_kind = decoders, of_stage = "execute" }
  if signature == nil or signature:find "^%s*[%a_][%w_]*%s*$" then
    binding.name = signature and signature:match "[%w_]+" or ""
    binding.signature = core.signature(binding.name .. "()")
    return new(binding)
  end
  binding.signature = core.signature(signature, texts)
  binding.name = binding.signature.name
  for _, parameter in ipairs(binding.signature:parameters()) do
    local word = parameter.word
    local family = (word == "ctx" or word == "new_state" or word:find "arg") and "operands" or word:find "ret" and "results"
      or "attributes"
    local list = binding[family]
    local optional = word:find "optional" and "?" or ""
    list[#list + 1] = parameter.name ~= "" and ("%s%s: %s"):format(quote_name(parameter.name), optional, parameter.text) or
      (optional ~= "" and "?: " or "") .. parameter.text
    binding.order[#binding.order + 1] = { family, #list }
  end
  return new(binding)
end

return M

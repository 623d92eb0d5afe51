--- The source of kernels, as far as it can be read without a compiler: which kernels it holds, and what they take. Whatever the text
--- is, that takes time in proportion to its length: each place is looked at from a bounded part of what is around it.
local core = require "ccw.core"

local M = {}

--- More than people write: braces within each other, bytes of a name with its namespaces, of a parameter, and in front of the parameters
--- of a kernel; and kernels that a message lists.
local MOST_BRACES, MOST_NAME, MOST_PARAMETER, MOST_HEAD, MOST_SHOWN = 256, 1000, 1000, 2000, 20

local function blank(text) return (text:gsub("[^\n]", " ")) end

--- The bytes in front of a place, as far as they are of a class, looking at no more than `most`: a pattern that ends with $ would be
--- tried from every place.
local function before(text, at, class, most)
  return text:sub(math.max(1, at - most), at - 1):reverse():match("^[" .. class .. "]*"):reverse()
end

--- The source with blanks in place of comments, strings and lines for the preprocessor, so that every byte stays where it is.
local function bare(source)
  local parts, at = {}, 1
  local function keep(last)
    parts[#parts + 1] = source:sub(at, last)
    at = last + 1
  end
  local function drop(last)
    parts[#parts + 1] = blank(source:sub(at, last))
    at = last + 1
  end
  while true do
    local here = source:find("[/\"'#]", at)
    if not here then break end
    local what = source:sub(here, here + 1)
    keep(here - 1)
    if what == "//" then
      drop((source:find("\n", here, true) or #source + 1) - 1)
    elseif what == "/*" then
      drop(select(2, source:find("*/", here + 2, true)) or #source)
    elseif what:sub(1, 1) == "#" and before(source, here, "^\n", 200):match "^%s*$" then
      local last = here
      repeat
        last = source:find("\n", last + 1, true) or #source + 1
      until source:sub(last - 1, last - 1) ~= "\\"
      drop(last - 1)
    elseif what:match "^[\"']" then
      local quote = what:sub(1, 1)
      local raw = quote == '"' and source:sub(here - 1, here - 1) == "R" and source:sub(here, here + 17):match "^\"([^()\\%s]*)%("
      local last = here
      if raw then
        last = select(2, source:find(")" .. raw .. '"', here, true)) or #source
      elseif not (quote == "'" and source:find("^%x'%x", here - 1)) then -- 1'000 is a number
        repeat
          last = source:find("[\\\n" .. quote .. "]", last + 1) or #source
          local byte = source:sub(last, last)
          if byte == "\\" then last = last + 1 end
        until byte ~= "\\" or last >= #source
      end
      drop(math.min(last, #source))
    else
      keep(here)
    end
  end
  keep(#source)
  return table.concat(parts)
end

--- The parts of a list, split at the commas that stand outside of brackets.
local function split(list)
  local parts, depth, start = {}, 0, 1
  for at, mark in list:gmatch "()([%(%)<>%[%]{},])" do
    if mark == "," then
      if depth == 0 then
        parts[#parts + 1] = list:sub(start, at - 1)
        start = at + 1
      end
    else
      depth = depth + (mark:find "[%(<%[{]" and 1 or -1)
    end
  end
  parts[#parts + 1] = list:sub(start)
  if #parts == 1 and not parts[1]:find "%S" then parts[1] = nil end
  return parts
end

local function trim(text) return (text:gsub("%s+", " "):gsub("^ ", ""):gsub(" $", "")) end

--- dtypes of the words that a type is made of, in the order of the alphabet.
local dtypes = {
  float = "f32", double = "f64", bool = "pred",
  half = "f16", __half = "f16", _Float16 = "f16", __nv_bfloat16 = "bf16", __hip_bfloat16 = "bf16", hip_bfloat16 = "bf16",
  char = "s8", ["char signed"] = "s8", ["char unsigned"] = "u8",
  short = "s16", ["int short"] = "s16", ["short unsigned"] = "u16", ["int short unsigned"] = "u16",
  int = "s32", signed = "s32", ["int signed"] = "s32", unsigned = "u32", ["int unsigned"] = "u32",
  long = "s64", ["int long"] = "s64", ["long long"] = "s64", ["int long long"] = "s64",
  ["long unsigned"] = "u64", ["int long unsigned"] = "u64", ["long long unsigned"] = "u64", ["int long long unsigned"] = "u64",
  int8_t = "s8", int16_t = "s16", int32_t = "s32", int64_t = "s64", ptrdiff_t = "s64",
  uint8_t = "u8", uint16_t = "u16", uint32_t = "u32", uint64_t = "u64", size_t = "u64",
}

local left_out = { __restrict__ = true, __restrict = true, volatile = true, const = true, __grid_constant__ = true, struct = true }

--- The dtype of a type, known to be that of a number; nil for anything else. `bound` gives what the parameters of a template are.
local function dtype_of(text, bound)
  local words = {}
  for word in text:gsub("std::", ""):gmatch "%S+" do
    if not left_out[word] then words[#words + 1] = word end
  end
  if #words == 1 and bound[words[1]] then return dtype_of(bound[words[1]], {}) end
  table.sort(words)
  return dtypes[table.concat(words, " ")]
end

--- A parameter: name, is_pointer, is_const and, where they can be told, dtype.
local function read_parameter(text, bound)
  if #text > MOST_PARAMETER then return { is_pointer = false, is_const = false } end
  local arrays
  text, arrays = text:gsub("=.*", ""):gsub("%[%[.-%]%]", " "):gsub("%[[^%]]*%]", " ")
  text = trim((text:gsub("[%*&]", " %0 ")))
  local type, name = text:match "^(.*[%s>])([%a_][%w_]*)$"
  if not name or dtypes[name] or left_out[name] or bound[name] then type, name = text, nil end
  local pointee, rest = type:match "^([^%*]*)(.*)$"
  local _, stars = rest:gsub("%*", "")
  stars = stars + arrays
  return {
    name = name, is_pointer = stars > 0, is_const = stars > 0 and (" " .. pointee .. " "):find " const " ~= nil,
    dtype = stars < 2 and dtype_of(pointee, bound) or nil,
  }
end

--- What the template takes that is declared in front of a kernel: a list of names, and an example of arguments. Nil: there is none.
local function find_template(head)
  local list = head:match "%f[%w_]template%s*(%b<>)"
  if not list then return nil end
  local names, examples = {}, {}
  for i, part in ipairs(split(list:sub(2, -2))) do
    local declared = trim((part:gsub("=.*", "")))
    names[i] = declared:match "([%a_][%w_]*)$" or "?"
    local is_type = declared:match "^typename" or declared:match "^class"
    examples[i] = is_type and "float" or declared:match "^bool" and "true" or "1"
  end
  return names, table.concat(examples, ", ")
end

local attributes = { __launch_bounds__ = true, __attribute__ = true, __cluster_dims__ = true, __maxnreg__ = true, alignas = true }

--- Where each parenthesis is closed, by where it opens.
local function parentheses(text)
  local closed, open = {}, {}
  for at, mark in text:gmatch "()([()])" do
    if mark == "(" then
      open[#open + 1] = at
    elseif #open > 0 then
      closed[table.remove(open)] = at
    end
  end
  return closed
end

--- The name, and the list of parameters, of the function that is declared behind a place.
local function read_function(text, at, closed)
  while true do
    local window = text:sub(at, at + MOST_HEAD)
    window = window:sub(1, (window:find("__global__", 1, true) or 0) - 1)
    local first = at - 1 + (window:find "[;{}()]" or 0)
    local last = closed[first]
    if not last then return nil end
    local name = text:sub(at, first - 1):reverse():gsub("^%s*%b><", ""):match "^%s*([%w_]*)":reverse()
    if name == "" or #name > MOST_NAME then return nil end
    if not attributes[name] then return name, text:sub(first + 1, last - 1) end
    at = last + 1
  end
end

--- What opens a brace, by what stands in front of it: the name of a namespace, "" of one without a name and of extern "C", false of others.
local function opener(text, at)
  local head = text:sub(math.max(1, at - 200), at - 1):reverse():match "^%s*(.*)" -- the words are read backwards
  local name = head:match "^([%w_:]+)%s+ecapseman%f[^%w_]"
  if name then return name:reverse() end
  return (head:find "^ecapseman%f[^%w_]" or head:find "^nretxe%f[^%w_]") and "" or false
end

--- Follows the braces of a text up to a place, further with each call; returns the namespaces that are open there, or nil where they are
--- too many, and how many other braces are.
local function follower(text)
  local open, others, braces = {}, 0, text:gmatch "()([{}])"
  local here, mark = braces()
  return function(last)
    while here and here < last do
      if mark == "}" then
        if open[#open] == false then others = others - 1 end
        open[#open] = nil
      else
        open[#open + 1] = opener(text, here)
        if open[#open] == false then others = others + 1 end
      end
      here, mark = braces()
    end
    if #open > MOST_BRACES then return nil, others end
    local names = {}
    for _, name in ipairs(open) do
      if name and name ~= "" then names[#names + 1] = name end
    end
    return names, others
  end
end

--- kernels(source) -> list, hides, includes_files. The kernels that a source declares: name, with its namespaces; template, a list of
--- names, and example, of a template; list, its parameters as they are written. `hides` is whether there may be more, out of macros and
--- files; `includes_files` whether it includes files of its own.
function M.kernels(source)
  local text = bare(source)
  local follow, closed, known, list, last, is_hidden = follower(text), nil, {}, {}, 1, false
  for at, behind in text:gmatch "()%f[%w_]__global__%f[^%w_]()" do
    closed = closed or parentheses(text)
    local name, parameters = read_function(text, behind, closed)
    local namespaces = name and follow(at)
    if namespaces then
      namespaces[#namespaces + 1] = name
      name = table.concat(namespaces, "::")
    end
    if name and (not namespaces or #name > MOST_NAME) then
      is_hidden = true
    elseif name and not known[name] then
      known[name] = true
      local names, example = find_template(before(text, at, "^;{}", math.min(MOST_HEAD, at - last)))
      list[#list + 1] = { name = name, list = parameters, template = names, example = example }
    end
    last = behind
  end
  local _, shown = text:gsub("%f[%w_]__global__%f[^%w_]", "")
  local _, all = source:gsub("%f[%w_]__global__%f[^%w_]", "")
  local includes_files = source:find "#%s*include%s*\"" ~= nil
  return list, is_hidden or shown < all or includes_files, includes_files
end

--- parameters(kernel, arguments) -> list. What a kernel takes; `arguments` are those of its template, as text.
function M.parameters(kernel, arguments)
  local bound, given = {}, split(arguments or "")
  for i, name in ipairs(kernel.template or {}) do bound[name] = given[i] and trim(given[i]) or nil end
  local list = split(kernel.list)
  if #list == 1 and trim(list[1]) == "void" then return {} end
  for i, part in ipairs(list) do list[i] = read_parameter(part, bound) end
  return list
end

--- What a kernel is called in a list: "axpy<T>".
local function shown(kernel) return kernel.name .. (kernel.template and "<" .. table.concat(kernel.template, ", ") .. ">" or "") end

--- no_kernel(label, wanted, list) -> string. That a source has no such kernel, and what it has.
function M.no_kernel(label, wanted, list)
  local names, bare_names = {}, {}
  for i, kernel in ipairs(list) do names[i], bare_names[i] = shown(kernel), kernel.name end
  if #names > MOST_SHOWN then
    local more = ("and %d more"):format(#names - MOST_SHOWN)
    names = table.move(names, 1, MOST_SHOWN, 1, {})
    names[#names + 1] = more
  end
  local plain = wanted:match "^[^<]*"
  for _, name in ipairs(bare_names) do
    if name == plain then
      return ("%s: '%s' cannot be launched as it stands there: a kernel returns nothing, takes numbers, pointers and structs, is the "
        .. "only one of its name, and in no class, unfinished namespace or part that is left out"):format(label, wanted)
    end
  end
  local near = core.near(plain, bare_names)
  return ("%s has no kernel '%s'%s; %s"):format(label, wanted, near[1] and "; near: " .. table.concat(near, ", ") or "",
    names[1] and "it has " .. table.concat(names, ", ") or "it has none: a kernel is declared __global__ void NAME(...)")
end

--- resolve(label, wanted, list, hides) -> expression, kernel; or nil, code, message. What a compiler is to be asked for, and the kernel
--- if it is one that is known.
function M.resolve(label, wanted, list, hides)
  local name, arguments = trim(wanted), nil
  if name:find "<" then
    name, arguments = name:match "^(.-)%s*<(.*)>$"
    if not name then return nil, "INVALID_ARGUMENT", ("%s: '%s': expected a name such as axpy<float>"):format(label, wanted) end
  end
  local kernel, others
  for _, candidate in ipairs(list) do
    if candidate.name == name then
      kernel, others = candidate, nil
      break
    elseif candidate.name:match "[%w_]+$" == name then -- without its namespaces
      others = kernel and (others or { kernel.name }) or nil
      if others then others[#others + 1] = candidate.name end
      kernel = kernel or candidate
    end
  end
  if others then
    return nil, "INVALID_ARGUMENT", ("%s: '%s' may be %s"):format(label, wanted, table.concat(others, " or "))
  elseif not kernel then
    if hides then return trim(wanted) end
    return nil, "NOT_FOUND", M.no_kernel(label, wanted, list)
  elseif kernel.template and not arguments then
    return nil, "INVALID_ARGUMENT", ("%s: '%s' is a template: name one of its instances, such as %s<%s>"):format(label,
      shown(kernel), kernel.name, kernel.example)
  elseif arguments and not kernel.template then
    return nil, "INVALID_ARGUMENT", ("%s: '%s' is no template: it is named without arguments"):format(label, kernel.name)
  end
  return arguments and kernel.name .. "<" .. trim(arguments) .. ">" or kernel.name, kernel, arguments
end

--- for_sim(label, source) -> source; or nil, code, message. Dynamic shared memory as the simulated device has it:
--- "extern __shared__ T name[];" becomes CCW_SHARED(T, name), on the same line.
function M.for_sim(label, source)
  local text = bare(source)
  local follow, parts, at = follower(text), {}, 1
  for here, behind in text:gmatch "()%f[%w_]extern%s+__shared__%f[^%w_]()" do
    local declared, last = text:sub(behind, behind + 300):match "^([^;=]*)();"
    local type, name = (declared or ""):match "^(.*)%f[%w_]([%a_][%w_]*)%s*%[%s*%]%s*$"
    if name and select(2, follow(here)) == 0 then
      local _, lines = source:sub(1, here):gsub("\n", "")
      return nil, "UNIMPLEMENTED", ("%s:%d: extern __shared__ %s[]: sim has dynamic shared memory within a kernel only"):format(label,
        lines + 1, name)
    elseif name then
      type = trim((type:gsub("__align__%s*%b()", ""):gsub("alignas%s*%b()", "")))
      parts[#parts + 1] = source:sub(at, here - 1)
      parts[#parts + 1] = ("CCW_SHARED(%s, %s)"):format(type, name)
      at = behind + last - 1
      parts[#parts + 1] = source:sub(here, at - 1):gsub("[^\n]", "")
    end
  end
  parts[#parts + 1] = source:sub(at)
  return table.concat(parts)
end

return M

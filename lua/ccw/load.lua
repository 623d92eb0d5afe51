--- Libraries of handlers.
local core = require "ccw.core"
local errors = require "ccw.errors"
local terminal = require "ccw.terminal"
local ask = require "ccw.ask"

local M = {}

--- library: handlers in a file, as ccw.load gives them.
-- library.NAME is a handler; print(library) lists them with their signatures. Methods: lib:handler(name [, signature]),
-- lib:type(name [, id [, info]]), lib:names(), lib:path(), lib:registered(), lib:refused(), lib:close().
local meta, methods = core.library_metatable, {}

local function lines(text)
  local list = {}
  for line in text:gmatch "[^\n]+" do list[#list + 1] = line end
  return list
end

--- library:handler(name [, signature]) -> handler.
-- The handler of that name, also where library.NAME means a method. NOT_FOUND, with names that are near. A signature, or its
-- text, declares what the handler binds, "(x: f32[n]) -> (y: f32[n]) {s: f32}": names, and sizes that are equal. It must agree
-- with what the binary says of itself. INVALID_ARGUMENT: all that does not, a line each.
function methods:handler(name, signature)
  errors.check_self("library", "handler", self)
  errors.check_text(errors.misuse_of "handler", 1, name)
  local handler = core.library_handler(self, name)
  if signature == nil then return handler end
  local kind = core.kind(signature) or type(signature)
  if kind ~= "signature" and kind ~= "string" then
    errors.misuse_of "handler"(2, "expected a signature or its text, got %s", kind)
  end
  local declared = kind == "signature" and signature or core.signature(signature)
  local told = ask.signature_in(self, name)
  if told then declared:agree(told, name) end
  core.set_signature(handler, declared)
  return handler
end

--- library:type(name [, id [, info]]) -> name.
-- Registers a type of state or user data of the library, so that handlers may make it and find it, and gives the name under which it
-- is registered. `id` and `info` are the symbols of
-- the variables with the type's id and with its deleter, or of functions that give their addresses, as XLA's guide declares
-- them; left out, they are what C++ calls NAME::id and NAME::info. Types of ccw/handler.h and of Python modules are registered when they
-- are loaded. Where another library has a type of that name the file's name goes in front, "libmine.so: NAME". NOT_FOUND, with the
-- types that there are.
function methods:type(name, id, info)
  errors.check_self("library", "type", self)
  local fail = errors.misuse_of "type"
  errors.check(fail, 1, name, "string")
  errors.check(fail, 2, id, "string", true)
  errors.check(fail, 3, info, "string", true)
  local registered = core.library_register_type(self, name, id, info)
  ask.note_type(self, name, id, info)
  return registered
end

--- library:names() -> list.
-- The names that could be handlers: exported functions, or what a Python module's capsules hold.
function methods:names()
  errors.check_self("library", "names", self)
  local names = lines(core.library_names(self))
  table.sort(names)
  return names
end

--- library:path() -> string.
-- The file that was loaded.
function methods:path()
  errors.check_self("library", "path", self)
  return (core.library_about(self))
end

--- library:registered() -> list.
-- What the library registered by itself while it was loaded: "scale on Host".
function methods:registered()
  errors.check_self("library", "registered", self)
  local _, registered = core.library_about(self)
  return lines(registered)
end

--- library:refused() -> list.
-- What the library tried to register by itself and was refused, with the reason. Most libraries do not look.
function methods:refused()
  errors.check_self("library", "refused", self)
  local _, _, refused = core.library_about(self)
  return lines(refused)
end

--- library:close().
-- Lets go of the library. Its code stays in the process, as it does in XLA.
methods.close = meta.__gc
meta.__close = meta.__gc
meta.methods = methods

function meta.__index(library, name)
  if type(name) ~= "string" then error(("a library is indexed with names, not with a %s"):format(type(name)), 2) end
  return methods[name] or core.library_handler(library, name)
end

function meta.__tostring(library)
  local _, open = core.kind(library)
  if not open then return "closed library" end
  local names, err = errors.try(methods.names, library)
  if err and err.code ~= "NOT_FOUND" then error(err, 0) end
  local entries, text = {}, {}
  for _, name in ipairs(names or {}) do
    local signature, why, code = ask.signature_in(library, name)
    if code ~= "NOT_FOUND" then entries[#entries + 1] = { name = name, signature = signature, why = why } end
  end
  if #entries == 0 then text[1] = ": " .. (names and "no handlers" or "its file is gone") end
  for _, line in ipairs(ask.lines(entries)) do text[#text + 1] = "\n  " .. line:gsub("\n", "\n  ") end
  for _, line in ipairs(lines(core.library_types(library))) do text[#text + 1] = "\n  " .. line end
  for _, line in ipairs(library:registered()) do text[#text + 1] = "\n  registered by itself: " .. line end
  for _, line in ipairs(library:refused()) do text[#text + 1] = "\n  refused: " .. line end
  return library:path() .. table.concat(text)
end

--- handler: the functions of one custom call.
-- Fields: name; library, the path that it came from; version, of the FFI API that it was built for; traits and stages, lists; address, of
-- the function of the stage execute; signature, what it binds, and no_signature, why that is not known. A handler in C carries its
-- signature. One of the official C++ binding is asked, with all others of its library, in a process of its own when the signature is
-- first wanted; `?` is what it does not tell. ccw.call(handler, operands, results, attributes) runs it.

local handler_metatable = core.handler_metatable
local field = handler_metatable.__index

function handler_metatable.__index(handler, name)
  if name == "signature" then return (ask.signature(handler)) end
  if name ~= "no_signature" then return field(handler, name) end
  local signature, why = ask.signature(handler)
  return not signature and why or nil
end

function handler_metatable.__call()
  error("a handler is run by ccw.call(handler, operands, results, attributes)", 2)
end

function handler_metatable.__tostring(handler)
  local _, open = core.kind(handler)
  if not open then return "closed handler" end
  local signature, about = handler.signature, ask.about(handler)
  if not signature then return ("%s (%s)"):format(handler.name, about) end
  return ("%s\n  (%s)"):format(ask.text(handler.name, signature), about)
end

--- signature: what a handler binds, see ccw.signature for its text.
-- Field: name, what stands in front of the operands. Methods: signature:check(), signature:results(), signature:agree(),
-- signature:parameters().

--- ccw.load(path [, {path = folders}]) -> library.
-- Loads a library of handlers. A path is tried as a file first, then as the name of a library: "./libhandlers.so",
-- "libhandlers.so", "handlers". A file that has changed since it was loaded is loaded anew, beside the old code.
-- "python:NAME" and "python:./file.so" load a Python extension module, as handlers are published on PyPI, and take the
-- handlers out of its capsules: NAME is sought in the folders of `path` (one, or a list), in PYTHONPATH, in VIRTUAL_ENV, in
-- Python's own folders, and where ccw's set-up put modules. library.NAME is a handler; print(library) lists their
-- signatures, and what the library registered by itself.
function M.load(path, options)
  local fail = errors.misuse_of "load"
  errors.check(fail, 1, path, "string")
  errors.check_options(fail, 2, options, { path = "any" })
  if path:find "\0" then fail(1, "the path holds a NUL") end
  local module = path:match "^python:(.*)$"
  local library
  if module then
    local _ <close> = terminal.progress("loading " .. path)
    local given = options and options.path or {}
    local folders = type(given) == "table" and table.move(given, 1, #given, 1, {}) or { given }
    for i, folder in ipairs(folders) do
      if type(folder) ~= "string" then fail(2, "path[%d]: expected a folder, got %s", i, type(folder)) end
      if folder:find "\0" then fail(2, "path[%d]: the folder holds a NUL", i) end
    end
    local home = core.home()
    library = core.open_python(module, folders, home and home .. "/python")
  else
    library = core.open(path)
  end
  for _, line in ipairs(library:refused()) do warn("ccw: ", library:path(), " tried to register ", line) end
  return library
end

return M

--- Libraries of handlers.
local core = require "ccw.core"
local errors = require "ccw.errors"

local M = {}
local meta, methods = core.library_metatable, {}

local function lines(text)
  local list = {}
  for line in text:gmatch "[^\n]+" do list[#list + 1] = line end
  return list
end

--- library:handler(name) -> handler.
-- The handler of that name, also where library.NAME means a method. NOT_FOUND, with names that are near.
function methods:handler(name) return core.library_handler(self, name) end

--- library:names() -> list.
-- The names that could be handlers: exported functions, or what a Python module's capsules hold.
function methods:names()
  local names = lines(core.library_names(self))
  table.sort(names)
  return names
end

--- library:path() -> string.
-- The file that was loaded.
function methods:path() return (core.library_about(self)) end

--- library:registered() -> list.
-- What the library registered by itself while it was loaded: "scale on Host".
function methods:registered()
  local _, registered = core.library_about(self)
  return lines(registered)
end

--- library:refused() -> list.
-- What the library tried to register by itself and was refused, with the reason. Most libraries do not look.
function methods:refused()
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
  local what = not names and "its file is gone" or #names == 0 and "no handlers" or table.concat(names, ", ")
  local text = { library:path() .. ": " .. what }
  for _, line in ipairs(library:registered()) do text[#text + 1] = "  registered by itself: " .. line end
  for _, line in ipairs(library:refused()) do text[#text + 1] = "  refused: " .. line end
  return table.concat(text, "\n")
end

--- handler: the functions of one custom call.
-- Fields: name; library, the path that it came from; version, of the FFI API that it was built for; traits and stages, lists; address,
-- of its execute function, by which another runtime may call it as long as the handler is kept.
-- ccw.call(handler, operands, results, attributes) runs it.

local handler_metatable = core.handler_metatable

function handler_metatable.__call()
  error("a handler is run by ccw.call(handler, operands, results, attributes)", 2)
end

function handler_metatable.__tostring(handler)
  local _, open = core.kind(handler)
  if not open then return "closed handler" end
  local parts = { "FFI " .. handler.version }
  if #handler.stages > 1 then parts[#parts + 1] = "stages " .. table.concat(handler.stages, ", ") end
  for _, trait in ipairs(handler.traits) do parts[#parts + 1] = trait end
  if handler.library ~= "" then parts[#parts + 1] = handler.library end
  return ("%s (%s)"):format(handler.name, table.concat(parts, "; "))
end

--- ccw.load(path [, {path = folders}]) -> library.
-- Loads a library of handlers. A path is tried as a file first, then as the name of a library: "./libhandlers.so",
-- "libhandlers.so", "handlers". A file that has changed since it was loaded is loaded anew, beside the old code.
-- "python:NAME" and "python:./file.so" load a Python extension module, as handlers are published on PyPI, and take the
-- handlers out of its capsules: NAME is sought in the folders of `path` (one, or a list), in PYTHONPATH, in VIRTUAL_ENV, in
-- Python's own folders, and where ccw's set-up put modules. library.NAME is a handler; print(library) lists what could be
-- one, and what the library registered by itself.
function M.load(path, options)
  local fail = errors.misuse_of "load"
  errors.check(fail, 1, path, "string")
  errors.check_options(fail, 2, options, { path = "any" })
  if path:find "\0" then fail(1, "the path holds a NUL") end
  local module = path:match "^python:(.*)$"
  local library
  if module then
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

"""Handlers written in Lua, for JAX.

    import jax, lua_handlers
    for name, handler in lua_handlers.load("handlers.lua", "build/lua").items():
        jax.ffi.register_ffi_target(name, handler, platform="cpu")

The file returns a table of handlers by name: return {double = ccw.bind "double(x: f32[n]) -> (y: f32[n])":to(...)}. One with
state is a table of handlers by stage: {counter = {instantiate = make, execute = count}}. The second argument is the folder with
ccw's Lua modules. The Lua state lives as long as the process.

JAX gets to know the type of state that is a value of Lua's before the handlers that make it, and when it has a backend: load() makes the
backend where there is such state, so that what has to come first comes before it.
"""
import ctypes
import os


def _library():
    """liblua with its symbols for all to see, as the modules that are loaded into it expect; perhaps it is there already."""
    name = "liblua5.4.so.0"
    try:
        return ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL | os.RTLD_NOLOAD)
    except OSError:
        return ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)


_CODE = b"""
local path, folder = ...
package.path = folder .. "/?.lua;" .. folder .. "/?/init.lua;" .. package.path
package.cpath = folder .. "/?.so;" .. package.cpath
ccw = require "ccw"
kept = dofile(path)
if type(kept) ~= "table" then error(path .. ": expected a table of handlers by name, got " .. type(kept), 0) end
local core = require "ccw.core"
local lines = { ("%s %d %d"):format(core.lua_state_type()) }
local function add(name, stage, handler)
  if core.kind(handler) ~= "handler" then
    error(("%s: %s: expected a handler%s, got %s"):format(path, tostring(name), stage == "" and " or a table of them by stage" or "",
      tostring(handler)), 0)
  end
  lines[#lines + 1] = ("%s %s %d"):format(name, stage, handler.address)
end
for name, handler in pairs(kept) do
  if type(handler) == "table" and not getmetatable(handler) then
    for stage, h in pairs(handler) do add(name, stage, h) end
  else
    add(name, "", handler)
  end
end
core.give_up() -- from here on whoever calls a handler may have the state
return table.concat(lines, "\\n")
"""


def load(path, folder):
    """The handlers of a Lua file by name: capsules and, for those of several stages, capsules by stage. RuntimeError: what Lua says."""
    lua = _library()
    lua.luaL_newstate.restype = lua.luaL_tolstring.restype = ctypes.c_void_p
    lua.luaL_tolstring.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]
    lua.lua_pushstring.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    lua.luaL_loadstring.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    lua.luaL_openlibs.argtypes = [ctypes.c_void_p]
    lua.lua_pcallk.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_ssize_t, ctypes.c_void_p]
    state = lua.luaL_newstate()
    lua.luaL_openlibs(state)
    failed = lua.luaL_loadstring(state, _CODE)
    if not failed:
        lua.lua_pushstring(state, os.fsencode(path))
        lua.lua_pushstring(state, os.fsencode(folder))
        failed = lua.lua_pcallk(state, 2, 1, 0, 0, None)
    text = ctypes.string_at(lua.luaL_tolstring(state, -1, None)).decode(errors="replace")
    if failed:
        raise RuntimeError(text)
    new_capsule = ctypes.pythonapi.PyCapsule_New
    new_capsule.restype = ctypes.py_object
    new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

    def capsule(address):
        return new_capsule(int(address), None, None)
    (type_name, type_id, type_info), *lines = (line.rsplit(" ", 2) for line in text.splitlines())
    handlers = {}
    for name, stage, address in lines:
        if stage:
            handlers.setdefault(name, {})[stage] = capsule(address)
        else:
            handlers[name] = capsule(address)
    if any(isinstance(handler, dict) for handler in handlers.values()):
        import jax
        jax.devices()
        jax.ffi.register_ffi_type(type_name, {"type_id": capsule(type_id), "type_info": capsule(type_info)}, platform="cpu")
    return handlers

"""Handlers written in Lua, for JAX.

    import jax, lua_handlers
    for name, capsule in lua_handlers.load("handlers.lua", "build/lua").items():
        jax.ffi.register_ffi_target(name, capsule, platform="cpu")

The file returns a table of handlers by name: return {double = ccw.bind "double(x: f32[n]) -> (y: f32[n])":to(...)}. The
second argument is the folder with ccw's Lua modules. The state lives as long as the process.
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
local lines = {}
for name, handler in pairs(kept) do
  local kind = require "ccw.core".kind(handler)
  if kind ~= "handler" then
    error(("%s: %s: expected a handler, got %s"):format(path, tostring(name), tostring(handler)), 0)
  end
  lines[#lines + 1] = name .. " " .. handler.address
end
require "ccw.core".give_up() -- from here on whoever calls a handler may have the state
return table.concat(lines, "\\n")
"""


def load(path, folder):
    """The handlers of a Lua file as capsules by name. RuntimeError: what Lua says."""
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
    lines = [line.rsplit(" ", 1) for line in text.splitlines()]
    return {name: new_capsule(int(address), None, None) for name, address in lines}

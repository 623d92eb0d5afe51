-- helper.lua: makes sure that specs run under Lua 5.4, and finds what they require.
assert(_VERSION == "Lua 5.4", "the specs need Lua 5.4, this is " .. _VERSION)
package.path = (os.getenv "CCW_ROOT" or ".") .. "/?.lua;" .. package.path

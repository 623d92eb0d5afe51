-- helper.lua: makes sure that specs run under Lua 5.4, and finds what they require.
assert(_VERSION == "Lua 5.4", "the specs need Lua 5.4, this is " .. _VERSION)
package.path = (os.getenv "CCW_ROOT" or ".") .. "/?.lua;" .. package.path

-- busted forgets the modules that a file of specs has loaded, but not what those of ccw remember: these are loaded for all, where
-- they were built.
pcall(require, "ccw")
pcall(require, "ccw.text.module")

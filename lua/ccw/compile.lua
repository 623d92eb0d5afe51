--- Compiling: sources that become libraries, and what is told of them.
local core = require "ccw.core"
local errors = require "ccw.errors"
local terminal = require "ccw.terminal"
local array = require "ccw.array"
local load = require "ccw.load"

local M = {}
local misuse_of_compile = errors.misuse_of "compile"

--- What compiling has brought, by library.
local outcomes = setmetatable({}, { __mode = "k" })

--- Checks what compiling takes from options: a list of flags, the name of a source, and seconds.
function M.check(fail, position, flags, name, time_limit)
  local length, why = array.list_length(flags or {})
  if not length then fail(position, "flags: %s", why) end
  for i = 1, length do
    local flag = flags[i]
    if type(flag) ~= "string" then fail(position, "flags[%d]: expected a string, got %s", i, core.kind(flag) or type(flag)) end
    if flag:find "\0" then fail(position, "flags[%d]: it holds a NUL", i) end
  end
  if name and name:find "\0" then fail(position, "name: it holds a NUL") end
  if time_limit and not (time_limit > 0 and time_limit < math.huge) then
    fail(position, "time_limit: expected seconds above 0, got %s", tostring(time_limit))
  end
end

--- compile(request) -> outcome. Compiles, or raises an error object with the compiler's log. An outcome has path, log, was_kept and
--- symbols, a list.
function M.run(request)
  local _ <close> = terminal.progress("compiling " .. (request.name or "a source"))
  local path, log, third, fourth = core.compile(request)
  if not path then
    error(setmetatable({ code = third, message = fourth, log = log ~= "" and log or nil }, core.error_metatable), 0)
  end
  local symbols = {}
  for symbol in fourth:gmatch "[^\n]+" do symbols[#symbols + 1] = symbol end
  return { path = path, log = log, was_kept = third, symbols = symbols }
end

local option_types = { language = "string", flags = "table", name = "string", time_limit = "number" }

--- ccw.compile(source [, options]) -> library.
-- Compiles handlers written in C, which include <ccw/handler.h>, and loads them. The same source again gives the same library, without
-- compiling; another one is another library. What does not compile is INVALID_ARGUMENT, with the errors and the lines of the source; its
-- field `log` has all that the compiler said.
-- The compiler is $CC or $CXX, or the system's; Ctrl-C ends it. What was compiled is kept in $CCW_CACHE, $XDG_CACHE_HOME/ccw or
-- ~/.cache/ccw, up to 512 MiB or $CCW_CACHE_SIZE, a number of MiB. Warnings go to Lua's warn. Options:
-- - language: "c", which it is unless this says "c++".
-- - name: what messages call the source, "scale.c".
-- - flags: a list of more flags for the compiler, {"-O3", "-lm"}.
-- - time_limit: seconds that compiling may take, 60 unless this says otherwise.
function M.compile(source, options)
  local fail = misuse_of_compile
  errors.check(fail, 1, source, "string")
  errors.check_options(fail, 2, options, option_types)
  options = options or {}
  local language = options.language or "c"
  if language ~= "c" and language ~= "c++" then fail(2, "language: expected \"c\" or \"c++\", got \"%s\"", language) end
  M.check(fail, 2, options.flags, options.name, options.time_limit)
  local outcome = M.run {
    text = source, language = language, name = options.name, flags = options.flags, time_limit = options.time_limit,
  }
  if not outcome.was_kept and outcome.log ~= "" then warn("ccw: ", outcome.log) end
  local library = load.load(outcome.path)
  outcomes[library] = outcome
  return library
end

--- library:compiled() -> table, or nil.
-- Of a library that ccw.compile made: path; log, what the compiler said; was_kept, whether it had been compiled before.
function core.library_metatable.methods:compiled()
  local outcome = outcomes[self]
  return outcome and { path = outcome.path, log = outcome.log, was_kept = outcome.was_kept } or nil
end

return M

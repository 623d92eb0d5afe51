--- The command line of the program.
local core = require "ccw.core"
local errors = require "ccw.errors"

--- Runs a chunk with `arg` set as Lua's own interpreter does. Returns an exit code.
local function run_chunk(chunk, message, arguments, program)
  if not chunk then
    io.stderr:write("ccw: ", message, "\n")
    return 1
  end
  _G.arg = arguments
  local function describe(err)
    local frames = errors.user_frames(run_chunk)
    return table.concat({ "ccw: " .. tostring(err), table.unpack(frames) }, "\n")
  end
  local ok, text = pcall(program.interruptible, describe, chunk, table.unpack(arguments))
  if ok then return 0 end
  io.stderr:write(text, "\n")
  return 1
end

local function version()
  local home = core.home() or "?"
  local exceptions = core.catches_exceptions and "caught" or "end the process"
  local editor = pcall(require, "ccw.editor") and "libedit" or "none"
  return table.concat({
    ("ccw %s, XLA FFI API %s, %s"):format(core.version, core.api_version, _VERSION),
    "library under " .. home,
    ("C++ exceptions of handlers: %s; line editing: %s"):format(exceptions, editor),
  }, "\n")
end

local function parser()
  local argparse = require "argparse"
  local p = argparse("ccw", "The custom-call workbench: loads handlers of XLA custom calls and runs them.")
  p:usage [=[
Usage: ccw [-h] [--version] [--no-init] [-e CODE] [FILE [ARGUMENTS]]
       ccw inspect LIBRARY [HANDLER ...]
       ccw run CALL --lib LIBRARY ...
       ccw test [SPEC ...]
       ccw lesson [LESSON]]=]
  p:option("-e", "Run a piece of Lua, in which `ccw` is there already; may be given again."):argname "CODE":count "*"
  p:flag("--no-init", "Do without the start-up file of the prompt, $XDG_CONFIG_HOME/ccw/init.lua or ~/.config/ccw/init.lua.")
  p:flag("--version", "Print the version and how this program was built.")
  return require "ccw.usage" (p, [[
FILE is a Lua file to run, - for standard input, and ARGUMENTS are what it finds in `arg`. Without one there
is a prompt, at which ?name explains a name.

ccw inspect LIBRARY lists the signatures of the handlers in a library. Those that carry theirs as data are
read from the file, of which nothing runs; others are asked in a child process, with API version and traits
where they are named.

ccw run runs a custom call that is written as StableHLO or HLO, ccw test specs with busted, and ccw lesson
teaches custom calls; each tells more with --help.]])
end

--- The verbs, each a module with a function command(arguments, program) -> exit code.
local verbs = { inspect = "ccw.inspect", run = "ccw.text.run", test = "ccw.test.command", lesson = "ccw.lesson" }

local function known_verbs()
  local names = {}
  for name in next, verbs do names[#names + 1] = name end
  return names
end

--- Whether a file is a lesson, which is more than its code.
local function is_lesson(path)
  local file <close> = io.open(path, "rb")
  local line = file and file:read "l"
  return line and line:find "^%-%-%-" and require "ccw.lesson.file".is_lesson(line)
end

--- Takes apart what is ours and what begins with the file to run: what follows a file is the file's.
local function split(arguments)
  local i = 1
  while arguments[i] and arguments[i]:find "^%-." and arguments[i] ~= "--" do i = i + (arguments[i] == "-e" and 2 or 1) end
  local own = table.move(arguments, 1, i - 1, 1, {})
  return own, table.move(arguments, arguments[i] == "--" and i + 1 or i, #arguments, 1, {})
end

local function prompt(program, options)
  local repl = require "ccw.repl"
  local terminal, session = program.is_terminal(0), repl.session()
  if terminal then print("ccw " .. core.version .. ", ?name for help, Ctrl-D to leave") end
  if not options.no_init then repl.start(program, session) end
  local good = repl.loop(program, session)
  return (good or terminal) and 0 or 1
end

--- main(arguments) -> exit code. arguments[0] is the program.
return function(arguments)
  local program = require "ccw.program"
  warn "@on"
  local verb = verbs[arguments[1]]
  if verb then return require(verb).command(table.move(arguments, 2, #arguments, 1, {}), program) end

  local own, rest = split(arguments)
  local options = #own > 0 and parser():parse(own) or { e = {} } -- a prompt needs no parser to start
  if options.version then
    print(version())
    return 0
  end
  _G.ccw = require "ccw"
  for _, text in ipairs(options.e) do
    local chunk, message = load(text, "=(command line)")
    local code = run_chunk(chunk, message, { [0] = "-e" }, program)
    if code ~= 0 then return code end
  end
  local file = table.remove(rest, 1)
  if not file then return #options.e == 0 and prompt(program, options) or 0 end
  if is_lesson(file) then return require "ccw.lesson".script(file) end
  rest[0], rest[-1] = file, arguments[0]
  local chunk, message = loadfile(file ~= "-" and file or nil)
  local near = not chunk and file:find "^%l+$" and core.near(file, known_verbs()) or {}
  if near[1] then message = ("%s; near: ccw %s"):format(message, near[1]) end
  return run_chunk(chunk, message, rest, program)
end

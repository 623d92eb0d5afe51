-- tour.lua BUILD [--stay]: the first calls, as a person types them at the prompt, with what they give; then the prompt
-- itself, where what the tour made is there still.
local build, stay = arg[1], arg[2] == "--stay"
local ccw = require "ccw"
local repl = require "ccw.repl"
local session = repl.session()

print [[
-- The tour. This is what you would type at the prompt, and what it answers.

-- A library of handlers that were written in C, with their signatures. Any .so that was built for JAX loads in the same way.]]
local good = repl.play(session, {
  ('local lib = ccw.load "%s/lib/libccw_kernels.so"'):format(build),
  "lib",
  "local x = ccw.array(\"f32[4]\", {1, 2, 3, 4})",
  "ccw.call(lib.scale, {x}, \"f32[4]\", {s = 2})",
  "-- the example of XLA's custom-call guide: A[i] = B[i % 128] + C[i]",
  "ccw.register(\"add_mod\", lib.add_mod, \"Host\")",
  "local b, c = ccw.iota \"f32[128]\", ccw.array(\"f32[2048]\", 1)",
  "ccw.call(\"add_mod\", {b, c}, \"f32[2048]\")",
  "-- a call says what is wrong, and the session goes on",
  "ccw.try(ccw.call, lib.scale, {x}, \"f32[4]\", {s = \"2\"})",
  "-- a handler in Lua",
  "local twice = ccw.bind \"twice(x: f32[n]) -> (y: f32[n])\":to(function(x, y) for i = 1, #x do y[i] = 2 * x[i] end end)",
  "ccw.call(twice, {x})",
})

print [[

-- Handlers as they are published on PyPI: klujax, a sparse solver. No JAX is running, and none is needed.]]
local klujax, why = ccw.try(ccw.load, "python:klujax_cpp")
if klujax then
  good = repl.play(session, {
    "local klu = ccw.load \"python:klujax_cpp\"",
    "local Ai, Aj = ccw.s32{0, 1, 1}, ccw.s32{0, 0, 1}      -- a sparse 2x2 matrix: row, column",
    "local Ax = ccw.f64{{2, 1, 3}}                          -- and value of its three entries",
    "local b = ccw.f64{{{4}, {8}}}",
    "ccw.call(klu.solve_f64, {Ai, Aj, Ax, b}, \"f64[1,2,1]\")",
    "ccw.call(klu.dot_f64, {Ai, Aj, Ax, b}, \"f64[1,2,1]\")",
    "-- the handler checks its operands: 2 is Ax",
    "local y, err = ccw.try(ccw.call, klu.solve_f64, {Ai, Aj, Ax:as \"f32\", b}, \"f64[1,2,1]\")",
    "err",
    "err.code, err.operands",
  }) and good
else
  print("-- It is not here, so that this part is left out: " .. tostring(why))
end

print "\n-- ?name explains a name: ?ccw.array, ?buffer. Ctrl-D leaves. Next: build/bin/ccw lesson 1 teaches custom calls."
if stay and good then
  local program = require "ccw.program"
  repl.start(program, session)
  repl.loop(program, session)
end
os.exit(good and 0 or 1, true)

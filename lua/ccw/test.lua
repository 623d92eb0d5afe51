--- Tests of handlers, for busted: require "ccw.test".
local assertions = require "ccw.test.assertions"
local check = require "ccw.test.check"
local misuse = require "ccw.test.misuse"

local M = {}

--- ccw.test -> table. require "ccw.test", in a spec that `ccw test` or busted runs.
-- check and refuses_misuse declare tests, see ?ccw.test.check and ?ccw.test.refuses_misuse. close, same, same_bits, rejects and no_leaks
-- assert, see ?ccw.test.close and so on; luassert has them, too: assert.close(...).

--- ccw.test.check(handler, signature, options).
-- A test for each case of the product of what the signature names, on each device: names of dims stand for sizes, capital letters for
-- dtypes, attributes for their values, and each is given as one value or as a list. {T = {"f32", "bf16"}, n = {0, 1, 33}, eps = 1e-5}.
-- A case draws its operands at random, from the seed and its name alone. Its handler has to succeed, to leave operands as they are, to
-- write each element of its results, and to give what the oracle gives. It runs in a child process: a crash, an exit, or a hang is a
-- failure of the case. The message of a failure names the first element that is wrong, the smallest sizes that fail in the same way,
-- a simple rule for those that fail where there is one, and the command that runs it again. The handler is a handler; or a table,
-- {host = h, sim = h, cuda = h, rocm = h}; or a registered name. Options:
-- - oracle: function(x, w, ..., c), operands with floats as f64 (complex as c128, integers as they are), and c with sizes, dtypes and
-- attributes by name, as the handler gets them. It writes the results, c.y by their name or c.results[1], floats of f64 again, or
-- returns what ccw.array makes them of: buffers, tables, functions of the indices. Or a handler that gets the same operands, on the
-- host. Or the path of an .npz with the results by name, and operands, which tell sizes and dtypes, too. None: only the rest is tested.
-- - close: tolerances for floats as ccw.compare has them, {rtol = 1e-5}; by dtype too, {bf16 = {rtol = 0.02}}. Without it they are
-- ccw.compare's: rtol and atol 1e-12 for f64, 1e-5 for f32, 1e-3 for f16, 1e-2 for bf16, a unit of the last place for f8 and f4.
-- Integers are compared exactly, a NaN is a NaN.
-- - on: "all", every device for which there is a handler, which it is without; "host"; a list, {"host", "sim:0"}. A handler alone is one
-- for the host unless a device is named.
-- - inputs: operands by name, or by position from 0: {low = 0, high = 1}; a value as ccw.array takes it; f(type, seed, c).
-- - time_limit: seconds for a case; 30, or what `ccw test --time-limit` says. Not on a GPU, where there is no child process.
-- - checked: true runs every case as a checked call. A case that fails is explained by one anyhow.
-- - shrink: false leaves out the search for the smallest case and the rule.
-- - name: what the tests are called.
-- Dims need names or sizes and dtypes certain ones: f32[n], not f32[*], nor `...`. Optional operands are there where
-- their name is true.
M.check = check.check

--- ccw.test.refuses_misuse(handler, call [, options]).
-- Tests, made of a call that is right, "(f32[1,32], f32[32]) -> (f32[1,32]) {block = 32, eps = 1e-05}": it is taken; and with one thing
-- wrong it is refused with an error, by the handler itself: each operand and result of some other dtypes and ranks, left out, or one
-- too many; each attribute left out, of another name, of other types; one attribute more. Nothing is made of a family, operands,
-- results or attributes, that is empty: handlers that bind nothing of it do not look at it, as XLA has it. Options:
-- - except: names of variants that are right too, as messages of failures have them, {"arg 0 as f64[1,32]"}.
-- - on, name: as in ccw.test.check.
M.refuses_misuse = misuse.refuses_misuse

--- ccw.test.same(expected, passed [, message]), or assert.same.
-- Buffers, scalars and attributes are the same where dtypes, shapes and elements are, and so are tables that hold them: s32 is not
-- f32, a u64 never -1. Elements are compared as numbers: 0.0 is -0.0, a NaN differs from everything; attributes by type and text.
-- All other values are left to luassert, for which {1} and {1.0} are the same. same_bits is stricter.
M.same = assertions.same

--- ccw.test.same_bits(expected, passed [, message]), or assert.same_bits.
-- The same down to the bits: -0.0 is not 0.0, a NaN is the same NaN, and of Lua's numbers 1 is not 1.0.
M.same_bits = assertions.same_bits

--- ccw.test.close(expected, passed [, options [, message]]), or assert.close.
-- Whether a buffer or a number is close to another, or to a table or a number of which ccw.array makes one, with the tolerances of
-- ccw.compare. The message names the first element that is not.
M.close = assertions.close

--- ccw.test.rejects(code, f, ...) -> error, or assert.rejects.
-- f(...) has to raise an error object with that code, "INVALID_ARGUMENT", which is given back: its fields are there to be looked at.
M.rejects = assertions.rejects

--- ccw.test.no_leaks(f, ...), or assert.no_leaks.
-- Whether f(...) leaves nothing behind, once it has been called before: memory of core's, allocations of devices.
M.no_leaks = assertions.no_leaks

return M

--- Tests of handlers, for busted: require "ccw.test".
local assertions = require "ccw.test.assertions"
local check = require "ccw.test.check"
local misuse = require "ccw.test.misuse"

return {
  check = check.check,
  refuses_misuse = misuse.refuses_misuse,
  same = assertions.same,
  same_bits = assertions.same_bits,
  close = assertions.close,
  rejects = assertions.rejects,
  no_leaks = assertions.no_leaks,
}

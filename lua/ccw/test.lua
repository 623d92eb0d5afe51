--- Tests of handlers, for busted.
local check = require "ccw.test.check"

return { check = check.check }

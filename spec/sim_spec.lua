-- The simulated GPU: memory, work, launches, races, captures, in the words of its messages.
local support = require "spec.support"

describe("the simulated device", function()
  it("keeps what it promises", function()
    local build = support.build
    local output, good = support.sh(("'%s/spec/sim' '%s/spec/libsim_kernels.so' '%s/spec/libplain.so'"):format(build, build, build))
    assert.equal("0 broken\n", output)
    assert.is_true(good)
  end)
end)

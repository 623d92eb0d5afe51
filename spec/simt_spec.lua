-- Kernels on the simulated device: what threads of a block do together, and what becomes of those that do wrong.
local support = require "spec.support"

describe("kernels on the simulated device", function()
  it("run, wait for each other, and end where they do wrong", function()
    local output, good = support.sh(("'%s/spec/simt'"):format(support.build))
    assert.equal("0 broken\n", output)
    assert.is_true(good)
  end)
end)

-- Checked calls: what a handler does outside its buffers, in the words of the report.
local support = require "spec.support"

describe("checked calls", function()
  it("tell what the handler did wrong, and survive it", function()
    local output, good = support.sh(("'%s/spec/guard'"):format(support.build))
    assert.equal("0 broken\n", output)
    assert.is_true(good)
  end)
end)

-- C78: the runtime under load, in programs of C, so that the build for ThreadSanitizer can run them as well.
local support = require "spec.support"

--- Runs a program of spec/programs/. A child that is forked for a checked call may start threads.
local function run(program, arguments)
  return support.sh(("TSAN_OPTIONS=die_after_fork=0 '%s/spec/%s' %s"):format(support.build, program, arguments or ""))
end

describe("C78 the runtime under load #threads", function()
  it("keeps its promises to eight threads at once, and leaves nothing behind", function()
    local output, good = run("load", "1")
    assert.equal("0 broken\n", (output:gsub("[^\n]* calls [^\n]*\n", "")))
    assert.is_true(good)
  end)

  it("says so wherever its memory runs out, leaves nothing behind, and goes on afterwards", function()
    local output, good = run "exhaust"
    assert.equal("0 broken\n", (output:gsub("[^\n]* points of failure\n", "")))
    assert.is_true(select(2, output:gsub("points of failure", "")) > 30)
    assert.is_true(good)
  end)
end)

-- The tour of scripts/start: the main job on real input.
local support = require "spec.support"

describe("the tour", function()
  local output, good

  setup(function()
    output, good = support.sh(("cd '%s' && '%s' scripts/tour.lua '%s'"):format(support.root, support.program, support.build))
  end)

  --- What the prompt answered to a line: the text up to the next prompt or remark.
  local function answer(source)
    local _, stop = output:find("ccw> " .. source .. "\n", 1, true)
    assert.is_truthy(stop, "the tour has no " .. source)
    local rest = output:sub(stop + 1)
    local prompt, gap = rest:find "\nccw> ", rest:find "\n\n"
    return rest:sub(1, math.min(prompt or gap, gap or prompt) - 1)
  end

  it("goes well", function() assert.is_true(good, output) end)

  it("calls the handlers of kernels/", function()
    assert.equal("f32[4] {2, 4, 6, 8}", answer 'ccw.call(lib.scale, {x}, "f32[4]", {s = 2})')
    assert.equal("f32[2048] {1, 2, 3, ..., 126, 127, 128}\nmin 1, max 128, mean 64.5, 0 nan",
      answer 'ccw.call("add_mod", {b, c}, "f32[2048]")')
    assert.equal("nil\tINVALID_ARGUMENT: scale: attribute 's': expected f32, got string",
      answer 'ccw.try(ccw.call, lib.scale, {x}, "f32[4]", {s = "2"})')
    assert.equal("f32[4] {2, 4, 6, 8}", answer "ccw.call(twice, {x})")
  end)

  it("solves with klujax, which was built for JAX", function()
    if output:find("It is not here", 1, true) then return pending "klujax could not be had" end
    assert.equal("f64[1,2,1] {{{2}, {2}}}", answer 'ccw.call(klu.solve_f64, {Ai, Aj, Ax, b}, "f64[1,2,1]")')
    assert.equal("f64[1,2,1] {{{8}, {28}}}", answer 'ccw.call(klu.dot_f64, {Ai, Aj, Ax, b}, "f64[1,2,1]")')
    assert.equal('"INVALID_ARGUMENT"\t{2}', answer "err.code, err.operands")
    assert.matches("solve_f64: arg 2: expected f64[*], got f32[1,3]", answer "err", 1, true)
  end)
end)

--- Patterns: what is the shape of this thing?                                           8 minutes
-- Guide: Buffer patterns, Match and Verify

-- A handler often knows more than "some buffer". A pattern says it, and gives names to what it finds.
local m = ccw.match
local x = ccw.random("f32[4,128]", 1)
print(m.verify("x", x, "f32[rows,128]").rows)   --> 4

-- The same name twice means the same size. Is this one square?
print(ccw.try(m.verify, "x", x, "f32[n,n]"))
--> nil   INVALID_ARGUMENT: x: expected f32[n,n], got f32[4,128]

-- What was captured can be handed on, and means the same sizes there. Captures are written only when the whole pattern fits.
local dims = m.verify("x", x, "f32[rows,columns]")
print(ccw.try(m.verify, "bias", ccw.array("f32[64]", 0), "f32[columns]", dims))
--> nil   INVALID_ARGUMENT: bias: expected f32[columns] with columns = 128, got f32[64]; columns is dim 1 of x

-- The guide's own words are here as well, each a new pattern: a later one replaces what an earlier one said of the same
-- thing. Dims are counted from 0 in with_dim, as in XLA.
local index = m.buffer():with_dtype("s32", "s64"):with_rank(1, 2)
print(select(2, ccw.try(m.verify, "index", ccw.f32{1}, index)).code)  --> INVALID_ARGUMENT
print(m.buffer("f32"):with_dim(1, 3):with_rank(2))   --> f32[?,3]

-- verify checks. match gives the buffer, too, and so must know one dtype and one rank: in C++ that is the type that it
-- gives. with_shape_of(x) and like(x) take the shape of another buffer, as it is now.
print(m.match("x", x, "f32[?,?]").type)   --> f32[4,128]

-- Try a pattern that takes any f32 matrix whose second size is twice the first. It cannot be done with names alone. What
-- would you check by hand?

-- Your turn. Set `pattern` to a text that takes square matrices of f32 or f64, and nothing else.
lesson.ask{"pattern",
  try = function(pattern)
    for _, type in ipairs{"f32[3,3]", "f64[5,5]", "f64[0,0]"} do m.verify("x", ccw.array(type), pattern) end
    local refused = {}
    for _, type in ipairs{"f32[3,4]", "s32[3,3]", "f32[3]", "f64[2,2,2]"} do
      refused[type] = select(2, ccw.try(m.verify, "x", ccw.array(type), pattern)) or false
    end
    return refused
  end,
  hints = {"alternatives of a dtype: s32|s64[?]", "the same name twice means the same size"},
  answer = [[pattern = "f32|f64[n,n]"]],
}

-- And `product`, a function that looks at the operands of a matrix product: product(a, b) verifies that a is f32[r,k] and
-- b is f32[k,c], the same k, and returns r and c. What does not fit is to raise, as verify does.
lesson.ask{"product",
  try = function(product)
    local function of(a, b) return ccw.array(a), ccw.array(b) end
    local r, c = product(of("f32[2,3]", "f32[3,7]"))
    local _, other_size = ccw.try(product, of("f32[2,3]", "f32[4,7]"))
    local _, other_rank = ccw.try(product, of("f32[2,3]", "f32[3]"))
    return r, c, other_size, other_rank
  end,
  hints = {
    "verify gives captures; handed to the next verify, as its fourth argument, they mean the same sizes",
    "local dims = m.verify(\"a\", a, \"f32[r,k]\") has dims.r",
  },
  answer = [[
function product(a, b)
  local dims = m.verify("a", a, "f32[r,k]")
  m.verify("b", b, "f32[k,c]", dims)
  return dims.r, dims.c
end]],
}

-- CC-26: custom calls as text, read and written.
local ccw = require "ccw"
local support = require "spec.support"
local calls = require "spec.text_calls"
local description = require "ccw.text.description"

--- An operation of StableHLO with that dictionary as its configuration.
local function with_config(config)
  local text = "%%0 = stablehlo.custom_call @f(%%x) {api_version = 4 : i32, backend_config = %s} : (tensor<2xf32>) -> tensor<2xf32>"
  return text:format(config)
end

--- The error of reading a text.
local function refusal(text)
  local _, err = ccw.try(ccw.from_text, text)
  return assert(err, "it was read")
end

local pretty = [[
%r:2 = stablehlo.custom_call @wb_scale(%x, %n) {api_version = 4 : i32, has_side_effect = true,
  backend_config = {alpha = 1.500000e+00 : f32, k = 7 : i64, on = true, tag = "a\22b\00", w = array<i32: 1, 2>, opt = {x = 1 : i8}},
  operand_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<> : tensor<0xindex>],
  result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<> : tensor<0xindex>],
  output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>]}
  : (tensor<2x3xf32>, tensor<i32>) -> (tensor<2x3xf32>, tensor<i32>)]]

local instruction = [[
%r = (f32[2,3]{1,0}, s32[]) custom-call(f32[2,3]{1,0} %x, s32[] %n), custom_call_target="wb_scale", custom_call_has_side_effect=true,
  output_to_operand_aliasing={{0}: (0, {})}, api_version=API_VERSION_TYPED_FFI, backend_config={alpha = 1.500000e+00 : f32, tag = "a}b"}]]

describe("CC-26 a custom call of StableHLO", function()
  it("is read: target, types, attributes, aliases, layouts, side effect", function()
    local d = ccw.from_text(pretty)
    assert.equal("wb_scale", d.target)
    assert.same({ "f32[2,3]", "s32[]" }, d.operands)
    assert.equal("(f32[2,3], s32[])", d.results)
    assert.equal("{alpha = f32(1.5), k = 7, on = true, opt = {x = s8(1)}, tag = \"a\\\"b\\x00\", w = s32{1, 2}}",
      tostring(ccw.attrs(d.attributes)))
    assert.same({ [0] = 0 }, d.aliases)
    assert.same({ { 1, 0 }, {} }, d.operand_layouts)
    assert.same({ { 1, 0 }, {} }, d.result_layouts)
    assert.is_true(d.has_side_effect)
    assert.equal(4, d.api_version)
    assert.same({}, d.unsupported)
  end)

  it("is the same in its generic form, with properties, with plain attributes, and of MHLO", function()
    local d = ccw.from_text(pretty)
    local generic = d:text "generic"
    assert.matches('^%%r:2 = "stablehlo.custom_call"%(%%x, %%n%) <{api_version = 4 : i32, backend_config = {', generic)
    assert.equal(d, ccw.from_text(generic))
    assert.equal(d, ccw.from_text((generic:gsub("<{", "{"):gsub("}>", "}", 1):gsub("}> : %(", "} : ("))))
    assert.equal(d, ccw.from_text((generic:gsub('"stablehlo.custom_call"', '"mhlo.custom_call"'))))
  end)

  it("is written as MLIR prints it, and what was written is read as the same and written the same", function()
    local d = ccw.from_text(with_config "{s = 2.0 : f32}")
    local text = "%0 = stablehlo.custom_call @f(%x) {api_version = 4 : i32, backend_config = {s = 2.0 : f32}} "
      .. ": (tensor<2xf32>) -> tensor<2xf32>"
    assert.equal(text, d:text())
    assert.equal(text, d:text "stablehlo")
    assert.equal('%0 = "stablehlo.custom_call"(%x) <{api_version = 4 : i32, backend_config = {s = 2.0 : f32}, call_target_name = "f"}> '
      .. ": (tensor<2xf32>) -> tensor<2xf32>", d:text "generic")
    assert.equal("%0 = f32[2]{0} custom-call(f32[2]{0} %x), custom_call_target=\"f\", api_version=API_VERSION_TYPED_FFI, "
      .. "backend_config={s = 2.0 : f32}", d:text "hlo")
    for _, form in ipairs { "stablehlo", "generic", "hlo" } do
      assert.equal(d, ccw.from_text(d:text(form)))
      assert.equal(d:text(form), ccw.from_text(d:text(form)):text(form))
    end
  end)

  it("is written with a module around it, which is read as the same call", function()
    local d = ccw.from_text(pretty)
    assert.equal([[
module {
  func.func public @main(%arg0: tensor<2xf32>) -> (tensor<2xf32>) {
    %0 = stablehlo.custom_call @f(%arg0) {api_version = 4 : i32, backend_config = {}} : (tensor<2xf32>) -> tensor<2xf32>
    return %0 : tensor<2xf32>
  }
}
]], ccw.from_text(with_config "{}"):text("stablehlo", { module = true }))
    for _, form in ipairs { "stablehlo", "generic", "hlo" } do assert.equal(d, ccw.from_text(d:text(form, { module = true }))) end
  end)

  it("is of the typed FFI as JAX prints it: version 1, an empty string and mhlo.backend_config", function()
    local d = ccw.from_text [[%0 = stablehlo.custom_call @f(%x) {backend_config = "", mhlo.backend_config = {a = 1.0 : f32}}
      : (tensor<2xf32>) -> tensor<2xf32>]]
    assert.equal(4, d.api_version)
    assert.equal("{a = f32(1)}", tostring(ccw.attrs(d.attributes)))
    assert.same({}, d.unsupported)
  end)

  it("says of mhlo.backend_config beside api_version 4 that XLA drops it", function()
    local d = ccw.from_text [[%0 = stablehlo.custom_call @f() {api_version = 4 : i32, mhlo.backend_config = {a = 1}} : () -> tensor<f32>]]
    assert.same({ { path = "mhlo.backend_config", why = "XLA drops it where api_version or backend_config say something else" } },
      d.unsupported)
    assert.matches("mhlo.backend_config = {a = 1 : i64}", d:text(), 1, true)
  end)

  it("has several results, one tuple, or none", function()
    local several = ccw.from_text "%r:2 = stablehlo.custom_call @f() : () -> (tensor<i8>, tensor<2xi1>)"
    local tuple = ccw.from_text "%r = stablehlo.custom_call @f() : () -> tuple<tensor<i8>, tuple<tensor<2xi1>>>"
    local none = ccw.from_text "stablehlo.custom_call @f() : () -> ()"
    assert.equal("(s8[], pred[2])", several.results)
    assert.equal("(s8[], (pred[2]))", tuple.results)
    assert.equal("()", none.results)
    assert.matches("%-> %(tensor<i8>, tensor<2xi1>%)$", several:text())
    assert.matches("%-> tuple<tensor<i8>, tuple<tensor<2xi1>>>$", tuple:text())
    assert.matches("^stablehlo.custom_call @f%(%) : %(%) %-> %(%)$", none:text())
  end)

  it("has all element types", function()
    local pairs_of = { { "i1", "pred" }, { "i4", "s4" }, { "si32", "s32" }, { "ui8", "u8" }, { "bf16", "bf16" }, { "f8E4M3FN", "f8e4m3fn" },
      { "f8E4M3B11FNUZ", "f8e4m3b11fnuz" }, { "f8E8M0FNU", "f8e8m0fnu" }, { "f4E2M1FN", "f4e2m1fn" }, { "complex<f32>", "c64" },
      { "complex<f64>", "c128" }, { "ui2", "u2" } }
    for _, pair in ipairs(pairs_of) do
      local d = ccw.from_text(("%%0 = stablehlo.custom_call @f(%%x) : (tensor<3x%s>) -> tensor<%s>"):format(pair[1], pair[1]))
      assert.same({ pair[2] .. "[3]" }, d.operands)
      assert.equal(pair[2] .. "[]", d.results)
      assert.equal(d, ccw.from_text(d:text()))
    end
  end)

  it("keeps tokens, locations, comments, aliases, and a quoted target", function()
    local d = ccw.from_text [[
#cfg = {x = 1 : i8} // what #f is not
!t = tensor<4xf32>
%r:2 = stablehlo.custom_call @"two words"(%a, %tok) { // a comment } "
    api_version = 4 : i32, backend_config = {inner = #cfg}} : (!t, !stablehlo.token) -> (!t, !stablehlo.token) loc("f.py":1:2)
#loc = loc(unknown)]]
    assert.equal("two words", d.target)
    assert.same({ "f32[4]", "token[]" }, d.operands)
    assert.equal("{inner = {x = s8(1)}}", tostring(ccw.attrs(d.attributes)))
    assert.matches('@"two words"(%a, %tok)', d:text(), 1, true)
    assert.matches("!stablehlo.token", d:text(), 1, true)
  end)

  it("keeps what is no plain array, and says that a call needs one", function()
    local text = "%0 = stablehlo.custom_call @f(%x, %y, %z) : (tensor<?x3xf32, #stablehlo.bounds<4, ?>>, tensor<*xf32>, memref<4xf32>) "
      .. "-> tensor<?xf32>"
    local d = ccw.from_text(text)
    assert.same({ "f32[<=4,3]", "f32[*]", "memref<4xf32>" }, d.operands)
    assert.equal("f32[?]", d.results)
    assert.equal(text, d:text())
    d.api_version = 4
    assert.same({ { path = "arg 0", why = "f32[<=4,3]: a call has sizes that are known" },
      { path = "arg 1", why = "f32[*]: a call has sizes that are known" }, { path = "arg 2", why = "memref<4xf32> is no array" },
      { path = "result 0", why = "f32[?]: a call has sizes that are known" } }, d.unsupported)
    local _, err = ccw.try(d.text, d, "hlo")
    assert.equal("f: operand 1: HLO has no type f32[*]", err.message)
  end)

  it("keeps what it does not know", function()
    local text = "%0 = stablehlo.custom_call @f() {backend_config = \"a\\00b\", called_computations = [@g, @\"h i\"], "
      .. "mhlo.frontend_attributes = {k = \"v\"}, mhlo.sharding = \"{replicated}\", my.own = [1 : i32], "
      .. "result_tilings = [[dense<[8, 128]> : tensor<2xindex>]]} : () -> tensor<f32>"
    local d = ccw.from_text(text)
    assert.equal(text, d:text())
    assert.equal("a\0b", d.backend_config)
    assert.same({ "g", "h i" }, d.called_computations)
    assert.same({ k = "v" }, d.frontend_attributes)
    assert.equal("{replicated}", d.sharding)
    assert.equal("[1 : i32]", tostring(d.mlir["my.own"]))
    local paths = {}
    for i, one in ipairs(d.unsupported) do paths[i] = one.path end
    assert.same({ "api_version", "called_computations", "result_tilings" }, paths)
  end)

  it("keeps types and attributes of MLIR that no array has, with the names that aliases stand for", function()
    local types = "tensor<2x!quant.uniform<i8:f32, 1.0>>, tensor<*x!q>, tensor<4xf80>, tensor<2xf32, #e>, f128"
    local text = "%0 = stablehlo.custom_call @f(%a, %b, %c, %d, %e) {my.own = {a = dense_resource<blob> : tensor<4xf32>, "
      .. "b = sparse<[[0]], [1]> : tensor<2xi32>, c = [f80]}} : (" .. types .. ") -> tensor<f32>"
    local d = ccw.from_text('!q = !quant.uniform<u8:f32, 2.0>\n#e = #my.encoding<"x">\n' .. text)
    local spelled = text:gsub("!q>", "!quant.uniform<u8:f32, 2.0>>"):gsub("#e", '#my.encoding<"x">')
    assert.equal(spelled, d:text())
    assert.equal(d, ccw.from_text(spelled))
    assert.equal("dense_resource<blob> : tensor<4xf32>", tostring(ccw.attribute_from_text "dense_resource<blob>:tensor<4xf32>"))
  end)

  it("of MHLO has a schedule, which its generic form keeps", function()
    local d = ccw.from_text [[%0 = "mhlo.custom_call"() {call_target_name = "f", custom_call_schedule = #mhlo<custom_call_schedule LATEST>}
      : () -> tensor<f32>]]
    assert.equal("LATEST", d.schedule)
    assert.equal(d, ccw.from_text(d:text "generic"))
    assert.matches('"mhlo.custom_call"', d:text "generic", 1, true)
    assert.matches("schedule=SCHEDULE_LATEST", d:text "hlo", 1, true)
    local _, err = ccw.try(d.text, d, "stablehlo")
    assert.equal('f: schedule: StableHLO has none; the form "generic" is mhlo.custom_call, which has', err.message)
  end)
end)

describe("CC-26 a custom call of HLO", function()
  it("is read from one instruction", function()
    local d = ccw.from_text(instruction)
    assert.equal("wb_scale", d.target)
    assert.same({ "f32[2,3]", "s32[]" }, d.operands)
    assert.equal("(f32[2,3], s32[])", d.results)
    assert.equal('{alpha = f32(1.5), tag = "a}b"}', tostring(ccw.attrs(d.attributes)))
    assert.same({ [0] = 0 }, d.aliases)
    assert.is_true(d.has_side_effect)
    assert.equal(4, d.api_version)
    assert.is_nil(d.operand_layouts)
    assert.equal(d, ccw.from_text(d:text "hlo"))
    assert.equal(d, ccw.from_text(d:text "stablehlo"))
  end)

  it("finds the shapes of its operands in its own computation", function()
    local d = ccw.from_text [[
HloModule m

other {
  a = s8[9] parameter(0)
  ROOT b = s8[9] negate(a)
}

ENTRY main {
  a = f32[4]{0} parameter(0)
  b.1 = (f32[4]{0}, f32[2,2]{0,1}) tuple(a, a) /* custom-call(x) */
  ROOT c = f32[4]{0} custom-call(a, /*index=1*/b.1), custom_call_target="f", metadata={op_name="custom-call(q)" source_line=3}
}]]
    assert.same({ "f32[4]", "(f32[4], f32[2,2])" }, d.operands)
    assert.same({ { 0 }, { 0 }, { 0, 1 } }, d.operand_layouts)
    assert.equal('{op_name="custom-call(q)" source_line=3}', d.hlo.metadata)
  end)

  it("keeps all that it says, and writes it back", function()
    local text = "%c = f32[2]{0} custom-call(f32[2]{0} %x), custom_call_target=\"f\", operand_layout_constraints={f32[2]{0}}, "
      .. "called_computations={%g, %h}, schedule=SCHEDULE_EARLIEST, api_version=API_VERSION_STATUS_RETURNING, "
      .. "sharding={devices=[2,1]<=[2]}, "
      .. "frontend_attributes={k=\"v \\\"w\\\"\"}, control-predecessors={%a}, dim_labels=b0f_0io->b0f, literal=f32[2] {1, 2}, "
      .. "metadata={op_name=\"x\" source_line=3}, window={size=1x1}, backend_config=\"a\\000\\n\""
    local d = ccw.from_text(text)
    assert.equal(text, d:text "hlo")
    assert.equal("a\0\n", d.backend_config)
    assert.equal(2, d.api_version)
    assert.equal("f32[2] {1, 2}", d.hlo.literal)
  end)

  it("decides by its version what a configuration in braces is", function()
    local text = 'c = f32[] custom-call(), custom_call_target="f", backend_config=%s, api_version=API_VERSION_TYPED_FFI'
    local typed, quoted = ccw.from_text(text:format "{a = 1 : i8}"), ccw.from_text(text:format '"{a = 1 : i8}"')
    local json = ccw.from_text 'c = f32[] custom-call(), custom_call_target="f", backend_config={"a": [1, "}"]}'
    assert.equal("{a = s8(1)}", tostring(ccw.attrs(typed.attributes)))
    assert.equal(typed, quoted)
    assert.equal('{"a": [1, "}"]}', json.backend_config)
    assert.equal(1, json.api_version)
  end)

  it("has layouts with tiles and memory spaces, which StableHLO has not", function()
    local text = [[c = f32[8,128]{1,0:T(8,128)S(1)} custom-call(f32[8,128]{0,1} %x), custom_call_target="f",
      api_version=API_VERSION_TYPED_FFI]]
    local d = ccw.from_text(text)
    assert.same({ { path = "arg 0", why = "layout {0,1}: arrays are row-major here, and the handler would see other bytes" },
      { path = "result 0", why = "layout {1,0:T(8,128)S(1)}: arrays are row-major here, and the handler would see other bytes" } },
      d.unsupported)
    assert.equal(d, ccw.from_text(d:text "hlo"))
    local _, err = ccw.try(d.text, d)
    assert.equal("f: result_layouts: StableHLO has nothing for the layout {1,0:T(8,128)S(1)}", err.message)
  end)
end)

describe("CC-22 to CC-25 an attribute of MLIR", function()
  -- text, what ccw has for it, what is written for that where it is another text
  for _, row in ipairs {
    { "5", 5, "5 : i64" }, { "1.5", 1.5, "1.5 : f64" }, { "true", true }, { "1 : i1", true, "true" }, { "3 : ui16", ccw.u16(3) },
    { "-1 : i8", ccw.s8(-1) }, { "255 : i8", ccw.s8(-1), "-1 : i8" }, { "1 : si32", ccw.s32(1), "1 : i32" },
    { "0x10 : i32", ccw.s32(16), "16 : i32" },
    { "18446744073709551615 : ui64", ccw.u64 "18446744073709551615" },
    { "-9223372036854775808", math.mininteger, "-9223372036854775808 : i64" },
    { "1.0e-3 : bf16", ccw.bf16(1e-3), "0.001 : bf16" }, { "1.000000e-05 : f32", ccw.f32(1e-5), "1.0e-05 : f32" }, { "0.1 : f64", 0.1 },
    { "0x7F800000 : f32", ccw.f32(math.huge) }, { "0xFFF0000000000000 : f64", -math.huge }, { "-0.0 : f64", -0.0 },
    { "4 : i4", ccw.s4(4) }, { '"a\\22\\0Ab\\\\"', 'a"\nb\\' }, { '""', "" },
  } do
    it(("%s is read and written"):format(row[1]), function()
      local value = ccw.attribute_from_text(row[1])
      assert.equal(row[2], value)
      assert.equal(math.type(row[2]), math.type(value))
      assert.equal(row[3] or row[1], ccw.attribute_text(value))
    end)
  end

  for _, row in ipairs {
    { "array<i32: 1, 2>", "s32[2] {1, 2}", "dense<[1, 2]> : tensor<2xi32>" }, { "array<f64>", "f64[0] {}", "dense<> : tensor<0xf64>" },
    { "dense<[[1,2],[3,4]]> : tensor<2x2xi64>", "s64[2,2] {{1, 2}, {3, 4}}", "dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>" },
    { "dense<7> : tensor<3xi8>", "s8[3] {7, 7, 7}", "dense<[7, 7, 7]> : tensor<3xi8>" }, { "dense<7> : tensor<i8>", "s8[] 7" },
    { 'dense<"0x0000803F00000040"> : tensor<2xf32>', "f32[2] {1, 2}", "dense<[1.0, 2.0]> : tensor<2xf32>" },
    { "dense<(1.0,-2.5)> : tensor<1xcomplex<f32>>", "c64[1] {(1, -2.5)}", "dense<[(1.0, -2.5)]> : tensor<1xcomplex<f32>>" },
    { "dense<[1, 2]> : vector<2xi32>", "s32[2] {1, 2}", "dense<[1, 2]> : tensor<2xi32>" },
    { "dense<> : tensor<2x0xf32>", "f32[2,0] {{}, {}}" }, { "array<i8: -1, 255>", "s8[2] {-1, -1}", "dense<[-1, -1]> : tensor<2xi8>" },
    { "dense<[18446744073709551615]> : tensor<1xui64>", "u64[1] {18446744073709551615}" },
  } do
    it(("%s is an array"):format(row[1]), function()
      local value = ccw.attribute_from_text(row[1])
      assert.equal(row[2], tostring(value))
      assert.equal(row[3] or row[1], ccw.attribute_text(value))
    end)
  end

  for _, row in ipairs {
    { '[1 : i32, "x"]', "a list" }, { "[]", "a list" }, { "unit", "a name without a value" }, { "@sym", "a symbol" },
    { "@a::@\"b c\"", "a symbol" },
    { "i32", "a type" }, { "tensor<2x?xf32>", "a type" }, { "(i32) -> f32", "a type" },
    { "#d<x = [1, 2] -> 3>", "an attribute of a dialect" },
    { "5 : index", "an index" }, { "5 : i24", "an integer of type i24" }, { "array<i1: true, false>", "an array of booleans" },
    { "dense<[true, false]> : tensor<2xi1>", "an array of booleans" }, { "affine_map<(d0) -> (d0)>", "affine_map" },
    { "0x7F800001 : f32", "a signaling NaN, which no number here holds" }, { '"s" : !d.t<1>', "an attribute with a type of its own" },
  } do
    it(("%s is kept as it is, and reported with its path"):format(row[1]), function()
      local value = ccw.attribute_from_text(row[1])
      assert.equal(row[1], tostring(value))
      assert.equal(row[1], ccw.attribute_text(value))
      local d = ccw.from_text(with_config('{outer = {"two words" = ' .. row[1] .. "}}"))
      assert.same({ { path = 'outer["two words"]', why = row[2] .. ", which the FFI cannot carry: " .. row[1] } }, d.unsupported)
      assert.equal(d, ccw.from_text(d:text "hlo"))
    end)
  end

  for _, bits in ipairs { 0x7FC00000, 0xFFC00001, 0x7FFFFFFF, 0x00000001, 0x3727C5AC } do
    it(("keeps the bits 0x%08X of an f32, alone and in an array"):format(bits), function()
      local text = ("0x%08X : f32"):format(bits)
      local value = ccw.attribute_from_text(text)
      assert.equal(ccw.attribute_text(value), ccw.attribute_text(ccw.attribute_from_text(ccw.attribute_text(value))))
      local bytes
      local keep = ccw.bind "keep() -> () {a: f32, b: f32[]}":to(function(_, b) bytes = b:bytes() end)
      local d = ccw.from_text(("stablehlo.custom_call @f() {api_version = 4 : i32, backend_config = {a = %s, "
        .. "b = dense<[0x%08X]> : tensor<1xf32>}} : () -> ()"):format(text, bits))
      d:call(keep, {})
      assert.equal(string.pack("<I4", bits), bytes)
      assert.equal(ccw.attribute_text(d.attributes.a), ccw.attribute_text(ccw.from_text(d:text()).attributes.a))
    end)
  end

  it("keeps the bits of a signaling NaN in an array", function()
    local text = "dense<[0x7F800001, 1.0]> : tensor<2xf32>"
    assert.equal(text, ccw.attribute_text(ccw.attribute_from_text(text)))
  end)

  it("writes what a person has put there", function()
    local d = ccw.from_text(with_config "{}")
    d.attributes = { n = 3, x = 0.1, list = { 1, 2 }, floats = { 0.5, 1.0 }, inner = { s = "a\"b" }, b = ccw.bf16 { 1, 2 }, flag = false }
    assert.equal(with_config('{b = dense<[1.0, 2.0]> : tensor<2xbf16>, flag = false, floats = dense<[0.5, 1.0]> : tensor<2xf64>, '
      .. 'inner = {s = "a\\22b"}, list = dense<[1, 2]> : tensor<2xi64>, n = 3 : i64, x = 0.1 : f64}'), d:text())
    d.attributes = ccw.attrs { least = math.mininteger, n = ccw.s32(3), nan = ccw.f32(0 / 0), s = "12345678901234567890",
      u = ccw.u64 "18446744073709551615" }
    assert.matches('{least = %-9223372036854775808 : i64, n = 3 : i32, nan = 0x[7F]FC00000 : f32, s = "12345678901234567890", '
      .. "u = 18446744073709551615 : ui64}", d:text())
  end)
end)

describe("case C11 the escapes of backend_config", function()
  it("gives 27 bytes as they are", function()
    local bytes = "say \"hi\" \\ \n {x=1 : i32} \xC3\xA9"
    assert.equal(27, #bytes)
    local got
    local keep = ccw.bind "keep(x: f32[2]) -> (y: f32[2]) {s: string}":to(function(_, y, s)
      got = s
      y:fill(0)
    end)
    ccw.from_text(with_config [[{s = "say \22hi\22 \\ \0A {x=1 : i32} \C3\A9"}]]):call(keep, { ccw.f32 { 1, 2 } })
    assert.equal(bytes, got)
  end)

  it("prints and reads each of the 256 single bytes, in all forms", function()
    local d = ccw.from_text(with_config "{}")
    for byte = 0, 255 do
      d.attributes, d.target = { s = string.char(byte), [string.char(byte) .. "k"] = 1 }, "t" .. string.char(byte)
      for _, form in ipairs { "stablehlo", "generic", "hlo" } do
        local read = ccw.from_text(d:text(form))
        assert.equal(d, read)
        assert.equal(string.char(byte), read.attributes.s)
      end
    end
  end)

  it("does so for opaque configurations, too", function()
    local d = ccw.from_text "%0 = stablehlo.custom_call @f() : () -> tensor<f32>"
    for byte = 0, 255 do
      d.backend_config = "x" .. string.char(byte)
      for _, form in ipairs { "stablehlo", "generic", "hlo" } do
        assert.equal("x" .. string.char(byte), ccw.from_text(d:text(form)).backend_config)
      end
    end
  end)
end)

describe("case C13 a real grammar", function()
  it("is not fooled by keys in keys, spaces or strings", function()
    local d = ccw.from_text(with_config '{ prescale=3.0:f32 ,\n\t"note" = "scale = 9", scale   = 1.0e-5   : f32,extra = 1 }')
    assert.equal(0x3727C5AC, (string.unpack("<I4", string.pack("<f", d.attributes.scale.value))))
    assert.equal(ccw.f32(3), d.attributes.prescale)
    assert.equal(1, d.attributes.extra)
    assert.equal("scale = 9", d.attributes.note)
  end)
end)

describe("case C15 booleans", function()
  it("are one byte in memory, and refused as an array in the text", function()
    local d = ccw.from_text(with_config "{m = dense<[true, false]> : tensor<2xi1>}")
    local _, err = ccw.try(d.call, d, "nothing", { ccw.f32 { 1, 2 } })
    assert.equal("f: m: an array of booleans, which the FFI cannot carry: dense<[true, false]> : tensor<2xi1>", err.message)
  end)
end)

describe("case C16 dictionaries in each other", function()
  it("are sorted at every level, and keep what is empty", function()
    local d = ccw.from_text(with_config "{b = {y = 2 : i32, x = {deep = \"s\", e = {}}}, a = 1.0 : f32}")
    assert.equal(with_config "{a = 1.0 : f32, b = {x = {deep = \"s\", e = {}}, y = 2 : i32}}", d:text())
  end)

  it("have each name once", function()
    assert.equal([[
line 1, column 97: the name "y" stands here twice
  ... = 4 : i32, backend_config = {b = {y = 1, x = {}, y = 2}}} : (tensor<2xf32>) -> tensor<2xf32>
                                                       ^]],
      refusal(with_config "{b = {y = 1, x = {}, y = 2}}").message)
  end)
end)

describe("case C18 a boolean is no integer", function()
  for _, text in ipairs { "1 : i1", "true" } do
    it(text .. " is PRED 1", function() assert.is_true(ccw.attribute_from_text(text)) end)
  end

  it("a handler that binds pred is given no integer", function()
    local keep = ccw.bind "keep(x: f32[2]) -> () {b: pred}":to(function(_, _) end)
    local d = ccw.from_text(with_config "{b = 1}")
    d.results = "()"
    local _, err = ccw.try(d.call, d, keep, { ccw.f32 { 1, 2 } })
    assert.matches("attribute 'b': expected pred", err.message, 1, true)
    d.attributes.b = true
    assert.is_nil(select(2, ccw.try(d.call, d, keep, { ccw.f32 { 1, 2 } })))
  end)
end)

describe("case C19 pieces of text", function()
  it("are read on their own, and must be one attribute", function()
    assert.equal(42, ccw.attribute_from_text " 42 : i64 ")
    for text, message in pairs {
      ["42 :"] = "line 1, column 5: expected a type after ':', got the end", ["}"] = "line 1, column 1: expected an attribute, got '}'",
      ["1, y = 2"] = "line 1, column 2: expected the end of the attribute, got ','",
      ["1 : i65"] = "line 1, column 5: i65: integers have 1 to 64 bits here",
      ["18446744073709551616 : ui64"] = "line 1, column 1: 18446744073709551616 does not fit in ui64",
      ["-1 : ui8"] = "line 1, column 1: -1 does not fit in ui8", ["128 : si8"] = "line 1, column 1: 128 does not fit in si8",
      [""] = "line 1, column 1: expected an attribute, got the end",
      ["{a = 1, a = 2}"] = "line 1, column 9: the name \"a\" stands here twice",
      ["{\"\" = 1}"] = "line 1, column 2: a name is empty", ["1 : f32"] = "line 1, column 1: a float has a dot: 1.0",
      ["1e-5"] = "line 1, column 1: expected a number, as 7, 0x7F or 1.0e-5, got '1e'",
      ["\"a"] = "line 1, column 1: this string has no end",
      ["\"\\q\""] = "line 1, column 2: expected an escape such as \\22 or \\\\, got '\\q'",
      ["1.0e39 : f32"] = "line 1, column 1: 1.0e39 does not fit in f32",
      ["#x"] = "line 1, column 1: the alias #x is defined nowhere in this text",
      ["dense<[1, [2]]> : tensor<2xi8>"] = "line 1, column 11: expected a number, as beside it, got a list",
      ["dense<[1, 2]> : tensor<3xi8>"] = "line 1, column 1: expected elements of s8[3], got s8[2]",
      ["dense<0> : tensor<999999999999xi8>"] = "line 1, column 12: s8[999999999999]: more than 64 MiB out of one element each",
    } do
      local _, err = ccw.try(ccw.attribute_from_text, text)
      assert.equal("INVALID_ARGUMENT", err.code)
      assert.equal(message, err.message:match "^[^\n]*")
    end
  end)

  it("may have a name with a space", function()
    local d = ccw.from_text(with_config "{}")
    d.attributes["two words"] = ccw.attribute_from_text "1 : i8"
    assert.equal(with_config '{"two words" = 1 : i8}', d:text())
  end)

  it("change nothing around them when they are written", function()
    local d = ccw.from_text(with_config "{}")
    d.sharding = "{a}, backend_config={x = 1}"
    local _, err = ccw.try(d.text, d, "hlo")
    assert.equal('f: sharding: "{a}, backend_config={x = 1}" is no value of HLO\'s', err.message)
    d.sharding, d.target = nil, 'x"() {y}'
    assert.equal(d, ccw.from_text(d:text()))
    assert.equal(d, ccw.from_text(d:text "hlo"))
  end)
end)

describe("a description", function()
  local scale = ccw.bind "scale(x: f32[n]) -> (y: f32[n]) {s: f32}":to(function(x, y, s)
    for i = 1, #x do y[i] = s * x[i] end
  end)
  local x = ccw.f32 { 1, 2 }

  it("CC-27 runs, and runs again when its fields have changed", function()
    local d = ccw.from_text(with_config "{s = 2.0 : f32}")
    assert.equal("f32[2] {2, 4}", tostring(d:call(scale, { x })))
    d.attributes.s = ccw.f32(3)
    assert.equal("f32[2] {3, 6}", tostring(d:call(scale, { x })))
    d.operands, d.results = { "f32[3]" }, ccw.type "f32[3]"
    assert.equal("f32[3] {3, 6, 9}", tostring(d:call(scale, { ccw.f32 { 1, 2, 3 } })))
    local prepared = d:prepare(scale, { ccw.f32 { 1, 2, 3 } })
    assert.equal("f32[3] {3, 6, 9}", tostring(prepared()))
  end)

  it("CC-27 finds a registered handler by its target, and takes destinations and options", function()
    ccw.register("text_spec.scale", scale, "Host")
    local d = ccw.from_text(with_config("{s = 2.0 : f32}"):gsub("@f", "@text_spec.scale"), nil)
    local y = ccw.f32 { 0, 0 }
    d:call(nil, { x }, y)
    assert.equal("f32[2] {2, 4}", tostring(y))
    assert.equal("f32[2] {2, 4}", tostring(d:call(nil, { x }, nil, { run_id = 7 })))
  end)

  it("CC-27 hands its aliases over", function()
    local bump = ccw.bind "bump(x: f32[n]) -> (y: f32[n])":to(function(_, y) y[1] = y[1] + 1 end)
    local d = ccw.from_text [[%0 = stablehlo.custom_call @bump(%x) {api_version = 4 : i32, output_operand_aliases = [
      #stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]}
      : (tensor<2xf32>) -> tensor<2xf32>]]
    assert.same({ [0] = 0 }, d.aliases)
    assert.equal("f32[2] {2, 2}", tostring(d:call(bump, { x })))
  end)

  it("CC-32 CC-33 takes tuples as operands and gives them as results", function()
    local add = ccw.bind "add(a: f32[], b: f32[], c: f32[]) -> (y: f32[], z: f32[])":to(function(a, b, c, y, z)
      y:fill(a:item() + b:item())
      z:fill(c:item())
    end)
    local d = ccw.from_text [[%r = (f32[], (f32[])) custom-call(f32[] %a, (f32[], f32[]) %t), custom_call_target="add",
      api_version=API_VERSION_TYPED_FFI, output_to_operand_aliasing={{1,0}: (1, {1})}]]
    assert.same({ [1] = 2 }, d.aliases)
    local y = d:call(add, { ccw.f32(1) and ccw.array("f32[]", 1), { ccw.array("f32[]", 2), ccw.array("f32[]", 3) } })
    assert.equal(3.0, y[1]:item())
    assert.equal(3.0, y[2][1]:item())
    assert.equal(d, ccw.from_text(d:text "hlo"))
    assert.equal(d, ccw.from_text(d:text "generic"))
  end)

  it("is not run with operands of other types", function()
    local d = ccw.from_text(with_config "{s = 2.0 : f32}")
    local _, err = ccw.try(d.call, d, scale, { ccw.f32 { 1, 2, 3 } })
    assert.equal("f: arg 0: expected f32[2], got f32[3]", err.message)
    _, err = ccw.try(d.call, d, scale, { x, x })
    assert.equal("f: expected 1 operands, (f32[2]), got 2", err.message)
  end)

  it("is not run with what no handler can receive, all of it in one report", function()
    local d = ccw.from_text(with_config('{b = {x = [1]}, s = 2.0 : bf16, m = dense<[1.0]> : tensor<1xf16>}'):gsub("4 : i32", "2 : i32")
      :gsub("backend_config", "b"))
    d.attributes, d.mlir = d.mlir.b, nil
    local _, err = ccw.try(d.call, d, scale, { x })
    assert.equal([[
f: 4 things that no handler can receive:
  api_version: 2, API_VERSION_STATUS_RETURNING: only API_VERSION_TYPED_FFI is spoken here
  b.x: a list, which the FFI cannot carry: [1 : i64]
  m: an array of f16: the FFI carries integers of 8 to 64 bits, f32 and f64
  s: a number of bf16: the FFI carries integers of 8 to 64 bits, f32 and f64]], err.message)
    d.api_version, d.attributes = 4, { s = ccw.f32(2) }
    assert.equal("f32[2] {2, 4}", tostring(d:call(scale, { x })))
  end)

  it("hands its attributes over with the types that the text gives them, as XLA does, or as a person has put there", function()
    local d = ccw.from_text(with_config "{s = 2 : i64}")
    local message = "scale: attribute 's': expected f32, got s64"
    for _, run in ipairs { d.call, d.prepare } do
      assert.equal(message, select(2, ccw.try(run, d, scale, { x })).message)
      d.attributes = { s = 2 }
      assert.equal(message, select(2, ccw.try(run, d, scale, { x })).message)
    end
    d = ccw.prepare(scale, { x }, "f32[2]", { s = 2 }):description() -- fitted to the signature, once
    assert.equal("f32[2] {2, 4}", tostring(d:call(scale, { x })))
  end)

  it("is not run with computations, literals or operations of MHLO", function()
    local function why(text) return ccw.from_text(text).unsupported[1].why end
    assert.equal("g: there are no computations here for a handler to run",
      why 'c = f32[] custom-call(), custom_call_target="f", to_apply=g, api_version=API_VERSION_TYPED_FFI')
    assert.equal("HLO can hold one, but no runtime hands it to a handler",
      why 'c = f32[] custom-call(), custom_call_target="f", literal=f32[] 1, api_version=API_VERSION_TYPED_FFI')
    assert.equal("an operation of MHLO that is carried as a custom call: XLA has no handler for it",
      why "%0 = stablehlo.custom_call @mhlo.topk() {api_version = 4 : i32, mhlo.attributes = {k = 1}} : () -> tensor<f32>")
  end)

  it("is not run where bytes do not lie row-major, and is where that makes no difference", function()
    local function text(dims, order)
      return ('c = f32[%s]{%s} custom-call(f32[%s]{%s} %%x), custom_call_target="f", api_version=API_VERSION_TYPED_FFI')
        :format(dims, order, dims, order)
    end
    assert.equal(2, #ccw.from_text(text("2,3", "0,1")).unsupported)
    assert.equal(2, #ccw.from_text(text("2,1,3", "0,1,2")).unsupported)
    assert.same({}, ccw.from_text(text("1,3", "0,1")).unsupported)
    assert.same({}, ccw.from_text(text("2,1,3", "2,0,1")).unsupported)
    assert.same({}, ccw.from_text(text("0,3", "0,1")).unsupported)
  end)

  it("says which of its fields is misused", function()
    for field, row in pairs {
      target = { 7, "target: expected a string, got number" }, operands = { { 7 }, "operand 0: expected a type, got number" },
      results = { false, "results: expected a type, got boolean" }, api_version = { 7, "api_version: expected 0 to 4, got 7" },
      attributes = { "x", "attributes: expected a table, got string" },
      has_side_effect = { 1, "has_side_effect: expected a boolean, got number" },
      operand_layouts = { { { 0, 1 } }, "operand_layouts[1]: f32[2]: {0,1} is no order of 1 dims" },
      result_layouts = { { 1 }, "result_layouts[1]: expected a list of dims, got number" },
      called_computations = { { {} }, "called_computations[1]: expected a name, got table" },
      frontend_attributes = { { x = 1 }, 'frontend_attributes: "x": expected a string, got number' },
      mlir = { { 1 }, "mlir: expected names, got the key 1" }, hlo = { { a = {} }, 'hlo: "a": expected a string, got table' },
      schedule = { "LATEST>, x = #y<", 'schedule: expected a word, such as LATEST, got "LATEST>, x = #y<"' },
    } do
      local d = ccw.from_text(with_config "{}")
      d[field] = row[1]
      support.refuses(row[2], d.call, d, scale, { x })
      support.refuses(row[2], d.text, d)
      assert.matches("description that is damaged", tostring(d), 1, true)
    end
    local d = ccw.from_text(with_config "{}")
    d.atributes = {}
    support.refuses("a description has no field 'atributes'; near: attributes", d.text, d)
    d = ccw.from_text(with_config "{}")
    support.refuses("a description has no field 'operand'; near: operands", function() return d.operand end)
    support.refuses("unsupported: it follows from the other fields, change those", function() d.unsupported = {} end)
    support.refuses("bad argument #2 to 'text' (expected \"stablehlo\", \"generic\", \"hlo\", \"jax\" or \"c\", got mlir)",
      d.text, d, "mlir")
    support.refuses("bad argument #1 to 'from_text' (expected a text, got number)", ccw.from_text, 7)
    for _, row in ipairs { { { 1, a = 2 }, "expected names, got the key 1" }, { { [""] = 1 }, "a name is empty" },
      { { x = { [""] = 1 } }, "x: a name is empty" }, { { x = { a = 1, [2] = 1 } }, "x: expected" } } do
      d.attributes = row[1]
      support.refuses("attributes: " .. row[2], d.text, d)
    end
    assert.matches("description that is damaged: x: expected", tostring(d), 1, true)
    d.attributes = { x = print }
    support.refuses("attributes: x: expected a boolean, a number, a string, an array or a table, got function", d.text, d)
    d.attributes = {}
    d.attributes.x = d.attributes
    support.refuses("more than 64 dictionaries in each other", d.text, d)
    d.attributes, d.mlir = {}, { x = d.attributes }
    support.refuses("more than 64 dictionaries in each other", d.text, d, "generic", { module = true })
    d.mlir, d.results = nil, {}
    d.results[1] = d.results
    support.refuses("results: more than 64 lists in each other", d.text, d)
    d.results = "f32[2]"
    d.attributes, d.aliases = {}, { [0] = 7 }
    assert.equal("f: aliases: there is no arg 7", select(2, ccw.try(d.text, d)).message)
    assert.equal("aliases: there is no arg 7", select(2, ccw.try(d.text, d, "jax")).message)
    assert.equal("aliases: there is no arg 7", select(2, ccw.try(d.text, d, "c")).message)
  end)

  it("takes types as people write them, and nothing that is none", function()
    local d = ccw.from_text(with_config "{}")
    d.operands, d.results = { " f32[ 2,? ]", "tensor<3xbf16>", { "s32[]", ccw.type "u8[1]" }, "!x.y<z>" }, "(f32[<=3] ,f32[*])"
    assert.matches(": (tensor<2x?xf32>, tensor<3xbf16>, tuple<tensor<i32>, tensor<1xui8>>, !x.y<z>) -> "
      .. "(tensor<?xf32, #stablehlo.bounds<3>>, tensor<*xf32>)", d:text():gsub("%%x", "%%a, %%b, %%c, %%d"), 1, true)
    for text, why in pairs {
      ["f32[2]) -> ()"] = "expected the end, got ')'", ["f32[2"] = "expected ',' or ']', got the end",
      [""] = "expected a type, got the end",
      ["f32[-1]"] = "expected a size, got '-'", ["(f32[2]"] = "expected ',' or ')', got the end", ["f33[2]"] = "no dtype is called 'f33'",
      ["(f32[?]))"] = "expected a size, got '?'", ["f32[?2]"] = "expected a size, got '?'",
      ["tensor<f32> x"] = "the end of the type, got 'x'",
      [("("):rep(100000)] = "more than 32 tuples in each other",
    } do
      d.operands, d.results = { text }, "f32[2]"
      support.refuses("operand 0: expected a type, got ", d.text, d)
      support.refuses(why, d.text, d)
      d.operands, d.results = {}, text
      support.refuses("results: expected a type, got ", d.text, d, "jax")
    end
  end)

  it("prints what it is, and what no handler can receive", function()
    assert.equal('f(f32[2]) -> (f32[2]) {s = f32(2)}', tostring(ccw.from_text(with_config "{s = 2.0 : f32}")))
    assert.equal("f(f32[2]) -> (f32[2]) {s = [2 : i64]}\n  not for a handler: s: a list, which the FFI cannot carry: [2 : i64]",
      tostring(ccw.from_text(with_config "{s = [2]}")))
  end)

  it("has attributes that go into other calls, but for what no handler can receive", function()
    assert.equal("f32[2] {2, 4}", tostring(ccw.call(scale, { x }, "f32[2]", ccw.from_text(with_config "{s = 2.0 : f32}").attributes)))
    support.refuses("s: expected a boolean, a number, a string, an array or a table, got ccw.attribute", ccw.call, scale, { x }, "f32[2]",
      ccw.from_text(with_config "{s = [2.0]}").attributes)
  end)

  it("is equal to another by all but names", function()
    local d = ccw.from_text(with_config "{s = 2.0 : f32}")
    assert.equal(d, ccw.from_text((with_config("{s = 2.0 : f32}"):gsub("%%x", "%%y"):gsub("%%0", "%%z"))))
    assert.not_equal(d, ccw.from_text(with_config "{s = 2.0 : f64}"))
    assert.not_equal(ccw.from_text(with_config "{s = 0.0}"), ccw.from_text(with_config "{s = -0.0}"))
    assert.not_equal(ccw.from_text(with_config "{s = 0x7FC00000 : f32}"), ccw.from_text(with_config "{s = 0x7FC00001 : f32}"))
    assert.not_equal(ccw.from_text(with_config "{s = 1}"), ccw.from_text(with_config "{s = true}"))
  end)
end)

describe("CC-26 a module", function()
  local module = [[
#map = affine_map<(d0) -> (d0)>
module @jit_f attributes {mhlo.num_partitions = 1 : i32, note = "stablehlo.custom_call @no1(%x)"} {
  func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    // %9 = stablehlo.custom_call @no2(%x) : () -> ()
    %cst = stablehlo.constant dense<"0x0000803F"> : tensor<4xf32> loc("custom_call @no3")
    %0 = stablehlo.custom_call @one(%arg0) {backend_config = "a // b \22 stablehlo.custom_call @no4"} : (tensor<4xf32>) -> tensor<4xf32>
    %custom_call.1 = stablehlo.add %0, %0 : tensor<4xf32>
    %1:2 = "stablehlo.custom_call"(%0) <{call_target_name = "two"}> : (tensor<4xf32>) -> (tensor<4xf32>, tensor<i1>)
    %2 = stablehlo.custom_call @one(%1#0) : (tensor<4xf32>) -> tensor<4xf32>
    return %2 : tensor<4xf32>
  }
}
]]

  it("has its calls listed, and nothing of strings, comments, constants or names", function()
    assert.same({ { index = 1, line = 6, target = "one", form = "stablehlo", name = "0" },
      { index = 2, line = 8, target = "two", form = "stablehlo", name = "1" },
      { index = 3, line = 9, target = "one", form = "stablehlo", name = "2" } }, ccw.list_text(module))
    assert.same({}, ccw.list_text "module {}")
  end)

  it("has its calls picked by index, target or name", function()
    assert.equal("(f32[4], pred[])", ccw.from_text(module, 2).results)
    assert.equal("(f32[4], pred[])", ccw.from_text(module, "two").results)
    assert.equal("(f32[4], pred[])", ccw.from_text(module, "%1").results)
    assert.same({ "%1#0" }, ccw.from_text(module, "2").operand_names)
    assert.equal('a // b " stablehlo.custom_call @no4', ccw.from_text(module, 1).backend_config)
  end)

  it("says what there is to pick", function()
    assert.equal([[
3 custom calls are here; pick one by its index, its target or the name of its result:
  1: line 6: "one", %0
  2: line 8: "two", %1
  3: line 9: "one", %2]], refusal(module).message)
    local _, err = ccw.try(ccw.from_text, module, "one")
    assert.equal([[
2 custom calls are picked by "one"; pick one by its index, its target or the name of its result:
  1: line 6: "one", %0
  3: line 9: "one", %2]], err.message)
    _, err = ccw.try(ccw.from_text, module, 4)
    assert.equal("NOT_FOUND", err.code)
    assert.matches("^no custom call is picked by 4; pick one", err.message)
  end)

  it("of HLO, too", function()
    local hlo = [[
HloModule m, entry_computation_layout={(f32[4]{0})->f32[4]{0}}

ENTRY %main (custom-call.0: f32[4]) -> f32[4] {
  %custom-call.0 = f32[4]{0} parameter(0), metadata={op_name="custom-call(%x)"}
  %wide = (f32[4]{0}, f32[4]{0}, /*index=2*/f32[4]{0},
    f32[4]{0}) custom-call(%custom-call.0), custom_call_target="first"
  ROOT %custom-call.1 = f32[4]{0} custom-call(%custom-call.0), custom_call_target="second"
}
]]
    assert.same({ { index = 1, line = 6, target = "first", form = "hlo", name = "wide" },
      { index = 2, line = 7, target = "second", form = "hlo", name = "custom-call.1" } }, ccw.list_text(hlo))
    assert.equal("(f32[4], f32[4], f32[4], f32[4])", ccw.from_text(hlo, "first").results)
    assert.same({ "f32[4]" }, ccw.from_text(hlo, 2).operands)
  end)

  it("is listed where a call is damaged, too", function()
    assert.same({ { index = 1, line = 1, form = "hlo", problem = "it has no target" } }, ccw.list_text "x custom-call()")
    assert.same({ { index = 1, line = 2, form = "stablehlo", problem = "expected '@' and a target, got '('" } },
      ccw.list_text "\nstablehlo.custom_call (%x)")
  end)
end)

describe("CC-26 a damaged text", function()
  it("is refused with line, column and a caret", function()
    local err = refusal "module {\n  %0 = stablehlo.custom_call @f(%x) {a = } : (tensor<f32>) -> tensor<f32>\n}"
    assert.equal("INVALID_ARGUMENT", err.code)
    assert.equal(2, err.line)
    assert.equal(42, err.column)
    assert.equal([[
line 2, column 42: expected an attribute, got '}'
    %0 = stablehlo.custom_call @f(%x) {a = } : (tensor<f32>) -> tensor<f32>
                                           ^]], err.message)
  end)

  it("counts characters, whatever their bytes, and shows no control characters", function()
    assert.equal([[
line 1, column 37: expected an attribute, got '}'
  "é?" stablehlo.custom_call @f() {a =} : () -> ()
                                      ^]], refusal '"é\1" stablehlo.custom_call @f() {a =} : () -> ()'.message)
  end)

  for name, row in pairs {
    ["nothing"] = { "",
      "line 1, column 1: no custom call is here: expected stablehlo.custom_call @target(...) or %name = shape custom-call(...)" },
    ["no types"] = { "%0 = stablehlo.custom_call @f(%x)",
      "line 1, column 34: expected ':' and the types of operands and results, got the end" },
    ["fewer types than operands"] = { "%0 = stablehlo.custom_call @f(%x, %y) : (tensor<f32>) -> tensor<f32>",
      "line 1, column 42: expected 2 types of operands, as there are operands, got 1" },
    ["more names than results"] = { "%0:2 = stablehlo.custom_call @f() : () -> tensor<f32>",
      "line 1, column 8: expected one name in front, as there are results, got %0:2 " },
    ["an unknown type"] = { "%0 = stablehlo.custom_call @f() : () -> tenser<f32>", "line 1, column 41: expected a type, got 'tenser'" },
    ["a size too large"] = { "%0 = stablehlo.custom_call @f() : () -> tensor<99999999999999999999xf32>",
      "line 1, column 41: a size of 2^63 or more" },
    ["api_version 5"] = { "%0 = stablehlo.custom_call @f() {api_version = 5 : i32} : () -> tensor<f32>",
      "line 1, column 34: api_version: expected 0 to 4, of type i32" },
    ["a string for the typed FFI"] = { '%0 = stablehlo.custom_call @f() {api_version = 4 : i32, backend_config = "x"} : () -> tensor<f32>',
      "line 1, column 57: backend_config: expected a dictionary, with api_version 4" },
    ["one half of the layouts"] = { "%0 = stablehlo.custom_call @f() {operand_layouts = []} : () -> tensor<f32>",
      "line 1, column 34: operand_layouts: expected result_layouts beside it" },
    ["a layout that is no order"] = { "%0 = stablehlo.custom_call @f() {operand_layouts = [], "
      .. "result_layouts = [dense<[0, 0]> : tensor<2xindex>]} : () -> tensor<2x2xf32>",
      "line 1, column 56: result_layouts: result 0: {0,0} is no order of 2 dims" },
    ["an alias to nowhere"] = { "%0 = stablehlo.custom_call @f() {output_operand_aliases = ["
      .. "#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : () -> tensor<f32>",
      "line 1, column 34: output_operand_aliases: there is no operand 0" },
    ["an alias that is not defined"] = { "%0 = stablehlo.custom_call @f() {a = #nowhere} : () -> tensor<f32>",
      "line 1, column 38: the alias #nowhere is defined nowhere in this text" },
    ["an alias of itself"] = { "#a = [#a]\n%0 = stablehlo.custom_call @f() {a = #a} : () -> tensor<f32>",
      "line 2, column 38: more than 64 brackets and aliases in each other" },
    ["more behind the call"] = { "%0 = stablehlo.custom_call @f() : () -> tensor<f32> x",
      "line 1, column 53: expected the end of the call, got 'x'" },
    ["an operand without a shape"] = { 'c = f32[] custom-call(%x), custom_call_target="f"',
      "line 1, column 23: the operand x has no shape here, and none is defined in this text" },
    ["no target"] = { "c = f32[] custom-call()", "line 1, column 24: custom_call_target is missing" },
    ["a key twice"] = { 'c = f32[] custom-call(), custom_call_target="f", custom_call_target="g"',
      "line 1, column 50: custom_call_target stands here twice" },
    ["an unknown version"] = { 'c = f32[] custom-call(), custom_call_target="f", api_version=API_VERSION_UNSPECIFIED',
      "line 1, column 62: expected API_VERSION_ORIGINAL, API_VERSION_STATUS_RETURNING, API_VERSION_STATUS_RETURNING_UNIFIED or "
        .. "API_VERSION_TYPED_FFI, got API_VERSION_UNSPECIFIED" },
    ["an instruction without a name"] = { " custom-call()", "line 1, column 2: expected '%name = shape' in front of custom-call" },
    ["constraints of another shape"] = { 'c = f32[] custom-call(f32[2] %x), custom_call_target="f", operand_layout_constraints={f32[3]{0}}',
      "line 1, column 30: the operand x is f32[2], but operand_layout_constraints say f32[3]" },
  } do
    it("says what is wrong: " .. name, function()
      assert.equal(row[2], refusal(row[1]).message:match "^[^\n]*")
    end)
  end

  it("ends in a description or in such an error, however it is damaged", function()
    local seeds, random = {}, calls.numbers(7)
    for seed = 1, 40 do
      local d = description.new(calls.fields(seed, { tuples = true }))
      for _, form in ipairs { "stablehlo", "generic", "hlo" } do seeds[#seeds + 1] = d:text(form, { module = seed % 4 == 0 }) end
    end
    local bits = { "{", "}", "(", ")", "<", ">", "[", "]", '"', "\\", "/", "//", "/*", "%", "@", "#x", "!t", "=", ":", ",", "dense<",
      "array<i32:", "tensor<", "0x", "1.5", "-", "->", "\n", "\0", "\255", "loc(", "custom_call", "custom-call", "true",
      "99999999999999999999" }
    local read = 0
    for i = 1, 3000 do
      local text = seeds[random(#seeds)]
      for _ = 1, random(2) do
        local at, how = random(#text + 1), random(5)
        local before, behind = text:sub(1, at - 1), text:sub(at)
        if how == 1 then
          text = before
        elseif how == 2 then
          text = before .. behind:sub(random(8))
        elseif how == 3 then
          text = before .. string.char(random(256) - 1) .. behind:sub(2)
        elseif how == 4 then
          text = before .. bits[random(#bits)] .. behind
        else
          text = before .. seeds[random(#seeds)]:sub(at)
        end
      end
      local ok, result = pcall(ccw.from_text, text)
      if ok then
        read = read + 1
        local good, written = pcall(result.text, result, "generic")
        if good then assert.equal(written, ccw.from_text(written):text "generic") end
      else
        assert.is_table(result, ("text %d: %s\n%s"):format(i, tostring(result), text))
        assert.equal("INVALID_ARGUMENT", result.code)
        assert.is_truthy(result.line and result.column or result.message:find "pick one by", tostring(result))
      end
    end
    assert.is_true(read > 200 and read < 2800, read)
  end)

  it("ends in such an error when it is hostile", function()
    local size = 1 << 20
    for _, bit in ipairs { "{", "[", "(", "<", '"', "/", "%", "#x.", "!x", "dense<", "tuple<", "x = ", "\n", "custom-call(", "/*" } do
      local long = bit:rep(size // #bit)
      for _, text in ipairs { long, with_config(long), "%0 = stablehlo.custom_call @f() : () -> " .. long,
        'c = f32[] custom-call(), custom_call_target="f", api_version=API_VERSION_TYPED_FFI, backend_config=' .. long } do
        assert.equal("INVALID_ARGUMENT", refusal(text).code)
      end
      local _, err = ccw.try(ccw.attribute_from_text, long)
      assert.equal("INVALID_ARGUMENT", err.code)
    end
    local blanks = (" "):rep(size)
    for _, bit in ipairs { blanks, blanks:gsub("  ", " \n"), ("/**/"):rep(size // 4) } do
      local operation = "%0 = stablehlo.custom_call @f() {a = #b.c<x" .. bit .. "y>} : () -> !d.e<" .. bit .. "> loc(" .. bit .. ")"
      assert.equal("f", ccw.from_text(operation).target)
      assert.equal("f", ccw.from_text("c = (f32[], " .. bit .. "s32[]" .. bit .. ") custom-call(" .. bit .. '), custom_call_target="f", '
        .. "sharding=a" .. bit .. "{b" .. bit .. "c}").target)
    end
    local laughs = {}
    for i = 1, 25 do laughs[i] = ("#a%d = [#a%d, #a%d]\n"):format(i, i + 1, i + 1) end
    local err = refusal(table.concat(laughs) .. "#a26 = 1\n" .. with_config "{x = #a1}")
    assert.matches("aliases stand for more than 1048576 bytes", err.message)
  end)
end)

describe("CC-26 made-up calls", function()
  it("are the same when they have been written and read, and are written the same", function()
    for seed = 1, 300 do
      local d = description.new(calls.fields(seed, { tuples = true }))
      for _, form in ipairs { "stablehlo", "generic", "hlo" } do
        local text = d:text(form)
        local read = ccw.from_text(text)
        assert.is_true(d == read, text)
        assert.equal(text, read:text(form))
      end
    end
  end)
end)

describe("without LPeg", function()
  it("says in one sentence what is missing, and the rest of ccw works", function()
    local output = support.sh(("'%s' '%s'"):format(support.program, support.write("no_lpeg.lua", [[
package.preload.lpeg = function() error "no lpeg" end
local ccw = require "ccw"
print(ccw.try(ccw.from_text, "x"))
print(ccw.f32 { 1 })]])))
    assert.equal("nil\tUNIMPLEMENTED: to read and write calls as text ccw needs LPeg for Lua 5.4, which is not there (Debian: lua-lpeg)\n"
      .. "f32[1] {1}\n", output)
  end)
end)

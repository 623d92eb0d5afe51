-- CC-26, CC-35: jaxlib's own parsers and printers agree with what is read and written here, and what JAX prints is read.
local ccw = require "ccw"
local support = require "spec.support"
local calls = require "spec.text_calls"
local description = require "ccw.text.description"

local venv = os.getenv "CCW_VENV" or support.build .. "/venv"

local CALLS = 250

--- Records of a file as text_round_trip.py has them: a list of {kind, text}.
local function records(path)
  local file <close> = assert(io.open(path, "rb"))
  local data, list, at = file:read "a", {}, 1
  while at <= #data do
    local kind, length, start = data:match("^(%w+) (%d+)\n()", at)
    list[#list + 1] = { kind, data:sub(start, start + length - 1) }
    at = start + math.tointeger(tonumber(length))
  end
  return list
end

for _, version in ipairs { "0.10.2", "0.12.0.1" } do
  describe("CC-26 jaxlib " .. version .. " #jax", function()
    local python = ("%s/jax-%s/bin/python"):format(venv, version)
    local missing = not support.exists(python) and "JAX " .. version .. " could not be had"
    local answers, wanted = {}, {}

    --- Runs the Python program on a file of modules, "-" for JAX's own.
    local function ask(input)
      local out = support.write("text.out", "")
      local said, good = support.sh(("JAX_PLATFORMS=cpu '%s' '%s/spec/python/text_round_trip.py' '%s' '%s'")
        :format(python, support.root, input, out))
      assert(good, said)
      return records(out)
    end

    setup(function()
      if missing then return end
      local input = {}
      local function hand_in(kind, d, form)
        local text = d:text(form, { module = true })
        input[#input + 1] = ("%s %d\n%s"):format(kind, #text, text)
        for _ = 1, kind == "mlir" and 2 or 1 do wanted[#wanted + 1] = { d, form, text } end
      end
      for seed = 1, CALLS do
        local plain = description.new(calls.fields(seed, {}))
        hand_in("mlir", plain, "stablehlo")
        hand_in("mlir", plain, "generic")
        hand_in("hlo", description.new(calls.fields(seed, { tuples = true })), "hlo")
        hand_in("export", description.new(calls.fields(seed, { carried = true, full = true })), "stablehlo")
      end
      answers = ask(support.write("text.in", table.concat(input)))
    end)

    --- Compares what came back for each call with the call; `nth` is which of the answers for it.
    local function agrees(sentence, nth)
      it(("%s, for each of %d calls"):format(sentence, CALLS), function()
        if missing then return pending(missing) end
        assert.equal(6 * CALLS, #answers)
        for i = nth, #answers, 6 do
          local kind, text = table.unpack(answers[i])
          local d, form, ours = table.unpack(wanted[i])
          assert.not_equal("error", kind, ("%s\n%s"):format(text, ours))
          local read = ccw.from_text(text)
          assert.is_true(read == d, ("%s\n%s"):format(ours, text))
          assert.equal(ours, read:text(form, { module = true })) -- the names are the module's
        end
      end)
    end

    agrees("reads StableHLO as it is written here, and prints it pretty", 1)
    agrees("reads StableHLO as it is written here, and prints it in generic form", 2)
    agrees("reads the generic form as it is written here, and prints it pretty", 3)
    agrees("reads the generic form as it is written here, and prints it in generic form", 4)
    agrees("reads HLO as it is written here, and prints it", 5)
    agrees("makes the same HLO of StableHLO as it is written here", 6)

    describe("programs with jax.ffi.ffi_call", function()
      local texts

      setup(function() texts = not missing and ask "-" or {} end)

      it("are read as JAX prints them, with and without locations, and as the HLO that XLA makes of them", function()
        if missing then return pending(missing) end
        local config = "{alpha = 1.5 : f32, big = 9223372036854775807 : ui64, k = 7 : i64, m = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, "
          .. 'nan = 0x7FC00000 : f32, on = true, opt = {x = 1 : i8}, tag = "a\\22b\\00\\\\\\0A", tiny = 1.0e-05 : f64, '
          .. "w = dense<[1, 2]> : tensor<2xi32>}"
        for i = 1, 3 do
          local d = ccw.from_text(texts[i][2])
          assert.equal("zoo.full", d.target)
          assert.same({ "f32[2,3]", "s32[]" }, d.operands)
          assert.equal("(f32[2,3], s32[])", d.results)
          assert.equal(config, ccw.attribute_text(d.attributes))
          assert.same({ [0] = 0 }, d.aliases)
          assert.same({ { 0, 1 }, {} }, d.operand_layouts) -- (1, 0) there, where the slowest comes first
          assert.is_true(d.has_side_effect)
          assert.equal(4, d.api_version)
        end
        for i = 4, 6 do
          local d = ccw.from_text(texts[i][2])
          assert.equal("plain(f32[2,3]) -> (f32[2,3])", tostring(d))
          assert.same({}, d.unsupported)
        end
        for i = 7, 9 do
          local d = ccw.from_text(texts[i][2])
          assert.equal('{"a": 1}', d.backend_config)
          assert.equal(2, d.api_version)
        end
      end)

      it("are read as the compiler prints them, among all else of the module", function()
        if missing then return pending(missing) end
        local d = ccw.from_text(texts[10][2], "lapack_ssyevd_ffi")
        assert.same({ "f32[3,3]" }, d.operands)
        assert.equal("(f32[3,3], f32[3], s32[])", d.results)
        assert.equal("{mode = 86 : ui8, uplo = 76 : ui8}", ccw.attribute_text(d.attributes)) -- 'V' and 'L'
        assert.same({ [0] = 0 }, d.aliases)
        assert.equal("0", d.frontend_attributes.num_batch_dims)
        assert.matches('op_name="jit%(', d.hlo.metadata)
        assert.equal(d, ccw.from_text(d:text "hlo"))
      end)
    end)
  end)
end

-- CC-37: the operations of kernels/, on each device that there is, against what Lua makes of the same numbers.
local ccw = require "ccw"
local support = require "spec.support"

local function library(vendor) return ("%s/lib/libccw_kernels%s.so"):format(support.build, vendor) end

local libraries = { host = library "", sim = library "", cuda = library "_cuda", rocm = library "_rocm" }

local function family_of(device) return device.name:match "^%a+" end

--- One device of each family for which the operations were built.
local devices, families = {}, {}
for _, device in ipairs(ccw.devices()) do
  local family = family_of(device)
  if not families[family] and support.exists(libraries[family]) then devices[#devices + 1] = { device = device, title = device.name } end
  families[family] = true
end
if families.sim then -- as AMD's are, and with blocks in another order
  devices[#devices + 1] = { device = ccw.device "sim:0", title = "sim with warps of 64", options = { warp_size = 64, seed = 1 },
    usual = { warp_size = 32, seed = 0 } }
end

local function f32(number) return (("f"):unpack(("f"):pack(number))) end

--- Numbers that f32 holds, some below 0, that come in no order: eighths, up to 8.
local function eighths(i, j) return ((i * 7919 + (j or 0) * 104729) % 129 - 64) / 8 end

local function whole(i, j) return (i * 7919 + (j or 0) * 104729) % 17 - 8 end

local function same(expected, got, options)
  local outcome = ccw.compare(got, expected, options)
  assert.is_true(outcome.equal, outcome.message)
end

--- Elements: around the sizes of warps, tiles and blocks, and primes.
local sizes = { 0, 1, 2, 31, 32, 33, 63, 64, 65, 127, 255, 256, 257, 511, 512, 513, 1021, 2049 }
local matrices = { { 0, 0 }, { 0, 5 }, { 5, 0 }, { 1, 1 }, { 1, 257 }, { 257, 1 }, { 2, 3 }, { 15, 17 }, { 31, 33 }, { 32, 32 },
  { 64, 63 }, { 65, 64 }, { 3, 255 }, { 3, 256 }, { 2, 1021 }, { 127, 2 } }

for _, on in ipairs(devices) do
  describe("on " .. on.title, function()
    local device, family = on.device, family_of(on.device)
    setup(function() ccw.device(device, on.options) end)
    teardown(function() ccw.device(device, on.usual) end)

    local is_host = family == "host"
    local lib = ccw.load(libraries[family])

    local function called(name) return is_host and name or name .. "_device" end

    --- Calls that operation there, with operands of the host, and brings the result to the host.
    local function call(name, operands, result, attributes)
      local there = {}
      for i, x in ipairs(operands) do there[i] = x:to(device) end
      local options = { device = device, signature = false }
      return ccw.call(lib[called(name)], there, result, attributes, options):to "host"
    end

    local function refuses(message, name, ...)
      local _, err = ccw.try(call, name, ...)
      assert.equal(("INVALID_ARGUMENT: %s: execute: %s"):format(called(name), message), tostring(err))
    end

    it("add_mod repeats its first operand", function()
      for _, k in ipairs { 1, 2, 3, 64, 257, 511, 512, 1021 } do
        local b = ccw.array(("f32[%d]"):format(k), eighths)
        for _, n in ipairs(sizes) do
          local type = ("f32[%d]"):format(n)
          same(ccw.array(type, function(i) return eighths((i - 1) % k + 1) + i end),
            call("add_mod", { b, ccw.array(type, function(i) return i end) }, type))
        end
      end
      local none = ccw.array "f32[0]"
      same(none, call("add_mod", { none, none }, "f32[0]"))
      refuses("arg 0 'b': expected at least 1 element, got f32[0]", "add_mod", { none, ccw.f32 { 1 } }, "f32[1]")
      refuses("result 0 'a': expected f32[1], got f32[2]", "add_mod", { none, ccw.f32 { 1 } }, "f32[2]")
    end)

    it("axpy adds a multiple, of any rank", function()
      local function check(dims, n)
        local x64, y64 = ccw.random(("f64[%d]"):format(n), n), ccw.random(("f64[%d]"):format(n), n + 1)
        same(ccw.array("f64" .. dims, ccw.array(x64.type, function(i) return 0.1 * x64[i] + y64[i] end):reshape("f64" .. dims)),
          call("axpy", { x64:reshape("f64" .. dims), y64:reshape("f64" .. dims) }, "f64" .. dims, { a = 0.1 }))
        local x32, y32 = x64:as "f32", y64:as "f32"
        same(ccw.array(x32.type, function(i) return f32(f32(0.1) * x32[i]) + y32[i] end):reshape("f32" .. dims),
          call("axpy", { x32:reshape("f32" .. dims), y32:reshape("f32" .. dims) }, "f32" .. dims, { a = 0.1 }))
      end
      for _, n in ipairs(sizes) do check(("[%d]"):format(n), n) end
      check("[]", 1)
      check("[3,0,2]", 0)
      check("[3,5,7]", 105)
      local x, one = ccw.f32 { 1, 2 }, ccw.f32 { 1 }
      refuses("arg 0 'x': expected f32|f64[*], got s32[1]", "axpy", { ccw.s32 { 1 }, one }, "f32[1]", { a = 1.0 })
      refuses("arg 1 'y': expected f32[2], got f32[1]", "axpy", { x, one }, "f32[2]", { a = 1.0 })
      refuses("result 0 'z': expected f32[2], got f64[2]", "axpy", { x, x }, "f64[2]", { a = 1.0 })
    end)

    local function reduce(x, how) return call("reduce", { x }, ("f32[%d]"):format(x.dims[1]), { how = ccw.s32(how) }) end

    it("reduce makes sums, means and the largest of rows", function()
      for _, dims in ipairs(matrices) do
        local rows, cols = table.unpack(dims)
        local x, y = ccw.array(("f32[%d,%d]"):format(rows, cols), eighths), ("f32[%d]"):format(rows)
        local function sum(i)
          local total = 0
          for j = 1, cols do total = total + eighths(i, j) end
          return total
        end
        same(ccw.array(y, sum), reduce(x, 0))
        same(ccw.array(y, function(i) return sum(i) / cols end), reduce(x, 1), { equal_nan = true })
        same(ccw.array(y, function(i)
          local largest = -math.huge
          for j = 1, cols do largest = math.max(largest, eighths(i, j)) end
          return largest
        end), reduce(x, 2))
      end
      refuses("result 0 'y': expected f32[rows] with rows = 2, got f32[3]", "reduce", { ccw.array "f32[2,2]" }, "f32[3]",
        { how = ccw.s32(0) })
      refuses("arg 0 'x': expected f32[?,?], got f32[2]", "reduce", { ccw.array "f32[2]" }, "f32[2]", { how = ccw.s32(0) })
      refuses("attribute 'how': expected s32 = sum(0)|mean(1)|largest(2), got 3", "reduce", { ccw.array "f32[2,2]" }, "f32[2]",
        { how = ccw.s32(3) })
    end)

    it("reduce rounds a sum once, and lets a NaN be the largest", function()
      local tenths = ccw.array("f32[1,100003]", 0.1)
      same(ccw.f32 { 100003 * f32(0.1) }, reduce(tenths, 0))
      for _, cols in ipairs { 3, 40, 700 } do
        for _, place in ipairs { 1, 2, cols } do
          local function with(value) return ccw.array(("f32[1,%d]"):format(cols), function(_, j) return j == place and value or j end) end
          same(ccw.f32 { 0 / 0 }, reduce(with(0 / 0), 2), { equal_nan = true })
          same(ccw.f32 { math.huge }, reduce(with(math.huge), 2))
          same(ccw.f32 { place == cols and cols - 1 or cols }, reduce(with(-math.huge), 2))
        end
      end
    end)

    --- Of a function of positions, each row.
    local function softmax(x, cols)
      return function(i, j)
        local largest, sum = -math.huge, 0
        for k = 1, cols do largest = math.max(largest, x(i, k)) end
        for k = 1, cols do sum = sum + math.exp(x(i, k) - largest) end
        return math.exp(x(i, j) - largest) / sum
      end
    end

    it("softmax makes rows whose sum is 1", function()
      for _, dims in ipairs { { 0, 0 }, { 0, 5 }, { 5, 0 }, { 1, 1 }, { 7, 2 }, { 3, 63 }, { 2, 64 }, { 2, 65 }, { 1, 255 }, { 1, 257 } } do
        local type = ("f32[%d,%d]"):format(table.unpack(dims))
        same(ccw.array(type, softmax(eighths, dims[2])), call("softmax", { ccw.array(type, eighths) }, type), { rtol = 2e-6 })
      end
      refuses("result 0 'y': expected f32[1,2], got f32[2,1]", "softmax", { ccw.array "f32[1,2]" }, "f32[2,1]")
      refuses("arg 0 'x': expected f32[?,?], got f32[4]", "softmax", { ccw.array "f32[4]" }, "f32[2,2]")
    end)

    it("softmax is safe for what exp is not", function()
      local inf, nan = math.huge, 0 / 0
      local x = ccw.array("f32[5,3]", { { 1000, 1000, -1000 }, { -3e38, 3e38, 0 }, { -inf, 2, 2 }, { -inf, -inf, -inf }, { 1, nan, 2 } })
      same(ccw.array("f32[5,3]", { { 0.5, 0.5, 0 }, { 0, 1, 0 }, { 0, 0.5, 0.5 }, { nan, nan, nan }, { nan, nan, nan } }),
        call("softmax", { x }, "f32[5,3]"), { equal_nan = true })
    end)

    it("rms_norm divides by the root of the mean square", function()
      local function weight(j) return 1 + j / 64 end
      for _, dims in ipairs(matrices) do
        local rows, cols = table.unpack(dims)
        local type = ("f32[%d,%d]"):format(rows, cols)
        local scales = {}
        for i = 1, rows do
          local squares = 0
          for j = 1, cols do squares = squares + eighths(i, j) ^ 2 end
          scales[i] = 1 / math.sqrt(squares / cols + f32(1e-5))
        end
        same(ccw.array(type, function(i, j) return eighths(i, j) * scales[i] * weight(j) end),
          call("rms_norm", { ccw.array(type, eighths), ccw.array(("f32[%d]"):format(cols), weight) }, type, { eps = ccw.f32(1e-5) }),
          { rtol = 3e-7 })
      end
      local ones = ccw.f32 { 1, 1 }
      same(ccw.array("f32[2,2]", { { 1, 1 }, { 0, 0 } }), call("rms_norm", { ccw.array("f32[2,2]", { { 1e30, 1e30 }, { 0, 0 } }), ones },
        "f32[2,2]", { eps = ccw.f32(1e-5) }), { rtol = 3e-7 })
      refuses("arg 1 'weight': expected f32[n] with n = 3, got f32[2]", "rms_norm", { ccw.array "f32[1,3]", ones }, "f32[1,3]",
        { eps = ccw.f32(0) })
      refuses("result 0 'y': expected f32[1,2], got f32[2,2]", "rms_norm", { ccw.array "f32[1,2]", ones }, "f32[2,2]",
        { eps = ccw.f32(0) })
    end)

    it("transpose turns matrices of any element of whole bytes", function()
      local function value(i, j) return (i * 31 + j) % 127 end
      local function check(dtype, rows, cols, f)
        same(ccw.array(("%s[%d,%d]"):format(dtype, cols, rows), function(j, i) return f(i, j) end),
          call("transpose", { ccw.array(("%s[%d,%d]"):format(dtype, rows, cols), f) }, ("%s[%d,%d]"):format(dtype, cols, rows)))
      end
      for _, dims in ipairs(matrices) do check("f32", dims[1], dims[2], value) end
      for _, dtype in ipairs { "s8", "u8", "f8e5m2", "u16", "bf16", "s32", "u64", "f64", "c64", "c128" } do
        check(dtype, 35, 67, dtype == "f8e5m2" and function(i, j) return (i + j) % 3 end or value)
      end
      check("pred", 35, 67, function(i, j) return (i * j) % 3 == 0 end)
      for _, result in ipairs { "s32[2,3]", "f32[3,2]" } do
        refuses("result 0 'y': expected s32[cols,rows] with cols = 3, rows = 2, got " .. result, "transpose",
          { ccw.array "s32[2,3]" }, result)
      end
      refuses("arg 0 'x': expected elements of whole bytes, got some of 4 bit", "transpose", { ccw.array "u4[2,3]" }, "u4[3,2]")
      refuses("arg 0 'x': expected any[?,?], got s32[2,3,4]", "transpose", { ccw.array "s32[2,3,4]" }, "s32[3,2]")
    end)

    it("histogram counts what has a bin", function()
      local function check(x, bins, value, n)
        local counts = {}
        for v = 0, bins - 1 do counts[v] = 0 end
        for k = 1, n do
          if counts[value(k)] then counts[value(k)] = counts[value(k)] + 1 end
        end
        local type = ("s32[%d]"):format(bins)
        same(ccw.array(type, function(i) return counts[i - 1] end), call("histogram", { x }, type))
      end
      for _, n in ipairs(sizes) do
        for _, bins in ipairs { 0, 1, 5, 256, 257 } do
          local function small(k) return (k * k + k) % 256 end
          check(ccw.array(("u8[%d]"):format(n), small), bins, small, n)
          local function around(k) return (k * k + k) % 300 - 20 end
          check(ccw.array(("s32[%d]"):format(n), around), bins, around, n)
        end
      end
      local function wide(k) return k * 37 % 5000 end
      for _, bins in ipairs { 4095, 4096, 4097 } do check(ccw.array("s32[3001]", wide), bins, wide, 3001) end
      same(ccw.s32 { 1, 2, 1 }, call("histogram", { ccw.array("s32[2,3]", { { 0, 1, 1 }, { 2, -2147483648, 2147483647 } }) }, "s32[3]"))
      same(ccw.s32 { 0, 1 }, call("histogram", { ccw.array("u8[]", 1) }, "s32[2]"))
      refuses("arg 0 'x': expected s32|u8[*], got f32[1]", "histogram", { ccw.f32 { 1 } }, "s32[4]")
      refuses("result 0 'counts': expected s32[?], got s64[4]", "histogram", { ccw.s32 { 1 } }, "s64[4]")
    end)

    it("matmul multiplies matrices", function()
      local function check(m, k, n)
        local c = ("f32[%d,%d]"):format(m, n)
        same(ccw.array(c, function(i, j)
          local sum = 0
          for p = 1, k do sum = sum + whole(i, p) * whole(j, p) end
          return sum
        end), call("matmul", { ccw.array(("f32[%d,%d]"):format(m, k), whole),
          ccw.array(("f32[%d,%d]"):format(k, n), function(p, j) return whole(j, p) end) }, c))
      end
      for _, dims in ipairs { { 0, 0, 0 }, { 0, 3, 2 }, { 2, 0, 3 }, { 2, 3, 0 }, { 1, 1, 1 }, { 1, 7, 1 }, { 3, 2, 5 }, { 4, 16, 8 },
        { 5, 17, 9 }, { 63, 15, 65 }, { 64, 64, 64 }, { 65, 33, 63 }, { 2, 255, 3 }, { 3, 257, 67 }, { 129, 5, 7 } } do
        check(table.unpack(dims))
      end
      local a, b = ccw.random("f32[9,1021]", 1), ccw.random("f32[1021,10]", 2)
      local a64, b64 = a:as "f64", b:as "f64"
      same(ccw.array("f32[9,10]", function(i, j)
        local sum = 0
        for p = 1, 1021 do sum = sum + a64[i][p] * b64[p][j] end
        return sum
      end), call("matmul", { a, b }, "f32[9,10]"), { rtol = 1e-6, atol = 1e-5 })
      refuses("arg 1 'b': expected f32[k,n] with k = 3, got f32[2,3]", "matmul", { ccw.array "f32[2,3]", ccw.array "f32[2,3]" },
        "f32[2,3]")
      refuses("result 0 'c': expected f32[m,n] with m = 2, n = 2, got f32[3,3]", "matmul",
        { ccw.array "f32[2,3]", ccw.array "f32[3,2]" }, "f32[3,3]")
    end)

    it("what reads all before it writes does not take one memory for both", function()
      local function ones(type) return ccw.array(type, 1):to(device) end
      for name, operands in pairs { matmul = { ones "f32[2,2]", ones "f32[2,2]" }, transpose = { ones "s8[3,3]" },
        histogram = { ones "s32[4]" } } do
        local last, x = #operands - 1, operands[#operands]
        local _, err = ccw.try(ccw.call, lib[called(name)], operands, x, nil, { aliases = { [0] = last }, signature = false })
        assert.matches(("^%s: execute: result 0 '%%a+': expected memory of its own, got that of arg %d$"):format(called(name), last),
          err.message)
      end
      for name, operands in pairs { softmax = { ones "f32[2,2]" }, rms_norm = { ones "f32[2,2]", ones "f32[2]" } } do
        local x = operands[1]
        ccw.call(lib[called(name)], operands, x, name == "rms_norm" and { eps = ccw.f32(3) } or nil, { aliases = { [0] = 0 } })
        same(ccw.array("f32[2,2]", 0.5), x:to "host")
      end
    end)

    it("mandelbrot draws what it should", function()
      local function steps(x, y, limit)
        local re, im, n = 0.0, 0.0, 0
        while n < limit and re * re + im * im <= 4 do
          re, im, n = re * re - im * im + x, 2 * re * im + y, n + 1
        end
        return n
      end
      local function check(rows, cols, centre, width, limit)
        local type, pixel = ("s32[%d,%d]"):format(rows, cols), width / cols
        same(ccw.array(type, function(i, j)
          return steps(centre[1] + (j - 0.5 - cols / 2) * pixel, centre[2] - (i - 0.5 - rows / 2) * pixel, limit)
        end), call("mandelbrot", {}, type, { centre = ccw.f64(centre), width = width, limit = ccw.s32(limit) }))
      end
      check(33, 47, { -0.6, 0.0 }, 3.0, 60)
      check(16, 16, { -0.7436439, 0.1318259 }, 0.003, 300)
      check(3, 5, { 0.0, 0.0 }, 2.0, 0)
      check(0, 5, { 0.0, 0.0 }, 2.0, 5)
      check(5, 0, { 0.0, 0.0 }, 2.0, 5)
      for message, attributes in pairs {
        ["attribute 'centre': expected 2 numbers, got 1"] = { centre = ccw.f64 { 1 }, width = 1.0, limit = ccw.s32(1) },
        ["attribute 'width': expected more than 0, got 0"] = { centre = ccw.f64 { 1, 1 }, width = 0.0, limit = ccw.s32(1) },
        ["attribute 'limit': expected 0 or more, got -1"] = { centre = ccw.f64 { 1, 1 }, width = 1.0, limit = ccw.s32(-1) },
      } do
        refuses(message, "mandelbrot", {}, "s32[2,2]", attributes)
      end
    end)

    it("mandelbrot looks right when it is printed, up being up", function()
      local picture = call("mandelbrot", {}, "s32[24,48]", { centre = ccw.f64 { -0.6, 0.35 }, width = 3.0, limit = ccw.s32(40) })
      local lines = {}
      for i = 1, 24, 2 do -- a character is twice as high as it is wide
        local line = {}
        for j = 1, 48 do line[j] = picture[i][j] == 40 and "#" or picture[i][j] > 5 and "+" or picture[i][j] > 2 and "." or " " end
        lines[#lines + 1] = (table.concat(line):gsub(" +$", ""))
      end
      assert.equal([[
           ...................+++.......
         ....................+++++.........
       ...................+++++##++..........
     ..................+++++++###+++++++......
    .................+++###############++......
   ..........+++..+++++################++.......
  ..........+++++++++++#################++......
  .........++++#####++##################+.......
  ...+++++++++#########################++.......
  ..++++++++#+#########################++.......
  ........+++++######+##################+.......
  ..........+++++++++++################+++......
]], table.concat(lines, "\n") .. "\n")
    end)
  end)
end

describe("kernels/", function()
  local names = ccw.load(libraries.host):names()

  it("declares what launches device code as it is defined #plain", function()
    local function declaration(path, name)
      local file <close> = assert(io.open(("%s/kernels/%s"):format(support.root, path), "rb"))
      local found = file:read("a"):match("ccw_status " .. name .. "_launch(%b())")
      return found and found:gsub("%s+", " "):gsub("%( ", "(")
    end
    local count = 0
    for _, name in ipairs(names) do
      if support.exists(("%s/kernels/%s.cu"):format(support.root, name)) then
        assert.equal(declaration(name .. ".cu", name), (declaration(name .. ".c", name)))
        count = count + 1
      end
    end
    assert.equal(9, count)
  end)

  for vendor, what in pairs { cuda = "nvcc", rocm = "hipcc" } do
    it("has the same handlers with device code by " .. what .. ", which load where there is no GPU #plain", function()
      if not support.exists(libraries[vendor]) then return pending(what .. " is not here") end
      local lib = ccw.load(libraries[vendor])
      assert.same(names, lib:names())
      for _, name in ipairs(names) do
        assert.equal(tostring(ccw.load(libraries.host)[name].signature), tostring(lib[name].signature))
        if name:find "_device$" then assert.matches("command_buffer_compatible", tostring(lib[name]), 1, true) end
      end
      if families[vendor] or not families.sim then return end
      local x = ccw.f32 { 1 }:to(ccw.device("sim:0", { as = vendor:upper() }))
      local _, err = ccw.try(ccw.call, lib.add_mod_device, { x, x }, "f32[1]")
      ccw.device("sim:0", { as = "SIM" })
      assert.matches("^add_mod_device: execute: launch of add_mod: %a+Error%a+: ", err.message)
    end)
  end
end)

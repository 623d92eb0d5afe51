-- ccw.show: pictures of arrays.
local ccw = require "ccw"
local support = require "spec.support"

--- What a piece of Lua prints in the program, whose output is no terminal here.
local function printed(code)
  local path = support.write("draw.lua", ("local kernels, folder = %q, %q\n"):format(support.kernels, support.temporary()) .. code)
  return (support.sh(("LC_ALL=C '%s' '%s'"):format(support.program, path)))
end

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

describe("ccw.show", function()
  it("draws a matrix as shades of ten characters, from the lowest to the highest", function()
    assert.equal("f32[2,3], dim 0 down, dim 1 across: 1 (' ') to 6 ('@')\n1|  ::==|\n2|**%%@@|\n  1    3\n",
      printed "ccw.show(ccw.f32{{1, 2, 3}, {4, 5, 6}})")
    assert.equal("pred[2,2], dim 0 down, dim 1 across: 0 (' ') to 1 ('@')\n1|@@  |\n2|  @@|\n  1  2\n",
      printed "ccw.show(ccw.pred{{true, false}, {false, true}})")
    assert.equal("s32[1,1], dim 0 down, dim 1 across: 7 (' ') to 7 ('@')\n1|==|\n  1\n", printed "ccw.show(ccw.s32{{7}})")
  end)

  it("draws a vector as a plot", function()
    assert.equal("s32[4]: 1 to 4\n4|   *\n |  *\n | *\n1|*\n  1  4\n", printed "ccw.show(ccw.s32{1, 2, 3, 4}, {columns = 13, lines = 4})")
    assert.equal("s32[2]: 0 to 3\n3|   *\n |  *\n | *\n0|*\n  1  2\n", printed "ccw.show(ccw.s32{0, 3}, {columns = 13, lines = 4})")
    assert.equal("f32[1]: 2.5 to 2.5\n2.5|\n   |*\n2.5|\n    1\n", printed "ccw.show(ccw.f32{2.5}, {columns = 13, lines = 3})")
  end)

  it("draws with dots of braille where there is UTF-8", function()
    -- Eight dots each way, and eight numbers: each dot is one higher and one further than that before.
    assert.equal("s32[8]: 0 to 7\n7│  ⡠⠊\n0│⡠⠊\n  1  8\n",
      printed "ccw.show(ccw.iota 's32[8]', {columns = 13, lines = 2, utf8 = true})")
  end)

  it("draws half blocks in colours, a line of text for two of the matrix", function()
    -- The lowest colour is dark violet, 53 of the 256, the highest yellow, 220.
    local text = printed "ccw.show(ccw.s32{{0, 9}, {9, 0}}, {colour = true, columns = 6, lines = 1})"
    assert.equal("1│\27[38;5;53;48;5;220m▀\27[38;5;220;48;5;53m▀\27[0m│\n  1..2\n", text:match "\n(.*)$")
    assert.is_nil(printed "ccw.show(ccw.s32{{0, 9}})":find "\27")
  end)

  it("marks what is not finite, and leaves it out of the range", function()
    assert.equal("f32[2,3], dim 0 down, dim 1 across: 1 (' ') to 4 ('@'), 1 nan ('?'), 1 inf ('^'), 1 -inf ('v')\n" ..
      "1|  ??**|\n2|@@^^vv|\n  1    3\n", printed "ccw.show(ccw.f32{{1, 0/0, 3}, {4, 1/0, -1/0}})")
    assert.equal("f32[5]: 1 to 2, 1 nan ('?'), 1 inf ('^'), 1 -inf ('v')\n2|    *\n1|*\n | ?^v\n  1   5\n",
      printed "ccw.show(ccw.f32{1, 0/0, 1/0, -1/0, 2}, {columns = 14, lines = 2})")
    assert.equal("f32[1,2], dim 0 down, dim 1 across: nothing finite, 2 nan ('?')\n1|????|\n  1  2\n",
      printed "ccw.show(ccw.f32{{0/0, 0/0}})")
    assert.equal("f32[2]: nothing finite, 2 nan ('?')\n|\n|\n|? ?\n 1 2\n",
      printed "ccw.show(ccw.f32{0/0, 0/0}, {columns = 12, lines = 2})")
  end)

  it("is not misled by numbers whose difference does not fit", function()
    assert.equal("f64[1,3], dim 0 down, dim 1 across: -1e+308 (' ') to 1e+308 ('@')\n1|  ++@@|\n  1    3\n",
      printed "ccw.show(ccw.f64{{-1e308, 0, 1e308}})")
    assert.equal("u64[1,2], dim 0 down, dim 1 across: 1.84467e+19 (' ') to 1.84467e+19 ('@')\n1|  @@|\n  1  2\n",
      printed [[
        ccw.show(ccw.array("u64[1,2]", function(_, j) return ccw.u64(j == 1 and "18446744073709000000" or "18446744073709551615") end))]])
  end)

  it("draws complex numbers as their magnitudes", function()
    assert.equal("c64[1,2], dim 0 down, dim 1 across: 5 (' ') to 13 ('@')\n1|  @@|\n  1  2\n",
      printed "ccw.show(ccw.c64{{{3, 4}, {5, 12}}})")
  end)

  it("makes what is large smaller, and says how", function()
    -- Columns of pixels are 0, 1, 2, ...: of two each the mean is 0.5, 2.5, ...
    assert.equal("s32[8,40], dim 0 down, dim 1 across: 0 (' ') to 39 ('@'); a pixel is the mean of 1x2 elements",
      printed "ccw.show(ccw.iota('s32[8,40]', 1), {columns = 24, lines = 8})":match "^[^\n]*")
    assert.matches("a pixel is the mean of 64 or fewer of its 250x125 elements",
      printed "ccw.show(ccw.iota('s32[4096,4096]', 1), {columns = 40, lines = 20})", 1, true)
    assert.equal("s32[1000]: 0 to 999; a point is the range of 250 elements\n999|   *\n   |  *\n   | *\n  0|*\n    1..1000\n",
      (printed "ccw.show(ccw.iota 's32[1000]', {columns = 13, lines = 4})"))
    assert.matches("^u8%[3000000%]: 0 to 255, 0 ", (printed [[
      local x = ccw.array("u8[3000000]", 7)
      x.flat[1234567], x.flat[7654] = 255, 0
      ccw.show(x)]]:gsub("255;", "255, 0 "))) -- not one of them is lost
  end)

  it("finds an infinity among many", function()
    assert.matches("f32[1000000]: 1 to 1, 1 nan ('?'), 1 inf ('^')", printed [[
      local x = ccw.array("f32[1000000]", 1)
      x[500000], x[123] = 1/0, 0/0
      ccw.show(x)]], 1, true)
  end)

  it("draws the first matrix of more dims, and says so; and nothing where there is nothing", function()
    assert.equal("s32[2,2,1,2] has 4 dims: this is x[1][1], its first matrix\ns32[1,2], dim 0 down, dim 1 across: 0 (' ') to 1 ('@')\n" ..
      "1|  @@|\n  1  2\n", printed "ccw.show(ccw.iota 's32[2,2,1,2]')")
    assert.equal("f32[0,3] has no elements to draw\nf32[] 0 is one number, not drawn\n",
      printed "ccw.show(ccw.array('f32[0,3]')) ccw.show(ccw.array('f32[]'))")
  end)

  it("copies what is on a device, and gives nothing", function()
    assert.equal("s32[1,2], dim 0 down, dim 1 across: 0 (' ') to 1 ('@')\n1|  @@|\n  1  2\n0\n",
      printed "print(select('#', ccw.show(ccw.iota('s32[1,2]'):to 'sim:0')))")
  end)

  it("shows the set of Mandelbrot the way it is: in the middle, black, and as wide below as above", function()
    local text = printed [[ccw.show(ccw.call(ccw.load(kernels).mandelbrot, {}, "s32[21,43]", {centre = {-0.5, 0}, width = 3, limit = 9}),
      {columns = 100, lines = 21})]]
    local lines = {}
    for line in text:gmatch "\n *%d*|([^|]*)|" do lines[#lines + 1] = line end
    assert.equal(21, #lines)
    for i = 1, 21 do assert.equal(lines[i], lines[22 - i]) end
    assert.equal("@@", lines[11]:sub(43, 44))
    assert.equal(" ", lines[1]:sub(1, 1))
    assert.is_true(select(2, lines[11]:gsub("@", "")) > select(2, lines[5]:gsub("@", "")))
  end)

  it("writes SVG in place of drawing", function()
    assert.equal("wrote " .. support.temporary() .. "/x.svg\n", printed "ccw.show(ccw.s32{{0, 9, 9}}, {svg = folder .. '/x.svg'})")
    assert.equal([[
<svg xmlns="http://www.w3.org/2000/svg" width="680" height="280" viewBox="0 0 680 280" font-family="sans-serif" font-size="12">
<rect width="680" height="280" fill="white"/>
<text x="40" y="28" text-anchor="start">s32[1,3]: 0 to 9</text>
<g transform="translate(40 40)" shape-rendering="crispEdges">
<rect x="0" y="0" width="200" height="200" fill="#440154"/>
<rect x="200" y="0" width="400" height="200" fill="#fde725"/>
</g>
<text x="34" y="52" text-anchor="end">1</text>
<text x="40" y="256" text-anchor="start">1</text>
<text x="640" y="256" text-anchor="end">3</text>
</svg>
]], read(support.temporary() .. "/x.svg"))
    printed "ccw.show(ccw.f32{0, 1, 0/0, 4, 2}, {svg = folder .. '/x.svg'})"
    local text = read(support.temporary() .. "/x.svg")
    assert.matches('<polyline points="0,300 150,225"/>\n<polyline points="450,0 600,150"/>', text, 1, true) -- broken at the nan
    assert.matches(">f32[5]: 0 to 4, 1 nan</text>", text, 1, true)
  end)

  it("writes SVG that is XML, and not too much of it", function()
    if not support.sh "python3 --version":find "^Python 3" then return pending "python3 is not here" end
    printed [[ccw.show(ccw.random("f32[1000,3000]", 1), {svg = folder .. "/m.svg"})
      ccw.show(ccw.random("f32[100000]", 1), {svg = folder .. "/v.svg"})]]
    for _, name in ipairs { "m", "v" } do
      local path = ("%s/%s.svg"):format(support.temporary(), name)
      local output, good = support.sh(("python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' '%s'"):format(path))
      assert.is_true(good, output)
      assert.is_true(#read(path) < 2 << 20)
    end
  end)

  it("refuses what it cannot draw, and options that it does not know", function()
    support.refuses("bad argument #1 to 'show' (expected a buffer, got table)", ccw.show, {})
    support.refuses("bad argument #1 to 'show' (expected a buffer, got nil)", ccw.show)
    support.refuses("bad argument #1 to 'show' (expected a buffer, got type)", ccw.show, ccw.type "f32[2]")
    support.refuses("bad argument #1 to 'show' (a token holds nothing)", ccw.show, ccw.array "token[]")
    support.refuses("bad argument #2 to 'show' (no option is called 'color'; near: colour)", ccw.show, ccw.f32{1}, {color = true})
    support.refuses("bad argument #2 to 'show' (columns: expected 1 to 10000, got 0)", ccw.show, ccw.f32{1}, {columns = 0})
    local closed = ccw.f32{1}
    closed:close()
    support.refuses("bad argument #1 to 'show' (this buffer is closed)", ccw.show, closed)
    local _, err = ccw.try(ccw.show, ccw.f32{1}, {svg = "/nowhere/x.svg"})
    assert.equal("UNAVAILABLE: cannot write '/nowhere/x.svg': No such file or directory", tostring(err))
  end)
end)

--- A call on the GPU: work that is queued                                               10 minutes
-- Guide: Create a custom call on GPU

-- On a GPU the handler still runs on the host. Its operands are on the device, out of the host's reach; what it does is to
-- queue work on a stream. You need no GPU for it: "sim:0" is a simulated one, and stricter than a real one.
local x = ccw.iota "f32[5]":to "sim:0"
print(x)                                                --> f32[5] {0, 1, 2, 3, 4} on sim:0
print(select(2, pcall(function() return x[1] end)):match "this .*")
--> this buffer is on sim:0: its elements are to be had from x:to "host"

-- Needs: a C++ compiler

-- The guide's kernel, with what it lacks as it is printed: a type, void, and the check that there is something for the last
-- threads to do. Their number is a multiple of the size of a block, and n need not be one. Its function lacks what the one
-- for the CPU lacks, and is mended in the same way.
local kernel = ccw.kernel{name = "add_mod", source = [[
__global__ void add_mod(const float *b, int k, const float *c, float *a, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = b[i % k] + c[i];
}]]}
print(kernel)   --> add_mod(b: const f32*, k: s32, c: const f32*, a: f32*, n: s32)

-- The handler asks for the stream of the call, and launches there: blocks of 64 threads, as many as it takes.
local add_mod = ccw.bind "add_mod(@stream, b: f32[k], c: f32[n]) -> (a: f32[n])"
  :to(function(_, b, c, a) -- the launch goes to the stream of the call
    kernel{over = #c, block = 64, args = {b, #b, c, a, #c}}
  end)
local b, c = ccw.f32{10, 20}:to "sim:0", ccw.iota "f32[5]":to "sim:0"
print(ccw.call(add_mod, {b, c}))   --> f32[5] {10, 21, 12, 23, 14} on sim:0

-- What a kernel does out of bounds ends it, and the message names the thread. On a GPU you would learn less.
local careless = ccw.kernel{name = "careless", source = [[
__global__ void careless(float *y) { y[blockIdx.x * blockDim.x + threadIdx.x] = 1; }]]}
local y = ccw.array("f32[5]"):to "sim:0"
careless{grid = 1, block = 64, args = {y}}
local moved, err = ccw.try(y.to, y, "host")
print(err.code)   --> OUT_OF_RANGE
print(err.message:match "block %b(), thread %b(): [%a ]+ 20 bytes")
--> block (0,0,0), thread (5,0,0): writes past the end of 20 bytes
local device = ccw.device "sim:0":reset()

-- Work on one stream is done in its order. Work on two is not, until somebody waits: s:sync() has the host wait, and
-- t:wait(s:record()) has the stream t wait for what s was given so far.

-- Try to make arrays on "sim:0" again, since the reset took the old ones, and call add_mod with one of them on the host.

-- Your turn. Set `scale` to a kernel, scale(const float *x, float *y, float s, int n), y = s * x for n elements. It will be
-- launched with more threads than there are elements.
lesson.ask{"scale",
  try = function(scale)
    local from, to = lesson.numbers("f32[70]", 17):to "sim:0", ccw.array("f32[70]"):to "sim:0"
    scale{over = 70, block = 64, args = {from, to, 2.5, 70}}
    return to:to "host"
  end,
  hints = {
    "ccw.kernel{name = \"scale\", source = [[__global__ void scale(...) { ... }]]}",
    "if (i < n) y[i] = s * x[i];",
  },
  answer = [==[
scale = ccw.kernel{name = "scale", source = [[
__global__ void scale(const float *x, float *y, float s, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = s * x[i];
}]]}]==],
}

-- Now a handler. Write `negate`: x: f32[n] to y: f32[n], on the device, each element with the other sign. The lesson has a
-- kernel for it: flip{over = n, args = {x, y, n}}.
local flip = ccw.kernel{name = "flip", source = [[
__global__ void flip(const float *x, float *y, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = -x[i];
}]]}
lesson.ask{"negate",
  try = function(negate)
    return ccw.call(negate, {lesson.numbers("f32[9]", 18):to "sim:0"}, "f32[9]"),
      ccw.call(negate, {ccw.array("f32[1]", 2):to "sim:0"}, "f32[1]")
  end,
  hints = {
    "the function launches, and touches no element itself",
    "flip{over = #x, args = {x, y, #x}}: a launch in a handler goes to the stream of its call",
  },
  answer = [[
negate = ccw.bind "negate(x: f32[n]) -> (y: f32[n])":to(function(x, y)
  flip{over = #x, args = {x, y, #x}}
end)]],
}

-- And two streams. `twice` is a function of x, y, s and t: on the stream s it flips x into y, then on the stream t y into
-- x. flip takes stream = s. When it returns, the host is to see the x of before.
lesson.ask{"twice",
  try = function(twice)
    local device = ccw.device "sim:0"
    local from, to = lesson.numbers("f32[9]", 19):to(device), ccw.array("f32[9]"):to(device)
    twice(from, to, device:stream(), device:stream())
    return from:to "host", to:to "host"
  end,
  hints = {"t has to wait for s before its launch is queued: t:wait(s:record())", "and the host for t, at the end: t:sync()"},
  answer = [[
function twice(x, y, s, t)
  flip{over = #x, args = {x, y, #x}, stream = s}
  t:wait(s:record())
  flip{over = #x, args = {y, x, #x}, stream = t}
  t:sync()
end]],
}

-- CC-10 to CC-19: patterns, in C. spec/differential tries them beside those of XLA's own header.
local support = require "spec.support"

local compilers = { ["gcc -std=c11"] = "c", ["g++ -std=c++17"] = "cc", ["clang -std=c11"] = "c", ["clang++ -std=c++17"] = "cc" }

-- Each case is a block of C, and what it prints. x is f32[2,2,5,6], m is f32[2,3], q is s32[3,3]; TRY verifies one of them.
local cases = {}

cases["CC-10 lets a later word replace an earlier one of the same subject"] = { [[
  TRY(x, ccw_with_rank(ccw_with_dims(ccw_any(), &n, &n), 4));
  TRY(x, ccw_with_dims(ccw_with_dim(ccw_any(), 3, 7), 2, 2, 5, 6));
  TRY(x, ccw_with_dim(ccw_with_dims(ccw_any(), 2, 2, 5, 6), 3, 7));
  TRY(x, ccw_with_dtype(ccw_with_like(ccw_any(), x), s32));
  TRY(q, ccw_with_dtype(ccw_with_dtype(ccw_of(f32), f32, f64), s32));
  TRY(m, ccw_with_rank(ccw_with_rank(ccw_any(), 3), 1, 2));
]], [[
ok
ok
INVALID_ARGUMENT x: expected any[2,2,5,7], got f32[2,2,5,6]
INVALID_ARGUMENT x: expected s32[2,2,5,6], got f32[2,2,5,6]
ok
ok
]] }

cases["CC-10 leaves a pattern as it was"] = { [[
  const ccw_pattern matrix = ccw_of(f32, 2), vector = ccw_with_rank(matrix, 1);
  TRY(m, matrix);
  TRY(m, vector);
  TRY(m, ccw_with_dim(matrix, 0, 3));
  TRY(m, matrix);
]], [[
ok
INVALID_ARGUMENT m: expected f32[?], got f32[2,3]
INVALID_ARGUMENT m: expected f32[3,?], got f32[2,3]
ok
]] }

cases["CC-11 takes numbers of any integer type, captures, and any size"] = { [[
  const uint8_t two = 2;
  const size_t three = 3;
  const int64_t cols = 8;
  TRY(m, ccw_with_dims(ccw_any(), two, three));
  TRY(m, ccw_with_dims(ccw_any(), &n, CCW_ANY_SIZE));
  TRY(m, ccw_with_dims(ccw_any(), &n, cols));
  TRY(m, ccw_with_dims(ccw_any(), 0, three + 1));
  TRY(m, ccw_with_dims(ccw_any(), CCW_ANY_SIZE, -3));
]], [[
ok
ok
INVALID_ARGUMENT m: expected any[n,cols] with cols = 8, got f32[2,3]
INVALID_ARGUMENT m: expected any[0,three + 1] with three + 1 = 4, got f32[2,3]
INVALID_ARGUMENT m: expected any[?,-3], got f32[2,3]
]] }

cases["CC-12 fixes the rank by the number of dims"] = { [[
  TRY(m, ccw_with_dims(ccw_any(), 2, 3));
  TRY(m, ccw_with_dims(ccw_any(), 2));
  TRY(m, ccw_with_dims(ccw_any()));
  TRY(m, ccw_dims(&n, &k, &k));
]], [[
ok
INVALID_ARGUMENT m: expected any[2], got f32[2,3]
INVALID_ARGUMENT m: expected any[], got f32[2,3]
INVALID_ARGUMENT m: expected any[n,k,k], got f32[2,3]
]] }

cases["CC-13 speaks of one dim, and leaves the rank free above it"] = { [[
  TRY(m, ccw_with_dim(ccw_any(), 1, 3));
  TRY(x, ccw_with_dim(ccw_any(), 1, 3));
  TRY(m, ccw_with_dim(ccw_any(), 2, &n));
  TRY(x, ccw_with_dim(ccw_with_rank(ccw_of(f32), 3, 4), 2, 6));
  TRY(x, ccw_with_dim(ccw_any(), -1, 6));
]], [[
ok
INVALID_ARGUMENT x: expected any[?,3,*], got f32[2,2,5,6]
INVALID_ARGUMENT m: expected any[?,?,n,*], got f32[2,3]
INVALID_ARGUMENT x: expected f32[?,?,6,*3|4], got f32[2,2,5,6]
INTERNAL x: the pattern is no good: it speaks of a dim that is below 0 or too far
]] }

cases["CC-14 takes the same capture twice for equal sizes"] = { [[
  TRY(q, ccw_dims(&n, &n));
  printf("n = %d\n", (int)n);
  TRY(m, ccw_dims(&n, &n));
  TRY(x, ccw_dims(&n, &n, &k, &n));
]], [[
ok
n = 3
INVALID_ARGUMENT m: expected any[n,n], got f32[2,3]
INVALID_ARGUMENT x: expected any[n,n,k,n], got f32[2,2,5,6]
]] }

cases["CC-15 captures when everything has matched, and nothing before"] = { [[
  TRY(x, ccw_dims(&n, 2, &k, 7));
  printf("n = %d, k = %d\n", (int)n, (int)k);
  ccw_arg_s32 s = {NULL, NULL, 0, NULL};
  show(ccw_match_arg(s32, "m", m, ccw_with_dims(ccw_of(s32), &n, &k), &s));
  printf("n = %d, k = %d, s.rank = %d\n", (int)n, (int)k, (int)s.rank);
  TRY(x, ccw_dims(&n, 2, &k, 6));
  printf("n = %d, k = %d\n", (int)n, (int)k);
]], [[
INVALID_ARGUMENT x: expected any[n,2,k,7], got f32[2,2,5,6]
n = -1, k = -1
INVALID_ARGUMENT m: expected s32[n,k], got f32[2,3]
n = -1, k = -1, s.rank = 0
ok
n = 2, k = 5
]] }

cases["CC-16 copies a shape, or a shape and a dtype"] = { [[
  TRY(m, ccw_shape_of(m));
  TRY(m, ccw_like(m));
  TRY(q, ccw_shape_of(m));
  TRY(q, ccw_with_dim(ccw_with_dim(ccw_shape_of(m), 0, 3), 1, &n));
  TRY(q, ccw_with_dim(ccw_with_dim(ccw_like(m), 0, 3), 1, &n));
]], [[
ok
ok
INVALID_ARGUMENT q: expected any[2,3], got s32[3,3]
ok
INVALID_ARGUMENT q: expected f32[3,n], got s32[3,3]
]] }

cases["CC-17 refines to the dtype and rank that the pattern gives, and to no other"] = { [[
  ccw_arg_f32 f = {NULL, NULL, 0, NULL};
  show(ccw_match_arg(f32, "m", m, ccw_of(f32, 2), &f));
  printf("%d, %d\n", (int)f.dims[1], f.data == m.data);
  show(ccw_match_arg(f32, "m", m, ccw_with_dims(ccw_of(f32), &n, &k), &f));
  show(ccw_match_arg(f32, "m", m, ccw_of(f32, 3), &f));
  show(ccw_match_arg(f32, "m", m, ccw_of(f32), &f));
  show(ccw_match_arg(f32, "m", m, ccw_of(f32, any), &f));
  show(ccw_match_arg(f32, "m", m, ccw_with_rank(ccw_of(f32), 1, 2), &f));
  show(ccw_match_arg(f32, "m", m, ccw_with_rank(ccw_with_dtype(ccw_any(), f32, f64), 2), &f));
  show(ccw_match_arg(f32, "m", m, ccw_of(s32, 2), &f));
  show(ccw_match_arg(f32, "m", m, ccw_like(m), &f));
  show(ccw_match_arg(f32, "m", m, ccw_with_shape_of(ccw_of(f32, 2), m), &f));
  show(ccw_match_arg(f32, "m", m, ccw_with_rank(ccw_with_dtype(ccw_like(m), f32), 2), &f));
]], [[
ok
3, 1
ok
INVALID_ARGUMENT m: expected f32[?,?,?], got f32[2,3]
INTERNAL m: a match needs a pattern that gives the dtype f32 and one rank itself, got f32[*]
INTERNAL m: a match needs a pattern that gives the dtype f32 and one rank itself, got f32[*]
INTERNAL m: a match needs a pattern that gives the dtype f32 and one rank itself, got f32[*1|2]
INTERNAL m: a match needs a pattern that gives the dtype f32 and one rank itself, got f32|f64[?,?]
INTERNAL m: a match needs a pattern that gives the dtype f32 and one rank itself, got s32[?,?]
INTERNAL m: a match needs a pattern that gives the dtype f32 and one rank itself, got f32[2,3]
INTERNAL m: a match needs a pattern that gives the dtype f32 and one rank itself, got f32[2,3]
ok
]] }

cases["CC-17 keeps the type of what has one, and works on results"] = { [[
  ccw_arg_f32 f = {NULL, NULL, 0, NULL}, g = f;
  show(ccw_match_arg(f32, "m", m, ccw_of(f32, 2), &f));
  show(ccw_match_arg(f32, "f", f, ccw_any(), &g));
  show(ccw_match_arg(f32, "f", f, ccw_with_dims(ccw_any(), 2, 4), &g));
  show(ccw_match_arg(f32, "f", f, ccw_of(s32), &g));
  ccw_ret_any y = {m.buffer->data, m.dims, m.rank, m.buffer};
  ccw_ret_f32 z = {NULL, NULL, 0, NULL};
  show(ccw_match_ret(f32, "y", y, ccw_any(), &z));
  show(ccw_match_ret(f32, "y", y, ccw_of(f32, 2), &z));
  z.data[5] = 7;
  printf("%d\n", (int)((const float *)m.data)[5]);
]], [[
ok
ok
INVALID_ARGUMENT f: expected any[2,4], got f32[2,3]
INVALID_ARGUMENT f: expected s32[*], got f32[2,3]
INTERNAL y: a match needs a pattern that gives the dtype f32 and one rank itself, got any[*]
ok
7
]] }

cases["CC-18 verifies against alternatives"] = { [[
  const ccw_pattern indices = ccw_with_rank(ccw_with_dtype(ccw_any(), s32, s64), 1, 2);
  TRY(q, indices);
  TRY(m, indices);
  TRY(x, ccw_with_rank(ccw_any(), 1, 2));
]], [[
ok
INVALID_ARGUMENT m: expected s32|s64[*1|2], got f32[2,3]
INVALID_ARGUMENT x: expected any[*1|2], got f32[2,2,5,6]
]] }

cases["CC-19 names what failed, its pattern and what came"] = { [[
  TRY(m, ccw_of(f32, 1));
  show(ccw_verify("the weights", m, ccw_with_dims(ccw_of(bf16), &n, 128)));
  ccw_arg_any absent = {NULL, NULL, 0, NULL};
  TRY(absent, ccw_of(f32));
]], [[
INVALID_ARGUMENT m: expected f32[?], got f32[2,3]
INVALID_ARGUMENT the weights: expected bf16[n,128], got f32[2,3]
INVALID_ARGUMENT absent: expected f32[*], got no buffer
]] }

local head = [[
#include <ccw/handler.h>

static void show(ccw_status status)
{
  if (!status.code) printf("ok\n");
  else printf("%s %s\n", ccw_code_name(status.code), ccw_status_text(status));
  ccw_status_free(status);
}

static ccw_status verify(const char *name, ccw_arg_any x, ccw_pattern pattern) { return ccw_verify(name, x, pattern); }
#define TRY(x, pattern) show(verify(#x, x, pattern))

static float numbers[120];
#define BUFFER(x, type, ...) \
  static int64_t x##_dims[] = {__VA_ARGS__}; \
  static XLA_FFI_Buffer x##_buffer = {XLA_FFI_Buffer_STRUCT_SIZE, NULL, XLA_FFI_DataType_##type, numbers, \
      sizeof x##_dims / sizeof *x##_dims, x##_dims}; \
  static const ccw_arg_any x = {numbers, x##_dims, sizeof x##_dims / sizeof *x##_dims, &x##_buffer};
BUFFER(x, F32, 2, 2, 5, 6)
BUFFER(m, F32, 2, 3)
BUFFER(q, S32, 3, 3)

]]

local names = {}
for name in pairs(cases) do names[#names + 1] = name end
table.sort(names)

--- One program of all cases, a line of dashes between what they print.
local function program()
  local functions, calls = {}, {}
  for i, name in ipairs(names) do
    functions[i] = ("static void case_%d(void)\n{\n  int64_t n = -1, k = -1;\n%s  (void)n, (void)k;\n}\n"):format(i, cases[name][1])
    calls[i] = ("  case_%d();\n  printf(\"----\\n\");\n"):format(i)
  end
  return head .. table.concat(functions, "\n") .. "\nint main(void)\n{\n" .. table.concat(calls) .. "  return 0;\n}\n"
end

for compiler, extension in pairs(compilers) do
  describe("a pattern, compiled with " .. compiler .. " #plain", function()
    local printed = {}
    setup(function()
      local source = support.write("match." .. extension, program())
      local flags = "-O1 -Wall -Wextra -Wpedantic -Wconversion -Werror -fsanitize=address,undefined -fno-sanitize-recover=all"
      local output, good = support.sh(("%s %s -I%s/core/include '%s' -o '%s.out' && '%s.out'"):format(compiler, flags,
        support.root, source, source, source))
      assert.is_true(good, output)
      for text in output:gmatch "(.-)%-%-%-%-\n" do printed[#printed + 1] = text end
    end)

    for i, name in ipairs(names) do
      it(name, function() assert.equal(cases[name][2], printed[i]) end)
    end

    it("CC-15 lets captures be declared without a value, and warns of none", function()
      local source = support.write("capture." .. extension, [[
#include <ccw/handler.h>

CCW_HANDLER(captures, ARG(any, any, x), ARG(any, any, w), RET(f32, any, y))
{
  int64_t rows, cols, depth;
  CCW_TRY(ccw_verify("x", x, ccw_with_dims(ccw_of(f32), &rows, &cols)));
  CCW_TRY(ccw_verify("y", y, ccw_dims(rows, &depth)));
  CCW_TRY_LET(ccw_arg_f32, matrix, ccw_match_arg, f32, "w", w, ccw_with_dims(ccw_of(f32), cols, depth));
  y.data[0] = (float)(rows * cols * depth) + matrix.data[0];
  return ccw_ok();
}
]])
      for _, level in ipairs { "-O0", "-O2", "-O3" } do
        local output, good = support.sh(("%s %s -Wall -Wextra -Wpedantic -Werror -I%s/core/include -c '%s' -o /dev/null")
          :format(compiler, level, support.root, source))
        assert.is_true(good, output)
      end
    end)
  end)
end

describe("CC-10 to CC-18 patterns of ours and of XLA's header #plain", function()
  it("agree on every buffer, in verdict, captures and refinement", function()
    local compare = support.build .. "/spec/patterns"
    if not support.exists(compare) then return pending "it is built with gcc, and needs the official headers" end
    local output, good = support.sh("'" .. compare .. "'")
    assert.is_true(good, output)
    local counts = "^300 patterns, 30000 pairs: (%d+) match, (%d+) of them with captures, (%d+) are refined, " ..
      "(%d+) have nothing to refine to, 0 disagree\n$"
    local match, captured, refined, unrefinable = output:match(counts)
    assert.is_truthy(match, output)
    -- Enough of each for the agreement to mean something.
    assert.is_true(tonumber(match) > 6000 and tonumber(match) < 24000, output)
    assert.is_true(tonumber(captured) > 2000, output)
    assert.is_true(tonumber(refined) > 2000, output)
    assert.is_true(tonumber(unrefinable) > 2000, output)
  end)
end)

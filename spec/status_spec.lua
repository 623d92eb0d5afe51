-- CC-5, CC-6: the status of handler.h, in C and in C++.
local support = require "spec.support"

local program = [[
#include <ccw/handler.h>

static ccw_status inner(int fail) { return fail ? ccw_data_loss("lost %d of %s", 3, "them") : ccw_ok(); }
static ccw_status outer(int fail)
{
  CCW_TRY(inner(fail));
  return ccw_ok();
}
static void show(ccw_status status)
{
  printf("%d %s [%s]\n", (int)status.code, ccw_code_name(status.code), ccw_status_text(status));
  ccw_status_free(status);
}

int main(void)
{
  show(ccw_cancelled("1")); show(ccw_unknown("2")); show(ccw_invalid("3")); show(ccw_deadline_exceeded("4"));
  show(ccw_not_found("5")); show(ccw_already_exists("6")); show(ccw_permission_denied("7"));
  show(ccw_resource_exhausted("8")); show(ccw_failed_precondition("9")); show(ccw_aborted("10"));
  show(ccw_out_of_range("11")); show(ccw_unimplemented("12")); show(ccw_internal("13")); show(ccw_unavailable("14"));
  show(ccw_data_loss("15")); show(ccw_unauthenticated("16")); show(outer(0)); show(outer(1));
  show(ccw_status_from_text(XLA_FFI_Error_Code_ABORTED, "100%s\0x", 7));
  printf("%s\n", ccw_code_name((XLA_FFI_Error_Code)17) ? "a name" : "no name");
  return 0;
}
]]

local expected = [[
1 CANCELLED [1]
2 UNKNOWN [2]
3 INVALID_ARGUMENT [3]
4 DEADLINE_EXCEEDED [4]
5 NOT_FOUND [5]
6 ALREADY_EXISTS [6]
7 PERMISSION_DENIED [7]
8 RESOURCE_EXHAUSTED [8]
9 FAILED_PRECONDITION [9]
10 ABORTED [10]
11 OUT_OF_RANGE [11]
12 UNIMPLEMENTED [12]
13 INTERNAL [13]
14 UNAVAILABLE [14]
15 DATA_LOSS [15]
16 UNAUTHENTICATED [16]
0 OK []
15 DATA_LOSS [lost 3 of them]
10 ABORTED [100%s]
no name
]]

describe("CC-6 ccw_status", function()
  for compiler, file in pairs { ["gcc -std=c11"] = "status.c", ["g++ -std=c++17"] = "status.cc",
    ["clang -std=c11"] = "status.c", ["clang++ -std=c++17"] = "status.cc" } do
    it("has a constructor for every code, and leaks nothing, with " .. compiler, function()
      local source = support.write(file, program)
      local flags = "-Wall -Wextra -Wpedantic -Werror -fsanitize=address,undefined"
      local output, good = support.sh(("%s %s -I%s/core/include '%s' -o '%s.out' && '%s.out'"):format(compiler, flags,
        support.root, source, source, source))
      assert.is_true(good, output)
      assert.equal(expected, output)
    end)
  end

  it("must be used", function()
    local source = support.write("unused.c", "#include <ccw/ccw.h>\nint main(void)\n{\n  ccw_shape s;\n" ..
      "  ccw_shape_make(XLA_FFI_DataType_F32, NULL, 0, &s);\n  return 0;\n}\n")
    local output, good = support.sh(("gcc -std=c11 -Wall -Werror -c -o /dev/null -I%s/core/include '%s'"):format(support.root, source))
    assert.is_false(good)
    assert.matches("warn_unused_result", output, 1, true)
  end)
end)

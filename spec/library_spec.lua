-- CC-29, CC-35: where handlers come from.
local ccw = require "ccw"
local support = require "spec.support"

local function failure(...)
  local value, err = ccw.try(...)
  assert.is_nil(value)
  return err
end

describe("ccw.load", function()
  it("takes a path first, then the name of a library", function()
    assert.matches("libccw_kernels.so$", ccw.load(support.kernels):path())
    local folder = support.temporary()
    support.sh(("cp '%s' '%s/libccw_spec_found.so'"):format(support.kernels, folder))
    local command = "cd '%s' && LD_LIBRARY_PATH=%s '%s' -e 'print(ccw.load(\"%s\"):path())'"
    local program = support.sh(("realpath '%s'"):format(support.program)):gsub("\n", "")
    assert.equal(folder .. "/libccw_spec_found.so\n", (support.sh(command:format("/", folder, program, "ccw_spec_found"))))
    assert.equal(folder .. "/libccw_spec_found.so\n", (support.sh(command:format("/", folder, program, "libccw_spec_found.so"))))
    assert.equal("libccw_spec_found.so\n", (support.sh(command:format(folder, "", program, "libccw_spec_found.so"))))
  end)

  it("says why a library does not load", function()
    assert.equal("NOT_FOUND: ./nowhere.so: no such file, and no library of that name", tostring(failure(ccw.load, "./nowhere.so")))
    assert.equal("NOT_FOUND: nowhere: no such file, and no library of that name", tostring(failure(ccw.load, "nowhere")))
    assert.equal("NOT_FOUND: a library's path is empty", tostring(failure(ccw.load, "")))
    local text = support.write("text.so", "this is no library\n")
    assert.equal(("INVALID_ARGUMENT: %s: not a shared library (it has no ELF header)"):format(text), tostring(failure(ccw.load, text)))
    local empty = support.write("empty.so", "")
    assert.equal(("INVALID_ARGUMENT: %s: not a shared library (it has no ELF header)"):format(empty), tostring(failure(ccw.load, empty)))
    assert.equal(("INVALID_ARGUMENT: %s: a folder, not a library"):format(support.temporary()),
      tostring(failure(ccw.load, support.temporary())))
    local needs = support.library "needs_library"
    assert.equal(("FAILED_PRECONDITION: %s: needs libabsent.so, which is not there"):format(needs), tostring(failure(ccw.load, needs)))
    needs = support.library "needs_symbol"
    assert.equal(("FAILED_PRECONDITION: %s: needs the symbol ccw_spec_absent, which nothing that it links to defines"):format(needs),
      tostring(failure(ccw.load, needs)))
  end)

  it("takes regular files only", function()
    local fifo = support.temporary() .. "/fifo.so"
    support.sh(("mkfifo '%s'"):format(fifo))
    assert.equal(("INVALID_ARGUMENT: %s: no regular file, not a library"):format(fifo), tostring(failure(ccw.load, fifo)))
    assert.equal("INVALID_ARGUMENT: /dev/zero: no regular file, not a library", tostring(failure(ccw.load, "/dev/zero")))
    assert.matches("libm.so: not a shared library (perhaps a linker script", failure(ccw.load, "m").message, 1, true)
  end)

  it("says how a Python module is loaded", function()
    local klujax = support.sh(("ls '%s'/klujax_cpp.*.so 2>/dev/null"):format(os.getenv "CCW_KLUJAX" or "")):match "[^\n]+"
    if not klujax then return pending "klujax could not be had" end
    local output = support.sh(("'%s' -e 'ccw.load(%q)'"):format(support.program, klujax))
    assert.matches("which nothing that it links to defines; a Python extension module is loaded as python:" .. klujax, output,
      1, true)
  end)

  it("loads a file anew when it has changed, beside the old code", function()
    local function build(value, extra)
      local source = support.write("rebuilt.c", ([[
        #include "%s/spec/handlers/plain.h"
        EXPORT XLA_FFI_Error *answer(XLA_FFI_CallFrame *frame);
        XLA_FFI_Error *answer(XLA_FFI_CallFrame *frame)
        {
          if (answer_metadata(frame)) return NULL;
          *(float *)((const XLA_FFI_Buffer *)frame->rets.rets[0])->data = %d;
          return NULL;
        }
        __attribute__((constructor)) static void register_it(void)
        {
          const XLA_FFI_Api *api = XLA_FFI_GetApi();
          XLA_FFI_Handler_Register_Args args = {.struct_size = XLA_FFI_Handler_Register_Args_STRUCT_SIZE,
            .name = {"rebuilt", 7}, .platform = {"Host", 4}, .bundle = {.execute = answer}};
          api->XLA_FFI_Handler_Register(&args);
        }
        %s]]):format(support.sh(("realpath '%s'"):format(support.root)):gsub("\n", ""), value, extra or ""))
      local path = support.temporary() .. "/librebuilt.so"
      local output, good = support.sh(("gcc -shared -fPIC -w -I'%s/core/include' -o '%s' '%s'"):format(support.root, path, source))
      assert.is_true(good, output)
      return path
    end
    local old = ccw.load(build(1))
    local old_answer = old.answer
    assert.equal(1, ccw.call("rebuilt", {}, "f32[]"):item())
    for value = 2, 4 do -- written over in place, as compilers do
      local new = ccw.load(build(value, "EXPORT XLA_FFI_Error *fresh(XLA_FFI_CallFrame *f);\n" ..
        "XLA_FFI_Error *fresh(XLA_FFI_CallFrame *f) { return answer(f); }"))
      assert.equal(value, ccw.call(new.answer, {}, "f32[]"):item())
      assert.equal(value, ccw.call(new.fresh, {}, "f32[]"):item())
      assert.same({ "rebuilt on Host" }, new:registered())
      assert.equal(value, ccw.call("rebuilt", {}, "f32[]"):item()) -- its own name, taken over from the old code
      assert.equal(value, ccw.call(ccw.load(new:path()).answer, {}, "f32[]"):item())
    end
    assert.equal("f32[] 1", tostring(ccw.call(old_answer, {}, "f32[]")):gsub("nan", "1"))
  end)

  it("finds functions in a library wherever it was linked to lie", function()
    local path = support.temporary() .. "/libelsewhere.so"
    local output, good = support.sh(("gcc -shared -fPIC -w -Wl,-Ttext-segment=0x10000000 -I'%s/core/include' -o '%s' '%s/kernels/scale.c'")
      :format(support.root, path, support.root))
    assert.is_true(good, output)
    assert.equal("scale", ccw.load(path).scale.name)
  end)

  it("refuses a path that is longer than a path can be", function()
    assert.equal("INVALID_ARGUMENT: a library's path may have 4095 bytes, this has 20000000",
      tostring(failure(ccw.load, ("x"):rep(20000000))))
  end)

  it("survives files that are cut or damaged", function()
    local file <close> = assert(io.open(support.kernels, "rb"))
    local bytes = file:read "a"
    local zeros = support.write("zeros.so", bytes:sub(1, 4096) .. ("\0"):rep(#bytes - 4096)) -- as of a download that stopped
    assert.equal(("INVALID_ARGUMENT: %s: a damaged shared library, without a table of symbols"):format(zeros),
      tostring(failure(ccw.load, zeros)))
    for _, length in ipairs { 4, 16, 52, 63, 64, 100, 1000, 4096, #bytes // 2 } do
      local path = support.write("cut.so", bytes:sub(1, length))
      local value, err = ccw.try(ccw.load, path) -- what is cut behind all segments is a library still
      assert.is_true(value ~= nil or err.code == "INVALID_ARGUMENT")
      assert.is_true(pcall(ccw.try, require "ccw.core".file_names, path))
    end
    local machine = support.write("machine.so", bytes:sub(1, 18) .. "\xF3\0" .. bytes:sub(21))
    assert.equal(("INVALID_ARGUMENT: %s: a shared library for another machine (ELF machine 243)"):format(machine),
      tostring(failure(ccw.load, machine)))
    local object = support.write("object.so", bytes:sub(1, 16) .. "\1\0" .. bytes:sub(19))
    assert.equal(("INVALID_ARGUMENT: %s: an ELF file, but not a shared library"):format(object), tostring(failure(ccw.load, object)))
  end)
end)

describe("a library", function()
  local lib = ccw.load(support.library "plain")

  it("lists what could be a handler", function()
    local names, files = {}, {}
    for _, name in ipairs(ccw.load(support.kernels):names()) do names[name] = true end
    for name, kind in support.sh(("ls '%s/kernels'"):format(support.root)):gmatch "([%w_]+)%.(cu?)\n" do
      files[kind == "c" and name or name .. "_device"] = true
    end
    assert.same(files, names)
    assert.is_true(names.add_mod and names.add_mod_device)
    assert.matches("libccw_kernels.so\n  add_mod%(b: f32%[%?%], c: f32%[%?%]%) %-> %(a: f32%[%?%]%)\n  add_mod_device%(",
      tostring(ccw.load(support.kernels)))
  end)

  it("gives handlers by name, also those whose names mean something else", function()
    assert.equal("nothing", lib.nothing.name)
    assert.equal("nothing", lib:handler("nothing").name)
    assert.equal("function", type(lib.handler))
    assert.matches("^nothing %(FFI 0.1; [^\n]*libplain.so%)$", tostring(lib.nothing))
  end)

  it("does not find what is not there, and says what is near", function()
    local path = lib:path()
    assert.equal(("NOT_FOUND: %s: exports no 'nothin'; near: nothing"):format(path), tostring(failure(lib.handler, lib, "nothin")))
    assert.equal(("NOT_FOUND: %s: exports no 'zzz'"):format(path), tostring(failure(function() return lib.zzz end)))
    assert.equal(("INVALID_ARGUMENT: %s: 'some_data' is data, not a function"):format(path),
      tostring(failure(lib.handler, lib, "some_data")))
    assert.equal(("INVALID_ARGUMENT: %s: 'some_label' is data, not a function"):format(path),
      tostring(failure(lib.handler, lib, "some_label"))) -- a symbol that does not say what it is
    assert.equal(("NOT_FOUND: %s: links to, but does not hold, 'malloc'"):format(path),
      tostring(failure(lib.handler, lib, "malloc")))
  end)

  it("is closed by close()", function()
    local other = ccw.load(support.kernels)
    local scale = other.scale
    other:close()
    other:close()
    assert.equal("f32[1] {6}", tostring(ccw.call(scale, { ccw.f32 { 3 } }, "f32[1]", { s = ccw.f32(2) })))
    local ok, message = pcall(function() return other.scale end)
    assert.is_false(ok)
    assert.matches("this library is closed", message, 1, true)
    assert.equal("closed library", tostring(other))
  end)
end)

describe("ccw inspect", function()
  local function inspect(arguments) return support.sh(("'%s' inspect %s"):format(support.program, arguments)) end

  it("lists exported functions, and says why they cannot be asked", function()
    local needs = support.library "needs_library"
    local output, good = inspect(("'%s'"):format(needs))
    assert.is_true(good)
    assert.equal(("needs: FAILED_PRECONDITION: %s: needs libabsent.so, which is not there\n"):format(needs), output)
  end)

  it("tells API version and traits of those that are named", function()
    local output, good = inspect(("'%s' recordable nothing"):format(support.library "plain"))
    assert.is_true(good)
    assert.matches("^recordable %(FFI 0.1; command_buffer_compatible; [^\n]*libplain.so%)\n  it carries no signature, [^\n]*\n" ..
      "nothing %(FFI 0.1; [^\n]*%)\n  it carries no signature, [^\n]*\n$", output)
    output, good = inspect(("'%s' scale"):format(support.kernels))
    assert.is_true(good)
    assert.matches("^scale%(x: f32%[%?%]%) %-> %(y: f32%[%?%]%) {s: f32}\n  %(FFI 0.1; [^\n]*libccw_kernels.so%)\n$", output)
  end)

  it("reports what cannot be asked", function()
    local plain = support.library "plain"
    local output, good = inspect(("'%s' silent nothing absent"):format(plain))
    assert.is_false(good)
    assert.matches("silent: error: INVALID_ARGUMENT: silent: it did not answer the metadata query", output, 1, true)
    assert.matches("\nnothing (FFI 0.1; ", output, 1, true)
    assert.matches(("absent: error: NOT_FOUND: %s: exports no 'absent'"):format(plain), output, 1, true)
    output, good = inspect "nowhere.so"
    assert.is_false(good)
    assert.equal("ccw: NOT_FOUND: nowhere.so: no such file, and no library of that name\n", output)
  end)

  it("takes regular files only", function()
    local fifo = support.temporary() .. "/other_fifo.so"
    support.sh(("mkfifo '%s'"):format(fifo))
    assert.equal(("ccw: INVALID_ARGUMENT: %s: no regular file, not a library\n"):format(fifo), (inspect(("'%s'"):format(fifo))))
  end)

  it("neither waits for a library that closes the output, nor for processes that one leaves behind", function()
    local function build(name, text)
      local path, source = ("%s/lib%s.so"):format(support.temporary(), name), support.write(name .. ".c", text)
      local output, good = support.sh(("gcc -shared -fPIC -w -I'%s/core/include' -o '%s' '%s'"):format(support.root, path, source))
      assert.is_true(good, output)
      return path
    end
    local closer = build("closer", [[
      #include <unistd.h>
      __attribute__((constructor)) static void start(void) { close(1); close(2); for (;;) pause(); }
      void *h(void *frame) { return 0; }
    ]])
    local lines, good = require "ccw.inspect".inspect(closer, { "h" }, nil, 0.5)
    assert.is_false(good)
    assert.same({ "h: error: asking ended it: it did not answer in time" }, lines)

    local leaver = build("leaver", ([[
      #include <unistd.h>
      #include "%s/spec/handlers/plain.h"
      __attribute__((constructor)) static void start(void) { if (fork() == 0) for (;;) { sleep(60); _exit(0); } }
      EXPORT XLA_FFI_Error *h(XLA_FFI_CallFrame *frame);
      XLA_FFI_Error *h(XLA_FFI_CallFrame *frame) { answer_metadata(frame); return 0; }
    ]]):format(support.sh(("realpath '%s'"):format(support.root)):gsub("\n", "")))
    lines, good = require "ccw.inspect".inspect(leaver, { "h" }, nil, 30)
    assert.is_true(good, lines[1])
    assert.matches("^h %(FFI ", lines[1])
  end)

  it("goes on when a handler dies or hangs while it is asked", function()
    local path = support.temporary() .. "/libdeadly.so"
    local source = support.write("deadly.c", [[
      #include <stdlib.h>
      #include <unistd.h>
      void *dies(void *frame) { (void)frame; abort(); }
      void *hangs(void *frame) { (void)frame; for (;;) pause(); }
    ]])
    local output, built = support.sh(("gcc -shared -fPIC -o '%s' '%s'"):format(path, source))
    assert.is_true(built, output)
    assert.matches("dies: error: asking ended it: signal 6\n", (inspect(("'%s' dies"):format(path))), 1, true)
    local lines, good = require "ccw.inspect".inspect(path, { "hangs" }, 0.2)
    assert.is_false(good)
    assert.same({ "hangs: error: asking ended it: it did not answer in time" }, lines)
  end)
end)

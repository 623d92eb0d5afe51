-- Arrays in files: .npy and .npz, against numpy, and against files that lie.
local ccw = require "ccw"
local core = require "ccw.core"
local support = require "spec.support"
local refuses = support.refuses

local python = (os.getenv "CCW_VENV" or support.build .. "/venv") .. "/jax-0.10.2/bin/python"
local script = support.root .. "/spec/python/npy_arrays.py"
local folder = support.temporary() .. "/arrays"
os.execute(("mkdir -p '%s'"):format(folder))

local function path_of(name) return folder .. "/" .. name end

local function read_all(name)
  local file <close> = assert(io.open(path_of(name), "rb"))
  return file:read "a"
end

local function write_all(name, bytes)
  local file <close> = assert(io.open(path_of(name), "wb"))
  file:write(bytes)
  return path_of(name)
end

--- The rows of a manifest of npy_arrays.py.
local function rows(text)
  local list = {}
  for line in text:gmatch "[^\n]+" do
    local file, member, type, raw, named = line:match "^([^\t]+)\t([^\t]+)\t([^\t]+)\t([^\t]+)\t([^\t]+)$"
    if file then list[#list + 1] = { file = file, member = member, type = type, raw = raw, named = named ~= "-" and named or nil } end
  end
  return list
end

--- Such a manifest of what is written here, and the file that holds it.
local function manifest(lines)
  local file <close> = assert(io.open(path_of "manifest", "w"))
  file:write(table.concat(lines, "\n"), "\n")
  return path_of "manifest"
end

local dtypes = {}
for name in pairs(core.dtypes()) do
  if name ~= "token" then dtypes[#dtypes + 1] = name end
end
table.sort(dtypes)

local function is_named(dtype)
  return core.dtypes()[dtype].bits < 8 or dtype == "bf16" or dtype:find "^f8" ~= nil
end

--- A .npy file of that header and so many bytes.
local function npy(header, size, version)
  local prefix = "\x93NUMPY" .. string.char(version or 1, 0) .. (version and version > 1 and "<s4" or "<s2"):pack(header)
  return prefix .. ("\0"):rep(size)
end

local function dict(descr, order, shape) return ("{'descr': %s, 'fortran_order': %s, 'shape': %s, }"):format(descr, order, shape) end

--- Fails unless reading a file of these bytes fails with that code and text behind the file's name.
local function rejects(code, message, bytes, options)
  local path = write_all("bad.npy", bytes)
  local value, err = ccw.try(ccw.read, path, options)
  assert.is_nil(value)
  assert.equal(code .. ": " .. path .. ": " .. message, tostring(err))
end

describe("ccw.read and ccw.write of .npy", function()
  it("give back what was written, of every dtype", function()
    for _, dtype in ipairs(dtypes) do
      for _, dims in ipairs { "", "1", "5", "0", "2,3", "3,0,2", "2,1,3,4" } do
        local x = ccw.random(("%s[%s]"):format(dtype, dims), 1)
        ccw.write(path_of "x.npy", x)
        local y = ccw.read(path_of "x.npy", is_named(dtype) and { dtype = dtype } or nil)
        assert.equal(x.type, y.type)
        assert.equal(x:bytes(), y:bytes(), x.type)
      end
    end
  end)

  it("write a header as numpy does", function()
    ccw.write(path_of "x.npy", ccw.f32 { { 1, 2, 3 }, { 4, 5, 6 } })
    local header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
    assert.equal("\x93NUMPY\1\0\x76\0" .. header .. (" "):rep(128 - 10 - 1 - #header) .. "\n" .. ("<ffffff"):pack(1, 2, 3, 4, 5, 6),
      read_all "x.npy")
  end)

  it("write views that start anywhere, packed ones too", function()
    local x = ccw.iota "s32[10]"
    ccw.write(path_of "x.npy", x:rows(4, 6))
    assert.equal("s32[3] {3, 4, 5}", tostring(ccw.read(path_of "x.npy")))
    local packed = ccw.s4 { { 1, 2, 3 }, { 4, 5, 6 } }
    ccw.write(path_of "x.npy", packed[2])
    assert.equal("s4[3] {4, 5, 6}", tostring(ccw.read(path_of "x.npy", { dtype = "s4" })))
  end)

  it("bring arrays of a device to the host", function()
    ccw.write(path_of "x.npy", ccw.f32 { 1, 2 }:to "sim:0")
    assert.equal("f32[2] {1, 2}", tostring(ccw.read(path_of "x.npy")))
  end)

  it("replace a file as a whole, with its permissions and through a link", function()
    write_all("old.npy", "old")
    os.execute(("chmod 640 '%s' && ln -sf old.npy '%s'"):format(path_of "old.npy", path_of "link.npy"))
    ccw.write(path_of "link.npy", ccw.f32 { 1 })
    assert.equal("f32[1] {1}", tostring(ccw.read(path_of "old.npy")))
    assert.equal("640\n", (support.sh(("stat -c %%a '%s'"):format(path_of "old.npy"))))
    assert.equal("", (support.sh(("ls '%s' | grep -- 'npy\\.' || true"):format(folder))))
  end)

  it("leave the old file when the disk is full, and nothing beside it", function()
    write_all("full.npy", "old")
    local x = ccw.array "f64[1000]"
    local code = ("local _, err = ccw.try(ccw.write, %q, ccw.array 'f64[1000]') print(err)"):format(path_of "full.npy")
    local output = support.sh(("ulimit -f 4; trap '' XFSZ; '%s' -e %q"):format(support.program, code))
    assert.equal(("UNAVAILABLE: %s: File too large\n"):format(path_of "full.npy"), output)
    assert.equal("old", read_all "full.npy")
    assert.equal("full.npy\n", (support.sh(("ls '%s' | grep full"):format(folder))))
    ccw.write(path_of "full.npy", x)
    assert.equal(8128, #read_all "full.npy")
  end)

  it("can be used while two threads read, more than 16 MiB", function()
    local x = ccw.random("s32[5000000]", 3)
    ccw.write(path_of "large.npy", x)
    assert.is_true(ccw.compare(x, ccw.read(path_of "large.npy"), { bitwise = true }).equal)
    os.remove(path_of "large.npy")
  end)
end)

describe("ccw.read of what numpy saves", function()
  local manifest_text
  setup(function()
    if support.exists(python) then manifest_text = support.sh(("'%s' '%s' write '%s'"):format(python, script, folder)) end
  end)

  it("is the same array, whatever dtype, order of bytes, order of dims or version #jax", function()
    if not manifest_text then return pending "JAX 0.10.2 could not be had, with numpy and ml_dtypes" end
    local count = 0
    for _, row in ipairs(rows(manifest_text)) do
      if row.file:find "%.npy$" then
        local x = ccw.read(path_of(row.file), { dtype = row.named })
        assert.equal(row.type, x.type, row.file)
        assert.equal(read_all(row.raw), x:bytes(), row.file)
        count = count + 1
      end
    end
    assert.is_true(count > 250, manifest_text)
  end)

  it("is understood there in turn: every dtype, written here and read by numpy #jax", function()
    if not manifest_text then return pending "JAX 0.10.2 could not be had, with numpy and ml_dtypes" end
    local lines = {}
    for _, dtype in ipairs(dtypes) do
      for i, dims in ipairs { "", "5", "0", "2,3", "2,1,3,4" } do
        local x = ccw.random(("%s[%s]"):format(dtype, dims), i)
        local name = ("ours-%s-%d"):format(dtype, i)
        ccw.write(path_of(name .. ".npy"), x)
        write_all(name .. ".raw", x:bytes())
        lines[#lines + 1] = table.concat({ name .. ".npy", "-", x.type, name .. ".raw", is_named(dtype) and dtype or "-" }, "\t")
      end
    end
    local output = support.sh(("'%s' '%s' check '%s' < '%s'"):format(python, script, folder, manifest(lines)))
    assert.equal(#dtypes * 5 .. " equal\n", output)
  end)
end)

describe("ccw.read of a .npy file says what is wrong:", function()
  local good = dict("'<f4'", "False", "(2, 3)")

  it("a dtype that has to be named, and one that it is not", function()
    local raw = npy(dict("'<V2'", "False", "(2,)"), 4)
    rejects("INVALID_ARGUMENT", '<V2 does not say what its elements are: name it, as in {dtype = "bf16"}', raw)
    rejects("INVALID_ARGUMENT", "bytes of an element: 2 in the file, 1 of f8e5m2", raw, { dtype = "f8e5m2" })
    rejects("INVALID_ARGUMENT", "it holds f32, not bf16, to which as() converts", npy(good, 24), { dtype = "bf16" })
    assert.equal("f32[2,3]", ccw.read(write_all("x.npy", npy(good, 24)), { dtype = "f32" }).type)
    assert.equal("f8e5m2[2]", ccw.read(write_all("x.npy", npy(dict("'<f1'", "False", "(2,)"), 2)), { dtype = "f8e5m2" }).type)
    assert.equal("bf16[2]", ccw.read(write_all("x.npy", npy(dict("'>u2'", "False", "(2,)"), 4)), { dtype = "bf16" }).type)
    rejects("INVALID_ARGUMENT", "it holds u16, not s16, to which as() converts", npy(dict("'<u2'", "False", "(2,)"), 4),
      { dtype = "s16" })
  end)

  it("what XLA has no type for", function()
    local function holding(descr) return npy(dict(descr, "False", "(2,)"), 64) end
    rejects("UNIMPLEMENTED", "it holds Python objects, pickled (|O), which are not read", holding "'|O'")
    rejects("UNIMPLEMENTED", "it holds text (<U4), which are not read", holding "'<U4'")
    rejects("UNIMPLEMENTED", "it holds dates (<M8[ns]), which are not read", holding "'<M8[ns]'")
    rejects("UNIMPLEMENTED", "it holds floats that XLA does not have (<f16), which are not read", holding "'<f16'")
    rejects("UNIMPLEMENTED", "it holds complex numbers that XLA does not have (<c32), which are not read", holding "'<c32'")
    rejects("UNIMPLEMENTED", "it holds elements of several bytes without a type (|V3), which are not read", holding "'|V3'")
    rejects("UNIMPLEMENTED", "it holds elements with fields, which are not read", holding "[('a', '<f4'), ('b', '<i4')]")
    rejects("UNIMPLEMENTED", "it holds elements with fields, which are not read", holding(("["):rep(30000)))
    rejects("INVALID_ARGUMENT", 'header: no elements are described as "zz"', holding "'zz'")
    rejects("INVALID_ARGUMENT", 'header: no elements are described as ""', holding "''")
    rejects("UNIMPLEMENTED", "more than 32 dims", npy(dict("'<f4'", "False", "(" .. ("1, "):rep(33) .. ")"), 4))
    rejects("UNIMPLEMENTED", "version 4.0 of .npy; 1.0, 2.0 and 3.0 are read", npy(good, 24, 4))
    rejects("UNIMPLEMENTED", "version 0.0 of .npy; 1.0, 2.0 and 3.0 are read", npy(good, 24, 0))
  end)

  it("a header that is none", function()
    local function of(header) return npy(header, 24) end
    rejects("INVALID_ARGUMENT", "not .npy: it does not begin like it", "")
    rejects("INVALID_ARGUMENT", "not .npy: it does not begin like it", ("x"):rep(1000))
    rejects("INVALID_ARGUMENT", "header: expected '{' at byte 1, got its end", of "")
    rejects("INVALID_ARGUMENT", "header: expected a name at byte 2, got \"{\"", of(("{"):rep(60000)))
    rejects("INVALID_ARGUMENT", "header: expected a name at byte 2, got \"\\x80\"", of "{\x80")
    rejects("INVALID_ARGUMENT", 'header: nothing is known of "x"', of "{'x': 1}")
    rejects("INVALID_ARGUMENT", "header: 'shape' comes twice", of "{'shape': (), 'shape': ()}")
    rejects("INVALID_ARGUMENT", "header: 'fortran_order' is missing", of "{'shape': (), 'descr': '<f4'}")
    rejects("INVALID_ARGUMENT", "header: expected True or False at byte 19, got \"1\"", of "{'fortran_order': 1}")
    rejects("INVALID_ARGUMENT", "header: expected ',' at byte 13, got \")\"", of "{'shape': (3)}")
    rejects("INVALID_ARGUMENT", "header: expected a size at byte 12, got \"(\"", of "{'shape': ((3,),)}")
    rejects("INVALID_ARGUMENT", "header: expected ',' or ')' at byte 17, got \"4\"", of "{'shape': (3, 2 4)}")
    rejects("INVALID_ARGUMENT", "header: expected its end at byte 62, got \"x\"", of(good .. "  x"))
    rejects("INVALID_ARGUMENT", "header: a size of -3", of(dict("'<f4'", "False", "(-3,)")))
    rejects("INVALID_ARGUMENT", "header: a size of 9223372036854775808", of(dict("'<f4'", "False", "(9223372036854775808,)")))
  end)

  it("a shape that the file does not hold, or more than that, before any memory is taken", function()
    local before = core.memory().allocations
    rejects("DATA_LOSS", "f32[2,3], with 4 bytes an element, in 23 bytes", npy(good, 23))
    rejects("DATA_LOSS", "bytes behind the array: 1", npy(good, 25))
    rejects("DATA_LOSS", "f32[1099511627776], with 4 bytes an element, in 24 bytes",
      npy(dict("'<f4'", "False", "(1099511627776,)"), 24))
    rejects("DATA_LOSS", "c64[4294967296,4294967296,9], with 8 bytes an element, in 24 bytes",
      npy(dict("'<c8'", "True", "(4294967296, 4294967296, 9)"), 24))
    rejects("DATA_LOSS", "f32[], with 4 bytes an element, in 3 bytes", npy(dict("'<f4'", "False", "()"), 3))
    rejects("DATA_LOSS", "bytes behind the array: 24", npy(dict("'<f4'", "False", "(0, 9223372036854775807)"), 24))
    assert.equal(before, core.memory().allocations)
    assert.equal("f32[0,9223372036854775807]",
      ccw.read(write_all("x.npy", npy(dict("'<f4'", "False", "(0, 9223372036854775807)"), 0))).type)
  end)

  it("a length of the header that lies", function()
    rejects("DATA_LOSS", "a header of 65535 bytes, of which there are 10", "\x93NUMPY\1\0\xff\xff" .. ("x"):rep(10))
    rejects("DATA_LOSS", "a header of 4294967295 bytes, of which there are 10", "\x93NUMPY\2\0\xff\xff\xff\xff" .. ("x"):rep(10))
    rejects("INVALID_ARGUMENT", "a header of 1048577 bytes, more than 1048576", npy((" "):rep(1048577), 0, 2))
  end)

  it("a pred that is neither 0 nor 1, and a narrow element with more bits than it has", function()
    rejects("DATA_LOSS", "element [2]: a pred is 0 or 1, this byte is 7", npy(dict("'|b1'", "False", "(2,)"), 0) .. "\1\7")
    rejects("OUT_OF_RANGE", "element [2]: 16 does not fit in u4", npy(dict("'|V1'", "False", "(2,)"), 0) .. "\1\16",
      { dtype = "f4e2m1fn" })
  end)

  it("the end, wherever the file was cut", function()
    for _, version in ipairs { 1, 2 } do
      local whole = npy(good, 24, version)
      for length = 0, #whole - 1 do
        local value, err = ccw.try(ccw.read, write_all("cut.npy", whole:sub(1, length)))
        assert.is_nil(value)
        assert.is_truthy(err.code == "DATA_LOSS" or err.code == "INVALID_ARGUMENT", tostring(err))
        assert.equal(path_of "cut.npy" .. ": ", err.message:sub(1, #path_of "cut.npy" + 2))
      end
    end
  end)

  it("what is no file", function()
    local function says(message, path) assert.equal(message:format(path), tostring(select(2, ccw.try(ccw.read, path)))) end
    says("NOT_FOUND: %s: No such file or directory", path_of "nowhere.npy")
    os.execute(("cd '%s' && mkdir -p folder.npy && ln -sf /dev/zero zero.npy && rm -f fifo.npy && mkfifo fifo.npy"):format(folder))
    says("INVALID_ARGUMENT: %s: a folder, and no file", path_of "folder.npy")
    says("INVALID_ARGUMENT: %s: a pipe or a device, and no file", path_of "zero.npy")
    says("INVALID_ARGUMENT: %s: a pipe or a device, and no file", path_of "fifo.npy")
    says("INVALID_ARGUMENT: %s: neither .npy nor .npz, and a file is told by its ending", path_of "x.txt")
    says("INVALID_ARGUMENT: %s: neither .npy nor .npz, and a file is told by its ending", "")
    local _, err = ccw.try(ccw.write, path_of "fifo.npy", ccw.f32 { 1 })
    assert.equal(("INVALID_ARGUMENT: %s: a pipe or a device, and no file"):format(path_of "fifo.npy"), tostring(err))
    _, err = ccw.try(ccw.write, path_of "nowhere/x.npy", ccw.f32 { 1 })
    assert.equal(("NOT_FOUND: %s: No such file or directory"):format(path_of "nowhere/x.npy"), tostring(err))
  end)

  it("misuse", function()
    refuses("bad argument #1 to 'read' (expected a string, got nil)", ccw.read)
    refuses("bad argument #1 to 'read' (the name holds a NUL)", ccw.read, "x\0.npy")
    refuses("bad argument #2 to 'read' (no option is called 'dtyp'; near: dtype)", ccw.read, "x.npy", { dtyp = "f32" })
    refuses("bad argument #2 to 'read' (dtype: there is none called \"float\")", ccw.read, "x.npy", { dtype = "float" })
    refuses("bad argument #2 to 'write' (expected a buffer, got number)", ccw.write, "x.npy", 7)
    refuses("bad argument #2 to 'write' (a token holds nothing)", ccw.write, "x.npy", ccw.array "token[]")
    refuses("bad argument #3 to 'write' (no option is called 'compress')", ccw.write, "x.npy", ccw.f32 { 1 }, { compress = true })
    local closed = ccw.f32 { 1 }
    closed:close()
    refuses("bad argument #2 to 'write' (this buffer is closed)", ccw.write, "x.npy", closed)
  end)
end)

-- ---- .npz ------------------------------------------------------------------------------------------------------------

local function crc_of(bytes)
  local crc = 0xffffffff
  for i = 1, #bytes do
    crc = crc ~ bytes:byte(i)
    for _ = 1, 8 do crc = crc >> 1 ~ (crc & 1) * 0xedb88320 end
  end
  return crc ~ 0xffffffff
end

--- A zip of members {name, bytes}; other fields say something else than what is so: method, flags, crc, size, stored, at (the place of the
--- local header).
local function zip(members)
  local parts, directory, at = {}, {}, 0
  for _, m in ipairs(members) do
    local name, bytes = m[1], m[2]
    local fields = ("<I2I2I2I2I4I4I4I2I2"):pack(m.flags or 0, m.method or 0, 0, 33, m.crc or crc_of(bytes), m.stored or #bytes,
      m.size or #bytes, #name, 0)
    local part = m.at and "" or "PK\3\4" .. ("<I2"):pack(20) .. fields .. name .. bytes
    parts[#parts + 1] = part
    directory[#directory + 1] = "PK\1\2" .. ("<I2I2"):pack(20, 20) .. fields .. ("<I2I2I2I4I4"):pack(0, 0, 0, 0, m.at or at) .. name
    at = at + #part
  end
  local list = table.concat(directory)
  return table.concat(parts) .. list .. "PK\5\6" .. ("<I2I2I2I2I4I4I2"):pack(0, 0, #members, #members, #list, at, 0)
end

local array = npy(dict("'<f4'", "False", "(2, 3)"), 24)

--- The same as rejects, for .npz.
local function rejects_archive(code, message, bytes, options)
  local path = write_all("bad.npz", bytes)
  local value, err = ccw.try(ccw.read, path, options)
  assert.is_nil(value)
  assert.equal(code .. ": " .. path .. ": " .. message, tostring(err))
end

describe("ccw.read and ccw.write of .npz", function()
  local arrays = { w = ccw.iota "f32[2,3]", ["a folder/x"] = ccw.array("s8[]", 7), ["é"] = ccw.array "f64[0,2]",
    zeros = ccw.array "s32[100000]", narrow = ccw.s4 { 1, -2, 3 } }

  for _, compress in ipairs { false, true } do
    it("give back what was written, " .. (compress and "deflated" or "stored"), function()
      ccw.write(path_of "x.npz", arrays, { compress = compress })
      local read = ccw.read(path_of "x.npz", { dtype = "s4" })
      for name, x in pairs(arrays) do
        assert.equal(x.type, read[name].type)
        assert.equal(x:bytes(), read[name]:bytes())
        read[name] = nil
      end
      assert.is_nil(next(read))
      assert.equal(compress, #read_all "x.npz" < 400000)
    end)
  end

  it("read one array by its name", function()
    ccw.write(path_of "x.npz", arrays)
    assert.equal("f32[2,3]", ccw.read(path_of "x.npz", { name = "w" }).type)
    assert.equal("s4[3] {1, -2, 3}", tostring(ccw.read(path_of "x.npz", { name = "narrow", dtype = { narrow = "s4" } })))
    assert.equal(("NOT_FOUND: %s: no array is called \"zeroes\"; near: zeros"):format(path_of "x.npz"),
      tostring(select(2, ccw.try(ccw.read, path_of "x.npz", { name = "zeroes" }))))
  end)

  it("replace a file as a whole, with its permissions and through a link, also one that is no archive", function()
    write_all("old.npz", "old")
    os.execute(("chmod 640 '%s' && ln -sf old.npz '%s'"):format(path_of "old.npz", path_of "link.npz"))
    ccw.write(path_of "link.npz", { x = ccw.f32 { 1 } })
    assert.equal("f32[1] {1}", tostring(ccw.read(path_of "old.npz").x))
    assert.equal("640\n", (support.sh(("stat -c %%a '%s'"):format(path_of "old.npz"))))
    local code = ("local _, err = ccw.try(ccw.write, %q, {x = ccw.array 'f64[1000]'}) print(err)"):format(path_of "old.npz")
    local output = support.sh(("ulimit -f 4; trap '' XFSZ; '%s' -e %q"):format(support.program, code))
    assert.equal(("UNAVAILABLE: %s: Write error: File too large\n"):format(path_of "old.npz"), output)
    assert.equal("f32[1] {1}", tostring(ccw.read(path_of "old.npz").x))
    assert.equal("old.npz\n", (support.sh(("ls '%s' | grep old.npz"):format(folder))))
  end)

  it("say so where libzip is not there, and .npy goes on", function()
    os.execute(("mkdir -p '%s/broken'"):format(folder))
    for _, name in ipairs { "libzip.so.4", "libzip.so.5" } do write_all("broken/" .. name, "x") end
    ccw.write(path_of "x.npz", arrays)
    ccw.write(path_of "x.npy", ccw.f32 { 1 })
    local code = ("print(ccw.try(ccw.read, %q)) print(ccw.try(ccw.write, %q, {x = ccw.f32{1}})) print(ccw.read %q)")
      :format(path_of "x.npz", path_of "y.npz", path_of "x.npy")
    local output = support.sh(("LD_LIBRARY_PATH='%s/broken' '%s' -e %q"):format(folder, support.program, code))
    local failed = "nil\tUNAVAILABLE: %s: a .npz file needs libzip: "
    assert.equal(failed:format(path_of "x.npz"), output:match "^[^\n]-libzip: ")
    assert.equal(failed:format(path_of "y.npz"), output:match "\n([^\n]-libzip: )")
    assert.equal("f32[1] {1}", output:match "([^\n]+)\n$")
  end)

  it("are without arrays where there are none", function()
    ccw.write(path_of "none.npz", arrays)
    ccw.write(path_of "none.npz", {}) -- in its place, and not in place of a file
    assert.equal(zip {}, read_all "none.npz")
    assert.same({}, ccw.read(path_of "none.npz"))
  end)

  it("agree with numpy both ways #jax", function()
    if not support.exists(python) then return pending "JAX 0.10.2 could not be had, with numpy and ml_dtypes" end
    local text = support.sh(("'%s' '%s' write '%s'"):format(python, script, folder))
    local count = 0
    for _, row in ipairs(rows(text)) do
      if row.file:find "%.npz$" then
        local x = ccw.read(path_of(row.file), { dtype = "bf16" })[row.member]
        assert.equal(row.type, x.type)
        assert.equal(read_all(row.raw), x:bytes())
        count = count + 1
      end
    end
    assert.equal(12, count)
    assert.same({}, ccw.read(path_of "none.npz"))

    local lines = {}
    for _, compress in ipairs { false, true } do
      local file = compress and "deflated-here.npz" or "stored-here.npz"
      ccw.write(path_of(file), arrays, { compress = compress })
      for name, x in pairs(arrays) do
        local raw = ("%s.%d.raw"):format(file, #lines)
        write_all(raw, x:bytes())
        lines[#lines + 1] = table.concat({ file, name, x.type, raw, is_named(x.dtype) and x.dtype or "-" }, "\t")
      end
    end
    local output = support.sh(("'%s' '%s' check '%s' < '%s' | sort"):format(python, script, folder, manifest(lines)))
    assert.equal("10 equal\ndeflated-here.npz a folder/x narrow w zeros é\nstored-here.npz a folder/x narrow w zeros é\n", output)
  end)
end)

describe("ccw.read of a .npz file says what is wrong:", function()
  it("no archive", function()
    rejects_archive("INVALID_ARGUMENT", "Not a zip archive", "")
    rejects_archive("INVALID_ARGUMENT", "Not a zip archive", array)
    assert.equal("f32[2,3]", ccw.read(write_all("good.npz", zip { { "w.npy", array } })).w.type)
  end)

  it("members that are no arrays, or come twice", function()
    rejects_archive("INVALID_ARGUMENT", 'member "read.me" is no .npy', zip { { "w.npy", array }, { "read.me", "text" } })
    rejects_archive("INVALID_ARGUMENT", 'member "folder/" is no .npy', zip { { "folder/", "" } })
    rejects_archive("INVALID_ARGUMENT", "two members of one name", zip { { "w.npy", array }, { "w.npy", array } })
    rejects_archive("INVALID_ARGUMENT", 'member "w.npy": not .npy: it does not begin like it', zip { { "w.npy", "x" } })
  end)

  it("a name that leads elsewhere, which is a name and nothing else", function()
    local read = ccw.read(write_all("good.npz", zip { { "../../w.npy", array } }))
    assert.equal("f32[2,3]", read["../../w"].type)
  end)

  it("what is encrypted, or compressed in another way", function()
    rejects_archive("UNIMPLEMENTED", 'member "w.npy": it is encrypted', zip { { "w.npy", array, flags = 1 } })
    rejects_archive("UNIMPLEMENTED", 'member "w.npy": it is compressed by method 12 of zip; 0, stored, and 8, deflated, are read',
      zip { { "w.npy", array, method = 12 } })
  end)

  it("sizes that cannot be", function()
    local huge = 0xfffffffe
    local bomb = ("deflated"):rep(4)
    rejects_archive("DATA_LOSS", 'member "w.npy": 32 bytes, deflated, which are said to be 4294967294',
      zip { { "w.npy", bomb, method = 8, size = huge } })
    rejects_archive("DATA_LOSS", 'member "w.npy": 32 bytes, deflated, which are said to be 33025',
      zip { { "w.npy", bomb, method = 8, size = 32 * 1032 + 1 } })
    rejects_archive("DATA_LOSS", ('member "w.npy": %d bytes, which are said to be 4294967294'):format(#array),
      zip { { "w.npy", array, size = huge } })
    rejects_archive("INVALID_ARGUMENT", "Not a zip archive", zip { { "w.npy", array, size = huge, stored = huge } })
  end)

  it("members that lie over each other", function()
    local big = npy(dict("'<f4'", "False", "(1000,)"), 4000)
    rejects_archive("DATA_LOSS", "Zip archive inconsistent", zip { { "a.npy", big }, { "b.npy", big, at = 0 } })
    rejects_archive("INVALID_ARGUMENT", "two members of one name", zip { { "a.npy", big }, { "a.npy", big, at = 0 } })
  end)

  it("content that is not what the archive says", function()
    rejects_archive("DATA_LOSS", 'member "w.npy": CRC error', zip { { "w.npy", array, crc = 1 } })
    rejects_archive("DATA_LOSS", 'member "w.npy": CRC error', zip { { "w.npy", array, method = 8 } })
    local nothing = "\3\0" -- deflated
    rejects_archive("DATA_LOSS", 'member "w.npy": it ends before the size that the archive says',
      zip { { "w.npy", nothing, method = 8, size = 100, crc = 0 } })
    rejects_archive("INVALID_ARGUMENT", 'member "w.npy": not .npy: it does not begin like it',
      zip { { "w.npy", nothing, method = 8, size = 0, crc = 0 } })
    local longer = array .. "x"
    longer = "\1" .. ("<I2I2"):pack(#longer, ~#longer & 0xffff) .. longer
    rejects_archive("DATA_LOSS", 'member "w.npy": it is longer than the archive says',
      zip { { "w.npy", longer, method = 8, size = #array, crc = crc_of(array) } })
  end)

  it("the end, wherever the archive was cut, and a byte that is another", function()
    local whole, values = zip { { "w.npy", array } }, 0
    local function try(bytes)
      local value, err = ccw.try(ccw.read, write_all("bad.npz", bytes))
      assert.is_true(value ~= nil or err.message:find(path_of "bad.npz", 1, true) == 1, tostring(err))
      return value
    end
    for length = 0, #whole - 1 do assert.is_nil(try(whole:sub(1, length))) end
    for i = 1, #whole do
      for _, byte in ipairs { "\0", "\xff", string.char(whole:byte(i) ~ 1) } do
        if try(whole:sub(1, i - 1) .. byte .. whole:sub(i + 1)) then values = values + 1 end
      end
    end
    assert.is_true(values > 0 and values < 3 * #whole - 3 * #array)
  end)

  it("misuse", function()
    refuses("bad argument #2 to 'read' (dtype: there is none called \"float\")", ccw.read, "x.npz", { dtype = { w = "float" } })
    refuses("bad argument #2 to 'write' (expected a table, got buffer)", ccw.write, "x.npz", ccw.f32 { 1 })
    refuses("bad argument #2 to 'write' (expected buffers by name, got the key 1)", ccw.write, "x.npz", { ccw.f32 { 1 } })
    refuses("bad argument #2 to 'write' (\"w\": expected a buffer, got number)", ccw.write, "x.npz", { w = 7 })
    refuses("bad argument #2 to 'write' (the name \"w\\x00\" holds a NUL)", ccw.write, "x.npz", { ["w\0"] = ccw.f32 { 1 } })
    refuses("bad argument #2 to 'write' (the name \"\\xFF\" is no UTF-8)", ccw.write, "x.npz", { ["\xFF"] = ccw.f32 { 1 } })
    refuses("bad argument #2 to 'write' (a name of 65532 bytes, more than 65531)", ccw.write, "x.npz",
      { [("w"):rep(65532)] = ccw.f32 { 1 } })
    refuses("bad argument #3 to 'write' (compress: expected a boolean, got number)", ccw.write, "x.npz", {}, { compress = 1 })
  end)
end)

-- Real GPUs without one: the backend for CUDA and ROCm against drivers of ours, spec/drivers. What it promises is in programs/gpu.c.
local support = require "spec.support"

local program = support.build .. "/spec/gpu"

--- Runs the program with drivers from that folder; gives its output.
local function run(folder, arguments, environment)
  local path = folder and ("LD_LIBRARY_PATH='%s/spec/%s'"):format(support.build, folder) or ""
  return (support.sh(("%s %s timeout 60 '%s' %s"):format(path, environment or "", program, arguments)))
end

--- The lines of the output that are about one vendor.
local function about(vendor, output)
  local lines = {}
  for line in output:gmatch "[^\n]+" do
    if line:find(vendor, 1, true) == 1 or line:find(" " .. vendor .. ":", 1, true) then lines[#lines + 1] = line end
  end
  return table.concat(lines, "\n")
end

local vendors = {
  { name = "cuda", library = "libcuda.so.1", init = "cuInit", device = "cuDeviceGet", old = "libcuda.so.1",
    missing = "cuStreamQuery", graph = "cuStreamBeginCapture_v2", no_device = "CUDA_ERROR_NO_DEVICE",
    incomplete = "libcuda.so.1", invalid_device = "CUDA_ERROR_INVALID_DEVICE" },
  { name = "rocm", library = "libamdhip64.so.6", init = "hipInit", device = "hipDeviceGet", old = "libamdhip64.so.5",
    missing = "hipStreamQuery", graph = "hipStreamBeginCapture", no_device = "hipErrorNoDevice",
    incomplete = "libamdhip64.so.7", invalid_device = "hipErrorInvalidDevice" },
}

for _, vendor in ipairs(vendors) do
  local name = vendor.name

  describe("the backend on " .. name, function()
    it("keeps what is promised #threads", function()
      assert.equal("0 broken\n", run("drivers", ("%s '%s'"):format(name, support.temporary())))
    end)

    it("lists what there is, and what it cannot do", function()
      local cannot = "  reset: handlers use the same context, and one that is broken ends with its process\n"
        .. "  set: there is nothing to set of a real GPU\n  as: a real GPU is what it is\n"
        .. (name == "rocm" and "  parameters: the driver does not tell what a kernel takes\n" or "")
      assert.matches(("%s:0 \n%s%s:1 \n%s"):format(name, cannot, name, cannot), run("drivers", "visit"), 1, true)
    end)

    it("says that a driver finds no device", function()
      assert.equal(("UNAVAILABLE %s: %s finds no device: %s: no device is detected"):format(name, vendor.library, vendor.no_device),
        about(name, run("drivers", "visit", "STAND_IN_DEVICES=0")))
      assert.equal(("UNAVAILABLE %s: %s finds no device: %s: invalid device ordinal"):format(name, vendor.library,
        vendor.invalid_device), about(name, run("drivers", "visit", ("STAND_IN_FAIL=%s:101"):format(vendor.device))))
    end)

    it("says that a driver does not start, whatever it says", function()
      assert.equal(("UNAVAILABLE %s: %s does not start: error 803"):format(name, vendor.library),
        about(name, run("drivers", "visit", ("STAND_IN_FAIL=%s:803"):format(vendor.init))))
    end)

    it("counts", function()
      assert.equal(("NOT_FOUND: %s:1: there is %s:0 only\n"):format(name, name),
        run("drivers", ("begin %s:1"):format(name), "STAND_IN_DEVICES=1"))
      assert.equal("OK: \n", run("drivers", ("begin %s:1"):format(name)))
    end)

    it("works with a driver that has no graphs, and names what is missing", function()
      assert.equal(("UNIMPLEMENTED: %s:0: graph: %s has no %s\n"):format(name, vendor.old, vendor.graph),
        run("drivers_old", "begin " .. name))
      assert.matches(("\n  graph: %s has no %s\n"):format(vendor.old, vendor.graph), run("drivers_old", "visit"), 1, true)
    end)

    it("refuses a driver that lacks what everybody has", function()
      assert.equal(("UNAVAILABLE %s: %s has no %s: the driver is too old"):format(name, vendor.incomplete, vendor.missing),
        about(name, run("drivers_incomplete", "visit")))
    end)
  end)
end

describe("CC-30 the devices of both drivers", function()
  it("are like every other device", function()
    local output = support.sh(("LD_LIBRARY_PATH='%s/spec/drivers' CCW_RUN=drivers timeout 300 '%s' /usr/bin/busted --ignore-lua "
      .. "--helper='%s/spec/helper.lua' --output='%s/spec/report.lua' --filter='device [cr][uo][dc][am]:' '%s/spec/device_spec.lua'")
      :format(support.build, support.program, support.root, support.root, support.root))
    local passed = output:match "^drivers: (%d+) passed, 0 failed, 0 skipped\n$"
    assert(passed, output)
    assert.equal(0, passed % 4) -- devices
    assert.is_true(passed + 0 >= 40)
  end)
end)

describe("the driver of CUDA", function()
  it("is advised where there is none", function()
    if support.sh("ldconfig -p"):find("libcuda.so.1", 1, true) then return pending "this machine has one" end
    assert.equal("UNAVAILABLE cuda: libcuda.so.1 is not there: install NVIDIA's driver, or take sim:0, which needs none",
      about("cuda", run(nil, "visit")))
  end)

  it("is told where it is no library", function()
    local path = support.write("libcuda.so.1", "no library\n")
    local output = support.sh(("LD_LIBRARY_PATH='%s' timeout 60 '%s' visit"):format(support.temporary(), program))
    os.remove(path)
    assert.equal(("UNAVAILABLE cuda: %s: file too short"):format(path), about("cuda", output))
  end)

  it("is not the library to link to", function()
    local stub = "/usr/local/cuda/lib64/stubs/libcuda.so"
    if not support.exists(stub) then return pending "there is no stub" end
    support.sh(("ln -s '%s' '%s/libcuda.so.1'"):format(stub, support.temporary()))
    local output = support.sh(("LD_LIBRARY_PATH='%s' timeout 60 '%s' visit"):format(support.temporary(), program))
    os.remove(support.temporary() .. "/libcuda.so.1")
    assert.equal("UNAVAILABLE cuda: libcuda.so.1 does not start: CUDA_ERROR_STUB_LIBRARY: it is there for linking only, "
      .. "and is not the driver", about("cuda", output))
  end)
end)

describe("the driver of ROCm", function()
  it("is advised where there is none", function()
    if support.sh("ldconfig -p"):find("libamdhip64.so", 1, true) then return pending "this machine has one" end
    assert.equal("UNAVAILABLE rocm: libamdhip64.so.7, .6 or .5 is not there: install AMD's ROCm, or put its folder into "
      .. "LD_LIBRARY_PATH, or take sim:0, which needs none", about("rocm", run(nil, "visit")))
  end)

  it("is the one that a handler brought, though there is a newer one", function()
    local brought = ("begin rocm '%s/spec/drivers_old/libamdhip64.so.5'"):format(support.build)
    assert.equal("UNIMPLEMENTED: rocm:0: graph: libamdhip64.so.5 has no hipStreamBeginCapture\n", run("drivers", brought))
    assert.equal("OK: \n", run("drivers", "begin rocm"))
  end)

  it("leaves it to the kernel to tell what code is compiled for", function()
    local nodes = {
      "cpu_cores_count 64\nsimd_count 0\ngfx_target_version 0\nlocation_id 0\ndomain 0\nunique_id 18446744073709551615\n",
      "cpu_cores_count 0\nsimd_count 440\nunique_id 18446744073709551615\ngfx_target_version 90010\nlocation_id 49408\ndomain 0\n",
      "simd_count 304\ngfx_target_version 90402\nlocation_id 268436232\ndomain 1\n",
      "simd_count 40\ngfx_target_version 110000\nlocation_id 768\ndomain 0\n",
    }
    local folder = support.temporary() .. "/nodes"
    for i, text in ipairs(nodes) do
      support.sh(("mkdir -p '%s/%d'"):format(folder, i - 1))
      support.write(("nodes/%d/properties"):format(i - 1), text)
    end
    local places = "0000:c1:00.0 0001:03:01.0 0000:03:00.0 0000:03:01.0 0001:c1:00.0 nonsense"
    assert.equal("gfx90a\ngfx942\ngfx1100\n\n\n\n",
      support.sh(("'%s/spec/gpu_parts' architecture '%s' %s"):format(support.build, folder, places)))
    assert.equal("\n", support.sh(("'%s/spec/gpu_parts' architecture '%s/nowhere' 0000:c1:00.0"):format(support.build, folder)))
  end)
end)

-- C74: where a driver does not tell what is in a module, the code itself does.
describe("code for GPUs", function()
  local source = support.write("kernels.cu", [[
#ifdef __HIP__
#include <hip/hip_runtime.h>
#endif
__device__ __noinline__ float twice(float x) { return x * 2 + 1; }
__global__ void axpy(float a, const float *x, float *y, long n) { if (threadIdx.x < n) y[threadIdx.x] = a * x[threadIdx.x] + twice(n); }
extern "C" __global__ void plain(float *y) { y[0] = 1; }
]])

  --- The names of kernels in what a compiler makes of the source, sorted; nil where there is no such compiler.
  local function names_by(compiler, options, file)
    if not select(2, support.sh("PATH=$PATH:/usr/local/cuda/bin command -v " .. compiler)) then return nil end
    file = support.temporary() .. "/" .. file
    local output, good = support.sh(("PATH=$PATH:/usr/local/cuda/bin %s %s '%s' -o '%s'"):format(compiler, options, source, file))
    assert.is_true(good, output)
    local parts = ("timeout 100 '%s/spec/gpu_parts'"):format(support.build)
    local names = {}
    for name in support.sh(("%s names '%s'"):format(parts, file)):gmatch "[^\n]+" do names[#names + 1] = name end
    table.sort(names)
    assert.matches("^%d+ times\n$", (support.sh(("%s cut '%s'"):format(parts, file))))
    return table.concat(names, " ")
  end

  local compilers = {
    { "a cubin", "nvcc", "-cubin -arch=sm_90", "kernels.cubin" },
    { "PTX", "nvcc", "-ptx -arch=sm_90", "kernels.ptx" },
    { "a bundle of AMD", "hipcc", "--genco --offload-arch=gfx90a --offload-arch=gfx1030", "kernels.hsaco" },
  }
  for _, row in ipairs(compilers) do
    it("tells its kernels: " .. row[1], function()
      local names = names_by(row[2], row[3], row[4])
      if not names then return pending(row[2] .. " is not there") end
      assert.equal("_Z4axpyfPKfPfl plain", names)
    end)
  end
end)

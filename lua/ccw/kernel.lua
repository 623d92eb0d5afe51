--- Kernels: sources that become code on a device, and launches of it.
local core = require "ccw.core"
local errors = require "ccw.errors"
local compile = require "ccw.compile"
local kernel_source = require "ccw.kernel_source"
local text_file = require "ccw.text_file"

local M = {}
local misuse_of_kernel, misuse_of_launch = errors.misuse_of "kernel", errors.misuse_of "launch"

--- What Lua knows of a kernel, by kernel: name, device, path, log, was_kept, symbol, parameters.
local about = setmetatable({}, { __mode = "k" })

--- Modules by device and path. They stay: what is queued may run their code.
local modules = {}

local function load_module(device, path)
  local key = device.name .. " " .. path
  modules[key] = modules[key] or core.module(device, path)
  return modules[key]
end

local languages = { sim = "sim", cuda = "cuda", rocm = "rocm" }

--- The language and the architecture of a device's code.
local function target_of(device, architecture)
  local language = languages[device.name:match "^[^:]*"]
  if not language then
    errors.raise("UNIMPLEMENTED", ("%s: code: %s"):format(device.name, device.cannot.code or "it runs no kernels"))
  elseif language == "sim" then
    return language
  end
  architecture = architecture or device.architecture
  if architecture == "" then
    errors.raise("FAILED_PRECONDITION", ("%s: its architecture is not known: say which, architecture = \"%s\""):format(device.name,
      language == "cuda" and "sm_90" or "gfx90a"))
  end
  return language, architecture
end

local bytes_of = core.dtypes()

--- What a launch is to be given: what the device tells, and names and types from the source where they agree with it.
local function merge(told, read)
  if not told then
    for _, parameter in ipairs(read or {}) do
      local known = parameter.is_pointer or parameter.dtype
      if not known then return nil end
      parameter.size = parameter.is_pointer and 8 or math.max(1, bytes_of[parameter.dtype].bits // 8)
    end
    return read
  end
  if not read or #read ~= #told then return told end
  for i, parameter in ipairs(told) do
    local source = read[i]
    parameter.name = source.name
    if not parameter.is_pointer and not parameter.dtype then -- a driver that knows sizes alone
      local size = source.is_pointer and 8 or source.dtype and math.max(1, bytes_of[source.dtype].bits // 8)
      if size == parameter.size then
        parameter.is_pointer, parameter.is_const, parameter.dtype = source.is_pointer, source.is_const, source.dtype
      end
    end
  end
  return told
end

local option_types = {
  source = "string", file = "string", name = "string", device = "any", architecture = "string", flags = "table",
  time_limit = "number",
}

local function check(options)
  errors.check(misuse_of_kernel, 1, options, "table")
  errors.check_options(misuse_of_kernel, 1, options, option_types)
  if not options.source and not options.file then misuse_of_kernel(1, "expected a source, or the file that has it") end
  if not options.name then misuse_of_kernel(1, "expected the name of a kernel, such as name = \"axpy\"") end
  if options.name:find "\0" then misuse_of_kernel(1, "name: it holds a NUL") end
  local device = options.device or "sim:0"
  if type(device) ~= "string" and core.kind(device) ~= "device" then
    misuse_of_kernel(1, "device: expected a device or its name, got %s", core.kind(device) or type(device))
  end
  compile.check(misuse_of_kernel, 1, options.flags, options.file, options.time_limit)
  return core.device(device)
end

--- The flags; those of a file find what it includes beside it.
local function flags_for(options, includes_files)
  local flags = table.move(options.flags or {}, 1, #(options.flags or {}), 1, {})
  if options.file and not options.source and includes_files then
    table.insert(flags, 1, "-I" .. (options.file:match "^(.*)/[^/]*$" or "."))
  end
  return flags
end

local function fail_with(code, message) if code then errors.raise(code, message) end end

--- Compiles a source for a kernel of it. A compiler that finds no kernel does not know which there are.
local function compile_for(request, name, list)
  local outcome, err = errors.try(compile.run, request)
  if outcome then return outcome end
  if err.code == "NOT_FOUND" then err.message = kernel_source.no_kernel(request.name, name, list) end
  error(err, 0)
end

--- ccw.kernel{source = text, name = name, ...} -> kernel.
-- Compiles a source in CUDA C++ for a device and gives one of its kernels, which launches. `name` is that of the kernel, "axpy"; of a
-- template an instance, "axpy<float>"; its namespaces may be left out. What does not compile is INVALID_ARGUMENT, with the errors and the
-- lines of the source, and all that the compiler said in the field `log` of the error; a name that is not there is NOT_FOUND, with those
-- that are.
-- The compiler is the system's for C++ on a simulated device; NVRTC on CUDA, HIPRTC on ROCm, which need no GPU, and are sought in the
-- folders CCW_NVRTC and CCW_HIPRTC first. What was compiled is kept, see ccw.compile.
-- Options:
-- - source: the text. It finds <ccw/kernel.h> included already.
-- - file: a file, which is read where there is no source, with what it includes from beside it; messages call the source so.
-- - device: where it is to run, a device or its name, "sim:0" unless this says otherwise.
-- - architecture: of a GPU, in place of what the device says: "sm_80", "gfx90a"; "compute_80" for PTX.
-- - flags: a list of more flags for the compiler.
-- - time_limit: seconds that compiling may take, 60 unless this says otherwise.
function M.kernel(options)
  local device = check(options)
  local language, architecture = target_of(device, options.architecture)
  local source = options.source or text_file.read(options.file)
  local label = options.file or "kernel.cu"
  local list, hides, includes_files = kernel_source.kernels(source)
  local expression, known, arguments = kernel_source.resolve(label, options.name, list, hides)
  if not expression then fail_with(known, arguments) end
  if language == "sim" then
    local text, code, message = kernel_source.for_sim(label, source)
    if not text then fail_with(code, message) end
    source = text
  end
  local outcome = compile_for({
    text = source, language = language, architecture = architecture, name = label, kernels = { expression },
    flags = flags_for(options, includes_files), time_limit = options.time_limit,
  }, options.name, list)
  if not outcome.was_kept and outcome.log ~= "" then warn("ccw: ", outcome.log) end
  local kernel, told = core.kernel_of(load_module(device, outcome.path), outcome.symbols[1])
  local parameters = merge(told, known and kernel_source.parameters(known, arguments))
  core.kernel_expect(kernel, parameters)
  about[kernel] = {
    name = expression, device = device.name, path = outcome.path, log = outcome.log, was_kept = outcome.was_kept,
    symbol = outcome.symbols[1], parameters = parameters,
  }
  return kernel
end

--- An extent as three numbers.
local function read_extent(name, extent)
  if math.type(extent) == "integer" then
    if extent >= 0 and extent <= 0xFFFFFFFF then return extent, 1, 1 end -- as it mostly is
    extent = { extent }
  end
  if type(extent) ~= "table" or #extent < 1 or #extent > 3 then
    misuse_of_launch(1, "%s: expected an integer or up to three, got %s", name,
      type(extent) == "table" and "a list of " .. #extent or core.kind(extent) or tostring(extent))
  end
  local x, y, z = extent[1], extent[2] or 1, extent[3] or 1
  for i, size in ipairs { x, y, z } do
    if math.type(size) ~= "integer" or size < 0 or size > 0xFFFFFFFF then
      misuse_of_launch(1, "%s[%d]: expected an integer of 0 to 4294967295, got %s", name, i, tostring(size))
    end
  end
  return x, y, z
end

--- Blocks of a grid with a thread for each of n elements; nil for none of them.
local function blocks_over(over, grid, block)
  if grid ~= nil then misuse_of_launch(1, "expected a grid, or over, the number of elements, and not both") end
  if math.type(over) ~= "integer" or over < 0 then
    misuse_of_launch(1, "over: expected an integer of 0 or more, got %s", tostring(over))
  end
  if block == 0 then misuse_of_launch(1, "block: expected 1 or more threads, got 0") end
  if over == 0 then return nil end
  return math.min(over // block + (over % block > 0 and 1 or 0), 0xFFFFFFFF)
end

local launch_types = { grid = "any", block = "any", over = "any", args = "table", stream = "any", shared = "integer" }

local function check_launch(kernel, options)
  if core.kind(kernel) ~= "kernel" then misuse_of_launch(1, "a method is called with a colon, kernel:launch{...}") end
  errors.check(misuse_of_launch, 1, options, "table")
  errors.check_options(misuse_of_launch, 1, options, launch_types)
  if options.args == nil then misuse_of_launch(1, "args: expected a list of the kernel's arguments, got nil") end
  if options.stream ~= nil and core.kind(options.stream) ~= "stream" then
    misuse_of_launch(1, "stream: expected a stream, got %s", core.kind(options.stream) or type(options.stream))
  end
  if options.stream ~= nil then errors.check_open(options.stream) end
  if options.shared and options.shared < 0 then misuse_of_launch(1, "shared: expected bytes, got %d", options.shared) end
  if options.grid == nil and options.over == nil then
    misuse_of_launch(1, "expected a grid, the number of blocks, or over, the number of elements")
  end
end

--- The stream of the call whose handler runs here, if it is on that device.
local function current_stream(device)
  local stream = core.current_stream()
  return stream and stream.device == device and stream or nil
end

local methods = {}

--- kernel:launch(options).
-- Queues a launch; kernel{...} is the same. What is wrong with a launch as such is raised here, what goes wrong while it runs where the
-- stream is waited for. Options:
-- - args: a list of the kernel's arguments: for a pointer a buffer on the kernel's device, for a number a number, which must fit. Where the
-- type of a parameter is not known a number needs one, ccw.s32(3).
-- - grid: the number of blocks, or up to three, {x, y, z}.
-- - over: in place of a grid a number of elements, for which there are as many threads, at least. Of 0 nothing is launched.
-- - block: the number of threads of a block, or up to three; 256 unless this says otherwise.
-- - stream: where it is queued. Where none is named that of the call whose handler launches, or else the device's own.
-- - shared: bytes of dynamic shared memory of a block.
function methods:launch(options)
  check_launch(self, options)
  local block_x, block_y, block_z = read_extent("block", options.block or 256)
  local grid_x, grid_y, grid_z
  if options.over ~= nil then
    grid_x, grid_y, grid_z = blocks_over(options.over, options.grid, block_x), 1, 1
  else
    grid_x, grid_y, grid_z = read_extent("grid", options.grid)
  end
  local stream = options.stream or current_stream(about[self].device)
  local problem = core.kernel_launch(self, options.args, stream, grid_x, grid_y, grid_z, block_x, block_y, block_z,
    options.shared or 0)
  if problem then misuse_of_launch(1, "%s", problem) end
end

local function type_text(parameter)
  local constant = parameter.is_pointer and parameter.is_const and "const " or ""
  local dtype = parameter.dtype or (parameter.is_pointer and "any" or ("%d bytes"):format(parameter.size))
  return constant .. dtype .. (parameter.is_pointer and "*" or "")
end

--- kernel: code on a device that ccw.kernel compiled; kernel{...} launches it.
-- Fields: name; device, its name; symbol, what the code calls it; path, of the code; log, what the compiler said; was_kept, whether it had
-- been compiled before; parameters, a list, or nil where they are not known: each with name, dtype, size, is_pointer, is_const, as far
-- as they are. Method: kernel:launch, which ?kernel:launch explains. A kernel is for one device: ccw.kernel makes it for another.
local meta = core.kernel_metatable

function meta.__index(kernel, name) return methods[name] or about[kernel][name] end

meta.__call = methods.launch

function meta.__tostring(kernel)
  local known = about[kernel]
  if not known.parameters then return known.name .. "(...)" end
  local list = {}
  for i, parameter in ipairs(known.parameters) do
    list[i] = (parameter.name and parameter.name .. ": " or "") .. type_text(parameter)
  end
  return ("%s(%s)"):format(known.name, table.concat(list, ", "))
end

return M

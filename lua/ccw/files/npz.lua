--- The format .npz: a zip archive of .npy files.
local core = require "ccw.core"
local errors = require "ccw.errors"
local npy = require "ccw.files.npy"

local M = {}

local STORED, DEFLATED = 0, 8 --- methods of zip
local MOST_INFLATED = 1032 --- bytes that come out of one that was deflated: 258 for two bits

local function fail(code, format, ...) errors.raise(code, format:format(...)) end

local function check(value, text, code)
  if value == nil then errors.raise(code, text) end
  return value
end

--- What the archive says of a member must be possible before memory is taken for it.
local function check_member(member)
  if member.is_encrypted then fail("UNIMPLEMENTED", "it is encrypted") end
  if member.method ~= STORED and member.method ~= DEFLATED then
    fail("UNIMPLEMENTED", "it is compressed by method %d of zip; 0, stored, and 8, deflated, are read", member.method)
  end
  local most = member.method == STORED and member.stored or member.stored * MOST_INFLATED
  if member.size < 0 or member.size > most or member.method == STORED and member.size ~= most then
    fail("DATA_LOSS", "%d bytes%s, which are said to be %d", member.stored, member.method == DEFLATED and ", deflated" or "", member.size)
  end
end

--- Arrays by name: their places in the list of members. Members may not lie over each other.
local function index_of(members, size)
  local index, total = {}, 0
  for i, member in ipairs(members) do
    local name = member.name:match "^(.*)%.npy$"
    if not name then fail("INVALID_ARGUMENT", "member %s is no .npy", core.quote(member.name)) end
    if index[name] then fail("INVALID_ARGUMENT", "two members of one name") end
    index[name] = i
    if member.stored < 0 or member.stored > size - total then
      fail("DATA_LOSS", "members of more bytes than its own, which are %d", size)
    end
    total = total + member.stored
  end
  return index
end

local function sorted_names(index)
  local names = {}
  for name in pairs(index) do names[#names + 1] = name end
  table.sort(names)
  return names
end

--- Reads one array; failures name it.
local function read_member(archive, i, member, dtype, unsaid)
  local buffer, err = errors.try(function()
    check_member(member)
    local source <close> = check(archive:open(i, member.size))
    return npy.read(source, dtype, unsaid)
  end)
  return buffer or fail(err.code, "member %s: %s", core.quote(member.name), err.message)
end

--- read(path, name or nil, dtypes by name, dtype or nil) -> buffers by name, or the one of that name. The last dtype is that of elements
-- of which nothing is said, there or here.
function M.read(path, wanted, dtypes, unsaid)
  local archive <close>, size, code = core.open_archive(path)
  check(archive, size, code)
  local members = check(archive:members())
  local index = index_of(members, size)
  local function read(name) return read_member(archive, index[name], members[index[name]], dtypes[name], unsaid) end
  if wanted then
    local near = core.near(wanted, sorted_names(index))
    if not index[wanted] then
      fail("NOT_FOUND", "no array is called %s%s", core.quote(wanted), near[1] and "; near: " .. table.concat(near, ", ") or "")
    end
    return read(wanted)
  end
  local buffers = {}
  for name in pairs(index) do buffers[name] = read(name) end
  return buffers
end

--- An archive of nothing, which libzip writes by removing the file.
local EMPTY = "PK\5\6" .. ("\0"):rep(18)

M.LONGEST_NAME = 65535 - #".npy" --- bytes, in a zip archive

--- write(path, buffers by name, compressed). The buffers are on the host.
function M.write(path, buffers, compressed)
  local contents = {}
  if next(buffers) == nil then return check(core.write_file(path, EMPTY, core.buffer "u8[0]")) end
  for i, name in ipairs(sorted_names(buffers)) do contents[i] = { name .. ".npy", npy.write(buffers[name]) } end
  check(core.write_archive(path, contents, compressed))
end

return M

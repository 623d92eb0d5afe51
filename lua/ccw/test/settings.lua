--- What a run of tests is told: by the command line of `ccw test`, or by variables of the environment elsewhere.
local M = { requires = {} }

--- Random numbers come from it.
M.seed = math.tointeger(tonumber(os.getenv "CCW_TEST_SEED")) or 1

--- Seconds that a case may take, where its check does not say.
M.time_limit = tonumber(os.getenv "CCW_TEST_TIME_LIMIT") or 30

--- The one case to run, {number, changes}: changes are texts by the name of an axis. nil: all.
M.only = nil

--- Whether standard output is for a program to read, and not for what handlers print.
M.is_read_by_program = false

--- Options of the command line that change which number a case has, for the command that runs it again.
M.order = ""

--- Reads "5" or "5:n=1,T=f32". Returns nothing where it is neither.
function M.read_case(text)
  local number, rest = text:match "^(%d+)(.*)$"
  local changes = {}
  if not number or rest ~= "" and rest:sub(1, 1) ~= ":" then return nil end
  rest = rest:sub(2):gsub("%b{}", function(list) return (list:gsub(",", "\0")) end) -- whose commas part no values of axes
  for item in rest:gmatch "[^,]+" do
    local name, value = item:match "^([%w_]+)=(.+)$"
    if not name then return nil end
    changes[name] = value:gsub("%z", ",")
  end
  return { number = math.tointeger(tonumber(number)), changes = changes }
end

--- Devices, or families of devices, that have to be there: what a check has for them is not skipped, it fails.
function M.require(names)
  for name in names:gmatch "[^,%s]+" do M.requires[name] = true end
end

local only = os.getenv "CCW_TEST_CASE"
if only then
  M.only = M.read_case(only)
  if not M.only then error(("CCW_TEST_CASE: expected a number, or as 5:n=1, got %s"):format(only), 0) end
end
M.require(os.getenv "CCW_TEST_REQUIRE" or "")

return M

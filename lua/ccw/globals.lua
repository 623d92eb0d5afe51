--- The globals as they were when ccw was loaded. They are what every other module sees, for which gather.lua puts a line in
--- front of each: a global of the user's that is called `type` or `table` harms nobody but the user.
local globals = {}
for name, value in next, _G do globals[name] = value end
return globals

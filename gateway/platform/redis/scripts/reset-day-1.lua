-- include: usage.lua
--[[
Sets the day of a customer back: its day limit counts from 0 again. What was served stays in the record of use, and counts for
the month limit.

KEYS[1]  prefix of the records of use, as in consume.lua
ARGV[1]  days for which use is kept

Returns the units that were set back; 0 if there were none, and nothing was changed.
]]

local use = readUse(customerTagOf(KEYS[1]), dayNumberOf(nowMs()))
local used = use.served - use.setBack
if used > 0 then
  addToDay(use, 'g', used, tonumber(ARGV[1]))
end
return math.max(0, used)

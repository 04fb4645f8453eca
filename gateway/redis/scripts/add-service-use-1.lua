-- include: usage.lua
--[[
Adds what a process has counted of one customer and UTC day for each service to the record of the month.

KEYS[1]  prefix of the day counters, as in consume.lua
ARGV[1]  number of the day since 1970
ARGV[2]  days for which use is kept
ARGV[3…] for each service: its name, served requests, and units that they cost; negative to take some back
]]

local customerTag, dayNumber = customerTagOf(KEYS[1]), tonumber(ARGV[1])
local date = utcDate(dayNumber)
local month = usageMonth(customerTag, date)
local isDescribed = readMonth(month, 'plan')[1]

for index = 3, #ARGV, 3 do
  local field = 's:' .. ARGV[index]
  -- Not HINCRBY: a value that was edited by hand counts as 0.
  local served, units = string.match(readMonth(month, field)[1] or '', '^(%d+) (%d+)$')
  redis.call('HSET', month, field, string.format(
    '%.0f %.0f',
    math.max(0, (tonumber(served) or 0) + tonumber(ARGV[index + 1])),
    math.max(0, (tonumber(units) or 0) + tonumber(ARGV[index + 2]))
  ))
end
if not isDescribed then
  describeDay(customerTag, dayNumber, date, tonumber(ARGV[2]))
end

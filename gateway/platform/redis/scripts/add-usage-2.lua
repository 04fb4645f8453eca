-- include: usage.lua
--[[
Adds what a process has counted of one customer and UTC day: requests that were served without Redis, and refused requests. Once
for each report.

KEYS[1]  mark (string with expiry): number of the last report of this process that was added for the customer and day, so that a
         report that is sent again is not added again
KEYS[2]  prefix of the records of use, as in consume.lua
ARGV[1]  number of the report; a later one of the same process, customer and day has a larger one
ARGV[2]  number of the day since 1970
ARGV[3]  units that served requests cost
ARGV[4]  refused requests
ARGV[5]  days for which use is kept
ARGV[6]  those units beyond one for each request; none if it is absent

Returns 1 if it was added, 0 if it had been added before.
]]

if wholeNumber(redis.call('GET', KEYS[1])) >= tonumber(ARGV[1]) then
  return 0
end
local use = readUse(customerTagOf(KEYS[2]), tonumber(ARGV[2]))
local served, refused = tonumber(ARGV[3]), tonumber(ARGV[4])
local retentionDays, beyond = tonumber(ARGV[5]), tonumber(ARGV[6] or 0)

if served > 0 then
  addServed(use, served, beyond, retentionDays)
end
if refused > 0 then
  addToDay(use, 'r', refused, retentionDays)
end
-- Last: without successful increments there must be no mark.
redis.call('SET', KEYS[1], ARGV[1], 'EX', 86400)
return 1

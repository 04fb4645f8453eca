--[[
Adds one report of a process to the use of an API key.

KEYS[1]  the use (string with expiry): "last day served refused". Last is the time of the last request in Unix milliseconds, day
         the number of its UTC day since 1970, and the counts are the requests of that day
ARGV[1…4]  the same of the report
ARGV[5]  milliseconds to keep it
]]

local last, day = tonumber(ARGV[1]), tonumber(ARGV[2])
local served, refused = tonumber(ARGV[3]), tonumber(ARGV[4])
local earlierLast, earlierDay, earlierServed, earlierRefused =
  string.match(redis.call('GET', KEYS[1]) or '', '^(%d+) (%d+) (%d+) (%d+)$')

if earlierDay and tonumber(earlierDay) > day then
  return
end
if earlierDay and tonumber(earlierDay) == day then
  last = math.max(last, tonumber(earlierLast))
  served = served + tonumber(earlierServed)
  refused = refused + tonumber(earlierRefused)
end
redis.call('SET', KEYS[1], string.format('%.0f %.0f %.0f %.0f', last, day, served, refused), 'PX', ARGV[5])

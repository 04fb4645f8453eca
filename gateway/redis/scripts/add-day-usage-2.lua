--[[
Adds requests that were served while Redis was away to a day counter, once per report.

KEYS[1]  day counter (string)
KEYS[2]  mark of this report (string with expiry), so that a report sent again is not added again
ARGV[1]  number of requests
ARGV[2]  Unix seconds at which the day counter expires

Returns 1 where it was added, 0 where it had been added before.
]]

if redis.call('EXISTS', KEYS[2]) == 1 then
  return 0
end
redis.call('INCRBY', KEYS[1], ARGV[1])
redis.call('EXPIREAT', KEYS[1], ARGV[2])
-- Last, since it must not stand where the counter could not be added to.
redis.call('SET', KEYS[2], 1, 'EX', 3600)
return 1

--[[
Adds requests that were served without Redis to a day counter, once for each report.

KEYS[1]  day counter (string)
KEYS[2]  mark of this report (string with expiry), so that a report sent again is not added again
ARGV[1]  number of requests
ARGV[2]  Unix seconds at which the day counter expires

Returns 1 if it was added, 0 if it had been added before.
]]

if redis.call('EXISTS', KEYS[2]) == 1 then
  return 0
end
redis.call('INCRBY', KEYS[1], ARGV[1])
redis.call('EXPIREAT', KEYS[1], ARGV[2])
-- Last: without a successful increment there must be no mark.
redis.call('SET', KEYS[2], 1, 'EX', 3600)
return 1

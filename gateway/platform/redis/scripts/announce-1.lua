--[[
Announces a gateway process.

KEYS[1]  processes by the time they were last seen (sorted set with expiry)
ARGV[1]  now in Unix ms
ARGV[2]  name of the process
ARGV[3]  seconds after which a process that was not seen is removed

Returns 1 if the process was not in the set, or 0.
]]

local now, keptMs = tonumber(ARGV[1]), ARGV[3] * 1000
local added = redis.call('ZADD', KEYS[1], now, ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - keptMs)
-- From before the clock of Redis was set back.
redis.call('ZREMRANGEBYSCORE', KEYS[1], now + keptMs, '+inf')
redis.call('EXPIRE', KEYS[1], ARGV[3])
return added

--[[
Bans a key in place of any other ban, as an operator does.

KEYS[1]  ban (string, expires when the ban ends)
ARGV[1]  reason
ARGV[2]  length in ms
]]

redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])

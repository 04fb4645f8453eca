-- include: bans.lua
--[[
Bans a key, as an operator does.

KEYS[1]  ban (string, expires when the ban ends)
KEYS[2]  strikes (hash, described in consume.lua)
ARGV[1]  reason
ARGV[2]  length in ms
ARGV[3]  days for which use is kept
]]

if type(redis.pcall('HLEN', KEYS[2])) == 'table' then
  -- Edited into another type of value. Only the gateways use this key, so it can be deleted.
  redis.call('DEL', KEYS[2])
end
setBan(KEYS[1], KEYS[2], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[2]), tonumber(ARGV[3]))

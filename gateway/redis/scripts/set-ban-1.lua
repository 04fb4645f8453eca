--[[
Bans a key, as an operator does.

KEYS[1]  ban (string, expires when the ban ends)
ARGV[1]  reason
ARGV[2]  length in ms
ARGV[3]  days for which use is kept

clock.lua, keys.lua, usage.lua and bans.lua are put before this script.
]]

local keyTag = keyTagOf(KEYS[1])
local violationsKey = violationsOf(keyTag)
if type(redis.pcall('HLEN', violationsKey)) == 'table' then
  -- Edited into another type of value. Only the gateways use this key, so it can be deleted.
  redis.call('DEL', violationsKey)
end
setBan(keyTag, ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[2]), tonumber(ARGV[3]))

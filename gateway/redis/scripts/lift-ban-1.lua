--[[
Ends the ban of a key and forgets the strikes that led to it. What is left of the ban is taken from the record of use.

KEYS[1]  ban (string, expires when the ban ends)
ARGV[1]  days for which use is kept

clock.lua, keys.lua, usage.lua and bans.lua are put before this script.
]]

local keyTag = keyTagOf(KEYS[1])
unrecordBan(keyTag, tonumber(ARGV[1]))
redis.call('DEL', KEYS[1], violationsOf(keyTag))

-- include: bans.lua
--[[
Bans a key, as an operator does.

KEYS[1]  ban (string, expires when the ban ends)
KEYS[2]  strikes (hash, described in consume.lua)
ARGV[1]  reason
ARGV[2]  length in ms
ARGV[3]  days for which use is kept
]]

setBan(KEYS[1], KEYS[2], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[2]), tonumber(ARGV[3]))

-- include: bans.lua
--[[
Ends the ban of a key and forgets the strikes that led to it. What is left of the ban is taken from the record of use.

KEYS[1]  ban (string, expires when the ban ends)
KEYS[2]  strikes (hash, described in consume.lua)
ARGV[1]  days for which use is kept

Returns 1; 0 if there was no ban, and nothing was changed.
]]

if redis.call('EXISTS', KEYS[1]) == 0 then
  return 0
end

unrecordBan(KEYS[1], KEYS[2], tonumber(ARGV[1]))
redis.call('DEL', KEYS[1], KEYS[2])
return 1

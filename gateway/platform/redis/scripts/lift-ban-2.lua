--[[
Ends the ban of a key and forgets the strikes that led to it.

KEYS[1]  ban (string, expires when the ban ends)
KEYS[2]  strikes (hash, described in consume.lua)

Returns 1; 0 if there was no ban, and nothing was changed.
]]

local lifted = redis.call('DEL', KEYS[1])
if lifted == 1 then
  redis.call('DEL', KEYS[2])
end
return lifted

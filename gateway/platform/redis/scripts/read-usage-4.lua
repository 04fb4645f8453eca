-- include: windows.lua
--[[
Reads how much of each window the customer of an API key has used, and the key's ban.

KEYS     those of a request in consume.lua
ARGV[1]  rev of the record that the caller knows, or -1 for any
ARGV[2]  time within which strikes lead to a ban, in ms
ARGV[3…] a limit for each window, in the order of the list, or an empty argument for a window that is not read

Returns {allowed, now in Unix ms, ms to the end of the ban or 0, strikes, value of the ban or '', and for each window with a
limit: requests used, ms to its end}, or {stale} if the record's rev is not the one that the caller knows (scripts.ts).
]]

if ARGV[1] ~= '-1' and (redis.call('HGET', KEYS[1], 'rev') or '0') ~= ARGV[1] then
  return { outcome.stale }
end

local now = nowMs()
local states = readWindows(readUse(customerTagOf(KEYS[2]), dayNumberOf(now)), ARGV, 3)

local history = redis.call('HMGET', KEYS[4], 'strikes', 'strikesSince')
local strikes, strikesSince = wholeNumber(history[1]), wholeNumber(history[2])
if strikesSince > now or now - strikesSince >= tonumber(ARGV[2]) then
  strikes = 0
end
local bannedMs = math.max(0, redis.call('PTTL', KEYS[3]))
local ban = redis.call('GET', KEYS[3]) or ''
return addWindows({ outcome.allowed, now, bannedMs, strikes, ban }, states)

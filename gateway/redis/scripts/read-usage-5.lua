--[[
Reads how much of both quota windows an API key has used. Writes nothing.

KEYS[1]  record of the API key (hash, field rev)
KEYS[2]  counter of the open minute window
KEYS[3]  prefix of the day counters, as in consume.lua
KEYS[4]  ban
KEYS[5]  violations (hash, described in consume.lua)
ARGV[1]  rev of the record that the caller knows, or -1 for any
ARGV[2]  time within which strikes lead to a ban, in ms
ARGV[3]  length of the longest ban in ms: that of a ban that was set by hand without an expiry

Returns {allowed, now in Unix ms, minute used, ms to the end of the minute window, day used, ms to the end of the ban or 0,
strikes, value of the ban or ''}, or {stale} if the record's rev is not the one that the caller knows (script-outcomes.ts).

The table of outcomes, clock.lua, usage.lua and bans.lua are put before this script.
]]

if ARGV[1] ~= '-1' and (redis.call('HGET', KEYS[1], 'rev') or '0') ~= ARGV[1] then
  return { outcome.stale }
end

local now = nowMs()
local today = utcDate(dayNumberOf(now))
local counters = redis.call('MGET', KEYS[2], KEYS[3] .. ':' .. today)
local minuteUsed = wholeNumber(counters[1])
local dayUsed = wholeNumber(counters[2])
if dayUsed == 0 then
  dayUsed = rolledUp(keyTagOf(KEYS[3]), today)
end
local minuteLeft = redis.call('PTTL', KEYS[2])
if minuteLeft == -1 or minuteLeft > 60000 then
  -- The next request restores the expiry (consume.lua).
  minuteLeft = 60000
end
if minuteUsed == 0 or minuteLeft <= 0 then
  -- No window is open. One that opened now would last this long.
  minuteUsed = 0
  minuteLeft = 60000
end

local history = redis.pcall('HMGET', KEYS[5], 'strikes', 'strikesSince')
local strikes, strikesSince = wholeNumber(history[1]), wholeNumber(history[2])
if strikesSince > now or now - strikesSince >= tonumber(ARGV[2]) then
  strikes = 0
end
local bannedMs, ban = redis.call('PTTL', KEYS[4]), ''
if bannedMs > 0 or bannedMs == -1 then
  bannedMs, ban = readBan(KEYS[4], KEYS[5], bannedMs, tonumber(ARGV[3]))
else
  bannedMs = 0
end
return { outcome.allowed, now, minuteUsed, minuteLeft, dayUsed, bannedMs, strikes, ban }

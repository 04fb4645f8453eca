--[[
Reads how much of both quota windows an API key has used. Writes nothing.

KEYS[1]  record of the API key (hash, field rev)
KEYS[2]  counter of the open minute window
KEYS[3]  prefix of the day counters, as in consume.lua
KEYS[4]  ban
KEYS[5]  violations (hash: recent)
ARGV[1]  rev of the record that the caller knows, -1 to take it as it is
ARGV[2]  ms within which violations lead to a ban
ARGV[3]  ms of the longest ban: how long one lasts that was set by hand without an expiry

Returns {1, now in Unix ms, minute used, ms to the end of the minute window, day used, ms to the end of the ban or 0,
recent violations}, or {3} where the record is not the one the caller knows.

clock.lua stands before this script.
]]

if ARGV[1] ~= '-1' and (redis.call('HGET', KEYS[1], 'rev') or '0') ~= ARGV[1] then
  return { 3 }
end

local now = nowMs()
local counters = redis.call('MGET', KEYS[2], KEYS[3] .. ':' .. utcDate(dayNumberOf(now)))
local minuteUsed = wholeNumber(counters[1])
local minuteLeft = redis.call('PTTL', KEYS[2])
if minuteLeft == -1 or minuteLeft > 60000 then
  -- As in consume.lua: the next request gives the window its length again.
  minuteLeft = 60000
end
if minuteUsed == 0 or minuteLeft <= 0 then
  -- No window is open: one that opened now would last this long.
  minuteUsed = 0
  minuteLeft = 60000
end

local violations = 0
local recent = redis.pcall('HGET', KEYS[5], 'recent')
if type(recent) == 'string' then
  for text in string.gmatch(recent, '%d+') do
    if tonumber(text) > now - tonumber(ARGV[2]) then
      violations = violations + 1
    end
  end
end
local banned = redis.call('PTTL', KEYS[4])
if banned == -1 then
  banned = tonumber(ARGV[3])
end
return { 1, now, minuteUsed, minuteLeft, wholeNumber(counters[2]), math.max(0, banned), violations }

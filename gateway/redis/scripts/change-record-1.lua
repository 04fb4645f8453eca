-- include: clock.lua
--[[
Changes a record and raises its rev, so that every gateway reads it again on the key's next request. The rev becomes at least
the time in Unix ms, so that a change is newer than all that gateways have seen, also after Redis has lost earlier changes.

KEYS[1]  record of the API key (hash)
ARGV[1]  rev that the change is based on
ARGV[2]  Unix seconds at which the record expires, or '' to keep it for good
ARGV[3]  seconds that it is kept instead if that time is over already
ARGV[4…] pairs of field and value; an empty value removes the field

Returns the new rev, or 0 if the record was changed in between and nothing was written.
]]

local rev = redis.call('HGET', KEYS[1], 'rev') or '0'
if rev ~= ARGV[1] then
  return 0
end
for index = 4, #ARGV, 2 do
  if ARGV[index + 1] == '' then
    redis.call('HDEL', KEYS[1], ARGV[index])
  else
    redis.call('HSET', KEYS[1], ARGV[index], ARGV[index + 1])
  end
end
local now = nowMs()
-- Read again: an import writes the rev of its file.
local changed = math.max(wholeNumber(redis.call('HGET', KEYS[1], 'rev')) + 1, now)
-- Not the number itself, which Lua would write as 1.7e+12.
redis.call('HSET', KEYS[1], 'rev', string.format('%.0f', changed))
local nowSeconds = math.floor(now / 1000)
if ARGV[2] == '' then
  redis.call('PERSIST', KEYS[1])
elseif tonumber(ARGV[2]) > nowSeconds then
  redis.call('EXPIREAT', KEYS[1], ARGV[2])
else
  -- The expiry was edited into the far past; a change of the record shows that it is still wanted.
  redis.call('EXPIREAT', KEYS[1], nowSeconds + tonumber(ARGV[3]))
end
return changed

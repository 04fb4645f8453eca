--[[
Changes a record and raises its rev, so that every gateway reads it again on the key's next request.

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
if not string.find(rev, '^%d+$') then
  redis.call('HSET', KEYS[1], 'rev', 0)
end
for index = 4, #ARGV, 2 do
  if ARGV[index + 1] == '' then
    redis.call('HDEL', KEYS[1], ARGV[index])
  else
    redis.call('HSET', KEYS[1], ARGV[index], ARGV[index + 1])
  end
end
local changed = redis.call('HINCRBY', KEYS[1], 'rev', 1)
local nowSeconds = tonumber(redis.call('TIME')[1])
if ARGV[2] == '' then
  redis.call('PERSIST', KEYS[1])
elseif tonumber(ARGV[2]) > nowSeconds then
  redis.call('EXPIREAT', KEYS[1], ARGV[2])
else
  -- The expiry was edited into the far past; a change of the record shows that it is still wanted.
  redis.call('EXPIREAT', KEYS[1], nowSeconds + tonumber(ARGV[3]))
end
return changed

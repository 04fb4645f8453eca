-- include: clock.lua
-- include: fields.lua
--[[
Changes the record of a customer, or of one of its API keys, or both, and raises the rev of the customer, so that every gateway
reads them again on the next request of any of its keys. The rev becomes at least the time in Unix ms, so that a change is newer
than all that gateways have seen, also after Redis has lost earlier changes.

KEYS[1]  record of the customer (hash)
KEYS[2]  record of the API key (hash); absent for a change of the customer alone
KEYS[3]  ids of the customer's keys (set), with KEYS[2]
ARGV[1]  rev that the change is based on; '' for any
ARGV[2]  Unix seconds at which the record of the key expires, or '' to keep it for good
ARGV[3]  seconds that it is kept instead if that time is over already
ARGV[4]  1 if the key must not exist yet
ARGV[5]  number of fields of the customer
ARGV[6…] these, as pairs of field and value, then those of the key; an empty value removes the field

Returns the new rev, or 0 if the customer was changed in between, or the key exists, and nothing was written.
]]

local customer, key = KEYS[1], KEYS[2]
local rev = redis.call('HGET', customer, 'rev') or '0'
if ARGV[1] ~= '' and rev ~= ARGV[1] or ARGV[4] == '1' and redis.call('EXISTS', key) == 1 then
  return 0
end
local firstOfKey = 6 + 2 * tonumber(ARGV[5])
writeFields(customer, ARGV, 6, firstOfKey - 1)
local now = nowMs()
-- Read again: an import writes the rev of its file.
local changed = math.max(wholeNumber(redis.call('HGET', customer, 'rev')) + 1, now)
-- A customer that Redis has lost is to be imported: a rev alone is no record of it.
if redis.call('EXISTS', customer) == 1 then
  -- Not the number itself, which Lua would write as 1.7e+12.
  redis.call('HSET', customer, 'rev', string.format('%.0f', changed))
end
if not key then
  return changed
end
writeFields(key, ARGV, firstOfKey, #ARGV)
local id = redis.call('HGET', key, 'id')
if id then
  redis.call('SADD', KEYS[3], id)
end
local nowSeconds = math.floor(now / 1000)
if ARGV[2] == '' then
  redis.call('PERSIST', key)
elseif tonumber(ARGV[2]) > nowSeconds then
  redis.call('EXPIREAT', key, ARGV[2])
else
  -- The expiry was edited into the far past; a change of the record shows that it is still wanted.
  redis.call('EXPIREAT', key, nowSeconds + tonumber(ARGV[3]))
end
return changed

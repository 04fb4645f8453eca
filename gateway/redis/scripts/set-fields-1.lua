--[[
Sets fields of a hash of settings, unless it was changed since it was read.

KEYS[1]  the hash
ARGV[1]  number of fields that are expected in it
ARGV[2…] the expected fields, as pairs of field and value; then the fields to set, as pairs; an empty value removes the field

Returns 1, or 0 if the hash was changed in between and nothing was written.
]]

local expected = tonumber(ARGV[1])
if redis.call('HLEN', KEYS[1]) ~= expected then
  return 0
end
for index = 2, 2 * expected, 2 do
  if redis.call('HGET', KEYS[1], ARGV[index]) ~= ARGV[index + 1] then
    return 0
  end
end
for index = 2 * expected + 2, #ARGV, 2 do
  if ARGV[index + 1] == '' then
    redis.call('HDEL', KEYS[1], ARGV[index])
  else
    redis.call('HSET', KEYS[1], ARGV[index], ARGV[index + 1])
  end
end
return 1

--[[
Deletes the record of a customer, and those of its API keys.

KEYS[1]  record of the customer (hash)
KEYS[2]  ids of the customer's keys (set)
KEYS[3…] what is deleted with it
ARGV[1]  rev that the removal is based on
ARGV[2]  ms that the ids are kept: gateways tell by them for a while that the keys were not lost

Returns 1, or 0 if the customer or one of its keys was changed in between, and nothing was deleted.
]]

if (redis.call('HGET', KEYS[1], 'rev') or '0') ~= ARGV[1] then
  return 0
end
redis.call('DEL', KEYS[1])
for index = 3, #KEYS do
  redis.call('DEL', KEYS[index])
end
redis.call('PEXPIRE', KEYS[2], ARGV[2])
return 1

--[[
Deletes the record of a customer, and those of its API keys.

KEYS[1]  record of the customer (hash)
KEYS[2…] what is deleted with it
ARGV[1]  rev that the removal is based on

Returns 1, or 0 if the customer or one of its keys was changed in between, and nothing was deleted.
]]

if (redis.call('HGET', KEYS[1], 'rev') or '0') ~= ARGV[1] then
  return 0
end
for _, key in ipairs(KEYS) do
  redis.call('DEL', key)
end
return 1

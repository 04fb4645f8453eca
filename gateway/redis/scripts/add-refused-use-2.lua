--[[
Adds one report of a process to the refused use of an API key that was revoked or has expired.

KEYS[1]  the record of the key (hash)
KEYS[2]  the refused use: address or network to "from to requests", times in Unix milliseconds (hash with expiry)
ARGV[1]  maximum number of addresses; the one seen longest ago is forgotten
ARGV[2]  milliseconds to keep it if the record has no expiry
ARGV[3…] for each address: the address, from, to, requests
]]

local pattern = '^(%d+) (%d+) (%d+)$'

-- It was edited into another type of value.
if redis.call('TYPE', KEYS[2]).ok ~= 'hash' then
  redis.call('DEL', KEYS[2])
end

for index = 3, #ARGV, 4 do
  local address = ARGV[index]
  local from, to, requests = tonumber(ARGV[index + 1]), tonumber(ARGV[index + 2]), tonumber(ARGV[index + 3])
  local _, _, earlierFrom, earlierTo, earlier = string.find(redis.call('HGET', KEYS[2], address) or '', pattern)
  if earlier then
    from = math.min(from, tonumber(earlierFrom))
    to = math.max(to, tonumber(earlierTo))
    requests = requests + tonumber(earlier)
  end
  redis.call('HSET', KEYS[2], address, string.format('%.0f %.0f %.0f', from, to, requests))
end

local fields = redis.call('HGETALL', KEYS[2])
local addresses = {}
for index = 1, #fields, 2 do
  local _, _, _, to = string.find(fields[index + 1], pattern)
  table.insert(addresses, { name = fields[index], to = tonumber(to) or 0 })
end
table.sort(addresses, function(one, other)
  return one.to > other.to
end)
for index = tonumber(ARGV[1]) + 1, #addresses do
  redis.call('HDEL', KEYS[2], addresses[index].name)
end

local leftMs = redis.call('PTTL', KEYS[1])
redis.call('PEXPIRE', KEYS[2], leftMs > 0 and leftMs or ARGV[2])

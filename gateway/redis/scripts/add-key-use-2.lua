--[[
Adds one report of a process to the use of an API key by address: that of a valid key, or that of one after its end.

KEYS[1]  the record of the key (hash)
KEYS[2]  the use (hash with expiry): `served` and `refused` requests, which the use after its end lacks, and for each address or
         network "from to requests agent gateway", times in Unix milliseconds, without the last two after its end
ARGV[1]  maximum number of addresses; the one seen longest ago is forgotten
ARGV[2]  milliseconds to keep it if the record has no expiry
ARGV[3]  served requests; negative if more were taken back
ARGV[4]  refused requests
ARGV[5…] for each address: the address, from, to, requests, and agent and gateway with a space before each, or an empty argument
]]

local pattern = '^(%d+) (%d+) (%d+)(.*)$'
local counts = { served = tonumber(ARGV[3]), refused = tonumber(ARGV[4]) }

-- It was edited into another type of value.
if redis.call('TYPE', KEYS[2]).ok ~= 'hash' then
  redis.call('DEL', KEYS[2])
end

for name, count in pairs(counts) do
  if count ~= 0 then
    -- Not HINCRBY: a value that was edited by hand counts as 0.
    local before = tonumber(string.match(redis.call('HGET', KEYS[2], name) or '', '^%d+$')) or 0
    redis.call('HSET', KEYS[2], name, string.format('%.0f', math.max(0, before + count)))
  end
end

for index = 5, #ARGV, 5 do
  local address, by = ARGV[index], ARGV[index + 4]
  local from, to, requests = tonumber(ARGV[index + 1]), tonumber(ARGV[index + 2]), tonumber(ARGV[index + 3])
  local _, _, earlierFrom, earlierTo, earlier, earlierBy =
    string.find(redis.call('HGET', KEYS[2], address) or '', pattern)
  if earlier then
    from = math.min(from, tonumber(earlierFrom))
    if to < tonumber(earlierTo) then
      to, by = tonumber(earlierTo), earlierBy
    end
    requests = requests + tonumber(earlier)
  end
  redis.call('HSET', KEYS[2], address, string.format('%.0f %.0f %.0f%s', from, to, requests, by))
end

local fields = redis.call('HGETALL', KEYS[2])
local addresses = {}
for index = 1, #fields, 2 do
  if not counts[fields[index]] then
    local _, _, _, to = string.find(fields[index + 1], pattern)
    table.insert(addresses, { name = fields[index], to = tonumber(to) or 0 })
  end
end
table.sort(addresses, function(one, other)
  return one.to > other.to
end)
for index = tonumber(ARGV[1]) + 1, #addresses do
  redis.call('HDEL', KEYS[2], addresses[index].name)
end

local leftMs = redis.call('PTTL', KEYS[1])
redis.call('PEXPIRE', KEYS[2], leftMs > 0 and leftMs or ARGV[2])

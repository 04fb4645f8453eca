--[[
Adds one report of a process to the record of traffic, once.

KEYS[1]   number of the last report that this process has added (string with expiry)
KEYS[2]…  buckets (hashes with expiry)
ARGV[1]   number of this report, higher than those before
ARGV[2]   seconds to keep KEYS[1]
ARGV[3]   maximum number of fields of a bucket
ARGV[4]…  for each bucket: Unix seconds at which it expires, number of fields, and each field with its count
          (traffic-fields.ts)

Returns 1 if it was added, 0 if it had been added before.
]]

-- A number that was edited into something else is replaced. A wrong type makes this a table.
local last = redis.pcall('GET', KEYS[1])
if type(last) == 'string' and #last <= 15 and string.find(last, '^%d+$') and tonumber(last) >= tonumber(ARGV[1]) then
  return 0
end

local maxFields = tonumber(ARGV[3])

local function add(bucket, field, count)
  local reply = redis.pcall('HINCRBY', bucket, field, count)
  if type(reply) ~= 'table' then
    return
  end
  -- The count was edited into something that nothing can be added to.
  if string.find(reply.err, 'not an integer') or string.find(reply.err, 'overflow') then
    redis.call('HSET', bucket, field, count)
  else
    error(reply.err)
  end
end

local position = 4
for index = 2, #KEYS do
  local bucket = KEYS[index]
  local expiresAt, fields = ARGV[position], tonumber(ARGV[position + 1])
  position = position + 2
  if redis.call('TYPE', bucket).ok ~= 'hash' then
    redis.call('DEL', bucket)
  end
  local fits = redis.call('HLEN', bucket) + fields <= maxFields
  for _ = 1, fields do
    local field, count = ARGV[position], ARGV[position + 1]
    position = position + 2
    -- Plans beyond the maximum share a field without a name. Durations, which begin with t, name no plans.
    if not fits and string.sub(field, 1, 1) ~= 't' and redis.call('HLEN', bucket) >= maxFields
      and redis.call('HEXISTS', bucket, field) == 0 then
      field = string.match(field, '^[^:]*:')
    end
    add(bucket, field, count)
  end
  redis.call('EXPIREAT', bucket, expiresAt)
end
-- Last: without successful additions there must be no mark.
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
return 1

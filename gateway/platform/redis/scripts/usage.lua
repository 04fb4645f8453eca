-- include: clock.lua
--[[
For scripts that count or record the use of a customer.

The record of a customer's use is one hash for each month, gw:usage:{<customer id>}:<YYYYMM>. It is also what the day and the month
limit count. Its fields, with the day of the month as DD:
  DD        units that served requests cost
  sum       those of all days
  xDD       units of the day beyond one for each request: DD without them are the served requests
  gDD       units of the day that an operator has set back (reset-day-1.lua), which its limit does not count
  rDD       refused requests
  pDD       plan of this and the following days, up to the next such field
  plan      plan of the last field pDD
  id, name  of the customer, so that its use has a name after its record is gone

Values are short, and at most 97 without costs, so that the hash stays a listpack: as a hash table it would take several times the
memory.
]]

-- Longer ones would make the hash a hash table (hash-max-listpack-value).
local maxValueBytes = 64

-- The part of a Redis key that all keys of one customer share: {<customer id>}.
local function customerTagOf(redisKey)
  return string.match(redisKey, '{[^}]*}')
end

local function usageMonth(customerTag, date)
  return 'gw:usage:' .. customerTag .. ':' .. string.sub(date, 1, 6)
end

-- Cuts a text between two UTF-8 characters.
local function shortText(text)
  if #text <= maxValueBytes then
    return text
  end
  local last = maxValueBytes
  while last > 0 and string.byte(text, last + 1) >= 128 and string.byte(text, last + 1) < 192 do
    last = last - 1
  end
  return string.sub(text, 1, last)
end

-- Completes the record of a month to which a day was added: whose it is, the plan of the day if that is another one than before,
-- and its expiry. That differs by up to 18 hours from customer to customer, so that the records of all do not expire at once.
local function describeDay(customerTag, dayNumber, retentionDays)
  local date = utcDate(dayNumber)
  local month, day = usageMonth(customerTag, date), string.sub(date, 7)
  local record = redis.call('HMGET', 'gw:customer:' .. customerTag, 'plan', 'id', 'name')
  local plan = record[1] and shortText(record[1])
  if plan and redis.call('HGET', month, 'plan') ~= plan then
    local id, name = shortText(record[2] or ''), shortText(record[3] or '')
    redis.call('HSET', month, 'plan', plan, 'p' .. day, plan, 'id', id, 'name', name)
  end
  -- Imported ids may have other characters there.
  local spread = tonumber(string.match(customerTag, '^{cus_(%x%x%x%x)') or '0', 16)
  redis.call('EXPIREAT', month, (dayNumber - tonumber(day) + 32 + retentionDays) * 86400 + spread)
end

-- Adds to a field of a day. None falls below 0.
local function addToDay(customerTag, dayNumber, prefix, amount, retentionDays)
  local date = utcDate(dayNumber)
  local month, field = usageMonth(customerTag, date), prefix .. string.sub(date, 7)
  local before = redis.call('HMGET', month, field, 'plan')
  redis.call('HSET', month, field, wholeText(math.max(0, wholeNumber(before[1]) + amount)))
  if not before[2] then
    describeDay(customerTag, dayNumber, retentionDays)
  end
end

-- Units that requests of a day and of its month have cost.
local function readUse(customerTag, dayNumber)
  local date = utcDate(dayNumber)
  local month, day = usageMonth(customerTag, date), string.sub(date, 7)
  local counts = redis.call('HMGET', month, day, 'g' .. day, 'sum')
  return {
    month = month,
    day = day,
    isOpen = counts[1] ~= false,
    served = wholeNumber(counts[1]),
    setBack = wholeNumber(counts[2]),
    sum = wholeNumber(counts[3]),
  }
end

-- Adds what served requests cost to a day and its month, or takes away what was given back.
local function addServed(customerTag, dayNumber, use, units, retentionDays)
  redis.call('HSET', use.month, use.day, wholeText(use.served + units), 'sum', wholeText(use.sum + units))
  if not use.isOpen then
    describeDay(customerTag, dayNumber, retentionDays)
  end
end


-- include: clock.lua
--[[
For scripts that count or record the use of a customer.

The record of a customer's use is one hash for each month, gw:usage:{<customer id>}:<YYYYMM>. It is also what the day and the month
limit count. Its fields, with the day of the month as DD:
  DD        units that served requests cost
  sum       those of all days
  back      requests that were given back
  xDD       units of the day beyond one for each request: DD without them are the served requests
  gDD       units of the day that an operator has set back (reset-day-1.lua), which its limit does not count
  rDD       refused requests
  pDD       plan of this and the following days, up to the next such field
  plan      plan of the last field pDD
  name      of the customer, so that its use has a name after its record is gone

Without costs there are at most 97 fields, so that the hash stays a listpack: as a hash table it would take several times the memory.
]]

-- The part of a Redis key that all keys of one customer share: {<customer id>}.
local function customerTagOf(redisKey)
  return string.match(redisKey, '{[^}]*}')
end

-- Units that requests of a day and of its month have cost, and where they are recorded.
local function readUse(customerTag, dayNumber)
  local date = utcDate(dayNumber)
  local month, day = 'gw:usage:' .. customerTag .. ':' .. string.sub(date, 1, 6), string.sub(date, 7)
  local counts = redis.call('HMGET', month, day, 'g' .. day, 'sum')
  return {
    customerTag = customerTag,
    dayNumber = dayNumber,
    month = month,
    day = day,
    isOpen = counts[1] ~= false,
    served = wholeNumber(counts[1]),
    setBack = wholeNumber(counts[2]),
    sum = wholeNumber(counts[3]),
  }
end

-- Completes the record of a month to which a day was added: whose it is, the plan of the day if that is another one than before,
-- and its expiry. That differs by up to 18 hours from customer to customer, so that the records of all do not expire at once.
local function describeDay(use, retentionDays)
  local customer = redis.call('HMGET', 'gw:customer:' .. use.customerTag, 'plan', 'name')
  local plan, name = customer[1], customer[2] or ''
  if plan and redis.call('HGET', use.month, 'plan') ~= plan then
    redis.call('HSET', use.month, 'plan', plan, 'p' .. use.day, plan, 'name', name)
  end
  -- Imported ids may have other characters there.
  local spread = tonumber(string.match(use.customerTag, '^{cus_(%x%x%x%x)') or '0', 16)
  redis.call('EXPIREAT', use.month, (use.dayNumber - tonumber(use.day) + 32 + retentionDays) * 86400 + spread)
end

-- Adds to a field of a day. None falls below 0.
local function addToDay(use, prefix, amount, retentionDays)
  local before = redis.call('HMGET', use.month, prefix .. use.day, 'plan')
  redis.call('HSET', use.month, prefix .. use.day, wholeText(math.max(0, wholeNumber(before[1]) + amount)))
  if not before[2] then
    describeDay(use, retentionDays)
  end
end

-- Adds what served requests cost to a day and its month, or takes away what was given back. Beyond are the units beyond one for
-- each request.
local function addServed(use, units, beyond, retentionDays)
  redis.call('HSET', use.month, use.day, wholeText(use.served + units), 'sum', wholeText(use.sum + units))
  if not use.isOpen then
    describeDay(use, retentionDays)
  end
  if beyond ~= 0 then
    addToDay(use, 'x', beyond, retentionDays)
  end
end

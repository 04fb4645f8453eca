-- include: clock.lua
--[[
For scripts that count, read or record the use of a customer.

The record of a customer's use is one hash for each month, gw:usage:{<customer id>}:<YYYYMM>. Its fields, with the day of the month
as DD:
  DD        units that served requests cost. The day counter (consume.lua) has them until the day is rolled up, when another
            day opens
  xDD       those of them beyond one for each request: DD without them are the served requests
  gDD       units of the day that an operator has set back (reset-day-1.lua), until the day is rolled up: they were served, and
            are not in the day counter
  rDD       refused requests
  bDD       seconds of bans
  pDD       plan of this and the following days, up to the next such field
  open      the day whose counter is rolled up when another day opens
  plan      plan of the last field pDD
  id, name  of the customer, so that its use has a name after its record is gone

Values are short, and at most 129 without costs, so that the hash stays a listpack: as a hash table it would take several times
the memory.
]]

-- Longer ones would make the hash a hash table (hash-max-listpack-value).
local maxValueBytes = 64

-- The part of a Redis key that all keys of one customer share: {<customer id>}.
local function customerTagOf(redisKey)
  return string.match(redisKey, '{[^}]*}')
end

local function dayCounter(customerTag, date)
  return 'gw:day:' .. customerTag .. ':' .. date
end

local function usageMonth(customerTag, date)
  return 'gw:usage:' .. customerTag .. ':' .. string.sub(date, 1, 6)
end

-- Unix seconds at which the use of a day can be deleted. Differs by up to 18 hours from customer to customer, so that those of all
-- do not expire at once.
local function usageExpiry(customerTag, dayNumber, retentionDays)
  -- Imported ids may have other characters there.
  local spread = tonumber(string.match(customerTag, '^{cus_(%x%x%x%x)') or '0', 16)
  return (dayNumber + 1 + retentionDays) * 86400 + spread
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

-- Completes the record of a month to which a day was added: its expiry, whose key it is, and the plan of the day if that is
-- another one than before.
local function describeDay(customerTag, dayNumber, date, retentionDays, plan, open)
  local month, day = usageMonth(customerTag, date), string.sub(date, 7)
  local record = redis.call('HMGET', 'gw:customer:' .. customerTag, 'plan', 'id', 'name')
  if record[1] then
    local current = shortText(record[1])
    if not plan then
      redis.call('HSET', month, 'id', shortText(record[2] or ''), 'name', shortText(record[3] or ''))
    end
    -- An earlier day than the open one means that Redis' clock was set back.
    if plan ~= current or (open and day < open) then
      redis.call('HSET', month, 'plan', current, 'p' .. day, current)
    end
  end
  redis.call('EXPIREAT', month, usageExpiry(customerTag, dayNumber - tonumber(day) + 31, retentionDays))
end

-- Adds to a field of a day. None falls below 0.
local function addToDay(customerTag, dayNumber, prefix, amount, retentionDays)
  local date = utcDate(dayNumber)
  local month, field = usageMonth(customerTag, date), prefix .. string.sub(date, 7)
  local before = redis.call('HMGET', month, field, 'plan')
  local sum = math.max(0, wholeNumber(before[1]) + amount)
  redis.call('HSET', month, field, string.format('%.0f', sum))
  if not before[2] then
    describeDay(customerTag, dayNumber, date, retentionDays)
  end
end

-- Units of a day that was rolled up. Writes nothing.
local function rolledUp(customerTag, date)
  return wholeNumber(redis.call('HGET', usageMonth(customerTag, date), string.sub(date, 7)))
end

-- Moves the counter of a day into the record, with what was set back.
local function rollUp(customerTag, dayNumber, retentionDays)
  local date = utcDate(dayNumber)
  local counter, month, setBack = dayCounter(customerTag, date), usageMonth(customerTag, date), 'g' .. string.sub(date, 7)
  local served = wholeNumber(redis.call('GET', counter)) + wholeNumber(redis.call('HGET', month, setBack))
  if served > 0 then
    redis.call('HDEL', month, setBack)
    addToDay(customerTag, dayNumber, '', served, retentionDays)
  end
  redis.call('DEL', counter)
end

-- The number of the day that is open in a month, given another day of that month.
local function openDayOf(open, dayNumber, date)
  if open and string.find(open, '^%d%d$') then
    return dayNumber - tonumber(string.sub(date, 7)) + tonumber(open)
  end
  return nil
end

-- Makes a day the open one, with its first counted units, and rolls up the one before. Costs nothing at midnight: each
-- customer's day opens with its first request.
local function openDay(customerTag, dayNumber, served, retentionDays)
  local date = utcDate(dayNumber)
  local month, day = usageMonth(customerTag, date), string.sub(date, 7)
  local before = redis.call('HMGET', month, 'open', 'plan')
  local last = openDayOf(before[1], dayNumber, date)
  if not last then
    local endOfLastMonth = dayNumber - tonumber(day)
    local endDate = utcDate(endOfLastMonth)
    local lastMonth = usageMonth(customerTag, endDate)
    local open = redis.call('HGET', lastMonth, 'open')
    last = openDayOf(open, endOfLastMonth, endDate)
    if open then
      redis.call('HDEL', lastMonth, 'open')
    end
  end
  if last and last ~= dayNumber then
    rollUp(customerTag, last, retentionDays)
  end
  redis.call('HSET', month, 'open', day)
  -- Rolled up before, if Redis' clock was set back: it is counted again from there.
  redis.call('HDEL', month, day)
  describeDay(customerTag, dayNumber, date, retentionDays, before[2], before[1])
  redis.call(
    'SET', dayCounter(customerTag, date), string.format('%.0f', served),
    'EXAT', usageExpiry(customerTag, dayNumber, retentionDays)
  )
end

-- Adds the seconds of a ban to the days on which they fall, or takes them away if the sign is -1.
local function addBanSeconds(customerTag, fromMs, toMs, sign, retentionDays)
  local from, to = math.floor(fromMs / 1000), math.floor(toMs / 1000)
  while from < to do
    local dayNumber = math.floor(from / 86400)
    local till = math.min(to, (dayNumber + 1) * 86400)
    addToDay(customerTag, dayNumber, 'b', sign * (till - from), retentionDays)
    from = till
  end
end


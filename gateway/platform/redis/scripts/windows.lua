-- include: usage.lua
--[[
The windows in which the units that requests cost are counted, and the decision between them. The table `windows` comes before every script
(load-script.ts): for each window, in order, its name and either lengthMs, if the first request opens it, or calendar, which
is day or month. Limits, units used and ms to the end are arrays in the same order; false is no limit.

Counters, besides the day counter (usage.lua), which is also the record of use:
  gw:<window>:{<customer id>}          units of an open window (string, expires when the window ends)
  gw:month:{<customer id>}:<YYYYMMDD>  units of the month that the counter of that day lacks, only of a customer with a month limit
                                    (string with expiry). With those of the day they are the month's, so the record of use is
                                    what the limit is for
]]

local dayLengthMs = 86400000

local function counterOf(window, customerTag)
  return 'gw:' .. window.name .. ':' .. customerTag
end

-- Number of the first day of the next month.
local function nextMonth(dayNumber)
  local first = dayNumber - tonumber(string.sub(utcDate(dayNumber), 7)) + 1
  local inNextMonth = first + 31
  return inNextMonth - tonumber(string.sub(utcDate(inNextMonth), 7)) + 1
end

-- Units of the month that the counter of a day lacks: those before it, from the record of use and the day counter that was not
-- rolled up yet, and those of the day that were set back.
local function servedEarlier(customerTag, date)
  local fields = redis.call('HGETALL', usageMonth(customerTag, date))
  local today, sum = string.sub(date, 7), 0
  for index = 1, #fields, 2 do
    local field, value = fields[index], fields[index + 1]
    local day = string.match(field, '^g?(%d%d)$')
    if day and (day < today or field == 'g' .. today) then
      sum = sum + wholeNumber(value)
    elseif field == 'open' and string.find(value, '^%d%d$') and value < today then
      sum = sum + wholeNumber(redis.call('GET', dayCounter(customerTag, string.sub(date, 1, 6) .. value)))
    end
  end
  return sum
end

local function monthCounter(customerTag, dayNumber)
  return 'gw:month:' .. customerTag .. ':' .. utcDate(dayNumber)
end

-- The same, summed up once a day if it may be stored.
local function usedEarlierInMonth(customerTag, dayNumber, mayStore)
  local counter = monthCounter(customerTag, dayNumber)
  local stored = redis.call('GET', counter)
  if stored == '0' or wholeNumber(stored) > 0 then
    return wholeNumber(stored)
  end
  local sum = servedEarlier(customerTag, utcDate(dayNumber))
  if mayStore then
    redis.call('SET', counter, string.format('%.0f', sum), 'EXAT', (dayNumber + 1) * 86400)
  end
  return sum
end

-- Units used and ms to the end of a window that its first request opens.
local function useOfOpenWindow(window, counter, count, mayStore)
  local used = wholeNumber(count)
  -- 0: all that it had counted was given back.
  if used == 0 and count ~= '0' then
    return 0, window.lengthMs
  end
  local leftMs = redis.call('PTTL', counter)
  if leftMs == -1 or leftMs > window.lengthMs then
    -- Somebody removed or extended the expiry, or Redis' clock was set back. A window without an end would lock the key out.
    if mayStore then
      redis.call('PEXPIRE', counter, window.lengthMs)
    end
    return used, window.lengthMs
  elseif leftMs <= 0 then
    -- A window that ends in this very millisecond is over, so that waiting exactly Retry-After suffices.
    return 0, window.lengthMs
  end
  return used, leftMs
end

-- Reads the windows with a limit. Returns units used and ms to the end of each, units of the day, and whether the day's
-- counter exists.
local function readWindows(customerTag, limits, now, mayStore)
  local dayNumber = dayNumberOf(now)
  local counters = { dayCounter(customerTag, utcDate(dayNumber)) }
  for index, window in ipairs(windows) do
    if limits[index] and window.lengthMs then
      counters[#counters + 1] = counterOf(window, customerTag)
    end
  end
  local counts = redis.call('MGET', unpack(counters))
  local dayUsed = wholeNumber(counts[1])
  local dayIsOpen = dayUsed > 0
  if not dayIsOpen then
    dayUsed = rolledUp(customerTag, utcDate(dayNumber))
  end
  local used, leftMs, place = {}, {}, 1
  for index, window in ipairs(windows) do
    if not limits[index] then
      used[index], leftMs[index] = 0, 0
    elseif window.lengthMs then
      place = place + 1
      used[index], leftMs[index] = useOfOpenWindow(window, counters[place], counts[place], mayStore)
    elseif window.calendar == 'day' then
      used[index], leftMs[index] = dayUsed, (dayNumber + 1) * dayLengthMs - now
    else
      used[index] = dayUsed + usedEarlierInMonth(customerTag, dayNumber, mayStore)
      leftMs[index] = nextMonth(dayNumber) * dayLengthMs - now
    end
  end
  return used, leftMs, dayUsed, dayIsOpen
end

-- The place of the window that refuses a request: of those with less left than it costs, the one that ends last, since a retry
-- can succeed only then (window-states.ts decides alike). Nil if none has less.
local function refusingWindow(limits, used, leftMs, cost)
  local refusing
  for index = 1, #windows do
    if limits[index] and used[index] + cost > limits[index] and not (refusing and leftMs[index] < leftMs[refusing]) then
      refusing = index
    end
  end
  return refusing
end

-- Appends units used and ms to the end of each window with a limit to a reply.
local function addWindows(reply, limits, used, leftMs)
  for index = 1, #windows do
    if limits[index] then
      reply[#reply + 1] = used[index]
      reply[#reply + 1] = leftMs[index]
    end
  end
  return reply
end

-- Limits as the arguments from one on have them: a number for each window, or an empty argument.
local function limitsFrom(arguments, first)
  local limits = {}
  for index = 1, #windows do
    limits[index] = tonumber(arguments[first + index - 1]) or false
  end
  return limits
end


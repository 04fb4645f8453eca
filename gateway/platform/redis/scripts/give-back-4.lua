-- include: windows.lua
--[[
Gives back what a request has cost that the gateway fails to serve: in each window that it was counted in, unless that has ended
since, and in the record of use. If the day has ended, nothing is given back: what was charged is in the record of that day.

KEYS     those of a request in consume.lua
ARGV[1]  time of the decision in Unix ms, as consume.lua has returned it
ARGV[2]  units that the request costs
ARGV[3]  days for which use is kept
ARGV[4…] a limit for each window, in the order of the list, or an empty argument

Returns {1 if something was given back or 0, now in Unix ms, and for each window with a limit: units used, ms to its end}.
]]

-- The clock of a window's expiry and that of the decision may differ by some milliseconds.
local sameMs = 20

local now, customerTag = nowMs(), customerTagOf(KEYS[2])
local decidedAt, cost = tonumber(ARGV[1]), tonumber(ARGV[2])
local limits = limitsFrom(ARGV, 4)

local function giveBack()
  local dayNumber = dayNumberOf(now)
  local day = dayCounter(customerTag, utcDate(dayNumber))
  local dayUsed = wholeNumber(redis.call('GET', day))
  if dayNumberOf(decidedAt) ~= dayNumber or dayUsed < cost then
    return 0
  end
  redis.call('INCRBY', day, -cost)
  if cost > 1 then
    addToDay(customerTag, dayNumber, 'x', 1 - cost, tonumber(ARGV[3]))
  end
  for index, window in ipairs(windows) do
    if limits[index] and window.lengthMs then
      local counter = counterOf(window, customerTag)
      local used, leftMs = wholeNumber(redis.call('GET', counter)), redis.call('PTTL', counter)
      local isSame = leftMs > 0 and now + leftMs - window.lengthMs <= decidedAt + sameMs
      -- A window of which nothing is used goes on to its end, as responses have announced it.
      if used >= cost and isSame then
        redis.call('INCRBY', counter, -cost)
      end
    end
  end
  -- It was an allowed request, but its number on that day is that of another one from now on (consume.lua).
  redis.call('HDEL', KEYS[4], 'lastAllowed')
  return 1
end

local given = giveBack()
local used, leftMs = readWindows(customerTag, limits, now, false)
return addWindows({ given, now }, limits, used, leftMs)

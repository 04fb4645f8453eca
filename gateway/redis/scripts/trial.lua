--[[
Put before consume.lua, after clock.lua and bans.lua. Counts what the trial limits of a key would have refused, in a hash
with expiry, as if they were enforced: a request that they refuse uses neither window. Its fields:
  since                      start of the trial in Unix ms, which identifies it: with another one, all counts start over
  requests                   requests of the trial
  refusedMinute, refusedDay  those that the trial limits would have refused, by the window that decided
  minuteUsed, minuteEndsAt   the minute window, and its end in Unix ms
  day, dayUsed               the window of the UTC day, and that day in days since 1 January 1970
]]

-- Counts are kept this long after the last day with requests: a customer may come once a month.
local trialKeptSeconds = 40 * 86400

-- What the reply says of the window that would have refused a request.
local byMinute, byDay, byNone = 1, 2, 0

-- Parses the limit of the minute window of a request on trial. Returns that limit and the trial.
local function parseTrial(text)
  local minuteLimit, trialMinute, trialDay, since, key = string.match(text, '^(%d+) (%d+) (%d+) (%d+) (.+)$')
  return tonumber(minuteLimit), { minute = tonumber(trialMinute), day = tonumber(trialDay), since = since, key = key }
end

-- Counts a request of the trial. Returns the window that would have refused it.
local function countTrial(trial, atMs)
  local counts = redis.pcall(
    'HMGET', trial.key,
    'since', 'requests', 'refusedMinute', 'refusedDay', 'minuteUsed', 'minuteEndsAt', 'day', 'dayUsed'
  )
  if counts.err then
    -- Edited into another type of value. Only the gateways use this key, so it can be deleted.
    redis.call('DEL', trial.key)
  end
  if counts.err or counts[1] ~= trial.since then
    counts = {}
  end
  local refusedMinute, refusedDay = wholeNumber(counts[3]), wholeNumber(counts[4])

  local minuteUsed, minuteEndsAt = wholeNumber(counts[5]), wholeNumber(counts[6])
  if minuteUsed == 0 or minuteEndsAt <= atMs then
    minuteUsed, minuteEndsAt = 0, atMs + 60000
  end
  -- It ends later than that if Redis' clock was set back.
  minuteEndsAt = math.min(minuteEndsAt, atMs + 60000)
  local day = dayNumberOf(atMs)
  local isSameDay = wholeNumber(counts[7]) == day
  local dayUsed = isSameDay and wholeNumber(counts[8]) or 0

  local isOverMinute, isOverDay = minuteUsed >= trial.minute, dayUsed >= trial.day
  local refusedBy = byNone
  if isOverDay and (not isOverMinute or (day + 1) * 86400000 >= minuteEndsAt) then
    -- If both windows are used up, the one that ends later decides (quota-decision.ts).
    refusedBy, refusedDay = byDay, refusedDay + 1
  elseif isOverMinute then
    refusedBy, refusedMinute = byMinute, refusedMinute + 1
  else
    minuteUsed, dayUsed = minuteUsed + 1, dayUsed + 1
  end

  redis.call(
    'HSET', trial.key,
    'since', trial.since,
    'requests', wholeNumber(counts[2]) + 1,
    'refusedMinute', refusedMinute,
    'refusedDay', refusedDay,
    'minuteUsed', minuteUsed,
    'minuteEndsAt', wholeMs(minuteEndsAt),
    'day', day,
    'dayUsed', dayUsed
  )
  if not isSameDay then
    redis.call('EXPIRE', trial.key, trialKeptSeconds)
  end
  return refusedBy
end

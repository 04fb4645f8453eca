-- include: windows.lua
-- include: bans.lua
--[[
Counts what the trial limits of a customer would have refused, in a hash with expiry, as if they were enforced: a request that they
refuse uses no window. Its fields:
  since            start of the trial in Unix ms, which identifies it: with another one, all counts start over
  requests         requests of the trial
for each window with a limit, with its name as <window> and <Window>:
  refused<Window>  requests that the trial limits would have refused, by the window that decided
  <window>Used     units of the window that were not refused
  <window>EndsAt   end of the window in Unix ms
]]

-- Counts are kept this long after a window last opened: a customer may come once a month.
local trialKeptSeconds = 40 * 86400

-- Parses a trial such as `since=1795000000000 minute=60 day=1000`, and `trialCost=5` if the request is to cost that.
local function parseTrial(text)
  local values = {}
  for name, value in string.gmatch(text, '(%a+)=(%d+)') do
    values[name] = value
  end
  local limits = {}
  for index, window in ipairs(windows) do
    limits[index] = tonumber(values[window.name]) or false
  end
  return values.since, limits, tonumber(values.trialCost)
end

-- Time from now to the end of a window of which nothing is known.
local function fullLengthMs(window, now)
  local dayNumber = dayNumberOf(now)
  if window.lengthMs then
    return window.lengthMs
  end
  return (window.calendar == 'day' and dayNumber + 1 or nextMonth(dayNumber)) * dayLengthMs - now
end

-- Counts a request of the trial, which costs what it does without one unless a cost is on trial, too. Returns the place of the window that would have refused it, or 0.
local function countTrial(customerTag, text, presentCost, now)
  local since, limits, trialCost = parseTrial(text)
  local cost = trialCost or presentCost
  local key = 'gw:trial:' .. customerTag
  local fields = { 'since', 'requests' }
  for index, window in ipairs(windows) do
    if limits[index] then
      local name = string.upper(string.sub(window.name, 1, 1)) .. string.sub(window.name, 2)
      fields[#fields + 1] = 'refused' .. name
      fields[#fields + 1] = window.name .. 'Used'
      fields[#fields + 1] = window.name .. 'EndsAt'
    end
  end
  local counts = redis.pcall('HMGET', key, unpack(fields))
  if counts.err then
    -- Edited into another type of value. Only the gateways use this key, so it can be deleted.
    redis.call('DEL', key)
  end
  if counts.err or counts[1] ~= since then
    counts = {}
  end

  local refused, used, leftMs, place, opens = {}, {}, {}, 3, false
  for index, window in ipairs(windows) do
    if limits[index] then
      refused[index] = wholeNumber(counts[place])
      used[index], leftMs[index] = wholeNumber(counts[place + 1]), wholeNumber(counts[place + 2]) - now
      local longestMs = fullLengthMs(window, now)
      if used[index] == 0 or leftMs[index] <= 0 then
        used[index], leftMs[index], opens = 0, longestMs, true
      end
      -- It ends later than that if Redis' clock was set back.
      leftMs[index] = math.min(leftMs[index], longestMs)
      place = place + 3
    end
  end

  local refusing = refusingWindow(limits, used, leftMs, cost)
  local values = { since, wholeNumber(counts[2]) + 1 }
  for index = 1, #windows do
    if limits[index] then
      values[#values + 1] = refused[index] + (index == refusing and 1 or 0)
      values[#values + 1] = used[index] + (refusing and 0 or cost)
      values[#values + 1] = wholeMs(now + leftMs[index])
    end
  end
  local pairsToSet = {}
  for index, field in ipairs(fields) do
    pairsToSet[2 * index - 1], pairsToSet[2 * index] = field, values[index]
  end
  redis.call('HSET', key, unpack(pairsToSet))
  if opens then
    redis.call('EXPIRE', key, trialKeptSeconds)
  end
  return refusing or 0
end

-- Takes back the units of a request that the trial has counted, in the windows that it was counted in, unless they have ended.
local function giveBackTrial(customerTag, text, presentCost, countedMs, now)
  local since, limits, trialCost = parseTrial(text)
  local key = 'gw:trial:' .. customerTag
  for index, window in ipairs(windows) do
    local field = window.name .. 'Used'
    local counts = redis.pcall('HMGET', key, 'since', field, window.name .. 'EndsAt')
    if limits[index] and not counts.err and counts[1] == since then
      local endsAt = wholeNumber(counts[3])
      if endsAt > now and (window.calendar or endsAt - window.lengthMs <= countedMs) then
        redis.call('HSET', key, field, math.max(0, wholeNumber(counts[2]) - (trialCost or presentCost)))
      end
    end
  end
end

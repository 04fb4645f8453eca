-- include: usage.lua
--[[
The windows in which the units that requests cost are counted. The table `windows` comes before every script (load-script.ts): for
each window, in order, its name and either lengthMs, if the first request opens it, or calendar, which is day or month. Limits,
units used and ms to the end are arrays in the same order; false is no limit. The ends of calendar windows follow from the time,
and are 0.

Day and month are counted in the record of use (usage.lua), the others in
  gw:<window>:{<customer id>}  units of the window (string, expires when the window ends)
]]

local function counterOf(window, customerTag)
  return 'gw:' .. window.name .. ':' .. customerTag
end

-- Units used and ms to the end of a window that its first request opens.
local function readOpenWindow(window, customerTag)
  local counter = counterOf(window, customerTag)
  local count = redis.call('GET', counter)
  local used = wholeNumber(count)
  -- 0: all that it had counted was given back.
  if used == 0 and count ~= '0' then
    return 0, window.lengthMs
  end
  local leftMs = redis.call('PTTL', counter)
  if leftMs > window.lengthMs then
    -- Redis' clock was set back.
    redis.call('PEXPIRE', counter, window.lengthMs)
    return used, window.lengthMs
  elseif leftMs <= 0 then
    -- A window that ends in this very millisecond is over, so that waiting exactly Retry-After suffices.
    return 0, window.lengthMs
  end
  return used, leftMs
end

-- Reads the windows with a limit. Returns units used and ms to the end of each, and what readUse does of the day.
local function readWindows(customerTag, limits, dayNumber)
  local use = readUse(customerTag, dayNumber)
  local used, leftMs = {}, {}
  for index, window in ipairs(windows) do
    used[index], leftMs[index] = 0, 0
    if limits[index] and window.lengthMs then
      used[index], leftMs[index] = readOpenWindow(window, customerTag)
    elseif limits[index] then
      used[index] = window.calendar == 'month' and use.sum or math.max(0, use.served - use.setBack)
    end
  end
  return used, leftMs, use
end

-- Whether a window has less left than a request costs.
local function isOverLimit(limits, used, cost)
  for index = 1, #windows do
    if limits[index] and used[index] + cost > limits[index] then
      return true
    end
  end
  return false
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


-- include: usage.lua
--[[
The windows in which the units that requests cost are counted. The table `windows` comes before every script (scripts.ts): for
each window, in order, its name and either lengthMs, if the first request opens it, or calendar, which is day or month. The ends
of calendar windows follow from the time: as ms to the end, they have 0.

Day and month are counted in the record of use (usage.lua), the others in
  gw:<window>:{<customer id>}  units of the window (string, expires when the window ends)
]]

local function counterOf(window, customerTag)
  return 'gw:' .. window.name .. ':' .. customerTag
end

-- Units used and ms to the end of a window.
local function readWindow(window, use)
  if window.calendar then
    return window.calendar == 'month' and use.sum or math.max(0, use.served - use.setBack), 0
  end
  local counter = counterOf(window, use.customerTag)
  local count, leftMs = redis.call('GET', counter), redis.call('PTTL', counter)
  local used = wholeNumber(count)
  -- A window that ends in this very millisecond is over, so that waiting exactly Retry-After suffices. One that has counted 0 is
  -- open: all of it was given back.
  if leftMs <= 0 or used == 0 and count ~= '0' then
    return 0, window.lengthMs
  elseif leftMs > window.lengthMs then
    -- Redis' clock was set back.
    redis.call('PEXPIRE', counter, window.lengthMs)
    leftMs = window.lengthMs
  end
  return used, leftMs
end

-- Reads the windows with a limit: from one argument on, there is one for each window, or an empty argument.
local function readWindows(use, arguments, first)
  local states = {}
  for index, window in ipairs(windows) do
    local limit = tonumber(arguments[first + index - 1])
    if limit then
      local used, leftMs = readWindow(window, use)
      states[#states + 1] = { window = window, limit = limit, used = used, leftMs = leftMs }
    end
  end
  return states
end

-- Whether a window has less left than a request costs.
local function isOverLimit(states, cost)
  for _, state in ipairs(states) do
    if state.used + cost > state.limit then
      return true
    end
  end
  return false
end

-- Appends units used and ms to the end of each window to a reply.
local function addWindows(reply, states)
  for _, state in ipairs(states) do
    reply[#reply + 1] = state.used
    reply[#reply + 1] = state.leftMs
  end
  return reply
end

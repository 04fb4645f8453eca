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

local now = nowMs()
local dayNumber = dayNumberOf(now)
local decidedAt, cost, retentionDays = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local use = readUse(customerTagOf(KEYS[2]), dayNumber)
local states = readWindows(use, ARGV, 4)
if dayNumberOf(decidedAt) ~= dayNumber or use.served - use.setBack < cost then
  return addWindows({ 0, now }, states)
end

addServed(use, -cost, 1 - cost, retentionDays)
for _, state in ipairs(states) do
  local lengthMs = state.window.lengthMs
  if not lengthMs then
    state.used = math.max(0, state.used - cost)
  -- A window of which nothing is used goes on to its end, as responses have announced it.
  elseif state.used >= cost and now + state.leftMs - lengthMs <= decidedAt + sameMs then
    redis.call('INCRBY', counterOf(state.window, use.customerTag), -cost)
    state.used = state.used - cost
  end
end
-- From now on the units of the month are those of an earlier request, of whichever key (consume.lua).
redis.call('HINCRBY', use.month, 'back', 1)
return addWindows({ 1, now }, states)

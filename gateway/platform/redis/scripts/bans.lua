-- include: usage.lua
--[[
For scripts that read or set bans. The strikes of a key (hash) hold, besides what consume.lua counts:
  ban, banMs  value and length of the ban that was last set by a gateway or the ops command
  wentOn      1 if the key sent requests during that ban
]]

-- What was under way when a ban began is no offence. As long as a process remembers a ban (ban-cache.ts).
local banUnderWayMs = 1000

local function wholeMs(ms)
  return string.format('%.0f', ms)
end

-- Takes what is left of a ban from the record of use. One that was set by hand is not in it.
local function unrecordBan(banKey, strikesKey, retentionDays)
  local leftMs = redis.call('PTTL', banKey)
  local value = redis.call('GET', banKey)
  local last = redis.call('HMGET', strikesKey, 'ban', 'banMs')
  if leftMs > 0 and last[1] == value then
    local now = nowMs()
    addBanSeconds(customerTagOf(banKey), now, now + math.min(leftMs, wholeNumber(last[2])), -1, retentionDays)
  end
end

-- Sets a ban in place of any other, its length, and the record of its seconds. The strikes are kept for at least keepMs.
local function setBan(banKey, strikesKey, value, banMs, keepMs, retentionDays)
  unrecordBan(banKey, strikesKey, retentionDays)
  local now = nowMs()
  addBanSeconds(customerTagOf(banKey), now, now + banMs, 1, retentionDays)
  redis.call('SET', banKey, value, 'PX', wholeMs(banMs))
  redis.call('HSET', strikesKey, 'ban', value, 'banMs', wholeMs(banMs), 'wentOn', 0)
  if redis.call('PTTL', strikesKey) < keepMs then
    redis.call('PEXPIRE', strikesKey, wholeMs(keepMs))
  end
end

-- Returns ms to the end of a ban, its value, whether a request at this time counts as going on during the ban, and the end of the
-- last ban by a gateway as it was set: this one, unless an operator has set it. An
-- expiry beyond the length of the ban means that Redis' clock was set back; none means that the ban was set by hand.
local function readBan(banKey, strikesKey, expiresInMs, maxBanMs)
  local value = redis.call('GET', banKey) or ''
  local last = redis.call('HMGET', strikesKey, 'ban', 'banMs', 'bannedUntil')
  local leftMs = expiresInMs == -1 and maxBanMs or expiresInMs
  local banMs = wholeNumber(last[2])
  if last[1] ~= value or banMs == 0 then
    return leftMs, value, false, 0
  end
  leftMs = math.min(leftMs, banMs)
  return leftMs, value, banMs - leftMs >= banUnderWayMs, wholeNumber(last[3])
end

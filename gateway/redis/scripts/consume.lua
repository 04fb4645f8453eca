--[[
Decides on a batch of requests, one after another, and counts each: in both quota windows of its API key, or in neither.

Five KEYS for each request:
  1  record of the API key (hash, field rev)
  2  counter of the open minute window (string, expires when the window ends)
  3  prefix of the day counters; the UTC date of this server is appended, so that the gateways' clocks do not matter. The
     counter has the hash tag of the other keys, and so their slot
  4  ban (string, expires when the ban ends)
  5  violations (hash: recent, bans, bannedUntil)
Four ARGV for each request:
  1  rev of the record that the caller knows, or -1 for any
  2  limit of the minute window
  3  limit of the day
  4  ban policy, five numbers separated by spaces, in one argument because most requests do not need it: violations that
     lead to a ban, 0 for no bans; time within which they do, in ms; length of the first ban in ms; of the longest ban in
     ms; time without a ban after which the next one is a first one again, in ms

Returns an array for each request, in their order. Outcomes are those of script-outcomes.ts:
  {allowed or limited, now in Unix ms, minute used, ms to the end of the minute window, day used}
  {banned, now, ms to the end of the ban, 1 if this very request led to it}
  {stale}, or {invalidRecord, message}

The table of outcomes and clock.lua are put before this script.
]]

local now = nowMs()
local dayNumber = dayNumberOf(now)
local today = utcDate(dayNumber)

local function parsePolicy(text)
  local threshold, windowMs, banMs, maxBanMs, resetMs = string.match(text, '^(%d+) (%d+) (%d+) (%d+) (%d+)$')
  return tonumber(threshold), tonumber(windowMs), tonumber(banMs), tonumber(maxBanMs), tonumber(resetMs)
end

local function consume(recordKey, minuteKey, dayPrefix, banKey, violationsKey, rev, minuteLimit, dayLimit, policy)
  if rev ~= '-1' then
    local current = redis.pcall('HGET', recordKey, 'rev')
    if type(current) == 'table' then
      return { outcome.invalidRecord, current.err }
    end
    if (current or '0') ~= rev then
      return { outcome.stale }
    end
  end

  local banned = redis.call('PTTL', banKey)
  if banned == -1 then
    -- Set by hand without an expiry: no ban lasts forever.
    local _, _, _, maxBanMs = parsePolicy(policy)
    banned = maxBanMs
    redis.call('PEXPIRE', banKey, string.format('%.0f', maxBanMs))
  end
  if banned > 0 then
    return { outcome.banned, now, banned, 0 }
  end

  local dayKey = dayPrefix .. ':' .. today
  local counters = redis.call('MGET', minuteKey, dayKey)
  local minuteUsed = wholeNumber(counters[1])
  local dayUsed = wholeNumber(counters[2])
  local minuteLeft = 60000
  if minuteUsed ~= 0 then
    minuteLeft = redis.call('PTTL', minuteKey)
    if minuteLeft == -1 or minuteLeft > 60000 then
      -- Somebody removed or extended the expiry, or Redis' clock was set back. A window without an end would lock the key
      -- out.
      redis.call('PEXPIRE', minuteKey, 60000)
      minuteLeft = 60000
    elseif minuteLeft <= 0 then
      -- A window that ends in this very millisecond is over, so that waiting exactly Retry-After suffices.
      minuteUsed = 0
      minuteLeft = 60000
    end
  end

  if minuteUsed < minuteLimit and dayUsed < dayLimit then
    if minuteUsed == 0 then
      redis.call('SET', minuteKey, 1, 'PX', 60000)
    else
      redis.call('INCR', minuteKey)
    end
    if dayUsed == 0 then
      -- Kept a day longer, so that yesterday's use can be read and late reports be added.
      redis.call('SET', dayKey, 1, 'EXAT', (dayNumber + 2) * 86400)
    else
      redis.call('INCR', dayKey)
    end
    return { outcome.allowed, now, minuteUsed + 1, minuteLeft, dayUsed + 1 }
  end

  local refused = { outcome.limited, now, minuteUsed, minuteLeft, dayUsed }
  local threshold, windowMs, firstBanMs, maxBanMs, resetMs = parsePolicy(policy)
  if threshold == 0 then
    return refused
  end

  -- At most one violation is counted a second, so that a burst that crosses the limit counts once.
  local history = redis.pcall('HMGET', violationsKey, 'recent', 'bans', 'bannedUntil')
  if history.err then
    -- Edited into another type of value. Only the gateways use this key, so it can be deleted.
    redis.call('DEL', violationsKey)
    history = {}
  end
  local recent = {}
  local latest = 0
  for text in string.gmatch(history[1] or '', '%d+') do
    local at = tonumber(text)
    if at > now - windowMs then
      recent[#recent + 1] = text
    end
    latest = at
  end
  if now - latest < 1000 then
    return refused
  end
  recent[#recent + 1] = string.format('%.0f', now)

  local bans = wholeNumber(history[2])
  local bannedUntil = wholeNumber(history[3])
  if #recent < threshold then
    redis.call('HSET', violationsKey, 'recent', table.concat(recent, ','))
    redis.call('PEXPIRE', violationsKey, string.format('%.0f', math.max(windowMs, bannedUntil + resetMs - now)))
    return refused
  end

  if now >= bannedUntil + resetMs then
    bans = 0
  end
  local banMs = math.min(firstBanMs * 2 ^ math.min(bans, 40), maxBanMs)
  redis.call('SET', banKey, bans + 1, 'PX', string.format('%.0f', banMs))
  redis.call(
    'HSET', violationsKey,
    'recent', '',
    'bans', bans + 1,
    'bannedUntil', string.format('%.0f', now + banMs)
  )
  redis.call('PEXPIRE', violationsKey, string.format('%.0f', banMs + resetMs))
  return { outcome.banned, now, banMs, 1 }
end

local replies = {}
for request = 1, #KEYS / 5 do
  local key, arg = 5 * request - 4, 4 * request - 3
  replies[request] = consume(
    KEYS[key], KEYS[key + 1], KEYS[key + 2], KEYS[key + 3], KEYS[key + 4],
    ARGV[arg], tonumber(ARGV[arg + 1]), tonumber(ARGV[arg + 2]), ARGV[arg + 3]
  )
end
return replies

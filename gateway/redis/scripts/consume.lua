--[[
Decides on a batch of requests, one after another, and counts each: in both quota windows of its API key, or in neither.

Five KEYS for each request. All have to be named: while a slot of a Redis Cluster moves to another node, a command of which
some keys are missing is told to try again. With the record alone, it would run where only some of the keys are.
  1  record of the API key (hash, field rev)
  2  counter of the open minute window (string, expires when the window ends)
  3  prefix of the day counters; the UTC date of this server is appended, so that the gateways' clocks do not matter. The
     counter has the hash tag of the other keys, and so their slot. The record of use is derived in the same way (usage.lua)
  4  ban (string, expires when the ban ends)
  5  violations (hash). Besides the fields of bans.lua:
       refusedSince, lastAllowed  time of the first refusal since the last allowed request, and what tells that request
       strikes, strikesSince      requests that were refused after the grace period, in a fixed window that the first opens
       bans, bannedUntil          consecutive bans, and the end of the last one
Four ARGV for each request:
  1  rev of the record that the caller knows, or -1 for any
  2  limit of the minute window; for a key on trial five words, separated by spaces: this limit, the trial limits of the
     minute and of the day, the start of the trial in Unix ms, and the key of its counts (trial.lua)
  3  limit of the day
  4  policies, eight numbers separated by spaces, in one argument because most requests do not need it: strikes that
     lead to a ban, 0 for no bans; strikes for each request of the minute limit, if that is more; grace period after the
     first refusal, in ms; time within which strikes lead to a ban, in ms; length of the first ban in ms; of the longest
     ban in ms; time without a ban after which the next one is a first one again, in ms; days for which use is kept

Returns an array for each request, in their order. Outcomes are those of script-outcomes.ts:
  {allowed, now in Unix ms, minute used, ms to the end of the minute window, day used}
  {limited, the same, 0, further refused requests that lead to a ban, or 0 while they are not counted}
  {banned, now, ms to the end of the ban, 1 if this very request led to it, value of the ban}
  {stale}, or {invalidRecord, message}
For a key on trial the sixth element of the reply to a request that was not made during a ban is the window whose trial limit
would have refused it, 1 for the minute, 2 for the day, or 0.

The table of outcomes, clock.lua, usage.lua, bans.lua and trial.lua are put before this script.
]]

local now = nowMs()
local dayNumber = dayNumberOf(now)
local today = utcDate(dayNumber)

local function parsePolicy(text)
  local strikes, perLimit, graceMs, windowMs, banMs, maxBanMs, resetMs, retentionDays =
    string.match(text, '^(%d+) ([%d.]+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+)$')
  return {
    strikes = tonumber(strikes),
    perLimit = tonumber(perLimit),
    graceMs = tonumber(graceMs),
    windowMs = tonumber(windowMs),
    banMs = tonumber(banMs),
    maxBanMs = tonumber(maxBanMs),
    resetMs = tonumber(resetMs),
    retentionDays = tonumber(retentionDays),
  }
end

-- Tells a key's last allowed request: its day and its number on that day. A refused request changes no counter.
local function lastAllowedOf(dayPrefix, dayUsed)
  if dayUsed > 0 then
    return string.format('%s:%.0f', today, dayUsed)
  end
  local yesterday = utcDate(dayNumber - 1)
  local used = wholeNumber(redis.call('MGET', dayPrefix .. ':' .. yesterday)[1])
  return string.format('%s:%.0f', yesterday, used > 0 and used or rolledUp(keyTagOf(dayPrefix), yesterday))
end

-- Returns the reply for a request during a ban.
local function refuseBanned(banKey, violationsKey, expiresInMs, policy)
  local leftMs, value, wentOn = readBan(banKey, violationsKey, expiresInMs, policy.maxBanMs)
  if leftMs ~= expiresInMs then
    redis.call('PEXPIRE', banKey, wholeMs(leftMs))
  end
  if wentOn then
    redis.call('HSET', violationsKey, 'wentOn', 1)
  end
  return { outcome.banned, now, leftMs, 0, value }
end

-- Records a refusal. Returns the length of the ban that it leads to, or nil and how many more lead to one, 0 in the grace period.
local function recordRefusal(violationsKey, banKey, lastAllowed, minuteLimit, refusedForMs, policy)
  local history = redis.pcall(
    'HMGET', violationsKey,
    'refusedSince', 'lastAllowed', 'strikes', 'strikesSince', 'bans', 'bannedUntil', 'wentOn'
  )
  if history.err then
    -- Edited into another type of value. Only the gateways use this key, so it can be deleted.
    redis.call('DEL', violationsKey)
    history = {}
  end
  local bannedUntil = wholeNumber(history[6])
  -- After this time nothing in it has an effect any more.
  local keepMs = math.max(refusedForMs, policy.windowMs, bannedUntil + policy.resetMs - now)

  -- A time in the future is from before Redis' clock was set back.
  local refusedSince = wholeNumber(history[1])
  if refusedSince == 0 or refusedSince > now or history[2] ~= lastAllowed then
    redis.call('HSET', violationsKey, 'refusedSince', wholeMs(now), 'lastAllowed', lastAllowed)
    redis.call('PEXPIRE', violationsKey, wholeMs(keepMs))
    return nil, 0
  end
  if now - refusedSince <= policy.graceMs then
    return nil, 0
  end

  local strikes, strikesSince = wholeNumber(history[3]), wholeNumber(history[4])
  if strikes == 0 or strikesSince > now or now - strikesSince >= policy.windowMs then
    strikes, strikesSince = 0, now
  end
  strikes = strikes + 1
  local strikesToBan = math.max(policy.strikes, math.ceil(minuteLimit * policy.perLimit))
  if strikes < strikesToBan then
    redis.call('HSET', violationsKey, 'strikes', strikes, 'strikesSince', wholeMs(strikesSince))
    redis.call('PEXPIRE', violationsKey, wholeMs(keepMs))
    return nil, strikesToBan - strikes
  end

  local bans = wholeNumber(history[5])
  if history[7] ~= '1' or now >= bannedUntil + policy.resetMs then
    bans = 0
  end
  local banMs = math.min(policy.banMs * 2 ^ math.min(bans, 40), policy.maxBanMs)
  setBan(banKey, violationsKey, string.format('%.0f', bans + 1), banMs, math.max(refusedForMs, banMs + policy.resetMs), policy.retentionDays)
  redis.call(
    'HSET', violationsKey,
    'strikes', 0,
    'bans', bans + 1,
    'bannedUntil', wholeMs(now + banMs)
  )
  return banMs
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

  local expiresInMs = redis.call('PTTL', banKey)
  if expiresInMs > 0 or expiresInMs == -1 then
    return refuseBanned(banKey, violationsKey, expiresInMs, parsePolicy(policy))
  end

  local dayKey = dayPrefix .. ':' .. today
  local counters = redis.call('MGET', minuteKey, dayKey)
  local minuteUsed = wholeNumber(counters[1])
  local dayUsed = wholeNumber(counters[2])
  local dayIsOpen = dayUsed > 0
  if not dayIsOpen then
    dayUsed = rolledUp(keyTagOf(dayPrefix), today)
  end
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
    if dayIsOpen then
      redis.call('INCR', dayKey)
    else
      openDay(keyTagOf(dayPrefix), dayNumber, dayUsed + 1, parsePolicy(policy).retentionDays)
    end
    return { outcome.allowed, now, minuteUsed + 1, minuteLeft, dayUsed + 1 }
  end

  local parsed, strikesLeft = parsePolicy(policy), 0
  if parsed.strikes > 0 then
    -- Requests are refused until the used-up window ends, the later one if both are.
    local refusedForMs = minuteUsed >= minuteLimit and minuteLeft or 0
    if dayUsed >= dayLimit then
      refusedForMs = math.max(refusedForMs, (dayNumber + 1) * 86400000 - now)
    end
    local lastAllowed = lastAllowedOf(dayPrefix, dayUsed)
    local banMs
    banMs, strikesLeft = recordRefusal(violationsKey, banKey, lastAllowed, minuteLimit, refusedForMs, parsed)
    if banMs then
      return { outcome.banned, now, banMs, 1, '' }
    end
  end
  return { outcome.limited, now, minuteUsed, minuteLeft, dayUsed, 0, strikesLeft }
end

local replies = {}
for request = 1, #KEYS / 5 do
  local key, arg = 5 * request - 4, 4 * request - 3
  local minuteLimit, trial = tonumber(ARGV[arg + 1]), nil
  if not minuteLimit then
    minuteLimit, trial = parseTrial(ARGV[arg + 1])
  end
  local reply = consume(
    KEYS[key], KEYS[key + 1], KEYS[key + 2], KEYS[key + 3], KEYS[key + 4],
    ARGV[arg], minuteLimit, tonumber(ARGV[arg + 2]), ARGV[arg + 3]
  )
  -- The request that leads to a ban is not made during it.
  local isDecided = reply[1] == outcome.allowed or reply[1] == outcome.limited
  if trial and (isDecided or (reply[1] == outcome.banned and reply[4] == 1)) then
    reply[6] = countTrial(trial, now)
  end
  replies[request] = reply
end
return replies

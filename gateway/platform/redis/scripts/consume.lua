-- include: windows.lua
--[[
Decides on a batch of requests, one after another, and counts what each costs: in every window of its customer that has a limit,
or in none.

Four KEYS for each request:
  1  record of the customer (hash, field rev)
  2  prefix of the records of use; the UTC month of this server is appended, so that the gateways' clocks do not matter. The
     other counters (windows.lua) are derived from its hash tag, {<customer id>}, and so have its slot.
     While a slot of a Redis Cluster moves to another node, a command of which a key is missing is told to try again: no key
     has this name, so none is decided where only some of them are
  3  ban of the API key (string, expires when the ban ends)
  4  strikes of the API key (hash):
       refusedSince, lastAllowed  time of the first refusal since the last allowed request, and what tells that request
       strikes, strikesSince      requests that were refused after the grace period, in a fixed window that the first opens
       bans                       consecutive bans
       bannedSince, bannedUntil   the last of them, in Unix ms
       wentOn                     1 if the key sent requests during it
ARGV, for the batch:
  1  strikes that lead to a ban, 0 for no bans
  2  strikes for each request of the minute limit, if there is one and that is more
  3  grace period after the first refusal, in ms like all that follow
  4  time within which strikes lead to a ban
  5  length of the first ban
  6  length of the longest ban
  7  time without a ban after which the next one is a first one again
  8  days for which use is kept
Then for each request:
  1  rev of the record that the caller knows, or -1 for any
  2  units that the request costs, or an empty argument for 1
  3  a limit for each window, in the order of the list, or an empty argument

Returns JSON, which a gateway reads in a third of the time that ioredis takes for numbers: an array for each request, in their
order. Outcomes are those of scripts.ts:
  {allowed or limited, now in Unix ms, further refused requests that lead to a ban or 0 while they are not counted, and for each
  window with a limit: units used, ms to its end}
  {banned, now, ms to the end of the ban, 1 if this very request led to it, value of the ban, end of the last ban by a gateway}
  {stale}, or {wrongType} if one of the customer's values has another type than the gateway writes
]]

-- What was under way when a ban began is no offence. As long as a process remembers a ban (bans.ts).
local banUnderWayMs = 1000

local now = nowMs()
local dayNumber = dayNumberOf(now)

local policyArguments = 8
local maxStrikes, strikesPerLimit = tonumber(ARGV[1]), tonumber(ARGV[2])
local graceMs, windowMs = tonumber(ARGV[3]), tonumber(ARGV[4])
local firstBanMs, maxBanMs, resetMs = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local retentionDays = tonumber(ARGV[8])

-- Returns the reply for a request during a ban.
local function refuseBanned(banKey, strikesKey, leftMs)
  local last = redis.call('HMGET', strikesKey, 'bannedSince', 'bannedUntil')
  local since = wholeNumber(last[1])
  if since > 0 and now - since >= banUnderWayMs then
    redis.call('HSET', strikesKey, 'wentOn', 1)
  end
  return { outcome.banned, now, leftMs, 0, redis.call('GET', banKey), wholeNumber(last[2]) }
end

-- Records a refusal. Returns the length of the ban that it leads to, or nil and how many more lead to one, 0 in the grace period.
local function recordRefusal(strikesKey, banKey, lastAllowed, minuteLimit)
  local history = redis.call(
    'HMGET', strikesKey,
    'refusedSince', 'lastAllowed', 'strikes', 'strikesSince', 'bans', 'bannedUntil', 'wentOn'
  )
  local bannedUntil = wholeNumber(history[6])
  -- After this time nothing in it has an effect any more.
  local keepMs = math.max(graceMs + windowMs, bannedUntil + resetMs - now)

  -- A time in the future is from before Redis' clock was set back.
  local refusedSince = wholeNumber(history[1])
  if refusedSince == 0 or refusedSince > now or history[2] ~= lastAllowed then
    redis.call('HSET', strikesKey, 'refusedSince', wholeText(now), 'lastAllowed', lastAllowed)
    redis.call('PEXPIRE', strikesKey, wholeText(keepMs))
    return nil, 0
  end
  if now - refusedSince <= graceMs then
    return nil, 0
  end

  local strikes, strikesSince = wholeNumber(history[3]), wholeNumber(history[4])
  if strikes == 0 or strikesSince > now or now - strikesSince >= windowMs then
    strikes, strikesSince = 0, now
  end
  strikes = strikes + 1
  local strikesToBan = math.max(maxStrikes, math.ceil((minuteLimit or 0) * strikesPerLimit))
  if strikes < strikesToBan then
    redis.call('HSET', strikesKey, 'strikes', strikes, 'strikesSince', wholeText(strikesSince))
    redis.call('PEXPIRE', strikesKey, wholeText(keepMs))
    return nil, strikesToBan - strikes
  end

  local bans = wholeNumber(history[5])
  if history[7] ~= '1' or now >= bannedUntil + resetMs then
    bans = 0
  end
  local banMs = math.min(firstBanMs * 2 ^ math.min(bans, 40), maxBanMs)
  redis.call('SET', banKey, wholeText(bans + 1), 'PX', wholeText(banMs))
  redis.call(
    'HSET', strikesKey,
    'strikes', 0,
    'bans', bans + 1,
    'bannedSince', wholeText(now),
    'bannedUntil', wholeText(now + banMs),
    'wentOn', 0
  )
  redis.call('PEXPIRE', strikesKey, wholeText(banMs + resetMs))
  return banMs
end

local function consume(recordKey, usagePrefix, banKey, strikesKey, arg)
  local rev, cost = ARGV[arg], tonumber(ARGV[arg + 1]) or 1
  if rev ~= '-1' and (redis.call('HGET', recordKey, 'rev') or '0') ~= rev then
    return { outcome.stale }
  end

  local expiresInMs = redis.call('PTTL', banKey)
  if expiresInMs > 0 then
    return refuseBanned(banKey, strikesKey, expiresInMs)
  end

  local use = readUse(customerTagOf(usagePrefix), dayNumber)
  local states = readWindows(use, ARGV, arg + 2)
  if isOverLimit(states, cost) then
    local strikesLeft = 0
    if maxStrikes > 0 then
      -- The units of the month tell its last allowed request: a refused one does not change them. What is given back lowers them.
      local back = redis.call('HGET', use.month, 'back') or ''
      local lastAllowed, banMs = string.sub(use.month, -6) .. ':' .. wholeText(use.sum) .. ':' .. back
      -- The first window of the list is the minute.
      banMs, strikesLeft = recordRefusal(strikesKey, banKey, lastAllowed, tonumber(ARGV[arg + 2]))
      if banMs then
        return { outcome.banned, now, banMs, 1, '', now + banMs }
      end
    end
    return addWindows({ outcome.limited, now, strikesLeft }, states)
  end

  for _, state in ipairs(states) do
    local lengthMs = state.window.lengthMs
    if lengthMs and state.used == 0 and state.leftMs == lengthMs then
      redis.call('SET', counterOf(state.window, use.customerTag), cost, 'PX', lengthMs)
    elseif lengthMs then
      redis.call('INCRBY', counterOf(state.window, use.customerTag), cost)
    end
    state.used = state.used + cost
  end
  addServed(use, cost, cost - 1, retentionDays)
  return addWindows({ outcome.allowed, now, 0 }, states)
end

local keysOfRequest, argumentsOfRequest = 4, 2 + #windows
local replies = {}
for request = 1, #KEYS / keysOfRequest do
  local key, arg = keysOfRequest * (request - 1), policyArguments + argumentsOfRequest * (request - 1) + 1
  -- A value of the wrong type fails the request of its customer, and not those of others in the batch.
  local isDone, reply = pcall(consume, KEYS[key + 1], KEYS[key + 2], KEYS[key + 3], KEYS[key + 4], arg)
  if not isDone then
    -- A text in Redis, a table in some that speak its protocol.
    local message = type(reply) == 'table' and reply.err or reply
    if not string.find(message, 'WRONGTYPE', 1, true) then
      -- It is about the server, such as one that is out of memory. Thrown again, it would lose its code.
      return redis.error_reply(message)
    end
    reply = { outcome.wrongType }
  end
  replies[request] = reply
end
return cjson.encode(replies)

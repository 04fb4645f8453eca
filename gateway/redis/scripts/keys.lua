--[[
Put before the scripts that use several Redis keys of one API key. They are given one of them, and name the others, which are
in the same slot of a Redis Cluster, since all have the hash tag {<key hash>} (redis-keys.ts).
]]

-- The part of a Redis key that all keys of one API key share, with its braces.
local function keyTagOf(redisKey)
  return string.sub(redisKey, string.find(redisKey, '{', 1, true), string.find(redisKey, '}', 1, true))
end

local function recordOf(keyTag)
  return 'gw:key:' .. keyTag
end

local function minuteCounter(keyTag)
  return 'gw:minute:' .. keyTag
end

local function dayCounter(keyTag, date)
  return 'gw:day:' .. keyTag .. ':' .. date
end

local function banOf(keyTag)
  return 'gw:ban:' .. keyTag
end

local function violationsOf(keyTag)
  return 'gw:violations:' .. keyTag
end

local function trialOf(keyTag)
  return 'gw:trial:' .. keyTag
end

local function usageMonth(keyTag, date)
  return 'gw:usage:' .. keyTag .. ':' .. string.sub(date, 1, 6)
end

local function refusalsOf(keyTag)
  return 'gw:refusals:' .. keyTag
end


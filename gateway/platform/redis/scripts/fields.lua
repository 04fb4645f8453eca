--[[
For scripts that change hashes which others may have changed since they were read. Fields are in lists, as field and value by
turns from one index to another.
]]

-- Whether a hash has these fields, and no others.
local function hasFields(hash, list, first, last)
  if 2 * redis.call('HLEN', hash) ~= last - first + 1 then
    return false
  end
  for index = first, last, 2 do
    if redis.call('HGET', hash, list[index]) ~= list[index + 1] then
      return false
    end
  end
  return true
end

-- An empty value removes the field.
local function writeFields(hash, list, first, last)
  for index = first, last, 2 do
    if list[index + 1] == '' then
      redis.call('HDEL', hash, list[index])
    else
      redis.call('HSET', hash, list[index], list[index + 1])
    end
  end
end

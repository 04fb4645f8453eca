--[[
Reads hashes in one command.

KEYS  any number of them

Returns for each key its fields and values in turn, or, as text, the error of reading it.
]]

local replies = {}
for index, key in ipairs(KEYS) do
  local fields = redis.pcall('HGETALL', key)
  replies[index] = fields.err or fields
end
return replies

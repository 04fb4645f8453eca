--[[
Put after a script that is the function `change`, which returns 0 if it has changed nothing. Otherwise adds entries to the
audit log, in the same step.

ARGV[#ARGV - 1]  key of the audit log (stream), which is not among KEYS: the rules of a Redis user name it apart from all
                 others (users.acl), and EVALSHA needs its KEYS to be in one of them
ARGV[#ARGV]      entries as JSON, each a list of arguments of XADD; '' for none, as in Redis Cluster
]]

local entries = table.remove(ARGV)
local log = table.remove(ARGV)
if entries ~= '' then
  -- Fails before anything is changed if the log is no stream: a change without its entry would be worse.
  redis.call('XREVRANGE', log, '+', '-', 'COUNT', 1)
end
local result = change()
if entries ~= '' and result ~= 0 then
  for _, entry in ipairs(cjson.decode(entries)) do
    redis.call('XADD', log, unpack(entry))
  end
end
return result

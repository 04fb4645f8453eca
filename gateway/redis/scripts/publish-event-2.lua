--[[
Adds an event to the stream of events, unless it was added before.

KEYS[1]  stream of events
KEYS[2]  ids of the events of a period (set with expiry)
ARGV[1]  id of the event
ARGV[2]  ms for which a repeat may come
ARGV[3]  approximate number of events that are kept
ARGV[4…] the event, as pairs of field and value

Returns 1, or 0 if the event was added before.
]]

local isNew = redis.call('SADD', KEYS[2], ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[2])
if isNew == 1 then
  redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[3], '*', 'id', ARGV[1], unpack(ARGV, 4))
end
return isNew
